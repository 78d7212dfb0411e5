"""What all networks over a few variables weigh together.

The weight of a network is exp(-cost). A table has what each family costs, scored one by one by `rescoring`: (n, 2^n),
by child and set of parents, a number with a bit for each; infinity for a family that is not there.

Weights are whole numbers of 2^-b with a b so large that nothing is lost, and sums of them exact: so inclusion and
exclusion of the sinks (Robinson 1973; Tian and He 2009) may subtract as much as it likes.
"""

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import VerificationError
from extbnsl.data import Data
from extbnsl.machine.workers import Workers
from extbnsl.scores.local import LocalScores
from extbnsl.verify.demands import Demands
from extbnsl.verify.document import ClaimedResult
from extbnsl.verify.rescoring import family_cost

MOST_VARIABLES = 14  # 114,688 families, and 4,782,969 steps of a sum: some seconds each
GUARD = 400  # bits beyond those of the best network: there are less than 2^111 networks, and a sum has 3^14 terms
MANTISSA = 53


def cost_table(
    problem: Data | LocalScores, claim: ClaimedResult, demands: Demands, workers: Workers
) -> NDArray[np.float64]:
    """What all families cost that are as demanded, of at most MOST_VARIABLES. Raises Stopped."""
    n = len(problem.names)
    table = np.full((n, 1 << n), np.inf)
    for child in range(n):
        must, optional = demands.must[child], sorted(demands.may[child] - demands.must[child])
        for size in range(min(demands.most[child] - len(must), len(optional)) + 1):
            workers.check()
            for some in itertools.combinations(optional, size):
                own = tuple(sorted((*must, *some)))
                try:
                    cost = family_cost(problem, child, own, claim.score, claim.ess)
                except VerificationError:  # scores do not list it
                    continue
                table[child, sum(1 << p for p in own)] = cost
    return table


def log_weight(table: NDArray[np.float64], workers: Workers) -> float:
    """The logarithm of the sum of the weights of all networks. Raises Stopped. O(3^n) sums of whole numbers.

    Let S be sinks of a network over V, which have their families in V - S. Networks with at least the sinks S weigh as
    much as all over V - S times the product of what the members of S may have there; and every network has a sink.
    """
    n, least = len(table), table.min(axis=1)
    bits = GUARD + math.ceil((_least_costs(table)[-1] - math.fsum(least)) / math.log(2.0))
    units = [[_units(excess, bits) for excess in own] for own in (table - least[:, None]).tolist()]
    inside = _over_subsets(np.array(units, object), np.add)
    weights = [0] * (1 << n)
    weights[0] = 1 << bits
    for before in range((1 << n) - 1):
        if before & 63 == 0:
            workers.check()
        terms = [(before, -weights[before])]
        for x in range(n):
            if not before >> x & 1:
                own = inside[x][before]
                terms += [(varset | 1 << x, -(weight * own >> bits)) for varset, weight in terms]
        for varset, weight in itertools.islice(terms, 1, None):
            weights[varset] += weight
    return math.log(weights[-1]) - bits * math.log(2.0) - math.fsum(least)


def _least_costs(table: NDArray[np.float64]) -> list[float]:
    """What the best network over each set of variables costs, infinity if there is none. O(n 2^n)."""
    inside, best = _over_subsets(table, np.minimum), [0.0] * table.shape[1]
    for varset in range(1, len(best)):
        sinks = ((x, varset ^ 1 << x) for x in range(len(table)) if varset >> x & 1)
        best[varset] = min(best[rest] + inside[x][rest] for x, rest in sinks)
    return best


def _over_subsets(table: NDArray[Any], combine: np.ufunc) -> list[list[Any]]:
    """For each child and set what its families with parents in the set make together."""
    inside = table.copy()
    for bit in range(len(table)):
        pairs = inside.reshape(-1, 2, 1 << bit)
        combine(pairs[:, 0], pairs[:, 1], out=pairs[:, 1])
    found: list[list[Any]] = inside.tolist()
    return found


def _units(excess: float, bits: int) -> int:
    """exp(-excess) in units of 2^-bits, to the precision of a float."""
    if excess == math.inf:
        return 0
    powers = excess / math.log(2.0)
    whole = math.floor(powers)
    shift = bits - whole - MANTISSA
    mantissa = int(2.0 ** (whole - powers) * (1 << MANTISSA))
    return mantissa << shift if shift >= 0 else mantissa >> -shift
