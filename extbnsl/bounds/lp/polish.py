"""The best multipliers that there are, by linear programming.

The largest bound at the root fixes most families, but multipliers whose bound is the largest in the mean over nodes
prune more of them; those are for the search. Where the root bound falls short by little, and a search would be long or
is not possible at all, probing drops most of the families that are left.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.lp.program import Program, beginning, least_sums
from extbnsl.bounds.multipliers import UNIT, FamilyArrays, Multipliers, Support
from extbnsl.machine.workers import Workers

EFFORT = 5_000  # simplex iterations, for each of the two LPs, in a round of improvement
ITERATION_NS = 1.5e5  # of one thread, where there are 10,000 families
ROUND_NS = 2 * EFFORT * ITERATION_NS  # about what a round costs, of one thread
ROOT, LACKING = 1.0, 0.8  # the probability that a node lacks a variable: at the root, and of the search
WINDOW, STALE = 20, 0.02  # so many turns that gain less than such a share of the gap are the last


@dataclass(frozen=True)
class Goal:
    """What an LP is for: the largest bound in the mean over nodes that lack each variable with probability `share`. It
    ends when the bound at the root reaches `limit` nats, when no more than the share `left` of the families are in
    networks below that, and where it would take more than `room` bytes."""

    limit: float
    share: float
    room: int
    left: float = 0.0


@dataclass(frozen=True)
class Polished:
    """How far an LP has come: the best multipliers, the cuts of its last program (k, 3, words) if there has been one,
    the simplex iterations that it took, whether no multipliers are better, and the families of its last solution."""

    multipliers: Multipliers
    cuts: NDArray[np.uint64] | None = None
    iterations: int = 0
    optimal: bool = False
    support: Support | None = None


def polished(
    families: FamilyArrays,
    start: Polished,
    goal: Goal,
    effort: int,
    workers: Workers,
    on_turn: Callable[[Polished], float | None] = lambda reached: None,
) -> Polished:
    """Multipliers for the goal, or on the way to it, at least as good as those at the start, whose iterations count.

    Goes on until `effort` simplex iterations are used up, the goal is reached or the bound hardly moves; on_turn gets
    what there is after each turn, and may return a lower limit, which is the goal's from then on. The families may be
    fewer from call to call, by fixing: that leaves multipliers that are optimal at the root optimal. Deterministic.
    Raises Stopped, and what on_turn raises.
    """
    program = Program(families, beginning(families, start.multipliers, start.cuts), goal.share, goal.room)
    best, value, limit = start.multipliers, mean_value(start.multipliers, goal.share), goal.limit
    mark, turn, left, optimal = value, 0, effort - start.iterations, False
    while best.root < limit and left > 0 and program.bytes <= goal.room:
        left = program.solve(left, workers)
        if left <= 0:
            break
        found = program.multipliers()
        if mean_value(found, goal.share) > value:
            best, value = found, mean_value(found, goal.share)
        columns = program.missing_columns(found)
        cuts, left = program.violated(left, workers)
        optimal = left > 0 and not columns.size and not len(cuts)
        turn += 1
        lower = on_turn(Polished(best, program.cuts, effort - left, optimal, program.support()))
        limit = limit if lower is None else min(limit, lower)
        few = int((best.root + best.reduced < limit).sum()) <= goal.left * families.costs.size
        if optimal or few or (turn % WINDOW == 0 and value - mark < STALE * (limit - value)):
            break
        mark = value if turn % WINDOW == 0 else mark
        program.drop_slack()
        program.add_columns(columns)
        program.add_cuts(cuts)
    return Polished(best, program.cuts, effort - left, optimal)


def mean_value(multipliers: Multipliers, share: float) -> float:
    """The bound in the mean over nodes that lack each variable with probability `share`, divided by that; of the root
    if it is 1."""
    return float((multipliers.weights * UNIT) @ least_sums(multipliers.cuts, share) + multipliers.least.sum())
