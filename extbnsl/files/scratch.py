"""Scratch folders: where a run keeps its arrays if not in its run directory.

A manifest may come from anyone and name any folder. So the folder of a run carries a mark that nobody guesses, which
the manifest repeats: without the right mark nothing there is touched. The manifest names the folder before it is made
and for as long as it is there, so that it is found whenever the process is killed.
"""

import contextlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from extbnsl.errors import InputError, RunDirectoryError
from extbnsl.files import names
from extbnsl.files.atomic import synchronise_folder, write_atomically, write_failure
from extbnsl.files.regular import check_folder, is_folder, read_regular

MARK_BYTES = 64  # in the file, at most


@dataclass(frozen=True)
class Scratch:
    """The absolute path of a folder that one run has to itself, and the mark in it, 32 hexadecimal digits."""

    path: str
    mark: str

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
    try:
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
        foreign = [name for name in os.listdir(folder) if not names.is_temporary(name)]
    except OSError as error:
        raise write_failure(folder, error) from error
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
