"""What the user asks to be made of the columns: which are used, what is missing, what is discrete, what is cut."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict

from extbnsl.arguments import check_whole
from extbnsl.data.column import Column, clean_name, listed
from extbnsl.data.discretise import Rule, parse_rule
from extbnsl.data.missing import MARKERS, check_rule
from extbnsl.errors import InputError

ALL = "all"  # for --discrete: every column

DEFAULT = ("missing", "refuse")

Texts = str | Sequence[str] | None  # "a,b" or ("a", "b")


class Rules(NamedTuple):
    """How to cut: the rule for columns that need it, if there is one, and the rules for columns by name."""

    plain: Rule | None
    named: Mapping[str, Rule]


@dataclass(frozen=True)
class Treatment:
    """What to make of the columns.

    missing: a rule of `missing.RULES`. markers: the texts that stand for a missing value. columns: the names of those
    to use, None for all; drop: of those to leave out; discrete: of those to take as they are, None for all. arities:
    declared numbers of states. records: how many to use, the first ones; None for all.
    weights: the column that says how many records each row stands for, and is no variable.
    """

    missing: str
    markers: frozenset[str]
    columns: tuple[str, ...] | None
    drop: tuple[str, ...]
    discrete: tuple[str, ...] | None
    rules: Rules
    arities: Mapping[str, int]
    records: int | None
    weights: str | None = None

    def uses(self, name: str) -> bool:
        """Whether the column of this name is used."""
        return (self.columns is None or name in self.columns) and name not in self.drop

    def is_discrete(self, name: str) -> bool:
        """Whether the user wants the column of this name as it is."""
        return self.discrete is None or name in self.discrete


class Options(TypedDict, total=False):
    """The options of every source of data.

    Those of several texts take a sequence, or one text with commas; in that, double quotes keep a comma in a name.
    `missing`: "refuse" (default), "drop" the record, or make it a "state". `na`: further texts that stand for a missing
    value. `columns`, `drop`: the columns to use and to leave out. `discrete`: columns to take as they are however many
    states they have, or "all". `discretise`: "mean", "quantile:k", "width:k" or "paper" for the columns that need it,
    and COLUMN=RULE for one column. `weights`: the column that says how many records each row stands for.
    """

    missing: str
    na: Texts
    columns: Texts
    drop: Texts
    discrete: Texts
    discretise: Texts
    weights: str | None


def chosen(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of reading data that are not as they are by default."""
    return {name: value for name, value in options.items() if value is not None and (name, value) != DEFAULT}


def treatment(
    *,
    missing: str = "refuse",
    na: Texts = None,
    columns: Texts = None,
    drop: Texts = None,
    discrete: Texts = None,
    discretise: Texts = None,
    arities: Mapping[str, int] | None = None,
    records: int | None = None,
    weights: str | None = None,
) -> Treatment:
    """The Treatment that these `Options` ask for, with declared numbers of states, of the first `records` alone.

    Raises InputError for rules that are unknown or exclude each other.
    """
    check_rule(missing)
    if records is not None:
        check_whole("--records", records, 1)
    _check_texts(na=na, columns=columns, drop=drop, discrete=discrete, discretise=discretise)
    if weights is not None and not isinstance(weights, str):
        raise InputError(f"--weights: {weights!r} is no name of a column.")
    rules = _rules(_texts(discretise))
    if discretise is not None and arities is not None:
        raise InputError("--arities declares the states that --discretise would change: give only one of them.")
    kept = _names(discrete)
    for name in sorted(set(kept) & set(rules.named)):
        raise InputError(f"--discrete and --discretise both name '{name}': give only one of them.")
    return Treatment(
        missing=missing,
        markers=MARKERS.union(_texts(na)),
        columns=None if columns is None else _names(columns),
        drop=_names(drop),
        discrete=None if kept == (ALL,) else kept,
        rules=rules,
        arities=arities or {},
        records=records,
        weights=None if weights is None else clean_name(weights),
    )


def selected(columns: Sequence[Column], wanted: Treatment, source: str) -> list[Column]:
    """The columns to use, in their order; InputError if an option names a column that is not there, or none is left."""
    there = [column.name for column in columns]
    named = {
        "columns": wanted.columns or (),
        "drop": wanted.drop,
        "discrete": wanted.discrete or (),
        "discretise": tuple(wanted.rules.named),
    }
    for option, names in named.items():
        for name in names:
            if name not in there:
                raise InputError(f"--{option}: {source} has no column '{name}'; its columns are {listed(there)}.")
    kept = [column for column in columns if wanted.uses(column.name)]
    if columns and not kept:
        raise InputError(f"{source}: --columns and --drop leave no column: leave at least one.")
    return kept


def _check_texts(**options: Any) -> None:
    """Raise InputError naming the first option whose value is no `Texts`."""
    for option, given in options.items():
        if given is not None and not isinstance(given, Iterable):
            raise InputError(f"--{option}: {given!r} is neither a text nor a sequence of texts.")


def _rules(texts: Sequence[str]) -> Rules:
    """The rules of --discretise; InputError for two of the same kind."""
    plain: Rule | None = None
    named: dict[str, Rule] = {}
    for text in texts:
        name, equals, rule = text.rpartition("=")
        name = clean_name(name)
        if equals and name in named:
            raise InputError(f"--discretise: there are two rules for '{name}': give one.")
        if equals:
            named[name] = parse_rule(rule.strip())
        elif plain is not None:
            raise InputError(f"--discretise: {plain} and {text} are for the same columns: name columns, as age={text}.")
        else:
            plain = parse_rule(text)
    return Rules(plain, named)


def _names(given: Texts) -> tuple[str, ...]:
    return tuple(clean_name(text) for text in _texts(given))


def _texts(given: Texts) -> tuple[str, ...]:
    """The texts that an option gives; empty ones are left out."""
    if given is None:
        return ()
    texts = next(csv.reader([clean_name(given)], skipinitialspace=True), []) if isinstance(given, str) else given
    return tuple(text for text in (str(text).strip() for text in texts) if text)
