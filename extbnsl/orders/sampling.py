"""Random orders that have a network."""

import numpy as np

from extbnsl.kernels.compiler import borrowed, njit
from extbnsl.kernels.random import random_below


@njit
def random_order(state, lists):
    """A random order, int32 (k,), of those variables that have a parent set before them: all if there is a network.

    The next one is always drawn from all that could stand there; where each child may have no parents, every order is
    equally likely. A child that is not in the order can be in none (see `feasible_order`). state: uint64 (1,).
    O(n + parents of the families of children that need one).
    """
    state, lists = borrowed((state, lists))
    n = lists.first.size - 1
    left = np.zeros(lists.costs.size, np.uint16)  # how many parents of a family are not in the order
    ready, count = np.empty(n, np.int32), 0
    waiting = lists.stand_in.copy()
    for y in range(n):
        if waiting[y]:
            for family in range(lists.first[y], lists.first[y + 1]):
                left[family] = lists.starts[family + 1] - lists.starts[family]
        else:
            ready[count] = y
            count += 1
    k = 0
    while k < count:
        drawn = k + random_below(state, count - k)
        ready[k], ready[drawn] = ready[drawn], ready[k]
        x = ready[k]
        k += 1
        for pair in range(lists.pair_first[x], lists.pair_first[x + 1]):
            y = lists.child[pair]
            if not waiting[y]:
                continue
            for i in range(lists.pair_starts[pair], lists.pair_starts[pair + 1]):
                left[lists.first[y] + lists.with_parent[i]] -= 1
                if left[lists.first[y] + lists.with_parent[i]] == 0 and waiting[y]:
                    waiting[y] = False
                    ready[count] = y
                    count += 1
    return ready[:count]
