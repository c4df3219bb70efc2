/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "core/topology.h"
#include "core/zoneinfo.h"
#include "io/sysfs.h"

/* Node, memory block, tier, HMAT and zoneinfo files -> facts. libnuma lives only here. */

/* Fills *ret (zero before; topology_facts_done() after, also on error). 0; -ENODATA without NUMA
 * in /sys; other negative errno. A node that goes away while it is read is left out. */
int toporead_facts(Sysfs *sysfs, TopologyFacts *ret);

/* proc/zoneinfo. */
int toporead_zones(Sysfs *sysfs, ZoneInfo *ret);

/* MemTotal and MemFree of a node, in bytes. -ENODATA when the file lacks them. */
int toporead_node_memory(Sysfs *sysfs, int nid, uint64_t *ret_total_bytes,
                         uint64_t *ret_free_bytes);

/* Compare with libnuma's own view of the running system, where @sysfs is the real root: nodes and
 * their CPUs. *ret_text is NULL when they agree or libnuma has no view, else a sentence that says
 * what differs (allocated). 0 or -ENOMEM. */
int toporead_crosscheck(const TopologyFacts *facts, char **ret_text);
