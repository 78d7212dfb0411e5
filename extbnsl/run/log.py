"""What the log of a run tells: its bounds over time, and the layers of its search."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extbnsl.core.codec import json_value
from extbnsl.core.errors import InputError
from extbnsl.files.atomic import lines_of
from extbnsl.files.names import EVENTS_LOG

LAYER_FIGURES = ("component", "layer", "generated", "kept", "memory", "disk", "rss_bytes")  # of LayerEnded
MOST_BYTES = 1 << 36  # of a log: years of a run
LONGEST_LINE = 1 << 24  # bytes; an event has some hundred
_TOLD = {"IncumbentFound": ("lower_bound", "cost"), "LayerEnded": ("lower_bound", "upper_bound")}  # by event


@dataclass(frozen=True)
class Moment:
    """What was known after so many seconds of a run: the best lower bound and the cost of the best network, in nats;
    None where there was none."""

    seconds: float
    lower: float | None
    upper: float | None


def read_bounds(path: Path) -> tuple[Moment, ...]:
    """The moments at which the log of the run in `path` has better bounds than before, in their order.

    Empty without a log. Lines that are torn, or have no numbers, are passed over. RunDirectoryError if the log is no
    file.
    """
    try:
        return tuple(_improvements(read_log(path)))
    except OSError:
        return ()


def read_log(path: Path) -> Iterator[Mapping[str, Any]]:
    """The events in the log of the run in `path`, in their order, without lines that are torn.

    Raises OSError if the log cannot be read, RunDirectoryError if it is no file.
    """
    for line in lines_of(path / EVENTS_LOG, MOST_BYTES, LONGEST_LINE):
        try:
            event = json_value(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event


def _improvements(events: Iterable[Mapping[str, Any]]) -> Iterator[Moment]:
    known = Moment(0.0, None, None)
    for record in events:
        keys = _TOLD.get(str(record.get("event")))
        seconds = _finite(record.get("elapsed")) if keys else None
        if keys is None or seconds is None:
            continue
        lower, upper = (_finite(record.get(key)) for key in keys)
        best = Moment(max(seconds, known.seconds), _better(max, known.lower, lower), _better(min, known.upper, upper))
        if (best.lower, best.upper) != (known.lower, known.upper):
            known = best
            yield known


def _finite(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _better(better: Any, known: float | None, found: float | None) -> float | None:
    return found if known is None else known if found is None else float(better(known, found))


def read_layers(path: Path) -> list[dict[str, int]]:
    """What the log of the run in `path` has of each layer, by component and layer: LAYER_FIGURES by their names.

    Of a layer that was generated again after a resume the last time counts. Lines that are torn are passed over.
    Raises InputError if there is no log, RunDirectoryError if it is no file.
    """
    log = path / EVENTS_LOG
    try:
        layers = {
            (event["component"], event["layer"]): {key: event[key] for key in LAYER_FIGURES}
            for event in read_log(path)
            if event.get("event") == "LayerEnded" and all(isinstance(event.get(key), int) for key in LAYER_FIGURES)
        }
    except OSError as error:
        raise InputError(f"{log} cannot be read: {error.strerror}.") from error
    return [layers[key] for key in sorted(layers)]
