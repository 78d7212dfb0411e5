"""Lower bounds from multipliers of cuts: the integer programmers' cuts as a bound for the search.

In an order of the variables, the first member of a cluster C has no parent inside C. So with any multipliers
lambda_C >= 0 the cost of a network is at least what it is under the reduced costs c'(X, P) = c(X, P) - sum of lambda_C
over the clusters C with X in C and P disjoint from C, plus the sum of all lambda_C. Without the order that is

    root = sum of lambda_C + sum of mu_X,   mu_X = min over P of c'(X, P),

and h1(U) = sum of lambda_C over the C disjoint from U + sum of mu_X over X outside U is a consistent bound for the
search. It is the same with cuts of three clusters, see below, where a family and what is left to fulfil may count
twice: if X is placed after U with parents in U, it counts for each cluster with X that is disjoint from U, and so for
no less than what X takes from the bound.

The greedy ascent raises clusters alone, beside the other cuts that there are; dual ascent: Troesser, de Givry and
Katsirelos 2021.

Cuts are what the families of every network together fulfil. By the first member of each cluster, of a network's
families at least one counts for C: one of a child X in C with parents P disjoint from C (Jaakkola et al. 2010). A cut
is a cluster, or three: their inequalities added, halved and rounded up, so that with k(X, P) of the three that a family
counts for

    sum over the families of ceil(k(X, P) / 2) >= 2

(a {0, 1/2}-cut, Caprara and Fischetti 1996; a single variable may be one of the three, every family of it counts).
Once the variables of U are placed, only the clusters disjoint from U are left of a cut, and with j of them the
families of the others still sum to at least ceil(j / 2), by the same argument.

For j up to three, ceil(j / 2) is j, less the pairs among them, plus twice the triple. Clusters are disjoint from U
together exactly if their union is. So for the search, which asks for nothing but what is disjoint from a node, three
clusters are seven unions, with weights of either sign.

A cut is (3, words) uint64, the clusters that it lacks without members, at the end.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.codec import IN_FILE, UNKEPT
from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inner, njit
from extbnsl.kernels.varsets import renumber, words
from extbnsl.machine.workers import unhalted

MEMBERS = 3  # clusters of a cut, at most


def single_cuts(clusters: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Clusters (k, words) as cuts (k, 3, words)."""
    cuts = np.zeros((clusters.shape[0], MEMBERS, clusters.shape[1]), np.uint64)
    cuts[:, 0] = clusters
    return cuts


def no_cuts(words: int) -> NDArray[np.uint64]:
    """Cuts (0, 3, words)."""
    return np.zeros((0, MEMBERS, words), np.uint64)


def unions(cuts: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
    """The unions that make up the cuts: varsets (t, words), the cut (t,) that each is of, and its sign, 1, -1 or 2."""
    found, cut, sign = [], [], []
    some_members = np.any(cuts, axis=2)
    for size, times in ((1, 1), (2, -1), (3, 2)):
        for some in itertools.combinations(range(MEMBERS), size):
            there = np.flatnonzero(some_members[:, some].all(axis=1))
            found.append(np.bitwise_or.reduce(cuts[there][:, some], axis=1))
            cut.append(there)
            sign.append(np.full(there.size, times))
    return np.concatenate(found), np.concatenate(cut), np.concatenate(sign)


def requirements(cuts: NDArray[np.uint64]) -> NDArray[np.int64]:
    """What the families of a network must sum to, for each cut: 1 for a cluster, 2 for three."""
    return (cuts.any(axis=2).sum(axis=1, dtype=np.int64) + 1) >> 1


@inner
def has(varset, x):
    """Whether x is a member: 1 or 0."""
    return (varset[x >> 6] >> u64(x & 63)) & u64(1)


@inner
def holds(cut, x):
    """Whether x is in a cluster of the cut, so that families of x may count for it."""
    return has(cut[0], x) or has(cut[1], x) or has(cut[2], x)


@inner
def is_cluster(cut):
    """Whether the cut is one cluster only."""
    return not cut[1].any()


@inner
def count_times(parents, cut, x, lo, hi, times):
    """times[j], uint8: how much family j of child x, lo <= j < hi, counts for the cut: 0, 1 or 2."""
    times[lo:hi] = 0
    for k in range(cut.shape[0]):
        if not has(cut[k], x):
            continue
        if parents.shape[0] == 1:
            for j in range(lo, hi):
                times[j] += u64(0) if parents[0, j] & cut[k, 0] else u64(1)
        else:
            for j in range(lo, hi):
                common = u64(0)
                for w in range(parents.shape[0]):
                    common |= parents[w, j] & cut[k, w]
                times[j] += u64(0) if common else u64(1)
    if not is_cluster(cut):
        for j in range(lo, hi):
            times[j] = (times[j] + u64(1)) >> u64(1)


UNIT = 2.0**-36  # nats: multipliers are whole multiples of it, so that sums of them are exact
MOST_UNITS = 2.0**61  # of all multipliers together, each of which may count twice


class FamilyArrays(NamedTuple):
    """The families of n children: parents (words, m) uint64 and costs (m,) float64, those of child X in rows
    first[X]:first[X + 1]."""

    parents: NDArray[np.uint64]
    costs: NDArray[np.float64]
    first: NDArray[np.int64]

    def has_each(self, left: NDArray[np.bool_]) -> bool:
        """Whether each child has one of the families that are left, (m,)."""
        return bool(np.logical_or.reduceat(left, self.first[:-1]).all())


Support = tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.float64]]  # parents (words, m), child and x (m,)


def families_of(parents: Sequence[NDArray[np.uint64]], costs: Sequence[NDArray[np.float64]]) -> FamilyArrays:
    """Families of parents[X] (m_X, words) and costs[X] (m_X,)."""
    first = np.cumsum([0, *map(len, costs)], dtype=np.int64)
    return FamilyArrays(np.ascontiguousarray(np.concatenate(parents).T), np.concatenate(costs), first)


@dataclass(frozen=True)
class Multipliers:
    """Cuts (k, 3, words) uint64 with multipliers weights (k,) int64 > 0, in UNITs; least (n,) float64: mu of each
    child, in nats, and the reduced costs (m,), which follow from the families. root: the bound of every network that
    these allow."""

    cuts: Annotated[NDArray[np.uint64], IN_FILE]
    weights: Annotated[NDArray[np.int64], IN_FILE]
    least: Annotated[NDArray[np.float64], UNKEPT] = field(default_factory=lambda: np.zeros(0))
    reduced: Annotated[NDArray[np.float64], UNKEPT] = field(default_factory=lambda: np.zeros(0))

    @property
    def root(self) -> float:
        return float(self.weights @ requirements(self.cuts)) * UNIT + float(self.least.sum())

    @property
    def without_costs(self) -> "Multipliers":
        """The same as a proof needs them, without the reduced costs."""
        return replace(self, reduced=np.zeros(0))


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


Weighted = tuple[NDArray[np.uint64], NDArray[np.int64]]  # cuts (k, 3, words), and their weights (k,) in UNITs


def between(one: Weighted, other: Weighted, share: float) -> Weighted:
    """The weights between those of two, of one so large a share, rounded down."""
    cuts = np.concatenate([one[0], other[0]])
    parts = np.concatenate([np.floor(one[1] * share), np.floor(other[1] * (1.0 - share))]).astype(np.int64)
    rows, places = np.unique(cuts, axis=0, return_inverse=True)
    weights = np.zeros(len(rows), np.int64)
    np.add.at(weights, places.reshape(-1), parts)
    return rows[weights > 0], weights[weights > 0]


def rounded_multipliers(
    families: FamilyArrays,
    cuts: NDArray[np.uint64],
    weights: NDArray[np.float64],
    halt: NDArray[np.uint8] | None = None,
) -> Multipliers:
    """`multipliers_of` with the weights (k,) in nats, rounded down to whole UNITs; without cuts of no weight."""
    whole = np.floor(np.minimum(weights / UNIT, MOST_UNITS / max(1, weights.size))).astype(np.int64)
    return multipliers_of(families, cuts[whole > 0], whole[whole > 0], halt)


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
