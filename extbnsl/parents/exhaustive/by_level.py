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

from extbnsl.claims import DISK_LIMIT, MEMORY_LIMIT
from extbnsl.errors import BudgetError
from extbnsl.events import Observer, StageAdvanced
from extbnsl.files.shelf import Column, Shelf
from extbnsl.kernels.ranks import BLOCK, binomial_table
from extbnsl.kernels.varsets import pack
from extbnsl.machine.workers import Stopped, Workers, chunks
from extbnsl.parents.best_score import by_bytes, byte_tables
from extbnsl.parents.exhaustive.lattice import drop_hopeless, judge_families, mark_needed, next_alive
from extbnsl.parents.exhaustive.state import Counts, Enumeration, Level, start_enumeration
from extbnsl.parents.pruning import merged
from extbnsl.scores.counting import CountingTable, count

CHUNK = 8192  # varsets of one task
MARKED_BLOCKS = 4096  # of 64 ranks each, of one task
BATCH = 256  # tasks that wait at a time
MARKED_BATCH = 64  # of those that mark
TASK_BYTES = 1 << 20  # of the families that a task may find
CANDIDATE_BYTES = 10  # of a family that is not in its child's list yet, beside its parents
ENTRIES_PER_TASK = 40_000_000  # rows times varsets that one counting task may touch: a fraction of a second

T = TypeVar("T")
Candidates = tuple[NDArray[np.uint64], NDArray[np.uint16], NDArray[np.float64]]  # varset, child, cost of each


@dataclass(frozen=True)
class CountingProblem:
    """What the enumeration works on: n variables in ascending arity, none constant.

    limits (n,) int64: largest parent set per child; floors (n,) float64: lower bounds of N H(X | anything);
    parameter: what the score takes for one free parameter, in nats.
    """

    table: CountingTable
    limits: NDArray[np.int64]
    floors: NDArray[np.float64]
    parameter: float


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
    shelf: 8 to 8 + 16 w bytes per varset that is needed of the largest two levels (w words to a varset), a quarter of
    a byte for each, needed or not, and the families; they are read in nearly ascending order, so that they may well be
    on disk; what does not last takes as much memory again. Time: a few hundred ns per varset that is needed, some 10 ns
    per family, and for a varset that is not needed between 0.02 ns and some 10 ns, as its neighbours are.
    """
    n = problem.limits.size
    binomials = binomial_table(n)
    counting = _Counting(problem, binomials, workers, shelf, observer)
    found = begun or replace(start_enumeration(n), level=_lowest_level(problem))
    while not found.done:
        level = found.level
        assert level is not None, "an enumeration that is not done has a level to go on with"
        try:
            found = counting.judge_level(level, found)
            on_size(found)
        except Stopped as stop:
            return replace(found, stopped=stop.reason)
        except BudgetError:
            return replace(found, stopped=DISK_LIMIT)
    return found


def _lowest_level(problem: CountingProblem) -> Level:
    """The empty parent set, which every child may have."""
    n = problem.limits.size
    total = Counts(np.array([[1, 0]], np.uint64), np.array([problem.table.mlogm[-1]]))
    return Level(0, total, total, pack(range(n), n)[None, :])


@dataclass(frozen=True)
class _Counting:
    """The steps of one level; every array that is as long as a level is made in chunks."""

    problem: CountingProblem
    binomials: NDArray[np.int64]
    workers: Workers
    shelf: Shelf
    observer: Observer

    def judge_level(self, level: Level, found: Enumeration) -> Enumeration:
        """`found` with all parent sets of one size judged, ready for the next size unless this is the last.

        Stopped if the shelf has no room for what that takes.
        """
        n = self.problem.limits.size
        last = level.size >= min(int(self.problem.limits.max()), n - 1)
        above = self._count(level, last)
        found = replace(found, varsets=found.varsets + above.joint.size)
        extend = None if last else self.shelf.column(level.alive.shape, np.uint64)
        found = self._judge(level, above, extend, found)
        found = replace(found, complete_to=level.size)
        unit = f"varsets counted, parent sets of {level.size}"
        self.observer(StageAdvanced("scores", found.varsets, 0, unit, level.size))
        following = None if extend is None else self._next_level(level, above, extend.array(), found)
        return replace(found, level=following, done=following is None)

    def _each(self, task: Callable[[int, int], T], total: int, most: int, unit: str, batch: int = BATCH) -> Iterator[T]:
        """task(lo, hi) for ranges of at most so many that cover [0, total), a batch of them at a time.

        The observer is told how much of that is done, in this unit.
        """
        for begin in range(0, total, batch * max(1, most)):
            self.observer(StageAdvanced("scores", begin, total, unit))
            end = min(begin + batch * max(1, most), total)
            yield from self.workers.map(task, chunks(end, max(1, most), begin))

    def _need(self, size: int) -> None:
        """Stop unless the shelf has room for so many bytes more."""
        if not self.shelf.fits(size):
            raise Stopped(MEMORY_LIMIT)

    def _mark(self, level: Level, last: bool) -> tuple[NDArray[np.uint64], int]:
        """The places of the varsets one larger that are needed, and how many these are.

        Needed are the families of children that are alive, and the parent sets of the next level.
        """
        size = level.size + 1
        total = int(self.binomials[-1, size])
        blocks = -(-total // BLOCK)
        self._need(16 * blocks)
        column = self.shelf.column((blocks, 2), np.uint64)

        def task(lo: int, hi: int) -> tuple[NDArray[np.uint64], int]:
            own = np.empty((hi - lo, 2), np.uint64)
            ranks = BLOCK * lo, min(BLOCK * hi, total)
            marked = mark_needed(*ranks, size, level.alive, level.here.places, not last, self.binomials, own)
            self.shelf.touched(8 * size * marked + 16 * (hi - lo))
            return own, marked

        begin = needed = 0
        unit = f"blocks of {BLOCK} varsets of {size} looked at"
        for own, marked in self._each(task, blocks, MARKED_BLOCKS, unit, MARKED_BATCH):
            own[:, 1] += np.uint64(needed)
            column.fill(begin, own)
            begin, needed = begin + own.shape[0], needed + marked
        return column.array(), needed

    def _count(self, level: Level, last: bool) -> Counts:
        """T of the varsets one larger that are needed."""
        size, table = level.size + 1, self.problem.table
        places, needed = self._mark(level, last)
        row = level.alive.shape[1] * level.alive.itemsize
        self._need(8 * needed + (0 if last else level.alive.nbytes + row * needed))  # joint; extend, and alive above
        joint = self.shelf.column((needed,), np.float64)

        def task(lo: int, hi: int) -> None:
            own = np.empty(hi - lo)
            count(size, lo, hi, places, self.binomials, table.arrays(), own)
            joint.fill(lo, own)
            self.shelf.touched(16 * (hi - lo))

        most = min(CHUNK, max(64, ENTRIES_PER_TASK // table.weights.size))
        deque(self._each(task, needed, most, f"varsets of {size} counted"), maxlen=0)
        return Counts(places, joint.array())

    def _judge(self, level: Level, above: Counts, extend: Column | None, found: Enumeration) -> Enumeration:
        """`found` with the parent sets of this level that win so far; `extend`, like `alive`, gets the children for
        which a parent set may still be extended."""
        total, width = level.alive.shape
        n = self.problem.limits.size
        tables = tuple(counts.columns for counts in (level.below, level.here, above))

        def task(lo: int, hi: int) -> Candidates:
            room = (hi - lo) * n
            own = np.empty((hi - lo, width), np.uint64)
            out = np.empty((room, width), np.uint64), np.empty(room, np.uint16), np.empty(room)
            written = judge_families(
                lo, hi, level.size, level.alive, tables, self.problem.parameter, self.problem.table.arities,
                self.binomials, own, out,
            )  # fmt: skip
            if extend is not None:
                extend.fill(lo, own)
            self.shelf.touched(24 * (level.size + 1) * (hi - lo))
            return out[0][:written].copy(), out[1][:written].copy(), out[2][:written].copy()

        waiting: list[Candidates] = []
        size, candidate = 0, CANDIDATE_BYTES + 8 * width
        unit = f"parent sets of {level.size} judged"
        for candidates in self._each(task, total, min(CHUNK, TASK_BYTES // (candidate * n)), unit):
            waiting.append(candidates)
            size += candidate * candidates[1].size
            if size > self.shelf.memory // 4:
                found, waiting, size = self._extended(found, waiting), [], 0
        return self._extended(found, waiting)

    def _extended(self, found: Enumeration, candidates: list[Candidates]) -> Enumeration:
        """`found` with the candidates merged in, dominated ones dropped."""
        if not candidates:
            return found
        varsets, owners, costs = (np.concatenate([c[k] for c in candidates]) for k in range(3))
        parents, all_costs = list(found.parents), list(found.costs)

        def task(child: int) -> tuple[NDArray, NDArray]:
            own = owners == child
            return merged((parents[child], all_costs[child]), (varsets[own], costs[own]))

        children = np.unique(owners).tolist()
        for begin, end in chunks(len(children), self.workers.threads):
            batch = children[begin:end]
            for child, joined in zip(batch, self.workers.map(task, [(c,) for c in batch]), strict=True):
                parents[child], all_costs[child] = map(self.shelf.put, joined)
        return replace(found, parents=tuple(parents), costs=tuple(all_costs), families=found.families + int(costs.size))

    def _next_level(self, level: Level, above: Counts, extend: NDArray[np.uint64], found: Enumeration) -> Level | None:
        """What goes on with the next size of parent sets; None if no child is alive then."""
        size, problem = level.size + 1, self.problem
        arities, parameter = problem.table.arities, problem.parameter
        column = self.shelf.column((above.joint.size, extend.shape[1]), np.uint64)
        alive = column.array()

        def begin(lo: int, hi: int) -> None:
            own = np.empty((hi - lo, extend.shape[1]), np.uint64)
            next_alive(
                lo, hi, size, extend, level.here.columns, above.columns, parameter, arities, problem.limits,
                self.binomials, own,
            )  # fmt: skip
            column.fill(lo, own)
            self.shelf.touched(32 * size * (hi - lo))

        doing = f"parent sets of {size} made ready"
        deque(self._each(begin, above.joint.size, CHUNK, doing), maxlen=0)
        for children in by_bytes(found.costs, problem.limits.size, self.shelf.memory // 2):
            tables = byte_tables([found.parents[x] for x in children], [found.costs[x] for x in children])
            owners = np.array(children)

            def drop(lo: int, hi: int, owners: NDArray = owners, tables: tuple = tables) -> bool:
                own = alive[lo:hi].copy()
                drop_hopeless(
                    lo, hi, size, owners, above.places, problem.floors, parameter, arities, self.binomials, tables, own
                )
                column.fill(lo, own)
                self.shelf.touched(8 * (hi - lo))
                return bool(own.any())

            some = sum(self._each(drop, above.joint.size, CHUNK, doing))
        return Level(size, level.here, above, alive) if some else None
