/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "base/macro.h"

/* One structured log event. Journal field names are given without the DAMON_TIERD_ prefix, which
 * the sink adds. Priorities are syslog's (LOG_ERR, LOG_INFO, ...). */

typedef struct EventField {
        char *name;
        char *value;
} EventField;

typedef struct Event {
        int priority;
        const char *message_id; /* 32 hexadecimal digits, static storage; NULL for none */
        char *message;
        EventField *fields;
        size_t n_fields;
        size_t n_alloc;
} Event;

/* Where events go. The sink borrows the event for the time of the call. */
typedef struct EventSink {
        void (*emit)(void *userdata, const Event *event);
        void *userdata;
} EventSink;

/* NULL only without memory. Owned by the caller. */
Event *event_new(int priority, const char *message_id, const char *fmt, ...) _printf_(3, 4);
Event *event_free(Event *event);
DEFINE_FREEP(Event, event_free)

/* Add a field; @event may be NULL (then -ENOMEM), so that callers check once at the end. Name:
 * A-Z, 0-9 and '_', at most 40 characters, else -EINVAL. A name that is there is replaced. */
int event_add(Event *event, const char *name, const char *fmt, ...) _printf_(3, 4);

/* NULL when absent. */
const char *event_get(const Event *event, const char *name);

void event_emit(const EventSink *sink, const Event *event);
