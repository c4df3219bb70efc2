/* SPDX-License-Identifier: GPL-2.0-or-later */

/* What we rely on in DAMON's sysfs interface, as one list of checks for any Sysfs.
 *
 *   test-contract                 the model (tests/lib/fakedamon) at every rung
 *   test-contract --lab           the running kernel; only in a guest of the lab, which the marker
 *                                 /etc/damon-tierd-lab tells, else exit status 77
 *   ... --sysroot DIR             not "/", but DIR
 *
 * What a kernel should do is decided by the files it has, never by its version. Nothing is
 * migrated: the scheme's action is "stat". No known bug of a kernel is touched: no node metrics in
 * what runs, no command to a stopped kdamond where that is harmful. The tree is left empty and
 * DAMON_STAT as it was.
 *
 * Linked statically without any library, so that it runs in any guest. Prints "ok N name" or
 * "not ok N name" after lines "# reason". */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/macro.h"
#include "fakedamon.h"
#include "io/sysfs.h"
#include "testroot.h"

#define MARKER "/etc/damon-tierd-lab"
#define SKIP 77

#define KDAMONDS "sys/kernel/mm/damon/admin/kdamonds"
#define DAMON_STAT "sys/module/damon_stat/parameters/enabled"
#define C "contexts/0/"
#define S "contexts/0/schemes/0/"
#define ULONG_MAX_TEXT "18446744073709551615"

/* Long enough for an emulated machine with other work on its CPUs. */
#define WAIT_ROUNDS 100
#define WAIT_MS 100

/* What is busy for this long is busy for good. */
#define BUSY_ROUNDS 20
#define BUSY_MS 20

/* Each from a file, except the last: these have no file of their own. */
typedef struct Features {
        bool allow;           /* 6.14; with it errors are reported, filters split, node goals */
        bool refresh_ms;      /* 6.17 */
        bool dests;           /* 6.17 */
        bool addr_unit;       /* 6.18 */
        bool goal_path;       /* 6.19 */
        bool obsolete_target; /* 6.19 */
        bool nr_snapshots;    /* 7.0 */
        bool goal_tuner;      /* 7.1 */
        bool pause;           /* 7.2 */
        bool probe_weight;    /* 7.3 */
} Features;

typedef struct Contract {
        Sysfs *sysfs;
        FakeDamon *fake; /* NULL: a kernel */
        Features has;
        bool failed;
} Contract;

typedef struct Check {
        const char *name;
        void (*run)(Contract *c);
} Check;

static void _printf_(2, 3) complain(Contract *c, const char *fmt, ...) {
        va_list ap;

        c->failed = true;
        (void) fputs("# ", stdout);
        va_start(ap, fmt);
        (void) vprintf(fmt, ap);
        va_end(ap);
        (void) putchar('\n');
}

/* Access: paths are below kdamonds/0, except where they start with '/', which is kdamonds/. --- */

static char *full_path(const char *path) {
        char *full;

        if (asprintf(&full, KDAMONDS "%s%s", *path == '/' ? "" : "/0/", path) < 0)
                abort();
        if (full[strlen(full) - 1] == '/')
                full[strlen(full) - 1] = '\0';
        return full;
}

static void pause_ms(long ms) {
        const struct timespec pause = {.tv_nsec = ms * 1000000L};

        (void) nanosleep(&pause, NULL);
}

/* One lock serves all files below kdamonds/, and everybody only tries it. A kdamond itself takes it
 * too, on 6.12 once per turn and as it ends, and may be preempted there. So EBUSY counts only if it
 * stays. */
static bool is_busy(const Contract *c, int r, unsigned *tries) {
        if (r != -EBUSY || c->fake || ++*tries > BUSY_ROUNDS)
                return false;
        pause_ms(BUSY_MS);
        return true;
}

static int put(Contract *c, const char *path, const char *value) {
        _cleanup_(freep) char *full = full_path(path);
        unsigned tries = 0;
        int r;

        do
                r = sysfs_write(c->sysfs, full, value);
        while (is_busy(c, r, &tries));
        return r;
}

static void must_put(Contract *c, const char *path, const char *value) {
        int r = put(c, path, value);

        if (r < 0)
                complain(c, "'%s' to %s: %s", value, path, strerror(-r));
}

static void put_is(Contract *c, const char *path, const char *value, int expected) {
        int r = put(c, path, value);

        if (r != expected)
                complain(c, "'%s' to %s: %s, not %s", value, path, strerrorname_np(-r),
                         expected ? strerrorname_np(-expected) : "0");
}

static bool get(Contract *c, const char *path, char *buf, size_t size) {
        _cleanup_(freep) char *full = full_path(path);
        unsigned tries = 0;
        int r;

        do
                r = sysfs_read(c->sysfs, full, buf, size);
        while (is_busy(c, r, &tries));
        if (r < 0)
                complain(c, "read of %s: %s", path, strerror(-r));
        return r >= 0;
}

static void get_is(Contract *c, const char *path, const char *expected) {
        char buf[4096];

        if (get(c, path, buf, sizeof(buf)) && strcmp(buf, expected) != 0)
                complain(c, "%s is '%s', not '%s'", path, buf, expected);
}

static uint64_t number(Contract *c, const char *path) {
        char buf[64];

        return get(c, path, buf, sizeof(buf)) ? strtoull(buf, NULL, 10) : 0;
}

static bool there(Contract *c, const char *path) {
        _cleanup_(freep) char *full = full_path(path);

        return sysfs_exists(c->sysfs, full);
}

static void list_is(Contract *c, const char *path, const char *expected) {
        _cleanup_(sysfs_names_freep) char **names = NULL;
        _cleanup_(freep) char *full = full_path(path), *text = NULL;
        size_t size;
        FILE *f;
        int r;

        r = sysfs_list(c->sysfs, full, &names);
        if (r < 0) {
                complain(c, "list of %s: %s", path, strerror(-r));
                return;
        }

        f = open_memstream(&text, &size);
        if (!f)
                abort();
        for (char **name = names; *name; name++)
                (void) fprintf(f, "%s%s", name == names ? "" : " ", *name);
        (void) fclose(f);
        if (strcmp(text, expected) != 0)
                complain(c, "%s holds '%s', not '%s'", path, text, expected);
}

static void command_is(Contract *c, const char *word, int expected) {
        put_is(c, "state", word, expected);
}

/* Time passes: in the kernel by itself, in the model when told. */
static void pass_time(Contract *c) {
        if (!c->fake)
                return pause_ms(WAIT_MS);

        for (size_t k = 0; fakedamon_is_running(c->fake, k); k++)
                if (fakedamon_running(c->fake, k, "schemes/0/action")) {
                        fakedamon_add_stat(c->fake, k, 0, "nr_tried", 10);
                        fakedamon_add_stat(c->fake, k, 0, "sz_tried", 1 << 20);
                }
        fakedamon_step(c->fake, WAIT_MS);
}

/* Waits until the number is as wanted; @word is sent before each look, unless it is NULL. */
static bool wait_number(Contract *c, const char *word, const char *path, uint64_t min,
                        uint64_t max) {
        uint64_t value = 0;

        for (unsigned i = 0; i < WAIT_ROUNDS && !c->failed; i++) {
                pass_time(c);
                if (word)
                        command_is(c, word, 0);
                value = number(c, path);
                if (value >= min && value <= max)
                        return true;
        }

        complain(c, "%s is still %llu, not in %llu..%llu", path, (unsigned long long) value,
                 (unsigned long long) min, (unsigned long long) max);
        return false;
}

/* Trees -------------------------------------------------------------------------------------- */

static void empty_tree(Contract *c) {
        unsigned n = (unsigned) number(c, "/nr_kdamonds");

        for (unsigned i = 0; i < n; i++) {
                _cleanup_(freep) char *path = NULL;
                char state[16];

                if (asprintf(&path, "/%u/state", i) < 0)
                        abort();
                if (get(c, path, state, sizeof(state)) && strcmp(state, "on") == 0)
                        must_put(c, path, "off");
        }
        if (n > 0)
                must_put(c, "/nr_kdamonds", "0");
}

/* One of everything that has no preconditions, all at defaults. */
static void build_everything(Contract *c) {
        static const char *const counts[] = {
                "contexts/nr_contexts",
                C "targets/nr_targets",
                C "targets/0/regions/nr_regions",
                C "schemes/nr_schemes",
                S "quotas/goals/nr_goals",
                S "filters/nr_filters",
                S "core_filters/nr_filters",
                S "ops_filters/nr_filters",
                S "dests/nr_dests",
                C "monitoring_attrs/probes/nr_probes",
                C "monitoring_attrs/probes/0/filters/nr_filters",
        };

        must_put(c, "/nr_kdamonds", "1");
        for (size_t i = 0; i < ELEMENTSOF(counts); i++)
                if (there(c, counts[i]))
                        must_put(c, counts[i], "1");
}

/* Watches a part of memory and counts what it finds; goes nowhere near a node's end. */
static void build_watcher(Contract *c) {
        static const struct {
                const char *path;
                const char *value;
        } leaves[] = {
                {"/nr_kdamonds", "1"},
                {"contexts/nr_contexts", "1"},
                {C "operations", "paddr"},
                {C "monitoring_attrs/intervals/update_us", "1000000"},
                {C "targets/nr_targets", "1"},
                {C "targets/0/regions/nr_regions", "1"},
                {C "targets/0/regions/0/start", "16777216"},
                {C "targets/0/regions/0/end", "536870912"},
                {C "schemes/nr_schemes", "1"},
                {S "action", "stat"},
                {S "access_pattern/sz/max", ULONG_MAX_TEXT},
                {S "access_pattern/nr_accesses/max", "4294967295"},
                {S "access_pattern/age/max", "4294967295"},
        };

        for (size_t i = 0; i < ELEMENTSOF(leaves); i++)
                must_put(c, leaves[i].path, leaves[i].value);
}

static void start_watcher(Contract *c) {
        build_watcher(c);
        command_is(c, "on", 0);
        get_is(c, "state", "on");
}

static void find_features(Contract *c) {
        build_everything(c);
        c->has = (Features){
                .allow = there(c, S "filters/0/allow"),
                .refresh_ms = there(c, "refresh_ms"),
                .dests = there(c, S "dests"),
                .addr_unit = there(c, C "addr_unit"),
                .goal_path = there(c, S "quotas/goals/0/path"),
                .obsolete_target = there(c, C "targets/0/obsolete_target"),
                .nr_snapshots = there(c, S "stats/nr_snapshots"),
                .goal_tuner = there(c, S "quotas/goal_tuner"),
                .pause = there(c, C "pause"),
                .probe_weight = there(c, C "monitoring_attrs/probes/0/weight"),
        };
        empty_tree(c);
}

/* Files -------------------------------------------------------------------------------------- */

#define FILTER(dir)                                                                              \
        {S dir "/nr_filters", "1"}, {S dir "/0/type", "anon"}, {S dir "/0/matching", "N"},       \
                {S dir "/0/allow", "N"}, {S dir "/0/memcg_path", ""},                            \
                {S dir "/0/addr_start", "0"}, {S dir "/0/addr_end", "0"}, {S dir "/0/min", "0"}, \
                {S dir "/0/max", "0"}, {                                                         \
                S dir "/0/damon_target_idx", "0"                                                 \
        }

/* Every file of a kdamond with one of everything. */
static const struct Leaf {
        const char *path;
        const char *initial;
} leaves[] = {
        {"state", "off"},
        {"pid", "-1"},
        {"refresh_ms", "0"},
        {"contexts/nr_contexts", "1"},
        {C "avail_operations", "vaddr\nfvaddr\npaddr"},
        {C "operations", "vaddr"},
        {C "addr_unit", "1"},
        {C "pause", "N"},
        {C "monitoring_attrs/intervals/sample_us", "5000"},
        {C "monitoring_attrs/intervals/aggr_us", "100000"},
        {C "monitoring_attrs/intervals/update_us", "60000000"},
        {C "monitoring_attrs/intervals/intervals_goal/access_bp", "0"},
        {C "monitoring_attrs/intervals/intervals_goal/aggrs", "0"},
        {C "monitoring_attrs/intervals/intervals_goal/min_sample_us", "0"},
        {C "monitoring_attrs/intervals/intervals_goal/max_sample_us", "0"},
        {C "monitoring_attrs/nr_regions/min", "10"},
        {C "monitoring_attrs/nr_regions/max", "1000"},
        {C "monitoring_attrs/probes/nr_probes", "1"},
        {C "monitoring_attrs/probes/0/weight", "0"},
        {C "monitoring_attrs/probes/0/filters/nr_filters", "1"},
        {C "monitoring_attrs/probes/0/filters/0/type", "anon"},
        {C "monitoring_attrs/probes/0/filters/0/matching", "N"},
        {C "monitoring_attrs/probes/0/filters/0/allow", "N"},
        {C "monitoring_attrs/probes/0/filters/0/path", ""},
        {C "targets/nr_targets", "1"},
        {C "targets/0/pid_target", "0"},
        {C "targets/0/obsolete_target", "N"},
        {C "targets/0/regions/nr_regions", "1"},
        {C "targets/0/regions/0/start", "0"},
        {C "targets/0/regions/0/end", "0"},
        {C "schemes/nr_schemes", "1"},
        {S "action", "stat"},
        {S "target_nid", "-1"},
        {S "apply_interval_us", "0"},
        {S "access_pattern/sz/min", "0"},
        {S "access_pattern/sz/max", "0"},
        {S "access_pattern/nr_accesses/min", "0"},
        {S "access_pattern/nr_accesses/max", "0"},
        {S "access_pattern/age/min", "0"},
        {S "access_pattern/age/max", "0"},
        {S "dests/nr_dests", "1"},
        {S "dests/0/id", "0"},
        {S "dests/0/weight", "0"},
        {S "quotas/ms", "0"},
        {S "quotas/bytes", "0"},
        {S "quotas/reset_interval_ms", "0"},
        {S "quotas/effective_bytes", "0"},
        {S "quotas/goal_tuner", "consist"},
        {S "quotas/fail_charge_num", "0"},
        {S "quotas/fail_charge_denom", "0"},
        {S "quotas/weights/sz_permil", "0"},
        {S "quotas/weights/nr_accesses_permil", "0"},
        {S "quotas/weights/age_permil", "0"},
        {S "quotas/goals/nr_goals", "1"},
        {S "quotas/goals/0/target_metric", "user_input"},
        {S "quotas/goals/0/target_value", "0"},
        {S "quotas/goals/0/current_value", "0"},
        {S "quotas/goals/0/nid", "0"},
        {S "quotas/goals/0/path", ""},
        {S "watermarks/metric", "none"},
        {S "watermarks/interval_us", "0"},
        {S "watermarks/high", "0"},
        {S "watermarks/mid", "0"},
        {S "watermarks/low", "0"},
        FILTER("filters"),
        FILTER("core_filters"),
        FILTER("ops_filters"),
        {S "stats/nr_tried", "0"},
        {S "stats/sz_tried", "0"},
        {S "stats/nr_applied", "0"},
        {S "stats/sz_applied", "0"},
        {S "stats/qt_exceeds", "0"},
        {S "stats/sz_ops_filter_passed", "0"},
        {S "stats/nr_snapshots", "0"},
        {S "stats/max_nr_snapshots", "0"},
        {S "tried_regions/total_bytes", "0"},
};

/* Those that only the kernel changes: mode 0400. */
static const char *const results[] = {
        "pid",
        C "avail_operations",
        S "quotas/effective_bytes",
        S "stats/nr_tried",
        S "stats/sz_tried",
        S "stats/nr_applied",
        S "stats/sz_applied",
        S "stats/qt_exceeds",
        S "stats/sz_ops_filter_passed",
        S "stats/nr_snapshots",
        S "tried_regions/total_bytes",
};

static bool is_result(const char *path) {
        for (size_t i = 0; i < ELEMENTSOF(results); i++)
                if (strcmp(results[i], path) == 0)
                        return true;

        return false;
}

static const struct Leaf *find_leaf(const char *path) {
        for (size_t i = 0; i < ELEMENTSOF(leaves); i++)
                if (strcmp(leaves[i].path, path) == 0)
                        return &leaves[i];

        return NULL;
}

static void check_leaf(Contract *c, const char *path, unsigned *n_files) {
        const struct Leaf *leaf = find_leaf(path);

        (*n_files)++;
        if (!leaf) {
                complain(c, "%s is not known", path);
                return;
        }

        get_is(c, path, leaf->initial);
        if (is_result(path))
                put_is(c, path, "1", -EACCES);
}

static void walk(Contract *c, const char *path, unsigned *n_files) {
        _cleanup_(sysfs_names_freep) char **names = NULL;
        _cleanup_(freep) char *full = full_path(path);
        int r;

        r = sysfs_list(c->sysfs, full, &names);
        if (r == -ENOTDIR) {
                check_leaf(c, path, n_files);
                return;
        }
        if (r < 0) {
                complain(c, "list of %s: %s", path, strerror(-r));
                return;
        }

        for (char **name = names; *name; name++) {
                _cleanup_(freep) char *below = NULL;

                if (asprintf(&below, "%s%s%s", path, *path ? "/" : "", *name) < 0)
                        abort();
                walk(c, below, n_files);
        }
}

static void check_defaults(Contract *c) {
        unsigned n_files = 0, n_known = 0;

        build_everything(c);
        walk(c, "", &n_files);
        for (size_t i = 0; i < ELEMENTSOF(leaves); i++)
                n_known += there(c, leaves[i].path);
        if (n_files < 50 || n_files != n_known)
                complain(c, "%u files, of which %u are known", n_files, n_known);
        (void) printf("# %u files\n", n_files);
}

static void check_empty(Contract *c) {
        get_is(c, "/nr_kdamonds", "0");
        list_is(c, "/", "nr_kdamonds");
        put_is(c, "state", "on", -ENOENT);
}

static void check_counts(Contract *c) {
        must_put(c, "/nr_kdamonds", "2");
        list_is(c, "/", "0 1 nr_kdamonds");
        list_is(c, "/1/contexts", "nr_contexts");
        must_put(c, "/1/contexts/nr_contexts", "1");
        must_put(c, "/1/contexts/0/schemes/nr_schemes", "3");
        list_is(c, "/1/contexts/0/schemes", "0 1 2 nr_schemes");
        must_put(c, "/1/contexts/0/schemes/nr_schemes", "1");
        list_is(c, "/1/contexts/0/schemes", "0 nr_schemes");
        must_put(c, "/1/contexts/0/schemes/nr_schemes", "0");
        list_is(c, "/1/contexts/0/schemes", "nr_schemes");
}

static void check_count_values(Contract *c) {
        must_put(c, "/nr_kdamonds", "1");
        put_is(c, "/nr_kdamonds", "-1", -EINVAL);
        put_is(c, "/nr_kdamonds", "x", -EINVAL);
        put_is(c, "/nr_kdamonds", "1 ", -EINVAL);
        get_is(c, "/nr_kdamonds", "1");
        put_is(c, "contexts/nr_contexts", "2", -EINVAL);
        put_is(c, "contexts/nr_contexts", "-1", -EINVAL);
        get_is(c, "contexts/nr_contexts", "0");
        must_put(c, "contexts/nr_contexts", "1");
        put_is(c, C "schemes/nr_schemes", "-1", -EINVAL);
        put_is(c, C "targets/nr_targets", "-1", -EINVAL);
        if (c->has.pause)
                put_is(c, C "monitoring_attrs/probes/nr_probes", "5", -EINVAL);
}

static void check_rebuild(Contract *c) {
        build_everything(c);
        must_put(c, S "action", "pageout");
        must_put(c, S "quotas/bytes", "4096");
        must_put(c, C "schemes/nr_schemes", "1"); /* the value that it has */
        get_is(c, S "action", "stat");
        get_is(c, S "quotas/bytes", "0");
        if (there(c, S "quotas/goals/0"))
                complain(c, "a new scheme has a goal");

        must_put(c, "contexts/nr_contexts", "1");
        get_is(c, C "schemes/nr_schemes", "0");
        must_put(c, "/nr_kdamonds", "1");
        get_is(c, "contexts/nr_contexts", "0");
}

static void check_numbers(Contract *c) {
        static const struct {
                const char *path;
                const char *value;
                int r;
                const char *after; /* NULL: as before */
        } cases[] = {
                {S "access_pattern/sz/max", "5", 0, "5"},
                {S "access_pattern/sz/max", "010", 0, "8"},
                {S "access_pattern/sz/max", "0x10", 0, "16"},
                {S "access_pattern/sz/max", "+7", 0, "7"},
                {S "access_pattern/sz/max", "9\n", 0, "9"},
                {S "access_pattern/sz/max", "0", 0, "0"},
                {S "access_pattern/sz/max", " 5", -EINVAL, NULL},
                {S "access_pattern/sz/max", "5 ", -EINVAL, NULL},
                {S "access_pattern/sz/max", "5\n\n", -EINVAL, NULL},
                {S "access_pattern/sz/max", "08", -EINVAL, NULL},
                {S "access_pattern/sz/max", "\n", -EINVAL, NULL},
                {S "access_pattern/sz/max", "abc", -EINVAL, NULL},
                {S "access_pattern/sz/max", "-1", -EINVAL, NULL},
                {S "access_pattern/sz/max", ULONG_MAX_TEXT, 0, ULONG_MAX_TEXT},
                {S "access_pattern/sz/max", "18446744073709551616", -ERANGE, NULL},
                {S "access_pattern/age/max", "4294967296", 0, "4294967296"},
                {S "quotas/bytes", ULONG_MAX_TEXT, 0, ULONG_MAX_TEXT},
                {S "quotas/bytes", "18446744073709551616", -EINVAL, NULL},
                {S "quotas/ms", "18446744073709551616", -EINVAL, NULL},
                {S "quotas/reset_interval_ms", "18446744073709551616", -EINVAL, NULL},
                {S "quotas/weights/age_permil", "4294967295", 0, "4294967295"},
                {S "quotas/weights/age_permil", "4294967296", -ERANGE, NULL},
                {S "target_nid", "-7", 0, "-7"},
                {S "target_nid", "-2147483649", -ERANGE, NULL},
                {S "target_nid", "2147483648", -ERANGE, NULL},
                {C "targets/0/pid_target", "2147483648", -EINVAL, NULL},
        };

        build_everything(c);
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                char before[64];

                if (!get(c, cases[i].path, before, sizeof(before)))
                        return;
                put_is(c, cases[i].path, cases[i].value, cases[i].r);
                get_is(c, cases[i].path, cases[i].after ? cases[i].after : before);
        }
        if (c->has.addr_unit)
                put_is(c, C "addr_unit", "0", -EINVAL);
        if (c->has.refresh_ms) {
                put_is(c, "refresh_ms", "4294967296", -ERANGE);
                put_is(c, "refresh_ms", "-1", -EINVAL);
        }
}

static void check_bools(Contract *c) {
        static const struct {
                const char *value;
                const char *after;
        } cases[] = {
                {"Y", "Y"},   {"N", "N"},   {"1", "Y"},  {"0", "N"},
                {"y\n", "Y"}, {"n\n", "N"}, {"on", "Y"}, {"off", "N"},
        };

        build_everything(c);
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                must_put(c, S "filters/0/matching", cases[i].value);
                get_is(c, S "filters/0/matching", cases[i].after);
        }
        must_put(c, S "filters/0/matching", "Y");
        put_is(c, S "filters/0/matching", "x", -EINVAL);
        put_is(c, S "filters/0/matching", "2", -EINVAL);
        get_is(c, S "filters/0/matching", "Y");
}

static void words_are(Contract *c, const char *path, const char *const *words, size_t n) {
        for (size_t i = 0; i < n; i++) {
                must_put(c, path, words[i]);
                get_is(c, path, words[i]);
        }
}

static void check_words(Contract *c) {
        static const char *const actions[] = {
                "willneed", "cold",       "pageout",     "hugepage",     "nohugepage",
                "lru_prio", "lru_deprio", "migrate_hot", "migrate_cold", "stat",
        };
        static const char *const operations[] = {"vaddr", "fvaddr", "paddr"};
        static const char *const watermarks[] = {"free_mem_rate", "none"};
        static const char *const tuners[] = {"temporal", "consist"};

        build_everything(c);
        words_are(c, S "action", actions, ELEMENTSOF(actions));
        words_are(c, C "operations", operations, ELEMENTSOF(operations));
        words_are(c, S "watermarks/metric", watermarks, ELEMENTSOF(watermarks));
        if (c->has.goal_tuner)
                words_are(c, S "quotas/goal_tuner", tuners, ELEMENTSOF(tuners));

        put_is(c, S "action", "collapse", c->has.pause ? 0 : -EINVAL);
        must_put(c, S "action", "cold\n");
        get_is(c, S "action", "cold");
        put_is(c, S "action", "col", -EINVAL);
        put_is(c, S "action", "coldest", -EINVAL);
        put_is(c, S "action", "COLD", -EINVAL);
        put_is(c, S "action", " cold", -EINVAL);
        put_is(c, S "action", "\n", -EINVAL);
        get_is(c, S "action", "cold");
}

static void check_metrics(Contract *c) {
        const struct {
                const char *word;
                bool known;
        } metrics[] = {
                {"some_mem_psi_us", true},
                {"user_input", true},
                {"node_mem_used_bp", c->has.allow},
                {"node_mem_free_bp", c->has.allow},
                {"node_memcg_used_bp", c->has.goal_path},
                {"node_memcg_free_bp", c->has.goal_path},
                {"active_mem_bp", c->has.nr_snapshots},
                {"inactive_mem_bp", c->has.nr_snapshots},
                {"node_eligible_mem_bp", c->has.pause},
                {"hugepage_mem_bp", false},
                {"some_cpu_psi_us", false},
        };

        build_everything(c);
        for (size_t i = 0; i < ELEMENTSOF(metrics); i++)
                put_is(c, S "quotas/goals/0/target_metric", metrics[i].word,
                       metrics[i].known ? 0 : -EINVAL);
        if (c->has.allow != there(c, S "quotas/goals/0/nid"))
                complain(c, "node metrics and nid do not come together");
}

static void check_filter_types(Contract *c) {
        static const struct {
                const char *word;
                bool core;
                bool early; /* in 6.12 */
        } types[] = {
                {"anon", false, true},      {"memcg", false, true},
                {"young", false, true},     {"addr", true, true},
                {"target", true, true},     {"active", false, false},
                {"unmapped", false, false}, {"hugepage_size", false, false},
        };

        build_everything(c);
        for (size_t i = 0; i < ELEMENTSOF(types); i++) {
                bool known = types[i].early || c->has.allow;

                put_is(c, S "filters/0/type", types[i].word, known ? 0 : -EINVAL);
                if (!c->has.allow)
                        continue;
                put_is(c, S "core_filters/0/type", types[i].word, types[i].core ? 0 : -EINVAL);
                put_is(c, S "ops_filters/0/type", types[i].word, types[i].core ? -EINVAL : 0);
        }
        put_is(c, S "filters/0/type", "old", -EINVAL);
}

static void check_strings(Contract *c) {
        build_everything(c);
        must_put(c, S "filters/0/memcg_path", "/a/b");
        get_is(c, S "filters/0/memcg_path", "/a/b");
        must_put(c, S "filters/0/memcg_path", "/c\n"); /* kept with its newline */
        get_is(c, S "filters/0/memcg_path", "/c\n");
        if (c->has.goal_path) {
                must_put(c, S "quotas/goals/0/path", "/a b");
                get_is(c, S "quotas/goals/0/path", "/a b");
        }
}

/* Commands ----------------------------------------------------------------------------------- */

static const char *const commands[] = {
        "commit",
        "commit_schemes_quota_goals",
        "update_schemes_stats",
        "update_schemes_effective_quotas",
        "update_schemes_tried_bytes",
        "update_schemes_tried_regions",
};

static void check_never_started(Contract *c) {
        must_put(c, "/nr_kdamonds", "1");
        get_is(c, "state", "off");
        get_is(c, "pid", "-1");
        command_is(c, "on", -EINVAL); /* no context */
        command_is(c, "off", -EINVAL);

        build_watcher(c);
        for (size_t i = 0; i < ELEMENTSOF(commands); i++)
                command_is(c, commands[i], -EINVAL);
        command_is(c, "update_tuned_intervals", -EINVAL);
        command_is(c, "off", -EINVAL);
        command_is(c, "start", -EINVAL);
        command_is(c, "ON", -EINVAL);
        command_is(c, "o", -EINVAL);
        get_is(c, "state", "off");
}

/* One leaf changed in a watcher that would start. */
static void check_refused_starts(Contract *c) {
        static const struct {
                const char *name;
                const char *path;
                const char *value;
                int r;
        } cases[] = {
                {"sampling longer than aggregation", C "monitoring_attrs/intervals/sample_us",
                 "100001", -EINVAL},
                {"fewer than three regions", C "monitoring_attrs/nr_regions/min", "2", -EINVAL},
                {"less than the least", C "monitoring_attrs/nr_regions/max", "9", -EINVAL},
                {"a region that ends before it starts", C "targets/0/regions/0/end", "4096",
                 -EINVAL},
                {"two targets for paddr", C "targets/nr_targets", "2", -EINVAL},
                {"a process that is not there", C "operations", "vaddr", -EINVAL},
                {"intervals' goal without room for the interval",
                 C "monitoring_attrs/intervals/intervals_goal/aggrs", "3", -EINVAL},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                build_watcher(c);
                if (!there(c, cases[i].path))
                        continue;
                must_put(c, cases[i].path, cases[i].value);
                command_is(c, "on", cases[i].r);
                get_is(c, "state", "off");
                get_is(c, "pid", "-1");
                if (c->failed) {
                        complain(c, "at: %s", cases[i].name);
                        return;
                }
        }

        if (c->has.obsolete_target) {
                build_watcher(c);
                must_put(c, C "targets/0/obsolete_target", "Y");
                command_is(c, "on", c->has.probe_weight ? -EINVAL : 0);
                empty_tree(c);
        }

        /* the same kdamond starts once that is put right */
        build_watcher(c);
        must_put(c, C "monitoring_attrs/nr_regions/min", "2");
        command_is(c, "on", -EINVAL);
        command_is(c, "commit", -EINVAL); /* there is no context to commit to */
        must_put(c, C "monitoring_attrs/nr_regions/min", "10");
        command_is(c, "on", 0);
        get_is(c, "state", "on");
}

static void check_refused_filters(Contract *c) {
        static const struct {
                const char *type;
                const char *path;
                const char *value;
                bool late;
        } cases[] = {
                {"addr", S "filters/0/addr_start", "8192", false},
                {"memcg", S "filters/0/memcg_path", "/no-such-group", false},
                {"hugepage_size", S "filters/0/min", "4096", true},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                if (cases[i].late && !c->has.allow)
                        continue;
                build_watcher(c);
                must_put(c, S "filters/nr_filters", "1");
                must_put(c, S "filters/0/type", cases[i].type);
                must_put(c, cases[i].path, cases[i].value);
                command_is(c, "on", -ENOMEM);
                get_is(c, "state", "off");
        }
}

static void check_running(Contract *c) {
        start_watcher(c);
        if ((int64_t) number(c, "pid") <= 0)
                complain(c, "no pid");
        command_is(c, "on", -EBUSY);
        put_is(c, "/nr_kdamonds", "1", -EBUSY);
        put_is(c, "/nr_kdamonds", "0", -EBUSY);
        put_is(c, "/nr_kdamonds", "2", -EBUSY);
        get_is(c, "/nr_kdamonds", "1");
        command_is(c, "start", -EINVAL);
        get_is(c, "state", "on");
        for (size_t i = 0; i < ELEMENTSOF(commands); i++)
                command_is(c, commands[i], 0);
        command_is(c, "update_tuned_intervals", c->has.allow ? 0 : -EINVAL);
        command_is(c, "clear_schemes_tried_regions", 0);
        get_is(c, "state", "on");
        command_is(c, "off", 0);
        get_is(c, "state", "off");
        get_is(c, "pid", "-1");
}

static void check_two_kdamonds(Contract *c) {
        char first[16], second[16];

        build_watcher(c);
        must_put(c, "/nr_kdamonds", "2");
        must_put(c, "/0/contexts/nr_contexts", "1");
        must_put(c, "/0/contexts/0/operations", "paddr");
        must_put(c, "/1/contexts/nr_contexts", "1");
        must_put(c, "/1/contexts/0/operations", "paddr");
        put_is(c, "/0/state", "on", 0); /* neither has a target: nothing is watched */
        put_is(c, "/1/state", "on", 0);
        if (get(c, "/0/pid", first, sizeof(first)) && get(c, "/1/pid", second, sizeof(second)) &&
            strcmp(first, second) == 0)
                complain(c, "both have pid %s", first);
        put_is(c, "/0/state", "off", 0);
        get_is(c, "/1/state", "on");
        put_is(c, "/nr_kdamonds", "2", -EBUSY); /* the other one runs */
        put_is(c, "/0/state", "on", 0);         /* and this one comes and goes alone */
        put_is(c, "/0/state", "off", 0);
        put_is(c, "/1/state", "off", 0);
        put_is(c, "/nr_kdamonds", "1", 0);
}

static void check_statistics(Contract *c) {
        uint64_t tried;

        start_watcher(c);
        get_is(c, S "stats/nr_tried", "0"); /* files change on command only */
        if (!wait_number(c, "update_schemes_stats", S "stats/nr_tried", 1, UINT64_MAX))
                return;
        if (number(c, S "stats/sz_tried") < number(c, S "stats/nr_tried"))
                complain(c, "sz_tried is smaller than nr_tried");

        tried = number(c, S "stats/nr_tried");
        pass_time(c);
        if (number(c, S "stats/nr_tried") != tried)
                complain(c, "nr_tried changed without a command");
        command_is(c, "off", 0);
        if (number(c, S "stats/nr_tried") != tried)
                complain(c, "nr_tried is gone after off");
        command_is(c, "on", 0);
        if (number(c, S "stats/nr_tried") != tried)
                complain(c, "on resets the file"); /* it should show what it showed */
}

static void check_commit_keeps(Contract *c) {
        uint64_t tried, pid;

        start_watcher(c);
        pid = number(c, "pid");
        if (!wait_number(c, "update_schemes_stats", S "stats/nr_tried", 1, UINT64_MAX))
                return;

        tried = number(c, S "stats/nr_tried");
        must_put(c, S "quotas/weights/age_permil", "100");
        command_is(c, "commit", 0);
        get_is(c, "state", "on");
        if (number(c, "pid") != pid)
                complain(c, "commit changed the pid");
        command_is(c, "update_schemes_stats", 0);
        if (number(c, S "stats/nr_tried") < tried)
                complain(c, "commit reset nr_tried");

        /* no regions staged: those that are watched stay */
        must_put(c, C "targets/0/regions/nr_regions", "0");
        command_is(c, "commit", 0);
        tried = number(c, S "stats/nr_tried");
        (void) wait_number(c, "update_schemes_stats", S "stats/nr_tried", tried + 1, UINT64_MAX);
}

static void check_bad_commit(Contract *c) {
        uint64_t pid;

        start_watcher(c);
        pid = number(c, "pid");
        must_put(c, C "monitoring_attrs/nr_regions/min", "2");
        if (!c->has.allow) {
                /* the first rung says that all is well, and the kdamond ends */
                command_is(c, "commit", 0);
                for (unsigned i = 0; i < WAIT_ROUNDS; i++) {
                        char state[16];

                        if (!get(c, "state", state, sizeof(state)) || strcmp(state, "off") == 0)
                                return;
                        pass_time(c);
                }
                complain(c, "still on");
                return;
        }

        command_is(c, "commit", -EINVAL);
        get_is(c, "state", "on");
        if (number(c, "pid") != pid)
                complain(c, "the pid changed");
        must_put(c, C "monitoring_attrs/nr_regions/min", "10");
        command_is(c, "commit", 0);
}

static void check_tuned_intervals(Contract *c) {
        if (!c->has.allow)
                return;

        start_watcher(c);
        must_put(c, C "monitoring_attrs/intervals/sample_us", "6000");
        command_is(c, "update_tuned_intervals", 0);
        get_is(c, C "monitoring_attrs/intervals/sample_us", "5000"); /* what runs */
        must_put(c, C "monitoring_attrs/intervals/sample_us", "6000");
        command_is(c, "commit", 0);
        must_put(c, C "monitoring_attrs/intervals/sample_us", "7000");
        command_is(c, "update_tuned_intervals", 0);
        get_is(c, C "monitoring_attrs/intervals/sample_us", "6000");
}

static void check_quota(Contract *c) {
        build_watcher(c);
        must_put(c, S "quotas/bytes", "1048576");
        must_put(c, S "quotas/reset_interval_ms", "100");
        command_is(c, "on", 0);
        (void) wait_number(c, "update_schemes_effective_quotas", S "quotas/effective_bytes",
                           1048576, 1048576);
        must_put(c, S "quotas/bytes", "2097152");
        command_is(c, "commit", 0);
        (void) wait_number(c, "update_schemes_effective_quotas", S "quotas/effective_bytes",
                           2097152, 2097152);
}

static void check_goal(Contract *c) {
        build_watcher(c);
        must_put(c, S "quotas/bytes", "1073741824");
        must_put(c, S "quotas/reset_interval_ms", "100");
        must_put(c, S "quotas/goals/nr_goals", "1");
        must_put(c, S "quotas/goals/0/target_value", "10000");
        must_put(c, S "quotas/goals/0/current_value", "1");
        command_is(c, "on", 0);
        /* under-achieved: grows from a byte, nearly doubling */
        if (!wait_number(c, "update_schemes_effective_quotas", S "quotas/effective_bytes", 16,
                         1073741824))
                return;

        /* twice as much as wanted: falls to a byte at once */
        must_put(c, S "quotas/goals/0/current_value", "20000");
        command_is(c, "commit_schemes_quota_goals", 0);
        if (!wait_number(c, "update_schemes_effective_quotas", S "quotas/effective_bytes", 1, 1))
                return;
        get_is(c, S "quotas/goals/0/current_value", "20000");
        if (!c->has.goal_tuner)
                return;

        /* all or nothing */
        must_put(c, S "quotas/goal_tuner", "temporal");
        must_put(c, S "quotas/goals/0/current_value", "5000");
        command_is(c, "commit", 0);
        if (!wait_number(c, "update_schemes_effective_quotas", S "quotas/effective_bytes",
                         1073741824, 1073741824))
                return;
        must_put(c, S "quotas/goals/0/current_value", "10000");
        command_is(c, "commit_schemes_quota_goals", 0);
        (void) wait_number(c, "update_schemes_effective_quotas", S "quotas/effective_bytes", 0, 0);
}

static void check_tried(Contract *c) {
        _cleanup_(sysfs_names_freep) char **names = NULL;
        _cleanup_(freep) char *full = full_path(S "tried_regions");
        unsigned n_regions = 0;

        start_watcher(c);
        if (c->fake)
                fakedamon_add_region(c->fake, 0, 0, 16777216, 536870912, 0, 1);
        if (!wait_number(c, "update_schemes_tried_bytes", S "tried_regions/total_bytes", 1 << 20,
                         536870912))
                return;
        list_is(c, S "tried_regions", "total_bytes");

        command_is(c, "update_schemes_tried_regions", 0);
        if (sysfs_list(c->sysfs, full, &names) < 0)
                return;
        for (char **name = names; *name; name++) {
                _cleanup_(freep) char *start = NULL, *end = NULL;

                if (strcmp(*name, "total_bytes") == 0)
                        continue;
                if (asprintf(&start, S "tried_regions/%s/start", *name) < 0 ||
                    asprintf(&end, S "tried_regions/%s/end", *name) < 0)
                        abort();
                if (number(c, start) < 16777216 || number(c, end) > 536870912 ||
                    number(c, start) >= number(c, end))
                        complain(c, "region %s is out of range", *name);
                n_regions++;
        }
        if (n_regions == 0)
                complain(c, "no regions");
        command_is(c, "clear_schemes_tried_regions", 0);
        list_is(c, S "tried_regions", "total_bytes");
}

static void check_refresh(Contract *c) {
        if (!c->has.refresh_ms)
                return;

        start_watcher(c);
        must_put(c, "refresh_ms", "100");
        (void) wait_number(c, NULL, S "stats/nr_tried", 1, UINT64_MAX);
        must_put(c, "refresh_ms", "0");
        pass_time(c); /* the callback takes the lock for a moment */
}

static void check_stopped(Contract *c) {
        start_watcher(c);
        command_is(c, "off", 0);
        command_is(c, "off", c->has.probe_weight ? 0 : -EPERM);

        /* between the first rung and 7.0 a command for a stopped kdamond wedges the interface */
        if (c->has.allow && !c->has.nr_snapshots)
                return;
        for (size_t i = 0; i < ELEMENTSOF(commands); i++)
                command_is(c, commands[i], c->has.nr_snapshots ? -ECANCELED : -EINVAL);
        get_is(c, "state", "off");
}

static void check_restart(Contract *c) {
        uint64_t pid;

        start_watcher(c);
        for (unsigned i = 0; i < 3; i++) {
                pid = number(c, "pid");
                command_is(c, "off", 0);
                get_is(c, "pid", "-1");
                command_is(c, "on", 0);
                if (number(c, "pid") == pid)
                        complain(c, "the new kdamond has the old pid");
        }
        (void) wait_number(c, "update_schemes_stats", S "stats/nr_tried", 1, UINT64_MAX);
}

static void module_is(Contract *c, const char *expected) {
        char value[8];
        int r;

        r = sysfs_read(c->sysfs, DAMON_STAT, value, sizeof(value));
        if (r < 0 || strcmp(value, expected) != 0)
                complain(c, "DAMON_STAT is not %s", expected);
}

static void module_put_is(Contract *c, const char *value, int expected) {
        int r = sysfs_write(c->sysfs, DAMON_STAT, value);

        if (r != expected)
                complain(c, "'%s' to DAMON_STAT: %s", value, r ? strerrorname_np(-r) : "0");
}

static void check_exclusion(Contract *c) {
        if (!sysfs_exists(c->sysfs, DAMON_STAT))
                return;

        build_watcher(c);
        module_put_is(c, "Y", 0);
        module_is(c, "Y");
        command_is(c, "on", -EBUSY);
        get_is(c, "state", "off");
        command_is(c, "commit", -EINVAL); /* the failed start left no context */
        module_put_is(c, "N", 0);
        module_is(c, "N");

        command_is(c, "on", 0);
        module_put_is(c, "Y", -EBUSY);
        get_is(c, "state", "on");
        command_is(c, "off", 0);
        module_is(c, "N");
}

static const Check checks[] = {
        {"an empty tree", check_empty},
        {"counts make and remove directories", check_counts},
        {"counts refuse what is no count", check_count_values},
        {"a count written again starts afresh", check_rebuild},
        {"every file, its default and its mode", check_defaults},
        {"numbers", check_numbers},
        {"yes and no", check_bools},
        {"words", check_words},
        {"metrics of goals", check_metrics},
        {"types of filters", check_filter_types},
        {"paths are kept verbatim", check_strings},
        {"a kdamond that was never on", check_never_started},
        {"starts that are refused", check_refused_starts},
        {"filters that are refused", check_refused_filters},
        {"a kdamond that is on", check_running},
        {"two kdamonds", check_two_kdamonds},
        {"statistics change on command", check_statistics},
        {"commit keeps what runs", check_commit_keeps},
        {"a bad commit", check_bad_commit},
        {"tuned intervals overwrite staged ones", check_tuned_intervals},
        {"a quota", check_quota},
        {"a goal", check_goal},
        {"tried regions", check_tried},
        {"refresh_ms", check_refresh},
        {"a kdamond that is off", check_stopped},
        {"off and on again", check_restart},
        {"DAMON_STAT excludes us, and we it", check_exclusion},
};

/* 0 when all held. */
static unsigned run_checks(Contract *c, const char *name) {
        char module[8] = "";
        unsigned n_failed = 0;

        (void) sysfs_read(c->sysfs, DAMON_STAT, module, sizeof(module));
        if (*module)
                module_put_is(c, "N", 0);
        find_features(c);

        for (size_t i = 0; i < ELEMENTSOF(checks); i++) {
                c->failed = false;
                checks[i].run(c);
                empty_tree(c);
                (void) printf("%s %zu %s%s%s\n", c->failed ? "not ok" : "ok", i + 1, checks[i].name,
                              *name ? " on " : "", name);
                (void) fflush(stdout);
                n_failed += c->failed;
        }

        c->failed = false;
        if (*module)
                module_put_is(c, module, 0);
        return n_failed + c->failed;
}

static unsigned run_fake(FakeRung rung) {
        _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;
        FakeDamon *fake = fakedamon_new(rung, &sysfs);
        Contract c = {.sysfs = sysfs, .fake = fake};
        unsigned n_failed = run_checks(&c, fake_rung_to_string(rung));

        /* the list must be safe for kernels: a bug touched here would be touched there */
        if (*fakedamon_bugs(fake)) {
                (void) printf("# %s\n", fakedamon_bugs(fake));
                n_failed++;
        }
        return n_failed;
}

static int run_kernel(const char *root) {
        _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;
        char count[16];
        Contract c;
        int r;

        r = sysfs_open(root, SYSFS_READ_WRITE, &sysfs);
        if (r < 0) {
                (void) fprintf(stderr, "Failed to open '%s': %s\n", root, strerror(-r));
                return EXIT_FAILURE;
        }

        r = sysfs_read(sysfs, KDAMONDS "/nr_kdamonds", count, sizeof(count));
        if (r < 0 || strcmp(count, "0") != 0) {
                (void) fprintf(stderr, "No DAMON, or somebody uses it: skipped\n");
                return SKIP;
        }

        c = (Contract){.sysfs = sysfs};
        return run_checks(&c, "") ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv) {
        const char *root = NULL;
        unsigned n_failed = 0;
        bool lab = false;

        for (int i = 1; i < argc; i++) {
                if (strcmp(argv[i], "--lab") == 0)
                        lab = true;
                else if (strcmp(argv[i], "--sysroot") == 0 && i + 1 < argc)
                        root = argv[++i];
                else {
                        (void) fprintf(stderr, "Usage: %s [--lab] [--sysroot DIR]\n", argv[0]);
                        return EXIT_FAILURE;
                }
        }

        if (lab && access(MARKER, F_OK) < 0) {
                (void) fprintf(stderr, "No '%s' here, so this is no guest of the lab: skipped\n",
                               MARKER);
                return SKIP;
        }
        if (!lab && root && testroot_check(root) != 0) {
                (void) fprintf(stderr, "'%s' is not fit for a test: skipped\n", root);
                return SKIP;
        }
        if (lab || root)
                return run_kernel(root ? root : "/");

        for (FakeRung rung = 0; rung < _FAKE_RUNG_MAX; rung++)
                n_failed += run_fake(rung);
        return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
