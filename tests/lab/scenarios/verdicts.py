# SPDX-License-Identifier: GPL-2.0-or-later
"""Each verdict, provoked on a real kernel: the status says it, and the journal when it is trouble that lasts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.bench import DAMON, STATUS_PATH, Bench, ScenarioFailed
from lab.contenders import CONFIG, UNIT
from lab.scenario import Scenario

SEEN = "/run/verdicts-seen"
MANAGER = "[Manager]\nInterval=1s\n"
STEP_S = 25


class Verdicts(Scenario):
    name = "verdicts"
    summary = "each verdict is provoked, and told"
    seconds = 20
    sysctls = {"kernel.numa_balancing": "0"}

    def setup(self, bench: Bench) -> None:
        bench.place_hot_and_cold()

    def _configure(self, bench: Bench, text: str) -> None:
        bench.guest.write(CONFIG, MANAGER + text)
        if bench.unit_property("ActiveState") == "active":
            bench.guest.run(f"systemctl reload {UNIT}", timeout=120)

    def _schemes(self, bench: Bench, direction: str) -> list[str]:
        return [scheme.get("verdict", "") for scheme in bench.status().get("schemes", [])
                if scheme["direction"] == direction]

    def _expect(self, bench: Bench, direction: str, verdict: str, told: bool = False) -> None:
        """Wait until the status says so, and the journal too if it should."""
        deadline = time.monotonic() + STEP_S
        seen: set[str] = set()
        while True:
            now = self._schemes(bench, direction)
            seen |= set(now)
            if verdict in now and (not told or self._was_told(bench, verdict)):
                self.provoked.append(f"{direction} {verdict}")
                return
            if time.monotonic() > deadline:
                what = "is not in the journal" if verdict in seen else f"was {', '.join(sorted(seen))} instead"
                self.reasons.append(f"{direction} should be {verdict}, and {what}")
                return
            bench.wait(0.4)

    def _was_told(self, bench: Bench, verdict: str) -> bool:
        text = bench.guest.call(f"journalctl -b -u {UNIT} -o cat --no-pager DAMON_TIERD_REASON={verdict}")[1]
        return verdict in text

    @contextmanager
    def _meddling(self, bench: Bench, leaf: str, value: str) -> Iterator[None]:
        """Somebody writes behind our back, and goes on writing, since our next plan would undo it."""
        path = f"{DAMON}/0/contexts/0/{leaf}"
        old = bench.guest.run(f"cat {path}").strip()
        write = f"echo %s >{path}; echo commit >{DAMON}/0/state"
        bench.guest.run(f"systemd-run --quiet --unit=meddler sh -c 'while :; do {write % value}; sleep 0.2; done'")
        yield
        bench.guest.run(f"systemctl stop meddler; for n in $(seq 20); do {write % old} && break; sleep 0.1; done")

    def run(self, bench: Bench) -> None:
        self.reasons: list[str] = []
        self.provoked: list[str] = []
        # A rate limit far below what there is to do. Before anything moves at all there is a moment that only somebody
        # inside can see.
        self._configure(bench, "[Policy]\nPromoteRateLimit=2M/s\nDemoteRateLimit=2M/s\n")
        bench.guest.run(f"(for n in $(seq 400); do cat {STATUS_PATH}; sleep 0.05; done >{SEEN} 2>/dev/null) </dev/null >/dev/null 2>&1 &")
        bench.start()
        self._expect(bench, "demote", "quota-limited")
        if bench.guest.call(f"grep -q '\"waiting\"' {SEEN}")[0] != 0:
            self.reasons.append("no scheme was ever waiting")
        else:
            self.provoked.append("waiting")
        # More regions than can be looked at within a sampling interval: all the kdamond does is looking.
        self._configure(bench, "[Policy]\nPromoteRateLimit=2M/s\nHeadroom=50%\nDemoteRateLimit=8M/s\n"
                               "[Monitoring]\nMinRegions=100000\nMaxRegions=200000\nAccessGoal=0\n")
        self._expect(bench, "demote", "cpu-limited")
        # Somebody holds the kdamond up, and then takes its quota away.
        self._configure(bench, "[Policy]\nPromoteRateLimit=2M/s\nHeadroom=50%\nDemoteRateLimit=1M/s\n")
        self._expect(bench, "demote", "moving")
        with self._meddling(bench, "pause", "Y"):
            self._expect(bench, "demote", "not-monitored")
        with self._meddling(bench, "schemes/0/quotas/bytes", "1"):
            self._expect(bench, "demote", "quota-ramp", told=True)
        # Nothing may be written to the slow tier any more.
        self._configure(bench, "[Policy]\nHeadroom=40%\nDailyWriteBudget=1M\n")
        self._expect(bench, "demote", "backed-off", told=True)
        # Free to move.
        self._configure(bench, "[Policy]\nHeadroom=25%\nDemoteRateLimit=1T/s\n")
        self._expect(bench, "demote", "moving")
        self._expect(bench, "demote", "goal-met")
        bench.await_hot(STEP_S)
        self._expect(bench, "promote", "no-candidates")
        # All that is left on the fast node is in use all the time, or the kernel's own.
        bench.guest.run("systemctl stop lab-workload")
        bench.start_workload(["role=hot,name=busy,size=150,node=0,touch"])
        self._configure(bench, "[Policy]\nHeadroom=1000M\nDemoteRateLimit=1T/s\n[Guard]\nPingPong=no\n")
        self._expect(bench, "demote", "filtered")
        # Somebody turns a kdamond off.
        bench.guest.run(f"for n in $(seq 100); do echo off >{DAMON}/0/state && break; sleep 0.05; done")
        deadline = time.monotonic() + STEP_S
        while len(bench.our_kdamonds()) < 2:
            if time.monotonic() > deadline:
                raise ScenarioFailed("the kdamond was not started again")
            bench.wait(0.5)
        ended = bench.guest.call(f"journalctl -b -u {UNIT} -o cat --no-pager | grep -c 'ended kdamond 0'")[1].strip()
        if ended == "0":
            self.reasons.append("the journal does not tell that a kdamond ended")
        else:
            self.provoked.append("ended")
        bench.measure()
        bench.result.figures["provoked"] = len(self.provoked)

    def judge(self, bench: Bench) -> list[str]:
        return self.reasons


SCENARIO = Verdicts()
