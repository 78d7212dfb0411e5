"""Opening what may be anything: regular files alone, and never waiting for somebody.

Files of a run are never reached by way of a link: a run makes none. Those that the user names may be.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from extbnsl.errors import InputError, RunDirectoryError
from extbnsl.machine.budgets import format_size

_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFREG: "a file",
}
_NO_FILE = (errno.ELOOP, errno.ENXIO, errno.EISDIR)  # what open says of links, of pipes and sockets, and of folders
BLOCK = 1 << 16  # bytes that are read at a time
_NEVER_WAITING = os.O_NONBLOCK | os.O_NOCTTY


def open_regular(path: Path, flags: int = os.O_RDONLY) -> int:
    """A descriptor of the file `path` of a run, opened with these flags of `os.open`.

    Raises RunDirectoryError if that is a link, a folder, a pipe or a device; OSError as `os.open` does.
    """
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | _NEVER_WAITING, 0o666)
    except OSError as error:
        if error.errno in _NO_FILE:
            raise _unfit(path, os.lstat(path).st_mode, stat.S_IFREG) from error
        raise
    if other := _other_kind(descriptor):
        raise _unfit(path, other, stat.S_IFREG)
    return descriptor


def read_regular(path: Path, most: int) -> bytes:
    """The content of the file; raises as `open_regular`, and RunDirectoryError if it has more than `most` bytes."""
    with _opened(path, most) as file:
        return _content(file, most)


def lines_of(path: Path, most: int, longest: int) -> Iterator[bytes]:
    """The lines of the file, those of more than `longest` bytes in pieces; raises as `read_regular`."""
    with _opened(path, most) as file:
        while line := file.readline(longest):
            yield line


def open_given(path: str | os.PathLike[str]) -> int:
    """A descriptor of a file that the user names, or that a file names, to read.

    Raises InputError if it is no regular file; OSError as `os.open` does.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | _NEVER_WAITING)
        other = _other_kind(descriptor)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        other = os.stat(path).st_mode
    except ValueError as error:  # a null byte
        raise InputError(f"{str(path)!r} cannot be the name of a file: correct it.") from error
    if other:
        raise InputError(f"{path} is {_kind(other)}: give a file.")
    return descriptor


def check_given(path: str | os.PathLike[str]) -> None:
    """Raise InputError unless that is a file that can be read: before others open it, who might wait."""
    with _told(path):
        os.close(open_given(path))


def read_given(path: str | os.PathLike[str], most: int) -> bytes:
    """The content of a file as for `open_given`; InputError too if it cannot be read, or has more than `most` bytes."""
    with _told(path), open(open_given(path), "rb") as file:
        content = _content(file, most + 1)
    if len(content) > most:
        raise InputError(f"{path} has more than {format_size(most)}: is it the right file?")
    return content


def is_folder(path: Path) -> bool:
    """Whether `path` is a folder itself, not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def check_folder(path: Path) -> None:
    """Raise RunDirectoryError if `path` is anything but a folder; it may be missing."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return
    if not stat.S_ISDIR(mode):
        raise _unfit(path, mode, stat.S_IFDIR)


@contextlib.contextmanager
def _told(path: str | os.PathLike[str]) -> Iterator[None]:
    """OSError becomes InputError."""
    try:
        yield
    except OSError as error:
        said = error.strerror
        raise InputError(f"{path} cannot be read ({said}): check the name and the permissions.") from error


def _opened(path: Path, most: int) -> BinaryIO:
    file = open(open_regular(path), "rb")  # noqa: SIM115 - for who asks
    size = os.fstat(file.fileno()).st_size
    if size > most:
        file.close()
        raise RunDirectoryError(f"{path} has {size} bytes, more than any run writes there; move it away.")
    return file


def _content(file: BinaryIO, most: int) -> bytes:
    """The first `most` bytes, or all. To ask for so many at once would take the memory for them."""
    parts, left = list[bytes](), most
    while left and (part := file.read(min(left, BLOCK))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _other_kind(descriptor: int) -> int | None:
    """The mode of what is open, which is closed then, unless it is a regular file."""
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return None
    os.close(descriptor)
    return mode


def _kind(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "something else")


def _unfit(path: Path, mode: int, wanted: int) -> RunDirectoryError:
    return RunDirectoryError(f"{path} is {_kind(mode)}, and a run has {_KINDS[wanted]} there; move it away.")
