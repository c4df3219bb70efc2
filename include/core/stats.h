/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "base/nodeset.h"
#include "core/damon.h"

/* Samples as io/scrape takes them, and what two of them say. Pure. */

/* A scheme's stats/ files (mm/damon/core.c:damos_update_stat()); cumulative since "on". */
typedef struct SchemeCounters {
        uint64_t nr_tried;
        uint64_t sz_tried; /* bytes of regions that matched pattern, quota and core filters */
        uint64_t nr_applied;
        uint64_t sz_applied;   /* bytes that really moved */
        uint64_t sz_passed;    /* bytes that passed the ops filters (DAMON_CAP_PASSED) */
        uint64_t qt_exceeds;   /* windows that ended with the quota used up */
        uint64_t nr_snapshots; /* DAMON_CAP_SNAPSHOTS */
} SchemeCounters;

typedef struct SchemeSample {
        SchemeCounters counters;
        uint64_t effective_bytes; /* per window; DAMON_CAP_EFFECTIVE_BYTES */
} SchemeSample;

typedef struct KdamondSample {
        bool on;
        int pid;
        uint64_t cpu_us;             /* user and system time of the thread */
        uint64_t sample_us, aggr_us; /* in use, tuned or not */
        SchemeSample schemes[DAMON_SCHEMES_MAX];
        size_t n_schemes;
} KdamondSample;

typedef struct NodeSample {
        int nid;
        uint64_t total_bytes;
        uint64_t free_bytes;
        uint64_t floor_bytes; /* zoneinfo_floor_pages(): free memory that a migration can't take */
} NodeSample;

typedef struct Sample {
        uint64_t now_us;
        bool full; /* else only the nodes' memory was read */
        NodeSet has_memory;
        NodeSample *nodes;
        size_t n_nodes;
        bool has_pressure;
        uint64_t pressure_us;    /* in which some task waited for memory; cumulative (PSI) */
        KdamondSample *kdamonds; /* as many as the tree has; none when not full */
        size_t n_kdamonds;
} Sample;

void sample_done(Sample *sample);
/* The nodes alone, for scrape_nodes(). 0 or -ENOMEM. */
int sample_copy_nodes(const Sample *sample, Sample *ret);
/* NULL when absent. Borrowed. */
const NodeSample *sample_find_node(const Sample *sample, int nid);

typedef struct SchemeStats {
        SchemeCounters last;  /* as read */
        SchemeCounters total; /* monotonic over restarts of the kdamond */
        SchemeCounters delta; /* in the last window */
        uint64_t effective_bytes;
} SchemeStats;

typedef struct KdamondStats {
        bool on;
        int pid;
        uint64_t last_cpu_us;
        uint64_t total_cpu_us;
        uint64_t delta_cpu_us;
        uint64_t sample_us, aggr_us;
        SchemeStats schemes[DAMON_SCHEMES_MAX];
        size_t n_schemes;
} KdamondStats;

typedef struct Stats {
        uint64_t now_us;
        uint64_t window_us; /* 0 after the first sample */
        KdamondStats *kdamonds;
        size_t n_kdamonds;
} Stats;

void stats_done(Stats *stats);

/* Take in a full sample. A counter that went down, or another pid, means that the kdamond was
 * started anew: its value then is all delta. When the number of kdamonds changes, the history of
 * those that go is lost: fold totals elsewhere first. 0 or -ENOMEM. */
int stats_update(Stats *stats, const Sample *sample);

/* Before the first stats_update(): counters that an earlier run of the daemon has accounted for
 * already, for a kdamond that it left running. 0, -ENOMEM, -E2BIG for an index out of bounds. */
int stats_set_baseline(Stats *stats, size_t kdamond, int pid, size_t scheme,
                       const SchemeCounters *counters);

/* From 7.2 on a page that was looked at but did not move may cost less of the quota than one that
 * did. The quota is there for the traffic; looking is cheap, but not free. */
#define STATS_FAIL_CHARGE_DENOM 4

/* The bytes that counted against the quota. */
uint64_t stats_charged(const SchemeCounters *counters, uint32_t caps);

/* Share of one CPU in the last window, in permille; 0 without a window. */
uint32_t stats_cpu_permille(const Stats *stats, size_t kdamond);
