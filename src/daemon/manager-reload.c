/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Another configuration, or the old one: a reload that can't be carried out leaves everything as it
 * was, whether the text is wrong, names what the machine does not have, or the kernel refuses it.
 */

#include <syslog.h>

#include <systemd/sd-daemon.h>

#include "core/report.h"
#include "manager-internal.h"

static void end_reload(Manager *m) {
        m->reloading = false;
        (void) sd_notify(/* unset_environment= */ 0, "READY=1");
}

void manager_reload(Manager *m) {
        _cleanup_(config_problems_done) ConfigProblems problems = {};
        Config *config = NULL;
        int r;

        m->reload_pending = false;
        (void) sd_notifyf(/* unset_environment= */ 0, "RELOADING=1\nMONOTONIC_USEC=%llu",
                          (unsigned long long) job_now_us());
        r = m->params->load_config(m->params->userdata, &problems, &config);
        manager_say_problems(m, &problems);
        if (r < 0) {
                manager_say(m, report_config_kept(problems.n_errors));
                return end_reload(m);
        }
        config_free(m->old_config);
        m->old_config = m->config;
        m->old_phase = m->phase;
        m->config = config;
        m->reloading = true;
        (void) sd_event_source_set_enabled(m->timer, SD_EVENT_OFF);
        manager_prepare(m);
}

void manager_keep_old(Manager *m, bool kernel_is_changed) {
        manager_say(m, report_config_kept(1));
        config_free(m->config);
        m->config = TAKE_PTR(m->old_config);
        m->residual_tries = 0;
        end_reload(m);
        if (kernel_is_changed)
                return manager_prepare(m); /* what was written is taken back by the old plan */
        m->phase = m->old_phase;
        manager_set_timer(m, manager_tick_us(m));
}
