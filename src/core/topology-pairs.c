/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Where the pages of a node go: up to the nearest node of the tier above, down to the nearest of
 * the tier below. A DAMON scheme has one target node, so when several are equally near the nodes
 * share them out: each gets as many sources as the next, give or take one, and the same machine
 * always gets the same pairs. Tiers are never skipped unless the configuration says so. */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/nodeset.h"
#include "core/topology-pairs.h"

#define FARTHEST UINT32_MAX

typedef enum Direction {
        DIRECTION_PROMOTE,
        DIRECTION_DEMOTE,
} Direction;

/* One direction while it is worked out. Indices are those of topology->nodes. */
typedef struct Pairs {
        const TopologyFacts *facts;
        Topology *topology;
        Direction direction;
        size_t *fact_of; /* by node: its index in facts->nodes */
        bool *near;      /* [source * n_nodes + target]: the target is one of the nearest */
        size_t *target;  /* by source; SIZE_MAX for none */
        size_t *load;    /* by target: sources that have it */
} Pairs;

static size_t fact_index(const TopologyFacts *facts, int nid) {
        size_t i = 0;

        while (facts->nodes[i].nid != nid)
                i++;

        return i;
}

/* Distances may be asymmetric: the way from the faster node counts, since there are the CPUs. */
static uint32_t distance(const Pairs *p, size_t source, size_t target) {
        const TopologyNode *a = &p->topology->nodes[source], *b = &p->topology->nodes[target];
        size_t fast = p->fact_of[a->tier < b->tier ? source : target];
        size_t slow = p->fact_of[a->tier < b->tier ? target : source];
        const uint16_t *there = p->facts->nodes[fast].distances;
        const uint16_t *back = p->facts->nodes[slow].distances;

        if (there && there[slow] > 0)
                return there[slow];
        return back && back[fast] > 0 ? back[fast] : FARTHEST;
}

static const Policy *policy_of(const Config *config, const Topology *topology, size_t tier) {
        return config_tier_policy(config, topology->tiers[tier].name);
}

static bool is_candidate(const Pairs *p, const Policy *policy, size_t source, size_t target) {
        const TopologyNode *from = &p->topology->nodes[source], *to = &p->topology->nodes[target];
        bool up = p->direction == DIRECTION_PROMOTE;
        DestinationMode mode = up ? policy->promote_to_mode : policy->demote_to_mode;

        switch (mode) {
        case DESTINATION_NONE:
                return false;
        case DESTINATION_AUTO:
                return up ? to->tier + 1 == from->tier : from->tier + 1 == to->tier;
        case DESTINATION_NODES:
                return nodeset_has(up ? &policy->promote_to : &policy->demote_to, to->nid) &&
                       (up ? to->tier < from->tier : from->tier < to->tier);
        }

        return false;
}

/* False when there is no candidate at all. */
static bool mark_nearest(const Pairs *p, const Policy *policy, size_t source) {
        size_t n = p->topology->n_nodes;
        uint32_t nearest = FARTHEST;
        bool found = false;

        for (size_t t = 0; t < n; t++)
                if (is_candidate(p, policy, source, t)) {
                        nearest = MIN(nearest, distance(p, source, t));
                        found = true;
                }

        for (size_t t = 0; t < n; t++)
                p->near[source * n + t] =
                        is_candidate(p, policy, source, t) && distance(p, source, t) == nearest;

        return found;
}

static int refuse(const Pairs *p, const Policy *policy, size_t tier, char **reterr_text) {
        bool up = p->direction == DIRECTION_PROMOTE;
        _cleanup_(freep) char *nodes = NULL;
        char *text;

        nodes = nodeset_to_string(up ? &policy->promote_to : &policy->demote_to);
        if (!nodes ||
            asprintf(&text, "Tier '%s' has %s=%s, but none of these has memory in a %s tier",
                     p->topology->tiers[tier].name, up ? "PromoteTo" : "DemoteTo", nodes,
                     up ? "faster" : "slower") < 0)
                return -ENOMEM;

        *reterr_text = text;
        return -ENXIO;
}

/* Nothing is above the fastest tier and nothing below the slowest. */
static bool is_end(const Pairs *p, size_t tier) {
        return tier == (p->direction == DIRECTION_PROMOTE ? 0 : p->topology->n_tiers - 1);
}

static int mark_all(const Pairs *p, const Config *config, char **reterr_text) {
        for (size_t s = 0; s < p->topology->n_nodes; s++) {
                size_t tier = p->topology->nodes[s].tier;
                const Policy *policy = policy_of(config, p->topology, tier);
                DestinationMode mode = p->direction == DIRECTION_PROMOTE ? policy->promote_to_mode
                                                                         : policy->demote_to_mode;

                if (is_end(p, tier))
                        continue;
                if (!mark_nearest(p, policy, s) && mode == DESTINATION_NODES)
                        return refuse(p, policy, tier, reterr_text);
        }

        return 0;
}

/* The least loaded of the nearest targets, the first of these; SIZE_MAX without any. */
static size_t least_loaded(const Pairs *p, size_t source) {
        size_t n = p->topology->n_nodes, best = SIZE_MAX;

        for (size_t t = 0; t < n; t++)
                if (p->near[source * n + t] && (best == SIZE_MAX || p->load[t] < p->load[best]))
                        best = t;

        return best;
}

/* First come, first served; then as long as a source can change to a target with two sources less,
 * it does. Each such change makes the sum of squares of the loads smaller, so it ends. */
static void share_out(const Pairs *p) {
        bool changed = true;

        for (size_t s = 0; s < p->topology->n_nodes; s++) {
                p->target[s] = least_loaded(p, s);
                if (p->target[s] != SIZE_MAX)
                        p->load[p->target[s]]++;
        }

        while (changed) {
                changed = false;
                for (size_t s = 0; s < p->topology->n_nodes; s++) {
                        size_t best = least_loaded(p, s);

                        if (best == SIZE_MAX || p->load[best] + 1 >= p->load[p->target[s]])
                                continue;

                        p->load[p->target[s]]--;
                        p->load[best]++;
                        p->target[s] = best;
                        changed = true;
                }
        }
}

static int find_direction(const TopologyFacts *facts, const Config *config, Direction direction,
                          Topology *topology, char **reterr_text) {
        size_t n = topology->n_nodes;
        _cleanup_(freep) size_t *fact_of = calloc(n, sizeof(*fact_of));
        _cleanup_(freep) bool *near = calloc(n * n, sizeof(*near));
        _cleanup_(freep) size_t *target = calloc(n, sizeof(*target));
        _cleanup_(freep) size_t *load = calloc(n, sizeof(*load));
        const Pairs p = {
                .facts = facts,
                .topology = topology,
                .direction = direction,
                .fact_of = fact_of,
                .near = near,
                .target = target,
                .load = load,
        };
        int r;

        if (!fact_of || !near || !target || !load)
                return -ENOMEM;

        for (size_t s = 0; s < n; s++)
                fact_of[s] = fact_index(facts, topology->nodes[s].nid);

        r = mark_all(&p, config, reterr_text);
        if (r < 0)
                return r;

        share_out(&p);
        for (size_t s = 0; s < n; s++) {
                int nid = target[s] == SIZE_MAX ? NODE_NONE : topology->nodes[target[s]].nid;

                if (direction == DIRECTION_PROMOTE)
                        topology->nodes[s].promote_to = nid;
                else
                        topology->nodes[s].demote_to = nid;
        }

        return 0;
}

int topology_pairs_find(const TopologyFacts *facts, const Config *config, Topology *topology,
                        char **reterr_text) {
        int r;

        r = find_direction(facts, config, DIRECTION_PROMOTE, topology, reterr_text);
        if (r < 0)
                return r;

        return find_direction(facts, config, DIRECTION_DEMOTE, topology, reterr_text);
}
