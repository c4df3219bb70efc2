/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "core/config.h"
#include "core/slices.h"
#include "core/stats.h"
#include "core/topology.h"
#include "core/verdict.h"

/* The controller: (parameters, state, sample, now) -> decision. Pure; an hour is a loop of calls.
 *
 * What it controls per node: how much memory stays free (headroom), from when on promotion into it
 * stops, and how many bytes each scheme may move per window. Kernels with the "temporal" tuner
 * (7.1) are told the two thresholds and open and close the schemes themselves, each window; for
 * older ones this room opens and closes them at each watch tick, by the same thresholds. */

/* One quota window, and the interval at which schemes are applied. Where the kernel closes the loop
 * it looks at the goal once per window, so a short one reacts soon; where the daemon does, there
 * should not be many between two looks. */
#define DECIDE_WINDOW_KERNEL_MS 100
#define DECIDE_WINDOW_DAEMON_MS 250

/* How often a kernel without "temporal" needs us to look. */
#define DECIDE_WATCH_US (250 * UINT64_C(1000))

/* How often to look while a node is not live yet: each look that comes late delays the start. */
#define DECIDE_SETTLE_US (100 * UINT64_C(1000))

/* Up to 6.16 a scheme's first window has no limit at all (mm/damon/core.c:damos_adjust_quota(),
 * repaired in 6.17), so there a scheme starts with a pattern that matches nothing. */
#define DECIDE_EMPTY_US (2 * DECIDE_WINDOW_DAEMON_MS * UINT64_C(1000))

/* The longest sweep, and the percentage of the kdamond's time that it may take. */
#define DECIDE_SWEEP_MAX_US (10 * UINT64_C(1000000))
#define DECIDE_SWEEP_PERCENT 90

/* What a node's schemes are at. Pages carry their accessed bit from long ago, page cache that
 * nobody reads again included; the young filter would take each for just accessed the first time
 * it looks (and then clear the bit). Demotion would start with a pass over the whole node at the
 * speed of the quota, so there the filter first runs over the node once with an action that can't
 * happen. Promotion needs no such pass: its regions must be seen accessed by the monitoring, which
 * clears the bits that it looks at itself, so what is mistaken is the cold part of hot regions. */
typedef enum NodeStage {
        NODE_STAGE_EMPTY, /* matches nothing, see DECIDE_EMPTY_US */
        NODE_STAGE_SWEEP, /* the young filter clears stale accessed bits, nothing moves */
        NODE_STAGE_LIVE,
} NodeStage;

typedef struct SchemeDecision {
        bool open;                /* the quota lets pages move (kernels without "temporal") */
        uint64_t quota_bytes;     /* per window while open, of all slices together */
        uint64_t full_bytes;      /* what that would be if there were more room */
        uint64_t nr_accesses_min; /* samples per aggregation */
        uint64_t age_min;         /* aggregations */
        bool held_back;           /* by core/guard */
        unsigned n_short;         /* promotion, while we close the loop: looks without room */
} SchemeDecision;

typedef struct NodeDecision {
        int nid;
        NodeStage stage;
        uint64_t floor_bytes;    /* a migration can't take these */
        uint64_t headroom_bytes; /* demotion out of the node stops at this much free memory */
        uint64_t reserve_bytes;  /* promotion into the node stops at this much free memory */
        uint32_t demote_free_bp; /* the same two in the kernel's terms */
        uint32_t promote_used_bp;
        uint64_t fill_bytes; /* demotion into the node stops at this much free memory */
        uint32_t fill_used_bp;
        bool headroom_raised; /* what was configured would have been out of reach */
        uint64_t speed;    /* of a kdamond, bytes of quota per second of CPU time; 0: not known */
        size_t first_slot; /* in the tree, if the node is monitored */
        unsigned n_slots;
        SliceState slices;
        SchemeDecision demote;
        SchemeDecision promote; /* out of this node, upwards */
} NodeDecision;

typedef struct Decision {
        NodeDecision *nodes; /* one for each of the topology's nodes, in its order */
        size_t n_nodes;
        size_t n_slots; /* kdamonds of the tree, those included that are off */
        bool by_kernel; /* "temporal" closes the loop, goals are used */
        bool settled;   /* all nodes are live */
        uint32_t window_ms;
} Decision;

void decision_done(Decision *decision);
bool decision_equal(const Decision *a, const Decision *b);
int decision_copy(const Decision *decision, Decision *ret);
const NodeDecision *decision_find_node(const Decision *decision, int nid);

typedef struct DecideState {
        bool valid;
        uint64_t on_since_us; /* when the kdamonds were last turned on; 0: not yet */
        uint64_t changed_us;  /* last change of the decision */
        NodeSet live;         /* nodes that have reached NODE_STAGE_LIVE */
} DecideState;

struct Guard;

typedef struct DecideInput {
        const Config *config;
        const Topology *topology;
        uint32_t caps;
        const Sample *sample;    /* at least the nodes' memory */
        const Stats *stats;      /* tuned intervals, CPU time, what moved; may be empty */
        const Verdict *verdicts; /* [slot * DAMON_SCHEMES_MAX + scheme] of a full sample, or NULL */
        const struct Guard *guard; /* NULL: nothing is held back */
        const DamonTree *present;  /* NULL or what runs: slices that are on stay so */
        uint64_t now_us;
} DecideInput;

/* @previous: the decision in force; NULL at first and after a change of configuration or topology.
 * 0, -ENOMEM, or -ENODATA when the sample lacks a node of the topology. */
int decide(const DecideInput *input, DecideState *state, const Decision *previous, Decision *ret);
