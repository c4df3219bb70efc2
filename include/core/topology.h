/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "base/nodeset.h"
#include "core/config.h"

/* Node facts -> ordered tiers, promotion and demotion pairs, each with the evidence for it.
 * Pure: io/toporead fills the facts. */

typedef struct AddressRange {
        uint64_t start; /* bytes, inclusive */
        uint64_t end;   /* bytes, exclusive */
} AddressRange;

/* HMAT access class 1 (CPUs only), else class 0, as seen from the best initiator
 * (Documentation/admin-guide/mm/numaperf.rst). 0 is unknown. */
typedef struct AccessClass {
        uint32_t read_latency_ns;
        uint32_t read_bandwidth_mibs;
} AccessClass;

typedef struct NodeFacts {
        int nid;
        uint64_t total_bytes; /* MemTotal */
        bool has_cpu;
        uint32_t n_cpus;
        AccessClass access;
        AddressRange *ranges; /* online memory blocks, sorted, merged */
        size_t n_ranges;
        uint16_t *distances; /* to each entry of TopologyFacts.nodes, by index; 0 is unknown */
} NodeFacts;

typedef struct KernelTier {
        int id; /* memory_tierN; smaller is faster */
        NodeSet nodes;
} KernelTier;

typedef struct TopologyFacts {
        NodeFacts *nodes; /* online nodes, by nid, memory-less ones too */
        size_t n_nodes;
        KernelTier *kernel_tiers; /* by id */
        size_t n_kernel_tiers;
        uint64_t block_size_bytes;
} TopologyFacts;

void topology_facts_done(TopologyFacts *facts);

typedef enum TierEvidence {
        TIER_EVIDENCE_CONFIG,   /* [Tier NAME] sections */
        TIER_EVIDENCE_KERNEL,   /* /sys/devices/virtual/memory_tiering, two tiers or more */
        TIER_EVIDENCE_HMAT,     /* access classes differ */
        TIER_EVIDENCE_DISTANCE, /* CPU-less nodes, ordered by distance from the nearest CPU */
        TIER_EVIDENCE_NONE,     /* one tier: nothing to tier */
        _TIER_EVIDENCE_MAX,
} TierEvidence;

/* "config", "kernel-tiers", "hmat", "distance", "none" */
const char *tier_evidence_to_string(TierEvidence evidence);

typedef struct TopologyNode {
        int nid;
        size_t tier;
        uint64_t total_bytes;
        bool has_cpu;
        AddressRange *ranges;
        size_t n_ranges;
        int promote_to; /* nid, or NODE_NONE */
        int demote_to;  /* nid, or NODE_NONE */
        AccessClass access;
} TopologyNode;

typedef struct TopologyTier {
        char *name; /* the configured name, else "0", "1", ... */
        NodeSet nodes;
        char *why; /* for people: "memory_tier4, 80 ns, 100000 MiB/s" */
} TopologyTier;

typedef struct Topology {
        TopologyTier *tiers; /* fastest first */
        size_t n_tiers;
        TopologyNode *nodes; /* nodes with memory only, by nid */
        size_t n_nodes;
        uint32_t n_cpus; /* of the machine */
        uint64_t block_size_bytes;
        TierEvidence evidence;
        char *evidence_text; /* for people, one sentence: which evidence was used, and why not
                                better */
        NodeSet skipped;     /* online nodes without memory */
        NodeSet unlisted;    /* nodes with memory that no configured tier names: left alone */
} Topology;

Topology *topology_free(Topology *topology);
DEFINE_FREEP(Topology, topology_free)

/* 0; -ENODATA without any node with memory; -ENXIO when configured tiers name a node that is
 * absent or has no memory, or a node twice, or when none of the configured destinations of a tier
 * can be one, *reterr_text then says which (allocated); -ENOMEM.
 * One tier is a success with n_tiers 1 and evidence "none". Configured destinations must have
 * memory and lie in a faster tier (PromoteTo=) or a slower one (DemoteTo=), not necessarily the
 * next; tier 0 has no promotion and the last tier no demotion, whatever is configured. */
int topology_build(const TopologyFacts *facts, const Config *config, Topology **ret,
                   char **reterr_text);

/* NULL when absent. Borrowed. */
const TopologyNode *topology_find_node(const Topology *topology, int nid);

/* Everything but the texts for people. */

/* Does a kdamond watch the node: may it give pages away? */
bool topology_node_is_monitored(const TopologyNode *node);
/* How many nodes are. */
size_t topology_count_monitored(const Topology *topology);

bool topology_equal(const Topology *a, const Topology *b);

/* Sorts, and joins what touches or overlaps; empty ranges vanish. The new number of ranges. */
size_t topology_ranges_merge(AddressRange *ranges, size_t n_ranges);

/* Bytes of all of them together. */
uint64_t topology_ranges_bytes(const AddressRange *ranges, size_t n_ranges);
