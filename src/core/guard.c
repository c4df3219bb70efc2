/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Holding back what harms. Each reason has a level that rises at once while the reason lasts and
 * falls one by one after a calm; a relapse doubles the calm that it takes. */

#include <errno.h>

#include "base/array.h"
#include "core/guard.h"

#define SEC UINT64_C(1000000)
#define DAY (86400 * SEC)

#define LEVEL_MAX 4 /* a sixteenth of the quota */
#define RISE_US (10 * SEC)
#define CALM_US (30 * SEC)
#define RELAPSES_MAX 5                    /* patience ends at 16 minutes */
#define FORGET_US (60 * 60 * SEC)         /* relapses that long ago do not count */
#define FAILED_BYTES (UINT64_C(16) << 20) /* less is noise */

/* Exchange: what a node takes in and gives away at once. It is the work itself as long as it ends.
 * A set that fits is in before the node has exchanged all that it holds, and when the set only
 * moves on slowly, promotion keeps up; if neither is so, more is hot than fits. Then there may also
 * be nothing cold left, and what leaves are hot pages that had not been touched for a moment. */
#define PERIOD_US (20 * SEC)
#define PING_PONG_CALM_US (300 * SEC)
#define RESTLESS_SHARE 400 /* of the node, each way and period; less is rest */
#define QUIET_PERIODS 2
/* Demotion that moves at least this part of what it looks at finds cold memory. */
#define COLD_SHARE 4
#define AGES_MAX 6

/* A second keeps those in that are hot and were only not touched for a moment, the rest more and
 * more of what is warm. */
static const uint64_t ages_us[AGES_MAX + 1] = {0,        1 * SEC,   5 * SEC,  20 * SEC,
                                               80 * SEC, 320 * SEC, 600 * SEC};

static const char *const kind_names[_GUARD_KIND_MAX] = {
        [GUARD_PRESSURE] = "pressure",
        [GUARD_FAILURES] = "failures",
        [GUARD_PING_PONG] = "ping-pong",
        [GUARD_BUDGET] = "budget",
};

/* What is only warm must not take the place of what is hardly less so. More than that would keep
 * out hot memory too, which is seen in a part of the samples only. */
#define ACCESS_FACTOR_MAX 3

static unsigned access_factor(unsigned ping_pong_level) {
        return MIN(1 + ping_pong_level, (unsigned) ACCESS_FACTOR_MAX);
}

const char *guard_kind_to_string(GuardKind kind) {
        return (unsigned) kind < _GUARD_KIND_MAX ? kind_names[kind] : NULL;
}

void guard_done(Guard *guard) {
        free(guard->nodes);
        free(guard->tiers);
        *guard = (Guard){};
}

void guard_events_done(GuardEvents *events) {
        free(events->items);
        *events = (GuardEvents){};
}

static int add_event(GuardEvents *events, const GuardEvent *event) {
        int r;

        r = ARRAY_GROW(events->items, events->n_alloc, events->n_items + 1);
        if (r < 0)
                return r;
        events->items[events->n_items++] = *event;
        return 0;
}

static GuardNode *find_node(const Guard *guard, int nid) {
        for (size_t i = 0; i < guard->n_nodes; i++)
                if (guard->nodes[i].nid == nid)
                        return &guard->nodes[i];
        return NULL;
}

/* Keeps what is known of the nodes that are still there. */
static int follow_topology(Guard *guard, const Topology *topology, uint64_t now_us) {
        GuardNode *nodes;
        GuardTier *tiers;
        bool same = guard->n_nodes == topology->n_nodes && guard->n_tiers == topology->n_tiers;

        for (size_t i = 0; same && i < guard->n_nodes; i++)
                same = guard->nodes[i].nid == topology->nodes[i].nid;
        if (same)
                return 0;
        nodes = calloc(MAX(topology->n_nodes, (size_t) 1), sizeof(*nodes));
        tiers = calloc(MAX(topology->n_tiers, (size_t) 1), sizeof(*tiers));
        if (!nodes || !tiers) {
                free(nodes);
                free(tiers);
                return -ENOMEM;
        }
        for (size_t i = 0; i < topology->n_nodes; i++) {
                const GuardNode *known = find_node(guard, topology->nodes[i].nid);

                nodes[i] = known ? *known
                                 : (GuardNode){.nid = topology->nodes[i].nid, .period_us = now_us};
        }
        for (size_t i = 0; i < MIN(topology->n_tiers, guard->n_tiers); i++)
                tiers[i] = guard->tiers[i];
        free(guard->nodes);
        free(guard->tiers);
        guard->nodes = nodes;
        guard->n_nodes = topology->n_nodes;
        guard->tiers = tiers;
        guard->n_tiers = topology->n_tiers;
        return 0;
}

int guard_restore(Guard *guard, const uint64_t *written_bytes, size_t n_tiers, uint64_t at_us) {
        GuardTier *tiers = calloc(MAX(n_tiers, (size_t) 1), sizeof(*tiers));

        if (!tiers)
                return -ENOMEM;
        for (size_t i = 0; i < n_tiers; i++)
                tiers[i].written_bytes = written_bytes[i];
        free(guard->tiers);
        guard->tiers = tiers;
        guard->n_tiers = n_tiers;
        guard->now_us = at_us;
        return 0;
}

/* One observation: is it bad now? */
static void track(GuardTrack *t, bool bad, bool calm, unsigned max, uint64_t calm_us,
                  uint64_t now_us) {
        if (t->relapses > 0 && now_us > t->bad_us + FORGET_US)
                t->relapses = 0;
        if (bad) {
                if (t->level == 0 && t->changed_us > 0)
                        t->relapses = MIN(t->relapses + 1, (unsigned) RELAPSES_MAX);
                if (t->level < max && (t->level == 0 || now_us >= t->changed_us + RISE_US)) {
                        t->level++;
                        t->changed_us = now_us;
                }
                t->bad_us = now_us;
                return;
        }
        if (!calm)
                t->bad_us = MAX(t->bad_us, now_us);
        if (t->level > 0 && now_us >= MAX(t->bad_us, t->changed_us) + (calm_us << t->relapses)) {
                t->level--;
                t->changed_us = now_us;
        }
}

static int watch_pressure(Guard *guard, const GuardInput *input, uint64_t window_us,
                          GuardEvents *events) {
        uint64_t limit = input->config->guard.pressure_limit_bp / 10, waited, permille = 0;
        unsigned before = guard->pressure.level;

        if (!input->sample->has_pressure || limit == 0) {
                guard->has_pressure = false;
                guard->pressure = (GuardTrack){};
                limit = 0;
        } else {
                waited = input->sample->pressure_us -
                         MIN(guard->pressure_us, input->sample->pressure_us);
                if (guard->has_pressure && window_us > 0)
                        permille = waited * 1000 / window_us;
                guard->has_pressure = true;
                guard->pressure_us = input->sample->pressure_us;
                track(&guard->pressure, permille >= limit, permille < limit / 2, LEVEL_MAX, CALM_US,
                      input->sample->now_us);
        }
        if (guard->pressure.level == before)
                return 0;
        return add_event(events, &(GuardEvent){.kind = GUARD_PRESSURE,
                                               .nid = -1,
                                               .before = before,
                                               .level = guard->pressure.level,
                                               .numbers = {permille, limit},
                                               .period_us = window_us});
}

/* The last window's sums over all slices of a node. */
typedef struct Moved {
        uint64_t tried, passed, applied;
} Moved;

static Moved moved_out(const GuardInput *input, int nid, Direction direction) {
        Moved moved = {};

        for (size_t k = 0; k < MIN(input->plan->tree.n_kdamonds, input->stats->n_kdamonds); k++) {
                const PlanKdamond *meta = &input->plan->kdamonds[k];

                for (size_t s = 0; meta->nid == nid && s < meta->n_schemes; s++)
                        if (meta->schemes[s].direction == direction) {
                                const SchemeCounters *d =
                                        &input->stats->kdamonds[k].schemes[s].delta;

                                moved.tried += d->sz_tried;
                                moved.passed += d->sz_passed;
                                moved.applied += d->sz_applied;
                        }
        }
        return moved;
}

static uint64_t moved_in(const GuardInput *input, int nid, bool promoted_only) {
        uint64_t bytes = 0;

        for (size_t k = 0; k < MIN(input->plan->tree.n_kdamonds, input->stats->n_kdamonds); k++) {
                const PlanKdamond *meta = &input->plan->kdamonds[k];

                for (size_t s = 0; s < meta->n_schemes; s++)
                        if (meta->schemes[s].to == nid &&
                            (!promoted_only || meta->schemes[s].direction == DIRECTION_PROMOTE))
                                bytes += input->stats->kdamonds[k].schemes[s].delta.sz_applied;
        }
        return bytes;
}

static int watch_failures(const GuardInput *input, GuardNode *node, GuardEvents *events) {
        for (Direction direction = 0; direction < _DIRECTION_MAX; direction++) {
                Moved moved = moved_out(input, node->nid, direction);
                GuardTrack *t = &node->failures[direction];
                bool bad = (input->caps & DAMON_CAP_PASSED) && moved.passed >= FAILED_BYTES &&
                           moved.applied < moved.passed / 2;
                unsigned before = t->level;
                int r;

                track(t, bad, true, LEVEL_MAX, CALM_US, input->sample->now_us);
                if (t->level == before)
                        continue;
                r = add_event(events, &(GuardEvent){.kind = GUARD_FAILURES,
                                                    .nid = node->nid,
                                                    .direction = direction,
                                                    .before = before,
                                                    .level = t->level,
                                                    .numbers = {moved.passed, moved.applied},
                                                    .period_us = input->stats->window_us});
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Is there more that should go into the node than goes, and did none find room? */
static void look_at_backlog(const GuardInput *input, GuardNode *node) {
        const NodeDecision *d = decision_find_node(input->decision, node->nid);
        const NodeSample *memory = sample_find_node(input->sample, node->nid);
        bool backlog = false, full;

        /* Demotion does not keep up with what wants in. */
        full = d && memory && memory->free_bytes < (d->reserve_bytes + d->headroom_bytes) / 2;

        for (size_t k = 0; input->verdicts && k < input->plan->tree.n_kdamonds; k++) {
                const PlanKdamond *meta = &input->plan->kdamonds[k];

                for (size_t s = 0; s < meta->n_schemes; s++) {
                        Verdict v = input->verdicts[k * DAMON_SCHEMES_MAX + s];

                        if (meta->schemes[s].to != node->nid ||
                            meta->schemes[s].direction != DIRECTION_PROMOTE)
                                continue;
                        full = full || v == VERDICT_TARGET_FULL;
                        backlog = backlog || v == VERDICT_QUOTA_LIMITED ||
                                  v == VERDICT_CPU_LIMITED || v == VERDICT_BACKED_OFF;
                }
        }
        node->n_samples++;
        node->n_full += full;
        node->n_backlog += backlog || full;
}

static int watch_exchange(const GuardInput *input, const TopologyNode *tnode, GuardNode *node,
                          GuardEvents *events) {
        const NodeDecision *d = decision_find_node(input->decision, node->nid);
        Moved out = moved_out(input, node->nid, DIRECTION_DEMOTE);
        uint64_t now_us = input->sample->now_us, exchange;
        GuardTrack *t = &node->ping_pong;
        bool restless, backlog, spent, starved;
        unsigned before = t->level;
        GuardEvent event;

        node->in_bytes += moved_in(input, node->nid, /* promoted_only= */ true);
        node->out_bytes += out.applied;
        if (d && d->stage == NODE_STAGE_LIVE) /* a sweep looks at all there is */
                node->tried_bytes += out.tried;
        look_at_backlog(input, node);
        if (now_us < node->period_us + PERIOD_US)
                return 0;
        exchange = MIN(node->in_bytes, node->out_bytes);
        restless = exchange >= MAX(tnode->total_bytes / RESTLESS_SHARE, UINT64_C(1));
        backlog = node->n_backlog * 2 >= node->n_samples;
        /* Where little is cold it comes in bursts: one quiet period does not end a spree. */
        node->n_quiet = restless ? 0 : node->n_quiet + 1;
        node->spree_bytes = node->n_quiet < QUIET_PERIODS ? node->spree_bytes + exchange : 0;
        spent = backlog && node->spree_bytes >= tnode->total_bytes;
        starved = restless && backlog && node->n_full * 2 >= node->n_samples &&
                  node->out_bytes < node->tried_bytes / COLD_SHARE;
        track(t, (spent || starved) && input->config->guard.ping_pong, !restless, AGES_MAX,
              PING_PONG_CALM_US, now_us);
        event = (GuardEvent){.kind = GUARD_PING_PONG,
                             .nid = node->nid,
                             .before = before,
                             .level = t->level,
                             .numbers = {node->in_bytes, node->out_bytes},
                             .period_us = now_us - node->period_us,
                             .min_age_us = ages_us[t->level],
                             .access_factor = access_factor(t->level)};
        node->n_samples = node->n_backlog = node->n_full = 0;
        node->in_bytes = node->out_bytes = node->tried_bytes = 0;
        node->period_us = now_us;
        return t->level == before ? 0 : add_event(events, &event);
}

/* A budget leaks back over the day instead of coming back at midnight: what was spent at once is
 * not spent again at once. */
static int watch_budget(Guard *guard, const GuardInput *input, size_t tier, uint64_t window_us,
                        GuardEvents *events) {
        const TopologyTier *ttier = &input->topology->tiers[tier];
        uint64_t budget = config_tier_policy(input->config, ttier->name)->write_budget_bytes;
        GuardTier *t = &guard->tiers[tier];
        bool before = t->spent;
        uint64_t back;

        if (budget == 0) {
                *t = (GuardTier){};
        } else {
                back = (uint64_t) ((unsigned __int128) budget * window_us / DAY);
                t->written_bytes -= MIN(back, t->written_bytes);
                nodeset_foreach (nid, &ttier->nodes)
                        t->written_bytes += moved_in(input, nid, /* promoted_only= */ false);
                if (t->written_bytes >= budget)
                        t->spent = true;
                else if (t->written_bytes < budget - budget / 16)
                        t->spent = false;
        }
        if (t->spent == before)
                return 0;
        return add_event(events, &(GuardEvent){.kind = GUARD_BUDGET,
                                               .nid = -1,
                                               .tier = tier,
                                               .before = before,
                                               .level = t->spent,
                                               .numbers = {t->written_bytes, budget}});
}

int guard_update(Guard *guard, const GuardInput *input, GuardEvents *events) {
        uint64_t now_us = input->sample->now_us;
        uint64_t window_us = guard->now_us > 0 ? now_us - MIN(guard->now_us, now_us) : 0;
        int r;

        r = follow_topology(guard, input->topology, now_us);
        if (r < 0)
                return r;
        guard->now_us = now_us;
        r = watch_pressure(guard, input, window_us, events);
        for (size_t i = 0; r >= 0 && i < guard->n_nodes; i++) {
                r = watch_failures(input, &guard->nodes[i], events);
                if (r >= 0)
                        r = watch_exchange(input, &input->topology->nodes[i], &guard->nodes[i],
                                           events);
        }
        for (size_t i = 0; r >= 0 && i < guard->n_tiers; i++)
                r = watch_budget(guard, input, i, window_us, events);
        return r;
}

GuardLimit guard_limit(const Guard *guard, const Topology *topology, Direction direction, int from,
                       int to) {
        const GuardNode *node = guard ? find_node(guard, from) : NULL;
        const TopologyNode *target = topology_find_node(topology, to);
        GuardLimit limit = {.access_factor = 1};

        if (!node)
                return limit;
        limit.shift = node->failures[direction].level;
        if (direction == DIRECTION_PROMOTE) {
                const GuardNode *entered = find_node(guard, to);

                limit.shift = MAX(limit.shift, guard->pressure.level);
                if (entered)
                        limit.access_factor = access_factor(entered->ping_pong.level);
        } else {
                limit.min_age_us = ages_us[node->ping_pong.level];
        }
        if (target && target->tier < guard->n_tiers)
                limit.closed = guard->tiers[target->tier].spent;
        return limit;
}

bool guard_limit_holds_back(const GuardLimit *limit) {
        return limit->shift > 0 || limit->min_age_us > 0 || limit->access_factor > 1 ||
               limit->closed;
}
