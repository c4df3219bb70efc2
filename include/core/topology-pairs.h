/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "core/config.h"
#include "core/topology.h"

/* The last step of topology_build(): where each node promotes and demotes to. Nodes and tiers of
 * @topology are there; promote_to and demote_to are filled. Results as topology_build(). */
int topology_pairs_find(const TopologyFacts *facts, const Config *config, Topology *topology,
                        char **reterr_text);
