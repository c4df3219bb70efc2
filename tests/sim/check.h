/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "sim.h"

/* What must hold on any machine. Each check is a question, so that a test can ask it about a
 * decision that is wrong on purpose. */

#define CHECK_MIN_QUANTUM MIB /* core/decide.c: QUANTUM_MIN_BYTES */

extern uint64_t check_seed; /* of the machine that is looked at, for the message */

#define must(sim, condition)                                                                    \
        do {                                                                                    \
                if (!(condition))                                                               \
                        fail_msg("machine %llu at %.1f s: not %s",                              \
                                 (unsigned long long) check_seed, (double) (sim)->now_us / 1e6, \
                                 #condition);                                                   \
        } while (0)

bool check_thresholds(const NodeDecision *d, uint64_t total);
bool check_quotas(const Sim *sim);
bool check_floors(const Sim *sim);
bool check_headroom(const Sim *sim);
/* Next to nothing @moved in that time, and the plan was let alone. */
bool check_rest(const Sim *sim, uint64_t moved, unsigned commits, unsigned minutes);
bool check_failed(const Sim *sim);
bool check_commits(const Sim *sim);
/* After each decision. */
void check_decision(const Sim *sim);

/* How long it may take until the hot set is in. */
uint64_t check_patience_us(const Sim *sim);
