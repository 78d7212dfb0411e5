"""States that are declared: those that a column has although they may not occur, and their order."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from extbnsl.core.arguments import written_number
from extbnsl.core.errors import InputError
from extbnsl.core.figures import counted
from extbnsl.core.sentences import NAMES_SHOWN
from extbnsl.data.column import (
    LARGEST_ARITY,
    Column,
    States,
    check_names,
    clean_name,
    has_fractions,
    numbers_of,
    ordered,
    recoded,
)
from extbnsl.data.text import Lines, numbered_rows, read_text

MAPPINGS = (".yaml", ".yml", ".json")  # suffixes of files with a mapping
DELIMITERS = ",;\t"  # of names and numbers, where they are no blanks
SHOWN = 60  # characters of what declares nothing


def read_states(path: str | PathLike[str]) -> dict[str, States]:
    """The states that a file declares: a mapping in YAML or JSON, if its name says so, of names of columns to lists of
    states or their numbers; else a line of names and a line of numbers.

    Texts are those that stand there: `no` is "no". Raises InputError on anything else.
    """
    if Path(path).suffix.lower() not in MAPPINGS:
        return _of_two_lines(path)
    from extbnsl.files.yaml_file import error_of, read_yaml

    located = read_yaml(Path(path), as_written=True)
    if located.problems:
        raise error_of(Path(path), located, located.problems)
    return states_of(located.value, str(path))


def states_of(given: Any, who: str) -> dict[str, States]:
    """The states that a mapping declares, called `who` in sentences; InputError for what cannot be."""
    if not isinstance(given, Mapping):
        raise InputError(f"{who} declares no states: give a mapping of columns to lists, or numbers, of states.")
    found = {clean_name(str(name)): _states(clean_name(str(name)), own, who) for name, own in given.items()}
    if len(found) < len(given):
        raise InputError(f"{who} declares the states of a column twice: give each column once.")
    return found


def with_states(column: Column, declared: States, source: str) -> Column:
    """The column with the declared states for levels; a number r of them declares 0 to r-1 or 1 to r, which the column
    has, or those that occur, if they are r.

    Raises InputError naming value and row for a state that occurs and is not declared, and for an r that does not tell
    which states there are.
    """
    states = declared if isinstance(declared, tuple) else _numbered(column, declared, source)
    place = {text: code for code, text in enumerate(states)}
    numbers = numbers_of(states)
    by_number = {} if numbers is None else dict(zip(numbers.tolist(), range(len(states)), strict=True))
    codes = np.array([_place(text, place, by_number) for text in column.values], np.int64)
    wrong = (column.codes >= 0) & (codes[column.codes] < 0) if len(codes) else np.zeros(0, np.bool_)
    if wrong.any():
        row = int(wrong.argmax())
        value = column.values[column.codes[row]]
        raise InputError(
            f"{source}: column '{column.name}' has {value!r} in row {row + 1} of the data, which is none of its "
            f"declared states ({_listed(states)}): correct the value, or declare it.",
            names=[column.name],
            value=value,
            row=row + 1,
        )
    return replace(recoded(column, codes, states), levels=True)


def _place(text: str, place: Mapping[str, int], by_number: Mapping[float, int]) -> int:
    """The code of a value, -1 if it has none; "1.0" is the state "1"."""
    if text in place:
        return place[text]
    number = numbers_of([text]) if by_number else None
    return -1 if number is None else by_number.get(float(number[0]), -1)


def _numbered(column: Column, arity: int, source: str) -> tuple[str, ...]:
    """The states of a column that is to have so many; InputError if that does not tell which."""
    own = ordered(replace(column, levels=False))
    if own.numbers is not None and len(own.numbers) and not has_fractions(own):
        least, most = int(own.numbers[0]), int(own.numbers[-1])
        for first in (0, 1):
            if first <= least and most < first + arity:
                return tuple(map(str, range(first, first + arity)))
    if len(own.values) == arity:
        return own.values
    states = f"{counted(len(own.values), 'state')} ({_listed(own.values)})" if own.values else "no state"
    declared = f"{source}: column '{column.name}' has {states}, and {arity} are declared by their number"
    if len(own.values) > arity:
        raise InputError(f"{declared}: declare at least {len(own.values)}.", names=[column.name], value=arity)
    raise InputError(
        f"{declared}, which does not tell the others unless they are 0 to {arity - 1} or 1 to {arity}: declare all by "
        f"their names, as {column.name}: [{', '.join(own.values[:2])}, ...] in a YAML file.",
        names=[column.name],
        value=arity,
    )


def _states(name: str, own: Any, who: str) -> States:
    """What is declared of a column."""
    if isinstance(own, Sequence | np.ndarray) and not isinstance(own, str | bytes):
        texts = tuple(_text(name, one, who) for one in own)
        if not texts or len(set(texts)) < len(texts):
            what = "no states" if not texts else f"the state {next(t for t in texts if texts.count(t) > 1)!r} twice"
            raise InputError(f"{who} declares {what} for '{name}': name each state once.", names=[name])
        if len(texts) <= LARGEST_ARITY:
            return texts
        own = len(texts)
    return _arity(name, str(own), who)


def _text(name: str, state: Any, who: str) -> str:
    if state is None or isinstance(state, Mapping | list | tuple):
        raise InputError(f"{who} declares {state!r} as a state of '{name}': give a text or a number.", names=[name])
    return (str(int(state)) if isinstance(state, float) and state.is_integer() else str(state)).strip()


def _arity(name: str, text: str, who: str) -> int:
    number = written_number(text) or 0
    if not 1 <= number <= LARGEST_ARITY:
        raise InputError(
            f"{who}: the arity '{text[:SHOWN]}' of '{name}' is no whole number from 1 to {LARGEST_ARITY}: "
            "correct it, or list the names of its states.",
            names=[name],
            value=text,
        )
    return number


def _of_two_lines(path: str | PathLike[str]) -> dict[str, States]:
    text = read_text(path).strip()
    delimiter = next((mark for mark in DELIMITERS if mark in text.partition("\n")[0]), " ")
    found = numbered_rows([text.encode()], delimiter, Lines(str(path)))
    rows = [row for row, _ in found if any(map(str.strip, row))]
    if len(rows) != 2:
        raise InputError(
            f"{path} has {counted(len(rows), 'line')} where two are expected, names and numbers of states; a file that "
            f"lists states is YAML or JSON, and its name ends in {', '.join(MAPPINGS)}."
        )
    names, numbers = ([clean_name(field) for field in row] for row in rows)
    check_names(names, str(path))
    if len(names) != len(numbers):
        given = f"{counted(len(names), 'name')} but {counted(len(numbers), 'arity', 'arities')}"
        raise InputError(f"{path} has {given}: give one for each name.")
    return {name: _arity(name, number, str(path)) for name, number in zip(names, numbers, strict=True)}


def _listed(states: Sequence[str]) -> str:
    return ", ".join(states[:NAMES_SHOWN]) + (", ..." if len(states) > NAMES_SHOWN else "")
