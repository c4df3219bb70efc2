# SPDX-License-Identifier: GPL-2.0-or-later
"""More is hot than fits: once fast memory has nothing but hot pages, moving more is waste."""

from lab.bench import Bench
from lab.scenario import Comparison

CALM_AFTER_S = 60
# Two percent are the aim, which the median of quiet runs is held to. On a busy host the emulated CPUs pass over the hot
# set so slowly that much of it looks idle, and one burst in the window that is watched is ten percent or more.
MIGRATED_PER_MINUTE_SHARE = 0.20
LEAST_HOT_SHARE = 0.95


class Thrash(Comparison):
    name = "thrash"
    summary = "the hot set is larger than fast memory: it fills it, then nothing moves back and forth"
    seconds = 100

    def setup(self, bench: Bench) -> None:
        fast, slow = bench.topology.fast[0], bench.topology.slow[0]
        # The pause leaves the two emulated CPUs some time for everybody else.
        bench.start_workload([f"role=cold,name=cold,size=150,node={fast}",
                              f"role=hot,name=high,fill,node={fast},touch,pause-us=100000",
                              f"role=hot,name=low,size=400,node={slow},touch,pause-us=100000"])

    def run(self, bench: Bench) -> None:
        bench.start()
        calm = min(CALM_AFTER_S, bench.seconds * 0.6)
        bench.wait(calm)
        before, totals = bench.migrated_pages(), bench.contender.totals(bench)
        bench.wait(bench.seconds - calm)
        bench.measure()
        pages = bench.migrated_pages() - before
        size = sum(bench.node_bytes(nid) for nid in bench.topology.fast)
        bench.result.migrated_per_minute_share = round(pages * bench.page_bytes / size * 60 / (bench.seconds - calm), 4)
        # Both ways alike is back and forth; one way is something that has not ended yet.
        for way, was, now in zip(("up", "down"), totals, (bench.result.promoted_bytes, bench.result.demoted_bytes)):
            bench.result.figures[f"settled_mib_{way}"] = ((now or 0) - (was or 0)) >> 20
        last = bench.placements()[-1]
        hot, cold = (last.bytes_on(bench.topology.fast, role) for role in ("hot", "cold"))
        bench.result.figures["hot_share_of_fast"] = round(hot / (hot + cold), 4)

    def judge(self, bench: Bench) -> list[str]:
        result, reasons = bench.result, []
        last = bench.placements()[-1]
        if last.bytes_of("hot") < 1.1 * sum(bench.node_bytes(nid) for nid in bench.topology.fast):
            reasons.append(f"the hot set has only {last.bytes_of('hot')} bytes: it would fit")
        if not bench.contender.must_succeed:
            return reasons
        if (result.migrated_per_minute_share or 0) > MIGRATED_PER_MINUTE_SHARE:
            reasons.append(f"{result.migrated_per_minute_share:.1%} of fast memory's size are migrated per minute, "
                           f"allowed are {MIGRATED_PER_MINUTE_SHARE:.0%}")
        if result.figures["hot_share_of_fast"] < LEAST_HOT_SHARE:
            reasons.append(f"only {result.figures['hot_share_of_fast']:.1%} of what the workload has in fast memory is hot")
        return reasons


SCENARIO = Thrash()
