"""The surviving local scores of a data set, without a search."""

from extbnsl.data import Dataset
from extbnsl.events import Observer, ignore
from extbnsl.files.shelf import Shelf
from extbnsl.machine.budgets import default_memory, default_threads
from extbnsl.machine.workers import Stopped, StopSignal, Workers, never
from extbnsl.proof.commits import Commits
from extbnsl.proof.context import Context
from extbnsl.proof.methods import Methods, check_options
from extbnsl.proof.stages import Stages
from extbnsl.proof.standing import Standing
from extbnsl.scores.local import LocalScores
from extbnsl.solver.families import find_survivors
from extbnsl.solver.stores import temporary_store
from extbnsl.solver.warm_up import load_kernels


def compute_scores(
    dataset: Dataset,
    *,
    max_parents: int | None = None,
    threads: int | None = None,
    memory: int | None = None,
    observer: Observer = ignore,
    stop: StopSignal = never,
) -> LocalScores:
    """The surviving local scores of `dataset`: every family that can be in an optimal network.

    Raises Stopped if `stop` says so or the memory does not do, InputError for unusable arguments.
    """
    check_options(max_parents, threads, memory, None, None, "auto", "sparse", False)
    threads = threads or default_threads()
    with Workers(threads, stop) as workers, temporary_store() as store:
        commits = Commits(None, store, {}, Standing(), observer)
        stages = Stages(observer, commits.standing.stages)
        memory = memory or default_memory()
        context = Context(workers, stages, observer, memory, 0, Methods(), commits, Shelf(memory // 2, store))
        load_kernels(context)
        survivors = find_survivors(dataset, max_parents, context)
    if survivors.stopped is not None:
        raise Stopped(survivors.stopped)
    return survivors.scores
