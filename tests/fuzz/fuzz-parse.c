/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Any text to every parser of values. What one takes must come back when it is written and read
 * again, and what it refuses must leave the result alone. */

#include <errno.h>
#include <limits.h>

#include "base/macro.h"
#include "base/parse.h"
#include "base/suggest.h"
#include "fuzz.h"

#define UNTOUCHED UINT64_C(0x5a5a5a5a5a5a5a5a)

static const struct {
        int (*parse)(const char *s, uint64_t *ret);
        char *(*format)(uint64_t value);
} kinds[] = {
        {parse_u64, NULL},
        {parse_hex_u64, NULL},
        {parse_size, format_size},
        {parse_rate, format_rate},
        {parse_duration, format_duration},
};

static void check_kind(size_t i, const char *text) {
        _cleanup_(freep) char *back = NULL;
        uint64_t value = UNTOUCHED, again = UNTOUCHED;
        int r = kinds[i].parse(text, &value);

        FUZZ_CHECK(r == 0 || r == -EINVAL || r == -ERANGE);
        if (r < 0) {
                FUZZ_CHECK(value == UNTOUCHED);
                return;
        }

        if (!kinds[i].format)
                return;

        back = kinds[i].format(value);
        FUZZ_CHECK(back);
        FUZZ_CHECK(kinds[i].parse(back, &again) == 0 && again == value);
}

static void check_ratio(const char *text) {
        _cleanup_(freep) char *back = NULL;
        uint32_t bp = 77777, again = 0;

        if (parse_ratio(text, &bp) < 0) {
                FUZZ_CHECK(bp == 77777);
                return;
        }

        FUZZ_CHECK(bp <= 10000);
        back = format_ratio(bp);
        FUZZ_CHECK(back);
        FUZZ_CHECK(parse_ratio(back, &again) == 0 && again == bp);
}

static void check_nodeset(const char *text) {
        _cleanup_(freep) char *back = NULL;
        NodeSet set = {}, again = {};
        unsigned n = 0;

        if (parse_nodeset(text, &set) < 0) {
                FUZZ_CHECK(nodeset_is_empty(&set));
                return;
        }

        nodeset_foreach (nid, &set)
                n++;
        FUZZ_CHECK(n == nodeset_count(&set));
        back = nodeset_to_string(&set);
        FUZZ_CHECK(back);
        FUZZ_CHECK(parse_nodeset(back, &again) == 0 && nodeset_equal(&set, &again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(freep) char *text = fuzz_string(data, size);
        _cleanup_(freep) char *human = NULL;
        uint64_t number = 0;
        uint32_t u32;
        bool b;
        int i;

        if (!text)
                return 0;

        for (size_t k = 0; k < ELEMENTSOF(kinds); k++)
                check_kind(k, text);

        check_ratio(text);
        check_nodeset(text);
        (void) parse_bool(text, &b);
        (void) parse_u32(text, &u32);
        (void) parse_int(text, &i);

        (void) parse_u64(text, &number);
        human = format_size_human(number);
        FUZZ_CHECK(human);

        FUZZ_CHECK(strlen(text) > 64 || suggest_distance(text, text) == 0);
        FUZZ_CHECK(suggest_distance(text, "Headroom") == suggest_distance("Headroom", text));
        return 0;
}
