"""What became of a run: as the campaign saw it from outside, a small JSON file beside its run directory, and as the run
tells it, the head of its result.json, with all that others rely on checked.
"""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, cast

from extbnsl.core.claims import STATUSES
from extbnsl.core.codec import Whole, Within, decode, encode, json_text, json_value
from extbnsl.core.errors import InputError, RunDirectoryError
from extbnsl.files.atomic import read_regular, write_atomically
from extbnsl.files.names import RESULT
from extbnsl.results.reading import read_result
from extbnsl.verify.document import is_number, read_claims

FORMAT_VERSION = 1
MOST_BYTES = 1 << 20
ENDED, FAILED, STOPPED = "ended", "failed", "stopped"
"""It came to an end that its result tells; it failed, for the reason in `message`; the campaign stopped it, or was
killed, and it goes on from where it was."""


def read_outcome(folder: Path) -> dict[str, Any]:
    """The head of result.json in a run directory; InputError if there is none, RunDirectoryError if it is not what a
    run writes."""
    document = read_result(folder)
    try:
        bounded = document | {"lower_bound": document["cost"]} if "em" in document else document  # EM knows no bound
        fits = read_claims(bounded).status in STATUSES and _has_statistics(document.get("stats"))
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


@dataclass(frozen=True)
class Record:
    """What became of a run. exit_codes: of its processes so far, minus the number of the signal that killed one.
    seconds, cpu_seconds: of all of them, by the system's clock and its count; peak_rss_bytes: of the largest."""

    state: Annotated[str, (ENDED, FAILED, STOPPED).__contains__]
    message: str = ""
    exit_codes: tuple[Annotated[int, Within(-1000, 1000)], ...] = ()
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_rss_bytes: Whole = 0

    @property
    def over(self) -> bool:
        """Whether nothing is left to do."""
        return self.state != STOPPED

    def after(self, before: "Record | None") -> "Record":
        """This one of a further process, with those before it."""
        if before is None:
            return self
        return replace(
            self,
            exit_codes=before.exit_codes + self.exit_codes,
            seconds=before.seconds + self.seconds,
            cpu_seconds=before.cpu_seconds + self.cpu_seconds,
            peak_rss_bytes=max(before.peak_rss_bytes, self.peak_rss_bytes),
        )


def read_record(path: Path, arguments: tuple[str, ...]) -> Record | None:
    """The record in a file; None if there is none, or it is damaged, or of another command line."""
    with contextlib.suppress(OSError, ValueError, RunDirectoryError):
        document = decode(dict[str, Any], json_value(read_regular(path, MOST_BYTES)))
        if [document.pop(key, None) for key in ("format_version", "arguments")] == [FORMAT_VERSION, list(arguments)]:
            return cast(Record, decode(Record, document))
    return None


def write_record(path: Path, record: Record, arguments: tuple[str, ...]) -> None:
    """Write a record; raises as `write_atomically` does."""
    document = {"format_version": FORMAT_VERSION, **encode(record), "arguments": arguments}
    write_atomically(path, json_text(document, indent=1).encode("utf-8", "backslashreplace"))


def forget(path: Path) -> None:
    """Remove a record, so that the run is tried again."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path} cannot be deleted: {error.strerror}.") from error
