/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "core/topology.h"

/* DAMON's sysfs tree as plain values, in the kernel's own words (mm/damon/sysfs.c,
 * mm/damon/sysfs-schemes.c, Documentation/admin-guide/mm/damon/usage.rst), and ONE attribute table
 * that ties each leaf to its field, to the capability that brings it and to the way it may change.
 * Pure: nothing here opens a file. */

#define DAMON_KDAMONDS_DIR "sys/kernel/mm/damon/admin/kdamonds"

/* Bounds of what we stage ourselves; a foreign tree may hold more and then reads as -E2BIG. */
#define DAMON_KDAMONDS_MAX 4096
#define DAMON_SCHEMES_MAX 4
#define DAMON_GOALS_MAX 2
#define DAMON_FILTERS_MAX 2

/* What this kernel's tree offers, found by looking at files (the release that brought it). */
typedef enum DamonCaps {
        DAMON_CAP_SYSFS = 1 << 0,           /* admin/ exists */
        DAMON_CAP_MIGRATE = 1 << 1,         /* target_nid: migrate_hot, migrate_cold (6.11) */
        DAMON_CAP_EFFECTIVE_BYTES = 1 << 2, /* quotas/effective_bytes (6.9) */
        DAMON_CAP_GOALS = 1 << 3,           /* quotas/goals (6.8) */
        DAMON_CAP_ALLOW = 1 << 4,           /* filters/F/allow (6.14) */
        DAMON_CAP_OPS_FILTERS = 1 << 5,     /* ops_filters/, core_filters/ (6.15) */
        DAMON_CAP_PASSED = 1 << 6,          /* stats/sz_ops_filter_passed (6.14) */
        DAMON_CAP_INTERVALS_GOAL = 1 << 7,  /* intervals_goal/, update_tuned_intervals (6.15) */
        DAMON_CAP_NODE_GOALS = 1 << 8,      /* goals/G/nid: node_mem_{used,free}_bp (6.16) */
        DAMON_CAP_REFRESH = 1 << 9,         /* refresh_ms (6.17) */
        DAMON_CAP_DESTS = 1 << 10,          /* dests/ (6.17) */
        DAMON_CAP_ADDR_UNIT = 1 << 11,      /* addr_unit (6.18) */
        DAMON_CAP_SNAPSHOTS = 1 << 12,      /* stats/nr_snapshots (7.0) */
        DAMON_CAP_GOAL_TUNER = 1 << 13,     /* quotas/goal_tuner: consist, temporal (7.1) */
        DAMON_CAP_FAIL_CHARGE = 1 << 14,    /* quotas/fail_charge_num (7.2) */
        DAMON_CAP_PAUSE = 1 << 15,          /* contexts/0/pause (7.2) */
        DAMON_CAP_STAT = 1 << 16,           /* the DAMON_STAT module (6.17) */
} DamonCaps;

/* "migrate", "goal-tuner", ...; NULL for anything but one single bit. */
const char *damon_cap_to_string(DamonCaps cap);
/* The release whose mainline kernel brought it: "7.1". */
const char *damon_cap_release(DamonCaps cap);
/* What a mainline kernel of that release offers, for a dry run, which may not stage anything to
 * look at. @release as uname(2) has it: "7.3.4+deb13-amd64". 0 when it is not understood. */
uint32_t damon_caps_of_release(const char *release);
/* All set bits, separated by blanks. Allocated; NULL without memory. */
char *damon_caps_to_string(uint32_t caps);

typedef enum DamonOps {
        DAMON_OPS_VADDR,
        DAMON_OPS_FVADDR,
        DAMON_OPS_PADDR,
        _DAMON_OPS_MAX,
} DamonOps;

typedef enum DamonAction {
        DAMON_ACTION_WILLNEED,
        DAMON_ACTION_COLD,
        DAMON_ACTION_PAGEOUT,
        DAMON_ACTION_HUGEPAGE,
        DAMON_ACTION_NOHUGEPAGE,
        DAMON_ACTION_COLLAPSE,
        DAMON_ACTION_LRU_PRIO,
        DAMON_ACTION_LRU_DEPRIO,
        DAMON_ACTION_MIGRATE_HOT,
        DAMON_ACTION_MIGRATE_COLD,
        DAMON_ACTION_STAT,
        _DAMON_ACTION_MAX,
} DamonAction;

typedef enum DamonGoalMetric {
        DAMON_GOAL_USER_INPUT,
        DAMON_GOAL_SOME_MEM_PSI_US,
        DAMON_GOAL_NODE_MEM_USED_BP,
        DAMON_GOAL_NODE_MEM_FREE_BP,
        DAMON_GOAL_NODE_MEMCG_USED_BP,
        DAMON_GOAL_NODE_MEMCG_FREE_BP,
        DAMON_GOAL_ACTIVE_MEM_BP,
        DAMON_GOAL_INACTIVE_MEM_BP,
        DAMON_GOAL_NODE_ELIGIBLE_MEM_BP,
        _DAMON_GOAL_METRIC_MAX,
} DamonGoalMetric;

typedef enum DamonTuner {
        DAMON_TUNER_CONSIST,
        DAMON_TUNER_TEMPORAL,
        _DAMON_TUNER_MAX,
} DamonTuner;

typedef enum DamonFilterType {
        DAMON_FILTER_ANON,
        DAMON_FILTER_ACTIVE,
        DAMON_FILTER_MEMCG,
        DAMON_FILTER_YOUNG,
        DAMON_FILTER_HUGEPAGE_SIZE,
        DAMON_FILTER_UNMAPPED,
        DAMON_FILTER_ADDR,
        DAMON_FILTER_TARGET,
        _DAMON_FILTER_TYPE_MAX,
} DamonFilterType;

typedef enum DamonWmarkMetric {
        DAMON_WMARK_NONE,
        DAMON_WMARK_FREE_MEM_RATE,
        _DAMON_WMARK_METRIC_MAX,
} DamonWmarkMetric;

const char *damon_action_to_string(DamonAction action);

typedef struct DamonGoal {
        uint32_t metric; /* DamonGoalMetric */
        uint64_t target_value;
        uint64_t current_value;
        int nid;
} DamonGoal;

typedef struct DamonFilter {
        uint32_t type; /* DamonFilterType */
        bool matching;
        bool allow;
} DamonFilter;

typedef struct DamonScheme {
        uint32_t action; /* DamonAction */
        int target_nid;
        uint64_t apply_interval_us; /* 0: the aggregation interval */
        uint64_t sz_min, sz_max;    /* bytes, both inclusive */
        uint64_t nr_accesses_min,
                nr_accesses_max;   /* samples per aggregation, 32 bits in the core */
        uint64_t age_min, age_max; /* aggregations, 32 bits in the core */
        uint64_t quota_ms;
        uint64_t quota_bytes;
        uint64_t quota_reset_interval_ms;
        uint32_t goal_tuner; /* DamonTuner */
        uint64_t fail_charge_num, fail_charge_denom;
        uint64_t weight_sz_permil, weight_nr_accesses_permil, weight_age_permil;
        uint32_t wmark_metric; /* DamonWmarkMetric */
        DamonGoal goals[DAMON_GOALS_MAX];
        size_t n_goals;
        DamonFilter filters[DAMON_FILTERS_MAX]; /* ops_filters/, before 6.15 filters/ */
        size_t n_filters;
} DamonScheme;

typedef struct DamonContext {
        uint32_t operations; /* DamonOps */
        uint64_t addr_unit;
        bool pause;
        uint64_t sample_us, aggr_us, update_us;
        uint64_t goal_access_bp, goal_aggrs, goal_min_sample_us, goal_max_sample_us;
        uint64_t min_nr_regions, max_nr_regions;
        size_t n_targets;     /* 0 or 1: contexts of process ids come later */
        AddressRange *ranges; /* regions of target 0, owned */
        size_t n_ranges;
        DamonScheme schemes[DAMON_SCHEMES_MAX];
        size_t n_schemes;
} DamonContext;

typedef struct DamonKdamond {
        bool on;
        int pid; /* -1: not running */
        uint64_t refresh_ms;
        size_t n_contexts; /* 0 or 1 */
        DamonContext context;
} DamonKdamond;

typedef struct DamonTree {
        DamonKdamond *kdamonds;
        size_t n_kdamonds;
} DamonTree;

void damon_tree_done(DamonTree *tree);
/* Deep copy. 0 or -ENOMEM. */
int damon_tree_copy(const DamonTree *tree, DamonTree *ret);
/* Values only: on and pid are not compared. */
bool damon_context_equal(const DamonContext *a, const DamonContext *b);
bool damon_tree_equal(const DamonTree *a, const DamonTree *b);

/* What a count file creates (mm/damon/sysfs.c:damon_sysfs_*_alloc). */
DamonScheme damon_scheme_default(void);
DamonContext damon_context_default(void);
DamonKdamond damon_kdamond_default(void);

typedef enum DamonLevel {
        DAMON_LEVEL_KDAMOND, /* DamonKdamond */
        DAMON_LEVEL_CONTEXT, /* DamonContext */
        DAMON_LEVEL_REGION,  /* AddressRange */
        DAMON_LEVEL_SCHEME,  /* DamonScheme */
        DAMON_LEVEL_GOAL,    /* DamonGoal */
        DAMON_LEVEL_FILTER,  /* DamonFilter */
        _DAMON_LEVEL_MAX,
} DamonLevel;

typedef enum DamonType {
        DAMON_TYPE_U64,
        DAMON_TYPE_INT,
        DAMON_TYPE_BOOL,
        DAMON_TYPE_OPS,
        DAMON_TYPE_ACTION,
        DAMON_TYPE_GOAL_METRIC,
        DAMON_TYPE_TUNER,
        DAMON_TYPE_FILTER_TYPE,
        DAMON_TYPE_WMARK_METRIC,
        _DAMON_TYPE_MAX,
} DamonType;

/* How a leaf may change while its kdamond runs, cheapest first. */
typedef enum DamonChange {
        DAMON_CHANGE_NOW,     /* the write itself takes effect */
        DAMON_CHANGE_GOALS,   /* commit_schemes_quota_goals suffices */
        DAMON_CHANGE_COMMIT,  /* commit */
        DAMON_CHANGE_RESTART, /* off and on again */
        _DAMON_CHANGE_MAX,
} DamonChange;

typedef struct DamonAttr {
        DamonLevel level;
        const char *leaf; /* path below the level's directory */
        DamonType type;
        size_t offset;
        uint32_t caps; /* needed for the leaf to exist */
        DamonChange change;
        bool tuned; /* the kernel rewrites it while intervals_goal is on */
} DamonAttr;

const DamonAttr *damon_attrs(size_t *ret_n);

/* The value of @attr in @object (of the attr's level) as the kernel takes it; @buf at least 32
 * bytes. */
const char *damon_attr_format(const DamonAttr *attr, const void *object, char buf[static 32]);
/* 0, or -EINVAL, -ERANGE when @text is not a value of the attribute's type. */
int damon_attr_parse(const DamonAttr *attr, const char *text, void *object);
bool damon_attr_equal(const DamonAttr *attr, const void *a, const void *b);

/* Names of directories below the one of a context or scheme, by capabilities. */
const char *damon_filters_dir(uint32_t caps);
