/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Two samples -> deltas and totals that survive what the kernel resets: a kdamond's counters start
 * at zero at each "on", and its files keep the numbers of the one before until they are updated. */

#include <errno.h>
#include <string.h>

#include "core/stats.h"

void sample_done(Sample *sample) {
        free(sample->nodes);
        free(sample->kdamonds);
        *sample = (Sample){};
}

int sample_copy_nodes(const Sample *sample, Sample *ret) {
        NodeSample *nodes;

        nodes = calloc(MAX(sample->n_nodes, (size_t) 1), sizeof(*nodes));
        if (!nodes)
                return -ENOMEM;
        for (size_t i = 0; i < sample->n_nodes; i++)
                nodes[i] = sample->nodes[i];
        *ret = (Sample){
                .now_us = sample->now_us,
                .has_memory = sample->has_memory,
                .nodes = nodes,
                .n_nodes = sample->n_nodes,
        };
        return 0;
}

const NodeSample *sample_find_node(const Sample *sample, int nid) {
        for (size_t i = 0; i < sample->n_nodes; i++)
                if (sample->nodes[i].nid == nid)
                        return &sample->nodes[i];
        return NULL;
}

void stats_done(Stats *stats) {
        free(stats->kdamonds);
        *stats = (Stats){};
}

static int stats_resize(Stats *stats, size_t n) {
        KdamondStats *kdamonds = NULL;

        if (n == stats->n_kdamonds)
                return 0;
        if (n > 0) {
                kdamonds = calloc(n, sizeof(*kdamonds));
                if (!kdamonds)
                        return -ENOMEM;
                for (size_t i = 0; i < MIN(n, stats->n_kdamonds); i++)
                        kdamonds[i] = stats->kdamonds[i];
        }
        free(stats->kdamonds);
        stats->kdamonds = kdamonds;
        stats->n_kdamonds = n;
        return 0;
}

static uint64_t counter_delta(uint64_t before, uint64_t now, bool restarted) {
        return restarted || now < before ? now : now - before;
}

static void scheme_update(SchemeStats *stats, const SchemeSample *sample, bool restarted) {
        const SchemeCounters *now = &sample->counters, *last = &stats->last;

        /* The counters are read one after the other; tried never shrinks but at a restart. */
        restarted =
                restarted || now->sz_tried < last->sz_tried || now->sz_applied < last->sz_applied;

#define UPDATE(field)                                                           \
        stats->delta.field = counter_delta(last->field, now->field, restarted); \
        stats->total.field += stats->delta.field;
        UPDATE(nr_tried)
        UPDATE(sz_tried)
        UPDATE(nr_applied)
        UPDATE(sz_applied)
        UPDATE(sz_passed)
        UPDATE(qt_exceeds)
        UPDATE(nr_snapshots)
#undef UPDATE
        stats->last = *now;
        stats->effective_bytes = sample->effective_bytes;
}

int stats_update(Stats *stats, const Sample *sample) {
        int r;

        r = stats_resize(stats, sample->n_kdamonds);
        if (r < 0)
                return r;

        stats->window_us = stats->now_us > 0 && sample->now_us > stats->now_us
                                   ? sample->now_us - stats->now_us
                                   : 0;
        stats->now_us = sample->now_us;

        for (size_t i = 0; i < sample->n_kdamonds; i++) {
                const KdamondSample *from = &sample->kdamonds[i];
                KdamondStats *to = &stats->kdamonds[i];
                bool restarted = from->on && to->pid != from->pid;

                to->delta_cpu_us = counter_delta(to->last_cpu_us, from->cpu_us, restarted);
                to->on = from->on;
                if (from->on) {
                        to->pid = from->pid;
                        to->last_cpu_us = from->cpu_us;
                        to->total_cpu_us += to->delta_cpu_us;
                        to->sample_us = from->sample_us;
                        to->aggr_us = from->aggr_us;
                } else
                        to->delta_cpu_us = 0;
                to->n_schemes = MIN(from->n_schemes, (size_t) DAMON_SCHEMES_MAX);
                for (size_t s = 0; s < to->n_schemes; s++) {
                        if (from->on)
                                scheme_update(&to->schemes[s], &from->schemes[s], restarted);
                        else /* the files of a stopped kdamond are old news */
                                to->schemes[s].delta = (SchemeCounters){};
                }
        }
        return 0;
}

int stats_set_baseline(Stats *stats, size_t kdamond, int pid, size_t scheme,
                       const SchemeCounters *counters) {
        int r;

        if (kdamond >= DAMON_KDAMONDS_MAX || scheme >= DAMON_SCHEMES_MAX)
                return -E2BIG;
        r = stats_resize(stats, MAX(stats->n_kdamonds, kdamond + 1));
        if (r < 0)
                return r;
        stats->kdamonds[kdamond].pid = pid;
        stats->kdamonds[kdamond].schemes[scheme].last = *counters;
        return 0;
}

uint64_t stats_charged(const SchemeCounters *counters, uint32_t caps) {
        uint64_t stayed = counters->sz_tried - MIN(counters->sz_applied, counters->sz_tried);

        return counters->sz_applied +
               (caps & DAMON_CAP_FAIL_CHARGE ? stayed / STATS_FAIL_CHARGE_DENOM : stayed);
}

uint32_t stats_cpu_permille(const Stats *stats, size_t kdamond) {
        if (kdamond >= stats->n_kdamonds || stats->window_us == 0)
                return 0;
        return (uint32_t) MIN(stats->kdamonds[kdamond].delta_cpu_us * 1000 / stats->window_us,
                              UINT64_C(1000));
}
