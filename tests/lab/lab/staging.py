# SPDX-License-Identifier: GPL-2.0-or-later
"""DAMON's tree driven by hand inside a guest, for scenarios that need somebody else's or all of it."""

from __future__ import annotations

from .guest import Guest

ADMIN = "/sys/kernel/mm/damon/admin/kdamonds"

# While the kernel's own statistics module monitors, nobody else can.
_STAT_OFF = "f=/sys/module/damon_stat/parameters/enabled; [ ! -e $f ] || echo N >$f"


def monitor_only() -> str:
    """A kdamond that watches the first 64 MiB and does nothing else."""
    return f"""set -e; {_STAT_OFF}
        echo 1 >{ADMIN}/nr_kdamonds; echo 1 >{ADMIN}/0/contexts/nr_contexts; c={ADMIN}/0/contexts/0
        echo paddr >$c/operations; echo 1 >$c/targets/nr_targets; echo 1 >$c/targets/0/regions/nr_regions
        echo 4096 >$c/targets/0/regions/0/start; echo $((64 << 20)) >$c/targets/0/regions/0/end
        echo on >{ADMIN}/0/state"""


def one_of_everything() -> str:
    """One child below each count file, level by level, nothing switched on."""
    # Counts appear below counts, so look again until no file is left that still says 0.
    return f"""set -e; {_STAT_OFF}
        for level in 1 2 3 4 5 6; do
                for f in $(find {ADMIN} -name 'nr_*' -perm -200 ! -path '*nr_regions/*' ! -path '*access_pattern*'); do
                        case ${{f##*/}} in
                        nr_kdamonds|nr_contexts|nr_targets|nr_regions|nr_schemes|nr_goals|nr_filters|nr_dests|nr_probes)
                                [ -d "$f" ] || [ "$(cat "$f")" != 0 ] || echo 1 >"$f" ;;
                        esac
                done
        done"""


def dump(guest: Guest) -> list[str]:
    """Every file of the tree as 'path mode value', sorted, paths from the tree's root."""
    # Some files answer EBUSY while a command is being served.
    text = guest.run('steady() { for n in $(seq 40); do cat "$1" 2>/dev/null && return; sleep 0.05; done; }; '
                     f"cd {ADMIN} && find . -type f | LC_ALL=C sort | while read -r f; do "
                     'printf "%s %s %s\\n" "${f#./}" "$(stat -c %a "$f")" "$(steady "$f" | tr "\\n" " ")"; done')
    return [line.rstrip() for line in text.splitlines()]
