/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "testroot.h"

/* A machine captured by tests/fixtures/capture.sh as a test's root: fixture_new("two") lays
 * tests/fixtures/two.txt out. Ends the test program on failure. */
TestRoot *fixture_new(const char *name);
