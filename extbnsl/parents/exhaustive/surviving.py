"""From a data set to its surviving families: prepare the columns, enumerate, and give the names back."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import DISK_LIMIT, MEMORY_LIMIT, Claim
from extbnsl.core.errors import BudgetError
from extbnsl.core.events import StageAdvanced, Warned
from extbnsl.core.figures import in_full
from extbnsl.data import Data
from extbnsl.kernels.varsets import add, as_varsets, pack, renumber, sizes
from extbnsl.machine.workers import Stopped, Workers, unhalted
from extbnsl.parents.best_score import as_bytes
from extbnsl.parents.constraints import Constraints
from extbnsl.parents.exhaustive.by_level import (
    judge_by_level,
    largest_size,
    lowest_level,
    rules_of,
    size_of_at_most,
)
from extbnsl.parents.exhaustive.lattice import alive_together
from extbnsl.parents.exhaustive.one_by_one import ChildSource, judge_one_by_one, least_unjudged
from extbnsl.parents.exhaustive.problem import CountingProblem, Families, Group, LatticeSource, Source
from extbnsl.parents.exhaustive.regressed import Regressed, by_child
from extbnsl.parents.exhaustive.single_parents import with_single_parents
from extbnsl.parents.exhaustive.source import source_of
from extbnsl.parents.exhaustive.state import Enumeration, Means, start_enumeration
from extbnsl.parents.priced.prices import Priced, priced_over
from extbnsl.scores.counting import CountingTable
from extbnsl.scores.local import LocalScores
from extbnsl.scores.score import penalty_of

if TYPE_CHECKING:
    from extbnsl.parents.priced.rounds import Networks

MOST_ALIVE = 20_000_000  # words of a level that are looked through when counting has been stopped: a second
SETS_TRIED = 100_000  # sets of a child of numbers after which the families are found by price: a second or less
MOST_NAMED = 1 << 19  # families that are named when there is no time or room for all, and one of each child: a second


OnProgress = Callable[[Enumeration], None]


@dataclass(frozen=True)
class Survivors:
    """The families that can win, or are within the slack that was asked for, as far as they are known.

    unjudged (n,) float64: what the families of each child that are not known cost at least; infinity where none can
    win. stopped: why the enumeration ended early, None if every parent set has been judged. varsets: how many were
    counted. priced: what was shown of all networks, if only families were wanted that one cheaper than the best known
    one can have.
    """

    scores: LocalScores
    unjudged: NDArray[np.float64]
    stopped: str | None
    varsets: int
    priced: Priced | None = None

    @cached_property
    def least(self) -> NDArray[np.float64]:
        """A lower bound of the cost of any family of each child, (n,) float64."""
        return np.minimum(self.unjudged, [costs[0] for costs in self.scores.costs])


def surviving_families(
    data: Data,
    claim: Claim,
    means: Means,
    begun: Enumeration | None = None,
    on_progress: OnProgress = lambda found: None,
    slack: float = 0.0,
    constraints: Constraints | None = None,
    networks: "Callable[[], Networks] | None" = None,
) -> Survivors:
    """The families of the data that can be in an optimal network by the claim's score and within its limit.

    With a slack, in nats, all that can be in a network that costs at most so much more: the families that cost at most
    so much more than the cheapest of their subsets. One that costs as much more as the slack is among them, and up to
    rounding (`with_rounding`) one that costs a little more.

    constraints: which families are allowed, if they are others than the claim says. networks: makes who finds
    networks, if only those families are wanted that one cheaper than the best known one can have, and counting all
    would take long.

    Goes on from `begun`, which is what on_progress got in a call before, of the same slack: what is known after each
    task. A begun enumeration without a level goes on child by child. on_progress may raise Stopped. Children that
    must have parents are judged with all others, or in groups after them (`Source.groups`).

    A variable that never varies takes no parents but those that it must have and is none, whatever the slack: it tells
    nothing. (As a parent it may cost nothing either; whoever wants all networks must add it.) By scores of cells that
    is so of variables of one declared state.
    """
    source = source_of(data, claim, constraints)
    if isinstance(source, LatticeSource):
        source = by_child(source, slack) or source
    if source.order.size == 0:
        return _named(source, means, slack, Enumeration((), (), complete_to=0, done=True), np.zeros(0))
    if isinstance(source, ChildSource):
        return surviving_one_by_one(source, means, begun, on_progress, slack, networks)
    assert isinstance(source, LatticeSource), "there are no others"
    problem = source.problem(source.widened(slack))
    counting = _Counting(source, source.groups(problem, slack <= 0.0), means, on_progress, networks)
    found = begun or start_enumeration(source.order.size)
    by_level = begun is None or begun.level is not None or (begun.group > 0 and begun.complete_to < 0)
    try:
        for group in () if found.singles else counting.groups:
            own = source.for_group(problem, group)
            found = with_single_parents(own, means.workers, means.shelf, found)
            if found.stopped is not None:
                found = replace(found, singles=False)
                break
        if found.stopped is None:
            problem = source.with_floors(problem, means.workers)
            found = counting.enumerated(problem, found, by_level)
    except Stopped as stop:
        found = replace(found, stopped=stop.reason)
    return _named(source, means, slack, found, counting.unjudged(problem, found))


def surviving_one_by_one(
    source: ChildSource,
    means: Means,
    begun: Enumeration | None,
    on_progress: OnProgress,
    slack: float,
    networks: "Callable[[], Networks] | None" = None,
) -> Survivors:
    """`surviving_families` of a source whose children share nothing."""
    found = begun or start_enumeration(source.order.size)
    priced = networks is not None and slack <= 0.0 and isinstance(source, Regressed)
    if found.singles or not (found.done or found.children or found.prices):  # what a lattice began costs something else
        found = start_enumeration(source.order.size)
    if not found.done and found.prices is None:
        tried = replace(source, tried=SETS_TRIED) if priced else source
        found = last_known(judge_one_by_one(tried, source.widened(slack), found, means), found, on_progress)
    if not found.done and found.stopped is None:
        from extbnsl.parents.priced.numbers import numbers_by_price

        assert networks is not None, "else nothing is given up"
        assert isinstance(source, Regressed), "else nothing is given up"
        found = last_known(numbers_by_price(source, found, means, networks()), found, on_progress)
    return _named(source, means, slack, found, least_unjudged(source, found))


@dataclass(frozen=True)
class _Counting:
    """What all groups have in common."""

    source: LatticeSource
    groups: tuple[Group, ...]
    means: Means
    on_progress: OnProgress
    networks: "Callable[[], Networks] | None"

    def enumerated(self, problem: CountingProblem, found: Enumeration, by_level: bool) -> Enumeration:
        """All families that are wanted, or those until the enumeration is stopped."""
        if not self.groups:  # nobody takes parents, as where only columns of the past vary
            return replace(found, complete_to=0, done=True)
        for number in range(found.group, len(self.groups)):
            group = self.groups[number]
            own = self.source.for_group(problem, group)
            own = self.source.with_limits(own, self.means.workers)
            found = self._of_those_alone(own, group, found) if group.alone else self._of_group(own, found, by_level)
            if not found.done or number + 1 == len(self.groups):
                break
            found = replace(found, complete_to=-1, done=False, group=number + 1)
            by_level = True
        return found

    def _of_those_alone(self, problem: CountingProblem, group: Group, found: Enumeration) -> Enumeration:
        """The cheapest families of children that are alone, one child after the other; `parts` of them are done."""
        from extbnsl.parents.exhaustive.alone import cheapest_family

        workers, total = self.means.workers, len(group.children)
        places = np.flatnonzero(np.isin(self.source.order, group.children)).tolist()
        detail = f"the best parents of {in_full(total, 'variable')}, each by itself"

        def steps(found: Enumeration) -> Iterator[Enumeration]:
            tasks = ((x, problem, workers.halt) for x in places[found.parts :])
            results = workers.spread(cheapest_family, tasks, 4 * workers.threads)
            for x, ((parents, costs), counted) in zip(places[found.parts :], results, strict=True):
                families = [*found.parents], [*found.costs]
                families[0][x], families[1][x] = self.means.shelf.put(parents), self.means.shelf.put(costs)
                found = replace(
                    found,
                    parents=tuple(families[0]),
                    costs=tuple(families[1]),
                    varsets=found.varsets + counted,
                    families=found.families + costs.size,
                    parts=found.parts + 1,
                )
                self.means.observer(StageAdvanced("scores", found.parts, total, "variables", detail=detail))
                yield found
            yield replace(found, complete_to=max(0, found.complete_to), parts=0, done=True)

        return last_known(steps(found), found, self.on_progress)

    def _of_group(self, problem: CountingProblem, found: Enumeration, by_level: bool) -> Enumeration:
        """All families of a group: by the shared table of joint entropies, determinants or figures, while the shelf has
        room, then child by child, by the rows of states. By scores with a Dirichlet prior and fNML child by child as
        well where the levels have too many varsets; by others of cells, and by determinants, by level alone."""
        form, levels = problem.form, None
        by_cells = form is not None and form.by_cells
        levels_alone = not by_cells and (form is not None or not isinstance(problem.table, CountingTable))
        if by_cells:
            from extbnsl.parents.exhaustive.cells_by_child import judge_between, levels_worthwhile

            levels = levels_worthwhile(problem)
        if by_level or levels_alone:
            found = last_known(judge_by_level(problem, found, self.means, levels), found, self.on_progress)
            if levels_alone and found.stopped in (MEMORY_LIMIT, DISK_LIMIT):
                size = size_of_at_most(found.complete_to + 1, largest_size(problem))
                self.means.observer(
                    Warned(
                        f"There is no room to count {size}, so that larger families are missing and only a lower bound "
                        "is proved: give more --memory or --disk, or fewer parents with --max-parents."
                    )
                )
            if found.done or found.stopped not in (None, MEMORY_LIMIT) or levels_alone:
                return found
        found = replace(found, stopped=None, level=None, complete_to=max(0, found.complete_to))
        if by_cells:
            steps = judge_between(problem, found, self.means)
            plain = len(self.groups) == 1 and problem.slack <= 0.0 and not self.source.charged
            if self.networks is not None and plain:
                from extbnsl.parents.priced.cells import PricedCells
                from extbnsl.parents.priced.rounds import judge_by_price

                steps = judge_by_price(PricedCells.of(problem, self.means.workers), found, self.means, self.networks())
            return last_known(steps, found, self.on_progress)
        from extbnsl.parents.exhaustive.by_child import judge_by_child

        return last_known(judge_by_child(problem, found, self.means), found, self.on_progress)

    def unjudged(self, problem: CountingProblem, found: Enumeration) -> NDArray[np.float64]:
        """What the families of each child that were not judged cost at least; infinity where all were."""
        least = np.full(problem.limits.size, math.inf)
        if found.done:
            return least
        if self.groups[found.group].alone:
            return self._unjudged_alone(problem, found)
        own = self.source.for_group(problem, self.groups[found.group])
        children = own.limits >= 0
        # of single parents those that beat none are kept: with savings by arcs others may be cheaper
        judged = replace(found, singles=found.singles and not self.source.charged)
        least[children] = _least_unjudged(own, judged)[children]
        later = {child for group in self.groups[found.group + 1 :] for child in group.children}
        begun, needed = found.children or found.ahead, own.required.sum(axis=0)
        size = found.level.size if found.level is not None and found.level.alive.size <= MOST_ALIVE else 0
        for x, child in enumerate(self.source.order.tolist()):
            unborn = children[x] and not begun and needed[x] >= max(1, size)
            if child in later or unborn:  # the level tells nothing of its parent sets
                must = self.source.constraints.parents_required(child)
                least[x] = min(least[x], self.source.at_least(child, must, float(problem.floors[x])))
        return least

    def _unjudged_alone(self, problem: CountingProblem, found: Enumeration) -> NDArray[np.float64]:
        """The same where all but children that are alone are judged, and some of these."""
        least = np.full(problem.limits.size, math.inf)
        children = np.flatnonzero(np.isin(self.source.order, self.groups[found.group].children))
        for x in children[found.parts :].tolist():
            least[x] = self.source.at_least(int(self.source.order[x]), (), float(problem.floors[x]))
        return least


def last_known(steps: Iterator[Enumeration], found: Enumeration, on_progress: OnProgress) -> Enumeration:
    """The last of what is known ever more of, `found` being known before; with the reason if it is time to stop, or
    there is no room. on_progress gets each of it, and may raise Stopped."""
    try:
        for known in steps:
            found = known
            on_progress(found)
    except Stopped as stop:
        return replace(found, stopped=stop.reason)
    except BudgetError:
        return replace(found, stopped=DISK_LIMIT)
    return found


def counting_limits(data: Data, claim: Claim) -> NDArray[np.int64]:
    """How many parents a family that can win has at most, for each variable that varies, if no more is known: int64."""
    source = source_of(data, claim)
    if not isinstance(source, LatticeSource):
        return source.constraints.limits[source.order]
    if source.order.size == 0:
        return np.zeros(0, np.int64)
    problem = source.problem(0.0)
    limits = np.zeros(source.order.size, np.int64)
    with Workers(1) as unstoppable:
        for group in source.groups(problem):
            own = source.with_limits(source.for_group(problem, group), unstoppable)
            limits = np.where(own.limits >= 0, own.limits, limits)
    return limits


def _least_unjudged(problem: CountingProblem, found: Enumeration) -> NDArray[np.float64]:
    """What a parent set of each child of a problem that was not judged could cost at least.

    That is N H(X | all others) and the least penalty of such a set: it has more members than those judged, all of them
    among the parents that the child may still have.
    """
    if problem.form is not None:
        return _least_by_cells(problem, found)
    least = np.full(problem.limits.size, math.inf)
    arities, factors = problem.table.arities, problem.factors
    for x, parents, size in _unjudged(problem, found):
        if size <= min(parents.size, int(problem.limits[x])):
            states = math.prod(factors[parents[:size]].tolist())  # factors ascend
            penalty = penalty_of(problem.parameter, int(arities[x]), states) + size * problem.step
            least[x] = min(least[x], problem.floors[x] + penalty)
    return least


def _least_by_cells(problem: CountingProblem, found: Enumeration) -> NDArray[np.float64]:
    """What a family that was not judged costs at least: its parents include a varset of the level at which the child
    is alive, or, if the level is not known or too large, any. Of a child that the search child by child is through
    with, none is left, unless it was for some alone, by price."""
    level, n = found.level, problem.limits.size
    if level is None or level.alive.size > MOST_ALIVE:
        level = lowest_level(problem)
    least: NDArray[np.float64]
    _, least = alive_together(level.size, level.here, level.alive, rules_of(problem), problem.form)
    if found.children and found.prices is None:
        least[sorted(set(range(n)) - {child.index for child in found.children})] = math.inf
    return least


def _unjudged(problem: CountingProblem, found: Enumeration) -> Iterator[tuple[int, NDArray[np.int64], int]]:
    """The children with parent sets that were not judged, the parents that these may have, ascending, and their least
    size; of the parents as many as that are enough."""
    n, size = problem.limits.size, found.complete_to + 1
    if found.children or found.ahead:
        begun = [(child, size) for child in found.children] + [(child, size + 1) for child in found.ahead]
        for child, least in begun:
            own = np.union1d(child.variables, np.flatnonzero(problem.required[:, child.index]))
            yield child.index, own, least
        return
    least, level = max(size, 2 if found.singles else 0), found.level
    if level is None or size < 2 or level.alive.size > MOST_ALIVE:
        first = np.arange(min(n, least + 1))  # the others follow from these
        yield from ((x, first[first != x], least) for x in range(n))
        return
    possible, _ = alive_together(level.size, level.here, level.alive, rules_of(problem), None)
    for x in range(n):
        yield x, np.flatnonzero(np.unpackbits(as_bytes(possible[x]), count=n, bitorder="little")), least


def _named(
    source: Source,
    means: Means,
    slack: float,
    found: Enumeration,
    unjudged: NDArray[np.float64],
) -> Survivors:
    """Translate from the positions in the source's order to the data's variables, with the parents that must be; where
    nothing was found (constant variables, or an enumeration that ended at once) there are these alone. Once it is time
    to stop, or the shelf has no room, there are the cheapest families alone."""
    n, order = source.data.variables, source.order.tolist()
    must = as_varsets(source.constraints.required.T)
    parents: list[NDArray[np.uint64]] = list(must[:, None])
    costs: list[NDArray[np.float64]] = [np.zeros(0)] * n
    least, children = np.full(n, math.inf), []
    for position, child in enumerate(order):
        least[child] = source.shifted(child, float(unjudged[position]))
        if found.costs[position].size:
            children.append(child)
    stopped = None if found.done else found.stopped
    try:
        tasks = _to_be_named(source.order, must, slack, found, means.workers.halt)
        families = means.workers.spread(source.again, tasks, means.workers.threads)
        for child, own in zip(children, families, strict=True):
            parents[child], costs[child] = map(means.shelf.put, own)
    except (Stopped, BudgetError) as short:
        stopped = short.reason if isinstance(short, Stopped) else stopped or DISK_LIMIT
        most = MOST_NAMED // len(found.costs)
        few = _to_be_named(source.order, must, slack, _cheapest(found, most), unhalted())
        for child, given in zip(children, few, strict=True):
            parents[child], costs[child] = source.again(*given)  # a few megabytes, for which a full shelf has no room
        for position, child in enumerate(order):
            for dearer in found.costs[position][most : most + 1].tolist():
                least[child] = min(least[child], source.shifted(child, dearer))
    for v, own_costs in enumerate(costs):
        if own_costs.size == 0:
            costs[v] = np.array([source.cost(v, source.constraints.parents_required(v))])
    scores = LocalScores(source.data.names, tuple(parents), tuple(costs), source.claim)
    priced = None if found.prices is None else priced_over(found.prices, source.order, n)
    return Survivors(scores, least, stopped, found.varsets, priced)


def _to_be_named(
    order: NDArray[np.int64], must: NDArray[np.uint64], slack: float, found: Enumeration, halt: NDArray[np.uint8]
) -> Iterator[tuple[int, Families, float, NDArray[np.uint8]]]:
    """Of each child of which families were found what `Source.again` takes."""
    for k, child in enumerate(order.tolist()):
        if found.costs[k].size:
            varsets = renumber(found.parents[k], order, len(must)) | must[child]
            yield child, (varsets, found.costs[k]), slack, halt


def _cheapest(found: Enumeration, most: int) -> Enumeration:
    """`found` with so many of the cheapest families of each child, its smallest, and that which it has in the best
    network of the prices."""
    parents, costs, before = list(found.parents), list(found.costs), pack((), len(found.costs))
    order = range(len(costs)) if found.prices is None else found.prices.order.tolist()
    for x in order:
        if costs[x].size > most:
            rows = np.union1d(np.arange(most), np.argsort(sizes(parents[x]), kind="stable")[:1])
            if found.prices is not None:
                rows = np.union1d(rows, np.flatnonzero(~(parents[x] & ~before).any(axis=1))[:1])
            parents[x], costs[x] = parents[x][rows], costs[x][rows]
        add(x, before)
    return replace(found, parents=tuple(parents), costs=tuple(costs))
