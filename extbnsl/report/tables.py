"""The tables of a campaign: figures of its runs, beside those that have been published."""

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from extbnsl.campaign.figures import BYTES, SECONDS, Value, states_of_first
from extbnsl.campaign.plan import matches
from extbnsl.campaign.rows import NO_NETWORK, NO_RESULT, WAITING, Row
from extbnsl.campaign.spec import AXES, Column, Scalar, Table
from extbnsl.claims import DISK_LIMIT, FINISHED, INTERRUPTED, MEMORY_LIMIT, NOT_PROVED, TIME_LIMIT
from extbnsl.figures import format_cost
from extbnsl.machine.budgets import format_size
from extbnsl.report.grid import Grid

MARKS = {
    TIME_LIMIT: "OT",
    MEMORY_LIMIT: "OM",
    DISK_LIMIT: "OD",
    NO_NETWORK: "O",
    NOT_PROVED: "open",
    INTERRUPTED: "stopped",
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
    "...": "not run yet",
    "failed": "no result, for a reason that the list of failures has",
}
EFFORT = (*BYTES, *SECONDS)  # figures that mean nothing of a run that came to no end
COSTS = ("cost", "lower_bound")
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
    for label, column in _labelled(table.columns, meant):
        own = [row for row in meant if matches(column.where, row.run.names)]
        head.append(label)
        for line, name in zip(lines, names, strict=True):
            line.append(_cell([row for row in own if row.run.names[table.rows] == name], column))
        if column.published:
            head.append(f"{label}, published")
            for line, name in zip(lines, names, strict=True):
                line.append(_published(column.published.get(name), column.figure))
    used = {mark for line in lines for text in line[1:] for mark in MEANING if mark in text.split()}
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
    open_ = [row for row in rows if row.status not in FINISHED]
    marks = " ".join(dict.fromkeys(MARKS.get(row.status, row.status) for row in open_))
    if marks and len(rows) > 1:
        marks = f"{marks} {len(open_)}/{len(rows)}"
    useful = [row for row in rows if column.figure not in EFFORT or row.status in FINISHED]
    values = [value for row in useful if (value := _figure(row, column)) is not None]
    if column.figure == "status" or not values:
        return marks or " ".join(dict.fromkeys(str(value) for value in values))
    told = formatted(_taken(values, column.take), column.figure)
    return f"{told} {marks}".strip()


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
    if figure in COSTS:
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
