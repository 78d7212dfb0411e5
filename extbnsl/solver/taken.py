"""The resamples that a run has solved: in memory, and in a run directory a line each, so that a resume goes on behind
them."""

import contextlib
import math
from collections.abc import Iterator
from pathlib import Path

from extbnsl.claims import DISK_LIMIT
from extbnsl.errors import BudgetError, ExtbnslError, RunDirectoryError
from extbnsl.files.documents import json_text, json_value
from extbnsl.files.journal import Journal, read_lines
from extbnsl.files.names import RESAMPLES
from extbnsl.files.shapes import Misfit
from extbnsl.machine.workers import Stopped
from extbnsl.networks.network import Network
from extbnsl.results.bootstrap import Resample
from extbnsl.solver.bootstrap_document import RESAMPLE
from extbnsl.solver.place import Place


class Taken:
    """The resamples that are done, in their order, from 1 on, and the journal that gets each further one, if there is a
    run directory."""

    def __init__(self, done: list[Resample], journal: Journal | None) -> None:
        self.done = done
        self._journal = journal

    def add(self, resample: Resample) -> None:
        """Add the next one, on disk when this returns; Stopped when the disk is full."""
        if self._journal is not None:
            try:
                self._journal.append(line_of(resample))
            except BudgetError as error:
                raise Stopped(DISK_LIMIT) from error
        self.done.append(resample)


@contextlib.contextmanager
def taken_at(place: Place, names: tuple[str, ...], asked: int) -> Iterator[Taken]:
    """What the run at this place has solved of so many resamples over these variables.

    Raises RunDirectoryError, and InputError if the journal cannot be read. Nothing is written before a resample is
    added, or the line at the end was torn.
    """
    if place.run_folder is None:
        yield Taken([], None)
        return
    path = place.run_folder / RESAMPLES
    lines = [] if place.resume is None else read_lines(path)
    done = [_read(path, at, line, names) for at, line in enumerate(lines, start=1)]
    if len(done) > asked:
        raise _damaged(path, asked + 1)
    journal = Journal(path, sum(len(line) + 1 for line in lines))
    try:
        yield Taken(done, journal)
    finally:
        journal.close()


def line_of(resample: Resample) -> str:
    """A resample as a line of the journal."""
    return json_text(
        {
            "resample": resample.number,
            "status": resample.status,
            "cost": resample.cost,
            "lower_bound": resample.lower_bound,
            "parents": resample.network.parents_by_name(),
        }
    )


def _read(path: Path, number: int, line: bytes, names: tuple[str, ...]) -> Resample:
    """The resample of this number from its line; RunDirectoryError if it is not what a run writes there."""
    try:
        told = json_value(line)
        RESAMPLE(told)
        if told["resample"] != number:
            raise _damaged(path, number)
        network = Network.from_names(names, told["parents"])
        network.order()
    except (ValueError, RecursionError, Misfit, ExtbnslError) as error:
        raise _damaged(path, number) from error
    lower_bound = -math.inf if told["lower_bound"] is None else told["lower_bound"]
    return Resample(number, told["status"], told["cost"], lower_bound, network)


def _damaged(path: Path, line: int) -> RunDirectoryError:
    return RunDirectoryError(
        f"{path} is damaged in line {line}; cut that line and all below it off, and they are solved again."
    )
