"""Every network that costs less than a limit, so that a list can be asked whether one is missing.

The families are counted again, all that such a network can have: with any multipliers of cuts, a network with the
family (X, P) costs at least root + c'(X, P) - mu_X, see `certificate`; so those with c' < mu_X + limit - root are all.
Where nobody says what mu_X is, it is found first, below what a family costs that is known; where a smaller c' turns up,
they are counted again. All sums are in whole units, of costs rounded down, and the limit is raised by what costs may be
off: so a few networks come along that cost a little more.

A variable that is an ancestor of another one, and has it as an ancestor, by any of these families, is in one piece with
it. Families of one piece decide alone whether a cycle goes through it; so the networks are those of the pieces, one of
each put together in every way. A piece is searched layer by layer, as `order_search` does, but with all successors, and
all layers are kept: they tell what each set costs that a network can begin with. From there the walk of `order_nodes`
goes back.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.varsets import unpack
from extbnsl.machine.workers import Workers
from extbnsl.verify.certificate import BEYOND, MOST_UNITS, TooMuch, ceil_units, floor_units
from extbnsl.verify.families import FamilySource
from extbnsl.verify.listed import Family
from extbnsl.verify.order_nodes import Walkable, walk
from extbnsl.verify.order_search import Tell, layers, piece_of, within
from extbnsl.verify.passes import Families, WeightedCuts, cuts_of
from extbnsl.verify.recount import count_below
from extbnsl.verify.steps import NO_CUTS, Pass

LARGEST = 64  # variables of a piece
KEPT_BYTES = 56  # of a node that is kept, while all are put in order
MOST_FAMILIES = 1 << 20  # of a child
MOST_STEPS = 1 << 32  # of a walk
MOST_NETWORKS = 1 << 19


@dataclass(frozen=True)
class Question:
    """Which networks are looked for."""

    names: Sequence[str]  # of the variables
    source: FamilySource  # has every family
    scored: Callable[[int, tuple[int, ...]], Family]  # as it is handed over, of a child and parents, numbers, ascending
    guide: Pass = NO_CUTS  # the better it is, the less there is to count; whatever it is, no network is missed
    least: Sequence[int] | None = None  # the mu of each variable by it, in units, if somebody says so: it may be wrong
    tell: Tell = lambda size, of, nodes: None

    @cached_property
    def cuts(self) -> WeightedCuts:
        """The guide over the variables by their numbers."""
        return cuts_of(self.guide, self.names)


def networks_below(
    question: Question, limit: float, known: Sequence[tuple[int, ...]], workers: Workers, room: int
) -> Iterator[tuple[Family, ...]]:
    """All networks that cost less than `limit`, in nats, each once, and perhaps some that cost more by rounding.

    known: the parents of each variable in some network; the cheaper this is, the less there is to count. room: bytes
    for the nodes of searches. Raises Stopped, and TooMuch where figures, families, nodes, networks or the steps of a
    walk are too many, before the first network comes.
    """
    counted = _families_below(question, limit, known, workers)
    if counted is None:
        return
    families, top = counted
    own, parts = families.each, _parts(families)
    if too_large := [part for part in parts if len(part) > LARGEST]:
        raise TooMuch(f"{len(too_large[0])} variables hang together, and a search takes {LARGEST}")
    parts.sort(key=len)
    pieces = [within(families.of(np.isin(families.children, part)), question.cuts) for part in parts]
    order = np.argsort(np.concatenate(parts[::-1]))

    @cache
    def scored(x: int, number: int) -> Family:
        return question.scored(x, unpack(own[x][0][number]))

    for row in _networks(pieces, top, workers, room, question.tell):
        yield tuple(scored(x, number) for x, number in enumerate(row[order].tolist()))


def _families_below(
    question: Question, limit: float, known: Sequence[tuple[int, ...]], workers: Workers
) -> tuple[Families, int] | None:
    """The families of each child that networks below the limit can have, and the limit in units, raised by what costs
    may be off; None if there is no such network."""
    if sum(question.guide.multipliers) > MOST_UNITS:
        raise TooMuch(BEYOND)
    top = ceil_units(limit) + sum(ceil_units(question.source.rounding(x)) for x in range(len(question.names)))

    def counted(mu: Sequence[int]) -> tuple[Families, list[int]]:
        """All families that matter if no reduced costs are below these, and the smallest that there are."""
        gap = max(0, top - question.cuts.needed - sum(mu))
        return _below(question, [own + gap for own in mu], workers)

    mu = question.least
    if mu is None:
        dear = [question.scored(x, own).cost - question.source.rounding(x) for x, own in enumerate(known)]
        _, mu = _below(question, list(map(floor_units, dear)), workers)
    families, found = counted(mu)
    if any(map(operator.lt, found, mu)):
        families, _ = counted(found)
    return (families, top) if families.complete else None


def _below(question: Question, thresholds: Sequence[int], workers: Workers) -> tuple[Families, list[int]]:
    """The families of each child with c' below its threshold in units, the cheapest first, and the smallest c' of each;
    raises Stopped and TooMuch."""
    found, least = count_below(question.cuts, dict(enumerate(thresholds)), question.source, workers)
    for name, own in zip(question.names, np.diff(found.first).tolist(), strict=True):
        if own > MOST_FAMILIES:
            raise TooMuch(f"more than {MOST_FAMILIES:,} parent sets of {name!r} cost little")
    return found.by_cost(), least


def _parts(families: Families) -> list[list[int]]:
    """The variables in parts, ascending, each of those that are ancestors of each other by any of the families."""
    n = families.children.size
    above = [sum(1 << p for p in unpack(np.bitwise_or.reduce(varsets, axis=0))) for varsets, _ in families.each]
    for v in range(n):
        for x in range(n):
            if above[x] >> v & 1:
                above[x] |= above[v]
    parts: dict[int, list[int]] = {}
    for x in range(n):
        both = sum(1 << v for v in range(n) if above[x] >> v & above[v] >> x & 1)
        parts.setdefault(both | 1 << x, []).append(x)
    return list(parts.values())


_Piece = tuple[Families, WeightedCuts]  # `within` some variables, whose families decide about cycles among them


def _searched(piece: _Piece, gap: int, workers: Workers, room: int, tell: Tell) -> Walkable | None:
    """What the best order of each set costs with which a network over a piece can begin that costs less than `gap`
    units above its cheapest families, as all costs are; the last set is that of all variables. None if there is no such
    network. Raises Stopped and TooMuch."""
    families, cuts = piece
    kernel = piece_of(families, cuts, gap, workers)
    if kernel is None:
        return None
    kernel = kernel._replace(together=~np.zeros_like(kernel.together))  # no order stands for others
    found = list(layers(kernel, gap, workers, room, tell, KEPT_BYTES))
    if len(found) <= families.children.size:
        return None
    varsets, least = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(varsets, kind="stable")
    costs = families.costs - families.by_child(np.array(families.cheapest))
    return Walkable(families.varsets.reshape(-1), costs, families.first, varsets[order], least[order])


class _Rows(NamedTuple):
    """Networks: rows (m, k) int32, of each variable the number of its family, and costs (m,), whole units above what
    the cheapest families cost."""

    rows: NDArray[np.int32]
    costs: NDArray[np.int64]


def _networks(
    pieces: Sequence[_Piece], top: int, workers: Workers, room: int, tell: Tell
) -> Iterator[NDArray[np.int32]]:
    """The networks of all pieces together that cost less than `top`, in units, each as a row of `_Rows`, in which the
    variables of the last piece come first. Raises Stopped and TooMuch."""
    gap = top - sum(sum(families.cheapest) for families, _ in pieces)
    above = [families.shown(cuts, workers).root - sum(families.cheapest) for families, cuts in pieces]  # at least
    searched = []
    for i, piece in enumerate(pieces):
        found = _searched(piece, gap - sum(above) + above[i], workers, room, tell)
        if found is None:
            return
        searched.append(found)
        above[i] = int(found.least[-1])
        room -= KEPT_BYTES * found.least.size
    if gap > MOST_UNITS:
        raise TooMuch(BEYOND)
    held = _Rows(np.zeros((1, 0), np.int32), np.zeros(1, np.int64))
    for i, found in enumerate(searched):
        own = _walked(found, gap - sum(above) + above[i], workers)
        held = _joined(own, held, gap - sum(above[i + 1 :]))
    yield from held.rows


def _walked(walkable: Walkable, gap: int, workers: Workers) -> _Rows:
    """The networks of a piece below the gap. Raises Stopped and TooMuch."""
    rows = np.empty((MOST_NETWORKS + 1, walkable.first.size - 1), np.int32)
    costs = np.empty(len(rows), np.int64)
    ((count, steps),) = workers.map(walk, [(walkable, gap, MOST_STEPS, rows, costs, workers.halt)])
    if steps == MOST_STEPS:
        raise TooMuch(f"a walk to the networks takes more than {MOST_STEPS:,} steps")
    _check_number(count)
    return _Rows(rows[:count] - walkable.first[:-1].astype(np.int32), costs[:count])


def _check_number(networks: int) -> None:
    if networks > MOST_NETWORKS:
        raise TooMuch(f"more than {MOST_NETWORKS:,} networks, or parts of them, cost so little")


def _joined(own: _Rows, others: _Rows, gap: int) -> _Rows:
    """Each network with each of some over other variables, if both are below the gap together; by ascending cost, as
    the others are. Raises TooMuch if they are too many."""
    counts = np.searchsorted(others.costs, gap - own.costs)
    _check_number(int(counts.sum()))
    which = np.repeat(np.arange(counts.size), counts)
    with_which = np.arange(which.size) - np.repeat(np.cumsum(counts) - counts, counts)
    costs = own.costs[which] + others.costs[with_which]
    order = np.argsort(costs, kind="stable")
    rows = np.hstack([own.rows[which], others.rows[with_which]])
    return _Rows(rows[order], costs[order])
