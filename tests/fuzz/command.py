"""The command: cases by the thousand, in several processes; what fails is made smaller, kept and printed."""

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path

from fuzz.kinds import KINDS, trial_at, trial_from
from fuzz.shell import shell_line
from fuzz.shrinking import Shrinking
from fuzz.watchdog import POLL, Watched, run_one

MANY = 1000  # cases, unless a number or a time is given
TELLING = 60.0  # seconds between two lines that say how far it is


def main(arguments=None):
    """Exit code 0, or 1 if a case failed."""
    given = _parser().parse_args(arguments)
    if given.repeat is not None:
        return _repeat(given.repeat)
    kinds = given.kinds.split(",") if given.kinds else list(KINDS)
    unknown = set(kinds) - set(KINDS)
    if unknown:
        print(f"fuzz: there is no kind {min(unknown)!r}; there are {', '.join(KINDS)}", file=sys.stderr)
        return 2
    with _scratch_of_processes():
        campaign = Campaign(given.seed, kinds, given.keep)
        campaign.run(given.jobs, given.first, given.cases, given.seconds)
    campaign.tell()
    return 1 if campaign.failures else 0


@contextlib.contextmanager
def _scratch_of_processes():
    """A folder for the temporary files of processes that begin now: what those leave that are killed goes with it."""
    before = os.environ.get("TMPDIR")
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        os.environ["TMPDIR"] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ["TMPDIR"]
            else:
                os.environ["TMPDIR"] = before


def _parser():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, help="begin no case after so many seconds")
    parser.add_argument("--cases", type=int, help="how many cases (default: 1000, or as many as --seconds allow)")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same cases (default: 0)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case (default: 0)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument("--kinds", help=f"kinds of cases, with commas (default: all): {', '.join(KINDS)}")
    parser.add_argument("--keep", type=Path, help="a folder for what fails (default: nothing is kept)")
    parser.add_argument("--repeat", type=Path, help="run one case again, from a .json that was kept")
    return parser


class Campaign:
    """Cases of a seed, of some kinds; `keep`: a folder for what fails, or None; `out` gets the lines that are said."""

    def __init__(self, seed, kinds, keep=None, out=None):
        self._seed, self._kinds, self._keep = seed, kinds, keep
        self._out = out or partial(print, flush=True)
        self.failures, self._seen = [], Counter()
        self._spent = defaultdict(list)

    def run(self, jobs, first=0, cases=None, seconds=None):
        """Run the cases; what fails is made smaller as it comes, but only the first of each rule."""
        begun = time.monotonic()
        last = first + (cases if cases is not None else MANY if seconds is None else sys.maxsize)
        number, told = first, begun
        watched = [Watched() for _ in range(jobs)]
        try:
            while True:
                for one in watched:
                    now = time.monotonic()
                    if one.idle and number < last and (seconds is None or now - begun < seconds):
                        trial = trial_at(self._seed, number, self._kinds)
                        one.begin(trial, KINDS[trial.kind].seconds)
                        number += 1
                running = [one for one in watched if not one.idle]
                if not running:
                    return
                if now - told > TELLING:
                    self._out(f"... {number - first:,} cases, {len(self.failures):,} failed")
                    told = now
                wait([one.pipe for one in running], POLL)
                for one in running:
                    self._look(one)
        finally:
            for one in watched:
                one.end()

    def _look(self, watched):
        trial, outcome = watched.task, watched.outcome()
        if outcome is None:
            return
        self._spent[trial.kind].append(outcome.seconds)
        if outcome.failure is None:
            return
        self.failures.append((trial, outcome.failure))
        key = trial.kind, outcome.failure.rule
        self._seen[key] += 1
        self._out(f"FAILED {trial.name}: {outcome.failure.rule}: {outcome.failure.text}")
        self._out(f"  again: {again(trial)}")
        if self._seen[key] == 1:
            self._make_smaller(watched, trial.drawn(), outcome.failure)

    def _make_smaller(self, watched, trial, failure):
        small = Shrinking(watched, failure, KINDS[trial.kind].seconds).smallest(trial)
        final = run_one(watched, small, KINDS[trial.kind].seconds).failure or failure
        self._out(f"  smaller: {final.text}")
        for line in described(small):
            self._out(f"    {line}")
        if self._keep is not None:
            path, file = keep(self._keep, small, final)
            self._out(f"  kept: python -m tests.fuzz --repeat {path}")
            self._out(f"        {shell_line(small, file)}")

    def tell(self):
        """How many cases of each kind there were, and what they took."""
        self._out(f"{'kind':12} {'cases':>7} {'CPU s':>9} {'mean':>8} {'most':>7} {'failed':>7}")
        failed = Counter(trial.kind for trial, _ in self.failures)
        for kind, spent in sorted(self._spent.items()):
            total, count = sum(spent), len(spent)
            self._out(f"{kind:12} {count:7,} {total:9.1f} {total / count:8.3f} {max(spent):7.1f} {failed[kind]:7,}")
        total, count = sum(map(sum, self._spent.values())), sum(map(len, self._spent.values()))
        self._out(f"{'all':12} {count:7,} {total:9.1f} {total / max(1, count):8.3f} {'':7} {len(self.failures):7,}")
        for (kind, rule), times in self._seen.most_common():
            self._out(f"{times:6,} x {kind}: {rule}")


def again(trial):
    """The command that runs a case again."""
    return f"python -m tests.fuzz --seed {trial.seed} --first {trial.number} --cases 1 --kinds {trial.kind}"


def described(trial):
    """Lines that show a trial: its options, and its file if that is small."""
    yield f"options {json.dumps(trial.options)}"
    lines = trial.subject.text().splitlines()
    yield from lines if len(lines) <= 60 else [*lines[:50], f"... {len(lines) - 50} more lines"]


def keep(folder, trial, failure):
    """Write a trial that failed, for `--repeat`, and the file that it is about; their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    path, file = (folder / f"{trial.name}{ending}" for ending in (".json", trial.subject.ending))
    told = {"rule": failure.rule, "text": failure.text, "command": shell_line(trial, file)}
    path.write_text(json.dumps(trial.document() | told, indent=1) + "\n")
    file.write_text(trial.subject.text())
    return path, file


def _repeat(path):
    """Run a case that was kept; exit code 1 if it still fails."""
    trial = trial_from(json.loads(path.read_text()))
    watched = Watched()
    try:
        failure = run_one(watched, trial, KINDS[trial.kind].seconds).failure
    finally:
        watched.end()
    print("holds" if failure is None else f"FAILED {trial.name}: {failure.rule}: {failure.text}")
    return 0 if failure is None else 1
