/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Where events end up. A sink must not fail its caller: what can't be sent is dropped, as the
 * journal itself does. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <systemd/sd-journal.h>

#include "base/array.h"
#include "io/journal.h"

static int add_iovec(struct iovec **iov, size_t *n, size_t *n_alloc, const char *prefix,
                     const char *name, const char *value) {
        char *text = NULL;
        int r;

        r = array_reserve(iov, n_alloc, *n + 1, sizeof(**iov));
        if (r < 0)
                return r;
        r = asprintf(&text, "%s%s=%s", prefix, name, value);
        if (r < 0)
                return -ENOMEM;
        (*iov)[(*n)++] = (struct iovec){.iov_base = text, .iov_len = (size_t) r};
        return 0;
}

static void emit_journal(void *userdata, const Event *event) {
        struct iovec *iov = NULL;
        size_t n = 0, n_alloc = 0;
        char priority[2] = {(char) ('0' + (event->priority & 7)), '\0'};

        (void) userdata;
        (void) add_iovec(&iov, &n, &n_alloc, "", "MESSAGE", event->message);
        (void) add_iovec(&iov, &n, &n_alloc, "", "PRIORITY", priority);
        (void) add_iovec(&iov, &n, &n_alloc, "", "SYSLOG_IDENTIFIER", "damon-tierd");
        if (event->message_id)
                (void) add_iovec(&iov, &n, &n_alloc, "", "MESSAGE_ID", event->message_id);
        for (size_t i = 0; i < event->n_fields; i++)
                (void) add_iovec(&iov, &n, &n_alloc, "DAMON_TIERD_", event->fields[i].name,
                                 event->fields[i].value);
        (void) sd_journal_sendv(iov, (int) n);
        for (size_t i = 0; i < n; i++)
                free(iov[i].iov_base);
        free(iov);
}

EventSink journal_sink(void) {
        return (EventSink){.emit = emit_journal};
}

static void emit_stderr(void *userdata, const Event *event) {
        if (userdata)
                (void) fprintf(stderr, "<%i>%s\n", event->priority & 7, event->message);
        else
                (void) fprintf(stderr, "%s\n", event->message);
}

EventSink journal_stderr_sink(bool with_prefix) {
        static char yes; /* only its address is used */

        return (EventSink){.emit = emit_stderr, .userdata = with_prefix ? &yes : NULL};
}

EventSink journal_default_sink(void) {
        const char *stream = getenv("JOURNAL_STREAM");
        unsigned long long dev, ino;
        struct stat st;
        char *end;

        if (!stream || fstat(STDERR_FILENO, &st) < 0)
                return journal_stderr_sink(/* with_prefix= */ false);
        dev = strtoull(stream, &end, 10);
        if (*end != ':')
                return journal_stderr_sink(/* with_prefix= */ false);
        ino = strtoull(end + 1, &end, 10);
        if (*end != '\0' || dev != st.st_dev || ino != st.st_ino)
                return journal_stderr_sink(/* with_prefix= */ false);
        return journal_sink();
}

static void emit_memory(void *userdata, const Event *event) {
        JournalMemory *memory = userdata;
        Event *copy;

        if (ARRAY_GROW(memory->events, memory->n_alloc, memory->n_events + 1) < 0)
                return;
        copy = event_new(event->priority, event->message_id, "%s", event->message);
        for (size_t i = 0; i < event->n_fields; i++)
                (void) event_add(copy, event->fields[i].name, "%s", event->fields[i].value);
        if (copy)
                memory->events[memory->n_events++] = copy;
}

EventSink journal_memory_sink(JournalMemory *memory) {
        return (EventSink){.emit = emit_memory, .userdata = memory};
}

void journal_memory_done(JournalMemory *memory) {
        for (size_t i = 0; i < memory->n_events; i++)
                event_free(memory->events[i]);
        free(memory->events);
        *memory = (JournalMemory){};
}

const Event *journal_memory_find(const JournalMemory *memory, const char *message_id) {
        for (size_t i = memory->n_events; i > 0; i--) {
                const Event *event = memory->events[i - 1];

                if (event->message_id && strcmp(event->message_id, message_id) == 0)
                        return event;
        }
        return NULL;
}
