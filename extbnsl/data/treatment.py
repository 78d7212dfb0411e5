"""What the user asks to be made of the columns: which are used, what is missing, what is discrete, what is cut; and
the arities that are declared: states that a variable has although they may not occur.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from extbnsl.core.arguments import written_number
from extbnsl.core.data_options import DataOptions, Texts
from extbnsl.core.errors import InputError
from extbnsl.core.figures import counted
from extbnsl.core.sentences import Mention
from extbnsl.data.column import Column, check_names, clean_name, has_fractions, listed, recoded
from extbnsl.data.discretise import Rule, parse_rule
from extbnsl.data.missing import MARKERS
from extbnsl.data.text import read_text

ALL = "all"  # for --discrete: every column

DEFAULT = ("missing", "refuse")


class Rules(NamedTuple):
    """How to cut: the rule for columns that need it, if there is one, and the rules for columns by name."""

    plain: Rule | None
    named: Mapping[str, Rule]


@dataclass(frozen=True)
class Treatment:
    """What to make of the columns.

    missing: one of MISSING_RULES.
    markers: the texts that stand for a missing value.
    columns: the names of those to use, None for all.
    drop: of those to leave out.
    discrete: of those to take as they are, None for all.
    rules: how to cut.
    arities: declared numbers of states.
    records: how many to use, the first ones; None for all.
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


def chosen(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of reading data that are not as they are by default."""
    return {name: value for name, value in options.items() if value is not None and (name, value) != DEFAULT}


def treatment(options: DataOptions) -> Treatment:
    """What the options ask for; InputError for what cannot be, and for rules that exclude each other."""
    options.check()
    for name in ("na", "columns", "drop", "discrete", "discretise"):
        _check_texts(name, getattr(options, name))
    weights = options.weights
    if weights is not None and not isinstance(weights, str):
        raise InputError(f"{weights!r} is no name of a column.", option="weights", value=weights)
    rules = _rules(_texts(options.discretise))
    if options.discretise is not None and options.arities is not None:
        what = (Mention("arities"), " declares the states that ", Mention("discretise"), " would change")
        raise InputError(*what, ": give only one of them.")
    kept = _names(options.discrete)
    for name in sorted(set(kept) & set(rules.named)):
        both = (Mention("discrete"), " and ", Mention("discretise"))
        raise InputError(*both, f" both name '{name}': give only one of them.", names=[name])
    return Treatment(
        missing=options.missing,
        markers=MARKERS.union(_texts(options.na)),
        columns=None if options.columns is None else _names(options.columns),
        drop=_names(options.drop),
        discrete=None if kept == (ALL,) else kept,
        rules=rules,
        arities=_arities(options.arities),
        records=options.records,
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
                raise InputError(
                    f"{source} has no column '{name}'; its columns are {listed(there)}.", option=option, names=[name]
                )
    kept = [column for column in columns if wanted.uses(column.name)]
    if columns and not kept:
        both = (Mention("columns"), " and ", Mention("drop"))
        raise InputError(f"{source}: ", *both, " leave no column: leave at least one.")
    return kept


def _check_texts(option: str, given: Any) -> None:
    """Raise InputError for what is neither a text nor several."""
    if given is not None and not isinstance(given, Iterable):
        raise InputError(f"{given!r} is neither a text nor a sequence of texts.", option=option, value=given)


def _rules(texts: Sequence[str]) -> Rules:
    """The rules of --discretise; InputError for two of the same kind."""
    plain: Rule | None = None
    named: dict[str, Rule] = {}
    for text in texts:
        name, equals, rule = text.rpartition("=")
        name = clean_name(name)
        if equals and name in named:
            raise InputError(f"there are two rules for '{name}': give one.", option="discretise", names=[name])
        if equals:
            named[name] = parse_rule(rule.strip())
        elif plain is not None:
            both = f"{plain} and {text} are for the same columns: name columns, as age={text}."
            raise InputError(both, option="discretise")
        else:
            plain = parse_rule(text)
    return Rules(plain, named)


def _names(given: Texts | None) -> tuple[str, ...]:
    return tuple(clean_name(text) for text in _texts(given))


def _texts(given: Texts | None) -> tuple[str, ...]:
    """The texts that an option gives; empty ones are left out."""
    if given is None:
        return ()
    texts = next(csv.reader([clean_name(given)], skipinitialspace=True), []) if isinstance(given, str) else given
    return tuple(text for text in (str(text).strip() for text in texts) if text)


SHOWN = 60  # characters of what is no arity
LARGEST_ARITY = 65_535  # codes are uint16, and a state for missing values may come on top


def _arities(given: str | PathLike[str] | Mapping[str, int] | None) -> Mapping[str, int]:
    """The arities that are declared, or those in a file of them."""
    if given is None or isinstance(given, Mapping):
        return given or {}
    return read_arities(given)


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


def declare(
    columns: Sequence[Column], arities: Mapping[str, int], source: str
) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    """The columns that `arities` names with the states "0" to "r-1", and the others: two tuples.

    The columns are `ordered`; a column not named in `arities` has the states that occur. Raises InputError
    for a name that is no column, for states that are not whole numbers from 0, and for an arity too small.
    """
    unknown = sorted(set(arities) - {column.name for column in columns})
    if unknown:
        raise InputError(f"{source} has no column '{unknown[0]}', for which an arity is declared: correct the name.")
    declared = tuple(_with_arity(c, arities[c.name], source) for c in columns if c.name in arities)
    return declared, tuple(c for c in columns if c.name not in arities)


def _with_arity(column: Column, arity: int, source: str) -> Column:
    """The column with states "0" to str(arity - 1)."""
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
    new_code = np.array([*(int(value) for value in numbers), -1], dtype=np.int32)
    return Column(column.name, tuple(str(i) for i in range(arity)), recoded(column.codes, new_code))
