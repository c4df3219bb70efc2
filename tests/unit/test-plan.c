/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The wanted tree: what each rung gets, what each stage looks like, refusals. */

#include <errno.h>
#include <string.h>

#include "machine.h"

typedef struct Fixture {
        Config *config;
        Topology *topology;
        Decision decision;
} Fixture;

static Fixture fixture_new(uint32_t caps, size_t n_nodes, bool live, const char *const *lines) {
        Fixture f = {.config = machine_config(lines)};
        DecideState state = {.on_since_us = live ? 1 : 0};

        f.topology = machine_chain(n_nodes, 4 * GIB, f.config);
        {
                _cleanup_(sample_done) Sample sample =
                        machine_sample(f.topology, 1000000000, GIB, 10 * MIB);
                DecideInput input = {
                        .config = f.config,
                        .topology = f.topology,
                        .caps = caps,
                        .sample = &sample,
                        .now_us = sample.now_us,
                };

                assert_int_equal(decide(&input, &state, NULL, &f.decision), 0);
        }
        return f;
}

static void fixture_done(Fixture *f) {
        config_free(f->config);
        topology_free(f->topology);
        decision_done(&f->decision);
}

static Plan build(const Fixture *f, uint32_t caps) {
        char *text = NULL;
        Plan plan = {};

        assert_int_equal(plan_build(f->config, f->topology, caps, &f->decision, &plan, &text), 0);
        return plan;
}

static void test_two_nodes(void **state) {
        Fixture f = fixture_new(CAPS_7_3, 2, true, NULL);
        Plan plan = build(&f, CAPS_7_3), again = build(&f, CAPS_7_3);
        const DamonContext *fast = &plan.tree.kdamonds[0].context;
        const DamonContext *slow = &plan.tree.kdamonds[1].context;

        (void) state;
        assert_int_equal(plan.tree.n_kdamonds, 2);
        assert_true(plan_equal(&plan, &again));
        assert_int_equal(plan.kdamonds[0].nid, 0);
        assert_int_equal(plan.kdamonds[0].n_slices, 1);
        assert_int_equal(fast->operations, DAMON_OPS_PADDR);
        assert_int_equal(fast->n_ranges, 1);
        assert_int_equal(fast->ranges[0].end, 4 * GIB);
        assert_int_equal(fast->n_schemes, 1);
        assert_int_equal(fast->schemes[0].action, DAMON_ACTION_MIGRATE_COLD);
        assert_int_equal(fast->schemes[0].target_nid, 1);
        assert_int_equal(fast->schemes[0].nr_accesses_max, 0);
        assert_int_equal(fast->schemes[0].goals[0].metric, DAMON_GOAL_NODE_MEM_FREE_BP);
        assert_int_equal(fast->schemes[0].goals[0].nid, 0);
        assert_int_equal(fast->schemes[0].goal_tuner, DAMON_TUNER_TEMPORAL);
        assert_true(fast->schemes[0].filters[0].matching);
        assert_false(fast->schemes[0].filters[0].allow);
        assert_int_equal(slow->schemes[0].action, DAMON_ACTION_MIGRATE_HOT);
        assert_int_equal(slow->schemes[0].target_nid, 0);
        assert_true(slow->schemes[0].nr_accesses_min > 0);
        assert_int_equal(slow->schemes[0].goals[0].metric, DAMON_GOAL_NODE_MEM_USED_BP);
        assert_int_equal(slow->schemes[0].goals[0].nid, 0);
        assert_true(slow->schemes[0].filters[0].allow);
        /* Never without a limit. */
        assert_true(fast->schemes[0].quota_bytes > 4096);
        assert_true(slow->schemes[0].quota_bytes > 4096);
        plan_done(&plan);
        plan_done(&again);
        fixture_done(&f);
}

static void test_middle_tier(void **state) {
        Fixture f = fixture_new(CAPS_7_3, 3, true, NULL);
        Plan plan = build(&f, CAPS_7_3);
        const DamonContext *middle = &plan.tree.kdamonds[1].context;

        (void) state;
        assert_int_equal(plan.tree.n_kdamonds, 3);
        assert_int_equal(middle->n_schemes, 2);
        assert_int_equal(plan.kdamonds[1].schemes[0].direction, DIRECTION_DEMOTE);
        assert_int_equal(plan.kdamonds[1].schemes[0].to, 2);
        assert_int_equal(middle->schemes[0].goals[0].nid, 1);
        assert_int_equal(plan.kdamonds[1].schemes[1].direction, DIRECTION_PROMOTE);
        assert_int_equal(plan.kdamonds[1].schemes[1].to, 0);
        assert_int_equal(middle->schemes[1].goals[0].nid, 0);
        plan_done(&plan);
        fixture_done(&f);
}

static void test_old_kernels(void **state) {
        Fixture f = fixture_new(CAPS_6_12, 2, true, NULL);
        Plan plan = build(&f, CAPS_6_12);
        const DamonScheme *up = &plan.tree.kdamonds[1].context.schemes[0];
        const DamonScheme *down = &plan.tree.kdamonds[0].context.schemes[0];

        (void) state;
        assert_int_equal(up->n_goals, 0);
        assert_int_equal(up->goal_tuner, DAMON_TUNER_CONSIST);
        /* A match rejects: promotion rejects what is not young. */
        assert_false(up->filters[0].matching);
        assert_true(down->filters[0].matching);
        assert_int_equal(plan.tree.kdamonds[0].context.goal_aggrs, 0);
        /* 1 GiB is free: demotion is closed, and closed is not "no limit". */
        assert_int_equal(down->quota_bytes, 1);
        assert_true(up->quota_bytes > 4096);
        plan_done(&plan);
        fixture_done(&f);
}

static void test_stages(void **state) {
        Fixture f = fixture_new(CAPS_7_3, 3, false, NULL);
        Plan plan = build(&f, CAPS_7_3);
        const DamonContext *middle = &plan.tree.kdamonds[1].context;

        (void) state;
        for (size_t k = 0; k < 2; k++) {
                const DamonScheme *s = &plan.tree.kdamonds[k].context.schemes[0];

                assert_int_equal(s->n_filters, 2);
                /* Whatever the filter answers, it is rejected. */
                assert_int_equal(s->filters[0].type, DAMON_FILTER_YOUNG);
                assert_int_equal(s->filters[1].type, DAMON_FILTER_YOUNG);
                assert_true(s->filters[0].matching != s->filters[1].matching);
                assert_false(s->filters[0].allow || s->filters[1].allow);
                assert_int_equal(s->n_goals, 0);
                assert_true(s->quota_ms > 0 && s->quota_bytes > 0);
                assert_int_equal(s->nr_accesses_min, 0);
                assert_int_equal(s->nr_accesses_max, UINT32_MAX);
        }
        assert_int_equal(middle->schemes[1].sz_max, 0);
        /* The slowest node demotes nothing, so there is nothing to sweep for. */
        assert_int_equal(plan.tree.kdamonds[2].context.schemes[0].n_filters, 1);
        assert_int_equal(plan.tree.kdamonds[2].context.schemes[0].sz_max, UINT64_MAX);
        plan_done(&plan);
        fixture_done(&f);

        static const char *const no_filter[] = {"Policy.YoungFilter=no", NULL};
        f = fixture_new(CAPS_6_12, 2, false, no_filter);
        plan = build(&f, CAPS_6_12);
        assert_int_equal(plan.tree.kdamonds[0].context.schemes[0].sz_max, 0);
        assert_int_equal(plan.tree.kdamonds[0].context.schemes[0].quota_bytes, 1);
        plan_done(&plan);
        fixture_done(&f);
}

static void test_configuration(void **state) {
        static const char *const lines[] = {"Policy.YoungFilter=no",
                                            "Monitoring.AccessGoal=0",
                                            "Monitoring.MinRegions=50",
                                            "Monitoring.MaxRegions=60",
                                            "Monitoring.SampleInterval=10ms",
                                            "Monitoring.AggregationInterval=200ms",
                                            NULL};
        Fixture f = fixture_new(CAPS_7_3, 2, true, lines);
        Plan plan = build(&f, CAPS_7_3);
        const DamonContext *c = &plan.tree.kdamonds[0].context;

        (void) state;
        assert_int_equal(c->schemes[0].n_filters, 0);
        assert_int_equal(c->goal_aggrs, 0);
        assert_int_equal(c->min_nr_regions, 50);
        assert_int_equal(c->max_nr_regions, 60);
        assert_int_equal(c->sample_us, 10000);
        assert_int_equal(c->aggr_us, 200000);
        plan_done(&plan);
        fixture_done(&f);
}

/* Every range is a region at least, and the kernel wants min <= max. */
static void test_regions(void **state) {
        static const char *const lines[] = {"Monitoring.MinRegions=5000", NULL};
        Fixture f = fixture_new(CAPS_7_3, 2, true, lines);
        Plan plan = build(&f, CAPS_7_3);

        (void) state;
        assert_int_equal(plan.tree.kdamonds[0].context.max_nr_regions, 5000);
        plan_done(&plan);

        f.topology->nodes[0].ranges[0].end = 1024 * GIB;
        f.config->monitoring.min_regions = 0;
        plan = build(&f, CAPS_7_3);
        assert_in_range(plan.tree.kdamonds[0].context.min_nr_regions, 100, 1000);
        assert_in_range(plan.tree.kdamonds[0].context.max_nr_regions, 1000, 10000);
        plan_done(&plan);
        fixture_done(&f);
}

/* The slices of a node share its memory and its quota; the slots that it does not need are off. */
static void test_slices(void **state) {
        static const char *const lines[] = {"Policy.Kdamonds=4", NULL};
        Fixture f = fixture_new(CAPS_7_3, 2, true, lines);
        Plan whole, plan;
        uint64_t covered = 0;

        (void) state;
        plan = build(&f, CAPS_7_3);
        assert_int_equal(plan.tree.n_kdamonds, 8);
        for (size_t k = 0; k < 4; k++) {
                const DamonContext *c = &plan.tree.kdamonds[k].context;

                assert_true(plan.tree.kdamonds[k].on);
                assert_int_equal(plan.kdamonds[k].nid, 0);
                assert_int_equal(plan.kdamonds[k].slice, k);
                assert_int_equal(c->schemes[0].quota_bytes,
                                 f.decision.nodes[0].demote.quota_bytes / 4);
                covered += c->ranges[0].end - c->ranges[0].start;
        }
        assert_int_equal(covered, 4 * GIB);
        plan_done(&plan);

        f.decision.nodes[0].slices.n_slices = 1;
        whole = build(&f, CAPS_7_3);
        assert_int_equal(whole.tree.n_kdamonds, 8);
        assert_true(whole.tree.kdamonds[0].on);
        for (size_t k = 1; k < 4; k++) {
                assert_false(whole.tree.kdamonds[k].on);
                assert_int_equal(whole.tree.kdamonds[k].n_contexts, 0);
                assert_int_equal(whole.kdamonds[k].n_schemes, 0);
        }
        assert_int_equal(whole.tree.kdamonds[0].context.schemes[0].quota_bytes,
                         f.decision.nodes[0].demote.quota_bytes);

        /* A new slice of an old kernel starts with nothing to match. */
        f.decision.nodes[0].slices.n_slices = 2;
        f.decision.nodes[0].slices.n_fresh = 1;
        plan = build(&f, CAPS_6_12);
        assert_int_equal(plan.tree.kdamonds[0].context.schemes[0].sz_max, UINT64_MAX);
        assert_int_equal(plan.tree.kdamonds[1].context.schemes[0].sz_max, 0);
        plan_done(&plan);
        plan_done(&whole);
        fixture_done(&f);
}

static void test_refusals(void **state) {
        Fixture f = fixture_new(CAPS_7_3, 1, true, NULL);
        char *text = NULL;
        Plan plan;

        (void) state;
        assert_int_equal(plan_build(f.config, f.topology, CAPS_7_3, &f.decision, &plan, &text),
                         -ENODATA);
        assert_non_null(strstr(text, "one tier"));
        free(text);
        fixture_done(&f);

        f = fixture_new(CAPS_7_3, 2, true, NULL);
        assert_int_equal(plan_build(f.config, f.topology, 0, &f.decision, &plan, &text),
                         -EOPNOTSUPP);
        assert_non_null(strstr(text, "CONFIG_DAMON_SYSFS"));
        free(text);
        assert_int_equal(
                plan_build(f.config, f.topology, DAMON_CAP_SYSFS, &f.decision, &plan, &text),
                -EOPNOTSUPP);
        assert_non_null(strstr(text, "6.11"));
        free(text);
        fixture_done(&f);
}

static void test_equal(void **state) {
        Fixture f = fixture_new(CAPS_7_3, 3, true, NULL);
        Plan a = build(&f, CAPS_7_3), b = build(&f, CAPS_7_3);

        (void) state;
        b.kdamonds[0].slice = 1;
        assert_false(plan_equal(&a, &b));
        b.kdamonds[0].slice = 0;
        b.kdamonds[1].schemes[0].to = 7;
        assert_false(plan_equal(&a, &b));
        b.kdamonds[1].schemes[0].to = 2;
        assert_true(plan_equal(&a, &b));
        b.tree.kdamonds[0].context.schemes[0].quota_bytes++;
        assert_false(plan_equal(&a, &b));
        assert_string_equal(direction_to_string(DIRECTION_PROMOTE), "promote");
        assert_null(direction_to_string((Direction) 9));
        plan_done(&a);
        plan_done(&b);
        fixture_done(&f);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_two_nodes),     cmocka_unit_test(test_middle_tier),
                cmocka_unit_test(test_old_kernels),   cmocka_unit_test(test_stages),
                cmocka_unit_test(test_configuration), cmocka_unit_test(test_regions),
                cmocka_unit_test(test_slices),        cmocka_unit_test(test_refusals),
                cmocka_unit_test(test_equal),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
