# SPDX-License-Identifier: GPL-2.0-or-later
"""No room anywhere: what is tried in vain must be little, and the status must say why nothing moves.

Cold and hot pages can change places by way of the little that lies between the watermarks. Whether that
is done, and how fast, is recorded and not judged.
"""

from typing import Any

from lab.bench import Bench
from lab.result import TARGET_SHARE
from lab.scenario import Comparison

CLOSING_S = 15
# In pages, of the fast node's: as little as may be migrated where nothing needs to move.
FAILED_PER_MINUTE_SHARE = 0.02
# Less than that in the closing window is standstill.
MOVING_BYTES = 1 << 20
# Of a scheme that stands still: it has no room, or it is held back because it had none.
TRUE_VERDICTS = {"target-full", "backed-off"}


class Full(Comparison):
    name = "full"
    summary = "both nodes are full: no storm of failed migrations, and the status says why nothing moves"
    seconds = 40

    def setup(self, bench: Bench) -> None:
        fast, slow = bench.topology.fast[0], bench.topology.slow[0]
        bench.start_workload([f"role=cold,name=high,fill,node={fast}",
                              f"role=hot,name=hot,size=200,node={slow},touch",
                              f"role=cold,name=low,fill,node={slow}"])

    def run(self, bench: Bench) -> None:
        bench.start()
        closing = min(CLOSING_S, bench.seconds / 2)
        bench.wait(bench.seconds - closing)
        vmstat, self.before = bench.vmstat(), bench.status()
        bench.wait(closing)
        bench.measure()
        self.after = bench.status()
        delta = {key: value - vmstat[key] for key, value in bench.vmstat().items()}
        pages = sum(bench.node_bytes(nid) for nid in bench.topology.fast) // bench.page_bytes
        # What kdamonds isolate, fail to move and put back costs CPU, and shows in no count of failures.
        # Kernels before 6.14 don't tell.
        tells = "passed" in self.after.get("features", "").split()
        vain = sum(self._moved(way, "passed_bytes") - self._moved(way, "applied_bytes") for way in ("demote", "promote"))
        bench.result.figures |= {
            "failed_per_minute_share": round(delta["pgmigrate_fail"] / pages / closing * 60, 4),
            "vain_mib_per_s": round(vain / closing) >> 20 if tells else None,
            "reclaims": sum(value for key, value in delta.items() if key.startswith("allocstall")),
            "verdicts": {way: [s.get("verdict") for s in self._schemes(self.after, way)] for way in ("demote", "promote")},
        }

    @staticmethod
    def _schemes(status: dict[str, Any], direction: str) -> list[dict[str, Any]]:
        return [s for s in status.get("schemes", []) if s["direction"] == direction]

    def _moved(self, direction: str, what: str) -> int:
        before, after = (sum(s.get(what, 0) for s in self._schemes(status, direction)) for status in (self.before, self.after))
        return after - before

    def judge(self, bench: Bench) -> list[str]:
        if not bench.contender.must_succeed:
            return []
        reasons = []
        failed = bench.result.figures["failed_per_minute_share"]
        if failed > FAILED_PER_MINUTE_SHARE:
            reasons.append(f"migrations of {failed:.1%} of fast memory's pages fail per minute, "
                           f"allowed are {FAILED_PER_MINUTE_SHARE:.0%}")
        fast, slow = ({n["nid"]: n for n in self.after["nodes"]}[nodes[0]] for nodes in (bench.topology.fast, bench.topology.slow))
        # The daemon itself stops a little above the floor.
        if slow["free_bytes"] > slow["floor_bytes"] + (8 << 20) and fast["free_bytes"] < fast["headroom_bytes"]:
            reasons.append(f"the slow node was not full: {slow}")
        # Cold pages find no room below, hot ones none above.
        stuck = {"demote": fast["free_bytes"] < fast["headroom_bytes"],
                 "promote": fast["free_bytes"] <= fast["reserve_bytes"] and (bench.result.hot_fast_share_end or 0) < TARGET_SHARE}
        for direction, verdicts in bench.result.figures["verdicts"].items():
            if not stuck[direction] or self._moved(direction, "applied_bytes") >= MOVING_BYTES:
                continue
            if not verdicts or set(verdicts) - TRUE_VERDICTS:
                reasons.append(f"the verdict of '{direction}' is {verdicts}, but there is no room")
        return reasons


SCENARIO = Full()
