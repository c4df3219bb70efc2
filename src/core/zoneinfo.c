/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Reads the text of /proc/zoneinfo (mm/vmstat.c:zoneinfo_show_print) and answers one question: how
 * much of a node can a page migration take without waking reclaim? DAMON's migrations allocate as
 * GFP_HIGHUSER_MOVABLE without direct reclaim, so each zone holds back its watermark and the
 * lowmem reserve for the highest zone index. A percentage of the node does not know about either.
 *
 * The text comes from outside: nothing in it may index, overflow or allocate without a bound. */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/macro.h"
#include "base/nodeset.h"
#include "base/parse.h"
#include "core/zoneinfo.h"

/* The longest line that we need is "protection:" with eight numbers of 20 digits. */
#define LINE_MAX_BYTES 256
#define WORDS_MAX 16

typedef struct Words {
        char line[LINE_MAX_BYTES];
        char *items[WORDS_MAX];
        size_t n_items;
} Words;

/* Between a zone's "pages free" and its "protection:"; the lines after that repeat words. */
typedef enum Place {
        PLACE_BEFORE,
        PLACE_HEADER,
        PLACE_FIELDS,
        PLACE_DONE,
} Place;

typedef struct Parser {
        ZoneInfo info;
        Zone zone;
        unsigned seen;
        Place place;
} Parser;

static const struct {
        const char *name;
        size_t offset;
} fields[] = {
        {"free", offsetof(Zone, free)},       {"min", offsetof(Zone, min)},
        {"low", offsetof(Zone, low)},         {"high", offsetof(Zone, high)},
        {"spanned", offsetof(Zone, spanned)}, {"present", offsetof(Zone, present)},
        {"managed", offsetof(Zone, managed)},
};

#define SEEN_ALL ((1U << ELEMENTSOF(fields)) - 1)

void zoneinfo_done(ZoneInfo *info) {
        free(info->zones);
        *info = (ZoneInfo){0};
}

/* A line that is too long or has too many words is none of those that we know: no words then. */
static void split(const char *text, size_t len, Words *words) {
        char *rest, *word;

        words->n_items = 0;
        if (len >= sizeof(words->line))
                return;

        memcpy(words->line, text, len);
        words->line[len] = '\0';
        rest = words->line;
        while ((word = strsep(&rest, " "))) {
                if (*word == '\0')
                        continue;
                if (words->n_items == ELEMENTSOF(words->items)) {
                        words->n_items = 0;
                        return;
                }
                words->items[words->n_items++] = word;
        }
}

static bool word_is(const Words *words, size_t i, const char *word) {
        return i < words->n_items && strcmp(words->items[i], word) == 0;
}

/* Takes one @c off the end of the word. */
static bool strip_end(char *word, char c) {
        size_t len = strlen(word);

        if (len == 0 || word[len - 1] != c)
                return false;

        word[len - 1] = '\0';
        return true;
}

static int finish_zone(Parser *p) {
        int r;

        if (p->place == PLACE_BEFORE)
                return 0;
        if (p->place != PLACE_DONE || p->seen != SEEN_ALL)
                return -EINVAL; /* cut off */
        if (p->zone.managed == 0)
                return 0;

        r = ARRAY_GROW(p->info.zones, p->info.n_alloc, p->info.n_zones + 1);
        if (r < 0)
                return r;

        p->info.zones[p->info.n_zones++] = p->zone;
        return 0;
}

/* "Node 0, zone   Normal" */
static int parse_header(Parser *p, Words *words) {
        int nid, r;

        r = finish_zone(p);
        if (r < 0)
                return r;

        if (words->n_items != 4 || !word_is(words, 2, "zone") || !strip_end(words->items[1], ','))
                return -EINVAL;
        if (parse_int(words->items[1], &nid) < 0 || nid < 0 || nid >= NODES_MAX)
                return -EINVAL;
        if (strlen(words->items[3]) >= sizeof(p->zone.name))
                return -EINVAL;

        p->zone = (Zone){.nid = nid};
        memcpy(p->zone.name, words->items[3], strlen(words->items[3]));
        p->seen = 0;
        p->place = PLACE_HEADER;
        return 0;
}

/* "min      58", after "pages" has been taken off the first */
static int parse_field(Parser *p, const Words *words, size_t first) {
        for (size_t i = 0; i < ELEMENTSOF(fields); i++) {
                uint64_t value;

                if (!word_is(words, first, fields[i].name))
                        continue;
                if (words->n_items != first + 2 || p->seen & 1U << i ||
                    parse_u64(words->items[first + 1], &value) < 0)
                        return -EINVAL;

                memcpy((char *) &p->zone + fields[i].offset, &value, sizeof(value));
                p->seen |= 1U << i;
                return 0;
        }

        return 0;
}

/* "protection: (0, 3018, 4298, 4298, 4298)" */
static int parse_protection(Parser *p, const Words *words) {
        size_t n = words->n_items - 1;

        if (n == 0 || n > ELEMENTSOF(p->zone.protection) || words->items[1][0] != '(')
                return -EINVAL;

        for (size_t i = 0; i < n; i++) {
                char *word = words->items[i + 1] + (i == 0);

                if (!strip_end(word, i == n - 1 ? ')' : ',') ||
                    parse_u64(word, &p->zone.protection[i]) < 0)
                        return -EINVAL;
        }

        p->zone.n_protection = n;
        p->place = PLACE_DONE;
        return 0;
}

static int parse_line(Parser *p, Words *words) {
        if (word_is(words, 0, "Node"))
                return parse_header(p, words);

        if (p->place == PLACE_HEADER && word_is(words, 0, "pages") && word_is(words, 1, "free")) {
                p->place = PLACE_FIELDS;
                return parse_field(p, words, /* first= */ 1);
        }

        if (p->place != PLACE_FIELDS)
                return 0;

        return word_is(words, 0, "protection:") ? parse_protection(p, words)
                                                : parse_field(p, words, /* first= */ 0);
}

static int parse_lines(Parser *p, const char *text) {
        int r;

        while (*text != '\0') {
                size_t len = strcspn(text, "\n");

                /* a machine with many CPUs has megabytes of pagesets between two zones */
                if (*text == 'N' || p->place == PLACE_HEADER || p->place == PLACE_FIELDS) {
                        Words words;

                        split(text, len, &words);
                        r = parse_line(p, &words);
                        if (r < 0)
                                return r;
                }

                text += len + (text[len] == '\n');
        }

        return p->place == PLACE_BEFORE ? -EINVAL : finish_zone(p);
}

int zoneinfo_parse(const char *text, ZoneInfo *ret) {
        Parser p = {0};
        int r;

        r = parse_lines(&p, text);
        if (r < 0) {
                zoneinfo_done(&p.info);
                return r;
        }

        *ret = p.info;
        return 0;
}

static uint64_t add_saturated(uint64_t a, uint64_t b) {
        return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* The last entry is what a request for the highest zone sees. The entries only grow, and
 * ZONE_DEVICE, the last, has no managed pages of its own, so it equals that of ZONE_MOVABLE
 * (mm/page_alloc.c:setup_per_zone_lowmem_reserve). The watermark printed includes the boost. */
static uint64_t zone_floor(const Zone *zone) {
        uint64_t protection = zone->n_protection ? zone->protection[zone->n_protection - 1] : 0;

        return MIN(add_saturated(zone->high, protection), zone->managed);
}

uint64_t zoneinfo_floor_pages(const ZoneInfo *info, int nid) {
        uint64_t sum = 0;

        for (size_t i = 0; i < info->n_zones; i++)
                if (info->zones[i].nid == nid)
                        sum = add_saturated(sum, zone_floor(&info->zones[i]));

        return sum;
}

uint64_t zoneinfo_usable_pages(const ZoneInfo *info, int nid) {
        uint64_t sum = 0;

        for (size_t i = 0; i < info->n_zones; i++) {
                const Zone *zone = &info->zones[i];
                uint64_t floor = zone_floor(zone);

                if (zone->nid == nid && zone->free > floor)
                        sum = add_saturated(sum, zone->free - floor);
        }

        return sum;
}
