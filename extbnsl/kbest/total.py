"""The weight of all networks over a few variables: exact, so that what lies outside a list is known.

A network over a varset has a set S of sinks, which have their families in what is left, W. The networks with at least
the sinks S weigh F(W) times the weights of all families that the members of S have in W; those with one sink at least
follow by inclusion and exclusion, as networks are counted (Robinson 1973; with weights: Tian and He 2009, section 3).

All is in logarithms, and what F takes from differences is watched: the rounding errors that they leave are told.
"""

import math

import numpy as np

from extbnsl.kernels.bits import lowest, popcount, u64
from extbnsl.kernels.compiler import borrowed, inner, njit
from extbnsl.scores.local import LocalScores

MOST_VARIABLES = 14  # for which families and steps take some tenths of a second
MOST_ERROR = 1e-3  # of the weight, relative
EPSILON = 2.0**-50  # relative error of a step


def log_weight_of_all(scores: LocalScores) -> float | None:
    """The logarithm of the sum of exp(-cost) over all networks with these families, of at most MOST_VARIABLES; None if
    rounding leaves too little of it. O(3^n) time, n 2^n numbers of memory."""
    n = scores.variables
    tables = np.full((n, 1 << n), -np.inf)
    for x, (varsets, costs) in enumerate(zip(scores.parents, scores.costs, strict=True)):
        tables[x, varsets[:, 0].astype(np.int64)] = -costs
    best, weights, errors = np.full(1 << n, np.inf), np.zeros(1 << n), np.zeros(1 << n)
    _sum_over_subsets(tables)
    _least(tables, best)
    _weigh(tables, best, weights, errors, np.empty(1 << n))
    if not errors[-1] <= MOST_ERROR * weights[-1]:
        return None
    return math.log(weights[-1]) - float(best[-1])


@njit
def _sum_over_subsets(tables):
    """Let each entry be the logarithm of the sum over its subsets."""
    for table in tables:
        bit = 1
        while bit < table.size:
            for varset in range(table.size):
                if varset & bit and table[varset ^ bit] > -np.inf:
                    table[varset] = np.logaddexp(table[varset], table[varset ^ bit])
            bit *= 2


@njit
def _least(tables, best):
    """About what the best network over each varset costs; not more than by the number of families that it is from."""
    best[0] = 0.0
    for varset in range(1, best.size):
        left = varset
        while left:
            x = lowest(u64(left))
            left &= left - 1
            rest = varset ^ (1 << x)
            best[varset] = min(best[varset], best[rest] - tables[x, rest])


@njit
def _weigh(tables, best, weights, errors, logs):
    """weights: of the networks over each varset, over exp(-best); errors: of them, at most, as far as first order goes.
    logs: room for the weights of the families of each set of sinks."""
    tables, best, weights, errors, logs = borrowed((tables, best, weights, errors, logs))
    n = tables.shape[0]
    weights[0] = 1.0
    for rest in range(best.size - 1):
        if weights[rest] > 0.0:
            _add_sinks(tables, best, weights, errors, logs, rest, (1 << n) - 1 - rest)


@inner
def _add_sinks(tables, best, weights, errors, logs, rest, others):
    """Let what is left be `rest`: add its networks with each set of sinks from the others."""
    begin = np.log(weights[rest]) - best[rest]
    relative = errors[rest] / weights[rest]
    logs[0] = 0.0
    sinks = 0
    while sinks != others:
        sinks = (sinks - others) & others  # the next larger subset
        x = lowest(u64(sinks))
        logs[sinks] = logs[sinks & (sinks - 1)] + tables[x, rest]
        varset = rest | sinks
        term = np.exp(begin + logs[sinks] + best[varset])
        weights[varset] += term if popcount(u64(sinks)) & u64(1) else -term
        errors[varset] += term * (relative + EPSILON * (1.0 + abs(logs[sinks]) + abs(begin)))
