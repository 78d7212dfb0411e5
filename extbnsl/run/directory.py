"""A run directory: the place where one run keeps its lock, its logs, its checkpoint and its result.

    result.json     the outcome, bounds, statistics and provenance
    network.bif     the network with its parameters (only when there are data), and as
    network.json    names, states, parents, arcs, equivalence class, tables
    network.dot     a drawing
    networks.csv    the k best networks, if these were asked for, and
    arcs.csv        which share of them has each arc
    network-R.*     the one at place R, from 2 on, as the best is written
    log.jsonl       every event, one JSON object per line
    solve.log       the same for people
    layers.png      a drawing of the log, if it was asked for
    ranks.png       one of the shares of the k best networks
    network.svg     one of the network
    report.html     a page about the run
    status.json     what the run is doing, for other processes
    manifest.json   the state that was committed last, which names the arrays that belong to it
    scores.h5, bounds-K-S.h5, pieces-K-S.h5, families-K-S.h5, layers/, runs/
                    arrays: here, or in a scratch folder that the manifest names
    lock            held, by the system, for the life of the process

`remains` tells what may be removed of it.
"""

import contextlib
import itertools
import math
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from extbnsl.core.codec import json_value
from extbnsl.core.errors import InputError, RunDirectoryError
from extbnsl.core.sentences import Mention
from extbnsl.files import names
from extbnsl.files.atomic import Content, lines_of, open_regular, synchronise_folder, write_atomically, write_failure
from extbnsl.files.lock import hold
from extbnsl.files.names import EVENTS_LOG, LOCK, LOGS, MANIFEST, STATUS
from extbnsl.results.outputs import encoded
from extbnsl.run.remains import check_run, foreign_files, is_run, remove_run


class RunDirectory:
    """A run directory that this process holds; made by `create` or `reopen`, a context manager that lets go of it.

    `warnings` are sentences for the user. Until `begin`, what is there stays as it is.
    """

    def __init__(self, path: Path, *, made: bool, new: bool) -> None:
        self.path = path
        self._made = made
        self._new = new
        self._logs: dict[str, int] = {}
        self._early: list[tuple[str, str]] = []
        self._lock, self.warnings = hold(path)

    def begin(self) -> None:
        """Open the logs; for a new run, remove what an earlier one left.

        Later calls do nothing. Raises InputError or BudgetError if something cannot be written.
        """
        if self.begun:
            return
        if self._new:
            remove_run(self.path)
            if self._made:
                _settle(self.path)
        self._logs = {name: _open_log(self.path / name) for name in LOGS}
        for log, line in self._early:
            self.append(log, line)
        self._early.clear()

    @property
    def begun(self) -> bool:
        """Whether the directory belongs to this run already."""
        return bool(self._logs)

    def append(self, log: str, line: str) -> None:
        """Add a line to one of the logs, which get it when they are begun; when the disk is full, it is lost."""
        if not self.begun:
            self._early.append((log, line))
        else:
            with contextlib.suppress(OSError):
                os.write(self._logs[log], encoded(f"{line}\n"))

    def show(self, status: str) -> None:
        """Make `status` the content of status.json, whole but not on disk for sure; what fails is ignored."""
        if not self.begun:
            return
        temporary = self.path / names.temporary(STATUS, os.getpid())
        try:
            with open(open_regular(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
                file.write(encoded(status))
            temporary.replace(self.path / STATUS)
        except (OSError, RunDirectoryError):
            with contextlib.suppress(OSError):
                temporary.unlink()

    def write(self, files: Iterable[tuple[str, Content]]) -> None:
        """Write each (name, content) atomically as it comes; raises as `write_atomically` does."""
        self.begin()
        for name, content in files:
            write_atomically(self.path / name, content)

    def discard(self) -> None:
        """Leave no trace of a run that has not begun: not the lock, and not the directory if it was made."""
        if not self.begun and self._made:
            with contextlib.suppress(OSError):
                (self.path / LOCK).unlink()
                self.path.rmdir()

    def __enter__(self) -> "RunDirectory":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()
        for descriptor in (*self._logs.values(), self._lock):
            os.close(descriptor)


def create(path: Path | None, source: str, overwrite: bool = False, scratch_dir: Path | None = None) -> RunDirectory:
    """Make a run directory, or take an existing one, for a new run, and hold its lock.

    Without a `path` it stands in the current folder and is named after the file `source`: wdbc.run, or
    wdbc-2.run and so on where that exists already (unless `overwrite`). With `scratch_dir` the run will have a folder
    of its own below that. Raises InputError if something cannot be written, or the directory holds anything and
    `overwrite` is not given, or is not a run's, or holds what no run has written; RunDirectoryError if another process
    holds it.
    """
    if scratch_dir is not None:
        _check_scratch_dir(scratch_dir)
    path, made = _make(path, source, overwrite)
    return RunDirectory(path, made=made, new=True)


def reopen(path: Path) -> RunDirectory:
    """Take a directory that holds a run, to go on with it, and hold its lock.

    Raises InputError if it holds no run or cannot be written, RunDirectoryError if another process holds it.
    """
    check_run(path)
    _check_writable(path)
    return RunDirectory(path, made=False, new=False)


def resume_command(path: Path) -> str:
    """The shell line that goes on with the run in `path`."""
    return f"extbnsl resume {shlex.quote(str(path))}"


def _make(path: Path | None, source: str, overwrite: bool) -> tuple[Path, bool]:
    """A directory that a new run may have, and whether it was made for it."""
    if path is None:
        stem = Path(Path(source).name.removesuffix(".gz")).stem or "data"
        if not overwrite:
            return _make_first_free(stem), True
        path = Path(f"{stem}.run")
    try:
        path.mkdir()
    except FileExistsError:
        _check_free(path, overwrite)
        _check_writable(path)
        return path, False
    except OSError as error:
        raise write_failure(path, error) from error
    return path, True


def _make_first_free(stem: str) -> Path:
    for number in itertools.count(1):
        path = Path(f"{stem}.run" if number == 1 else f"{stem}-{number}.run")
        try:
            path.mkdir()
        except FileExistsError:
            continue
        except OSError as error:
            raise write_failure(path.absolute(), error) from error
        return path
    raise AssertionError("unreachable: the numbers do not end")


def _check_free(path: Path, overwrite: bool) -> None:
    """Raise InputError unless a new run may use the existing `path`."""
    overwriting, choose = Mention("overwrite"), (" choose another ", Mention("run-dir"), ".")
    if not path.is_dir():
        raise InputError(f"The run directory {path} is a file;", *choose)
    foreign = foreign_files(path)
    if not foreign and not any(entry.name != LOCK for entry in path.iterdir()):
        return
    if is_run(path) and (path / MANIFEST).exists() and not overwrite:
        raise InputError(
            f"The run directory {path} holds a run; go on with it by '{resume_command(path)}', give ",
            *(overwriting, " to replace it, or", *choose),
        )
    if not overwrite:
        raise InputError(
            f"The run directory {path} exists and is not empty; give ",
            *(overwriting, " to replace the run in it, or", *choose),
        )
    if foreign:
        raise InputError(
            overwriting,
            f" replaces nothing but a run directory, and {path} also holds {foreign[0]!r}; move that away or",
            *choose,
        )
    if not is_run(path):
        raise InputError(
            overwriting,
            f" replaces nothing but a run directory, and {path} has neither a manifest nor a lock of a run;",
            *choose,
        )


def _check_writable(path: Path) -> None:
    if not os.access(path, os.W_OK | os.X_OK):
        raise InputError(f"The run directory {path} cannot be written: no permission to write in it.")


def _check_scratch_dir(path: Path) -> None:
    if not os.path.isdir(path):
        kind = "is a file" if os.path.exists(path) else "does not exist"
        raise InputError(f"{path} {kind}; give an existing folder.", option="scratch-dir", value=path)
    if not os.access(path, os.W_OK | os.X_OK):
        what = f"{path} cannot be written: no permission to write in it; choose another."
        raise InputError(what, option="scratch-dir", value=path)


def _settle(path: Path) -> None:
    """Let the name of a new folder be on disk, unless its parent is one that must not be opened."""
    with contextlib.suppress(InputError):
        synchronise_folder(path.absolute().parent)


def _open_log(path: Path) -> int:
    """A descriptor that appends to a log, on a line of its own even if a killed process left half a line."""
    try:
        descriptor = open_regular(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        length = os.fstat(descriptor).st_size
        if length and os.pread(descriptor, 1, length - 1) != b"\n":
            os.write(descriptor, b"\n")
    except OSError as error:
        raise write_failure(path, error) from error
    return descriptor


MOST_BYTES = 1 << 36  # of a log: years of a run
LONGEST_LINE = 1 << 24  # bytes; an event has some hundred
_TOLD = {"IncumbentFound": ("lower_bound", "cost"), "LayerEnded": ("lower_bound", "upper_bound")}  # by event


@dataclass(frozen=True)
class Moment:
    """What was known after so many seconds of a run: the best lower bound and the cost of the best network, in nats;
    None where there was none."""

    seconds: float
    lower: float | None
    upper: float | None


def read_bounds(path: Path) -> tuple[Moment, ...]:
    """The moments at which the log of the run in `path` has better bounds than before, in their order.

    Empty without a log. Lines that are torn, or have no numbers, are passed over. RunDirectoryError if the log is no
    file.
    """
    try:
        return tuple(_improvements(read_log(path)))
    except OSError:
        return ()


def read_log(path: Path) -> Iterator[Mapping[str, Any]]:
    """The events in the log of the run in `path`, in their order, without lines that are torn.

    Raises OSError if the log cannot be read, RunDirectoryError if it is no file.
    """
    for line in lines_of(path / EVENTS_LOG, MOST_BYTES, LONGEST_LINE):
        try:
            event = json_value(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event


def _improvements(events: Iterable[Mapping[str, Any]]) -> Iterator[Moment]:
    known = Moment(0.0, None, None)
    for record in events:
        keys = _TOLD.get(str(record.get("event")))
        seconds = _finite(record.get("elapsed")) if keys else None
        if keys is None or seconds is None:
            continue
        lower, upper = (_finite(record.get(key)) for key in keys)
        best = Moment(max(seconds, known.seconds), _better(max, known.lower, lower), _better(min, known.upper, upper))
        if (best.lower, best.upper) != (known.lower, known.upper):
            known = best
            yield known


def _finite(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _better(better: Any, known: float | None, found: float | None) -> float | None:
    return found if known is None else known if found is None else float(better(known, found))
