"""Between which values the weight of all networks lies, where a sum over all of them takes too long: from groups of
variables, small enough for such sums.

Let Z be the sum of exp(-cost) over all networks, and let every variable be in one of some groups.

**From below.** Let the groups stand in an order. A choice of families without parents in later groups is a network if
it has no cycle inside a group. So these networks weigh the product, over the groups, of the sum over the choices of
families of their variables that have no cycle inside. Each of them is counted once, so Z is no less. What networks with
an arc from a later group to an earlier one weigh may be added to that. With groups of one variable these are all
networks that keep to an order.

**From above.** The arcs of a network inside a group have no cycle. So Z is at most the product, over the groups, of the
sum over the choices of families of their variables, whatever parents these have elsewhere, that have no cycle inside.

**Clusters.** The first member of a cluster C in an order of a network has no parent in C. So at least one family of a
network counts for C: that of a member, with parents that are all outside. Let m_C >= 0, and let each family weigh
exp(the sum of m_C over the clusters that it counts for) times as much. Then each network weighs at least exp(the sum of
all m_C) times as much: Z <= exp(-the sum of all m_C) Z', and Z' of these weights is bounded by groups. The logarithm of
this is convex in the multipliers, and changes by that of C by the expected number of families that count for C, less
1. So it is descended along its gradient, from multipliers that are good for the network of least cost, each by steps of
its own (Kingma and Ba 2015) that become smaller. It holds whatever they are.

Inside a group all is exact: the sums are those of `networks`, with families that are alike inside it as one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.ascent import find_multipliers, multipliers_bytes
from extbnsl.bounds.groups import pair_weights
from extbnsl.bounds.multipliers import UNIT, families_of
from extbnsl.core.events import ignore
from extbnsl.kernels.varsets import gathered, pack, renumber
from extbnsl.machine.workers import chunks
from extbnsl.parents.exhaustive.state import Means
from extbnsl.posteriors.descent import Descent
from extbnsl.posteriors.networks import NetworkSums, log_between, log_weight, seconds_needed, sum_over_networks
from extbnsl.posteriors.tuning import good_groups
from extbnsl.scores.local import LocalScores, canonical_order

WIDTH_BELOW, WIDTH_ABOVE = 16, 13  # variables of a group: of one sum, and of one for each step of the descent
ROUNDS = 10  # of the search for the first multipliers
MOST_STEPS = 100  # of the descent
STEP_NATS = 2.0  # of a multiplier, in the first step
MEAN_KEPT, SQUARE_KEPT = 0.9, 0.99  # of what slopes, and their squares, have been on average, in a step
MOST_SECONDS = 2.0  # about so long it may take
MOST_COUNTED = 1 << 24  # families and clusters for which it is known whether the one counts for the other
TOGETHER = 1 << 12  # clusters whose members are told apart together
ENTRY_BYTES = 16
ENTRY_SECONDS, FAMILY_SECONDS, CHILD_SECONDS = 4e-9, 5e-8, 2e-4  # of a step: for each of these, and so on
ROUNDING = 2.0**-40  # of a logarithm, of what it is made of


@dataclass(frozen=True)
class LogWeight:
    """Between which values the logarithm of the weight of all networks lies. groups: at_least is about the networks
    without arcs from a later one of these to an earlier one; empty where it is about all."""

    at_least: float
    at_most: float
    groups: tuple[tuple[int, ...], ...] = ()


def weigh(scores: LocalScores, order: Sequence[int], means: Means) -> LogWeight | None:
    """Between which values the weight of all networks with these families lies: all of it is known, but for rounding,
    if it can be summed in `networks.MOST_SECONDS`, and else there are bounds; None if rounding leaves it in doubt.

    order: of the variables, to which a good network keeps. Raises Stopped as the workers do, BudgetError if there is
    too little room.
    """
    whole = log_weight(scores, means)
    if whole is not None:
        near = _rounding(scores)
        return LogWeight(whole[0] - near, whole[1] + near)
    means = replace(means, observer=ignore)
    groups = tuple(tuple(order[lo:hi]) for lo, hi in chunks(scores.variables, WIDTH_BELOW))
    below, above = _from_below(scores, groups, means), _from_above(scores, means)
    return None if below is None or above is None else LogWeight(below, above, groups)


def not_backwards(groups: Sequence[Sequence[int]], parents: Sequence[NDArray[np.uint64]]) -> list[NDArray[np.bool_]]:
    """Which of the parent sets (m, words) of each child have no member in a later group than the child's."""
    n, before = len(parents), list[int]()
    found: list[NDArray[np.bool_]] = [np.ones(len(own), np.bool_) for own in parents]
    for group in groups:
        before += group
        later = ~pack(before, n)
        for x in group:
            found[x] = ~np.asarray((parents[x] & later).any(axis=1))
    return found


def _from_below(scores: LocalScores, groups: Sequence[Sequence[int]], means: Means) -> float | None:
    """The logarithm of what networks without arcs from a later group to an earlier one weigh; None if in doubt."""
    kept = not_backwards(groups, scores.parents)
    if not all(own.any() for own in kept):
        return -math.inf
    some = scores.only(kept)
    grouped = _Grouped(some, groups)
    within = log_between(grouped.summed(grouped.costs, means))
    return None if within is None else within[0] - _rounding(some)


def _from_above(scores: LocalScores, means: Means) -> float | None:
    """The logarithm of a bound of what all networks weigh; None if it is in doubt."""
    n = scores.variables
    groups = good_groups(pair_weights(scores.parents, scores.costs), -(-n // WIDTH_ABOVE))
    grouped = _Grouped(scores, groups)
    clusters, multipliers = _clusters(scores, groups, means)
    counts = [_counts(x, child.parents, clusters) for x, child in enumerate(grouped.children)]
    counted = sum(own.size for own, _ in counts)
    seconds = ENTRY_SECONDS * counted + FAMILY_SECONDS * scores.families + CHILD_SECONDS * n
    seconds += sum(seconds_needed(len(group)) for group in groups)
    descent, best = Descent(multipliers.size, MEAN_KEPT, SQUARE_KEPT), math.inf
    steps = max(1, min(MOST_STEPS, int(MOST_SECONDS / seconds))) if multipliers.size else 1
    for step in range(1, steps + 1):
        costs = [own - counts @ multipliers[which] for own, (counts, which) in zip(grouped.costs, counts, strict=True)]
        sums = grouped.summed(costs, means)
        within = log_between(sums)
        if within is None:
            return None if best == math.inf else best
        total = math.fsum(multipliers.tolist())
        best = min(best, within[1] - total + _rounding(scores, total))
        slope = np.full(multipliers.size, -1.0)
        for shares, (own, which) in zip(grouped.shares(costs, sums), counts, strict=True):
            slope[which] += shares @ own
        change = STEP_NATS / math.sqrt(step) * descent.direction(slope)
        multipliers = np.maximum(0.0, multipliers - change)
    return best


def _clusters(
    scores: LocalScores, groups: Sequence[Sequence[int]], means: Means
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Clusters (k, words) that are inside no group, as many as there is room for, and first multipliers (k,): those
    with positive ones, and pairs."""
    n, threads = scores.variables, means.workers.threads
    clusters, multipliers = np.zeros((0, scores.parents[0].shape[1]), np.uint64), np.zeros(0)
    if multipliers_bytes(scores.costs, n, threads) <= means.shelf.memory:
        found = find_multipliers(families_of(scores.parents, scores.costs), None, ROUNDS, 0, means.workers)
        clusters, multipliers = found.cuts[:, 0], found.weights * np.float64(UNIT)
    both = np.stack(np.tril_indices(n, -1), axis=1)
    pairs = gathered(np.repeat(np.arange(len(both)), 2), both.ravel(), len(both), n)
    clusters, first = np.unique(np.concatenate([clusters, pairs]), axis=0, return_index=True)
    multipliers = np.append(multipliers, np.zeros(len(pairs)))[first]
    across = ~np.any([~(clusters & ~pack(group, n)).any(axis=1) for group in groups], axis=0)
    clusters, multipliers = clusters[across], multipliers[across]
    order = np.argsort(-multipliers, kind="stable")
    sizes, counts = np.array([own.size for own in scores.costs], np.float64), np.zeros(len(clusters))
    for lo, hi in chunks(len(clusters), TOGETHER):
        members = np.unpackbits(clusters[lo:hi].astype("<u8").view(np.uint8), axis=1, count=n, bitorder="little")
        counts[lo:hi] = members.astype(np.float64) @ sizes  # products of whole numbers are slow
    counted = counts[order].cumsum()
    order = order[: np.searchsorted(counted, min(MOST_COUNTED, means.shelf.memory // ENTRY_BYTES), side="right")]
    return clusters[order], multipliers[order]


def _counts(
    child: int, parents: NDArray[np.uint64], clusters: NDArray[np.uint64]
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which of a child's families (m, words) count for each of the clusters that it is a member of, (m, k), and which
    clusters these are, (k,)."""
    which = np.flatnonzero((clusters & pack((child,), clusters.shape[1] * 64)).any(axis=1))
    found = np.empty((len(parents), which.size), np.bool_)
    for at, cluster in enumerate(clusters[which]):
        found[:, at] = ~(parents & cluster).any(axis=1)
    return found, which


class _Child(NamedTuple):
    """The families (m,) of a child, those together whose parents are the same in its group: parents (m, words), the
    first row of each of these (u,), and what they have in the group, (u, words)."""

    parents: NDArray[np.uint64]
    first: NDArray[np.int64]
    inside: NDArray[np.uint64]


class _Grouped:
    """Families by what of their parents lies in the group of the child."""

    def __init__(self, scores: LocalScores, groups: Sequence[Sequence[int]]) -> None:
        n = scores.variables
        self._scores = scores
        self.children = [_Child(own, np.zeros(0, np.int64), own) for own in scores.parents]
        self.costs = list(scores.costs)
        for group in groups:
            place = np.full(n, -1, np.int64)
            place[list(group)] = np.arange(len(group))
            for x in group:
                inside = renumber(scores.parents[x], place, len(group))[:, 0]
                order = np.argsort(inside, kind="stable")
                first = np.flatnonzero(np.append(True, np.diff(inside[order]) > 0))
                parents = scores.parents[x][order]
                self.children[x] = _Child(parents, first, parents[first] & pack(group, n))
                self.costs[x] = scores.costs[x][order]

    def summed(self, costs: Sequence[NDArray[np.float64]], means: Means) -> NetworkSums:
        """The sums over all choices of families without a cycle inside a group, of which each costs this."""
        parents, together = [], [_together(own, child.first) for own, child in zip(costs, self.children, strict=True)]
        for x, child in enumerate(self.children):
            order = canonical_order(child.inside, together[x])
            parents.append(child.inside[order])
            together[x] = together[x][order]
        scores = LocalScores(self._scores.names, tuple(parents), tuple(together), self._scores.claim)
        *_, last = sum_over_networks(scores, means)
        return last

    def shares(self, costs: Sequence[NDArray[np.float64]], sums: NetworkSums) -> list[NDArray[np.float64]]:
        """How much of these sums has each family of each child."""
        found = []
        for own, child, families in zip(costs, self.children, sums.families, strict=True):
            together = _together(own, child.first)
            share = np.empty(together.size)
            share[canonical_order(child.inside, together)] = families
            repeats = np.diff(np.append(child.first, own.size))
            found.append(np.repeat(share, repeats) * np.exp(np.repeat(together, repeats) - own))
        return found


def _together(costs: NDArray[np.float64], first: NDArray[np.int64]) -> NDArray[np.float64]:
    """What families weigh together, as a cost, that begin at these rows."""
    least = np.minimum.reduceat(costs, first)
    repeats = np.diff(np.append(first, costs.size))
    together: NDArray[np.float64] = least - np.log(np.add.reduceat(np.exp(np.repeat(least, repeats) - costs), first))
    return together


def _rounding(scores: LocalScores, multipliers: float = 0.0) -> float:
    """What rounding may do to a logarithm of sums over families with these costs, and multipliers that add up to so
    much."""
    return ROUNDING * (1.0 + multipliers + math.fsum(float(np.abs(own).max()) for own in scores.costs))
