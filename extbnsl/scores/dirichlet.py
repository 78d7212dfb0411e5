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

**Weights that are not whole.** The formula takes any m. It is minus ln of the mean of the product of t_k^m_k over
shares t with a Dirichlet distribution, so that the last bound, and those by the misfit, hold as they are. For the first
one let

    g(m; a) = ln G(a + m) / G(a) - ln G(a / r + m) / G(a / r),

what weight m of one state costs that comes first in j; g(1; a) = ln r. With psi = (ln G)', which rises ever more
slowly:

- g rises with m, ever more slowly: g' = psi(a + m) - psi(a / r + m) is positive and falls. As g(0; a) = 0, no more is
  lost where cells are divided: the parts of m add up to g(m; a) or more.
- Weight m of another state behind others of weight s costs ln G(a + s + m) / G(a + s) - ln G(a / r + m) / G(a / r) >=
  g(m; a), as ln G is convex. So j costs at least the sum of g(m_jk; a) over k.
- For m <= 1, g falls with a. Its derivative by ln a is e(m; a) - e(m; a / r) for e(m; a) = a (psi(a + m) - psi(a)),
  which is the mean of (1 - exp(-m t)) / (1 - exp(-t)) over t with an exponential distribution of rate a. For m <= 1
  that rises with t, from m to 1, so e falls with a. (For m >= 1 it falls with t, from m to 1, so e rises with a.)

More parents make a no larger. So a cell of weight m of P and X costs at least ln r, by (X, P) and with more parents, if
m >= 1, and g(m; a) by the prior a of P if m < 1: `first_cost` of rows.py. Weights of a small part of a record say
little where a is large.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from extbnsl.scores.rows import first_cost, log_rising
from extbnsl.scores.score import DEFAULT_ESS, CellScore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from extbnsl.scores.cells import Cells
    from extbnsl.scores.formula import Formula
    from extbnsl.scores.rows import Rows


class _Dirichlet(CellScore):
    """What the three scores have in common: all but the prior."""

    @abstractmethod
    def prior(self, cells: "Cells") -> float:
        """a of the module, for the family of these cells."""

    def cost(self, cells: "Cells") -> float:
        """What a family costs, in nats."""
        prior, each = self.prior(cells), cells.weight
        own = _added_up(cells.counts.sum(axis=1), lambda m: log_rising(prior, m * each))
        return own - _added_up(cells.counts, lambda m: log_rising(prior / cells.arity, m * each))

    def least(self, cells: "Cells", floor: float) -> float:
        """What the family of these cells and all with more parents cost at least, in nats: see the module."""
        prior = self.prior(cells)
        return max(floor, _added_up(cells.counts, lambda m: first_cost(m * cells.weight, prior, cells.arity)))


@dataclass(frozen=True)
class SpreadPrior(_Dirichlet):
    """A prior of ess / q for each of the q states that the parents' arities allow. Equivalent networks cost the
    same."""

    ess: float = field(default=DEFAULT_ESS, kw_only=True)

    def prior(self, cells: "Cells") -> float:
        return self.ess / cells.configurations

    def formula(self, rows: "Rows", arities: "NDArray", max_parents: int, base: int = 1) -> "Formula":
        from extbnsl.scores.formula import SPREAD, formula

        return formula(SPREAD, arities, rows, ess=self.ess / base, least=["cells"])


@dataclass(frozen=True)
class OccurringPrior(_Dirichlet):
    """A prior of ess / q' for each of the q' states of the parents that occur. For sparse data; equivalent networks may
    cost different sums."""

    ess: float = field(default=DEFAULT_ESS, kw_only=True)

    def prior(self, cells: "Cells") -> float:
        return self.ess / int((cells.counts.sum(axis=1) > 0).sum())

    def formula(self, rows: "Rows", arities: "NDArray", max_parents: int, base: int = 1) -> "Formula":
        from extbnsl.scores.formula import OCCURRING, formula

        return formula(OCCURRING, arities, rows, ess=self.ess, least=["cells"])


class UniformPrior(_Dirichlet):
    """A prior of 1 for each state of the child. Equivalent networks may cost different sums."""

    def prior(self, cells: "Cells") -> float:
        return float(cells.arity)

    def formula(self, rows: "Rows", arities: "NDArray", max_parents: int, base: int = 1) -> "Formula":
        from extbnsl.scores.formula import TABLES, Tables, formula, rising_table

        own = [rising_table(float(arity), rows) for arity in sorted(set(arities.tolist()))]
        return formula(TABLES, arities, rows, tables=Tables(rising_table(1.0, rows), own, own), least=["cells"])


BDEU = SpreadPrior("bdeu", "BDeu", "log evidence")
BDS = OccurringPrior("bds", "BDs", "log evidence")
K2 = UniformPrior("k2", "K2", "log evidence")


def _added_up(counts: "NDArray", of: Callable[[float], float]) -> float:
    """The sum over the counts m, but those of none, of what each is worth."""
    import numpy as np

    numbers, often = np.unique(counts[counts > 0], return_counts=True)
    return math.fsum(many * of(m) for m, many in zip(numbers.tolist(), often.tolist(), strict=True))
