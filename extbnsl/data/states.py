"""Which columns are discrete variables as they stand, which are cut, and which are refused by name."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.sentences import Sentence, asking, dropped, option
from extbnsl.data.column import (
    LARGEST_ARITY,
    Column,
    has_digits,
    has_fractions,
    listed,
    mean,
    numbers_of,
    recoded,
    weights,
)
from extbnsl.data.missing import SUSPECTS
from extbnsl.data.remarks import Part, Remark, columns_told, refusal
from extbnsl.data.treatment import OTHER_FORMS, PLAIN_STATES, Rule, Treatment

if TYPE_CHECKING:
    from extbnsl.data.dressed import Dress, Dressed

# The published networks have variables of at most 100 states; texts of more than this are seldom states.
MAX_STATES = 256
# From here on a column is warned of: each state of it has few records.
MANY_STATES = 33
# Whole numbers of more values than this, with gaps, are taken for a measurement such as an age.
MANY_WHOLE = 20
# Numbers that are not whole are taken for a measurement from here on: half points of a scale stay states.
MAX_FRACTIONAL_STATES = PLAIN_STATES
# Rules without a name cut numbers of more states than this; names and numbers of records are refused from there on.
FEW_STATES = 64
# "columns continuous or with more than four states were cut at the mean": the literature's preparation.
PAPER_STATES = 4
# Below this, that every record has a value of its own says nothing.
IDENTIFIER_RECORDS = 20
LEAST_RECORDS = 2.0  # of a state, by and large, below which nobody is told how to keep the states
NEARLY = 0.9  # the share of records with a value of their own from which on a column tells records apart


class Looked(NamedTuple):
    """A column that is `ordered`, as one looks at it before it is cut.

    is_wanted: whether the user says that its states are as they are.
    rule: what cuts it, or None.
    dressed: of texts, what keeps them from being numbers, or None.
    rows: the rows of the data that its records are, from 0; None for all.
    """

    column: Column
    is_wanted: bool
    rule: Rule | None
    dressed: "Dressed | None"
    rows: NDArray[np.int64] | None

    @property
    def is_kept(self) -> bool:
        """Whether its states stay as they are, because it has levels or the user says so."""
        return self.is_wanted or self.column.levels

    @property
    def unfit(self) -> str | None:
        """Why the column cannot be a discrete variable as it stands, for a sentence; None if it can."""
        return None if self.is_kept else unfit(self.column, self.dressed)


def settle_states(
    columns: Sequence[Column], wanted: Treatment, source: str, rows: NDArray[np.int64] | None = None
) -> tuple[tuple[Column, ...], tuple[str, ...], dict[str, Rule]]:
    """Cut the columns that rules are for, refuse what cannot be a discrete variable, warn of what may be none: the
    columns, whose values are their states, the warnings, and the rules of the columns that were cut.

    The columns are `ordered`; rows: the rows of the data that their records are, from 0, None for all. Levels, and
    columns that --discrete names, stay as they are, and columns with a rule of their own are cut by that. Of the others
    a column is refused (InputError) if it is continuous (numbers that are not all whole, more than
    MAX_FRACTIONAL_STATES of them), has more than MAX_STATES states, or tells records apart with more than FEW_STATES;
    the rules mean, quantile and width cut just these, and numbers of more than FEW_STATES states; paper cuts every
    column of more than PAPER_STATES states, by the index of the state if they are no numbers.
    """
    looked = [look(column, wanted, rows) for column in columns]
    if found := refusals(looked, are_numbers(columns)):
        raise refusal(source, found)
    now = settled(looked)
    warnings = tuple(remark.sentence() for remark in doubts(looked))
    cuts = {
        one.column.name: one.rule for one, new in zip(looked, now, strict=True) if one.rule and new is not one.column
    }
    return tuple(now), (*warnings, *_idle(columns, now, wanted)), cuts


def look(column: Column, wanted: Treatment, rows: NDArray[np.int64] | None = None) -> Looked:
    """What there is to see of an `ordered` column; rows as in `settle_states`."""
    is_wanted = wanted.is_discrete(column.name) or column.name in wanted.states
    is_kept, dressed = is_wanted or column.levels, None
    own = wanted.rules.get(column.name)
    is_asked = len(column.values) > PLAIN_STATES or bool(wanted.rules)
    if column.numbers is None and not is_kept and is_asked and has_digits(column):
        from extbnsl.data.dressed import dress_of, unsettled

        found = dress_of(column, rows)
        dressed = found and unsettled(found, wanted.writing)
    rule = None if is_kept else own or _plain(wanted.rules.get(None), column, dressed)
    return Looked(column, is_wanted, rule, dressed, rows)


def are_numbers(columns: Sequence[Column]) -> bool:
    """Whether the `ordered` columns are all numbers, which a score of numbers takes as they are."""
    return all(column.numbers is not None and not column.levels for column in columns)


def unfit(column: Column, dressed: "Dressed | None" = None) -> str | None:
    """Why the column cannot be a discrete variable as it stands, for a sentence; None if it can."""
    distinct, records = len(column.values), int(np.count_nonzero(column.codes >= 0))
    if distinct > MAX_FRACTIONAL_STATES and has_fractions(column):
        return f"continuous, {distinct} different numbers"
    if distinct > MAX_FRACTIONAL_STATES and dressed is not None and (dressed.has_fractions or distinct > FEW_STATES):
        return f"{distinct} states"
    if distinct > FEW_STATES and are_dates(column):
        return f"{distinct} dates or times"
    if distinct > FEW_STATES and is_identifier(column):
        return f"{distinct} states, looks like an identifier: remove it"
    if distinct > FEW_STATES and distinct >= NEARLY * records:
        like = "an identifier" if column.numbers is None else "a measurement"
        return f"{distinct} states in {len(column.codes)} records, looks like {like}"
    return f"{distinct} states" if distinct > MAX_STATES else None


def refusals(looked: Sequence[Looked], numbers: bool) -> list[Remark]:
    """Remarks on the columns that cannot be used, or not be cut as the user wants it, all of a kind in one.

    numbers: whether all columns of the data are numbers.
    """
    faulty = [one for one in looked if one.rule is None and one.unfit]
    beyond = [
        one for one in looked if one.rule and one.column.values and (one.dressed or _is_beyond(one.rule, one.column))
    ]
    uncut = [one for one in beyond if one.column.numbers is None]
    without_mean = [one for one in beyond if one.column.numbers is not None]
    remarks = [_too_many_states(one.column) for one in looked if one.is_kept and len(one.column.values) > LARGEST_ARITY]
    dressed = [(one.column.name, one.dressed) for one in (*faulty, *uncut)]
    remarks += _dresses([(name, dress) for name, found in dressed if found for dress in found.marks])
    kinds = [(one, one.column.numbers is not None and not is_identifier(one.column)) for one in faulty]
    measured = [one.column for one, is_measured in kinds if is_measured]
    texts = [one.column for one, is_measured in kinds if one.dressed is None and not is_measured]
    remarks += [_of_measured(measured, numbers, len(measured) == len(looked))] if measured else []
    remarks += [_of_texts(texts)] if texts else []
    remarks += [_of_uncut(own)] if (own := [one for one in uncut if not one.dressed]) else []
    return remarks + ([_of_limits(without_mean)] if without_mean else [])


def _dresses(found: Sequence[tuple[str, "Dress"]]) -> list[Remark]:
    """Remarks on what keeps columns, which are named, from being numbers."""
    if not found:
        return []
    from extbnsl.data.dressed import of_dresses

    return of_dresses(found)


def _too_many_states(column: Column) -> Remark:
    what = f"column '{column.name}' has {len(column.values):,} states, and no column can have more than"
    return Remark((column.name,), (f"{what} {LARGEST_ARITY:,}",), ("leave it out", dropped([column.name])))


def _unusable(columns: Sequence[Column]) -> str:
    """The columns, with why each cannot be used."""
    named = ", ".join(f"'{column.name}' ({unfit(column)})" for column in columns[:3])
    more = f" and {len(columns) - 3} more" if len(columns) > 3 else ""
    noun, as_is = ("column", "it is") if len(columns) == 1 else ("columns", "they are")
    return f"{noun} {named}{more} cannot be used as {as_is}"


def _of_measured(columns: Sequence[Column], numbers: bool, whole: bool) -> Remark:
    """The remark on numbers that are too many to be states; numbers: whether all columns are numbers, whole: whether
    these are all columns."""
    names = tuple(column.name for column in columns)
    them = "it" if len(names) == 1 else "them"
    gaussian = asking("score", "gaussian-bic")
    taken = ("take ", gaussian, ", which takes all columns as the numbers that they are, ") if numbers else ()
    both = asking("score", "cg-bic")
    mixed = () if numbers else (" (or take ", both, ", which takes states and numbers as they are)")
    cutting = (f"cut {them} with ", asking("discretise", "mean"), f" (or {OTHER_FORMS})")
    left = () if whole else (", ", *_left_out(columns))
    return Remark(names, (_unusable(columns),), (*taken, "or " if whole and taken else "", *cutting, *left, *mixed))


def _of_texts(columns: Sequence[Column]) -> Remark:
    """The remark on texts, identifiers and dates that are no states."""
    return Remark(tuple(c.name for c in columns), (_unusable(columns),), _left_out(columns))


def _left_out(columns: Sequence[Column]) -> tuple[Part, ...]:
    """The advice to leave the columns out, or to take those as they are whose states have some records each."""
    names = [column.name for column in columns]
    few = [c.name for c in columns if not are_dates(c) and _records_a_state(c) >= LEAST_RECORDS]
    last = "" if few or columns[0].numbers is None else "or "
    left = (f"{last}leave {'it' if len(names) == 1 else 'them'} out", dropped(names))
    dates = (", or write months or years for dates",) if any(map(are_dates, columns)) else ()
    if not few:
        return *left, *dates
    them = listed(few) if few != names else "it" if len(names) == 1 else "them"
    they = "it is" if len(few) == 1 else "they are"
    return *left, *dates, f", or take {them} as {they} with ", option("discrete", *few)


def _records_a_state(column: Column) -> float:
    """How many records a state has, by and large; numbers need more of them than texts."""
    return len(column.codes) / len(column.values) / (1.0 if column.numbers is None else 2.5)


def _of_uncut(looked: Sequence[Looked]) -> Remark:
    """The remark on texts that a rule for numbers is to cut."""
    names = tuple(one.column.name for one in looked)
    each = ", ".join(
        f"'{one.column.name}' ({unfit(one.column) or f'{len(one.column.values)} states'})" for one in looked[:3]
    )
    more = f" and {len(looked) - 3} more" if len(looked) > 3 else ""
    what = f"column{'s' if len(names) > 1 else ''} {each}{more} cannot be cut by "
    column, rows = looked[0].column, looked[0].rows
    first = int(
        np.isin(column.codes, [i for i, text in enumerate(column.values) if numbers_of([text]) is None]).argmax()
    )
    value, row = column.values[column.codes[first]], (first if rows is None else int(rows[first])) + 1
    since = f", since {value!r} in row {row:,} of the data is no number"
    them, they = ("it", "it is") if len(names) == 1 else ("them", "they are")
    advice = (f"leave {them} out", dropped(names), f", or take {them} as {they} with ", option("discrete", *names))
    return Remark(names, (what, asking("discretise", looked[0].rule), since), advice, value, row)


def _of_limits(looked: Sequence[Looked]) -> Remark:
    """The remark on numbers below all others, of which there is no mean."""
    names = tuple(one.column.name for one in looked)
    have = (
        f"{columns_told(names)} {'have' if len(names) > 1 else 'has'} values that are lower or higher than all numbers"
    )
    advice = ("cut by quantile:k, or say ", asking("below-detection", "half"))
    return Remark(names, (have, ", so there is no cutting by ", asking("discretise", looked[0].rule)), advice)


def _plain(rule: Rule | None, column: Column, dressed: "Dressed | None") -> Rule | None:
    """The rule, if it is for a column that is not named."""
    if rule is None:
        return None
    if rule.method == "paper":
        return rule if len(column.values) > PAPER_STATES else None
    many_numbers = column.numbers is not None and len(column.values) > FEW_STATES
    return rule if many_numbers or unfit(column, dressed) else None


def settled(looked: Sequence[Looked]) -> list[Column]:
    """The columns, with those cut that a rule can cut."""
    return list(map(_cut, looked))


def _cut(looked: Looked) -> Column:
    column, rule = looked.column, looked.rule
    if rule is None or len(column.values) < 2 or looked.dressed or _is_beyond(rule, column):
        return column
    return cut(column, rule)


def _is_beyond(rule: Rule, column: Column) -> bool:
    """Whether the rule is for numbers, or for their mean, and the column has none."""
    if column.numbers is None:
        return rule.method != "paper"
    return rule.method != "quantile" and bool(np.isinf(column.numbers).any())


def doubts(looked: Sequence[Looked]) -> list[Remark]:
    """Remarks on columns that are used but may not be meant so, all of a kind in one."""
    free = [one.column for one in looked if not one.is_wanted and one.dressed is None]
    uncut = [one for one in looked if not one.is_wanted and one.rule is None and not is_identifier(one.column)]
    many = [one for one in uncut if len(one.column.values) > PLAIN_STATES]
    dresses = [(one.column.name, dress) for one in many if one.dressed for dress in one.dressed.marks]
    dresses = [(name, dress) for name, dress in dresses if not SUSPECTS.issuperset(dress.texts or "x")]  # hinted at
    plain = [one.column for one in uncut if one.dressed is None]
    by_index = [one.column for one in looked if one.rule and one.column.numbers is None and one.column.values]
    found = [*_identifiers(free), *_by_index(by_index), *_dresses(dresses), *_of_many_states(plain)]
    return found


def _identifiers(columns: Sequence[Column]) -> list[Remark]:
    """The remark on columns that only number or name the records, or tell their times."""
    found = [column for column in columns if is_identifier(column)]
    if not found:
        return []
    names = tuple(column.name for column in found)
    like = "dates or times" if all(map(are_dates, found)) else "an identifier" if len(names) == 1 else "identifiers"
    looks, them, tell = ("looks", "it", "it tells") if len(names) == 1 else ("look", "them", "they tell")
    each = f" (each of the {len(found[0].values)} records has a value of its own)"
    advice = (f"leave {them} out", dropped(names), f", since {tell} nothing about other variables")
    return [Remark(names, (f"{columns_told(names)} {looks} like {like}{each}",), advice)]


def _by_index(texts: Sequence[Column]) -> list[Remark]:
    """The remark on columns of texts that were cut."""
    if not texts:
        return []
    names = tuple(column.name for column in texts)
    states = f"{len(texts[0].values)} states" if len(names) == 1 else "states"
    have, was, its = ("has", "it was", "its") if len(names) == 1 else ("have", "they were", "their")
    what = f"{columns_told(names)} {have} {states} that are no numbers"
    return [Remark(names, (what,), (f"{was} cut at the mean index of {its} sorted states",))]


def _of_many_states(columns: Sequence[Column]) -> list[Remark]:
    """Remarks on whole numbers that look measured, and on other columns of many states."""
    measured = [column for column in columns if looks_measured(column)]
    names = tuple(column.name for column in measured)
    others = tuple(c.name for c in columns if len(c.values) >= MANY_STATES and c.name not in names)
    found = list[Remark]()
    if names:
        each = ", ".join(f"'{column.name}' ({len(column.values)} different numbers)" for column in measured[:3])
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        what = (
            f"column{'s' if len(names) > 1 else ''} {each}{more} may be measured, but every number was taken as a state"
        )
        rule, kept = option("discretise", f"{names[0]}=quantile:4"), option("discrete", names[0])
        found.append(Remark(names, (what,), ("cut with ", rule, ", or say ", kept, " to keep them")))
    if others:
        have = "have" if len(others) > 1 else "has"
        many = f"more than {MANY_STATES - 1} states, each with few records, which makes arcs to and from them costly"
        advice = ("merge states, or say ", option("discrete", others[0]), " if that is meant")
        found.append(Remark(others, (f"{columns_told(others)} {have} {many}",), advice))
    return found


def _idle(before: Sequence[Column], after: Sequence[Column], wanted: Treatment) -> tuple[str, ...]:
    """A warning for each rule that made no column simpler."""
    plain, named = wanted.rules.get(None), {name: rule for name, rule in wanted.rules.items() if name is not None}
    changed = {old.name for old, new in zip(before, after, strict=True) if old is not new}
    simpler = {old.name for old, new in zip(before, after, strict=True) if len(new.values) < len(old.values)}
    idle = [
        Sentence(
            option("discretise", f"{name}={rule}"),
            f" cut nothing: column '{name}' has no more values than that has intervals.",
        )
        for name, rule in named.items()
        if name in {column.name for column in before if not column.levels} and name not in simpler
    ]
    if plain is not None and changed <= set(named):
        idle.append(
            Sentence(
                asking("discretise", plain),
                " cut nothing, because no column needs it: name the columns to cut, as ",
                option("discretise", f"COLUMN={plain}"),
                ".",
            )
        )
    return tuple(idle)


def looks_measured(column: Column) -> bool:
    """Whether the states are many whole numbers and, unless they are very many, not just the codes 0, 1, 2, ..."""
    numbers = column.numbers
    if numbers is None or len(numbers) <= MANY_WHOLE or has_fractions(column):
        return False
    are_codes = numbers[0] in (0, 1) and numbers[-1] - numbers[0] == len(numbers) - 1
    return len(numbers) >= MANY_STATES or not are_codes


def is_identifier(column: Column) -> bool:
    """Whether each of more than IDENTIFIER_RECORDS records has a value of its own, whole or a text."""
    records = len(column.codes)
    return records > IDENTIFIER_RECORDS and len(column.values) == records and not has_fractions(column)


def are_dates(column: Column) -> bool:
    """Whether the values are texts that are dates or times."""
    if column.numbers is not None or not has_digits(column):
        return False
    from extbnsl.data.dressed import are_dates

    return are_dates(column.values)


def cut(column: Column, rule: Rule) -> Column:
    """The column with intervals for states, in their order; those without a record are left out.

    mean and paper: "<=m" and ">m". quantile: edges at the smallest values that at least i/k of the records
    do not exceed, fewer where they coincide, and below the largest value. width: k intervals of equal
    width. Intervals are open to the left and closed to the right. A paper column of texts is cut by
    index, and called "first..last".
    """
    if column.numbers is None:
        lower = int(mean(column, np.arange(len(column.values), dtype=np.float64))) + 1
        labels = [_span(column.values[:lower]), _span(column.values[lower:])]
        return _regroup(column, (np.arange(len(column.values)) >= lower).astype(np.intp), labels)
    edges = _edges(column, column.numbers, rule)
    group = np.searchsorted(edges, column.numbers, side="left")
    if math.isinf(edges[0]):  # the first state alone is below it, and called what it is
        inner, (first, second) = _edge_texts(edges[1:]), column.values[:2]
        above = [f"<={inner[0]}", *_between(inner), f">{inner[-1]}"] if inner else [f">={second}"]
        return _regroup(column, group, [first, *above])
    texts = _edge_texts(edges)
    return _regroup(column, group, [f"<={texts[0]}", *_between(texts), f">{texts[-1]}"])


def _between(texts: Sequence[str]) -> list[str]:
    """The names of the intervals between edges."""
    return [f"({low},{high}]" for low, high in pairwise(texts)]


def _edges(column: Column, numbers: NDArray[np.float64], rule: Rule) -> NDArray[np.float64]:
    """The cuts between intervals, ascending and distinct, at least one."""
    if rule.method in ("mean", "paper"):
        return np.array([mean(column, numbers)])
    steps = range(1, rule.parts)
    if rule.method == "width":
        low, high = float(numbers[0]), float(numbers[-1])
        return np.unique([low + (high - low) * i / rule.parts for i in steps])
    reached = np.cumsum(weights(column))
    at = np.searchsorted(reached * rule.parts, [i * int(reached[-1]) for i in steps], side="left")
    # An edge at the largest value would leave nothing above it: cut below that value instead.
    return np.unique(numbers[np.minimum(at, len(numbers) - 2)])


def _regroup(column: Column, group: NDArray[np.intp], labels: Sequence[str]) -> Column:
    """The column with value i replaced by `labels[group[i]]`; labels that do not occur are left out."""
    used, dense = np.unique(group, return_inverse=True)
    return recoded(column, dense, [labels[i] for i in used.tolist()])


def _edge_texts(edges: NDArray[np.float64]) -> list[str]:
    """The edges to six digits, or as many more as tell them apart; whole numbers in full."""
    for digits in range(6, 17):
        texts = [str(int(e)) if e.is_integer() and abs(e) < 1e15 else f"{e:.{digits}g}" for e in edges.tolist()]
        if len(set(texts)) == len(texts):
            return texts
    return [repr(e) for e in edges.tolist()]


def _span(labels: Sequence[str]) -> str:
    """The name of a run of states: "first..last", or the state itself if alone."""
    return labels[0] if len(labels) == 1 else f"{labels[0]}..{labels[-1]}"
