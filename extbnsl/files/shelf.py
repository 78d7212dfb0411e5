"""Arrays that together may be more than memory holds: those that do not fit an allowance lie on disk and are mapped.

Their files have no name: whatever ends the process, nothing is left of them. They are written with ordinary calls into
room that was reserved before, so that a full disk is an error like any other; a mapping is only read. Those who read
say how much, and now and then the pages that have been read leave the memory of the process; the system may keep them.

What a checkpoint keeps of them lies in files with names: long arrays, some rows a file; and lists of families: the
parent sets and costs of each child, some children a file.
"""

import mmap
import os
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from extbnsl.core.errors import BudgetError
from extbnsl.files import names
from extbnsl.files.arrays import PIECE_BYTES, StoredFile, read_arrays
from extbnsl.files.atomic import write_failure
from extbnsl.files.store import Store
from extbnsl.machine.system import forget_pages, reserve, write_at

PAGES_HELD = 1 << 23  # bytes of mapped pages that may have been read before they leave memory


class Shelf:
    """Room for arrays: `memory` bytes, and what the disk budget of `store` leaves. An array gives it back when nobody
    refers to it any more. held, on_disk: bytes that it has now. Safe for threads.
    """

    def __init__(self, memory: int, store: Store) -> None:
        self.memory = memory
        self.held = self.on_disk = 0
        self._store = store
        self._read = 0  # bytes since pages were forgotten
        self._maps: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()
        self._lock = threading.RLock()  # an array may be collected while it is held

    def column(self, shape: tuple[int, ...], dtype: DTypeLike) -> "Column":
        """An array to be filled; BudgetError if neither memory nor disk has room for it."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if self._takes(size):
            array = np.empty(shape, dtype)
            weakref.finalize(array, self._give_back, size)
            return Column(array, None)
        return self._column_on_disk(shape, dtype, size)

    def put(self, array: NDArray[Any]) -> NDArray[Any]:
        """The array, or a copy of it, held by this shelf; BudgetError as `column` raises it."""
        if self._takes(array.nbytes):
            held = array if array.base is None else array.copy()
            weakref.finalize(held, self._give_back, held.nbytes)
            return held
        column = self._column_on_disk(array.shape, array.dtype, array.nbytes)
        column.fill(0, array)
        return column.array()

    def fits(self, size: int) -> bool:
        """Whether there is room for so many bytes more."""
        with self._lock:
            return size <= max(0, self.memory - self.held) + self._store.free

    def touched(self, size: int) -> None:
        """Say that about so many bytes of the arrays have been read."""
        with self._lock:
            self._read += size
            if self._read < PAGES_HELD:
                return
            self._read = 0
            maps = list(self._maps)
        for mapped in maps:
            forget_pages(mapped)

    def _takes(self, size: int) -> bool:
        """Whether memory has room for so many bytes; then they are counted."""
        with self._lock:
            fits = size == 0 or self.held + size <= self.memory
            self.held += size if fits else 0
        return fits

    def _column_on_disk(self, shape: tuple[int, ...], dtype: DTypeLike, size: int) -> "Column":
        store = self._store
        self._borrow(size)
        try:
            with tempfile.TemporaryFile(dir=store.folder, buffering=0) as file:
                reserve(file.fileno(), size)
                mapped = mmap.mmap(file.fileno(), size)
                descriptor = os.dup(file.fileno())
        except OSError as error:
            self._borrow(-size)
            raise write_failure(store.folder / "a file without a name", error) from error
        weakref.finalize(mapped, self._borrow, -size)
        with self._lock:
            self._maps.add(mapped)
        return Column(np.frombuffer(mapped, dtype).reshape(shape), descriptor)

    def _borrow(self, size: int) -> None:
        with self._lock:
            self._store.borrow(size)
            self.on_disk += size

    def _give_back(self, size: int) -> None:
        with self._lock:
            self.held -= size


class Column:
    """An array in the making: its rows are filled in any order, by any thread, each before it is read."""

    def __init__(self, array: NDArray[Any], descriptor: int | None) -> None:
        self._array = array
        self._file = descriptor
        if descriptor is not None:
            weakref.finalize(self, os.close, descriptor)

    def fill(self, first: int, rows: NDArray[Any]) -> None:
        """Let the rows from `first` on be these; BudgetError if the disk is full."""
        if self._file is None:
            self._array[first : first + rows.shape[0]] = rows
            return
        row_bytes = self._array.itemsize * int(np.prod(self._array.shape[1:]))
        data = np.ascontiguousarray(rows, self._array.dtype).data.cast("B")
        try:
            write_at(self._file, data, first * row_bytes)
        except OSError as error:
            raise BudgetError(f"The disk takes no more of what memory has no room for ({error.strerror}).") from error

    def array(self) -> NDArray[Any]:
        """The array, in memory or mapped."""
        return self._array


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
