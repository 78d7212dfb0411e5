"""What counting works on, and what is known before the first level: limits, floors."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.claims import Claim
from extbnsl.data import Dataset, distinct_rows
from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import inlined, njit
from extbnsl.machine.workers import Workers, chunks
from extbnsl.parents.constraints import Constraints, Group
from extbnsl.parents.pruning import ROUNDING, with_rounding
from extbnsl.scores.cells import Cells
from extbnsl.scores.counting import CountingTable, counting_table
from extbnsl.scores.determinants import Moments
from extbnsl.scores.formula import Formula
from extbnsl.scores.known import score_of
from extbnsl.scores.mdl import MDL
from extbnsl.scores.score import ParameterScore, Score, most_parents

CELLS_PER_TASK = 2_000_000  # rows times variables that one task looks at: some hundredths of a second
LIMITS_AT_A_TIME = 100  # between two looks at the stop signal


@dataclass(frozen=True)
class CountingProblem:
    """What the enumeration works on: n variables in ascending arity, none constant.

    limits (n,) int64: largest parent set per child, -1 for what is no child here; allowed (n, n) bool: whether [parent,
    child] may be an arc. Parents that all children must have are no parents here: the table divides the rows by them.
    floors (n,) float64: lower bounds of N H(X | anything);
    parameter: what the score takes for one free parameter, in nats; where that is not all, form tells what a score is,
    and the parameter is 0. step: what each parent adds to a penalty besides, in nats: 0 where the table has states.
    slack: a family is wanted if it costs less than the
    cheapest of its proper subsets and this together, in nats; as `with_rounding` makes it, so that what costs exactly
    so much more as was asked for is wanted too. Without slack it must cost less than each of its subsets.
    """

    table: CountingTable | Moments
    limits: NDArray[np.int64]
    floors: NDArray[np.float64]
    parameter: float
    slack: float
    form: Formula | None
    allowed: NDArray[np.bool_]
    step: float = 0.0

    @property
    def factors(self) -> NDArray[np.int64]:
        """What a parent multiplies a penalty by, (n,) int64, ascending."""
        return self.table.factors if isinstance(self.table, Moments) else self.table.arities

    @property
    def rows(self) -> CountingTable:
        """The table, where it has rows of states."""
        assert isinstance(self.table, CountingTable), "rows are of states"
        return self.table

    def check(self) -> None:
        """Raise AssertionError if this cannot be."""
        n = self.table.arities.size
        assert self.limits.shape == self.floors.shape == (n,), "a limit and a floor for each variable"
        assert (np.diff(self.table.arities) >= 0).all(), "arities ascend"
        assert (self.table.arities >= 2).all(), "no variable is constant"
        assert (self.limits >= -1).all(), "limits are sizes, or there is no child"
        assert self.allowed.shape == (n, n), "a word on each pair"
        assert self.parameter >= 0.0, "penalties do not fall"
        assert self.slack >= 0.0, "a slack is not negative"


def varying(dataset: Dataset, score: Score = MDL) -> NDArray[np.int64]:
    """The variables that may have parents or be some, in ascending arity.

    By a score of misfit and parameters these have more than one state in the data. By others they may do with one, if
    more are declared: a prior is spread over all that are.
    """
    if isinstance(score, ParameterScore):
        differ = np.flatnonzero(dataset.codes.min(axis=0) != dataset.codes.max(axis=0))
    else:
        differ = np.flatnonzero(dataset.arities > 1)
    return differ[np.argsort(dataset.arities[differ], kind="stable")]


def alone(dataset: Dataset, variable: int) -> Cells:
    """A variable without parents."""
    return Cells(np.bincount(dataset.codes[:, variable])[None, :], len(dataset.states[variable]), 1.0)


def cells_with(dataset: Dataset, child: int, parents: Sequence[int]) -> Cells:
    """A variable with these parents. O(N log N)."""
    states = math.prod(len(dataset.states[v]) for v in parents)
    _, which = np.unique(dataset.codes[:, list(parents)], axis=0, return_inverse=True)
    arity, which = len(dataset.states[child]), which.reshape(-1)
    counts = np.bincount(which * arity + dataset.codes[:, child], minlength=(int(which.max()) + 1) * arity)
    return Cells(counts.reshape(-1, arity), arity, float(states))


def counting_problem(
    dataset: Dataset,
    order: NDArray[np.int64],
    claim: Claim,
    slack: float = 0.0,
    constraints: Constraints | None = None,
) -> CountingProblem:
    """The problem of the varying variables, in ascending `order` of their arities, before anything is known of it.

    It has no floors, and the limits of the claim and of the constraints alone. O(n N log N); InputError if there is no
    such score.

    slack: how much more than the cheapest of its subsets a family may cost, in nats; with none it must cost less.
    """
    rows, weights = distinct_rows(np.ascontiguousarray(dataset.codes[:, order]))
    n = order.size
    limits = np.full(n, n - 1 if claim.max_parents is None else min(claim.max_parents, n - 1))
    allowed = ~np.eye(n, dtype=np.bool_)
    if constraints is not None:
        limits, allowed = np.minimum(limits, constraints.limits[order]), constraints.allowed[np.ix_(order, order)]
    table = counting_table(rows, weights, dataset.arities[order])
    score = score_of(claim)
    slack = with_rounding(slack, float(table.mlogm[-1]))
    parameter, form = 0.0, None
    if isinstance(score, ParameterScore):
        parameter = score.parameter(dataset.records)
    else:
        form = score.formula(dataset.records, table.arities, int(limits.max(initial=0)))
    return CountingProblem(table, limits, np.zeros(n), parameter, slack, form, allowed)


def for_group(
    problem: CountingProblem,
    dataset: Dataset,
    order: NDArray[np.int64],
    claim: Claim,
    constraints: Constraints,
    group: Group,
) -> CountingProblem:
    """The problem of the children of a group alone, divided by the parents that they all must have."""
    own = of_group(problem, order, constraints, group)
    if own is problem or not group.parents:
        return own
    must = np.isin(order, group.parents)
    states = math.prod(dataset.arities[list(group.parents)].tolist())
    rows = problem.rows
    base = np.zeros(rows.weights.size, np.uint32)
    if must.any():
        base[:] = np.unique(rows.states[must], axis=1, return_inverse=True)[1].reshape(-1)
    table = rows._replace(base=base, bases=int(base.max()) + 1)
    score, form = score_of(claim), problem.form
    if form is not None:
        assert not isinstance(score, ParameterScore), "a formula is of another score"
        form = score.formula(dataset.records, table.arities, int(own.limits.max(initial=0)), states)
    return replace(own, table=table, parameter=problem.parameter * states, form=form)


def of_group(
    problem: CountingProblem, order: NDArray[np.int64], constraints: Constraints, group: Group
) -> CountingProblem:
    """The problem with the children of a group alone, and without the parents that they all must have as candidates."""
    own = np.isin(order, group.children)
    if own.all() and not group.parents:
        return problem
    must = np.isin(order, group.parents)
    allowed = problem.allowed & ~must[:, None] & own[None, :]
    most = np.minimum(constraints.limits[order] - len(group.parents), allowed.sum(axis=0))
    return replace(problem, limits=np.where(own, most, -1), allowed=allowed)


def with_limits(
    problem: CountingProblem,
    dataset: Dataset,
    order: NDArray[np.int64],
    claim: Claim,
    workers: Workers,
    required: Sequence[int] = (),
) -> CountingProblem:
    """The problem with the limits that follow from its floors and its slack, of children that must have the parents
    `required`; Stopped if the workers are stopped."""
    limits, arities, score = problem.limits.copy(), problem.table.arities, score_of(claim)
    for number, x in enumerate(np.flatnonzero(limits >= 0).tolist()):
        if number % LIMITS_AT_A_TIME == 0:
            workers.check()
        variable = int(order[x])
        own = cells_with(dataset, variable, required) if required else alone(dataset, variable)
        others = arities[problem.allowed[:, x]].tolist()
        limits[x] = min(limits[x], most_parents(score, own, problem.floors[x], others, problem.slack))
    return replace(problem, limits=limits)


def with_floors(problem: CountingProblem, workers: Workers) -> CountingProblem:
    """The problem with N H(X | all other variables) of each child X as its floor, a little less for rounding.

    Rows that agree on all variables but X meet in a hash table: their hash is a sum over the variables, so that leaving
    one out is a subtraction. Rows that meet are compared, so the floors are exact. Time: some ten ns per row and
    variable. Stopped if the workers are stopped.
    """
    table = problem.rows
    rows = np.ascontiguousarray(table.states.T)
    d, n = rows.shape
    most = max(1, CELLS_PER_TASK // n)
    hashes = np.concatenate(workers.map(_row_hashes, [(rows[lo:hi],) for lo, hi in chunks(d, most)]))
    tasks = [(lo, hi, rows, table.weights, hashes, table.mlogm) for lo, hi in chunks(n, max(1, CELLS_PER_TASK // d))]
    floors = np.concatenate(workers.map(_unexplained, tasks))
    rounding = ROUNDING * (1.0 + float(table.mlogm[-1]))
    return replace(problem, floors=np.maximum(0.0, floors - rounding))


@inlined
def _hash(variable, state):
    """A 64-bit hash of a variable's state. (Steele, Lea, Flood 2014: splitmix64.)"""
    key = (u64(variable) << u64(32)) + u64(state) + u64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> u64(30))) * u64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> u64(27))) * u64(0x94D049BB133111EB)
    return key ^ (key >> u64(31))


@njit
def _row_hashes(rows):
    """The sum of the hashes of the states of each row (d, n): uint64 (d,)."""
    hashes = np.zeros(rows.shape[0], np.uint64)
    for i in range(rows.shape[0]):
        for v in range(rows.shape[1]):
            hashes[i] += _hash(v, rows[i, v])
    return hashes


@inlined
def _agree(one, other, x):
    """Whether two rows have the same states of all variables but x."""
    v = 0
    while v < one.size and (one[v] == other[v] or v == x):
        v += 1
    return v == one.size


@njit
def _unexplained(lo, hi, rows, weights, hashes, mlogm):
    """N H(X | all other variables) of the children lo <= X < hi, in nats: float64 (hi - lo,).

    It is the sum of m ln m over the groups of rows that agree on all others, less that over the rows.
    """
    d = weights.size
    bits = 1
    while (1 << bits) < 2 * d:
        bits += 1
    mask, shift = (1 << bits) - 1, u64(64 - bits)
    slots = np.empty(1 << bits, np.int32)  # the first row of a group, plus one
    together = np.empty(d, np.int64)  # records of the group of which this is the first row
    found = np.zeros(hi - lo)
    for x in range(lo, hi):
        slots[:] = 0
        for i in range(d):
            key = hashes[i] - _hash(x, rows[i, x])
            at = np.int64(key >> shift)
            together[i] = weights[i]
            first = -1
            while first < 0 and slots[at]:
                j = slots[at] - 1
                if hashes[j] - _hash(x, rows[j, x]) == key and _agree(rows[i], rows[j], x):
                    first = j
                at = (at + 1) & mask
            if first < 0:
                slots[at] = i + 1
            else:
                together[first] += weights[i]
                found[x - lo] -= mlogm[weights[i]]
        for i in range(d):
            if together[i] != weights[i]:
                found[x - lo] += mlogm[together[i]] - mlogm[weights[i]]
    return found
