"""K2: the marginal likelihood with a uniform prior of the parameters.

Cooper and Herskovits 1992. Equivalent networks may cost different sums. See dirichlet.py.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from extbnsl.scores.cells import Cells
    from extbnsl.scores.formula import Formula


@dataclass(frozen=True)
class UniformPrior:
    """A prior of 1 for each state of the child."""

    name: str = "k2"
    title: str = "K2"
    maximised: str = "log evidence"
    ess: None = field(default=None, init=False)

    def cost(self, cells: "Cells") -> float:
        from extbnsl.scores.dirichlet import dirichlet_cost

        return dirichlet_cost(cells, float(cells.arity))

    def least(self, cells: "Cells", floor: float) -> float:
        from extbnsl.scores.dirichlet import least_by_cells

        return least_by_cells(cells, floor)

    def formula(self, records: int, arities: "NDArray", max_parents: int, base: int = 1) -> "Formula":
        from extbnsl.scores.dirichlet import rising_table
        from extbnsl.scores.formula import TABLES, formula

        own = [rising_table(float(arity), records) for arity in sorted(set(arities.tolist()))]
        return formula(TABLES, arities, joint=rising_table(1.0, records), own=own, by_cells=True)


K2 = UniformPrior()
