/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>

/* Insertions, deletions, replacements and swaps of neighbours that turn @a into @b, letters of
 * either case being the same. Words beyond 64 bytes are as far apart as can be: UINT_MAX. */
unsigned suggest_distance(const char *a, const char *b);

/* Keep the nearest of several candidates, for "did you mean"; start with {.word = word}. A
 * candidate that differs in more than a third of the word is no help and not kept. Borrows. */
typedef struct Suggest {
        const char *word;
        const char *nearest; /* NULL while there is none */
        unsigned distance;
} Suggest;

void suggest_offer(Suggest *suggest, const char *candidate);
