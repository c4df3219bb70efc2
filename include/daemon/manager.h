/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "base/event.h"
#include "base/macro.h"
#include "core/config.h"
#include "io/sysfs.h"

/* Owns everything while the service runs: sequences start, tick, reload and stop. */

/* Exit status of the service. */
#define MANAGER_EXIT_FAILURE 1
#define MANAGER_EXIT_REFUSED 69 /* EX_UNAVAILABLE: foreign kdamonds, no DAMON, ... */
#define MANAGER_EXIT_CONFIG 78  /* EX_CONFIG */

typedef struct ManagerParams {
        Sysfs *sysfs;        /* borrowed */
        const char *run_dir; /* borrowed */
        EventSink sink;
        /* Reads the configuration (again): problems are appended, also on success. 0, -EINVAL when
         * there are errors, another errno. */
        int (*load_config)(void *userdata, ConfigProblems *problems, Config **ret);
        void *userdata;
} ManagerParams;

/* Runs until a signal ends it. *ret_exit is the process's exit status. 0, or a negative errno when
 * it could not even start. */
int manager_run(const ManagerParams *params, int *ret_exit);

/* Give back what an earlier run's record says is ours, and end (--release). As above. */
int manager_release(const ManagerParams *params, int *ret_exit);
