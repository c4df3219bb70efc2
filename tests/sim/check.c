/* SPDX-License-Identifier: GPL-2.0-or-later */

#include "check.h"
#include "draw.h"

#define BP 10000

uint64_t check_seed;

/* Nothing that can't be reached, and both schemes at work in between. */
bool check_thresholds(const NodeDecision *d, uint64_t total) {
        uint64_t free_at_goal = total / 10000 * (10000 - MIN(d->promote_used_bp, 10000U));

        return d->floor_bytes < d->reserve_bytes && d->reserve_bytes < d->headroom_bytes &&
               d->headroom_bytes < total && d->promote_used_bp + d->demote_free_bp > 10000 &&
               free_at_goal >= d->floor_bytes && d->demote_free_bp < 10000;
}

static uint64_t per_window(const Sim *sim, uint64_t rate) {
        return MAX(rate * sim->decision.window_ms / 1000, CHECK_MIN_QUANTUM);
}

/* All slices of all nodes together, into each node and out of each. */
bool check_quotas(const Sim *sim) {
        const Policy *policy = &sim->config->policy;

        for (size_t i = 0; i < sim->topology->n_nodes; i++) {
                const TopologyNode *node = &sim->topology->nodes[i];
                uint64_t in = 0, n_in = 0, out[_DIRECTION_MAX] = {};

                for (size_t k = 0; k < sim->n_kdamonds; k++) {
                        const PlanKdamond *meta = &sim->plan.kdamonds[k];

                        for (size_t s = 0; s < meta->n_schemes; s++) {
                                const DamonScheme *scheme =
                                        &sim->plan.tree.kdamonds[k].context.schemes[s];

                                if (scheme->quota_bytes == 0)
                                        return false; /* no limit at all */
                                if (scheme->sz_max == 0 || scheme->n_filters == 2)
                                        continue; /* moves nothing */
                                if (meta->schemes[s].to == node->nid) {
                                        in += scheme->quota_bytes;
                                        n_in++;
                                }
                                if (meta->nid == node->nid)
                                        out[meta->schemes[s].direction] += scheme->quota_bytes;
                        }
                }
                if (out[DIRECTION_DEMOTE] > per_window(sim, policy->demote_rate) ||
                    out[DIRECTION_PROMOTE] > per_window(sim, policy->promote_rate))
                        return false;
                /* A twentieth of the node by each direction. */
                if (in > node->total_bytes / 10 + n_in * CHECK_MIN_QUANTUM)
                        return false;
        }
        return true;
}

/* Watermarks as they are now, not as they were when the thresholds were set. */
bool check_floors(const Sim *sim) {
        for (size_t i = 0; i < sim->topology->n_nodes; i++) {
                const NodeDecision *d = &sim->decision.nodes[i];

                if (d->reserve_bytes < sim->nodes[i].floor ||
                    d->headroom_bytes <= sim->nodes[i].floor)
                        return false;
        }
        return true;
}

/* Each node that has something cold, and somewhere to put it, keeps what was asked for. The
 * daemon lets a quarter of the band go before it acts, and the kernel counts in basis points. */
bool check_headroom(const Sim *sim) {
        for (size_t i = 0; i < sim->topology->n_nodes; i++) {
                const NodeDecision *d = &sim->decision.nodes[i], *target;
                const TopologyNode *node = &sim->topology->nodes[i];
                uint64_t slack =
                        (d->headroom_bytes - d->reserve_bytes) / 4 + node->total_bytes / BP;

                if (node->demote_to == NODE_NONE)
                        continue;
                target = decision_find_node(&sim->decision, node->demote_to);
                if (sim->nodes[i].cold < node->total_bytes / 100 ||
                    sim_free(sim, (size_t) (target - sim->decision.nodes)) <
                            target->headroom_bytes + target->headroom_bytes / 10)
                        continue;
                if (sim_free(sim, i) + slack < d->headroom_bytes)
                        return false;
        }
        return true;
}

bool check_rest(const Sim *sim, uint64_t moved, unsigned commits, unsigned minutes) {
        uint64_t giving = 0;

        for (size_t i = 0; i < sim->topology->n_nodes; i++)
                giving += sim->topology->nodes[i].demote_to != NODE_NONE ? sim->nodes[i].total : 0;
        return moved <= giving / 50 * minutes && commits <= 30 * minutes;
}

/* A page that finds no room was isolated and looked at for nothing. Some windows are under way when
 * a node fills up; more than what arrived means that somebody pushes against the floor. */
bool check_failed(const Sim *sim) {
        return sim->failed <= sim->moved + 64 * MIB;
}

/* Over a whole life, and while something moves: less than every other look changes the plan. */
bool check_commits(const Sim *sim) {
        return sim->commits <= 10 + sim->now_us / SIM_SECOND;
}

void check_decision(const Sim *sim) {
        for (size_t i = 0; i < sim->decision.n_nodes; i++)
                must(sim, check_thresholds(&sim->decision.nodes[i], sim->nodes[i].total));
        must(sim, check_quotas(sim));
}

/* Seconds that it may take: each byte rises tier by tier, with room made for it, at the lower of
 * the rate and half of what a kdamond can. */
uint64_t check_patience_us(const Sim *sim) {
        const Policy *policy = &sim->config->policy;
        uint64_t rate = MIN(MIN(policy->promote_rate, policy->demote_rate), sim->speed / 2);
        uint64_t most = 0;

        for (size_t target = 0; target < sim->topology->n_nodes; target++) {
                uint64_t in = 0, least;

                for (size_t i = 0; i < sim->topology->n_nodes; i++) {
                        if (draw_fast_above(sim, i, &least) == target)
                                in += sim->nodes[i].hot;
                }
                most = MAX(most, in);
        }
        return 30 * SIM_SECOND + most / (rate / 1000000 + 1) * 4;
}
