/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The whole service, event loop, thread, files below run/ and all, on the model of the kernel, with
 * time that passes as fast as the work gets done. Shows what a start writes, what a tick costs, and
 * that months of ticks take no more memory than a few.
 *
 *   soak TICKS KDAMONDS [busy]
 *
 * On the two-node machine, KDAMONDS in all. "busy": pages move, kdamonds die, the configuration is
 * read again. Memory is compared between the 1,000th tick, when everything that comes with the
 * first ticks is there, and the last. Fails when it grows. Prints one JSON object.
 *
 * Time is replaced where the daemon asks for it and where it sleeps: the linker puts the functions
 * below in the place of the C library's and of libsystemd's. */

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "daemon/manager.h"
#include "fakedamon.h"
#include "testroot.h"

#define FIRST_TICK 1000
#define WINDOW_TICKS 100 /* ticks differ: some look at all, some at little */
#define RELOAD_TICKS 250
#define DEATH_TICKS 97

/* The sanitizers count exactly, and numbers in texts get longer. The C library counts what it keeps
 * in store as well; that is far less than a byte per tick in a long run. */
#define SLACK_EXACT_BYTES 1024
#define SLACK_ROUGH_BYTES (64 << 10)

typedef struct Usage {
        size_t heap_bytes;
        size_t rss_bytes;
        double cpu_s;
} Usage;

static struct {
        _Atomic uint64_t now_us;
        FakeDamon *fake;
        unsigned long n_kdamonds;
        unsigned long first_tick, last_tick; /* when memory is compared */
        unsigned long tick;
        unsigned n_writes;
        unsigned n_start_writes; /* until everything was on */
        unsigned n_events;
        bool busy;
        Usage first, last;
} soak = {.now_us = 1000000000};

/* With the address sanitizer the C library's numbers are none. */
size_t __attribute__((weak)) __sanitizer_get_current_allocated_bytes(void);

static size_t heap_bytes(void) {
        return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes()
                                                       : mallinfo2().uordblks;
}

static size_t rss_bytes(void) {
        FILE *f = fopen("/proc/self/statm", "re");
        unsigned long size, rss = 0;

        if (!f)
                return 0;
        if (fscanf(f, "%lu %lu", &size, &rss) != 2)
                rss = 0;
        (void) fclose(f);
        return rss * (size_t) sysconf(_SC_PAGESIZE);
}

static double cpu_s(void) {
        struct rusage usage;

        (void) getrusage(RUSAGE_SELF, &usage); /* can't fail with these arguments */
        return (double) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               (double) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void take_usage(unsigned long last_tick, Usage *usage) {
        if (soak.tick <= last_tick - WINDOW_TICKS || soak.tick > last_tick)
                return;
        usage->heap_bytes = MAX(usage->heap_bytes, heap_bytes());
        usage->rss_bytes = MAX(usage->rss_bytes, rss_bytes());
        usage->cpu_s = cpu_s();
}

/* What a machine that is at work shows. */
static void stir(void) {
        size_t kdamond = soak.tick % soak.n_kdamonds;

        if (fakedamon_is_running(soak.fake, kdamond)) {
                fakedamon_add_stat(soak.fake, kdamond, 0, "sz_tried", 64 << 20);
                fakedamon_add_stat(soak.fake, kdamond, 0, "nr_tried", 16);
                fakedamon_add_stat(soak.fake, kdamond, 0, "sz_applied", soak.tick % 7 << 20);
                fakedamon_add_stat(soak.fake, kdamond, 0, "nr_applied", soak.tick % 7);
        }
        if (soak.tick % DEATH_TICKS == 0)
                fakedamon_kill(soak.fake, kdamond);
        if (soak.tick % RELOAD_TICKS == 0)
                (void) kill(getpid(), SIGHUP);
}

/* The daemon goes to sleep until the next tick: the worker is idle, the model is ours. */
static void pass_tick(uint64_t us) {
        soak.now_us += us;
        fakedamon_step(soak.fake, us / 1000);
        if (soak.tick == 0)
                soak.n_start_writes = soak.n_writes;
        soak.tick++;
        take_usage(soak.first_tick, &soak.first);
        take_usage(soak.last_tick, &soak.last);
        if (soak.busy)
                stir();
        if (soak.tick == soak.last_tick)
                (void) kill(getpid(), SIGTERM);
}

/* In the place of others' functions -------------------------------------------------------- */

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *ts,
                           struct timespec *left);
int __wrap_sd_event_add_time_relative(sd_event *event, sd_event_source **ret, clockid_t clock,
                                      uint64_t us, uint64_t accuracy_us,
                                      sd_event_time_handler_t handler, void *userdata);
int __real_sd_event_add_time_relative(sd_event *event, sd_event_source **ret, clockid_t clock,
                                      uint64_t us, uint64_t accuracy_us,
                                      sd_event_time_handler_t handler, void *userdata);
int __wrap_sd_event_source_set_time_relative(sd_event_source *source, uint64_t us);
int __real_sd_event_source_set_time_relative(sd_event_source *source, uint64_t us);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts) {
        uint64_t now_us = soak.now_us;

        (void) clock;
        *ts = (struct timespec){
                .tv_sec = (time_t) (now_us / 1000000),
                .tv_nsec = (long) (now_us % 1000000) * 1000,
        };
        return 0;
}

int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *ts,
                           struct timespec *left) {
        (void) clock;
        (void) flags;
        (void) left;
        soak.now_us += (uint64_t) ts->tv_sec * 1000000 + (uint64_t) ts->tv_nsec / 1000;
        return 0;
}

/* The event loop would wait for more to do at the same time. */
int __wrap_sd_event_add_time_relative(sd_event *event, sd_event_source **ret, clockid_t clock,
                                      uint64_t us, uint64_t accuracy_us,
                                      sd_event_time_handler_t handler, void *userdata) {
        (void) accuracy_us;
        return __real_sd_event_add_time_relative(event, ret, clock, us, 1, handler, userdata);
}

int __wrap_sd_event_source_set_time_relative(sd_event_source *source, uint64_t us) {
        pass_tick(us);
        return __real_sd_event_source_set_time_relative(source, 0);
}

/* The service's surroundings --------------------------------------------------------------- */

static void log_write(void *userdata, const char *path, const char *value, int result) {
        (void) userdata;
        (void) path;
        (void) value;
        (void) result;
        soak.n_writes++;
}

static void count_event(void *userdata, const Event *event) {
        (void) userdata;
        (void) event;
        soak.n_events++;
}

static int load_config(void *userdata, ConfigProblems *problems, Config **ret) {
        char share[32];
        const ConfigAssignment assignments[] = {
                {.path = "soak", .section = "Policy", .key = "Kdamonds", .value = share},
        };

        (void) userdata;
        (void) snprintf(share, sizeof(share), "%lu", soak.n_kdamonds / 2);
        return config_build(assignments, ELEMENTSOF(assignments), problems, ret);
}

static int run(void) {
        _cleanup_(testroot_freep) TestRoot *root = testroot_new();
        _cleanup_(sysfs_freep) Sysfs *sysfs = NULL;
        _cleanup_(freep) char *run_dir = NULL;
        ManagerParams params = {.sink = {.emit = count_event}, .load_config = load_config};
        int r, status = -1;

        testroot_dir(root, "run");
        if (asprintf(&run_dir, "%s/run", testroot_path(root)) < 0)
                return -ENOMEM;
        soak.fake = fakedamon_new(FAKE_7_3, &sysfs);
        fakedamon_load_fixture(soak.fake, "two");
        sysfs_set_write_log(sysfs, log_write, NULL);
        params.sysfs = sysfs;
        params.run_dir = run_dir;
        r = manager_run(&params, &status);
        if (r < 0 || status != 0)
                (void) fprintf(stderr, "soak: the service ended early: %d, %s\n", status,
                               strerror(-r));
        if (*fakedamon_bugs(soak.fake)) {
                (void) fprintf(stderr, "soak: this breaks a kernel: %s\n",
                               fakedamon_bugs(soak.fake));
                return -EIO;
        }
        return r < 0 ? r : status;
}

int main(int argc, char **argv) {
        int64_t growth;
        int r;

        if (argc >= 3) {
                soak.last_tick = strtoul(argv[1], NULL, 10);
                soak.first_tick = MIN(soak.last_tick / 4, (unsigned long) FIRST_TICK);
                soak.n_kdamonds = strtoul(argv[2], NULL, 10);
                soak.busy = argc == 4 && strcmp(argv[3], "busy") == 0;
        }
        if (soak.first_tick < WINDOW_TICKS || soak.n_kdamonds < 2) {
                (void) fprintf(stderr, "usage: soak TICKS KDAMONDS [busy], at least %d ticks\n",
                               4 * WINDOW_TICKS);
                return 2;
        }
        (void) mallopt(M_ARENA_MAX, 1); /* as the service does */
        r = run();
        if (r != 0)
                return 1;
        growth = (int64_t) soak.last.heap_bytes - (int64_t) soak.first.heap_bytes;
        (void) printf("{\"ticks\": %lu, \"kdamonds\": %lu, \"start_writes\": %u, \"writes\": %u, "
                      "\"events\": %u, \"heap_bytes\": [%zu, %zu], \"rss_bytes\": [%zu, %zu], "
                      "\"cpu_us_per_tick\": %.1f}\n",
                      soak.tick, soak.n_kdamonds, soak.n_start_writes, soak.n_writes, soak.n_events,
                      soak.first.heap_bytes, soak.last.heap_bytes, soak.first.rss_bytes,
                      soak.last.rss_bytes,
                      (soak.last.cpu_s - soak.first.cpu_s) * 1e6 /
                              (double) (soak.last_tick - soak.first_tick));
        if (growth >
            (__sanitizer_get_current_allocated_bytes ? SLACK_EXACT_BYTES : SLACK_ROUGH_BYTES)) {
                (void) fprintf(stderr, "soak: the heap grew by %lld bytes\n", (long long) growth);
                return 1;
        }
        return 0;
}
