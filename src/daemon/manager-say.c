/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The manager's voice: which report is due when, the status document and the record. What the
 * reports say is in core/report. */

#include <errno.h>
#include <string.h>
#include <syslog.h>

#include <systemd/sd-daemon.h>

#include "core/judge.h"
#include "core/report.h"
#include "manager-internal.h"

/* A movement that ends is told at once, unless it is a trickle: that waits for the next report. */
#define RESTED_BYTES (UINT64_C(16) << 20)

void manager_say(Manager *m, Event *event) {
        _cleanup_(event_freep) Event *owned = event;

        if (owned)
                event_emit(&m->params->sink, owned);
}

void manager_say_plan(Manager *m) {
        manager_say(m, report_features(m->caps, m->decision.by_kernel));
        for (size_t i = 0; i < m->decision.n_nodes; i++)
                if (m->decision.nodes[i].headroom_raised)
                        manager_say(m, report_headroom(&m->decision.nodes[i]));
        for (size_t k = 0; k < m->plan.tree.n_kdamonds; k++)
                for (size_t s = 0;
                     m->plan.kdamonds[k].slice == 0 && s < m->plan.kdamonds[k].n_schemes; s++)
                        manager_say(m, report_pair(m->config, m->topology, &m->decision,
                                                   &m->plan.kdamonds[k].schemes[s]));
}

static int resize_verdicts(Manager *m) {
        size_t n = m->plan.tree.n_kdamonds * DAMON_SCHEMES_MAX;
        _cleanup_(freep) VerdictTrack *tracks = NULL;
        _cleanup_(freep) Verdict *verdicts = NULL;
        _cleanup_(freep) uint64_t *moved_us = NULL;

        if (n == m->n_verdicts)
                return 0;
        tracks = calloc(n, sizeof(*tracks));
        verdicts = calloc(n, sizeof(*verdicts));
        moved_us = calloc(n, sizeof(*moved_us));
        if (!tracks || !verdicts || !moved_us)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                moved_us[i] = m->reported_us;
        free(m->moved_us);
        m->moved_us = TAKE_PTR(moved_us);
        free(m->tracks);
        free(m->verdicts);
        m->tracks = TAKE_PTR(tracks);
        m->verdicts = TAKE_PTR(verdicts);
        m->n_verdicts = n;
        return 0;
}

static void say_verdict(Manager *m, const JudgeInput *judge, size_t k, size_t s) {
        const PlanScheme *scheme = &m->plan.kdamonds[k].schemes[s];
        VerdictInput input = judge_facts(judge, k, s);
        size_t i = k * DAMON_SCHEMES_MAX + s;
        VerdictChange change;

        m->verdicts[i] = verdict_of(&input);
        /* Two intervals, so that a moment between two states is no news. */
        change = verdict_track(&m->tracks[i], m->verdicts[i], m->sample.now_us,
                               2 * m->config->manager.interval_us);
        if (change.ended)
                manager_say(m, report_verdict_end(scheme, k, change.before, change.lasted_us));
        if (change.started)
                manager_say(m, report_verdict(scheme, k, m->verdicts[i], &input));
}

const Verdict *manager_verdicts(const Manager *m) {
        size_t n = m->plan.tree.n_kdamonds;

        return n == m->stats.n_kdamonds && n * DAMON_SCHEMES_MAX == m->n_verdicts ? m->verdicts
                                                                                  : NULL;
}

int manager_say_verdicts(Manager *m) {
        JudgeInput judge = {
                .caps = m->caps,
                .decision = &m->decision,
                .plan = &m->plan,
                .sample = &m->sample,
                .stats = &m->stats,
        };
        int r;

        r = resize_verdicts(m);
        if (r < 0)
                return r;
        for (size_t k = 0; k < MIN(m->plan.tree.n_kdamonds, m->stats.n_kdamonds); k++)
                for (size_t s = 0; s < DAMON_SCHEMES_MAX; s++)
                        if (s < m->plan.kdamonds[k].n_schemes)
                                say_verdict(m, &judge, k, s);
                        else /* a slot that is off now has no history when it comes back */
                                m->tracks[k * DAMON_SCHEMES_MAX + s] = (VerdictTrack){};
        return 0;
}

/* Did no slice of the node move a page in this direction? */
static bool rests(const Manager *m, const PlanScheme *scheme) {
        for (size_t k = 0; k < MIN(m->plan.tree.n_kdamonds, m->stats.n_kdamonds); k++)
                for (size_t s = 0; s < m->plan.kdamonds[k].n_schemes; s++)
                        if (m->plan.kdamonds[k].schemes[s].direction == scheme->direction &&
                            m->plan.kdamonds[k].schemes[s].from == scheme->from &&
                            m->stats.kdamonds[k].schemes[s].delta.sz_applied > 0)
                                return false;
        return true;
}

static void say_pair_moved(Manager *m, size_t k, size_t s, bool all, bool due) {
        const PlanScheme *scheme = &m->plan.kdamonds[k].schemes[s];
        const LedgerPair *total =
                ledger_find(&m->record.ledger, scheme->direction, scheme->from, scheme->to);
        size_t i = k * DAMON_SCHEMES_MAX + s;
        LedgerPair *known, since;
        bool rested;

        if (!total ||
            ledger_get(&m->reported, scheme->direction, scheme->from, scheme->to, &known) < 0)
                return;
        since = *total;
        since.applied_bytes -= known->applied_bytes;
        since.tried_bytes -= known->tried_bytes;
        since.passed_bytes -= known->passed_bytes;
        /* Due each report interval, and when a movement of some size has come to rest. */
        rested = since.applied_bytes >= RESTED_BYTES && rests(m, scheme);
        if (since.applied_bytes == 0 || i >= m->n_verdicts || !(due || rested || all))
                return;
        manager_say(m, report_moved(scheme, &since, total, &m->decision, &m->sample, m->verdicts[i],
                                    m->sample.now_us - MAX(m->moved_us[i], m->reported_us)));
        m->moved_us[i] = m->sample.now_us;
        *known = *total;
}

void manager_say_moved(Manager *m, bool all) {
        uint64_t interval_us = m->config->manager.report_interval_us;
        bool due = interval_us > 0 && m->sample.now_us >= m->reported_us + interval_us;

        for (size_t k = 0; k < MIN(m->plan.tree.n_kdamonds, m->stats.n_kdamonds); k++)
                for (size_t s = 0; s < m->plan.kdamonds[k].n_schemes; s++)
                        say_pair_moved(m, k, s, all, due);
        if (due) /* also where nothing moved: the next period starts here */
                m->reported_us = m->sample.now_us;
}

void manager_say_guard(Manager *m, const GuardEvents *events) {
        for (size_t i = 0; i < events->n_items; i++)
                manager_say(m, report_guard(m->topology, &events->items[i]));
}

void manager_say_problems(Manager *m, const ConfigProblems *problems) {
        for (size_t i = 0; i < problems->n_items; i++)
                manager_say(m, report_config_problem(&problems->items[i]));
}

static uint64_t moved_per_s(const Manager *m, Direction direction) {
        uint64_t bytes = 0;

        for (size_t k = 0; k < MIN(m->plan.tree.n_kdamonds, m->stats.n_kdamonds); k++)
                for (size_t s = 0; s < m->plan.kdamonds[k].n_schemes; s++)
                        if (m->plan.kdamonds[k].schemes[s].direction == direction)
                                bytes += m->stats.kdamonds[k].schemes[s].delta.sz_applied;
        return m->stats.window_us > 0 ? bytes * 1000 / MAX(m->stats.window_us / 1000, UINT64_C(1))
                                      : 0;
}

static void notify_status(Manager *m, const char *state) {
        _cleanup_(freep) char *line = NULL;

        if (m->reason)
                line = strdup(m->reason);
        else if (m->topology && m->phase == PHASE_RUNNING)
                line = report_status_line(m->topology, &m->record.ledger,
                                          moved_per_s(m, DIRECTION_PROMOTE),
                                          moved_per_s(m, DIRECTION_DEMOTE));
        else
                line = strdup(state);
        if (!line || (m->status_line && strcmp(line, m->status_line) == 0))
                return;
        (void) sd_notifyf(/* unset_environment= */ 0, "STATUS=%s", line);
        free(m->status_line);
        m->status_line = TAKE_PTR(line);
}

void manager_write_status(Manager *m, const char *state) {
        StatusView view = {
                .state = state,
                .reason = m->reason,
                .caps = m->caps,
                .topology = m->topology,
                .decision = m->has_decision ? &m->decision : NULL,
                .plan = m->has_decision ? &m->plan : NULL,
                .sample = m->sample.n_nodes > 0 ? &m->sample : NULL,
                .stats = m->stats.n_kdamonds > 0 ? &m->stats : NULL,
                .ledger = &m->record.ledger,
                .guard = &m->guard,
                .verdicts = manager_verdicts(m),
        };
        _cleanup_(event_freep) Event *event = NULL;
        int r;

        notify_status(m, state);
        r = runfile_write_status(m->params->run_dir, &view);
        if (r >= 0)
                return;
        event = event_new(LOG_WARNING, NULL, "Failed to write '%s/status.json', retrying: %s",
                          m->params->run_dir, strerror(-r));
        manager_say(m, TAKE_PTR(event));
}

static int record_budgets(Manager *m) {
        if (m->record.n_written != m->guard.n_tiers) {
                uint64_t *written = calloc(MAX(m->guard.n_tiers, (size_t) 1), sizeof(*written));

                if (!written)
                        return -ENOMEM;
                free(m->record.written_bytes);
                m->record.written_bytes = written;
                m->record.n_written = m->guard.n_tiers;
        }
        for (size_t i = 0; i < m->guard.n_tiers; i++)
                m->record.written_bytes[i] = m->guard.tiers[i].written_bytes;
        m->record.written_at_us = m->guard.now_us;
        return 0;
}

int manager_write_record(Manager *m) {
        int r;

        for (size_t k = 0; k < m->record.n_kdamonds; k++) {
                RecordKdamond *to = &m->record.kdamonds[k];

                if (k < m->present.n_kdamonds)
                        to->pid = m->present.kdamonds[k].on ? m->present.kdamonds[k].pid : -1;
                if (k >= m->stats.n_kdamonds)
                        continue;
                to->n_schemes = m->stats.kdamonds[k].n_schemes;
                for (size_t s = 0; s < to->n_schemes; s++)
                        to->counters[s] = m->stats.kdamonds[k].schemes[s].last;
        }
        r = record_budgets(m);
        return r < 0 ? r : runfile_write_record(m->params->run_dir, &m->record);
}
