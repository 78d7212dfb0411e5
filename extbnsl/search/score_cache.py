"""The score cache: the families of one search in files, in the order in which layered parent graphs need them.

The rows of layer l need families with l parents, and fewer if some of the layer before was pruned (Malone et al. 2011,
Section 5.3). So the families lie by number of parents, then by child, then by cost.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.files import names
from extbnsl.files.arrays import HEADER_BYTES, PIECE_BYTES, StoredFile, open_arrays
from extbnsl.files.store import Store
from extbnsl.machine.workers import chunks

FAMILIES_READ = 1 << 14  # at a time
ROW_BYTES = 16
READING_BYTES = 1 << 20  # what reading them takes, with the buffers of HDF5 and the working space of the kernel


class FamilyRows(NamedTuple):
    """Some families: rows first[k]:first[k + 1] are of child[k] (s,) with size[k] parents, ascending in cost.

    parents (f,) uint64 varsets in the labels of the search, costs (f,) float64 nats, first (s + 1,) int64.
    """

    parents: NDArray[np.uint64]
    costs: NDArray[np.float64]
    first: NDArray[np.int64]
    child: NDArray[np.int64]
    size: NDArray[np.int64]


@dataclass(frozen=True)
class ScoreCache:
    """The families of a search of n variables, in `files` of `folder`, of which file k begins with row starts[k].

    first (k n + 1,) int64: those of child X with s parents are rows first[s n + X]:first[s n + X + 1].
    """

    folder: Path
    files: tuple[StoredFile, ...]
    starts: tuple[int, ...]
    variables: int
    first: NDArray[np.int64]

    def families(self, least: int, most: int) -> Iterator[FamilyRows]:
        """The families of `least` to `most` parents, FAMILIES_READ at a time; RunDirectoryError if that fails."""
        ends = self.first[:: self.variables]
        begin, end = int(ends[min(least, ends.size - 1)]), int(ends[min(most + 1, ends.size - 1)])
        limits = (*self.starts[1:], int(ends[-1]))
        for file, start, limit in zip(self.files, self.starts, limits, strict=True):
            if max(begin, start) >= min(end, limit):
                continue
            with open_arrays(self.folder, file) as arrays:
                for lo in range(max(begin, start), min(end, limit), FAMILIES_READ):
                    rows = slice(lo - start, min(lo + FAMILIES_READ, end, limit) - start)
                    yield self._cut(arrays["parents"][rows], arrays["costs"][rows], lo)

    def _cut(self, parents: NDArray[np.uint64], costs: NDArray[np.float64], lo: int) -> FamilyRows:
        """The families from row `lo` on, by number of parents and child."""
        k = np.flatnonzero((self.first[1:] > lo) & (self.first[:-1] < lo + costs.size) & (np.diff(self.first) > 0))
        first = np.append(np.maximum(self.first[k] - lo, 0), costs.size)
        return FamilyRows(parents, costs, first, k % self.variables, k // self.variables)


def write_score_cache(
    store: Store, stem: str, parents: Sequence[NDArray[np.uint64]], costs: Sequence[NDArray[np.float64]]
) -> ScoreCache:
    """Write families in score order, parents[X] (m, 1) and costs[X] (m,), to files of the store.

    Raises as `Store.write` does. O(families * sizes); memory: a piece of PIECE_BYTES, and a child's families.
    """
    n = len(parents)
    counts = np.stack([np.bincount(_sizes(p), minlength=n + 1) for p in parents], axis=1)  # size, child
    counts = counts[: np.flatnonzero(counts.any(axis=1))[-1] + 1]
    first = np.concatenate([np.zeros(1, np.int64), counts.ravel().cumsum()])
    files, starts = list[StoredFile](), list[int]()
    for lo, arrays in _pieces(parents, costs, counts):
        starts.append(lo)
        files.append(store.write(names.numbered(stem, len(files)), arrays | ({} if files else {"first": first})))
    return ScoreCache(store.folder, tuple(files), tuple(starts), n, first)


def _sizes(parents: NDArray[np.uint64]) -> NDArray[np.int64]:
    return np.bitwise_count(parents[:, 0]).astype(np.int64)


def _pieces(
    parents: Sequence[NDArray[np.uint64]], costs: Sequence[NDArray[np.float64]], counts: NDArray[np.int64]
) -> Iterator[tuple[int, dict[str, NDArray]]]:
    """The families by size and child in pieces for files, each with the row with which it begins."""
    waiting: list[tuple[NDArray, NDArray]] = []
    begin = end = 0
    for size, child in np.argwhere(counts > 0).tolist():
        rows = np.flatnonzero(_sizes(parents[child]) == size)
        for lo, hi in chunks(rows.size, PIECE_BYTES // ROW_BYTES):
            waiting.append((parents[child][rows[lo:hi], 0], costs[child][rows[lo:hi]]))
            end += hi - lo
            if (end - begin) * ROW_BYTES >= PIECE_BYTES:
                yield begin, _joined(waiting)
                waiting, begin = [], end
    if waiting:
        yield begin, _joined(waiting)


def _joined(parts: list[tuple[NDArray, NDArray]]) -> dict[str, NDArray]:
    return {"parents": np.concatenate([p for p, _ in parts]), "costs": np.concatenate([c for _, c in parts])}


def score_cache_bytes(costs: Sequence[NDArray[np.float64]]) -> int:
    """At most what the files of a score cache take."""
    size = ROW_BYTES * sum(c.size for c in costs)
    return size + size // 100 + 8 * len(costs) * (len(costs) + 1) + HEADER_BYTES * (1 + size // PIECE_BYTES)


def open_score_cache(folder: Path, files: tuple[StoredFile, ...], variables: int) -> ScoreCache:
    """The score cache that was written as `files`, which must have been checked."""
    starts = [0]
    for file in files:
        with open_arrays(folder, file) as arrays:
            starts.append(starts[-1] + arrays["costs"].length)
            if file == files[0]:
                first = arrays["first"][...]
    return ScoreCache(folder, files, tuple(starts[:-1]), variables, first)
