/* SPDX-License-Identifier: GPL-2.0-or-later */

#include <string.h>

#include "core/judge.h"
#include "sim.h"

/* The sweep only looks. */
#define SWEEP_FACTOR 8

/* Of the hot memory of a node, how much has not been touched for a moment when the young filter
 * looks, per second and in permille: that is what leaves when nothing is cold. */
#define MISTAKEN_PERMILLE 2

#define FULL_US (5 * SIM_SECOND)

static size_t index_of(const Sim *sim, int nid) {
        /* As a rule they are numbered through. */
        if ((size_t) nid < sim->topology->n_nodes && sim->topology->nodes[nid].nid == nid)
                return (size_t) nid;
        for (size_t i = 0; i < sim->topology->n_nodes; i++)
                if (sim->topology->nodes[i].nid == nid)
                        return i;
        return SIZE_MAX;
}

uint64_t sim_free(const Sim *sim, size_t node) {
        const SimNode *n = &sim->nodes[node];

        return n->total - n->other - n->hot - n->cold;
}

unsigned sim_hot_permille(const Sim *sim) {
        uint64_t fast = 0, all = 0;

        for (size_t i = 0; i < sim->topology->n_nodes; i++) {
                all += sim->nodes[i].hot >> 10;
                fast += sim->topology->nodes[i].tier == 0 ? sim->nodes[i].hot >> 10 : 0;
        }
        return all > 0 ? (unsigned) (fast * 1000 / all) : 1000;
}

uint64_t sim_allocate(Sim *sim, size_t node, uint64_t bytes) {
        uint64_t left = bytes;

        for (size_t k = 0; k < sim->topology->n_nodes && left > 0; k++) {
                size_t i = (node + k) % sim->topology->n_nodes;
                uint64_t room = sim_free(sim, i) - MIN(sim_free(sim, i), sim->nodes[i].floor);

                sim->nodes[i].hot += MIN(room, left);
                left -= MIN(room, left);
        }
        return left;
}

/* What the quota lets through in a window: with goals the kernel's "temporal" tuner gives all or
 * nothing (mm/damon/core.c:damos_goal_tune_esz_bp_temporal()). */
static uint64_t allowed(const Sim *sim, const DamonScheme *scheme) {
        if (scheme->sz_max == 0)
                return 0;
        for (size_t g = 0; g < scheme->n_goals; g++) {
                const DamonGoal *goal = &scheme->goals[g];
                size_t i = index_of(sim, goal->nid);
                uint64_t total, free_bp;

                assert_true(i != SIZE_MAX); /* a goal of an absent node is a bug in some kernels */
                total = sim->nodes[i].total;
                free_bp = sim_free(sim, i) / (total / 10000);
                if (goal->metric == DAMON_GOAL_NODE_MEM_FREE_BP
                            ? free_bp >= goal->target_value
                            : 10000 - free_bp >= goal->target_value)
                        return 0;
        }
        return scheme->quota_bytes;
}

static bool is_sweep(const DamonScheme *scheme) {
        return scheme->n_filters == 2;
}

static void run_scheme(Sim *sim, size_t k, size_t s, uint64_t *budget) {
        const PlanKdamond *meta = &sim->plan.kdamonds[k];
        const DamonScheme *scheme = &sim->plan.tree.kdamonds[k].context.schemes[s];
        SchemeCounters *c = &sim->kdamonds[k].schemes[s];
        SimNode *from = &sim->nodes[index_of(sim, meta->schemes[s].from)];
        size_t to_index = index_of(sim, meta->schemes[s].to);
        SimNode *to = &sim->nodes[to_index];
        bool demote = meta->schemes[s].direction == DIRECTION_DEMOTE;
        uint64_t window_us = sim->decision.window_ms * UINT64_C(1000), pool, quota, want, room,
                 moved;

        c->nr_snapshots++;
        if (is_sweep(scheme)) {
                c->sz_tried += *budget * SWEEP_FACTOR;
                *budget = 0;
                return;
        }
        pool = demote ? from->cold : from->hot;
        if (demote && scheme->age_min == 0)
                pool += from->hot / 1000 * MISTAKEN_PERMILLE * window_us / SIM_SECOND;
        pool /= meta->n_slices;
        if (pool == 0)
                return;
        quota = allowed(sim, scheme);
        want = MIN(MIN(pool, quota), *budget) >> 12 << 12;
        /* What is hot is looked at as well when there is not enough that is cold. */
        c->sz_tried += demote ? MIN(quota, (from->hot + from->cold) / meta->n_slices) : want;
        c->sz_passed += want;
        c->qt_exceeds += want >= quota;
        room = sim_free(sim, to_index);
        room -= MIN(room, to->floor);
        moved = MIN(want, room) >> 12 << 12;
        c->sz_applied += moved;
        sim->failed += want - moved;
        sim->moved += moved;
        *budget -= want;
        if (demote) {
                uint64_t cold = MIN(moved, from->cold);

                from->cold -= cold;
                to->cold += cold;
                from->hot -= moved - cold;
                to->hot += moved - cold;
        } else {
                from->hot -= moved;
                to->hot += moved;
        }
}

static void run_kdamonds(Sim *sim, uint64_t window_us) {
        for (size_t k = 0; k < sim->plan.tree.n_kdamonds; k++) {
                uint64_t full = sim->speed * window_us / SIM_SECOND, budget = full;

                if (!sim->plan.tree.kdamonds[k].on)
                        continue;
                for (size_t s = 0; s < sim->plan.kdamonds[k].n_schemes; s++)
                        run_scheme(sim, k, s, &budget);
                sim->kdamonds[k].cpu_us += (full - budget) * window_us / MAX(full, UINT64_C(1));
        }
}

static Sample take_sample(const Sim *sim, bool full) {
        Sample sample = machine_sample(sim->topology, sim->now_us, 0, 0);

        for (size_t i = 0; i < sample.n_nodes; i++) {
                sample.nodes[i].free_bytes = sim_free(sim, i);
                sample.nodes[i].floor_bytes = sim->nodes[i].floor;
        }
        if (!full)
                return sample;
        sample.full = true;
        sample.kdamonds = calloc(MAX(sim->n_kdamonds, (size_t) 1), sizeof(*sample.kdamonds));
        assert_non_null(sample.kdamonds);
        sample.n_kdamonds = sim->n_kdamonds;
        for (size_t k = 0; k < sim->n_kdamonds; k++) {
                KdamondSample *to = &sample.kdamonds[k];

                to->on = sim->plan.tree.kdamonds[k].on;
                to->pid = to->on ? (int) k + 100 : -1;
                to->cpu_us = sim->kdamonds[k].cpu_us;
                to->sample_us = 5000;
                to->aggr_us = 100000;
                to->n_schemes = sim->plan.kdamonds[k].n_schemes;
                for (size_t s = 0; s < to->n_schemes; s++)
                        to->schemes[s].counters = sim->kdamonds[k].schemes[s];
        }
        return sample;
}

static void judge(Sim *sim, const Sample *sample) {
        JudgeInput input = {
                .caps = sim->caps,
                .decision = &sim->decision,
                .plan = &sim->plan,
                .sample = sample,
                .stats = &sim->stats,
        };

        for (size_t k = 0; k < sim->n_kdamonds; k++)
                for (size_t s = 0; s < sim->plan.kdamonds[k].n_schemes; s++) {
                        VerdictInput facts = judge_facts(&input, k, s);

                        sim->verdicts[k * DAMON_SCHEMES_MAX + s] = verdict_of(&facts);
                }
}

static void account(Sim *sim, const Sample *sample) {
        GuardEvents events = {};
        GuardInput input = {
                .config = sim->config,
                .topology = sim->topology,
                .caps = sim->caps,
                .decision = &sim->decision,
                .plan = &sim->plan,
                .sample = sample,
                .stats = &sim->stats,
                .verdicts = sim->verdicts,
        };

        assert_int_equal(stats_update(&sim->stats, sample), 0);
        assert_int_equal(guard_update(&sim->guard, &input, &events), 0);
        guard_events_done(&events);
        judge(sim, sample);
}

static void take_plan(Sim *sim) {
        Plan plan = {};
        char *text = NULL;

        assert_int_equal(
                plan_build(sim->config, sim->topology, sim->caps, &sim->decision, &plan, &text), 0);
        if (sim->n_kdamonds == 0) {
                sim->n_kdamonds = plan.tree.n_kdamonds;
                sim->kdamonds = calloc(sim->n_kdamonds, sizeof(*sim->kdamonds));
                sim->verdicts = calloc(sim->n_kdamonds * DAMON_SCHEMES_MAX, sizeof(*sim->verdicts));
                assert_non_null(sim->kdamonds);
                assert_non_null(sim->verdicts);
        }
        assert_int_equal(plan.tree.n_kdamonds, sim->n_kdamonds);
        sim->commits += !plan_equal(&plan, &sim->plan);
        plan_done(&sim->plan);
        sim->plan = plan;
}

static void look(Sim *sim, bool full) {
        Sample sample = take_sample(sim, full && sim->has_decision);
        DecideInput input = {
                .config = sim->config,
                .topology = sim->topology,
                .caps = sim->caps,
                .sample = &sample,
                .stats = &sim->stats,
                .verdicts = sim->stats.n_kdamonds > 0 ? sim->verdicts : NULL,
                .guard = &sim->guard,
                .now_us = sim->now_us,
        };
        Decision decision;

        if (sample.full)
                account(sim, &sample);
        assert_int_equal(
                decide(&input, &sim->state, sim->has_decision ? &sim->decision : NULL, &decision),
                0);
        if (sim->spoil)
                sim->spoil(&decision);
        if (!sim->has_decision || !decision_equal(&decision, &sim->decision)) {
                decision_done(&sim->decision);
                sim->decision = decision;
                take_plan(sim);
        } else {
                decision_done(&sim->decision);
                sim->decision = decision;
        }
        sim->has_decision = true;
        if (sim->state.on_since_us == 0)
                sim->state.on_since_us = sim->now_us;
        sample_done(&sample);
        if (sim->check)
                sim->check(sim);
}

/* The daemon's pace: see daemon/manager.c. */
void sim_run(Sim *sim, uint64_t us) {
        uint64_t end = sim->now_us + us;

        while (sim->now_us < end) {
                uint64_t window_us;

                if (sim->now_us >= sim->next_look_us) {
                        bool settled = sim->has_decision && sim->decision.settled;
                        bool full = !settled || sim->now_us >= sim->next_full_us;

                        look(sim, full);
                        if (full)
                                sim->next_full_us = sim->now_us + FULL_US;
                        sim->next_look_us =
                                sim->now_us + (!sim->decision.settled    ? DECIDE_SETTLE_US
                                               : sim->decision.by_kernel ? FULL_US
                                                                         : DECIDE_WATCH_US);
                }
                window_us = sim->decision.window_ms * UINT64_C(1000);
                run_kdamonds(sim, window_us);
                sim->now_us += window_us;
        }
}

void sim_new(Sim *sim, Config *config, Topology *topology, const char *release, uint64_t speed) {
        *sim = (Sim){.config = config,
                     .topology = topology,
                     .caps = damon_caps_of_release(release),
                     .speed = speed,
                     .now_us = SIM_SECOND};
        sim->nodes = calloc(topology->n_nodes, sizeof(*sim->nodes));
        assert_non_null(sim->nodes);
        for (size_t i = 0; i < topology->n_nodes; i++) {
                sim->nodes[i].total = topology->nodes[i].total_bytes;
                sim->nodes[i].floor = topology->nodes[i].total_bytes / 50;
        }
}

void sim_done(Sim *sim) {
        free(sim->nodes);
        free(sim->kdamonds);
        free(sim->verdicts);
        decision_done(&sim->decision);
        plan_done(&sim->plan);
        stats_done(&sim->stats);
        guard_done(&sim->guard);
        topology_free(sim->topology);
        config_free(sim->config);
        *sim = (Sim){};
}

/* For people who look into a failure. */
void sim_print(const Sim *sim) {
        for (size_t i = 0; i < sim->topology->n_nodes; i++) {
                const TopologyNode *node = &sim->topology->nodes[i];
                const NodeDecision *d = &sim->decision.nodes[i];

                print_message(
                        "node %i tier %zu up %i down %i: %llu MiB, hot %llu cold %llu free %llu; "
                        "floor %llu (now %llu) reserve %llu headroom %llu, quota down %llu up "
                        "%llu\n",
                        node->nid, node->tier, node->promote_to, node->demote_to,
                        (unsigned long long) (sim->nodes[i].total / MIB),
                        (unsigned long long) (sim->nodes[i].hot / MIB),
                        (unsigned long long) (sim->nodes[i].cold / MIB),
                        (unsigned long long) (sim_free(sim, i) / MIB),
                        (unsigned long long) (d->floor_bytes / MIB),
                        (unsigned long long) (sim->nodes[i].floor / MIB),
                        (unsigned long long) (d->reserve_bytes / MIB),
                        (unsigned long long) (d->headroom_bytes / MIB),
                        (unsigned long long) (d->demote.quota_bytes / MIB),
                        (unsigned long long) (d->promote.quota_bytes / MIB));
        }
}
