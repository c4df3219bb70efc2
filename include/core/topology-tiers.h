/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/config.h"
#include "core/topology.h"

/* The first step of topology_build(): which node is in which tier, and on what evidence. */

#define TOPOLOGY_TIER_NONE SIZE_MAX

typedef struct TopologyTiers {
        size_t *tier_of; /* by index of facts->nodes; NONE without memory or when left alone */
        size_t n_nodes;
        char **names; /* by tier */
        char **whys;
        size_t n_tiers;
        TierEvidence evidence;
        char *text;
} TopologyTiers;

void topology_tiers_done(TopologyTiers *tiers);

/* Results as topology_build(). *ret owns nothing of @facts and @config. */
int topology_tiers_find(const TopologyFacts *facts, const Config *config, TopologyTiers *ret,
                        char **reterr_text);

/* Names for the tiers that have none yet, and latency and bandwidth behind each "why", of which
 * this is the last part. 0 or -ENOMEM. */
int topology_tiers_name(const TopologyFacts *facts, TopologyTiers *tiers);
