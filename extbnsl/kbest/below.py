"""All networks over a component that cost less than a limit, or the cheapest of them.

As in a proof, multipliers bound what every network costs, and drop the families that no network below the limit has;
what is left may fall into pieces, each of which is a problem of its own below what the others leave of the limit.
Unlike there, the limit lies above the optimum, and nothing may be used that keeps only one of several networks.

A piece is searched layer by layer, and then a walk lists its networks. The layers hold every varset that a network
below the limit can have begun with. Of a sparse network these may be far too many, since its ends can come in any
order. Then the piece is taken apart by the families of one variable: with each of them alone it is another piece, for
which the bounds drop more, and which mostly falls apart. Every network has one of them, so each is found once.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from extbnsl.files.lists import FamilyLists
from extbnsl.kbest.ledger import Arrays, Ledger, as_kept, key_of
from extbnsl.kbest.networks import Cheapest, Networks, arrays_of, joined, lists_of, no_networks, numbers_in
from extbnsl.kbest.rest import Rest, rest_of
from extbnsl.kbest.walk import new_walk, walk_families, walk_from, walk_on
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
CHUNK = 1 << 14  # networks that a walk finds at a time
PIECES, CHOICES, WALK = "pieces", "families", "walk"  # how networks are found
STEPS = 1 << 22  # of a walk, between two looks at the stop signal


@dataclass(frozen=True)
class Work:
    """What the steps share: the context of the run, how many networks are wanted at most, and what is known already."""

    context: Context
    most: int | None
    ledger: Ledger

    @property
    def room(self) -> float:
        """Bytes that a list of networks may take: putting it in order takes it once more, and a half."""
        return self.context.memory_left / 4


def networks_below(component: Component, limit: float, work: Work) -> Networks:
    """The networks over a component that cost less than `limit`, in nats, each once; of the cheapest as many as are
    wanted, if there are more.

    Raises Stopped, and MemoryError if they are too many; the ledger has what is known by then. Deterministic, whatever
    the threads; memory decides nothing but whether it does.
    """
    context = work.context
    if component.size == 1:
        kept = int(np.searchsorted(component.costs[0], limit))
        kept = kept if work.most is None else min(kept, work.most)
        return Networks(np.arange(kept, dtype=np.int32)[:, None], component.costs[0][:kept])
    context.workers.check()
    parts = split(component.parents, component.costs, context.shelf.put, component.slack)
    if len(parts) > 1:
        return _of_pieces(component, parts, limit, work)
    found = find_guide(Bounding(component), limit, context)
    if found.proves(limit):
        return no_networks(component.size)
    if found.pieces:
        return _of_pieces(component, found.pieces, limit, work)
    left = replace(
        component, variables=tuple(range(component.size)), parents=found.guide.parents, costs=found.guide.costs
    )
    if all(costs.size == 1 for costs in left.costs):
        own = _the_one(left, limit)
    else:
        own = _searched(found, limit, work) or _of_choices(left, limit, work)
    return own.with_numbers(numbers_in(component, left))


def _of_pieces(component: Component, pieces: tuple[Component, ...], limit: float, work: Work) -> Networks:
    """The networks that are put together from pieces; the smallest come first, so that the others have better limits.

    The cheapest families of a piece bound what it costs until its cheapest network is known.
    """
    least = [float(sum(costs[0] for costs in piece.costs)) for piece in pieces]
    key = key_of(PIECES, component.parents, component.costs, limit, work.most)
    with as_kept():
        lists = lists_of(work.ledger.begun(key), lambda at: [component.costs[v] for v in pieces[at].variables])
    for at in sorted(range(len(pieces)), key=lambda at: pieces[at].size):
        if at not in lists:
            others = sum(bound for number, bound in enumerate(least) if number != at)
            found = networks_below(pieces[at], limit - others, work)
            lists[at] = found.with_numbers(numbers_in(component, pieces[at]))
            work.ledger.keep(key, lambda: arrays_of(lists))
        if lists[at].costs.size == 0:
            work.ledger.drop(key)
            return no_networks(component.size)
        least[at] = float(lists[at].costs[0])
    places = [piece.variables for piece in pieces]
    whole = joined([lists[at] for at in range(len(pieces))], places, limit, work.most, work.room)
    work.ledger.drop(key)
    return whole


def _the_one(left: Component, limit: float) -> Networks:
    """The only network that the families make, if it is acyclic."""
    cost = float(sum(costs[0] for costs in left.costs))
    acyclic = len(split(left.parents, left.costs, lambda array: array)) == left.size
    return (
        Networks(np.zeros((1, left.size), np.int32), np.array([cost]))
        if acyclic and cost < limit
        else no_networks(left.size)
    )


def _of_choices(left: Component, limit: float, work: Work) -> Networks:
    """The networks with each family of one variable."""
    child, key = _crossroad(left), key_of(CHOICES, left.parents, left.costs, limit, work.most)
    begun = work.ledger.begun(key)
    with as_kept():
        ((done, known),) = lists_of(begun, lambda _: left.costs).items() if begun else [(0, no_networks(left.size))]
        cheapest = Cheapest(known, float(begun["limit"][0]) if begun else limit, work.most, work.room)
    for row in range(done, left.costs[child].size):
        chosen = _with_choice(left, child, row)
        if chosen is not None:
            found = networks_below(chosen, cheapest.limit, work)
            numbers = numbers_in(left, chosen)
            numbers[child] = np.array([row], np.int32)  # another may cost the same
            cheapest.add(found.with_numbers(numbers).rows, found.costs)
        work.ledger.keep(key, partial(_choices_so_far, row + 1, cheapest, cheapest.limit))
    work.ledger.drop(key)
    return cheapest.networks()


def _choices_so_far(done: int, cheapest: Cheapest, limit: float) -> Arrays:
    """The networks with the first so many families, and the limit of those with the next one."""
    return arrays_of({done: cheapest.networks()}) | {"limit": np.array([limit])}


def _crossroad(left: Component) -> int:
    """The variable with the most neighbours, as parents or as children, among those with several families."""
    adjacent = np.zeros((left.size, left.size), np.bool_)
    for x, own in enumerate(left.parents):
        adjacent[x, list(unpack(np.bitwise_or.reduce(own, axis=0)))] = True
    several = np.array([costs.size > 1 for costs in left.costs])
    return int(np.argmax((adjacent | adjacent.T).sum(axis=1) * several))


def _with_choice(left: Component, child: int, row: int) -> Component | None:
    """The component with one family of a child, and without the families of its parents that would close a cycle; None
    if a parent has no other."""
    parents, costs = list(left.parents), list(left.costs)
    parents[child], costs[child] = parents[child][row : row + 1], costs[child][row : row + 1]
    for p in unpack(parents[child][0]):
        keep = (parents[p][:, child // WORD_BITS] >> np.uint64(child % WORD_BITS)) & np.uint64(1) == 0
        parents[p], costs[p] = np.ascontiguousarray(parents[p][keep]), costs[p][keep]
        if costs[p].size == 0:
            return None
    return replace(left, parents=tuple(parents), costs=tuple(costs))


def _searched(found: Guided, limit: float, work: Work) -> Networks | None:
    """The networks of a piece, if it can be searched, by the families of its guide."""
    guide, context = found.guide, work.context
    if guide.grouping is None or found.edges > MOST_EDGES:
        return None
    problem = replace(guided_problem(guide, limit, context), keeps_costs=True)
    room = Room(context.memory_left // 2)
    (state,) = deque(search_layers(problem, context.workers, room, most_nodes_kept=MOST_NODES), maxlen=1)
    order = labels(guide.grouping)
    if state.layer.nodes == 0:
        return no_networks(len(order))
    if state.layer.size < len(order):
        return None
    rest = rest_of(_nodes(state, problem.low_bits), state.kept)
    own = _walked(labelled_families(guide, context), rest, limit, work)
    rows = np.empty_like(own.rows)
    rows[:, order] = own.rows
    return Networks(rows, own.costs)


def _nodes(state: SearchState, low_bits: int) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.float64]]]:
    """Varsets and g of all layers, run by run."""
    for run in state.runs:
        nodes = load_sources(run, run.first, run.last + 1, None)
        yield nodes.varsets(low_bits), nodes.g


def _walked(families: tuple[FamilyLists, FamilyLists], rest: Rest, limit: float, work: Work) -> Networks:
    """What a walk finds, of labelled families in score order; it goes on from where the ledger has it."""
    own, n, ledger = walk_families(*families), len(families[0]), work.ledger
    key = key_of(WALK, *families, limit, work.most)
    begun = ledger.begun(key)
    with as_kept():
        walk = walk_from(begun, own) if begun else new_walk(n)
        known = lists_of(begun, lambda _: families[1])[0] if begun else no_networks(n)
    cheapest = Cheapest(known, limit, work.most, work.room)
    rows, costs = np.empty((CHUNK, n), np.int32), np.empty(CHUNK)
    while walk.depth[0] >= 0:
        written = walk_on(walk, own, rest, cheapest.limit, STEPS, rows, costs, work.context.workers.halt)
        cheapest.add(rows[:written] - own.first[:-1].astype(np.int32), costs[:written].copy())
        ledger.keep(key, lambda: walk._asdict() | arrays_of({0: cheapest.networks()}))
        work.context.workers.check()
    ledger.drop(key)
    return cheapest.networks()
