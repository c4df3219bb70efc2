# SPDX-License-Identifier: GPL-2.0-or-later
"""All contenders on the same machine in one go, and one table of what came of it."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any, Iterable

from . import bench, contenders, distribution, kernels, product, scenario
from .result import Result

MOMENTS_S = (5, 10, 20, 40)
SCENARIO = "hotset"


def _median(values: Iterable[float | None]) -> float | None:
    """Of what there is; never counts as later than everything, so that half a success is none."""
    known = [float("inf") if value is None else value for value in values]
    middle = statistics.median_low(known) if known else float("inf")
    return None if middle == float("inf") else middle


def _share_at(result: dict[str, Any], moment_s: float) -> float | None:
    """The hot set's share of fast memory in the first look that is not before the moment, or in the last one."""
    if moment_s > result["seconds"]:
        return None
    return next((s["hot_fast_share"] for s in result["samples"] if s["t"] >= moment_s), result["hot_fast_share_end"])


def _least(result: dict[str, Any]) -> float | None:
    """What has to rise, and as much that has to make room. The same for all, so without anybody's headroom."""
    return 2 * result["hot_slow_start_bytes"] or None


def _per_right(result: dict[str, Any]) -> float | None:
    """Bytes moved for each byte of the hot set that rose."""
    before = [s["hot_fast_share"] for s in result["samples"] if s["t"] < 0]
    risen = ((result["hot_fast_share_end"] or 0) - (before[-1] if before else 0)) * result["hot_bytes"]
    return (result["pgmigrate_bytes"] or 0) / risen if risen > 0 else None


def _row(results: list[dict[str, Any]]) -> dict[str, Any]:
    """The median of a contender's runs."""
    def middle(key: str) -> float | None:
        return _median(result[key] for result in results)

    ratios = [(result["pgmigrate_bytes"] or 0) / least if (least := _least(result)) else None for result in results]
    return {
        "contender": results[0]["contender"],
        "runs": len(results),
        "shares": {str(moment): _median(_share_at(result, moment) for result in results) for moment in MOMENTS_S},
        "share_end": middle("hot_fast_share_end"),
        "t95_s": middle("t95_s"),
        "migrated_bytes": middle("pgmigrate_bytes"),
        "migrated_per_least": _median(ratios),
        "migrated_per_right_byte": _median(_per_right(result) for result in results),
        "kdamond_cpu_s": middle("kdamond_cpu_s"),
        "daemon_cpu_s": middle("daemon_cpu_s"),
        "daemon_rss_kib": middle("daemon_rss_kib"),
        "skipped": results[0]["skipped"],
    }


def summarise(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One entry per scenario, with a row per contender in the order in which they ran."""
    tables: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for result in results:
        tables.setdefault(result["scenario"], {}).setdefault(result["contender"], []).append(result)
    return [{"scenario": name, "kernel": next(iter(runs.values()))[0]["kernel"],
             "topology": next(iter(runs.values()))[0]["topology"], "rows": [_row(some) for some in runs.values()]}
            for name, runs in tables.items()]


def _cell(value: float | None, form: str, factor: float = 1) -> str:
    return "" if value is None else form.format(value * factor)


def markdown(tables: list[dict[str, Any]]) -> str:
    """The tables as people read them."""
    lines: list[str] = []
    for table in tables:
        head = ["contender", *(f"{moment} s" for moment in MOMENTS_S), "end", "95 % after", "migrated / least",
                "migrated / byte put right", "kdamonds' CPU", "user space's CPU", "user space's memory"]
        lines += [f"Scenario `{table['scenario']}`, topology `{table['topology']}`, kernel {table['kernel']}:", "",
                  f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
        for row in table["rows"]:
            if row["skipped"]:
                lines.append(f"| {row['contender']} | {row['skipped']} |" + " |" * (len(head) - 2))
                continue
            cells = [row["contender"], *(_cell(row["shares"][str(moment)], "{:.1f} %", 100) for moment in MOMENTS_S),
                     _cell(row["share_end"], "{:.1f} %", 100), _cell(row["t95_s"], "{:.1f} s") or "never",
                     _cell(row["migrated_per_least"], "{:.2f}"), _cell(row["migrated_per_right_byte"], "{:.2f}"),
                     _cell(row["kdamond_cpu_s"], "{:.1f} s"), _cell(row["daemon_cpu_s"], "{:.2f} s"),
                     _cell(row["daemon_rss_kib"], "{:.1f} MiB", 1 / 1024)]
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests/lab/compare",
                                     description="Run the contenders one after the other on one kernel and print one table.")
    parser.add_argument("scenario", nargs="*", default=[SCENARIO], help=f"default: {SCENARIO}")
    parser.add_argument("--kernel", default=kernels.DEFAULT, choices=kernels.SERIES, metavar="VER")
    parser.add_argument("--topology", metavar="NAME", help="default: the scenario's own")
    parser.add_argument("--contenders", default=",".join(contenders.BY_NAME), metavar="A,B", help="default: all")
    parser.add_argument("--seconds", type=float, metavar="N", help="how long each runs after the start")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="the table has medians")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every run and the table")
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    parser.add_argument("--from", dest="source", type=Path, metavar="FILE", help="print the table of an earlier --json")
    return parser.parse_args()


def _run(arguments: argparse.Namespace, chosen: list[scenario.Scenario], names: list[str]) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    # Round by round, so that a change in the host's load meets all of them.
    for one in chosen:
        for _ in range(arguments.repeat):
            for name in names:
                result: Result = bench.perform(one, bench.Options(kernel=arguments.kernel, topology=arguments.topology,
                                                                  contender=name, seconds=arguments.seconds))
                print(result.summary(), file=sys.stderr, flush=True)
                for reason in result.reasons:
                    print(f"  {reason}", file=sys.stderr, flush=True)
                results.append(result.to_dict())
    return results


def main() -> int:
    arguments = _arguments()
    scenarios = scenario.load()
    names = arguments.contenders.split(",")
    if unknown := [name for name in names if name not in contenders.BY_NAME]:
        print(f"tests/lab/compare: no contender '{unknown[0]}'; there are {', '.join(contenders.BY_NAME)}", file=sys.stderr)
        return 2
    comparable = sorted(name for name, one in scenarios.items() if not one.daemon_only)
    if unfit := [name for name in arguments.scenario if name not in comparable]:
        print(f"tests/lab/compare: '{unfit[0]}' can't be compared; these can: {', '.join(comparable)}", file=sys.stderr)
        return 2
    try:
        if arguments.source:
            results = json.loads(arguments.source.read_text(encoding="utf-8"))["runs"]
        else:
            results = _run(arguments, [scenarios[name] for name in arguments.scenario], names)
    except (distribution.DistributionError, product.ProductError, OSError, ValueError, KeyError) as error:
        print(f"tests/lab/compare: {error}", file=sys.stderr)
        return 2
    tables = summarise(results)
    print(markdown(tables))
    if arguments.json:
        arguments.json.write_text(json.dumps({"tables": tables, "runs": results}, indent=1) + "\n", encoding="utf-8")
    if arguments.markdown:
        arguments.markdown.write_text(markdown(tables), encoding="utf-8")
    return 0 if all(result["passed"] for result in results) else 1
