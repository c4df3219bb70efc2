/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The blocking side of the daemon, one function per kind of work. A job knows how to ask and how
 * to write; what follows from the answers is for the manager and core. */

#include <errno.h>
#include <string.h>
#include <time.h>

#include "daemon/job.h"
#include "io/toporead.h"

uint64_t job_now_us(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_MONOTONIC, &ts); /* can't fail with this clock */
        return (uint64_t) ts.tv_sec * 1000000 + (uint64_t) ts.tv_nsec / 1000;
}

void job_sleep_us(uint64_t us) {
        struct timespec ts = {
                .tv_sec = (time_t) (us / 1000000),
                .tv_nsec = (long) (us % 1000000) * 1000,
        };

        (void) clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL); /* an early return does no harm */
}

Job *job_new(JobKind kind) {
        Job *job = calloc(1, sizeof(*job));

        if (job)
                job->kind = kind;
        return job;
}

Job *job_free(Job *job) {
        if (!job)
                return NULL;
        op_list_done(&job->ops);
        sample_done(&job->floors);
        topology_facts_done(&job->facts);
        damon_tree_done(&job->tree);
        sample_done(&job->sample);
        free(job);
        return NULL;
}

static const char *const job_names[_JOB_KIND_MAX] = {
        [JOB_PREPARE] = "prepare", [JOB_STAGE] = "stage", [JOB_APPLY] = "apply",
        [JOB_SCRAPE] = "scrape",   [JOB_WATCH] = "watch",
};

const char *job_kind_to_string(JobKind kind) {
        return (unsigned) kind < _JOB_KIND_MAX ? job_names[kind] : NULL;
}

static bool module_enabled(Sysfs *sysfs, const char *path) {
        char buf[16];

        return sysfs_read(sysfs, path, buf, sizeof(buf)) >= 0 && buf[0] == 'Y';
}

static uint32_t read_knobs(Sysfs *sysfs) {
        uint32_t bits = 0;

        for (Knob knob = 0; knob < _KNOB_MAX; knob++) {
                const KnobInfo *info = knob_info(knob);
                char buf[16];

                if (sysfs_read(sysfs, info->path, buf, sizeof(buf)) >= 0 &&
                    strcmp(buf, info->theirs) == 0)
                        bits |= KNOB_BIT(knob);
        }
        return bits;
}

static int run_prepare(Job *job, Sysfs *sysfs) {
        int r;

        r = toporead_facts(sysfs, &job->facts);
        if (r < 0)
                return r;
        job->knobs = read_knobs(sysfs);
        if (module_enabled(sysfs, "sys/module/damon_reclaim/parameters/enabled"))
                job->exclusive = "damon_reclaim";
        else if (module_enabled(sysfs, "sys/module/damon_lru_sort/parameters/enabled"))
                job->exclusive = "damon_lru_sort";
        r = damonfs_read_states(sysfs, job_sleep_us, &job->tree);
        job->has_damon = r >= 0;
        return r == -EOPNOTSUPP ? 0 : r;
}

static int run_stage(Job *job, Sysfs *sysfs) {
        int r;

        /* A module that lets no kdamond run beside it is switched off first. */
        r = damonfs_run(sysfs, &job->ops, job_sleep_us, &job->failure);
        if (r < 0)
                return r;
        if (job->adopt) {
                r = damonfs_look(sysfs, &job->caps);
                /* A crash between two writes of the first staging: ours, off, and useless. */
                if (r == -ENODATA)
                        r = sysfs_write(sysfs, DAMON_KDAMONDS_DIR "/nr_kdamonds", "0");
                if (r < 0)
                        return r;
                job->adopt = job->caps != 0;
        }
        if (!job->adopt) {
                r = damonfs_stage(sysfs, job->n_kdamonds);
                if (r < 0)
                        return r;
                r = damonfs_look(sysfs, &job->caps);
                if (r < 0)
                        return r;
        }
        r = damonfs_read(sysfs, job->caps, job_sleep_us, &job->tree);
        if (r < 0)
                return r;
        return scrape_nodes(sysfs, &job->nids, NULL, job_now_us(), &job->sample);
}

static int run_apply(Job *job, Sysfs *sysfs) {
        int r, k;

        r = damonfs_run(sysfs, &job->ops, job_sleep_us, &job->failure);
        k = damonfs_read(sysfs, job->caps, job_sleep_us, &job->tree);
        return r < 0 ? r : k;
}

void job_run(Job *job, Sysfs *sysfs) {
        job->failure.index = SIZE_MAX;
        switch (job->kind) {
        case JOB_PREPARE:
                job->result = run_prepare(job, sysfs);
                break;
        case JOB_STAGE:
                job->result = run_stage(job, sysfs);
                break;
        case JOB_APPLY:
                job->result = run_apply(job, sysfs);
                break;
        case JOB_SCRAPE:
                job->result = scrape_full(sysfs, &job->nids, job->caps, job->what, job_sleep_us,
                                          job_now_us(), &job->sample);
                if (job->result >= 0)
                        scrape_pressure(sysfs, job->pressure_group, &job->sample);
                break;
        case JOB_WATCH:
                job->result =
                        scrape_nodes(sysfs, &job->nids, &job->floors, job_now_us(), &job->sample);
                break;
        case _JOB_KIND_MAX:
                job->result = -EINVAL;
                break;
        }
}
