/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "core/config.h"
#include "core/stats.h"
#include "core/topology.h"

/* The controller: (parameters, state, sample, now) -> decision. Pure; an hour is a loop of calls.
 *
 * What it controls per node: how much memory stays free (headroom), from when on promotion into it
 * stops, and how many bytes each scheme may move per window. Kernels with the "temporal" tuner
 * (7.1) are told the two thresholds and open and close the schemes themselves, each window; for
 * older ones this room opens and closes them at each watch tick, by the same thresholds. */

/* One quota window, and the interval at which schemes are applied. Short, so that a reversal of
 * the goal stops the flow soon; long against a sampling interval. */
#define DECIDE_WINDOW_MS 250

/* How often a kernel without "temporal" needs us to look. */
#define DECIDE_WATCH_US (500 * UINT64_C(1000))

/* Up to 6.16 a scheme's first window has no limit at all (mm/damon/core.c:damos_adjust_quota(),
 * repaired in 6.17), so there a scheme starts with a pattern that matches nothing. */
#define DECIDE_PRIME_US (2 * DECIDE_WINDOW_MS * UINT64_C(1000))

typedef struct SchemeDecision {
        bool open;                /* the quota lets pages move (kernels without "temporal") */
        uint64_t quota_bytes;     /* per window while open */
        uint64_t nr_accesses_min; /* samples per aggregation */
        uint64_t age_min;         /* aggregations */
} SchemeDecision;

typedef struct NodeDecision {
        int nid;
        uint64_t floor_bytes;    /* a migration can't take these */
        uint64_t headroom_bytes; /* demotion out of the node stops at this much free memory */
        uint64_t reserve_bytes;  /* promotion into the node stops at this much free memory */
        uint32_t demote_free_bp; /* the same two in the kernel's terms */
        uint32_t promote_used_bp;
        bool headroom_raised; /* what was configured would have been out of reach */
        SchemeDecision demote;
        SchemeDecision promote; /* out of this node, upwards */
} NodeDecision;

typedef struct Decision {
        NodeDecision *nodes; /* one for each of the topology's nodes, in its order */
        size_t n_nodes;
        bool by_kernel; /* "temporal" closes the loop, goals are used */
        bool primed;    /* the access patterns may match */
} Decision;

void decision_done(Decision *decision);
bool decision_equal(const Decision *a, const Decision *b);
int decision_copy(const Decision *decision, Decision *ret);
const NodeDecision *decision_find_node(const Decision *decision, int nid);

typedef struct DecideState {
        bool valid;
        uint64_t on_since_us; /* when the kdamonds were last all turned on; 0: not yet */
        uint64_t changed_us;  /* last change of an open/closed bit */
} DecideState;

typedef struct DecideInput {
        const Config *config;
        const Topology *topology;
        uint32_t caps;
        const Sample *sample; /* at least the nodes' memory */
        const Stats *stats;   /* tuned intervals; may be empty */
        uint64_t now_us;
} DecideInput;

/* @previous: the decision in force; NULL at first and after a change of configuration or topology.
 * 0, -ENOMEM, or -ENODATA when the sample lacks a node of the topology. */
int decide(const DecideInput *input, DecideState *state, const Decision *previous, Decision *ret);
