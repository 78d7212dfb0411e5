"""Prices of families: multipliers, what each child's families cost at least beside them, and what follows for all
networks.

A network has one family of each child, which together count for each cut as often as that requires. So with c'(X, P) =
c(X, P) - l(P), l(P) being what P counts for times the multipliers, every network costs at least

    root = sum of the multipliers, each as often as its cut requires, + sum over the children X of mu_X,

where mu_X is the least c' of any family of X; and one that has (X, P) costs at least root + c'(X, P) - mu_X. A parent
set that costs as much as a subset is not needed: the subset counts for no less. So nothing but the undominated families
with c' < mu_X + UB - root are in networks that cost less than UB, of which one may be known.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.multipliers import UNIT, families_of, multipliers_of, renamed, requirements
from extbnsl.core.codec import Lowest, Whole


@dataclass(frozen=True)
class Stage:
    """Which families a round of pricing is after, and what all rounds have brought so far.

    round: its number.
    starts: from how many sets of each child it climbs, instead of finding all families of interest; 0 if it does that.
    gap: a family is of interest that costs so many nats more than the cheapest known one, both less what they count; or
    so many less, if it is negative: then the round is rough, and so far most children leave more open.
    cost: of the best network known.
    bound: what every network costs at least.
    began: how many families were known before.
    found: how many had been found before, those that were dropped again among them.
    dry: how many local rounds in turn have brought little.
    most: after how many finds a full round is given up.
    effort: after how many nodes a rough round gives a child up.
    swept: up to how many parents a rough round has gone through all sets, so that it searches for larger ones alone.
    counted: how many sets of variables had been counted before, in a rough round before the child that is in work.
    """

    round: Whole
    starts: Whole
    gap: float
    cost: float
    bound: Lowest
    began: Whole
    found: Whole
    dry: Whole = 0
    most: Whole = 0
    effort: Whole = 0
    swept: Whole = 0
    counted: Whole = 0

    @property
    def rough(self) -> bool:
        """Whether it looks for those families alone that are cheaper than all known ones by as much."""
        return self.gap < 0.0


@dataclass(frozen=True)
class Prices:
    """The prices of a round, over n variables.

    stage: which round that is.
    cuts (k, 3, words) uint64, weights (k,) int64 in UNITs: the multipliers.
    least (n,) float64: the least c' of the families of each child that were known before, in nats.
    shown (n,) float64: what c' is at least of those that were not, as far as that is known by now.
    order (n,) int64: of the best network known.
    gaps (n,) float64: the gap of each child, which is that of the stage but for rough rounds.
    leading (k, 3, words) uint64, leads (k,) int64 in UNITs: the multipliers of the earlier round that has shown most.
    """

    stage: Stage
    cuts: NDArray[np.uint64]
    weights: NDArray[np.int64]
    least: NDArray[np.float64]
    shown: NDArray[np.float64]
    order: NDArray[np.int64]
    gaps: NDArray[np.float64]
    leading: NDArray[np.uint64]
    leads: NDArray[np.int64]

    @property
    def best(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """The cuts and weights that have shown most, this round's among them."""
        if self.root > self.stage.bound:
            return self.cuts, self.weights
        return self.leading, self.leads

    @property
    def arrays(self) -> dict[str, NDArray]:
        """Its arrays by their names."""
        return {name: own for name, own in vars(self).items() if name != "stage"}

    @property
    def root(self) -> float:
        """What every network costs at least by these multipliers, as far as is known by now, in nats."""
        return self.root_before - self.short

    @property
    def root_before(self) -> float:
        """What every network of the families known before costs at least, in nats."""
        return float(self.weights @ requirements(self.cuts)) * UNIT + float(self.least.sum())

    @property
    def short(self) -> float:
        """How much less a network of others may cost, in nats."""
        return float(np.maximum(0.0, self.least - self.shown).sum())

    @property
    def bound(self) -> float:
        """What every network costs at least by all rounds, in nats."""
        return max(self.stage.bound, self.root)

    @property
    def told(self) -> str:
        """Which round it is, for a person."""
        return f"round {self.stage.round + 1}, "


@dataclass(frozen=True)
class Priced:
    """What prices have shown of the networks over n variables.

    cuts (k, 3, words) uint64, weights (k,) int64 in UNITs: the last multipliers.
    order (n,) int64: of the best network known.
    bound: what every network costs at least, in nats.
    """

    cuts: NDArray[np.uint64]
    weights: NDArray[np.int64]
    order: NDArray[np.int64]
    bound: float


def priced_over(prices: Prices, order: NDArray[np.int64], n: int) -> Priced:
    """What they have shown, over n variables of which these (m,) int64 are those of the prices; the others, which have
    no parents but those that they must have, come last."""
    others = np.setdiff1d(np.arange(n), order)
    cuts = renamed(prices.cuts, order, n)
    return Priced(cuts, prices.weights, np.concatenate([order[prices.order], others]), prices.bound)


def reduced_costs(
    x: int, parents: NDArray[np.uint64], costs: NDArray[np.float64], prices: Prices
) -> NDArray[np.float64]:
    """c' of some families of a child, parents (m, words) and costs (m,), in nats. O(m cuts)."""
    lists, paid = [np.zeros((0, parents.shape[1]), np.uint64)] * prices.least.size, [np.zeros(0)] * prices.least.size
    lists[x], paid[x] = parents, costs
    found = multipliers_of(families_of(lists, paid), prices.cuts, prices.weights)
    return found.reduced + found.least[x]
