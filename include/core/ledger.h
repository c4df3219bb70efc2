/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "core/plan.h"
#include "core/stats.h"

/* Bytes moved per pair of nodes and direction: monotonic, over restarts of kdamonds and, through
 * io/runfile, of the daemon. The kernel has no such counter (its pgpromote_* and pgdemote_* do not
 * count DAMON's migrations). Pure. */

typedef struct LedgerPair {
        Direction direction;
        int from;
        int to;
        uint64_t applied_bytes;
        uint64_t tried_bytes;
        uint64_t passed_bytes;
} LedgerPair;

typedef struct Ledger {
        LedgerPair *pairs;
        size_t n_pairs;
        size_t n_alloc;
} Ledger;

void ledger_done(Ledger *ledger);
int ledger_copy(const Ledger *ledger, Ledger *ret);

/* The pair's entry, made when absent. Borrowed until the next call. 0 or -ENOMEM. */
int ledger_get(Ledger *ledger, Direction direction, int from, int to, LedgerPair **ret);
const LedgerPair *ledger_find(const Ledger *ledger, Direction direction, int from, int to);

/* Add the last window's deltas of every scheme of @plan. 0 or -ENOMEM. */
int ledger_add_window(Ledger *ledger, const Plan *plan, const Stats *stats);

/* Sum over all pairs of one direction. */
uint64_t ledger_sum(const Ledger *ledger, Direction direction);
