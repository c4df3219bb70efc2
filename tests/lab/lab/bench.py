# SPDX-License-Identifier: GPL-2.0-or-later
"""One scenario on one guest, from power-on to verdict."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

from . import cache, contenders, health, image, kernels, product, topologies
from .contenders import CONFIG, UNIT, Contender
from .guest import Guest, GuestError
from .placement import Placement
from .result import TARGET_SHARE, Result, Sample
from .scenario import Scenario

STATUS_PATH = "/run/damon-tierd/status.json"
DAMON = "/sys/kernel/mm/damon/admin/kdamonds"
READY_TIMEOUT_S = 120


@dataclass
class Options:
    kernel: str = kernels.DEFAULT
    topology: str | None = None
    contender: str | None = None
    config: Path | None = None
    seconds: float | None = None
    build: Path | None = None
    sysctls: dict[str, str] = field(default_factory=dict)
    artifacts: Path | None = None
    on_line: Callable[[str], None] | None = None
    on_sample: Callable[[Sample], None] | None = None
    # Called once the contender runs, with the guest up.
    on_start: Callable[[Bench], None] | None = None
    on_phase: Callable[[str], None] = lambda text: None


class ScenarioFailed(RuntimeError):
    """The scenario can't go on: a step that everything after needs did not work."""


class Bench:
    """What a scenario works with: the guest, the workload, the contender, the measurements."""

    page_bytes = 4096

    def __init__(self, scenario: Scenario, options: Options, directory: Path) -> None:
        self.scenario = scenario
        self.options = options
        self.directory = directory
        self.topology = topologies.BY_NAME[options.topology or scenario.topology]
        self.contender: Contender = contenders.BY_NAME[options.contender or scenario.contender]
        self.seconds = scenario.seconds if options.seconds is None else options.seconds
        self.journal: list[dict[str, Any]] = []
        self.notes: list[str] = []
        # What the lab's programs said beside placements.
        self.events: list[dict[str, Any]] = []
        self._placements: list[Placement] = []
        self._arrived = threading.Condition()
        self._t0: float | None = None
        self._vmstat_start: dict[str, int] = {}
        self._vmstat_end: dict[str, int] | None = None
        self._kdamonds_before: set[int] = set()
        self._kdamond_ticks: dict[int, int] = {}
        self._last_status: dict[str, Any] = {}
        options.on_phase("getting everything ready (the first time takes minutes, later seconds)")
        self._kernel = kernels.fetch(options.kernel)
        self.result = Result(scenario.name, self._kernel.release, self.topology.name, self.contender.name,
                             seconds=self.seconds)
        disks = [image.root_image(), product.disk(directory, self.contender.needs_product, options.build,
                                                   self.contender.tree())]
        self.guest = Guest(self._kernel, self.topology, disks, directory, self._on_line)

    # --- the workload ---

    def start_workload(self, sets: list[str], interval_ms: int = 1000) -> None:
        """Start the workload and wait until its memory is in place."""
        self.options.on_phase("filling memory")
        arguments = " ".join(f"--set {s}" for s in sets)
        self.guest.run("systemd-run --quiet --unit=lab-workload -p StandardOutput=file:/dev/ttyS2 "
                       f"-p LimitMEMLOCK=infinity /usr/lib/lab/workload --interval-ms {interval_ms} {arguments}")
        deadline = time.monotonic() + READY_TIMEOUT_S
        while not any(placement.kind == "ready" for placement in self._placements):
            with self._arrived:
                self._arrived.wait(1)
            if self.guest.call("systemctl is-active lab-workload")[0] != 0:
                raise ScenarioFailed("the workload ended early")
            if time.monotonic() > deadline:
                raise ScenarioFailed(f"the workload was not ready within {READY_TIMEOUT_S} s")

    def place_hot_and_cold(self, hot_mib: int = 300) -> None:
        """The usual start: fast memory full of cold pages, the hot set on slow nodes."""
        sets = [f"role=cold,name=cold{nid},fill,node={nid}" for nid in self.topology.fast]
        for hot in self.topology.hot:
            cpu = "" if hot.cpu is None else f",cpu={hot.cpu}"
            sets.append(f"role=hot,name=hot{hot.node},size={int(hot_mib * hot.share)},node={hot.node},touch{cpu}")
        self.start_workload(sets)

    def placements(self) -> list[Placement]:
        """All that the workload has said about its memory, in times since the start."""
        return [placement.since(self._t0 or 0) for placement in self._placements]

    def await_placement(self, wanted: Callable[[Placement], bool], seconds: float, since: int | None = None) -> Placement | None:
        """The first placement from now on (or from number @since on) that is as wanted; None when none is in time."""
        deadline = time.monotonic() + seconds
        seen = len(self._placements) if since is None else since
        while True:
            for placement in self.placements()[seen:]:
                seen += 1
                if wanted(placement):
                    return placement
            if not self.guest.alive():
                raise GuestError("the guest died")
            if time.monotonic() > deadline:
                return None
            with self._arrived:
                self._arrived.wait(0.2)

    def await_hot(self, seconds: float) -> Placement | None:
        """Wait until the hot set is in fast memory."""
        return self.await_placement(lambda p: self.fast_share(p, "hot") >= TARGET_SHARE, seconds)

    def jump(self) -> Placement:
        """Make the windows of all sets jump; how things were right after that."""
        seen = len(self._placements)
        self.guest.run("systemctl kill -s USR1 lab-workload")
        placement = self.await_placement(lambda p: p.kind == "jump", 10, seen)
        if not placement:
            raise ScenarioFailed("the workload did not jump")
        return placement

    def await_event(self, name: str, seconds: float) -> dict[str, Any] | None:
        """The first line that another of the lab's programs says under that name, its time counted as placements' is."""
        deadline = time.monotonic() + seconds
        while True:
            for event in self.events:
                if event["event"] == name:
                    return {**event, "t": round(event["t"] - (self._t0 or 0), 3)}
            if time.monotonic() > deadline:
                return None
            self.wait(0.2)

    def fast_share(self, placement: Placement, role: str) -> float:
        return placement.share_on(self.topology.fast, role)

    def _sample(self, placement: Placement) -> Sample:
        return Sample(placement.since(self._t0 or 0).t, self.fast_share(placement, "hot"), self.fast_share(placement, "cold"))

    def _on_line(self, line: str) -> None:
        if line.startswith('{"event"'):
            try:
                event = json.loads(line)
            except json.JSONDecodeError:
                return
            if "sets" not in event:
                self.events.append(event)
                return
            placement = Placement.parse(event)
            with self._arrived:
                self._placements.append(placement)
                self._arrived.notify_all()
            if self.options.on_sample:
                self.options.on_sample(self._sample(placement))
        elif self.options.on_line:
            self.options.on_line(line)

    # --- the contender ---

    def start(self, check: bool = True) -> None:
        """Start the contender; from here time counts."""
        self.options.on_phase(f"starting {self.contender.name}")
        self._vmstat_start = self.vmstat()
        self._kdamonds_before = set(self.kdamond_ticks())
        free = self._free_fast_bytes()
        hot_slow = self._hot_slow_bytes()
        status, output, errors = self.guest.call(f"cut -d' ' -f1 /proc/uptime; {self.contender.start_command}", 120)
        self._t0 = self.contender.started_at(self) or float(output.split()[0])
        self._hot_slow_start, self._free_fast_start = hot_slow, free
        if check and status != 0:
            raise ScenarioFailed(f"the contender does not start: {errors.strip()}\n{self.unit_log()}")
        if self.options.on_start:
            self.options.on_start(self)

    def wait(self, seconds: float) -> None:
        """Let the guest run; a guest that dies meanwhile ends the scenario at once."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if not self.guest.alive():
                raise GuestError("the guest died")
            time.sleep(min(0.5, left))

    def wait_for_migration(self, size_bytes: int, seconds: float) -> None:
        """Wait until that much was migrated, by the kernel's count."""
        deadline = time.monotonic() + seconds
        while self.vmstat_delta().get("pgmigrate_success", 0) * self.page_bytes < size_bytes:
            if time.monotonic() > deadline:
                raise ScenarioFailed(f"nothing much moved within {seconds:.0f} s\n{self.unit_log()}")
            self.wait(0.5)

    def measure(self) -> None:
        """Take the closing numbers, while everything still runs."""
        result = self.result
        self._vmstat_end = self.vmstat()
        for pid, ticks in self.kdamond_ticks().items():
            if pid not in self._kdamonds_before:
                self._kdamond_ticks[pid] = ticks
        result.kdamond_cpu_s = sum(self._kdamond_ticks.values()) / 100
        result.pgmigrate_bytes = self.vmstat_delta().get("pgmigrate_success", 0) * self.page_bytes
        result.balanced_bytes = self.vmstat_delta().get("numa_pages_migrated", 0) * self.page_bytes
        result.promoted_bytes, result.demoted_bytes = self.contender.totals(self)
        result.daemon_cpu_s, result.daemon_rss_kib, result.daemon_rss_peak_kib = self.contender.cost(self)
        if self._placements:
            result.samples = [self._sample(placement) for placement in self._placements]
            result.judge_samples()
            result.hot_bytes, result.hot_slow_start_bytes = self.hot_bytes(), self._hot_slow_start
            headroom = sum(self.headroom_bytes(nid) for nid in self.topology.fast)
            needed = self._hot_slow_start + headroom - self._free_fast_start
            result.least_bytes = self._hot_slow_start + max(0, needed)

    def hot_bytes(self) -> int:
        return self._placements[-1].bytes_of("hot") if self._placements else 0

    def _hot_slow_bytes(self) -> int:
        if not self._placements:
            return 0
        now = self._placements[-1]
        return now.bytes_of("hot") - now.bytes_on(self.topology.fast, "hot")

    def _free_fast_bytes(self) -> int:
        files = " ".join(f"/sys/devices/system/node/node{nid}/meminfo" for nid in self.topology.fast)
        text = self.guest.run(f"cat {files}")
        return sum(int(kib) << 10 for kib in re.findall(r"MemFree:\s+(\d+) kB", text))

    def unit_property(self, name: str) -> str:
        return self.guest.run(f"systemctl show --value -p {name} {UNIT}").strip()

    def main_pid(self) -> int:
        return int(self.unit_property("MainPID") or 0)

    def daemon_path(self) -> str:
        """Where the unit says that the program is."""
        match = re.search(r"path=(\S+)", self.unit_property("ExecStart"))
        if not match:
            raise ScenarioFailed(f"{UNIT} is not installed")
        return match[1]

    def unit_log(self) -> str:
        return self.guest.call(f"journalctl -u {UNIT} -o short-monotonic --no-pager -n 40")[1]

    def status(self) -> dict[str, Any]:
        """The daemon's status document; empty when there is none."""
        if not self.contender.needs_product:
            return {}
        text = self.guest.read(STATUS_PATH)
        if text:
            self._last_status = json.loads(text)
            return self._last_status
        return {}

    def headroom_bytes(self, nid: int) -> int:
        """What the daemon keeps free of a node; 0 when it does not say."""
        return sum(node.get("headroom_bytes") or 0 for node in self.status().get("nodes", []) if node.get("nid") == nid)

    def read_journal(self) -> list[dict[str, Any]]:
        text = self.guest.run("journalctl --sync; journalctl -b -o json --all --no-pager", timeout=120)
        self.journal = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        return self.journal

    # --- the kernel ---

    def vmstat(self) -> dict[str, int]:
        pairs = (line.split() for line in self.guest.run("cat /proc/vmstat").splitlines())
        return {key: int(value) for key, value in pairs}

    def vmstat_delta(self) -> dict[str, int]:
        end = self._vmstat_end if self._vmstat_end is not None else self.vmstat()
        return {key: value - self._vmstat_start.get(key, 0) for key, value in end.items()}

    def migrated_pages(self) -> int:
        """Pages migrated since boot, by anybody but compaction."""
        now = self.vmstat()
        return now.get("pgmigrate_success", 0) - now.get("compact_isolated", 0)

    def node_bytes(self, nid: int) -> int:
        """A node's size without what the kernel kept for itself at boot."""
        match = re.search(r"MemTotal:\s+(\d+) kB", self.guest.run(f"cat /sys/devices/system/node/node{nid}/meminfo"))
        return int(match[1]) << 10 if match else 0

    def kdamond_ticks(self) -> dict[int, int]:
        """CPU time of every kdamond thread, by pid, in clock ticks."""
        text = self.guest.run("for s in $(grep -ls '^kdamond' /proc/[0-9]*/comm); do cat ${s%comm}stat; done; true")
        ticks = {}
        for line in text.splitlines():
            pid, rest = line.split(" ", 1)
            fields = rest.rpartition(")")[2].split()
            ticks[int(pid)] = int(fields[11]) + int(fields[12])
        return ticks

    def our_kdamonds(self) -> dict[int, int]:
        """index -> pid of each kdamond of the sysfs interface that is on."""
        # These files answer EBUSY while a command is being served.
        text = self.guest.run('steady() { for n in $(seq 100); do cat "$1" 2>/dev/null && return; sleep 0.05; done; }; '
                              f"for k in {DAMON}/[0-9]*; do [ -e $k ] || continue; "
                              'echo "${k##*/} $(steady $k/state) $(steady $k/pid)"; done; true')
        rows = (line.split() for line in text.splitlines())
        return {int(index): int(pid) for index, state, pid in rows if state == "on"}

    def knobs(self) -> dict[str, str]:
        """What the daemon may turn and has to turn back."""
        paths = ("/sys/module/damon_stat/parameters/enabled", "/sys/kernel/mm/numa/demotion_enabled",
                 "/proc/sys/kernel/numa_balancing", f"{DAMON}/nr_kdamonds")
        text = self.guest.run(f"for f in {' '.join(paths)}; do [ -e $f ] && echo \"$f $(cat $f)\"; done; true")
        return dict(line.split(" ", 1) for line in text.splitlines())

    # --- the whole ---

    def boot(self) -> None:
        self.options.on_phase(f"booting kernel {self._kernel.release}, machine '{self.topology.name}'")
        self.guest.start()
        self.result.boot_s = round(self.guest.boot_s, 1)
        self.guest.run(f"mount -o ro -L {image.PRODUCT_LABEL} /mnt && cp -a /mnt/. / && umount /mnt")
        for key, value in {**self.scenario.sysctls, **self.options.sysctls}.items():
            self.guest.run(f"sysctl -q -w {shlex.quote(f'{key}={value}')}")
        if self.contender.needs_product:
            # What a package's maintainer script would do.
            self.guest.run("systemctl daemon-reload; systemd-sysusers; systemd-tmpfiles --create 2>/dev/null; "
                           "journalctl --update-catalog; true")
            if self.options.config:
                self.guest.write(CONFIG, self.options.config.read_text(encoding="utf-8"))

    def check_health(self) -> None:
        result, scenario = self.result, self.scenario
        if self.guest.alive():
            self.read_journal()
            units = self.guest.run("systemctl list-units --failed --plain --no-legend | cut -d' ' -f1").split()
            result.failed_units = [unit for unit in units if unit not in scenario.expected_failed_units]
            result.journal_errors = health.journal_errors(self.journal, scenario.expected_errors)
        warnings = health.kernel_warnings(self.guest.kernel_log(), self.journal)
        result.kernel_warnings = [line for line in warnings
                                  if not any(re.search(pattern, line) for pattern in scenario.expected_kernel)]
        for what, lines in (("kernel warning", result.kernel_warnings), ("failed unit", result.failed_units),
                            ("journal error", result.journal_errors)):
            if lines:
                more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
                result.reasons.append(f"{what}: {lines[0]}{more}")

    def save(self, target: Path) -> None:
        """Keep what helps to understand the run."""
        target.mkdir(parents=True, exist_ok=True)
        for name in ("kernel.log", "live.log", "qemu.log"):
            if (self.directory / name).exists():
                shutil.copy(self.directory / name, target / name)
        (target / "result.json").write_text(self.result.to_json(), encoding="utf-8")
        (target / "journal.json").write_text("".join(json.dumps(e) + "\n" for e in self.journal), encoding="utf-8")
        if self._last_status:
            (target / "status.json").write_text(json.dumps(self._last_status, indent=1), encoding="utf-8")
        for number, note in enumerate(self.notes):
            (target / f"note-{number}.txt").write_text(note, encoding="utf-8")


def perform(scenario: Scenario, options: Options) -> Result:
    """Run one scenario. Whatever goes wrong becomes a reason in the result, not a traceback."""
    directory = Path(tempfile.mkdtemp(prefix="damon-tierd-lab-"))
    try:
        bench = Bench(scenario, options, directory)
        result = bench.result
        with cache.lock("guest", "waiting: another lab guest is running on this machine"):
            started = time.monotonic()
            try:
                bench.boot()
                result.skipped = bench.contender.unsupported(bench)
                if not result.skipped:
                    scenario.setup(bench)
                    scenario.run(bench)
                    result.reasons += scenario.judge(bench)
            except (GuestError, ScenarioFailed) as error:
                result.reasons.append(str(error))
            try:
                bench.check_health()
            except GuestError as error:
                result.reasons.append(str(error))
            if result.reasons and not bench.guest.alive():
                tail = "\n".join(bench.guest.kernel_log().splitlines()[-25:])
                result.reasons.append(f"the kernel's last words:\n{tail}")
            bench.guest.close()
            result.wall_s = round(time.monotonic() - started, 1)
        result.passed = not result.reasons
        target = options.artifacts
        if not target and not result.passed:
            target = cache.root() / "failed" / f"{scenario.name}-{bench.topology.name}-{options.kernel}-{result.contender}"
            shutil.rmtree(target, ignore_errors=True)
        if target:
            bench.save(target)
            cache.say(f"logs are in {target}")
        return result
    finally:
        if "bench" in locals():
            bench.guest.close()
        shutil.rmtree(directory, ignore_errors=True)
