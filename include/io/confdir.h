/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>

#include "base/macro.h"
#include "core/config.h"

/* Which configuration files count, and in which order: systemd's rules, see io/conffile.h. */

typedef struct ConfPath {
        char *name; /* "10-local.conf"; drop-ins are sorted by it */
        char *path; /* "/etc/damon-tierd.conf.d/10-local.conf" */
} ConfPath;

typedef struct ConfPaths {
        ConfPath *items; /* the main file, if there is one, then the drop-ins */
        size_t n_items;
        size_t n_alloc;
} ConfPaths;

void confdir_paths_done(ConfPaths *paths);

/* Fills *ret (zero before; confdir_paths_done() after, also on error). 0; -ENOMEM; another
 * negative errno when a directory cannot be listed (a problem that names it is added, and the
 * others are listed all the same). */
int confdir_find(const char *root, ConfigProblems *problems, ConfPaths *ret);
