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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import MEMORY_LIMIT
from extbnsl.core.events import StageAdvanced
from extbnsl.kernels.ranks import BLOCK, binomial_table, rank_of
from extbnsl.kernels.varsets import as_varsets, pack
from extbnsl.machine.workers import Stopped
from extbnsl.parents.best_score import by_bytes, byte_tables
from extbnsl.parents.exhaustive.lattice import (
    Counts,
    Rules,
    drop_hopeless,
    judge_families,
    judge_last,
    next_alive,
)
from extbnsl.parents.exhaustive.marking import mark_needed, needed_by_required, set_ranks
from extbnsl.parents.exhaustive.problem import CountingProblem
from extbnsl.parents.exhaustive.state import Enumeration, Filled, Level, Means
from extbnsl.parents.pruning import merged
from extbnsl.scores.counting import CountingTable, count
from extbnsl.scores.determinants import Moments, determine
from extbnsl.scores.formula import figures_of
from extbnsl.scores.tallies import figures_of_cells, fill

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

Steps = Generator[Enumeration, None, Enumeration]  # what is known ever more of, and in the end
Candidates = tuple[NDArray[np.uint64], NDArray[np.uint16], NDArray[np.float64]]  # varset, child, cost of each


def judge_by_level(problem: CountingProblem, found: Enumeration, means: Means, levels: int | None = None) -> Steps:
    """`found` with ever more parent sets judged, level by level until none can win, or those of at most `levels`
    variables are judged. Stopped if the shelf has no room for the next level.

    What lasts lies on the shelf: 8 to 8 + 16 w bytes per varset that is needed of the largest two levels but the last
    (w words to a varset), a quarter of a byte for each, needed or not, and the families; they are read in nearly
    ascending order, so that they may well be on disk; what does not last takes as much memory again. Time: a few
    hundred ns per varset that is needed, some 10 ns per family, and for a varset that is not needed between 0.02 ns and
    some 10 ns, as its neighbours are.
    """
    if found.level is None:
        found = replace(found, level=lowest_level(problem))
    return _Counting(problem, rules_of(problem), means).judged(found, levels)


def rules_of(problem: CountingProblem) -> Rules:
    """What decides which families of the problem are wanted, as kernels take it."""
    binomials = binomial_table(problem.limits.size, int(problem.limits.max()) + 1)
    shared = problem.table.arities, problem.limits, problem.floors, binomials, problem.slack
    must = problem.required
    pairs = as_varsets(problem.allowed), as_varsets(must), must.sum(axis=0), bool(must.any())
    return Rules(problem.parameter, *shared, *pairs, problem.factors, problem.step, problem.form)


def lowest_level(problem: CountingProblem) -> Level:
    """The empty parent set, which every child may have that does without parents."""
    table, joint = problem.table, np.zeros(1)
    if isinstance(table, CountingTable):
        together = np.bincount(table.base, table.weights).astype(np.int64)
        form = problem.form
        joint = table.mlogm[together].sum()[None] if form is None else figures_of_cells(together, form)
    total = Counts(np.array([[1, 0]], np.uint64), joint)
    free = (problem.limits >= 0) & ~problem.required.any(axis=0)
    return Level(0, total, total, pack(np.flatnonzero(free).tolist(), free.size)[None, :])


@dataclass(frozen=True)
class _Counting:
    """The steps of one level; every array that is as long as a level is made task by task."""

    problem: CountingProblem
    rules: Rules
    means: Means

    def judged(self, found: Enumeration, levels: int | None) -> Steps:
        """`found` with ever more levels judged; the last is ready for the next level, or done."""
        largest = largest_size(self.problem)
        while not found.done and (levels is None or found.complete_to < levels):
            level = _level(found)
            if level.size >= largest:
                found = yield from self._judge_last(found)
                following = None
            else:
                if level.places is None:
                    found = self._begun(found)
                self._need_rest(_level(found))
                found = yield from self._count(found)
                found = yield from self._judge(found)
                found = yield from self._ready(found)
                following = self._next_level(found)
            self.means.observer(size_judged(found.varsets, level.size, largest))
            found = replace(found, complete_to=level.size, level=following, done=following is None)
            yield found
        return found

    def _tell(self, share: float, size: int, step: int, part: int = 0, parts: int = 1) -> None:
        """Tell the observer that the parent sets of `size` are at a step, of a part of which so much is done."""
        largest = largest_size(self.problem)
        steps = STEPS if size < largest else STEPS[: COUNT + 1]
        done = (sum(steps[:step]) + (part + share) / parts * steps[step]) / sum(steps)
        detail = size_of_at_most(size, largest)
        self.means.observer(StageAdvanced("scores", int(FINENESS * done), FINENESS, "", detail=detail))

    def _each(
        self, task: Callable, first: int, total: int, most: int, shared: tuple, told: tuple[int, ...]
    ) -> Iterator[Any]:
        """(lo, hi, task(lo, hi, *shared)) for ranges of at most so many that cover [first, total), in their order.

        told: what the observer is told of beside the share that is done; see `_tell`.
        """
        most = max(1, most)
        firsts = range(first, total, most)
        arguments = ((lo, min(lo + most, total), *shared) for lo in firsts)
        results = self.means.workers.stream(task, arguments, AHEAD * self.means.workers.threads, lambda result: None)
        for number, (lo, result) in enumerate(zip(firsts, results, strict=True)):
            if number % TOLD == 0:
                self._tell(lo / total, *told)
            yield lo, min(lo + most, total), result

    def _need(self, size: int) -> None:
        """Stop unless the shelf has room for so many bytes more."""
        if not self.means.shelf.fits(size):
            raise Stopped(MEMORY_LIMIT)

    def _need_rest(self, level: Level) -> None:
        """Stop unless the shelf has room for the columns of this level that are not there yet."""
        row = level.alive.shape[1] * level.alive.itemsize
        extend = 0 if level.extend is not None else level.alive.nbytes
        following = 0 if level.following is not None else row * level.above.joint.shape[0]
        self._need(extend + following)

    def _begun(self, found: Enumeration) -> Enumeration:
        """`found` with the places of the varsets one larger that are needed, and a column for T, or the figures, of
        them."""
        level, form = _level(found), self.problem.form
        places = self._mark(level, last=False)
        shape = (_needed(places),) if form is None else (_needed(places), figures_of(form, level.size + 1))
        self._need(8 * math.prod(shape))
        return _with(found, places=places, joint=Filled(self.means.shelf.column(shape, np.float64), 0))

    def _mark(self, level: Level, last: bool) -> NDArray[np.uint64]:
        """The places of the varsets one larger that are needed: the families of children that are alive, and the parent
        sets of the next level."""
        size, rules = level.size + 1, self.rules
        ranks = int(rules.binomials[-1, size])
        blocks = -(-ranks // BLOCK)
        self._need((24 if rules.some_required else 16) * blocks)
        column, needed = self.means.shelf.column((blocks, 2), np.uint64), 0
        within = pack(np.flatnonzero((rules.limits >= size) & (not last)).tolist(), rules.limits.size)
        more = self._marked_by_required(level, last, blocks)
        shared = size, level.alive, level.here.places, within, more, rules.binomials
        for lo, _, own in self._each(_mark, 0, ranks, BLOCK * MARKED_BLOCKS, shared, (level.size, MARK)):
            marked = _needed(own)
            column.fill(lo // BLOCK, own + np.array([0, needed], np.uint64))
            needed += marked
            self.means.shelf.touched(8 * size * marked + own.nbytes)
        return column.array()

    def _marked_by_required(self, level: Level, last: bool, blocks: int) -> NDArray[np.uint64] | None:
        """Bits in blocks of 64 ranks for the varsets one larger that children need which must have parents, None if
        there are no such children. One that must have as many has these for its first parent set."""
        size = level.size + 1
        if not self.rules.some_required:
            return None
        marked = np.zeros(blocks, np.uint64)
        if not last:
            born = np.flatnonzero((self.rules.required == size) & (self.problem.limits >= size))
            firsts = (np.flatnonzero(self.problem.required[:, x]) for x in born)
            set_ranks(np.array([rank_of(own, self.rules.binomials) for own in firsts], np.int64), marked)
        shared, total = (size, level.alive, level.here.places, not last, self.rules), level.alive.shape[0]
        for _, _, ranks in self._each(needed_by_required, 0, total, CHUNK, shared, (level.size, MARK)):
            set_ranks(ranks, marked)
        return marked

    def _judge_last(self, found: Enumeration) -> Steps:
        """`found` with ever more of the largest parent sets judged.

        T of the varsets one larger is not kept: what a task counts it judges.
        """
        level, table = _level(found), self.problem.table
        places = self._mark(level, last=True) if level.places is None else level.places
        found = _with(found, places=places)
        size, candidate, total = level.size + 1, CANDIDATE_BYTES + 8 * level.alive.shape[1], _needed(places)
        shared = size, places, level.alive, (level.below, level.here), self.rules, table
        most, told = min(_counted_at_once(table), JUDGED_BYTES // (candidate * size)), (level.size, COUNT)
        waiting: list[Candidates] = []
        for lo, hi, candidates in self._each(_count_and_judge, found.parts, total, most, shared, told):
            self.means.shelf.touched(32 * size * (hi - lo))
            waiting.append(candidates)
            held = candidate * sum(costs.size for _, _, costs in waiting)
            if held and len(waiting) < MERGED and held <= self.means.shelf.memory // 4:
                continue
            found = replace(self._extended(found, waiting), varsets=found.varsets + hi - found.parts, parts=hi)
            waiting = []
            yield found
        return replace(self._extended(found, waiting), varsets=found.varsets + total - found.parts, parts=0)

    def _count(self, found: Enumeration) -> Steps:
        """`found` with T of ever more of the varsets one larger that are needed."""
        level, table = _level(found), self.problem.table
        joint = level.joint
        assert joint is not None, "a column to count into"
        shared, told = (level.size + 1, level.places, level.here, self.rules, table), (level.size, COUNT)
        for lo, hi, own in self._each(_count_joint, joint.rows, joint.length, _counted_at_once(table), shared, told):
            self.means.shelf.touched(2 * own.nbytes)
            found = replace(_with_rows(found, "joint", lo, own), varsets=found.varsets + hi - lo)
            yield found
        return found

    def _judge(self, found: Enumeration) -> Steps:
        """`found` with ever more parent sets of its level judged: those that win so far are among the families, and
        `extend` has the children for which they may be extended."""
        level = _level(found)
        total, width = level.alive.shape
        extend = level.extend or Filled(self.means.shelf.column((total, width), np.uint64), 0)
        found = _with(found, extend=extend)
        shared = level.size, level.alive, (level.below, level.here, level.above), self.rules
        waiting: list[Candidates] = []
        size, candidate, told = 0, CANDIDATE_BYTES + 8 * width, (level.size, JUDGE)
        most = min(CHUNK, JUDGED_BYTES // (candidate * self.problem.limits.size))
        for lo, hi, (own, candidates) in self._each(_judge, extend.rows, total, most, shared, told):
            extend.column.fill(lo, own)
            self.means.shelf.touched(24 * (level.size + 1) * (hi - lo))
            waiting.append(candidates)
            size += candidate * candidates[1].size
            if hi < total and size <= self.means.shelf.memory // 4:
                continue
            found = _with(self._extended(found, waiting), extend=Filled(extend.column, hi))
            waiting, size = [], 0
            if hi < total:  # the whole of it is looked at with the next step
                yield found
        return found

    def _extended(self, found: Enumeration, candidates: list[Candidates]) -> Enumeration:
        """`found` with the candidates merged in; those that are not wanted are dropped."""
        if not candidates:
            return found
        varsets, owners, costs = (np.concatenate([c[k] for c in candidates]) for k in range(3))
        parents, all_costs = list(found.parents), list(found.costs)
        children = np.unique(owners).tolist()
        chosen = (owners == child for child in children)
        arguments = (
            ((parents[child], all_costs[child]), (varsets[own], costs[own]), self.rules.slack, self.means.workers.halt)
            for child, own in zip(children, chosen, strict=True)
        )
        joined = self.means.workers.stream(merged, arguments, self.means.workers.threads, lambda families: None)
        for child, families in zip(children, joined, strict=True):
            parents[child], all_costs[child] = map(self.means.shelf.put, families)
        return replace(found, parents=tuple(parents), costs=tuple(all_costs), families=found.families + int(costs.size))

    def _ready(self, found: Enumeration) -> Steps:
        """`found` with the children alive at ever more varsets of the next level, as far as entropies tell."""
        level = _level(found)
        assert level.extend is not None, "all parent sets of the level are judged"
        extend, above = level.extend.column.array(), level.above
        if self.rules.form is not None:
            self._drop(found, level.extend, level.size, (level.here, above))
        total, width = above.joint.shape[0], extend.shape[1]
        following = level.following or Filled(self.means.shelf.column((total, width), np.uint64), 0)
        found = _with(found, following=following)
        shared = level.size + 1, extend, level.here, above, self.rules, self.rules.form
        for lo, hi, own in self._each(_ready, following.rows, total, _rows(width), shared, (level.size, READY)):
            self.means.shelf.touched(32 * (level.size + 1) * (hi - lo))
            found = _with_rows(found, "following", lo, own)
            yield found
        return found

    def _next_level(self, found: Enumeration) -> Level | None:
        """What goes on with the next size of parent sets; None if no child is alive then, or must have more parents."""
        level = _level(found)
        following, above, size = level.following, level.above, level.size + 1
        assert following is not None, "the next level is ready"
        if following.rows == 0:
            some = False
        elif self.rules.form is None:
            some = self._drop(found, following, size, (above, above))
        else:
            alive, most = following.column.array(), 1 << 20
            some = any(alive[lo : lo + most].any() for lo in range(0, alive.shape[0], most))
        some = some or bool((self.rules.required > size).any())
        return Level(size, level.here, above, following.column.array()) if some else None

    def _drop(self, found: Enumeration, filled: Filled, size: int, counts: tuple[Counts, Counts]) -> bool:
        """Drop children from rows of the column of the varsets of `size`, in place, by their families; returns whether
        any is left. counts: see `drop_hopeless`. Whoever does it again, because this was cut short, drops the same."""
        array, some, own_size = filled.column.array(), False, _level(found).size
        groups = by_bytes(found.costs, self.problem.limits.size, self.means.shelf.memory // 2)
        for number, children in enumerate(groups):
            tables = byte_tables([found.parents[x] for x in children], [found.costs[x] for x in children])
            shared, some = (size, np.array(children), counts, self.rules, tables, array), False
            told, total = (own_size, DROP, number, len(groups)), array.shape[0]
            for lo, hi, own in self._each(_drop, 0, total, _rows(array.shape[1]), shared, told):
                filled.column.fill(lo, own)
                self.means.shelf.touched(8 * (hi - lo))
                some = some or bool(own.any())
        return some


# Kernels as tasks: other processes find a function by its name; of a kernel they would get the code, to compile.


def _mark(*given: Any) -> Any:
    return mark_needed(*given)


def _judge(*given: Any) -> Any:
    return judge_families(*given)


def _ready(*given: Any) -> Any:
    return next_alive(*given)


def _drop(*given: Any) -> Any:
    return drop_hopeless(*given)


def _count_joint(
    lo: int,
    hi: int,
    size: int,
    places: NDArray[np.uint64],
    below: Counts,
    rules: Rules,
    table: CountingTable | Moments,
) -> NDArray[np.float64]:
    """T, or the figures, of the varsets of `size` at these places; below: the counts of one size less."""
    own = np.empty(hi - lo if rules.form is None else (hi - lo, figures_of(rules.form, size)))
    if isinstance(table, Moments):
        determine(size, lo, places, rules.binomials, table, own)
    elif rules.form is None:
        count(size, lo, places, rules.binomials, table, own)
    else:
        fill(size, lo, places, below, rules.binomials, table, rules.form, own)
    return own


def _count_and_judge(
    lo: int,
    hi: int,
    size: int,
    places: NDArray[np.uint64],
    alive: NDArray[np.uint64],
    counts: tuple[Counts, Counts],
    rules: Rules,
    table: CountingTable | Moments,
) -> Candidates:
    """The families (X, Q - X) of the varsets Q of `size` at these places that win so far.

    places: of the varsets of `size`; counts: of level size - 2 and of level size - 1, to which `alive` belongs.
    """
    joint = _count_joint(lo, hi, size, places, counts[1], rules, table)
    found: Candidates = judge_last(lo, hi, size, alive, (*counts, Counts(places, joint)), rules)
    return found


def largest_size(problem: CountingProblem) -> int:
    """The largest size of a parent set that may win."""
    return min(int(problem.limits.max()), problem.limits.size - 1)


def size_of_at_most(size: int, largest: int) -> str:
    """Which parent sets it is about, for people."""
    return f"parent sets of size {size} of at most {largest}"


def size_judged(varsets: int, size: int, largest: int) -> StageAdvanced:
    """The event that all parent sets of a size are judged, with so many varsets counted in all."""
    return StageAdvanced("scores", varsets, 0, "sets counted", size, f"{size_of_at_most(size, largest)} done")


def _level(found: Enumeration) -> Level:
    """The level of an enumeration that is being judged."""
    assert found.level is not None, "an enumeration that is not done has a level to go on with"
    return found.level


def _with(found: Enumeration, **known: Any) -> Enumeration:
    """`found` with this in place of what was known of the next level."""
    return replace(found, level=replace(_level(found), **known))


def _with_rows(found: Enumeration, name: str, first: int, rows: NDArray) -> Enumeration:
    """`found` with these rows, from `first` on, in the column of this name of what is known of the next level."""
    column = getattr(_level(found), name).column
    column.fill(first, rows)
    return _with(found, **{name: Filled(column, first + rows.shape[0])})


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
