"""Files that are there whole or not at all, and their digests."""

import contextlib
import errno
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from extbnsl.errors import BudgetError, ExtbnslError, InputError
from extbnsl.files.names import temporary as temporary_name
from extbnsl.files.regular import open_regular

Content = bytes | Iterable[bytes]  # of a file, whole or in pieces


def synchronise(paths: Iterable[Path]) -> None:
    """Wait until the contents of these files and their names are on disk; raises as `write_atomically` does."""
    folders: dict[Path, None] = {}  # in a fixed order
    for path in paths:
        try:
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise write_failure(path, error) from error
        folders[path.parent] = None
    for folder in folders:
        synchronise_folder(folder)


def synchronise_folder(folder: Path) -> None:
    """Wait until the names in this folder are on disk; raises as `write_atomically` does."""
    try:
        _synchronise_folder(folder)
    except OSError as error:
        raise write_failure(folder, error) from error


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
        _write_synchronised(temporary, pieces(content))
        os.replace(temporary, target)
        _synchronise_folder(target.parent)
    except OSError as error:
        raise write_failure(target, error) from error
    finally:
        with contextlib.suppress(OSError):  # what failed above is what matters
            temporary.unlink()


def write_failure(path: Path, error: OSError) -> ExtbnslError:
    """The named failure, to be raised, for an `error` of the system when `path` was to be written."""
    if error.errno in (errno.ENOENT, errno.ENOTDIR) and not path.parent.is_dir():
        return InputError(f"{path} cannot be written: there is no folder {str(path.parent)!r}; create it first.")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return InputError(f"{path} cannot be written: no permission to write in {path.parent}; choose another place.")
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return BudgetError(f"{path} cannot be written: the disk or quota is full; free some space and try again.")
    return InputError(f"{path} cannot be written: {error.strerror or error}; choose another place.")


def pieces(content: Content) -> Iterable[bytes]:
    """The pieces of the content of a file, one after the other."""
    return (content,) if isinstance(content, bytes) else content


def checksum(data: bytes) -> str:
    """SHA-256 of `data` as 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def _write_synchronised(path: Path, content: Iterable[bytes]) -> None:
    # Not tempfile, whose files nobody else may read: the umask decides, as for any output.
    with open(open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
        for piece in content:
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())


def _synchronise_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems cannot
            raise
    finally:
        os.close(descriptor)
