# SPDX-License-Identifier: GPL-2.0-or-later
"""The double of the kernel's tree must behave as the kernel does; this is the kernel's side."""

from lab import cases
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
        status, output, _ = bench.guest.call(f"{PROGRAM} --lab 2>&1", bench.seconds)
        bench.notes.append(output)
        found = cases.count(output)
        bench.result.cases_passed, bench.result.cases_failed = found.passed, len(found.failed)
        if status != 0 or found.failed or not found.passed:
            self.reasons.append(f"status {status}; failed: {', '.join(found.failed) or 'see the output'}")
            self.reasons.append("\n".join(output.splitlines()[-60:]))

    def judge(self, bench: Bench) -> list[str]:
        return self.reasons


SCENARIO = Contract()
