/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The machine as /sys and /proc show it -> facts about nodes, for core/topology to judge. Takes
 * what is there and leaves unknown what is not; only without any node there is nothing to say.
 *
 * Node ranges come from memory blocks, since /proc/iomem reads as zeros without CAP_SYS_ADMIN. Two
 * rules about blocks:
 *
 * - Only online ones count. To read 50,000 state files would take a quarter of a second, so the
 *   zones are asked first: a node's present pages all lie in online blocks, hence a node that has
 *   more present pages than fit into all of its blocks but one has no block offline. Only where
 *   that does not hold (blocks offline, or holes as large as a block) each state is read.
 * - A block with a node boundary inside is linked under both nodes. It is given to the node with
 *   the lower number alone: two kdamonds on the same pages would clear each other's accessed bits
 *   and pay twice, whereas now at most a part of one block is watched with its neighbour.
 *
 * libnuma is asked only whether it sees the same machine; its paths are fixed, so it knows nothing
 * of a test's root. Must not decide anything about tiers. */

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <numa.h>

#include "base/array.h"
#include "base/macro.h"
#include "base/nodeset.h"
#include "base/parse.h"
#include "io/toporead.h"

#define NODE_DIR "sys/devices/system/node"
#define MEMORY_DIR "sys/devices/system/memory"
#define TIER_DIR "sys/devices/virtual/memory_tiering"

/* Each pageset takes about 130 bytes of zoneinfo: 64 nodes with 256 CPUs need 4 MiB. */
#define ZONEINFO_MAX_BYTES (32U << 20)

/* sysfs files are one page; meminfo has about 2 KiB. */
#define ATTRIBUTE_MAX_BYTES 4096

/* A node's memory blocks, by number. */
typedef struct Blocks {
        uint64_t *items;
        size_t n_items;
        size_t n_alloc;
} Blocks;

typedef struct Reader {
        Sysfs *sysfs;
        TopologyFacts facts;
        ZoneInfo zones;
        uint64_t page_bytes;
} Reader;

static void blocks_done(Blocks *blocks) {
        free(blocks->items);
}

/* Something that was listed a moment ago went away. */
static bool is_gone(int r) {
        return r == -ENOENT || r == -ENODEV || r == -ENXIO;
}

/* The number after @prefix: "node12". False for other names: "memory_failure", "node1x". */
static bool numbered(const char *name, const char *prefix, uint64_t *ret) {
        size_t len = strlen(prefix);

        return strncmp(name, prefix, len) == 0 && parse_u64(name + len, ret) >= 0;
}

static int _printf_(4, 5) read_at(Sysfs *sysfs, char *buf, size_t size, const char *fmt, ...) {
        _cleanup_(freep) char *path = NULL;
        va_list ap;
        int n;

        va_start(ap, fmt);
        n = vasprintf(&path, fmt, ap);
        va_end(ap);
        if (n < 0) {
                path = NULL;
                return -ENOMEM;
        }

        return sysfs_read(sysfs, path, buf, size);
}

/* Node ------------------------------------------------------------------------------------- */

/* "Node 0 MemTotal:        1030472 kB" */
static int parse_meminfo(const char *text, const char *name, uint64_t *ret_bytes) {
        const char *at = strstr(text, name);
        _cleanup_(freep) char *number = NULL;
        uint64_t kib;
        int r;

        if (!at)
                return -ENODATA;

        at += strlen(name);
        at += strspn(at, " ");
        number = strndup(at, strcspn(at, " \n"));
        if (!number)
                return -ENOMEM;

        r = parse_u64(number, &kib);
        if (r < 0 || kib > UINT64_MAX / 1024)
                return -ENODATA;

        *ret_bytes = kib * 1024;
        return 0;
}

int toporead_node_memory(Sysfs *sysfs, int nid, uint64_t *ret_total_bytes,
                         uint64_t *ret_free_bytes) {
        char text[ATTRIBUTE_MAX_BYTES];
        uint64_t total, free_bytes;
        int r;

        r = read_at(sysfs, text, sizeof(text), NODE_DIR "/node%d/meminfo", nid);
        if (r < 0)
                return r;

        r = parse_meminfo(text, " MemTotal:", &total);
        if (r < 0)
                return r;

        r = parse_meminfo(text, " MemFree:", &free_bytes);
        if (r < 0)
                return r;

        *ret_total_bytes = total;
        *ret_free_bytes = free_bytes;
        return 0;
}

/* One number of an access class; 0 when there is none. */
static uint32_t read_access_value(Sysfs *sysfs, int nid, unsigned class, const char *name) {
        char text[32];
        uint32_t value;

        if (read_at(sysfs, text, sizeof(text), NODE_DIR "/node%d/access%u/initiators/%s", nid,
                    class, name) < 0)
                return 0;

        return parse_u32(text, &value) < 0 ? 0 : value;
}

/* Class 1 is about CPUs; class 0 may be about a device that is nearer than any CPU. */
static AccessClass read_access(Sysfs *sysfs, int nid) {
        AccessClass access = {0};

        for (unsigned class = 2; class -- > 0;) {
                if (access.read_latency_ns == 0)
                        access.read_latency_ns =
                                read_access_value(sysfs, nid, class, "read_latency");
                if (access.read_bandwidth_mibs == 0)
                        access.read_bandwidth_mibs =
                                read_access_value(sysfs, nid, class, "read_bandwidth");
        }

        return access;
}

/* "10 21 17": one for each online node, in order (drivers/base/node.c:node_read_distance). When
 * there are more or fewer, nodes came or went, and no number can be trusted: they stay unknown. */
static int read_distances(Sysfs *sysfs, NodeFacts *node, size_t n_nodes) {
        char text[ATTRIBUTE_MAX_BYTES], *rest = text, *word;
        size_t n = 0;
        int r;

        node->distances = calloc(n_nodes, sizeof(*node->distances));
        if (!node->distances)
                return -ENOMEM;

        r = read_at(sysfs, text, sizeof(text), NODE_DIR "/node%d/distance", node->nid);
        if (r < 0)
                return is_gone(r) ? 0 : r;

        while ((word = strsep(&rest, " "))) {
                uint32_t distance;

                if (*word == '\0')
                        continue;
                if (n == n_nodes || parse_u32(word, &distance) < 0 || distance > UINT16_MAX)
                        break;
                node->distances[n++] = (uint16_t) distance;
        }

        if (word || n != n_nodes)
                memset(node->distances, 0, n_nodes * sizeof(*node->distances));
        return 0;
}

/* Memory blocks ---------------------------------------------------------------------------- */

static int compare_u64(const void *a, const void *b) {
        const uint64_t *x = a, *y = b;

        return (*x > *y) - (*x < *y);
}

static int list_blocks(Sysfs *sysfs, int nid, Blocks *blocks) {
        _cleanup_(sysfs_names_freep) char **names = NULL;
        char path[64];
        int r;

        (void) snprintf(path, sizeof(path), NODE_DIR "/node%d", nid);
        r = sysfs_list(sysfs, path, &names);
        if (r < 0)
                return r;

        for (char **name = names; *name; name++) {
                uint64_t block;

                if (!numbered(*name, "memory", &block))
                        continue;

                r = ARRAY_GROW(blocks->items, blocks->n_alloc, blocks->n_items + 1);
                if (r < 0)
                        return r;

                blocks->items[blocks->n_items++] = block;
        }

        if (blocks->n_items > 0)
                qsort(blocks->items, blocks->n_items, sizeof(*blocks->items), compare_u64);
        return 0;
}

static bool no_block_is_offline(const Reader *reader, int nid, size_t n_blocks) {
        uint64_t present = 0, at_least;

        for (size_t i = 0; i < reader->zones.n_zones; i++)
                if (reader->zones.zones[i].nid == nid &&
                    __builtin_add_overflow(present, reader->zones.zones[i].present, &present))
                        return false;
        if (__builtin_mul_overflow(present, reader->page_bytes, &present))
                return false;

        at_least = present / reader->facts.block_size_bytes +
                   (present % reader->facts.block_size_bytes > 0);
        return at_least >= n_blocks;
}

/* Other states are "offline" and "going-offline". A block that is gone is not online, either. */
static int block_is_online(Sysfs *sysfs, uint64_t block, bool *ret) {
        char state[32];
        int r;

        r = read_at(sysfs, state, sizeof(state), MEMORY_DIR "/memory%llu/state",
                    (unsigned long long) block);
        if (r < 0 && !is_gone(r))
                return r;

        *ret = r >= 0 && strcmp(state, "online") == 0;
        return 0;
}

static bool in_ranges(const NodeFacts *node, uint64_t address) {
        size_t from = 0, to = node->n_ranges;

        while (from < to) {
                size_t middle = from + (to - from) / 2;

                if (address < node->ranges[middle].start)
                        to = middle;
                else if (address >= node->ranges[middle].end)
                        from = middle + 1;
                else
                        return true;
        }

        return false;
}

/* Nodes are read by number, so those before this one have their ranges. */
static bool is_taken(const Reader *reader, const NodeFacts *node, uint64_t address) {
        for (const NodeFacts *other = reader->facts.nodes; other < node; other++)
                if (in_ranges(other, address))
                        return true;

        return false;
}

/* Blocks come sorted. */
static int add_block(NodeFacts *node, size_t *n_alloc, uint64_t start, uint64_t end) {
        int r;

        if (node->n_ranges > 0 && node->ranges[node->n_ranges - 1].end == start) {
                node->ranges[node->n_ranges - 1].end = end;
                return 0;
        }

        r = ARRAY_GROW(node->ranges, *n_alloc, node->n_ranges + 1);
        if (r < 0)
                return r;

        node->ranges[node->n_ranges++] = (AddressRange){start, end};
        return 0;
}

static int read_ranges(Reader *reader, NodeFacts *node) {
        _cleanup_(blocks_done) Blocks blocks = {0};
        uint64_t size = reader->facts.block_size_bytes;
        size_t n_alloc = 0;
        bool all_online;
        int r;

        r = list_blocks(reader->sysfs, node->nid, &blocks);
        if (r < 0 || size == 0)
                return r;

        all_online = no_block_is_offline(reader, node->nid, blocks.n_items);
        for (size_t i = 0; i < blocks.n_items; i++) {
                bool online = all_online;
                uint64_t start, end;

                if (__builtin_mul_overflow(blocks.items[i], size, &start) ||
                    __builtin_add_overflow(start, size, &end) || is_taken(reader, node, start))
                        continue;

                if (!all_online) {
                        r = block_is_online(reader->sysfs, blocks.items[i], &online);
                        if (r < 0)
                                return r;
                }
                if (!online)
                        continue;

                r = add_block(node, &n_alloc, start, end);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* All nodes -------------------------------------------------------------------------------- */

static int read_node(Reader *reader, NodeFacts *node) {
        char cpus[ATTRIBUTE_MAX_BYTES];
        uint64_t free_bytes;
        int r;

        r = toporead_node_memory(reader->sysfs, node->nid, &node->total_bytes, &free_bytes);
        if (r < 0)
                return r;

        r = read_at(reader->sysfs, cpus, sizeof(cpus), NODE_DIR "/node%d/cpulist", node->nid);
        if (r < 0)
                return r;

        node->has_cpu = *cpus != '\0';
        r = parse_list_count(cpus, &node->n_cpus);
        if (r < 0)
                return r;

        node->access = read_access(reader->sysfs, node->nid);
        r = read_distances(reader->sysfs, node, reader->facts.n_nodes);
        if (r < 0)
                return r;

        return read_ranges(reader, node);
}

static int list_nodes(Reader *reader) {
        _cleanup_(sysfs_names_freep) char **names = NULL;
        NodeSet nodes = {0};
        size_t n = 0;
        int r;

        r = sysfs_list(reader->sysfs, NODE_DIR, &names);
        if (r == -ENOENT)
                return -ENODATA;
        if (r < 0)
                return r;

        for (char **name = names; *name; name++) {
                uint64_t nid;

                if (numbered(*name, "node", &nid) && nid < NODES_MAX)
                        nodeset_add(&nodes, (int) nid);
        }
        if (nodeset_is_empty(&nodes))
                return -ENODATA;

        reader->facts.nodes = calloc(nodeset_count(&nodes), sizeof(*reader->facts.nodes));
        if (!reader->facts.nodes)
                return -ENOMEM;

        nodeset_foreach (nid, &nodes) {
                reader->facts.nodes[n++].nid = nid;
        }
        reader->facts.n_nodes = n;
        return 0;
}

/* Takes node @i out, and its column out of all distances. */
static void drop_node(TopologyFacts *facts, size_t i) {
        size_t after = facts->n_nodes - i - 1;

        free(facts->nodes[i].ranges);
        free(facts->nodes[i].distances);
        memmove(&facts->nodes[i], &facts->nodes[i + 1], after * sizeof(*facts->nodes));
        facts->n_nodes--;
        for (size_t k = 0; k < facts->n_nodes; k++)
                if (facts->nodes[k].distances)
                        memmove(&facts->nodes[k].distances[i], &facts->nodes[k].distances[i + 1],
                                after * sizeof(*facts->nodes[k].distances));
}

static int read_nodes(Reader *reader) {
        bool gone[NODES_MAX] = {0};
        int r;

        r = list_nodes(reader);
        if (r < 0)
                return r;

        for (size_t i = 0; i < reader->facts.n_nodes; i++) {
                r = read_node(reader, &reader->facts.nodes[i]);
                if (r < 0 && !is_gone(r))
                        return r;
                gone[i] = r < 0;
        }

        for (size_t i = reader->facts.n_nodes; i-- > 0;)
                if (gone[i])
                        drop_node(&reader->facts, i);

        return reader->facts.n_nodes > 0 ? 0 : -ENODATA;
}

/* Tiers ------------------------------------------------------------------------------------ */

static int compare_tiers(const void *a, const void *b) {
        const KernelTier *x = a, *y = b;

        return (x->id > y->id) - (x->id < y->id);
}

static int read_tiers(Reader *reader) {
        _cleanup_(sysfs_names_freep) char **names = NULL;
        TopologyFacts *facts = &reader->facts;
        size_t n_alloc = 0;
        int r;

        r = sysfs_list(reader->sysfs, TIER_DIR, &names);
        if (r < 0)
                return is_gone(r) ? 0 : r;

        for (char **name = names; *name; name++) {
                char text[ATTRIBUTE_MAX_BYTES];
                KernelTier tier = {0};
                uint64_t id;

                if (!numbered(*name, "memory_tier", &id) || id > INT32_MAX)
                        continue;

                r = read_at(reader->sysfs, text, sizeof(text), TIER_DIR "/%s/nodelist", *name);
                if (is_gone(r))
                        continue;
                if (r < 0)
                        return r;

                tier.id = (int) id;
                r = parse_nodeset(text, &tier.nodes);
                if (r < 0)
                        return r;

                r = ARRAY_GROW(facts->kernel_tiers, n_alloc, facts->n_kernel_tiers + 1);
                if (r < 0)
                        return r;

                facts->kernel_tiers[facts->n_kernel_tiers++] = tier;
        }

        if (facts->n_kernel_tiers > 0)
                qsort(facts->kernel_tiers, facts->n_kernel_tiers, sizeof(*facts->kernel_tiers),
                      compare_tiers);
        return 0;
}

static int read_block_size(Reader *reader) {
        char text[32];
        int r;

        r = sysfs_read(reader->sysfs, MEMORY_DIR "/block_size_bytes", text, sizeof(text));
        if (r < 0)
                return is_gone(r) ? 0 : r; /* a kernel without memory blocks: no ranges */

        return parse_hex_u64(text, &reader->facts.block_size_bytes);
}

static int read_facts(Reader *reader) {
        int r;

        /* a help only: without it every block's state is read */
        r = toporead_zones(reader->sysfs, &reader->zones);
        if (r == -ENOMEM)
                return r;

        r = read_block_size(reader);
        if (r < 0)
                return r;

        r = read_nodes(reader);
        if (r < 0)
                return r;

        return read_tiers(reader);
}

int toporead_facts(Sysfs *sysfs, TopologyFacts *ret) {
        Reader reader = {.sysfs = sysfs, .page_bytes = (uint64_t) sysconf(_SC_PAGESIZE)};
        int r;

        r = read_facts(&reader);
        zoneinfo_done(&reader.zones);
        if (r < 0) {
                topology_facts_done(&reader.facts);
                return r;
        }

        *ret = reader.facts;
        return 0;
}

int toporead_zones(Sysfs *sysfs, ZoneInfo *ret) {
        _cleanup_(freep) char *text = NULL;
        int r;

        r = sysfs_read_all(sysfs, "proc/zoneinfo", ZONEINFO_MAX_BYTES, &text);
        if (r < 0)
                return r;

        return zoneinfo_parse(text, ret);
}

/* libnuma ---------------------------------------------------------------------------------- */

/* libnuma prints from inside the library unless its own hooks are replaced; what it would say is
 * what we are about to find out. */
void numa_warn(int num, char *fmt, ...) {
        (void) num;
        (void) fmt;
}

void numa_error(char *where) {
        (void) where;
}

static bool numa_has_cpu(int nid, struct bitmask *cpus) {
        return numa_node_to_cpus(nid, cpus) == 0 && numa_bitmask_weight(cpus) > 0;
}

static const NodeFacts *find_node(const TopologyFacts *facts, int nid) {
        for (size_t i = 0; i < facts->n_nodes; i++)
                if (facts->nodes[i].nid == nid)
                        return &facts->nodes[i];

        return NULL;
}

/* A clause for the first node about which the two differ, or NULL. */
static const char *find_difference(const TopologyFacts *facts, struct bitmask *cpus, int *ret_nid) {
        for (int nid = 0; nid <= numa_max_node() && nid < NODES_MAX; nid++) {
                const NodeFacts *node = find_node(facts, nid);
                bool there = numa_bitmask_isbitset(numa_nodes_ptr, (unsigned) nid);

                *ret_nid = nid;
                if (there != (node != NULL))
                        return there ? "is only there for libnuma" : "is not there for libnuma";
                if (!node)
                        continue;
                if (numa_has_cpu(nid, cpus) != node->has_cpu)
                        return node->has_cpu ? "has no CPUs for libnuma"
                                             : "has CPUs only for libnuma";
                if ((numa_node_size64(nid, NULL) > 0) != (node->total_bytes > 0))
                        return node->total_bytes > 0 ? "has no memory for libnuma"
                                                     : "has memory only for libnuma";
        }

        return NULL;
}

int toporead_crosscheck(const TopologyFacts *facts, char **ret_text) {
        struct bitmask *cpus;
        const char *what;
        int nid;

        *ret_text = NULL;
        if (numa_available() < 0)
                return 0;

        cpus = numa_allocate_cpumask();
        if (!cpus)
                return -ENOMEM;

        what = find_difference(facts, cpus, &nid);
        numa_free_cpumask(cpus);
        if (what && asprintf(ret_text, "node %d %s", nid, what) < 0) {
                *ret_text = NULL;
                return -ENOMEM;
        }

        return 0;
}
