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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import MEMORY_LIMIT
from extbnsl.core.events import StageAdvanced
from extbnsl.kernels.ranks import BLOCK, binomial_table, rank_of
from extbnsl.kernels.varsets import as_varsets
from extbnsl.machine.workers import Stopped
from extbnsl.parents.best_score import by_bytes, byte_tables
from extbnsl.parents.exhaustive.hopeless import drop_hopeless
from extbnsl.parents.exhaustive.lattice import (
    Counts,
    Rules,
    judge_families,
    judge_last,
    next_alive,
)
from extbnsl.parents.exhaustive.marking import mark_needed, needed_by_children, set_ranks
from extbnsl.parents.exhaustive.pace import LAST_STEPS, STEPS, Pace
from extbnsl.parents.exhaustive.problem import CountingProblem
from extbnsl.parents.exhaustive.state import Enumeration, Filled, Level, Means
from extbnsl.parents.pruning import merged
from extbnsl.scores.counting import CountingTable, Space, count, counting_space
from extbnsl.scores.formula import figures_of

if TYPE_CHECKING:
    from extbnsl.scores.determinants import Moments

CHUNK = 1 << 14  # varsets of one task
MARKED_BLOCKS = 4096  # of 64 ranks each, of one task
AHEAD = 8  # tasks per thread that wait at a time
TOLD = 64  # tasks between two words to the observer
TASK_WORDS = 1 << 17  # of the rows that a task may make
JUDGED_BYTES = 8 << 20  # of the room for families that a task may find, as if all won: few do
MERGED = 256  # tasks of the last level after which what they have found joins the families
CANDIDATE_BYTES = 10  # of a family that is not in its child's list yet, beside its parents
FEW = 1 / 32  # children alive for each rank above: if fewer, it takes less to go through them than through the ranks
ENTRIES_PER_TASK = 40_000_000  # rows, or covariances, times varsets that a task may touch: a fraction of a second

MARK, COUNT, JUDGE, READY, DROP = range(5)  # the steps of a size of parent sets, as of pace.STEPS
FINENESS = 1000  # of the share that is told

Steps = Generator[Enumeration, None, Enumeration]  # what is known ever more of, and in the end
Step = Generator[Enumeration, None, tuple[Enumeration, Level]]  # the same with the level
Bits = NDArray[np.uint64]
Candidates = tuple[NDArray[np.uint64], NDArray[np.uint16], NDArray[np.float64]]  # varset, child, cost of each


def judge_by_level(problem: CountingProblem, found: Enumeration, means: Means, levels: int | None = None) -> Steps:
    """`found` with ever more parent sets judged, level by level until none can win, or those of at most `levels`
    variables are judged; the last is ready for the next level, or done. Stopped if the shelf has no room for the next
    level.

    What lasts lies on the shelf: 8 to 8 + 16 w bytes per varset that is needed of the largest two levels but the last
    (w words to a varset), a quarter of a byte for each, needed or not, and the families; they are read in nearly
    ascending order, so that they may well be on disk; what does not last takes as much memory again. Time: a few
    hundred ns per varset that is needed, some 10 ns per family, and for a varset that is not needed between 0.02 ns and
    some 10 ns, as its neighbours are.
    """
    table = problem.table
    entries = table.weights.size if isinstance(table, CountingTable) else table.least.size**2 // 4
    at_once = min(CHUNK, max(64, ENTRIES_PER_TASK // max(1, entries)))
    largest = largest_size(problem)
    counting = _Counting(problem, rules_of(problem), means, largest, at_once, Pace(problem.limits, largest))
    level = found.level
    while not found.done and (levels is None or found.complete_to < levels):
        level = level or lowest_level(problem)
        means.workers.keep((level.alive, *level.below, *level.here))  # for several steps
        size = level.size
        if size >= counting.largest:
            found, level = (yield from counting.last_judged(found, level)), None
        else:
            level = counting.begun(level)
            found, level = yield from counting.counted(found, level)
            means.workers.keep(level.above)
            found, level = yield from counting.judged(found, level)
            level = yield from counting.following(found, level)
        counting.pace.ended(size)
        whole = counting.pace.share(size, len(STEPS), 0.0)
        means.observer(replace(size_judged(found.varsets, size, counting.largest), whole=whole))
        found = replace(found, complete_to=size, level=level, done=level is None)
        yield found
    return found


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
        joint = table.mlogm[together].sum()[None]
        if problem.form is not None:
            from extbnsl.scores.tallies import figures_of_cells

            joint = figures_of_cells(together, problem.form)
    total = Counts(np.array([[1, 0]], np.uint64), joint)
    free = (problem.limits >= 0) & ~problem.required.any(axis=0)
    return Level(0, total, total, as_varsets(free[None]))


@dataclass(frozen=True)
class _Counting:
    """The steps of one level; every array that is as long as a level is made task by task.

    largest: the size of the largest parent sets. at_once: how many varsets a task may count, if each looks at all rows
    of the table, or eliminates a variable. pace: how much of all is done.

    Most steps take what is known and the level, and return both with more.
    """

    problem: CountingProblem
    rules: Rules
    means: Means
    largest: int
    at_once: int
    pace: Pace

    def _each(
        self, task: Callable, first: int, total: int, most: int, shared: tuple, told: tuple[int, int, int, int]
    ) -> Iterator[Any]:
        """(lo, hi, task(lo, hi, *shared)) for ranges of at most so many that cover [first, total), in their order.

        told: what the observer is told of beside the share that is done: the parent sets of this size are at this step,
        in this part of so many.
        """
        workers, most = self.means.workers, max(1, most)
        size, step, part, parts = told
        steps = STEPS if size < self.largest else STEPS[:LAST_STEPS]
        firsts = range(first, total, most)
        arguments = [(lo, min(lo + most, total), *shared) for lo in firsts]
        results = workers.spread(task, arguments, AHEAD * workers.threads)
        for number, (lo, result) in enumerate(zip(firsts, results, strict=True)):
            if number % TOLD == 0:
                of_step = (part + lo / total) / parts
                done = int(FINENESS * (sum(steps[:step]) + of_step * steps[step]) / sum(steps))
                detail, whole = size_of_at_most(size, self.largest), self.pace.share(size, step, of_step)
                self.means.observer(StageAdvanced("scores", done, FINENESS, "", detail=detail, whole=whole))
            yield lo, min(lo + most, total), result

    def _need(self, size: int) -> None:
        """Stop unless the shelf has room for so many bytes more."""
        if not self.means.shelf.fits(size):
            raise Stopped(MEMORY_LIMIT)

    def begun(self, level: Level) -> Level:
        """The level with the places of the varsets one larger that are needed, and a column for T, or the figures, of
        them. Stopped unless the shelf has room for that, and for the columns of this level that are not there yet."""
        if level.places is None:
            places, form = self._marked(level, last=False), self.problem.form
            shape = (_needed(places),) if form is None else (_needed(places), figures_of(form, level.size + 1))
            self._need(8 * math.prod(shape))
            level = replace(level, places=places, joint=Filled(self.means.shelf.column(shape, np.float64), 0))
        self.pace.needs(level.size, level.above.joint.shape[0])
        row = level.alive.shape[1] * level.alive.itemsize
        extend = 0 if level.extend is not None else level.alive.nbytes
        following = 0 if level.following is not None else row * level.above.joint.shape[0]
        self._need(extend + following)
        return level

    def _marked(self, level: Level, last: bool) -> NDArray[np.uint64]:
        """The places of the varsets one larger that are needed: the families of children that are alive, and the parent
        sets of the next level."""
        size, rules = level.size + 1, self.rules
        ranks = int(rules.binomials[-1, size])
        blocks = -(-ranks // BLOCK)
        few = last and _children(level.alive) < FEW * ranks and self.means.shelf.fits(24 * blocks)
        self._need((24 if few or rules.some_required else 16) * blocks)
        column, needed = self.means.shelf.column((blocks, 2), np.uint64), 0
        more = self._marked_by_children(level, last, few, blocks) if few or rules.some_required else None
        made = self._places_of(more, blocks) if few and more is not None else self._marks(level, last, more, ranks)
        for lo, own in made:
            marked = _needed(own)
            column.fill(lo // BLOCK, own + np.array([0, needed], np.uint64))
            needed += marked
            self.means.shelf.touched(8 * size * marked + own.nbytes)
        return column.array()

    def _marks(self, level: Level, last: bool, more: Bits | None, ranks: int) -> Iterator[tuple[int, Bits]]:
        """The first rank and the places of ever more of the varsets one larger; `more` of them are needed anyway."""
        size, most = level.size + 1, BLOCK * MARKED_BLOCKS
        within = as_varsets((self.rules.limits[None] >= size) & (not last))[0]
        shared = size, level.alive, level.here.places, within, more, self.rules.binomials
        for lo, _, own in self._each(_mark, 0, ranks, most, shared, (level.size, MARK, 0, 1)):
            yield lo, own

    def _places_of(self, bits: Bits, blocks: int) -> Iterator[tuple[int, Bits]]:
        """The same of varsets whose bits are known."""
        for lo in range(0, blocks, MARKED_BLOCKS):
            self.means.workers.check()
            own = np.zeros((min(MARKED_BLOCKS, blocks - lo), 2), np.uint64)
            own[:, 0] = bits[lo : lo + MARKED_BLOCKS]
            own[1:, 1] = np.cumsum(np.bitwise_count(own[:-1, 0]))
            yield lo * BLOCK, own

    def _marked_by_children(self, level: Level, last: bool, everyone: bool, blocks: int) -> Bits:
        """Bits in blocks of 64 ranks for the varsets one larger that children need which must have parents, or that
        all need. One that must have as many has these for its first parent set."""
        size, marked, required = level.size + 1, np.zeros(blocks, np.uint64), self.rules.required
        if not last:
            born = np.flatnonzero((required == size) & (self.problem.limits >= size))
            firsts = (np.flatnonzero(self.problem.required[:, x]) for x in born)
            set_ranks(np.array([rank_of(own, self.rules.binomials) for own in firsts], np.int64), marked)
        children, total = as_varsets(everyone | (required[None] > 0))[0], level.alive.shape[0]
        shared = size, level.alive, level.here.places, children, not last, self.rules
        for _, _, ranks in self._each(_mark_by_children, 0, total, CHUNK, shared, (level.size, MARK, 0, 1)):
            set_ranks(ranks, marked)
        return marked

    def last_judged(self, found: Enumeration, level: Level) -> Steps:
        """`found` with ever more of the largest parent sets judged.

        T of the varsets one larger is not kept: what a task counts it judges.
        """
        table = self.problem.table
        places = self._marked(level, last=True) if level.places is None else level.places
        found = replace(found, level=replace(level, places=places))
        size, candidate, total = level.size + 1, CANDIDATE_BYTES + 8 * level.alive.shape[1], _needed(places)
        self.pace.needs(level.size, total)
        shared = size, places, level.alive, (level.below, level.here), self.rules, _Counted(table, [])
        most, told = min(self.at_once, JUDGED_BYTES // (candidate * size)), (level.size, COUNT, 0, 1)
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

    def counted(self, found: Enumeration, level: Level) -> Step:
        """T of ever more of the varsets one larger that are needed."""
        table, joint = self.problem.table, level.joint
        assert joint is not None, "a column to count into"
        shared = level.size + 1, level.places, level.here, self.rules, _Counted(table, [])
        told = level.size, COUNT, 0, 1
        total = joint.column.array().shape[0]
        for lo, hi, own in self._each(_count_joint, joint.rows, total, self.at_once, shared, told):
            self.means.shelf.touched(2 * own.nbytes)
            joint.column.fill(lo, own)
            level = replace(level, joint=Filled(joint.column, hi))
            found = replace(found, level=level, varsets=found.varsets + hi - lo)
            yield found
        return found, level

    def judged(self, found: Enumeration, level: Level) -> Step:
        """Ever more parent sets of the level judged: those that win so far are among the families, and `extend` has the
        children for which they may be extended."""
        total, width = level.alive.shape
        extend = level.extend or Filled(self.means.shelf.column((total, width), np.uint64), 0)
        shared = level.size, level.alive, (level.below, level.here, level.above), self.rules
        waiting: list[Candidates] = []
        size, candidate, told = 0, CANDIDATE_BYTES + 8 * width, (level.size, JUDGE, 0, 1)
        most = min(CHUNK, JUDGED_BYTES // (candidate * self.problem.limits.size))
        for lo, hi, (own, candidates) in self._each(_judge, extend.rows, total, most, shared, told):
            extend.column.fill(lo, own)
            self.means.shelf.touched(24 * (level.size + 1) * (hi - lo))
            waiting.append(candidates)
            size += candidate * candidates[1].size
            if hi < total and size <= self.means.shelf.memory // 4:
                continue
            found, waiting, size = self._extended(found, waiting), [], 0
            if hi < total:  # the whole of it is looked at with the next step
                found = replace(found, level=replace(level, extend=Filled(extend.column, hi)))
                yield found
        return found, replace(level, extend=Filled(extend.column, total))

    def _extended(self, found: Enumeration, candidates: list[Candidates]) -> Enumeration:
        """`found` with the candidates merged in; those that are not wanted are dropped."""
        if not candidates:
            return found
        varsets, owners, costs = map(np.concatenate, zip(*candidates, strict=True))
        parents, all_costs = list(found.parents), list(found.costs)
        children, workers = np.unique(owners).tolist(), self.means.workers
        arguments = (
            ((parents[x], all_costs[x]), (varsets[own := owners == x], costs[own]), self.rules.slack, workers.halt)
            for x in children
        )
        joined = workers.stream(merged, arguments, workers.threads, lambda families: None)
        for child, families in zip(children, joined, strict=True):
            parents[child], all_costs[child] = map(self.means.shelf.put, families)
        return replace(found, parents=tuple(parents), costs=tuple(all_costs), families=found.families + int(costs.size))

    def following(self, found: Enumeration, level: Level) -> Generator[Enumeration, None, Level | None]:
        """The next level, with the children alive at ever more of its varsets, as far as entropies tell; in the end
        what goes on with it, None if no child is alive then, or must have more parents."""
        assert level.extend is not None, "all parent sets of the level are judged"
        extend, above, size = level.extend.column.array(), level.above, level.size + 1
        if self.rules.form is not None:
            self._dropped(found, level, level.extend, level.size, (level.here, above))
        total, width = above.joint.shape[0], extend.shape[1]
        following = level.following or Filled(self.means.shelf.column((total, width), np.uint64), 0)
        shared, told = (size, extend, level.here, above, self.rules, self.rules.form), (level.size, READY, 0, 1)
        for lo, hi, own in self._each(_ready, following.rows, total, min(CHUNK, TASK_WORDS // width), shared, told):
            self.means.shelf.touched(32 * size * (hi - lo))
            following.column.fill(lo, own)
            yield replace(found, level=replace(level, following=Filled(following.column, hi)))
        alive, most = following.column.array(), 1 << 20
        if self.rules.form is None and total:
            some = self._dropped(found, level, following, size, (above, above))
        else:
            some = any(alive[lo : lo + most].any() for lo in range(0, total, most))
        return Level(size, level.here, above, alive) if some or (self.rules.required > size).any() else None

    def _dropped(
        self, found: Enumeration, level: Level, filled: Filled, size: int, counts: tuple[Counts, Counts]
    ) -> bool:
        """Drop children from rows of the column of the varsets of `size`, in place, by their families; returns whether
        any is left. counts: see `drop_hopeless`. Whoever does it again, because this was cut short, drops the same."""
        array, some = filled.column.array(), False
        total, most = array.shape[0], min(CHUNK, TASK_WORDS // array.shape[1])
        groups = by_bytes(found.costs, self.problem.limits.size, self.means.shelf.memory // 2)
        for number, children in enumerate(groups):
            tables = byte_tables([found.parents[x] for x in children], [found.costs[x] for x in children])
            shared, some = (size, np.array(children), counts, self.rules, tables, array), False
            for lo, hi, own in self._each(_drop, 0, total, most, shared, (level.size, DROP, number, len(groups))):
                filled.column.fill(lo, own)
                self.means.shelf.touched(8 * (hi - lo))
                some = some or bool(own.any())
        return some


class _Counted(NamedTuple):
    """What varsets are counted by: the table; spaces: those of tasks that have ended."""

    table: "CountingTable | Moments"
    spaces: list[Space]

    def space(self, size: int, light: int = 0) -> Space:
        """One of the spaces, which no other task has until it gives it back, or a new one: see `counting_space`."""
        assert isinstance(self.table, CountingTable), "columns of states have rows to count"
        try:
            return self.spaces.pop()
        except IndexError:
            return counting_space(self.table, size, light)


# Kernels as tasks: other processes find a function by its name; of a kernel they would get the code, to compile.


def _mark(*given: Any) -> Any:
    return mark_needed(*given)


def _mark_by_children(*given: Any) -> Any:
    return needed_by_children(*given)


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
    counted: _Counted,
) -> NDArray[np.float64]:
    """T, or the figures, of the varsets of `size` at these places; below: the counts of one size less."""
    table, own = counted.table, np.empty(hi - lo if rules.form is None else (hi - lo, figures_of(rules.form, size)))
    if not isinstance(table, CountingTable):
        from extbnsl.scores.determinants import determine

        determine(size, lo, places, rules.binomials, table, own)
        return own
    if rules.form is None:
        space = counted.space(size)
        count(size, lo, places, rules.binomials, space, own)
    else:
        from extbnsl.scores.tallies import LIGHT, fill

        space = counted.space(size, LIGHT)
        fill(size, lo, places, below, rules.binomials, space, rules.form, own)
    counted.spaces.append(space)
    return own


def _count_and_judge(
    lo: int,
    hi: int,
    size: int,
    places: NDArray[np.uint64],
    alive: NDArray[np.uint64],
    counts: tuple[Counts, Counts],
    rules: Rules,
    counted: _Counted,
) -> Candidates:
    """The families (X, Q - X) of the varsets Q of `size` at these places that win so far.

    places: of the varsets of `size`; counts: of level size - 2 and of level size - 1, to which `alive` belongs.
    """
    joint = _count_joint(lo, hi, size, places, counts[1], rules, counted)
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


def _children(alive: Bits) -> int:
    """How many children are alive at the varsets of a level, all together."""
    return sum(int(np.bitwise_count(alive[lo : lo + CHUNK]).sum()) for lo in range(0, alive.shape[0], CHUNK))


def _needed(places: NDArray[np.uint64]) -> int:
    """How many varsets are present."""
    return int(places[-1, 1]) + int(np.bitwise_count(places[-1, 0]))
