# SPDX-License-Identifier: GPL-2.0-or-later
"""What must not appear in any log, and the few lines that may, each with its reason."""

from __future__ import annotations

import re
from typing import Any, Iterable

# Looked for in the console's log, which survives a guest that hangs or dies.
_TROUBLE = re.compile(
    r"WARNING:|BUG:|kernel BUG|Oops|Call Trace|\[ cut here \]|general protection|[Uu]nable to handle|"
    r"blocked for more than|page allocation failure|page allocation stalls|Out of memory|invoked oom-killer|"
    r"oom-kill:|INFO: |rcu.*stall|soft lockup|hard LOCKUP|lockdep|possible circular locking|inconsistent lock state|"
    r"list_(add|del) corruption|refcount_t|Bad page|UBSAN|KASAN|KCSAN|segfault|traps:|Kernel panic|"
    r"call trace|stack segment|double fault|scheduling while atomic|I/O error|EXT4-fs (error|warning)"
)

# (pattern, reason). Also applied to whatever the kernel itself rates as a warning or worse.
KERNEL_ALLOWED = tuple((re.compile(pattern), reason) for pattern, reason in (
    (r"mtrr: your CPUs had inconsistent .*MTRR", "the firmware sets up the first emulated CPU only"),
    (r"pci_bus 0000:00: Unknown NUMA node", "the emulated host bridge names no node"),
    (r"amd_pstate: the _CPC object is not present", "no frequency control in the emulated CPU"),
    (r"tsc: Unable to calibrate against PIT", "the timers are emulated on a busy host"),
    (r"APIC calibration not consistent with PM-Timer", "the timers are emulated on a busy host"),
    (r"Unstable clock detected, switching default tracing clock", "the time stamp counter is emulated"),
    (r"clocksource: Long readout interval, skipping watchdog check", "a busy host stops the emulated CPUs for a while"),
    (r"hrtimer: interrupt took \d+ ns", "a busy host stops the emulated CPUs for a while"),
    (r"hpet: Lost \d+ RTC interrupts", "the timers are emulated on a busy host"),
    (r"check access for rdinit=/init failed", "there is no initramfs"),
    (r"^(systemd\[1\]: )?Failed to find module 'autofs4'", "the guest has no modules"),
))

JOURNAL_ALLOWED = tuple((re.compile(pattern), reason) for pattern, reason in (
    (r"^Failed to find module 'autofs4'", "the guest has no modules"),
))

ERR = 3
WARNING = 4


def _allowed(text: str, allowed: Iterable[tuple[re.Pattern[str], str]]) -> bool:
    return any(pattern.search(text) for pattern, _ in allowed)


def _message(entry: dict[str, Any]) -> str:
    message = entry.get("MESSAGE", "")
    # The journal gives bytes that are no text as a list of numbers.
    return bytes(message).decode("utf-8", "replace") if isinstance(message, list) else str(message)


def kernel_warnings(console: str, journal: list[dict[str, Any]]) -> list[str]:
    found = []
    for line in console.splitlines():
        text = re.sub(r"^\[ *[0-9.]+\] ", "", line.strip())
        if _TROUBLE.search(text) and not _allowed(text, KERNEL_ALLOWED):
            found.append(line.strip())
    for entry in journal:
        if entry.get("_TRANSPORT") == "kernel" and int(entry.get("PRIORITY", 6)) <= WARNING:
            text = _message(entry)
            if not _allowed(text, KERNEL_ALLOWED) and not any(text in line for line in found):
                found.append(text)
    return found


def journal_errors(journal: list[dict[str, Any]], expected: Iterable[str]) -> list[str]:
    patterns = [re.compile(pattern) for pattern in expected]
    found = []
    for entry in journal:
        # The kernel's own are judged above, more strictly.
        if entry.get("_TRANSPORT") == "kernel" or int(entry.get("PRIORITY", 6)) > ERR:
            continue
        text = _message(entry)
        if not _allowed(text, JOURNAL_ALLOWED) and not any(p.search(text) for p in patterns):
            found.append(f"{entry.get('SYSLOG_IDENTIFIER', '?')}: {text}")
    return found


def messages(journal: list[dict[str, Any]], unit: str) -> list[dict[str, Any]]:
    """What a unit's own processes said, oldest first, with the text under MESSAGE."""
    return [{**e, "MESSAGE": _message(e)} for e in journal if e.get("_SYSTEMD_UNIT") == unit]
