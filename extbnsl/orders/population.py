"""The search over orders of thousands of variables: some orders that are improved side by side, until told to stop.

Rounds go over all orders; each round improves each order once, by a kernel with a share of the effort, and then by
acyclic selection. Every order has random numbers of its own and learns of the others only between rounds, so what is
found after so many rounds is the same on any number of threads.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.codec import Whole
from extbnsl.core.errors import InputError
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.orders.acyclic import settle
from extbnsl.orders.growing import GrowingLists
from extbnsl.orders.kicks import Kicks, improve_by_kicks
from extbnsl.orders.line import best_along, random_order
from extbnsl.orders.parent_lists import ParentLists

ORDERS = 8  # that are improved side by side
FEW_ORDERS = 2  # where one takes seconds
MANY_VARIABLES = 2000  # from which on that is so
NUMBER = 500  # of kicks, in a round
FAR_VARIABLES = 2000  # of which hands make so many kicks in a round; of fewer more, as a round lasts some seconds
FEW = 50  # by which they become more from round to round while lists grow, from none at first


@dataclass(frozen=True)
class OrderedNetwork:
    """An order of the variables, int32 (n,), the best network along it, and what that costs in nats."""

    order: NDArray[np.int32]
    parents: tuple[tuple[Whole, ...], ...]
    cost: float

    def is_sound(self) -> bool:
        """Whether the order is one of all variables, in which the parents of each stand before it."""
        order = self.order.tolist()
        if sorted(order) != list(range(len(self.parents))):
            return False
        place = {variable: k for k, variable in enumerate(order)}
        return all(place.get(p, place[x]) < place[x] for x, own in enumerate(self.parents) for p in own)


@dataclass(frozen=True, eq=False)
class Population:
    """Where a search stands between two rounds, to go on from: the orders, int32 (m, n), the states of their random
    numbers, uint64 (m, 1), and the best network so far. parents (m, n, k) int32: those of each variable under each
    order, -1 beyond, where the order does not tell."""

    orders: NDArray[np.int32]
    states: NDArray[np.uint64]
    best: OrderedNetwork
    parents: NDArray[np.int32] | None = None

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a file keeps of it: all but the best."""
        own: dict[str, NDArray[Any]] = {"orders": self.orders, "states": self.states}
        return own if self.parents is None else own | {"parents": self.parents}


# One round of one order, int32 (n,), in place. What it is given besides: the state of its random numbers, uint64 (1,);
# where the variables stand in the other orders, int32 (m, n); how many kicks; halt, see `Workers`; and the lists.
Improve = Callable[
    [NDArray[np.int32], NDArray[np.uint64], NDArray[np.int32], int, NDArray[np.uint8], ParentLists], None
]


def by_descent(
    order: NDArray[np.int32],
    state: NDArray[np.uint64],
    elsewhere: NDArray[np.int32],
    number: int,
    halt: NDArray[np.uint8],
    lists: ParentLists,
) -> None:
    """A round without kicks, for an order from elsewhere: acyclic selection, insertion moves while they gain something,
    and acyclic selection again. A hundredth of the time of a round with them."""
    settle(order, halt, lists)
    METHODS["insertion"](order, state, elsewhere, 0, halt, lists)


def _by_kicks(
    order: NDArray[np.int32],
    state: NDArray[np.uint64],
    elsewhere: NDArray[np.int32],
    number: int,
    halt: NDArray[np.uint8],
    lists: ParentLists,
    *,
    kicks: Kicks,
) -> None:
    """A round of iterated local search by so many of such kicks, and acyclic selection at its end."""
    improve_by_kicks(order, state, kicks._replace(number=number), elsewhere, halt, lists)
    settle(order, halt, lists)


METHODS: dict[str, Improve] = {
    "insertion": partial(_by_kicks, kicks=Kicks(widest=1, flips=0, transplants=0)),
    "windows": partial(_by_kicks, kicks=Kicks(widest=4, flips=0, transplants=0)),
    "regions": partial(_by_kicks, kicks=Kicks(widest=1, flips=60, transplants=0)),
    "memetic": partial(_by_kicks, kicks=Kicks(widest=1, flips=50, transplants=20)),
}
DEFAULT = "memetic"


def shorter(kicks: int) -> Improve:
    """A round of the default method with so many kicks."""

    def improve(
        order: NDArray[np.int32],
        state: NDArray[np.uint64],
        elsewhere: NDArray[np.int32],
        number: int,
        halt: NDArray[np.uint8],
        lists: ParentLists,
    ) -> None:
        METHODS[DEFAULT](order, state, elsewhere, kicks, halt, lists)

    return improve


def search_lists(
    lists: ParentLists | GrowingLists,
    workers: Workers,
    seed: int | Population,
    on_better: Callable[[float], None],
    *,
    improve: Improve = METHODS[DEFAULT],
    rounds: int | None = None,
    patience: int | None = None,
    on_round: Callable[[Population], None] = lambda population: None,
) -> OrderedNetwork:
    """The best network found along orders, until `workers` are told to stop, or after so many rounds, or when
    `patience` rounds in turn have found nothing better.

    lists: those of growing lists grow between rounds by what the orders' networks choose.
    seed: of the random numbers, or the population to go on with as if nothing had happened. improve: what a
    round does with an order, such as one of METHODS. Without rounds and patience the workers' hands
    improve orders, if there are any: as many as they have slots, in rounds that last some seconds, so that what is
    found depends on them.
    on_better: hears of each lower cost; on_round: of the population before the first round and after each one, and
    after a stop. One variable ends at once. A stop keeps the best; then a round takes only as long as the kernels in
    flight need to notice it.
    Raises InputError if there is no network. Memory: that of `lists`, n^2 / 8 bytes for each thread, and
    about 100 bytes per variable and order.
    """
    growing, grown = (lists, True) if isinstance(lists, GrowingLists) else (None, False)
    lists = lists.lists if isinstance(lists, GrowingLists) else lists
    far = workers.hands is not None and rounds is None and patience is None
    if isinstance(seed, Population):
        orders, states, best = seed.orders, seed.states, seed.best
    else:
        orders, states = _beginning(lists, seed, workers.slots if far else 0)
        best = _best_of(orders, lists)
    done = stale = 0
    on_better(best.cost)
    on_round(Population(orders, states, best))
    while lists.variables > 1 and done != rounds and stale != patience:
        trials, own = orders.copy(), states.copy()
        stopped = deaf = False
        try:
            kicks = min(NUMBER, FEW * done) if grown else NUMBER
            kicks *= max(1, FAR_VARIABLES // lists.variables) if far else 1
            _improve(trials, own, improve, kicks, workers, lists, far)
            if growing is not None:
                grown = growing.grow(_networks(trials, best, lists), workers)
                workers.map(settle, [(order, workers.halt, growing.lists) for order in trials])
        except Stopped as stop:
            stopped, deaf = True, stop.deaf
        orders, states = (orders, states) if deaf else (trials, own)  # a kernel may still be at work on its trial
        lists = lists if growing is None else growing.lists
        found = _best_of(orders, lists)
        stale += 1
        if found.cost < best.cost - lists.tiny:
            best, stale = found, 0
            on_better(best.cost)
        if not stopped:
            _begin_twins_anew(orders, states, lists)
            done += 1
        on_round(Population(orders, states, best))
        if stopped:
            break
    return best


def _networks(orders: NDArray[np.int32], best: OrderedNetwork, lists: ParentLists) -> list[tuple[tuple[int, ...], ...]]:
    """The best networks along the orders and the best so far, which may have families that are not in the lists; the
    best of all comes first."""
    found = [network_along(order, lists) for order in orders]
    return [network.parents for network in sorted([*found, best], key=lambda network: network.cost)]


def improve_network(
    order: Sequence[int], lists: ParentLists, workers: Workers, improve: Improve = METHODS["insertion"]
) -> OrderedNetwork:
    """The best network that a round finds from an order of all variables, which needs no network."""
    own, alone = np.array(order, np.int32), np.zeros((0, len(order)), np.int32)
    workers.run(improve, own, np.ones(1, np.uint64), alone, NUMBER, workers.halt, lists)
    return _best_of(own[None], lists)


def _beginning(lists: ParentLists, seed: int, least: int) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """Random orders to begin with, at least so many, and the states of their random numbers."""
    many = max(least, ORDERS if lists.variables < MANY_VARIABLES else FEW_ORDERS)
    states = np.random.default_rng(seed).integers(1, 2**63, size=(many, 1), dtype=np.uint64)
    orders = np.stack([random_order(state, lists) for state in states])
    if orders.shape[1] < lists.variables:
        raise InputError(
            "No choice of families is acyclic: give a variable that waits for others the empty parent set."
        )
    return orders, states


def _improve(
    orders: NDArray[np.int32],
    states: NDArray[np.uint64],
    improve: Improve,
    kicks: int,
    workers: Workers,
    lists: ParentLists,
    far: bool,
) -> None:
    """One round: each order, in place, by what the others were before it; by hands if it is `far`, and then as far as
    it comes before a stop."""
    places = np.argsort(orders, axis=1).astype(np.int32)
    others = [np.delete(places, k, axis=0) for k in range(len(orders))]
    tasks = [(*task, kicks, workers.halt, lists) for task in zip(orders, states, others, strict=True)]
    if not far:
        workers.map(improve, tasks)
        return
    workers.keep(lists)
    own = [(k, improve, *task) for k, task in enumerate(tasks)]
    for k, order, state in workers.spread(improved, own, len(orders), ordered=False):
        orders[k], states[k] = order, state


def improved(
    k: int, improve: Improve, order: NDArray[np.int32], state: NDArray[np.uint64], *given: Any
) -> tuple[int, NDArray[np.int32], NDArray[np.uint64]]:
    """Order k and the state of its random numbers after a round; see `Improve`."""
    order, state = order.copy(), state.copy()
    improve(order, state, *given)
    return k, order, state


def _best_of(orders: NDArray[np.int32], lists: ParentLists) -> OrderedNetwork:
    """The best of some orders, of equal ones the first."""
    best = int(np.argmin([best_along(order, lists)[1] for order in orders]))
    return network_along(orders[best].copy(), lists)


def network_along(order: NDArray[np.int32], lists: ParentLists) -> OrderedNetwork:
    """The best network along an order; its cost is rounded once, since large costs may cancel."""
    choice, _ = best_along(order, lists)
    costs = lists.costs[lists.first[:-1] + choice]
    return OrderedNetwork(order, tuple(lists.chosen(choice)), math.fsum(costs.tolist()))


def _begin_twins_anew(orders: NDArray[np.int32], states: NDArray[np.uint64], lists: ParentLists) -> None:
    """Let all but the first of orders with the same cost be random again: they would only learn from themselves."""
    seen: list[float] = []
    for k, order in enumerate(orders):
        cost = best_along(order, lists)[1]
        if any(abs(cost - other) <= lists.tiny for other in seen):
            order[:] = random_order(states[k], lists)
        else:
            seen.append(cost)
