/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "core/report.h"

/* What all files of the room need. */

/* The event, or NULL after it was freed when one of its fields could not be added. */
Event *report_done(Event *event, int r);
int report_add_u64(Event *event, const char *name, uint64_t value);
