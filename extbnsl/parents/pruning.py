"""Which families can never be chosen, whatever the varset: those dominated by a subset of their parents.

Where all networks within a slack of the best are wanted, and not one of the best, the subset must cost less by more
than the slack: put in the place of the parent set it closes no cycle, so a network that has the family costs more than
the optimum plus the slack.
"""

import math

import numpy as np
from numpy.typing import NDArray

from extbnsl.machine.workers import unhalted
from extbnsl.parents.best_score import as_bytes, byte_tables, first_inside_each, first_subsets
from extbnsl.scores.local import LocalScores, in_order, repeated

Halt = NDArray[np.uint8] | None  # see `Workers`; None: nobody sets it

FEW = 64  # families that are compared one by one
ROUNDING = 1e-12  # of sums, per nat of the largest number in them


def with_rounding(slack: float, largest: float) -> float:
    """A slack in nats with room for what rounding does to sums of numbers up to `largest`. None stays none."""
    assert slack >= 0.0, "a slack is not negative"
    return slack + ROUNDING * (1.0 + slack + largest) if slack > 0.0 else 0.0


def undominated(
    parents: NDArray[np.uint64],
    costs: NDArray[np.float64],
    slack: float = 0.0,
    reach: float = math.inf,
    halt: Halt = None,
) -> NDArray[np.bool_]:
    """Of one child's families in score order, (m, words) and (m,), those that no subset replaces.

    Without slack none that is cheaper or equal (Malone et al. 2011, Theorem 2: a parent set that is not better than one
    of its subsets is never needed). Families in score order precede their equally good supersets, so a family survives
    exactly if it is the first one inside its own parent set. With slack, in nats and as `with_rounding` makes it, it
    also does if it costs less than that one and the slack together. Of equal parent sets the first survives alone.
    O(m^2 / 64) at worst, much less where good families are small.

    reach: what a family is known to cost at most above each of its subsets, in nats: only those that cost no less are
    compared with it. halt: when it is set this ends early, with an answer that is good for nothing.
    """
    if costs.size == 0:
        return np.zeros(0, dtype=np.bool_)
    best = _best_inside(parents, costs, reach, halt)
    kept = best == np.arange(costs.size)
    if slack > 0.0:  # else none costs less than the best
        kept |= (costs < costs[best] + slack) & ~repeated(parents)
    return kept


def within(
    parents: NDArray[np.uint64], costs: NDArray[np.float64], slack: float, halt: Halt = None
) -> NDArray[np.bool_]:
    """Of one child's families in score order, (m, words) and (m,), those that cost no more than the best inside
    their parents and the slack, nats; equal parent sets count, which differ in what is not looked at here. halt: as in
    `undominated`."""
    return costs <= costs[_best_inside(parents, costs, halt=halt)] + slack


def _best_inside(
    parents: NDArray[np.uint64],
    costs: NDArray[np.float64],
    reach: float = math.inf,
    halt: Halt = None,
) -> NDArray[np.int64]:
    """The number of the cheapest of the families inside each of these (m,) parent sets, of those within reach."""
    if costs.size <= FEW:
        return first_subsets(parents)
    begin = np.searchsorted(costs, costs - reach) // 64
    tables = byte_tables((parents,), (costs,))
    return first_inside_each(0, as_bytes(parents), begin, tables, unhalted() if halt is None else halt)


def merged(
    old: tuple[NDArray[np.uint64], NDArray[np.float64]],
    new: tuple[NDArray[np.uint64], NDArray[np.float64]],
    slack: float = 0.0,
    halt: Halt = None,
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """The undominated families of two lists of one child, in canonical order; slack and halt as in `undominated`."""
    parents, costs = in_order(np.concatenate((old[0], new[0])), np.concatenate((old[1], new[1])))
    keep = undominated(parents, costs, slack, halt=halt)
    return np.ascontiguousarray(parents[keep]), costs[keep]


def prune(scores: LocalScores, slack: float = 0.0, halt: Halt = None) -> LocalScores:
    """The same local scores without dominated families; BestScore(X | U) is the same for every U.

    With slack, in nats, without those that cost more by more than that than the cheapest of their subsets. halt: as in
    `undominated`.
    """
    return scores.only(
        undominated(p, c, with_rounding(slack, float(np.abs(c).max())), halt=halt)
        for p, c in zip(scores.parents, scores.costs, strict=True)
    )
