"""The parameters of a network of states and numbers: a table for each variable of states, and for each of numbers a
regression in each configuration of its parents of states; and what such a network says of records.

Answers are exact. Given the states of all variables, those of numbers are jointly Gaussian (Lauritzen and Wermuth
1989); so each joint state of those that are not observed and matter is looked at in turn, and the answer is a mixture.
"""

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.data import Mixed
from extbnsl.networks import gaussian
from extbnsl.networks.answer import Answer
from extbnsl.networks.gaussian import Regression, regression_of
from extbnsl.networks.network import Network, relevant
from extbnsl.networks.parameters import by_observed, check_entries, states_drawn, table_of

MOST_JOINT = 1 << 16  # joint states of what is not observed, for a record


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
class _Component:
    """What a joint state of the variables of states says of some records that agree in the observed ones: codes (n,);
    logs (N,): of its probability with what is observed; network, fitted: of the numbers, given it."""

    codes: NDArray[np.int64]
    logs: NDArray[np.float64]
    network: Network
    fitted: tuple[Regression, ...]


def _components(
    known: Conditionals,
    codes: NDArray[np.int64],
    values: NDArray[np.float64],
    children: Collection[int],
    observed: Collection[int],
) -> Iterator[_Component]:
    """The joint states of what is not observed, of records whose observed states are `codes` (n,), by these families;
    InputError if there are too many."""
    network, given, of_states = known.network, set(observed), known.of_states
    members = sorted({v for child in children for v in (*network.parents[child], child)})
    free = [v for v in members if of_states[v] and v not in given]
    arities = [len(known.states[v]) for v in free]
    if math.prod(arities) > MOST_JOINT:
        raise InputError(
            f"What is not given has {math.prod(arities):,} joint states that matter, and {MOST_JOINT:,} are the most: "
            "give more variables of states."
        )
    numbers = [v for v in range(len(network.names)) if not of_states[v]]
    at = {v: i for i, v in enumerate(numbers)}
    own = Network(
        tuple(network.names[v] for v in numbers),
        tuple(tuple(at[p] for p in known.families[v].numbers) for v in numbers),
    )
    counted = [at[v] for v in children if not of_states[v]]
    seen = [at[v] for v in observed if not of_states[v]]
    for joint in itertools.product(*map(range, arities)):
        full = codes.copy()
        full[free] = joint
        logs = 0.0
        for child in children:
            table = known.families[child].table
            if table is not None:
                share = table[tuple(full[[*network.parents[child], child]])]
                logs += math.log(share) if share > 0.0 else -math.inf
        fitted = tuple(_chosen(known.families[v], full) for v in numbers)
        each = np.full(len(values), logs)
        if counted and logs > -math.inf:
            each += gaussian.log_densities(own, fitted, values[:, numbers], seen, counted)
        yield _Component(full, each, own, fitted)


def _chosen(family: Family, codes: NDArray[np.int64]) -> Regression:
    """The regression of a family of numbers for a joint state."""
    return family.regressions[int(family.configuration(codes[None])[0])]


def _alike(
    known: Conditionals, codes: NDArray[np.integer], observed: Sequence[int]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The records (N, n) in groups that agree in the observed states: codes (n,), and which they are."""
    seen = [v for v in observed if known.of_states[v]]
    own, which = np.unique(codes[:, seen], axis=0, return_inverse=True)
    which = which.reshape(-1)
    for group in range(len(own)):
        full = np.zeros(codes.shape[1], np.int64)
        full[seen] = own[group]
        yield full, np.flatnonzero(which == group)


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
    for full, rows in _alike(known, codes, observed):
        parts = [part.logs for part in _components(known, full, values[rows], children, observed)]
        found[rows] = np.logaddexp.reduce(parts, axis=0)
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
    for full, rows in _alike(known, codes, observed):
        parts = list(_components(known, full, values[rows], children, observed))
        logs = np.array([part.logs for part in parts])
        with np.errstate(invalid="ignore"):
            weights = np.exp(logs - np.logaddexp.reduce(logs, axis=0))
        for part, own in zip(parts, weights, strict=True):
            for v, found in states.items():
                found[rows, part.codes[v]] += own
            if numbers:
                seen = [at[v] for v in observed if not of_states[v]]
                mean, covariance = gaussian.conditioned(
                    part.network, part.fitted, values[rows][:, places], [at[v] for v in numbers], seen
                )
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
    ((full, rows),) = _alike(known, codes, observed)
    parts = list(_components(known, full, values[rows], children, observed))
    logs = np.array([part.logs[0] for part in parts])
    with np.errstate(invalid="ignore"):
        weights = np.exp(logs - np.logaddexp.reduce(logs))
    for part, own in zip(parts, weights.tolist(), strict=True):
        found[tuple(part.codes[list(targets)])] += own
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
