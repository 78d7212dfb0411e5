"""Observers of a solve: a table of lines for people, JSON lines for programs, and what events are called before people.

An observer is called with the events of `extbnsl.core.events`. Lines are the same on a terminal and in a file; what is
shown in place, on a terminal alone, is never the only place where something is said.
"""

import contextlib
import dataclasses
import math
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TextIO

from extbnsl.core import compiling
from extbnsl.core.claims import FINISHED, OPTIMAL
from extbnsl.core.codec import json_text
from extbnsl.core.events import (
    Committed,
    Event,
    IncumbentFound,
    LayerAdvanced,
    LayerEnded,
    Observer,
    StageAdvanced,
    StageEnded,
    StageStarted,
    Warned,
)
from extbnsl.core.figures import (
    counted,
    format_cost,
    format_count,
    format_gap,
    format_size,
    format_time,
    stage_title,
    wrapped,
)
from extbnsl.machine.budgets import current_rss, peak_rss


def activity(event: Event) -> str | None:
    """What goes on once `event` has been told, such as 'search: layer 13 of 31, 42%'; None if that is as before."""
    match event:
        case StageStarted():
            return f"{stage_title(event.stage)}: {event.detail}" if event.detail else stage_title(event.stage)
        case StageAdvanced():
            return _stage_advance(event)
        case StageEnded():
            return f"{stage_title(event.stage)}: done"
        case IncumbentFound():
            gap = "" if event.lower_bound is None else f", gap {format_gap(event.lower_bound, event.cost)}"
            return f"network: best so far {format_cost(event.cost)}{gap}"
        case LayerAdvanced():
            counts = f"{format_count(event.generated)} edges, {counted(event.kept, 'node')} so far"
            return f"search: {layer_name(event.layer, event)}, {event.done:.0%}, {counts}"
        case LayerEnded():
            return f"search: {layer_name(min(event.layer + 1, event.layers), event)}"
    return None


def compiling_told() -> str | None:
    """How far compiling is, such as 'code: compiling function 12 of at most 40 (first run only)'; None if it rests."""
    state = compiling.so_far()
    if state.since is None:
        return None
    return f"code: compiling function {state.done + 1} of at most {state.known} (first run only)"


def layer_name(layer: int, event: LayerAdvanced | LayerEnded) -> str:
    """Which layer it is, such as 'layer 12 of 31', or 'component 2 of 3, layer 12 of 31'."""
    component = f"component {event.component} of {event.components}, " if event.components > 1 else ""
    return f"{component}layer {layer} of {event.layers}"


def utc_now() -> str:
    """The time of day in UTC, ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _stage_advance(event: StageAdvanced) -> str:
    said = f"{stage_title(event.stage)}: {event.detail}".removesuffix(": ")
    if event.unit == "bytes":
        count = f"{format_size(event.done)} of {format_size(event.total)}" if event.total else format_size(event.done)
    else:
        total = f" of {format_count(event.total)}" if event.total > 0 else ""
        count = f"{format_count(event.done)}{total} {event.unit}"
    known = [count] if event.unit else []
    if event.total > 0:
        known.append(f"{event.done / event.total:.0%}")
    return f"{said}: {', '.join(known)}"


ADVANCE_SECONDS = 2.0  # lines on the advance of one stage keep at least this distance
SILENCE_SECONDS = 5.0  # a stage or a layer that says nothing for this long gets a line all the same
MOST_DOUBLINGS = 6  # of the silence before a line that is as the one before
ROW_SECONDS = 1.0  # between rows of the table
SHOW_SECONDS = 0.2  # between texts that are shown in place
LEAST_SHARE = 0.02  # that must be done before an end is expected

Writer = Callable[[str], None]
Clock = Callable[[], float]

_COLUMNS = "{:3}{:>6} {:>6} {:>6} {:>7} {:>7} {:>10} {:>12} {:>7} {:>7}"
_NAMES = ("Layer", "Edges", "Nodes", "Memory", "Disk", "Best bound", "Best network", "Gap", "Time")
HEADER = _COLUMNS.format("", *_NAMES)
LEGEND = (
    "Edges generated, nodes kept; best bound and network of all variables, in nats;",
    "S nodes are in files, C a checkpoint was written, * a better network was found",
)


def run_clock(seconds_before: float = 0.0) -> Clock:
    """A clock of the seconds of a run, of which so many were over when this process took it up."""
    began = time.monotonic() - seconds_before
    return lambda: time.monotonic() - began


def json_lines(write: Writer, clock: Clock) -> Observer:
    """An observer that writes each event as one JSON object; of the advances, one in ADVANCE_SECONDS.

    Keys: `event` (the name of its class), `time` (UTC, ISO 8601), `elapsed` (seconds of the run, by its clock),
    `rss_bytes` and `peak_rss_bytes` (resident memory of the process), and the event's own fields; infinite bounds are
    null.
    """
    advanced = -math.inf

    def observe(event: Event) -> None:
        nonlocal advanced
        if isinstance(event, StageAdvanced | LayerAdvanced):
            if clock() - advanced < ADVANCE_SECONDS:
                return
            advanced = clock()
        record = {
            "event": type(event).__name__,
            "time": utc_now(),
            "elapsed": round(clock(), 3),
            "rss_bytes": current_rss(),
            "peak_rss_bytes": peak_rss(),
        }
        write(json_text(record | dataclasses.asdict(event)))

    return observe


class Table:
    """An observer that writes a line per stage and a table of layers, and tells what goes on while one of them is long.

    Rows of the table keep ROW_SECONDS between them, but for the first and the last. What goes on is shown in place, by
    `show`, where there is one; otherwise it is written, the less often the longer it stays the same. The time that is
    shown is that of the run, by its clock. Safe to call from several threads.
    """

    def __init__(self, write: Writer, clock: Clock, show: Writer | None = None) -> None:
        self._write = write
        self._show = show
        self._clock = clock
        self._lock = threading.Lock()
        self._spoken = self._shown = clock()
        self._doing = Doing("starting", self._spoken)
        self._said, self._repeats = "", 0
        self._disk = 0
        self._rows = Rows(self._say, clock)

    def __call__(self, event: Event) -> None:
        """Write what there is to say about `event`."""
        with self._lock:
            self._disk = getattr(event, "disk", self._disk)
            if not (isinstance(event, IncumbentFound) and self._rows.begun):
                self._doing = self._doing.after(event, self._clock())
            if isinstance(event, StageStarted | StageEnded):
                self._rows.end()
            match event:
                case StageEnded():
                    self._say(wrapped(f"{stage_title(event.stage)}: {event.summary or 'done'} ({event.seconds:.1f} s)"))
                case IncumbentFound():
                    self._rows.better = True
                case LayerEnded():
                    self._rows.add(event, self._elapsed())
                case Committed():
                    self._rows.committed = True
                case Warned():
                    self._say(wrapped(f"warning: {event.message}"))
            if self._show is not None:
                if isinstance(event, StageStarted | StageAdvanced | LayerAdvanced | LayerEnded):
                    self._show_doing(self._show)
            elif isinstance(event, StageAdvanced | IncumbentFound) and not self._rows.begun:
                self._say_doing_after(ADVANCE_SECONDS)
            elif isinstance(event, LayerAdvanced):
                self._say_doing_after(SILENCE_SECONDS)

    def beat(self) -> None:
        """Write the row that waits, if it is time; what goes on, if nothing was written for SILENCE_SECONDS."""
        with self._lock:
            self._rows.due()
            if self._show is not None:
                self._show_doing(self._show)
            else:
                self._say_doing_after(SILENCE_SECONDS)

    def end(self) -> None:
        """Write the row that waits, if there is one: nothing else will come."""
        with self._lock:
            self._rows.end()

    def _say_doing_after(self, seconds: float) -> None:
        """Say what goes on unless something was said less than `seconds` ago; twice as rarely each time it is equal."""
        text = compiling_told() or self._doing.text
        same = text == self._said
        if self._clock() - self._spoken >= (SILENCE_SECONDS * 2**self._repeats if same else seconds):
            said, repeats = text, min(self._repeats + 1, MOST_DOUBLINGS) if same else 1
            self._say(wrapped(self._doing_told()))
            self._said, self._repeats = said, repeats

    def _show_doing(self, show: Writer) -> None:
        """Show what goes on in place, unless that was done a moment ago."""
        if self._clock() - self._shown >= SHOW_SECONDS:
            self._shown = self._clock()
            show(self._doing_told())

    def _doing_told(self) -> str:
        left = self._doing.seconds_left(self._clock())
        end = "" if left is None else f", {format_time(round(left))} left"
        disk = f"disk {format_size(self._disk)}, " if self._disk else ""
        told = compiling_told() or self._doing.text + end
        return f"{told} (memory {format_size(current_rss())}, {disk}{self._elapsed()})"

    def _say(self, line: str) -> None:
        self._spoken, self._said, self._repeats = self._clock(), "", 0
        self._write(line)

    def _elapsed(self) -> str:
        return format_time(self._clock())


@dataclass(frozen=True)
class Doing:
    """What goes on: a text, the clock when its part of the work began, and the shares of that part then and now; end:
    the moment of `compiling.clock` when the time of its stage is over, if it has one."""

    text: str
    began: float
    part: tuple[object, ...] = ()
    first: float = 0.0
    share: float | None = None
    end: float | None = None

    def after(self, event: Event, now: float) -> "Doing":
        """What goes on once `event` has been told."""
        text, done = activity(event), None
        if text is None:
            return self
        if isinstance(event, LayerAdvanced):
            done = event.done
        elif isinstance(event, StageAdvanced) and event.total > 0:
            done = event.done / event.total
        part = (getattr(event, "stage", ""), getattr(event, "detail", ""), getattr(event, "layer", 0))
        end = self.end
        if isinstance(event, StageStarted):
            end = None if event.seconds is None else compiling.clock() + event.seconds
        elif isinstance(event, StageEnded):
            end = None
        if done is None or part != self.part or done < self.first:
            return Doing(text, now, part, done or 0.0, done, end)
        return Doing(text, self.began, part, self.first, done, end)

    def seconds_left(self, now: float) -> float | None:
        """How long the stage may take, or about how long the part will take, by its pace so far; None until that is
        known well enough."""
        if self.end is not None:
            return max(0.0, self.end - compiling.clock())
        gone = now - self.began
        if self.share is None or gone < SILENCE_SECONDS or self.share - self.first < LEAST_SHARE:
            return None
        return gone * (1.0 - self.share) / (self.share - self.first)


class Rows:
    """The rows of the tables of layers; `begun` within one of them. Set `committed` and `better` when that happens."""

    def __init__(self, write: Writer, clock: Clock) -> None:
        self.begun = self.committed = self.better = False
        self._write, self._clock = write, clock
        self._explained = False
        self._waiting: str | None = None
        self._written = -math.inf
        self._spilled = False

    def add(self, event: LayerEnded, elapsed: str) -> None:
        """Write what there is to say now that a layer has ended."""
        if not self.begun:
            for line in (HEADER,) if self._explained else (*LEGEND, HEADER):
                self._write(line)
            self.begun = self._explained = True
            self._written = -math.inf
        self._spilled |= event.spilled > 0
        shown = (("S", self._spilled), ("C", self.committed), ("*", self.better))
        self._waiting = _layer_line(event, "".join(mark if true else " " for mark, true in shown), elapsed)
        self.due()

    def due(self, after: float = ROW_SECONDS) -> None:
        """Write the row that waits, if there is one and the one before is so many seconds old."""
        if self._waiting is not None and self._clock() - self._written >= after:
            self._write(self._waiting)
            self._waiting, self._written = None, self._clock()
            self.committed = self.better = self._spilled = False

    def end(self) -> None:
        """Write the last row of the table, if there is one that waits."""
        self.due(0.0)
        self.begun = False


@contextlib.contextmanager
def beating(*beats: Callable[[], None], every: float = 1.0) -> Iterator[None]:
    """Call all `beats` every so many seconds while the block runs, from a thread of its own if there is one to get."""
    over = threading.Event()

    def go_on() -> None:
        while not over.wait(every):
            for beat in beats:
                beat()

    thread = threading.Thread(target=go_on, name="progress", daemon=True)
    with contextlib.suppress(RuntimeError):
        thread.start()
    try:
        yield
    finally:
        over.set()
        if thread.ident is not None:
            thread.join()


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


ERASE = "\r\x1b[K"  # back to the beginning of the line, and delete it
_DIM, _GREEN, _YELLOW, _END = "\x1b[2m", "\x1b[32m", "\x1b[33m", "\x1b[0m"
ROOM = 3  # columns that a text in place leaves free: for the cursor, and for the ^C that a terminal writes there


def is_screen(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal that can overwrite a line."""
    try:
        return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
    except (OSError, ValueError):
        return False


def clearing(quiet: bool) -> str:
    """What deletes the text that is shown in place on standard error, if one may be."""
    return "" if quiet or not is_screen(sys.stderr) else ERASE


def is_coloured(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal that shows colours, unless NO_COLOR is set (no-color.org)."""
    return is_screen(stream) and not os.environ.get("NO_COLOR")


def coloured(text: str, status: str) -> str:
    """What tells this status in green if it is proved, in yellow if a limit ended it."""
    if status in FINISHED and status != OPTIMAL:
        return text
    return f"{_GREEN if status == OPTIMAL else _YELLOW}{text}{_END}"


def fitting(text: str, width: int) -> str:
    """A text of at most so many columns: of the remarks in brackets at its end the first go first, then its last parts,
    then its last words."""
    before, bracket, rest = text.rpartition(" (")
    remarks = rest.removesuffix(")").split(", ") if bracket and text.endswith(")") else []
    while len(text) > width and remarks:
        remarks = remarks[1:]
        text = f"{before} ({', '.join(remarks)})" if remarks else before
    while len(text) > width and ", " in text:
        text = text.rpartition(", ")[0]
    if len(text) <= width:
        return text
    return text[: width + 1].rpartition(" ")[0].rstrip(",:") or text[:width]


@contextlib.contextmanager
def told_on(stream: TextIO, quiet: bool = False, clock: Clock | None = None) -> Iterator[Observer]:
    """An observer that tells on `stream` what goes on: in place if that is a terminal, warnings alone if `quiet`."""
    in_place = not quiet and is_screen(stream)
    screen = Screen(stream, in_place)
    if quiet:

        def warn(event: Event) -> None:
            if isinstance(event, Warned):
                screen.write(wrapped(f"warning: {event.message}"))

        yield warn
        return
    table = Table(screen.write, clock or run_clock(), screen.show if in_place else None)
    try:
        with beating(table.beat):
            yield table
    finally:
        table.end()
        screen.show("")


class Screen:
    """Lines that stay; and, where text is shown in place, one below them that is overwritten, and colour unless
    NO_COLOR is set (no-color.org).

    A stream that fails gets nothing more: a terminal that has gone, a closed pipe or a full disk must not cost anybody
    the solve. Safe to call from several threads.
    """

    def __init__(self, stream: TextIO, in_place: bool) -> None:
        self._stream = stream
        self._in_place = in_place
        self._gone = False
        self._lock = threading.RLock()
        self._coloured = in_place and not os.environ.get("NO_COLOR")
        self._shown = 0  # columns of the text in place

    def write(self, line: str) -> None:
        """Write a line that stays."""
        warns = line.startswith("warning:")
        self._put(f"{self._styled(line, _YELLOW) if warns else line}\n", 0)

    def show(self, text: str) -> None:
        """Show a text in place of the one before, as `fitting` the terminal; an empty one deletes it."""
        if self._in_place:
            told = fitting(text, self._width() - ROOM)
            self._put(self._styled(told, _DIM) if told else "", len(told))

    def _width(self) -> int:
        """Columns of the terminal, which may have changed."""
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (AttributeError, OSError, ValueError):
            return shutil.get_terminal_size().columns

    def _styled(self, text: str, style: str) -> str:
        return f"{style}{text}{_END}" if self._coloured else text

    def _put(self, text: str, shown: int) -> None:
        """Write a text, of which so many columns are to be overwritten, over what is shown in place."""
        with self._lock:
            if self._gone:
                return
            above = max(0, self._shown - 1) // self._width()  # rows of what a narrower terminal has folded
            erase = f"\r\x1b[{above}A\x1b[J" if above else ERASE
            self._shown = shown
            try:
                self._stream.write(f"{erase}{text}" if self._in_place else text)
                self._stream.flush()
            except (OSError, ValueError):
                self._gone = True
