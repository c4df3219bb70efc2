/* SPDX-License-Identifier: GPL-2.0-or-later */

/* One sample of everything the controller looks at. Statistics are fetched by command rather than
 * with refresh_ms: up to 7.2 the kernel keeps one next-refresh time for all kdamonds, so that some
 * of several may starve (mm/damon/sysfs.c:damon_sysfs_repeat_call_fn()). */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "io/damonfs.h"
#include "io/pathf.h"
#include "io/scrape.h"
#include "io/toporead.h"

static int scrape_has_memory(Sysfs *sysfs, NodeSet *ret) {
        char buf[4096];
        int r;

        r = sysfs_read(sysfs, "sys/devices/system/node/has_memory", buf, sizeof(buf));
        if (r < 0)
                return r;
        return parse_nodeset(buf, ret);
}

int scrape_nodes(Sysfs *sysfs, const NodeSet *nids, const Sample *floors, uint64_t now_us,
                 Sample *ret) {
        _cleanup_(sample_done) Sample sample = {.now_us = now_us};
        _cleanup_(zoneinfo_done) ZoneInfo zones = {};
        uint64_t page = (uint64_t) sysconf(_SC_PAGESIZE);
        int r;

        r = scrape_has_memory(sysfs, &sample.has_memory);
        if (r < 0)
                return r;
        if (!floors) {
                r = toporead_zones(sysfs, &zones);
                if (r < 0)
                        return r;
        }
        sample.nodes = calloc(MAX(nodeset_count(nids), 1U), sizeof(*sample.nodes));
        if (!sample.nodes)
                return -ENOMEM;
        nodeset_foreach (nid, nids) {
                NodeSample *node = &sample.nodes[sample.n_nodes];
                const NodeSample *known = floors ? sample_find_node(floors, nid) : NULL;

                node->nid = nid;
                r = toporead_node_memory(sysfs, nid, &node->total_bytes, &node->free_bytes);
                if (r < 0)
                        return r == -ENOENT ? -ENODATA : r;
                node->floor_bytes =
                        known ? known->floor_bytes : zoneinfo_floor_pages(&zones, nid) * page;
                sample.n_nodes++;
        }
        *ret = sample;
        sample = (Sample){};
        return 0;
}

/* Missing files leave a zero: they came with later kernels. */
static uint64_t leaf(Sysfs *sysfs, const char *dir, const char *name) {
        char path[PATHF_MAX], buf[32];
        uint64_t value = 0;

        (void) pathf(path, "%s/%s", dir, name);
        if (sysfs_read_again(sysfs, path, buf, sizeof(buf)) >= 0)
                (void) parse_u64(buf, &value);
        return value;
}

static uint64_t scrape_cpu_us(Sysfs *sysfs, int pid) {
        char path[PATHF_MAX], buf[1024], *p;
        unsigned long long utime, stime;
        long hz = sysconf(_SC_CLK_TCK);

        (void) pathf(path, "proc/%d/stat", pid);
        if (sysfs_read(sysfs, path, buf, sizeof(buf)) < 0 || hz <= 0)
                return 0;
        /* The name may hold blanks and brackets; fields are counted from the last ')'. */
        p = strrchr(buf, ')');
        if (!p)
                return 0;
        for (unsigned i = 0; i < 12; i++) { /* from field 2 to field 14, utime */
                p = strchr(p + 1, ' ');
                if (!p)
                        return 0;
        }
        utime = strtoull(p + 1, &p, 10);
        stime = strtoull(p, NULL, 10);
        return (utime + stime) * 1000000 / (unsigned long) hz;
}

static void scrape_scheme(Sysfs *sysfs, uint32_t caps, const char *dir, SchemeSample *sample) {
        SchemeCounters *c = &sample->counters;

        c->nr_tried = leaf(sysfs, dir, "stats/nr_tried");
        c->sz_tried = leaf(sysfs, dir, "stats/sz_tried");
        c->nr_applied = leaf(sysfs, dir, "stats/nr_applied");
        c->sz_applied = leaf(sysfs, dir, "stats/sz_applied");
        c->qt_exceeds = leaf(sysfs, dir, "stats/qt_exceeds");
        if (caps & DAMON_CAP_PASSED)
                c->sz_passed = leaf(sysfs, dir, "stats/sz_ops_filter_passed");
        if (caps & DAMON_CAP_SNAPSHOTS)
                c->nr_snapshots = leaf(sysfs, dir, "stats/nr_snapshots");
        if (caps & DAMON_CAP_EFFECTIVE_BYTES)
                sample->effective_bytes = leaf(sysfs, dir, "quotas/effective_bytes");
}

static void scrape_kdamond(Sysfs *sysfs, size_t kdamond, uint32_t caps, ScrapeWhat what,
                           void (*sleep_us)(uint64_t us), KdamondSample *sample) {
        char dir[PATHF_MAX];

        if (sample->on) {
                /* Best effort: a kdamond that ends in between is seen at the next sample. */
                int r = damonfs_ask(sysfs, kdamond, "update_schemes_stats", sleep_us);

                if (r >= 0 && what == SCRAPE_ALL && (caps & DAMON_CAP_EFFECTIVE_BYTES))
                        r = damonfs_ask(sysfs, kdamond, "update_schemes_effective_quotas",
                                        sleep_us);
                if (r >= 0 && what == SCRAPE_ALL && (caps & DAMON_CAP_INTERVALS_GOAL))
                        (void) damonfs_ask(sysfs, kdamond, "update_tuned_intervals", sleep_us);
                sample->cpu_us = scrape_cpu_us(sysfs, sample->pid);
        }
        (void) pathf(dir, DAMON_KDAMONDS_DIR "/%zu/contexts/0", kdamond);
        sample->sample_us = leaf(sysfs, dir, "monitoring_attrs/intervals/sample_us");
        sample->aggr_us = leaf(sysfs, dir, "monitoring_attrs/intervals/aggr_us");
        sample->n_schemes =
                (size_t) MIN(leaf(sysfs, dir, "schemes/nr_schemes"), (uint64_t) DAMON_SCHEMES_MAX);
        for (size_t s = 0; s < sample->n_schemes; s++) {
                (void) pathf(dir, DAMON_KDAMONDS_DIR "/%zu/contexts/0/schemes/%zu", kdamond, s);
                scrape_scheme(sysfs, caps, dir, &sample->schemes[s]);
        }
}

int scrape_full(Sysfs *sysfs, const NodeSet *nids, uint32_t caps, ScrapeWhat what,
                void (*sleep_us)(uint64_t us), uint64_t now_us, Sample *ret) {
        _cleanup_(sample_done) Sample sample = {};
        _cleanup_(damon_tree_done) DamonTree tree = {};
        int r;

        r = damonfs_read_states(sysfs, sleep_us, &tree);
        if (r < 0)
                return r;
        r = scrape_nodes(sysfs, nids, NULL, now_us, &sample);
        if (r < 0)
                return r;
        sample.full = true;
        sample.kdamonds = calloc(MAX(tree.n_kdamonds, (size_t) 1), sizeof(*sample.kdamonds));
        if (!sample.kdamonds)
                return -ENOMEM;
        sample.n_kdamonds = tree.n_kdamonds;
        for (size_t i = 0; i < tree.n_kdamonds; i++) {
                sample.kdamonds[i].on = tree.kdamonds[i].on;
                sample.kdamonds[i].pid = tree.kdamonds[i].pid;
                scrape_kdamond(sysfs, i, caps, what, sleep_us, &sample.kdamonds[i]);
        }
        *ret = sample;
        sample = (Sample){};
        return 0;
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345", then "full ..." (kernel/sched/psi.c) */
void scrape_pressure(Sysfs *sysfs, const char *group, Sample *sample) {
        char path[PATHF_MAX], buf[1024], *total, *end;

        if (*group)
                (void) pathf(path, "sys/fs/cgroup/%s/memory.pressure", group);
        else
                (void) pathf(path, "proc/pressure/memory");
        if (sysfs_read(sysfs, path, buf, sizeof(buf)) < 0)
                return;
        total = strncmp(buf, "some ", 5) == 0 ? strstr(buf, "total=") : NULL;
        if (!total)
                return;
        total += strlen("total=");
        end = total + strspn(total, "0123456789");
        *end = '\0';
        sample->has_pressure = parse_u64(total, &sample->pressure_us) >= 0;
}
