/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* End the program: what failed, and why. The lab's programs survive nothing. */
static inline _Noreturn void die(const char *what) {
        fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
        exit(EXIT_FAILURE);
}
