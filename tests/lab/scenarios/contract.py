# SPDX-License-Identifier: GPL-2.0-or-later
"""The double of the kernel's tree must behave as the kernel does; this is the kernel's side."""

import re

from lab.bench import Bench
from lab.scenario import Scenario

PROGRAM = "/usr/lib/lab/test-contract"


class Contract(Scenario):
    name = "contract"
    summary = "the contract test against the running kernel instead of the double"
    seconds = 300

    def run(self, bench: Bench) -> None:
        self.reasons: list[str] = []
        if bench.guest.call(f"test -x {PROGRAM}")[0] != 0:
            bench.result.skipped = "the build has no tests/contract/test-contract"
            return
        stat = "/sys/module/damon_stat/parameters/enabled"
        bench.guest.run(f"[ ! -e {stat} ] || echo N >{stat}")
        status, output, errors = bench.guest.call(f"{PROGRAM} --sysroot / --lab 2>&1", bench.seconds)
        bench.notes.append(output)
        bench.result.cases_passed = len(re.findall(r"^\[ +OK +\]", output, re.M))
        failed = sorted(set(re.findall(r"^\[  FAILED  \] (\w+)$", output, re.M)))
        bench.result.cases_failed = len(failed)
        if status != 0:
            self.reasons.append(f"status {status}; failed: {', '.join(failed) or 'see output'}")
            self.reasons += [line for line in output.splitlines() if "error" in line.lower() or "FAILED" in line][:40]
        del errors

    def judge(self, bench: Bench) -> list[str]:
        return self.reasons


SCENARIO = Contract()
