"""The parameters of a network of states and numbers: a table for each variable of states, and for each of numbers a
regression in each configuration of its parents of states; and what such a network says of records.

Answers are exact. Given the states of their parents, the variables of numbers are jointly Gaussian (Lauritzen and
Wermuth 1989); so each joint state of such parents that are not observed and matter is looked at in turn, and the answer
is a mixture. Other variables of states are summed out, as of a network of states alone: none has a parent of numbers.
"""

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.data import Mixed
from extbnsl.machine.workers import chunks
from extbnsl.networks import gaussian, inference
from extbnsl.networks.answer import Answer
from extbnsl.networks.gaussian import Regression, regression_of
from extbnsl.networks.inference import Tables
from extbnsl.networks.network import Network, relevant
from extbnsl.networks.parameters import by_observed, check_entries, states_drawn, table_of

MOST_JOINT = 1 << 16  # joint states of parents of numbers that are not observed, for a record


@dataclass(frozen=True, eq=False)
class Family:
    """The parameters of a variable.

    table: of one of states, (*arities of its parents, its arity) float64; None of numbers.
    discrete, numbers: the parents of each kind, ascending.
    shape: the arities of the former.
    regressions: of one of numbers, on its parents of numbers in each configuration of the others, in lexicographic
        order; where it does not occur, over all records.
    records: how many each has.
    """

    table: NDArray[np.float64] | None
    discrete: tuple[int, ...]
    numbers: tuple[int, ...]
    shape: tuple[int, ...]
    regressions: tuple[Regression, ...] = ()
    records: tuple[int, ...] = ()

    def configuration(self, codes: NDArray[np.integer]) -> NDArray[np.int64]:
        """The numbers of the configurations of records of codes (N, n), (N,)."""
        if not self.discrete:
            return np.zeros(len(codes), np.int64)
        chosen = tuple(codes[:, v].astype(np.int64) for v in self.discrete)
        return np.asarray(np.ravel_multi_index(chosen, self.shape))


@dataclass(frozen=True, eq=False)
class Conditionals:
    """A network of states and numbers with its parameters; states: the labels of each variable, none of numbers."""

    network: Network
    states: tuple[tuple[str, ...], ...]
    families: tuple[Family, ...]

    @property
    def of_states(self) -> list[bool]:
        """Which variables have states."""
        return [bool(own) for own in self.states]

    @property
    def tables(self) -> Tables:
        """Those of the variables of states, which alone may be asked for or observed there."""

        def of(children: Collection[int]) -> dict[int, NDArray[np.float64]]:
            found = {child: self.families[child].table for child in children}
            return {child: table for child, table in found.items() if table is not None}

        return Tables(self.network, tuple(len(own) or 1 for own in self.states), of)


def conditionals(
    network: Network,
    data: Mixed,
    smoothing: float = 0.0,
    family: Callable[[int, tuple[int, ...]], Family] | None = None,
) -> Conditionals:
    """The parameters of maximum likelihood; smoothing: the equivalent sample size of the prior of tables; family: what
    fits one, if it is not `family_in`.

    Raises InputError if the names are not those of the data, a table is too large, or an arc leads from numbers to
    states. O(N k^2) for k parents of numbers.
    """
    if network.names != data.names:
        raise InputError(f"The variables of the network are not those of {data.source}.")
    check_entries(
        {
            data.names[x]: math.prod(data.arities[[*own, x]].tolist())
            for x, own in enumerate(network.parents)
            if data.states[x]
        }
    )
    fitted = family_in(data, smoothing) if family is None else family
    return Conditionals(network, data.states, tuple(fitted(x, own) for x, own in enumerate(network.parents)))


def family_in(data: Mixed, smoothing: float) -> Callable[[int, tuple[int, ...]], Family]:
    """What fits the family of a child and its parents; it raises as `conditionals`."""
    of_states = data.of_states
    places = np.flatnonzero(of_states).tolist()
    dataset = data.discrete() if places else None
    at = {v: i for i, v in enumerate(places)}

    def family(child: int, parents: tuple[int, ...]) -> Family:
        discrete = tuple(p for p in parents if of_states[p])
        numbers = tuple(p for p in parents if not of_states[p])
        shape = tuple(data.arities[list(discrete)].tolist())
        if not of_states[child]:
            return _regressed(Family(None, discrete, numbers, shape), child, data)
        if numbers:
            raise InputError(
                f"'{data.names[child]}' has states, and its parent '{data.names[numbers[0]]}' numbers: no table has "
                "that."
            )
        assert dataset is not None, "the child has states"
        return Family(table_of(dataset, smoothing, at[child], tuple(at[p] for p in parents)), discrete, numbers, shape)

    return family


def _regressed(family: Family, child: int, data: Mixed) -> Family:
    """The family with its regressions, over the records that are its."""
    counted = data.counted(child, (*family.discrete, *family.numbers))
    codes, values = (data.codes, data.values) if counted is None else (data.codes[counted], data.values[counted])
    which, size = family.configuration(codes), math.prod(family.shape)
    records = np.bincount(which, minlength=size)
    found = dict[int, Regression]()
    order = np.argsort(which, kind="stable")
    for rows in np.split(order, np.cumsum(records[records > 0])[:-1]):
        found[int(which[rows[0]])] = regression_of(values[rows], child, family.numbers, data.resolution)
    elsewhere = regression_of(values, child, family.numbers, data.resolution) if len(found) < size else None
    own = tuple(found.get(j, elsewhere) for j in range(size))
    return Family(None, family.discrete, family.numbers, family.shape, own, tuple(data.in_records(records).tolist()))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class _Components:
    """What joint states of parents of numbers say of N records that agree in the observed states.

    codes: (C, n) those of the observed variables of states and of the free parents, which are the settled ones.
    logs: (C, N) of the probability of each with what is observed.
    network: of the numbers; fitted: of each joint state, given it.
    """

    known: Conditionals
    codes: NDArray[np.int64]
    settled: tuple[int, ...]
    logs: NDArray[np.float64]
    network: Network
    fitted: tuple[tuple[Regression, ...], ...]

    @property
    def weights(self) -> NDArray[np.float64]:
        """How likely each is in each record, (C, N); nan in one that is impossible."""
        with np.errstate(invalid="ignore"):
            return np.exp(self.logs - np.logaddexp.reduce(self.logs, axis=0))

    def shares(self, targets: Sequence[int]) -> dict[int, NDArray[np.float64]]:
        """How likely the states of these variables are in each, (C, its arity); 0 in one that is impossible."""
        found = {v: np.eye(len(self.known.states[v]))[self.codes[:, v]] for v in targets if v in self.settled}
        if others := [v for v in targets if v not in found]:
            own = inference.marginals(self.known.tables, others, self.codes, self.settled)
            found.update((v, np.nan_to_num(each)) for v, each in zip(others, own, strict=True))
        return found


def _components(
    known: Conditionals,
    codes: NDArray[np.integer],
    values: NDArray[np.float64],
    children: Collection[int],
    observed: Sequence[int],
) -> Iterator[tuple[NDArray[np.int64], _Components]]:
    """Which records (N, n) agree in the observed states, and the joint states that the numbers of these families depend
    on, with theirs; InputError if there are too many. The sums over other states are made for many groups at once."""
    of_states = known.of_states
    given = [v for v in observed if of_states[v]]
    parents = {p for child in children if not of_states[child] for p in known.families[child].discrete}
    free = sorted(parents.difference(given))
    arities = [len(known.states[v]) for v in free]
    if (size := math.prod(arities)) > MOST_JOINT:
        raise InputError(
            f"What is not given has {size:,} joint states that numbers depend on, and {MOST_JOINT:,} are the most: "
            "give more variables of states."
        )
    free_states = np.array(list(itertools.product(*map(range, arities))), np.int64).reshape(size, -1)
    tabled = sorted(v for v in children if of_states[v])
    numbers = _numbers_of(known, children, observed)
    groups = list(_alike(codes, given))
    for start, end in chunks(len(groups), max(1, MOST_JOINT // size)):
        full = np.repeat(np.array([own for own, _ in groups[start:end]]), size, axis=0)
        full[:, free] = np.tile(free_states, (end - start, 1))
        logs = _logs_of_states(known, tabled, full, (*given, *free))
        for at, (_, rows) in enumerate(groups[start:end]):
            part = slice(at * size, (at + 1) * size)
            fitted = numbers.fitted(full[part])
            each = numbers.added(logs[part], fitted, values[rows])
            yield rows, _Components(known, full[part], (*given, *free), each, numbers.network, fitted)


@dataclass(frozen=True, eq=False)
class _NumbersOf:
    """The variables of numbers of a network, places (m,), as a network of their own; families: theirs; counted, seen:
    which of them, by their numbers in it, have families that count, and are observed."""

    network: Network
    families: tuple[Family, ...]
    places: list[int]
    counted: list[int]
    seen: list[int]

    def fitted(self, codes: NDArray[np.int64]) -> tuple[tuple[Regression, ...], ...]:
        """The regressions for each of these codes (C, n)."""
        chosen = [[own.regressions[j] for j in own.configuration(codes).tolist()] for own in self.families]
        return tuple(zip(*chosen, strict=True)) if chosen else ((),) * len(codes)

    def added(
        self, logs: NDArray[np.float64], fitted: Sequence[tuple[Regression, ...]], values: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """These logarithms (C,) with those of the densities of what is observed in records of values (N, n): (C, N)."""
        each = np.repeat(logs[:, None], len(values), axis=1)
        own = values[:, self.places]
        for at in np.flatnonzero(logs > -np.inf).tolist() if self.counted else ():
            each[at] += gaussian.log_densities(self.network, fitted[at], own, self.seen, self.counted)
        return each


def _numbers_of(known: Conditionals, children: Collection[int], observed: Collection[int]) -> _NumbersOf:
    places = [v for v, states in enumerate(known.states) if not states]
    at = {v: i for i, v in enumerate(places)}
    families = tuple(known.families[v] for v in places)
    network = Network(
        tuple(known.network.names[v] for v in places), tuple(tuple(at[p] for p in own.numbers) for own in families)
    )
    return _NumbersOf(
        network, families, places, [at[v] for v in children if v in at], [at[v] for v in observed if v in at]
    )


def _logs_of_states(
    known: Conditionals, children: Sequence[int], codes: NDArray[np.int64], settled: Collection[int]
) -> NDArray[np.float64]:
    """The logarithm of the product of these tables for these codes (C, n), summed over what is not settled: (C,)."""
    families = {child: (*known.network.parents[child], child) for child in children}
    left = [child for child, family in families.items() if not set(settled).issuperset(family)]
    logs = inference.log_sums(known.tables, left, codes, settled) if left else np.zeros(len(codes))
    tables = known.tables.of([child for child in children if child not in left])
    with np.errstate(divide="ignore"):
        for child, table in tables.items():
            logs = logs + np.log(table[tuple(codes[:, families[child]].T)])
    return logs


def _alike(codes: NDArray[np.integer], seen: Sequence[int]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The records (N, n) in groups that agree in the seen states: codes (n,), and which they are."""
    own, which = np.unique(codes[:, seen], axis=0, return_inverse=True)
    full = np.zeros((len(own), codes.shape[1]), np.int64)
    full[:, seen] = own
    which = which.reshape(-1)
    order = np.argsort(which, kind="stable")
    yield from zip(full, np.split(order, np.cumsum(np.bincount(which))[:-1]), strict=False)  # of no records no group


def log_densities_observed(
    known: Conditionals,
    codes: NDArray[np.integer],
    values: NDArray[np.float64],
    lacking: NDArray[np.bool_],
    given: Collection[int] = (),
) -> NDArray[np.float64]:
    """The log-density in nats of what is observed of each record, (N,) float64; minus infinity for states that cannot
    be together. codes, values, lacking: (N, n). given: variables without parents that it is conditioned on, where they
    are observed."""
    found = np.zeros(len(codes))
    for observed, rows in by_observed(lacking):
        told = {*given}.intersection(observed)
        children = [child for child in relevant(known.network, (), observed) if child not in told]
        found[rows] = log_densities(known, codes[rows], values[rows], observed, children)
    return found


def log_densities(
    known: Conditionals,
    codes: NDArray[np.integer],
    values: NDArray[np.float64],
    observed: Sequence[int],
    children: Collection[int],
) -> NDArray[np.float64]:
    """The same of records of which the same variables are observed, by the families of these children alone."""
    found = np.zeros(len(codes))
    for rows, parts in _components(known, codes, values, children, observed):
        found[rows] = np.logaddexp.reduce(parts.logs, axis=0)
    return found


def conditioned(
    known: Conditionals,
    codes: NDArray[np.integer],
    values: NDArray[np.float64],
    targets: Sequence[int],
    observed: Sequence[int],
) -> Answer:
    """What the network says of some variables given the observed ones in each record, of which only these columns are
    looked at."""
    of_states = known.of_states
    numbers = [v for v in targets if not of_states[v]]
    places = [v for v in range(len(of_states)) if not of_states[v]]
    at = {v: i for i, v in enumerate(places)}
    states = {v: np.zeros((len(codes), len(known.states[v]))) for v in targets if of_states[v]}
    means, squares = np.zeros((len(codes), len(numbers))), np.zeros((len(codes), len(numbers), len(numbers)))
    children = relevant(known.network, targets, observed)
    for rows, parts in _components(known, codes, values, children, observed):
        weights = parts.weights
        for v, shares in parts.shares(list(states)).items():
            states[v][rows] = weights.T @ shares
        if not numbers:
            continue
        seen, asked = [at[v] for v in observed if not of_states[v]], [at[v] for v in numbers]
        for fitted, own in zip(parts.fitted, weights, strict=True):
            mean, covariance = gaussian.conditioned(parts.network, fitted, values[rows][:, places], asked, seen)
            means[rows] += own[:, None] * mean
            squares[rows] += own[:, None, None] * (covariance + mean[:, :, None] * mean[:, None, :])
    covariances = squares - means[:, :, None] * means[:, None, :]
    return Answer(states, means, covariances)


def joint(
    known: Conditionals,
    codes: NDArray[np.integer],
    values: NDArray[np.float64],
    targets: Sequence[int],
    observed: Sequence[int],
) -> NDArray[np.float64]:
    """The joint probabilities of some variables of states given the observed ones in one record, (*their arities)."""
    found = np.zeros([len(known.states[v]) for v in targets])
    children = relevant(known.network, targets, observed)
    ((_, parts),) = _components(known, codes, values, children, observed)
    others = [v for v in targets if v not in parts.settled]
    shares = np.ones(len(parts.codes))
    if others:
        shares = np.nan_to_num(inference.joint(known.tables, others, parts.codes, parts.settled))
    for own, weight, share in zip(parts.codes, parts.weights[:, 0], shares, strict=True):
        found[tuple(slice(None) if v in others else own[v] for v in targets)] += weight * share
    return found


def sampled(
    known: Conditionals, records: int, random: np.random.Generator
) -> tuple[NDArray[np.uint16], NDArray[np.float64]]:
    """So many records drawn from the network, codes and values (records, n): forward, parents first (Henrion 1988)."""
    n = len(known.states)
    codes, values = np.zeros((records, n), np.uint16), np.zeros((records, n))
    for child in known.network.order():
        family = known.families[child]
        if family.table is not None:
            rows = family.table[tuple(codes[:, v] for v in family.discrete)]
            codes[:, child] = states_drawn(np.broadcast_to(rows, (records, len(known.states[child]))), random)
            continue
        which = family.configuration(codes)
        slopes = np.array([own.coefficients for own in family.regressions]).reshape(len(family.regressions), -1)
        starts = np.array([own.intercept for own in family.regressions])
        noise = np.sqrt([own.variance for own in family.regressions])
        mean = starts[which] + (slopes[which] * values[:, list(family.numbers)]).sum(axis=1)
        values[:, child] = mean + noise[which] * random.standard_normal(records)
    return codes, values
