/* SPDX-License-Identifier: GPL-2.0-or-later */

/* What must hold between keys, after each of them was found good alone. Every complaint goes to an
 * assignment that the operator made, and says what would be right. */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/config-check.h"
#include "core/config-types.h"

/* Samples per aggregation; the kernel's access counters are compared and printed as such, and no
 * sensible setting comes near. */
#define SAMPLES_MAX 65535U

static uint64_t number_of(const ConfigBuilder *b, const ConfigKeyInfo *key) {
        const char *field = (const char *) config_section_base(b->config, key) + key->offset;
        uint64_t u64;
        uint32_t u32;

        if (key->type == CONFIG_TYPE_DURATION) {
                memcpy(&u64, field, sizeof(u64));
                return u64;
        }

        memcpy(&u32, field, sizeof(u32));
        return u32;
}

/* @small must not exceed @large. The complaint goes to the one that was assigned last. */
static int check_order(ConfigBuilder *b, const char *section, const char *small_key,
                       const char *large_key) {
        const ConfigKeyInfo *small = config_key_find(section, small_key),
                            *large = config_key_find(section, large_key);
        const ConfigOrigin *small_origin = config_find_origin(b, small),
                           *large_origin = config_find_origin(b, large);
        _cleanup_(freep) char *small_text = NULL, *large_text = NULL;

        if (small_origin->bad || large_origin->bad || number_of(b, small) <= number_of(b, large))
                return 0;

        small_text = config_key_format(small, config_section_base(b->config, small));
        large_text = config_key_format(large, config_section_base(b->config, large));
        if (!small_text || !large_text)
                return -ENOMEM;

        /* The defaults are in order, so at least one of the two was assigned. */
        if (!large_origin->last || (small_origin->last && small_origin->last > large_origin->last))
                return config_complain(b, /* is_error= */ true, small_origin->last,
                                       "'%s' is more than %s=; expected at most '%s'", small_text,
                                       large_key, large_text);

        return config_complain(b, /* is_error= */ true, large_origin->last,
                               "'%s' is less than %s=; expected at least '%s'", large_text,
                               small_key, small_text);
}

static int check_monitoring(ConfigBuilder *b) {
        const Monitoring *m = &b->config->monitoring;
        const ConfigOrigin *sample = config_find_origin(
                                   b, config_key_find("Monitoring", "SampleInterval")),
                           *aggr = config_find_origin(
                                   b, config_key_find("Monitoring", "AggregationInterval"));
        int r;

        r = check_order(b, "Monitoring", "SampleInterval", "AggregationInterval");
        if (r < 0)
                return r;

        if (!sample->bad && !aggr->bad && m->aggr_us / m->sample_us > SAMPLES_MAX) {
                r = config_complain(
                        b, /* is_error= */ true,
                        aggr->last && (!sample->last || aggr->last > sample->last) ? aggr->last
                                                                                   : sample->last,
                        "an aggregation would have %" PRIu64
                        " samples; expected at most %u, as AggregationInterval= divided by "
                        "SampleInterval=",
                        m->aggr_us / m->sample_us, SAMPLES_MAX);
                if (r < 0)
                        return r;
        }

        r = check_order(b, "Monitoring", "MinSampleInterval", "MaxSampleInterval");
        if (r < 0)
                return r;

        /* mm/damon/core.c:damon_valid_intervals_goal() asks the same. */
        if (m->access_goal_bp > 0) {
                r = check_order(b, "Monitoring", "MinSampleInterval", "SampleInterval");
                if (r < 0)
                        return r;

                r = check_order(b, "Monitoring", "SampleInterval", "MaxSampleInterval");
                if (r < 0)
                        return r;
        }

        /* 0 is "auto" for both. */
        if (m->max_regions > 0)
                return check_order(b, "Monitoring", "MinRegions", "MaxRegions");

        return 0;
}

static int check_manager(ConfigBuilder *b) {
        ManagerConfig *m = &b->config->manager;
        const ConfigOrigin *report =
                config_find_origin(b, config_key_find("Manager", "ReportInterval"));

        if (m->report_interval_us == 0)
                return 0;

        /* Who only makes Interval= long did not ask for more reports than ticks. */
        if ((!report->last || *report->last->value == '\0') && !report->bad) {
                m->report_interval_us = MAX(m->report_interval_us, m->interval_us);
                return 0;
        }

        return check_order(b, "Manager", "Interval", "ReportInterval");
}

/* The last assignment of @key in the tier's own section, NULL when there is none. */
static const ConfigAssignment *find_last(const ConfigAssignment *assignments, size_t n_assignments,
                                         const char *tier_name, const char *key) {
        for (size_t i = n_assignments; i > 0; i--) {
                ConfigTarget target = config_find_target(&assignments[i - 1]);

                if (target.tier_name && target.key && strcmp(target.tier_name, tier_name) == 0 &&
                    strcmp(target.key->key, key) == 0)
                        return &assignments[i - 1];
        }

        return NULL;
}

/* A tier that sends memory to its own nodes is a slip, where the tier itself says so. */
static int check_destination(ConfigBuilder *b, const TierConfig *tier, const NodeSet *nodes,
                             const ConfigAssignment *last) {
        if (!last || *last->value == '\0' || !nodeset_intersects(nodes, &tier->nodes))
                return 0;

        return config_complain(b, /* is_error= */ true, last,
                               "'%s' has nodes of this tier itself; expected nodes of another tier",
                               last->value);
}

static int check_destinations(ConfigBuilder *b, const ConfigAssignment *assignments,
                              size_t n_assignments) {
        int r;

        for (size_t i = 0; i < b->config->n_tiers; i++) {
                const TierConfig *tier = &b->config->tiers[i];

                r = check_destination(
                        b, tier, &tier->policy.promote_to,
                        find_last(assignments, n_assignments, tier->name, "PromoteTo"));
                if (r < 0)
                        return r;

                r = check_destination(
                        b, tier, &tier->policy.demote_to,
                        find_last(assignments, n_assignments, tier->name, "DemoteTo"));
                if (r < 0)
                        return r;
        }

        return 0;
}

static int check_tier(ConfigBuilder *b, size_t i) {
        const TierConfig *tier = &b->config->tiers[i];
        const ConfigTierOrigin *origin = &b->tier_origins[i];
        int r;

        if (origin->nodes.bad)
                return 0;

        if (nodeset_is_empty(&tier->nodes)) {
                const ConfigAssignment *a = origin->nodes.last ?: origin->first;

                return config_problems_add(b->problems, /* is_error= */ true, a->path, a->line,
                                           NULL,
                                           "[Tier %s]: the tier has no Nodes=; expected e.g. "
                                           "Nodes=0-1",
                                           tier->name);
        }

        for (size_t j = 0; j < i; j++) {
                if (!nodeset_intersects(&tier->nodes, &b->config->tiers[j].nodes))
                        continue;

                r = config_complain(
                        b, /* is_error= */ true, origin->nodes.last,
                        "'%s' has nodes of tier '%s'; expected each node in one tier only",
                        origin->nodes.last->value, b->config->tiers[j].name);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int check_tiers(ConfigBuilder *b, const ConfigAssignment *assignments,
                       size_t n_assignments) {
        const Config *config = b->config;
        int r;

        for (size_t i = 0; i < config->n_tiers; i++) {
                r = check_tier(b, i);
                if (r < 0)
                        return r;
        }

        r = check_destinations(b, assignments, n_assignments);
        if (r < 0)
                return r;

        if (config->n_tiers == 1) {
                const ConfigAssignment *a = b->tier_origins[0].first;

                return config_problems_add(b->problems, /* is_error= */ false, a->path, a->line,
                                           NULL,
                                           "[Tier %s]: this is the only tier, nothing will move",
                                           config->tiers[0].name);
        }

        return 0;
}

int config_check(ConfigBuilder *b, const ConfigAssignment *assignments, size_t n_assignments) {
        int r;

        r = check_tiers(b, assignments, n_assignments);
        if (r < 0)
                return r;

        r = check_monitoring(b);
        if (r < 0)
                return r;

        return check_manager(b);
}
