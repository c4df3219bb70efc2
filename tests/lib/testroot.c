/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Makes and removes the directories that tests take for "/". The one rule: never the real one. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testroot.h"

struct TestRoot {
        char *path;
        int fd;
};

static void _printf_(1, 2) __attribute__((noreturn)) die(const char *fmt, ...) {
        int saved = errno;
        va_list ap;

        va_start(ap, fmt);
        (void) vfprintf(stderr, fmt, ap);
        va_end(ap);
        (void) fprintf(stderr, ": %s\n", strerror(saved));
        abort();
}

int testroot_check(const char *path) {
        struct stat real, st;

        if (stat("/", &real) < 0 || stat(path, &st) < 0)
                return -errno;

        return real.st_dev == st.st_dev && real.st_ino == st.st_ino ? -EPERM : 0;
}

TestRoot *testroot_new(void) {
        const char *below = getenv("TMPDIR");
        TestRoot *root = calloc(1, sizeof(*root));

        if (!root ||
            asprintf(&root->path, "%s/damon-tierd-test-XXXXXX", below ? below : "/tmp") < 0)
                die("No memory");
        if (!mkdtemp(root->path))
                die("Failed to make '%s'", root->path);
        if (testroot_check(root->path) != 0)
                die("'%s' is not fit for a test", root->path);

        root->fd = open(root->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (root->fd < 0)
                die("Failed to open '%s'", root->path);
        return root;
}

const char *testroot_path(const TestRoot *root) {
        return root->path;
}

static void check_path(const char *path) {
        errno = EINVAL;
        if (*path == '\0' || *path == '/' || strstr(path, ".."))
                die("'%s' is no path for a test's root", path);
}

/* Removes what the directory holds; takes @fd. */
static void empty_consume(int fd) {
        DIR *dir = fdopendir(fd);
        const struct dirent *entry;

        if (!dir)
                die("Failed to read a directory");
        while ((entry = readdir(dir))) {
                const char *name = entry->d_name;
                int below;

                if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
                        continue;

                /* links are removed, never followed */
                below = openat(dirfd(dir), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (below >= 0)
                        empty_consume(below);
                if (unlinkat(dirfd(dir), name, below >= 0 ? AT_REMOVEDIR : 0) < 0)
                        die("Failed to remove '%s'", name);
        }
        (void) closedir(dir);
}

TestRoot *testroot_free(TestRoot *root) {
        if (!root)
                return NULL;

        empty_consume(root->fd);
        (void) rmdir(root->path);
        free(root->path);
        free(root);
        return NULL;
}

static void make_parents(TestRoot *root, const char *path) {
        char *copy = strdup(path);

        if (!copy)
                die("No memory");
        for (char *slash = strchr(copy, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                if (mkdirat(root->fd, copy, 0755) < 0 && errno != EEXIST)
                        die("Failed to make '%s'", copy);
                *slash = '/';
        }
        free(copy);
}

void testroot_dir(TestRoot *root, const char *path) {
        check_path(path);
        make_parents(root, path);
        if (mkdirat(root->fd, path, 0755) < 0 && errno != EEXIST)
                die("Failed to make '%s'", path);
}

void testroot_file(TestRoot *root, const char *path, unsigned mode, const char *text) {
        size_t len = strlen(text);
        int fd;

        check_path(path);
        make_parents(root, path);
        (void) unlinkat(root->fd, path, 0); /* most often it is not there */
        fd = openat(root->fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0)
                die("Failed to make '%s'", path);
        if (write(fd, text, len) != (ssize_t) len || fchmod(fd, mode) < 0)
                die("Failed to write '%s'", path);
        (void) close(fd);
}

void testroot_link(TestRoot *root, const char *path, const char *target) {
        check_path(path);
        make_parents(root, path);
        (void) unlinkat(root->fd, path, 0);
        if (symlinkat(target, root->fd, path) < 0)
                die("Failed to link '%s'", path);
}

void testroot_remove(TestRoot *root, const char *path) {
        int fd;

        check_path(path);
        fd = openat(root->fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0)
                empty_consume(fd);
        if (unlinkat(root->fd, path, fd >= 0 ? AT_REMOVEDIR : 0) < 0)
                die("Failed to remove '%s'", path);
}
