"""Drawings of a run: its layers, from its log, as in Figure 3 of Malone et al. 2011; the k best networks, from its
result."""

import io
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from extbnsl.core.claims import OPTIMAL
from extbnsl.core.errors import InputError, RunDirectoryError
from extbnsl.files.names import EVENTS_LOG
from extbnsl.results.reading import read_networks, read_result
from extbnsl.run.directory import read_log
from extbnsl.run.status import finished_result

FORMATS = ("png", "svg", "pdf")
GIB = 2**30
MANY = 200  # networks, from which on the scale of places is logarithmic
MOST_DRAWN = 5000  # of them, each from then on at a place a little further than the one before
WIDE = 1e3  # a range of shares that needs a logarithmic scale
LAYER_FIGURES = ("component", "layer", "generated", "kept", "memory", "disk", "rss_bytes")  # of LayerEnded


def file_format(output: Path) -> str:
    """'png', 'svg' or 'pdf', as the name of the file says; InputError if it says nothing of the kind."""
    found = output.suffix.lower().removeprefix(".")
    if found not in FORMATS:
        ending = output.suffix or "a file without an ending"
        raise InputError(f"--output: cannot write {ending}; use .png, .svg or .pdf.")
    return found


def read_layers(path: Path) -> list[Mapping[str, Any]]:
    """What the log of the run in `path` has of each layer, by component and layer, with the names of LayerEnded.

    Of a layer that was generated again after a resume the last time counts. Lines that are torn are passed over.
    Raises InputError if there is no log or no layer in it, RunDirectoryError if it is no file.
    """
    log = path / EVENTS_LOG
    try:
        layers = {(event["component"], event["layer"]): event for event in read_log(path) if _is_of_a_layer(event)}
    except OSError as error:
        raise InputError(f"{log} cannot be read: {error.strerror}.") from error
    if not layers:
        if (finished_result(path) or {}).get("status") == OPTIMAL:
            raise InputError(f"{path} was proved before any search: there are no layers to draw.")
        raise InputError(f"{log} has no finished layer in it; there is nothing to draw.")
    return [layers[key] for key in sorted(layers)]


def _is_of_a_layer(event: Mapping[str, Any]) -> bool:
    return event.get("event") == "LayerEnded" and all(isinstance(event.get(key), int) for key in LAYER_FIGURES)


def has_ranks(path: Path) -> bool:
    """Whether the run in `path` has a result that lists the k best networks."""
    try:
        return "count" in read_result(path)
    except (InputError, RunDirectoryError):
        return False


def read_shares(path: Path) -> list[float]:
    """The shares of the k best networks of the run in `path`, best first; raises as `read_networks`."""
    return [float(network["share"]) for network in read_networks(path)]


def draw_ranks(shares: Sequence[float], title: str, kind: str) -> bytes:
    """The drawing of the shares of networks, best first, and of what the first ones have together, in one of FORMATS;
    those of the same cost make a step. InputError without matplotlib."""
    figure = _figure((7, 4.5))
    single = figure.subplots()
    together = single.twinx()
    single.set_title(title, parse_math=False)
    places = _places_drawn(len(shares))
    own, total = [shares[i - 1] for i in places], list(itertools.accumulate(shares))
    steps = {"drawstyle": "steps-mid", "marker": "o" if len(places) <= MANY else None, "markersize": 3}
    curves = single.plot(places, own, color="C0", label="of the network", **steps)
    curves += together.plot(places, [total[i - 1] for i in places], color="C1", label="of it and those before", **steps)
    if max(own) > WIDE * min(own):
        single.set_yscale("log", nonpositive="mask")
    else:
        single.set_ylim(bottom=0)
    if len(shares) > MANY:
        single.set_xscale("log")
    single.set_xlabel("networks, best first")
    single.set_ylabel("share of the networks found")
    together.set_ylim(0, 1.05)
    together.set_ylabel("share of the first ones together")
    single.grid(alpha=0.3)
    figure.legend(handles=curves, loc="outside lower center", ncols=2)
    return _image(figure, kind)


def _places_drawn(count: int) -> list[int]:
    """The places, from 1, of the networks that are drawn: all, or some that are even on a logarithmic scale."""
    if count <= MOST_DRAWN:
        return list(range(1, count + 1))
    return sorted({round(count ** (i / (MOST_DRAWN - 1))) for i in range(MOST_DRAWN)})


def draw(layers: Sequence[Mapping[str, Any]], title: str, kind: str) -> bytes:
    """The drawing of layers as `read_layers` returns them, in one of FORMATS; InputError without matplotlib."""
    figure = _figure((7, 6))
    nodes, bytes_used = figure.subplots(2, 1, sharex=True)
    nodes.set_title(title, parse_math=False)
    _curves(nodes, layers, {"generated": "generated", "kept": "kept"}, 1)
    nodes.set_yscale("log", nonpositive="mask")
    nodes.set_ylabel("nodes")
    _curves(bytes_used, layers, {"rss_bytes": "memory", "memory": "of it the solver's structures", "disk": "disk"}, GIB)
    bytes_used.set_ylim(bottom=0)
    bytes_used.set_ylabel("GiB")
    _name_layers(bytes_used, layers)
    for axes in (nodes, bytes_used):
        axes.grid(alpha=0.3)
        axes.legend()
    return _image(figure, kind)


def _figure(size: tuple[float, float]) -> Any:
    """An empty figure of so many inches; InputError without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("plot needs matplotlib: pip install 'extbnsl[plot]'.") from error
    return Figure(figsize=size, layout="constrained")


def _image(figure: Any, kind: str) -> bytes:
    image = io.BytesIO()
    figure.savefig(image, format=kind, dpi=150)
    return image.getvalue()


def _curves(axes: Any, layers: Sequence[Mapping[str, Any]], names: dict[str, str], unit: int) -> None:
    """A curve for each key in `names`, interrupted between components; what is 0 has no place on a log scale."""
    for colour, (key, name) in enumerate(names.items()):
        for first, last in _components(layers):
            values = [layer[key] / unit for layer in layers[first:last]]
            axes.plot(
                range(first, last), values, marker="o", markersize=3, color=f"C{colour}", label=None if first else name
            )


def _components(layers: Sequence[Mapping[str, Any]]) -> list[tuple[int, int]]:
    """The places of each component's layers, as ranges [first, last)."""
    starts = [i for i, layer in enumerate(layers) if i == 0 or layer["component"] != layers[i - 1]["component"]]
    return list(zip(starts, [*starts[1:], len(layers)], strict=True))


def _name_layers(axes: Any, layers: Sequence[Mapping[str, Any]]) -> None:
    several = len(_components(layers)) > 1
    step = -(-len(layers) // 20)
    places = range(0, len(layers), step)
    names = [f"{layers[i]['component']}:{layers[i]['layer']}" if several else str(layers[i]["layer"]) for i in places]
    axes.set_xticks(list(places), names)
    axes.set_xlabel("component : layer" if several else "layer")
