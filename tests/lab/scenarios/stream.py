# SPDX-License-Identifier: GPL-2.0-or-later
"""A scan touches everything once: that makes nothing hot."""

from lab.bench import Bench
from lab.scenario import Comparison

LEAST_HOT_SHARE = 0.9
SCAN_MIB = 600
# A pass takes 30 s: a page is touched once or twice in the whole run.
PACE_MIB = 20


class Stream(Comparison):
    name = "stream"
    summary = "a scan passes over slow memory again and again: the hot set stays"
    seconds = 35

    def setup(self, bench: Bench) -> None:
        fast, slow = bench.topology.fast[0], bench.topology.slow[0]
        bench.start_workload([f"role=hot,name=hot,size=300,node={fast},touch",
                              f"role=cold,name=cold,fill,node={fast}",
                              f"role=scan,name=scan,size={SCAN_MIB},node={slow},touch,pace={PACE_MIB}"])

    def run(self, bench: Bench) -> None:
        bench.start()
        bench.wait(bench.seconds)
        bench.measure()
        after = [p for p in bench.placements() if p.t >= 0]
        bench.result.figures["scan_fast_share_max"] = max(bench.fast_share(p, "scan") for p in after)

    def judge(self, bench: Bench) -> list[str]:
        result, reasons = bench.result, []
        first, last = (bench.placements()[i].set("scan") for i in (0, -1))
        if last.passes - first.passes < 1:
            reasons.append("the scan did not get through once")
        if not bench.contender.must_succeed:
            return reasons
        least = min(sample.hot_fast_share for sample in result.samples)
        if least < LEAST_HOT_SHARE:
            reasons.append(f"only {least:.1%} of the hot set stayed in fast memory")
        # How much of the scan rose is told, not judged: it replaces cold memory, and a higher PromoteMinAccess=, which keeps
        # it out (15%: nothing of it rises), makes a hot set that jumps arrive much later.
        return reasons


SCENARIO = Stream()
