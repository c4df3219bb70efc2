/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Machines that are configured in many ways and whose workload does not hold still: it jumps,
 * slides, outgrows fast memory, comes in bursts, and watermarks move. "test-life --seed N" runs
 * one. */

#include <string.h>

#include "check.h"
#include "draw.h"

#define LIVES 300

typedef enum Life {
        LIFE_JUMP,
        LIFE_DRIFT,
        LIFE_LARGE,
        LIFE_BURST,
        LIFE_CREEP,
        _LIFE_MAX,
} Life;

static const char *const life_names[_LIFE_MAX] = {"jump", "drift", "large", "burst", "creep"};

static uint64_t one_seed; /* --seed */

/* Of each hot set that rises to node @fast, @bytes per node at most go cold, and as many cold bytes
 * below get hot. */
static void shift(Sim *sim, uint64_t permille) {
        for (size_t i = 0; i < sim->topology->n_nodes; i++) {
                uint64_t least, step;
                size_t fast = draw_fast_above(sim, i, &least);

                if (fast == SIZE_MAX || fast == i)
                        continue;
                step = MIN(least / 4 / sim->topology->n_nodes, 4 * GIB) / 1000 * permille;
                step = MIN(MIN(step, sim->nodes[fast].hot), sim->nodes[i].cold);
                sim->nodes[fast].hot -= step;
                sim->nodes[fast].cold += step;
                sim->nodes[i].cold -= step;
                sim->nodes[i].hot += step;
        }
}

static void converge(Sim *sim) {
        uint64_t end_us = sim->now_us + check_patience_us(sim);

        while (sim_hot_permille(sim) < 950 && sim->now_us < end_us)
                sim_run(sim, SIM_SECOND);
        if (sim_hot_permille(sim) < 950)
                sim_print(sim);
        must(sim, sim_hot_permille(sim) >= 950);
}

/* Until each node can have its headroom, if what it may demote is all that makes it. */
static uint64_t headroom_us(const Sim *sim) {
        uint64_t most = 0;

        for (size_t i = 0; i < sim->topology->n_nodes; i++) {
                const NodeDecision *d = &sim->decision.nodes[i];
                uint64_t free_bytes = sim_free(sim, i),
                         quota = MAX(d->demote.quota_bytes, CHECK_MIN_QUANTUM);
                uint64_t missing = d->headroom_bytes - MIN(d->headroom_bytes, free_bytes);

                quota = MIN(quota, sim->speed / 1000 * sim->decision.window_ms / 2);
                most = MAX(most, missing / quota * sim->decision.window_ms * 1000);
        }
        return most * 2;
}

/* With @minutes that are looked at together: where more is hot than fits, the guard tries again now
 * and then. */
static void rest(Sim *sim, unsigned minutes) {
        uint64_t moved;
        unsigned commits;

        sim_run(sim, 30 * SIM_SECOND + headroom_us(sim));
        moved = sim->moved;
        commits = sim->commits;
        sim_run(sim, 60 * SIM_SECOND * minutes);
        must(sim, check_rest(sim, sim->moved - moved, sim->commits - commits, minutes));
}

static void live_jump(Sim *sim) {
        for (unsigned i = 0; i < 3; i++) {
                shift(sim, 1000);
                converge(sim);
        }
        rest(sim, 1);
}

static void live_drift(Sim *sim) {
        for (unsigned s = 0; s < 120; s++) {
                shift(sim, 3);
                sim_run(sim, SIM_SECOND);
                must(sim, sim_hot_permille(sim) >= 900);
        }
        rest(sim, 1);
}

/* All that is in memory gets hot, and below the fast nodes there is a lot of it. The guard waits
 * until a node has exchanged all that it holds, and then tries again now and then. */
static void live_large(Sim *sim) {
        for (size_t i = 0; i < sim->topology->n_nodes; i++) {
                SimNode *node = &sim->nodes[i];

                node->hot += node->cold;
                node->cold = 0;
                if (sim->topology->nodes[i].tier > 0)
                        node->hot = (node->total - node->other - node->floor) / 4 * 3;
        }
        sim_run(sim, 600 * SIM_SECOND);
        rest(sim, 10);
}

static bool can_be_large(const Sim *sim) {
        for (size_t i = 0; i < sim->topology->n_nodes; i++)
                if (sim->topology->nodes[i].demote_to != NODE_NONE && sim->nodes[i].total > 8 * GIB)
                        return false;
        return true;
}

/* All that is free of the fast nodes is taken at once. */
static void live_burst(Sim *sim) {
        for (size_t i = 0; i < sim->topology->n_nodes; i++)
                if (sim->topology->nodes[i].tier == 0)
                        (void) sim_allocate(sim, i,
                                            sim_free(sim, i) -
                                                    MIN(sim_free(sim, i), sim->nodes[i].floor));
        rest(sim, 1);
        must(sim, check_headroom(sim));
}

/* Watermarks rise a bit at a time, as the kernel's boosts make them, and stay there while the hot
 * set jumps: thresholds must have followed. */
static void live_creep(Sim *sim) {
        unsigned permille = (unsigned) draw(1, 150);
        uint64_t *base;

        base = calloc(sim->topology->n_nodes, sizeof(*base));
        assert_non_null(base);
        for (size_t i = 0; i < sim->topology->n_nodes; i++)
                base[i] = sim->nodes[i].floor;
        for (unsigned s = 1; s <= 30; s++) {
                for (size_t i = 0; i < sim->topology->n_nodes; i++)
                        sim->nodes[i].floor = base[i] + base[i] / 1000 * permille * s / 30;
                sim_run(sim, SIM_SECOND);
        }
        sim_run(sim, 10 * SIM_SECOND);
        must(sim, check_floors(sim));
        free(base);
        shift(sim, 1000);
        converge(sim);
        rest(sim, 1);
}

static void (*const lives[_LIFE_MAX])(Sim *sim) = {
        [LIFE_JUMP] = live_jump,   [LIFE_DRIFT] = live_drift, [LIFE_LARGE] = live_large,
        [LIFE_BURST] = live_burst, [LIFE_CREEP] = live_creep,
};

static void test_lives(void **state) {
        (void) state;
        for (uint64_t seed = one_seed ? one_seed : 1, n = one_seed ? 1 : LIVES; n > 0;
             seed++, n--) {
                Life life;
                Sim sim;

                check_seed = seed;
                draw_machine(&sim, seed, /* varied= */ true);
                life = (Life) draw(0, _LIFE_MAX - 1);
                if (life == LIFE_LARGE && !can_be_large(&sim))
                        life = LIFE_JUMP;
                sim.check = check_decision;
                converge(&sim);
                rest(&sim, 1);
                lives[life](&sim);
                if (life != LIFE_LARGE)
                        must(&sim, check_failed(&sim));
                must(&sim, check_commits(&sim));
                if (one_seed)
                        print_message("%s: %.0f s, moved %llu MiB, failed %llu MiB, %u commits\n",
                                      life_names[life], (double) sim.now_us / 1e6,
                                      (unsigned long long) (sim.moved / MIB),
                                      (unsigned long long) (sim.failed / MIB), sim.commits);
                sim_done(&sim);
        }
}

/* The checks themselves: each is asked about something wrong that was made by hand. */

static void new_pair(Sim *sim, const char *release) {
        Config *config = machine_config(NULL);

        check_seed = 0;
        sim_new(sim, config, machine_chain(2, 4 * GIB, config), release, 300 * MIB);
        sim->nodes[0].cold = 3 * GIB;
        sim->nodes[1].hot = 300 * MIB;
        sim_run(sim, 20 * SIM_SECOND);
}

static void test_thresholds_can_fail(void **state) {
        Sim sim;

        (void) state;
        for (unsigned wrong = 0; wrong <= 6; wrong++) {
                NodeDecision *d;

                new_pair(&sim, "7.3.1");
                d = &sim.decision.nodes[0];
                switch (wrong) {
                case 1:
                        d->reserve_bytes = d->floor_bytes;
                        break;
                case 2:
                        d->headroom_bytes = d->reserve_bytes;
                        break;
                case 3: /* one rests before the other starts */
                        d->demote_free_bp = 10000 - d->promote_used_bp;
                        break;
                case 4: /* no node is ever that full */
                        d->promote_used_bp = 9999;
                        break;
                case 5: /* or that empty */
                        d->demote_free_bp = 10000;
                        break;
                case 6:
                        d->headroom_bytes = 4 * GIB;
                        break;
                default:
                        break;
                }
                assert_int_equal(check_thresholds(d, 4 * GIB), wrong == 0);
                sim_done(&sim);
        }
}

static void test_floors_can_fail(void **state) {
        Sim sim;

        (void) state;
        new_pair(&sim, "7.3.1");
        assert_true(check_floors(&sim));
        sim.nodes[0].floor = sim.decision.nodes[0].reserve_bytes + 1;
        assert_false(check_floors(&sim));
        sim_done(&sim);
}

static void test_quotas_can_fail(void **state) {
        static const char *const lines[] = {"Policy.Kdamonds=4", NULL};
        Config *config = machine_config(lines);
        DamonContext *context;
        uint64_t quota;
        Sim sim;

        (void) state;
        sim_new(&sim, config, machine_chain(2, 64 * GIB, config), "7.3.1", 300 * MIB);
        sim_run(&sim, 20 * SIM_SECOND);
        assert_int_equal(sim.n_kdamonds, 8);
        assert_true(check_quotas(&sim));
        /* One slice with what all of them may. */
        context = &sim.plan.tree.kdamonds[1].context;
        quota = context->schemes[0].quota_bytes;
        context->schemes[0].quota_bytes = 4 * quota;
        assert_false(check_quotas(&sim));
        context->schemes[0].quota_bytes = 0; /* no limit */
        assert_false(check_quotas(&sim));
        context->schemes[0].quota_bytes = quota;
        assert_true(check_quotas(&sim));
        /* Within the rate, but more than the target should take at once. */
        sim.topology->nodes[1].total_bytes = 256 * MIB;
        assert_false(check_quotas(&sim));
        sim_done(&sim);
}

static void spoil_demotion(Decision *d) {
        d->nodes[0].demote.open = false;
}

static void test_headroom_can_fail(void **state) {
        Sim sim;

        (void) state;
        for (unsigned wrong = 0; wrong <= 1; wrong++) {
                new_pair(&sim, "6.18.1");
                assert_true(check_headroom(&sim));
                sim.spoil = wrong ? spoil_demotion : NULL;
                (void) sim_allocate(&sim, 0, sim_free(&sim, 0) - sim.nodes[0].floor);
                assert_false(check_headroom(&sim));
                sim_run(&sim, 30 * SIM_SECOND);
                assert_int_equal(check_headroom(&sim), !wrong);
                sim_done(&sim);
        }
}

/* Promotion goes on where nothing can be taken, demotion does not make room. */
static void spoil_reserve(Decision *d) {
        d->nodes[1].promote.open = true;
        d->nodes[0].demote.open = false;
}

/* Another plan at each look. */
static void spoil_age(Decision *d) {
        static unsigned n;

        d->nodes[0].demote.age_min = n++ % 2;
}

static void test_failed_and_commits_can_fail(void **state) {
        Sim sim;

        (void) state;
        for (unsigned wrong = 0; wrong <= 2; wrong++) {
                new_pair(&sim, "6.12.1");
                sim.spoil = wrong == 1 ? spoil_reserve : wrong == 2 ? spoil_age : NULL;
                sim.nodes[1].hot = GIB;
                (void) sim_allocate(&sim, 0, sim_free(&sim, 0) - sim.nodes[0].floor);
                sim_run(&sim, 120 * SIM_SECOND);
                assert_int_equal(check_failed(&sim), wrong != 1);
                assert_int_equal(check_commits(&sim), wrong != 2);
                sim_done(&sim);
        }
}

static void test_rest_can_fail(void **state) {
        Sim sim;

        (void) state;
        new_pair(&sim, "6.18.1");
        assert_true(check_rest(&sim, 4 * GIB / 50, 30, 1));
        assert_false(check_rest(&sim, 4 * GIB / 50 + 1, 30, 1));
        assert_false(check_rest(&sim, 4 * GIB / 50, 31, 1));
        sim_done(&sim);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_thresholds_can_fail),
                cmocka_unit_test(test_floors_can_fail),
                cmocka_unit_test(test_quotas_can_fail),
                cmocka_unit_test(test_headroom_can_fail),
                cmocka_unit_test(test_failed_and_commits_can_fail),
                cmocka_unit_test(test_rest_can_fail),
                cmocka_unit_test(test_lives),
        };

        for (int i = 1; i < argc; i++)
                if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
                        one_seed = strtoull(argv[++i], NULL, 10);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
