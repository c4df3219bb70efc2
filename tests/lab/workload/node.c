/* SPDX-License-Identifier: GPL-2.0-or-later */

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "die.h"
#include "node.h"

#define PAGE_BYTES 4096UL

#define POLICY_DEFAULT 0
#define POLICY_PREFERRED 1

/*
 * Per zone, free pages above the high watermark and above what is reserved for allocations that
 * must come from low zones. Free memory alone would not tell, and the difference is what fills a
 * node exactly instead of nearly or too much.
 */
size_t node_usable_bytes(int node) {
        FILE *file = fopen("/proc/zoneinfo", "re");
        char *line = NULL;
        size_t room = 0;
        long total = 0, free_pages = 0, high = 0;
        bool ours = false;

        if (!file)
                die("/proc/zoneinfo");
        while (getline(&line, &room, file) >= 0) {
                long value;
                int nid;

                if (sscanf(line, "Node %d, zone", &nid) == 1) {
                        ours = nid == node;
                        free_pages = high = 0;
                } else if (!ours) {
                        continue;
                } else if (sscanf(line, " pages free %ld", &value) == 1) {
                        free_pages = value;
                } else if (sscanf(line, " high %ld", &value) == 1) {
                        high = value;
                } else if (strstr(line, "protection: (")) {
                        const char *last = strrchr(line, ' ');
                        long spare;

                        /* The last entry is for the least demanding kind of allocation, ours. */
                        spare = free_pages - high - (last ? atol(last) : 0);
                        if (spare > 0)
                                total += spare;
                }
        }
        free(line);
        fclose(file);
        return (size_t) total * PAGE_BYTES;
}

/* A line of a node's meminfo in bytes; SIZE_MAX when there is no such node. */
static size_t meminfo_bytes(int node, const char *key) {
        char path[96], text[4096];
        const char *found;
        ssize_t n;
        int fd;

        snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", node);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return SIZE_MAX;
        n = read(fd, text, sizeof(text) - 1);
        if (n < 0)
                die(path);
        close(fd);
        text[n] = '\0';
        found = strstr(text, key);
        return found ? strtoull(found + strlen(key), NULL, 10) << 10 : 0;
}

size_t node_size_bytes(int node) {
        size_t size = meminfo_bytes(node, " MemTotal:");

        if (size == SIZE_MAX)
                die("no such node");
        return size;
}

void node_free_bytes(size_t ret[NODES_MAX]) {
        for (int node = 0; node < NODES_MAX; node++) {
                size_t size = meminfo_bytes(node, " MemFree:");

                ret[node] = size == SIZE_MAX ? 0 : size;
        }
}

void node_prefer(int node) {
        unsigned long mask = node < 0 ? 0 : 1UL << node;

        if (syscall(SYS_set_mempolicy, node < 0 ? POLICY_DEFAULT : POLICY_PREFERRED,
                    node < 0 ? NULL : &mask, node < 0 ? 0UL : 64UL) < 0)
                die("set_mempolicy");
}

void node_prefer_range(int node, void *start, size_t size_bytes) {
        unsigned long mask = node < 0 ? 0 : 1UL << node;

        if (syscall(SYS_mbind, start, size_bytes, node < 0 ? POLICY_DEFAULT : POLICY_PREFERRED,
                    node < 0 ? NULL : &mask, node < 0 ? 0UL : 64UL, 0) < 0)
                die("mbind");
}
