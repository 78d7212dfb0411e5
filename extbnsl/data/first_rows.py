"""Rows of a text that are no records: units, question texts or numbers of states below the names, totals at the end,
and names once more; and a first column that only numbers or names the records.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.arguments import written_number
from extbnsl.data.column import Column, numbers_of, weights
from extbnsl.data.missing import MARKERS

MOST_ROWS = 3  # below the names that may be no records
LEAST_RECORDS = 5  # from which on rows can be told apart
UNLIKELY = 1e-3  # chance of a record below which a row is told
CERTAIN = 1e-4  # below which it is left out
TEXT_AMONG_NUMBERS = 0.01  # at most the chance of a text in the first row of a column of numbers
LIKE_IT = 8  # a record agrees with a row of numbers of states in all but an eighth of the columns, or two
NEIGHBOURS = 256  # records looked at first
SHOWN = 4  # texts of a row
SHOWN_TEXT = 60  # characters of each


def values_below(column: Column, row: int = 0) -> tuple[str, ...]:
    """The texts of a column that occur in other records than this."""
    own = int(column.codes[row])
    if _occurs_again(column, row):
        return column.values
    return column.values[:own] + column.values[own + 1 :]


def shown(columns: Sequence[Column], row: int) -> str:
    """The first texts of a record, for a sentence."""
    texts = [column.values[column.codes[row]][:SHOWN_TEXT] for column in columns[:SHOWN]]
    return f"({', '.join(map(repr, texts))}{', ...' if len(columns) > SHOWN else ''})"


def odd_rows(columns: Sequence[Column], last: bool = False) -> int:
    """How many of the first records, or of the last, are none, by all appearance: their values occur in no other.

    That is so of one in nearly all columns, beside missing values, where values do occur again; or it has texts where
    all others have numbers. How often a record would be so by chance, if columns had nothing to do with each other, is
    the product of the shares of such values; it is less than UNLIKELY. O(columns) if the records are ordinary.
    """
    records, found = len(columns[0].codes), 0
    while found < min(MOST_ROWS, records - LEAST_RECORDS):
        if _chance(columns, records - 1 - found if last else found) >= UNLIKELY:
            break
        found += 1
    return found


def _chance(columns: Sequence[Column], row: int) -> float:
    """The chance of a record as odd as this; 1 if too many of its values occur again."""
    odd, again = list[Column](), 0
    for column in columns:
        if column.values[column.codes[row]] in MARKERS:
            continue
        if _occurs_again(column, row):
            again += 1
            if 10 * again > len(columns):
                return 1.0
        else:
            odd.append(column)
    chance = 1.0
    for column in odd:
        chance *= min(_share_of_single(column), _share_of_texts(column, row))
    return chance


def _occurs_again(column: Column, row: int) -> bool:
    """Whether the value of a record is that of another too; a text that is written twice, with other blanks, counts."""
    own = column.codes[row]
    if np.count_nonzero(column.codes[:NEIGHBOURS] == own) > 1:
        return True
    if np.count_nonzero(column.codes == own) > 1:
        return True
    text = column.values[own]
    return column.values.count(text) > 1


def _share_of_single(column: Column) -> float:
    """The share of the records whose value occurs in no other."""
    records = len(column.codes)
    return 1.0 if 10 * len(column.values) > 9 * records else np.count_nonzero(weights(column) == 1) / records


def _share_of_texts(column: Column, row: int) -> float:
    """The share of the records that have a text, if most have numbers and this one none; else 1."""
    if numbers_of([column.values[column.codes[row]]]) is not None:
        return 1.0
    is_text = np.array([text not in MARKERS and numbers_of([text]) is None for text in column.values])
    texts, records = int(weights(column)[is_text].sum()), len(column.codes)
    if 2 * texts > records or is_text.all():
        return 1.0
    return min(texts / records, TEXT_AMONG_NUMBERS) if texts <= MOST_ROWS else texts / records


def numbers_of_states(columns: Sequence[Column]) -> tuple[bool, bool]:
    """Whether the first record has in every column the number of states that the others have there, by all appearance
    no accident; and whether it is certain to be no record, since it has values that no other has.

    Where states are called 1, 2 and so on, such a row has values that records have: it is told if the numbers differ,
    and no record is nearly the same.
    """
    if len(columns) < 2 or len(columns[0].codes) < LEAST_RECORDS:
        return False, False
    chance, arities = 1.0, set[int]()
    for column in columns:
        number = written_number(column.values[column.codes[0]])
        if number is None or number > len(column.values) or number != _states_below(column):
            return False, False
        arities.add(number)
        if not _occurs_again(column, 0):
            chance *= _share_of_single(column)
    if chance < 1.0:
        return chance < UNLIKELY, chance < CERTAIN
    alike = np.zeros(len(columns[0].codes), np.int32)
    for column in columns:
        alike += column.codes == column.codes[0]
    most = len(columns) - max(2, len(columns) // LIKE_IT)
    return len(arities) > 1 and int(alike[1:].max()) < most, False


def _states_below(column: Column) -> int:
    """The number of states below the first record, but for missing values."""
    occurring = np.flatnonzero(weights(replace(column, codes=column.codes[1:]))).tolist()
    return len({column.values[code] for code in occurring} - MARKERS)


def names_again(columns: Sequence[Column]) -> NDArray[np.intp]:
    """The rows that are the first once more, as where files were joined; none unless it names columns, since without
    these rows there are nothing but numbers below a text of it."""
    rows, over_numbers = None, False
    for column in columns:
        again = np.flatnonzero(column.codes[1:] == column.codes[0]) + 1
        if not len(again) or not np.array_equal(again, again if rows is None else rows):
            return np.zeros(0, np.intp)
        rows = again
        first = column.values[column.codes[0]]
        is_text = first not in MARKERS and numbers_of([first]) is None
        over_numbers |= is_text and numbers_of([*set(column.values) - MARKERS - {first}]) is not None
    return rows if rows is not None and over_numbers and len(columns) > 1 else np.zeros(0, np.intp)


def empty_end(columns: Sequence[Column]) -> int:
    """How many of the last records have no value in any column; not all of them."""
    records = len(columns[0].codes)
    end = records
    while end > 1 and all(not column.values[column.codes[end - 1]] for column in columns):
        end -= 1
    return records - end


def numbering(column: Column) -> str:
    """The warning that a column was left out, if each record has a whole number or a text of its own there, and it has
    no name, or that which pandas gives it then; else nothing."""
    if column.name and not column.name.startswith("Unnamed: 0"):
        return ""
    texts = [column.values[code] for code in np.unique(column.codes).tolist()]
    if len(set(texts)) < len(column.codes) or not MARKERS.isdisjoint(texts):
        return ""
    numbers = numbers_of(texts)
    if numbers is not None and bool((numbers != np.trunc(numbers)).any()):
        return ""
    called = f"Column '{column.name}'" if column.name else "The first column, which has no name,"
    does = "names" if numbers is None else "numbers"
    values = ", ".join(repr(column.values[code]) for code in column.codes[:SHOWN].tolist())
    return f"{called} {does} the records ({values}, ...) and was left out: give it a name if it is a variable."
