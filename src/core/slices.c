/* SPDX-License-Identifier: GPL-2.0-or-later */

/* How many kdamonds share a node, and which memory each of them watches. */

#include <errno.h>

#include "core/slices.h"

/* Memory blocks are never smaller (arch/x86/mm/init_64.c:probe_memory_block_size()); for facts
 * that do not tell. */
#define BLOCK_MIN_BYTES (UINT64_C(128) << 20)

/* Two samples: a burst that one kdamond can work off by itself is no reason. */
#define LIMITED_SAMPLES 2

/* Fewer slices will do when all together need this little of what one kdamond can. */
#define IDLE_PERMILLE 250
#define IDLE_US (60 * UINT64_C(1000000))

#define BP 10000

static uint64_t block_bytes(const Topology *topology) {
        return MAX(topology->block_size_bytes, BLOCK_MIN_BYTES);
}

static const Policy *policy_of(const Config *config, const Topology *topology,
                               const TopologyNode *node) {
        return config_tier_policy(config, topology->tiers[node->tier].name);
}

bool slices_are_auto(const Config *config, const Topology *topology, const TopologyNode *node) {
        return policy_of(config, topology, node)->kdamonds == 0;
}

unsigned slices_slots(const Config *config, const Topology *topology, const TopologyNode *node) {
        uint64_t n = policy_of(config, topology, node)->kdamonds;
        uint64_t blocks =
                topology_ranges_bytes(node->ranges, node->n_ranges) / block_bytes(topology);

        if (!topology_node_is_monitored(node))
                return 0;
        if (n == 0)
                n = (uint64_t) topology->n_cpus * config->manager.cpu_share_bp / BP /
                    topology_count_monitored(topology);
        return (unsigned) CLAMP(MIN(n, blocks), UINT64_C(1), (uint64_t) SLICES_MAX);
}

size_t slices_count_slots(const Config *config, const Topology *topology) {
        size_t n = 0;

        for (size_t i = 0; i < topology->n_nodes; i++)
                n += slices_slots(config, topology, &topology->nodes[i]);
        return n;
}

int slices_ranges(const Topology *topology, const TopologyNode *node, unsigned slice,
                  unsigned n_slices, AddressRange **ret, size_t *ret_n) {
        uint64_t block = block_bytes(topology),
                 blocks = topology_ranges_bytes(node->ranges, node->n_ranges) / block;
        /* In bytes of covered memory, from the first range on. */
        uint64_t from = blocks * slice / n_slices * block;
        uint64_t to = slice + 1 == n_slices ? UINT64_MAX : blocks * (slice + 1) / n_slices * block;
        uint64_t before = 0;
        AddressRange *ranges;
        size_t n = 0;

        ranges = calloc(MAX(node->n_ranges, (size_t) 1), sizeof(*ranges));
        if (!ranges)
                return -ENOMEM;
        for (size_t i = 0; i < node->n_ranges; i++) {
                const AddressRange *range = &node->ranges[i];
                uint64_t size = range->end - range->start;
                uint64_t first = MAX(from, before), last = MIN(to, before + size);

                if (first < last)
                        ranges[n++] = (AddressRange){.start = range->start + (first - before),
                                                     .end = range->start + (last - before)};
                before += size;
        }
        *ret = ranges;
        *ret_n = n;
        return 0;
}

static void resize(SliceState *state, unsigned n, uint64_t now_us) {
        state->n_fresh = n > state->n_slices ? n - state->n_slices : 0;
        state->n_slices = n;
        state->since_us = now_us;
        state->limited = 0;
        state->idle_from_us = 0;
}

bool slices_step(SliceState *state, const SliceInput *input) {
        state->limited = input->cpu_limited ? state->limited + 1 : 0;
        if (state->limited >= LIMITED_SAMPLES && state->n_slices < input->n_slots) {
                resize(state, MIN(state->n_slices * 2, input->n_slots), input->now_us);
                return true;
        }
        if (state->n_slices <= 1 || input->cpu_permille >= IDLE_PERMILLE) {
                state->idle_from_us = 0;
                return false;
        }
        if (state->idle_from_us == 0)
                state->idle_from_us = input->now_us;
        if (input->now_us - state->idle_from_us < IDLE_US)
                return false;
        resize(state, state->n_slices / 2, input->now_us);
        return true;
}
