"""What is drawn of a run: its bounds, its layers as in Figure 3 of Malone et al. 2011, and the shares of the k best
networks; on a page, or in a file of their own.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from extbnsl.core.errors import InputError
from extbnsl.drawing.charts import Axis, Line, empty_figure, image_of, line_chart, plot, set_axes
from extbnsl.run.log import Moment

FORMATS = ("png", "svg", "pdf")
SEEN = 1e-6  # of a cost: what a chart can show
MANY = 200  # networks, from which on the scale of places is logarithmic
MOST_DRAWN = 5000  # of them, each from then on at a place a little further than the one before
WIDE = 1e3  # a range of shares that needs a logarithmic scale
NODES = {"generated": "edges generated", "kept": "nodes kept"}  # what lines show of layers
SIZES = {"rss_bytes": "memory", "memory": "of it the solver's", "disk": "disk"}
UNITS = {"GiB": 2.0**30, "MiB": 2.0**20, "KiB": 2.0**10, "bytes": 1.0}

Layers = Sequence[Mapping[str, int]]  # as `read_layers` returns them


def file_format(output: Path) -> str:
    """'png', 'svg' or 'pdf', as the name of the file says; InputError if it says nothing of the kind."""
    found = output.suffix.lower().removeprefix(".")
    if found not in FORMATS:
        ending = output.suffix or "a file without an ending"
        raise InputError(f"--output: cannot write {ending}; use .png, .svg or .pdf.")
    return found


def charts_of_bounds(document: Mapping[str, Any], moments: Sequence[Moment]) -> Iterator[str]:
    """The bounds over time, and how far they are apart, as SVG; nothing if neither changed for eyes to see, or there
    are none."""
    if document["lower_bound"] is None:
        return
    end = max([float(document.get("stats", {}).get("seconds") or 0.0), *(moment.seconds for moment in moments)])
    least, most = float(document["lower_bound"]), float(document["upper_bound"])
    lower = [(m.seconds, min(m.lower, most)) for m in moments if m.lower is not None] + [(end, least)]
    upper = [(m.seconds, m.upper) for m in moments if m.upper is not None] + [(end, most)]
    values = [value for own in (lower, upper) if len(own) > 1 for _, value in own]
    if values and max(values) - min(values) > SEEN * max(map(abs, values)):
        lines = [Line("best network", tuple(upper), True), Line("lower bound", tuple(lower), True)]
        yield line_chart("Bounds over time", lines, Axis("seconds", from_zero=True), Axis("nats"))
    both = [(m.seconds, m.lower, m.upper) for m in moments if m.lower is not None and m.upper is not None]
    gaps = [(at, 100.0 * max(0.0, up - low) / max(abs(up), 1.0)) for at, low, up in (*both, (end, least, most))]
    if max(gap for _, gap in gaps) > 100.0 * SEEN:
        yield line_chart("Gap over time", [Line("gap", tuple(gaps), True)], Axis("seconds"), Axis("%", from_zero=True))


def charts_of_layers(layers: Layers) -> Iterator[str]:
    """Nodes, memory and disk of each layer, as SVG; those of several components one after another."""
    along = Axis("layer", whole=True) if layers and layers[-1]["component"] == 1 else Axis("layers")
    yield line_chart("Nodes of each layer", _lines(layers, NODES), along, Axis("", logarithmic=True))
    most = max((float(layer[key]) for layer in layers for key in SIZES), default=0.0)
    unit = next(name for name, size in UNITS.items() if most >= size or size == 1.0)
    sizes = _lines(layers, SIZES, UNITS[unit])
    yield line_chart("Memory and disk of each layer", sizes, along, Axis(unit, from_zero=True))


def draw(layers: Layers, title: str, kind: str) -> bytes:
    """Nodes, memory and disk of each layer in one of FORMATS; InputError without matplotlib."""
    figure = empty_figure((7, 6), "plot needs")
    nodes, sizes = figure.subplots(2, 1, sharex=True)
    nodes.set_title(title, parse_math=False)
    several = len(_components(layers)) > 1
    _plot_components(nodes, layers, _lines(layers, NODES))
    set_axes(nodes, Axis(""), Axis("nodes", logarithmic=True))
    _plot_components(sizes, layers, _lines(layers, SIZES, UNITS["GiB"]))
    set_axes(sizes, Axis("component : layer" if several else "layer"), Axis("GiB", from_zero=True))
    places = range(0, len(layers), -(-len(layers) // 20))
    names = [f"{layers[i]['component']}:{layers[i]['layer']}" if several else f"{layers[i]['layer']}" for i in places]
    sizes.set_xticks(list(places), names)
    for axes in (nodes, sizes):
        axes.grid(alpha=0.3)
        axes.legend()
    return image_of(figure, kind)


def _lines(layers: Layers, names: Mapping[str, str], unit: float = 1.0) -> list[Line]:
    """A line for each key in `names`."""
    return [
        Line(name, tuple((float(at), float(layer[key]) / unit) for at, layer in enumerate(layers)))
        for key, name in names.items()
    ]


def _plot_components(axes: Any, layers: Layers, lines: Iterable[Line]) -> None:
    """Draw lines that are interrupted between components; what is 0 has no place on a logarithmic scale."""
    for colour, line in enumerate(lines):
        for first, last in _components(layers):
            part = Line("" if first else line.name, line.points[first:last])
            plot(axes, part, marker="o", markersize=3, color=f"C{colour}")


def _components(layers: Layers) -> list[tuple[int, int]]:
    """The places of each component's layers, as ranges [first, last)."""
    starts = [i for i, layer in enumerate(layers) if i == 0 or layer["component"] != layers[i - 1]["component"]]
    return list(zip(starts, [*starts[1:], len(layers)], strict=True))


def draw_ranks(shares: Sequence[float], title: str, kind: str) -> bytes:
    """The drawing of the shares of networks, best first, and of what the first ones have together, in one of FORMATS;
    those of the same cost make a step. InputError without matplotlib."""
    figure = empty_figure((7, 4.5), "plot needs")
    single = figure.subplots()
    together = single.twinx()
    single.set_title(title, parse_math=False)
    places, total = _places_drawn(len(shares)), list(itertools.accumulate(shares))
    own = Line("of the network", tuple((i, shares[i - 1]) for i in places))
    first = Line("of it and those before", tuple((i, total[i - 1]) for i in places))
    steps = {"drawstyle": "steps-mid", "marker": "o" if len(places) <= MANY else None, "markersize": 3}
    curves = [*plot(single, own, color="C0", **steps), *plot(together, first, color="C1", **steps)]
    drawn = [share for _, share in own.points]
    wide = max(drawn) > WIDE * min(drawn)
    along = Axis("networks, best first", logarithmic=len(shares) > MANY)
    set_axes(single, along, Axis("share of the networks found", logarithmic=wide, from_zero=True))
    together.set_ylim(0, 1.05)
    together.set_ylabel("share of the first ones together")
    single.grid(alpha=0.3)
    figure.legend(handles=curves, loc="outside lower center", ncols=2)
    return image_of(figure, kind)


def draw_arcs(names: Sequence[str], shares: Mapping[tuple[str, str], float], title: str, kind: str) -> bytes:
    """The drawing of the probability of each arc, by names, as a square of cells, in one of FORMATS; InputError without
    matplotlib."""
    side = max(4.5, 0.22 * len(names))
    figure = empty_figure((side + 1.0, side), "plot needs")
    axes = figure.subplots()
    cells = [[shares.get((parent, child), 0.0) for child in names] for parent in names]
    image = axes.imshow(cells, cmap="Blues", vmin=0.0, vmax=1.0)
    axes.set_title(title, parse_math=False)
    axes.set_xticks(range(len(names)), names, rotation=90, parse_math=False)
    axes.set_yticks(range(len(names)), names, parse_math=False)
    axes.set_ylabel("from")
    axes.set_xlabel("to")
    figure.colorbar(image, label="probability of the arc")
    return image_of(figure, kind)


def _places_drawn(count: int) -> list[int]:
    """The places, from 1, of the networks that are drawn: all, or some that are even on a logarithmic scale."""
    if count <= MOST_DRAWN:
        return list(range(1, count + 1))
    return sorted({round(count ** (i / (MOST_DRAWN - 1))) for i in range(MOST_DRAWN)})
