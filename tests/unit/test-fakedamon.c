/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The model of the kernel: what the contract test cannot try on a real one. */

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

#include "base/array.h"
#include "base/macro.h"
#include "fakedamon.h"
#include "io/toporead.h"

#define ADMIN "sys/kernel/mm/damon/admin/kdamonds"
#define K ADMIN "/0/"
#define C K "contexts/0/"
#define S C "schemes/0/"
#define DAMON_STAT "sys/module/damon_stat/parameters/enabled"
#define MIB (UINT64_C(1) << 20)

static void put(Sysfs *sysfs, const char *path, const char *value) {
        int r = sysfs_write(sysfs, path, value);

        if (r < 0)
                fail_msg("'%s' to %s: %s", value, path, strerror(-r));
}

static void get_is(Sysfs *sysfs, const char *path, const char *expected) {
        char buf[256];

        assert_int_equal(sysfs_read(sysfs, path, buf, sizeof(buf)), 0);
        assert_string_equal(buf, expected);
}

/* A kdamond with a scheme and a goal, off. */
static FakeDamon *build(FakeRung rung, Sysfs **ret) {
        FakeDamon *fake = fakedamon_new(rung, ret);

        if (sysfs_exists(*ret, DAMON_STAT))
                put(*ret, DAMON_STAT, "N");
        put(*ret, ADMIN "/nr_kdamonds", "1");
        put(*ret, K "contexts/nr_contexts", "1");
        put(*ret, C "operations", "paddr");
        put(*ret, C "targets/nr_targets", "1");
        put(*ret, C "targets/0/regions/nr_regions", "1");
        put(*ret, C "targets/0/regions/0/end", "1073741824");
        put(*ret, C "schemes/nr_schemes", "1");
        put(*ret, S "quotas/goals/nr_goals", "1");
        put(*ret, S "quotas/goals/0/target_value", "10000");
        put(*ret, S "quotas/reset_interval_ms", "100");
        return fake;
}

/* Trees ------------------------------------------------------------------------------------- */

typedef struct Lines {
        char **items;
        size_t n_items;
        size_t n_alloc;
} Lines;

static void lines_done(Lines *lines) {
        for (size_t i = 0; i < lines->n_items; i++)
                free(lines->items[i]);
        free(lines->items);
}

static int compare_lines(const void *a, const void *b) {
        const char *const *x = a;
        const char *const *y = b;

        return strcmp(*x, *y);
}

static void add_line(Lines *lines, char *line) {
        assert_int_equal(ARRAY_GROW(lines->items, lines->n_alloc, lines->n_items + 1), 0);
        lines->items[lines->n_items++] = line;
}

/* "600 0/state" for each file; what is only for reading refuses a write. */
static void walk(Sysfs *sysfs, const char *path, Lines *lines) {
        _cleanup_(sysfs_names_freep) char **names = NULL;
        char *line;

        if (sysfs_list(sysfs, path, &names) == -ENOTDIR) {
                bool read_only = sysfs_write(sysfs, path, "~") == -EACCES;

                assert_true(asprintf(&line, "%s %s", read_only ? "400" : "600",
                                     path + strlen(ADMIN) + 1) > 0);
                add_line(lines, line);
                return;
        }

        assert_non_null(names);
        for (char **name = names; *name; name++) {
                _cleanup_(freep) char *below = NULL;

                assert_true(asprintf(&below, "%s/%s", path, *name) > 0);
                walk(sysfs, below, lines);
        }
}

static void read_lines(FakeRung rung, Lines *lines) {
        _cleanup_(freep) char *path = NULL, *line = NULL;
        size_t size = 0;
        FILE *f;

        assert_true(asprintf(&path, "%s/fixtures/trees/%s.txt", TESTS_DIR,
                             fake_rung_to_string(rung)) > 0);
        f = fopen(path, "re");
        assert_non_null(f);
        while (getline(&line, &size, f) >= 0) {
                line[strcspn(line, "\n")] = '\0';
                add_line(lines, strdup(line));
        }
        assert_int_equal(fclose(f), 0);
}

/* File by file what a kernel of each rung showed with one of everything but deprecated filters. */
static void test_trees(void **state) {
        static const char *const counts[] = {
                ADMIN "/nr_kdamonds",
                K "contexts/nr_contexts",
                C "targets/nr_targets",
                C "targets/0/regions/nr_regions",
                C "schemes/nr_schemes",
                S "quotas/goals/nr_goals",
                S "core_filters/nr_filters",
                S "ops_filters/nr_filters",
                S "dests/nr_dests",
                C "monitoring_attrs/probes/nr_probes",
                C "monitoring_attrs/probes/0/filters/nr_filters",
        };
        (void) state;

        for (FakeRung rung = 0; rung < _FAKE_RUNG_MAX; rung++) {
                _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;
                _cleanup_(lines_done) Lines expected = {0}, found = {0};

                print_message("%s\n", fake_rung_to_string(rung));
                (void) fakedamon_new(rung, &sysfs);
                for (size_t i = 0; i < ELEMENTSOF(counts); i++)
                        if (sysfs_exists(sysfs, counts[i]))
                                put(sysfs, counts[i], "1");

                walk(sysfs, ADMIN "/0", &found);
                read_lines(rung, &expected);
                qsort(found.items, found.n_items, sizeof(char *), compare_lines);
                qsort(expected.items, expected.n_items, sizeof(char *), compare_lines);
                for (size_t i = 0; i < MIN(found.n_items, expected.n_items); i++)
                        assert_string_equal(found.items[i], expected.items[i]);
                assert_int_equal(found.n_items, expected.n_items);
        }
}

/* Lock and failures ------------------------------------------------------------------------- */

static void test_lock(void **state) {
        static const char *const locked[] = {
                K "state",
                ADMIN "/nr_kdamonds",
                C "schemes/nr_schemes",
                S "filters/0/memcg_path",
        };
        _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;
        FakeDamon *fake = build(FAKE_7_3, &sysfs);
        char buf[16];
        (void) state;

        put(sysfs, S "filters/nr_filters", "1");
        for (size_t i = 0; i < ELEMENTSOF(locked); i++) {
                fakedamon_hold_lock(fake, 1);
                assert_int_equal(sysfs_write(sysfs, locked[i], "1"), -EBUSY);
        }
        fakedamon_hold_lock(fake, 3);
        assert_int_equal(sysfs_read(sysfs, K "state", buf, sizeof(buf)), -EBUSY);
        assert_int_equal(sysfs_read(sysfs, K "pid", buf, sizeof(buf)), -EBUSY);
        assert_int_equal(sysfs_write(sysfs, S "quotas/bytes", "1"), 0); /* takes no lock */
        assert_int_equal(sysfs_read(sysfs, ADMIN "/nr_kdamonds", buf, sizeof(buf)), 0);
        assert_int_equal(sysfs_write(sysfs, K "state", "on"), -EBUSY);
        assert_int_equal(sysfs_write(sysfs, K "state", "on"), 0);
}

static void test_failures(void **state) {
        _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;
        FakeDamon *fake = build(FAKE_7_3, &sysfs);
        char buf[16];
        (void) state;

        fakedamon_fail_nth(fake, 3, -ENOMEM);
        assert_int_equal(sysfs_write(sysfs, S "quotas/bytes", "1"), 0);
        assert_int_equal(sysfs_read(sysfs, S "quotas/bytes", buf, sizeof(buf)), 0);
        assert_int_equal(sysfs_write(sysfs, S "quotas/bytes", "2"), -ENOMEM);
        get_is(sysfs, S "quotas/bytes", "1");

        fakedamon_fail_path(fake, "0/state", -EINTR, 2);
        assert_int_equal(sysfs_write(sysfs, K "state", "on"), -EINTR);
        assert_int_equal(sysfs_read(sysfs, K "state", buf, sizeof(buf)), -EINTR);
        assert_int_equal(sysfs_write(sysfs, K "state", "on"), 0);
}

static void test_death(void **state) {
        _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;
        FakeDamon *fake = build(FAKE_7_3, &sysfs);
        (void) state;

        put(sysfs, K "state", "on");
        assert_int_equal(fakedamon_n_running(fake), 1);
        get_is(sysfs, K "pid", "1000");
        fakedamon_kill(fake, 0);
        assert_false(fakedamon_is_running(fake, 0));
        get_is(sysfs, K "state", "off");
        get_is(sysfs, K "pid", "-1");
        assert_int_equal(sysfs_write(sysfs, K "state", "commit"), -ECANCELED);
        put(sysfs, K "state", "on");
        get_is(sysfs, K "pid", "1001");
        put(sysfs, K "state", "off");
        put(sysfs, ADMIN "/nr_kdamonds", "0");
        assert_false(fakedamon_is_running(fake, 0));
        assert_int_equal(sysfs_read(sysfs, K "state", (char[8]){0}, 8), -ENOENT);
        assert_string_equal(fakedamon_bugs(fake), "");
}

/* Staged and running ------------------------------------------------------------------------- */

static void test_staged(void **state) {
        _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;
        FakeDamon *fake = build(FAKE_7_3, &sysfs);
        (void) state;

        assert_null(fakedamon_running(fake, 0, "schemes/0/quotas/bytes"));
        put(sysfs, S "quotas/bytes", "4096");
        put(sysfs, K "state", "on");
        put(sysfs, S "quotas/bytes", "8192");
        put(sysfs, S "quotas/goals/0/current_value", "77");
        assert_string_equal(fakedamon_running(fake, 0, "schemes/0/quotas/bytes"), "4096");

        put(sysfs, K "state", "commit_schemes_quota_goals");
        assert_string_equal(fakedamon_running(fake, 0, "schemes/0/quotas/goals/0/current_value"),
                            "77");
        assert_string_equal(fakedamon_running(fake, 0, "schemes/0/quotas/bytes"), "4096");

        fakedamon_set_stat(fake, 0, 0, "sz_applied", 123);
        get_is(sysfs, S "stats/sz_applied", "0");
        put(sysfs, K "state", "commit");
        assert_string_equal(fakedamon_running(fake, 0, "schemes/0/quotas/bytes"), "8192");
        put(sysfs, K "state", "update_schemes_stats");
        get_is(sysfs, S "stats/sz_applied", "123");

        /* a scheme more: it starts from nothing, the first goes on; both wiped on the way */
        put(sysfs, C "schemes/nr_schemes", "2");
        get_is(sysfs, S "stats/sz_applied", "0");
        put(sysfs, K "state", "commit");
        put(sysfs, K "state", "update_schemes_stats");
        get_is(sysfs, S "stats/sz_applied", "123");
        get_is(sysfs, C "schemes/1/stats/sz_applied", "0");

        /* intervals that the kernel tuned are lost by a commit that does not know them */
        fakedamon_set_tuned(fake, 0, 80000, 1600000);
        put(sysfs, K "state", "update_tuned_intervals");
        get_is(sysfs, C "monitoring_attrs/intervals/sample_us", "80000");
        put(sysfs, C "monitoring_attrs/intervals/sample_us", "5000");
        put(sysfs, K "state", "commit");
        assert_string_equal(fakedamon_running(fake, 0, "monitoring_attrs/intervals/sample_us"),
                            "5000");
}

static void test_modules(void **state) {
        _cleanup_(sysfs_freep) Sysfs *sysfs = NULL, *old = NULL;
        FakeDamon *fake = build(FAKE_6_18, &sysfs);
        (void) state;

        (void) fakedamon_new(FAKE_6_16, &old);
        assert_false(sysfs_exists(old, DAMON_STAT));

        put(sysfs, DAMON_STAT, "Y");
        assert_int_equal(sysfs_write(sysfs, K "state", "on"), -EBUSY);
        put(sysfs, DAMON_STAT, "N");
        fakedamon_set_module(fake, "damon_reclaim", true);
        assert_int_equal(sysfs_write(sysfs, K "state", "on"), -EBUSY);
        assert_int_equal(sysfs_write(sysfs, DAMON_STAT, "Y"), -EBUSY);
        fakedamon_set_module(fake, "damon_reclaim", false);
        put(sysfs, K "state", "on");
        assert_int_equal(sysfs_write(sysfs, DAMON_STAT, "Y"), -EBUSY);
        get_is(sysfs, DAMON_STAT, "N");
        assert_int_equal(sysfs_write(sysfs, DAMON_STAT, "x"), -EINVAL);
}

static void test_groups(void **state) {
        _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;
        FakeDamon *fake = build(FAKE_7_3, &sysfs);
        (void) state;

        put(sysfs, S "quotas/goals/0/target_metric", "node_memcg_used_bp");
        put(sysfs, S "quotas/goals/0/path", "/a");
        assert_int_equal(sysfs_write(sysfs, K "state", "on"), -ENOMEM);
        fakedamon_add_memcg(fake, "/a");
        put(sysfs, K "state", "on");
        put(sysfs, S "quotas/goals/0/path", "/b");
        assert_int_equal(sysfs_write(sysfs, K "state", "commit_schemes_quota_goals"), -EINVAL);
        assert_int_equal(sysfs_write(sysfs, K "state", "commit"), -ENOMEM);
        put(sysfs, S "quotas/goals/0/path", "/a\n");
        put(sysfs, K "state", "commit");
}

/* Known bugs --------------------------------------------------------------------------------- */

static void test_bugs(void **state) {
        (void) state;

        for (FakeRung rung = 0; rung < _FAKE_RUNG_MAX; rung++) {
                _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;
                FakeDamon *fake = build(rung, &sysfs);
                bool wedges = rung >= FAKE_6_16 && rung <= FAKE_6_18;
                int r = rung >= FAKE_7_0 ? -ECANCELED : -EINVAL;
                const char *state_file = K "state";

                put(sysfs, state_file, "on");
                put(sysfs, state_file, "off");
                assert_int_equal(sysfs_write(sysfs, state_file, "update_schemes_tried_bytes"), r);
                assert_int_equal(sysfs_write(sysfs, state_file, "update_schemes_tried_bytes"),
                                 wedges ? -EBUSY : r);
                assert_int_equal(*fakedamon_bugs(fake) != '\0', wedges);
        }
}

static void test_bad_nodes(void **state) {
        _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;
        FakeDamon *fake = build(FAKE_7_3, &sysfs);
        (void) state;

        fakedamon_set_node_memory(fake, 0, 1024 * MIB, 512 * MIB);
        fakedamon_set_node_memory(fake, 1, 0, 0);
        put(sysfs, S "action", "migrate_hot");
        put(sysfs, S "target_nid", "0");
        put(sysfs, S "quotas/goals/0/target_metric", "node_mem_used_bp");
        put(sysfs, K "state", "on");
        assert_string_equal(fakedamon_bugs(fake), "");

        put(sysfs, S "quotas/goals/0/nid", "1");
        put(sysfs, S "target_nid", "-1");
        put(sysfs, K "state", "commit");
        assert_string_equal(fakedamon_bugs(fake), "migration to node -1, which has no memory; "
                                                  "goal on node 1, which has no memory");
}

/* Quotas ------------------------------------------------------------------------------------- */

/* Bytes allowed after each window: as a 7.3 kernel was seen to go. */
static void test_consist(void **state) {
        static const struct {
                const char *current;
                uint64_t esz[12];
        } cases[] = {
                {"0", {2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096}},
                {"5000", {1, 2, 3, 5, 7, 11, 17, 25, 38, 57, 86, 129}},
                {"9000", {1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3}},
        };
        (void) state;

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;
                FakeDamon *fake = build(FAKE_7_3, &sysfs);

                put(sysfs, S "quotas/bytes", "209715200");
                put(sysfs, S "quotas/goals/0/current_value", cases[i].current);
                put(sysfs, K "state", "on");
                for (size_t k = 0; k < ELEMENTSOF(cases[i].esz); k++) {
                        fakedamon_step(fake, 100);
                        assert_int_equal(fakedamon_esz(fake, 0, 0), cases[i].esz[k]);
                }
        }
}

/* Windows until @score lets the quota reach @bytes. */
static unsigned windows_to(const char *score, uint64_t bytes) {
        _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;
        FakeDamon *fake = build(FAKE_7_3, &sysfs);
        unsigned n = 0;

        put(sysfs, S "quotas/bytes", "1099511627776");
        put(sysfs, S "quotas/goals/0/current_value", score);
        put(sysfs, K "state", "on");
        do {
                fakedamon_step(fake, 100);
                n++;
        } while (fakedamon_esz(fake, 0, 0) < bytes);
        return n;
}

static void test_slow_start(void **state) {
        (void) state;

        assert_int_equal(windows_to("0", 4096), 12);
        assert_int_equal(windows_to("0", 200 * MIB), 28);
        assert_int_equal(windows_to("5000", 4096), 21);
        assert_int_equal(windows_to("5000", 200 * MIB), 48);
        assert_int_equal(windows_to("9000", 4096), 88);
        assert_int_equal(windows_to("9000", 200 * MIB), 202);
        assert_int_equal(windows_to("9900", 4096), 837);
        assert_int_equal(windows_to("9900", 200 * MIB), 1927);
}

/* Under-achieved for long, it grows unseen to the end of its range; then comes back slowly. */
static void test_wind_up(void **state) {
        static const struct {
                const char *score;
                unsigned n;
        } cases[] = {{"10030", 5322}, {"10100", 1591}, {"11000", 152}, {"15000", 24}, {"20000", 1}};
        (void) state;

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;
                FakeDamon *fake = build(FAKE_7_3, &sysfs);
                unsigned n = 0;

                put(sysfs, S "quotas/bytes", "209715200");
                put(sysfs, K "state", "on");
                for (unsigned k = 0; k < 100; k++)
                        fakedamon_step(fake, 100);
                assert_int_equal(fakedamon_esz(fake, 0, 0), 200 * MIB);

                put(sysfs, S "quotas/goals/0/current_value", cases[i].score);
                put(sysfs, K "state", "commit_schemes_quota_goals");
                do {
                        fakedamon_step(fake, 100);
                        n++;
                } while (fakedamon_esz(fake, 0, 0) >= 200 * MIB);
                print_message("%s: %u windows\n", cases[i].score, n);
                assert_in_range(n, cases[i].n - 1, cases[i].n + 1);
        }
}

static void test_temporal_and_nodes(void **state) {
        _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;
        FakeDamon *fake = build(FAKE_7_3, &sysfs);
        (void) state;

        fakedamon_set_node_memory(fake, 0, 1000 * MIB, 100 * MIB);
        put(sysfs, S "quotas/bytes", "1048576");
        put(sysfs, S "quotas/goal_tuner", "temporal");
        put(sysfs, S "quotas/goals/0/target_metric", "node_mem_used_bp");
        put(sysfs, S "quotas/goals/0/target_value", "9500");
        put(sysfs, K "refresh_ms", "1000");
        put(sysfs, K "state", "on");
        fakedamon_step(fake, 100);
        assert_int_equal(fakedamon_esz(fake, 0, 0), MIB); /* 90 % used: under the goal */
        get_is(sysfs, S "quotas/effective_bytes", "0");
        fakedamon_step(fake, 900);
        get_is(sysfs, S "quotas/effective_bytes", "1048576");

        fakedamon_set_node_memory(fake, 0, 1000 * MIB, 50 * MIB);
        fakedamon_step(fake, 50);
        assert_int_equal(fakedamon_esz(fake, 0, 0), MIB); /* within the window */
        fakedamon_step(fake, 50);
        assert_int_equal(fakedamon_esz(fake, 0, 0), 0);

        /* neither goal nor bytes: the one quota that has no bound */
        assert_string_equal(fakedamon_bugs(fake), "");
}

/* Other files -------------------------------------------------------------------------------- */

static void test_files(void **state) {
        _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;
        _cleanup_(sysfs_names_freep) char **names = NULL;
        _cleanup_(topology_facts_done) TopologyFacts facts = {0};
        FakeDamon *fake = fakedamon_new(FAKE_7_3, &sysfs);
        (void) state;

        fakedamon_load_fixture(fake, "sockets");
        assert_int_equal(toporead_facts(sysfs, &facts), 0);
        assert_int_equal(facts.n_nodes, 4);
        assert_int_equal(facts.nodes[3].n_ranges, 1);
        assert_int_equal(facts.n_kernel_tiers, 2);

        fakedamon_set_file(fake, "proc/sys/kernel/numa_balancing", "1\n");
        put(sysfs, "proc/sys/kernel/numa_balancing", "2");
        get_is(sysfs, "proc/sys/kernel/numa_balancing", "2");
        fakedamon_set_file(fake, "sys/devices/system/node/node3", NULL);
        assert_false(sysfs_exists(sysfs, "sys/devices/system/node/node3/meminfo"));
        assert_true(sysfs_exists(sysfs, "sys/devices/system/node/node2"));
        assert_int_equal(sysfs_list(sysfs, "sys/kernel/mm", &names), 0);
        assert_string_equal(names[0], "damon");
        assert_int_equal(sysfs_write(sysfs, "proc/absent", "1"), -ENOENT);
        assert_int_equal(sysfs_write(sysfs, ADMIN, "1"), -EISDIR);
        assert_int_equal(sysfs_read(sysfs, "sys/kernel", (char[8]){0}, 8), -EISDIR);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_trees),
                cmocka_unit_test(test_lock),
                cmocka_unit_test(test_failures),
                cmocka_unit_test(test_death),
                cmocka_unit_test(test_staged),
                cmocka_unit_test(test_modules),
                cmocka_unit_test(test_groups),
                cmocka_unit_test(test_bugs),
                cmocka_unit_test(test_bad_nodes),
                cmocka_unit_test(test_consist),
                cmocka_unit_test(test_slow_start),
                cmocka_unit_test(test_wind_up),
                cmocka_unit_test(test_temporal_and_nodes),
                cmocka_unit_test(test_files),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
