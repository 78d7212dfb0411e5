"""Scores by a Dirichlet prior: minus the log marginal likelihood of a child's column, given its parents.

With a prior a for each state of the parents, a / r_X for each state of the child with them,

    cost(X | P) = sum over j of [ln G(a + m_j) - ln G(a)] - sum over j, k of [ln G(a / r + m_jk) - ln G(a / r)]

for G the gamma function (Cooper and Herskovits 1992; Heckerman, Geiger, Chickering 1995; nats). K2 has a = r_X; BDeu a
= ess / q with q the product of the parents' arities (Buntine 1991); BDs a = ess / q' with the q' states of the parents
that occur (Scutari 2016).

**What is safe to leave out.** Let c(P, X) be the number of joint states of P and X that occur. The cost of (X, P) is at
least c(P, X) ln r, and so is that of every family (X, Q), Q a superset of P. For let the records of a state j of Q come
one after the other. A record has a state of the child that none before it has, in j, with the predictive probability
(a / r) / (a + i), i the records before it: at most 1 / r. Every other record has a probability of at most 1. There are
c(Q, X) records of the first kind, and c(Q, X) >= c(P, X), as more parents only divide cells. (The bound of Cussens 2012
counts the states of the parents alone: q' ln r.) The cost is at least N H(X | all other variables) as well, since the
marginal likelihood of a column is at most its largest likelihood, and more parents only make that larger (Correia,
Cussens, de Campos 2020, Section 3).
"""

import math

import numpy as np
from numpy.typing import NDArray

from extbnsl.scores.cells import Cells


def dirichlet_cost(cells: Cells, prior: float) -> float:
    """The cost of a family with so much prior for each state of its parents, in nats."""
    return _rising(prior, cells.counts.sum(axis=1)) - _rising(prior / cells.arity, cells.counts.ravel())


def least_by_cells(cells: Cells, floor: float) -> float:
    """What the family of these cells and all with more parents cost at least, in nats: see the module."""
    return max(floor, int((cells.counts > 0).sum()) * math.log(cells.arity))


def occurring(cells: Cells) -> int:
    """The states of the parents that occur."""
    return int((cells.counts.sum(axis=1) > 0).sum())


def _rising(prior: float, counts: NDArray[np.int64]) -> float:
    """The sum of ln G(prior + m) - ln G(prior) over the counts m."""
    numbers, often = np.unique(counts[counts > 0], return_counts=True)
    each = [math.lgamma(prior + m) - math.lgamma(prior) for m in numbers.tolist()]
    return math.fsum(many * value for many, value in zip(often.tolist(), each, strict=True))


def rising_table(prior: float, records: int) -> NDArray[np.float64]:
    """ln G(prior + m) - ln G(prior) for m = 0 to `records`."""
    return np.concatenate(([0.0], np.cumsum(np.log(prior + np.arange(records)))))
