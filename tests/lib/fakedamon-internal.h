/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/macro.h"
#include "fakedamon.h"

/* What the rooms of the model share: fakedamon (files, failures, the backend), fakekdamond (state
 * words and what runs) and fakequota (windows and tuners). Not for tests. */

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

/* A test has no use for half a model. */
static inline void *must(void *p) {
        if (!p)
                abort();
        return p;
}

static inline void must_grow(int r) {
        if (r < 0)
                abort();
}

/* Something that breaks a kernel of this rung. */
void _printf_(2, 3) fakedamon_note_bug(FakeDamon *fake, const char *fmt, ...);

/* From nodeN/meminfo, in KiB. False when the node is not there. */
bool fakedamon_node_memory(FakeDamon *fake, int nid, uint64_t *ret_total, uint64_t *ret_free);

/* No memory there, in a test that has nodes at all. */
bool fakedamon_node_is_unfit(FakeDamon *fake, int nid);

bool fakedamon_any_module_runs(const FakeDamon *fake);
bool fakedamon_memcg_exists(const FakeDamon *fake, const char *path);

/* The data of a numbered directory of kdamonds/; made when it is not there. */
Kdamond *fakekdamond_of(FakeNode *dir);

/* A write to its "state". */
int fakekdamond_store_state(FakeDamon *fake, FakeNode *dir, const char *value);

/* @ms pass for a scheme of what runs: its quota's windows. */
void fakequota_step(FakeDamon *fake, FakeNode *scheme, Scheme *s, uint64_t ms);
