/* SPDX-License-Identifier: GPL-2.0-or-later */

/* What the daemon's parts cost, on a machine of plain files (imitation.py). One JSON object on
 * standard output. Figures, no verdicts: tests/bench/run compares.
 *
 *   bench start ROOT      from nothing to the last "on": writes, microseconds
 *   bench scale ROOT      topology and plan of a large machine: microseconds, memory at its most
 *   bench scrape ROOT N   a full sample: CPU time
 *   bench ticks ROOT N    the whole path of a tick: CPU time, heap, resident memory */

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/judge.h"
#include "core/report.h"
#include "daemon/job.h"
#include "io/runfile.h"
#include "io/scrape.h"

#define CHECKPOINT 1000

/* A file has no kdamond behind it that answers a command; so the state stays as it was, and the
 * write costs what it costs. */
typedef struct Latch {
        Sysfs *files;
        unsigned n_writes;
} Latch;

static int latch_read(void *userdata, const char *path, char *buf, size_t size, size_t *ret_len) {
        Latch *latch = userdata;
        int r = sysfs_read(latch->files, path, buf, size);

        *ret_len = r < 0 ? 0 : strlen(buf);
        return r;
}

static int latch_read_again(void *userdata, const char *path, char *buf, size_t size,
                            size_t *ret_len) {
        Latch *latch = userdata;
        int r = sysfs_read_again(latch->files, path, buf, size);

        *ret_len = r < 0 ? 0 : strlen(buf);
        return r;
}

static int latch_write(void *userdata, const char *path, const char *value) {
        Latch *latch = userdata;
        const char *leaf = strrchr(path, '/');

        latch->n_writes++;
        if (leaf && strcmp(leaf, "/state") == 0 && strcmp(value, "on") != 0)
                return sysfs_write(latch->files, path, "on");
        return sysfs_write(latch->files, path, value);
}

static int latch_exists(void *userdata, const char *path) {
        Latch *latch = userdata;

        return sysfs_exists(latch->files, path) ? 0 : -ENOENT;
}

static int latch_list(void *userdata, const char *path, char ***ret) {
        Latch *latch = userdata;

        return sysfs_list(latch->files, path, ret);
}

static const SysfsBackend latch_backend = {
        .read = latch_read,
        .read_again = latch_read_again,
        .write = latch_write,
        .exists = latch_exists,
        .list = latch_list,
};

__attribute__((noreturn)) static void die(const char *what, int r) {
        (void) fprintf(stderr, "bench: %s: %s\n", what, strerror(-r));
        exit(EXIT_FAILURE);
}

static uint64_t clock_us(clockid_t clock) {
        struct timespec ts;

        (void) clock_gettime(clock, &ts);
        return (uint64_t) ts.tv_sec * 1000000 + (uint64_t) ts.tv_nsec / 1000;
}

static uint64_t heap_bytes(void) {
        struct mallinfo2 info = mallinfo2();

        return info.uordblks + info.hblkhd;
}

static uint64_t resident_kib(void) {
        unsigned long long total = 0, resident = 0;
        FILE *f = fopen("/proc/self/statm", "re");

        if (!f || fscanf(f, "%llu %llu", &total, &resident) != 2)
                resident = 0;
        if (f)
                (void) fclose(f);
        return resident * (uint64_t) sysconf(_SC_PAGESIZE) / 1024;
}

/* The most memory that was resident since it was last asked for. */
static uint64_t take_peak_kib(void) {
        FILE *status = fopen("/proc/self/status", "re"), *reset;
        unsigned long long kib = 0;
        char line[256];

        while (status && fgets(line, sizeof(line), status))
                if (sscanf(line, "VmHWM: %llu", &kib) == 1)
                        break;
        if (status)
                (void) fclose(status);
        reset = fopen("/proc/self/clear_refs", "we");
        if (!reset || fputs("5\n", reset) == EOF || fclose(reset) == EOF)
                die("/proc/self/clear_refs", -errno);
        return kib;
}

typedef struct Service {
        Latch latch;
        Sysfs *sysfs;
        Config *config;
        Topology *topology;
        DecideState state;
        Decision decision;
        bool has_decision;
        Plan plan;
        DamonTree present;
        uint32_t caps;
        Record record;
        Stats stats;
        Guard guard;
        Verdict verdicts[64 * DAMON_SCHEMES_MAX];
        VerdictTrack tracks[64 * DAMON_SCHEMES_MAX];
} Service;

static Job *new_job(Service *s, JobKind kind) {
        Job *job = job_new(kind);

        if (!job)
                die("job", -ENOMEM);
        job->caps = s->caps;
        job->what = SCRAPE_ALL;
        for (size_t i = 0; s->topology && i < s->topology->n_nodes; i++)
                nodeset_add(&job->nids, s->topology->nodes[i].nid);
        return job;
}

static void run_job(Service *s, Job *job) {
        job_run(job, s->sysfs);
        if (job->result < 0)
                die(job_kind_to_string(job->kind), job->result);
}

static void open_root(Service *s, const char *root, unsigned kdamonds) {
        char number[16];
        ConfigAssignment assignment = {
                .path = "bench", .section = "Policy", .key = "Kdamonds", .value = number};
        ConfigProblems problems = {};
        int r;

        (void) snprintf(number, sizeof(number), "%u", kdamonds);
        r = config_build(&assignment, 1, &problems, &s->config);
        if (r < 0)
                die("configuration", r);
        r = sysfs_open(root, SYSFS_READ_WRITE, &s->latch.files);
        if (r < 0)
                die(root, r);
        if (!sysfs_exists(s->latch.files, "sys/imitation"))
                die("the root is no imitation, nothing is written there", -EPERM);
        r = sysfs_new_backend_consume(&latch_backend, &s->latch, &s->sysfs);
        if (r < 0)
                die("root", r);
}

static void prepare(Service *s) {
        _cleanup_(job_freep) Job *job = new_job(s, JOB_PREPARE);
        char *text = NULL;
        int r;

        run_job(s, job);
        r = topology_build(&job->facts, s->config, &s->topology, &text);
        if (r < 0)
                die(text ? text : "topology", r);
}

static void plan(Service *s, const Sample *sample) {
        DecideInput input = {
                .config = s->config,
                .topology = s->topology,
                .caps = s->caps,
                .sample = sample,
                .stats = &s->stats,
                .verdicts = s->verdicts,
                .guard = &s->guard,
                .present = &s->present,
                .now_us = sample->now_us,
        };
        Decision decision;
        Plan new_plan;
        char *text = NULL;
        int r;

        r = decide(&input, &s->state, s->has_decision ? &s->decision : NULL, &decision);
        if (r < 0)
                die("decide", r);
        decision_done(&s->decision);
        s->decision = decision;
        s->has_decision = true;
        r = plan_build(s->config, s->topology, s->caps, &s->decision, &new_plan, &text);
        if (r < 0)
                die(text ? text : "plan", r);
        plan_done(&s->plan);
        s->plan = new_plan;
}

static void take_tree(Service *s, Job *job) {
        damon_tree_done(&s->present);
        s->present = job->tree;
        job->tree = (DamonTree){};
}

static void start(Service *s) {
        _cleanup_(job_freep) Job *stage = NULL, *apply = NULL;

        prepare(s);
        stage = new_job(s, JOB_STAGE);
        stage->n_kdamonds = slices_count_slots(s->config, s->topology);
        run_job(s, stage);
        s->caps = stage->caps;
        take_tree(s, stage);
        plan(s, &stage->sample);
        apply = new_job(s, JOB_APPLY);
        if (diff_trees(&s->present, &s->plan.tree, s->caps, &apply->ops) < 0)
                die("diff", -ENOMEM);
        run_job(s, apply);
        take_tree(s, apply);
        s->state.on_since_us = 1; /* stages are over */
}

static void bench_start(Service *s) {
        uint64_t t = clock_us(CLOCK_MONOTONIC);

        start(s);
        printf("{\"start_us\": %" PRIu64 ", \"writes\": %u, \"kdamonds\": %zu}\n",
               clock_us(CLOCK_MONOTONIC) - t, s->latch.n_writes, s->present.n_kdamonds);
}

static void bench_scale(Service *s) {
        uint64_t before_kib, t, facts_us, done_us;
        _cleanup_(sample_done) Sample sample = {};
        NodeSet nids = {};
        size_t n_ranges = 0;
        int r;

        (void) take_peak_kib();
        before_kib = resident_kib();
        t = clock_us(CLOCK_MONOTONIC);
        prepare(s);
        facts_us = clock_us(CLOCK_MONOTONIC) - t;
        for (size_t i = 0; i < s->topology->n_nodes; i++) {
                nodeset_add(&nids, s->topology->nodes[i].nid);
                n_ranges += s->topology->nodes[i].n_ranges;
        }
        r = scrape_nodes(s->sysfs, &nids, NULL, job_now_us(), &sample);
        if (r < 0)
                die("nodes", r);
        s->caps = damon_caps_of_release("7.3.1");
        s->state.on_since_us = 1;
        plan(s, &sample);
        done_us = clock_us(CLOCK_MONOTONIC) - t;
        printf("{\"topology_us\": %" PRIu64 ", \"topology_and_plan_us\": %" PRIu64
               ", \"peak_kib\": %" PRIu64 ", \"nodes\": %zu, \"ranges\": %zu, \"kdamonds\": %zu}\n",
               facts_us, done_us, take_peak_kib() - before_kib, s->topology->n_nodes, n_ranges,
               s->plan.tree.n_kdamonds);
}

static void bench_scrape(Service *s, unsigned n) {
        uint64_t cpu;

        start(s);
        cpu = clock_us(CLOCK_PROCESS_CPUTIME_ID);
        for (unsigned i = 0; i < n; i++) {
                _cleanup_(job_freep) Job *job = new_job(s, JOB_SCRAPE);

                run_job(s, job);
        }
        cpu = clock_us(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        printf("{\"scrapes\": %u, \"cpu_us_per_scrape\": %.1f}\n", n, (double) cpu / n);
}

/* What the manager does with a sample, in its order. */
static void tick(Service *s, const char *run_dir) {
        _cleanup_(job_freep) Job *job = new_job(s, JOB_SCRAPE);
        static unsigned n_ticks;
        _cleanup_(guard_events_done) GuardEvents events = {};
        _cleanup_(op_list_done) OpList ops = {};
        GuardInput guard = {.config = s->config,
                            .topology = s->topology,
                            .caps = s->caps,
                            .decision = &s->decision,
                            .plan = &s->plan,
                            .sample = &job->sample,
                            .stats = &s->stats,
                            .verdicts = s->verdicts};
        JudgeInput judge = {.caps = s->caps,
                            .decision = &s->decision,
                            .plan = &s->plan,
                            .sample = &job->sample,
                            .stats = &s->stats};

        job->what = n_ticks++ % 4 == 0 ? SCRAPE_ALL : SCRAPE_COUNTERS;
        run_job(s, job);
        scrape_pressure(s->sysfs, "", &job->sample);
        if (stats_update(&s->stats, &job->sample) < 0 ||
            ledger_add_window(&s->record.ledger, &s->plan, &s->stats) < 0 ||
            guard_update(&s->guard, &guard, &events) < 0)
                die("sample", -ENOMEM);
        for (size_t k = 0; k < s->plan.tree.n_kdamonds; k++)
                for (size_t n = 0; n < s->plan.kdamonds[k].n_schemes; n++) {
                        size_t i = k * DAMON_SCHEMES_MAX + n;
                        VerdictInput facts = judge_facts(&judge, k, n);

                        s->verdicts[i] = verdict_of(&facts);
                        (void) verdict_track(&s->tracks[i], s->verdicts[i], job->sample.now_us,
                                             10000000);
                }
        plan(s, &job->sample);
        if (diff_trees(&s->present, &s->plan.tree, s->caps, &ops) < 0)
                die("diff", -ENOMEM);
        StatusView view = {
                .state = "running",
                .caps = s->caps,
                .topology = s->topology,
                .decision = &s->decision,
                .plan = &s->plan,
                .sample = &job->sample,
                .stats = &s->stats,
                .ledger = &s->record.ledger,
                .guard = &s->guard,
                .verdicts = s->verdicts,
        };
        if (runfile_write_status(run_dir, &view) < 0 ||
            runfile_write_record(run_dir, &s->record) < 0)
                die(run_dir, -EIO);
}

static void bench_ticks(Service *s, unsigned n, const char *run_dir) {
        uint64_t cpu, heap = 0, resident = 0;

        start(s);
        cpu = clock_us(CLOCK_PROCESS_CPUTIME_ID);
        for (unsigned i = 0; i < n; i++) {
                tick(s, run_dir);
                if (i + 1 == CHECKPOINT) {
                        heap = heap_bytes();
                        resident = resident_kib();
                }
        }
        cpu = clock_us(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        printf("{\"ticks\": %u, \"kdamonds\": %zu, \"cpu_us_per_tick\": %.1f, "
               "\"heap_bytes_after_1000\": %" PRIu64 ", \"heap_bytes_at_end\": %" PRIu64
               ", \"resident_kib_after_1000\": %" PRIu64 ", \"resident_kib_at_end\": %" PRIu64
               "}\n",
               n, s->present.n_kdamonds, (double) cpu / n, heap, heap_bytes(), resident,
               resident_kib());
}

static void done(Service *s) {
        sysfs_free(s->sysfs);
        sysfs_free(s->latch.files);
        config_free(s->config);
        topology_free(s->topology);
        decision_done(&s->decision);
        plan_done(&s->plan);
        damon_tree_done(&s->present);
        record_done(&s->record);
        stats_done(&s->stats);
        guard_done(&s->guard);
}

int main(int argc, char **argv) {
        static Service s;
        const char *what = argc > 2 ? argv[1] : "";
        unsigned n = argc > 3 ? (unsigned) strtoul(argv[3], NULL, 10) : 1;

        if (strcmp(what, "start") == 0) {
                open_root(&s, argv[2], 1);
                bench_start(&s);
        } else if (strcmp(what, "scale") == 0) {
                open_root(&s, argv[2], 1);
                bench_scale(&s);
        } else if (strcmp(what, "scrape") == 0 && n > 0) {
                open_root(&s, argv[2], 1);
                bench_scrape(&s, n);
        } else if (strcmp(what, "ticks") == 0 && n > 0 && argc > 4) {
                open_root(&s, argv[2], 8);
                bench_ticks(&s, n, argv[4]);
        } else {
                (void) fputs(
                        "usage: bench start|scale ROOT | scrape ROOT N | ticks ROOT N RUN_DIR\n",
                        stderr);
                return 2;
        }
        done(&s);
        return EXIT_SUCCESS;
}
