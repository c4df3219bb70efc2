/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "sim.h"

/* Machines, configurations and workloads drawn at random. The same number gives the same machine.
 */

#define DRAW_RELEASES 5
extern const char *const draw_releases[DRAW_RELEASES];

void draw_start(uint64_t seed);
uint64_t draw(uint64_t min, uint64_t max);

/* The defaults, or with @varied what an operator might write. */
Config *draw_config(bool varied);
Topology *draw_topology(const Config *config);
/* Fast nodes full of cold memory and hot memory below them. */
void draw_workload(Sim *sim);
/* All of it. */
void draw_machine(Sim *sim, uint64_t seed, bool varied);

/* Index of the fast node that memory of node @i rises to (SIZE_MAX: none); the smallest on the way
 * in @ret_least. */
size_t draw_fast_above(const Sim *sim, size_t i, uint64_t *ret_least);
