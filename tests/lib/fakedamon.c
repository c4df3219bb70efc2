/* SPDX-License-Identifier: GPL-2.0-or-later */

/* What DAMON does with the files of faketree: state words, staged and running copies, exclusion,
 * one lock, quotas, death. It works at once: a command never blocks, time passes only in
 * fakedamon_step(). Where kernels differ, the rung decides; where they are broken, what they were
 * sent is noted (fakedamon_bugs()), so that a test can say that we never send it. */

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "fakedamon.h"

#define ADMIN "sys/kernel/mm/damon/admin"
#define CONTEXT "contexts/0"
#define ESZ_MAX ULONG_MAX

typedef enum Status {
        STATUS_NEVER, /* or the last "on" failed: there is no context */
        STATUS_RUNNING,
        STATUS_STOPPED,
} Status;

typedef struct Region {
        uint64_t start;
        uint64_t end;
        unsigned nr_accesses;
        unsigned age;
} Region;

typedef struct Scheme {
        uint64_t nr_tried, sz_tried, nr_applied, sz_applied, qt_exceeds;
        uint64_t sz_ops_filter_passed, nr_snapshots;
        uint64_t esz_bp;
        uint64_t esz;
        uint64_t window_ms; /* since the window began */
        bool has_window;
        Region *regions;
        size_t n_regions;
        size_t n_alloc;
} Scheme;

typedef struct Kdamond {
        Status status;
        int pid;
        FakeNode *running; /* a copy of contexts/0 */
        Scheme *schemes;
        size_t n_schemes;
        uint64_t refresh_ms; /* since the last refresh */
        bool stale;          /* was sent a command while stopped: its call control is stuck */
} Kdamond;

typedef struct File {
        char *path;
        char *text; /* NULL: a link or an empty directory, only for lists */
        bool is_module;
} File;

typedef struct Failure {
        char *suffix;
        int error;
        unsigned times;
} Failure;

struct FakeDamon {
        FakeRung rung;
        FakeNode *tree;
        File *files;
        size_t n_files;
        size_t n_files_alloc;
        Failure *failures;
        size_t n_failures;
        size_t n_failures_alloc;
        char **memcgs;
        size_t n_memcgs;
        size_t n_memcgs_alloc;
        unsigned fail_in; /* 0: never */
        int fail_error;
        unsigned lock_held;
        int next_pid;
        char *bugs;
};

static void *must(void *p) {
        if (!p)
                abort();
        return p;
}

static void must_grow(int r) {
        if (r < 0)
                abort();
}

static void _printf_(2, 3) note_bug(FakeDamon *fake, const char *fmt, ...) {
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
static bool node_memory(FakeDamon *fake, int nid, uint64_t *ret_total, uint64_t *ret_free) {
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
static bool node_is_unfit(FakeDamon *fake, int nid) {
        uint64_t total = 0, free_bytes;

        for (size_t i = 0; i < fake->n_files; i++)
                if (strstr(fake->files[i].path, "/node0/meminfo"))
                        return !node_memory(fake, nid, &total, &free_bytes) || total == 0;

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

static bool any_module_runs(const FakeDamon *fake) {
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
        if (on && file->text[0] != 'Y' && (any_module_runs(fake) || fakedamon_n_running(fake) > 0))
                return -EBUSY;

        file->text[0] = on ? 'Y' : 'N';
        return 0;
}

void fakedamon_add_memcg(FakeDamon *fake, const char *path) {
        must_grow(ARRAY_GROW(fake->memcgs, fake->n_memcgs_alloc, fake->n_memcgs + 1));
        fake->memcgs[fake->n_memcgs++] = must(strdup(path));
}

static bool memcg_exists(const FakeDamon *fake, const char *path) {
        size_t len = strlen(path);

        len -= len > 0 && path[len - 1] == '\n';
        for (size_t i = 0; i < fake->n_memcgs; i++)
                if (strlen(fake->memcgs[i]) == len && strncmp(fake->memcgs[i], path, len) == 0)
                        return true;

        return false;
}

/* Kdamonds --------------------------------------------------------------------------------- */

static void kdamond_reset(Kdamond *k) {
        for (size_t i = 0; i < k->n_schemes; i++)
                free(k->schemes[i].regions);
        free(k->schemes);
        (void) faketree_free(k->running);
        k->schemes = NULL;
        k->n_schemes = 0;
        k->running = NULL;
}

static void kdamond_free(void *data) {
        Kdamond *k = data;

        kdamond_reset(k);
        free(k);
}

/* The directory of a kdamond, with its data. */
static Kdamond *kdamond_of(FakeNode *dir) {
        if (!dir->data) {
                dir->data = must(calloc(1, sizeof(Kdamond)));
                dir->data_free = kdamond_free;
        }

        return dir->data;
}

static FakeNode *kdamond_dir(FakeDamon *fake, size_t kdamond) {
        return faketree_child(fake->tree, "kdamonds", kdamond);
}

static Kdamond *kdamond_at(FakeDamon *fake, size_t kdamond) {
        return kdamond_of(kdamond_dir(fake, kdamond));
}

unsigned fakedamon_n_running(FakeDamon *fake) {
        size_t n_kdamonds = faketree_count(fake->tree, "kdamonds");
        unsigned n = 0;

        for (size_t i = 0; i < n_kdamonds; i++)
                n += kdamond_at(fake, i)->status == STATUS_RUNNING;

        return n;
}

bool fakedamon_is_running(FakeDamon *fake, size_t kdamond) {
        return kdamond < faketree_count(fake->tree, "kdamonds") &&
               kdamond_at(fake, kdamond)->status == STATUS_RUNNING;
}

int fakedamon_pid(FakeDamon *fake, size_t kdamond) {
        return fakedamon_is_running(fake, kdamond) ? kdamond_at(fake, kdamond)->pid : -1;
}

/* Goes on as a context that ended: its numbers are gone, the files keep what they show. */
static void kdamond_end(Kdamond *k) {
        kdamond_reset(k);
        k->status = STATUS_STOPPED;
}

void fakedamon_kill(FakeDamon *fake, size_t kdamond) {
        if (fakedamon_is_running(fake, kdamond))
                kdamond_end(kdamond_at(fake, kdamond));
}

const char *fakedamon_running(FakeDamon *fake, size_t kdamond, const char *path) {
        FakeNode *node;

        if (!fakedamon_is_running(fake, kdamond))
                return NULL;

        node = faketree_find(kdamond_at(fake, kdamond)->running, path);
        return node ? node->value : NULL;
}

static Scheme *scheme_at(FakeDamon *fake, size_t kdamond, size_t scheme) {
        Kdamond *k = kdamond_at(fake, kdamond);

        if (k->status != STATUS_RUNNING || scheme >= k->n_schemes)
                abort();
        return &k->schemes[scheme];
}

static uint64_t *stat_of(Scheme *s, const char *name) {
        const struct {
                const char *name;
                uint64_t *value;
        } table[] = {
                {"nr_tried", &s->nr_tried},
                {"sz_tried", &s->sz_tried},
                {"nr_applied", &s->nr_applied},
                {"sz_applied", &s->sz_applied},
                {"qt_exceeds", &s->qt_exceeds},
                {"sz_ops_filter_passed", &s->sz_ops_filter_passed},
                {"nr_snapshots", &s->nr_snapshots},
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (strcmp(table[i].name, name) == 0)
                        return table[i].value;

        abort();
}

void fakedamon_set_stat(FakeDamon *fake, size_t kdamond, size_t scheme, const char *name,
                        uint64_t value) {
        *stat_of(scheme_at(fake, kdamond, scheme), name) = value;
}

void fakedamon_add_stat(FakeDamon *fake, size_t kdamond, size_t scheme, const char *name,
                        uint64_t value) {
        *stat_of(scheme_at(fake, kdamond, scheme), name) += value;
}

void fakedamon_add_region(FakeDamon *fake, size_t kdamond, size_t scheme, uint64_t start,
                          uint64_t end, unsigned nr_accesses, unsigned age) {
        Scheme *s = scheme_at(fake, kdamond, scheme);

        must_grow(ARRAY_GROW(s->regions, s->n_alloc, s->n_regions + 1));
        s->regions[s->n_regions++] = (Region){start, end, nr_accesses, age};
}

void fakedamon_set_tuned(FakeDamon *fake, size_t kdamond, uint64_t sample_us, uint64_t aggr_us) {
        FakeNode *running = kdamond_at(fake, kdamond)->running;

        faketree_setf(must(faketree_find(running, "monitoring_attrs/intervals/sample_us")), "%llu",
                      (unsigned long long) sample_us);
        faketree_setf(must(faketree_find(running, "monitoring_attrs/intervals/aggr_us")), "%llu",
                      (unsigned long long) aggr_us);
}

uint64_t fakedamon_esz(FakeDamon *fake, size_t kdamond, size_t scheme) {
        return scheme_at(fake, kdamond, scheme)->esz;
}

/* Checks at "on" and "commit" ---------------------------------------------------------------- */

static bool is_word(FakeNode *node, const char *path, const char *word) {
        return strcmp(faketree_value(node, path), word) == 0;
}

static int check_attrs(FakeNode *context) {
        FakeNode *attrs = faketree_find(context, "monitoring_attrs");
        uint64_t sample = faketree_number(attrs, "intervals/sample_us");
        uint64_t min = faketree_number(attrs, "nr_regions/min");

        if (min < 3 || min > faketree_number(attrs, "nr_regions/max"))
                return -EINVAL;
        if (sample > faketree_number(attrs, "intervals/aggr_us"))
                return -EINVAL;
        if (faketree_find(attrs, "intervals/intervals_goal") &&
            faketree_number(attrs, "intervals/intervals_goal/aggrs") > 0 &&
            (sample < faketree_number(attrs, "intervals/intervals_goal/min_sample_us") ||
             sample > faketree_number(attrs, "intervals/intervals_goal/max_sample_us")))
                return -EINVAL;

        return 0;
}

static int check_regions(const FakeDamon *fake, FakeNode *target) {
        size_t n = faketree_count(target, "regions");
        uint64_t last_end = 0;

        for (size_t i = 0; i < n; i++) {
                FakeNode *region = faketree_child(target, "regions", i);
                uint64_t start = faketree_number(region, "start") & ~UINT64_C(4095);
                uint64_t end = faketree_number(region, "end");

                if (faketree_number(region, "start") > end ||
                    (faketree_number(region, "start") == end && fake->rung > FAKE_7_0))
                        return -EINVAL;
                end = end > UINT64_MAX - 4095 ? end : (end + 4095) & ~UINT64_C(4095);
                if (i > 0 && start < last_end)
                        return -EINVAL;
                last_end = end;
        }

        return 0;
}

static int check_targets(const FakeDamon *fake, FakeNode *context, bool is_on) {
        size_t n = faketree_count(context, "targets");
        int r;

        if (is_word(context, "operations", "paddr") && n > 1)
                return -EINVAL;

        for (size_t i = 0; i < n; i++) {
                FakeNode *target = faketree_child(context, "targets", i);

                /* up to 7.2 it is simply watched */
                if (is_on && fake->rung >= FAKE_7_3 && is_word(target, "obsolete_target", "Y"))
                        return -EINVAL;
                /* no process of a test is a kernel's */
                if (!is_word(context, "operations", "paddr") && is_word(target, "pid_target", "0"))
                        return -EINVAL;

                r = check_regions(fake, target);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int check_filters(const FakeDamon *fake, FakeNode *scheme, const char *dir) {
        size_t n = faketree_find(scheme, dir) ? faketree_count(scheme, dir) : 0;

        for (size_t i = 0; i < n; i++) {
                FakeNode *filter = faketree_child(scheme, dir, i);

                if (is_word(filter, "type", "memcg") &&
                    !memcg_exists(fake, faketree_value(filter, "memcg_path")))
                        return -ENOMEM;
                if (is_word(filter, "type", "addr") &&
                    faketree_number(filter, "addr_end") < faketree_number(filter, "addr_start"))
                        return -ENOMEM;
                if (is_word(filter, "type", "hugepage_size") &&
                    faketree_number(filter, "min") > faketree_number(filter, "max"))
                        return -ENOMEM;
        }

        return 0;
}

/* @error: what a missing control group is answered with. */
static int check_goals(const FakeDamon *fake, FakeNode *context, FakeNode *scheme, int error) {
        size_t n = faketree_count(scheme, "quotas/goals");

        for (size_t i = 0; i < n; i++) {
                FakeNode *goal = faketree_child(scheme, "quotas/goals", i);
                const char *metric = faketree_value(goal, "target_metric");

                if (strncmp(metric, "node_memcg_", strlen("node_memcg_")) == 0 &&
                    !memcg_exists(fake, faketree_value(goal, "path")))
                        return error;
                if (strcmp(metric, "node_eligible_mem_bp") == 0 &&
                    !is_word(context, "operations", "paddr"))
                        return -EINVAL;
        }

        return 0;
}

static bool is_power_of_two(uint64_t n) {
        return n > 0 && (n & (n - 1)) == 0;
}

static int check_context(const FakeDamon *fake, FakeNode *context, bool is_on) {
        size_t n = faketree_count(context, "schemes");
        int r;

        if (fake->rung >= FAKE_7_0 && is_word(context, "operations", "paddr")) {
                uint64_t unit = faketree_number(context, "addr_unit");

                if (!is_power_of_two(MAX(4096 / unit, UINT64_C(1))))
                        return -EINVAL;
        }

        r = check_attrs(context);
        if (r < 0)
                return r;

        r = check_targets(fake, context, is_on);
        if (r < 0)
                return r;

        for (size_t i = 0; i < n; i++) {
                static const char *const dirs[] = {"filters", "core_filters", "ops_filters"};
                FakeNode *scheme = faketree_child(context, "schemes", i);

                for (size_t k = 0; k < ELEMENTSOF(dirs); k++) {
                        r = check_filters(fake, scheme, dirs[k]);
                        if (r < 0)
                                return r;
                }

                r = check_goals(fake, context, scheme, -ENOMEM);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* What the kernel does not check, and does not survive. */
static void check_nodes(FakeDamon *fake, FakeNode *context) {
        size_t n = faketree_count(context, "schemes");

        for (size_t i = 0; i < n; i++) {
                FakeNode *scheme = faketree_child(context, "schemes", i);
                size_t n_goals = faketree_count(scheme, "quotas/goals");
                int nid = atoi(faketree_value(scheme, "target_nid"));

                if (strncmp(faketree_value(scheme, "action"), "migrate_", 8) == 0 &&
                    node_is_unfit(fake, nid))
                        note_bug(fake, "migration to node %d, which has no memory", nid);

                for (size_t k = 0; k < n_goals; k++) {
                        FakeNode *goal = faketree_child(scheme, "quotas/goals", k);

                        if (strncmp(faketree_value(goal, "target_metric"), "node_", 5) != 0)
                                continue;
                        nid = atoi(faketree_value(goal, "nid"));
                        if (node_is_unfit(fake, nid))
                                note_bug(fake, "goal on node %d, which has no memory", nid);
                }
        }
}

/* Commands --------------------------------------------------------------------------------- */

/* Schemes that were there before go on with their numbers. */
static void resize_schemes(Kdamond *k) {
        size_t n = faketree_count(k->running, "schemes");
        Scheme *schemes = must(calloc(MAX(n, (size_t) 1), sizeof(*schemes)));

        for (size_t i = 0; i < k->n_schemes; i++) {
                if (i < n)
                        schemes[i] = k->schemes[i];
                else
                        free(k->schemes[i].regions);
        }
        free(k->schemes);
        k->schemes = schemes;
        k->n_schemes = n;
}

static int command_on(FakeDamon *fake, FakeNode *dir, Kdamond *k) {
        FakeNode *context = faketree_find(dir, CONTEXT);
        int r;

        if (k->status == STATUS_RUNNING)
                return -EBUSY;

        /* the old context goes first, also when there will be no new one */
        kdamond_reset(k);
        k->status = STATUS_NEVER;
        k->stale = false;
        r = check_context(fake, context, /* is_on= */ true);
        if (r < 0)
                return r;
        if (any_module_runs(fake))
                return -EBUSY;

        check_nodes(fake, context);
        k->status = STATUS_RUNNING;
        k->pid = fake->next_pid++;
        k->running = faketree_clone(context);
        resize_schemes(k);
        return 0;
}

static int command_off(const FakeDamon *fake, Kdamond *k) {
        if (k->status == STATUS_NEVER)
                return -EINVAL;
        if (k->status == STATUS_STOPPED)
                return fake->rung >= FAKE_7_3 ? 0 : -EPERM;

        kdamond_end(k);
        return 0;
}

/* No regions staged means: keep those that are watched. */
static void keep_regions(FakeNode *old, FakeNode *new) {
        size_t n = MIN(faketree_count(old, "targets"), faketree_count(new, "targets"));

        for (size_t i = 0; i < n; i++) {
                FakeNode *from = faketree_child(old, "targets", i);
                FakeNode *to = faketree_child(new, "targets", i);

                if (faketree_count(to, "regions") == 0)
                        faketree_replace(faketree_find(to, "regions"),
                                         faketree_clone(faketree_find(from, "regions")));
        }
}

static int command_commit(FakeDamon *fake, FakeNode *dir, Kdamond *k) {
        FakeNode *context = faketree_find(dir, CONTEXT), *running;
        int r;

        r = check_context(fake, context, /* is_on= */ false);
        if (r < 0 && fake->rung == FAKE_6_12) {
                kdamond_end(k); /* and nobody is told */
                return 0;
        }
        if (r < 0)
                return r;

        check_nodes(fake, context);
        running = faketree_clone(context);
        keep_regions(k->running, running);
        (void) faketree_free(k->running);
        k->running = running;
        resize_schemes(k);
        return 0;
}

static int command_commit_goals(FakeDamon *fake, FakeNode *dir, Kdamond *k) {
        FakeNode *context = faketree_find(dir, CONTEXT);
        size_t n = MIN(faketree_count(context, "schemes"), faketree_count(k->running, "schemes"));
        int r;

        for (size_t i = 0; i < n; i++) {
                r = check_goals(fake, context, faketree_child(context, "schemes", i), -EINVAL);
                if (r < 0)
                        return fake->rung == FAKE_6_12 ? 0 : r;
        }

        for (size_t i = 0; i < n; i++) {
                FakeNode *from = faketree_child(context, "schemes", i);
                FakeNode *to = faketree_child(k->running, "schemes", i);

                faketree_replace(faketree_find(to, "quotas/goals"),
                                 faketree_clone(faketree_find(from, "quotas/goals")));
        }
        check_nodes(fake, k->running);
        return 0;
}

static void show_number(FakeNode *dir, const char *path, uint64_t value) {
        FakeNode *file = faketree_find(dir, path);

        if (file)
                faketree_setf(file, "%llu", (unsigned long long) value);
}

static int command_stats(FakeDamon *fake, FakeNode *dir, Kdamond *k) {
        size_t n = MIN(faketree_count(dir, CONTEXT "/schemes"), k->n_schemes);
        (void) fake;

        for (size_t i = 0; i < n; i++) {
                FakeNode *scheme = faketree_child(dir, CONTEXT "/schemes", i);
                const Scheme *s = &k->schemes[i];

                show_number(scheme, "stats/nr_tried", s->nr_tried);
                show_number(scheme, "stats/sz_tried", s->sz_tried);
                show_number(scheme, "stats/nr_applied", s->nr_applied);
                show_number(scheme, "stats/sz_applied", s->sz_applied);
                show_number(scheme, "stats/qt_exceeds", s->qt_exceeds);
                show_number(scheme, "stats/sz_ops_filter_passed", s->sz_ops_filter_passed);
                show_number(scheme, "stats/nr_snapshots", s->nr_snapshots);
        }
        return 0;
}

static int command_quotas(FakeDamon *fake, FakeNode *dir, Kdamond *k) {
        size_t n = MIN(faketree_count(dir, CONTEXT "/schemes"), k->n_schemes);
        (void) fake;

        for (size_t i = 0; i < n; i++)
                show_number(faketree_child(dir, CONTEXT "/schemes", i), "quotas/effective_bytes",
                            k->schemes[i].esz);
        return 0;
}

/* Overwrites what is staged. */
static int command_intervals(FakeDamon *fake, FakeNode *dir, Kdamond *k) {
        static const char *const names[] = {"sample_us", "aggr_us"};
        (void) fake;

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                _cleanup_(freep) char *path = NULL;

                if (asprintf(&path, "monitoring_attrs/intervals/%s", names[i]) < 0)
                        abort();
                faketree_set(faketree_find(faketree_find(dir, CONTEXT), path),
                             faketree_value(k->running, path));
        }
        return 0;
}

static void clear_regions(FakeNode *dir) {
        size_t n = faketree_count(dir, CONTEXT "/schemes");

        for (size_t i = 0; i < n; i++)
                faketree_remove_numbered(
                        faketree_find(faketree_child(dir, CONTEXT "/schemes", i), "tried_regions"));
}

static void show_region(const FakeDamon *fake, FakeNode *tried, size_t i, const Region *region) {
        /* up to 7.0 the numbers have gaps */
        size_t number = fake->rung <= FAKE_7_0 ? i * 2 + 1 : i;
        FakeNode *dir = faketree_add_numbered(fake->rung, tried, number);

        show_number(dir, "start", region->start);
        show_number(dir, "end", region->end);
        show_number(dir, "nr_accesses", region->nr_accesses);
        show_number(dir, "age", region->age);
}

static int show_tried(const FakeDamon *fake, FakeNode *dir, Kdamond *k, bool regions) {
        size_t n = MIN(faketree_count(dir, CONTEXT "/schemes"), k->n_schemes);

        clear_regions(dir);
        if (k->n_schemes == 0)
                return fake->rung == FAKE_6_12 ? 0 : -ECANCELED;

        for (size_t i = 0; i < n; i++) {
                FakeNode *scheme = faketree_child(dir, CONTEXT "/schemes", i);
                uint64_t bytes = 0;

                for (size_t m = 0; m < k->schemes[i].n_regions; m++) {
                        const Region *region = &k->schemes[i].regions[m];

                        bytes += region->end - region->start;
                        if (regions)
                                show_region(fake, faketree_find(scheme, "tried_regions"), m,
                                            region);
                }
                show_number(scheme, "tried_regions/total_bytes", bytes);
        }
        return 0;
}

static int command_tried_bytes(FakeDamon *fake, FakeNode *dir, Kdamond *k) {
        return show_tried(fake, dir, k, /* regions= */ false);
}

static int command_tried_regions(FakeDamon *fake, FakeNode *dir, Kdamond *k) {
        return show_tried(fake, dir, k, /* regions= */ true);
}

static const struct {
        const char *word;
        FakeRung since;
        int (*run)(FakeDamon *fake, FakeNode *dir, Kdamond *k);
} commands[] = {
        {"commit", 0, command_commit},
        {"commit_schemes_quota_goals", 0, command_commit_goals},
        {"update_schemes_stats", 0, command_stats},
        {"update_schemes_effective_quotas", 0, command_quotas},
        {"update_tuned_intervals", FAKE_6_16, command_intervals},
        {"update_schemes_tried_bytes", 0, command_tried_bytes},
        {"update_schemes_tried_regions", 0, command_tried_regions},
};

/* A command for a kdamond that does not run. From 6.16 to 6.18 the request stays behind, and the
 * next one meets it; in 6.18 only that for regions. */
static int refuse_command(FakeDamon *fake, Kdamond *k, const char *word) {
        bool is_walk = strncmp(word, "update_schemes_tried_", strlen("update_schemes_tried_")) == 0;

        if (fake->rung >= FAKE_7_0 && k->status == STATUS_STOPPED)
                return -ECANCELED;
        if (k->status == STATUS_NEVER || fake->rung == FAKE_6_12 || fake->rung >= FAKE_6_19 ||
            (fake->rung == FAKE_6_18 && !is_walk))
                return -EINVAL;

        note_bug(fake, "a command for a kdamond that has stopped");
        if (k->stale)
                return -EBUSY;
        k->stale = true;
        return -EINVAL;
}

static int command_clear(FakeDamon *fake, FakeNode *dir, const Kdamond *k) {
        if (faketree_count(dir, "contexts") == 0) {
                if (fake->rung <= FAKE_6_17)
                        note_bug(fake, "clear_schemes_tried_regions without a context");
                return -EINVAL;
        }
        if (fake->rung == FAKE_6_12 && k->status != STATUS_RUNNING)
                return -EINVAL;

        clear_regions(dir);
        return 0;
}

static int store_state(FakeDamon *fake, FakeNode *dir, const char *value) {
        size_t len = strcspn(value, "\n");
        _cleanup_(freep) char *word = must(strndup(value, len));
        Kdamond *k = kdamond_of(dir);

        if (value[len] == '\n' && value[len + 1] != '\0')
                return -EINVAL;
        if (strcmp(word, "off") == 0)
                return command_off(fake, k);
        if (strcmp(word, "clear_schemes_tried_regions") == 0)
                return command_clear(fake, dir, k);
        if (strcmp(word, "on") == 0)
                return faketree_count(dir, "contexts") == 1 ? command_on(fake, dir, k) : -EINVAL;

        for (size_t i = 0; i < ELEMENTSOF(commands); i++) {
                if (commands[i].since > fake->rung || strcmp(word, commands[i].word) != 0)
                        continue;
                if (faketree_count(dir, "contexts") != 1)
                        return -EINVAL;
                return k->status == STATUS_RUNNING ? commands[i].run(fake, dir, k)
                                                   : refuse_command(fake, k, word);
        }

        return -EINVAL;
}

/* Time ------------------------------------------------------------------------------------- */

static uint64_t goal_current(FakeDamon *fake, FakeNode *goal) {
        uint64_t total = 0, free_kib = 0;

        if (is_word(goal, "target_metric", "user_input"))
                return faketree_number(goal, "current_value");
        if (!is_word(goal, "target_metric", "node_mem_used_bp") &&
            !is_word(goal, "target_metric", "node_mem_free_bp"))
                return 0; /* not modelled */

        /* an absent node counts as empty */
        if (!node_memory(fake, atoi(faketree_value(goal, "nid")), &total, &free_kib) || total == 0)
                return is_word(goal, "target_metric", "node_mem_used_bp") ? 0 : 10000;
        return (is_word(goal, "target_metric", "node_mem_used_bp") ? total - free_kib : free_kib) *
               10000 / total;
}

/* mm/damon/core.c:damos_quota_score(): the most satisfied goal counts. False without goals. */
static bool goals_score(FakeDamon *fake, FakeNode *quotas, uint64_t *ret) {
        size_t n = faketree_count(quotas, "goals");
        bool any = false;

        *ret = 0;
        for (size_t i = 0; i < n; i++) {
                FakeNode *goal = faketree_child(quotas, "goals", i);
                uint64_t target = faketree_number(goal, "target_value");

                if (target == 0)
                        continue;
                any = true;
                *ret = MAX(*ret, goal_current(fake, goal) * 10000 / target);
        }

        return any;
}

/* core.c:damon_feed_loop_next_input() */
static uint64_t feed_loop(uint64_t last, uint64_t score) {
        const uint64_t goal = 10000, min = 10000;
        uint64_t distance, change;

        last = MAX(last, min);
        if (score == goal)
                return last;
        if (score >= goal * 2)
                return min;

        distance = score < goal ? goal - score : score - goal;
        change = last < ESZ_MAX / distance ? last * distance / goal : last / goal * distance;
        if (score < goal)
                return last > ESZ_MAX - change ? ESZ_MAX : last + change;
        return last > change + min ? last - change : min;
}

static void start_window(FakeDamon *fake, FakeNode *quotas, Scheme *s) {
        uint64_t bytes = faketree_number(quotas, "bytes"), ms = faketree_number(quotas, "ms");
        uint64_t esz = ESZ_MAX, score;

        if (goals_score(fake, quotas, &score)) {
                if (faketree_find(quotas, "goal_tuner") &&
                    is_word(quotas, "goal_tuner", "temporal"))
                        s->esz_bp = score >= 10000 ? 0 : ESZ_MAX;
                else
                        s->esz_bp = feed_loop(s->esz_bp, score);
                esz = s->esz_bp / 10000;
        }
        if (ms > 0) /* nothing has been charged: 4 MiB per ms is assumed */
                esz = MIN(esz, MAX(ms * (UINT64_C(4) << 20), UINT64_C(4096)));
        if (bytes > 0)
                esz = MIN(esz, bytes);

        if (esz == ESZ_MAX)
                note_bug(fake, "a quota without any bound");
        s->esz = esz;
}

static void step_scheme(FakeDamon *fake, FakeNode *scheme, Scheme *s, uint64_t ms) {
        FakeNode *quotas = faketree_find(scheme, "quotas");
        uint64_t reset = faketree_number(quotas, "reset_interval_ms"), score;

        if (faketree_number(quotas, "bytes") == 0 && faketree_number(quotas, "ms") == 0 &&
            !goals_score(fake, quotas, &score))
                return; /* no quota */

        s->window_ms += ms;
        if (s->has_window && s->window_ms < reset)
                return;

        s->has_window = true;
        s->window_ms = 0;
        start_window(fake, quotas, s);
}

void fakedamon_step(FakeDamon *fake, uint64_t ms) {
        size_t n = faketree_count(fake->tree, "kdamonds");

        for (size_t i = 0; i < n; i++) {
                FakeNode *dir = kdamond_dir(fake, i);
                Kdamond *k = kdamond_of(dir);
                uint64_t refresh_ms;

                if (k->status != STATUS_RUNNING)
                        continue;
                for (size_t s = 0; s < k->n_schemes; s++)
                        step_scheme(fake, faketree_child(k->running, "schemes", s), &k->schemes[s],
                                    ms);

                if (!faketree_find(dir, "refresh_ms"))
                        continue;
                k->refresh_ms += ms;
                refresh_ms = faketree_number(dir, "refresh_ms");
                if (refresh_ms == 0 || k->refresh_ms < refresh_ms)
                        continue;
                k->refresh_ms = 0;
                (void) command_intervals(fake, dir, k);
                (void) command_stats(fake, dir, k);
                (void) command_quotas(fake, dir, k);
        }
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
                const Kdamond *k = kdamond_of(node->parent);
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
                return store_state(fake, node->parent, value);
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
