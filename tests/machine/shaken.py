"""A solve on a cluster whose driver, workers and scheduler are killed at random and started again.

python tests/machine/shaken.py FOLDER resamples|campaign|counting|posterior KILLS SEED
"""

import contextlib
import csv
import json
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

WORKERS = 3
SOONER = (sys.executable, str(Path(__file__).with_name("sooner.py")))
RESAMPLES = 16
RUNS = 8  # of the campaign
PATIENCE = 600  # seconds until it is taken to hang, on a busy machine
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def chained(path, variables=18, records=250):
    """Write data of which, of 15 variables, a resample takes a tenth of a second, and of 18 half a second."""
    rng, codes = np.random.default_rng(3), np.zeros((records, variables), int)
    for x in range(variables):
        parents = rng.choice(x, min(x, 2), replace=False) if x else []
        some = rng.random(records) < 0.25
        codes[:, x] = np.where(some, rng.integers(0, 3, records), codes[:, parents].sum(axis=1) % 3)
    rows = [",".join(f"v{x}" for x in range(variables)), *(",".join(map(str, row)) for row in codes.tolist())]
    path.write_text("\n".join(rows) + "\n")
    return path


class Resampled:
    """A network and its resamples."""

    def __init__(self, folder):
        self._data = chained(folder / "data.csv", 15)

    def command(self, place):
        """The command that begins this in a folder, or goes on with it."""
        asked = ["--score", "bdeu", "--ess", "5", "--bootstrap", str(RESAMPLES), "--threads", "1"]
        return ["solve", str(self._data), *asked, "--run-dir", str(place), "--resume", "--quiet"]

    def answer(self, place):
        """The bytes that must be the same, and the resamples by their numbers, each of which is there once."""
        lines = [json.loads(line) for line in (place / "bootstrap.jsonl").read_text().splitlines()]
        lines.sort(key=lambda line: line["resample"])
        assert [line["resample"] for line in lines] == list(range(1, RESAMPLES + 1))
        return [(place / name).read_bytes() for name in ("network.json", "network.bif", "bootstrap.csv")], lines


class Counted:
    """A network of more variables, whose families take seconds to count."""

    def __init__(self, folder):
        self._data = chained(folder / "data.csv", 18, 1000)

    def command(self, place):
        """As that of `Resampled`."""
        asked = ["--score", "bdeu", "--ess", "20", "--threads", "1"]
        return ["solve", str(self._data), *asked, "--run-dir", str(place), "--resume", "--quiet"]

    def answer(self, place):
        """The bytes that must be the same."""
        return [(place / name).read_bytes() for name in ("network.json", "network.bif", "network.dot")]


class Summed:
    """Sums over all networks, whose families take some seconds to count."""

    def __init__(self, folder):
        self._data = chained(folder / "data.csv", 15, 4000)

    def command(self, place):
        """As that of `Resampled`."""
        asked = ["--score", "bdeu", "--ess", "20", "--sample", "2000", "--threads", "1"]
        return ["posterior", str(self._data), *asked, "--run-dir", str(place), "--resume", "--quiet"]

    def answer(self, place):
        """The bytes that must be the same."""
        files = ("network.json", "posterior.csv", "families.csv", "samples.jsonl")
        return [(place / name).read_bytes() for name in files]


class Campaign:
    """A campaign of runs that take about a second each."""

    def __init__(self, folder):
        variants = [{"name": f"ess {ess}", "options": {"score": "bdeu", "ess": ess}} for ess in range(1, RUNS + 1)]
        asked = {"title": "Shaken", "data": [chained(folder / "data.csv", 14).name], "methods": ["bfbnb"]}
        asked |= {"variants": variants, "options": {"threads": 1}}
        self._file = folder / "asked.yaml"
        self._file.write_text(json.dumps(asked))  # which is YAML too

    def command(self, place):
        """As that of `Resampled`."""
        return ["campaign", str(self._file), "--output-dir", str(place), "--resume", "--quiet"]

    def answer(self, place):
        """What is found by each run, each of which is there once."""
        with (place / "results.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert len({row["variant"] for row in rows}) == len(rows) == RUNS
        return sorted((row["variant"], row["status"], row["cost"]) for row in rows)


class Shaken:
    """The processes of a cluster and the driver, in a folder, for work that takes so many seconds undisturbed; `kills`
    counts what was killed, by kind."""

    def __init__(self, folder, work, seed, seconds):
        self._folder, self._random, self._pause = folder, random.Random(seed), seconds / 8
        self._file = folder / "scheduler.json"
        self._command = [*work.command(folder / "shaken"), "--cluster", f"scheduler-file:{self._file}"]
        self._processes = {}
        self.kills = {"scheduler": 0, "worker": 0, "driver": 0}

    def survive(self, most):
        """Let the driver come to its end, with so many kills before it, the first half of them at any time, the others
        while it works; its exit code."""
        end = time.monotonic() + PATIENCE
        try:
            while time.monotonic() < end:
                self._start()
                code = self._processes["driver"].poll()
                if code == 0:
                    return code
                done = sum(self.kills.values())
                if done < most and (done < most // 2 or self._works()):
                    time.sleep(self._random.uniform(0.1, self._pause))
                    self._kill_one()
                time.sleep(0.1)
            return None
        finally:
            for process in self._processes.values():
                process.kill()
                process.wait()

    def _start(self):
        """Start whatever does not run."""
        for name, command in self._commands().items():
            process = self._processes.get(name)
            if process is None or (process.poll() is not None and not (name == "driver" and process.poll() == 0)):
                errors = (self._folder / f"{name}.txt").open("ab")
                self._began = time.time()  # the driver is the last of them
                self._processes[name] = subprocess.Popen(command, stdout=errors, stderr=errors)
                errors.close()

    def _works(self):
        """Whether the driver that runs now has told of its work."""
        with contextlib.suppress(FileNotFoundError):  # folders come and go
            told = (self._folder / "shaken").rglob("status.json")
            return any(file.stat().st_mtime > self._began for file in told)
        return False

    def _kill_one(self):
        if self._processes["driver"].poll() == 0:
            return
        name = self._random.choices(["scheduler", "worker", "driver"], [1, 6, 3])[0]
        which = f"worker{self._random.randrange(WORKERS)}" if name == "worker" else name
        self._processes[which].kill()
        self._processes[which].wait()
        self.kills[name] += 1
        if name == "scheduler":
            self._file.unlink(missing_ok=True)
        if self._random.random() < 0.3:
            time.sleep(self._random.uniform(0.0, self._pause))

    def _commands(self):
        part = [sys.executable, "-m"]
        file = ["--scheduler-file", str(self._file)]
        worker = ["distributed.cli.dask_worker", *file, "--no-nanny", "--nthreads", "1", "--no-dashboard"]
        found = {"scheduler": [*part, "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", *file]}
        found |= {f"worker{k}": [*part, *worker, "--death-timeout", "20"] for k in range(WORKERS)}
        return found | {"driver": [*SOONER, *self._command]}


def shaken(folder, kind, kills, seed):
    """Shake some work, and compare what comes of it with what comes of it undisturbed; how often what was killed."""
    work, plain, began = kind(folder), folder / "plain", time.monotonic()
    subprocess.run([sys.executable, "-m", "extbnsl", *work.command(plain)], check=True, timeout=PATIENCE, **QUIET)
    trial = Shaken(folder, work, seed, time.monotonic() - began)
    assert trial.survive(kills) == 0, (folder / "driver.txt").read_text()[-2000:]
    assert work.answer(folder / "shaken") == work.answer(plain)
    return trial.kills


KINDS = {"resamples": Resampled, "campaign": Campaign, "counting": Counted, "posterior": Summed}

if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.mkdir(parents=True, exist_ok=True)
    print(shaken(place, KINDS[sys.argv[2]], int(sys.argv[3]), int(sys.argv[4])))
