"""Rows of a time series: each has the variables at a time, and at the times of some steps before.

Records are told apart by units and lie in time within each. A step is the smallest difference between a time and the
next one of its unit, over all units: of numbers as they are, of dates in months where all of them are the same day of
a month, or the last ones, and in seconds otherwise. Times are consecutive if they are one step apart. A record whose
unit has a record for each of the steps before it is a row; where times are missing there is none.
"""

import calendar
import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.core.figures import in_full
from extbnsl.core.sentences import Mention, dropped
from extbnsl.data.beside import Slices, at_lag
from extbnsl.data.column import Column, listed, numbers_of, ordered
from extbnsl.data.dataset import Dataset, Mixed, Numbers
from extbnsl.data.dressed import undressed
from extbnsl.data.missing import mark_missing
from extbnsl.data.treatment import Slicing, Treatment, check_there

Made = TypeVar("Made", Dataset, Numbers, Mixed)
SAME = 1e-6  # of a step: times so near are the same, as those of whoever rounds them
ROUNDED = 4.0  # times what lies between a float and the next: what differences of floats may be off
_NANOSECONDS = re.compile(r"\.\d{6}(\d{1,3})")  # behind the microseconds
_LAGGED = re.compile(r"\[t-\d+\]$")
_CLOCK = r"(?:[T ]\s?(?P<clock>\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)(?:\.?\d*)\s?(?P<zone>Z|[-+]\d{2}:?\d{2})?)?"
_DATES = (
    re.compile(rf"(?P<year>\d{{4}})-(?P<month>\d{{1,2}})(?:-(?P<day>\d{{1,2}}){_CLOCK})?"),
    re.compile(rf"(?P<year>\d{{4}})/(?P<month>\d{{1,2}})(?:/(?P<day>\d{{1,2}}){_CLOCK})?"),
    re.compile(rf"(?P<day>\d{{1,2}})\.(?P<month>\d{{1,2}})\.(?P<year>\d{{4}}){_CLOCK}"),
)
WRITTEN = "2024-01-31, 2024-01-31 12:30, 31.1.2024 or 2024-01"
LENGTHS = (("day", 86400.0), ("hour", 3600.0), ("minute", 60.0), ("second", 1.0))


@dataclass(frozen=True, eq=False)
class Series:
    """The records of a series.

    slicing: what rows are wanted.
    times (N,) float64: when each was taken, after the first one of those that are written; they ascend within a unit.
    units (N,) int64: whose each is, by number.
    names: of the units.
    step: between a time and the next one.
    told: the step in words.
    """

    slicing: Slicing
    times: NDArray[np.float64]
    units: NDArray[np.int64]
    names: tuple[str, ...]
    step: float
    told: str

    def sliced(self, data: Made, rows: NDArray[np.int64] | None) -> Made:
        """The rows that can be made of data, whose records are these rows of the series, all if that is None.

        Their variables are those of the data, and then these at each lag, with the same states. Raises InputError as
        `rows` does.
        """
        made, slices, told = self.rows(rows, data.source)
        lags = slices.lags
        names = data.names + tuple(at_lag(name, lag) for lag in range(1, lags + 1) for name in data.names)
        changed: dict[str, Any] = {}
        for array in ("codes", "values"):
            records = getattr(data, array, None)
            if records is not None:
                changed[array] = records[made].reshape(len(made), len(names))
        if not isinstance(data, Numbers):
            changed["states"] = data.states * (lags + 1)
        if not isinstance(data, Dataset):
            changed["resolution"] = data.resolution * (lags + 1)
        treated, warnings = _at_lags(data.treated, lags), (*data.warnings, told)
        return replace(data, names=names, treated=treated, slices=slices, warnings=warnings, **changed)

    def rows(self, rows: NDArray[np.int64] | None, source: str) -> tuple[NDArray[np.int64], Slices, str]:
        """The rows that can be made of records, which are these rows of the series, all if that is None: the record at
        the time of each and at the steps before, (rows, lags + 1); what they are; and that in a sentence.

        Raises InputError if no row can be made, which names the unit with most consecutive times.
        """
        kept = np.arange(len(self.times)) if rows is None else rows
        lags, own = self.slicing.lags, self.slicing
        order, units, before, in_unit = self._before(kept)
        if before.max() < lags:
            raise self._too_short(source, units, before)
        made = np.flatnonzero(before >= lags)
        ends = np.flatnonzero(np.append(units[made][1:] != units[made][:-1], True)) + 1
        left_out = int(np.count_nonzero(in_unit >= lags)) - len(made)
        slices = Slices(own.time, own.unit or "", lags, own.instant, self.told, ends, left_out)
        return order[made[:, None] - np.arange(lags + 1)], slices, _remark(slices, len(kept))

    def following(self, length: int) -> NDArray[np.int64]:
        """The records that have `length` - 1 of consecutive times before them, and these, (rows, length): the last one
        first, in the order of the records."""
        order, _, before, _ = self._before(np.arange(len(self.times)))
        made = np.flatnonzero(before >= length - 1)
        found = order[made[:, None] - np.arange(length)]
        return found[np.argsort(found[:, 0])]

    def _before(
        self, kept: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Of these records unit by unit: their places, their units, how many of consecutive times are before each, and
        how many there are of its unit, all (records,)."""
        order = np.argsort(self.units[kept], kind="stable")
        units, times = self.units[kept][order], self.times[kept][order]
        begins = np.append(True, units[1:] != units[:-1])
        near = max(SAME * self.step, _rounding(self.times))
        follows = np.append(False, np.abs(np.diff(times) - self.step) <= near) & ~begins
        return order, units, _since(~follows), _since(begins)

    def _too_short(self, source: str, units: NDArray[np.int64], before: NDArray[np.int64]) -> InputError:
        """The refusal of a series without a single row."""
        at, lags = int(before.argmax()), self.slicing.lags
        whose = "" if self.slicing.unit is None else f", those of unit '{self.names[units[at]]}'"
        most, steps = int(before[at]) + 1, f"in steps of {self.told}"
        longest = f"at most {most:,} records follow each other {steps}{whose}"
        since = longest if most > 1 else f"no two records follow each other {steps}"
        lacking = "a step" if lags == 1 else f"the {lags:,} steps"
        what = f"{source}: no row has {lacking} before it, since {since}"
        advice = "give a longer series" if lags == 1 else "give fewer lags, or a longer series"
        return InputError(what, option="lags", advice=(advice,))


def _at_lags(treated: Mapping[str, str], lags: int) -> dict[str, str]:
    """What was made of columns, and so of these at each lag."""
    past = {at_lag(name, lag): how for name, how in treated.items() for lag in range(1, lags + 1)}
    return {**treated, **past}


def _since(begins: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many places each is behind the last one that begins something; the first one does."""
    places = np.arange(len(begins))
    since: NDArray[np.int64] = places - np.maximum.accumulate(np.where(begins, places, 0))
    return since


def _remark(slices: Slices, records: int) -> str:
    """What the user should know of the rows."""
    document = slices.document()
    units = "" if not slices.unit else f" of {in_full(document['units'], 'unit')} of '{slices.unit}'"
    back = "the step before" if slices.lags == 1 else f"the {slices.lags} steps before"
    told = f"The records are a time series by '{slices.time}', in steps of {slices.step}: {document['rows']:,} rows of "
    gaps = f"{slices.left_out:,} {'is' if slices.left_out == 1 else 'are'} left out where times are missing"
    return f"{told}a time and {back} are made of {in_full(records, 'record')}{units}, and {gaps}."


def parted(columns: Sequence[Column], wanted: Treatment, source: str) -> tuple[list[Column], Series | None]:
    """The columns that may be variables, and the series that the others say the records are; None if they are none.

    Raises InputError for columns that there are not, for times that are missing, none, repeated or not ascending within
    their unit, with its name and the row, for records without a unit, for weights, and for names that columns of the
    past have. O(N log N).
    """
    slicing = wanted.slicing
    if slicing is None:
        return list(columns), None
    check_there("time-column", [slicing.time], columns, source)
    check_there("unit-column", [] if slicing.unit is None else [slicing.unit], columns, source)
    if wanted.weights is not None:
        both = (Mention("time-column"), " and ", Mention("weights"))
        raise InputError(
            f"{source}: ", *both, " exclude each other, since no time comes twice in a series; leave one out."
        )
    others = [column for column in columns if column.name not in slicing.columns]
    if not others:
        raise InputError(f"{source} has no column but {listed(slicing.columns)}: give at least one variable.")
    for name in (column.name for column in others if wanted.uses(column.name) and _LAGGED.search(column.name)):
        what = f"{source}: column '{name}' is called as columns of the past are, which are made here"
        raise InputError(what, names=[name], advice=("rename it, or leave it out", dropped([name])))
    given = {column.name: replace(column, codes=column.codes[: wanted.records]) for column in columns}
    time = given[slicing.time]
    if len(time.codes) == 0:
        raise InputError(f"{source} has no records: give at least one row of data.")
    units, names = _units(None if slicing.unit is None else given[slicing.unit], len(time.codes), wanted, source)
    return others, _series(time, units, names, wanted, source)


def _units(
    column: Column | None, records: int, wanted: Treatment, source: str
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """The number of each record's unit, by their first records, and the names of the units."""
    if column is None:
        return np.zeros(records, np.int64), ("",)
    marked = mark_missing(column, wanted.markers_in(column.name))
    _check_there(marked, "unit-column", source)
    codes = marked.codes.astype(np.int64)
    _, first, which = np.unique(codes, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    names = [marked.values[codes[row]] for row in np.sort(first).tolist()]
    return rank[which.reshape(-1)], tuple(names)


def _check_there(column: Column, option: str, source: str) -> None:
    """Raise InputError if a record has no value."""
    lacking = column.codes < 0
    if lacking.any():
        row = int(lacking.argmax()) + 1
        what = f"{source}: row {row:,} of the data has no value in column '{column.name}'"
        raise InputError(what, option=option, names=[column.name], row=row, advice=("write it, or leave the row out",))


def _series(column: Column, units: NDArray[np.int64], names: tuple[str, ...], wanted: Treatment, source: str) -> Series:
    """The series of records that were taken when the column says."""
    assert wanted.slicing is not None, "a series is wanted"
    marked = mark_missing(column, wanted.markers_in(column.name))
    _check_there(marked, "time-column", source)
    own, unit = replace(marked, levels=False), ""
    times = _of_numbers(own)
    if times is None:
        own = ordered(undressed(ordered(own), wanted.writing)[0])
        times = _of_numbers(own)
    if times is None:
        times, unit = _of_dates(own, source)
    order = np.argsort(units, kind="stable")
    steps = np.diff(times[order])[units[order][1:] == units[order][:-1]]
    if steps.size and not steps.min() > 0.0:
        raise _not_ascending(own, times, units, names, wanted.slicing, source)
    step = float(steps.min()) if steps.size else 1.0
    if not _rounding(times) < step / 4.0:
        what = (
            f"{source}: the times of column '{column.name}' are too large for their steps to be told apart as numbers"
        )
        raise InputError(what, option="time-column", names=[column.name], advice=("take the first one from all",))
    return Series(wanted.slicing, times, units, names, step, _step_told(step, unit))


def _rounding(times: NDArray[np.float64]) -> float:
    """What a difference of these may be off."""
    return ROUNDED * float(np.spacing(np.abs(times).max()))


def _of_numbers(column: Column) -> NDArray[np.float64] | None:
    """The times of all records that a column of numbers has; None if a value is none. Numbers that are written are
    exact, however many digits they have, and count from the least of them."""
    if column.numbers is not None:
        return column.numbers[column.codes]
    used = np.unique(column.codes)
    texts = [column.values[code] for code in used.tolist()]
    if numbers_of(texts) is None:
        return None
    exact = [Fraction(float(text) if "e" in text.lower() else text) for text in texts]  # 1e-99999999 has many digits
    least, times = min(exact), np.zeros(len(column.values))
    times[used] = [float(one - least) for one in exact]
    return times[column.codes]


def _not_ascending(
    column: Column,
    times: NDArray[np.float64],
    units: NDArray[np.int64],
    names: tuple[str, ...],
    slicing: Slicing,
    source: str,
) -> InputError:
    """The refusal of times of which one comes again, or after a later one: the first such row."""
    order = np.argsort(units, kind="stable")
    wrong = (units[order][1:] == units[order][:-1]) & (np.diff(times[order]) <= 0.0)
    row = int(order[1:][wrong].min())
    before = int(order[np.flatnonzero(order == row)[0] - 1])
    text, earlier = (column.values[column.codes[at]] for at in (row, before))
    whose = "" if slicing.unit is None else f" of unit '{names[units[row]]}'"
    same = np.flatnonzero((times == times[row]) & (units == units[row]))
    if same[0] < row:
        found = f"time {text!r}{whose}, which row {same[0] + 1:,} has already"
        advice: tuple[str | Mention, ...] = ("leave one of them out",)
        if slicing.unit is None:
            advice = ("leave one of them out, or say whose series each is with ", Mention("unit-column"))
    else:
        found, advice = f"time {text!r}{whose} behind {earlier!r}", ("sort the rows by time",)
    what = f"{source}: row {row + 1:,} of the data has {found}"
    return InputError(what, option="time-column", names=[column.name], value=text, row=row + 1, advice=advice)


def _of_dates(column: Column, source: str) -> tuple[NDArray[np.float64], str]:
    """The times of all records that a column of dates has, in months, or in seconds from the least of them, and which
    of these."""
    moments = [_moment(text) for text in column.values]
    if None in moments:
        wrong = [
            moment is None and numbers_of([text]) is None for moment, text in zip(moments, column.values, strict=True)
        ]
        wrong = wrong if any(wrong) else [moment is None for moment in moments]  # numbers among dates
        row = int(np.array(wrong)[column.codes].argmax()) + 1
        text = column.values[column.codes[row - 1]]
        what = f"{source}: column '{column.name}' has {text!r} in row {row:,} of the data, neither a number nor a date"
        advice = (f"write dates as {WRITTEN}",)
        raise InputError(what, option="time-column", names=[column.name], value=text, row=row, advice=advice)
    known = [moment for moment in moments if moment is not None]
    behind = list(map(_behind, column.values))
    clocks = {(moment.timetz(), more) for moment, more in zip(known, behind, strict=True)}
    last = all(moment.day == calendar.monthrange(moment.year, moment.month)[1] for moment in known)
    if len(clocks) == 1 and (last or len({moment.day for moment in known}) == 1):
        return np.array([12.0 * moment.year + moment.month for moment in known])[column.codes], "month"
    microsecond, first = datetime.timedelta(microseconds=1), min(known)
    exact = [(moment - first) // microsecond * 1000 + more for moment, more in zip(known, behind, strict=True)]
    least = min(exact)
    return np.array([(one - least) / 1e9 for one in exact])[column.codes], "second"


def _behind(text: str) -> int:
    """The nanoseconds of a moment, behind its microseconds."""
    found = _NANOSECONDS.search(text)
    return 0 if found is None else int(found[1].ljust(3, "0"))


def _moment(text: str) -> datetime.datetime | None:
    """The moment that a text writes; None if it writes none."""
    found = next((match for pattern in _DATES if (match := pattern.fullmatch(text))), None)
    if found is None:
        return None
    clock, zone = found["clock"] or "0:00", found["zone"] or ""
    hour, minute, *second = clock.split(":")
    whole, _, part = (second[0] if second else "0").partition(".")
    offset = datetime.timedelta()
    if zone not in ("", "Z"):
        offset = datetime.timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
    try:
        date = datetime.datetime(
            int(found["year"]), int(found["month"]), int(found["day"] or 1), int(hour), int(minute)
        )
        own = date.replace(second=int(whole), microsecond=int(part.ljust(6, "0")))
        return own.replace(tzinfo=datetime.timezone(-offset if zone[:1] == "-" else offset))
    except ValueError:
        return None


def _step_told(step: float, unit: str) -> str:
    """A step in words."""
    if not unit:
        return f"{step:.10g}"
    if unit == "month":
        months = round(step)
        return in_full(months // 12, "year") if months % 12 == 0 else in_full(months, "month")
    name, length = next(((name, length) for name, length in LENGTHS if step % length == 0), LENGTHS[-1])
    return f"{step / length:.10g} {name}{'' if step == length else 's'}"
