"""What answers for a network about records that come after `fit`: of states, or of numbers."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.arguments import plain
from extbnsl.core.data_options import MIXED, NUMBERS, STATES, DataOptions, Texts
from extbnsl.core.errors import InputError
from extbnsl.data import Dataset, Mixed, Numbers, measured, prepare
from extbnsl.data.alike import advice_for_new_records, encoded_alike
from extbnsl.data.both import mixed
from extbnsl.data.column import States, clean_name, listed
from extbnsl.data.encode import Made, Make
from extbnsl.data.given import PART, Given, as_they_were, given
from extbnsl.data.values import kind_of
from extbnsl.networks import conditional, degenerate, gaussian
from extbnsl.networks.answer import Answer
from extbnsl.networks.conditional import Conditionals, conditionals
from extbnsl.networks.gaussian import Regression, regressions
from extbnsl.networks.inference import Tables, log_likelihoods_observed
from extbnsl.networks.models import OfNumbers, OfStates, Seen
from extbnsl.networks.network import Network, relevant
from extbnsl.networks.parameters import by_observed, sampled
from extbnsl.scores.known import COLUMNS


@dataclass(frozen=True, eq=False)
class Reader:
    """How records are read as those of `fit` were.

    keys, names, framed: of the columns of X in `fit`, as in `Given`.
    missing, na: as for `learn`, of `fit` too.
    states: those that are declared, by names.
    who: what its sentences call the estimator.
    """

    keys: tuple[Any, ...]
    names: tuple[str, ...]
    framed: bool
    missing: str
    na: Texts | None
    states: Mapping[str, States]
    who: str

    def records(
        self, data: Given, make: Make[Made], filled: str | Mapping[str, str], discrete: Texts | None = None
    ) -> tuple[Made, NDArray[np.bool_]]:
        """What `make` makes of new records, and where their values are missing, (N, columns); these are filled with
        some text, unless `missing` asks for a state of them."""
        own = {name: states for name, states in self.states.items() if name in data.names}
        options = DataOptions(na=self.na, discrete=discrete, states=own or None)
        with advice_for_new_records():
            if self.missing == "state":
                made = data.made(make, replace(options, missing=self.missing))
                return made, np.zeros((data.records, len(data.names)), np.bool_)
            return data.with_gaps(make, options, filled)

    def new(self, X: Any, unseen: int | None) -> Given:
        """New records in those of the columns of `fit` that they have, in their order, without the column `unseen`."""
        data = X if isinstance(X, Given) else records_of(X)
        return data.in_order(self.names, self.who, None if unseen is None else self.names[unseen])

    def position(self, target: Any) -> int:
        """The place of the column that is called so; InputError if there is none."""
        if target is None:
            raise InputError("target: say which column to predict, as predict(X, target) or by the parameter target.")
        number = plain(target)
        if not self.framed and isinstance(number, int) and 0 <= number < len(self.names):
            return number
        if target in self.keys:
            return self.keys.index(target)
        if isinstance(target, str) and clean_name(target) in self.names:
            return self.names.index(clean_name(target))
        raise InputError(f"target: {target!r} is no column of the network; it has {listed(self.names)}.")

    def returned(self, columns: Sequence[NDArray[Any]]) -> Any:
        """Columns as what X was in `fit`: a data frame or an array."""
        if not self.framed:
            return np.column_stack(columns)
        frame = pandas_frame(dict(enumerate(columns)))
        frame.columns = list(self.keys)
        return frame


def records_of(X: Any) -> Given:
    """What `given` makes of X; InputError for an array without records or columns, as scikit-learn's tools know it."""
    shape = getattr(X, "shape", None) if not hasattr(X, "columns") else None
    if shape is not None and len(shape) == 2:
        for at, what, lacking in ((1, "feature", "column"), (0, "sample", "record")):
            if shape[at] == 0:
                raise InputError(f"0 {what}(s) (shape={shape}) while a minimum of 1 is required: give a {lacking}.")
    return given(X, who="X")


def pandas_frame(data: Any, index: Any = None, columns: Any = None) -> Any:
    """A data frame of pandas; InputError if that is not installed."""
    try:
        import pandas
    except ImportError as error:
        raise InputError("A data frame is answered by a data frame, which needs pandas: pip install pandas.") from error
    return pandas.DataFrame(data, index=index, columns=columns)


class Answers(ABC):
    """What answers for a network of some kind of data."""

    network: Network
    reader: Reader

    def with_limits(self, smoothing: float, memory: int | None) -> Self:
        """The same with this equivalent sample size of the prior of tables, and this budget in bytes, if these make a
        difference."""
        return self

    def has_states(self, target: int) -> bool:
        """Whether a variable has states."""
        return False

    @abstractmethod
    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """The log-likelihood, or log-density, of what is observed of each record in X."""

    def predict_proba(self, X: Any, target: int) -> NDArray[np.float64]:
        """The probability of each state of the variable `target`, which has some, in each record of X."""
        raise NotImplementedError("numbers have no states")

    @abstractmethod
    def predict(self, X: Any, target: int) -> NDArray[Any]:
        """The most probable state of the variable `target`, or its mean, in each record of X."""

    @abstractmethod
    def sample(self, records: int, random: np.random.Generator) -> Any:
        """So many records drawn from the network, as X was."""


@dataclass(frozen=True, eq=False)
class Known:
    """New records: codes of states and values of numbers, (N, n); (N, 0) of a kind that no variable is of. Indices take
    some of them."""

    codes: NDArray[np.uint16]
    values: NDArray[np.float64]

    @staticmethod
    def of_codes(codes: NDArray[np.uint16]) -> "Known":
        """Records of states alone."""
        return Known(codes, np.empty((len(codes), 0)))

    @staticmethod
    def of_values(values: NDArray[np.float64]) -> "Known":
        """Records of numbers alone."""
        return Known(np.empty((len(values), 0), np.uint16), values)

    def __getitem__(self, rows: NDArray[np.int64]) -> "Known":
        return Known(self.codes[rows], self.values[rows])

    def seen(self, observed: tuple[int, ...]) -> Seen:
        """These records, of which these variables are observed."""
        return Seen(self.codes, self.values, observed)


class RowAnswers(Answers):
    """What answers about records that have all columns of the network, or lack some.

    values: those of each variable of states as they were in X, by name.
    """

    values: Mapping[str, NDArray[Any]]

    def has_states(self, target: int) -> bool:
        return self.network.names[target] in self.values

    @property
    def is_told_what_was_set(self) -> bool:
        """Whether it can be told that variables were set from outside."""
        return True

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """The log-likelihood, or log-density, of what is observed of each record in X."""
        return self.likelihoods(*self.read(X))

    def predict_proba(self, X: Any, target: int) -> NDArray[np.float64]:
        """The probability of each state of the variable `target` given what is observed of each record of X."""
        return self.sure(self.told(*self.read(X, target), target), target)

    def predict(self, X: Any, target: int) -> NDArray[Any]:
        """The most probable state of the variable `target`, or its mean, in each record of X."""
        return self.likeliest(self.sure(self.told(*self.read(X, target), target), target), target)

    def sure(self, found: NDArray[np.float64], target: int) -> NDArray[np.float64]:
        """What was found of a variable in each record, probabilities of its states or its mean; InputError if one is
        impossible, or not finite."""
        return possible(found, self.network.names[target]) if self.has_states(target) else finite(found)

    def likeliest(self, found: NDArray[np.float64], target: int) -> NDArray[Any]:
        """The states of a variable that have the largest probabilities, or its means as they were found."""
        return self.values[self.network.names[target]][found.argmax(axis=1)] if self.has_states(target) else found

    def returned(self, records: Known) -> Any:
        """Records as X was."""
        return self.reader.returned(
            [
                self.values[name][records.codes[:, j]] if self.has_states(j) else records.values[:, j]
                for j, name in enumerate(self.network.names)
            ]
        )

    def likelihoods_in_time(self, known: Known, lacking: NDArray[np.bool_], present: int) -> NDArray[np.float64]:
        """The log-likelihood of what is observed of each record of a time series, given what is of the past: all but
        the first variables, so many."""
        past = lacking.copy()
        past[:, :present] = True
        return self.likelihoods(known, lacking) - self.likelihoods(known, past)

    @abstractmethod
    def read(self, X: Any, unseen: int | None = None) -> tuple[Known, NDArray[np.bool_]]:
        """New records in the states of the network, 0 where there is no value; and where there is none, (N, n), as in
        the column `unseen`."""

    @abstractmethod
    def likelihoods(self, known: Known, lacking: NDArray[np.bool_], done: Sequence[int] = ()) -> NDArray[np.float64]:
        """The log-likelihood of what is observed of each record, in which the variables `done` were set from outside,
        which all have."""

    @abstractmethod
    def told(
        self, known: Known, lacking: NDArray[np.bool_], target: int, done: Sequence[int] = ()
    ) -> NDArray[np.float64]:
        """The probability of each state of the variable `target`, or its mean, in such records; nan where nothing is
        possible."""


@dataclass(frozen=True, eq=False)
class StateAnswers(RowAnswers):
    """The answers of a network of states.

    dataset: what it was learned from; raw: the first of these records with nothing cut. values: those of each variable
    as they were in X. smoothing: the equivalent sample size of the prior of the parameters. memory: the budget in
    bytes; None for what the machine has left.
    """

    network: Network
    dataset: Dataset
    raw: Dataset
    values: Mapping[str, NDArray[Any]]
    reader: Reader
    smoothing: float = 0.0
    memory: int | None = None

    def with_limits(self, smoothing: float, memory: int | None) -> Self:
        return replace(self, smoothing=smoothing, memory=memory)

    def likelihoods(self, known: Known, lacking: NDArray[np.bool_], done: Sequence[int] = ()) -> NDArray[np.float64]:
        codes = known.codes
        if not done:
            return log_likelihoods_observed(self.network, self.dataset, codes, lacking, self.smoothing, self.memory)
        model, found = self._model.where_set(done), np.zeros(len(codes))
        for observed, rows in by_observed(lacking):
            found[rows] = model.log_densities(known[rows].seen(observed))
        return found

    def told(
        self, known: Known, lacking: NDArray[np.bool_], target: int, done: Sequence[int] = ()
    ) -> NDArray[np.float64]:
        model, found = self._model.where_set(done), np.empty((len(lacking), len(self.dataset.states[target])))
        for observed, rows in _decisive(model.network, target, by_observed(lacking)):
            found[rows] = model.answer(known[rows].seen(observed), [target], joint=False).states[target]
        return found

    @property
    def _model(self) -> OfStates:
        return OfStates(Tables.fitted(self.network, self.dataset, self.smoothing), self.dataset.states, self.memory)

    def sample(self, records: int, random: np.random.Generator) -> Any:
        """So many records drawn from the network, as X was."""
        codes = sampled(self.network, self.dataset, records, random, self.smoothing)
        return self.returned(Known.of_codes(codes))

    def read(self, X: Any, unseen: int | None = None) -> tuple[Known, NDArray[np.bool_]]:
        data = self.reader.new(X, unseen)
        codes = np.zeros((data.records, len(self.network.names)), np.uint16)
        lacking, at = np.ones(codes.shape, np.bool_), [self.network.names.index(name) for name in data.names]
        filled = {name: own[0] for name, own in zip(self.raw.names, self.raw.states, strict=True)}
        for start, part in zip(range(0, data.records, PART), data.parts() if at else (), strict=False):
            rows = slice(start, start + part.records)
            new, lacking[rows, at] = self.reader.records(part, prepare, filled, discrete="all")
            with advice_for_new_records():
                codes[rows] = encoded_alike(new, self.raw, self.dataset)
        return Known.of_codes(codes), lacking


def _of_states(
    network: Network, dataset: Dataset, data: Given, options: Mapping[str, Any], reader: Reader
) -> StateAnswers:
    raw = dataset
    if options["discretise"] is not None:
        as_it_is = DataOptions(**dict(options) | {"discretise": None, "discrete": "all"})
        first = next(data.parts()) if dataset.slices is None else data  # of a part rows come in another order
        raw = first.made(prepare, as_it_is)
    return StateAnswers(network, dataset, raw, values_read(data, dataset), reader)


def values_read(data: Given, dataset: Dataset | Mixed) -> dict[str, NDArray[Any]]:
    """The values of each variable of states as they were in X, in the order of these."""
    kinds = dict(zip(data.names, map(kind_of, data.columns), strict=True))
    present = dataset.names[: dataset.given.start]
    return {
        name: as_they_were(states, kinds[present[j % len(present)]])
        for j, (name, states) in enumerate(zip(dataset.names, dataset.states, strict=True))
        if states
    }


@dataclass(frozen=True, eq=False)
class NumberAnswers(RowAnswers):
    """The answers of a Gaussian network with the regression of each variable."""

    values = MappingProxyType[str, NDArray[Any]]({})  # no variable has states
    network: Network
    fitted: tuple[Regression, ...]
    reader: Reader

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """The log-density of what is observed of each record in X."""
        return finite(super().score_samples(X))

    def likelihoods(self, known: Known, lacking: NDArray[np.bool_], done: Sequence[int] = ()) -> NDArray[np.float64]:
        model, found = self._model.where_set(done), np.zeros(len(lacking))
        for observed, rows in by_observed(lacking):
            found[rows] = model.log_densities(known[rows].seen(observed))
        return found

    def told(
        self, known: Known, lacking: NDArray[np.bool_], target: int, done: Sequence[int] = ()
    ) -> NDArray[np.float64]:
        model, found = self._model.where_set(done), np.zeros(len(lacking))
        for observed, rows in _decisive(model.network, target, by_observed(lacking)):
            found[rows] = model.answer(known[rows].seen(observed), [target], joint=False).means[:, 0]
        return found

    @property
    def _model(self) -> OfNumbers:
        return OfNumbers(self.network, self.fitted)

    def sample(self, records: int, random: np.random.Generator) -> Any:
        """So many records drawn from the network, as X was."""
        return self.returned(Known.of_values(gaussian.sampled(self.network, self.fitted, records, random)))

    def read(self, X: Any, unseen: int | None = None) -> tuple[Known, NDArray[np.bool_]]:
        data = self.reader.new(X, unseen)
        values, at = np.zeros((data.records, len(self.network.names))), list(map(self.network.names.index, data.names))
        lacking = np.ones(values.shape, np.bool_)
        if at:
            numbers, lacking[:, at] = self.reader.records(data, measured, "0")
            values[:, at] = numbers.values
        return Known.of_values(values), lacking


def _of_numbers(
    network: Network, numbers: Numbers, data: Given, options: Mapping[str, Any], reader: Reader
) -> NumberAnswers:
    return NumberAnswers(network, regressions(network, numbers), reader)


@dataclass(frozen=True, eq=False)
class ConditionalAnswers(RowAnswers):
    """The answers of a network of states and numbers.

    data: what it was learned from; raw: the first of these records with no state cut; values: those of each variable of
    states as they were in X; smoothing: the equivalent sample size of the prior of tables.
    """

    network: Network
    data: Mixed
    raw: Mixed
    values: Mapping[str, NDArray[Any]]
    reader: Reader
    smoothing: float = 0.0

    def with_limits(self, smoothing: float, memory: int | None) -> Self:
        return replace(self, smoothing=smoothing)

    @property
    def is_told_what_was_set(self) -> bool:
        return False

    def likelihoods(self, known: Known, lacking: NDArray[np.bool_], done: Sequence[int] = ()) -> NDArray[np.float64]:
        return self._log_densities(known, lacking)

    def likelihoods_in_time(self, known: Known, lacking: NDArray[np.bool_], present: int) -> NDArray[np.float64]:
        return self._log_densities(known, lacking, range(present, lacking.shape[1]))

    def told(
        self, known: Known, lacking: NDArray[np.bool_], target: int, done: Sequence[int] = ()
    ) -> NDArray[np.float64]:
        shape = (len(self.data.states[target]),) if self.has_states(target) else ()
        found = np.zeros((len(lacking), *shape))
        for observed, rows in _decisive(self.network, target, by_observed(lacking)):
            answer = self._conditioned(known[rows], target, observed)
            found[rows] = answer.states[target] if shape else answer.means[:, 0]
        return found

    def _log_densities(
        self, known: Known, lacking: NDArray[np.bool_], given: Collection[int] = ()
    ) -> NDArray[np.float64]:
        """The log-densities, conditioned on some variables without parents, where they are observed."""
        return conditional.log_densities_observed(self._known, known.codes, known.values, lacking, given)

    def _conditioned(self, known: Known, target: int, observed: tuple[int, ...]) -> Answer:
        """What the network says of a variable in records."""
        return conditional.conditioned(self._known, known.codes, known.values, [target], observed)

    def sample(self, records: int, random: np.random.Generator) -> Any:
        """So many records drawn from the network, as X was."""
        return self.returned(Known(*conditional.sampled(self._known, records, random)))

    @property
    def _known(self) -> Conditionals:
        return conditionals(self.network, self.data, self.smoothing)

    def read(self, X: Any, unseen: int | None = None) -> tuple[Known, NDArray[np.bool_]]:
        names, data = self.network.names, self.reader.new(X, unseen)
        discrete = [name for name, states in zip(names, self.data.states, strict=True) if states]
        shape, at = (data.records, len(names)), list(map(names.index, data.names))
        codes, values, lacking = np.zeros(shape, np.uint16), np.zeros(shape), np.ones(shape, np.bool_)
        filled = {name: own[0] if own else "0" for name, own in zip(self.raw.names, self.raw.states, strict=True)}
        places = list(map(names.index, discrete))
        for start, part in zip(range(0, data.records, PART), data.parts() if at else (), strict=False):
            rows = slice(start, start + part.records)
            new, lacking[rows, at] = self.reader.records(
                part, mixed, filled, [name for name in part.names if name in discrete]
            )
            if texts := [name for name, own in zip(new.names, new.states, strict=True) if own and name not in discrete]:
                raise InputError(f"X: {listed(texts)} must have numbers, as in fit.", names=texts)
            values[rows, at] = new.values
            if any(new.states):
                with advice_for_new_records():
                    own = encoded_alike(new.discrete(), self.raw.discrete(), self.data.discrete())
                codes[rows, places] = own
        return Known(codes, values), lacking


class ColumnsAnswers(ConditionalAnswers):
    """The answers of a network of blocks of Gaussian columns: of a state its share of the densities of indicators."""

    def _log_densities(
        self, known: Known, lacking: NDArray[np.bool_], given: Collection[int] = ()
    ) -> NDArray[np.float64]:
        return degenerate.log_densities_observed(self._columns, known.codes, known.values, lacking, given)

    def sample(self, records: int, random: np.random.Generator) -> Any:
        """No states can be drawn."""
        raise InputError(degenerate.NO_STATES)

    @property
    def _columns(self) -> degenerate.Columns:
        return degenerate.columns(self.network, self.data)

    def _conditioned(self, known: Known, target: int, observed: tuple[int, ...]) -> Answer:
        return degenerate.conditioned(self._columns, known.codes, known.values, [target], observed)


def _of_columns(
    network: Network, data: Mixed, given: Given, options: Mapping[str, Any], reader: Reader
) -> ColumnsAnswers:
    both = _of_both(network, data, given, options, reader)
    return ColumnsAnswers(network, data, both.raw, both.values, reader)


def _of_both(
    network: Network, data: Mixed, given: Given, options: Mapping[str, Any], reader: Reader
) -> ConditionalAnswers:
    raw = data
    if options["discretise"] is not None:
        present = zip(data.names[: data.given.start], data.states, strict=False)
        as_it_is = {"discretise": None, "discrete": [name for name, states in present if states]}
        first = next(given.parts()) if data.slices is None else given  # as of states
        raw = first.made(mixed, DataOptions(**dict(options) | as_it_is))
    return ConditionalAnswers(network, data, raw, values_read(given, data), reader)


# By what networks are made of (`model_of`) what answers for one, given X of `fit`, the options by which it was read,
# and a reader.
ANSWERS: dict[str, Callable[[Network, Any, Given, Mapping[str, Any], Reader], RowAnswers]] = {
    STATES: _of_states,
    NUMBERS: _of_numbers,
    MIXED: _of_both,
    COLUMNS: _of_columns,
}


def _decisive(
    network: Network, target: int, groups: Iterable[tuple[tuple[int, ...], NDArray[np.int64]]]
) -> Iterator[tuple[tuple[int, ...], NDArray[np.int64]]]:
    """The groups of `by_observed`, those together whose observed columns are the same as far as the target depends on
    them."""
    joined = defaultdict[tuple[int, ...], list[NDArray[np.int64]]](list)
    for observed, rows in groups:
        families = relevant(network, [target], observed)
        members = {variable for child in families for variable in (*network.parents[child], child)}
        joined[tuple(variable for variable in observed if variable in members)].append(rows)
    for observed, own in joined.items():
        yield observed, np.concatenate(own)


def possible(each: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """The probabilities of the states of a variable in each record, (N, states); InputError if one is impossible."""
    impossible = np.isnan(each).any(axis=1)
    if impossible.any():
        record = int(impossible.argmax()) + 1
        raise InputError(
            f"X: record {record} is impossible by the network whatever {name!r} is; give a smoothing above 0."
        )
    return each


def finite(each: NDArray[np.float64]) -> NDArray[np.float64]:
    """What is asked of each record; InputError if floating-point numbers do not reach so far."""
    if not np.isfinite(each).all():
        record = int((~np.isfinite(each)).argmax()) + 1
        raise InputError(
            f"X: record {record} is so far from the records of fit that no answer is finite; leave such records out."
        )
    return each
