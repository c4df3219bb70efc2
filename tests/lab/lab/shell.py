# SPDX-License-Identifier: GPL-2.0-or-later
"""A shell in the guest on this terminal."""

from __future__ import annotations

import os
import select
import sys
import termios
import threading
import tty

from .bench import Bench
from .guest import Guest, GuestError
from .scenario import Scenario

SESSION_S = 24 * 3600


def interact(guest: Guest) -> None:
    """Connect the terminal to a login shell on the third serial port until that shell ends."""
    size = os.get_terminal_size() if sys.stdin.isatty() else os.terminal_size((80, 24))
    ended = threading.Event()

    def session() -> None:
        try:
            guest.call(
                f"stty -F /dev/ttyS2 sane rows {size.lines} cols {size.columns}; cd /root; "
                "HOME=/root TERM=${TERM:-linux} setsid -c bash -il </dev/ttyS2 >/dev/ttyS2 2>&1; "
                "stty -F /dev/ttyS2 raw -echo clocal -hupcl", SESSION_S)
        except GuestError:
            pass
        ended.set()

    prompted = threading.Event()

    def show(data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        prompted.set()

    sys.stdout.flush()
    guest.on_raw = show
    thread = threading.Thread(target=session, daemon=True)
    saved = termios.tcgetattr(sys.stdin) if sys.stdin.isatty() else None
    print("lab: shell in the guest; leave with 'exit'\r", file=sys.stderr)
    try:
        if saved:
            tty.setraw(sys.stdin)
        thread.start()
        # What is typed before the shell has set up its terminal would be lost.
        prompted.wait(30)
        while not ended.is_set() and guest.alive():
            if select.select([sys.stdin], [], [], 0.2)[0]:
                data = os.read(sys.stdin.fileno(), 1024)
                # The end of a piped input is the end of the session.
                guest.send_live(data or b"\x04")
                if not data:
                    ended.wait(60)
    finally:
        guest.on_raw = None
        if saved:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, saved)


class After(Scenario):
    """A scenario that ends in a shell, before anything is judged."""

    def __init__(self, inner: Scenario) -> None:
        self._inner = inner
        for key in ("name", "summary", "topology", "seconds", "contender", "daemon_only", "sysctls", "expected_failed_units",
                    "expected_errors", "expected_kernel"):
            setattr(self, key, getattr(inner, key))

    def setup(self, bench: Bench) -> None:
        self._inner.setup(bench)

    def run(self, bench: Bench) -> None:
        self._inner.run(bench)
        interact(bench.guest)

    def judge(self, bench: Bench) -> list[str]:
        return self._inner.judge(bench)
