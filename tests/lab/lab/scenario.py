# SPDX-License-Identifier: GPL-2.0-or-later
"""The shape of a scenario, and where scenarios are found."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .bench import Bench


class Scenario:
    """One thing to show. A subclass says what happens and what must be true afterwards."""

    name = ""
    summary = ""
    topology = "two"
    seconds: float = 40
    contender = "damon-tierd"
    # The daemon and nothing else makes sense here.
    daemon_only = True
    # Kernel settings made after boot; --sysctl wins over them.
    sysctls: dict[str, str] = {}
    # Trouble that is the point of the scenario: unit names, and patterns of journal lines.
    expected_failed_units: tuple[str, ...] = ()
    expected_errors: tuple[str, ...] = ()
    # Patterns of kernel log lines.
    expected_kernel: tuple[str, ...] = ()

    def setup(self, bench: Bench) -> None:
        """Bring the guest into the state that the scenario starts from."""

    def run(self, bench: Bench) -> None:
        """Let it happen."""
        raise NotImplementedError

    def judge(self, bench: Bench) -> list[str]:
        """Say what is wrong, one reason each; runs while the guest is still up."""
        del bench
        return []


class Comparison(Scenario):
    """A scenario that makes sense for whoever tiers, and that none of the others may do the work of."""

    daemon_only = False
    # Balancing, which distributions switch on, promotes as well once somebody makes room. Off, so that the contender earns
    # what is measured; contender numab2 switches it on.
    sysctls = {"kernel.numa_balancing": "0"}


def load() -> dict[str, Scenario]:
    """Every scenario there is: a module in scenarios/ that defines SCENARIO."""
    directory = Path(__file__).resolve().parent.parent / "scenarios"
    found: dict[str, Scenario] = {}
    for module in pkgutil.iter_modules([str(directory)]):
        scenario = importlib.import_module(f"scenarios.{module.name}").SCENARIO
        found[scenario.name] = scenario
    return found
