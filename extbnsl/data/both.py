"""From the columns of a source to `Mixed` data: each is a column of states, or of numbers.

A column has states if the user says so (`--discrete`, `--discretise COLUMN=RULE`, `--states`), if its source declares
them, or if some value that occurs is no number. All others have the numbers that their texts write.
"""

from collections.abc import Sequence

import numpy as np

from extbnsl.core.errors import InputError
from extbnsl.core.sentences import Mention, asking
from extbnsl.data.column import Column, listed, weights
from extbnsl.data.dataset import Mixed
from extbnsl.data.encode import chosen_records, encoded, values_of
from extbnsl.data.missing import hints
from extbnsl.data.remarks import Remark, columns_told
from extbnsl.data.series import parted
from extbnsl.data.text import Reading
from extbnsl.data.treatment import Treatment

FEW = 5  # numbers that are as likely to be codes


def mixed(columns: Sequence[Column], source: str, wanted: Treatment, reading: Reading) -> Mixed:
    """The `Mixed` data of `columns`, all of the same number of records: the choice of columns and of records, missing
    values, weights and rows of a time series as `prepare` has them, and what it says of columns of states.

    Raises InputError as `prepare` does of columns of states, and for a rule of cutting that names no column, and for
    columns of numbers that lack values where a missing value is a state. O(N n).
    """
    check_of_both(wanted)
    columns, series = parted(columns, wanted, source)
    complete, warnings, rows, targets, standing = chosen_records(columns, source, wanted, reading)
    n, records = len(complete), len(complete[0].codes)
    values, codes, states = np.zeros((records, n)), np.zeros((records, n), np.uint16), [tuple[str, ...]()] * n
    at, treated = [j for j, column in enumerate(complete) if not has_states(column, wanted)], dict[str, str]()
    if at:
        made = values_of([complete[j] for j in at], source, wanted, reading)
        odd = {column.name for column in made.odd}  # which have states, then
        values[:, at] = made.values
        at = [j for j in at if complete[j].name not in odd]
        treated = {name: how for name, how in made.treated.items() if name not in odd}
        numbers = [complete[j] for j in at]
        if wanted.missing == "state":
            _check_there(numbers, source)
        looked = [column for column in made.looked if column.name not in odd]
        warnings += tuple(remark.sentence() for remark in (*hints(looked), *of_few(numbers)))
    others, gaps = sorted({*range(n)} - {*at}), bool(np.isnan(values).any())
    if others:
        coded = encoded([complete[j] for j in others], source, wanted, reading, rows)
        values[:, others], codes[:, others], gaps = 0.0, coded.codes, gaps or coded.gaps
        for j, own in zip(others, coded.states, strict=True):
            states[j] = own
        warnings, treated = warnings + coded.warnings, treated | coded.treated
    names = tuple(column.name for column in complete)
    of_states = [name for name, own in zip(names, states, strict=True) if own]
    for name in wanted.resolution:
        if name in of_states:
            raise InputError(
                f"column '{name}' of {source} has states, which have no measurement error; leave it out.",
                option="resolution",
                names=[name],
            )
    data = Mixed(
        names,
        tuple(states),
        codes,
        values,
        source,
        warnings,
        treated=treated,
        targets=targets,
        gaps=gaps,
        weights=standing,
        resolution=wanted.errors_of(names, of_states),
    )
    return data if series is None else series.sliced(data, rows)


def check_of_both(wanted: Treatment) -> None:
    """Raise InputError for a rule of cutting that names no column, and for EM, which is of one kind of columns."""
    if None in wanted.rules:
        raise InputError(
            asking("discretise", str(wanted.rules[None])),
            " cuts every column of numbers, and this score takes them as they are; name those that are to be cut, as ",
            asking("discretise", f"COLUMN={wanted.rules[None]}"),
            ", or take another score.",
        )
    if wanted.missing == "em":
        raise InputError(asking("missing", "em"), " is for columns of states alone, or of numbers alone; leave it out.")


def has_states(column: Column, wanted: Treatment) -> bool:
    """Whether a column has states, whatever its texts are."""
    return (
        wanted.is_discrete(column.name) or column.levels or column.name in wanted.states or column.name in wanted.rules
    )


def _distinct(column: Column) -> int:
    """How many values occur."""
    return int(np.count_nonzero(weights(column)))


def of_few(columns: Sequence[Column]) -> list[Remark]:
    """The remark on columns of few different numbers, which may be codes of states, if there are any."""
    few = [column for column in columns if _distinct(column) <= FEW]
    if not few:
        return []
    names = tuple(column.name for column in few)
    have, they = ("has", "is") if len(names) == 1 else ("have", "are")
    what = f"{columns_told(names)} {have} no more than {FEW} different numbers, and {they} taken as numbers"
    return [Remark(names, (what,), ("say ", asking("discrete", ",".join(names)), " if these are states"))]


def _check_there(columns: Sequence[Column], source: str) -> None:
    """Raise InputError for numbers that are missing."""
    lacking = [column for column in columns if (column.codes < 0).any()]
    if lacking:
        names = [column.name for column in lacking]
        raise InputError(
            f"{source}: {listed(names)} {'has' if len(names) == 1 else 'have'} missing values among numbers, which "
            "cannot be a state",
            names=names,
            advice=("use ", asking("missing", "drop"), ", or cut the column with ", Mention("discretise")),
        )
