"""Branch and bound by the LP: for pieces that have too many variables for a search.

A node of the tree is some choices (see `probing`): child X has a parent Y, or has not. Its two children make one choice
more, once with either answer, so that every network is below one of the open nodes. A node is bounded by the LP over
the families that its choices leave, whose duals are multipliers as any: what the LP does in floating point need not be
trusted.

The tree grows in rounds. The open nodes with the least bounds are dealt out to some parts, each of which is looked at
for a second or a few: see `subtrees`. How they are dealt out depends on the tree alone, and what comes of them is
joined in their order. So the tree is the same whoever does the parts. Cuts hold for every network, so those found in a
part are there for all others in the next round, and so are networks, and what choices have brought. A small tree needs
these sooner than it needs many hands: so rounds begin small.

The tree keeps of each node the multipliers that bound it, or that drop families for all nodes below it. So who has the
families can prove again what the tree has shown, without any linear program.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sortedcontainers import SortedList

from extbnsl.bounds.lp.program import FEWEST, SLACK, Snapshot
from extbnsl.bounds.lp.subtrees import Given, Grown, Known, grow, note_tried
from extbnsl.bounds.lp.tree import Closed, Duals, Node, Tree
from extbnsl.bounds.multipliers import MEMBERS, FamilyArrays, Support
from extbnsl.machine.workers import Workers

PARTS = 32  # of a round, at most; the first has one, and each twice as many as the one before
NODES = 4  # open nodes that a part has, at most
PART_EFFORT = 6_000  # simplex iterations of a part
PROGRAMS = 4  # that there must be room for: two parts at a time, with two each
CHOICE_BYTES, DUAL_BYTES, NODE_BYTES = 8, 12, 200  # of a node: for each choice, for each cut of its duals, and besides


AnyNode = TypeVar("AnyNode", Node, Closed)


class Reached(NamedTuple):
    """How far branching has come: its tree, the cuts (k, 3, words) that programs begin with, and the families of the
    last solution of one."""

    tree: Tree
    cuts: NDArray[np.uint64]
    support: Support | None = None


def branch(
    families: FamilyArrays,
    start: Snapshot,
    tree: Tree,
    limit: float,
    room: int,
    workers: Workers,
    on_turn: Callable[[Reached], bool],
) -> Reached:
    """Go on with the tree of the families until no node below `limit` nats is open: then the tree has the cheapest
    network, if that costs less. Programs begin with `start`.

    Ends earlier when nodes take more than `room` bytes, and when on_turn, which gets what there is after each part,
    says so. Programs take as many bytes again: where they are large, fewer are at work at a time. The tree is the same
    whatever the threads. Raises Stopped, and what on_turn raises.
    """
    workers.keep((families.parents, families.costs, families.first))
    branching = _Branching(families, start, tree, limit)
    while branching.open and branching.bytes <= room:
        given, parts = branching.given(room), branching.parts()
        tasks = [(families, given, nodes, workers.halt) for nodes in parts]
        for nodes, grown in zip(parts, workers.spread(grow, tasks, PARTS), strict=True):
            branching.join(nodes, grown, given)
            reached = branching.reached(grown.support)
            if not on_turn(reached):
                return reached
        branching.share()
    return branching.reached()


class _Branching:
    """A tree at work. program_bytes: of the largest program of the last round."""

    def __init__(self, families: FamilyArrays, start: Snapshot, tree: Tree, limit: float) -> None:
        self._width, self._limit = families.parents.shape[0], limit
        self._start = start
        self._number = 1  # of parts in a round
        self.program_bytes = 0
        self.open = SortedList(tree.open)
        self._looked, self._effort, self._cost, self._order = tree.looked, tree.effort, tree.cost, tree.order
        self._closed = list(tree.closed)
        self._cuts = {cut.tobytes(): number for number, cut in enumerate(tree.cuts)}
        self._known: Known = {}
        self._round: list[Grown] = []
        self.bytes = sum(map(_bytes, tree.open)) + sum(map(_bytes, tree.closed))

    @property
    def _cutoff(self) -> float:
        """What a network must cost less than to be of interest."""
        return min(self._limit, self._cost)

    def reached(self, support: Support | None = None) -> Reached:
        """What there is by now, with a solution that there was."""
        best = self._order, self._cost
        tree = Tree(tuple(self.open), self._looked, self._effort, *best, tuple(self._closed), self._all_cuts())
        return Reached(tree, self._start.cuts, support)

    def _all_cuts(self) -> NDArray[np.uint64]:
        """Those of all duals, by their numbers."""
        return np.frombuffer(b"".join(self._cuts), np.uint64).reshape(-1, MEMBERS, self._width)

    def parts(self) -> list[tuple[Node, ...]]:
        """The open nodes of the parts of the next round."""
        nodes = tuple(itertools.islice(self.open, self._number * NODES))
        return [nodes[i :: self._number] for i in range(min(self._number, len(nodes)))]

    def given(self, room: int) -> Given:
        """What all parts of the next round are given, with so many bytes for the programs of a process."""
        known, numbers = dict(self._known), (len(self._closed), len(self._cuts))
        places = max(1, room // max(1, 2 * self.program_bytes))
        return Given(self._start, room // PROGRAMS, places, self._cutoff, known, *numbers, PART_EFFORT)

    def join(self, nodes: Sequence[Node], grown: Grown, given: Given) -> None:
        """Put what has become of a part in the place of its nodes. Others of its round are joined already."""
        later = len(self._closed) - given.closed
        new = [self._cuts.setdefault(cut.tobytes(), len(self._cuts)) for cut in grown.cuts]
        numbers = np.concatenate([np.arange(given.cuts), new]).astype(np.int32)

        def own(node: AnyNode) -> AnyNode:
            """The node by the numbers of this tree."""
            duals = tuple(Duals(numbers[one.cuts], one.weights) for one in node.duals)
            above = node.above if node.above < given.closed else node.above + later
            return node._replace(above=above, duals=duals)

        for node in nodes:
            self.open.remove(node)
        self.open.update(map(own, grown.open))
        self._closed += map(own, grown.closed)
        self.bytes += sum(map(_bytes, grown.open)) + sum(map(_bytes, grown.closed)) - sum(map(_bytes, nodes))
        self._looked += grown.looked
        self._effort += grown.effort
        if grown.cost < self._cost:
            self._cost, self._order = grown.cost, grown.order
        self._round.append(grown)
        note_tried(self._known, grown.tried)

    def share(self) -> None:
        """End a round: close the open nodes that a network has made too dear, and let the next parts begin where the
        first one has ended, with the cuts and families of the others."""
        first, closed = self._round[0].snapshot, self._closed[-sum(len(grown.closed) for grown in self._round) :]
        while self.open and self.open[-1].bound >= self._cutoff:
            node = self.open.pop()
            self._closed.append(node.closed())
            self.bytes += _bytes(self._closed[-1]) - _bytes(node)
        columns = np.unique(np.concatenate([grown.snapshot.columns for grown in self._round]))
        self._start = first.with_more(columns, self._most_used(first, closed))
        self.program_bytes = max(grown.bytes for grown in self._round)
        self._number = min(PARTS, 2 * len(self._round))
        self._round = []

    def _most_used(self, start: Snapshot, closed: Sequence[Closed]) -> NDArray[np.uint64]:
        """The cuts that the duals of these nodes have most often, and which a program lacks: so many that it just
        drops none of its own."""
        uses = np.zeros(len(self._cuts), np.int64)
        for node in closed:
            for duals in node.duals:
                uses[duals.cuts] += 1
        cuts, there = self._all_cuts(), {cut.tobytes() for cut in start.cuts}
        order = np.argsort(-uses, kind="stable")[: np.count_nonzero(uses)]
        lacking = [number for number in order.tolist() if cuts[number].tobytes() not in there]
        most = SLACK * max(FEWEST, start.last.weights.size) - len(start.cuts)
        return cuts[lacking[: max(0, most)]]


def _bytes(node: Node | Closed) -> int:
    """About the memory that a node takes."""
    choices = CHOICE_BYTES * len(node.choices) if isinstance(node, Node) else 0
    return NODE_BYTES + choices + DUAL_BYTES * sum(duals.cuts.size for duals in node.duals)
