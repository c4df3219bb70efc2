/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/decide.h"
#include "core/plan.h"
#include "core/stats.h"
#include "core/verdict.h"

/* Collects the facts that a scheme's verdict is found from. Pure. */

typedef struct JudgeInput {
        uint32_t caps;
        const Decision *decision;
        const Plan *plan;
        const Sample *sample; /* full or not: of the nodes only */
        const Stats *stats;   /* of the kdamonds of @plan */
} JudgeInput;

/* Of scheme @s of kdamond @k, which both plan and statistics have. Points into the statistics. */
VerdictInput judge_facts(const JudgeInput *input, size_t k, size_t s);
