/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Core without memory: whatever allocation fails, the call says so, leaks nothing and leaves
 * nothing half done. Allocating functions are wrapped by the linker. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "machine.h"

#include "core/diff.h"
#include "core/ledger.h"
#include "core/report.h"
#include "core/stats.h"
#include "core/zoneinfo.h"

/* The allocation that fails, counted down; 0: none. */
static unsigned fail_in;
static bool failed;

static bool fails(void) {
        if (fail_in == 0 || --fail_in > 0)
                return false;
        failed = true;
        errno = ENOMEM;
        return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
int __real_vasprintf(char **ret, const char *fmt, va_list ap);
FILE *__real_open_memstream(char **ret, size_t *ret_size);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
int __wrap_vasprintf(char **ret, const char *fmt, va_list ap);
int __wrap_asprintf(char **ret, const char *fmt, ...);
FILE *__wrap_open_memstream(char **ret, size_t *ret_size);

void *__wrap_malloc(size_t size) {
        return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size) {
        return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size) {
        return fails() ? NULL : __real_realloc(p, size);
}

char *__wrap_strdup(const char *s) {
        return fails() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n) {
        return fails() ? NULL : __real_strndup(s, n);
}

_printf_(2, 0) int __wrap_vasprintf(char **ret, const char *fmt, va_list ap) {
        return fails() ? -1 : __real_vasprintf(ret, fmt, ap);
}

_printf_(2, 3) int __wrap_asprintf(char **ret, const char *fmt, ...) {
        va_list ap;
        int r;

        va_start(ap, fmt);
        r = __wrap_vasprintf(ret, fmt, ap);
        va_end(ap);
        return r;
}

FILE *__wrap_open_memstream(char **ret, size_t *ret_size) {
        return fails() ? NULL : __real_open_memstream(ret, ret_size);
}

/* Run @step with the first, second, ... allocation failing, until one run needs fewer. The step
 * returns true when it came through. */
static void try_all_named(const char *name, bool (*step)(void *), void *userdata) {
        for (unsigned nth = 1;; nth++) {
                bool done;

                failed = false;
                fail_in = nth;
                done = step(userdata);
                fail_in = 0;
                if (!failed) {
                        if (!done)
                                fail_msg("%s fails with memory, too", name);
                        assert_true(nth > 1); /* else the step allocates nothing */
                        return;
                }
                if (done)
                        fail_msg("%s does not tell that allocation %u failed", name, nth);
        }
}

#define try_all(step, ...) try_all_named(#step, step, __VA_ARGS__)

static const ConfigAssignment assignments[] = {
        {"t.conf", 1, "Policy", "Headroom", "10%"},     {"t.conf", 2, "Policy", "PromoteTo", "0"},
        {"t.conf", 3, "Tier fast", "Nodes", "0"},       {"t.conf", 4, "Tier slow", "Nodes", "1-2"},
        {"t.conf", 5, "Tier slow", "DemoteTo", "none"}, {"t.conf", 6, "Nowhere", "Key", "x"},
        {"t.conf", 7, "Policy", "HeadroomX", "x"},
};

static bool step_config(void *userdata) {
        _cleanup_(config_problems_done) ConfigProblems problems = {};
        _cleanup_(config_freep) Config *config = NULL;
        _cleanup_(freep) char *dump = NULL, *sample = NULL;
        int r;

        (void) userdata;
        r = config_build(assignments, ELEMENTSOF(assignments), &problems, &config);
        if (r < 0) {
                assert_int_equal(r, -ENOMEM);
                assert_null(config);
                return false;
        }
        dump = config_dump(config);
        if (!dump)
                return false;
        sample = config_sample();
        return sample != NULL;
}

static const ConfigAssignment wrong[] = {
        {"t.conf", 1, "Policy", "Headroom", "x"},
        {"t.conf", 2, "Policy", "Nodes", "0"},
        {"t.conf", 3, "Tier a b", "Nodes", "0"},
        {"t.conf", 4, "Tier c", "Headroom", "1M"},
        {"t.conf", 5, "Tier d", "Nodes", "0"},
        {"t.conf", 6, "Tier e", "Nodes", "0"},
        {"t.conf", 7, "Manager", "Interval", "1ms"},
        {"t.conf", 8, "Monitoring", "SampleInterval", "1s"},
        {"t.conf", 9, "Monitoring", "MinRegions", "9"},
        {"t.conf", 10, "Monitoring", "MaxRegions", "8"},
        {"t.conf", 11, "Manager", "ReportInterval", "1s"},
};

static bool step_wrong_config(void *userdata) {
        _cleanup_(config_problems_done) ConfigProblems problems = {};
        _cleanup_(config_freep) Config *config = NULL;
        int r;

        (void) userdata;
        r = config_build(wrong, ELEMENTSOF(wrong), &problems, &config);
        assert_null(config);
        if (r == -ENOMEM)
                return false;
        assert_int_equal(r, -EINVAL);
        return true;
}

typedef struct Machine {
        Config *config;
        TopologyFacts facts;
        Topology *topology;
        Sample sample;
        Decision decision;
        Plan plan;
        DamonTree present;
} Machine;

static TopologyFacts facts_new(bool hmat, bool tiers) {
        TopologyFacts facts = {
                .nodes = calloc(3, sizeof(*facts.nodes)),
                .n_nodes = 3,
                .kernel_tiers = calloc(3, sizeof(*facts.kernel_tiers)),
                .n_kernel_tiers = tiers ? 3 : 1,
        };

        assert_non_null(facts.nodes);
        assert_non_null(facts.kernel_tiers);
        for (size_t i = 0; i < 3; i++) {
                NodeFacts *node = &facts.nodes[i];

                node->nid = (int) i;
                node->total_bytes = GIB;
                node->has_cpu = i == 0;
                node->ranges = calloc(1, sizeof(*node->ranges));
                node->distances = calloc(3, sizeof(*node->distances));
                assert_non_null(node->ranges);
                assert_non_null(node->distances);
                node->ranges[0] = (AddressRange){.start = i * GIB, .end = (i + 1) * GIB};
                node->n_ranges = 1;
                for (size_t k = 0; k < 3; k++)
                        node->distances[k] = (uint16_t) (10 + 10 * (i > k ? i - k : k - i));
                if (hmat)
                        node->access = (AccessClass){.read_latency_ns = 80 << i,
                                                     .read_bandwidth_mibs = 100000 >> i};
                facts.kernel_tiers[tiers ? i : 0].id = (int) (4 + (tiers ? i : 0));
                nodeset_add(&facts.kernel_tiers[tiers ? i : 0].nodes, (int) i);
        }
        return facts;
}

static bool step_topology(void *userdata) {
        Machine *m = userdata;
        _cleanup_(topology_freep) Topology *topology = NULL;
        _cleanup_(freep) char *text = NULL;
        int r;

        r = topology_build(&m->facts, m->config, &topology, &text);
        if (r < 0) {
                assert_int_equal(r, -ENOMEM);
                assert_null(topology);
        }
        return r >= 0;
}

static bool step_plan(void *userdata) {
        Machine *m = userdata;
        _cleanup_(decision_done) Decision decision = {}, copy = {};
        _cleanup_(plan_done) Plan plan = {};
        _cleanup_(op_list_done) OpList ops = {};
        _cleanup_(damon_tree_done) DamonTree tree = {};
        _cleanup_(freep) char *text = NULL, *caps = NULL;
        DamonTree empty = {};
        DecideState state = {};
        DecideInput input = {
                .config = m->config,
                .topology = m->topology,
                .caps = CAPS_7_3,
                .sample = &m->sample,
                .now_us = 1000000000,
        };

        if (decide(&input, &state, NULL, &decision) < 0 || decision_copy(&decision, &copy) < 0)
                return false;
        if (plan_build(m->config, m->topology, CAPS_7_3, &decision, &plan, &text) < 0)
                return false;
        if (damon_tree_copy(&plan.tree, &tree) < 0)
                return false;
        if (diff_trees(&empty, &plan.tree, CAPS_7_3, &ops) < 0)
                return false;
        /* Something of everything differs. */
        for (size_t k = 0; k < tree.n_kdamonds; k++) {
                tree.kdamonds[k].on = true;
                tree.kdamonds[k].context.schemes[0].quota_bytes++;
                tree.kdamonds[k].context.n_ranges = k % 2;
                tree.kdamonds[k].context.schemes[0].n_filters = 0;
        }
        tree.kdamonds[0].context.n_targets = 0;
        if (diff_trees(&tree, &plan.tree, CAPS_7_3, &ops) < 0)
                return false;
        tree.kdamonds[1].n_contexts = 0;
        if (diff_trees(&tree, &plan.tree, CAPS_7_3, &ops) < 0)
                return false;
        tree.n_kdamonds--;
        if (diff_trees(&tree, &plan.tree, CAPS_7_3, &ops) < 0 || diff_release(&tree, &ops) < 0) {
                tree.n_kdamonds++;
                return false;
        }
        tree.n_kdamonds++;
        caps = damon_caps_to_string(CAPS_7_3);
        return caps != NULL;
}

static bool step_refusal(void *userdata) {
        Machine *m = userdata;
        _cleanup_(freep) char *text = NULL;
        Plan plan;
        int r;

        r = plan_build(m->config, m->topology, 0, &m->decision, &plan, &text);
        if (r == -ENOMEM)
                return false;
        assert_int_equal(r, -EOPNOTSUPP);
        return true;
}

static bool step_stats(void *userdata) {
        _cleanup_(stats_done) Stats stats = {};
        _cleanup_(ledger_done) Ledger ledger = {}, copy = {};
        _cleanup_(sample_done) Sample nodes = {};
        Machine *m = userdata;
        KdamondSample kdamond = {.on = true, .pid = 4, .n_schemes = 1};
        Sample sample = {.now_us = 1, .full = true, .kdamonds = &kdamond, .n_kdamonds = 1};
        SchemeCounters counters = {};

        if (stats_set_baseline(&stats, 3, 1, 0, &counters) < 0)
                return false;
        if (stats_update(&stats, &sample) < 0 || sample_copy_nodes(&m->sample, &nodes) < 0)
                return false;
        if (ledger_add_window(&ledger, &m->plan, &stats) < 0)
                return false;
        return ledger_copy(&ledger, &copy) >= 0;
}

static bool step_zoneinfo(void *userdata) {
        _cleanup_(zoneinfo_done) ZoneInfo info = {};

        (void) userdata;
        return zoneinfo_parse("Node 0, zone   Normal\n"
                              "  pages free     9\n        boost    0\n        min      1\n"
                              "        low      2\n        high     3\n        spanned  20\n"
                              "        present  20\n        managed  20\n"
                              "        protection: (0, 0)\n",
                              &info) >= 0;
}

/* A report without memory is no report: dropped, never half. */
static Event *nth_report(const Machine *m, unsigned n) {
        static DamonKdamond theirs = {.on = true, .pid = 1};
        static const DamonTree tree = {.kdamonds = &theirs, .n_kdamonds = 1};
        Op op = {.kdamond = 1, .path = (char[]){"p"}, .value = (char[]){"v"}};
        ConfigProblem problem = {
                .path = (char[]){"p"}, .text = (char[]){"t"}, .key = (char[]){"k"}};
        static const SchemeCounters delta;
        static const VerdictInput numbers = {.delta = &delta};
        static const LedgerPair pair;
        static const Ledger ledger;
        const PlanScheme *scheme = &m->plan.kdamonds[0].schemes[0];

        switch (n) {
        case 0:
                return report_tiers(m->topology);
        case 1:
                return report_tier(m->topology, 0);
        case 2:
                return report_features(CAPS_7_3, true);
        case 3:
                return report_pair(m->config, m->topology, &m->decision, scheme);
        case 4:
                return report_headroom(&m->decision.nodes[0]);
        case 5:
                return report_running(&tree);
        case 6:
                return report_moved(scheme, &pair, &pair, &m->decision, &m->sample, VERDICT_MOVING,
                                    1);
        case 7:
                return report_verdict(scheme, 0, VERDICT_ENDED, &numbers);
        case 8:
                return report_verdict_end(scheme, 0, VERDICT_ENDED, 1);
        case 9:
                return report_knob(knob_info(KNOB_DAMON_STAT));
        case 10:
                return report_knob_restored(knob_info(KNOB_DAMON_STAT));
        case 11:
                return report_foreign(&tree, true);
        case 12:
                return report_exclusive("m", true);
        case 13:
                return report_write_failed(&op, -EIO, NULL, "x");
        case 14:
                return report_kdamond_ended(0, 0);
        case 15:
                return report_topology_changed(&(NodeSet){}, &(NodeSet){});
        case 16:
                return report_config_problem(&problem);
        case 17:
                return report_config_reloaded(1);
        case 18:
                return report_released(&ledger);
        case 19:
                return report_idle(m->topology);
        case 20:
                return report_slices(&m->decision.nodes[0], &m->decision.nodes[1]);
        case 21:
        case 22:
        case 23:
        case 24:
                return report_guard(m->topology, &(GuardEvent){.kind = (GuardKind) (n - 21)});
        default:
                return NULL;
        }
}

#define N_REPORTS 25

typedef struct ReportStep {
        const Machine *machine;
        unsigned n;
} ReportStep;

static bool step_report(void *userdata) {
        const ReportStep *step = userdata;
        _cleanup_(event_freep) Event *event = nth_report(step->machine, step->n);

        return event != NULL;
}

static bool step_status_line(void *userdata) {
        Machine *m = userdata;
        Ledger ledger = {};
        _cleanup_(freep) char *line = report_status_line(m->topology, &ledger, 1, 2);

        return line != NULL;
}

static void machine_new(Machine *m, bool hmat, bool tiers) {
        *m = (Machine){.config = machine_config(NULL), .facts = facts_new(hmat, tiers)};
        DecideState state = {.on_since_us = 1};
        char *text = NULL;

        assert_int_equal(topology_build(&m->facts, m->config, &m->topology, &text), 0);
        m->sample = machine_sample(m->topology, 1000000000, GIB / 2, MIB);
        DecideInput input = {
                .config = m->config,
                .topology = m->topology,
                .caps = CAPS_7_3,
                .sample = &m->sample,
                .now_us = m->sample.now_us,
        };
        assert_int_equal(decide(&input, &state, NULL, &m->decision), 0);
        assert_int_equal(
                plan_build(m->config, m->topology, CAPS_7_3, &m->decision, &m->plan, &text), 0);
}

static void machine_done(Machine *m) {
        config_free(m->config);
        topology_facts_done(&m->facts);
        topology_free(m->topology);
        sample_done(&m->sample);
        decision_done(&m->decision);
        plan_done(&m->plan);
}

static void test_config(void **state) {
        (void) state;
        try_all(step_config, NULL);
        try_all(step_wrong_config, NULL);
}

static void test_topology(void **state) {
        (void) state;
        for (unsigned evidence = 0; evidence < 3; evidence++) {
                Machine m;

                machine_new(&m, evidence == 1, evidence == 2);
                try_all(step_topology, &m);
                machine_done(&m);
        }
}

static void test_rest(void **state) {
        Machine m;

        (void) state;
        machine_new(&m, true, true);
        try_all(step_plan, &m);
        try_all(step_refusal, &m);
        try_all(step_stats, &m);
        try_all(step_zoneinfo, NULL);
        try_all(step_status_line, &m);
        for (unsigned n = 0; n < N_REPORTS; n++)
                try_all(step_report, &(ReportStep){.machine = &m, .n = n});
        machine_done(&m);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_config),
                cmocka_unit_test(test_topology),
                cmocka_unit_test(test_rest),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
