"""How many orders a network keeps to: how often it counts by the prior of orders."""

import math

from extbnsl.networks.network import Network

MOST_SETS = 1 << 16  # that orders begin with, of a network of which they are counted: a second


def log_orders(network: Network) -> float | None:
    """The logarithm of how many orders of the variables have every parent before its children; None if they begin with
    more than MOST_SETS sets of variables. O(n) for each of these sets."""
    n = len(network.names)
    above = [sum(1 << p for p in parents) for parents in network.parents]
    counts, layer = 0, {0: 1}
    for _ in range(n):
        following = dict[int, int]()
        for placed, many in layer.items():
            for x in range(n):
                if not placed >> x & 1 and above[x] & ~placed == 0:
                    following[placed | 1 << x] = following.get(placed | 1 << x, 0) + many
        counts += len(following)
        if counts > MOST_SETS:
            return None
        layer = following
    return math.log(layer[(1 << n) - 1])
