# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest to look around in: run with --shell."""

from lab.bench import Bench
from lab.scenario import Scenario


class Explore(Scenario):
    name = "explore"
    summary = "boot and install; with --shell, look around"
    daemon_only = False

    def run(self, bench: Bench) -> None:
        print(bench.guest.run("uname -r; numactl -H; for t in /sys/devices/virtual/memory_tiering/memory_tier*; do "
                              'echo "${t##*/}: nodes $(cat $t/nodelist)"; done'))


SCENARIO = Explore()
