# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine with one node: the service rests, and says so once."""

from lab import health
from lab.bench import Bench
from lab.contenders import UNIT
from lab.scenario import Scenario


class Idle(Scenario):
    name = "idle"
    summary = "one node, nothing to tier: said once, nothing touched, never failed"
    topology = "single"
    seconds = 20

    def setup(self, bench: Bench) -> None:
        self.before = bench.knobs()
        self.pids = set(bench.kdamond_ticks())

    def run(self, bench: Bench) -> None:
        bench.start()
        bench.wait(bench.seconds)
        bench.measure()

    def judge(self, bench: Bench) -> list[str]:
        reasons = []
        state, outcome = bench.unit_property("ActiveState"), bench.unit_property("Result")
        if state not in ("active", "inactive") or outcome != "success":
            reasons.append(f"the service is {state}, result {outcome}")
        lines = [e for e in health.messages(bench.read_journal(), UNIT) if "nothing to tier" in e["MESSAGE"].lower()]
        if len(lines) != 1:
            reasons.append(f"{len(lines)} journal lines say that there is nothing to tier, expected 1")
        if (after := bench.knobs()) != self.before:
            reasons.append(f"settings changed from {self.before} to {after}")
        # The same threads, not just the same setting: an off and on of DAMON_STAT would lose its history.
        if (pids := set(bench.kdamond_ticks())) != self.pids:
            reasons.append(f"kdamonds changed from {sorted(self.pids)} to {sorted(pids)}")
        return reasons


SCENARIO = Idle()
