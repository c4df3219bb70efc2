/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* Small machines as values, for the tests of core: they link nothing but core and base. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macro.h"
#include "core/config.h"
#include "core/decide.h"
#include "core/plan.h"
#include "core/topology.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* What the ladder's rungs offer (mainline releases). */
#define CAPS_6_12 damon_caps_of_release("6.12.1")
#define CAPS_6_16 damon_caps_of_release("6.16.1")
#define CAPS_6_18 damon_caps_of_release("6.18.1")
#define CAPS_7_3 damon_caps_of_release("7.3.1")

/* A node per tier, each of @node_bytes in one range, node 0 with the CPUs. Owned by the caller. */
_unused_ static Topology *machine_chain(size_t n_nodes, uint64_t node_bytes, const Config *config) {
        TopologyFacts facts = {
                .nodes = calloc(n_nodes, sizeof(*facts.nodes)),
                .n_nodes = n_nodes,
                .kernel_tiers = calloc(n_nodes, sizeof(*facts.kernel_tiers)),
                .n_kernel_tiers = n_nodes,
                .block_size_bytes = 128 * MIB,
        };
        Topology *topology = NULL;
        char *text = NULL;

        assert_non_null(facts.nodes);
        assert_non_null(facts.kernel_tiers);
        for (size_t i = 0; i < n_nodes; i++) {
                NodeFacts *node = &facts.nodes[i];

                node->nid = (int) i;
                node->total_bytes = node_bytes;
                node->has_cpu = i == 0;
                node->ranges = calloc(1, sizeof(*node->ranges));
                node->distances = calloc(n_nodes, sizeof(*node->distances));
                assert_non_null(node->ranges);
                assert_non_null(node->distances);
                node->ranges[0] =
                        (AddressRange){.start = i * node_bytes, .end = (i + 1) * node_bytes};
                node->n_ranges = 1;
                for (size_t k = 0; k < n_nodes; k++)
                        node->distances[k] = (uint16_t) (10 + 10 * (i > k ? i - k : k - i));
                facts.kernel_tiers[i].id = (int) (4 + i);
                nodeset_add(&facts.kernel_tiers[i].nodes, (int) i);
        }
        assert_int_equal(topology_build(&facts, config, &topology, &text), 0);
        topology_facts_done(&facts);
        free(text);
        return topology;
}

/* Every node of @topology with @floor_bytes out of reach and @free_bytes free. */
_unused_ static Sample machine_sample(const Topology *topology, uint64_t now_us,
                                      uint64_t free_bytes, uint64_t floor_bytes) {
        Sample sample = {
                .now_us = now_us,
                .nodes = calloc(topology->n_nodes, sizeof(*sample.nodes)),
                .n_nodes = topology->n_nodes,
        };

        assert_non_null(sample.nodes);
        for (size_t i = 0; i < topology->n_nodes; i++) {
                sample.nodes[i] = (NodeSample){
                        .nid = topology->nodes[i].nid,
                        .total_bytes = topology->nodes[i].total_bytes,
                        .free_bytes = free_bytes,
                        .floor_bytes = floor_bytes,
                };
                nodeset_add(&sample.has_memory, topology->nodes[i].nid);
        }
        return sample;
}

/* A configuration from lines "Section.Key=value"; NULL ends the list. */
_unused_ static Config *machine_config(const char *const *lines) {
        ConfigAssignment assignments[16] = {};
        ConfigProblems problems = {};
        char *copies[16] = {};
        Config *config = NULL;
        size_t n = 0;

        for (; lines && lines[n]; n++) {
                char *dot, *equals;

                assert_true(n < ELEMENTSOF(copies));
                copies[n] = strdup(lines[n]);
                assert_non_null(copies[n]);
                dot = strchr(copies[n], '.');
                equals = strchr(copies[n], '=');
                *dot = *equals = '\0';
                assignments[n] = (ConfigAssignment){
                        .path = "test.conf",
                        .line = (unsigned) n + 1,
                        .section = copies[n],
                        .key = dot + 1,
                        .value = equals + 1,
                };
        }
        assert_int_equal(config_build(assignments, n, &problems, &config), 0);
        config_problems_done(&problems);
        for (size_t i = 0; i < n; i++)
                free(copies[i]);
        return config;
}
