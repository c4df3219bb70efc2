/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DAMON's tree as values: copying, comparing, defaults. The attribute table is in
 * core/damon-attr.c. Nothing here opens a file or knows policy. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/damon.h"

static const struct {
        DamonCaps cap;
        const char *name;
        const char *release;
} cap_table[] = {
        {DAMON_CAP_SYSFS, "sysfs", "5.18"},
        {DAMON_CAP_MIGRATE, "migrate", "6.11"},
        {DAMON_CAP_EFFECTIVE_BYTES, "effective-bytes", "6.9"},
        {DAMON_CAP_GOALS, "goals", "6.8"},
        {DAMON_CAP_ALLOW, "allow", "6.14"},
        {DAMON_CAP_OPS_FILTERS, "ops-filters", "6.15"},
        {DAMON_CAP_PASSED, "passed", "6.14"},
        {DAMON_CAP_INTERVALS_GOAL, "intervals-goal", "6.15"},
        {DAMON_CAP_NODE_GOALS, "node-goals", "6.16"},
        {DAMON_CAP_REFRESH, "refresh", "6.17"},
        {DAMON_CAP_DESTS, "dests", "6.17"},
        {DAMON_CAP_ADDR_UNIT, "addr-unit", "6.18"},
        {DAMON_CAP_SNAPSHOTS, "snapshots", "7.0"},
        {DAMON_CAP_GOAL_TUNER, "goal-tuner", "7.1"},
        {DAMON_CAP_FAIL_CHARGE, "fail-charge", "7.2"},
        {DAMON_CAP_PAUSE, "pause", "7.2"},
        {DAMON_CAP_STAT, "damon-stat", "6.17"},
};

const char *damon_cap_to_string(DamonCaps cap) {
        for (size_t i = 0; i < ELEMENTSOF(cap_table); i++)
                if (cap_table[i].cap == cap)
                        return cap_table[i].name;
        return NULL;
}

const char *damon_cap_release(DamonCaps cap) {
        for (size_t i = 0; i < ELEMENTSOF(cap_table); i++)
                if (cap_table[i].cap == cap)
                        return cap_table[i].release;
        return NULL;
}

/* The number that *text starts with, at most 999, and *text moved behind it; 0 for none. */
static unsigned take_number(const char **text) {
        unsigned n = 0;

        for (; **text >= '0' && **text <= '9'; (*text)++)
                n = MIN(n * 10 + (unsigned) (**text - '0'), 999U);
        return n;
}

/* "6.12..." -> 6012; 0 when the text does not start like that. */
static unsigned release_number(const char *release) {
        unsigned major = take_number(&release);

        if (major == 0 || *release++ != '.' || *release < '0' || *release > '9')
                return 0;
        return major * 1000 + take_number(&release);
}

uint32_t damon_caps_of_release(const char *release) {
        unsigned number = release_number(release);
        uint32_t caps = 0;

        for (size_t i = 0; i < ELEMENTSOF(cap_table); i++)
                if (number >= release_number(cap_table[i].release))
                        caps |= cap_table[i].cap;
        return caps;
}

char *damon_caps_to_string(uint32_t caps) {
        char *text = NULL;
        size_t size = 0;
        FILE *f;

        f = open_memstream(&text, &size);
        if (!f)
                return NULL;
        for (size_t i = 0; i < ELEMENTSOF(cap_table); i++)
                if (caps & cap_table[i].cap)
                        fprintf(f, "%s%s", ftell(f) > 0 ? " " : "", cap_table[i].name);
        if (fclose(f) != 0) {
                free(text);
                return NULL;
        }
        return text;
}

void damon_tree_done(DamonTree *tree) {
        for (size_t i = 0; i < tree->n_kdamonds; i++)
                free(tree->kdamonds[i].context.ranges);
        free(tree->kdamonds);
        *tree = (DamonTree){};
}

int damon_tree_copy(const DamonTree *tree, DamonTree *ret) {
        _cleanup_(damon_tree_done) DamonTree copy = {};

        if (tree->n_kdamonds > 0) {
                copy.kdamonds = calloc(tree->n_kdamonds, sizeof(*copy.kdamonds));
                if (!copy.kdamonds)
                        return -ENOMEM;
        }
        for (size_t i = 0; i < tree->n_kdamonds; i++) {
                const DamonContext *from = &tree->kdamonds[i].context;
                AddressRange *ranges = NULL;

                if (from->n_ranges > 0) {
                        ranges = calloc(from->n_ranges, sizeof(*ranges));
                        if (!ranges)
                                return -ENOMEM;
                        memcpy(ranges, from->ranges, from->n_ranges * sizeof(*ranges));
                }
                copy.kdamonds[i] = tree->kdamonds[i];
                copy.kdamonds[i].context.ranges = ranges;
                copy.n_kdamonds++;
        }
        *ret = copy;
        copy = (DamonTree){};
        return 0;
}

static bool level_equal(DamonLevel level, const void *a, const void *b) {
        size_t n;
        const DamonAttr *attrs = damon_attrs(&n);

        for (size_t i = 0; i < n; i++)
                if (attrs[i].level == level && !damon_attr_equal(&attrs[i], a, b))
                        return false;
        return true;
}

static bool scheme_equal(const DamonScheme *a, const DamonScheme *b) {
        if (a->n_goals != b->n_goals || a->n_filters != b->n_filters)
                return false;
        for (size_t i = 0; i < a->n_goals; i++)
                if (!level_equal(DAMON_LEVEL_GOAL, &a->goals[i], &b->goals[i]))
                        return false;
        for (size_t i = 0; i < a->n_filters; i++)
                if (!level_equal(DAMON_LEVEL_FILTER, &a->filters[i], &b->filters[i]))
                        return false;
        return level_equal(DAMON_LEVEL_SCHEME, a, b);
}

bool damon_context_equal(const DamonContext *a, const DamonContext *b) {
        if (a->n_targets != b->n_targets || a->n_ranges != b->n_ranges ||
            a->n_schemes != b->n_schemes)
                return false;
        for (size_t i = 0; i < a->n_ranges; i++)
                if (!level_equal(DAMON_LEVEL_REGION, &a->ranges[i], &b->ranges[i]))
                        return false;
        for (size_t i = 0; i < a->n_schemes; i++)
                if (!scheme_equal(&a->schemes[i], &b->schemes[i]))
                        return false;
        return level_equal(DAMON_LEVEL_CONTEXT, a, b);
}

bool damon_tree_equal(const DamonTree *a, const DamonTree *b) {
        if (a->n_kdamonds != b->n_kdamonds)
                return false;
        for (size_t i = 0; i < a->n_kdamonds; i++) {
                const DamonKdamond *x = &a->kdamonds[i], *y = &b->kdamonds[i];

                if (x->n_contexts != y->n_contexts || !level_equal(DAMON_LEVEL_KDAMOND, x, y))
                        return false;
                if (x->n_contexts > 0 && !damon_context_equal(&x->context, &y->context))
                        return false;
        }
        return true;
}

DamonScheme damon_scheme_default(void) {
        return (DamonScheme){.action = DAMON_ACTION_STAT, .target_nid = -1};
}

DamonContext damon_context_default(void) {
        return (DamonContext){
                .operations = DAMON_OPS_VADDR,
                .addr_unit = 1,
                .sample_us = 5000,
                .aggr_us = 100000,
                .update_us = 60000000,
                .min_nr_regions = 10,
                .max_nr_regions = 1000,
        };
}

DamonKdamond damon_kdamond_default(void) {
        return (DamonKdamond){.pid = -1};
}

const char *damon_filters_dir(uint32_t caps) {
        return caps & DAMON_CAP_OPS_FILTERS ? "ops_filters" : "filters";
}
