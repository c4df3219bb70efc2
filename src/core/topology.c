/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Facts about nodes in, a topology out: a value that the plan is made from. The two questions in
 * between have rooms of their own: topology-tiers (which node is in which tier) and topology-pairs
 * (who promotes and demotes to whom). Must not read anything; io/toporead did. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/nodeset.h"
#include "core/topology-pairs.h"
#include "core/topology-tiers.h"
#include "core/topology.h"

void topology_facts_done(TopologyFacts *facts) {
        for (size_t i = 0; i < facts->n_nodes; i++) {
                free(facts->nodes[i].ranges);
                free(facts->nodes[i].distances);
        }
        free(facts->nodes);
        free(facts->kernel_tiers);
        *facts = (TopologyFacts){0};
}

const char *tier_evidence_to_string(TierEvidence evidence) {
        static const char *const table[_TIER_EVIDENCE_MAX] = {
                [TIER_EVIDENCE_CONFIG] = "config", [TIER_EVIDENCE_KERNEL] = "kernel-tiers",
                [TIER_EVIDENCE_HMAT] = "hmat",     [TIER_EVIDENCE_DISTANCE] = "distance",
                [TIER_EVIDENCE_NONE] = "none",
        };

        return (size_t) evidence < ELEMENTSOF(table) ? table[evidence] : NULL;
}

Topology *topology_free(Topology *topology) {
        if (!topology)
                return NULL;

        for (size_t t = 0; t < topology->n_tiers; t++) {
                free(topology->tiers[t].name);
                free(topology->tiers[t].why);
        }
        for (size_t i = 0; i < topology->n_nodes; i++)
                free(topology->nodes[i].ranges);
        free(topology->tiers);
        free(topology->nodes);
        free(topology->evidence_text);
        free(topology);
        return NULL;
}

static int compare_ranges(const void *a, const void *b) {
        const AddressRange *x = a, *y = b;

        if (x->start != y->start)
                return x->start < y->start ? -1 : 1;
        return (x->end > y->end) - (x->end < y->end);
}

size_t topology_ranges_merge(AddressRange *ranges, size_t n_ranges) {
        size_t n = 0;

        if (n_ranges == 0)
                return 0;

        qsort(ranges, n_ranges, sizeof(*ranges), compare_ranges);
        for (size_t i = 0; i < n_ranges; i++) {
                if (ranges[i].start >= ranges[i].end)
                        continue;
                if (n > 0 && ranges[i].start <= ranges[n - 1].end)
                        ranges[n - 1].end = MAX(ranges[n - 1].end, ranges[i].end);
                else
                        ranges[n++] = ranges[i];
        }

        return n;
}

uint64_t topology_ranges_bytes(const AddressRange *ranges, size_t n_ranges) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < n_ranges; i++)
                bytes += ranges[i].end - ranges[i].start;

        return bytes;
}

static int add_node(Topology *topology, const NodeFacts *facts, size_t tier) {
        TopologyNode *node = &topology->nodes[topology->n_nodes];

        *node = (TopologyNode){
                .nid = facts->nid,
                .tier = tier,
                .total_bytes = facts->total_bytes,
                .has_cpu = facts->has_cpu,
                .promote_to = NODE_NONE,
                .demote_to = NODE_NONE,
                .access = facts->access,
        };
        topology->n_nodes++;
        nodeset_add(&topology->tiers[tier].nodes, facts->nid);
        if (facts->n_ranges == 0)
                return 0;

        node->ranges = calloc(facts->n_ranges, sizeof(*node->ranges));
        if (!node->ranges)
                return -ENOMEM;

        memcpy(node->ranges, facts->ranges, facts->n_ranges * sizeof(*node->ranges));
        node->n_ranges = topology_ranges_merge(node->ranges, facts->n_ranges);
        return 0;
}

/* Takes the texts out of @tiers. */
static int fill(Topology *topology, const TopologyFacts *facts, TopologyTiers *tiers) {
        int r;

        topology->tiers = calloc(tiers->n_tiers, sizeof(*topology->tiers));
        topology->nodes = calloc(facts->n_nodes, sizeof(*topology->nodes));
        if (!topology->tiers || !topology->nodes)
                return -ENOMEM;

        topology->n_tiers = tiers->n_tiers;
        for (size_t t = 0; t < tiers->n_tiers; t++) {
                topology->tiers[t].name = TAKE_PTR(tiers->names[t]);
                topology->tiers[t].why = TAKE_PTR(tiers->whys[t]);
        }
        topology->block_size_bytes = facts->block_size_bytes;
        for (size_t i = 0; i < facts->n_nodes; i++)
                topology->n_cpus += facts->nodes[i].n_cpus;
        topology->evidence = tiers->evidence;
        topology->evidence_text = TAKE_PTR(tiers->text);

        for (size_t i = 0; i < facts->n_nodes; i++) {
                if (facts->nodes[i].total_bytes == 0) {
                        nodeset_add(&topology->skipped, facts->nodes[i].nid);
                        continue;
                }
                if (tiers->tier_of[i] == TOPOLOGY_TIER_NONE) {
                        nodeset_add(&topology->unlisted, facts->nodes[i].nid);
                        continue;
                }

                r = add_node(topology, &facts->nodes[i], tiers->tier_of[i]);
                if (r < 0)
                        return r;
        }

        return 0;
}

int topology_build(const TopologyFacts *facts, const Config *config, Topology **ret,
                   char **reterr_text) {
        _cleanup_(topology_freep) Topology *topology = NULL;
        _cleanup_(topology_tiers_done) TopologyTiers tiers = {0};
        int r;

        r = topology_tiers_find(facts, config, &tiers, reterr_text);
        if (r < 0)
                return r;

        topology = calloc(1, sizeof(*topology));
        if (!topology)
                return -ENOMEM;

        r = fill(topology, facts, &tiers);
        if (r < 0)
                return r;

        r = topology_pairs_find(facts, config, topology, reterr_text);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(topology);
        return 0;
}

const TopologyNode *topology_find_node(const Topology *topology, int nid) {
        for (size_t i = 0; i < topology->n_nodes; i++)
                if (topology->nodes[i].nid == nid)
                        return &topology->nodes[i];

        return NULL;
}

static bool node_equal(const TopologyNode *a, const TopologyNode *b) {
        if (a->nid != b->nid || a->tier != b->tier || a->total_bytes != b->total_bytes ||
            a->has_cpu != b->has_cpu || a->promote_to != b->promote_to ||
            a->demote_to != b->demote_to || a->n_ranges != b->n_ranges ||
            a->access.read_latency_ns != b->access.read_latency_ns ||
            a->access.read_bandwidth_mibs != b->access.read_bandwidth_mibs)
                return false;

        for (size_t i = 0; i < a->n_ranges; i++)
                if (a->ranges[i].start != b->ranges[i].start ||
                    a->ranges[i].end != b->ranges[i].end)
                        return false;

        return true;
}

bool topology_equal(const Topology *a, const Topology *b) {
        if (a->n_tiers != b->n_tiers || a->n_nodes != b->n_nodes || a->evidence != b->evidence ||
            a->n_cpus != b->n_cpus || a->block_size_bytes != b->block_size_bytes ||
            !nodeset_equal(&a->skipped, &b->skipped) || !nodeset_equal(&a->unlisted, &b->unlisted))
                return false;

        for (size_t t = 0; t < a->n_tiers; t++)
                if (strcmp(a->tiers[t].name, b->tiers[t].name) != 0 ||
                    !nodeset_equal(&a->tiers[t].nodes, &b->tiers[t].nodes))
                        return false;

        for (size_t i = 0; i < a->n_nodes; i++)
                if (!node_equal(&a->nodes[i], &b->nodes[i]))
                        return false;

        return true;
}

bool topology_node_is_monitored(const TopologyNode *node) {
        return node->n_ranges > 0 &&
               (node->demote_to != NODE_NONE || node->promote_to != NODE_NONE);
}

size_t topology_count_monitored(const Topology *topology) {
        size_t n = 0;

        for (size_t i = 0; i < topology->n_nodes; i++)
                n += topology_node_is_monitored(&topology->nodes[i]);
        return n;
}
