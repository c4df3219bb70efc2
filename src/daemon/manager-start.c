/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The way from nothing, or from a reload, to a plan that is being applied: look at the machine,
 * refuse or rest where there is reason to, record what will be ours, stage, plan. */

#include <errno.h>
#include <string.h>
#include <syslog.h>

#include "core/report.h"
#include "manager-internal.h"

/* A machine without tiers is looked at now and then: memory may be plugged. */
#define IDLE_LOOK_US (60 * UINT64_C(1000000))

void manager_prepare(Manager *m) {
        m->phase = PHASE_PREPARING;
        manager_post(m, job_new(JOB_PREPARE));
}

void manager_rest(Manager *m, Phase phase, Event *event) {
        _cleanup_(event_freep) Event *owned = event;

        m->phase = phase;
        if (owned && (!m->reason || strcmp(m->reason, owned->message) != 0)) {
                free(m->reason);
                m->reason = strdup(owned->message);
                manager_say(m, TAKE_PTR(owned));
        }
        manager_write_status(m, phase == PHASE_IDLE ? "idle" : "waiting");
        manager_become_ready(m);
        manager_set_timer(m, phase == PHASE_IDLE ? MAX(IDLE_LOOK_US, manager_tick_us(m))
                                                 : manager_tick_us(m));
}

static bool waits(const Manager *m) {
        return m->config->manager.foreign_kdamonds == FOREIGN_KDAMONDS_WAIT;
}

static void refuse(Manager *m, Event *event, int exit_status) {
        manager_say(m, event);
        manager_stop(m, exit_status);
}

int manager_claim(Manager *m, size_t n_kdamonds, uint32_t knobs) {
        if (m->record.n_kdamonds != n_kdamonds) {
                RecordKdamond *kdamonds = calloc(MAX(n_kdamonds, (size_t) 1), sizeof(*kdamonds));

                if (!kdamonds)
                        return -ENOMEM;
                for (size_t i = 0; i < n_kdamonds; i++)
                        kdamonds[i].pid = -1;
                free(m->record.kdamonds);
                m->record.kdamonds = kdamonds;
                m->record.n_kdamonds = n_kdamonds;
        }
        m->record.knobs |= knobs;
        return runfile_write_record(m->params->run_dir, &m->record);
}

static void say_topology(Manager *m) {
        manager_say(m, report_tiers(m->topology));
        for (size_t i = 0; m->topology->n_tiers > 1 && i < m->topology->n_tiers; i++)
                manager_say(m, report_tier(m->topology, i));
}

/* 0, or negative when it was refused (and said). */
static int take_topology(Manager *m, const Job *job) {
        _cleanup_(freep) char *text = NULL;
        Topology *topology;
        bool changed;
        int r;

        r = topology_build(&job->facts, m->config, &topology, &text);
        if (r < 0 && m->reloading) {
                manager_say(m, report_unsupported(text ? text : strerror(-r)));
                manager_keep_old(m, /* kernel_is_changed= */ false);
                return r;
        }
        if (r < 0) {
                refuse(m, report_unsupported(text ? text : strerror(-r)),
                       r == -ENXIO ? MANAGER_EXIT_CONFIG : MANAGER_EXIT_REFUSED);
                return r;
        }
        changed = !m->topology || !topology_equal(m->topology, topology);
        topology_free(m->topology);
        m->topology = topology;
        if (changed && topology_count_monitored(topology) > 0)
                say_topology(m);
        return 0;
}

/* Turn @knobs with @job, and back what a reload does not want turned any more. A module that lets
 * no kdamond run beside it has to go before staging; the rest may. */
static void turn_knobs(Manager *m, Job *job, uint32_t knobs) {
        uint32_t back = m->record.knobs & ~knobs_wanted(m->config);

        for (Knob knob = 0; knob < _KNOB_MAX; knob++) {
                const KnobInfo *info = knob_info(knob);
                bool turn = knobs & KNOB_BIT(knob);

                if (!turn && !(back & KNOB_BIT(knob)))
                        continue;
                if (knob_turn(knob, turn, &job->ops) < 0)
                        continue; /* the next round tries again */
                manager_say(m, turn ? report_knob(info) : report_knob_restored(info));
        }
}

void manager_prepared(Manager *m, Job *job) {
        bool ours = record_matches(&m->record, &job->tree), stat_blocks;
        uint32_t knobs;
        Job *next;
        size_t n;
        int r;

        if (job->result < 0) {
                manager_say_errno(m, LOG_ERR, job->result,
                                  "Failed to read this machine's nodes, stopping");
                return manager_stop(m, MANAGER_EXIT_FAILURE);
        }
        if (m->release_only) {
                if (ours)
                        manager_take_tree(m, job);
                return manager_stop(m, 0);
        }
        r = take_topology(m, job);
        if (r < 0)
                return;
        n = topology_count_monitored(m->topology);
        if (n == 0 && ours) { /* the slow memory was unplugged */
                manager_take_tree(m, job);
                return manager_give_back(m);
        }
        if (n == 0)
                return manager_rest(m, PHASE_IDLE, report_idle(m->topology));
        if (!job->has_damon)
                return refuse(m,
                              report_unsupported("this kernel has no DAMON sysfs interface "
                                                 "(CONFIG_DAMON_SYSFS)"),
                              MANAGER_EXIT_REFUSED);
        if (job->tree.n_kdamonds > 0 && !ours)
                return waits(m)
                               ? manager_rest(m, PHASE_WAITING, report_foreign(&job->tree, true))
                               : refuse(m, report_foreign(&job->tree, false), MANAGER_EXIT_REFUSED);
        stat_blocks = (job->knobs & KNOB_BIT(KNOB_DAMON_STAT)) &&
                      m->config->manager.damon_stat == DAMON_STAT_REFUSE;
        if (job->exclusive || stat_blocks) {
                const char *module = job->exclusive ? job->exclusive : "damon_stat";

                return waits(m) ? manager_rest(m, PHASE_WAITING, report_exclusive(module, true))
                                : refuse(m, report_exclusive(module, false), MANAGER_EXIT_REFUSED);
        }
        knobs = job->knobs & knobs_wanted(m->config);
        r = manager_claim(
                m, ours ? job->tree.n_kdamonds : slices_count_slots(m->config, m->topology), knobs);
        if (r < 0) {
                manager_say_errno(m, LOG_ERR, r, "Failed to record what is ours, touching nothing");
                return manager_stop(m, MANAGER_EXIT_FAILURE);
        }
        next = job_new(JOB_STAGE);
        if (next) {
                next->adopt = ours;
                next->n_kdamonds = slices_count_slots(m->config, m->topology);
                next->nids = manager_nids(m);
                turn_knobs(m, next, knobs);
        }
        m->phase = PHASE_STAGING;
        manager_post(m, next);
}

void manager_staged(Manager *m, Job *job) {
        int r;

        if (job->result < 0) {
                if (job->failure.index < job->ops.n_items)
                        manager_say_write_failed(m, job, "stopping");
                else
                        manager_say_errno(m, LOG_ERR, job->result,
                                          "Failed to stage DAMON's tree, stopping");
                return manager_stop(m, MANAGER_EXIT_FAILURE);
        }
        m->caps = job->caps;
        m->record.knobs &= knobs_wanted(m->config);
        m->has_memory = job->sample.has_memory;
        m->n_writes = 0;
        m->adopted = job->adopt && !m->ready;
        manager_take_tree(m, job);
        for (size_t k = 0; m->adopted && k < m->record.n_kdamonds; k++)
                for (size_t s = 0; s < m->record.kdamonds[k].n_schemes; s++)
                        (void) stats_set_baseline(&m->stats, k, m->record.kdamonds[k].pid, s,
                                                  &m->record.kdamonds[k].counters[s]);
        if (m->adopted)
                m->decide_state.on_since_us = 1; /* long ago: its first window is over */
        else if (!(m->caps & DAMON_CAP_REFRESH))
                m->decide_state = (DecideState){};

        r = manager_replan(m, &job->sample, /* anew= */ true);
        if (r < 0) {
                if (r != -EOPNOTSUPP)
                        manager_say_errno(m, LOG_ERR, r, "Failed to plan, stopping");
                return manager_stop(m, MANAGER_EXIT_REFUSED);
        }
        manager_say_plan(m);
        m->phase = PHASE_APPLYING;
        r = manager_apply_plan(m);
        if (r == 0)
                return manager_begin(m); /* adopted, and all is as wanted */
        if (r < 0) {
                manager_say_errno(m, LOG_ERR, r, "Failed to prepare the writes, stopping");
                manager_stop(m, MANAGER_EXIT_FAILURE);
        }
}
