"""`python -m bench.resumed`: what it costs to stop or kill a solve often, and to go on with it. See README.md."""

import argparse
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from extbnsl.core.errors import InputError
from extbnsl.machine.budgets import parse_duration

LIMIT, TERM, KILL = "limit", "term", "kill"  # what ends a session
STOPPED = (10, -signal.SIGTERM, -signal.SIGKILL)  # exit codes: in good order; before it could be; at once


@dataclass(frozen=True)
class Whole:
    """A run from its first session to its end: sessions, wall seconds with the start of each process, the longest of
    the seconds from a signal to the end of a process, status, cost."""

    sessions: int
    seconds: float
    latency: float
    status: str
    cost: float


@dataclass(frozen=True)
class Ends:
    """What ends sessions, and after how many seconds; a kill comes after any time up to twice that."""

    by: str
    seconds: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0, or 1 if the run in sessions did not end as the one left alone."""
    parser = argparse.ArgumentParser(prog="python -m bench.resumed", description="Solve in short sessions.")
    parser.add_argument("data", metavar="DATA", type=Path, help="a data set, or local scores")
    parser.add_argument("--every", metavar="T", default="60s", help="how long a session takes (default: 60s)")
    parser.add_argument("--by", choices=(LIMIT, TERM, KILL), default=LIMIT, help="what ends it (default: limit)")
    parser.add_argument("--solving", metavar="OPTIONS", default="", help="options of solve, in one argument")
    given = parser.parse_args(arguments)
    try:
        ends = Ends(given.by, parse_duration(given.every, "--every"))
    except InputError as error:
        parser.error(str(error))
    begin = ["solve", str(given.data), *given.solving.split()]
    with TemporaryDirectory(prefix="resumed-") as folder:
        whole(begin, Path(folder, "first"), None)  # compiles the kernels if need be
        alone = whole(begin, Path(folder, "alone"), None)
        print(f"left alone   {_row(alone)}", flush=True)
        often = whole(begin, Path(folder, "often"), ends)
        print(f"in sessions  {_row(often)}   {often.seconds / alone.seconds:.2f} times", flush=True)
    if given.by == TERM:
        print(f"At most {often.latency:.2f} s from a signal to the end of the process.")
    same = often.status == alone.status and abs(often.cost - alone.cost) <= 1e-9 * abs(alone.cost)
    return int(not same)


def whole(begin: list[str], run: Path, ends: Ends | None) -> Whole:
    """Begin a run, whose sessions end so if they do not end by themselves, and go on until one does."""
    rng = random.Random(0)
    sessions, latency, started = 0, 0.0, time.monotonic()
    code, command = STOPPED[0], [*begin, "--run-dir", str(run)]
    while code in STOPPED:
        code, after = _session(command, ends, rng)
        sessions, latency = sessions + 1, max(latency, after)
        if (run / "manifest.json").exists():
            command = ["resume", str(run)]
        else:  # it was killed before its first checkpoint
            command = [*begin, "--run-dir", str(run), "--overwrite"]
    document = json.loads((run / "result.json").read_text())
    return Whole(sessions, time.monotonic() - started, latency, document["status"], document["cost"])


def _session(command: list[str], ends: Ends | None, rng: random.Random) -> tuple[int, float]:
    """The exit code of a process, and the seconds from the signal that it got, if it did, to its end."""
    limit = ["--time-limit", f"{ends.seconds}s"] if ends and ends.by == LIMIT else []
    process = subprocess.Popen(
        [sys.executable, "-m", "extbnsl", *command, *limit, "--quiet"], stdout=subprocess.DEVNULL
    )
    if ends is None or limit:
        return process.wait(), 0.0
    try:
        return process.wait(ends.seconds if ends.by == TERM else rng.uniform(0, 2 * ends.seconds)), 0.0
    except subprocess.TimeoutExpired:
        sent = time.monotonic()
        process.send_signal(signal.SIGTERM if ends.by == TERM else signal.SIGKILL)
        return process.wait(), time.monotonic() - sent


def _row(run: Whole) -> str:
    return f"{run.status}, cost {run.cost:.6f}, {run.sessions:>4} sessions, {run.seconds:8.1f} s"


if __name__ == "__main__":
    sys.exit(main())
