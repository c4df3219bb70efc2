/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Who gave how much to whom, since the first start. */

#include <errno.h>

#include "base/array.h"
#include "core/ledger.h"

void ledger_done(Ledger *ledger) {
        free(ledger->pairs);
        *ledger = (Ledger){};
}

int ledger_copy(const Ledger *ledger, Ledger *ret) {
        _cleanup_(ledger_done) Ledger copy = {};
        int r;

        r = ARRAY_GROW(copy.pairs, copy.n_alloc, ledger->n_pairs);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ledger->n_pairs; i++)
                copy.pairs[copy.n_pairs++] = ledger->pairs[i];
        *ret = copy;
        copy = (Ledger){};
        return 0;
}

const LedgerPair *ledger_find(const Ledger *ledger, Direction direction, int from, int to) {
        for (size_t i = 0; i < ledger->n_pairs; i++) {
                const LedgerPair *pair = &ledger->pairs[i];

                if (pair->direction == direction && pair->from == from && pair->to == to)
                        return pair;
        }
        return NULL;
}

int ledger_get(Ledger *ledger, Direction direction, int from, int to, LedgerPair **ret) {
        const LedgerPair *known = ledger_find(ledger, direction, from, to);
        int r;

        if (known) {
                *ret = &ledger->pairs[known - ledger->pairs];
                return 0;
        }
        r = ARRAY_GROW(ledger->pairs, ledger->n_alloc, ledger->n_pairs + 1);
        if (r < 0)
                return r;
        ledger->pairs[ledger->n_pairs] =
                (LedgerPair){.direction = direction, .from = from, .to = to};
        *ret = &ledger->pairs[ledger->n_pairs++];
        return 0;
}

int ledger_add_window(Ledger *ledger, const Plan *plan, const Stats *stats) {
        size_t n = MIN(plan->tree.n_kdamonds, stats->n_kdamonds);
        int r;

        for (size_t k = 0; k < n; k++) {
                const PlanKdamond *meta = &plan->kdamonds[k];

                for (size_t s = 0; s < MIN(meta->n_schemes, stats->kdamonds[k].n_schemes); s++) {
                        const SchemeCounters *delta = &stats->kdamonds[k].schemes[s].delta;
                        LedgerPair *pair;

                        r = ledger_get(ledger, meta->schemes[s].direction, meta->schemes[s].from,
                                       meta->schemes[s].to, &pair);
                        if (r < 0)
                                return r;
                        pair->applied_bytes += delta->sz_applied;
                        pair->tried_bytes += delta->sz_tried;
                        pair->passed_bytes += delta->sz_passed;
                }
        }
        return 0;
}

uint64_t ledger_sum(const Ledger *ledger, Direction direction) {
        uint64_t sum = 0;

        for (size_t i = 0; i < ledger->n_pairs; i++)
                if (ledger->pairs[i].direction == direction)
                        sum += ledger->pairs[i].applied_bytes;
        return sum;
}
