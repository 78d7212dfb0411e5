"""Checkpoints: the state that a run can go on from, and the files that it needs, committed together or not at all.

The manifest of a run directory holds the state and names every file of arrays with its length and checksum. A commit
puts the new files on disk, then the manifest in one step, and only then removes what the manifest no longer names. So
whenever the process or the machine dies, the manifest that is found is a whole one, and all its files are there.

The manifest is JSON rendered in one way only, with a format version, the version of the program, and last its own
checksum: the SHA-256 of the same document without it. That much holds for every format version.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extbnsl.errors import InputError, RunDirectoryError
from extbnsl.files.arrays import StoredFile, check_file
from extbnsl.files.atomic import checksum, synchronise, write_atomically
from extbnsl.files.documents import json_text
from extbnsl.files.names import MANIFEST
from extbnsl.files.store import Store
from extbnsl.version import __version__

if TYPE_CHECKING:
    from extbnsl.machine.workers import Workers

FORMAT_VERSION = 2
_TEMPORARY = re.compile(r"\..+\.\d+\.tmp")  # as write_atomically names them
_PARTS = ("", "layers", "runs")  # where the files of arrays are, in the folder of the store


@dataclass(frozen=True)
class Manifest:
    """A state to go on from.

    state: JSON values, what the driver of the run needs (NaN and infinity are read back as None); files: the arrays
    that go with it, in the folder of the run's store; scratch: the absolute path of that folder, or None if it is the
    run directory.
    """

    state: Mapping[str, Any]
    files: tuple[StoredFile, ...]
    scratch: str | None


def commit(folder: Path, store: Store, manifest: Manifest) -> None:
    """Make `manifest` the checkpoint of the run directory `folder`, on disk when this returns.

    The files of the store that it does not name are removed. When this fails, the checkpoint before or this one is
    there with all its files; it can be called again, but no file that it names may be written anew. Raises BudgetError
    if the disk is full, InputError if something cannot be written. Costs a synchronisation for each file that is new.
    """
    store.synchronise(manifest.files)
    write_atomically(folder / MANIFEST, _sealed(_document(manifest)))
    store.keep_only(manifest.files)


def read_manifest(folder: Path) -> Manifest:
    """The checkpoint of the run directory `folder`, whose files have not been looked at.

    Raises InputError if the folder is not there or the manifest cannot be read, RunDirectoryError if there is no
    manifest, or it is damaged or of another format version.
    """
    path = folder / MANIFEST
    document = _unsealed(path, _read(path))
    if document["format_version"] != FORMAT_VERSION:
        raise RunDirectoryError(_other_version(path, document))
    files = tuple(StoredFile(**file) for file in document["files"])
    return Manifest(document["state"], files, document["scratch"])


def recover(folder: Path, manifest: Manifest, disk: int, workers: "Workers") -> Store:
    """The store of a run that goes on from `manifest`, the one that is in `folder`; it may take `disk` bytes.

    Reads every file that the manifest names, each a task of the workers, and removes what a killed process has left:
    temporary files, and files of arrays (*.h5 in the store's folder and its layers/ and runs/) that are not named.
    The caller holds the lock of the run directory. Raises RunDirectoryError, with nothing removed, if the store's
    folder or a file is missing or damaged; InputError if the folder cannot be written; Stopped.
    """
    place = folder if manifest.scratch is None else Path(manifest.scratch)
    if not os.path.isdir(place):
        raise RunDirectoryError(
            f"The scratch folder {place} of {folder} is missing; mount the disk that it is on, or start the run again."
        )
    workers.map(check_file, [(place, file) for file in manifest.files])
    # The process may have been killed when it had renamed the manifest but not made sure of it. Until that is made
    # up for, a power loss can bring back the manifest before, whose files are about to go.
    synchronise([folder / MANIFEST])
    for path in _debris(folder, place, {file.name for file in manifest.files}):
        _remove(path)
    store = Store(place, disk)
    store.add(manifest.files, synchronised=True)
    return store


def _document(manifest: Manifest) -> dict[str, Any]:
    return {
        "format_version": FORMAT_VERSION,
        "extbnsl": __version__,
        "state": manifest.state,
        "scratch": manifest.scratch,
        "files": [asdict(file) for file in manifest.files],
    }


def _sealed(document: Mapping[str, Any]) -> bytes:
    """The bytes of a manifest: a document and its checksum."""
    return _rendered({**document, "checksum": checksum(_rendered(document))})


def _rendered(document: Mapping[str, Any]) -> bytes:
    # Names of files need not be Unicode; Python then has half surrogates in them.
    return f"{json_text(document, indent=1)}\n".encode("utf-8", "surrogatepass")


def _unsealed(path: Path, data: bytes) -> dict[str, Any]:
    """The document in the bytes of a manifest; RunDirectoryError unless they are just what `_sealed` makes of it."""
    try:
        document = json.loads(data.decode("utf-8", "surrogatepass"))
        whole = isinstance(document, dict) and "checksum" in document
        if whole and _sealed({key: document[key] for key in document if key != "checksum"}) == data:
            return document
    except (ValueError, RecursionError):
        pass
    raise RunDirectoryError(
        f"{path} is damaged or no checkpoint of extbnsl; bring back a good copy or start the run again."
    )


def _other_version(path: Path, document: Mapping[str, Any]) -> str:
    """The sentence for a manifest that this version of the program does not read."""
    version, program = document["format_version"], document["extbnsl"]
    if version > FORMAT_VERSION:
        return (
            f"{path} was written by extbnsl {program}, which is newer than this {__version__}; "
            "upgrade extbnsl to resume it."
        )
    return (
        f"{path} was written by extbnsl {program} and cannot be resumed by extbnsl {__version__}; "
        "resume it with that version or start the run again."
    )


def _read(path: Path) -> bytes:
    """The bytes of a manifest."""
    if not os.path.isdir(path.parent):
        raise InputError(f"There is no run directory {path.parent}; give the folder of a run.")
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise RunDirectoryError(
            f"{path.parent} has no {MANIFEST}: it is no run directory, or its run ended before the first checkpoint; "
            "start the run again."
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); make it a file that you may read.") from error


def _debris(folder: Path, place: Path, named: set[str]) -> Iterator[Path]:
    """What a killed process has left in its run directory and in its store's folder."""
    for path in (*_files(folder), *_files(place)):
        if _TEMPORARY.fullmatch(path.name):
            yield path
    for part in _PARTS:
        for path in _files(place / part):
            if path.suffix == ".h5" and path.relative_to(place).as_posix() not in named:
                yield path


def _files(folder: Path) -> list[Path]:
    """The files in a folder, none if it is not there."""
    try:
        return [path for path in sorted(folder.iterdir()) if path.is_symlink() or path.is_file()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(f"{folder} cannot be read ({error.strerror}); make it a folder that you may read.") from error


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(
            f"{path} is left from a process that was killed and cannot be removed ({error.strerror}); "
            "make its folder writable and resume again."
        ) from error
