"""From the columns of a source to a Dataset, or to Numbers, by the user's rules."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.arguments import written_number
from extbnsl.core.errors import InputError
from extbnsl.core.sentences import Mention, asking, dropped
from extbnsl.data.column import Column, check_names, listed, ordered
from extbnsl.data.dataset import LARGEST_NUMBER, Dataset, Numbers
from extbnsl.data.missing import hints, mark_missing, missing_label, settle_missing
from extbnsl.data.text import Reading
from extbnsl.data.treatment import PLAIN_STATES, Treatment, check_there, declare, selected

Made = TypeVar("Made", Dataset, Numbers)
Make = Callable[[Sequence[Column], str, Treatment, Reading], Made]  # as `prepare` and `measured` are
UNLIMITED = Reading(memory=0)  # of what is in memory already


def prepare(columns: Sequence[Column], source: str, wanted: Treatment, reading: Reading) -> Dataset:
    """The Dataset of `columns`, all of the same number of records, treated as `wanted`.

    First the choice of columns and of records, then missing values, then each record as often as its weight says, then
    the order of states, then declared arities (which are levels, and exempt a column from what follows), then
    intervals, then codes. Duplicate records stay: each is a record. A constant column stays, with a warning. Raises
    InputError as `selected`, `settle_missing`, `without_weights`, `repeated`, `declare` and `settle_states` do, and for
    no columns, no records and names that are empty or occur twice, BudgetError if the time of `reading` is up. O(N n).
    """
    complete, warnings = _chosen(columns, source, wanted, reading)
    in_order = list[Column]()
    for column in complete:
        reading.check_time(source)
        in_order.append(ordered(column))
    if wanted.arities:
        in_order = declare(in_order, wanted.arities, source)
    settled: Sequence[Column] = in_order
    if wanted.rules or any(len(column.values) > PLAIN_STATES for column in in_order):
        from extbnsl.data.states import settle_states

        settled, of_states = settle_states(in_order, wanted, source)
        warnings += of_states
    codes = np.empty((len(settled[0].codes), len(settled)), dtype=np.uint16)
    names, states, constant = list[str](), list[tuple[str, ...]](), list[str]()
    for j, column in enumerate(settled):
        reading.check_time(source)
        labels, lacking = column.values, column.codes < 0
        codes[:, j] = column.codes
        if lacking.any():
            codes[lacking, j], labels = len(labels), (*labels, missing_label(labels))
        names.append(column.name)
        states.append(labels)
        if len(labels) == 1:
            constant.append(column.name)
    warnings += hints(in_order)
    if constant:
        warnings += (_of_constant(constant),)
    return Dataset(tuple(names), tuple(states), codes, source, warnings)


def measured(columns: Sequence[Column], source: str, wanted: Treatment, reading: Reading) -> Numbers:
    """The Numbers of `columns`, all of the same number of records: the choice of columns and of records, missing values
    and weights as `prepare` has them.

    Raises InputError as that does, for options that make states, for a column that has no numbers, and for numbers
    beyond 1e150. O(N n).
    """
    _refuse_states(wanted)
    complete, warnings = _chosen(columns, source, wanted, reading, states=False)
    values = np.empty((len(complete[0].codes), len(complete)))
    for j, column in enumerate(complete):
        reading.check_time(source)
        values[:, j] = _meaning(column, source)[column.codes]
    return Numbers(tuple(column.name for column in complete), values, source, warnings)


def _chosen(
    columns: Sequence[Column], source: str, wanted: Treatment, reading: Reading, states: bool = True
) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """The columns and records that are wanted, missing values settled and each record as often as its weight says; and
    warnings. Raises as `prepare` says. states: whether a missing value may be a state."""
    weights = []
    if wanted.weights is not None:
        columns, own = without_weights(columns, wanted.weights, source)
        weights = [replace(own, codes=own.codes[: wanted.records])]
    columns = selected(columns, wanted, source)
    check_names([column.name for column in columns], source)
    if len(columns[0].codes) == 0:
        raise InputError(f"{source} has no records: give at least one row of data.")
    marked = list[Column]()
    for column in columns:
        reading.check_time(source)
        marked.append(mark_missing(replace(column, codes=column.codes[: wanted.records]), wanted.markers))
    complete, of_missing = settle_missing([*marked, *weights], wanted.missing, source, states)
    if weights:
        complete = tuple(repeated(complete[:-1], complete[-1], source, reading))
    return complete, of_missing


def _of_constant(names: Sequence[str]) -> str:
    """The warning of columns of one state."""
    column, are, get = ("Column", "is", "gets") if len(names) == 1 else ("Columns", "are", "get")
    return f"{column} {listed(names)} {are} constant (the same value in every record) and {get} no arcs."


def _refuse_states(wanted: Treatment) -> None:
    """Raise InputError for an option that makes states, naming it."""
    given = {
        Mention("discretise"): bool(wanted.rules),
        Mention("discrete"): wanted.discrete is None or bool(wanted.discrete),
        Mention("arities"): bool(wanted.arities),
        asking("missing", "state"): wanted.missing == "state",
    }
    for option, is_given in given.items():
        if is_given:
            raise InputError(
                option,
                " makes states of columns, and the score gaussian-bic takes numbers; leave it out, or take another "
                "score.",
            )


def _meaning(column: Column, source: str) -> NDArray[np.float64]:
    """The number of each value of a column, (values,) float64; InputError for one that occurs and is none."""
    meaning = np.zeros(len(column.values))
    for code in np.unique(column.codes).tolist():
        text = column.values[code]
        try:
            number = math.nan if "_" in text else float(text)
        except ValueError:
            number = math.nan
        if not abs(number) <= LARGEST_NUMBER:  # a nan fails as well
            row = int((column.codes == code).argmax()) + 1
            kind = "no number" if math.isnan(number) else f"beyond {LARGEST_NUMBER:g}"
            shown = repr(text) if math.isnan(number) else f"{number:g}"
            raise InputError(
                f"{source}: column {listed([column.name])} has {shown} in row {row} of the data, which is {kind}, and "
                f"the score gaussian-bic takes numbers",
                names=[column.name],
                value=text,
                row=row,
                advice=("take another score, or leave the column out", dropped([column.name])),
            )
        meaning[code] = number
    return meaning


MOST_RECORDS = (1 << 32) - 1  # that counting takes
COLUMN_BYTES = 2  # of a record, in each column of the data set


def without_weights(columns: Sequence[Column], name: str, source: str) -> tuple[list[Column], Column]:
    """The columns but the one of that name, and this, whose values are weights: how many records each row stands for.
    InputError if there is none, or it is the only one."""
    check_there("weights", [name], columns, source)
    if len(columns) == 1:
        raise _wrong_weights(f"{source} has no column but '{name}': give at least one variable.", name)
    own = next(column for column in columns if column.name == name)
    return [column for column in columns if column.name != name], own


def repeated(columns: Sequence[Column], weights: Column, source: str, reading: Reading) -> list[Column]:
    """The columns with each row as often as its weight says.

    Raises InputError if a weight is no whole number of at least 0, or all are 0; BudgetError if the records certainly
    take more than the memory of `reading`, if it says one.
    """
    times = _times(weights, source)
    records = int(times.sum())
    if records == 0:
        raise _wrong_weights(f"all weights in column '{weights.name}' of {source} are 0: give a record.", weights.name)
    if records > MOST_RECORDS:
        raise _wrong_weights(
            f"column '{weights.name}' of {source} stands for {records:,} records: divide the weights so that they sum "
            f"to {MOST_RECORDS:,} at most.",
            weights.name,
        )
    if reading.memory:
        needed = records * sum(COLUMN_BYTES + column.codes.itemsize for column in columns)
        reading.check_memory(source, needed, f"the {records:,} records that its weights stand for,")
    return [replace(column, codes=np.repeat(column.codes, times)) for column in columns]


def _times(column: Column, source: str) -> NDArray[np.int64]:
    """How often each row counts; InputError for a weight that is no whole number, or negative."""
    texts = (*column.values, "")  # the last: no value
    times = np.array(list(map(_whole, texts)), np.int64)[column.codes]
    if (times < 0).any():
        at = int((times < 0).argmax())
        text = texts[column.codes[at]]
        raise InputError(
            f"record {at + 1} of {source} has the weight {text!r} in column '{column.name}': give a whole number of at "
            "least 0.",
            option="weights",
            names=[column.name],
            value=text,
        )
    return times


def _whole(text: str) -> int:
    """The whole number that a text writes, -1 if it is none or too large."""
    whole, _, fraction = text.strip().removeprefix("+").partition(".")
    number = written_number(whole)
    return -1 if number is None or fraction.strip("0") else number


def _wrong_weights(sentence: str, name: str) -> InputError:
    return InputError(sentence, option="weights", names=[name])
