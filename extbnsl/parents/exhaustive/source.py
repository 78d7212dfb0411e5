"""What families come from: data of a kind, and what its scores make of them before and after the enumeration."""

import contextlib
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import Claim
from extbnsl.core.data_options import MIXED, NUMBERS, STATES
from extbnsl.data import Data, Dataset, Mixed, Numbers, distinct_rows
from extbnsl.data.dataset import of_latent
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.charged import charged
from extbnsl.parents.constraints import Constraints, constraints_of
from extbnsl.parents.exhaustive.problem import CountingProblem, LatticeSource, Source, divided, varying
from extbnsl.parents.exhaustive.whole_records import check_values
from extbnsl.parents.pruning import with_rounding
from extbnsl.scores.cells import cells_of
from extbnsl.scores.counting import CountingTable, counting_table
from extbnsl.scores.formula import Formula
from extbnsl.scores.known import COLUMNS, Known, check_averaged, check_data, model_of, score_of
from extbnsl.scores.rows import Rows
from extbnsl.scores.score import ParameterScore, most_parents

MOST_COUNTED = (1 << 16) - 1  # records, of which a search for a child by itself has counters
MOST_LANES = 1 << 25  # records times variables, for the same


@dataclass(frozen=True)
class Counted(LatticeSource):
    """Discrete data, of which the score is this one."""

    data: Dataset
    score: Known

    @classmethod
    def of(cls, data: Dataset, claim: Claim, constraints: Constraints) -> "Counted":
        """The source of data with the score of a claim."""
        score = score_of(claim)
        return cls(data, replace(claim, score=score.name, ess=score.ess), constraints, varying(data, score), score)

    def without_arcs(self) -> float:
        return self.data.total * float(np.log(self.data.arities).sum())

    def least_costs(self, workers: Workers) -> list[float]:
        """See `Source`; a stop leaves zero of the misfit. Some ten ns per record and variable."""
        floors = np.zeros(self.data.variables)
        if self.order.size:
            with contextlib.suppress(Stopped):
                floors[self.order] = self.with_floors(self.problem(0.0), workers).floors
        floors[self.data.given] = 0.0
        return [self.score.least(cells_of(self.data, child), floor) for child, floor in enumerate(floors.tolist())]

    def problem(self, slack: float) -> CountingProblem:
        """O(n N log N)."""
        dataset, order, constraints, score = self.data, self.order, self.constraints, self.score
        table = self._table(dataset.codes)
        limits, here = np.minimum(constraints.limits[order], order.size - 1), np.ix_(order, order)
        parameter = score.parameter(dataset.total) if isinstance(score, ParameterScore) else 0.0
        return CountingProblem(
            table=table,
            limits=limits,
            floors=np.zeros(order.size),
            parameter=parameter,
            slack=with_rounding(slack, float(table.mlogm[-1])),
            form=self._form(table, limits),
            allowed=constraints.allowed[here],
            required=constraints.required[here],
        )

    def _table(self, codes: NDArray[np.uint16]) -> CountingTable:
        """The table of some records, (N, n)."""
        rows, weights = distinct_rows(np.ascontiguousarray(codes[:, self.order]))
        return counting_table(rows, weights, self.data.arities[self.order], self.data.each)

    def _form(self, table: CountingTable, limits: NDArray[np.int64], states: int = 1) -> Formula | None:
        """What the score is, where it is no price of a parameter, of the records of a table; given parents of so many
        joint states."""
        if isinstance(self.score, ParameterScore):
            return None
        each, lightest = self.data.each, int(table.weights.min(initial=table.weights.sum()))
        rows = Rows(int(table.weights.sum()), each, each * lightest)
        return self.score.formula(rows, table.arities, int(limits.max(initial=0)), states)

    def over_records(self, problem: CountingProblem, child: int) -> CountingProblem:
        """A parameter costs what it does by all records."""
        targets = self.data.targets
        if targets is None or not targets.setting(child):
            return problem
        table = self._table(self.data.codes[targets.left(child)])
        return replace(problem, table=table, form=self._form(table, problem.limits))

    @property
    def bounds_alone(self) -> bool:
        few = self.data.records <= MOST_COUNTED and self.data.records * self.data.variables <= MOST_LANES
        return few and self.data.alike and isinstance(self.score, ParameterScore)

    def limit(self, problem: CountingProblem, x: int) -> int:
        child = int(self.order[x])
        others = problem.table.arities[problem.allowed[:, x] & ~problem.required[:, x]].tolist()
        own = cells_of(self.data, child, self.constraints.parents_required(child))
        more = most_parents(self.score, own, problem.floors[x], others, problem.slack)
        return min(int(problem.limits[x]), int(problem.required[:, x].sum()) + more)

    def shares(self, x: int, problem: CountingProblem) -> bool:
        """Those are apart as well with a parent that must be which is no variable of the problem, but has states that
        the score counts."""
        outside = set(self.constraints.parents_required(int(self.order[x]))) - set(self.order.tolist())
        return self.states(outside) == 1 and super().shares(x, problem)

    def with_given(self, problem: CountingProblem, parents: Sequence[int]) -> CountingProblem:
        """The rows are divided by the states of these parents."""
        states, form = self.states(parents), self._form(problem.rows, problem.limits, self.states(parents))
        table = divided(problem.rows, np.isin(self.order, parents))
        return replace(problem, table=table, parameter=problem.parameter * states, form=form)

    def states(self, variables: Collection[int]) -> int:
        """The joint states of these variables."""
        return math.prod(self.data.arities[list(variables)].tolist())

    def cost(self, child: int, parents: Sequence[int]) -> float:
        return self.score.cost(cells_of(self.data, child, parents))

    def at_least(self, child: int, parents: Sequence[int], floor: float) -> float:
        return self.score.least(cells_of(self.data, child, parents), floor)


def _of_states(data: Dataset, claim: Claim, constraints: Constraints) -> Source:
    if not data.gaps:
        return Counted.of(data, claim, constraints)
    from extbnsl.parents.exhaustive.averaged import AveragedStates

    check_averaged(claim)
    score = score_of(claim)
    assert isinstance(score, ParameterScore), "others have been refused"
    claim = replace(claim, score=score.name, ess=score.ess)
    return AveragedStates(data, claim, constraints, np.arange(data.variables), score)


def _of_numbers(data: Numbers, claim: Claim, constraints: Constraints) -> Source:
    from extbnsl.parents.exhaustive.averaged_numbers import AveragedNumbers
    from extbnsl.parents.exhaustive.measured import Measured

    if not data.gaps:
        return Measured.of(data, claim, constraints)
    return AveragedNumbers(data, claim, constraints, np.arange(data.variables))


def _conditional(data: Mixed, claim: Claim, constraints: Constraints) -> Source:
    from extbnsl.parents.exhaustive.conditional import Conditional

    return Conditional.of(data, claim, constraints)


def _degenerate(data: Mixed, claim: Claim, constraints: Constraints) -> Source:
    from extbnsl.parents.exhaustive.degenerate import Degenerate

    return Degenerate.of(data, claim, constraints)


# By what networks are made of (`model_of`) what makes a source of data; InputError for columns that cannot be.
SOURCES: dict[str, Callable[[Any, Claim, Constraints], Source]] = {
    STATES: _of_states,
    NUMBERS: _of_numbers,
    MIXED: _conditional,
    COLUMNS: _degenerate,
}


def source_of(data: Data, claim: Claim, constraints: Constraints | None = None) -> Source:
    """Data with the score of a claim, and the constraints of the claim if no others are given; InputError if the score
    is of another kind of data, or they cannot be scored, or a family that must be is not allowed."""
    check_data(data, claim)
    if data.latent:
        raise of_latent()
    if not data.alike:
        check_values(data)
    source = charged(
        SOURCES[model_of(data.kind, claim.score)](data, claim, constraints or constraints_of(claim, data.names))
    )
    source.check()
    return source


def lattice_of(data: Data, claim: Claim, constraints: Constraints | None = None) -> LatticeSource:
    """`source_of` where children share what is counted."""
    source = source_of(data, claim, constraints)
    assert isinstance(source, LatticeSource), "children share what is counted"
    return source
