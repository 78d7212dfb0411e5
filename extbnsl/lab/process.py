"""A child process with limits: what it says is kept in part, what it uses is counted by the system, and whatever
happens to it, it ends."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from extbnsl.machine.system import kill_session, wait_for
from extbnsl.machine.workers import StopSignal

POLL_SECONDS = 0.2
GRACE_SECONDS = 30.0  # from the first signal, which lets it write what it has, to the one that ends it
KEPT = 1 << 16  # bytes of what it says that are kept from the beginning, and as many from the end

Watch = Callable[[int], str | None]
"""What is asked of the number of a process while it lives: why it is to be ended, if it is."""


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit code, minus the number of the signal if one killed it; why it was made to end, if
    it was; the seconds and memory that the system counted; and the beginning and end of what it said."""

    exit_code: int
    reason: str | None
    seconds: float
    cpu_seconds: float
    peak_rss_bytes: int
    said: str


_alive: set[int] = set()  # process groups of those that run


@dataclass(frozen=True)
class Manner:
    """How a process is made to end: the signal that asks it to, and the seconds until it and all of its process group
    are killed; and what else is looked at while it runs."""

    grace: float = GRACE_SECONDS
    asks: signal.Signals = signal.SIGTERM
    watch: Watch = lambda process: None


def run_process(command: Sequence[str], folder: Path, stop: StopSignal, manner: Manner = Manner()) -> Ended:
    """Run a command in a folder until it ends, or `stop` or the watch has a reason: then it is made to end. It is
    killed if this is interrupted. Raises OSError if it cannot be begun."""
    began = time.monotonic()
    modules = os.pathsep.join(map(os.path.abspath, sys.path))  # from another folder it finds the same
    environment = os.environ | {"COLUMNS": "120", "PYTHONUNBUFFERED": "1", "PYTHONPATH": modules}
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None, "there is a pipe"
    _alive.add(process.pid)
    said = _Said(process.stdout)
    waiting = _Waiting(process)
    reason: str | None = None
    try:
        while not waiting.over.wait(POLL_SECONDS):
            reason = stop() or manner.watch(process.pid)
            if reason is not None:
                _end(process, waiting.over, manner)
                break
        waiting.over.wait()
    finally:
        kill_session(process.pid)  # it, if this was interrupted, and what it began and left behind
        waiting.over.wait()
        _alive.discard(process.pid)
    used = waiting.used
    return Ended(
        exit_code=used.exit_code,
        reason=reason,
        seconds=time.monotonic() - began,
        cpu_seconds=used.cpu_seconds,
        peak_rss_bytes=used.peak_rss_bytes,
        said=said.text(),
    )


def _end(process: "subprocess.Popen[bytes]", over: threading.Event, manner: Manner) -> None:
    """Ask a process to end, and after a while make its group end."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, manner.asks)
    if not over.wait(manner.grace):
        kill_session(process.pid)


def kill_all() -> None:
    """End at once all that `run_process` has begun and is not over."""
    for group in tuple(_alive):
        kill_session(group)


class _Waiting:
    """A thread that waits for a process, and has what it used when that is `over`."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.over = threading.Event()
        self._process = process
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        self.used = wait_for(self._process)
        self.over.set()


class _Said:
    """A thread that reads what a process says to its end, and keeps the beginning and the end of it."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._begin = bytearray()
        self._last = bytearray()
        self._left_out = 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def text(self) -> str:
        """What is kept; to be asked when the process is over."""
        self._thread.join(POLL_SECONDS)  # somebody else may hold the pipe
        between = f"\n... {self._left_out:,} bytes ...\n".encode() if self._left_out else b""
        return bytes(self._begin + between + self._last).decode("utf-8", "backslashreplace")

    def _read(self) -> None:
        with self._pipe as pipe:
            while piece := os.read(pipe.fileno(), KEPT):
                room = KEPT - len(self._begin)
                self._begin += piece[:room]
                self._last += piece[room:]
                excess = max(0, len(self._last) - KEPT)
                self._left_out += excess
                del self._last[:excess]
