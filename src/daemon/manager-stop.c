/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The way back: a last sample for the books, then everything that is ours off and away. */

#include <errno.h>
#include <string.h>
#include <syslog.h>

#include <systemd/sd-daemon.h>

#include "core/report.h"
#include "manager-internal.h"

void manager_stop(Manager *m, int exit_status) {
        if (m->stopping)
                return;
        m->stopping = true;
        m->exit_status = exit_status;
        (void) sd_notify(/* unset_environment= */ 0, "STOPPING=1\nSTATUS=Giving everything back");
        if (!worker_is_busy(m->worker))
                manager_stop_step(m);
}

void manager_give_back(Manager *m) {
        Job *job = job_new(JOB_APPLY);
        int r = -ENOMEM;

        m->phase = PHASE_RELEASING;
        if (job) {
                job->caps = m->caps;
                r = diff_release(&m->present, &job->ops);
                for (Knob knob = 0; r >= 0 && knob < _KNOB_MAX; knob++)
                        if (m->record.knobs & KNOB_BIT(knob))
                                r = knob_turn(knob, /* ours= */ false, &job->ops);
        }
        if (r < 0) {
                manager_say_errno(m, LOG_ERR, r, "Failed to give back what is ours");
                job_free(job);
                (void) sd_event_exit(m->event, MANAGER_EXIT_FAILURE);
                return;
        }
        manager_post(m, job);
}

static void finish(Manager *m) {
        int r;

        r = runfile_write_record(m->params->run_dir, &m->record);
        if (r < 0)
                manager_say_errno(m, LOG_WARNING, r, "Failed to write the record");
        m->has_decision = false; /* nothing of the plan is true any more */
        m->stats.n_kdamonds = 0;
        if (!m->reason)
                manager_write_status(m, "stopped");
        (void) sd_event_exit(m->event, m->exit_status);
}

void manager_released(Manager *m, Job *job) {
        if (job->result < 0) {
                manager_say_write_failed(m, job, "leaving the rest as it is");
                m->exit_status = m->exit_status ? m->exit_status : MANAGER_EXIT_FAILURE;
                (void) manager_write_record(m);
                (void) sd_event_exit(m->event, m->exit_status);
                return;
        }
        if (m->present.n_kdamonds > 0)
                manager_say(m, report_released(&m->record.ledger));
        for (Knob knob = 0; knob < _KNOB_MAX; knob++)
                if (m->record.knobs & KNOB_BIT(knob))
                        manager_say(m, report_knob_restored(knob_info(knob)));
        damon_tree_done(&m->present);
        m->record.n_kdamonds = 0;
        m->record.knobs = 0;
        if (!m->stopping) {
                m->has_decision = false;
                m->decide_state = (DecideState){};
                (void) manager_write_record(m);
                return manager_rest(m, PHASE_IDLE, report_idle(m->topology));
        }
        finish(m);
}

/* The next step of stopping, with the worker free. */
void manager_stop_step(Manager *m) {
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
                        job->nids = manager_nids(m);
                        job->what = SCRAPE_ALL;
                }
                m->phase = PHASE_ACCOUNTING;
                return manager_post(m, job);
        }
        if (owns && m->config && m->config->manager.at_exit == AT_EXIT_KEEP && !m->release_only &&
            m->exit_status == 0) {
                manager_say(m, report_kept_running(&m->present));
                return finish(m);
        }
        if (owns || m->record.knobs)
                return manager_give_back(m);
        finish(m);
}

void manager_accounted(Manager *m, Job *job) {
        if (job->result >= 0 && manager_account(m, job) < 0) {
                /* Somebody else's tree now: nothing of it is ours to give back. */
                damon_tree_done(&m->present);
                m->record.n_kdamonds = 0;
        }
        manager_stop_step(m);
}
