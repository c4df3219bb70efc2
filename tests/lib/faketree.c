/* SPDX-License-Identifier: GPL-2.0-or-later */

/* mm/damon/sysfs.c and sysfs-schemes.c as far as files go. One table says everything; the captured
 * trees in tests/fixtures/trees are what it is checked against. */

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "faketree.h"

static const FakeWord operations[] = {{"vaddr", 0}, {"fvaddr", 0}, {"paddr", 0}, {NULL, 0}};
static const FakeWord actions[] = {
        {"willneed", 0},
        {"cold", 0},
        {"pageout", 0},
        {"hugepage", 0},
        {"nohugepage", 0},
        {"lru_prio", 0},
        {"stat", 0},
        {"lru_deprio", 0},
        {"migrate_hot", 0},
        {"migrate_cold", 0},
        {"collapse", FAKE_7_2},
        {NULL, 0},
};
static const FakeWord metrics[] = {
        {"user_input", 0},
        {"some_mem_psi_us", 0},
        {"node_mem_used_bp", FAKE_6_16},
        {"node_mem_free_bp", FAKE_6_16},
        {"node_memcg_used_bp", FAKE_6_19},
        {"node_memcg_free_bp", FAKE_6_19},
        {"active_mem_bp", FAKE_7_0},
        {"inactive_mem_bp", FAKE_7_0},
        {"node_eligible_mem_bp", FAKE_7_2},
        {NULL, 0},
};
static const FakeWord tuners[] = {{"consist", 0}, {"temporal", 0}, {NULL, 0}};
static const FakeWord watermark_metrics[] = {{"none", 0}, {"free_mem_rate", 0}, {NULL, 0}};
static const FakeWord probe_filters[] = {{"anon", 0}, {"memcg", 0}, {NULL, 0}};
static const FakeWord core_filters[] = {{"addr", 0}, {"target", 0}, {NULL, 0}};
static const FakeWord ops_filters[] = {
        {"anon", 0},          {"active", 0},   {"memcg", 0}, {"young", 0},
        {"hugepage_size", 0}, {"unmapped", 0}, {NULL, 0},
};
static const FakeWord all_filters[] = {
        {"anon", 0},
        {"memcg", 0},
        {"young", 0},
        {"addr", 0},
        {"target", 0},
        {"active", FAKE_6_16},
        {"hugepage_size", FAKE_6_16},
        {"unmapped", FAKE_6_16},
        {NULL, 0},
};

#define K "kdamonds/*/"
#define C K "contexts/*/"
#define MON C "monitoring_attrs/"
#define T C "targets/"
#define S C "schemes/*/"
#define Q S "quotas/"
#define G Q "goals/*/"

#define COUNT(p, s, ...) \
        { .path = p, .type = FAKE_COUNT, .initial = "0", .since = s, .locked = true, __VA_ARGS__ }
#define ULONG(p, i, s, ...) \
        { .path = p, .type = FAKE_ULONG, .initial = i, .since = s, __VA_ARGS__ }
#define UINT(p, i, s, ...) \
        { .path = p, .type = FAKE_UINT, .initial = i, .since = s, __VA_ARGS__ }
#define INT(p, i, s, ...) \
        { .path = p, .type = FAKE_INT, .initial = i, .since = s, __VA_ARGS__ }
#define BOOL(p, s) \
        { .path = p, .type = FAKE_BOOL, .initial = "N", .since = s }
#define ENUM(p, i, w, s) \
        { .path = p, .type = FAKE_ENUM, .initial = i, .words = w, .since = s }
#define STRING(p, s) \
        { .path = p, .type = FAKE_STRING, .initial = "", .since = s, .locked = true }
#define RESULT(p, i, s) \
        { .path = p, .type = FAKE_RESULT, .initial = i, .since = s }

#define FILTERS(dir, w, s)                                                                 \
        COUNT(S dir "/nr_filters", s), ENUM(S dir "/*/type", "anon", w, s),                \
                BOOL(S dir "/*/matching", s), BOOL(S dir "/*/allow", FAKE_6_16),           \
                STRING(S dir "/*/memcg_path", s), ULONG(S dir "/*/addr_start", "0", s),    \
                ULONG(S dir "/*/addr_end", "0", s), ULONG(S dir "/*/min", "0", FAKE_6_16), \
                ULONG(S dir "/*/max", "0", FAKE_6_16), INT(S dir "/*/damon_target_idx", "0", s)

static const FakeAttr attrs[] = {
        COUNT("kdamonds/nr_kdamonds", 0),
        {.path = K "state", .type = FAKE_STATE, .initial = "off", .locked = true},
        {.path = K "pid", .type = FAKE_PID, .initial = "-1", .locked = true},
        UINT(K "refresh_ms", "0", FAKE_6_17),
        COUNT(K "contexts/nr_contexts", 0, .max = 1),
        RESULT(C "avail_operations", "vaddr\nfvaddr\npaddr", 0),
        ENUM(C "operations", "vaddr", operations, 0),
        ULONG(C "addr_unit", "1", FAKE_6_18, .min = 1),
        BOOL(C "pause", FAKE_7_2),
        ULONG(MON "intervals/sample_us", "5000", 0),
        ULONG(MON "intervals/aggr_us", "100000", 0),
        ULONG(MON "intervals/update_us", "60000000", 0),
        ULONG(MON "intervals/intervals_goal/access_bp", "0", FAKE_6_16),
        ULONG(MON "intervals/intervals_goal/aggrs", "0", FAKE_6_16),
        ULONG(MON "intervals/intervals_goal/min_sample_us", "0", FAKE_6_16),
        ULONG(MON "intervals/intervals_goal/max_sample_us", "0", FAKE_6_16),
        ULONG(MON "nr_regions/min", "10", 0),
        ULONG(MON "nr_regions/max", "1000", 0),
        COUNT(MON "probes/nr_probes", FAKE_7_2, .max = 4),
        UINT(MON "probes/*/weight", "0", FAKE_7_3),
        COUNT(MON "probes/*/filters/nr_filters", FAKE_7_2),
        ENUM(MON "probes/*/filters/*/type", "anon", probe_filters, FAKE_7_2),
        BOOL(MON "probes/*/filters/*/matching", FAKE_7_2),
        BOOL(MON "probes/*/filters/*/allow", FAKE_7_2),
        STRING(MON "probes/*/filters/*/path", FAKE_7_2),
        COUNT(T "nr_targets", 0),
        INT(T "*/pid_target", "0", 0, .lax = true),
        BOOL(T "*/obsolete_target", FAKE_6_19),
        COUNT(T "*/regions/nr_regions", 0),
        ULONG(T "*/regions/*/start", "0", 0),
        ULONG(T "*/regions/*/end", "0", 0),
        COUNT(C "schemes/nr_schemes", 0),
        ENUM(S "action", "stat", actions, 0),
        INT(S "target_nid", "-1", 0),
        ULONG(S "apply_interval_us", "0", 0),
        ULONG(S "access_pattern/sz/min", "0", 0),
        ULONG(S "access_pattern/sz/max", "0", 0),
        ULONG(S "access_pattern/nr_accesses/min", "0", 0),
        ULONG(S "access_pattern/nr_accesses/max", "0", 0),
        ULONG(S "access_pattern/age/min", "0", 0),
        ULONG(S "access_pattern/age/max", "0", 0),
        COUNT(S "dests/nr_dests", FAKE_6_17),
        UINT(S "dests/*/id", "0", FAKE_6_17),
        UINT(S "dests/*/weight", "0", FAKE_6_17),
        ULONG(Q "ms", "0", 0, .lax = true),
        ULONG(Q "bytes", "0", 0, .lax = true),
        ULONG(Q "reset_interval_ms", "0", 0, .lax = true),
        RESULT(Q "effective_bytes", "0", 0),
        ENUM(Q "goal_tuner", "consist", tuners, FAKE_7_1),
        UINT(Q "fail_charge_num", "0", FAKE_7_2, .lax = true),
        UINT(Q "fail_charge_denom", "0", FAKE_7_2, .lax = true),
        UINT(Q "weights/sz_permil", "0", 0),
        UINT(Q "weights/nr_accesses_permil", "0", 0),
        UINT(Q "weights/age_permil", "0", 0),
        COUNT(Q "goals/nr_goals", 0),
        ENUM(G "target_metric", "user_input", metrics, 0),
        ULONG(G "target_value", "0", 0),
        ULONG(G "current_value", "0", 0),
        INT(G "nid", "0", FAKE_6_16),
        STRING(G "path", FAKE_6_19),
        ENUM(S "watermarks/metric", "none", watermark_metrics, 0),
        ULONG(S "watermarks/interval_us", "0", 0),
        ULONG(S "watermarks/high", "0", 0),
        ULONG(S "watermarks/mid", "0", 0),
        ULONG(S "watermarks/low", "0", 0),
        FILTERS("filters", all_filters, 0),
        FILTERS("core_filters", core_filters, FAKE_6_16),
        FILTERS("ops_filters", ops_filters, FAKE_6_16),
        RESULT(S "stats/nr_tried", "0", 0),
        RESULT(S "stats/sz_tried", "0", 0),
        RESULT(S "stats/nr_applied", "0", 0),
        RESULT(S "stats/sz_applied", "0", 0),
        RESULT(S "stats/qt_exceeds", "0", 0),
        RESULT(S "stats/sz_ops_filter_passed", "0", FAKE_6_16),
        RESULT(S "stats/nr_snapshots", "0", FAKE_7_0),
        ULONG(S "stats/max_nr_snapshots", "0", FAKE_7_0),
        RESULT(S "tried_regions/total_bytes", "0", 0),
        RESULT(S "tried_regions/*/start", "0", 0),
        RESULT(S "tried_regions/*/end", "0", 0),
        RESULT(S "tried_regions/*/nr_accesses", "0", 0),
        RESULT(S "tried_regions/*/age", "0", 0),
        RESULT(S "tried_regions/*/sz_filter_passed", "0", FAKE_6_16),
};

const char *fake_rung_to_string(FakeRung rung) {
        static const char *const table[_FAKE_RUNG_MAX] = {
                [FAKE_6_12] = "6.12", [FAKE_6_16] = "6.16", [FAKE_6_17] = "6.17",
                [FAKE_6_18] = "6.18", [FAKE_6_19] = "6.19", [FAKE_7_0] = "7.0",
                [FAKE_7_1] = "7.1",   [FAKE_7_2] = "7.2",   [FAKE_7_3] = "7.3",
        };

        return table[rung];
}

static void *must(void *p) {
        if (!p)
                abort();
        return p;
}

/* Nodes ------------------------------------------------------------------------------------ */

static FakeNode *node_new(FakeNode *parent, const char *name) {
        FakeNode *node = must(calloc(1, sizeof(*node)));

        node->name = must(strdup(name));
        node->parent = parent;
        if (!parent)
                return node;

        if (ARRAY_GROW(parent->children, parent->n_alloc, parent->n_children + 1) < 0)
                abort();
        parent->children[parent->n_children++] = node;
        return node;
}

FakeNode *faketree_free(FakeNode *node) {
        if (!node)
                return NULL;

        for (size_t i = 0; i < node->n_children; i++)
                faketree_free(node->children[i]);
        if (node->data_free)
                node->data_free(node->data);
        free(node->children);
        free(node->name);
        free(node->value);
        free(node);
        return NULL;
}

static FakeNode *find_child(FakeNode *node, const char *name, size_t len) {
        for (size_t i = 0; i < node->n_children; i++)
                if (strncmp(node->children[i]->name, name, len) == 0 &&
                    node->children[i]->name[len] == '\0')
                        return node->children[i];

        return NULL;
}

FakeNode *faketree_find(FakeNode *node, const char *path) {
        while (node && *path != '\0') {
                size_t len = strcspn(path, "/");

                node = find_child(node, path, len);
                path += len + (path[len] == '/');
        }

        return node;
}

const char *faketree_value(FakeNode *node, const char *path) {
        return ((FakeNode *) must(faketree_find(node, path)))->value;
}

uint64_t faketree_number(FakeNode *node, const char *path) {
        return strtoull(faketree_value(node, path), NULL, 10);
}

void faketree_set(FakeNode *file, const char *value) {
        char *copy = must(strdup(value));

        free(file->value);
        file->value = copy;
}

void faketree_setf(FakeNode *file, const char *fmt, ...) {
        char *value;
        va_list ap;

        va_start(ap, fmt);
        if (vasprintf(&value, fmt, ap) < 0)
                abort();
        va_end(ap);
        free(file->value);
        file->value = value;
}

static FakeNode *clone_below(FakeNode *parent, const FakeNode *node) {
        FakeNode *copy = node_new(parent, node->name);

        copy->attr = node->attr;
        if (node->value)
                faketree_set(copy, node->value);
        for (size_t i = 0; i < node->n_children; i++)
                (void) clone_below(copy, node->children[i]);
        return copy;
}

FakeNode *faketree_clone(const FakeNode *node) {
        return clone_below(NULL, node);
}

void faketree_replace(FakeNode *old, FakeNode *node) {
        FakeNode *parent = old->parent;

        for (size_t i = 0; i < parent->n_children; i++)
                if (parent->children[i] == old)
                        parent->children[i] = node;
        node->parent = parent;
        (void) faketree_free(old);
}

static bool is_numbered(const FakeNode *node) {
        return isdigit((unsigned char) node->name[0]);
}

size_t faketree_count(FakeNode *dir, const char *path) {
        FakeNode *at = must(faketree_find(dir, path));
        size_t n = 0;

        for (size_t i = 0; i < at->n_children; i++)
                n += is_numbered(at->children[i]);
        return n;
}

FakeNode *faketree_child(FakeNode *dir, const char *path, size_t i) {
        FakeNode *at = must(faketree_find(dir, path));
        char name[24];

        (void) snprintf(name, sizeof(name), "%zu", i);
        return must(find_child(at, name, strlen(name)));
}

char *faketree_path(const FakeNode *node) {
        _cleanup_(freep) char *above = NULL;
        char *path;

        if (!node->parent)
                return must(strdup(""));

        above = faketree_path(node->parent);
        if (asprintf(&path, "%s%s%s", above, *above ? "/" : "", node->name) < 0)
                abort();
        return path;
}

/* Building --------------------------------------------------------------------------------- */

/* What @path has in common with the table: numbers become '*'. */
static char *template_of(const FakeNode *node) {
        _cleanup_(freep) char *above = NULL;
        char *path;

        if (!node->parent)
                return must(strdup(""));

        above = template_of(node->parent);
        if (asprintf(&path, "%s%s/", above, is_numbered(node) ? "*" : node->name) < 0)
                abort();
        return path;
}

static void add_file(FakeNode *dir, const FakeAttr *attr, const char *path) {
        for (;;) {
                size_t len = strcspn(path, "/");
                _cleanup_(freep) char *name = must(strndup(path, len));
                FakeNode *node = find_child(dir, path, len);

                if (!node)
                        node = node_new(dir, name);
                if (path[len] == '\0') {
                        node->attr = attr;
                        faketree_set(node, attr->initial);
                        return;
                }

                dir = node;
                path += len + 1;
        }
}

/* All files below @dir that are not below a further numbered directory. */
static void add_files(FakeRung rung, FakeNode *dir) {
        _cleanup_(freep) char *prefix = template_of(dir);
        size_t len = strlen(prefix);

        for (size_t i = 0; i < ELEMENTSOF(attrs); i++)
                if (attrs[i].since <= rung && strncmp(attrs[i].path, prefix, len) == 0 &&
                    !strchr(attrs[i].path + len, '*'))
                        add_file(dir, &attrs[i], attrs[i].path + len);
}

FakeNode *faketree_new(FakeRung rung) {
        FakeNode *root = node_new(NULL, "");

        add_files(rung, root);
        return root;
}

FakeNode *faketree_add_numbered(FakeRung rung, FakeNode *dir, size_t number) {
        char name[24];
        FakeNode *node;

        (void) snprintf(name, sizeof(name), "%zu", number);
        node = node_new(dir, name);
        add_files(rung, node);
        return node;
}

void faketree_remove_numbered(FakeNode *dir) {
        size_t n = 0;

        for (size_t i = 0; i < dir->n_children; i++) {
                if (is_numbered(dir->children[i]))
                        (void) faketree_free(dir->children[i]);
                else
                        dir->children[n++] = dir->children[i];
        }
        dir->n_children = n;
}

/* Stores ----------------------------------------------------------------------------------- */

/* lib/kstrtox.c:_kstrtoull() with base 0 */
static int kstrtoull(const char *s, unsigned long long *ret) {
        unsigned base = 10, n_digits = 0;
        unsigned long long value = 0;
        bool overflow = false;

        if (s[0] == '0') {
                base = 8;
                if (tolower((unsigned char) s[1]) == 'x' && isxdigit((unsigned char) s[2])) {
                        base = 16;
                        s += 2;
                }
        }
        for (;; s++, n_digits++) {
                unsigned digit = isdigit((unsigned char) *s) ? (unsigned) (*s - '0')
                                 : isxdigit((unsigned char) *s)
                                         ? (unsigned) (tolower((unsigned char) *s) - 'a' + 10)
                                         : 99;

                if (digit >= base)
                        break;
                overflow |= __builtin_mul_overflow(value, base, &value);
                overflow |= __builtin_add_overflow(value, digit, &value);
        }
        if (overflow)
                return -ERANGE;
        if (n_digits == 0)
                return -EINVAL;
        if (*s == '\n')
                s++;
        if (*s != '\0')
                return -EINVAL;

        *ret = value;
        return 0;
}

static int kstrtoul(const char *s, unsigned long long max, unsigned long long *ret) {
        unsigned long long value;
        int r;

        r = kstrtoull(*s == '+' ? s + 1 : s, &value);
        if (r < 0)
                return r;
        if (value > max)
                return -ERANGE;

        *ret = value;
        return 0;
}

static int kstrtoint(const char *s, int *ret) {
        bool negative = *s == '-';
        unsigned long long value;
        int r;

        r = kstrtoull(negative || *s == '+' ? s + 1 : s, &value);
        if (r < 0)
                return r;
        if (value > (unsigned long long) INT_MAX + negative)
                return -ERANGE;

        *ret = (int) (negative ? -(long long) value : (long long) value);
        return 0;
}

int fake_kstrtobool(const char *s, bool *ret) {
        switch (tolower((unsigned char) s[0])) {
        case 'y':
        case 't':
        case 'e':
        case '1':
                *ret = true;
                return 0;
        case 'n':
        case 'f':
        case 'd':
        case '0':
                *ret = false;
                return 0;
        case 'o':
                if (tolower((unsigned char) s[1]) != 'n' && tolower((unsigned char) s[1]) != 'f')
                        return -EINVAL;
                *ret = tolower((unsigned char) s[1]) == 'n';
                return 0;
        default:
                return -EINVAL;
        }
}

/* Nobody can want more, and the kernel would go on until it has no memory. */
#define COUNT_MAX 10000

static int store_count(FakeRung rung, FakeNode *file, const char *value) {
        int n, r;

        r = kstrtoint(value, &n);
        if (r < 0)
                return r;
        if (n < 0 || (file->attr->max && (uint64_t) n > file->attr->max))
                return -EINVAL;
        if (n > COUNT_MAX)
                return -ENOMEM;

        faketree_remove_numbered(file->parent);
        for (int i = 0; i < n; i++)
                (void) faketree_add_numbered(rung, file->parent, (size_t) i);
        faketree_setf(file, "%d", n);
        return 0;
}

static int store_int(FakeNode *file, const char *value) {
        int n, r;

        r = kstrtoint(value, &n);
        if (r < 0)
                return r;

        faketree_setf(file, "%d", n);
        return 0;
}

static int store_unsigned(FakeNode *file, const char *value) {
        unsigned long long n;
        int r;

        r = kstrtoul(value, file->attr->type == FAKE_UINT ? UINT_MAX : ULONG_MAX, &n);
        if (r < 0)
                return r;
        if (n < file->attr->min)
                return -EINVAL;

        faketree_setf(file, "%llu", n);
        return 0;
}

static int store_enum(FakeRung rung, FakeNode *file, const char *value) {
        size_t len = strlen(value);

        len -= len > 0 && value[len - 1] == '\n';
        for (const FakeWord *w = file->attr->words; w->word; w++)
                if (w->since <= rung && strlen(w->word) == len &&
                    strncmp(w->word, value, len) == 0) {
                        faketree_set(file, w->word);
                        return 0;
                }

        return -EINVAL;
}

static int store_bool(FakeNode *file, const char *value) {
        bool on;
        int r;

        r = fake_kstrtobool(value, &on);
        if (r < 0)
                return r;

        faketree_set(file, on ? "Y" : "N");
        return 0;
}

static int store(FakeRung rung, FakeNode *file, const char *value) {
        switch (file->attr->type) {
        case FAKE_COUNT:
                return store_count(rung, file, value);
        case FAKE_INT:
                return store_int(file, value);
        case FAKE_UINT:
        case FAKE_ULONG:
                return store_unsigned(file, value);
        case FAKE_BOOL:
                return store_bool(file, value);
        case FAKE_ENUM:
                return store_enum(rung, file, value);
        case FAKE_STRING:
                faketree_set(file, value); /* verbatim, a newline too */
                return 0;
        case FAKE_STATE:
        case FAKE_PID:
        case FAKE_RESULT:
                break;
        }

        return -EACCES;
}

int faketree_store(FakeRung rung, FakeNode *file, const char *value) {
        int r;

        r = store(rung, file, value);
        return r < 0 && file->attr->lax ? -EINVAL : r;
}

unsigned faketree_mode(const FakeAttr *attr) {
        return attr->type == FAKE_PID || attr->type == FAKE_RESULT ? 0400 : 0600;
}
