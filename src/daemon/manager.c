/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The sequence of the service, and nothing else: which job follows which, and what to keep. Policy
 * is in core, blocking work in the worker, words in manager-say.c.
 *
 *   prepare -> stage -> apply -> running: scrape or watch, decide, plan, diff, apply, ...
 *        '-> idle, waiting                stop: scrape -> release
 *
 * At most one job is at work; what comes in between (reload, stop) waits for it. */

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <syslog.h>

#include <systemd/sd-daemon.h>

#include "core/report.h"
#include "manager-internal.h"

/* A job that takes longer than this is stuck in the kernel: then the watchdog is no longer fed. The
 * longest legitimate one is bounded by EBUSY retries in io/damonfs. */
#define STALL_US (60 * UINT64_C(1000000))

/* A machine without tiers is looked at now and then: memory may be plugged. */
#define IDLE_LOOK_US (60 * UINT64_C(1000000))

static void post(Manager *m, Job *job);
static void stop_step(Manager *m);

static void prepare(Manager *m) {
        m->phase = PHASE_PREPARING;
        post(m, job_new(JOB_PREPARE));
}

static void say_errno(Manager *m, int priority, int error, const char *what) {
        manager_say(m, event_new(priority, NULL, "%s: %s", what, strerror(-error)));
}

static void stop(Manager *m, int exit_status) {
        if (m->stopping)
                return;
        m->stopping = true;
        m->exit_status = exit_status;
        (void) sd_notify(/* unset_environment= */ 0, "STOPPING=1\nSTATUS=Giving everything back");
        if (!worker_is_busy(m->worker))
                stop_step(m);
}

static void post(Manager *m, Job *job) {
        int r = -ENOMEM;

        if (job) {
                m->busy_since_us = job_now_us();
                r = worker_post_consume(m->worker, job);
        }
        if (r < 0) {
                say_errno(m, LOG_ERR, r, "Failed to give work to the worker, stopping");
                m->stopping = true;
                (void) sd_event_exit(m->event, MANAGER_EXIT_FAILURE);
        }
}

static void set_timer(Manager *m, uint64_t us) {
        (void) sd_event_source_set_time_relative(m->timer, us);
        (void) sd_event_source_set_enabled(m->timer, SD_EVENT_ONESHOT);
}

static uint64_t tick_us(const Manager *m) {
        bool by_kernel = m->has_decision && m->decision.by_kernel && m->decision.settled;

        if (m->phase != PHASE_RUNNING || by_kernel)
                return m->config->manager.interval_us;
        return MIN(DECIDE_WATCH_US, m->config->manager.interval_us);
}

static void become_ready(Manager *m) {
        if (m->reloading)
                manager_say(m, report_config_reloaded(m->n_writes));
        m->reloading = false;
        m->ready = true;
        (void) sd_notify(/* unset_environment= */ 0, "READY=1");
}

static NodeSet topology_nids(const Topology *topology) {
        NodeSet nids = {};

        for (size_t i = 0; i < topology->n_nodes; i++)
                nodeset_add(&nids, topology->nodes[i].nid);
        return nids;
}

/* Rest: alive, nothing of ours in the kernel. @event is said when the reason is a new one. */
static void rest(Manager *m, Phase phase, Event *event) {
        _cleanup_(event_freep) Event *owned = event;

        m->phase = phase;
        if (owned && (!m->reason || strcmp(m->reason, owned->message) != 0)) {
                free(m->reason);
                m->reason = strdup(owned->message);
                manager_say(m, TAKE_PTR(owned));
        }
        manager_write_status(m, phase == PHASE_IDLE ? "idle" : "waiting");
        become_ready(m);
        set_timer(m, phase == PHASE_IDLE ? MAX(IDLE_LOOK_US, tick_us(m)) : tick_us(m));
}

static bool waits(const Manager *m) {
        return m->config->manager.foreign_kdamonds == FOREIGN_KDAMONDS_WAIT;
}

static void refuse(Manager *m, Event *event, int exit_status) {
        manager_say(m, event);
        stop(m, exit_status);
}

/* Record what will be ours before it is; a crash in between then leaves a trace. */
static int claim(Manager *m, size_t n_kdamonds, bool damon_stat) {
        if (m->record.n_kdamonds != n_kdamonds) {
                RecordKdamond *kdamonds = calloc(MAX(n_kdamonds, (size_t) 1), sizeof(*kdamonds));

                if (!kdamonds)
                        return -ENOMEM;
                for (size_t i = 0; i < n_kdamonds; i++)
                        kdamonds[i].pid = -1;
                free(m->record.kdamonds);
                m->record.kdamonds = kdamonds;
                m->record.n_kdamonds = n_kdamonds;
        }
        m->record.restore_damon_stat = m->record.restore_damon_stat || damon_stat;
        return runfile_write_record(m->params->run_dir, &m->record);
}

static void say_topology(Manager *m) {
        manager_say(m, report_tiers(m->topology));
        for (size_t i = 0; m->topology->n_tiers > 1 && i < m->topology->n_tiers; i++)
                manager_say(m, report_tier(m->topology, i));
}

/* 0, or negative when it was refused (and said). */
static int take_topology(Manager *m, const Job *job) {
        _cleanup_(freep) char *text = NULL;
        Topology *topology;
        bool changed;
        int r;

        r = topology_build(&job->facts, m->config, &topology, &text);
        if (r < 0) {
                refuse(m, report_unsupported(text ? text : strerror(-r)),
                       r == -ENXIO ? MANAGER_EXIT_CONFIG : MANAGER_EXIT_REFUSED);
                return r;
        }
        changed = !m->topology || !topology_equal(m->topology, topology);
        topology_free(m->topology);
        m->topology = topology;
        if (changed && topology_count_monitored(topology) > 0)
                say_topology(m);
        return 0;
}

static void prepared(Manager *m, Job *job) {
        bool ours = record_matches(&m->record, &job->tree), stat_blocks;
        Job *next;
        size_t n;
        int r;

        if (job->result < 0) {
                say_errno(m, LOG_ERR, job->result, "Failed to read this machine's nodes, stopping");
                return stop(m, MANAGER_EXIT_FAILURE);
        }
        if (m->release_only) {
                if (ours)
                        m->present = job->tree, job->tree = (DamonTree){};
                return stop(m, 0);
        }
        r = take_topology(m, job);
        if (r < 0)
                return;
        n = topology_count_monitored(m->topology);
        if (n == 0)
                return ours ? refuse(m, report_idle(m->topology), 0)
                            : rest(m, PHASE_IDLE, report_idle(m->topology));
        if (!job->has_damon)
                return refuse(m,
                              report_unsupported("this kernel has no DAMON sysfs interface "
                                                 "(CONFIG_DAMON_SYSFS)"),
                              MANAGER_EXIT_REFUSED);
        if (job->tree.n_kdamonds > 0 && !ours)
                return waits(m)
                               ? rest(m, PHASE_WAITING, report_foreign(&job->tree, true))
                               : refuse(m, report_foreign(&job->tree, false), MANAGER_EXIT_REFUSED);
        stat_blocks = job->damon_stat && m->config->manager.damon_stat == DAMON_STAT_REFUSE;
        if (job->exclusive || stat_blocks) {
                const char *module = job->exclusive ? job->exclusive : "damon_stat";

                return waits(m) ? rest(m, PHASE_WAITING, report_exclusive(module, true))
                                : refuse(m, report_exclusive(module, false), MANAGER_EXIT_REFUSED);
        }
        r = claim(m, ours ? job->tree.n_kdamonds : n, job->damon_stat);
        if (r < 0) {
                say_errno(m, LOG_ERR, r, "Failed to record what is ours, touching nothing");
                return stop(m, MANAGER_EXIT_FAILURE);
        }
        next = job_new(JOB_STAGE);
        if (next) {
                next->adopt = ours;
                next->n_kdamonds = n;
                next->nids = topology_nids(m->topology);
                if (job->damon_stat)
                        r = op_list_add(&next->ops, OP_KNOB, OP_NO_KDAMOND, "N", "%s",
                                        DAMONFS_STAT_ENABLED);
        }
        m->phase = PHASE_STAGING;
        if (job->damon_stat)
                manager_say(m, report_knob(DAMONFS_STAT_ENABLED, "Y", "N"));
        post(m, next);
}

/* Decide and plan with @sample; the result is in m->decision and m->plan. */
static int replan(Manager *m, const Sample *sample, bool anew) {
        DecideInput input = {
                .config = m->config,
                .topology = m->topology,
                .caps = m->caps,
                .sample = sample,
                .stats = &m->stats,
                .now_us = sample->now_us,
        };
        _cleanup_(decision_done) Decision decision = {};
        _cleanup_(plan_done) Plan plan = {};
        _cleanup_(freep) char *text = NULL;
        int r;

        r = decide(&input, &m->decide_state, anew || !m->has_decision ? NULL : &m->decision,
                   &decision);
        if (r < 0)
                return r;
        r = plan_build(m->config, m->topology, m->caps, &decision, &plan, &text);
        if (r < 0) {
                if (text)
                        manager_say(m, report_unsupported(text));
                return r;
        }
        decision_done(&m->decision);
        m->decision = decision;
        decision = (Decision){};
        plan_done(&m->plan);
        m->plan = plan;
        plan = (Plan){};
        m->has_decision = true;
        return 0;
}

/* Post what leads from the present tree to the plan. 1 when there is something, 0 when not. */
static int apply_plan(Manager *m) {
        Job *job = job_new(JOB_APPLY);
        int r;

        if (!job)
                return -ENOMEM;
        job->caps = m->caps;
        r = diff_trees(&m->present, &m->plan.tree, m->caps, &job->ops);
        if (r < 0 || job->ops.n_items == 0) {
                job_free(job);
                return r;
        }
        /* The record must cover what comes, also when the number of kdamonds changes. */
        r = claim(m, m->plan.tree.n_kdamonds, /* damon_stat= */ false);
        if (r < 0) {
                job_free(job);
                return r;
        }
        post(m, job);
        return 1;
}

static void take_tree(Manager *m, Job *job) {
        damon_tree_done(&m->present);
        m->present = job->tree;
        job->tree = (DamonTree){};
}

static void fail_write(Manager *m, const Job *job, const char *what_we_do) {
        const Op *op;

        if (job->failure.index >= job->ops.n_items)
                return say_errno(m, LOG_ERR, job->result, "Failed to read DAMON's tree back");
        op = &job->ops.items[job->failure.index];
        manager_say(m, report_write_failed(op, job->failure.error,
                                           damonfs_hint(op, job->failure.error), what_we_do));
}

static void run(Manager *m);

static void staged(Manager *m, Job *job) {
        int r;

        if (job->result < 0) {
                if (job->failure.index < job->ops.n_items)
                        fail_write(m, job, "stopping");
                else
                        say_errno(m, LOG_ERR, job->result,
                                  "Failed to stage DAMON's tree, stopping");
                return stop(m, MANAGER_EXIT_FAILURE);
        }
        m->caps = job->caps;
        m->has_memory = job->sample.has_memory;
        m->n_writes = 0;
        m->adopted = job->adopt && !m->ready;
        take_tree(m, job);
        for (size_t k = 0; m->adopted && k < m->record.n_kdamonds; k++)
                for (size_t s = 0; s < m->record.kdamonds[k].n_schemes; s++)
                        (void) stats_set_baseline(&m->stats, k, m->record.kdamonds[k].pid, s,
                                                  &m->record.kdamonds[k].counters[s]);
        if (m->adopted)
                m->decide_state.on_since_us = 1; /* long ago: its first window is over */
        else if (!(m->caps & DAMON_CAP_REFRESH))
                m->decide_state = (DecideState){};

        r = replan(m, &job->sample, /* anew= */ true);
        if (r < 0) {
                if (r != -EOPNOTSUPP)
                        say_errno(m, LOG_ERR, r, "Failed to plan, stopping");
                return stop(m, MANAGER_EXIT_REFUSED);
        }
        manager_say_plan(m);
        m->phase = PHASE_APPLYING;
        r = apply_plan(m);
        if (r == 0)
                return run(m); /* adopted, and all is as wanted */
        if (r < 0) {
                say_errno(m, LOG_ERR, r, "Failed to prepare the writes, stopping");
                stop(m, MANAGER_EXIT_FAILURE);
        }
}

/* All that was planned is in the kernel. */
static void run(Manager *m) {
        int r;

        m->phase = PHASE_RUNNING;
        m->residual_tries = 0;
        free(m->reason);
        m->reason = NULL;
        if (m->decide_state.on_since_us == 0)
                m->decide_state.on_since_us = job_now_us();
        r = manager_write_record(m);
        if (r < 0)
                say_errno(m, LOG_WARNING, r, "Failed to record our kdamonds, retrying");
        if (!m->ready)
                manager_say(m,
                            m->adopted ? report_adopted(&m->present) : report_running(&m->present));
        manager_write_status(m, "running");
        become_ready(m);
        set_timer(m, MIN(DECIDE_WATCH_US, tick_us(m)));
}

/* What the read-back shows to differ still, said once. */
static void say_residual(Manager *m) {
        _cleanup_(op_list_done) OpList ops = {};

        if (diff_trees(&m->present, &m->plan.tree, m->caps, &ops) >= 0 && ops.n_items > 0)
                manager_say(m, report_write_failed(&ops.items[0], -EIO,
                                                   "the kernel does not keep what it took",
                                                   "stopping"));
}

static void applied(Manager *m, Job *job) {
        bool first = m->phase == PHASE_APPLYING;
        int r;

        m->n_writes += job->ops.n_items;
        take_tree(m, job);
        if (job->result < 0) {
                fail_write(m, job, first ? "giving everything back" : "retrying");
                if (first)
                        return stop(m, MANAGER_EXIT_FAILURE);
                return set_timer(m, m->config->manager.interval_us);
        }
        /* Read-back: what was written must be what is there. */
        r = apply_plan(m);
        if (r > 0 && ++m->residual_tries > 2) {
                say_residual(m);
                return stop(m, MANAGER_EXIT_FAILURE);
        }
        if (r > 0)
                return;
        if (r < 0)
                say_errno(m, LOG_WARNING, r, "Failed to compare the trees, retrying");
        if (first || m->decide_state.on_since_us == 0)
                return run(m);
        m->residual_tries = 0;
        set_timer(m, tick_us(m));
}

/* Is the tree still the one that we made? Negative: no, and it was said. */
static int check_tree(Manager *m, const Sample *sample) {
        if (sample->n_kdamonds != m->present.n_kdamonds) {
                manager_say(m, report_tree_changed("another number of kdamonds"));
                return -ESTALE;
        }
        for (size_t k = 0; k < sample->n_kdamonds; k++) {
                DamonKdamond *kdamond = &m->present.kdamonds[k];

                if (sample->kdamonds[k].on && sample->kdamonds[k].pid != kdamond->pid) {
                        manager_say(m, report_tree_changed("another kdamond in our slot"));
                        return -ESTALE;
                }
                if (kdamond->on && !sample->kdamonds[k].on) {
                        manager_say(m, report_kdamond_ended(k, m->plan.kdamonds[k].nid));
                        kdamond->on = false;
                        if (!(m->caps & DAMON_CAP_REFRESH))
                                m->decide_state = (DecideState){};
                }
        }
        return 0;
}

/* The sample is taken over. Negative: 's not ours any more. */
static int account(Manager *m, Job *job) {
        int r;

        r = check_tree(m, &job->sample);
        if (r < 0)
                return r;
        sample_done(&m->sample);
        m->sample = job->sample;
        job->sample = (Sample){};
        r = stats_update(&m->stats, &m->sample);
        if (r >= 0)
                r = ledger_add_window(&m->record.ledger, &m->plan, &m->stats);
        if (r >= 0)
                r = manager_say_verdicts(m);
        if (r < 0) {
                say_errno(m, LOG_WARNING, r, "Failed to account for a sample, going on");
                return 0;
        }
        manager_say_moved(m, m->phase == PHASE_ACCOUNTING);
        r = manager_write_record(m);
        if (r < 0)
                say_errno(m, LOG_WARNING, r, "Failed to write the record, retrying");
        return 0;
}

static void sampled(Manager *m, Job *job) {
        NodeSet has_memory = job->sample.has_memory;
        int r;

        if (job->result < 0 && job->result != -ENODATA) {
                say_errno(m, LOG_WARNING, job->result, "Failed to take a sample, retrying");
                return set_timer(m, m->config->manager.interval_us);
        }
        if (job->result == -ENODATA || !nodeset_equal(&has_memory, &m->has_memory)) {
                manager_say(m, report_topology_changed(&m->has_memory, &has_memory));
                return prepare(m);
        }
        if (job->sample.full) {
                r = account(m, job);
                if (r < 0)
                        return prepare(m);
        }
        r = replan(m, job->sample.n_nodes > 0 ? &job->sample : &m->sample, /* anew= */ false);
        if (r < 0) {
                say_errno(m, LOG_WARNING, r, "Failed to plan, keeping what runs");
                return set_timer(m, m->config->manager.interval_us);
        }
        if (job->kind == JOB_SCRAPE)
                manager_write_status(m, "running");
        r = apply_plan(m);
        if (r < 0)
                say_errno(m, LOG_WARNING, r, "Failed to prepare the writes, retrying");
        if (r <= 0)
                set_timer(m, tick_us(m));
}

static void give_back(Manager *m) {
        Job *job = job_new(JOB_APPLY);
        int r = -ENOMEM;

        m->phase = PHASE_RELEASING;
        if (job) {
                job->caps = m->caps;
                r = diff_release(&m->present, &job->ops);
                if (r >= 0 && m->record.restore_damon_stat)
                        r = op_list_add(&job->ops, OP_KNOB, OP_NO_KDAMOND, "Y", "%s",
                                        DAMONFS_STAT_ENABLED);
        }
        if (r < 0) {
                say_errno(m, LOG_ERR, r, "Failed to give back what is ours");
                job_free(job);
                (void) sd_event_exit(m->event, MANAGER_EXIT_FAILURE);
                return;
        }
        post(m, job);
}

static void finish(Manager *m) {
        int r;

        r = runfile_write_record(m->params->run_dir, &m->record);
        if (r < 0)
                say_errno(m, LOG_WARNING, r, "Failed to write the record");
        m->has_decision = false; /* nothing of the plan is true any more */
        m->stats.n_kdamonds = 0;
        if (!m->reason)
                manager_write_status(m, "stopped");
        (void) sd_event_exit(m->event, m->exit_status);
}

static void released(Manager *m, Job *job) {
        if (job->result < 0) {
                fail_write(m, job, "leaving the rest as it is");
                m->exit_status = m->exit_status ? m->exit_status : MANAGER_EXIT_FAILURE;
                (void) manager_write_record(m);
                (void) sd_event_exit(m->event, m->exit_status);
                return;
        }
        if (m->present.n_kdamonds > 0)
                manager_say(m, report_released(&m->record.ledger));
        if (m->record.restore_damon_stat)
                manager_say(m, report_knob_restored(DAMONFS_STAT_ENABLED, "Y"));
        damon_tree_done(&m->present);
        m->record.n_kdamonds = 0;
        m->record.restore_damon_stat = false;
        finish(m);
}

/* The next step of stopping, with the worker free. */
static void stop_step(Manager *m) {
        bool owns = m->present.n_kdamonds > 0, was_running = m->phase == PHASE_RUNNING;

        if (m->phase == PHASE_STAGING && m->record.n_kdamonds > 0 && !owns) {
                /* Stopped while staging: what is there is what we claimed, all of it off. */
                m->present.kdamonds = calloc(m->record.n_kdamonds, sizeof(*m->present.kdamonds));
                m->present.n_kdamonds = m->present.kdamonds ? m->record.n_kdamonds : 0;
                owns = m->present.n_kdamonds > 0;
        }
        if (owns && was_running) {
                Job *job = job_new(JOB_SCRAPE);

                if (job) {
                        job->caps = m->caps;
                        job->nids = topology_nids(m->topology);
                }
                m->phase = PHASE_ACCOUNTING;
                return post(m, job);
        }
        if (owns && m->config && m->config->manager.at_exit == AT_EXIT_KEEP && !m->release_only &&
            m->exit_status == 0) {
                manager_say(m, report_kept_running(&m->present));
                return finish(m);
        }
        if (owns || m->record.restore_damon_stat)
                return give_back(m);
        finish(m);
}

static void accounted(Manager *m, Job *job) {
        if (job->result >= 0 && account(m, job) < 0) {
                /* Somebody else's tree now: nothing of it is ours to give back. */
                damon_tree_done(&m->present);
                m->record.n_kdamonds = 0;
        }
        stop_step(m);
}

static void start_reload(Manager *m) {
        _cleanup_(config_problems_done) ConfigProblems problems = {};
        Config *config = NULL;
        int r;

        m->reload_pending = false;
        (void) sd_notifyf(/* unset_environment= */ 0, "RELOADING=1\nMONOTONIC_USEC=%llu",
                          (unsigned long long) job_now_us());
        r = m->params->load_config(m->params->userdata, &problems, &config);
        manager_say_problems(m, &problems);
        if (r < 0) {
                manager_say(m, report_config_kept(problems.n_errors));
                (void) sd_notify(/* unset_environment= */ 0, "READY=1");
                return;
        }
        config_free(m->config);
        m->config = config;
        m->reloading = true;
        (void) sd_event_source_set_enabled(m->timer, SD_EVENT_OFF);
        prepare(m);
}

static int on_worker(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Manager *m = userdata;
        _cleanup_(job_freep) Job *job = worker_take(m->worker);

        (void) source;
        (void) fd;
        (void) revents;
        if (!job)
                return 0;
        m->busy_since_us = 0;

        if (m->phase == PHASE_ACCOUNTING)
                accounted(m, job);
        else if (m->phase == PHASE_RELEASING)
                released(m, job);
        else if (m->stopping) {
                /* Stopped while this was at work; it may have made something. */
                if (job->kind == JOB_APPLY || job->kind == JOB_STAGE)
                        take_tree(m, job);
                stop_step(m);
        } else
                switch (job->kind) {
                case JOB_PREPARE:
                        prepared(m, job);
                        break;
                case JOB_STAGE:
                        staged(m, job);
                        break;
                case JOB_APPLY:
                        applied(m, job);
                        break;
                case JOB_SCRAPE:
                case JOB_WATCH:
                        sampled(m, job);
                        break;
                case _JOB_KIND_MAX:
                        break;
                }
        if (m->reload_pending && !m->stopping && !worker_is_busy(m->worker))
                start_reload(m);
        return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *m = userdata;
        uint64_t now_us = job_now_us();
        bool full;
        Job *job;

        (void) source;
        (void) usec;
        if (m->stopping || worker_is_busy(m->worker))
                return 0; /* the job's end sets the timer again */
        if (m->phase != PHASE_RUNNING) {
                prepare(m);
                return 0;
        }
        full = m->sample.n_nodes == 0 || !m->decision.settled ||
               now_us + DECIDE_WATCH_US / 2 >= m->sample.now_us + m->config->manager.interval_us;
        job = job_new(full ? JOB_SCRAPE : JOB_WATCH);
        if (job) {
                job->caps = m->caps;
                job->nids = topology_nids(m->topology);
                if (!full && sample_copy_nodes(&m->sample, &job->floors) < 0)
                        job->kind = JOB_SCRAPE;
        }
        post(m, job);
        return 0;
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata) {
        Manager *m = userdata;

        (void) source;
        if (si->ssi_signo != SIGHUP)
                stop(m, 0);
        else if (worker_is_busy(m->worker))
                m->reload_pending = true;
        else if (!m->stopping)
                start_reload(m);
        return 0;
}

/* Fed only while the worker gets on with its work. */
static int on_watchdog(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *m = userdata;

        (void) usec;
        (void) sd_event_source_set_time_relative(source, m->watchdog_us);
        (void) sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
        if (m->busy_since_us == 0 || job_now_us() < m->busy_since_us + STALL_US)
                (void) sd_notify(/* unset_environment= */ 0, "WATCHDOG=1");
        return 0;
}

static int setup_sources(Manager *m) {
        static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
        sd_event_source *io = NULL;
        uint64_t watchdog_us = 0;
        int r;

        for (size_t i = 0; i < ELEMENTSOF(signals); i++) {
                sigset_t set;

                (void) sigemptyset(&set);
                (void) sigaddset(&set, signals[i]);
                (void) sigprocmask(SIG_BLOCK, &set, NULL);
                r = sd_event_add_signal(m->event, NULL, signals[i], on_signal, m);
                if (r < 0)
                        return r;
        }
        r = sd_event_add_io(m->event, &io, worker_fd(m->worker), EPOLLIN, on_worker, m);
        if (r < 0)
                return r;
        (void) sd_event_source_set_description(io, "worker");
        (void) sd_event_source_set_floating(io, true);
        sd_event_source_unref(io);
        r = sd_event_add_time_relative(m->event, &m->timer, CLOCK_MONOTONIC, 0, 0, on_timer, m);
        if (r < 0)
                return r;
        (void) sd_event_source_set_description(m->timer, "tick");
        (void) sd_event_source_set_enabled(m->timer, SD_EVENT_OFF);
        if (sd_watchdog_enabled(/* unset_environment= */ 0, &watchdog_us) <= 0)
                return 0;
        m->watchdog_us = watchdog_us / 3;
        r = sd_event_add_time_relative(m->event, &m->watchdog, CLOCK_MONOTONIC, 0, 0, on_watchdog,
                                       m);
        if (r >= 0)
                (void) sd_event_source_set_description(m->watchdog, "watchdog");
        return r;
}

static void manager_done(Manager *m) {
        worker_free(m->worker);
        sd_event_source_unref(m->timer);
        sd_event_source_unref(m->watchdog);
        sd_event_unref(m->event);
        config_free(m->config);
        topology_free(m->topology);
        damon_tree_done(&m->present);
        plan_done(&m->plan);
        decision_done(&m->decision);
        record_done(&m->record);
        sample_done(&m->sample);
        stats_done(&m->stats);
        ledger_done(&m->reported);
        free(m->tracks);
        free(m->verdicts);
        free(m->status_line);
        free(m->reason);
}

static int manager_main(const ManagerParams *params, bool release_only, int *ret_exit) {
        _cleanup_(config_problems_done) ConfigProblems problems = {};
        _cleanup_(manager_done) Manager m = {.params = params, .release_only = release_only};
        int r;

        r = params->load_config(params->userdata, &problems, &m.config);
        if (!release_only)
                manager_say_problems(&m, &problems);
        if (r < 0 && !release_only) {
                *ret_exit = r == -ENOMEM ? MANAGER_EXIT_FAILURE : MANAGER_EXIT_CONFIG;
                return 0;
        }
        r = runfile_read_record(params->run_dir, &m.record);
        if (r < 0 && r != -ENOENT)
                say_errno(&m, LOG_WARNING, r,
                          "The record of an earlier run is of no use, going on "
                          "without");
        r = ledger_copy(&m.record.ledger, &m.reported);
        if (r < 0)
                return r;
        m.reported_us = job_now_us();
        r = sd_event_new(&m.event);
        if (r < 0)
                return r;
        r = worker_new(params->sysfs, &m.worker);
        if (r < 0)
                return r;
        r = setup_sources(&m);
        if (r < 0)
                return r;
        prepare(&m);
        r = sd_event_loop(m.event);
        if (r < 0)
                return r;
        *ret_exit = r;
        return 0;
}

int manager_run(const ManagerParams *params, int *ret_exit) {
        return manager_main(params, /* release_only= */ false, ret_exit);
}

int manager_release(const ManagerParams *params, int *ret_exit) {
        return manager_main(params, /* release_only= */ true, ret_exit);
}
