"""Solving one component: its incumbent, the bound, and the search that proves or improves it."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.incumbent import search_orders
from extbnsl.bounds.partition import WIDEST, Partition, build_partition, find_partition
from extbnsl.bounds.patterns import group_bound, pattern_bytes, static_table
from extbnsl.commits import Commits, commit_or_stop
from extbnsl.errors import BudgetError
from extbnsl.events import IncumbentFound, LayerAdvanced, LayerEnded, Observer, Warned
from extbnsl.limits import too_little_memory
from extbnsl.parents.best_score import byte_tables
from extbnsl.parents.components import Component
from extbnsl.reconstruct import optimal_order
from extbnsl.search.forecast import predicted_layers
from extbnsl.search.layers import LEAST_TASK_BYTES, Room, search_layers
from extbnsl.search.problem import SearchProblem, search_problem
from extbnsl.search.runs import goal_cost
from extbnsl.search.score_cache import (
    READING_BYTES,
    ScoreCache,
    open_score_cache,
    score_cache_bytes,
    write_score_cache,
)
from extbnsl.search.state import SearchState
from extbnsl.stages import Stages
from extbnsl.standing import Part, Search, Standing
from extbnsl.varsets import WORD_BITS, renumber
from extbnsl.workers import Stopped, Workers

PROBE_NODES = 20_000  # nodes kept before a probe of the search's size is extrapolated
KERNEL_BYTES = 1 << 20  # of one thread: the table of a partition, and what a chunk of targets needs

_Families = tuple[tuple[NDArray[np.uint64], ...], tuple[NDArray[np.float64], ...]]  # of each child: parents and costs


@dataclass(frozen=True)
class Context:
    """What the stages of one solve share."""

    workers: Workers
    stages: Stages
    observer: Observer
    memory: int
    seed: int
    lower_bound: str
    path_extension: bool
    parent_graph: str
    commits: Commits

    @property
    def standing(self) -> Standing:
        return self.commits.standing


def tolerance(upper_bound: float) -> float:
    """How much cheaper than the incumbent a network must be to count, in nats: the proof holds within this."""
    return 1e-9 * abs(upper_bound) + 1e-9


def find_incumbent(component: Component, floor: float, k: int, context: Context) -> Part:
    """A good order of one component; `floor` bounds its cost from below. After a stop: one quick descent."""
    if component.size == 1:
        return Part((0,), float(component.costs[0][0]), floor)
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
    return Part(tuple(best.order.tolist()), best.cost, floor)


def prove(component: Component, k: int, context: Context) -> Part:
    """Prove component k's incumbent optimal, or find the optimum; `standing.parts` follows the bounds meanwhile.

    Raises Stopped, with the standing ready to be committed.
    """
    parts = context.standing.parts
    if component.size > WORD_BITS:
        return replace(parts[k], stopped="not_proved")
    partition = find_bound(component, k, context)
    with context.stages.stage("search", f"component {k + 1}, {component.size} variables"):
        return _search(component, k, partition, context)


def find_bound(
    component: Component, k: int, context: Context, on_better: Callable[[Partition], None] = lambda partition: None
) -> Partition:
    """Groups of component k's variables, with the tables of the bound that was asked for.

    What they prove at once is in the standing. on_better gets each partition that is the best so far, which is what
    is left if this raises Stopped.
    """

    def better(partition: Partition) -> None:
        upper_bound = context.standing.parts[k].upper_bound
        raise_bound(k, min(partition.root, upper_bound - tolerance(upper_bound)), context.standing)
        on_better(partition)

    with context.stages.stage("bounds", f"component {k + 1}, {component.size} variables") as summary:
        partition = _partition(component, k, context, better)
        better(partition)
        widths = " + ".join(str(len(g)) for g in partition.groups)
        summary.append(f"lower bound {partition.root:.6f} ({context.lower_bound}, groups of {widths})")
    return partition


def _partition(component: Component, k: int, context: Context, on_better: Callable[[Partition], None]) -> Partition:
    families = (component.parents, component.costs)
    search = context.standing.search
    begun = search.groups if search is not None and search.component == k else None
    widest = WIDEST
    while widest > 1 and pattern_bytes(widest) * context.workers.threads > context.memory // 2:
        widest -= 1
    if context.lower_bound == "static":
        split = np.array_split(np.arange(component.size), -(-component.size // widest))
        return _static_partition(component, begun or tuple(tuple(map(int, group)) for group in split))
    if begun is not None:
        return build_partition(begun, families, context.workers)
    upper_bound = context.standing.parts[k].upper_bound

    def expected_edges(partition: Partition) -> float:
        on_better(partition)
        problem = labelled(component, partition, upper_bound, context)
        probe = search_layers(problem, context.workers, Room(math.inf), most_nodes_kept=PROBE_NODES)
        return float(predicted_layers(probe, component.size).edges.sum())

    return find_partition(families, widest, upper_bound, context.workers, context.seed, expected_edges)


def raise_bound(k: int, lower_bound: float, standing: Standing) -> None:
    """Let the standing know that every network over component k costs at least `lower_bound`, in nats."""
    parts = standing.parts
    parts[k] = replace(parts[k], lower_bound=max(parts[k].lower_bound, lower_bound))


def _static_partition(component: Component, groups: tuple[tuple[int, ...], ...]) -> Partition:
    best = np.array([costs[0] for costs in component.costs])
    return Partition(groups, tuple(static_table(best[list(group)]) for group in groups))


def labelled(component: Component, partition: Partition, upper_bound: float, context: Context) -> SearchProblem:
    """The component with its variables in the order of the partition's groups, ready to search.

    Nodes are pruned that cannot lead below `upper_bound`, in nats; infinity prunes none. By sparse parent graphs: any
    others have the same layers, and these are the quickest to make.
    """
    return _problem(_labelled_families(component, partition), partition, upper_bound, context)


def _labelled_families(component: Component, partition: Partition) -> _Families:
    """The component's families with its variables in the order of the partition's groups."""
    order = [v for group in partition.groups for v in group]
    new = np.argsort(order)
    parents = tuple(renumber(component.parents[v], new, component.size) for v in order)
    return parents, tuple(component.costs[v] for v in order)


def _problem(
    families: _Families, partition: Partition, upper_bound: float, context: Context, cache: ScoreCache | None = None
) -> SearchProblem:
    """A component ready to search, its families labelled; with a score cache by layered parent graphs."""
    limit = upper_bound - tolerance(upper_bound) if math.isfinite(upper_bound) else math.inf
    return search_problem(*families, group_bound(partition.tables), limit, context.path_extension, cache)


def _score_cache(families: _Families, k: int, begun: SearchState | None, context: Context) -> ScoreCache | None:
    """The score cache of component k, if the parent graphs are layered; Stopped if the disk has no room for it."""
    store = context.commits.store
    if context.parent_graph == "sparse":
        return None
    if begun is not None and begun.cache is not None:
        return open_score_cache(store.folder, begun.cache, len(families[0]))
    if store.used + score_cache_bytes(families[1]) > store.disk:
        raise Stopped("disk_limit")
    try:
        cache = write_score_cache(store.folder, f"families-{k + 1}.h5", *families)
    except BudgetError as error:
        raise Stopped("disk_limit") from error
    store.add([cache.file])
    return cache


def _search(component: Component, k: int, partition: Partition, context: Context) -> Part:
    """Search component k layer by layer; the standing and the observer follow."""
    standing, commits = context.standing, context.commits
    begun = standing.search.state if standing.search and standing.search.component == k else None
    problem = _problem_of_search(component, k, partition, begun, context)
    report = Report(component.size, k, problem, context)
    state, reached = None, -1
    for state in search_layers(problem, context.workers, _room(problem, k, context), begun):
        standing.latest = state
        if state.layer.size != reached:
            reached = state.layer.size
            raise_bound(k, min(state.least_f, problem.limit), standing)
            context.observer(report.layer_ended(state))
            commits.layer_ended(state)
        else:
            context.observer(report.layer_advanced(state))
        if state.to_commit:
            standing.search = Search(k, partition.groups, state.filed())
            commit_or_stop(commits)
    assert state is not None, "a search yields its first state"
    return _outcome(k, problem, partition, state, context)


def _problem_of_search(
    component: Component, k: int, partition: Partition, begun: SearchState | None, context: Context
) -> SearchProblem:
    """Component k ready for its search, or for what is left of it. The families are held only as long as this takes."""
    families = _labelled_families(component, partition)
    cache = _score_cache(families, k, begun, context)
    return _problem(families, partition, context.standing.parts[k].upper_bound, context, cache)


def _room(problem: SearchProblem, k: int, context: Context) -> Room:
    """What the memory budget leaves for nodes and tasks; Stopped, with a warning, if that is too little."""
    threads, commits = context.workers.threads, context.commits
    least = least_memory(problem, threads)
    if least > context.memory:
        context.observer(Warned(too_little_memory("The search", least, context.memory, threads)))
        raise Stopped("memory_limit")
    return Room(
        context.memory - fixed_memory(problem, threads), commits.store, commits.due, commits.unsaved, f"c{k + 1}-"
    )


def fixed_memory(problem: SearchProblem, threads: int) -> int:
    """Bytes of memory that a search takes beside its nodes and tasks."""
    reading = READING_BYTES if problem.score_cache else 0
    return problem.bytes + threads * (KERNEL_BYTES + reading)


def least_memory(problem: SearchProblem, threads: int) -> int:
    """The memory budget, in bytes, below which a search does not begin."""
    return fixed_memory(problem, threads) + 3 * threads * LEAST_TASK_BYTES


def _outcome(k: int, problem: SearchProblem, partition: Partition, state: SearchState, context: Context) -> Part:
    """The component's part when its search is over."""
    standing = context.standing
    part = standing.parts[k]
    if state.layer.nodes == 0:
        part = replace(part, lower_bound=problem.limit, proved=True)
    else:
        folder = context.commits.store.folder
        labels = [v for group in partition.groups for v in group]
        order = tuple(labels[i] for i in optimal_order(state, problem.low_bits, folder))
        cost = goal_cost(state.layer.runs, folder)
        context.observer(IncumbentFound(standing.upper_bound - part.upper_bound + cost))
        part = Part(order, cost, cost - tolerance(cost), proved=True)
    standing.counters = standing.counted()
    standing.search = standing.latest = None
    return part


@dataclass(frozen=True)
class Report:
    """What the observer is told of the search of component k, of `size` variables."""

    size: int
    k: int
    problem: SearchProblem
    context: Context

    def layer_ended(self, state: SearchState) -> LayerEnded:
        standing = self.context.standing
        return LayerEnded(
            layer=state.layer.size,
            layers=self.size,
            component=self.k + 1,
            components=len(standing.parts),
            expanded=0 if state.layer.size == 0 else sum(run.size for run in state.closed[-1]),
            generated=state.edges_in,
            kept=state.layer.nodes,
            spilled=state.spilled,
            memory=state.memory + self.problem.bytes,
            disk=self.context.commits.store.used,
            lower_bound=standing.lower_bound,
            upper_bound=standing.upper_bound,
        )

    def layer_advanced(self, state: SearchState) -> LayerAdvanced:
        return LayerAdvanced(
            layer=state.layer.size + 1,
            layers=self.size,
            component=self.k + 1,
            components=len(self.context.standing.parts),
            done=state.position / (1 << self.problem.high_bits),
            generated=state.edges_out,
            kept=state.following_nodes,
            memory=state.memory + self.problem.bytes,
            disk=self.context.commits.store.used,
        )
