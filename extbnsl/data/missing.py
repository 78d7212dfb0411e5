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
    lacking = np.zeros(len(columns[0].codes), dtype=np.bool_)
    for column in columns:
        lacking |= column.codes < 0
    if rule == "state" or not lacking.any():
        return tuple(columns), ()
    counts = [int(np.count_nonzero(column.codes < 0)) for column in columns]
    records, lacked = len(lacking), int(lacking.sum())
    if rule == "drop":
        if lacked == records:
            what = f"{source}: every one of the {records:,} records has a missing value, so "
            advice = _leave_out(columns, counts, states)
            raise InputError(what, asking("missing", "drop"), " leaves nothing", advice=advice)
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
    other = (" or ", asking("missing", "state")) if states else ()
    return "use ", asking("missing", "drop"), f" (leaves out {lacked:,} of {records:,} records)", *other


def _leave_out(columns: Sequence[Column], counts: Sequence[int], states: bool) -> Advice:
    """The advice to leave out the column that lacks most."""
    most = max(counts)
    column = columns[counts.index(most)]
    which = f"columns such as '{column.name}', which lacks {most:,} of {len(column.codes):,} values"
    use = ("use ", asking("missing", "state"), ", or ") if states else ()
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
    """Warnings of values in `ordered` columns that may stand for missing values, or for one another; levels are what
    they are called."""
    suspect, mixed = defaultdict[str, list[str]](list), list[Column]()
    for column in columns:
        if column.levels:
            continue
        for text in SUSPECTS.intersection(column.values):
            suspect[text].append(column.name)
        numbers, states = column.numbers, len(column.values)
        if numbers is not None and states > 1 and numbers[0] in SUSPECT_NUMBERS and numbers[1] >= 0:
            suspect[column.values[0]].append(column.name)
        if numbers is None and len(set(map(str.casefold, column.values))) < states <= MOST_STATES:
            mixed.append(column)
    warnings = list[str]()
    for text, names in sorted(suspect.items()):
        of = f"The value '{text}' of column{'s' if len(names) > 1 else ''} {listed(names)} was taken as a state: say "
        warnings.append(Sentence(of, option("na", text), " if it stands for a missing value."))
    return (*warnings, _of_case(mixed)) if mixed else tuple(warnings)


def _of_case(columns: Sequence[Column]) -> str:
    """The warning of columns that have states such as 'Yes' and 'yes': one at least."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for text in columns[0].values:
        groups[text.casefold()].append(text)
    alike = next(group for group in groups.values() if len(group) > 1)
    more = f" (and {len(columns) - 1} more column{'s' if len(columns) > 2 else ''})" if len(columns) > 1 else ""
    return (
        f"Column '{columns[0].name}'{more} has states that differ in letter case alone, such as {listed(alike)}: write "
        "them alike if they mean the same."
    )
