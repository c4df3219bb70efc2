/* SPDX-License-Identifier: GPL-2.0-or-later */

/* How much a scheme may move in a window. */

#include "decide-internal.h"

const Policy *decide_policy(const DecideInput *input, const TopologyNode *node) {
        return config_tier_policy(input->config, input->topology->tiers[node->tier].name);
}

bool decide_loop_is_in_kernel(const DecideInput *input) {
        return (input->caps & DAMON_CAP_GOAL_TUNER) && (input->caps & DAMON_CAP_NODE_GOALS);
}

uint32_t decide_window_ms(const DecideInput *input) {
        return decide_loop_is_in_kernel(input) ? DECIDE_WINDOW_KERNEL_MS : DECIDE_WINDOW_DAEMON_MS;
}

/* What @bytes per window come to until somebody looks again: the kernel looks at a goal in each
 * window; we do about once in one, and then it takes a moment until the kdamond has it. */
static uint64_t until_next_look(const DecideInput *input, uint64_t bytes) {
        return decide_loop_is_in_kernel(input) ? bytes : bytes + bytes / 2;
}

#define SPEED_LEAST_BYTES (UINT64_C(64) << 20)
#define SPEED_LEAST_CPU_US (UINT64_C(100) * 1000)

void quota_learn_speed(const DecideInput *input, const NodeDecision *before, NodeDecision *d) {
        uint64_t bytes = 0, cpu_us = 0, speed;

        d->speed = before ? before->speed : 0;
        if (!input->sample->full || !input->stats || input->stats->window_us == 0)
                return;
        for (size_t k = d->first_slot;
             k < MIN(d->first_slot + d->n_slots, input->stats->n_kdamonds); k++) {
                const KdamondStats *kdamond = &input->stats->kdamonds[k];

                cpu_us += kdamond->delta_cpu_us;
                for (size_t s = 0; s < kdamond->n_schemes; s++)
                        bytes += stats_charged(&kdamond->schemes[s].delta, input->caps);
        }
        if (bytes < SPEED_LEAST_BYTES || cpu_us < SPEED_LEAST_CPU_US)
                return;
        speed = mul_div(bytes, 1000000, cpu_us);
        if (d->speed > 0)
                speed = (d->speed * 3 + speed) / 4;
        if (d->speed == 0 || speed > d->speed + d->speed / 4 || speed < d->speed - d->speed / 4)
                d->speed = speed;
}

/* Bytes that the kdamonds of node @source should move in a window. The next one starts when these
 * are done, so a quota that is just what a window can hold leaves half of the time unused; four
 * times that uses four fifths. Beyond, it would not speed much up, but keep the kdamond from
 * sampling. */
#define CAPACITY_WINDOWS 4

static uint64_t capacity(const DecideInput *input, const NodeDecision *source) {
        if (source->speed == 0)
                return UINT64_MAX;
        return mul_div(source->speed * CAPACITY_WINDOWS,
                       (uint64_t) decide_window_ms(input) * source->slices.n_slices, 1000);
}

/* Nodes that send pages to @target. */
static size_t count_sources(const Topology *topology, int target, Direction direction) {
        size_t n = 0;

        for (size_t i = 0; i < topology->n_nodes; i++)
                n += target == (direction == DIRECTION_PROMOTE ? topology->nodes[i].promote_to
                                                               : topology->nodes[i].demote_to);
        return n;
}

uint64_t quota_full(const DecideInput *input, const TopologyNode *source, Direction direction,
                    const NodeDecision *d) {
        bool promote = direction == DIRECTION_PROMOTE;
        const Policy *policy = decide_policy(input, source);
        const NodeSample *target =
                sample_find_node(input->sample, promote ? source->promote_to : source->demote_to);
        uint64_t share = target->total_bytes / QUANTUM_SHARE /
                         count_sources(input->topology, target->nid, direction);
        uint64_t bytes = mul_div(promote ? policy->promote_rate : policy->demote_rate,
                                 decide_window_ms(input), 1000);

        return MAX(MIN(MIN(bytes, share), capacity(input, d)), QUANTUM_MIN_BYTES);
}

uint64_t quota_inflow(const DecideInput *input, const Decision *decision,
                      const NodeSample *target) {
        const Topology *topology = input->topology;
        uint64_t sum = 0;

        for (size_t i = 0; i < topology->n_nodes; i++)
                if (topology->nodes[i].promote_to == target->nid)
                        sum += quota_full(input, &topology->nodes[i], DIRECTION_PROMOTE,
                                          &decision->nodes[i]);
        return sum;
}

uint64_t quota_fit(const DecideInput *input, int target, Direction direction, uint64_t quota_bytes,
                   uint64_t room_bytes) {
        room_bytes /= count_sources(input->topology, target, direction);
        while (until_next_look(input, quota_bytes) > room_bytes && quota_bytes > QUANTUM_MIN_BYTES)
                quota_bytes = MAX(quota_bytes / 2, QUANTUM_MIN_BYTES);
        return quota_bytes;
}

uint64_t quota_room_above(const NodeSample *node, uint64_t bytes) {
        return node->free_bytes - MIN(node->free_bytes, bytes);
}

uint64_t quota_room_for_promotion(const DecideInput *input, const NodeDecision *node,
                                  const NodeSample *memory) {
        uint64_t room = quota_room_above(memory, node->reserve_bytes);

        if (node->stage != NODE_STAGE_LIVE)
                return room;
        return add_saturated(room, 2 * until_next_look(input, node->demote.quota_bytes));
}
