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
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from extbnsl.scores.score import DEFAULT_ESS, CellScore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from extbnsl.scores.cells import Cells
    from extbnsl.scores.formula import Formula


class _Dirichlet(CellScore):
    """What the three scores have in common: all but the prior."""

    @abstractmethod
    def prior(self, cells: "Cells") -> float:
        """a of the module, for the family of these cells."""

    def cost(self, cells: "Cells") -> float:
        """What a family costs, in nats."""
        prior = self.prior(cells)
        return _rising(prior, cells.counts.sum(axis=1)) - _rising(prior / cells.arity, cells.counts.ravel())

    def least(self, cells: "Cells", floor: float) -> float:
        """What the family of these cells and all with more parents cost at least, in nats: see the module."""
        return max(floor, int((cells.counts > 0).sum()) * math.log(cells.arity))


@dataclass(frozen=True)
class SpreadPrior(_Dirichlet):
    """A prior of ess / q for each of the q states that the parents' arities allow. Equivalent networks cost the
    same."""

    ess: float = field(default=DEFAULT_ESS, kw_only=True)

    def prior(self, cells: "Cells") -> float:
        return self.ess / cells.configurations

    def formula(self, records: int, arities: "NDArray", max_parents: int, base: int = 1) -> "Formula":
        from extbnsl.scores.formula import SPREAD, formula

        return formula(SPREAD, arities, ess=self.ess / base, least=["cells"])


@dataclass(frozen=True)
class OccurringPrior(_Dirichlet):
    """A prior of ess / q' for each of the q' states of the parents that occur. For sparse data; equivalent networks may
    cost different sums."""

    ess: float = field(default=DEFAULT_ESS, kw_only=True)

    def prior(self, cells: "Cells") -> float:
        return self.ess / int((cells.counts.sum(axis=1) > 0).sum())

    def formula(self, records: int, arities: "NDArray", max_parents: int, base: int = 1) -> "Formula":
        from extbnsl.scores.formula import OCCURRING, formula

        return formula(OCCURRING, arities, ess=self.ess, least=["cells"])


class UniformPrior(_Dirichlet):
    """A prior of 1 for each state of the child. Equivalent networks may cost different sums."""

    def prior(self, cells: "Cells") -> float:
        return float(cells.arity)

    def formula(self, records: int, arities: "NDArray", max_parents: int, base: int = 1) -> "Formula":
        from extbnsl.scores.formula import TABLES, formula, rising_table

        own = [rising_table(float(arity), records) for arity in sorted(set(arities.tolist()))]
        return formula(TABLES, arities, joint=rising_table(1.0, records), own=own, mixed=own, least=["cells"])


BDEU = SpreadPrior("bdeu", "BDeu", "log evidence")
BDS = OccurringPrior("bds", "BDs", "log evidence")
K2 = UniformPrior("k2", "K2", "log evidence")


def _rising(prior: float, counts: "NDArray") -> float:
    """The sum of ln G(prior + m) - ln G(prior) over the counts m."""
    import numpy as np

    numbers, often = np.unique(counts[counts > 0], return_counts=True)
    each = [math.lgamma(prior + m) - math.lgamma(prior) for m in numbers.tolist()]
    return math.fsum(many * value for many, value in zip(often.tolist(), each, strict=True))
