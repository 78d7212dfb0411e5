"""What counting works on, and what is known before the first level: groups, limits, floors."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import Claim
from extbnsl.data import Data, Dataset
from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inlined, njit
from extbnsl.kernels.hashing import first_slot, hashed, next_slot
from extbnsl.machine.workers import Workers, chunks
from extbnsl.parents.constraints import Constraints
from extbnsl.parents.pruning import ROUNDING
from extbnsl.scores.counting import CountingTable
from extbnsl.scores.formula import Formula
from extbnsl.scores.local import in_order
from extbnsl.scores.mdl import MDL
from extbnsl.scores.score import ParameterScore, Score

if TYPE_CHECKING:
    from extbnsl.scores.determinants import Factored, Moments

CELLS_PER_TASK = 2_000_000  # rows times variables that one task looks at: some hundredths of a second
PASSED = 1000  # ranks that are passed in the time of counting a varset: less than a nanosecond, and hundreds of them
OF_A_GROUP = 4096  # varsets that could be counted in the time of counting a group apart, beside its own: milliseconds


@dataclass(frozen=True)
class CountingProblem:
    """What the enumeration works on: n variables in ascending arity, none constant.

    table: what is counted, or what determinants are of;
    limits (n,) int64: largest parent set per child, -1 for what is no child here;
    floors (n,) float64: lower bounds of N H(X | anything);
    parameter: what the score takes for one free parameter, in nats; where that is not all, form tells what a score is,
    and the parameter is 0;
    slack: a family is wanted if it costs less than the cheapest of its proper subsets and this together, in nats; as
    `with_rounding` makes it, so that what costs exactly so much more as was asked for is wanted too. Without slack it
    must cost less than each of its subsets;
    form: see parameter;
    allowed (n, n) bool: whether [parent, child] may be an arc;
    required (n, n) bool: whether it must be, no more of them than the limit. Parents that all children must have may be
    no parents here: then the table divides the rows by them;
    step: what each parent adds to a penalty besides, in nats: 0 where the table has states;
    columns: what moments are of.
    """

    table: "CountingTable | Moments"
    limits: NDArray[np.int64]
    floors: NDArray[np.float64]
    parameter: float
    slack: float
    form: Formula | None
    allowed: NDArray[np.bool_]
    required: NDArray[np.bool_]
    step: float = 0.0
    columns: "Factored | None" = None

    @property
    def factors(self) -> NDArray[np.int64]:
        """What a parent multiplies a penalty by, (n,) int64, ascending."""
        return self.table.arities if isinstance(self.table, CountingTable) else self.table.factors

    @property
    def rows(self) -> CountingTable:
        """The table, where it has rows of states."""
        assert isinstance(self.table, CountingTable), "rows are of states"
        return self.table

    @property
    def moments(self) -> "Moments":
        """The table, where it is of continuous variables."""
        assert not isinstance(self.table, CountingTable), "moments are of numbers"
        return self.table


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


Families = tuple[NDArray[np.uint64], NDArray[np.float64]]  # of one child: parent sets (m, w) and costs (m,)


@dataclass(frozen=True)
class Group:
    """Children that are counted together, and parents that all of them must have, which are then part of every varset;
    as variables of the data set.

    alone: whether all that the children may have as parents is given, so that the cheapest family of each is enough.
    """

    parents: tuple[int, ...]
    children: tuple[int, ...]
    alone: bool = False


@dataclass(frozen=True)
class Source(ABC):
    """Data with the score of a claim, by its full name, and which families are allowed: what an enumeration begins
    with.

    order (m,) int64: the variables that may have parents or be some, as the enumeration has them.
    """

    data: Data
    claim: Claim
    constraints: Constraints
    order: NDArray[np.int64]

    def check(self) -> None:
        """Raise InputError if a family that must be is not allowed."""
        return

    def warnings(self) -> tuple[str, ...]:
        """What the user should know of the data, by what the score makes of them."""
        return ()

    @abstractmethod
    def without_arcs(self) -> float:
        """What the data cost at most without any arc but for penalties, in nats; of densities, how far from 0."""

    @abstractmethod
    def least_costs(self, workers: Workers) -> list[float]:
        """What a family of each variable costs at least, in nats: the misfit that all other variables leave, and the
        penalty of no parents. A stop leaves less."""

    @abstractmethod
    def cost(self, child: int, parents: Sequence[int]) -> float:
        """What a family costs, in nats; infinity if it is not allowed."""

    @property
    def charged(self) -> bool:
        """Whether arcs cost something beside what the enumeration goes by."""
        return False

    def widened(self, slack: float) -> float:
        """The slack of an enumeration that has all families within this one, in nats."""
        return slack

    def shifted(self, child: int, least: float) -> float:
        """The lower bound of what families of a child cost, from that of what they cost in the enumeration."""
        return least

    def again(self, child: int, found: Families, slack: float, halt: NDArray[np.uint8]) -> Families:
        """The families of a child that an enumeration with this slack has found, in canonical order by their cost;
        those that are not within the slack may be left out. Whatever comes when halt[0] is set is good for nothing."""
        return in_order(*found)


@dataclass(frozen=True)
class LatticeSource(Source):
    """Data of which the children share what is counted, in a lattice of varsets.

    Costs of the enumeration may be others than those of the score, by a constant for each child; `again` and `shifted`
    give these.
    """

    @abstractmethod
    def problem(self, slack: float) -> CountingProblem:
        """The problem of these variables before anything is known of it: without floors, by the limits of the
        constraints alone. slack: how much more than the cheapest of its subsets a family may cost, in nats; with none
        it must cost less."""

    @abstractmethod
    def limit(self, problem: CountingProblem, x: int) -> int:
        """How many parents a family of a child has at most that can win, by the floors and the slack of a problem."""

    @abstractmethod
    def with_given(self, problem: CountingProblem, parents: Sequence[int]) -> CountingProblem:
        """The problem of children which all must have these parents, given these."""

    @abstractmethod
    def over_records(self, problem: CountingProblem, child: int) -> CountingProblem:
        """The problem over the records in which a child was not set from outside."""

    def alike(self) -> tuple[tuple[int, ...], ...]:
        """The children, as variables of the data, in classes that count the same records; the largest first."""
        targets, classes = self.data.targets, dict[tuple[int, ...], list[int]]()
        for child in self.order.tolist():
            classes.setdefault(() if targets is None else targets.setting(child), []).append(child)
        return tuple(sorted(map(tuple, classes.values()), key=lambda own: (-len(own), own)))

    def with_floors(self, problem: CountingProblem, workers: Workers) -> CountingProblem:
        """The problem with N H(X | all other variables) of each child X as its floor, a little less for rounding; one
        of continuous variables has its floors. N and H are those of the records that the child counts.

        Rows that agree on all variables but X meet in a hash table: their hash is a sum over the variables, so that
        leaving one out is a subtraction. Rows that meet are compared, so the floors are exact. Time: some ten ns per
        row and variable. Stopped if the workers are stopped.
        """
        if not isinstance(problem.table, CountingTable):
            return problem
        floors = problem.floors.copy()
        for children in self.alike():
            own = np.flatnonzero(np.isin(self.order, children))
            floors[own] = _floors(self.over_records(problem, children[0]).rows, own, workers)
        return replace(problem, floors=floors)

    @abstractmethod
    def at_least(self, child: int, parents: Sequence[int], floor: float) -> float:
        """What a family of these parents and perhaps more costs at least in the enumeration, given its floor."""

    def with_limits(self, problem: CountingProblem, workers: Workers) -> CountingProblem:
        """The problem with the limits that follow from its floors; Stopped if the workers are."""
        limits = problem.limits.copy()
        for x in np.flatnonzero(limits >= 0).tolist():
            workers.check()
            limits[x] = self.limit(problem, x)
        return replace(problem, limits=limits)

    @property
    def bounds_alone(self) -> bool:
        """Whether the search for a child by itself has bounds by this claim and these data (see `alone`)."""
        return False

    def groups(self, problem: CountingProblem, cheapest: bool = False) -> tuple[Group, ...]:
        """The children of a problem in the groups in which they are counted, most of them in the first. cheapest:
        whether of children that are alone the cheapest family is enough; they come last then.

        In one lattice they share what is counted: a child that must have parents needs varsets there that are mostly
        needed by others too. But its parent sets begin at a level as high as it must have parents, and all ranks up to
        that of its limit have to be passed. If that is more work than counting apart all that the child needs
        (`shares`), it is counted apart from those, with all that must have the same parents, in a lattice
        divided by these. Children that count other records share no lattice.
        """
        classes = self.alike()
        alone = self.alone() if cheapest else ()
        others = [tuple(child for child in own if child not in (*alone, *self.data.given)) for own in classes]
        counted = (group for children in others if children for group in self._groups(problem, children))
        return (*counted, *((Group((), alone, True),) if alone else ()))

    def _groups(self, problem: CountingProblem, everyone: tuple[int, ...]) -> tuple[Group, ...]:
        """The groups of children that count the same records."""
        if not self.constraints.requires:
            return (Group((), everyone),)
        own, place = self.for_group(problem, Group((), everyone)), {v: x for x, v in enumerate(self.order.tolist())}
        together: list[int] = []
        apart: dict[tuple[int, ...], list[int]] = {}
        for child in everyone:
            must = self.constraints.parents_required(child)
            if not must or self.shares(place[child], own):
                together.append(child)
            else:
                apart.setdefault(must, []).append(child)
        first = (Group((), tuple(together)),) if together else ()
        by_size = sorted(apart, key=lambda must: (len(must), must))
        return first + tuple(Group(must, tuple(apart[must])) for must in by_size)

    def alone(self) -> tuple[int, ...]:
        """The children that need no parents, and may have such alone as are given, if any are and a search for each by
        itself has bounds."""
        if not (self.bounds_alone and self.data.given):
            return ()
        allowed, required = self.constraints.allowed[:, self.order], self.constraints.required[:, self.order]
        own = np.ones(self.order.size, np.bool_)
        own &= ~allowed[: self.data.given.start].any(axis=0) & ~required.any(axis=0)
        return tuple(child for child in self.order[own].tolist() if child not in self.data.given)

    def shares(self, x: int, problem: CountingProblem) -> bool:
        """Whether a child that must have parents is in the lattice of all, which is that of the problem.

        It is if passing the ranks of all varsets that it may need is less work than counting those that it does need,
        at most, without the other children.
        """
        n, must, limit = problem.limits.size, int(problem.required[:, x].sum()), self.limit(problem, x)
        others = int(problem.allowed[:, x].sum()) - must
        counted = 2 * sum(math.comb(others, size) for size in range(limit - must + 1))
        return sum(math.comb(n, size) for size in range(limit + 2)) <= PASSED * (counted + OF_A_GROUP)

    def for_group(self, problem: CountingProblem, group: Group) -> CountingProblem:
        """The problem of the children of a group, given the parents that they all must have if they are its; these are
        no candidates then."""
        problem = self.over_records(problem, group.children[0])
        own, constraints = np.isin(self.order, group.children), self.constraints
        if own.all() and not constraints.requires:
            return problem
        must = np.isin(self.order, group.parents)
        allowed = problem.allowed & ~must[:, None] & own[None, :]
        required = problem.required & allowed
        elsewhere = constraints.required[:, self.order].sum(axis=0) - required.sum(axis=0)
        most = np.minimum(constraints.limits[self.order] - elsewhere, allowed.sum(axis=0))
        most = np.minimum(most, problem.limits)
        found = replace(problem, limits=np.where(own, most, -1), allowed=allowed, required=required)
        return self.with_given(found, group.parents) if group.parents else found


def _floors(table: CountingTable, own: NDArray[np.int64], workers: Workers) -> NDArray[np.float64]:
    """N H(X | all other variables) of these variables of a table, less what rounding may do."""
    rows = np.ascontiguousarray(table.states.T)
    d, n = rows.shape
    most = max(1, CELLS_PER_TASK // n)
    hashes = np.concatenate(workers.map(_row_hashes, zip(np.split(rows, range(most, d, most)))))
    runs = np.split(own, np.flatnonzero(np.diff(own) > 1) + 1)
    parts = [part for run in runs for part in chunks(int(run[-1]) + 1, max(1, CELLS_PER_TASK // d), int(run[0]))]
    tasks = [(lo, hi, rows, table.weights, hashes, table.mlogm) for lo, hi in parts]
    floors = np.concatenate(workers.map(_unexplained, tasks))
    return np.asarray(np.maximum(0.0, floors - ROUNDING * (1.0 + float(table.mlogm[-1]))))


def divided(table: CountingTable, must: NDArray[np.bool_]) -> CountingTable:
    """The table with the joint states of these variables as part of every varset. O(d log d) for d rows."""
    if not must.any():
        return table
    base = np.unique(table.states[must], axis=1, return_inverse=True)[1].reshape(-1).astype(np.uint32)
    return table._replace(base=base, bases=int(base.max()) + 1)


def of_child(problem: CountingProblem, x: int) -> tuple[CountingTable, float]:
    """The table of rows divided by the parents that a child must have, and their joint states."""
    must = problem.required[:, x]
    return divided(problem.rows, must), float(math.prod(problem.table.arities[must].tolist()))


@inlined
def _hash(variable, state):
    """A 64-bit hash of a variable's state."""
    return hashed((u64(variable) << u64(32)) + u64(state))


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
    rows, weights, hashes, mlogm = borrowed((rows, weights, hashes, mlogm))
    d = weights.size
    slots = np.empty(2 * d, np.int32)  # the first row of a group, plus one
    together = np.empty(d, np.int64)  # records of the group of which this is the first row
    found = np.zeros(hi - lo)
    for x in range(lo, hi):
        slots[:] = 0
        for i in range(d):
            key = hashes[i] - _hash(x, rows[i, x])
            at = first_slot(key, slots)
            together[i] = weights[i]
            first = -1
            while first < 0 and slots[at]:
                j = slots[at] - 1
                if hashes[j] - _hash(x, rows[j, x]) == key and _agree(rows[i], rows[j], x):
                    first = j
                at = next_slot(at, slots)
            if first < 0:
                slots[at] = i + 1
            else:
                together[first] += weights[i]
                found[x - lo] -= mlogm[weights[i]]
        for i in range(d):
            if together[i] != weights[i]:
                found[x - lo] += mlogm[together[i]] - mlogm[weights[i]]
    return found
