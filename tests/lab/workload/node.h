/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>

#define NODES_MAX 16

/* NUMA nodes as an ordinary process sees them. Everything here ends the program on an error. */

/* What an ordinary allocation may still take from a node before it turns to another one. */
size_t node_usable_bytes(int node);

size_t node_size_bytes(int node);

/* MemFree of each node, by number; absent nodes have 0. Allocates nothing. */
void node_free_bytes(size_t ret[NODES_MAX]);

/* Pages that this thread or (with @start) this range gets from now on: from @node as long as it has
 * any; -1 takes the wish back. */
void node_prefer(int node);
void node_prefer_range(int node, void *start, size_t size_bytes);
