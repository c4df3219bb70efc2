/* SPDX-License-Identifier: GPL-2.0-or-later */

/* A configuration and a list of problems as values: made, copied into, freed. How assignments
 * become a configuration is core/config-build's business. */

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "core/config-keys.h"
#include "core/config-types.h"

void config_problems_done(ConfigProblems *problems) {
        for (size_t i = 0; i < problems->n_items; i++) {
                free(problems->items[i].path);
                free(problems->items[i].key);
                free(problems->items[i].text);
        }

        free(problems->items);
        *problems = (ConfigProblems){};
}

/* "path:line: Section.Key=: sentence", the parts that are absent left out. */
static char *problem_text(const char *path, unsigned line, const char *key, const char *sentence) {
        char *text = NULL;
        size_t size = 0;
        FILE *f;

        f = open_memstream(&text, &size);
        if (!f)
                return NULL;

        if (path)
                fputs(path, f);
        if (path && line > 0)
                fprintf(f, ":%u", line);
        if (path)
                fputs(": ", f);
        if (key)
                fprintf(f, "%s=: ", key);
        fputs(sentence, f);

        if (fclose(f) != 0) {
                free(text);
                return NULL;
        }

        return text;
}

int config_problems_add(ConfigProblems *problems, bool is_error, const char *path, unsigned line,
                        const char *key, const char *fmt, ...) {
        va_list ap;
        int r;

        va_start(ap, fmt);
        r = config_problems_addv(problems, is_error, path, line, key, fmt, ap);
        va_end(ap);
        return r;
}

int config_problems_addv(ConfigProblems *problems, bool is_error, const char *path, unsigned line,
                         const char *key, const char *fmt, va_list ap) {
        _cleanup_(freep) char *path_copy = NULL, *key_copy = NULL, *sentence = NULL, *text = NULL;
        int r;

        if (vasprintf(&sentence, fmt, ap) < 0) {
                sentence = NULL;
                return -ENOMEM;
        }

        path_copy = path ? strdup(path) : NULL;
        key_copy = key ? strdup(key) : NULL;
        text = problem_text(path, line, key, sentence);
        if (!text || (path && !path_copy) || (key && !key_copy))
                return -ENOMEM;

        r = ARRAY_GROW(problems->items, problems->n_alloc, problems->n_items + 1);
        if (r < 0)
                return r;

        problems->items[problems->n_items++] = (ConfigProblem){
                .is_error = is_error,
                .path = TAKE_PTR(path_copy),
                .line = line,
                .key = TAKE_PTR(key_copy),
                .text = TAKE_PTR(text),
        };
        problems->n_errors += is_error;
        return 0;
}

Config *config_free(Config *config) {
        if (!config)
                return NULL;

        for (size_t i = 0; i < config->n_tiers; i++)
                free(config->tiers[i].name);

        free(config->tiers);
        free(config);
        return NULL;
}

int config_new(Config **ret) {
        _cleanup_(config_freep) Config *config = NULL;
        const ConfigKeyInfo *keys;
        size_t n_keys;
        int r;

        config = calloc(1, sizeof(*config));
        if (!config)
                return -ENOMEM;

        keys = config_keys(&n_keys);
        for (size_t i = 0; i < n_keys; i++) {
                void *base = config_section_base(config, &keys[i]);

                if (!base)
                        continue;

                r = config_key_parse(&keys[i], keys[i].default_text, base);
                assert(r == 0);
                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(config);
        return 0;
}

const Policy *config_tier_policy(const Config *config, const char *name) {
        for (size_t i = 0; i < config->n_tiers; i++)
                if (strcmp(config->tiers[i].name, name) == 0)
                        return &config->tiers[i].policy;

        return &config->policy;
}
