"""Networks with their parameters, whatever their variables are: one way to ask any of them, and to fit many to data.

Several networks that are drawn of the same data share most of their families, so each family is fitted once, and each
is looked at once in the same records.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.data_options import MIXED, NUMBERS, STATES
from extbnsl.core.errors import InputError
from extbnsl.data import Data, Dataset, Mixed, Numbers
from extbnsl.machine.budgets import default_memory
from extbnsl.networks import conditional, degenerate, gaussian, inference
from extbnsl.networks.answer import Answer, Mixture
from extbnsl.networks.conditional import Conditionals, conditionals, family_in
from extbnsl.networks.degenerate import Columns, block_in, columns
from extbnsl.networks.gaussian import Regression, regression_in, regressions
from extbnsl.networks.inference import Tables
from extbnsl.networks.network import Network, relevant, where_set
from extbnsl.networks.parameters import by_observed, log_likelihoods, states_drawn, table_of
from extbnsl.scores.known import COLUMNS, model_of

HELD = 0.25  # the share of the memory that what is known of families may take
NUMBER = 8  # bytes

T = TypeVar("T")


class Seen(NamedTuple):
    """Records of which the same variables are observed.

    codes: (N, n) of states, values: (N, n) float64 of numbers; only the observed columns of their kind mean something,
    and where no variable is of it there may be none.
    """

    codes: NDArray[Any]
    values: NDArray[np.float64]
    observed: tuple[int, ...]


class Model(Protocol):
    """A network with its parameters; states: the labels of each variable, none of one of numbers."""

    @property
    def network(self) -> Network: ...
    @property
    def states(self) -> Sequence[Sequence[str]]: ...

    def answer(self, seen: Seen, targets: Sequence[int], joint: bool) -> Answer:
        """What it says of some variables; joint: of states together."""

    def log_densities(self, seen: Seen) -> NDArray[np.float64]:
        """The log-density of what is observed of each record, (N,), in nats."""

    def drawn(self, records: int, random: np.random.Generator) -> tuple[NDArray[np.uint16], NDArray[np.float64]]:
        """So many records drawn from it, parents first (Henrion 1988): codes and values (records, n), of which those of
        the kind of each variable mean something. InputError where there are none."""


@dataclass(frozen=True, eq=False)
class OfStates:
    """A network of states; memory: in bytes, for an answer. done: variables that were set from outside, which add
    nothing to how likely a record is."""

    tables: Tables
    states: Sequence[Sequence[str]]
    memory: int | None = None
    done: Collection[int] = ()

    @property
    def network(self) -> Network:
        return self.tables.network

    def answer(self, seen: Seen, targets: Sequence[int], joint: bool) -> Answer:
        if joint:
            return Answer.of_states({}, inference.joint(self.tables, targets, seen.codes, seen.observed, self.memory))
        found = inference.marginals(self.tables, targets, seen.codes, seen.observed, self.memory)
        return Answer.of_states(dict(zip(targets, found, strict=True)))

    def log_densities(self, seen: Seen) -> NDArray[np.float64]:
        found = inference.log_evidence(self.tables, seen.codes, seen.observed, self.memory)
        return found + math.fsum(math.log(self.tables.arities[v]) for v in self.done)

    def drawn(self, records: int, random: np.random.Generator) -> tuple[NDArray[np.uint16], NDArray[np.float64]]:
        n = len(self.states)
        codes, tables = np.zeros((records, n), np.uint16), self.tables.of(range(n))
        for child in self.network.order():
            rows = tables[child][tuple(codes[:, p] for p in self.network.parents[child])]
            codes[:, child] = states_drawn(np.broadcast_to(rows, (records, self.tables.arities[child])), random)
        return codes, np.empty((records, 0))

    def where_set(self, done: Collection[int]) -> "OfStates":
        """The same where these variables were set from outside, whose values are among what is observed."""
        return replace(self, tables=self.tables.where_set(done), done=done) if done else self


@dataclass(frozen=True, eq=False)
class OfNumbers:
    """A Gaussian network; done: as of `OfStates`."""

    network: Network
    fitted: Sequence[Regression]
    done: Collection[int] = ()

    @property
    def states(self) -> Sequence[Sequence[str]]:
        return ((),) * len(self.network.names)

    def answer(self, seen: Seen, targets: Sequence[int], joint: bool) -> Answer:
        means, covariance = gaussian.conditioned(self.network, self.fitted, seen.values, targets, seen.observed)
        return Answer({}, means, np.broadcast_to(covariance, (len(means), *covariance.shape)))

    def log_densities(self, seen: Seen) -> NDArray[np.float64]:
        children = set(relevant(self.network, (), seen.observed)).difference(self.done)
        return gaussian.log_densities(self.network, self.fitted, seen.values, seen.observed, children)

    def drawn(self, records: int, random: np.random.Generator) -> tuple[NDArray[np.uint16], NDArray[np.float64]]:
        return np.empty((records, 0), np.uint16), gaussian.sampled(self.network, self.fitted, records, random)

    def where_set(self, done: Collection[int]) -> "OfNumbers":
        """The same where these variables were set from outside, whose values are among what is observed."""
        if not done:
            return self
        unlooked = Regression(0.0, np.zeros(0), 1.0)
        fitted = tuple(unlooked if v in done else own for v, own in enumerate(self.fitted))
        return OfNumbers(where_set(self.network, done), fitted, done)


@dataclass(frozen=True, eq=False)
class OfBoth:
    """A network of states and numbers, by one of the two models of these."""

    known: Conditionals | Columns

    @property
    def network(self) -> Network:
        return self.known.network

    @property
    def states(self) -> Sequence[Sequence[str]]:
        return self.known.states

    def answer(self, seen: Seen, targets: Sequence[int], joint: bool) -> Answer:
        if not joint or not self.states[targets[0]]:
            asked = (seen.codes, seen.values, targets, seen.observed)
            if isinstance(self.known, Columns):
                return degenerate.conditioned(self.known, *asked)
            return conditional.conditioned(self.known, *asked)
        if isinstance(self.known, Columns):
            raise InputError("By dg-bic states have no joint table: ask for one variable at a time.")
        return Answer.of_states({}, conditional.joint(self.known, *seen[:2], targets, seen.observed)[None])

    def log_densities(self, seen: Seen) -> NDArray[np.float64]:
        lacking = np.ones(seen.codes.shape, np.bool_)
        lacking[:, list(seen.observed)] = False
        if isinstance(self.known, Columns):
            return degenerate.log_densities_observed(self.known, *seen[:2], lacking)
        return conditional.log_densities_observed(self.known, *seen[:2], lacking)

    def drawn(self, records: int, random: np.random.Generator) -> tuple[NDArray[np.uint16], NDArray[np.float64]]:
        if isinstance(self.known, Columns):
            raise InputError(degenerate.NO_STATES)
        return conditional.sampled(self.known, records, random)


class Once(Generic[T]):
    """What is made of families, each once, as long as all of it takes at most so many bytes; then it begins again."""

    def __init__(self, make: Callable[[int, tuple[int, ...]], T], size: Callable[[T], int], most: int) -> None:
        self._make, self._size, self._most = make, size, most
        self._known: dict[tuple[int, tuple[int, ...]], T] = {}
        self._held = 0

    def __call__(self, child: int, parents: tuple[int, ...]) -> T:
        """That of the family of a child."""
        found = self._known.get((child, parents))
        if found is None:
            found = self._make(child, parents)
            self._held += self._size(found)
            if self._held > self._most:
                self._known.clear()
                self._held = self._size(found)
            self._known[child, parents] = found
        return found


class Fitting(ABC):
    """Data that networks are fitted to; most: bytes that are held of their families."""

    def __init__(self, data: Any, smoothing: float, memory: int | None) -> None:
        self.data, self.smoothing = data, smoothing
        self.memory = default_memory() if memory is None else memory  # looked up once, and not for each network
        self.most = int(HELD * self.memory)

    @property
    def states(self) -> Sequence[Sequence[str]]:
        """The labels of each variable, none of one of numbers."""
        own: Sequence[Sequence[str]] = self.data.states
        return own

    @abstractmethod
    def model(self, network: Network) -> Model:
        """The network with its parameters; InputError if it does not fit."""

    @abstractmethod
    def family(self, network: Network, child: int, seen: Seen) -> NDArray[np.float64]:
        """The log-density of a child given its parents, in records of which all is observed, (N,)."""

    def likelihoods(self, seen: Seen) -> Callable[[Network], NDArray[np.float64]]:
        """What tells how likely these records are by a network, (N,) in nats: what is observed of them, of a time
        series given the past."""
        names, given = self.data.names, self.data.given
        past = seen._replace(observed=tuple(v for v in seen.observed if v in given))
        if len(seen.observed) < len(names) and past.observed:
            return lambda network: _difference(self.model(network), seen, past)
        if len(seen.observed) < len(names):
            return lambda network: self.model(network).log_densities(seen)

        def of_family(child: int, parents: tuple[int, ...]) -> NDArray[np.float64]:
            own = [()] * child + [parents] + [()] * (len(names) - child - 1)
            return self.family(Network(names, tuple(own)), child, seen)

        once = Once(of_family, lambda own: own.nbytes, self.most)

        def of_network(network: Network) -> NDArray[np.float64]:
            total = np.zeros(len(seen.codes))
            for child, parents in enumerate(network.parents[: given.start]):
                total += once(child, parents)
            return total

        return of_network


class _States(Fitting):
    def __init__(self, data: Dataset, smoothing: float, memory: int | None) -> None:
        super().__init__(data, smoothing, memory)
        self._table = Once(partial(table_of, data, smoothing), lambda table: table.nbytes, self.most)

    def model(self, network: Network) -> OfStates:
        return OfStates(Tables.fitted(network, self.data, self.smoothing, self._table), self.states, self.memory)

    def family(self, network: Network, child: int, seen: Seen) -> NDArray[np.float64]:
        return log_likelihoods(network, self.data, seen.codes, self.smoothing, [child])  # however large its table is


class _Numbers(Fitting):
    def __init__(self, data: Numbers, smoothing: float, memory: int | None) -> None:
        super().__init__(data, smoothing, memory)
        self._regression = Once(partial(regression_in, data), _numbers_of, self.most)

    @property
    def states(self) -> Sequence[Sequence[str]]:
        return ((),) * len(self.data.names)

    def model(self, network: Network) -> OfNumbers:
        return OfNumbers(network, regressions(network, self.data, self._regression))

    def family(self, network: Network, child: int, seen: Seen) -> NDArray[np.float64]:
        fitted = [self._regression(child, network.parents[child])] * len(network.names)  # the others are not asked
        return gaussian.log_densities(network, fitted, seen.values, seen.observed, [child])


class _Both(Fitting):
    def __init__(self, data: Mixed, smoothing: float, memory: int | None) -> None:
        super().__init__(data, smoothing, memory)
        self._family = Once(family_in(data, smoothing), _size_of_both, self.most)

    def model(self, network: Network) -> OfBoth:
        return OfBoth(conditionals(network, self.data, self.smoothing, self._family))

    def family(self, network: Network, child: int, seen: Seen) -> NDArray[np.float64]:
        members = (*network.parents[child], child)
        known = conditionals(network, self.data, self.smoothing, self._family)
        return conditional.log_densities(known, seen.codes, seen.values, members, [child])


class _Columns(Fitting):
    def __init__(self, data: Mixed, smoothing: float, memory: int | None) -> None:
        super().__init__(data, smoothing, memory)
        self._block = Once(block_in(data), lambda own: own.coefficients.nbytes + own.covariance.nbytes, self.most)

    def model(self, network: Network) -> OfBoth:
        return OfBoth(columns(network, self.data, self._block))

    def family(self, network: Network, child: int, seen: Seen) -> NDArray[np.float64]:
        raise NotImplementedError("a state has no density by itself")

    def likelihoods(self, seen: Seen) -> Callable[[Network], NDArray[np.float64]]:
        lacking = np.ones(seen.codes.shape, np.bool_)
        lacking[:, list(seen.observed)] = False
        block, given = self._block, self.data.given
        return lambda network: degenerate.log_densities_observed(
            columns(network, self.data, block), *seen[:2], lacking, given
        )


def _difference(model: Model, seen: Seen, past: Seen) -> NDArray[np.float64]:
    """The log-density of what is seen given a part of it."""
    return model.log_densities(seen) - model.log_densities(past)


def _numbers_of(own: Regression) -> int:
    return own.coefficients.nbytes + 2 * NUMBER


def _size_of_both(own: conditional.Family) -> int:
    return (0 if own.table is None else own.table.nbytes) + sum(map(_numbers_of, own.regressions))


_FITTINGS: dict[str, Callable[[Any, float, int | None], Fitting]] = {
    STATES: _States,
    NUMBERS: _Numbers,
    MIXED: _Both,
    COLUMNS: _Columns,
}


def fitting(data: Data, score: str, smoothing: float = 0.0, memory: int | None = None) -> Fitting:
    """What fits networks to data, as the score of this name has them; smoothing: of tables."""
    return _FITTINGS[model_of(data.kind, score)](data, smoothing, memory)


def averaged(models: Iterable[tuple[Model, int]], seen: Seen, targets: Sequence[int], joint: bool) -> Answer | None:
    """What networks, each with how often it counts, say together of some variables in records: each weighs as much as
    it makes what is observed likely. None, or nan in some records, where that is impossible by all of them."""
    mixture, none = Mixture(), np.zeros(len(seen.codes))
    for model, count in models:
        log_weights = math.log(count) + (model.log_densities(seen) if seen.observed else none)
        if np.isfinite(log_weights).any():
            mixture.add(model.answer(seen, targets, joint), log_weights)
    return mixture.answer


def log_mean_likelihoods(
    networks: Mapping[Network, int], likely: Callable[[Network], NDArray[np.float64]], advance: Callable[[int], None]
) -> NDArray[np.float64]:
    """The logarithm of the mean of how likely records are by some networks, each as often as it counts: (N,)."""
    total, every = np.array(-math.inf), sum(networks.values())
    for done, (network, count) in enumerate(networks.items(), start=1):
        total = np.logaddexp(total, likely(network) + math.log(count / every))
        advance(done)
    return total


def likelihoods_observed(
    fit: Fitting,
    networks: Mapping[Network, int],
    codes: NDArray[np.integer],
    values: NDArray[np.float64],
    lacking: NDArray[np.bool_],
    advance: Callable[[int], None] = lambda done: None,
) -> NDArray[np.float64]:
    """The logarithm of the mean over networks of how likely what is observed of each record (N, n) is: (N,) in nats.

    advance: hears how many networks are done, of each pattern of missing values anew.
    """
    found = np.zeros(len(lacking))
    for observed, rows in by_observed(lacking):
        likely = fit.likelihoods(Seen(codes[rows], values[rows], observed))
        found[rows] = log_mean_likelihoods(networks, likely, advance)
    return found
