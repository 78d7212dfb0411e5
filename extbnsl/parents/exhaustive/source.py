"""What families come from: data of a kind, and what its scores make of them before and after the enumeration."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.data import Data, Dataset, Numbers
from extbnsl.machine.workers import Workers
from extbnsl.parents.constraints import Constraints
from extbnsl.parents.exhaustive.measured import Measured, standardised
from extbnsl.parents.exhaustive.problem import (
    CountingProblem,
    Group,
    alone,
    counting_problem,
    for_group,
    groups_of,
    varying,
    with_floors,
    with_limits,
)
from extbnsl.parents.exhaustive.tasks import Families
from extbnsl.scores.cells import cells_of
from extbnsl.scores.gaussian import GaussianBIC
from extbnsl.scores.known import score_named, score_of
from extbnsl.scores.local import canonical_order


class Again(Protocol):
    """A task for workers; see `Source.again`."""

    def __call__(self, child: int, found: Families, slack: float, halt: NDArray[np.uint8]) -> Families:
        """The families of a child that an enumeration with this slack has found, in canonical order by their cost;
        those that are not within the slack may be left out. Whatever comes when halt[0] is set is good for nothing."""


class Source(Protocol):
    """Data with the score of a claim. Costs of the enumeration may be others than those of the score, by a constant for
    each child; `again` and `shifted` give these."""

    @property
    def order(self) -> NDArray[np.int64]:
        """The variables that may have parents or be some, as the problem has them."""

    @property
    def named(self) -> Claim:
        """The claim with the full name of its score."""

    def problem(self, slack: float, constraints: Constraints) -> CountingProblem:
        """The problem of these variables; slack: see `CountingProblem`."""

    def groups(self, problem: CountingProblem, constraints: Constraints) -> tuple[Group, ...]:
        """The children of a problem in the groups in which they are counted; see `grouped`."""

    def for_group(self, problem: CountingProblem, constraints: Constraints, group: Group) -> CountingProblem:
        """The problem of the children of a group, given the parents that they all must have if they are its."""

    def with_floors(self, problem: CountingProblem, workers: Workers) -> CountingProblem:
        """The problem with its floors; Stopped if the workers are."""

    def with_limits(self, problem: CountingProblem, constraints: Constraints, workers: Workers) -> CountingProblem:
        """The problem with the limits that follow from its floors; Stopped if the workers are."""

    def cost(self, child: int, parents: Sequence[int]) -> float:
        """What a family costs, in nats."""

    def at_least(self, child: int, parents: Sequence[int], floor: float) -> float:
        """What a family of these parents and perhaps more costs at least in the enumeration, given its floor."""

    def shifted(self, child: int, least: float) -> float:
        """The lower bound of what families of a child cost, from that of what they cost in the enumeration."""

    @property
    def again(self) -> Again:
        """The task that gives the families of a child, as the enumeration has found them, with what they cost by the
        score."""


@dataclass(frozen=True)
class Counted:
    """Discrete data."""

    data: Dataset
    claim: Claim
    order: NDArray[np.int64]

    @property
    def named(self) -> Claim:
        score = score_of(self.claim)
        return replace(self.claim, score=score.name, ess=score.ess)

    def problem(self, slack: float, constraints: Constraints) -> CountingProblem:
        return counting_problem(self.data, self.order, self.claim, slack, constraints)

    def groups(self, problem: CountingProblem, constraints: Constraints) -> tuple[Group, ...]:
        return groups_of(problem, self.data, self.order, self.claim, constraints)

    def for_group(self, problem: CountingProblem, constraints: Constraints, group: Group) -> CountingProblem:
        return for_group(problem, self.data, self.order, self.claim, constraints, group)

    def with_floors(self, problem: CountingProblem, workers: Workers) -> CountingProblem:
        return with_floors(problem, workers)

    def with_limits(self, problem: CountingProblem, constraints: Constraints, workers: Workers) -> CountingProblem:
        return with_limits(problem, self.data, self.order, self.claim, workers, constraints)

    def cost(self, child: int, parents: Sequence[int]) -> float:
        cells = cells_of(self.data, child, parents) if parents else alone(self.data, child)
        return score_of(self.claim).cost(cells)

    def at_least(self, child: int, parents: Sequence[int], floor: float) -> float:
        return score_of(self.claim).least(cells_of(self.data, child, parents), floor)

    def shifted(self, child: int, least: float) -> float:
        return least

    @property
    def again(self) -> Again:
        return _in_order


def _in_order(child: int, found: Families, slack: float, halt: NDArray[np.uint8]) -> Families:
    """The families in canonical order; they have their costs."""
    varsets, costs = found
    rows = canonical_order(varsets, costs)
    return np.ascontiguousarray(varsets[rows]), costs[rows]


def source_of(data: Data, claim: Claim) -> Source:
    """Data with the score of a claim; InputError if the score is of another kind of data, or they cannot be scored."""
    check_kind(data, claim)
    if isinstance(data, Numbers):
        return Measured(data, claim, standardised(data))
    return Counted(data, claim, varying(data, score_of(claim)))


def check_kind(data: Data, claim: Claim) -> None:
    """Raise InputError if there is no such score, it has no ess and one is given, or it is of another kind of data."""
    if not isinstance(data, Numbers):
        score_of(claim)
    elif not isinstance(score_named(claim.score, claim.ess), GaussianBIC):
        raise InputError(f"score: {claim.score!r} is for columns of states, and numbers are given; take gaussian-bic.")


def cost_without_arcs(data: Data) -> float:
    """What data cost at most without any arc but for penalties, in nats; of densities, how far from 0."""
    if isinstance(data, Numbers):
        return float(np.abs(standardised(data).own).sum())
    return data.records * float(np.log(data.arities).sum())
