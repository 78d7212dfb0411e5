"""New records in the states of a data set that was read before: for scoring what a network was not learned from.

A value of the new records has the state that it had there. One that did not occur may still be a declared state; and in
a column of numbers that was cut it lies in one of the intervals, whose names tell where they end.
"""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.data.column import Column, narrowest
from extbnsl.data.dataset import Dataset
from extbnsl.data.encode import Made, Make
from extbnsl.data.missing import mark_missing
from extbnsl.data.text import Reading
from extbnsl.data.treatment import Treatment, selected

_INTERVAL = re.compile(r"^(?:<=(?P<most>.+)|>=(?P<from>.+)|>(?P<least>.+)|\((?P<low>[^,]+),(?P<high>[^,]+)\])$")
STATES_SHOWN = 8


@contextlib.contextmanager
def advice_for_new_records() -> Iterator[None]:
    """Let an InputError of a record say what helps where the columns and the rules are given."""
    try:
        yield
    except InputError as error:
        advice = error.advice if error.row is None else ["leave such records out"]
        option = "" if error.option == "columns" else error.option  # which nobody gave
        raise InputError(
            error.what, option=option, names=error.names, value=error.value, row=error.row, advice=advice
        ) from error


def encoded_alike(
    new: Dataset, raw: Dataset, known: Dataset, rows: NDArray[np.int64] | None = None
) -> NDArray[np.uint16]:
    """The codes (N, n) of new records by the states of a known data set, with 0 in its columns that they lack.

    rows: of the new records that are wanted, from 0; None for all. new, raw: as they stand, without any cutting; raw
    has the first records of `known`, or all, and its columns, in whatever order. Raises InputError, naming record and
    column, for a value that is in no state. O(N n).
    """
    of_new, of_raw = ({name: j for j, name in enumerate(data.names)} for data in (new, raw))
    assert of_new.keys() <= set(known.names) <= of_raw.keys(), "columns of the known ones"
    rows = np.arange(new.records) if rows is None else rows
    codes = np.zeros((rows.size, known.variables), np.uint16)
    for j, name in enumerate(known.names):
        if name in of_new:
            codes[:, j] = _column((of_new[name], of_raw[name], j), (new, raw, known), rows)
    return codes


def filling(make: Make[Made], filled: str | Mapping[str, str], gaps: dict[str, NDArray[np.bool_]]) -> Make[Made]:
    """What makes the same as `make` would if every missing value were this text, or that of its column; `gaps` gets
    which values of each column that is chosen are missing, (N,) bool, by its name."""

    def make_whole(columns: Sequence[Column], source: str, wanted: Treatment, reading: Reading) -> Made:
        whole = []
        for column in selected(columns, wanted, source):
            marked = mark_missing(column, wanted.markers_in(column.name))
            gaps[column.name] = marked.codes < 0
            text = filled if isinstance(filled, str) else filled[column.name]
            whole.append(_filled(marked, text) if gaps[column.name].any() else marked)
        return make(whole, source, wanted, reading)

    return make_whole


def _filled(column: Column, text: str) -> Column:
    """The column with this text where it has no value."""
    values = column.values if text in column.values else (*column.values, text)
    codes = column.codes.astype(narrowest(len(values)))
    codes[codes < 0] = values.index(text)
    return replace(column, values=values, codes=codes)


def state_of(text: str, labels: Sequence[str]) -> int:
    """The place among some states of the one that a value has: it is called so, or is that number, or an interval that
    holds it; -1 if there is none."""
    declared = {label: state for state, label in enumerate(labels)}
    numbers = {number: state for label, state in declared.items() if (number := _number(label)) is not None}
    return _state(text, declared, numbers, declared)


def _column(
    at: tuple[int, int, int], data: tuple[Dataset, Dataset, Dataset], rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The codes of a column, which is at these places in the data sets, in these rows."""
    (i, r, j), (new, raw, known) = at, data
    first = dict(zip(raw.codes[::-1, r].tolist(), known.codes[: raw.records][::-1, j].tolist(), strict=True))
    whole = {value: state for value, state in first.items() if value < len(raw.states[r])}  # others are missing
    before = {raw.states[r][value]: state for value, state in whole.items()}
    numbers = {number: state for text, state in before.items() if (number := _number(text)) is not None}
    declared = {text: state for state, text in enumerate(known.states[j])}
    found = np.array([_state(text, before, numbers, declared) for text in new.states[i]], np.int64)
    own = found[new.codes[rows, i]]
    if (own < 0).any():
        row = int(rows[(own < 0).argmax()])
        states = ", ".join(known.states[j][:STATES_SHOWN]) + (", ..." if len(known.states[j]) > STATES_SHOWN else "")
        raise InputError(
            f"{new.source}: record {row + 1} has {new.states[i][new.codes[row, i]]!r} in column '{known.names[j]}', "
            f"which is no state that the network knows ({states}): leave the record out, or learn from data that have "
            "it."
        )
    return own


def _state(text: str, before: Mapping[str, int], numbers: Mapping[float, int], declared: Mapping[str, int]) -> int:
    """The state of a value, -1 if it has none."""
    if text in before:
        return before[text]
    number = _number(text)
    if number is not None and number in numbers:
        return numbers[number]
    if text in declared or number is None:
        return declared.get(text, -1)
    return next((state for label, state in declared.items() if _is_inside(number, label)), -1)


def _number(text: str) -> float | None:
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _is_inside(number: float, label: str) -> bool:
    """Whether a number lies in the interval of this name."""
    found = _INTERVAL.match(label)
    if found is None:
        return False
    if found["from"]:
        begin = _number(found["from"])
        return begin is not None and number >= begin
    least, most = (_number(found[low] or found[high] or "") for low, high in (("least", "low"), ("most", "high")))
    return (least is None or number > least) and (most is None or number <= most) and (least, most) != (None, None)
