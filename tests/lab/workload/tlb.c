/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * A page's accessed bit is set when its translation is loaded. A real CPU holds translations for a
 * few MiB, so memory that is in use has its bits set again all the time. The emulator's cache grows
 * to whatever a program uses, gigabytes too, and is emptied only when another address space is
 * switched to. A program alone on its CPU may go over all of its memory 250 times per second
 * without one bit being set, and looks idle to the kernel. So each CPU gets somebody else to switch
 * to, as often as DAMON looks.
 */

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "die.h"
#include "tlb.h"

/* The shortest sampling interval that the daemon asks for by default. */
#define SWITCH_INTERVAL_NS 5000000

static _Noreturn void switch_forever(size_t cpu, pid_t parent) {
        const struct timespec interval = {.tv_nsec = SWITCH_INTERVAL_NS};
        cpu_set_t cpus;

        /* Whoever ended before that has been missed. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
                die("prctl");
        if (getppid() != parent)
                _exit(EXIT_SUCCESS);
        CPU_ZERO(&cpus);
        CPU_SET(cpu, &cpus);
        if (sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
                die("sched_setaffinity");
        for (;;)
                nanosleep(&interval, NULL);
}

void tlb_keep_small(void) {
        pid_t parent = getpid();
        cpu_set_t cpus;

        if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
                die("sched_getaffinity");
        for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
                pid_t pid;

                if (!CPU_ISSET(cpu, &cpus))
                        continue;
                pid = fork();
                if (pid < 0)
                        die("fork");
                if (pid == 0)
                        switch_forever(cpu, parent);
        }
}
