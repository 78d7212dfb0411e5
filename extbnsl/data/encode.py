"""From the columns of a source to a Dataset, or to Numbers, by the user's rules."""

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.data_options import WITH_GAPS
from extbnsl.core.errors import InputError
from extbnsl.core.sentences import NAMES_SHOWN, Mention, asking, dropped
from extbnsl.data.beside import Targets, Weights
from extbnsl.data.column import PIECE, Column, check_names, has_digits, listed, numbers_of, ordered, unseen, weights
from extbnsl.data.dataset import LARGEST_NUMBER, Dataset, Mixed, Numbers
from extbnsl.data.described import Description
from extbnsl.data.imputed import tables_of
from extbnsl.data.missing import hints, mark_missing, may_have_codes, missing_label, settle_missing
from extbnsl.data.remarks import Remark, columns_told, refusal
from extbnsl.data.series import parted
from extbnsl.data.text import Reading
from extbnsl.data.treatment import PLAIN_STATES, Treatment, check_there, selected
from extbnsl.data.weights import repeated

Made = TypeVar("Made", Dataset, Numbers, Mixed, Description)
Make = Callable[[Sequence[Column], str, Treatment, Reading], Made]  # as `prepare`, `measured` and `described` are
UNLIMITED = Reading(memory=0)  # of what is in memory already


def prepare(columns: Sequence[Column], source: str, wanted: Treatment, reading: Reading) -> Dataset:
    """The Dataset of `columns`, all of the same number of records, treated as `wanted`.

    First the choice of columns and of records, then declared states (which are levels, and exempt a column from what
    follows but missing values and weights), then missing values, then each record as often as its weight says, then
    what texts of numbers mean and the order of states, then intervals, then codes. Duplicate records stay: each is a
    record. A constant column stays, with a warning. Of a time series rows are made of what is left then, see `series`,
    so that a record that was dropped for a missing value is a gap. Raises InputError as `parted`, `selected`,
    `with_states`, `settle_missing`, `without_one`, `repeated`, `targets_of` and `settle_states` do, and for no columns,
    no records and names that are empty or occur twice, BudgetError if the time of `reading` is up. O(N n).
    """
    check_of_states(wanted)
    columns, series = parted(columns, wanted, source)
    chosen = chosen_records(columns, source, wanted, reading)
    made = encoded(chosen.columns, source, wanted, reading, chosen.rows)
    dataset = Dataset(
        made.names,
        made.states,
        made.codes,
        source,
        chosen.warnings + made.warnings,
        treated=made.treated,
        targets=chosen.targets,
        gaps=made.gaps,
        latent=made.gaps and wanted.missing == "em",
        weights=chosen.weights,
    )
    return dataset if series is None else series.sliced(dataset, chosen.rows)


class Encoded(NamedTuple):
    """Columns as codes: as a `Dataset` has them."""

    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    codes: NDArray[np.uint16]
    warnings: tuple[str, ...]
    treated: dict[str, str]
    gaps: bool


def encoded(
    columns: Sequence[Column], source: str, wanted: Treatment, reading: Reading, rows: NDArray[np.int64] | None
) -> Encoded:
    """The codes of columns of the records that are used; rows: as `chosen_records` gives them."""
    warnings, in_order, treated = tuple[str, ...](), list[Column](), dict[str, str]()
    for column in columns:
        reading.check_time(source)
        own, how = in_numbers(ordered(column), wanted)
        in_order.append(own)
        if how:
            treated[own.name] = how
    settled: Sequence[Column] = in_order
    if wanted.rules or any(len(column.values) > PLAIN_STATES for column in in_order):
        from extbnsl.data.states import settle_states

        settled, of_states, cuts = settle_states(in_order, wanted, source, rows)
        warnings += of_states
        treated |= {name: f"{treated[name]}; {rule}" if name in treated else str(rule) for name, rule in cuts.items()}
    codes = np.empty((len(settled[0].codes), len(settled)), dtype=np.uint16)
    names, states, constant, gaps = list[str](), list[tuple[str, ...]](), list[str](), False
    for j, column in enumerate(settled):
        reading.check_time(source)
        labels, lacking = column.values, column.codes < 0
        codes[:, j] = column.codes
        if lacking.any():
            codes[lacking, j] = len(labels)
            if wanted.missing in WITH_GAPS:
                gaps = True
            else:
                labels = (*labels, missing_label(labels))
        names.append(column.name)
        states.append(labels)
        if len(labels) == 1 and not (codes[:, j] == 1).any():
            constant.append(column.name)
    remarks = (*hints(in_order), *of_unseen(in_order, wanted), *of_constant(constant), *of_equal(names, codes))
    warnings += tuple(remark.sentence() for remark in remarks)
    return Encoded(tuple(names), tuple(states), codes, warnings, treated, gaps)


def measured(columns: Sequence[Column], source: str, wanted: Treatment, reading: Reading) -> Numbers:
    """The Numbers of `columns`, all of the same number of records: the choice of columns and of records, missing values
    and weights as `prepare` has them.

    Raises InputError as that does, for options that make states, for columns that have no numbers, and for numbers
    beyond 1e150. O(N n).
    """
    check_of_numbers(wanted)
    columns, series = parted(columns, wanted, source)
    chosen = chosen_records(columns, source, wanted, reading, states=False)
    made = values_of(chosen.columns, source, wanted, reading)
    if made.odd:
        raise refusal(source, without_numbers(made.odd, chosen.rows))
    names = tuple(column.name for column in chosen.columns)
    gaps = any((column.codes < 0).any() for column in chosen.columns)
    numbers = Numbers(
        names,
        made.values,
        source,
        chosen.warnings + tuple(remark.sentence() for remark in hints(made.looked)),
        treated=made.treated,
        targets=chosen.targets,
        gaps=gaps,
        latent=gaps and wanted.missing == "em",
        weights=chosen.weights,
        resolution=wanted.errors_of(names),
    )
    return numbers if series is None else series.sliced(numbers, chosen.rows)


class Values(NamedTuple):
    """Columns as numbers.

    values (N, m): of each column, nan where it lacks one, whatever it is of those that have none.
    looked: the columns whose texts were looked at.
    odd: those that have no numbers.
    treated: how texts write numbers, by the names of columns.
    """

    values: NDArray[np.float64]
    looked: list[Column]
    odd: list[Column]
    treated: dict[str, str]


def values_of(columns: Sequence[Column], source: str, wanted: Treatment, reading: Reading) -> Values:
    """The numbers of columns of the records that are used."""
    values = np.zeros((len(columns[0].codes), len(columns)))
    in_order, treated, odd = list[Column](), dict[str, str](), list[Column]()
    for j, column in enumerate(columns):
        reading.check_time(source)
        own = replace(column, levels=False)
        has_any = bool((own.codes >= 0).any())
        numbers = _plain_numbers(own, wanted) if has_any else np.zeros(len(own.values))
        if numbers is None:
            own, how = in_numbers(ordered(own), wanted)
            in_order.append(own)
            numbers = own.numbers
            if how:
                treated[own.name] = how
        if numbers is None:
            odd.append(own)
        else:
            values[:, j] = np.append(numbers, np.nan)[own.codes]  # the last one stands for no value
    return Values(values, in_order, odd, treated)


def _plain_numbers(column: Column, wanted: Treatment) -> NDArray[np.float64] | None:
    """The number of each value of a column, (values,) float64, if all that occur are plain numbers and none may mean
    something else; None if the column needs a look."""
    if _is_said(wanted):
        return None
    present = np.flatnonzero(weights(column))
    found = numbers_of([column.values[i] for i in present.tolist()])
    if found is None or may_have_codes(float(found.min()), float(found.max())):
        return None
    numbers = np.zeros(len(column.values))
    numbers[present] = found
    return numbers


def _is_said(wanted: Treatment) -> bool:
    """Whether the user says how numbers are written, so that plain numbers may be others than they seem."""
    return not wanted.writing.decimal is wanted.writing.thousands is None


def in_numbers(column: Column, wanted: Treatment) -> tuple[Column, str]:
    """An `ordered` column with the numbers that its texts write, if they do, and how they write them; "" for plain
    numbers and for texts that are none."""
    if (column.numbers is not None and not _is_said(wanted)) or column.levels or not has_digits(column):
        return column, ""
    from extbnsl.data.dressed import undressed

    found, how = undressed(column, wanted.writing)
    return (ordered(found), how) if how else (column, "")


class Chosen(NamedTuple):
    """The columns and records that are wanted, missing values settled and each record as often as its weight says;
    warnings; the rows of the data that the records are, from 0, None for all; which variables were set from outside in
    them; and what they stand for, if weights are not whole."""

    columns: tuple[Column, ...]
    warnings: tuple[str, ...]
    rows: NDArray[np.int64] | None
    targets: Targets | None
    weights: Weights | None


def chosen_records(
    columns: Sequence[Column], source: str, wanted: Treatment, reading: Reading, states: bool = True
) -> Chosen:
    """What is wanted of the columns of a source. Raises as `prepare` says.

    states: whether a missing value may be a state.
    """
    beside, targets, standing, there = None, None, None, [column.name for column in columns]
    if wanted.targets is not None:
        columns, targets = without_one(columns, "targets", wanted.targets, source)
    if wanted.weights is not None:
        columns, beside = without_one(columns, "weights", wanted.weights, source)
    if wanted.imputation is not None:
        columns, beside = without_one(columns, "imputation", wanted.imputation, source)
    columns = selected(columns, wanted, source)
    check_names([column.name for column in columns], source)
    if len(columns[0].codes) == 0:
        raise InputError(f"{source} has no records: give at least one row of data.")
    marked = list[Column]()
    for column in columns:
        reading.check_time(source)
        marked.append(marked_as(replace(column, codes=column.codes[: wanted.records]), wanted, source))
    complete, of_missing, rows = settle_missing(marked, wanted.missing, source, states)
    if beside is not None and wanted.imputation is not None:
        order, standing = tables_of(left_of(beside, wanted, rows), source, rows)
        complete = tuple(replace(column, codes=column.codes[order]) for column in complete)
        rows = order if rows is None else rows[order]
    elif beside is not None:
        complete, times, standing, told = repeated(complete, weights_left(beside, wanted, rows), source, reading, rows)
        rows, of_missing = np.repeat(np.arange(len(times)) if rows is None else rows, times), of_missing + told
    if targets is None:
        return Chosen(complete, of_missing, rows, None, standing)
    from extbnsl.data.targets import targets_of

    targets = left_of(targets, wanted, rows)
    names = [column.name for column in complete]
    return Chosen(complete, of_missing, rows, targets_of(targets, names, there, source, rows), standing)


def left_of(column: Column, wanted: Treatment, rows: NDArray[np.int64] | None) -> Column:
    """A column that says something of the records, of those that are left: what it lacks is no reason to drop one."""
    return replace(column, codes=column.codes[: wanted.records] if rows is None else column.codes[rows])


def weights_left(column: Column, wanted: Treatment, rows: NDArray[np.int64] | None) -> Column:
    """The weights of the records that are left, as plain numbers where their texts write these in the way that those of
    variables may."""
    own = left_of(column, wanted, rows)
    marked = mark_missing(own, wanted.markers_in(own.name))  # else the text of a gap would hide the numbers
    return in_numbers(ordered(replace(marked, levels=False)), wanted)[0]


def marked_as(column: Column, wanted: Treatment, source: str) -> Column:
    """The column with its missing values marked, and with the states that are declared for it."""
    marked, states = mark_missing(column, wanted.markers_in(column.name)), wanted.states.get(column.name)
    if states is None:
        return marked
    from extbnsl.data.declared import with_states

    return with_states(marked, states, source)


EQUAL_RECORDS = 20  # from which on equal columns are no accident,
LEAST_OTHERS = 5  # if so many of them do not have the commonest value
HEAD = 256  # records that tell most columns apart


def equal_columns(codes: NDArray[np.uint16]) -> list[list[int]]:
    """Groups of columns of codes (N, n) that divide the records alike, whatever their states are called: two or more
    each, by their places.

    Left out are columns that are nearly constant, which are equal by chance, and those in which each record has a value
    of its own. O(N n).
    """
    records = len(codes)
    if records < EQUAL_RECORDS:
        return []
    # Where the value of the next record is the same: equal for columns that divide the records alike.
    head = codes[:HEAD]
    same = np.ascontiguousarray((head[1:] == head[:-1]).T)
    alike = defaultdict[bytes, list[int]](list)
    for j, key in enumerate(same.view(f"V{same.shape[1]}").ravel().tolist()):
        alike[key].append(j)
    groups = list[list[int]]()
    for candidates in (own for own in alike.values() if len(own) > 1):
        equal = defaultdict[bytes, list[int]](list)
        for j in candidates:
            if (division := _division(codes[:, j])) is not None:
                equal[division].append(j)
        groups += [own for own in equal.values() if len(own) > 1]
    return groups


def _division(codes: NDArray[np.uint16]) -> bytes | None:
    """A digest of which records have the same code, whatever it is; None if nearly all have, or none. O(N + d log d)
    for codes below d."""
    counts, records = np.bincount(codes), len(codes)
    if records - counts.max() < LEAST_OTHERS or counts.max() == 1:
        return None
    first = np.full(len(counts), records)
    for start in reversed(range(0, records, PIECE)):
        part = codes[start : start + PIECE]
        first[part[::-1]] = np.arange(start + len(part) - 1, start - 1, -1)  # of several assignments the last one stays
    rank = np.empty(len(first), np.uint16)
    rank[np.argsort(first)] = np.arange(len(first))
    digest = hashlib.sha256()
    for start in range(0, records, PIECE):
        digest.update(rank[codes[start : start + PIECE]].data)
    return digest.digest()


def of_equal(names: Sequence[str], codes: NDArray[np.uint16]) -> list[Remark]:
    """The remark on columns that divide the records alike, if there are any."""
    groups = [[names[j] for j in group] for group in equal_columns(codes)]
    if not groups:
        return []
    spare = [name for own in groups for name in own[1:]]
    more = f" (and {len(groups) - 1} more group{'s' if len(groups) > 2 else ''})" if len(groups) > 1 else ""
    what = f"columns {listed(groups[0])}{more} divide the records alike, as copies do, so each tells all of the others"
    advice = ("leave out all but one of them", dropped(spare), ", unless that is meant")
    return [Remark(tuple(name for own in groups for name in own), (what,), advice)]


def of_constant(names: Sequence[str]) -> list[Remark]:
    """The remark on columns of one state, if there are any."""
    if not names:
        return []
    are, it = ("is", "it") if len(names) == 1 else ("are", "them")
    constant = f"{columns_told(names)} {are} constant (the same value in every record)"
    what = f"{constant}: no arc at {it} makes a network better"
    advice = (f"leave {it} out", dropped(names), " where networks are listed or summed, of which there are only more")
    return [Remark(tuple(names), (what,), advice)]


def of_unseen(columns: Sequence[Column], wanted: Treatment) -> list[Remark]:
    """The remark on columns whose source, not the user, declares states that no record has, if there are any."""
    found = {c.name: states for c in columns if c.levels and c.name not in wanted.states and (states := unseen(c))}
    if not found:
        return []
    told = [f"'{name}' ({listed(states)})" for name, states in found.items()]
    more = f" and {len(told) - NAMES_SHOWN} more" if len(told) > NAMES_SHOWN else ""
    column, declare = ("columns", "declare") if len(told) > 1 else ("column", "declares")
    what = f"{column} {', '.join(told[:NAMES_SHOWN])}{more} {declare} states that no record has, and these count"
    return [Remark(tuple(found), (what,), ("say ", Mention("states"), " to declare others"))]


def check_of_states(wanted: Treatment) -> None:
    """Raise InputError for measurement errors of columns of states."""
    if wanted.resolution:
        raise InputError(
            "it is of numbers, and this score takes states; leave it out, or take gaussian-bic, cg-bic or dg-bic.",
            option="resolution",
        )


def check_of_numbers(wanted: Treatment) -> None:
    """Raise InputError for an option that makes states, naming it."""
    given = {
        Mention("discretise"): bool(wanted.rules),
        Mention("discrete"): wanted.discrete is None or bool(wanted.discrete),
        Mention("states"): bool(wanted.states),
        asking("missing", "state"): wanted.missing == "state",
    }
    for option, is_given in given.items():
        if is_given:
            raise InputError(
                option,
                " makes states of columns, and the score gaussian-bic takes numbers; leave it out, or take another "
                "score.",
            )
    if wanted.writing.below == "lowest":
        half = asking("below-detection", "half")
        raise InputError(
            asking("below-detection", "lowest"),
            " is for cutting, and the score gaussian-bic takes numbers; say ",
            half,
            ".",
        )


def without_numbers(columns: Sequence[Column], rows: NDArray[np.int64] | None) -> list[Remark]:
    """Remarks on columns that have no numbers, for all that is wrong with them."""
    from extbnsl.data.dressed import dress_of, of_dresses

    dressed = [(column, dress_of(column, rows)) for column in columns]
    remarks = of_dresses((column.name, dress) for column, found in dressed if found for dress in found.marks)
    texts = [column for column, found in dressed if found is None or not found.marks]
    return [*remarks, *([_of_texts(texts, rows)] if texts else [])]


def _of_texts(columns: Sequence[Column], rows: NDArray[np.int64] | None) -> Remark:
    """The remark on columns of texts, or of numbers beyond all bounds, for a score of numbers."""
    column, names = columns[0], tuple(one.name for one in columns)
    odd = [i for i, text in enumerate(column.values) if numbers_of([text]) is None] or range(len(column.values))
    first = int(np.isin(column.codes, odd).argmax())
    text, row = column.values[column.codes[first]], (first if rows is None else int(rows[first])) + 1
    try:
        number = math.nan if "_" in text else float(text)
    except ValueError:
        number = math.nan
    shown, kind = (repr(text), "no number") if math.isnan(number) else (f"{number:g}", f"beyond {LARGEST_NUMBER:g}")
    what = f"{columns_told(names)} {'has' if len(names) == 1 else 'have'} {shown} in row {row} of the data"
    if len(names) > 1:
        what = f"{columns_told(names)} have texts, such as {shown} in row {row} of the data"
    them = "it" if len(names) == 1 else "them"
    advice = (f"leave {them} out", dropped(names), ", or take another score, and cut columns of numbers for that")
    return Remark(names, (f"{what}, which is {kind}, and the score gaussian-bic takes numbers",), advice, text, row)


def without_one(columns: Sequence[Column], option: str, name: str, source: str) -> tuple[list[Column], Column]:
    """The columns but the one of that name, and this, which an option says to be no variable. InputError if there is
    none, or it is the only one."""
    check_there(option, [name], columns, source)
    if len(columns) == 1:
        what = f"{source} has no column but '{name}': give at least one variable."
        raise InputError(what, option=option, names=[name])
    own = next(column for column in columns if column.name == name)
    return [column for column in columns if column.name != name], own
