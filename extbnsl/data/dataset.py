"""The data that scores are computed from: records of discrete variables, encoded, or of continuous ones; the distinct
records with how often each occurs, and what the columns hold.
"""

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.data_options import MIXED, NUMBERS, STATES
from extbnsl.core.errors import InputError
from extbnsl.core.figures import counted
from extbnsl.core.knowledge import NOTHING, Knowledge
from extbnsl.core.sentences import asking
from extbnsl.data.beside import Slices, Targets, Weights

# Above this, sums of values could overflow; no data has such numbers, so they count as text.
LARGEST_NUMBER = 1e150
HASHED_RECORDS = 1 << 10  # at a time, which are copied for that


class Data(ABC):
    """Records of any kind, see `kinds`.

    kind: the word for it.
    names: of the n variables.
    source, warnings, layout, treated, targets, gaps, latent, slices, weights: as a `Dataset` has them.
    resolution: as `Numbers` have it, none of states alone.
    """

    kind: ClassVar[str]
    names: tuple[str, ...]
    source: str
    warnings: tuple[str, ...]
    layout: str
    treated: Mapping[str, str]
    targets: Targets | None
    gaps: bool
    latent: bool
    slices: Slices | None
    weights: Weights | None
    resolution: tuple[float, ...] = ()

    @property
    def variables(self) -> int:
        """Number of variables n."""
        return len(self.names)

    @property
    @abstractmethod
    def records(self) -> int:
        """Number of rows: of records, each as often as its weight says."""

    @property
    def each(self) -> float:
        """What a row weighs, in records: 1 but for weights that are not whole."""
        return 1.0 if self.weights is None else self.weights.each

    @property
    def total(self) -> float:
        """N in every cost: the sum of the weights, which is the number of records as a rule."""
        return self.records * self.each

    @property
    def observed(self) -> int:
        """How many records there are for people: rows, or those that have weights which are not whole."""
        if self.weights is None:
            return self.records
        return self.records // self.tables if self.tables else len(self.weights.ends)

    def as_records(self) -> Self:
        """The data with each row as a record."""
        own: Self = replace(cast(Any, self), weights=None)
        return own

    def in_records(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """So many rows in whole records, for people: at least one where there are any."""
        records = np.rint(rows * self.each).astype(np.int64)
        return np.where(rows > 0, np.maximum(1, records), 0)

    @property
    def tables(self) -> int:
        """How many imputed tables the rows are; 0 where they are none."""
        return len(self.weights.ends) if self.weights is not None and self.weights.tables else 0

    @property
    @abstractmethod
    def record_bytes(self) -> int:
        """The bytes of a record."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Hex SHA-256 over all that makes a difference to a score; O(N n), computed at each access."""

    @property
    @abstractmethod
    def contents(self) -> str:
        """What the columns hold, in a few words, such as '2 to 3 states'."""

    @property
    def alike(self) -> bool:
        """Whether every family is costed over all records."""
        return self.targets is None and not self.gaps

    @property
    def given(self) -> range:
        """The variables that are given: conditioned on, without parents and a cost of their own. They are the columns
        of the past of a time series, the last ones."""
        n = self.variables
        return range(n if self.slices is None else self.slices.now(n), n)

    @property
    def knowledge(self) -> Knowledge:
        """What this says of networks: the past has no parents, and perhaps the present is joined with it alone."""
        if self.slices is None:
            return NOTHING
        first = self.given.start
        apart = () if self.slices.instant or first == 1 else (self.names[:first],)
        return Knowledge(roots=self.names[first:], apart=apart)

    @abstractmethod
    def known(self, variable: int) -> NDArray[np.bool_]:
        """Which records have a value of a variable, (N,)."""

    @cached_property
    def incomplete(self) -> NDArray[np.bool_]:
        """Which variables lack a value in some record, (n,)."""
        lacking = [self.gaps and not bool(self.known(v).all()) for v in range(self.variables)]
        return np.array(lacking, np.bool_)

    def counted(self, child: int, parents: Sequence[int]) -> NDArray[np.bool_] | None:
        """The records that a family is costed and fitted over, (N,): those in which the child was not set from outside
        and no value of the family is missing; None for all. InputError if values are latent."""
        if self.latent:
            raise of_latent()
        masks = [self.known(v) for v in (child, *parents) if self.incomplete[v]] if self.gaps else []
        if self.targets is not None and self.targets.setting(child):
            masks.append(self.targets.left(child))
        return np.logical_and.reduce(masks) if masks else None

    def alike_with(self, child: int, parents: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """What `counted` goes by: families of which this is the same are over the same records."""
        setting = () if self.targets is None else self.targets.setting(child)
        return setting, tuple(sorted(v for v in (child, *parents) if self.incomplete[v]) if self.gaps else ())

    @abstractmethod
    def taken(self, rows: NDArray[np.int64]) -> Self:
        """The data with these records, by their places, each as often as it is named."""

    @abstractmethod
    def distinct(self) -> tuple[Self, NDArray[np.int64]]:
        """The data with its records in a lexicographic order that depends on them as a multiset alone, and how many
        records each stands for, (d,) int64."""


@dataclass(frozen=True, eq=False)
class Dataset(Data):
    """N records of n discrete variables, encoded; N and n are at least 1. Compare data sets by `fingerprint`.

    Attributes
    ----------
    names : tuple of str
        n distinct names that are not empty.
    states : tuple of tuple of str
        states[j] are the distinct labels of variable j: the states that occur, or more where the user declared an
        arity.
    codes : ndarray of uint16, (N, n)
        In C order and record order; codes[i, j] is an index into states[j].
    source : str
        The file name, "<array>" or "<dataframe>".
    warnings : tuple of str
        Sentences for the user.
    layout : str
        How a file was read, such as "comma, header".
    treated : mapping of str to str
        What was made of columns, by their names, such as "decimal comma; quantile:4"; nothing of columns that were
        taken as they are.
    targets : Targets or None
        Which variables were set from outside; None if none was in any record.
    gaps : bool
        Whether values are missing, which is so where a code is the number of states.
    latent : bool
        Whether those that are missing are to be completed by a network, see `extbnsl.em`: no family has a cost before.
    slices : Slices or None
        What the rows of a time series are made of; None of records that are independent.
    weights : Weights or None
        What rows stand for; None where each is a record.
    """

    kind = STATES
    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    codes: NDArray[np.uint16]
    source: str
    warnings: tuple[str, ...] = ()
    layout: str = ""
    treated: Mapping[str, str] = field(default_factory=dict)
    targets: Targets | None = None
    gaps: bool = False
    latent: bool = False
    slices: Slices | None = None
    weights: Weights | None = None

    @property
    def records(self) -> int:
        """See `Data`."""
        return int(self.codes.shape[0])

    @property
    def record_bytes(self) -> int:
        """The bytes of a record."""
        return self.variables * self.codes.itemsize

    @cached_property
    def arities(self) -> NDArray[np.int64]:
        """Number of states of each variable, shape (n,)."""
        return np.fromiter(map(len, self.states), dtype=np.int64)

    @property
    def fingerprint(self) -> str:
        """Hex SHA-256 over names, states, shape and codes; O(N n), computed at each access.

        The same on every platform and for every integer dtype of the codes. Source, warnings and layout are
        left out: the same records read from a file or a DataFrame are the same data. Of a time series the number of
        lags, which says what is given, joins them.
        """
        head = [self.names, self.states, self.codes.shape, *_more(self)]
        return _digest(head, self.codes, "<u4", self.targets)

    def known(self, variable: int) -> NDArray[np.bool_]:
        """See `Data`."""
        return np.asarray(self.codes[:, variable] != len(self.states[variable]))

    @property
    def contents(self) -> str:
        """How many states the variables have, in words."""
        least, most = min(map(len, self.states)), max(map(len, self.states))
        states = counted(most, "state")
        if self.variables == 1:
            return states
        return f"{states} each" if least == most else f"{least} to {states}"

    def taken(self, rows: NDArray[np.int64]) -> Self:
        """See `Data`."""
        return replace(self, codes=self.codes[rows], targets=self.targets and self.targets.taken(rows))

    def distinct(self) -> tuple[Self, NDArray[np.int64]]:
        """See `Data`: the distinct records. Costs what `distinct_rows` does."""
        if self.targets is None:
            rows, weights = distinct_rows(self.codes)
            return replace(self, codes=rows), weights
        rows, weights = distinct_rows(np.column_stack([self.codes, self.targets.of]))
        targets = replace(self.targets, of=rows[:, -1].copy())
        return replace(self, codes=np.ascontiguousarray(rows[:, :-1]), targets=targets), weights


@dataclass(frozen=True, eq=False)
class Numbers(Data):
    """N records of n continuous variables; N and n are at least 1. Compare by `fingerprint`.

    Attributes
    ----------
    names : tuple of str
        n distinct names that are not empty.
    values : ndarray of float64, (N, n)
        In C order and record order, all finite and at most 1e150, but for gaps.
    source, warnings, layout, treated, targets, gaps, latent, slices, weights
        As in a `Dataset`; a value that is missing is no number.
    resolution : tuple of float
        The measurement error of each variable, a standard deviation; none if all numbers are exact.
    """

    kind = NUMBERS
    names: tuple[str, ...]
    values: NDArray[np.float64]
    source: str
    warnings: tuple[str, ...] = ()
    layout: str = ""
    treated: Mapping[str, str] = field(default_factory=dict)
    targets: Targets | None = None
    gaps: bool = False
    latent: bool = False
    slices: Slices | None = None
    weights: Weights | None = None
    resolution: tuple[float, ...] = ()

    @property
    def records(self) -> int:
        """See `Data`."""
        return int(self.values.shape[0])

    @property
    def record_bytes(self) -> int:
        """The bytes of a record."""
        return self.variables * self.values.itemsize

    @property
    def fingerprint(self) -> str:
        """Hex SHA-256 over names, shape and values; O(N n), computed at each access."""
        head = ["numbers", self.names, self.values.shape, *_more(self)]
        return _digest(head, self.values, "<f8", self.targets)

    def known(self, variable: int) -> NDArray[np.bool_]:
        """See `Data`."""
        return ~np.isnan(self.values[:, variable])

    @property
    def contents(self) -> str:
        """That they are numbers."""
        return "numbers"

    def taken(self, rows: NDArray[np.int64]) -> Self:
        """See `Data`."""
        return replace(self, values=self.values[rows], targets=self.targets and self.targets.taken(rows))

    def distinct(self) -> tuple[Self, NDArray[np.int64]]:
        """See `Data`: all records, for hardly two are the same. O(n N log N)."""
        own = () if self.targets is None else (self.targets.of,)
        return self.taken(np.lexsort((*own, *self.values.T[::-1]))), np.ones(self.records, np.int64)


@dataclass(frozen=True, eq=False)
class Mixed(Data):
    """N records of n variables, some of which have states and some numbers; N and n are at least 1.

    Attributes
    ----------
    names : tuple of str
        n distinct names that are not empty.
    states : tuple of tuple of str
        states[j] are the distinct labels of variable j as in a `Dataset`; none if it has numbers.
    codes : ndarray of uint16, (N, n)
        In C order and record order; codes[i, j] is an index into states[j], 0 where variable j has numbers.
    values : ndarray of float64, (N, n)
        In C order and record order, all finite and at most 1e150; 0 where variable j has states.
    source, warnings, layout, treated, targets, gaps, latent, slices, weights
        As in a `Dataset`; a number that is missing is none.
    resolution : tuple of float
        As of `Numbers`, 0 of variables of states.
    """

    kind = MIXED
    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    codes: NDArray[np.uint16]
    values: NDArray[np.float64]
    source: str
    warnings: tuple[str, ...] = ()
    layout: str = ""
    treated: Mapping[str, str] = field(default_factory=dict)
    targets: Targets | None = None
    gaps: bool = False
    latent: bool = False
    slices: Slices | None = None
    weights: Weights | None = None
    resolution: tuple[float, ...] = ()

    @property
    def records(self) -> int:
        """See `Data`."""
        return int(self.codes.shape[0])

    @property
    def record_bytes(self) -> int:
        """The bytes of a record."""
        return self.variables * (self.codes.itemsize + self.values.itemsize)

    @cached_property
    def arities(self) -> NDArray[np.int64]:
        """Number of states of each variable, 0 of one that has numbers, shape (n,)."""
        return np.fromiter(map(len, self.states), dtype=np.int64)

    @property
    def of_states(self) -> NDArray[np.bool_]:
        """Which variables have states, (n,)."""
        return np.array([bool(own) for own in self.states], np.bool_)

    @property
    def fingerprint(self) -> str:
        """Hex SHA-256 over names, states, shape, codes and values; O(N n), computed at each access."""
        head = [self.names, self.states, self.codes.shape, *_more(self)]
        return _digest(["mixed", _digest(head, self.codes, "<u4", self.targets)], self.values, "<f8", None)

    def known(self, variable: int) -> NDArray[np.bool_]:
        """See `Data`."""
        if self.states[variable]:
            return np.asarray(self.codes[:, variable] != len(self.states[variable]))
        return ~np.isnan(self.values[:, variable])

    @property
    def contents(self) -> str:
        """How many variables are of which kind, in words."""
        discrete = int(self.of_states.sum())
        return f"{discrete} of states, {self.variables - discrete} of numbers"

    def taken(self, rows: NDArray[np.int64]) -> Self:
        """See `Data`."""
        targets = self.targets and self.targets.taken(rows)
        return replace(self, codes=self.codes[rows], values=self.values[rows], targets=targets)

    def distinct(self) -> tuple[Self, NDArray[np.int64]]:
        """See `Data`: all records, for hardly two are the same. O(n N log N)."""
        own = () if self.targets is None else (self.targets.of,)
        return self.taken(np.lexsort((*own, *self.values.T[::-1], *self.codes.T[::-1]))), np.ones(
            self.records, np.int64
        )

    def discrete(self) -> Dataset:
        """The variables of states alone; there is one."""
        own = np.flatnonzero(self.of_states).tolist()
        return Dataset(
            tuple(self.names[j] for j in own),
            tuple(self.states[j] for j in own),
            np.ascontiguousarray(self.codes[:, own]),
            self.source,
            targets=self.targets and self.targets.among(own),
            gaps=self.gaps,
            slices=self.slices,
            weights=self.weights,
        )


def _more(data: Data) -> list[Any]:
    """What the fingerprint has more of a time series, of latent values (the same gaps ask another question), of rows
    that are no records, and of numbers with errors."""
    own = [] if data.slices is None else ["lags", data.slices.lags]
    own += ["latent"] if data.latent else []
    own += [] if data.weights is None else ["each", data.each]
    return [*own, "resolution", data.resolution] if data.resolution else own


def of_latent() -> InputError:
    """The refusal of latent values where there is no network to complete them by."""
    return InputError(
        asking("missing", "em"),
        " completes values by a network in rounds of a solve, by mdl, aic or gaussian-bic, and this takes records as "
        "they are; treat missing values in another way.",
    )


def _digest(head: list[Any], records: NDArray[Any], dtype: str, targets: Targets | None) -> str:
    if targets is not None:
        head = [*head, "targets", targets.sets]
    digest = hashlib.sha256(json.dumps(head, separators=(",", ":")).encode("ascii"))
    if targets is not None:
        digest.update(np.ascontiguousarray(targets.of, "<u4").data)
    for start in range(0, len(records), HASHED_RECORDS):
        part = records[start : start + HASHED_RECORDS]
        same = part + 0.0 if part.dtype.kind == "f" else part  # -0.0 is 0.0
        digest.update(np.ascontiguousarray(same, dtype=dtype).data)
    return digest.hexdigest()


@dataclass(frozen=True)
class Spread:
    """Where the numbers of a variable lie, in the units of the data, as network.json has it.

    mean: their mean.
    standard_deviation: the root of the mean squared deviation from it.
    smallest, largest: of them.
    """

    mean: float
    standard_deviation: float
    smallest: float
    largest: float


def apart_in(data: Data | None) -> NDArray[np.bool_] | None:
    """See `Targets.apart`; None where nothing was set from outside."""
    return None if data is None or data.targets is None else data.targets.apart(data.variables)


def state_counts(dataset: Dataset | Mixed) -> tuple[tuple[int, ...], ...]:
    """How many records have each state of each variable, in the order of `dataset.states`; none of one that has
    numbers. O(N n)."""
    found = list[tuple[int, ...]]()
    for codes, own in zip(dataset.codes.T, dataset.states, strict=True):
        counts = np.bincount(codes, minlength=len(own))[: len(own)]
        found.append(tuple(dataset.in_records(counts).tolist()))
    return tuple(found)


def spreads(numbers: Numbers) -> tuple[Spread, ...]:
    """Where the numbers of each variable lie. O(N n)."""
    return tuple(map(spread_of, numbers.values.T))


def spread_of(values: NDArray[np.float64]) -> Spread:
    """By centred and scaled numbers: neither an offset nor the unit harms it. Of those that there are."""
    values = values[~np.isnan(values)]
    mean = float(values[0] + (values - values[0]).mean())
    centred = values - mean
    scale = float(np.abs(centred).max()) or 1.0
    deviation = scale * math.sqrt(float(((centred / scale) ** 2).mean()))
    return Spread(mean, deviation, float(values.min()), float(values.max()))


WORD_BITS = 64


def distinct_rows(codes: NDArray[np.uint16]) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """The distinct rows of `codes` (N, n), in lexicographic order (column 0 first), and their weights.

    Returns rows (d, n) of the dtype of `codes`, in C order, and weights (d,) int64 that sum to N.
    O(N n + w N log N), w the number of 64-bit words that a row is packed into: bit fields as wide as the
    column needs, the first column in the highest bits, so that the order of the words is the order of rows.
    """
    if codes.shape[0] == 0:
        return np.ascontiguousarray(codes), np.zeros(0, dtype=np.int64)
    keys = _packed(codes)
    # lexsort takes its last key as the first to compare.
    order = np.lexsort(keys[::-1])
    changes = np.zeros(len(order), dtype=bool)
    changes[0] = True
    for key in keys:
        in_order = key[order]
        changes[1:] |= in_order[1:] != in_order[:-1]
    starts = np.flatnonzero(changes)
    weights = np.diff(starts, append=len(order)).astype(np.int64)
    return np.ascontiguousarray(codes[order[starts]]), weights


def _packed(codes: NDArray[np.uint16]) -> list[NDArray[np.uint64]]:
    """The rows as words, most significant first: each (N,) uint64; at least one word."""
    keys: list[NDArray[np.uint64]] = []
    free = 0
    for j, highest in enumerate(codes.max(axis=0).tolist() if codes.shape[1] else []):
        width = highest.bit_length()
        if width > free or not keys:
            keys.append(np.zeros(codes.shape[0], dtype=np.uint64))
            free = WORD_BITS
        free -= width
        keys[-1] |= codes[:, j].astype(np.uint64) << np.uint64(free) if width else np.uint64(0)
    return keys or [np.zeros(codes.shape[0], dtype=np.uint64)]
