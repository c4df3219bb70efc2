/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

/* Run a destructor when a variable leaves its scope; every such variable must be initialised. */
#define _cleanup_(f) __attribute__((cleanup(f)))
#define _printf_(fmt, args) __attribute__((format(printf, fmt, args)))
#define _unused_ __attribute__((unused))

#define ELEMENTSOF(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define CLAMP(x, lo, hi) MIN(MAX((x), (lo)), (hi))

/* Hand an owned value over: the variable is emptied, so its cleanup does nothing. */
#define TAKE_PTR(p)                     \
        ({                              \
                typeof(p) _taken = (p); \
                (p) = NULL;             \
                _taken;                 \
        })

#define TAKE_FD(fd)                   \
        ({                            \
                int _taken_fd = (fd); \
                (fd) = -1;            \
                _taken_fd;            \
        })

/* Define x_freep() for use with _cleanup_, from x_free(), which takes NULL and returns NULL. */
#define DEFINE_FREEP(type, func)               \
        static inline void func##p(type **p) { \
                if (*p)                        \
                        func(*p);              \
        }

static inline void freep(void *p) {
        free(*(void **) p);
}

static inline void closep(const int *fd) {
        if (*fd >= 0)
                (void) close(*fd); /* nothing could be done about an error here */
}
