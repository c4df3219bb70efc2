/* SPDX-License-Identifier: GPL-2.0-or-later */

/* A log event as a value: core/ can compute what is to be said, tests can compare it, and only the
 * sink knows where it goes. No syslog, no journal, no stderr here. */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/event.h"
#include "base/macro.h"

/* The journal takes names of 64 characters; the sink puts DAMON_TIERD_ in front. */
#define FIELD_NAME_MAX 40U

Event *event_new(int priority, const char *message_id, const char *fmt, ...) {
        _cleanup_(event_freep) Event *event = NULL;
        va_list ap;
        int r;

        event = malloc(sizeof(*event));
        if (!event)
                return NULL;

        *event = (Event){.priority = priority, .message_id = message_id};

        va_start(ap, fmt);
        r = vasprintf(&event->message, fmt, ap);
        va_end(ap);
        if (r < 0) {
                event->message = NULL;
                return NULL;
        }

        return TAKE_PTR(event);
}

Event *event_free(Event *event) {
        if (!event)
                return NULL;

        for (size_t i = 0; i < event->n_fields; i++) {
                free(event->fields[i].name);
                free(event->fields[i].value);
        }

        free(event->fields);
        free(event->message);
        free(event);
        return NULL;
}

static bool name_is_valid(const char *name) {
        size_t len = strlen(name);

        return len > 0 && len <= FIELD_NAME_MAX &&
               strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == len;
}

static EventField *find_field(const Event *event, const char *name) {
        for (size_t i = 0; i < event->n_fields; i++)
                if (strcmp(event->fields[i].name, name) == 0)
                        return &event->fields[i];

        return NULL;
}

/* Takes ownership of @value on success. */
static int set_field_consume(Event *event, const char *name, char *value) {
        _cleanup_(freep) char *copy = NULL;
        EventField *field;
        int r;

        field = find_field(event, name);
        if (field) {
                free(field->value);
                field->value = value;
                return 0;
        }

        copy = strdup(name);
        if (!copy)
                return -ENOMEM;

        r = ARRAY_GROW(event->fields, event->n_alloc, event->n_fields + 1);
        if (r < 0)
                return r;

        event->fields[event->n_fields++] = (EventField){.name = TAKE_PTR(copy), .value = value};
        return 0;
}

int event_add(Event *event, const char *name, const char *fmt, ...) {
        _cleanup_(freep) char *value = NULL;
        va_list ap;
        int r;

        if (!event)
                return -ENOMEM;

        if (!name_is_valid(name))
                return -EINVAL;

        va_start(ap, fmt);
        r = vasprintf(&value, fmt, ap);
        va_end(ap);
        if (r < 0) {
                value = NULL;
                return -ENOMEM;
        }

        r = set_field_consume(event, name, value);
        if (r < 0)
                return r;

        value = NULL;
        return 0;
}

const char *event_get(const Event *event, const char *name) {
        const EventField *field = find_field(event, name);

        return field ? field->value : NULL;
}

void event_emit(const EventSink *sink, const Event *event) {
        if (sink && sink->emit && event)
                sink->emit(sink->userdata, event);
}
