/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Our own files in the run directory. Written to a temporary name and renamed, so that a reader
 * never sees half of one and a full disk never costs the old one. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <json-c/json.h>

#include "io/runfile.h"

#define RECORD_MAX_BYTES (4 << 20)

static void json_freep(json_object **object) {
        if (*object)
                json_object_put(*object);
}

void record_done(Record *record) {
        free(record->kdamonds);
        free(record->written_bytes);
        ledger_done(&record->ledger);
        *record = (Record){};
}

bool record_matches(const Record *record, const DamonTree *tree) {
        if (record->n_kdamonds == 0 || record->n_kdamonds != tree->n_kdamonds)
                return false;
        for (size_t i = 0; i < tree->n_kdamonds; i++)
                if (tree->kdamonds[i].on && tree->kdamonds[i].pid != record->kdamonds[i].pid)
                        return false;
        return true;
}

static int write_all(int fd, const char *text) {
        size_t left = strlen(text);

        while (left > 0) {
                ssize_t n = write(fd, text, left);

                if (n < 0)
                        return -errno;
                text += n;
                left -= (size_t) n;
        }
        return 0;
}

static int replace_file(const char *dir, const char *name, mode_t mode, json_object *object) {
        _cleanup_(closep) int dir_fd = -1, fd = -1;
        _cleanup_(freep) char *temporary = NULL;
        const char *text;
        int r;

        text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY |
                                                              JSON_C_TO_STRING_NOSLASHESCAPE |
                                                              JSON_C_TO_STRING_SPACED);
        if (!text)
                return -ENOMEM;
        if (asprintf(&temporary, ".%s.new", name) < 0) {
                temporary = NULL;
                return -ENOMEM;
        }
        if (mkdir(dir, 0755) < 0 && errno != EEXIST)
                return -errno;
        dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir_fd < 0)
                return -errno;
        fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
        if (fd < 0)
                return -errno;
        r = fchmod(fd, mode) < 0 ? -errno : write_all(fd, text); /* the umask may have cut it */
        if (r >= 0)
                r = write_all(fd, "\n");
        if (r >= 0 && renameat(dir_fd, temporary, dir_fd, name) < 0)
                r = -errno;
        if (r < 0)
                (void) unlinkat(dir_fd, temporary, 0); /* the first error is the one to tell */
        return r;
}

static void put_bool(json_object *object, const char *key, bool value) {
        (void) json_object_object_add(object, key, json_object_new_boolean(value));
}

static void put_u64(json_object *object, const char *key, uint64_t value) {
        (void) json_object_object_add(object, key, json_object_new_uint64(value));
}

static void put_int(json_object *object, const char *key, int64_t value) {
        (void) json_object_object_add(object, key, json_object_new_int64(value));
}

static void put_string(json_object *object, const char *key, const char *value) {
        (void) json_object_object_add(object, key, value ? json_object_new_string(value) : NULL);
}

/* A new container under @key; NULL without memory, which the put_*() take. */
static json_object *put_new(json_object *object, const char *key, json_object *child) {
        (void) json_object_object_add(object, key, child);
        return child;
}

static json_object *append_object(json_object *array) {
        json_object *child = json_object_new_object();

        (void) json_object_array_add(array, child);
        return child;
}

static void put_nodes(json_object *object, const char *key, const NodeSet *nodes) {
        json_object *array = put_new(object, key, json_object_new_array());

        nodeset_foreach (nid, nodes)
                (void) json_object_array_add(array, json_object_new_int(nid));
}

static void put_ledger(json_object *object, const Ledger *ledger) {
        json_object *pairs = put_new(object, "pairs", json_object_new_array());

        for (size_t i = 0; i < ledger->n_pairs; i++) {
                const LedgerPair *pair = &ledger->pairs[i];
                json_object *o = append_object(pairs);

                put_string(o, "direction", direction_to_string(pair->direction));
                put_int(o, "node", pair->from);
                put_int(o, "target_node", pair->to);
                put_u64(o, "applied_bytes", pair->applied_bytes);
                put_u64(o, "tried_bytes", pair->tried_bytes);
                put_u64(o, "passed_bytes", pair->passed_bytes);
        }
}

static void put_counters(json_object *o, const SchemeCounters *c) {
        put_u64(o, "tried_bytes", c->sz_tried);
        put_u64(o, "passed_bytes", c->sz_passed);
        put_u64(o, "applied_bytes", c->sz_applied);
        put_u64(o, "tried_regions", c->nr_tried);
        put_u64(o, "applied_regions", c->nr_applied);
        put_u64(o, "quota_exceeds", c->qt_exceeds);
        put_u64(o, "snapshots", c->nr_snapshots);
}

int runfile_write_record(const char *dir, const Record *record) {
        _cleanup_(json_freep) json_object *root = json_object_new_object();
        json_object *kdamonds, *written;

        if (!root)
                return -ENOMEM;
        put_int(root, "version", 1);
        for (Knob knob = 0; knob < _KNOB_MAX; knob++)
                put_bool(root, knob_info(knob)->name, record->knobs & KNOB_BIT(knob));
        put_u64(root, "written_at_us", record->written_at_us);
        written = put_new(root, "written_bytes", json_object_new_array());
        for (size_t i = 0; i < record->n_written; i++)
                (void) json_object_array_add(written,
                                             json_object_new_uint64(record->written_bytes[i]));
        kdamonds = put_new(root, "kdamonds", json_object_new_array());
        for (size_t i = 0; i < record->n_kdamonds; i++) {
                json_object *o = append_object(kdamonds), *schemes;

                put_int(o, "pid", record->kdamonds[i].pid);
                schemes = put_new(o, "schemes", json_object_new_array());
                for (size_t s = 0; s < record->kdamonds[i].n_schemes; s++)
                        put_counters(append_object(schemes), &record->kdamonds[i].counters[s]);
        }
        put_ledger(root, &record->ledger);
        return replace_file(dir, "record.json", 0600, root);
}

static uint64_t get_u64(json_object *object, const char *key) {
        json_object *value;

        return json_object_object_get_ex(object, key, &value) ? json_object_get_uint64(value) : 0;
}

static int get_int(json_object *object, const char *key) {
        json_object *value;

        return json_object_object_get_ex(object, key, &value) ? json_object_get_int(value) : -1;
}

/* The array under @key, or NULL; its length is bounded. */
static json_object *get_array(json_object *object, const char *key, size_t max, size_t *ret_n) {
        json_object *value;

        *ret_n = 0;
        if (!json_object_object_get_ex(object, key, &value) ||
            !json_object_is_type(value, json_type_array))
                return NULL;
        *ret_n = MIN(json_object_array_length(value), max);
        return value;
}

static void get_counters(json_object *o, SchemeCounters *c) {
        *c = (SchemeCounters){
                .sz_tried = get_u64(o, "tried_bytes"),
                .sz_passed = get_u64(o, "passed_bytes"),
                .sz_applied = get_u64(o, "applied_bytes"),
                .nr_tried = get_u64(o, "tried_regions"),
                .nr_applied = get_u64(o, "applied_regions"),
                .qt_exceeds = get_u64(o, "quota_exceeds"),
                .nr_snapshots = get_u64(o, "snapshots"),
        };
}

static int get_ledger(json_object *root, Ledger *ledger) {
        size_t n;
        json_object *pairs = get_array(root, "pairs", 1 << 16, &n);
        int r;

        for (size_t i = 0; i < n; i++) {
                json_object *o = json_object_array_get_idx(pairs, i), *name;
                LedgerPair *pair;
                bool promote;

                if (!json_object_object_get_ex(o, "direction", &name))
                        return -EBADMSG;
                promote = strcmp(json_object_get_string(name), "promote") == 0;
                r = ledger_get(ledger, promote ? DIRECTION_PROMOTE : DIRECTION_DEMOTE,
                               get_int(o, "node"), get_int(o, "target_node"), &pair);
                if (r < 0)
                        return r;
                pair->applied_bytes = get_u64(o, "applied_bytes");
                pair->tried_bytes = get_u64(o, "tried_bytes");
                pair->passed_bytes = get_u64(o, "passed_bytes");
        }
        return 0;
}

static int read_file(const char *dir, const char *name, char **ret) {
        _cleanup_(freep) char *path = NULL, *text = NULL;
        _cleanup_(closep) int fd = -1;
        struct stat st;
        size_t used = 0;

        if (asprintf(&path, "%s/%s", dir, name) < 0) {
                path = NULL;
                return -ENOMEM;
        }
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || st.st_size > RECORD_MAX_BYTES)
                return -EBADMSG;
        text = malloc((size_t) st.st_size + 1);
        if (!text)
                return -ENOMEM;
        while (used < (size_t) st.st_size) {
                ssize_t n = read(fd, text + used, (size_t) st.st_size - used);

                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                used += (size_t) n;
        }
        text[used] = '\0';
        *ret = TAKE_PTR(text);
        return 0;
}

int runfile_read_record(const char *dir, Record *ret) {
        _cleanup_(json_freep) json_object *root = NULL;
        _cleanup_(record_done) Record record = {};
        _cleanup_(freep) char *text = NULL;
        json_object *kdamonds, *written, *value;
        size_t n;
        int r;

        r = read_file(dir, "record.json", &text);
        if (r < 0)
                return r;
        root = json_tokener_parse(text);
        if (!json_object_is_type(root, json_type_object) || get_int(root, "version") != 1)
                return -EBADMSG;
        for (Knob knob = 0; knob < _KNOB_MAX; knob++)
                if (json_object_object_get_ex(root, knob_info(knob)->name, &value) &&
                    json_object_get_boolean(value))
                        record.knobs |= KNOB_BIT(knob);
        record.written_at_us = get_u64(root, "written_at_us");
        written = get_array(root, "written_bytes", NODES_MAX, &n);
        record.written_bytes = calloc(MAX(n, (size_t) 1), sizeof(*record.written_bytes));
        if (!record.written_bytes)
                return -ENOMEM;
        record.n_written = n;
        for (size_t i = 0; i < n; i++)
                record.written_bytes[i] =
                        json_object_get_uint64(json_object_array_get_idx(written, i));
        kdamonds = get_array(root, "kdamonds", DAMON_KDAMONDS_MAX, &n);
        record.kdamonds = calloc(MAX(n, (size_t) 1), sizeof(*record.kdamonds));
        if (!record.kdamonds)
                return -ENOMEM;
        record.n_kdamonds = n;
        for (size_t i = 0; i < n; i++) {
                json_object *o = json_object_array_get_idx(kdamonds, i), *schemes;
                RecordKdamond *kdamond = &record.kdamonds[i];

                kdamond->pid = get_int(o, "pid");
                schemes = get_array(o, "schemes", DAMON_SCHEMES_MAX, &kdamond->n_schemes);
                for (size_t s = 0; s < kdamond->n_schemes; s++)
                        get_counters(json_object_array_get_idx(schemes, s), &kdamond->counters[s]);
        }
        r = get_ledger(root, &record.ledger);
        if (r < 0)
                return r;
        *ret = record;
        record = (Record){};
        return 0;
}

static void put_topology(json_object *root, const StatusView *view) {
        const Topology *topology = view->topology;
        json_object *tiers, *nodes;

        put_string(root, "evidence", tier_evidence_to_string(topology->evidence));
        put_string(root, "evidence_text", topology->evidence_text);
        tiers = put_new(root, "tiers", json_object_new_array());
        for (size_t i = 0; i < topology->n_tiers; i++) {
                json_object *o = append_object(tiers);

                put_u64(o, "tier", i);
                put_string(o, "name", topology->tiers[i].name);
                put_nodes(o, "nodes", &topology->tiers[i].nodes);
                put_string(o, "why", topology->tiers[i].why);
        }
        nodes = put_new(root, "nodes", json_object_new_array());
        for (size_t i = 0; i < topology->n_nodes; i++) {
                const TopologyNode *node = &topology->nodes[i];
                const NodeSample *memory =
                        view->sample ? sample_find_node(view->sample, node->nid) : NULL;
                const NodeDecision *decision =
                        view->decision ? decision_find_node(view->decision, node->nid) : NULL;
                json_object *o = append_object(nodes);

                put_int(o, "nid", node->nid);
                put_u64(o, "tier", node->tier);
                put_int(o, "promote_to", node->promote_to);
                put_int(o, "demote_to", node->demote_to);
                put_u64(o, "total_bytes", memory ? memory->total_bytes : node->total_bytes);
                put_u64(o, "covered_bytes", topology_ranges_bytes(node->ranges, node->n_ranges));
                if (memory)
                        put_u64(o, "free_bytes", memory->free_bytes);
                if (decision) {
                        bool is_goal = node->demote_to != NODE_NONE;

                        put_u64(o, "headroom_bytes", is_goal ? decision->headroom_bytes : 0);
                        put_u64(o, "reserve_bytes", is_goal ? decision->reserve_bytes : 0);
                        put_u64(o, "floor_bytes", decision->floor_bytes);
                }
        }
}

static void put_track(json_object *array, GuardKind kind, int nid, const GuardTrack *track) {
        json_object *o;

        if (track->level == 0)
                return;
        o = append_object(array);
        put_string(o, "reason", guard_kind_to_string(kind));
        if (nid >= 0)
                put_int(o, "node", nid);
        put_u64(o, "level", track->level);
        put_u64(o, "since_us", track->changed_us);
}

/* What is held back now; empty is good. */
static void put_guard(json_object *root, const StatusView *view) {
        json_object *backoffs = put_new(root, "backoffs", json_object_new_array());
        json_object *budgets = put_new(root, "written", json_object_new_array());
        const Guard *guard = view->guard;

        put_track(backoffs, GUARD_PRESSURE, -1, &guard->pressure);
        for (size_t i = 0; i < guard->n_nodes; i++) {
                const GuardNode *node = &guard->nodes[i];

                for (Direction direction = 0; direction < _DIRECTION_MAX; direction++)
                        put_track(backoffs, GUARD_FAILURES, node->nid, &node->failures[direction]);
                put_track(backoffs, GUARD_PING_PONG, node->nid, &node->ping_pong);
        }
        for (size_t i = 0; i < guard->n_tiers; i++) {
                json_object *o;

                if (guard->tiers[i].written_bytes == 0)
                        continue;
                o = append_object(budgets);
                put_u64(o, "tier", i);
                put_u64(o, "bytes", guard->tiers[i].written_bytes);
                put_bool(o, "spent", guard->tiers[i].spent);
        }
}

static void put_kdamonds(json_object *root, const StatusView *view) {
        json_object *kdamonds = put_new(root, "kdamonds", json_object_new_array());
        json_object *schemes = put_new(root, "schemes", json_object_new_array());

        for (size_t k = 0; k < view->plan->tree.n_kdamonds; k++) {
                const PlanKdamond *meta = &view->plan->kdamonds[k];
                const KdamondStats *stats = view->stats && k < view->stats->n_kdamonds
                                                    ? &view->stats->kdamonds[k]
                                                    : NULL;
                json_object *o = append_object(kdamonds);

                put_u64(o, "index", k);
                put_int(o, "node", meta->nid);
                put_u64(o, "slice", meta->slice);
                put_u64(o, "slices", meta->n_slices);
                put_int(o, "pid", stats && stats->on ? stats->pid : -1);
                put_u64(o, "cpu_us", stats ? stats->total_cpu_us : 0);
                put_u64(o, "cpu_permille", stats ? stats_cpu_permille(view->stats, k) : 0);
                put_u64(o, "sample_us", stats ? stats->sample_us : 0);
                put_u64(o, "aggr_us", stats ? stats->aggr_us : 0);
                for (size_t s = 0; s < meta->n_schemes; s++) {
                        const DamonScheme *scheme =
                                &view->plan->tree.kdamonds[k].context.schemes[s];
                        json_object *c = append_object(schemes);

                        put_u64(c, "kdamond", k);
                        put_u64(c, "scheme", s);
                        put_string(c, "action", damon_action_to_string(scheme->action));
                        put_string(c, "direction", direction_to_string(meta->schemes[s].direction));
                        put_int(c, "node", meta->schemes[s].from);
                        put_int(c, "target_node", meta->schemes[s].to);
                        put_u64(c, "quota_bytes", scheme->quota_bytes);
                        put_u64(c, "window_ms", scheme->quota_reset_interval_ms);
                        if (stats && s < stats->n_schemes) {
                                put_u64(c, "effective_bytes", stats->schemes[s].effective_bytes);
                                put_counters(c, &stats->schemes[s].total);
                        }
                        if (view->verdicts)
                                put_string(c, "verdict",
                                           verdict_to_string(
                                                   view->verdicts[k * DAMON_SCHEMES_MAX + s]));
                }
        }
}

int runfile_write_status(const char *dir, const StatusView *view) {
        _cleanup_(json_freep) json_object *root = json_object_new_object();
        _cleanup_(freep) char *features = NULL;

        if (!root)
                return -ENOMEM;
        features = damon_caps_to_string(view->caps);
        put_string(root, "version", DAMON_TIERD_VERSION);
        put_string(root, "state", view->state);
        put_string(root, "reason", view->reason);
        put_string(root, "features", features);
        if (view->sample)
                put_u64(root, "monotonic_us", view->sample->now_us);
        if (view->topology)
                put_topology(root, view);
        if (view->plan)
                put_kdamonds(root, view);
        if (view->guard)
                put_guard(root, view);
        if (view->ledger) {
                json_object *totals = put_new(root, "totals", json_object_new_object());

                put_u64(totals, "promoted_bytes", ledger_sum(view->ledger, DIRECTION_PROMOTE));
                put_u64(totals, "demoted_bytes", ledger_sum(view->ledger, DIRECTION_DEMOTE));
                put_ledger(root, view->ledger);
        }
        return replace_file(dir, "status.json", 0644, root);
}
