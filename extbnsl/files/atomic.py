"""Files that are there whole or not at all, their digests, and opening what may be anything.

Regular files alone are opened, and never waiting for somebody. Files of a run are never reached by way of a link: a run
makes none. Those that the user names may be.
"""

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from extbnsl.core.errors import BudgetError, ExtbnslError, InputError, RunDirectoryError
from extbnsl.core.figures import format_size
from extbnsl.files.names import temporary as temporary_name
from extbnsl.machine.system import AS_IT_IS, NEVER_WAITING, NO_LINK, synchronise_names

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


def open_regular(path: Path, flags: int = os.O_RDONLY) -> int:
    """A descriptor of the file `path` of a run, opened with these flags of `os.open`.

    Raises RunDirectoryError if that is a link, a folder, a pipe or a device; OSError as `os.open` does.
    """
    try:
        if not NO_LINK and path.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        descriptor = os.open(path, flags | NO_LINK | NEVER_WAITING | AS_IT_IS, 0o666)
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
        descriptor = os.open(path, os.O_RDONLY | NEVER_WAITING | AS_IT_IS)
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
    return stat.S_ISDIR(_mode(path))


def check_folder(path: Path) -> None:
    """Raise RunDirectoryError if `path` is anything but a folder; it may be missing."""
    mode = _mode(path)
    if mode and not stat.S_ISDIR(mode):
        raise _unfit(path, mode, stat.S_IFDIR)


def _mode(path: Path) -> int:
    """The mode of what is there, itself and not what it links to; 0 if that is nothing."""
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


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


Content = bytes | Iterable[bytes]  # of a file, whole or in pieces


def synchronise(paths: Iterable[Path]) -> None:
    """Wait until the contents of these files and their names are on disk; raises as `write_atomically` does."""
    files = list(paths)
    for path in files:
        with writing(path):
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
    for folder in dict.fromkeys(path.parent for path in files):
        synchronise_folder(folder)


def synchronise_folder(folder: Path) -> None:
    """Wait until the names in this folder are on disk; raises as `write_atomically` does."""
    with writing(folder):
        synchronise_names(folder)


def write_atomically(path: str | os.PathLike[str], content: Content) -> None:
    """Make `content` that of the file `path`, whole and on disk, or leave everything as it was.

    Written to a temporary name in the same folder, piece by piece as it comes, synchronised, renamed, and the folder
    synchronised.
    Raises InputError if the folder is missing, not a folder or not writable, or if `path` is no regular file;
    BudgetError if the disk is full.
    """
    target = Path(path)
    if os.path.exists(target) and not os.path.isfile(target):
        raise InputError(f"{target} is not a regular file; choose another name to write to.")
    temporary = target.with_name(temporary_name(target.name, os.getpid()))
    try:
        with writing(target):
            # Not tempfile, whose files nobody else may read: the umask decides, as for any output.
            with open(open_regular(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
                for piece in pieces(content):
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
            synchronise_names(target.parent)
    finally:
        with contextlib.suppress(OSError):  # what failed above is what matters
            temporary.unlink()


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """An OSError becomes the named failure to write `path`."""
    try:
        yield
    except OSError as error:
        raise write_failure(path, error) from error


def write_failure(path: Path, error: OSError) -> ExtbnslError:
    """The named failure, to be raised, for an `error` of the system when `path` was to be written."""
    if error.errno in (errno.ENOENT, errno.ENOTDIR) and not path.parent.is_dir():
        return InputError(f"{path} cannot be written: there is no folder {str(path.parent)!r}; create it first.")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return InputError(f"{path} cannot be written: no permission to write in {path.parent}; choose another place.")
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return BudgetError(f"{path} cannot be written: the disk or quota is full; free some space and try again.")
    return InputError(f"{path} cannot be written: {error.strerror or error}; choose another place.")


def encoded(text: str) -> bytes:
    """A text as it is written to a file. A file name need not be Unicode; what is not comes out as JSON writes it."""
    return text.encode("utf-8", "backslashreplace")


def pieces(content: Content) -> Iterable[bytes]:
    """The pieces of the content of a file, one after the other."""
    return (content,) if isinstance(content, bytes) else content


def checksum(data: bytes) -> str:
    """SHA-256 of `data` as 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()
