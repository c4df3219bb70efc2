/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The tree as values: names, defaults, copying, comparing, and the attribute table. */

#include <errno.h>
#include <string.h>

#include "machine.h"

#include "core/damon.h"

static void test_caps(void **state) {
        _cleanup_(freep) char *text = NULL;

        (void) state;
        assert_string_equal(damon_cap_to_string(DAMON_CAP_GOAL_TUNER), "goal-tuner");
        assert_string_equal(damon_cap_release(DAMON_CAP_GOAL_TUNER), "7.1");
        assert_null(damon_cap_to_string((DamonCaps) 3));
        assert_null(damon_cap_release((DamonCaps) 3));
        text = damon_caps_to_string(DAMON_CAP_MIGRATE | DAMON_CAP_GOALS);
        assert_string_equal(text, "migrate goals");
}

static void test_caps_of_release(void **state) {
        static const struct {
                const char *release;
                uint32_t has;
                uint32_t lacks;
        } cases[] = {
                {"6.1.0-1-amd64", DAMON_CAP_SYSFS, DAMON_CAP_MIGRATE | DAMON_CAP_GOALS},
                {"6.12.117+deb13-amd64", DAMON_CAP_MIGRATE | DAMON_CAP_GOALS,
                 DAMON_CAP_ALLOW | DAMON_CAP_NODE_GOALS},
                {"6.16.12", DAMON_CAP_NODE_GOALS | DAMON_CAP_INTERVALS_GOAL, DAMON_CAP_REFRESH},
                {"7.0", DAMON_CAP_SNAPSHOTS, DAMON_CAP_GOAL_TUNER},
                {"7.1.13", DAMON_CAP_GOAL_TUNER, DAMON_CAP_FAIL_CHARGE},
                {"10.0", DAMON_CAP_PAUSE, 0},
                {"nonsense", 0, UINT32_MAX},
                {"6", 0, UINT32_MAX},
                {"6.x", 0, UINT32_MAX},
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                uint32_t caps = damon_caps_of_release(cases[i].release);

                assert_int_equal(caps & cases[i].has, cases[i].has);
                assert_int_equal(caps & cases[i].lacks, 0);
        }
}

/* Every attribute prints what it parses. */
static void test_attr_round_trip(void **state) {
        static const char *const samples[_DAMON_TYPE_MAX] = {
                [DAMON_TYPE_U64] = "18446744073709551615",
                [DAMON_TYPE_INT] = "-1",
                [DAMON_TYPE_BOOL] = "Y",
                [DAMON_TYPE_OPS] = "paddr",
                [DAMON_TYPE_ACTION] = "migrate_cold",
                [DAMON_TYPE_GOAL_METRIC] = "node_mem_free_bp",
                [DAMON_TYPE_TUNER] = "temporal",
                [DAMON_TYPE_FILTER_TYPE] = "young",
                [DAMON_TYPE_WMARK_METRIC] = "free_mem_rate",
        };
        size_t n;
        const DamonAttr *attrs = damon_attrs(&n);

        (void) state;
        assert_true(n > 40);
        for (size_t i = 0; i < n; i++) {
                union {
                        DamonKdamond kdamond;
                        DamonScheme scheme;
                } a, b;
                char buf[32];

                memset(&a, 0, sizeof(a));
                memset(&b, 0, sizeof(b));
                assert_int_equal(damon_attr_parse(&attrs[i], samples[attrs[i].type], &a), 0);
                assert_false(damon_attr_equal(&attrs[i], &a, &b));
                assert_string_equal(damon_attr_format(&attrs[i], &a, buf), samples[attrs[i].type]);
                assert_int_equal(
                        damon_attr_parse(&attrs[i], buf[0] ? samples[attrs[i].type] : "", &b), 0);
                assert_true(damon_attr_equal(&attrs[i], &a, &b));
                assert_true(damon_attr_parse(&attrs[i], "no such thing", &b) < 0);
        }
}

static void test_attr_table_is_sane(void **state) {
        size_t n;
        const DamonAttr *attrs = damon_attrs(&n);

        (void) state;
        for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < i; k++)
                        assert_false(attrs[i].level == attrs[k].level &&
                                     (strcmp(attrs[i].leaf, attrs[k].leaf) == 0 ||
                                      attrs[i].offset == attrs[k].offset));
}

static void test_enum_out_of_range(void **state) {
        DamonScheme scheme = {.action = 99};
        size_t n;
        const DamonAttr *attrs = damon_attrs(&n);
        char buf[32];

        (void) state;
        for (size_t i = 0; i < n; i++)
                if (strcmp(attrs[i].leaf, "action") == 0)
                        assert_string_equal(damon_attr_format(&attrs[i], &scheme, buf), "?");
        assert_null(damon_action_to_string((DamonAction) 99));
        assert_string_equal(damon_action_to_string(DAMON_ACTION_STAT), "stat");
}

static DamonTree tree_new(void) {
        DamonTree tree = {.kdamonds = calloc(2, sizeof(*tree.kdamonds)), .n_kdamonds = 2};

        assert_non_null(tree.kdamonds);
        for (size_t i = 0; i < 2; i++) {
                DamonKdamond *k = &tree.kdamonds[i];

                *k = damon_kdamond_default();
                k->n_contexts = 1;
                k->context = damon_context_default();
                k->context.n_targets = 1;
                k->context.ranges = calloc(1, sizeof(AddressRange));
                assert_non_null(k->context.ranges);
                k->context.ranges[0].end = GIB;
                k->context.n_ranges = 1;
                k->context.n_schemes = 1;
                k->context.schemes[0] = damon_scheme_default();
                k->context.schemes[0].n_goals = 1;
                k->context.schemes[0].n_filters = 1;
        }
        return tree;
}

static void test_copy_and_compare(void **state) {
        DamonTree a = tree_new(), b = {};

        (void) state;
        assert_int_equal(damon_tree_copy(&a, &b), 0);
        assert_true(damon_tree_equal(&a, &b));
        assert_ptr_not_equal(a.kdamonds[0].context.ranges, b.kdamonds[0].context.ranges);

#define DIFFERS(field, value)                                           \
        do {                                                            \
                typeof(b.kdamonds[1].field) _old = b.kdamonds[1].field; \
                b.kdamonds[1].field = (value);                          \
                assert_false(damon_tree_equal(&a, &b));                 \
                b.kdamonds[1].field = _old;                             \
                assert_true(damon_tree_equal(&a, &b));                  \
        } while (0)
        DIFFERS(refresh_ms, 1);
        DIFFERS(n_contexts, 0);
        DIFFERS(context.sample_us, 1);
        DIFFERS(context.n_targets, 0);
        DIFFERS(context.n_ranges, 0);
        DIFFERS(context.ranges[0].start, 4096);
        DIFFERS(context.n_schemes, 0);
        DIFFERS(context.schemes[0].quota_bytes, 1);
        DIFFERS(context.schemes[0].n_goals, 0);
        DIFFERS(context.schemes[0].goals[0].nid, 1);
        DIFFERS(context.schemes[0].n_filters, 0);
        DIFFERS(context.schemes[0].filters[0].allow, true);
#undef DIFFERS
        /* Whether it runs is not part of the value. */
        b.kdamonds[0].on = true;
        b.kdamonds[0].pid = 7;
        assert_true(damon_tree_equal(&a, &b));
        damon_tree_done(&b);
        assert_int_equal(b.n_kdamonds, 0);
        assert_false(damon_tree_equal(&a, &b));
        assert_int_equal(damon_tree_copy(&b, &b), 0);
        damon_tree_done(&a);
}

static void test_filters_dir(void **state) {
        (void) state;
        assert_string_equal(damon_filters_dir(CAPS_6_12), "filters");
        assert_string_equal(damon_filters_dir(CAPS_7_3), "ops_filters");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_caps),
                cmocka_unit_test(test_caps_of_release),
                cmocka_unit_test(test_attr_round_trip),
                cmocka_unit_test(test_attr_table_is_sane),
                cmocka_unit_test(test_enum_out_of_range),
                cmocka_unit_test(test_copy_and_compare),
                cmocka_unit_test(test_filters_dir),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
