"""Observers of a solve: a table of lines for people, JSON lines for programs.

An observer is called with the events of `extbnsl.events`. Lines are the same on a terminal and in a file:
no control characters, nothing is overwritten.
"""

import contextlib
import dataclasses
import math
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TextIO

from extbnsl.events import (
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
from extbnsl.files.documents import json_text
from extbnsl.machine.budgets import current_rss, format_size, peak_rss

ADVANCE_SECONDS = 2.0  # lines on the advance of one stage keep at least this distance
SILENCE_SECONDS = 5.0  # a stage or a layer that says nothing for this long gets a line all the same

Writer = Callable[[str], None]
Clock = Callable[[], float]

_COUNT_UNITS = ((1e3, "k"), (1e6, "M"), (1e9, "G"))
_COLUMNS = "{:3} {:>8}  {:>9} {:>8} {:>8} {:>9} {:>9} {:>12} {:>12} {:>8} {:>8}"
_NAMES = ("Layer", "Generated", "Kept", "Pruned", "RAM", "Disk", "LowerBnd", "UpperBnd", "Gap", "Time")
HEADER = _COLUMNS.format("", *_NAMES)


def line_writer(*streams: TextIO) -> Writer:
    """A function that writes one line to every stream and flushes; a stream that fails gets no more lines.

    A closed pipe or a full disk under a log must not cost anybody the solve.
    """
    open_streams = list(streams)

    def write(line: str) -> None:
        for stream in tuple(open_streams):
            try:
                stream.write(line + "\n")
                stream.flush()
            except (OSError, ValueError):
                with contextlib.suppress(ValueError):  # another thread may have found the same
                    open_streams.remove(stream)

    return write


def combine(*observers: Observer) -> Observer:
    """One observer that passes each event to all `observers`, in their order."""

    def observe(event: Event) -> None:
        for observer in observers:
            observer(event)

    return observe


def only_warnings(write: Writer) -> Observer:
    """An observer that writes warnings and nothing else."""

    def observe(event: Event) -> None:
        if isinstance(event, Warned):
            write(f"warning: {event.message}")

    return observe


def json_lines(write: Writer, clock: Clock = time.monotonic, seconds_before: float = 0.0) -> Observer:
    """An observer that writes each event as one JSON object; of the advances, one in ADVANCE_SECONDS.

    Keys: `event` (the name of its class), `time` (UTC, ISO 8601), `elapsed` (seconds since this call, after
    `seconds_before` of earlier sessions), `rss_bytes` and `peak_rss_bytes` (resident memory of the process), and the
    event's own fields; infinite bounds are null.
    """
    started, advanced = clock() - seconds_before, -math.inf

    def observe(event: Event) -> None:
        nonlocal advanced
        if isinstance(event, StageAdvanced | LayerAdvanced):
            if clock() - advanced < ADVANCE_SECONDS:
                return
            advanced = clock()
        record = {
            "event": type(event).__name__,
            "time": utc_now(),
            "elapsed": round(clock() - started, 3),
            "rss_bytes": current_rss(),
            "peak_rss_bytes": peak_rss(),
        }
        write(json_text(record | dataclasses.asdict(event)))

    return observe


class Table:
    """An observer that writes one line per layer and per stage, and some while a stage or a layer is long.

    Marks of a layer: `S` nodes of it are in files, `C` a checkpoint was written since the line before, `*` so was a
    cheaper network found. 'Pruned' is the share of all varsets of the layer's size that are not kept. `seconds_before`
    of earlier sessions are in the time that is shown. Safe to call from several threads.
    """

    def __init__(self, write: Writer, clock: Clock = time.monotonic, seconds_before: float = 0.0) -> None:
        self._write = write
        self._clock = clock
        self._lock = threading.Lock()
        self._spoken = clock()
        self._started = self._spoken - seconds_before
        self._doing = "starting"
        self._disk = 0
        self._in_layers = False
        self._committed = False
        self._new_incumbent = False

    def __call__(self, event: Event) -> None:
        """Write what there is to say about `event`."""
        with self._lock:
            self._disk = getattr(event, "disk", self._disk)
            if not (isinstance(event, IncumbentFound) and self._in_layers):
                self._doing = activity(event) or self._doing
            match event:
                case StageStarted():
                    self._in_layers = False
                case StageAdvanced():
                    self._say_doing_after(ADVANCE_SECONDS)
                case StageEnded():
                    self._say(f"{event.stage}: {event.summary or 'done'} ({event.seconds:.1f} s)")
                    self._in_layers = False
                case IncumbentFound():
                    self._new_incumbent = True
                    if not self._in_layers:
                        self._say_doing_after(ADVANCE_SECONDS)
                case LayerAdvanced():
                    self._say_doing_after(SILENCE_SECONDS)
                case LayerEnded():
                    self._say_layer(event)
                case Committed():
                    self._committed = True
                case Warned():
                    self._say(f"warning: {event.message}")

    def beat(self) -> None:
        """Write what is being done, if nothing was written for SILENCE_SECONDS."""
        with self._lock:
            self._say_doing_after(SILENCE_SECONDS)

    def _say_doing_after(self, seconds: float) -> None:
        """Say what is being done unless something was said less than `seconds` ago."""
        if self._clock() - self._spoken >= seconds:
            disk = f"disk {format_size(self._disk)}, " if self._disk else ""
            self._say(f"{self._doing} (RAM {format_size(current_rss())}, {disk}{self._elapsed()})")

    def _say_layer(self, event: LayerEnded) -> None:
        if not self._in_layers:
            self._say(HEADER)
        shown = (("S", event.spilled > 0), ("C", self._committed), ("*", self._new_incumbent))
        marks = "".join(mark if true else " " for mark, true in shown)
        self._say(_layer_line(event, marks, self._elapsed()))
        self._in_layers, self._committed, self._new_incumbent = True, False, False

    def _say(self, line: str) -> None:
        self._spoken = self._clock()
        self._write(line)

    def _elapsed(self) -> str:
        return format_time(self._clock() - self._started)


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


def activity(event: Event) -> str | None:
    """What goes on once `event` has been told, such as 'search: layer 13/31, 42%'; None if that stays what it was."""
    match event:
        case StageStarted():
            return f"{event.stage}: {event.detail}" if event.detail else event.stage
        case StageAdvanced():
            return _stage_advance(event)
        case StageEnded():
            return f"{event.stage}: done"
        case IncumbentFound():
            return f"a network of cost {event.cost:.3f} found"
        case LayerAdvanced():
            counts = f"{format_count(event.generated)} generated, {format_count(event.kept)} kept"
            return f"search: layer {layer_name(event)}, {event.done:.0%}, {counts}"
        case LayerEnded():
            following = dataclasses.replace(event, layer=min(event.layer + 1, event.layers))
            return f"search: layer {layer_name(following)}"
    return None


def layer_name(event: LayerAdvanced | LayerEnded) -> str:
    """Which layer it is, such as '12/31', or '2:12/31' in the second of several components."""
    component = f"{event.component}:" if event.components > 1 else ""
    return f"{component}{event.layer}/{event.layers}"


def utc_now() -> str:
    """The time of day in UTC, ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def format_count(count: float) -> str:
    """A count for people: exact below 100,000, then such as '311.2M' or '3.57G'."""
    if count < 100_000:
        return f"{count:,.0f}"
    size, unit = next(((s, u) for s, u in _COUNT_UNITS if count < 999.95 * s), (1e12, "T"))
    return f"{count / size:.2f}{unit}" if count < 9.995 * size else f"{count / size:.1f}{unit}"


def format_time(seconds: float) -> str:
    """Hours, minutes and seconds, such as '0:00:41'."""
    minutes, second = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{second:02}"


def format_gap(lower_bound: float, upper_bound: float) -> str:
    """The gap as a share of the upper bound, such as '0.20%'; a dash while a bound is missing."""
    if not (math.isfinite(lower_bound) and math.isfinite(upper_bound)):
        return "-"
    return f"{max(0.0, upper_bound - lower_bound) / max(abs(upper_bound), 1e-300):.2%}"


def _format_bound(bound: float) -> str:
    return f"{bound:.3f}" if math.isfinite(bound) else "-"


def _stage_advance(event: StageAdvanced) -> str:
    done = f"{event.stage}: {format_count(event.done)}"
    if event.total <= 0:
        return f"{done} {event.unit}"
    return f"{done} of {format_count(event.total)} {event.unit}, {event.done / event.total:.0%}"


def _layer_line(event: LayerEnded, marks: str, elapsed: str) -> str:
    return _COLUMNS.format(
        marks,
        layer_name(event),
        format_count(event.generated),
        format_count(event.kept),
        f"{1 - event.kept / math.comb(event.layers, event.layer):.1%}",
        format_size(current_rss()),
        format_size(event.disk),
        _format_bound(event.lower_bound),
        _format_bound(event.upper_bound),
        format_gap(event.lower_bound, event.upper_bound),
        elapsed,
    )
