"""Processes that run cases, and end when one takes more than its share of CPU seconds or of memory.

A kernel that never comes back holds no clock, hears no signal handler of Python's and cannot be told to stop: so the
cases run in processes of their own. What compiling takes is not counted, nor is the time in which others compute.
"""

import contextlib
import multiprocessing
import os
import signal
import threading
import time
import traceback
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path

import psutil

POLL = 0.2  # seconds between two looks at a process
BEAT = 0.05  # seconds between two notes of a process about what it has compiled
MEMORY = 3 << 30  # bytes resident
STILL = 300.0  # seconds in which a process that computes gets some of the CPU, however many others there are
PACKAGE = "extbnsl"


@dataclass(frozen=True)
class Failure:
    """What went wrong: a rule, which stays the same while a case is made smaller, and the details of this one."""

    rule: str
    text: str


@dataclass(frozen=True)
class Outcome:
    """What became of a task: its failure, if there is one, and the CPU seconds that it took."""

    failure: Failure | None
    seconds: float


class Watched:
    """A process that runs one task at a time: objects with `run()`, which raises what is wrong with them."""

    def __init__(self):
        self._spawn()
        self.task = None

    @property
    def idle(self):
        return self.task is None

    @property
    def pipe(self):
        return self._pipe

    def begin(self, task, seconds):
        """Let the process run a task, in so many CPU seconds."""
        assert self.idle, "one at a time"
        self.task, self._limit = task, seconds
        self._spent, self._looked, self._moved = self._counted(), time.monotonic(), (time.monotonic(), 0.0)
        self._pipe.send(task)

    def outcome(self):
        """What became of the task; None if it goes on."""
        try:
            if self._pipe.poll():
                failure, seconds = self._pipe.recv()
                self.task = None
                return Outcome(failure, seconds)
            if time.monotonic() - self._looked < POLL:
                return None
            failure = self._overdue()
        except (EOFError, ConnectionError, psutil.NoSuchProcess):
            self._process.join()
            failure = Failure(f"died {self._process.exitcode}", "the process ended in the middle of the case")
        if failure is None:
            return None
        self.end()
        self._spawn()
        self.task = None
        return Outcome(failure, self._limit)

    def end(self):
        """End the process."""
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def _spawn(self):
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._notes = context.Array("d", 2, lock=False)  # CPU seconds of compiling; 1 while it goes on
        self._process = context.Process(target=_serve, args=(theirs, self._notes), daemon=True)
        self._process.start()
        theirs.close()
        self._seen = psutil.Process(self._process.pid)

    def _counted(self):
        """CPU seconds of the process, but for compiling."""
        times = self._seen.cpu_times()
        return times.user + times.system - self._notes[0]

    def _overdue(self):
        """Why the task has to end, if it has."""
        self._looked = time.monotonic()
        spent = self._counted() - self._spent
        if spent - self._moved[1] > 0.05:
            self._moved = self._looked, spent
        if self._seen.memory_info().rss > MEMORY:
            return Failure("too much memory", f"more than {MEMORY >> 20} MiB")
        if self._looked - self._moved[0] > STILL:
            return Failure("stands still", f"no CPU time in {STILL:.0f} seconds")
        if spent > self._limit and not self._notes[1]:
            return Failure("too long", f"more than {self._limit:.0f} CPU seconds")
        return None


def run_one(watched, task, seconds):
    """The outcome of a task, once it is there."""
    watched.begin(task, seconds)
    while (outcome := watched.outcome()) is None:
        wait([watched.pipe], POLL)
    return outcome


def _serve(pipe, notes):
    """Run tasks for as long as there are any: the life of the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_note, args=(notes,), daemon=True).start()
    with contextlib.suppress(EOFError, ConnectionError):  # nobody is left to tell
        while True:
            task = pipe.recv()
            began = time.process_time() - _compiled()
            failure = _failure_of(task)
            pipe.send((failure, time.process_time() - _compiled() - began))


def _note(notes):
    """Tell what is compiled: the process cannot answer while it computes."""
    from extbnsl.core import compiling

    while True:
        state = compiling.so_far()
        notes[1] = float(state.since is not None)
        notes[0] = state.cpu_seconds
        time.sleep(BEAT)


def _compiled():
    from extbnsl.core import compiling

    return compiling.so_far().cpu_seconds


def _failure_of(task):
    with open(os.devnull, "w") as nothing, contextlib.redirect_stderr(nothing), contextlib.redirect_stdout(nothing):
        try:
            task.run()
        except Exception as error:
            rule = getattr(error, "rule", None) or _place(error)
            return Failure(rule, str(error)[:2000] or type(error).__name__)
    return None


def _place(error):
    """The name of an error with the function of the package that raised it, or that called what did."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f"{os.sep}{PACKAGE}{os.sep}" in f.filename]
    where = f" in {Path(frames[-1].filename).stem}.{frames[-1].name}" if frames else ""
    return f"{type(error).__name__}{where}"
