"""A component, taken apart, until its networks below a limit can be listed or counted.

As in a proof, multipliers bound what every network costs, and drop the families that no network below the limit has;
what is left may fall into pieces, each of which is a problem of its own below what the others leave of the limit.
Unlike there, the limit lies above the optimum, and nothing may be used that keeps only one of several networks.

A piece is searched layer by layer, and then walks find its networks. The layers hold every varset that a network
below the limit can have begun with. Of a sparse network these may be far too many, since its ends can come in any
order. Then the piece is taken apart by the families of one variable: with each of them alone it is another piece, for
which the bounds drop more, and which mostly falls apart. Every network has one of them, so each is found once.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.kbest.ledger import Ledger
from extbnsl.kbest.networks import numbers_in
from extbnsl.kbest.walk import Families, Rest, rest_of, walk_families
from extbnsl.kernels.varsets import WORD_BITS, unpack
from extbnsl.parents.components import Component, split
from extbnsl.proof.bounding import Bounding, find_guide
from extbnsl.proof.context import Context
from extbnsl.proof.guide import Guided, guided_problem, labelled_families, labels
from extbnsl.search.layers import Room, search_layers
from extbnsl.search.runs import load_sources
from extbnsl.search.state import SearchState

MOST_EDGES = 3e7  # that a search is expected to have: a second or two; a piece with more is taken apart
MOST_NODES = 2_000_000  # that it may have, after which it is given up, and the piece taken apart


def ignore(found: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Work:
    """What the steps share: the context of the run, how many networks are wanted at most, what is known already; and
    whom to tell how many networks more have been found."""

    context: Context
    most: int | None
    ledger: Ledger
    tell: Callable[[int], None] = ignore

    @property
    def room(self) -> float:
        """Bytes that a list of networks may take: putting it in order takes it once more, and a half."""
        return self.context.memory_left / 4


@dataclass(frozen=True)
class Pieces:
    """Parts that have no families in common: every network of the component is one of each."""

    parts: tuple[Component, ...]


@dataclass(frozen=True)
class Lone:
    """The only network that the families make, of the cheapest family of each child of `left`."""

    left: Component
    cost: float


@dataclass(frozen=True)
class Layers:
    """What walks need to find the networks of `left`: its families by label, what the search has left, and order
    (n,), the variable of each label."""

    left: Component
    families: Families
    rest: Rest
    order: NDArray[np.int64]


@dataclass(frozen=True)
class Choices:
    """A component whose child is to have one family at a time."""

    left: Component
    child: int

    def chosen(self, row: int) -> Component | None:
        """The component with one family of the child, and without the families of its parents that would close a cycle;
        None if a parent has no other."""
        left, child = self.left, self.child
        parents, costs = list(left.parents), list(left.costs)
        parents[child], costs[child] = parents[child][row : row + 1], costs[child][row : row + 1]
        for p in unpack(parents[child][0]):
            keep = (parents[p][:, child // WORD_BITS] >> np.uint64(child % WORD_BITS)) & np.uint64(1) == 0
            parents[p], costs[p] = np.ascontiguousarray(parents[p][keep]), costs[p][keep]
            if costs[p].size == 0:
                return None
        return replace(left, parents=tuple(parents), costs=tuple(costs))

    def numbers(self, chosen: Component, row: int) -> list[NDArray[np.int32]]:
        """Of each child the numbers that its families in `chosen(row)` have in `left`."""
        found = numbers_in(self.left, chosen)
        found[self.child] = np.array([row], np.int32)  # another may cost the same
        return found


def taken_apart(component: Component, limit: float, work: Work) -> Pieces | Lone | Layers | Choices | None:
    """What the networks over a component of several variables that cost less than `limit`, in nats, can be found from;
    None if there are none. What is `left` of it has fewer families. Raises Stopped, and MemoryError."""
    context = work.context
    context.workers.check()
    parts = split(component.parents, component.costs, context.shelf.put, component.slack)
    if len(parts) > 1:
        return Pieces(parts)
    found = find_guide(Bounding(component), limit, context)
    if found.proves(limit):
        return None
    if found.pieces:
        return Pieces(found.pieces)
    left = replace(
        component, variables=tuple(range(component.size)), parents=found.guide.parents, costs=found.guide.costs
    )
    if all(costs.size == 1 for costs in left.costs):
        return _the_one(left, limit)
    if found.guide.grouping is None or found.edges > MOST_EDGES:
        return Choices(left, _crossroad(left))
    return _searched(left, found, limit, work)


def _the_one(left: Component, limit: float) -> Lone | None:
    """The only network that the families make, if it is acyclic."""
    cost = float(sum(costs[0] for costs in left.costs))
    acyclic = len(split(left.parents, left.costs, lambda array: array)) == left.size
    return Lone(left, cost) if acyclic and cost < limit else None


def _crossroad(left: Component) -> int:
    """The variable with the most neighbours, as parents or as children, among those with several families."""
    adjacent = np.zeros((left.size, left.size), np.bool_)
    for x, own in enumerate(left.parents):
        adjacent[x, list(unpack(np.bitwise_or.reduce(own, axis=0)))] = True
    several = np.array([costs.size > 1 for costs in left.costs])
    return int(np.argmax((adjacent | adjacent.T).sum(axis=1) * several))


def _searched(left: Component, found: Guided, limit: float, work: Work) -> Layers | Choices | None:
    """The layers of a piece, by the families of its guide; the choices of a variable, if they are too large."""
    guide, context = found.guide, work.context
    assert guide.grouping is not None, "it can be searched"
    problem = replace(guided_problem(guide, limit, context), keeps_costs=True)
    room = Room(context.memory_left // 2)
    (state,) = deque(search_layers(problem, context.workers, room, most_nodes_kept=MOST_NODES), maxlen=1)
    order = labels(guide.grouping)
    if state.layer.nodes == 0:
        return None
    if state.layer.size < len(order):
        return Choices(left, _crossroad(left))
    rest = rest_of(_nodes(state, problem.low_bits), state.kept)
    return Layers(left, walk_families(*labelled_families(guide, context)), rest, np.array(order))


def _nodes(state: SearchState, low_bits: int) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.float64]]]:
    """Varsets and g of all layers, run by run."""
    for run in state.runs:
        nodes = load_sources(run, run.first, run.last + 1, None)
        yield nodes.varsets(low_bits), nodes.g
