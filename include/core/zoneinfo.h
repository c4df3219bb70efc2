/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"

/* /proc/zoneinfo, and what the page allocator really hands out for a migration
 * (mm/page_alloc.c:__zone_watermark_ok). Pure: text in, numbers out. All counts in pages. */

#define ZONEINFO_PROTECTIONS_MAX 8

typedef struct Zone {
        int nid;
        char name[16]; /* DMA, DMA32, Normal, Movable, Device */
        uint64_t free;
        uint64_t min;
        uint64_t low;
        uint64_t high;
        uint64_t spanned;
        uint64_t present;
        uint64_t managed;
        uint64_t protection[ZONEINFO_PROTECTIONS_MAX]; /* lowmem_reserve by zone index */
        size_t n_protection;
} Zone;

typedef struct ZoneInfo {
        Zone *zones; /* zones with managed > 0 only */
        size_t n_zones;
        size_t n_alloc;
} ZoneInfo;

void zoneinfo_done(ZoneInfo *info);

/* 0; -EINVAL when the text is not a zoneinfo; -ENOMEM. Unknown lines are skipped. */
int zoneinfo_parse(const char *text, ZoneInfo *ret);

/* Pages of node @nid that must stay free: what a movable allocation without reclaim can not take,
 * zone by zone: high watermark plus the protection that a movable (highest-zone) request sees,
 * at most the zone's managed pages. 0 for a node without zones. */
uint64_t zoneinfo_floor_pages(const ZoneInfo *info, int nid);

/* Pages of node @nid that such an allocation can take now: per zone, free above its floor. */
uint64_t zoneinfo_usable_pages(const ZoneInfo *info, int nid);
