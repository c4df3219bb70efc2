# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines with memory tiers, each a short declaration.

A node's `near` gives what the firmware's HMAT will say: initiator node -> (latency in ns, bandwidth).
Latency is told to the kernel only; the emulation does not slow any access down.
"""

from __future__ import annotations

from dataclasses import dataclass, field

DRAM = (80, "100G")
CXL = (250, "25G")
FAR_DRAM = (140, "60G")
FAR_CXL = (400, "12G")


@dataclass(frozen=True)
class Node:
    mib: int
    cpus: str = ""
    near: dict[int, tuple[int, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Hot:
    """A part of the hot set: where it starts, and which CPU uses it (any: None)."""

    node: int
    share: float = 1.0
    cpu: int | None = None


@dataclass(frozen=True)
class Topology:
    name: str
    summary: str
    nodes: tuple[Node, ...]
    fast: tuple[int, ...]
    hot: tuple[Hot, ...] = ()
    distances: dict[tuple[int, int], int] = field(default_factory=dict)
    smp: str = "2"
    hmat: bool = True

    @property
    def slow(self) -> tuple[int, ...]:
        return tuple(n for n, node in enumerate(self.nodes) if node.mib and n not in self.fast)

    def qemu(self) -> list[str]:
        """The machine as qemu options."""
        options = ["-machine", f"q35,hmat={'on' if self.hmat else 'off'}", "-smp", self.smp]
        options += ["-m", f"{sum(node.mib for node in self.nodes)}M"]
        for nid, node in enumerate(self.nodes):
            numa = f"node,nodeid={nid}"
            if node.cpus:
                numa += f",cpus={node.cpus}"
            if node.mib:
                options += ["-object", f"memory-backend-ram,id=mem{nid},size={node.mib}M"]
                numa += f",memdev=mem{nid}"
            if self.hmat:
                best = min(node.near, key=lambda initiator: node.near[initiator][0])
                numa += f",initiator={best}"
            options += ["-numa", numa]
        for (source, target), distance in self.distances.items():
            options += ["-numa", f"dist,src={source},dst={target},val={distance}"]
        for target, node in enumerate(self.nodes if self.hmat else ()):
            for initiator, (latency, bandwidth) in node.near.items():
                pair = f"hmat-lb,initiator={initiator},target={target},hierarchy=memory"
                options += ["-numa", f"{pair},data-type=access-latency,latency={latency}"]
                options += ["-numa", f"{pair},data-type=access-bandwidth,bandwidth={bandwidth}"]
        return options


_ALL = (
    Topology(
        "two", "DRAM and one slower node without CPUs",
        (Node(1024, "0-1", {0: DRAM}), Node(1024, near={0: CXL})),
        fast=(0,), hot=(Hot(1),), distances={(0, 1): 20},
    ),
    Topology(
        "cold", "as 'two', with room for a lot of cold memory",
        (Node(2048, "0-1", {0: DRAM}), Node(2048, near={0: CXL})),
        fast=(0,), distances={(0, 1): 20},
    ),
    Topology(
        "wide", "as 'cold', with four CPUs",
        (Node(2048, "0-3", {0: DRAM}), Node(2048, near={0: CXL})),
        fast=(0,), smp="4", distances={(0, 1): 20},
    ),
    Topology(
        "flat", "as 'two', but the firmware says nothing, so the kernel sees one tier",
        (Node(1024, "0-1"), Node(1024)),
        fast=(0,), hot=(Hot(1),), distances={(0, 1): 20}, hmat=False,
    ),
    Topology(
        "sockets", "two sockets, each with DRAM and a slower node of its own",
        (
            Node(640, "0", {0: DRAM, 1: FAR_DRAM}), Node(640, "1", {0: FAR_DRAM, 1: DRAM}),
            Node(640, near={0: CXL, 1: FAR_CXL}), Node(640, near={0: FAR_CXL, 1: CXL}),
        ),
        fast=(0, 1), hot=(Hot(2, 0.5, 0), Hot(3, 0.5, 1)), smp="2,sockets=2",
        distances={(0, 1): 21, (0, 2): 17, (0, 3): 28, (1, 2): 28, (1, 3): 17, (2, 3): 28},
    ),
    Topology(
        "three", "three tiers, each node slower than the one before",
        (Node(1024, "0-1", {0: DRAM}), Node(768, near={0: (180, "50G")}), Node(768, near={0: (400, "12G")})),
        fast=(0,), hot=(Hot(2),), distances={(0, 1): 17, (0, 2): 28, (1, 2): 28},
    ),
    Topology(
        "memoryless", "a node that has a CPU and no memory, between DRAM and the slower node",
        (Node(1024, "0", {0: DRAM}), Node(0, "1", {1: DRAM}), Node(1024, near={0: CXL, 1: CXL})),
        fast=(0,), hot=(Hot(2),), smp="2,sockets=2", distances={(0, 1): 20, (0, 2): 20, (1, 2): 20},
    ),
    Topology(
        "single", "one node: nothing to tier",
        (Node(2048, "0-1", {0: DRAM}),),
        fast=(0,),
    ),
)

BY_NAME = {topology.name: topology for topology in _ALL}
