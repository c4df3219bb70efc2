# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel's tree looks like with one of everything: the double is made from this."""

from lab import staging
from lab.bench import Bench
from lab.scenario import Scenario


class Tree(Scenario):
    name = "tree"
    summary = "print DAMON's tree with one of everything staged, as 'path mode value'"
    contender = "none"
    daemon_only = False

    def run(self, bench: Bench) -> None:
        bench.guest.run(staging.one_of_everything())
        lines = staging.dump(bench.guest)
        bench.notes.append("\n".join(lines) + "\n")
        print("\n".join(lines), flush=True)

    def judge(self, bench: Bench) -> list[str]:
        return [] if len(bench.notes[0].splitlines()) > 40 else ["the tree is too small"]


SCENARIO = Tree()
