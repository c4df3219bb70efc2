/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>

#include "core/stats.h"
#include "io/sysfs.h"

/* Fill one sample. The full one sends commands to the kdamonds and may block as they do. */

/* Memory of the nodes @nids, and which nodes have memory. @floors: an earlier full sample to take
 * floor_bytes from, or NULL to read /proc/zoneinfo. *ret zero before, sample_done() after. 0 or a
 * negative errno; -ENODATA when a node is gone. */
int scrape_nodes(Sysfs *sysfs, const NodeSet *nids, const Sample *floors, uint64_t now_us,
                 Sample *ret);

/* Each thing that is asked for is a command that each kdamond has to answer. */
typedef enum ScrapeWhat {
        SCRAPE_COUNTERS = 0, /* the schemes' counters; the rest as it was fetched last */
        SCRAPE_ALL = 1,      /* and effective quotas and tuned intervals */
} ScrapeWhat;

/* As above, plus the statistics of every kdamond of the tree. A kdamond that does not run is
 * sampled as such; that is no error. */
int scrape_full(Sysfs *sysfs, const NodeSet *nids, uint32_t caps, ScrapeWhat what,
                void (*sleep_us)(uint64_t us), uint64_t now_us, Sample *ret);

/* Add the time in which some task waited for memory, of the control group @group or of all ("").
 * Left unknown where the kernel does not tell. */
void scrape_pressure(Sysfs *sysfs, const char *group, Sample *sample);
