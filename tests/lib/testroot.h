/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "base/macro.h"

/* A directory that stands for "/" in a test. Paths are relative to it. Everything here ends the
 * test program on failure: a test has no use for half a root. */

typedef struct TestRoot TestRoot;

/* Below TMPDIR, else /tmp; removed with all that is in it by testroot_free(). */
TestRoot *testroot_new(void);
TestRoot *testroot_free(TestRoot *root);
DEFINE_FREEP(TestRoot, testroot_free)

const char *testroot_path(const TestRoot *root);

/* Directories above are made as needed; what is there is replaced. */
void testroot_file(TestRoot *root, const char *path, unsigned mode, const char *text);
void testroot_link(TestRoot *root, const char *path, const char *target);
void testroot_dir(TestRoot *root, const char *path);

/* A file, a link, or a directory with all that is in it. */
void testroot_remove(TestRoot *root, const char *path);

/* 0 when @path may be the root of a test that writes, -EPERM for "/" by any of its names. */
int testroot_check(const char *path);
