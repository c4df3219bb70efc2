/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Which node belongs to which tier. A ladder of evidence, from what a person said down to a guess:
 *
 *   config        [Tier NAME] sections
 *   kernel-tiers  the kernel formed two tiers or more; reclaim demotes along them, so to disagree
 *                 with it would mean to fight it
 *   hmat          the firmware's access classes differ, although the kernel made one tier of them
 *   distance      nodes without CPUs are slower, and the slower the farther from a CPU
 *   none          one tier
 *
 * A rung is used only when it covers every node with memory and yields two tiers or more.
 * Otherwise it leaves a reason, and the next is asked; the reasons end up in the text for people,
 * since "why is my CXL node in tier 0?" is the first question of any operator.
 *
 * Must not decide who moves where; that is topology-pairs. */

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/nodeset.h"
#include "core/topology-tiers.h"

/* Nodes of one kind report the same latency, or nearly (interleaving, refresh). DRAM on the other
 * socket is 1.5 to 2 times as slow as local DRAM, CXL 2 to 3 times; 25 % lies well below both and
 * well above the noise. */
#define LATENCY_SPAN_PERMILLE 1250

/* Bandwidth goes by the number of populated channels: half of the channels is the same kind of
 * memory, less than half is another device (HBM and DRAM differ by 4 and more). */
#define BANDWIDTH_SPAN_PERMILLE 2000

#define DISTANCE_UNKNOWN UINT64_MAX

/* Why the better evidence was not used: a clause each. */
typedef struct Reasons {
        char *items[_TIER_EVIDENCE_MAX];
        size_t n_items;
} Reasons;

/* One node while it is ranked: a larger value is slower. */
typedef struct Rank {
        size_t index; /* of facts->nodes */
        uint64_t value;
        uint64_t second; /* orders equal values */
} Rank;

static void reasons_done(Reasons *reasons) {
        for (size_t i = 0; i < reasons->n_items; i++)
                free(reasons->items[i]);
}

static int _printf_(2, 3) reason(Reasons *reasons, const char *fmt, ...) {
        va_list ap;
        int n;

        va_start(ap, fmt);
        n = vasprintf(&reasons->items[reasons->n_items], fmt, ap);
        va_end(ap);
        if (n < 0)
                return -ENOMEM;

        reasons->n_items++;
        return 0;
}

void topology_tiers_done(TopologyTiers *tiers) {
        for (size_t t = 0; t < tiers->n_tiers; t++) {
                if (tiers->names)
                        free(tiers->names[t]);
                if (tiers->whys)
                        free(tiers->whys[t]);
        }
        free(tiers->names);
        free(tiers->whys);
        free(tiers->tier_of);
        free(tiers->text);
        *tiers = (TopologyTiers){0};
}

static bool has_memory(const NodeFacts *node) {
        return node->total_bytes > 0;
}

static size_t count_memory_nodes(const TopologyFacts *facts) {
        size_t n = 0;

        for (size_t i = 0; i < facts->n_nodes; i++)
                n += has_memory(&facts->nodes[i]);

        return n;
}

static int set_n_tiers(TopologyTiers *tiers, TierEvidence evidence, size_t n_tiers) {
        tiers->names = calloc(n_tiers, sizeof(*tiers->names));
        tiers->whys = calloc(n_tiers, sizeof(*tiers->whys));
        if (!tiers->names || !tiers->whys)
                return -ENOMEM;

        tiers->evidence = evidence;
        tiers->n_tiers = n_tiers;
        return 0;
}

static int _printf_(3, 4) set_why(TopologyTiers *tiers, size_t t, const char *fmt, ...) {
        va_list ap;
        int n;

        va_start(ap, fmt);
        n = vasprintf(&tiers->whys[t], fmt, ap);
        va_end(ap);
        if (n < 0) {
                tiers->whys[t] = NULL;
                return -ENOMEM;
        }

        return 0;
}

static int _printf_(2, 3) set_text(TopologyTiers *tiers, const char *fmt, ...) {
        va_list ap;
        int n;

        va_start(ap, fmt);
        n = vasprintf(&tiers->text, fmt, ap);
        va_end(ap);
        if (n < 0) {
                tiers->text = NULL;
                return -ENOMEM;
        }

        return 0;
}

/* Config ------------------------------------------------------------------------------------ */

static int refuse_node(char **reterr_text, const char *tier, int nid, const char *what) {
        char *text;

        if (asprintf(&text, "Tier '%s' names node %d, which %s", tier, nid, what) < 0)
                return -ENOMEM;

        *reterr_text = text;
        return -ENXIO;
}

static const NodeFacts *find_node(const TopologyFacts *facts, int nid) {
        for (size_t i = 0; i < facts->n_nodes; i++)
                if (facts->nodes[i].nid == nid)
                        return &facts->nodes[i];

        return NULL;
}

static int put_configured(const TopologyFacts *facts, const Config *config, size_t t,
                          TopologyTiers *tiers, char **reterr_text) {
        const TierConfig *tier = &config->tiers[t];

        nodeset_foreach (nid, &tier->nodes) {
                const NodeFacts *node = find_node(facts, nid);
                size_t i;

                if (!node)
                        return refuse_node(reterr_text, tier->name, nid, "is not online");
                if (!has_memory(node))
                        return refuse_node(reterr_text, tier->name, nid, "has no memory");

                i = (size_t) (node - facts->nodes);
                if (tiers->tier_of[i] != TOPOLOGY_TIER_NONE)
                        return refuse_node(reterr_text, tier->name, nid, "another tier has, too");

                tiers->tier_of[i] = t;
        }

        tiers->names[t] = strdup(tier->name);
        if (!tiers->names[t])
                return -ENOMEM;

        return set_why(tiers, t, "configured");
}

/* Not an error: memory that is to be left alone is simply not named. */
static int note_unlisted(const TopologyFacts *facts, const TopologyTiers *tiers, Reasons *reasons) {
        _cleanup_(freep) char *text = NULL;
        NodeSet unlisted = {0};

        for (size_t i = 0; i < facts->n_nodes; i++)
                if (has_memory(&facts->nodes[i]) && tiers->tier_of[i] == TOPOLOGY_TIER_NONE)
                        nodeset_add(&unlisted, facts->nodes[i].nid);

        if (nodeset_is_empty(&unlisted))
                return 0;

        text = nodeset_to_string(&unlisted);
        return text ? reason(reasons, "it does not name node %s, which is left alone", text)
                    : -ENOMEM;
}

static int use_config(const TopologyFacts *facts, const Config *config, TopologyTiers *tiers,
                      Reasons *reasons, char **reterr_text) {
        int r;

        r = set_n_tiers(tiers, TIER_EVIDENCE_CONFIG, config->n_tiers);
        if (r < 0)
                return r;

        for (size_t t = 0; t < config->n_tiers; t++) {
                r = put_configured(facts, config, t, tiers, reterr_text);
                if (r < 0)
                        return r;
        }

        r = note_unlisted(facts, tiers, reasons);
        if (r < 0)
                return r;

        if (config->n_tiers == 1) {
                tiers->evidence = TIER_EVIDENCE_NONE;
                return set_text(tiers, "one tier: the configuration has no other than '%s'",
                                config->tiers[0].name);
        }

        return set_text(tiers, "the configuration names %zu tiers", config->n_tiers);
}

/* The kernel -------------------------------------------------------------------------------- */

/* NULL when the kernel has the node in no tier. */
static const KernelTier *kernel_tier_of(const TopologyFacts *facts, int nid) {
        for (size_t t = 0; t < facts->n_kernel_tiers; t++)
                if (nodeset_has(&facts->kernel_tiers[t].nodes, nid))
                        return &facts->kernel_tiers[t];

        return NULL;
}

static bool kernel_tier_is_used(const TopologyFacts *facts, const KernelTier *tier) {
        for (size_t i = 0; i < facts->n_nodes; i++)
                if (has_memory(&facts->nodes[i]) &&
                    kernel_tier_of(facts, facts->nodes[i].nid) == tier)
                        return true;

        return false;
}

static int put_kernel_tiers(const TopologyFacts *facts, TopologyTiers *tiers, size_t n_used) {
        size_t t = 0;
        int r;

        r = set_n_tiers(tiers, TIER_EVIDENCE_KERNEL, n_used);
        if (r < 0)
                return r;

        /* by id, and a smaller id is faster */
        for (size_t k = 0; k < facts->n_kernel_tiers; k++) {
                const KernelTier *tier = &facts->kernel_tiers[k];

                if (!kernel_tier_is_used(facts, tier))
                        continue;
                for (size_t i = 0; i < facts->n_nodes; i++)
                        if (has_memory(&facts->nodes[i]) &&
                            kernel_tier_of(facts, facts->nodes[i].nid) == tier)
                                tiers->tier_of[i] = t;

                r = set_why(tiers, t++, "memory_tier%d", tier->id);
                if (r < 0)
                        return r;
        }

        return set_text(tiers, "the kernel has %zu memory tiers", n_used);
}

/* 1 when used, 0 with a reason, negative errno; so all of the next. */
static int try_kernel(const TopologyFacts *facts, TopologyTiers *tiers, Reasons *reasons) {
        const KernelTier *last = NULL;
        size_t n_used = 0;
        int r;

        if (facts->n_kernel_tiers == 0)
                return reason(reasons, "the kernel shows no memory tiers");

        for (size_t i = 0; i < facts->n_nodes; i++)
                if (has_memory(&facts->nodes[i]) && !kernel_tier_of(facts, facts->nodes[i].nid))
                        return reason(reasons, "the kernel has node %d in no memory tier",
                                      facts->nodes[i].nid);

        for (size_t k = 0; k < facts->n_kernel_tiers; k++)
                if (kernel_tier_is_used(facts, &facts->kernel_tiers[k])) {
                        last = &facts->kernel_tiers[k];
                        n_used++;
                }
        if (n_used < 2)
                return reason(reasons, "the kernel puts all nodes in memory_tier%d", last->id);

        r = put_kernel_tiers(facts, tiers, n_used);
        return r < 0 ? r : 1;
}

/* HMAT -------------------------------------------------------------------------------------- */

static int compare_u64(uint64_t a, uint64_t b) {
        return (a > b) - (a < b);
}

static int compare_ranks(const void *a, const void *b) {
        const Rank *x = a, *y = b;
        int c = compare_u64(x->value, y->value);

        if (c == 0)
                c = compare_u64(x->second, y->second);
        return c != 0 ? c : compare_u64(x->index, y->index);
}

static uint64_t ratio_permille(const Rank *fast, const Rank *slow) {
        return slow->value * 1000 / fast->value;
}

/* Cuts the sorted ranks where a group is wider than @span_permille: at its widest gap, then again
 * in both halves. To compare each with its neighbour only would let a chain of small steps join
 * very different nodes; to compare with the fastest only would cut between two nodes that are
 * nearly equal. cuts[i] says that a group starts at i. */
static void divide(const Rank *ranks, size_t from, size_t to, uint64_t span_permille, bool *cuts) {
        uint64_t widest = 0;
        size_t at = from;

        if (to - from < 2 || ratio_permille(&ranks[from], &ranks[to - 1]) <= span_permille)
                return;

        for (size_t i = from + 1; i < to; i++) {
                uint64_t gap = ratio_permille(&ranks[i - 1], &ranks[i]);

                if (gap > widest) {
                        widest = gap;
                        at = i;
                }
        }

        cuts[at] = true;
        divide(ranks, from, at, span_permille, cuts);
        divide(ranks, at, to, span_permille, cuts);
}

/* Time per amount, so that a larger value is slower here, too. 10^12 keeps the ratio of any two
 * 32 bit bandwidths exact enough and ratio_permille() within 64 bits. */
static uint64_t bandwidth_slowness(uint32_t mibs) {
        return UINT64_C(1000000000000) / mibs;
}

/* Latency first, since it is what a cache miss waits for; then, within groups of like latency,
 * bandwidth. */
static void rank_access(const TopologyFacts *facts, bool have_latency, bool have_bandwidth,
                        Rank *ranks, size_t n, bool *cuts) {
        for (size_t k = 0; k < n; k++)
                ranks[k].value =
                        have_latency ? facts->nodes[ranks[k].index].access.read_latency_ns : 1;
        qsort(ranks, n, sizeof(*ranks), compare_ranks);
        divide(ranks, 0, n, LATENCY_SPAN_PERMILLE, cuts);
        cuts[0] = true;
        if (!have_bandwidth)
                return;

        for (size_t from = 0, to; from < n; from = to) {
                for (to = from + 1; to < n && !cuts[to]; to++)
                        ;
                for (size_t k = from; k < to; k++)
                        ranks[k].value = bandwidth_slowness(
                                facts->nodes[ranks[k].index].access.read_bandwidth_mibs);
                qsort(ranks + from, to - from, sizeof(*ranks), compare_ranks);
                divide(ranks, from, to, BANDWIDTH_SPAN_PERMILLE, cuts);
        }
}

static int put_ranks(TopologyTiers *tiers, TierEvidence evidence, const Rank *ranks, size_t n,
                     const bool *cuts) {
        size_t n_tiers = 0;

        for (size_t k = 0; k < n; k++) {
                n_tiers += cuts[k];
                tiers->tier_of[ranks[k].index] = n_tiers - 1;
        }

        return set_n_tiers(tiers, evidence, n_tiers);
}

static size_t count_cuts(const bool *cuts, size_t n) {
        size_t n_cuts = 0;

        for (size_t k = 0; k < n; k++)
                n_cuts += cuts[k];

        return n_cuts;
}

static int try_hmat(const TopologyFacts *facts, TopologyTiers *tiers, Reasons *reasons) {
        _cleanup_(freep) Rank *ranks = NULL;
        _cleanup_(freep) bool *cuts = NULL;
        size_t n = 0, n_latency = 0, n_bandwidth = 0;
        int r;

        ranks = calloc(facts->n_nodes, sizeof(*ranks));
        cuts = calloc(facts->n_nodes, sizeof(*cuts));
        if (!ranks || !cuts)
                return -ENOMEM;

        for (size_t i = 0; i < facts->n_nodes; i++) {
                const NodeFacts *node = &facts->nodes[i];

                if (!has_memory(node))
                        continue;
                ranks[n++].index = i;
                n_latency += node->access.read_latency_ns > 0;
                n_bandwidth += node->access.read_bandwidth_mibs > 0;
        }

        if (n_latency == 0 && n_bandwidth == 0)
                return reason(reasons, "the firmware gives no latency or bandwidth");
        if (n_latency < n && n_bandwidth < n)
                return reason(reasons,
                              "the firmware gives latency or bandwidth of some nodes only");

        rank_access(facts, n_latency == n, n_bandwidth == n, ranks, n, cuts);
        if (count_cuts(cuts, n) < 2)
                return reason(reasons, "latency and bandwidth are alike");

        r = put_ranks(tiers, TIER_EVIDENCE_HMAT, ranks, n, cuts);
        if (r < 0)
                return r;

        r = set_text(tiers, "the firmware's latency and bandwidth differ");
        return r < 0 ? r : 1;
}

/* Distance ---------------------------------------------------------------------------------- */

static uint64_t distance_between(const TopologyFacts *facts, size_t from, size_t to) {
        const uint16_t *row = facts->nodes[from].distances, *back = facts->nodes[to].distances;

        if (row && row[to] > 0)
                return row[to];
        return back && back[from] > 0 ? back[from] : DISTANCE_UNKNOWN;
}

/* 0 for a node with CPUs. Nodes that have CPUs and no memory count as near ones, too. */
static uint64_t distance_from_cpus(const TopologyFacts *facts, size_t node) {
        uint64_t nearest = DISTANCE_UNKNOWN;

        if (facts->nodes[node].has_cpu)
                return 0;

        for (size_t i = 0; i < facts->n_nodes; i++)
                if (facts->nodes[i].has_cpu)
                        nearest = MIN(nearest, distance_between(facts, i, node));

        return nearest;
}

static int describe_distance(TopologyTiers *tiers, size_t t, uint64_t distance) {
        if (distance == 0)
                return set_why(tiers, t, "CPUs");
        if (distance == DISTANCE_UNKNOWN)
                return set_why(tiers, t, "no CPUs, distance unknown");

        return set_why(tiers, t, "no CPUs, distance %llu", (unsigned long long) distance);
}

static int put_distances(TopologyTiers *tiers, const Rank *ranks, size_t n, const bool *cuts) {
        int r;

        r = put_ranks(tiers, TIER_EVIDENCE_DISTANCE, ranks, n, cuts);
        if (r < 0)
                return r;

        for (size_t k = 0; k < n; k++) {
                if (!cuts[k])
                        continue;
                r = describe_distance(tiers, tiers->tier_of[ranks[k].index], ranks[k].value);
                if (r < 0)
                        return r;
        }

        return set_text(tiers, "nodes without CPUs are slower, by their distance from a CPU");
}

static int try_distance(const TopologyFacts *facts, TopologyTiers *tiers, Reasons *reasons) {
        _cleanup_(freep) Rank *ranks = NULL;
        _cleanup_(freep) bool *cuts = NULL;
        size_t n = 0;
        int r;

        ranks = calloc(facts->n_nodes, sizeof(*ranks));
        cuts = calloc(facts->n_nodes, sizeof(*cuts));
        if (!ranks || !cuts)
                return -ENOMEM;

        for (size_t i = 0; i < facts->n_nodes; i++)
                if (has_memory(&facts->nodes[i]))
                        ranks[n++] = (Rank){.index = i, .value = distance_from_cpus(facts, i)};

        qsort(ranks, n, sizeof(*ranks), compare_ranks);
        for (size_t k = 0; k < n; k++)
                cuts[k] = k == 0 || ranks[k].value != ranks[k - 1].value;

        if (count_cuts(cuts, n) < 2)
                return reason(reasons, ranks[0].value == 0
                                               ? "all nodes with memory have CPUs"
                                               : "all nodes with memory are equally far from CPUs");

        r = put_distances(tiers, ranks, n, cuts);
        return r < 0 ? r : 1;
}

/* None -------------------------------------------------------------------------------------- */

static int use_none(const TopologyFacts *facts, TopologyTiers *tiers) {
        int r;

        r = set_n_tiers(tiers, TIER_EVIDENCE_NONE, 1);
        if (r < 0)
                return r;

        for (size_t i = 0; i < facts->n_nodes; i++)
                if (has_memory(&facts->nodes[i]))
                        tiers->tier_of[i] = 0;

        return set_text(tiers, "one tier");
}

static int find_by_evidence(const TopologyFacts *facts, TopologyTiers *tiers, Reasons *reasons) {
        static int (*const rungs[])(const TopologyFacts *, TopologyTiers *, Reasons *) = {
                try_kernel,
                try_hmat,
                try_distance,
        };
        int r;

        if (count_memory_nodes(facts) == 1) {
                r = reason(reasons, "only one node has memory");
                return r < 0 ? r : use_none(facts, tiers);
        }

        for (size_t i = 0; i < ELEMENTSOF(rungs); i++) {
                r = rungs[i](facts, tiers, reasons);
                if (r != 0)
                        return MIN(r, 0);
        }

        return use_none(facts, tiers);
}

/* For people -------------------------------------------------------------------------------- */

/* "the firmware's latency and bandwidth differ; the kernel puts all nodes in memory_tier4" */
static int append_reasons(TopologyTiers *tiers, const Reasons *reasons) {
        _cleanup_(freep) char *text = NULL;
        size_t size;
        FILE *f;

        f = open_memstream(&text, &size);
        if (!f)
                return -ENOMEM;

        (void) fputs(tiers->text, f);
        for (size_t i = 0; i < reasons->n_items; i++)
                (void) fprintf(f, "%s%s",
                               i == 0                      ? "; "
                               : i + 1 == reasons->n_items ? " and "
                                                           : ", ",
                               reasons->items[i]);
        if (fclose(f) != 0) /* tells of every failure before, too */
                return -ENOMEM;

        free(tiers->text);
        tiers->text = TAKE_PTR(text);
        return 0;
}

static int find(const TopologyFacts *facts, const Config *config, TopologyTiers *tiers,
                char **reterr_text) {
        _cleanup_(reasons_done) Reasons reasons = {0};
        int r;

        tiers->tier_of = calloc(facts->n_nodes, sizeof(*tiers->tier_of));
        if (!tiers->tier_of)
                return -ENOMEM;

        tiers->n_nodes = facts->n_nodes;
        for (size_t i = 0; i < facts->n_nodes; i++)
                tiers->tier_of[i] = TOPOLOGY_TIER_NONE;

        r = config->n_tiers > 0 ? use_config(facts, config, tiers, &reasons, reterr_text)
                                : find_by_evidence(facts, tiers, &reasons);
        if (r < 0)
                return r;

        r = append_reasons(tiers, &reasons);
        if (r < 0)
                return r;

        return topology_tiers_name(facts, tiers);
}

int topology_tiers_find(const TopologyFacts *facts, const Config *config, TopologyTiers *ret,
                        char **reterr_text) {
        TopologyTiers tiers = {0};
        int r;

        if (count_memory_nodes(facts) == 0)
                return -ENODATA;

        r = find(facts, config, &tiers, reterr_text);
        if (r < 0) {
                topology_tiers_done(&tiers);
                return r;
        }

        *ret = tiers;
        return 0;
}
