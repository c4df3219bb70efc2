# SPDX-License-Identifier: GPL-2.0-or-later
"""Two kdamonds for one node demote nearly twice as fast as one, and share one quota."""

import re
import time

from lab.bench import Bench, ScenarioFailed
from lab.contenders import CONFIG, UNIT
from lab.scenario import Scenario

# One after the other in the same guest: the same share of the same cold set.
FROM, MIDDLE, TO, LAST = 0.08, 0.24, 0.40, 0.48
# 1.6 to 1.7 when the emulated CPUs have a real one each; less when the host has other work.
GAIN = 1.35
# Both kdamonds may be a window ahead of each other.
QUOTA_SLACK = 1.15
LIMIT = 32 << 20


class Slices(Scenario):
    name = "slices"
    summary = "with two kdamonds a large cold set is demoted nearly twice as fast"
    topology = "cold"
    seconds = 60

    def setup(self, bench: Bench) -> None:
        bench.start_workload(["role=cold,name=cold0,fill,node=0"])

    def _configure(self, bench: Bench, kdamonds: int, headroom: float, limit: str) -> None:
        bench.guest.write(CONFIG, f"[Policy]\nKdamonds={kdamonds}\nHeadroom={headroom:.0%}\nDemoteRateLimit={limit}\n"
                                  "PromoteRateLimit=1M/s\n")

    def _free(self, bench: Bench) -> int:
        return int(re.findall(r"MemFree:\s+(\d+) kB", bench.guest.run("cat /sys/devices/system/node/node0/meminfo"))[0]) << 10

    def _demote(self, bench: Bench, kdamonds: int, headroom: float, limit: str = "100G/s") -> float:
        """Bytes per second on the way from a quarter to three quarters of what this headroom asks for."""
        self._configure(bench, kdamonds, headroom, limit)
        before = self._free(bench)
        goal = headroom * self._total
        low, high = before + (goal - before) / 4, before + (goal - before) * 3 / 4
        bench.guest.run(f"systemctl reload-or-restart {UNIT}", timeout=120)
        # One command does the watching: a question for each look would be slower than what is watched.
        text = bench.guest.run(
            "f=/sys/devices/system/node/node0/meminfo; "
            f"for b in {int(low) >> 10} {int(high) >> 10}; do e=$(($(date +%s)+{int(bench.seconds)})); "
            "while { { read _; read _ _ _ k _; } <$f; [ $k -lt $b ]; }; do "
            "[ $(date +%s) -lt $e ] || exit 0; sleep 0.05; done; read u _ </proc/uptime; echo $u $k; done",
            timeout=bench.seconds * 3)
        rows = [line.split() for line in text.splitlines()]
        if len(rows) != 2:
            raise ScenarioFailed(f"{kdamonds} kdamonds did not get to {headroom:.0%} free\n{bench.unit_log()}")
        bench.wait(3)
        return (int(rows[1][1]) - int(rows[0][1])) * 1024 / (float(rows[1][0]) - float(rows[0][0]))

    def run(self, bench: Bench) -> None:
        self._total = bench.node_bytes(0)
        self._configure(bench, 1, FROM, "400M/s")
        bench.start()
        deadline = time.monotonic() + bench.seconds
        while self._free(bench) < FROM * self._total * 0.95:
            if time.monotonic() > deadline:
                raise ScenarioFailed("no headroom at the start")
            bench.wait(1)
        self.one = self._demote(bench, 1, MIDDLE)
        self.two = self._demote(bench, 2, TO)
        self.capped = self._demote(bench, 2, LAST, f"{LIMIT >> 20}M/s")
        self.kdamonds = len(bench.our_kdamonds())
        bench.measure()
        bench.result.figures |= {"one_mib_per_s": int(self.one) >> 20, "two_mib_per_s": int(self.two) >> 20,
                                 "gain": round(self.two / self.one, 2), "capped_mib_per_s": int(self.capped) >> 20}

    def judge(self, bench: Bench) -> list[str]:
        reasons = []
        if self.kdamonds != 3 and self.kdamonds != 4:
            reasons.append(f"{self.kdamonds} kdamonds run")
        if self.two < GAIN * self.one:
            reasons.append(f"two kdamonds demote only {self.two / self.one:.2f} times as fast as one")
        if self.capped > LIMIT * QUOTA_SLACK:
            reasons.append(f"two kdamonds demote {self.capped / 2**20:.0f} MiB/s, the limit is {LIMIT >> 20}")
        return reasons


SCENARIO = Slices()
