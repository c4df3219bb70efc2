# SPDX-License-Identifier: GPL-2.0-or-later
"""Who does the tiering in a run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from . import peers

if TYPE_CHECKING:
    from .bench import Bench

UNIT = "damon-tierd.service"
CONFIG = "/etc/damon-tierd.conf"
DAMON = "/sys/kernel/mm/damon/admin/kdamonds"


class Contender:
    name = ""
    needs_product = False
    # What a scenario may demand of it; the others are only measured.
    must_succeed = False
    start_command = "true"

    def tree(self) -> Path | None:
        """Files that the guest needs for it."""
        return None

    def unsupported(self, bench: Bench) -> str | None:
        """Why it can't work on the guest's kernel; None where it can."""
        del bench
        return None

    def started_at(self, bench: Bench) -> float | None:
        """When it was started, in seconds of uptime; None: when the start command was given."""
        del bench
        return None

    def cost(self, bench: Bench) -> tuple[float | None, int | None, int | None]:
        """What its part in user space took: seconds of CPU, KiB of memory now and at most."""
        del bench
        return None, None, None

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
    # The three settings that go together in the guides. The last one made no difference that could be
    # told from chance: at 60 s 99.8 and 89.1 % of a hot set were up without it, 78.3 and 96.7 % with it.
    start_command = ("echo 1 >/sys/kernel/mm/numa/demotion_enabled && echo 2 >/proc/sys/kernel/numa_balancing && "
                     "echo 1 >/proc/sys/vm/zone_reclaim_mode")

    def totals(self, bench: Bench) -> tuple[int | None, int | None]:
        delta = bench.vmstat_delta()
        demoted = sum(value for key, value in delta.items() if key.startswith("pgdemote_"))
        return delta.get("pgpromote_success", 0) * bench.page_bytes, demoted * bench.page_bytes


class MemTier(Contender):
    """What users set up today: damo with the options of its script for memory tiers (scripts/mem_tier.sh)."""

    name = "mem-tier"
    # One kdamond per node. The script's quota is 200 MB a second, and it lets the kernel's default tuner work.
    _NODE = ("--numa_node {node} --monitoring_intervals_goal 4% 3 5ms 10s --damos_action {action} {target} "
             "--damos_access_rate {rate} --damos_apply_interval 1s --damos_quota_interval 1s --damos_quota_space 200MB "
             "--damos_quota_goal {goal} 0 --damos_filter {filter} young ")
    # Runs a command and notes when it began, its CPU time and its memory. It is gone when we come to look.
    _NOTES = "/run/mem-tier"
    _NOTED = ("import resource, subprocess, sys, time; t = time.clock_gettime(time.CLOCK_BOOTTIME); "
              "status = subprocess.call(sys.argv[2:]); u = resource.getrusage(resource.RUSAGE_CHILDREN); "
              "print(t, u.ru_utime + u.ru_stime, u.ru_maxrss, file=open(sys.argv[1], 'w')); sys.exit(status)")
    start_command = (
        "mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing; "
        "f=/sys/module/damon_stat/parameters/enabled; [ ! -e $f ] || echo N >$f; "
        f'HOME=/root PYTHONDONTWRITEBYTECODE=1 python3 -c "{_NOTED}" {_NOTES} damo start '
        + _NODE.format(node=0, action="migrate_cold", target=1, rate="0% 0%", goal="node_mem_free_bp 0.5%", filter="reject")
        + _NODE.format(node=1, action="migrate_hot", target=0, rate="5% max", goal="node_mem_used_bp 99.7%", filter="allow")
        + "--damos_nr_quota_goals 1 1 --damos_nr_filters 1 1 --nr_targets 1 1 --nr_schemes 1 1 --nr_ctxs 1 1"
    )

    def tree(self) -> Path | None:
        return peers.damo()

    def unsupported(self, bench: Bench) -> str | None:
        """Its goals are about nodes, which a kernel shows by a file. Nobody else uses the tree yet."""
        steps = (("", "nr_kdamonds"), ("/0/contexts", "nr_contexts"), ("/0/contexts/0/schemes", "nr_schemes"),
                 ("/0/contexts/0/schemes/0/quotas/goals", "nr_goals"))
        stage = " && ".join(f"echo 1 >{DAMON}{directory}/{count}" for directory, count in steps)
        status = bench.guest.call(f"{stage} && test -e {DAMON}{steps[-1][0]}/0/nid")[0]
        bench.guest.run(f"echo 0 >{DAMON}/nr_kdamonds")
        return "the kernel has no quota goals for nodes" if status != 0 else None

    def _notes(self, bench: Bench) -> list[float]:
        return [float(word) for word in (bench.guest.read(self._NOTES) or "").split()]

    def started_at(self, bench: Bench) -> float | None:
        notes = self._notes(bench)
        return notes[0] if notes else None

    def cost(self, bench: Bench) -> tuple[float | None, int | None, int | None]:
        """damo's, which has ended: so its memory is what it took at most."""
        notes = self._notes(bench)
        return (notes[1], int(notes[2]), int(notes[2])) if notes else (None, None, None)

    def totals(self, bench: Bench) -> tuple[int | None, int | None]:
        """By the schemes' counters, which the kernel fills in when asked."""
        moved = []
        for kdamond in (1, 0):
            directory = f"{DAMON}/{kdamond}"
            text = bench.guest.call(f"for n in $(seq 100); do echo update_schemes_stats >{directory}/state && break; sleep 0.05; "
                                    f"done 2>/dev/null; cat {directory}/contexts/0/schemes/0/stats/sz_applied")[1]
            moved.append(int(text) if text.strip().isdigit() else None)
        return moved[0], moved[1]


class Daemon(Contender):
    name = "damon-tierd"
    needs_product = True
    must_succeed = True
    start_command = f"systemctl enable --now {UNIT}"

    def started_at(self, bench: Bench) -> float | None:
        # Enabling makes systemd read every unit again, which takes longer here than all that the service does.
        return int(bench.unit_property("InactiveExitTimestampMonotonic") or 0) / 1e6 or None

    def cost(self, bench: Bench) -> tuple[float | None, int | None, int | None]:
        usage = re.search(r"usage_usec (\d+)", bench.guest.read(f"/sys/fs/cgroup/system.slice/{UNIT}/cpu.stat") or "")
        status = bench.guest.read(f"/proc/{bench.main_pid()}/status") or ""
        memory = [re.search(rf"^{key}:\s+(\d+) kB", status, re.M) for key in ("VmRSS", "VmHWM")]
        now_kib, most_kib = (int(match[1]) if match else None for match in memory)
        return int(usage[1]) / 1e6 if usage else None, now_kib, most_kib

    def totals(self, bench: Bench) -> tuple[int | None, int | None]:
        totals = bench.status().get("totals", {})
        return totals.get("promoted_bytes"), totals.get("demoted_bytes")


BY_NAME = {contender.name: contender for contender in (Daemon(), MemTier(), NumaBalancing(), Nothing())}
