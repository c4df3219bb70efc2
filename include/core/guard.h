/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "core/config.h"
#include "core/plan.h"
#include "core/stats.h"
#include "core/topology.h"
#include "core/verdict.h"

/* Do no harm. Watches what tiering does to the machine and holds it back: fast when there is
 * reason, slowly and with growing patience when the reason is gone, so that it can't swing. Pure;
 * core/decide applies the limits.
 *
 * Pressure: tasks wait for memory. Promotion, which takes memory, slows down.
 *
 * Failures: pages pass the filters and can't be placed. That scheme slows down.
 *
 * Ping-pong: more wants into a node than comes in, and still memory leaves it, until all that it
 * holds was exchanged, or for want of anything cold. Only memory that is in use more and more may
 * enter it then, and only memory that was idle for longer and longer may leave.
 *
 * Budget: a tier was written to as much as it may be in a day. Nothing moves there. */

typedef enum GuardKind {
        GUARD_PRESSURE,
        GUARD_FAILURES,
        GUARD_PING_PONG,
        GUARD_BUDGET,
        _GUARD_KIND_MAX,
} GuardKind;

/* "pressure", "failures", "ping-pong", "budget" */
const char *guard_kind_to_string(GuardKind kind);

/* How much is held back and since when. Zero is "not at all, never was". */
typedef struct GuardTrack {
        unsigned level;      /* 0: not held back */
        uint64_t changed_us; /* last change of the level */
        uint64_t bad_us;     /* last sample that was bad */
        unsigned relapses;   /* each doubles the patience; forgotten after a long calm */
} GuardTrack;

typedef struct GuardNode {
        int nid;
        GuardTrack failures[_DIRECTION_MAX]; /* of pages that leave the node */
        GuardTrack ping_pong;
        uint64_t period_us; /* start of the period that is being summed up */
        uint64_t in_bytes, out_bytes;
        uint64_t tried_bytes;                  /* looked at by demotion */
        unsigned n_samples, n_backlog, n_full; /* samples; more wanted in; nothing had room */
        unsigned n_quiet;                      /* periods without exchange up to now */
        uint64_t spree_bytes;                  /* exchanged since two of them in a row */
} GuardNode;

typedef struct GuardTier {
        uint64_t written_bytes; /* leaks at the rate of the budget per day */
        bool spent;
} GuardTier;

typedef struct Guard {
        GuardTrack pressure;
        uint64_t pressure_us; /* the counter at the last sample */
        bool has_pressure;
        uint64_t now_us; /* of the last sample */
        GuardNode *nodes;
        size_t n_nodes;
        GuardTier *tiers; /* in the topology's order */
        size_t n_tiers;
} Guard;

void guard_done(Guard *guard);

/* What an earlier run had counted for the budgets, by tier, at @at_us. 0 or -ENOMEM. */
int guard_restore(Guard *guard, const uint64_t *written_bytes, size_t n_tiers, uint64_t at_us);

/* A change that the operator is told. */
typedef struct GuardEvent {
        GuardKind kind;
        int nid;             /* -1: the machine or a tier */
        size_t tier;         /* budget */
        Direction direction; /* failures */
        unsigned before, level;
        /* pressure: permille of time, limit; failures: bytes passed, applied; ping-pong: bytes in,
         * out, budget: bytes written, budget */
        uint64_t numbers[2];
        uint64_t period_us;
        uint64_t min_age_us; /* ping-pong: these are in force now */
        unsigned access_factor;
} GuardEvent;

typedef struct GuardEvents {
        GuardEvent *items;
        size_t n_items;
        size_t n_alloc;
} GuardEvents;

void guard_events_done(GuardEvents *events);

typedef struct GuardInput {
        const Config *config;
        const Topology *topology;
        uint32_t caps;
        const Decision *decision;
        const Plan *plan;
        const Sample *sample;    /* full */
        const Stats *stats;      /* with the sample taken in */
        const Verdict *verdicts; /* [slot * DAMON_SCHEMES_MAX + scheme], or NULL */
} GuardInput;

/* Take in a full sample; what changed is appended to @events. 0 or -ENOMEM. Nodes and tiers that
 * the topology has no more are forgotten. */
int guard_update(Guard *guard, const GuardInput *input, GuardEvents *events);

typedef struct GuardLimit {
        unsigned shift;         /* quota in bytes >> shift */
        uint64_t min_age_us;    /* memory must have been idle for this long to leave */
        unsigned access_factor; /* and in use so many times as much as else to enter; 1 or more */
        bool closed;
} GuardLimit;

/* What holds for pages that leave node @from for @to. @guard may be NULL. */
GuardLimit guard_limit(const Guard *guard, const Topology *topology, Direction direction, int from,
                       int to);
bool guard_limit_holds_back(const GuardLimit *limit);
