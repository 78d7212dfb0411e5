"""All networks over a few variables, one after the other, so that a list can be asked whether one is missing."""

import itertools
from collections.abc import Iterator

from extbnsl.data import Dataset
from extbnsl.errors import VerificationError
from extbnsl.scores.local import LocalScores
from extbnsl.verify.structures import Family, is_acyclic, scored_family

VARIABLES = 4  # at most: 543 networks


def every_network(
    problem: Dataset | LocalScores, score: str, ess: float | None, max_parents: int | None
) -> Iterator[tuple[Family, ...]]:
    """Each network once whose families can be scored and keep the limit. O(2^(n (n - 1))) for n variables."""
    n = len(problem.names)
    most = n - 1 if max_parents is None else max_parents
    families = [list(_families(problem, child, score, ess, most)) for child in range(n)]
    return filter(is_acyclic, itertools.product(*families))


def _families(problem: Dataset | LocalScores, child: int, score: str, ess: float | None, most: int) -> Iterator[Family]:
    """The families of a child of at most so many parents; those that scores do not list are none."""
    others = [v for v in range(len(problem.names)) if v != child]
    for size in range(min(most, len(others)) + 1):
        for parents in itertools.combinations(others, size):
            try:
                yield scored_family(problem, child, parents, score, ess)
            except VerificationError:
                continue
