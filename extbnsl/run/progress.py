"""Observers of a solve: a table of lines for people, JSON lines for programs, and what events are called before people.

An observer is called with the events of `extbnsl.core.events`. Lines are the same on a terminal and in a file; what is
shown in place, on a terminal alone, is never the only place where something is said.
"""

import contextlib
import dataclasses
import math
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO

from extbnsl.core import compiling
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
    WorkersChanged,
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
from extbnsl.machine.budgets import current_rss
from extbnsl.machine.system import peak_rss

if TYPE_CHECKING:
    from extbnsl.run.rows import Rows


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


def workers_told(event: WorkersChanged) -> str:
    """How many workers there are, such as 'workers: 3 with 12 threads; lost so far: 1'."""
    lost = f"; lost so far: {event.workers_lost:,}" if event.workers_lost else ""
    return f"workers: {event.workers:,} with {counted(event.worker_threads, 'thread')}{lost}"


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
    if event.whole is not None:
        known.append(f"{event.whole:.0%} of all")
    elif event.total > 0:
        known.append(f"{event.done / event.total:.0%}")
    return f"{said}: {', '.join(known)}"


ADVANCE_SECONDS = 2.0  # lines on the advance of one stage keep at least this distance
SILENCE_SECONDS = 5.0  # a stage or a layer that says nothing for this long gets a line all the same
MOST_DOUBLINGS = 6  # of the silence before a line that is as the one before
SHOW_SECONDS = 0.2  # between texts that are shown in place
LEAST_SHARE = 0.02  # that must be done before an end is expected

Writer = Callable[[str], None]
Clock = Callable[[], float]


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
        self._workers = 0, 0  # how many there are, and were lost
        self._marks: set[str] = set()  # of the next row of a table of layers
        self._rows: Rows | None = None  # once there is a layer

    def __call__(self, event: Event) -> None:
        """Write what there is to say about `event`."""
        with self._lock:
            self._disk = getattr(event, "disk", self._disk)
            in_table = self._rows is not None and self._rows.begun
            if not (isinstance(event, IncumbentFound) and in_table):
                self._doing = self._doing.after(event, self._clock())
            if isinstance(event, StageStarted | StageEnded) and self._rows is not None:
                self._rows.end()
            match event:
                case StageEnded():
                    self._say(wrapped(f"{stage_title(event.stage)}: {event.summary or 'done'} ({event.seconds:.1f} s)"))
                case IncumbentFound():
                    self._marks.add("*")
                case LayerEnded():
                    self._add_row(event)
                case Committed():
                    self._marks.add("C")
                case WorkersChanged() if (event.workers, event.workers_lost) != self._workers:
                    self._workers = event.workers, event.workers_lost
                    self._say(workers_told(event))
                case Warned():
                    self._say(wrapped(f"warning: {event.message}"))
            if self._show is not None:
                if isinstance(event, StageStarted | StageAdvanced | LayerAdvanced | LayerEnded):
                    self._show_doing(self._show)
            elif isinstance(event, StageAdvanced | IncumbentFound) and not in_table:
                self._say_doing_after(ADVANCE_SECONDS)
            elif isinstance(event, LayerAdvanced):
                self._say_doing_after(SILENCE_SECONDS)

    def beat(self) -> None:
        """Write the row that waits, if it is time; what goes on, if nothing was written for SILENCE_SECONDS."""
        with self._lock:
            if self._rows is not None:
                self._rows.due()
            if self._show is not None:
                self._show_doing(self._show)
            else:
                self._say_doing_after(SILENCE_SECONDS)

    def end(self) -> None:
        """Write the row that waits, if there is one: nothing else will come."""
        with self._lock:
            if self._rows is not None:
                self._rows.end()

    def _add_row(self, event: LayerEnded) -> None:
        from extbnsl.run.rows import Rows

        self._rows = self._rows or Rows(self._say, self._clock, self._marks)
        self._rows.add(event, self._elapsed())

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


STATUS_SECONDS = 1.0  # advances and the like are written to status.json at this distance
END_SECONDS = 0.1  # what starts or ends is written at this one: small components have many layers
STATUS_TEXTS = ("host", "updated", "stage", "doing", "ended")
STATUS_ADDED = (  # what earlier versions did not tell
    *("compiling", "workers", "worker_threads", "workers_lost", "tasks", "bytes_sent", "bytes_received"),
)
STATUS_NUMBERS = (
    *("process", "elapsed", "committed", "layer", "layers", "component", "components", "done", "expanded", "generated"),
    *("kept", "spilled", "memory", "disk", "rss_bytes", "peak_rss_bytes", "lower_bound", "upper_bound", *STATUS_ADDED),
)


class StatusFile:
    """An observer that keeps the text of status.json up to date: when stages and layers end, and at every beat.

    Keys: those of a layer are of the last one that ended, but `done` is the share of the one in work; `elapsed` and
    `committed` (the last checkpoint) in seconds of the run, by its clock; `compiling` is how many of these went to
    compiling, `compiled` of them before this process; `updated` in UTC; `ended` is null as long as the process works.
    Safe to call from several threads.
    """

    def __init__(self, write: Writer, clock: Clock, compiled: float = 0.0) -> None:
        self._write, self._clock, self._compiled = write, clock, compiled
        self._lock = threading.Lock()
        self._written = -math.inf
        self.has_layers = False  # whether a layer has ended
        self._told: dict[str, Any] = dict.fromkeys((*STATUS_TEXTS, *STATUS_NUMBERS))
        self._told |= {"process": os.getpid(), "host": platform.node(), "doing": "starting"}

    def __call__(self, event: Event) -> None:
        """Take in `event`, and write unless that was done a moment ago."""
        with self._lock:
            if not (isinstance(event, IncumbentFound) and self._told["stage"] == "search"):
                self._told["doing"] = activity(event) or self._told["doing"]
            match event:
                case StageStarted():
                    self._told["stage"] = event.stage
                case LayerAdvanced():
                    self._told |= {"done": event.done, "memory": event.memory, "disk": event.disk}
                case LayerEnded():
                    self.has_layers = True
                    self._told |= dataclasses.asdict(event) | {"done": 0.0}
                case Committed():
                    self._told |= {"committed": round(self._clock(), 3), "disk": event.disk}
                case WorkersChanged():
                    self._told |= dataclasses.asdict(event)
            turn = isinstance(event, StageStarted | StageEnded | LayerEnded)
            self._write_after(END_SECONDS if turn else STATUS_SECONDS)

    def beat(self) -> None:
        """Write; to be called every second or so."""
        with self._lock:
            self._write_after(0.0)

    def end(self, how: str) -> None:
        """Write the last word: the status of the result, or why there is none."""
        with self._lock:
            self._told["ended"] = how
            self._write_after(0.0)

    def _write_after(self, seconds: float) -> None:
        if self._clock() - self._written >= seconds:
            self._written = self._clock()
            spent = self._compiled + compiling.so_far().seconds
            now = {"updated": utc_now(), "elapsed": round(self._clock(), 3), "compiling": round(spent, 3)}
            if compiled := compiling_told():
                now["doing"] = compiled
            self._write(json_text(self._told | now | {"rss_bytes": current_rss(), "peak_rss_bytes": peak_rss()}))


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
        part: tuple[object, ...] = (getattr(event, "stage", ""), getattr(event, "layer", 0))
        if isinstance(event, LayerAdvanced):
            done = event.done
        elif isinstance(event, StageAdvanced) and event.whole is not None:
            done, part = event.whole, (event.stage, "all")
        elif isinstance(event, StageAdvanced) and event.total > 0:
            done = event.done / event.total
        end = self.end
        if isinstance(event, StageStarted):
            end = None if event.seconds is None else compiling.clock() + event.seconds
        elif isinstance(event, StageEnded):
            end = None
        if done is None or part != self.part or done < (self.share or 0.0):
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


def warn_on(stream: TextIO, event: Event) -> None:
    """Tell a warning on `stream`, and no other event."""
    if isinstance(event, Warned):
        from extbnsl.run.screen import Screen

        Screen(stream, in_place=False).write(wrapped(f"warning: {event.message}"))


@contextlib.contextmanager
def told_on(stream: TextIO, quiet: bool = False, clock: Clock | None = None) -> Iterator[Observer]:
    """An observer that tells on `stream` what goes on: in place if that is a terminal, warnings alone if `quiet`."""
    if quiet:
        yield partial(warn_on, stream)
        return
    from extbnsl.run.screen import Screen, is_screen

    in_place = is_screen(stream)
    screen = Screen(stream, in_place)
    table = Table(screen.write, clock or run_clock(), screen.show if in_place else None)
    try:
        with beating(table.beat):
            yield table
    finally:
        table.end()
        screen.show("")
