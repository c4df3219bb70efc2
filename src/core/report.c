/* SPDX-License-Identifier: GPL-2.0-or-later */

/* What the daemon says, in one place: one sentence for people, and the same facts as fields for
 * "journalctl DAMON_TIERD_NODE=1". Nothing here sends anything or knows the journal. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "base/parse.h"
#include "core/message.h"
#include "report-internal.h"

Event *report_done(Event *event, int r) {
        return r < 0 ? event_free(event) : event;
}

/* Fields of a scheme, the same in every message about one. */
static int add_scheme(Event *event, const PlanScheme *scheme) {
        int r;

        r = event_add(event, "DIRECTION", "%s", direction_to_string(scheme->direction));
        if (r < 0)
                return r;
        r = event_add(event, "SCHEME", "%s",
                      damon_action_to_string(scheme->direction == DIRECTION_DEMOTE
                                                     ? DAMON_ACTION_MIGRATE_COLD
                                                     : DAMON_ACTION_MIGRATE_HOT));
        if (r < 0)
                return r;
        r = event_add(event, "NODE", "%i", scheme->from);
        if (r < 0)
                return r;
        return event_add(event, "TARGET_NODE", "%i", scheme->to);
}

int report_add_u64(Event *event, const char *name, uint64_t value) {
        return event_add(event, name, "%llu", (unsigned long long) value);
}

Event *report_tiers(const Topology *topology) {
        Event *event;
        int r;

        event = event_new(LOG_INFO, MESSAGE_TIERS, "Found %zu tier%s: %s", topology->n_tiers,
                          topology->n_tiers == 1 ? "" : "s", topology->evidence_text);
        r = event_add(event, "EVIDENCE", "%s", tier_evidence_to_string(topology->evidence));
        if (r >= 0)
                r = event_add(event, "TIERS", "%zu", topology->n_tiers);
        return report_done(event, r);
}

Event *report_tier(const Topology *topology, size_t tier) {
        const TopologyTier *t = &topology->tiers[tier];
        _cleanup_(freep) char *nodes = nodeset_to_string(&t->nodes), *size = NULL;
        uint64_t bytes = 0;
        Event *event;
        int r;

        for (size_t i = 0; i < topology->n_nodes; i++)
                if (topology->nodes[i].tier == tier)
                        bytes += topology->nodes[i].total_bytes;
        size = format_size_human(bytes);
        if (!nodes || !size)
                return NULL;
        event = event_new(LOG_INFO, MESSAGE_TIER, "Tier %s: node%s %s, %s, %s", t->name,
                          nodeset_count(&t->nodes) == 1 ? "" : "s", nodes, size, t->why);
        r = event_add(event, "TIER", "%s", t->name);
        if (r >= 0)
                r = event_add(event, "NODES", "%s", nodes);
        if (r >= 0)
                r = report_add_u64(event, "BYTES", bytes);
        return report_done(event, r);
}

Event *report_features(uint32_t caps, bool by_kernel) {
        _cleanup_(freep) char *text = damon_caps_to_string(caps);
        Event *event;
        int r;

        if (!text)
                return NULL;
        event = event_new(LOG_INFO, MESSAGE_FEATURES,
                          "The kernel's DAMON offers: %s; quotas are opened and closed by %s", text,
                          by_kernel ? "the kernel (temporal)" : "the daemon");
        r = event_add(event, "FEATURES", "%s", text);
        if (r >= 0)
                r = event_add(event, "LOOP", "%s", by_kernel ? "kernel" : "daemon");
        return report_done(event, r);
}

Event *report_pair(const Config *config, const Topology *topology, const Decision *decision,
                   const PlanScheme *scheme) {
        const TopologyNode *node = topology_find_node(topology, scheme->from);
        const NodeDecision *own = decision_find_node(decision, scheme->from);
        const NodeDecision *target = decision_find_node(decision, scheme->to);
        bool demote = scheme->direction == DIRECTION_DEMOTE;
        const Policy *policy;
        _cleanup_(freep) char *rate = NULL, *free_text = NULL;
        uint64_t bytes, quota;
        Event *event;
        int r;

        if (!node || !own || !target)
                return NULL;
        policy = config_tier_policy(config, topology->tiers[node->tier].name);
        quota = demote ? own->demote.full_bytes : own->promote.full_bytes;
        bytes = demote ? own->headroom_bytes : target->reserve_bytes;
        rate = format_size_human(quota * 1000 / MAX(decision->window_ms, 1U));
        free_text = format_size_human(bytes);
        if (!rate || !free_text)
                return NULL;
        event = event_new(LOG_INFO, MESSAGE_PAIR,
                          demote ? "Node %i demotes cold pages to node %i, up to %s/s, until %s of "
                                   "it are free"
                                 : "Node %i promotes hot pages to node %i, up to %s/s, while more "
                                   "than %s of that are free",
                          scheme->from, scheme->to, rate, free_text);
        r = add_scheme(event, scheme);
        if (r >= 0)
                r = report_add_u64(event, "RATE_LIMIT_BYTES",
                                   demote ? policy->demote_rate : policy->promote_rate);
        if (r >= 0)
                r = report_add_u64(event, "QUOTA_BYTES", quota);
        if (r >= 0)
                r = report_add_u64(event, demote ? "HEADROOM_BYTES" : "RESERVE_BYTES", bytes);
        if (r >= 0)
                r = report_add_u64(event, "FLOOR_BYTES",
                                   demote ? own->floor_bytes : target->floor_bytes);
        return report_done(event, r);
}

Event *report_headroom(const NodeDecision *node) {
        _cleanup_(freep) char *headroom = format_size_human(node->headroom_bytes);
        _cleanup_(freep) char *floor = format_size_human(node->floor_bytes);
        Event *event;
        int r;

        if (!headroom || !floor)
                return NULL;
        event = event_new(LOG_NOTICE, MESSAGE_HEADROOM,
                          "Headroom= of node %i is out of the allocator's reach: %s can't be taken "
                          "by a migration; using %s",
                          node->nid, floor, headroom);
        r = event_add(event, "NODE", "%i", node->nid);
        if (r >= 0)
                r = report_add_u64(event, "HEADROOM_BYTES", node->headroom_bytes);
        if (r >= 0)
                r = report_add_u64(event, "FLOOR_BYTES", node->floor_bytes);
        return report_done(event, r);
}

Event *report_idle(const Topology *topology) {
        return event_new(LOG_NOTICE, MESSAGE_IDLE, "Nothing to tier: %s",
                         topology->n_tiers > 1 ? "no node may give pages to another tier"
                                               : topology->evidence_text);
}

static size_t count_on(const DamonTree *tree) {
        size_t n = 0;

        for (size_t i = 0; i < tree->n_kdamonds; i++)
                n += tree->kdamonds[i].on;
        return n;
}

static Event *report_started(const DamonTree *tree, const char *id, const char *verb) {
        _cleanup_(freep) char *pids = NULL;
        size_t size = 0, n_on = 0;
        Event *event;
        FILE *f;
        int r;

        f = open_memstream(&pids, &size);
        if (!f)
                return NULL;
        for (size_t i = 0; i < tree->n_kdamonds; i++)
                if (tree->kdamonds[i].on)
                        fprintf(f, "%s%i", n_on++ > 0 ? " " : "", tree->kdamonds[i].pid);
        if (fclose(f) != 0)
                return NULL;
        event = event_new(LOG_INFO, id, "Tiering with %zu kdamond%s%s (pid %s)", n_on,
                          n_on == 1 ? "" : "s", verb, pids);
        r = event_add(event, "PIDS", "%s", pids);
        return report_done(event, r);
}

Event *report_running(const DamonTree *tree) {
        return report_started(tree, MESSAGE_RUNNING, "");
}

Event *report_adopted(const DamonTree *tree) {
        return report_started(tree, MESSAGE_ADOPTED, " that an earlier run left running");
}

static int add_node_state(Event *event, const char *free_name, const char *headroom_name, int nid,
                          const Decision *decision, const Sample *sample) {
        const NodeDecision *node = decision_find_node(decision, nid);
        const NodeSample *memory = sample_find_node(sample, nid);
        int r = 0;

        if (memory)
                r = report_add_u64(event, free_name, memory->free_bytes);
        if (r >= 0 && node)
                r = report_add_u64(event, headroom_name, node->headroom_bytes);
        return r;
}

Event *report_moved(const PlanScheme *scheme, const LedgerPair *since, const LedgerPair *total,
                    const Decision *decision, const Sample *sample, Verdict verdict,
                    uint64_t period_us) {
        bool demote = scheme->direction == DIRECTION_DEMOTE;
        int goal_nid = demote ? scheme->from : scheme->to;
        const NodeDecision *node = decision_find_node(decision, goal_nid);
        const NodeSample *memory = sample_find_node(sample, goal_nid);
        _cleanup_(freep) char *moved = format_size_human(since->applied_bytes);
        _cleanup_(freep) char *free_text = format_size_human(memory ? memory->free_bytes : 0);
        _cleanup_(freep) char *headroom = format_size_human(node ? node->headroom_bytes : 0);
        Event *event;
        int r;

        if (!moved || !free_text || !headroom)
                return NULL;
        event = event_new(LOG_INFO, MESSAGE_MOVED,
                          "Node %i %s %s to node %i in %llu s; node %i has %s free of %s headroom "
                          "(%s)",
                          scheme->from, demote ? "demoted" : "promoted", moved, scheme->to,
                          (unsigned long long) (period_us / 1000000), goal_nid, free_text, headroom,
                          verdict_to_string(verdict));
        r = add_scheme(event, scheme);
        if (r >= 0)
                r = report_add_u64(event, "BYTES", since->applied_bytes);
        if (r >= 0)
                r = report_add_u64(event, "TRIED_BYTES", since->tried_bytes);
        if (r >= 0)
                r = report_add_u64(event, "PASSED_BYTES", since->passed_bytes);
        if (r >= 0)
                r = report_add_u64(event, "TOTAL_BYTES", total->applied_bytes);
        if (r >= 0)
                r = add_node_state(event, "FREE_BYTES", "HEADROOM_BYTES", goal_nid, decision,
                                   sample);
        if (r >= 0)
                r = report_add_u64(event, "PERIOD_USEC", period_us);
        if (r >= 0)
                r = event_add(event, "VERDICT", "%s", verdict_to_string(verdict));
        return report_done(event, r);
}

Event *report_verdict(const PlanScheme *scheme, size_t kdamond, Verdict verdict,
                      const VerdictInput *numbers) {
        Event *event;
        int r;

        event = event_new(verdict_is_trouble(verdict) ? LOG_NOTICE : LOG_DEBUG, MESSAGE_VERDICT,
                          "Node %i does not %s to node %i as it should: %s. %s", scheme->from,
                          direction_to_string(scheme->direction), scheme->to,
                          verdict_to_string(verdict), verdict_explain(verdict));
        r = add_scheme(event, scheme);
        if (r >= 0)
                r = event_add(event, "KDAMOND", "%zu", kdamond);
        if (r >= 0)
                r = event_add(event, "REASON", "%s", verdict_to_string(verdict));
        if (r >= 0)
                r = report_add_u64(event, "TRIED_BYTES", numbers->delta->sz_tried);
        if (r >= 0)
                r = report_add_u64(event, "PASSED_BYTES", numbers->delta->sz_passed);
        if (r >= 0)
                r = report_add_u64(event, "BYTES", numbers->delta->sz_applied);
        if (r >= 0)
                r = report_add_u64(event, "EFFECTIVE_BYTES", numbers->effective_bytes);
        if (r >= 0)
                r = event_add(event, "CPU_PERMILLE", "%u", numbers->cpu_permille);
        return report_done(event, r);
}

Event *report_verdict_end(const PlanScheme *scheme, size_t kdamond, Verdict verdict,
                          uint64_t lasted_us) {
        Event *event;
        int r;

        event = event_new(verdict_is_trouble(verdict) ? LOG_NOTICE : LOG_DEBUG, MESSAGE_VERDICT_END,
                          "Node %i to node %i: %s is over after %llu s", scheme->from, scheme->to,
                          verdict_to_string(verdict), (unsigned long long) (lasted_us / 1000000));
        r = add_scheme(event, scheme);
        if (r >= 0)
                r = event_add(event, "KDAMOND", "%zu", kdamond);
        if (r >= 0)
                r = event_add(event, "REASON", "%s", verdict_to_string(verdict));
        if (r >= 0)
                r = report_add_u64(event, "LASTED_USEC", lasted_us);
        return report_done(event, r);
}

Event *report_slices(const NodeDecision *before, const NodeDecision *now) {
        unsigned n = now->slices.n_slices;
        bool more = n > before->slices.n_slices;
        Event *event;
        int r;

        event = event_new(LOG_INFO, MESSAGE_SLICES,
                          "Node %i is watched by %u kdamond%s instead of %u, since %s", now->nid, n,
                          n == 1 ? "" : "s", before->slices.n_slices,
                          more ? "a kdamond's CPU was the limit" : "fewer will do");
        r = event_add(event, "NODE", "%i", now->nid);
        if (r >= 0)
                r = event_add(event, "KDAMONDS", "%u", n);
        if (r >= 0)
                r = event_add(event, "BEFORE", "%u", before->slices.n_slices);
        return report_done(event, r);
}

Event *report_knob(const KnobInfo *knob) {
        Event *event;
        int r;

        event = event_new(LOG_NOTICE, MESSAGE_KNOB,
                          "Set '/%s' from %s to %s for as long as we run, %s", knob->path,
                          knob->theirs, knob->ours, knob->why);
        r = event_add(event, "PATH", "/%s", knob->path);
        if (r >= 0)
                r = event_add(event, "BEFORE", "%s", knob->theirs);
        if (r >= 0)
                r = event_add(event, "VALUE", "%s", knob->ours);
        return report_done(event, r);
}

Event *report_knob_restored(const KnobInfo *knob) {
        Event *event;
        int r;

        event = event_new(LOG_INFO, MESSAGE_KNOB_RESTORED, "Restored '/%s' to %s", knob->path,
                          knob->theirs);
        r = event_add(event, "PATH", "/%s", knob->path);
        if (r >= 0)
                r = event_add(event, "VALUE", "%s", knob->theirs);
        return report_done(event, r);
}

Event *report_foreign(const DamonTree *tree, bool will_wait) {
        size_t n_on = count_on(tree);
        int pid = -1;
        Event *event;
        int r;

        for (size_t i = tree->n_kdamonds; i-- > 0;)
                if (tree->kdamonds[i].on)
                        pid = tree->kdamonds[i].pid;
        if (n_on > 0)
                event = event_new(will_wait ? LOG_NOTICE : LOG_ERR, MESSAGE_FOREIGN,
                                  "%zu kdamond%s that we did not start %s (first pid %i); DAMON's "
                                  "tree can't be shared, %s",
                                  n_on, n_on == 1 ? "" : "s", n_on == 1 ? "runs" : "run", pid,
                                  will_wait ? "waiting until it is free" : "refusing to touch it");
        else
                event = event_new(will_wait ? LOG_NOTICE : LOG_ERR, MESSAGE_FOREIGN,
                                  "DAMON's tree holds %zu kdamond%s that we did not stage (none "
                                  "runs); write 0 to nr_kdamonds to give it up, %s",
                                  tree->n_kdamonds, tree->n_kdamonds == 1 ? "" : "s",
                                  will_wait ? "waiting until it is free" : "refusing to touch it");
        r = event_add(event, "KDAMONDS", "%zu", tree->n_kdamonds);
        if (r >= 0)
                r = event_add(event, "PID", "%i", pid);
        return report_done(event, r);
}

Event *report_exclusive(const char *module, bool will_wait) {
        Event *event;
        int r;

        event = event_new(will_wait ? LOG_NOTICE : LOG_ERR, MESSAGE_EXCLUSIVE,
                          "The kernel's %s module uses DAMON and lets no other kdamond run, %s",
                          module, will_wait ? "waiting until it is off" : "refusing to touch it");
        r = event_add(event, "MODULE", "%s", module);
        return report_done(event, r);
}

Event *report_unsupported(const char *why) {
        return event_new(LOG_ERR, MESSAGE_UNSUPPORTED, "Can't tier here: %s", why);
}

Event *report_write_failed(const Op *op, int error, const char *hint, const char *what_we_do) {
        Event *event;
        int r;

        event = event_new(LOG_ERR, MESSAGE_WRITE_FAILED,
                          "Failed to write '%s' to '/%s'%s%s%s, %s: %s", op->value, op->path,
                          hint ? " (" : "", hint ? hint : "", hint ? ")" : "", what_we_do,
                          strerror(-error));
        r = event_add(event, "PATH", "/%s", op->path);
        if (r >= 0)
                r = event_add(event, "VALUE", "%s", op->value);
        if (r >= 0)
                r = event_add(event, "ERRNO", "%i", -error);
        if (r >= 0 && op->kdamond != OP_NO_KDAMOND)
                r = event_add(event, "KDAMOND", "%zu", op->kdamond);
        return report_done(event, r);
}

Event *report_kdamond_ended(size_t kdamond, int nid) {
        Event *event;
        int r;

        event = event_new(LOG_WARNING, MESSAGE_KDAMOND_ENDED,
                          "The kernel ended kdamond %zu of node %i, starting it again", kdamond,
                          nid);
        r = event_add(event, "KDAMOND", "%zu", kdamond);
        if (r >= 0)
                r = event_add(event, "NODE", "%i", nid);
        return report_done(event, r);
}

Event *report_tree_changed(const char *what) {
        return event_new(LOG_WARNING, MESSAGE_TREE_CHANGED,
                         "Somebody else changed DAMON's tree (%s), looking at it anew", what);
}

Event *report_topology_changed(const NodeSet *before, const NodeSet *now) {
        _cleanup_(freep) char *a = nodeset_to_string(before), *b = nodeset_to_string(now);
        Event *event;
        int r;

        if (!a || !b)
                return NULL;
        event = event_new(LOG_NOTICE, MESSAGE_TOPOLOGY_CHANGED,
                          "Nodes with memory were %s and are %s now, planning anew", a, b);
        r = event_add(event, "NODES", "%s", b);
        return report_done(event, r);
}

Event *report_config_problem(const ConfigProblem *problem) {
        Event *event;
        int r;

        event = event_new(problem->is_error ? LOG_ERR : LOG_WARNING, MESSAGE_CONFIG_PROBLEM, "%s",
                          problem->text);
        r = event_add(event, "CONFIG_FILE", "%s", problem->path);
        if (r >= 0)
                r = event_add(event, "CONFIG_LINE", "%u", problem->line);
        if (r >= 0 && problem->key)
                r = event_add(event, "CONFIG_KEY", "%s", problem->key);
        return report_done(event, r);
}

Event *report_config_reloaded(size_t n_ops) {
        Event *event;
        int r;

        event = event_new(LOG_INFO, MESSAGE_CONFIG_RELOADED,
                          "Reloaded the configuration; %zu write%s to the kernel", n_ops,
                          n_ops == 1 ? "" : "s");
        r = event_add(event, "WRITES", "%zu", n_ops);
        return report_done(event, r);
}

Event *report_config_kept(size_t n_errors) {
        return event_new(LOG_ERR, MESSAGE_CONFIG_KEPT,
                         "The configuration has %zu error%s, keeping the old one", n_errors,
                         n_errors == 1 ? "" : "s");
}

Event *report_released(const Ledger *ledger) {
        uint64_t up = ledger_sum(ledger, DIRECTION_PROMOTE);
        uint64_t down = ledger_sum(ledger, DIRECTION_DEMOTE);
        _cleanup_(freep) char *promoted = format_size_human(up), *demoted = format_size_human(down);
        Event *event;
        int r;

        if (!promoted || !demoted)
                return NULL;
        event = event_new(LOG_INFO, MESSAGE_RELEASED,
                          "Turned our kdamonds off and emptied the tree; promoted %s and demoted "
                          "%s in all",
                          promoted, demoted);
        r = report_add_u64(event, "PROMOTED_BYTES", up);
        if (r >= 0)
                r = report_add_u64(event, "DEMOTED_BYTES", down);
        return report_done(event, r);
}

Event *report_kept_running(const DamonTree *tree) {
        size_t n_on = count_on(tree);

        return event_new(LOG_NOTICE, MESSAGE_KEPT_RUNNING,
                         "Leaving %zu kdamond%s running, as AtExit=keep asks", n_on,
                         n_on == 1 ? "" : "s");
}

char *report_status_line(const Topology *topology, const Ledger *ledger, uint64_t promoted_per_s,
                         uint64_t demoted_per_s) {
        _cleanup_(freep) char *up = format_size_human(ledger_sum(ledger, DIRECTION_PROMOTE));
        _cleanup_(freep) char *down = format_size_human(ledger_sum(ledger, DIRECTION_DEMOTE));
        _cleanup_(freep) char *up_s = format_size_human(promoted_per_s);
        _cleanup_(freep) char *down_s = format_size_human(demoted_per_s);
        char *line = NULL;

        if (!up || !down || !up_s || !down_s)
                return NULL;
        if (asprintf(&line, "Tiering %zu tiers; promoted %s (%s/s), demoted %s (%s/s)",
                     topology->n_tiers, up, up_s, down, down_s) < 0)
                return NULL;
        return line;
}
