"""What a network costs, and every network at least, by plain code that shares nothing with the kernels that search."""

import functools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.data_options import MIXED, NUMBERS, STATES
from extbnsl.core.errors import InputError, VerificationError
from extbnsl.core.knowledge import Knowledge
from extbnsl.data import Data, Dataset, Mixed, Numbers
from extbnsl.kernels.varsets import pack
from extbnsl.machine.workers import Workers
from extbnsl.networks.network import Network
from extbnsl.scores.local import LocalScores

MOST_PARAMETERS = 10**300  # of a family: any finite cost is smaller
MOST_CELLS = 1 << 27  # records times variables, for a lower bound
MOST_PRODUCTS = 1 << 36  # of numbers, in all its regressions
MOST_STATES = 10**6  # of a family by qNML: in one of more, hardly any two records agree
# What a free parameter costs in nats, by the name of the score, given the number of records: written here once more, as
# all that this room computes.
PARAMETER_COSTS: Mapping[str, Callable[[float], float]] = {
    "mdl": lambda records: math.log(records) / 2,
    "aic": lambda records: 1.0,
    "gaussian-bic": lambda records: math.log(records) / 2,
    "cg-bic": lambda records: math.log(records) / 2,
    "dg-bic": lambda records: math.log(records) / 2,
}
SINGULAR = 1e-10 * (1.0 - 1e-6)  # see `least_shares`; the solver's limit, less what rounding may do to either
NOTHING = 1e-150  # a singular value of columns of norm 1
WITH_ESS = ("bdeu", "bds")
WITH_REGRETS = ("fnml", "qnml")
# By kind of data the scores that it is scored by here.
OF_KINDS: Mapping[str, tuple[str, ...]] = {
    STATES: ("mdl", "aic", *WITH_ESS, "k2", "fnml", "qnml"),
    NUMBERS: ("gaussian-bic",),
    MIXED: ("cg-bic", "dg-bic"),
}
KNOWN = tuple(score for own in OF_KINDS.values() for score in own)


class Scored(Protocol):
    """What a claim says of what families cost."""

    @property
    def score(self) -> str: ...
    @property
    def ess(self) -> float | None: ...
    @property
    def penalty(self) -> float | None: ...
    @property
    def gamma(self) -> float | None: ...
    @property
    def parent_cost(self) -> float: ...
    @property
    def knowledge(self) -> Knowledge: ...


def cost_of_any(claim: Scored, variables: int) -> float:
    """What each arc between so many variables costs, in nats."""
    return claim.parent_cost + 2.0 * (claim.gamma or 0.0) * math.log(variables)


def cost_of_arcs(claim: Scored, names: Sequence[str], child: int, parents: Sequence[int]) -> float:
    """What the arcs of a family cost, in nats. O(arcs that the claim names)."""
    each, own = cost_of_any(claim, len(names)), {names[p] for p in parents}
    told = [nats for parent, x, nats in claim.knowledge.costs if x == names[child] and parent in own]
    return math.fsum([each * len(parents), *told])


def score_network(dataset: Data, network: Network, claim: Scored) -> float:
    """The cost of a network in nats by what a claim says, of a score that is one of KNOWN; for MDL the sum of
    N H(X | parents) + ln N / 2 (r_X - 1) prod r_parent.

    Arities are the numbers of states of the data set. Raises InputError if the names are not those of the data.
    O(N log N) per child.
    """
    if network.names != dataset.names:
        raise InputError(f"The variables of the network are not those of {dataset.source}.")
    return math.fsum(family_costs(dataset, network, claim))


def family_costs(problem: Data | LocalScores, network: Network, claim: Scored) -> list[float]:
    """What the family of each child costs, in nats; raises VerificationError for one that the scores do not list."""
    return [family_cost(problem, child, parents, claim) for child, parents in enumerate(network.parents)]


def family_cost(problem: Data | LocalScores, child: int, parents: tuple[int, ...], claim: Scored) -> float:
    """What the family of a child costs, in nats, its arcs included, infinity if that is more than a float can hold;
    raises VerificationError if the scores do not list it, or it is singular (see `least_shares`)."""
    return scored_cost(problem, child, parents, claim) + cost_of_arcs(claim, problem.names, child, parents)


def parameter_cost(claim: Scored, records: float) -> float:
    """What a free parameter costs, in nats."""
    return PARAMETER_COSTS[claim.score](records) if claim.penalty is None else claim.penalty


def scored_cost(
    problem: Data | LocalScores, child: int, parents: tuple[int, ...], claim: Scored, priced: float | None = None
) -> float:
    """The same without what arcs cost besides: nothing if the child is of the past. priced: by how many records a
    parameter is priced, if not by those of the problem."""
    if child >= first_of_past(problem):
        return 0.0
    if isinstance(problem, LocalScores):
        return _listed(problem, child, parents)
    records, times = priced or problem.total, problem.each
    if problem.targets is not None:
        problem = _without(problem, [k for k, own in enumerate(problem.targets.sets) if child in own])
    if problem.gaps:
        whole = _complete(problem, [child, *parents])
        times, problem = times * problem.records / whole.records, whole
    return (_BY_SCORE.get(claim.score) or _COSTS[problem.kind])(problem, child, parents, claim, (records, times))


def _counted(
    problem: Dataset | Mixed, child: int, parents: tuple[int, ...], claim: Scored, by: tuple[float, float]
) -> float:
    """The cost of a family of states; by: how many records parameters are priced by, and how often the likelihood
    counts; raises VerificationError for parts of records by a score with regrets, which are of whole ones."""
    score, ess, (records, times) = claim.score, claim.ess, by
    arity, states = len(problem.states[child]), math.prod(len(problem.states[p]) for p in parents)
    if problem.weights is not None and score in WITH_REGRETS:
        raise VerificationError(f"The weights of {problem.source} are not whole, and {score} counts records.")
    if states * arity > MOST_PARAMETERS:
        return math.inf
    configurations = _numbered(problem.codes[:, parents])
    cells = _numbered(np.column_stack([configurations, problem.codes[:, child]]))
    in_cell = np.bincount(cells)
    in_configuration = np.zeros(len(in_cell), dtype=np.int64)
    in_configuration[cells] = np.bincount(configurations)[configurations]
    occurs = in_cell > 0
    in_cell, in_configuration = in_cell[occurs], in_configuration[occurs]
    alone = np.bincount(configurations)
    alone = alone[alone > 0]
    if score in WITH_ESS or score == "k2":
        prior = arity if score == "k2" else (ess or 1.0) / (states if score == "bdeu" else len(alone))
        return _evidence(alone, prior, times) - _evidence(in_cell, prior / arity, times)
    misfit = -math.fsum((in_cell * np.log(in_cell / in_configuration)).tolist())
    if score == "fnml":
        numbers, often = np.unique(alone, return_counts=True)
        regrets = (many * log_regret(m, arity) for m, many in zip(numbers.tolist(), often.tolist(), strict=True))
        return misfit + math.fsum(regrets)
    if score == "qnml":
        return misfit + log_regret(problem.records, states * arity) - log_regret(problem.records, states)
    return times * misfit + parameter_cost(claim, records) * (arity - 1) * states


def records_of_children(data: Data) -> list[tuple[list[int], Data]]:
    """The children that are costed over the same records, and the data of these: without those in which they were set
    from outside, if any were."""
    if data.targets is None:
        return [(list(range(data.variables)), data)]
    classes = dict[frozenset[int], list[int]]()
    for child in range(data.variables):
        without = frozenset(k for k, own in enumerate(data.targets.sets) if child in own)
        classes.setdefault(without, []).append(child)
    return [(children, _without(data, without)) for without, children in classes.items()]


def _without(data: Data, without: Collection[int]) -> Data:
    """The data without records of these sets of targets."""
    assert data.targets is not None, "there are some"
    left = np.array([number not in without for number in range(len(data.targets.sets))])[data.targets.of]
    return data.taken(np.flatnonzero(left))


def _complete(data: Data, family: Sequence[int]) -> Data:
    """The records that lack no value of a family; raises VerificationError if there is none."""
    has = np.logical_and.reduce([data.known(v) for v in family])
    if not has.any():
        names = ", ".join(repr(data.names[v]) for v in family)
        raise VerificationError(f"No record has a value of each of {names}: nothing tells what that family costs.")
    return data.taken(np.flatnonzero(has))


def first_of_past(problem: Data | LocalScores) -> int:
    """The first of the variables that a time series has from earlier times, which are the last ones: as many for each
    lag as there are of the present. The number of variables if there are none."""
    n, slices = len(problem.names), None if isinstance(problem, LocalScores) else problem.slices
    return n if slices is None else n // (slices.lags + 1)


def least_shares(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of its squares that all others leave each of these columns (N, m), float64 (m,): O(N m^2).

    A family of numbers is singular if that is less than SINGULAR of one of its columns, the child's among them. They
    are one over the diagonal of the inverse of the correlations, which is a sum over singular values.
    """
    m, norms = columns.shape[1], np.sqrt((columns**2).sum(axis=0))
    if len(columns) < m:
        return np.zeros(m)
    _, values, turned = np.linalg.svd(columns / norms, full_matrices=False)
    return np.asarray(1.0 / ((turned / np.maximum(values, NOTHING)[:, None]) ** 2).sum(axis=0))


def _regressed(numbers: Numbers, child: int, parents: tuple[int, ...], claim: Scored, by: tuple[float, float]) -> float:
    """The Gaussian BIC of one family; by: as of `_counted`."""
    if numbers.records < len(parents) + 2:
        raise VerificationError(f"The family of {numbers.names[child]!r} has too few records: no Gaussian fits it.")
    columns, units = _in_units(numbers, (child, *parents))
    if not (units > 0.0).all():
        return math.inf
    if parents and least_shares(columns).min() < SINGULAR:
        others = ", ".join(repr(numbers.names[p]) for p in parents)
        raise VerificationError(
            f"The family of {numbers.names[child]!r} with {others} is singular: no Gaussian fits it."
        )
    misfit = _of_squares(_left(columns), units[0], numbers.records)
    return by[1] * misfit + parameter_cost(claim, by[0]) * (len(parents) + 2)


def _conditional(data: Mixed, child: int, parents: tuple[int, ...], claim: Scored, by: tuple[float, float]) -> float:
    """The conditional Gaussian BIC of one family: regressions over the records of each configuration."""
    discrete = tuple(p for p in parents if data.states[p])
    numbers = tuple(p for p in parents if not data.states[p])
    if data.states[child]:
        if numbers:
            raise VerificationError(
                f"The family of {data.names[child]!r}, which has states, has the parent {data.names[numbers[0]]!r}, "
                "which has numbers."
            )
        return _counted(data, child, discrete, claim, by)
    configurations = math.prod(len(data.states[p]) for p in discrete)
    whole = data.values[:, (child, *numbers)] - data.values[:1, (child, *numbers)]
    whole = whole - whole.mean(axis=0)
    errors = np.array([data.resolution[v] for v in (child, *numbers)] if data.resolution else [0.0] * whole.shape[1])
    units = np.sqrt((whole**2).mean(axis=0) + errors**2)
    units = np.where(units > 0.0, units, 1.0)  # nothing is left of what never varies
    which, terms = _numbered(data.codes[:, discrete]), []
    for number in np.unique(which).tolist():
        own = whole[which == number] / units
        few = len(own) <= own.shape[1]
        squares = _squares_left(with_errors(own - own.mean(axis=0), (errors / units).tolist()))
        if few or squares.min() < SINGULAR * len(own):
            others = ", ".join(repr(data.names[p]) for p in parents)
            raise VerificationError(
                f"The family of {data.names[child]!r} with {others} is singular: no Gaussian fits it where its parents "
                "of states have some states."
            )
        log_variance = math.log(float(squares[0]) / len(own)) + 2.0 * math.log(float(units[0]))
        terms.append(len(own) * (math.log(2.0 * math.pi) + log_variance + 1.0) / 2.0)
    return by[1] * math.fsum(terms) + parameter_cost(claim, by[0]) * configurations * (len(numbers) + 2)


def indicators(data: Mixed, variable: int) -> NDArray[np.float64]:
    """The columns of a variable, (N, x): its numbers, or which records have each state that occurs but the first."""
    if not data.states[variable]:
        return data.values[:, [variable]]
    codes = data.codes[:, variable]
    return (codes[:, None] == np.unique(codes)[None, 1:]).astype(np.float64)


def errors_of_columns(data: Mixed, variables: Sequence[int]) -> NDArray[np.float64]:
    """The measurement errors of the columns of some variables, 0 of indicators."""
    errors = data.resolution or [0.0] * data.variables
    return np.concatenate([np.zeros(0), *(np.full(indicators(data, v).shape[1], errors[v]) for v in variables)])


def _degenerate(data: Mixed, child: int, parents: tuple[int, ...], claim: Scored, by: tuple[float, float]) -> float:
    """The degenerate Gaussian BIC of one family: what the columns of the parents leave of those of the child, one after
    the other."""
    own, others = indicators(data, child), [indicators(data, p) for p in parents]
    columns = np.hstack([np.empty((data.records, 0)), *others, own])
    before = columns.shape[1] - own.shape[1]
    columns = columns - columns[:1]
    units = np.abs(columns).max(axis=0)
    if not (units > 0.0).all():
        return math.inf
    columns = columns / units
    columns = with_errors(columns - columns.mean(axis=0), (errors_of_columns(data, (*parents, child)) / units).tolist())
    if columns.shape[1] and (data.records <= columns.shape[1] or least_shares(columns).min() < SINGULAR):
        told = " with " + ", ".join(repr(data.names[p]) for p in parents) if parents else ""
        raise VerificationError(f"The family of {data.names[child]!r}{told} is singular: no Gaussian fits it.")
    misfits = [
        _of_squares(_left(columns[:, [at, *range(at)]]), float(units[at]), data.records)
        for at in range(before, columns.shape[1])
    ]
    x = own.shape[1]
    return by[1] * math.fsum(misfits) + parameter_cost(claim, by[0]) * (x * (x + 1) // 2 + x * before + x)


def _squares_left(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """The squares that all others leave of each of these columns (N, m), (m,): one over the diagonal of the inverse of
    their products, by singular values."""
    m = columns.shape[1]
    if len(columns) <= m:
        return np.zeros(m)
    norms = np.sqrt((columns**2).sum(axis=0))
    if not norms.all():
        return np.zeros(m)
    return np.asarray(least_shares(columns) * norms**2)


def _in_units(numbers: Numbers, chosen: tuple[int, ...]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Columns less their means in units that make their largest numbers 1, and these units."""
    columns = numbers.values[:, chosen] - numbers.values[0, chosen]
    errors = [numbers.resolution[v] for v in chosen] if numbers.resolution else []
    columns = with_errors(columns - columns.mean(axis=0), errors)
    units = np.abs(columns).max(axis=0)
    return columns / np.where(units > 0.0, units, 1.0), units


def with_errors(columns: NDArray[np.float64], errors: Sequence[float]) -> NDArray[np.float64]:
    """Columns (N, m) of mean 0, and, if they have measurement errors, a row for each, so that its sum of squares is N
    times the square of its error more."""
    rows = np.zeros((len(errors), columns.shape[1]))
    for at, error in enumerate(errors):
        rows[at, at] = error * math.sqrt(len(columns))
    return np.concatenate([columns, rows])


def _left(columns: NDArray[np.float64]) -> float:
    """The squares that the others leave of the first column, by least squares."""
    residual = columns[:, 0]
    if columns.shape[1] > 1:
        residual = residual - columns[:, 1:] @ np.linalg.lstsq(columns[:, 1:], columns[:, 0], rcond=None)[0]
    return math.fsum((residual**2).tolist())


def _of_squares(squares: float, unit: float, records: int) -> float:
    """The misfit of a family that leaves so many squares in such units, in nats."""
    log_variance = math.log(squares / records) + 2.0 * math.log(unit)
    return records * (math.log(2.0 * math.pi) + log_variance + 1.0) / 2.0


def _evidence(counts: NDArray[np.int64], prior: float, times: float) -> float:
    """The sum of ln G(prior + m) - ln G(prior) over the counts m, each so many times; as sums of logarithms, if that is
    once."""
    if times != 1.0:
        return math.fsum(math.lgamma(prior + m * times) - math.lgamma(prior) for m in counts.tolist())
    most = int(counts.max())
    steps = np.concatenate(([0.0], np.cumsum(np.log(prior + np.arange(most)))))
    return math.fsum(steps[counts].tolist())


@functools.lru_cache(maxsize=1 << 16)
def log_regret(records: int, states: int) -> float:
    """ln of the normaliser of the multinomial maximum likelihood of so many records and states. O(records + states);
    infinity for too many states."""
    return math.inf if states > MOST_STATES else float(log_regrets_by_states(records, states)[states])


@functools.lru_cache(maxsize=1 << 8)
def log_regrets_by_states(records: int, states: int) -> NDArray[np.float64]:
    """The same for every number of states from 1 on, and a 0, by the sum for two states and the recurrence (Kontkanen
    and Myllymaki 2007)."""
    found = np.zeros(states + 1)
    if records == 0 or states == 1:
        return found
    h = np.arange(1, records)
    ways = np.array([math.lgamma(k + 1) for k in range(records + 1)])
    logs = ways[-1] - ways[1:-1] - ways[-2:0:-1] + h * np.log(h / records) + (records - h) * np.log1p(-h / records)
    total = float(np.logaddexp.reduce(np.concatenate(([0.0, 0.0], logs))))
    ratio = math.exp(total)  # of the normalisers of k + 1 and of k states
    found[2] = total
    for k in range(1, states - 1):
        ratio = 1.0 + records / (k * ratio)
        total += math.log(ratio)
        found[k + 2] = total
    return found


def _numbered(rows: NDArray[Any]) -> NDArray[np.int64]:
    """For each row of a matrix a number up to that of rows which equal rows share and no others; all the same if there
    are no columns."""
    which, numbers = np.zeros(len(rows), dtype=np.int64), 1
    for column in rows.T:
        states = int(column.max()) + 1
        which = which * states + column
        numbers *= states
        if numbers > len(rows):  # without gaps the next ones stay below N^2 however many columns there are
            which = np.unique(which, return_inverse=True)[1].reshape(-1).astype(np.int64)
            numbers = int(which.max()) + 1
    return which


def _listed(scores: LocalScores, child: int, parents: tuple[int, ...]) -> float:
    """The listed cost of one family; raises VerificationError if it is not listed."""
    varset = pack(parents, len(scores.names))
    found: NDArray[np.intp] = np.flatnonzero((scores.parents[child] == varset).all(axis=1))
    if len(found) == 0:
        members = ", ".join(repr(scores.names[p]) for p in parents) or "no parents"
        raise VerificationError(f"The local scores do not list the family of {scores.names[child]!r} with {members}.")
    return float(scores.costs[child][found[0]])


def least_cost(problem: Data | LocalScores, claim: Scored, workers: Workers) -> float:
    """A lower bound of the cost of every network, in nats, but for the rounding of a sum; -inf where that takes too
    much.

    It is as if each variable were explained by all others for no more than the price of no parents, and had all arcs
    that are cheaper than none. No family costs
    less: more parents never raise the misfit, nor lower the price. By BDeu, BDs and K2 a family costs at least ln r for
    each state of the child that occurs, and no less than its misfit (see `data_families`). Raises Stopped when the
    workers are to stop. O(n N log N) for N records of states, O(N n^3) of numbers.
    """
    each = cost_of_any(claim, len(problem.names))
    saved = math.fsum(max(0.0, -(each + nats)) for _, _, nats in claim.knowledge.costs)
    assert each >= 0.0, "a result with other claims is not read"
    if isinstance(problem, LocalScores):
        return math.fsum(float(costs.min()) for costs in problem.costs) - saved
    n, records = problem.variables, problem.records
    if records * n > MOST_CELLS or isinstance(problem, Mixed):
        return -math.inf
    left = [
        cost
        for children, own in records_of_children(problem)
        for cost in _LEFT[own.kind](own, [v for v in children if v < first_of_past(own)], claim, problem.total, workers)
    ]
    return math.fsum(left) - saved


def _left_of_regressions(
    numbers: Numbers, children: Sequence[int], claim: Scored, priced: float, workers: Workers
) -> Iterator[float]:
    """What all others leave of these columns, or families that are not singular, without the price of parents; minus
    infinity where that takes too much, or values are missing."""
    if numbers.gaps or numbers.records * numbers.variables**3 > MOST_PRODUCTS:
        yield -math.inf
        return
    price = parameter_cost(claim, priced)
    for child in children:
        workers.check()
        others = tuple(v for v in range(numbers.variables) if v != child)
        columns, units = _in_units(numbers, (child, *others))
        if not (units > 0.0).all():
            yield math.inf
            continue
        squares = max(_left(columns), SINGULAR * float((columns[:, 0] ** 2).sum()))
        yield numbers.each * _of_squares(squares, units[0], numbers.records) + 2 * price


def _left_of_counts(
    dataset: Dataset, children: Sequence[int], claim: Scored, priced: float, workers: Workers
) -> Iterator[float]:
    """What all others leave of these variables, and the price of no parents."""
    misfits = [0.0] * dataset.variables
    if not dataset.gaps:
        misfits = list(misfits_given_others(dataset.codes, np.ones(dataset.records, np.int64), workers))
    for child in children:
        arity, misfit = len(dataset.states[child]), misfits[child]
        if claim.score in PARAMETER_COSTS:
            yield dataset.each * misfit + parameter_cost(claim, priced) * (arity - 1)
        elif claim.score in WITH_REGRETS:
            yield misfit + log_regret(dataset.records, arity)
        elif dataset.weights is not None:
            yield dataset.each * misfit
        else:
            yield max(misfit, len(np.unique(dataset.codes[:, child])) * math.log(arity))


def misfits_given_others(codes: NDArray[np.integer], weights: NDArray[np.int64], workers: Workers) -> Iterator[float]:
    """N H(X | all other variables) of each X, in nats, for rows of states (d, n) with so many records each (d,).

    Rows that agree in the variables before X, and in those behind it, have the same two numbers. Raises Stopped.
    O(n d log d), and n d numbers of memory.
    """
    behind = [np.zeros(len(codes), np.int64)]
    for column in codes.T[:0:-1]:
        workers.check()
        behind.append(_numbered(np.column_stack([behind[-1], column])))
    before = np.zeros(len(codes), np.int64)
    for column in codes.T:
        workers.check()
        others = _numbered(np.column_stack([before, behind.pop()]))
        cells = _numbered(np.column_stack([others, column]))
        in_cell, in_others = (np.bincount(own, weights)[own] for own in (cells, others))
        yield -math.fsum((weights * np.log(in_cell / in_others)).tolist())
        before = _numbered(np.column_stack([before, column]))


_Cost = Callable[[Any, int, tuple[int, ...], Scored, tuple[float, float]], float]
_BY_SCORE: Mapping[str, _Cost] = {"dg-bic": _degenerate}  # of one that is not the first of its kind
_COSTS: Mapping[str, _Cost] = {
    STATES: _counted,
    NUMBERS: _regressed,
    MIXED: _conditional,
}
_LEFT: Mapping[str, Callable[[Any, Sequence[int], Scored, float, Workers], Iterator[float]]] = {
    STATES: _left_of_counts,
    NUMBERS: _left_of_regressions,
}
