"""What events, counts, times and bounds are called before people."""

import math
import textwrap
from datetime import UTC, datetime

from extbnsl.events import (
    Event,
    IncumbentFound,
    LayerAdvanced,
    LayerEnded,
    StageAdvanced,
    StageEnded,
    StageStarted,
)
from extbnsl.machine.budgets import format_size

WIDTH = 80  # of a terminal, at least
_COUNT_UNITS = ((1e3, "k"), (1e6, "M"), (1e9, "G"))
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
            return f"network: best so far {format_cost(event.cost)}"
        case LayerAdvanced():
            counts = f"{format_count(event.generated)} edges, {counted(event.kept, 'node')} so far"
            return f"search: {layer_name(event.layer, event)}, {event.done:.0%}, {counts}"
        case LayerEnded():
            return f"search: {layer_name(min(event.layer + 1, event.layers), event)}"
    return None


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


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number with its noun, such as '1 node' or '311.2M nodes'."""
    return f"{format_count(count)} {noun if count == 1 else plural or noun + 's'}"


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


def format_cost(cost: float, decimals: int = 3) -> str:
    """A cost in nats, such as '6602.118'; a dash if it is not finite, and never '-0.000'."""
    return f"{round(cost, decimals) + 0.0:.{decimals}f}" if math.isfinite(cost) else "-"


def format_gap(lower_bound: float, upper_bound: float) -> str:
    """The gap as a share of the upper bound, or of a nat if that is more, such as '0.20%'; a dash without bounds."""
    if not (math.isfinite(lower_bound) and math.isfinite(upper_bound)):
        return "-"
    return f"{max(0.0, upper_bound - lower_bound) / max(abs(upper_bound), 1.0):.2%}"


def wrapped(line: str) -> str:
    """A line of at most WIDTH columns, or several."""
    return textwrap.fill(line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


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
