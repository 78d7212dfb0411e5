"""What columns of data hold, before any solve: one row for each, and what is odd about them.

`described` takes columns as `prepare` does, and says of data that this refuses what keeps them from being used.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.data_options import MIXED, NUMBERS, WITH_GAPS
from extbnsl.core.errors import InputError
from extbnsl.core.sentences import asking, dropped
from extbnsl.data.both import has_states, of_few
from extbnsl.data.column import LARGEST_ARITY, Column, has_fractions, listed, ordered, weights
from extbnsl.data.described import STATES_LISTED, Described, Description, Note
from extbnsl.data.encode import (
    in_numbers,
    marked_as,
    of_constant,
    of_equal,
    of_unseen,
    values_of,
    weights_left,
    without_numbers,
)
from extbnsl.data.kinds import KINDS
from extbnsl.data.missing import advice_on_missing, hints, missing_label, settle_missing
from extbnsl.data.remarks import Remark, columns_told
from extbnsl.data.series import parted
from extbnsl.data.states import (
    Looked,
    are_dates,
    are_numbers,
    doubts,
    is_identifier,
    look,
    looks_measured,
    refusals,
    settled,
)
from extbnsl.data.targets import targets_of
from extbnsl.data.text import Reading
from extbnsl.data.treatment import PLAIN_STATES, Treatment, check_there, selected
from extbnsl.data.weights import repeated


def described(
    columns: Sequence[Column], source: str, wanted: Treatment, reading: Reading, kind: str | None = None
) -> Description:
    """What the columns, all of the same number of records, hold, and what is made of them if they are treated as
    `wanted`, by a score of this kind of data, of states if that is None: of the records that are left, each as often
    as its weight says if all are whole.

    Values that are missing are counted before records are dropped for them. Raises InputError for options that name
    what is not there, as `prepare` does, and BudgetError if the time of `reading` is up, or weights stand for too many
    records. O(N n).
    """
    if kind is not None:
        KINDS[kind].check(wanted)
    options = ("targets", "weights", "imputation")
    apart = {name: option for option in options if (name := getattr(wanted, option)) is not None}
    for name, option in apart.items():
        check_there(option, [name], columns, source)
    slicing = () if wanted.slicing is None else wanted.slicing.columns
    of_time = [column for name in slicing for column in columns if column.name == name]
    columns, series = parted(columns, wanted, source)
    columns = [replace(column, codes=column.codes[: wanted.records]) for column in columns]
    times = next((column for column in columns if column.name == wanted.weights), None)
    used = selected([column for column in columns if column.name not in apart], wanted, source)
    marked = [marked_as(column, wanted, source) for column in used]
    seen, warnings, rows, faults, in_parts = _records_left(marked, times, source, wanted, reading)
    numbers, odd = _as_numbers(seen, source, wanted, reading, kind)
    looked, reads = list[Looked](), list[str]()
    for column in seen:
        reading.check_time(source)
        in_order, how = in_numbers(ordered(column), wanted)
        looked.append(look(in_order, wanted, rows))
        reads.append(how)
    at = [j for j, one in enumerate(looked) if one.column.name not in numbers]
    now = [one.column for one in looked]
    for j, own in zip(at, settled([looked[j] for j in at]), strict=True):
        now[j] = own
    found = [_row(*each, wanted) for each in zip(looked, now, marked, reads, strict=True)]
    if kind is not None:
        found = [_taken(row, row.name in numbers) for row in found]
    found += [_apart(column, apart[column.name]) for column in columns if column.name in apart]
    found += [_apart(column, kind) for column, kind in zip(of_time, ("time", "unit"), strict=False)]
    faults += _of_targets(columns, seen, source, wanted, rows)
    if series is not None:
        warnings = (*warnings, series.rows(rows, source)[2])
    of_states = [looked[j] for j in at]
    as_numbers = [one.column for one in looked if one.column.name in numbers]
    faults += _of_numbers(as_numbers, odd, rows, wanted)
    refused = [*faults, *_refusals(looked, of_states, marked, wanted, kind)]
    told = [*hints([one.column for one in looked]), *(of_few(as_numbers) if kind == MIXED else [])]
    notes = _notes(of_states, [now[j] for j in at], refused, told, [row.name for row in found], wanted)
    for note in notes:
        for j in note.columns:
            found[j] = found[j]._replace(odd=(*found[j].odd, note.sentence), refused=found[j].refused or note.refuses)
    records = len((*seen, *columns)[0].codes) if columns else 0
    gaps = wanted.missing in WITH_GAPS and any((column.codes < 0).any() for column in seen)
    return Description(tuple(found), notes, records, source, warnings, gaps=gaps, in_parts=in_parts)


def _records_left(
    columns: Sequence[Column], times: Column | None, source: str, wanted: Treatment, reading: Reading
) -> tuple[Sequence[Column], tuple[str, ...], NDArray[np.int64] | None, list[Remark], bool]:
    """The columns of the records that a solve has, as `chosen_records` gives them; those of all, and why, where it is
    refused for their sake; and whether its rows are parts of records. times: the weights, if there are any."""
    kept, warnings, rows = columns, tuple[str, ...](), None
    if wanted.missing == "drop" and columns:
        lacking = [(column.codes < 0) for column in columns]
        if np.logical_or.reduce(lacking).all() and len(lacking[0]):
            names = tuple(column.name for column, own in zip(columns, lacking, strict=True) if own.any())
            nothing = "each record lacks a value, so ", asking("missing", "drop"), " leaves nothing"
            most = columns[int(np.argmax([own.sum() for own in lacking]))].name
            advice = ("use ", asking("missing", "state"), ", or leave columns out", dropped([most], ", such as with "))
            return columns, (), None, [Remark(names, nothing, advice)], False
        kept, warnings, rows = settle_missing(columns, wanted.missing, source)
    if times is None:
        return kept, warnings, rows, [], wanted.imputation is not None
    try:
        whole, often, standing, told = repeated(kept, weights_left(times, wanted, rows), source, reading, rows)
    except InputError as error:
        what = str(error.what).removesuffix(".")
        return columns, (), None, [Remark(tuple(error.names), (what,), tuple(error.advice))], False
    if standing is not None:  # those that have some weight, once each
        whole, often = tuple(replace(own, codes=own.codes[often > 0]) for own in kept), np.minimum(often, 1)
    rows = np.repeat(np.arange(len(often)) if rows is None else rows, often)
    return whole, warnings + told, rows, [], standing is not None


def _notes(
    looked: Sequence[Looked],
    now: Sequence[Column],
    refused: Sequence[Remark],
    told: Sequence[Remark],
    names: Sequence[str],
    wanted: Treatment,
) -> tuple[Note, ...]:
    """What is odd about the columns that are looked at, which are to be cut to what they are `now`, and what else there
    is to say of columns; names: of all that are told of."""
    faulty = {name for remark in refused for name in remark.names}
    doubtful = doubts([one for one in looked if one.column.name not in faulty])
    constant = of_constant([column.name for column in now if len(column.values) == 1])
    few = [column for column in now if len(column.values) <= LARGEST_ARITY]
    codes = np.column_stack([column.codes.astype(np.uint16) for column in few]) if few else None
    equal = [] if codes is None else of_equal([column.name for column in few], codes)
    own = [one.column for one in looked]
    places = defaultdict[str, list[int]](list)
    for j, name in enumerate(names):
        places[name].append(j)
    remarks = [*refused, *doubtful, *told, *of_unseen(own, wanted), *constant, *equal]
    return tuple(
        Note(tuple(j for name in remark.names for j in places[name]), remark.sentence(), number < len(refused))
        for number, remark in enumerate(remarks)
    )


def _as_numbers(
    columns: Sequence[Column], source: str, wanted: Treatment, reading: Reading, kind: str | None
) -> tuple[set[str], list[Column]]:
    """The names of the columns that a score of this kind of data takes for numbers, and those of them that are none."""
    own = [column for column in columns if kind == NUMBERS or (kind == MIXED and not has_states(column, wanted))]
    if not own or not len(own[0].codes):
        return set(), []
    odd = values_of(own, source, wanted, reading).odd
    names, wrong = {column.name for column in own}, {column.name for column in odd}
    return (names, odd) if kind == NUMBERS else (names - wrong, [])


def _of_numbers(
    columns: Sequence[Column], odd: Sequence[Column], rows: NDArray[np.int64] | None, wanted: Treatment
) -> list[Remark]:
    """Remarks on all that a solve refuses columns for that it takes for numbers; odd: those that have none."""
    remarks = without_numbers(odd, rows) if odd else []
    wrong = {column.name for column in odd}
    constant = tuple(column.name for column in columns if len(column.values) == 1 and column.name not in wrong)
    if constant:
        has = "has" if len(constant) == 1 else "have"
        what = f"{columns_told(constant)} {has} the same number in every record, which no Gaussian fits"
        remarks.append(Remark(constant, (what,), ("leave out what never varies", dropped(constant, ", with "))))
    lacking = tuple(column.name for column in columns if (column.codes < 0).any())
    if lacking and wanted.missing == "state":
        have = "has" if len(lacking) == 1 else "have"
        what = f"{columns_told(lacking)} {have} missing values among numbers, which cannot be a state"
        remarks.append(Remark(lacking, (what,), ("use ", asking("missing", "drop"))))
    return remarks


def _taken(row: Described, as_numbers: bool) -> Described:
    """The row with what its column is taken for."""
    return row._replace(taken="numbers", states={}) if as_numbers else row._replace(taken="states")


def _refusals(
    looked: Sequence[Looked],
    of_states: Sequence[Looked],
    marked: Sequence[Column],
    wanted: Treatment,
    kind: str | None,
) -> list[Remark]:
    """Remarks on all that a solve refuses the columns for, of which some are to have states; marked: the same with all
    records, as it asks of those too that have the weight 0 whether they lack values; kind: of data, as `described` has
    it."""
    columns = [one.column for one in looked]
    remarks = refusals(of_states, are_numbers(columns))
    lacking = tuple(column.name for column in marked if (column.codes < 0).any())
    if lacking and wanted.missing == "refuse":
        lack = "lack values" if len(lacking) > 1 else "lacks values"
        advice = advice_on_missing(marked, states=kind != NUMBERS)
        remarks.append(Remark(lacking, (f"{columns_told(lacking)} {lack}",), advice))
    empty = tuple(column.name for column in columns if not (column.codes >= 0).any())
    if empty and wanted.missing in WITH_GAPS:
        leave = f"leave {'them' if len(empty) > 1 else 'it'} out"
        remarks.append(Remark(empty, (f"no record has a value in {columns_told(empty)}",), (leave, dropped(empty))))
    twice = tuple(name for name, count in Counter(column.name for column in columns).items() if count > 1 or not name)
    if twice:
        what = f"the name{'s' if len(twice) > 1 else ''} {listed(twice)} cannot be told apart"
        remarks.append(Remark(twice, (what,), ("give every column a name of its own",)))
    return remarks


def _row(looked: Looked, now: Column, marked: Column, read: str, wanted: Treatment) -> Described:
    """The row of a column, which is to be cut to what it is `now`; marked: with all records."""
    column = looked.column
    numbers = column.numbers if column.numbers is not None and len(column.values) else None
    is_cut = now is not column
    kind = _kind(looked)
    states = {} if kind == "numbers" and not is_cut else _states(now, wanted.missing == "state")
    bounds = (None, None) if numbers is None else (_finite(numbers[0]), _finite(numbers[-1]))
    missing = int(np.count_nonzero(marked.codes < 0))
    rule = str(looked.rule) if is_cut else ""
    return Described(column.name, kind, len(column.values), states, *bounds, missing, read, rule)


def _kind(looked: Looked) -> str:
    """What an `ordered` column is, in a word."""
    column, distinct = looked.column, len(looked.column.values)
    if distinct < 2:
        return "constant" if distinct else "empty"
    if column.levels:
        return "states"
    if are_dates(column):
        return "date"
    if is_identifier(column) and not looked.dressed:
        return "identifier"
    if column.numbers is not None:
        many = distinct > PLAIN_STATES and has_fractions(column)
        return "numbers" if many or looks_measured(column) else "states"
    return "text" if looked.dressed or looked.unfit or distinct > STATES_LISTED else "states"


def _states(column: Column, with_missing: bool) -> dict[str, int]:
    """The first states of a column, with how many records have each; perhaps with that of missing values."""
    found = dict(zip(column.values[:STATES_LISTED], weights(column).tolist(), strict=False))
    lacking = int(np.count_nonzero(column.codes < 0))
    if with_missing and lacking and len(column.values) < STATES_LISTED:
        found[missing_label(column.values)] = lacking
    return found


def _finite(number: Any) -> float | None:
    return float(number) if np.isfinite(number) else None


def _of_targets(
    columns: Sequence[Column], seen: Sequence[Column], source: str, wanted: Treatment, rows: NDArray[np.int64] | None
) -> list[Remark]:
    """Why a solve of the columns that are seen is refused for the sake of the targets, if it is."""
    for column in (one for one in columns if one.name == wanted.targets):
        own = column if rows is None else replace(column, codes=column.codes[rows])
        try:
            targets_of(own, [one.name for one in seen], [one.name for one in columns], source, rows)
        except InputError as error:
            return [Remark((column.name,), (str(error.what).removesuffix("."),), tuple(error.advice))]
    return []


def _apart(column: Column, kind: str) -> Described:
    """A column that says something of the records."""
    distinct, missing = np.unique(column.codes[column.codes >= 0]).size, int(np.count_nonzero(column.codes < 0))
    return Described(column.name, kind, distinct, {}, None, None, missing, "", "")
