"""`python -m bench.kill`: kill a solve at random times until it has survived so many kills. See README.md."""

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.often import POINTS

COUNTERS = ("nodes_expanded", "nodes_generated", "nodes_kept", "peak_layer")
PATIENCE = 3600.0  # seconds that a session may take


@dataclass(frozen=True)
class Survived:
    """A run that was killed so many times, and what it took from its first session to its end.

    sane: it ended as the undisturbed one, and left nothing but its results.
    """

    kills: int
    sessions: int
    seconds: float
    sane: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0, or 1 if a run did not end as an undisturbed one does."""
    parser = argparse.ArgumentParser(prog="python -m bench.kill", description="Kill a solve again and again.")
    parser.add_argument("data", metavar="DATA", type=Path, help="a data set")
    parser.add_argument("--kills", metavar="K", type=int, default=100, help="how many in all (default: 100)")
    parser.add_argument("--seed", metavar="S", type=int, default=0, help="of the times of the kills (default: 0)")
    parser.add_argument("--solving", metavar="OPTIONS", default="", help="options of solve, in one argument")
    given = parser.parse_args(arguments)
    with TemporaryDirectory(prefix="kill-") as folder:
        begin = [sys.executable, "-m", "bench.often", "solve", str(given.data), *given.solving.split()]
        trial = Trial(Path(folder), begin, random.Random(given.seed))
        print(f"undisturbed: {trial.seconds:.1f} s\n\nkills sessions seconds  ended")
        runs: list[Survived] = []
        while sum(run.kills for run in runs) < given.kills:
            runs.append(trial.survive(given.kills - sum(run.kills for run in runs)))
            print(_row(runs[-1]), flush=True)
        print(f"\n{_row(_total(runs))}, {len(runs)} runs\n\nSIGTERM in  ended after")
        for point in POINTS:
            print(f"{point:<10} {trial.latency(point):8.2f} s", flush=True)
    return int(not all(run.sane for run in runs))


class Trial:
    """One data set: an undisturbed run of it, in a folder of its own, and those that are killed.

    begin: the command that begins a run, but for its run directory. seconds: what an undisturbed one takes when the
    kernels have been compiled.
    """

    def __init__(self, folder: Path, begin: list[str], rng: random.Random) -> None:
        self._folder, self._begin, self._rng = folder, begin, rng
        self._runs = 0
        for _ in range(2):
            run = self._new_run()
            started = time.monotonic()
            subprocess.run(self._command(run), check=True, capture_output=True, timeout=PATIENCE)
            self.seconds = time.monotonic() - started
        self.expected = outcome(run)

    def survive(self, most: int) -> Survived:
        """One run, killed at random times, `most` times at most, and gone on with until it ends by itself."""
        run, kills, sessions = self._new_run(), 0, 0
        started = time.monotonic()
        while True:
            sessions += 1
            process = subprocess.Popen(self._command(run), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            wait = self._rng.uniform(0, self.seconds / 2) if kills < most else PATIENCE
            try:
                _, errors = process.communicate(timeout=wait)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                kills += 1
                continue
            if process.returncode:
                print(errors.decode(errors="replace"), file=sys.stderr)
            sane = process.returncode == 0 and outcome(run) == self.expected and not debris(run)
            return Survived(kills, sessions, time.monotonic() - started, sane)

    def latency(self, point: str) -> float:
        """Seconds from a SIGTERM at this point to the end of the process."""
        command = self._command(self._new_run())
        at = command.index("solve")
        done = subprocess.run(
            [*command[:at], "--term", point, *command[at:]], capture_output=True, text=True, timeout=PATIENCE
        )
        ended = time.monotonic()
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("SIGTERM at ")]
        return ended - float(line.split()[-1])

    def _new_run(self) -> Path:
        self._runs += 1
        return self._folder / f"{self._runs}.run"

    def _command(self, run: Path) -> list[str]:
        """The command that begins a run, or goes on with it."""
        if (run / "manifest.json").exists():
            return [*self._begin[: self._begin.index("solve")], "resume", str(run)]
        return [*self._begin, "--run-dir", str(run), "--overwrite"]


def outcome(run: Path) -> dict[str, Any]:
    """What must be the same however often a run was killed."""
    document = json.loads((run / "result.json").read_text())
    kept = {key: document[key] for key in ("status", "cost", "lower_bound", "parents", "order")}
    return kept | {key: document["stats"][key] for key in COUNTERS}


def debris(run: Path) -> list[str]:
    """Files of arrays and temporary files that are left."""
    return sorted(path.name for path in run.rglob("*") if path.suffix in (".h5", ".tmp"))


def _total(runs: list[Survived]) -> Survived:
    kills, sessions = sum(run.kills for run in runs), sum(run.sessions for run in runs)
    return Survived(kills, sessions, sum(run.seconds for run in runs), all(run.sane for run in runs))


def _row(run: Survived) -> str:
    return f"{run.kills:>5} {run.sessions:>8} {run.seconds:>7.1f}  {'as undisturbed' if run.sane else 'OTHERWISE'}"


if __name__ == "__main__":
    sys.exit(main())
