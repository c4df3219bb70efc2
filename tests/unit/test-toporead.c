/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Captured machines, machines changed after the capture, and one of 50,000 blocks in memory. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macro.h"
#include "fixture.h"
#include "io/toporead.h"

#define BLOCK (UINT64_C(128) << 20)
#define NODE "sys/devices/system/node/"
#define MEM "sys/devices/system/memory/"
#define TIER "sys/devices/virtual/memory_tiering"

static Sysfs *open_root(const TestRoot *root) {
        Sysfs *sysfs = NULL;

        assert_int_equal(sysfs_open(testroot_path(root), SYSFS_READ_ONLY, &sysfs), 0);
        return sysfs;
}

static void count_write(void *userdata, const char *path, const char *value, int result) {
        (void) path;
        (void) value;
        (void) result;
        (*(unsigned *) userdata)++;
}

static char *describe(const TopologyFacts *facts) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        assert_non_null(f);
        for (size_t i = 0; i < facts->n_nodes; i++) {
                const NodeFacts *node = &facts->nodes[i];

                (void) fprintf(f, "node%d %lluK%s %uns %uMiB/s", node->nid,
                               (unsigned long long) node->total_bytes / 1024,
                               node->has_cpu ? " cpu" : "", node->access.read_latency_ns,
                               node->access.read_bandwidth_mibs);
                for (size_t k = 0; k < node->n_ranges; k++)
                        (void) fprintf(f, " %llu-%llu",
                                       (unsigned long long) (node->ranges[k].start / BLOCK),
                                       (unsigned long long) (node->ranges[k].end / BLOCK));
                for (size_t k = 0; k < facts->n_nodes; k++)
                        (void) fprintf(f, "%s%u", k ? "," : " d", node->distances[k]);
                (void) fputs("; ", f);
        }
        for (size_t i = 0; i < facts->n_kernel_tiers; i++) {
                _cleanup_(freep) char *nodes = nodeset_to_string(&facts->kernel_tiers[i].nodes);

                (void) fprintf(f, "tier%d=%s ", facts->kernel_tiers[i].id, nodes);
        }
        assert_int_equal(fclose(f), 0);
        return text;
}

/* Text "-> x" makes a link to x, none removes. */
static void change(TestRoot *root, const char *path, const char *text) {
        if (!path)
                return;

        if (!text)
                testroot_remove(root, path);
        else if (strncmp(text, "-> ", 3) == 0)
                testroot_link(root, path, text + 3);
        else
                testroot_file(root, path, 0444, text);
}

static char *describe_root(const TestRoot *root) {
        _cleanup_(sysfs_freep) Sysfs *sysfs = open_root(root);
        _cleanup_(topology_facts_done) TopologyFacts facts = {0};
        unsigned n_writes = 0;

        sysfs_set_write_log(sysfs, count_write, &n_writes);
        assert_int_equal(toporead_facts(sysfs, &facts), 0);
        assert_int_equal(n_writes, 0);
        return describe(&facts);
}

static void test_captured(void **state) {
        static const struct {
                const char *fixture;
                const char *text;
        } cases[] = {
                {"two", "node0 986828K cpu 80ns 102400MiB/s 0-8 d10,20; "
                        "node1 1030828K 250ns 25600MiB/s 8-16 d20,10; tier4=0 tier56=1 "},
                {"two-6.12", "node0 1030452K cpu 80ns 102400MiB/s 0-8 d10,20; "
                             "node1 993000K 250ns 25600MiB/s 8-16 d20,10; tier4=0 tier56=1 "},
                {"flat", "node0 1030472K cpu 0ns 0MiB/s 0-8 d10,20; "
                         "node1 987184K 0ns 0MiB/s 8-16 d20,10; tier4=0-1 "},
                {"sockets", "node0 600008K cpu 80ns 102400MiB/s 0-5 d10,21,17,28; "
                            "node1 644692K cpu 80ns 102400MiB/s 5-10 d21,10,28,17; "
                            "node2 644944K 250ns 25600MiB/s 10-15 d17,28,10,28; "
                            "node3 643756K 250ns 25600MiB/s 15-20 d28,17,28,10; "
                            "tier4=0-1 tier56=2-3 "},
                {"three", "node0 1030472K cpu 80ns 102400MiB/s 0-8 d10,17,28; "
                          "node1 773968K 180ns 51200MiB/s 8-14 d17,10,28; "
                          "node2 729136K 400ns 12288MiB/s 14-20 d28,28,10; "
                          "tier4=0 tier20=1 tier187=2 "},
                {"memoryless", "node0 1030724K cpu 0ns 0MiB/s 0-8 d10,20,20; "
                               "node1 0K cpu 0ns 0MiB/s d20,10,20; "
                               "node2 986760K 0ns 0MiB/s 8-16 d20,20,10; tier4=0,2 "},
                {"single", "node0 2014760K cpu 80ns 102400MiB/s 0-16 d10; tier4=0 "},
        };
        (void) state;

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(testroot_freep) TestRoot *root = fixture_new(cases[i].fixture);
                _cleanup_(freep) char *text = describe_root(root);

                print_message("%s\n", cases[i].fixture);
                assert_string_equal(text, cases[i].text);
        }
}

/* What core/topology makes of them. */
static void test_topologies(void **state) {
        static const struct {
                const char *fixture;
                TierEvidence evidence;
                size_t n_tiers;
                int promote_to[4]; /* by node */
                int demote_to[4];
        } cases[] = {
                {"two", TIER_EVIDENCE_KERNEL, 2, {-1, 0}, {1, -1}},
                {"flat", TIER_EVIDENCE_DISTANCE, 2, {-1, 0}, {1, -1}},
                {"sockets", TIER_EVIDENCE_KERNEL, 2, {-1, -1, 0, 1}, {2, 3, -1, -1}},
                {"three", TIER_EVIDENCE_KERNEL, 3, {-1, 0, 1}, {1, 2, -1}},
                {"memoryless", TIER_EVIDENCE_DISTANCE, 2, {-1, -1, 0}, {2, -1, -1}},
                {"single", TIER_EVIDENCE_NONE, 1, {-1}, {-1}},
        };
        (void) state;

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(testroot_freep) TestRoot *root = fixture_new(cases[i].fixture);
                _cleanup_(sysfs_freep) Sysfs *sysfs = open_root(root);
                _cleanup_(topology_facts_done) TopologyFacts facts = {0};
                _cleanup_(topology_freep) Topology *topology = NULL;
                _cleanup_(config_freep) Config *config = NULL;
                char *text = NULL;

                print_message("%s\n", cases[i].fixture);
                assert_int_equal(config_new(&config), 0);
                assert_int_equal(toporead_facts(sysfs, &facts), 0);
                assert_int_equal(topology_build(&facts, config, &topology, &text), 0);
                assert_int_equal(topology->evidence, cases[i].evidence);
                assert_int_equal(topology->n_tiers, cases[i].n_tiers);
                for (size_t k = 0; k < topology->n_nodes; k++) {
                        const TopologyNode *node = &topology->nodes[k];

                        assert_int_equal(node->promote_to, cases[i].promote_to[node->nid]);
                        assert_int_equal(node->demote_to, cases[i].demote_to[node->nid]);
                }
        }
}

/* One change each to "two". */
static void test_changed(void **state) {
        static const char *const as_it_was = "node0 986828K cpu 80ns 102400MiB/s 0-8 d10,20; "
                                             "node1 1030828K 250ns 25600MiB/s 8-16 d20,10; "
                                             "tier4=0 tier56=1 ";
        static const struct {
                const char *name;
                const char *path; /* written, or removed when text is NULL */
                const char *text;
                const char *path2;
                const char *text2;
                const char *expected; /* NULL: as it was */
        } cases[] = {
                {"without zoneinfo every state is read", "proc/zoneinfo", NULL, NULL, NULL, NULL},
                {"zoneinfo that is none", "proc/zoneinfo", "x\n", NULL, NULL, NULL},
                {"a block offline", "proc/zoneinfo", NULL, MEM "memory11/state", "offline\n",
                 "node0 986828K cpu 80ns 102400MiB/s 0-8 d10,20; "
                 "node1 1030828K 250ns 25600MiB/s 8-11 12-16 d20,10; tier4=0 tier56=1 "},
                {"a block going offline", "proc/zoneinfo", NULL, MEM "memory8/state",
                 "going-offline\n",
                 "node0 986828K cpu 80ns 102400MiB/s 0-8 d10,20; "
                 "node1 1030828K 250ns 25600MiB/s 9-16 d20,10; tier4=0 tier56=1 "},
                {"a block that went away", "proc/zoneinfo", NULL, MEM "memory15", NULL,
                 "node0 986828K cpu 80ns 102400MiB/s 0-8 d10,20; "
                 "node1 1030828K 250ns 25600MiB/s 8-15 d20,10; tier4=0 tier56=1 "},
                {"offline by the zones' count", "proc/zoneinfo",
                 "Node 1, zone DMA32\n pages free 1\n min 1\n low 1\n high 1\n spanned 229376\n"
                 " present 229376\n managed 229376\n protection: (0)\n",
                 MEM "memory11/state", "offline\n",
                 "node0 986828K cpu 80ns 102400MiB/s 0-8 d10,20; "
                 "node1 1030828K 250ns 25600MiB/s 8-11 12-16 d20,10; tier4=0 tier56=1 "},
                {"a page more than seven blocks: all eight are online, whatever a file says",
                 "proc/zoneinfo",
                 "Node 1, zone DMA32\n pages free 1\n min 1\n low 1\n high 1\n spanned 262144\n"
                 " present 229377\n managed 229376\n protection: (0)\n",
                 MEM "memory11/state", "offline\n", NULL},
                {"a block of two nodes is the first's", NODE "node1/memory7",
                 "-> ../../memory/memory7", NULL, NULL, NULL},
                {"and not the second's though it is its first", NODE "node0/memory8",
                 "-> ../../memory/memory8", NULL, NULL,
                 "node0 986828K cpu 80ns 102400MiB/s 0-9 d10,20; "
                 "node1 1030828K 250ns 25600MiB/s 9-16 d20,10; tier4=0 tier56=1 "},
                {"names that are no blocks", NODE "node1/memory_side_cache/index1/size", "4\n",
                 NODE "node1/memory9x", "\n", NULL},
                {"names that are no nodes", NODE "nodes/x", "1\n", NODE "node-1/x", "1\n", NULL},
                {"a node that goes away while it is read", NODE "node0/meminfo", NULL, NULL, NULL,
                 "node1 1030828K 250ns 25600MiB/s 8-16 d10; tier4=0 tier56=1 "},
                {"too few distances", NODE "node0/distance", "10\n", NULL, NULL,
                 "node0 986828K cpu 80ns 102400MiB/s 0-8 d0,0; "
                 "node1 1030828K 250ns 25600MiB/s 8-16 d20,10; tier4=0 tier56=1 "},
                {"too many distances", NODE "node0/distance", "10 20 30\n", NODE "node1/distance",
                 "20 10\n",
                 "node0 986828K cpu 80ns 102400MiB/s 0-8 d0,0; "
                 "node1 1030828K 250ns 25600MiB/s 8-16 d20,10; tier4=0 tier56=1 "},
                {"distances that are no numbers", NODE "node0/distance", "10 x\n", NULL, NULL,
                 "node0 986828K cpu 80ns 102400MiB/s 0-8 d0,0; "
                 "node1 1030828K 250ns 25600MiB/s 8-16 d20,10; tier4=0 tier56=1 "},
                {"no distances", NODE "node0/distance", NULL, NULL, NULL,
                 "node0 986828K cpu 80ns 102400MiB/s 0-8 d0,0; "
                 "node1 1030828K 250ns 25600MiB/s 8-16 d20,10; tier4=0 tier56=1 "},
                {"class 0 where there is no class 1", NODE "node1/access1", NULL,
                 NODE "node1/access0/initiators/read_latency", "251\n",
                 "node0 986828K cpu 80ns 102400MiB/s 0-8 d10,20; "
                 "node1 1030828K 251ns 25600MiB/s 8-16 d20,10; tier4=0 tier56=1 "},
                {"no access classes", NODE "node1/access1", NULL, NODE "node1/access0", NULL,
                 "node0 986828K cpu 80ns 102400MiB/s 0-8 d10,20; "
                 "node1 1030828K 0ns 0MiB/s 8-16 d20,10; tier4=0 tier56=1 "},
                {"no tiers", TIER, NULL, NULL, NULL,
                 "node0 986828K cpu 80ns 102400MiB/s 0-8 d10,20; "
                 "node1 1030828K 250ns 25600MiB/s 8-16 d20,10; "},
                {"tiers by number, not by name", TIER "/memory_tier56", NULL,
                 TIER "/memory_tier30/nodelist", "1\n",
                 "node0 986828K cpu 80ns 102400MiB/s 0-8 d10,20; "
                 "node1 1030828K 250ns 25600MiB/s 8-16 d20,10; tier4=0 tier30=1 "},
                {"no memory blocks", MEM "block_size_bytes", NULL, NULL, NULL,
                 "node0 986828K cpu 80ns 102400MiB/s d10,20; "
                 "node1 1030828K 250ns 25600MiB/s d20,10; tier4=0 tier56=1 "},
        };
        (void) state;

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(testroot_freep) TestRoot *root = fixture_new("two");
                _cleanup_(freep) char *text = NULL;

                print_message("%s\n", cases[i].name);
                change(root, cases[i].path, cases[i].text);
                change(root, cases[i].path2, cases[i].text2);
                text = describe_root(root);
                assert_string_equal(text, cases[i].expected ? cases[i].expected : as_it_was);
        }
}

static void test_errors(void **state) {
        _cleanup_(testroot_freep) TestRoot *root = fixture_new("two"), *empty = testroot_new();
        _cleanup_(sysfs_freep) Sysfs *sysfs = open_root(root), *nothing = open_root(empty);
        _cleanup_(zoneinfo_done) ZoneInfo zones = {0};
        TopologyFacts facts = {0};
        uint64_t total, free_bytes;
        (void) state;

        assert_int_equal(toporead_facts(nothing, &facts), -ENODATA);
        assert_int_equal(toporead_zones(nothing, &zones), -ENOENT);
        assert_int_equal(toporead_node_memory(nothing, 0, &total, &free_bytes), -ENOENT);

        assert_int_equal(toporead_zones(sysfs, &zones), 0);
        assert_int_equal(zones.n_zones, 3);
        assert_int_equal(toporead_node_memory(sysfs, 1, &total, &free_bytes), 0);
        assert_int_equal(total, UINT64_C(1030828) * 1024);
        assert_true(free_bytes > 0 && free_bytes < total);
        assert_int_equal(toporead_node_memory(sysfs, 2, &total, &free_bytes), -ENOENT);

        testroot_file(root, NODE "node1/meminfo", 0444, "Node 1 MemTotal:  12 kB\n");
        assert_int_equal(toporead_node_memory(sysfs, 1, &total, &free_bytes), -ENODATA);
        testroot_file(root, NODE "node1/meminfo", 0444, "Node 1 MemTotal:  x kB\n");
        assert_int_equal(toporead_node_memory(sysfs, 1, &total, &free_bytes), -ENODATA);

        testroot_file(root, MEM "block_size_bytes", 0444, "0x80\n");
        assert_int_equal(toporead_facts(sysfs, &facts), -EINVAL);
        assert_null(facts.nodes);
        testroot_file(root, MEM "block_size_bytes", 0444, "8000000\n");
        testroot_remove(root, "sys/devices/system/node");
        assert_int_equal(toporead_facts(sysfs, &facts), -ENODATA);
}

/* A machine of 64 nodes and 50,000 blocks, made up as it is asked for. */

#define LARGE_NODES 64
#define LARGE_BLOCKS 50048 /* 782 each */

typedef struct Large {
        bool holes; /* in the last node, more than a block: its states must be read */
        unsigned n_reads;
        unsigned n_state_reads;
} Large;

static int large_read(void *userdata, const char *path, char *buf, size_t size, size_t *ret_len) {
        Large *large = userdata;
        const char *name = strrchr(path, '/') + 1;
        FILE *f = fmemopen(buf, size, "w");
        int r = 0;

        assert_non_null(f);
        large->n_reads++;
        if (strcmp(name, "meminfo") == 0)
                (void) fputs("Node 0 MemTotal: 1024 kB\nNode 0 MemFree: 1 kB\n", f);
        else if (strcmp(name, "block_size_bytes") == 0)
                (void) fputs("8000000\n", f);
        else if (strcmp(name, "cpulist") == 0)
                (void) fputs("\n", f);
        else if (strcmp(name, "distance") == 0)
                for (unsigned i = 0; i < LARGE_NODES; i++)
                        (void) fprintf(f, "%s10", i ? " " : "");
        else if (strcmp(name, "zoneinfo") == 0)
                for (unsigned i = 0; i < LARGE_NODES; i++) {
                        unsigned pages = LARGE_BLOCKS / LARGE_NODES * 32768;

                        if (large->holes && i == LARGE_NODES - 1)
                                pages -= 32768;
                        (void) fprintf(f,
                                       "Node %u, zone Normal\n pages free 1\n min 1\n low 1\n"
                                       " high 1\n spanned 1\n present %u\n managed 1\n"
                                       " protection: (0)\n",
                                       i, pages);
                }
        else if (strcmp(name, "state") == 0) {
                (void) fputs("online\n", f);
                large->n_state_reads++;
        } else
                r = -ENOENT;

        *ret_len = (size_t) ftell(f);
        if (*ret_len >= size)
                r = -E2BIG;
        assert_int_equal(fclose(f), 0);
        return r;
}

static int large_list(void *userdata, const char *path, char ***ret) {
        const char *number = strstr(path, "/node/node");
        unsigned node = number ? (unsigned) strtoul(number + 10, NULL, 10) : 0;
        unsigned n = number ? LARGE_BLOCKS / LARGE_NODES : LARGE_NODES;
        char **names;
        (void) userdata;

        if (strstr(path, "memory_tiering"))
                return -ENOENT;

        names = calloc(n + 1, sizeof(*names));
        assert_non_null(names);
        for (unsigned i = 0; i < n; i++)
                assert_true(number ? asprintf(&names[i], "memory%u", node * n + i) > 0
                                   : asprintf(&names[i], "node%u", i) > 0);
        *ret = names;
        return 0;
}

static void test_large(void **state) {
        static const SysfsBackend backend = {.read = large_read, .list = large_list};
        (void) state;

        for (unsigned holes = 0; holes < 2; holes++) {
                Large large = {.holes = holes};
                _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;
                _cleanup_(topology_facts_done) TopologyFacts facts = {0};

                assert_int_equal(sysfs_new_backend_consume(&backend, &large, &sysfs), 0);
                assert_int_equal(toporead_facts(sysfs, &facts), 0);
                assert_int_equal(facts.n_nodes, LARGE_NODES);
                for (size_t i = 0; i < facts.n_nodes; i++) {
                        assert_int_equal(facts.nodes[i].n_ranges, 1);
                        assert_int_equal(facts.nodes[i].ranges[0].start, i * 782 * BLOCK);
                        assert_int_equal(facts.nodes[i].ranges[0].end, (i + 1) * 782 * BLOCK);
                }
                assert_int_equal(large.n_state_reads, holes ? 782 : 0);
                assert_true(large.n_reads - large.n_state_reads < 10 * LARGE_NODES);
        }
}

static void test_crosscheck(void **state) {
        NodeFacts node = {.nid = 1000, .total_bytes = 1};
        TopologyFacts facts = {.nodes = &node, .n_nodes = 1};
        _cleanup_(freep) char *text = NULL;
        (void) state;

        /* No machine that runs this has its only node at 1000: a difference, or no libnuma. */
        assert_int_equal(toporead_crosscheck(&facts, &text), 0);
        print_message("%s\n", text ? text : "libnuma has no view here");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_captured), cmocka_unit_test(test_topologies),
                cmocka_unit_test(test_changed),  cmocka_unit_test(test_errors),
                cmocka_unit_test(test_large),    cmocka_unit_test(test_crosscheck),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
