/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>

/* Make room for @need items of @item bytes in *items (owned by the caller, freed with free()).
 * New items are zeroed; *n_alloc is updated. 0, -ENOMEM, or -E2BIG when the size overflows; on
 * error nothing changes. */
int array_reserve(void *items, size_t *n_alloc, size_t need, size_t item);

/* ARRAY_GROW(items, n_alloc, need): type-safe front end of array_reserve(). */
#define ARRAY_GROW(items, n_alloc, need) \
        array_reserve(&(items), &(n_alloc), (need), sizeof(*(items)))
