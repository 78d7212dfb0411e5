"""Text files as the user has them: plain or gzip, UTF-8 with or without a byte order mark."""

import gzip
import zlib
from os import PathLike
from pathlib import Path

from extbnsl.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"


def read_text(path: str | PathLike[str]) -> str:
    """The text of a file, decompressed if it starts as gzip does; line ends are left as they are.

    Raises InputError if the file cannot be read, is a damaged gzip, is not UTF-8 or has NUL bytes.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check the name and the permissions.") from None
    if data.startswith(GZIP_MAGIC):
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error):
            raise InputError(f"{path} is a damaged or truncated gzip file: copy it again.") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path} is not UTF-8 text (line {line}): save it as UTF-8.") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(f"{path} has a NUL byte in line {line}, so it is no text file: save it as UTF-8 text.")
    return text
