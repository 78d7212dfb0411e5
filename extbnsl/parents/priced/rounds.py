"""Rounds of pricing: linear programs over the families known so far give multipliers, and by these each child is
searched for families that they do not know, until no network that lacks some costs less than the best known one.

A round is one of two kinds:

- a *local* one climbs from the cheapest families of each child to others. It brings the large families that good
  multipliers, and good networks, need.
- a *full* one finds all families with c' below the least known and a gap g; see `prices`. So it shows what every
  network costs at least: LB, the multipliers with the least c' of each child over all families. If the best known one
  costs LB + g at most, all families are known that a better one can have.

LB is less than what the multipliers show of the families known before, by as much as families that they did not know
are cheaper. So g is larger than the gap of the linear program, by what the round before fell short.

Where the first full round would take too long, or the multipliers are far below the best network, *rough* ones come
before it: each child has a negative g of its own. They look for families alone that are cheaper than all known ones by
as much, which takes far less time, and show LB but for what is left open so. A child that was through leaves less open
in the next round; one that takes too many nodes is given up, and has twice as many in the next round. So something is
shown of each child soon, and all get about the same work. While nothing is found the multipliers stay, and with them
what was shown, so that the bound rises child by child.

By new multipliers a rough round begins with a sweep over all parent sets up to some size: to cost them all takes less
time than to search for them child by child, where the bounds of small sets are weak. Each child is searched for larger
ones then.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.ascent import find_multipliers
from extbnsl.bounds.multipliers import Multipliers, Support, families_of, multipliers_of
from extbnsl.core.events import IncumbentFound, StageAdvanced
from extbnsl.parents.best_score import as_bytes
from extbnsl.parents.exhaustive.by_level import AHEAD
from extbnsl.parents.exhaustive.cells_by_child import (
    ANY_NUMBER,
    CellSearches,
    Parts,
    as_words,
    children_searched,
    dearest_first,
    frames_of,
    open_node,
    order_of,
    root_of,
    searches_of,
    task_of,
    without_first,
)
from extbnsl.parents.exhaustive.children import Child, child_of
from extbnsl.parents.exhaustive.problem import CountingProblem, Families
from extbnsl.parents.exhaustive.state import Enumeration, Means
from extbnsl.parents.priced.climbing import climb
from extbnsl.parents.priced.prices import Prices, Stage, reduced_costs
from extbnsl.parents.priced.sweeps import swept
from extbnsl.parents.pruning import merged

FEW, MANY = 64, 128  # sets of a child from which a local round climbs: the last one, when few lead nowhere, has many
KNOWN, RANDOM = 4, 8  # the share of them that are families known, and the share that are random
KICK = 16  # by fewer candidates than this, about, the others differ from such families
KEPT = 60  # families of a child that it keeps
GAINS = 0.05  # of the gap of the linear program, that a local round gains at least if it is not dry
MOST_DRY = 3  # dry rounds in turn, after which the next local one is the last
EFFORT = 20_000  # simplex iterations of a round
ASCENTS = 8  # rounds of improving the first multipliers
MOST_IMPROVED = 1 << 17  # families of which they are improved; with more that takes longer than linear programs
MORE = 1.5  # times what a full round fell short of its multipliers is added to the gap of the next one
LEAST_GAP = 1.0  # nats that are added at least
MANY_FOUND = 20_000  # families that the first full round finds at most, before one without a gap takes its place
NODES_TRIED = 4_000_000  # nodes that it makes before it is asked how many it will make
NODES_EXPECTED = 100_000_000  # nodes that it may make, as far as the children that it is through with tell
OPEN, LEAST_OPEN = 0.25, 0.01  # of the cost of the best network, that rough rounds leave open at first, and at last
NARROWER = 0.6  # of what a rough round left open of a child, that the next one does if it was through
CHILD_NODES = 1 << 16  # nodes after which the first rough round gives a child up, each other one after twice as many
FAR = 0.005  # of that cost, by which multipliers are so far below it that these come first
ROOM = 1 << 14  # families on the way of a child's climbs


class Network(Protocol):
    """A network by an order of the variables, (n,) int64, and what it costs in nats."""

    @property
    def order(self) -> NDArray[np.int64]: ...

    @property
    def cost(self) -> float: ...


Lists = Sequence[NDArray]  # an array for each child


class Networks(Protocol):
    """Who finds networks of families, parents[X] (m, words) and costs[X] (m,)."""

    def best(self, parents: Lists, costs: Lists, seed: int) -> Network:
        """One of low cost."""

    def improved(self, parents: Lists, costs: Lists, order: NDArray[np.int64]) -> Network:
        """One that is no dearer than that of an order, which may have none and costs infinity then."""


def judge_by_price(
    problem: CountingProblem, found: Enumeration, means: Means, networks: Networks
) -> Iterator[Enumeration]:
    """`found`, which has the families of the levels, with ever more of those that a network cheaper than the best known
    one can have; done when these are all there. Raises Stopped."""
    order, parts = means.workers.run(order_of, problem.rows), dict[int, Parts]()
    while not found.done:
        if _is_dear(found):
            found = without_first(found)
            yield found
        elif found.children and not _is_given_up(found):
            for known in children_searched(searches_of(problem, order, found, means), found, means, parts):
                found = known
                yield found
                if _is_given_up(found) or _is_dear(found):
                    break
        else:
            parts = {}
            found = _next_round(problem, found, means, networks)
            if not found.children and not found.done:
                found = _climbed(searches_of(problem, order, found, means), found, means)
            elif found.prices is not None and _is_new(found.prices):
                found = swept(searches_of(problem, order, found, means), found, means)
            yield found


def _is_given_up(found: Enumeration) -> bool:
    """Whether a full round is given up, as its gap lets through too many families; some searches were left then."""
    assert found.prices is not None, "a round has prices"
    return found.families - found.prices.stage.found > found.prices.stage.most or _is_too_long(found, found.prices)


def _is_new(prices: Prices) -> bool:
    """Whether a rough round begins with new multipliers, by which nothing is shown yet."""
    return prices.stage.rough and not np.isfinite(prices.shown).any()


def _is_dear(found: Enumeration) -> bool:
    """Whether a rough round gives up the child that is in work."""
    if found.prices is None or not found.children:
        return False
    stage = found.prices.stage
    return stage.rough and found.varsets - stage.counted > stage.effort


def _is_too_long(found: Enumeration, prices: Prices) -> bool:
    """Whether a full round that may be given up will make too many nodes: mostly the first children take the least."""
    made, through = found.varsets - prices.stage.counted, prices.least.size - len(found.children)
    expected = made * prices.least.size / (through + 1)
    return prices.stage.most != ANY_NUMBER and made > NODES_TRIED and expected > NODES_EXPECTED


def _next_round(problem: CountingProblem, found: Enumeration, means: Means, networks: Networks) -> Enumeration:
    """`found` at the beginning of its next round, or done."""
    last = found.prices
    number = 0 if last is None else last.stage.round + 1
    network = networks.best(found.parents, found.costs, number)
    if last is not None:
        again = networks.improved(found.parents, found.costs, last.order)
        network = min(network, again, key=lambda one: one.cost)
        through = not last.stage.starts and not found.children
        if through and network.cost - last.root <= last.stage.gap:
            stage = replace(last.stage, cost=network.cost, bound=last.bound)
            return replace(found, prices=replace(last, stage=stage, order=network.order), done=True)
    if last is not None and _is_to_stay(found, last):
        stage = _stage_after(found, network.cost, last.root_before)
        prices = replace(last, stage=stage, order=network.order, gaps=_gaps(stage, last, last.least.size))
    else:
        multipliers, network = _multipliers(found, network, means, networks)
        stage = _stage_after(found, network.cost, multipliers.root)
        unknown = np.where(problem.limits < 0, math.inf, -math.inf)
        cuts, weights, least = multipliers.cuts, multipliers.weights, multipliers.least
        prices = Prices(stage, cuts, weights, least, unknown, network.order, _gaps(stage, last, least.size))
    means.observer(IncumbentFound(network.cost, stage.bound if math.isfinite(stage.bound) else None))
    children = () if stage.starts else _left(stage, prices, dearest_first(problem, found))
    return replace(found, prices=prices, children=children, paired=not stage.starts, parts=0, pairs=None)


def _is_to_stay(found: Enumeration, prices: Prices) -> bool:
    """Whether the multipliers of a round stay, as it was through with a negative gap and has found nothing."""
    return prices.stage.rough and not found.children and found.families == prices.stage.found


def _gaps(stage: Stage, last: Prices | None, children: int) -> NDArray[np.float64]:
    """The gap of each of so many children in a round, `last` being the prices of the one before: in a rough round it is
    narrower for those that have been through with no find."""
    if not stage.rough or last is None:
        return np.full(children, stage.gap)
    if not last.stage.rough:
        return np.full(children, -OPEN * stage.cost / children)
    through = last.shown >= last.least + last.gaps
    return np.where(through, np.minimum(NARROWER * last.gaps, stage.gap), last.gaps)


def _left(stage: Stage, prices: Prices, children: tuple[Child, ...]) -> tuple[Child, ...]:
    """The children that a round searches: in a rough one those of which less is shown than it is to show."""
    goal = prices.least + stage.gap
    return tuple(child for child in children if not stage.rough or prices.shown[child.index] < goal[child.index])


def _stage_after(found: Enumeration, cost: float, root: float) -> Stage:
    """The round that comes next, if multipliers show so much of all networks of the families known, of which the best
    one costs so much."""
    last, known, above = found.prices, sum(map(len, found.costs)), cost - root
    if last is None:
        return Stage(0, FEW, 0.0, cost, 0.0, known, found.families)  # no family costs less than nothing
    before, rough = last.stage, -LEAST_OPEN * cost / last.least.size
    stage = replace(
        before,
        round=before.round + 1,
        cost=cost,
        bound=last.bound,
        began=known,
        found=found.families,
        most=ANY_NUMBER,
        counted=found.varsets,
    )
    if before.starts:
        gained = before.cost - cost + max(0.0, last.root_before - root)
        stage = replace(stage, dry=0 if gained > GAINS * above else before.dry + 1)
        if known > before.began and stage.dry < MOST_DRY:
            return replace(stage, starts=FEW)
        if before.starts < MANY:
            return replace(stage, starts=MANY)
        if above > FAR * cost:
            return replace(stage, starts=0, gap=rough, effort=CHILD_NODES)
        return replace(stage, starts=0, gap=above + LEAST_GAP, most=MANY_FOUND)
    if found.children and _is_too_long(found, last):
        return replace(stage, gap=rough, effort=CHILD_NODES)
    if before.rough:
        if last.short > LEAST_GAP - before.gap * last.least.size:
            return replace(stage, effort=2 * before.effort)
        return replace(stage, gap=above + LEAST_GAP)
    if found.children or (before.gap == 0.0 and last.short > LEAST_GAP):  # it was given up, or far from its multipliers
        return replace(stage, gap=0.0)
    return replace(stage, gap=above + max(LEAST_GAP, MORE * last.short))


def _multipliers(found: Enumeration, network: Network, means: Means, networks: Networks) -> tuple[Multipliers, Network]:
    """Multipliers by a linear program over the families known, and the best network, perhaps one that a solution of
    the program led to."""
    from extbnsl.bounds.lp.polish import ROOT, Goal, Polished, polished
    from extbnsl.bounds.lp.separation import order_of_solution

    workers, families, before, turns = means.workers, families_of(found.parents, found.costs), found.prices, 0
    if before is None:
        ascents = ASCENTS if families.costs.size <= MOST_IMPROVED else 0
        start = find_multipliers(families, None, ascents, 0, workers)
    else:
        start = workers.run(multipliers_of, families, before.cuts, before.weights, workers.halt)

    def hear(reached: Polished) -> None:
        nonlocal network, turns
        turns += 1
        if reached.support is not None and (reached.optimal or turns.bit_count() == 1):
            network = _rounded(reached.support, found, network, networks)

    def _rounded(support: Support, found: Enumeration, known: Network, networks: Networks) -> Network:
        order = order_of_solution(*support, len(found.costs))
        return min(known, networks.improved(found.parents, found.costs, order), key=lambda one: one.cost)

    goal = Goal(network.cost, ROOT, means.shelf.memory)
    reached = polished(families, Polished(start, start.cuts), goal, EFFORT, workers, hear)
    return reached.multipliers, network


def _climbed(searches: CellSearches, found: Enumeration, means: Means) -> Enumeration:
    """`found` with what climbs find of all children."""
    problem, workers = searches.problem, means.workers
    assert searches.prices is not None, "a round has prices"
    children = [child_of(problem, x) for x in np.flatnonzero(problem.limits >= 0).tolist()]
    given = (
        (child, searches, (found.parents[child.index], found.costs[child.index]), workers.halt) for child in children
    )
    parents, costs = list(found.parents), list(found.costs)
    for child, own in zip(children, workers.spread(climbed, given, AHEAD * workers.threads), strict=True):
        joined = workers.run(merged, (parents[child.index], costs[child.index]), own, 0.0, workers.halt)
        parents[child.index], costs[child.index] = map(means.shelf.put, joined)
    total = sum(map(len, costs))
    means.observer(StageAdvanced("scores", total, 0, "parent sets known", detail=f"{searches.prices.told}large sets"))
    return replace(found, parents=tuple(parents), costs=tuple(costs), families=found.families + total)


def climbed(child: Child, searches: CellSearches, known: Families, halt: NDArray[np.uint8]) -> Families:
    """The cheapest families, beside what they count, that climbs from those known of a child find. A pure function of
    values, but for `halt`."""
    x, prices, problem = child.index, searches.prices, searches.problem
    assert prices is not None, "a round has prices"
    root, task = root_of(child, problem), task_of(child, searches, known)
    width = 8 * root.shape[2]
    frames = frames_of(task, width)
    open_node(root[0, 0], root[0, 1], task, frames, child, problem)
    order = np.argsort(reduced_costs(x, *known, prices), kind="stable")[: prices.stage.starts // KNOWN]
    inside = np.unpackbits(as_bytes(known[0][order]), axis=1, bitorder="little")[:, task.variables].astype(np.bool_)
    starts = _starts(inside, prices.stage.starts, np.random.default_rng((prices.stage.round, x)))
    room = np.zeros((ROOM, width), np.uint8), np.empty(ROOM)
    written = climb(starts, task, frames, halt, room)
    varsets, places = np.unique(as_words(room[0][:written]), axis=0, return_index=True)
    costs = room[1][places]
    kept = np.argsort(reduced_costs(x, varsets, costs, prices), kind="stable")[:KEPT]
    return varsets[kept], costs[kept]


def _starts(known: NDArray[np.bool_], count: int, random: np.random.Generator) -> NDArray[np.bool_]:
    """About so many parent sets (s, m) from which to climb: those that are known, some of random sizes, and some that
    differ from known ones by a few candidates."""
    m, some = known.shape[1], count // RANDOM
    sets = random.random((some, m)) < random.random((some, 1))
    left = count - some - len(known)
    kicks = random.random((left, m)) < random.integers(2, KICK, (left, 1)) / max(1, m)
    return np.concatenate([known, sets, known[random.integers(0, len(known), left)] ^ kicks])
