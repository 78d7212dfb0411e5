"""Compiled kernels as they are kept: with checksums, without which a flipped bit would end the process.

Each kernel has a folder of its own, which numba fills, and a file with the SHA-256 of what is there. A folder that is
not as it was left, as after a crash while it was written, is emptied: the kernel is compiled again. That takes one
private name of numba, the cache of a function, and its methods to load and to save; without them nothing is kept.
"""

import contextlib
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

try:
    from extbnsl.kernels.quick_loading import quick_loader
except ImportError:  # another numba, which loads by itself
    quick_loader = None  # type: ignore[assignment]

CHECKSUMS = "checksums"
_NEEDED = ("cache_path", "load_overload", "save_overload")


def keep_checked(kernel: Any) -> bool:
    """Let the cache of a kernel be empty where it is damaged, or cannot be read, and let it be where it cannot be
    written; False if the cache is not as this module knows it, which is then left alone."""
    cache: Any = getattr(kernel, "_cache", None)
    for name in _NEEDED:
        if not hasattr(cache, name):
            return False
    folder, save = Path(cache.cache_path), cache.save_overload
    load: Callable[..., Any] = cache.load_overload if quick_loader is None else quick_loader(cache)

    def load_if_whole(signature: Any, context: Any) -> Any:
        with contextlib.suppress(Exception):  # whatever is raised by what another compiler has written
            told, found = _checksums(folder)
            if told == found:
                return load(signature, context)
        _empty(folder)
        return None

    def save_if_possible(*arguments: Any) -> None:
        with contextlib.suppress(OSError):  # a full disk, say: the kernel will be compiled again next time
            save(*arguments)
            _write_checksums(folder)

    cache.load_overload, cache.save_overload = load_if_whole, save_if_possible
    return True


def _checksums(folder: Path) -> tuple[bytes, bytes]:
    """What the file of the checksums says, if there is one, and what it should say: a line for each other file but
    those that are being written, with its SHA-256 and its name. OSError if that cannot be read."""
    told = found = b""
    for path in sorted(folder.iterdir()):
        if path.name == CHECKSUMS:
            told = path.read_bytes()
        elif ".tmp." not in path.name:
            found += f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.name}\n".encode()
    return told, found


def _write_checksums(folder: Path) -> None:
    temporary = folder / f"{CHECKSUMS}.tmp.{os.getpid()}"
    try:
        temporary.write_bytes(_checksums(folder)[1])
        os.replace(temporary, folder / CHECKSUMS)
    finally:
        temporary.unlink(missing_ok=True)


def _empty(folder: Path) -> None:
    """Remove what is in a folder, as far as that can be done."""
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            with contextlib.suppress(OSError):
                path.unlink()
