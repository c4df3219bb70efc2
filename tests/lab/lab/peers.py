# SPDX-License-Identifier: GPL-2.0-or-later
"""Other people's tools that the lab compares with, as the distribution packages them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from . import cache, distribution, image

# The release that packages the tool's current version; its own packages need nothing but Python.
DAMO_RELEASE = "forky"


def _installed() -> set[str]:
    """The packages that the guest has anyhow."""
    status = (image.base_tree() / "var/lib/dpkg/status").read_text(encoding="utf-8")
    return set(re.findall(r"^Package: (\S+)$", status, re.M))


def _python(apt: distribution.PrivateApt) -> list[str]:
    """Python of the guest's own release, with what it needs and the guest lacks."""
    output = subprocess.run(["apt-cache", *apt.options, "depends", "--recurse", "--no-recommends", "--no-suggests",
                             "--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances", "python3"],
                            check=True, capture_output=True, text=True).stdout
    # Dependencies are indented, virtual packages stand in brackets.
    return sorted(set(re.findall(r"^([a-z0-9][^\s:]*)$", output, re.M)) - _installed())


def damo() -> Path:
    """A tree with DAMON's user-space tool and the Python it runs on."""
    python_apt = distribution.PrivateApt(distribution.codename())
    damo_apt = distribution.PrivateApt(DAMO_RELEASE, backports=False)

    def build(directory: Path) -> None:
        cache.say("fetching damo")
        for apt in (python_apt, damo_apt):
            apt.update()
        for package in _python(python_apt):
            python_apt.unpack(package, directory / "tree")
        damo_apt.unpack("damo", directory / "tree")
        # In the guest these are links into /usr.
        for old in ("lib", "lib64", "bin", "sbin"):
            if (directory / "tree" / old).is_dir():
                subprocess.run(["cp", "-a", f"{directory}/tree/{old}", f"{directory}/tree/usr/"], check=True)
                shutil.rmtree(directory / "tree" / old)
        for unneeded in ("usr/share/doc", "usr/share/man"):
            shutil.rmtree(directory / "tree" / unneeded, ignore_errors=True)
        # As the packages do when they are installed; without, each start would compile everything anew.
        subprocess.run(["/usr/bin/python3", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash",
                        str(directory / "tree/usr/lib")], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    key = cache.digest(distribution.codename(), DAMO_RELEASE, Path(__file__).read_text(encoding="utf-8"))
    built = cache.publish(cache.root() / f"damo-{key}", build)
    cache.sweep("damo-", built)
    return built / "tree"
