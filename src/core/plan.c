/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The wanted tree. One kdamond for each slice of a node that gives pages away; in its one context
 * up to two schemes over the same monitoring results: cold pages down, hot pages up. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/plan.h"

/* Regions when the operator leaves them to us: enough that a hot spot of a large node is not
 * averaged away, few enough that checking each at every sampling interval stays far below one CPU
 * (a check is about a microsecond; 2000 of them each 5 ms are the upper end). */
#define REGIONS_MIN_LOW 10
#define REGIONS_MIN_HIGH 200
#define REGIONS_MAX_LOW 200
#define REGIONS_MAX_HIGH 2000
#define REGION_COARSEST_BYTES (UINT64_C(512) << 20) /* for the minimum */
#define REGION_FINEST_BYTES (UINT64_C(2) << 20)     /* for the maximum */

/* Nothing moves with less than a page; zero would mean "no limit"
 * (mm/damon/core.c:damos_set_effective_quota()). */
#define QUOTA_CLOSED_BYTES 1

static const char *const direction_names[_DIRECTION_MAX] = {
        [DIRECTION_DEMOTE] = "demote",
        [DIRECTION_PROMOTE] = "promote",
};

const char *direction_to_string(Direction direction) {
        return (unsigned) direction < _DIRECTION_MAX ? direction_names[direction] : NULL;
}

void plan_done(Plan *plan) {
        damon_tree_done(&plan->tree);
        free(plan->kdamonds);
        *plan = (Plan){};
}

bool plan_equal(const Plan *a, const Plan *b) {
        if (!damon_tree_equal(&a->tree, &b->tree))
                return false;
        for (size_t i = 0; i < a->tree.n_kdamonds; i++) {
                const PlanKdamond *x = &a->kdamonds[i], *y = &b->kdamonds[i];

                if (x->nid != y->nid || x->slice != y->slice || x->n_slices != y->n_slices ||
                    x->n_schemes != y->n_schemes)
                        return false;
                for (size_t s = 0; s < x->n_schemes; s++)
                        if (x->schemes[s].direction != y->schemes[s].direction ||
                            x->schemes[s].from != y->schemes[s].from ||
                            x->schemes[s].to != y->schemes[s].to)
                                return false;
        }
        return true;
}

static void plan_monitoring(const Monitoring *m, uint32_t caps, DamonContext *context) {
        uint64_t bytes = topology_ranges_bytes(context->ranges, context->n_ranges);

        context->operations = DAMON_OPS_PADDR;
        context->sample_us = m->sample_us;
        context->aggr_us = m->aggr_us;
        context->update_us = m->update_us;
        context->min_nr_regions = CLAMP(bytes / REGION_COARSEST_BYTES, (uint64_t) REGIONS_MIN_LOW,
                                        (uint64_t) REGIONS_MIN_HIGH);
        context->max_nr_regions = CLAMP(bytes / REGION_FINEST_BYTES, (uint64_t) REGIONS_MAX_LOW,
                                        (uint64_t) REGIONS_MAX_HIGH);
        if (m->min_regions > 0)
                context->min_nr_regions = m->min_regions;
        if (m->max_regions > 0) {
                context->max_nr_regions = m->max_regions;
                context->min_nr_regions = MIN(context->min_nr_regions, context->max_nr_regions);
        }
        /* One of the two may be the operator's; every range is at least one region. */
        context->max_nr_regions = MAX(context->max_nr_regions, context->min_nr_regions);
        context->max_nr_regions = MAX(context->max_nr_regions, 2 * (uint64_t) context->n_ranges);
        if ((caps & DAMON_CAP_INTERVALS_GOAL) && m->access_goal_bp > 0) {
                context->goal_access_bp = m->access_goal_bp;
                context->goal_aggrs = m->access_goal_aggrs;
                context->goal_min_sample_us = m->min_sample_us;
                context->goal_max_sample_us = m->max_sample_us;
        }
}

/* With "allow" the two directions differ in it; before 6.14 a match always rejects, so promotion
 * rejects what is not young. Either way: only young pages go up, never do they go down. */
static void plan_young_filter(Direction direction, uint32_t caps, DamonScheme *scheme) {
        DamonFilter filter = {.type = DAMON_FILTER_YOUNG, .matching = true};

        if (direction == DIRECTION_PROMOTE) {
                if (caps & DAMON_CAP_ALLOW)
                        filter.allow = true;
                else
                        filter.matching = false;
        }
        scheme->filters[0] = filter;
        scheme->n_filters = 1;
}

static void add_goal(DamonScheme *scheme, DamonGoalMetric metric, uint32_t bp, int nid) {
        scheme->goals[scheme->n_goals++] = (DamonGoal){
                .metric = metric,
                /* A goal of zero would be skipped, and no goal left means no limit. */
                .target_value = MAX(bp, 1U),
                .nid = nid,
        };
}

static void plan_quota(uint32_t caps, const Decision *decision, const SchemeDecision *sd,
                       unsigned n_slices, DamonScheme *scheme) {
        /* Slices share what the node may move. */
        uint64_t bytes = sd->open ? sd->quota_bytes / n_slices : 0;

        scheme->quota_reset_interval_ms = decision->window_ms;
        scheme->weight_nr_accesses_permil = 100;
        scheme->weight_age_permil = 100;
        scheme->quota_bytes = MAX(bytes, (uint64_t) QUOTA_CLOSED_BYTES);
        if (caps & DAMON_CAP_FAIL_CHARGE) {
                scheme->fail_charge_num = 1;
                scheme->fail_charge_denom = STATS_FAIL_CHARGE_DENOM;
        }
}

/* The kernel goes by the goal that is nearest to being met (mm/damon/core.c:damos_quota_score()),
 * so with two of them demotion rests when either says so: its node is free enough, or the other one
 * is full, where trying on would only fail. */
static void plan_goals(Direction direction, const NodeDecision *own, const NodeDecision *target,
                       DamonScheme *scheme) {
        scheme->goal_tuner = DAMON_TUNER_TEMPORAL;
        if (direction == DIRECTION_PROMOTE)
                return add_goal(scheme, DAMON_GOAL_NODE_MEM_USED_BP, target->promote_used_bp,
                                target->nid);
        add_goal(scheme, DAMON_GOAL_NODE_MEM_FREE_BP, own->demote_free_bp, own->nid);
        add_goal(scheme, DAMON_GOAL_NODE_MEM_USED_BP, target->fill_used_bp, target->nid);
}

static void plan_scheme(Direction direction, const Policy *policy, const TopologyNode *node,
                        uint32_t caps, const Decision *decision, PlanKdamond *meta,
                        DamonContext *context) {
        bool demote = direction == DIRECTION_DEMOTE;
        int to = demote ? node->demote_to : node->promote_to;
        const NodeDecision *own = decision_find_node(decision, node->nid);
        const NodeDecision *target = decision_find_node(decision, to);
        const SchemeDecision *sd = demote ? &own->demote : &own->promote;
        DamonScheme scheme = damon_scheme_default();

        scheme.action = demote ? DAMON_ACTION_MIGRATE_COLD : DAMON_ACTION_MIGRATE_HOT;
        scheme.target_nid = to;
        scheme.apply_interval_us = decision->window_ms * UINT64_C(1000);
        scheme.sz_max = UINT64_MAX;
        /* unsigned long in sysfs, unsigned int in the core: more would be cut silently
         * (mm/damon/sysfs-schemes.c:damon_sysfs_mk_scheme()). */
        scheme.nr_accesses_min = demote ? 0 : sd->nr_accesses_min;
        scheme.nr_accesses_max = demote ? 0 : UINT32_MAX;
        scheme.age_min = sd->age_min;
        scheme.age_max = UINT32_MAX;
        plan_quota(caps, decision, sd, own->slices.n_slices, &scheme);
        if (decision->by_kernel)
                plan_goals(direction, own, target, &scheme);
        if (policy->young_filter)
                plan_young_filter(direction, caps, &scheme);

        meta->schemes[meta->n_schemes++] =
                (PlanScheme){.direction = direction, .from = node->nid, .to = to};
        context->schemes[context->n_schemes++] = scheme;
}

/* Both answers of the young filter reject, so that nothing moves; but to answer, it looks at each
 * page and clears its accessed bit (mm/damon/ops-common.c:damon_folio_mkold()). */
static void plan_sweep(uint64_t bytes, DamonScheme *scheme) {
        scheme->nr_accesses_min = 0;
        scheme->nr_accesses_max = UINT32_MAX;
        scheme->age_min = 0;
        scheme->n_goals = 0;
        memset(scheme->goals, 0, sizeof(scheme->goals));
        scheme->quota_ms = scheme->quota_reset_interval_ms * DECIDE_SWEEP_PERCENT / 100;
        scheme->quota_bytes = bytes;
        scheme->n_filters = 2;
        scheme->filters[0] = (DamonFilter){.type = DAMON_FILTER_YOUNG, .matching = true};
        scheme->filters[1] = (DamonFilter){.type = DAMON_FILTER_YOUNG, .matching = false};
}

static void plan_stage(NodeStage stage, DamonContext *context) {
        if (stage == NODE_STAGE_LIVE)
                return;
        for (size_t i = 0; i < context->n_schemes; i++) {
                if (stage == NODE_STAGE_SWEEP && i == 0) {
                        plan_sweep(topology_ranges_bytes(context->ranges, context->n_ranges),
                                   &context->schemes[i]);
                        continue;
                }
                context->schemes[i].sz_max = 0;
                context->schemes[i].quota_bytes = QUOTA_CLOSED_BYTES;
        }
}

/* One slice of a node, or a slot that waits to become one. */
static int plan_slot(const Config *config, const Topology *topology, const TopologyNode *node,
                     uint32_t caps, const Decision *decision, unsigned slice, PlanKdamond *meta,
                     DamonKdamond *kdamond) {
        const Policy *policy = config_tier_policy(config, topology->tiers[node->tier].name);
        const NodeDecision *own = decision_find_node(decision, node->nid);
        unsigned n = own->slices.n_slices;
        DamonContext *context = &kdamond->context;
        int r;

        *kdamond = damon_kdamond_default();
        *context = damon_context_default();
        *meta = (PlanKdamond){.nid = node->nid, .slice = slice, .n_slices = n};
        if (slice >= n)
                return 0;

        r = slices_ranges(topology, node, slice, n, &context->ranges, &context->n_ranges);
        if (r < 0)
                return r;
        context->n_targets = 1;
        kdamond->n_contexts = 1;
        kdamond->on = true;

        plan_monitoring(&config->monitoring, caps, context);
        if (node->demote_to != NODE_NONE)
                plan_scheme(DIRECTION_DEMOTE, policy, node, caps, decision, meta, context);
        if (node->promote_to != NODE_NONE)
                plan_scheme(DIRECTION_PROMOTE, policy, node, caps, decision, meta, context);
        plan_stage(slice + own->slices.n_fresh >= n && own->slices.n_fresh > 0 ? NODE_STAGE_EMPTY
                                                                               : own->stage,
                   context);
        return 0;
}

static int refuse(char **reterr_text, int r, const char *text) {
        *reterr_text = strdup(text);
        return *reterr_text ? r : -ENOMEM;
}

int plan_build(const Config *config, const Topology *topology, uint32_t caps,
               const Decision *decision, Plan *ret, char **reterr_text) {
        _cleanup_(plan_done) Plan plan = {};
        size_t n = decision->n_slots;
        int r;

        if (n == 0)
                return refuse(reterr_text, -ENODATA,
                              "there is one tier only, or no node may give pages to another");
        if (!(caps & DAMON_CAP_SYSFS))
                return refuse(reterr_text, -EOPNOTSUPP,
                              "this kernel has no DAMON sysfs interface (CONFIG_DAMON_SYSFS)");
        if (!(caps & DAMON_CAP_MIGRATE))
                return refuse(reterr_text, -EOPNOTSUPP,
                              "this kernel's DAMON can't migrate pages between nodes (6.11 can)");

        plan.kdamonds = calloc(n, sizeof(*plan.kdamonds));
        plan.tree.kdamonds = calloc(n, sizeof(*plan.tree.kdamonds));
        if (!plan.kdamonds || !plan.tree.kdamonds)
                return -ENOMEM;
        for (size_t i = 0; i < topology->n_nodes; i++) {
                const TopologyNode *node = &topology->nodes[i];
                unsigned n_slots = decision_find_node(decision, node->nid)->n_slots;

                for (unsigned slice = 0; slice < n_slots; slice++) {
                        size_t k = plan.tree.n_kdamonds;

                        /* Before it may fail, so that plan_done() sees it. */
                        plan.tree.n_kdamonds++;
                        r = plan_slot(config, topology, node, caps, decision, slice,
                                      &plan.kdamonds[k], &plan.tree.kdamonds[k]);
                        if (r < 0)
                                return r;
                }
        }
        *ret = plan;
        plan = (Plan){};
        return 0;
}
