"""Cuts: what the families of every network together fulfil.

In an order of the variables, the first member of a cluster C has no parent inside C. So of a network's families at
least one counts for C: one of a child X in C with parents P disjoint from C (Jaakkola et al. 2010). A cut is a cluster,
or three: their inequalities added, halved and rounded up, so that with k(X, P) of the three that a family counts for

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

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import inner

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


def weighted_unions(
    cuts: NDArray[np.uint64], weights: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Varsets (t, words) and weights (t,) of either sign: the sum of the weights of those that are disjoint from U is
    what the cuts with these multipliers add to the bound at U. Equal ones are one."""
    varsets, cut, sign = unions(cuts)
    if not len(varsets):
        return varsets, np.zeros(0, np.int64)
    distinct, which = np.unique(varsets, axis=0, return_inverse=True)
    total = np.zeros(len(distinct), np.int64)
    np.add.at(total, which.reshape(-1), weights[cut] * sign)
    return distinct[total != 0], total[total != 0]


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
