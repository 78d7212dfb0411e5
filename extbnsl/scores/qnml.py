"""Normalised maximum likelihood: quotient (qNML) and factorised (fNML), with C the regret, see regret.py; nats.

qNML: cost(X | P) = N H(X | P) + ln C(N, q r_X) - ln C(N, q),  q the product of the parents' arities
(Silander, Leppa-aho, Jaasaari, Roos 2018). Equivalent networks cost the same. That the penalty never falls with q is
not proved in print; `formula` checks it for every q that can occur.

fNML: cost(X | P) = N H(X | P) + sum over the states j of P of ln C(m_j, r_X)
(Silander, Roos, Kontkanen, Myllymaki 2008). The sum never falls when parents are added: of the sequences of a + b
records each has a largest likelihood that is at most the product of those of its two parts, so
C(a + b, r) <= C(a, r) C(b, r). Hence what N H(X | all other variables) and the sum make for P bounds all families with
more parents too. Equivalent networks may cost different sums.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from extbnsl.scores.cells import Cells
    from extbnsl.scores.formula import Formula

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from extbnsl.scores.cells import Cells
    from extbnsl.scores.formula import Formula


@dataclass(frozen=True)
class QuotientNML:
    """The regret of parents and child together, less that of the parents."""

    name: str = "qnml"
    title: str = "qNML"
    maximised: str = "log qNML"
    ess: None = field(default=None, init=False)

    def cost(self, cells: "Cells") -> float:
        return self.least(cells, cells.misfit)

    def least(self, cells: "Cells", floor: float) -> float:
        return floor + _penalty(cells.records, cells.arity, cells.configurations)

    def formula(self, records: int, arities: "NDArray", max_parents: int, base: int = 1) -> "Formula":
        import numpy as np

        from extbnsl.scores.counting import mlogm_table
        from extbnsl.scores.formula import TABLES, formula
        from extbnsl.scores.regret import log_regrets_of

        most = _most_parents(records, int(arities.max(initial=2)), max_parents)
        sizes = _products(arities, most + 1)
        regrets = dict(zip(sizes, log_regrets_of(records, base * np.array(sizes, float)).tolist(), strict=True))
        _check_monotony(regrets, sorted(set(arities.tolist())))
        return formula(TABLES, arities, joint=mlogm_table(records), regrets=regrets)


QNML = QuotientNML()


def _penalty(records: int, arity: int, configurations: float) -> float:
    import numpy as np

    from extbnsl.scores.regret import log_regrets_of

    one, both = log_regrets_of(records, np.array([configurations, configurations * arity])).tolist()
    return float(both - one)


def _most_parents(records: int, arity: int, limit: int) -> int:
    """How many parents of two states each make the penalty as large as the cost of no parents can be; `limit` at
    most."""
    import math

    alone, most = records * math.log(arity) + _penalty(records, arity, 1.0), 0
    while most < limit and _penalty(records, 2, 2.0**most) < alone:
        most += 1
    return most


def _products(arities: "NDArray", most: int) -> list[int]:
    """The products of the arities of every set of at most so many variables, ascending."""
    found = {0: {1}}  # by the number of factors
    for arity in arities.tolist():
        for size in sorted(found, reverse=True):
            if size < most:
                found.setdefault(size + 1, set()).update(states * arity for states in found[size])
    return sorted(set().union(*found.values()))


def _check_monotony(regrets: dict[int, float], arities: list[int]) -> None:
    """Assert that the penalty of a family never falls when its parents have more states."""
    for arity in arities:
        penalties = [regrets[q * arity] - regret for q, regret in regrets.items() if q * arity in regrets]
        rises = all(more >= less - 1e-9 * (1.0 + less) for less, more in pairwise(penalties))
        assert rises, f"the penalty of qNML falls for a variable of {arity} states"


@dataclass(frozen=True)
class FactorisedNML:
    """The regret of each state of the parents by itself."""

    name: str = "fnml"
    title: str = "fNML"
    maximised: str = "log fNML"
    ess: None = field(default=None, init=False)

    def cost(self, cells: "Cells") -> float:
        return self.least(cells, cells.misfit)

    def least(self, cells: "Cells", floor: float) -> float:
        from extbnsl.scores.regret import log_regrets

        return floor + float(log_regrets(cells.records, cells.arity)[cells.counts.sum(axis=1)].sum())

    def formula(self, records: int, arities: "NDArray", max_parents: int, base: int = 1) -> "Formula":
        from extbnsl.scores.counting import mlogm_table
        from extbnsl.scores.formula import TABLES, formula
        from extbnsl.scores.regret import log_regrets

        joint = mlogm_table(records)
        own = [joint + log_regrets(records, arity) for arity in sorted(set(arities.tolist()))]
        return formula(TABLES, arities, joint=joint, own=own)


FNML = FactorisedNML()
