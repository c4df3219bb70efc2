/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The input is cut at NUL bytes into the files of a machine with two nodes; what core makes of it
 * must keep its promises. */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "core/topology.h"
#include "io/toporead.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Input {
        const uint8_t *data;
        size_t size;
} Input;

/* In the order of the input. */
static const char *const files[] = {
        "block_size_bytes", "node0/meminfo",  "node1/meminfo",  "node0/cpulist",
        "node1/cpulist",    "node0/distance", "node1/distance", "read_latency",
        "read_bandwidth",   "memory1/state",  "nodelist",       "proc/zoneinfo",
};

static bool ends_with(const char *s, const char *end) {
        size_t len = strlen(s), end_len = strlen(end);

        return len >= end_len && strcmp(s + len - end_len, end) == 0;
}

static int read_piece(void *userdata, const char *path, char *buf, size_t size, size_t *ret_len) {
        const Input *input = userdata;
        const uint8_t *at = input->data, *end = input->data + input->size;

        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                const uint8_t *nul = at < end ? memchr(at, '\0', (size_t) (end - at)) : NULL;
                size_t len = (size_t) ((nul ? nul : end) - at);

                if (ends_with(path, files[i])) {
                        if (len >= size)
                                return -E2BIG;
                        if (len > 0)
                                memcpy(buf, at, len);
                        buf[len] = '\0';
                        *ret_len = len;
                        return 0;
                }
                if (!nul)
                        break;
                at = nul + 1;
        }

        return -ENOENT;
}

static int list_fixed(void *userdata, const char *path, char ***ret) {
        static const char *const nodes[] = {"node0", "node1"};
        static const char *const blocks[] = {"memory0", "memory1", "memory99999999999999999"};
        static const char *const tiers[] = {"memory_tier4"};
        const char *const *names = ends_with(path, "/node")            ? nodes
                                   : ends_with(path, "memory_tiering") ? tiers
                                                                       : blocks;
        size_t n = names == nodes ? 2 : names == tiers ? 1 : 3;
        char **copy = calloc(n + 1, sizeof(*copy));
        (void) userdata;

        if (!copy)
                abort();
        for (size_t i = 0; i < n; i++) {
                copy[i] = strdup(names[i]);
                if (!copy[i])
                        abort();
        }
        *ret = copy;
        return 0;
}

static void check(const Topology *topology) {
        for (size_t i = 0; i < topology->n_nodes; i++) {
                const TopologyNode *node = &topology->nodes[i];

                for (size_t k = 0; k < node->n_ranges; k++)
                        if (node->ranges[k].start >= node->ranges[k].end)
                                abort();
                if (node->promote_to >= 0 && !topology_find_node(topology, node->promote_to))
                        abort();
                if (node->demote_to >= 0 && !topology_find_node(topology, node->demote_to))
                        abort();
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static const SysfsBackend backend = {.read = read_piece, .list = list_fixed};
        Input input = {data, size};
        _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;
        _cleanup_(topology_facts_done) TopologyFacts facts = {0};
        _cleanup_(config_freep) Config *config = NULL;
        _cleanup_(topology_freep) Topology *topology = NULL;
        _cleanup_(freep) char *text = NULL;

        if (config_new(&config) < 0 || sysfs_new_backend_consume(&backend, &input, &sysfs) < 0)
                abort();
        if (toporead_facts(sysfs, &facts) < 0)
                return 0;
        if (topology_build(&facts, config, &topology, &text) >= 0)
                check(topology);
        return 0;
}
