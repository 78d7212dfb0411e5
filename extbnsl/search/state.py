"""The state of a search: immutable, complete, and ready to be committed once the runs in memory are written to files.

From the end of a search its order is found by walking back over the closed layers (Malone et al. 2011, Section 5.5).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.codec import UNKEPT, Highest, Whole, Within
from extbnsl.files import names
from extbnsl.files.arrays import StoredFile
from extbnsl.files.store import Store
from extbnsl.search.runs import Nodes, Run, joined, leaf_of, write_run

NOT_KNOWN = -1e300  # nats, in place of minus infinity, which JSON does not have


class Sources(NamedTuple):
    """Nodes of one size ready to be expanded; free and order as from `group_by_leaf`."""

    nodes: Nodes
    free: NDArray[np.int64]
    order: NDArray[np.uint32]


def sources_bytes(nodes: Nodes) -> int:
    """Memory that `ready_sources` takes beside the columns."""
    return 4 * nodes.lows.size + 8 * nodes.highs.size


@dataclass(frozen=True)
class Layer:
    """The kept nodes of one size as runs that follow each other; `sources` if they are one run in memory."""

    size: Annotated[int, Within(0, 64)]
    runs: tuple[Run, ...]
    sources: Annotated[Sources | None, UNKEPT] = None

    @property
    def nodes(self) -> int:
        return sum(run.size for run in self.runs)

    @property
    def memory(self) -> int:
        """Bytes that the columns in memory take."""
        return sum(run.memory for run in self.runs)

    @property
    def sources_memory(self) -> int:
        """Bytes that being ready to expand takes."""
        return 0 if self.sources is None else sources_bytes(self.sources.nodes)


@dataclass(frozen=True)
class SearchState:
    """How far a search has come.

    layer is being expanded: the targets below the high part `position` are done, and `following` holds what they got.
    closed: the runs of all earlier layers, without costs unless the problem keeps them. expanded: nodes of the closed
    layers; generated: edges in all; edges_in: those that led to `layer`, edges_out: those that led to `following`.
    kept: nodes in all complete layers, peak: those of the largest. least_f: the least f of a node in `layer`,
    least_following of one in `following`; of the first layer nothing is said. cache: the files of the score cache of
    layered parent graphs. to_commit: every run is in files, and this is a good moment to commit.
    """

    layer: Layer
    following: tuple[Run, ...] = ()
    position: Annotated[int, Within(0, 2**64)] = 0
    closed: tuple[tuple[Run, ...], ...] = ()
    expanded: Whole = 0
    generated: Whole = 0
    edges_in: Whole = 0
    edges_out: Whole = 0
    kept: Whole = 1
    peak: Whole = 1
    least_f: Highest = NOT_KNOWN
    least_following: Highest = math.inf
    cache: tuple[StoredFile, ...] = ()
    to_commit: Annotated[bool, UNKEPT] = False

    @property
    def runs(self) -> Iterator[Run]:
        """Every run of the state."""
        for runs in (*self.closed, self.layer.runs, self.following):
            yield from runs

    @property
    def memory(self) -> int:
        """Bytes of memory that the runs take."""
        return sum(run.memory for run in self.runs)

    @property
    def files(self) -> Iterator[StoredFile]:
        """Every file that the state needs."""
        yield from self.cache
        for run in self.runs:
            yield from run.files

    @property
    def spilled(self) -> int:
        """Nodes of the layer that are in files only."""
        return sum(run.size for run in self.layer.runs if run.nodes is None)

    @property
    def following_nodes(self) -> int:
        return sum(run.size for run in self.following)

    def next_layer(self, keeps_costs: bool) -> "SearchState":
        """The state when all blocks have been done: the layer is closed, the following one is to be expanded."""
        closed = _filed(self.layer.runs)
        if not keeps_costs:
            closed = tuple(run.without_costs for run in closed)
        return SearchState(
            layer=Layer(self.layer.size + 1, self.following),
            closed=(*self.closed, closed),
            expanded=self.expanded + self.layer.nodes,
            generated=self.generated,
            edges_in=self.edges_out,
            kept=self.kept + self.following_nodes,
            peak=max(self.peak, self.following_nodes),
            least_f=self.least_following,
            cache=self.cache,
        )

    def filed(self) -> "SearchState":
        """The state without what it has in memory; all its runs must be in files."""
        return replace(
            self,
            layer=Layer(self.layer.size, _filed(self.layer.runs)),
            following=_filed(self.following),
            closed=tuple(_filed(runs) for runs in self.closed),
        )


def _filed(runs: tuple[Run, ...]) -> tuple[Run, ...]:
    return tuple(run.filed for run in runs)


def whole_layer(state: SearchState) -> Nodes:
    """The nodes of a layer that is in memory, as one."""
    return joined([run.nodes for run in state.layer.runs if run.nodes is not None])


def optimal_order(state: SearchState, low_bits: int, folder: Path | None = None) -> list[int]:
    """The order of the variables (labels of the search) that leads to the goal, which `state.layer` must hold.

    Reads one run of each closed layer. Raises KeyError if a layer lacks a node of the path, RunDirectoryError if a
    file of `folder` cannot be read.
    """
    varset = (1 << state.layer.size) - 1
    order: list[int] = []
    for runs in (state.layer.runs, *reversed(state.closed[1:])):
        order.append(leaf_of(runs, varset, low_bits, folder))
        varset ^= 1 << order[-1]
    return order[::-1]


def stored(state: SearchState, store: Store, name: str, run_nodes: int, closed_only: bool = False) -> SearchState:
    """The state with its closed layers in files only and, unless those alone are asked for, every other run in files
    too, also if it stays in memory.

    name: of the search; a run in memory alone becomes runs of about `run_nodes` nodes. Raises BudgetError or InputError
    if a file cannot be written.
    """

    def written(runs: tuple[Run, ...], size: int) -> tuple[Run, ...]:
        """A run is written once and keeps its files: its first partition is name enough."""
        return tuple(
            write_run(piece, names.nodes(names.layer(name, size), piece.first), store)
            for run in runs
            for piece in ([run] if run.files else run.sliced(run_nodes))
        )

    size = state.layer.size
    state = replace(state, closed=tuple(_filed(written(runs, layer)) for layer, runs in enumerate(state.closed)))
    if closed_only:
        return state
    layer = replace(state.layer, runs=written(state.layer.runs, size))
    return replace(state, layer=layer, following=written(state.following, size + 1))
