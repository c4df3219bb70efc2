/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "faketree.h"
#include "io/sysfs.h"

/* A kernel's DAMON in memory, behind the calls of io/sysfs: it answers as the kernel does, with
 * the differences between kernels ("rungs"). Other files can be put beside it. The contract test
 * keeps it honest. Ends the test program without memory. */

typedef struct FakeDamon FakeDamon;

/* @ret_sysfs owns the model; the returned handle is borrowed and ends with it. As the
 * distribution's kernels boot: from 6.17 on with DAMON_STAT running. */
FakeDamon *fakedamon_new(FakeRung rung, Sysfs **ret_sysfs);

/* Other files: "proc/zoneinfo". Writable; what is there is replaced. NULL removes. */
void fakedamon_set_file(FakeDamon *fake, const char *path, const char *text);

/* All files of tests/fixtures/NAME.txt but those of DAMON. */
void fakedamon_load_fixture(FakeDamon *fake, const char *name);

/* nodeN/meminfo; goals of node memory are computed from it. */
void fakedamon_set_node_memory(FakeDamon *fake, int nid, uint64_t total_bytes, uint64_t free_bytes);

/* sys/module/NAME/parameters/enabled of "damon_stat", "damon_reclaim", "damon_lru_sort" without a
 * write through the Sysfs. */
void fakedamon_set_module(FakeDamon *fake, const char *name, bool on);

/* A control group's directory that exists: "/a". */
void fakedamon_add_memcg(FakeDamon *fake, const char *path);

/* Failures ------------------------------------------------------------------------------- */

/* The @nth call from now on (1: the next) of any kind answers @error and does nothing. */
void fakedamon_fail_nth(FakeDamon *fake, unsigned nth, int error);

/* The next @times reads or writes of a path that ends with @suffix answer @error. */
void fakedamon_fail_path(FakeDamon *fake, const char *suffix, int error, unsigned times);

/* The next @times that somebody tries to take the tree's lock, it is held: EBUSY. */
void fakedamon_hold_lock(FakeDamon *fake, unsigned times);

/* The kdamond ends by itself. */
void fakedamon_kill(FakeDamon *fake, size_t kdamond);

/* What the caller did that breaks some kernel of this rung (oops, leak, endless growth): one
 * clause per event, joined by "; "; "" for none. */
const char *fakedamon_bugs(const FakeDamon *fake);

/* Kernel side ------------------------------------------------------------------------------ */

bool fakedamon_is_running(FakeDamon *fake, size_t kdamond);
unsigned fakedamon_n_running(FakeDamon *fake);
int fakedamon_pid(FakeDamon *fake, size_t kdamond);

/* What runs, in contrast to what is staged; @path below contexts/0. NULL when absent or off. */
const char *fakedamon_running(FakeDamon *fake, size_t kdamond, const char *path);

/* A counter of a running scheme, "sz_applied"; update_schemes_stats makes it visible. */
void fakedamon_set_stat(FakeDamon *fake, size_t kdamond, size_t scheme, const char *name,
                        uint64_t value);
void fakedamon_add_stat(FakeDamon *fake, size_t kdamond, size_t scheme, const char *name,
                        uint64_t value);

/* A region that the next update_schemes_tried_* finds. */
void fakedamon_add_region(FakeDamon *fake, size_t kdamond, size_t scheme, uint64_t start,
                          uint64_t end, unsigned nr_accesses, unsigned age);

/* As if the intervals' tuner had chosen these. */
void fakedamon_set_tuned(FakeDamon *fake, size_t kdamond, uint64_t sample_us, uint64_t aggr_us);

/* Bytes that the quota allows in the current window. */
uint64_t fakedamon_esz(FakeDamon *fake, size_t kdamond, size_t scheme);

/* Time passes: quotas start new windows, refresh_ms refreshes. */
void fakedamon_step(FakeDamon *fake, uint64_t ms);
