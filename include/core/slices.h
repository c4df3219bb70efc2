/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config.h"
#include "core/topology.h"

/* A node's memory split over several kdamonds, since one kdamond is one thread and migrates with
 * one CPU. Slices are cut along memory blocks and as equal in size as these allow.
 *
 * The kernel takes a new number of kdamonds only while none runs, so as many as a node may come to
 * are staged at the start (slots); those that are not needed are off and cost nothing. Pure. */

#define SLICES_MAX 64

/* How many slots the node has: what Kdamonds= says, or with "auto" its part of CpuShare=; no more
 * than it has memory blocks. 0 when nobody watches the node. */
unsigned slices_slots(const Config *config, const Topology *topology, const TopologyNode *node);
/* All nodes' slots together. */
size_t slices_count_slots(const Config *config, const Topology *topology);
/* Does the operator leave the number to us? */
bool slices_are_auto(const Config *config, const Topology *topology, const TopologyNode *node);

/* The ranges of slice @slice of @n_slices, 1 <= @n_slices <= slices_slots(). Owned by the caller.
 * 0 or -ENOMEM. */
int slices_ranges(const Topology *topology, const TopologyNode *node, unsigned slice,
                  unsigned n_slices, AddressRange **ret, size_t *ret_n);

/* How many slices a node should have, from how busy its kdamonds were. */
typedef struct SliceState {
        unsigned n_slices;
        unsigned n_fresh;      /* the last so many were turned on at @since_us */
        unsigned limited;      /* samples in a row in which a kdamond was the limit */
        uint64_t since_us;     /* last change */
        uint64_t idle_from_us; /* since when fewer would do; 0: they would not */
} SliceState;

typedef struct SliceInput {
        unsigned n_slots;
        bool cpu_limited;      /* one of the kdamonds is, while its scheme is under its goal */
        uint32_t cpu_permille; /* of all slices together, 1000 is one CPU */
        uint64_t now_us;
} SliceInput;

/* Doubles when one kdamond has been the limit for two samples, halves when what all do would have
 * fitted into a fraction of one for a minute. True when the number changed. */
bool slices_step(SliceState *state, const SliceInput *input);
