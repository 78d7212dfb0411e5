"""The families of a child that matter to a bound: counted again from the data, or as scores list them.

It shares nothing with the counting, the costs and the bounds of the solver: see `recount`, which it serves.
For a child X all parent sets P are enumerated depth first, and those handed over whose c'(X, P), the cost less what
the cuts take from it, is below a threshold. That is the sum of the multipliers of some clusters, those disjoint from P.

Parent sets are left out, with all their supersets Q or alone, if one of these holds; let states(P) be the product of
the arities in P, and the penalty of P = price * states(P), price = (r_X - 1) parameter, which is ln N / 2 for MDL:

1. Some subset of Q costs no more than Q. It takes the place of Q in every network, where it makes no cycle and keeps
   any limit of the number of parents. By induction over the size the sets that no subset beats suffice. Hence
   a. columns that are constant in the data are no parents: they add nothing but, perhaps, penalty;
   b. Q needs floor + penalty(Q) < cost of every subset, where floor = N H(X | all other variables) <= N H(X | Q);
   c. for Y in Q, N I(X; Y | Q - Y) must exceed the penalty that Y adds, price * states(Q - Y) * (r_Y - 1). For P inside
      Q - Y, that is at least price * states(P) * (r_Y - 1), while I(X; Y | Q - Y) <= min(H(X | Q - Y), H(Y | Q - Y)) in
      every cell of P (a joint state of P with its rows), so that N I is at most the sum over the cells of P of
      min(N H(X), N H(Y)) within the cell. If that does not exceed it, no Q that holds P and Y is needed.
   Besides, N H(X | Q) is at least N H(X | Q - Y) less that sum.
2. c' of every superset is too high: floor + penalty(Q) less what is taken from Q is at least the threshold, for
   Q = P + Y. A superset has no smaller penalty, and no more is taken from it.

By 1b and 2 a set is the last of its kind where the least penalty of a superset is too high, or the number of parents.
Such a set matters by its own cost alone: it is given up as soon as the cells counted by then make it too dear.

A cell in which X has one state is dropped: it adds nothing to N H(X | Q), nor to 1c, for P inside Q.

Of networks that are not the best, rule 1 says nothing. Where `every` family is asked for, it leaves none out.

Costs are sums of floats. What they may be off follows from the number of records and of distinct rows alone
(`_Data.error`). Whatever is compared keeps a margin of more than that, so that what is left out is truly beaten.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.claims import INTERRUPTED
from extbnsl.data import Dataset
from extbnsl.kernels.varsets import pack
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.scores.local import LocalScores
from extbnsl.verify.child_search import Child, Frames, counter_of, new_frames, new_space, search
from extbnsl.verify.demands import Demands
from extbnsl.verify.units import UNITS_PER_NAT, TooMuch

ROOM = 4096  # families that a search hands over at a time
MOST_FAMILIES = 20_000_000  # of a child
FLOAT_ERROR = 2.0**-53  # of one operation, relative
SOLVER_ERROR = 2.0**-40  # what the solver's own sums of floats may be off, relative to a child's costs


class RecountedFamilies(NamedTuple):
    """Families of one child: varsets (m, words) uint64 of parents and costs (m,) float64 in nats."""

    varsets: NDArray[np.uint64]
    costs: NDArray[np.float64]


@dataclass(frozen=True)
class Taken:
    """What the cuts of one pass take from the cost of a child's family: the sum of the multipliers (k,) int64, in units
    and of either sign, none zero, of those of the clusters (k, words) uint64 that its parents are disjoint from. More
    parents never have more taken."""

    clusters: NDArray[np.uint64]
    multipliers: NDArray[np.int64]


@dataclass(frozen=True)
class FamilySource:
    """Where a check has the families of a child from.

    below(child, threshold, taken): all that matter with c' below a threshold in units, or every one; costs that are off
    by no more than half of rounding(child), in nats. That is also what the solver's costs and bounds may be off, and
    more than a unit.
    """

    below: Callable[[int, int, Taken], RecountedFamilies]
    rounding: Callable[[int], float]


def families_of_scores(scores: LocalScores, demands: Demands) -> FamilySource:
    """What asks local scores: all families that they list as demanded, whatever the threshold. Costs are exact."""

    def listed(child: int, threshold: int, taken: Taken) -> RecountedFamilies:
        bits = np.ascontiguousarray(scores.parents[child], "<u8").view(np.uint8)
        rows = np.unpackbits(bits, axis=1, count=scores.variables, bitorder="little").astype(np.bool_)
        own = demands.admitted(child, rows)
        return RecountedFamilies(scores.parents[child][own], scores.costs[child][own])

    def rounding(child: int) -> float:
        return SOLVER_ERROR * abs(float(scores.costs[child].min())) + 2.0 / UNITS_PER_NAT

    return FamilySource(listed, rounding)


def families_of_data(
    dataset: Dataset, parameter: float, demands: Demands, workers: Workers, every: bool = False
) -> FamilySource:
    """What counts in the data: families below a threshold, all that matter under the argument of this module.

    parameter: what a free parameter costs, in nats. every: also those that a subset beats. `below` raises Stopped when
    the workers halt, and TooMuch at MOST_FAMILIES. Time per parent set: about a nanosecond per row and four candidates,
    and some per cell and candidate. Memory of a thread: rows times parents of a set, and rows times states of the
    candidates.
    """
    rows, weights = np.unique(dataset.codes, axis=0, return_counts=True)
    codes = np.array([np.unique(column, return_inverse=True)[1].reshape(-1) for column in rows.T], np.int64)
    counts = np.arange(dataset.records + 1, dtype=np.float64)
    mlogm = counts * np.log(np.maximum(counts, 1.0))
    problem = _Data(dataset.names, codes, weights.astype(np.int64), dataset.arities, mlogm, parameter, demands, every)
    return FamilySource(
        lambda child, threshold, taken: _search_child(problem, child, threshold, taken, workers), problem.rounding
    )


@dataclass(frozen=True)
class _Data:
    """Distinct rows by the states that occur, codes (n, d), with their weights (d,), declared arities (n,), m ln m for
    m up to the number of records, what a free parameter costs in nats; every: as of `families_of_data`."""

    names: tuple[str, ...]
    codes: NDArray[np.int64]
    weights: NDArray[np.int64]
    arities: NDArray[np.int64]
    mlogm: NDArray[np.float64]
    parameter: float
    demands: Demands
    every: bool

    def base(self, child: int) -> NDArray[np.int64]:
        """The parents that the child must have, ascending."""
        return np.array(sorted(self.demands.must[child]), np.int64)

    def price(self, child: int) -> float:
        """The penalty of each joint state of the child's other parents, in nats."""
        states = math.prod(self.arities[self.base(child)].tolist())
        return self.parameter * (int(self.arities[child]) - 1) * states

    def misfit(self, child: int, parents: NDArray[np.int64]) -> float:
        """N H(child | parents) in nats. O(rows log(rows) parents)."""
        of_group, of_cell = (self.mlogm[self._weights(columns)] for columns in (parents, np.append(parents, child)))
        return math.fsum(of_group.tolist()) - math.fsum(of_cell.tolist())

    def scale(self, child: int) -> float:
        """No family that matters costs more, in nats, nor does any sum on the way to its cost."""
        return float(self.mlogm[-1]) + self.price(child)

    def error(self, child: int) -> float:
        """What the cost of a family may be off, in nats.

        A cost is the sum of m ln m over its groups of records, less that over its cells. Groups of one add nothing, so
        each sum has at most `terms`, which are added one by one, and once more part by part. Each m ln m itself is off
        by a few units of its last place (32 are allowed for, the penalty among them).
        """
        terms = min(self.weights.size, self.mlogm.size // 2)
        return (4 * terms + 32) * FLOAT_ERROR * self.scale(child)

    def margin(self, child: int) -> float:
        """What is beaten by more than this is truly beaten: two costs, their difference, and units; in nats."""
        return 4.0 * self.error(child) + 2.0 / UNITS_PER_NAT

    def rounding(self, child: int) -> float:
        """What costs of this count and of the solver's may be apart, and its sums off, in nats."""
        return 2.0 * self.error(child) + SOLVER_ERROR * self.scale(child) + 2.0 / UNITS_PER_NAT

    def groups(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """A number for each row, which rows share that agree in some columns."""
        groups = np.zeros(self.weights.size, np.int64)
        for y in columns:
            _, groups = np.unique(groups * self.arities[y] + self.codes[y], return_inverse=True)
        return groups.reshape(-1)

    def _weights(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many records have each of the joint states of some columns that occur."""
        return np.bincount(self.groups(columns), self.weights).astype(np.int64)


def _search_child(data: _Data, child: int, threshold: int, taken: Taken, workers: Workers) -> RecountedFamilies:
    """All families of one child that matter, with c' below the threshold."""
    n = data.arities.size
    varying, base = np.flatnonzero(data.codes.max(axis=1)), data.base(child)
    possible = np.arange(n) if data.every else varying  # 1a
    allowed = data.demands.may[child] - data.demands.must[child]
    candidates = np.array([y for y in possible.tolist() if y in allowed], int)
    own, price, margin = data.misfit(child, base), data.price(child), data.margin(child)
    lead = math.inf if data.every else margin
    floor = max(0.0, data.misfit(child, varying[varying != child]) - margin)
    none = RecountedFamilies(pack(base.tolist(), n)[None, :], np.array([own + price]))
    if own == 0.0 and not data.every:  # nothing is left to explain: more parents only cost more
        return none
    apart = _apart(taken, none.varsets[0])
    reach = min(own + price + lead, reach_of(threshold, taken.multipliers[apart], margin))
    candidates = candidates[floor + price * data.arities[candidates] < reach]  # this also bounds the space
    most = min(data.demands.most[child] - base.size, candidates.size)
    depth = _depth(data, candidates, floor, price, reach, most)
    if depth == 0:
        return none
    # the cheapest first: the sets with them are many, and are held against their cost (1b)
    alone = [data.misfit(child, np.append(base, y)) + price * data.arities[y] for y in candidates]
    goal = (floor, margin, lead, price, threshold, depth)
    problem = _child(data, child, candidates[np.argsort(alone)], taken, goal)
    frames = new_frames(problem, own, none.varsets[0], data.groups(base), apart)
    return _all_families(problem, frames, none, data.names[child], workers)


def reach_of(threshold: int, apart: NDArray[np.int64], margin: float) -> float:
    """What families cost less than, in nats, that are not left out by the threshold (2), nor all their supersets, where
    the multipliers of these clusters are taken from the least of them."""
    return (threshold + sum(apart.tolist())) / UNITS_PER_NAT + margin


def _apart(taken: Taken, varset: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The clusters that have nothing in common with a varset."""
    return np.flatnonzero(~(taken.clusters & varset).any(axis=1))


def _all_families(
    problem: Child, frames: Frames, none: RecountedFamilies, name: str, workers: Workers
) -> RecountedFamilies:
    """What the search hands over, from the root in the frames on, and the family of those parents that must be."""
    width = none.varsets.shape[1]
    space = new_space(problem)
    room = ROOM + problem.candidates.size
    varsets, costs = np.empty((room, width), np.uint64), np.empty(room)
    parts = [none]
    written, top = 0, 0
    while top >= 0:
        top, count = search(top, problem, frames, space, workers.halt, varsets, costs)
        if workers.halt[0]:
            # without a reason it is another child that cannot go on, and its reason that is told
            raise Stopped(workers.stop() or INTERRUPTED)
        parts.append(RecountedFamilies(varsets[:count].copy(), costs[:count].copy()))
        written += count
        if written > MOST_FAMILIES:
            raise TooMuch(f"more than {MOST_FAMILIES:,} parent sets of {name!r} matter to it")
    return RecountedFamilies(*map(np.concatenate, zip(*parts, strict=True)))


def _depth(data: _Data, candidates: NDArray[np.int64], floor: float, price: float, reach: float, most: int) -> int:
    """How many parents, at most so many, a set has at most that costs less than `reach`, for all that is known."""
    states, depth = 1.0, 0
    for arity in np.sort(data.arities[candidates])[:most].tolist():
        states *= arity
        if floor + price * states >= reach:
            break
        depth += 1
    return depth


def _child(
    data: _Data,
    child: int,
    candidates: NDArray[np.int64],
    taken: Taken,
    goal: tuple[float, float, float, float, int, int],
) -> Child:
    """What the kernels read, for the candidates in this order; goal: the first fields."""
    d, m = data.weights.size, candidates.size
    codes = np.vstack((data.codes[candidates], np.zeros((1, d), np.int64)))
    first = np.concatenate(([0], np.cumsum(codes.max(axis=1))))
    counter = counter_of(data.mlogm)
    per = 8 // counter.itemsize
    counters = np.zeros((d, -(-max(1, int(first[-1])) // per) * per), counter)
    for y in range(m):
        has = np.flatnonzero(codes[y] < first[y + 1] - first[y])
        counters[has, first[y] + codes[y, has]] = data.weights[has]
    inside = taken.clusters[:, candidates // 64] >> (candidates % 64).astype(np.uint64) & np.uint64(1)
    return Child(
        *goal,
        growth=float(data.arities[candidates].min()),
        candidates=candidates,
        arities=data.arities[candidates].astype(np.float64),
        codes=codes,
        first=first,
        lanes=counters.view(np.uint64),
        states=data.codes[child],
        weights=data.weights,
        mlogm=data.mlogm,
        hits=np.ascontiguousarray(inside.astype(np.int64) * taken.multipliers[:, None]),
        multipliers=taken.multipliers,
    )
