"""What events are called before people."""

import re
import textwrap
from datetime import UTC, datetime

from extbnsl import compiling
from extbnsl.events import (
    Event,
    IncumbentFound,
    LayerAdvanced,
    LayerEnded,
    StageAdvanced,
    StageEnded,
    StageStarted,
)
from extbnsl.figures import counted, format_cost, format_count, format_gap
from extbnsl.machine.budgets import format_size

WIDTH = 80  # of a terminal, at least
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:s|min|h|days|years|nats)\b)")
_HELD = "\0"  # a blank that a line is not to end at
_TITLES = {"kernels": "code", "incumbent": "network"}  # of stages whose names are no words for people


def title(stage: str) -> str:
    """What a stage is called."""
    return _TITLES.get(stage, stage)


def activity(event: Event) -> str | None:
    """What goes on once `event` has been told, such as 'search: layer 13 of 31, 42%'; None if that is as before."""
    match event:
        case StageStarted():
            return f"{title(event.stage)}: {event.detail}" if event.detail else title(event.stage)
        case StageAdvanced():
            return _stage_advance(event)
        case StageEnded():
            return f"{title(event.stage)}: done"
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


def share(event: Event) -> float | None:
    """How much of what `activity` tells is done, from 0 to 1; None where nobody knows."""
    match event:
        case StageAdvanced() if event.total > 0:
            return event.done / event.total
        case LayerAdvanced():
            return event.done
    return None


def layer_name(layer: int, event: LayerAdvanced | LayerEnded) -> str:
    """Which layer it is, such as 'layer 12 of 31', or 'component 2 of 3, layer 12 of 31'."""
    component = f"component {event.component} of {event.components}, " if event.components > 1 else ""
    return f"{component}layer {layer} of {event.layers}"


def utc_now() -> str:
    """The time of day in UTC, ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def wrapped(line: str, indent: int = 2) -> str:
    """A line of at most WIDTH columns, or several, all but the first indented; a figure and its unit stay together."""
    held = _BEFORE_UNIT.sub(_HELD, line)
    filled = textwrap.fill(held, WIDTH, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
    return filled.replace(_HELD, " ")


def _stage_advance(event: StageAdvanced) -> str:
    said = f"{title(event.stage)}: {event.detail}".removesuffix(": ")
    if event.unit == "bytes":
        count = f"{format_size(event.done)} of {format_size(event.total)}" if event.total else format_size(event.done)
    else:
        total = f" of {format_count(event.total)}" if event.total > 0 else ""
        count = f"{format_count(event.done)}{total} {event.unit}"
    known = [count] if event.unit else []
    if event.total > 0:
        known.append(f"{event.done / event.total:.0%}")
    return f"{said}: {', '.join(known)}"
