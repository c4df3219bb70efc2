# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs suites and counts: every test case once, every lab scenario once.

The last line of the output is "N passed, N failed", with ", N skipped" where something was skipped.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

TESTS = Path(__file__).resolve().parent
SOURCE = TESTS.parent
sys.path.insert(0, str(TESTS / "lab"))

from lab import bench, cache, cases, distribution, kernels, product, scenario  # noqa: E402

MESON_SUITES = ("lint", "unit", "fuzz", "contract")
SUITES = (*MESON_SUITES, "coverage", "lab")
CORE_COVERAGE_PERCENT = 95.0

# (scenario, topology or None for the scenario's own, kernels, settings)
LAB: tuple[tuple[str, str | None, tuple[str, ...], dict[str, str]], ...] = (
    ("hotset", None, kernels.SERIES, {}),
    ("contract", None, kernels.SERIES, {}),
    ("hotset", "flat", (kernels.DEFAULT,), {}),
    ("hotset", "memoryless", (kernels.DEFAULT,), {}),
    ("hotset", "three", (kernels.DEFAULT,), {}),
    ("hotset", "sockets", (kernels.DEFAULT,), {}),
    # As distributions ship it: balancing beside the daemon.
    ("hotset", None, (kernels.DEFAULT,), {"kernel.numa_balancing": "1"}),
    ("fits", None, (kernels.DEFAULT,), {}),
    ("idle", None, (kernels.DEFAULT,), {}),
    ("stop", None, (kernels.SERIES[0], kernels.DEFAULT), {}),
    ("crash", None, (kernels.SERIES[0], kernels.DEFAULT), {}),
    ("foreign", None, (kernels.DEFAULT,), {}),
    ("dryrun", None, (kernels.DEFAULT,), {}),
    ("reload", None, (kernels.DEFAULT,), {}),
    ("shift", None, (kernels.SERIES[0], kernels.DEFAULT), {}),
    ("drift", None, (kernels.DEFAULT,), {}),
    ("thrash", None, (kernels.DEFAULT,), {}),
    ("stream", None, (kernels.DEFAULT,), {}),
    ("burst", None, (kernels.DEFAULT,), {}),
    ("churn", None, (kernels.DEFAULT,), {}),
    ("full", None, (kernels.DEFAULT,), {}),
    ("sets", "sockets", (kernels.DEFAULT,), {}),
    ("hugepages", None, (kernels.DEFAULT,), {}),
    ("pagecache", None, (kernels.DEFAULT,), {}),
    # Not 'auto': on a busy host the emulated CPUs never look busy to the guest, and no kdamond is the limit.
    ("slices", None, (kernels.DEFAULT,), {}),
    ("verdicts", None, (kernels.DEFAULT,), {}),
)


@dataclass
class Tally:
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def note(self, verdict: str, name: str, detail: str = "") -> None:
        print(f"{verdict:4} {name}{': ' + detail if detail else ''}", flush=True)


def run(command: list[str], **more) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)


def build(kind: str, options: list[str], tally: Tally) -> Path | None:
    """A build directory of this source tree, up to date; None when it does not build."""
    directory = cache.root() / f"{kind}-{cache.digest(SOURCE)}"
    steps = [["ninja", "-C", str(directory)]]
    if not (directory / "build.ninja").exists():
        steps.insert(0, ["meson", "setup", *options, str(directory), str(SOURCE)])
    for step in steps:
        done = run(step)
        if done.returncode != 0:
            print(done.stdout[-6000:])
            tally.failed.append(f"build ({kind})")
            tally.note("FAIL", f"build ({kind})")
            return None
    return directory


def count_program(entry: dict, tally: Tally) -> None:
    """One test program of meson's log: its cases, or itself where it tells of none."""
    name = entry["name"]
    output = (entry.get("stdout") or "") + "\n" + (entry.get("stderr") or "")
    outcome = entry["result"]
    found = cases.count(output)
    passed, failed = found.passed, list(found.failed)
    if outcome == "SKIP":
        reason = next((line for line in output.splitlines() if line.strip()), "no reason given")
        tally.skipped.append(f"{name}: {reason}")
        tally.note("SKIP", name, reason)
        return
    good = outcome in ("OK", "EXPECTEDFAIL")
    if good and not passed and not failed:
        passed = 1
    # A crash, a leak or a timeout fails no single case, but fails.
    if not good and not failed:
        failed = [outcome.lower()]
    tally.passed += passed
    tally.skipped += [f"{name}: {case}" for case in found.skipped]
    tally.failed += [f"{name}: {case}" for case in failed]
    tally.note("ok" if not failed else "FAIL", name, f"{passed} passed" + (f", {len(failed)} failed" if failed else ""))
    if failed:
        print("\n".join(output.strip().splitlines()[-60:]))


def meson_suite(suite: str, directory: Path, tally: Tally) -> None:
    log = directory / f"meson-logs/run-{suite}.json"
    log.unlink(missing_ok=True)
    done = run(["meson", "test", "-C", str(directory), "--no-rebuild", "--suite", suite, "--logbase", f"run-{suite}",
                "--print-errorlogs"])
    if not log.exists():
        if "No suitable tests" not in done.stdout:
            print(done.stdout[-4000:])
            tally.failed.append(f"suite {suite}")
        tally.note("none" if "No suitable tests" in done.stdout else "FAIL", f"suite {suite}")
        return
    entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for entry in entries:
        count_program(entry, tally)
    if not entries:
        tally.note("none", f"suite {suite}")


def coverage(tally: Tally) -> None:
    """How much of the policy the unit tests execute."""
    directory = build("coverage", ["-Db_coverage=true", "-Dbuildtype=debug"], tally)
    if not directory:
        return
    for stale in directory.rglob("*.gcda"):
        stale.unlink()
    run(["meson", "test", "-C", str(directory), "--no-rebuild", "--suite", "unit"])
    done = run(["gcovr", "--root", str(SOURCE), "--filter", "src/core/", "--exclude-unreachable-branches",
                "--json-summary-pretty", "--json-summary", str(directory / "core.json"), str(directory)])
    table = run(["gcovr", "--root", str(SOURCE), "--filter", "src/core/", "--sort-uncovered", str(directory)])
    print(table.stdout.strip())
    try:
        percent = float(json.loads((directory / "core.json").read_text(encoding="utf-8"))["line_percent"])
    except (OSError, ValueError, KeyError, TypeError):
        tally.failed.append(f"coverage: {done.stdout.strip()[-500:]}")
        tally.note("FAIL", "coverage of src/core", "could not be measured")
        return
    if percent < CORE_COVERAGE_PERCENT:
        tally.failed.append(f"coverage of src/core: {percent:.1f} %, wanted {CORE_COVERAGE_PERCENT:.0f} %")
        tally.note("FAIL", "coverage of src/core", f"{percent:.1f} % of lines, wanted {CORE_COVERAGE_PERCENT:.0f} %")
    else:
        tally.passed += 1
        tally.note("ok", "coverage of src/core", f"{percent:.1f} % of lines")


def lab(tally: Tally) -> None:
    scenarios = scenario.load()
    for name, topology, series, sysctls in LAB:
        for kernel in series:
            title = " ".join(["lab", name, topology or scenarios[name].topology, kernel,
                              *(f"{key}={value}" for key, value in sysctls.items())])
            try:
                result = bench.perform(scenarios[name], bench.Options(kernel=kernel, topology=topology, sysctls=sysctls))
            except (distribution.DistributionError, product.ProductError, OSError) as error:
                tally.failed.append(title)
                tally.note("FAIL", title, str(error))
                continue
            except Exception:  # pylint: disable=broad-except
                # A mistake in one scenario must not hide the others.
                traceback.print_exc(file=sys.stdout)
                tally.failed.append(title)
                continue
            print(result.summary(), flush=True)
            if result.skipped and result.passed:
                tally.skipped.append(f"{title}: {result.skipped}")
            elif result.cases_passed is not None:
                tally.passed += result.cases_passed
                tally.failed += [f"{title}: case {n + 1}" for n in range(result.cases_failed or 0)]
                if not result.passed and not result.cases_failed:
                    tally.failed.append(title)
            elif result.passed:
                tally.passed += 1
            else:
                tally.failed.append(title)
            for reason in result.reasons:
                print(f"     {reason}", flush=True)


def main() -> int:
    wanted = sys.argv[1:] or list(SUITES)
    if unknown := [suite for suite in wanted if suite not in SUITES]:
        print(f"tests/run: no suite '{unknown[0]}'; there are {', '.join(SUITES)}", file=sys.stderr)
        return 2
    started = time.monotonic()
    tally = Tally()
    if any(suite in MESON_SUITES for suite in wanted):
        directory = build("test", ["--native-file", str(TESTS / "dev.ini")], tally)
        for suite in MESON_SUITES:
            if directory and suite in wanted:
                meson_suite(suite, directory, tally)
    if "coverage" in wanted:
        coverage(tally)
    if "lab" in wanted:
        lab(tally)
    for name in tally.failed:
        print(f"failed: {name}")
    for name in tally.skipped:
        print(f"skipped: {name}")
    print(f"{time.monotonic() - started:.0f} s")
    skipped = f", {len(tally.skipped)} skipped" if tally.skipped else ""
    print(f"{tally.passed} passed, {len(tally.failed)} failed{skipped}")
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
