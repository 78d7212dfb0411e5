"""Values that may not mean what they say: markers of missing values, and states that differ in letter case alone."""

from collections import defaultdict
from collections.abc import Sequence

from extbnsl.data.advice import option
from extbnsl.data.column import Column, listed

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
        f"The value '{text}' of column{'s' if len(names) > 1 else ''} {listed(names)} was taken as a state: say "
        f"{option('na', text)} if it stands for a missing value."
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
