"""From the columns of a source to a Dataset, by the user's rules."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from extbnsl.core.errors import InputError
from extbnsl.data.column import Column, check_names, listed, ordered, recoded
from extbnsl.data.dataset import Dataset
from extbnsl.data.missing import hints, mark_missing, missing_label, settle_missing
from extbnsl.data.reading import Reading
from extbnsl.data.states import settle_states
from extbnsl.data.treatment import Treatment, declare, selected
from extbnsl.data.weights import repeated, without_weights


def prepare(columns: Sequence[Column], source: str, wanted: Treatment, reading: Reading | None = None) -> Dataset:
    """The Dataset of `columns`, all of the same number of records, treated as `wanted`.

    First the choice of columns and of records, then missing values, then each record as often as its weight says, then
    the order of states, then declared arities (which exempt a column from what follows, as levels do), then intervals,
    then codes. Duplicate records stay: each is a record. A constant column stays, with a warning. Raises InputError as
    `selected`, `settle_missing`, `without_weights`, `repeated`, `declare` and `settle_states` do, and for no columns,
    no records and names that are empty or occur twice, BudgetError if the time of `reading` is up. O(N n).
    """
    reading = reading or Reading(memory=0)
    complete, of_missing = chosen_columns(columns, source, wanted, reading)
    in_order = [ordered(c) for c in reading.watched(source, complete)]
    declared, free = declare(in_order, wanted.arities, source)
    levels, free = tuple(c for c in free if c.levels), tuple(c for c in free if not c.levels)
    settled = settle_states(free, wanted, source)
    by_name = {column.name: _with_missing(column) for column in (*declared, *levels, *settled.columns)}
    final = [by_name[column.name] for column in complete]
    codes = np.empty((len(final[0].codes), len(final)), dtype=np.uint16)
    for j, column in enumerate(reading.watched(source, final)):
        codes[:, j] = column.codes
    return Dataset(
        names=tuple(column.name for column in final),
        states=tuple(column.values for column in final),
        codes=codes,
        source=source,
        warnings=(*of_missing, *settled.warnings, *hints(free), *_constants(final)),
    )


def chosen_columns(
    columns: Sequence[Column], source: str, wanted: Treatment, reading: Reading | None = None, states: bool = True
) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """The columns and records that are wanted, missing values settled and each record as often as its weight says; and
    warnings. Raises as `prepare` says. states: whether a missing value may be a state."""
    reading, weights = reading or Reading(memory=0), []
    if wanted.weights is not None:
        columns, own = without_weights(columns, wanted.weights, source)
        weights = [replace(own, codes=own.codes[: wanted.records])]
    columns = selected(columns, wanted, source)
    check_names([column.name for column in columns], source)
    if len(columns[0].codes) == 0:
        raise InputError(f"{source} has no records: give at least one row of data.")
    columns = [replace(column, codes=column.codes[: wanted.records]) for column in columns]
    marked = [mark_missing(c, wanted.markers) for c in reading.watched(source, columns)]
    complete, of_missing = settle_missing([*marked, *weights], wanted.missing, source, states)
    if weights:
        complete = tuple(repeated(complete[:-1], complete[-1], source, reading))
    return complete, of_missing


def _with_missing(column: Column) -> Column:
    """The column with a last state for the records that have no value, if there are any."""
    lacking = column.codes < 0
    if not lacking.any():
        return column
    states = (*column.values, missing_label(column.values))
    new_code = np.append(np.arange(len(states), dtype=np.int32), np.int32(len(column.values)))
    return Column(column.name, states, recoded(column.codes, new_code))


def _constants(columns: Sequence[Column]) -> tuple[str, ...]:
    """A warning that lists the columns of one state, if there are any."""
    names = [column.name for column in columns if len(column.values) == 1]
    if not names:
        return ()
    column, are, get = ("Column", "is", "gets") if len(names) == 1 else ("Columns", "are", "get")
    return (f"{column} {listed(names)} {are} constant (the same value in every record) and {get} no arcs.",)
