"""Columns that are no discrete variables as they stand: refused by name, or cut into intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from extbnsl.data.column import Column, has_fractions, mean, recoded, weights
from extbnsl.errors import InputError

# More states than any variable of the published networks has (pathfinder: 63), which are the largest in use.
MAX_STATES = 64
# Numbers that are not whole are taken for a measurement from here on: half points of a scale stay states.
MAX_FRACTIONAL_STATES = 10
# "columns continuous or with more than four states were cut at the mean": the literature's preparation.
PAPER_STATES = 4
# Below this, that every record has a value of its own says nothing.
IDENTIFIER_RECORDS = 20
FORMS = "mean, quantile:k, width:k or paper"


@dataclass(frozen=True)
class Rule:
    """How to cut: `method` is "mean", "quantile", "width" or "paper"; `parts` the number of intervals."""

    method: str
    parts: int = 2


def parse_rule(text: str | None) -> Rule | None:
    """The rule that --discretise `text` asks for; InputError if it is none."""
    if text is None or text in ("mean", "paper"):
        return Rule(text) if text else None
    method, _, parts = text.partition(":")
    if method not in ("quantile", "width"):
        raise InputError(f"--discretise {text} is unknown: use {FORMS}.")
    if not (parts.isascii() and parts.isdigit() and 2 <= int(parts) <= MAX_STATES):
        raise InputError(f"--discretise {text}: give a number of intervals from 2 to {MAX_STATES}, as {method}:3.")
    return Rule(method, int(parts))


def settle_states(
    columns: Sequence[Column], rule: Rule | None, source: str
) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """Cut the columns that `rule` is for, refuse what cannot be a discrete variable, warn of identifiers.

    The columns are `ordered`. Without a rule a column is refused (InputError) if it is continuous (numbers
    that are not all whole, more than MAX_FRACTIONAL_STATES of them) or has more than MAX_STATES states; the
    rules mean, quantile and width cut just these, which must be numbers; paper cuts every column of more
    than PAPER_STATES states, by the index of the state if they are no numbers. Returns columns and warnings.
    """
    if rule is None:
        _refuse([(column, fault) for column in columns if (fault := unfit(column))], source)
        return tuple(columns), _identifiers(columns)
    paper = rule.method == "paper"
    chosen = [len(column.values) > PAPER_STATES if paper else bool(unfit(column)) for column in columns]
    texts = [c for c, cut_it in zip(columns, chosen, strict=True) if cut_it and c.numbers is None]
    if texts and not paper:
        faults = " and ".join(f"'{column.name}' ({unfit(column)})" for column in texts[:3])
        raise InputError(
            f"{source}: {_plural('column', len(texts))} {faults}{_more(len(texts) - 3)} cannot be cut by "
            f"--discretise {rule.method} for want of numbers: remove "
            f"{'it' if len(texts) == 1 else 'them'}, or use --discretise paper."
        )
    by_index = tuple(
        f"Column '{column.name}' has {len(column.values)} states that are no numbers: it was cut at the mean "
        "index of its sorted states."
        for column in texts
    )
    settled = tuple(cut(c, rule) if cut_it else c for c, cut_it in zip(columns, chosen, strict=True))
    return settled, _identifiers(columns) + by_index


def unfit(column: Column) -> str | None:
    """Why the column cannot be a discrete variable as it stands, for a sentence; None if it can."""
    distinct = len(column.values)
    if distinct > MAX_FRACTIONAL_STATES and has_fractions(column):
        return f"continuous, {distinct} different numbers"
    if distinct <= MAX_STATES:
        return None
    return f"{distinct} states" + (", looks like an identifier: remove it" if _is_identifier(column) else "")


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
    texts = _edge_texts(edges)
    middle = [f"({low},{high}]" for low, high in pairwise(texts)]
    group = np.searchsorted(edges, column.numbers, side="left")
    return _regroup(column, group, [f"<={texts[0]}", *middle, f">{texts[-1]}"])


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
    new_code = np.append(dense.astype(np.int32), np.int32(-1))
    return Column(column.name, tuple(labels[i] for i in used.tolist()), recoded(column.codes, new_code))


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


def _refuse(faults: Sequence[tuple[Column, str | None]], source: str) -> None:
    """Raise InputError naming the columns and what is wrong with each, if there are any."""
    if not faults:
        return
    named = ", ".join(f"'{column.name}' ({fault})" for column, fault in faults[:3])
    raise InputError(
        f"{source}: {_plural('column', len(faults))} {named}{_more(len(faults) - 3)} cannot be used as "
        f"{'it is' if len(faults) == 1 else 'they are'}: a variable has a few discrete states, so remove the "
        f"column or cut it with --discretise {FORMS}."
    )


def _identifiers(columns: Sequence[Column]) -> tuple[str, ...]:
    """A warning for each column that only numbers or names the records."""
    return tuple(
        f"Column '{column.name}' looks like an identifier (each of the {len(column.values)} records has a "
        "value of its own): remove it, it tells nothing about the other variables."
        for column in columns
        if _is_identifier(column)
    )


def _is_identifier(column: Column) -> bool:
    """Whether each of more than IDENTIFIER_RECORDS records has a value of its own, whole or a text."""
    records = len(column.codes)
    return records > IDENTIFIER_RECORDS and len(column.values) == records and not has_fractions(column)


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else noun + "s"


def _more(count: int) -> str:
    return f" and {count} more" if count > 0 else ""
