/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The one place where arrays grow, so that overflow and zeroing are right everywhere. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/macro.h"

int array_reserve(void *items, size_t *n_alloc, size_t need, size_t item) {
        void *old, *grown;
        size_t n, bytes;

        if (need <= *n_alloc)
                return 0;

        n = MAX(need, *n_alloc < 8 ? (size_t) 8 : *n_alloc);
        if (n < need + need / 2)
                n = need + need / 2;
        if (n < need || __builtin_mul_overflow(n, item, &bytes))
                return -E2BIG;

        memcpy(&old, items, sizeof(old)); /* the pointer may have any object type */
        grown = realloc(old, bytes);
        if (!grown)
                return -ENOMEM;

        memset((char *) grown + *n_alloc * item, 0, bytes - *n_alloc * item);
        memcpy(items, &grown, sizeof(grown));
        *n_alloc = n;
        return 0;
}
