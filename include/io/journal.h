/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/event.h"

/* Sinks for events. libsystemd's journal calls live only here. */

/* To the journal, all fields with the prefix DAMON_TIERD_. */
EventSink journal_sink(void);

/* One line per event, "<priority>" in front as sd-daemon(3) has it when @with_prefix. */
EventSink journal_stderr_sink(bool with_prefix);

/* The journal when it is what stderr is connected to ($JOURNAL_STREAM), else stderr. */
EventSink journal_default_sink(void);

/* For tests: keeps copies. */
typedef struct JournalMemory {
        Event **events;
        size_t n_events;
        size_t n_alloc;
} JournalMemory;

EventSink journal_memory_sink(JournalMemory *memory);
void journal_memory_done(JournalMemory *memory);
/* The last event with @message_id, or NULL. Borrowed. */
const Event *journal_memory_find(const JournalMemory *memory, const char *message_id);
