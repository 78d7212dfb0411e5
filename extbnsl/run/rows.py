"""The tables of the layers of a search, for people."""

import math
from collections.abc import Callable

from extbnsl.core.events import LayerEnded
from extbnsl.core.figures import format_cost, format_count, format_gap, format_size
from extbnsl.machine.budgets import current_rss

ROW_SECONDS = 1.0  # between rows of the table

_COLUMNS = "{:3}{:>6} {:>6} {:>6} {:>7} {:>7} {:>10} {:>12} {:>7} {:>7}"
_NAMES = ("Layer", "Edges", "Nodes", "Memory", "Disk", "Best bound", "Best network", "Gap", "Time")
HEADER = _COLUMNS.format("", *_NAMES)
LEGEND = (
    "Edges generated, nodes kept; best bound and network of all variables, in nats;",
    "S nodes are in files, C a checkpoint was written, * a better network was found",
)


class Rows:
    """The rows of the tables of layers; `begun` within one of them. `marks` are those of LEGEND that the next row has:
    others may add to them, and a row that is written takes them."""

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float], marks: set[str]) -> None:
        self.begun = False
        self._write, self._clock, self._marks = write, clock, marks
        self._explained = False
        self._waiting: str | None = None
        self._written = -math.inf

    def add(self, event: LayerEnded, elapsed: str) -> None:
        """Write what there is to say now that a layer has ended."""
        if not self.begun:
            for line in (HEADER,) if self._explained else (*LEGEND, HEADER):
                self._write(line)
            self.begun = self._explained = True
            self._written = -math.inf
        if event.spilled > 0:
            self._marks.add("S")
        marks = "".join(mark if mark in self._marks else " " for mark in "SC*")
        self._waiting = _layer_line(event, marks, elapsed)
        self.due()

    def due(self, after: float = ROW_SECONDS) -> None:
        """Write the row that waits, if there is one and the one before is so many seconds old."""
        if self._waiting is not None and self._clock() - self._written >= after:
            self._write(self._waiting)
            self._waiting, self._written = None, self._clock()
            self._marks.clear()

    def end(self) -> None:
        """Write the last row of the table, if there is one that waits."""
        self.due(0.0)
        self.begun = False


def _layer_line(event: LayerEnded, marks: str, elapsed: str) -> str:
    return _COLUMNS.format(
        marks,
        f"{event.layer}/{event.layers}",
        format_count(event.generated),
        format_count(event.kept),
        _size(current_rss()),
        _size(event.disk),
        _bound(event.lower_bound),
        _bound(event.upper_bound),
        format_gap(event.lower_bound, event.upper_bound),
        elapsed,
    )


def _size(size: float) -> str:
    """A size in at most seven columns."""
    text = format_size(size)
    return text if len(text) <= 7 else f"{text[:-5]}{text[-3:]}"


def _bound(bound: float) -> str:
    """A bound in ten columns, with as many decimals as there is room for."""
    texts = [format_cost(bound, decimals) for decimals in (3, 2, 1, 0)]
    return next((text for text in texts if len(text) <= 10), f"{bound:.4g}")
