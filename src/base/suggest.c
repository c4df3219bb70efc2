/* SPDX-License-Identifier: GPL-2.0-or-later */

/* "Did you mean": which known word did a mistyped one stand for? Only measures; the callers know
 * the words and put the question. */

#include <limits.h>
#include <string.h>

#include "base/macro.h"
#include "base/suggest.h"

#define WORD_MAX 64U

static char lower(char c) {
        return c >= 'A' && c <= 'Z' ? (char) (c - 'A' + 'a') : c;
}

unsigned suggest_distance(const char *a, const char *b) {
        /* Rows of the classic table: [0] for the prefix of @a before the last, [1] for the last,
         * [2] for the present one. */
        unsigned rows[3][WORD_MAX + 1];
        size_t len_a = strlen(a), len_b = strlen(b);

        if (len_a > WORD_MAX || len_b > WORD_MAX)
                return UINT_MAX;

        for (unsigned j = 0; j <= len_b; j++)
                rows[0][j] = rows[1][j] = j;

        for (unsigned i = 1; i <= len_a; i++) {
                rows[2][0] = i;
                for (unsigned j = 1; j <= len_b; j++) {
                        char x = lower(a[i - 1]), y = lower(b[j - 1]);
                        unsigned n = rows[1][j - 1] + (x != y);

                        n = MIN(n, rows[1][j] + 1);
                        n = MIN(n, rows[2][j - 1] + 1);
                        if (i > 1 && j > 1 && x == lower(b[j - 2]) && lower(a[i - 2]) == y)
                                n = MIN(n, rows[0][j - 2] + 1);
                        rows[2][j] = n;
                }
                memcpy(rows[0], rows[1], sizeof(rows[0]));
                memcpy(rows[1], rows[2], sizeof(rows[1]));
        }

        return rows[1][len_b];
}

void suggest_offer(Suggest *suggest, const char *candidate) {
        size_t tolerated = MAX(strlen(suggest->word) / 3, (size_t) 1);
        unsigned distance = suggest_distance(suggest->word, candidate);

        if (distance > tolerated || (suggest->nearest && distance >= suggest->distance))
                return;

        suggest->nearest = candidate;
        suggest->distance = distance;
}
