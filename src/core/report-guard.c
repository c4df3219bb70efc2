/* SPDX-License-Identifier: GPL-2.0-or-later */

/* What the guard did, in words and numbers. */

#include <stdio.h>
#include <syslog.h>

#include "base/parse.h"
#include "core/message.h"
#include "report-internal.h"

/* The reason, with its numbers. Allocated. */
static char *reason_text(const Topology *topology, const GuardEvent *what) {
        _cleanup_(freep) char *a = format_size_human(what->numbers[0]);
        _cleanup_(freep) char *b = format_size_human(what->numbers[1]);
        unsigned long long seconds = what->period_us / 1000000;
        char *text = NULL;
        int n = -1;

        if (!a || !b)
                return NULL;
        switch (what->kind) {
        case GUARD_PRESSURE:
                if (what->numbers[1] == 0) { /* by a reload, or the group is gone */
                        n = asprintf(&text, "Memory pressure is not watched any more");
                        break;
                }
                n = asprintf(&text,
                             "Tasks waited for memory %llu.%llu%% of the last %llu s (limit "
                             "%llu.%llu%%)",
                             (unsigned long long) what->numbers[0] / 10,
                             (unsigned long long) what->numbers[0] % 10, seconds,
                             (unsigned long long) what->numbers[1] / 10,
                             (unsigned long long) what->numbers[1] % 10);
                break;
        case GUARD_FAILURES:
                n = asprintf(&text, "Of %s that node %i wanted to %s in %llu s, %s found a place",
                             a, what->nid, direction_to_string(what->direction), seconds, b);
                break;
        case GUARD_PING_PONG:
                n = asprintf(&text, "Node %i took %s in and gave %s away in %llu s", what->nid, a,
                             b, seconds);
                break;
        case GUARD_BUDGET:
                if (what->numbers[1] == 0) /* by a reload */
                        n = asprintf(&text, "Tier %zu (%s) has no daily budget any more",
                                     what->tier, topology->tiers[what->tier].name);
                else
                        n = asprintf(&text,
                                     "Tier %zu (%s) was written %s of its daily budget of %s",
                                     what->tier, topology->tiers[what->tier].name, a, b);
                break;
        case _GUARD_KIND_MAX:
                break;
        }
        return n < 0 ? NULL : text;
}

/* What follows from it. Allocated. */
static char *effect_text(const GuardEvent *what) {
        char *text = NULL;
        int n;

        if (what->kind == GUARD_BUDGET)
                n = asprintf(&text, "%s",
                             what->level > 0 ? "nothing moves there until some of it is back"
                                             : "pages may move there again");
        else if (what->kind == GUARD_PING_PONG && what->level > 0)
                n = asprintf(&text,
                             "only memory in use %u times as much as else enters it from now on, "
                             "and only memory idle for %llu s leaves it",
                             what->access_factor,
                             (unsigned long long) (what->min_age_us / 1000000));
        else if (what->kind == GUARD_PING_PONG)
                n = asprintf(&text, "any cold memory may leave it again, and any hot memory enter");
        else
                n = asprintf(
                        &text,
                        what->level > 0 ? "%s slows down to 1/%u" : "%s is at full speed again",
                        what->kind == GUARD_PRESSURE ? "promotion" : "that", 1U << what->level);
        return n < 0 ? NULL : text;
}

Event *report_guard(const Topology *topology, const GuardEvent *what) {
        _cleanup_(freep) char *reason = reason_text(topology, what), *effect = effect_text(what);
        bool ends = what->level == 0;
        Event *event;
        int r;

        if (!reason || !effect)
                return NULL;
        event = event_new(what->level > what->before ? LOG_WARNING : LOG_NOTICE,
                          ends ? MESSAGE_BACKOFF_END : MESSAGE_BACKOFF, "%s: %s", reason, effect);
        r = event_add(event, "REASON", "%s", guard_kind_to_string(what->kind));
        if (r >= 0)
                r = event_add(event, "LEVEL", "%u", what->level);
        if (r >= 0)
                r = event_add(event, "BEFORE", "%u", what->before);
        if (r >= 0 && what->nid >= 0)
                r = event_add(event, "NODE", "%i", what->nid);
        if (r >= 0 && what->kind == GUARD_BUDGET)
                r = event_add(event, "TIER", "%zu", what->tier);
        if (r >= 0 && what->kind == GUARD_FAILURES)
                r = event_add(event, "DIRECTION", "%s", direction_to_string(what->direction));
        if (r >= 0)
                r = event_add(event, "NUMBERS", "%llu %llu", (unsigned long long) what->numbers[0],
                              (unsigned long long) what->numbers[1]);
        if (r >= 0)
                r = event_add(event, "PERIOD_USEC", "%llu", (unsigned long long) what->period_us);
        if (r >= 0)
                return event;
        return event_free(event);
}
