/* SPDX-License-Identifier: GPL-2.0-or-later */

/* While it runs: a sample leads to a decision, that to a plan, that to writes, which are read
 * back. */

#include <errno.h>
#include <string.h>
#include <syslog.h>

#include "core/report.h"
#include "manager-internal.h"

static void say_slices(Manager *m, const Decision *now) {
        for (size_t i = 0; i < now->n_nodes; i++) {
                const NodeDecision *before = decision_find_node(&m->decision, now->nodes[i].nid);

                if (before && before->slices.n_slices != now->nodes[i].slices.n_slices)
                        manager_say(m, report_slices(before, &now->nodes[i]));
        }
}

/* Decide and plan with @sample; the result is in m->decision and m->plan. */
int manager_replan(Manager *m, const Sample *sample, bool anew) {
        DecideInput input = {
                .config = m->config,
                .topology = m->topology,
                .caps = m->caps,
                .sample = sample,
                .stats = &m->stats,
                .verdicts = manager_verdicts(m),
                .guard = &m->guard,
                .present = &m->present,
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
        if (m->has_decision && !anew)
                say_slices(m, &decision);
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
int manager_apply_plan(Manager *m) {
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
        if (m->record.n_kdamonds != m->plan.tree.n_kdamonds) {
                /* The record must cover what comes. */
                r = manager_claim(m, m->plan.tree.n_kdamonds, /* knobs= */ 0);
                if (r < 0) {
                        job_free(job);
                        return r;
                }
        }
        manager_post(m, job);
        return 1;
}

void manager_take_tree(Manager *m, Job *job) {
        damon_tree_done(&m->present);
        m->present = job->tree;
        job->tree = (DamonTree){};
}

void manager_say_write_failed(Manager *m, const Job *job, const char *what_we_do) {
        const Op *op;

        if (job->failure.index >= job->ops.n_items)
                return manager_say_errno(m, LOG_ERR, job->result,
                                         "Failed to read DAMON's tree back");
        op = &job->ops.items[job->failure.index];
        manager_say(m, report_write_failed(op, job->failure.error,
                                           damonfs_hint(op, job->failure.error), what_we_do));
}

/* All that was planned is in the kernel. */
void manager_begin(Manager *m) {
        int r;

        m->phase = PHASE_RUNNING;
        m->residual_tries = 0;
        free(m->reason);
        m->reason = NULL;
        if (m->decide_state.on_since_us == 0)
                m->decide_state.on_since_us = job_now_us();
        r = manager_write_record(m);
        if (r < 0)
                manager_say_errno(m, LOG_WARNING, r, "Failed to record our kdamonds, retrying");
        if (!m->ready)
                manager_say(m,
                            m->adopted ? report_adopted(&m->present) : report_running(&m->present));
        manager_write_status(m, "running");
        manager_become_ready(m);
        manager_set_timer(m, MIN(DECIDE_WATCH_US, manager_tick_us(m)));
}

/* What the read-back shows to differ still, said once. */
static void say_residual(Manager *m) {
        _cleanup_(op_list_done) OpList ops = {};

        if (diff_trees(&m->present, &m->plan.tree, m->caps, &ops) >= 0 && ops.n_items > 0)
                manager_say(m, report_write_failed(&ops.items[0], -EIO,
                                                   "the kernel does not keep what it took",
                                                   "stopping"));
}

/* Kdamonds that came or went must be known as ours at once, not only with the next sample. */
static void record_pids(Manager *m) {
        int r = 0;

        for (size_t k = 0; k < MIN(m->record.n_kdamonds, m->present.n_kdamonds); k++) {
                const DamonKdamond *kdamond = &m->present.kdamonds[k];

                if (m->record.kdamonds[k].pid != (kdamond->on ? kdamond->pid : -1)) {
                        r = manager_write_record(m);
                        break;
                }
        }
        if (r < 0)
                manager_say_errno(m, LOG_WARNING, r, "Failed to record our kdamonds, retrying");
}

void manager_applied(Manager *m, Job *job) {
        bool first = m->phase == PHASE_APPLYING;
        int r;

        m->n_writes += job->ops.n_items;
        manager_take_tree(m, job);
        if (job->result < 0) {
                manager_say_write_failed(m, job,
                                         m->reloading ? "going back to the old configuration"
                                         : first      ? "giving everything back"
                                                      : "retrying");
                if (m->reloading)
                        return manager_keep_old(m, /* kernel_is_changed= */ true);
                if (first)
                        return manager_stop(m, MANAGER_EXIT_FAILURE);
                return manager_set_timer(m, m->config->manager.interval_us);
        }
        /* Read-back: what was written must be what is there. */
        r = manager_apply_plan(m);
        if (r > 0 && ++m->residual_tries > 2) {
                say_residual(m);
                return manager_stop(m, MANAGER_EXIT_FAILURE);
        }
        if (r > 0)
                return;
        if (r < 0)
                manager_say_errno(m, LOG_WARNING, r, "Failed to compare the trees, retrying");
        if (first || m->decide_state.on_since_us == 0)
                return manager_begin(m);
        m->residual_tries = 0;
        record_pids(m);
        manager_set_timer(m, manager_tick_us(m));
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

static int update_guard(Manager *m) {
        _cleanup_(guard_events_done) GuardEvents events = {};
        GuardInput input = {
                .config = m->config,
                .topology = m->topology,
                .caps = m->caps,
                .decision = &m->decision,
                .plan = &m->plan,
                .sample = &m->sample,
                .stats = &m->stats,
                .verdicts = manager_verdicts(m),
        };
        int r;

        r = guard_update(&m->guard, &input, &events);
        manager_say_guard(m, &events);
        return r;
}

/* The sample is taken over. Negative: 's not ours any more. */
int manager_account(Manager *m, Job *job) {
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
                r = update_guard(m);
        if (r >= 0)
                r = manager_say_verdicts(m);
        if (r < 0) {
                manager_say_errno(m, LOG_WARNING, r, "Failed to account for a sample, going on");
                return 0;
        }
        manager_say_moved(m, m->phase == PHASE_ACCOUNTING);
        r = manager_write_record(m);
        if (r < 0)
                manager_say_errno(m, LOG_WARNING, r, "Failed to write the record, retrying");
        return 0;
}

void manager_sampled(Manager *m, Job *job) {
        NodeSet has_memory = job->sample.has_memory;
        int r;

        if (job->result < 0 && job->result != -ENODATA) {
                manager_say_errno(m, LOG_WARNING, job->result, "Failed to take a sample, retrying");
                return manager_set_timer(m, m->config->manager.interval_us);
        }
        if (job->result == -ENODATA)
                return manager_prepare(m); /* a node left just now; the next look says which */
        if (!nodeset_equal(&has_memory, &m->has_memory)) {
                manager_say(m, report_topology_changed(&m->has_memory, &has_memory));
                return manager_prepare(m);
        }
        if (job->sample.full) {
                r = manager_account(m, job);
                if (r < 0)
                        return manager_prepare(m);
        }
        r = manager_replan(m, job->sample.n_nodes > 0 ? &job->sample : &m->sample,
                           /* anew= */ false);
        if (r < 0) {
                manager_say_errno(m, LOG_WARNING, r, "Failed to plan, keeping what runs");
                return manager_set_timer(m, m->config->manager.interval_us);
        }
        if (job->kind == JOB_SCRAPE && m->decision.settled)
                manager_write_status(m, "running");
        r = manager_apply_plan(m);
        if (r < 0)
                manager_say_errno(m, LOG_WARNING, r, "Failed to prepare the writes, retrying");
        if (r <= 0)
                manager_set_timer(m, manager_tick_us(m));
}
