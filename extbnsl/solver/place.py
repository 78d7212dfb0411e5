"""Where a run keeps what it writes."""

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extbnsl.errors import InputError
from extbnsl.files.manifest import Manifest, recover
from extbnsl.files.store import Store
from extbnsl.machine.budgets import Granted, default_disk
from extbnsl.machine.workers import Workers


@dataclass(frozen=True)
class Place:
    """Where a run keeps what it writes, and the state that it goes on from.

    run_folder: the run directory, which the caller holds; without one nothing is committed. scratch: the folder of
    large files; None is the run directory, or else where temporary files go. compress: whether what reconstruction
    needs is compressed (hdf5plugin). resume: the state in the run directory to go on from. remember: JSON values that
    are kept with every state.
    """

    run_folder: Path | None = None
    scratch: Path | None = None
    compress: bool = False
    resume: Manifest | None = None
    remember: Mapping[str, Any] | None = None

    def check(self) -> None:
        """Raise InputError for a scratch folder that cannot be used; a run directory makes its own when it begins."""
        folder = self.scratch
        if folder is not None and self.run_folder is None and not _is_writable(folder):
            raise InputError(f"scratch_dir: {folder} is no folder that can be written; give one that is.")

    @property
    def folder(self) -> Path:
        """The folder of the large files, or the one that it will be made in."""
        if self.resume is not None and self.run_folder is not None:
            return self.run_folder if self.resume.scratch is None else Path(self.resume.scratch)
        if self.scratch is None:
            return self.run_folder or Path(tempfile.gettempdir())
        return self.scratch if self.scratch.exists() else self.scratch.parent

    @property
    def held(self) -> int:
        """Bytes of the run's files that are there already."""
        return 0 if self.resume is None else sum(file.bytes for file in self.resume.files)


@contextlib.contextmanager
def store_at(place: Place, granted: Granted) -> Iterator[Store]:
    """The store of the large files; RunDirectoryError if those of the state to go on from are not as they were."""
    if place.run_folder is None:
        with temporary_store(place.scratch, granted.disk) as store:
            yield store
    elif place.resume is None:
        yield Store(place.scratch or place.run_folder, granted.disk)
    else:
        with Workers(granted.threads) as unstoppable:  # even without any time left there is to be a result
            store = recover(place.run_folder, place.resume, granted.disk, unstoppable)
        yield store


@contextlib.contextmanager
def temporary_store(folder: Path | None = None, disk: int | None = None) -> Iterator[Store]:
    """A store that is deleted at the end, in `folder` or where temporary files go."""
    disk = disk or default_disk(folder or Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix="extbnsl-", dir=folder) as temporary:
        yield Store(Path(temporary), disk)


def _is_writable(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
