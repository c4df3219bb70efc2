# SPDX-License-Identifier: GPL-2.0-or-later
"""Sets of three temperatures: each ends where it belongs, on its tier and on its socket."""

from dataclasses import dataclass

from lab.bench import Bench, ScenarioFailed
from lab.placement import Placement
from lab.scenario import Comparison

WARM_PAUSE_US = 2000000
# How long it must be so. On 'three' warm memory tries to rise until the guard has seen that it only changes places with
# other memory that is as warm.
CLOSING_S = {"sockets": 15, "three": 50}


@dataclass(frozen=True)
class Expected:
    """What is true of a set in the end: at least that share of it is on these nodes."""

    name: str
    place: str
    nodes: tuple[int, ...]
    share: float

    def share_in(self, placement: Placement) -> float:
        return sum(share for nid, share in placement.set(self.name).nodes.items() if nid in self.nodes)


# Per topology, in the order of placement.
MACHINES = {
    "three": (
        # Together the hot sets are what tier 0 can take beside its headroom; so there is no room for warm pages.
        Expected("hot", "role=hot,size=600,node=2,touch", (0,), 0.95),
        Expected("hot-rest", "role=hot,size=200,node=0,touch", (0,), 0.95),
        Expected("warm", f"role=warm,size=500,node=0,touch,pause-us={WARM_PAUSE_US}", (1,), 0.75),
        # Where tier 1 has room beside the warm set, nothing needs to sink deeper.
        Expected("cold", "role=cold,fill,node=0", (1, 2), 0.95),
    ),
    "sockets": (
        # Each socket's own: no page may go to the other one, neither up nor down.
        Expected("hot0", "role=hot,size=150,node=2,touch,cpu=0", (0,), 0.95),
        Expected("hot1", "role=hot,size=150,node=3,touch,cpu=1", (1,), 0.95),
        Expected("warm0", f"role=warm,size=100,node=0,touch,cpu=0,pause-us={WARM_PAUSE_US}", (0,), 0.8),
        Expected("warm1", f"role=warm,size=100,node=1,touch,cpu=1,pause-us={WARM_PAUSE_US}", (1,), 0.8),
        Expected("cold0", "role=cold,fill,node=0", (0, 2), 0.99),
        Expected("cold1", "role=cold,fill,node=1", (1, 3), 0.99),
    ),
}


class Sets(Comparison):
    name = "sets"
    summary = "hot, warm and cold sets on three tiers (--topology sockets: beside two sockets): each ends on its own"
    topology = "three"
    seconds = 100  # the most; all sets in their places end it sooner

    def setup(self, bench: Bench) -> None:
        if bench.topology.name not in MACHINES:
            raise ScenarioFailed(f"nothing is known about sets on '{bench.topology.name}', only on {', '.join(MACHINES)}")
        self.expected = MACHINES[bench.topology.name]
        bench.start_workload([f"name={one.name},{one.place}" for one in self.expected])

    def run(self, bench: Bench) -> None:
        bench.start()
        closing = min(CLOSING_S[bench.topology.name], bench.seconds / 2)
        bench.await_placement(lambda p: all(one.share_in(p) >= one.share for one in self.expected), bench.seconds - closing)
        before = bench.migrated_pages()
        bench.wait(closing)
        bench.measure()
        size = sum(bench.node_bytes(nid) for nid in bench.topology.fast)
        pages = bench.migrated_pages() - before
        bench.result.migrated_per_minute_share = round(pages * bench.page_bytes / size * 60 / closing, 4)
        self.last = bench.placements()[-1]
        for one in self.expected:
            bench.result.figures[one.name] = self.last.set(one.name).nodes

    def judge(self, bench: Bench) -> list[str]:
        if not bench.contender.must_succeed:
            return []
        reasons = []
        for one in self.expected:
            if (share := one.share_in(self.last)) < one.share:
                where = " and ".join(str(nid) for nid in one.nodes)
                reasons.append(f"of set '{one.name}' {share:.1%} are on node {where}, expected {one.share:.0%}: "
                               f"{self.last.set(one.name).nodes}")
        # Hot pages above all: none of them may have gone to the other socket's fast memory.
        for one in self.expected if bench.topology.name == "sockets" else ():
            for placement in bench.placements():
                away = sum(share for nid, share in placement.set(one.name).nodes.items() if nid % 2 != one.nodes[0] % 2)
                if away > 0.01:
                    reasons.append(f"{placement.t:.0f} s after the start {away:.1%} of set '{one.name}' were on the other socket")
                    break
        return reasons


SCENARIO = Sets()
