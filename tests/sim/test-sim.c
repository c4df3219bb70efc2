/* SPDX-License-Identifier: GPL-2.0-or-later */

/* What must hold on any machine. Thousands of them, drawn at random, each with a workload; one
 * that fails is told by its number, and "test-sim --seed N" runs it alone. */

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "draw.h"

#define MACHINES 1700

static uint64_t one_seed; /* --seed */

static void test_machines(void **state) {
        unsigned n_nodes_most = 0;
        uint64_t bytes_most = 0;

        (void) state;
        for (uint64_t seed = one_seed ? one_seed : 1, n = one_seed ? 1 : MACHINES; n > 0;
             seed++, n--) {
                uint64_t patience, moved, size = 0, total = 0;
                unsigned commits;
                Sim sim;

                check_seed = seed;
                draw_machine(&sim, seed, /* varied= */ false);
                sim.check = check_decision;
                patience = check_patience_us(&sim);
                for (size_t i = 0; i < sim.topology->n_nodes; i++) {
                        total += sim.nodes[i].total;
                        size += sim.topology->nodes[i].tier == 0 ? sim.nodes[i].total : 0;
                }
                n_nodes_most = MAX(n_nodes_most, (unsigned) sim.topology->n_nodes);
                bytes_most = MAX(bytes_most, total);
                while (sim_hot_permille(&sim) < 950 && sim.now_us < patience)
                        sim_run(&sim, SIM_SECOND);
                if (sim_hot_permille(&sim) < 950)
                        sim_print(&sim);
                must(&sim, sim_hot_permille(&sim) >= 950);
                /* What is left, and the headroom; then it rests. */
                sim_run(&sim, patience / 2);
                moved = sim.moved;
                commits = sim.commits;
                sim_run(&sim, 60 * SIM_SECOND);
                must(&sim, sim.moved - moved <= size / 50);
                must(&sim, sim.commits - commits <= 30);
                must(&sim, check_failed(&sim));
                must(&sim, check_commits(&sim));
                must(&sim, sim_hot_permille(&sim) >= 950);
                sim_done(&sim);
        }
        print_message("up to %u nodes and %llu GiB\n", n_nodes_most,
                      (unsigned long long) (bytes_most / GIB));
}

/* The lab's machine, as its guest is. */
static void new_lab(Sim *sim, const char *release) {
        Config *config = machine_config(NULL);

        check_seed = 0;
        sim_new(sim, config, machine_chain(2, GIB, config), release, 150 * MIB);
        for (size_t i = 0; i < 2; i++) {
                sim->nodes[i].floor = 36 * MIB;
                sim->nodes[i].other = 60 * MIB;
        }
        sim->nodes[0].cold = GIB - 60 * MIB - 36 * MIB - 8 * MIB;
        sim->nodes[1].hot = 300 * MIB;
        sim->check = check_decision;
}

/* Fitted to the lab: 95 % after 4.5 to 5.6 s on 7.3. Where the daemon closes the loop the lab takes
 * 8.1 to 9 s: there commits wait for a busy kdamond and the kernel's own memory uses up quota,
 * neither of which is modelled. Moved 1.03 to 1.12 times the least. */
static void test_lab(void **state) {
        (void) state;
        for (size_t r = 0; r < DRAW_RELEASES; r++) {
                uint64_t least, t95_us = 0;
                Sim sim;

                new_lab(&sim, draw_releases[r]);
                while (sim_hot_permille(&sim) < 950 && sim.now_us < 60 * SIM_SECOND)
                        sim_run(&sim, SIM_SECOND / 10);
                t95_us = sim.now_us;
                sim_run(&sim, 60 * SIM_SECOND);
                least = 300 * MIB + 300 * MIB + sim.decision.nodes[0].headroom_bytes - 44 * MIB;
                print_message("%s: 95 %% after %.1f s, moved %.2f of the least\n", draw_releases[r],
                              (double) t95_us / 1e6, (double) sim.moved / (double) least);
                must(&sim, t95_us >= 3 * SIM_SECOND && t95_us <= 8 * SIM_SECOND);
                must(&sim, sim.moved * 10 <= least * 13);
                must(&sim, sim_hot_permille(&sim) >= 999);
                sim_done(&sim);
        }
}

/* The hot set jumps, again and again: each time it is in before the next. */
static void test_shift(void **state) {
        (void) state;
        for (size_t r = 0; r < DRAW_RELEASES; r++) {
                Sim sim;

                new_lab(&sim, draw_releases[r]);
                sim_run(&sim, 30 * SIM_SECOND);
                for (unsigned jump = 0; jump < 10; jump++) {
                        uint64_t hot = sim.nodes[0].hot;

                        sim.nodes[0].hot = 0;
                        sim.nodes[0].cold += hot;
                        hot = MIN(hot, sim.nodes[1].cold);
                        sim.nodes[1].cold -= hot;
                        sim.nodes[1].hot += hot;
                        sim_run(&sim, 15 * SIM_SECOND);
                        must(&sim, sim_hot_permille(&sim) >= 950);
                        sim_run(&sim, 10 * SIM_SECOND);
                }
                sim_done(&sim);
        }
}

/* It slides on without an end: promotion keeps up, and nobody takes that for ping-pong. */
static void test_drift(void **state) {
        (void) state;
        for (size_t r = 0; r < DRAW_RELEASES; r++) {
                unsigned least = 1000;
                Sim sim;

                new_lab(&sim, draw_releases[r]);
                sim_run(&sim, 30 * SIM_SECOND);
                for (unsigned s = 0; s < 1200; s++) {
                        uint64_t step = MIN(MIN(2 * MIB, sim.nodes[0].hot), sim.nodes[1].cold);

                        sim.nodes[0].hot -= step;
                        sim.nodes[0].cold += step;
                        sim.nodes[1].cold -= step;
                        sim.nodes[1].hot += step;
                        sim_run(&sim, SIM_SECOND);
                        least = MIN(least, sim_hot_permille(&sim));
                }
                must(&sim, least >= 900);
                sim_done(&sim);
        }
}

/* More is hot than fits: after a while next to nothing moves, for as long as it is so. */
static void test_thrash(void **state) {
        (void) state;
        for (size_t r = 0; r < DRAW_RELEASES; r++) {
                uint64_t moved;
                Sim sim;

                new_lab(&sim, draw_releases[r]);
                sim.nodes[0].hot = sim.nodes[0].cold;
                sim.nodes[0].cold = 0;
                sim.nodes[1].hot = 600 * MIB;
                sim_run(&sim, 60 * SIM_SECOND);
                moved = sim.moved;
                sim_run(&sim, 600 * SIM_SECOND);
                print_message("%s: %llu MiB in ten minutes of thrashing\n", draw_releases[r],
                              (unsigned long long) ((sim.moved - moved) / MIB));
                must(&sim, sim.moved - moved <= GIB / 50 * 10);
                sim_done(&sim);
        }
}

/* A process takes all that is free of a fast node, and the headroom comes back. */
static void test_burst(void **state) {
        (void) state;
        for (size_t r = 0; r < DRAW_RELEASES; r++) {
                Sim sim;

                new_lab(&sim, draw_releases[r]);
                sim_run(&sim, 30 * SIM_SECOND);
                assert_int_equal(sim_allocate(&sim, 0, 200 * MIB), 0);
                must(&sim, sim_free(&sim, 0) < sim.decision.nodes[0].reserve_bytes);
                sim_run(&sim, 10 * SIM_SECOND);
                must(&sim, sim_free(&sim, 0) + MIB >= sim.decision.nodes[0].reserve_bytes);
                sim_done(&sim);
        }
}

/* Both tiers full: what can't be placed is not tried over and over. */
static void test_full(void **state) {
        (void) state;
        for (size_t r = 0; r < DRAW_RELEASES; r++) {
                uint64_t failed;
                Sim sim;

                new_lab(&sim, draw_releases[r]);
                sim.nodes[1].cold = GIB - 60 * MIB - 36 * MIB - 300 * MIB;
                sim_run(&sim, 30 * SIM_SECOND);
                failed = sim.failed;
                sim_run(&sim, 300 * SIM_SECOND);
                must(&sim, sim.failed - failed <= 32 * MIB);
                must(&sim, sim.verdicts[0] == VERDICT_TARGET_FULL);
                sim_done(&sim);
        }
}

/* The checks themselves ----------------------------------------------------------------------- */

/* What people set up by hand: half a percent free, 99.7 % used, on a machine whose watermarks are
 * above that. It looks healthy and never moves. */
static void spoil_deadlock(Decision *d) {
        for (size_t i = 0; i < d->n_nodes; i++) {
                d->nodes[i].demote_free_bp = 50;
                d->nodes[i].promote_used_bp = 9970;
        }
}

static void spoil_quota(Decision *d) {
        for (size_t i = 0; i < d->n_nodes; i++)
                d->nodes[i].demote.quota_bytes = d->nodes[i].promote.quota_bytes = GIB;
}

/* Closed a moment, open a moment. */
static void spoil_rest(Decision *d) {
        static unsigned n;

        n++;
        for (size_t i = 0; i < d->n_nodes; i++)
                d->nodes[i].demote.age_min = n % 2;
}

static void test_checks_can_fail(void **state) {
        unsigned commits;
        Sim sim;

        (void) state;
        new_lab(&sim, "7.3.1");
        sim.check = NULL;
        sim.spoil = spoil_deadlock;
        sim_run(&sim, 120 * SIM_SECOND);
        assert_true(sim_hot_permille(&sim) < 500);
        assert_false(check_thresholds(&sim.decision.nodes[0], GIB));
        sim_done(&sim);

        new_lab(&sim, "7.3.1");
        sim.check = NULL;
        sim.spoil = spoil_quota;
        sim_run(&sim, 5 * SIM_SECOND);
        assert_false(check_quotas(&sim));
        sim_done(&sim);

        new_lab(&sim, "6.18.1");
        sim.check = NULL;
        sim.spoil = spoil_rest;
        sim_run(&sim, 30 * SIM_SECOND);
        commits = sim.commits;
        sim_run(&sim, 60 * SIM_SECOND);
        assert_true(sim.commits - commits > 30);
        sim_done(&sim);

        /* Without a guard the exchange goes on. */
        new_lab(&sim, "7.3.1");
        sim.config->guard.ping_pong = false;
        sim.nodes[0].hot = sim.nodes[0].cold;
        sim.nodes[0].cold = 0;
        sim.nodes[1].hot = 600 * MIB;
        sim_run(&sim, 60 * SIM_SECOND);
        uint64_t moved = sim.moved;
        sim_run(&sim, 600 * SIM_SECOND);
        assert_true(sim.moved - moved > GIB / 50 * 10);
        sim_done(&sim);
}

int main(int argc, char **argv) {
        const struct CMUnitTest one[] = {cmocka_unit_test(test_machines)};
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_lab),
                cmocka_unit_test(test_shift),
                cmocka_unit_test(test_drift),
                cmocka_unit_test(test_thrash),
                cmocka_unit_test(test_burst),
                cmocka_unit_test(test_full),
                cmocka_unit_test(test_checks_can_fail),
                cmocka_unit_test(test_machines),
        };

        if (argc == 3 && strcmp(argv[1], "--seed") == 0) {
                one_seed = strtoull(argv[2], NULL, 10);
                return cmocka_run_group_tests(one, NULL, NULL);
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
