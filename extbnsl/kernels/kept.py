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


def is_kept(kernel: Any) -> bool:
    """Whether the cache of a kernel is as this module knows it."""
    return all(hasattr(_cache_of(kernel), name) for name in _NEEDED)


def keep_checked(kernel: Any) -> None:
    """Let the cache of a kernel be empty where it is damaged, or cannot be read, and let it be where it cannot be
    written."""
    cache = _cache_of(kernel)
    folder, save = Path(cache.cache_path), cache.save_overload
    load: Callable[..., Any] = cache.load_overload if quick_loader is None else quick_loader(cache)

    def load_if_whole(signature: Any, context: Any) -> Any:
        with contextlib.suppress(Exception):  # whatever is raised by what another compiler has written
            if _is_whole(folder):
                return load(signature, context)
        _empty(folder)
        return None

    def save_if_possible(*arguments: Any) -> None:
        with contextlib.suppress(OSError):  # a full disk, say: the kernel will be compiled again next time
            save(*arguments)
            _write_checksums(folder)

    cache.load_overload, cache.save_overload = load_if_whole, save_if_possible


def _cache_of(kernel: Any) -> Any:
    return getattr(kernel, "_cache", None)


def _is_whole(folder: Path) -> bool:
    """Whether the files of a folder are just those that were left there; OSError if that cannot be read."""
    try:
        told = (folder / CHECKSUMS).read_bytes()
    except FileNotFoundError:
        told = b""
    return told == _checksums(folder)


def _checksums(folder: Path) -> bytes:
    """A line for each file in a folder but those that are being written: its SHA-256 and its name; empty without."""
    files = sorted(path for path in folder.iterdir() if path.name != CHECKSUMS and ".tmp." not in path.name)
    return b"".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.name}\n".encode() for path in files)


def _write_checksums(folder: Path) -> None:
    temporary = folder / f"{CHECKSUMS}.tmp.{os.getpid()}"
    try:
        temporary.write_bytes(_checksums(folder))
        os.replace(temporary, folder / CHECKSUMS)
    finally:
        temporary.unlink(missing_ok=True)


def _empty(folder: Path) -> None:
    """Remove what is in a folder, as far as that can be done."""
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            with contextlib.suppress(OSError):
                path.unlink()
