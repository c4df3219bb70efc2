/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Every kind of value, with the texts that a careless reader would take. */

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/macro.h"
#include "base/parse.h"

#define UNTOUCHED UINT64_C(0xa5a5a5a5a5a5a5a5)

typedef struct Case {
        const char *text;
        int r;
        uint64_t value;
} Case;

static void check(const char *kind, const Case *c, int r, uint64_t value) {
        uint64_t expected = c->r < 0 ? UNTOUCHED : c->value;

        if (r != c->r || value != expected)
                fail_msg("%s \"%s\": got %d, %ju; expected %d, %ju", kind, c->text, r,
                         (uintmax_t) value, c->r, (uintmax_t) expected);
}

/* Texts that no kind of number takes. */
static const Case never[] = {
        {"", -EINVAL, 0},      {" ", -EINVAL, 0},
        {" 1", -EINVAL, 0},    {"1 ", -EINVAL, 0},
        {"+1", -EINVAL, 0},    {"-", -EINVAL, 0},
        {"--1", -EINVAL, 0},   {"0x10", -EINVAL, 0},
        {"1e3", -EINVAL, 0},   {"1,000", -EINVAL, 0},
        {"1_000", -EINVAL, 0}, {"\t1", -EINVAL, 0},
        {"1\n", -EINVAL, 0},   {"nan", -EINVAL, 0},
        {"inf", -EINVAL, 0},   {"١", -EINVAL, 0},
        {".", -EINVAL, 0},     {"1..2", -EINVAL, 0},
        {"abc", -EINVAL, 0},   {"99999999999999999999999x", -EINVAL, 0},
};

static void check_u64_table(const char *kind, int (*parse)(const char *, uint64_t *),
                            const Case *cases, size_t n) {
        for (size_t i = 0; i < n; i++) {
                uint64_t value = UNTOUCHED;
                int r = parse(cases[i].text, &value);

                check(kind, &cases[i], r, value);
        }
}

static void test_u64(void **state) {
        static const Case cases[] = {
                {"0", 0, 0},
                {"7", 0, 7},
                {"010", 0, 10}, /* decimal, never octal */
                {"18446744073709551615", 0, UINT64_MAX},
                {"18446744073709551616", -ERANGE, 0},
                {"99999999999999999999999999", -ERANGE, 0},
                {"-1", -EINVAL, 0},
                {"1.0", -EINVAL, 0},
        };

        (void) state;
        check_u64_table("u64", parse_u64, cases, ELEMENTSOF(cases));
        check_u64_table("u64", parse_u64, never, ELEMENTSOF(never));
}

static void test_u32(void **state) {
        static const Case cases[] = {
                {"0", 0, 0},
                {"4294967295", 0, UINT32_MAX},
                {"4294967296", -ERANGE, 0},
                {"18446744073709551617", -ERANGE, 0}, /* would wrap to 1 */
                {"-1", -EINVAL, 0},
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                uint32_t value = 12345;
                int r = parse_u32(cases[i].text, &value);

                assert_int_equal(r, cases[i].r);
                assert_int_equal(value, r < 0 ? 12345 : cases[i].value);
        }
}

static void test_int(void **state) {
        static const struct {
                const char *text;
                int r;
                int value;
        } cases[] = {
                {"0", 0, 0},
                {"-0", 0, 0},
                {"-1", 0, -1},
                {"2147483647", 0, INT_MAX},
                {"2147483648", -ERANGE, 0},
                {"-2147483648", 0, INT_MIN},
                {"-2147483649", -ERANGE, 0},
                {"-18446744073709551615", -ERANGE, 0},
                {"+1", -EINVAL, 0},
                {"--1", -EINVAL, 0},
                {"- 1", -EINVAL, 0},
                {"-", -EINVAL, 0},
                {"", -EINVAL, 0},
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                int value = 4711;
                int r = parse_int(cases[i].text, &value);

                if (r != cases[i].r || value != (r < 0 ? 4711 : cases[i].value))
                        fail_msg("int \"%s\": got %d, %d", cases[i].text, r, value);
        }
}

static void test_hex(void **state) {
        static const Case cases[] = {
                {"0", 0, 0},
                {"8000000", 0, 0x8000000}, /* block_size_bytes of x86 */
                {"ffffffffffffffff", 0, UINT64_MAX},
                {"AbCdEf", 0, 0xabcdef},
                {"00000000000000001", 0, 1},
                {"10000000000000000", -ERANGE, 0},
                {"10000000000000000g", -EINVAL, 0},
                {"0x10", -EINVAL, 0},
                {"", -EINVAL, 0},
                {"-1", -EINVAL, 0},
                {"1 ", -EINVAL, 0},
                {"g", -EINVAL, 0},
        };

        (void) state;
        check_u64_table("hex", parse_hex_u64, cases, ELEMENTSOF(cases));
}

static void test_bool(void **state) {
        static const struct {
                const char *text;
                int r;
                bool value;
        } cases[] = {
                {"yes", 0, true},       {"true", 0, true},
                {"on", 0, true},        {"1", 0, true},
                {"y", 0, true},         {"t", 0, true},
                {"YES", 0, true},       {"True", 0, true},
                {"no", 0, false},       {"false", 0, false},
                {"off", 0, false},      {"0", 0, false},
                {"n", 0, false},        {"f", 0, false},
                {"OFF", 0, false},      {"", -EINVAL, false},
                {"2", -EINVAL, false},  {"yes ", -EINVAL, false},
                {"ye", -EINVAL, false}, {"enabled", -EINVAL, false},
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                bool value = !cases[i].value;
                int r = parse_bool(cases[i].text, &value);

                if (r != cases[i].r || value != (r < 0 ? !cases[i].value : cases[i].value))
                        fail_msg("bool \"%s\": got %d, %d", cases[i].text, r, value);
        }
}

static void test_size(void **state) {
        static const Case cases[] = {
                {"0", 0, 0},
                {"0B", 0, 0},
                {"0G", 0, 0},
                {"00", 0, 0},
                {"1B", 0, 1},
                {"1K", 0, 1024},
                {"1KiB", 0, 1024},
                {"200M", 0, UINT64_C(200) << 20},
                {"1.5G", 0, UINT64_C(3) << 29},
                {"1.5GiB", 0, UINT64_C(3) << 29},
                {"0.5K", 0, 512},
                {"0.0625G", 0, UINT64_C(64) << 20},
                {"0.1K", 0, 102}, /* rounded down */
                {"2T", 0, UINT64_C(2) << 40},
                {"3P", 0, UINT64_C(3) << 50},
                {"16383P", 0, UINT64_C(16383) << 50},
                {"16383.9999P", 0,
                 (UINT64_C(16383) << 50) + UINT64_C(9999) * (UINT64_C(1) << 50) / 10000},
                {"18446744073709551615B", 0, UINT64_MAX},
                {"16384P", -ERANGE, 0},
                {"18446744073709551616B", -ERANGE, 0},
                {"99999999999999999999999K", -ERANGE, 0},
                {"99999999999999999999999", -EINVAL, 0},
                {"1", -EINVAL, 0},
                {"4096", -EINVAL, 0},
                {"1.5", -EINVAL, 0},
                {"0.0", -EINVAL, 0},
                {"1.5B", -EINVAL, 0},
                {"1.G", -EINVAL, 0},
                {".5G", -EINVAL, 0},
                {"1.00001G", -EINVAL, 0},
                {"1g", -EINVAL, 0},
                {"1GB", -EINVAL, 0},
                {"1Gi", -EINVAL, 0},
                {"1 G", -EINVAL, 0},
                {"1GG", -EINVAL, 0},
                {"-1G", -EINVAL, 0},
                {"G", -EINVAL, 0},
                {"1E", -EINVAL, 0},
                {"1G/s", -EINVAL, 0},
        };

        (void) state;
        check_u64_table("size", parse_size, cases, ELEMENTSOF(cases));
        check_u64_table("size", parse_size, never, ELEMENTSOF(never));
}

static void test_rate(void **state) {
        static const Case cases[] = {
                {"200M/s", 0, UINT64_C(200) << 20},
                {"1.5GiB/s", 0, UINT64_C(3) << 29},
                {"0", 0, 0},
                {"0/s", 0, 0},
                {"0B/s", 0, 0},
                {"16384P/s", -ERANGE, 0},
                {"200M", -EINVAL, 0},
                {"200/s", -EINVAL, 0},
                {"200M/", -EINVAL, 0},
                {"200M/S", -EINVAL, 0},
                {"200M/min", -EINVAL, 0},
                {"200M/s/s", -EINVAL, 0},
                {"200M /s", -EINVAL, 0},
                {"/s", -EINVAL, 0},
                {"M/s", -EINVAL, 0},
        };

        (void) state;
        check_u64_table("rate", parse_rate, cases, ELEMENTSOF(cases));
        check_u64_table("rate", parse_rate, never, ELEMENTSOF(never));
}

static void test_duration(void **state) {
        static const Case cases[] = {
                {"0", 0, 0},
                {"0s", 0, 0},
                {"5us", 0, 5},
                {"5ms", 0, 5000},
                {"5s", 0, 5000000},
                {"1min", 0, 60000000},
                {"1min 30s", 0, 90000000},
                {"1min30s", 0, 90000000},
                {"2h", 0, UINT64_C(7200000000)},
                {"1d 2h 3min 4s 5ms 6us", 0, UINT64_C(93784005006)},
                {"90s", 0, 90000000},
                {"213503982d 8h 1min 49s 551ms 615us", 0, UINT64_MAX},
                {"213503982d 8h 1min 49s 551ms 616us", -ERANGE, 0},
                {"213503983d", -ERANGE, 0},
                {"99999999999999999999s", -ERANGE, 0},
                {"99999999999999999999parsec", -EINVAL, 0},
                {"5", -EINVAL, 0},
                {"00", -EINVAL, 0},
                {"5x", -EINVAL, 0},
                {"s", -EINVAL, 0},
                {"5 s", -EINVAL, 0},
                {"5m", -EINVAL, 0},
                {"5S", -EINVAL, 0},
                {"5sec", -EINVAL, 0},
                {"1.5s", -EINVAL, 0},
                {"-5s", -EINVAL, 0},
                {"30s 1min", -EINVAL, 0},
                {"5s 5s", -EINVAL, 0},
                {"1min  30s", -EINVAL, 0},
                {"1min ", -EINVAL, 0},
                {" 1min", -EINVAL, 0},
                {"1min 30", -EINVAL, 0},
                {"1min,30s", -EINVAL, 0},
        };

        (void) state;
        check_u64_table("duration", parse_duration, cases, ELEMENTSOF(cases));
        check_u64_table("duration", parse_duration, never, ELEMENTSOF(never));
}

static int parse_ratio_u64(const char *s, uint64_t *ret) {
        uint32_t bp;
        int r;

        r = parse_ratio(s, &bp);
        if (r < 0)
                return r;

        *ret = bp;
        return 0;
}

static void test_ratio(void **state) {
        static const Case cases[] = {
                {"0", 0, 0},
                {"0%", 0, 0},
                {"0bp", 0, 0},
                {"5%", 0, 500},
                {"0.25%", 0, 25},
                {"0.5%", 0, 50},
                {"0.05%", 0, 5},
                {"50bp", 0, 50},
                {"100%", 0, 10000},
                {"100.00%", 0, 10000},
                {"10000bp", 0, 10000},
                {"100.01%", -ERANGE, 0},
                {"101%", -ERANGE, 0},
                {"10001bp", -ERANGE, 0},
                {"18446744073709551615%", -ERANGE, 0},
                {"99999999999999999999%", -ERANGE, 0},
                {"0.001%", -EINVAL, 0},
                {"0.5bp", -EINVAL, 0},
                {"5", -EINVAL, 0},
                {"0.05", -EINVAL, 0},
                {"5 %", -EINVAL, 0},
                {"5%%", -EINVAL, 0},
                {"%", -EINVAL, 0},
                {".5%", -EINVAL, 0},
                {"5.%", -EINVAL, 0},
                {"-5%", -EINVAL, 0},
                {"5BP", -EINVAL, 0},
        };

        (void) state;
        check_u64_table("ratio", parse_ratio_u64, cases, ELEMENTSOF(cases));
        check_u64_table("ratio", parse_ratio_u64, never, ELEMENTSOF(never));
}

static void test_nodeset(void **state) {
        static const struct {
                const char *text;
                int r;
                const char *back; /* as nodeset_to_string() puts it */
        } cases[] = {
                {"", 0, ""},
                {"0", 0, "0"},
                {"0-3,7", 0, "0-3,7"},
                {"7,0-3", 0, "0-3,7"},
                {"1,1", 0, "1"},
                {"0-3,2-5", 0, "0-5"},
                {"5-5", 0, "5"},
                {"1023", 0, "1023"},
                {"0-1023", 0, "0-1023"},
                {"1024", -ERANGE, NULL},
                {"0-1024", -ERANGE, NULL},
                {"0-99999999999999999999", -ERANGE, NULL},
                {"99999999999999999999", -ERANGE, NULL},
                {"99999999999999999999-5", -ERANGE, NULL},
                {"3-1", -EINVAL, NULL},
                {"0,", -EINVAL, NULL},
                {",0", -EINVAL, NULL},
                {"0,,1", -EINVAL, NULL},
                {"0-", -EINVAL, NULL},
                {"-1", -EINVAL, NULL},
                {"0 1", -EINVAL, NULL},
                {"0, 1", -EINVAL, NULL},
                {"0-3:1/2", -EINVAL, NULL},
                {"all", -EINVAL, NULL},
                {"0\n", -EINVAL, NULL},
                {"2000-x", -EINVAL, NULL},
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(freep) char *back = NULL;
                NodeSet set = {.bits[3] = 5}, untouched = set;
                int r = parse_nodeset(cases[i].text, &set);

                if (r != cases[i].r)
                        fail_msg("nodeset \"%s\": got %d", cases[i].text, r);
                if (r < 0) {
                        assert_true(nodeset_equal(&set, &untouched));
                        continue;
                }

                back = nodeset_to_string(&set);
                assert_string_equal(back, cases[i].back);
        }
}

/* A small generator with a fixed seed: the same numbers on every machine. Its magnitudes are
 * spread over all bit lengths. */
static uint64_t next_random(uint64_t *seed) {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        return *seed >> (*seed & 63);
}

static void check_inverse(uint64_t value) {
        _cleanup_(freep) char *size = format_size(value), *rate = format_rate(value),
                              *duration = format_duration(value);
        uint64_t back = UNTOUCHED;

        if (parse_size(size, &back) < 0 || back != value)
                fail_msg("size %ju is written as %s", (uintmax_t) value, size);
        if (parse_rate(rate, &back) < 0 || back != value)
                fail_msg("rate %ju is written as %s", (uintmax_t) value, rate);
        if (parse_duration(duration, &back) < 0 || back != value)
                fail_msg("duration %ju is written as %s", (uintmax_t) value, duration);
}

static void test_inverse(void **state) {
        uint64_t seed = 88172645463325252;

        (void) state;
        for (unsigned bit = 0; bit < 64; bit++) {
                check_inverse((UINT64_C(1) << bit) - 1);
                check_inverse(UINT64_C(1) << bit);
                check_inverse((UINT64_C(1) << bit) + 1);
        }
        check_inverse(UINT64_MAX);
        for (unsigned i = 0; i < 20000; i++)
                check_inverse(next_random(&seed));

        for (uint32_t bp = 0; bp <= 10000; bp++) {
                _cleanup_(freep) char *text = format_ratio(bp);
                uint32_t back = UINT32_MAX;

                if (parse_ratio(text, &back) < 0 || back != bp)
                        fail_msg("ratio %u is written as %s", bp, text);
        }
}

static void test_nodeset_inverse(void **state) {
        uint64_t seed = 42424242;

        (void) state;
        for (unsigned i = 0; i < 500; i++) {
                _cleanup_(freep) char *text = NULL;
                NodeSet set = {}, back = {};

                for (size_t j = 0; j < ELEMENTSOF(set.bits); j++)
                        set.bits[j] = next_random(&seed);

                text = nodeset_to_string(&set);
                assert_int_equal(parse_nodeset(text, &back), 0);
                assert_true(nodeset_equal(&set, &back));
        }
}

static void test_format(void **state) {
        static const struct {
                uint64_t value;
                const char *size, *rate, *duration, *human;
        } cases[] = {
                {0, "0", "0/s", "0", "0 B"},
                {1, "1B", "1B/s", "1us", "1 B"},
                {999, "999B", "999B/s", "999us", "999 B"},
                {1023, "1023B", "1023B/s", "1ms 23us", "1023 B"},
                {4097, "4097B", "4097B/s", "4ms 97us", "4 KiB"},
                {1536 * 1024, "1536K", "1536K/s", "1s 572ms 864us", "1.5 MiB"},
                {UINT64_C(200) << 20, "200M", "200M/s", "3min 29s 715ms 200us", "200 MiB"},
                {90000000, NULL, NULL, "1min 30s", "85.8 MiB"},
                {UINT64_C(86400000000), NULL, NULL, "1d", "80.5 GiB"},
                {UINT64_C(3) << 29, "1536M", "1536M/s", NULL, "1.5 GiB"},
                {(UINT64_C(1) << 20) - 1, NULL, NULL, NULL, "1 MiB"},
                {(UINT64_C(1) << 30) - 1, NULL, NULL, NULL, "1 GiB"},
                {UINT64_C(1047527424), NULL, NULL, NULL, "999 MiB"},
                {(UINT64_C(100) << 30) + (UINT64_C(6) << 30) / 10, NULL, NULL, NULL, "101 GiB"},
                {(UINT64_C(99) << 30) + (UINT64_C(97) << 30) / 100, NULL, NULL, NULL, "100 GiB"},
                {UINT64_MAX, NULL, NULL, NULL, "16 EiB"},
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(freep) char *size = format_size(cases[i].value),
                                      *rate = format_rate(cases[i].value),
                                      *duration = format_duration(cases[i].value),
                                      *human = format_size_human(cases[i].value);

                if (cases[i].size)
                        assert_string_equal(size, cases[i].size);
                if (cases[i].rate)
                        assert_string_equal(rate, cases[i].rate);
                if (cases[i].duration)
                        assert_string_equal(duration, cases[i].duration);
                if (cases[i].human)
                        assert_string_equal(human, cases[i].human);
        }
}

static void test_format_ratio(void **state) {
        static const struct {
                uint32_t bp;
                const char *text;
        } cases[] = {
                {0, "0"},     {500, "5%"},     {25, "0.25%"},    {50, "0.5%"},
                {5, "0.05%"}, {10000, "100%"}, {1234, "12.34%"}, {1230, "12.3%"},
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(freep) char *text = format_ratio(cases[i].bp);

                assert_string_equal(text, cases[i].text);
        }
}

/* A decimal comma in the environment's locale changes nothing. */
static void test_locale(void **state) {
        uint64_t bytes = 0;

        (void) state;
        if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "C.UTF-8"))
                skip();

        assert_int_equal(parse_size("1.5G", &bytes), 0);
        assert_int_equal(parse_size("1,5G", &bytes), -EINVAL);
        (void) setlocale(LC_ALL, "C");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_u64),     cmocka_unit_test(test_u32),
                cmocka_unit_test(test_int),     cmocka_unit_test(test_hex),
                cmocka_unit_test(test_bool),    cmocka_unit_test(test_size),
                cmocka_unit_test(test_rate),    cmocka_unit_test(test_duration),
                cmocka_unit_test(test_ratio),   cmocka_unit_test(test_nodeset),
                cmocka_unit_test(test_inverse), cmocka_unit_test(test_nodeset_inverse),
                cmocka_unit_test(test_format),  cmocka_unit_test(test_format_ratio),
                cmocka_unit_test(test_locale),
        };

        return cmocka_run_group_tests_name("parse", tests, NULL, NULL);
}
