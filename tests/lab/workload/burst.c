/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * A process that wants memory at once, holds it for a while and ends. One line of JSON tells how
 * long the slowest piece took: what an application would have felt.
 *
 * With --every-ms it does so again and again, each time as a new process.
 */

#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "die.h"
#include "node.h"

#define PAGE_BYTES 4096UL
#define CHUNK_BYTES (2UL << 20)

static double clock_s(clockid_t clock) {
        struct timespec now;

        clock_gettime(clock, &now);
        return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

static void sleep_ms(unsigned long ms) {
        struct timespec pause = {.tv_sec = (time_t) (ms / 1000),
                                 .tv_nsec = (long) (ms % 1000) * 1000000};

        nanosleep(&pause, NULL);
}

/* How long this process could have run but another one did, in seconds. */
static double delayed_s(void) {
        unsigned long long delay_ns = 0;
        FILE *file = fopen("/proc/self/schedstat", "re");

        if (!file)
                return 0;
        if (fscanf(file, "%*u %llu", &delay_ns) != 1)
                delay_ns = 0;
        fclose(file);
        return (double) delay_ns / 1e9;
}

static char *take(size_t size_bytes) {
        char *start =
                mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (start == MAP_FAILED)
                die("mmap");
        if (madvise(start, size_bytes, MADV_NOHUGEPAGE) < 0)
                die("madvise");
        return start;
}

static void burst(size_t size_bytes, int node, unsigned long hold_ms, const char *event) {
        double began_s = clock_s(CLOCK_BOOTTIME), slowest_s = 0, waited_s = 0;
        char *start = take(size_bytes), line[256];
        int n;

        if (node >= 0)
                node_prefer(node);
        for (size_t offset = 0; offset < size_bytes; offset += CHUNK_BYTES) {
                double from_s = clock_s(CLOCK_MONOTONIC), cpu_s = clock_s(CLOCK_THREAD_CPUTIME_ID);
                double delay_s = delayed_s(), spent_s;

                memset(start + offset, 1, CHUNK_BYTES);
                /* Waiting for a CPU is not waiting for memory. */
                spent_s = clock_s(CLOCK_MONOTONIC) - from_s - (delayed_s() - delay_s);
                cpu_s = clock_s(CLOCK_THREAD_CPUTIME_ID) - cpu_s;
                slowest_s = spent_s > slowest_s ? spent_s : slowest_s;
                /* Nor is working, which an emulated CPU may take long for. */
                waited_s = spent_s - cpu_s > waited_s ? spent_s - cpu_s : waited_s;
        }
        if (event) {
                n = snprintf(line, sizeof(line),
                             "{\"event\":\"%s\",\"t\":%.3f,\"took_s\":%.3f,\"slowest_ms\":%.1f,"
                             "\"waited_ms\":%.1f}\n",
                             event, clock_s(CLOCK_BOOTTIME), clock_s(CLOCK_BOOTTIME) - began_s,
                             slowest_s * 1000, waited_s * 1000);
                if (write(STDOUT_FILENO, line, (size_t) n) < 0)
                        die("standard output");
        }
        sleep_ms(hold_ms);
}

static _Noreturn void usage(void) {
        fprintf(stderr, "usage: burst SIZE-MIB HOLD-MS [NODE [EVERY-MS]]\n");
        exit(2);
}

int main(int argc, char **argv) {
        size_t size_bytes;
        unsigned long hold_ms;
        int node;

        if (argc < 3 || argc > 5)
                usage();
        size_bytes = strtoul(argv[1], NULL, 10) << 20;
        hold_ms = strtoul(argv[2], NULL, 10);
        node = argc > 3 ? atoi(argv[3]) : -1;
        if (size_bytes == 0 || size_bytes % CHUNK_BYTES != 0)
                usage();
        if (argc < 5) {
                burst(size_bytes, node, hold_ms, "burst");
                return EXIT_SUCCESS;
        }
        for (;;) {
                pid_t child = fork();

                if (child < 0)
                        die("fork");
                if (child == 0) {
                        burst(size_bytes, node, hold_ms, NULL);
                        return EXIT_SUCCESS;
                }
                while (waitpid(child, NULL, 0) < 0)
                        if (errno != EINTR)
                                die("waitpid");
                sleep_ms(strtoul(argv[4], NULL, 10));
        }
}
