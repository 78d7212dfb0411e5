"""Parent lists for tests, and what a slow search along an order says of them."""

import math

import naive
import numpy as np
from cases import random_families

from extbnsl.orders.parent_lists import parent_lists


def given(families):
    """The arrays that `parent_lists` takes of families as (parent varset, cost)."""
    return [
        (
            np.array([cost for _, cost in own], np.float64),
            np.array([varset.bit_count() for varset, _ in own], np.int64),
            np.array([p for varset, _ in own for p in naive.members(varset)], np.int64),
        )
        for own in families
    ]


def random_lists(seed, n, needy=0.0):
    """Families, and their parent lists; a share of the children has no empty set, but a single parent before it."""
    rng = np.random.default_rng(seed)
    families = random_families(rng, n, most=20)
    for x in range(1, n):
        if rng.random() < needy:
            families[x] = [*[f for f in families[x] if f[0] > 1], (1, 25.0)]
    return families, parent_lists(given(families))


def cost_along(order, families):
    """The cost of the best network along an order, infinite without one."""
    total, before = 0.0, 0
    for x in map(int, order):
        total += min((cost for varset, cost in families[x] if not varset & ~before), default=math.inf)
        before |= 1 << x
    return total


def cost_of_network(parents, families):
    """The cost of a network, given the parents of each child."""
    return sum(dict(own)[sum(1 << p for p in mine)] for own, mine in zip(families, parents, strict=True))


def acyclic_choice(order, families):
    """ASOBS as the paper says it, with the descendants found anew for each child: the parent varsets."""
    n = len(families)
    chosen = [0] * n
    for x in map(int, reversed(order)):
        below, waiting = {x}, [x]
        while waiting:
            y = waiting.pop()
            found = [z for z in range(n) if chosen[z] >> y & 1 and z not in below]
            below.update(found)
            waiting += found
        ranked = sorted(families[x], key=lambda family: family[1])
        chosen[x] = next((varset for varset, _ in ranked if not below & set(naive.members(varset))), 0)
    return chosen


def distinct_costs(families, rng):
    """The same families, no two costs alike, so that there is one best choice."""
    return [[(varset, cost + rng.random() / 100) for varset, cost in own] for own in families]
