"""All networks over a component that cost less than a limit, or the cheapest of them: it is taken apart until they can
be listed or counted.

As in a proof, multipliers bound what every network costs, and drop the families that no network below the limit has;
what is left may fall into pieces, each of which is a problem of its own below what the others leave of the limit.
Unlike there, the limit lies above the optimum, and nothing may be used that keeps only one of several networks.

A piece is searched layer by layer, and then walks find its networks. The layers hold every varset that a network
below the limit can have begun with. Of a sparse network these may be far too many, since its ends can come in any
order. Then the piece is taken apart by the families of one variable: with each of them alone it is another piece, for
which the bounds drop more, and which mostly falls apart. Every network has one of them, so each is found once.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from extbnsl.kbest.ledger import Arrays, Ledger, as_kept, key_of
from extbnsl.kbest.networks import Cheapest, Networks, arrays_of, joined, lists_of, no_networks, numbers_in
from extbnsl.kbest.walk import Rest, WalkFamilies, new_walk, rest_of, walk_families, walk_from, walk_on
from extbnsl.kernels.varsets import WORD_BITS, unpack
from extbnsl.parents.components import Component, split
from extbnsl.proof.bounding import find_guide
from extbnsl.proof.context import Context
from extbnsl.proof.guide import Bounding, Guided, labels
from extbnsl.proof.trials import guided_problem, labelled_families
from extbnsl.search.layers import Room, search_layers
from extbnsl.search.runs import load_sources
from extbnsl.search.state import SearchState

MOST_SEARCH_NS = 2e9  # that a search is expected to take: a second or two; otherwise a piece is taken apart
MOST_NODES = 2_000_000  # that it may have, after which it is given up, and the piece taken apart


@dataclass(frozen=True)
class Work:
    """What the steps share: the context of the run, how many networks are wanted at most, what is known already; and
    whom to tell how many networks more have been found."""

    context: Context
    most: int | None
    ledger: Ledger
    tell: Callable[[int], None] = lambda found: None

    @property
    def room(self) -> float:
        """Bytes that a list of networks may take: putting it in order takes it once more, and a half."""
        return self.context.memory_left / 4


@dataclass(frozen=True)
class Pieces:
    """Parts that have no families in common: every network of the component is one of each."""

    whole: Component
    parts: tuple[Component, ...]

    @property
    def least(self) -> list[float]:
        """What the cheapest families of each part cost, which bounds its networks."""
        return [float(sum(costs[0] for costs in part.costs)) for part in self.parts]

    def lists(
        self, wanted: Iterable[int], least: Sequence[float], limit: float, work: Work, key: str
    ) -> dict[int, Networks]:
        """The networks of the parts with these numbers, by families of the whole; of fewer parts, if one has none. The
        ledger has them by the key.

        The smallest come first, so that the others have better limits. least: what each part costs at least.
        """
        least = list(least)
        with as_kept():
            lists = lists_of(work.ledger.begun(key), lambda at: [self.whole.costs[v] for v in self.parts[at].variables])
        for at in sorted(wanted, key=lambda at: self.parts[at].size):
            if at not in lists:
                others = sum(bound for number, bound in enumerate(least) if number != at)
                found = networks_below(self.parts[at], limit - others, work)
                if found.costs.size == 0:
                    return {}
                lists[at] = found.with_numbers(numbers_in(self.whole, self.parts[at]))
                work.ledger.keep(key, lambda: arrays_of(lists))
            least[at] = float(lists[at].costs[0])
        return lists


@dataclass(frozen=True)
class Lone:
    """The only network that the families make, of the one family of each child of `left`."""

    left: Component
    cost: float


@dataclass(frozen=True)
class Layers:
    """What walks need to find the networks of `left`: its families by label, what the search has left, and order
    (n,), the variable of each label."""

    left: Component
    families: WalkFamilies
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
        return Pieces(component, parts)
    found = find_guide(Bounding(component), limit, context)
    if found.proves(limit):
        return None
    if found.pieces:
        return Pieces(component, found.pieces)
    left = replace(found.guide.left, variables=tuple(range(component.size)))
    if all(costs.size == 1 for costs in left.costs):
        cost = float(sum(costs[0] for costs in left.costs))
        acyclic = len(split(left.parents, left.costs, lambda array: array)) == left.size
        return Lone(left, cost) if acyclic and cost < limit else None
    if found.guide.grouping is None or found.search_ns > MOST_SEARCH_NS:
        return Choices(left, _crossroad(left))
    return _searched(left, found, limit, work)


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


CHUNK = 1 << 14  # networks that a walk finds at a time
PIECES, CHOICES, WALK = "pieces", "families", "walk"  # how networks are found
STEPS = 1 << 22  # of a walk, between two looks at the stop signal


def networks_below(component: Component, limit: float, work: Work) -> Networks:
    """The networks over a component that cost less than `limit`, in nats, each once; of the cheapest as many as are
    wanted, if there are more.

    Raises Stopped, and MemoryError if they are too many; the ledger has what is known by then. Deterministic, whatever
    the threads; memory decides nothing but whether it does.
    """
    if component.size == 1:
        kept = int(np.searchsorted(component.costs[0], limit))
        kept = kept if work.most is None else min(kept, work.most)
        return Networks(np.arange(kept, dtype=np.int32)[:, None], component.costs[0][:kept])
    match taken_apart(component, limit, work):
        case None:
            return no_networks(component.size)
        case Pieces() as pieces:
            return _of_pieces(pieces, limit, work)
        case Lone(left, cost):
            own = Networks(np.zeros((1, left.size), np.int32), np.array([cost]))
        case Layers() as layers:
            left, own = layers.left, _walked(layers, limit, work)
        case Choices() as choices:
            left, own = choices.left, _of_choices(choices, limit, work)
    return own.with_numbers(numbers_in(component, left))


def _of_pieces(pieces: Pieces, limit: float, work: Work) -> Networks:
    """The networks that are put together from pieces."""
    whole, parts = pieces.whole, pieces.parts
    key = key_of(PIECES, limit, work.most, whole.parents, whole.costs)
    lists = pieces.lists(range(len(parts)), pieces.least, limit, work, key)
    found = no_networks(whole.size)
    if len(lists) == len(parts):
        places, check = [part.variables for part in parts], work.context.workers.check
        found = joined([lists[at] for at in range(len(parts))], places, limit, work.most, work.room, check)
    work.ledger.drop(key)
    return found


def _of_choices(choices: Choices, limit: float, work: Work) -> Networks:
    """The networks with each family of one variable."""
    left, child = choices.left, choices.child
    key = key_of(CHOICES, limit, work.most, left.parents, left.costs)
    begun = work.ledger.begun(key)
    with as_kept():
        ((done, known),) = lists_of(begun, lambda _: left.costs).items() if begun else [(0, no_networks(left.size))]
        cheapest = Cheapest(known, float(begun["limit"][0]) if begun else limit, work.most, work.room)
    for row in range(done, left.costs[child].size):
        chosen = choices.chosen(row)
        if chosen is not None:
            found = networks_below(chosen, cheapest.limit, work)
            cheapest.add(found.with_numbers(choices.numbers(chosen, row)).rows, found.costs)
        work.ledger.keep(key, partial(_choices_so_far, row + 1, cheapest, cheapest.limit))
    work.ledger.drop(key)
    return cheapest.networks()


def _choices_so_far(done: int, cheapest: Cheapest, limit: float) -> Arrays:
    """The networks with the first so many families, and the limit of those with the next one."""
    return arrays_of({done: cheapest.networks()}) | {"limit": np.array([limit])}


def _walked(layers: Layers, limit: float, work: Work) -> Networks:
    """What a walk finds; it goes on from where the ledger has it."""
    own, ledger = layers.families, work.ledger
    n, families = layers.order.size, np.split(own.costs, own.first[1:-1])
    key = key_of(WALK, limit, work.most, own)
    begun = ledger.begun(key)
    with as_kept():
        walk = walk_from(begun, own) if begun else new_walk(n)
        known = lists_of(begun, lambda _: families)[0] if begun else no_networks(n)
    cheapest = Cheapest(known, limit, work.most, work.room)
    rows, costs = np.empty((CHUNK, n), np.int32), np.empty(CHUNK)
    while walk.depth[0] >= 0:
        written = walk_on(walk, own, layers.rest, cheapest.limit, STEPS, rows, costs, work.context.workers.halt)
        work.tell(written)
        cheapest.add(rows[:written] - own.first[:-1].astype(np.int32), costs[:written].copy())
        ledger.keep(key, lambda: walk._asdict() | arrays_of({0: cheapest.networks()}))
        work.context.workers.check()
    ledger.drop(key)
    found = cheapest.networks()
    in_order = np.empty_like(found.rows)
    in_order[:, layers.order] = found.rows
    return Networks(in_order, found.costs)
