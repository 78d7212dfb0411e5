"""What a child's parent sets count for cuts with multipliers, kept up to date while parents are added.

A family (X, P) counts for a cluster that holds X and has no member in P, for a cut as bounds/multipliers.py says: l(P)
is the sum of the multipliers, each as often as P counts for its cut. It falls when parents are added.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.multipliers import UNIT
from extbnsl.kernels.compiler import inner
from extbnsl.kernels.varsets import unpack
from extbnsl.parents.priced.prices import Prices


class CutsOfChild(NamedTuple):
    """Cuts that families of a child may count for, by those of their clusters that hold it.

    multipliers (t,) float64: what it is worth to count once, in nats; clusters (t + 1,) int64: where those of each cut
    begin; of_cut (c,): the cut of each cluster; members (c + 1,), member (): where those of each cluster begin, and the
    candidates that they are; holding (m + 1,), held (): the same the other way round, the clusters of each candidate.
    """

    multipliers: NDArray[np.float64]
    clusters: NDArray[np.int64]
    of_cut: NDArray[np.int64]
    members: NDArray[np.int64]
    member: NDArray[np.int64]
    holding: NDArray[np.int64]
    held: NDArray[np.int64]


def cuts_of_child(x: int, variables: NDArray[np.int64], must: NDArray[np.bool_], prices: Prices | None) -> CutsOfChild:
    """The cuts of the prices for which families of a child may count, with its candidates (m,) and the parents that it
    must have (n,)."""
    clusters, of_cut, member, multipliers = [0], list[int](), list[NDArray[np.int64]](), list[float]()
    place = {v: k for k, v in enumerate(variables.tolist())}
    weighted = [] if prices is None else zip(prices.cuts, (prices.weights * UNIT).tolist(), strict=True)
    for cut, weight in weighted:
        own = [cluster for cluster in map(unpack, cut) if x in cluster and not must[list(cluster)].any()]
        if own:
            of_cut += [len(multipliers)] * len(own)
            member += [np.array([place[v] for v in cluster if v in place], np.int64) for cluster in own]
            multipliers.append(weight)
            clusters.append(len(of_cut))
    sizes = list(map(len, member))
    every = np.concatenate([np.zeros(0, np.int64), *member])
    order = np.argsort(every, kind="stable")
    return CutsOfChild(
        multipliers=np.array(multipliers, np.float64),
        clusters=np.array(clusters, np.int64),
        of_cut=np.array(of_cut, np.int64),
        members=np.cumsum([0, *sizes], dtype=np.int64),
        member=every,
        holding=np.searchsorted(every[order], np.arange(variables.size + 1)),
        held=np.repeat(np.arange(len(member)), sizes)[order],
    )


@inner
def _account(cut, at, sign, prices, frames, times):
    """Add to `counted` and `gain` of a node what a cut is worth to it, or take it away."""
    low, high, there = prices.clusters[cut], prices.clusters[cut + 1], 0
    for i in range(low, high):
        there += frames.there[at, i]
    if there == 0:
        return
    worth = sign * prices.multipliers[cut]
    frames.counted[at] += worth * ((there + 1) >> 1)
    for i in range(low, high):
        if frames.there[at, i]:
            for place in range(prices.members[i], prices.members[i + 1]):
                times[prices.member[place]] += 1
    for i in range(low, high):
        if frames.there[at, i]:
            for place in range(prices.members[i], prices.members[i + 1]):
                v = prices.member[place]
                if times[v]:
                    frames.gain[at, v] += worth * (((there + 1) >> 1) - ((there - times[v] + 1) >> 1))
                    times[v] = 0


@inner
def count_root(prices, frames, times):
    """Find `counted` and `gain` of node 0, of which `there` is known."""
    frames.counted[0] = 0.0
    for v in range(times.size):
        frames.gain[0, v] = 0.0
    for cut in range(prices.multipliers.size):
        _account(cut, 0, 1.0, prices, frames, times)


@inner
def count_with(at, v, prices, frames, times):
    """Let `there`, `counted` and `gain` of a node, which are those of its P without v, be those of P."""
    for place in range(prices.holding[v], prices.holding[v + 1]):
        cluster = prices.held[place]
        if frames.there[at, cluster]:
            cut = prices.of_cut[cluster]
            if prices.clusters[cut + 1] - prices.clusters[cut] == 1:
                worth = prices.multipliers[cut]
                frames.there[at, cluster] = False
                frames.counted[at] -= worth
                for other in range(prices.members[cluster], prices.members[cluster + 1]):
                    frames.gain[at, prices.member[other]] -= worth
                continue
            _account(cut, at, -1.0, prices, frames, times)
            frames.there[at, cluster] = False
            _account(cut, at, 1.0, prices, frames, times)


@inner
def inherit(at, frames):
    """Let node at + 1 count what node `at` does."""
    frames.counted[at + 1] = frames.counted[at]
    for v in range(frames.gain.shape[1]):
        frames.gain[at + 1, v] = frames.gain[at, v]
    for cluster in range(frames.there.shape[1]):
        frames.there[at + 1, cluster] = frames.there[at, cluster]


@inner
def count_without(at, v, prices, frames, members, times):
    """Let `there`, `counted` and `gain` of a node, which are those of its P, be those of P without v; members (c,): how
    many members of each cluster P has."""
    for place in range(prices.holding[v], prices.holding[v + 1]):
        cluster = prices.held[place]
        if members[cluster] == 1 and frames.there[0, cluster]:
            cut = prices.of_cut[cluster]
            _account(cut, at, -1.0, prices, frames, times)
            frames.there[at, cluster] = True
            _account(cut, at, 1.0, prices, frames, times)


@inner
def count_set(inside, prices, frames, members, times):
    """Count for a set of candidates (m,) bool at node 1, where node 0 is the root, and how many members of each cluster
    it has, into members (c,)."""
    inherit(0, frames)
    for c in range(members.size):
        members[c] = 0
    for v in range(inside.size):
        if inside[v]:
            count_with(1, v, prices, frames, times)
            for place in range(prices.holding[v], prices.holding[v + 1]):
                members[prices.held[place]] += 1
