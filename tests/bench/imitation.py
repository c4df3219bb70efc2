# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine and its kernel's DAMON tree as plain files, for programs that must not see the real ones."""

from __future__ import annotations

import re
from pathlib import Path

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
KDAMONDS = "sys/kernel/mm/damon/admin/kdamonds"
# Whoever writes looks for this first.
MARKER = "sys/imitation"

# What the kernel's files hold when they come into being; all others are 0 (mm/damon/sysfs*.c).
_DEFAULTS = {
    "state": "off", "pid": "-1", "avail_operations": "vaddr\nfvaddr\npaddr", "operations": "vaddr", "addr_unit": "1",
    "sample_us": "5000", "aggr_us": "100000", "update_us": "60000000", "nr_regions/min": "10", "nr_regions/max": "1000",
    "action": "stat", "target_nid": "-1", "goal_tuner": "consist", "target_metric": "user_input", "type": "anon",
    "matching": "N", "allow": "N", "metric": "none", "pause": "N", "obsolete_target": "N", "memcg_path": "", "path": "",
}
# How many of these there may be, where it is more than one.
_SEVERAL = {"filters": 2, "ops_filters": 2, "core_filters": 2, "schemes": 2, "goals": 2, "regions": 16}


def _put(root: Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text + "\n", encoding="utf-8")


def machine(root: Path, name: str) -> None:
    """Lay out a machine that tests/fixtures/capture.sh has described."""
    for line in (FIXTURES / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        path, kind, *rest = line.split(" ", 2)
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if kind == "link":
            target.unlink(missing_ok=True)
            target.symlink_to(rest[0])
        elif kind == "dir":
            target.mkdir(exist_ok=True)
        else:
            target.write_text((rest[0] if rest else "").replace("\\n", "\n").replace("\\\\", "\\"), encoding="utf-8")
    _put(root, MARKER, "files only")


def _default(path: str) -> str:
    parts = path.split("/")
    return _DEFAULTS.get("/".join(parts[-2:]), _DEFAULTS.get(parts[-1], "0"))


def damon(root: Path, n_kdamonds: int, kernel: str = "7.3") -> None:
    """A tree in which so many kdamonds can be staged; all of its directories are there from the start."""
    paths: set[str] = set()
    for line in (FIXTURES / "trees" / f"{kernel}.txt").read_text(encoding="utf-8").splitlines():
        path = line.split(" ", 1)[-1]
        paths.add(path)
        for directory, n in _SEVERAL.items():
            paths |= {path.replace(f"/{directory}/0/", f"/{directory}/{i}/") for i in range(n)}
    for path in paths:
        if not path.startswith("0/"):
            continue
        for kdamond in range(n_kdamonds):
            _put(root, f"{KDAMONDS}/{kdamond}/{path[2:]}", _default(path))
    _put(root, f"{KDAMONDS}/nr_kdamonds", "0")
    (root / "sys/kernel/tracing").mkdir(exist_ok=True)


def set_module(root: Path, name: str, enabled: str) -> None:
    _put(root, f"sys/module/{name}/parameters/enabled", enabled)


def many_blocks(root: Path, n_blocks: int, n_nodes: int) -> None:
    """A machine of that many memory blocks; the upper half of the nodes is slow and without CPUs."""
    per_node = n_blocks // n_nodes
    nodes, memory = root / "sys/devices/system/node", root / "sys/devices/system/memory"
    memory.mkdir(parents=True)
    _put(root, "sys/devices/system/memory/block_size_bytes", "8000000")
    for name in ("online", "possible", "has_memory", "has_normal_memory"):
        _put(root, f"sys/devices/system/node/{name}", f"0-{n_nodes - 1}")
    zones = []
    # Every zone tells of every CPU, which makes most of the text: of 256 here.
    pagesets = "".join(f"    cpu: {cpu}\n              count:    1041\n              high:     13824\n              batch:    63\n"
                       "              high_min: 1728\n              high_max: 13824\n  vm stats threshold: 125\n"
                       for cpu in range(256))
    for nid in range(n_nodes):
        fast = nid < n_nodes // 2
        base = f"sys/devices/system/node/node{nid}"
        kib = per_node * (128 << 10)
        _put(root, f"{base}/cpulist", f"{nid * 8}-{nid * 8 + 7}" if fast else "")
        _put(root, f"{base}/meminfo", f"Node {nid} MemTotal: {kib} kB\nNode {nid} MemFree: {kib // 50} kB")
        _put(root, f"{base}/distance", " ".join("10" if other == nid else "20" if (other < n_nodes // 2) == fast else "30"
                                                for other in range(n_nodes)))
        for block in range(nid * per_node, (nid + 1) * per_node):
            (memory / f"memory{block}").mkdir()
            (memory / f"memory{block}/state").write_text("online\n", encoding="utf-8")
            (memory / f"memory{block}/phys_index").write_text(f"{block:08x}\n", encoding="utf-8")
            (nodes / f"node{nid}/memory{block}").symlink_to(f"../../memory/memory{block}")
        pages = kib // 4
        zones.append(f"Node {nid}, zone   Normal\n  pages free     {pages // 50}\n        boost    0\n        min      1000\n"
                     f"        low      1250\n        high     1500\n        spanned  {pages}\n        present  {pages}\n"
                     f"        managed  {pages}\n        cma      0\n        protection: (0, 0, 0)\n  pagesets\n{pagesets}"
                     f"  node_unreclaimable:  0\n  start_pfn:           {nid * pages}\n")
    for tier, some in ((4, f"0-{n_nodes // 2 - 1}"), (22, f"{n_nodes // 2}-{n_nodes - 1}")):
        _put(root, f"sys/devices/virtual/memory_tiering/memory_tier{tier}/nodelist", some)
    (root / "proc").mkdir(exist_ok=True)
    (root / "proc/zoneinfo").write_text("".join(zones), encoding="utf-8")
    _put(root, MARKER, "files only")


def states(root: Path) -> list[str]:
    """What the state files of the staged kdamonds hold."""
    base = root / KDAMONDS
    numbers = re.match(r"\d+", (base / "nr_kdamonds").read_text(encoding="utf-8"))
    return [(base / str(k) / "state").read_text(encoding="utf-8").strip() for k in range(int(numbers[0]) if numbers else 0)]
