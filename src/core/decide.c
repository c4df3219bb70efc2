/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The controller. Headroom comes from the kernel's own watermarks: a percentage that lies below
 * what the allocator gives to a migration makes a deadlock that looks healthy (promotion passes
 * its filters and applies nothing, demotion sees its goal met and sleeps). So, from the bottom up:
 *
 *     0 ... floor            can't be taken by a migration (high watermark, lowmem protection)
 *     floor ... reserve      a margin: promotion stops here, before it fails
 *     reserve ... headroom   demotion works; room for what promotion brings between two looks
 *     headroom ...           goal met, demotion sleeps
 *
 * Both schemes are at work between reserve and headroom; that is how a full node exchanges cold
 * pages for hot ones. Without hot candidates demotion fills the headroom and stops. */

#include <errno.h>
#include <string.h>

#include "core/guard.h"
#include "decide-internal.h"

/* Kept between reserve and floor: pages in the per-CPU lists and what other allocations take
 * during a window, neither of which the watermarks show. */
#define MARGIN_SHARE 4
#define MARGIN_MIN_BYTES (UINT64_C(2) << 20)

/* The young filter looks at some million pages per second: this takes a few seconds. */
#define SWEEP_AT_ONCE_BYTES (UINT64_C(32) << 30)

#define BP 10000

void decision_done(Decision *decision) {
        free(decision->nodes);
        *decision = (Decision){};
}

const NodeDecision *decision_find_node(const Decision *decision, int nid) {
        for (size_t i = 0; i < decision->n_nodes; i++)
                if (decision->nodes[i].nid == nid)
                        return &decision->nodes[i];
        return NULL;
}

int decision_copy(const Decision *decision, Decision *ret) {
        NodeDecision *nodes;

        nodes = calloc(MAX(decision->n_nodes, (size_t) 1), sizeof(*nodes));
        if (!nodes)
                return -ENOMEM;
        for (size_t i = 0; i < decision->n_nodes; i++)
                nodes[i] = decision->nodes[i];
        *ret = *decision;
        ret->nodes = nodes;
        return 0;
}

static bool scheme_decision_equal(const SchemeDecision *a, const SchemeDecision *b) {
        return a->open == b->open && a->quota_bytes == b->quota_bytes &&
               a->nr_accesses_min == b->nr_accesses_min && a->age_min == b->age_min &&
               a->held_back == b->held_back;
}

bool decision_equal(const Decision *a, const Decision *b) {
        if (a->n_nodes != b->n_nodes || a->n_slots != b->n_slots || a->by_kernel != b->by_kernel)
                return false;
        for (size_t i = 0; i < a->n_nodes; i++) {
                const NodeDecision *x = &a->nodes[i], *y = &b->nodes[i];

                if (x->nid != y->nid || x->stage != y->stage || x->floor_bytes != y->floor_bytes ||
                    x->headroom_bytes != y->headroom_bytes ||
                    x->reserve_bytes != y->reserve_bytes ||
                    x->slices.n_slices != y->slices.n_slices ||
                    x->slices.n_fresh != y->slices.n_fresh ||
                    !scheme_decision_equal(&x->demote, &y->demote) ||
                    !scheme_decision_equal(&x->promote, &y->promote))
                        return false;
        }
        return true;
}

static void decide_thresholds(const DecideInput *input, const Decision *decision,
                              const TopologyNode *node, const NodeSample *sample, NodeDecision *d) {
        const Policy *policy = decide_policy(input, node);
        uint64_t in = quota_inflow(input, decision, sample),
                 total = MAX(sample->total_bytes, UINT64_C(1));
        uint64_t wanted = 0, least, bp;

        d->floor_bytes = sample->floor_bytes;
        d->reserve_bytes =
                add_saturated(sample->floor_bytes, MAX(in / MARGIN_SHARE, MARGIN_MIN_BYTES));
        /* Half of the node is the end of what can be called headroom. */
        d->reserve_bytes = MIN(d->reserve_bytes, total / 2);
        least = add_saturated(d->reserve_bytes, MAX(in / MARGIN_SHARE, MARGIN_MIN_BYTES));

        switch (policy->headroom_mode) {
        case HEADROOM_AUTO:
                wanted = add_saturated(d->reserve_bytes, in);
                break;
        case HEADROOM_BYTES:
                wanted = policy->headroom_bytes;
                break;
        case HEADROOM_RATIO:
                wanted = mul_div(total, policy->headroom_bp, BP);
                break;
        }
        d->headroom_raised = policy->headroom_mode != HEADROOM_AUTO && wanted < least;
        d->headroom_bytes = MIN(MAX(wanted, least), total - total / 10);

        /* Rounded away from each other, so that the two always overlap; both are within reach:
         * used can grow to 10000 - reserve, free to 10000. */
        bp = mul_div(d->reserve_bytes, BP, total);
        d->promote_used_bp = (uint32_t) (BP - MIN(bp + 1, (uint64_t) BP - 1));
        d->fill_bytes = MIN(add_saturated(sample->floor_bytes, MARGIN_MIN_BYTES), total / 2);
        bp = mul_div(d->fill_bytes, BP, total);
        d->fill_used_bp = (uint32_t) (BP - MIN(bp + 1, (uint64_t) BP - 1));
        bp = mul_div(d->headroom_bytes, BP, total);
        d->demote_free_bp =
                (uint32_t) MIN(MAX(bp + 1, (uint64_t) BP - d->promote_used_bp + 1), (uint64_t) BP);
}

/* Watermarks move a little all the time (boosts after fragmentation, CMA): thresholds follow only
 * when they are off by this share, since each change is a commit. But the floor must not come up to
 * the old reserve: promotion would fail, and demotion see its goal met where nothing can be placed.
 */
#define THRESHOLD_SLACK 16

static void keep_close_thresholds(const NodeDecision *before, NodeDecision *d) {
        uint64_t far = before->headroom_bytes > d->headroom_bytes
                               ? before->headroom_bytes - d->headroom_bytes
                               : d->headroom_bytes - before->headroom_bytes;

        if (far > before->headroom_bytes / THRESHOLD_SLACK ||
            d->floor_bytes > before->floor_bytes / 2 + before->reserve_bytes / 2)
                return;
        d->floor_bytes = before->floor_bytes;
        d->reserve_bytes = before->reserve_bytes;
        d->headroom_bytes = before->headroom_bytes;
        d->promote_used_bp = before->promote_used_bp;
        d->demote_free_bp = before->demote_free_bp;
        d->fill_bytes = before->fill_bytes;
        d->fill_used_bp = before->fill_used_bp;
        d->headroom_raised = before->headroom_raised;
}

/* The intervals' ratio is what the kernel's tuner keeps; nr_accesses counts in it. */
static uint64_t accesses_min(const DecideInput *input, uint32_t bp) {
        uint64_t samples = input->config->monitoring.aggr_us /
                           MAX(input->config->monitoring.sample_us, UINT64_C(1));

        return MAX((samples * bp + BP - 1) / BP, UINT64_C(1));
}

/* An age in aggregations of the longest interval in use among the kdamonds of the plan: the
 * kernel rescales the regions' ages when it tunes the intervals, but not the thresholds. */
static uint64_t age_min(const DecideInput *input, uint64_t age_us) {
        uint64_t aggr_us = MAX(input->config->monitoring.aggr_us, UINT64_C(1));

        if (age_us == 0)
                return 0;
        if (input->stats)
                for (size_t i = 0; i < input->stats->n_kdamonds; i++)
                        aggr_us = MAX(aggr_us, input->stats->kdamonds[i].aggr_us);
        return MIN((age_us + aggr_us - 1) / aggr_us, (uint64_t) UINT32_MAX);
}

/* Open below @low, closed from @high on, as it was in between. */
static bool hysteresis(bool was_open, uint64_t value, uint64_t low, uint64_t high) {
        if (value < low)
                return true;
        if (value >= high)
                return false;
        return was_open;
}

static void decide_demote(const DecideInput *input, const TopologyNode *node,
                          const Decision *decision, const NodeDecision *previous, NodeDecision *d) {
        const NodeSample *sample = sample_find_node(input->sample, node->nid);
        const NodeDecision *target_decision = decision_find_node(decision, node->demote_to);
        const NodeSample *target = sample_find_node(input->sample, node->demote_to);
        const Policy *policy = decide_policy(input, node);
        GuardLimit limit = guard_limit(input->guard, input->topology, DIRECTION_DEMOTE, node->nid,
                                       node->demote_to);
        uint64_t band = (d->headroom_bytes - d->reserve_bytes) / 4, full, missing;

        d->demote.age_min = age_min(input, MAX(policy->demote_min_age_us, limit.min_age_us));
        full = quota_full(input, node, DIRECTION_DEMOTE, d);
        full = MIN(full, MAX(sample->total_bytes / QUANTUM_SHARE, QUANTUM_MIN_BYTES));
        full = MAX(full >> limit.shift, QUANTUM_MIN_BYTES);
        d->demote.full_bytes = full;
        if (topology_find_node(input->topology, target->nid)->demote_to == NODE_NONE)
                full = quota_fit(input, target->nid, DIRECTION_DEMOTE, full,
                                 quota_room_above(target, target_decision->fill_bytes));
        d->demote.held_back = guard_limit_holds_back(&limit);
        d->demote.quota_bytes = full;
        d->demote.open = !limit.closed;
        if (decision->by_kernel || limit.closed)
                return;

        d->demote.open = hysteresis(previous && previous->demote.open, sample->free_bytes,
                                    d->headroom_bytes - band, d->headroom_bytes) &&
                         target->free_bytes > target_decision->fill_bytes;
        /* Between two looks some windows pass, and the last of them would overshoot. While
         * promotion takes what demotion frees, the distance stays large. Two steps only, since each
         * change is a commit. */
        missing =
                d->headroom_bytes > sample->free_bytes ? d->headroom_bytes - sample->free_bytes : 0;
        if (missing < full / 4)
                d->demote.quota_bytes = MAX(full / 4, QUANTUM_MIN_BYTES);
}

/* Looks without room until promotion is closed. */
#define SHORT_LOOKS 2

static void decide_promote(const DecideInput *input, const TopologyNode *node,
                           const Decision *decision, const NodeDecision *previous,
                           NodeDecision *d) {
        const NodeDecision *target_decision = decision_find_node(decision, node->promote_to);
        const NodeSample *target = sample_find_node(input->sample, node->promote_to);
        const Policy *policy = decide_policy(input, node);
        GuardLimit limit = guard_limit(input->guard, input->topology, DIRECTION_PROMOTE, node->nid,
                                       node->promote_to);
        uint64_t margin = target_decision->reserve_bytes -
                          MIN(target_decision->floor_bytes, target_decision->reserve_bytes);
        uint32_t access_bp;
        bool is_short;

        /* More than half of the samples is not asked for, unless the operator did. */
        access_bp = MIN(policy->promote_min_access_bp * limit.access_factor,
                        MAX(policy->promote_min_access_bp, (uint32_t) BP / 2));
        d->promote.nr_accesses_min = accesses_min(input, access_bp);
        d->promote.age_min = age_min(input, policy->promote_min_age_us);
        d->promote.full_bytes = MAX(quota_full(input, node, DIRECTION_PROMOTE, d) >> limit.shift,
                                    QUANTUM_MIN_BYTES);
        d->promote.quota_bytes =
                quota_fit(input, target->nid, DIRECTION_PROMOTE, d->promote.full_bytes,
                          quota_room_for_promotion(input, target_decision, target));
        d->promote.held_back = guard_limit_holds_back(&limit);
        d->promote.open = !limit.closed;
        if (decision->by_kernel || limit.closed)
                return;
        /* Mirrored: open while there is room. While demotion keeps up, room comes as fast as it
         * goes, so only near the floor is it better to wait than to try, and only if it stays so:
         * to close and to open again costs promotion more than a window that fails. */
        is_short = hysteresis(!(previous && previous->promote.open), target->free_bytes,
                              target_decision->reserve_bytes - margin * 3 / 4,
                              target_decision->reserve_bytes);
        d->promote.n_short = is_short && previous ? previous->promote.n_short + 1 : is_short;
        d->promote.open = !is_short ||
                          (previous && previous->promote.open && d->promote.n_short < SHORT_LOOKS);
}

/* A commit restarts the aggregation and the wait for the next window on kernels before 7.0
 * (mm/damon/core.c:damon_set_attrs()), so changes wait until both have passed: one that came with
 * each look would keep the scheme from ever being applied. */
static bool may_change(const DecideInput *input, const DecideState *state) {
        uint64_t hold_us = 0;

        if (input->stats)
                for (size_t i = 0; i < input->stats->n_kdamonds; i++)
                        hold_us = MAX(hold_us, 2 * input->stats->kdamonds[i].aggr_us);
        hold_us += decide_window_ms(input) * UINT64_C(1000);
        return !state->valid || input->now_us >= add_saturated(state->changed_us, hold_us);
}

/* Slices that an earlier plan left on, if the tree is laid out as ours will be. */
static unsigned count_present(const DecideInput *input, const NodeDecision *d, size_t n_slots) {
        const DamonTree *tree = input->present;
        unsigned n = 0;

        if (!tree || tree->n_kdamonds != n_slots)
                return 0;
        for (size_t k = d->first_slot; k < d->first_slot + d->n_slots; k++)
                n += tree->kdamonds[k].on;
        return n;
}

static bool is_cpu_limited(const DecideInput *input, const NodeDecision *d) {
        for (size_t i = d->first_slot * DAMON_SCHEMES_MAX;
             i < (d->first_slot + d->slices.n_slices) * DAMON_SCHEMES_MAX; i++)
                if (input->verdicts[i] == VERDICT_CPU_LIMITED)
                        return true;
        return false;
}

static void decide_slices(const DecideInput *input, const TopologyNode *node,
                          const NodeDecision *before, size_t n_slots, NodeDecision *d) {
        bool is_auto = slices_are_auto(input->config, input->topology, node);
        SliceInput step = {.n_slots = d->n_slots, .now_us = input->now_us};

        if (d->n_slots == 0)
                return;
        if (before && before->n_slots == d->n_slots)
                d->slices = before->slices;
        else
                d->slices.n_slices =
                        is_auto ? MAX(count_present(input, d, n_slots), 1U) : d->n_slots;
        if (is_auto && input->sample->full && input->stats && input->verdicts &&
            input->stats->n_kdamonds == n_slots) {
                for (size_t k = d->first_slot; k < d->first_slot + d->slices.n_slices; k++)
                        step.cpu_permille += stats_cpu_permille(input->stats, k);
                step.cpu_limited = is_cpu_limited(input, d);
                (void) slices_step(&d->slices, &step);
        }
        /* The first window of a kdamond has no limit up to 6.16. */
        if ((input->caps & DAMON_CAP_REFRESH) ||
            input->now_us >= d->slices.since_us + DECIDE_EMPTY_US)
                d->slices.n_fresh = 0;
}

/* Has each kdamond of the node been all over its part since it was turned on? */
static bool sweep_is_over(const DecideInput *input, const TopologyNode *node,
                          const NodeDecision *d) {
        unsigned n = d->slices.n_slices;
        /* Slices end at memory blocks. */
        uint64_t part = topology_ranges_bytes(node->ranges, node->n_ranges) / n,
                 least = n == 1 ? part : part - MIN(part, input->topology->block_size_bytes);

        if (!input->stats || d->first_slot + n > input->stats->n_kdamonds)
                return false;
        for (size_t k = d->first_slot; k < d->first_slot + n; k++)
                if (!input->stats->kdamonds[k].on ||
                    input->stats->kdamonds[k].schemes[0].last.sz_tried < least)
                        return false;
        return true;
}

static NodeStage decide_stage(const DecideInput *input, DecideState *state,
                              const TopologyNode *node, const NodeDecision *d) {
        bool is_on = state->on_since_us > 0, first_window_is_limited;
        bool sweeps = d->n_slots > 0 && node->demote_to != NODE_NONE &&
                      decide_policy(input, node)->young_filter;
        uint64_t on_us = is_on ? input->now_us - state->on_since_us : 0;

        if (nodeset_has(&state->live, node->nid))
                return NODE_STAGE_LIVE;
        /* A sweep without limit is what a sweep should be, if it does not keep the kdamond from
         * answering for too long. */
        first_window_is_limited = input->caps & DAMON_CAP_REFRESH;
        if (!first_window_is_limited && on_us < DECIDE_EMPTY_US &&
            !(sweeps && topology_ranges_bytes(node->ranges, node->n_ranges) <= SWEEP_AT_ONCE_BYTES))
                return NODE_STAGE_EMPTY;
        if (sweeps && on_us < DECIDE_SWEEP_MAX_US && !(is_on && sweep_is_over(input, node, d)))
                return NODE_STAGE_SWEEP;
        nodeset_add(&state->live, node->nid);
        return NODE_STAGE_LIVE;
}

static const NodeDecision *find_previous(const Decision *previous, int nid) {
        return previous ? decision_find_node(previous, nid) : NULL;
}

int decide(const DecideInput *input, DecideState *state, const Decision *previous, Decision *ret) {
        _cleanup_(decision_done) Decision d = {};
        const Topology *topology = input->topology;
        size_t first_slot = 0;

        d.nodes = calloc(MAX(topology->n_nodes, (size_t) 1), sizeof(*d.nodes));
        if (!d.nodes)
                return -ENOMEM;
        d.n_nodes = topology->n_nodes;
        d.by_kernel = decide_loop_is_in_kernel(input);
        d.window_ms = decide_window_ms(input);
        d.settled = true;
        d.n_slots = slices_count_slots(input->config, topology);

        for (size_t i = 0; i < topology->n_nodes; i++) {
                const TopologyNode *node = &topology->nodes[i];
                const NodeDecision *before = find_previous(previous, node->nid);

                d.nodes[i].nid = node->nid;
                d.nodes[i].n_slots = slices_slots(input->config, topology, node);
                d.nodes[i].first_slot = first_slot;
                first_slot += d.nodes[i].n_slots;
                decide_slices(input, node, before, d.n_slots, &d.nodes[i]);
                quota_learn_speed(input, before, &d.nodes[i]);
        }
        for (size_t i = 0; i < topology->n_nodes; i++) {
                const TopologyNode *node = &topology->nodes[i];
                const NodeSample *sample = sample_find_node(input->sample, node->nid);
                const NodeDecision *before = find_previous(previous, node->nid);

                if (!sample)
                        return -ENODATA;
                decide_thresholds(input, &d, node, sample, &d.nodes[i]);
                if (before)
                        keep_close_thresholds(before, &d.nodes[i]);
                d.nodes[i].stage = decide_stage(input, state, node, &d.nodes[i]);
                d.settled = d.settled && d.nodes[i].stage == NODE_STAGE_LIVE &&
                            d.nodes[i].slices.n_fresh == 0;
        }
        /* Promotion asks what demotion can do. */
        for (size_t i = 0; i < topology->n_nodes; i++)
                if (topology->nodes[i].demote_to != NODE_NONE)
                        decide_demote(input, &topology->nodes[i], &d,
                                      find_previous(previous, d.nodes[i].nid), &d.nodes[i]);
        for (size_t i = 0; i < topology->n_nodes; i++)
                if (topology->nodes[i].promote_to != NODE_NONE)
                        decide_promote(input, &topology->nodes[i], &d,
                                       find_previous(previous, d.nodes[i].nid), &d.nodes[i]);
        for (size_t i = 0; i < topology->n_nodes; i++) {
                const NodeDecision *before = find_previous(previous, d.nodes[i].nid);

                if (before && !d.by_kernel && d.nodes[i].stage == before->stage &&
                    !may_change(input, state)) {
                        d.nodes[i].demote = before->demote;
                        d.nodes[i].promote = before->promote;
                }
        }
        if (!previous || !decision_equal(previous, &d))
                state->changed_us = input->now_us;
        state->valid = true;

        *ret = d;
        d = (Decision){};
        return 0;
}
