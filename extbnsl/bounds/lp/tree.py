"""The tree of branching: what there is of it between two turns, and in files. `branching` makes it grow."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.multipliers import MEMBERS, no_cuts
from extbnsl.core.codec import IN_FILE, Highest, Lowest, Whole, Within
from extbnsl.kernels.varsets import words


class Duals(NamedTuple):
    """Multipliers of a node: the numbers of their cuts among those of the tree (k,), and weights (k,) int64 > 0 in
    UNITs."""

    cuts: NDArray[np.int32]
    weights: NDArray[np.int64]

    def is_sound(self) -> bool:
        """Whether there is a weight for each cut."""
        return self.cuts.size == self.weights.size and bool((self.cuts >= 0).all() and (self.weights > 0).all())


class Node(NamedTuple):
    """An open node: what every network below it costs at least, in nats, and its choices, by their numbers. above: the
    number of the closed node that it is a child of, -1 for the root; duals: what bounds it beside those of the nodes
    above it."""

    bound: Lowest
    choices: tuple[Whole, ...]
    above: Annotated[int, Within(-1)] = -1
    duals: tuple[Duals, ...] = ()

    def closed(self, *shown: Duals) -> "Closed":
        """The node when nothing more is asked of it, with what else was shown of it."""
        return Closed(self.above, self.choices[-1] if self.choices else -1, (*self.duals, *shown))


class Closed(NamedTuple):
    """A node that was looked at, or that needs no look: the number of the one above it, its last choice (-1 of the
    root, for both), and its duals. Each drops families for those after it, and for the nodes below. A node without
    children has no network below the limit by these."""

    above: Annotated[int, Within(-1)]
    choice: Annotated[int, Within(-1)]
    duals: tuple[Duals, ...]


ROOT_NODE = Node(-math.inf, ())


@dataclass(frozen=True)
class Tree:
    """How far branching has come.

    open: the nodes that are.
    looked: how many have been looked at.
    effort: the simplex iterations that this took.
    order, cost: of the cheapest network that it came upon, in nats.
    closed: all other nodes, each after the one above it.
    cuts (k, 3, words): those of the duals.
    """

    open: tuple[Node, ...] = (ROOT_NODE,)
    looked: Whole = 0
    effort: Whole = 0
    order: tuple[Whole, ...] | None = None
    cost: Highest = math.inf
    closed: tuple[Closed, ...] = ()
    cuts: Annotated[NDArray[np.uint64], IN_FILE] = field(default_factory=lambda: no_cuts(1))

    @property
    def bound(self) -> float:
        """What every network costs at least that the tree has not shown to be too dear."""
        return min((self.cost, *(node.bound for node in self.open)))

    def fits(self, variables: int) -> bool:
        """Whether it is a tree over so many variables, and all its parts go together."""
        return (
            (self.order is None or sorted(self.order) == list(range(variables)))
            and (self.order is None) == math.isinf(self.cost)
            and self.cuts.shape[1:] == (MEMBERS, words(variables))
            and are_closed(self.closed, len(self.cuts), variables)
            and all(node.above < len(self.closed) and _are_duals(node.duals, len(self.cuts)) for node in self.open)
            and all(choice < 2 * variables**2 for node in self.open for choice in node.choices)
        )


def are_closed(nodes: Sequence[Closed], cuts: int, variables: int) -> bool:
    """Whether each of the closed nodes, but for the first, is below one before it, and has a choice, and its duals are
    of so many cuts."""
    return all(
        (node.above == node.choice == -1 if number == 0 else 0 <= node.above < number and node.choice >= 0)
        and node.choice < 2 * variables**2
        and _are_duals(node.duals, cuts)
        for number, node in enumerate(nodes)
    )


def _are_duals(duals: Sequence[Duals], cuts: int) -> bool:
    return all(one.is_sound() and one.cuts.max(initial=-1) < cuts for one in duals)
