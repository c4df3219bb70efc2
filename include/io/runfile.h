/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "core/decide.h"
#include "core/guard.h"
#include "core/knob.h"
#include "core/ledger.h"
#include "core/plan.h"
#include "core/stats.h"
#include "core/topology.h"
#include "core/verdict.h"

/* The files below /run/damon-tierd (@dir): status.json for everybody to read, record.json (0600)
 * with what is ours. Both are replaced as a whole. */

typedef struct RecordKdamond {
        int pid;                                    /* -1: staged only */
        SchemeCounters counters[DAMON_SCHEMES_MAX]; /* accounted for in the ledger */
        size_t n_schemes;
} RecordKdamond;

/* What we own, written before we own it; a crash leaves it behind for the next start. */
typedef struct Record {
        RecordKdamond *kdamonds; /* none: the tree is not ours */
        size_t n_kdamonds;
        uint32_t knobs; /* KNOB_BIT()s of those that we turned */
        /* What the guard's budgets have counted, by tier; 0 where there is none. */
        uint64_t *written_bytes;
        size_t n_written;
        uint64_t written_at_us; /* monotonic; the record does not outlive a boot */
        Ledger ledger;
} Record;

void record_done(Record *record);

/* Is @tree (states and pids) the one of the record? Kdamonds that are off may have ended. */
bool record_matches(const Record *record, const DamonTree *tree);

/* 0; -ENOENT without one; -EBADMSG when it is not one of ours. */
int runfile_read_record(const char *dir, Record *ret);
int runfile_write_record(const char *dir, const Record *record);

/* Everything the status document shows. All borrowed, NULL for what is not known yet. */
typedef struct StatusView {
        const char *state;  /* "starting", "running", "idle", "waiting", "stopped" */
        const char *reason; /* why not running, or NULL */
        uint32_t caps;
        const Topology *topology;
        const Decision *decision;
        const Plan *plan;
        const Sample *sample;
        const Stats *stats;
        const Ledger *ledger;
        const Guard *guard;
        const Verdict *verdicts; /* [kdamond * DAMON_SCHEMES_MAX + scheme] */
} StatusView;

/* 0 or a negative errno; the old document stays when it fails. */
int runfile_write_status(const char *dir, const StatusView *view);
