"""Degenerate Gaussian BIC: columns of states as indicators beside columns of numbers, all of them Gaussian (Andrews,
Ramsey and Cooper 2019).

A column of r states that occur becomes r - 1 columns of zeros and ones, one for each of these states but the first; a
column of numbers is one column. They are the block of the variable. With S the covariance matrix of maximum likelihood,
x columns of X and p of P,

cost(X | P) = N / 2 (ln det S[X + P] - ln det S[P] + x ln(2 pi) + x) + (ln N / 2) (x (x + 1) / 2 + x p + x)     (nats)

That is the misfit of the regression of the block of X on those of P, and the price of its covariance matrix, its
coefficients and its intercepts. Of numbers alone it is Gaussian BIC. Which state is the first makes no difference:
other indicators are sums of these with a determinant of one.

All arcs are allowed. Both parts are differences f(X + P) - f(P) of a function of sets, (m (m + 1) / 2 + m) for the
parameters of m columns; so equivalent networks cost the same. A set is regular if the others of its columns leave each
of them LEAST_SHARE of its variance, and a family is allowed if P + X is, whichever of these is the child. Subsets of a
regular set are regular. A variable alone always is.

The square of a measurement error comes to the variance of a column of numbers, as in gaussian.py. A family has fewer
columns than there are records, whatever the errors are.

The misfit never rises when a parent is added, and the price never falls. A column of states that never varies has no
columns: it costs nothing, as a child or as a parent.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.data import Mixed
from extbnsl.scores.gaussian import LEAST_SHARE
from extbnsl.scores.mdl import half_log
from extbnsl.scores.records import ByRecords
from extbnsl.scores.score import PenalisedScore
from extbnsl.scores.units import standard_numbers


class DegenerateBIC(PenalisedScore):
    """The score of columns of both kinds as Gaussian ones; see the module."""


DG_BIC = DegenerateBIC("dg-bic", "degenerate Gaussian BIC", "BIC", half_log)


@dataclass(frozen=True, eq=False)
class Blocks:
    """The columns of each variable, with mean 0 and variance 1.

    records: how many rows there are.
    total: N, the sum of their weights.
    starts (n + 1,) int64: those of variable v are from starts[v] on and before starts[v + 1].
    coordinates (M, d) float64: each in an orthonormal basis of d dimensions, at most N and one for each that has an
    error, of length 1.
    log_deviation (M,): ln of the standard deviation of each, in the units of the data.
    """

    records: int
    total: float
    starts: NDArray[np.int64]
    coordinates: NDArray[np.float64]
    log_deviation: NDArray[np.float64]

    @functools.cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many columns each variable has, (n,)."""
        return np.diff(self.starts)

    def columns(self, variables: Sequence[int]) -> list[int]:
        """Those of some variables, in their order."""
        return [c for v in variables for c in range(int(self.starts[v]), int(self.starts[v + 1]))]

    def parameters(self, child: int, parents: Sequence[int]) -> int:
        """How many free parameters a family has."""
        own = int(self.sizes[child])
        return own * (own + 1) // 2 + own * int(self.sizes[list(parents)].sum()) + own

    def own(self, child: int) -> float:
        """What a child costs but for penalties, in nats, of which all is left, if its columns do not tell of each
        other."""
        logs = self.log_deviation[int(self.starts[child]) : int(self.starts[child + 1])]
        return self.total * (len(logs) * (math.log(2.0 * math.pi) + 1.0) / 2.0 + math.fsum(logs.tolist()))

    def misfit(self, child: int, parents: Sequence[int]) -> float:
        """Minus the largest log-likelihood of the child's columns, in nats; infinity if the family is not allowed.
        O(d m^2) for m columns of the family."""
        chosen, own = self.columns((*sorted(parents), child)), int(self.sizes[child])
        if len(chosen) >= self.records:
            return math.inf
        triangle = np.asarray(np.linalg.qr(self.coordinates[chosen].T, mode="r"))
        if not _is_regular(triangle):
            return math.inf
        left = np.abs(np.diag(triangle)[len(chosen) - own :])
        return self.own(child) + self.total * math.fsum(np.log(left).tolist())


def _is_regular(triangle: NDArray[np.float64]) -> bool:
    """Whether the others leave each of the columns, of length 1 and in these coordinates (m, m), LEAST_SHARE."""
    m = len(triangle)
    if (np.diag(triangle) ** 2 < LEAST_SHARE).any():
        return False
    return m < 2 or bool((1.0 / (np.linalg.solve(triangle, np.eye(m)) ** 2).sum(axis=1) >= LEAST_SHARE).all())


@functools.lru_cache(maxsize=4)
def blocks_of(data: Mixed) -> ByRecords[Blocks]:
    """The columns of the records of families. InputError as `check_varying`, where all families are over all
    records."""
    return ByRecords(data, _blocks)


def _blocks(data: Mixed, weight: float) -> Blocks:
    """The columns of data, each record counted so often; O(N M^2) for M of them."""
    standard, deviations, of_numbers = standard_numbers(data)
    columns, logs, sizes, errors = list[NDArray[np.float64]](), list[float](), list[int](), list[float]()
    for v, has_states in enumerate(data.of_states.tolist()):
        if not has_states:
            columns.append(standard[v])
            logs.append(float(deviations[v]))
            sizes.append(1)
            errors.append(float(of_numbers[v]))
            continue
        counts = np.bincount(data.codes[:, v])
        others = np.flatnonzero(counts)[1:].tolist()
        for state in others:
            share = float(counts[state]) / data.records
            deviation = math.sqrt(share * (1.0 - share))
            columns.append(((data.codes[:, v] == state) - share) / deviation)
            logs.append(math.log(deviation))
        sizes.append(len(others))
        errors += [0.0] * len(others)
    whole = np.array(columns).reshape(len(columns), data.records).T / math.sqrt(data.records)
    if any(errors):
        whole = np.vstack([whole, np.diag(errors)])
    coordinates = np.ascontiguousarray(np.asarray(np.linalg.qr(whole, mode="r")).T)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    return Blocks(data.records, weight * data.records, starts, coordinates, np.array(logs))
