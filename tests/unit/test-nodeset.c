/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Node sets: the edges of words and of the whole range are where they would break. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/macro.h"
#include "base/nodeset.h"

static NodeSet make(const int *nids, size_t n) {
        NodeSet set = {};

        for (size_t i = 0; i < n; i++)
                nodeset_add(&set, nids[i]);

        return set;
}

#define SET(...) make((const int[]){__VA_ARGS__}, ELEMENTSOF(((const int[]){__VA_ARGS__})))

static void test_to_string(void **state) {
        const struct {
                const char *name;
                NodeSet set;
                const char *text;
                unsigned count;
        } cases[] = {
                {"empty", {}, "", 0},
                {"first", SET(0), "0", 1},
                {"last", SET(NODES_MAX - 1), "1023", 1},
                {"both ends", SET(0, NODES_MAX - 1), "0,1023", 2},
                {"range", SET(3, 1, 2), "1-3", 3},
                {"two", SET(0, 1), "0-1", 2},
                {"range and one", SET(0, 1, 2, 3, 7), "0-3,7", 5},
                {"across words", SET(62, 63, 64, 65), "62-65", 4},
                {"word edge alone", SET(63, 128), "63,128", 2},
                {"twice the same", SET(5, 5), "5", 1},
                {"outside is ignored", SET(-1, NODES_MAX, 100000, 4), "4", 1},
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(freep) char *text = nodeset_to_string(&cases[i].set);

                assert_non_null(text);
                if (nodeset_count(&cases[i].set) != cases[i].count)
                        fail_msg("%s: count %u", cases[i].name, nodeset_count(&cases[i].set));
                assert_string_equal(text, cases[i].text);
                assert_int_equal(nodeset_is_empty(&cases[i].set), cases[i].count == 0);
        }
}

static void test_all(void **state) {
        _cleanup_(freep) char *text = NULL;
        NodeSet set = {};
        int n = 0;

        (void) state;
        for (int nid = 0; nid < NODES_MAX; nid++)
                nodeset_add(&set, nid);

        text = nodeset_to_string(&set);
        assert_string_equal(text, "0-1023");
        assert_int_equal(nodeset_count(&set), NODES_MAX);

        nodeset_foreach (nid, &set)
                assert_int_equal(nid, n++);
        assert_int_equal(n, NODES_MAX);

        for (int nid = 0; nid < NODES_MAX; nid++)
                nodeset_remove(&set, nid);
        assert_true(nodeset_is_empty(&set));
}

static void test_has(void **state) {
        const NodeSet set = SET(0, 63, 64, 1023);

        (void) state;
        assert_true(nodeset_has(&set, 0));
        assert_true(nodeset_has(&set, 63));
        assert_true(nodeset_has(&set, 64));
        assert_true(nodeset_has(&set, 1023));
        assert_false(nodeset_has(&set, 1));
        assert_false(nodeset_has(&set, -1));
        assert_false(nodeset_has(&set, NODE_NONE));
        assert_false(nodeset_has(&set, NODES_MAX));
        assert_false(nodeset_has(&set, INT32_MAX));
        assert_false(nodeset_has(&set, INT32_MIN));
}

static void test_next(void **state) {
        const NodeSet set = SET(2, 63, 64, 700), empty = {};

        (void) state;
        assert_int_equal(nodeset_next(&set, 0), 2);
        assert_int_equal(nodeset_next(&set, 2), 2);
        assert_int_equal(nodeset_next(&set, 3), 63);
        assert_int_equal(nodeset_next(&set, 64), 64);
        assert_int_equal(nodeset_next(&set, 65), 700);
        assert_int_equal(nodeset_next(&set, 701), NODE_NONE);
        assert_int_equal(nodeset_next(&set, -5), 2);
        assert_int_equal(nodeset_next(&set, NODES_MAX), NODE_NONE);
        assert_int_equal(nodeset_next(&empty, 0), NODE_NONE);
}

static void test_remove(void **state) {
        NodeSet set = SET(1, 2, 64), rest = SET(1, 64);

        (void) state;
        nodeset_remove(&set, 2);
        nodeset_remove(&set, 3);
        nodeset_remove(&set, -1);
        nodeset_remove(&set, NODES_MAX);
        assert_true(nodeset_equal(&set, &rest));
}

static void test_relations(void **state) {
        const NodeSet a = SET(1, 900), b = SET(2, 900), c = SET(2, 3), empty = {};

        (void) state;
        assert_true(nodeset_intersects(&a, &b));
        assert_true(nodeset_intersects(&b, &c));
        assert_false(nodeset_intersects(&a, &c));
        assert_false(nodeset_intersects(&a, &empty));
        assert_false(nodeset_intersects(&empty, &empty));
        assert_true(nodeset_equal(&a, &a));
        assert_true(nodeset_equal(&empty, &(NodeSet){}));
        assert_false(nodeset_equal(&a, &b));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_to_string), cmocka_unit_test(test_all),
                cmocka_unit_test(test_has),       cmocka_unit_test(test_next),
                cmocka_unit_test(test_remove),    cmocka_unit_test(test_relations),
        };

        return cmocka_run_group_tests_name("nodeset", tests, NULL, NULL);
}
