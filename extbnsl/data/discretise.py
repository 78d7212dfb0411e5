"""Rules that cut columns into intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.arguments import written_number
from extbnsl.core.errors import InputError
from extbnsl.core.sentences import option
from extbnsl.data.column import Column, mean, recoded, weights

MAX_PARTS = 64  # intervals
OTHER_FORMS = "quantile:k, width:k, paper"  # than mean


@dataclass(frozen=True)
class Rule:
    """How to cut: `method` is "mean", "quantile", "width" or "paper"; `parts` the number of intervals."""

    method: str
    parts: int = 2

    def __str__(self) -> str:
        """The rule as it is given."""
        return f"{self.method}:{self.parts}" if self.method in ("quantile", "width") else self.method


def parse_rule(text: str) -> Rule:
    """The rule that --discretise `text` asks for; InputError if it is none."""
    if text in ("mean", "paper"):
        return Rule(text)
    method, _, parts = text.partition(":")
    if method not in ("quantile", "width"):
        raise InputError(
            option("discretise", text), f" is unknown: use mean, {OTHER_FORMS}, or COLUMN=RULE for one column."
        )
    number = written_number(parts) or 0
    if not 2 <= number <= MAX_PARTS:
        raise InputError(
            option("discretise", text), f": give a number of intervals from 2 to {MAX_PARTS}, as {method}:3."
        )
    return Rule(method, number)


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
