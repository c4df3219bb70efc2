/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>

#include "core/config-build.h"

/* The checks across keys. Problems are added to the builder's; a report interval that nobody set
 * is raised to the interval. 0, also with problems; -ENOMEM. */
int config_check(ConfigBuilder *b, const ConfigAssignment *assignments, size_t n_assignments);
