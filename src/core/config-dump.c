/* SPDX-License-Identifier: GPL-2.0-or-later */

/* A configuration as text: the effective one, and the sample with all that could be said. What is
 * written here reads back to the same configuration. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/config-keys.h"
#include "core/config-types.h"

#define SAMPLE_WIDTH 78U

/* The keys of one section, each with its value. */
static int dump_keys(FILE *f, const char *section, const void *base) {
        const ConfigKeyInfo *keys;
        size_t n_keys;

        keys = config_keys(&n_keys);
        for (size_t i = 0; i < n_keys; i++) {
                _cleanup_(freep) char *text = NULL;

                if (strcmp(keys[i].section, section) != 0)
                        continue;

                text = config_key_format(&keys[i], base);
                if (!text)
                        return -ENOMEM;

                fprintf(f, "%s=%s\n", keys[i].key, text);
        }

        return 0;
}

/* Only what differs from [Policy]: that is what the operator wrote, or might as well not have. */
static int dump_overrides(FILE *f, const Policy *common, const Policy *policy) {
        const ConfigKeyInfo *keys;
        size_t n_keys;

        keys = config_keys(&n_keys);
        for (size_t i = 0; i < n_keys; i++) {
                _cleanup_(freep) char *common_text = NULL, *text = NULL;

                if (strcmp(keys[i].section, "Policy") != 0)
                        continue;

                common_text = config_key_format(&keys[i], common);
                text = config_key_format(&keys[i], policy);
                if (!common_text || !text)
                        return -ENOMEM;

                if (strcmp(common_text, text) != 0)
                        fprintf(f, "%s=%s\n", keys[i].key, text);
        }

        return 0;
}

static int dump_tiers(FILE *f, const Config *config) {
        int r;

        for (size_t i = 0; i < config->n_tiers; i++) {
                fprintf(f, "\n[Tier %s]\n", config->tiers[i].name);

                r = dump_keys(f, "Tier", &config->tiers[i]);
                if (r < 0)
                        return r;

                r = dump_overrides(f, &config->policy, &config->tiers[i].policy);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int dump(FILE *f, const Config *config) {
        int r;

        fputs("[Policy]\n", f);
        r = dump_keys(f, "Policy", &config->policy);
        if (r < 0)
                return r;

        r = dump_tiers(f, config);
        if (r < 0)
                return r;

        fputs("\n[Monitoring]\n", f);
        r = dump_keys(f, "Monitoring", &config->monitoring);
        if (r < 0)
                return r;

        fputs("\n[Guard]\n", f);
        r = dump_keys(f, "Guard", &config->guard);
        if (r < 0)
                return r;

        fputs("\n[Manager]\n", f);
        return dump_keys(f, "Manager", &config->manager);
}

char *config_dump(const Config *config) {
        _cleanup_(freep) char *text = NULL;
        size_t size = 0;
        FILE *f;
        int r;

        f = open_memstream(&text, &size);
        if (!f)
                return NULL;

        r = dump(f, config);
        if (fclose(f) != 0 || r < 0)
                return NULL;

        return TAKE_PTR(text);
}

/* @text as comment lines of at most SAMPLE_WIDTH, broken between words. */
static void write_comment(FILE *f, const char *text) {
        size_t column = 0;

        while (*text != '\0') {
                size_t len = strcspn(text, " ");

                if (column > 0 && column + 1 + len > SAMPLE_WIDTH) {
                        fputc('\n', f);
                        column = 0;
                }

                if (column == 0) {
                        fputc('#', f);
                        column = 1;
                }

                fprintf(f, " %.*s", (int) len, text);
                column += 1 + len;
                text += len + strspn(text + len, " ");
        }

        fputc('\n', f);
}

static void sample_keys(FILE *f, const char *section) {
        const ConfigKeyInfo *keys;
        size_t n_keys;

        keys = config_keys(&n_keys);
        for (size_t i = 0; i < n_keys; i++) {
                if (strcmp(keys[i].section, section) != 0)
                        continue;

                fputc('\n', f);
                write_comment(f, keys[i].help);
                fprintf(f, "#%s=%s\n", keys[i].key, keys[i].default_text);
        }
}

/* [Tier] has no default: an example stands in its place. */
static void sample_tiers(FILE *f, const ConfigSectionInfo *section) {
        const ConfigKeyInfo *nodes = config_key_find("Tier", "Nodes");

        fputc('\n', f);
        write_comment(f, section->help);
        write_comment(f, nodes->help);
        fputs("#[Tier fast]\n"
              "#Nodes=0\n"
              "#[Tier slow]\n"
              "#Nodes=1\n",
              f);
}

char *config_sample(void) {
        const ConfigSectionInfo *sections;
        char *text = NULL;
        size_t size = 0, n_sections;
        FILE *f;

        f = open_memstream(&text, &size);
        if (!f)
                return NULL;

        fputs("# SPDX-License-Identifier: GPL-2.0-or-later\n"
              "#\n",
              f);
        write_comment(f, "Configuration of damon-tierd; damon-tierd.conf(5) explains it in full. "
                         "All keys are shown at their defaults: none needs to be set. Rather than "
                         "editing this file, put what you change into a file of its own, "
                         "/etc/damon-tierd.conf.d/NAME.conf, and run 'systemctl reload "
                         "damon-tierd'.");

        sections = config_sections(&n_sections);
        for (size_t i = 0; i < n_sections; i++) {
                if (strcmp(sections[i].section, "Tier") == 0) {
                        sample_tiers(f, &sections[i]);
                        continue;
                }

                fputc('\n', f);
                write_comment(f, sections[i].help);
                fprintf(f, "%s\n", sections[i].title);
                sample_keys(f, sections[i].section);
        }

        if (fclose(f) != 0) {
                free(text);
                return NULL;
        }

        return text;
}
