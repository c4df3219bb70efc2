/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/event.h"
#include "core/config.h"
#include "core/decide.h"
#include "core/diff.h"
#include "core/guard.h"
#include "core/knob.h"
#include "core/ledger.h"
#include "core/plan.h"
#include "core/stats.h"
#include "core/topology.h"
#include "core/verdict.h"

/* Topology, plan, decisions, statistics -> event values. Pure: events are returned, not sent.
 * All report_*() return a new event (owned by the caller), or NULL without memory. */

Event *report_tiers(const Topology *topology);
Event *report_tier(const Topology *topology, size_t tier);
Event *report_features(uint32_t caps, bool by_kernel);
Event *report_pair(const Config *config, const Topology *topology, const Decision *decision,
                   const PlanScheme *scheme);
Event *report_headroom(const NodeDecision *node); /* a configured value that was raised */
Event *report_idle(const Topology *topology);
Event *report_running(const DamonTree *tree);
Event *report_adopted(const DamonTree *tree);
/* What a pair moved since the last report, with its funnel and the state of both nodes. */
Event *report_moved(const PlanScheme *scheme, const LedgerPair *since, const LedgerPair *total,
                    const Decision *decision, const Sample *sample, Verdict verdict,
                    uint64_t period_us);
Event *report_verdict(const PlanScheme *scheme, size_t kdamond, Verdict verdict,
                      const VerdictInput *numbers);
Event *report_verdict_end(const PlanScheme *scheme, size_t kdamond, Verdict verdict,
                          uint64_t lasted_us);
/* Another number of kdamonds for a node. */
Event *report_slices(const NodeDecision *before, const NodeDecision *now);
Event *report_knob(const KnobInfo *knob);
Event *report_knob_restored(const KnobInfo *knob);
/* The guard holds something back, more or less than before, or lets go. */
Event *report_guard(const Topology *topology, const GuardEvent *what);
/* @tree: what runs there. @will_wait: we look again instead of giving up. */
Event *report_foreign(const DamonTree *tree, bool will_wait);
Event *report_exclusive(const char *module, bool will_wait);
Event *report_unsupported(const char *why);
Event *report_write_failed(const Op *op, int error, const char *hint, const char *what_we_do);
Event *report_kdamond_ended(size_t kdamond, int nid);
Event *report_tree_changed(const char *what);
Event *report_topology_changed(const NodeSet *before, const NodeSet *now);
Event *report_config_problem(const ConfigProblem *problem);
Event *report_config_reloaded(size_t n_ops);
Event *report_config_kept(size_t n_errors);
Event *report_released(const Ledger *ledger);
Event *report_kept_running(const DamonTree *tree);

/* One line for "systemctl status". Allocated; NULL without memory. */
char *report_status_line(const Topology *topology, const Ledger *ledger, uint64_t promoted_per_s,
                         uint64_t demoted_per_s);
