/* SPDX-License-Identifier: GPL-2.0-or-later */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/nodeset.h"
#include "core/zoneinfo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(zoneinfo_done) ZoneInfo info = {0};
        _cleanup_(freep) char *text = NULL;

        text = malloc(size + 1);
        if (!text)
                return 0;
        memcpy(text, data, size);
        text[size] = '\0';

        if (zoneinfo_parse(text, &info) < 0)
                return 0;

        for (size_t i = 0; i < info.n_zones; i++) {
                const Zone *zone = &info.zones[i];

                if (zone->managed == 0 || zone->nid < 0 || zone->nid >= NODES_MAX)
                        abort();
                if (memchr(zone->name, '\0', sizeof(zone->name)) == NULL)
                        abort();
                if (zone->n_protection > ZONEINFO_PROTECTIONS_MAX)
                        abort();
                if (zoneinfo_floor_pages(&info, zone->nid) == 0 && zone->high > 0)
                        abort();
        }

        return 0;
}
