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
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.ascent import find_multipliers
from extbnsl.bounds.multipliers import Multipliers, Support, Weighted, between, families_of, multipliers_of
from extbnsl.core.events import IncumbentFound, StageAdvanced
from extbnsl.parents.best_score import as_bytes
from extbnsl.parents.exhaustive.by_level import AHEAD
from extbnsl.parents.exhaustive.children import ANY_NUMBER, Child
from extbnsl.parents.exhaustive.problem import Families
from extbnsl.parents.exhaustive.state import Enumeration, Means
from extbnsl.parents.priced.prices import Prices, Stage, reduced_costs
from extbnsl.parents.priced.shown import is_dear, is_given_up, is_too_long, without_first
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
OF_BEST = 0.7  # the share of the multipliers that have shown most, in those of a round without a positive gap
MARGIN = 0.01  # nats more than the gap of the best multipliers, that a round by them lets through
MOST_SHORT = 10.0  # nats that a full round may fall short, before one without a gap takes the place of the next
MANY_FOUND = 20_000  # families that the first full round finds at most, before one without a gap takes its place
OPEN, LEAST_OPEN = 0.25, 0.01  # of what the best network costs above the lowest, that rough rounds leave open
NARROWER = 0.6  # of what a rough round left open of a child, that the next one does if it was through
CHILD_NODES = 1 << 16  # nodes after which the first rough round gives a child up, each other one after twice as many
FAR = 0.005  # of that, by which multipliers are so far below it that these come first


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


class Searches(Protocol):
    """The searches of one round."""

    def searched(self, found: Enumeration, means: Means, begun: dict[int, Any]) -> Iterator[Enumeration]:
        """`found` with ever more parts of the search of its first child, and ever fewer children. begun: what searches
        of this round that were left before had begun with, by the numbers of the children. Raises Stopped."""

    def swept(self, found: Enumeration, means: Means) -> Enumeration:
        """`found`, of a rough round whose searches have not begun, with all families of interest of few parents, if
        these are found in less time together."""

    def candidates(self, child: Child) -> NDArray[np.int64]:
        """The variables that it may have as parents beside those that it must have, (m,), ascending."""

    def climb(self, child: Child, known: Families, starts: NDArray[np.bool_], halt: NDArray[np.uint8]) -> Families:
        """Families on the way from these sets (s, m) of a child's candidates, of which the families are known, to
        cheaper ones, beside what they count. Ends when halt[0] is set."""


class Priced(Protocol):
    """Children whose families are found by price, as their score lets them."""

    @property
    def among(self) -> NDArray[np.bool_]:
        """Which of the variables have families to be found, (n,)."""

    @property
    def lowest(self) -> float:
        """What every network costs at least, as far as that is known without any search."""

    def children(self, found: Enumeration) -> tuple[Child, ...]:
        """All of them, those first whose search mostly takes least time."""

    def searches(self, found: Enumeration, means: Means) -> Searches:
        """Those of the round that is on. Raises Stopped where memory is short."""


def judge_by_price(priced: Priced, found: Enumeration, means: Means, networks: Networks) -> Iterator[Enumeration]:
    """`found`, which has the families of few parents, with ever more of those that a network cheaper than the best
    known one can have; done when these are all there. Raises Stopped."""
    begun = dict[int, Any]()
    while not found.done:
        if is_dear(found):
            found = without_first(found)
            yield found
        elif found.children and not is_given_up(found):
            for known in priced.searches(found, means).searched(found, means, begun):
                found = known
                yield found
                if is_given_up(found) or is_dear(found):
                    break
        else:
            begun = {}
            found = _next_round(priced, found, means, networks)
            if not found.children and not found.done:
                found = _climbed(priced, found, means)
            elif found.prices is not None and _is_new(found.prices):
                found = priced.searches(found, means).swept(found, means)
            yield found


def _is_new(prices: Prices) -> bool:
    """Whether a rough round begins with new multipliers, by which nothing is shown yet."""
    return prices.stage.rough and not np.isfinite(prices.shown).any()


def _next_round(priced: Priced, found: Enumeration, means: Means, networks: Networks) -> Enumeration:
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
        stage = _stage_after(found, network.cost, last.root_before, priced.lowest)
        prices = replace(last, stage=stage, order=network.order, gaps=_gaps(stage, last, priced))
        prices = replace(prices, leading=last.best[0], leads=last.best[1])
    else:
        multipliers, network = _multipliers(found, network, means, networks)
        stage = _stage_after(found, network.cost, multipliers.root, priced.lowest)
        best = (multipliers.cuts[:0], multipliers.weights[:0]) if last is None else last.best
        if last is not None and not last.stage.starts:
            stage, multipliers = _nearer(stage, multipliers, best, found, means)
        unknown = np.where(priced.among, -math.inf, math.inf)
        cuts, weights, least = multipliers.cuts, multipliers.weights, multipliers.least
        prices = Prices(stage, cuts, weights, least, unknown, network.order, _gaps(stage, last, priced), *best)
    means.observer(IncumbentFound(network.cost, stage.bound if math.isfinite(stage.bound) else None))
    children = () if stage.starts else _left(stage, prices, priced.children(found))
    return replace(found, prices=prices, children=children, paired=not stage.starts, parts=0, pairs=None)


def _nearer(
    stage: Stage, multipliers: Multipliers, best: Weighted, found: Enumeration, means: Means
) -> tuple[Stage, Multipliers]:
    """The stage, and its multipliers, if a linear program has these and those of a round before have shown most.

    Many multipliers are optimal for the families known, and most of them are far off for others, so that rounds by
    those of a program would fall short again and again. Between them and the best ones (Wentges 1997, International
    Transactions in Operational Research 4) a round falls short less; if it finds nothing it has shown more, and else
    the program learns of what it has found. Where the best ones have shown nearly all that the program does, they are
    taken themselves.
    """
    if stage.gap > 0.0 and multipliers.root - stage.bound > LEAST_GAP:
        return stage, multipliers
    cuts, weights = best
    if stage.gap > 0.0:
        stage = replace(stage, gap=stage.cost - stage.bound + MARGIN)
    else:
        cuts, weights = between(best, (multipliers.cuts, multipliers.weights), OF_BEST)
    families = families_of(found.parents, found.costs)
    return stage, means.workers.run(multipliers_of, families, cuts, weights, means.workers.halt)


def _is_to_stay(found: Enumeration, prices: Prices) -> bool:
    """Whether the multipliers of a round stay, as it was through with a negative gap and has found nothing."""
    return prices.stage.rough and not found.children and found.families == prices.stage.found


def _gaps(stage: Stage, last: Prices | None, priced: Priced) -> NDArray[np.float64]:
    """The gap of each child in a round, `last` being the prices of the one before: in a rough round it is narrower for
    those that have been through with no find."""
    children = priced.among.size
    if not stage.rough or last is None:
        return np.full(children, stage.gap)
    if not last.stage.rough:
        return np.full(children, -OPEN * (stage.cost - priced.lowest) / children)
    through = last.shown >= last.least + last.gaps
    return np.where(through, np.minimum(NARROWER * last.gaps, stage.gap), last.gaps)


def _left(stage: Stage, prices: Prices, children: tuple[Child, ...]) -> tuple[Child, ...]:
    """The children that a round searches: in a rough one those of which less is shown than it is to show."""
    goal = prices.least + stage.gap
    return tuple(child for child in children if not stage.rough or prices.shown[child.index] < goal[child.index])


def _stage_after(found: Enumeration, cost: float, root: float, lowest: float) -> Stage:
    """The round that comes next, if multipliers show so much of all networks of the families known, of which the best
    one costs so much; lowest: what every network costs at least."""
    last, known, above = found.prices, sum(map(len, found.costs)), cost - root
    if last is None:
        return Stage(0, FEW, 0.0, cost, lowest, known, found.families)
    before, rough = last.stage, -LEAST_OPEN * (cost - lowest) / last.least.size
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
        if above > FAR * (cost - lowest):
            return replace(stage, starts=0, gap=rough, effort=CHILD_NODES)
        return replace(stage, starts=0, gap=above + LEAST_GAP, most=MANY_FOUND)
    if found.children and is_too_long(found, last):
        return replace(stage, gap=rough, effort=CHILD_NODES)
    if before.rough:
        if last.short > LEAST_GAP - before.gap * last.least.size:
            return replace(stage, effort=2 * before.effort)
        return replace(stage, gap=above + LEAST_GAP)
    far = root - last.bound > LEAST_GAP if before.gap == 0.0 else last.short > MOST_SHORT
    if found.children or far:  # it was given up, or far from its multipliers
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


def _climbed(priced: Priced, found: Enumeration, means: Means) -> Enumeration:
    """`found` with what climbs find of all children."""
    prices, workers, searches = found.prices, means.workers, priced.searches(found, means)
    assert prices is not None, "a round has prices"
    children = priced.children(found)
    given = (
        (child, searches, prices, (found.parents[child.index], found.costs[child.index]), workers.halt)
        for child in children
    )
    parents, costs = list(found.parents), list(found.costs)
    for child, own in zip(children, workers.spread(climbed, given, AHEAD * workers.threads), strict=True):
        joined = workers.run(merged, (parents[child.index], costs[child.index]), own, 0.0, workers.halt)
        parents[child.index], costs[child.index] = map(means.shelf.put, joined)
    total = sum(map(len, costs))
    means.observer(StageAdvanced("scores", total, 0, "parent sets known", detail=f"{prices.told}large sets"))
    return replace(found, parents=tuple(parents), costs=tuple(costs), families=found.families + total)


def climbed(child: Child, searches: Searches, prices: Prices, known: Families, halt: NDArray[np.uint8]) -> Families:
    """The cheapest families, beside what they count, that climbs from those known of a child find. A pure function of
    values, but for `halt`."""
    x = child.index
    order = np.argsort(reduced_costs(x, *known, prices), kind="stable")[: prices.stage.starts // KNOWN]
    members = np.unpackbits(as_bytes(known[0][order]), axis=1, bitorder="little")
    inside = members[:, searches.candidates(child)].astype(np.bool_)
    starts = _starts(inside, prices.stage.starts, np.random.default_rng((prices.stage.round, x)))
    varsets, costs = searches.climb(child, known, starts, halt)
    varsets, places = np.unique(varsets, axis=0, return_index=True)
    costs = costs[places]
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
