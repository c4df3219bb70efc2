/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DAMON's sysfs tree, read into values and written by operations. Knows the files' behaviour and
 * its errors, not what the writes are for. Must not decide anything. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "io/damonfs.h"
#include "io/pathf.h"

#define EBUSY_TRIES 200
#define EBUSY_SLEEP_US (50 * UINT64_C(1000)) /* 10 s in all: sampling intervals end at 1 s */

#define KDAMONDS DAMON_KDAMONDS_DIR

static int read_count(Sysfs *sysfs, const char *dir, const char *leaf, uint64_t max, size_t *ret) {
        char path[PATHF_MAX];
        uint64_t n;
        int r;

        (void) pathf(path, "%s/%s", dir, leaf);
        r = sysfs_read_u64(sysfs, path, &n);
        if (r < 0)
                return r;
        if (n > max)
                return -E2BIG;
        *ret = (size_t) n;
        return 0;
}

static int read_state(Sysfs *sysfs, size_t kdamond, bool *ret_on) {
        char path[PATHF_MAX], buf[64];
        int r;

        (void) pathf(path, KDAMONDS "/%zu/state", kdamond);
        r = sysfs_read_again(sysfs, path, buf, sizeof(buf));
        if (r < 0)
                return r;
        *ret_on = strcmp(buf, "on") == 0;
        return 0;
}

/* State and pid files share the trylock: EBUSY says nothing about the kdamond. */
static int read_state_retry(Sysfs *sysfs, size_t kdamond, void (*sleep_us)(uint64_t us),
                            bool *ret_on) {
        int r = -EBUSY;

        for (unsigned i = 0; i < EBUSY_TRIES; i++) {
                r = read_state(sysfs, kdamond, ret_on);
                if (r != -EBUSY)
                        return r;
                sleep_us(EBUSY_SLEEP_US);
        }
        return r;
}

static int read_pid_retry(Sysfs *sysfs, size_t kdamond, void (*sleep_us)(uint64_t us), int *ret) {
        char path[PATHF_MAX], buf[32];
        int r = -EBUSY;

        (void) pathf(path, KDAMONDS "/%zu/pid", kdamond);
        for (unsigned i = 0; i < EBUSY_TRIES; i++) {
                r = sysfs_read_again(sysfs, path, buf, sizeof(buf));
                if (r >= 0)
                        return parse_int(buf, ret);
                if (r != -EBUSY)
                        return r;
                sleep_us(EBUSY_SLEEP_US);
        }
        return r;
}

int damonfs_read_states(Sysfs *sysfs, void (*sleep_us)(uint64_t us), DamonTree *ret) {
        _cleanup_(damon_tree_done) DamonTree tree = {};
        size_t n;
        int r;

        r = read_count(sysfs, KDAMONDS, "nr_kdamonds", DAMON_KDAMONDS_MAX, &n);
        if (r == -ENOENT)
                return -EOPNOTSUPP;
        if (r < 0)
                return r;
        tree.kdamonds = calloc(MAX(n, (size_t) 1), sizeof(*tree.kdamonds));
        if (!tree.kdamonds)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                tree.kdamonds[i] = damon_kdamond_default();
                tree.n_kdamonds++;
                r = read_state_retry(sysfs, i, sleep_us, &tree.kdamonds[i].on);
                if (r < 0)
                        return r;
                r = read_pid_retry(sysfs, i, sleep_us, &tree.kdamonds[i].pid);
                if (r < 0)
                        return r;
        }
        *ret = tree;
        tree = (DamonTree){};
        return 0;
}

static int read_level(Sysfs *sysfs, uint32_t caps, DamonLevel level, const char *dir,
                      void *object) {
        size_t n;
        const DamonAttr *attrs = damon_attrs(&n);

        for (size_t i = 0; i < n; i++) {
                char path[PATHF_MAX], buf[64];
                int r;

                if (attrs[i].level != level || (attrs[i].caps & caps) != attrs[i].caps)
                        continue;
                (void) pathf(path, "%s/%s", dir, attrs[i].leaf);
                r = sysfs_read(sysfs, path, buf, sizeof(buf));
                if (r < 0)
                        return r;
                r = damon_attr_parse(&attrs[i], buf, object);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int read_scheme(Sysfs *sysfs, uint32_t caps, const char *dir, DamonScheme *scheme) {
        char leaf[64], sub[PATHF_MAX];
        int r;

        r = read_level(sysfs, caps, DAMON_LEVEL_SCHEME, dir, scheme);
        if (r < 0)
                return r;
        if (caps & DAMON_CAP_GOALS) {
                r = read_count(sysfs, dir, "quotas/goals/nr_goals", DAMON_GOALS_MAX,
                               &scheme->n_goals);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < scheme->n_goals; i++) {
                (void) pathf(sub, "%s/quotas/goals/%zu", dir, i);
                r = read_level(sysfs, caps, DAMON_LEVEL_GOAL, sub, &scheme->goals[i]);
                if (r < 0)
                        return r;
        }
        (void) snprintf(leaf, sizeof(leaf), "%s/nr_filters", damon_filters_dir(caps));
        r = read_count(sysfs, dir, leaf, DAMON_FILTERS_MAX, &scheme->n_filters);
        if (r < 0)
                return r;
        for (size_t i = 0; i < scheme->n_filters; i++) {
                (void) pathf(sub, "%s/%s/%zu", dir, damon_filters_dir(caps), i);
                r = read_level(sysfs, caps, DAMON_LEVEL_FILTER, sub, &scheme->filters[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int read_context(Sysfs *sysfs, uint32_t caps, const char *dir, DamonContext *context) {
        char sub[PATHF_MAX];
        int r;

        r = read_level(sysfs, caps, DAMON_LEVEL_CONTEXT, dir, context);
        if (r < 0)
                return r;
        r = read_count(sysfs, dir, "targets/nr_targets", 1, &context->n_targets);
        if (r < 0)
                return r;
        if (context->n_targets > 0) {
                size_t n;

                r = read_count(sysfs, dir, "targets/0/regions/nr_regions", 1 << 20, &n);
                if (r < 0)
                        return r;
                context->ranges = calloc(MAX(n, (size_t) 1), sizeof(*context->ranges));
                if (!context->ranges)
                        return -ENOMEM;
                context->n_ranges = n;
        }
        for (size_t i = 0; i < context->n_ranges; i++) {
                (void) pathf(sub, "%s/targets/0/regions/%zu", dir, i);
                r = read_level(sysfs, caps, DAMON_LEVEL_REGION, sub, &context->ranges[i]);
                if (r < 0)
                        return r;
        }
        r = read_count(sysfs, dir, "schemes/nr_schemes", DAMON_SCHEMES_MAX, &context->n_schemes);
        if (r < 0)
                return r;
        for (size_t i = 0; i < context->n_schemes; i++) {
                (void) pathf(sub, "%s/schemes/%zu", dir, i);
                r = read_scheme(sysfs, caps, sub, &context->schemes[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

int damonfs_read(Sysfs *sysfs, uint32_t caps, void (*sleep_us)(uint64_t us), DamonTree *ret) {
        _cleanup_(damon_tree_done) DamonTree tree = {};
        int r;

        r = damonfs_read_states(sysfs, sleep_us, &tree);
        if (r < 0)
                return r;
        for (size_t i = 0; i < tree.n_kdamonds; i++) {
                DamonKdamond *kdamond = &tree.kdamonds[i];
                char dir[PATHF_MAX];

                (void) pathf(dir, KDAMONDS "/%zu", i);
                r = read_level(sysfs, caps, DAMON_LEVEL_KDAMOND, dir, kdamond);
                if (r < 0)
                        return r;
                r = read_count(sysfs, dir, "contexts/nr_contexts", 1, &kdamond->n_contexts);
                if (r < 0)
                        return r;
                kdamond->context = damon_context_default();
                if (kdamond->n_contexts == 0)
                        continue;
                (void) pathf(dir, KDAMONDS "/%zu/contexts/0", i);
                r = read_context(sysfs, caps, dir, &kdamond->context);
                if (r < 0)
                        return r;
        }
        *ret = tree;
        tree = (DamonTree){};
        return 0;
}

#define SCHEME0 KDAMONDS "/0/contexts/0/schemes/0"

static const struct {
        const char *path;
        uint32_t cap;
} look_table[] = {
        {SCHEME0 "/target_nid", DAMON_CAP_MIGRATE},
        {SCHEME0 "/quotas/effective_bytes", DAMON_CAP_EFFECTIVE_BYTES},
        {SCHEME0 "/quotas/goals/nr_goals", DAMON_CAP_GOALS},
        {SCHEME0 "/ops_filters/nr_filters", DAMON_CAP_OPS_FILTERS},
        {SCHEME0 "/stats/sz_ops_filter_passed", DAMON_CAP_PASSED},
        {SCHEME0 "/stats/nr_snapshots", DAMON_CAP_SNAPSHOTS},
        {SCHEME0 "/quotas/goal_tuner", DAMON_CAP_GOAL_TUNER},
        {SCHEME0 "/quotas/fail_charge_num", DAMON_CAP_FAIL_CHARGE},
        {SCHEME0 "/dests/nr_dests", DAMON_CAP_DESTS},
        {SCHEME0 "/quotas/goals/0/nid", DAMON_CAP_NODE_GOALS},
        {SCHEME0 "/ops_filters/0/allow", DAMON_CAP_ALLOW},
        {SCHEME0 "/filters/0/allow", DAMON_CAP_ALLOW},
        {KDAMONDS "/0/contexts/0/monitoring_attrs/intervals/intervals_goal/aggrs",
         DAMON_CAP_INTERVALS_GOAL},
        {KDAMONDS "/0/contexts/0/addr_unit", DAMON_CAP_ADDR_UNIT},
        {KDAMONDS "/0/contexts/0/pause", DAMON_CAP_PAUSE},
        {KDAMONDS "/0/refresh_ms", DAMON_CAP_REFRESH},
        {"sys/module/damon_stat/parameters/enabled", DAMON_CAP_STAT},
};

/* What a tree without goals or filters can't show comes with another file of the same release:
 * goals/G/nid (6.16) after core_filters (6.15), and before dests (6.17). */
static uint32_t look_infer(uint32_t caps) {
        if (caps & DAMON_CAP_OPS_FILTERS)
                caps |= DAMON_CAP_ALLOW; /* 6.14 brought "allow", 6.15 the directories */
        if (caps & DAMON_CAP_REFRESH)
                caps |= DAMON_CAP_NODE_GOALS;
        return caps;
}

int damonfs_look(Sysfs *sysfs, uint32_t *ret_caps) {
        uint32_t caps = DAMON_CAP_SYSFS;

        if (!sysfs_exists(sysfs, SCHEME0 "/action"))
                return -ENODATA;
        for (size_t i = 0; i < ELEMENTSOF(look_table); i++)
                if (sysfs_exists(sysfs, look_table[i].path))
                        caps |= look_table[i].cap;
        *ret_caps = look_infer(caps);
        return 0;
}

int damonfs_stage(Sysfs *sysfs, size_t n_kdamonds) {
        size_t present;
        char buf[32];
        int r;

        r = read_count(sysfs, KDAMONDS, "nr_kdamonds", UINT64_MAX, &present);
        if (r < 0)
                return r == -ENOENT ? -EOPNOTSUPP : r;
        if (present > 0)
                return -EBUSY;
        (void) snprintf(buf, sizeof(buf), "%zu", n_kdamonds);
        r = sysfs_write(sysfs, KDAMONDS "/nr_kdamonds", buf);
        if (r < 0)
                return r;
        r = sysfs_write(sysfs, KDAMONDS "/0/contexts/nr_contexts", "1");
        if (r < 0)
                return r;
        r = sysfs_write(sysfs, KDAMONDS "/0/contexts/0/schemes/nr_schemes", "1");
        if (r < 0)
                return r;
        r = sysfs_write(sysfs, SCHEME0 "/quotas/goals/nr_goals", "1");
        if (r < 0 && r != -ENOENT)
                return r;
        r = sysfs_write(sysfs, SCHEME0 "/ops_filters/nr_filters", "1");
        if (r == -ENOENT)
                r = sysfs_write(sysfs, SCHEME0 "/filters/nr_filters", "1");
        return r;
}

static int write_retry(Sysfs *sysfs, const char *path, const char *value,
                       void (*sleep_us)(uint64_t us)) {
        int r = -EBUSY;

        for (unsigned i = 0; i < EBUSY_TRIES; i++) {
                r = sysfs_write(sysfs, path, value);
                if (r != -EBUSY)
                        return r;
                sleep_us(EBUSY_SLEEP_US);
        }
        return r;
}

static int run_state(Sysfs *sysfs, const Op *op, void (*sleep_us)(uint64_t us)) {
        bool on = false, is_on = strcmp(op->value, "on") == 0,
             is_off = strcmp(op->value, "off") == 0;
        int r;

        if (!is_on) {
                r = read_state_retry(sysfs, op->kdamond, sleep_us, &on);
                if (r < 0)
                        return r;
                if (!on)
                        return is_off ? 0 : -ESRCH;
        }
        if (is_on) {
                /* EBUSY here may also mean DAMON_STAT or another exclusive user: that stays. */
                r = sysfs_write(sysfs, op->path, op->value);
                for (unsigned i = 0; r == -EBUSY && i < 10; i++) {
                        sleep_us(EBUSY_SLEEP_US);
                        r = sysfs_write(sysfs, op->path, op->value);
                }
        } else
                r = write_retry(sysfs, op->path, op->value, sleep_us);
        if (is_off && r == -EPERM) /* it ended in between; up to 7.2 that is an error */
                return 0;
        if (r < 0)
                return r;
        if (is_off)
                return 0;
        r = read_state_retry(sysfs, op->kdamond, sleep_us, &on);
        if (r < 0)
                return r;
        return on ? 0 : -ESRCH;
}

int damonfs_ask(Sysfs *sysfs, size_t kdamond, const char *word, void (*sleep_us)(uint64_t us)) {
        char path[PATHF_MAX];

        (void) pathf(path, KDAMONDS "/%zu/state", kdamond);
        return write_retry(sysfs, path, word, sleep_us);
}

int damonfs_run(Sysfs *sysfs, const OpList *ops, void (*sleep_us)(uint64_t us),
                DamonfsFailure *reterr) {
        for (size_t i = 0; i < ops->n_items; i++) {
                const Op *op = &ops->items[i];
                int r = 0;

                switch (op->kind) {
                case OP_STATE:
                        r = run_state(sysfs, op, sleep_us);
                        break;
                case OP_RESIZE:
                case OP_SET:
                case OP_KNOB:
                        r = write_retry(sysfs, op->path, op->value, sleep_us);
                        break;
                case _OP_KIND_MAX:
                        r = -EINVAL;
                        break;
                }
                if (r < 0) {
                        *reterr = (DamonfsFailure){.index = i, .error = r};
                        return r;
                }
        }
        return 0;
}

const char *damonfs_hint(const Op *op, int error) {
        bool is_on = op->kind == OP_STATE && strcmp(op->value, "on") == 0;

        if (error == -EBUSY && is_on)
                return "another user of DAMON that tolerates no other is running (DAMON_STAT, "
                       "DAMON_RECLAIM, DAMON_LRU_SORT)";
        if (error == -EBUSY)
                return "a command is at work in the kernel, or a kdamond runs";
        if (error == -ENOMEM && op->kind == OP_STATE)
                return "the kernel says so also for scheme input that it rejects";
        if (error == -EINVAL && op->kind == OP_STATE)
                return "the kernel rejects the staged values";
        if (error == -EINVAL)
                return "this kernel does not know the value";
        if (error == -ESRCH)
                return "the kdamond is not running";
        if (error == -EROFS || error == -EACCES || error == -EPERM)
                return "the sandbox or the root does not allow it; see ReadWritePaths= of the unit";
        if (error == -ENOENT)
                return "this kernel lacks the file, or somebody else rebuilt the tree";
        return NULL;
}
