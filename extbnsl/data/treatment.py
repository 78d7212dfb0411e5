"""What the user asks to be made of the columns: which are used, what is missing, what is discrete, what is cut, and
which states are declared.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from extbnsl.core.arguments import texts_of, written_number
from extbnsl.core.data_options import DataOptions, Texts
from extbnsl.core.errors import InputError
from extbnsl.core.sentences import Mention, asking, option
from extbnsl.data.column import Column, States, canonical, clean_name, listed, numbers_of
from extbnsl.data.missing import MARKERS

_EMPTY = re.compile(r'(?:^|,)\s*""\s*(?:,|$)')  # a text among others
ALL = "all"  # for --discrete: every column

DEFAULT = ("missing", "refuse")
MAX_PARTS = 64  # intervals
OTHER_FORMS = "quantile:k, width:k, paper"  # than mean


@dataclass(frozen=True)
class Rule:
    """How to cut: `method` is "mean", "quantile", "width" or "paper"; `parts` the number of intervals."""

    method: str
    parts: int = 2

    def __str__(self) -> str:
        """The rule as it is given."""
        return f"{self.method}:{self.parts}" if self.method in ("quantile", "width") else self.method


def parse_rule(text: str) -> Rule:
    """The rule that --discretise `text` asks for; InputError if it is none."""
    if text in ("mean", "paper"):
        return Rule(text)
    method, _, parts = text.partition(":")
    if method not in ("quantile", "width"):
        raise InputError(
            option("discretise", text), f" is unknown: use mean, {OTHER_FORMS}, or COLUMN=RULE for one column."
        )
    number = written_number(parts) or 0
    if not 2 <= number <= MAX_PARTS:
        raise InputError(
            option("discretise", text), f": give a number of intervals from 2 to {MAX_PARTS}, as {method}:3."
        )
    return Rule(method, number)


@dataclass(frozen=True)
class Writing:
    """How the texts of data write numbers.

    decimal: the mark before the decimals, None if nobody said it.
    thousands: the mark between thousands, None if nobody said it.
    units: texts that are taken off numbers.
    below: one of DETECTION_RULES for numbers written <x, or None.
    semicolons: whether semicolons separate the columns, so that a comma is no separator.
    """

    decimal: str | None = None
    thousands: str | None = None
    units: tuple[str, ...] = ()
    below: str | None = None
    semicolons: bool = False


@dataclass(frozen=True)
class Slicing:
    """How rows of a time series are made of records: see `Slices`; unit is None if all are of one series."""

    time: str
    unit: str | None
    lags: int
    instant: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that say when a record was taken, and whose it is."""
        return (self.time,) if self.unit is None else (self.time, self.unit)


Rules = Mapping[str | None, Rule]  # by names of columns; of None for those that need it and are not named


@dataclass(frozen=True)
class Treatment:
    """What to make of the columns.

    missing: one of MISSING_RULES.
    markers: the texts that stand for a missing value.
    markers_of: those that do so in the column of this name alone.
    columns: the names of those to use, None for all.
    drop: of those to leave out.
    discrete: of those to take as they are, None for all.
    rules: how to cut.
    states: declared states of columns, their names or how many there are.
    resolution: the measurement error of columns by their names; by None of those that are not named.
    records: how many to use, the first ones; None for all.
    weights: the column that says how many records each row stands for, and is no variable.
    imputation: the column that says which imputed table each row is of, and is no variable.
    targets: the column that names the variables which were set from outside, and is no variable.
    slicing: how rows of a time series are made of the records; None of records that are independent.
    writing: how texts write numbers.
    """

    missing: str = DEFAULT[1]
    markers: frozenset[str] = MARKERS
    markers_of: Mapping[str, frozenset[str]] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    discrete: tuple[str, ...] | None = ()
    rules: Rules = field(default_factory=dict)
    states: Mapping[str, States] = field(default_factory=dict)
    resolution: Mapping[str | None, float] = field(default_factory=dict)
    records: int | None = None
    weights: str | None = None
    imputation: str | None = None
    targets: str | None = None
    slicing: Slicing | None = None
    writing: Writing = Writing()

    def uses(self, name: str) -> bool:
        """Whether the column of this name is used."""
        return (self.columns is None or name in self.columns) and name not in self.drop

    def takes(self, column: Column) -> bool:
        """Whether a column is used, or says something of the records."""
        return self.reads(column.name)

    def reads(self, name: str) -> bool:
        """The same of the column of this name."""
        return self.uses(name) or name in self.of_records

    @property
    def of_records(self) -> dict[str, str]:
        """The columns that are no variables, as they say something of the records, with the options that name them."""
        own = {self.weights: "weights", self.imputation: "imputation", self.targets: "targets"}
        if self.slicing is not None:
            own |= {self.slicing.unit: "unit-column", self.slicing.time: "time-column"}
        return {name: option for name, option in own.items() if name is not None}

    def markers_in(self, name: str) -> frozenset[str]:
        """The texts that stand for a missing value in the column of this name; no state that is declared by its name
        does."""
        states = self.states.get(name)
        found = self.markers | self.markers_of[name] if name in self.markers_of else self.markers
        return found.difference(states) if isinstance(states, tuple) else found

    def errors_of(self, names: Sequence[str], of_states: Sequence[str] = ()) -> tuple[float, ...]:
        """The measurement errors of the columns of these names, 0 of those that have states; none if all are 0."""
        others = self.resolution.get(None, 0.0)
        errors = tuple(0.0 if name in of_states else self.resolution.get(name, others) for name in names)
        return errors if any(errors) else ()

    def is_discrete(self, name: str) -> bool:
        """Whether the user wants the column of this name as it is."""
        return self.discrete is None or name in self.discrete


def chosen(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of reading data that are not as they are by default."""
    return {name: value for name, value in options.items() if value is not None and (name, value) != DEFAULT}


def treatment(options: DataOptions) -> Treatment:
    """What the options ask for; InputError for what cannot be, and for rules that exclude each other."""
    options.check()
    if not chosen(vars(options)):
        return Treatment()
    for name in ("na", "unit", "columns", "drop", "discrete", "discretise"):
        given = getattr(options, name)
        if given is not None and not isinstance(given, Iterable):
            raise InputError(f"{given!r} is neither a text nor a sequence of texts.", option=name, value=given)
    for name in ("weights", "imputation", "targets", "time_column", "unit_column"):
        column = getattr(options, name)
        if column is not None and not isinstance(column, str):
            raise InputError(f"{column!r} is no name of a column.", option=name.replace("_", "-"), value=column)
    for name in ("targets", "imputation", "resolution"):
        if options.missing == "em" and getattr(options, name) is not None:
            raise InputError(asking("missing", "em"), " and ", Mention(name), " exclude each other; leave one out.")
    if options.imputation is not None:
        for name in ("weights", "time_column"):
            if getattr(options, name) is not None:
                both = (Mention("imputation"), " and ", Mention(name.replace("_", "-")))
                raise InputError(*both, " exclude each other; leave one out.")
    rules, kept, states = _rules(options.discretise), _names(options.discrete), declared_states(options.states)
    markers = _markers(_texts(options.na))
    for name, others in (("discrete", kept), ("states", states)):
        for column in sorted(set(others).intersection(rules)):
            both = (Mention(name), " and ", Mention("discretise"))
            raise InputError(*both, f" both name '{column}': give only one of them.", names=[column])
    return Treatment(
        missing=options.missing,
        markers=MARKERS.union(markers.pop("", ())),
        markers_of={name: frozenset(texts) for name, texts in markers.items()},
        columns=None if options.columns is None else _names(options.columns),
        drop=_names(options.drop),
        discrete=None if kept == (ALL,) else kept,
        rules=rules,
        states=states,
        resolution=_resolutions(options.resolution),
        records=options.records,
        weights=None if options.weights is None else clean_name(options.weights),
        imputation=None if options.imputation is None else clean_name(options.imputation),
        targets=None if options.targets is None else clean_name(options.targets),
        slicing=_slicing(options),
        writing=Writing(options.decimal, options.thousands, _texts(options.unit), options.below_detection),
    )


def _slicing(options: DataOptions) -> Slicing | None:
    """How rows of a time series are made; InputError for options that go with a time, or do not go with it."""
    time, unit = options.time_column, options.unit_column
    if time is None:
        for name in ("lags", "unit_column", "instant"):
            if getattr(options, name) is not None:
                raise InputError(
                    "it is for time series: say ",
                    Mention("time-column"),
                    " too, or leave it out.",
                    option=_FLAGS.get((name, getattr(options, name)), name.replace("_", "-")),
                )
        return None
    own = Slicing(
        clean_name(time), None if unit is None else clean_name(unit), options.lags or 1, options.instant is not False
    )
    of_families = {  # each costed over records of its own
        Mention("targets"): options.targets is not None,
        asking("missing", "average"): options.missing == "average",
        asking("missing", "em"): options.missing == "em",
    }
    for told in (one for one, is_given in of_families.items() if is_given):
        raise InputError(Mention("time-column"), " and ", told, " exclude each other; leave one out.")
    if own.time == own.unit:
        raise InputError(f"'{own.time}' says when a record was taken; name another column.", option="unit-column")
    return own


_FLAGS = {("instant", False): "no-instant"}


def selected(columns: Sequence[Column], wanted: Treatment, source: str) -> list[Column]:
    """The columns to use, in their order; InputError if an option names a column that is not there, or none is left."""
    _check_named("na", wanted.markers_of, columns, wanted, source)
    if wanted.columns is None and not (
        wanted.drop or wanted.discrete or wanted.rules or wanted.states or wanted.resolution
    ):
        return list(columns)
    given: dict[str, Iterable[str | None]] = {
        "columns": wanted.columns or (),
        "drop": wanted.drop,
        "discrete": wanted.discrete or (),
        "states": wanted.states,
        "discretise": wanted.rules,
        "resolution": wanted.resolution,
    }
    for option_of, names in given.items():
        _check_named(option_of, [name for name in names if name is not None], columns, wanted, source)
    kept = [column for column in columns if wanted.uses(column.name)]
    if columns and not kept:
        both = (Mention("columns"), " and ", Mention("drop"))
        raise InputError(f"{source}: ", *both, " leave no column: leave at least one.")
    return kept


def _check_named(option: str, names: Iterable[str], columns: Sequence[Column], wanted: Treatment, source: str) -> None:
    """As `check_there`, of columns that are to be variables; of a column that another option says to be none, as the
    data have it, say that."""
    named = list(names)
    for name in named:
        if name in wanted.of_records:
            by = Mention(wanted.of_records[name])
            told = f"column '{name}' of {source} is no variable, since ", by, " names it; leave it out of one of them."
            raise InputError(*told, option=option, names=[name])
    check_there(option, named, columns, source)


def check_there(option: str, names: Iterable[str], columns: Sequence[Column], source: str) -> None:
    """Raise InputError for one of the names, which an option gives, that no column has."""
    there = [column.name for column in columns]
    for name in names:
        if name not in there:
            sentence = f"{source} has no column '{name}'; its columns are {listed(there)}."
            raise InputError(sentence, option=option, names=[name])


def _markers(texts: Sequence[str]) -> dict[str, list[str]]:
    """The markers of --na by the names of their columns; those of all columns, among them texts such as >=5, by ""."""
    markers = dict[str, list[str]]()
    for text in canonical(texts):
        name, _, marker = text.rpartition("=")
        is_named = any(map(str.isalnum, name))
        markers.setdefault(clean_name(name) if is_named else "", []).append(marker.strip() if is_named else text)
    return markers


def _rules(given: Texts | Mapping[str, str] | None) -> Rules:
    """The rules of --discretise; InputError for two of the same kind."""
    rules: dict[str | None, Rule] = {}
    for text in [f"{name}={rule}" for name, rule in given.items()] if isinstance(given, Mapping) else _texts(given):
        name, equals, rule = text.rpartition("=")
        column = clean_name(name) if equals else None
        if column is not None and column in rules:
            raise InputError(f"there are two rules for '{column}': give one.", option="discretise", names=[column])
        if column in rules:
            both = f"{rules[column]} and {text} are for the same columns: name columns, as age={text}."
            raise InputError(both, option="discretise")
        rules[column] = parse_rule(rule.strip())
    return rules


def _resolutions(given: Texts | float | Mapping[str, float] | None) -> dict[str | None, float]:
    """The measurement errors by the names of columns; InputError for what is none, and for two of the same columns."""
    found = dict[str | None, float]()
    if isinstance(given, int | float):
        given = str(given)
    for text in [f"{name}={own}" for name, own in given.items()] if isinstance(given, Mapping) else _texts(given):
        name, equals, number = text.rpartition("=")
        column, error = clean_name(name) if equals else None, numbers_of([number.strip()])
        if error is None or error[0] < 0.0:
            raise InputError(option("resolution", text), " is no error; give a number of at least 0, or COLUMN=NUMBER.")
        if column in found:
            which = "columns that are not named" if column is None else f"'{column}'"
            raise InputError(f"there are two numbers for {which}: give one.", option="resolution")
        found[column] = float(error[0])
    return found


def _names(given: Texts | None) -> tuple[str, ...]:
    """The names that an option gives: that of a column without a name is empty, in a text with others it is quoted."""
    names = tuple(map(clean_name, _texts(given)))
    if isinstance(given, str):
        return (*names, "") if not given.strip() or _EMPTY.search(given) else names
    return (*names, "") if given is not None and "" in given else names


def _texts(given: Texts | None) -> tuple[str, ...]:
    """The texts that an option gives; empty ones are left out."""
    if given is None:
        return ()
    texts = texts_of(given) if isinstance(given, str) else given
    return tuple(text for text in (str(text).strip() for text in texts) if text)


PLAIN_STATES = 10  # columns of no more states are discrete variables as they stand, but where a rule cuts them


def declared_states(given: str | PathLike[str] | Mapping[str, Any] | None) -> Mapping[str, States]:
    """The states that a file or a mapping declares, by the names of their columns; InputError for what cannot be."""
    if given is None:
        return {}
    from extbnsl.data.declared import read_states, states_of

    return read_states(given) if isinstance(given, str | PathLike) else states_of(given, "states")
