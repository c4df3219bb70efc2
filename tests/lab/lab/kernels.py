# SPDX-License-Identifier: GPL-2.0-or-later
"""The ladder of kernels: one packaged kernel per series, each fetched when first needed."""

from __future__ import annotations

import functools
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from . import cache, distribution

SERIES = ("6.12", "6.16", "6.17", "6.18", "6.19", "7.0", "7.1", "7.2", "7.3")
DEFAULT = SERIES[-1]


@dataclass(frozen=True)
class Kernel:
    series: str
    release: str
    vmlinuz: Path


@functools.lru_cache(maxsize=None)
def _apt() -> distribution.PrivateApt:
    host = distribution.codename()
    if host not in distribution.KERNEL_RELEASE:
        raise distribution.DistributionError(f"the lab does not know which release has kernels for {host}")
    return distribution.PrivateApt(distribution.KERNEL_RELEASE[host])


def _natural(version: str) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", version)]


def _image_of(tree: Path) -> Path | None:
    # Small files of that name are a package's remains, not a kernel.
    images = [p for p in tree.rglob("vmlinuz*") if p.is_file() and p.stat().st_size > 1 << 20]
    return images[0] if images else None


def fetch(series: str) -> Kernel:
    """The newest packaged kernel of a series; from the cache, without the network, once fetched."""
    if series not in SERIES:
        raise distribution.DistributionError(f"no kernel series {series}; there are {', '.join(SERIES)}")
    target = cache.root() / f"kernel-{series}"

    def build(directory: Path) -> None:
        apt = _apt()
        pattern = re.compile(rf"linux-image-({re.escape(series)}\.[0-9.]+\+deb[0-9]+(?:\+\d+)?)-cloud-amd64")
        versions = sorted((m[1] for m in map(pattern.fullmatch, apt.names()) if m), key=_natural)
        if not versions:
            raise distribution.DistributionError(f"no packaged kernel of series {series}")
        release = f"{versions[-1]}-cloud-amd64"
        cache.say(f"fetching kernel {release}")
        # The kernel used to be in linux-image; later that package is a shell around linux-binary.
        for package in (f"linux-image-{release}", f"linux-binary-{release}"):
            apt.unpack(package, directory / "tree")
            image = _image_of(directory / "tree")
            if image:
                break
        else:
            raise distribution.DistributionError(f"the packages of {release} hold no kernel")
        shutil.move(image, directory / "vmlinuz")
        shutil.rmtree(directory / "tree")
        (directory / "release").write_text(release, encoding="utf-8")

    cache.publish(target, build)
    return Kernel(series, (target / "release").read_text(encoding="utf-8"), target / "vmlinuz")
