"""Interventions: which variables were set from outside in which records, as a column names them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.core.sentences import dropped
from extbnsl.data.beside import Targets
from extbnsl.data.column import LARGEST_ARITY, Column, clean_name, listed, weights
from extbnsl.data.missing import MARKERS

BETWEEN = ";"  # names


def targets_of(
    column: Column, names: Sequence[str], there: Sequence[str], source: str, rows: NDArray[np.int64] | None
) -> Targets | None:
    """What a column says of the variables of these names; None if none of them was set in any record.

    A text has names with BETWEEN in between; an empty one, or one that stands for a missing value, has none. Columns
    that are `there` and are no variables make no difference. rows: see `chosen_records`. InputError for a name that no
    column has, with its row, and for a variable that was set in every record. O(N).
    """
    distinct, of = sets_of(column, names, there, source, rows)
    occur = np.flatnonzero(np.bincount(of, minlength=len(distinct)))
    kept = [distinct[k] for k in occur.tolist()]
    always = sorted(set(range(len(names))).intersection(*kept)) if kept else []
    if always:
        own = [names[v] for v in always]
        was = "was" if len(own) == 1 else "were"
        raise InputError(
            f"{source}: {listed(own)} {was} set from outside in every record, so that nothing tells of the parents",
            option="targets",
            names=own,
            advice=("give records in which that is not so, or leave it out", dropped(own, ", with ")),
        )
    if kept == [()]:
        return None
    place = np.zeros(len(distinct), np.uint16)
    place[occur] = np.arange(occur.size)
    return Targets(tuple(kept), place[of])


def sets_of(
    column: Column, names: Sequence[str], there: Sequence[str], source: str, rows: NDArray[np.int64] | None
) -> tuple[list[tuple[int, ...]], NDArray[np.uint16]]:
    """Distinct sets of the variables of these names, ascending, and which of them each record has, (N,); else as
    `targets_of`."""
    at, sets = {name: place for place, name in enumerate(names)}, list[tuple[int, ...]]()
    for text, often in zip(column.values, weights(column).tolist(), strict=True):
        found = set[int]()
        for name in () if text in MARKERS or not often else map(clean_name, text.split(BETWEEN)):
            if name in at:
                found.add(at[name])
            elif name and name not in there:
                raise _unknown(name, text, column, there, source, rows)
        sets.append(tuple(sorted(found)))
    sets.append(())  # of no value
    distinct = sorted(set(sets))
    if len(distinct) > LARGEST_ARITY:
        raise InputError(
            f"column '{column.name}' of {source} names {len(distinct):,} different sets of variables, and "
            f"{LARGEST_ARITY:,} are the most.",
            option="targets",
            names=[column.name],
        )
    numbers = {own: number for number, own in enumerate(distinct)}
    return distinct, np.array([numbers[own] for own in sets], np.uint16)[column.codes]


def _unknown(
    name: str, text: str, column: Column, there: Sequence[str], source: str, rows: NDArray[np.int64] | None
) -> InputError:
    """The refusal of a name that no column has."""
    first = int((column.codes == column.values.index(text)).argmax())
    row = (first if rows is None else int(rows[first])) + 1
    what = f"column '{column.name}' of {source} has '{name}' in row {row} of the data, which no column is called"
    return InputError(
        f"{what}; the columns are {listed([one for one in there if one != column.name])}.",
        option="targets",
        names=[name],
        value=text,
        row=row,
    )
