/* SPDX-License-Identifier: GPL-2.0-or-later */

/* What a verdict is found from, out of a plan, a decision, a sample and statistics. */

#include "core/judge.h"
#include "machine.h"

#define SECOND UINT64_C(1000000)

typedef struct Fixture {
        Config *config;
        Topology *topology;
        Sample sample;
        DecideState state;
        Decision decision;
        Plan plan;
        KdamondStats kdamonds[2];
        Stats stats;
        JudgeInput input;
} Fixture;

/* Fast node 0 demotes to slow node 1, which promotes; all of a run's stages are over. */
static void fixture_new(Fixture *f) {
        DecideInput decide_input;
        char *text = NULL;

        *f = (Fixture){.config = machine_config(NULL)};
        f->topology = machine_chain(2, GIB, f->config);
        f->sample = machine_sample(f->topology, SECOND, GIB / 2, 20 * MIB);
        f->state.on_since_us = 1;
        nodeset_add(&f->state.live, 0);
        nodeset_add(&f->state.live, 1);
        decide_input = (DecideInput){.config = f->config,
                                     .topology = f->topology,
                                     .caps = CAPS_7_3,
                                     .sample = &f->sample,
                                     .now_us = SECOND};
        assert_int_equal(decide(&decide_input, &f->state, NULL, &f->decision), 0);
        assert_int_equal(
                plan_build(f->config, f->topology, CAPS_7_3, &f->decision, &f->plan, &text), 0);
        free(text);
        for (size_t k = 0; k < 2; k++)
                f->kdamonds[k] = (KdamondStats){.on = true, .n_schemes = 1};
        f->stats = (Stats){.kdamonds = f->kdamonds, .n_kdamonds = 2, .window_us = 5 * SECOND};
        f->input = (JudgeInput){.caps = CAPS_7_3,
                                .decision = &f->decision,
                                .plan = &f->plan,
                                .sample = &f->sample,
                                .stats = &f->stats};
}

static void fixture_done(Fixture *f) {
        plan_done(&f->plan);
        decision_done(&f->decision);
        sample_done(&f->sample);
        topology_free(f->topology);
        config_free(f->config);
}

/* Which goal a direction has, and on which node. */
static void test_goals(void **state) {
        Fixture f;

        (void) state;
        fixture_new(&f);
        f.sample.nodes[0].free_bytes = f.decision.nodes[0].headroom_bytes;
        assert_true(judge_facts(&f.input, 0, 0).goal_met);
        assert_false(judge_facts(&f.input, 1, 0).goal_met);
        f.sample.nodes[0].free_bytes = f.decision.nodes[0].headroom_bytes - 1;
        assert_false(judge_facts(&f.input, 0, 0).goal_met);
        f.sample.nodes[0].free_bytes = f.decision.nodes[0].reserve_bytes;
        assert_true(judge_facts(&f.input, 1, 0).goal_met);
        assert_false(judge_facts(&f.input, 0, 0).is_promotion);
        assert_true(judge_facts(&f.input, 1, 0).is_promotion);
        fixture_done(&f);
}

static void test_target_full(void **state) {
        Fixture f;

        (void) state;
        fixture_new(&f);
        assert_false(judge_facts(&f.input, 0, 0).target_full);
        /* Two basis points of a node are nothing. */
        f.sample.nodes[1].free_bytes = f.decision.nodes[1].fill_bytes + GIB / 5000;
        assert_true(judge_facts(&f.input, 0, 0).target_full);
        f.sample.nodes[1].free_bytes++;
        assert_false(judge_facts(&f.input, 0, 0).target_full);
        assert_false(judge_facts(&f.input, 1, 0).target_full);
        fixture_done(&f);
}

static void test_held_back(void **state) {
        Fixture f;

        (void) state;
        fixture_new(&f);
        f.decision.nodes[0].demote.held_back = true;
        assert_true(judge_facts(&f.input, 0, 0).backed_off);
        assert_false(judge_facts(&f.input, 1, 0).backed_off);
        f.decision.nodes[0].demote.held_back = false;
        f.decision.nodes[1].promote.held_back = true;
        assert_false(judge_facts(&f.input, 0, 0).backed_off);
        assert_true(judge_facts(&f.input, 1, 0).backed_off);
        fixture_done(&f);
}

/* No window counts before the node is live; the quota is that of all windows between two looks. */
static void test_windows(void **state) {
        VerdictInput facts;
        Fixture f;

        (void) state;
        fixture_new(&f);
        facts = judge_facts(&f.input, 1, 0);
        assert_int_equal(facts.window_us, 5 * SECOND);
        assert_int_equal(facts.allowed_bytes,
                         f.decision.nodes[1].promote.quota_bytes * 5000 / f.decision.window_ms);
        assert_ptr_equal(facts.delta, &f.kdamonds[1].schemes[0].delta);
        assert_true(facts.on);
        f.decision.nodes[1].stage = NODE_STAGE_SWEEP;
        assert_int_equal(judge_facts(&f.input, 1, 0).window_us, 0);
        f.kdamonds[1].on = false;
        assert_false(judge_facts(&f.input, 1, 0).on);
        fixture_done(&f);
}

/* A node that the sample lost meets no goal and is not full: nothing is said of it. */
static void test_lost_node(void **state) {
        Fixture f;

        (void) state;
        fixture_new(&f);
        f.sample.n_nodes = 1;
        assert_false(judge_facts(&f.input, 0, 0).target_full);
        f.sample.n_nodes = 0;
        assert_false(judge_facts(&f.input, 0, 0).goal_met);
        assert_false(judge_facts(&f.input, 1, 0).goal_met);
        fixture_done(&f);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_goals),     cmocka_unit_test(test_target_full),
                cmocka_unit_test(test_held_back), cmocka_unit_test(test_windows),
                cmocka_unit_test(test_lost_node),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
