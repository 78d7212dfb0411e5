"""BDeu: the marginal likelihood with a prior that is spread evenly over all joint states of a family.

Buntine 1991; Heckerman, Geiger, Chickering 1995. Equivalent networks cost the same. See dirichlet.py.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from extbnsl.scores.cells import Cells
    from extbnsl.scores.formula import Formula


@dataclass(frozen=True)
class BDeu:
    """A prior of ess / q for each of the q states that the parents' arities allow."""

    ess: float
    name: str = "bdeu"
    title: str = "BDeu"
    maximised: str = "log evidence"

    def cost(self, cells: "Cells") -> float:
        from extbnsl.scores.dirichlet import dirichlet_cost

        return dirichlet_cost(cells, self.ess / cells.configurations)

    def least(self, cells: "Cells", floor: float) -> float:
        from extbnsl.scores.dirichlet import least_by_cells

        return least_by_cells(cells, floor)

    def formula(self, records: int, arities: "NDArray", max_parents: int, base: int = 1) -> "Formula":
        from extbnsl.scores.formula import SPREAD, formula

        return formula(SPREAD, arities, ess=self.ess / base, by_cells=True)
