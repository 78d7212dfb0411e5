"""The pictures of a campaign, as SVG, by matplotlib."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from extbnsl.core.claims import FINISHED, OPTIMAL
from extbnsl.drawing.charts import Axis, Line, empty_figure, image_of, set_axes
from extbnsl.drawing.charts import plot as draw
from extbnsl.lab.campaign.figures import BYTES
from extbnsl.lab.campaign.plan import matches
from extbnsl.lab.campaign.rows import Row
from extbnsl.lab.campaign.spec import Plot
from extbnsl.lab.report.tables import Picture

WIDTH, HEIGHT = 9.0, 4.5  # inches
LEAST = 1e-3  # seconds, or bytes, that a logarithmic axis begins with


def pictures_of(plots: Sequence[Plot], rows: Sequence[Row]) -> tuple[Picture, ...]:
    """The pictures that the campaign names; InputError if matplotlib is not installed."""
    if not plots:
        return ()
    figures = [empty_figure((WIDTH, HEIGHT), "The plots need") for _ in plots]
    import matplotlib

    found = []
    style: dict[Any, Any] = {"svg.hashsalt": "extbnsl", "svg.fonttype": "none", "font.family": "sans-serif"}
    with matplotlib.rc_context(style), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # whoever shows the picture may have a font with it
        for plot, drawing in zip(plots, figures, strict=True):
            axes = drawing.subplots()
            meant = [row for row in rows if matches(plot.where, row.run.names)]
            DRAWN[plot.kind](plot, sorted(meant, key=lambda row: row.number), axes)
            _finish(axes)
            image = image_of(drawing, "svg", metadata={"Date": None, "Creator": None})
            found.append(Picture(plot.title, image.decode()))
    return tuple(found)


def _number(row: Row, figure: str) -> float | None:
    value = row.figure(figure)
    return float(value) if isinstance(value, int | float) else None


def _label(figure: str) -> str:
    return f"{figure.replace('_', ' ')}{', bytes' if figure in BYTES else ''}"


def _by(plot: Plot, rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The runs that came to an end, by the name of the axis that the picture tells apart; a name without such runs too,
    so that its colour stays."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        own = found.setdefault(row.run.names[plot.by], [])
        if row.status in FINISHED:
            own.append(row)
    return found


def _bars(plot: Plot, rows: Sequence[Row], axes: Any) -> None:
    """A group of bars for each data set; runs that came to no end have none."""
    data = list(dict.fromkeys(row.run.names["data"] for row in rows))
    groups = _by(plot, rows)
    width, lowest = 0.8 / max(1, len(groups)), math.inf
    for place, (name, own) in enumerate(groups.items()):
        points = [(data.index(row.run.names["data"]), _number(row, plot.figure)) for row in own]
        left = (place - (len(groups) - 1) / 2) * width
        known = [(at + left, max(LEAST, value)) for at, value in points if value is not None]
        axes.bar([at for at, _ in known], [value for _, value in known], width, label=name)
        lowest = min([lowest, *(value for _, value in known)])
    if lowest < math.inf:
        axes.set_ylim(bottom=lowest / 2)  # the least has a bar, too
    axes.set_xticks(range(len(data)), data, rotation=45, ha="right", fontsize=8, parse_math=False)
    axes.set_ylabel(_label(plot.figure), parse_math=False)


def _cactus(plot: Plot, rows: Sequence[Row], axes: Any) -> None:
    """How many runs have been proved within so much of the figure."""
    for name, own in _by(plot, rows).items():
        figures = [_number(row, plot.figure) for row in own if row.status == OPTIMAL]
        values = sorted(max(LEAST, value) for value in figures if value is not None)
        if values:
            draw(axes, Line(name, tuple(enumerate(values, start=1))), marker="o", markersize=4)
    set_axes(axes, Axis("runs proved optimal", whole=True), Axis(_label(plot.figure)))


def _scaling(plot: Plot, rows: Sequence[Row], axes: Any) -> None:
    """The figure against the number of variables, or of records."""
    for name, own in _by(plot, rows).items():
        points = [(_number(row, plot.against), _number(row, plot.figure)) for row in own]
        known = sorted((x, max(LEAST, y)) for x, y in points if x is not None and y is not None)
        draw(axes, Line(name, tuple(known)), marker="o", markersize=4)
    along = Axis(plot.against, logarithmic=plot.against == "records" and _is_drawn(axes))
    set_axes(axes, along, Axis(_label(plot.figure)))


def _layers(plot: Plot, rows: Sequence[Row], axes: Any) -> None:
    """What each layer of the search takes on disk, or how many nodes it keeps if that is nothing, as Figure 3 of Malone
    et al. 2011 draws it."""
    for row in rows:
        layers = row.document.get("stats", {}).get("layers") or []
        what, unit = ("disk", "disk, bytes") if any(layer["disk"] for layer in layers) else ("kept", "nodes kept")
        if layers:
            points = tuple((layer["layer"], max(1, layer[what])) for layer in layers)
            name = f"{row.run.names['data']} by {row.run.names['method']}: {unit}"
            draw(axes, Line(name, points), marker="o", markersize=3)
    set_axes(axes, Axis("layer", whole=True), Axis(""))


def _is_drawn(axes: Any) -> bool:
    """Whether any point is in the picture."""
    return math.isfinite(axes.dataLim.x0)


def _finish(axes: Any) -> None:
    """What all pictures have: a logarithmic axis, a legend with names as they are spelled; or that there is nothing."""
    if _is_drawn(axes):
        axes.set_yscale("log")
    else:
        axes.text(0.5, 0.5, "No run has the figure.", ha="center", transform=axes.transAxes)
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        legend = axes.legend(handles, labels, fontsize=8)
        for text in legend.get_texts():
            text.set_parse_math(False)


DRAWN: Mapping[str, Callable[[Plot, Sequence[Row], Any], None]] = {
    "bars": _bars,
    "cactus": _cactus,
    "scaling": _scaling,
    "layers": _layers,
}
