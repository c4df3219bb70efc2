/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "core/config.h"
#include "core/damon.h"
#include "core/diff.h"
#include "core/knob.h"
#include "core/stats.h"
#include "core/topology.h"
#include "io/damonfs.h"
#include "io/scrape.h"
#include "io/sysfs.h"

/* Work that may block in the kernel, as values in and out: the worker runs it in its thread, tests
 * and one-shot modes run it directly. */

typedef enum JobKind {
        JOB_PREPARE, /* look at the machine: facts, who uses DAMON */
        JOB_STAGE,   /* make sure that slots are there, look at capabilities, read the tree */
        JOB_APPLY,   /* run operations, read the tree back */
        JOB_SCRAPE,  /* one full sample */
        JOB_WATCH,   /* the nodes' memory only */
        _JOB_KIND_MAX,
} JobKind;

typedef struct Job {
        JobKind kind;

        /* in */
        NodeSet nids;                    /* STAGE, SCRAPE, WATCH: nodes to sample */
        size_t n_kdamonds;               /* STAGE */
        bool adopt;                      /* STAGE: a tree of ours is there */
        uint32_t caps;                   /* APPLY, SCRAPE; out of STAGE */
        OpList ops;                      /* STAGE (first), APPLY */
        ScrapeWhat what;                 /* SCRAPE */
        Sample floors;                   /* WATCH: an earlier full sample's nodes */
        char pressure_group[CGROUP_MAX]; /* SCRAPE: whose memory pressure, "" for all */

        /* out */
        int result;             /* negative errno when the job as a whole failed */
        DamonfsFailure failure; /* STAGE, APPLY: which operation */
        TopologyFacts facts;    /* PREPARE */
        bool has_damon;         /* PREPARE */
        uint32_t knobs;         /* PREPARE: KNOB_BIT()s of those that are at "theirs" */
        const char *exclusive;  /* PREPARE: another exclusive module that runs, or NULL */
        DamonTree tree;         /* PREPARE: states only; STAGE, APPLY: all */
        Sample sample;          /* STAGE (nodes), SCRAPE, WATCH */
} Job;

Job *job_new(JobKind kind);
Job *job_free(Job *job);
DEFINE_FREEP(Job, job_free)

const char *job_kind_to_string(JobKind kind);

/* Does the work and fills in the results. */
void job_run(Job *job, Sysfs *sysfs);

/* The monotonic clock; sleeping on it, for damonfs. */
uint64_t job_now_us(void);
void job_sleep_us(uint64_t us);
