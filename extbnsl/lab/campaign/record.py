"""What became of a run, as the campaign saw it from outside: a small JSON file beside its run directory."""

import contextlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from extbnsl.core.errors import InputError, RunDirectoryError
from extbnsl.files.atomic import read_regular, write_atomically
from extbnsl.files.shapes import every, json_text, json_value, misfit, number, one_of, record, text, whole

FORMAT_VERSION = 1
MOST_BYTES = 1 << 20
ENDED, FAILED, STOPPED = "ended", "failed", "stopped"
"""It came to an end that its result tells; it failed, for the reason in `message`; the campaign stopped it, or was
killed, and it goes on from where it was."""

_SHAPE = record(
    {
        "format_version": one_of(FORMAT_VERSION),
        "state": one_of(ENDED, FAILED, STOPPED),
        "message": text,
        "exit_codes": every(whole(-1000, 1000)),
        "seconds": number,
        "cpu_seconds": number,
        "peak_rss_bytes": whole(),
        "arguments": every(text),
    }
)


@dataclass(frozen=True)
class Record:
    """What became of a run. exit_codes: of its processes so far, minus the number of the signal that killed one.
    seconds, cpu_seconds: of all of them, by the system's clock and its count; peak_rss_bytes: of the largest."""

    state: str
    message: str = ""
    exit_codes: tuple[int, ...] = ()
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_rss_bytes: int = 0

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
        document: dict[str, Any] = json_value(read_regular(path, MOST_BYTES))
        if misfit(document, _SHAPE) is None and tuple(document.pop("arguments")) == arguments:
            document.pop("format_version")
            return Record(**(document | {"exit_codes": tuple(document["exit_codes"])}))
    return None


def write_record(path: Path, record: Record, arguments: tuple[str, ...]) -> None:
    """Write a record; raises as `write_atomically` does."""
    document = {"format_version": FORMAT_VERSION, **asdict(record), "arguments": arguments}
    write_atomically(path, json_text(document, indent=1).encode("utf-8", "backslashreplace"))


def forget(path: Path) -> None:
    """Remove a record, so that the run is tried again."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path} cannot be deleted: {error.strerror}.") from error
