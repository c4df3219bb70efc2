/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Machines in tables, then machines at random with the rules that must hold for any of them. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macro.h"
#include "base/parse.h"
#include "core/topology.h"

#define GIB (UINT64_C(1) << 30)
#define NODES 8

typedef struct Machine {
        const char *name;
        struct {
                unsigned gib;
                bool has_cpu;
                uint32_t ns;
                uint32_t mibs;
                int kernel_tier; /* 0: in none */
                uint16_t distances[NODES];
        } nodes[NODES];
        size_t n_nodes;

        TierEvidence evidence;
        const char *tiers;   /* "0-1 2" */
        const char *promote; /* by node, '-' for none, '.' for a node that is not in the topology */
        const char *demote;
        const char *text; /* part of evidence_text */
} Machine;

static TopologyFacts facts_new(size_t n_nodes) {
        TopologyFacts facts = {
                .nodes = calloc(n_nodes, sizeof(*facts.nodes)),
                .n_nodes = n_nodes,
                .kernel_tiers = calloc(n_nodes, sizeof(*facts.kernel_tiers)),
                .block_size_bytes = 128 << 20,
        };

        assert_non_null(facts.nodes);
        assert_non_null(facts.kernel_tiers);
        for (size_t i = 0; i < n_nodes; i++) {
                facts.nodes[i].nid = (int) i;
                facts.nodes[i].distances = calloc(n_nodes, sizeof(uint16_t));
                facts.nodes[i].ranges = calloc(1, sizeof(AddressRange));
                assert_non_null(facts.nodes[i].distances);
                assert_non_null(facts.nodes[i].ranges);
        }
        return facts;
}

static void facts_set_memory(TopologyFacts *facts, size_t i, uint64_t bytes) {
        NodeFacts *node = &facts->nodes[i];

        node->total_bytes = bytes;
        node->n_ranges = bytes > 0;
        node->ranges[0] = (AddressRange){i << 40, (i << 40) + bytes};
}

/* Keeps the tiers sorted by id. */
static void facts_add_kernel_tier(TopologyFacts *facts, int id, int nid) {
        size_t t = 0;

        while (t < facts->n_kernel_tiers && facts->kernel_tiers[t].id < id)
                t++;
        if (t == facts->n_kernel_tiers || facts->kernel_tiers[t].id != id) {
                memmove(&facts->kernel_tiers[t + 1], &facts->kernel_tiers[t],
                        (facts->n_kernel_tiers - t) * sizeof(KernelTier));
                facts->kernel_tiers[t] = (KernelTier){.id = id};
                facts->n_kernel_tiers++;
        }
        nodeset_add(&facts->kernel_tiers[t].nodes, nid);
}

static TopologyFacts machine_facts(const Machine *m) {
        TopologyFacts facts = facts_new(m->n_nodes);

        for (size_t i = 0; i < m->n_nodes; i++) {
                facts_set_memory(&facts, i, m->nodes[i].gib * GIB);
                facts.nodes[i].has_cpu = m->nodes[i].has_cpu;
                facts.nodes[i].access = (AccessClass){m->nodes[i].ns, m->nodes[i].mibs};
                if (m->nodes[i].kernel_tier)
                        facts_add_kernel_tier(&facts, m->nodes[i].kernel_tier, (int) i);
                for (size_t j = 0; j < m->n_nodes; j++)
                        facts.nodes[i].distances[j] = m->nodes[i].distances[j];
        }
        return facts;
}

static Config *auto_config(void) {
        Config *config = NULL;

        assert_int_equal(config_new(&config), 0);
        return config;
}

static void check_tiers(const Topology *topology, const char *expected) {
        _cleanup_(freep) char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        assert_non_null(f);
        for (size_t t = 0; t < topology->n_tiers; t++) {
                _cleanup_(freep) char *nodes = nodeset_to_string(&topology->tiers[t].nodes);

                (void) fprintf(f, "%s%s", t ? " " : "", nodes);
        }
        assert_int_equal(fclose(f), 0);
        assert_string_equal(text, expected);
}

static void check_targets(const Topology *topology, size_t n_nodes, const char *promote,
                          const char *demote) {
        char up[NODES + 1] = {0}, down[NODES + 1] = {0};

        for (size_t i = 0; i < n_nodes; i++) {
                const TopologyNode *node = topology_find_node(topology, (int) i);

                up[i] = !node ? '.' : node->promote_to < 0 ? '-' : (char) ('0' + node->promote_to);
                down[i] = !node ? '.' : node->demote_to < 0 ? '-' : (char) ('0' + node->demote_to);
        }
        assert_string_equal(up, promote);
        assert_string_equal(down, demote);
}

/* clang-format off */
static const Machine machines[] = {
        /* name, {GiB, CPUs, ns, MiB/s, kernel tier, distances}..., evidence, tiers, up, down, text */
        {"single", {{4, true, 80, 100000, 4, {10}}}, 1,
         TIER_EVIDENCE_NONE, "0", "-", "-", "one tier; only one node has memory"},
        {"DRAM and CXL with HMAT, tiers by the kernel",
         {{1, true, 80, 102400, 4, {10, 20}}, {1, false, 250, 25600, 56, {20, 10}}}, 2,
         TIER_EVIDENCE_KERNEL, "0 1", "-0", "1-", "the kernel has 2 memory tiers"},
        {"slow node first",
         {{1, false, 250, 25600, 56, {10, 20}}, {1, true, 80, 102400, 4, {20, 10}}}, 2,
         TIER_EVIDENCE_KERNEL, "1 0", "1-", "-0", ""},
        {"DRAM and CXL, the kernel made one tier",
         {{1, true, 80, 102400, 4, {10, 20}}, {1, false, 250, 25600, 4, {20, 10}}}, 2,
         TIER_EVIDENCE_HMAT, "0 1", "-0", "1-",
         "the firmware's latency and bandwidth differ; the kernel puts all nodes in memory_tier4"},
        {"DRAM and a node without CPUs, nothing else known",
         {{1, true, 0, 0, 4, {10, 20}}, {1, false, 0, 0, 4, {20, 10}}}, 2,
         TIER_EVIDENCE_DISTANCE, "0 1", "-0", "1-",
         "the kernel puts all nodes in memory_tier4 and the firmware gives no latency"},
        {"no kernel tiers",
         {{1, true, 0, 0, 0, {10, 20}}, {1, false, 0, 0, 0, {20, 10}}}, 2,
         TIER_EVIDENCE_DISTANCE, "0 1", "-0", "1-", "the kernel shows no memory tiers"},
        {"two sockets of DRAM",
         {{1, true, 0, 0, 4, {10, 21}}, {1, true, 0, 0, 4, {21, 10}}}, 2,
         TIER_EVIDENCE_NONE, "0-1", "--", "--",
         "one tier; the kernel puts all nodes in memory_tier4, the firmware gives no latency or "
         "bandwidth and all nodes with memory have CPUs"},
        {"two sockets of DRAM with like access",
         {{1, true, 80, 100000, 4, {10, 21}}, {1, true, 85, 90000, 4, {21, 10}}}, 2,
         TIER_EVIDENCE_NONE, "0-1", "--", "--", "latency and bandwidth are alike"},
        {"two sockets, each with CXL",
         {{1, true, 80, 102400, 4, {10, 21, 17, 28}}, {1, true, 80, 102400, 4, {21, 10, 28, 17}},
          {1, false, 250, 25600, 56, {17, 28, 10, 28}},
          {1, false, 250, 25600, 56, {28, 17, 28, 10}}}, 4,
         TIER_EVIDENCE_KERNEL, "0-1 2-3", "--01", "23--", ""},
        {"two sockets, CXL crosswise",
         {{1, true, 0, 0, 4, {10, 21, 28, 17}}, {1, true, 0, 0, 4, {21, 10, 17, 28}},
          {1, false, 0, 0, 22, {28, 17, 10, 28}}, {1, false, 0, 0, 22, {17, 28, 28, 10}}}, 4,
         TIER_EVIDENCE_KERNEL, "0-1 2-3", "--10", "32--", ""},
        {"two sockets, equal distances are shared out",
         {{1, true, 0, 0, 4, {10, 20, 20, 20}}, {1, true, 0, 0, 4, {20, 10, 20, 20}},
          {1, false, 0, 0, 4, {20, 20, 10, 20}}, {1, false, 0, 0, 4, {20, 20, 20, 10}}}, 4,
         TIER_EVIDENCE_DISTANCE, "0-1 2-3", "--01", "23--", ""},
        {"two sockets, one CXL node",
         {{1, true, 0, 0, 4, {10, 21, 17}}, {1, true, 0, 0, 4, {21, 10, 28}},
          {1, false, 0, 0, 22, {17, 28, 10}}}, 3,
         TIER_EVIDENCE_KERNEL, "0-1 2", "--0", "22-", ""},
        {"three tiers by the kernel",
         {{1, true, 80, 102400, 4, {10, 17, 28}}, {1, false, 180, 51200, 25, {17, 10, 28}},
          {1, false, 400, 12288, 225, {28, 28, 10}}}, 3,
         TIER_EVIDENCE_KERNEL, "0 1 2", "-01", "12-", "3 memory tiers"},
        {"three tiers by HMAT",
         {{1, true, 80, 102400, 4, {10, 17, 28}}, {1, false, 180, 51200, 4, {17, 10, 28}},
          {1, false, 400, 12288, 4, {28, 28, 10}}}, 3,
         TIER_EVIDENCE_HMAT, "0 1 2", "-01", "12-", ""},
        {"three tiers by distance",
         {{1, true, 0, 0, 4, {10, 17, 28}}, {1, false, 0, 0, 4, {17, 10, 28}},
          {1, false, 0, 0, 4, {28, 28, 10}}}, 3,
         TIER_EVIDENCE_DISTANCE, "0 1 2", "-01", "12-", ""},
        {"HBM beside DRAM: like latency, four times the bandwidth",
         {{1, true, 100, 100000, 4, {10, 20}}, {1, false, 110, 400000, 4, {20, 10}}}, 2,
         TIER_EVIDENCE_HMAT, "1 0", "1-", "-0", ""},
        {"bandwidth only",
         {{1, true, 0, 100000, 4, {10, 20}}, {1, false, 0, 25000, 4, {20, 10}}}, 2,
         TIER_EVIDENCE_HMAT, "0 1", "-0", "1-", ""},
        {"a chain of small steps is cut at its widest",
         {{1, true, 100, 1000, 4, {10, 20, 20, 20}}, {1, false, 104, 1000, 4, {20, 10, 20, 20}},
          {1, false, 124, 1000, 4, {20, 20, 10, 20}}, {1, false, 126, 1000, 4, {20, 20, 20, 10}}},
         4, TIER_EVIDENCE_HMAT, "0-1 2-3", "--01", "23--", ""},
        {"HMAT of one node only",
         {{1, true, 80, 102400, 4, {10, 20}}, {1, false, 0, 0, 4, {20, 10}}}, 2,
         TIER_EVIDENCE_DISTANCE, "0 1", "-0", "1-", "of some nodes only"},
        {"a node that the kernel has in no tier",
         {{1, true, 0, 0, 4, {10, 20, 30}}, {1, false, 0, 0, 22, {20, 10, 30}},
          {1, false, 0, 0, 0, {30, 30, 10}}}, 3,
         TIER_EVIDENCE_DISTANCE, "0 1 2", "-01", "12-", "node 2 in no memory tier"},
        {"a tier of memory-less nodes is no tier",
         {{1, true, 0, 0, 4, {10, 20}}, {0, true, 0, 0, 3, {20, 10}}}, 2,
         TIER_EVIDENCE_NONE, "0", "-.", "-.", "only one node has memory"},
        {"memory-less node with a CPU between",
         {{1, true, 0, 0, 4, {10, 20, 20}}, {0, true, 0, 0, 0, {20, 10, 20}},
          {1, false, 0, 0, 4, {20, 20, 10}}}, 3,
         TIER_EVIDENCE_DISTANCE, "0 2", "-.0", "2.-", ""},
        {"CPUs only on memory-less nodes",
         {{0, true, 0, 0, 0, {10, 12, 40}}, {1, false, 0, 0, 4, {12, 10, 40}},
          {1, false, 0, 0, 4, {40, 40, 10}}}, 3,
         TIER_EVIDENCE_DISTANCE, "1 2", ".-1", ".2-", ""},
        {"no CPUs at all",
         {{1, false, 0, 0, 4, {10, 20}}, {1, false, 0, 0, 4, {20, 10}}}, 2,
         TIER_EVIDENCE_NONE, "0-1", "--", "--", "equally far"},
        {"distances unknown",
         {{1, true, 0, 0, 4, {0}}, {1, false, 0, 0, 4, {0}}, {1, false, 0, 0, 4, {0}}}, 3,
         TIER_EVIDENCE_DISTANCE, "0 1-2", "-00", "1--", ""},
        {"one distance unknown: that node is the last",
         {{1, true, 0, 0, 4, {10, 0, 30}}, {1, false, 0, 0, 4, {0, 10, 20}},
          {1, false, 0, 0, 4, {30, 20, 10}}}, 3,
         TIER_EVIDENCE_DISTANCE, "0 2 1", "-20", "2-1", ""},
        {"known in one direction only",
         {{1, true, 0, 0, 4, {10, 0, 30}}, {1, false, 0, 0, 4, {15, 10, 20}},
          {1, false, 0, 0, 4, {30, 20, 10}}}, 3,
         TIER_EVIDENCE_DISTANCE, "0 1 2", "-01", "12-", ""},
        {"asymmetric: the way from the fast node counts",
         {{1, true, 0, 0, 4, {10, 20, 17, 28}}, {1, true, 0, 0, 4, {20, 10, 28, 17}},
          {1, false, 0, 0, 22, {90, 11, 10, 20}}, {1, false, 0, 0, 22, {11, 90, 20, 10}}}, 4,
         TIER_EVIDENCE_KERNEL, "0-1 2-3", "--01", "23--", ""},
        {"four slow nodes share two fast ones",
         {{1, true, 0, 0, 4, {10, 20, 20, 20, 20, 20}}, {1, true, 0, 0, 4, {20, 10, 20, 20, 20, 20}},
          {1, false, 0, 0, 22, {20, 20, 10, 20, 20, 20}}, {1, false, 0, 0, 22, {20, 20, 20, 10, 20, 20}},
          {1, false, 0, 0, 22, {20, 20, 20, 20, 10, 20}}, {1, false, 0, 0, 22, {20, 20, 20, 20, 20, 10}}},
         6, TIER_EVIDENCE_KERNEL, "0-1 2-5", "--0101", "23----", ""},
        {"a node without a choice is not crowded by one that has it",
         {{1, true, 0, 0, 4, {10, 20, 20, 20}}, {1, true, 0, 0, 4, {20, 10, 20, 30}},
          {1, false, 0, 0, 22, {20, 20, 10, 20}}, {1, false, 0, 0, 22, {20, 30, 20, 10}}}, 4,
         TIER_EVIDENCE_KERNEL, "0-1 2-3", "--10", "32--", ""},
};
/* clang-format on */

static void test_machines(void **state) {
        (void) state;

        for (size_t i = 0; i < ELEMENTSOF(machines); i++) {
                const Machine *m = &machines[i];
                _cleanup_(topology_facts_done) TopologyFacts facts = machine_facts(m);
                _cleanup_(config_freep) Config *config = auto_config();
                _cleanup_(topology_freep) Topology *topology = NULL, *again = NULL;
                char *text = NULL;

                print_message("%s\n", m->name);
                assert_int_equal(topology_build(&facts, config, &topology, &text), 0);
                assert_null(text);
                print_message("    %s: %s (%s)\n", tier_evidence_to_string(topology->evidence),
                              topology->evidence_text, topology->tiers[topology->n_tiers - 1].why);
                assert_int_equal(topology->evidence, m->evidence);
                check_tiers(topology, m->tiers);
                check_targets(topology, m->n_nodes, m->promote, m->demote);
                if (!strstr(topology->evidence_text, m->text))
                        fail_msg("no '%s' in '%s'", m->text, topology->evidence_text);

                assert_int_equal(topology_build(&facts, config, &again, &text), 0);
                assert_true(topology_equal(topology, again));
        }
}

static void test_details(void **state) {
        static const Machine m = {
                .nodes = {{1, true, 80, 102400, 4, {10, 20, 20}},
                          {0, true, 0, 0, 4, {20, 10, 20}},
                          {2, false, 250, 25600, 56, {20, 20, 10}}},
                .n_nodes = 3,
        };
        _cleanup_(topology_facts_done) TopologyFacts facts = machine_facts(&m);
        _cleanup_(config_freep) Config *config = auto_config();
        _cleanup_(topology_freep) Topology *a = NULL, *b = NULL;
        const TopologyNode *node;
        char *text = NULL;
        (void) state;

        assert_int_equal(topology_build(&facts, config, &a, &text), 0);
        assert_int_equal(a->n_nodes, 2);
        assert_true(nodeset_has(&a->skipped, 1));
        assert_int_equal(nodeset_count(&a->skipped), 1);
        assert_string_equal(a->tiers[0].name, "0");
        assert_string_equal(a->tiers[0].why, "memory_tier4, 80 ns, 102400 MiB/s");
        assert_string_equal(a->tiers[1].why, "memory_tier56, 250 ns, 25600 MiB/s");
        assert_null(topology_find_node(a, 1));
        node = topology_find_node(a, 2);
        assert_non_null(node);
        assert_int_equal(node->tier, 1);
        assert_int_equal(node->total_bytes, 2 * GIB);
        assert_int_equal(node->n_ranges, 1);
        assert_int_equal(node->ranges[0].end - node->ranges[0].start, 2 * GIB);
        assert_int_equal(node->access.read_latency_ns, 250);

        facts.nodes[2].ranges[0].end += 4096;
        assert_int_equal(topology_build(&facts, config, &b, &text), 0);
        assert_false(topology_equal(a, b));

        assert_null(topology_free(NULL));
        assert_string_equal(tier_evidence_to_string(TIER_EVIDENCE_KERNEL), "kernel-tiers");
        assert_null(tier_evidence_to_string(_TIER_EVIDENCE_MAX));
}

static void test_nothing(void **state) {
        _cleanup_(topology_facts_done) TopologyFacts facts = facts_new(2);
        TopologyFacts empty = {0};
        _cleanup_(config_freep) Config *config = auto_config();
        Topology *topology = NULL;
        char *text = NULL;
        (void) state;

        assert_int_equal(topology_build(&empty, config, &topology, &text), -ENODATA);
        assert_int_equal(topology_build(&facts, config, &topology, &text), -ENODATA);
        assert_null(topology);
        assert_null(text);
}

static void test_ranges_merge(void **state) {
        AddressRange ranges[] = {{30, 40}, {0, 10}, {5, 5}, {10, 20}, {35, 50}, {60, 70}, {61, 62}};
        (void) state;

        assert_int_equal(topology_ranges_merge(ranges, ELEMENTSOF(ranges)), 3);
        assert_int_equal(ranges[0].start, 0);
        assert_int_equal(ranges[0].end, 20);
        assert_int_equal(ranges[1].start, 30);
        assert_int_equal(ranges[1].end, 50);
        assert_int_equal(ranges[2].start, 60);
        assert_int_equal(ranges[2].end, 70);
        assert_int_equal(topology_ranges_merge(NULL, 0), 0);
}

/* Configuration ---------------------------------------------------------------------------- */

typedef struct ConfigCase {
        const char *name;
        const char *nodes[3]; /* of the tiers "a", "b", "c"; all NULL: found */
        const char *promote;  /* of the last tier: NULL auto, "" none */
        const char *demote;   /* of the first tier */
        int r;
        const char *tiers;
        const char *up;
        const char *down;
        const char *text;
} ConfigCase;

static void set_destination(DestinationMode *mode, NodeSet *nodes, const char *text) {
        if (!text)
                return;

        *mode = *text ? DESTINATION_NODES : DESTINATION_NONE;
        assert_int_equal(parse_nodeset(text, nodes), 0);
}

static Config *case_config(const ConfigCase *c) {
        Config *config = auto_config();
        Policy *first = &config->policy, *last = &config->policy;

        while (config->n_tiers < 3 && c->nodes[config->n_tiers])
                config->n_tiers++;
        if (config->n_tiers > 0) {
                config->tiers = calloc(config->n_tiers, sizeof(*config->tiers));
                assert_non_null(config->tiers);
                first = &config->tiers[0].policy;
                last = &config->tiers[config->n_tiers - 1].policy;
        }
        for (size_t t = 0; t < config->n_tiers; t++) {
                config->tiers[t].name = strdup((const char *const[]){"a", "b", "c"}[t]);
                config->tiers[t].policy = config->policy;
                assert_int_equal(parse_nodeset(c->nodes[t], &config->tiers[t].nodes), 0);
        }
        set_destination(&last->promote_to_mode, &last->promote_to, c->promote);
        set_destination(&first->demote_to_mode, &first->demote_to, c->demote);
        return config;
}

static void test_config(void **state) {
        /* node 4 has no memory */
        static const Machine machine = {
                .nodes = {{1, true, 80, 9999, 4, {10, 21, 17, 28, 0}},
                          {1, true, 80, 9999, 4, {21, 10, 28, 17, 0}},
                          {1, false, 250, 2500, 56, {17, 28, 10, 28, 0}},
                          {1, false, 400, 2500, 90, {28, 17, 28, 10, 0}},
                          {0, true, 0, 0, 4, {0}}},
                .n_nodes = 5,
        };
        static const ConfigCase cases[] = {
                {"found", {0}, NULL, NULL, 0, "0-1 2 3", "--02.", "223-.", "the kernel has 3"},
                {"two tiers",
                 {"0-1", "2-3"},
                 NULL,
                 NULL,
                 0,
                 "0-1 2-3",
                 "--01.",
                 "23--.",
                 "the configuration names 2 tiers"},
                {"against all evidence",
                 {"3", "0-2"},
                 NULL,
                 NULL,
                 0,
                 "3 0-2",
                 "333-.",
                 "---1.",
                 ""},
                {"three tiers", {"0", "1", "2-3"}, NULL, NULL, 0, "0 1 2-3", "-011.", "13--.", ""},
                {"a node left alone",
                 {"0-1", "2"},
                 NULL,
                 NULL,
                 0,
                 "0-1 2",
                 "--0..",
                 "22-..",
                 "it does not name node 3, which is left alone"},
                {"one tier", {"0-3"}, NULL, NULL, 0, "0-3", "----.", "----.", "no other than 'a'"},
                {"no promotion", {"0-1", "2-3"}, "", NULL, 0, "0-1 2-3", "----.", "23--.", ""},
                {"no demotion", {"0-1", "2-3"}, NULL, "", 0, "0-1 2-3", "--01.", "----.", ""},
                {"promotion to one", {"0-1", "2-3"}, "1", NULL, 0, "0-1 2-3", "--11.", "23--.", ""},
                {"promotion to the nearest of those given",
                 {"0-1", "2-3"},
                 "0-1",
                 NULL,
                 0,
                 "0-1 2-3",
                 "--01.",
                 "23--.",
                 ""},
                {"promotion across a tier",
                 {"0", "1", "2-3"},
                 "0",
                 NULL,
                 0,
                 "0 1 2-3",
                 "-000.",
                 "13--.",
                 ""},
                {"demotion across a tier",
                 {"0", "1", "2-3"},
                 NULL,
                 "2-3",
                 0,
                 "0 1 2-3",
                 "-011.",
                 "23--.",
                 ""},
                {"[Policy] for all tiers, no error for the ends",
                 {0},
                 "0",
                 NULL,
                 0,
                 "0-1 2 3",
                 "--00.",
                 "223-.",
                 ""},
                {"a destination without memory beside a good one",
                 {"0-1", "2-3"},
                 "1,4",
                 NULL,
                 0,
                 "0-1 2-3",
                 "--11.",
                 "23--.",
                 ""},
                {"absent",
                 {"0-1", "2-3,9"},
                 NULL,
                 NULL,
                 -ENXIO,
                 NULL,
                 NULL,
                 NULL,
                 "Tier 'b' names node 9, which is not online"},
                {"without memory",
                 {"0-1,4", "2-3"},
                 NULL,
                 NULL,
                 -ENXIO,
                 NULL,
                 NULL,
                 NULL,
                 "Tier 'a' names node 4, which has no memory"},
                {"twice",
                 {"0-2", "2-3"},
                 NULL,
                 NULL,
                 -ENXIO,
                 NULL,
                 NULL,
                 NULL,
                 "Tier 'b' names node 2, which another tier has, too"},
                {"promotion within the tier",
                 {"0-1", "2-3"},
                 "3",
                 NULL,
                 -ENXIO,
                 NULL,
                 NULL,
                 NULL,
                 "Tier 'b' has PromoteTo=3, but none of these has memory in a faster tier"},
                {"demotion to a node without memory",
                 {"0-1", "2-3"},
                 NULL,
                 "4",
                 -ENXIO,
                 NULL,
                 NULL,
                 NULL,
                 "Tier 'a' has DemoteTo=4, but none of these has memory in a slower tier"},
                {"demotion to an absent node",
                 {"0-1", "2-3"},
                 NULL,
                 "12",
                 -ENXIO,
                 NULL,
                 NULL,
                 NULL,
                 "DemoteTo=12"},
        };
        (void) state;

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                const ConfigCase *c = &cases[i];
                _cleanup_(topology_facts_done) TopologyFacts facts = machine_facts(&machine);
                _cleanup_(config_freep) Config *config = case_config(c);
                _cleanup_(topology_freep) Topology *topology = NULL;
                _cleanup_(freep) char *text = NULL;
                int r;

                print_message("%s\n", c->name);
                r = topology_build(&facts, config, &topology, &text);
                assert_int_equal(r, c->r);
                if (r < 0) {
                        assert_null(topology);
                        assert_non_null(strstr(text, c->text));
                        continue;
                }
                check_tiers(topology, c->tiers);
                check_targets(topology, machine.n_nodes, c->up, c->down);
                if (!strstr(topology->evidence_text, c->text))
                        fail_msg("no '%s' in '%s'", c->text, topology->evidence_text);
                if (config->n_tiers > 0)
                        assert_string_equal(topology->tiers[0].name, "a");
        }
}

/* Any machine ------------------------------------------------------------------------------- */

static uint64_t random_state;

static uint64_t draw(uint64_t n) {
        /* splitmix64: the same machines everywhere */
        uint64_t z = (random_state += UINT64_C(0x9e3779b97f4a7c15));

        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        return (z ^ z >> 31) % n;
}

static TopologyFacts random_facts(size_t n_max) {
        size_t n = 1 + draw(n_max);
        TopologyFacts facts = facts_new(n);
        bool kernel = draw(2), hmat = draw(2), equal = draw(2);

        for (size_t i = 0; i < n; i++) {
                facts_set_memory(&facts, i, draw(4) == 0 ? 0 : (1 + draw(64)) * GIB);
                facts.nodes[i].has_cpu = draw(2);
                if (hmat)
                        facts.nodes[i].access = (AccessClass){(uint32_t) (1 + draw(500)),
                                                              (uint32_t) (1 + draw(200000))};
                facts_add_kernel_tier(&facts, kernel ? 4 + (int) draw(5) : 4, (int) i);
                for (size_t j = 0; j < n; j++)
                        facts.nodes[i].distances[j] =
                                equal ? 20 : (uint16_t) (draw(9) == 0 ? 0 : 10 + draw(4));
        }
        return facts;
}

static uint32_t near_key(const TopologyFacts *facts, int fast, int slow) {
        uint16_t there = facts->nodes[fast].distances[slow],
                 back = facts->nodes[slow].distances[fast];

        return there ? there : back ? back : UINT32_MAX;
}

static void check_target(const TopologyFacts *facts, const Topology *topology,
                         const TopologyNode *node, int nid, size_t tier) {
        const TopologyNode *target = topology_find_node(topology, nid);
        uint32_t chosen;

        assert_non_null(target); /* so it has memory */
        assert_true(target->total_bytes > 0);
        assert_int_equal(target->tier, tier);
        chosen = tier < node->tier ? near_key(facts, nid, node->nid)
                                   : near_key(facts, node->nid, nid);
        nodeset_foreach (other, &topology->tiers[tier].nodes) {
                uint32_t key = tier < node->tier ? near_key(facts, other, node->nid)
                                                 : near_key(facts, node->nid, other);

                assert_true(chosen <= key);
        }
}

/* No source could change to an equally near target and make the loads more alike. */
static void check_balance(const TopologyFacts *facts, const Topology *topology, bool up) {
        for (size_t i = 0; i < topology->n_nodes; i++) {
                const TopologyNode *node = &topology->nodes[i];
                int nid = up ? node->promote_to : node->demote_to;
                size_t load = 0;

                if (nid == NODE_NONE)
                        continue;
                for (size_t k = 0; k < topology->n_nodes; k++)
                        load += nid ==
                                (up ? topology->nodes[k].promote_to : topology->nodes[k].demote_to);

                nodeset_foreach (other,
                                 &topology->tiers[topology_find_node(topology, nid)->tier].nodes) {
                        size_t other_load = 0;

                        if (near_key(facts, up ? other : node->nid, up ? node->nid : other) !=
                            near_key(facts, up ? nid : node->nid, up ? node->nid : nid))
                                continue;
                        for (size_t k = 0; k < topology->n_nodes; k++)
                                other_load += other == (up ? topology->nodes[k].promote_to
                                                           : topology->nodes[k].demote_to);
                        assert_true(load <= other_load + 1);
                }
        }
}

static void check_rules(const TopologyFacts *facts, const Topology *topology) {
        unsigned n = 0;

        assert_true(topology->n_tiers >= 1);
        assert_int_equal(topology->evidence == TIER_EVIDENCE_NONE, topology->n_tiers == 1);
        for (size_t t = 0; t < topology->n_tiers; t++) {
                assert_false(nodeset_is_empty(&topology->tiers[t].nodes));
                n += nodeset_count(&topology->tiers[t].nodes);
        }
        assert_int_equal(n, topology->n_nodes);
        assert_int_equal(n + nodeset_count(&topology->skipped), facts->n_nodes);

        for (size_t i = 0; i < topology->n_nodes; i++) {
                const TopologyNode *node = &topology->nodes[i];

                assert_true(i == 0 || topology->nodes[i - 1].nid < node->nid);
                assert_true(nodeset_has(&topology->tiers[node->tier].nodes, node->nid));
                if (node->tier == 0)
                        assert_int_equal(node->promote_to, NODE_NONE);
                else
                        check_target(facts, topology, node, node->promote_to, node->tier - 1);
                if (node->tier == topology->n_tiers - 1)
                        assert_int_equal(node->demote_to, NODE_NONE);
                else
                        check_target(facts, topology, node, node->demote_to, node->tier + 1);
        }
        check_balance(facts, topology, /* up= */ true);
        check_balance(facts, topology, /* up= */ false);
}

static void test_any_machine(void **state) {
        unsigned n_by_evidence[_TIER_EVIDENCE_MAX] = {0};
        (void) state;

        random_state = 20260101;
        for (unsigned round = 0; round < 3000; round++) {
                _cleanup_(topology_facts_done) TopologyFacts facts =
                        random_facts(round % 100 ? 9 : 64);
                _cleanup_(config_freep) Config *config = auto_config();
                _cleanup_(topology_freep) Topology *topology = NULL, *again = NULL;
                char *text = NULL;
                int r;

                r = topology_build(&facts, config, &topology, &text);
                if (r == -ENODATA)
                        continue;
                assert_int_equal(r, 0);
                check_rules(&facts, topology);
                assert_int_equal(topology_build(&facts, config, &again, &text), 0);
                assert_true(topology_equal(topology, again));
                n_by_evidence[topology->evidence]++;
        }

        /* the generator must reach every rung */
        assert_true(n_by_evidence[TIER_EVIDENCE_KERNEL] > 100);
        assert_true(n_by_evidence[TIER_EVIDENCE_HMAT] > 100);
        assert_true(n_by_evidence[TIER_EVIDENCE_DISTANCE] > 100);
        assert_true(n_by_evidence[TIER_EVIDENCE_NONE] > 100);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_machines), cmocka_unit_test(test_details),
                cmocka_unit_test(test_nothing),  cmocka_unit_test(test_ranges_merge),
                cmocka_unit_test(test_config),   cmocka_unit_test(test_any_machine),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
