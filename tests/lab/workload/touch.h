/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "set.h"

/* How sets are used: one thread for each set with "touch". */

void touch_start(struct set *set);
void touch_stop(struct set *set);

/* Move the window of a set, if it has one, to pages that were not in use, and of these to where
 * most are off the set's node. */
void touch_jump(struct set *set);
