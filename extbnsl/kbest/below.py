"""All networks over a component that cost less than a limit, or the cheapest of them."""

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np

from extbnsl.kbest.apart import Choices, Layers, Lone, Pieces, Work, taken_apart
from extbnsl.kbest.ledger import Arrays, as_kept, key_of
from extbnsl.kbest.networks import Cheapest, Networks, arrays_of, joined, lists_of, no_networks, numbers_in
from extbnsl.kbest.walk import new_walk, walk_from, walk_on
from extbnsl.parents.components import Component

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
        case Pieces(parts):
            return _of_pieces(component, parts, limit, work)
        case Lone(left, cost):
            own = Networks(np.zeros((1, left.size), np.int32), np.array([cost]))
        case Layers() as layers:
            left, own = layers.left, _walked(layers, limit, work)
        case Choices() as choices:
            left, own = choices.left, _of_choices(choices, limit, work)
    return own.with_numbers(numbers_in(component, left))


def _of_pieces(component: Component, parts: tuple[Component, ...], limit: float, work: Work) -> Networks:
    """The networks that are put together from pieces."""
    key = key_of(PIECES, limit, work.most, component.parents, component.costs)
    lists = lists_of_pieces(component, parts, range(len(parts)), least_costs(parts), limit, work, key)
    found = no_networks(component.size)
    if len(lists) == len(parts):
        places, check = [piece.variables for piece in parts], work.context.workers.check
        found = joined([lists[at] for at in range(len(parts))], places, limit, work.most, work.room, check)
    work.ledger.drop(key)
    return found


def least_costs(parts: Sequence[Component]) -> list[float]:
    """What the cheapest families of each piece cost, which bounds its networks."""
    return [float(sum(costs[0] for costs in piece.costs)) for piece in parts]


def lists_of_pieces(
    component: Component,
    parts: tuple[Component, ...],
    wanted: Iterable[int],
    least: Sequence[float],
    limit: float,
    work: Work,
    key: str,
) -> dict[int, Networks]:
    """The networks of the pieces with these numbers, by families of the component; of fewer pieces, if one has none.
    The ledger has them by the key.

    The smallest come first, so that the others have better limits. least: what each piece costs at least.
    """
    least = list(least)
    with as_kept():
        lists = lists_of(work.ledger.begun(key), lambda at: [component.costs[v] for v in parts[at].variables])
    for at in sorted(wanted, key=lambda at: parts[at].size):
        if at not in lists:
            others = sum(bound for number, bound in enumerate(least) if number != at)
            found = networks_below(parts[at], limit - others, work)
            if found.costs.size == 0:
                return {}
            lists[at] = found.with_numbers(numbers_in(component, parts[at]))
            work.ledger.keep(key, lambda: arrays_of(lists))
        least[at] = float(lists[at].costs[0])
    return lists


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
