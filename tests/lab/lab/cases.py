# SPDX-License-Identifier: GPL-2.0-or-later
"""Counting the cases in a test program's output: cmocka's own format, or TAP."""

from __future__ import annotations

import re
from dataclasses import dataclass

# "[       OK ] name" and "ok 3 name"; what failed is listed twice by cmocka, hence the sets.
_PASSED = re.compile(r"^(?:\[ +OK +\] \S+|ok \d+\b(?!.*# SKIP).*)$", re.M | re.I)
_FAILED = re.compile(r"^(?:\[ +FAILED +\] (\w+)$|not ok \d+ -? ?(.*))", re.M)
_SKIPPED = re.compile(r"^(?:\[ +SKIPPED +\] (\w+)$|ok \d+ (.* # SKIP.*))", re.M | re.I)


@dataclass(frozen=True)
class Cases:
    passed: int
    failed: tuple[str, ...]
    skipped: tuple[str, ...]


def count(output: str) -> Cases:
    def names(pattern: re.Pattern[str]) -> tuple[str, ...]:
        return tuple(sorted({match[1] or match[2] for match in pattern.finditer(output)}))

    return Cases(len(_PASSED.findall(output)), names(_FAILED), names(_SKIPPED))
