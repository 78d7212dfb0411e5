"""Runs: sorted, duplicate-free pieces of a layer, in memory or in files.

A run is what one task made of a range of partitions. In files it is two: the varsets and leaves stay until the end of
the search, for reconstruction (Malone et al. 2011, Section 5.5); the costs, with the rows of layered parent graphs,
go when the layer has been expanded.
"""

import itertools
import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.codec import UNKEPT, Readers, Whole, Within, decode
from extbnsl.files import names
from extbnsl.files.arrays import HEADER_BYTES, StoredArrays, StoredFile, open_arrays
from extbnsl.files.store import Store

ANCESTOR_BYTES = 3  # of one node in the columns that reconstruction needs
PARTITION_BYTES = 16
NO_LEAF = np.uint8(255)  # of the empty varset
SUCCESSORS = "forced"  # the name of that column in files, since their first format
FENCE_NODES = 1024  # from one fence to the next, about


def node_bytes(row_width: int) -> int:
    """Bytes of one node in all columns, with so many best scores in its row."""
    return 12 + 8 * row_width


class Nodes(NamedTuple):
    """Nodes of one size, sorted by varset, by partitions that share their high bits.

    Partition p has high part highs[p] (uint64, ascending) and nodes starts[p]:starts[p + 1] (int64); lows (m,) uint16
    ascending within it, leaf (m,) uint8 (the last variable of a cheapest order), g (m,) float64 nats, successors (m,)
    uint8 (the number of the set of successors that are enough, see `ancestral`). best (m, k) float64: a row of
    BestScore(X | U) of every X outside U, ascending X, if the parent graphs are layered; otherwise k = 0.
    """

    highs: NDArray[np.uint64]
    starts: NDArray[np.int64]
    lows: NDArray[np.uint16]
    leaf: NDArray[np.uint8]
    g: NDArray[np.float64]
    successors: NDArray[np.uint8]
    best: NDArray[np.float64]

    @property
    def columns(self) -> tuple[NDArray, NDArray, NDArray, NDArray, NDArray]:
        """What there is of each node."""
        return self.lows, self.leaf, self.g, self.successors, self.best

    def varsets(self, low_bits: int) -> NDArray[np.uint64]:
        """The nodes as bitmasks, ascending."""
        return np.repeat(self.highs, np.diff(self.starts)) << np.uint64(low_bits) | self.lows.astype(np.uint64)

    def part(self, lo: int, hi: int) -> "Nodes":
        """The nodes whose high part is at least lo and below hi: views of the columns."""
        first, last = np.searchsorted(self.highs, np.array([lo, hi], dtype=np.uint64))
        begin, end = int(self.starts[first]), int(self.starts[last])
        starts = self.starts[first : last + 1] - begin
        return Nodes(self.highs[first:last], starts, *(column[begin:end] for column in self.columns))

    def where(self, keep: NDArray[np.bool_]) -> "Nodes":
        """The nodes for which keep (m,) is true."""
        counts = np.add.reduceat(keep, self.starts[:-1], dtype=np.int64) if self.highs.size else np.zeros(0, np.int64)
        starts = np.concatenate([np.zeros(1, np.int64), counts[counts > 0]]).cumsum()
        return Nodes(self.highs[counts > 0], starts, *(column[keep] for column in self.columns))


def joined(pieces: Sequence[Nodes]) -> Nodes:
    """Pieces that follow each other as one; a single one is handed back as it is."""
    if len(pieces) == 1:
        return pieces[0]
    starts = np.concatenate([np.zeros(1, np.int64), *(np.diff(piece.starts) for piece in pieces)]).cumsum()
    highs = np.concatenate([np.zeros(0, np.uint64), *(piece.highs for piece in pieces)])
    columns = zip(*(piece.columns for piece in pieces or [_NONE]), strict=True)
    return Nodes(highs, starts, *(np.concatenate(column) for column in columns))


_NONE = Nodes(
    *(np.zeros(0, np.uint64), np.zeros(1, np.int64), np.zeros(0, np.uint16), np.zeros(0, np.uint8)),
    *(np.zeros(0), np.zeros(0, np.uint8), np.zeros((0, 0))),
)


@dataclass(frozen=True)
class Run:
    """A piece of a layer, in memory (`nodes`), in files (`varsets`, and `costs` while they are needed), or both.

    first, last: the high parts of its first and last partition. fence_highs (k + 1,) uint64 and fence_nodes,
    fence_partitions (k + 1,) int64 tell how many nodes and partitions lie before some of the high parts, the last row
    those of the whole run (its high part is last + 1).
    """

    first: Annotated[int, Within(0, 2**64 - 1)]
    last: Annotated[int, Within(0, 2**64 - 1)]
    size: Whole
    partitions: Whole
    fence_highs: Annotated[NDArray[np.uint64], UNKEPT] = field(default_factory=lambda: np.zeros(0, np.uint64))
    fence_nodes: Annotated[NDArray[np.int64], UNKEPT] = field(default_factory=lambda: np.zeros(0, np.int64))
    fence_partitions: Annotated[NDArray[np.int64], UNKEPT] = field(default_factory=lambda: np.zeros(0, np.int64))
    nodes: Annotated[Nodes | None, UNKEPT] = None
    varsets: StoredFile | None = None
    costs: StoredFile | None = None

    @property
    def memory(self) -> int:
        """Bytes that the columns in memory take."""
        if self.nodes is None:
            return 0
        each = node_bytes(self.nodes.best.shape[1]) if self.nodes.g.size else ANCESTOR_BYTES
        return each * self.size + PARTITION_BYTES * self.partitions

    @property
    def files(self) -> tuple[StoredFile, ...]:
        return tuple(file for file in (self.varsets, self.costs) if file is not None)

    @property
    def filed(self) -> "Run":
        """The run without its columns in memory, if it is in files."""
        return self if self.varsets is None else replace(self, nodes=None)

    @property
    def without_costs(self) -> "Run":
        """What is left of it when its layer has been expanded."""
        nodes = self.nodes
        if nodes is not None:
            nodes = nodes._replace(g=np.zeros(0), successors=np.zeros(0, np.uint8), best=np.zeros((0, 0)))
        return replace(self, nodes=nodes, costs=None)

    def file_bytes(self, most: float = math.inf) -> int:
        """At most what the files of a run in memory take, if it is `sliced` into runs of about `most` nodes."""
        return self.memory + self.memory // 500 + 2 * HEADER_BYTES * math.ceil(max(1.0, self.size / most))

    def sliced(self, size: int) -> list["Run"]:
        """A run in memory as runs of about `size` nodes, sliced between partitions; their columns are views."""
        assert self.nodes is not None, "only what is in memory can be sliced"
        goals = np.arange(size, self.size, size)
        edges = np.unique(np.concatenate([[0], np.searchsorted(self.nodes.starts, goals), [self.partitions]]))
        highs = [*self.nodes.highs[edges[:-1]].tolist(), self.last + 1]
        return [run_in_memory(self.nodes.part(lo, hi)) for lo, hi in itertools.pairwise(highs)]

    def is_sound(self) -> bool:
        """Whether it may be committed: it is in files."""
        return self.varsets is not None and self.first <= self.last and self.size >= self.partitions > 0


def run_in_memory(nodes: Nodes) -> Run:
    """The run of nodes that stay in memory; there is at least one."""
    fences = _fences(nodes.highs, nodes.starts)
    return Run(int(nodes.highs[0]), int(nodes.highs[-1]), nodes.lows.size, nodes.highs.size, *fences, nodes)


def _fences(highs: NDArray[np.uint64], starts: NDArray[np.int64]) -> tuple[NDArray, NDArray, NDArray]:
    """Partitions about FENCE_NODES apart."""
    partitions = np.unique(np.searchsorted(starts, np.arange(0, starts[-1], FENCE_NODES), side="right") - 1)
    partitions = np.append(partitions, highs.size)
    return np.append(highs[partitions[:-1]], highs[-1] + np.uint64(1)), starts[partitions], partitions


def write_run(run: Run, stem: str, store: Store) -> Run:
    """The run with its columns in files as well, named by `stem`: the varsets, which stay and may be compressed, and,
    unless they are gone already, the costs. Raises as `Store.write` does."""
    if run.nodes is None or run.varsets is not None:
        return run
    nodes = run.nodes
    counts = np.diff(nodes.starts).astype(np.uint32)
    ancestry: dict[str, NDArray] = {"highs": nodes.highs, "counts": counts, "lows": nodes.lows, "leaf": nodes.leaf}
    written = replace(run, varsets=store.write(names.varsets_file(stem), ancestry, store.compress))
    if nodes.g.size == 0:
        return written
    to_expand: dict[str, NDArray] = {"g": nodes.g, SUCCESSORS: nodes.successors, "best": nodes.best}
    return replace(written, costs=store.write(names.costs_file(stem), to_expand))


def find_run(document: Any, readers: Readers, folder: Path) -> Run:
    """The run that a manifest speaks of; its partitions are read again where the search needs them. Misfit if it speaks
    of none."""
    run: Run = decode(Run, document, readers)
    if run.costs is None:
        return run
    with _opened(run.varsets, folder) as arrays:
        highs, nodes, partitions = _fences(*_partitions(arrays))
    return replace(run, fence_highs=highs, fence_nodes=nodes, fence_partitions=partitions)


def load_sources(run: Run, lo: int, hi: int, folder: Path | None) -> Nodes:
    """The nodes of a run with a high part of at least lo and below hi, with what expanding them needs (no leaves)."""
    if run.nodes is not None:
        return run.nodes.part(lo, hi)
    fences = run.fence_highs
    before = max(0, int(np.searchsorted(fences, np.uint64(lo), side="right")) - 1)  # the last that is not above `lo`
    after = min(int(np.searchsorted(fences, np.uint64(hi))), fences.size - 1)
    span = slice(int(run.fence_partitions[before]), int(run.fence_partitions[after]))
    with _opened(run.varsets, folder) as arrays, _opened(run.costs, folder) as costs:
        highs, starts = _partitions(arrays, span)
        first, last = np.searchsorted(highs, np.array([lo, hi], dtype=np.uint64))
        begin, end = (int(run.fence_nodes[before] + starts[at]) for at in (first, last))
        return Nodes(
            highs[first:last],
            starts[first : last + 1] - starts[first],
            arrays["lows"][begin:end],
            np.zeros(0, np.uint8),
            costs["g"][begin:end],
            costs[SUCCESSORS][begin:end],
            costs["best"][begin:end],
        )


def goal_cost(runs: Sequence[Run], folder: Path | None) -> float:
    """The cost of the only node of the last layer."""
    (run,) = runs
    if run.nodes is not None:
        return float(run.nodes.g[0])
    with _opened(run.costs, folder) as arrays:
        return float(arrays["g"][:1][0])


def leaf_of(runs: Sequence[Run], varset: int, low_bits: int, folder: Path | None) -> int:
    """The leaf of one node of a layer; KeyError if it is not there. Reads one run."""
    high, low = varset >> low_bits, varset & (1 << low_bits) - 1
    for run in runs:
        if run.first <= high <= run.last:
            lows, leaf = _partition(run, high, folder)
            i = int(np.searchsorted(lows, low))
            if i < lows.size and int(lows[i]) == low:
                return int(leaf[i])
    raise KeyError(varset)


def _partition(run: Run, high: int, folder: Path | None) -> tuple[NDArray, NDArray]:
    """The low parts and leaves of one partition, none if the run lacks it."""
    if run.nodes is not None:
        part = run.nodes.part(high, high + 1)
        return part.lows, part.leaf
    with _opened(run.varsets, folder) as arrays:
        highs, starts = _partitions(arrays)
        first, last = np.searchsorted(highs, np.array([high, high + 1], np.uint64))
        nodes = slice(starts[first], starts[last])
        return arrays["lows"][nodes], arrays["leaf"][nodes]


def _opened(file: StoredFile | None, folder: Path | None) -> AbstractContextManager[StoredArrays]:
    assert file is not None, "what is not in memory is in a file"
    assert folder is not None, "files lie in a folder"
    return open_arrays(folder, file)


def _partitions(arrays: StoredArrays, span: slice = slice(None)) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """High parts and starts of some partitions, the first of which starts at 0."""
    counts = arrays["counts"][span].astype(np.int64)
    return arrays["highs"][span], np.concatenate([np.zeros(1, np.int64), counts]).cumsum()
