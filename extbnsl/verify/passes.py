"""What a pass shows of some families: a bound, and which of them are in no network below a target. All in whole units.

The families may be few of a component's, those that earlier steps have left; all sums are exact.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import njit
from extbnsl.kernels.varsets import WORD_BITS, as_varsets, pack, words
from extbnsl.machine.workers import Workers
from extbnsl.verify.certificate import Cut

CLUSTERS = 3  # of a cut, at most
FARTHEST = (1 << 63) - 1  # what int64 holds


@dataclass(frozen=True)
class Families:
    """Families of the children (n,), numbers among all variables: varsets (m, words) of parents and costs (m,) int64
    in units, those of the k-th child in rows first[k]:first[k + 1]."""

    children: NDArray[np.int64]
    first: NDArray[np.int64]
    varsets: NDArray[np.uint64]
    costs: NDArray[np.int64]

    def kept(self, which: NDArray[np.bool_]) -> "Families":
        """Those of the families, (m,) bool."""
        first = np.concatenate(([0], np.cumsum(which)))[self.first]
        return Families(self.children, first, self.varsets[which], self.costs[which])

    def of(self, chosen: NDArray[np.bool_]) -> "Families":
        """Those of some of the children, (n,) bool."""
        sizes = np.diff(self.first)
        rows = np.repeat(chosen, sizes)
        first = np.concatenate(([0], np.cumsum(sizes[chosen])))
        return Families(self.children[chosen], first, self.varsets[rows], self.costs[rows])

    def needed(self, spare: NDArray[np.int64], workers: Workers) -> "Families":
        """Those that no other one takes the place of, whose parents among the children are some of its own, and that
        costs no more, or by no more than spare (n,), in units: what rounding may hide. So a network of all families
        costs at least what one of these does, less the sum of what may be spared. Raises Stopped. O(families^2 of a
        child)."""
        inside = np.bitwise_or.reduce(singles(self.children, self.varsets.shape[1]), axis=0)

        def of_child(lo: int, hi: int, most: int) -> NDArray[np.bool_]:
            varsets, which = self.varsets[lo:hi] & inside, np.zeros(hi - lo, np.bool_)
            order = np.lexsort((self.costs[lo:hi], np.bitwise_count(varsets).sum(axis=1)))
            _mark_needed(varsets, self.costs[lo:hi], order, most, which, workers.halt)
            return which

        tasks = [
            (*own, most) for own, most in zip(itertools.pairwise(self.first.tolist()), spare.tolist(), strict=True)
        ]
        return self.kept(np.concatenate(workers.map(of_child, tasks)))

    @property
    def complete(self) -> bool:
        """Whether each child has a family."""
        return bool((np.diff(self.first) > 0).all())

    def shown(self, by: "WeightedCuts", workers: Workers) -> "Shown":
        """What the cuts show; each child has a family. Raises Stopped."""
        reduced = np.empty_like(self.costs)
        least = np.empty(self.children.size, np.int64)
        families = (self.children, self.first, self.varsets, self.costs)
        workers.run(_reduce, *families, by.cuts, by.multipliers, reduced, least, workers.halt)
        return Shown(by.needed + sum(least.tolist()), reduced, least)

    def below(self, target: int, shown: "Shown") -> "Families":
        """Those that networks below a target, in units, may have by what cuts have shown."""
        most = [max(-FARTHEST, min(mu + target - shown.root, FARTHEST)) for mu in shown.least.tolist()]
        return self.kept(shown.reduced < np.repeat(np.array(most, np.int64), np.diff(self.first)))


@dataclass(frozen=True)
class WeightedCuts:
    """Cuts (k, 3, words) over all variables, with multipliers (k,) int64 in units; needed: what they add to a bound."""

    cuts: NDArray[np.uint64]
    multipliers: NDArray[np.int64]
    needed: int


@dataclass(frozen=True)
class Shown:
    """What every network costs at least over the families, in units; c' of each (m,) int64, and the least of each
    child (n,) int64."""

    root: int
    reduced: NDArray[np.int64]
    least: NDArray[np.int64]


def singles(variables: NDArray[np.int64], width: int) -> NDArray[np.uint64]:
    """The varset of each of the variables alone, (n, width)."""
    members = np.zeros((variables.size, WORD_BITS * width), np.bool_)
    members[np.arange(variables.size), variables] = True
    return as_varsets(members)


def packed_cuts(cuts: Sequence[Cut], place: Mapping[str, int]) -> NDArray[np.uint64]:
    """Cuts (k, 3, words), by the places of the variables' names; the clusters that one lacks are empty."""
    packed = np.zeros((len(cuts), CLUSTERS, words(len(place))), np.uint64)
    for row, cut in zip(packed, cuts, strict=True):
        for member, cluster in zip(row, cut, strict=False):
            member[:] = pack([place[name] for name in cluster], len(place))
    return packed


def weighted(cuts: NDArray[np.uint64], multipliers: Sequence[int]) -> WeightedCuts:
    """Cuts with their multipliers."""
    needs = (cuts.any(axis=2).sum(axis=1, dtype=np.int64) + 1) // 2
    needed = sum(need * one for need, one in zip(needs.tolist(), multipliers, strict=True))
    return WeightedCuts(cuts, np.array(multipliers, np.int64), needed)


@njit
def _reduce(children, first, varsets, costs, cuts, multipliers, reduced, least, halt):
    """c' of each family, and the least of each child. O(cuts, for each family). Ends early when halt[0] is set."""
    for k in range(children.size):
        lo, hi, word, bit = first[k], first[k + 1], children[k] >> 6, u64(children[k] & 63)
        for j in range(lo, hi):
            reduced[j] = costs[j]
        for c in range(multipliers.size):
            if halt[0]:
                return
            if (cuts[c, 0, word] | cuts[c, 1, word] | cuts[c, 2, word]) >> bit & u64(1):
                for j in range(lo, hi):
                    counts = 0
                    for one in range(cuts.shape[1]):
                        if cuts[c, one, word] >> bit & u64(1):
                            common = u64(0)
                            for w in range(varsets.shape[1]):
                                common |= cuts[c, one, w] & varsets[j, w]
                            counts += common == 0
                    reduced[j] -= multipliers[c] * ((counts + 1) // 2)
        least[k] = reduced[lo]
        for j in range(lo + 1, hi):
            least[k] = min(least[k], reduced[j])


@njit
def _mark_needed(varsets, costs, order, spare, needed, halt):
    """Mark the families of a child, in an order by numbers of parents, of equal ones by costs, unless one is marked
    that has some of their parents alone and costs no more than they do and `spare`. needed: bool, all false. Ends early
    when halt[0] is set."""
    marked, count = np.empty_like(order), 0
    for row in order:
        if halt[0]:
            return
        replaced = False
        for j in range(count):
            if costs[marked[j]] > costs[row] + spare:
                continue
            beyond = u64(0)
            for w in range(varsets.shape[1]):
                beyond |= varsets[marked[j], w] & ~varsets[row, w]
            if beyond == 0:
                replaced = True
                break
        if not replaced:
            needed[row] = True
            marked[count] = row
            count += 1
