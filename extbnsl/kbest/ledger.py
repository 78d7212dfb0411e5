"""What has been found of components that are not finished, so that a run can go on from it.

Everything that is asked of a component has a key: a digest of its families, of the limit, and of how many networks are
wanted. What has been found so far is kept by it. Whoever asks the same again, in another process, goes on from there;
whoever asks anything else finds nothing. So nothing needs to be the same in two processes but the question.
"""

import contextlib
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import RunDirectoryError
from extbnsl.files.arrays import StoredFile

Arrays = Mapping[str, NDArray[Any]]


def key_of(how: str, limit: float, most: int | None, *lists: Sequence[NDArray[Any]]) -> str:
    """The key of what is asked of these arrays, such as the families of a component, and how it is found: 32
    hexadecimal digits. Some ns per entry."""
    digest = hashlib.sha256(how.encode())
    digest.update(np.array([limit, -1 if most is None else most], np.float64).tobytes())
    for arrays in lists:
        digest.update(np.int64(len(arrays)).tobytes())
        for own in arrays:
            digest.update(np.int64(own.size).tobytes())
            digest.update(np.ascontiguousarray(own).data)
    return digest.hexdigest()[:32]


def is_key(text: str) -> bool:
    """Whether a text may be a key."""
    return re.fullmatch("[0-9a-f]{32}", text) is not None


@contextlib.contextmanager
def as_kept() -> Iterator[None]:
    """Tell what fails in the block, because what was kept cannot be what was found, as RunDirectoryError."""
    try:
        yield
    except (AssertionError, ValueError, IndexError, KeyError, TypeError) as error:
        raise RunDirectoryError(
            "The checkpoint has networks that no run has written; bring back a good copy or start the run again."
        ) from error


@dataclass
class Entry:
    """What has been found of one component: as arrays when these are asked for; file: that of the last commit, which is
    behind where `fresh` says so; whole: nobody works on it any more."""

    arrays: Callable[[], Arrays]
    file: StoredFile | None = None
    fresh: bool = True
    whole: bool = False


class Ledger:
    """What has been found, by key. look: called when there is more of it; it may raise Stopped, and commit."""

    def __init__(self, entries: Mapping[str, Entry] | None = None, look: Callable[[], None] = lambda: None) -> None:
        self.entries = dict(entries or {})
        self.look = look

    def begun(self, key: str) -> Arrays:
        """What has been found by this key; nothing if nothing was kept."""
        return self.entries[key].arrays() if key in self.entries else {}

    def keep(self, key: str, arrays: Callable[[], Arrays], whole: bool = False) -> None:
        """Keep what is found by this key, in the place of what was kept before."""
        before = self.entries.get(key)
        self.entries[key] = Entry(arrays, None if before is None else before.file, whole=whole)
        self.look()

    def drop(self, key: str) -> None:
        """Forget a component: it is finished, and whoever asked for it has what was found."""
        self.entries.pop(key, None)

    def revert(self) -> None:
        """Forget what is in no file and not whole: what failed may have left it half done."""
        for entry in self.entries.values():
            entry.fresh = entry.fresh and entry.whole
        self.entries = {key: entry for key, entry in self.entries.items() if entry.whole or entry.file is not None}
