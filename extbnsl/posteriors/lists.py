"""The families that sums go over: all but those that weigh next to nothing beside one of their subsets.

A family that costs more than the best of its subsets by the slack or more weighs at most exp(-slack) of it. Put that
subset in its place: no network gets a cycle. So of a child with so many possible families, the sum over those inside
any set of variables is at most 1 + families * exp(-slack) times the sum over those that are kept, and the sum over all
networks, or orders, at most the product of these factors over the children.
"""

import math

import numpy as np

from extbnsl.kernels.bits import is_subset
from extbnsl.kernels.compiler import borrowed, njit
from extbnsl.machine.workers import Workers
from extbnsl.parents.constraints import Constraints
from extbnsl.scores.local import LocalScores


def possible_families(constraints: Constraints) -> list[int]:
    """How many families each child may have, whatever they cost."""
    found = []
    for child in range(constraints.limits.size):
        others = int(constraints.candidates(child).size)
        most = int(constraints.limits[child]) - len(constraints.parents_required(child))
        found.append(sum(math.comb(others, size) for size in range(min(others, most) + 1)))
    return found


def slack_for(possible: list[int], lost: float) -> float:
    """The slack, in nats, with which what is left out weighs at most so much of what is kept; infinity for 0."""
    return math.log(len(possible) * max(possible)) - math.log(math.log1p(lost)) if lost > 0.0 else math.inf


def lost_by(possible: list[int], slack: float) -> float:
    """What is left out by a slack weighs at most so much of what is kept."""
    return math.expm1(log_growth(possible, slack))


def log_growth(possible: list[int], slack: float) -> float:
    """The logarithm of the factor by which what all weigh is more, at most, than what a slack keeps."""
    return math.fsum(float(np.logaddexp(0.0, math.log(families) - slack)) for families in possible)


def charged(scores: LocalScores, lost: float, workers: Workers) -> LocalScores:
    """The families without those that can be charged to a subset that is kept, where what is charged to one comes to so
    little of its weight that what is left out weighs at most `lost` of what is kept.

    Each is charged to the heaviest of its subsets that has room left. O(m^2) for m families of a child at worst, much
    less where most are light. Raises Stopped.
    """
    share = math.log1p(lost) / scores.variables
    tasks = [(own, costs, share, workers.halt) for own, costs in zip(scores.parents, scores.costs, strict=True)]
    kept = workers.map(_kept, tasks)
    return scores.only(kept)


@njit
def _kept(parents, costs, share, halt):
    """Which of one child's families in score order, (m, words) and (m,), are kept: (m,) bool."""
    parents, costs = borrowed((parents, costs))
    m = costs.size
    kept, numbers, full = np.zeros(m, np.bool_), np.empty(m, np.int64), np.zeros(m)
    count, room = 0, -np.log(share) if share > 0.0 else np.inf
    for i in range(m):
        if halt[0]:
            break
        charged = False
        for k in range(count):
            more = costs[i] - costs[numbers[k]]
            if more < room:  # those that follow are lighter still
                break
            if is_subset(parents[numbers[k]], parents[i]) and full[k] + np.exp(-more) <= share:
                full[k] += np.exp(-more)
                charged = True
                break
        if not charged:
            kept[i] = True
            numbers[count] = i
            count += 1
    return kept
