# SPDX-License-Identifier: GPL-2.0-or-later
"""Somebody wants much memory at once while fast memory is as full as the contender keeps it."""

from lab.bench import Bench
from lab.placement import Placement
from lab.scenario import Comparison

HOLD_S = 14
# Nothing waits for us; what a busy host takes away shows here too.
STALL_MS = 250
BACK_S = 10


class Burst(Comparison):
    name = "burst"
    summary = "a process takes a quarter of fast memory at once: no wait, no OOM, headroom back soon"
    seconds = 25  # the most that may pass until fast memory is as full as it stays

    def setup(self, bench: Bench) -> None:
        fast = bench.topology.fast[0]
        bench.start_workload([f"role=hot,name=hot,size=200,node={fast},touch",
                              f"role=cold,name=cold,fill,node={fast}"], interval_ms=250)

    def run(self, bench: Bench) -> None:
        self.reasons: list[str] = []
        node = bench.topology.fast[0]
        bench.start()
        self.headroom = bench.headroom_bytes(node)
        if not bench.await_placement(self._has_headroom(node), bench.seconds) and bench.contender.must_succeed:
            self.reasons.append(f"no headroom of {self.headroom} bytes within {bench.seconds:.0f} s")
        bench.wait(2)
        before, size = bench.vmstat(), bench.node_bytes(node) // 4 >> 21 << 1
        bench.guest.run("systemd-run --quiet --unit=lab-burst -p StandardOutput=file:/dev/ttyS2 "
                        f"/usr/lib/lab/burst {size} {HOLD_S * 1000} {node}")
        if not (burst := bench.await_event("burst", HOLD_S)):
            self.reasons.append("the burst did not get its memory")
            return
        bench.await_placement(lambda p: p.t > burst["t"] + HOLD_S, HOLD_S + 10)
        after = bench.vmstat()
        self._measure(bench, node, burst)
        bench.result.figures["burst_reclaims"] = sum(value - before[key] for key, value in after.items()
                                                     if key.startswith("allocstall"))
        bench.measure()

    def _has_headroom(self, node: int):
        return lambda p: p.free_bytes[node] >= (self.headroom or 0)

    def _measure(self, bench: Bench, node: int, burst: dict) -> None:
        during = [p for p in bench.placements() if burst["t"] - burst["took_s"] <= p.t < burst["t"] + HOLD_S]
        back: Placement | None = next((p for p in during if p.t >= burst["t"] and self._has_headroom(node)(p)), None)
        bench.result.figures |= {
            "burst_took_s": burst["took_s"],
            "burst_slowest_ms": burst["slowest_ms"],
            "burst_waited_ms": burst["waited_ms"],
            # From when the burst had all of it, and held it still.
            "burst_headroom_back_s": round(back.t - burst["t"], 3) if back and self.headroom else None,
            "burst_least_free_mib": min(p.free_bytes[node] for p in during) >> 20,
        }

    def judge(self, bench: Bench) -> list[str]:
        figures, reasons = bench.result.figures, list(self.reasons)
        if reasons or not bench.contender.must_succeed:
            return reasons
        if figures["burst_waited_ms"] > STALL_MS:
            reasons.append(f"the burst waited {figures['burst_waited_ms']} ms for 2 MiB, allowed are {STALL_MS} ms")
        if (back := figures["burst_headroom_back_s"]) is None or back > BACK_S:
            reasons.append(f"headroom was back after {back} s, allowed are {BACK_S} s")
        if (bench.result.hot_fast_share_end or 0) < 0.95:
            reasons.append(f"the burst drove the hot set out: {bench.result.hot_fast_share_end}")
        return reasons


SCENARIO = Burst()
