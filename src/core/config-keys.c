/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The one table of configuration keys. Whoever adds a key adds a row here and its item in
 * damon-tierd.conf(5); parsing, dump, sample and the check of the documents follow. Relations
 * between keys are core/config's business. */

#include <string.h>

#include "core/config-keys.h"
#include "core/config-types.h"
#include "core/slices.h"

#define MSEC UINT64_C(1000)
#define SEC (MSEC * 1000)
#define MIN_US (SEC * 60)
#define HOUR (MIN_US * 60)
#define DAY (HOUR * 24)

#define MIB (UINT64_C(1) << 20)
#define TIB (UINT64_C(1) << 40)

/* Rows of the key table. */
#define KEY(section_, key_, type_, struct_, field_)                    \
        .section = section_, .key = key_, .type = CONFIG_TYPE_##type_, \
        .expected = NOUN_##type_ ", " HINT_##type_, .offset = offsetof(struct_, field_)

static const ConfigKeyInfo keys[] = {
        {
                KEY("Policy", "Headroom", HEADROOM, Policy, headroom_mode),
                .default_text = "auto",
                /* Above half, the fast tier would be kept emptier than full. */
                .max = 5000,
                .help = "Memory that stays free in each node of the tier, so that promoted pages "
                        "and sudden demand find room. With 'auto' it follows the kernel's own "
                        "watermarks; a size or a share of the node's memory fixes it.",
        },
        {
                KEY("Policy", "PromoteRateLimit", RATE, Policy, promote_rate),
                .default_text = "400M/s",
                /* Below a few huge pages per second nothing useful ever arrives. */
                .min = MIB,
                .max = TIB,
                .help = "The most that each node of the tier may send to a faster tier.",
        },
        {
                KEY("Policy", "DemoteRateLimit", RATE, Policy, demote_rate),
                .default_text = "400M/s",
                .min = MIB,
                .max = TIB,
                .help = "The most that each node of the tier may send to a slower tier.",
        },
        {
                KEY("Policy", "PromoteMinAccess", RATIO, Policy, promote_min_access_bp),
                .default_text = "5%",
                /* At 0 memory that nobody touches would be promoted. */
                .min = 1,
                .max = 10000,
                .help = "How often memory must be seen accessed, as a share of the samples, to "
                        "be promoted.",
        },
        {
                KEY("Policy", "PromoteMinAge", DURATION, Policy, promote_min_age_us),
                .default_text = "0",
                .max = DAY,
                .help = "How long memory must have been that hot before it is promoted.",
        },
        {
                KEY("Policy", "DemoteMinAge", DURATION, Policy, demote_min_age_us),
                .default_text = "0",
                .max = DAY,
                .help = "How long memory must have been idle before it is demoted. Demotion takes "
                        "the coldest memory first in any case.",
        },
        {
                KEY("Policy", "YoungFilter", BOOL, Policy, young_filter),
                .default_text = "yes",
                .help = "Look at each page once more right before it moves: promote it only if it "
                        "was accessed again, demote it only if it was not.",
        },
        {
                KEY("Policy", "PromoteTo", DESTINATION, Policy, promote_to_mode),
                .set_offset = offsetof(Policy, promote_to),
                .default_text = "auto",
                .help = "Where promoted memory goes: 'auto' takes the nearest node of the next "
                        "faster tier, a node list the nearest of these nodes; 'none' switches "
                        "promotion off.",
        },
        {
                KEY("Policy", "DemoteTo", DESTINATION, Policy, demote_to_mode),
                .set_offset = offsetof(Policy, demote_to),
                .default_text = "auto",
                .help = "Where demoted memory goes: 'auto' takes the nearest node of the next "
                        "slower tier, a node list the nearest of these nodes; 'none' switches "
                        "demotion off.",
        },
        {
                KEY("Policy", "Kdamonds", AUTO_COUNT, Policy, kdamonds),
                .default_text = "auto",
                .min = 1,
                .max = SLICES_MAX,
                .help = "How many kernel threads share the work of each node of the tier; they "
                        "share its rate limit too. 'auto' adds some while one is the limit, and "
                        "takes them back when they idle.",
        },
        {
                KEY("Policy", "DailyWriteBudget", BUDGET, Policy, write_budget_bytes),
                .default_text = "none",
                .min = MIB,
                .max = 1024 * TIB,
                .help = "The most that may be moved into the nodes of the tier within a day, for "
                        "memory that wears.",
        },
        {
                KEY("Tier", "Nodes", NODES, TierConfig, nodes),
                .default_text = "",
                .help = "The NUMA nodes of the tier. Required; no node may be in two tiers.",
        },
        {
                KEY("Monitoring", "SampleInterval", DURATION, Monitoring, sample_us),
                .default_text = "5ms",
                .min = MSEC,
                /* The kernel answers commands only between samples. */
                .max = SEC,
                .help = "How often the kernel checks whether memory was accessed. Where the "
                        "kernel tunes the intervals, this is where it starts.",
        },
        {
                KEY("Monitoring", "AggregationInterval", DURATION, Monitoring, aggr_us),
                .default_text = "100ms",
                .min = MSEC,
                .max = 10 * MIN_US,
                .help = "How long the checks are summed up before memory is judged by them.",
        },
        {
                KEY("Monitoring", "UpdateInterval", DURATION, Monitoring, update_us),
                .default_text = "1min",
                .min = MSEC,
                .max = HOUR,
                /* mm/damon/paddr.c has no update operation; this is the kernel's own default. */
                .help = "How often the kernel looks whether the monitored memory itself changed.",
        },
        {
                KEY("Monitoring", "AccessGoal", RATIO, Monitoring, access_goal_bp),
                .default_text = "4%",
                .max = 10000,
                .help = "The share of possible access observations that the kernel shall aim at "
                        "when it tunes the intervals; 0 keeps them fixed.",
        },
        {
                KEY("Monitoring", "AccessGoalAggregations", COUNT, Monitoring, access_goal_aggrs),
                .default_text = "3",
                .min = 1,
                .max = 1000,
                .help = "How many aggregations the kernel looks at between two tuning steps.",
        },
        {
                KEY("Monitoring", "MinSampleInterval", DURATION, Monitoring, min_sample_us),
                .default_text = "5ms",
                .min = MSEC,
                .max = SEC,
                .help = "Tuning makes the sampling interval no shorter than this.",
        },
        {
                KEY("Monitoring", "MaxSampleInterval", DURATION, Monitoring, max_sample_us),
                /* Regions change once per aggregation, which is 20 samples: with 100 ms stragglers
                 * of a hot set that has moved waited 2 s and longer for each step. */
                .default_text = "20ms",
                .min = MSEC,
                .max = SEC,
                .help = "Tuning makes the sampling interval no longer than this. The kernel "
                        "answers commands only between samples, so this also bounds how long "
                        "they take.",
        },
        {
                KEY("Monitoring", "MinRegions", AUTO_COUNT, Monitoring, min_regions),
                .default_text = "auto",
                .min = 3, /* mm/damon/core.c:damon_set_attrs() refuses less */
                .max = 1000000,
                .help = "The least number of regions that the memory of a node is watched in; "
                        "'auto' goes by the size of the node.",
        },
        {
                KEY("Monitoring", "MaxRegions", AUTO_COUNT, Monitoring, max_regions),
                .default_text = "auto",
                .min = 3,
                .max = 1000000,
                .help = "The greatest number of regions. More regions find smaller hot spots and "
                        "cost more CPU time.",
        },
        {
                KEY("Guard", "PressureLimit", RATIO, GuardConfig, pressure_limit_bp),
                .default_text = "10%",
                .max = 10000,
                .help = "The share of time in which some task waits for memory (PSI) from which "
                        "on promotion slows down; 0 does not look at it.",
        },
        {
                KEY("Guard", "PressureCgroup", CGROUP, GuardConfig, pressure_group),
                .default_text = "",
                .help = "The control group whose tasks count, below the root of the cgroup tree; "
                        "empty counts all tasks of the machine.",
        },
        {
                KEY("Guard", "PingPong", BOOL, GuardConfig, ping_pong),
                .default_text = "yes",
                .help = "When a node goes on taking in about as much as it gives away, let only "
                        "memory leave it that has been idle for longer and longer, and only memory "
                        "enter that is in use up to three times as much as PromoteMinAccess= says.",
        },
        {
                KEY("Manager", "Interval", DURATION, ManagerConfig, interval_us),
                .default_text = "5s",
                .min = SEC,
                .max = HOUR,
                .help = "How often the daemon looks at the counters and adjusts.",
        },
        {
                KEY("Manager", "ReportInterval", DURATION, ManagerConfig, report_interval_us),
                .default_text = "1min",
                .max = DAY,
                .help = "How often a summary of what moved is logged; 0 logs changes only.",
        },
        {
                KEY("Manager", "CpuShare", RATIO, ManagerConfig, cpu_share_bp),
                .default_text = "25%",
                .max = 10000,
                .help = "The share of the machine's CPUs that Kdamonds=auto may employ; one "
                        "kdamond per node runs in any case.",
        },
        {
                KEY("Manager", "AtExit", AT_EXIT, ManagerConfig, at_exit),
                .default_text = "restore",
                .help = "What to do when the service stops: 'restore' ends tiering and gives back "
                        "every setting, 'keep' leaves the kernel tiering on its own until the "
                        "next start takes over.",
        },
        {
                KEY("Manager", "ForeignKdamonds", FOREIGN_KDAMONDS, ManagerConfig,
                    foreign_kdamonds),
                .default_text = "refuse",
                .help = "What to do when somebody else runs DAMON: 'refuse' fails with an "
                        "explanation, 'wait' tries again until it is free.",
        },
        {
                KEY("Manager", "DamonStat", DAMON_STAT, ManagerConfig, damon_stat),
                .default_text = "suspend",
                .help = "What to do about the kernel's DAMON_STAT module, which excludes every "
                        "other use of DAMON while it is on: 'suspend' switches it off and "
                        "restores it at exit, 'refuse' fails.",
        },
        {
                KEY("Manager", "ReclaimDemotion", RECLAIM_DEMOTION, ManagerConfig,
                    reclaim_demotion),
                .default_text = "enable",
                .help = "'enable' lets the kernel demote under memory pressure too, instead of "
                        "swapping or killing (demotion_enabled), and restores the setting at exit; "
                        "'leave' leaves it alone.",
        },
};

static const ConfigSectionInfo sections[] = {
        {
                .section = "Policy",
                .title = "[Policy]",
                .help = "How memory is moved, for all tiers.",
        },
        {
                .section = "Tier",
                .title = "[Tier NAME]",
                .help = "Tiers are found from what the firmware and the kernel say. To set them "
                        "by hand, name each one in a section of its own, the fastest first. A "
                        "tier may also have any key of [Policy], for itself alone.",
        },
        {
                .section = "Monitoring",
                .title = "[Monitoring]",
                .help = "How the kernel watches accesses to memory.",
        },
        {
                .section = "Guard",
                .title = "[Guard]",
                .help = "When tiering has to hold back.",
        },
        {
                .section = "Manager",
                .title = "[Manager]",
                .help = "How the daemon itself behaves.",
        },
};

const ConfigKeyInfo *config_key_find(const char *section, const char *key) {
        bool is_tier = strcmp(section, "Tier") == 0;

        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (strcmp(keys[i].key, key) == 0 &&
                    (strcmp(keys[i].section, section) == 0 ||
                     (is_tier && strcmp(keys[i].section, "Policy") == 0)))
                        return &keys[i];

        return NULL;
}

void *config_section_base(Config *config, const ConfigKeyInfo *key) {
        if (strcmp(key->section, "Policy") == 0)
                return &config->policy;
        if (strcmp(key->section, "Monitoring") == 0)
                return &config->monitoring;
        if (strcmp(key->section, "Guard") == 0)
                return &config->guard;
        if (strcmp(key->section, "Manager") == 0)
                return &config->manager;

        return NULL;
}

const ConfigKeyInfo *config_keys(size_t *ret_n) {
        *ret_n = ELEMENTSOF(keys);
        return keys;
}

const ConfigSectionInfo *config_sections(size_t *ret_n) {
        *ret_n = ELEMENTSOF(sections);
        return sections;
}
