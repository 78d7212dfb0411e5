"""An enumeration in files, so that a run can go on from it.

A file's name tells its content for good: what was written for the commit before, and has not changed, is not written
again. So a commit within a size writes what was counted since the last one, and the families.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from extbnsl.errors import ExtbnslError
from extbnsl.files import names
from extbnsl.files.arrays import HEADER_BYTES, StoredFile
from extbnsl.files.lists import array_pieces, list_pieces, read_lists, read_pieces
from extbnsl.files.shelf import Shelf
from extbnsl.files.store import Store
from extbnsl.parents.exhaustive.state import Enumeration, Filled, stored_enumeration

FAMILIES = "families"


@dataclass(frozen=True)
class StoredEnumeration:
    """An enumeration in files: its counters, the files of its families, and of its arrays with their lengths."""

    counters: Mapping[str, Any]
    families: tuple[StoredFile, ...]
    arrays: tuple[StoredFile, ...]
    lengths: Mapping[str, int]

    @property
    def files(self) -> tuple[StoredFile, ...]:
        return self.families + self.arrays

    def document(self) -> dict[str, Any]:
        """What a manifest says of it."""
        return {
            "enumeration": self.counters,
            "families": [file.name for file in self.families],
            "arrays": [file.name for file in self.arrays],
            "lengths": self.lengths,
        }


def write_enumeration(
    enumeration: Enumeration, store: Store, give_up: Callable[[], bool], touched: Callable[[int], None]
) -> StoredEnumeration | None:
    """Write the enumeration to the store; None if its disk budget has no room, or `give_up` says so between two files.

    touched: see `Shelf`, which may hold it. Unless all is written, nothing of it is left that was not there before.
    Each file is on disk before the next one is begun: whoever gives up, or commits, does not wait long.
    """
    before = store.files
    known = {file.name: file for file in before}
    if store.used + _needed_bytes(enumeration, known) > store.disk:
        return None
    files: list[StoredFile] = []
    try:
        for name, content in itertools.chain(_family_files(enumeration, known), _array_files(enumeration)):
            if name in known:
                files.append(known[name])
                continue
            if files and give_up():
                store.keep_only(before)
                return None
            files.append(store.write(name, content))
            touched(sum(array.nbytes for array in content.values()))
            store.synchronise(files[-1:])
    except (ExtbnslError, MemoryError):
        store.keep_only(before)
        raise
    families = tuple(file for file in files if FAMILIES in file.name)
    return StoredEnumeration(enumeration.document(), families, tuple(files[len(families) :]), enumeration.lengths())


def read_enumeration(stored: StoredEnumeration, folder: Path, shelf: Shelf) -> Enumeration:
    """The enumeration of these files, long arrays on the shelf; RunDirectoryError if a file is damaged."""
    parents, costs = read_lists(folder, stored.families, shelf.put)
    columns = read_pieces(folder, stored.arrays, stored.lengths, shelf)
    arrays = {name: Filled(column, rows) for name, (column, rows) in columns.items()}
    return stored_enumeration(stored.counters, parents, costs, arrays)


def stored_from(document: Mapping[str, Any], files: Mapping[str, StoredFile]) -> StoredEnumeration:
    """What a manifest says of an enumeration, its files by name."""
    families, arrays = (tuple(files[name] for name in document[kind]) for kind in ("families", "arrays"))
    return StoredEnumeration(document["enumeration"], families, arrays, document["lengths"])


def _needed_bytes(enumeration: Enumeration, known: Mapping[str, Any]) -> int:
    """About the bytes of the files that are not written yet, at most."""
    new = [content for name, content in _array_files(enumeration) if name not in known]
    size = sum(array.nbytes for content in new for array in content.values())
    if names.counting(*_family_stem(enumeration), 0) not in known:
        size += enumeration.families_bytes
    return size + size // 100 + 2 * HEADER_BYTES if size else 0


def _family_stem(enumeration: Enumeration) -> tuple[str, int]:
    return f"{enumeration.complete_to + 1:02}-{FAMILIES}", enumeration.families


def _family_files(enumeration: Enumeration, known: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, NDArray]]]:
    """The files of the families, by name: their number tells which they are. Those known have no content here."""
    stem = _family_stem(enumeration)
    if names.counting(*stem, 0) in known:
        written = itertools.takewhile(known.__contains__, (names.counting(*stem, k) for k in itertools.count()))
        yield from ((name, {}) for name in written)
        return
    for number, content in enumerate(list_pieces(enumeration.parents, enumeration.costs)):
        yield names.counting(*stem, number), content


def _array_files(enumeration: Enumeration) -> Iterator[tuple[str, dict[str, NDArray]]]:
    """The files of the arrays, by name: each has some rows of one, in their order."""
    version = 0 if enumeration.level is not None else enumeration.version
    for key, array in enumeration.arrays().items():
        for number, part in enumerate(array_pieces(array)):
            yield names.counting(key, version, number, part.shape[0]), {key: part}
