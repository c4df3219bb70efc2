# SPDX-License-Identifier: GPL-2.0-or-later
"""The distribution this machine runs, its package sources, and a private apt for other suites.

Nothing here names a server: everything is asked from the machine's own apt, so the lab fetches
from wherever the machine is allowed to fetch from.
"""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

from . import cache

# Which release's suites hold the kernels of the ladder. Add a line when the host moves on.
KERNEL_RELEASE = {"bookworm": "trixie", "trixie": "trixie"}

LIST_MAX_AGE_S = 7 * 24 * 3600


class DistributionError(RuntimeError):
    """The machine is not one the lab can work on, or its packages can't be had."""


@dataclass(frozen=True)
class Source:
    uri: str
    suite: str


def codename() -> str:
    fields = dict(
        line.strip().split("=", 1)
        for line in Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
        if "=" in line
    )
    name = fields.get("VERSION_CODENAME", "").strip('"')
    if fields.get("ID", "").strip('"') != "debian" or not name:
        raise DistributionError("the lab knows Debian hosts only: see /etc/os-release")
    return name


def sources() -> list[Source]:
    """The machine's own Debian sources for its own release, the main one first."""
    release = codename()
    output = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages"],
        check=True, capture_output=True, text=True,
    ).stdout
    found: list[Source] = []
    for line in output.splitlines():
        uri, suite, component = line.split()
        source = Source(uri, suite)
        if component == "main" and suite.split("-")[0] in (release, "stable", "oldstable") and source not in found:
            found.append(source)
    found.sort(key=lambda s: "-" in s.suite)
    if not found:
        raise DistributionError(f"apt has no source for {release} main")
    return found


def keyring() -> str:
    for path in ("/usr/share/keyrings/debian-archive-keyring.gpg", "/usr/share/keyrings/debian-archive-keyring.pgp"):
        if Path(path).exists():
            return path
    raise DistributionError("no archive keyring: install debian-archive-keyring")


def retried(command: Sequence[str], cwd: Path | None = None) -> str:
    """Run a command that uses the network; one failure may be a passing one, two are not."""
    for attempt in (1, 2):
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout
        if attempt == 1:
            cache.say(f"{command[0]} failed, trying once more")
            time.sleep(3)
    raise DistributionError(f"{' '.join(command)}: {done.stderr.strip()[-2000:]}")


class PrivateApt:
    """An apt with its own sources, lists and cache; proxy and other settings stay the machine's.

    It sees a release's main suite and, unless told otherwise, its backports, the newest version of each package winning.
    """

    def __init__(self, release: str, backports: bool = True) -> None:
        self.base = cache.root() / f"apt-{release}"
        (self.base / "lists/partial").mkdir(parents=True, exist_ok=True)
        (self.base / "archives/partial").mkdir(parents=True, exist_ok=True)
        (self.base / "empty").mkdir(exist_ok=True)
        suites = (release, f"{release}-backports") if backports else (release,)
        mirror = sources()[0].uri
        text = "".join(f"deb [signed-by={keyring()}] {mirror} {suite} main\n" for suite in suites)
        listing = self.base / "sources.list"
        if not listing.exists() or listing.read_text(encoding="utf-8") != text:
            listing.write_text(text, encoding="utf-8")
            (self.base / "stamp").unlink(missing_ok=True)
        self.options = [
            "-q", "-o", f"Dir::Etc::sourcelist={listing}", "-o", f"Dir::Etc::sourceparts={self.base}/empty",
            "-o", f"Dir::Etc::preferences={self.base}/none", "-o", f"Dir::Etc::preferencesparts={self.base}/empty",
            "-o", f"Dir::State::lists={self.base}/lists", "-o", f"Dir::Cache={self.base}",
            "-o", "APT::Sandbox::User=root", "-o", "Acquire::Languages=none",
            # Backports are marked to be used on demand only; here they are what is wanted.
            "-o", f"APT::Default-Release={suites[-1]}",
            # The machine's hooks have no business with the lab's downloads.
            "-o", "APT::Update::Post-Invoke-Success::=", "-o", "Dir::Log=/dev/null",
        ]

    def update(self) -> None:
        stamp = self.base / "stamp"
        if stamp.exists() and time.time() - stamp.stat().st_mtime < LIST_MAX_AGE_S:
            return
        try:
            retried(["apt-get", *self.options, "update"])
        except DistributionError:
            # Old lists may serve well enough: what they name may be there still, or be cached.
            if not stamp.exists():
                raise
            cache.say("package lists could not be refreshed, using the old ones")
        stamp.touch()

    def names(self) -> list[str]:
        self.update()
        return retried(["apt-cache", *self.options, "pkgnames", "linux-"]).split()

    def unpack(self, package: str, into: Path) -> None:
        """Download one package and unpack its files below a directory."""
        into.mkdir(parents=True, exist_ok=True)
        retried(["apt-get", *self.options, "download", package], cwd=into)
        for archive in into.glob("*.deb"):
            subprocess.run(["dpkg", "-x", str(archive), str(into)], check=True)
            archive.unlink()
