/* SPDX-License-Identifier: GPL-2.0-or-later */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macro.h"
#include "core/zoneinfo.h"

/* One zone as the kernel prints it, without the lines that we do not read. */
#define ZONE(nid, name, free, high, managed, protection) \
        "Node " nid ", zone " name "\n"                  \
        "  pages free     " free "\n"                    \
        "        boost    0\n"                           \
        "        min      1\n"                           \
        "        low      2\n"                           \
        "        high     " high "\n"                    \
        "        spanned  9000\n"                        \
        "        present  8000\n"                        \
        "        managed  " managed "\n"                 \
        "        cma      0\n"                           \
        "        protection: (" protection ")\n"

static char *slurp(const char *name) {
        _cleanup_(freep) char *path = NULL;
        char *text;
        size_t n;
        FILE *f;

        assert_true(asprintf(&path, "%s/fuzz/corpus/zoneinfo/%s", TESTS_DIR, name) > 0);
        f = fopen(path, "re");
        assert_non_null(f);
        text = calloc(1, 65536);
        assert_non_null(text);
        n = fread(text, 1, 65535, f);
        assert_true(n > 0 && n < 65535);
        assert_int_equal(fclose(f), 0);
        return text;
}

/* Captured machines. What a zone holds back: high watermark plus last protection entry. */
static void test_captured(void **state) {
        static const struct {
                const char *file;
                int nid;
                size_t n_zones; /* of the machine */
                uint64_t floor;
                uint64_t usable;
        } cases[] = {
                {"two-6.12", 0, 3, 192 + 991 + 12765, 3776 - 192 - 991 + 246936 - 12765},
                {"two-6.12", 1, 3, 12384, 241617 - 12384},
                {"two-7.3", 0, 3, 193 + 948 + 12158, 3776 - 193 - 948 + 232779 - 12158},
                {"two-7.3", 1, 3, 12990, 255163 - 12990},
                {"memoryless-7.3", 0, 3, 193 + 991 + 12810, 3776 - 193 - 991 + 244256 - 12810},
                {"memoryless-7.3", 1, 3, 0, 0},
                {"memoryless-7.3", 2, 3, 12338, 239680 - 12338},
                /* DMA32 below the movable zone's protection; a Normal zone of 1024 pages whose
                 * protection is more than the zone has, so nothing of it is for us */
                {"movable-7.3", 0, 6, 126 + 2900 + 16257 + 975 + 1024 + 2874,
                 3584 - 126 - 2900 + 483236 - 16257 - 975 + 247587 - 2874},
                {"movable-7.3", 1, 6, 17371 + 7792 + 2882, 519861 - 17371 - 7792 + 249355 - 2882},
        };
        (void) state;

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(freep) char *text = slurp(cases[i].file);
                _cleanup_(zoneinfo_done) ZoneInfo info = {0};

                print_message("%s node %d\n", cases[i].file, cases[i].nid);
                assert_int_equal(zoneinfo_parse(text, &info), 0);
                assert_int_equal(info.n_zones, cases[i].n_zones);
                assert_int_equal(zoneinfo_floor_pages(&info, cases[i].nid), cases[i].floor);
                assert_int_equal(zoneinfo_usable_pages(&info, cases[i].nid), cases[i].usable);
                assert_int_equal(zoneinfo_floor_pages(&info, 99), 0);
                assert_int_equal(zoneinfo_usable_pages(&info, 99), 0);
        }
}

static void test_fields(void **state) {
        _cleanup_(freep) char *text = slurp("two-7.3");
        _cleanup_(zoneinfo_done) ZoneInfo info = {0};
        const Zone *zone;
        (void) state;

        assert_int_equal(zoneinfo_parse(text, &info), 0);
        zone = &info.zones[1];
        assert_int_equal(zone->nid, 0);
        assert_string_equal(zone->name, "DMA32");
        assert_int_equal(zone->free, 232779);
        assert_int_equal(zone->high, 12158);
        assert_int_equal(zone->spanned, 258048);
        assert_int_equal(zone->managed, 242867);
        assert_true(zone->min < zone->low && zone->low < zone->high);
        assert_int_equal(zone->n_protection, 5);
        assert_int_equal(info.zones[0].protection[0], 0);
        assert_int_equal(info.zones[0].protection[4], 948);
}

static void test_texts(void **state) {
        static const struct {
                const char *name;
                const char *text;
                int r;
                uint64_t floor;
                uint64_t usable;
        } cases[] = {
                {"empty", "", -EINVAL, 0, 0},
                {"blank lines", "\n\n", -EINVAL, 0, 0},
                {"something else", "MemTotal: 1 kB\n", -EINVAL, 0, 0},
                {"one zone", ZONE("0", "Normal", "500", "100", "8000", "0, 0"), 0, 100, 400},
                {"free below the floor", ZONE("0", "Normal", "50", "100", "8000", "0, 0"), 0, 100,
                 0},
                {"free at the floor", ZONE("0", "Normal", "100", "100", "8000", "0, 0"), 0, 100, 0},
                {"the last protection counts", ZONE("0", "DMA", "500", "100", "800", "0, 10, 70"),
                 0, 170, 330},
                {"one protection entry", ZONE("0", "DMA", "500", "100", "800", "70"), 0, 170, 330},
                {"floor at most what is managed", ZONE("0", "DMA", "40", "100", "80", "0, 900"), 0,
                 80, 0},
                {"not managed, not counted", ZONE("0", "Movable", "0", "32", "0", "0, 0"), 0, 0, 0},
                {"two zones of one node",
                 ZONE("0", "DMA32", "500", "100", "8000", "0, 5")
                         ZONE("0", "Normal", "900", "200", "8000", "0, 0"),
                 0, 305, 395 + 700},
                {"a zone below its floor takes nothing from another",
                 ZONE("0", "DMA32", "5", "100", "8000", "0, 5")
                         ZONE("0", "Normal", "900", "200", "8000", "0, 0"),
                 0, 305, 700},
                {"other nodes do not count",
                 ZONE("1", "Normal", "500", "100", "8000", "0, 5")
                         ZONE("0", "Normal", "900", "200", "8000", "0, 0"),
                 0, 200, 700},
                {"sums do not overflow",
                 ZONE("0", "A", "18446744073709551615", "18446744073709551615",
                      "18446744073709551615", "1")
                         ZONE("0", "B", "18446744073709551615", "1", "18446744073709551615", "1"),
                 0, UINT64_MAX, UINT64_MAX - 2},
                {"unknown lines are skipped",
                 "Node 0, zone Normal\n  per-node stats\n      nr_new 5\n  pages free 500\n"
                 "        golden 7\n        min 1\n        low 2\n        high 100\n"
                 "        spanned 9\n        present 8\n        managed 700\n"
                 "        protection: (0, 0)\n      nr_free_pages 3\n  pagesets\n"
                 "    cpu: 0\n              high:     4\n              high 5\n",
                 0, 100, 400},
                {"cut off before the fields", "Node 0, zone Normal\n", -EINVAL, 0, 0},
                {"cut off in the fields", "Node 0, zone Normal\n  pages free 500\n        min 1\n",
                 -EINVAL, 0, 0},
                {"no managed",
                 "Node 0, zone Normal\n  pages free 500\n min 1\n low 2\n high 3\n spanned 4\n"
                 " present 5\n protection: (0)\n",
                 -EINVAL, 0, 0},
                {"a field twice", "Node 0, zone Normal\n  pages free 500\n min 1\n min 1\n",
                 -EINVAL, 0, 0},
                {"a word for a number", ZONE("0", "Normal", "many", "1", "1", "0"), -EINVAL, 0, 0},
                {"a negative number", ZONE("0", "Normal", "-1", "1", "1", "0"), -EINVAL, 0, 0},
                {"a number that does not fit",
                 ZONE("0", "N", "18446744073709551616", "1", "1", "0"), -EINVAL, 0, 0},
                {"protection without end", ZONE("0", "Normal", "1", "1", "1", "0, 0,"), -EINVAL, 0,
                 0},
                {"protection of nine", ZONE("0", "N", "1", "1", "1", "0, 0, 0, 0, 0, 0, 0, 0, 0"),
                 -EINVAL, 0, 0},
                {"no protection", ZONE("0", "Normal", "1", "1", "1", ""), -EINVAL, 0, 0},
                {"node number too large", ZONE("1024", "Normal", "1", "1", "1", "0"), -EINVAL, 0,
                 0},
                {"node number negative", ZONE("-1", "Normal", "1", "1", "1", "0"), -EINVAL, 0, 0},
                {"zone name too long", ZONE("0", "NormalNormalNormal", "1", "1", "1", "0"), -EINVAL,
                 0, 0},
                {"header without comma", "Node 0 zone Normal\n", -EINVAL, 0, 0},
        };
        (void) state;

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(zoneinfo_done) ZoneInfo info = {0};

                print_message("%s\n", cases[i].name);
                assert_int_equal(zoneinfo_parse(cases[i].text, &info), cases[i].r);
                assert_int_equal(zoneinfo_floor_pages(&info, 0), cases[i].floor);
                assert_int_equal(zoneinfo_usable_pages(&info, 0), cases[i].usable);
        }
}

/* Every prefix of a real text either parses or is refused, without leaks or reads past its end. */
static void test_cut_anywhere(void **state) {
        _cleanup_(freep) char *text = slurp("two-7.3");
        (void) state;

        for (size_t len = strlen(text); len > 0; len -= MIN(len, (size_t) 7)) {
                _cleanup_(zoneinfo_done) ZoneInfo info = {0};
                _cleanup_(freep) char *cut = strndup(text, len);
                int r;

                assert_non_null(cut);
                r = zoneinfo_parse(cut, &info);
                assert_true(r == 0 || r == -EINVAL);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_captured),
                cmocka_unit_test(test_fields),
                cmocka_unit_test(test_texts),
                cmocka_unit_test(test_cut_anywhere),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
