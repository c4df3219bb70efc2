# SPDX-License-Identifier: GPL-2.0-or-later
"""Somebody else runs DAMON: the daemon explains and keeps its hands off."""

import re

from lab import health, staging
from lab.bench import DAMON, Bench
from lab.contenders import UNIT
from lab.scenario import Scenario


class Foreign(Scenario):
    name = "foreign"
    summary = "a kdamond of somebody else runs: refuse with an explanation, touch nothing"
    expected_failed_units = (UNIT,)
    expected_errors = (r"kdamond", r"Failed to start .*damon", r"damon-tierd")

    def run(self, bench: Bench) -> None:
        self.reasons: list[str] = []
        bench.guest.run(staging.monitor_only())
        pids, tree = bench.our_kdamonds(), staging.dump(bench.guest)
        if len(pids) != 1:
            self.reasons.append(f"the foreign kdamond does not run: {pids}")
        bench.start(check=False)
        bench.wait(5)
        if (state := bench.unit_property("ActiveState")) != "failed":
            self.reasons.append(f"the service is {state}, expected failed")
        text = "\n".join(e["MESSAGE"] for e in health.messages(bench.read_journal(), UNIT))
        if not re.search(r"foreign|not (ours|started by)|somebody else|did not start", text, re.I):
            self.reasons.append(f"no explanation in the journal:\n{text}")
        if (now := bench.our_kdamonds()) != pids:
            self.reasons.append(f"the foreign kdamond is {now}, was {pids}")
        if (now_tree := staging.dump(bench.guest)) != tree:
            self.reasons.append("the foreign tree changed: " + "; ".join(sorted(set(now_tree) ^ set(tree)))[:500])
        # Once the other one has left, nothing may stand in the way of a start.
        bench.guest.run(f"echo off >{DAMON}/0/state && echo 0 >{DAMON}/nr_kdamonds && systemctl start {UNIT}", timeout=120)
        if not bench.our_kdamonds():
            self.reasons.append("no kdamond runs although the foreign one is gone")
        bench.measure()

    def judge(self, bench: Bench) -> list[str]:
        return self.reasons


SCENARIO = Foreign()
