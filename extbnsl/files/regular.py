"""Opening what may be anything: regular files alone, never by way of a link, and never waiting for somebody."""

import errno
import os
import stat
from pathlib import Path

from extbnsl.errors import RunDirectoryError

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


def open_regular(path: Path, flags: int = os.O_RDONLY) -> int:
    """A descriptor of the file `path`, opened with these flags of `os.open`.

    Raises RunDirectoryError if that is a link, a folder, a pipe or a device; OSError as `os.open` does.
    """
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    except OSError as error:
        if error.errno in _NO_FILE:
            raise _unfit(path, os.lstat(path).st_mode, stat.S_IFREG) from error
        raise
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise _unfit(path, mode, stat.S_IFREG)
    return descriptor


def read_regular(path: Path, most: int) -> bytes:
    """The content of the file; raises as `open_regular`, and RunDirectoryError if it has more than `most` bytes."""
    with open(open_regular(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise RunDirectoryError(f"{path} has {size} bytes, more than any run writes there; move it away.")
        return file.read()


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


def _unfit(path: Path, mode: int, wanted: int) -> RunDirectoryError:
    kind = _KINDS.get(stat.S_IFMT(mode), "something else")
    return RunDirectoryError(f"{path} is {kind}, and a run has {_KINDS[wanted]} there; move it away.")
