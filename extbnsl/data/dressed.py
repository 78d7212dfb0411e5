"""Texts that are numbers in another dress: with a decimal comma, thousands separators, units, or limits of detection.

`undressed` makes numbers of a column where the user says how they are written, or where no other reading is possible;
`dress_of` tells what keeps another column from being one of numbers, with a value, its row, and the option that
settles it. Dates and times are known here too.
"""

import enum
import functools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.sentences import Mention, asking, option
from extbnsl.data.column import LOOKED_AT, Column, numbers_of
from extbnsl.data.remarks import Part, Remark, columns_told
from extbnsl.data.treatment import Writing

MOST_UNITS = 3  # of a column: texts of more different endings are no numbers with units
MOST_STRAYS = 3  # texts among numbers that may stand for missing values
LEAST_SHARE = 0.8  # of the values of a column that are numbers, if it is one of numbers with some texts in it
ANY_THOUSANDS = ".' "  # where the comma is decimal
_SPELLED_ALIKE = str.maketrans({"\u2212": "-", "\u2019": "'", "\u00a0": " ", "\u202f": " ", "\u2009": " "})
_MONEY = r"(?:[A-Z]{0,3}[$€£¥₹₽₩₺₴₦₫฿]|EUR|USD|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|CZK|Rs\.?)"
_PARTS = (
    rf"(?P<bound><=?|>=?|≤|≥)?\s*(?P<sign>[-+]?)(?P<before>{_MONEY}?)\s*"
    r"(?P<number>[-+]?(?:\d|[.,]\d)(?:[\d.,']|\s(?=\d))*(?:[eE][-+]?\d+)?)\s*"
    rf"(?P<behind>{_MONEY}|[%‰°µμΩ]|(?:[°µμΩ%]|[^\W\d_])[^<>=;:,()\[\]\"!?+]{{0,15}})?"
    r"(?P<above>\s*\+)?"
)
_HEXADECIMAL = r"[-+]?0[xX][0-9A-Fa-f]"  # how such a number begins, which is no 0 with a unit
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s?[AaPp][Mm])?\s?(?:Z|[-+]\d{2}:?\d{2})?"
_MONTH = r"(?:[Jj]an|[Ff]eb|[Mm]ar|[Aa]pr|[Mm]ay|[Jj]un|[Jj]ul|[Aa]ug|[Ss]ep|[Oo]ct|[Nn]ov|[Dd]ec)[a-z]*"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_DATES = (
    rf"\d{{4}}([-/.])(?:0?[1-9]|1[0-2])\1{_DAY}",
    rf"{_DAY}([-/.])\s?{_DAY}\2\s?(?:\d{{4}}|\d{{2}})",
    rf"{_DAY}\.?[- ]{_MONTH}\.?,?[- ]\d{{2,4}}",
    rf"{_MONTH}\.? {_DAY},? \d{{4}}",
)
_DATE_OR_TIME = rf"(?:{'|'.join(_DATES)})(?:[T ,]\s?{_TIME})?|{_TIME}"


class Parts(NamedTuple):
    """A text taken apart: the sign of a bound (that of 90+ is >), what stands before the number, the number as written,
    and what stands behind it."""

    bound: str
    before: str
    number: str
    behind: str

    @property
    def units(self) -> set[str]:
        """What is beside the number."""
        return {self.before, self.behind} - {""}


class Mark(enum.Enum):
    """What may keep a text from being a plain number, for a sentence."""

    DECIMAL = "numbers with a decimal comma"
    THOUSANDS = "numbers with thousands separators"
    EITHER = "numbers with a comma"
    SEVERAL = "numbers written in several ways"
    UNIT = "numbers with a unit"
    BOUND = "numbers below or above a limit"
    TEXT = "numbers, but not everywhere"
    TEXTS = "numbers and many texts"


class Dress(NamedTuple):
    """What keeps a column from being one of numbers.

    text, row: the first such value, and its row in the data, from 1.
    values, records: how many values, and how many records, have it.
    texts: what the option that settles it is given.
    """

    mark: Mark
    text: str
    row: int
    values: int
    records: int
    texts: tuple[str, ...]


class Dressed(NamedTuple):
    """A column that would be one of numbers, but for these; and whether not all of the numbers are whole."""

    marks: tuple[Dress, ...]
    has_fractions: bool


def undressed(column: Column, writing: Writing) -> tuple[Column, str]:
    """The column of numbers that the texts of an `ordered` column write, and how they do, in words; the column itself
    and "" if one of them is none, or others may read it in another way. O(d) for d values."""
    if column.levels or not _may_be_numbers(column, writing):
        return column, ""
    units = writing.units
    parts = [_taken_apart(text, units) for text in column.values]
    taken = [part for part in parts if part is not None]
    if len(taken) < len(parts) or not all(part.units <= {*units, "%"} for part in taken):
        return column, ""
    if (not writing.below and any(part.bound for part in taken)) or not _are_percents(taken, units):
        return column, ""
    for decimal, thousands in _said(taken, writing):
        plain = [_plain(part.number, decimal, thousands) for part in taken]
        texts = [text for text in plain if text is not None]
        is_new = column.numbers is None or (decimal, thousands) != (".", "")
        if is_new and len(texts) == len(plain) and numbers_of(texts) is not None:
            return _made(column, taken, texts, writing), _told(taken, decimal, thousands)
    return column, ""


def dress_of(column: Column, rows: NDArray[np.int64] | None = None) -> Dressed | None:
    """What keeps an `ordered` column of texts from being one of numbers, if nearly all of it are such; None where that
    is not so. rows: the rows of the data that its records are, from 0; None for all of them. O(d) for d values."""
    if column.levels or column.numbers is not None or not _mostly_numbers(column.values[:LOOKED_AT]):
        return None
    parts = [_taken_apart(text, ()) for text in column.values]
    common = Counter(unit for part in parts if part is not None for unit in part.units)
    units = set(common) if len(common) <= MOST_UNITS else {"%"}
    conventions = _conventions([part.number for part in parts if part is not None and part.units <= units])
    known = [
        (i, part)
        for i, part in enumerate(parts)
        if part is not None and part.units <= units and _read(part.number, conventions) is not None
    ]
    if len(known) < LEAST_SHARE * len(parts):
        return None
    strays = sorted(set(range(len(parts))).difference(i for i, _ in known))
    units_seen = sorted({unit for _, part in known for unit in part.units})
    only_percents = units_seen == ["%"] and all(part.units for _, part in known)  # which need no word
    marks: tuple[tuple[Mark, list[str], list[int]], ...] = (
        (*_mark_of(conventions), [i for i, part in known if _plain(part.number, ".", "") is None]),
        (Mark.UNIT, units_seen, [i for i, part in known if part.units] if not only_percents else []),
        (Mark.BOUND, [], [i for i, part in known if part.bound]),
        (Mark.TEXTS if len(strays) > MOST_STRAYS else Mark.TEXT, [column.values[i] for i in strays], strays),
    )
    found = tuple(_dress(column, rows, mark, texts, at) for mark, texts, at in marks if at)
    fractions = any((_read(part.number, conventions) or 0.0) % 1.0 for _, part in known)
    return Dressed(found, fractions) if found else None


def unsettled(dressed: Dressed, writing: Writing) -> Dressed:
    """What keeps a column from being one of numbers, without what the user has settled already; all of it if nothing
    else is left."""
    is_settled = {
        Mark.DECIMAL: writing.decimal == ",",
        Mark.THOUSANDS: writing.thousands is not None,
        Mark.BOUND: writing.below is not None,
    }
    marks = tuple(
        dress
        for dress in dressed.marks
        if not is_settled.get(dress.mark, dress.mark is Mark.UNIT and {*dress.texts} <= {*writing.units})
    )
    return dressed._replace(marks=marks or dressed.marks)


def are_dates(texts: Sequence[str]) -> bool:
    """Whether all texts are dates or times, such as 2024-01-31, 31.1.2024, 1/31/24 12:30, or 12:30."""
    return bool(texts) and all(map(_compiled(_DATE_OR_TIME).fullmatch, texts))


_compiled = functools.cache(re.compile)  # when they are needed: many data have no such texts


def _mostly_numbers(texts: Sequence[str]) -> bool:
    """Whether more than half of the texts are numbers in some dress."""
    taken = [part for part in (_taken_apart(text, ()) for text in texts) if part is not None]
    return 2 * len(taken) > len(texts)


def _may_be_numbers(column: Column, writing: Writing) -> bool:
    """Whether it is worth a look at the column: its texts are no plain numbers, or may be others than these."""
    if column.numbers is None:
        return _mostly_numbers(column.values[:LOOKED_AT])
    dotted = "." in (writing.thousands, *(ANY_THOUSANDS if writing.decimal == "," else ""))
    return dotted and any("." in text for text in column.values)


def _taken_apart(text: str, units: Sequence[str]) -> Parts | None:
    """The parts of a text that may be a number; None if it is none, whatever the dress."""
    spelled = text.translate(_SPELLED_ALIKE).strip()
    if _compiled(_HEXADECIMAL).match(spelled):
        return None
    own = next((unit for unit in sorted(units, key=len, reverse=True) if _has(spelled, unit)), "")
    bare = spelled.removesuffix(own).removeprefix(own) if own else spelled
    found = _compiled(_PARTS).fullmatch(bare.strip())
    if found is None:
        return None
    bound, sign, before, number, behind, above = (text or "" for text in found.groups())
    if above and bound:
        return None
    bound = bound or (">" if above else "")
    return Parts(bound, before, sign + number, own or behind.strip())


def _has(text: str, unit: str) -> bool:
    return text != unit and (text.endswith(unit) or text.startswith(unit))


def _are_percents(parts: Sequence[Parts], units: Sequence[str]) -> bool:
    """Whether % stands behind all numbers or none, or is said to be a unit."""
    percents = sum("%" in part.units for part in parts)
    return "%" in units or percents in (0, len(parts))


@functools.cache
def _pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    """What matches numbers with this mark before decimals and one of these between thousands, in groups of three."""
    grouped = rf"|[1-9]\d{{0,2}}([{re.escape(thousands)}])\d{{3}}(?:\1\d{{3}})*" if thousands else ""
    point = re.escape(decimal)
    return re.compile(rf"[-+]?(?:(?:\d+{grouped})(?:{point}\d*)?|{point}\d+)(?:[eE][-+]?\d+)?")


def _plain(number: str, decimal: str, thousands: str) -> str | None:
    """The number with a point and without separators; None if it is none in this convention."""
    if _pattern(decimal, thousands).fullmatch(number) is None:
        return None
    for mark in thousands:
        number = number.replace(mark, "")
    return number.replace(decimal, ".")


def _read(number: str, conventions: Iterable[tuple[str, str]]) -> float | None:
    """The number in the first of these conventions in which it is one."""
    plain = next((text for convention in conventions if (text := _plain(number, *convention)) is not None), None)
    return None if plain is None else float(plain)


CONVENTIONS = ((".", ""), (",", ANY_THOUSANDS), (".", ","), (".", "'"), (".", " "))


def _conventions(numbers: Sequence[str]) -> list[tuple[str, str]]:
    """The conventions in which nearly all of these numbers, as they are written, can be read, and no others read more;
    all if there is none."""
    fitting = [sum(_plain(number, *convention) is not None for number in numbers) for convention in CONVENTIONS]
    most = max(fitting)
    if most < LEAST_SHARE * len(numbers):
        return list(CONVENTIONS)
    return [convention for convention, count in zip(CONVENTIONS, fitting, strict=True) if count == most]


def _said(parts: Sequence[Parts], writing: Writing) -> Iterator[tuple[str, str]]:
    """The conventions that the user has said, or that no other reading is possible of."""
    if writing.decimal == ",":
        yield ",", writing.thousands or ANY_THOUSANDS
    elif writing.thousands:
        yield ".", writing.thousands
    yield ".", ""
    if writing.semicolons and writing.decimal is None and writing.thousands is None:
        numbers = [part.number for part in parts]
        with_point = any("." in number for number in numbers)
        has_both = any("." in number and "," in number for number in numbers)
        ambiguous = all(_plain(number, ".", ",") is not None for number in numbers)
        if has_both or not (with_point or ambiguous):
            yield ",", ANY_THOUSANDS if has_both else ""


def _made(column: Column, parts: Sequence[Parts], plain: Sequence[str], writing: Writing) -> Column:
    """The column of the numbers, which are called as they are written plainly; those beyond a limit of detection as
    they are."""
    texts, numbers = list(plain), np.array(list(map(float, plain)))
    for sign, infinite, limit in (("<≤", -math.inf, max), (">≥", math.inf, min)):
        beyond = [i for i, part in enumerate(parts) if part.bound and part.bound[0] in sign]
        if not beyond or writing.below == "limit":
            continue
        if writing.below == "lowest":
            name = column.values[limit(beyond, key=lambda i: numbers[i])]
            for i in beyond:
                texts[i], numbers[i] = name, infinite
        elif infinite < 0:
            for i in beyond:
                numbers[i] -= abs(numbers[i]) / 2  # of a limit below 0 what is lower by as much
                texts[i] = repr(float(numbers[i]))
    usual = numbers_of(texts) is not None
    return replace(column, values=tuple(texts), numbers=None if usual else numbers)


def _told(parts: Sequence[Parts], decimal: str, thousands: str) -> str:
    """How the numbers were written, in words."""
    numbers = [part.number for part in parts]
    comma = decimal == "," and any("," in number for number in numbers)
    grouped = thousands and any(mark in number for mark in thousands for number in numbers)
    told = ["decimal comma"] if comma else []
    told += ["thousands separators"] if grouped else []
    told += sorted({unit for part in parts for unit in part.units})
    told += ["limits of detection"] if any(part.bound for part in parts) else []
    return ", ".join(told) or "other signs"


def _mark_of(conventions: Sequence[tuple[str, str]]) -> tuple[Mark, list[str]]:
    """What commas, points, apostrophes and blanks mean in numbers that can be read in these conventions, and what the
    option that says so is given."""
    if len(conventions) == len(CONVENTIONS):
        return Mark.SEVERAL, []
    if (",", ANY_THOUSANDS) in conventions:
        return (Mark.EITHER if (".", ",") in conventions else Mark.DECIMAL), []
    return Mark.THOUSANDS, [conventions[0][1]]


def _dress(
    column: Column, rows: NDArray[np.int64] | None, mark: Mark, texts: Sequence[str], at: Sequence[int]
) -> Dress:
    """The dress that the values at these places have."""
    having = np.isin(column.codes, at)
    first = int(having.argmax())
    row = first if rows is None else int(rows[first])
    return Dress(mark, column.values[column.codes[first]], row + 1, len(at), int(having.sum()), tuple(texts))


def of_dresses(dresses: Iterable[tuple[str, Dress]]) -> list[Remark]:
    """Remarks of what keeps columns, which are named, from being numbers: one for each kind of it."""
    by_mark: defaultdict[Mark, list[tuple[str, Dress]]] = defaultdict(list)
    for name, dress in dresses:
        by_mark[dress.mark].append((name, dress))
    return [_of_mark(mark, found) for mark, found in by_mark.items()]


def _of_mark(mark: Mark, found: Sequence[tuple[str, Dress]]) -> Remark:
    names, first = tuple(name for name, _ in found), found[0][1]
    records = sum(dress.records for _, dress in found)
    in_all = f", and {records - 1:,} more values" if records > 2 else ", and one more value" if records > 1 else ""
    have = "have" if len(names) > 1 else "has"
    what = f"{columns_told(names)} {have} {mark.value} ({first.text!r} in row {first.row:,} of the data{in_all})"
    texts = list(dict.fromkeys(text for _, dress in found for text in dress.texts))
    return Remark(names, (what,), _settled(mark, texts), first.text, first.row)


def _settled(mark: Mark, texts: Sequence[str]) -> tuple[Part, ...]:
    """What to do about a mark, of which these are the texts."""
    if mark is Mark.DECIMAL:
        return "say ", Mention("decimal", ",")
    if mark is Mark.THOUSANDS:
        first, *others = (Mention("thousands", text) for text in texts)
        return "say ", first, *(part for other in others for part in (" or ", other))
    if mark is Mark.EITHER:
        return (
            *("say ", Mention("decimal", ","), " if it stands before decimals, or ", Mention("thousands", ",")),
            " if it separates thousands",
        )
    if mark is Mark.UNIT:
        return "say ", option("unit", *texts), " to take it off" if len(texts) == 1 else " to take them off"
    if mark is Mark.BOUND:
        return "say ", asking("below-detection", "half"), " (or limit, or lowest to cut them by quantile:k)"
    if mark is Mark.TEXT:
        return "say ", option("na", *texts), " if that stands for a missing value"
    return ("write numbers alike, without texts among them",)
