"""Where a run keeps what it writes."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from extbnsl.core.arguments import check_switch
from extbnsl.core.errors import InputError
from extbnsl.files.manifest import Manifest, recover
from extbnsl.files.run_state import Remembered
from extbnsl.files.store import Store, new_scratch
from extbnsl.machine.budgets import Granted, default_disk
from extbnsl.machine.workers import Workers


@dataclass(frozen=True)
class Place:
    """Where a run keeps what it writes, and the state that it goes on from.

    run_folder: the run directory, which the caller holds; without one nothing is committed. scratch: an existing folder
    in which the run makes one of its own for large files; None is the run directory, or else where temporary files go.
    compress: whether what reconstruction
    needs is compressed (hdf5plugin). resume: the state in the run directory to go on from. remember: what is kept with
    every state.
    """

    run_folder: Path | None = None
    scratch: Path | None = None
    compress: bool = False
    resume: Manifest | None = None
    remember: Remembered | None = None

    def check(self) -> None:
        """Raise InputError for values that cannot be, and for a scratch folder that cannot be used."""
        check_switch("compress", self.compress)
        if self.scratch is not None and not _is_writable(self.scratch):
            raise InputError(f"scratch_dir: {self.scratch} is no folder that can be written; give one that is.")

    @property
    def folder(self) -> Path:
        """The folder of the large files, or the one that it will be made in."""
        if self.resume is not None and self.run_folder is not None:
            folder = self.resume.place(self.run_folder)
            return folder if folder.exists() else folder.parent
        return self.scratch or self.run_folder or Path(tempfile.gettempdir())

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
        scratch = None if place.scratch is None else new_scratch(place.scratch, place.run_folder)
        yield Store(place.run_folder if scratch is None else scratch.folder, granted.disk, scratch=scratch)
    else:
        with Workers(granted.threads) as unstoppable:  # even without any time left there is to be a result
            store = recover(place.run_folder, place.resume, granted.disk, unstoppable)
        yield store


@contextlib.contextmanager
def temporary_store(folder: Path | None = None, disk: int | None = None) -> Iterator[Store]:
    """A store that is deleted at the end, in `folder` or where temporary files go."""
    disk = default_disk(folder or Path(tempfile.gettempdir())) if disk is None else disk
    with tempfile.TemporaryDirectory(prefix="extbnsl-", dir=folder) as temporary:
        yield Store(Path(temporary), disk)


def _is_writable(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
