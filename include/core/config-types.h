/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "core/config.h"

/* Reading and writing the value of a key, by its type. @base is the Policy, TierConfig,
 * Monitoring, GuardConfig or ManagerConfig that the key's section stands for. */

/* Read @value into the key's field. 0; -EINVAL when it is not of the type; -ERANGE when it is, but
 * out of range. The field is written only on success. */
int config_key_parse(const ConfigKeyInfo *key, const char *value, void *base);

/* The inverse: a text that config_key_parse() reads back exactly. Allocated; NULL without memory.
 */
char *config_key_format(const ConfigKeyInfo *key, const void *base);

/* For messages: "a duration" and "e.g. '5s'". */
const char *config_key_noun(const ConfigKeyInfo *key);
const char *config_key_hint(const ConfigKeyInfo *key);

/* For messages and documents: "1s to 1h". "" where the type has no range. Allocated. */
char *config_key_range(const ConfigKeyInfo *key);

/* What a value of a type is called, and an example of one, in messages and in the table. */
#define NOUN_BOOL "a boolean"
#define HINT_BOOL "'yes' or 'no'"
#define NOUN_COUNT "a number"
#define HINT_COUNT "e.g. '3'"
#define NOUN_AUTO_COUNT "a number"
#define HINT_AUTO_COUNT "'auto' or e.g. '16'"
#define NOUN_RATIO "a ratio"
#define HINT_RATIO "e.g. '5%'"
#define NOUN_RATE "a rate"
#define HINT_RATE "e.g. '400M/s'"
#define NOUN_DURATION "a duration"
#define HINT_DURATION "e.g. '5s'"
#define NOUN_HEADROOM "a headroom"
#define HINT_HEADROOM "'auto', a size, e.g. '2G', or a ratio, e.g. '5%'"
#define NOUN_DESTINATION "a destination"
#define HINT_DESTINATION "'auto', 'none' or a node list, e.g. '0-1'"
#define NOUN_NODES "a node list"
#define HINT_NODES "e.g. '0-3,7'"
#define NOUN_AT_EXIT "a choice"
#define HINT_AT_EXIT "'restore' or 'keep'"
#define NOUN_FOREIGN_KDAMONDS "a choice"
#define HINT_FOREIGN_KDAMONDS "'refuse' or 'wait'"
#define NOUN_DAMON_STAT "a choice"
#define HINT_DAMON_STAT "'suspend' or 'refuse'"
#define NOUN_BUDGET "a budget"
#define HINT_BUDGET "'none' or e.g. '500G'"
#define NOUN_CGROUP "a control group"
#define HINT_CGROUP "e.g. 'system.slice/db.service'"
#define NOUN_RECLAIM_DEMOTION "a choice"
#define HINT_RECLAIM_DEMOTION "'enable' or 'leave'"
