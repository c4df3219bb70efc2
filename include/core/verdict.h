/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/stats.h"

/* Why is (nothing) moving? One word per scheme and window, from the funnel and the nodes. Pure. */

typedef enum Verdict {
        VERDICT_MOVING,        /* pages move, nothing holds them up */
        VERDICT_GOAL_MET,      /* as much free memory as wanted: nothing to do */
        VERDICT_QUOTA_RAMP,    /* the tuned quota is below a page though the goal is not met */
        VERDICT_QUOTA_LIMITED, /* the quota was used up */
        VERDICT_CPU_LIMITED,   /* the kdamond itself is near one CPU */
        VERDICT_TARGET_FULL,   /* pages passed, none could be placed */
        VERDICT_NO_CANDIDATES, /* no region matches the access pattern */
        VERDICT_FILTERED,      /* regions match, but the young filter passed no page */
        VERDICT_NOT_MONITORED, /* the kdamond runs, but no snapshot completes */
        VERDICT_BACKED_OFF,    /* the guard holds it back */
        VERDICT_WAITING,       /* no full window since the start */
        VERDICT_ENDED,         /* the kdamond is gone */
        _VERDICT_MAX,
} Verdict;

/* "moving", "goal-met", "quota-ramp", ... */
const char *verdict_to_string(Verdict verdict);
/* What it means and what an operator can do, one sentence. */
const char *verdict_explain(Verdict verdict);
/* The operator should know: shown at notice instead of info. */
bool verdict_is_trouble(Verdict verdict);

typedef struct VerdictInput {
        uint32_t caps;
        bool on;
        bool goal_met;    /* demotion: free >= headroom; promotion: no room above reserve */
        bool target_full; /* no page can be placed on the target */
        bool is_promotion;
        bool backed_off;       /* core/guard */
        uint64_t window_us;    /* 0: no window yet */
        uint32_t cpu_permille; /* of the kdamond */
        const SchemeCounters *delta;
        uint64_t effective_bytes;
        uint64_t allowed_bytes; /* by the quota, in all of the window; 0: not known */
} VerdictInput;

Verdict verdict_of(const VerdictInput *input);

/* One scheme's verdict over time. Zero is "not observed yet". */
typedef struct VerdictTrack {
        bool valid;
        Verdict current;
        uint64_t since_us;
        bool told; /* its start was reported */
} VerdictTrack;

typedef struct VerdictChange {
        bool started; /* report that @current holds */
        bool ended;   /* report that @before is over */
        Verdict before;
        uint64_t lasted_us;
} VerdictChange;

/* Take in this window's verdict. A verdict that is trouble and has lasted @hold_us is told once
 * when it starts and, if it was, once when it ends. */
VerdictChange verdict_track(VerdictTrack *track, Verdict verdict, uint64_t now_us,
                            uint64_t hold_us);
