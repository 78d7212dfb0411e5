"""The one composition of everything: from a data set or local scores to a network with its proof."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from extbnsl.claims import TIME_LIMIT
from extbnsl.data import Dataset
from extbnsl.errors import RunDirectoryError
from extbnsl.events import Observer, Warned, ignore
from extbnsl.files.arrays import load_compression
from extbnsl.files.manifest import Manifest
from extbnsl.files.shelf import Shelf
from extbnsl.files.store import Store
from extbnsl.machine.budgets import Deadline, default_memory, default_threads
from extbnsl.machine.workers import StopSignal, Workers, never
from extbnsl.parents.components import components
from extbnsl.proof.commits import Commits
from extbnsl.proof.context import Context
from extbnsl.proof.methods import Methods, check_options
from extbnsl.proof.stages import Stages
from extbnsl.proof.standing import Standing, read_standing
from extbnsl.results.result import Result
from extbnsl.scores.local import LocalScores
from extbnsl.solver.components import solve_components as solve_components
from extbnsl.solver.families import find_survivors
from extbnsl.solver.outcome import result_of as result_of
from extbnsl.solver.stores import store_of_run as store_of_run
from extbnsl.solver.warm_up import load_kernels


def solve(
    problem: Dataset | LocalScores,
    *,
    max_parents: int | None = None,
    threads: int | None = None,
    memory: int | None = None,
    disk: int | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    lower_bound: str = "auto",
    fixing: bool = True,
    ancestral: bool = True,
    path_extension: bool = True,
    parent_graph: str = "sparse",
    polish: bool | None = None,
    compress: bool | None = None,
    scratch: Path | None = None,
    run_folder: Path | None = None,
    remember: Mapping[str, Any] | None = None,
    resume: Manifest | None = None,
    observer: Observer = ignore,
    stop: StopSignal = never,
) -> Result:
    """The network of least cost, with the proof or the bounds that were reached.

    `problem`: data (MDL) or local scores of any kind. max_parents limits the parent sets and becomes part of the
    claim. lower_bound: "static", "pattern", "clusters" or "auto", the maximum of the last two; fixing: whether the
    families that no better network can have are dropped; ancestral: whether the search does so for each node, and
    leaves successors out, where that pays. memory and disk in bytes, time_limit in seconds; None for
    threads, memory and disk is what the machine has free. parent_graph: "sparse", or "layered" as in Malone et al.
    2011, which has the same layers and takes more time, memory and disk. polish: whether an LP makes the cluster
    multipliers better, which takes longer and makes the search smaller (highspy); None: if the search would be large
    and highspy is installed. `stop` is polled; a reason other than
    None ends the solve with that status.

    With a run_folder, which the caller holds, the state is committed there when the kernels are loaded, about once a
    minute and at the end; `remember` is kept with it. `resume` goes on from such a state: then the options that decide
    the problem must be those that it was begun with. Large files go to the folder `scratch`, or else to the run
    folder, or else where temporary files go; with `compress`, what reconstruction needs is compressed (hdf5plugin).

    Raises InputError for unusable arguments, BudgetError if the disk is full before there is a network,
    RunDirectoryError if the state does not belong to the problem or is damaged.
    """
    check_options(max_parents, threads, memory, disk, time_limit, lower_bound, parent_graph, polish)
    options = {
        "max_parents": max_parents,
        "seed": seed,
        "lower_bound": lower_bound,
        "fixing": fixing,
        "ancestral": ancestral,
        "path_extension": path_extension,
        "parent_graph": parent_graph,
        "polish": polish,
    }
    about = {"digest": problem.fingerprint, "options": options, "run": remember}
    _check_same(about, resume)
    deadline = Deadline.after(time_limit)
    threads, memory = threads or default_threads(), memory or default_memory()
    budgets = {"threads": threads, "memory": memory, "disk": disk, "time_limit": time_limit}
    with contextlib.ExitStack() as stack:
        workers = stack.enter_context(Workers(threads, lambda: stop() or (TIME_LIMIT if deadline.passed() else None)))
        store = stack.enter_context(store_of_run(run_folder, scratch, disk, resume, threads))
        store.compress = bool(compress)
        if store.compress:
            load_compression()
        shelf = Shelf(memory // 2, store)
        standing = _standing(resume, store, shelf)
        commits = Commits(run_folder, store, about, standing, observer, workers.stop, shelf.has_read)
        stages = Stages(observer, standing.stages)
        methods = Methods(lower_bound, fixing, ancestral, path_extension, parent_graph, polish)
        context = Context(workers, stages, observer, memory, seed, methods, commits, shelf)
        load_kernels(context)  # before anything is written: compiling cannot be stopped
        commits.commit()
        warnings = problem.warnings if isinstance(problem, Dataset) else ()
        for message in warnings:
            observer(Warned(message))
        survivors = find_survivors(problem, max_parents, context)
        found = components(survivors.scores, shelf.put)
        parts, stopped = solve_components(survivors, found, context)
        result = result_of(problem, survivors, found, parts, options | budgets, context, warnings)
        if stopped is None:
            commits.finish(result.status)
        else:
            commits.last_commit(result.status)
    return result


def _check_same(about: Mapping[str, Any], resume: Manifest | None) -> None:
    """Raise RunDirectoryError unless the state that is resumed is of the same problem."""
    if resume is None:
        return
    if resume.state["digest"] != about["digest"]:
        raise RunDirectoryError(
            "The data are not those that the run was begun with; restore them, or start a new run with solve."
        )
    begun = resume.state["options"]
    for name, value in about["options"].items():
        if begun.get(name) != value:
            raise RunDirectoryError(
                f"The run was begun with {name} = {begun.get(name)}, not {value}; "
                "resume it with the options that it was begun with, or start a new run with solve."
            )


def _standing(resume: Manifest | None, store: Store, shelf: Shelf) -> Standing:
    if resume is None:
        return Standing()
    return read_standing(resume.state, {file.name: file for file in resume.files}, store.folder, shelf)
