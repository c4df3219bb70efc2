/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Log events as values. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>

#include <cmocka.h>

#include "base/event.h"
#include "base/macro.h"

static void test_new(void **state) {
        static const char id[] = "00112233445566778899aabbccddeeff";
        _cleanup_(event_freep) Event *event = NULL;

        (void) state;
        event = event_new(LOG_NOTICE, id, "node %d is %s", 3, "full");
        assert_non_null(event);
        assert_int_equal(event->priority, LOG_NOTICE);
        assert_ptr_equal(event->message_id, id);
        assert_string_equal(event->message, "node 3 is full");
        assert_int_equal(event->n_fields, 0);
        assert_null(event_get(event, "NODE"));
}

static void test_fields(void **state) {
        _cleanup_(event_freep) Event *event = event_new(LOG_INFO, NULL, "x");

        (void) state;
        assert_int_equal(event_add(event, "NODE", "%d", 1), 0);
        assert_int_equal(event_add(event, "BYTES", "%ju", (uintmax_t) 4096), 0);
        assert_string_equal(event_get(event, "NODE"), "1");
        assert_string_equal(event_get(event, "BYTES"), "4096");

        assert_int_equal(event_add(event, "NODE", "%d", 2), 0);
        assert_string_equal(event_get(event, "NODE"), "2");
        assert_int_equal(event->n_fields, 2);

        for (int i = 0; i < 100; i++) {
                _cleanup_(freep) char *name = NULL;

                assert_true(asprintf(&name, "F_%d", i) > 0);
                assert_int_equal(event_add(event, name, "%d", i), 0);
        }
        assert_string_equal(event_get(event, "F_99"), "99");
        assert_int_equal(event->n_fields, 102);
}

/* The old value may be an argument of the new one. */
static void test_replace_with_itself(void **state) {
        _cleanup_(event_freep) Event *event = event_new(LOG_INFO, NULL, "x");

        (void) state;
        assert_int_equal(event_add(event, "PATH", "a"), 0);
        assert_int_equal(event_add(event, "PATH", "%s/b", event_get(event, "PATH")), 0);
        assert_string_equal(event_get(event, "PATH"), "a/b");
}

static void test_names(void **state) {
        static const struct {
                const char *name;
                int r;
        } cases[] = {
                {"A", 0},
                {"N_0", 0},
                {"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ABC", 0},        /* 40 */
                {"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ABCD", -EINVAL}, /* 41 */
                {"", -EINVAL},
                {"node", -EINVAL},
                {"A B", -EINVAL},
                {"A=B", -EINVAL},
                {"A\n", -EINVAL},
                {"Ä", -EINVAL},
        };
        _cleanup_(event_freep) Event *event = event_new(LOG_INFO, NULL, "x");

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                if (event_add(event, cases[i].name, "v") != cases[i].r)
                        fail_msg("field name \"%s\"", cases[i].name);
}

static void test_no_memory_is_passed_on(void **state) {
        (void) state;
        assert_int_equal(event_add(NULL, "A", "x"), -ENOMEM);
        assert_null(event_free(NULL));
}

static void count(void *userdata, const Event *event) {
        int *n = userdata;

        assert_string_equal(event->message, "hello");
        (*n)++;
}

static void test_emit(void **state) {
        _cleanup_(event_freep) Event *event = event_new(LOG_INFO, NULL, "hello");
        int n = 0;
        const EventSink sink = {.emit = count, .userdata = &n};

        (void) state;
        event_emit(&sink, event);
        event_emit(&sink, event);
        event_emit(&sink, NULL);
        event_emit(NULL, event);
        event_emit(&(EventSink){}, event);
        assert_int_equal(n, 2);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_new),
                cmocka_unit_test(test_fields),
                cmocka_unit_test(test_replace_with_itself),
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_no_memory_is_passed_on),
                cmocka_unit_test(test_emit),
        };

        return cmocka_run_group_tests_name("event", tests, NULL, NULL);
}
