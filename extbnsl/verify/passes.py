"""What a pass shows of some families: a bound, and which of them are in no network below a target. All in whole units.

The families may be few of a component's, those that earlier steps have left; all sums are exact.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import njit
from extbnsl.kernels.varsets import WORD_BITS, pack, words
from extbnsl.machine.workers import Workers
from extbnsl.verify.steps import Cut, Pass

CLUSTERS = 3  # of a cut, at most
AT_ONCE = 1 << 16  # families that one task looks at, whatever their children
FIRST, BLOCK = 4, 256  # families that one is held against at once: few at first, then more, several in a step
FARTHEST = (1 << 63) - 1  # what int64 holds


@dataclass(frozen=True)
class Families:
    """Families of some children, one child after the other."""

    children: NDArray[np.int64]  # (n,) numbers among all variables
    first: NDArray[np.int64]  # (n + 1,) those of the k-th child are in rows first[k]:first[k + 1]
    varsets: NDArray[np.uint64]  # (m, words) of parents
    costs: NDArray[np.int64]  # (m,) in units

    @classmethod
    def joined(cls, children: Sequence[int], own: Iterable[tuple[NDArray[np.uint64], NDArray[np.int64]]]) -> "Families":
        """Those of the children, varsets and costs of each."""
        varsets, costs = zip(*own, strict=True)
        first = np.cumsum([0, *map(len, costs)], dtype=np.int64)
        return cls(np.array(children, np.int64), first, np.concatenate(varsets), np.concatenate(costs))

    @property
    def each(self) -> list[tuple[NDArray[np.uint64], NDArray[np.int64]]]:
        """Varsets and costs of each child."""
        return [(self.varsets[lo:hi], self.costs[lo:hi]) for lo, hi in itertools.pairwise(self.first.tolist())]

    @property
    def cheapest(self) -> list[int]:
        """What the cheapest family of each child costs; each has one."""
        return np.minimum.reduceat(self.costs, self.first[:-1]).tolist()

    def by_child(self, values: NDArray[Any]) -> NDArray[Any]:
        """The value of its child (n,), for each family."""
        return np.repeat(values, np.diff(self.first))

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
        inside = pack(self.children, WORD_BITS * self.varsets.shape[1])

        def of_child(varsets: NDArray[np.uint64], costs: NDArray[np.int64], most: int) -> NDArray[np.bool_]:
            varsets, which = varsets & inside, np.zeros(costs.size, np.bool_)
            sizes = np.bitwise_count(varsets).sum(axis=1)
            order = np.lexsort((costs, sizes) if most else (sizes, costs))  # the cheapest replace nearly all
            _mark_needed(varsets, costs, order, most, which, workers.halt)
            return which

        tasks = [(*own, most) for own, most in zip(self.each, spare.tolist(), strict=True)]
        return self.kept(np.concatenate(workers.map(of_child, tasks)))

    def by_cost(self) -> "Families":
        """The same, those of each child by their costs."""
        order = np.lexsort((self.costs, self.by_child(np.arange(self.children.size))))
        return replace(self, varsets=self.varsets[order], costs=self.costs[order])

    @property
    def complete(self) -> bool:
        """Whether each child has a family."""
        return bool((np.diff(self.first) > 0).all())

    def shown(self, by: "WeightedCuts", workers: Workers) -> "Shown":
        """What the cuts show; of all together, if each child has a family. Raises Stopped."""
        reduced, least = np.empty_like(self.costs), np.empty(self.children.size, np.int64)
        ends = range(least.size + 1) if reduced.size > AT_ONCE else (0, least.size)
        given = (self.varsets, self.costs, (by.cuts, by.multipliers), reduced)
        workers.map(
            _reduce,
            (
                (self.children[lo:hi], self.first[lo : hi + 1], *given, least[lo:hi], workers.halt)
                for lo, hi in itertools.pairwise(ends)
            ),
        )
        return Shown(by.needed + sum(least.tolist()), reduced, least)

    def below(self, target: int, shown: "Shown") -> "Families":
        """Those that networks below a target, in units, may have by what cuts have shown."""
        most = [max(-FARTHEST, min(mu + target - shown.root, FARTHEST)) for mu in shown.least.tolist()]
        return self.kept(shown.reduced < self.by_child(np.array(most, np.int64)))


@dataclass(frozen=True)
class WeightedCuts:
    """Cuts with multipliers."""

    cuts: NDArray[np.uint64]  # (k, 3, words); the clusters that one lacks are empty
    multipliers: NDArray[np.int64]  # (k,) in units
    needed: int  # what they add to a bound


@dataclass(frozen=True)
class Shown:
    """What cuts show of some families."""

    root: int  # what every network costs at least over them, in units
    reduced: NDArray[np.int64]  # (m,) c' of each
    least: NDArray[np.int64]  # (n,) the least of each child, FARTHEST if it has no family


def packed_cuts(cuts: Sequence[Cut], place: Mapping[str, int]) -> NDArray[np.uint64]:
    """Cuts as `WeightedCuts` has them, by the places of the variables' names."""
    packed = np.zeros((len(cuts), CLUSTERS, words(len(place))), np.uint64)
    for row, cut in zip(packed, cuts, strict=True):
        for member, cluster in zip(row, cut, strict=False):
            member[:] = pack([place[name] for name in cluster], len(place))
    return packed


def cuts_of(one: Pass, names: Sequence[str]) -> WeightedCuts:
    """The cuts of a pass, over these variables."""
    return weighted(packed_cuts(one.cuts, {name: i for i, name in enumerate(names)}), one.multipliers)


def weighted(cuts: NDArray[np.uint64], multipliers: Sequence[int]) -> WeightedCuts:
    """Cuts with their multipliers."""
    needs = (cuts.any(axis=2).sum(axis=1, dtype=np.int64) + 1) // 2
    needed = sum(need * one for need, one in zip(needs.tolist(), multipliers, strict=True))
    return WeightedCuts(cuts, np.array(multipliers, np.int64), needed)


@njit
def _reduce(children, first, varsets, costs, by, reduced, least, halt):
    """c' of each family of some children by cuts and multipliers, and the least of each child. O(cuts) for each.
    Ends early when halt[0] is set."""
    cuts, multipliers = by
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
        least[k] = FARTHEST
        for j in range(lo, hi):
            least[k] = min(least[k], reduced[j])


@njit
def _mark_needed(varsets, costs, order, spare, needed, halt):
    """Mark the families of a child, in an order by numbers of parents and costs, or by costs, unless one is marked that
    has some of their parents alone and costs no more than they do and `spare`, in units.

    varsets (m, words) uint64, costs (m,) int64 in units, order (m,) places. needed: (m,) bool, all false. Ends early
    when halt[0] is set. O(m times those that are marked); these lie side by side, a word after the other.
    """
    words = varsets.shape[1]
    marked, prices = np.empty((words, order.size), np.uint64), np.empty_like(costs)
    beyond, count = np.empty(BLOCK, np.uint64), 0
    for row in order:
        if halt[0]:
            return
        begin, replaced = 0, False
        while begin < count and not replaced:
            size = min(BLOCK, begin + FIRST, count - begin)  # the first ones replace nearly all
            beyond[:size] = u64(0)
            for w in range(words):
                outside = ~varsets[row, w]
                for j in range(size):
                    beyond[j] |= marked[w, begin + j] & outside
            replacing = 0
            for j in range(size):
                replacing += (beyond[j] == u64(0)) & (prices[begin + j] <= costs[row] + spare)
            replaced = replacing > 0
            begin += size
        if not replaced:
            needed[row] = True
            for w in range(words):
                marked[w, count] = varsets[row, w]
            prices[count] = costs[row]
            count += 1
