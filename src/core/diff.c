/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The only source of writes. Two trees go in, the shortest ordered list of operations that leads
 * from one to the other comes out; io/damonfs executes it. A count file is written only when the
 * count differs, because writing it, even with the value it has, destroys every child below. What
 * a count file creates starts from the kernel's defaults (core/damon.h), so a leaf that is wanted
 * at its default costs no write; io/damonfs reads back afterwards, which catches a default that
 * is not what we think. */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/array.h"
#include "core/diff.h"

void op_list_done(OpList *ops) {
        for (size_t i = 0; i < ops->n_items; i++) {
                free(ops->items[i].path);
                free(ops->items[i].value);
        }
        free(ops->items);
        *ops = (OpList){};
}

static const char *const op_kind_names[_OP_KIND_MAX] = {
        [OP_RESIZE] = "resize",
        [OP_SET] = "set",
        [OP_STATE] = "state",
        [OP_KNOB] = "knob",
};

const char *op_kind_to_string(OpKind kind) {
        return (unsigned) kind < _OP_KIND_MAX ? op_kind_names[kind] : NULL;
}

_printf_(5, 0) static int op_list_addv(OpList *ops, OpKind kind, size_t kdamond, const char *value,
                                       const char *path_fmt, va_list ap) {
        _cleanup_(freep) char *path = NULL, *copy = NULL;
        int r;

        r = ARRAY_GROW(ops->items, ops->n_alloc, ops->n_items + 1);
        if (r < 0)
                return r;
        if (vasprintf(&path, path_fmt, ap) < 0) {
                path = NULL;
                return -ENOMEM;
        }
        if (asprintf(&copy, "%s", value) < 0) {
                copy = NULL;
                return -ENOMEM;
        }
        ops->items[ops->n_items++] = (Op){
                .kind = kind,
                .kdamond = kdamond,
                .path = TAKE_PTR(path),
                .value = TAKE_PTR(copy),
        };
        return 0;
}

int op_list_add(OpList *ops, OpKind kind, size_t kdamond, const char *value, const char *path_fmt,
                ...) {
        va_list ap;
        int r;

        va_start(ap, path_fmt);
        r = op_list_addv(ops, kind, kdamond, value, path_fmt, ap);
        va_end(ap);
        return r;
}

/* What is being walked: where we are, and what the differences so far ask for. */
typedef struct Walk {
        OpList *ops;
        uint32_t caps;
        size_t kdamond;
        DamonChange change;
        bool changed;
        bool keep_tuned;
} Walk;

static void walk_note(Walk *walk, DamonChange change) {
        walk->changed = true;
        walk->change = MAX(walk->change, change);
}

static int walk_resize(Walk *walk, DamonChange change, const char *dir, const char *leaf,
                       size_t n) {
        char buf[32];

        walk_note(walk, change);
        (void) snprintf(buf, sizeof(buf), "%zu", n);
        return op_list_add(walk->ops, OP_RESIZE, walk->kdamond, buf, "%s/%s", dir, leaf);
}

static int walk_level(Walk *walk, DamonLevel level, const char *dir, const void *present,
                      const void *wanted) {
        size_t n;
        const DamonAttr *attrs = damon_attrs(&n);

        for (size_t i = 0; i < n; i++) {
                const DamonAttr *attr = &attrs[i];
                char buf[32];
                int r;

                if (attr->level != level || (attr->caps & walk->caps) != attr->caps)
                        continue;
                if (attr->tuned && walk->keep_tuned)
                        continue;
                if (damon_attr_equal(attr, present, wanted))
                        continue;
                walk_note(walk, attr->change);
                r = op_list_add(walk->ops, OP_SET, walk->kdamond,
                                damon_attr_format(attr, wanted, buf), "%s/%s", dir, attr->leaf);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int walk_ranges(Walk *walk, const char *context_dir, const DamonContext *present,
                       const DamonContext *wanted) {
        bool fresh = present->n_targets != wanted->n_targets;
        size_t n_present = fresh ? 0 : present->n_ranges;
        int r;

        if (fresh) {
                r = walk_resize(walk, DAMON_CHANGE_RESTART, context_dir, "targets/nr_targets",
                                wanted->n_targets);
                if (r < 0)
                        return r;
        }
        if (wanted->n_targets == 0)
                return 0;
        if (n_present != wanted->n_ranges) {
                r = walk_resize(walk, DAMON_CHANGE_COMMIT, context_dir,
                                "targets/0/regions/nr_regions", wanted->n_ranges);
                if (r < 0)
                        return r;
                n_present = 0;
        }
        for (size_t i = 0; i < wanted->n_ranges; i++) {
                AddressRange zero = {};
                _cleanup_(freep) char *dir = NULL;

                if (asprintf(&dir, "%s/targets/0/regions/%zu", context_dir, i) < 0) {
                        dir = NULL;
                        return -ENOMEM;
                }
                r = walk_level(walk, DAMON_LEVEL_REGION, dir,
                               i < n_present ? &present->ranges[i] : &zero, &wanted->ranges[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int walk_goals(Walk *walk, const char *scheme_dir, const DamonScheme *present,
                      const DamonScheme *wanted) {
        bool fresh = present->n_goals != wanted->n_goals;
        int r;

        if (fresh) {
                r = walk_resize(walk, DAMON_CHANGE_COMMIT, scheme_dir, "quotas/goals/nr_goals",
                                wanted->n_goals);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < wanted->n_goals; i++) {
                DamonGoal zero = {};
                _cleanup_(freep) char *dir = NULL;

                if (asprintf(&dir, "%s/quotas/goals/%zu", scheme_dir, i) < 0) {
                        dir = NULL;
                        return -ENOMEM;
                }
                r = walk_level(walk, DAMON_LEVEL_GOAL, dir, fresh ? &zero : &present->goals[i],
                               &wanted->goals[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int walk_filters(Walk *walk, const char *scheme_dir, const DamonScheme *present,
                        const DamonScheme *wanted) {
        const char *filters = damon_filters_dir(walk->caps);
        bool fresh = present->n_filters != wanted->n_filters;
        int r;

        if (fresh) {
                _cleanup_(freep) char *leaf = NULL;

                if (asprintf(&leaf, "%s/nr_filters", filters) < 0) {
                        leaf = NULL;
                        return -ENOMEM;
                }
                r = walk_resize(walk, DAMON_CHANGE_COMMIT, scheme_dir, leaf, wanted->n_filters);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < wanted->n_filters; i++) {
                DamonFilter zero = {};
                _cleanup_(freep) char *dir = NULL;

                if (asprintf(&dir, "%s/%s/%zu", scheme_dir, filters, i) < 0) {
                        dir = NULL;
                        return -ENOMEM;
                }
                r = walk_level(walk, DAMON_LEVEL_FILTER, dir, fresh ? &zero : &present->filters[i],
                               &wanted->filters[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int walk_schemes(Walk *walk, const char *context_dir, const DamonContext *present,
                        const DamonContext *wanted) {
        bool fresh = present->n_schemes != wanted->n_schemes;
        int r;

        if (fresh) {
                r = walk_resize(walk, DAMON_CHANGE_COMMIT, context_dir, "schemes/nr_schemes",
                                wanted->n_schemes);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < wanted->n_schemes; i++) {
                DamonScheme by_default = damon_scheme_default();
                const DamonScheme *from = fresh ? &by_default : &present->schemes[i];
                const DamonScheme *to = &wanted->schemes[i];
                _cleanup_(freep) char *dir = NULL;

                if (asprintf(&dir, "%s/schemes/%zu", context_dir, i) < 0) {
                        dir = NULL;
                        return -ENOMEM;
                }
                r = walk_level(walk, DAMON_LEVEL_SCHEME, dir, from, to);
                if (r < 0)
                        return r;
                r = walk_goals(walk, dir, from, to);
                if (r < 0)
                        return r;
                r = walk_filters(walk, dir, from, to);
                if (r < 0)
                        return r;
        }
        return 0;
}

static bool tuning_equal(const DamonContext *a, const DamonContext *b) {
        return a->goal_access_bp == b->goal_access_bp && a->goal_aggrs == b->goal_aggrs &&
               a->goal_min_sample_us == b->goal_min_sample_us &&
               a->goal_max_sample_us == b->goal_max_sample_us;
}

static int walk_kdamond(Walk *walk, const char *dir, const DamonKdamond *present,
                        const DamonKdamond *wanted) {
        DamonContext by_default = damon_context_default();
        const DamonContext *from = &present->context;
        _cleanup_(freep) char *context_dir = NULL;
        int r;

        if (present->n_contexts != wanted->n_contexts) {
                r = walk_resize(walk, DAMON_CHANGE_RESTART, dir, "contexts/nr_contexts",
                                wanted->n_contexts);
                if (r < 0)
                        return r;
                from = &by_default;
        }
        if (wanted->n_contexts > 0) {
                if (asprintf(&context_dir, "%s/contexts/0", dir) < 0) {
                        context_dir = NULL;
                        return -ENOMEM;
                }
                walk->keep_tuned =
                        present->on && from->goal_aggrs > 0 && tuning_equal(from, &wanted->context);
                r = walk_level(walk, DAMON_LEVEL_CONTEXT, context_dir, from, &wanted->context);
                if (r < 0)
                        return r;
                r = walk_ranges(walk, context_dir, from, &wanted->context);
                if (r < 0)
                        return r;
                r = walk_schemes(walk, context_dir, from, &wanted->context);
                if (r < 0)
                        return r;
        }
        return walk_level(walk, DAMON_LEVEL_KDAMOND, dir, present, wanted);
}

static int add_state(OpList *ops, size_t kdamond, const char *word) {
        return op_list_add(ops, OP_STATE, kdamond, word, DAMON_KDAMONDS_DIR "/%zu/state", kdamond);
}

/* Splice what @inner holds to the end of @ops; @inner is empty afterwards. */
static int op_list_append_consume(OpList *ops, OpList *inner) {
        int r;

        r = ARRAY_GROW(ops->items, ops->n_alloc, ops->n_items + inner->n_items);
        if (r < 0)
                return r;
        for (size_t i = 0; i < inner->n_items; i++)
                ops->items[ops->n_items++] = inner->items[i];
        inner->n_items = 0;
        return 0;
}

static int diff_kdamond(size_t i, const DamonKdamond *present, const DamonKdamond *wanted,
                        uint32_t caps, OpList *ops) {
        _cleanup_(op_list_done) OpList sets = {};
        _cleanup_(freep) char *dir = NULL;
        Walk walk = {.ops = &sets, .caps = caps, .kdamond = i};
        bool restart;
        int r;

        if (asprintf(&dir, DAMON_KDAMONDS_DIR "/%zu", i) < 0) {
                dir = NULL;
                return -ENOMEM;
        }
        r = walk_kdamond(&walk, dir, present, wanted);
        if (r < 0)
                return r;

        restart = present->on && walk.changed && walk.change == DAMON_CHANGE_RESTART;
        if (present->on && (restart || !wanted->on)) {
                r = add_state(ops, i, "off");
                if (r < 0)
                        return r;
        } else if (present->on && walk.changed && walk.change == DAMON_CHANGE_COMMIT &&
                   (caps & DAMON_CAP_INTERVALS_GOAL) && walk.keep_tuned) {
                /* Puts the intervals in use into the files that the commit will read. */
                r = add_state(ops, i, "update_tuned_intervals");
                if (r < 0)
                        return r;
        }
        r = op_list_append_consume(ops, &sets);
        if (r < 0)
                return r;
        if (!wanted->on)
                return 0;
        if (!present->on || restart)
                return add_state(ops, i, "on");
        if (walk.changed && walk.change == DAMON_CHANGE_COMMIT)
                return add_state(ops, i, "commit");
        if (walk.changed && walk.change == DAMON_CHANGE_GOALS)
                return add_state(ops, i, "commit_schemes_quota_goals");
        return 0;
}

static int add_all_off(const DamonTree *tree, OpList *ops) {
        int r;

        for (size_t i = 0; i < tree->n_kdamonds; i++) {
                if (!tree->kdamonds[i].on)
                        continue;
                r = add_state(ops, i, "off");
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_nr_kdamonds(OpList *ops, size_t n) {
        char buf[32];

        (void) snprintf(buf, sizeof(buf), "%zu", n);
        return op_list_add(ops, OP_RESIZE, OP_NO_KDAMOND, buf, "%s",
                           DAMON_KDAMONDS_DIR "/nr_kdamonds");
}

int diff_trees(const DamonTree *present, const DamonTree *wanted, uint32_t caps, OpList *ops) {
        bool fresh = present->n_kdamonds != wanted->n_kdamonds;
        int r;

        if (fresh) {
                r = add_all_off(present, ops);
                if (r < 0)
                        return r;
                r = add_nr_kdamonds(ops, wanted->n_kdamonds);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < wanted->n_kdamonds; i++) {
                DamonKdamond by_default = damon_kdamond_default();

                r = diff_kdamond(i, fresh ? &by_default : &present->kdamonds[i],
                                 &wanted->kdamonds[i], caps, ops);
                if (r < 0)
                        return r;
        }
        return 0;
}

int diff_release(const DamonTree *present, OpList *ops) {
        int r;

        r = add_all_off(present, ops);
        if (r < 0)
                return r;
        return present->n_kdamonds > 0 ? add_nr_kdamonds(ops, 0) : 0;
}
