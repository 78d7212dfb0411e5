"""Root fixing: drop the families that no network cheaper than the incumbent can have.

Under multipliers with the bound `root`, a network with the family (X, P) costs at least root + rc(X, P), its reduced
cost above the least of X. If that reaches the limit, the family can go; the bound of what is left is stronger, and
so on. A child without families proves that no network is cheaper.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.ascent import find_multipliers
from extbnsl.bounds.lp.polish import Polish
from extbnsl.bounds.multipliers import Multipliers, families_of, multipliers_of
from extbnsl.machine.workers import Workers

WORTHWHILE = 0.02  # share of the families that a pass must drop for another one
MOST_PASSES = 10
ROUND_NS = 4.0  # per cluster of a cut, member and family of the member
LEAST_ROUND_NS = 1e4  # however few there are


@dataclass(frozen=True)
class Fixed:
    """The families that are left: parents[X] (m_X, words), costs[X] (m_X,), and multipliers for them.

    proved: no network costs less than the limit (then a child may have no families). passes: the multipliers by which
    families were dropped, each for those that were left then, and at last those that proved it.
    """

    parents: tuple[NDArray[np.uint64], ...]
    costs: tuple[NDArray[np.float64], ...]
    multipliers: Multipliers
    proved: bool
    passes: tuple[Multipliers, ...]

    @property
    def families(self) -> int:
        return sum(costs.size for costs in self.costs)

    def round_ns(self) -> float:
        """About what a round of improving the multipliers costs, in nanoseconds of one thread."""
        sizes = np.array([costs.size for costs in self.costs])
        members = np.unpackbits(self.multipliers.cuts.view(np.uint8), axis=2, bitorder="little")[:, :, : sizes.size]
        return LEAST_ROUND_NS + ROUND_NS * float((members @ sizes).sum())


def fix_families(
    parents: Sequence[NDArray[np.uint64]],
    costs: Sequence[NDArray[np.float64]],
    start: Multipliers | None,
    limit: float,
    fixing: bool,
    rounds: int,
    seed: int,
    workers: Workers,
    polish: Polish | None = None,
) -> Fixed:
    """Multipliers for the families, better by `rounds` of improvement, and the families that they cannot fix.

    With `polish` the LP makes them better still, with as much effort as for so many rounds, at least one. Passes go on
    while each drops a fair share. Without `fixing` all families stay. Raises Stopped.
    """
    families = families_of(parents, costs)
    passes: list[Multipliers] = []
    for number in range(MOST_PASSES):
        multipliers = find_multipliers(families, start, rounds if number == 0 else 0, seed + number, workers)
        if polish is not None and number == 0:
            multipliers = polish.improved(families, multipliers, limit, max(1, rounds), workers)
        passes.append(multipliers)
        if multipliers.root >= limit:
            return Fixed(tuple(parents), tuple(costs), multipliers, True, tuple(passes))
        keep = np.split(multipliers.root + multipliers.reduced < limit, families.first[1:-1])
        dropped = 1.0 - sum(int(k.sum()) for k in keep) / families.costs.size
        if not fixing or dropped == 0.0:
            break
        parents = [np.ascontiguousarray(p[k]) for p, k in zip(parents, keep, strict=True)]
        costs = [c[k] for c, k in zip(costs, keep, strict=True)]
        if not all(c.size for c in costs):
            return Fixed(tuple(parents), tuple(costs), multipliers, True, tuple(passes))
        families = families_of(parents, costs)
        multipliers = start = multipliers_of(families, multipliers.cuts, multipliers.weights)
        if dropped < WORTHWHILE:
            break
    proved = multipliers.root >= limit
    return Fixed(tuple(parents), tuple(costs), multipliers, proved, (*passes, multipliers) if proved else tuple(passes))


def probed_families(fixed: Fixed, limit: float, polish: Polish, effort: int, workers: Workers) -> Fixed:
    """What probing leaves of the families, within about so many simplex iterations, with the multipliers for them."""
    families = families_of(fixed.parents, fixed.costs)
    probed = polish.probed(families, fixed.multipliers, limit, effort, workers)
    keep = np.split(probed.alive, families.first[1:-1])
    parents = tuple(np.ascontiguousarray(p[k]) for p, k in zip(fixed.parents, keep, strict=True))
    costs = tuple(c[k] for c, k in zip(fixed.costs, keep, strict=True))
    proved = probed.root >= limit or not all(c.size for c in costs)
    multipliers = fixed.multipliers
    if not proved:
        multipliers = multipliers_of(families_of(parents, costs), multipliers.cuts, multipliers.weights)
    return Fixed(parents, costs, multipliers, proved, probed.passes)
