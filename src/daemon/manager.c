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

/* Every how manieth full sample also asks for effective quotas and tuned intervals. */
#define FULL_SHARE 4

/* What is left to itself, the event loop rounds to a quarter of a second, and the controller asks
 * for less than that while things settle. */
#define TICK_ACCURACY_US 5000

/* A job that takes longer than this is stuck in the kernel: then the watchdog is no longer fed. The
 * longest legitimate one is bounded by EBUSY retries in io/damonfs. */
#define STALL_US (60 * UINT64_C(1000000))

void manager_say_errno(Manager *m, int priority, int error, const char *what) {
        manager_say(m, event_new(priority, NULL, "%s: %s", what, strerror(-error)));
}

void manager_post(Manager *m, Job *job) {
        int r = -ENOMEM;

        if (job) {
                m->busy_since_us = job_now_us();
                r = worker_post_consume(m->worker, job);
        }
        if (r < 0) {
                manager_say_errno(m, LOG_ERR, r, "Failed to give work to the worker, stopping");
                m->stopping = true;
                (void) sd_event_exit(m->event, MANAGER_EXIT_FAILURE);
        }
}

void manager_set_timer(Manager *m, uint64_t us) {
        (void) sd_event_source_set_time_relative(m->timer, us);
        (void) sd_event_source_set_enabled(m->timer, SD_EVENT_ONESHOT);
}

uint64_t manager_tick_us(const Manager *m) {
        bool by_kernel = m->has_decision && m->decision.by_kernel && m->decision.settled;

        if (m->phase != PHASE_RUNNING || by_kernel)
                return m->config->manager.interval_us;
        if (!m->decision.settled)
                return DECIDE_SETTLE_US;
        return MIN(DECIDE_WATCH_US, m->config->manager.interval_us);
}

void manager_become_ready(Manager *m) {
        if (m->reloading)
                manager_say(m, report_config_reloaded(m->n_writes));
        m->reloading = false;
        m->old_config = config_free(m->old_config);
        m->ready = true;
        (void) sd_notify(/* unset_environment= */ 0, "READY=1");
}

NodeSet manager_nids(const Manager *m) {
        NodeSet nids = {};

        for (size_t i = 0; i < m->topology->n_nodes; i++)
                nodeset_add(&nids, m->topology->nodes[i].nid);
        return nids;
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
                manager_accounted(m, job);
        else if (m->phase == PHASE_RELEASING)
                manager_released(m, job);
        else if (m->stopping) {
                /* Stopped while this was at work; it may have made something. */
                if (job->kind == JOB_APPLY || job->kind == JOB_STAGE)
                        manager_take_tree(m, job);
                manager_stop_step(m);
        } else
                switch (job->kind) {
                case JOB_PREPARE:
                        manager_prepared(m, job);
                        break;
                case JOB_STAGE:
                        manager_staged(m, job);
                        break;
                case JOB_APPLY:
                        manager_applied(m, job);
                        break;
                case JOB_SCRAPE:
                case JOB_WATCH:
                        manager_sampled(m, job);
                        break;
                case _JOB_KIND_MAX:
                        break;
                }
        if (m->reload_pending && !m->stopping && !worker_is_busy(m->worker))
                manager_reload(m);
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
                manager_prepare(m);
                return 0;
        }
        full = m->sample.n_nodes == 0 || !m->decision.settled ||
               now_us + DECIDE_WATCH_US / 2 >= m->sample.now_us + m->config->manager.interval_us;
        job = job_new(full ? JOB_SCRAPE : JOB_WATCH);
        if (job) {
                job->caps = m->caps;
                job->nids = manager_nids(m);
                /* Tuning takes longer than a tick, and each thing asked for is a command to each
                 * kdamond. */
                job->what = m->decision.settled && m->n_full++ % FULL_SHARE == 0 ? SCRAPE_ALL
                                                                                 : SCRAPE_COUNTERS;
                strcpy(job->pressure_group, m->config->guard.pressure_group);
                if (!full && sample_copy_nodes(&m->sample, &job->floors) < 0)
                        job->kind = JOB_SCRAPE;
        }
        manager_post(m, job);
        return 0;
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata) {
        Manager *m = userdata;

        (void) source;
        if (si->ssi_signo != SIGHUP)
                manager_stop(m, 0);
        else if (worker_is_busy(m->worker))
                m->reload_pending = true;
        else if (!m->stopping)
                manager_reload(m);
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
        r = sd_event_add_time_relative(m->event, &m->timer, CLOCK_MONOTONIC, 0, TICK_ACCURACY_US,
                                       on_timer, m);
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
        config_free(m->old_config);
        topology_free(m->topology);
        damon_tree_done(&m->present);
        plan_done(&m->plan);
        decision_done(&m->decision);
        record_done(&m->record);
        sample_done(&m->sample);
        stats_done(&m->stats);
        guard_done(&m->guard);
        ledger_done(&m->reported);
        free(m->tracks);
        free(m->verdicts);
        free(m->moved_us);
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
                manager_say_errno(&m, LOG_WARNING, r,
                                  "The record of an earlier run is of no use, going on "
                                  "without");
        r = guard_restore(&m.guard, m.record.written_bytes, m.record.n_written,
                          m.record.written_at_us);
        if (r < 0)
                return r;
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
        manager_prepare(&m);
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
