/* SPDX-License-Identifier: GPL-2.0-or-later */

#include "core/knob.h"

static const KnobInfo knobs[_KNOB_MAX] = {
        [KNOB_DAMON_STAT] =
                {
                        .name = "damon_stat",
                        .path = "sys/module/damon_stat/parameters/enabled",
                        .theirs = "Y",
                        .ours = "N",
                        .why = "since DAMON_STAT lets no other kdamond run beside it",
                },
        [KNOB_RECLAIM_DEMOTION] =
                {
                        .name = "reclaim_demotion",
                        .path = "sys/kernel/mm/numa/demotion_enabled",
                        .theirs = "false",
                        .ours = "true",
                        .why = "so that under pressure the kernel demotes before it swaps or kills",
                },
};

const KnobInfo *knob_info(Knob knob) {
        return &knobs[knob];
}

uint32_t knobs_wanted(const Config *config) {
        uint32_t wanted = KNOB_BIT(KNOB_DAMON_STAT);

        if (config->manager.reclaim_demotion == RECLAIM_DEMOTION_ENABLE)
                wanted |= KNOB_BIT(KNOB_RECLAIM_DEMOTION);
        return wanted;
}

int knob_turn(Knob knob, bool ours, OpList *ops) {
        const KnobInfo *info = knob_info(knob);

        return op_list_add(ops, OP_KNOB, OP_NO_KDAMOND, ours ? info->ours : info->theirs, "%s",
                           info->path);
}
