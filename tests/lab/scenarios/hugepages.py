# SPDX-License-Identifier: GPL-2.0-or-later
"""The main job with huge pages: they move whole."""

import re

from lab.bench import Bench
from lab.scenario import Comparison

LEAST_HUGE_SHARE = 0.9
# Whether the hot set stays, and in one piece.
SETTLE_S = 6


class HugePages(Comparison):
    name = "hugepages"
    summary = "as hotset, with transparent huge pages: the hot ones rise, and stay huge"
    seconds = 30  # the most that may pass until the hot set is in fast memory

    def setup(self, bench: Bench) -> None:
        fast, slow = bench.topology.fast[0], bench.topology.slow[0]
        bench.start_workload([f"role=cold,name=cold,fill,node={fast},huge",
                              f"role=hot,name=hot,size=300,node={slow},touch,huge"])

    def run(self, bench: Bench) -> None:
        before = self._huge_share(bench)
        bench.start()
        if bench.await_hot(bench.seconds):
            bench.wait(SETTLE_S)
        bench.measure()
        bench.result.figures |= {"huge_share_start": before, "huge_share_end": self._huge_share(bench)}

    def _huge_share(self, bench: Bench) -> float:
        """How much of the workload's memory is in huge pages."""
        pid = bench.guest.run("systemctl show --value -p MainPID lab-workload").strip()
        match = re.search(r"^AnonHugePages:\s+(\d+) kB", bench.guest.run(f"cat /proc/{pid}/smaps_rollup"), re.M)
        total = sum(s.size_bytes for s in bench.placements()[-1].sets)
        return round((int(match[1]) << 10) / total, 4) if match else 0.0

    def judge(self, bench: Bench) -> list[str]:
        result, reasons = bench.result, []
        if result.figures["huge_share_start"] < LEAST_HUGE_SHARE:
            reasons.append(f"only {result.figures['huge_share_start']:.1%} of the memory was in huge pages at the start")
        if not bench.contender.must_succeed:
            return reasons
        reasons += result.lacks_at_end()
        if result.figures["huge_share_end"] < LEAST_HUGE_SHARE:
            reasons.append(f"only {result.figures['huge_share_end']:.1%} of the memory is still in huge pages")
        return reasons


SCENARIO = HugePages()
