/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Lays a captured machine out as a directory. The format is described in capture.sh. */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

static void __attribute__((noreturn)) die(const char *name, unsigned line, const char *what) {
        (void) fprintf(stderr, "Fixture %s:%u: %s\n", name, line, what);
        abort();
}

/* \n and \\, in place. */
static bool unescape(char *text) {
        char *to = text;

        for (const char *from = text; *from; from++) {
                if (*from != '\\') {
                        *to++ = *from;
                        continue;
                }

                from++;
                if (*from != 'n' && *from != '\\')
                        return false;
                *to++ = *from == 'n' ? '\n' : '\\';
        }

        *to = '\0';
        return true;
}

static void lay_out(TestRoot *root, const char *name, unsigned n, char *line) {
        const char *path, *mode;
        char *end, *value = line;
        unsigned long bits;

        line[strcspn(line, "\n")] = '\0';
        path = strsep(&value, " ");
        mode = strsep(&value, " ");
        if (!mode)
                die(name, n, "no mode");
        if (strcmp(mode, "dir") == 0) {
                testroot_dir(root, path);
                return;
        }
        if (!value || !unescape(value))
                die(name, n, "no value, or a bad escape in it");
        if (strcmp(mode, "link") == 0) {
                testroot_link(root, path, value);
                return;
        }

        bits = strtoul(mode, &end, 8);
        if (*end || bits > 0777)
                die(name, n, "not a mode");
        testroot_file(root, path, (unsigned) bits, value);
}

TestRoot *fixture_new(const char *name) {
        TestRoot *root = testroot_new();
        _cleanup_(freep) char *path = NULL, *line = NULL;
        size_t size = 0;
        unsigned n = 0;
        FILE *f;

        if (asprintf(&path, "%s/fixtures/%s.txt", TESTS_DIR, name) < 0)
                abort();
        f = fopen(path, "re");
        if (!f)
                die(path, 0, strerror(errno));
        while (getline(&line, &size, f) >= 0)
                lay_out(root, path, ++n, line);
        (void) fclose(f);
        return root;
}
