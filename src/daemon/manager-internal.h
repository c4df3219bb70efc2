/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "core/config.h"
#include "core/decide.h"
#include "core/diff.h"
#include "core/ledger.h"
#include "core/plan.h"
#include "core/stats.h"
#include "core/topology.h"
#include "core/verdict.h"
#include "daemon/manager.h"
#include "daemon/worker.h"
#include "io/runfile.h"

/* What manager.c (sequence) and manager-say.c (journal, status, record) share. */

typedef enum Phase {
        PHASE_PREPARING, /* looking at the machine */
        PHASE_STAGING,   /* slots and capabilities */
        PHASE_APPLYING,  /* the first plan, or the one after a reload */
        PHASE_RUNNING,
        PHASE_IDLE,       /* nothing to tier */
        PHASE_WAITING,    /* for a foreign user of DAMON to go */
        PHASE_ACCOUNTING, /* stopping: the last sample */
        PHASE_RELEASING,  /* stopping: giving back */
} Phase;

typedef struct Manager {
        const ManagerParams *params;
        sd_event *event;
        sd_event_source *timer;
        sd_event_source *watchdog;
        Worker *worker;
        uint64_t busy_since_us;
        uint64_t watchdog_us;

        Phase phase;
        bool ready; /* READY=1 was sent */
        bool reloading;
        bool reload_pending;
        bool stopping;
        bool release_only;
        bool adopted;
        unsigned residual_tries; /* rounds in which the read-back differed */
        size_t n_writes;         /* since the tree was staged or looked at anew */
        int exit_status;

        Config *config;
        Topology *topology;
        NodeSet has_memory; /* as the kernel listed it when we planned */
        uint32_t caps;
        DamonTree present;
        Plan plan;
        Decision decision;
        bool has_decision;
        DecideState decide_state;
        Record record;
        Sample sample; /* the last full one */
        Stats stats;
        Ledger reported; /* what the journal knows already */
        uint64_t reported_us;
        VerdictTrack *tracks; /* [kdamond * DAMON_SCHEMES_MAX + scheme] */
        Verdict *verdicts;    /* same */
        size_t n_verdicts;
        char *status_line;
        char *reason; /* why idle or waiting; also: was said already */
} Manager;

/* Emit and free; NULL (no memory) is dropped. */
void manager_say(Manager *m, Event *event);
void manager_say_plan(Manager *m);
/* Verdicts of this window: their starts and ends. 0 or -ENOMEM. */
int manager_say_verdicts(Manager *m);
/* Movements that are due to be told; @all: whatever is left. */
void manager_say_moved(Manager *m, bool all);
void manager_say_problems(Manager *m, const ConfigProblems *problems);

/* status.json and STATUS=; @state as in StatusView. */
void manager_write_status(Manager *m, const char *state);
/* The record with present pids and counters. 0 or a negative errno. */
int manager_write_record(Manager *m);
