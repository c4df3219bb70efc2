# SPDX-License-Identifier: GPL-2.0-or-later
"""What is fetched or built once: where it lies, and how it gets there whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable, Iterator

# An image of an older recipe may serve a run that has just started, but not one of yesterday.
SWEEP_AGE_S = 24 * 3600


def say(text: str) -> None:
    """Progress goes to stderr, so that stdout stays the result."""
    print(f"lab: {text}", file=sys.stderr, flush=True)


def root() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = Path(base) / "damon-tierd-lab"
    path.mkdir(parents=True, exist_ok=True)
    return path


def digest(*parts: object) -> str:
    """A short key that changes when a recipe changes."""
    return hashlib.sha256("\0".join(str(p) for p in parts).encode()).hexdigest()[:16]


@contextlib.contextmanager
def lock(name: str, waiting: str) -> Iterator[None]:
    """Hold a lock shared by all labs of this user; say why when it takes time."""
    with open(root() / f"{name}.lock", "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(waiting)
            started = time.monotonic()
            fcntl.flock(file, fcntl.LOCK_EX)
            say(f"waited {time.monotonic() - started:.0f} s")
        yield


def sweep(prefix: str, keep: Path) -> None:
    """Remove what an older recipe made, unless somebody may be using it still."""
    for path in root().glob(f"{prefix}*"):
        if path != keep and path.is_dir() and time.time() - path.stat().st_mtime > SWEEP_AGE_S:
            shutil.rmtree(path, ignore_errors=True)


def publish(path: Path, build: Callable[[Path], None]) -> Path:
    """Return path; make it first with build(temporary directory) when it is absent.

    The directory appears by one rename, so an interrupted build leaves nothing that a later run
    would take for complete. Leftovers of such builds are swept by the next one.
    """
    if path.exists():
        return path
    with lock(f"make-{path.name}", f"waiting for another run that is making {path.name}"):
        if path.exists():
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        for stale in path.parent.glob(f".{path.name}.*"):
            shutil.rmtree(stale, ignore_errors=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        try:
            build(temporary)
            temporary.rename(path)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    return path
