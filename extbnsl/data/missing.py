"""Missing values: what counts as one, what becomes of them, and what only looks like one."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import starmap

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.core.sentences import NAMES_SHOWN, Mention, asking, dropped, option
from extbnsl.data.column import Column, listed, recoded
from extbnsl.data.remarks import Remark, columns_told

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
) -> tuple[tuple[Column, ...], tuple[str, ...], NDArray[np.int64] | None]:
    """Refuse missing values, drop the records that have one, or leave them for a state of their own, or none.

    `rule` is one of MISSING_RULES; states: whether a state is possible. Returns the columns, warnings, and which rows
    are left, from 0, if some were dropped. Raises InputError with the count, the columns and the first row under
    "refuse", if "drop" leaves no record, and under "em" for a column without a value.
    """
    lacking = np.zeros(len(columns[0].codes), dtype=np.bool_)
    for column in columns:
        lacking |= column.codes < 0
    if rule == "state" or not lacking.any():
        return tuple(columns), (), None
    counts = [int(np.count_nonzero(column.codes < 0)) for column in columns]
    records, lacked = len(lacking), int(lacking.sum())
    if rule == "average":
        lack = "lacks" if lacked == 1 else "lack"
        told = (
            f"{lacked:,} of {records:,} records {lack} a value; each family is costed over those that lack none of its."
        )
        return tuple(columns), (told,), None
    if rule == "em":
        empty = [column.name for column, count in zip(columns, counts, strict=True) if count == records]
        if empty:
            what = f"{source}: no record has a value of {listed(empty)}, so that nothing tells what it is"
            raise InputError(what, names=empty, advice=("leave out what has none", dropped(empty, ", with ")))
        lack = "lacks" if lacked == 1 else "lack"
        told = (
            f"{lacked:,} of {records:,} records {lack} a value; what is missing is completed by a network, in rounds."
        )
        return tuple(columns), (told,), None
    if rule == "drop":
        if lacked == records:
            what = f"{source}: every one of the {records:,} records has a missing value, so "
            advice = _leave_out(columns, counts, states)
            raise InputError(what, asking("missing", "drop"), " leaves nothing", advice=advice)
        kept = tuple(replace(column, codes=column.codes[~lacking]) for column in columns)
        were = "was" if lacked == 1 else "were"
        told = f"{lacked:,} of {records:,} records {were} dropped because a value is missing."
        return kept, (told,), np.flatnonzero(~lacking)
    names = [column.name for column, count in zip(columns, counts, strict=True) if count]
    row = int(lacking.argmax()) + 1
    raise InputError(
        f"{source}: {sum(counts):,} value{'s are' if sum(counts) > 1 else ' is'} missing, in "
        f"column{'s' if len(names) > 1 else ''} {listed(names)}, first in row {row} of the data",
        names=names,
        row=row,
        advice=advice_on_missing(columns, states),
    )


def advice_on_missing(columns: Sequence[Column], states: bool) -> Advice:
    """What to do about the missing values in columns, of which some lack one; states: whether a state is possible."""
    lacking = [column.codes < 0 for column in columns]
    counts = [int(np.count_nonzero(own)) for own in lacking]
    records, lacked = len(lacking[0]), int(np.logical_or.reduce(lacking).sum())
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
MOST_STATES = 256  # looked at: texts of more states are not typed by hand
# Numbers that surveys and registers write for 'refused', 'unknown', 'does not apply'.
CODES = frozenset({*range(1, 10), 77, 88, 97, 98, 99, 777, 888, 997, 998, 999, 7777, 8888, 9997, 9998, 9999})
LEAST_CERTAIN = 9  # of these:
CERTAIN = frozenset({9, 77, 88, 99, 777, 888, 999, 7777, 8888, 9999})  # others do not come alone


def may_have_codes(smallest: float, largest: float) -> bool:
    """Whether numbers between these may have codes of missing values among them."""
    return -smallest in CODES or (largest in CODES and largest >= LEAST_CERTAIN)


def missing_codes(numbers: NDArray[np.float64]) -> tuple[int, ...]:
    """The places of those of the numbers (d,), ascending, that look like codes of missing values.

    Below: one of CERTAIN with a minus, and other known codes, where no other number is negative. Above: one of CERTAIN
    and other known codes, behind a gap at least as wide as the span of all other numbers, of which there are two or
    more. O(1) but for the places.
    """
    if not may_have_codes(float(numbers[0]), float(numbers[-1])):
        return ()
    negative = int(np.searchsorted(numbers, 0.0))
    first = negative if 0 < negative < numbers.size and _are_codes((-numbers[:negative]).tolist()) else 0
    most = max(first + 2, numbers.size - len(CODES))
    for start in range(most, numbers.size):  # the fewest others first: the most codes
        others = numbers[first:start]
        is_behind = numbers[start] - others[-1] >= max(others[-1] - others[0], 2.0)
        if is_behind and _are_codes(numbers[: start - 1 : -1].tolist()):
            return (*range(first), *range(start, numbers.size))
    return tuple(range(first))


def _are_codes(numbers: Sequence[float]) -> bool:
    """Whether all numbers, of which the first has most digits, are known codes: of as many digits, or CERTAIN."""
    like = len(str(numbers[0]))
    known = all(number in CERTAIN or (number in CODES and len(str(number)) == like) for number in numbers)
    return known and not CERTAIN.isdisjoint(numbers)


def hints(columns: Sequence[Column]) -> list[Remark]:
    """Remarks on values in `ordered` columns that may stand for missing values, or for one another; levels are what
    they are called."""
    suspect, alike = defaultdict[tuple[str, ...], list[str]](list), defaultdict[str, list[tuple[str, list[str]]]](list)
    for column in columns:
        if column.levels:
            continue
        for text in SUSPECTS.intersection(column.values):
            suspect[(text,)].append(column.name)
        if (numbers := column.numbers) is not None:
            is_usual = numbers[0] >= 0.0 and numbers[-1] < LEAST_CERTAIN
            if not is_usual and (codes := missing_codes(numbers)):
                suspect[tuple(column.values[i] for i in codes)].append(column.name)
        elif 1 < len(column.values) <= MOST_STATES:
            for how, texts in _spelled_alike(column.values):
                alike[how].append((column.name, texts))
    suspects = [_of_suspects(texts, names, columns) for texts, names in sorted(suspect.items())]
    return [*suspects, *starmap(_of_alike, alike.items())]


def _of_suspects(texts: Sequence[str], names: Sequence[str], columns: Sequence[Column]) -> Remark:
    """The remark on columns that have texts which may stand for missing values; these may be values of the others."""
    of = f"{listed(texts)} of {columns_told(names)}"
    if len(texts) == 1:
        what, stand = f"the value {of} was taken as a state", " if it stands for a missing value"
    else:
        what, stand = f"the values {of} were taken as states", " if they stand for missing values"
    others = {text for column in columns if column.name not in names for text in column.values[:MOST_STATES]}
    if others.isdisjoint(texts):
        markers = list(texts)
    else:
        of_columns = names if len(names) * len(texts) <= NAMES_SHOWN else ["COLUMN"]
        markers = [f"{name}={text}" for name in of_columns for text in texts]
    return Remark(tuple(names), (what,), ("say ", option("na", *markers), stand))


def _spelled_alike(texts: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Texts that differ in little more than their spelling: how, and the first of them; nothing if all differ more."""
    joined = "\0".join(texts)
    if joined.isascii() and not _BLANKS.search(joined):
        rough = joined.casefold().split("\0")
    else:
        rough = list(map(_rough, texts))
    if len(set(rough)) == len(texts):
        return
    groups = defaultdict[str, list[str]](list)
    for key, text in zip(rough, texts, strict=True):
        groups[key].append(text)
    group = next(group for group in groups.values() if len(group) > 1)
    if len(set(map(str.casefold, group))) == 1:
        yield "letter case", group
    elif len({"".join(text.split()).casefold() for text in group}) == 1:
        yield "blanks", group
    else:
        yield ENCODED, group


def _rough(text: str) -> str:
    """The text without letter case, blanks, characters that nobody sees, and variants of characters."""
    if not text.isascii():
        compatible = unicodedata.normalize("NFKC", text)
        text = "".join(sign for sign in compatible if unicodedata.category(sign) != "Cf")
    return _BLANKS.sub("", text).casefold()


ENCODED = "how characters are encoded"
_BLANKS = re.compile(r"(?<!\d)\s+|\s+(?!\d)")  # but those between digits, which tell 1 2 from 12


def _of_alike(how: str, found: Sequence[tuple[str, Sequence[str]]]) -> Remark:
    """The remark on columns that have states such as 'Yes' and 'yes': one at least."""
    name, texts = found[0]
    more = f" (and {len(found) - 1} more column{'s' if len(found) > 2 else ''})" if len(found) > 1 else ""
    shown = list(map(_escaped, texts)) if how == ENCODED else texts
    what = f"column '{name}'{more} has states that differ in {how} alone, such as {listed(shown)}"
    return Remark(tuple(name for name, _ in found), (what,), ("write them alike if they mean the same",))


def _escaped(text: str) -> str:
    """The text with all characters beyond ASCII as Python writes them."""
    return ascii(text)[1:-1]
