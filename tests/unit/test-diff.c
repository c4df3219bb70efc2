/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The way from one tree to another: nothing for nothing, the cheapest command, the right order. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "machine.h"

#include "core/diff.h"
#include "core/plan.h"

/* The plan for a machine of two nodes, as it would be right after a start. */
static Plan plan_new(uint32_t caps, size_t n_nodes) {
        _cleanup_(config_freep) Config *config = machine_config(NULL);
        _cleanup_(topology_freep) Topology *topology = machine_chain(n_nodes, GIB, config);
        _cleanup_(sample_done) Sample sample = machine_sample(topology, 1000000, 0, 10 * MIB);
        _cleanup_(decision_done) Decision decision = {};
        DecideState state = {.on_since_us = 1};
        DecideInput input = {
                .config = config,
                .topology = topology,
                .caps = caps,
                .sample = &sample,
                .now_us = 1000000000,
        };
        char *text = NULL;
        Plan plan;

        assert_int_equal(decide(&input, &state, NULL, &decision), 0);
        assert_int_equal(plan_build(config, topology, caps, &decision, &plan, &text), 0);
        return plan;
}

/* A copy of the plan's tree that is in the kernel and runs. */
static DamonTree running(const Plan *plan) {
        DamonTree tree;

        assert_int_equal(damon_tree_copy(&plan->tree, &tree), 0);
        for (size_t i = 0; i < tree.n_kdamonds; i++) {
                tree.kdamonds[i].on = true;
                tree.kdamonds[i].pid = 100 + (int) i;
        }
        return tree;
}

/* "state 0 commit" of the last operation; for the whole list, joined by '\n'. */
static char *text_of(const OpList *ops) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        assert_non_null(f);
        for (size_t i = 0; i < ops->n_items; i++)
                fprintf(f, "%s %s=%s\n", op_kind_to_string(ops->items[i].kind),
                        ops->items[i].path + strlen(DAMON_KDAMONDS_DIR) + 1, ops->items[i].value);
        fclose(f);
        return text;
}

static void assert_diff(const DamonTree *present, const DamonTree *wanted, uint32_t caps,
                        const char *expected) {
        _cleanup_(op_list_done) OpList ops = {};
        _cleanup_(freep) char *text = NULL;

        assert_int_equal(diff_trees(present, wanted, caps, &ops), 0);
        text = text_of(&ops);
        assert_string_equal(text, expected);
}

static void test_nothing_for_nothing(void **state) {
        const uint32_t rungs[] = {CAPS_6_12, CAPS_6_16, CAPS_6_18, CAPS_7_3};

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(rungs); i++)
                for (size_t n = 2; n < 5; n++) {
                        Plan plan = plan_new(rungs[i], n);
                        DamonTree tree = running(&plan);

                        assert_diff(&tree, &plan.tree, rungs[i], "");
                        plan_done(&plan);
                        damon_tree_done(&tree);
                }
}

/* From nothing: counts before what they create, state last, and not more than needed. */
static void test_from_nothing(void **state) {
        Plan plan = plan_new(CAPS_7_3, 2);
        _cleanup_(op_list_done) OpList ops = {};
        DamonTree empty = {};
        size_t n_on = 0;

        (void) state;
        assert_int_equal(diff_trees(&empty, &plan.tree, CAPS_7_3, &ops), 0);
        assert_int_equal(ops.items[0].kind, OP_RESIZE);
        assert_string_equal(ops.items[0].path, DAMON_KDAMONDS_DIR "/nr_kdamonds");
        assert_int_equal(ops.items[0].kdamond, OP_NO_KDAMOND);
        for (size_t i = 0; i < ops.n_items; i++)
                n_on += ops.items[i].kind == OP_STATE;
        assert_int_equal(n_on, 2);
        assert_string_equal(ops.items[ops.n_items - 1].value, "on");
        assert_string_equal(ops.items[ops.n_items - 1].path, DAMON_KDAMONDS_DIR "/1/state");
        assert_true(ops.n_items < 70);
        plan_done(&plan);
}

static void test_cheapest_command(void **state) {
        Plan plan = plan_new(CAPS_7_3, 2);
        DamonTree tree = running(&plan);
        DamonContext *c = &plan.tree.kdamonds[0].context;
        DamonScheme *s = &c->schemes[0];

        (void) state;
        s->goals[0].target_value++;
        {
                char expected[256];

                (void) snprintf(expected, sizeof(expected),
                                "set 0/contexts/0/schemes/0/quotas/goals/0/target_value=%llu\n"
                                "state 0/state=commit_schemes_quota_goals\n",
                                (unsigned long long) s->goals[0].target_value);
                assert_diff(&tree, &plan.tree, CAPS_7_3, expected);
        }
        s->goals[0].target_value--;

        s->quota_bytes = 4096;
        assert_diff(&tree, &plan.tree, CAPS_7_3,
                    "state 0/state=update_tuned_intervals\n"
                    "set 0/contexts/0/schemes/0/quotas/bytes=4096\n"
                    "state 0/state=commit\n");
        s->quota_bytes = tree.kdamonds[0].context.schemes[0].quota_bytes;

        plan.tree.kdamonds[0].refresh_ms = 100;
        assert_diff(&tree, &plan.tree, CAPS_7_3, "set 0/refresh_ms=100\n");
        plan.tree.kdamonds[0].refresh_ms = 0;

        c->operations = DAMON_OPS_FVADDR;
        assert_diff(&tree, &plan.tree, CAPS_7_3,
                    "state 0/state=off\n"
                    "set 0/contexts/0/operations=fvaddr\n"
                    "state 0/state=on\n");
        c->operations = DAMON_OPS_PADDR;

        plan.tree.kdamonds[1].on = false;
        assert_diff(&tree, &plan.tree, CAPS_7_3, "state 1/state=off\n");
        plan.tree.kdamonds[1].on = true;

        tree.kdamonds[1].on = false;
        assert_diff(&tree, &plan.tree, CAPS_7_3, "state 1/state=on\n");
        plan_done(&plan);
        damon_tree_done(&tree);
}

/* What the kernel has tuned stays, unless the goal of the tuning changes. */
static void test_tuned_intervals(void **state) {
        Plan plan = plan_new(CAPS_7_3, 2);
        DamonTree tree = running(&plan);

        (void) state;
        tree.kdamonds[0].context.sample_us = 80000;
        tree.kdamonds[0].context.aggr_us = 1600000;
        assert_diff(&tree, &plan.tree, CAPS_7_3, "");

        plan.tree.kdamonds[0].context.goal_max_sample_us = 50000;
        assert_diff(&tree, &plan.tree, CAPS_7_3,
                    "set 0/contexts/0/monitoring_attrs/intervals/sample_us=5000\n"
                    "set 0/contexts/0/monitoring_attrs/intervals/aggr_us=100000\n"
                    "set 0/contexts/0/monitoring_attrs/intervals/intervals_goal/"
                    "max_sample_us=50000\n"
                    "state 0/state=commit\n");

        /* Without tuning they are as staged. */
        plan.tree.kdamonds[0].context.goal_aggrs = 0;
        tree.kdamonds[0].context.goal_aggrs = 0;
        plan.tree.kdamonds[0].context.goal_max_sample_us =
                tree.kdamonds[0].context.goal_max_sample_us;
        assert_diff(&tree, &plan.tree, CAPS_7_3,
                    "set 0/contexts/0/monitoring_attrs/intervals/sample_us=5000\n"
                    "set 0/contexts/0/monitoring_attrs/intervals/aggr_us=100000\n"
                    "state 0/state=commit\n");
        plan_done(&plan);
        damon_tree_done(&tree);
}

static void test_counts(void **state) {
        Plan plan = plan_new(CAPS_7_3, 2);
        DamonTree tree = running(&plan);
        DamonContext *c = &tree.kdamonds[0].context;

        (void) state;
        /* A range more: all of them are written again, since the count destroys them. */
        c->n_ranges = 0;
        assert_diff(&tree, &plan.tree, CAPS_7_3,
                    "state 0/state=update_tuned_intervals\n"
                    "resize 0/contexts/0/targets/0/regions/nr_regions=1\n"
                    "set 0/contexts/0/targets/0/regions/0/end=1073741824\n"
                    "state 0/state=commit\n");
        c->n_ranges = 1;
        c->schemes[0].n_filters = 2;
        assert_diff(&tree, &plan.tree, CAPS_7_3,
                    "state 0/state=update_tuned_intervals\n"
                    "resize 0/contexts/0/schemes/0/ops_filters/nr_filters=1\n"
                    "set 0/contexts/0/schemes/0/ops_filters/0/type=young\n"
                    "set 0/contexts/0/schemes/0/ops_filters/0/matching=Y\n"
                    "state 0/state=commit\n");
        c->schemes[0].n_filters = 1;
        c->n_targets = 0;
        {
                _cleanup_(op_list_done) OpList ops = {};

                assert_int_equal(diff_trees(&tree, &plan.tree, CAPS_7_3, &ops), 0);
                assert_string_equal(ops.items[0].value, "off");
                assert_string_equal(ops.items[ops.n_items - 1].value, "on");
        }
        c->n_targets = 1;
        tree.kdamonds[0].n_contexts = 0;
        {
                _cleanup_(op_list_done) OpList ops = {};

                assert_int_equal(diff_trees(&tree, &plan.tree, CAPS_7_3, &ops), 0);
                assert_string_equal(ops.items[0].value, "off");
                assert_string_equal(ops.items[1].path,
                                    DAMON_KDAMONDS_DIR "/0/contexts/nr_contexts");
        }
        plan_done(&plan);
        damon_tree_done(&tree);
}

/* Another number of kdamonds: the kernel wants all of them off first. */
static void test_other_number(void **state) {
        Plan two = plan_new(CAPS_7_3, 2), three = plan_new(CAPS_7_3, 3);
        DamonTree tree = running(&two);
        _cleanup_(op_list_done) OpList ops = {};

        (void) state;
        assert_int_equal(diff_trees(&tree, &three.tree, CAPS_7_3, &ops), 0);
        assert_string_equal(ops.items[0].value, "off");
        assert_string_equal(ops.items[1].value, "off");
        assert_string_equal(ops.items[2].path, DAMON_KDAMONDS_DIR "/nr_kdamonds");
        assert_string_equal(ops.items[2].value, "3");
        plan_done(&two);
        plan_done(&three);
        damon_tree_done(&tree);
}

/* An old kernel's tree has no file for what came later, whatever the values are. */
static void test_only_files_that_exist(void **state) {
        Plan plan = plan_new(CAPS_6_12, 2);
        _cleanup_(op_list_done) OpList ops = {};
        DamonTree empty = {};

        (void) state;
        plan.tree.kdamonds[0].context.schemes[0].goal_tuner = DAMON_TUNER_TEMPORAL;
        plan.tree.kdamonds[0].context.pause = true;
        plan.tree.kdamonds[0].refresh_ms = 5;
        assert_int_equal(diff_trees(&empty, &plan.tree, CAPS_6_12, &ops), 0);
        for (size_t i = 0; i < ops.n_items; i++) {
                assert_null(strstr(ops.items[i].path, "goal_tuner"));
                assert_null(strstr(ops.items[i].path, "pause"));
                assert_null(strstr(ops.items[i].path, "refresh_ms"));
                assert_null(strstr(ops.items[i].path, "ops_filters"));
                assert_null(strstr(ops.items[i].path, "allow"));
        }
        plan_done(&plan);
}

static void test_release(void **state) {
        Plan plan = plan_new(CAPS_7_3, 2);
        DamonTree tree = running(&plan), empty = {};
        _cleanup_(op_list_done) OpList ops = {};
        _cleanup_(freep) char *text = NULL;

        (void) state;
        tree.kdamonds[1].on = false;
        assert_int_equal(diff_release(&tree, &ops), 0);
        text = text_of(&ops);
        assert_string_equal(text, "state 0/state=off\nresize nr_kdamonds=0\n");
        op_list_done(&ops);
        assert_int_equal(diff_release(&empty, &ops), 0);
        assert_int_equal(ops.n_items, 0);
        assert_null(op_kind_to_string((OpKind) 77));
        plan_done(&plan);
        damon_tree_done(&tree);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_nothing_for_nothing),
                cmocka_unit_test(test_from_nothing),
                cmocka_unit_test(test_cheapest_command),
                cmocka_unit_test(test_tuned_intervals),
                cmocka_unit_test(test_counts),
                cmocka_unit_test(test_other_number),
                cmocka_unit_test(test_only_files_that_exist),
                cmocka_unit_test(test_release),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
