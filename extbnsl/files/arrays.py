"""Files that are there whole or not at all, and the arrays, text and digests that go into them.

Arrays are kept in HDF5. A full disk can end the process when HDF5 writes a file itself, so the image of a file is
built in memory and written with ordinary calls. A `StoredFile` carries the length and the checksum of the whole, which
is looked at before HDF5 sees a file that this process has not written itself, or that somebody may have touched since:
the system's times and numbers of it tell. Each chunk also carries HDF5's own checksum, which is looked at whenever it
is read, but of a chunk of zeros that is zero as well.
"""

import contextlib
import functools
import hashlib
import itertools
import mmap
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from extbnsl.core.arguments import imported
from extbnsl.core.codec import UNKEPT, Misfit, Whole
from extbnsl.core.errors import BudgetError, RunDirectoryError
from extbnsl.core.sentences import Mention
from extbnsl.files.atomic import checksum, open_regular, write_failure
from extbnsl.files.names import is_arrays

if TYPE_CHECKING:
    from types import EllipsisType

    from numpy.typing import NDArray

CHUNK = 16384  # rows that share a checksum, at most
HEADER_BYTES = 20_000  # of a file, at most: names, types, the index of its chunks
HDF5_BYTES = 1 << 21  # of memory for an open file besides its arrays: most of it HDF5's table of what it has in memory
IMAGES_HOLD = 2, 0, 0  # the version of HDF5 before which an image in a newer format than the first has a wrong checksum
READ_AHEAD = 1 << 22
PIECE_BYTES = 1 << 24  # of arrays in one of several files
BLOSC, BLOSC_SETTINGS = 32001, (0, 0, 0, 0, 5, 1, 1)  # HDF5's number of the filter; level 5, bytes shuffled, LZ4

Stamp = tuple[int, int, int, int, int]

_image_numbers = itertools.count()


@dataclass(frozen=True)
class StoredFile:
    """A file of arrays: its name, relative to the folder of its run, its length in bytes and its SHA-256.

    stamp: what the system said of the file when its content was known to be right; None if that is not known.
    """

    name: Annotated[str, is_arrays]
    bytes: Whole
    checksum: Annotated[str, re.compile("[0-9a-f]{64}").fullmatch]
    stamp: Annotated[Stamp | None, UNKEPT] = field(default=None, compare=False)


NAMES: Mapping[type, Callable[[Any], Any]] = {StoredFile: lambda file: file.name}  # how a standing writes its files


def named(files: Iterable[StoredFile]) -> Mapping[type, Callable[[Any], Any]]:
    """What reads the names that a standing has for its files, for `codec.decode`."""
    known = {file.name: file for file in files}

    def find(name: Any) -> StoredFile:
        if not isinstance(name, str) or name not in known:
            raise Misfit
        return known[name]

    return {StoredFile: find}


@functools.cache
def load_hdf5() -> None:
    """Load the library that writes arrays, unless it is loaded."""
    _image({}, compress=False)


def load_compression() -> None:
    """Load what it takes to write and read compressed arrays; InputError if that is not installed."""
    imported("hdf5plugin", Mention("compress"), "extbnsl[compress]")  # which makes its filters known to HDF5


def over_budget(folder: Path) -> BudgetError:
    """The error of a write that the disk budget of `folder` has no room for."""
    return BudgetError(f"{folder} has no room left within the disk budget; grant more.")


def write_arrays(
    folder: Path,
    name: str,
    arrays: Mapping[str, "NDArray"],
    compress: bool = False,
    reserve: Callable[[int], None] = lambda size: None,
) -> StoredFile:
    """Write named arrays as the file `folder`/`name`; it is not on disk for sure before `synchronise`.

    With `compress` they take less room; then `load_compression` must have been called, also to read them. `reserve` is
    told the bytes of the file before one of them is written, may raise, and is told the same below zero if the file
    does not come to be.

    The memory needed is about twice that of the arrays. Raises as `write_atomically` does, and MemoryError.
    """
    try:
        image = _image(arrays, compress)
    except (OSError, RuntimeError, MemoryError) as error:  # all that HDF5 says of no memory: no disk is involved
        raise MemoryError(f"There is no memory to write {folder / name}.") from error
    path = folder / name
    reserve(len(image))
    try:
        path.parent.mkdir(exist_ok=True)
        with open(open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
            file.write(image)
            file.flush()
            stamp = _stamp(os.fstat(file.fileno()))
    except OSError as error:
        with contextlib.suppress(OSError):
            path.unlink()
        reserve(-len(image))
        raise write_failure(path, error) from error
    return StoredFile(name, len(image), checksum(image), stamp)


def _image(arrays: Mapping[str, "NDArray"], compress: bool) -> bytes:
    """The bytes of an HDF5 file with these arrays; rows in chunks, each with a checksum."""
    # h5py's low level throughout: on files of some hundred kilobytes the high one costs more than the bytes do
    from h5py import h5f, h5p

    room = sum(array.nbytes + array.nbytes // 500 for array in arrays.values()) + HEADER_BYTES
    # HDF5 refuses two open files of one name, even in memory
    image_name = f"image-{next(_image_numbers)}".encode()
    _require_memory(2 * room)
    made = h5f.create(image_name, h5f.ACC_TRUNC, fcpl=_without_times(h5p.FILE_CREATE), fapl=_in_memory(room))
    with contextlib.closing(made) as file:
        for name, array in arrays.items():
            _add_dataset(file, name, array, compress)
        h5f.flush(file)
        image: bytes = file.get_file_image()
        return image


def _in_memory(room: int) -> Any:
    """How a file without a place on disk is opened; it gets `room` bytes of memory at once."""
    from h5py import h5, h5f, h5p

    access = h5p.create(h5p.FILE_ACCESS)
    access.set_fapl_core(room, False)
    access.set_cache(0, 521, 0, 0.75)  # whole chunks are written: none is kept
    access.set_fclose_degree(h5f.CLOSE_STRONG)
    if h5.get_libversion() >= IMAGES_HOLD:
        access.set_libver_bounds(h5f.LIBVER_V110, h5f.LIBVER_V110)  # which versions 1.10 and later read
    return access


def _require_memory(room: int) -> None:
    """Raise MemoryError unless the system grants memory for an open file and `room` bytes of arrays.

    HDF5 crashes where it gets no memory while it opens a file, and may where it cannot enlarge an image.
    """
    try:
        mmap.mmap(-1, room + HDF5_BYTES).close()
    except OSError as error:
        raise MemoryError from error


def _without_times(kind: Any) -> Any:
    """How something is created that does not say when: the same arrays make the same bytes."""
    from h5py import h5p

    settings = h5p.create(kind)
    settings.set_obj_track_times(False)
    return settings


def _add_dataset(file: Any, name: str, array: "NDArray", compress: bool) -> None:
    from h5py import h5d, h5p, h5s, h5t, h5z

    settings = _without_times(h5p.DATASET_CREATE)
    settings.set_fill_time(h5d.FILL_TIME_ALLOC)  # the rest of the last chunk would be what was in memory
    if array.size:
        settings.set_chunk((_chunk_rows(array), *array.shape[1:]))
        if compress:
            settings.set_filter(BLOSC, h5z.FLAG_OPTIONAL, BLOSC_SETTINGS)  # what it cannot make smaller stays as it is
        settings.set_fletcher32()
    dataset = h5d.create(file, name.encode(), h5t.py_create(array.dtype), h5s.create_simple(array.shape), settings)
    if array.size:
        dataset.write(h5s.ALL, h5s.ALL, array if array.flags.c_contiguous else array.copy())


def _chunk_rows(array: "NDArray") -> int:
    """Rows of a chunk, nearly the same in each: HDF5 stores the last one as if it were full."""
    rows = array.shape[0]
    most = max(1, CHUNK // (array.size // rows))
    return -(-rows // -(-rows // most))


@functools.cache
def _on_disk() -> Any:
    """How files on disk are opened."""
    from h5py import h5f, h5p

    access = h5p.create(h5p.FILE_ACCESS)
    access.set_fclose_degree(h5f.CLOSE_STRONG)
    return access


class StoredArrays:
    """The arrays of an open file: arrays["g"][3:5] reads rows 3 and 4 of one, arrays["g"][...] all of it."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __getitem__(self, name: str) -> "StoredArray":
        from h5py import h5d

        return StoredArray(h5d.open(self._file, name.encode()))

    def __iter__(self) -> Iterator[str]:
        from h5py import h5g

        return (name.decode() for name in h5g.open(self._file, b"/"))


class StoredArray:
    """An array in an open file, whose rows are read when it is sliced."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    @property
    def length(self) -> int:
        """The number of rows."""
        return int(self._dataset.shape[0])

    def __getitem__(self, rows: "slice | EllipsisType") -> "NDArray":
        import numpy as np
        from h5py import h5s

        shape = self._dataset.shape
        first, end, _ = (slice(None) if rows is ... else rows).indices(shape[0])
        found = np.empty((max(0, end - first), *shape[1:]), self._dataset.dtype)
        if found.size:
            space = self._dataset.get_space()
            space.select_hyperslab((first, *[0] * len(shape[1:])), found.shape)
            self._dataset.read(h5s.create_simple(found.shape), space, found)
        return found


@contextlib.contextmanager
def open_arrays(folder: Path, file: StoredFile) -> Iterator[StoredArrays]:
    """The arrays of a file by name, to be sliced, for as long as the block lasts.

    Raises RunDirectoryError if the file is not what was written, before or after the block, and MemoryError.
    """
    from h5py import h5f

    _ensure(folder, file)
    _require_memory(0)
    try:
        with contextlib.closing(h5f.open(os.fsencode(folder / file.name), h5f.ACC_RDONLY, _on_disk())) as opened:
            yield StoredArrays(opened)
    except (OSError, KeyError, RuntimeError, ValueError) as error:
        check_file(folder, file)
        if isinstance(error, (KeyError, ValueError)):
            raise
        # what HDF5 says when it gets no memory is not to be told from what it says of a damaged file
        raise MemoryError(f"There is no memory to read {folder / file.name}.") from error
    _ensure(folder, file)


def read_arrays(folder: Path, file: StoredFile) -> dict[str, "NDArray"]:
    """All arrays of a file by name; RunDirectoryError if it is not what was written."""
    with open_arrays(folder, check_file(folder, file)) as arrays:
        return {name: arrays[name][...] for name in arrays}


def check_file(folder: Path, file: StoredFile) -> StoredFile:
    """The file with the stamp that it has now; RunDirectoryError unless it is a regular file with the length and the
    checksum that it was written with. Reads all of it, unless the length tells enough."""
    path = folder / file.name
    digest = hashlib.sha256()
    try:
        with open(open_regular(path), "rb") as opened:
            status = os.fstat(opened.fileno())
            if status.st_size == file.bytes:
                while block := opened.read(READ_AHEAD):
                    digest.update(block)
    except OSError as error:
        raise _unreadable(path, error) from error
    if status.st_size != file.bytes or digest.hexdigest() != file.checksum:
        raise RunDirectoryError(
            f"{path} is damaged: its {status.st_size} bytes are not the {file.bytes} that were written; "
            "bring back a good copy or start the run again."
        )
    return replace(file, stamp=_stamp(status))


def _ensure(folder: Path, file: StoredFile) -> None:
    """Raise RunDirectoryError unless the file is what was written; it is read only if that is not known."""
    try:
        stamp = _stamp(os.lstat(folder / file.name))
    except OSError as error:
        raise _unreadable(folder / file.name, error) from error
    if stamp != file.stamp:
        _check_once(folder, file, stamp)


@functools.lru_cache(maxsize=1 << 12)
def _check_once(folder: Path, file: StoredFile, stamp: Stamp) -> None:
    """Check a file that has this stamp now: where stamps change with nothing else, the same is not read again."""
    check_file(folder, file)


def _stamp(status: os.stat_result) -> Stamp:
    """What is another whenever the content of a file is, however it was changed."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _unreadable(path: Path, error: OSError) -> RunDirectoryError:
    return RunDirectoryError(f"{path} cannot be read ({error.strerror}); bring it back or start the run again.")
