"""The surviving local scores of a data set, without a search."""

from pathlib import Path

from extbnsl.claims import TIME_LIMIT, Claim
from extbnsl.data import Dataset
from extbnsl.events import Observer, ignore
from extbnsl.files.shelf import Shelf
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Stopped, StopSignal, Workers, never
from extbnsl.proof.commits import Commits
from extbnsl.proof.context import Context
from extbnsl.proof.methods import Methods
from extbnsl.proof.stages import Stages
from extbnsl.proof.standing import Standing
from extbnsl.scores.local import LocalScores
from extbnsl.solver.families import find_survivors
from extbnsl.solver.place import Place, temporary_store


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
