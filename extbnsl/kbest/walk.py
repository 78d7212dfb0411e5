"""Every network over at most 64 variables that costs less than a limit, each once.

A network is taken apart from its end: a variable without children, a sink, goes first, with its family; then a sink of
what is left, and so on. What is left of a network over varset U costs at least g(U), which the layered search knows,
and some network costs just that. So a walk that goes on as long as what has gone plus g(what is left) is below the
limit never leaves the networks below the limit by much.

A network can be taken apart in many orders. Of all sinks the one with the largest label goes, which is one order for
each network: when x goes, every larger variable that is left must not have been a sink. So it is *bound* to have a
child among what is left, unless it is a parent of x, which has just been its child; and a bound variable is free again
when a child of it goes. A bound variable cannot go. Walks end where all that is left is bound, or where a bound
variable has no child left that could take it.

`Rest` holds g for every varset that a network within the limit can have begun with. It is a perfect heuristic for a
walk that takes the variables away again, the last ones first.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import lowest, u64
from extbnsl.kernels.compiler import borrowed, inlined, njit
from extbnsl.kernels.hashing import first_slot, mixed, next_slot

LOAD = 0.6  # of the slots, at most, that are taken
NOBODY = np.uint64(2**64 - 1)  # the key of a free slot; the varset of all 64 variables is asked for by nobody


class Rest(NamedTuple):
    """A hash table: keys (s,) uint64 varsets or NOBODY, values (s,) float64 in nats; s is a power of two."""

    keys: NDArray[np.uint64]
    values: NDArray[np.float64]


def rest_of(columns: Iterable[tuple[NDArray[np.uint64], NDArray[np.float64]]], nodes: int) -> Rest:
    """The table of varsets and costs, given in pieces, of so many in all. Some ten to hundred ns each."""
    slots = 1 << max(3, int(nodes / LOAD)).bit_length()
    rest = Rest(np.full(slots, NOBODY), np.full(slots, np.inf))
    for varsets, costs in columns:
        _insert(varsets, costs, rest)
    return rest


@inlined
def _slot(varset, keys):
    """The slot of a varset, or the free one where it belongs: keys stand in their slots, which saves time."""
    at = first_slot(mixed(varset), keys)
    while keys[at] != varset and keys[at] != NOBODY:
        at = next_slot(at, keys)
    return at


@njit
def _insert(varsets, costs, rest):
    varsets, costs, rest = borrowed((varsets, costs, rest))
    for i in range(varsets.size):
        at = _slot(varsets[i], rest.keys)
        rest.keys[at] = varsets[i]
        rest.values[at] = costs[i]


@inlined
def rest_cost(varset, rest):
    """What the best network over a varset costs; infinity if it is not in the table."""
    return rest.values[_slot(varset, rest.keys)]


class WalkFamilies(NamedTuple):
    """The families of n <= 64 children: parents (m,) uint64, costs (m,) float64 ascending for each child, those of
    child x in rows first[x]:first[x + 1]; children (n,) uint64: of which variables each can be a parent."""

    parents: NDArray[np.uint64]
    costs: NDArray[np.float64]
    first: NDArray[np.int64]
    children: NDArray[np.uint64]


class Walk(NamedTuple):
    """How far a walk has come; depth (1,) int64 is how many variables have gone, -1 when it is over.

    By depth: left, bound (n + 1,) uint64; gone (n + 1,) float64: the cost of what has gone; child (n + 1,) int64: the
    variable that is taken away there, row (n + 1,) int64: its next family, others (n + 1,) float64: what all other
    families cost at least. rows (n,) int32: by variable the families that have gone. steps (1,) int64: turns
    taken so far, each of some ns.
    """

    depth: NDArray[np.int64]
    left: NDArray[np.uint64]
    bound: NDArray[np.uint64]
    gone: NDArray[np.float64]
    child: NDArray[np.int64]
    row: NDArray[np.int64]
    others: NDArray[np.float64]
    rows: NDArray[np.int32]
    steps: NDArray[np.int64]


def walk_families(parents: Sequence[NDArray[np.uint64]], costs: Sequence[NDArray[np.float64]]) -> WalkFamilies:
    """The families parents[x] (m, 1) uint64, costs[x] (m,) in score order, as kernels take them."""
    first = np.cumsum([0] + [own.size for own in costs], dtype=np.int64)
    children = np.zeros(len(costs), np.uint64)
    for x, own in enumerate(parents):
        members = np.bitwise_or.reduce(own[:, 0]) if own.size else np.uint64(0)
        children |= ((members >> np.arange(len(costs), dtype=np.uint64)) & np.uint64(1)) << np.uint64(x)
    return WalkFamilies(np.concatenate(parents)[:, 0].copy(), np.concatenate(costs), first, children)


def new_walk(variables: int) -> Walk:
    """A walk at its beginning: nothing has gone."""
    n = variables
    walk = Walk(
        depth=np.zeros(1, np.int64),
        left=np.zeros(n + 1, np.uint64),
        bound=np.zeros(n + 1, np.uint64),
        gone=np.zeros(n + 1),
        child=np.full(n + 1, n),
        row=np.zeros(n + 1, np.int64),
        others=np.full(n + 1, np.inf),
        rows=np.zeros(n, np.int32),
        steps=np.zeros(1, np.int64),
    )
    walk.left[0] = np.uint64(2**n - 1)
    return walk


def walk_from(arrays: Mapping[str, NDArray[Any]], families: WalkFamilies, all_of: np.uint64 | None = None) -> Walk:
    """The walk, over these families, of which these are the arrays: copies. Other arrays may be beside them.

    all_of: the varset that it has begun with; that of all variables if None.

    Raises AssertionError, or KeyError, if they are of no such walk, so that a kernel never goes beyond its arrays.
    """
    n = families.first.size - 1
    walk = Walk(*(arrays[name].copy() for name in Walk._fields))
    for name, other in new_walk(n)._asdict().items():
        assert arrays[name].dtype == other.dtype, "arrays of a walk"
        assert arrays[name].shape == other.shape, "arrays of so many variables"
    depth = int(walk.depth[0])
    begin = np.uint64(2**n - 1) if all_of is None else all_of
    size = int(np.bitwise_count(begin))
    assert -1 <= depth < size, "some variable is left"
    left, child, row = walk.left[: depth + 1], walk.child[: depth + 1], walk.row[: depth + 1]
    assert (np.bitwise_count(left) == size - np.arange(depth + 1)).all(), "one variable after the other goes"
    assert (left & ~begin == 0).all(), "variables that there are"
    assert ((child >= 0) & (child <= n)).all(), "variables that go"
    begun = child < n
    assert (families.first[child[begun]] <= row[begun]).all(), "families of the variable that goes"
    assert (row[begun] <= families.first[child[begun] + 1]).all(), "families of the variable that goes"
    assert ((walk.rows >= 0) & (walk.rows < families.costs.size)).all(), "families that have gone"
    return walk


@inlined
def have_children(bound, left, children):
    """Whether every bound variable could be a parent of another that is left."""
    while bound and children[lowest(bound)] & left:
        bound &= bound - u64(1)
    return bound == u64(0)


@inlined
def next_child(depth, limit, families, rest, walk):
    """Go on to the next smaller variable that may go at a depth; whether there is one."""
    x = walk.child[depth] - 1
    free = walk.left[depth] & ~walk.bound[depth]
    while x >= 0:
        if (free >> u64(x)) & u64(1):
            begin = families.first[x]
            others = walk.gone[depth] + rest_cost(walk.left[depth] ^ (u64(1) << u64(x)), rest)
            if others + families.costs[begin] < limit:
                walk.child[depth], walk.row[depth], walk.others[depth] = x, begin, others
                return True
        x -= 1
    return False


@njit
def walk_on(walk, families, rest, limit, steps, found, costs, halt):
    """Find the next networks that cost less than `limit`: found (m, n) int32 gets the rows of their families, by
    variable, costs (m,) what they cost, until these are full, the walk is over, it has made so many steps or halt[0] is
    set. Returns how many.

    The limit may fall from one call to the next, and never rise.
    """
    walk, families, rest, found, costs, halt = borrowed((walk, families, rest, found, costs, halt))
    n = families.first.size - 1
    written = 0
    end = walk.steps[0] + steps
    depth = walk.depth[0]
    while depth >= 0 and written < costs.size and walk.steps[0] < end and not halt[0]:
        walk.steps[0] += 1
        x = walk.child[depth]
        row = walk.row[depth]
        if x == n or row == families.first[x + 1] or walk.others[depth] + families.costs[row] >= limit:
            if not next_child(depth, limit, families, rest, walk):
                depth -= 1
            continue
        walk.row[depth] += 1
        left = walk.left[depth] ^ (u64(1) << u64(x))
        parents = families.parents[row]
        if parents & ~left:
            continue
        gone = walk.gone[depth] + families.costs[row]
        larger = left & ~((u64(2) << u64(x)) - u64(1))
        bound = (walk.bound[depth] | larger) & ~parents
        walk.rows[x] = row
        if left == u64(0):
            for v in range(n):
                found[written, v] = walk.rows[v]
            costs[written] = gone
            written += 1
        elif bound != left and have_children(bound, left, families.children):
            depth += 1
            walk.left[depth], walk.bound[depth], walk.gone[depth] = left, bound, gone
            walk.child[depth], walk.row[depth], walk.others[depth] = n, 0, np.inf
    walk.depth[0] = depth
    return written
