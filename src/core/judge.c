/* SPDX-License-Identifier: GPL-2.0-or-later */

#include "core/judge.h"

/* The kernel's goals are in basis points of a node, ours in bytes: two of them are as good as met.
 */
#define FULL_SLACK_SHARE 5000

/* Demotion's goal is the headroom; promotion's that no more fits above the reserve. */
static bool goal_is_met(const JudgeInput *input, const PlanScheme *scheme) {
        bool demote = scheme->direction == DIRECTION_DEMOTE;
        int nid = demote ? scheme->from : scheme->to;
        const NodeDecision *node = decision_find_node(input->decision, nid);
        const NodeSample *memory = sample_find_node(input->sample, nid);

        if (!node || !memory)
                return false;
        return demote ? memory->free_bytes >= node->headroom_bytes
                      : memory->free_bytes <= node->reserve_bytes;
}

static bool target_is_full(const JudgeInput *input, const PlanScheme *scheme) {
        const NodeDecision *node = decision_find_node(input->decision, scheme->to);
        const NodeSample *memory = sample_find_node(input->sample, scheme->to);

        return node && memory &&
               memory->free_bytes <= node->fill_bytes + memory->total_bytes / FULL_SLACK_SHARE;
}

static bool is_held_back(const NodeDecision *node, Direction direction) {
        return direction == DIRECTION_PROMOTE ? node->promote.held_back : node->demote.held_back;
}

VerdictInput judge_facts(const JudgeInput *input, size_t k, size_t s) {
        const PlanScheme *scheme = &input->plan->kdamonds[k].schemes[s];
        const DamonScheme *quota = &input->plan->tree.kdamonds[k].context.schemes[s];
        const SchemeStats *stats = &input->stats->kdamonds[k].schemes[s];
        const NodeDecision *node = decision_find_node(input->decision, scheme->from);
        /* Before that the scheme is not yet itself. */
        bool live = node && node->stage == NODE_STAGE_LIVE;

        return (VerdictInput){
                .caps = input->caps,
                .on = input->stats->kdamonds[k].on,
                .goal_met = goal_is_met(input, scheme),
                .target_full = target_is_full(input, scheme),
                .is_promotion = scheme->direction == DIRECTION_PROMOTE,
                .backed_off = node && is_held_back(node, scheme->direction),
                .window_us = live ? input->stats->window_us : 0,
                .cpu_permille = stats_cpu_permille(input->stats, k),
                .delta = &stats->delta,
                .effective_bytes = stats->effective_bytes,
                .allowed_bytes = quota->quota_bytes * (input->stats->window_us / 1000) /
                                 MAX(quota->quota_reset_interval_ms, UINT64_C(1)),
        };
}
