/* SPDX-License-Identifier: GPL-2.0-or-later */

/* How the value of a configuration key is read, written and called, by type. What keys there are
 * is core/config-keys' business, and what a key means is core/plan's. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "core/config-types.h"

/* More than any node has; keeps sums of sizes far away from 64 bits. */
#define HEADROOM_MAX_BYTES (UINT64_C(1) << 50)

typedef struct TypeInfo {
        const char *noun;
        const char *hint;
        int (*parse)(const ConfigKeyInfo *key, const char *value, void *base);
        char *(*format)(const ConfigKeyInfo *key, const void *base);
} TypeInfo;

static void *field(void *base, size_t offset) {
        return (char *) base + offset;
}

static const void *const_field(const void *base, size_t offset) {
        return (const char *) base + offset;
}

static int parse_bool_key(const ConfigKeyInfo *key, const char *value, void *base) {
        return parse_bool(value, field(base, key->offset));
}

static char *format_bool_key(const ConfigKeyInfo *key, const void *base) {
        const bool *b = const_field(base, key->offset);

        return strdup(*b ? "yes" : "no");
}

static int store_u32(const ConfigKeyInfo *key, uint32_t n, void *base) {
        uint32_t *p = field(base, key->offset);

        if (n < key->min || n > key->max)
                return -ERANGE;

        *p = n;
        return 0;
}

static int store_u64(const ConfigKeyInfo *key, uint64_t n, void *base) {
        uint64_t *p = field(base, key->offset);

        if (n < key->min || n > key->max)
                return -ERANGE;

        *p = n;
        return 0;
}

static int parse_count_key(const ConfigKeyInfo *key, const char *value, void *base) {
        uint32_t n;
        int r;

        r = parse_u32(value, &n);
        if (r < 0)
                return r;

        return store_u32(key, n, base);
}

static char *format_count_key(const ConfigKeyInfo *key, const void *base) {
        const uint32_t *n = const_field(base, key->offset);
        char *text;

        return asprintf(&text, "%u", *n) < 0 ? NULL : text;
}

static int parse_auto_count_key(const ConfigKeyInfo *key, const char *value, void *base) {
        if (strcmp(value, "auto") == 0) {
                *(uint32_t *) field(base, key->offset) = 0;
                return 0;
        }

        return parse_count_key(key, value, base);
}

static char *format_auto_count_key(const ConfigKeyInfo *key, const void *base) {
        const uint32_t *n = const_field(base, key->offset);

        return *n == 0 ? strdup("auto") : format_count_key(key, base);
}

static int parse_ratio_key(const ConfigKeyInfo *key, const char *value, void *base) {
        uint32_t bp;
        int r;

        r = parse_ratio(value, &bp);
        if (r < 0)
                return r;

        return store_u32(key, bp, base);
}

static char *format_ratio_key(const ConfigKeyInfo *key, const void *base) {
        const uint32_t *bp = const_field(base, key->offset);

        return format_ratio(*bp);
}

static int parse_rate_key(const ConfigKeyInfo *key, const char *value, void *base) {
        uint64_t n;
        int r;

        r = parse_rate(value, &n);
        if (r < 0)
                return r;

        return store_u64(key, n, base);
}

static char *format_rate_key(const ConfigKeyInfo *key, const void *base) {
        const uint64_t *n = const_field(base, key->offset);

        return format_rate(*n);
}

static int parse_duration_key(const ConfigKeyInfo *key, const char *value, void *base) {
        uint64_t us;
        int r;

        r = parse_duration(value, &us);
        if (r < 0)
                return r;

        return store_u64(key, us, base);
}

static char *format_duration_key(const ConfigKeyInfo *key, const void *base) {
        const uint64_t *us = const_field(base, key->offset);

        return format_duration(*us);
}

/* Exactly one of the three fields counts; the others are zero, so that equal headrooms are equal
 * in all fields. */
static int parse_headroom_key(const ConfigKeyInfo *key, const char *value, void *base) {
        Policy *policy = base;
        uint64_t bytes;
        uint32_t bp;
        int r;

        if (strcmp(value, "auto") == 0) {
                policy->headroom_mode = HEADROOM_AUTO;
                policy->headroom_bytes = 0;
                policy->headroom_bp = 0;
                return 0;
        }

        r = parse_size(value, &bytes);
        if (r == 0 && bytes > HEADROOM_MAX_BYTES)
                return -ERANGE;
        if (r == 0) {
                policy->headroom_mode = HEADROOM_BYTES;
                policy->headroom_bytes = bytes;
                policy->headroom_bp = 0;
                return 0;
        }
        if (r != -EINVAL)
                return r;

        r = parse_ratio(value, &bp);
        if (r < 0)
                return r;
        if (bp < key->min || bp > key->max)
                return -ERANGE;

        policy->headroom_mode = HEADROOM_RATIO;
        policy->headroom_bytes = 0;
        policy->headroom_bp = bp;
        return 0;
}

static char *format_headroom_key(const ConfigKeyInfo *key _unused_, const void *base) {
        const Policy *policy = base;
        char *text;

        switch (policy->headroom_mode) {
        case HEADROOM_AUTO:
                return strdup("auto");
        case HEADROOM_BYTES:
                return format_size(policy->headroom_bytes);
        case HEADROOM_RATIO:
                if (policy->headroom_bp > 0)
                        return format_ratio(policy->headroom_bp);

                /* A plain "0" would read back as a size. */
                return asprintf(&text, "0%%") < 0 ? NULL : text;
        }

        return NULL;
}

static int parse_destination_key(const ConfigKeyInfo *key, const char *value, void *base) {
        DestinationMode mode = DESTINATION_NODES;
        NodeSet nodes = {};
        int r;

        if (strcmp(value, "auto") == 0)
                mode = DESTINATION_AUTO;
        else if (strcmp(value, "none") == 0)
                mode = DESTINATION_NONE;
        else {
                r = parse_nodeset(value, &nodes);
                if (r < 0)
                        return r;
        }

        *(DestinationMode *) field(base, key->offset) = mode;
        *(NodeSet *) field(base, key->set_offset) = nodes;
        return 0;
}

static char *format_destination_key(const ConfigKeyInfo *key, const void *base) {
        const DestinationMode *mode = const_field(base, key->offset);

        switch (*mode) {
        case DESTINATION_AUTO:
                return strdup("auto");
        case DESTINATION_NONE:
                return strdup("none");
        case DESTINATION_NODES:
                return nodeset_to_string(const_field(base, key->set_offset));
        }

        return NULL;
}

static int parse_nodes_key(const ConfigKeyInfo *key, const char *value, void *base) {
        return parse_nodeset(value, field(base, key->offset));
}

static char *format_nodes_key(const ConfigKeyInfo *key, const void *base) {
        return nodeset_to_string(const_field(base, key->offset));
}

static int parse_budget_key(const ConfigKeyInfo *key, const char *value, void *base) {
        uint64_t n;
        int r;

        if (strcmp(value, "none") == 0) {
                *(uint64_t *) field(base, key->offset) = 0;
                return 0;
        }

        r = parse_size(value, &n);
        if (r < 0)
                return r;

        return store_u64(key, n, base);
}

static char *format_budget_key(const ConfigKeyInfo *key, const void *base) {
        const uint64_t *n = const_field(base, key->offset);

        return *n == 0 ? strdup("none") : format_size(*n);
}

/* Relative and without detours, so that nothing outside the cgroup tree can be named. */
static bool is_cgroup(const char *value) {
        if (*value == '/')
                return false;

        for (const char *p = value; *p != '\0'; p += strcspn(p, "/"), p += *p == '/') {
                size_t n = strcspn(p, "/");

                if (n == 0 || (n == 1 && *p == '.') || (n == 2 && strncmp(p, "..", 2) == 0))
                        return false;
        }

        return true;
}

static int parse_cgroup_key(const ConfigKeyInfo *key, const char *value, void *base) {
        if (!is_cgroup(value))
                return -EINVAL;
        if (strlen(value) >= CGROUP_MAX)
                return -ERANGE;

        memcpy(field(base, key->offset), value, strlen(value) + 1);
        return 0;
}

static char *format_cgroup_key(const ConfigKeyInfo *key, const void *base) {
        return strdup(const_field(base, key->offset));
}

/* Words of the enums, by value. */
static const char *const at_exit_words[] = {
        [AT_EXIT_RESTORE] = "restore",
        [AT_EXIT_KEEP] = "keep",
};

static const char *const foreign_kdamonds_words[] = {
        [FOREIGN_KDAMONDS_REFUSE] = "refuse",
        [FOREIGN_KDAMONDS_WAIT] = "wait",
};

static const char *const damon_stat_words[] = {
        [DAMON_STAT_SUSPEND] = "suspend",
        [DAMON_STAT_REFUSE] = "refuse",
};

static const char *const reclaim_demotion_words[] = {
        [RECLAIM_DEMOTION_ENABLE] = "enable",
        [RECLAIM_DEMOTION_LEAVE] = "leave",
};

static int find_word(const char *const *words, size_t n_words, const char *value, size_t *ret) {
        for (size_t i = 0; i < n_words; i++)
                if (strcmp(words[i], value) == 0) {
                        *ret = i;
                        return 0;
                }

        return -EINVAL;
}

#define DEFINE_ENUM_KEY(name, type, words)                                                       \
        static int parse_##name##_key(const ConfigKeyInfo *key, const char *value, void *base) { \
                size_t i;                                                                        \
                int r;                                                                           \
                                                                                                 \
                r = find_word(words, ELEMENTSOF(words), value, &i);                              \
                if (r < 0)                                                                       \
                        return r;                                                                \
                                                                                                 \
                *(type *) field(base, key->offset) = (type) i;                                   \
                return 0;                                                                        \
        }                                                                                        \
                                                                                                 \
        static char *format_##name##_key(const ConfigKeyInfo *key, const void *base) {           \
                return strdup(words[*(const type *) const_field(base, key->offset)]);            \
        }

DEFINE_ENUM_KEY(at_exit, AtExit, at_exit_words)
DEFINE_ENUM_KEY(foreign_kdamonds, ForeignKdamonds, foreign_kdamonds_words)
DEFINE_ENUM_KEY(damon_stat, DamonStat, damon_stat_words)
DEFINE_ENUM_KEY(reclaim_demotion, ReclaimDemotion, reclaim_demotion_words)

#define TYPE(upper, lower)                      \
        [CONFIG_TYPE_##upper] = {               \
                .noun = NOUN_##upper,           \
                .hint = HINT_##upper,           \
                .parse = parse_##lower##_key,   \
                .format = format_##lower##_key, \
        }

static const TypeInfo types[_CONFIG_TYPE_MAX] = {
        TYPE(BOOL, bool),
        TYPE(COUNT, count),
        TYPE(AUTO_COUNT, auto_count),
        TYPE(RATIO, ratio),
        TYPE(RATE, rate),
        TYPE(DURATION, duration),
        TYPE(HEADROOM, headroom),
        TYPE(DESTINATION, destination),
        TYPE(NODES, nodes),
        TYPE(BUDGET, budget),
        TYPE(CGROUP, cgroup),
        TYPE(AT_EXIT, at_exit),
        TYPE(FOREIGN_KDAMONDS, foreign_kdamonds),
        TYPE(DAMON_STAT, damon_stat),
        TYPE(RECLAIM_DEMOTION, reclaim_demotion),
};

int config_key_parse(const ConfigKeyInfo *key, const char *value, void *base) {
        return types[key->type].parse(key, value, base);
}

char *config_key_format(const ConfigKeyInfo *key, const void *base) {
        return types[key->type].format(key, base);
}

const char *config_key_noun(const ConfigKeyInfo *key) {
        return types[key->type].noun;
}

const char *config_key_hint(const ConfigKeyInfo *key) {
        return types[key->type].hint;
}

/* A bound of the range, in the words of the type. */
static char *format_bound(const ConfigKeyInfo *key, uint64_t bound) {
        uint64_t u64 = bound;
        uint32_t u32 = (uint32_t) bound;
        ConfigKeyInfo alone = {.type = key->type}; /* offset 0 */

        if (key->type == CONFIG_TYPE_HEADROOM)
                return format_ratio(u32);
        if (key->type == CONFIG_TYPE_RATE || key->type == CONFIG_TYPE_DURATION ||
            key->type == CONFIG_TYPE_BUDGET)
                return config_key_format(&alone, &u64);

        return config_key_format(&alone, &u32);
}

char *config_key_range(const ConfigKeyInfo *key) {
        _cleanup_(freep) char *min = NULL, *max = NULL, *size = NULL;
        char *text;
        int n;

        if (key->type == CONFIG_TYPE_NODES || key->type == CONFIG_TYPE_DESTINATION)
                return asprintf(&text, "nodes 0 to %d", NODES_MAX - 1) < 0 ? NULL : text;

        if (key->max == 0)
                return strdup("");

        min = format_bound(key, key->min);
        max = format_bound(key, key->max);
        size = format_size(HEADROOM_MAX_BYTES);
        if (!min || !max || !size)
                return NULL;

        if (key->type == CONFIG_TYPE_HEADROOM)
                n = asprintf(&text, "%s to %s, or a size up to %s", min, max, size);
        else
                n = asprintf(&text, "%s to %s", min, max);

        return n < 0 ? NULL : text;
}
