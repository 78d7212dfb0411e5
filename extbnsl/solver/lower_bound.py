"""What every network of given families costs at least, by multipliers."""

import math

from extbnsl.bounds.ascent import find_multipliers, multipliers_bytes
from extbnsl.bounds.lp.polish import ROOT, Goal, Polished, polished
from extbnsl.bounds.multipliers import families_of
from extbnsl.claims import tolerance
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.scores.local import LocalScores

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
