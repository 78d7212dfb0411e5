"""The one composition of everything: from a data set or local scores to a network with its proof, or to the surviving
local scores alone.
"""

import contextlib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from extbnsl.core.claims import TIME_LIMIT, Claim
from extbnsl.core.events import Begun, Observer, ignore
from extbnsl.data import Data, Dataset
from extbnsl.files.arrays import load_compression
from extbnsl.files.run_state import SOLVE, RunState
from extbnsl.files.shelf import Shelf
from extbnsl.machine.budgets import Budgets, Granted
from extbnsl.machine.workers import Stopped, StopSignal, Workers, never
from extbnsl.parents.components import Component, components
from extbnsl.parents.exhaustive.surviving import Survivors
from extbnsl.proof.commits import Commits, Record
from extbnsl.proof.context import Context
from extbnsl.proof.methods import Methods
from extbnsl.proof.stages import Stages
from extbnsl.proof.standing import Standing, read_standing
from extbnsl.results.result import Result
from extbnsl.scores.local import LocalScores
from extbnsl.solver.families import before_a_stop, find_survivors
from extbnsl.solver.outcome import Solution, result_of, stats_of
from extbnsl.solver.place import Place, check_same, resumed, store_at, temporary_store


def solve(
    problem: Data | LocalScores,
    claim: Claim = Claim(),
    methods: Methods = Methods(),
    budgets: Budgets = Budgets(),
    place: Place = Place(),
    *,
    observer: Observer = ignore,
    stop: StopSignal = never,
) -> Result:
    """The network of least cost, with the proof or the bounds that were reached.

    `problem`: data, or local scores of any kind. `stop` is polled; a reason other than None ends the solve with that
    status. In a run directory the state is committed at the beginning, about once a minute and at the end; a state that
    is resumed must be of the same problem, claim and methods. What is spent of the time limit already is not granted
    again; it does not count the time in which kernels are compiled.

    Raises InputError for unusable arguments, BudgetError if the disk is full before there is a network,
    RunDirectoryError if the state does not belong to the problem or is damaged.
    """
    with opened(problem, claim, methods, budgets, place, observer=observer, stop=stop) as (
        context,
        commits,
        granted,
    ):
        solution, stopped = solved(problem, claim, context, commits)
        options = claim.document() | methods.document() | granted.document()
        if stopped is not None:
            commits.last_commit(solution.status)  # what it takes on disk is part of the result
        result = result_of(problem, solution, options, context, partial(stats_of, solution, commits))
        if stopped is None:
            commits.finish(result.status)  # not before the network is verified
    return result


@contextlib.contextmanager
def opened(
    problem: Data | LocalScores,
    claim: Claim,
    methods: Methods,
    budgets: Budgets,
    place: Place,
    kind: str = SOLVE,
    scope: Mapping[str, Any] = {},
    *,
    observer: Observer,
    stop: StopSignal,
) -> Iterator[tuple[Context, Commits, Granted]]:
    """What a run of this kind and scope works with that solves, once it has begun and the first commit is written.
    Raises as `solve` does."""
    for value in (claim, methods, budgets, place):
        value.check()
    about = RunState(kind, problem.fingerprint, claim, methods.document(), dict(scope), place.remember)
    check_same(about, place.resume)
    granted = budgets.granted(place.folder, place.held)
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(store_at(place, granted))
        store.compress = place.compress
        if store.compress:
            load_compression()
        shelf = Shelf(granted.memory // 2, store)
        standing = Standing()
        if place.resume is not None:
            standing = resumed(place, lambda manifest: read_standing(manifest, store.folder, shelf))
        stages, deadline = Stages(observer, standing.spent.stages), granted.deadline()
        workers = Workers(granted.threads, lambda: stop() or (TIME_LIMIT if deadline.passed() else None))
        context = Context(stack.enter_context(workers), stages, granted.memory, methods, store, shelf)
        held = () if place.resume is None else place.resume.files
        record = None if place.run_folder is None else Record(place.run_folder, about, held)
        commits = Commits(standing, store, record, observer, workers.stop, shelf.touched)
        observer(Begun())
        commits.commit()
        yield context, commits, granted


def solved(
    problem: Data | LocalScores, claim: Claim, context: Context, commits: Commits
) -> tuple[Solution, str | None]:
    """The solution of the problem, and the reason if it had to stop."""
    survivors = find_survivors(problem, claim, context, commits)
    from extbnsl.solver.components import solve_components  # counting, which needs most, goes without its kernels

    survivors, found = _split_up(survivors, context, commits.standing)
    parts, stopped = solve_components(survivors, found, context, commits)
    return Solution(survivors, found, tuple(parts)), stopped


def _split_up(survivors: Survivors, context: Context, standing: Standing) -> tuple[Survivors, tuple[Component, ...]]:
    """The survivors and their components, as in `before_a_stop`; all of them if the standing has parts, which are those
    of all."""
    put = context.shelf.put
    if standing.parts:
        return survivors, components(survivors.scores, put)
    return before_a_stop(lambda scores, halt: components(scores, put, halt), survivors, context.workers)


def compute_scores(
    dataset: Dataset,
    claim: Claim = Claim(),
    budgets: Budgets = Budgets(),
    scratch: Path | None = None,
    *,
    observer: Observer = ignore,
    stop: StopSignal = never,
) -> LocalScores:
    """The surviving local scores of `dataset`: every family that can be in an optimal network.

    What exceeds the memory goes to files below `scratch`, or else where temporary files go. Raises Stopped if `stop` or
    the time limit says so or the memory does not do, InputError for unusable arguments.
    """
    place = Place(scratch=scratch)
    for value in (claim, budgets, place):
        value.check()
    granted = budgets.granted(place.folder)
    with temporary_store(scratch, granted.disk) as store:
        stages, deadline = Stages(observer, {}), granted.deadline()
        with Workers(granted.threads, lambda: stop() or (TIME_LIMIT if deadline.passed() else None)) as workers:
            shelf = Shelf(granted.memory // 2, store)
            context = Context(workers, stages, granted.memory, Methods(), store, shelf)
            survivors = find_survivors(dataset, claim, context, Commits(Standing(), store))
    if survivors.stopped is not None:
        raise Stopped(survivors.stopped)
    return survivors.scores
