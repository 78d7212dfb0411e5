"""Lower bounds from multipliers of cuts: the integer programmers' cuts as a bound for the search.

In an order of the variables, the first member of a cluster C has no parent inside C. So with any multipliers
lambda_C >= 0 the cost of a network is at least what it is under the reduced costs c'(X, P) = c(X, P) - sum of lambda_C
over the clusters C with X in C and P disjoint from C, plus the sum of all lambda_C. Without the order that is

    root = sum of lambda_C + sum of mu_X,   mu_X = min over P of c'(X, P),

and h1(U) = sum of lambda_C over the C disjoint from U + sum of mu_X over X outside U is a consistent bound for the
search. It is the same with cuts of three clusters, see `cuts`, where a family and what is left to fulfil may count
twice: if X is placed after U with parents in U, it counts for each cluster with X that is disjoint from U, and so for
no less than what X takes from the bound.

The greedy ascent raises clusters alone, beside the other cuts that there are; dual ascent: Troesser, de Givry and
Katsirelos 2021.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.cuts import MEMBERS, count_times, holds, no_cuts, requirements, weighted_unions
from extbnsl.core.codec import IN_FILE, UNKEPT
from extbnsl.kernels.compiler import borrowed, njit
from extbnsl.kernels.varsets import WORD_BITS, pack, renumber, words
from extbnsl.machine.workers import unhalted

UNIT = 2.0**-36  # nats: multipliers are whole multiples of it, so that sums of them are exact
MOST_UNITS = 2.0**61  # of all multipliers together, each of which may count twice


class FamilyArrays(NamedTuple):
    """The families of n children: parents (words, m) uint64 and costs (m,) float64, those of child X in rows
    first[X]:first[X + 1]."""

    parents: NDArray[np.uint64]
    costs: NDArray[np.float64]
    first: NDArray[np.int64]

    def check(self) -> None:
        """Assert every invariant: each row of one child, no child its own parent or one that is not there."""
        assert self.first[0] == 0, "the first child's families come first"
        assert self.first[-1] == self.costs.size == self.parents.shape[1], "every family is some child's"
        assert (np.diff(self.first) >= 0).all(), "children in order"
        assert not np.isnan(self.costs).any(), "costs are numbers"
        n = self.first.size - 1
        assert self.parents.shape[0] == words(n), "as many words as the variables need"
        varsets, everyone = np.ascontiguousarray(self.parents.T), pack(range(n), n)
        assert not (varsets & ~everyone).any(), "parents are variables"
        for x in range(n):
            assert not (varsets[self.first[x] : self.first[x + 1]] & pack((x,), n)).any(), "no child is its own parent"


def families_of(parents: Sequence[NDArray[np.uint64]], costs: Sequence[NDArray[np.float64]]) -> FamilyArrays:
    """Families of parents[X] (m_X, words) and costs[X] (m_X,)."""
    first = np.cumsum([0] + [c.size for c in costs], dtype=np.int64)
    return FamilyArrays(np.ascontiguousarray(np.concatenate(parents).T), np.concatenate(costs), first)


@dataclass(frozen=True)
class Multipliers:
    """Cuts (k, 3, words) uint64 with multipliers weights (k,) int64 > 0, in UNITs; least (n,) float64: mu of each
    child, in nats. root: the bound of every network that the families allow."""

    cuts: Annotated[NDArray[np.uint64], IN_FILE]
    weights: Annotated[NDArray[np.int64], IN_FILE]
    least: Annotated[NDArray[np.float64], UNKEPT] = field(
        default_factory=lambda: np.zeros(0)
    )  # these follow from the families
    reduced: Annotated[NDArray[np.float64], UNKEPT] = field(default_factory=lambda: np.zeros(0))

    @property
    def root(self) -> float:
        return float(self.weights @ requirements(self.cuts)) * UNIT + float(self.least.sum())

    def check(self, families: FamilyArrays) -> None:
        """Assert every invariant: multipliers of these families, of cuts as `cuts` says, that leave no cost below 0."""
        assert self.cuts.shape == (self.weights.size, MEMBERS, families.parents.shape[0]), "one weight for each cut"
        assert (self.weights > 0).all(), "multipliers are above zero"
        members = np.any(self.cuts, axis=2)
        assert members[:, 0].all(), "every cut has a cluster"
        assert (members[:, :-1] >= members[:, 1:]).all(), "clusters without members come last"
        assert self.least.size == families.first.size - 1, "one least cost for each child"
        assert self.reduced.size == families.costs.size, "one reduced cost for each family"
        for lo, hi in itertools.pairwise(families.first.tolist()):
            assert lo == hi or self.reduced[lo:hi].min() == 0.0, "above the least of the child"

    def value(self, varset: int) -> float:
        """h1 of one varset."""
        waiting = 0
        for cut, weight in zip(self.cuts, self.weights.tolist(), strict=True):
            masks = [sum(int(word) << WORD_BITS * w for w, word in enumerate(row)) for row in cut]
            waiting += (sum(bool(mask) and not mask & varset for mask in masks) + 1) // 2 * weight
        return waiting * UNIT + sum(float(mu) for x, mu in enumerate(self.least) if not varset >> x & 1)


class ClusterBound(NamedTuple):
    """h1 of a component of at most 64 variables, ready for the search: masks (t,) uint64 and weights (t,) int64 of the
    unions that make up the cuts, in UNITs; waiting (8, 256) float64: the sum of mu over the variables of a byte that a
    value of it lacks. cuts (k, 3, 1) and multipliers (k,) int64: for ascents at nodes.
    """

    masks: NDArray[np.uint64]
    weights: NDArray[np.int64]
    waiting: NDArray[np.float64]
    cuts: NDArray[np.uint64]
    multipliers: NDArray[np.int64]

    def check(self) -> None:
        """Assert every invariant: distinct unions that weigh something, which make up the cuts."""
        assert self.masks.size == self.weights.size == np.unique(self.masks).size, "one weight for each union"
        assert (self.masks != 0).all(), "unions have members"
        assert (self.weights != 0).all(), "they weigh something"
        assert self.waiting.shape == (8, 256), "a row for each byte"
        assert (self.waiting[:, 255] == 0.0).all(), "who is there waits for nothing"
        assert self.cuts.shape == (self.multipliers.size, MEMBERS, 1), "one multiplier for each cut"
        assert int(self.weights.sum()) == int(self.multipliers @ requirements(self.cuts)), "the same bound at the root"


def _no_clusters() -> ClusterBound:
    """What says nothing of a node that lacks a variable, so that any other bound is the larger one; costs may be below
    zero."""
    waiting = np.full((8, 256), -np.inf)
    waiting[:, 255] = 0.0
    return ClusterBound(np.zeros(0, np.uint64), np.zeros(0, np.int64), waiting, no_cuts(1), np.zeros(0, np.int64))


NO_CLUSTERS = _no_clusters()


def cluster_bound(multipliers: Multipliers, new: NDArray[np.int64]) -> ClusterBound:
    """The bound with variable x called new[x]."""
    cuts = renamed(multipliers.cuts, new, new.size)
    masks, weights = weighted_unions(cuts, multipliers.weights)
    least = np.zeros(WORD_BITS)
    least[new] = multipliers.least
    missing = (~np.arange(256)[:, None] >> np.arange(8)) & 1  # value, bit
    waiting = least.reshape(8, 8) @ missing.T.astype(float)
    return ClusterBound(masks[:, 0], weights, waiting, cuts, multipliers.weights)


def renamed(cuts: NDArray[np.uint64], new: NDArray[np.int64], variables: int) -> NDArray[np.uint64]:
    """The cuts with variable x called new[x], among so many; all their members have new names."""
    return renumber(cuts.reshape(-1, cuts.shape[2]), new, variables).reshape(-1, MEMBERS, words(variables))


def multipliers_of(
    families: FamilyArrays, cuts: NDArray[np.uint64], weights: NDArray[np.int64], halt: NDArray[np.uint8] | None = None
) -> Multipliers:
    """The bound of given multipliers; of no use once halt[0] is set. O(sum over the cuts of their members' families):
    a second for a million families and a thousand cuts of all of them."""
    reduced, least = np.empty(families.costs.size), np.empty(families.first.size - 1)
    reduce(families, cuts, weights * UNIT, weights.size, reduced, least, unhalted() if halt is None else halt)
    return Multipliers(cuts, weights, least, reduced)


def no_multipliers(families: FamilyArrays) -> Multipliers:
    """The bound by the cheapest family of each child."""
    return multipliers_of(families, no_cuts(families.parents.shape[0]), np.zeros(0, np.int64))


def whole_units(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Multipliers in nats as whole UNITs, rounded down."""
    return np.floor(np.minimum(weights / UNIT, MOST_UNITS / max(1, weights.size))).astype(np.int64)


@njit
def reduce(families, cuts, weights, count, reduced, least, halt):
    """The reduced cost of every family above the least of its child, and these least; of no use once halt[0] is set."""
    families, cuts, weights, reduced, least, halt = borrowed((families, cuts, weights, reduced, least, halt))
    parents, costs, first = families.parents, families.costs, families.first
    times = np.empty(costs.size, np.uint8)
    for x in range(first.size - 1):
        lo, hi = first[x], first[x + 1]
        for j in range(lo, hi):
            reduced[j] = costs[j]
        for c in range(count):
            if halt[0]:
                return
            if holds(cuts[c], x):
                count_times(parents, cuts[c], x, lo, hi, times)
                for j in range(lo, hi):
                    reduced[j] -= weights[c] * times[j]
        least[x] = np.inf
        for j in range(lo, hi):
            least[x] = min(least[x], reduced[j])
        for j in range(lo, hi):
            reduced[j] -= least[x]
