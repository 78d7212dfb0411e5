"""The score cache: the families of one search in a file, in the order in which layered parent graphs need them.

The rows of layer l need families with l parents, and fewer if some of the layer before was pruned (Malone et al. 2011,
Section 5.3). So the families lie by number of parents, then by child, then by cost.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from extbnsl.storage import HEADER_BYTES, StoredFile, open_arrays, write_arrays

FAMILIES_READ = 1 << 14  # at a time
READING_BYTES = 1 << 20  # what reading them takes, with the buffers of HDF5 and the working space of the kernel


@dataclass(frozen=True)
class Families:
    """Some families: rows first[k]:first[k + 1] are of child[k] (s,) with size[k] parents, ascending in cost.

    parents (f,) uint64 varsets in the labels of the search, costs (f,) float64 nats, first (s + 1,) int64.
    """

    parents: NDArray[np.uint64]
    costs: NDArray[np.float64]
    first: NDArray[np.int64]
    child: NDArray[np.int64]
    size: NDArray[np.int64]

    def arrays(self) -> tuple:
        """The kernels' arguments, in their order."""
        return (self.parents, self.costs, self.first, self.child, self.size)


@dataclass(frozen=True)
class ScoreCache:
    """The families of a search of n variables, in the file `file` of `folder`.

    first (k n + 1,) int64: those of child X with s parents are rows first[s n + X]:first[s n + X + 1] of the file.
    """

    folder: Path
    file: StoredFile
    variables: int
    first: NDArray[np.int64]

    def families(self, least: int, most: int) -> Iterator[Families]:
        """The families of `least` to `most` parents, FAMILIES_READ at a time; RunDirectoryError if that fails."""
        ends = self.first[:: self.variables]
        begin, end = ends[min(least, ends.size - 1)], ends[min(most + 1, ends.size - 1)]
        if begin >= end:
            return
        with open_arrays(self.folder, self.file) as arrays:
            for lo in range(int(begin), int(end), FAMILIES_READ):
                hi = min(lo + FAMILIES_READ, int(end))
                yield self._cut(arrays["parents"][lo:hi], arrays["costs"][lo:hi], lo)

    def _cut(self, parents: NDArray[np.uint64], costs: NDArray[np.float64], lo: int) -> Families:
        """The families from row `lo` on, by number of parents and child."""
        k = np.flatnonzero((self.first[1:] > lo) & (self.first[:-1] < lo + costs.size) & (np.diff(self.first) > 0))
        first = np.append(np.maximum(self.first[k] - lo, 0), costs.size)
        return Families(parents, costs, first, k % self.variables, k // self.variables)


def write_score_cache(
    folder: Path, name: str, parents: Sequence[NDArray[np.uint64]], costs: Sequence[NDArray[np.float64]]
) -> ScoreCache:
    """Write families in score order, parents[X] (m, 1) and costs[X] (m,), as `folder`/`name`.

    Raises as `write_arrays` does. O(families log families).
    """
    n = len(parents)
    varsets = np.concatenate([p[:, 0] for p in parents])
    sizes = np.bitwise_count(varsets).astype(np.int64)
    group = sizes * n + np.repeat(np.arange(n), [c.size for c in costs])
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], np.arange((sizes.max() + 1) * n + 1))
    arrays = {"parents": varsets[order], "costs": np.concatenate(costs)[order], "first": first}
    return ScoreCache(folder, write_arrays(folder, name, arrays), n, first)


def score_cache_bytes(costs: Sequence[NDArray[np.float64]]) -> int:
    """At most what the file of a score cache takes."""
    families = sum(c.size for c in costs)
    return 16 * families + families // 16 + 8 * len(costs) * (len(costs) + 1) + HEADER_BYTES


def open_score_cache(folder: Path, file: StoredFile, variables: int) -> ScoreCache:
    """The score cache that was written as `file`, which must have been checked."""
    with open_arrays(folder, file) as arrays:
        return ScoreCache(folder, file, variables, arrays["first"][...])
