"""Conditional Gaussian BIC: columns of states and of numbers, as one network (Lauritzen and Wermuth 1989).

A variable of states has parents of states alone, and costs what MDL says. A variable X of numbers has parents D of
states and C of numbers: in each of the configurations of D, a linear regression on C with coefficients, an intercept
and a variance of its own:

cost(X | D, C) = sum over j of n_j / 2 (ln(2 pi RSS_j / n_j) + 1) + (ln N / 2) q (|C| + 2)     (nats)

j: the configurations that occur, in n_j records each; RSS_j: the residual sum of squares of the regression of X on C
with an intercept over these; q: the product of the declared arities of D. Without variables of states it is Gaussian
BIC, without variables of numbers MDL. It is minus "bic-cg" of bnlearn, which divides RSS_j by the degrees of freedom.
Where variables were set from outside, or values are missing, the records are those of the family: see records.py. The
price of a parameter is ln N / 2 for the number N of all records.

A family is allowed if in each configuration that occurs the others of C + X leave each of them a mean square of at
least LEAST_SHARE of its variance over all these records. Otherwise it is singular: a regression on collinear parents,
or one that fits exactly; so it is where n_j <= |C| + 1. Allowed is closed downwards: with fewer numbers no residual sum
falls. With fewer parents of states, configurations are merged: a residual sum over the union is no less than the sum of
those over the parts, each with coefficients of its own, and so the mean square no less than the least of theirs. So
subsets of an allowed family are allowed, and supersets of a singular one are singular.

Where columns have measurement errors, their squares come to the variances in each configuration, as in gaussian.py:
what C leaves of X is the least of RSS_j(b) / n_j + e_X^2 + the sum of (b_p e_p)^2. Of a union it is no less than the
mean of those of the parts. That n_j <= |C| + 1 is not allowed stays.

The misfit never rises when a parent is added: each configuration is divided, or gets a coefficient, and what fitted
before still does. The price never falls.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from extbnsl.data import Mixed
from extbnsl.scores.cells import cells_of, numbered
from extbnsl.scores.gaussian import LEAST_SHARE, OWN_PARAMETERS
from extbnsl.scores.mdl import half_log
from extbnsl.scores.records import ByRecords
from extbnsl.scores.score import PenalisedScore
from extbnsl.scores.units import standard_numbers

if TYPE_CHECKING:
    from extbnsl.core.knowledge import Knowledge
    from extbnsl.data import Data


class ConditionalBIC(PenalisedScore):
    """The score of columns of both kinds; see the module."""

    def implied(self, knowledge: "Knowledge", data: "Data") -> "Knowledge":
        """That no arc leads from numbers to states; nothing if one must, which whoever scores it refuses."""
        assert isinstance(data, Mixed), "the score is of these"
        states = [name for name, own in zip(data.names, data.states, strict=True) if own]
        numbers = [name for name, own in zip(data.names, data.states, strict=True) if not own]
        ruled_out, wrong = knowledge.ruling_out(), [(p, x) for p in numbers for x in states]
        missing = [arc for arc in wrong if ruled_out(*arc) is None]
        if not missing or not set(wrong).isdisjoint(knowledge.required):
            return knowledge
        if not knowledge.tiers:
            return replace(knowledge, tiers=(tuple(states), tuple(numbers)))
        return replace(knowledge, forbidden=(*knowledge.forbidden, *missing))


CG_BIC = ConditionalBIC("cg-bic", "conditional Gaussian BIC", "BIC", half_log)


@dataclass(frozen=True, eq=False)
class Scaled:
    """Records of data of both kinds, with numbers that have mean 0 and variance 1.

    columns (n, N) float64: of each variable of numbers, 0 of the others. log_deviation (n,): ln of the standard
    deviation of each in the units of the data. errors (n,): of measurement; their squares are a part of the variances.
    weight: how often a record counts.
    """

    data: Mixed
    columns: NDArray[np.float64]
    log_deviation: NDArray[np.float64]
    errors: NDArray[np.float64]
    weight: float = 1.0

    @functools.cached_property
    def of_states(self) -> NDArray[np.bool_]:
        """Which variables have states, (n,)."""
        return self.data.of_states

    def split(self, parents: Sequence[int]) -> tuple[list[int], list[int]]:
        """Those of the parents that have states, and those that have numbers."""
        return [p for p in parents if self.of_states[p]], [p for p in parents if not self.of_states[p]]

    def parameters(self, child: int, parents: Sequence[int]) -> float:
        """How many free parameters a family has; infinite if a float does not hold them."""
        discrete, numbers = self.split(parents)
        configurations = math.prod(self.data.arities[discrete].tolist())
        own = len(numbers) + OWN_PARAMETERS if not self.of_states[child] else int(self.data.arities[child]) - 1
        return float(own * configurations) if configurations < 1e300 else math.inf

    def misfit(self, child: int, parents: Sequence[int]) -> float:
        """Minus the largest log-likelihood of the child's column, in nats, weighted; infinity if the family is not
        allowed. O(N k^2) for k parents of numbers."""
        discrete, numbers = self.split(parents)
        if self.of_states[child]:
            return math.inf if numbers else self.weight * cells_of(self.data, child, discrete).misfit
        shares = self.shares(child, discrete, numbers)
        return math.inf if shares is None else self.weight * self.of_shares(child, *shares)

    def of_shares(self, child: int, counts: NDArray[np.int64], shares: NDArray[np.float64]) -> float:
        """The misfit of a child of which so many records of each configuration, (q,), leave such shares, (q,), each
        counted once."""
        return self.own(child) + math.fsum((counts / 2 * np.log(shares)).tolist())

    def own(self, child: int) -> float:
        """What a child of numbers costs but for penalties, in nats, of which all is left, each record counted once."""
        return self.data.records * ((math.log(2 * math.pi) + 1) / 2 + float(self.log_deviation[child]))

    def left_in(self, rows: NDArray[np.int64], child: int, numbers: Sequence[int]) -> float | None:
        """The mean square that parents of numbers leave of a child in some records; None if they are singular there."""
        chosen = [*numbers, child]
        return _left(self.columns[chosen][:, rows], self.errors[chosen])

    def shares(
        self, child: int, discrete: Sequence[int], numbers: Sequence[int]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        """Of each configuration of the parents of states that occurs, (q,): its records, and the mean square that the
        parents of numbers leave of a child of variance 1; None if they and the child are singular in one."""
        which, numbers_used = numbered(self.data, discrete)
        counts = np.bincount(which, minlength=numbers_used)
        order = np.argsort(which, kind="stable")
        ends = np.cumsum(counts[counts > 0])
        found = np.ones(ends.size)
        for j, rows in enumerate(np.split(order, ends[:-1])):
            share = self.left_in(rows, child, numbers)
            if share is None:
                return None
            found[j] = share
        return counts[counts > 0], found


def _left(columns: NDArray[np.float64], errors: NDArray[np.float64]) -> float | None:
    """The mean square that the others leave of the last column, in records (m, N), whose squares (m,) of errors come to
    those of columns; None if the others leave one of the columns less than LEAST_SHARE."""
    m, records = columns.shape
    if records <= m:
        return None
    own = (columns - columns.mean(axis=1, keepdims=True)).T / math.sqrt(records)
    own -= own.mean(axis=0)
    triangle = np.asarray(np.linalg.qr(np.vstack([own, np.diag(errors)]) if errors.any() else own, mode="r"))
    if (np.diag(triangle) ** 2 < LEAST_SHARE).any():
        return None
    if m > 1 and (1.0 / (np.linalg.solve(triangle, np.eye(m)) ** 2).sum(axis=1) < LEAST_SHARE).any():
        return None
    return float(triangle[-1, -1] ** 2)


@functools.lru_cache(maxsize=4)
def scaled(data: Mixed) -> ByRecords[Scaled]:
    """The records of families with numbers of mean 0 and variance 1. InputError as `check_varying`, where all families
    are over all records."""
    return ByRecords(data, _scaled)


def _scaled(data: Mixed, weight: float) -> Scaled:
    """O(N n)."""
    return Scaled(data, *standard_numbers(data), weight)
