/* SPDX-License-Identifier: GPL-2.0-or-later */

/* What kdamonds do: state words and their errors, checks at "on" and "commit", staged and running
 * copies, results, death. It works at once: a command never blocks, time passes only in
 * fakedamon_step(). Where kernels differ, the rung decides. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "fakedamon-internal.h"
#include "fakedamon.h"

#define CONTEXT "contexts/0"

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
Kdamond *fakekdamond_of(FakeNode *dir) {
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
        return fakekdamond_of(kdamond_dir(fake, kdamond));
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
                    !fakedamon_memcg_exists(fake, faketree_value(filter, "memcg_path")))
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
                    !fakedamon_memcg_exists(fake, faketree_value(goal, "path")))
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
                    fakedamon_node_is_unfit(fake, nid))
                        fakedamon_note_bug(fake, "migration to node %d, which has no memory", nid);

                for (size_t k = 0; k < n_goals; k++) {
                        FakeNode *goal = faketree_child(scheme, "quotas/goals", k);

                        if (strncmp(faketree_value(goal, "target_metric"), "node_", 5) != 0)
                                continue;
                        nid = atoi(faketree_value(goal, "nid"));
                        if (fakedamon_node_is_unfit(fake, nid))
                                fakedamon_note_bug(fake, "goal on node %d, which has no memory",
                                                   nid);
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
        if (fakedamon_any_module_runs(fake))
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

        fakedamon_note_bug(fake, "a command for a kdamond that has stopped");
        if (k->stale)
                return -EBUSY;
        k->stale = true;
        return -EINVAL;
}

static int command_clear(FakeDamon *fake, FakeNode *dir, const Kdamond *k) {
        if (faketree_count(dir, "contexts") == 0) {
                if (fake->rung <= FAKE_6_17)
                        fakedamon_note_bug(fake, "clear_schemes_tried_regions without a context");
                return -EINVAL;
        }
        if (fake->rung == FAKE_6_12 && k->status != STATUS_RUNNING)
                return -EINVAL;

        clear_regions(dir);
        return 0;
}

int fakekdamond_store_state(FakeDamon *fake, FakeNode *dir, const char *value) {
        size_t len = strcspn(value, "\n");
        _cleanup_(freep) char *word = must(strndup(value, len));
        Kdamond *k = fakekdamond_of(dir);

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

void fakedamon_step(FakeDamon *fake, uint64_t ms) {
        size_t n = faketree_count(fake->tree, "kdamonds");

        for (size_t i = 0; i < n; i++) {
                FakeNode *dir = kdamond_dir(fake, i);
                Kdamond *k = fakekdamond_of(dir);
                uint64_t refresh_ms;

                if (k->status != STATUS_RUNNING)
                        continue;
                for (size_t s = 0; s < k->n_schemes; s++)
                        fakequota_step(fake, faketree_child(k->running, "schemes", s),
                                       &k->schemes[s], ms);

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
