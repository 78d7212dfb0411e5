"""What the user asks to be made of the columns: which are used, what is missing, what is discrete, what is cut; and
the arities that are declared: states that a variable has although they may not occur.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

from extbnsl.core.arguments import texts_of, written_number
from extbnsl.core.data_options import DataOptions, Texts
from extbnsl.core.errors import InputError
from extbnsl.core.figures import counted
from extbnsl.core.sentences import Mention, option
from extbnsl.data.column import Column, canonical, check_names, clean_name, has_fractions, listed, recoded
from extbnsl.data.missing import MARKERS
from extbnsl.data.text import read_text

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
    arities: declared numbers of states.
    records: how many to use, the first ones; None for all.
    weights: the column that says how many records each row stands for, and is no variable.
    writing: how texts write numbers.
    """

    missing: str = DEFAULT[1]
    markers: frozenset[str] = MARKERS
    markers_of: Mapping[str, frozenset[str]] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    discrete: tuple[str, ...] | None = ()
    rules: Rules = field(default_factory=dict)
    arities: Mapping[str, int] = field(default_factory=dict)
    records: int | None = None
    weights: str | None = None
    writing: Writing = Writing()

    def uses(self, name: str) -> bool:
        """Whether the column of this name is used."""
        return (self.columns is None or name in self.columns) and name not in self.drop

    def markers_in(self, name: str) -> frozenset[str]:
        """The texts that stand for a missing value in the column of this name."""
        return self.markers | self.markers_of[name] if name in self.markers_of else self.markers

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
    weights, arities = options.weights, options.arities
    if weights is not None and not isinstance(weights, str):
        raise InputError(f"{weights!r} is no name of a column.", option="weights", value=weights)
    rules = _rules(_texts(options.discretise))
    if options.discretise is not None and arities is not None:
        what = (Mention("arities"), " declares the states that ", Mention("discretise"), " would change")
        raise InputError(*what, ": give only one of them.")
    kept, markers = _names(options.discrete), _markers(_texts(options.na))
    for name in sorted(set(kept).intersection(rules)):
        both = (Mention("discrete"), " and ", Mention("discretise"))
        raise InputError(*both, f" both name '{name}': give only one of them.", names=[name])
    if arities is not None and not isinstance(arities, Mapping):
        arities = read_arities(arities)
    return Treatment(
        missing=options.missing,
        markers=MARKERS.union(markers.pop("", ())),
        markers_of={name: frozenset(texts) for name, texts in markers.items()},
        columns=None if options.columns is None else _names(options.columns),
        drop=_names(options.drop),
        discrete=None if kept == (ALL,) else kept,
        rules=rules,
        arities=arities or {},
        records=options.records,
        weights=None if weights is None else clean_name(weights),
        writing=Writing(options.decimal, options.thousands, _texts(options.unit), options.below_detection),
    )


def selected(columns: Sequence[Column], wanted: Treatment, source: str) -> list[Column]:
    """The columns to use, in their order; InputError if an option names a column that is not there, or none is left."""
    check_there("na", wanted.markers_of, columns, source)
    if wanted.columns is None and not (wanted.drop or wanted.discrete or wanted.rules):
        return list(columns)
    check_there("columns", wanted.columns or (), columns, source)
    check_there("drop", wanted.drop, columns, source)
    check_there("discrete", wanted.discrete or (), columns, source)
    check_there("discretise", [name for name in wanted.rules if name is not None], columns, source)
    kept = [column for column in columns if wanted.uses(column.name)]
    if columns and not kept:
        both = (Mention("columns"), " and ", Mention("drop"))
        raise InputError(f"{source}: ", *both, " leave no column: leave at least one.")
    return kept


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


def _rules(texts: Sequence[str]) -> Rules:
    """The rules of --discretise; InputError for two of the same kind."""
    rules: dict[str | None, Rule] = {}
    for text in texts:
        name, equals, rule = text.rpartition("=")
        column = clean_name(name) if equals else None
        if column is not None and column in rules:
            raise InputError(f"there are two rules for '{column}': give one.", option="discretise", names=[column])
        if column in rules:
            both = f"{rules[column]} and {text} are for the same columns: name columns, as age={text}."
            raise InputError(both, option="discretise")
        rules[column] = parse_rule(rule.strip())
    return rules


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


SHOWN = 60  # characters of what is no arity
PLAIN_STATES = 10  # columns of no more states are discrete variables as they stand, but where a rule cuts them
LARGEST_ARITY = 65_535  # codes are uint16, and a state for missing values may come on top


def read_arities(path: str | PathLike[str]) -> dict[str, int]:
    """The arities that a file declares: a line of names and a line of whole numbers, comma separated.

    Raises InputError on anything else.
    """
    lines = [line for line in read_text(path).splitlines() if line.strip()]
    if len(lines) != 2:
        raise InputError(
            f"{path} has {counted(len(lines), 'line')} where two are expected: names and arities, separated by commas."
        )
    names, numbers = ([clean_name(field.strip().strip('"')) for field in line.split(",")] for line in lines)
    check_names(names, str(path))
    if len(names) != len(numbers):
        given = f"{counted(len(names), 'name')} but {counted(len(numbers), 'arity', 'arities')}"
        raise InputError(f"{path} has {given}: give one for each name.")
    for name, text in zip(names, numbers, strict=True):
        if not 1 <= (written_number(text) or 0) <= LARGEST_ARITY:
            raise InputError(
                f"{path}: the arity '{text[:SHOWN]}' of '{name}' is no whole number from 1 to {LARGEST_ARITY}: "
                "correct it."
            )
    return {name: int(text) for name, text in zip(names, numbers, strict=True)}


def declare(columns: Sequence[Column], arities: Mapping[str, int], source: str) -> list[Column]:
    """The columns, which are `ordered`; those that `arities` names have the levels "0" to "r-1".

    Raises InputError for a name that is no column, for states that are not whole numbers from 0, and for an arity too
    small.
    """
    unknown = sorted(set(arities) - {column.name for column in columns})
    if unknown:
        raise InputError(f"{source} has no column '{unknown[0]}', for which an arity is declared: correct the name.")
    return [_with_arity(c, arities[c.name], source) if c.name in arities else c for c in columns]


def _with_arity(column: Column, arity: int, source: str) -> Column:
    """The column with levels "0" to str(arity - 1)."""
    numbers = [] if column.numbers is None else column.numbers.tolist()
    if len(numbers) != len(column.values) or has_fractions(column) or min(numbers, default=0) < 0:
        raise InputError(
            f"{source}: column '{column.name}' has a declared arity, but its states are not the whole "
            f"numbers 0 to {arity - 1}: recode it, or declare no arity for it."
        )
    if numbers and numbers[-1] >= arity:
        raise InputError(
            f"{source}: column '{column.name}' has the state {column.values[-1]}, too large for its declared "
            f"arity {arity}: declare at least {int(numbers[-1]) + 1}."
        )
    return replace(recoded(column, [int(value) for value in numbers], map(str, range(arity))), levels=True)
