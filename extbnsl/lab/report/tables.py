"""The tables of a campaign: figures of its runs, beside those that have been published.

What a report has to say.

How much better one method is than another over many data sets: differences of BIC, as Scanagatta et al. 2015 count
them in their Tables 2 to 4.

Results of a campaign that cannot all hold: a bound that another run's network is below.
"""

import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from extbnsl.core.claims import (
    DISK_LIMIT,
    FINISHED,
    INTERRUPTED,
    MEMORY_LIMIT,
    NO_WORKERS,
    NOT_PROVED,
    TIME_LIMIT,
    Claim,
    tolerance,
)
from extbnsl.core.codec import json_text
from extbnsl.core.figures import format_cost, format_size
from extbnsl.drawing.markup import Grid
from extbnsl.lab.campaign.figures import BYTES, SECONDS, Value, states_of_first
from extbnsl.lab.campaign.plan import matches
from extbnsl.lab.campaign.rows import NO_NETWORK, NO_RESULT, WAITING, Row, called
from extbnsl.lab.campaign.spec import AXES, Axis, Column, Comparison, Scalar, Table

MARKS = {
    TIME_LIMIT: "OT",
    MEMORY_LIMIT: "OM",
    DISK_LIMIT: "OD",
    NO_NETWORK: "O",
    NOT_PROVED: "open",
    INTERRUPTED: "stopped",
    NO_WORKERS: "alone",
    WAITING: "...",
    NO_RESULT: "failed",
}
MEANING = {
    "OT": "out of time",
    "OM": "out of memory",
    "OD": "out of disk",
    "O": "a budget ended before there was a network",
    "open": "not proved, with budgets left",
    "stopped": "stopped by a signal",
    "alone": "the workers of its cluster were gone",
    "...": "not run yet",
    "failed": "no result, for a reason that the list of failures has",
}
_WORD = re.compile(r"[\w.]+")
EFFORT = (*BYTES, *SECONDS)  # figures that mean nothing of a run that came to no end
NATS = ("cost", "lower_bound", "log_weight")
_TAKE: Mapping[str, Callable[[Sequence[float]], float]] = {
    "median": statistics.median,
    "mean": statistics.fmean,
    "least": min,
    "most": max,
    "sum": sum,
}


def table_of(table: Table, rows: Sequence[Row]) -> Grid:
    """A table of a campaign over these rows."""
    meant = [row for row in rows if matches(table.where, row.run.names)]
    names = list(dict.fromkeys(row.run.names[table.rows] for row in sorted(meant, key=_place(rows))))
    head: list[str] = [table.rows]
    lines = [[name] for name in names]
    for label, column in _told_apart([*_labelled(table.columns, meant)], head):
        own = [row for row in meant if matches(column.where, row.run.names)]
        head.append(label)
        for line, name in zip(lines, names, strict=True):
            line.append(_cell([row for row in own if row.run.names[table.rows] == name], column))
        if column.published:
            head.append(f"{label}, published")
            for line, name in zip(lines, names, strict=True):
                line.append(_published(column.published.get(name), column.figure))
    used = {word for line in lines for text in line[1:] for word in _WORD.findall(text)}
    marks = "; ".join(f"{mark}: {MEANING[mark]}" for mark in MEANING if mark in used)
    note = " ".join(filter(None, (table.note, f"{marks}." if marks else "")))
    return Grid(table.title, tuple(head), tuple(map(tuple, lines)), note)


def _labelled(columns: Iterable[Column], rows: Sequence[Row]) -> Iterator[tuple[str, Column]]:
    """The columns with their labels; one that is for each name of an axis comes once for each that the rows have."""
    for column in columns:
        if column.each is None:
            yield column.label or "", column
            continue
        meant = [row for row in rows if matches(column.where, row.run.names)]
        for name in dict.fromkeys(row.run.names[column.each] for row in sorted(meant, key=_place(rows))):
            where = column.where.model_copy(update={column.each: [name]})
            yield f"{column.label} {name}".strip() if column.label else name, column.model_copy(update={"where": where})


def _told_apart(columns: Sequence[tuple[str, Column]], others: Sequence[str]) -> list[tuple[str, Column]]:
    """The columns with labels that differ from each other, and from others: one that is there already says what else
    the column is, as far as that differs, or else gets a number."""
    tells: tuple[Callable[[Column], str], ...] = (
        lambda column: column.figure.replace("_", " "),
        lambda column: column.take,
        lambda column: ", ".join(name for axis in AXES for name in getattr(column.where, axis) or ()),
    )
    labels = [label for label, _ in columns]
    for tell in tells:
        said: dict[str, set[str]] = {label: {""} for label in others}
        for label, (_, column) in zip(labels, columns, strict=True):
            said.setdefault(label, set()).add(tell(column))
        more = [
            tell(column) if len(said[label]) > 1 else "" for label, (_, column) in zip(labels, columns, strict=True)
        ]
        labels = [", ".join(filter(None, both)) for both in zip(labels, more, strict=True)]
    seen: Counter[str] = Counter(others)
    for place, label in enumerate(labels):
        seen[label] += 1
        labels[place] = f"{label} ({seen[label]})" if seen[label] > 1 else label
    return [(label, column) for label, (_, column) in zip(labels, columns, strict=True)]


def _place(rows: Sequence[Row]) -> Callable[[Row], tuple[int, ...]]:
    """The place of a row in the campaign: rows come with failures first."""
    order: list[dict[str, int]] = [{} for _ in AXES]
    for row in sorted(rows, key=lambda row: row.number):
        for axis, places in zip(AXES, order, strict=True):
            places.setdefault(row.run.names[axis], len(places))
    return lambda row: tuple(places[row.run.names[axis]] for axis, places in zip(AXES, order, strict=True))


def _cell(rows: Sequence[Row], column: Column) -> str:
    """The figure of the runs in a cell, or the mark of what became of them."""
    if not rows:
        return ""
    counts = Counter(MARKS.get(row.status, row.status) for row in rows if row.status not in FINISHED)
    marks = " ".join(counts)
    if counts and len(rows) > 1:
        marks = ", ".join(f"{count} of {len(rows)} {mark}" for mark, count in counts.items())
    useful = [row for row in rows if column.figure not in EFFORT or row.status in FINISHED]
    values = [value for row in useful if (value := _figure(row, column)) is not None]
    if column.figure == "status" or not values:
        return marks or " ".join(dict.fromkeys(str(value) for value in values))
    told = formatted(_taken(values, column.take), column.figure)
    return f"{told} ({marks})" if marks and len(rows) > 1 else f"{told} {marks}".strip()


def _figure(row: Row, column: Column) -> Value:
    return row.figure(column.figure) if column.first is None else states_of_first(column.first, row.document)


def _taken(values: Sequence[Value], take: str) -> Value:
    numbers = [value for value in values if isinstance(value, int | float)]
    if len(numbers) < len(values) or (len(set(numbers)) == 1 and take != "sum"):
        return values[0]
    return _TAKE[take](numbers)


def formatted(value: Value, figure: str) -> str:
    """A figure for people."""
    if value is None or isinstance(value, str):
        return value or ""
    if _is_size(figure):
        return format_size(int(value))
    if figure in SECONDS or figure.endswith("seconds"):
        return f"{value:,.2f}" if value < 10 else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"
    if figure in NATS:
        return format_cost(float(value), 3)
    if figure == "gap":
        return f"{value:.2%}"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def _is_size(figure: str) -> bool:
    return figure in BYTES or figure.endswith("_bytes")


def _published(value: Scalar | None, figure: str) -> str:
    """A published figure as ours are; a whole number that is none of bytes stays one."""
    if isinstance(value, int) and not _is_size(figure):
        return f"{value:,}"
    return formatted(value, figure)


def failures(rows: Iterable[Row]) -> Grid | None:
    """What failed, and why; None if nothing did."""
    found = tuple((*(row.run.names[axis] for axis in AXES), row.message) for row in rows if row.failed)
    return Grid("Failures", (*AXES, "why"), found, "What no budget explains.") if found else None


def overview(rows: Sequence[Row]) -> Grid:
    """All runs: for a campaign that names no tables."""
    figures = ("cost", "gap", "seconds", "cpu_seconds", "memory", "disk")
    lines = []
    for row in sorted(rows, key=lambda row: row.number):
        names = [row.run.names[axis] for axis in AXES]
        told = [formatted(row.figure(name), name) for name in figures]
        lines.append((*names, row.status.replace("_", " "), *told))
    used = [place for place, axis in enumerate(AXES) if len({line[place] for line in lines}) > 1 or axis == "data"]
    shown = [*used, *range(len(AXES), len(AXES) + 1 + len(figures))]
    head = (*AXES, "status", *(name.replace("_", " ") for name in figures))
    return Grid(
        "All runs", tuple(head[place] for place in shown), tuple(tuple(line[p] for p in shown) for line in lines)
    )


@dataclass(frozen=True)
class Picture:
    """A drawing as SVG, with its title."""

    title: str
    svg: str


@dataclass(frozen=True)
class Report:
    """What there is to say of a campaign. failures: what failed, and results that cannot all hold, if there are any.
    missing: why there are no pictures."""

    title: str
    rows: tuple[Row, ...]
    failures: tuple[Grid, ...]
    grids: tuple[Grid, ...]
    pictures: tuple[Picture, ...]
    missing: str | None


# Of a difference of BIC, from the first bound that it exceeds; the last has none
CATEGORIES = (
    ("Very positive (K > 10)", 10.0),
    ("Strongly positive (6 < K < 10)", 6.0),
    ("Positive (2 < K < 6)", 2.0),
    ("Neutral (-2 < K < 2)", -2.0),
    ("Negative (-6 < K < -2)", -6.0),
    ("Strongly negative (-10 < K < -6)", -10.0),
    ("Very negative (K < -10)", -math.inf),
)
SUPPORTING = 3  # of them, the first ones, count for the first of a pair in the sign test


def comparison_of(comparison: Comparison, rows: Sequence[Row]) -> Grid:
    """For each pair, how many differences of BIC are in each category, and the p-value of the sign test."""
    found = [[category(one) for one in _differences(rows, comparison.axis, *pair)] for pair in comparison.pairs]
    lines = [(name, *(str(own.count(k)) for own in found)) for k, (name, _) in enumerate(CATEGORIES)]
    values = [p_value(sum(k < SUPPORTING for k in own), len(own)) for own in found]
    head = ("difference of BIC (K)", *(f"{first} - {second}" for first, second in comparison.pairs))
    return Grid(comparison.title, head, (*lines, ("p-value", *(f"{value:.2g}" for value in values))), comparison.note)


def _differences(rows: Sequence[Row], axis: Axis, first: str, second: str) -> list[float]:
    """BIC by the first less that by the second, of all runs that differ in nothing else."""
    costs: dict[tuple[str, ...], dict[str, float]] = {}
    for row in rows:
        cost = row.figure("cost")
        if isinstance(cost, int | float):
            others = tuple(row.run.names[other] for other in AXES if other != axis)
            costs.setdefault(others, {})[row.run.names[axis]] = float(cost)
    return [own[second] - own[first] for own in costs.values() if first in own and second in own]


def category(difference: float) -> int:
    """The number of the category of a difference of BIC; on a bound, the lower one."""
    return next(k for k, (_, bound) in enumerate(CATEGORIES) if difference > bound)


def p_value(supporting: int, cases: int) -> float:
    """Of the one-sided sign test: how likely so many or more of the cases are if each is as likely as not."""
    return math.fsum(math.comb(cases, k) for k in range(supporting, cases + 1)) / 2.0**cases


def contradictions(rows: Iterable[Row]) -> Grid | None:
    """For each problem that several runs have, the largest lower bound if the cheapest network is below it; None if
    there is no such problem. Problems are the same if the data and all that is claimed of the networks are."""
    found = tuple(line for own in _by_problem(rows).values() for line in _lines(own))
    head = ("run", "proves at least", "but this run", "has a network of")
    return Grid("Contradictions", head, found, "One of the two is wrong: please report it.") if found else None


def _by_problem(rows: Iterable[Row]) -> dict[tuple[Any, ...], list[Row]]:
    """The runs with bounds and networks, by their problem."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        bounds = (row.figure("cost"), row.figure("lower_bound"))
        digest = row.figure("provenance.data_digest")
        if isinstance(digest, str) and all(isinstance(value, int | float) for value in bounds):
            claim = (row.figure(one.name) for one in fields(Claim) if one.name != "knowledge")
            problem = (digest, *claim, json_text(row.document.get("knowledge")))
            groups.setdefault(problem, []).append(row)
    return groups


def _lines(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    least = min(rows, key=_cost)
    most = max(rows, key=_bound)
    if _bound(most) > _cost(least) + tolerance(_cost(least)):
        yield called(most.run), format_cost(_bound(most), 6), called(least.run), format_cost(_cost(least), 6)


def _cost(row: Row) -> float:
    return float(row.document["cost"])


def _bound(row: Row) -> float:
    return float(row.document["lower_bound"])
