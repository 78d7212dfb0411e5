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
from extbnsl.bounds.multipliers import Multipliers, families_of, multipliers_of
from extbnsl.machine.workers import Workers

WORTHWHILE = 0.02  # share of the families that a pass must drop for another one
MOST_PASSES = 10
ROUND_NS = 40.0  # per cluster of a cut, member and family of the member
LEAST_ROUND_NS = 1e5  # however few there are


@dataclass(frozen=True)
class Fixed:
    """The families that are left: parents[X] (m_X, words), costs[X] (m_X,), and multipliers for them.

    proved: no network costs less than the limit (then a child may have no families). passes: the multipliers by which
    families were dropped, without reduced costs, each for those that were left then, and at last those that proved it.
    """

    parents: tuple[NDArray[np.uint64], ...]
    costs: tuple[NDArray[np.float64], ...]
    multipliers: Multipliers
    proved: bool
    passes: tuple[Multipliers, ...]


def round_ns(costs: Sequence[NDArray[np.float64]], multipliers: Multipliers) -> float:
    """About what a round of improving the multipliers of families with costs[X] (m_X,) takes, in nanoseconds of one
    thread."""
    sizes = np.array([own.size for own in costs])
    members = np.unpackbits(multipliers.cuts.view(np.uint8), axis=2, bitorder="little")[:, :, : sizes.size]
    return LEAST_ROUND_NS + ROUND_NS * float((members @ sizes).sum())


def fix_families(
    parents: Sequence[NDArray[np.uint64]],
    costs: Sequence[NDArray[np.float64]],
    multipliers: Multipliers,
    limit: float,
    fixing: bool,
    seed: int,
    workers: Workers,
) -> Fixed:
    """What the multipliers cannot fix of the families, with multipliers for that.

    Passes go on while each drops a fair share. Without `fixing` all families stay. Raises Stopped.
    """
    parents, costs, families, start = list(parents), list(costs), families_of(parents, costs), multipliers
    passes: list[Multipliers] = []
    for number in range(MOST_PASSES):
        if number:
            multipliers = find_multipliers(families, start, 0, seed + number, workers)
        passes.append(multipliers.without_costs)
        if multipliers.root >= limit:
            return Fixed(tuple(parents), tuple(costs), multipliers, True, tuple(passes))
        keep = multipliers.root + multipliers.reduced < limit
        dropped = 1.0 - np.count_nonzero(keep) / keep.size
        if not fixing or dropped == 0.0:
            break
        for child, own in enumerate(np.split(keep, families.first[1:-1])):
            parents[child], costs[child] = np.ascontiguousarray(parents[child][own]), costs[child][own]
        if not all(map(len, costs)):
            return Fixed(tuple(parents), tuple(costs), multipliers, True, tuple(passes))
        families = families_of(parents, costs)
        known = multipliers.cuts, multipliers.weights
        multipliers = start = workers.run(multipliers_of, families, *known, workers.halt)
        if dropped < WORTHWHILE:
            break
    proved = multipliers.root >= limit
    if proved:
        passes.append(multipliers.without_costs)
    return Fixed(tuple(parents), tuple(costs), multipliers, proved, tuple(passes))
