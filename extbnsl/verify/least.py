"""What every network costs at least, whatever its arcs: as if each variable were explained by all others for no more
than the price of no parents.

So a lower bound that nobody has raised is computed again. No family costs less: more parents never raise the misfit,
nor lower the price. By BDeu, BDs and K2 a family costs at least ln r for each state of the child that occurs, and no
less than its misfit (see `data_families`).
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from extbnsl.data import Data, Dataset, Numbers
from extbnsl.machine.workers import Workers
from extbnsl.scores.local import LocalScores
from extbnsl.verify.document import ClaimedResult
from extbnsl.verify.rescoring import PARAMETER_COSTS, family_cost, log_regret

MOST_CELLS = 1 << 27  # records times variables
MOST_PRODUCTS = 1 << 36  # of numbers, in all regressions


def least_cost(problem: Data | LocalScores, claim: ClaimedResult, workers: Workers) -> float:
    """A lower bound of the cost of every network, in nats, but for the rounding of a sum; -inf where that takes too
    much.

    Raises Stopped when the workers are to stop. O(n N log N) for N records of states, O(N n^3) of numbers.
    """
    if isinstance(problem, LocalScores):
        return math.fsum(float(costs.min()) for costs in problem.costs)
    n, records = problem.variables, problem.records
    if records * n > MOST_CELLS or (isinstance(problem, Numbers) and records * n**3 > MOST_PRODUCTS):
        return -math.inf
    return math.fsum(
        _regressed(problem, workers) if isinstance(problem, Numbers) else _counted(problem, claim, workers)
    )


def _regressed(numbers: Numbers, workers: Workers) -> Iterator[float]:
    """What all others leave of each column, without the price of its parents."""
    for child in range(numbers.variables):
        workers.check()
        others = tuple(v for v in range(numbers.variables) if v != child)
        yield family_cost(numbers, child, others, "") - len(others) * math.log(numbers.records) / 2


def _counted(dataset: Dataset, claim: ClaimedResult, workers: Workers) -> Iterator[float]:
    """What all others leave of each variable, and the price of no parents."""
    misfits = misfits_given_others(dataset.codes, np.ones(dataset.records, np.int64), workers)
    for child, misfit in enumerate(misfits):
        arity = len(dataset.states[child])
        if claim.score in PARAMETER_COSTS:
            yield misfit + PARAMETER_COSTS[claim.score](dataset.records) * (arity - 1)
        elif claim.score in ("fnml", "qnml"):
            yield misfit + log_regret(dataset.records, arity)
        else:
            yield max(misfit, len(np.unique(dataset.codes[:, child])) * math.log(arity))


def misfits_given_others(codes: NDArray[np.integer], weights: NDArray[np.int64], workers: Workers) -> Iterator[float]:
    """N H(X | all other variables) of each X, in nats, for rows of states (d, n) with so many records each (d,).

    Rows that agree in the variables before X, and in those behind it, have the same two numbers. Raises Stopped.
    O(n d log d), and n d numbers of memory.
    """
    behind = [np.zeros(len(codes), np.int64)]
    for column in codes.T[:0:-1]:
        workers.check()
        behind.append(_numbered(behind[-1], column))
    before = np.zeros(len(codes), np.int64)
    for column in codes.T:
        workers.check()
        others = _numbered(before, behind.pop())
        cells = _numbered(others, column)
        in_cell, in_others = (np.bincount(own, weights)[own] for own in (cells, others))
        yield -math.fsum((weights * np.log(in_cell / in_others)).tolist())
        before = _numbered(before, column)


def _numbered(numbers: NDArray[np.int64], more: NDArray[np.integer]) -> NDArray[np.int64]:
    """For each row a number that those share that agree in both; below the number of rows."""
    pairs = numbers * (int(more.max()) + 1) + more
    return np.unique(pairs, return_inverse=True)[1].reshape(-1).astype(np.int64)
