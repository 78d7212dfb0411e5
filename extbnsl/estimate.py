"""What a solve would need, before it is begun: its first part is done, watched, and carried on.

Everything up to the search is done as `solve` does it. Then the search of each component is probed, all in memory,
until it is over or the effort or the memory is used up; `search.forecast` guesses the layers that are left. What they
take follows from the bytes of a node and the time of an edge as the probe had them.
"""

import contextlib
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.patterns import pattern_bytes
from extbnsl.commits import COMMIT_SECONDS, Commits
from extbnsl.context import Context, Methods
from extbnsl.data import Dataset
from extbnsl.errors import InputError
from extbnsl.events import Event, Observer, StageAdvanced, ignore
from extbnsl.guide import MANY_EDGES, Guide, Guided, find_guide, guided_problem, may_polish, tables_fit
from extbnsl.limits import MINIMUM_MEMORY, Deadline, default_disk, default_memory, default_threads
from extbnsl.parents.best_score import ByteTables
from extbnsl.parents.components import Component, components
from extbnsl.parents.surviving import Survivors, counting_limits
from extbnsl.prove import (
    Report,
    fixed_memory,
    guided_pieces,
    least_room,
    lower_bound,
    next_piece,
    piece_limit,
    raise_bound,
    whole_component,
)
from extbnsl.scores.local import LocalScores
from extbnsl.search.forecast import Forecast, predicted_layers
from extbnsl.search.layers import Room, search_layers
from extbnsl.search.problem import SearchProblem
from extbnsl.search.runs import ANCESTOR_BYTES, node_bytes
from extbnsl.search.score_cache import READING_BYTES
from extbnsl.search.state import SearchState
from extbnsl.shelf import Shelf
from extbnsl.solve import check_options, find_parts, find_survivors, load_kernels, temporary_store
from extbnsl.stages import Stages
from extbnsl.standing import Standing
from extbnsl.varsets import WORD_BITS
from extbnsl.workers import Stopped, StopSignal, Workers, never

EFFORT = 60.0  # seconds
BOUND_SHARE = 0.5  # of the effort that is left for a component, for its bound; the rest is for the probe
FEWEST_LAYERS = 4  # whose sizes can be carried on
SPILL_NS = 250.0  # of a node that goes to files and is read again with every block that it leads to
NODE_BYTES = node_bytes(0)
SCORE_BYTES = 16.0  # of a parent set of up to 64 variables in a checkpoint
HEADERS = 1.05  # what files take, over the bytes of their nodes


@dataclass(frozen=True)
class Budgets:
    """What the solve may use: bytes, threads, and seconds or None for no limit."""

    memory: int
    disk: int
    threads: int
    time_limit: float | None


@dataclass(frozen=True)
class Counting:
    """The local scores: varsets counted and parent sets kept in so many seconds, and what is left to count.

    judged, limit: the sizes of the parent sets that were judged last, and of the largest that can win. seconds_left:
    about what the rest takes if as large a share of the larger varsets must be counted; mostly it is less. 0 if nothing
    is left, infinity if nobody can tell.
    """

    varsets: int
    families: int
    seconds: float
    judged: int = 0
    limit: int = 0
    seconds_left: float = 0.0

    @property
    def complete(self) -> bool:
        return self.seconds_left == 0.0


@dataclass(frozen=True)
class Probe:
    """The search of one piece of a component, of so many variables and families, as far as it was seen, and how it goes
    on.

    upper_bound, lower_bound: of the component at the root, in nats. forecast: None if there is nothing to search,
    because the bounds meet, or if the search did not begin, for the reason that `unknown` tells. fixed, least: bytes
    of memory that it takes beside its nodes, and that it needs at all with this bound. node_bytes: of a node,
    in memory or in files, without the row that it has in `layered` parent graphs. edge_ns: of an edge, with all
    threads. seconds: up to the last layer that was seen.
    """

    variables: int
    families: int
    upper_bound: float
    lower_bound: float
    unknown: str = ""
    forecast: Forecast | None = None
    fixed: int = 0
    least: int = 0
    node_bytes: float = float(NODE_BYTES)
    layered: bool = False
    edge_ns: float = 0.0
    seconds: float = 0.0

    @property
    def layer_bytes(self) -> NDArray[np.float64]:
        """Bytes of the nodes while each layer is expanded: its own, the next one's, and what is left of all before."""
        if self.forecast is None:
            return np.zeros(1)
        nodes = self.forecast.nodes
        rows = 8.0 * np.arange(self.variables, self.variables - nodes.size, -1) if self.layered else 0.0
        layers = nodes * (self.node_bytes + rows)
        before = np.concatenate([[0.0], nodes.cumsum()[:-1]])
        return before * (self.node_bytes - NODE_BYTES + ANCESTOR_BYTES) + layers + np.append(layers[1:], 0.0)

    def memory(self, threads: int) -> int:
        """The memory budget, in bytes, with which all layers stay in memory: the search begins to write at half."""
        return max(self.least, self.fixed + _room_for(2.0 * float(self.layer_bytes.max()), threads))

    def fits(self, budgets: Budgets) -> bool:
        """Whether all layers stay in memory."""
        return self.forecast is None or budgets.memory >= self.memory(budgets.threads)

    def spilled(self, budgets: Budgets) -> float:
        """About how many nodes are in files only because memory is short."""
        if self.forecast is None:
            return 0.0
        room = max(1.0, Room(max(0, budgets.memory - self.fixed)).node_bytes(budgets.threads))
        return float(((1.0 - room / np.maximum(self.layer_bytes, room)) * self.forecast.nodes).sum())

    def search_seconds(self, budgets: Budgets) -> float:
        """Seconds of the whole search."""
        if self.forecast is None:
            return 0.0
        guessed = float(self.forecast.edges[self.forecast.seen - 1 :].sum())
        return self.seconds + 1e-9 * (guessed * self.edge_ns + self.spilled(budgets) * SPILL_NS)

    def disk(self, budgets: Budgets) -> float:
        """Bytes of its files at their peak: none if all stays in memory and the search is too short for a checkpoint.

        Otherwise all nodes that are still needed are in files, and what the last checkpoint needs of an earlier layer.
        """
        committed = self.search_seconds(budgets) > COMMIT_SECONDS
        if self.forecast is None or (self.fits(budgets) and not committed):
            return 0.0
        earlier = (NODE_BYTES - ANCESTOR_BYTES) * float(self.forecast.nodes.max()) if committed else 0.0
        return HEADERS * (float(self.layer_bytes.max()) + earlier)


@dataclass(frozen=True)
class Estimate:
    """What a solve within `budgets` would need; `seconds`: what it took up to the searches.

    stopped: what the stop signal said, if it ended the estimate early.
    """

    budgets: Budgets
    counting: Counting
    probes: tuple[Probe, ...]
    seconds: float
    stopped: str | None

    @property
    def complete(self) -> bool:
        """Whether there is a count or a guess for all that a solve does."""
        return self.counting.complete and not any(probe.unknown for probe in self.probes)

    @property
    def doubt(self) -> float:
        """The factor by which nodes, disk and the seconds of the searches may well be wrong; 1 if all were counted."""
        return max([1.0, *(probe.forecast.doubt for probe in self.probes if probe.forecast is not None)])

    @property
    def memory(self) -> int:
        """The memory budget, in bytes, with which all layers stay in memory."""
        return max([self.least_memory, *(probe.memory(self.budgets.threads) for probe in self.probes)])

    @property
    def least_memory(self) -> int:
        """The memory budget, in bytes, that the solve needs at all."""
        return max([MINIMUM_MEMORY, *(probe.least for probe in self.probes)])

    @property
    def disk(self) -> float:
        """Bytes of files at their peak; components are searched one after the other, beside the local scores if the
        solve is long enough for a checkpoint."""
        scores = SCORE_BYTES * self.counting.families if self.time > COMMIT_SECONDS else 0.0
        return scores + max([0.0, *(probe.disk(self.budgets) for probe in self.probes)])

    @property
    def search_seconds(self) -> float:
        """Seconds of all searches."""
        return sum(probe.search_seconds(self.budgets) for probe in self.probes)

    @property
    def time(self) -> float:
        """Seconds of the whole solve; infinite if nobody can tell."""
        return self.seconds + self.counting.seconds_left + self.search_seconds

    @property
    def time_range(self) -> tuple[float, float]:
        """The least and the most seconds of the whole solve, if nothing is more wrong than `doubt` says."""
        most = self.seconds + self.counting.seconds_left + self.search_seconds * self.doubt
        return self.seconds + self.search_seconds / self.doubt, most


def estimate(
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
    effort: float = EFFORT,
    observer: Observer = ignore,
    stop: StopSignal = never,
) -> Estimate:
    """What `solve` would need with the same arguments, found out in about `effort` seconds; no file stays.

    The kernels are loaded before the effort begins. A `stop` ends it early, with what is known then. Raises InputError
    for unusable arguments.
    """
    check_options(max_parents, threads, memory, disk, time_limit, lower_bound, parent_graph, polish)
    if not effort > 0:
        raise InputError(f"effort: {effort} is not a positive number of seconds.")
    budgets = Budgets(
        memory or default_memory(), disk or default_disk(Path()), threads or default_threads(), time_limit
    )
    counted: dict[int, _Counted] = {}

    def observe(event: Event) -> None:
        if isinstance(event, StageAdvanced) and event.level is not None:
            counted[event.level] = _Counted(event.done, time.perf_counter())
        observer(event)

    methods = Methods(lower_bound, fixing, ancestral, path_extension, parent_graph, polish)
    with temporary_store() as store, Workers(budgets.threads, stop) as workers:
        commits = Commits(None, store, {}, Standing(), ignore)
        stages, shelf = Stages(observe, commits.standing.stages), Shelf(budgets.memory // 2, store)
        context = Context(workers, stages, observe, budgets.memory, seed, methods, commits, shelf)
        load_kernels(context)
        return _estimated(problem, max_parents, budgets, counted, Deadline.after(effort), context)


def _estimated(
    problem: Dataset | LocalScores,
    max_parents: int | None,
    budgets: Budgets,
    counted: Mapping[int, "_Counted"],
    deadline: Deadline,
    context: Context,
) -> Estimate:
    """The estimate, found out until the deadline; counted: the varsets counted by size, as far as counting has come."""
    stop = context.workers.stop
    with _until(deadline, stop, context) as limited:
        began = time.perf_counter()
        survivors = find_survivors(problem, max_parents, limited)
        if survivors.stopped is not None:
            limits = counting_limits(problem, max_parents) if isinstance(problem, Dataset) else np.zeros(0, np.int64)
            counting = _unfinished(survivors, limits, began, counted)
            return Estimate(budgets, counting, (), counting.seconds, stop())
        counting = Counting(survivors.varsets, survivors.scores.families, time.perf_counter() - began)
        found = components(survivors.scores, context.shelf.put)
        context.standing.parts = find_parts(survivors, found, limited)
    probes: list[tuple[int, list[Probe]]] = []
    for k in sorted(range(len(found)), key=lambda k: found[k].size):  # what small ones leave is for the large ones
        share = deadline.remaining() / (len(found) - len(probes))
        probes.append((k, _probed(found[k], k, context, stop, share)))
    seconds = sum(spent["seconds"] for stage, spent in context.stages.seconds.items() if stage != "kernels")
    ordered = tuple(probe for _, own in sorted(probes, key=lambda p: p[0]) for probe in own)
    return Estimate(budgets, counting, ordered, seconds, stop())


@dataclass(frozen=True)
class _Counted:
    """Varsets counted so far, at a moment of the performance counter."""

    varsets: int
    at: float


@contextlib.contextmanager
def _until(deadline: Deadline, stop: StopSignal, context: Context) -> Iterator[Context]:
    """The context, with workers that stop at the deadline too."""
    threads = context.workers.threads
    with Workers(threads, lambda: stop() or ("effort" if deadline.passed() else None)) as workers:
        yield replace(context, workers=workers)


def _unfinished(
    survivors: Survivors, limits: NDArray[np.int64], began: float, counted: Mapping[int, _Counted]
) -> Counting:
    """How far the counting got, and what is left of it.

    counted: the varsets counted, in all, when the parent sets of each size had been judged.
    """
    seconds, n = time.perf_counter() - began, limits.size
    limit = min(int(limits.max(initial=0)), n - 1)
    sizes = sorted(counted)
    far = Counting(survivors.varsets, survivors.scores.families, seconds, max(sizes, default=0), limit, math.inf)
    if len(sizes) < 2:
        return far
    before, last = (counted[size] for size in sizes[-2:])
    share = (last.varsets - before.varsets) / math.comb(n, sizes[-1] + 1)
    each = (last.at - before.at) / max(1, last.varsets - before.varsets)
    left = share * sum(math.comb(n, size + 1) for size in range(sizes[-1] + 1, limit + 1))
    spent = began + seconds - last.at  # on the next size already
    return replace(far, seconds_left=max(1.0, each * left - spent))


def _probed(component: Component, k: int, context: Context, stop: StopSignal, seconds: float) -> list[Probe]:
    """The searches of component k's pieces as far as they get in so many seconds, and the guess how they go on."""
    deadline = Deadline.after(seconds)
    part = context.standing.parts[k]
    probe = Probe(component.size, _count(component.costs), part.upper_bound, part.lower_bound)
    if part.proved:
        return [probe]
    pieces, probes, thorough = whole_component(component), list[Probe](), False
    while (at := next_piece(pieces)) is not None:
        share = deadline.remaining() / sum(piece.order is None for piece in pieces)
        until = Deadline.after(share)
        guides: list[Guide] = []
        found = None
        limit = piece_limit(pieces, at, part)
        with (
            contextlib.suppress(Stopped),
            _until(Deadline.after(BOUND_SHARE * share), stop, context) as limited,
            context.stages.stage("bounds", f"component {k + 1}, {len(pieces[at].variables)} variables"),
        ):
            found = find_guide(pieces[at].left, pieces[at].multipliers, limit, limited, guides.append, thorough)
        if found is not None and found.proved:
            return [*probes, replace(probe, lower_bound=part.upper_bound)]
        if found is not None and found.pieces:
            pieces = guided_pieces(pieces, at, found)
            continue
        if found is not None and found.edges >= MANY_EDGES and not thorough and may_polish(context.methods):
            pieces, thorough = guided_pieces(pieces, at, found), True
            continue
        if found is not None:
            guides.append(found.guide)
        piece = pieces[at]
        probe = replace(
            probe,
            variables=len(piece.variables),
            families=_count(piece.left.costs),
            lower_bound=part.upper_bound - limit + piece.lower_bound,
        )
        if guides:
            guided = guided_pieces(pieces, at, Guided(guides[-1]))
            raise_bound(k, lower_bound(guided), context.standing)
            bound = min(part.upper_bound, lower_bound(guided))
            probe = replace(probe, families=_count(guides[-1].costs), lower_bound=bound)
        with _until(until, stop, context) as limited:
            probes.append(_probed_piece(probe, guides[-1] if guides else None, limit, k, limited))
        pieces = (*pieces[:at], replace(piece, order=()), *pieces[at + 1 :])  # it is dealt with
    return probes


def _count(costs: Sequence[NDArray]) -> int:
    return sum(own.size for own in costs)


def _probed_piece(probe: Probe, guide: Guide | None, limit: float, k: int, context: Context) -> Probe:
    """The probe with what the beginning of the search of a piece of component k showed."""
    if probe.variables > WORD_BITS:
        return replace(probe, unknown=f"more than {WORD_BITS} variables are not searched")
    if guide is None:
        return replace(probe, unknown="the effort ended before it had a bound")
    problem = guided_problem(guide, limit, context)
    layered = context.methods.parent_graph == "layered" or not tables_fit(guide.costs, context)
    return _searched(replace(probe, layered=layered), problem, Report(probe.variables, k, problem, context), context)


def _searched(probe: Probe, problem: SearchProblem, report: Report, context: Context) -> Probe:
    """The probe with what the beginning of the search showed, which has sparse parent graphs in any case."""
    assert isinstance(problem.parent_graphs, ByteTables), "a probe has no score cache"
    threads = context.workers.threads
    widest = 0 if context.methods.lower_bound in ("static", "clusters") else int(problem.bound.width.max())
    tables = sum(array.nbytes for array in problem.parent_graphs.arrays())
    fixed = context.shelf.held + fixed_memory(problem, threads)
    fixed += threads * READING_BYTES - tables if probe.layered else 0
    least = max(fixed + least_room(threads), 2 * threads * pattern_bytes(widest))
    seen = _Seen()
    states = search_layers(problem, context.workers, Room(max(context.memory, least) - fixed))
    forecast = predicted_layers(seen.told(states, report), problem.variables)
    if forecast.seen < FEWEST_LAYERS and not forecast.complete:
        return replace(probe, unknown="the effort ended before enough layers of its search were seen")
    return replace(
        probe,
        forecast=forecast,
        fixed=fixed,
        least=least,
        node_bytes=seen.node_bytes,
        edge_ns=1e9 * seen.seconds / max(1, seen.edges),
        seconds=seen.layer_seconds,
    )


class _Seen:
    """What a search showed: its seconds and edges, the seconds up to its last whole layer, and the bytes of a node in
    its largest layer."""

    def __init__(self) -> None:
        self.seconds = self.layer_seconds = 0.0
        self.edges = self.nodes = 0
        self.node_bytes = float(NODE_BYTES)

    def told(self, states: Iterable[SearchState], report: Report) -> Iterator[SearchState]:
        """The states until the search is over or stopped; the observer hears of them too."""
        began, reached, context = time.perf_counter(), -1, report.context
        with contextlib.suppress(Stopped):
            for state in states:
                self.seconds, self.edges = time.perf_counter() - began, state.generated
                if state.layer.size == reached:
                    context.observer(report.layer_advanced(state))
                else:
                    reached, self.layer_seconds = state.layer.size, self.seconds
                    if state.layer.nodes > self.nodes:
                        self.nodes = state.layer.nodes
                        self.node_bytes = state.layer.memory / state.layer.nodes
                    raise_bound(report.k, min(state.least_f, report.problem.limit), context.standing)
                    context.observer(report.layer_ended(state))
                yield state


def _room_for(node_bytes: float, threads: int) -> int:
    """The least memory for nodes and tasks, to a megabyte, that leaves so many bytes to the nodes."""
    low, high = 0, 1 << 20
    while Room(high).node_bytes(threads) < node_bytes:
        low, high = high, 2 * high
    while high - low > 1 << 20:
        middle = (low + high) // 2
        low, high = (low, middle) if Room(middle).node_bytes(threads) >= node_bytes else (middle, high)
    return high
