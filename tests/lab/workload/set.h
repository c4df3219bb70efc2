/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE_BYTES 4096UL
#define CHUNK_BYTES (2UL << 20)

/*
 * One stretch of memory whose temperature is known. It is placed once and then left to whoever
 * tiers; no memory policy stays behind.
 */
struct set {
        const char *name;
        const char *role;
        size_t size_bytes;  /* 0: fill the node instead */
        size_t leave_bytes; /* when filling: what the allocator may still take from the node */
        int node;           /* -1: wherever the kernel puts it */
        int rest_node;      /* where the part goes that would fill the node; -1: size is all */
        int cpu;            /* -1: anywhere */
        bool huge;
        bool file; /* page cache, mapped, instead of anonymous memory */
        char *start;

        bool touch;
        uint64_t pause_us;    /* between two passes */
        uint64_t pace_bytes;  /* per second; 0: as fast as it goes */
        size_t window_bytes;  /* only this part is in use; 0: all of it */
        uint64_t slide_bytes; /* per second: how fast the window moves towards the end */
        _Atomic size_t window_start;
        _Atomic uint64_t passes;
        pthread_t thread;
};

/* "name=NAME,key=value,...": keeps pointers into the text. Ends the program when it is wrong. */
void set_parse(struct set *set, char *text);

/* The keys, for the usage message. */
extern const char set_keys[];

void set_place(struct set *set);

/* Where the pages of a part of the set are now: counts by node of a sample of them. */
size_t set_locate(const struct set *set, size_t offset, size_t size_bytes, size_t *ret_on_node);
