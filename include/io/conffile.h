/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>

#include "base/macro.h"
#include "core/config.h"

/* Configuration files and drop-ins -> assignments with file and line. inih lives only here, under
 * a strict reader: it refuses lines that inih would split, continue or misplace. */

typedef struct ConfFile ConfFile; /* owns the strings that the assignments borrow */

ConfFile *conffile_free(ConfFile *file);
DEFINE_FREEP(ConfFile, conffile_free)

/* Read the main file and the drop-ins, in systemd's order: the main file is the first that exists
 * of <root>/etc/damon-tierd.conf, <root>/run/damon-tierd.conf, <root>/usr/lib/damon-tierd.conf;
 * drop-ins are *.conf of damon-tierd.conf.d below the same three directories, sorted by file name
 * over all directories, a name in /etc masking the same name in /run and /usr/lib, a link to
 * /dev/null or an empty file masking it altogether. Later files win. @root is "" or "/" for the
 * real one. No file at all is fine.
 * Problems of syntax go to @problems (they are errors). 0, also with problems; -ENOMEM; another
 * negative errno when a file that exists cannot be read (a problem that names it is added). */
int conffile_load(const char *root, ConfigProblems *problems, ConfFile **ret);

/* One file instead (--config=PATH); it must exist. Same results. */
int conffile_load_path(const char *path, ConfigProblems *problems, ConfFile **ret);

/* The text of a file (for tests and fuzzing). */
int conffile_parse(const char *path, const char *text, size_t size, ConfigProblems *problems,
                   ConfFile **ret);

const ConfigAssignment *conffile_assignments(const ConfFile *file, size_t *ret_n);
