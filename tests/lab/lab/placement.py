# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the workload's memory is at one moment, as it says itself."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Collection


@dataclass(frozen=True)
class SetPlace:
    name: str
    role: str
    size_bytes: int
    passes: int
    # Node -> share of the set's pages.
    nodes: dict[int, float]


@dataclass(frozen=True)
class Placement:
    # "ready" (all is placed), "sample", or "jump" (the windows have just moved).
    kind: str
    t: float
    free_bytes: dict[int, int]
    sets: tuple[SetPlace, ...]

    @staticmethod
    def parse(event: dict[str, Any]) -> Placement:
        sets = (SetPlace(s["name"], s["role"], s["bytes"], s["passes"],
                         {int(nid): share for nid, share in s["nodes"].items()}) for s in event["sets"])
        return Placement(event["event"], event["t"], {int(nid): size for nid, size in event["free"].items()}, tuple(sets))

    def since(self, t0: float) -> Placement:
        return dataclasses.replace(self, t=round(self.t - t0, 3))

    def bytes_of(self, role: str) -> int:
        return sum(s.size_bytes for s in self.sets if s.role == role)

    def bytes_on(self, nodes: Collection[int], role: str) -> int:
        return round(sum(s.size_bytes * share for s in self.sets if s.role == role
                         for nid, share in s.nodes.items() if nid in nodes))

    def share_on(self, nodes: Collection[int], role: str) -> float:
        total = self.bytes_of(role)
        return round(self.bytes_on(nodes, role) / total, 4) if total else 0.0

    def set(self, name: str) -> SetPlace:
        return next(s for s in self.sets if s.name == name)
