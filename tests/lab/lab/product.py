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


class ProductError(RuntimeError):
    """The daemon or the workload does not build."""


def _execute(command: list[str], environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env={**os.environ, **(environment or {})})
    if done.returncode != 0:
        raise ProductError(f"{' '.join(command)}:\n{(done.stdout + done.stderr).strip()[-4000:]}")


def workload() -> Path:
    source = LAB / "workload/workload.c"
    # Static: it must run in the guest whatever libraries the guest has.
    command = ["gcc", "-D_GNU_SOURCE", "-std=gnu17", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-pthread"]
    key = cache.digest(source.read_text(encoding="utf-8"), *command)
    built = cache.publish(cache.root() / f"workload-{key}",
                          lambda directory: _execute([*command, "-o", str(directory / "workload"), str(source)]))
    cache.sweep("workload-", built)
    return built / "workload"


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


def disk(directory: Path, daemon: bool, build: Path | None) -> Path:
    """The second disk: a tree that the guest copies over its root before the scenario starts."""
    tree = directory / "product"
    lab = tree / "usr/lib/lab"
    lab.mkdir(parents=True)
    shutil.copy(workload(), lab / "workload")
    if daemon:
        built = build_daemon(build)
        _execute(["meson", "install", "--no-rebuild", "-C", str(built)], {"DESTDIR": str(tree)})
        contract = built / "tests/contract/test-contract"
        if contract.exists():
            shutil.copy(contract, lab / "test-contract")
    target = directory / "product.img"
    image.make_disk(tree, target, DISK_MIB, image.PRODUCT_LABEL)
    shutil.rmtree(tree)
    return target
