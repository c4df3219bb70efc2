/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Memory whose temperature is known.
 *
 * Each --set is one stretch of anonymous memory, placed once and then left to whoever tiers. A set
 * is either touched in a loop by a thread of its own (hot) or never again (cold). About once per
 * second one line of JSON on standard output says on which node each set's pages are now. The
 * times are CLOCK_BOOTTIME, the clock of /proc/uptime, so that they can be related to other events.
 *
 * The program measures; it must not disturb: it asks for a sample of the pages only, allocates
 * nothing after it has said that it is ready, and leaves no memory policy behind.
 */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES 4096UL
#define CHUNK_BYTES (2UL << 20)
#define SETS_MAX 16U
#define NODES_MAX 16
/* One percent of 2500 pages is 25: enough to tell 95 % from 94 %. */
#define SAMPLE_PAGES 2500U

#define POLICY_DEFAULT 0
#define POLICY_PREFERRED 1

struct set {
        const char *name;
        const char *role;
        size_t size_bytes;  /* 0: fill the node instead */
        size_t leave_bytes; /* when filling: what the allocator may still take from the node */
        int node;           /* -1: wherever the kernel puts it */
        int cpu;            /* -1: anywhere */
        bool touch;
        uint64_t pause_us; /* between two passes */
        char *start;
        _Atomic uint64_t passes;
        pthread_t thread;
};

static volatile sig_atomic_t stopping;

static void on_signal(int signal_number) {
        (void) signal_number;
        stopping = 1;
}

static void die(const char *what) {
        fprintf(stderr, "workload: %s: %s\n", what, strerror(errno));
        exit(EXIT_FAILURE);
}

static void usage(const char *what) {
        fprintf(stderr,
                "workload: %s\n"
                "usage: workload [--interval-ms N] --set role=hot,name=NAME,key=value,... ...\n"
                "keys: size=MIB or fill (until leave=MIB are left), node=N, touch, pause-us=N, "
                "cpu=N\n",
                what);
        exit(2);
}

static uint64_t parse_number(const char *text) {
        char *end = NULL;
        unsigned long long value;

        if (!text)
                usage("a key lacks its value");
        errno = 0;
        value = strtoull(text, &end, 10);
        if (errno != 0 || end == text || *end != '\0' || *text == '-')
                usage("not a number");
        return value;
}

static void parse_set(char *text, struct set *set) {
        char *save = NULL;
        bool fill = false;

        set->name = set->role = "unnamed";
        set->node = set->cpu = -1;
        set->pause_us = 1000;
        set->leave_bytes = 8UL << 20;

        for (char *word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
                char *value = strchr(word, '=');

                if (value)
                        *value++ = '\0';
                if (strcmp(word, "name") == 0 && value)
                        set->name = value;
                else if (strcmp(word, "role") == 0 && value)
                        set->role = value;
                else if (strcmp(word, "size") == 0)
                        set->size_bytes = parse_number(value) << 20;
                else if (strcmp(word, "leave") == 0)
                        set->leave_bytes = parse_number(value) << 20;
                else if (strcmp(word, "fill") == 0)
                        fill = true;
                else if (strcmp(word, "node") == 0)
                        set->node = (int) parse_number(value);
                else if (strcmp(word, "cpu") == 0)
                        set->cpu = (int) parse_number(value);
                else if (strcmp(word, "pause-us") == 0)
                        set->pause_us = parse_number(value);
                else if (strcmp(word, "touch") == 0)
                        set->touch = true;
                else
                        usage("unknown key in --set");
        }
        if (fill == (set->size_bytes > 0))
                usage("a set needs either size= or fill");
        if (fill && set->node < 0)
                usage("fill needs node=");
}

/*
 * What an ordinary allocation may still take from a node before it turns to another one: per zone,
 * free pages above the high watermark and above what is reserved for allocations that must come
 * from low zones. Free memory alone would not tell, and the difference is what fills a node
 * exactly instead of nearly or too much.
 */
static size_t usable_bytes(int node) {
        FILE *file = fopen("/proc/zoneinfo", "re");
        char *line = NULL;
        size_t room = 0;
        long total = 0, free_pages = 0, high = 0;
        bool ours = false;

        if (!file)
                die("/proc/zoneinfo");
        while (getline(&line, &room, file) >= 0) {
                long value;
                int nid;

                if (sscanf(line, "Node %d, zone", &nid) == 1) {
                        ours = nid == node;
                        free_pages = high = 0;
                } else if (!ours) {
                        continue;
                } else if (sscanf(line, " pages free %ld", &value) == 1) {
                        free_pages = value;
                } else if (sscanf(line, " high %ld", &value) == 1) {
                        high = value;
                } else if (strstr(line, "protection: (")) {
                        const char *last = strrchr(line, ' ');
                        long spare;

                        /* The last entry is for the least demanding kind of allocation, ours. */
                        spare = free_pages - high - (last ? atol(last) : 0);
                        if (spare > 0)
                                total += spare;
                }
        }
        free(line);
        fclose(file);
        return (size_t) total * PAGE_BYTES;
}

static size_t node_size_bytes(int node) {
        char path[96], line[256];
        size_t kib = 0;
        FILE *file;

        snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", node);
        file = fopen(path, "re");
        if (!file)
                die(path);
        while (fgets(line, sizeof(line), file))
                if (sscanf(line, "Node %*d MemTotal: %zu kB", &kib) == 1)
                        break;
        fclose(file);
        return kib << 10;
}

static void set_policy(const struct set *set, size_t size_bytes, int mode) {
        unsigned long mask = 1UL << (set->node < 0 ? 0 : set->node);

        if (set->node < 0)
                return;
        if (syscall(SYS_mbind, set->start, size_bytes, mode, mode == POLICY_DEFAULT ? NULL : &mask,
                    mode == POLICY_DEFAULT ? 0UL : 64UL, 0) < 0)
                die("mbind");
}

static void place(struct set *set) {
        bool fill = set->size_bytes == 0;
        size_t reserved = fill ? node_size_bytes(set->node) : set->size_bytes, done = 0;

        reserved = (reserved + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES;
        set->start = mmap(NULL, reserved, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (set->start == MAP_FAILED)
                die("mmap");
        /* Whole huge pages would make the placement coarser than what is measured. */
        if (madvise(set->start, reserved, MADV_NOHUGEPAGE) < 0)
                die("madvise");
        set_policy(set, reserved, POLICY_PREFERRED);
        while (done < reserved) {
                size_t step = reserved - done;

                /* Half of what is left at a time: close to the mark with few looks at it. */
                if (fill) {
                        size_t usable = usable_bytes(set->node);

                        if (usable < set->leave_bytes + CHUNK_BYTES)
                                break;
                        step = (usable - set->leave_bytes) / 2;
                        step = step < CHUNK_BYTES ? CHUNK_BYTES : step / CHUNK_BYTES * CHUNK_BYTES;
                        step = step > reserved - done ? reserved - done : step;
                }
                memset(set->start + done, 1, step);
                done += step;
        }
        if (done < reserved)
                munmap(set->start + done, reserved - done);
        if (done == 0) {
                errno = ENOMEM;
                die("the node is full already");
        }
        set->size_bytes = done;
        /* Only the first placement is ours: a policy left behind would hold back promotion. */
        set_policy(set, done, POLICY_DEFAULT);
}

static void *touch_thread(void *argument) {
        struct set *set = argument;
        struct timespec pause = {
                .tv_sec = (time_t) (set->pause_us / 1000000),
                .tv_nsec = (long) (set->pause_us % 1000000) * 1000,
        };

        if (set->cpu >= 0) {
                cpu_set_t cpus;

                CPU_ZERO(&cpus);
                CPU_SET((size_t) set->cpu, &cpus);
                if (sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
                        die("sched_setaffinity");
        }
        while (!stopping) {
                for (size_t offset = 0; offset < set->size_bytes; offset += PAGE_BYTES)
                        (*(volatile char *) (set->start + offset))++;
                set->passes++;
                nanosleep(&pause, NULL);
        }
        return NULL;
}

static double now_s(void) {
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

static size_t print_set(const struct set *set, char *buffer, size_t room) {
        static void *pages[SAMPLE_PAGES];
        static int status[SAMPLE_PAGES];
        size_t n_pages = set->size_bytes / PAGE_BYTES, used;
        size_t n_sampled = n_pages < SAMPLE_PAGES ? n_pages : SAMPLE_PAGES;
        size_t on_node[NODES_MAX] = {0};
        bool first = true;

        for (size_t i = 0; i < n_sampled; i++)
                pages[i] = set->start + n_pages * i / n_sampled * PAGE_BYTES;
        if (syscall(SYS_move_pages, 0, n_sampled, pages, NULL, status, 0) < 0)
                die("move_pages");
        /* A page under migration has no node for a moment; it counts as being nowhere. */
        for (size_t i = 0; i < n_sampled; i++)
                if (status[i] >= 0 && status[i] < NODES_MAX)
                        on_node[status[i]]++;
        used = (size_t) snprintf(
                buffer, room,
                "{\"name\":\"%s\",\"role\":\"%s\",\"bytes\":%zu,\"passes\":%" PRIu64 ",\"nodes\":{",
                set->name, set->role, set->size_bytes, (uint64_t) set->passes);
        for (size_t node = 0; node < NODES_MAX; node++)
                if (on_node[node] > 0) {
                        used += (size_t) snprintf(buffer + used, room - used, "%s\"%zu\":%.4f",
                                                  first ? "" : ",", node,
                                                  (double) on_node[node] / (double) n_sampled);
                        first = false;
                }
        used += (size_t) snprintf(buffer + used, room - used, "}}");
        return used;
}

/* One line, one write: other programs may be writing to the same terminal. */
static void print_sample(const char *event, const struct set *sets, size_t n_sets) {
        static char buffer[SETS_MAX * 512];
        size_t used;

        used = (size_t) snprintf(buffer, sizeof(buffer), "{\"event\":\"%s\",\"t\":%.3f,\"sets\":[",
                                 event, now_s());
        for (size_t i = 0; i < n_sets; i++) {
                if (i > 0)
                        buffer[used++] = ',';
                used += print_set(&sets[i], buffer + used, sizeof(buffer) - used - 8);
        }
        used += (size_t) snprintf(buffer + used, sizeof(buffer) - used, "]}\n");
        if (write(STDOUT_FILENO, buffer, used) < 0)
                die("standard output");
}

int main(int argc, char **argv) {
        static struct set sets[SETS_MAX];
        struct sigaction action = {.sa_handler = on_signal};
        uint64_t interval_ms = 1000;
        size_t n_sets = 0;

        for (int i = 1; i < argc; i++) {
                if (i + 1 >= argc)
                        usage("an option lacks its value");
                if (strcmp(argv[i], "--interval-ms") == 0) {
                        interval_ms = parse_number(argv[++i]);
                } else if (strcmp(argv[i], "--set") == 0) {
                        if (n_sets == SETS_MAX)
                                usage("too many sets");
                        parse_set(argv[++i], &sets[n_sets++]);
                } else {
                        usage("unknown option");
                }
        }
        if (n_sets == 0 || interval_ms == 0)
                usage("nothing to do");
        sigaction(SIGTERM, &action, NULL);
        sigaction(SIGINT, &action, NULL);

        for (size_t i = 0; i < n_sets; i++)
                place(&sets[i]);
        for (size_t i = 0; i < n_sets; i++)
                if (sets[i].touch &&
                    pthread_create(&sets[i].thread, NULL, touch_thread, &sets[i]) != 0)
                        die("pthread_create");
        print_sample("ready", sets, n_sets);

        while (!stopping) {
                struct timespec interval = {
                        .tv_sec = (time_t) (interval_ms / 1000),
                        .tv_nsec = (long) (interval_ms % 1000) * 1000000,
                };

                nanosleep(&interval, NULL);
                print_sample("sample", sets, n_sets);
        }
        for (size_t i = 0; i < n_sets; i++)
                if (sets[i].touch)
                        pthread_join(sets[i].thread, NULL);
        return EXIT_SUCCESS;
}
