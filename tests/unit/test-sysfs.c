/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The directory backend on directories made here; the front with a backend of a few lines. */

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

#include "base/macro.h"
#include "io/sysfs.h"

typedef struct Root {
        char path[64];
        int fd;
} Root;

static void put(const Root *root, const char *path, const char *text) {
        int fd = openat(root->fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
        assert_int_equal(close(fd), 0);
}

static int setup(void **state) {
        Root *root = calloc(1, sizeof(*root));

        assert_non_null(root);
        strncpy(root->path, "/tmp/test-sysfs-XXXXXX", sizeof(root->path) - 1);
        assert_non_null(mkdtemp(root->path));
        root->fd = open(root->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_true(root->fd >= 0);
        assert_int_equal(mkdirat(root->fd, "sys", 0700), 0);
        assert_int_equal(mkdirat(root->fd, "sys/node0", 0700), 0);
        put(root, "sys/number", "4096\n");
        put(root, "sys/blank", "");
        put(root, "sys/two", "a\n\n");
        put(root, "sys/negative", "-1\n");
        put(root, "sys/word", "paddr\n");
        put(root, "sys/block", "12\n");
        assert_int_equal(symlinkat("../block", root->fd, "sys/node0/memory12"), 0);
        assert_int_equal(symlinkat("/etc/hostname", root->fd, "sys/absolute"), 0);
        assert_int_equal(symlinkat("../../../../../../etc/passwd", root->fd, "sys/escape"), 0);
        *state = root;
        return 0;
}

static int teardown(void **state) {
        static const char *const files[] = {
                "sys/node0/memory12", "sys/absolute", "sys/escape",   "sys/number",
                "sys/blank",          "sys/two",      "sys/negative", "sys/word",
                "sys/block",          "sys/large",
        };
        Root *root = *state;

        for (size_t i = 0; i < ELEMENTSOF(files); i++)
                (void) unlinkat(root->fd, files[i], 0);
        (void) unlinkat(root->fd, "sys/node0", AT_REMOVEDIR);
        (void) unlinkat(root->fd, "sys", AT_REMOVEDIR);
        assert_int_equal(rmdir(root->path), 0);
        assert_int_equal(close(root->fd), 0);
        free(root);
        return 0;
}

static void test_paths(void **state) {
        static const struct {
                const char *name;
                const char *path;
                int r;
        } cases[] = {
                {"plain", "sys/number", 0},
                {"a link inside the root", "sys/node0/memory12", 0},
                {"absent", "sys/absent", -ENOENT},
                {"below a file", "sys/number/x", -ENOTDIR},
                {"empty", "", -EINVAL},
                {"absolute", "/sys/number", -EINVAL},
                {"trailing slash", "sys/", -EINVAL},
                {"double slash", "sys//number", -EINVAL},
                {"dot", "sys/./number", -EINVAL},
                {"dot dot", "sys/../sys/number", -EINVAL},
                {"only dot dot", "..", -EINVAL},
                {"dot dot at the end", "sys/..", -EINVAL},
                {"a name that starts with dots", "sys/..x", -ENOENT},
                {"a link to an absolute path stays inside", "sys/absolute", -ENOENT},
                {"a link that climbs stays inside", "sys/escape", -ENOENT},
                {"a directory", "sys", -EISDIR},
        };
        const Root *root = *state;
        _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;

        assert_int_equal(sysfs_open(root->path, SYSFS_READ_WRITE, &sysfs), 0);
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                char buf[16];
                int r = sysfs_read(sysfs, cases[i].path, buf, sizeof(buf));

                if (r != cases[i].r)
                        fail_msg("%s: %d, not %d", cases[i].name, r, cases[i].r);
                if (r == -EINVAL)
                        assert_int_equal(sysfs_write(sysfs, cases[i].path, "1"), -EINVAL);
        }

        assert_true(sysfs_exists(sysfs, "sys/number"));
        assert_true(sysfs_exists(sysfs, "sys/node0"));
        assert_false(sysfs_exists(sysfs, "sys/absent"));
        assert_false(sysfs_exists(sysfs, "../etc"));
        assert_false(sysfs_exists(sysfs, "sys/escape"));
}

static void test_read(void **state) {
        const Root *root = *state;
        _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;
        _cleanup_(freep) char *text = NULL, *large = NULL;
        char buf[16], tight[5];
        uint64_t u;
        int i;

        assert_int_equal(sysfs_open(root->path, SYSFS_READ_WRITE, &sysfs), 0);

        assert_int_equal(sysfs_read(sysfs, "sys/number", buf, sizeof(buf)), 0);
        assert_string_equal(buf, "4096");
        assert_int_equal(sysfs_read(sysfs, "sys/two", buf, sizeof(buf)), 0);
        assert_string_equal(buf, "a\n"); /* one newline only */
        assert_int_equal(sysfs_read(sysfs, "sys/blank", buf, sizeof(buf)), 0);
        assert_string_equal(buf, "");

        /* "4096\n" needs six bytes */
        assert_int_equal(sysfs_read(sysfs, "sys/number", tight, sizeof(tight)), -E2BIG);
        assert_int_equal(sysfs_read(sysfs, "sys/number", buf, 6), 0);

        assert_int_equal(sysfs_read_u64(sysfs, "sys/number", &u), 0);
        assert_int_equal(u, 4096);
        assert_int_equal(sysfs_read_u64(sysfs, "sys/negative", &u), -EINVAL);
        assert_int_equal(sysfs_read_int(sysfs, "sys/negative", &i), 0);
        assert_int_equal(i, -1);
        assert_int_equal(sysfs_read_int(sysfs, "sys/word", &i), -EINVAL);
        assert_int_equal(sysfs_read_int(sysfs, "sys/blank", &i), -EINVAL);
        assert_int_equal(sysfs_read_u64(sysfs, "sys/absent", &u), -ENOENT);

        large = malloc(100001);
        assert_non_null(large);
        memset(large, 'x', 100000);
        large[100000] = '\0';
        put(root, "sys/large", large);
        assert_int_equal(sysfs_read_all(sysfs, "sys/large", 99999, &text), -E2BIG);
        assert_null(text);
        assert_int_equal(sysfs_read_all(sysfs, "sys/large", 100000, &text), 0);
        assert_string_equal(text, large);
        freep(&text);
        text = NULL;
        assert_int_equal(sysfs_read_all(sysfs, "sys/large", SIZE_MAX, &text), 0);
        assert_int_equal(strlen(text), 100000);
}

/* A file that stays open shows what is in it now. */
static void test_read_again(void **state) {
        _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;
        Root *root = *state;
        char buf[16];

        assert_int_equal(sysfs_open(root->path, SYSFS_READ_WRITE, &sysfs), 0);
        for (unsigned i = 0; i < 3; i++) {
                assert_int_equal(sysfs_read_again(sysfs, "sys/number", buf, sizeof(buf)), 0);
                assert_string_equal(buf, i == 0 ? "4096" : "7");
                assert_int_equal(sysfs_read_again(sysfs, "sys/word", buf, sizeof(buf)), 0);
                assert_string_equal(buf, "paddr");
                put(root, "sys/number", "7\n"); /* the same file with another content */
        }
        assert_int_equal(sysfs_read_again(sysfs, "sys/word", buf, 4), -E2BIG);
        assert_int_equal(sysfs_read_again(sysfs, "sys/absent", buf, sizeof(buf)), -ENOENT);
        put(root, "sys/large", "1\n"); /* what was absent is looked for again */
        assert_int_equal(sysfs_read_again(sysfs, "sys/large", buf, sizeof(buf)), 0);
        assert_string_equal(buf, "1");
        assert_int_equal(sysfs_read_again(sysfs, "sys/../sys/word", buf, sizeof(buf)), -EINVAL);
}

/* There are more files than may stay open: all are read, and most descriptors stay free. */
static void test_read_again_many(void **state) {
        _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;
        Root *root = *state;
        char path[32], buf[16];
        int fd;

        assert_int_equal(sysfs_open(root->path, SYSFS_READ_ONLY, &sysfs), 0);
        for (unsigned round = 0; round < 2; round++)
                for (unsigned i = 0; i < 700; i++) {
                        (void) snprintf(path, sizeof(path), "sys/f%u", i);
                        (void) snprintf(buf, sizeof(buf), "%u\n", i + round);
                        put(root, path, buf);
                        assert_int_equal(sysfs_read_again(sysfs, path, buf, sizeof(buf)), 0);
                        assert_int_equal(strtoul(buf, NULL, 10), i + round);
                }
        fd = dup(root->fd);
        assert_in_range(fd, 512, 600);
        assert_int_equal(close(fd), 0);
        for (unsigned i = 0; i < 700; i++) {
                (void) snprintf(path, sizeof(path), "sys/f%u", i);
                assert_int_equal(unlinkat(root->fd, path, 0), 0);
        }
}

static void test_write(void **state) {
        const Root *root = *state;
        _cleanup_(sysfs_freep) Sysfs *sysfs = NULL, *read_only = NULL;
        char long_value[4098], buf[16];

        assert_int_equal(sysfs_open(root->path, SYSFS_READ_WRITE, &sysfs), 0);
        assert_int_equal(sysfs_open(root->path, SYSFS_READ_ONLY, &read_only), 0);

        assert_int_equal(sysfs_write(sysfs, "sys/blank", "12"), 0);
        assert_int_equal(sysfs_read(sysfs, "sys/blank", buf, sizeof(buf)), 0);
        assert_string_equal(buf, "12");

        /* a store replaces, as in the kernel */
        assert_int_equal(sysfs_write(sysfs, "sys/word", "x"), 0);
        assert_int_equal(sysfs_read(sysfs, "sys/word", buf, sizeof(buf)), 0);
        assert_string_equal(buf, "x");

        /* never creates */
        assert_int_equal(sysfs_write(sysfs, "sys/absent", "1"), -ENOENT);
        assert_false(sysfs_exists(sysfs, "sys/absent"));
        assert_int_equal(sysfs_write(sysfs, "sys/node0", "1"), -EISDIR);

        assert_int_equal(sysfs_write(sysfs, "sys/blank", ""), -EINVAL);
        memset(long_value, 'x', sizeof(long_value));
        long_value[4097] = '\0';
        assert_int_equal(sysfs_write(sysfs, "sys/blank", long_value), -E2BIG);

        assert_int_equal(sysfs_write(read_only, "sys/blank", "34"), -EROFS);
        assert_int_equal(sysfs_write(read_only, "sys/absent", "34"), -EROFS);
        assert_int_equal(sysfs_read(read_only, "sys/blank", buf, sizeof(buf)), 0);
        assert_string_equal(buf, "12");
}

static void test_full_device(void **state) {
        _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;
        (void) state;

        /* a device whose writes always fail; nothing there can be changed */
        assert_int_equal(sysfs_open("/dev", SYSFS_READ_WRITE, &sysfs), 0);
        assert_int_equal(sysfs_write(sysfs, "full", "1"), -ENOSPC);
}

static void test_list(void **state) {
        const Root *root = *state;
        _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;
        _cleanup_(sysfs_names_freep) char **names = NULL, **none = NULL;

        assert_int_equal(sysfs_open(root->path, SYSFS_READ_ONLY, &sysfs), 0);
        assert_int_equal(sysfs_list(sysfs, "sys", &names), 0);
        assert_string_equal(names[0], "absolute");
        assert_string_equal(names[1], "blank");
        assert_string_equal(names[5], "node0");
        assert_string_equal(names[8], "word");
        assert_null(names[9]);

        assert_int_equal(sysfs_list(sysfs, "sys/number", &none), -ENOTDIR);
        assert_int_equal(sysfs_list(sysfs, "sys/absent", &none), -ENOENT);
        assert_int_equal(sysfs_list(sysfs, "/", &none), -EINVAL);
        assert_null(none);
        assert_int_equal(sysfs_open("/nonexistent-root", SYSFS_READ_ONLY, &sysfs), -ENOENT);
}

typedef struct LogLine {
        char text[64];
        int n;
} LogLine;

static void log_line(void *userdata, const char *path, const char *value, int result) {
        LogLine *line = userdata;

        (void) snprintf(line->text, sizeof(line->text), "%s=%s:%d", path, value, result);
        line->n++;
}

static void test_write_log(void **state) {
        const Root *root = *state;
        _cleanup_(sysfs_freep) Sysfs *sysfs = NULL, *read_only = NULL;
        LogLine line = {0};
        char expected[64];

        assert_int_equal(sysfs_open(root->path, SYSFS_READ_WRITE, &sysfs), 0);
        assert_int_equal(sysfs_open(root->path, SYSFS_READ_ONLY, &read_only), 0);
        sysfs_set_write_log(sysfs, log_line, &line);
        sysfs_set_write_log(read_only, log_line, &line);

        assert_int_equal(sysfs_write(sysfs, "sys/block", "13"), 0);
        assert_string_equal(line.text, "sys/block=13:0");
        assert_int_equal(sysfs_write(sysfs, "sys/absent", "1"), -ENOENT);
        (void) snprintf(expected, sizeof(expected), "sys/absent=1:%d", -ENOENT);
        assert_string_equal(line.text, expected);
        assert_int_equal(sysfs_write(read_only, "sys/block", "1"), -EROFS);
        assert_int_equal(line.n, 3);
}

/* A backend that counts and remembers. */
typedef struct Double {
        int n_reads;
        int n_freed;
} Double;

static int double_read(void *userdata, const char *path, char *buf, size_t size, size_t *ret_len) {
        Double *d = userdata;
        size_t len = strlen(path);

        d->n_reads++;
        if (len >= size)
                return -E2BIG;
        memcpy(buf, path, len + 1);
        *ret_len = len;
        return 0;
}

static void double_free(void *userdata) {
        ((Double *) userdata)->n_freed++;
}

static void test_backend(void **state) {
        static const SysfsBackend backend = {.read = double_read, .free = double_free};
        Double d = {0};
        Sysfs *sysfs = NULL;
        char buf[8];
        (void) state;

        assert_int_equal(sysfs_new_backend_consume(&backend, &d, &sysfs), 0);
        assert_int_equal(sysfs_read(sysfs, "a/b", buf, sizeof(buf)), 0);
        assert_string_equal(buf, "a/b");
        assert_int_equal(sysfs_read(sysfs, "a/../b", buf, sizeof(buf)), -EINVAL);
        assert_int_equal(d.n_reads, 1); /* a bad path never reaches a backend */
        assert_null(sysfs_free(sysfs));
        assert_int_equal(d.n_freed, 1);
        assert_null(sysfs_free(NULL));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_paths, setup, teardown),
                cmocka_unit_test_setup_teardown(test_read, setup, teardown),
                cmocka_unit_test_setup_teardown(test_read_again, setup, teardown),
                cmocka_unit_test_setup_teardown(test_read_again_many, setup, teardown),
                cmocka_unit_test_setup_teardown(test_write, setup, teardown),
                cmocka_unit_test_setup_teardown(test_list, setup, teardown),
                cmocka_unit_test_setup_teardown(test_write_log, setup, teardown),
                cmocka_unit_test(test_full_device),
                cmocka_unit_test(test_backend),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
