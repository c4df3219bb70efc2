# SPDX-License-Identifier: GPL-2.0-or-later
"""What says that it only looks must only look."""

import re

from lab import staging
from lab.bench import Bench
from lab.scenario import Scenario

# Below these nothing may be opened for writing; strace -y puts the path behind each descriptor.
KERNEL_PATH = re.compile(r'[<"]/?(sys|proc/sys)/')
FOR_WRITING = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|\bcreat\(|\btruncate\(|\bmkdir")


class DryRun(Scenario):
    name = "dryrun"
    summary = "--dry-run and --check-config write nothing below /sys"

    def run(self, bench: Bench) -> None:
        self.reasons: list[str] = []
        program = bench.daemon_path()
        bench.guest.write("/run/good.conf", "[Manager]\nInterval=5s\n")
        bench.guest.write("/run/bad.conf", "[Manager]\nInterval=soon\n")
        before = staging.dump(bench.guest), bench.knobs()
        for arguments, want_success in (
            ("--dry-run", True), ("--dry-run --config=/run/good.conf", True),
            ("--check-config --config=/run/good.conf", True), ("--check-config --config=/run/bad.conf", False),
            ("--dump-config", True),
        ):
            status, output, errors = bench.guest.call(
                f"strace -f -y -o /run/trace -e trace=open,openat,openat2,creat,truncate,mkdir,mkdirat {program} {arguments}", 120)
            trace = bench.guest.read("/run/trace") or ""
            bench.notes.append(f"{arguments}: {status}\n{output}\n{errors}\n{trace}")
            if (status == 0) != want_success:
                self.reasons.append(f"{arguments} ended with {status}: {(errors or output).strip()[-300:]}")
            if not want_success and "/run/bad.conf:2:" not in output + errors:
                self.reasons.append(f"{arguments} does not name file and line: {(errors or output).strip()[-300:]}")
            if arguments == "--dry-run" and not output.strip():
                self.reasons.append("--dry-run says nothing")
            writes = [line for line in trace.splitlines() if KERNEL_PATH.search(line) and FOR_WRITING.search(line)]
            if writes:
                self.reasons.append(f"{arguments} opens for writing: {writes[0]}")
            if "openat" not in trace:
                self.reasons.append(f"{arguments} was not traced")
        if (staging.dump(bench.guest), bench.knobs()) != before:
            self.reasons.append("the tree or a setting changed")

    def judge(self, bench: Bench) -> list[str]:
        return self.reasons


SCENARIO = DryRun()
