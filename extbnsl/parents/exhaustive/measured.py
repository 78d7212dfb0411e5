"""The problem of continuous variables: correlations instead of rows, and families costed again when all are found.

The enumeration goes by determinants of submatrices of the correlations, in which rounding grows with how well variables
determine each other; it keeps what is within that rounding. The families that it keeps are costed again from a
triangular factor of the data, where rounding grows with the root of that, and the dominated ones are dropped then.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.core.figures import in_full
from extbnsl.core.sentences import Mention, dropped
from extbnsl.data import Numbers
from extbnsl.data.column import listed
from extbnsl.kernels.varsets import pack
from extbnsl.machine.workers import unhalted
from extbnsl.parents.exhaustive.problem import CountingProblem, Families, Source
from extbnsl.parents.pruning import undominated, with_rounding
from extbnsl.scores.determinants import LEAST, given, moments, unexplained
from extbnsl.scores.gaussian import GAUSSIAN_BIC, OWN_PARAMETERS
from extbnsl.scores.local import in_order

DETERMINED = 1e-10  # of the variance of a column: others that leave less determine it
PART = 1e-4  # of its standard deviation: what a column contributes to one that it determines, at least
ROUNDING = 2.0**-50  # of a pivot, per variable


@dataclass(frozen=True)
class Standardised:
    """Columns with mean 0 and variance 1, by their triangular factor.

    factor (n, n) float64: row v is column v of F, where F^T F is the correlation matrix. log_deviation (n,): ln of the
    standard deviation of each column in the units of the data. unexplained (n,): the share of the variance of each that
    all others leave.
    """

    names: tuple[str, ...]
    records: int
    factor: NDArray[np.float64]
    log_deviation: NDArray[np.float64]
    unexplained: NDArray[np.float64]

    @property
    def least(self) -> NDArray[np.float64]:
        """f of each variable; see scores/gaussian.py."""
        return self.records / 2 * np.log(self.unexplained)

    @property
    def own(self) -> NDArray[np.float64]:
        """What each costs without parents but for its penalty, in nats."""
        return self.records * ((math.log(2 * math.pi) + 1) / 2 + self.log_deviation)

    @property
    def rounding(self) -> float:
        """What rounding may do to a difference of determinants, in nats."""
        return float(self.records * len(self.names) * ROUNDING / self.unexplained.min())

    def slack(self, slack: float) -> float:
        """The slack, in nats, by which an enumeration keeps all that are within this one."""
        return with_rounding(slack, float(np.abs(self.own).max())) + self.rounding

    def least_costs(self) -> list[float]:
        """What a family of each costs at least, in nats: what all others leave, without their price."""
        price = OWN_PARAMETERS * GAUSSIAN_BIC.parameter(self.records)
        least: list[float] = (self.own + self.least + price - self.rounding).tolist()
        return least

    def costs(
        self, child: int, varsets: NDArray[np.uint64], halt: NDArray[np.uint8] | None = None
    ) -> NDArray[np.float64]:
        """What families of a child cost, in nats: (m,) float64. O(n k^2) each, of k parents. halt: see `Workers`."""
        shares = np.ones(len(varsets))
        halt = unhalted() if halt is None else halt
        unexplained(child, np.ascontiguousarray(varsets), self.factor, halt, shares)
        parameters = np.bitwise_count(varsets).sum(axis=1) + OWN_PARAMETERS
        return self.own[child] + self.records / 2 * np.log(shares) + GAUSSIAN_BIC.parameter(self.records) * parameters


def standardised(numbers: Numbers) -> Standardised:
    """The columns, standardised; O(N n^2).

    InputError that names the columns if one never varies, others determine one, or there are not more records than
    columns: there are families then that fit exactly, and a density has no largest value.
    """
    n, records = numbers.variables, numbers.records
    if records <= n:
        fit = "fits" if records == 1 else "fit"
        raise InputError(
            f"{numbers.source}: {in_full(records, 'record')} of {in_full(n, 'column')} {fit} linear regressions "
            "exactly",
            advice=("give more records than columns, or fewer columns", Mention("columns", link=" with ")),
        )
    constant = [name for name, c in zip(numbers.names, numbers.values.T, strict=True) if c.min() == c.max()]
    if constant:
        has = "has" if len(constant) == 1 else "have"
        raise InputError(
            f"{numbers.source}: {listed(constant)} {has} the same number in every record, which no Gaussian fits",
            names=constant,
            advice=("leave out what never varies", dropped(constant, ", with ")),
        )
    centred = numbers.values - numbers.values[:1]
    largest = np.abs(centred).max(axis=0)
    centred /= largest
    centred -= centred.mean(axis=0)
    deviation = np.sqrt((centred**2).mean(axis=0))
    centred /= deviation * math.sqrt(records)
    factor: NDArray[np.float64] = np.asarray(np.linalg.qr(centred, mode="r"))
    for v in np.flatnonzero(np.diag(factor) ** 2 < DETERMINED).tolist():  # the first that those before it determine
        _refuse(v, np.flatnonzero(np.abs(np.linalg.solve(factor[:v, :v], factor[:v, v])) > PART), numbers)
    inverse = np.linalg.solve(factor, np.eye(n))
    shares = 1.0 / (inverse**2).sum(axis=1)
    for v in np.flatnonzero(shares < DETERMINED).tolist():
        _refuse(v, np.flatnonzero(np.abs(inverse @ inverse[v]) * shares[v] > PART), numbers)
    return Standardised(
        numbers.names, records, np.ascontiguousarray(factor.T), np.log(largest) + np.log(deviation), shares
    )


def _refuse(v: int, by: NDArray[np.intp], numbers: Numbers) -> None:
    others = [numbers.names[u] for u in by.tolist() if u != v]
    name = numbers.names[v]
    determine = "determines" if len(others) == 1 else "determine"
    raise InputError(
        f"{numbers.source}: {listed(others)} {determine} '{name}' (less than {DETERMINED:g} of its variance is left), "
        "so that it has no best Gaussian fit",
        names=[*others, name],
        advice=("leave one of them out", dropped([name], ", such as with ")),
    )


@dataclass(frozen=True)
class Measured(Source):
    """Continuous data as a source of families; the order has all variables, as they are."""

    columns: Standardised

    def problem(self, slack: float) -> CountingProblem:
        columns, constraints = self.columns, self.constraints
        price = GAUSSIAN_BIC.parameter(columns.records)
        return CountingProblem(
            table=moments(columns.factor @ columns.factor.T, columns.least, columns.records),
            limits=constraints.limits,
            floors=np.full(self.data.variables, -columns.rounding),  # misfits are above the least already
            parameter=OWN_PARAMETERS * price,
            slack=columns.slack(slack),
            form=None,
            allowed=constraints.allowed,
            required=constraints.required,
            step=price,
        )

    def limit(self, problem: CountingProblem, x: int) -> int:
        """d parents more than those that must be cost d steps more than these alone, and save no more than what these
        leave above the least."""
        must, table = problem.required[:, x], problem.moments
        misfit = table.half * math.log(max(given(table, must).matrix[x, x], LEAST)) - table.least[x]
        more = max(0.0, np.ceil((misfit + problem.slack) / problem.step))  # infinite where the slack is
        return int(min(problem.limits[x], must.sum() + more))

    def with_given(self, problem: CountingProblem, parents: Sequence[int]) -> CountingProblem:
        """What these parents leave of the covariances is what the others are judged by."""
        table = given(problem.moments, np.isin(self.order, parents))
        return replace(problem, table=table, parameter=problem.parameter + len(parents) * problem.step)

    def cost(self, child: int, parents: Sequence[int]) -> float:
        return float(self.columns.costs(child, pack(parents, self.data.variables)[None])[0])

    def at_least(self, child: int, parents: Sequence[int], floor: float) -> float:
        """What a family costs at least that has these parents and perhaps more, given a floor of the problem."""
        price = GAUSSIAN_BIC.parameter(self.columns.records) * (len(parents) + OWN_PARAMETERS)
        return floor + price

    def shifted(self, child: int, least: float) -> float:
        """In the enumeration a child costs what it costs above its least; less what rounding may do."""
        return least + float(self.columns.own[child] + self.columns.least[child]) - self.columns.rounding

    def again(self, child: int, found: Families, slack: float, halt: NDArray[np.uint8]) -> Families:
        """The families costed again, and those that are wanted of them.

        In the enumeration each cost at most its slack more than any of its subsets, and costs have changed by amounts
        that are all within `spread`: few families are left that one must be compared with.
        """
        varsets, before = found
        costs = self.columns.costs(child, varsets, halt)
        spread = float(np.ptp(costs - before))
        varsets, costs = in_order(varsets, costs)
        wanted = with_rounding(slack, float(np.abs(costs).max()))
        kept = undominated(varsets, costs, wanted, self.columns.slack(slack) + spread, halt)
        return varsets[kept], costs[kept]
