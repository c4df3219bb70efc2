/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Samples -> deltas and totals, over restarts, and into the ledger. */

#include <errno.h>
#include <string.h>

#include "machine.h"

#include "core/ledger.h"
#include "core/stats.h"

static Sample sample_at(uint64_t now_us, bool on, int pid, uint64_t applied, uint64_t cpu_us) {
        Sample sample = {
                .now_us = now_us,
                .full = true,
                .kdamonds = calloc(1, sizeof(KdamondSample)),
                .n_kdamonds = 1,
        };

        assert_non_null(sample.kdamonds);
        sample.kdamonds[0] = (KdamondSample){
                .on = on,
                .pid = pid,
                .cpu_us = cpu_us,
                .sample_us = 5000,
                .aggr_us = 100000,
                .n_schemes = 1,
        };
        sample.kdamonds[0].schemes[0].counters.sz_applied = applied;
        sample.kdamonds[0].schemes[0].counters.sz_tried = 2 * applied;
        sample.kdamonds[0].schemes[0].effective_bytes = 77;
        return sample;
}

static void feed(Stats *stats, uint64_t now_us, bool on, int pid, uint64_t applied,
                 uint64_t cpu_us) {
        _cleanup_(sample_done) Sample sample = sample_at(now_us, on, pid, applied, cpu_us);

        assert_int_equal(stats_update(stats, &sample), 0);
}

static void test_deltas(void **state) {
        _cleanup_(stats_done) Stats stats = {};
        const SchemeStats *s;

        (void) state;
        feed(&stats, 1000000, true, 10, 100, 500);
        s = &stats.kdamonds[0].schemes[0];
        assert_int_equal(stats.window_us, 0);
        assert_int_equal(stats_cpu_permille(&stats, 0), 0);
        /* The first sample after "on" counts in full. */
        assert_int_equal(s->delta.sz_applied, 100);
        feed(&stats, 2000000, true, 10, 150, 250500);
        assert_int_equal(stats.window_us, 1000000);
        assert_int_equal(s->delta.sz_applied, 50);
        assert_int_equal(s->total.sz_applied, 150);
        assert_int_equal(s->effective_bytes, 77);
        assert_int_equal(stats_cpu_permille(&stats, 0), 250);
        assert_int_equal(stats_cpu_permille(&stats, 9), 0);
        /* Another pid: counted from zero; the total goes on. */
        feed(&stats, 3000000, true, 11, 160, 100);
        assert_int_equal(s->delta.sz_applied, 160);
        assert_int_equal(s->total.sz_applied, 310);
        /* The same pid with lower numbers: the same. */
        feed(&stats, 4000000, true, 11, 5, 200);
        assert_int_equal(s->delta.sz_applied, 5);
        assert_int_equal(s->total.sz_applied, 315);
        /* Off: what the files say is old. */
        feed(&stats, 5000000, false, -1, 5, 0);
        assert_int_equal(s->delta.sz_applied, 0);
        assert_int_equal(stats.kdamonds[0].delta_cpu_us, 0);
        assert_false(stats.kdamonds[0].on);
        feed(&stats, 6000000, true, 12, 7, 10);
        assert_int_equal(s->total.sz_applied, 322);
        /* A clock that stands still makes no window. */
        feed(&stats, 6000000, true, 12, 7, 10);
        assert_int_equal(stats.window_us, 0);
}

static void test_baseline(void **state) {
        _cleanup_(stats_done) Stats stats = {};
        SchemeCounters known = {.sz_applied = 90, .sz_tried = 180};

        (void) state;
        assert_int_equal(stats_set_baseline(&stats, DAMON_KDAMONDS_MAX, 1, 0, &known), -E2BIG);
        assert_int_equal(stats_set_baseline(&stats, 0, 1, DAMON_SCHEMES_MAX, &known), -E2BIG);
        assert_int_equal(stats_set_baseline(&stats, 0, 10, 0, &known), 0);
        feed(&stats, 1000000, true, 10, 100, 0);
        assert_int_equal(stats.kdamonds[0].schemes[0].delta.sz_applied, 10);
}

static void test_resize(void **state) {
        _cleanup_(stats_done) Stats stats = {};
        _cleanup_(sample_done) Sample none = {.now_us = 2000000, .full = true};

        (void) state;
        feed(&stats, 1000000, true, 10, 100, 0);
        assert_int_equal(stats_update(&stats, &none), 0);
        assert_int_equal(stats.n_kdamonds, 0);
}

static void test_copy_nodes(void **state) {
        NodeSample node = {.nid = 3, .floor_bytes = 5};
        Sample sample = {.now_us = 9, .nodes = &node, .n_nodes = 1};
        _cleanup_(sample_done) Sample copy = {};

        (void) state;
        assert_int_equal(sample_copy_nodes(&sample, &copy), 0);
        assert_int_equal(sample_find_node(&copy, 3)->floor_bytes, 5);
        assert_null(sample_find_node(&copy, 0));
        assert_false(copy.full);
}

static void test_ledger(void **state) {
        _cleanup_(ledger_done) Ledger ledger = {}, copy = {};
        _cleanup_(stats_done) Stats stats = {};
        PlanKdamond meta = {
                .nid = 1,
                .n_schemes = 1,
                .schemes = {{.direction = DIRECTION_PROMOTE, .from = 1, .to = 0}},
        };
        Plan plan = {.kdamonds = &meta, .tree = {.n_kdamonds = 1}};
        LedgerPair *pair;

        (void) state;
        feed(&stats, 1000000, true, 10, 100, 0);
        assert_int_equal(ledger_add_window(&ledger, &plan, &stats), 0);
        feed(&stats, 2000000, true, 11, 30, 0);
        assert_int_equal(ledger_add_window(&ledger, &plan, &stats), 0);
        assert_int_equal(ledger_sum(&ledger, DIRECTION_PROMOTE), 130);
        assert_int_equal(ledger_sum(&ledger, DIRECTION_DEMOTE), 0);
        assert_int_equal(ledger_find(&ledger, DIRECTION_PROMOTE, 1, 0)->tried_bytes, 260);
        assert_null(ledger_find(&ledger, DIRECTION_DEMOTE, 1, 0));
        assert_int_equal(ledger_copy(&ledger, &copy), 0);
        for (int i = 0; i < 20; i++)
                assert_int_equal(ledger_get(&copy, DIRECTION_DEMOTE, i, i + 1, &pair), 0);
        assert_int_equal(copy.n_pairs, 21);
        assert_int_equal(ledger.n_pairs, 1);
}

static void test_charged(void **state) {
        SchemeCounters c = {.sz_tried = 100, .sz_applied = 60};

        (void) state;
        assert_int_equal(stats_charged(&c, CAPS_6_12), 100);
        assert_int_equal(stats_charged(&c, CAPS_7_3), 70);
        c.sz_tried = 0; /* of two files that were not read at once */
        assert_int_equal(stats_charged(&c, CAPS_6_12), 60);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_charged),    cmocka_unit_test(test_deltas),
                cmocka_unit_test(test_baseline),   cmocka_unit_test(test_resize),
                cmocka_unit_test(test_copy_nodes), cmocka_unit_test(test_ledger),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
