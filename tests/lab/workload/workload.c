/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Memory whose temperature is known.
 *
 * Each --set is one stretch of memory, placed once and then left to whoever tiers. A set is either
 * used by a thread of its own (hot, or warm, or scanned) or never again (cold). About once per
 * second one line of JSON on standard output says on which node each set's pages are now. SIGUSR1
 * makes the windows of all sets jump. The times are CLOCK_BOOTTIME, the clock of /proc/uptime, so
 * that they can be related to other events.
 *
 * The program measures; it must not disturb: it asks for a sample of the pages only, allocates
 * nothing after it has said that it is ready, and leaves no memory policy behind.
 */

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include "die.h"
#include "node.h"
#include "set.h"
#include "tlb.h"
#include "touch.h"

#define SETS_MAX 16U
/* A set with a window makes three entries. */
#define ENTRY_MAX_BYTES 512U

struct line {
        char text[SETS_MAX * 3 * ENTRY_MAX_BYTES];
        size_t used;
};

static volatile sig_atomic_t stopping, jumping;

static void on_signal(int signal_number) {
        if (signal_number == SIGUSR1)
                jumping = 1;
        else
                stopping = 1;
}

static _Noreturn void usage(const char *what) {
        fprintf(stderr,
                "workload: %s\n"
                "usage: workload [--interval-ms N] --set role=hot,name=NAME,key=value,... ...\n%s",
                what, set_keys);
        exit(2);
}

static double now_s(void) {
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

static __attribute__((format(printf, 2, 3))) void add(struct line *line, const char *format, ...) {
        va_list arguments;
        int n;

        va_start(arguments, format);
        n = vsnprintf(line->text + line->used, sizeof(line->text) - line->used, format, arguments);
        va_end(arguments);
        if (n < 0 || (size_t) n >= sizeof(line->text) - line->used) {
                errno = EOVERFLOW;
                die("a line of output");
        }
        line->used += (size_t) n;
}

/* One part of a set, as if it were a set. */
static void add_part(struct line *line, const struct set *set, const char *suffix, const char *role,
                     size_t offset, size_t size_bytes) {
        size_t on_node[NODES_MAX], n_sampled;
        const char *comma = "";

        if (size_bytes == 0)
                return;
        n_sampled = set_locate(set, offset, size_bytes, on_node);
        add(line, "%s{\"name\":\"%s%s\",\"role\":\"%s\",\"bytes\":%zu,\"passes\":%" PRIu64,
            line->text[line->used - 1] == '[' ? "" : ",", set->name, suffix, role, size_bytes,
            (uint64_t) set->passes);
        add(line, ",\"nodes\":{");
        for (size_t node = 0; node < NODES_MAX; node++)
                if (on_node[node] > 0) {
                        add(line, "%s\"%zu\":%.4f", comma, node,
                            (double) on_node[node] / (double) n_sampled);
                        comma = ",";
                }
        add(line, "}}");
}

static void add_set(struct line *line, const struct set *set) {
        size_t start = set->window_start, end = start + set->window_bytes;

        if (set->window_bytes == 0) {
                add_part(line, set, "", set->role, 0, set->size_bytes);
                return;
        }
        add_part(line, set, "", set->role, start, set->window_bytes);
        add_part(line, set, "-before", "cold", 0, start);
        add_part(line, set, "-after", "cold", end, set->size_bytes - end);
}

/* One line, one write: other programs may be writing to the same terminal. */
static void print_sample(const char *event, const struct set *sets, size_t n_sets) {
        static struct line line;
        size_t free_bytes[NODES_MAX];
        const char *comma = "";

        line.used = 0;
        node_free_bytes(free_bytes);
        add(&line, "{\"event\":\"%s\",\"t\":%.3f,\"free\":{", event, now_s());
        for (size_t node = 0; node < NODES_MAX; node++)
                if (free_bytes[node] > 0) {
                        add(&line, "%s\"%zu\":%zu", comma, node, free_bytes[node]);
                        comma = ",";
                }
        add(&line, "},\"sets\":[");
        for (size_t i = 0; i < n_sets; i++)
                add_set(&line, &sets[i]);
        add(&line, "]}\n");
        if (write(STDOUT_FILENO, line.text, line.used) < 0)
                die("standard output");
}

/* Until the interval is over or a signal comes. */
static void wait_ms(uint64_t interval_ms) {
        struct timespec interval = {
                .tv_sec = (time_t) (interval_ms / 1000),
                .tv_nsec = (long) (interval_ms % 1000) * 1000000,
        };

        nanosleep(&interval, NULL);
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
                        interval_ms = strtoull(argv[++i], NULL, 10);
                } else if (strcmp(argv[i], "--set") == 0) {
                        if (n_sets == SETS_MAX)
                                usage("too many sets");
                        set_parse(&sets[n_sets++], argv[++i]);
                } else {
                        usage("unknown option");
                }
        }
        if (n_sets == 0 || interval_ms == 0)
                usage("nothing to do");
        sigaction(SIGTERM, &action, NULL);
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGUSR1, &action, NULL);

        tlb_keep_small();
        for (size_t i = 0; i < n_sets; i++)
                set_place(&sets[i]);
        for (size_t i = 0; i < n_sets; i++)
                touch_start(&sets[i]);
        print_sample("ready", sets, n_sets);
        while (!stopping) {
                wait_ms(interval_ms);
                if (jumping) {
                        jumping = 0;
                        for (size_t i = 0; i < n_sets; i++)
                                touch_jump(&sets[i]);
                        print_sample("jump", sets, n_sets);
                } else {
                        print_sample("sample", sets, n_sets);
                }
        }
        for (size_t i = 0; i < n_sets; i++)
                touch_stop(&sets[i]);
        return EXIT_SUCCESS;
}
