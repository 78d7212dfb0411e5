"""Charts of lines: in SVG, small and without any library, for pages; and by matplotlib, for files of other kinds."""

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from extbnsl.core.errors import InputError
from extbnsl.drawing.markup import escaped, text_width

WIDTH, HEIGHT = 560, 250
LEFT, RIGHT, TOP, BOTTOM = 78, 14, 26, 40  # margins
MOST_POINTS = 1200  # of a line; of more, every so manieth is drawn
FONT = 11
COLOURS = ("first", "second", "third")
STYLE = """
.chart { font: 11px system-ui, Helvetica, Arial, sans-serif; color: var(--ink); }
.chart text { fill: currentColor; } .chart .grid { stroke: var(--line); } .chart .soft { fill: var(--soft); }
.chart polyline { fill: none; stroke-width: 2; stroke-linejoin: round; }
.chart .first { stroke: var(--first); }
.chart .second { stroke: var(--second); } .chart .third { stroke: var(--third); }
.chart .second { stroke-dasharray: 7 3; } .chart .third { stroke-dasharray: 2 3; }
"""


@dataclass(frozen=True)
class Line:
    """A line with its name; points with finite x and y, x ascending. steps: a value holds until the next one."""

    name: str
    points: tuple[tuple[float, float], ...]
    steps: bool = False


@dataclass(frozen=True)
class Axis:
    """An axis: its name, whether it is logarithmic (then what is not positive is left out), whether it begins at 0, and
    whether only whole numbers have a mark."""

    name: str
    logarithmic: bool = False
    from_zero: bool = False
    whole: bool = False


@dataclass(frozen=True)
class _Scale:
    """From values to lengths: the values at both ends, and the lengths there."""

    axis: Axis
    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        low, high, own = (math.log10(v) if self.axis.logarithmic else v for v in (self.low, self.high, value))
        return self.start + (own - low) / (high - low) * (self.end - self.start)

    def marks(self) -> list[tuple[float, str]]:
        """Round values between the ends, and how they are written."""
        if self.axis.logarithmic:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            powers = [10.0**k for k in range(first, last + 1, max(1, -(-(last - first) // 5)))]
            return [(power, f"{power:,.12g}") for power in powers]
        step = _round_step((self.high - self.low) / 4)
        step = max(1.0, step) if self.axis.whole else step
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        return [(k * step, f"{k * step:,.{decimals}f}") for k in range(first, last + 1)]


def line_chart(title: str, lines: Sequence[Line], along: Axis, up: Axis) -> str:
    """The chart of up to three lines, an SVG element for a page with STYLE; empty if there are no two points to join.

    O(points).
    """
    drawn = [line for line in (_drawn(line, along, up) for line in lines) if len(line.points) > 1]
    if not drawn:
        return ""
    x = _scale(along, [x for line in drawn for x, _ in line.points], LEFT, WIDTH - RIGHT)
    y = _scale(up, [y for line in drawn for _, y in line.points], HEIGHT - BOTTOM, TOP)
    parts = [*_grid(x, y), *(_line(line, COLOURS[at], x, y) for at, line in enumerate(drawn)), *_legend(drawn)]
    return (
        f'<svg class="chart" role="img" aria-label="{escaped(title)}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}">\n{"".join(parts)}</svg>\n'
    )


def _drawn(line: Line, along: Axis, up: Axis) -> Line:
    """The line with the points that have a place on the axes, and of many with every so manieth."""
    points = [(x, y) for x, y in line.points if (x > 0 or not along.logarithmic) and (y > 0 or not up.logarithmic)]
    every = -(-len(points) // MOST_POINTS)
    return Line(line.name, tuple(points if every <= 1 else (*points[:-1:every], points[-1])), line.steps)


def _scale(axis: Axis, values: Sequence[float], start: float, end: float) -> _Scale:
    low, high = min(values), max(values)
    if axis.logarithmic:
        low, high = 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))
        return _Scale(axis, low, high if high > low else 10 * low, start, end)
    low = min(0.0, low) if axis.from_zero else low
    if high - low <= 1e-12 * max(1.0, abs(high)):
        return _Scale(axis, low - 0.5, high + 0.5, start, end)
    return _Scale(axis, low, high, start, end)


def _round_step(step: float) -> float:
    """The least of 1, 2, 5, times a power of ten, that is not less than the step."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * k for k in (1, 2, 5, 10) if power * k >= step * (1 - 1e-9))


def _grid(x: _Scale, y: _Scale) -> list[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = []
    for mark, text in y.marks():
        at = f"{y.at(mark):.1f}"
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{at}" y2="{at}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{at}" dy="4" text-anchor="end">{text}</text>\n')
    for mark, text in x.marks():
        at = f"{x.at(mark):.1f}"
        parts.append(f'<line class="grid" x1="{at}" x2="{at}" y1="{TOP}" y2="{bottom}"/>')
        parts.append(f'<text x="{at}" y="{bottom + 16}" text-anchor="middle">{text}</text>\n')
    middle = (LEFT + right) / 2
    parts.append(f'<text class="soft" x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">{escaped(x.axis.name)}</text>')
    parts.append(f'<text class="soft" x="4" y="{TOP - 12}">{escaped(y.axis.name)}</text>\n')
    return parts


def _line(line: Line, colour: str, x: _Scale, y: _Scale) -> str:
    points = list(line.points)
    if line.steps:
        points = [points[0], *(p for a, b in pairwise(points) for p in ((b[0], a[1]), b))]
    joined = " ".join(f"{x.at(a):.1f},{y.at(b):.1f}" for a, b in points)
    return f'<polyline class="{colour}" points="{joined}"/>\n'


def _legend(lines: Sequence[Line]) -> list[str]:
    """The names of the lines, above them from the right."""
    parts, right = [], float(WIDTH - RIGHT)
    for line, colour in reversed(list(zip(lines, COLOURS, strict=False))):
        wide = text_width(line.name, FONT)
        parts.append(f'<text x="{right:.1f}" y="{TOP - 12}" text-anchor="end">{escaped(line.name)}</text>')
        left = right - wide - 32
        y = TOP - 16
        parts.append(f'<polyline class="{colour}" points="{left:.1f},{y} {left + 22:.1f},{y}"/>\n')
        right = left - 14
    return parts


def empty_figure(size: tuple[float, float], who: str) -> Any:
    """A figure of matplotlib of so many inches; InputError, which says who needs it, if that is not installed."""
    try:
        import matplotlib.figure
    except ImportError as error:
        raise InputError(f"{who} matplotlib: pip install 'extbnsl[plot]'.") from error
    return matplotlib.figure.Figure(figsize=size, layout="constrained")


def plot(axes: Any, line: Line, **style: Any) -> list[Any]:
    """Draw a line on axes of matplotlib; what is drawn."""
    return axes.plot([x for x, _ in line.points], [y for _, y in line.points], label=line.name, **style)


def set_axes(axes: Any, along: Axis, up: Axis) -> None:
    """Give axes of matplotlib these names, as they are spelled, and these scales."""
    axes.set_xlabel(along.name, parse_math=False)
    axes.set_ylabel(up.name, parse_math=False)
    if along.logarithmic:
        axes.set_xscale("log")
    elif along.whole:
        axes.xaxis.get_major_locator().set_params(integer=True)
    if up.logarithmic:
        axes.set_yscale("log", nonpositive="mask")
    elif up.from_zero:
        axes.set_ylim(bottom=0)


def image_of(figure: Any, kind: str, **settings: Any) -> bytes:
    """A figure of matplotlib as a file of this kind, such as 'png'."""
    image = io.BytesIO()
    figure.savefig(image, format=kind, dpi=150, **settings)
    return image.getvalue()
