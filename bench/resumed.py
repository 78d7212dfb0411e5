"""`python -m bench.resumed`: what it costs to run a solve in short sessions, each resumed by the next."""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory


@dataclass(frozen=True)
class Whole:
    """A run from its first session to its end: sessions, wall seconds with the start of each process, status, cost."""

    sessions: int
    seconds: float
    status: str
    cost: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0, or 1 if the run in sessions did not end as the one left alone."""
    parser = argparse.ArgumentParser(prog="python -m bench.resumed", description="Solve in short sessions.")
    parser.add_argument("data", metavar="DATA", type=Path, help="a data set, or local scores")
    parser.add_argument("--every", metavar="T", default="60s", help="the time limit of a session (default: 60s)")
    parser.add_argument("--solving", metavar="OPTIONS", default="", help="options of solve, in one argument")
    given = parser.parse_args(arguments)
    begin = ["solve", str(given.data), *given.solving.split()]
    with TemporaryDirectory(prefix="resumed-") as folder:
        _session([*begin, "--run-dir", f"{folder}/first", "--time-limit", "1s"])  # compiles the kernels if need be
        alone = whole(begin, Path(folder, "alone"), [])
        print(f"left alone   {_row(alone)}", flush=True)
        often = whole(begin, Path(folder, "often"), ["--time-limit", given.every])
        print(f"in sessions  {_row(often)}   {often.seconds / alone.seconds:.2f} times")
    same = often.status == alone.status and abs(often.cost - alone.cost) <= 1e-9 * abs(alone.cost)
    return int(not same)


def whole(begin: list[str], run: Path, limit: list[str]) -> Whole:
    """Begin a run with this limit for each session, and go on until it ends by itself."""
    sessions, started = 1, time.monotonic()
    code = _session([*begin, "--run-dir", str(run), *limit])
    while code == 10:
        sessions += 1
        code = _session(["resume", str(run), *limit])
    document = json.loads((run / "result.json").read_text())
    return Whole(sessions, time.monotonic() - started, document["status"], document["cost"])


def _session(command: list[str]) -> int:
    return subprocess.run([sys.executable, "-m", "extbnsl", *command, "--quiet"], stdout=subprocess.DEVNULL).returncode


def _row(run: Whole) -> str:
    return f"{run.status}, cost {run.cost:.6f}, {run.sessions:>4} sessions, {run.seconds:8.1f} s"


if __name__ == "__main__":
    sys.exit(main())
