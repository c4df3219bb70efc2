# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line of the lab."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from . import bench, contenders, distribution, kernels, product, scenario, shell, topologies


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests/lab/run", description="Run a scenario on a real kernel with emulated tiers.")
    parser.add_argument("scenario", nargs="?", help="see --list")
    parser.add_argument("--kernel", default=kernels.DEFAULT, metavar="VER",
                        help=f"series, several with commas, or 'all': {', '.join(kernels.SERIES)} (default {kernels.DEFAULT})")
    parser.add_argument("--topology", choices=sorted(topologies.BY_NAME), help="default: the scenario's own")
    parser.add_argument("--contender", choices=sorted(contenders.BY_NAME), help="who tiers (default: the scenario's own)")
    parser.add_argument("--config", type=Path, metavar="FILE", help="becomes /etc/damon-tierd.conf in the guest")
    parser.add_argument("--sysctl", action="append", default=[], metavar="KEY=VALUE", help="set after boot; may be repeated")
    parser.add_argument("--seconds", type=float, metavar="N", help="how long to run after the start")
    parser.add_argument("--json", metavar="FILE", help="write the result; '-' for standard output, several make a list")
    parser.add_argument("--repeat", type=int, default=1, metavar="N")
    parser.add_argument("--shell", action="store_true", help="a shell in the guest after the scenario has run")
    parser.add_argument("--keep-artifacts", type=Path, metavar="DIR", help="keep kernel log, journal, status, result")
    parser.add_argument("--build", type=Path, metavar="DIR", help="meson build directory to install from")
    parser.add_argument("--list", action="store_true", help="list scenarios, topologies and contenders")
    return parser.parse_args()


def _list() -> None:
    print("scenarios:")
    for name, one in sorted(scenario.load().items()):
        print(f"  {name:12} {one.summary}")
    print("topologies:")
    for name, topology in topologies.BY_NAME.items():
        print(f"  {name:12} {topology.summary}")
    print("contenders:", ", ".join(sorted(contenders.BY_NAME)))
    print("kernels:", ", ".join(kernels.SERIES))


def main() -> int:
    arguments = _arguments()
    if arguments.list:
        _list()
        return 0
    scenarios = scenario.load()
    if arguments.scenario not in scenarios:
        print(f"tests/lab/run: no scenario '{arguments.scenario}'; see --list", file=sys.stderr)
        return 2
    if any("=" not in setting for setting in arguments.sysctl):
        print("tests/lab/run: --sysctl needs KEY=VALUE", file=sys.stderr)
        return 2
    chosen = scenarios[arguments.scenario]
    if chosen.daemon_only and arguments.contender not in (None, "damon-tierd"):
        print(f"tests/lab/run: scenario '{chosen.name}' is about damon-tierd itself", file=sys.stderr)
        return 2
    series = kernels.SERIES if arguments.kernel == "all" else arguments.kernel.split(",")
    results = []
    try:
        for one in series:
            for number in range(arguments.repeat):
                artifacts = arguments.keep_artifacts
                if artifacts and len(series) * arguments.repeat > 1:
                    artifacts = artifacts / f"{one}-{number + 1}"
                options = bench.Options(
                    kernel=one, topology=arguments.topology, contender=arguments.contender, config=arguments.config,
                    seconds=arguments.seconds, build=arguments.build, artifacts=artifacts,
                    sysctls=dict(setting.split("=", 1) for setting in arguments.sysctl),
                )
                result = bench.perform(shell.After(chosen) if arguments.shell else chosen, options)
                results.append(result)
                out = sys.stderr if arguments.json == "-" else sys.stdout
                print(result.summary(), file=out, flush=True)
                for reason in result.reasons:
                    print(f"  {reason}", file=out, flush=True)
    except (distribution.DistributionError, product.ProductError, FileNotFoundError) as error:
        print(f"tests/lab/run: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("tests/lab/run: interrupted", file=sys.stderr)
        return 130
    if arguments.json:
        dicts = [result.to_dict() for result in results]
        text = json.dumps(dicts[0] if len(dicts) == 1 else dicts, indent=1) + "\n"
        if arguments.json == "-":
            sys.stdout.write(text)
        else:
            Path(arguments.json).write_text(text, encoding="utf-8")
    if results and all(result.skipped for result in results):
        return 77
    return 0 if results and all(result.passed for result in results) else 1
