"""The one composition of everything: from a data set or local scores to a network with its proof."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from extbnsl.bounds.incumbent import search_orders
from extbnsl.bounds.partition import WIDEST, Partition, find_partition
from extbnsl.bounds.patterns import group_bound, pattern_bytes, static_table
from extbnsl.data import Dataset, from_array
from extbnsl.errors import InputError, VerificationError
from extbnsl.events import IncumbentFound, LayerEnded, Observer, Warned, ignore
from extbnsl.limits import Deadline, cpu_seconds, default_memory, default_threads, peak_rss
from extbnsl.network import Network
from extbnsl.parents.best_score import as_bytes, byte_tables, first_inside_each
from extbnsl.parents.components import Component, components
from extbnsl.parents.pruning import prune
from extbnsl.parents.surviving import Survivors, surviving_families
from extbnsl.reconstruct import optimal_order
from extbnsl.result import Result
from extbnsl.scores.local import LocalScores
from extbnsl.search.layers import SearchProblem, SearchState, predicted_edges, search_layers, search_problem
from extbnsl.stages import Stages
from extbnsl.varsets import WORD_BITS, pack, renumber, sizes, unpack
from extbnsl.verify import score_network
from extbnsl.workers import Stopped, StopSignal, Workers, never

LOWER_BOUNDS = ("static", "pattern")
PROBE_NODES = 20_000  # nodes kept before a probe of the search's size is extrapolated


@dataclass(frozen=True)
class _Part:
    """How far one component is solved: its best order (positions in the component) and bounds in nats."""

    order: tuple[int, ...]
    upper_bound: float
    lower_bound: float
    stopped: str | None


@dataclass(frozen=True)
class _Context:
    """What the stages of one solve share."""

    workers: Workers
    stages: Stages
    observer: Observer
    memory: int
    seed: int
    lower_bound: str
    path_extension: bool


def tolerance(upper_bound: float) -> float:
    """How much cheaper than the incumbent a network must be to count, in nats: the proof holds within this."""
    return 1e-9 * abs(upper_bound) + 1e-9


def solve(
    problem: Dataset | LocalScores,
    *,
    max_parents: int | None = None,
    threads: int | None = None,
    memory: int | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    lower_bound: str = "pattern",
    path_extension: bool = True,
    observer: Observer = ignore,
    stop: StopSignal = never,
) -> Result:
    """The network of least cost, with the proof or the bounds that were reached.

    `problem`: data (MDL) or local scores of any kind. max_parents limits the parent sets and becomes part of the
    claim. memory in bytes, time_limit in seconds; None for threads and memory is what the machine has free. `stop` is
    polled; a reason other than None ends the solve with that status. Raises InputError for unusable arguments.
    """
    _check_options(max_parents, threads, memory, time_limit, lower_bound)
    deadline = Deadline.after(time_limit)
    threads = threads or default_threads()
    memory = memory or default_memory()
    stages = Stages(observer)
    with Workers(threads, lambda: stop() or ("time_limit" if deadline.passed() else None)) as workers:
        context = _Context(workers, stages, observer, memory, seed, lower_bound, path_extension)
        _load_kernels(context)
        warnings = problem.warnings if isinstance(problem, Dataset) else ()
        for message in warnings:
            observer(Warned(message))
        survivors = _survivors(problem, max_parents, context)
        parts, found, counters = _solve_components(survivors, context)
    options = {
        "threads": threads,
        "memory": memory,
        "time_limit": time_limit,
        "lower_bound": lower_bound,
        "path_extension": path_extension,
        "max_parents": max_parents,
    }
    counters |= {"varsets_counted": survivors.varsets, "parent_sets": survivors.scores.families}
    return _result(problem, survivors, parts, found, counters, options, context, warnings)


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
    _check_options(max_parents, threads, memory, None, "pattern")
    stages = Stages(observer)
    with Workers(threads or default_threads(), stop) as workers:
        context = _Context(workers, stages, observer, memory or default_memory(), 0, "pattern", True)
        _load_kernels(context)
        survivors = _survivors(dataset, max_parents, context)
    if survivors.stopped is not None:
        raise Stopped(survivors.stopped)
    return survivors.scores


def _check_options(
    max_parents: int | None,
    threads: int | None,
    memory: int | None,
    time_limit: float | None,
    lower_bound: str,
) -> None:
    if max_parents is not None and max_parents < 0:
        raise InputError(f"max_parents: {max_parents} is negative; give 0 or more.")
    if threads is not None and threads < 1:
        raise InputError(f"threads: {threads} is too few; give 1 or more.")
    if memory is not None and memory < 1:
        raise InputError(f"memory: {memory} bytes is too little; give a size such as '2GiB'.")
    if time_limit is not None and not time_limit > 0:
        raise InputError(f"time_limit: {time_limit} is not a positive number of seconds.")
    if lower_bound not in LOWER_BOUNDS:
        raise InputError(f"lower_bound: {lower_bound!r} is not known; use one of {', '.join(LOWER_BOUNDS)}.")


def _load_kernels(context: _Context) -> None:
    """Run every kernel once on a toy problem, so that compiling is a stage of its own and not a silent pause."""
    with context.stages.stage("kernels", "loading; the first run after an installation compiles them, half a minute"):
        toy = from_array(np.array([[0, 0, 1, 0], [1, 1, 0, 1], [0, 2, 1, 2], [1, 0, 1, 3]] * 3))
        quiet = replace(context, observer=ignore, stages=Stages(ignore))
        with Workers(1) as alone:
            quiet = replace(quiet, workers=alone, lower_bound="pattern")
            _solve_components(surviving_families(toy, None, alone, 1 << 30, ignore), quiet)


def _survivors(problem: Dataset | LocalScores, max_parents: int | None, context: _Context) -> Survivors:
    if isinstance(problem, LocalScores):
        with context.stages.stage("parents", "pruning the given parent sets") as summary:
            scores = prune(_limited(problem, max_parents))
            summary.append(f"{scores.families:,} of {problem.families:,} parent sets kept")
        return Survivors(scores, np.array([c[0] for c in scores.costs]), None, 0)
    detail = f"{problem.variables} variables, {problem.records:,} records"
    with context.stages.stage("scores", detail) as summary:
        found = surviving_families(problem, max_parents, context.workers, context.memory, context.observer)
        summary.append(f"{found.varsets:,} varsets counted, {found.scores.families:,} parent sets kept")
    return found


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
    survivors: Survivors, context: _Context
) -> tuple[list[_Part], tuple[Component, ...], dict[str, int]]:
    """Solve the components one by one; the bounds in the events are those of the whole problem."""
    found = components(survivors.scores)
    counters = {"nodes_expanded": 0, "nodes_generated": 0, "nodes_kept": 0, "peak_layer": 0}
    floors = [float(survivors.least[list(c.variables)].sum()) for c in found]
    parts = [_incumbent(c, floor, k, context) for k, (c, floor) in enumerate(zip(found, floors, strict=True))]
    for k, component in enumerate(found):
        if survivors.stopped is None and parts[k].lower_bound < parts[k].upper_bound:
            parts[k] = _prove(component, k, parts, counters, context)
    if survivors.stopped is not None:
        parts = [replace(p, stopped=survivors.stopped) for p in parts]
    return parts, found, counters


def _incumbent(component: Component, floor: float, k: int, context: _Context) -> _Part:
    """A good order of one component; `floor` bounds its cost from below. After a stop: one quick descent."""
    if component.size == 1:
        return _Part((0,), float(component.costs[0][0]), floor, None)
    with context.stages.stage("incumbent", f"component {k + 1}, {component.size} variables") as summary:
        tables = byte_tables(component.parents, component.costs)
        best = search_orders(
            tables,
            component.size,
            context.workers,
            context.seed,
            component.size <= WIDEST and context.lower_bound == "pattern",  # then the bound finds the optimum itself
            lambda cost: context.observer(IncumbentFound(cost)),
        )
        summary.append(f"cost {best.cost:.6f}")
    return _Part(tuple(best.order.tolist()), best.cost, floor, None)


def _prove(component: Component, k: int, parts: list[_Part], counters: dict[str, int], context: _Context) -> _Part:
    """Prove component k's incumbent optimal, or find the optimum, or stop with the bounds reached."""
    part = parts[k]
    if component.size > WORD_BITS:
        return replace(part, stopped="not_proved")
    try:
        with context.stages.stage("bounds", f"component {k + 1}, {component.size} variables") as summary:
            partition = _partition(component, part.upper_bound, context)
            lower = max(part.lower_bound, min(partition.root, part.upper_bound - tolerance(part.upper_bound)))
            part = replace(part, lower_bound=lower)
            widths = " + ".join(str(len(g)) for g in partition.groups)
            summary.append(f"lower bound {partition.root:.6f} ({context.lower_bound}, groups of {widths})")
        parts[k] = part
        with context.stages.stage("search", f"component {k + 1}, {component.size} variables"):
            return _search(component, k, partition, parts, counters, context)
    except Stopped as stop:
        return replace(parts[k], stopped=stop.reason)


def _partition(component: Component, upper_bound: float, context: _Context) -> Partition:
    """Groups of the component's variables with the tables of the bound that was asked for."""
    widest = WIDEST
    while widest > 1 and pattern_bytes(widest) * context.workers.threads > context.memory // 2:
        widest -= 1
    if context.lower_bound == "static":
        best = np.array([c[0] for c in component.costs])
        groups = [g.tolist() for g in np.array_split(np.arange(component.size), -(-component.size // widest))]
        return Partition(tuple(map(tuple, groups)), tuple(static_table(best[g]) for g in groups))

    def expected_edges(partition: Partition) -> float:
        problem = _labelled(component, partition, upper_bound, context)
        return predicted_edges(search_layers(problem, context.workers, PROBE_NODES), component.size)

    families = (component.parents, component.costs)
    return find_partition(families, widest, upper_bound, context.workers, context.seed, expected_edges)


def _labelled(component: Component, partition: Partition, upper_bound: float, context: _Context) -> SearchProblem:
    """The component with its variables in the order of the partition's groups, ready to search."""
    order = [v for group in partition.groups for v in group]
    new = np.argsort(order)
    parents = tuple(renumber(component.parents[v], new, component.size) for v in order)
    costs = tuple(component.costs[v] for v in order)
    limit = upper_bound - tolerance(upper_bound) if math.isfinite(upper_bound) else math.inf
    return search_problem(parents, costs, group_bound(partition.tables), limit, context.path_extension)


def _search(
    component: Component,
    k: int,
    partition: Partition,
    parts: list[_Part],
    counters: dict[str, int],
    context: _Context,
) -> _Part:
    """Search component k layer by layer; `parts` and `counters` follow, so that a stop finds them up to date."""
    labels = [v for group in partition.groups for v in group]
    problem = _labelled(component, partition, parts[k].upper_bound, context)
    before = dict(counters)
    state = None
    for state in search_layers(problem, context.workers):
        proved = min(max(parts[k].lower_bound, state.least_f), problem.limit)
        parts[k] = replace(parts[k], lower_bound=proved)
        counters["nodes_expanded"] = before["nodes_expanded"] + state.expanded
        counters["nodes_generated"] = before["nodes_generated"] + state.generated
        counters["nodes_kept"] = before["nodes_kept"] + state.kept
        counters["peak_layer"] = max(before["peak_layer"], state.peak)
        context.observer(_layer_ended(state, k, component.size, parts))
        if state.bytes + 2 * state.layer.bytes > context.memory:
            raise Stopped("memory_limit")
    assert state is not None
    if state.layer.nodes == 0:
        return replace(parts[k], lower_bound=problem.limit)
    order = tuple(labels[i] for i in optimal_order(state))
    cost = float(state.layer.g[0])
    context.observer(IncumbentFound(sum(p.upper_bound for p in parts) - parts[k].upper_bound + cost))
    return replace(parts[k], order=order, upper_bound=cost, lower_bound=cost - tolerance(cost))


def _layer_ended(state: SearchState, k: int, size: int, parts: list[_Part]) -> LayerEnded:
    return LayerEnded(
        layer=state.layer.size,
        layers=size,
        component=k + 1,
        components=len(parts),
        generated=state.generated_here,
        kept=state.layer.nodes,
        lower_bound=sum(p.lower_bound for p in parts),
        upper_bound=sum(p.upper_bound for p in parts),
    )


def _network(
    scores: LocalScores, parts: list[_Part], found: tuple[Component, ...]
) -> tuple[Network, tuple[int, ...], float]:
    """Join the components' orders and let every variable choose its best parents before it."""
    parents: list[tuple[int, ...]] = [()] * scores.variables
    order: list[int] = []
    cost = []
    for part, component in zip(parts, found, strict=True):
        tables = byte_tables(component.parents, component.costs).arrays()
        before: list[int] = []
        for i in part.order:
            varset = as_bytes(pack(before, component.size)[None, :])
            place = int(first_inside_each(i, varset, tables)[0])
            child = component.variables[i]
            row = int(component.origin[i][place])
            parents[child] = unpack(scores.parents[child][row])
            cost.append(float(scores.costs[child][row]))
            before.append(i)
            order.append(child)
    return Network(scores.names, tuple(parents)), tuple(order), math.fsum(cost)


def _result(
    problem: Dataset | LocalScores,
    survivors: Survivors,
    parts: list[_Part],
    found: tuple[Component, ...],
    counters: dict[str, int],
    options: dict[str, Any],
    context: _Context,
    warnings: tuple[str, ...],
) -> Result:
    network, order, cost = _network(survivors.scores, parts, found)
    dataset = problem if isinstance(problem, Dataset) else None
    with context.stages.stage("verify", "scoring the network again from the data" if dataset else "") as summary:
        cost = _verified(network, cost, dataset)
        summary.append(f"cost {cost:.6f}, acyclic")
    slack = tolerance(cost)
    stopped = [p.stopped for p in parts if p.stopped is not None]
    lower = min(sum(p.lower_bound for p in parts), cost - slack)
    status = stopped[0] if stopped else "optimal"
    stats = counters | {
        "stages": context.stages.seconds,
        "components": [c.size for c in found],
        "cpu_seconds": cpu_seconds(),
        "peak_rss_bytes": peak_rss(),
    }
    return Result(
        status=status,
        network=network,
        cost=cost,
        lower_bound=cost - slack if status == "optimal" else lower,
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
    )


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
