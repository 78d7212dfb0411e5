"""BDs: the marginal likelihood with a prior that is spread over the states of the parents that occur.

Scutari 2016. For sparse data; equivalent networks may cost different sums. See dirichlet.py.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from extbnsl.scores.cells import Cells
    from extbnsl.scores.formula import Formula


@dataclass(frozen=True)
class BDs:
    """A prior of ess / q' for each of the q' states of the parents that occur."""

    ess: float
    name: str = "bds"
    title: str = "BDs"
    maximised: str = "log evidence"

    def cost(self, cells: "Cells") -> float:
        from extbnsl.scores.dirichlet import dirichlet_cost, occurring

        return dirichlet_cost(cells, self.ess / occurring(cells))

    def least(self, cells: "Cells", floor: float) -> float:
        from extbnsl.scores.dirichlet import least_by_cells

        return least_by_cells(cells, floor)

    def formula(self, records: int, arities: "NDArray", max_parents: int, base: int = 1) -> "Formula":
        from extbnsl.scores.formula import OCCURRING, formula

        return formula(OCCURRING, arities, ess=self.ess, by_cells=True)
