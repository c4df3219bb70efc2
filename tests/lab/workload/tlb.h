/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* Keeps the emulated CPUs' translation caches as short-lived as those of real ones are small.
 * Starts a process per CPU, which ends with the caller. To be called before there are threads. */
void tlb_keep_small(void);
