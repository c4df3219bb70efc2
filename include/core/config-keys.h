/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "core/config.h"

/* Finding things in the key table, for the rooms of the configuration. */

/* NULL when there is none. Section "Tier" takes the keys of "Policy" too. */
const ConfigKeyInfo *config_key_find(const char *section, const char *key);

/* Where the key's section lives in @config; NULL for [Tier], which may be many. */
void *config_section_base(Config *config, const ConfigKeyInfo *key);

/* The sections in the order of the sample file, each with its help. */
typedef struct ConfigSectionInfo {
        const char *section; /* "Policy", "Tier", ... */
        const char *title;   /* "[Policy]", "[Tier NAME]", ... */
        const char *help;
} ConfigSectionInfo;

const ConfigSectionInfo *config_sections(size_t *ret_n);
