"""The store of a run: its files of arrays, the ledger of what they take, and the scratch folder if they lie in one.

A manifest may come from anyone and name any folder. So the folder of a run carries a mark that nobody guesses, which
the manifest repeats: without the right mark nothing there is touched. The manifest names the folder before it is made
and for as long as it is there, so that it is found whenever the process is killed.
"""

import contextlib
import os
import re
import secrets
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from extbnsl.core.errors import InputError, RunDirectoryError
from extbnsl.files import names
from extbnsl.files.arrays import StoredFile, over_budget, write_arrays
from extbnsl.files.atomic import (
    check_folder,
    is_folder,
    read_regular,
    synchronise,
    synchronise_folder,
    write_atomically,
    writing,
)
from extbnsl.machine.budgets import default_disk

if TYPE_CHECKING:
    from numpy.typing import NDArray


MARK_BYTES = 64  # in the file, at most


@dataclass(frozen=True)
class Scratch:
    """The absolute path of a folder that one run has to itself, and the mark in it, 32 hexadecimal digits."""

    path: Annotated[str, names.is_scratch_path]
    mark: Annotated[str, re.compile("[0-9a-f]{32}").fullmatch]

    @property
    def folder(self) -> Path:
        return Path(self.path)


def new_scratch(parent: Path, run_folder: Path) -> Scratch:
    """What `make_scratch` is to make below the folder `parent` for a run, with a mark of its own."""
    name = names.scratch(os.path.abspath(run_folder).rpartition("/")[2], secrets.token_hex(4))
    return Scratch(os.path.join(os.path.abspath(parent), name), secrets.token_hex(16))


def make_scratch(scratch: Scratch) -> None:
    """Make the folder, or take an empty one, and mark it; nothing is done if it carries the mark. On disk on return.

    Raises InputError if it cannot be made or holds anything, BudgetError if the disk is full.
    """
    if is_marked(scratch):
        return
    folder = scratch.folder
    with writing(folder):
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
        foreign = [name for name in os.listdir(folder) if not names.is_temporary(name)]
    if foreign:
        raise InputError(f"{folder} holds {foreign[0]!r}; a run needs an empty folder for its arrays.")
    write_atomically(folder / names.MARK, f"{scratch.mark}\n".encode())
    with contextlib.suppress(InputError):  # a parent that must not be opened
        synchronise_folder(folder.parent)


def is_marked(scratch: Scratch) -> bool:
    """Whether the folder is there and carries the mark."""
    try:
        mark = read_regular(scratch.folder / names.MARK, MARK_BYTES)
    except (OSError, RunDirectoryError):
        return False
    return is_folder(scratch.folder) and mark.strip() == scratch.mark.encode()


def check_scratch(scratch: Scratch) -> None:
    """Raise RunDirectoryError unless the folder is there, carries the mark, and has folders for arrays, if any."""
    if not os.path.isdir(scratch.folder):
        raise RunDirectoryError(
            f"The files of the run are in {scratch.folder}, which is not there; mount that disk, or start again with "
            "solve."
        )
    if not is_marked(scratch):
        raise RunDirectoryError(
            f"The folder {scratch.folder} does not carry the mark of this run: it belongs to something else; "
            "bring back the folder of the run, or start again with solve."
        )
    for name in names.FOLDERS:
        check_folder(scratch.folder / name)


def remove_scratch(scratch: Scratch) -> None:
    """Remove the mark if nothing else of the run is in the folder, and the folder if it is empty then."""
    folder = scratch.folder
    with contextlib.suppress(OSError):
        if is_marked(scratch):
            remove_folders(folder)
            if not any(map(names.is_in_store, os.listdir(folder))):
                (folder / names.MARK).unlink()
        if is_folder(folder):  # one that is empty is all that is left of a removal that was cut short
            folder.rmdir()


def remove_folders(folder: Path) -> None:
    """Remove the folders for arrays in a folder if they are empty."""
    for name in names.FOLDERS:
        with contextlib.suppress(OSError):
            (folder / name).rmdir()


class Store:
    """The files of arrays of one run, as its driver knows them: what they take, and which may go.

    folder: where they lie; disk: how many bytes they may take together; used, peak: how many they take now and took
    at most. Every byte is counted before it is written. Only the driver adds and removes. A name that a manifest has is
    not given to another file: what overwrites a file would be lost with it. compress: whether what stays long is to be
    compressed. scratch: the folder as a manifest names it, None if it is the run directory or nothing is committed.
    """

    def __init__(self, folder: Path, disk: int, compress: bool = False, scratch: Scratch | None = None) -> None:
        self.folder = folder
        self.scratch = scratch
        self.disk = disk
        self.compress = compress
        self.used = self.peak = 0
        self._promised = 0
        self._lock = threading.RLock()  # of `used`: files without a name go when nobody needs them any more
        self._known: dict[str, StoredFile] = {}
        self._synchronised: set[str] = set()

    @property
    def in_use(self) -> bool:
        """Whether there are files, or may be."""
        return self.disk > 0 or self.used > 0

    @property
    def files(self) -> tuple[StoredFile, ...]:
        """The files that are known."""
        return tuple(self._known.values())

    @property
    def free(self) -> int:
        """How many bytes may still be written: those that are neither used nor promised."""
        return max(0, self.disk - self.used - self._promised)

    def write(self, name: str, arrays: Mapping[str, "NDArray"], compress: bool = False) -> StoredFile:
        """Write named arrays as the file `name`, and count it; BudgetError if the disk budget has no room for it.

        Otherwise as `write_arrays`.
        """
        file = write_arrays(self.folder, name, arrays, compress, self.borrow)
        self._know(file)
        return file

    def add(self, files: Iterable[StoredFile], synchronised: bool = False) -> None:
        """Count files that others have written; `synchronised` ones are on disk for sure."""
        for file in files:
            self._count(file.bytes)
            self._know(file)
            if synchronised:
                self._synchronised.add(file.name)

    def promise(self, size: int) -> None:
        """Keep so many bytes more, or fewer, for what tasks write; they are `free`, and the files are to be added."""
        with self._lock:
            self._promised += size

    def synchronise(self, files: Iterable[StoredFile]) -> None:
        """Wait until these files are on disk; raises as `write_atomically` does."""
        new = [file.name for file in files if file.name not in self._synchronised]
        if new:
            synchronise(self.folder / name for name in new)
            synchronise_folder(self.folder)  # the folders in it may be new as well
            self._synchronised.update(new)

    def borrow(self, size: int) -> None:
        """Count so many bytes more, or fewer, of files without a name; BudgetError if there is no room for them."""
        with self._lock:
            if size > 0 and size > self.free:
                raise over_budget(self.folder)
            self._count(size)

    def keep_only(self, files: Iterable[StoredFile]) -> None:
        """Delete every known file but these; what cannot be deleted stays counted."""
        for name in self._known.keys() - {file.name for file in files}:
            try:
                (self.folder / name).unlink(missing_ok=True)
            except OSError:
                continue
            self._count(-self._known.pop(name).bytes)
            self._synchronised.discard(name)

    def clear(self) -> None:
        """Delete every known file, and the folders that are empty then."""
        self.keep_only(())
        remove_folders(self.folder)
        if self.scratch is not None:
            remove_scratch(self.scratch)

    def _know(self, file: StoredFile) -> None:
        """Take in a file that is counted, in the place of a former one of its name."""
        if former := self._known.get(file.name):
            self._count(-former.bytes)
        self._known[file.name] = file
        self._synchronised.discard(file.name)

    def _count(self, size: int) -> None:
        with self._lock:
            self.used += size
            self.peak = max(self.peak, self.used)


@contextlib.contextmanager
def temporary_store(folder: Path | None = None, disk: int | None = None) -> Iterator[Store]:
    """A store that is deleted at the end, in `folder` or where temporary files go."""
    disk = default_disk(folder or Path(tempfile.gettempdir())) if disk is None else disk
    with tempfile.TemporaryDirectory(prefix="extbnsl-", dir=folder) as temporary:
        yield Store(Path(temporary), disk)
