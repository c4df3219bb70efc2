/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>

#include "base/macro.h"
#include "daemon/job.h"
#include "io/sysfs.h"

/* The one thread that may block in the kernel. It runs one job at a time; the caller's thread
 * never waits for it. */

typedef struct Worker Worker;

/* Borrows @sysfs, which nobody else may use while a job is at work. 0 or a negative errno. */
int worker_new(Sysfs *sysfs, Worker **ret);

/* Waits for the job at work, if any. */
Worker *worker_free(Worker *worker);
DEFINE_FREEP(Worker, worker_free)

/* Becomes readable when a job is done. Owned by the worker. */
int worker_fd(const Worker *worker);

bool worker_is_busy(const Worker *worker);

/* Takes ownership of @job, also on error. 0; -EBUSY while another is at work. */
int worker_post_consume(Worker *worker, Job *job);

/* The job that is done, owned by the caller, or NULL when none is. */
Job *worker_take(Worker *worker);
