# SPDX-License-Identifier: GPL-2.0-or-later
"""The hot set jumps: what was cold is hot at once, twice."""

from lab.bench import Bench
from lab.placement import Placement
from lab.result import TARGET_SHARE
from lab.scenario import Comparison

N_JUMPS = 2
# Wanted are 10 s; a busy host makes everything slower.
LIMIT_S = 15
# The old hot set has been in use for a while when the jump comes.
SETTLE_S = 5


class Shift(Comparison):
    name = "shift"
    summary = "the hot set jumps to other pages, twice: in fast memory again soon"
    # Of each of the three parts that is the most; a part ends soon after the hot set is in fast memory.
    seconds = 75

    def setup(self, bench: Bench) -> None:
        fast, slow = bench.topology.fast[0], bench.topology.slow[0]
        bench.start_workload([f"role=hot,name=pool,size=1300,node={fast},rest={slow},window=300,touch"], interval_ms=250)

    def run(self, bench: Bench) -> None:
        bench.wait(1)
        bench.start()
        at_most = bench.seconds / (N_JUMPS + 1)
        jumps: list[Placement] = []
        for number in range(N_JUMPS + 1):
            if number:
                jumps.append(bench.jump())
            if bench.await_hot(at_most - SETTLE_S):
                bench.wait(SETTLE_S)
        bench.measure()
        bench.result.hot_fast_share_min = None  # that it falls is the point here
        ends = [jump.t for jump in jumps[1:]] + [float("inf")]
        for jump, end in zip(jumps, ends):
            t95 = next((p.t for p in bench.placements()
                        if jump.t <= p.t < end and bench.fast_share(p, "hot") >= TARGET_SHARE), None)
            bench.result.jumps.append({"t": jump.t, "share": bench.fast_share(jump, "hot"),
                                       "t95_s": None if t95 is None else round(t95 - jump.t, 3)})

    def judge(self, bench: Bench) -> list[str]:
        result, reasons = bench.result, []
        for jump in result.jumps:
            if (jump["share"] or 0) > 0.8:
                reasons.append(f"a jump went to pages of which {jump['share']:.0%} were in fast memory already")
        if not bench.contender.must_succeed:
            return reasons
        if result.t95_s is None:
            reasons.append("the first hot set never was in fast memory")
        for number, jump in enumerate(result.jumps, 1):
            if jump["t95_s"] is None:
                reasons.append(f"after jump {number} the hot set was not in fast memory any more")
            elif jump["t95_s"] > LIMIT_S:
                reasons.append(f"after jump {number} it took {jump['t95_s']:.1f} s, allowed are {LIMIT_S} s")
        return reasons


SCENARIO = Shift()
