/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "core/damon.h"

/* (present tree, wanted tree) -> ordered list of operations. Nothing else computes writes. */

typedef enum OpKind {
        OP_RESIZE, /* a count file: destroys and creates children */
        OP_SET,    /* one leaf */
        OP_STATE,  /* a keyword for a kdamond's state file; may block in the kernel */
        OP_KNOB,   /* a switch outside of the tree */
        _OP_KIND_MAX,
} OpKind;

#define OP_NO_KDAMOND SIZE_MAX

typedef struct Op {
        OpKind kind;
        size_t kdamond; /* index, or OP_NO_KDAMOND */
        char *path;     /* below the root, owned */
        char *value;    /* owned */
} Op;

typedef struct OpList {
        Op *items;
        size_t n_items;
        size_t n_alloc;
} OpList;

void op_list_done(OpList *ops);

/* "resize", "set", "state", "knob" */
const char *op_kind_to_string(OpKind kind);

/* Append one. @kdamond is only a label. 0, -ENOMEM, -E2BIG. */
int op_list_add(OpList *ops, OpKind kind, size_t kdamond, const char *value, const char *path_fmt,
                ...) _printf_(5, 6);

/* Operations that turn @present into @wanted (whose kdamonds' "on" is part of what is wanted),
 * appended to @ops. Parents before children, state last, and only what differs:
 *  - another number of kdamonds: all are turned off and the tree is built anew, since the kernel
 *    refuses nr_kdamonds while any of them runs (mm/damon/sysfs.c:nr_kdamonds_store());
 *  - a running kdamond gets the cheapest sufficient command of DamonChange;
 *  - intervals that the kernel tunes are left as they are while both sides have the same goal
 *    for them, and are read back before a commit, which would reset them.
 * 0, -ENOMEM, -E2BIG; on error @ops may hold a part. */
int diff_trees(const DamonTree *present, const DamonTree *wanted, uint32_t caps, OpList *ops);

/* The way from what we own to nothing: all off, tree empty. Same results. */
int diff_release(const DamonTree *present, OpList *ops);
