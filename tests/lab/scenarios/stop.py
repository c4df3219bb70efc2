# SPDX-License-Identifier: GPL-2.0-or-later
"""Stopping gives everything back, also when start and stop follow each other closely."""

from lab.bench import Bench
from lab.contenders import UNIT
from lab.scenario import Scenario

MOVED_BYTES = 20 << 20


class Stop(Scenario):
    name = "stop"
    summary = "stop in the middle of moving: no kdamond left, every knob as before; twice more, quickly"
    seconds = 60

    def setup(self, bench: Bench) -> None:
        bench.place_hot_and_cold()
        self.before = bench.knobs()

    def run(self, bench: Bench) -> None:
        self.reasons: list[str] = []
        bench.start()
        bench.wait_for_migration(MOVED_BYTES, bench.seconds)
        bench.measure()
        self._stop(bench, "the first stop")
        for number in (2, 3):
            bench.guest.run(f"systemctl start {UNIT}", timeout=120)
            self._stop(bench, f"stop number {number}")

    def _stop(self, bench: Bench, which: str) -> None:
        bench.guest.run(f"systemctl stop {UNIT}", timeout=120)
        if left := bench.our_kdamonds():
            self.reasons.append(f"after {which}: kdamonds still run: {left}")
        after = bench.knobs()
        for path, value in self.before.items():
            if after.get(path) != value:
                self.reasons.append(f"after {which}: {path} is {after.get(path)}, was {value}")
        if (state := bench.unit_property("Result")) != "success":
            self.reasons.append(f"after {which}: the unit's result is {state}")

    def judge(self, bench: Bench) -> list[str]:
        return self.reasons


SCENARIO = Stop()
