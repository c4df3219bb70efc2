/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Sets of NUMA node ids as fixed bit maps, because every room passes them by value and a set that
 * cannot fail to be copied needs no error path. Reading the text form is base/parse's work. */

#include <stdio.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/nodeset.h"

void nodeset_add(NodeSet *s, int nid) {
        if (nid >= 0 && nid < NODES_MAX)
                s->bits[nid / 64] |= UINT64_C(1) << (nid % 64);
}

void nodeset_remove(NodeSet *s, int nid) {
        if (nid >= 0 && nid < NODES_MAX)
                s->bits[nid / 64] &= ~(UINT64_C(1) << (nid % 64));
}

bool nodeset_is_empty(const NodeSet *s) {
        for (size_t i = 0; i < ELEMENTSOF(s->bits); i++)
                if (s->bits[i] != 0)
                        return false;

        return true;
}

bool nodeset_equal(const NodeSet *a, const NodeSet *b) {
        for (size_t i = 0; i < ELEMENTSOF(a->bits); i++)
                if (a->bits[i] != b->bits[i])
                        return false;

        return true;
}

bool nodeset_intersects(const NodeSet *a, const NodeSet *b) {
        for (size_t i = 0; i < ELEMENTSOF(a->bits); i++)
                if (a->bits[i] & b->bits[i])
                        return true;

        return false;
}

unsigned nodeset_count(const NodeSet *s) {
        unsigned n = 0;

        for (size_t i = 0; i < ELEMENTSOF(s->bits); i++)
                n += (unsigned) __builtin_popcountll(s->bits[i]);

        return n;
}

int nodeset_next(const NodeSet *s, int from) {
        int nid = MAX(from, 0);

        while (nid < NODES_MAX) {
                uint64_t rest = s->bits[nid / 64] >> (nid % 64);

                if (rest != 0)
                        return nid + __builtin_ctzll(rest);

                nid = (nid / 64 + 1) * 64;
        }

        return NODE_NONE;
}

char *nodeset_to_string(const NodeSet *s) {
        char *text = NULL;
        size_t size = 0;
        const char *separator = "";
        FILE *f;

        f = open_memstream(&text, &size);
        if (!f)
                return NULL;

        for (int first = nodeset_next(s, 0); first != NODE_NONE;) {
                int last = first;

                while (nodeset_has(s, last + 1))
                        last++;

                if (first == last)
                        fprintf(f, "%s%d", separator, first);
                else
                        fprintf(f, "%s%d-%d", separator, first, last);

                separator = ",";
                first = nodeset_next(s, last + 1);
        }

        if (fclose(f) != 0) {
                free(text);
                return NULL;
        }

        return text;
}
