/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/config-keys.h"

/* What config_build() works on, shared with the checks across keys. */

/* The last assignment of a key. */
typedef struct ConfigOrigin {
        const ConfigAssignment *last; /* NULL when the default holds */
        bool bad;                     /* checks across keys make no sense */
} ConfigOrigin;

typedef struct ConfigTierOrigin {
        const ConfigAssignment *first; /* of any key */
        ConfigOrigin nodes;
} ConfigTierOrigin;

typedef struct ConfigBuilder {
        Config *config;
        ConfigProblems *problems;
        ConfigOrigin *origins; /* by index in the key table; [Tier] has its own */
        ConfigTierOrigin *tier_origins;
        size_t n_tier_origins_alloc;
        size_t n_tiers_alloc;
        const ConfigAssignment *complained; /* its section is unknown or misnamed, and said so */
        bool too_many_tiers;
} ConfigBuilder;

/* What an assignment speaks of. */
typedef struct ConfigTarget {
        const ConfigSectionInfo *section; /* NULL: unknown */
        const char *tier_name;            /* "" or invalid as it may be; NULL outside [Tier] */
        const ConfigKeyInfo *key;         /* NULL: not in this section */
} ConfigTarget;

/* A problem of @a's key. 0 or -ENOMEM. */
int config_complain(ConfigBuilder *b, bool is_error, const ConfigAssignment *a, const char *fmt,
                    ...) _printf_(4, 5);

ConfigTarget config_find_target(const ConfigAssignment *a);

/* The last assignment of a key outside [Tier]. */
const ConfigOrigin *config_find_origin(const ConfigBuilder *b, const ConfigKeyInfo *key);
