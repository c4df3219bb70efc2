# SPDX-License-Identifier: GPL-2.0-or-later
"""Who does the tiering in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .bench import Bench

UNIT = "damon-tierd.service"


class Contender:
    name = ""
    needs_product = False
    # What a scenario may demand of it; the others are only measured.
    must_succeed = False
    start_command = "true"

    def started_at(self, bench: Bench) -> float | None:
        """When it was started, in seconds of uptime; None: when the start command was given."""
        del bench
        return None

    def totals(self, bench: Bench) -> tuple[int | None, int | None]:
        """Bytes promoted and demoted since the start."""
        del bench
        return None, None


class Nothing(Contender):
    name = "none"

    def totals(self, bench: Bench) -> tuple[int | None, int | None]:
        return 0, 0


class NumaBalancing(Contender):
    """The kernel's own promotion by hint faults, and demotion by reclaim."""

    name = "numab2"
    # Many users also set vm.zone_reclaim_mode=1; on kernels since 5.18 this mode keeps its own
    # headroom (the promotion watermark), so the lab measures it without.
    start_command = "echo 1 >/sys/kernel/mm/numa/demotion_enabled && echo 2 >/proc/sys/kernel/numa_balancing"

    def totals(self, bench: Bench) -> tuple[int | None, int | None]:
        delta = bench.vmstat_delta()
        demoted = sum(value for key, value in delta.items() if key.startswith("pgdemote_"))
        return delta.get("pgpromote_success", 0) * bench.page_bytes, demoted * bench.page_bytes


class Daemon(Contender):
    name = "damon-tierd"
    needs_product = True
    must_succeed = True
    start_command = f"systemctl enable --now {UNIT}"

    def started_at(self, bench: Bench) -> float | None:
        # Enabling makes systemd read every unit again, which takes longer here than all that the service does.
        return int(bench.unit_property("InactiveExitTimestampMonotonic") or 0) / 1e6 or None

    def totals(self, bench: Bench) -> tuple[int | None, int | None]:
        totals = bench.status().get("totals", {})
        return totals.get("promoted_bytes"), totals.get("demoted_bytes")


BY_NAME = {contender.name: contender for contender in (Daemon(), Nothing(), NumaBalancing())}
