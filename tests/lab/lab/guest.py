# SPDX-License-Identifier: GPL-2.0-or-later
"""One virtual machine: started, spoken to, watched, and ended whatever happens."""

from __future__ import annotations

import base64
import gzip
import queue
import shlex
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Callable, Iterator

from . import emulator, image
from .kernels import Kernel
from .topologies import Topology

BOOT_TIMEOUT_S = 120
# How much longer than the guest's own limit the host waits for an answer.
GRACE_S = 30


class GuestError(RuntimeError):
    """The guest hangs, died, or a command in it failed."""


def _connect(path: Path, deadline: float) -> socket.socket:
    while True:
        try:
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(str(path))
            return connection
        except OSError:
            connection.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


class Guest:
    def __init__(self, kernel: Kernel, topology: Topology, disks: list[Path], directory: Path,
                 on_line: Callable[[str], None] | None = None) -> None:
        self.kernel = kernel
        self.topology = topology
        self.directory = directory
        self.kernel_log_path = directory / "kernel.log"
        self.boot_s = 0.0
        self._disks = disks
        self._on_line = on_line
        self._process: subprocess.Popen[bytes] | None = None
        self._agent: socket.socket | None = None
        self._live: socket.socket | None = None
        self._answers: queue.Queue[str | None] = queue.Queue()
        self._next_id = 0
        # While set, the third port's bytes go here as they come: somebody has a shell there.
        self.on_raw: Callable[[bytes], object] | None = None

    # --- life ---

    def start(self) -> None:
        """Up to a booted system. The emulated firmware hangs once in some hundred starts on a busy host;
        only that, before the kernel's first word, is tried again."""
        try:
            self._start()
        except GuestError:
            if "Linux version" in self.kernel_log():
                raise
            self.close()
            self._answers = queue.Queue()
            for socket_path in self.directory.glob("*.sock"):
                socket_path.unlink()
            self._start()

    def _start(self) -> None:
        ports = {name: self.directory / f"{name}.sock" for name in ("agent", "live")}
        # A busy host stops the emulated timers for seconds; the kernel's watchdog then blames the time stamp counter.
        # Without "fast strings": the kernel trusts them to clear and copy pages, and here they go byte by byte, which
        # made most of a migration's time.
        command = [*emulator.command(), "-accel", "tcg,thread=multi", "-cpu", "max,-erms,-fsrm", *self.topology.qemu(),
                   "-nodefaults", "-display", "none", "-no-reboot", "-net", "none",
                   "-kernel", str(self.kernel.vmlinuz),
                   "-append", f"root=PARTUUID={image.partition_id(image.ROOT_LABEL)} rootfstype=ext4 rw rootwait console=ttyS0 loglevel=7 panic=-1 "
                              "tsc=nowatchdog fsck.mode=skip systemd.show_status=0 systemd.log_target=journal",
                   "-chardev", f"file,id=console,path={self.kernel_log_path}", "-serial", "chardev:console"]
        for name, path in ports.items():
            command += ["-chardev", f"socket,id={name},path={path},server=on,wait=off", "-serial", f"chardev:{name}"]
        for number, disk in enumerate(self._disks):
            command += ["-drive", f"file={disk},if=none,id=disk{number},format=raw,snapshot=on",
                        "-device", f"nvme,serial=disk{number},drive=disk{number}"]
        started = time.monotonic()
        with open(self.directory / "qemu.log", "wb") as log:
            # A session of its own: an interrupt at the terminal ends the lab, which then ends qemu. And should
            # the lab be killed, no guest may live on: it would spoil the timing of all that follow.
            self._process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                             start_new_session=True)
        try:
            self._agent = _connect(ports["agent"], started + 10)
            self._live = _connect(ports["live"], started + 10)
        except OSError:
            raise GuestError(f"qemu does not start: {self._qemu_says()}") from None
        threading.Thread(target=self._read_agent, daemon=True).start()
        threading.Thread(target=self._read_live, daemon=True).start()
        self._await("ready", BOOT_TIMEOUT_S)
        # "degraded" is judged later, by name of the unit.
        self.run("systemctl is-system-running --wait", timeout=BOOT_TIMEOUT_S, check=False)
        self.boot_s = time.monotonic() - started

    def close(self) -> None:
        if self._process and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        for connection in (self._agent, self._live):
            if connection:
                connection.close()

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kernel_log(self) -> str:
        try:
            return self.kernel_log_path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""

    def _qemu_says(self) -> str:
        return (self.directory / "qemu.log").read_text(encoding="utf-8", errors="replace").strip()

    # --- commands ---

    def run(self, command: str, timeout: float = 60, check: bool = True) -> str:
        """Run a shell command as root; its standard output."""
        status, output, errors = self.call(command, timeout)
        if check and status != 0:
            raise GuestError(f"in the guest: {command!r} ended with {status}: {(errors or output).strip()[-1500:]}")
        return output

    def call(self, command: str, timeout: float = 60) -> tuple[int, str, str]:
        """Run a shell command as root; status, standard output, standard error."""
        if not self._agent:
            raise GuestError("the guest was not started")
        self._next_id += 1
        text = base64.b64encode(command.encode()).decode()
        try:
            self._agent.sendall(f"{self._next_id} {timeout:.0f} {text}\n".encode())
        except OSError as error:
            raise GuestError(f"the guest does not listen: {error}") from None
        answer = self._await(f"answer {self._next_id} ", timeout + GRACE_S).split()
        return int(answer[2]), _unpack(answer[3]), _unpack(answer[4])

    def write(self, path: str, content: str, mode: str = "644") -> None:
        text = base64.b64encode(content.encode()).decode()
        self.run(f"base64 -d <<<{text} >{shlex.quote(path)} && chmod {mode} {shlex.quote(path)}")

    def read(self, path: str) -> str | None:
        """A file's content, None when there is none."""
        status, output, _ = self.call(f"cat {shlex.quote(path)}")
        return output if status == 0 else None

    def wait_until(self, command: str, timeout: float, what: str) -> None:
        """Poll until a shell condition holds."""
        deadline = time.monotonic() + timeout
        while self.call(command)[0] != 0:
            if time.monotonic() > deadline:
                raise GuestError(f"not within {timeout:.0f} s: {what}")
            time.sleep(0.3)

    def send_live(self, data: bytes) -> None:
        """Type into the third serial port."""
        if self._live:
            self._live.sendall(data)

    def _await(self, start: str, timeout: float) -> str:
        deadline = time.monotonic() + timeout
        while True:
            try:
                line = self._answers.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise GuestError(f"the guest did not answer within {timeout:.0f} s") from None
            if line is None:
                raise GuestError(f"the guest is gone: {self._qemu_says() or 'qemu ended'}")
            if line.startswith(start) or line == start:
                return line

    def _read_agent(self) -> None:
        assert self._agent
        for line in _lines(self._agent):
            self._answers.put(line)
        self._answers.put(None)

    def _read_live(self) -> None:
        assert self._live
        with open(self.directory / "live.log", "w", encoding="utf-8") as log:
            for line in _lines(self._live, lambda data: self.on_raw and (self.on_raw(data), True)[1]):
                log.write(line + "\n")
                log.flush()
                if self._on_line:
                    self._on_line(line)


def _lines(connection: socket.socket, taken: Callable[[bytes], object] = lambda data: False) -> Iterator[str]:
    rest = b""
    while True:
        try:
            data = connection.recv(1 << 16)
        except OSError:
            return
        if not data:
            return
        if taken(data):
            continue
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            yield line.decode("utf-8", "replace").strip("\r\0")


def _unpack(field: str) -> str:
    return "" if field == "-" else gzip.decompress(base64.b64decode(field)).decode("utf-8", "replace")
