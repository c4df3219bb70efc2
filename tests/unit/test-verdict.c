/* SPDX-License-Identifier: GPL-2.0-or-later */

/* One row per verdict that a funnel can lead to, and their life over time. */

#include <string.h>

#include "machine.h"

#include "core/verdict.h"

#define S (UINT64_C(1000000))

static void test_table(void **state) {
        static const struct {
                const char *name;
                Verdict expected;
                VerdictInput input;
                SchemeCounters delta;
        } cases[] = {
                {"gone", VERDICT_ENDED, {.on = false, .window_us = S}, {}},
                {"no window yet", VERDICT_WAITING, {.on = true}, {}},
                {"most of a CPU",
                 VERDICT_CPU_LIMITED,
                 {.on = true, .window_us = S, .cpu_permille = 750},
                 {.sz_tried = 9, .sz_applied = 9}},
                {"most of a CPU, but at the goal",
                 VERDICT_GOAL_MET,
                 {.on = true, .window_us = S, .cpu_permille = 750, .goal_met = true},
                 {}},
                {"moves",
                 VERDICT_MOVING,
                 {.on = true, .window_us = S},
                 {.sz_tried = 9, .sz_applied = 9}},
                {"moves, quota used up",
                 VERDICT_QUOTA_LIMITED,
                 {.on = true, .window_us = S},
                 {.sz_tried = 9, .sz_applied = 9, .qt_exceeds = 1}},
                {"moves, and its goal was met in some windows",
                 VERDICT_MOVING,
                 {.on = true, .window_us = S, .allowed_bytes = 100},
                 {.sz_tried = 9, .sz_applied = 9, .qt_exceeds = 40}},
                {"moves, most of the quota went into pages that stayed",
                 VERDICT_QUOTA_LIMITED,
                 {.on = true, .window_us = S, .allowed_bytes = 100},
                 {.sz_tried = 90, .sz_applied = 9, .qt_exceeds = 40}},
                {"the same where these cost a quarter",
                 VERDICT_MOVING,
                 {.on = true, .window_us = S, .allowed_bytes = 100, .caps = DAMON_CAP_FAIL_CHARGE},
                 {.sz_tried = 90, .sz_applied = 9, .qt_exceeds = 40}},
                {"nothing tried, since the target has no room",
                 VERDICT_TARGET_FULL,
                 {.on = true, .window_us = S, .target_full = true, .effective_bytes = 1},
                 {}},
                {"held back",
                 VERDICT_BACKED_OFF,
                 {.on = true, .window_us = S, .backed_off = true},
                 {.sz_tried = 9, .sz_applied = 9}},
                {"held back, with nothing to do",
                 VERDICT_GOAL_MET,
                 {.on = true, .window_us = S, .backed_off = true, .goal_met = true},
                 {}},
                {"demotion at its goal",
                 VERDICT_GOAL_MET,
                 {.on = true, .window_us = S, .goal_met = true},
                 {}},
                {"promotion without room",
                 VERDICT_TARGET_FULL,
                 {.on = true, .window_us = S, .goal_met = true, .is_promotion = true},
                 {}},
                {"quota below a page",
                 VERDICT_QUOTA_RAMP,
                 {.on = true,
                  .window_us = S,
                  .effective_bytes = 12,
                  .caps = DAMON_CAP_EFFECTIVE_BYTES},
                 {}},
                {"no snapshot",
                 VERDICT_NOT_MONITORED,
                 {.on = true, .window_us = S, .caps = DAMON_CAP_SNAPSHOTS},
                 {}},
                {"snapshots, no match",
                 VERDICT_NO_CANDIDATES,
                 {.on = true, .window_us = S, .caps = DAMON_CAP_SNAPSHOTS},
                 {.nr_snapshots = 3}},
                {"no match, old kernel", VERDICT_NO_CANDIDATES, {.on = true, .window_us = S}, {}},
                {"filtered",
                 VERDICT_FILTERED,
                 {.on = true, .window_us = S, .caps = DAMON_CAP_PASSED},
                 {.sz_tried = 9}},
                {"passed, not placed",
                 VERDICT_TARGET_FULL,
                 {.on = true, .window_us = S, .caps = DAMON_CAP_PASSED},
                 {.sz_tried = 9, .sz_passed = 9}},
                {"tried, old kernel",
                 VERDICT_FILTERED,
                 {.on = true, .window_us = S},
                 {.sz_tried = 9}},
                {"a trickle of what is in use",
                 VERDICT_FILTERED,
                 {.caps = DAMON_CAP_PASSED, .on = true, .window_us = S},
                 {.sz_tried = 9000, .sz_passed = 90, .sz_applied = 90, .qt_exceeds = 1}},
                {"a trickle at the goal",
                 VERDICT_GOAL_MET,
                 {.caps = DAMON_CAP_PASSED, .on = true, .window_us = S, .goal_met = true},
                 {.sz_tried = 9000, .sz_passed = 90, .sz_applied = 90}},
                {"much passes and little finds room",
                 VERDICT_TARGET_FULL,
                 {.caps = DAMON_CAP_PASSED, .on = true, .window_us = S},
                 {.sz_tried = 9000, .sz_passed = 8000, .sz_applied = 90}},
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                VerdictInput input = cases[i].input;
                Verdict verdict;

                input.delta = &cases[i].delta;
                verdict = verdict_of(&input);
                if (verdict != cases[i].expected)
                        fail_msg("%s: %s", cases[i].name, verdict_to_string(verdict));
        }
}

static void test_words(void **state) {
        (void) state;
        for (int v = 0; v < _VERDICT_MAX; v++) {
                assert_non_null(verdict_to_string((Verdict) v));
                assert_true(strlen(verdict_explain((Verdict) v)) > 10);
        }
        assert_string_equal(verdict_to_string(VERDICT_TARGET_FULL), "target-full");
        assert_true(verdict_is_trouble(VERDICT_TARGET_FULL));
        assert_false(verdict_is_trouble(VERDICT_GOAL_MET));
        assert_false(verdict_is_trouble((Verdict) 99));
        assert_null(verdict_to_string((Verdict) 99));
        assert_null(verdict_explain((Verdict) 99));
}

static void test_track(void **state) {
        VerdictTrack track = {};
        VerdictChange c;

        (void) state;
        c = verdict_track(&track, VERDICT_TARGET_FULL, 1 * S, 10 * S);
        assert_false(c.started || c.ended);
        c = verdict_track(&track, VERDICT_TARGET_FULL, 10 * S, 10 * S);
        assert_false(c.started || c.ended);
        c = verdict_track(&track, VERDICT_TARGET_FULL, 11 * S, 10 * S);
        assert_true(c.started && !c.ended);
        c = verdict_track(&track, VERDICT_TARGET_FULL, 99 * S, 10 * S);
        assert_false(c.started || c.ended);
        c = verdict_track(&track, VERDICT_MOVING, 100 * S, 10 * S);
        assert_true(c.ended && !c.started);
        assert_int_equal(c.before, VERDICT_TARGET_FULL);
        assert_int_equal(c.lasted_us, 99 * S);
        /* What is no trouble, or short, is never told. */
        for (unsigned t = 101; t < 200; t++) {
                c = verdict_track(&track, VERDICT_MOVING, t * S, 10 * S);
                assert_false(c.started || c.ended);
        }
        (void) verdict_track(&track, VERDICT_TARGET_FULL, 200 * S, 10 * S);
        c = verdict_track(&track, VERDICT_MOVING, 205 * S, 10 * S);
        assert_false(c.started || c.ended);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_table),
                cmocka_unit_test(test_words),
                cmocka_unit_test(test_track),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
