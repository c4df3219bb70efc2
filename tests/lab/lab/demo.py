# SPDX-License-Identifier: GPL-2.0-or-later
"""The main job, live: where a hot and a cold set of memory are while damon-tierd works."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import threading
import time
from pathlib import Path

from . import bench as bench_module
from . import contenders, distribution, kernels, product, scenario
from .bench import Bench, Options
from .result import Result, Sample, mib

SECONDS = 30
BAR_CELLS = 40


class Screen:
    """Text that scrolls, above a block of lines that is redrawn in place (on a terminal)."""

    def __init__(self) -> None:
        self._live = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._colour = self._live and "NO_COLOR" not in os.environ
        self._block: list[str] = []
        self._lock = threading.RLock()

    @property
    def live(self) -> bool:
        return self._live

    def paint(self, text: str, code: str) -> str:
        return f"\033[{code}m{text}\033[0m" if self._colour else text

    def line(self, text: str) -> None:
        with self._lock:
            self._erase()
            print(text)
            self._draw()

    def block(self, lines: list[str]) -> None:
        with self._lock:
            self._erase()
            self._block = lines
            self._draw()

    def _erase(self) -> None:
        if self._live and self._block:
            sys.stdout.write(f"\033[{len(self._block)}A\033[J")

    def _draw(self) -> None:
        if self._live and self._block:
            sys.stdout.write("\n".join(self._block) + "\n")
        sys.stdout.flush()


class Demo:
    def __init__(self, contender: str) -> None:
        self.screen = Screen()
        self._contender = contender
        self._width = shutil.get_terminal_size((100, 24)).columns
        self._next_plain = 0.0
        self._started = False

    def phase(self, text: str) -> None:
        self.screen.line(self.screen.paint(f"== {text}", "1"))

    def on_start(self, bench: Bench) -> None:
        self._started = True
        if bench.contender.needs_product:
            bench.guest.run("systemd-run --quiet --unit=lab-journal -p StandardOutput=file:/dev/ttyS2 "
                            "--setenv=SYSTEMD_COLORS=0 "
                            f"journalctl -f -n 200 --no-tail -a -o cat --no-hostname -u {contenders.UNIT} "
                            f"_SYSTEMD_UNIT={contenders.UNIT}")

    def on_line(self, text: str) -> None:
        text = text.strip()
        if not text:
            return
        label = self.screen.paint(f"  {self._contender}: ", "36")
        room = max(20, self._width - len(self._contender) - 4)
        self.screen.line(label + (text if not self.screen.live or len(text) <= room else text[:room - 1] + "…"))

    def on_sample(self, sample: Sample) -> None:
        when = f"{sample.t:5.1f} s" if self._started else " before"
        lines = [
            f"  {when}  {self._bar('hot ', sample.hot_fast_share, '41', '33')}",
            f"           {self._bar('cold', sample.cold_fast_share, '44', '34')}",
        ]
        if self.screen.live:
            legend = "           " + " " * 5 + self.screen.paint("#", "42;32") + " in DRAM   " + self.screen.paint(".", "2") + " in slow memory"
            self.screen.block([*lines, legend])
        elif sample.t >= self._next_plain and self._started:
            # In a log every few seconds are enough.
            self._next_plain = sample.t + 3
            print("\n".join(lines), flush=True)

    def _bar(self, name: str, share: float, *_codes: str) -> str:
        full = round(share * BAR_CELLS)
        fast = self.screen.paint("#" * full, "42;32")
        slow = self.screen.paint("." * (BAR_CELLS - full), "2")
        return f"{name} {fast}{slow} {share:4.0%} in DRAM"


def _words(result: Result) -> list[str]:
    """The result as one would tell it."""
    end = result.hot_fast_share_end or 0
    lines = []
    if result.t95_s is not None:
        lines.append(f"The hot set started on slow memory. {result.t95_s:.0f} s after the start 95 % of it was in DRAM; "
                     f"after {result.seconds:.0f} s {end:.0%}.")
    else:
        lines.append(f"The hot set started on slow memory. After {result.seconds:.0f} s {end:.0%} of it is in DRAM.")
    if result.promoted_bytes is not None and result.demoted_bytes is not None:
        lines.append(f"{mib(result.promoted_bytes)} were promoted and {mib(result.demoted_bytes)} demoted to make room; "
                     f"{mib(result.least_bytes or 0)} is the least possible.")
    if result.daemon_cpu_s is not None and result.daemon_rss_kib is not None:
        lines.append(f"The daemon used {result.daemon_cpu_s * 1000:.0f} ms of CPU and {result.daemon_rss_kib / 1024:.1f} MiB "
                     f"of memory, the kernel's DAMON threads {result.kdamond_cpu_s or 0:.1f} s of CPU (emulated, so slow).")
    lines.append("Nothing suspicious in the kernel log or the journal." if not result.reasons else "Something is not right:")
    return lines + [f"  - {reason}" for reason in result.reasons]


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests/demo", description="See damon-tierd bring a hot set into fast memory, live.")
    parser.add_argument("--kernel", default=kernels.DEFAULT, choices=kernels.SERIES, metavar="VER",
                        help=f"one of {', '.join(kernels.SERIES)} (default {kernels.DEFAULT})")
    parser.add_argument("--seconds", type=float, default=SECONDS, metavar="N", help=f"how long to watch (default {SECONDS})")
    parser.add_argument("--contender", default="damon-tierd", choices=sorted(contenders.BY_NAME),
                        help="watch the kernel's NUMA balancing, or nothing, instead")
    parser.add_argument("--config", type=Path, metavar="FILE", help="a configuration for the daemon")
    arguments = parser.parse_args()
    demo = Demo(arguments.contender)
    began = time.monotonic()
    demo.screen.line("A virtual machine with 1 GiB of DRAM and 1 GiB of slower memory, on a distribution's kernel. DRAM gets\n"
                     "filled with memory that nobody uses; a program then works on 300 MiB that lie in slow memory.\n")
    options = Options(kernel=arguments.kernel, contender=arguments.contender, seconds=arguments.seconds, config=arguments.config,
                      on_line=demo.on_line, on_sample=demo.on_sample, on_start=demo.on_start, on_phase=demo.phase)
    try:
        result = bench_module.perform(scenario.load()["hotset"], options)
    except (distribution.DistributionError, product.ProductError, OSError) as error:
        print(f"tests/demo: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("tests/demo: interrupted", file=sys.stderr)
        return 130
    print()
    for line in _words(result):
        print(line)
    verdict = demo.screen.paint("It works.", "1;32") if result.passed else demo.screen.paint("It does not work.", "1;31")
    if not contenders.BY_NAME[arguments.contender].must_succeed and result.passed:
        verdict = "That was it."
    print(f"\n{verdict} ({time.monotonic() - began:.0f} s)")
    return 0 if result.passed else 1


if __name__ == "__main__":
    sys.exit(main())
