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
