"""The task of the search: expand what leads into one block of targets.

A pure function of its arguments: it reads runs, leaves runs in memory or writes their files, within what it has been
granted, and says what it made. Doing it twice does no harm. So threads, processes or a cluster may run it; only the
driver knows the whole.
"""

import math
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.ascent import ascend_nodes
from extbnsl.files import names
from extbnsl.files.store import Store
from extbnsl.search.expand import NewNodes, expand
from extbnsl.search.problem import SearchProblem
from extbnsl.search.rows import improve, inherit
from extbnsl.search.runs import Nodes, Run, joined, load_sources, node_bytes, run_in_memory, write_run
from extbnsl.search.score_cache import ScoreCache
from extbnsl.search.state import Layer, Sources
from extbnsl.search.targets import Block, Streams, Targets, group_by_leaf, next_targets


@dataclass(frozen=True)
class Sink:
    """Where a task may leave what it makes.

    Runs of about `run_nodes` nodes stay in memory while they fit into `memory` bytes. Those that do not, and with
    `write` all, are written below `folder` while they fit into `disk` bytes, under names that begin with `stem`; with
    `compress` the part that stays takes less. closely: whether every node is to be looked at closely, because there is
    little room left. apart: whether others may do the task too, so that its files get names that nobody else has.
    """

    run_nodes: int
    memory: float
    disk: int
    write: bool
    folder: Path | None
    stem: str
    compress: bool = False
    closely: bool = False
    apart: bool = False


class Placed:
    """The runs of one task, put where its sink has room; `overflown` once there was none."""

    def __init__(self, sink: Sink) -> None:
        self.runs: list[Run] = []
        self.overflown = False
        self._sink, self._memory = sink, sink.memory
        self._stem = names.apart(sink.stem, secrets.token_hex(4)) if sink.apart else sink.stem
        self._store = None if sink.folder is None else Store(sink.folder, sink.disk, sink.compress)

    def add(self, nodes: Nodes) -> None:
        """Make a run of nodes, if there are any."""
        if nodes.lows.size == 0 or self.overflown:
            return
        run = run_in_memory(nodes)
        keep, store = run.memory <= self._memory, self._store
        if store is not None and run.file_bytes() <= store.free and (self._sink.write or not keep):
            run = write_run(run, names.part(self._stem, len(self.runs)), store)
        elif not keep:
            self.overflown = True
            return
        if keep:
            self._memory -= run.memory
        else:
            run = run.filed
        self.runs.append(run)

    def discard(self) -> None:
        """Delete every file that was written."""
        if self._store is not None:
            self._store.keep_only(())


CHUNK_NODES = 1 << 18  # room of the targets that one call of the kernel expands, at most
CHUNK_BYTES = 12 << 16  # room that they may have however small a run is to be
CHUNK_TARGETS = 1024  # that one call expands, at most


@dataclass(frozen=True)
class Expansion:
    """What came of a block: its runs, ascending, the edges generated, the least f of the nodes kept (or infinity)."""

    block: Block
    runs: tuple[Run, ...]
    edges: int
    least: float


def expand_block(
    problem: SearchProblem, layer: Layer, block: Block, sink: Sink, halt: NDArray[np.uint8]
) -> Expansion | None:
    """Generate the nodes of the targets in `block` from `layer`, without duplicates, each with its least g; None if the
    sink was too small or `halt` was set: then the block is still to be done.

    Ties go to the smaller leaf. Raises BudgetError or InputError if a file cannot be written, RunDirectoryError if
    one cannot be read. A few dozen ns per edge; memory: the sources, two runs and a chunk.
    """
    size = layer.size + 1
    room = min(CHUNK_NODES, max(sink.run_nodes, CHUNK_BYTES // node_bytes(problem.row_width(size))))
    sources = layer.sources or _gather(layer, block, sink.folder)
    expander = _Expander(problem, size, sources, room, sink.closely and problem.families is not None, halt)
    placed = Placed(sink)
    chunks: list[_Chunk] = []
    edges, least = 0, math.inf
    try:
        for chunk in expander.chunks(block):
            edges += chunk.edges
            least = min(least, chunk.least)
            chunks.append(chunk)
            if sum(one.nodes.lows.size for one in chunks) >= sink.run_nodes:
                placed.add(expander.finished(chunks))
                chunks = []
            if placed.overflown:
                break
        placed.add(expander.finished(chunks))
    except BaseException:
        placed.discard()
        raise
    if placed.overflown or halt[0]:
        placed.discard()
        return None
    return Expansion(block, tuple(placed.runs), edges, least)


def ready_sources(nodes: Nodes) -> Sources:
    """Sources of nodes; O(m)."""
    return Sources(nodes, *group_by_leaf(nodes.starts, nodes.successors))


def improve_rows(
    cache: ScoreCache, low_bits: int, size: int, nodes: Nodes, covered: NDArray[np.uint64], halt: NDArray[np.uint8]
) -> None:
    """Finish the rows of nodes of `size` variables, in place, unless `halt` is set.

    `covered` says which of their predecessors the rows take into account, as from `rows.inherit`. Reads the
    families that can matter once. Raises RunDirectoryError if the score cache cannot be read.
    """
    if covered.size:
        for families in cache.families(int(np.bitwise_count(covered).min()), size):
            improve(nodes, low_bits, covered, families, halt)


@dataclass(frozen=True)
class _Chunk:
    """What one call of the kernel made: nodes, the edges generated, the least f.

    If the parent graphs are layered, the rows of the nodes are not finished: covered (m,) uint64 is as from `inherit`,
    otherwise empty.
    """

    nodes: Nodes
    edges: int
    least: float
    covered: NDArray[np.uint64]


@dataclass(frozen=True)
class _Expander:
    """Makes nodes of `size` variables, about `room` at most in one call, and may look `closely` at each of them."""

    problem: SearchProblem
    size: int
    sources: Sources
    room: int
    closely: bool
    halt: NDArray[np.uint8]

    def chunks(self, block: Block) -> Iterator[_Chunk]:
        """The nodes of the block's targets, some targets at a time."""
        low_bits = self.problem.low_bits
        streams = _streams(self.sources, block, low_bits)
        most = CHUNK_TARGETS * streams.at.size
        found = Targets(
            np.empty(CHUNK_TARGETS, np.uint64),
            np.empty(CHUNK_TARGETS + 1, np.int64),
            np.empty(most, np.int64),
            np.empty(most, np.uint64),
        )
        kept = _room_for(0)
        while True:
            count, room = next_targets(streams, self.sources, low_bits, self.size, self.room, found)
            if count == 0:
                return
            if room > kept.lows.size:  # rarely: every chunk uses the same memory, which stays in the cache
                kept = _room_for(room)
            yield self._chunk(found._replace(highs=found.highs[:count], first=found.first[: count + 1]), kept)

    def _chunk(self, targets: Targets, kept: NewNodes) -> _Chunk:
        """The nodes of the targets, which `kept` has room for."""
        problem, counts = self.problem, kept.counts[: targets.highs.size]
        counts[:] = 0  # of those that a halt leaves alone
        tables = None if problem.score_cache else problem.parent_graphs
        edges, end, least = expand(targets, self.sources, tables, problem.rules, kept, self.halt)
        starts = np.concatenate([np.zeros(1, np.int64), counts[counts > 0]]).cumsum()
        # copies, because the next chunk uses the same room
        lows, leaf = kept.lows[:end].copy(), kept.leaf[:end].copy()
        g, successors = kept.g[:end].copy(), kept.successors[:end].copy()
        best = np.empty((end, problem.row_width(self.size)))
        covered = np.empty(0 if problem.score_cache is None else end, np.uint64)
        if problem.score_cache is not None:
            inherit(targets, self.sources, problem.low_bits, lows, counts, best, covered)
        nodes = Nodes(targets.highs[counts > 0], starts, lows, leaf, g, successors, best)
        if self.closely:
            assert problem.families is not None, "nodes are looked at closely only where there are clusters"
            keep, varsets = np.empty(end, np.uint8), nodes.varsets(problem.low_bits)
            ascend_nodes(varsets, g, problem.rules.limit, problem.families, problem.rules.clusters, keep, self.halt)
            stays = keep.astype(bool)
            nodes, covered = nodes.where(stays), covered[stays] if covered.size else covered
        return _Chunk(nodes, edges, least, covered)

    def finished(self, chunks: list[_Chunk]) -> Nodes:
        """The nodes of chunks that follow each other, with their rows finished."""
        nodes, cache = joined([chunk.nodes for chunk in chunks]), self.problem.score_cache
        if cache is not None and chunks:
            covered = np.concatenate([chunk.covered for chunk in chunks])
            improve_rows(cache, self.problem.low_bits, self.size, nodes, covered, self.halt)
        return nodes


def _room_for(nodes: int) -> NewNodes:
    """Room for so many nodes of one call of the kernel."""
    columns = np.empty(nodes, np.uint16), np.empty(nodes), np.empty(nodes, np.uint8), np.empty(nodes, np.uint8)
    return NewNodes(*columns, np.empty(CHUNK_TARGETS, np.int64))


def _gather(layer: Layer, block: Block, folder: Path | None) -> Sources:
    """The nodes of the layer that have successors in the block."""
    lasts = np.array([run.last for run in layer.runs], dtype=np.uint64)
    pieces = []
    for lo, hi in block.ranges():
        at = int(np.searchsorted(lasts, np.uint64(lo)))
        while at < len(layer.runs) and layer.runs[at].first < hi:
            pieces.append(load_sources(layer.runs[at], lo, hi, folder))
            at += 1
    return ready_sources(joined(pieces))


def _streams(sources: Sources, block: Block, low_bits: int) -> Streams:
    """What the targets of the block are merged from."""
    bits = [0, *(1 << b for b in range(block.free))]  # from the block's own high parts
    bits += [1 << b for b in range(block.free, block.first.bit_length()) if block.first >> b & 1]
    lows = [block.first ^ (bit if bit >= 1 << block.free else 0) for bit in bits]
    limits = np.array([lows, [lo + (1 << block.free) for lo in lows]], dtype=np.uint64)
    at, ends = np.searchsorted(sources.nodes.highs, limits)
    varsets = [bit << low_bits or (1 << low_bits) - 1 for bit in bits]
    return Streams(at, ends, np.array(bits, dtype=np.uint64), np.array(varsets, dtype=np.uint64))
