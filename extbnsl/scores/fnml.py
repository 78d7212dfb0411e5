"""fNML: the factorised normalised maximum likelihood.

cost(X | P) = N H(X | P) + sum over the states j of P of ln C(m_j, r_X)     (Silander, Roos, Kontkanen, Myllymaki 2008)

with C the regret, see regret.py; nats. The sum never falls when parents are added: of the sequences of a + b records
each has a largest likelihood that is at most the product of those of its two parts, so C(a + b, r) <= C(a, r) C(b, r).
Hence what N H(X | all other variables) and the sum make for P bounds all families with more parents too. Equivalent
networks may cost different sums.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from extbnsl.scores.cells import Cells
    from extbnsl.scores.formula import Formula


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
        from extbnsl.scores.formula import TABLES, formula
        from extbnsl.scores.mlogm import mlogm_table
        from extbnsl.scores.regret import log_regrets

        joint = mlogm_table(records)
        own = [joint + log_regrets(records, arity) for arity in sorted(set(arities.tolist()))]
        return formula(TABLES, arities, joint=joint, own=own)


FNML = FactorisedNML()
