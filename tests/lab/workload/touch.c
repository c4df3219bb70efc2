/* SPDX-License-Identifier: GPL-2.0-or-later */

#include <sched.h>
#include <signal.h>
#include <time.h>

#include "die.h"
#include "node.h"
#include "touch.h"

static volatile sig_atomic_t stopping;

static double now_s(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

static void sleep_s(double seconds) {
        struct timespec pause = {.tv_sec = (time_t) seconds};

        pause.tv_nsec = (long) ((seconds - (double) pause.tv_sec) * 1e9);
        nanosleep(&pause, NULL);
}

static void touch_page(const struct set *set, size_t offset) {
        volatile char *page = set->start + offset;

        /* A write to a file's page would end in writes to the disk. */
        if (set->file)
                (void) *page;
        else
                (*page)++;
}

/* One pass over what is in use, at the pace that the set has. */
static void pass(struct set *set) {
        size_t start = set->window_start;
        size_t size = set->window_bytes > 0 ? set->window_bytes : set->size_bytes;
        double began_s = now_s();

        for (size_t done = 0; done < size && !stopping; done += PAGE_BYTES) {
                /* The window has gone: so has the reason to touch this. */
                if (done % CHUNK_BYTES == 0 && set->window_start != start)
                        return;
                touch_page(set, start + done);
                if (set->pace_bytes > 0 && (done + PAGE_BYTES) % (CHUNK_BYTES / 8) == 0) {
                        double ahead_s = (double) (done + PAGE_BYTES) / (double) set->pace_bytes -
                                         (now_s() - began_s);

                        if (ahead_s > 0)
                                sleep_s(ahead_s);
                }
        }
        set->passes++;
}

static void *touch_thread(void *argument) {
        struct set *set = argument;
        size_t origin = set->window_start, last = set->size_bytes - set->window_bytes;
        double began_s = now_s();

        if (set->cpu >= 0) {
                cpu_set_t cpus;

                CPU_ZERO(&cpus);
                CPU_SET((size_t) set->cpu, &cpus);
                if (sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
                        die("sched_setaffinity");
        }
        while (!stopping) {
                pass(set);
                sleep_s((double) set->pause_us / 1e6);
                if (set->slide_bytes > 0) {
                        size_t way = (size_t) ((double) set->slide_bytes * (now_s() - began_s));

                        way = way / PAGE_BYTES * PAGE_BYTES;
                        set->window_start = way < last - origin ? origin + way : last;
                }
        }
        return NULL;
}

void touch_start(struct set *set) {
        sigset_t all, before;

        if (!set->touch)
                return;
        /* Signals are for the main thread: they end its sleep. */
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        errno = pthread_create(&set->thread, NULL, touch_thread, set);
        if (errno != 0)
                die("pthread_create");
        pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void touch_stop(struct set *set) {
        stopping = 1;
        if (set->touch)
                pthread_join(set->thread, NULL);
}

void touch_jump(struct set *set) {
        size_t now = set->window_start, best = SIZE_MAX, least = SIZE_MAX;

        if (set->window_bytes == 0)
                return;
        for (size_t start = 0; start + set->window_bytes <= set->size_bytes;
             start += set->window_bytes) {
                size_t on_node[NODES_MAX], own;

                if (start + set->window_bytes > now && now + set->window_bytes > start)
                        continue;
                (void) set_locate(set, start, set->window_bytes, on_node);
                own = set->node < 0 ? 0 : on_node[set->node];
                if (own < least) {
                        least = own;
                        best = start;
                }
        }
        if (best != SIZE_MAX)
                set->window_start = best;
}
