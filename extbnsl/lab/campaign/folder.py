"""The folder of a campaign: whose it is, and what lies where.

campaign.json   that it is one, and of which version
campaign.yaml   the file, as it was last run
lock            held, by the system, for the life of the process
runs/NAME.run   the run directory of a run, beside it NAME.json, its record, and NAME.log, what it said last
stop            asks the workers of a cluster to stop
results.csv, tables/, plots/, index.html
                the report
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from extbnsl.core.codec import json_text, json_value
from extbnsl.core.errors import InputError, RunDirectoryError
from extbnsl.core.version import __version__
from extbnsl.files.atomic import read_regular, write_atomically, write_failure
from extbnsl.files.lock import hold
from extbnsl.files.names import LOCK

FORMAT_VERSION = 1
MARK, COPY, RUNS, STOP = "campaign.json", "campaign.yaml", "runs", "stop"
MOST_BYTES, MOST_YAML = 1 << 16, 1 << 23
CHANGED = (
    "{path} was another file: runs that both have count, and those that this one has not stay in their folders, and "
    "have no place in the report."
)


@dataclass(frozen=True)
class CampaignFolder:
    """The folder of a campaign that this process holds; `warnings` are sentences for the user."""

    path: Path
    warnings: tuple[str, ...]

    @property
    def runs(self) -> Path:
        return self.path / RUNS

    @property
    def stop(self) -> Path:
        """The file that asks the workers of a cluster to stop."""
        return self.path / STOP


@contextlib.contextmanager
def opened(path: Path, content: bytes, resume: bool) -> Iterator[CampaignFolder]:
    """The folder of the campaign whose file has this content, made if need be, and held.

    Raises InputError if it holds a campaign and `resume` is not given, or anything else, or cannot be written;
    RunDirectoryError if another process holds it, or it is of another version.
    """
    try:
        _check(path, resume)
        (path / RUNS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_failure(path / RUNS, error) from error
    lock, warnings = hold(path)
    try:
        document = {"format_version": FORMAT_VERSION, "kind": "campaign", "extbnsl": __version__}
        write_atomically(path / MARK, json_text(document, indent=1).encode())
        if _is_another(path / COPY, content):
            warnings += (CHANGED.format(path=path / COPY),)
        write_atomically(path / COPY, content)
        with contextlib.suppress(OSError):
            (path / STOP).unlink(missing_ok=True)
        yield CampaignFolder(path, warnings)
    finally:
        os.close(lock)


def holds_campaign(path: Path) -> bool:
    """Whether a campaign has this folder."""
    return (path / MARK).exists()


def _is_another(copy: Path, content: bytes) -> bool:
    """Whether the campaign that was last run here had another file."""
    with contextlib.suppress(OSError, RunDirectoryError):
        return read_regular(copy, MOST_YAML) != content
    return False


def _check(path: Path, resume: bool) -> None:
    """Raise unless the campaign may have this folder; OSError if it cannot be looked at."""
    if not os.path.lexists(path):
        return
    if not path.is_dir():
        raise InputError(f"{path} is a file; give another --output-dir.")
    if not holds_campaign(path):
        if any(not _is_beginning(entry) for entry in path.iterdir()):
            raise InputError(f"{path} is not empty and holds no campaign; give another --output-dir.")
        return
    try:
        document = json_value(read_regular(path / MARK, MOST_BYTES))
        version = document["format_version"] if document["kind"] == "campaign" else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunDirectoryError(
            f"{path / MARK} is damaged; move the folder away and run the campaign again."
        ) from error
    _check_version(path, version, resume)


def _is_beginning(entry: Path) -> bool:
    """Whether a campaign that was killed before it had a mark may have left this in its folder."""
    return entry.name == LOCK or _is_temporary_mark(entry.name) or (entry.name == RUNS and not any(entry.iterdir()))


def _is_temporary_mark(name: str) -> bool:
    return name.startswith(f".{MARK}.") and name.endswith(".tmp")


def _check_version(path: Path, version: object, resume: bool) -> None:
    if version != FORMAT_VERSION:
        raise RunDirectoryError(
            f"{path} is a campaign of format version {version}, and this program writes {FORMAT_VERSION}; "
            "give another --output-dir."
        )
    if not resume:
        raise InputError(f"{path} holds a campaign; give --resume to go on with it, or another --output-dir.")
