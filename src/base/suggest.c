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
        unsigned rows[3][WORD_MAX + 1]; /* of the classic table; row i is rows[i % 3] */
        size_t len_a = strlen(a), len_b = strlen(b);

        if (len_a > WORD_MAX || len_b > WORD_MAX)
                return UINT_MAX;

        for (unsigned j = 0; j <= len_b; j++)
                rows[0][j] = j;

        for (unsigned i = 1; i <= len_a; i++) {
                unsigned *row = rows[i % 3];
                const unsigned *before = rows[(i + 2) % 3], *two_before = rows[(i + 1) % 3];

                row[0] = i;
                for (unsigned j = 1; j <= len_b; j++) {
                        char x = lower(a[i - 1]), y = lower(b[j - 1]);

                        row[j] = before[j - 1] + (x != y);
                        row[j] = MIN(row[j], before[j] + 1);
                        row[j] = MIN(row[j], row[j - 1] + 1);
                        if (i > 1 && j > 1 && x == lower(b[j - 2]) && lower(a[i - 2]) == y)
                                row[j] = MIN(row[j], two_before[j - 2] + 1);
                }
        }

        return rows[len_a % 3][len_b];
}

void suggest_offer(Suggest *suggest, const char *candidate) {
        size_t tolerated = MAX(strlen(suggest->word) / 3, (size_t) 1);
        unsigned distance = suggest_distance(suggest->word, candidate);

        if (distance > tolerated || (suggest->nearest && distance >= suggest->distance))
                return;

        suggest->nearest = candidate;
        suggest->distance = distance;
}
