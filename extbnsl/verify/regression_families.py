"""The families of a child that matter to a bound, by Gaussian BIC: linear regressions of columns of numbers.

As `families` has it for scores of misfit and penalty. With RSS(P) the sum of squares that a regression on P with an
intercept leaves, a family of k parents costs

    N / 2 (ln(2 pi RSS(P) / N) + 1) + ln N / 2 (k + 2)    nats,

or by another price of a parameter and of a parent. Where columns have measurement errors, N times the square of that
of a column is added to its sum of squares, as a row more for each column does. A cost may be below zero. RSS never
rises with P. So a set P with any of the candidates C besides costs at least what RSS(P + C) and the price of P alone
come to. P and these supersets are left out if that is not below

1. the cost of a subset of P, which takes their place, or
2. the threshold and what is taken from P: no more is taken from a superset.

C may be all candidates that are left, or any of so many members, which `regression_bound` bounds. What the bound rules
out at the root is no candidate of the search at all.

P alone is left out if it costs no less than without one of its parents. Where there is a lead, a subset must be cheaper
by that for any of this.

A family of more than N - 2 parents is not allowed. A family (X, P) is singular if the others of P + X leave one of them
less than SINGULAR of its squares; so are all that have more parents. They are left out, and what is said of RSS(P + C)
is said of no less than SINGULAR of the squares of X. A family within rounding of that limit may come along: more
families only make what is shown weaker. The shares are one over the squares of the rows of the inverse of the triangle
that P and X make, each over its norm, which grows by a column with each parent.

How far a cost may be off: an upper bound, where u = 2^-53, |x| is a norm, N the number of records, n that of columns.

a. A column is d, the numbers less the first of them over a power of two, less their mean: c. The differences are off by
   at most u |d|, the mean of an exact sum by 2 u |d| / sqrt(N), which is 2 u |d| in all records, and the last
   differences by u |c|, where |c| <= |d|. Together that is less than 5 u |d| / |c| of the norm of the column.
   A row of measurement errors is off by u of itself.
b. The rows of all columns are turned by Givens rotations, each row by at most `stages` of them one after the other. One
   in floats is one in real numbers but for 6 sqrt(2) u of the norm that it turns, and rotations of different rows do
   not add up (Higham 2002, lemmas 19.7 to 19.9). So the coordinates are those, in some orthonormal basis and in real
   numbers, of columns that are off by at most e = 5 u |d| / |c| + 10 u stages of their norms, whichever parents are
   taken out in whichever order.
c. Let M be the columns of a family, each over its norm, and s the least singular value of all columns, each over its
   norm; if they are singular together, that of any set that is not. Such a set lacks a column of each set that is. So
   these are taken out in turn; or, where that leaves too many sets, s is the root of SINGULAR / n: the inverse of its
   correlations has no diagonal entry above 1 / SINGULAR, and so no eigenvalue above n / SINGULAR. For coefficients b
   let v = (-b, 1). Then |M v| >= s |v|. With M' for columns that are off, |M' v - M v| <= e sqrt(n) |v| <= t |M v|,
   where t = e sqrt(n) / s. This holds of the best b for M and of that for M'. So the norm of what is left is off by at
   most t of itself, however little is left, and N times its logarithm by 2 t N if t <= 1 / 8.
d. 1 / s is at most the Frobenius norm of the inverse of the triangle that all columns, or those of such a set, make,
   each over its norm, if the triangle were exact; it is off by e sqrt(n), which is t of s, and its inverse by less.
   Twice that norm is enough.
e. The sum of n squares is off by n u of itself, the logarithm, the price and their sum by some u of the largest figure.
f. What `regression_bound` says of a node is true of the floats of its triangle, in real numbers. These are columns that
   are off as of (b), so that (c) holds of it as of what all candidates leave. Its d is proved of the triangle at the
   root, of columns that are off otherwise: by (c) the norm of a sum of columns is at one of both at least
   (1 - t) / (1 + t) of what it is at the other, so that (1 - 4 t) d is small enough. Where some columns are singular
   together nothing is known of such sums, and the bound says nothing.

Where columns nearly determine each other s is small and t large; from COARSEST on nothing is checked.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.data import Numbers
from extbnsl.kernels.varsets import pack, words
from extbnsl.machine.workers import Workers
from extbnsl.verify.certificate import TooMuch
from extbnsl.verify.demands import Demands
from extbnsl.verify.families import (
    FLOAT_ERROR,
    FamilySource,
    RecountedFamilies,
    Taken,
    Tell,
    each_searched,
    handed_over,
    members_of,
)
from extbnsl.verify.passes import WeightedCuts
from extbnsl.verify.regression_bound import Relaxation, new_relaxation, rule_out
from extbnsl.verify.regression_search import (
    RegressionChild,
    RegressionFrames,
    new_regression_frames,
    search_regressions,
    triangulate,
)
from extbnsl.verify.rescoring import (
    SINGULAR,
    Scored,
    cost_of_any,
    first_of_past,
    least_shares,
    parameter_cost,
    with_errors,
)

ROOM = 4096  # families that a search hands over at a time
OWN_PARAMETERS = 2  # the intercept and the variance
MOST_SETS = 256  # of columns, that are looked at where some are singular
MOST_PRODUCTS = 1 << 33  # of numbers, that this takes
ROUNDS = 60  # of a bound at the root, each by better weights than the one before
PART = 1e-4  # of a vector of norm 1: less is none
LEAST_ROWS = 64  # that are made a triangle at once
COARSEST = 0.1  # nats: what the rounding of a child's costs may come to
UNCHECKABLE = f"columns of the data determine each other so nearly that rounding may hide more than {COARSEST:g} nats"


@dataclass(frozen=True)
class _Measured(FamilySource):
    """The columns in coordinates, each less its mean and over a power of 2."""

    numbers: Numbers
    demands: Demands
    workers: Workers
    price: float  # of an intercept or a variance, in nats
    each: float  # of a parent
    leads: NDArray[np.float64]  # as of `families_by_regressions`
    triangle: NDArray[np.float64]  # (n, n) the coordinates
    exponents: NDArray[np.int32]  # (n,) of the powers
    partial: NDArray[np.float64]  # (n, n) the squares of the correlations given all others, about; or given none
    singular: bool  # whether some sets of columns are, see the module
    inverse: float  # what 1 / s is at most, see the module
    relative: float  # t, see the module

    def below(self, thresholds: Mapping[int, int], cuts: WeightedCuts, tell: Tell) -> list[RecountedFamilies]:
        return each_searched(_search, self, (self.numbers.variables, self.workers), thresholds, cuts, tell)

    def own(self, child: int) -> float:
        """What a family without parents costs that leaves squares of 1 in the coordinates, in nats."""
        records = self.numbers.records
        misfit = records * ((math.log(2 * math.pi / records) + 1.0) / 2 + int(self.exponents[child]) * math.log(2.0))
        return misfit + OWN_PARAMETERS * self.price

    def scale(self, child: int) -> float:
        """No sum on the way to the cost of a family is larger, in nats.

        Columns have numbers of at most 2, norms of at least 1 / 3, and so leave squares from (s / 3)^2 to 4 N.
        """
        records, n = self.numbers.records, self.numbers.variables
        squares = max(math.log(4.0 * records), 2.0 * math.log(3.0 * self.inverse))
        units = abs(int(self.exponents[child])) * math.log(2.0)
        return records * (units + (math.log(2 * math.pi) + math.log(records) + 1.0 + squares) / 2) + (
            self.price * OWN_PARAMETERS + self.each * n
        )

    def error(self, child: int) -> float:
        """What the cost of a family may be off, in nats."""
        records, n = self.numbers.records, self.numbers.variables
        return records * (2.0 * self.relative + n * FLOAT_ERROR) + 16 * FLOAT_ERROR * self.scale(child)


def families_by_regressions(
    numbers: Numbers,
    claim: Scored,
    demands: Demands,
    workers: Workers,
    leads: NDArray[np.float64],
    priced: int | None = None,
) -> _Measured:
    """What computes regressions of the columns. The module says what their costs may be off. leads (n,): a subset beats
    a family of a child if it costs less by more than this, in nats; none does if that is infinite. priced: by how many
    records a parameter is priced, if not by all of these. Of what arcs cost besides it counts what any does.

    `below` raises Stopped when the workers halt, and TooMuch at MOST_FAMILIES; its time is O(m^2) per parent set with m
    candidates left. The call itself takes O(N n^2), and raises Stopped when the workers are to stop, and TooMuch where
    rounding may come to more than COARSEST.
    """
    n, records = numbers.variables, numbers.records
    apart = numbers.values - numbers.values[0]
    largest = np.abs(apart).max(axis=0)
    if not (largest > 0.0).all():
        raise TooMuch(UNCHECKABLE)
    exponents = np.frexp(np.maximum(largest, numbers.resolution or 0.0))[1]
    apart = np.ldexp(apart, -exponents)
    means = np.array([math.fsum(column.tolist()) / records for column in apart.T])
    errors = [math.ldexp(own, -int(power)) for own, power in zip(numbers.resolution, exponents, strict=False)]
    columns = with_errors(apart - means, errors)
    norms = np.sqrt((columns**2).sum(axis=0))
    spread = float((np.sqrt((apart**2).sum(axis=0)) / norms).max())
    coordinates, stages = triangle(columns, workers)
    units = coordinates / norms
    singular, most = bool(least_shares(units).min() < SINGULAR), 2.0 * _most_inverse(units)
    partial = (units.T @ units) ** 2 if singular else _given_others(units)
    stages += 3 * n + n * max(demands.most)
    error = (5.0 * spread + 10.0 * stages) * FLOAT_ERROR
    relative = error * math.sqrt(n) * most
    price = parameter_cost(claim, priced or records)
    each = price + cost_of_any(claim, n)
    problem = _Measured(
        numbers, demands, workers, price, each, leads, coordinates, exponents, partial, singular, most, relative
    )
    if not (relative <= 0.125 and max(map(problem.rounding, range(n))) <= COARSEST):
        raise TooMuch(UNCHECKABLE)
    return problem


def _given_others(units: NDArray[np.float64]) -> NDArray[np.float64]:
    """The squares of the correlations given all others, of coordinates of norm 1."""
    inverse = np.linalg.solve(units, np.eye(len(units)))
    precision = inverse @ inverse.T
    own = np.diag(precision)
    return np.asarray(precision**2 / np.outer(own, own))


def _most_inverse(units: NDArray[np.float64]) -> float:
    """What 1 / s is at most, of coordinates of norm 1, if they are exact; see the module."""
    n, most = units.shape[1], 0.0
    waiting = [tuple(range(n))]
    known = set(waiting)
    while waiting:
        own = waiting.pop()
        _, values, turned = np.linalg.svd(units[:, own])
        if least_shares(units[:, own]).min() >= SINGULAR:
            most = max(most, math.sqrt(float((1.0 / values**2).sum())))
            continue
        some = [v for v, part in zip(own, turned[-1].tolist(), strict=True) if abs(part) > PART]
        few = some if least_shares(units[:, some]).min() < SINGULAR else own
        fewer = {tuple(v for v in own if v != gone) for gone in few} - known
        waiting += fewer
        known |= fewer
        if len(known) > min(MOST_SETS, 1 + MOST_PRODUCTS // n**3):
            return math.sqrt(n / SINGULAR)
    return most


def triangle(columns: NDArray[np.float64], workers: Workers) -> tuple[NDArray[np.float64], int]:
    """The coordinates (n, n) of columns (N, n), by those of either half, and how many rotations a row takes at most."""
    workers.check()
    n, stages = columns.shape[1], 0
    if len(columns) > max(2 * n, LEAST_ROWS):
        halves = [triangle(half, workers) for half in np.array_split(columns, 2)]
        columns, stages = np.vstack([half for half, _ in halves]), max(stages for _, stages in halves)
    rows = np.vstack([columns, np.zeros((max(0, n - len(columns)), n))])
    triangulate(rows)
    return rows[:n], stages + len(rows) + n


class _Asked(NamedTuple):
    """What the search for the families of one child is about."""

    child: int
    base: list[int]  # parents of all families
    depth: int  # most parents beside them
    alone: float  # what the family of the base costs
    threshold: int
    taken: Taken


class _Begun(NamedTuple):
    """A search at its root."""

    child: RegressionChild
    frames: RegressionFrames
    relaxed: Relaxation


def _search(problem: _Measured, child: int, threshold: int, taken: Taken) -> RecountedFamilies:
    """All families of one child that matter, with c' below the threshold."""
    numbers, demands = problem.numbers, problem.demands
    if child >= first_of_past(numbers):
        return RecountedFamilies(np.zeros((1, words(numbers.variables)), np.uint64), np.zeros(1))
    n, base = numbers.variables, sorted(demands.must[child])
    depth = min(demands.most[child], numbers.records - OWN_PARAMETERS) - len(base)
    rows = _coordinates(problem, [*base, child])
    if depth < 0 or (base and least_shares(rows).min() < SINGULAR):
        return RecountedFamilies(np.empty((0, words(n)), np.uint64), np.empty(0))
    alone = problem.own(child) + problem.each * len(base) + numbers.records / 2 * math.log(float(rows[-1, -1] ** 2))
    parts = [RecountedFamilies(pack(base, n)[None, :], np.array([alone]))]
    asked = _Asked(child, base, depth, alone, threshold, taken)
    candidates = _in_question(problem, asked)
    if candidates.size == 0 or depth == 0:
        return parts[0]
    begun = _begin(problem, asked, candidates)
    found = np.empty((ROOM, words(n)), np.uint64), np.empty(ROOM)
    matter, halt = f"of {numbers.names[child]!r} matter to it", problem.workers.halt
    rest = handed_over(lambda top: search_regressions(top, *begun, halt, *found), found, problem.workers, matter)
    parts += (RecountedFamilies(*part) for part in rest)
    return RecountedFamilies(*map(np.concatenate, zip(*parts, strict=True)))


def _coordinates(problem: _Measured, chosen: list[int]) -> NDArray[np.float64]:
    """Those of these columns, as a triangle."""
    rows = np.ascontiguousarray(problem.triangle[:, chosen])
    triangulate(rows)
    return rows[: len(chosen)]


def _in_question(problem: _Measured, asked: _Asked) -> NDArray[np.int64]:
    """The candidates that a bound at the root does not rule out, in the order of the search: those that weigh most in
    the relaxation come first, of those that weigh nothing the ones that tell most of the child beside all others.
    Without them much is left, and few of the others are worth their price."""
    child, demands = asked.child, problem.demands
    candidates = np.array(sorted(demands.may[child] - demands.must[child]), np.int64)
    candidates = candidates[np.argsort(-problem.partial[child, candidates], kind="stable")]
    if candidates.size == 0 or asked.depth == 0:
        return candidates
    begun = _begin(problem, asked, candidates)
    for _ in range(ROUNDS):
        if not rule_out(0, candidates.size - 1, *begun):
            return candidates[:0]
    order = np.argsort(-np.abs(begun.relaxed.weights[::-1]), kind="stable")
    return candidates[order[~begun.frames.out[0, ::-1][order]]]


def _begin(problem: _Measured, asked: _Asked, candidates: NDArray[np.int64]) -> _Begun:
    """The search of these candidates, at least one, in this order."""
    child, n, b = asked.child, problem.numbers.variables, len(asked.base)
    chosen = [*asked.base, *candidates[::-1], child]
    rows, squares = _coordinates(problem, chosen), (problem.triangle[:, chosen] ** 2).sum(axis=0)
    lead = problem.margin(child) + float(problem.leads[child])
    clusters, multipliers = asked.taken.clusters, asked.taken.multipliers
    own = RegressionChild(
        half=problem.numbers.records / 2,
        worth=math.expm1(2.0 * (problem.each - lead) / problem.numbers.records),
        own=problem.own(child) + problem.each * b,
        price=problem.each,
        margin=problem.margin(child),
        lead=lead,
        threshold=asked.threshold,
        depth=min(asked.depth, candidates.size),
        candidates=candidates,
        hits=np.ascontiguousarray(members_of(clusters, n)[:, candidates] * multipliers[:, None]),
        multipliers=multipliers,
        least=SINGULAR * float(squares[-1]) if problem.singular else 0.0,
        most=1.0 / SINGULAR if problem.singular else math.inf,
        squares=squares,
        before=rows[:b, b:],
    )
    first = pack(asked.base, n)
    apart: NDArray[np.bool_] = np.logical_not((clusters & first).any(axis=1))
    frames = new_regression_frames(own, asked.alone, first, rows, apart)
    known = 1.0 if problem.singular else problem.relative
    return _Begun(own, frames, new_relaxation(frames.triangle[0], frames.goal[0], known))
