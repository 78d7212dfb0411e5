"""Files that are there whole or not at all, and the text and digests that go into them."""

import contextlib
import errno
import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from extbnsl.errors import BudgetError, ExtbnslError, InputError


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Make `data` the content of the file `path`, whole and on disk, or leave everything as it was.

    Written to a temporary name in the same folder, synchronised, renamed, and the folder synchronised.
    Raises InputError if the folder is missing, not a folder or not writable, or if `path` is no regular file;
    BudgetError if the disk is full.
    """
    target = Path(path)
    if os.path.exists(target) and not os.path.isfile(target):
        raise InputError(f"{target} is not a regular file; choose another name to write to.")
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        _write_synchronised(temporary, data)
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


def checksum(data: bytes) -> str:
    """SHA-256 of `data` as 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON that every reader accepts: numpy values as numbers and lists, NaN and infinity as null."""
    return json.dumps(_plain(value), indent=indent, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # a numpy scalar or array, known without importing numpy
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _write_synchronised(path: Path, data: bytes) -> None:
    # Not tempfile, whose files nobody else may read: the umask decides, as for any output.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    with open(descriptor, "wb") as file:
        file.write(data)
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
