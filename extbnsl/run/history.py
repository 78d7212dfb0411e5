"""How the bounds of a run came together, from its log."""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extbnsl.files.names import EVENTS_LOG

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

    Empty without a log. Lines that are torn, or have no numbers, are passed over.
    """
    try:
        with open(path / EVENTS_LOG, "rb") as lines:
            return tuple(_improvements(lines))
    except OSError:
        return ()


def _improvements(lines: Iterable[bytes]) -> Iterator[Moment]:
    known = Moment(0.0, None, None)
    for line in lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        keys = _TOLD.get(str(record.get("event"))) if isinstance(record, dict) else None
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
