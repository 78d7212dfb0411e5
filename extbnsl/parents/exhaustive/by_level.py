"""The surviving families of a data set: every parent set that could win, or is within the slack, and no other.

Level by level over the size of the parent sets: mark the varsets that some child still needs, count them, cost the
families, keep the cheapest, and decide which children are still alive at the next level. The table of joint entropies
is shared by all children; the last level, mostly the largest, needs none, see `judge_last`. Malone et al. 2011, Section
4, counts every family within Tian's limit instead.

Every step fills a column from its first row on, task by task. What is known after each task is a value from which the
enumeration can go on.
"""

import math
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import DISK_LIMIT, MEMORY_LIMIT
from extbnsl.core.errors import BudgetError
from extbnsl.core.events import Observer, StageAdvanced
from extbnsl.files.shelf import Shelf
from extbnsl.kernels.ranks import BLOCK, binomial_table, rank_of
from extbnsl.kernels.varsets import as_varsets, pack
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.best_score import by_bytes, byte_tables
from extbnsl.parents.exhaustive import tasks
from extbnsl.parents.exhaustive.lattice import Counts, Required, Rules
from extbnsl.parents.exhaustive.marking import needed_by_required, set_ranks
from extbnsl.parents.exhaustive.problem import CountingProblem
from extbnsl.parents.exhaustive.state import Begun, Enumeration, Filled, Level, start_enumeration
from extbnsl.parents.pruning import merged
from extbnsl.scores.counting import CountingTable
from extbnsl.scores.determinants import Moments
from extbnsl.scores.formula import figures_of
from extbnsl.scores.tallies import figures_of_cells

CHUNK = 1 << 14  # varsets of one task
MARKED_BLOCKS = 4096  # of 64 ranks each, of one task
AHEAD = 8  # tasks per thread that wait at a time
TOLD = 64  # tasks between two words to the observer
TASK_BYTES = 1 << 20  # of the rows that a task may make
JUDGED_BYTES = 8 << 20  # of the room for families that a task may find, as if all won: few do
MERGED = 256  # tasks of the last level after which what they have found joins the families
CANDIDATE_BYTES = 10  # of a family that is not in its child's list yet, beside its parents
ENTRIES_PER_TASK = 40_000_000  # rows, or covariances, times varsets that a task may touch: a fraction of a second

MARK, COUNT, JUDGE, READY, DROP = range(5)  # the steps of a size of parent sets; the last size has the first two
STEPS = (5, 40, 15, 10, 30)  # the shares of its time that they take, about: measured on wdbc and spectf
FINENESS = 1000  # of the share that is told

OnProgress = Callable[[Enumeration], None]
Steps = Generator[Enumeration, None, Enumeration]  # what is known ever more of, and in the end


def enumerate_families(
    problem: CountingProblem,
    workers: Workers,
    shelf: Shelf,
    observer: Observer,
    begun: Enumeration | None = None,
    on_progress: OnProgress = lambda found: None,
    levels: int | None = None,
) -> Enumeration:
    """Judge parent sets level by level until none can win, those of at most `levels` variables are judged, or the shelf
    has no room for the next level.

    Goes on from `begun`. on_progress gets what is known, often; it may raise Stopped. What lasts lies on the shelf: 8
    to 8 + 16 w bytes per varset that is needed of the largest two levels but the last (w words to a varset), a quarter
    of a byte for each, needed or not, and the families; they are read in nearly ascending order, so that they may well
    be on disk; what does not last takes as much memory again. Time: a few hundred ns per varset that is needed, some 10
    ns per family, and for a varset that is not needed between 0.02 ns and some 10 ns, as its neighbours are.
    """
    n = problem.limits.size
    counting = _Counting(problem, rules_of(problem), workers, shelf, observer)
    found = begun or start_enumeration(n)
    if found.level is None:
        found = replace(found, level=lowest_level(problem))
    try:
        while not found.done and (levels is None or found.complete_to < levels):
            for known in counting.judge_level(found):
                found = known
                on_progress(found)
    except Stopped as stop:
        return replace(found, stopped=stop.reason)
    except BudgetError:
        return replace(found, stopped=DISK_LIMIT)
    return found


def rules_of(problem: CountingProblem) -> Rules:
    """What decides which families of the problem are wanted, as kernels take it."""
    binomials = binomial_table(problem.limits.size, int(problem.limits.max()) + 1)
    may, must = as_varsets(problem.allowed), problem.required
    required = Required(bool(must.any()), must.sum(axis=0), as_varsets(must))
    shared = problem.table.arities, problem.limits, problem.floors, binomials, problem.slack, may, required
    return Rules(problem.parameter, *shared, problem.factors, problem.step, problem.form)


def lowest_level(problem: CountingProblem) -> Level:
    """The empty parent set, which every child may have that does without parents."""
    n = problem.limits.size
    total = Counts(np.array([[1, 0]], np.uint64), _of_nothing(problem))
    free = (problem.limits >= 0) & ~problem.required.any(axis=0)
    return Level(0, total, total, pack(np.flatnonzero(free).tolist(), n)[None, :])


def _of_nothing(problem: CountingProblem) -> NDArray[np.float64]:
    """T, or the figures, of the empty varset."""
    table = problem.table
    if isinstance(table, Moments):
        return np.zeros(1)
    together = np.bincount(table.base, table.weights).astype(np.int64)
    return table.mlogm[together].sum()[None] if problem.form is None else figures_of_cells(together, problem.form)


@dataclass(frozen=True)
class _Counting:
    """The steps of one level; every array that is as long as a level is made task by task."""

    problem: CountingProblem
    rules: Rules
    workers: Workers
    shelf: Shelf
    observer: Observer

    @property
    def largest(self) -> int:
        """The largest size of a parent set that may win."""
        return largest_size(self.problem)

    def judge_level(self, found: Enumeration) -> Iterator[Enumeration]:
        """`found` with ever more of one level judged; the last is ready for the next level, or done.

        Stopped if the shelf has no room for what that takes.
        """
        level = found.level
        assert level is not None, "an enumeration that is not done has a level to go on with"
        if level.size >= self.largest:
            yield from self._judge_last(found)
            return
        begun = level.begun or self._begun(level)
        self._need_rest(level, begun)
        found = yield from self._count(found, level, begun)
        found = yield from self._judge(found)
        found = yield from self._ready(found)
        following = self._next_level(found)
        self.observer(size_judged(found.varsets, level.size, self.largest))
        yield replace(found, complete_to=level.size, level=following, done=following is None)

    def _tell(self, size: int, step: int, share: float, part: int = 0, parts: int = 1) -> None:
        """Tell the observer that the parent sets of `size` are at a step, of a part of which so much is done."""
        steps = STEPS if size < self.largest else STEPS[: COUNT + 1]
        done = (sum(steps[:step]) + (part + share) / parts * steps[step]) / sum(steps)
        detail = size_of_at_most(size, self.largest)
        self.observer(StageAdvanced("scores", int(FINENESS * done), FINENESS, "", detail=detail))

    def _each(
        self, task: Callable, first: int, total: int, most: int, shared: tuple, tell: Callable[[float], None]
    ) -> Iterator[Any]:
        """(lo, hi, task(lo, hi, *shared)) for ranges of at most so many that cover [first, total), in their order.

        `tell` hears which share of it is done.
        """
        most = max(1, most)
        ranges = ((lo, min(lo + most, total)) for lo in range(first, total, most))
        arguments = ((lo, hi, *shared) for lo, hi in ranges)
        results = self.workers.stream(task, arguments, AHEAD * self.workers.threads, lambda result: None)
        for number, result in enumerate(results):
            lo = first + number * most
            if number % TOLD == 0:
                tell(lo / total)
            yield lo, min(lo + most, total), result

    def _need(self, size: int) -> None:
        """Stop unless the shelf has room for so many bytes more."""
        if not self.shelf.fits(size):
            raise Stopped(MEMORY_LIMIT)

    def _need_rest(self, level: Level, begun: Begun) -> None:
        """Stop unless the shelf has room for the columns of this level that are not there yet."""
        row = level.alive.shape[1] * level.alive.itemsize
        extend = 0 if begun.extend is not None else level.alive.nbytes
        following = 0 if begun.following is not None else row * _needed(begun.places)
        self._need(extend + following)

    def _begun(self, level: Level) -> Begun:
        """The places of the varsets one larger that are needed, and a column for T, or the figures, of them."""
        places = self._mark(level, last=False)
        needed, form = _needed(places), self.problem.form
        shape = (needed,) if form is None else (needed, figures_of(form, level.size + 1))
        self._need(8 * math.prod(shape))
        return Begun(places, Filled(self.shelf.column(shape, np.float64), 0))

    def _mark(self, level: Level, last: bool) -> NDArray[np.uint64]:
        """The places of the varsets one larger that are needed: the families of children that are alive, and the parent
        sets of the next level."""
        size = level.size + 1
        blocks = -(-int(self.rules.binomials[-1, size]) // BLOCK)
        self._need((24 if self.rules.required.some else 16) * blocks)
        column, needed = self.shelf.column((blocks, 2), np.uint64), 0
        more = self._marked_by_required(level, last, blocks)
        shared = size, level.alive, level.here, not last, more, self.rules
        tell = partial(self._tell, level.size, MARK)
        for lo, _, (own, marked) in self._each(tasks.mark, 0, blocks, MARKED_BLOCKS, shared, tell):
            own[:, 1] += np.uint64(needed)
            column.fill(lo, own)
            needed += marked
            self.shelf.touched(8 * size * marked + own.nbytes)
        return column.array()

    def _marked_by_required(self, level: Level, last: bool, blocks: int) -> NDArray[np.uint64] | None:
        """Bits in blocks of 64 ranks for the varsets one larger that children need which must have parents, None if
        there are no such children. One that must have as many has these for its first parent set."""
        required, size = self.rules.required, level.size + 1
        if not required.some:
            return None
        marked = np.zeros(blocks, np.uint64)
        if not last:
            born = np.flatnonzero((required.least == size) & (self.problem.limits >= size))
            firsts = (np.flatnonzero(self.problem.required[:, x]) for x in born)
            set_ranks(np.array([rank_of(own, self.rules.binomials) for own in firsts], np.int64), marked)
        shared = size, level.alive, level.here.places, not last, self.rules
        tell = partial(self._tell, level.size, MARK)
        for _, _, ranks in self._each(needed_by_required, 0, level.alive.shape[0], CHUNK, shared, tell):
            set_ranks(ranks, marked)
        return marked

    def _judge_last(self, found: Enumeration) -> Iterator[Enumeration]:
        """`found` with ever more of the largest parent sets judged; in the end it is done.

        T of the varsets one larger is not kept: what a task counts it judges.
        """
        level, table = found.level, self.problem.table
        assert level is not None, "the last level"
        places = self._mark(level, last=True) if level.begun is None else level.begun.places
        found = replace(found, level=replace(level, begun=Begun(places)))
        size, candidate, total = level.size + 1, CANDIDATE_BYTES + 8 * level.alive.shape[1], _needed(places)
        shared = size, places, level.alive, (level.below, level.here), self.rules, table
        most = min(_counted_at_once(table), JUDGED_BYTES // (candidate * size))
        waiting: list[tasks.Candidates] = []
        for lo, hi, candidates in self._each(
            tasks.count_and_judge, found.parts, total, most, shared, partial(self._tell, level.size, COUNT)
        ):
            self.shelf.touched(32 * size * (hi - lo))
            waiting.append(candidates)
            held = candidate * sum(costs.size for _, _, costs in waiting)
            if held and len(waiting) < MERGED and held <= self.shelf.memory // 4:
                continue
            found = replace(self._extended(found, waiting), varsets=found.varsets + hi - found.parts, parts=hi)
            waiting = []
            yield found
        found = replace(self._extended(found, waiting), varsets=found.varsets + total - found.parts, parts=0)
        self.observer(size_judged(found.varsets, level.size, self.largest))
        yield replace(found, complete_to=level.size, level=None, done=True)

    def _count(self, found: Enumeration, level: Level, begun: Begun) -> Steps:
        """`found` with T of ever more of the varsets one larger that are needed."""
        size, table, joint = level.size + 1, self.problem.table, begun.joint
        assert joint is not None, "a column to count into"
        found = replace(found, level=replace(level, begun=begun))
        before = found.varsets - joint.rows
        shared = size, begun.places, level.here, self.rules, table
        most = _counted_at_once(table)
        tell, total = partial(self._tell, level.size, COUNT), joint.column.array().shape[0]
        for lo, hi, own in self._each(tasks.count_joint, joint.rows, total, most, shared, tell):
            joint.column.fill(lo, own)
            self.shelf.touched(2 * own.nbytes)
            begun = replace(begun, joint=Filled(joint.column, hi))
            found = replace(found, varsets=before + hi, level=replace(level, begun=begun))
            yield found
        return found

    def _judge(self, found: Enumeration) -> Steps:
        """`found` with ever more parent sets of its level judged: those that win so far are among the families, and
        `extend` has the children for which they may be extended."""
        level, begun = _under_way(found)
        total, width = level.alive.shape
        extend = begun.extend or Filled(self.shelf.column((total, width), np.uint64), 0)
        shared = level.size, level.alive, (level.below, level.here, _above(begun)), self.rules
        waiting: list[tasks.Candidates] = []
        size, candidate = 0, CANDIDATE_BYTES + 8 * width
        most = min(CHUNK, JUDGED_BYTES // (candidate * self.problem.limits.size))
        tell = partial(self._tell, level.size, JUDGE)
        for lo, hi, (own, candidates) in self._each(tasks.judge, extend.rows, total, most, shared, tell):
            extend.column.fill(lo, own)
            self.shelf.touched(24 * (level.size + 1) * (hi - lo))
            waiting.append(candidates)
            size += candidate * candidates[1].size
            if size > self.shelf.memory // 4:
                found, waiting, size = self._extended(found, waiting), [], 0
                begun = replace(begun, extend=Filled(extend.column, hi))
                found = replace(found, level=replace(level, begun=begun))
                yield found
        begun = replace(begun, extend=Filled(extend.column, total))
        return replace(self._extended(found, waiting), level=replace(level, begun=begun))

    def _extended(self, found: Enumeration, candidates: list[tasks.Candidates]) -> Enumeration:
        """`found` with the candidates merged in; those that are not wanted are dropped."""
        if not candidates:
            return found
        varsets, owners, costs = (np.concatenate([c[k] for c in candidates]) for k in range(3))
        parents, all_costs = list(found.parents), list(found.costs)
        children = np.unique(owners).tolist()
        chosen = (owners == child for child in children)
        arguments = (
            ((parents[child], all_costs[child]), (varsets[own], costs[own]), self.rules.slack, self.workers.halt)
            for child, own in zip(children, chosen, strict=True)
        )
        joined = self.workers.stream(merged, arguments, self.workers.threads, lambda families: None)
        for child, families in zip(children, joined, strict=True):
            parents[child], all_costs[child] = map(self.shelf.put, families)
        return replace(found, parents=tuple(parents), costs=tuple(all_costs), families=found.families + int(costs.size))

    def _ready(self, found: Enumeration) -> Steps:
        """`found` with the children alive at ever more varsets of the next level, as far as entropies tell."""
        level, begun = _under_way(found)
        assert begun.extend is not None, "all parent sets of the level are judged"
        extend, above = begun.extend.column.array(), _above(begun)
        if self.rules.form is not None:
            self._drop(found, begun.extend, level.size, level.here, above)
        total, width = above.joint.shape[0], extend.shape[1]
        following = begun.following or Filled(self.shelf.column((total, width), np.uint64), 0)
        found = replace(found, level=replace(level, begun=replace(begun, following=following)))
        shared = level.size + 1, extend, level.here, above, self.rules
        most, tell = _rows(width), partial(self._tell, level.size, READY)
        for lo, hi, own in self._each(tasks.ready, following.rows, total, most, shared, tell):
            following.column.fill(lo, own)
            self.shelf.touched(32 * (level.size + 1) * (hi - lo))
            begun = replace(begun, following=Filled(following.column, hi))
            found = replace(found, level=replace(level, begun=begun))
            yield found
        return found

    def _next_level(self, found: Enumeration) -> Level | None:
        """What goes on with the next size of parent sets; None if no child is alive then, or must have more parents."""
        level, begun = _under_way(found)
        following = begun.following
        assert following is not None, "the next level is ready"
        size, above = level.size + 1, _above(begun)
        if following.rows == 0:
            some = False
        elif self.rules.form is None:
            some = self._drop(found, following, size, above, above)
        else:
            alive, most = following.column.array(), 1 << 20
            some = any(alive[lo : lo + most].any() for lo in range(0, alive.shape[0], most))
        some = some or bool((self.rules.required.least > size).any())
        return Level(size, level.here, above, following.column.array()) if some else None

    def _drop(self, found: Enumeration, filled: Filled, size: int, counts: Counts, above: Counts) -> bool:
        """Drop children from rows of the column of the varsets of `size`, in place, by their families; returns whether
        any is left. Whoever does it again, because this was cut short, drops the same."""
        column, array, some = filled.column, filled.column.array(), False
        groups = by_bytes(found.costs, self.problem.limits.size, self.shelf.memory // 2)
        for number, children in enumerate(groups):
            tables = byte_tables([found.parents[x] for x in children], [found.costs[x] for x in children])
            shared, some = (size, np.array(children), counts, above, self.rules, tables, array), False
            tell = partial(self._tell, _under_way(found)[0].size, DROP, part=number, parts=len(groups))
            for lo, hi, own in self._each(tasks.drop, 0, array.shape[0], _rows(array.shape[1]), shared, tell):
                column.fill(lo, own)
                self.shelf.touched(8 * (hi - lo))
                some = some or bool(own.any())
        return some


def largest_size(problem: CountingProblem) -> int:
    """The largest size of a parent set that may win."""
    return min(int(problem.limits.max()), problem.limits.size - 1)


def size_of_at_most(size: int, largest: int) -> str:
    """Which parent sets it is about, for people."""
    return f"parent sets of size {size} of at most {largest}"


def size_judged(varsets: int, size: int, largest: int) -> StageAdvanced:
    """The event that all parent sets of a size are judged, with so many varsets counted in all."""
    return StageAdvanced("scores", varsets, 0, "sets counted", size, f"{size_of_at_most(size, largest)} done")


def _under_way(found: Enumeration) -> tuple[Level, Begun]:
    """The level of an enumeration that is being judged, and what is known of the next."""
    assert found.level is not None, "a level is being judged"
    assert found.level.begun is not None, "its next one is being counted"
    return found.level, found.level.begun


def _above(begun: Begun) -> Counts:
    """The counts of the next level, all of which are known."""
    assert begun.joint is not None, "its varsets are counted"
    return Counts(begun.places, begun.joint.column.array())


def _needed(places: NDArray[np.uint64]) -> int:
    """How many varsets are present."""
    return int(places[-1, 1]) + int(np.bitwise_count(places[-1, 0]))


def _counted_at_once(table: CountingTable | Moments) -> int:
    """How many varsets a task may count, if each looks at all rows of the table, or eliminates a variable."""
    entries = table.weights.size if isinstance(table, CountingTable) else table.least.size**2 // 4
    return min(CHUNK, max(64, ENTRIES_PER_TASK // max(1, entries)))


def _rows(width: int) -> int:
    """How many varsets of so many words a task may make."""
    return min(CHUNK, TASK_BYTES // (8 * width))
