/* SPDX-License-Identifier: GPL-2.0-or-later */

#include <stdio.h>

#include "draw.h"

const char *const draw_releases[DRAW_RELEASES] = {"6.12.1", "6.16.1", "6.18.1", "7.1.1", "7.3.1"};

static uint64_t draw_state;

void draw_start(uint64_t seed) {
        draw_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
        for (unsigned i = 0; i < 8; i++)
                (void) draw(0, 1);
}

uint64_t draw(uint64_t min, uint64_t max) {
        draw_state ^= draw_state << 13;
        draw_state ^= draw_state >> 7;
        draw_state ^= draw_state << 17;
        return min + draw_state % (max - min + 1);
}

/* Headroom in each of its three ways, rates from a trickle to more than a kdamond can, slices fixed
 * and automatic. */
Config *draw_config(bool varied) {
        char lines[5][64];
        const char *list[6] = {};
        size_t n = 0;

        if (!varied)
                return machine_config(NULL);
        switch (draw(0, 3)) {
        case 0:
                snprintf(lines[n++], sizeof(lines[0]), "Policy.Headroom=%u%%",
                         (unsigned) draw(1, 20));
                break;
        case 1:
                snprintf(lines[n++], sizeof(lines[0]), "Policy.Headroom=%uM",
                         (unsigned) draw(16, 256));
                break;
        default:
                break;
        }
        if (draw(0, 1))
                snprintf(lines[n++], sizeof(lines[0]), "Policy.PromoteRateLimit=%uM/s",
                         (unsigned) draw(20, 2000));
        if (draw(0, 1))
                snprintf(lines[n++], sizeof(lines[0]), "Policy.DemoteRateLimit=%uM/s",
                         (unsigned) draw(20, 2000));
        if (draw(0, 2) == 0)
                snprintf(lines[n++], sizeof(lines[0]), "Policy.Kdamonds=%u", (unsigned) draw(1, 8));
        if (draw(0, 2) == 0)
                snprintf(lines[n++], sizeof(lines[0]), "Manager.CpuShare=%u%%",
                         (unsigned) draw(0, 100));
        for (size_t i = 0; i < n; i++)
                list[i] = lines[i];
        return machine_config(list);
}

/* Tiers of up to 16 nodes, 1 GiB to 256 GiB each, those of a tier alike, as machines are built; one
 * in forty is as large as they get. Not drawn: a slow node that is too small for what leaves the
 * fast one, since a scheme has one target and that is the nearest node, whether it has room or not.
 */
Topology *draw_topology(const Config *config) {
        bool huge = draw(0, 39) == 0;
        size_t n_tiers = (size_t) draw(2, 4), n = 0, most = huge || draw(0, 9) == 0 ? 16 : 3;
        size_t n_sockets = (size_t) draw(1, 4);
        TopologyFacts facts = {.block_size_bytes = 128 * MIB, .n_kernel_tiers = n_tiers};
        Topology *topology = NULL;
        char *text = NULL;
        uint64_t address = 0;

        facts.nodes = calloc(64, sizeof(*facts.nodes));
        facts.kernel_tiers = calloc(n_tiers, sizeof(*facts.kernel_tiers));
        assert_non_null(facts.nodes);
        assert_non_null(facts.kernel_tiers);
        for (size_t t = 0; t < n_tiers; t++) {
                uint64_t size = UINT64_C(1) << (huge ? 38 : draw(30, draw(0, 3) ? 33 : 38));

                facts.kernel_tiers[t].id = (int) t;
                for (uint64_t left = huge ? most : draw(1, most); left > 0; left--, n++) {
                        NodeFacts *node = &facts.nodes[n];

                        node->nid = (int) n;
                        node->total_bytes = size;
                        node->has_cpu = t == 0;
                        node->n_cpus = t == 0 ? (uint32_t) draw(1, 64) : 0;
                        node->ranges = calloc(1, sizeof(*node->ranges));
                        assert_non_null(node->ranges);
                        node->ranges[0] = (AddressRange){address, address + node->total_bytes};
                        node->n_ranges = 1;
                        address += node->total_bytes;
                        nodeset_add(&facts.kernel_tiers[t].nodes, node->nid);
                }
        }
        facts.n_nodes = n;
        for (size_t i = 0; i < n; i++) {
                facts.nodes[i].distances = calloc(n, sizeof(*facts.nodes[i].distances));
                assert_non_null(facts.nodes[i].distances);
                /* On this socket or on another, and slower by tier. */
                for (size_t k = 0; k < n; k++)
                        facts.nodes[i].distances[k] =
                                (uint16_t) (i == k ? 10
                                                   : 17 + (i % n_sockets == k % n_sockets ? 0
                                                                                          : 11));
        }
        assert_int_equal(topology_build(&facts, config, &topology, &text), 0);
        topology_facts_done(&facts);
        free(text);
        return topology;
}

size_t draw_fast_above(const Sim *sim, size_t i, uint64_t *ret_least) {
        const TopologyNode *node = &sim->topology->nodes[i];

        *ret_least = node->total_bytes;
        while (node && node->tier > 0) {
                node = topology_find_node(sim->topology, node->promote_to);
                if (node)
                        *ret_least = MIN(*ret_least, node->total_bytes);
        }
        return node ? (size_t) (node - sim->topology->nodes) : SIZE_MAX;
}

/* Not more than can be moved in half a minute, and so that all of it fits. */
void draw_workload(Sim *sim) {
        for (size_t i = 0; i < sim->topology->n_nodes; i++) {
                SimNode *node = &sim->nodes[i];

                node->floor = node->total / draw(40, 400);
                node->other = node->total / draw(20, 50);
                node->cold = sim->topology->nodes[i].tier == 0
                                     ? node->total - node->other - node->floor - 8 * MIB
                                     : node->total / draw(5, 10);
        }
        for (size_t i = 0; i < sim->topology->n_nodes; i++) {
                uint64_t least;

                if (sim->topology->nodes[i].tier == 0 ||
                    draw_fast_above(sim, i, &least) == SIZE_MAX)
                        continue;
                sim->nodes[i].hot = MIN(least / 4 / sim->topology->n_nodes, 4 * GIB);
        }
}

/* Is there room below for the headroom of all that is above? Where not, a headroom set by hand
 * fills the slow nodes to the brim, and nothing rises through a middle tier that is full. */
static bool has_room(const Sim *sim) {
        const Policy *policy = &sim->config->policy;
        const Topology *topology = sim->topology;
        uint64_t more[64] = {};

        for (size_t tier = 0; tier < topology->n_tiers; tier++)
                for (size_t i = 0; i < topology->n_nodes; i++) {
                        uint64_t total = topology->nodes[i].total_bytes, wanted, free_bytes;
                        const TopologyNode *below =
                                topology_find_node(topology, topology->nodes[i].demote_to);

                        if (topology->nodes[i].tier != tier)
                                continue;
                        wanted = policy->headroom_mode == HEADROOM_RATIO
                                         ? total / 10000 * policy->headroom_bp
                                         : policy->headroom_bytes;
                        wanted = MAX(wanted, sim->nodes[i].floor + total / 16) + more[i] +
                                 sim->nodes[i].hot * 2;
                        free_bytes = sim_free(sim, i);
                        if (wanted <= free_bytes)
                                continue;
                        if (!below)
                                return false;
                        more[below - topology->nodes] += wanted - free_bytes;
                }
        return true;
}

void draw_machine(Sim *sim, uint64_t seed, bool varied) {
        Config *config;
        Topology *topology;

        draw_start(seed);
        config = draw_config(varied);
        topology = draw_topology(config);
        sim_new(sim, config, topology, draw_releases[draw(0, DRAW_RELEASES - 1)],
                draw(100, 2000) * MIB);
        draw_workload(sim);
        if (!has_room(sim))
                config->policy.headroom_mode = HEADROOM_AUTO;
}
