"""Going on with a run that another process has left: what its manifest names is checked, what it does not name goes."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from extbnsl.errors import InputError
from extbnsl.files import names
from extbnsl.files.arrays import check_file
from extbnsl.files.atomic import synchronise
from extbnsl.files.manifest import Manifest
from extbnsl.files.regular import check_folder, is_folder
from extbnsl.files.scratch import check_scratch, is_marked, make_scratch
from extbnsl.files.store import Store

if TYPE_CHECKING:
    from extbnsl.machine.workers import Workers


def recover(folder: Path, manifest: Manifest, disk: int, workers: "Workers") -> Store:
    """The store of a run that goes on from `manifest`, the one that is in `folder`; it may take `disk` bytes.

    Reads every file that the manifest names, each a task of the workers, and removes the `debris`. The caller holds the
    lock of the run directory. Raises RunDirectoryError, with nothing removed, if the store's folder or a file is
    missing or damaged, or is not the run's own; InputError if the folder cannot be written; Stopped.
    """
    place = manifest.place(folder)
    if manifest.scratch is not None:
        if not manifest.files:  # the process may have been killed before it made the folder
            make_scratch(manifest.scratch)
        check_scratch(manifest.scratch)
    for name in names.FOLDERS:
        check_folder(place / name)
    files = workers.map(check_file, [(place, file) for file in manifest.files])
    # The process may have been killed when it had renamed the manifest but not made sure of it. Until that is made
    # up for, a power loss can bring back the manifest before, whose files are about to go.
    synchronise([folder / names.MANIFEST])
    remove_debris(folder, manifest)
    store = Store(place, disk, scratch=manifest.scratch)
    store.add(files, synchronised=True)
    return store


def remove_debris(folder: Path, manifest: Manifest) -> None:
    """Delete what a killed process has left; InputError if that is not allowed."""
    for path in debris(folder, manifest):
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(
                f"{path} is left from a process that was killed and cannot be removed ({error.strerror}); "
                "make its folder writable and resume again."
            ) from error


def debris(folder: Path, manifest: Manifest) -> Iterator[Path]:
    """What a killed process has left in its run directory `folder` and in its store's folder: files with names that a
    run gives to temporary files, and to files of arrays that the manifest does not name. A scratch folder that does not
    carry the run's mark has none."""
    place = manifest.place(folder)
    places = [folder, place] if manifest.scratch is None or is_marked(manifest.scratch) else [folder]
    named = {file.name for file in manifest.files}
    for here in dict.fromkeys(places):
        for name in entries(here):
            if names.is_temporary(name) or (here == place and names.is_arrays(name) and name not in named):
                yield here / name


def entries(folder: Path) -> list[str]:
    """The names of what is in a folder, and in its folders for arrays, but no other folders; none if it is missing.

    InputError if it cannot be read.
    """
    found: list[str] = []
    try:
        for path in folder.iterdir():
            if path.name in names.FOLDERS and is_folder(path):
                found += (f"{path.name}/{below.name}" for below in path.iterdir() if not is_folder(below))
            elif not is_folder(path):
                found.append(path.name)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(f"{folder} cannot be read ({error.strerror}); make it a folder that you may read.") from error
    return sorted(found)
