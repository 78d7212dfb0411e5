"""Sweeps over all parent sets up to a size, of all children at once, for those of interest by the prices of a round."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.multipliers import UNIT
from extbnsl.core.events import StageAdvanced
from extbnsl.kernels.varsets import unpack
from extbnsl.parents.exhaustive.by_level import AHEAD, largest_size
from extbnsl.parents.exhaustive.cells_by_child import CellSearches, as_words
from extbnsl.parents.exhaustive.problem import CountingProblem
from extbnsl.parents.exhaustive.state import Enumeration, Means
from extbnsl.parents.priced.prices import Prices, reduced_costs
from extbnsl.parents.priced.sweep import SweepTask, sweep, sweep_frames
from extbnsl.parents.pruning import ROUNDING, merged

MOST_SWEPT = 2_500_000_000  # rows of data that a sweep looks at, with all sets, at most: some 30 ns each
WIDE = 32  # columns are so many, or twice as many ..: compiled loops take so many at once
SWEPT_ROOM = 1 << 12  # families that it hands over at first; more are gone through again


class Swept(NamedTuple):
    """What a part of a sweep has found: children (f,) int64, parents (f, words) and costs (f,); and how many sets it
    went through."""

    children: NDArray[np.int64]
    parents: NDArray[np.uint64]
    costs: NDArray[np.float64]
    made: int


def size_swept(problem: CountingProblem, complete_to: int) -> int:
    """Up to which size parent sets are swept, if those to `complete_to` are known."""
    n, rows, size = problem.limits.size, problem.rows.weights.size, complete_to
    while problem.rows.bases == 1 and size < min(n - 1, largest_size(problem)):
        if rows * sum(math.comb(n, k) for k in range(1, size + 2)) > MOST_SWEPT:
            break
        size += 1
    return size


def sweep_task(searches: CellSearches, most: int) -> SweepTask:
    """What the kernel reads."""
    problem, prices, table = searches.problem, searches.prices, searches.problem.rows
    assert prices is not None, "a round has prices"
    assert problem.form is not None, "a score of cells"
    arities, n, clusters, worth = table.arities, problem.limits.size, list[tuple[int, ...]](), list[float]()
    for cut, weight in zip(prices.cuts, (prices.weights * UNIT).tolist(), strict=True):
        own = [cluster for cluster in map(unpack, cut) if cluster]
        clusters += own
        worth += [weight] * len(own)
    has = np.zeros((len(clusters), n), np.bool_)
    for row, cluster in zip(has, clusters, strict=True):
        row[list(cluster)] = True
    first = np.concatenate(([0], np.cumsum(arities - 1))).astype(np.int64)
    columns = np.zeros((table.weights.size, -(-int(first[-1]) // WIDE) * WIDE), np.uint32)
    for v, own_states in enumerate(table.states):
        there = np.flatnonzero(own_states)
        columns[there, first[v] + own_states[there].astype(np.int64) - 1] = table.weights[there]
    kinds, begin = np.unique(arities, return_index=True)
    margin = ROUNDING * (1.0 + float(table.mlogm[-1]))
    return SweepTask(
        codes=np.ascontiguousarray(table.states),
        first=first,
        columns=columns,
        weights=table.weights.astype(np.int64),
        arities=arities,
        form=problem.form,
        arity=kinds.astype(np.float64),
        begin=np.append(begin, n).astype(np.int64),
        records=int(table.weights.sum()),
        banned=(~problem.allowed).astype(np.int64),
        needed=problem.required.astype(np.int64),
        most_parents=problem.limits.astype(np.int64),
        wanted=problem.required.sum(axis=0).astype(np.int64),
        limits=prices.least + prices.stage.gap + margin,
        begins=np.cumsum([0, *map(len, clusters)], dtype=np.int64),
        members=np.array([v for cluster in clusters for v in cluster], np.int64),
        has=has,
        worth=np.array(worth, np.float64),
        fewest=searches.complete_to,
        most=most,
    )


def beginnings(n: int, most: int) -> list[tuple[int, int]]:
    """The first two members of all parent sets of at most so many of n variables; -1: there is no second one."""
    return [(one, two) for one in range(n) for two in (-1, *range(one + 1, n)) if two < 0 or most > 1]


def part_swept(one: int, two: int, task: SweepTask, width: int, halt: NDArray[np.uint8]) -> Swept:
    """The families of interest whose first two parents are these; -1: there is no second one. A pure function of
    values, but for `halt`, which cuts it short."""
    room, frames = SWEPT_ROOM, sweep_frames(task)
    while True:
        children, varsets, costs = np.zeros(room, np.int64), np.zeros((room, width), np.uint8), np.zeros(room)
        written, made = sweep(one, two, task, frames, halt, (children, varsets, costs))
        if written <= room:
            return Swept(children[:written], as_words(varsets[:written]), costs[:written], made)
        room = written


def swept(searches: CellSearches, found: Enumeration, means: Means) -> Enumeration:
    """`found` with all families of interest of so many parents as a sweep goes through, in a round whose searches have
    not begun. Those that it did not know may cost less than those that it did."""
    problem, prices, workers = searches.problem, searches.prices, means.workers
    assert prices is not None, "a round has prices"
    most = size_swept(problem, found.complete_to)
    task, width, n = sweep_task(searches, most), 8 * prices.cuts.shape[2], problem.limits.size
    pairs = beginnings(n, most) if most > found.complete_to else []
    given = ((one, two, task, width, workers.halt) for one, two in pairs)
    parts, said = list[Swept](), f"{prices.told}parent sets of at most {most} variables"
    for number, part in enumerate(workers.spread(part_swept, given, AHEAD * workers.threads)):
        parts.append(part)
        means.observer(StageAdvanced("scores", number, len(pairs), "", detail=said))
    return _with_all(found, prices, parts, most, means)


def _with_all(found: Enumeration, prices: Prices, parts: list[Swept], most: int, means: Means) -> Enumeration:
    """`found` with what the parts of a sweep have found."""
    parents, costs, least, added = list(found.parents), list(found.costs), prices.least.copy(), 0
    for x, own, paid in _by_child(parts, least.size):
        reduced = reduced_costs(x, own, paid, prices)
        kept = reduced < least[x] + prices.stage.gap
        if kept.any():
            joined = means.workers.run(merged, (parents[x], costs[x]), (own[kept], paid[kept]), 0.0, means.workers.halt)
            parents[x], costs[x] = map(means.shelf.put, joined)
            least[x] = reduced.min()
            added += int(kept.sum())
    counted = found.varsets + sum(part.made for part in parts)
    stage = replace(prices.stage, swept=most, counted=counted)
    return replace(
        found,
        parents=tuple(parents),
        costs=tuple(costs),
        varsets=counted,
        families=found.families + added,
        prices=replace(prices, stage=stage, least=least),
    )


def _by_child(parts: list[Swept], n: int) -> Iterator[tuple[int, NDArray[np.uint64], NDArray[np.float64]]]:
    """What the parts have found of each child, if anything: the child, parents and costs."""
    if not parts:
        return
    children, parents, costs = (np.concatenate([getattr(part, name) for part in parts]) for name in Swept._fields[:3])
    for x in range(n):
        own = children == x
        if own.any():
            yield x, parents[own], costs[own]
