/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The way of the service, step by step, on a kernel in memory, for every rung of the ladder: look,
 * stage, plan, apply, read back, scrape, give back. What breaks a real kernel is caught here. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "machine.h"

#include "daemon/dryrun.h"
#include "daemon/job.h"
#include "daemon/worker.h"
#include "fakedamon.h"
#include "io/scrape.h"

typedef struct Machine {
        Sysfs *sysfs;
        FakeDamon *fake;
        Config *config;
        Topology *topology;
        DecideState state;
        Decision decision;
        Plan plan;
        DamonTree present;
        uint32_t caps;
        unsigned n_writes;
        unsigned n_stray; /* writes outside of what we may touch */
} Machine;

static void log_write(void *userdata, const char *path, const char *value, int result) {
        Machine *m = userdata;

        (void) value;
        (void) result;
        m->n_writes++;
        if (strncmp(path, DAMON_KDAMONDS_DIR "/", strlen(DAMON_KDAMONDS_DIR) + 1) != 0 &&
            strcmp(path, knob_info(KNOB_DAMON_STAT)->path) != 0)
                m->n_stray++;
}

static void machine_new(Machine *m, FakeRung rung, const char *fixture) {
        *m = (Machine){.config = machine_config(NULL)};
        m->fake = fakedamon_new(rung, &m->sysfs);
        fakedamon_load_fixture(m->fake, fixture);
        sysfs_set_write_log(m->sysfs, log_write, m);
}

static void machine_done(Machine *m) {
        if (*fakedamon_bugs(m->fake))
                fail_msg("this breaks the kernel: %s", fakedamon_bugs(m->fake));
        assert_int_equal(m->n_stray, 0);
        sysfs_free(m->sysfs);
        config_free(m->config);
        topology_free(m->topology);
        decision_done(&m->decision);
        plan_done(&m->plan);
        damon_tree_done(&m->present);
}

static Job *run(Machine *m, JobKind kind) {
        Job *job = job_new(kind);

        assert_non_null(job);
        job->caps = m->caps;
        for (size_t i = 0; m->topology && i < m->topology->n_nodes; i++)
                nodeset_add(&job->nids, m->topology->nodes[i].nid);
        return job;
}

static void prepare(Machine *m) {
        _cleanup_(job_freep) Job *job = run(m, JOB_PREPARE);
        char *text = NULL;

        job_run(job, m->sysfs);
        assert_int_equal(job->result, 0);
        assert_true(job->has_damon);
        assert_null(job->exclusive);
        topology_free(m->topology);
        assert_int_equal(topology_build(&job->facts, m->config, &m->topology, &text), 0);
}

static void replan(Machine *m, const Sample *sample) {
        DecideInput input = {
                .config = m->config,
                .topology = m->topology,
                .caps = m->caps,
                .sample = sample,
                .now_us = sample->now_us,
        };
        Decision decision;
        char *text = NULL;

        assert_int_equal(decide(&input, &m->state, NULL, &decision), 0);
        decision_done(&m->decision);
        m->decision = decision;
        plan_done(&m->plan);
        assert_int_equal(plan_build(m->config, m->topology, m->caps, &m->decision, &m->plan, &text),
                         0);
}

static void stage(Machine *m, bool adopt) {
        _cleanup_(job_freep) Job *job = run(m, JOB_STAGE);

        job->n_kdamonds = slices_count_slots(m->config, m->topology);
        job->adopt = adopt;
        if (sysfs_exists(m->sysfs, knob_info(KNOB_DAMON_STAT)->path))
                assert_int_equal(op_list_add(&job->ops, OP_KNOB, OP_NO_KDAMOND, "N", "%s",
                                             knob_info(KNOB_DAMON_STAT)->path),
                                 0);
        job_run(job, m->sysfs);
        assert_int_equal(job->result, 0);
        m->caps = job->caps;
        damon_tree_done(&m->present);
        m->present = job->tree;
        job->tree = (DamonTree){};
        replan(m, &job->sample);
}

/* Apply the plan; the number of operations that it took. */
static size_t apply(Machine *m) {
        _cleanup_(job_freep) Job *job = run(m, JOB_APPLY);
        size_t n;

        assert_int_equal(diff_trees(&m->present, &m->plan.tree, m->caps, &job->ops), 0);
        n = job->ops.n_items;
        job_run(job, m->sysfs);
        if (job->result < 0)
                fail_msg("'%s' to '%s': %s", job->ops.items[job->failure.index].value,
                         job->ops.items[job->failure.index].path, strerror(-job->failure.error));
        damon_tree_done(&m->present);
        m->present = job->tree;
        job->tree = (DamonTree){};
        return n;
}

static void start(Machine *m) {
        prepare(m);
        stage(m, /* adopt= */ false);
        assert_true(apply(m) > 0);
        assert_int_equal(apply(m), 0); /* the read-back shows what was wanted */
        assert_int_equal(fakedamon_n_running(m->fake), m->plan.tree.n_kdamonds);
}

static void release_tree(Machine *m) {
        _cleanup_(job_freep) Job *job = run(m, JOB_APPLY);

        assert_int_equal(diff_release(&m->present, &job->ops), 0);
        if (sysfs_exists(m->sysfs, knob_info(KNOB_DAMON_STAT)->path))
                assert_int_equal(op_list_add(&job->ops, OP_KNOB, OP_NO_KDAMOND, "Y", "%s",
                                             knob_info(KNOB_DAMON_STAT)->path),
                                 0);
        job_run(job, m->sysfs);
        assert_int_equal(job->result, 0);
        assert_int_equal(fakedamon_n_running(m->fake), 0);
        assert_int_equal(job->tree.n_kdamonds, 0);
}

static const char *const fixtures[] = {"two", "sockets", "three", "flat", "memoryless"};

static void test_start_and_stop(void **state) {
        (void) state;
        for (int rung = 0; rung < _FAKE_RUNG_MAX; rung++)
                for (size_t i = 0; i < ELEMENTSOF(fixtures); i++) {
                        Machine m;

                        machine_new(&m, (FakeRung) rung, fixtures[i]);
                        start(&m);
                        release_tree(&m);
                        machine_done(&m);
                }
}

/* The issue at stake: a start costs few writes. */
static void test_few_writes(void **state) {
        Machine m;

        (void) state;
        machine_new(&m, FAKE_7_3, "two");
        start(&m);
        assert_true(m.n_writes < 70);
        machine_done(&m);
}

/* Every stage can follow every other by commit, without a kdamond being restarted. */
static void test_stages(void **state) {
        (void) state;
        for (int rung = 0; rung < _FAKE_RUNG_MAX; rung++) {
                Machine m;
                int pid;

                machine_new(&m, (FakeRung) rung, "three");
                start(&m);
                pid = fakedamon_pid(m.fake, 0);
                for (unsigned s = 0; s < 3; s++) {
                        _cleanup_(job_freep) Job *job = run(&m, JOB_SCRAPE);

                        m.state.on_since_us = s == 0   ? job_now_us()
                                              : s == 1 ? job_now_us() - 1000000
                                                       : 1;
                        job_run(job, m.sysfs);
                        assert_int_equal(job->result, 0);
                        replan(&m, &job->sample);
                        (void) apply(&m);
                        assert_int_equal(apply(&m), 0);
                }
                assert_int_equal(m.decision.nodes[0].stage, NODE_STAGE_LIVE);
                assert_int_equal(fakedamon_pid(m.fake, 0), pid);
                assert_string_equal(fakedamon_running(m.fake, 0, "schemes/0/access_pattern/sz/max"),
                                    "18446744073709551615");
                release_tree(&m);
                machine_done(&m);
        }
}

static void test_scrape(void **state) {
        (void) state;
        for (int rung = 0; rung < _FAKE_RUNG_MAX; rung++) {
                _cleanup_(job_freep) Job *job = NULL, *watch = NULL, *dead = NULL;
                Machine m;

                machine_new(&m, (FakeRung) rung, "two");
                start(&m);
                fakedamon_set_stat(m.fake, 1, 0, "sz_applied", 4096);
                job = run(&m, JOB_SCRAPE);
                job_run(job, m.sysfs);
                assert_int_equal(job->result, 0);
                assert_true(job->sample.full);
                assert_int_equal(job->sample.n_kdamonds, 2);
                assert_true(job->sample.kdamonds[1].on);
                assert_int_equal(job->sample.kdamonds[1].pid, fakedamon_pid(m.fake, 1));
                assert_int_equal(job->sample.kdamonds[1].schemes[0].counters.sz_applied, 4096);
                assert_true(job->sample.nodes[0].floor_bytes > 0);

                watch = run(&m, JOB_WATCH);
                assert_int_equal(sample_copy_nodes(&job->sample, &watch->floors), 0);
                job_run(watch, m.sysfs);
                assert_int_equal(watch->result, 0);
                assert_int_equal(watch->sample.nodes[0].floor_bytes,
                                 job->sample.nodes[0].floor_bytes);

                fakedamon_kill(m.fake, 0);
                dead = run(&m, JOB_SCRAPE);
                job_run(dead, m.sysfs);
                assert_int_equal(dead->result, 0);
                assert_false(dead->sample.kdamonds[0].on);
                assert_true(dead->sample.kdamonds[1].on);

                /* Started again, alone. */
                m.present.kdamonds[0].on = false;
                assert_true(apply(&m) > 0);
                assert_int_equal(fakedamon_n_running(m.fake), 2);
                release_tree(&m);
                machine_done(&m);
        }
}

/* A daemon that was killed: the next one finds its tree, keeps it, and changes nothing. */
static void test_adopt(void **state) {
        (void) state;
        for (int rung = 0; rung < _FAKE_RUNG_MAX; rung++) {
                unsigned before;
                Machine m;

                machine_new(&m, (FakeRung) rung, "two");
                start(&m);
                before = m.n_writes;
                stage(&m, /* adopt= */ true);
                assert_int_equal(apply(&m), 0);
                assert_true(m.n_writes - before <= 1); /* the knob, which test and service repeat */
                release_tree(&m);
                machine_done(&m);
        }
}

/* Killed between two writes of its first staging: ours, but of no use. */
static void test_adopt_half_staged(void **state) {
        Machine m;

        (void) state;
        machine_new(&m, FAKE_7_3, "two");
        prepare(&m);
        assert_int_equal(sysfs_write(m.sysfs, DAMON_KDAMONDS_DIR "/nr_kdamonds", "2"), 0);
        stage(&m, /* adopt= */ true);
        assert_true(apply(&m) > 0);
        assert_int_equal(fakedamon_n_running(m.fake), 2);
        release_tree(&m);
        machine_done(&m);
}

static void test_exclusive_modules(void **state) {
        _cleanup_(job_freep) Job *job = NULL;
        Machine m;

        (void) state;
        machine_new(&m, FAKE_7_3, "two");
        fakedamon_set_module(m.fake, "damon_reclaim", true);
        job = run(&m, JOB_PREPARE);
        job_run(job, m.sysfs);
        assert_int_equal(job->result, 0);
        assert_string_equal(job->exclusive, "damon_reclaim");
        assert_true(job->knobs & KNOB_BIT(KNOB_DAMON_STAT));
        machine_done(&m);
}

/* DAMON_STAT comes back between our knob and our "on": the error says which write it was. */
static void test_failure_is_told(void **state) {
        _cleanup_(job_freep) Job *job = NULL;
        Machine m;

        (void) state;
        machine_new(&m, FAKE_7_3, "two");
        prepare(&m);
        stage(&m, /* adopt= */ false);
        fakedamon_set_module(m.fake, "damon_stat", true);
        job = run(&m, JOB_APPLY);
        assert_int_equal(diff_trees(&m.present, &m.plan.tree, m.caps, &job->ops), 0);
        job_run(job, m.sysfs);
        assert_int_equal(job->result, -EBUSY);
        assert_string_equal(job->ops.items[job->failure.index].value, "on");
        assert_non_null(
                strstr(damonfs_hint(&job->ops.items[job->failure.index], -EBUSY), "DAMON_STAT"));
        assert_int_equal(fakedamon_n_running(m.fake), 0);
        machine_done(&m);
}

/* Somebody else's command holds the lock for a while: we get through. */
static void test_busy_lock(void **state) {
        Machine m;

        (void) state;
        machine_new(&m, FAKE_7_3, "two");
        prepare(&m);
        stage(&m, /* adopt= */ false);
        fakedamon_hold_lock(m.fake, 3);
        assert_true(apply(&m) > 0);
        release_tree(&m);
        machine_done(&m);
}

static void test_any_call_may_fail(void **state) {
        (void) state;
        /* Whatever fails in an apply, it is an error with a place, or was of no consequence. */
        for (unsigned nth = 1; nth < 120; nth++) {
                _cleanup_(job_freep) Job *job = NULL;
                Machine m;

                machine_new(&m, FAKE_7_3, "two");
                prepare(&m);
                stage(&m, /* adopt= */ false);
                job = run(&m, JOB_APPLY);
                assert_int_equal(diff_trees(&m.present, &m.plan.tree, m.caps, &job->ops), 0);
                fakedamon_fail_nth(m.fake, nth, EIO);
                job_run(job, m.sysfs);
                if (job->result == 0)
                        assert_int_equal(fakedamon_n_running(m.fake), 2);
                else
                        assert_true(job->result == -EIO);
                machine_done(&m);
        }
}

/* --dry-run tells what a start would write, and writes nothing: neither on a fresh machine nor
 * beside a service that runs, nor where it has to refuse. */
static void test_dry_run(void **state) {
        (void) state;
        for (int rung = 0; rung < _FAKE_RUNG_MAX; rung++)
                for (size_t i = 0; i < ELEMENTSOF(fixtures); i++) {
                        _cleanup_(freep) char *text = NULL;
                        size_t size, n_lines = 0;
                        char release[32];
                        unsigned before;
                        Machine m;
                        FILE *f = open_memstream(&text, &size);

                        assert_non_null(f);
                        machine_new(&m, (FakeRung) rung, fixtures[i]);
                        (void) snprintf(release, sizeof(release), "%s.1\n",
                                        fake_rung_to_string((FakeRung) rung));
                        fakedamon_set_file(m.fake, "proc/sys/kernel/osrelease", release);
                        assert_int_equal(dryrun(m.sysfs, "/nonexistent", m.config, f), 0);
                        assert_int_equal(m.n_writes, 0);
                        fflush(f);
                        for (const char *p = text; p && *p; p = strchr(p, '\n') + 1)
                                n_lines += *p != '#';

                        /* It is what a start does, but for what staging looks at. */
                        prepare(&m);
                        stage(&m, /* adopt= */ false);
                        before = m.n_writes;
                        (void) apply(&m);
                        assert_in_range(n_lines, m.n_writes - before, m.n_writes);

                        /* Now somebody's tree is there: refused, and still not a single write. */
                        before = m.n_writes;
                        assert_int_equal(dryrun(m.sysfs, "/nonexistent", m.config, f), -EBUSY);
                        assert_int_equal(m.n_writes, before);
                        fclose(f);
                        assert_non_null(strstr(text, "that we did not start"));
                        release_tree(&m);
                        machine_done(&m);
                }
}

static void test_worker(void **state) {
        _cleanup_(worker_freep) Worker *worker = NULL;
        Machine m;
        Job *job;

        (void) state;
        machine_new(&m, FAKE_7_3, "two");
        assert_int_equal(worker_new(m.sysfs, &worker), 0);
        assert_false(worker_is_busy(worker));
        assert_null(worker_take(worker));
        assert_int_equal(worker_post_consume(worker, run(&m, JOB_PREPARE)), 0);
        assert_true(worker_is_busy(worker));
        assert_int_equal(worker_post_consume(worker, run(&m, JOB_PREPARE)), -EBUSY);
        while (!(job = worker_take(worker)))
                ; /* the job takes microseconds */
        assert_int_equal(job->result, 0);
        assert_false(worker_is_busy(worker));
        job_free(job);
        /* Freed with a job that nobody took. */
        assert_int_equal(worker_post_consume(worker, run(&m, JOB_PREPARE)), 0);
        worker = worker_free(worker);
        assert_string_equal(job_kind_to_string(JOB_STAGE), "stage");
        assert_null(job_kind_to_string(_JOB_KIND_MAX));
        machine_done(&m);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_start_and_stop),
                cmocka_unit_test(test_few_writes),
                cmocka_unit_test(test_stages),
                cmocka_unit_test(test_scrape),
                cmocka_unit_test(test_adopt),
                cmocka_unit_test(test_adopt_half_staged),
                cmocka_unit_test(test_exclusive_modules),
                cmocka_unit_test(test_failure_is_told),
                cmocka_unit_test(test_busy_lock),
                cmocka_unit_test(test_any_call_may_fail),
                cmocka_unit_test(test_dry_run),
                cmocka_unit_test(test_worker),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
