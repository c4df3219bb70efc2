/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "core/config.h"
#include "core/damon.h"
#include "core/decide.h"
#include "core/topology.h"

/* (config, topology, capabilities, decision) -> the wanted tree as a value, or a refusal with a
 * reason. The plan holds no pointer into its inputs; equal inputs give equal plans. */

typedef enum Direction {
        DIRECTION_DEMOTE,
        DIRECTION_PROMOTE,
        _DIRECTION_MAX,
} Direction;

/* "demote", "promote" */
const char *direction_to_string(Direction direction);

/* What a scheme of the tree is for. */
typedef struct PlanScheme {
        Direction direction;
        int from; /* nid that is monitored */
        int to;   /* nid that receives */
} PlanScheme;

/* What a kdamond of the tree watches: slice @slice of @n_slices of a node. */
typedef struct PlanKdamond {
        int nid;
        unsigned slice;
        unsigned n_slices;
        PlanScheme schemes[DAMON_SCHEMES_MAX];
        size_t n_schemes;
} PlanKdamond;

typedef struct Plan {
        DamonTree tree;        /* kdamonds are "on", but for slots that no slice needs now */
        PlanKdamond *kdamonds; /* as many as the tree has */
} Plan;

void plan_done(Plan *plan);
bool plan_equal(const Plan *a, const Plan *b);

/* 0; -ENODATA when there is nothing to tier; -EOPNOTSUPP when the kernel lacks what it takes;
 * *reterr_text then says it in one sentence (allocated); -ENOMEM. */
int plan_build(const Config *config, const Topology *topology, uint32_t caps,
               const Decision *decision, Plan *ret, char **reterr_text);
