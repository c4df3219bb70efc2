# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's disks: a small Debian, and what a scenario adds to it."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
from pathlib import Path

from . import cache, distribution

GUEST_FILES = Path(__file__).resolve().parent.parent / "guest"

# The daemon's runtime libraries and the few tools that scenarios use. Where a name changed between
# releases, all names are given and the first one that exists is taken.
PACKAGES = (
    ("systemd",), ("systemd-sysv",), ("procps",), ("strace",), ("numactl",),
    ("libnuma1", "libnuma1t64"), ("libinih1",), ("libjson-c5",), ("libsystemd0",), ("libcmocka0",),
)

# Neither the machine under test nor the measurement needs these; each costs start-up time, or
# wakes up in the middle of a run.
MASKED = (
    "apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer",
    "systemd-tmpfiles-clean.timer", "e2scrub_reap.service", "getty.target", "console-getty.service",
    "getty-static.service", "serial-getty@ttyS0.service", "systemd-logind.service", "systemd-timesyncd.service",
    "systemd-networkd.service", "systemd-resolved.service", "systemd-random-seed.service",
    "systemd-update-utmp.service", "systemd-update-utmp-runlevel.service", "systemd-user-sessions.service",
    "systemd-fsck-root.service", "systemd-remount-fs.service", "systemd-binfmt.service", "systemd-pstore.service",
    "systemd-boot-system-token.service", "systemd-machine-id-commit.service", "systemd-journal-flush.service",
    "systemd-ask-password-console.path", "systemd-ask-password-wall.path", "modprobe@configfs.service",
    "modprobe@drm.service", "modprobe@fuse.service", "modprobe@efi_pstore.service", "modprobe@dm_mod.service",
    "modprobe@loop.service", "kmod-static-nodes.service", "dev-hugepages.mount", "sys-kernel-config.mount",
    "sys-fs-fuse-connections.mount", "systemd-modules-load.service", "systemd-hwdb-update.service",
    "dev-mqueue.mount", "proc-sys-fs-binfmt_misc.automount", "ldconfig.service",
)

ROOT_MIB = 700
ROOT_LABEL = "lab-root"
PRODUCT_LABEL = "lab-product"
OFFSET_BYTES = 1 << 20


def make_disk(tree: Path, image: Path, mib: int, label: str) -> None:
    """A disk with one ext4 partition that holds a tree's files, made without mounting anything."""
    with open(image, "wb") as file:
        file.truncate(OFFSET_BYTES + (mib << 20))
    # No journal and no lazy initialisation: both would write in the background of a measurement.
    subprocess.run(
        ["mke2fs", "-q", "-t", "ext4", "-L", label, "-O", "^has_journal",
         "-E", f"lazy_itable_init=0,root_owner=0:0,offset={OFFSET_BYTES}", "-d", str(tree), "-F", str(image), f"{mib}M"],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    entry = struct.pack("<B3sB3sII", 0, bytes(3), 0x83, bytes(3), OFFSET_BYTES // 512, (mib << 20) // 512)
    signature = hashlib.sha256(label.encode()).digest()[:4]
    with open(image, "r+b") as file:
        file.write(bytes(440) + signature + bytes(2) + entry + bytes(48) + b"\x55\xaa")


def partition_id(label: str) -> str:
    """How the kernel's root= names the partition. Device names won't do: disks are probed in parallel."""
    return f"{int.from_bytes(hashlib.sha256(label.encode()).digest()[:4], 'little'):08x}-01"


def _chosen_packages() -> list[str]:
    known = set(subprocess.run(["apt-cache", "pkgnames"], check=True, capture_output=True, text=True).stdout.split())
    chosen = []
    for names in PACKAGES:
        chosen.append(next((name for name in names if name in known), names[0]))
    return chosen


def base_tree() -> Path:
    """The unpacked Debian: slow to make, so it is kept apart from what changes more often."""
    packages = _chosen_packages()
    release = distribution.codename()

    def build(directory: Path) -> None:
        if os.geteuid() != 0:
            raise distribution.DistributionError("making the guest's root image needs root, once")
        cache.say("making the guest's root image")
        lines = "".join(f"deb [signed-by={distribution.keyring()}] {s.uri} {s.suite} main\n" for s in distribution.sources())
        listing = directory / "sources.list"
        listing.write_text(lines, encoding="utf-8")
        distribution.retried([
            "mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", f"--include={','.join(packages)}",
            "--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/locale/*",
            "--dpkgopt=path-exclude=/usr/share/man/*", "--aptopt=Acquire::Languages \"none\"",
            release, str(directory / "tree"), str(listing),
        ])
        shutil.rmtree(directory / "tree/var/lib/apt/lists", ignore_errors=True)
        shutil.rmtree(directory / "tree/var/cache/apt", ignore_errors=True)

    return cache.publish(cache.root() / f"base-{cache.digest(release, *packages)}", build) / "tree"


def root_image() -> Path:
    """The root disk that every guest starts from and none changes."""
    texts = [p.read_text(encoding="utf-8") for p in sorted(GUEST_FILES.iterdir())]
    base = base_tree()
    key = cache.digest(base.parent.name, ROOT_MIB, *MASKED, *texts, Path(__file__).read_text(encoding="utf-8"))

    def build(directory: Path) -> None:
        tree = directory / "tree"
        subprocess.run(["cp", "-a", str(base), str(tree)], check=True)
        units = tree / "etc/systemd/system"
        for unit in MASKED:
            (units / unit).unlink(missing_ok=True)
            (units / unit).symlink_to("/dev/null")
        (tree / "usr/lib/lab").mkdir()
        shutil.copy(GUEST_FILES / "agent", tree / "usr/lib/lab/agent")
        (tree / "usr/lib/lab/agent").chmod(0o755)
        shutil.copy(GUEST_FILES / "lab-agent.service", units)
        wants = units / "multi-user.target.wants"
        shutil.rmtree(wants, ignore_errors=True)
        wants.mkdir()
        (wants / "lab-agent.service").symlink_to("../lab-agent.service")
        (units / "default.target").symlink_to("/usr/lib/systemd/system/multi-user.target")
        (tree / "etc/systemd/journald.conf.d").mkdir(exist_ok=True)
        shutil.copy(GUEST_FILES / "journald.conf", tree / "etc/systemd/journald.conf.d/lab.conf")
        (tree / "etc/hostname").write_text("lab\n", encoding="utf-8")
        # With an id of its own the first boot is not a "first boot", which would enable all presets.
        (tree / "etc/machine-id").write_text("6d4f0c1d2b7e4f07a3d85b1c9e20aa11\n", encoding="utf-8")
        # Tests of the whole daemon look for this before they touch the kernel they run on.
        (tree / "etc/damon-tierd-lab").write_text("This is a lab guest.\n", encoding="utf-8")
        make_disk(tree, directory / "root.img", ROOT_MIB, ROOT_LABEL)
        shutil.rmtree(tree)

    image = cache.publish(cache.root() / f"root-{key}", build) / "root.img"
    cache.sweep("root-", image.parent)
    cache.sweep("base-", base.parent)
    return image
