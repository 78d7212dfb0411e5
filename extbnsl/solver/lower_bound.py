"""What every network of given families costs at least, by multipliers."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.ascent import ascended, find_multipliers, multipliers_bytes
from extbnsl.bounds.lp.polish import ROOT, Goal, Polished, polished
from extbnsl.bounds.multipliers import families_of
from extbnsl.claims import tolerance
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.components import Component
from extbnsl.scores.local import LocalScores

MOST_LISTED = 200_000  # families of a component that a bound after a stop looks at
WIDEST = 400  # variables of such a component: an ascent takes 4 s for 800 of them, and minutes for 2,000
MOST_ITERATIONS = 1 << 30  # of the simplex method: the time ends it


def raised_bound(scores: LocalScores, cost: float, memory: int, workers: Workers, seed: int) -> float:
    """A lower bound of the networks that the families allow, in nats: multipliers from an ascent, which linear programs
    improve until the bound comes to `cost`, hardly moves, or the workers are told to stop. The cheapest families alone
    are the bound if that takes more than the memory."""
    best = math.fsum(float(costs[0]) for costs in scores.costs)
    limit = cost - tolerance(cost)
    needed = multipliers_bytes(scores.costs, scores.variables, workers.threads)
    if best >= limit or needed > memory:
        return best

    def hear(found: Polished) -> None:
        nonlocal best
        best = max(best, found.multipliers.root)

    try:
        families = families_of(scores.parents, scores.costs)
        begun = Polished(find_multipliers(families, None, 0, seed, workers))
        hear(begun)
        hear(polished(families, begun, Goal(limit, ROOT, memory - needed), MOST_ITERATIONS, workers, hear))
    except Stopped:
        pass
    return best


def bound_of_listed(component: Component, unlisted: Sequence[float], memory: int, seed: int, seconds: float) -> float:
    """A lower bound of the networks over a component of which not all families are known, in nats.

    unlisted (n,): what those of each child that are not known cost at least. They are taken for one family without
    parents that costs as much: whatever their parents are, it fulfils every cut that they do. The same is done with the
    dearest ones where there are many. The bound is that of a greedy ascent, as far as it comes in about so many
    seconds, or of the cheapest families alone if that takes more than the memory, or the variables are many.
    """
    least = [min(float(own[0]), other) for own, other in zip(component.costs, unlisted, strict=True)]
    if component.size > WIDEST or seconds <= 0.0:
        return math.fsum(least)
    most = MOST_LISTED // component.size
    listed = [
        _with_others(own[:most], costs[:most], min([other, *costs[most : most + 1].tolist()]))
        for own, costs, other in zip(component.parents, component.costs, unlisted, strict=True)
    ]
    parents, costs = zip(*listed, strict=True)
    if multipliers_bytes(costs, component.size, 1) > memory:
        return math.fsum(least)
    return ascended(families_of(parents, costs), seed, seconds).root


def _with_others(
    parents: NDArray[np.uint64], costs: NDArray[np.float64], others: float
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Families in score order, with one without parents in the place of all that cost as much as `others` or more."""
    if others == math.inf:
        return parents, costs
    cheaper = int(np.searchsorted(costs, others))
    free = np.zeros((1, parents.shape[1]), np.uint64)
    return np.concatenate([parents[:cheaper], free]), np.append(costs[:cheaper], others)
