"""The surviving families of a data set: every parent set that could win, and no other.

Level by level over the size of the parent sets: mark the varsets that some child still needs, count them, cost the
families, keep the cheapest, and decide which children are still alive at the next level. The table of joint entropies
is shared by all children. Malone et al. 2011, Section 4, counts every family within Tian's limit instead.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from extbnsl.errors import BudgetError
from extbnsl.events import Observer, StageAdvanced
from extbnsl.parents.best_score import by_bytes, byte_tables
from extbnsl.parents.enumeration import Enumeration, Level, start_enumeration
from extbnsl.parents.lattice import drop_hopeless, judge_families, mark_needed, next_alive
from extbnsl.parents.pruning import merged
from extbnsl.scores.counting import CountingTable, count
from extbnsl.shelf import Shelf
from extbnsl.workers import Stopped, Workers, chunks

CHUNK = 8192  # varsets of one task
BATCH = 256  # tasks that wait at a time
TASK_BYTES = 1 << 20  # of the families that a task may find
CANDIDATE_BYTES = 17  # of a family that is not in its child's list yet
ENTRIES_PER_TASK = 40_000_000  # rows times varsets that one counting task may touch: a fraction of a second

T = TypeVar("T")
Candidates = tuple[NDArray[np.uint64], NDArray[np.uint8], NDArray[np.float64]]  # varset, child, cost of each


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
    shelf: Shelf,
    observer: Observer,
    begun: Enumeration | None = None,
    on_size: Callable[[Enumeration], None] = lambda found: None,
) -> Enumeration:
    """Judge parent sets level by level until none can win, or the shelf has no room for the next level.

    Goes on from `begun`. on_size gets what is known after each size; it may raise Stopped. What lasts lies on the
    shelf: 8 to 40 bytes per varset of the largest two levels, and the families; they are read in nearly ascending
    order, so that they may well be on disk; what does not last takes as much memory again. Time: a few hundred ns per
    varset that is needed and some 10 ns per family.
    """
    n = problem.limits.size
    binomials = binomial_table(n)
    counting = _Counting(problem, binomials, workers, shelf, observer)
    found = begun or replace(start_enumeration(n), level=_lowest_level(problem))
    while not found.done:
        level = found.level
        assert level is not None, "an enumeration that is not done has a level to go on with"
        if not shelf.fits(_level_bytes(level.size, binomials)):
            return replace(found, stopped="memory_limit")
        try:
            found = counting.judge_level(level, found)
            on_size(found)
        except Stopped as stop:
            return replace(found, stopped=stop.reason)
        except BudgetError:
            return replace(found, stopped="disk_limit")
    return found


def _lowest_level(problem: CountingProblem) -> Level:
    """The empty parent set, which every child may have."""
    total = np.array([problem.table.mlogm[-1]])
    return Level(0, total, total, np.array([(1 << problem.limits.size) - 1], dtype=np.uint64))


def _level_bytes(size: int, binomials: NDArray[np.int64]) -> int:
    """What judging parent sets of `size` variables puts on the shelf beside families: T above, and two bit columns."""
    n = binomials.shape[0] - 1
    return 16 * int(binomials[n, size + 1]) + 8 * int(binomials[n, size])


@dataclass(frozen=True)
class _Counting:
    """The steps of one level; every array that is as long as a level is made in chunks of ranks."""

    problem: CountingProblem
    binomials: NDArray[np.int64]
    workers: Workers
    shelf: Shelf
    observer: Observer

    def judge_level(self, level: Level, found: Enumeration) -> Enumeration:
        """`found` with all parent sets of one size judged, ready for the next size unless this is the last."""
        n = self.problem.limits.size
        last = level.size >= min(int(self.problem.limits.max()), n - 1)
        above, counted = self._count(level, last)
        found = replace(found, varsets=found.varsets + counted)
        extend, found = self._judge(level, above, found)
        found = replace(found, complete_to=level.size)
        unit = f"varsets counted, parent sets of {level.size}"
        self.observer(StageAdvanced("scores", found.varsets, 0, unit, level.size))
        following = None if last else self._next_level(level, above, extend, found)
        return replace(found, level=following, done=following is None)

    def _each(self, task: Callable[[int, int], T], size: int, most: int) -> Iterator[T]:
        """task(lo, hi) for the ranks of all varsets of `size` variables, at most so many at a time."""
        total = int(self.binomials[-1, size])
        for begin in range(0, total, BATCH * max(1, most)):
            end = min(begin + BATCH * max(1, most), total)
            yield from self.workers.map(task, chunks(end, max(1, most), begin))

    def _count(self, level: Level, last: bool) -> tuple[NDArray[np.float64], int]:
        """T of the varsets one larger that are needed, by rank, and how many these are.

        Needed are the families of children that are alive, and the parent sets of the next level.
        """
        size, table = level.size + 1, self.problem.table
        joint = self.shelf.column((int(self.binomials[-1, size]),), np.float64)

        def task(lo: int, hi: int) -> int:
            needed, own = np.empty(hi - lo, np.uint8), np.zeros(hi - lo)
            mark_needed(lo, hi, size, level.alive, not last, self.binomials, needed)
            counted: int = count(size, lo, hi, needed, own, lo, self.binomials, table.arrays())
            joint.fill(lo, own)
            self.shelf.has_read(8 * size * (hi - lo))
            return counted

        most = min(CHUNK, max(64, ENTRIES_PER_TASK // table.weights.size))
        return joint.array(), sum(self._each(task, size, most))

    def _judge(
        self, level: Level, above: NDArray[np.float64], found: Enumeration
    ) -> tuple[NDArray[np.uint64], Enumeration]:
        """For which children each parent set may still be extended (uint64), and `found` with those that win so far."""
        n = self.problem.limits.size
        joint, extend = (level.below, level.here, above), self.shelf.column(level.alive.shape, np.uint64)

        def task(lo: int, hi: int) -> Candidates:
            room = (hi - lo) * n
            own = np.empty(hi - lo, np.uint64)
            out = np.empty(room, np.uint64), np.empty(room, np.uint8), np.empty(room)
            written = judge_families(
                lo, hi, level.size, level.alive, joint, self.problem.half_log, self.problem.table.arities,
                self.binomials, own, out,
            )  # fmt: skip
            extend.fill(lo, own)
            self.shelf.has_read(24 * (level.size + 1) * (hi - lo))
            return out[0][:written].copy(), out[1][:written].copy(), out[2][:written].copy()

        waiting: list[Candidates] = []
        size = 0
        for candidates in self._each(task, level.size, min(CHUNK, TASK_BYTES // (CANDIDATE_BYTES * n))):
            waiting.append(candidates)
            size += CANDIDATE_BYTES * candidates[0].size
            if size > self.shelf.memory // 4:
                found, waiting, size = self._extended(found, waiting), [], 0
        return extend.array(), self._extended(found, waiting)

    def _extended(self, found: Enumeration, candidates: list[Candidates]) -> Enumeration:
        """`found` with the candidates merged in, dominated ones dropped."""
        if not candidates:
            return found
        varsets, owners, costs = (np.concatenate([c[k] for c in candidates]) for k in range(3))
        parents, all_costs = list(found.parents), list(found.costs)

        def task(child: int) -> tuple[NDArray, NDArray]:
            own = owners == child
            return merged((parents[child], all_costs[child]), (varsets[own][:, None], costs[own]))

        children = np.unique(owners).tolist()
        for begin, end in chunks(len(children), self.workers.threads):
            batch = children[begin:end]
            for child, joined in zip(batch, self.workers.map(task, [(c,) for c in batch]), strict=True):
                parents[child], all_costs[child] = map(self.shelf.put, joined)
        return replace(
            found, parents=tuple(parents), costs=tuple(all_costs), families=found.families + int(varsets.size)
        )

    def _next_level(
        self, level: Level, above: NDArray[np.float64], extend: NDArray[np.uint64], found: Enumeration
    ) -> Level | None:
        """What goes on with the next size of parent sets; None if no child is alive then."""
        size, problem = level.size + 1, self.problem
        arities, unit = problem.table.arities, problem.half_log
        column = self.shelf.column(above.shape, np.uint64)
        alive = column.array()

        def begin(lo: int, hi: int) -> None:
            own = np.empty(hi - lo, np.uint64)
            next_alive(lo, hi, size, extend, level.here, above, unit, arities, problem.limits, self.binomials, own)
            column.fill(lo, own)
            self.shelf.has_read(32 * size * (hi - lo))

        deque(self._each(begin, size, CHUNK), maxlen=0)
        for children in by_bytes(found.costs, problem.limits.size, self.shelf.memory // 2):
            tables = byte_tables([found.parents[x] for x in children], [found.costs[x] for x in children]).arrays()
            owners = np.array(children)

            def drop(lo: int, hi: int, owners: NDArray = owners, tables: tuple = tables) -> bool:
                own = alive[lo:hi].copy()
                drop_hopeless(lo, hi, size, owners, problem.floors, unit, arities, self.binomials, tables, own)
                column.fill(lo, own)
                self.shelf.has_read(8 * (hi - lo))
                return bool(own.any())

            some = sum(self._each(drop, size, CHUNK))
        return Level(size, level.here, above, alive) if some else None
