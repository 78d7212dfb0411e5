"""The one composition of everything: from a data set or local scores to a network with its proof."""

import contextlib
import math
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from extbnsl.bounds.clusters import UNIT
from extbnsl.bounds.polish import load_highs, load_polish
from extbnsl.certificate import CLUSTERS, SEARCH, Certificate, CertifiedComponent, Pass
from extbnsl.checkpoint import Manifest, recover
from extbnsl.commits import Commits, commit_if_due, commit_or_stop
from extbnsl.context import Context, Methods, tolerance
from extbnsl.data import Dataset, from_array
from extbnsl.errors import BudgetError, InputError, RunDirectoryError, VerificationError
from extbnsl.events import Observer, Warned, ignore
from extbnsl.guide import load_rare_kernels
from extbnsl.limits import Deadline, default_disk, default_memory, default_threads
from extbnsl.network import Network
from extbnsl.parents.components import Component, components, origin
from extbnsl.parents.enumeration import Enumeration, start_enumeration
from extbnsl.parents.pruning import prune
from extbnsl.parents.surviving import Survivors, surviving_families
from extbnsl.pieces import RootPass
from extbnsl.prove import find_incumbent, prove
from extbnsl.result import Result
from extbnsl.scores.local import LocalScores
from extbnsl.shelf import Shelf
from extbnsl.stages import Stages
from extbnsl.standing import Part, Standing, give_up, read_standing
from extbnsl.storage import Store, load_compression, load_hdf5
from extbnsl.varsets import pack, sizes, unpack
from extbnsl.verify import score_network
from extbnsl.workers import Stopped, StopSignal, Workers, never

LOWER_BOUNDS = ("static", "pattern", "clusters", "auto")
PARENT_GRAPHS = ("sparse", "layered")


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
        workers = stack.enter_context(Workers(threads, lambda: stop() or ("time_limit" if deadline.passed() else None)))
        store = stack.enter_context(_store(run_folder, scratch, disk, resume, threads))
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
        parts, stopped = _solve_components(survivors, found, context)
        result = _result(problem, survivors, found, parts, options | budgets, context, warnings)
        if stopped is None:
            commits.finish(result.status)
        else:
            commits.last_commit(result.status)
    return result


@contextlib.contextmanager
def _store(
    run_folder: Path | None, scratch: Path | None, disk: int | None, resume: Manifest | None, threads: int
) -> Iterator[Store]:
    """Where the large files go, as the arguments of `solve` say; InputError if they cannot."""
    if run_folder is not None and resume is not None:
        folder = run_folder if resume.scratch is None else Path(resume.scratch)
        disk = disk or default_disk(folder) + sum(file.bytes for file in resume.files)
        with Workers(threads) as unstoppable:  # even without any time left there is to be a result
            store = recover(run_folder, resume, disk, unstoppable)
        yield store
    elif run_folder is not None:
        folder = scratch or run_folder
        # a run directory makes its scratch folder when the run begins: until then the disk is that of the one above
        yield Store(folder, disk or default_disk(folder if scratch is None or scratch.exists() else scratch.parent))
    else:
        with temporary_store(scratch, disk) as store:
            yield store


@contextlib.contextmanager
def temporary_store(folder: Path | None = None, disk: int | None = None) -> Iterator[Store]:
    """A store that is deleted at the end, in `folder` or where temporary files go."""
    disk = disk or default_disk(folder or Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix="extbnsl-", dir=folder) as temporary:
        yield Store(Path(temporary), disk)


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


def check_options(
    max_parents: int | None,
    threads: int | None,
    memory: int | None,
    disk: int | None,
    time_limit: float | None,
    lower_bound: str,
    parent_graph: str,
    polish: bool | None,
) -> None:
    """Raise InputError for arguments that `solve` cannot use."""
    if max_parents is not None and max_parents < 0:
        raise InputError(f"max_parents: {max_parents} is negative; give 0 or more.")
    if threads is not None and threads < 1:
        raise InputError(f"threads: {threads} is too few; give 1 or more.")
    if memory is not None and memory < 1:
        raise InputError(f"memory: {memory} bytes is too little; give a size such as '2GiB'.")
    if disk is not None and disk < 1:
        raise InputError(f"disk: {disk} bytes is too little; give a size such as '40GiB'.")
    if time_limit is not None and not time_limit > 0:
        raise InputError(f"time_limit: {time_limit} is not a positive number of seconds.")
    if lower_bound not in LOWER_BOUNDS:
        raise InputError(f"lower_bound: {lower_bound!r} is not known; use one of {', '.join(LOWER_BOUNDS)}.")
    if parent_graph not in PARENT_GRAPHS:
        raise InputError(f"parent_graph: {parent_graph!r} is not known; use one of {', '.join(PARENT_GRAPHS)}.")
    if polish:
        load_highs()


def load_kernels(context: Context) -> None:
    """Run every kernel once on a toy problem, so that compiling is a stage of its own and not a silent pause.

    Other libraries are loaded as well: what is loaded only when memory is scarce may not load at all.
    """
    with context.stages.stage("kernels", "loading; the first run after an installation compiles them, half a minute"):
        load_hdf5()
        load_rare_kernels()
        if context.methods.polish:
            load_polish()
        toy = from_array(np.array([[0, 0, 1, 0], [1, 1, 0, 1], [0, 2, 1, 2], [1, 0, 1, 3]] * 3))
        with Workers(1) as alone:
            pattern, store = Methods("pattern"), context.commits.store  # which needs a search
            for methods, begun in (
                (pattern, None),
                (pattern, start_enumeration(toy.variables)),  # child by child, as when there is little memory
                (Methods("auto"), None),
            ):
                _solve_quietly(toy, _quiet(alone, methods, store, begun))
            if context.methods.parent_graph == "layered":
                with temporary_store() as own:  # the run's own may have a score cache
                    layered = replace(pattern, parent_graph="layered")
                    _solve_quietly(toy, _quiet(alone, layered, own, None))


def _quiet(workers: Workers, methods: Methods, store: Store, begun: Enumeration | None) -> Context:
    """To solve a toy with ample memory, without a trace."""
    commits = Commits(None, store, {}, Standing(begun), ignore)
    return Context(workers, Stages(ignore, {}), ignore, 1 << 30, 0, methods, commits, Shelf(1 << 29, store))


def _solve_quietly(dataset: Dataset, context: Context) -> None:
    """Solve without a trace but the compiled kernels, and the files of layered parent graphs in the store."""
    survivors = find_survivors(dataset, None, context)
    _solve_components(survivors, components(survivors.scores, context.shelf.put), context)


def find_survivors(problem: Dataset | LocalScores, max_parents: int | None, context: Context) -> Survivors:
    """The families that can win: those of the standing, or from the problem; the standing gets them if complete."""
    if context.standing.survivors is not None:
        return context.standing.survivors
    survivors = _found_survivors(problem, max_parents, context)
    if survivors.stopped is None:
        standing, held = context.standing, context.standing.counting
        standing.survivors, standing.counting, standing.enumeration = survivors, None, None
        try:
            if held is None:
                commit_if_due(context.commits)
            else:
                commit_or_stop(context.commits)  # the search is to have the room that the files of counting take
        except Stopped as stop:
            return replace(survivors, stopped=stop.reason)
    return survivors


def _found_survivors(problem: Dataset | LocalScores, max_parents: int | None, context: Context) -> Survivors:
    if isinstance(problem, LocalScores):
        with context.stages.stage("parents", "pruning the given parent sets") as summary:
            scores = prune(_limited(problem, max_parents))
            summary.append(f"{scores.families:,} of {problem.families:,} parent sets kept")
        return Survivors(scores, np.array([c[0] for c in scores.costs]), None, 0)
    detail = f"{problem.variables} variables, {problem.records:,} records"
    with context.stages.stage("scores", detail) as summary:
        found = _counted(problem, max_parents, context)
        summary.append(f"{found.varsets:,} varsets counted, {found.scores.families:,} parent sets kept")
    return found


def _counted(dataset: Dataset, max_parents: int | None, context: Context) -> Survivors:
    """The families of the data that can win; the standing follows."""
    standing, commits = context.standing, context.commits

    def on_size(enumeration: Enumeration) -> None:
        if not enumeration.done:
            standing.enumeration = enumeration
            commit_if_due(commits)

    workers, shelf, observer = context.workers, context.shelf, context.observer
    return surviving_families(dataset, max_parents, workers, shelf, observer, standing.enumeration, on_size)


def _limited(scores: LocalScores, max_parents: int | None) -> LocalScores:
    """The local scores without parent sets of more than `max_parents`; InputError if a child loses all."""
    if max_parents is None:
        return scores
    keep = [sizes(p) <= max_parents for p in scores.parents]
    for name, kept in zip(scores.names, keep, strict=True):
        if not kept.any():
            raise InputError(f"max_parents: {name} has no parent set of at most {max_parents}; raise the limit.")
    return LocalScores(
        scores.names,
        tuple(np.ascontiguousarray(p[k]) for p, k in zip(scores.parents, keep, strict=True)),
        tuple(c[k] for c, k in zip(scores.costs, keep, strict=True)),
        scores.score,
        max_parents,
    )


def _solve_components(
    survivors: Survivors, found: tuple[Component, ...], context: Context
) -> tuple[list[Part], str | None]:
    """Solve the components one by one, in the standing; their parts, and the reason if it had to stop.

    Parts of incomplete scores, or cut short by a stop, are good for a result, but an undisturbed run would have others:
    the standing does not get them.
    """
    parts, stopped = context.standing.parts, survivors.stopped
    if stopped is not None or not parts:
        parts = find_parts(survivors, found, context)
        stopped = stopped or context.workers.stop()
    if stopped is None:
        context.standing.parts = parts
        stopped = _prove_all(found, context)
    return (parts if stopped is None else give_up(parts, stopped)), stopped


def find_parts(survivors: Survivors, found: tuple[Component, ...], context: Context) -> list[Part]:
    """A good order of each component; some are proved optimal by the cheapest families already."""
    floors = [float(survivors.least[list(component.variables)].sum()) for component in found]
    parts = [find_incumbent(c, floor, k, context) for k, (c, floor) in enumerate(zip(found, floors, strict=True))]
    return [
        replace(part, proved=True, passes=(_cheapest(c),)) if part.lower_bound >= part.upper_bound else part
        for part, c in zip(parts, found, strict=True)
    ]


def _cheapest(component: Component) -> RootPass:
    """The proof that a network of the cheapest families is optimal."""
    return RootPass((), (), tuple(float(costs[0]) for costs in component.costs))


def _prove_all(found: tuple[Component, ...], context: Context) -> str | None:
    """Prove what is not proved, in the standing; the reason if it had to stop."""
    parts = context.standing.parts
    try:
        for k, component in enumerate(found):
            if not parts[k].proved:
                commit_if_due(context.commits)
                parts[k] = prove(component, k, context)
    except Stopped as stop:
        return stop.reason
    except MemoryError:
        return "memory_limit"
    except BudgetError:  # of what memory has no room for
        return "disk_limit"
    return None


def _network(
    scores: LocalScores, parts: list[Part], found: tuple[Component, ...]
) -> tuple[Network, tuple[int, ...], float]:
    """Join the components' orders and let every variable choose its best parents before it."""
    parents: list[tuple[int, ...]] = [()] * scores.variables
    order: list[int] = []
    cost = []
    for part, component in zip(parts, found, strict=True):
        before: list[int] = []
        for i in part.order:
            outside = component.parents[i] & ~pack(before, component.size)
            place = int(np.argmin(outside.any(axis=1)))  # the first inside: they are in score order
            child = component.variables[i]
            row = int(origin(component, i, scores)[place])
            parents[child] = unpack(scores.parents[child][row])
            cost.append(float(scores.costs[child][row]))
            before.append(i)
            order.append(child)
    return Network(scores.names, tuple(parents)), tuple(order), math.fsum(cost)


def _result(
    problem: Dataset | LocalScores,
    survivors: Survivors,
    found: tuple[Component, ...],
    parts: list[Part],
    options: dict[str, Any],
    context: Context,
    warnings: tuple[str, ...],
) -> Result:
    standing = context.standing
    network, order, cost = _network(survivors.scores, parts, found)
    dataset = problem if isinstance(problem, Dataset) else None
    with context.stages.stage("verify", "scoring the network again from the data" if dataset else "") as summary:
        cost = _verified(network, cost, dataset)
        summary.append(f"cost {cost:.6f}, acyclic")
    slack, lower_bound = tolerance(cost), sum(part.lower_bound for part in parts)
    stopped = [part.stopped for part in parts if part.stopped is not None]
    status = stopped[0] if stopped else "optimal"
    context.commits.add_up()
    stats = standing.counted() | {
        "varsets_counted": survivors.varsets,
        "parent_sets": survivors.scores.families,
        "stages": standing.stages,
        "components": [component.size for component in found],
        "seconds": standing.seconds,
        "cpu_seconds": standing.cpu_seconds,
        "peak_rss_bytes": standing.peak_rss,
        "peak_disk_bytes": standing.peak_disk,
    }
    return Result(
        status=status,
        network=network,
        cost=cost,
        lower_bound=cost - slack if status == "optimal" else min(lower_bound, cost - slack),
        upper_bound=cost,
        order=order,
        score=survivors.scores.score,
        max_parents=survivors.scores.max_parents,
        seed=context.seed,
        stats=stats,
        options=options,
        warnings=warnings,
        local_scores=survivors.scores,
        digest=problem.fingerprint,
        dataset=dataset,
        certificate=_certificate(network.names, parts, found) if status == "optimal" and dataset else None,
    )


def _certificate(names: tuple[str, ...], parts: list[Part], found: tuple[Component, ...]) -> Certificate:
    """What proves the parts again, by the names of their variables."""
    components = []
    for part, component in zip(parts, found, strict=True):
        own = tuple(names[v] for v in component.variables)
        passes = tuple(
            Pass(
                tuple(tuple(tuple(own[i] for i in cluster) for cluster in cut) for cut in one.cuts),
                tuple(weight * UNIT for weight in one.weights),
                dict(zip(own, one.least, strict=True)),
            )
            for one in part.passes
        )
        components.append(CertifiedComponent(own, part.upper_bound, CLUSTERS if passes else SEARCH, passes))
    return Certificate(tuple(components))


def _verified(network: Network, cost: float, dataset: Dataset | None) -> float:
    """The cost of the network, scored again from the data if there are any; VerificationError if it is another."""
    network.order()
    if dataset is None:
        return cost
    again = score_network(dataset, network)
    if abs(again - cost) > 1e-9 * abs(cost) + 1e-6:
        raise VerificationError(
            f"The network costs {again!r} nats when scored again, not {cost!r} as the search found."
        )
    return again
