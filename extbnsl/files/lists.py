"""Long arrays in files, some rows a file; and lists of families: the parent sets and costs of each child, some children
a file."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.files import names
from extbnsl.files.arrays import PIECE_BYTES, StoredFile, read_arrays
from extbnsl.files.shelf import Column, Shelf
from extbnsl.files.store import Store

FamilyLists = tuple[NDArray[Any], ...]  # of each child: parent sets, or costs
Put = Callable[[NDArray[Any]], NDArray[Any]]


def list_pieces(parents: Sequence[NDArray], costs: Sequence[NDArray]) -> Iterator[tuple[int, int]]:
    """The children lo <= X < hi whose lists parents[X] (m, w) and costs[X] (m,) go into one file: about PIECE_BYTES, or
    one child."""
    begin = size = 0
    for child in range(len(costs)):
        own = parents[child].nbytes + costs[child].nbytes
        if child > begin and size + own > PIECE_BYTES:
            yield begin, child
            begin, size = child, 0
        size += own
    yield begin, len(costs)


def list_piece(parents: Sequence[NDArray], costs: Sequence[NDArray]) -> dict[str, NDArray]:
    """The lists of some children in arrays; first (c + 1,) int64 tells where those of each child begin."""
    first = np.cumsum([0] + [c.size for c in costs])
    return {"first": first, "parents": np.concatenate(parents), "costs": np.concatenate(costs)}


def write_lists(
    store: Store, stem: str, parents: Sequence[NDArray], costs: Sequence[NDArray]
) -> tuple[StoredFile, ...]:
    """The files of these lists, in their order; raises as `Store.write` does. The largest is made in memory."""
    pieces = enumerate(list_pieces(parents, costs))
    return tuple(
        store.write(names.numbered(stem, number), list_piece(parents[lo:hi], costs[lo:hi]))
        for number, (lo, hi) in pieces
    )


def read_lists(folder: Path, files: Iterable[StoredFile], put: Put) -> tuple[FamilyLists, FamilyLists]:
    """The lists of these files, each array as `put` holds it; RunDirectoryError if a file is damaged."""
    parents: list[NDArray] = []
    costs: list[NDArray] = []
    for file in files:
        arrays = read_arrays(folder, file)
        for lo, hi in zip(arrays["first"][:-1].tolist(), arrays["first"][1:].tolist(), strict=True):
            parents.append(put(arrays["parents"][lo:hi]))
            costs.append(put(arrays["costs"][lo:hi]))
    return tuple(parents), tuple(costs)


def array_pieces(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """The array in pieces of about PIECE_BYTES, each for a file, at least one; `read_pieces` joins them again."""
    rows = max(1, PIECE_BYTES * array.shape[0] // max(1, array.nbytes))
    for first in range(0, max(1, array.shape[0]), rows):
        yield array[first : first + rows]


def read_pieces(
    folder: Path, files: Iterable[StoredFile], lengths: Mapping[str, int], shelf: Shelf
) -> dict[str, tuple[Column, int]]:
    """The arrays whose pieces are in these files, in their order, as columns on the shelf, and how many rows are known.

    `lengths` says how long each is when it is complete. Raises RunDirectoryError if a file is not what was written,
    BudgetError if the shelf has no room.
    """
    columns: dict[str, Column] = {}
    filled = dict.fromkeys(lengths, 0)
    for file in files:
        for name, part in read_arrays(folder, file).items():
            if name not in columns:
                columns[name] = shelf.column((lengths[name], *part.shape[1:]), part.dtype)
            columns[name].fill(filled[name], part)
            filled[name] += part.shape[0]
    return {name: (column, filled[name]) for name, column in columns.items()}
