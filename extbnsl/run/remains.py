"""What is in a run directory: whether it is one, which files are the run's own, and their removal.

Only files with names that a run mints go, and only from folders that are a run's: one with a manifest or a lock of this
program, and the scratch folder that carries the mark in the manifest.
"""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from extbnsl.core.errors import InputError, RunDirectoryError
from extbnsl.files import manifest as manifests
from extbnsl.files import names
from extbnsl.files.atomic import is_folder
from extbnsl.files.lock import left_by_a_run
from extbnsl.files.manifest import entries, remove_debris
from extbnsl.files.store import Scratch, is_marked, remove_folders
from extbnsl.files.store import remove_scratch as remove_scratch_folder


def is_run(path: Path) -> bool:
    """Whether a run has written to the folder `path`, or is about to."""
    return left_by_a_run(path) or manifests.is_run(path)


def check_run(path: Path) -> None:
    """Raise InputError unless `path` is a directory that a run has written to, or is about to."""
    if not os.path.isdir(path):
        kind = "is a file" if os.path.exists(path) else "does not exist"
        raise InputError(f"{path} {kind}; give the run directory that a solve has written.")
    if not os.access(path, os.R_OK | os.X_OK):
        raise InputError(f"{path} cannot be read: no permission to look into it; get it, or ask its owner.")
    if not is_run(path):
        raise InputError(f"{path} is no run directory: no solve has written to it; give one that has.")


def foreign_files(path: Path) -> list[str]:
    """The names of what is in a directory and is no run's, those in the folders of arrays with their folder."""
    folders = [name for name in names.FOLDERS if is_folder(path / name)]
    held = {entry.relative_to(path).as_posix() for place in ("", *folders) for entry in (path / place).iterdir()}
    own = {name for name in entries(path) if names.is_own(name)}
    lock = {names.LOCK} if is_run(path) or _is_empty(path / names.LOCK) else set()
    return sorted(held - own - set(folders) - lock)


def scratch_files(path: Path) -> list[Path]:
    """What a run needs only to be resumed: arrays, here or in its scratch folder, temporary files, and the manifest."""
    scratch = _scratch(path)
    files = [] if scratch is None or not is_marked(scratch) else _own(scratch.folder)
    # The manifest goes last: as long as it is there, whoever was interrupted finds the scratch folder again.
    return sorted(files + _own(path), key=lambda file: file.name == names.MANIFEST)


def remove_scratch(path: Path) -> None:
    """Delete `scratch_files` and the folders that are empty then; raises InputError if that is not allowed."""
    scratch = _scratch(path)
    files = scratch_files(path)
    _remove(file for file in files if file.name != names.MANIFEST)
    remove_folders(path)
    if scratch is not None:
        remove_scratch_folder(scratch)
    _remove(file for file in files if file.name == names.MANIFEST)


def remove_run(path: Path) -> None:
    """Delete every file of a run but its lock; raises InputError if that is not allowed."""
    remove_scratch(path)
    _remove(path / name for name in entries(path) if names.is_own(name))


def tidy(path: Path) -> None:
    """Delete what a run that is finished has left if its process was killed at the end."""
    with contextlib.suppress(InputError, RunDirectoryError):
        manifest = manifests.read_manifest(path)
        remove_debris(path, manifest)
        if not manifest.files:
            remove_folders(path)
            if manifest.scratch is not None:
                remove_scratch_folder(manifest.scratch)


def _scratch(path: Path) -> Scratch | None:
    """The scratch folder of a run, as far as its manifest can be read."""
    with contextlib.suppress(InputError, RunDirectoryError):
        return manifests.read_manifest(path).scratch
    return None


def _own(folder: Path) -> list[Path]:
    """The files in a run directory or a scratch folder that a run needs only to be resumed."""
    return [
        folder / name
        for name in entries(folder)
        if name == names.MANIFEST or names.is_arrays(name) or names.is_temporary(name)
    ]


def _is_empty(path: Path) -> bool:
    """Whether a file has nothing in it, as a lock of which only the name was written."""
    try:
        return os.lstat(path).st_size == 0
    except OSError:
        return True


def _remove(files: Iterable[Path]) -> None:
    for file in files:
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(f"{file} cannot be deleted: {error.strerror}.") from error
