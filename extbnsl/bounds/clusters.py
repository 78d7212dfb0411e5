"""Lower bounds from cluster multipliers: the integer programmers' cuts as a bound for the search.

In an order of the variables, the first member of a cluster C has no parent inside C. So with any multipliers
lambda_C >= 0 the cost of a network is at least what it is under the reduced costs c'(X, P) = c(X, P) - sum of lambda_C
over the clusters C with X in C and P disjoint from C, plus the sum of all lambda_C. Without the order that is

    root = sum of lambda_C + sum of mu_X,   mu_X = min over P of c'(X, P),

and h1(U) = sum of lambda_C over the C disjoint from U + sum of mu_X over X outside U is a consistent bound for the
search. Clusters as cuts: Jaakkola et al. 2010; dual ascent: Troesser, de Givry and Katsirelos 2021.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels import lowest, njit, u64
from extbnsl.varsets import WORD_BITS, renumber, words
from extbnsl.workers import Workers

ZERO = 1e-7  # nats: a family whose reduced cost is this close to the least of its child counts as free
MOST_FREE = 256  # free parent sets of a child that are looked at
MOST_CLUSTERS = 4096
MOST_NEW = 256  # clusters that an ascent at a node may add
SHARES = (0.02, 0.05, 0.1, 0.2)  # of the clusters that a step of the improvement gives up
STREAMS = 4  # independent improvements, of which the best counts
UNIT = 2.0**-36  # nats: multipliers are whole multiples of it, so that sums of them are exact
MOST_UNITS = 2.0**62  # of all multipliers together


@dataclass(frozen=True)
class Families:
    """The families of n children: parents (words, m) uint64 and costs (m,) float64, those of child X in rows
    first[X]:first[X + 1]."""

    parents: NDArray[np.uint64]
    costs: NDArray[np.float64]
    first: NDArray[np.int64]

    def arrays(self) -> tuple:
        """The kernels' arguments, in their order."""
        return (self.parents, self.costs, self.first)


def families_of(parents: Sequence[NDArray[np.uint64]], costs: Sequence[NDArray[np.float64]]) -> Families:
    """Families of parents[X] (m_X, words) and costs[X] (m_X,)."""
    first = np.cumsum([0] + [c.size for c in costs], dtype=np.int64)
    return Families(np.ascontiguousarray(np.concatenate(parents).T), np.concatenate(costs), first)


@dataclass(frozen=True)
class Multipliers:
    """Clusters (k, words) uint64 with multipliers weights (k,) int64 > 0, in UNITs; least (n,) float64: mu of each
    child, in nats. root: the bound of every network that the families allow."""

    clusters: NDArray[np.uint64]
    weights: NDArray[np.int64]
    least: NDArray[np.float64]
    reduced: NDArray[np.float64]

    @property
    def root(self) -> float:
        return float(self.weights.sum()) * UNIT + float(self.least.sum())

    def value(self, varset: int) -> float:
        """h1 of one varset."""
        masks = [sum(int(word) << WORD_BITS * w for w, word in enumerate(row)) for row in self.clusters]
        waiting = sum(int(weight) for mask, weight in zip(masks, self.weights, strict=True) if not mask & varset)
        return waiting * UNIT + sum(float(mu) for x, mu in enumerate(self.least) if not varset >> x & 1)


@dataclass(frozen=True)
class ClusterBound:
    """h1 of a component of at most 64 variables, ready for the search: masks (k,) uint64 and weights (k,) int64 of the
    clusters, in UNITs; waiting (8, 256) float64: the sum of mu over the variables of a byte that a value of it lacks.
    """

    masks: NDArray[np.uint64]
    weights: NDArray[np.int64]
    waiting: NDArray[np.float64]

    def arrays(self) -> tuple:
        """The kernels' arguments, in their order."""
        return (self.masks, self.weights, self.waiting)


NO_CLUSTERS = ClusterBound(np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros((8, 256)))


def cluster_bound(multipliers: Multipliers, new: NDArray[np.int64]) -> ClusterBound:
    """The bound with variable x called new[x]."""
    masks = renumber(multipliers.clusters, new, new.size)[:, 0]
    least = np.zeros(WORD_BITS)
    least[new] = multipliers.least
    missing = (~np.arange(256)[:, None] >> np.arange(8)) & 1  # value, bit
    return ClusterBound(masks, multipliers.weights, least.reshape(8, 8) @ missing.T.astype(float))


def multipliers_of(families: Families, clusters: NDArray[np.uint64], weights: NDArray[np.int64]) -> Multipliers:
    """The bound of given multipliers; O(sum over the clusters of their members' families)."""
    reduced, least = np.empty(families.costs.size), np.empty(families.first.size - 1)
    _reduce(families.arrays(), clusters, weights * UNIT, weights.size, reduced, least)
    return Multipliers(clusters, weights, least, reduced)


def multipliers_bytes(costs: Sequence[NDArray[np.float64]], variables: int, threads: int) -> int:
    """About the memory that finding multipliers takes: the families twice, and per stream at work what is left of each
    cost, also in a trial, with two marks."""
    return sum(c.size for c in costs) * (16 * words(variables) + 24 + 32 * min(threads, STREAMS))


def find_multipliers(
    families: Families, start: Multipliers | None, rounds: int, seed: int, workers: Workers
) -> Multipliers:
    """Good multipliers: greedy ascent from `start` (or from none), then `rounds` of improvement in STREAMS streams.

    Deterministic for a seed, whatever the number of threads. A round costs about as much as a few passes over the
    families.
    """
    words = families.parents.shape[0]

    def stream(number: int) -> tuple[float, NDArray[np.uint64], NDArray[np.float64]]:
        clusters = np.zeros((MOST_CLUSTERS, words), np.uint64)
        weights = np.zeros(MOST_CLUSTERS)
        count = 0
        if start is not None:
            count = start.weights.size
            clusters[:count], weights[:count] = start.clusters, start.weights * UNIT
        count, root = improve(families.arrays(), clusters, weights, count, rounds, seed + number, workers.halt)
        return root, clusters[:count].copy(), weights[:count].copy()

    found = workers.map(stream, [(number,) for number in range(STREAMS if rounds else 1)])
    _, clusters, weights = max(found, key=lambda one: one[0])
    whole = whole_units(weights)
    return multipliers_of(families, clusters[whole > 0], whole[whole > 0])


def whole_units(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Multipliers in nats as whole UNITs, rounded down."""
    return np.floor(np.minimum(weights / UNIT, MOST_UNITS / max(1, weights.size))).astype(np.int64)


@njit
def _random(state):
    """The next of a sequence of random 64-bit numbers (xorshift64*, Vigna 2016)."""
    x = state[0]
    x ^= x >> u64(12)
    x ^= x << u64(25)
    x ^= x >> u64(27)
    state[0] = x
    return x * u64(2685821657736338717)


@njit
def _hits(parents, cluster, lo, hi, hit):
    """hit[j] is not zero exactly if parent set j, lo <= j < hi, meets the cluster."""
    for j in range(lo, hi):
        hit[j] = parents[0, j] & cluster[0]
    for w in range(1, cluster.size):
        for j in range(lo, hi):
            hit[j] |= parents[w, j] & cluster[w]


@njit
def _has(varset, x):
    return (varset[x >> 6] >> u64(x & 63)) & u64(1)


@njit
def _reduce(families, clusters, weights, count, reduced, least):
    """The reduced cost of every family above the least of its child, and these least."""
    parents, costs, first = families
    hit = np.empty(costs.size, np.uint64)
    for x in range(first.size - 1):
        lo, hi = first[x], first[x + 1]
        for j in range(lo, hi):
            reduced[j] = costs[j]
        for c in range(count):
            if _has(clusters[c], x):
                _hits(parents, clusters[c], lo, hi, hit)
                for j in range(lo, hi):
                    reduced[j] -= 0.0 if hit[j] else weights[c]
        least[x] = np.inf
        for j in range(lo, hi):
            least[x] = min(least[x], reduced[j])
        for j in range(lo, hi):
            reduced[j] -= least[x]


@njit
def _collect_free(families, reduced, free, x):
    """The parent sets of child x that cost nothing more than its cheapest, into free[0][x], their number into
    free[1][x]."""
    parents, first = families[0], families[2]
    sets, counts = free
    count = 0
    for j in range(first[x], first[x + 1]):
        if reduced[j] <= ZERO and count < sets.shape[1]:
            for w in range(parents.shape[0]):
                sets[x, count, w] = parents[w, j]
            count += 1
    counts[x] = count


@njit
def _peel(members, free):
    """Take members with a free parent set outside the set away, again and again; whether any are left."""
    sets, counts = free
    left = False
    changed = True
    while changed:
        changed = False
        left = False
        for w in range(members.size):
            rest = members[w]
            while rest:
                x = (w << 6) + np.int64(lowest(rest))
                bit = rest & (~rest + u64(1))
                rest ^= bit
                outside = False
                for k in range(counts[x]):
                    common = u64(0)
                    for v in range(members.size):
                        common |= sets[x, k, v] & members[v]
                    if not common:
                        outside = True
                        break
                if outside:
                    members[w] ^= bit
                    changed = True
                else:
                    left = True
    return left


@njit
def _shrink(members, free, state):
    """Make the set smaller, by inclusion the least of which no member can be peeled; members tried in random order."""
    order = np.empty(members.size << 6, np.int64)
    size = 0
    for x in range(order.size):
        if _has(members, x):
            order[size] = x
            size += 1
    trial = np.empty_like(members)
    for i in range(size):
        j = i + np.int64(_random(state) % u64(size - i))
        order[i], order[j] = order[j], order[i]
        if _has(members, order[i]):
            trial[:] = members
            trial[order[i] >> 6] ^= u64(1) << u64(order[i] & 63)
            if _peel(trial, free):
                members[:] = trial


@njit
def _raise_cluster(cluster, families, reduced, free, hit):
    """Raise the multiplier of a cluster until a family becomes free; by how much (infinity if that cannot be)."""
    parents, first = families[0], families[2]
    step = np.inf
    for x in range(first.size - 1):
        if _has(cluster, x):
            _hits(parents, cluster, first[x], first[x + 1], hit)
            for j in range(first[x], first[x + 1]):
                if not hit[j]:
                    step = min(step, reduced[j])
    if step == np.inf:
        return step
    for x in range(first.size - 1):
        if _has(cluster, x):
            for j in range(first[x], first[x + 1]):
                if not hit[j]:
                    reduced[j] -= step
            _collect_free(families, reduced, free, x)
    return step


@njit
def _ascend(families, reduced, clusters, weights, count, state):
    """Greedy dual ascent from the given multipliers; `reduced` fits them and follows. The number of clusters after.

    Ends when the free families allow an order, or there is no room for another cluster.
    """
    parents, first = families[0], families[2]
    n = first.size - 1
    free = np.empty((n, MOST_FREE, parents.shape[0]), np.uint64), np.zeros(n, np.int64)
    hit = np.empty(reduced.size, np.uint64)
    for x in range(n):
        _collect_free(families, reduced, free, x)
    cluster = np.empty(parents.shape[0], np.uint64)
    while count < weights.size:
        for w in range(cluster.size):
            cluster[w] = ~u64(0) >> u64(max(0, 64 - (n - (w << 6)))) if n > w << 6 else u64(0)
        if not _peel(cluster, free):
            break
        _shrink(cluster, free, state)
        step = _raise_cluster(cluster, families, reduced, free, hit)
        if step == np.inf:
            break
        at = 0
        while at < count and (clusters[at] != cluster).any():
            at += 1
        if at == count:
            clusters[at] = cluster
            weights[at] = 0.0
            count += 1
        weights[at] += step
    return count


@njit
def _give_up(families, reduced, cluster, weight, hit):
    """Lower the multiplier of a cluster by `weight`; the change of the sum of the children's least costs."""
    parents, first = families[0], families[2]
    change = 0.0
    for x in range(first.size - 1):
        if not _has(cluster, x):
            continue
        _hits(parents, cluster, first[x], first[x + 1], hit)
        least = np.inf
        for j in range(first[x], first[x + 1]):
            reduced[j] += 0.0 if hit[j] else weight
            least = min(least, reduced[j])
        if least > 0.0:
            for j in range(first[x], first[x + 1]):
                reduced[j] -= least
            change += least
    return change


@njit
def improve(families, clusters, weights, count, rounds, seed, halt):
    """Greedy ascent, then `rounds` of giving up a random part of the multipliers and ascending again; the better stays.

    clusters, weights: room for the multipliers, the first `count` given. Ends early when halt[0] is set. Returns the
    number of clusters and the root bound.
    """
    state = np.array([u64(seed) * u64(2654435761) + u64(88172645463325252)])
    reduced, least = np.empty(families[1].size), np.empty(families[2].size - 1)
    _reduce(families, clusters, weights, count, reduced, least)
    base = least.sum()
    count = _ascend(families, reduced, clusters, weights, count, state)
    best = base + weights[:count].sum()
    trial_clusters, trial_weights, trial = np.empty_like(clusters), np.empty_like(weights), np.empty_like(reduced)
    hit = np.empty(reduced.size, np.uint64)
    for _ in range(rounds):
        if halt[0]:
            break
        share = SHARES[_random(state) % u64(len(SHARES))]
        trial[:] = reduced
        found = base
        kept = 0
        for c in range(count):
            drawn = (_random(state) >> u64(11)) * (1.0 / 9007199254740992.0)
            part = 0.0 if drawn >= share else (0.5 if drawn < 0.3 * share else 1.0)
            if part > 0.0:
                found += _give_up(families, trial, clusters[c], part * weights[c], hit)
            if part < 1.0:
                trial_clusters[kept], trial_weights[kept] = clusters[c], (1.0 - part) * weights[c]
                kept += 1
        kept = _ascend(families, trial, trial_clusters, trial_weights, kept, state)
        if found + trial_weights[:kept].sum() >= best:
            best = found + trial_weights[:kept].sum()
            base = found
            count = kept
            clusters[:count] = trial_clusters[:count]
            weights[:count] = trial_weights[:count]
            reduced, trial = trial, reduced
    return count, best


@njit
def ascend_nodes(varsets, g, limit, families, clusters, keep, halt):
    """keep[i] = whether a dual ascent at node varsets[i], of cost g[i], leaves its bound below `limit`.

    families as `Families.arrays` of at most 64 variables, clusters = (masks, weights in UNITs). The ascent begins with
    the clusters that are disjoint from the node, so the bound is never below h1; parents inside the node are given.
    Some passes over the families each. Ends early when halt[0] is set, with the rest kept.
    """
    parents, costs, first = families
    masks, weights = clusters
    own = np.empty_like(parents), np.empty_like(costs), first
    trial = np.empty((masks.size + MOST_NEW, 1), np.uint64), np.empty(masks.size + MOST_NEW)
    reduced, least = np.empty_like(costs), np.empty(first.size - 1)
    keep[:] = 1
    for i in range(varsets.size):
        if halt[0]:
            break
        _at_node(varsets[i], families, own)
        count = 0
        for c in range(masks.size):
            if not masks[c] & varsets[i]:
                trial[0][count, 0], trial[1][count] = masks[c], weights[c] * UNIT
                count += 1
        _reduce(own, trial[0], trial[1], count, reduced, least)
        state = np.array([varsets[i] * u64(2654435761) + u64(88172645463325252)])
        count = _ascend(own, reduced, trial[0], trial[1], count, state)
        keep[i] = g[i] + least.sum() + trial[1][:count].sum() < limit


@njit
def _at_node(varset, families, own):
    """The families with their parents inside `varset` given, and its variables free of cost, into `own`."""
    parents, costs, first = families
    for x in range(first.size - 1):
        inside = (varset >> u64(x)) & u64(1)
        for j in range(first[x], first[x + 1]):
            own[0][0, j] = u64(0) if inside else parents[0, j] & ~varset
            own[1][j] = 0.0 if inside else costs[j]
