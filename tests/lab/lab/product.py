# SPDX-License-Identifier: GPL-2.0-or-later
"""What is tested: the daemon as a packager would install it, and the lab's own programs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from . import cache, image

LAB = Path(__file__).resolve().parent.parent
SOURCE = LAB.parent.parent
DISK_MIB = 64
PEER_DISK_MIB = 192

# What runs in the guest beside the daemon: program -> files.
PROGRAMS = {
    "workload": ("workload.c", "set.c", "tlb.c", "touch.c", "node.c"),
    "burst": ("burst.c", "node.c"),
}


class ProductError(RuntimeError):
    """The daemon or one of the lab's programs does not build."""


def _execute(command: list[str], environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env={**os.environ, **(environment or {})})
    if done.returncode != 0:
        raise ProductError(f"{' '.join(command)}:\n{(done.stdout + done.stderr).strip()[-4000:]}")


def programs() -> Path:
    """The directory with the lab's own programs."""
    source = LAB / "workload"
    # Static: they must run in the guest whatever libraries the guest has.
    command = ["gcc", "-D_GNU_SOURCE", "-std=gnu17", "-O2", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror",
               "-static", "-pthread"]
    texts = [path.read_text(encoding="utf-8") for path in sorted(source.glob("*.[ch]"))]

    def make(directory: Path) -> None:
        for name, files in PROGRAMS.items():
            _execute([*command, "-o", str(directory / name), *(str(source / file) for file in files)])

    built = cache.publish(cache.root() / f"workload-{cache.digest(*texts, *command, *PROGRAMS)}", make)
    cache.sweep("workload-", built)
    return built


def build_daemon(build: Path | None) -> Path:
    """Bring a build directory up to date: the given one, or the lab's own for this source tree."""
    directory = build or cache.root() / f"build-{cache.digest(SOURCE)}"
    with cache.lock(f"build-{cache.digest(directory)}", "waiting for another run that is building the daemon"):
        if not (directory / "build.ninja").exists():
            shutil.rmtree(directory, ignore_errors=True)
            _execute(["meson", "setup", "--prefix=/usr", "--sysconfdir=/etc", "--localstatedir=/var",
                      "--buildtype=debugoptimized", "-Dfuzz=false", str(directory), str(SOURCE)])
        _execute(["ninja", "-C", str(directory)])
    return directory


def disk(directory: Path, daemon: bool, build: Path | None, peer: Path | None = None) -> Path:
    """The second disk: a tree that the guest copies over its root before the scenario starts."""
    tree = directory / "product"
    lab = tree / "usr/lib/lab"
    lab.mkdir(parents=True)
    built_programs = programs()
    for name in PROGRAMS:
        shutil.copy(built_programs / name, lab / name)
    if daemon:
        built = build_daemon(build)
        _execute(["meson", "install", "--no-rebuild", "-C", str(built)], {"DESTDIR": str(tree)})
        contract = built / "tests/contract/test-contract"
        if contract.exists():
            shutil.copy(contract, lab / "test-contract")
    if peer:
        _execute(["cp", "-a", f"{peer}/.", str(tree)])
    target = directory / "product.img"
    image.make_disk(tree, target, PEER_DISK_MIB if peer else DISK_MIB, image.PRODUCT_LABEL)
    shutil.rmtree(tree)
    return target
