/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/guard.h"
#include "machine.h"

/* A machine that tiers, without a kernel: nodes as pools of hot and cold bytes, kdamonds as
 * speeds, the kernel's tuners as what they do to a quota. Coarse on purpose: what is tested is the
 * controller, and whether its decisions make such a machine converge, rest and stay within limits.
 * Not modelled: where in a node memory is, huge pages, the cost of sampling. */

#define SIM_SECOND UINT64_C(1000000)

typedef struct SimNode {
        uint64_t total, floor;
        uint64_t other; /* the kernel's and unmovable */
        uint64_t hot, cold;
} SimNode;

typedef struct SimKdamond {
        bool on;
        uint64_t cpu_us;
        SchemeCounters schemes[DAMON_SCHEMES_MAX];
} SimKdamond;

typedef struct Sim {
        Config *config;
        Topology *topology;
        uint32_t caps;
        uint64_t speed; /* bytes that a kdamond migrates per second of CPU time */
        uint64_t now_us;
        SimNode *nodes; /* in the topology's order */
        SimKdamond *kdamonds;
        size_t n_kdamonds;
        uint64_t moved;  /* bytes, all nodes and directions */
        uint64_t failed; /* bytes that found no room above the floor */
        unsigned commits;
        /* The controller's side. */
        DecideState state;
        Decision decision;
        bool has_decision;
        Plan plan;
        Stats stats;
        Guard guard;
        Verdict *verdicts;
        uint64_t next_look_us, next_full_us;
        /* For tests of the tests: spoils each decision. */
        void (*spoil)(Decision *decision);
        /* Called after each decision. */
        void (*check)(const struct Sim *sim);
} Sim;

/* Takes ownership of @config and @topology. Nodes start empty but for their floor. */
void sim_new(Sim *sim, Config *config, Topology *topology, const char *release, uint64_t speed);
void sim_done(Sim *sim);

uint64_t sim_free(const Sim *sim, size_t node);
void sim_print(const Sim *sim);
void sim_run(Sim *sim, uint64_t us);

/* A process touches that much memory for the first time: from the node while it has some above its
 * floor, then from others. What was left over. */
uint64_t sim_allocate(Sim *sim, size_t node, uint64_t bytes);

/* How much of all hot memory is in the fastest tier, in permille. */
unsigned sim_hot_permille(const Sim *sim);
