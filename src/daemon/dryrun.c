/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The start of the service without its writes: the same jobs, the same core, and a list instead
 * of a worker. Capabilities can't be looked at in an empty tree without staging something, so
 * they are assumed from the kernel's release then, and the output says so. */

#include <errno.h>
#include <string.h>

#include "core/decide.h"
#include "core/plan.h"
#include "core/report.h"
#include "daemon/dryrun.h"
#include "daemon/job.h"
#include "io/damonfs.h"
#include "io/scrape.h"

static void print_event(FILE *out, Event *event) {
        _cleanup_(event_freep) Event *owned = event;

        if (owned)
                fprintf(out, "# %s\n", owned->message);
}

static int find_caps(Sysfs *sysfs, bool ours, uint32_t *ret_caps, FILE *out) {
        char release[128];
        int r;

        if (ours && damonfs_look(sysfs, ret_caps) >= 0)
                return 0;
        r = sysfs_read(sysfs, "proc/sys/kernel/osrelease", release, sizeof(release));
        if (r < 0)
                return r;
        *ret_caps = damon_caps_of_release(release);
        fprintf(out,
                "# DAMON's features are assumed from the kernel's release, %s: a dry run stages "
                "nothing to look at\n",
                release);
        return 0;
}

static int print_blockers(const Job *job, bool ours, const Config *config, FILE *out) {
        bool refuses = config->manager.damon_stat == DAMON_STAT_REFUSE;

        if (job->tree.n_kdamonds > 0 && !ours) {
                print_event(out, report_foreign(&job->tree, /* will_wait= */ false));
                return -EBUSY;
        }
        if (job->exclusive || ((job->knobs & KNOB_BIT(KNOB_DAMON_STAT)) && refuses)) {
                print_event(out, report_exclusive(job->exclusive ? job->exclusive : "damon_stat",
                                                  /* will_wait= */ false));
                return -EBUSY;
        }
        return 0;
}

static void print_ops(const OpList *ops, FILE *out) {
        for (size_t i = 0; i < ops->n_items; i++)
                fprintf(out, "%-6s /%s = %s\n", op_kind_to_string(ops->items[i].kind),
                        ops->items[i].path, ops->items[i].value);
        fprintf(out, "# %zu write%s\n", ops->n_items, ops->n_items == 1 ? "" : "s");
}

static int print_plan(Sysfs *sysfs, const Job *job, bool ours, const Config *config,
                      const Topology *topology, FILE *out) {
        _cleanup_(sample_done) Sample sample = {};
        _cleanup_(decision_done) Decision decision = {};
        _cleanup_(plan_done) Plan plan = {};
        _cleanup_(damon_tree_done) DamonTree present = {};
        _cleanup_(op_list_done) OpList ops = {};
        _cleanup_(freep) char *text = NULL;
        DecideState state = {};
        NodeSet nids = {};
        uint32_t caps = 0;
        int r;

        r = find_caps(sysfs, ours, &caps, out);
        if (r < 0)
                return r;
        for (size_t i = 0; i < topology->n_nodes; i++)
                nodeset_add(&nids, topology->nodes[i].nid);
        r = scrape_nodes(sysfs, &nids, NULL, job_now_us(), &sample);
        if (r < 0)
                return r;
        if (ours) {
                r = damonfs_read(sysfs, caps, job_sleep_us, &present);
                if (r < 0)
                        return r;
        }
        DecideInput input = {
                .config = config,
                .topology = topology,
                .caps = caps,
                .sample = &sample,
                .present = ours ? &present : NULL,
                .now_us = sample.now_us,
        };
        r = decide(&input, &state, NULL, &decision);
        if (r < 0)
                return r;
        r = plan_build(config, topology, caps, &decision, &plan, &text);
        if (r < 0) {
                print_event(out, report_unsupported(text ? text : strerror(-r)));
                return -EBUSY;
        }
        print_event(out, report_features(caps, decision.by_kernel));
        for (size_t k = 0; k < plan.tree.n_kdamonds; k++)
                for (size_t s = 0; plan.kdamonds[k].slice == 0 && s < plan.kdamonds[k].n_schemes;
                     s++)
                        print_event(out, report_pair(config, topology, &decision,
                                                     &plan.kdamonds[k].schemes[s]));
        r = 0;
        for (Knob knob = 0; r >= 0 && knob < _KNOB_MAX; knob++)
                if (job->knobs & knobs_wanted(config) & KNOB_BIT(knob))
                        r = knob_turn(knob, /* ours= */ true, &ops);
        if (r >= 0)
                r = diff_trees(&present, &plan.tree, caps, &ops);
        if (r < 0)
                return r;
        print_ops(&ops, out);
        return 0;
}

int dryrun(Sysfs *sysfs, const char *run_dir, const Config *config, FILE *out) {
        _cleanup_(job_freep) Job *job = job_new(JOB_PREPARE);
        _cleanup_(record_done) Record record = {};
        _cleanup_(topology_freep) Topology *topology = NULL;
        _cleanup_(freep) char *text = NULL;
        bool ours;
        int r;

        if (!job)
                return -ENOMEM;
        job_run(job, sysfs);
        if (job->result < 0)
                return job->result;
        (void) runfile_read_record(run_dir, &record); /* without one nothing is ours */
        ours = record_matches(&record, &job->tree);

        r = topology_build(&job->facts, config, &topology, &text);
        if (r < 0) {
                print_event(out, report_unsupported(text ? text : strerror(-r)));
                return -EBUSY;
        }
        print_event(out, report_tiers(topology));
        for (size_t i = 0; i < topology->n_tiers; i++)
                print_event(out, report_tier(topology, i));
        if (topology_count_monitored(topology) == 0) {
                print_event(out, report_idle(topology));
                return 0;
        }
        if (!job->has_damon) {
                print_event(out, report_unsupported("this kernel has no DAMON sysfs interface"));
                return -EBUSY;
        }
        r = print_blockers(job, ours, config, out);
        if (r < 0)
                return r;
        return print_plan(sysfs, job, ours, config, topology, out);
}
