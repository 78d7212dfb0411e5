"""What the families of some variables cost at least in any order of these: a search of its own, layer by layer.

It shares nothing with the search of the solver. A node is a varset U, with g(U), what the best order of U costs as far
as it has been found; a layer has the nodes of one size. A successor of U has one more variable X, whose family is the
cheapest with all its parents in U. Costs are whole units, so all sums are exact.

**The bound.** Of a cut with j clusters disjoint from U, needs = ceil(j / 2); a family (X, P) counts for each cluster
that has X in it and P outside, and times = ceil(k / 2) if that is k of the cut's. In an order that begins with U, the
first member of each of the j clusters has a family that counts for it, so the times of the families outside U add up
to needs or more. So with any multipliers, c' = c - sum of multiplier times, and mu_X = the least c' of X,

    h(U) = sum of multiplier needs + sum of mu_X over the X outside U

is no more than what the variables outside U cost; with a family of rc = c' - mu_X among theirs, they cost no less than
h(U) + rc. mu follows from the families here, so that no claim is needed for it.

**The successors.** Only orders below the limit matter, those in which g + h < limit at each node. If the best order
that begins with U is one of them, each X outside has in it the first of its families, by cost, with all parents before
X. None comes after `first`, the first with all parents in U, and g + h + rc < limit for one up to there, or U can go.
Let par(X) be the parents outside U of all families up to `first`, and S a set that has par(X) with each X in it. The
families of S then have their parents in U or S. So with S moved to the front of what follows U, in the order that it
has, nobody loses a parent, and the cost stays. So it is enough to go on from U with the members of the smallest such S:
of the best orders below the limit one is always left.
"""

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.figures import format_size
from extbnsl.machine.workers import Workers, chunks
from extbnsl.verify.certificate import BEYOND, MOST_UNITS, TooMuch
from extbnsl.verify.order_nodes import BLOCK, Piece, expand
from extbnsl.verify.passes import CLUSTERS, Families, WeightedCuts, weighted

CHUNK = 2048  # nodes that are expanded together
FEWEST = 1 << 18  # successors that are put in order together
NODE_BYTES = 16
ORDERING_BYTES = 80  # of a successor, while they are put in order
Tell = Callable[[int, int, int], None]  # hears of each layer of a search, of how many, and of its nodes


class Layer(NamedTuple):
    """Nodes of one size."""

    varsets: NDArray[np.uint64]  # (n,) ascending
    g: NDArray[np.int64]  # (n,) above the cheapest of each child


FIRST = Layer(np.zeros(1, np.uint64), np.zeros(1, np.int64))


def least_cost(
    families: Families,
    cuts: WeightedCuts,
    limit: int,
    workers: Workers,
    room: int,
    tell: Tell,
) -> int:
    """What the families of at most 64 variables cost at least in any order of these; `limit` if that is as much or
    more.

    limit: in units. room: bytes for the nodes. The same whatever the threads. Raises Stopped, and TooMuch where figures
    or a layer are too large.
    """
    if not families.complete:
        return limit
    cheapest = sum(families.cheapest)
    piece = piece_of(*within(families, cuts), limit - cheapest, workers)
    if piece is None:
        return limit
    size, last = deque(enumerate(layers(piece, limit - cheapest, workers, room, tell)), maxlen=1).pop()
    return cheapest + int(last.g[0]) if size == families.children.size else limit


def layers(piece: Piece, gap: int, workers: Workers, room: int, tell: Tell, kept_bytes: int = 0) -> Iterator[Layer]:
    """The layers of a piece that some order below the limit reaches, that of no variables first; the last one has all
    variables if a whole order is below it. kept_bytes: of a node, if the layers are kept; the rest: see `least_cost`
    and `piece_of`."""
    m, layer = piece.least.size, FIRST
    for size in range(m):
        yield layer
        tell(size, m, layer.g.size)
        room -= kept_bytes * layer.g.size
        layer = next_layer(piece, layer, size, gap, workers, room)
        if layer.g.size == 0:
            return
    yield layer


def within(families: Families, cuts: WeightedCuts) -> tuple[Families, WeightedCuts]:
    """Families and cuts without what they have beside the m <= 64 children, in positions 0 to m - 1. What a cluster has
    of these is a cluster, and without any it is none."""
    children = families.children.tolist()
    own = _positions(cuts.cuts.reshape(-1, cuts.cuts.shape[2]), children).reshape(-1, CLUSTERS, 1)
    inside = _positions(families.varsets, children)[:, None]
    placed = Families(np.arange(len(children)), families.first, inside, families.costs)
    return placed, weighted(own, cuts.multipliers.tolist())


def _positions(varsets: NDArray[np.uint64], variables: Sequence[int]) -> NDArray[np.uint64]:
    """What varsets (m, words) have of some variables, as masks (m,) over their positions."""
    masks = np.zeros(len(varsets), np.uint64)
    for position, v in enumerate(variables):
        masks |= (varsets[:, v >> 6] >> np.uint64(v & 63) & np.uint64(1)) << np.uint64(position)
    return masks


def piece_of(families: Families, cuts: WeightedCuts, gap: int, workers: Workers) -> Piece | None:
    """What the kernels read of families and cuts `within` a piece; None if no order costs less than `gap` units above
    the cheapest families of each child.

    Left out are families that no such order has, and those that another one takes the place of: it costs no more, and
    all its parents are among theirs. Raises Stopped and TooMuch.
    """
    if gap <= 0:
        return None
    beyond = gap + 2 * sum(cuts.multipliers.tolist())
    if beyond > MOST_UNITS:
        raise TooMuch(BEYOND)
    m = families.children.size
    excess = families.costs - families.by_child(np.array(families.cheapest))
    few = replace(families, costs=excess).kept(excess < gap)
    own = few.needed(np.zeros(m, np.int64), workers).by_cost()
    shown = own.shown(cuts, workers)
    if beyond + sum(map(abs, shown.least.tolist())) > MOST_UNITS:
        raise TooMuch(BEYOND)
    if shown.root >= gap:
        return None
    above = shown.reduced - own.by_child(shown.least)
    keep = above < gap - shown.root
    own, above = own.kept(keep), above[keep]
    parents = [varsets[:, 0] for varsets, _ in own.each]
    blocks = [lacking(some, x, m) for x, some in enumerate(parents)]
    return Piece(
        own.costs,
        np.concatenate([np.minimum.accumulate(some) for some in np.split(above, own.first[1:-1])]),
        np.concatenate([np.bitwise_or.accumulate(some) for some in parents]),
        own.first,
        np.concatenate(blocks),
        np.cumsum([0, *map(len, blocks)], dtype=np.int64),
        shown.least,
        cuts.cuts.reshape(-1, CLUSTERS),
        cuts.multipliers,
    )


def lacking(parents: NDArray[np.uint64], x: int, m: int) -> NDArray[np.uint64]:
    """The blocks (b, m, 4) of a `Piece` for the families of x."""
    padded = np.append(parents, np.full(-parents.size % BLOCK, 1 << x, np.uint64))
    blocks = np.empty((padded.size // BLOCK, m, BLOCK // 64), np.uint64)
    for y in range(m):
        without = padded >> np.uint64(y) & np.uint64(1) == 0
        blocks[:, y] = np.packbits(without, bitorder="little").view("<u8").reshape(-1, BLOCK // 64)
    return blocks


def next_layer(piece: Piece, layer: Layer, size: int, gap: int, workers: Workers, room: int) -> Layer:
    """The nodes with a variable more than those of a size, below the limit. Raises Stopped, and TooMuch if they and
    putting them in order take more than `room` bytes."""

    def expanded(lo: int, hi: int) -> Layer:
        return _in_order([Layer(*expand(piece, layer.varsets[lo:hi], layer.g[lo:hi], gap, workers.halt))])

    tasks = chunks(layer.g.size, CHUNK)
    held, fresh = Layer(layer.varsets[:0], layer.g[:0]), list[Layer]()
    for done, some in enumerate(workers.stream(expanded, tasks, 2 * workers.threads, lambda result: None), 1):
        fresh.append(some)
        waiting = sum(one.g.size for one in fresh)
        if waiting > max(held.g.size, FEWEST) or done == len(tasks):
            needed = NODE_BYTES * layer.g.size + ORDERING_BYTES * (held.g.size + waiting)
            if needed > room:
                in_all = format_size(math.ceil(needed * len(tasks) / done))
                raise TooMuch(
                    f"a search of {piece.least.size} variables has {layer.g.size:,} nodes of {size} variables, and "
                    f"those of {size + 1} take about {in_all}, where there are {format_size(room)}"
                )
            held, fresh = _in_order([held, *fresh]), []
    return held


def _in_order(parts: Sequence[Layer]) -> Layer:
    """The nodes of all parts in order, each once with its least g. The parts may be in order already."""
    varsets, g = np.concatenate([part.varsets for part in parts]), np.concatenate([part.g for part in parts])
    order = np.argsort(varsets, kind="stable")  # merges what is in order
    varsets = varsets[order]
    first = np.flatnonzero(np.append(True, varsets[1:] != varsets[:-1])[: varsets.size])
    return Layer(varsets[first], np.minimum.reduceat(g[order], first) if first.size else g)
