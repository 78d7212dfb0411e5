"""What columns of data hold, before any solve: one row for each, and what is odd about them.

`described` takes columns as `prepare` does, and says of data that this refuses what keeps them from being used.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from extbnsl.core.sentences import asking
from extbnsl.data.column import LARGEST_ARITY, Column, has_fractions, listed, ordered, weights
from extbnsl.data.dataset import STATES_LISTED, Described, Description, Note
from extbnsl.data.encode import in_numbers, marked_as, of_constant, of_equal, of_unseen
from extbnsl.data.missing import hints
from extbnsl.data.remarks import Remark, columns_told
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
from extbnsl.data.text import Reading
from extbnsl.data.treatment import PLAIN_STATES, Treatment, check_there, selected


def described(columns: Sequence[Column], source: str, wanted: Treatment, reading: Reading) -> Description:
    """What the columns, all of the same number of records, hold, and what `prepare` makes of them if they are treated
    as `wanted`.

    Missing values are left out of what is told, whatever the rule for them; weights are not counted. Raises InputError
    for options that name what is not there, as `prepare` does, and BudgetError if the time of `reading` is up. O(N n).
    """
    if wanted.weights is not None:
        check_there("weights", [wanted.weights], columns, source)
    own = [column for column in columns if column.name == wanted.weights]
    used = selected([column for column in columns if column.name != wanted.weights], wanted, source)
    looked, reads = list[Looked](), list[str]()
    for column in used:
        reading.check_time(source)
        marked = marked_as(replace(column, codes=column.codes[: wanted.records]), wanted, source)
        in_order, how = in_numbers(ordered(marked), wanted)
        looked.append(look(in_order, wanted))
        reads.append(how)
    now = settled(looked)
    notes = _notes(looked, now, wanted)
    rows = [_row(*each) for each in zip(looked, now, reads, strict=True)]
    for note in notes:
        for j in note.columns:
            rows[j] = rows[j]._replace(odd=(*rows[j].odd, note.sentence), refused=rows[j].refused or note.refuses)
    rows += [_weights(column) for column in own]
    records = len(columns[0].codes[: wanted.records]) if columns else 0
    return Description(tuple(rows), notes, records, source)


def _notes(looked: Sequence[Looked], now: Sequence[Column], wanted: Treatment) -> tuple[Note, ...]:
    """What is odd about the columns, which are to be cut to what they are `now`."""
    refused = _refusals(looked, wanted)
    faulty = {name for remark in refused for name in remark.names}
    doubtful = doubts([one for one in looked if one.column.name not in faulty])
    constant = of_constant([column.name for column in now if len(column.values) == 1])
    few = [column for column in now if len(column.values) <= LARGEST_ARITY]
    codes = np.column_stack([column.codes.astype(np.uint16) for column in few]) if few else None
    equal = [] if codes is None else of_equal([column.name for column in few], codes)
    own = [one.column for one in looked]
    told = (*hints(own), *of_unseen(own, wanted))
    places = defaultdict[str, list[int]](list)
    for j, one in enumerate(looked):
        places[one.column.name].append(j)
    remarks = [*refused, *doubtful, *told, *constant, *equal]
    return tuple(
        Note(tuple(j for name in remark.names for j in places[name]), remark.sentence(), number < len(refused))
        for number, remark in enumerate(remarks)
    )


def _refusals(looked: Sequence[Looked], wanted: Treatment) -> list[Remark]:
    """Remarks on all that a solve refuses the columns for."""
    columns = [one.column for one in looked]
    remarks = refusals(looked, are_numbers(columns))
    lacking = tuple(column.name for column in columns if (column.codes < 0).any())
    if lacking and wanted.missing == "refuse":
        lack = "lack values" if len(lacking) > 1 else "lacks values"
        advice = ("use ", asking("missing", "drop"), " or ", asking("missing", "state"))
        remarks.append(Remark(lacking, (f"{columns_told(lacking)} {lack}",), advice))
    twice = tuple(name for name, count in Counter(column.name for column in columns).items() if count > 1 or not name)
    if twice:
        what = f"the name{'s' if len(twice) > 1 else ''} {listed(twice)} cannot be told apart"
        remarks.append(Remark(twice, (what,), ("give every column a name of its own",)))
    return remarks


def _row(looked: Looked, now: Column, read: str) -> Described:
    """The row of a column, which is to be cut to what it is `now`."""
    column = looked.column
    numbers = column.numbers if column.numbers is not None and len(column.values) else None
    is_cut = now is not column
    kind = _kind(looked)
    states = {} if kind == "numbers" and not is_cut else _states(now)
    bounds = (None, None) if numbers is None else (_finite(numbers[0]), _finite(numbers[-1]))
    missing = int(np.count_nonzero(column.codes < 0))
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


def _states(column: Column) -> dict[str, int]:
    """The first states of a column, with how many records have each."""
    return dict(zip(column.values[:STATES_LISTED], weights(column).tolist(), strict=False))


def _finite(number: Any) -> float | None:
    return float(number) if np.isfinite(number) else None


def _weights(column: Column) -> Described:
    return Described(column.name, "weights", len(set(column.values)), {}, None, None, 0, "", "")
