/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A set of NUMA node ids as a plain value: copy it, compare it, no ownership. Linux distribution
 * kernels are built with NODES_SHIFT 10 at most (include/linux/numa.h). */

#define NODES_MAX 1024
#define NODE_NONE (-1)

typedef struct NodeSet {
        uint64_t bits[NODES_MAX / 64];
} NodeSet;

static inline bool nodeset_has(const NodeSet *s, int nid) {
        return nid >= 0 && nid < NODES_MAX && (s->bits[nid / 64] >> (nid % 64) & 1);
}

/* @nid outside 0..NODES_MAX-1 is ignored by both. */
void nodeset_add(NodeSet *s, int nid);
void nodeset_remove(NodeSet *s, int nid);

bool nodeset_is_empty(const NodeSet *s);
bool nodeset_equal(const NodeSet *a, const NodeSet *b);
bool nodeset_intersects(const NodeSet *a, const NodeSet *b);
unsigned nodeset_count(const NodeSet *s);

/* First member that is >= @from, or NODE_NONE. */
int nodeset_next(const NodeSet *s, int from);

/* The kernel's list form: "0-3,7"; "" for the empty set. Allocated; NULL without memory. */
char *nodeset_to_string(const NodeSet *s);

#define nodeset_foreach(nid, set) \
        for (int nid = nodeset_next((set), 0); nid != NODE_NONE; nid = nodeset_next((set), nid + 1))
