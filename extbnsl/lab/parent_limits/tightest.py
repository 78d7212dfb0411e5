"""The smallest limit that is proved for each child, by which theorem, and what lists of scores then take.

Chen, Darwiche and Choi 2018, Section 4, Table 1.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.lab.parent_limits.limits import LimitProblem, corollary_1, theorem_5
from extbnsl.lab.parent_limits.permutations import NODES, Choices, TreeLimit, limit_under_all_orders

NO_THEOREM = "none"  # the child may have all others, or as many as the claim lets it have
COROLLARY_1 = "corollary 1"
THEOREM_5 = "theorem 5"
ALGORITHM_2 = "algorithm 2"
SCORE_BYTES = 16  # of a family in a list: 64 bits for the parents and 64 for the score


@dataclass(frozen=True)
class ParentLimits:
    """Limits on the numbers of parents in the k best networks.

    limits (n,) int64. by: for each child the first of NO_THEOREM, COROLLARY_1, THEOREM_5, ALGORITHM_2 that gives its
    limit. nodes: of permutation trees that were expanded. complete: whether no tree was given up for having too many.
    """

    k: int
    limits: NDArray[np.int64]
    by: tuple[str, ...]
    nodes: int
    complete: bool

    @property
    def most(self) -> int:
        """The largest limit, p of Table 1."""
        return int(self.limits.max())


def parent_limits(
    problem: LimitProblem,
    best: Choices | None,
    k: int,
    nodes: int = NODES,
    check: Callable[[], None] = lambda: None,
) -> ParentLimits:
    """The tightest limits for the k best networks, k >= 1, by Corollary 1, Theorem 5 and Algorithm 2.

    Without the best families, `best`, there is no Algorithm 2. nodes, check: as in `limit_under_all_orders`.
    """
    local = theorem_5(problem, k)
    found = [TreeLimit(limit, 0, True) for limit in local.tolist()]
    if best is not None:
        found = [limit_under_all_orders(problem, best, child, k, nodes, check) for child in range(problem.variables)]
    limits = np.minimum(local, [tree.limit for tree in found])
    proofs = zip(
        np.full(problem.variables, problem.most).tolist(),
        corollary_1(problem, k).tolist(),
        local.tolist(),
        limits.tolist(),
        strict=True,
    )
    names = (NO_THEOREM, COROLLARY_1, THEOREM_5, ALGORITHM_2)
    by = tuple(names[proved.index(min(proved))] for proved in proofs)
    return ParentLimits(k, limits, by, sum(tree.nodes for tree in found), all(tree.complete for tree in found))


def score_list_bytes(variables: int, most: int | None = None) -> int:
    """What a list of the scores of all families takes, or of those of at most `most` parents: footnote 9, in bytes.

    The gigabytes of Table 1 are of 2^30 bytes.
    """
    largest = variables - 1 if most is None else min(most, variables - 1)
    return SCORE_BYTES * variables * sum(math.comb(variables - 1, size) for size in range(largest + 1))
