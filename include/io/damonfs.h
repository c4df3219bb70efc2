/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "core/damon.h"
#include "core/diff.h"
#include "io/sysfs.h"

/* Probe capabilities, read the tree, run operations. State words may block in the kernel for a
 * sampling interval and an apply pass, uninterruptibly: call this from a thread that may. */

#define DAMONFS_ADMIN_DIR "sys/kernel/mm/damon/admin"

/* State and pid of every kdamond, nothing below; what a foreign tree may be asked. *ret zero
 * before; damon_tree_done() after. EBUSY is retried within a bound, as in damonfs_run(). 0;
 * -EOPNOTSUPP without DAMON's sysfs; another errno. */
int damonfs_read_states(Sysfs *sysfs, void (*sleep_us)(uint64_t us), DamonTree *ret);

/* Everything. -E2BIG when it holds more than we ever stage. */
int damonfs_read(Sysfs *sysfs, uint32_t caps, void (*sleep_us)(uint64_t us), DamonTree *ret);

/* Capabilities as the files of kdamond 0 show them; it must hold a context, a scheme, a goal and a
 * filter (damonfs_stage() or a tree of ours). 0, or -ENODATA when it does not. */
int damonfs_look(Sysfs *sysfs, uint32_t *ret_caps);

/* Into an empty tree: @n_kdamonds slots, the first filled so that damonfs_look() can see.
 * 0; -EBUSY when a tree is there; another errno. */
int damonfs_stage(Sysfs *sysfs, size_t n_kdamonds);

typedef struct DamonfsFailure {
        size_t index; /* of the operation */
        int error;    /* negative errno */
} DamonfsFailure;

/* One update_* word to a kdamond that was just seen on. When it fails nothing more may be sent:
 * 6.17 does not survive a second command to a kdamond that has ended. 0 or a negative errno. */
int damonfs_ask(Sysfs *sysfs, size_t kdamond, const char *word, void (*sleep_us)(uint64_t us));

/* Run all operations in order and stop at the first that fails. While any state word is at work
 * the kernel answers EBUSY to every other (one trylock, mm/damon/sysfs.c:damon_sysfs_lock), so
 * EBUSY is retried within a bound, @sleep_us in between. A command for a kdamond that is not
 * running is not sent (kernels before 7.0 may lock up); it fails with -ESRCH, as does a commit
 * that ended the kdamond (6.12 reports success for that). Turning off what is off is fine.
 * 0, or the error, then also in *reterr. */
int damonfs_run(Sysfs *sysfs, const OpList *ops, void (*sleep_us)(uint64_t us),
                DamonfsFailure *reterr);

/* Likely cause of @error at @op, for people, or NULL. Static storage. */
const char *damonfs_hint(const Op *op, int error);
