/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "core/decide.h"
#include "core/plan.h"

/* What the files of the room need of each other. */

/* Between two looks of whoever closes the loop, at most this share of the node moves: on small
 * nodes the rate limit alone would move more than any headroom one would want. */
#define QUANTUM_SHARE 20
#define QUANTUM_MIN_BYTES (UINT64_C(1) << 20)

/* a * b / c without overflow; c > 0. Saturates. */
static inline uint64_t mul_div(uint64_t a, uint64_t b, uint64_t c) {
        unsigned __int128 v = (unsigned __int128) a * b / c;

        return v > UINT64_MAX ? UINT64_MAX : (uint64_t) v;
}

static inline uint64_t add_saturated(uint64_t a, uint64_t b) {
        uint64_t sum;

        return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

const Policy *decide_policy(const DecideInput *input, const TopologyNode *node);
bool decide_loop_is_in_kernel(const DecideInput *input);
uint32_t decide_window_ms(const DecideInput *input);

/* What one kdamond does per second of its CPU time, in bytes as quotas count them (pages that it
 * looks at and leaves cost something, too): learnt whenever enough was done to tell, and followed
 * only when it is off by a quarter. */
void quota_learn_speed(const DecideInput *input, const NodeDecision *before, NodeDecision *d);

/* Bytes that a scheme of node @source may move in a window. Those who fill one node share what may
 * be done to it; the operator's rate is each one's own, and always the end. */
uint64_t quota_full(const DecideInput *input, const TopologyNode *source, Direction direction,
                    const NodeDecision *d);

/* What all promotion into the node may bring in one window. */
uint64_t quota_inflow(const DecideInput *input, const Decision *decision, const NodeSample *target);

/* Free bytes of the node beyond so many. */
uint64_t quota_room_above(const NodeSample *node, uint64_t bytes);

/* What can be placed on @node before the next look: what is free, and what its own demotion makes
 * room for, which is not known better than by a factor. */
uint64_t quota_room_for_promotion(const DecideInput *input, const NodeDecision *node,
                                  const NodeSample *memory);

/* Halved until what all that fill node @target move before the next look fits into @room_bytes:
 * what finds no room was isolated for nothing, and is put back and tried again. In halves, since
 * each change is a commit. */
uint64_t quota_fit(const DecideInput *input, int target, Direction direction, uint64_t quota_bytes,
                   uint64_t room_bytes);
