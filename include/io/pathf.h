/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdarg.h>
#include <stdio.h>

#include "base/macro.h"

/* Paths below DAMON's tree are short and bounded; built on the stack, without a check at each. */
#define PATHF_MAX 512

/* Returns @buf. A path that does not fit becomes "", which io/sysfs refuses. */
_printf_(2, 3) static inline const char *pathf(char buf[static PATHF_MAX], const char *fmt, ...) {
        va_list ap;
        int n;

        va_start(ap, fmt);
        n = vsnprintf(buf, PATHF_MAX, fmt, ap);
        va_end(ap);
        if (n < 0 || n >= PATHF_MAX)
                buf[0] = '\0';
        return buf;
}
