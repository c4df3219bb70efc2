/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The distance between words, and who counts as near. */

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macro.h"
#include "base/suggest.h"

static void test_distance(void **state) {
        static const char w64[] =
                "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl";
        static const char w65[] =
                "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklm";
        static const struct {
                const char *a, *b;
                unsigned distance;
        } cases[] = {
                {"", "", 0},
                {"", "abc", 3},
                {"abc", "abc", 0},
                {"abc", "ABC", 0},
                {"abc", "abd", 1},
                {"abc", "ab", 1},
                {"abc", "acb", 1},
                {"ca", "abc", 3}, /* a swapped pair is not edited again */
                {"kitten", "sitting", 3},
                {"Hedroom", "Headroom", 1},
                {"Intreval", "Interval", 1},
                {w64, w64, 0},
                {w65, w65, UINT_MAX},
                {w65, "", UINT_MAX},
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                unsigned there = suggest_distance(cases[i].a, cases[i].b);
                unsigned back = suggest_distance(cases[i].b, cases[i].a);

                if (there != cases[i].distance || back != there)
                        fail_msg("%s, %s: %u and %u", cases[i].a, cases[i].b, there, back);
        }
}

static void test_suggest(void **state) {
        static const char *const words[] = {"Interval", "ReportInterval", "AtExit", "Headroom"};
        static const struct {
                const char *word, *nearest;
        } cases[] = {
                {"Intervall", "Interval"},
                {"interval", "Interval"},
                {"ReportIntervals", "ReportInterval"},
                {"AtExxit", "AtExit"},
                {"Hedrom", "Headroom"},
                {"Colour", NULL},
                {"", NULL},
                {"x", NULL},
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                Suggest suggest = {.word = cases[i].word};

                for (size_t j = 0; j < ELEMENTSOF(words); j++)
                        suggest_offer(&suggest, words[j]);

                if (cases[i].nearest) {
                        assert_non_null(suggest.nearest);
                        assert_string_equal(suggest.nearest, cases[i].nearest);
                } else
                        assert_null(suggest.nearest);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_distance),
                cmocka_unit_test(test_suggest),
        };

        return cmocka_run_group_tests_name("suggest", tests, NULL, NULL);
}
