"""Which families can never be chosen, whatever the varset: those dominated by a subset of their parents.

Nor can a family be in a network that costs less than the optimum and a slack, in nats, if one of its subsets costs less
by the slack or more: with the subset in its place, the network would cost less than the optimum.
"""

import numpy as np
from numpy.typing import NDArray

from extbnsl.parents.best_score import as_bytes, byte_tables, first_inside_each
from extbnsl.scores.local import LocalScores, canonical_order


def undominated(parents: NDArray[np.uint64], costs: NDArray[np.float64], slack: float = 0.0) -> NDArray[np.bool_]:
    """Of one child's families in score order, (m, words) and (m,), those that no cheaper or equal subset replaces; with
    a slack, those that cost less than the best of their subsets and the slack.

    Malone et al. 2011, Theorem 2: a parent set that is not better than one of its subsets is never needed. Families
    in score order precede their equally good supersets, so a family survives exactly if it is the first one inside
    its own parent set. O(m^2 / 64) at worst, much less where good families are small.
    """
    if costs.size == 0:
        return np.zeros(0, dtype=np.bool_)
    first = first_inside_each(0, as_bytes(parents), byte_tables((parents,), (costs,)))
    return costs < costs[first] + slack if slack else first == np.arange(costs.size)


def merged(
    old: tuple[NDArray[np.uint64], NDArray[np.float64]],
    new: tuple[NDArray[np.uint64], NDArray[np.float64]],
    slack: float = 0.0,
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """The families of two lists of one child that are undominated, or within a slack, each once, in canonical order."""
    parents = np.concatenate((old[0], new[0]))
    costs = np.concatenate((old[1], new[1]))
    order = canonical_order(parents, costs)
    if slack:  # otherwise the first dominates the second
        order = order[np.sort(np.unique(parents[order], axis=0, return_index=True)[1])]
    parents, costs = np.ascontiguousarray(parents[order]), costs[order]
    keep = undominated(parents, costs, slack)
    return np.ascontiguousarray(parents[keep]), costs[keep]


def prune(scores: LocalScores, slack: float = 0.0) -> LocalScores:
    """The same local scores without dominated families, or those beyond a slack; BestScore(X | U) is the same for every
    U."""
    kept = [undominated(p, c, slack) for p, c in zip(scores.parents, scores.costs, strict=True)]
    return LocalScores(
        names=scores.names,
        parents=tuple(np.ascontiguousarray(p[k]) for p, k in zip(scores.parents, kept, strict=True)),
        costs=tuple(c[k] for c, k in zip(scores.costs, kept, strict=True)),
        score=scores.score,
        max_parents=scores.max_parents,
    )
