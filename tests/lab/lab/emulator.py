# SPDX-License-Identifier: GPL-2.0-or-later
"""A qemu that runs a kernel which patches its own code.

Before 8.1 the emulator could miss a store into a page of code that another virtual CPU was just
translating. Kernels patch themselves at run time (static branches), so about every second boot on a
busy host died of a stale breakpoint ("Oops: int3"). Where the installed qemu is older, a newer one
from the host release's backports is unpacked into the cache and run from there.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from pathlib import Path

from . import cache, distribution

PROGRAM = "qemu-system-x86_64"
OLDEST = (8, 1)
PACKAGES = ("qemu-system-x86", "qemu-system-common", "qemu-system-data", "seabios")


def _version(program: str) -> tuple[int, int] | None:
    try:
        text = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    match = re.search(r"version (\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else None


def _unpack(directory: Path) -> None:
    cache.say("the installed qemu is too old for this; fetching a newer one")
    apt = distribution.PrivateApt(distribution.codename())
    apt.update()
    for package in PACKAGES:
        apt.unpack(package, directory)
    for unneeded in ("usr/share/doc", "usr/share/man"):
        shutil.rmtree(directory / unneeded, ignore_errors=True)
    if (_version(str(directory / "usr/bin" / PROGRAM)) or (0, 0)) < OLDEST:
        raise distribution.DistributionError(f"no qemu of at least {OLDEST[0]}.{OLDEST[1]} to be had")


@functools.lru_cache(maxsize=None)
def command() -> list[str]:
    """The emulator's program and what it needs to find its firmware."""
    installed = shutil.which(PROGRAM)
    if installed and (_version(installed) or (0, 0)) >= OLDEST:
        return [installed]
    base = cache.publish(cache.root() / f"qemu-{distribution.codename()}", _unpack)
    return [str(base / "usr/bin" / PROGRAM), "-L", str(base / "usr/share/qemu"), "-L", str(base / "usr/share/seabios")]
