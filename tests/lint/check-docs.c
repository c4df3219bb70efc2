/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Do the documents say what the tables of keys and messages say?
 *
 *   check-docs MAN SAMPLE CATALOG
 *           damon-tierd.conf(5) has an item for every key, under its section, with the type, the
 *           default and the range of the table, and none besides; the sample file is what the table
 *           makes of it; the journal catalog has an entry for every message id, and none besides.
 *   check-docs --sample
 *           Print the sample file, to bring conf/damon-tierd.conf up to date.
 *
 * An item of the manual page looks like this, and the last line may be missing:
 *
 *   .It Cm Interval Ns = Ns Ar duration
 *   ...
 *   Default: 5s.
 *   Range: 1s to 1h. */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "core/config-keys.h"
#include "core/config-types.h"
#include "core/message.h"

/* The words of the manual page's items. */
static const char *const arguments[_CONFIG_TYPE_MAX] = {
        [CONFIG_TYPE_BOOL] = "boolean",
        [CONFIG_TYPE_COUNT] = "number",
        [CONFIG_TYPE_AUTO_COUNT] = "auto | number",
        [CONFIG_TYPE_RATIO] = "ratio",
        [CONFIG_TYPE_RATE] = "rate",
        [CONFIG_TYPE_DURATION] = "duration",
        [CONFIG_TYPE_HEADROOM] = "auto | size | ratio",
        [CONFIG_TYPE_DESTINATION] = "auto | none | nodes",
        [CONFIG_TYPE_NODES] = "nodes",
        [CONFIG_TYPE_BUDGET] = "none | size",
        [CONFIG_TYPE_CGROUP] = "cgroup",
        [CONFIG_TYPE_AT_EXIT] = "restore | keep",
        [CONFIG_TYPE_FOREIGN_KDAMONDS] = "refuse | wait",
        [CONFIG_TYPE_DAMON_STAT] = "suspend | refuse",
        [CONFIG_TYPE_RECLAIM_DEMOTION] = "enable | leave",
};

static char *read_file(const char *path) {
        _cleanup_(freep) char *text = NULL;
        size_t size = 0;
        FILE *f = fopen(path, "re");

        if (!f)
                return NULL;

        /* To the end: no document has a NUL byte. */
        if (getdelim(&text, &size, '\0', f) < 0) {
                (void) fclose(f); /* it was only read */
                return NULL;
        }

        (void) fclose(f);
        return TAKE_PTR(text);
}

/* From the line @start to the next line that starts with one of @ends; NULL when absent. */
static char *cut(const char *text, const char *start, const char *const *ends) {
        _cleanup_(freep) char *line = NULL;
        const char *from, *to = NULL;

        if (asprintf(&line, "\n%s\n", start) < 0)
                return NULL;

        from = strstr(text, line);
        if (!from)
                return NULL;

        from++;
        for (; *ends; ends++) {
                _cleanup_(freep) char *end = NULL;
                const char *p;

                if (asprintf(&end, "\n%s", *ends) < 0)
                        return NULL;

                p = strstr(from, end);
                if (p && (!to || p < to))
                        to = p;
        }

        return to ? strndup(from, (size_t) (to - from) + 1) : strdup(from);
}

/* The item must have the line "@label: @value.", or no line of the label when @value is "". */
static bool check_line(const char *key, const char *item, const char *label, const char *value) {
        _cleanup_(freep) char *line = NULL;

        if (asprintf(&line, "\n%s: %s%s", label, value, *value != '\0' ? ".\n" : "") < 0)
                return false;

        if ((strstr(item, line) != NULL) == (*value != '\0'))
                return true;

        printf("%s=: the item in the manual page should %s '%s: %s.'\n", key,
               *value != '\0' ? "have the line" : "not have a line", label, value);
        return false;
}

static bool check_item(const char *man, const ConfigKeyInfo *key) {
        static const char *const section_ends[] = {".Sh ", NULL};
        static const char *const item_ends[] = {".It Cm ", ".El", NULL};
        _cleanup_(freep) char *section = NULL, *section_line = NULL, *item = NULL,
                              *item_line = NULL, *range = config_key_range(key);
        bool ok;

        if (!range ||
            asprintf(&item_line, ".It Cm %s Ns = Ns Ar %s", key->key, arguments[key->type]) < 0)
                return false;

        if (asprintf(&section_line, ".Sh [%s] SECTION",
                     strcmp(key->section, "Tier") == 0 ? "Tier NAME" : key->section) < 0)
                return false;

        section = cut(man, section_line, section_ends);
        if (!section) {
                printf("the manual page has no '%s'\n", section_line);
                return false;
        }

        item = cut(section, item_line, item_ends);
        if (!item) {
                printf("the manual page has no '%s' in [%s]\n", item_line, key->section);
                return false;
        }

        ok = check_line(key->key, item, "Default", key->default_text);
        return check_line(key->key, item, "Range", range) && ok;
}

/* Every item must be a key. */
static bool check_no_others(const char *man) {
        static const char mark[] = "\n.It Cm ";
        const ConfigKeyInfo *keys;
        size_t n_keys, n_items = 0;
        bool ok = true;

        keys = config_keys(&n_keys);
        for (const char *p = man; (p = strstr(p, mark)); n_items++) {
                size_t len, i = 0;

                p += strlen(mark);
                len = strcspn(p, " \n");
                while (i < n_keys &&
                       (strlen(keys[i].key) != len || memcmp(keys[i].key, p, len) != 0))
                        i++;

                if (i == n_keys) {
                        printf("%.*s=: in the manual page, but not in the key table\n", (int) len,
                               p);
                        ok = false;
                }
        }

        if (ok && n_items != n_keys) {
                printf("the manual page has %zu items for %zu keys\n", n_items, n_keys);
                ok = false;
        }

        return ok;
}

static bool check_sample(const char *text) {
        _cleanup_(freep) char *sample = config_sample();

        if (sample && strcmp(sample, text) == 0)
                return true;

        puts("the sample file differs from 'check-docs --sample'");
        return false;
}

static bool check_catalog(const char *catalog) {
        const MessageInfo *messages;
        size_t n_messages, n_entries = 0;
        bool ok = true;

        messages = message_table(&n_messages);
        for (size_t i = 0; i < n_messages; i++) {
                _cleanup_(freep) char *line = NULL;

                if (asprintf(&line, "\n-- %s\n", messages[i].id) < 0)
                        return false;

                if (!strstr(catalog, line)) {
                        printf("the catalog has no entry for %s\n", messages[i].name);
                        ok = false;
                }
        }

        for (const char *p = catalog; (p = strstr(p, "\n-- ")); p++)
                n_entries++;

        if (ok && n_entries != n_messages) {
                printf("the catalog has %zu entries for %zu messages\n", n_entries, n_messages);
                ok = false;
        }

        return ok;
}

static int print_sample(void) {
        _cleanup_(freep) char *sample = config_sample();

        if (!sample)
                return EXIT_FAILURE;

        fputs(sample, stdout);
        return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
        _cleanup_(freep) char *man = NULL, *sample = NULL, *catalog = NULL;
        const ConfigKeyInfo *keys;
        size_t n_keys;
        bool ok;

        if (argc == 2 && strcmp(argv[1], "--sample") == 0)
                return print_sample();

        if (argc != 4) {
                fputs("usage: check-docs MAN SAMPLE CATALOG | --sample\n", stderr);
                return EXIT_FAILURE;
        }

        man = read_file(argv[1]);
        sample = read_file(argv[2]);
        catalog = read_file(argv[3]);
        if (!man || !sample || !catalog) {
                fputs("check-docs: a document cannot be read\n", stderr);
                return EXIT_FAILURE;
        }

        ok = check_sample(sample);
        keys = config_keys(&n_keys);
        for (size_t i = 0; i < n_keys; i++)
                ok = check_item(man, &keys[i]) && ok;
        ok = check_no_others(man) && ok;
        ok = check_catalog(catalog) && ok;

        return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
