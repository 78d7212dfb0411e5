"""A solve that is killed at random times and gone on with; see often.py."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

OFTEN = (sys.executable, str(Path(__file__).with_name("often.py")))
PATIENCE = 300  # seconds until a process is taken to hang, on a busy machine
COUNTERS = ("nodes_expanded", "nodes_generated", "nodes_kept", "peak_layer")


class Trial:
    """A data set: an undisturbed run of it, in a folder of its own, and those that are killed.

    begin: the command that begins a run, but for its run directory. seconds: what an undisturbed one takes when the
    kernels have been compiled. expected: what comes out of it.
    """

    def __init__(self, folder, begin, rng):
        self._folder, self._begin, self._rng = folder, begin, rng
        self._runs = 0
        for _ in range(2):
            run = self._new_run()
            started = time.monotonic()
            subprocess.run(self._command(run), check=True, capture_output=True, timeout=PATIENCE)
            self.seconds = time.monotonic() - started
        self.expected = outcome(run)

    def survive(self, most):
        """A run that is killed at random times, `most` times at most, and gone on with until it ends by itself as the
        undisturbed one did; how often it was killed."""
        run, kills = self._new_run(), 0
        while True:
            process = subprocess.Popen(self._command(run), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            try:
                wait = self._rng.uniform(0, self.seconds / 2) if kills < most else PATIENCE
                _, errors = process.communicate(timeout=wait)
                break
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                if kills == most:
                    pytest.fail(f"no end within {PATIENCE} s")
                kills += 1
        assert process.returncode == 0, errors.decode(errors="replace")
        assert outcome(run) == self.expected
        assert not debris(run)
        return kills

    def _new_run(self):
        self._runs += 1
        return self._folder / f"{self._runs}.run"

    def _command(self, run):
        """The command that begins a run, or goes on with it."""
        if (run / "manifest.json").exists():
            return [*self._begin[: self._begin.index("solve")], "resume", str(run)]
        return [*self._begin, "--run-dir", str(run), "--overwrite"]


def often(*arguments):
    """A command with frequent commits; what came of it."""
    command = [*OFTEN, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)


def outcome(run):
    """What must be the same however often a run was killed."""
    document = json.loads((run / "result.json").read_text())
    kept = {key: document[key] for key in ("status", "cost", "lower_bound", "parents", "order")}
    return kept | {key: document["stats"][key] for key in COUNTERS}


def debris(run):
    """Files of arrays and temporary files that are left."""
    return sorted(path.name for path in run.rglob("*") if path.suffix in (".h5", ".tmp"))
