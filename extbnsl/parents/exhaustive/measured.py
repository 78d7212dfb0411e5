"""The problem of continuous variables: correlations instead of rows, and families costed again when all are found.

The enumeration goes by determinants of submatrices of the correlations, in which rounding grows with how well variables
determine each other; it keeps what is within that rounding. The families that it keeps are costed again from a
triangular factor of the data, where rounding grows with the root of that, and the dominated ones are dropped then.
Singular families are dropped before: see scores/gaussian.py.
"""

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.core.figures import in_full
from extbnsl.core.sentences import Mention, Sentence, dropped
from extbnsl.data import Numbers
from extbnsl.data.column import listed
from extbnsl.kernels.varsets import pack
from extbnsl.machine.workers import Workers, unhalted
from extbnsl.parents.constraints import Constraints
from extbnsl.parents.exhaustive.problem import CountingProblem, Families, LatticeSource
from extbnsl.parents.pruning import undominated, with_rounding
from extbnsl.scores.determinants import LEAST, Factored, Moments, given, least_left, moments, unexplained
from extbnsl.scores.gaussian import LEAST_SHARE, OWN_PARAMETERS, blurred
from extbnsl.scores.known import parameter_price
from extbnsl.scores.local import in_order

PART = 1e-4  # of its standard deviation: what a column contributes to one that it determines, at least
ROUNDING = 2.0**-50  # of a pivot, per variable
MOST_SETS = 256  # of columns, that are looked through for those that are regular
MOST_PRODUCTS = 1 << 33  # of numbers, that this takes
MOST_TOLD = 3  # sets of columns that determine each other
_FEWER = Mention("max-parents")
LITTLE_LEFT = f"less than {LEAST_SHARE:g} of the variance of one is left"


@dataclass(frozen=True, eq=False)
class Standardised:
    """Columns with mean 0 and variance 1, by their triangular factor.

    records: how many rows; total: N, the sum of their weights. factor (n, r) float64: row v is column v of F, where
    F^T F is the correlation matrix; r: n, or the records if they are fewer. log_deviation (n,): ln of the standard
    deviation of each column in the units of the data. unexplained (n,): the share of the variance of each that all
    others of a regular set leave, at least. largest: no regular set has more members. given: the variables that are
    given, which cost nothing. collinear: sets of columns that determine each other, some of them; none where all
    columns together are regular.
    """

    source: str
    names: tuple[str, ...]
    records: int
    total: float
    factor: NDArray[np.float64]
    log_deviation: NDArray[np.float64]
    unexplained: NDArray[np.float64]
    largest: int
    given: range
    collinear: tuple[tuple[int, ...], ...] = ()

    @property
    def least(self) -> NDArray[np.float64]:
        """f of each variable; see scores/gaussian.py."""
        return self.total / 2 * np.log(self.unexplained)

    @property
    def own(self) -> NDArray[np.float64]:
        """What each costs without parents but for its penalty, in nats."""
        return self.total * ((math.log(2 * math.pi) + 1) / 2 + self.log_deviation)

    @property
    def rounding(self) -> float:
        """What rounding may do to a difference of determinants of regular sets, in nats."""
        return float(self.total * len(self.names) * ROUNDING / self.unexplained.min())

    @functools.cached_property
    def groups(self) -> tuple[tuple[tuple[int, ...], ...], ...] | None:
        """Of each group of given columns that determine each other, regular sets, among them all to which none of the
        group can be added; None where these are too many to look at. No column is in two groups."""
        if not self.collinear:
            return ()
        found = [_regular_sets(self.factor, sorted(group)) for group in _dependent(self.factor, self.given)]
        return None if None in found else tuple(tuple(own for own, _ in sets or ()) for sets in found)

    def slack(self, slack: float) -> float:
        """The slack, in nats, by which an enumeration keeps all that are within this one."""
        return with_rounding(slack, float(np.abs(self.own).max())) + self.rounding

    def least_costs(self, price: float) -> NDArray[np.float64]:
        """What a family of each costs at least, in nats, if a parameter costs the price: what all others leave, without
        what these cost; (n,)."""
        least = self.own + self.least + OWN_PARAMETERS * price - self.rounding
        least[self.given] = 0.0
        return least

    def costs(
        self, child: int, varsets: NDArray[np.uint64], price: float, halt: NDArray[np.uint8] | None = None
    ) -> NDArray[np.float64]:
        """What families of a child cost, in nats, if a parameter costs the price, infinity where they are singular:
        (m,) float64. O(n k^2) each, of k parents. halt: see `Workers`."""
        if child in self.given:
            return np.zeros(len(varsets))
        shares, varsets = np.ones(len(varsets)), np.ascontiguousarray(varsets)
        halt = unhalted() if halt is None else halt
        unexplained(child, varsets, self.factor, halt, shares)
        parameters = np.bitwise_count(varsets).sum(axis=1) + OWN_PARAMETERS
        costs = self.own[child] + self.total / 2 * np.log(shares) + price * parameters
        costs[parameters > self.records] = math.inf
        if self.collinear:
            left = np.ones(len(varsets))
            least_left(child, varsets, self.factor, halt, left)
            costs[left < LEAST_SHARE] = math.inf
        return costs

    def check(self, child: int, must: Sequence[int]) -> None:
        """Raise InputError if a variable must have parents with which it makes a singular family."""
        if must and math.isinf(self.costs(child, pack(must, len(self.names))[None], 0.0)[0]):
            name, parents = self.names[child], [self.names[p] for p in must]
            why = (
                f"together they determine each other ({LITTLE_LEFT})" if self.collinear else "there are too few records"
            )
            raise InputError(
                f"{self.source}: '{name}' must have {listed(parents)} as {'parents' if must[1:] else 'a parent'}, "
                f"and {why}, so that no Gaussian fits the family",
                names=[name, *parents],
                advice=("leave one of these arcs out of ", Mention("required"), " and the knowledge"),
            )

    def warnings(self) -> tuple[Sentence, ...]:
        """Which families are not allowed, for the user."""
        n, told = len(self.names), list[Sentence]()
        if self.records <= n:
            what = f"{self.records:,} records of {n:,} columns fit regressions on {self.records - 1:,} others exactly"
            most = in_full(self.largest - 1, "parent")
            told.append(Sentence(f"{what}: no variable has more than {most}; allow fewer with ", _FEWER, "."))
        for members in self.collinear[:MOST_TOLD]:
            if len(members) < self.records:  # else it is no wonder
                names = [self.names[v] for v in members]
                no = "neither is a parent of the other" if len(names) == 2 else "no family has all of them"
                what = f"Columns {listed(names)} determine each other ({LITTLE_LEFT}): {no}; leave one out"
                told.append(Sentence(what, dropped(names[-1:]), "."))
        return tuple(told)


Setting = tuple[int, ...]  # see `Targets`
_KNOWN: WeakKeyDictionary[Numbers, dict[Setting, Standardised]] = WeakKeyDictionary()  # they are asked for often


def standardised(numbers: Numbers, child: int = 0) -> Standardised:
    """The columns in the records that a child counts, standardised; O(N n^2), and as `_least_shares` where they are not
    regular together.

    InputError that names the columns if one never varies: no Gaussian fits it.
    """
    known, targets = _KNOWN.setdefault(numbers, {}), numbers.targets
    setting = () if targets is None else targets.setting(child)
    if setting not in known:
        values, which = numbers.values, ""
        if targets is not None and setting:
            values, which = values[targets.left(child)], f" in which '{numbers.names[child]}' was not set"
        known[setting] = _standardised(numbers, values, which)
    return known[setting]


def all_standardised(numbers: Numbers) -> tuple[Standardised, ...]:
    """Of each child in its records, (n,); equal ones are the same. As `standardised`."""
    return tuple(standardised(numbers, child) for child in range(numbers.variables))


def check_regular(columns: Sequence[Standardised], constraints: Constraints) -> None:
    """Raise InputError if a variable must have parents with which it makes a singular family; columns: of each
    child."""
    for child, own in enumerate(columns):
        own.check(child, constraints.parents_required(child))


def _standardised(numbers: Numbers, values: NDArray[np.float64], which: str) -> Standardised:
    """Of records of these values; which: they are, for sentences."""
    records = len(values)
    if records == 1:
        raise InputError(f"{numbers.source} has 1 record{which}, which tells of no variance: give two or more.")
    constant = [name for name, c in zip(numbers.names, values.T, strict=True) if c.min() == c.max()]
    if constant:
        has = "has" if len(constant) == 1 else "have"
        raise InputError(
            f"{numbers.source}: {listed(constant)} {has} the same number in every record{which}, "
            "which no Gaussian fits",
            names=constant,
            advice=("leave out what never varies", dropped(constant, ", with ")),
        )
    centred = values - values[:1]
    largest = np.abs(centred).max(axis=0)
    centred /= largest
    centred -= centred.mean(axis=0)
    if numbers.resolution:
        centred = blurred(centred, numbers.resolution / largest)
    deviation = np.sqrt((centred**2).sum(axis=0) / records)
    centred /= deviation * math.sqrt(records)
    triangle, n = _triangle(centred), numbers.variables
    factor = np.ascontiguousarray(triangle.T)
    shares, most = _shares_or_collinear(triangle, list(range(n))), max(1, min(n, records - 1))
    collinear = tuple[tuple[int, ...], ...]()
    if isinstance(shares, list):
        collinear, shares = tuple(_collinear(factor)), _least_shares(factor)
        # with d members, a regular set has d eigenvalues of LEAST_SHARE / d or more, and all columns have no less
        most = int((np.linalg.svd(triangle, compute_uv=False) ** 2 >= LEAST_SHARE / (2 * n)).sum())
        most = max(1, min(most, records - 1))
    return Standardised(
        source=numbers.source,
        names=numbers.names,
        records=records,
        total=records * numbers.each,
        factor=factor,
        log_deviation=np.log(largest) + np.log(deviation),
        unexplained=shares,
        largest=most,
        given=numbers.given,
        collinear=collinear,
    )


def _triangle(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """The triangle (r, m) that columns (N, m) make; r is the less of the two."""
    return np.asarray(np.linalg.qr(columns, mode="r"))


def _shares_or_collinear(triangle: NDArray[np.float64], members: list[int]) -> NDArray[np.float64] | list[int]:
    """Of columns that make this triangle (r, m), or what is turned into it, the shares that all others leave, (m,); or,
    if they are not regular together, members that are not, as few as can be told. O(r m^2)."""
    r, m = triangle.shape
    squares = np.diag(triangle) ** 2
    short = np.flatnonzero(squares < LEAST_SHARE).tolist() + [r] * (m > r)
    if short:  # the first that those before it determine
        v = short[0]
        parts = np.append(np.linalg.solve(triangle[:v, :v], triangle[:v, v]), 1.0)
    else:
        inverse = np.linalg.solve(triangle, np.eye(m))
        shares: NDArray[np.float64] = 1.0 / (inverse**2).sum(axis=1)
        v = int(shares.argmin())
        if shares[v] >= LEAST_SHARE:
            return shares
        parts = inverse @ inverse[v] * shares[v]
    some = np.flatnonzero(np.abs(parts) > PART)
    if some.size < parts.size:  # a few may do, or many more that contribute little
        less = _shares_or_collinear(_triangle(triangle[:, some]), [members[v] for v in some.tolist()])
        if isinstance(less, list):
            return less
    return members[: parts.size]


def _least_shares(factor: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of the variance of each column that all others of any regular set leave, at least, (n,): by
    `_regular_sets`, or LEAST_SHARE where these are too many to look at."""
    n = len(factor)
    sets = _regular_sets(factor, range(n))
    if sets is None:
        return np.full(n, LEAST_SHARE)
    least = np.ones(n)
    for own, shares in sets:
        least[list(own)] = np.minimum(least[list(own)], shares)
    return least


RegularSet = tuple[tuple[int, ...], NDArray[np.float64]]  # columns, and what all others of them leave of each


def _regular_sets(factor: NDArray[np.float64], columns: Iterable[int]) -> list[RegularSet] | None:
    """Regular sets of these columns, among them all to which none of the others can be added; None where they are too
    many to look at.

    A regular set lacks a member of each set that is not regular; so it is among those without one of these.
    """
    waiting, sets = [tuple(columns)], list[RegularSet]()
    known, most = set(waiting), min(MOST_SETS, 1 + MOST_PRODUCTS // max(1, len(waiting[0])) ** 3)
    while waiting:
        own = waiting.pop()
        found = _shares_or_collinear(_triangle(factor[list(own)].T), list(own))
        if isinstance(found, list):
            fewer = {tuple(v for v in own if v != gone) for gone in found} - known
            waiting += sorted(fewer)
            known |= fewer
            if len(known) > most:
                return None
        else:
            sets.append((own, found))
    return sets


def _dependent(factor: NDArray[np.float64], columns: Iterable[int]) -> list[set[int]]:
    """Groups of some of these columns, disjoint, so that each column that is determined by others is so by those of its
    group."""
    left, groups = list(columns), list[set[int]]()
    while left and isinstance(found := _shares_or_collinear(_triangle(factor[left].T), left), list):
        own = set(found).union(*(group for group in groups if not group.isdisjoint(found)))
        groups = [*(group for group in groups if group.isdisjoint(found)), own]
        left.remove(found[-1])
    return groups


def _collinear(factor: NDArray[np.float64]) -> list[tuple[int, ...]]:
    """Sets of columns that determine each other, as few in each as can be told: those of the first columns that others
    determine, up to MOST_TOLD."""
    left, sets = list(range(len(factor))), list[tuple[int, ...]]()
    while len(sets) < MOST_TOLD:
        found = _shares_or_collinear(_triangle(factor[left].T), left)
        if not isinstance(found, list):
            break
        sets.append(tuple(found))
        left = [v for v in left if v != found[-1]]
    return sets


@dataclass(frozen=True)
class Measured(LatticeSource):
    """Continuous data as a source of families; the order has all variables, as they are.

    columns (n,): of each child, in the records that it counts. price: of a parameter, in nats.
    """

    data: Numbers
    columns: tuple[Standardised, ...]
    price: float

    @classmethod
    def of(cls, data: Numbers, claim: Claim, constraints: Constraints) -> "Measured":
        """The source of data with the score of a claim."""
        price = parameter_price(claim, data.total)
        return cls(data, claim, constraints, np.arange(data.variables), all_standardised(data), price)

    def check(self) -> None:
        check_regular(self.columns, self.constraints)

    def warnings(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(told for own in dict.fromkeys(self.columns) for told in own.warnings()))

    def without_arcs(self) -> float:
        return math.fsum(abs(float(own.own[child])) for child, own in enumerate(self.columns))

    def least_costs(self, workers: Workers) -> list[float]:
        """See `Source`; they are known."""
        return [float(own.least_costs(self.price)[child]) for child, own in enumerate(self.columns)]

    def problem(self, slack: float) -> CountingProblem:
        constraints = self.constraints
        return CountingProblem(
            table=_moments(self.columns[0]),
            limits=np.minimum(constraints.limits, [own.largest - 1 for own in self.columns]),
            floors=np.array([-own.rounding for own in self.columns]),  # misfits are above the least already
            parameter=OWN_PARAMETERS * self.price,
            slack=max(own.slack(slack) for own in set(self.columns)),
            form=None,
            allowed=constraints.allowed,
            required=constraints.required,
            step=self.price,
            columns=_factored(self.columns[0]),
        )

    def over_records(self, problem: CountingProblem, child: int) -> CountingProblem:
        own = self.columns[child]
        if own is self.columns[0]:
            return problem
        return replace(problem, table=_moments(own), columns=_factored(own))

    @property
    def bounds_alone(self) -> bool:
        return self.data.alike and self.columns[0].groups is not None

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
        columns = self.columns[child]
        return float(columns.costs(child, pack(parents, self.data.variables)[None], self.price)[0])

    def at_least(self, child: int, parents: Sequence[int], floor: float) -> float:
        """What a family costs at least that has these parents and perhaps more, given a floor of the problem."""
        return floor + self.price * (len(parents) + OWN_PARAMETERS)

    def shifted(self, child: int, least: float) -> float:
        """In the enumeration a child costs what it costs above its least; less what rounding may do."""
        own = self.columns[child]
        return least + float(own.own[child] + own.least[child]) - own.rounding

    def again(self, child: int, found: Families, slack: float, halt: NDArray[np.uint8]) -> Families:
        """The families costed again, and those that are wanted of them.

        Singular ones are not; all subsets of others are allowed. In the enumeration each cost at most its slack more
        than any of its subsets, and costs have changed by amounts that are all within `spread`: few families are left
        that one must be compared with.
        """
        varsets, before = found
        columns = self.columns[child]
        costs = columns.costs(child, varsets, self.price, halt)
        allowed = np.isfinite(costs)
        varsets, before, costs = varsets[allowed], before[allowed], costs[allowed]
        spread = float(np.ptp(costs - before))
        varsets, costs = in_order(varsets, costs)
        wanted = with_rounding(slack, float(np.abs(costs).max()))
        kept = undominated(varsets, costs, wanted, columns.slack(slack) + spread, halt)
        return varsets[kept], costs[kept]


def _factored(columns: Standardised) -> Factored:
    return Factored(columns.factor, columns.groups or ())


def _moments(columns: Standardised) -> Moments:
    return moments(columns.factor @ columns.factor.T, columns.least, columns.total)
