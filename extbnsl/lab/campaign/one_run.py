"""One run of a campaign, from its beginning or from where it was cut off to its record."""

import contextlib
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from extbnsl.core.claims import FINISHED, INTERRUPTED, STOP_REASONS
from extbnsl.core.errors import ExtbnslError, InputError, RunDirectoryError
from extbnsl.files.atomic import write_atomically
from extbnsl.lab.campaign.outcome import ENDED, FAILED, STOPPED, Record, read_outcome, read_record, write_record
from extbnsl.lab.campaign.plan import Run
from extbnsl.lab.process import POLL_SECONDS, Ended, Manner, run_process
from extbnsl.machine.workers import StopSignal
from extbnsl.run import directory as run_directory
from extbnsl.run.directory import remove_scratch
from extbnsl.run.status import Status, read_status

PROGRAM = (sys.executable, "-P", "-m", "extbnsl")  # -P: not what lies beside the campaign's file
LEAST_SECONDS = 1.0  # that a run which goes on has at least
STOPPED_AT_LIMIT = tuple(reason for reason in STOP_REASONS if reason != INTERRUPTED)
MOST_COMPILING = 1800.0  # seconds that a process may compile without their counting
LATE = "late"
MOST_SENTENCE = 500  # characters of what a process says last


@dataclass(frozen=True)
class Place:
    """Where the runs are done: the folder of the campaign's file, and that of the runs; the program they run."""

    start: Path
    runs: Path
    program: tuple[str, ...] = PROGRAM

    def folder(self, run: Run) -> Path:
        """The run directory of a run."""
        return self.runs / f"{run.name}.run"

    def record(self, run: Run) -> Path:
        return self.runs / f"{run.name}.json"

    def log(self, run: Run) -> Path:
        """What the last process of a run has said."""
        return self.runs / f"{run.name}.log"


def known(run: Run, place: Place) -> Record | None:
    """The record of a run, if there is one."""
    return read_record(place.record(run), run.arguments)


def carry_out(run: Run, place: Place, stop: StopSignal) -> Record:
    """Do what is left of a run, and keep its record: the process of a run that is in work already is waited for.

    Whatever the process does, this returns. A record that cannot be written is returned all the same, and the run is
    looked at again the next time.
    """
    before = known(run, place)
    if before is not None and before.over:
        return before
    record = _done(run, place, stop).after(before)
    if record.over:
        with contextlib.suppress(ExtbnslError):
            _clean(place.folder(run))
    with contextlib.suppress(ExtbnslError):
        write_record(place.record(run), record, run.arguments)
    return record


def _done(run: Run, place: Place, stop: StopSignal) -> Record:
    """The record of what is left of a run, once it is done or stopped."""
    while True:
        status = _settled(run, place, stop)
        if stop() is not None:
            return Record(STOPPED)
        if status is not None and status.state == "running":
            return Record(FAILED, "Another process works on it, and has not ended at the time limit.")
        if status is not None and _is_over(status) and _wrong_outcome(place.folder(run)) is None:
            return Record(ENDED)
        record = _tried(run, place, status, stop)
        if record.exit_codes != (RunDirectoryError.exit_code,) or not _is_in_work(place.folder(run)):
            return record


def _is_in_work(folder: Path) -> bool:
    """Whether a process works on a run: one that a campaign began before it was killed may need a moment for that."""
    with contextlib.suppress(InputError):
        return read_status(folder).state == "running"
    return False


def _wrong_outcome(folder: Path) -> str | None:
    """What is wrong with the result of a run; None if nothing is."""
    try:
        read_outcome(folder)
    except ExtbnslError as error:
        return str(error)
    return None


def _settled(run: Run, place: Place, stop: StopSignal) -> Status | None:
    """What has become of a run when nobody works on it any more, or `stop` has a reason, or it is late; None if it has
    not begun."""
    is_late = _lateness(run, place, None, run.seconds)
    while True:
        try:
            status = read_status(place.folder(run))
        except InputError:
            return None
        if status.state != "running" or stop() is not None or is_late():
            return status
        time.sleep(POLL_SECONDS)


def _lateness(run: Run, place: Place, before: Status | None, seconds: float | None) -> Callable[[], bool]:
    """What tells whether a run is late, which has so many seconds from now on and was in a state before. What it
    compiles does not count, as for its time limit: its directory says how long that took."""
    limit = math.inf if seconds is None else time.monotonic() + seconds + run.kill_after
    compiled = _compiling(before)

    def is_late() -> bool:
        beyond = time.monotonic() - limit
        if beyond < 0.0:
            return False
        with contextlib.suppress(InputError):
            own = _compiling(read_status(place.folder(run))) - compiled
            beyond -= min(MOST_COMPILING, max(0.0, own))
        return beyond >= 0.0

    return is_late


def _compiling(status: Status | None) -> float:
    """How many of its seconds a run has compiled so far, as far as that is known."""
    return 0.0 if status is None else float(status.document.get("compiling") or 0.0)


def _is_over(status: Status) -> bool:
    """Whether a run has come to an end that resuming it would not change: to its result, or to a limit."""
    return status.state == "done" or (status.state == "stopped" and status.ended in (*FINISHED, *STOPPED_AT_LIMIT))


def _tried(run: Run, place: Place, status: Status | None, stop: StopSignal) -> Record:
    """The record of a process that does what is left of a run."""
    command, seconds = _command(run, place, status)
    goes_on = status is not None and status.resume is not None
    is_late = _lateness(run, place, status if goes_on else None, seconds)
    manner = Manner(watch=lambda process: LATE if is_late() else None)
    try:
        ended = run_process(command, place.start, stop, manner)
    except OSError as error:
        return Record(FAILED, f"The program cannot be begun: {error.strerror}.")
    with contextlib.suppress(ExtbnslError):
        write_atomically(place.log(run), ended.said.encode("utf-8", "backslashreplace"))
    state, message = _judged(ended, place.folder(run))
    return Record(state, message, (ended.exit_code,), ended.seconds, ended.cpu_seconds, ended.peak_rss_bytes)


def _command(run: Run, place: Place, status: Status | None) -> tuple[Sequence[str], float | None]:
    """The command line of what is left of a run, and its time limit in seconds."""
    folder = str(place.folder(run))
    if status is None or status.resume is None:
        return (*place.program, *run.arguments, "--run-dir", folder, "--overwrite", "--quiet"), run.seconds
    if run.seconds is None:
        return (*place.program, "resume", folder, "--quiet"), None
    left = max(LEAST_SECONDS, run.seconds + _compiling(status) - float(status.document.get("elapsed") or 0.0))
    return (*place.program, "resume", folder, "--quiet", "--time-limit", f"{left:.3f}"), left


def _judged(ended: Ended, folder: Path) -> tuple[str, str]:
    """The state of a run whose process has ended, and the sentence if it failed."""
    if ended.reason not in (None, LATE):
        return STOPPED, ""
    if ended.reason == LATE:
        return FAILED, f"It did not end at its time limit, and was killed after {ended.seconds:.0f} seconds."
    last = (ended.said.strip().splitlines() or ["It said nothing."])[-1][:MOST_SENTENCE]
    if ended.exit_code < 0:
        return FAILED, f"It was killed by signal {-ended.exit_code}. {last}"
    if ended.exit_code not in (0, 10):
        return FAILED, last.removeprefix("extbnsl: ")
    try:
        status = read_status(folder)
    except InputError:
        return FAILED, f"It ended with code {ended.exit_code}, and has written no result. {last}"
    if not _is_over(status):
        return (STOPPED, "") if status.ended == INTERRUPTED else (FAILED, f"It has written no result. {last}")
    wrong = _wrong_outcome(folder)
    return (ENDED, "") if wrong is None else (FAILED, wrong)


def _clean(folder: Path) -> None:
    """Delete what only a resume needs of a run that nobody will resume."""
    with run_directory.reopen(folder):
        remove_scratch(folder)
