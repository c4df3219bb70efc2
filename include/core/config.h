/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "base/nodeset.h"

/* What the operator asked for. One key table (config_keys()) is the source of sections, keys,
 * types, ranges, defaults and help; parsing, --dump-config, the sample file and the man page
 * check all come from it. Pure: assignments come in, values or problems go out. */

typedef enum HeadroomMode {
        HEADROOM_AUTO,  /* from the kernel's zone watermarks */
        HEADROOM_BYTES, /* headroom_bytes */
        HEADROOM_RATIO, /* headroom_bp of the node's memory */
} HeadroomMode;

typedef enum DestinationMode {
        DESTINATION_AUTO,  /* the nearest node of the neighbouring tier */
        DESTINATION_NONE,  /* do not move in this direction */
        DESTINATION_NODES, /* the nearest of the nodes given */
} DestinationMode;

typedef enum AtExit {
        AT_EXIT_RESTORE, /* turn off what we started, empty the tree, restore the knobs */
        AT_EXIT_KEEP,    /* leave our kdamonds running; the next start adopts them */
} AtExit;

typedef enum ForeignKdamonds {
        FOREIGN_KDAMONDS_REFUSE, /* say so and fail */
        FOREIGN_KDAMONDS_WAIT,   /* say so and look again each interval */
} ForeignKdamonds;

typedef enum DamonStat {
        DAMON_STAT_SUSPEND, /* switch it off while we run, restore it at exit */
        DAMON_STAT_REFUSE,  /* leave it alone and fail while it runs */
} DamonStat;

/* How pages of one tier are moved; [Policy] holds the values for all tiers, [Tier NAME] may
 * override each of them. */
typedef struct Policy {
        HeadroomMode headroom_mode; /* Headroom=: free memory kept in this tier's nodes */
        uint64_t headroom_bytes;
        uint32_t headroom_bp;
        uint64_t promote_rate; /* PromoteRateLimit=: bytes/s and node, out of this tier upwards */
        uint64_t demote_rate;  /* DemoteRateLimit=: bytes/s and node, out of this tier downwards */
        uint32_t promote_min_access_bp;  /* PromoteMinAccess=: share of samples that saw access */
        uint64_t promote_min_age_us;     /* PromoteMinAge= */
        uint64_t demote_min_age_us;      /* DemoteMinAge= */
        bool young_filter;               /* YoungFilter=: look at each page again before it moves */
        DestinationMode promote_to_mode; /* PromoteTo= */
        NodeSet promote_to;
        DestinationMode demote_to_mode; /* DemoteTo= */
        NodeSet demote_to;
        uint32_t kdamonds;           /* Kdamonds=: per node; 0 is "auto" */
        uint64_t write_budget_bytes; /* DailyWriteBudget=: into the tier; 0 is "none" */
} Policy;

typedef struct TierConfig {
        char *name;
        NodeSet nodes; /* Nodes= */
        Policy policy; /* [Policy] with this tier's overrides applied */
} TierConfig;

typedef struct Monitoring {
        uint64_t sample_us;         /* SampleInterval= */
        uint64_t aggr_us;           /* AggregationInterval= */
        uint64_t update_us;         /* UpdateInterval= */
        uint32_t access_goal_bp;    /* AccessGoal=: 0 keeps the intervals fixed */
        uint32_t access_goal_aggrs; /* AccessGoalAggregations= */
        uint64_t min_sample_us;     /* MinSampleInterval= */
        uint64_t max_sample_us;     /* MaxSampleInterval= */
        uint32_t min_regions;       /* MinRegions=: 0 is "auto", from the size of the node */
        uint32_t max_regions;       /* MaxRegions=: 0 is "auto" */
} Monitoring;

#define CGROUP_MAX 256

typedef struct GuardConfig {
        uint32_t pressure_limit_bp;      /* PressureLimit=: share of time; 0 does not look */
        char pressure_group[CGROUP_MAX]; /* PressureCgroup=: below the cgroup root; "" is all */
        bool ping_pong;                  /* PingPong= */
} GuardConfig;

typedef enum ReclaimDemotion {
        RECLAIM_DEMOTION_ENABLE, /* demotion_enabled is switched on while we run */
        RECLAIM_DEMOTION_LEAVE,  /* it stays as it is */
} ReclaimDemotion;

typedef struct ManagerConfig {
        uint64_t interval_us;        /* Interval= */
        uint64_t report_interval_us; /* ReportInterval= */
        uint32_t cpu_share_bp;       /* CpuShare= */
        AtExit at_exit;
        ForeignKdamonds foreign_kdamonds;
        DamonStat damon_stat;
        ReclaimDemotion reclaim_demotion;
} ManagerConfig;

typedef struct Config {
        Policy policy;
        TierConfig *tiers; /* fastest first, as in the files; empty: tiers are found */
        size_t n_tiers;
        Monitoring monitoring;
        GuardConfig guard;
        ManagerConfig manager;
} Config;

/* One "Key=value" of a file, as io/conffile read it. Strings are borrowed. */
typedef struct ConfigAssignment {
        const char *path;
        unsigned line;
        const char *section; /* "Policy", "Tier fast", ... */
        const char *key;
        const char *value;
} ConfigAssignment;

/* Something wrong with an assignment. @text is a whole sentence with path and line in front:
 *   /etc/damon-tierd.conf:14: Manager.Interval=: '5x' is not a duration; expected e.g. '5s' */
typedef struct ConfigProblem {
        bool is_error; /* else a warning, e.g. an unknown key, with the nearest known key */
        char *path;
        unsigned line;
        char *key; /* "Manager.Interval" */
        char *text;
} ConfigProblem;

typedef struct ConfigProblems {
        ConfigProblem *items;
        size_t n_items;
        size_t n_alloc;
        size_t n_errors;
} ConfigProblems;

void config_problems_done(ConfigProblems *problems);

/* For io/conffile, which finds problems of syntax. 0 or -ENOMEM. */
int config_problems_add(ConfigProblems *problems, bool is_error, const char *path, unsigned line,
                        const char *key, const char *fmt, ...) _printf_(6, 7);
int config_problems_addv(ConfigProblems *problems, bool is_error, const char *path, unsigned line,
                         const char *key, const char *fmt, va_list ap) _printf_(6, 0);

/* The defaults alone. 0 or -ENOMEM. */
int config_new(Config **ret);
Config *config_free(Config *config);
DEFINE_FREEP(Config, config_free)

/* Defaults, then the assignments in their order (later ones win), then checks across keys.
 * Every problem is appended to @problems. 0 when there was no error (warnings allowed), -EINVAL
 * when there was at least one (nothing in *ret), -ENOMEM. */
int config_build(const ConfigAssignment *assignments, size_t n_assignments,
                 ConfigProblems *problems, Config **ret);

/* The effective configuration as a file that config_build() reads back to an equal Config.
 * Allocated; NULL without memory. */
char *config_dump(const Config *config);

/* The sample file: every key, commented out, at its default, with its help. */
char *config_sample(void);

/* The policy for tier @name, [Policy]'s when the tier is not configured. Borrowed. */
const Policy *config_tier_policy(const Config *config, const char *name);

/* How the text of a value is read. */
typedef enum ConfigType {
        CONFIG_TYPE_BOOL,
        CONFIG_TYPE_COUNT,       /* uint32_t */
        CONFIG_TYPE_AUTO_COUNT,  /* uint32_t, "auto" is 0 */
        CONFIG_TYPE_RATIO,       /* uint32_t, basis points */
        CONFIG_TYPE_RATE,        /* uint64_t, bytes per second */
        CONFIG_TYPE_DURATION,    /* uint64_t, microseconds */
        CONFIG_TYPE_HEADROOM,    /* the three headroom fields of Policy */
        CONFIG_TYPE_DESTINATION, /* DestinationMode and the NodeSet at set_offset */
        CONFIG_TYPE_NODES,       /* NodeSet */
        CONFIG_TYPE_BUDGET,      /* uint64_t, bytes; "none" is 0 */
        CONFIG_TYPE_CGROUP,      /* char[CGROUP_MAX], a path below the root of the cgroup tree */
        CONFIG_TYPE_AT_EXIT,
        CONFIG_TYPE_FOREIGN_KDAMONDS,
        CONFIG_TYPE_DAMON_STAT,
        CONFIG_TYPE_RECLAIM_DEMOTION,
        _CONFIG_TYPE_MAX,
} ConfigType;

/* The key table. */
typedef struct ConfigKeyInfo {
        const char *section; /* "Policy" keys may stand in "Tier" too */
        const char *key;
        const char *default_text;
        const char *help;
        const char *expected; /* "a duration, e.g. '5s'" */
        ConfigType type;
        size_t offset; /* in Policy, TierConfig, Monitoring or Manager, by section */
        size_t set_offset;
        uint64_t min; /* in the type's unit; a headroom's are of its ratio */
        uint64_t max;
} ConfigKeyInfo;

const ConfigKeyInfo *config_keys(size_t *ret_n);
