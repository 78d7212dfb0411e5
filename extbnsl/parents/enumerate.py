"""The surviving families of a data set: every parent set that could win, and no other.

Level by level over the size of the parent sets: mark the varsets that some child still needs, count them, cost the
families, keep the cheapest, and decide which children are still alive at the next level. The table of joint entropies
is shared by all children. Malone et al. 2011, Section 4, counts every family within Tian's limit instead.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.events import Observer, StageAdvanced
from extbnsl.parents.best_score import byte_tables, byte_tables_bytes
from extbnsl.parents.enumeration import Enumeration, Level, start_enumeration
from extbnsl.parents.lattice import drop_hopeless, judge_families, mark_needed, mark_parents, next_alive
from extbnsl.parents.pruning import merged
from extbnsl.scores.counting import CountingTable, count
from extbnsl.workers import Stopped, Workers, chunks

CHUNK = 8192  # varsets of one task
ENTRIES_PER_TASK = 40_000_000  # rows times varsets that one counting task may touch: a fraction of a second


@dataclass(frozen=True)
class CountingProblem:
    """What the enumeration works on: n variables in ascending arity, none constant, at most 64 of them.

    limits (n,) int64: largest parent set per child; floors (n,) float64: lower bounds of N H(X | anything);
    half_log: cost of one parameter.
    """

    table: CountingTable
    limits: NDArray[np.int64]
    floors: NDArray[np.float64]
    half_log: float


@dataclass(frozen=True)
class _Block:
    """Varsets whose highest member is in [low, high): ranks [first, last) of level size + 1."""

    low: int
    high: int
    first: int
    last: int


def binomial_table(n: int) -> NDArray[np.int64]:
    """C(i, j) for i <= n, j <= n + 2; those beyond 2^62 are capped, no rank ever uses them."""
    table = np.zeros((n + 1, n + 3), dtype=np.int64)
    table[:, 0] = 1
    for i in range(1, n + 1):
        for j in range(1, n + 3):
            table[i, j] = min(int(table[i - 1, j - 1]) + int(table[i - 1, j]), 1 << 62)
    return table


def enumerate_families(
    problem: CountingProblem,
    workers: Workers,
    memory: int,
    observer: Observer,
    begun: Enumeration | None = None,
    on_size: Callable[[Enumeration], None] = lambda found: None,
) -> Enumeration:
    """Judge parent sets level by level until none can win, or the next level does not fit `memory` bytes.

    Goes on from `begun`. on_size gets what is known after each size; it may raise Stopped. Time: a few hundred ns per
    varset and some 10 ns per family; memory: 9 to 25 bytes per varset of the largest two levels, of which the last is
    streamed in blocks, and the families with the tables that answer BestScore.
    """
    n = problem.limits.size
    binomials = binomial_table(n)
    found = begun or replace(start_enumeration(n), level=_lowest_level(problem))
    while not found.done:
        level = found.level
        assert level is not None, "an enumeration that is not done has a level to go on with"
        last = level.size >= min(int(problem.limits.max()), n - 1)
        room = memory - found.families_bytes - byte_tables_bytes(found.costs, n)
        blocks = _blocks(level.size, n, last, room, binomials)
        if blocks is None:
            return replace(found, stopped="memory_limit")
        try:
            found = _judge_level(level, blocks, last, found, binomials, problem, workers, observer)
            on_size(found)
        except Stopped as stop:
            return replace(found, stopped=stop.reason)
    return found


def _lowest_level(problem: CountingProblem) -> Level:
    """The empty parent set, which every child may have."""
    total = np.array([problem.table.mlogm[-1]])
    return Level(0, total, total, np.array([(1 << problem.limits.size) - 1], dtype=np.uint64))


def _judge_level(
    level: Level,
    blocks: list[_Block],
    last: bool,
    found: Enumeration,
    binomials: NDArray[np.int64],
    problem: CountingProblem,
    workers: Workers,
    observer: Observer,
) -> Enumeration:
    """`found` with all parent sets of one size judged, ready for the next size unless this is the last."""
    extend = np.zeros_like(level.alive)
    above = np.zeros(0)
    for block in blocks:
        needed = _mark(level, block, last, binomials, workers)
        above, counted = _count(level.size + 1, needed, block, binomials, problem, workers)
        candidates = _judge(level, above, block, extend, binomials, problem, workers)
        found = _extended(found, candidates, counted, workers)
        unit = f"varsets counted, parent sets of {level.size}"
        observer(StageAdvanced("scores", found.varsets, 0, unit, level.size))
    found = replace(found, complete_to=level.size)
    following = None if last else _next_level(level, above, extend, found, binomials, problem, workers)
    if following is None or not following.alive.any():
        return replace(found, level=None, done=True)
    return replace(found, level=following)


def _blocks(size: int, n: int, last: bool, memory: int, binomials: NDArray[np.int64]) -> list[_Block] | None:
    """How to cut level size + 1 so that it fits `memory` bytes beside the tables of `size`; None if it cannot."""
    held = 8 * int(binomials[n, size - 1] if size else 0) + 24 * int(binomials[n, size])
    per_varset = 9 if last else 17
    room = (memory - held) // per_varset
    if not last:
        return [_Block(0, n, 0, int(binomials[n, size + 1]))] if int(binomials[n, size + 1]) <= room else None
    blocks = []
    low = 0
    while low < n:
        first = int(binomials[low, size + 1])
        high = low + 1
        while high < n and int(binomials[high + 1, size + 1]) - first <= room:
            high += 1
        if int(binomials[high, size + 1]) - first > room:
            return None
        blocks.append(_Block(low, high, first, int(binomials[high, size + 1])))
        low = high
    return blocks


def _groups(size: int, block: _Block, binomials: NDArray[np.int64]) -> list[tuple[int, int, np.uint64]]:
    """Ranges of parent-set ranks, and the children that make a varset of the block with them."""
    below, up_to = int(binomials[block.low, size]), int(binomials[block.high, size])
    if size == 0:
        below, up_to = 0, 1
    inside = ((1 << block.high) - 1) ^ ((1 << block.low) - 1)
    ranges = [(lo, hi, np.uint64(inside)) for lo, hi in chunks(below, CHUNK)]
    return ranges + [(lo, hi, np.uint64((1 << block.high) - 1)) for lo, hi in chunks(up_to, CHUNK, below)]


def _mark(level: Level, block: _Block, last: bool, binomials: NDArray[np.int64], workers: Workers) -> NDArray[np.uint8]:
    """Which varsets of the block must be counted: families of alive children, and parent sets of the next level."""
    needed = np.zeros(block.last - block.first, dtype=np.uint8)
    workers.map(
        lambda lo, hi, children: mark_needed(lo, hi, level.size, level.alive, children, binomials, needed, block.first),
        _groups(level.size, block, binomials),
    )
    if not last:
        everything = np.uint64((1 << (binomials.shape[0] - 1)) - 1)
        workers.map(
            lambda lo, hi: mark_parents(
                lo, hi, level.size + 1, level.alive, everything, binomials, needed, block.first
            ),
            chunks(block.last, CHUNK, block.first),
        )
    return needed


def _count(
    size: int,
    needed: NDArray[np.uint8],
    block: _Block,
    binomials: NDArray[np.int64],
    problem: CountingProblem,
    workers: Workers,
) -> tuple[NDArray[np.float64], int]:
    """T of the needed varsets of the block, by rank - block.first, and how many there were."""
    joint = np.zeros(needed.size)
    table = problem.table.arrays()
    chunk = max(64, min(CHUNK, ENTRIES_PER_TASK // problem.table.weights.size))
    counted = workers.map(
        lambda lo, hi: count(size, lo, hi, needed, joint, block.first, binomials, table),
        chunks(block.last, chunk, block.first),
    )
    return joint, sum(counted)


def _judge(
    level: Level,
    above: NDArray[np.float64],
    block: _Block,
    extend: NDArray[np.uint64],
    binomials: NDArray[np.int64],
    problem: CountingProblem,
    workers: Workers,
) -> list[tuple[NDArray, NDArray, NDArray]]:
    """The families of the block that beat their immediate subsets, as (varset, child, cost) per chunk."""
    n = problem.limits.size

    def task(lo: int, hi: int, children: np.uint64) -> tuple[NDArray, NDArray, NDArray]:
        room = (hi - lo) * n
        out = np.empty(room, np.uint64), np.empty(room, np.uint8), np.empty(room)
        joint = level.below, level.here, above
        written = judge_families(
            lo, hi, level.size, level.alive, children, joint, block.first, problem.half_log,
            problem.table.arities, binomials, extend, out,
        )  # fmt: skip
        return out[0][:written].copy(), out[1][:written].copy(), out[2][:written].copy()

    return workers.map(task, _groups(level.size, block, binomials))


def _extended(found: Enumeration, candidates: list[tuple], counted: int, workers: Workers) -> Enumeration:
    """`found` with the candidates of one block merged in, dominated ones dropped."""
    varsets, owners, costs = (np.concatenate([c[k] for c in candidates]) for k in range(3))
    parents, all_costs = list(found.parents), list(found.costs)

    def task(child: int) -> tuple[NDArray, NDArray]:
        own = owners == child
        return merged((parents[child], all_costs[child]), (varsets[own][:, None], costs[own]))

    children = np.unique(owners).tolist()
    for child, joined in zip(children, workers.map(task, [(c,) for c in children]), strict=True):
        parents[child], all_costs[child] = joined
    return replace(
        found,
        parents=tuple(parents),
        costs=tuple(all_costs),
        varsets=found.varsets + counted,
        families=found.families + int(varsets.size),
    )


def _next_level(
    level: Level,
    above: NDArray[np.float64],
    extend: NDArray[np.uint64],
    found: Enumeration,
    binomials: NDArray[np.int64],
    problem: CountingProblem,
    workers: Workers,
) -> Level:
    size = level.size + 1
    alive = np.empty(above.size, dtype=np.uint64)
    tables = byte_tables(found.parents, found.costs).arrays()

    def task(lo: int, hi: int) -> None:
        arities, unit = problem.table.arities, problem.half_log
        next_alive(lo, hi, size, extend, level.here, above, unit, arities, problem.limits, binomials, alive)
        drop_hopeless(lo, hi, size, problem.floors, unit, arities, binomials, tables, alive)

    workers.map(task, chunks(above.size, CHUNK))
    return Level(size, level.here, above, alive)
