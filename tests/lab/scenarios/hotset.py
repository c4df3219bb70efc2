# SPDX-License-Identifier: GPL-2.0-or-later
"""Fast memory is full of cold pages and the hot set starts on slow memory: the main job."""

from lab.bench import Bench
from lab.result import mib
from lab.scenario import Comparison

# The status document may be a tick old, and page counts are sampled.
TOLD = 0.8


class HotSet(Comparison):
    name = "hotset"
    summary = "a hot set on slow memory, fast memory full of cold pages"
    seconds = 25

    def setup(self, bench: Bench) -> None:
        bench.place_hot_and_cold()

    def run(self, bench: Bench) -> None:
        bench.wait(2)
        bench.start()
        bench.wait(bench.seconds)
        bench.measure()

    def judge(self, bench: Bench) -> list[str]:
        result, reasons = bench.result, bench.result.lacks_at_start()
        before = [sample for sample in result.samples if sample.t < 0]
        if bench.contender.must_succeed:
            reasons += result.lacks_at_end()
        # What the daemon says it moved must cover what the pages themselves say.
        risen = int(((result.hot_fast_share_end or 0) - (before[-1].hot_fast_share if before else 0)) * bench.hot_bytes())
        if bench.contender.must_succeed and (result.promoted_bytes or 0) + (result.balanced_bytes or 0) < risen * TOLD:
            reasons.append(f"{mib(risen)} of the hot set rose, but the status tells of {mib(result.promoted_bytes or 0)}")
        return reasons


SCENARIO = HotSet()
