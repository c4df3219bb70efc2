/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Holding back: at once when there is reason, and letting go only after a calm that grows. */

#include <errno.h>

#include "core/guard.h"
#include "machine.h"

#define SECOND (UINT64_C(1000000))
#define HOUR (3600 * SECOND)

typedef struct Fixture {
        Config *config;
        Topology *topology;
        Decision decision;
        Plan plan;
        Sample sample;
        Stats stats;
        Guard guard;
        GuardEvents events;
        Verdict verdicts[2 * DAMON_SCHEMES_MAX];
        bool hot_looked_at; /* demotion looks at much and finds little */
} Fixture;

static void fixture_new(Fixture *f, const char *const *lines) {
        DecideState state = {};
        char *text = NULL;

        *f = (Fixture){.config = machine_config(lines)};
        f->topology = machine_chain(2, GIB, f->config);
        f->sample = machine_sample(f->topology, SECOND, GIB / 2, MIB);
        f->sample.full = true;
        f->sample.has_pressure = true;
        DecideInput input = {
                .config = f->config,
                .topology = f->topology,
                .caps = CAPS_7_3,
                .sample = &f->sample,
                .now_us = SECOND,
        };
        nodeset_add(&state.live, 0);
        nodeset_add(&state.live, 1);
        assert_int_equal(decide(&input, &state, NULL, &f->decision), 0);
        assert_int_equal(
                plan_build(f->config, f->topology, CAPS_7_3, &f->decision, &f->plan, &text), 0);
        f->stats.kdamonds = calloc(2, sizeof(*f->stats.kdamonds));
        assert_non_null(f->stats.kdamonds);
        f->stats.n_kdamonds = 2;
        f->stats.kdamonds[0].n_schemes = f->stats.kdamonds[1].n_schemes = 1;
}

static void fixture_done(Fixture *f) {
        config_free(f->config);
        topology_free(f->topology);
        decision_done(&f->decision);
        plan_done(&f->plan);
        sample_done(&f->sample);
        stats_done(&f->stats);
        guard_done(&f->guard);
        guard_events_done(&f->events);
}

/* Five seconds in which that much moved and tasks waited @permille of the time. The number of
 * events. */
static size_t step(Fixture *f, uint64_t demoted, uint64_t promoted, uint64_t permille) {
        GuardInput input = {
                .config = f->config,
                .topology = f->topology,
                .caps = CAPS_7_3,
                .decision = &f->decision,
                .plan = &f->plan,
                .sample = &f->sample,
                .stats = &f->stats,
                .verdicts = f->verdicts,
        };

        f->sample.now_us += 5 * SECOND;
        f->sample.pressure_us += 5 * SECOND * permille / 1000;
        f->stats.window_us = 5 * SECOND;
        f->stats.kdamonds[0].schemes[0].delta =
                (SchemeCounters){.sz_tried = demoted * (f->hot_looked_at ? 10 : 1),
                                 .sz_passed = demoted,
                                 .sz_applied = demoted};
        f->stats.kdamonds[1].schemes[0].delta =
                (SchemeCounters){.sz_passed = promoted, .sz_applied = promoted};
        f->events.n_items = 0;
        assert_int_equal(guard_update(&f->guard, &input, &f->events), 0);
        return f->events.n_items;
}

static GuardLimit demotion(const Fixture *f) {
        return guard_limit(&f->guard, f->topology, DIRECTION_DEMOTE, 0, 1);
}

static GuardLimit promotion(const Fixture *f) {
        return guard_limit(&f->guard, f->topology, DIRECTION_PROMOTE, 1, 0);
}

static void test_nothing(void **state) {
        GuardLimit limit;
        Fixture f;

        (void) state;
        fixture_new(&f, NULL);
        limit = guard_limit(NULL, f.topology, DIRECTION_DEMOTE, 0, 1);
        assert_false(guard_limit_holds_back(&limit));
        for (unsigned i = 0; i < 1000; i++)
                assert_int_equal(step(&f, 0, 0, 20), 0);
        limit = demotion(&f);
        assert_false(guard_limit_holds_back(&limit));
        fixture_done(&f);
}

static void test_pressure(void **state) {
        static const char *const off[] = {"Guard.PressureLimit=0", NULL};
        unsigned calm = 0;
        Fixture f;

        (void) state;
        fixture_new(&f, NULL);
        step(&f, 0, 0, 0);
        assert_int_equal(step(&f, 0, 0, 400), 1);
        assert_int_equal(f.events.items[0].kind, GUARD_PRESSURE);
        assert_int_equal(f.events.items[0].numbers[0], 400);
        assert_int_equal(f.events.items[0].numbers[1], 100);
        assert_int_equal(promotion(&f).shift, 1);
        /* Demotion makes room: it goes on. */
        assert_int_equal(demotion(&f).shift, 0);
        for (unsigned i = 0; i < 100; i++)
                step(&f, 0, 0, 400);
        assert_int_equal(promotion(&f).shift, 4);
        /* In the middle between calm and bad nothing changes. */
        for (unsigned i = 0; i < 100; i++)
                assert_int_equal(step(&f, 0, 0, 70), 0);
        for (; promotion(&f).shift > 0; calm++)
                step(&f, 0, 0, 0);
        assert_in_range(calm, 4 * 6, 4 * 7);
        /* A relapse takes twice the calm. */
        step(&f, 0, 0, 400);
        assert_int_equal(promotion(&f).shift, 1);
        for (calm = 0; promotion(&f).shift > 0; calm++)
                step(&f, 0, 0, 0);
        assert_in_range(calm, 12, 13);
        fixture_done(&f);

        fixture_new(&f, off);
        for (unsigned i = 0; i < 100; i++)
                assert_int_equal(step(&f, 0, 0, 900), 0);
        fixture_done(&f);
}

/* Swinging load must not make it swing: the calm that it waits for outgrows any period. */
static void test_no_swing(void **state) {
        size_t changes = 0;
        Fixture f;

        (void) state;
        fixture_new(&f, NULL);
        for (unsigned minute = 0; minute < 120; minute++)
                for (unsigned i = 0; i < 12; i++)
                        changes += step(&f, 0, 0, i == 0 ? 500 : 0);
        assert_in_range(changes, 1, 20);
        fixture_done(&f);
}

static void test_failures(void **state) {
        Fixture f;

        (void) state;
        fixture_new(&f, NULL);
        for (unsigned i = 0; i < 20; i++) {
                GuardInput input = {.config = f.config,
                                    .topology = f.topology,
                                    .caps = CAPS_7_3,
                                    .decision = &f.decision,
                                    .plan = &f.plan,
                                    .sample = &f.sample,
                                    .stats = &f.stats};

                f.sample.now_us += 5 * SECOND;
                f.stats.window_us = 5 * SECOND;
                f.stats.kdamonds[0].schemes[0].delta =
                        (SchemeCounters){.sz_passed = 100 * MIB, .sz_applied = MIB};
                assert_int_equal(guard_update(&f.guard, &input, &f.events), 0);
        }
        assert_int_equal(demotion(&f).shift, 4);
        assert_int_equal(promotion(&f).shift, 0);
        assert_int_equal(f.events.n_items, 4);
        assert_int_equal(f.events.items[0].kind, GUARD_FAILURES);
        assert_int_equal(f.events.items[0].direction, DIRECTION_DEMOTE);
        for (unsigned i = 0; i < 100; i++)
                step(&f, MIB, 0, 0);
        assert_int_equal(demotion(&f).shift, 0);
        fixture_done(&f);
}

static void test_ping_pong(void **state) {
        static const char *const off[] = {"Guard.PingPong=no", NULL};
        uint64_t age_us = 0;
        Fixture f;

        (void) state;
        fixture_new(&f, NULL);
        f.verdicts[DAMON_SCHEMES_MAX] = VERDICT_QUOTA_LIMITED;
        /* A hot set moves in, and later another one: that is the work. */
        for (unsigned round = 0; round < 20; round++)
                for (unsigned i = 0; i < 24; i++)
                        assert_int_equal(step(&f, i < 4 ? 200 * MIB : 0, i < 4 ? 200 * MIB : 0, 0),
                                         0);
        /* Filling up in one direction is no exchange. */
        for (unsigned i = 0; i < 100; i++)
                assert_int_equal(step(&f, 200 * MIB, 0, 0), 0);
        /* A set that drifts, with promotion keeping up. */
        f.verdicts[DAMON_SCHEMES_MAX] = VERDICT_MOVING;
        for (unsigned i = 0; i < 1000; i++)
                assert_int_equal(step(&f, 10 * MIB, 10 * MIB, 0), 0);
        f.verdicts[DAMON_SCHEMES_MAX] = VERDICT_QUOTA_LIMITED;
        step(&f, 0, 0, 0);
        /* An exchange that does not end: less comes in, and less goes. */
        while (promotion(&f).access_factor == 1)
                step(&f, 100 * MIB, 100 * MIB, 0);
        assert_int_equal(demotion(&f).min_age_us, SECOND);
        for (unsigned i = 0; i < 8; i++)
                step(&f, 100 * MIB, 100 * MIB, 0);
        assert_true(demotion(&f).min_age_us > 0);
        assert_int_equal(demotion(&f).shift, 0);
        assert_int_equal(promotion(&f).min_age_us, 0);
        assert_in_range(promotion(&f).access_factor, 2, 3);
        assert_int_equal(demotion(&f).access_factor, 1);
        for (unsigned i = 0; i < 100; i++) {
                step(&f, 100 * MIB, 100 * MIB, 0);
                assert_true(demotion(&f).min_age_us >= age_us);
                age_us = demotion(&f).min_age_us;
        }
        assert_int_equal(age_us, 600 * SECOND);
        assert_int_equal(promotion(&f).access_factor, 3);
        for (unsigned i = 0; i < 12 * 60; i++)
                step(&f, 0, 0, 0);
        assert_int_equal(demotion(&f).min_age_us, 0);
        fixture_done(&f);

        /* More wants in than the operator's rate lets through, and there is cold memory to go. */
        fixture_new(&f, NULL);
        for (unsigned i = 0; i < 100; i++) {
                f.verdicts[DAMON_SCHEMES_MAX] = VERDICT_TARGET_FULL;
                step(&f, 2 * MIB, 2 * MIB, 0);
        }
        assert_int_equal(promotion(&f).access_factor, 1);
        fixture_done(&f);

        /* A trickle since nothing is cold any more, with no room for what wants in. */
        fixture_new(&f, NULL);
        f.hot_looked_at = true;
        for (unsigned i = 0; i < 13; i++) {
                f.verdicts[DAMON_SCHEMES_MAX] =
                        i % 4 == 0 ? VERDICT_QUOTA_LIMITED : VERDICT_TARGET_FULL;
                step(&f, i % 4 == 0 ? 8 * MIB : 0, i % 4 == 0 ? 8 * MIB : 0, 0);
        }
        assert_true(promotion(&f).access_factor > 1);
        fixture_done(&f);

        /* In bursts, a period of rest between them, until all that the node holds was exchanged. */
        fixture_new(&f, NULL);
        for (unsigned i = 0; i < 60; i++) {
                f.verdicts[DAMON_SCHEMES_MAX] = VERDICT_TARGET_FULL;
                step(&f, i % 8 == 0 ? 300 * MIB : 0, i % 8 == 0 ? 300 * MIB : 0, 0);
        }
        assert_true(promotion(&f).access_factor > 1);
        fixture_done(&f);

        /* What a sweep looks at says nothing. */
        fixture_new(&f, NULL);
        f.hot_looked_at = true;
        f.decision.nodes[0].stage = NODE_STAGE_SWEEP;
        for (unsigned i = 0; i < 13; i++) {
                f.verdicts[DAMON_SCHEMES_MAX] = VERDICT_TARGET_FULL;
                step(&f, 8 * MIB, 8 * MIB, 0);
        }
        assert_int_equal(promotion(&f).access_factor, 1);
        fixture_done(&f);

        fixture_new(&f, off);
        f.verdicts[DAMON_SCHEMES_MAX] = VERDICT_QUOTA_LIMITED;
        for (unsigned i = 0; i < 100; i++)
                assert_int_equal(step(&f, 100 * MIB, 100 * MIB, 0), 0);
        fixture_done(&f);
}

static void test_budget(void **state) {
        static const char *const lines[] = {"Policy.DailyWriteBudget=1G", NULL};
        uint64_t written = 0, day = 0;
        Fixture f;

        (void) state;
        fixture_new(&f, lines);
        /* A day of as much as is let through: in all not much more than the budget and what came
         * back meanwhile. */
        for (day = 0; day < 24 * HOUR; day += 5 * SECOND) {
                uint64_t bytes = demotion(&f).closed ? 0 : 20 * MIB;

                written += bytes;
                step(&f, bytes, 0, 0);
                if (f.events.n_items > 0)
                        assert_int_equal(f.events.items[0].kind, GUARD_BUDGET);
        }
        assert_in_range(written, GIB, 2 * GIB + 64 * MIB);
        /* The other tier was not written to. */
        assert_false(promotion(&f).closed);

        /* It is kept over a restart. */
        uint64_t kept[] = {0, GIB};
        guard_done(&f.guard);
        assert_int_equal(guard_restore(&f.guard, kept, 2, f.sample.now_us), 0);
        step(&f, 0, 0, 0);
        step(&f, MIB, 0, 0);
        assert_true(demotion(&f).closed);
        fixture_done(&f);
}

static void test_topology_changes(void **state) {
        Topology *other;
        Fixture f;

        (void) state;
        fixture_new(&f, NULL);
        f.verdicts[DAMON_SCHEMES_MAX] = VERDICT_QUOTA_LIMITED;
        for (unsigned i = 0; i < 40; i++)
                step(&f, 100 * MIB, 100 * MIB, 0);
        assert_true(demotion(&f).min_age_us > 0);
        other = machine_chain(3, GIB, f.config);
        topology_free(f.topology);
        f.topology = other;
        step(&f, 0, 0, 0);
        assert_int_equal(f.guard.n_nodes, 3);
        assert_true(demotion(&f).min_age_us > 0);
        fixture_done(&f);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_nothing),          cmocka_unit_test(test_pressure),
                cmocka_unit_test(test_no_swing),         cmocka_unit_test(test_failures),
                cmocka_unit_test(test_ping_pong),        cmocka_unit_test(test_budget),
                cmocka_unit_test(test_topology_changes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
