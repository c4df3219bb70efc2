/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The model as a Sysfs: DAMON's tree, other files beside it, modules, failures on demand, and the
 * one lock. What state words do is fakekdamond's. Where kernels are broken, what they were sent is
 * noted (fakedamon_bugs()), so that a test can say that we never send it. */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "fakedamon-internal.h"
#include "fakedamon.h"

#define ADMIN "sys/kernel/mm/damon/admin"

void _printf_(2, 3) fakedamon_note_bug(FakeDamon *fake, const char *fmt, ...) {
        _cleanup_(freep) char *old = fake->bugs;
        _cleanup_(freep) char *what = NULL;
        va_list ap;

        va_start(ap, fmt);
        if (vasprintf(&what, fmt, ap) < 0)
                abort();
        va_end(ap);
        if (asprintf(&fake->bugs, "%s%s%s", old, *old ? "; " : "", what) < 0)
                abort();
}

const char *fakedamon_bugs(const FakeDamon *fake) {
        return fake->bugs;
}

/* Plain files ------------------------------------------------------------------------------ */

static File *find_file(FakeDamon *fake, const char *path) {
        for (size_t i = 0; i < fake->n_files; i++)
                if (strcmp(fake->files[i].path, path) == 0)
                        return &fake->files[i];

        return NULL;
}

static File *put_file(FakeDamon *fake, const char *path, const char *text) {
        File *file = find_file(fake, path);
        char *copy = text ? must(strdup(text)) : NULL;

        if (!file) {
                must_grow(ARRAY_GROW(fake->files, fake->n_files_alloc, fake->n_files + 1));
                file = &fake->files[fake->n_files++];
                *file = (File){.path = must(strdup(path))};
        }

        free(file->text);
        file->text = copy;
        return file;
}

/* @path and all that is below it. */
static void remove_files(FakeDamon *fake, const char *path) {
        size_t len = strlen(path), n = 0;

        for (size_t i = 0; i < fake->n_files; i++) {
                File *file = &fake->files[i];

                if (strncmp(file->path, path, len) == 0 &&
                    (file->path[len] == '\0' || file->path[len] == '/')) {
                        free(file->path);
                        free(file->text);
                } else
                        fake->files[n++] = *file;
        }
        fake->n_files = n;
}

void fakedamon_set_file(FakeDamon *fake, const char *path, const char *text) {
        if (text)
                (void) put_file(fake, path, text);
        else
                remove_files(fake, path);
}

static void load_line(FakeDamon *fake, char *line) {
        const char *path, *mode;
        char *value = line, *to;

        line[strcspn(line, "\n")] = '\0';
        path = strsep(&value, " ");
        mode = must(strsep(&value, " "));
        if (strncmp(path, "sys/module/damon", strlen("sys/module/damon")) == 0)
                return;
        if (strcmp(mode, "link") == 0 || strcmp(mode, "dir") == 0) {
                (void) put_file(fake, path, NULL);
                return;
        }

        to = must(value);
        for (const char *from = value; *from; from++)
                *to++ = *from != '\\' ? *from : *++from == 'n' ? '\n' : *from;
        *to = '\0';
        (void) put_file(fake, path, value);
}

void fakedamon_load_fixture(FakeDamon *fake, const char *name) {
        _cleanup_(freep) char *path = NULL, *line = NULL;
        size_t size = 0;
        FILE *f;

        if (asprintf(&path, "%s/fixtures/%s.txt", TESTS_DIR, name) < 0)
                abort();
        f = must(fopen(path, "re"));
        while (getline(&line, &size, f) >= 0)
                load_line(fake, line);
        (void) fclose(f);
}

void fakedamon_set_node_memory(FakeDamon *fake, int nid, uint64_t total_bytes,
                               uint64_t free_bytes) {
        _cleanup_(freep) char *path = NULL, *text = NULL;

        if (asprintf(&path, "sys/devices/system/node/node%d/meminfo", nid) < 0 ||
            asprintf(&text, "Node %d MemTotal: %14llu kB\nNode %d MemFree: %15llu kB\n", nid,
                     (unsigned long long) total_bytes / 1024, nid,
                     (unsigned long long) free_bytes / 1024) < 0)
                abort();
        (void) put_file(fake, path, text);
}

/* False when the node is not there. */
bool fakedamon_node_memory(FakeDamon *fake, int nid, uint64_t *ret_total, uint64_t *ret_free) {
        _cleanup_(freep) char *path = NULL;
        const File *file;
        const char *total, *free_text;

        if (asprintf(&path, "sys/devices/system/node/node%d/meminfo", nid) < 0)
                abort();
        file = find_file(fake, path);
        if (!file || !file->text)
                return false;

        total = strstr(file->text, "MemTotal:");
        free_text = strstr(file->text, "MemFree:");
        *ret_total = total ? strtoull(total + strlen("MemTotal:"), NULL, 10) : 0;
        *ret_free = free_text ? strtoull(free_text + strlen("MemFree:"), NULL, 10) : 0;
        return true;
}

/* Without any node's files the test is not about nodes. */
bool fakedamon_node_is_unfit(FakeDamon *fake, int nid) {
        uint64_t total = 0, free_bytes;

        for (size_t i = 0; i < fake->n_files; i++)
                if (strstr(fake->files[i].path, "/node0/meminfo"))
                        return !fakedamon_node_memory(fake, nid, &total, &free_bytes) || total == 0;

        return false;
}

/* Modules ---------------------------------------------------------------------------------- */

static void put_module(FakeDamon *fake, const char *name, bool on) {
        _cleanup_(freep) char *path = NULL;

        if (asprintf(&path, "sys/module/%s/parameters/enabled", name) < 0)
                abort();
        put_file(fake, path, on ? "Y\n" : "N\n")->is_module = true;
}

void fakedamon_set_module(FakeDamon *fake, const char *name, bool on) {
        put_module(fake, name, on);
}

bool fakedamon_any_module_runs(const FakeDamon *fake) {
        for (size_t i = 0; i < fake->n_files; i++)
                if (fake->files[i].is_module && fake->files[i].text[0] == 'Y')
                        return true;

        return false;
}

/* A module's kdamond is exclusive: it starts only when nothing else runs. */
static int store_module(FakeDamon *fake, File *file, const char *value) {
        bool on;
        int r;

        r = fake_kstrtobool(value, &on);
        if (r < 0)
                return r;
        if (on && file->text[0] != 'Y' &&
            (fakedamon_any_module_runs(fake) || fakedamon_n_running(fake) > 0))
                return -EBUSY;

        file->text[0] = on ? 'Y' : 'N';
        return 0;
}

void fakedamon_add_memcg(FakeDamon *fake, const char *path) {
        must_grow(ARRAY_GROW(fake->memcgs, fake->n_memcgs_alloc, fake->n_memcgs + 1));
        fake->memcgs[fake->n_memcgs++] = must(strdup(path));
}

bool fakedamon_memcg_exists(const FakeDamon *fake, const char *path) {
        size_t len = strlen(path);

        len -= len > 0 && path[len - 1] == '\n';
        for (size_t i = 0; i < fake->n_memcgs; i++)
                if (strlen(fake->memcgs[i]) == len && strncmp(fake->memcgs[i], path, len) == 0)
                        return true;

        return false;
}

/* Backend ---------------------------------------------------------------------------------- */

void fakedamon_fail_nth(FakeDamon *fake, unsigned nth, int error) {
        fake->fail_in = nth;
        fake->fail_error = error;
}

void fakedamon_fail_path(FakeDamon *fake, const char *suffix, int error, unsigned times) {
        must_grow(ARRAY_GROW(fake->failures, fake->n_failures_alloc, fake->n_failures + 1));
        fake->failures[fake->n_failures++] =
                (Failure){.suffix = must(strdup(suffix)), .error = error, .times = times};
}

void fakedamon_hold_lock(FakeDamon *fake, unsigned times) {
        fake->lock_held = times;
}

static bool ends_with(const char *s, const char *suffix) {
        size_t len = strlen(s), suffix_len = strlen(suffix);

        return len >= suffix_len && strcmp(s + len - suffix_len, suffix) == 0;
}

static int injected_failure(FakeDamon *fake, const char *path) {
        if (fake->fail_in > 0 && --fake->fail_in == 0)
                return fake->fail_error;

        for (size_t i = 0; i < fake->n_failures; i++)
                if (fake->failures[i].times > 0 && ends_with(path, fake->failures[i].suffix)) {
                        fake->failures[i].times--;
                        return fake->failures[i].error;
                }

        return 0;
}

static int take_lock(FakeDamon *fake) {
        if (fake->lock_held == 0)
                return 0;

        fake->lock_held--;
        return -EBUSY;
}

/* Below admin/, else NULL. */
static const char *admin_path(const char *path) {
        size_t len = strlen(ADMIN);

        if (strncmp(path, ADMIN, len) != 0)
                return NULL;
        if (path[len] == '\0')
                return path + len;
        return path[len] == '/' ? path + len + 1 : NULL;
}

static int show(FakeDamon *fake, FakeNode *node, char **ret) {
        const char *value = node->value;
        int r;

        if (!node->attr)
                return -EISDIR;

        /* a count is read without the lock */
        r = node->attr->locked && node->attr->type != FAKE_COUNT ? take_lock(fake) : 0;
        if (r < 0)
                return r;

        if (node->attr->type == FAKE_STATE || node->attr->type == FAKE_PID) {
                const Kdamond *k = fakekdamond_of(node->parent);
                bool runs = k->status == STATUS_RUNNING;

                if (node->attr->type == FAKE_PID)
                        return asprintf(ret, "%d\n", runs ? k->pid : -1) < 0 ? -ENOMEM : 0;
                value = runs ? "on" : "off";
        }

        return asprintf(ret, "%s\n", value) < 0 ? -ENOMEM : 0;
}

/* A directory of plain files is there when something is in it. */
static bool is_plain_dir(const FakeDamon *fake, const char *path) {
        size_t len = strlen(path);

        for (size_t i = 0; i < fake->n_files; i++)
                if (strncmp(fake->files[i].path, path, len) == 0 && fake->files[i].path[len] == '/')
                        return true;

        return len < strlen(ADMIN) && strncmp(ADMIN, path, len) == 0 && ADMIN[len] == '/';
}

static int get_text(FakeDamon *fake, const char *path, char **ret) {
        const char *below = admin_path(path);
        const File *file;

        if (below) {
                FakeNode *node = faketree_find(fake->tree, below);

                return node ? show(fake, node, ret) : -ENOENT;
        }

        file = find_file(fake, path);
        if (!file)
                return is_plain_dir(fake, path) ? -EISDIR : -ENOENT;
        if (!file->text)
                return -EISDIR;

        *ret = must(strdup(file->text));
        return 0;
}

static int fake_read(void *userdata, const char *path, char *buf, size_t size, size_t *ret_len) {
        FakeDamon *fake = userdata;
        _cleanup_(freep) char *text = NULL;
        size_t len;
        int r;

        r = injected_failure(fake, path);
        if (r < 0)
                return r;

        r = get_text(fake, path, &text);
        if (r < 0)
                return r;

        len = strlen(text);
        if (len >= size)
                return -E2BIG;

        memcpy(buf, text, len + 1);
        *ret_len = len;
        return 0;
}

/* As damon_sysfs_{nr,state,...}_store(): parse, then the lock, then the rest. */
static int store_node(FakeDamon *fake, FakeNode *node, const char *value) {
        int r;

        if (!node->attr)
                return -EISDIR;
        if (faketree_mode(node->attr) == 0400)
                return -EACCES;

        r = node->attr->locked ? take_lock(fake) : 0;
        if (r < 0)
                return r;

        if (node->attr->type == FAKE_STATE)
                return fakekdamond_store_state(fake, node->parent, value);
        if (strcmp(node->name, "nr_kdamonds") == 0 && fakedamon_n_running(fake) > 0)
                return -EBUSY;
        return faketree_store(fake->rung, node, value);
}

static int store_plain(FakeDamon *fake, const char *path, const char *value) {
        File *file = find_file(fake, path);

        if (!file)
                return is_plain_dir(fake, path) ? -EISDIR : -ENOENT;
        if (!file->text)
                return -EISDIR;
        if (file->is_module)
                return store_module(fake, file, value);

        (void) put_file(fake, path, value);
        return 0;
}

static int fake_write(void *userdata, const char *path, const char *value) {
        FakeDamon *fake = userdata;
        const char *below = admin_path(path);
        FakeNode *node;
        int r;

        r = injected_failure(fake, path);
        if (r < 0)
                return r;
        if (!below)
                return store_plain(fake, path, value);

        node = faketree_find(fake->tree, below);
        return node ? store_node(fake, node, value) : -ENOENT;
}

static int fake_exists(void *userdata, const char *path) {
        FakeDamon *fake = userdata;
        const char *below = admin_path(path);
        int r;

        r = injected_failure(fake, path);
        if (r < 0)
                return r;
        if (below)
                return faketree_find(fake->tree, below) ? 0 : -ENOENT;

        return find_file(fake, path) || is_plain_dir(fake, path) ? 0 : -ENOENT;
}

typedef struct Names {
        char **items;
        size_t n_items;
        size_t n_alloc;
} Names;

static void add_name(Names *names, const char *name, size_t len) {
        for (size_t i = 0; i < names->n_items; i++)
                if (strncmp(names->items[i], name, len) == 0 && names->items[i][len] == '\0')
                        return;

        must_grow(ARRAY_GROW(names->items, names->n_alloc, names->n_items + 2));
        names->items[names->n_items++] = must(strndup(name, len));
        names->items[names->n_items] = NULL;
}

static int compare_names(const void *a, const void *b) {
        const char *const *x = a;
        const char *const *y = b;

        return strcmp(*x, *y);
}

static void list_plain(const FakeDamon *fake, const char *path, Names *names) {
        size_t len = strlen(path);

        for (size_t i = 0; i < fake->n_files; i++) {
                const char *at = fake->files[i].path;

                if (strncmp(at, path, len) == 0 && at[len] == '/')
                        add_name(names, at + len + 1, strcspn(at + len + 1, "/"));
        }
        if (len < strlen(ADMIN) && strncmp(ADMIN, path, len) == 0 && ADMIN[len] == '/')
                add_name(names, &ADMIN[len + 1], strcspn(&ADMIN[len + 1], "/"));
}

static int fake_list(void *userdata, const char *path, char ***ret) {
        FakeDamon *fake = userdata;
        const char *below = admin_path(path);
        Names names = {0};
        int r;

        r = injected_failure(fake, path);
        if (r < 0)
                return r;

        must_grow(ARRAY_GROW(names.items, names.n_alloc, 1));
        if (below) {
                const FakeNode *node = faketree_find(fake->tree, below);

                for (size_t i = 0; node && i < node->n_children; i++)
                        add_name(&names, node->children[i]->name, strlen(node->children[i]->name));
                r = !node ? -ENOENT : node->attr ? -ENOTDIR : 0;
        } else if (is_plain_dir(fake, path))
                list_plain(fake, path, &names);
        else
                r = find_file(fake, path) ? -ENOTDIR : -ENOENT;

        if (r < 0) {
                (void) sysfs_names_free(names.items);
                return r;
        }

        qsort(names.items, names.n_items, sizeof(*names.items), compare_names);
        *ret = names.items;
        return 0;
}

static void fake_free(void *userdata) {
        FakeDamon *fake = userdata;

        for (size_t i = 0; i < fake->n_files; i++) {
                free(fake->files[i].path);
                free(fake->files[i].text);
        }
        for (size_t i = 0; i < fake->n_failures; i++)
                free(fake->failures[i].suffix);
        for (size_t i = 0; i < fake->n_memcgs; i++)
                free(fake->memcgs[i]);
        free(fake->files);
        free(fake->failures);
        free(fake->memcgs);
        free(fake->bugs);
        (void) faketree_free(fake->tree);
        free(fake);
}

FakeDamon *fakedamon_new(FakeRung rung, Sysfs **ret_sysfs) {
        static const SysfsBackend backend = {
                .read = fake_read,
                .write = fake_write,
                .exists = fake_exists,
                .list = fake_list,
                .free = fake_free,
        };
        FakeDamon *fake = must(calloc(1, sizeof(*fake)));

        fake->rung = rung;
        fake->tree = faketree_new(rung);
        fake->bugs = must(strdup(""));
        fake->next_pid = 1000;
        put_module(fake, "damon_reclaim", false);
        put_module(fake, "damon_lru_sort", false);
        if (rung >= FAKE_6_17)
                put_module(fake, "damon_stat", true);

        must_grow(sysfs_new_backend_consume(&backend, fake, ret_sysfs));
        return fake;
}
