"""Lower bounds h from tables over groups of variables: the static bound and pattern databases.

h(U) bounds from below what the variables outside U add to the cost of any network that has U first. The variables are
cut into groups of contiguous bits; each group has a table indexed by the part of U inside the group, and h(U) is the
sum of the entries. Both bounds are consistent.

- static (Malone et al. 2011, Definition 1): every variable outside U takes its best parents among all others.
- pattern database (Yuan and Malone 2012): within a group acyclicity is kept; variables of other groups are all
  available as parents. Its backward form bounds what the variables inside U cost.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import lowest, u64
from extbnsl.kernels.compiler import inlined, inner, njit


def static_table(best: NDArray[np.float64]) -> NDArray[np.float64]:
    """The static bound over one group: entry A = sum of best[X] over the group's X outside A; 2^k entries."""
    table = np.zeros(1)
    for cost in best:
        table = np.concatenate((table + cost, table))
    return table


@njit
def _cut_to_group(parents, group, own):
    """Parent sets (m,) as masks over the positions in `group` but `own`, positions above it shifted down: int64."""
    masks = np.zeros(parents.size, np.int64)
    for k in range(group.size):
        if k != own:
            bit = k if k < own else k - 1
            for j in range(parents.size):
                masks[j] |= np.int64((parents[j] >> u64(group[k])) & u64(1)) << bit
    return masks


def group_families(
    parents: Sequence[NDArray[np.uint64]], costs: Sequence[NDArray[np.float64]], group: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """The families of a group's children, parents outside the group taken as given, ready for `pattern_table`.

    Returns masks (m,) over positions in the group without the child's own (positions above it shifted down), costs
    (m,), first (k + 1,).
    """
    members = np.array(group, dtype=np.int64)
    masks, own = [], []
    for i, x in enumerate(group):
        masks.append(_cut_to_group(parents[x][:, 0], members, i))
        own.append(costs[x])
    return np.concatenate(masks), np.concatenate(own), np.cumsum([0, *map(len, own)], dtype=np.int64)


def pattern_bytes(width: int) -> int:
    """Bytes that building the pattern database of a group of `width` variables takes at its peak."""
    return 8 * (width << max(0, width - 1)) + (8 << width)


@njit
def pattern_table(masks, costs, first, backward=False):
    """The pattern database of one group of k variables: float64 (2^k,), entry A the least cost of the rest of it.

    backward: for a search from the set of all variables to the empty one; then entry A is the least cost of A, with no
    more of the group before it, and infinity if A has no order. Families as from `group_families`. O(k^2 2^k) minima,
    k 2^(k - 1) doubles of working memory.
    """
    k = first.size - 1
    best = np.full((k, 1 << max(0, k - 1)), np.inf)  # the cheapest parent sets inside each set of the others
    for i in range(k):
        own = best[i]
        for j in range(first[i], first[i + 1]):
            own[masks[j]] = min(own[masks[j]], costs[j])
        _spread_minima(own, k - 1)
    table = np.empty(1 << k)
    begin = u64(0 if backward else (1 << k) - 1)  # whose entry is known
    table[begin] = 0.0
    for way in range(1, 1 << k):
        a = begin ^ u64(way)
        least = np.inf
        rest = u64(way)
        while rest:
            i = lowest(rest)
            rest &= rest - u64(1)
            least = _smaller(least, best[i, _without(a, i)] + table[a ^ (u64(1) << i)])
        table[a] = least
    return table


@inlined
def _without(members, i):
    """The members but the i-th position, those above it shifted down."""
    return (members & ((u64(1) << i) - u64(1))) | ((members >> (i + u64(1))) << i)


@inner
def _smaller(x, y):
    """The smaller of two numbers that are not NaN: unlike min(), this becomes one vector instruction."""
    return x if x < y else y


@inner
def _spread_minima(values, bits):
    """values[A] = least of values[B] over the subsets B of A, in place; 2^bits values."""
    done = 0
    if bits >= 3:  # the three lowest bits at once: their inner loops would be too short
        done = 3
        for at in range(0, values.size, 8):
            v0, v1, v2, v3 = values[at], values[at + 1], values[at + 2], values[at + 3]
            v4, v5, v6, v7 = values[at + 4], values[at + 5], values[at + 6], values[at + 7]
            v1, v3, v5, v7 = _smaller(v0, v1), _smaller(v2, v3), _smaller(v4, v5), _smaller(v6, v7)
            v2, v3, v6, v7 = _smaller(v0, v2), _smaller(v1, v3), _smaller(v4, v6), _smaller(v5, v7)
            values[at + 1], values[at + 2], values[at + 3] = v1, v2, v3
            values[at + 4], values[at + 5] = _smaller(v0, v4), _smaller(v1, v5)
            values[at + 6], values[at + 7] = _smaller(v2, v6), _smaller(v3, v7)
    for b in range(done, bits):
        step = 1 << b
        for block in range(0, values.size, 2 * step):
            lower = values[block : block + step]
            upper = values[block + step : block + 2 * step]
            for j in range(step):
                upper[j] = _smaller(lower[j], upper[j])
