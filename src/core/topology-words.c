/* SPDX-License-Identifier: GPL-2.0-or-later */

/* What a tier is called, and what stands behind its name in the journal: the evidence, then latency
 * and bandwidth where the firmware told them. */

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/macro.h"
#include "core/topology-tiers.h"

static void print_span(FILE *f, const char *before, uint32_t low, uint32_t high, const char *unit) {
        if (low == high)
                (void) fprintf(f, "%s%u %s", before, low, unit);
        else
                (void) fprintf(f, "%s%u to %u %s", before, low, high, unit);
}

/* Latency and bandwidth behind the evidence, where all nodes of the tier have them. */
static int describe_access(const TopologyFacts *facts, TopologyTiers *tiers, size_t t) {
        AccessClass low = {UINT32_MAX, UINT32_MAX}, high = {0};
        _cleanup_(freep) char *text = NULL;
        const char *why = tiers->whys[t] ? tiers->whys[t] : "";
        size_t size;
        FILE *f;

        for (size_t i = 0; i < facts->n_nodes; i++) {
                const AccessClass *access = &facts->nodes[i].access;

                if (tiers->tier_of[i] != t)
                        continue;
                low.read_latency_ns = MIN(low.read_latency_ns, access->read_latency_ns);
                high.read_latency_ns = MAX(high.read_latency_ns, access->read_latency_ns);
                low.read_bandwidth_mibs = MIN(low.read_bandwidth_mibs, access->read_bandwidth_mibs);
                high.read_bandwidth_mibs =
                        MAX(high.read_bandwidth_mibs, access->read_bandwidth_mibs);
        }

        f = open_memstream(&text, &size);
        if (!f)
                return -ENOMEM;

        (void) fputs(why, f);
        if (low.read_latency_ns > 0 && high.read_latency_ns > 0)
                print_span(f, *why ? ", " : "", low.read_latency_ns, high.read_latency_ns, "ns");
        if (low.read_bandwidth_mibs > 0 && high.read_bandwidth_mibs > 0)
                print_span(f, *why || high.read_latency_ns > 0 ? ", " : "", low.read_bandwidth_mibs,
                           high.read_bandwidth_mibs, "MiB/s");
        if (fclose(f) != 0)
                return -ENOMEM;

        free(tiers->whys[t]);
        tiers->whys[t] = TAKE_PTR(text);
        return 0;
}

int topology_tiers_name(const TopologyFacts *facts, TopologyTiers *tiers) {
        int r;

        for (size_t t = 0; t < tiers->n_tiers; t++) {
                if (!tiers->names[t] && asprintf(&tiers->names[t], "%zu", t) < 0) {
                        tiers->names[t] = NULL;
                        return -ENOMEM;
                }

                r = describe_access(facts, tiers, t);
                if (r < 0)
                        return r;
        }

        return 0;
}
