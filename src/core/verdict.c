/* SPDX-License-Identifier: GPL-2.0-or-later */

/* One word for what limits a scheme, from the last thing that went wrong in its funnel: a window
 * with movement is judged by what capped it, one without by where the bytes got stuck. */

#include "core/verdict.h"

#define PAGE_BYTES 4096

/* A window starts when the work of the one before is done, so a kdamond that has more to do than it
 * can comes to about four fifths of a CPU (core/decide-quota.c: CAPACITY_WINDOWS), less when the
 * host has other work. */
#define CPU_LIMIT_PERMILLE 700

static const struct {
        const char *name;
        const char *explain;
        bool trouble;
} verdict_table[_VERDICT_MAX] = {
        [VERDICT_MOVING] = {"moving", "Pages move; nothing limits them.", false},
        [VERDICT_GOAL_MET] = {"goal-met", "The node has the free memory that it should have.",
                              false},
        [VERDICT_QUOTA_RAMP] = {"quota-ramp",
                                "The kernel's tuner has not raised the quota to a page yet.", true},
        [VERDICT_QUOTA_LIMITED] = {"quota-limited",
                                   "The rate limit is used up; raise it to move faster.", false},
        [VERDICT_CPU_LIMITED] =
                {"cpu-limited",
                 "The kdamond is busy most of the time; more of them, fewer regions "
                 "or longer intervals would help.",
                 true},
        [VERDICT_TARGET_FULL] = {"target-full",
                                 "The target node has no free memory that a migration may take.",
                                 true},
        [VERDICT_NO_CANDIDATES] = {"no-candidates",
                                   "No memory of the node matches the access pattern.", false},
        [VERDICT_FILTERED] =
                {"filtered",
                 "Regions match, but the young filter let hardly a page of them through.", false},
        [VERDICT_NOT_MONITORED] = {"not-monitored",
                                   "The kdamond runs but completes no pass over the node.", true},
        [VERDICT_BACKED_OFF] = {"backed-off",
                                "It is held back so that it does no harm; the message before says "
                                "why.",
                                true},
        [VERDICT_WAITING] = {"waiting", "Not observed for a whole interval yet.", false},
        [VERDICT_ENDED] = {"ended", "The kernel ended the kdamond.", true},
};

const char *verdict_to_string(Verdict verdict) {
        return (unsigned) verdict < _VERDICT_MAX ? verdict_table[verdict].name : NULL;
}

const char *verdict_explain(Verdict verdict) {
        return (unsigned) verdict < _VERDICT_MAX ? verdict_table[verdict].explain : NULL;
}

bool verdict_is_trouble(Verdict verdict) {
        return (unsigned) verdict < _VERDICT_MAX && verdict_table[verdict].trouble;
}

/* Windows in which the goal was met count as exceeded too, as their quota is nothing; so the
 * quota is only the limit if about all of it was used. Pages that were looked at and stayed cost
 * something as well, how much depends on the kernel. */
static bool quota_is_the_limit(const VerdictInput *input) {
        return input->delta->qt_exceeds > 0 &&
               (input->allowed_bytes == 0 ||
                stats_charged(input->delta, input->caps) >= input->allowed_bytes / 2);
}

/* Memory that is in use or can't be moved is looked at over and over; that now and then a page of
 * it leaves is not what the scheme is there for. */
#define TRICKLE_SHARE 64

Verdict verdict_of(const VerdictInput *input) {
        const SchemeCounters *d = input->delta;
        bool moves = d->sz_applied > d->sz_tried / TRICKLE_SHARE;

        if (!input->on)
                return VERDICT_ENDED;
        if (input->window_us == 0)
                return VERDICT_WAITING;
        if (input->target_full && !input->goal_met && !moves)
                return VERDICT_TARGET_FULL;
        if (input->backed_off && !input->goal_met)
                return VERDICT_BACKED_OFF;
        if (input->cpu_permille >= CPU_LIMIT_PERMILLE && !input->goal_met)
                return VERDICT_CPU_LIMITED;
        if (moves)
                return quota_is_the_limit(input) ? VERDICT_QUOTA_LIMITED : VERDICT_MOVING;
        if (input->goal_met)
                /* Promotion's goal is a full node: to the operator that is a lack of room. */
                return input->is_promotion ? VERDICT_TARGET_FULL : VERDICT_GOAL_MET;
        if (d->sz_tried == 0) {
                if ((input->caps & DAMON_CAP_EFFECTIVE_BYTES) && input->effective_bytes > 0 &&
                    input->effective_bytes < PAGE_BYTES)
                        return VERDICT_QUOTA_RAMP;
                if ((input->caps & DAMON_CAP_SNAPSHOTS) && d->nr_snapshots == 0)
                        return VERDICT_NOT_MONITORED;
                return VERDICT_NO_CANDIDATES;
        }
        if ((input->caps & DAMON_CAP_PASSED) && d->sz_passed <= d->sz_tried / TRICKLE_SHARE)
                return VERDICT_FILTERED;
        if (input->caps & DAMON_CAP_PASSED)
                return VERDICT_TARGET_FULL;
        /* Before 6.14 nothing tells a page that was filtered from one that found no room. */
        return VERDICT_FILTERED;
}

VerdictChange verdict_track(VerdictTrack *track, Verdict verdict, uint64_t now_us,
                            uint64_t hold_us) {
        VerdictChange change = {};

        if (!track->valid || track->current != verdict) {
                change.ended = track->valid && track->told;
                change.before = track->current;
                change.lasted_us = now_us - track->since_us;
                *track = (VerdictTrack){.valid = true, .current = verdict, .since_us = now_us};
        }
        if (!track->told && verdict_is_trouble(verdict) && now_us - track->since_us >= hold_us) {
                track->told = true;
                change.started = true;
        }
        return change;
}
