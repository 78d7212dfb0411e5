"""From the columns of a source to a Dataset, by the user's rules."""

from collections.abc import Mapping, Sequence

import numpy as np

from extbnsl.data.arities import declare
from extbnsl.data.column import Column, check_names, listed, ordered, recoded
from extbnsl.data.dataset import Dataset
from extbnsl.data.discretise import parse_rule, settle_states
from extbnsl.data.missing import check_rule, mark_missing, missing_label, settle_missing
from extbnsl.data.reading import Reading
from extbnsl.errors import InputError


def check_rules(missing: str, discretise: str | None, arities: object) -> None:
    """Refuse (InputError) unknown rules, and rules that exclude each other."""
    check_rule(missing)
    parse_rule(discretise)
    if discretise is not None and arities is not None:
        raise InputError(
            f"--arities declares the states that --discretise {discretise} would change: give only one of them."
        )


def prepare(
    columns: Sequence[Column],
    source: str,
    *,
    missing: str = "refuse",
    discretise: str | None = None,
    arities: Mapping[str, int] | None = None,
    reading: Reading | None = None,
) -> Dataset:
    """The Dataset of `columns`, all of the same number of records, by rules that passed `check_rules`.

    First missing values, then the order of states, then declared arities (which exempt a column from what
    follows), then intervals, then codes. Duplicate records stay: each is a record. A constant column stays,
    with a warning. Raises InputError as `settle_missing`, `declare` and `settle_states` do, and for no
    columns, no records and names that are empty or occur twice, BudgetError if the time of `reading` is up. O(N n).
    """
    reading = reading or Reading(memory=0)
    check_names([column.name for column in columns], source)
    if len(columns[0].codes) == 0:
        raise InputError(f"{source} has no records: give at least one row of data.")
    complete, of_missing = settle_missing([mark_missing(c) for c in reading.watched(source, columns)], missing, source)
    declared, free = declare([ordered(c) for c in reading.watched(source, complete)], arities or {}, source)
    settled, of_states = settle_states(free, parse_rule(discretise), source)
    by_name = {column.name: _with_missing(column) for column in (*declared, *settled)}
    final = [by_name[column.name] for column in columns]
    codes = np.empty((len(final[0].codes), len(final)), dtype=np.uint16)
    for j, column in enumerate(reading.watched(source, final)):
        codes[:, j] = column.codes
    return Dataset(
        names=tuple(column.name for column in final),
        states=tuple(column.values for column in final),
        codes=codes,
        source=source,
        warnings=(*of_missing, *of_states, *_constants(final)),
    )


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
    noun, verb = ("Column", "has") if len(names) == 1 else ("Columns", "have")
    return (f"{noun} {listed(names)} {verb} the same value in every record: no arc can matter there.",)
