# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes come and go all the time beside a hot set that stays."""

from lab.bench import Bench
from lab.contenders import UNIT
from lab.scenario import Comparison

# (MiB, how long it is held in ms, pause in ms): memory comes and goes on every node.
CHURNS = ((40, 500, 100), (80, 1500, 300), (4, 0, 20))
LEAST_PROCESSES = 100
LEAST_SHARE = 0.9
WATCH_S = 12


class Churn(Comparison):
    name = "churn"
    summary = "processes start and exit all the time: the hot set converges and stays"
    seconds = 40

    def setup(self, bench: Bench) -> None:
        bench.place_hot_and_cold(200)
        for number, (size, hold, pause) in enumerate(CHURNS):
            node = bench.topology.slow[0] if number == 1 else -1
            bench.guest.run(f"systemd-run --quiet --unit=lab-churn{number} /usr/lib/lab/burst {size} {hold} {node} {pause}")

    def run(self, bench: Bench) -> None:
        self.reasons: list[str] = []
        before = self._processes(bench)
        bench.start()
        kdamonds, pid = bench.our_kdamonds(), bench.main_pid()
        if bench.await_hot(bench.seconds - WATCH_S):
            bench.wait(WATCH_S)
        bench.measure()
        started = self._processes(bench) - before
        bench.result.figures["processes"] = started
        if started < LEAST_PROCESSES:
            self.reasons.append(f"only {started} processes were started")
        for number, _ in enumerate(CHURNS):
            if bench.guest.call(f"systemctl is-active lab-churn{number}")[0] != 0:
                self.reasons.append(f"churn {number} ended early")
        if not bench.contender.must_succeed:
            return
        if (now := (bench.our_kdamonds(), bench.main_pid())) != (kdamonds, pid) or not kdamonds:
            self.reasons.append(f"kdamonds and pid of the daemon are {now}, were {(kdamonds, pid)}")
        if (state := bench.unit_property("ActiveState")) != "active":
            self.reasons.append(f"{UNIT} is {state}")

    def _processes(self, bench: Bench) -> int:
        """Forks since boot."""
        return int(bench.guest.run("awk '$1 == \"processes\" { print $2 }' /proc/stat"))

    def judge(self, bench: Bench) -> list[str]:
        result, reasons = bench.result, list(self.reasons)
        if bench.contender.must_succeed and result.hot_fast_share_min is None:
            reasons.append("the hot set never was in fast memory")
        elif bench.contender.must_succeed and result.hot_fast_share_min < LEAST_SHARE:
            reasons.append(f"only {result.hot_fast_share_min:.1%} of the hot set stayed in fast memory")
        return reasons


SCENARIO = Churn()
