# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon is killed: its kdamonds go on, and the next instance takes them over."""

from lab.bench import Bench
from lab.contenders import UNIT
from lab.scenario import Scenario

MOVED_BYTES = 8 << 20


class Crash(Scenario):
    name = "crash"
    summary = "SIGKILL: restarted by systemd, the same kdamonds go on; then stop still gives back"
    seconds = 60

    def setup(self, bench: Bench) -> None:
        bench.place_hot_and_cold()
        self.before = bench.knobs()

    def run(self, bench: Bench) -> None:
        self.reasons: list[str] = []
        bench.start()
        bench.wait_for_migration(MOVED_BYTES, bench.seconds)
        old_pid, old = bench.main_pid(), bench.our_kdamonds()
        if not old:
            self.reasons.append("no kdamond runs before the crash")
        bench.guest.run(f"kill -KILL {old_pid}")
        if (now := bench.our_kdamonds()) != old:
            self.reasons.append(f"right after the crash kdamonds are {now}, were {old}")
        bench.guest.wait_until(f"systemctl is-active {UNIT} && [ $(systemctl show --value -p MainPID {UNIT}) != {old_pid} ]",
                               60, "a restarted daemon")
        bench.wait(8)
        if (now := bench.our_kdamonds()) != old:
            self.reasons.append(f"after the restart kdamonds are {now}, were {old}: not adopted")
        bench.measure()
        bench.guest.run(f"systemctl stop {UNIT}", timeout=120)
        if left := bench.our_kdamonds():
            self.reasons.append(f"after the stop kdamonds still run: {left}")
        if (after := bench.knobs()) != self.before:
            self.reasons.append(f"after the stop settings are {after}, were {self.before}")

    def judge(self, bench: Bench) -> list[str]:
        return self.reasons


SCENARIO = Crash()
