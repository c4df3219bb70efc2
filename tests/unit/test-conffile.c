/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Files to assignments: the strict reader, and which files count. Works in a directory of its own
 * below $TMPDIR. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <ini.h>

#include "base/macro.h"
#include "io/conffile.h"

/* Everything that came of a text: "line:[section]key=value" for assignments, "!line: sentence" for
 * problems. */
static char *outcome(const ConfFile *file, const ConfigProblems *problems, size_t skip) {
        const ConfigAssignment *assignments;
        char *text = NULL;
        size_t size = 0, n;
        FILE *f = open_memstream(&text, &size);

        assert_non_null(f);
        assignments = conffile_assignments(file, &n);
        for (size_t i = 0; i < n; i++)
                fprintf(f, "%u:[%s]%s=%s\n", assignments[i].line, assignments[i].section,
                        assignments[i].key, assignments[i].value);
        for (size_t i = 0; i < problems->n_items; i++) {
                assert_true(problems->items[i].is_error);
                fprintf(f, "!%s\n", problems->items[i].text + skip);
        }
        assert_int_equal(fclose(f), 0);
        return text;
}

static void check_text(const char *name, const char *text, size_t size, const char *expected) {
        _cleanup_(config_problems_done) ConfigProblems problems = {};
        _cleanup_(conffile_freep) ConfFile *file = NULL;
        _cleanup_(freep) char *got = NULL;

        print_message("%s\n", name);
        assert_int_equal(conffile_parse("f", text, size, &problems, &file), 0);
        got = outcome(file, &problems, /* skip= */ strlen("f:"));
        assert_string_equal(got, expected);
}

#define X10 "xxxxxxxxxx"
#define X100 X10 X10 X10 X10 X10 X10 X10 X10 X10 X10

static void test_text(void **state) {
        static const struct {
                const char *name, *text, *expected;
        } cases[] = {
                {"empty", "", ""},
                {"blank lines", "\n\n  \n\t\n\r\n", ""},
                {"plain", "[Policy]\nHeadroom=5%\n", "2:[Policy]Headroom=5%\n"},
                {"no newline at the end", "[Policy]\nHeadroom=5%", "2:[Policy]Headroom=5%\n"},
                {"CRLF", "[Policy]\r\nHeadroom=5%\r\n", "2:[Policy]Headroom=5%\n"},
                {"byte order mark", "\xef\xbb\xbf[Policy]\nHeadroom=5%\n",
                 "2:[Policy]Headroom=5%\n"},
                {"blanks around", "[Policy]  \nHeadroom \t= \t5% \t\n", "2:[Policy]Headroom=5%\n"},
                {"empty value", "[Policy]\nHeadroom=\nYoungFilter= \n",
                 "2:[Policy]Headroom=\n3:[Policy]YoungFilter=\n"},
                {"equals in the value", "[P]\nK=a=b\n", "2:[P]K=a=b\n"},
                {"colon in the value", "[P]\nK=a:b\n", "2:[P]K=a:b\n"},
                {"semicolon within a word", "[P]\nK=a;b#c\n", "2:[P]K=a;b#c\n"},
                {"blanks in the value", "[P]\nK=1min 30s\n", "2:[P]K=1min 30s\n"},
                {"brackets in the value", "[P]\nK=[x]\n", "2:[P]K=[x]\n"},
                {"tier section", "[Tier fast]\nNodes=0\n[Tier slow]\nNodes=1\n",
                 "2:[Tier fast]Nodes=0\n4:[Tier slow]Nodes=1\n"},
                {"twice the same", "[P]\nK=1\nK=2\n", "2:[P]K=1\n3:[P]K=2\n"},
                {"section comes again", "[P]\nK=1\n[Q]\nK=2\n[P]\nK=3\n",
                 "2:[P]K=1\n4:[Q]K=2\n6:[P]K=3\n"},
                {"comments", "# a\n; b\n  # c\n[P]\n;K=1\n#K=2\nK=3\n", "7:[P]K=3\n"},
                {"comment in UTF-8", "# größer\n[P]\nK=1\n", "3:[P]K=1\n"},
                {"comment in Latin-1",
                 "# gr\xf6\xdf"
                 "er\n[P]\nK=1\n",
                 "3:[P]K=1\n"},
                /* inih would take the second piece of a long comment for an assignment */
                {"comment of any length", "[P]\n#" X100 X100 X100 "\nL=" X10 "\n",
                 "3:[P]L=" X10 "\n"},

                {"before any section", "K=1\n[P]\nK=2\n",
                 "3:[P]K=2\n!1: 'K=1' stands before any section; expected a [Section] first\n"},
                {"not an assignment", "[P]\nHeadroom\nK=1\n",
                 "3:[P]K=1\n"
                 "!2: 'Headroom' is not an assignment; expected Key=value or [Section]\n"},
                {"colon for equals", "[P]\nHeadroom: 5%\n",
                 "!2: 'Headroom: 5%' is not an assignment; expected Key=value or [Section]\n"},
                {"colon before equals", "[P]\nA:B=1\n",
                 "!2: 'A:B' is not a key; expected letters and digits before '='\n"},
                {"no key", "[P]\n=1\n",
                 "!2: '' is not a key; expected letters and digits before '='\n"},
                {"two words before equals", "[P]\nset K=1\n",
                 "!2: 'set K' is not a key; expected letters and digits before '='\n"},
                {"indented", "[P]\nK=1\n L=2\n\tM=3\nN=4\n",
                 "2:[P]K=1\n5:[P]N=4\n"
                 "!3: the line is indented; expected no blanks in front, lines are not continued\n"
                 "!4: the line is indented; expected no blanks in front, lines are not "
                 "continued\n"},
                {"comment behind a value", "[P]\nK=5s ; why\nL=5s # why\nM= ;\nN=5s\t#x\n",
                 "!2: '5s ; why' holds a comment; expected comments on lines of their own\n"
                 "!3: '5s # why' holds a comment; expected comments on lines of their own\n"
                 "!4: ';' holds a comment; expected comments on lines of their own\n"
                 "!5: '5s\t#x' holds a comment; expected comments on lines of their own\n"},
                {"header without end", "[P]\nK=1\n[Q\nK=2\n[R]\nK=3\n",
                 "2:[P]K=1\n6:[R]K=3\n"
                 "!3: '[Q' is not a section; expected [Section] alone on its line, ignoring the "
                 "keys that follow\n"},
                {"header with a comment", "[P] ; x\nK=2\n",
                 "!1: '[P] ; x' is not a section; expected [Section] alone on its line, ignoring "
                 "the keys that follow\n"},
                {"header with more", "[P] K=1\n",
                 "!1: '[P] K=1' is not a section; expected [Section] alone on its line, ignoring "
                 "the keys that follow\n"},
                {"header and key in one", "[P]K=[1]\nK=2\n",
                 "!1: '[P]K=[1]' is not a section; expected a name without brackets, ';' and '#', "
                 "ignoring the keys that follow\n"},
                {"empty header", "[]\nK=1\n",
                 "!1: '[]' is not a section; expected [Section] alone on its line, ignoring the "
                 "keys that follow\n"},
                {"lone bracket", "[\nK=1\n",
                 "!1: '[' is not a section; expected [Section] alone on its line, ignoring the "
                 "keys that follow\n"},
                {"brackets in the header", "[[P]]\nK=1\n",
                 "!1: '[[P]]' is not a section; expected a name without brackets, ';' and '#', "
                 "ignoring the keys that follow\n"},
                {"semicolon in the header", "[Tier a ;b]\nK=1\n",
                 "!1: '[Tier a ;b]' is not a section; expected a name without brackets, ';' and "
                 "'#', ignoring the keys that follow\n"},
                {"indented header", "[P]\n [Q]\nK=1\n[R]\nK=2\n",
                 "5:[R]K=2\n"
                 "!2: the line is indented; expected no blanks in front, lines are not "
                 "continued\n"},
                {"syntax is still checked below a bad header", "[P\nK=1\nnonsense\n",
                 "!1: '[P' is not a section; expected [Section] alone on its line, ignoring the "
                 "keys that follow\n"
                 "!3: 'nonsense' is not an assignment; expected Key=value or [Section]\n"},
                {"longest section",
                 "[" X10 X10 X10 X10 "123456789]\nK=1\n[" X10 X10 X10 X10 "1234567890]\nK=2\n",
                 "2:[" X10 X10 X10 X10 "123456789]K=1\n"
                 "!3: '[" X10 X10 X10 X10 "1234567890]' is too long; expected at most 49 "
                 "characters in a section's name, ignoring the keys that follow\n"},
                {"longest line", "[P]\nK=" X100 X10 X10 X10 X10 X10 X10 X10 X10 X10 "123456\nL=2\n",
                 "2:[P]K=" X100 X10 X10 X10 X10 X10 X10 X10 X10 X10 "123456\n3:[P]L=2\n"},
                {"longer line", "[P]\nK=" X100 X10 X10 X10 X10 X10 X10 X10 X10 X10 "1234567\nL=2\n",
                 "3:[P]L=2\n!2: the line is too long; expected at most 198 characters\n"},
                {"long blanks at the end are no matter", "[P]\nK=1" X10 "          \r\n",
                 "2:[P]K=1" X10 "\n"},
                {"long header", "[P]\n[" X100 X100 "]\nK=1\n",
                 "!2: the line is too long; expected at most 198 characters\n"},
                {"value in UTF-8", "[P]\nK=ä\nL=1\n",
                 "3:[P]L=1\n!2: the line has bytes that are not plain ASCII; expected such in "
                 "comments only\n"},
                {"control characters", "[P]\nK=a\x1b[31m\nL=\x7f\nM=a\rb\n",
                 "!2: the line has bytes that are not plain ASCII; expected such in comments only\n"
                 "!3: the line has bytes that are not plain ASCII; expected such in comments only\n"
                 "!4: the line has bytes that are not plain ASCII; expected such in comments "
                 "only\n"},
                {"backslash", "[P]\nK=a \\\nb\n",
                 "2:[P]K=a \\\n"
                 "!3: 'b' is not an assignment; expected Key=value or [Section]\n"},
        };
        static const char with_nul[] = "[P]\nK=1\0 2\nL=3\n#\0\nM=4\n";

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                check_text(cases[i].name, cases[i].text, strlen(cases[i].text), cases[i].expected);

        check_text("NUL byte", with_nul, sizeof(with_nul) - 1,
                   "3:[P]L=3\n5:[P]M=4\n!2: the line has bytes that are not plain ASCII; expected "
                   "such in comments only\n");
}

static void test_many_lines(void **state) {
        _cleanup_(config_problems_done) ConfigProblems problems = {};
        _cleanup_(conffile_freep) ConfFile *file = NULL;
        _cleanup_(freep) char *text = NULL;
        const ConfigAssignment *assignments;
        size_t size = 0, n;
        FILE *f = open_memstream(&text, &size);

        (void) state;
        fputs("[P]\n", f);
        for (unsigned i = 0; i < 10000; i++)
                fprintf(f, "K%u=%u\n", i, i);
        assert_int_equal(fclose(f), 0);

        assert_int_equal(conffile_parse("f", text, size, &problems, &file), 0);
        assignments = conffile_assignments(file, &n);
        assert_int_equal(n, 10000);
        assert_string_equal(assignments[9999].key, "K9999");
        assert_int_equal(assignments[9999].line, 10001);
}

/* What inih itself makes of the texts that we refuse. When this fails, inih has changed, and the
 * reasons given in io/conffile want a look. */
static int log_raw(void *userdata, const char *section, const char *key, const char *value) {
        fprintf(userdata, "[%s]%s=%s ", section, key, value);
        return 1;
}

static void test_inih_traps(void **state) {
        static const struct {
                const char *text, *expected;
        } cases[] = {
                {"[P]\nK=1\n L=2\n", "[P]K=1 [P]K=L=2 "},
                {"[P]\nK=1\n[Q\nL=2\n", "[P]K=1 [P]L=2 "},
                {"[P]\nK: 1\n", "[P]K=1 "},
                {"[P]\nK=1 ; 2\n", "[P]K=1 "},
                {"[P]\nK=1 # 2\n", "[P]K=1 # 2 "},
                {"[P] junk\nK=1\n", "[P]K=1 "},
                {"K=1\n", "[]K=1 "},
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(freep) char *text = NULL;
                size_t size = 0;
                FILE *f = open_memstream(&text, &size);

                assert_non_null(f);
                (void) ini_parse_string(cases[i].text, log_raw, f);
                assert_int_equal(fclose(f), 0);
                assert_string_equal(text, cases[i].expected);
        }
}

typedef struct Root {
        char *path;
} Root;

static int make_root(void **state) {
        const char *tmp = getenv("TMPDIR");
        Root *root = calloc(1, sizeof(*root));

        if (!root || asprintf(&root->path, "%s/conffile-XXXXXX", tmp ? tmp : "/tmp") < 0)
                return -1;
        if (!mkdtemp(root->path))
                return -1;

        *state = root;
        return 0;
}

static void remove_tree(int at, const char *name) {
        int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

        if (!dir) {
                (void) unlinkat(at, name, 0);
                return;
        }

        for (;;) {
                const struct dirent *entry = readdir(dir);

                if (!entry)
                        break;
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                        remove_tree(dirfd(dir), entry->d_name);
        }

        (void) closedir(dir);
        (void) unlinkat(at, name, AT_REMOVEDIR);
}

static int remove_root(void **state) {
        Root *root = *state;

        remove_tree(AT_FDCWD, root->path);
        free(root->path);
        free(root);
        return 0;
}

/* The path below the root, its directories made. */
static char *in_root(const Root *root, const char *path) {
        char *full;

        assert_true(asprintf(&full, "%s/%s", root->path, path) > 0);
        for (char *p = full + strlen(root->path) + 1; (p = strchr(p, '/')); p++) {
                *p = '\0';
                (void) mkdir(full, 0755); /* may be there */
                *p = '/';
        }
        return full;
}

static void put(const Root *root, const char *path, const char *text) {
        _cleanup_(freep) char *full = in_root(root, path);
        FILE *f = fopen(full, "we");

        assert_non_null(f);
        fputs(text, f);
        assert_int_equal(fclose(f), 0);
}

static void put_link(const Root *root, const char *path, const char *target) {
        _cleanup_(freep) char *full = in_root(root, path);

        assert_int_equal(symlink(target, full), 0);
}

/* Load and compare: "path below root:line key=value" lines, then problems. */
static void check_load(const Root *root, int result, const char *expected) {
        _cleanup_(config_problems_done) ConfigProblems problems = {};
        _cleanup_(conffile_freep) ConfFile *file = NULL;
        _cleanup_(freep) char *text = NULL;
        const ConfigAssignment *assignments = NULL;
        size_t size = 0, n = 0, skip = strlen(root->path);
        FILE *f = open_memstream(&text, &size);

        assert_non_null(f);
        assert_int_equal(conffile_load(root->path, &problems, &file), result);
        if (result == 0)
                assignments = conffile_assignments(file, &n);
        for (size_t i = 0; i < n; i++)
                fprintf(f, "%s:%u %s=%s\n", assignments[i].path + skip, assignments[i].line,
                        assignments[i].key, assignments[i].value);
        for (size_t i = 0; i < problems.n_items; i++)
                fprintf(f, "!%s\n", problems.items[i].text + skip);
        assert_int_equal(fclose(f), 0);
        assert_string_equal(text, expected);
}

static void test_no_file(void **state) {
        check_load(*state, 0, "");
}

static void test_main_file(void **state) {
        const Root *root = *state;

        put(root, "usr/lib/damon-tierd.conf", "[P]\nK=vendor\n");
        check_load(root, 0, "/usr/lib/damon-tierd.conf:2 K=vendor\n");
        put(root, "run/damon-tierd.conf", "[P]\nK=runtime\n");
        check_load(root, 0, "/run/damon-tierd.conf:2 K=runtime\n");
        put(root, "etc/damon-tierd.conf", "[P]\nK=admin\n");
        check_load(root, 0, "/etc/damon-tierd.conf:2 K=admin\n");

        /* An empty one, or a link to nothing, is the main file all the same. */
        put(root, "etc/damon-tierd.conf", "");
        check_load(root, 0, "");
}

static void test_main_file_masked(void **state) {
        const Root *root = *state;

        put(root, "usr/lib/damon-tierd.conf", "[P]\nK=vendor\n");
        put_link(root, "etc/damon-tierd.conf", "/dev/null");
        check_load(root, 0, "");
}

static void test_dropins(void **state) {
        const Root *root = *state;

        put(root, "etc/damon-tierd.conf", "[P]\nK=main\n");
        put(root, "etc/damon-tierd.conf.d/50-b.conf", "[P]\nK=b\n");
        put(root, "usr/lib/damon-tierd.conf.d/10-a.conf", "[P]\nK=a\n");
        put(root, "run/damon-tierd.conf.d/90-c.conf", "[P]\nK=c\n");

        /* Masked by name, by an empty file, by a link to nothing. */
        put(root, "usr/lib/damon-tierd.conf.d/50-b.conf", "[P]\nK=never\n");
        put(root, "run/damon-tierd.conf.d/50-b.conf", "[P]\nK=never\n");
        put(root, "usr/lib/damon-tierd.conf.d/60-empty.conf", "[P]\nK=never\n");
        put(root, "etc/damon-tierd.conf.d/60-empty.conf", "");
        put(root, "usr/lib/damon-tierd.conf.d/70-null.conf", "[P]\nK=never\n");
        put_link(root, "run/damon-tierd.conf.d/70-null.conf", "/dev/null");

        /* Not drop-ins. */
        put(root, "etc/damon-tierd.conf.d/README", "[P]\nK=never\n");
        put(root, "etc/damon-tierd.conf.d/20-x.conf~", "[P]\nK=never\n");
        put(root, "etc/damon-tierd.conf.d/.20-x.conf", "[P]\nK=never\n");
        put(root, "etc/damon-tierd.conf.d/.conf", "[P]\nK=never\n");

        check_load(root, 0,
                   "/etc/damon-tierd.conf:2 K=main\n"
                   "/usr/lib/damon-tierd.conf.d/10-a.conf:2 K=a\n"
                   "/etc/damon-tierd.conf.d/50-b.conf:2 K=b\n"
                   "/run/damon-tierd.conf.d/90-c.conf:2 K=c\n");
}

static void test_dropin_alone(void **state) {
        const Root *root = *state;

        put(root, "etc/damon-tierd.conf.d/x.conf", "[P]\nK=1\n");
        check_load(root, 0, "/etc/damon-tierd.conf.d/x.conf:2 K=1\n");
}

/* A section does not reach into the next file. */
static void test_sections_end_with_the_file(void **state) {
        const Root *root = *state;

        put(root, "etc/damon-tierd.conf", "[P]\nK=main\n");
        put(root, "etc/damon-tierd.conf.d/x.conf", "K=1\n");
        check_load(root, 0,
                   "/etc/damon-tierd.conf:2 K=main\n"
                   "!/etc/damon-tierd.conf.d/x.conf:1: 'K=1' stands before any section; expected a "
                   "[Section] first\n");
}

static void test_all_files_are_read(void **state) {
        const Root *root = *state;

        put(root, "etc/damon-tierd.conf", "[P]\nnonsense\n");
        put_link(root, "etc/damon-tierd.conf.d/10-dangling.conf", "nowhere");
        put(root, "etc/damon-tierd.conf.d/20-dir.conf/file", "");
        put(root, "etc/damon-tierd.conf.d/30-more.conf", "[P]\nmore nonsense\n");
        check_load(root, -ENOENT,
                   "!/etc/damon-tierd.conf:2: 'nonsense' is not an assignment; expected Key=value "
                   "or [Section]\n"
                   "!/etc/damon-tierd.conf.d/10-dangling.conf: cannot be read: No such file or "
                   "directory\n"
                   "!/etc/damon-tierd.conf.d/20-dir.conf: cannot be read: Is a directory\n"
                   "!/etc/damon-tierd.conf.d/30-more.conf:2: 'more nonsense' is not an "
                   "assignment; expected Key=value or [Section]\n");
}

static void test_dropin_directory_is_none(void **state) {
        const Root *root = *state;

        put(root, "etc/damon-tierd.conf.d", "");
        check_load(root, -ENOTDIR, "!/etc/damon-tierd.conf.d: cannot be listed: Not a directory\n");
}

static void test_dangling_main_file(void **state) {
        const Root *root = *state;

        put(root, "usr/lib/damon-tierd.conf", "[P]\nK=vendor\n");
        put_link(root, "etc/damon-tierd.conf", "nowhere");
        check_load(root, -ENOENT,
                   "!/etc/damon-tierd.conf: cannot be read: No such file or directory\n");
}

static void test_odd_files(void **state) {
        const Root *root = *state;
        _cleanup_(freep) char *fifo = in_root(root, "etc/damon-tierd.conf"),
                              *big = in_root(root, "etc/damon-tierd.conf.d/big.conf");
        FILE *f;

        assert_int_equal(mkfifo(fifo, 0600), 0);
        f = fopen(big, "we");
        assert_non_null(f);
        for (unsigned i = 0; i < 1024 * 1024 / 8 + 1; i++)
                fputs("#......\n", f);
        assert_int_equal(fclose(f), 0);

        check_load(root, -EINVAL,
                   "!/etc/damon-tierd.conf: cannot be read: Not a regular file\n"
                   "!/etc/damon-tierd.conf.d/big.conf: cannot be read: Larger than 1 MiB\n");
}

static void test_load_path(void **state) {
        const Root *root = *state;
        _cleanup_(config_problems_done) ConfigProblems problems = {};
        _cleanup_(conffile_freep) ConfFile *file = NULL;
        _cleanup_(freep) char *path = in_root(root, "my.conf"), *got = NULL;

        assert_int_equal(conffile_load_path(path, &problems, &file), -ENOENT);
        assert_null(file);
        assert_int_equal(problems.n_errors, 1);
        assert_string_equal(problems.items[0].path, path);
        config_problems_done(&problems);

        put(root, "my.conf", "[P]\nK=1\n");
        put(root, "etc/damon-tierd.conf.d/x.conf", "[P]\nK=2\n");
        assert_int_equal(conffile_load_path(path, &problems, &file), 0);
        got = outcome(file, &problems, 0);
        assert_string_equal(got, "2:[P]K=1\n");
}

/* From files to a configuration, with a drop-in that overrides a tier of the main file. */
static void test_end_to_end(void **state) {
        const Root *root = *state;
        _cleanup_(config_problems_done) ConfigProblems problems = {};
        _cleanup_(conffile_freep) ConfFile *file = NULL;
        _cleanup_(config_freep) Config *config = NULL;
        const ConfigAssignment *assignments;
        size_t n;

        put(root, "etc/damon-tierd.conf",
            "[Policy]\nHeadroom=2%\n"
            "[Tier fast]\nNodes=0-1\n"
            "[Tier slow]\nNodes=2\nDemoteRateLimit=10M/s\n");
        put(root, "etc/damon-tierd.conf.d/x.conf",
            "[Tier slow]\nDemoteRateLimit=\nHeadroom=1G\n"
            "[Policy]\nHeadroom=\n");

        assert_int_equal(conffile_load(root->path, &problems, &file), 0);
        assignments = conffile_assignments(file, &n);
        assert_int_equal(config_build(assignments, n, &problems, &config), 0);
        assert_int_equal(problems.n_items, 0);
        assert_int_equal(config->n_tiers, 2);
        assert_int_equal(config->policy.headroom_mode, HEADROOM_AUTO);
        assert_int_equal(config->tiers[0].policy.headroom_mode, HEADROOM_AUTO);
        assert_int_equal(config->tiers[1].policy.headroom_bytes, 1 << 30);
        assert_int_equal(config->tiers[1].policy.demote_rate, 400 << 20);
}

/* The sample file and a dump are files that we ourselves can read. */
static void test_sample_reads(void **state) {
        _cleanup_(config_problems_done) ConfigProblems problems = {};
        _cleanup_(conffile_freep) ConfFile *sample_file = NULL, *dump_file = NULL;
        _cleanup_(config_freep) Config *config = NULL, *back = NULL;
        _cleanup_(freep) char *sample = config_sample(), *dump = NULL, *again = NULL;
        const ConfigAssignment *assignments;
        size_t n;

        (void) state;
        assert_int_equal(conffile_parse("sample", sample, strlen(sample), &problems, &sample_file),
                         0);
        (void) conffile_assignments(sample_file, &n);
        assert_int_equal(n, 0);
        assert_int_equal(problems.n_items, 0);

        assert_int_equal(config_new(&config), 0);
        dump = config_dump(config);
        assert_int_equal(conffile_parse("dump", dump, strlen(dump), &problems, &dump_file), 0);
        assignments = conffile_assignments(dump_file, &n);
        assert_int_equal(config_build(assignments, n, &problems, &back), 0);
        assert_int_equal(problems.n_items, 0);
        again = config_dump(back);
        assert_string_equal(again, dump);
}

#define ROOT_TEST(f) cmocka_unit_test_setup_teardown(f, make_root, remove_root)

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_text),
                cmocka_unit_test(test_many_lines),
                cmocka_unit_test(test_inih_traps),
                ROOT_TEST(test_no_file),
                ROOT_TEST(test_main_file),
                ROOT_TEST(test_main_file_masked),
                ROOT_TEST(test_dropins),
                ROOT_TEST(test_dropin_alone),
                ROOT_TEST(test_sections_end_with_the_file),
                ROOT_TEST(test_all_files_are_read),
                ROOT_TEST(test_dropin_directory_is_none),
                ROOT_TEST(test_dangling_main_file),
                ROOT_TEST(test_odd_files),
                ROOT_TEST(test_load_path),
                ROOT_TEST(test_end_to_end),
                cmocka_unit_test(test_sample_reads),
        };

        return cmocka_run_group_tests_name("conffile", tests, NULL, NULL);
}
