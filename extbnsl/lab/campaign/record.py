"""What became of a run, as the campaign saw it from outside: a small JSON file beside its run directory."""

import contextlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, cast

from extbnsl.core.codec import Whole, Within, decode, encode, json_text, json_value
from extbnsl.core.errors import InputError, RunDirectoryError
from extbnsl.files.atomic import read_regular, write_atomically

FORMAT_VERSION = 1
MOST_BYTES = 1 << 20
ENDED, FAILED, STOPPED = "ended", "failed", "stopped"
"""It came to an end that its result tells; it failed, for the reason in `message`; the campaign stopped it, or was
killed, and it goes on from where it was."""


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
