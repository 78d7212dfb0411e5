"""Missing values: what counts as one, what becomes of them, and what only looks like one."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from extbnsl.core.errors import InputError
from extbnsl.core.sentences import Mention, Sentence, asking, dropped, option
from extbnsl.data.column import Column, listed, recoded

# "None" is not among them: published networks have a state of that name.
MARKERS = frozenset({"", "?", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "NaT", "null", "NULL", "<NA>"})
Advice = tuple[str | Mention, ...]
AS_STATE, WITHOUT = asking("missing", "state"), asking("missing", "drop")
STATE = "missing"


def mark_missing(column: Column, markers: frozenset[str]) -> Column:
    """The column with code -1 wherever the text is one of the markers; levels are what they are called."""
    if column.levels or markers.isdisjoint(column.values):
        return column
    return recoded(column, [-1 if text in markers else code for code, text in enumerate(column.values)], column.values)


def settle_missing(
    columns: Sequence[Column], rule: str, source: str, states: bool = True
) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """Refuse missing values, drop the records that have one, or leave them for a state of their own.

    `rule` is one of MISSING_RULES; states: whether a state is possible. Returns the columns and warnings. Raises
    InputError with the count, the columns and the first row under "refuse", and if "drop" leaves no record.
    """
    counts = [int(np.count_nonzero(column.codes < 0)) for column in columns]
    if not any(counts) or rule == "state":
        return tuple(columns), ()
    lacking = np.zeros(len(columns[0].codes), dtype=np.bool_)
    for column in columns:
        lacking |= column.codes < 0
    records, lacked = len(lacking), int(lacking.sum())
    if rule == "drop":
        if lacked == records:
            what = f"{source}: every one of the {records:,} records has a missing value, so "
            raise InputError(what, WITHOUT, " leaves nothing", advice=_leave_out(columns, counts, states))
        kept = tuple(replace(column, codes=column.codes[~lacking]) for column in columns)
        were = "was" if lacked == 1 else "were"
        return kept, (f"{lacked:,} of {records:,} records {were} dropped because a value is missing.",)
    names = [column.name for column, count in zip(columns, counts, strict=True) if count]
    row = int(lacking.argmax()) + 1
    raise InputError(
        f"{source}: {sum(counts):,} value{'s are' if sum(counts) > 1 else ' is'} missing, in "
        f"column{'s' if len(names) > 1 else ''} {listed(names)}, first in row {row} of the data",
        names=names,
        row=row,
        advice=_advice(columns, counts, lacked, states),
    )


def _advice(columns: Sequence[Column], counts: Sequence[int], lacked: int, states: bool) -> Advice:
    """What to do about missing values in columns that lack so many; `lacked` records lack one."""
    records = len(columns[0].codes)
    if records in counts:
        empty = [column.name for column, count in zip(columns, counts, strict=True) if count == records]
        which = "which has" if len(empty) == 1 else "which have"
        return f"leave out {listed(empty)}, {which} no value at all", dropped(empty, ", with ")
    if lacked == records:
        return _leave_out(columns, counts, states)
    other = (" or ", AS_STATE) if states else ()
    return "use ", WITHOUT, f" (leaves out {lacked:,} of {records:,} records)", *other


def _leave_out(columns: Sequence[Column], counts: Sequence[int], states: bool) -> Advice:
    """The advice to leave out the column that lacks most."""
    most = max(counts)
    column = columns[counts.index(most)]
    which = f"columns such as '{column.name}', which lacks {most:,} of {len(column.codes):,} values"
    use = ("use ", AS_STATE, ", or ") if states else ()
    return *use, f"leave out {which}", dropped([column.name], ", with ")


def missing_label(labels: Sequence[str]) -> str:
    """A label for the state of missing values that is not among `labels`."""
    label = STATE
    while label in labels:
        label += "_"
    return label


# What other programs write for a missing value, and people for states: SAS, Stata, spreadsheets, Python, instruments.
SUSPECTS = frozenset({".", "-", "--", "*", "#N/A", "#NA", "#NULL!", "#VALUE!", "n.a.", "N.A.", "na", "None"})
SUSPECT_NUMBERS = (-99, -999, -9999)  # where no other number is negative
MOST_STATES = 256  # looked at: texts of more states are not typed by hand


def hints(columns: Sequence[Column]) -> tuple[str, ...]:
    """Warnings of values in `ordered` columns that may stand for missing values, or for one another."""
    return _of_markers(columns) + _of_case(columns)


def _of_markers(columns: Sequence[Column]) -> tuple[str, ...]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for column in columns:
        for text in SUSPECTS.intersection(column.values):
            found[text].append(column.name)
        if column.numbers is not None and len(column.numbers) > 1 and column.numbers[0] < 0 <= column.numbers[1]:
            found[column.values[0]] += [column.name] * (column.numbers[0] in SUSPECT_NUMBERS)
    return tuple(
        Sentence(
            f"The value '{text}' of column{'s' if len(names) > 1 else ''} {listed(names)} was taken as a state: say ",
            option("na", text),
            " if it stands for a missing value.",
        )
        for text, names in sorted(found.items())
        if names
    )


def _of_case(columns: Sequence[Column]) -> tuple[str, ...]:
    """One warning of the columns with states such as 'Yes' and 'yes'."""
    found = [(column.name, alike) for column in columns if (alike := _alike(column))]
    if not found:
        return ()
    name, alike = found[0]
    more = f" (and {len(found) - 1} more column{'s' if len(found) > 2 else ''})" if len(found) > 1 else ""
    return (
        f"Column '{name}'{more} has states that differ in letter case alone, such as {listed(alike)}: write them alike "
        "if they mean the same.",
    )


def _alike(column: Column) -> list[str]:
    """States of the column that differ in letter case alone, those that come first; none if there are none."""
    if column.numbers is not None or len(column.values) > MOST_STATES:
        return []
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for text in column.values:
        groups[text.casefold()].append(text)
    return next((group for group in groups.values() if len(group) > 1), [])
