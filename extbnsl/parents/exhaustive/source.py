"""What families come from: data of a kind, and what its scores make of them before and after the enumeration."""

import contextlib
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from extbnsl.core.claims import Claim
from extbnsl.core.data_options import MIXED, NUMBERS, STATES
from extbnsl.data import Data, Dataset, Mixed, Numbers, distinct_rows
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.charged import charged
from extbnsl.parents.constraints import Constraints, constraints_of
from extbnsl.parents.exhaustive.problem import CountingProblem, LatticeSource, Source, divided, varying
from extbnsl.parents.pruning import with_rounding
from extbnsl.scores.cells import cells_of
from extbnsl.scores.counting import counting_table
from extbnsl.scores.known import Known, check_kind, score_of
from extbnsl.scores.score import ParameterScore, most_parents


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
        return self.data.records * float(np.log(self.data.arities).sum())

    def least_costs(self, workers: Workers) -> list[float]:
        """See `Source`; a stop leaves zero of the misfit. Some ten ns per record and variable."""
        floors = np.zeros(self.data.variables)
        if self.order.size:
            with contextlib.suppress(Stopped):
                floors[self.order] = self.with_floors(self.problem(0.0), workers).floors
        return [self.score.least(cells_of(self.data, child), floor) for child, floor in enumerate(floors.tolist())]

    def problem(self, slack: float) -> CountingProblem:
        """O(n N log N)."""
        dataset, order, constraints, score = self.data, self.order, self.constraints, self.score
        rows, weights = distinct_rows(np.ascontiguousarray(dataset.codes[:, order]))
        table = counting_table(rows, weights, dataset.arities[order])
        limits, here = np.minimum(constraints.limits[order], order.size - 1), np.ix_(order, order)
        parameter, form = 0.0, None
        if isinstance(score, ParameterScore):
            parameter = score.parameter(dataset.records)
        else:
            form = score.formula(dataset.records, table.arities, int(limits.max(initial=0)))
        return CountingProblem(
            table=table,
            limits=limits,
            floors=np.zeros(order.size),
            parameter=parameter,
            slack=with_rounding(slack, float(table.mlogm[-1])),
            form=form,
            allowed=constraints.allowed[here],
            required=constraints.required[here],
        )

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
        states, form = self.states(parents), problem.form
        if form is not None:
            assert not isinstance(self.score, ParameterScore), "a formula is of another score"
            most = int(problem.limits.max(initial=0))
            form = self.score.formula(self.data.records, problem.table.arities, most, states)
        table = divided(problem.rows, np.isin(self.order, parents))
        return replace(problem, table=table, parameter=problem.parameter * states, form=form)

    def states(self, variables: Collection[int]) -> int:
        """The joint states of these variables."""
        return math.prod(self.data.arities[list(variables)].tolist())

    def cost(self, child: int, parents: Sequence[int]) -> float:
        return self.score.cost(cells_of(self.data, child, parents))

    def at_least(self, child: int, parents: Sequence[int], floor: float) -> float:
        return self.score.least(cells_of(self.data, child, parents), floor)


def _measured(data: Numbers, claim: Claim, constraints: Constraints) -> Source:
    from extbnsl.parents.exhaustive.measured import Measured

    return Measured.of(data, claim, constraints)


def _conditional(data: Mixed, claim: Claim, constraints: Constraints) -> Source:
    from extbnsl.parents.exhaustive.conditional import Conditional

    return Conditional.of(data, claim, constraints)


# By kind of data what makes a source of them; InputError for columns that the score cannot have.
SOURCES: dict[str, Callable[[Any, Claim, Constraints], Source]] = {
    STATES: Counted.of,
    NUMBERS: _measured,
    MIXED: _conditional,
}


def source_of(data: Data, claim: Claim, constraints: Constraints | None = None) -> Source:
    """Data with the score of a claim, and the constraints of the claim if no others are given; InputError if the score
    is of another kind of data, or they cannot be scored, or a family that must be is not allowed."""
    check_kind(data.kind, claim)
    source = charged(SOURCES[data.kind](data, claim, constraints or constraints_of(claim, data.names)))
    source.check()
    return source


def lattice_of(data: Data, claim: Claim, constraints: Constraints | None = None) -> LatticeSource:
    """`source_of` where children share what is counted."""
    source = source_of(data, claim, constraints)
    assert isinstance(source, LatticeSource), "children share what is counted"
    return source
