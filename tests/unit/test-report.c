/* SPDX-License-Identifier: GPL-2.0-or-later */

/* What is said: each report has its message id, its fields, and a sentence without holes. And the
 * catalog has an entry for each id, and none for others. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "machine.h"

#include "core/message.h"
#include "core/report.h"

static void check(Event *event, int priority, const char *id, const char *message,
                  const char *const *fields) {
        assert_non_null(event);
        assert_int_equal(event->priority, priority);
        assert_string_equal(event->message_id, id);
        if (!strstr(event->message, message))
                fail_msg("'%s' is not in '%s'", message, event->message);
        assert_null(strstr(event->message, "(null)"));
        for (size_t i = 0; fields && fields[i]; i += 2) {
                const char *value = event_get(event, fields[i]);

                if (!value || strcmp(value, fields[i + 1]) != 0)
                        fail_msg("%s is '%s', not '%s'", fields[i], value ? value : "absent",
                                 fields[i + 1]);
        }
        event_free(event);
}

#define FIELDS(...) ((const char *const[]){__VA_ARGS__, NULL})

typedef struct Fixture {
        Config *config;
        Topology *topology;
        Sample sample;
        Decision decision;
        Plan plan;
} Fixture;

static Fixture fixture_new(size_t n_nodes, const char *const *lines) {
        Fixture f = {.config = machine_config(lines)};
        DecideState state = {.on_since_us = 1};
        char *text = NULL;

        f.topology = machine_chain(n_nodes, GIB, f.config);
        f.sample = machine_sample(f.topology, 1000000000, 100 * MIB, 10 * MIB);
        DecideInput input = {
                .config = f.config,
                .topology = f.topology,
                .caps = CAPS_7_3,
                .sample = &f.sample,
                .now_us = f.sample.now_us,
        };
        assert_int_equal(decide(&input, &state, NULL, &f.decision), 0);
        if (n_nodes > 1)
                assert_int_equal(
                        plan_build(f.config, f.topology, CAPS_7_3, &f.decision, &f.plan, &text), 0);
        return f;
}

static void fixture_done(Fixture *f) {
        config_free(f->config);
        topology_free(f->topology);
        sample_done(&f->sample);
        decision_done(&f->decision);
        plan_done(&f->plan);
}

static void test_start(void **state) {
        static const char *const low[] = {"Policy.Headroom=1M", NULL};
        Fixture f = fixture_new(2, low);

        (void) state;
        check(report_tiers(f.topology), LOG_INFO, MESSAGE_TIERS, "Found 2 tiers",
              FIELDS("EVIDENCE", "kernel-tiers", "TIERS", "2"));
        check(report_tier(f.topology, 1), LOG_INFO, MESSAGE_TIER, "Tier 1: node 1, 1 GiB",
              FIELDS("TIER", "1", "NODES", "1", "BYTES", "1073741824"));
        check(report_features(DAMON_CAP_MIGRATE, true), LOG_INFO, MESSAGE_FEATURES,
              "migrate; quotas are opened and closed by the kernel",
              FIELDS("FEATURES", "migrate", "LOOP", "kernel"));
        check(report_features(DAMON_CAP_MIGRATE, false), LOG_INFO, MESSAGE_FEATURES, "the daemon",
              FIELDS("LOOP", "daemon"));
        check(report_pair(f.config, f.topology, &f.decision, &f.plan.kdamonds[0].schemes[0]),
              LOG_INFO, MESSAGE_PAIR, "Node 0 demotes cold pages to node 1",
              FIELDS("DIRECTION", "demote", "NODE", "0", "TARGET_NODE", "1", "RATE_LIMIT_BYTES",
                     "419430400"));
        check(report_pair(f.config, f.topology, &f.decision, &f.plan.kdamonds[1].schemes[0]),
              LOG_INFO, MESSAGE_PAIR, "Node 1 promotes hot pages to node 0",
              FIELDS("DIRECTION", "promote", "SCHEME", "migrate_hot"));
        assert_true(f.decision.nodes[0].headroom_raised);
        check(report_headroom(&f.decision.nodes[0]), LOG_NOTICE, MESSAGE_HEADROOM,
              "10 MiB can't be taken", FIELDS("NODE", "0", "FLOOR_BYTES", "10485760"));
        f.plan.tree.kdamonds[0].pid = 41;
        f.plan.tree.kdamonds[1].pid = 42;
        check(report_running(&f.plan.tree), LOG_INFO, MESSAGE_RUNNING, "2 kdamonds (pid 41 42)",
              FIELDS("PIDS", "41 42"));
        check(report_adopted(&f.plan.tree), LOG_INFO, MESSAGE_ADOPTED, "left running",
              FIELDS("PIDS", "41 42"));
        fixture_done(&f);

        f = fixture_new(1, NULL);
        check(report_tiers(f.topology), LOG_INFO, MESSAGE_TIERS,
              "Found 1 tier:", FIELDS("EVIDENCE", "none"));
        check(report_idle(f.topology), LOG_NOTICE, MESSAGE_IDLE, "Nothing to tier: ", NULL);
        fixture_done(&f);
}

static void test_pair_of_unknown_nodes(void **state) {
        Fixture f = fixture_new(2, NULL);
        PlanScheme scheme = {.from = 8, .to = 9};

        (void) state;
        assert_null(report_pair(f.config, f.topology, &f.decision, &scheme));
        fixture_done(&f);
}

static void test_running(void **state) {
        Fixture f = fixture_new(2, NULL);
        const PlanScheme *down = &f.plan.kdamonds[0].schemes[0];
        const PlanScheme *up = &f.plan.kdamonds[1].schemes[0];
        LedgerPair since = {
                .applied_bytes = 3 * MIB, .tried_bytes = 9 * MIB, .passed_bytes = 4 * MIB};
        LedgerPair total = {.applied_bytes = 30 * MIB};
        SchemeCounters delta = {.sz_tried = 5, .sz_passed = 4, .sz_applied = 0};
        VerdictInput numbers = {.delta = &delta, .effective_bytes = 8, .cpu_permille = 7};

        (void) state;
        check(report_moved(down, &since, &total, &f.decision, &f.sample, VERDICT_QUOTA_LIMITED,
                           60000000),
              LOG_INFO, MESSAGE_MOVED, "Node 0 demoted 3 MiB to node 1 in 60 s; node 0 has 100 MiB",
              FIELDS("BYTES", "3145728", "TRIED_BYTES", "9437184", "PASSED_BYTES", "4194304",
                     "TOTAL_BYTES", "31457280", "FREE_BYTES", "104857600", "PERIOD_USEC",
                     "60000000", "VERDICT", "quota-limited", "DIRECTION", "demote"));
        check(report_moved(up, &since, &total, &f.decision, &f.sample, VERDICT_MOVING, 1), LOG_INFO,
              MESSAGE_MOVED, "Node 1 promoted 3 MiB to node 0", FIELDS("NODE", "1"));
        check(report_verdict(up, 1, VERDICT_TARGET_FULL, &numbers), LOG_NOTICE, MESSAGE_VERDICT,
              "Node 1 does not promote to node 0 as it should: target-full.",
              FIELDS("REASON", "target-full", "KDAMOND", "1", "TRIED_BYTES", "5", "PASSED_BYTES",
                     "4", "BYTES", "0", "EFFECTIVE_BYTES", "8", "CPU_PERMILLE", "7"));
        check(report_verdict_end(up, 1, VERDICT_TARGET_FULL, 5000000), LOG_NOTICE,
              MESSAGE_VERDICT_END, "target-full is over after 5 s",
              FIELDS("REASON", "target-full", "LASTED_USEC", "5000000"));
        check(report_kdamond_ended(3, 1), LOG_WARNING, MESSAGE_KDAMOND_ENDED, "kdamond 3 of node 1",
              FIELDS("KDAMOND", "3", "NODE", "1"));
        check(report_tree_changed("why"), LOG_WARNING, MESSAGE_TREE_CHANGED, "(why)", NULL);
        fixture_done(&f);
}

static void test_guard(void **state) {
        static const struct {
                GuardEvent event;
                int priority;
                const char *text;
        } cases[] = {
                {{.kind = GUARD_PRESSURE,
                  .nid = -1,
                  .level = 2,
                  .numbers = {234, 100},
                  .period_us = 5000000},
                 LOG_WARNING,
                 "waited for memory 23.4% of the last 5 s (limit 10.0%): promotion slows down to "
                 "1/4"},
                {{.kind = GUARD_PRESSURE, .nid = -1, .before = 1, .numbers = {0, 100}},
                 LOG_NOTICE,
                 "promotion is at full speed again"},
                {{.kind = GUARD_FAILURES,
                  .nid = 0,
                  .level = 1,
                  .numbers = {64 * MIB, MIB},
                  .period_us = 5000000},
                 LOG_WARNING,
                 "Of 64 MiB that node 0 wanted to demote in 5 s, 1 MiB found a place: that slows "
                 "down to 1/2"},
                {{.kind = GUARD_PING_PONG,
                  .nid = 0,
                  .level = 1,
                  .numbers = {64 * MIB, MIB},
                  .period_us = 20000000,
                  .min_age_us = 5000000,
                  .access_factor = 2},
                 LOG_WARNING,
                 "Node 0 took 64 MiB in and gave 1 MiB away in 20 s: only memory in use 2 times as "
                 "much as else enters it from now on, and only memory idle for 5 s leaves it"},
                {{.kind = GUARD_PING_PONG, .nid = 0, .before = 1, .period_us = 20000000},
                 LOG_NOTICE,
                 "any cold memory may leave it again, and any hot memory enter"},
                {{.kind = GUARD_BUDGET, .nid = -1, .tier = 1, .level = 1, .numbers = {GIB, GIB}},
                 LOG_WARNING,
                 "Tier 1 (1) was written 1 GiB of its daily budget of 1 GiB: nothing moves there"},
                {{.kind = GUARD_BUDGET, .nid = -1, .tier = 1, .before = 1},
                 LOG_NOTICE,
                 "Tier 1 (1) has no daily budget any more: pages may move there again"},
                {{.kind = GUARD_PRESSURE, .nid = -1, .before = 2},
                 LOG_NOTICE,
                 "Memory pressure is not watched any more: promotion is at full speed again"},
        };
        Fixture f = fixture_new(2, NULL);

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                check(report_guard(f.topology, &cases[i].event), cases[i].priority,
                      cases[i].event.level > 0 ? MESSAGE_BACKOFF : MESSAGE_BACKOFF_END,
                      cases[i].text, FIELDS("REASON", guard_kind_to_string(cases[i].event.kind)));
        fixture_done(&f);
}

static void test_others(void **state) {
        DamonKdamond kdamonds[2] = {{.on = false}, {.on = true, .pid = 99}};
        DamonTree tree = {.kdamonds = kdamonds, .n_kdamonds = 2};
        Op op = {.kind = OP_SET, .kdamond = 1, .path = (char[]){"sys/x"}, .value = (char[]){"5"}};
        NodeSet before = {}, now = {};
        ConfigProblem problem = {.is_error = true,
                                 .path = (char[]){"f"},
                                 .line = 3,
                                 .key = (char[]){"A.B"},
                                 .text = (char[]){"f:3: A.B=: bad"}};
        _cleanup_(ledger_done) Ledger ledger = {};
        LedgerPair *pair;

        (void) state;
        check(report_foreign(&tree, false), LOG_ERR, MESSAGE_FOREIGN,
              "1 kdamond that we did not start runs (first pid 99)",
              FIELDS("KDAMONDS", "2", "PID", "99"));
        check(report_foreign(&tree, true), LOG_NOTICE, MESSAGE_FOREIGN, "waiting", NULL);
        check(report_kept_running(&tree), LOG_NOTICE, MESSAGE_KEPT_RUNNING,
              "Leaving 1 kdamond running", NULL);
        {
                NodeDecision few = {.nid = 3, .slices = {.n_slices = 1}};
                NodeDecision many = {.nid = 3, .slices = {.n_slices = 4}};

                check(report_slices(&few, &many), LOG_INFO, MESSAGE_SLICES,
                      "Node 3 is watched by 4 kdamonds instead of 1, since a kdamond's CPU",
                      FIELDS("NODE", "3", "KDAMONDS", "4", "BEFORE", "1"));
                check(report_slices(&many, &few), LOG_INFO, MESSAGE_SLICES,
                      "by 1 kdamond instead of 4, since fewer will do", NULL);
        }
        kdamonds[1].on = false;
        check(report_foreign(&tree, false), LOG_ERR, MESSAGE_FOREIGN,
              "holds 2 kdamonds that we did not stage", FIELDS("PID", "-1"));
        check(report_exclusive("damon_reclaim", false), LOG_ERR, MESSAGE_EXCLUSIVE, "damon_reclaim",
              FIELDS("MODULE", "damon_reclaim"));
        check(report_exclusive("damon_reclaim", true), LOG_NOTICE, MESSAGE_EXCLUSIVE, "waiting",
              NULL);
        check(report_unsupported("no DAMON"), LOG_ERR, MESSAGE_UNSUPPORTED, "no DAMON", NULL);
        check(report_knob(knob_info(KNOB_DAMON_STAT)), LOG_NOTICE, MESSAGE_KNOB,
              "enabled' from Y to N for as long as we run, since DAMON_STAT",
              FIELDS("PATH", "/sys/module/damon_stat/parameters/enabled", "BEFORE", "Y", "VALUE",
                     "N"));
        check(report_knob_restored(knob_info(KNOB_RECLAIM_DEMOTION)), LOG_INFO,
              MESSAGE_KNOB_RESTORED, "'/sys/kernel/mm/numa/demotion_enabled' to false",
              FIELDS("VALUE", "false"));
        check(report_write_failed(&op, -EINVAL, "a hint", "retrying"), LOG_ERR,
              MESSAGE_WRITE_FAILED, "Failed to write '5' to '/sys/x' (a hint), retrying: Invalid",
              FIELDS("PATH", "/sys/x", "VALUE", "5", "ERRNO", "22", "KDAMOND", "1"));
        op.kdamond = OP_NO_KDAMOND;
        check(report_write_failed(&op, -EBUSY, NULL, "stopping"), LOG_ERR, MESSAGE_WRITE_FAILED,
              "'/sys/x', stopping", NULL);
        nodeset_add(&before, 0);
        nodeset_add(&now, 0);
        nodeset_add(&now, 1);
        check(report_topology_changed(&before, &now), LOG_NOTICE, MESSAGE_TOPOLOGY_CHANGED,
              "were 0 and are 0-1", FIELDS("NODES", "0-1"));
        check(report_config_problem(&problem), LOG_ERR, MESSAGE_CONFIG_PROBLEM, "f:3: A.B=: bad",
              FIELDS("CONFIG_FILE", "f", "CONFIG_LINE", "3", "CONFIG_KEY", "A.B"));
        problem.is_error = false;
        check(report_config_problem(&problem), LOG_WARNING, MESSAGE_CONFIG_PROBLEM, "f:3", NULL);
        check(report_config_reloaded(1), LOG_INFO, MESSAGE_CONFIG_RELOADED, "1 write ",
              FIELDS("WRITES", "1"));
        check(report_config_kept(2), LOG_ERR, MESSAGE_CONFIG_KEPT, "2 errors", NULL);
        assert_int_equal(ledger_get(&ledger, DIRECTION_PROMOTE, 1, 0, &pair), 0);
        pair->applied_bytes = MIB;
        check(report_released(&ledger), LOG_INFO, MESSAGE_RELEASED, "promoted 1 MiB and demoted 0",
              FIELDS("PROMOTED_BYTES", "1048576", "DEMOTED_BYTES", "0"));
}

static void test_status_line(void **state) {
        Fixture f = fixture_new(3, NULL);
        Ledger ledger = {};
        _cleanup_(freep) char *line = report_status_line(f.topology, &ledger, MIB, 2 * MIB);

        (void) state;
        assert_string_equal(line, "Tiering 3 tiers; promoted 0 B (1 MiB/s), demoted 0 B (2 MiB/s)");
        fixture_done(&f);
}

/* The man page names every message. */
static void test_man_page(void **state) {
        _cleanup_(freep) char *text = calloc(1, 1 << 16);
        size_t n;
        const MessageInfo *table = message_table(&n);
        FILE *f = fopen(TESTS_DIR "/../man/damon-tierd.8", "re");

        (void) state;
        assert_non_null(f);
        assert_non_null(text);
        assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
        fclose(f);
        for (size_t i = 0; i < n; i++)
                if (!strstr(text, table[i].name))
                        fail_msg("the man page does not name %s", table[i].name);
}

/* The catalog is what "journalctl -x" shows: every message has its entry, and the other way. */
static void test_catalog(void **state) {
        _cleanup_(freep) char *text = calloc(1, 1 << 16);
        size_t n, n_entries = 0;
        const MessageInfo *table = message_table(&n);
        FILE *f = fopen(TESTS_DIR "/../systemd/damon-tierd.catalog", "re");

        (void) state;
        assert_non_null(f);
        assert_non_null(text);
        assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
        fclose(f);
        for (size_t i = 0; i < n; i++) {
                char header[64];
                const char *entry;

                assert_int_equal(strlen(table[i].id), 32);
                (void) snprintf(header, sizeof(header), "\n-- %s\nSubject: ", table[i].id);
                entry = strstr(text, header);
                if (!entry)
                        fail_msg("no catalog entry for %s", table[i].name);
                for (size_t k = 0; k < i; k++)
                        assert_string_not_equal(table[i].id, table[k].id);
        }
        for (const char *p = strstr(text, "\n-- "); p; p = strstr(p + 1, "\n-- "))
                n_entries++;
        assert_int_equal(n_entries, n);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_start),   cmocka_unit_test(test_pair_of_unknown_nodes),
                cmocka_unit_test(test_running), cmocka_unit_test(test_guard),
                cmocka_unit_test(test_others),  cmocka_unit_test(test_status_line),
                cmocka_unit_test(test_catalog), cmocka_unit_test(test_man_page),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
