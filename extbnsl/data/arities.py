"""Declared arities: states that a variable has although they may not occur."""

from collections.abc import Mapping, Sequence
from os import PathLike

import numpy as np

from extbnsl.arguments import written_number
from extbnsl.data.column import Column, check_names, clean_name, has_fractions, recoded
from extbnsl.data.text import read_text
from extbnsl.errors import InputError
from extbnsl.figures import counted

SHOWN = 60  # characters of what is no arity
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
