# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything fits into fast memory: whatever moves is waste."""

from lab.bench import Bench
from lab.result import mib
from lab.scenario import Scenario


class Fits(Scenario):
    name = "fits"
    summary = "hot and cold memory all fit into fast memory: nothing may move"
    seconds = 60
    daemon_only = False

    def setup(self, bench: Bench) -> None:
        node = bench.topology.fast[0]
        bench.start_workload([f"role=cold,name=cold,size=300,node={node}",
                              f"role=hot,name=hot,size=300,node={node},touch"])

    def run(self, bench: Bench) -> None:
        bench.start()
        bench.wait(bench.seconds)
        bench.measure()

    def judge(self, bench: Bench) -> list[str]:
        result, reasons = bench.result, []
        moved = (result.promoted_bytes or 0) + (result.demoted_bytes or 0)
        if moved:
            reasons.append(f"{mib(moved)} moved although everything fits")
        # An independent count. Others migrate too: NUMA balancing and compaction say how much.
        delta = bench.vmstat_delta()
        others = delta.get("numa_pages_migrated", 0) + delta.get("compact_isolated", 0)
        unexplained = delta.get("pgmigrate_success", 0) - others
        if bench.contender.must_succeed and unexplained > 0:
            reasons.append(f"{unexplained} pages were migrated by something else than balancing or compaction")
        if result.hot_fast_share_end is None or result.hot_fast_share_end < 0.99:
            reasons.append(f"the hot set is not in fast memory: {result.hot_fast_share_end}")
        return reasons


SCENARIO = Fits()
