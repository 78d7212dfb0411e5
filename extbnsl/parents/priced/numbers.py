"""Families by price of columns of numbers, each child's found by a search over all sets of its candidates."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.parents.exhaustive.by_child import children_judged, parts_judged
from extbnsl.parents.exhaustive.by_level import AHEAD
from extbnsl.parents.exhaustive.children import ANY_NUMBER, Child, Found
from extbnsl.parents.exhaustive.problem import Families
from extbnsl.parents.exhaustive.regressed import Regressed
from extbnsl.parents.exhaustive.regressions import Interest, everything
from extbnsl.parents.exhaustive.state import Enumeration, Means
from extbnsl.parents.priced.cuts import cuts_of_child
from extbnsl.parents.priced.prices import Prices
from extbnsl.parents.priced.rounds import Networks, judge_by_price
from extbnsl.parents.priced.shown import is_dear, is_given_up, through_first, with_open, without_first
from extbnsl.parents.pruning import merged

AT_FIRST = 2  # parents of which all sets are judged before the first round, beside those that must be
MOST_AT_FIRST = 4_000_000  # of them together, else those of one are
ROOM = 1 << 12  # families on the way of a child's climbs


@dataclass(frozen=True)
class PricedNumbers:
    """The children of a source. See `rounds.Priced`."""

    source: Regressed

    @property
    def among(self) -> NDArray[np.bool_]:
        return np.ones(self.source.order.size, np.bool_)

    @property
    def lowest(self) -> float:
        return math.fsum(map(self.source.least, range(self.source.order.size)))

    def children(self, found: Enumeration) -> tuple[Child, ...]:
        """Those first that have least to gain: few of their sets are of interest."""
        gains = [own.max() - self.source.least(x) for x, own in enumerate(found.costs)]
        nothing = np.zeros(0, np.int64), np.zeros((0, 0), np.uint8)
        return tuple(Child(x, *nothing) for x in np.argsort(gains, kind="stable").tolist())

    def searches(self, found: Enumeration, means: Means) -> "RoundOfNumbers":
        assert found.prices is not None, "a round has prices"
        return RoundOfNumbers(self.source, found.prices)

    def with_few_parents(self, found: Enumeration, means: Means) -> Enumeration:
        """`found`, whose searches were given up, with the families of few parents of all children."""
        workers, n = means.workers, self.source.order.size
        most = AT_FIRST if math.comb(n, AT_FIRST) * n <= MOST_AT_FIRST else 1
        parents, costs = list(found.parents), list(found.costs)
        tasks = ((self.source, x, most, workers.halt) for x in range(n))
        for x, own in enumerate(workers.spread(of_few_parents, tasks, AHEAD * workers.threads)):
            both = (parents[x], costs[x]), (own.varsets, own.costs), 0.0, workers.halt
            parents[x], costs[x] = map(means.shelf.put, workers.run(merged, *both))
            found = replace(found, varsets=found.varsets + own.counted, families=found.families + own.costs.size)
        return replace(found, parents=tuple(parents), costs=tuple(costs), children=(), parts=0, pairs=None)


@dataclass(frozen=True)
class RoundOfNumbers:
    """The searches of a round. See `rounds.Searches`."""

    source: Regressed
    prices: Prices

    def searched(self, found: Enumeration, means: Means, begun: dict[int, Any]) -> Iterator[Enumeration]:
        assert found.prices is not None, "a round has prices"
        source, workers, told = self.source, means.workers, found.prices.told
        least = [source.least(child.index) - self._counted(child) for child in found.children]
        found, n = replace(found, prices=with_open(found.prices, found.children, least)), source.order.size
        given = ((self, child, workers.halt) for child in found.children[found.parts :])
        results = workers.spread(search_child, given, AHEAD * workers.threads)
        while found.children:
            for known in parts_judged(found, results, 1, 0.0, means):
                found = known
            if is_given_up(found):
                yield found
                return
            found = without_first(found) if is_dear(found) else through_first(found)
            judged = n - len(found.children)
            means.observer(children_judged(judged, n, f"{told}child {judged} of {n}"))
            yield found

    def swept(self, found: Enumeration, means: Means) -> Enumeration:
        return found  # sets of one child have nothing in common with those of another

    def candidates(self, child: Child) -> NDArray[np.int64]:
        return self.source.constraints.candidates(child.index)

    def climb(self, child: Child, known: Families, starts: NDArray[np.bool_], halt: NDArray[np.uint8]) -> Families:
        found = self.source.climbed(child.index, self.interest(child), starts, ROOM, halt)
        return found.varsets, found.costs

    def interest(self, child: Child) -> Interest:
        """Which families of a child are of interest."""
        x, prices = child.index, self.prices
        stage, margin = prices.stage, self.source.measured.columns[x].slack(0.0)
        must = self.source.constraints.required[:, x]
        return Interest(
            cuts=cuts_of_child(x, self.candidates(child), must, prices),
            reduced=float(prices.least[x] + prices.gaps[x]) + margin,
            effort=stage.effort if stage.rough else ANY_NUMBER,
            most=ANY_NUMBER if stage.starts else stage.most,
        )

    def _counted(self, child: Child) -> float:
        """What a family of a child counts for at most, in nats: all cuts, each as often as it can be."""
        cuts = self.interest(child).cuts
        return float(cuts.multipliers @ ((np.diff(cuts.clusters) + 1) // 2))


def of_few_parents(source: Regressed, child: int, most: int, halt: NDArray[np.uint8]) -> Found:
    """The families of a child of so many parents at most, beside those that must be. A pure function, but for
    `halt`."""
    return source.searched(child, 0.0, everything(), halt, most)


def search_child(searches: RoundOfNumbers, child: Child, halt: NDArray[np.uint8]) -> Found:
    """The families of a child that are of interest. A pure function of values, but for `halt`."""
    return searches.source.searched(child.index, 0.0, searches.interest(child), halt)


def numbers_by_price(source: Regressed, found: Enumeration, means: Means, networks: Networks) -> Iterator[Enumeration]:
    """`judge_by_price` of a source, the plain search of one of whose children was given up."""
    priced = PricedNumbers(source)
    if found.prices is None:
        found = priced.with_few_parents(found, means)
    yield from judge_by_price(priced, found, means, networks)
