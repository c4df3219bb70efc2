# SPDX-License-Identifier: GPL-2.0-or-later
"""The hot set moves on slowly, over pages that lie on slow memory."""

from lab.bench import Bench
from lab.scenario import Comparison

SLIDE_MIB = 2
# Wanted are 0.9, which most runs are far above. Now and then the monitoring takes 15 s to tell the little that became hot
# from what is cold around it.
LEAST_SHARE = 0.85
# So long it slides after it was in fast memory for the first time.
WATCH_S = 25


class Drift(Comparison):
    name = "drift"
    summary = f"the hot set slides by {SLIDE_MIB} MiB per second over cold slow memory: fast memory follows"
    seconds = 50

    def setup(self, bench: Bench) -> None:
        fast, slow = bench.topology.fast[0], bench.topology.slow[0]
        bench.start_workload([f"role=hot,name=pool,size=1300,node={fast},rest={slow},"
                              f"window=300,at=900,slide={SLIDE_MIB},touch"], interval_ms=500)

    def run(self, bench: Bench) -> None:
        bench.start()
        if bench.await_hot(bench.seconds - WATCH_S):
            bench.wait(WATCH_S)
        bench.measure()

    def judge(self, bench: Bench) -> list[str]:
        result, reasons = bench.result, []
        # It has to move for real, and only over what was cold.
        first, last = ({s.name: s.size_bytes for s in p.sets} for p in (bench.placements()[0], bench.placements()[-1]))
        slid = last["pool-before"] - first["pool-before"]
        if slid < SLIDE_MIB * WATCH_S << 20 or "pool-after" not in last:
            reasons.append(f"the hot set slid by {slid} bytes to {last}")
        if not bench.contender.must_succeed:
            return reasons
        if result.hot_fast_share_min is None:
            reasons.append("the hot set never was in fast memory")
        elif result.hot_fast_share_min < LEAST_SHARE:
            reasons.append(f"only {result.hot_fast_share_min:.1%} of the hot set stayed in fast memory")
        return reasons


SCENARIO = Drift()
