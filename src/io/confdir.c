/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Find the configuration files. The administrator's directory comes before the runtime one, and
 * that before the vendor's, for the main file and for each name of a drop-in. Only lists: what the
 * files say, and that an empty one says nothing, is seen by whoever reads them. */

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "io/confdir.h"

#define MAIN_NAME "damon-tierd.conf"
#define DROPIN_NAME MAIN_NAME ".d"

static const char *const directories[] = {"/etc", "/run", "/usr/lib"};

static void closedirp(DIR **dir) {
        if (*dir)
                (void) closedir(*dir); /* nothing could be done about an error here */
}

void confdir_paths_done(ConfPaths *paths) {
        for (size_t i = 0; i < paths->n_items; i++) {
                free(paths->items[i].name);
                free(paths->items[i].path);
        }

        free(paths->items);
        *paths = (ConfPaths){};
}

/* Takes ownership of @path on success. */
static int add_path_consume(ConfPaths *paths, const char *name, char *path) {
        _cleanup_(freep) char *copy = NULL;
        int r;

        copy = strdup(name);
        if (!copy)
                return -ENOMEM;

        r = ARRAY_GROW(paths->items, paths->n_alloc, paths->n_items + 1);
        if (r < 0)
                return r;

        paths->items[paths->n_items++] = (ConfPath){.name = TAKE_PTR(copy), .path = path};
        return 0;
}

static char *join(const char *root, const char *directory, const char *name, const char *leaf) {
        char *path;

        if (asprintf(&path, "%s%s/%s%s%s", root, directory, name, leaf ? "/" : "",
                     leaf ? leaf : "") < 0)
                return NULL;

        return path;
}

static int find_main(const char *root, ConfPaths *paths) {
        int r;

        for (size_t i = 0; i < ELEMENTSOF(directories); i++) {
                _cleanup_(freep) char *path = join(root, directories[i], MAIN_NAME, NULL);
                struct stat st;

                if (!path)
                        return -ENOMEM;

                /* A link counts even when it leads nowhere: reading it will say so. */
                if (lstat(path, &st) < 0)
                        continue;

                r = add_path_consume(paths, MAIN_NAME, path);
                if (r < 0)
                        return r;

                path = NULL;
                break;
        }

        return 0;
}

static bool is_dropin(const char *name) {
        size_t len = strlen(name);

        return name[0] != '.' && len > strlen(".conf") &&
               strcmp(name + len - strlen(".conf"), ".conf") == 0;
}

static bool has_name(const ConfPaths *paths, const char *name) {
        for (size_t i = 0; i < paths->n_items; i++)
                if (strcmp(paths->items[i].name, name) == 0)
                        return true;

        return false;
}

static int complain(ConfigProblems *problems, const char *path, int error) {
        int r;

        r = config_problems_add(problems, /* is_error= */ true, path, 0, NULL,
                                "cannot be listed: %s", strerror(-error));
        if (r < 0)
                return r;

        return error;
}

/* The drop-ins of one directory, but those whose name a directory before had. */
static int list_dropins(const char *root, const char *directory, ConfigProblems *problems,
                        ConfPaths *dropins) {
        _cleanup_(closedirp) DIR *dir = NULL;
        _cleanup_(freep) char *path = join(root, directory, DROPIN_NAME, NULL);
        int r;

        if (!path)
                return -ENOMEM;

        dir = opendir(path);
        if (!dir)
                return errno == ENOENT ? 0 : complain(problems, path, -errno);

        for (;;) {
                _cleanup_(freep) char *file = NULL;
                const struct dirent *entry;

                errno = 0;
                entry = readdir(dir);
                if (!entry)
                        return errno == 0 ? 0 : complain(problems, path, -errno);

                if (!is_dropin(entry->d_name) || has_name(dropins, entry->d_name))
                        continue;

                file = join(root, directory, DROPIN_NAME, entry->d_name);
                if (!file)
                        return -ENOMEM;

                r = add_path_consume(dropins, entry->d_name, file);
                if (r < 0)
                        return r;

                file = NULL;
        }
}

static int compare_names(const void *a, const void *b) {
        const ConfPath *x = a, *y = b;

        return strcmp(x->name, y->name);
}

static int append_consume(ConfPaths *paths, ConfPaths *dropins) {
        int r;

        r = ARRAY_GROW(paths->items, paths->n_alloc, paths->n_items + dropins->n_items);
        if (r < 0)
                return r;

        for (size_t i = 0; i < dropins->n_items; i++)
                paths->items[paths->n_items++] = dropins->items[i];

        dropins->n_items = 0; /* the strings have moved */
        return 0;
}

int confdir_find(const char *root, ConfigProblems *problems, ConfPaths *ret) {
        _cleanup_(confdir_paths_done) ConfPaths dropins = {};
        int failed = 0;
        int r;

        if (strcmp(root, "/") == 0)
                root = "";

        r = find_main(root, ret);
        if (r < 0)
                return r;

        for (size_t i = 0; i < ELEMENTSOF(directories); i++) {
                r = list_dropins(root, directories[i], problems, &dropins);
                if (r == -ENOMEM)
                        return r;
                if (r < 0 && failed == 0)
                        failed = r;
        }

        if (dropins.n_items > 0)
                qsort(dropins.items, dropins.n_items, sizeof(*dropins.items), compare_names);

        r = append_consume(ret, &dropins);
        if (r < 0)
                return r;

        return failed;
}
