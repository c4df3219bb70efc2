/* SPDX-License-Identifier: GPL-2.0-or-later */

/* From assignments to a configuration: every row of the key table, what is said about mistakes, and
 * that a dumped configuration reads back. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macro.h"
#include "base/parse.h"
#include "core/config-keys.h"
#include "core/config-types.h"
#include "core/config.h"

#define PATH "/etc/damon-tierd.conf"

#define SEC_US UINT64_C(1000000)

#define A(section_, key_, value_) \
        { .path = PATH, .line = __LINE__, .section = section_, .key = key_, .value = value_ }

/* All problems, one a line, warnings marked; without path and line. */
static char *problems_text(const ConfigProblems *problems) {
        char *text = NULL;
        size_t size = 0;
        FILE *f = open_memstream(&text, &size);

        assert_non_null(f);
        for (size_t i = 0; i < problems->n_items; i++) {
                const ConfigProblem *p = &problems->items[i];
                _cleanup_(freep) char *where = NULL;

                assert_true(asprintf(&where, "%s:%u: ", p->path, p->line) > 0);
                assert_memory_equal(p->text, where, strlen(where));
                fprintf(f, "%s%s\n", p->is_error ? "" : "warning: ", p->text + strlen(where));
        }
        assert_int_equal(fclose(f), 0);
        return text;
}

/* Build; compare result and problems. The configuration goes to the caller. */
static Config *build(const ConfigAssignment *assignments, size_t n, const char *expected) {
        _cleanup_(config_problems_done) ConfigProblems problems = {};
        _cleanup_(freep) char *text = NULL;
        Config *config = NULL;
        int r;

        r = config_build(assignments, n, &problems, &config);
        text = problems_text(&problems);
        assert_string_equal(text, expected);
        assert_int_equal(r, problems.n_errors > 0 ? -EINVAL : 0);
        assert_true((r == 0) == (config != NULL));
        return config;
}

static void test_defaults(void **state) {
        _cleanup_(config_freep) Config *config = NULL;

        (void) state;
        assert_int_equal(config_new(&config), 0);
        assert_int_equal(config->policy.headroom_mode, HEADROOM_AUTO);
        assert_int_equal(config->policy.promote_rate, UINT64_C(400) << 20);
        assert_int_equal(config->policy.demote_rate, UINT64_C(400) << 20);
        assert_int_equal(config->policy.promote_min_access_bp, 500);
        assert_int_equal(config->policy.promote_min_age_us, 0);
        assert_int_equal(config->policy.demote_min_age_us, 0);
        assert_true(config->policy.young_filter);
        assert_int_equal(config->policy.promote_to_mode, DESTINATION_AUTO);
        assert_int_equal(config->policy.demote_to_mode, DESTINATION_AUTO);
        assert_int_equal(config->n_tiers, 0);
        assert_int_equal(config->monitoring.sample_us, 5000);
        assert_int_equal(config->monitoring.aggr_us, 100000);
        assert_int_equal(config->monitoring.update_us, 60 * SEC_US);
        assert_int_equal(config->monitoring.access_goal_bp, 400);
        assert_int_equal(config->monitoring.access_goal_aggrs, 3);
        assert_int_equal(config->monitoring.min_sample_us, 5000);
        assert_int_equal(config->monitoring.max_sample_us, 20000);
        assert_int_equal(config->monitoring.min_regions, 0);
        assert_int_equal(config->monitoring.max_regions, 0);
        assert_int_equal(config->manager.interval_us, 5 * SEC_US);
        assert_int_equal(config->manager.report_interval_us, 60 * SEC_US);
        assert_int_equal(config->manager.at_exit, AT_EXIT_RESTORE);
        assert_int_equal(config->manager.foreign_kdamonds, FOREIGN_KDAMONDS_REFUSE);
        assert_int_equal(config->manager.damon_stat, DAMON_STAT_SUSPEND);
}

/* One row per key: a value that is taken, one that is not of the type, one with a missing or wrong
 * unit, and values just out of range. */
static const struct Row {
        const char *section, *key;
        const char *good, *bad, *bad_unit, *low, *high;
        const char *complaint; /* about bad and bad_unit */
        const char *range;     /* about low and high */
} rows[] = {
        {"Policy", "Headroom", "2G", "much", "5", NULL, "50.01%",
         "is not a headroom; expected 'auto', a size, e.g. '2G', or a ratio, e.g. '5%'",
         "is out of range; expected 0 to 50%, or a size up to 1P"},
        {"Policy", "PromoteRateLimit", "1M/s", "fast", "400M", "1023K/s", "1025G/s",
         "is not a rate; expected e.g. '400M/s'", "is out of range; expected 1M/s to 1T/s"},
        {"Policy", "DemoteRateLimit", "1T/s", "fast", "400/s", "0", "2P/s",
         "is not a rate; expected e.g. '400M/s'", "is out of range; expected 1M/s to 1T/s"},
        {"Policy", "PromoteMinAccess", "0.01%", "often", "5", "0", "100.01%",
         "is not a ratio; expected e.g. '5%'", "is out of range; expected 0.01% to 100%"},
        {"Policy", "PromoteMinAge", "10s", "old", "10", NULL, "1d 1us",
         "is not a duration; expected e.g. '5s'", "is out of range; expected 0 to 1d"},
        {"Policy", "DemoteMinAge", "1min 30s", "old", "10m", NULL, "25h",
         "is not a duration; expected e.g. '5s'", "is out of range; expected 0 to 1d"},
        {"Policy", "YoungFilter", "no", "maybe", "1x", NULL, NULL,
         "is not a boolean; expected 'yes' or 'no'", NULL},
        {"Policy", "PromoteTo", "0,2", "fast", "0;2", NULL, "1024",
         "is not a destination; expected 'auto', 'none' or a node list, e.g. '0-1'",
         "is out of range; expected nodes 0 to 1023"},
        {"Policy", "DemoteTo", "none", "Auto", "2-1", NULL, "0-5000",
         "is not a destination; expected 'auto', 'none' or a node list, e.g. '0-1'",
         "is out of range; expected nodes 0 to 1023"},
        {"Policy", "Kdamonds", "4", "all", "x", "0", "65",
         "is not a number; expected 'auto' or e.g. '16'", "is out of range; expected 1 to 64"},
        {"Policy", "DailyWriteBudget", "10G", "much", "10G/s", "1K", "1025T",
         "is not a budget; expected 'none' or e.g. '500G'", "is out of range; expected 1M to 1P"},
        {"Tier fast", "Nodes", "0-1", "auto", "0,,1", NULL, "1024",
         "is not a node list; expected e.g. '0-3,7'", "is out of range; expected nodes 0 to 1023"},
        {"Monitoring", "SampleInterval", "10ms", "short", "5", "999us", "1s 1us",
         "is not a duration; expected e.g. '5s'", "is out of range; expected 1ms to 1s"},
        {"Monitoring", "AggregationInterval", "200ms", "long", "100", "999us", "11min",
         "is not a duration; expected e.g. '5s'", "is out of range; expected 1ms to 10min"},
        {"Monitoring", "UpdateInterval", "2s", "long", "1", "0", "61min",
         "is not a duration; expected e.g. '5s'", "is out of range; expected 1ms to 1h"},
        {"Monitoring", "AccessGoal", "0", "high", "4", NULL, "101%",
         "is not a ratio; expected e.g. '5%'", "is out of range; expected 0 to 100%"},
        {"Monitoring", "AccessGoalAggregations", "1000", "few", "3x", "0", "1001",
         "is not a number; expected e.g. '3'", "is out of range; expected 1 to 1000"},
        {"Monitoring", "MinSampleInterval", "1ms", "short", "5", "999us", "2s",
         "is not a duration; expected e.g. '5s'", "is out of range; expected 1ms to 1s"},
        {"Monitoring", "MaxSampleInterval", "1s", "long", "100", "0", "1s 1us",
         "is not a duration; expected e.g. '5s'", "is out of range; expected 1ms to 1s"},
        {"Monitoring", "MinRegions", "3", "few", "10K", "2", "1000001",
         "is not a number; expected 'auto' or e.g. '16'", "is out of range; expected 3 to 1000000"},
        {"Monitoring", "MaxRegions", "1000000", "many", "1e3", "0", "4294967296",
         "is not a number; expected 'auto' or e.g. '16'", "is out of range; expected 3 to 1000000"},
        {"Guard", "PressureLimit", "0", "much", "4", NULL, "101%",
         "is not a ratio; expected e.g. '5%'", "is out of range; expected 0 to 100%"},
        {"Guard", "PressureCgroup", "a.slice/b.service", "/a", "a/../b", NULL, NULL,
         "is not a control group; expected e.g. 'system.slice/db.service'", NULL},
        {"Guard", "PingPong", "no", "maybe", "2", NULL, NULL,
         "is not a boolean; expected 'yes' or 'no'", NULL},
        {"Manager", "Interval", "1min", "5x", "5", "999ms", "2h",
         "is not a duration; expected e.g. '5s'", "is out of range; expected 1s to 1h"},
        {"Manager", "ReportInterval", "0", "often", "60", NULL, "2d",
         "is not a duration; expected e.g. '5s'", "is out of range; expected 0 to 1d"},
        {"Manager", "CpuShare", "50%", "half", "4", NULL, "101%",
         "is not a ratio; expected e.g. '5%'", "is out of range; expected 0 to 100%"},
        {"Manager", "AtExit", "keep", "leave", "Keep", NULL, NULL,
         "is not a choice; expected 'restore' or 'keep'", NULL},
        {"Manager", "ForeignKdamonds", "wait", "kill", "yes", NULL, NULL,
         "is not a choice; expected 'refuse' or 'wait'", NULL},
        {"Manager", "DamonStat", "refuse", "restore", "no", NULL, NULL,
         "is not a choice; expected 'suspend' or 'refuse'", NULL},
        {"Manager", "ReclaimDemotion", "leave", "disable", "no", NULL, NULL,
         "is not a choice; expected 'enable' or 'leave'", NULL},
};

static const char *section_of(const struct Row *row) {
        return strcmp(row->section, "Tier fast") == 0 ? "Tier" : row->section;
}

static void test_rows_are_complete(void **state) {
        const ConfigKeyInfo *keys;
        size_t n_keys;

        (void) state;
        keys = config_keys(&n_keys);
        assert_int_equal(n_keys, ELEMENTSOF(rows));
        for (size_t i = 0; i < n_keys; i++) {
                assert_string_equal(keys[i].section, section_of(&rows[i]));
                assert_string_equal(keys[i].key, rows[i].key);
                assert_true(strlen(keys[i].help) > 20);
                assert_true(strlen(keys[i].expected) > 10);
        }
}

static void check_good(const struct Row *row, const char *section) {
        const ConfigAssignment assignments[] = {
                A(section, row->key, row->good),
                A("Tier fast", "Nodes", "0-1"),
                A("Tier slow", "Nodes", "4"),
        };
        _cleanup_(config_freep) Config *config = build(assignments, ELEMENTSOF(assignments), "");
        _cleanup_(freep) char *dump = config_dump(config), *line = NULL;

        assert_true(asprintf(&line, "\n%s=%s\n", row->key, row->good) > 0);
        if (!strstr(dump, line))
                fail_msg("%s=%s is not in:\n%s", row->key, row->good, dump);
}

static void check_refused(const struct Row *row, const char *section, const char *value,
                          const char *complaint) {
        const ConfigAssignment assignments[] = {
                A("Tier slow", "Nodes", "8"),
                A("Tier fast", "Nodes", "9"),
                A(section, row->key, value),
        };
        _cleanup_(freep) char *expected = NULL;

        assert_true(asprintf(&expected, "%s.%s=: '%s' %s\n", section, row->key, value, complaint) >
                    0);
        assert_null(build(assignments, ELEMENTSOF(assignments), expected));
}

/* An empty value puts the default back. */
static void check_empty(const struct Row *row, const char *section) {
        const ConfigAssignment with[] = {
                A("Tier fast", "Nodes", "0-1"),
                A("Tier slow", "Nodes", "4"),
                A(section, row->key, row->good),
                A(section, row->key, ""),
        };
        _cleanup_(config_freep) Config *reset = NULL, *without = NULL;
        _cleanup_(freep) char *reset_dump = NULL, *without_dump = NULL;

        if (strcmp(row->key, "Nodes") == 0)
                return; /* has no default; see test_tiers */

        reset = build(with, 4, "");
        without = build(with, 2, "");
        reset_dump = config_dump(reset);
        without_dump = config_dump(without);
        assert_string_equal(reset_dump, without_dump);
}

static void check_row(const struct Row *row, const char *section) {
        check_good(row, section);
        check_empty(row, section);
        check_refused(row, section, row->bad, row->complaint);
        check_refused(row, section, row->bad_unit, row->complaint);
        if (row->low)
                check_refused(row, section, row->low, row->range);
        if (row->high)
                check_refused(row, section, row->high, row->range);
}

static void test_rows(void **state) {
        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                check_row(&rows[i], rows[i].section);
                if (strcmp(rows[i].section, "Policy") == 0)
                        check_row(&rows[i], "Tier slow");
        }
}

static void test_headroom(void **state) {
        static const struct {
                const char *text;
                HeadroomMode mode;
                uint64_t bytes;
                uint32_t bp;
        } cases[] = {
                {"auto", HEADROOM_AUTO, 0, 0},
                {"0", HEADROOM_BYTES, 0, 0},
                {"512M", HEADROOM_BYTES, UINT64_C(512) << 20, 0},
                {"1P", HEADROOM_BYTES, UINT64_C(1) << 50, 0},
                {"2.5%", HEADROOM_RATIO, 0, 250},
                {"50%", HEADROOM_RATIO, 0, 5000},
                {"0%", HEADROOM_RATIO, 0, 0},
                {"7bp", HEADROOM_RATIO, 0, 7},
                {"", HEADROOM_AUTO, 0, 0},
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                const ConfigAssignment assignments[] = {
                        A("Policy", "Headroom", "33%"),
                        A("Policy", "Headroom", "33G"),
                        A("Policy", "Headroom", cases[i].text),
                };
                _cleanup_(config_freep) Config *config = build(assignments, 3, "");

                assert_int_equal(config->policy.headroom_mode, cases[i].mode);
                assert_int_equal(config->policy.headroom_bytes, cases[i].bytes);
                assert_int_equal(config->policy.headroom_bp, cases[i].bp);
        }

        {
                const ConfigAssignment assignments[] = {
                        A("Policy", "Headroom", "1025T"),
                        A("Policy", "Headroom", "99999P"),
                };

                assert_null(build(assignments, 2,
                                  "Policy.Headroom=: '1025T' is out of range; expected 0 to 50%, "
                                  "or a size up to 1P\n"
                                  "Policy.Headroom=: '99999P' is out of range; expected 0 to 50%, "
                                  "or a size up to 1P\n"));
        }
}

static void test_tiers(void **state) {
        const ConfigAssignment assignments[] = {
                A("Tier fast", "YoungFilter", "no"),
                A("Tier slow", "Nodes", "1,3"),
                A("Policy", "DemoteRateLimit", "10M/s"),
                A("Tier fast", "Nodes", "0"),
                A("Tier fast", "DemoteRateLimit", "20M/s"),
                A("Tier  slow", "PromoteTo", "0"),
                A("Policy", "YoungFilter", "yes"),
                A("Policy", "DemoteRateLimit", "30M/s"),
                /* a drop-in */
                A("Tier fast", "DemoteRateLimit", ""),
                A("Tier slow", "Nodes", "2,3"),
        };
        _cleanup_(config_freep) Config *config = build(assignments, ELEMENTSOF(assignments), "");
        const Policy *policy;
        NodeSet expected;

        (void) state;
        assert_int_equal(config->n_tiers, 2);
        assert_string_equal(config->tiers[0].name, "fast");
        assert_string_equal(config->tiers[1].name, "slow");
        assert_int_equal(parse_nodeset("2-3", &expected), 0);
        assert_true(nodeset_equal(&config->tiers[1].nodes, &expected));

        /* The tier's own value wins wherever it stands; an empty one gives way to [Policy]. */
        policy = config_tier_policy(config, "fast");
        assert_ptr_equal(policy, &config->tiers[0].policy);
        assert_false(policy->young_filter);
        assert_int_equal(policy->demote_rate, UINT64_C(30) << 20);

        policy = config_tier_policy(config, "slow");
        assert_true(policy->young_filter);
        assert_int_equal(policy->promote_to_mode, DESTINATION_NODES);
        assert_true(nodeset_has(&policy->promote_to, 0));

        assert_ptr_equal(config_tier_policy(config, "1"), &config->policy);
}

typedef struct Mistake {
        const char *name;
        ConfigAssignment assignments[6];
        const char *problems;
} Mistake;

static void check_mistakes(const Mistake *mistakes, size_t n_mistakes) {
        for (size_t i = 0; i < n_mistakes; i++) {
                size_t n = 0;

                while (n < ELEMENTSOF(mistakes[i].assignments) && mistakes[i].assignments[n].path)
                        n++;

                print_message("%s\n", mistakes[i].name);
                config_free(build(mistakes[i].assignments, n, mistakes[i].problems));
        }
}

static void test_tier_mistakes(void **state) {
        static const Mistake mistakes[] = {
                {
                        "only one",
                        {A("Tier one", "Nodes", "0")},
                        "warning: [Tier one]: this is the only tier, nothing will move\n",
                },
                {
                        "no nodes",
                        {A("Tier one", "Nodes", "0"), A("Tier two", "YoungFilter", "no")},
                        "[Tier two]: the tier has no Nodes=; expected e.g. Nodes=0-1\n",
                },
                {
                        "nodes taken back",
                        {A("Tier one", "Nodes", "0"), A("Tier two", "Nodes", "1"),
                         A("Tier two", "Nodes", "")},
                        "[Tier two]: the tier has no Nodes=; expected e.g. Nodes=0-1\n",
                },
                {
                        "overlap",
                        {A("Tier one", "Nodes", "0-3"), A("Tier two", "Nodes", "3-4"),
                         A("Tier three", "Nodes", "0,4")},
                        "Tier two.Nodes=: '3-4' has nodes of tier 'one'; expected each node in "
                        "one tier only\n"
                        "Tier three.Nodes=: '0,4' has nodes of tier 'one'; expected each node in "
                        "one tier only\n"
                        "Tier three.Nodes=: '0,4' has nodes of tier 'two'; expected each node in "
                        "one tier only\n",
                },
                {
                        "overlap mended later",
                        {A("Tier one", "Nodes", "0-1"), A("Tier two", "Nodes", "1"),
                         A("Tier one", "Nodes", "0")},
                        "",
                },
                {
                        "no name",
                        {A("Tier", "Nodes", "0"), A("Tier ", "Nodes", "0")},
                        "[Tier]: a tier needs a name; expected e.g. [Tier fast]\n"
                        "[Tier ]: a tier needs a name; expected e.g. [Tier fast]\n",
                },
                {
                        "said once per section",
                        {A("Tier a.b", "Nodes", "0"), A("Tier a.b", "YoungFilter", "no"),
                         A("Policy", "YoungFilter", "no"),
                         A("Tier 012345678901234567890123456789012", "Nodes", "0")},
                        "[Tier a.b]: 'a.b' is not a tier name; expected at most 32 letters, "
                        "digits, '-' and '_'\n"
                        "[Tier 012345678901234567890123456789012]: "
                        "'012345678901234567890123456789012' is not a tier name; expected at most "
                        "32 letters, digits, '-' and '_'\n",
                },
                {
                        "longest name",
                        {A("Tier 01234567890123456789012345678_-A", "Nodes", "0"),
                         A("Tier b", "Nodes", "1")},
                        "",
                },
                {
                        "promotes to itself",
                        {A("Tier one", "Nodes", "0"), A("Tier two", "Nodes", "1-2"),
                         A("Tier two", "PromoteTo", "0,2"), A("Tier one", "DemoteTo", "0")},
                        "Tier one.DemoteTo=: '0' has nodes of this tier itself; expected nodes of "
                        "another tier\n"
                        "Tier two.PromoteTo=: '0,2' has nodes of this tier itself; expected nodes "
                        "of another tier\n",
                },
                {
                        "promotes to itself, mended later",
                        {A("Tier one", "Nodes", "0"), A("Tier two", "Nodes", "1-2"),
                         A("Tier two", "PromoteTo", "2"), A("Tier two", "PromoteTo", "auto")},
                        "",
                },
                {
                        "common destination may lie in a tier",
                        {A("Tier one", "Nodes", "0"), A("Tier two", "Nodes", "1"),
                         A("Policy", "PromoteTo", "0")},
                        "",
                },
        };

        (void) state;
        check_mistakes(mistakes, ELEMENTSOF(mistakes));
}

static void test_too_many_tiers(void **state) {
        char names[70][16], nodes[70][8];
        ConfigAssignment assignments[70];

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(assignments); i++) {
                snprintf(names[i], sizeof(names[i]), "Tier t%zu", i);
                snprintf(nodes[i], sizeof(nodes[i]), "%zu", i);
                assignments[i] = (ConfigAssignment) A(names[i], "Nodes", nodes[i]);
        }

        config_free(build(assignments, 64, ""));
        config_free(build(assignments, ELEMENTSOF(assignments),
                          "[Tier t64]: there are more than 64 tiers\n"));
}

static void test_unknown(void **state) {
        static const Mistake mistakes[] = {
                {
                        "near key",
                        {A("Policy", "Hedroom", "auto")},
                        "warning: Policy.Hedroom=: unknown key, did you mean 'Headroom'?\n",
                },
                {
                        "other case",
                        {A("Manager", "interval", "5s")},
                        "warning: Manager.interval=: unknown key, did you mean 'Interval'?\n",
                },
                {
                        "policy key in a tier",
                        {A("Tier a", "Nodes", "0"), A("Tier b", "Nodes", "1"),
                         A("Tier b", "YuongFilter", "no"), A("Tier b", "Node", "no")},
                        "warning: Tier b.YuongFilter=: unknown key, did you mean 'YoungFilter'?\n"
                        "warning: Tier b.Node=: unknown key, did you mean 'Nodes'?\n",
                },
                {
                        "far key",
                        {A("Policy", "Colour", "red")},
                        "warning: Policy.Colour=: unknown key, ignoring\n",
                },
                {
                        "wrong section",
                        {A("Policy", "Interval", "5s"), A("Manager", "Headroom", "auto"),
                         A("Policy", "Nodes", "0"), A("Monitoring", "YoungFilter", "1")},
                        "warning: Policy.Interval=: this key belongs into [Manager], not into "
                        "[Policy], ignoring\n"
                        "warning: Manager.Headroom=: this key belongs into [Policy], not into "
                        "[Manager], ignoring\n"
                        "warning: Policy.Nodes=: this key belongs into [Tier NAME], not into "
                        "[Policy], ignoring\n"
                        "warning: Monitoring.YoungFilter=: this key belongs into [Policy], not "
                        "into [Monitoring], ignoring\n",
                },
                {
                        "section",
                        {A("Manger", "Interval", "5x"), A("Manger", "AtExit", "keep"),
                         A("Policy", "YoungFilter", "no"), A("Colours", "Red", "1"),
                         A("manager", "Interval", "5s")},
                        "warning: [Manger]: unknown section, did you mean [Manager]?\n"
                        "warning: [Colours]: unknown section, ignoring its keys\n"
                        "warning: [manager]: unknown section, did you mean [Manager]?\n",
                },
                {
                        "section names are whole",
                        {A("Policy2", "Headroom", "x"), A("Tiers fast", "Nodes", "x")},
                        "warning: [Policy2]: unknown section, did you mean [Policy]?\n"
                        "warning: [Tiers fast]: unknown section, ignoring its keys\n",
                },
        };

        (void) state;
        check_mistakes(mistakes, ELEMENTSOF(mistakes));
}

static void test_across_keys(void **state) {
        static const Mistake mistakes[] = {
                {
                        "sample above aggregation, sample set",
                        {A("Monitoring", "AccessGoal", "0"),
                         A("Monitoring", "SampleInterval", "200ms")},
                        "Monitoring.SampleInterval=: '200ms' is more than AggregationInterval=; "
                        "expected at most '100ms'\n",
                },
                {
                        "sample above aggregation, aggregation set",
                        {A("Monitoring", "AggregationInterval", "4ms")},
                        "Monitoring.AggregationInterval=: '4ms' is less than SampleInterval=; "
                        "expected at least '5ms'\n",
                },
                {
                        "both set, the later one is told",
                        {A("Monitoring", "AggregationInterval", "10ms"),
                         A("Monitoring", "SampleInterval", "20ms")},
                        "Monitoring.SampleInterval=: '20ms' is more than AggregationInterval=; "
                        "expected at most '10ms'\n",
                },
                {
                        "equal is fine",
                        {A("Monitoring", "AggregationInterval", "20ms"),
                         A("Monitoring", "SampleInterval", "20ms")},
                        "",
                },
                {
                        "outside of the tuning's bounds",
                        {A("Monitoring", "SampleInterval", "2ms")},
                        "Monitoring.SampleInterval=: '2ms' is less than MinSampleInterval=; "
                        "expected at least '5ms'\n",
                },
                {
                        "bounds do not matter without tuning",
                        {A("Monitoring", "SampleInterval", "2ms"),
                         A("Monitoring", "AccessGoal", "0")},
                        "",
                },
                {
                        "above the tuning's bounds",
                        {A("Monitoring", "AggregationInterval", "1s"),
                         A("Monitoring", "SampleInterval", "21ms")},
                        "Monitoring.SampleInterval=: '21ms' is more than MaxSampleInterval=; "
                        "expected at most '20ms'\n",
                },
                {
                        "bounds crossed",
                        {A("Monitoring", "MinSampleInterval", "500ms"),
                         A("Monitoring", "AccessGoal", "0")},
                        "Monitoring.MinSampleInterval=: '500ms' is more than MaxSampleInterval=; "
                        "expected at most '20ms'\n",
                },
                {
                        "regions crossed",
                        {A("Monitoring", "MinRegions", "100"), A("Monitoring", "MaxRegions", "99")},
                        "Monitoring.MaxRegions=: '99' is less than MinRegions=; expected at least "
                        "'100'\n",
                },
                {
                        "regions, one of them auto",
                        {A("Monitoring", "MinRegions", "100"),
                         A("Monitoring", "MaxRegions", "auto")},
                        "",
                },
                {
                        "too many samples",
                        {A("Monitoring", "SampleInterval", "1ms"),
                         A("Monitoring", "MinSampleInterval", "1ms"),
                         A("Monitoring", "AggregationInterval", "66s")},
                        "Monitoring.AggregationInterval=: an aggregation would have 66000 "
                        "samples; expected at most 65535, as AggregationInterval= divided by "
                        "SampleInterval=\n",
                },
                {
                        "nothing is made of a bad value",
                        {A("Monitoring", "SampleInterval", "x"),
                         A("Monitoring", "AggregationInterval", "1ms")},
                        "Monitoring.SampleInterval=: 'x' is not a duration; expected e.g. '5s'\n",
                },
                {
                        "reports more often than ticks",
                        {A("Manager", "Interval", "2min"), A("Manager", "ReportInterval", "1min")},
                        "Manager.ReportInterval=: '1min' is less than Interval=; expected at "
                        "least '2min'\n",
                },
                {
                        "no reports",
                        {A("Manager", "Interval", "2min"), A("Manager", "ReportInterval", "0")},
                        "",
                },
        };

        (void) state;
        check_mistakes(mistakes, ELEMENTSOF(mistakes));
}

static void test_report_follows_interval(void **state) {
        static const ConfigAssignment assignments[] = {
                A("Manager", "Interval", "2min"),
                A("Manager", "ReportInterval", ""),
        };

        (void) state;
        for (size_t n = 1; n <= 2; n++) {
                _cleanup_(config_freep) Config *config = build(assignments, n, "");

                assert_int_equal(config->manager.report_interval_us, 120 * SEC_US);
        }
}

static void test_all_are_reported(void **state) {
        static const ConfigAssignment assignments[] = {
                {"/etc/a.conf", 14, "Manager", "Interval", "5x"},
                {"/etc/a.conf", 15, "Manager", "Intervall", "5s"},
                {"/etc/b.conf", 2, "Policy", "Headroom", "99%"},
                {"/etc/b.conf", 3, "Manager", "Interval", "5s"},
        };
        static const struct {
                const char *key, *text;
                unsigned line;
                bool is_error;
        } expected[] = {
                {"Manager.Interval",
                 "/etc/a.conf:14: Manager.Interval=: '5x' is not a duration; expected e.g. '5s'",
                 14, true},
                {"Manager.Intervall",
                 "/etc/a.conf:15: Manager.Intervall=: unknown key, did you mean 'Interval'?", 15,
                 false},
                {"Policy.Headroom",
                 "/etc/b.conf:2: Policy.Headroom=: '99%' is out of range; expected 0 to 50%, or a "
                 "size up to 1P",
                 2, true},
        };
        _cleanup_(config_problems_done) ConfigProblems problems = {};
        Config *config = NULL;

        (void) state;
        assert_int_equal(config_build(assignments, 4, &problems, &config), -EINVAL);
        assert_null(config);
        assert_int_equal(problems.n_items, 3);
        assert_int_equal(problems.n_errors, 2);
        for (size_t i = 0; i < 3; i++) {
                assert_string_equal(problems.items[i].text, expected[i].text);
                assert_string_equal(problems.items[i].key, expected[i].key);
                assert_int_equal(problems.items[i].line, expected[i].line);
                assert_int_equal(problems.items[i].is_error, expected[i].is_error);
        }

        /* Problems of syntax, found before, do not make a later build fail. */
        assert_int_equal(config_build(NULL, 0, &problems, &config), 0);
        config_free(config);
}

static void test_problem_texts(void **state) {
        _cleanup_(config_problems_done) ConfigProblems problems = {};

        (void) state;
        assert_int_equal(config_problems_add(&problems, true, "/a", 3, "K", "x %d", 1), 0);
        assert_int_equal(config_problems_add(&problems, true, "/a", 3, NULL, "x"), 0);
        assert_int_equal(config_problems_add(&problems, false, "/a", 0, NULL, "x"), 0);
        assert_int_equal(config_problems_add(&problems, false, NULL, 0, NULL, "x"), 0);
        assert_string_equal(problems.items[0].text, "/a:3: K=: x 1");
        assert_string_equal(problems.items[1].text, "/a:3: x");
        assert_string_equal(problems.items[2].text, "/a: x");
        assert_string_equal(problems.items[3].text, "x");
        assert_int_equal(problems.n_errors, 2);
}

/* "[S]" and "K=v" lines of well-formed text, as a dump is. The text is cut into pieces in place. */
static size_t split(char *text, ConfigAssignment *assignments, size_t max) {
        const char *section = NULL;
        size_t n = 0;
        unsigned line = 0;

        for (char *p = strtok(text, "\n"); p; p = strtok(NULL, "\n")) {
                line++;
                if (*p == '[') {
                        section = p + 1;
                        *strchr(p, ']') = '\0';
                } else if (*p != '#') {
                        char *value = strchr(p, '=');

                        assert_non_null(section);
                        assert_non_null(value);
                        assert_true(n < max);
                        *value++ = '\0';
                        assignments[n++] = (ConfigAssignment){PATH, line, section, p, value};
                }
        }

        return n;
}

static void assert_policy_equal(const Policy *a, const Policy *b) {
        assert_int_equal(a->headroom_mode, b->headroom_mode);
        assert_int_equal(a->headroom_bytes, b->headroom_bytes);
        assert_int_equal(a->headroom_bp, b->headroom_bp);
        assert_int_equal(a->promote_rate, b->promote_rate);
        assert_int_equal(a->demote_rate, b->demote_rate);
        assert_int_equal(a->promote_min_access_bp, b->promote_min_access_bp);
        assert_int_equal(a->promote_min_age_us, b->promote_min_age_us);
        assert_int_equal(a->demote_min_age_us, b->demote_min_age_us);
        assert_int_equal(a->young_filter, b->young_filter);
        assert_int_equal(a->promote_to_mode, b->promote_to_mode);
        assert_true(nodeset_equal(&a->promote_to, &b->promote_to));
        assert_int_equal(a->demote_to_mode, b->demote_to_mode);
        assert_true(nodeset_equal(&a->demote_to, &b->demote_to));
        assert_int_equal(a->kdamonds, b->kdamonds);
        assert_int_equal(a->write_budget_bytes, b->write_budget_bytes);
}

static void assert_config_equal(const Config *a, const Config *b) {
        assert_policy_equal(&a->policy, &b->policy);
        assert_int_equal(a->n_tiers, b->n_tiers);
        for (size_t i = 0; i < a->n_tiers; i++) {
                assert_string_equal(a->tiers[i].name, b->tiers[i].name);
                assert_true(nodeset_equal(&a->tiers[i].nodes, &b->tiers[i].nodes));
                assert_policy_equal(&a->tiers[i].policy, &b->tiers[i].policy);
        }
        assert_int_equal(a->monitoring.sample_us, b->monitoring.sample_us);
        assert_int_equal(a->monitoring.aggr_us, b->monitoring.aggr_us);
        assert_int_equal(a->monitoring.update_us, b->monitoring.update_us);
        assert_int_equal(a->monitoring.access_goal_bp, b->monitoring.access_goal_bp);
        assert_int_equal(a->monitoring.access_goal_aggrs, b->monitoring.access_goal_aggrs);
        assert_int_equal(a->monitoring.min_sample_us, b->monitoring.min_sample_us);
        assert_int_equal(a->monitoring.max_sample_us, b->monitoring.max_sample_us);
        assert_int_equal(a->monitoring.min_regions, b->monitoring.min_regions);
        assert_int_equal(a->monitoring.max_regions, b->monitoring.max_regions);
        assert_int_equal(a->manager.interval_us, b->manager.interval_us);
        assert_int_equal(a->manager.report_interval_us, b->manager.report_interval_us);
        assert_int_equal(a->manager.at_exit, b->manager.at_exit);
        assert_int_equal(a->manager.foreign_kdamonds, b->manager.foreign_kdamonds);
        assert_int_equal(a->manager.damon_stat, b->manager.damon_stat);
        assert_int_equal(a->manager.cpu_share_bp, b->manager.cpu_share_bp);
        assert_int_equal(a->manager.reclaim_demotion, b->manager.reclaim_demotion);
        assert_int_equal(a->guard.pressure_limit_bp, b->guard.pressure_limit_bp);
        assert_string_equal(a->guard.pressure_group, b->guard.pressure_group);
        assert_int_equal(a->guard.ping_pong, b->guard.ping_pong);
}

static uint64_t next_random(uint64_t *seed) {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        return *seed;
}

static uint64_t between(uint64_t *seed, uint64_t min, uint64_t max) {
        return min + next_random(seed) % (max - min + 1);
}

static NodeSet random_nodes(uint64_t *seed, int from, int to) {
        NodeSet nodes = {};

        for (uint64_t n = between(seed, 1, 5); n > 0; n--)
                nodeset_add(&nodes, (int) between(seed, (uint64_t) from, (uint64_t) to));

        return nodes;
}

static void random_destination(uint64_t *seed, DestinationMode *ret_mode, NodeSet *ret) {
        *ret_mode = (DestinationMode) between(seed, 0, 2);
        *ret = (NodeSet){};
        if (*ret_mode == DESTINATION_NODES)
                *ret = random_nodes(seed, 900, NODES_MAX - 1); /* clear of the tiers' nodes */
}

static Policy random_policy(uint64_t *seed) {
        Policy p = {
                .headroom_mode = (HeadroomMode) between(seed, 0, 2),
                .promote_rate = between(seed, UINT64_C(1) << 20, UINT64_C(1) << 40),
                .demote_rate = between(seed, 1, 1 << 20) << 20,
                .promote_min_access_bp = (uint32_t) between(seed, 1, 10000),
                .promote_min_age_us = between(seed, 0, 86400 * SEC_US),
                .demote_min_age_us = between(seed, 0, 100) * SEC_US,
                .young_filter = between(seed, 0, 1),
                .kdamonds = (uint32_t) between(seed, 0, 64),
                .write_budget_bytes = between(seed, 0, 1) * between(seed, 1, 1 << 30) << 20,
        };

        if (p.headroom_mode == HEADROOM_BYTES)
                p.headroom_bytes = between(seed, 0, UINT64_C(1) << 50);
        if (p.headroom_mode == HEADROOM_RATIO)
                p.headroom_bp = (uint32_t) between(seed, 0, 5000);
        random_destination(seed, &p.promote_to_mode, &p.promote_to);
        random_destination(seed, &p.demote_to_mode, &p.demote_to);
        return p;
}

static Config *random_config(uint64_t *seed) {
        Config *config = NULL;
        Monitoring *m;

        assert_int_equal(config_new(&config), 0);
        config->policy = random_policy(seed);
        config->n_tiers = between(seed, 0, 4);
        config->n_tiers += config->n_tiers == 1; /* one alone has a warning */
        config->tiers = calloc(config->n_tiers + 1, sizeof(*config->tiers));
        assert_non_null(config->tiers);
        for (size_t i = 0; i < config->n_tiers; i++) {
                TierConfig *tier = &config->tiers[i];
                int first = (int) i * 100;

                assert_true(asprintf(&tier->name, "t-%zu_%u", i, (unsigned) between(seed, 0, 999)) >
                            0);
                tier->nodes = random_nodes(seed, first, first + 99);
                tier->policy = between(seed, 0, 1) ? random_policy(seed) : config->policy;
        }

        m = &config->monitoring;
        m->access_goal_bp = (uint32_t) (between(seed, 0, 3) ? between(seed, 1, 10000) : 0);
        m->access_goal_aggrs = (uint32_t) between(seed, 1, 1000);
        m->min_sample_us = between(seed, 1000, 500000);
        m->max_sample_us = between(seed, m->min_sample_us, SEC_US);
        m->sample_us = between(seed, m->min_sample_us, m->max_sample_us);
        m->aggr_us = m->sample_us * between(seed, 1, 100);
        m->update_us = between(seed, 1000, 3600 * SEC_US);
        m->min_regions = (uint32_t) (between(seed, 0, 1) ? between(seed, 3, 1000) : 0);
        m->max_regions = (uint32_t) (between(seed, 0, 1) ? between(seed, 1000, 1000000) : 0);

        config->manager.interval_us = between(seed, SEC_US, 3600 * SEC_US);
        config->manager.report_interval_us =
                between(seed, 0, 3) ? between(seed, 3600, 86400) * SEC_US : 0;
        config->manager.at_exit = (AtExit) between(seed, 0, 1);
        config->manager.foreign_kdamonds = (ForeignKdamonds) between(seed, 0, 1);
        config->manager.damon_stat = (DamonStat) between(seed, 0, 1);
        config->manager.cpu_share_bp = (uint32_t) between(seed, 0, 10000);
        config->manager.reclaim_demotion = (ReclaimDemotion) between(seed, 0, 1);
        config->guard.pressure_limit_bp = (uint32_t) between(seed, 0, 10000);
        config->guard.ping_pong = between(seed, 0, 1);
        if (between(seed, 0, 1))
                strcpy(config->guard.pressure_group, "machine.slice/x");
        return config;
}

static void test_dump_reads_back(void **state) {
        uint64_t seed = 20240229;

        (void) state;
        for (unsigned i = 0; i < 2000; i++) {
                _cleanup_(config_freep) Config *config = random_config(&seed), *back = NULL;
                _cleanup_(freep) char *dump = config_dump(config), *copy = strdup(dump),
                                      *again = NULL;
                ConfigAssignment assignments[128];
                size_t n;

                n = split(copy, assignments, ELEMENTSOF(assignments));
                back = build(assignments, n, "");
                assert_config_equal(config, back);

                again = config_dump(back);
                assert_string_equal(again, dump);
        }
}

static void test_dump_of_defaults(void **state) {
        _cleanup_(config_freep) Config *config = NULL;
        _cleanup_(freep) char *dump = NULL;
        const ConfigKeyInfo *keys;
        size_t n_keys;

        (void) state;
        assert_int_equal(config_new(&config), 0);
        dump = config_dump(config);
        keys = config_keys(&n_keys);
        for (size_t i = 0; i < n_keys; i++) {
                _cleanup_(freep) char *line = NULL;

                if (strcmp(keys[i].section, "Tier") == 0)
                        continue;

                /* default_text is the value's own text: that is how documents show it. */
                assert_true(asprintf(&line, "\n%s=%s\n", keys[i].key, keys[i].default_text) > 0);
                if (!strstr(dump, line))
                        fail_msg("no %s in:\n%s", line, dump);
        }
}

/* Commented, the sample says nothing; uncommented, it says the defaults. */
static void test_sample(void **state) {
        _cleanup_(config_freep) Config *config = NULL, *defaults = NULL;
        _cleanup_(freep) char *sample = config_sample(), *copy = strdup(sample);
        ConfigAssignment assignments[128];
        const ConfigKeyInfo *keys;
        size_t n, n_keys;
        char *to;

        (void) state;
        assert_int_equal(split(copy, assignments, ELEMENTSOF(assignments)), 0);
        free(copy);
        copy = strdup(sample);

        /* "#Key=" and "#[Tier" are settings, "# text" is text. */
        to = copy;
        for (const char *from = copy; *from != '\0'; from++) {
                if (*from == '#' && (from == copy || from[-1] == '\n') && from[1] != ' ' &&
                    from[1] != '\n')
                        continue;
                *to++ = *from;
        }
        *to = '\0';

        n = split(copy, assignments, ELEMENTSOF(assignments));
        (void) config_keys(&n_keys);
        assert_int_equal(n, n_keys - 1 + 2); /* "Nodes" stands in both example tiers */
        config = build(assignments, n, "");
        assert_int_equal(config_new(&defaults), 0);
        assert_int_equal(config->n_tiers, 2);
        assert_policy_equal(&config->policy, &defaults->policy);
        assert_policy_equal(&config->tiers[0].policy, &defaults->policy);
        assert_int_equal(config->monitoring.max_sample_us, defaults->monitoring.max_sample_us);

        keys = config_keys(&n_keys);
        for (size_t i = 0; i < n_keys; i++) {
                _cleanup_(freep) char *line = NULL;

                assert_true(asprintf(&line, "\n#%s=", keys[i].key) > 0);
                assert_non_null(strstr(sample, line));
        }

        for (const char *p = sample; *p != '\0'; p += strcspn(p, "\n") + 1)
                assert_true(strcspn(p, "\n") <= 80);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_defaults),
                cmocka_unit_test(test_rows_are_complete),
                cmocka_unit_test(test_rows),
                cmocka_unit_test(test_headroom),
                cmocka_unit_test(test_tiers),
                cmocka_unit_test(test_tier_mistakes),
                cmocka_unit_test(test_too_many_tiers),
                cmocka_unit_test(test_unknown),
                cmocka_unit_test(test_across_keys),
                cmocka_unit_test(test_report_follows_interval),
                cmocka_unit_test(test_all_are_reported),
                cmocka_unit_test(test_problem_texts),
                cmocka_unit_test(test_dump_reads_back),
                cmocka_unit_test(test_dump_of_defaults),
                cmocka_unit_test(test_sample),
        };

        return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
