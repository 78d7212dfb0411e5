"""Orders that arrive one by one, such as those of solutions of linear programs, and are improved among each other.

A descent from an order takes a hundredth of a round of kicks, so each order gets one. Rounds of kicks take turns with
whoever sends the orders. After one that gains more for its time than the sender has gained with its last step there is
another one at once; after one that gains less the sender goes on. After one that gains nothing it goes on for twice as
many orders as the last time, and then there are half as many kicks again: so these take an ever smaller share of the
time where they bring nothing.
"""

import numpy as np
from numpy.typing import NDArray

from extbnsl.machine.workers import Workers
from extbnsl.orders.parent_lists import ParentLists
from extbnsl.orders.population import (
    NUMBER,
    ORDERS,
    OrderedNetwork,
    Population,
    by_descent,
    improve_network,
    network_along,
    search_lists,
    shorter,
)

ROUNDS = 3  # short ones that take about as long as the sender takes for an order
SHORT = 50  # kicks of an order


class ArrivingOrders:
    """The best of the orders that have arrived, each improved, and when they are improved next.

    What is found depends on the orders, on what the sender has gained and on the seed, and on nothing else: not on the
    time, nor on the number of threads.
    """

    def __init__(self, lists: ParentLists, seed: int) -> None:
        self.lists = lists
        self._members: list[OrderedNetwork] = []  # the cheapest first, no two of the same cost
        self._random = np.random.default_rng(seed)
        self._kicks = SHORT
        self._wait = self._due = 1  # orders before the next round of kicks; from round to round, and from now on

    def take(self, order: NDArray[np.integer], gained: float, workers: Workers) -> OrderedNetwork:
        """The best network by now, when an order (n,) has arrived, since whose predecessor the sender has gained so
        many nats. Raises Stopped."""
        self._admit(improve_network(order.tolist(), self.lists, workers, by_descent))
        self._due -= 1
        while self._due <= 0 and workers.stop() is None:
            before = self._members[0].cost
            self._improve(workers)
            gain = before - self._members[0].cost
            if gain <= self.lists.tiny:
                self._wait = self._due = 2 * self._wait
                self._kicks = min(NUMBER, 3 * self._kicks // 2)
            elif ROUNDS * gain < gained:
                self._wait = self._due = 1
                self._kicks = SHORT
        return self._members[0]

    def _improve(self, workers: Workers) -> None:
        """A round of kicks, more where the last ones have gained nothing."""
        orders = np.stack([one.order for one in self._members])
        states = self._random.integers(1, 2**63, size=(len(orders), 1), dtype=np.uint64)
        begun, ended = Population(orders, states, self._members[0]), list[Population]()
        improve = shorter(self._kicks)
        search_lists(self.lists, workers, begun, lambda cost: None, improve=improve, rounds=1, on_round=ended.append)
        self._members = []
        self._admit(ended[-1].best)
        for order in ended[-1].orders:
            self._admit(network_along(order.copy(), self.lists))

    def _admit(self, found: OrderedNetwork) -> None:
        """Let a network be one of the members, of which the dearest goes if they are too many."""
        if all(abs(found.cost - one.cost) > self.lists.tiny for one in self._members):
            self._members = sorted([*self._members, found], key=lambda one: one.cost)[:ORDERS]
