/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Growing arrays: zeroed, amortised, and unharmed when they cannot grow. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/macro.h"

typedef struct Item {
        uint64_t a;
        char b;
} Item;

static void test_grows_and_zeroes(void **state) {
        _cleanup_(freep) Item *items = NULL;
        size_t n_alloc = 0;

        (void) state;
        for (size_t n = 1; n < 3000; n++) {
                assert_int_equal(ARRAY_GROW(items, n_alloc, n), 0);
                assert_true(n_alloc >= n);
                assert_int_equal(items[n - 1].a, 0);
                assert_int_equal(items[n - 1].b, 0);
                items[n - 1] = (Item){.a = n, .b = 'x'};
        }

        for (size_t n = 1; n < 3000; n++)
                assert_int_equal(items[n - 1].a, n);
}

static void test_moves_seldom(void **state) {
        _cleanup_(freep) int *items = NULL;
        size_t n_alloc = 0, n_moves = 0;

        (void) state;
        for (size_t n = 1; n < 100000; n++) {
                size_t before = n_alloc;

                assert_int_equal(ARRAY_GROW(items, n_alloc, n), 0);
                n_moves += n_alloc != before;
        }

        assert_true(n_moves < 30);
}

static void test_enough_is_enough(void **state) {
        _cleanup_(freep) int *items = NULL;
        size_t n_alloc = 0;
        const int *before;

        (void) state;
        assert_int_equal(ARRAY_GROW(items, n_alloc, 0), 0);
        assert_null(items);
        assert_int_equal(ARRAY_GROW(items, n_alloc, 8), 0);
        before = items;
        assert_int_equal(ARRAY_GROW(items, n_alloc, 3), 0);
        assert_ptr_equal(items, before);
}

static void test_overflow_changes_nothing(void **state) {
        static const size_t needs[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2 + 1,
                                       SIZE_MAX / sizeof(Item) + 1};
        _cleanup_(freep) Item *items = NULL;
        const Item *before;
        size_t n_alloc = 0, n_before;

        (void) state;
        assert_int_equal(ARRAY_GROW(items, n_alloc, 1), 0);
        items[0].a = 42;
        before = items;
        n_before = n_alloc;

        for (size_t i = 0; i < ELEMENTSOF(needs); i++) {
                assert_int_equal(ARRAY_GROW(items, n_alloc, needs[i]), -E2BIG);
                assert_ptr_equal(items, before);
                assert_int_equal(n_alloc, n_before);
                assert_int_equal(items[0].a, 42);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_grows_and_zeroes),
                cmocka_unit_test(test_moves_seldom),
                cmocka_unit_test(test_enough_is_enough),
                cmocka_unit_test(test_overflow_changes_nothing),
        };

        return cmocka_run_group_tests_name("array", tests, NULL, NULL);
}
