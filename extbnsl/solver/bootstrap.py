"""How sure the arcs are: the data are solved, and then resamples of them (Friedman, Goldszmidt and Wyner 1999, *Data
analysis with Bayesian networks: a bootstrap approach*, UAI).

A run directory keeps the resamples that are solved, a line each, so that a resume goes on behind them.
"""

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import DISK_LIMIT, INTERRUPTED, MEMORY_LIMIT, OPTIMAL, STATUSES, TIME_LIMIT, Claim
from extbnsl.core.codec import Lowest, Misfit, Within, decode, encode, json_text, json_value
from extbnsl.core.errors import BudgetError, ExtbnslError, InputError, RunDirectoryError
from extbnsl.core.events import Observer, StageAdvanced, Warned, ignore
from extbnsl.core.figures import format_size, in_full
from extbnsl.core.sentences import Mention
from extbnsl.data import Data, Dataset
from extbnsl.data.dataset import of_latent
from extbnsl.data.resampling import Resampling, resampling_of
from extbnsl.files.journal import Journal, read_lines
from extbnsl.files.manifest import BOOTSTRAP
from extbnsl.files.names import RESAMPLES
from extbnsl.files.shelf import Shelf
from extbnsl.files.store import temporary_store
from extbnsl.machine.budgets import MINIMUM_MEMORY
from extbnsl.machine.workers import Stopped, StopSignal, Workers, never
from extbnsl.networks.network import Network
from extbnsl.parents.exhaustive.source import source_of
from extbnsl.proof.commits import Commits
from extbnsl.proof.context import Context, Stages
from extbnsl.proof.methods import Methods
from extbnsl.proof.standing import Standing
from extbnsl.results.bootstrap import Bootstrap, Resample
from extbnsl.results.result import Result
from extbnsl.scores.local import LocalScores
from extbnsl.solver.families import find_survivors
from extbnsl.solver.methods import MOST_RESAMPLES
from extbnsl.solver.opening import Opened, Request, opened
from extbnsl.solver.outcome import concluded, network_of, verified
from extbnsl.solver.place import Place
from extbnsl.solver.solving import solved


class Taken:
    """The resamples that are done, by their numbers, and the journal that gets each further one, if there is a run
    directory."""

    def __init__(self, done: dict[int, Resample], journal: Journal | None) -> None:
        self.done = done
        self._journal = journal

    def left(self, asked: int) -> list[int]:
        """The numbers of those that are not done, of so many."""
        return [number for number in range(1, asked + 1) if number not in self.done]

    def first(self) -> tuple[Resample, ...]:
        """Those from 1 on, as far as none is missing: which others are done depends on how long they took."""
        numbers = itertools.takewhile(self.done.__contains__, itertools.count(1))
        return tuple(self.done[number] for number in numbers)

    def add(self, resample: Resample) -> None:
        """Add one, on disk when this returns; Stopped when the disk is full."""
        if self._journal is not None:
            try:
                self._journal.append(line_of(resample))
            except BudgetError as error:
                raise Stopped(DISK_LIMIT) from error
        self.done[resample.number] = resample


@contextlib.contextmanager
def taken_at(place: Place, names: tuple[str, ...], asked: int) -> Iterator[Taken]:
    """What the run at this place has solved of so many resamples over these variables.

    Raises RunDirectoryError, and InputError if the journal cannot be read. Nothing is written before a resample is
    added, or the line at the end was torn.
    """
    if place.run_folder is None:
        yield Taken({}, None)
        return
    path = place.run_folder / RESAMPLES
    lines = [] if place.resume is None else read_lines(path)
    done: dict[int, Resample] = {}
    for at, line in enumerate(lines, start=1):
        resample = _read(path, at, line, names)
        if resample.number > asked or resample.number in done:
            raise _damaged(path, at)
        done[resample.number] = resample
    with contextlib.closing(Journal(path, sum(len(line) + 1 for line in lines))) as journal:
        yield Taken(done, journal)


@dataclass(frozen=True)
class _Line:
    """A line of the journal: the number of a resample, from 1 on, and what came of it; costs in nats."""

    resample: Annotated[int, Within(1, MOST_RESAMPLES)]
    status: Annotated[str, STATUSES.__contains__]
    cost: float
    lower_bound: Lowest
    parents: dict[str, tuple[str, ...]]


def line_of(resample: Resample) -> str:
    """A resample as a line of the journal."""
    parents = {name: tuple(own) for name, own in resample.network.parents_by_name().items()}
    return json_text(encode(_Line(resample.number, resample.status, resample.cost, resample.lower_bound, parents)))


def _read(path: Path, at: int, line: bytes, names: tuple[str, ...]) -> Resample:
    """The resample in line `at`; RunDirectoryError if that is not what a run writes."""
    try:
        told: _Line = decode(_Line, json_value(line))
        network = Network.from_names(names, told.parents)
        network.order()
    except (ValueError, RecursionError, Misfit, ExtbnslError) as error:
        raise _damaged(path, at) from error
    return Resample(told.resample, told.status, told.cost, told.lower_bound, network)


def _damaged(path: Path, line: int) -> RunDirectoryError:
    return RunDirectoryError(
        f"{path} is damaged in line {line}; cut that line and all below it off, and they are solved again."
    )


RESAMPLE_WORDS = "resample", "resamples"


def bootstrap_network(asked: Request, *, observer: Observer = ignore, stop: StopSignal = never) -> Result:
    """The network of least cost, as `solve` finds it, and what the networks of `Resamples` say of its arcs.

    Each resample is solved by the same claim and within the same budgets, one after the other, with all threads, or by
    hands, one a thread of theirs; it is a function of the records, the seed and its number. The status is 'optimal' if
    the network of the data is proved and all resamples are done, whether these are proved or not; otherwise why it
    ended. Resamples are begun once the data are proved. In a run directory each is kept as soon as it is done, and a
    resume goes on behind the last one.

    Raises as `solve` does, and InputError for local scores, which have no records, and, before anything is solved, for
    a resample of numbers that no Gaussian fits: a column may vary in the data and not there.
    """
    scope, claim = asked.scope, asked.claim
    scope.check()
    dataset, asked = records_of(asked.problem, asked.methods), replace(asked, kind=BOOTSTRAP)
    if 0 < dataset.tables < scope.bootstrap:
        raise InputError(f"bootstrap: the resamples are the {dataset.tables} imputed tables: give {dataset.tables}.")
    with (
        opened(asked, Commits, asked.methods, observer=observer, stop=stop) as run,
        taken_at(asked.place, dataset.names, scope.bootstrap) as taken,
    ):
        run.commits.commit()
        if not isinstance(dataset, Dataset) or not dataset.alike or claim.knowledge.costs:  # others can be solved
            _check_all(dataset, asked, run.context, taken.left(scope.bootstrap))
        survivors = find_survivors(dataset, claim, run.context, run.commits, one=True)
        solution, stopped = solved(survivors, run.context, run.commits)
        if stopped is None:
            stopped = _take_all(run, dataset, taken)
        result = concluded(run, solution, stopped)
    targets = () if dataset.targets is None else dataset.targets.names(dataset.names)
    found = Bootstrap(dataset.names, scope.bootstrap, taken.first(), claim.knowledge, targets)
    return replace(result, status=stopped or OPTIMAL, bootstrap=found)


def records_of(problem: Data | LocalScores, methods: Any) -> Data:
    """The problem, of which resamples can be drawn; InputError for local scores, latent values, and a published
    method."""
    check_resampled(type(problem), methods)
    data = cast(Data, problem)
    if data.latent:
        raise of_latent()
    return data


def check_resampled(kind: type, methods: Any) -> None:
    """Raise InputError if these methods cannot solve resamples of a problem of this kind."""
    if not issubclass(kind, Data):
        raise InputError("bootstrap: local scores have no records to draw from; give the data that they are from.")
    if not isinstance(methods, Methods):
        either = (Mention("method"), " or ", Mention("bootstrap"))
        raise InputError("bootstrap: the published methods solve no resamples; leave ", *either, " out.")


def _check_all(data: Data, asked: Request, context: Context, left: list[int]) -> None:
    """Raise InputError if one of the resamples that are left has columns that the score cannot have, or leaves a family
    that must be no records; O(N n^2) each. Ends early when it is time to stop."""
    resampling = resampling_of(data)
    for number in left:
        if context.workers.stop() is not None:
            return
        try:
            source_of(resampling.drawn(context.methods.seed, number), asked.claim)
        except InputError as error:
            what = f"bootstrap: resample {number} cannot be solved, though the data can. "
            raise InputError(what, error.sentence) from error


def _take_all(run: Opened[Commits], dataset: Data, taken: Taken) -> str | None:
    """Solve the resamples that are not done yet; the reason if it had to stop before the last one.

    Where memory or disk do not do for one at all, the others wait for more as well: the network of the data is there.
    """
    context, commits = run.context, run.commits
    asked, before = run.asked.scope.bootstrap, len(taken.done)
    if before == asked:
        return None
    detail = in_full(asked, *RESAMPLE_WORDS) + (f", {before:,} of them done before" if before else "")
    commits.standing.resampling = True
    with context.stages.stage("bootstrap", detail) as summary:
        try:
            if commits.possible:
                commits.commit_or_stop()  # whoever goes on has nothing left to prove
            context.observer(StageAdvanced("bootstrap", before, asked, RESAMPLE_WORDS[1]))
            for resample in _solutions(run, resampling_of(dataset), taken.left(asked)):
                taken.add(resample)
                if len(taken.done) < asked:
                    context.observer(StageAdvanced("bootstrap", len(taken.done), asked, RESAMPLE_WORDS[1]))
                    commits.commit_if_due()
        except Stopped as stop:
            return stop.reason
        except (BudgetError, MemoryError) as error:
            short = isinstance(error, MemoryError)
            context.observer(Warned("There is no memory for a resample; give it more." if short else str(error)))
            return MEMORY_LIMIT if short else DISK_LIMIT
        finally:
            unproved = sum(one.status != OPTIMAL for one in taken.done.values())
            summary.append(f"{len(taken.done):,} of {in_full(asked, *RESAMPLE_WORDS)} done, {unproved:,} not proved")
    return None


def _memory_left(resampling: Resampling, context: Context) -> int:
    """Bytes that a resample may be solved in: a copy of the data goes off; Stopped if too few are left."""
    left = context.memory_left - resampling.size
    if left < MINIMUM_MEMORY:
        needed = format_size(context.memory - left + MINIMUM_MEMORY)
        context.observer(Warned(f"A resample is a copy of the data and needs {needed} of memory in all; give as much."))
        raise Stopped(MEMORY_LIMIT)
    return left


def _solutions(run: Opened[Commits], resampling: Resampling, left: list[int]) -> Iterator[Resample]:
    """The resamples with these numbers, as they are solved; Stopped when it is time to stop."""
    context, claim = run.context, run.asked.claim
    workers, memory = context.workers, _memory_left(resampling, context)
    if workers.hands is None:
        for number in left:
            workers.check()
            yield _solved(number, resampling, claim, replace(context, memory=memory))
    else:
        budgets = max(MINIMUM_MEMORY, memory // workers.together), run.granted.disk // workers.together
        shared = resampling, claim, context.methods, budgets, workers.halt
        tasks = [(number, *shared) for number in left]
        lasting = context.stages.seconds.get("scores", {"seconds": 0.0})["seconds"]  # the least that one takes
        yield from workers.spread(resample_alone, tasks, workers.threads, ordered=False, lasting=lasting)


def resample_alone(
    number: int,
    resampling: Resampling,
    claim: Claim,
    methods: Methods,
    budgets: tuple[int, int],
    halt: NDArray[np.uint8],
) -> Resample:
    """A resample, solved by one thread within these bytes of memory and disk. Raises Stopped once `halt` is set."""
    memory, disk = budgets
    with (
        temporary_store(disk=disk) as store,
        Workers(1, lambda: INTERRUPTED if halt[0] else None) as workers,
    ):
        context = Context(workers, Stages(ignore, {}), memory, methods, store, Shelf(memory // 2, store))
        return _solved(number, resampling, claim, context)


def _solved(number: int, resampling: Resampling, claim: Claim, context: Context) -> Resample:
    """A resample, solved as the data were, but for commits and words; Stopped, with nothing of it left, when the time
    is over or a signal came."""
    store, memory = context.store, context.memory
    before = store.files
    quiet = replace(context, stages=Stages(ignore, {}), shelf=Shelf(memory // 2, store))
    data = resampling.drawn(context.methods.seed, number)
    commits = Commits(Standing(), quiet)
    try:
        solution, stopped = solved(find_survivors(data, claim, quiet, commits, one=True), quiet, commits)
    finally:
        store.keep_only(before)
    if stopped in (TIME_LIMIT, INTERRUPTED):
        raise Stopped(stopped)
    found = network_of(solution)
    cost = verified(found.network, found.cost, data, solution.survivors.scores.claim)
    return Resample(number, solution.status, cost, min(cost, found.lower_bound), found.network)
