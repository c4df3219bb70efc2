# SPDX-License-Identifier: GPL-2.0-or-later
"""The main job with files: page cache that is read all the time, and page cache that nobody reads."""

from lab.bench import Bench
from lab.scenario import Comparison

# What rises by mistake, or breaks, does so after the hot set.
SETTLE_S = 6


class PageCache(Comparison):
    name = "pagecache"
    summary = "as hotset, with mapped files instead of anonymous memory"
    seconds = 30  # the most that may pass until the hot set is in fast memory

    def setup(self, bench: Bench) -> None:
        fast, slow = bench.topology.fast[0], bench.topology.slow[0]
        bench.start_workload([f"role=cold,name=cold,fill,node={fast},file",
                              f"role=hot,name=hot,size=300,node={slow},touch,file",
                              # Files on slow memory that nobody reads have no business in fast memory.
                              f"role=idle,name=idle,size=200,node={slow},file"])

    def run(self, bench: Bench) -> None:
        bench.wait(2)
        bench.start()
        if bench.await_hot(bench.seconds):
            bench.wait(SETTLE_S)
        bench.measure()
        bench.result.figures["idle_fast_share_end"] = bench.fast_share(bench.placements()[-1], "idle")

    def judge(self, bench: Bench) -> list[str]:
        result, reasons = bench.result, bench.result.lacks_at_start()
        if not bench.contender.must_succeed:
            return reasons
        reasons += result.lacks_at_end()
        if result.figures["idle_fast_share_end"] > 0.05:
            reasons.append(f"{result.figures['idle_fast_share_end']:.1%} of files that nobody reads rose into fast memory")
        return reasons


SCENARIO = PageCache()
