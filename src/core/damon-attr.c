/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The attribute table: the one place that knows which leaf holds which field, since when, and how
 * it may change. Reading, writing, comparing and printing all walk it. Sources: mm/damon/sysfs.c,
 * mm/damon/sysfs-schemes.c; what a commit takes over: mm/damon/core.c:damon_commit_ctx(). */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "core/damon.h"

#define K(l, t, f, c, ch) \
        { DAMON_LEVEL_KDAMOND, l, t, offsetof(DamonKdamond, f), c, ch, false }
#define C(l, t, f, c, ch) \
        { DAMON_LEVEL_CONTEXT, l, t, offsetof(DamonContext, f), c, ch, false }
#define TUNED(l, f)                                                                   \
        {                                                                             \
                DAMON_LEVEL_CONTEXT, l, DAMON_TYPE_U64, offsetof(DamonContext, f), 0, \
                        DAMON_CHANGE_COMMIT, true                                     \
        }
#define R(l, f)                                                                      \
        {                                                                            \
                DAMON_LEVEL_REGION, l, DAMON_TYPE_U64, offsetof(AddressRange, f), 0, \
                        DAMON_CHANGE_COMMIT, false                                   \
        }
#define S(l, t, f, c) \
        { DAMON_LEVEL_SCHEME, l, t, offsetof(DamonScheme, f), c, DAMON_CHANGE_COMMIT, false }
#define G(l, t, f, c) \
        { DAMON_LEVEL_GOAL, l, t, offsetof(DamonGoal, f), c, DAMON_CHANGE_GOALS, false }
#define F(l, t, f, c) \
        { DAMON_LEVEL_FILTER, l, t, offsetof(DamonFilter, f), c, DAMON_CHANGE_COMMIT, false }
#define U64 DAMON_TYPE_U64

/* Order matters within a level: it is the order of writing. */
static const DamonAttr attr_table[] = {
        K("refresh_ms", U64, refresh_ms, DAMON_CAP_REFRESH, DAMON_CHANGE_NOW),

        C("operations", DAMON_TYPE_OPS, operations, 0, DAMON_CHANGE_RESTART),
        C("addr_unit", U64, addr_unit, DAMON_CAP_ADDR_UNIT, DAMON_CHANGE_RESTART),
        C("pause", DAMON_TYPE_BOOL, pause, DAMON_CAP_PAUSE, DAMON_CHANGE_COMMIT),
        TUNED("monitoring_attrs/intervals/sample_us", sample_us),
        TUNED("monitoring_attrs/intervals/aggr_us", aggr_us),
        C("monitoring_attrs/intervals/update_us", U64, update_us, 0, DAMON_CHANGE_COMMIT),
        C("monitoring_attrs/intervals/intervals_goal/access_bp", U64, goal_access_bp,
          DAMON_CAP_INTERVALS_GOAL, DAMON_CHANGE_COMMIT),
        C("monitoring_attrs/intervals/intervals_goal/aggrs", U64, goal_aggrs,
          DAMON_CAP_INTERVALS_GOAL, DAMON_CHANGE_COMMIT),
        C("monitoring_attrs/intervals/intervals_goal/min_sample_us", U64, goal_min_sample_us,
          DAMON_CAP_INTERVALS_GOAL, DAMON_CHANGE_COMMIT),
        C("monitoring_attrs/intervals/intervals_goal/max_sample_us", U64, goal_max_sample_us,
          DAMON_CAP_INTERVALS_GOAL, DAMON_CHANGE_COMMIT),
        C("monitoring_attrs/nr_regions/min", U64, min_nr_regions, 0, DAMON_CHANGE_COMMIT),
        C("monitoring_attrs/nr_regions/max", U64, max_nr_regions, 0, DAMON_CHANGE_COMMIT),

        R("start", start),
        R("end", end),

        S("action", DAMON_TYPE_ACTION, action, 0),
        S("target_nid", DAMON_TYPE_INT, target_nid, DAMON_CAP_MIGRATE),
        S("apply_interval_us", U64, apply_interval_us, 0),
        S("access_pattern/sz/min", U64, sz_min, 0),
        S("access_pattern/sz/max", U64, sz_max, 0),
        S("access_pattern/nr_accesses/min", U64, nr_accesses_min, 0),
        S("access_pattern/nr_accesses/max", U64, nr_accesses_max, 0),
        S("access_pattern/age/min", U64, age_min, 0),
        S("access_pattern/age/max", U64, age_max, 0),
        S("quotas/ms", U64, quota_ms, 0),
        S("quotas/bytes", U64, quota_bytes, 0),
        S("quotas/reset_interval_ms", U64, quota_reset_interval_ms, 0),
        S("quotas/goal_tuner", DAMON_TYPE_TUNER, goal_tuner, DAMON_CAP_GOAL_TUNER),
        S("quotas/fail_charge_num", U64, fail_charge_num, DAMON_CAP_FAIL_CHARGE),
        S("quotas/fail_charge_denom", U64, fail_charge_denom, DAMON_CAP_FAIL_CHARGE),
        S("quotas/weights/sz_permil", U64, weight_sz_permil, 0),
        S("quotas/weights/nr_accesses_permil", U64, weight_nr_accesses_permil, 0),
        S("quotas/weights/age_permil", U64, weight_age_permil, 0),
        S("watermarks/metric", DAMON_TYPE_WMARK_METRIC, wmark_metric, 0),

        G("target_metric", DAMON_TYPE_GOAL_METRIC, metric, 0),
        G("target_value", U64, target_value, 0),
        G("current_value", U64, current_value, 0),
        G("nid", DAMON_TYPE_INT, nid, DAMON_CAP_NODE_GOALS),

        F("type", DAMON_TYPE_FILTER_TYPE, type, 0),
        F("matching", DAMON_TYPE_BOOL, matching, 0),
        F("allow", DAMON_TYPE_BOOL, allow, DAMON_CAP_ALLOW),
};

static const char *const ops_names[_DAMON_OPS_MAX] = {
        [DAMON_OPS_VADDR] = "vaddr",
        [DAMON_OPS_FVADDR] = "fvaddr",
        [DAMON_OPS_PADDR] = "paddr",
};

static const char *const action_names[_DAMON_ACTION_MAX] = {
        [DAMON_ACTION_WILLNEED] = "willneed",
        [DAMON_ACTION_COLD] = "cold",
        [DAMON_ACTION_PAGEOUT] = "pageout",
        [DAMON_ACTION_HUGEPAGE] = "hugepage",
        [DAMON_ACTION_NOHUGEPAGE] = "nohugepage",
        [DAMON_ACTION_COLLAPSE] = "collapse",
        [DAMON_ACTION_LRU_PRIO] = "lru_prio",
        [DAMON_ACTION_LRU_DEPRIO] = "lru_deprio",
        [DAMON_ACTION_MIGRATE_HOT] = "migrate_hot",
        [DAMON_ACTION_MIGRATE_COLD] = "migrate_cold",
        [DAMON_ACTION_STAT] = "stat",
};

static const char *const metric_names[_DAMON_GOAL_METRIC_MAX] = {
        [DAMON_GOAL_USER_INPUT] = "user_input",
        [DAMON_GOAL_SOME_MEM_PSI_US] = "some_mem_psi_us",
        [DAMON_GOAL_NODE_MEM_USED_BP] = "node_mem_used_bp",
        [DAMON_GOAL_NODE_MEM_FREE_BP] = "node_mem_free_bp",
        [DAMON_GOAL_NODE_MEMCG_USED_BP] = "node_memcg_used_bp",
        [DAMON_GOAL_NODE_MEMCG_FREE_BP] = "node_memcg_free_bp",
        [DAMON_GOAL_ACTIVE_MEM_BP] = "active_mem_bp",
        [DAMON_GOAL_INACTIVE_MEM_BP] = "inactive_mem_bp",
        [DAMON_GOAL_NODE_ELIGIBLE_MEM_BP] = "node_eligible_mem_bp",
};

static const char *const tuner_names[_DAMON_TUNER_MAX] = {
        [DAMON_TUNER_CONSIST] = "consist",
        [DAMON_TUNER_TEMPORAL] = "temporal",
};

static const char *const filter_names[_DAMON_FILTER_TYPE_MAX] = {
        [DAMON_FILTER_ANON] = "anon",         [DAMON_FILTER_ACTIVE] = "active",
        [DAMON_FILTER_MEMCG] = "memcg",       [DAMON_FILTER_YOUNG] = "young",
        [DAMON_FILTER_UNMAPPED] = "unmapped", [DAMON_FILTER_HUGEPAGE_SIZE] = "hugepage_size",
        [DAMON_FILTER_ADDR] = "addr",         [DAMON_FILTER_TARGET] = "target",
};

static const char *const wmark_names[_DAMON_WMARK_METRIC_MAX] = {
        [DAMON_WMARK_NONE] = "none",
        [DAMON_WMARK_FREE_MEM_RATE] = "free_mem_rate",
};

static const struct {
        const char *const *names;
        uint32_t n;
} enum_table[_DAMON_TYPE_MAX] = {
        [DAMON_TYPE_OPS] = {ops_names, _DAMON_OPS_MAX},
        [DAMON_TYPE_ACTION] = {action_names, _DAMON_ACTION_MAX},
        [DAMON_TYPE_GOAL_METRIC] = {metric_names, _DAMON_GOAL_METRIC_MAX},
        [DAMON_TYPE_TUNER] = {tuner_names, _DAMON_TUNER_MAX},
        [DAMON_TYPE_FILTER_TYPE] = {filter_names, _DAMON_FILTER_TYPE_MAX},
        [DAMON_TYPE_WMARK_METRIC] = {wmark_names, _DAMON_WMARK_METRIC_MAX},
};

const DamonAttr *damon_attrs(size_t *ret_n) {
        *ret_n = ELEMENTSOF(attr_table);
        return attr_table;
}

const char *damon_action_to_string(DamonAction action) {
        return (uint32_t) action < _DAMON_ACTION_MAX ? action_names[action] : NULL;
}

static const void *field(const DamonAttr *attr, const void *object) {
        return (const char *) object + attr->offset;
}

const char *damon_attr_format(const DamonAttr *attr, const void *object, char buf[static 32]) {
        const void *p = field(attr, object);

        if (enum_table[attr->type].names) {
                uint32_t v = *(const uint32_t *) p;

                return v < enum_table[attr->type].n ? enum_table[attr->type].names[v] : "?";
        }
        if (attr->type == DAMON_TYPE_BOOL)
                return *(const bool *) p ? "Y" : "N";
        /* Decimal and unpadded: the kernel reads a leading zero as octal (lib/kstrtox.c). */
        if (attr->type == DAMON_TYPE_INT)
                (void) snprintf(buf, 32, "%d", *(const int *) p);
        else
                (void) snprintf(buf, 32, "%llu", (unsigned long long) *(const uint64_t *) p);
        return buf;
}

int damon_attr_parse(const DamonAttr *attr, const char *text, void *object) {
        void *p = (char *) object + attr->offset;

        if (enum_table[attr->type].names) {
                for (uint32_t i = 0; i < enum_table[attr->type].n; i++)
                        if (strcmp(enum_table[attr->type].names[i], text) == 0) {
                                *(uint32_t *) p = i;
                                return 0;
                        }
                return -EINVAL;
        }
        if (attr->type == DAMON_TYPE_BOOL)
                return parse_bool(text, p);
        if (attr->type == DAMON_TYPE_INT)
                return parse_int(text, p);
        return parse_u64(text, p);
}

bool damon_attr_equal(const DamonAttr *attr, const void *a, const void *b) {
        const void *x = field(attr, a), *y = field(attr, b);

        if (enum_table[attr->type].names)
                return *(const uint32_t *) x == *(const uint32_t *) y;
        if (attr->type == DAMON_TYPE_BOOL)
                return *(const bool *) x == *(const bool *) y;
        if (attr->type == DAMON_TYPE_INT)
                return *(const int *) x == *(const int *) y;
        return *(const uint64_t *) x == *(const uint64_t *) y;
}
