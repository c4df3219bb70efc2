/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What libFuzzer calls, and replay.c in its place. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An assert() that also holds with NDEBUG. */
#define FUZZ_CHECK(expr)                                                                   \
        do {                                                                               \
                if (!(expr)) {                                                             \
                        fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #expr); \
                        abort();                                                           \
                }                                                                          \
        } while (0)

/* The input as a NUL-terminated string of its own; NULL when it has a NUL inside. */
static inline char *fuzz_string(const uint8_t *data, size_t size) {
        if (size > 0 && memchr(data, '\0', size))
                return NULL;

        return size > 0 ? strndup((const char *) data, size) : strdup("");
}
