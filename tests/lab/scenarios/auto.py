# SPDX-License-Identifier: GPL-2.0-or-later
"""Without any setting for it, a node whose kdamond is the limit gets another one, and loses it when it rests."""

import time

from lab.bench import Bench
from lab.contenders import CONFIG, UNIT
from lab.scenario import Scenario

# Fewer kdamonds are enough when they rested for a minute.
REST_S = 60
NODE = 0


class Auto(Scenario):
    name = "auto"
    summary = "a second kdamond comes by itself when one is not fast enough, and goes when it is not needed"
    topology = "wide"
    seconds = 30

    def setup(self, bench: Bench) -> None:
        bench.start_workload([f"role=cold,name=cold,fill,node={NODE}"])

    def _kdamonds(self, bench: Bench) -> list[dict[str, int]]:
        """Of the node, those that are on. Applied bytes are since each was turned on."""
        status = bench.status()
        moved = {scheme["kdamond"]: scheme.get("applied_bytes", 0) for scheme in status.get("schemes", [])
                 if scheme["direction"] == "demote"}
        return [{"pid": kdamond["pid"], "slices": kdamond["slices"], "moved": moved.get(kdamond["index"], 0)}
                for kdamond in status.get("kdamonds", []) if kdamond["node"] == NODE and kdamond.get("pid", 0) > 0]

    def _await(self, bench: Bench, number: int, seconds: float) -> list[dict[str, int]]:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            kdamonds = self._kdamonds(bench)
            self.fewest = min(self.fewest, len(bench.our_kdamonds()))
            if len(kdamonds) == number:
                return kdamonds
            bench.wait(0.5)
        self.reasons.append(f"after {seconds} s the node has {len(kdamonds)} kdamonds, not {number}")
        return kdamonds

    def run(self, bench: Bench) -> None:
        self.reasons: list[str] = []
        self.fewest = 2
        # All of the CPUs may be used for it; and a lot to do.
        bench.guest.write(CONFIG, "[Manager]\nInterval=1s\nCpuShare=100%\n[Policy]\nHeadroom=1200M\nDemoteRateLimit=100G/s\n")
        bench.start()
        started = time.monotonic()
        before = self._await(bench, 1, bench.seconds)
        self._await(bench, 2, bench.seconds)
        bench.result.figures["second_after_s"] = round(time.monotonic() - started, 1)
        deadline = time.monotonic() + bench.seconds
        while True:
            both = self._kdamonds(bench)
            if len(both) == 2 and all(kdamond["moved"] > 0 for kdamond in both):
                break
            if time.monotonic() > deadline:
                self.reasons.append(f"not both kdamonds demote: {both}")
                break
            bench.wait(0.5)
        if before and both and before[0]["pid"] not in [kdamond["pid"] for kdamond in both]:
            self.reasons.append("the first kdamond was restarted for it, what it knew is lost")
        self._await(bench, 1, REST_S + 3 * bench.seconds)
        bench.measure()
        bench.result.figures["moved_by_each_mib"] = [kdamond["moved"] >> 20 for kdamond in both]

    def judge(self, bench: Bench) -> list[str]:
        if self.fewest < 2:
            self.reasons.append(f"for a moment only {self.fewest} kdamonds of two nodes ran")
        log = bench.guest.call(f"journalctl -b -u {UNIT} -o cat --no-pager")[1]
        for words in ("is watched by 2 kdamonds instead of 1", "is watched by 1 kdamond instead of 2"):
            if words not in log:
                self.reasons.append(f"the journal does not say that the node {words}")
        return self.reasons


SCENARIO = Auto()
