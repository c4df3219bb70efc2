/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>

/* The one table of message ids. The journal catalog (systemd/damon-tierd.catalog) and the man page
 * are checked against it. Ids are random (systemd-id128 new) and never reused. */

#define MESSAGE_TABLE(X)                                        \
        X(TIERS, "b4f6a885cce54514851eef384d47eeb4")            \
        X(TIER, "428be3279c334f99a6ed616163b63586")             \
        X(FEATURES, "63d42be144ce468a8553ae374352dfc4")         \
        X(PAIR, "21ff46dcae654e42b040c705781f2920")             \
        X(HEADROOM, "336d38b792234c2fafb71f8e729bf697")         \
        X(IDLE, "38db62c451c64cc0942ca622782b8d9f")             \
        X(RUNNING, "d1214aa6b78e4b8180b2a04c6edda434")          \
        X(ADOPTED, "fc8a665929bc4b998ca425a2961d8955")          \
        X(MOVED, "2e6e9ceb5bcd45a4aab4f8d225fe0986")            \
        X(VERDICT, "ae4c7ca27396441dae2e958c42c30e5a")          \
        X(VERDICT_END, "dc31330c13eb4e189312c3af9388deb4")      \
        X(SLICES, "ac6e46bf723a4a9596b0341376e4cf12")           \
        X(BACKOFF, "fe0bed7850e04e1a985a16066ce52c24")          \
        X(BACKOFF_END, "fab8987263824f06aba26bc656be526a")      \
        X(KNOB, "e5155bd9e8d74c9cb6fa99905110da80")             \
        X(KNOB_RESTORED, "f7c2ead86a074ac2b7e9ba7e521c9408")    \
        X(FOREIGN, "b90ed23183914c21af1215260bed4e23")          \
        X(EXCLUSIVE, "fe8a449f50054531b4f2fab045d6a82b")        \
        X(UNSUPPORTED, "6c055ee6d68345a8bc99356b440cb7b7")      \
        X(WRITE_FAILED, "49c86e4c6d11401db3b4327b0aa60745")     \
        X(KDAMOND_ENDED, "34d78a802d1b43849194bd2aeed3d1ca")    \
        X(TREE_CHANGED, "fcd2d2faeb084fe6866c950aa57684d5")     \
        X(TOPOLOGY_CHANGED, "68f94b0bfbd14d5fa615037c8dced563") \
        X(CONFIG_PROBLEM, "6808c25291dc40c6930e59c2ca06896f")   \
        X(CONFIG_RELOADED, "454921cbc57d4b388d5b2dde49f45fca")  \
        X(CONFIG_KEPT, "1c9fe90b0ebc44538ea5e8f5bb3c6564")      \
        X(RELEASED, "bcd353cd018e4e44be13e2931f79aff3")         \
        X(KEPT_RUNNING, "b75a84e116aa4b38b6768fbbb8adc1d4")

#define MESSAGE_CONSTANT(name, id) static const char MESSAGE_##name[] __attribute__((unused)) = id;
MESSAGE_TABLE(MESSAGE_CONSTANT)
#undef MESSAGE_CONSTANT

typedef struct MessageInfo {
        const char *name;
        const char *id;
} MessageInfo;

const MessageInfo *message_table(size_t *ret_n);
