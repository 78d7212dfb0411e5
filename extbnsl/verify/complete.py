"""All networks over a few variables, one after the other, so that a list can be asked whether one is missing."""

import itertools
from collections.abc import Iterator

from extbnsl.data import Data
from extbnsl.errors import VerificationError
from extbnsl.scores.local import LocalScores
from extbnsl.verify.demands import Demands
from extbnsl.verify.structures import Family, is_acyclic, scored_family

VARIABLES = 4  # at most: 543 networks


def every_network(
    problem: Data | LocalScores, score: str, ess: float | None, demands: Demands
) -> Iterator[tuple[Family, ...]]:
    """Each network once whose families can be scored and are as demanded. O(2^(n (n - 1))) for n variables."""
    n = len(problem.names)
    families = [list(_families(problem, child, score, ess, demands)) for child in range(n)]
    return filter(is_acyclic, itertools.product(*families))


def _families(
    problem: Data | LocalScores, child: int, score: str, ess: float | None, demands: Demands
) -> Iterator[Family]:
    """The families of a child that are as demanded; those that scores do not list are none."""
    others = [v for v in range(len(problem.names)) if v != child]
    for size in range(min(demands.most[child], len(others)) + 1):
        for parents in itertools.combinations(others, size):
            if demands.fault(problem.names, child, parents) is not None:
                continue
            try:
                yield scored_family(problem, child, parents, score, ess)
            except VerificationError:
                continue
