/* SPDX-License-Identifier: GPL-2.0-or-later */

/* How many kdamonds a node gets and what each of them watches: all of the node, once, cut along
 * memory blocks. */

#include "machine.h"

#define SECOND (UINT64_C(1000000))
#define BLOCK (128 * MIB)

static uint64_t sum(const AddressRange *ranges, size_t n) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < n; i++)
                bytes += ranges[i].end - ranges[i].start;
        return bytes;
}

/* Whatever the holes and the number: nothing is missing, nothing is there twice. */
static void test_ranges(void **state) {
        AddressRange ranges[] = {{0, 3 * BLOCK}, {8 * BLOCK, 9 * BLOCK}, {16 * BLOCK, 40 * BLOCK}};
        Topology topology = {.block_size_bytes = BLOCK};
        TopologyNode node = {.ranges = ranges, .n_ranges = ELEMENTSOF(ranges)};
        uint64_t total = sum(ranges, ELEMENTSOF(ranges));

        (void) state;
        for (unsigned n = 1; n <= 28; n++) {
                uint64_t covered = 0, end = 0;

                for (unsigned slice = 0; slice < n; slice++) {
                        AddressRange *part = NULL;
                        size_t n_part;
                        uint64_t bytes;

                        assert_int_equal(slices_ranges(&topology, &node, slice, n, &part, &n_part),
                                         0);
                        bytes = sum(part, n_part);
                        assert_in_range(bytes, total / BLOCK / n * BLOCK,
                                        (total / BLOCK / n + 1) * BLOCK);
                        for (size_t i = 0; i < n_part; i++) {
                                assert_true(part[i].start >= end && part[i].end > part[i].start);
                                assert_int_equal(part[i].start % BLOCK, 0);
                                assert_int_equal(part[i].end % BLOCK, 0);
                                end = part[i].end;
                        }
                        covered += bytes;
                        free(part);
                }
                assert_int_equal(covered, total);
        }
}

static void test_slots(void **state) {
        static const char *const three[] = {"Policy.Kdamonds=3", NULL};
        static const char *const all[] = {"Manager.CpuShare=100%", NULL};
        Config *by_default = machine_config(NULL), *fixed = machine_config(three);
        Config *greedy = machine_config(all);
        Topology *t = machine_chain(2, 4 * GIB, by_default);

        (void) state;
        t->n_cpus = 0; /* not known */
        assert_int_equal(slices_count_slots(by_default, t), 2);
        t->n_cpus = 64;
        assert_int_equal(slices_slots(by_default, t, &t->nodes[0]), 8);
        assert_int_equal(slices_count_slots(by_default, t), 16);
        assert_int_equal(slices_count_slots(fixed, t), 6);
        /* 32 blocks are the end, and so is SLICES_MAX. */
        assert_int_equal(slices_slots(greedy, t, &t->nodes[0]), 32);
        t->nodes[0].ranges[0].end = 4096 * GIB;
        t->n_cpus = 4096;
        assert_int_equal(slices_slots(greedy, t, &t->nodes[0]), SLICES_MAX);
        t->nodes[0].demote_to = NODE_NONE;
        assert_int_equal(slices_slots(greedy, t, &t->nodes[0]), 0);
        topology_free(t);
        config_free(by_default);
        config_free(fixed);
        config_free(greedy);
}

static bool feed(SliceState *s, bool limited, uint32_t permille, uint64_t now_us) {
        SliceInput input = {
                .n_slots = 6, .cpu_limited = limited, .cpu_permille = permille, .now_us = now_us};

        return slices_step(s, &input);
}

static void test_steps(void **state) {
        SliceState s = {.n_slices = 1};
        uint64_t now = 0;

        (void) state;
        /* A moment is no reason. */
        assert_false(feed(&s, true, 990, now += 5 * SECOND));
        assert_false(feed(&s, false, 500, now += 5 * SECOND));
        assert_false(feed(&s, true, 990, now += 5 * SECOND));
        assert_true(feed(&s, true, 990, now += 5 * SECOND));
        assert_int_equal(s.n_slices, 2);
        assert_int_equal(s.n_fresh, 1);
        for (unsigned i = 0; i < 20; i++)
                feed(&s, true, 4000, now += 5 * SECOND);
        assert_int_equal(s.n_slices, 6);
        /* Busy, but not the limit: stays for good. */
        for (unsigned i = 0; i < 1000; i++)
                assert_false(feed(&s, false, 600, now += 5 * SECOND));
        /* An idle minute halves, and each halving takes its own. */
        for (unsigned i = 0; i < 12; i++)
                assert_false(feed(&s, false, 10, now += 5 * SECOND));
        assert_true(feed(&s, false, 10, now += 5 * SECOND));
        assert_int_equal(s.n_slices, 3);
        assert_int_equal(s.n_fresh, 0);
        assert_false(feed(&s, false, 10, now += 5 * SECOND));
        for (unsigned i = 0; i < 100; i++)
                feed(&s, false, 10, now += 5 * SECOND);
        assert_int_equal(s.n_slices, 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_ranges),
                cmocka_unit_test(test_slots),
                cmocka_unit_test(test_steps),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
