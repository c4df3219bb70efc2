/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"

/* The files of DAMON's sysfs tree, as a kernel of a given rung has them: names, modes, defaults,
 * what a store accepts, and counts that destroy and rebuild the directories beside them. What the
 * files mean is fakedamon's. */

typedef enum FakeRung {
        FAKE_6_12,
        FAKE_6_16,
        FAKE_6_17,
        FAKE_6_18,
        FAKE_6_19,
        FAKE_7_0,
        FAKE_7_1,
        FAKE_7_2,
        FAKE_7_3,
        _FAKE_RUNG_MAX,
} FakeRung;

/* "6.12" */
const char *fake_rung_to_string(FakeRung rung);

typedef enum FakeType {
        FAKE_COUNT, /* nr_kdamonds and its kind */
        FAKE_INT,
        FAKE_UINT,
        FAKE_ULONG,
        FAKE_BOOL,
        FAKE_ENUM,
        FAKE_STRING,
        FAKE_STATE,
        FAKE_PID,
        FAKE_RESULT, /* 0400: only the kernel changes it */
} FakeType;

typedef struct FakeWord {
        const char *word;
        FakeRung since;
} FakeWord;

typedef struct FakeAttr {
        const char *path; /* below admin/, with '*' for the numbered directories */
        FakeType type;
        const char *initial;
        FakeRung since;
        bool lax;    /* the store turns every error into EINVAL */
        bool locked; /* takes the tree's one lock to read as well (counts: to write only) */
        uint64_t min;
        uint64_t max;          /* 0: no bound */
        const FakeWord *words; /* ends with a NULL word */
} FakeAttr;

typedef struct FakeNode FakeNode;

struct FakeNode {
        char *name;
        FakeNode *parent;
        FakeNode **children; /* of a directory */
        size_t n_children;
        size_t n_alloc;
        const FakeAttr *attr; /* NULL: a directory */
        char *value;          /* as it is read, without the newline */
        void *data;           /* fakedamon's, in a numbered directory of kdamonds/ */
        void (*data_free)(void *data);
};

/* All of these end the program without memory. */
FakeNode *faketree_new(FakeRung rung);
FakeNode *faketree_free(FakeNode *node);

/* NULL when absent. */
FakeNode *faketree_find(FakeNode *node, const char *path);

/* The value of a file that must be there. */
const char *faketree_value(FakeNode *node, const char *path);
uint64_t faketree_number(FakeNode *node, const char *path);

void faketree_set(FakeNode *file, const char *value);
void _printf_(2, 3) faketree_setf(FakeNode *file, const char *fmt, ...);

/* A detached copy, without data. */
FakeNode *faketree_clone(const FakeNode *node);

/* Puts @node, detached, in the place of @old, which is freed. */
void faketree_replace(FakeNode *old, FakeNode *node);

/* The directory's numbered children: how many, and which. */
size_t faketree_count(FakeNode *dir, const char *path);
FakeNode *faketree_child(FakeNode *dir, const char *path, size_t i);

/* Adds the numbered directory with its files, as a count's store does. */
FakeNode *faketree_add_numbered(FakeRung rung, FakeNode *dir, size_t number);
void faketree_remove_numbered(FakeNode *dir);

/* What the store of @file would answer and, if it is 0, does. Counts rebuild; locks, state words
 * and exclusion are not looked at. */
int faketree_store(FakeRung rung, FakeNode *file, const char *value);

unsigned faketree_mode(const FakeAttr *attr);

/* "kdamonds/0/contexts/0/..." */
char *faketree_path(const FakeNode *node);

/* As lib/kstrtox.c does. */
int fake_kstrtobool(const char *s, bool *ret);
