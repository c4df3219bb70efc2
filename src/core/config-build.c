/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Assignments -> what the operator asked for, or everything that is wrong with it. Keys are taken
 * one by one through the key table; core/config-check looks at them together. Where the assignments
 * come from is io/conffile's business; this room opens nothing and logs nothing. */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/suggest.h"
#include "core/config-build.h"
#include "core/config-check.h"
#include "core/config-types.h"

/* A machine has two or three tiers; each node could be one of its own. */
#define TIERS_MAX 64U

#define TIER_NAME_MAX 32U

int config_complain(ConfigBuilder *b, bool is_error, const ConfigAssignment *a, const char *fmt,
                    ...) {
        _cleanup_(freep) char *key = NULL;
        va_list ap;
        int r;

        if (asprintf(&key, "%s.%s", a->section, a->key) < 0) {
                key = NULL;
                return -ENOMEM;
        }

        va_start(ap, fmt);
        r = config_problems_addv(b->problems, is_error, a->path, a->line, key, fmt, ap);
        va_end(ap);
        return r;
}

ConfigTarget config_find_target(const ConfigAssignment *a) {
        const ConfigSectionInfo *sections;
        size_t n_sections;
        ConfigTarget target = {};

        sections = config_sections(&n_sections);
        for (size_t i = 0; i < n_sections; i++) {
                size_t len = strlen(sections[i].section);

                if (strncmp(a->section, sections[i].section, len) != 0)
                        continue;

                if (strcmp(sections[i].section, "Tier") == 0) {
                        if (a->section[len] != '\0' && a->section[len] != ' ')
                                continue;
                        target.tier_name = a->section + len + strspn(a->section + len, " ");
                } else if (a->section[len] != '\0')
                        continue;

                target.section = &sections[i];
                target.key = config_key_find(sections[i].section, a->key);
                return target;
        }

        return target;
}

const ConfigOrigin *config_find_origin(const ConfigBuilder *b, const ConfigKeyInfo *key) {
        const ConfigKeyInfo *keys;
        size_t n_keys;

        keys = config_keys(&n_keys);
        return &b->origins[key - keys];
}

static bool tier_name_is_valid(const char *name) {
        size_t len = strlen(name);

        if (len == 0 || len > TIER_NAME_MAX)
                return false;

        return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
               len;
}

/* One complaint for all keys that stand together in a bad section. */
static bool has_complained(ConfigBuilder *b, const ConfigAssignment *a) {
        bool same = b->complained && strcmp(b->complained->section, a->section) == 0 &&
                    strcmp(b->complained->path, a->path) == 0;

        b->complained = a;
        return same;
}

static int complain_section(ConfigBuilder *b, const ConfigAssignment *a) {
        const ConfigSectionInfo *sections;
        Suggest suggest = {.word = a->section};
        size_t n_sections;

        if (has_complained(b, a))
                return 0;

        sections = config_sections(&n_sections);
        for (size_t i = 0; i < n_sections; i++)
                suggest_offer(&suggest, sections[i].section);

        if (suggest.nearest)
                return config_problems_add(b->problems, /* is_error= */ false, a->path, a->line,
                                           NULL, "[%s]: unknown section, did you mean [%s]?",
                                           a->section, suggest.nearest);

        return config_problems_add(b->problems, /* is_error= */ false, a->path, a->line, NULL,
                                   "[%s]: unknown section, ignoring its keys", a->section);
}

static int complain_tier_name(ConfigBuilder *b, const ConfigAssignment *a, const char *name) {
        if (has_complained(b, a))
                return 0;

        if (*name == '\0')
                return config_problems_add(
                        b->problems, /* is_error= */ true, a->path, a->line, NULL,
                        "[%s]: a tier needs a name; expected e.g. [Tier fast]", a->section);

        return config_problems_add(b->problems, /* is_error= */ true, a->path, a->line, NULL,
                                   "[%s]: '%s' is not a tier name; expected at most %u letters, "
                                   "digits, '-' and '_'",
                                   a->section, name, TIER_NAME_MAX);
}

static int complain_key(ConfigBuilder *b, const ConfigAssignment *a, const ConfigTarget *target) {
        const ConfigKeyInfo *keys;
        Suggest suggest = {.word = a->key};
        size_t n_keys;

        keys = config_keys(&n_keys);
        for (size_t i = 0; i < n_keys; i++) {
                if (strcmp(keys[i].key, a->key) == 0)
                        return config_complain(
                                b, /* is_error= */ false, a,
                                "this key belongs into [%s], not into [%s], ignoring",
                                strcmp(keys[i].section, "Tier") == 0 ? "Tier NAME"
                                                                     : keys[i].section,
                                a->section);

                if (config_key_find(target->section->section, keys[i].key))
                        suggest_offer(&suggest, keys[i].key);
        }

        if (suggest.nearest)
                return config_complain(b, /* is_error= */ false, a,
                                       "unknown key, did you mean '%s'?", suggest.nearest);

        return config_complain(b, /* is_error= */ false, a, "unknown key, ignoring");
}

/* The tier's index in *ret; made on first sight. 0, -E2BIG when there are too many, -ENOMEM. */
static int find_or_add_tier(ConfigBuilder *b, const ConfigAssignment *a, const char *name,
                            size_t *ret) {
        Config *config = b->config;
        _cleanup_(freep) char *copy = NULL;
        int r;

        for (size_t i = 0; i < config->n_tiers; i++)
                if (strcmp(config->tiers[i].name, name) == 0) {
                        *ret = i;
                        return 0;
                }

        if (config->n_tiers >= TIERS_MAX)
                return -E2BIG;

        r = ARRAY_GROW(config->tiers, b->n_tiers_alloc, config->n_tiers + 1);
        if (r < 0)
                return r;

        r = ARRAY_GROW(b->tier_origins, b->n_tier_origins_alloc, config->n_tiers + 1);
        if (r < 0)
                return r;

        copy = strdup(name);
        if (!copy)
                return -ENOMEM;

        *ret = config->n_tiers++;
        config->tiers[*ret] = (TierConfig){.name = TAKE_PTR(copy)};
        b->tier_origins[*ret] = (ConfigTierOrigin){.first = a};
        return 0;
}

static int parse_value(ConfigBuilder *b, const ConfigAssignment *a, const ConfigKeyInfo *key,
                       void *base, ConfigOrigin *origin) {
        _cleanup_(freep) char *range = NULL;
        int r;

        r = config_key_parse(key, *a->value == '\0' ? key->default_text : a->value, base);
        if (origin)
                *origin = (ConfigOrigin){.last = a, .bad = r < 0};
        if (r != -EINVAL && r != -ERANGE)
                return r;

        if (r == -EINVAL)
                return config_complain(b, /* is_error= */ true, a, "'%s' is not %s; expected %s",
                                       a->value, config_key_noun(key), config_key_hint(key));

        range = config_key_range(key);
        if (!range)
                return -ENOMEM;

        return config_complain(b, /* is_error= */ true, a, "'%s' is out of range; expected %s",
                               a->value, range);
}

static int take_tier_assignment(ConfigBuilder *b, const ConfigAssignment *a,
                                const ConfigTarget *target) {
        ConfigOrigin *origin = NULL;
        TierConfig *tier;
        void *base;
        size_t i;
        int r;

        if (!tier_name_is_valid(target->tier_name))
                return complain_tier_name(b, a, target->tier_name);

        r = find_or_add_tier(b, a, target->tier_name, &i);
        if (r == -E2BIG) {
                if (b->too_many_tiers)
                        return 0;

                b->too_many_tiers = true;
                return config_problems_add(b->problems, /* is_error= */ true, a->path, a->line,
                                           NULL, "[%s]: there are more than %u tiers", a->section,
                                           TIERS_MAX);
        }
        if (r < 0)
                return r;

        if (!target->key)
                return complain_key(b, a, target);

        tier = &b->config->tiers[i];
        base = &tier->policy; /* only tried here: apply_overrides() does it after [Policy] is known
                               */
        if (strcmp(target->key->section, "Tier") == 0) {
                base = tier;
                origin = &b->tier_origins[i].nodes;
        }

        return parse_value(b, a, target->key, base, origin);
}

static int take_assignment(ConfigBuilder *b, const ConfigAssignment *a) {
        ConfigTarget target = config_find_target(a);
        const ConfigKeyInfo *keys;
        size_t n_keys;

        if (!target.section)
                return complain_section(b, a);

        if (target.tier_name)
                return take_tier_assignment(b, a, &target);

        if (!target.key)
                return complain_key(b, a, &target);

        keys = config_keys(&n_keys);
        return parse_value(b, a, target.key, config_section_base(b->config, target.key),
                           &b->origins[target.key - keys]);
}

static int copy_value(const ConfigKeyInfo *key, const Policy *from, Policy *to) {
        _cleanup_(freep) char *text = NULL;

        text = config_key_format(key, from);
        if (!text)
                return -ENOMEM;

        return config_key_parse(key, text, to);
}

/* Each tier's policy: [Policy] as it stands after all files, then the tier's own keys in order; an
 * empty one falls back to [Policy]. Values were checked before. */
static int apply_overrides(ConfigBuilder *b, const ConfigAssignment *assignments,
                           size_t n_assignments) {
        Config *config = b->config;
        int r;

        for (size_t i = 0; i < config->n_tiers; i++)
                config->tiers[i].policy = config->policy;

        for (size_t i = 0; i < n_assignments; i++) {
                const ConfigAssignment *a = &assignments[i];
                ConfigTarget target = config_find_target(a);

                if (!target.tier_name || !target.key || strcmp(target.key->section, "Policy") != 0)
                        continue;

                for (size_t j = 0; j < config->n_tiers; j++) {
                        if (strcmp(config->tiers[j].name, target.tier_name) != 0)
                                continue;

                        if (*a->value == '\0')
                                r = copy_value(target.key, &config->policy,
                                               &config->tiers[j].policy);
                        else
                                r = config_key_parse(target.key, a->value,
                                                     &config->tiers[j].policy);
                        if (r == -ENOMEM)
                                return r;
                }
        }

        return 0;
}

static int build(ConfigBuilder *b, const ConfigAssignment *assignments, size_t n_assignments) {
        int r;

        for (size_t i = 0; i < n_assignments; i++) {
                r = take_assignment(b, &assignments[i]);
                if (r < 0)
                        return r;
        }

        r = apply_overrides(b, assignments, n_assignments);
        if (r < 0)
                return r;

        return config_check(b, assignments, n_assignments);
}

int config_build(const ConfigAssignment *assignments, size_t n_assignments,
                 ConfigProblems *problems, Config **ret) {
        _cleanup_(config_freep) Config *config = NULL;
        _cleanup_(freep) ConfigOrigin *origins = NULL;
        size_t n_errors = problems->n_errors, n_keys;
        ConfigBuilder b = {.problems = problems};
        int r;

        r = config_new(&config);
        if (r < 0)
                return r;

        (void) config_keys(&n_keys);
        origins = calloc(n_keys, sizeof(*origins));
        if (!origins)
                return -ENOMEM;

        b.config = config;
        b.origins = origins;
        r = build(&b, assignments, n_assignments);
        free(b.tier_origins);
        if (r < 0)
                return r;

        if (problems->n_errors > n_errors)
                return -EINVAL;

        *ret = TAKE_PTR(config);
        return 0;
}
