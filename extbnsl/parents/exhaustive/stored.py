"""An enumeration in files, so that a run can go on from it.

A file's name tells its content for good: what was written for the commit before, and has not changed, is not written
again. So a commit within a size writes what was counted since the last one, and the families.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import ExtbnslError
from extbnsl.files import names
from extbnsl.files.arrays import HEADER_BYTES, StoredFile
from extbnsl.files.shelf import FamilyLists, Shelf, array_pieces, list_piece, list_pieces, read_lists, read_pieces
from extbnsl.files.store import Store
from extbnsl.parents.exhaustive.children import Child
from extbnsl.parents.exhaustive.lattice import Counts
from extbnsl.parents.exhaustive.state import Counters, Enumeration, Filled, Level, StoredEnumeration
from extbnsl.parents.priced.prices import Prices

PRICED = tuple(field.name for field in fields(Prices) if field.name != "stage")
EARLIER = {"leading": "cuts", "leads": "weights"}  # what takes their place in what earlier versions kept
CHILDREN = ("children", "candidates", "variables", "pairs")  # arrays of those that go on child by child


@dataclass(frozen=True)
class _File:
    """A file that an enumeration takes: its name, the bytes of its arrays, about, and these when they are wanted."""

    name: str
    bytes: int
    content: Callable[[], dict[str, NDArray]]


def write_enumeration(
    enumeration: Enumeration, store: Store, give_up: Callable[[], bool], touched: Callable[[int], None]
) -> StoredEnumeration | None:
    """Write the enumeration to the store; None if its disk budget has no room, or `give_up` says so between two files.

    touched: see `Shelf`, which may hold it. Each file is on disk before the next one is begun: whoever gives up, or
    commits, does not wait long. What is written then stays: whoever comes to the same enumeration, or to one that
    shares files with it, has the less to write. If a file cannot be written, nothing is left that was not there before.
    """
    families, arrays = _family_files(enumeration), _array_files(enumeration)
    before = store.files
    known = {file.name: file for file in before}
    missing = [file for file in (*families, *arrays) if file.name not in known]
    needed = sum(file.bytes for file in missing)
    if missing and needed + needed // 100 + 2 * HEADER_BYTES > store.free:
        return None
    try:
        for number, file in enumerate(missing):
            if number and give_up():
                return None
            known[file.name] = store.write(file.name, file.content())
            touched(file.bytes)
            store.synchronise([known[file.name]])
    except (ExtbnslError, MemoryError):
        store.keep_only(before)
        raise
    in_families, in_arrays = (tuple(known[file.name] for file in files) for files in (families, arrays))
    lengths = {name: length for name, (_, length) in enumeration.columns().items()}
    return StoredEnumeration(enumeration.counters, in_families, in_arrays, lengths)


def files_begun(enumeration: Enumeration, store: Store) -> tuple[StoredFile, ...]:
    """The files of the enumeration that are in the store already."""
    named = {file.name for file in (*_family_files(enumeration), *_array_files(enumeration))}
    return tuple(file for file in store.files if file.name in named)


def read_enumeration(stored: StoredEnumeration, folder: Path, shelf: Shelf) -> Enumeration:
    """The enumeration of these files, long arrays on the shelf; RunDirectoryError if a file is damaged."""
    parents, costs = read_lists(folder, stored.families, shelf.put)
    columns = read_pieces(folder, stored.arrays, stored.lengths, shelf)
    arrays = {name: Filled(column, rows) for name, (column, rows) in columns.items()}
    return _enumeration(stored.counters, parents, costs, arrays)


def _enumeration(
    counters: Counters, parents: FamilyLists, costs: FamilyLists, arrays: Mapping[str, Filled]
) -> Enumeration:
    """The enumeration of which these are the counters, the families and the arrays."""
    known = {name: own for name, own in vars(counters).items() if name not in ("ahead", "filled", "pricing")}
    found = Enumeration(parents, costs, **known)
    size = found.complete_to + 1
    if counters.pricing is not None:
        there = {name: name if f"{size:02}-{name}" in arrays else EARLIER.get(name, name) for name in PRICED}
        prices = Prices(counters.pricing, **{name: arrays[f"{size:02}-{own}"].known for name, own in there.items()})
        found = replace(found, prices=prices)
        if f"{size:02}-children" not in arrays:
            return found
    if f"{size:02}-children" in arrays:
        children = _children({name: arrays[f"{size:02}-{name}"].known for name in CHILDREN})
        first = len(children) - counters.ahead
        found = replace(found, children=children[:first], ahead=children[first:])
        paired = arrays.get(f"{size:02}-paired")  # what earlier versions, with other tasks, kept has another name
        if paired is None:
            return replace(found, parts=0)
        if paired.length == 0 and found.parts == 0:
            return found
        return replace(found, pairs=_square(paired.known, children[0].variables.size))
    return replace(found, level=_level(size, arrays)) if arrays else found


def _children(arrays: Mapping[str, NDArray]) -> tuple[Child, ...]:
    """The children of these arrays."""
    sizes = arrays["candidates"]
    variables = np.split(arrays["variables"], np.cumsum(sizes)[:-1])
    packed = np.split(arrays["pairs"], np.cumsum(-(-(sizes**2) // 8))[:-1])
    return tuple(
        Child(index, own, _square(bits, own.size))
        for index, own, bits in zip(arrays["children"].tolist(), variables, packed, strict=True)
    )


def _square(bits: NDArray[np.uint8], m: int) -> NDArray[np.uint8]:
    return np.unpackbits(bits, count=m * m).reshape(m, m)


def _level(size: int, arrays: Mapping[str, Filled]) -> Level:
    """The level of this size of which these are the arrays."""
    below, here, above = (f"{max(0, size + k):02}" for k in (-1, 0, 1))
    counts = {k: Counts(arrays[f"{k}-places"].known, arrays[f"{k}-joint"].known) for k in (below, here)}
    level, places = Level(size, counts[below], counts[here], arrays[f"{here}-alive"].known), f"{above}-places"
    if places not in arrays:
        return level
    return replace(
        level,
        places=arrays[places].known,
        joint=arrays.get(f"{above}-joint"),
        extend=arrays.get(f"{here}-extend"),
        following=arrays.get(f"{above}-ready"),
    )


def _family_files(enumeration: Enumeration) -> list[_File]:
    """The files of the families: their number tells which they are."""
    parents, costs = enumeration.parents, enumeration.costs
    key = f"{enumeration.complete_to + 1:02}-families"
    files = []
    for lo, hi in list_pieces(parents, costs):
        name = names.counting(key, enumeration.families, lo, hi - lo)
        size = sum(array.nbytes for array in (*parents[lo:hi], *costs[lo:hi]))
        files.append(_File(name, size, functools.partial(list_piece, parents[lo:hi], costs[lo:hi])))
    return files


def _array_files(enumeration: Enumeration) -> list[_File]:
    """The files of the arrays: each has some rows of one, in their order."""
    return [
        _File(
            names.counting(key, enumeration.version, number, part.shape[0]),
            part.nbytes,
            functools.partial(dict, {key: part}),
        )
        for key, (array, _) in enumeration.columns().items()
        for number, part in enumerate(array_pieces(array))
    ]
