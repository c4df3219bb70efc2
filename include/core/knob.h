/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/config.h"
#include "core/diff.h"

/* Switches of the machine outside DAMON's tree that are turned while the service runs and turned
 * back at its end. The one table of them. */

typedef enum Knob {
        KNOB_DAMON_STAT,       /* mm/damon/stat.c */
        KNOB_RECLAIM_DEMOTION, /* mm/memory-tiers.c:demotion_enabled_store() */
        _KNOB_MAX,
} Knob;

#define KNOB_BIT(knob) (UINT32_C(1) << (knob))

typedef struct KnobInfo {
        const char *name;   /* in the record */
        const char *path;   /* below the root, as sysfs_write() takes it */
        const char *theirs; /* as the kernel prints it when we would turn it */
        const char *ours;
        const char *why; /* for people: "since ..." */
} KnobInfo;

const KnobInfo *knob_info(Knob knob);

/* KNOB_BIT()s of those that this configuration turns. */
uint32_t knobs_wanted(const Config *config);
/* Adds the write that turns it, to ours or back to theirs. 0 or -ENOMEM. */
int knob_turn(Knob knob, bool ours, OpList *ops);
