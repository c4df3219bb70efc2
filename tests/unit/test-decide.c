/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The controller: thresholds that can be reached, opening and closing, stages, and an hour of
 * ticks that must settle. */

#include <errno.h>
#include <string.h>

#include "core/guard.h"
#include "machine.h"

#define SECOND (UINT64_C(1000000))

typedef struct Fixture {
        Config *config;
        Topology *topology;
        DecideState state;
        Decision previous;
        bool has_previous;
        Stats stats;
        uint32_t caps;
} Fixture;

static Fixture fixture_new(uint32_t caps, uint64_t node_bytes, const char *const *lines) {
        Fixture f = {.caps = caps, .config = machine_config(lines)};

        f.topology = machine_chain(2, node_bytes, f.config);
        return f;
}

static void fixture_done(Fixture *f) {
        config_free(f->config);
        topology_free(f->topology);
        decision_done(&f->previous);
        stats_done(&f->stats);
}

static DecideInput input_new(const Fixture *f, const Sample *sample) {
        return (DecideInput){
                .config = f->config,
                .topology = f->topology,
                .caps = f->caps,
                .sample = sample,
                .stats = &f->stats,
                .now_us = sample->now_us,
        };
}

static int step_result(Fixture *f, const Sample *sample, Decision *ret) {
        DecideInput input = input_new(f, sample);

        return decide(&input, &f->state, f->has_previous ? &f->previous : NULL, ret);
}

/* One decision with @free_bytes free on node 0; the other node is half empty. */
static const Decision *step(Fixture *f, uint64_t now_us, uint64_t free_bytes, uint64_t floor) {
        _cleanup_(sample_done) Sample sample =
                machine_sample(f->topology, now_us, f->topology->nodes[0].total_bytes / 2, floor);
        Decision d;

        sample.nodes[0].free_bytes = free_bytes;
        assert_int_equal(step_result(f, &sample, &d), 0);
        decision_done(&f->previous);
        f->previous = d;
        f->has_previous = true;
        return &f->previous;
}

static void skip_stages(Fixture *f) {
        f->state.on_since_us = 1;
        for (size_t i = 0; i < f->topology->n_nodes; i++)
                nodeset_add(&f->state.live, f->topology->nodes[i].nid);
}

/* Whatever the machine: 0 <= floor < reserve < headroom < total, and the kernel's goals overlap
 * and are within reach. */
static void test_thresholds(void **state) {
        static const uint64_t sizes[] = {64 * MIB, 512 * MIB,  GIB,
                                         64 * GIB, 4096 * GIB, 16384 * GIB};
        static const unsigned floor_shares[] = {1000, 100, 20, 3};
        static const char *const headrooms[] = {"Policy.Headroom=auto", "Policy.Headroom=1M",
                                                "Policy.Headroom=50%", "Policy.Headroom=1G",
                                                "Policy.Headroom=40%"};

        (void) state;
        for (size_t s = 0; s < ELEMENTSOF(sizes); s++)
                for (size_t p = 0; p < ELEMENTSOF(floor_shares); p++)
                        for (size_t h = 0; h < ELEMENTSOF(headrooms); h++) {
                                const char *lines[] = {headrooms[h], NULL};
                                Fixture f = fixture_new(CAPS_7_3, sizes[s], lines);
                                uint64_t floor = sizes[s] / floor_shares[p];
                                const NodeDecision *d =
                                        &step(&f, SECOND, sizes[s] / 10, floor)->nodes[0];

                                assert_int_equal(d->floor_bytes, floor);
                                assert_true(d->reserve_bytes > floor);
                                assert_true(d->headroom_bytes > d->reserve_bytes);
                                assert_true(d->headroom_bytes < sizes[s]);
                                assert_in_range(d->demote_free_bp, 1, 10000);
                                assert_in_range(d->promote_used_bp, 1, 9999);
                                /* Both at work in between, so that a full node can exchange. */
                                assert_true(d->demote_free_bp + d->promote_used_bp > 10000);
                                fixture_done(&f);
                        }
}

static void test_headroom_modes(void **state) {
        static const struct {
                const char *name;
                const char *line;
                uint64_t headroom;
                bool raised;
        } cases[] = {
                {"bytes", "Policy.Headroom=300M", 300 * MIB, false},
                {"ratio", "Policy.Headroom=25%", 256 * MIB, false},
                {"below the floor", "Policy.Headroom=10M", 0, true},
                {"below the floor, ratio", "Policy.Headroom=0.5%", 0, true},
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                const char *lines[] = {cases[i].line, NULL};
                Fixture f = fixture_new(CAPS_7_3, GIB, lines);
                const NodeDecision *d = &step(&f, SECOND, 0, 40 * MIB)->nodes[0];

                if (cases[i].headroom)
                        assert_int_equal(d->headroom_bytes, cases[i].headroom);
                else
                        assert_true(d->headroom_bytes > 40 * MIB);
                assert_int_equal(d->headroom_raised, cases[i].raised);
                fixture_done(&f);
        }
}

static void test_quotas(void **state) {
        static const char *const lines[] = {"Policy.PromoteRateLimit=40M/s",
                                            "Policy.DemoteRateLimit=80M/s", NULL};
        Fixture f = fixture_new(CAPS_7_3, 64 * GIB, lines);
        const Decision *d;

        (void) state;
        skip_stages(&f);
        d = step(&f, SECOND, 0, 40 * MIB);
        assert_int_equal(d->nodes[1].promote.quota_bytes, 40 * MIB * d->window_ms / 1000);
        assert_int_equal(d->nodes[0].demote.quota_bytes, 80 * MIB * d->window_ms / 1000);
        fixture_done(&f);

        /* A small node is not turned over in one window. */
        f = fixture_new(CAPS_7_3, GIB, NULL);
        d = step(&f, SECOND, 0, 10 * MIB);
        assert_true(d->nodes[0].demote.quota_bytes <= GIB / 20);
        assert_true(d->nodes[1].promote.quota_bytes <= GIB / 20);
        fixture_done(&f);
}

static void test_accesses_and_age(void **state) {
        static const char *const lines[] = {"Policy.PromoteMinAccess=50%",
                                            "Policy.DemoteMinAge=10s", "Policy.PromoteMinAge=1s",
                                            NULL};
        Fixture f = fixture_new(CAPS_7_3, GIB, lines);
        const Decision *d = step(&f, SECOND, 0, 10 * MIB);

        (void) state;
        assert_int_equal(d->nodes[1].promote.nr_accesses_min, 10);
        assert_int_equal(d->nodes[1].promote.age_min, 10);
        assert_int_equal(d->nodes[0].demote.age_min, 100);

        /* The kernel tuned the intervals: the same seconds are fewer aggregations. */
        f.stats.kdamonds = calloc(1, sizeof(*f.stats.kdamonds));
        assert_non_null(f.stats.kdamonds);
        f.stats.n_kdamonds = 1;
        f.stats.kdamonds[0].aggr_us = 2 * SECOND;
        d = step(&f, 100 * SECOND, 0, 10 * MIB);
        assert_int_equal(d->nodes[0].demote.age_min, 5);
        assert_int_equal(d->nodes[1].promote.age_min, 1);
        fixture_done(&f);
}

static void test_kernel_closes_the_loop(void **state) {
        Fixture f = fixture_new(CAPS_7_3, GIB, NULL);

        (void) state;
        skip_stages(&f);
        for (uint64_t free_mib = 0; free_mib < 1000; free_mib += 50) {
                const Decision *d = step(&f, free_mib * SECOND + 1, free_mib * MIB, 10 * MIB);

                assert_true(d->by_kernel);
                assert_true(d->nodes[0].demote.open);
                assert_true(d->nodes[1].promote.open);
        }
        fixture_done(&f);
}

static void test_daemon_closes_the_loop(void **state) {
        Fixture f = fixture_new(CAPS_6_18, GIB, NULL);
        const NodeDecision *n;
        uint64_t headroom, reserve;

        (void) state;
        skip_stages(&f);
        n = &step(&f, 1 * SECOND, 500 * MIB, 10 * MIB)->nodes[0];
        headroom = n->headroom_bytes;
        reserve = n->reserve_bytes;
        assert_false(f.previous.by_kernel);
        assert_false(n->demote.open);
        assert_true(f.previous.nodes[1].promote.open);

        /* Just below the headroom nothing starts yet, well below it demotion does. */
        step(&f, 2 * SECOND, headroom - 1, 10 * MIB);
        assert_false(f.previous.nodes[0].demote.open);
        step(&f, 3 * SECOND, reserve + 1, 10 * MIB);
        assert_true(f.previous.nodes[0].demote.open);
        assert_true(f.previous.nodes[1].promote.open);
        /* No room: promotion stops, and starts again only with some room. */
        step(&f, 4 * SECOND, reserve - 1, 10 * MIB);
        assert_true(f.previous.nodes[1].promote.open);
        step(&f, 5 * SECOND, 10 * MIB + 1, 10 * MIB);
        assert_true(f.previous.nodes[1].promote.open); /* once may be a moment */
        step(&f, 6 * SECOND, 10 * MIB + 1, 10 * MIB);
        assert_false(f.previous.nodes[1].promote.open);
        step(&f, 7 * SECOND, reserve - 1, 10 * MIB);
        assert_false(f.previous.nodes[1].promote.open);
        step(&f, 8 * SECOND, headroom - 1, 10 * MIB);
        assert_true(f.previous.nodes[1].promote.open);
        assert_true(f.previous.nodes[0].demote.open);
        /* Near the goal the steps are smaller. */
        assert_true(f.previous.nodes[0].demote.quota_bytes < GIB / 20);
        step(&f, 9 * SECOND, headroom, 10 * MIB);
        assert_false(f.previous.nodes[0].demote.open);
        fixture_done(&f);
}

/* What finds no room is not tried in bulk: into a target that is about full, and while nothing
 * makes room yet. */
static void test_quotas_fit_the_room(void **state) {
        const uint32_t caps[] = {CAPS_6_12, CAPS_7_3};

        (void) state;
        for (size_t c = 0; c < ELEMENTSOF(caps); c++) {
                Fixture f = fixture_new(caps[c], 8 * GIB, NULL);
                _cleanup_(sample_done) Sample sample =
                        machine_sample(f.topology, SECOND, 20 * MIB, 10 * MIB);
                _cleanup_(decision_done) Decision starts = {}, full = {}, roomy = {};

                f.state.on_since_us = 1;
                assert_int_equal(step_result(&f, &sample, &starts), 0);
                assert_true(starts.nodes[1].promote.quota_bytes <= 10 * MIB);
                skip_stages(&f);
                assert_int_equal(step_result(&f, &sample, &full), 0);
                assert_true(full.nodes[0].demote.quota_bytes <= 10 * MIB);
                assert_true(full.nodes[1].promote.quota_bytes <= 40 * MIB);
                sample.nodes[1].free_bytes = GIB;
                assert_int_equal(step_result(&f, &sample, &roomy), 0);
                assert_true(roomy.nodes[0].demote.quota_bytes >= 40 * MIB);
                assert_true(roomy.nodes[1].promote.quota_bytes >= 40 * MIB);
                fixture_done(&f);
        }
}

/* On kernels where a commit restarts the aggregation, two of them pass between changes. */
static void test_changes_wait_for_aggregations(void **state) {
        Fixture f = fixture_new(CAPS_6_18, GIB, NULL);

        (void) state;
        skip_stages(&f);
        f.stats.kdamonds = calloc(1, sizeof(*f.stats.kdamonds));
        assert_non_null(f.stats.kdamonds);
        f.stats.n_kdamonds = 1;
        f.stats.kdamonds[0].aggr_us = 2 * SECOND;
        step(&f, 100 * SECOND, 500 * MIB, 10 * MIB);
        step(&f, 101 * SECOND, 0, 10 * MIB);
        assert_false(f.previous.nodes[0].demote.open);
        step(&f, 104 * SECOND, 0, 10 * MIB);
        assert_false(f.previous.nodes[0].demote.open); /* and a window */
        step(&f, 105 * SECOND, 0, 10 * MIB);
        assert_true(f.previous.nodes[0].demote.open);
        fixture_done(&f);
}

static void set_tried(Fixture *f, size_t k, uint64_t bytes) {
        f->stats.kdamonds[k].on = true;
        f->stats.kdamonds[k].schemes[0].last.sz_tried = bytes;
}

static void test_stages(void **state) {
        Fixture f = fixture_new(CAPS_6_12, 64 * GIB, NULL);

        (void) state;
        f.stats.kdamonds = calloc(2, sizeof(*f.stats.kdamonds));
        assert_non_null(f.stats.kdamonds);
        f.stats.n_kdamonds = 2;

        /* Up to 6.16: nothing matches until the first window is over. */
        assert_int_equal(step(&f, 10 * SECOND, 0, 0)->nodes[0].stage, NODE_STAGE_EMPTY);
        f.state.on_since_us = 10 * SECOND;
        assert_int_equal(step(&f, 10 * SECOND + 1, 0, 0)->nodes[0].stage, NODE_STAGE_EMPTY);
        assert_int_equal(step(&f, 11 * SECOND, 0, 0)->nodes[0].stage, NODE_STAGE_SWEEP);
        assert_false(f.previous.settled);
        /* Each node is live when its own kdamond has been all over it. */
        set_tried(&f, 1, 64 * GIB);
        step(&f, 12 * SECOND, 0, 0);
        assert_int_equal(f.previous.nodes[0].stage, NODE_STAGE_SWEEP);
        assert_int_equal(f.previous.nodes[1].stage, NODE_STAGE_LIVE);
        /* Or when it takes too long. */
        set_tried(&f, 1, 0);
        step(&f, 20 * SECOND, 0, 0);
        assert_int_equal(f.previous.nodes[0].stage, NODE_STAGE_LIVE);
        assert_int_equal(f.previous.nodes[1].stage, NODE_STAGE_LIVE);
        assert_true(f.previous.settled);
        fixture_done(&f);

        /* A small node's sweep may be without limit, unless there is none. */
        f = fixture_new(CAPS_6_12, GIB, NULL);
        assert_int_equal(step(&f, SECOND, 0, 0)->nodes[0].stage, NODE_STAGE_SWEEP);
        fixture_done(&f);
        {
                static const char *const lines[] = {"Policy.YoungFilter=no", NULL};

                f = fixture_new(CAPS_6_12, GIB, lines);
                assert_int_equal(step(&f, SECOND, 0, 0)->nodes[0].stage, NODE_STAGE_EMPTY);
                fixture_done(&f);
        }

        /* From 6.17 on the first window has its limit. */
        f = fixture_new(CAPS_6_18, GIB, NULL);
        assert_int_equal(step(&f, SECOND, 0, 0)->nodes[0].stage, NODE_STAGE_SWEEP);
        fixture_done(&f);
}

static void test_no_filter_no_sweep(void **state) {
        static const char *const lines[] = {"Policy.YoungFilter=no", NULL};
        Fixture f = fixture_new(CAPS_7_3, GIB, lines);

        (void) state;
        assert_int_equal(step(&f, SECOND, 0, 0)->nodes[0].stage, NODE_STAGE_LIVE);
        fixture_done(&f);
}

/* All memory of a node may be gone from what is monitored, and it still has neighbours. */
static void test_no_ranges(void **state) {
        Fixture f = fixture_new(CAPS_7_3, GIB, NULL);

        (void) state;
        f.state.on_since_us = 1;
        f.topology->nodes[0].n_ranges = 0;
        assert_int_equal(step(&f, SECOND, 0, 0)->nodes[0].stage, NODE_STAGE_LIVE);
        assert_int_equal(f.previous.nodes[0].n_slots, 0);
        assert_int_equal(f.previous.nodes[1].first_slot, 0);
        fixture_done(&f);
}

static void test_slack(void **state) {
        Fixture f = fixture_new(CAPS_7_3, GIB, NULL);
        _cleanup_(decision_done) Decision first = {};

        (void) state;
        skip_stages(&f);
        step(&f, SECOND, 0, 20 * MIB);
        assert_int_equal(decision_copy(&f.previous, &first), 0);
        step(&f, 2 * SECOND, 0, 21 * MIB);
        assert_true(decision_equal(&first, &f.previous));
        step(&f, 3 * SECOND, 0, 60 * MIB);
        assert_false(decision_equal(&first, &f.previous));
        assert_int_equal(f.previous.nodes[0].floor_bytes, 60 * MIB);
        fixture_done(&f);
}

/* A floor that creeps up, too little at a time to count, is followed before it reaches the reserve.
 */
static void test_creeping_floor(void **state) {
        static const char *const lines[] = {"Policy.Headroom=200M", NULL};
        Fixture f = fixture_new(CAPS_7_3, GIB, lines);

        (void) state;
        skip_stages(&f);
        for (uint64_t i = 1; i <= 60; i++) {
                const NodeDecision *d = &step(&f, i * SECOND, 0, (20 + i) * MIB)->nodes[0];

                assert_true(d->reserve_bytes > (20 + i) * MIB);
                assert_true(d->headroom_bytes > d->reserve_bytes);
        }
        fixture_done(&f);
}

/* A node whose kdamond is the limit gets more of them, and keeps them over a reload. */
static void test_slices(void **state) {
        static const char *const lines[] = {"Manager.CpuShare=100%", NULL};
        Verdict verdicts[8 * DAMON_SCHEMES_MAX] = {VERDICT_CPU_LIMITED};
        KdamondStats kdamonds[8] = {};
        Fixture f = fixture_new(CAPS_7_3, 8 * GIB, lines);
        DamonKdamond slots[8] = {[0] = {.on = true}, [1] = {.on = true}, [4] = {.on = true}};
        DamonTree present = {.kdamonds = slots, .n_kdamonds = 8};
        Stats stats = {.kdamonds = kdamonds, .n_kdamonds = 8, .window_us = 5 * SECOND};
        Decision d[4] = {};

        (void) state;
        f.topology->n_cpus = 8;
        skip_stages(&f);
        for (size_t i = 0; i < ELEMENTSOF(d); i++) {
                _cleanup_(sample_done) Sample sample =
                        machine_sample(f.topology, (i + 1) * 5 * SECOND, GIB, MIB);
                DecideInput input = input_new(&f, &sample);

                input.stats = &stats;
                input.verdicts = verdicts;
                /* The last one comes after a reload: nothing was decided before, but two run. */
                input.present = i == 3 ? &present : NULL;
                sample.full = i < 3;
                assert_int_equal(decide(&input, &f.state, i > 0 && i < 3 ? &d[i - 1] : NULL, &d[i]),
                                 0);
                assert_int_equal(d[i].n_slots, 8);
                assert_int_equal(d[i].nodes[1].first_slot, 4);
                assert_int_equal(d[i].nodes[1].slices.n_slices, 1);
        }
        assert_int_equal(d[0].nodes[0].slices.n_slices, 1);
        assert_int_equal(d[1].nodes[0].slices.n_slices, 2);
        assert_int_equal(d[2].nodes[0].slices.n_slices, 2);
        assert_false(decision_equal(&d[0], &d[1]));
        assert_int_equal(d[3].nodes[0].slices.n_slices, 2);
        for (size_t i = 0; i < ELEMENTSOF(d); i++)
                decision_done(&d[i]);
        fixture_done(&f);
}

/* The quota follows what a kdamond can do, never beyond the operator's rate. */
static void test_learns_speed(void **state) {
        KdamondStats kdamonds[2] = {{.n_schemes = 1, .delta_cpu_us = 2 * SECOND},
                                    {.n_schemes = 1, .delta_cpu_us = 2 * SECOND}};
        static const struct {
                const char *name;
                uint64_t applied; /* in two seconds of CPU time */
                uint64_t quota;   /* per second */
        } cases[] = {
                {"too little to tell", 10 * MIB, 400 * MIB},
                {"slow", 150 * MIB, 300 * MIB},
                {"a little faster", 170 * MIB, 300 * MIB},
                {"fast", 8 * GIB, 400 * MIB},
        };
        Fixture f = fixture_new(CAPS_7_3, 64 * GIB, NULL);
        Decision before = {}, now;

        (void) state;
        skip_stages(&f);
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(sample_done) Sample sample =
                        machine_sample(f.topology, (i + 1) * 5 * SECOND, GIB, MIB);
                Stats stats = {.kdamonds = kdamonds, .n_kdamonds = 2, .window_us = 5 * SECOND};
                DecideInput input = input_new(&f, &sample);

                input.stats = &stats;
                sample.full = true;
                kdamonds[1].schemes[0].delta.sz_applied = cases[i].applied;
                assert_int_equal(decide(&input, &f.state, i > 0 ? &before : NULL, &now), 0);
                assert_int_equal(now.nodes[1].promote.quota_bytes,
                                 cases[i].quota * now.window_ms / 1000);
                decision_done(&before);
                before = now;
        }
        decision_done(&before);
        fixture_done(&f);
}

/* What the guard holds back shows in quotas and ages, with every kernel. */
static void test_guard(void **state) {
        const uint32_t caps[] = {CAPS_6_12, CAPS_7_3};

        (void) state;
        for (size_t c = 0; c < ELEMENTSOF(caps); c++) {
                Fixture f = fixture_new(caps[c], 64 * GIB, NULL);
                _cleanup_(sample_done) Sample sample =
                        machine_sample(f.topology, SECOND, 100 * MIB, 10 * MIB);
                GuardNode nodes[] = {{.nid = 0, .ping_pong = {.level = 3}}, {.nid = 1}};
                GuardTier tiers[2] = {};
                Guard guard = {.pressure = {.level = 2},
                               .nodes = nodes,
                               .n_nodes = 2,
                               .tiers = tiers,
                               .n_tiers = 2};
                DecideInput input = input_new(&f, &sample);
                _cleanup_(decision_done) Decision free = {}, held = {}, closed = {};

                skip_stages(&f);
                assert_int_equal(decide(&input, &f.state, NULL, &free), 0);
                input.guard = &guard;
                assert_int_equal(decide(&input, &f.state, NULL, &held), 0);
                assert_int_equal(held.nodes[1].promote.quota_bytes,
                                 free.nodes[1].promote.quota_bytes / 4);
                assert_true(held.nodes[1].promote.held_back);
                assert_int_equal(free.nodes[0].demote.age_min, 0);
                assert_int_equal(held.nodes[0].demote.age_min, 200); /* 20 s of 100 ms */
                assert_int_equal(held.nodes[0].demote.quota_bytes,
                                 free.nodes[0].demote.quota_bytes);
                assert_int_equal(free.nodes[1].promote.nr_accesses_min, 1);
                assert_int_equal(held.nodes[1].promote.nr_accesses_min, 3);
                f.config->policy.promote_min_access_bp = 3000;
                decision_done(&held);
                assert_int_equal(decide(&input, &f.state, NULL, &held), 0);
                assert_int_equal(held.nodes[1].promote.nr_accesses_min, 10); /* of 20 */
                assert_true(held.nodes[0].demote.open);
                tiers[1].spent = true;
                assert_int_equal(decide(&input, &f.state, NULL, &closed), 0);
                assert_false(closed.nodes[0].demote.open);
                fixture_done(&f);
        }
}

static void test_missing_node(void **state) {
        Fixture f = fixture_new(CAPS_7_3, GIB, NULL);
        Sample sample = {.now_us = SECOND};
        Decision d;

        (void) state;
        assert_int_equal(step_result(&f, &sample, &d), -ENODATA);
        assert_null(sample_find_node(&sample, 0));
        fixture_done(&f);
}

/* A crude kernel: what is open moves. Whatever it starts from, an hour of it settles: the free
 * memory stays near the headroom, and the decision changes seldom. */
static void test_an_hour_settles(void **state) {
        (void) state;
        for (unsigned start = 0; start < 10; start++) {
                Fixture f = fixture_new(start % 2 ? CAPS_6_12 : CAPS_6_18, GIB, NULL);
                uint64_t free_bytes = start * 100 * MIB, hot_below = 400 * MIB;
                unsigned changes = 0, late_changes = 0;

                skip_stages(&f);
                for (uint64_t t = 1; t < 7200; t++) {
                        _cleanup_(decision_done) Decision before = {};
                        uint64_t down = 0, up = 0;
                        const Decision *d;

                        if (f.has_previous)
                                assert_int_equal(decision_copy(&f.previous, &before), 0);
                        d = step(&f, t * SECOND / 2, free_bytes, 10 * MIB);
                        if (t > 1 && !decision_equal(&before, d)) {
                                changes++;
                                late_changes += t > 600;
                        }
                        if (d->nodes[0].demote.open)
                                down = 2 * d->nodes[0].demote.quota_bytes;
                        if (d->nodes[1].promote.open)
                                up = MIN(2 * d->nodes[1].promote.quota_bytes, hot_below);
                        up = MIN(up, free_bytes > 10 * MIB ? free_bytes - 10 * MIB : 0);
                        hot_below -= up;
                        free_bytes = MIN(free_bytes + down - up, GIB);
                }
                assert_int_equal(hot_below, 0);
                assert_in_range(free_bytes,
                                f.previous.nodes[0].headroom_bytes -
                                        f.previous.nodes[0].headroom_bytes / 4,
                                GIB);
                assert_true(changes < 60);
                assert_int_equal(late_changes, 0);
                fixture_done(&f);
        }
}

static void test_equal_and_copy(void **state) {
        Decision a = {.nodes = calloc(1, sizeof(NodeDecision)), .n_nodes = 1}, b;

        (void) state;
        assert_non_null(a.nodes);
        assert_int_equal(decision_copy(&a, &b), 0);
        assert_true(decision_equal(&a, &b));
        b.by_kernel = true;
        assert_false(decision_equal(&a, &b));
        b.by_kernel = false;
        b.nodes[0].promote.age_min = 1;
        assert_false(decision_equal(&a, &b));
        b.nodes[0].promote.age_min = 0;
        b.nodes[0].stage = NODE_STAGE_LIVE;
        assert_false(decision_equal(&a, &b));
        assert_null(decision_find_node(&a, 5));
        decision_done(&a);
        decision_done(&b);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_thresholds),
                cmocka_unit_test(test_headroom_modes),
                cmocka_unit_test(test_quotas),
                cmocka_unit_test(test_accesses_and_age),
                cmocka_unit_test(test_kernel_closes_the_loop),
                cmocka_unit_test(test_daemon_closes_the_loop),
                cmocka_unit_test(test_quotas_fit_the_room),
                cmocka_unit_test(test_changes_wait_for_aggregations),
                cmocka_unit_test(test_stages),
                cmocka_unit_test(test_slices),
                cmocka_unit_test(test_learns_speed),
                cmocka_unit_test(test_guard),
                cmocka_unit_test(test_no_filter_no_sweep),
                cmocka_unit_test(test_no_ranges),
                cmocka_unit_test(test_slack),
                cmocka_unit_test(test_creeping_floor),
                cmocka_unit_test(test_missing_node),
                cmocka_unit_test(test_an_hour_settles),
                cmocka_unit_test(test_equal_and_copy),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
