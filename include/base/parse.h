/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/nodeset.h"

/* Strict text to value. All parse_*() take the whole string: no leading or trailing blanks, no
 * sign, no locale, no octal or hexadecimal. 0 on success; -EINVAL for text that is not of the
 * kind, -ERANGE for a value that does not fit. *ret is written only on success. */

int parse_u64(const char *s, uint64_t *ret);
int parse_u32(const char *s, uint32_t *ret);
int parse_int(const char *s, int *ret);          /* the only one that takes a leading '-' */
int parse_hex_u64(const char *s, uint64_t *ret); /* hexadecimal without "0x", as block_size_bytes */

/* "yes" "no" "true" "false" "on" "off" "1" "0" "y" "n" "t" "f", any case (as systemd). */
int parse_bool(const char *s, bool *ret);

/* Bytes. A decimal number, at most four fraction digits (rounded down to a byte), and a unit of
 * base 1024: B K M G T P (also KiB, MiB, ...); "0" needs no unit, others do. "1.5G" */
int parse_size(const char *s, uint64_t *ret_bytes);

/* Bytes per second: a size followed by "/s". "200M/s" */
int parse_rate(const char *s, uint64_t *ret_bytes_per_s);

/* Microseconds. Numbers with unit: us ms s min h d; several may follow each other, larger units
 * first: "1min 30s". "0" needs no unit. */
int parse_duration(const char *s, uint64_t *ret_us);

/* Basis points, 0..10000. "5%", "0.25%", "50bp"; "0" needs no unit. */
int parse_ratio(const char *s, uint32_t *ret_bp);

/* The kernel's list form "0-3,7"; the empty string is the empty set. */
int parse_nodeset(const char *s, NodeSet *ret);
/* How many numbers such a list has, whatever they are. */
int parse_list_count(const char *s, uint32_t *ret);

/* The inverse, exact: parse_x(format_x(v)) == v. Allocated; NULL without memory. */
char *format_size(uint64_t bytes);       /* "200M", "1536K", "4097B" */
char *format_rate(uint64_t bytes_per_s); /* "200M/s" */
char *format_duration(uint64_t us);      /* "1min 30s" */
char *format_ratio(uint32_t bp);         /* "5%", "0.25%" */

/* For people, rounded: "1.5 GiB", "300 MiB", "0 B". Allocated; NULL without memory. */
char *format_size_human(uint64_t bytes);
