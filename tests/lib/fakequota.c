/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Quotas over time, as mm/damon/core.c has them: windows, the score of goals, the two tuners. It is
 * exact, since how slowly a quota grows and falls is what a controller has to live with. */

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "fakedamon-internal.h"

#define ESZ_MAX ULONG_MAX

static bool is_word(FakeNode *node, const char *path, const char *word) {
        return strcmp(faketree_value(node, path), word) == 0;
}

static uint64_t goal_current(FakeDamon *fake, FakeNode *goal) {
        uint64_t total = 0, free_kib = 0;
        bool used = is_word(goal, "target_metric", "node_mem_used_bp"), present;

        if (is_word(goal, "target_metric", "user_input"))
                return faketree_number(goal, "current_value");
        if (!used && !is_word(goal, "target_metric", "node_mem_free_bp"))
                return 0; /* not modelled */

        /* An absent node counts as empty, so that promotion to it never ends; from 7.3 on one
         * without memory counts as full. */
        present = fakedamon_node_memory(fake, atoi(faketree_value(goal, "nid")), &total, &free_kib);
        if (total == 0)
                return used == (present && fake->rung >= FAKE_7_3) ? 10000 : 0;
        return (used ? total - free_kib : free_kib) * 10000 / total;
}

/* mm/damon/core.c:damos_quota_score(): the most satisfied goal counts. False without goals. */
static bool goals_score(FakeDamon *fake, FakeNode *quotas, uint64_t *ret) {
        size_t n = faketree_count(quotas, "goals");
        bool any = false;

        *ret = 0;
        for (size_t i = 0; i < n; i++) {
                FakeNode *goal = faketree_child(quotas, "goals", i);
                uint64_t target = faketree_number(goal, "target_value");

                if (target == 0)
                        continue;
                any = true;
                *ret = MAX(*ret, goal_current(fake, goal) * 10000 / target);
        }

        return any;
}

/* core.c:damon_feed_loop_next_input() */
static uint64_t feed_loop(uint64_t last, uint64_t score) {
        const uint64_t goal = 10000, min = 10000;
        uint64_t distance, change;

        last = MAX(last, min);
        if (score == goal)
                return last;
        if (score >= goal * 2)
                return min;

        distance = score < goal ? goal - score : score - goal;
        change = last < ESZ_MAX / distance ? last * distance / goal : last / goal * distance;
        if (score < goal)
                return last > ESZ_MAX - change ? ESZ_MAX : last + change;
        return last > change + min ? last - change : min;
}

static void start_window(FakeDamon *fake, FakeNode *quotas, Scheme *s) {
        uint64_t bytes = faketree_number(quotas, "bytes"), ms = faketree_number(quotas, "ms");
        uint64_t esz = ESZ_MAX, score;

        if (goals_score(fake, quotas, &score)) {
                if (faketree_find(quotas, "goal_tuner") &&
                    is_word(quotas, "goal_tuner", "temporal"))
                        s->esz_bp = score >= 10000 ? 0 : ESZ_MAX;
                else
                        s->esz_bp = feed_loop(s->esz_bp, score);
                esz = s->esz_bp / 10000;
        }
        if (ms > 0) /* nothing has been charged: 4 MiB per ms is assumed */
                esz = MIN(esz, MAX(ms * (UINT64_C(4) << 20), UINT64_C(4096)));
        if (bytes > 0)
                esz = MIN(esz, bytes);

        if (esz == ESZ_MAX)
                fakedamon_note_bug(fake, "a quota without any bound");
        s->esz = esz;
}

void fakequota_step(FakeDamon *fake, FakeNode *scheme, Scheme *s, uint64_t ms) {
        FakeNode *quotas = faketree_find(scheme, "quotas");
        uint64_t reset = faketree_number(quotas, "reset_interval_ms"), score;

        if (faketree_number(quotas, "bytes") == 0 && faketree_number(quotas, "ms") == 0 &&
            !goals_score(fake, quotas, &score))
                return; /* no quota */

        s->window_ms += ms;
        if (s->has_window && s->window_ms < reset)
                return;

        s->has_window = true;
        s->window_ms = 0;
        start_window(fake, quotas, s);
}
