/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdio.h>

#include "core/config.h"
#include "io/runfile.h"
#include "io/sysfs.h"

/* --dry-run: print to @out what the service would find and every write that it would make, and
 * make none. @sysfs should be SYSFS_READ_ONLY. @run_dir: to recognise a tree of ours. 0; -EBUSY
 * when the service would refuse to start (printed too); another errno. */
int dryrun(Sysfs *sysfs, const char *run_dir, const Config *config, FILE *out);
