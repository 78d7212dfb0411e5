"""The kernel over the last level of the lattice: families of the largest parent sets, judged where they are counted.

A family (X, P) of that size needs T of P + X and of no other varset of its size. So nothing is kept of what is most of
all that is counted: each range of these varsets is counted, judged and forgotten.
"""

import numpy as np

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inlined, njit
from extbnsl.kernels.ranks import find_place, go_to, is_present, next_present, place_of, rank_without, start_walk
from extbnsl.parents.exhaustive.lattice import ABSENT, has_child
from extbnsl.scores.penalty import family_penalty, shrunk


@njit
def judge_last(first, last, size, alive, tables, rules, found):
    """Cost the alive families (X, Q - X) of the varsets Q of `size` members, first <= place < last.

    alive: of level size - 1. tables: the counts of level size - 2 and of size - 1; of the varsets Q their places, and T
    from place `first` on. A family cheaper than each of its subsets with one parent less, the slack added, is written
    to found = (varset (m, w), child, cost) arrays; there is room for (last - first) size of them. Returns how many were
    found.
    """
    alive, tables, rules, found = borrowed((alive, tables, rules, found))
    (places_below, below), (places_here, here), (places, above) = tables
    parameter, arities, binomials, slack = rules.parameter, rules.arities, rules.binomials, rules.slack
    factors, step = rules.factors, rules.step
    some_required, must = rules.required.some, rules.required.of
    varsets, owners, costs = found
    walk = start_walk(size, binomials)
    members = walk.members
    facets, twice = np.empty(size, np.uint64), np.empty(size + 1, np.int64)
    block, before = find_place(first, places)
    bits = places[block, 0] & ~before
    written = np.int64(0)
    for i in range(first, last):
        block, bits, rank = next_present(block, bits, places)
        go_to(rank, walk, binomials)
        twice[size] = 0  # sums as those of the walk, over ranks two lower
        for k in range(size - 1, -1, -1):
            facet = rank_without(k, walk)
            facets[k] = ABSENT if some_required and not is_present(facet, places_here) else place_of(facet, places_here)
            twice[k] = twice[k + 1] + (binomials[members[k], k - 1] if k else 0)
        for j in range(size):
            x = members[j]
            if facets[j] == ABSENT or not has_child(alive, facets[j], x):
                continue
            states = 1.0
            for k in range(size):
                states *= factors[members[k]] if k != j else 1
            penalty = family_penalty(parameter, arities[x], states) + (size - 1) * step
            cost = here[facets[j]] - above[i - first] + penalty
            replaced = cost - slack  # by a subset that costs no more
            k = np.int64(0)
            while k < size:
                if k != j and not (some_required and has_child(must, members[k], x)):
                    without = below[place_of(_rank_without_two(min(j, k), max(j, k), walk, twice), places_below)]
                    if without - here[facets[k]] + shrunk(penalty - step, factors[members[k]]) <= replaced:
                        break
                k += 1
            if k == size:
                _write_rest(members, size, j, varsets, written)
                owners[written], costs[written] = x, cost
                written += 1
    return written


@inlined
def _rank_without_two(j, k, walk, twice):
    """Rank of the walk's varset without its j-th and its k-th member, j < k."""
    same, down = walk.same, walk.down
    return same[0] - same[j] + down[j + 1] - down[k] + twice[k + 1]


@inlined
def _write_rest(members, size, j, varsets, i):
    """varsets[i] (w,) uint64 = the members but the j-th."""
    for q in range(varsets.shape[1]):
        varsets[i, q] = 0
    for k in range(size):
        if k != j:
            varsets[i, members[k] >> 6] |= u64(1) << u64(members[k] & 63)
