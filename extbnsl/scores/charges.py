"""What a claim charges for arcs, beside what the score says: sparsity and soft knowledge, in nats.

cost(X | P) += sum of a(Y, X) over Y in P, where a(Y, X) is what every arc costs (a cost per parent, 2 gamma ln n of the
extended BIC: Foygel and Drton 2010, halved) and what the knowledge says of this one, perhaps less than 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import Claim
from extbnsl.kernels.varsets import sizes


@dataclass(frozen=True)
class Charges:
    """What arcs between n variables cost, in nats.

    each: what every arc does. parents, children (k,) int64 and nats (k,) float64: what some cost in its place, each
    once, by child.
    """

    each: float
    parents: NDArray[np.int64]
    children: NDArray[np.int64]
    nats: NDArray[np.float64]

    def __bool__(self) -> bool:
        return self.each != 0.0 or bool(self.nats.any())

    def cost(self, child: int, parents: Sequence[int]) -> float:
        """What the arcs of a family cost."""
        own = self._of(child)
        known = dict(zip(self.parents[own].tolist(), self.nats[own].tolist(), strict=True))
        return math.fsum(known.get(p, self.each) for p in parents)

    def costs(self, child: int, varsets: NDArray[np.uint64]) -> NDArray[np.float64]:
        """What the arcs of families with these parents (m, w) cost: float64 (m,)."""
        found, own = np.asarray(self.each * sizes(varsets), np.float64), self._of(child)
        for p, nats in zip(self.parents[own].tolist(), self.nats[own].tolist(), strict=True):
            has = varsets[:, p >> 6] >> np.uint64(p & 63) & np.uint64(1)
            found += (nats - self.each) * has.astype(np.float64)
        return found

    def saved(self, free: NDArray[np.bool_], beside: float = 0.0) -> NDArray[np.float64]:
        """What the arcs [parent, child] that are free to be, (n, n) bool, cost less than `beside` each, for each child
        together: float64 (n,)."""
        own = np.maximum(beside - self.nats, 0.0) * free[self.parents, self.children]
        return np.asarray(np.bincount(self.children, own, len(free)), np.float64)

    @property
    def least(self) -> float:
        """What every arc costs at least but for those that cost less than nothing."""
        return float(self.nats[self.nats >= 0.0].min(initial=self.each))

    def _of(self, child: int) -> slice:
        first, last = np.searchsorted(self.children, (child, child + 1)).tolist()
        return slice(first, last)


def charges_of(claim: Claim, names: Sequence[str]) -> Charges:
    """What a claim charges for arcs between these variables; InputError if it names one that there is not."""
    at = {name: i for i, name in enumerate(names)}
    each = claim.parent_cost + 2.0 * (claim.gamma or 0.0) * math.log(len(names))
    costs = sorted((at[child], at[parent], each + nats) for parent, child, nats in claim.knowledge.over(names).costs)
    children, parents, nats = zip(*costs, strict=True) if costs else ((), (), ())
    return Charges(each, np.array(parents, np.int64), np.array(children, np.int64), np.array(nats, np.float64))
