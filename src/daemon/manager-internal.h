/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "core/config.h"
#include "core/decide.h"
#include "core/diff.h"
#include "core/guard.h"
#include "core/knob.h"
#include "core/ledger.h"
#include "core/plan.h"
#include "core/stats.h"
#include "core/topology.h"
#include "core/verdict.h"
#include "daemon/manager.h"
#include "daemon/worker.h"
#include "io/runfile.h"

/* What the manager's files share: manager.c (loop, signals, timers), manager-start.c,
 * manager-run.c, manager-stop.c (the sequence), manager-say.c (journal, status, record). */

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
        unsigned n_full;         /* full samples since the start */
        size_t n_writes;         /* since the tree was staged or looked at anew */
        int exit_status;

        Config *config;
        Config *old_config; /* while a reload is being carried out */
        Phase old_phase;
        Topology *topology;
        NodeSet has_memory; /* as the kernel listed it when we planned */
        uint32_t caps;
        DamonTree present;
        Plan plan;
        Decision decision;
        bool has_decision;
        DecideState decide_state;
        Guard guard;
        Record record;
        Sample sample; /* the last full one */
        Stats stats;
        Ledger reported;      /* what the journal knows already */
        uint64_t reported_us; /* when movements were last due */
        uint64_t *moved_us;   /* when each was last told; indexed as the tracks */
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
/* Of the last window, as many as the plan has; NULL while there are none that fit it. */
const Verdict *manager_verdicts(const Manager *m);
/* Movements that are due to be told; @all: whatever is left. */
void manager_say_moved(Manager *m, bool all);
void manager_say_guard(Manager *m, const GuardEvents *events);
void manager_say_problems(Manager *m, const ConfigProblems *problems);

/* status.json and STATUS=; @state as in StatusView. */
void manager_write_status(Manager *m, const char *state);
/* The record with present pids and counters. 0 or a negative errno. */
int manager_write_record(Manager *m);

/* manager.c */
void manager_post(Manager *m, Job *job); /* takes ownership; NULL is no memory */
void manager_set_timer(Manager *m, uint64_t us);
uint64_t manager_tick_us(const Manager *m);
void manager_become_ready(Manager *m);
NodeSet manager_nids(const Manager *m); /* of the topology */
void manager_say_errno(Manager *m, int priority, int error, const char *what);

/* manager-start.c */
void manager_prepare(Manager *m);
void manager_prepared(Manager *m, Job *job);
void manager_staged(Manager *m, Job *job);
/* Record what will be ours before it is; a crash in between then leaves a trace. */
int manager_claim(Manager *m, size_t n_kdamonds, uint32_t knobs);
/* Stay alive with nothing of ours in the kernel. @event is said when the reason is a new one. */
void manager_rest(Manager *m, Phase phase, Event *event);

/* manager-run.c */
/* All that was planned is in the kernel. */
void manager_begin(Manager *m);
void manager_applied(Manager *m, Job *job);
void manager_sampled(Manager *m, Job *job);
/* Take a full sample over. Negative: the tree is not ours any more. */
int manager_account(Manager *m, Job *job);
/* Decide and plan with @sample; @anew: as if nothing had been decided before. */
int manager_replan(Manager *m, const Sample *sample, bool anew);
/* Post what leads from the present tree to the plan. 1 when there is something, 0 when not. */
int manager_apply_plan(Manager *m);
void manager_take_tree(Manager *m, Job *job);
void manager_say_write_failed(Manager *m, const Job *job, const char *what_we_do);

/* manager-reload.c */
void manager_reload(Manager *m);
/* The new configuration does not work: go on with the old one. */
void manager_keep_old(Manager *m, bool kernel_is_changed);

/* manager-stop.c */
void manager_stop(Manager *m, int exit_status);
/* The next step of stopping, with the worker free. */
void manager_stop_step(Manager *m);
void manager_give_back(Manager *m);
void manager_released(Manager *m, Job *job);
void manager_accounted(Manager *m, Job *job);
