"""The families of a child that matter to a bound, by degenerate Gaussian BIC: each variable is a block of columns.

With x columns of the child and p of the parents, S the covariances of N records, a family costs

    N / 2 (ln det S[X + P] - ln det S[P] + x (ln 2 pi + 1)) + ln N / 2 (x (x + 1) / 2 + x p + x)    nats,

or by another price of a parameter. The difference of the first two is the sum of the logarithms of what P and the
columns of X before leave of each column of X. That never rises with P. So a set P with any of the candidates C besides
costs at least what P + C leave and the price of P alone. P and these supersets are left out if that is not below

1. the cost of a subset of P, which takes their place, or
2. the threshold and what is taken from P: no more is taken from a superset.

P alone is left out if it costs no less than without one of its parents. Where there is a lead, a subset must be cheaper
by that for any of this. A family is singular if the others of P + X leave one of their columns less than SINGULAR of
its squares; so are all that have more parents. They are left out. One that is so by a hair may come along: more
families only make what is shown weaker.

Where P and some candidates leave of the next one's column c a vector of length s, with s^2 below half of SINGULAR, the
column is passed over. In a regular family the regression of another column has no coefficient of c above
1 / sqrt(SINGULAR). So if c is moved by s, to where the others reach, what is left grows by s / sqrt(SINGULAR) at most
in length, and that is taken off what P + C leave; never less than SINGULAR is left of a column.

How far costs may be off. Columns of length 1 are moved by some e = 2^-48 for each of M columns by what is done to them
(Higham 2002, theorems 19.4 and 19.13). The least singular value of a regular set is sqrt(SINGULAR / M) or more, so that
what is left is off by t = e M / sqrt(SINGULAR) of its length at most, and a cost by N t for each column of the child:
whatever is compared keeps a margin of that. A family that is handed over is costed again by a triangle of its own; with
|R| for the root of the squares of the inverse of that, what is left is off by e sqrt(M) |R|, and nothing is checked if
that is more than OFF.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import INTERRUPTED
from extbnsl.data import Mixed
from extbnsl.kernels.varsets import pack, words
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.verify import UNITS_PER_NAT
from extbnsl.verify.certificate import TooMuch
from extbnsl.verify.demands import Demands
from extbnsl.verify.families import (
    FLOAT_ERROR,
    MOST_FAMILIES,
    FamilySource,
    RecountedFamilies,
    Taken,
    Tell,
    each_searched,
    members_of,
)
from extbnsl.verify.passes import WeightedCuts
from extbnsl.verify.rescoring import (
    SINGULAR,
    Scored,
    errors_of_columns,
    first_of_past,
    indicators,
    parameter_cost,
    with_errors,
)

OFF = 1e-9  # of the length of what is left: what rounding may come to
MOVED = 2.0**-48  # of the length of a column, for each of them
LEAST = math.sqrt(SINGULAR)  # length of what is left of a column of a regular set
UNCHECKABLE = f"columns of the data determine each other so nearly that rounding may hide {OFF:g} of what is left"


@dataclass(frozen=True)
class _Blocks(FamilySource):
    """Columns of mean 0 and length 1 in d coordinates, vectors (M, d); places: of those of each variable; logs (M,): ln
    of their standard deviations; price: of a parameter, in nats."""

    data: Mixed
    demands: Demands
    workers: Workers
    leads: NDArray[np.float64]
    vectors: NDArray[np.float64]
    places: tuple[tuple[int, ...], ...]
    logs: NDArray[np.float64]
    price: float

    def below(self, thresholds: Mapping[int, int], cuts: WeightedCuts, tell: Tell) -> list[RecountedFamilies]:
        return each_searched(_search, self, (self.data.variables, self.workers), thresholds, cuts, tell)

    def columns(self, variables: Sequence[int]) -> list[int]:
        """Those of some variables, in their order."""
        return [c for v in variables for c in self.places[v]]

    def own(self, child: int) -> float:
        """What a family costs that leaves all of the child's columns, without a price."""
        own = list(self.places[child])
        each = len(own) * (math.log(2.0 * math.pi) + 1.0) / 2.0
        return self.data.records * (each + math.fsum(self.logs[own].tolist()))

    def priced(self, child: int, parents: int) -> float:
        """The price of a family with so many columns of parents, in nats."""
        x = len(self.places[child])
        return self.price * (x * (x + 1) // 2 + x * parents + x)

    def cost(self, child: int, parents: Sequence[int]) -> float:
        """What a family costs, in nats, by a triangle of its own; infinity if it is singular; or TooMuch."""
        chosen, x = self.columns((*parents, child)), len(self.places[child])
        if len(chosen) >= self.data.records:
            return math.inf
        triangle = np.asarray(np.linalg.qr(self.vectors[chosen].T, mode="r"))
        left = np.abs(np.diag(triangle))
        if (left < LEAST / 2.0).any():
            return math.inf
        inverse = np.linalg.solve(triangle, np.eye(len(chosen)))
        if chosen and (1.0 / (inverse**2).sum(axis=1)).min() < SINGULAR:
            return math.inf
        moved = MOVED * len(chosen)
        if moved * math.sqrt(len(chosen)) * math.sqrt(float((inverse**2).sum())) > OFF:
            raise TooMuch(UNCHECKABLE)
        misfit = self.own(child) + self.data.records * math.fsum(np.log(left[len(chosen) - x :]).tolist())
        return misfit + self.priced(child, len(chosen) - x)

    def scale(self, child: int) -> float:
        own, records = list(self.places[child]), self.data.records
        most = math.log(2.0 * math.pi) + 2.0 - math.log(SINGULAR) + math.log(records)
        return records * (len(own) * most + float(np.abs(self.logs[own]).sum())) + self.priced(
            child, min(records, len(self.vectors))
        )

    def error(self, child: int) -> float:
        return 2.0 * OFF * self.data.records * len(self.places[child]) + 64.0 * FLOAT_ERROR * self.scale(child)

    def compared(self, child: int) -> float:
        """What a cost that is compared may be off, in nats."""
        each = MOVED * len(self.vectors) ** 2 / LEAST
        return self.data.records * len(self.places[child]) * each + self.margin(child)


def families_by_blocks(
    data: Mixed,
    claim: Scored,
    demands: Demands,
    workers: Workers,
    leads: NDArray[np.float64],
    priced: int | None = None,
) -> _Blocks:
    """What counts families of columns of both kinds as blocks; leads, priced: as of `families_by_regressions`. `below`
    raises Stopped when the workers halt, and TooMuch for too many families, or where rounding comes to too much."""
    blocks = [indicators(data, v) for v in range(data.variables)]
    ends = np.cumsum([block.shape[1] for block in blocks]).tolist()
    columns = np.hstack(blocks)
    columns = columns - columns[:1]
    units, lengths = np.abs(columns).max(axis=0), np.ones(columns.shape[1])
    varies = units > 0.0  # with the others families are singular
    units[~varies] = 1.0
    columns = columns / units
    errors = errors_of_columns(data, range(data.variables)) / units
    columns = with_errors(columns - columns.mean(axis=0), errors.tolist())
    lengths[varies] = np.sqrt((columns[:, varies] ** 2).sum(axis=0))
    logs = np.log(units) + np.log(lengths) - math.log(data.records) / 2.0
    vectors = np.ascontiguousarray(np.asarray(np.linalg.qr(columns / lengths, mode="r")).T)
    places = tuple(tuple(range(lo, hi)) for lo, hi in zip([0, *ends[:-1]], ends, strict=True))
    price = parameter_cost(claim, priced or data.records)
    return _Blocks(data, demands, workers, leads, vectors, places, logs, price)


@dataclass(frozen=True)
class _Node:
    """A set of parents.

    members: its candidates, by place; after: the place of the first that may follow; left (M', d): what it leaves of
    the columns of those and of the child; price: of the candidates, in nats; cheapest: what a subset of it costs, by
    what was compared; rest (k,): the clusters disjoint from it.
    """

    members: tuple[int, ...]
    after: int
    left: NDArray[np.float64]
    price: float
    cheapest: float
    rest: NDArray[np.bool_]


@dataclass(frozen=True)
class _Walk:
    """What a walk over the families of a child reads; sizes (m,): the columns of each candidate; own: what the family
    of those that must be costs, but for what they leave; threshold in units, the others in nats."""

    problem: _Blocks
    child: int
    sizes: NDArray[np.int64]
    own: float
    depth: int
    threshold: int
    hits: NDArray[np.bool_]
    multipliers: NDArray[np.int64]
    lead: float
    margin: float

    @property
    def x(self) -> int:
        """The columns of the child."""
        return len(self.problem.places[self.child])

    def logs(self, lengths: NDArray[np.float64]) -> NDArray[np.float64]:
        """N times the sum of the logarithms of lengths (..., x)."""
        return np.asarray(self.problem.data.records * np.log(lengths).sum(axis=-1))

    def below(self, node: _Node) -> Iterator[tuple[tuple[int, ...], _Node | None]]:
        """The sets of a node and one candidate more that matter, or of which supersets may, as those; each with itself
        as a node if these may."""
        after, sizes = node.after, self.sizes[node.after :]
        lengths, units, regular = _each_taken(node.left, sizes, self.x)
        prices = node.price + self.problem.price * self.x * sizes
        costs = np.where(regular, self.own + prices + self.logs(np.where(regular[:, None], lengths, 1.0)), math.inf)
        rest = node.rest[:, None] & ~self.hits[:, after:]
        room = (self.threshold + (rest * self.multipliers[:, None]).sum(axis=0)) / UNITS_PER_NAT + self.margin
        least = np.full(len(sizes), math.inf)
        if len(node.members) + 2 <= self.depth:
            bounds = self.own + prices + self.logs(_suffixes_taken(node.left, sizes, self.x))
            least[:-1] = bounds[:-1] + self.problem.price * self.x * np.minimum.accumulate(sizes[::-1])[::-1][1:]
        firsts = np.concatenate(([0], np.cumsum(sizes)))
        for i in np.flatnonzero(regular).tolist():
            members = (*node.members, after + i)
            if costs[i] < min(node.cheapest + self.lead, room[i]):
                yield members, None
            cheapest = min(node.cheapest, float(costs[i]))
            if least[i] < min(cheapest + self.lead, room[i]):
                left = node.left[firsts[i + 1] :]
                for unit in units[i]:
                    left = left - np.outer(left @ unit, unit)
                yield members, _Node(members, after + i + 1, left, float(prices[i]), cheapest, rest[:, i])


def _each_taken(
    left: NDArray[np.float64], sizes: NDArray[np.int64], x: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """For each block of some vectors, the last x of which are the child's: the lengths (m, x) of what it leaves of
    these and those before; unit vectors (m, b, d) that it spans, some zero; whether all is regular."""
    m, widest, d = len(sizes), int(sizes.max(initial=0)), left.shape[1]
    units, at = np.zeros((m, widest, d)), 0
    for i, size in enumerate(sizes.tolist()):
        units[i, :size] = left[at : at + size]
        at += size
    regular = np.ones(m, np.bool_)
    child = np.repeat(left[len(left) - x :][None], m, axis=0)
    for a in range(widest):
        length = np.sqrt((units[:, a] ** 2).sum(axis=1))
        there = sizes > a
        regular &= (length >= LEAST / 2.0) | ~there
        units[:, a] /= np.where(length > 0.0, length, 1.0)[:, None]
        for others in (units[:, a + 1 :], child):
            others -= np.einsum("mbd,md->mb", others, units[:, a])[..., None] * units[:, None, a]
    lengths = np.zeros((m, x))
    for a in range(x):
        lengths[:, a] = np.sqrt((child[:, a] ** 2).sum(axis=1))
        regular &= lengths[:, a] >= LEAST / 2.0
        along = child[:, a] / np.where(lengths[:, a] > 0.0, lengths[:, a], 1.0)[:, None]
        child[:, a + 1 :] -= np.einsum("mbd,md->mb", child[:, a + 1 :], along)[..., None] * along[:, None]
    return lengths, units, regular


def _suffixes_taken(left: NDArray[np.float64], sizes: NDArray[np.int64], x: int) -> NDArray[np.float64]:
    """For each block of some vectors, the last x of which are the child's: at least what it and all blocks behind leave
    of these and those before, as lengths (m, x)."""
    many, off = len(left) - x, MOVED * len(left)
    order = list(range(many - 1, -1, -1))  # the last block first
    short, kept = np.zeros(many + 1), order
    while True:
        triangle = np.asarray(np.linalg.qr(left[[*kept, *range(many, many + x)]].T, mode="r"))
        pivots = np.abs(np.diag(triangle))[: len(kept)]
        thin = np.flatnonzero(pivots < LEAST / math.sqrt(2.0)).tolist() + list(range(len(pivots), len(kept)))
        if not thin:
            break
        at = thin[0]
        short[kept[at]] = (float(pivots[at]) if at < len(pivots) else 0.0) + off
        kept = kept[:at] + kept[at + 1 :]
    own = triangle[:, len(kept) :]
    used = np.cumsum(np.isin(order, kept))  # how many are taken out with each of the order
    ends = many - np.concatenate(([0], np.cumsum(sizes)))[:-1]  # of the order, with each block
    lost = np.cumsum(short[order]) * 1.01 / LEAST
    found = np.empty((len(sizes), x))
    for i, end in enumerate(ends.tolist()):
        rows = own[used[end - 1] if end else 0 :]
        lengths = np.zeros(x)
        inner = np.abs(np.diag(np.asarray(np.linalg.qr(rows, mode="r")))) if x else lengths
        lengths[: len(inner)] = inner
        found[i] = np.maximum(LEAST, lengths - (lost[end - 1] if end else 0.0))
    return found


def _search(problem: _Blocks, child: int, threshold: int, taken: Taken) -> RecountedFamilies:
    """All families of one child that matter, with c' below the threshold."""
    if child >= first_of_past(problem.data):
        return RecountedFamilies(np.zeros((1, words(problem.data.variables)), np.uint64), np.zeros(1))
    demands, n = problem.demands, problem.data.variables
    base = sorted(demands.must[child])
    alone = problem.cost(child, base)
    if math.isinf(alone):
        return RecountedFamilies(np.empty((0, words(n)), np.uint64), np.empty(0))
    candidates = sorted(demands.may[child] - demands.must[child])
    vectors = problem.vectors
    if base:
        basis = np.linalg.qr(vectors[problem.columns(base)].T)[0]
        for _ in range(2):  # what is left of what was all but taken out
            vectors = vectors - (vectors @ basis) @ basis.T
    own = problem.columns([child])
    told = {v: float(((vectors[list(problem.places[v])] @ vectors[own].T) ** 2).sum()) for v in candidates}
    candidates.sort(key=lambda v: (-told[v], v))
    margin = 2.0 * problem.compared(child)
    walk = _Walk(
        problem,
        child,
        np.array([len(problem.places[v]) for v in candidates], np.int64),
        problem.own(child) + problem.priced(child, len(problem.columns(base))),
        min(demands.most[child] - len(base), len(candidates)),
        threshold,
        members_of(taken.clusters, n)[:, candidates].reshape(taken.multipliers.size, len(candidates)),
        taken.multipliers,
        margin + float(problem.leads[child]),
        margin,
    )
    first = pack(base, n)
    rest: NDArray[np.bool_] = np.logical_not((taken.clusters & first).any(axis=1))
    sets, costs = [first], [alone]
    waiting = [_Node((), 0, vectors[problem.columns((*candidates, child))], 0.0, alone, rest)] if walk.depth else []
    while waiting:
        if problem.workers.halt[0]:
            raise Stopped(problem.workers.stop() or INTERRUPTED)
        for members, node in walk.below(waiting.pop()):
            if node is not None:
                waiting.append(node)
                continue
            parents = sorted((*base, *(candidates[i] for i in members)))
            cost = problem.cost(child, parents)
            if cost < math.inf:
                sets.append(pack(parents, n))
                costs.append(cost)
        if len(sets) > MOST_FAMILIES:
            raise TooMuch(f"more than {MOST_FAMILIES:,} parent sets of {problem.data.names[child]!r} matter to it")
    return RecountedFamilies(np.array(sets, np.uint64), np.array(costs))
