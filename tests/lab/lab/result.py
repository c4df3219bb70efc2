# SPDX-License-Identifier: GPL-2.0-or-later
"""What one run measured."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any

TARGET_SHARE = 0.95


@dataclass
class Sample:
    t: float
    hot_fast_share: float
    cold_fast_share: float


@dataclass
class Result:
    scenario: str
    kernel: str
    topology: str
    contender: str
    seconds: float = 0
    samples: list[Sample] = field(default_factory=list)
    t95_s: float | None = None
    hot_fast_share_end: float | None = None
    # The lowest share after 95 % were reached for the first time.
    hot_fast_share_min: float | None = None
    # Where the hot set jumps: when, how much of the new one was in fast memory, seconds until 95 % were.
    jumps: list[dict[str, float | None]] = field(default_factory=list)
    # Of the fast nodes' size, in a window in which nothing needs to move.
    migrated_per_minute_share: float | None = None
    # What only this scenario measures.
    figures: dict[str, Any] = field(default_factory=dict)
    promoted_bytes: int | None = None
    demoted_bytes: int | None = None
    pgmigrate_bytes: int | None = None
    # Moved by the kernel's NUMA balancing, whoever the contender is.
    balanced_bytes: int | None = None
    least_bytes: int | None = None
    # All of the hot set, and what of it was in slow memory at the start.
    hot_bytes: int = 0
    hot_slow_start_bytes: int = 0
    kdamond_cpu_s: float | None = None
    daemon_cpu_s: float | None = None
    daemon_rss_kib: int | None = None
    daemon_rss_peak_kib: int | None = None
    boot_s: float | None = None
    wall_s: float | None = None
    kernel_warnings: list[str] = field(default_factory=list)
    failed_units: list[str] = field(default_factory=list)
    journal_errors: list[str] = field(default_factory=list)
    # Of a scenario that runs a test program: how many of its cases did what.
    cases_passed: int | None = None
    cases_failed: int | None = None
    skipped: str | None = None
    passed: bool = False
    reasons: list[str] = field(default_factory=list)

    def judge_samples(self) -> None:
        """Derive the numbers that everybody asks for from the samples after the start."""
        after = [s for s in self.samples if s.t >= 0]
        self.t95_s = next((s.t for s in after if s.hot_fast_share >= TARGET_SHARE), None)
        kept = [s.hot_fast_share for s in after if self.t95_s is not None and s.t >= self.t95_s]
        self.hot_fast_share_min = min(kept, default=None)
        self.hot_fast_share_end = after[-1].hot_fast_share if after else None

    def lacks_at_start(self) -> list[str]:
        """The hot set must start on slow memory, and fast memory be full of cold pages."""
        before = [sample for sample in self.samples if sample.t < 0]
        if before and before[-1].hot_fast_share <= 0.05 and before[-1].cold_fast_share >= 0.95:
            return []
        return [f"the start was not as intended: {before[-1:]}"]

    def lacks_at_end(self) -> list[str]:
        """The hot set must be in fast memory."""
        if (self.hot_fast_share_end or 0) >= TARGET_SHARE:
            return []
        return [f"only {self.hot_fast_share_end or 0:.1%} of the hot set is in fast memory at the end"]

    def summary(self) -> str:
        verdict = "FAIL" if not self.passed else "SKIP" if self.skipped else "PASS"
        words = [f"{verdict} {self.scenario} {self.contender} {self.topology} {self.kernel}:"]
        if self.skipped:
            words.append(f"{self.skipped},")
        if self.cases_passed is not None:
            words.append(f"{self.cases_passed} cases passed, {self.cases_failed} failed,")
        if self.hot_fast_share_end is not None:
            words.append(f"hot in fast {self.hot_fast_share_end:.1%} at the end,")
            words.append(f"95% after {self.t95_s:.1f} s," if self.t95_s is not None else "95% never,")
            if self.hot_fast_share_min is not None:
                words.append(f"then at least {self.hot_fast_share_min:.1%},")
        for jump in self.jumps:
            after = "never" if jump["t95_s"] is None else f"after {jump['t95_s']:.1f} s"
            words.append(f"jump to {jump['share']:.0%}: 95% {after},")
        if self.migrated_per_minute_share is not None:
            words.append(f"settled migrates {self.migrated_per_minute_share:.1%} per minute,")
        words += [f"{name} {value}," for name, value in self.figures.items()]
        if self.promoted_bytes is not None and self.demoted_bytes is not None:
            words.append(f"moved {mib(self.promoted_bytes)} up {mib(self.demoted_bytes)} down,")
        if self.pgmigrate_bytes is not None:
            words.append(f"migrated {mib(self.pgmigrate_bytes)}")
        if self.balanced_bytes:
            words.append(f"of it by NUMA balancing {mib(self.balanced_bytes)}")
        if self.least_bytes:
            words.append(f"(least {mib(self.least_bytes)}),")
        if self.kdamond_cpu_s is not None:
            words.append(f"kdamonds {self.kdamond_cpu_s:.2f} s CPU,")
        if self.daemon_cpu_s is not None:
            words.append(f"user space {self.daemon_cpu_s:.3f} s CPU,")
        if self.daemon_rss_kib is not None:
            words.append(f"{self.daemon_rss_kib} KiB,")
        words.append(f"boot {self.boot_s or 0:.1f} s, wall {self.wall_s or 0:.0f} s")
        return " ".join(words)

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def mib(size_bytes: int) -> str:
    return f"{size_bytes / (1 << 20):.0f} MiB"
