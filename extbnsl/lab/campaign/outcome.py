"""The outcome of a run: the head of its result.json, with all that others rely on checked."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from extbnsl.core.claims import STATUSES
from extbnsl.core.errors import InputError, RunDirectoryError
from extbnsl.files.names import RESULT
from extbnsl.results.reading import read_result
from extbnsl.verify.document import is_number, read_claims


def read_outcome(folder: Path) -> dict[str, Any]:
    """The head of result.json in a run directory; InputError if there is none, RunDirectoryError if it is not what a
    run writes."""
    document = read_result(folder)
    try:
        fits = read_claims(document).status in STATUSES and _has_statistics(document.get("stats"))
    except InputError as error:
        raise RunDirectoryError(f"{folder / RESULT} is damaged: {error}") from error
    if not fits:
        raise RunDirectoryError(f"{folder / RESULT} is damaged: it lacks the status or statistics of a run.")
    return document


def _has_statistics(stats: Any) -> bool:
    """Whether a JSON value is an object, and has layers that can be drawn if it has any."""
    if not isinstance(stats, Mapping):
        return False
    layers = stats.get("layers") or []
    return isinstance(layers, list) and all(
        isinstance(layer, Mapping) and all(is_number(layer.get(key)) for key in ("layer", "disk", "kept"))
        for layer in layers
    )
