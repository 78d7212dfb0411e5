"""The layers of a run, drawn from its log as in Figure 3 of Malone et al. 2011: nodes, memory and disk."""

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from extbnsl.claims import OPTIMAL
from extbnsl.errors import InputError
from extbnsl.files.names import EVENTS_LOG
from extbnsl.run.status import finished_result

FORMATS = ("png", "svg", "pdf")
GIB = 2**30
_KEYS = ("component", "layer", "generated", "kept", "memory", "disk", "rss_bytes")


def file_format(output: Path) -> str:
    """'png', 'svg' or 'pdf', as the name of the file says; InputError if it says nothing of the kind."""
    found = output.suffix.lower().removeprefix(".")
    if found not in FORMATS:
        ending = output.suffix or "a file without an ending"
        raise InputError(f"--output: cannot write {ending}; use .png, .svg or .pdf.")
    return found


def read_layers(path: Path) -> list[dict[str, Any]]:
    """What the log of the run in `path` has of each layer, by component and layer, with the names of LayerEnded.

    Of a layer that was generated again after a resume the last time counts. Lines that are torn are passed over.
    Raises InputError if there is no log or no layer in it.
    """
    log = path / EVENTS_LOG
    try:
        with open(log, "rb") as lines:
            layers = {(record["component"], record["layer"]): record for record in _layer_records(lines)}
    except OSError as error:
        raise InputError(f"{log} cannot be read: {error.strerror}.") from error
    if not layers:
        if (finished_result(path) or {}).get("status") == OPTIMAL:
            raise InputError(f"{path} was proved before any search: there are no layers to draw.")
        raise InputError(f"{log} has no finished layer in it; there is nothing to draw.")
    return [layers[key] for key in sorted(layers)]


def _layer_records(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        ended = isinstance(record, dict) and record.get("event") == "LayerEnded"
        if ended and all(isinstance(record.get(key), int) for key in _KEYS):
            yield record


def draw(layers: Sequence[dict[str, Any]], title: str, kind: str) -> bytes:
    """The drawing of layers as `read_layers` returns them, in one of FORMATS; InputError without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("plot needs matplotlib: pip install 'extbnsl[plot]'.") from error
    figure = Figure(figsize=(7, 6), layout="constrained")
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
    image = io.BytesIO()
    figure.savefig(image, format=kind, dpi=150)
    return image.getvalue()


def _curves(axes: Any, layers: Sequence[dict[str, Any]], names: dict[str, str], unit: int) -> None:
    """A curve for each key in `names`, interrupted between components; what is 0 has no place on a log scale."""
    for colour, (key, name) in enumerate(names.items()):
        for first, last in _components(layers):
            values = [layer[key] / unit for layer in layers[first:last]]
            axes.plot(
                range(first, last), values, marker="o", markersize=3, color=f"C{colour}", label=None if first else name
            )


def _components(layers: Sequence[dict[str, Any]]) -> list[tuple[int, int]]:
    """The places of each component's layers, as ranges [first, last)."""
    starts = [i for i, layer in enumerate(layers) if i == 0 or layer["component"] != layers[i - 1]["component"]]
    return list(zip(starts, [*starts[1:], len(layers)], strict=True))


def _name_layers(axes: Any, layers: Sequence[dict[str, Any]]) -> None:
    several = len(_components(layers)) > 1
    step = -(-len(layers) // 20)
    places = range(0, len(layers), step)
    names = [f"{layers[i]['component']}:{layers[i]['layer']}" if several else str(layers[i]["layer"]) for i in places]
    axes.set_xticks(list(places), names)
    axes.set_xlabel("component : layer" if several else "layer")
