/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The run directory: what is written is read back, what is broken is refused, readers never see
 * half a file. And the sinks. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>

#include "machine.h"

#include <json-c/json.h>

#include "io/journal.h"
#include "io/runfile.h"
#include "testroot.h"

static char *path_of(TestRoot *root, const char *name) {
        char *path = NULL;

        assert_true(asprintf(&path, "%s/%s", testroot_path(root), name) > 0);
        return path;
}

static void test_record_round_trip(void **state) {
        _cleanup_(testroot_freep) TestRoot *root = testroot_new();
        _cleanup_(freep) char *dir = path_of(root, "run"), *file = path_of(root, "run/record.json");
        RecordKdamond kdamonds[2] = {
                {.pid = 7,
                 .n_schemes = 2,
                 .counters = {{.sz_tried = 1, .sz_applied = UINT64_MAX, .nr_snapshots = 4},
                              {.qt_exceeds = 2, .sz_passed = 3, .nr_tried = 5, .nr_applied = 6}}},
                {.pid = -1},
        };
        Record record = {
                .kdamonds = kdamonds, .n_kdamonds = 2, .knobs = KNOB_BIT(KNOB_RECLAIM_DEMOTION)};
        _cleanup_(record_done) Record back = {};
        LedgerPair *pair;
        struct stat st;

        (void) state;
        assert_int_equal(ledger_get(&record.ledger, DIRECTION_PROMOTE, 1, 0, &pair), 0);
        pair->applied_bytes = 12345678901;
        pair->passed_bytes = 5;
        pair->tried_bytes = 6;
        assert_int_equal(runfile_read_record(dir, &back), -ENOENT);
        assert_int_equal(runfile_write_record(dir, &record), 0);
        assert_int_equal(stat(file, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
        assert_int_equal(runfile_read_record(dir, &back), 0);
        assert_int_equal(back.knobs, KNOB_BIT(KNOB_RECLAIM_DEMOTION));
        assert_int_equal(back.n_kdamonds, 2);
        assert_int_equal(back.kdamonds[0].pid, 7);
        assert_int_equal(back.kdamonds[1].pid, -1);
        assert_int_equal(back.kdamonds[0].n_schemes, 2);
        assert_memory_equal(back.kdamonds[0].counters, kdamonds[0].counters,
                            sizeof(kdamonds[0].counters));
        assert_int_equal(ledger_find(&back.ledger, DIRECTION_PROMOTE, 1, 0)->applied_bytes,
                         12345678901);
        ledger_done(&record.ledger);
}

static void test_broken_records(void **state) {
        static const char *const texts[] = {
                "",
                "{",
                "[]",
                "null",
                "{\"version\": 2}",
                "\"text\"",
                "{\"version\": \"x\"}",
                "{\"version\": 1, \"pairs\": [{}]}",
        };
        _cleanup_(testroot_freep) TestRoot *root = testroot_new();

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                Record record = {};

                testroot_file(root, "record.json", 0600, texts[i]);
                assert_int_equal(runfile_read_record(testroot_path(root), &record), -EBADMSG);
        }
        /* Strange, but harmless. */
        testroot_file(root, "record.json", 0600,
                      "{\"version\": 1, \"kdamonds\": [{\"pid\": 5}, 7], \"pairs\": 3}");
        {
                _cleanup_(record_done) Record record = {};

                assert_int_equal(runfile_read_record(testroot_path(root), &record), 0);
                assert_int_equal(record.n_kdamonds, 2);
                assert_int_equal(record.kdamonds[1].pid, -1);
        }
}

static void test_record_matches(void **state) {
        RecordKdamond mine[2] = {{.pid = 7}, {.pid = 8}};
        Record record = {.kdamonds = mine, .n_kdamonds = 2}, nothing = {};
        DamonKdamond theirs[2] = {{.on = true, .pid = 7}, {.on = true, .pid = 8}};
        DamonTree tree = {.kdamonds = theirs, .n_kdamonds = 2}, empty = {};

        (void) state;
        assert_true(record_matches(&record, &tree));
        theirs[1].on = false; /* ended by itself */
        theirs[1].pid = -1;
        assert_true(record_matches(&record, &tree));
        theirs[0].pid = 9;
        assert_false(record_matches(&record, &tree));
        assert_false(record_matches(&record, &empty));
        assert_false(record_matches(&nothing, &empty));
        assert_false(record_matches(&nothing, &tree));
}

static void test_status(void **state) {
        _cleanup_(testroot_freep) TestRoot *root = testroot_new();
        _cleanup_(freep) char *file = path_of(root, "status.json");
        _cleanup_(config_freep) Config *config = machine_config(NULL);
        _cleanup_(topology_freep) Topology *topology = machine_chain(2, GIB, config);
        _cleanup_(sample_done) Sample sample = machine_sample(topology, 1000000000, GIB / 2, MIB);
        _cleanup_(decision_done) Decision decision = {};
        _cleanup_(plan_done) Plan plan = {};
        DecideState decide_state = {.on_since_us = 1};
        Verdict verdicts[2 * DAMON_SCHEMES_MAX] = {VERDICT_GOAL_MET};
        KdamondStats kdamonds[2] = {{.on = true, .pid = 5, .n_schemes = 1, .total_cpu_us = 9}};
        Stats stats = {.kdamonds = kdamonds, .n_kdamonds = 2};
        Ledger ledger = {};
        LedgerPair *pair;
        char *text = NULL;
        json_object *json, *o;
        struct stat st;

        (void) state;
        DecideInput input = {
                .config = config,
                .topology = topology,
                .caps = CAPS_7_3,
                .sample = &sample,
                .now_us = sample.now_us,
        };
        assert_int_equal(decide(&input, &decide_state, NULL, &decision), 0);
        assert_int_equal(plan_build(config, topology, CAPS_7_3, &decision, &plan, &text), 0);
        assert_int_equal(ledger_get(&ledger, DIRECTION_DEMOTE, 0, 1, &pair), 0);
        pair->applied_bytes = 4096;
        GuardTier tiers[] = {{}, {.written_bytes = 77, .spent = true}};
        GuardNode nodes[] = {{.nid = 3, .ping_pong = {.level = 2, .changed_us = 9}}};
        Guard guard = {.nodes = nodes, .n_nodes = 1, .tiers = tiers, .n_tiers = 2};
        StatusView view = {
                .state = "running",
                .caps = CAPS_7_3,
                .topology = topology,
                .decision = &decision,
                .plan = &plan,
                .sample = &sample,
                .stats = &stats,
                .ledger = &ledger,
                .guard = &guard,
                .verdicts = verdicts,
        };
        assert_int_equal(runfile_write_status(testroot_path(root), &view), 0);
        assert_int_equal(stat(file, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0644);
        json = json_object_from_file(file);
        assert_non_null(json);
        assert_string_equal(json_object_get_string(json_object_object_get(json, "state")),
                            "running");
        o = json_object_object_get(json, "backoffs");
        assert_int_equal(json_object_array_length(o), 1);
        o = json_object_array_get_idx(o, 0);
        assert_string_equal(json_object_get_string(json_object_object_get(o, "reason")),
                            "ping-pong");
        assert_int_equal(json_object_get_int(json_object_object_get(o, "node")), 3);
        o = json_object_array_get_idx(json_object_object_get(json, "written"), 0);
        assert_int_equal(json_object_get_int(json_object_object_get(o, "bytes")), 77);
        o = json_object_object_get(json, "totals");
        assert_int_equal(json_object_get_int(json_object_object_get(o, "demoted_bytes")), 4096);
        o = json_object_array_get_idx(json_object_object_get(json, "schemes"), 0);
        assert_string_equal(json_object_get_string(json_object_object_get(o, "verdict")),
                            "goal-met");
        assert_string_equal(json_object_get_string(json_object_object_get(o, "action")),
                            "migrate_cold");
        o = json_object_array_get_idx(json_object_object_get(json, "nodes"), 0);
        assert_int_equal(json_object_get_int64(json_object_object_get(o, "headroom_bytes")),
                         decision.nodes[0].headroom_bytes);
        assert_int_equal(json_object_get_int64(json_object_object_get(o, "covered_bytes")), GIB);
        o = json_object_array_get_idx(json_object_object_get(json, "kdamonds"), 0);
        assert_int_equal(json_object_get_int(json_object_object_get(o, "pid")), 5);
        json_object_put(json);

        /* With nothing known yet it is a document all the same. */
        assert_int_equal(
                runfile_write_status(testroot_path(root), &(StatusView){.state = "starting"}), 0);
        json = json_object_from_file(file);
        assert_non_null(json);
        json_object_put(json);
        ledger_done(&ledger);
}

static void test_failed_write_keeps_the_old(void **state) {
        _cleanup_(testroot_freep) TestRoot *root = testroot_new();
        _cleanup_(freep) char *file = path_of(root, "status.json");
        _cleanup_(freep) char *no_dir = path_of(root, "a/b");

        (void) state;
        assert_int_equal(runfile_write_status(no_dir, &(StatusView){.state = "x"}), -ENOENT);
        assert_int_equal(runfile_write_status(testroot_path(root), &(StatusView){.state = "one"}),
                         0);
        /* Something sits on the temporary name. */
        testroot_dir(root, ".status.json.new");
        assert_true(runfile_write_status(testroot_path(root), &(StatusView){.state = "two"}) < 0);
        {
                json_object *json = json_object_from_file(file);

                assert_string_equal(json_object_get_string(json_object_object_get(json, "state")),
                                    "one");
                json_object_put(json);
        }
}

static void test_memory_sink(void **state) {
        _cleanup_(journal_memory_done) JournalMemory memory = {};
        EventSink sink = journal_memory_sink(&memory), none = journal_stderr_sink(true);
        _cleanup_(event_freep) Event *event = event_new(LOG_INFO, "abc", "hello %d", 5);

        (void) state;
        assert_int_equal(event_add(event, "NODE", "%d", 1), 0);
        event_emit(&sink, event);
        assert_int_equal(memory.n_events, 1);
        assert_string_equal(journal_memory_find(&memory, "abc")->message, "hello 5");
        assert_string_equal(event_get(journal_memory_find(&memory, "abc"), "NODE"), "1");
        assert_null(journal_memory_find(&memory, "def"));
        event_emit(&none, event);
        /* There is no journal behind a test's stderr. */
        assert_int_equal(setenv("JOURNAL_STREAM", "1:2", 1), 0);
        assert_ptr_equal(journal_default_sink().emit, none.emit);
        assert_int_equal(setenv("JOURNAL_STREAM", "nonsense", 1), 0);
        assert_ptr_equal(journal_default_sink().emit, none.emit);
        assert_int_equal(unsetenv("JOURNAL_STREAM"), 0);
        assert_ptr_equal(journal_default_sink().emit, none.emit);
        /* Without a socket the journal's call drops it, silently. */
        sink = journal_sink();
        event_emit(&sink, event);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_record_round_trip),
                cmocka_unit_test(test_broken_records),
                cmocka_unit_test(test_record_matches),
                cmocka_unit_test(test_status),
                cmocka_unit_test(test_failed_write_keeps_the_old),
                cmocka_unit_test(test_memory_sink),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
