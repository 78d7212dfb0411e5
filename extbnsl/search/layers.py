"""The layered breadth-first branch-and-bound search of the order graph (Malone et al. 2011, Algorithm 1).

A layer is a sequence of sorted runs. Tasks expand blocks of the next layer's partitions, each from the few ranges of
the layer that lead there; their runs, in increasing order, are the next layer. What does not fit into memory goes
to files, run by run: a layer that fits is the case of no such run. Because a task draws all duplicates of its
partitions together before anything is written, no duplicate ever reaches a file, and nothing has to be merged later.
"""

import contextlib
import itertools
import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from extbnsl.core.claims import DISK_LIMIT, MEMORY_LIMIT
from extbnsl.core.errors import BudgetError
from extbnsl.files import names
from extbnsl.files.store import Store
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.search.ancestral import ALL_SUCCESSORS
from extbnsl.search.problem import SearchProblem
from extbnsl.search.runs import NO_LEAF, PARTITION_BYTES, Nodes, Run, joined, node_bytes, run_in_memory
from extbnsl.search.state import Layer, SearchState, sources_bytes, stored
from extbnsl.search.targets import Block, plan
from extbnsl.search.tasks import Expansion, Sink, expand_block, improve_rows, ready_sources

TASKS_PER_THREAD = 4  # in one layer, at least, if it is large enough; twice as many cost a tenth more CPU time
TASKS_PER_SLOT = 16  # that may be out for each thread of hands
FAR_NODES = 1 << 22  # of a layer that hands expand: with fewer it is over before they have begun
LEAST_SOURCES = 1 << 16  # nodes that a task expands, if there are so many
CACHE_BYTES = 1 << 24  # of a problem's tables beyond which a node takes ten times as long, so that tasks are smaller
MOST_TASK_BYTES = 64 << 20
LEAST_TASK_BYTES = 1 << 20
ENOUGH_TASK_BYTES = 4 << 20  # with less, tasks are so small that it is better to have fewer of them
YIELD_SECONDS = 0.5
MOST_SHARE = 0.5  # of the last budget, disk if there is one, that may be used before every node is looked at closely


@dataclass(frozen=True)
class Room:
    """What the search may use: bytes of memory for its nodes and tasks, and a store for what exceeds them.

    commit_due is asked from time to time: if it says so, everything goes to the store and the state that is yielded
    next is to be committed. unsaved: with about so many bytes in memory alone, what is made goes to the store at once,
    so that a commit, or the end, never has to wait for long; infinity if nothing is ever committed. name: of
    the search, in the names of its files.
    """

    memory: float
    store: Store | None = None
    commit_due: Callable[[], bool] = lambda: False
    unsaved: float = math.inf
    name: str = names.search(0, 0)

    def task_bytes(self, threads: int) -> int:
        """Memory for the sources, and about as much again for the results, of one task."""
        return int(min(MOST_TASK_BYTES, max(LEAST_TASK_BYTES, self.memory / (3 * self.tasks(threads)))))

    def node_bytes(self, threads: int) -> float:
        """Memory for runs, beside what the tasks take."""
        return max(0.0, self.memory - self.tasks(threads) * self.task_bytes(threads))

    def tasks(self, threads: int) -> int:
        """How many tasks may be out at a time: two per thread, fewer where they would have little memory each, because
        small tasks read the same nodes again and again."""
        return int(max(1, min(2 * threads, self.memory // (3 * ENOUGH_TASK_BYTES))))


def search_layers(
    problem: SearchProblem,
    workers: Workers,
    room: Room,
    state: SearchState | None = None,
    most_nodes_kept: int | None = None,
) -> Iterator[SearchState]:
    """Yield the state from time to time and after each layer, until a layer is empty or holds the goal.

    Goes on from `state`, or from layer 0, which is yielded first. An empty last layer proves that no network costs
    less than the limit. With `most_nodes_kept` the search ends early, after the layer in which the nodes kept in
    total exceed it. Where the room suffices the columns depend neither on it nor on the number of threads; when more
    than half of it is used, ascents at nodes thin the layers. Raises Stopped after a last state that can be committed,
    if it could be stored. Work: a few dozen ns per edge.
    """
    state = state or _start(problem)
    yield state
    while state.layer.nodes and state.layer.size < problem.variables:
        if most_nodes_kept is not None and state.kept > most_nodes_kept:
            return
        for following in _LayerSearch(state, problem, workers, room).states():
            state = following
            yield state


def _start(problem: SearchProblem) -> SearchState:
    """Before the first layer: the empty varset. Raises RunDirectoryError if the score cache cannot be read."""
    nothing = Nodes(
        highs=np.zeros(1, np.uint64),
        starts=np.array([0, 1]),
        lows=np.zeros(1, np.uint16),
        leaf=np.full(1, NO_LEAF),
        g=np.zeros(1),
        successors=np.full(1, ALL_SUCCESSORS),
        best=np.full((1, problem.row_width(0)), np.inf),
    )
    cache = problem.score_cache
    if cache is not None:
        improve_rows(cache, problem.low_bits, 0, nothing, np.zeros(1, np.uint64), np.zeros(1, np.uint8))
    return SearchState(Layer(0, (run_in_memory(nothing),)), cache=() if cache is None else cache.files)


class _LayerSearch:
    """The expansion of one layer: the state so far, and what the tasks that are out may use."""

    def __init__(self, state: SearchState, problem: SearchProblem, workers: Workers, room: Room) -> None:
        self._problem = problem
        self._workers = workers
        self._room = room
        self._node_bytes = room.node_bytes(workers.threads)
        following_bytes = node_bytes(problem.row_width(state.layer.size + 1))
        self._run_nodes = max(1, room.task_bytes(workers.threads) // (8 * following_bytes))
        self._state = replace(state, to_commit=False)
        self._memory = self._state.memory
        self._unsaved = self._bytes_to_write(self._state.runs)
        self._grants: deque[Sink] = deque()  # of the tasks that are out, oldest first
        self._short = False  # whether a task did not find room
        self._far = False  # whether hands expand the layer, all of which is in files then

    def states(self) -> Iterator[SearchState]:
        """The states from here to the end of the layer, which is the last one; Stopped as `search_layers`."""
        try:
            yield from self._expanded()
            return
        except Stopped as stop:
            reason = stop.reason
        except BudgetError:  # the disk is full, whatever the budget says
            reason = DISK_LIMIT
        except MemoryError:
            reason = MEMORY_LIMIT
        except ImportError as error:  # the compiler loads what it needs when it needs it
            if "failed to map segment" not in str(error):
                raise
            reason = MEMORY_LIMIT
        yield self._stored() if math.isfinite(self._room.unsaved) else self._state
        raise Stopped(reason)

    def _expanded(self) -> Iterator[SearchState]:
        self._far = self._goes_far()
        if not self._far:
            self._make_ready()
        blocks = self._blocks()
        while blocks:
            yield from self._pass(blocks, self._ahead)
            if self._short:
                yield self._stored()  # so that files no longer needed can go
                self._short = False
                yield from self._pass(self._blocks()[:1], 1)
                if self._short:
                    raise Stopped(DISK_LIMIT if self._room.store else MEMORY_LIMIT)
            blocks = self._blocks()
        self._finish()
        yield self._stored() if self._room.commit_due() else self._state

    @property
    def _ahead(self) -> int:
        """How many tasks may be out at a time."""
        return TASKS_PER_SLOT * self._workers.slots if self._far else self._room.tasks(self._workers.threads)

    def _goes_far(self) -> bool:
        """Whether hands expand the layer: it is large, and they see the folder of the files, in which there is room for
        all of it."""
        hands, store = self._workers.hands, self._room.store
        if hands is None or store is None or self._state.layer.nodes < FAR_NODES:
            return False
        if not hands.see(store.folder.absolute() / names.seen(os.getpid())):
            return False
        self._state = self._stored()
        return all(run.files for run in self._state.layer.runs)

    def _make_ready(self) -> None:
        """Prepare the sources once for all tasks, if the layer is one run in memory and they fit."""
        layer, memory = self._state.layer, self._node_bytes - self._state.memory
        nodes = layer.runs[0].nodes if len(layer.runs) == 1 else None
        if nodes is not None and sources_bytes(nodes) <= memory:
            layer = replace(layer, sources=self._workers.run(ready_sources, nodes))
            self._state = replace(self._state, layer=layer)
            self._memory += layer.sources_memory

    def _blocks(self) -> list[Block]:
        """What is left to do, with sources that about fit the tasks; in enough pieces for all threads, if the layer is
        large enough."""
        problem, state, threads = self._problem, self._state, self._workers.threads
        slots = self._workers.slots if self._far else threads
        runs, tasks, sources = state.layer.runs, TASKS_PER_THREAD * slots, LEAST_SOURCES
        if problem.bytes > CACHE_BYTES:
            tasks, sources = 2 * tasks, sources // 8
        highs = np.concatenate([run.fence_highs for run in runs])
        nodes, partitions = _added([run.fence_nodes for run in runs]), _added([run.fence_partitions for run in runs])
        each = node_bytes(problem.row_width(state.layer.size)) + 3  # bytes that a task takes for a node of its sources
        weights = each * nodes + (PARTITION_BYTES + 8) * partitions
        least = int(weights[-1]) * sources // max(sources, state.layer.nodes)
        most = min(max(least, int(weights[-1]) // tasks), self._room.task_bytes(threads))
        return plan(highs, weights, problem.high_bits, state.position, most)

    def _pass(self, blocks: list[Block], ahead: int) -> Iterator[SearchState]:
        """Do the blocks, so many at a time, until one finds no room."""
        arguments = self._arguments(blocks, ahead)
        said = time.monotonic()
        expand = self._workers.spread if self._far else self._workers.stream
        try:
            for expansion in expand(expand_block, arguments, ahead, self._forget):
                self._take(expansion)
                self._promise(-self._grants.popleft().disk)
                if self._room.commit_due() and not self._short:
                    yield self._stored()
                elif time.monotonic() - said > YIELD_SECONDS:
                    said = time.monotonic()
                    yield self._state
        finally:
            self._promise(-sum(sink.disk for sink in self._grants))
            self._grants.clear()

    def _arguments(self, blocks: list[Block], ahead: int) -> Iterator[tuple]:
        """The arguments of the tasks, each made when it is to start: what room there is then is shared."""
        problem, layer = self._problem, self._state.layer
        if self._far:
            layer = replace(layer, runs=tuple(run.filed for run in layer.runs), sources=None)
            if (cache := problem.score_cache) is not None:
                problem = replace(problem, parent_graphs=replace(cache, folder=cache.folder.absolute()))
        for block in blocks:
            if self._short:
                return
            sink = self._sink(block, ahead)
            self._grants.append(sink)
            self._promise(sink.disk)
            yield problem, layer, block, sink, self._workers.halt

    def _sink(self, block: Block, ahead: int) -> Sink:
        """Where the task of a block may leave what it makes: its share of what the others have not been granted."""
        store = self._room.store
        used, most = (self._memory, self._node_bytes) if store is None else (store.used, store.disk)
        memory = self._node_bytes - self._memory - sum(sink.memory for sink in self._grants)
        disk = 0 if store is None else store.free - self._unsaved
        return Sink(
            run_nodes=self._run_nodes,
            memory=0.0 if self._far else max(0.0, memory / ahead),
            disk=max(0, disk // ahead),
            write=self._far or self._unsaved > self._room.unsaved,
            folder=None if store is None else store.folder.absolute() if self._far else store.folder,
            stem=names.nodes(names.layer(self._room.name, self._state.layer.size + 1), block.first),
            compress=store is not None and store.compress,
            closely=used > MOST_SHARE * most,  # fewer nodes are worth much more time then
            apart=self._far,
        )

    def _promise(self, size: int) -> None:
        """Keep disk free for what tasks write, or no longer."""
        if self._room.store is not None:
            self._room.store.promise(size)

    def _take(self, expansion: Expansion | None) -> None:
        """Add what a task has made to the state, unless it or an earlier one found no room."""
        if expansion is None or self._short:
            self._short = True
            self._forget(expansion)
            return
        if self._room.store is not None:
            self._room.store.add(file for run in expansion.runs for file in run.files)
        self._memory += sum(run.memory for run in expansion.runs)
        self._unsaved += self._bytes_to_write(expansion.runs)
        state = self._state
        self._state = replace(
            state,
            following=(*state.following, *expansion.runs),
            position=expansion.block.end,
            generated=state.generated + expansion.edges,
            edges_out=state.edges_out + expansion.edges,
            least_following=min(state.least_following, expansion.least),
            to_commit=False,
        )

    def _forget(self, expansion: Expansion | None) -> None:
        """Delete what a task has written, as far as that can be done."""
        for file in () if expansion is None else (file for run in expansion.runs for file in run.files):
            assert self._room.store is not None, "files lie in a folder"
            with contextlib.suppress(OSError):
                (self._room.store.folder / file.name).unlink()

    def _finish(self) -> None:
        """Close the layer and go on to the next one."""
        state = self._state.next_layer(self._problem.keeps_costs)
        if state.memory > self._node_bytes / 2:
            state = self._written(state, closed_only=True) or state
        if state.memory + state.layer.memory <= self._node_bytes:
            state = replace(state, layer=_as_one_run(state.layer))
        self._state = state

    def _stored(self) -> SearchState:
        """The state with every run in files, if the disk budget allows that; it goes on as the state."""
        state = self._written(self._state)
        if state is None:
            return self._state
        self._memory, self._unsaved = state.memory + state.layer.sources_memory, 0
        self._state = state
        return replace(state, to_commit=True)

    def _written(self, state: SearchState, closed_only: bool = False) -> SearchState | None:
        """The state as `stored`; None if the files do not fit, and then none is there."""
        store, runs = self._room.store, itertools.chain(*state.closed) if closed_only else state.runs
        if store is None or self._bytes_to_write(runs) > store.free:
            return None
        before = store.files
        try:
            return stored(state, store, self._room.name, self._run_nodes, closed_only)
        except (BudgetError, MemoryError):
            store.keep_only(before)
            return None

    def _bytes_to_write(self, runs: Iterable[Run]) -> int:
        """At most the bytes of the files of those runs that have none."""
        return sum(run.file_bytes(self._run_nodes) for run in runs if not run.files)


def _as_one_run(layer: Layer) -> Layer:
    """The layer as one run, if all its runs are in memory and none in files."""
    nodes = [run.nodes for run in layer.runs if run.nodes is not None and not run.files]
    if len(nodes) < max(2, len(layer.runs)):
        return layer
    return replace(layer, runs=(run_in_memory(joined(nodes)),))


def _added(columns: list[np.ndarray]) -> np.ndarray:
    """Cumulative columns of runs that follow each other as one cumulative column; each starts at 0."""
    ends = np.cumsum([0] + [int(column[-1]) for column in columns])
    return np.concatenate([column + end for column, end in zip(columns, ends, strict=False)])
