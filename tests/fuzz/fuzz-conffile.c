/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Any file to the reader and on to the configuration. What is taken must be well-formed and come
 * from the line that it says; a configuration that is built must read back from its dump. */

#include <errno.h>

#include "base/macro.h"
#include "core/config.h"
#include "fuzz.h"
#include "io/conffile.h"

static int build(const char *text, size_t size, Config **ret) {
        _cleanup_(config_problems_done) ConfigProblems problems = {};
        _cleanup_(conffile_freep) ConfFile *file = NULL;
        const ConfigAssignment *assignments;
        unsigned line = 0;
        size_t n;
        int r;

        FUZZ_CHECK(conffile_parse("f", text, size, &problems, &file) == 0);
        assignments = conffile_assignments(file, &n);
        for (size_t i = 0; i < n; i++) {
                FUZZ_CHECK(assignments[i].line > line);
                line = assignments[i].line;
                FUZZ_CHECK(*assignments[i].section != '\0' && strlen(assignments[i].section) < 50);
                FUZZ_CHECK(*assignments[i].key != '\0' && strlen(assignments[i].key) < 198);
                FUZZ_CHECK(strlen(assignments[i].value) < 198);
        }

        r = config_build(assignments, n, &problems, ret);
        FUZZ_CHECK(r == 0 || r == -EINVAL);
        for (size_t i = 0; i < problems.n_items; i++)
                FUZZ_CHECK(strncmp(problems.items[i].text, "f:", 2) == 0 &&
                           !strchr(problems.items[i].text, '\n'));

        return r;
}

/* Text of the line @n, as the reader should have seen it. */
static void check_lines(const char *text, size_t size) {
        _cleanup_(config_problems_done) ConfigProblems problems = {};
        _cleanup_(conffile_freep) ConfFile *file = NULL;
        const ConfigAssignment *assignments;
        const char *p = text;
        unsigned line = 1;
        size_t n;

        FUZZ_CHECK(conffile_parse("f", text, size, &problems, &file) == 0);
        assignments = conffile_assignments(file, &n);
        for (size_t i = 0; i < n; i++) {
                size_t rest;

                for (; line < assignments[i].line; line++) {
                        p = memchr(p, '\n', size - (size_t) (p - text));
                        FUZZ_CHECK(p);
                        p++;
                }

                rest = size - (size_t) (p - text);
                FUZZ_CHECK(strlen(assignments[i].key) < rest);
                FUZZ_CHECK(memcmp(p, assignments[i].key, strlen(assignments[i].key)) == 0);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(config_freep) Config *config = NULL, *back = NULL;
        _cleanup_(freep) char *dump = NULL, *again = NULL;
        const char *text = size > 0 ? (const char *) data : "";

        check_lines(text, size);
        if (build(text, size, &config) < 0)
                return 0;

        dump = config_dump(config);
        FUZZ_CHECK(dump);
        FUZZ_CHECK(build(dump, strlen(dump), &back) == 0);
        again = config_dump(back);
        FUZZ_CHECK(again && strcmp(dump, again) == 0);
        return 0;
}
