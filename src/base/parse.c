/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Strict text to value and back. The C library's readers skip blanks, take signs, follow the
 * locale and stop quietly at the first odd character; here a text is wholly a value or it is
 * refused. This room knows nothing about where a text comes from and words no messages. */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/macro.h"
#include "base/parse.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)
#define TIB (GIB * 1024)
#define PIB (TIB * 1024)
#define EIB (PIB * 1024)

/* Enough for 1/16 of a unit, and 9999 PiB still fits 64 bits on the way. */
#define SIZE_FRACTION_DIGITS_MAX 4U

/* A basis point is a hundredth of a percent: finer text has no value here. */
#define RATIO_FRACTION_DIGITS_MAX 2U

#define RATIO_MAX_BP 10000U

typedef struct Unit {
        const char *name;
        uint64_t factor;
} Unit;

/* Largest first: format_size() and format_duration() go down these. */
static const Unit size_units[] = {
        {"P", PIB}, {"T", TIB}, {"G", GIB}, {"M", MIB}, {"K", KIB}, {"B", 1},
};

static const Unit size_units_long[] = {
        {"PiB", PIB}, {"TiB", TIB}, {"GiB", GIB}, {"MiB", MIB}, {"KiB", KIB},
};

static const Unit duration_units[] = {
        {"d", UINT64_C(86400000000)},
        {"h", UINT64_C(3600000000)},
        {"min", 60000000},
        {"s", 1000000},
        {"ms", 1000},
        {"us", 1},
};

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

/* Digits from *s on; moves *s behind them. -EINVAL when there is none. A number past 64 bits sets
 * *overflow instead of ending the reading, because "99999999999999999999x" is malformed first. */
static int take_number(const char **s, uint64_t *ret, bool *overflow) {
        const char *p = *s;
        uint64_t n = 0;

        if (!is_digit(*p))
                return -EINVAL;

        for (; is_digit(*p); p++)
                *overflow |= __builtin_mul_overflow(n, 10, &n) ||
                             __builtin_add_overflow(n, (uint64_t) (*p - '0'), &n);

        *s = p;
        *ret = n;
        return 0;
}

/* ".25" from *s on as 25 of 100; nothing there is 0 of 1. -EINVAL for a lone point and for more
 * than @max digits. */
static int take_fraction(const char **s, unsigned max, uint64_t *ret, uint64_t *ret_of) {
        const char *p = *s;
        uint64_t n = 0, of = 1;

        if (*p == '.') {
                p++;
                if (!is_digit(*p))
                        return -EINVAL;

                for (unsigned i = 0; is_digit(*p); p++, i++) {
                        if (i >= max)
                                return -EINVAL;

                        n = n * 10 + (uint64_t) (*p - '0');
                        of *= 10;
                }
        }

        *s = p;
        *ret = n;
        *ret_of = of;
        return 0;
}

int parse_u64(const char *s, uint64_t *ret) {
        bool overflow = false;
        uint64_t n;
        int r;

        r = take_number(&s, &n, &overflow);
        if (r < 0)
                return r;

        if (*s != '\0')
                return -EINVAL;
        if (overflow)
                return -ERANGE;

        *ret = n;
        return 0;
}

int parse_u32(const char *s, uint32_t *ret) {
        uint64_t n;
        int r;

        r = parse_u64(s, &n);
        if (r < 0)
                return r;

        if (n > UINT32_MAX)
                return -ERANGE;

        *ret = (uint32_t) n;
        return 0;
}

int parse_int(const char *s, int *ret) {
        bool negative = *s == '-';
        uint64_t n;
        int r;

        r = parse_u64(s + negative, &n);
        if (r < 0)
                return r;

        if (n > (uint64_t) INT_MAX + negative)
                return -ERANGE;

        *ret = (int) (negative ? -(int64_t) n : (int64_t) n);
        return 0;
}

int parse_hex_u64(const char *s, uint64_t *ret) {
        uint64_t n = 0;
        bool overflow = false;

        if (*s == '\0' || s[strspn(s, "0123456789abcdefABCDEF")] != '\0')
                return -EINVAL;

        for (; *s != '\0'; s++) {
                unsigned digit =
                        is_digit(*s) ? (unsigned) (*s - '0') : (unsigned) ((*s | 0x20) - 'a') + 10;

                overflow |= n >> 60 != 0;
                n = n << 4 | digit;
        }

        if (overflow)
                return -ERANGE;

        *ret = n;
        return 0;
}

int parse_bool(const char *s, bool *ret) {
        static const char *const yes[] = {"yes", "true", "on", "1", "y", "t"};
        static const char *const no[] = {"no", "false", "off", "0", "n", "f"};

        for (size_t i = 0; i < ELEMENTSOF(yes); i++) {
                if (strcasecmp(s, yes[i]) == 0) {
                        *ret = true;
                        return 0;
                }
                if (strcasecmp(s, no[i]) == 0) {
                        *ret = false;
                        return 0;
                }
        }

        return -EINVAL;
}

static const Unit *find_unit(const Unit *units, size_t n_units, const char *s, size_t len) {
        for (size_t i = 0; i < n_units; i++)
                if (strlen(units[i].name) == len && memcmp(units[i].name, s, len) == 0)
                        return &units[i];

        return NULL;
}

static const Unit *find_size_unit(const char *s, size_t len) {
        const Unit *unit = find_unit(size_units, ELEMENTSOF(size_units), s, len);

        if (unit)
                return unit;

        return find_unit(size_units_long, ELEMENTSOF(size_units_long), s, len);
}

/* A size in the first @len bytes of @s. */
static int parse_size_n(const char *s, size_t len, uint64_t *ret_bytes) {
        const char *end = s + len;
        uint64_t whole, fraction, of, bytes;
        bool overflow = false;
        const Unit *unit;
        int r;

        r = take_number(&s, &whole, &overflow);
        if (r < 0)
                return r;

        r = take_fraction(&s, SIZE_FRACTION_DIGITS_MAX, &fraction, &of);
        if (r < 0)
                return r;

        if (s == end && whole == 0 && !overflow && of == 1) {
                *ret_bytes = 0;
                return 0;
        }

        unit = find_size_unit(s, (size_t) (end - s));
        if (!unit)
                return -EINVAL;

        /* Half a byte is a mistake; part of a byte left over from "0.1K" is rounded down. */
        if (unit->factor == 1 && of != 1)
                return -EINVAL;

        overflow |= __builtin_mul_overflow(whole, unit->factor, &bytes) ||
                    __builtin_add_overflow(bytes, fraction * unit->factor / of, &bytes);
        if (overflow)
                return -ERANGE;

        *ret_bytes = bytes;
        return 0;
}

int parse_size(const char *s, uint64_t *ret_bytes) {
        return parse_size_n(s, strlen(s), ret_bytes);
}

int parse_rate(const char *s, uint64_t *ret_bytes_per_s) {
        size_t len = strlen(s);

        if (strcmp(s, "0") == 0) {
                *ret_bytes_per_s = 0;
                return 0;
        }

        if (len < 3 || strcmp(s + len - 2, "/s") != 0)
                return -EINVAL;

        return parse_size_n(s, len - 2, ret_bytes_per_s);
}

int parse_duration(const char *s, uint64_t *ret_us) {
        const Unit *last = NULL;
        bool overflow = false;
        uint64_t total = 0;

        if (strcmp(s, "0") == 0) {
                *ret_us = 0;
                return 0;
        }

        do {
                const Unit *unit;
                uint64_t n, us;
                size_t len;
                int r;

                r = take_number(&s, &n, &overflow);
                if (r < 0)
                        return r;

                len = strspn(s, "abcdefghijklmnopqrstuvwxyz");
                unit = find_unit(duration_units, ELEMENTSOF(duration_units), s, len);
                if (!unit || (last && unit <= last))
                        return -EINVAL; /* "30s 1min" and "5s 5s" are slips, not sums */

                overflow |= __builtin_mul_overflow(n, unit->factor, &us) ||
                            __builtin_add_overflow(total, us, &total);
                last = unit;
                s += len;
                if (s[0] == ' ' && s[1] != '\0')
                        s++;
        } while (*s != '\0');

        if (overflow)
                return -ERANGE;

        *ret_us = total;
        return 0;
}

int parse_ratio(const char *s, uint32_t *ret_bp) {
        uint64_t whole, fraction, of, scale;
        bool overflow = false;
        int r;

        if (strcmp(s, "0") == 0) {
                *ret_bp = 0;
                return 0;
        }

        r = take_number(&s, &whole, &overflow);
        if (r < 0)
                return r;

        r = take_fraction(&s, RATIO_FRACTION_DIGITS_MAX, &fraction, &of);
        if (r < 0)
                return r;

        if (strcmp(s, "%") == 0)
                scale = 100;
        else if (strcmp(s, "bp") == 0 && of == 1)
                scale = 1;
        else
                return -EINVAL;

        if (overflow || whole > RATIO_MAX_BP ||
            whole * scale + fraction * scale / of > RATIO_MAX_BP)
                return -ERANGE;

        *ret_bp = (uint32_t) (whole * scale + fraction * scale / of);
        return 0;
}

/* The next "N" or "N-M" of a list and what separates it from the one after. */
static int take_range(const char **s, uint64_t *ret_first, uint64_t *ret_last, bool *overflow) {
        int r;

        r = take_number(s, ret_first, overflow);
        if (r < 0)
                return r;

        *ret_last = *ret_first;
        if (**s == '-') {
                (*s)++;
                r = take_number(s, ret_last, overflow);
                if (r < 0)
                        return r;
        }

        if (*ret_last < *ret_first && !*overflow)
                return -EINVAL;

        if (**s == ',' && (*s)[1] != '\0')
                (*s)++;
        else if (**s != '\0')
                return -EINVAL;

        return 0;
}

int parse_nodeset(const char *s, NodeSet *ret) {
        NodeSet set = {};
        bool overflow = false;

        while (*s != '\0') {
                uint64_t first, last;
                int r;

                r = take_range(&s, &first, &last, &overflow);
                if (r < 0)
                        return r;

                overflow |= last >= NODES_MAX;
                for (uint64_t nid = first; nid <= last && nid < NODES_MAX; nid++)
                        nodeset_add(&set, (int) nid);
        }

        if (overflow)
                return -ERANGE;

        *ret = set;
        return 0;
}

int parse_list_count(const char *s, uint32_t *ret) {
        bool overflow = false;
        uint64_t n = 0;

        while (*s != '\0') {
                uint64_t first, last;
                int r;

                r = take_range(&s, &first, &last, &overflow);
                if (r < 0)
                        return r;

                overflow = overflow || last - first >= UINT32_MAX;
                n += overflow ? 0 : last - first + 1;
                overflow = overflow || n > UINT32_MAX;
        }

        if (overflow)
                return -ERANGE;

        *ret = (uint32_t) n;
        return 0;
}

static char *format_size_suffix(uint64_t bytes, const char *suffix) {
        const Unit *unit = size_units;
        char *text;

        if (bytes == 0)
                return asprintf(&text, "0%s", suffix) < 0 ? NULL : text;

        while (bytes % unit->factor != 0)
                unit++; /* ends at "B" */

        if (asprintf(&text, "%ju%s%s", (uintmax_t) (bytes / unit->factor), unit->name, suffix) < 0)
                return NULL;

        return text;
}

char *format_size(uint64_t bytes) {
        return format_size_suffix(bytes, "");
}

char *format_rate(uint64_t bytes_per_s) {
        return format_size_suffix(bytes_per_s, "/s");
}

char *format_duration(uint64_t us) {
        char *text = NULL;
        size_t size = 0;
        const char *separator = "";
        FILE *f;

        if (us == 0)
                return strdup("0");

        f = open_memstream(&text, &size);
        if (!f)
                return NULL;

        for (size_t i = 0; i < ELEMENTSOF(duration_units); i++) {
                uint64_t n = us / duration_units[i].factor;

                if (n == 0)
                        continue;

                fprintf(f, "%s%ju%s", separator, (uintmax_t) n, duration_units[i].name);
                separator = " ";
                us %= duration_units[i].factor;
        }

        if (fclose(f) != 0) {
                free(text);
                return NULL;
        }

        return text;
}

char *format_ratio(uint32_t bp) {
        char *text;
        int n;

        if (bp == 0)
                return strdup("0");

        if (bp % 100 == 0)
                n = asprintf(&text, "%u%%", bp / 100);
        else if (bp % 10 == 0)
                n = asprintf(&text, "%u.%u%%", bp / 100, bp % 100 / 10);
        else
                n = asprintf(&text, "%u.%02u%%", bp / 100, bp % 100);

        return n < 0 ? NULL : text;
}

char *format_size_human(uint64_t bytes) {
        static const Unit units[] = {
                {"EiB", EIB}, {"PiB", PIB}, {"TiB", TIB}, {"GiB", GIB},
                {"MiB", MIB}, {"KiB", KIB}, {"B", 1},
        };
        size_t i = 0;
        uint64_t whole, rest, tenths;
        char *text;
        int n;

        while (bytes < units[i].factor && units[i].factor > 1)
                i++;

        /* rest * 10 fits: it is below 10 * 2^60. */
        rest = bytes % units[i].factor;
        whole = bytes / units[i].factor;
        tenths = (rest * 10 + units[i].factor / 2) / units[i].factor;
        if (units[i].factor == 1)
                tenths = 0;

        /* From three digits on, tenths say nothing to a reader. */
        if (whole >= 100) {
                whole += tenths >= 5;
                tenths = 0;
        }
        if (tenths == 10) {
                whole++;
                tenths = 0;
        }
        if (whole == 1024 && i > 0) { /* 1023.99 KiB is 1 MiB */
                whole = 1;
                i--;
        }

        if (tenths > 0)
                n = asprintf(&text, "%ju.%ju %s", (uintmax_t) whole, (uintmax_t) tenths,
                             units[i].name);
        else
                n = asprintf(&text, "%ju %s", (uintmax_t) whole, units[i].name);

        return n < 0 ? NULL : text;
}
