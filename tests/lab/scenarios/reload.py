# SPDX-License-Identifier: GPL-2.0-or-later
"""A reload changes what runs without restarting it; a bad configuration changes nothing."""

from lab import health
from lab.bench import DAMON, Bench
from lab.contenders import CONFIG, UNIT
from lab.scenario import Scenario

MAX_REGIONS = 1234


class Reload(Scenario):
    name = "reload"
    summary = "reload: good configuration works live, bad configuration is refused with file and line"
    expected_errors = (r"/etc/damon-tierd\.conf:\d+:", r"keeping (the )?(old|running|present|current)",
                       r"Can't tier here")

    def setup(self, bench: Bench) -> None:
        bench.place_hot_and_cold()

    def run(self, bench: Bench) -> None:
        self.reasons: list[str] = []
        bench.start()
        bench.wait(5)
        kdamonds, pid = bench.our_kdamonds(), bench.main_pid()
        if not kdamonds:
            self.reasons.append("no kdamond runs")
        bench.guest.write(CONFIG, f"[Monitoring]\nMaxRegions={MAX_REGIONS}\n")
        self._reload(bench, "good")
        bench.wait(3)
        self._expect(bench, kdamonds, pid, "after the good reload")
        bench.guest.write(CONFIG, "[Monitoring]\nMaxRegions=many\n")
        self._reload(bench, "bad")
        bench.wait(3)
        self._expect(bench, kdamonds, pid, "after the bad reload")
        # Right as a text, but not for this machine: node 7 is not there.
        bench.guest.write(CONFIG, "[Tier fast]\nNodes=0\n[Tier slow]\nNodes=7\n")
        self._reload(bench, "impossible")
        bench.wait(3)
        self._expect(bench, kdamonds, pid, "after the impossible reload")
        lines = [e["MESSAGE"] for e in health.messages(bench.read_journal(), UNIT)]
        if not any(f"{CONFIG}:2:" in line for line in lines):
            self.reasons.append("the bad line is not named in the journal")
        bench.measure()

    def _reload(self, bench: Bench, which: str) -> None:
        # Whether a refused reload fails the command is the unit's choice; that it ends is not.
        status, _, errors = bench.guest.call(f"systemctl reload {UNIT}", 60)
        if which == "good" and status != 0:
            self.reasons.append(f"reload ended with {status}: {errors.strip()}")

    def _expect(self, bench: Bench, kdamonds: dict[int, int], pid: int, when: str) -> None:
        if (now := bench.our_kdamonds()) != kdamonds:
            self.reasons.append(f"{when} kdamonds are {now}, were {kdamonds}")
        if (now_pid := bench.main_pid()) != pid:
            self.reasons.append(f"{when} the daemon's pid is {now_pid}, was {pid}")
        for index in kdamonds:
            path = f"{DAMON}/{index}/contexts/0/monitoring_attrs/nr_regions/max"
            if (value := (bench.guest.read(path) or "").strip()) != str(MAX_REGIONS):
                self.reasons.append(f"{when} {path} is {value}, expected {MAX_REGIONS}")

    def judge(self, bench: Bench) -> list[str]:
        return self.reasons


SCENARIO = Reload()
