"""The layered breadth-first branch-and-bound search of the order graph (Malone et al. 2011, Algorithm 1)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.patterns import GroupBound
from extbnsl.parents.best_score import ByteTables, as_bytes, byte_tables
from extbnsl.search.expand import UNFORCED, candidate_targets, expand, find_sources, group_by_leaf
from extbnsl.workers import Workers, chunks

LOW_BITS = 16
TARGETS_PER_TASK = 512


@dataclass(frozen=True)
class Layer:
    """The kept nodes of one size, sorted by varset, by partitions that share the bits above `low_bits`.

    Partition p has high part highs[p] (uint64, ascending) and nodes starts[p]:starts[p + 1]; lows (m,) uint16
    ascending within it, g (m,) float64 nats, leaf (m,) uint8 (the last variable of a cheapest order), forced (m,)
    uint8 (the one successor that path extension leaves, or 255).
    """

    size: int
    low_bits: int
    highs: NDArray[np.uint64]
    starts: NDArray[np.int64]
    lows: NDArray[np.uint16]
    g: NDArray[np.float64]
    leaf: NDArray[np.uint8]
    forced: NDArray[np.uint8]

    @property
    def nodes(self) -> int:
        return self.lows.size

    @property
    def bytes(self) -> int:
        """Memory that the columns take."""
        return 12 * self.nodes + 16 * self.highs.size

    @property
    def varsets(self) -> NDArray[np.uint64]:
        """The nodes as bitmasks, ascending."""
        return np.repeat(self.highs, np.diff(self.starts)) << np.uint64(self.low_bits) | self.lows.astype(np.uint64)

    def check(self) -> None:
        """Assert every invariant: columns of one length, sorted, duplicate-free, of the right size."""
        assert self.starts.size == self.highs.size + 1, "one start per partition and the end"
        assert self.starts[0] == 0, "the first partition starts at 0"
        assert self.starts[-1] == self.lows.size == self.g.size == self.leaf.size == self.forced.size, "column lengths"
        assert (np.diff(self.starts) > 0).all(), "no partition is empty"
        varsets = self.varsets
        assert (varsets[1:] > varsets[:-1]).all(), "sorted without duplicates"
        assert (np.bitwise_count(varsets) == self.size).all(), "every node has `size` variables"
        assert np.isfinite(self.g).all(), "finite costs"


@dataclass(frozen=True)
class Ancestry:
    """What reconstruction needs of a closed layer: its varsets and leaves, 3 bytes a node."""

    highs: NDArray[np.uint64]
    starts: NDArray[np.int64]
    lows: NDArray[np.uint16]
    leaf: NDArray[np.uint8]
    low_bits: int

    def leaf_of(self, varset: int) -> int:
        """The leaf of one node; KeyError if it is not in the layer."""
        high, low = varset >> self.low_bits, varset & (1 << self.low_bits) - 1
        p = int(np.searchsorted(self.highs, np.uint64(high)))
        if p < self.highs.size and int(self.highs[p]) == high:
            begin, end = int(self.starts[p]), int(self.starts[p + 1])
            i = begin + int(np.searchsorted(self.lows[begin:end], low))
            if i < end and int(self.lows[i]) == low:
                return int(self.leaf[i])
        raise KeyError(varset)


@dataclass(frozen=True)
class SearchProblem:
    """One component, ready to search: n <= 64 variables, labelled so that the bound's groups are contiguous.

    tables hold every byte for every child; unmet (bytes, 256) uint64: for each byte of a varset and its value the
    children whose best parents of all have a member there that is missing; a node with f >= limit is pruned.
    """

    variables: int
    tables: ByteTables
    unmet: NDArray[np.uint64]
    bound: GroupBound
    limit: float
    path_extension: bool


@dataclass(frozen=True)
class SearchState:
    """The search after a layer: the layer itself, all closed layers' ancestry, and the counters so far."""

    layer: Layer
    closed: tuple[Ancestry, ...]
    expanded: int
    generated: int
    generated_here: int
    kept: int
    peak: int
    least_f: float

    @property
    def bytes(self) -> int:
        """Memory that the state holds."""
        return (
            12 * self.layer.nodes
            + 16 * self.layer.highs.size
            + sum(3 * closed.lows.size + 16 * closed.highs.size for closed in self.closed)
        )


def predicted_edges(probe: Iterator[SearchState], variables: int) -> float:
    """The edges that the whole search will generate, guessed from a search that may have ended early.

    The logarithm of the layers' sizes is nearly a parabola: its last slope and bend are carried on to the last layer.
    """
    sizes_seen, state = [], None
    for state in probe:
        sizes_seen.append(state.layer.nodes)
    assert state is not None, "a search yields layer 0"
    if sizes_seen[-1] == 0 or state.layer.size == variables or len(sizes_seen) < 4:
        return float(state.generated)
    logs = np.log(np.array(sizes_seen[-3:], dtype=np.float64))
    slope, bend = logs[2] - logs[1], min(logs[2] - 2 * logs[1] + logs[0], -0.05)
    total, size = float(sum(sizes_seen)), logs[2]
    for _ in range(state.layer.size, variables):
        slope += bend
        size += slope
        total += math.exp(size)
    return state.generated / sum(sizes_seen) * total


def search_problem(
    parents: tuple[NDArray[np.uint64], ...],
    costs: tuple[NDArray[np.float64], ...],
    bound: GroupBound,
    limit: float,
    path_extension: bool,
) -> SearchProblem:
    """The problem of families in score order, parents[X] (m, 1), over the labels that `bound` uses."""
    n = len(parents)
    size = -(-n // 8)
    favourites = np.stack([as_bytes(p[0])[:size] for p in parents])
    values = np.arange(256, dtype=np.uint8)
    lacking = (favourites[:, :, None] & ~values) != 0  # child, byte, value
    unmet = np.zeros((size, 256), dtype=np.uint64)
    for child in range(n):
        unmet |= lacking[child].astype(np.uint64) << np.uint64(child)
    tables = byte_tables(parents, costs, bytes_of_all=size)
    return SearchProblem(n, tables, unmet, bound, limit, path_extension)


def start_layer(low_bits: int) -> Layer:
    """Layer 0: the empty varset."""
    return Layer(
        size=0,
        low_bits=low_bits,
        highs=np.zeros(1, np.uint64),
        starts=np.array([0, 1]),
        lows=np.zeros(1, np.uint16),
        g=np.zeros(1),
        leaf=np.full(1, UNFORCED),
        forced=np.full(1, UNFORCED),
    )


def search_layers(
    problem: SearchProblem, workers: Workers, most_nodes_kept: int | None = None
) -> Iterator[SearchState]:
    """Yield the state after each layer, from layer 0, until a layer is empty or holds the goal.

    An empty last layer proves that no network costs less than `problem.limit`. With `most_nodes_kept` the search ends
    early, after the layer in which the nodes kept in total exceed it. Work: a few dozen ns per edge.
    """
    low_bits = min(LOW_BITS, int(problem.bound.width[0]))
    state = SearchState(start_layer(low_bits), (), 0, 0, 0, 1, 1, 0.0)
    yield state
    while state.layer.nodes and state.layer.size < problem.variables:
        if most_nodes_kept is not None and state.kept > most_nodes_kept:
            return
        state = _next_state(state, problem, workers)
        yield state


def _next_state(state: SearchState, problem: SearchProblem, workers: Workers) -> SearchState:
    layer = state.layer
    following, edges, least = next_layer(layer, problem, workers)
    return SearchState(
        layer=following,
        closed=(*state.closed, Ancestry(layer.highs, layer.starts, layer.lows, layer.leaf, layer.low_bits)),
        expanded=state.expanded + layer.nodes,
        generated=state.generated + edges,
        generated_here=edges,
        kept=state.kept + following.nodes,
        peak=max(state.peak, following.nodes),
        least_f=least,
    )


def next_layer(layer: Layer, problem: SearchProblem, workers: Workers) -> tuple[Layer, int, float]:
    """The next layer, the number of edges generated, and the least f among the nodes kept (infinity if none)."""
    columns = (layer.starts, layer.lows, layer.g, layer.forced, *group_by_leaf(layer.starts, layer.forced))
    shape = (problem.variables, layer.low_bits)
    tables, bound = problem.tables.arrays(), problem.bound.arrays()
    high_bits = problem.variables - layer.low_bits
    targets = np.unique(candidate_targets(layer.highs, high_bits))

    def task(lo: int, hi: int) -> tuple:
        mine = targets[lo:hi]
        first = np.empty(mine.size + 1, np.int64)
        sources = (
            np.empty(mine.size * (high_bits + 1), np.int64),
            np.empty(mine.size * (high_bits + 1), np.uint64),
        )
        room = find_sources(mine, layer.highs, layer.starts, layer.low_bits, first, *sources)
        out = (
            np.empty(room, np.uint16), np.empty(room), np.empty(room, np.uint8), np.empty(room, np.uint8),
            np.empty(hi - lo, np.int64),
        )  # fmt: skip
        edges, kept, least = expand(
            first, mine, sources, columns, shape, tables, bound, problem.unmet, problem.path_extension,
            problem.limit, out,
        )  # fmt: skip
        return *(column[:kept].copy() for column in out[:4]), out[4], edges, least

    parts = workers.map(task, chunks(targets.size, TARGETS_PER_TASK))
    lows, g, leaf, forced, count = (np.concatenate([part[k] for part in parts]) for k in range(5))
    filled = count > 0
    following = Layer(
        size=layer.size + 1,
        low_bits=layer.low_bits,
        highs=targets[filled],
        starts=np.concatenate(([0], np.cumsum(count[filled]))),
        lows=lows,
        g=g,
        leaf=leaf,
        forced=forced,
    )
    return following, sum(part[5] for part in parts), min(part[6] for part in parts)
