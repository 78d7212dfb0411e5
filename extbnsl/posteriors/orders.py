"""Sums over all orders of the variables: their weight, and the probability of every family.

An order weighs the product, over the variables, of what the families inside those before it weigh: alpha_x(U), for the
varset U before x. So a network counts as often as there are orders that it keeps to (Koivisto and Sood 2004). With

    g(U) = sum over x in U of g(U - x) alpha_x(U - x),            g(none) = 1,
    h(U) = sum over x outside U of alpha_x(U) h(U + x),           h(all) = 1,

all orders weigh g(all) = h(none), and the probability that x has the parents P is the weight of P times the sum of
g(U) h(U + x) / g(all) over all U without x that P is inside of. All terms are positive, so nothing cancels.

The lattice of varsets is gone over twice: upwards for g, then downwards for h, which takes the place of g, and for the
probabilities. The weights alpha are never there as a whole: those of a block are made when it is gone over, from the
families inside (lattice.py). Blocks with as many high members wait for nothing of each other: threads do them side by
side. Slabs of blocks are what is stored; each ends with a state.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.codec import Misfit, Whole
from extbnsl.core.errors import BudgetError
from extbnsl.core.events import StageAdvanced
from extbnsl.core.figures import format_size
from extbnsl.files.shelf import Column
from extbnsl.parents.exhaustive.state import Means
from extbnsl.posteriors.lattice import extend, share, sweep, weigh
from extbnsl.posteriors.order_layout import MOST_POSITIONS, Layout, layout_of
from extbnsl.posteriors.wide import LOWEST, Wide, log_of
from extbnsl.scores.local import LocalScores

STAGE = "sums"
BLOCK_POSITIONS = 15  # that tell the varsets of a block apart, at most: the weights of a child lie in the cache
SLAB_POSITIONS = 22  # that tell the varsets of a slab apart; more, where there would be more than SLABS slabs
SLABS = 64
VARSET_BYTES = 12

Room = tuple[NDArray[np.float64], NDArray[np.int32] | None]  # weights, by positions and low members


@dataclass(frozen=True)
class OrderSums:
    """How far the sums over all orders are; immutable.

    done: how many slabs have been gone over, upwards and then downwards. slabs: g of the varsets of each slab that has
    been gone over upwards, or h of one that has been gone over downwards too: mantissas and exponents. weight: of all
    orders of the lattice, once all slabs have been gone over upwards; log_factor: see `Layout`. error: what rounding
    changes a probability by at most, relative, to first order; of less than 1e-28 nothing may be left. families: of
    each child, in the order of the scores, what is known of the probability of each family.

    Its arrays are those of `slabs` and `families`.
    """

    engine: ClassVar[str] = "orders"
    ignored: ClassVar[float] = 0.0

    done: Whole
    slabs: tuple[Wide, ...]
    weight: tuple[float, int]
    log_factor: float
    error: float
    families: tuple[NDArray[np.float64], ...]

    def check(self, scores: LocalScores, lattice: "Lattice") -> None:
        """Raise Misfit unless it is of these scores: kernels take the arrays as they are."""
        fits = self.done <= 2 * lattice.slabs and len(self.slabs) == min(self.done, lattice.slabs)
        fits = fits and all(own.size == 1 << lattice.within for slab in self.slabs for own in slab)
        if not fits or [own.size for own in self.families] != [costs.size for costs in scores.costs]:
            raise Misfit("sums")

    @property
    def answers(self) -> bool:
        """Whether all is done: each slab twice."""
        return 0 < self.done == 2 * len(self.slabs)

    @property
    def drawable(self) -> bool:
        """Whether samples can be drawn."""
        return self.answers

    @property
    def log_weight(self) -> float:
        """ln of the weight of all orders."""
        return log_of(*self.weight) + self.log_factor


def bytes_needed(positions: int) -> int:
    """How many bytes of a shelf sums over the orders of so many variables take: all varsets, and a slab beside them."""
    return VARSET_BYTES * ((1 << positions) + (1 << _slab_positions(positions)))


def seconds_needed(positions: int, families: int) -> float:
    """About how many seconds of one processor they take, with so many families of all children; up to three times as
    many where costs of a child differ so much that weights are wide."""
    varsets, blocks = 1 << positions, 1 << max(0, positions - BLOCK_POSITIONS)
    additions = 3 * varsets * positions * min(positions, BLOCK_POSITIONS) / 4.0
    return 0.35e-9 * additions + 3.5e-9 * positions * varsets + 2e-9 * families * blocks


def _slab_positions(positions: int) -> int:
    return min(positions, max(SLAB_POSITIONS, positions - SLABS.bit_length() + 1))


def sum_over_orders(scores: LocalScores, means: Means, begun: OrderSums | None = None) -> Iterator[OrderSums]:
    """The weight of all orders and the probability of each family; states, the last of which has all of it.

    Goes on from `begun`, with the same result to the last bit. Raises Stopped as the workers do; BudgetError if memory
    and disk have too little room; InputError as `layout_of` does; Misfit if `begun` is not of these scores. O(n^2 2^n)
    additions of n variables that have or may be parents, and for each family one for each varset of high members around
    its own.
    """
    lattice = Lattice(layout_of(scores, BLOCK_POSITIONS), means)
    if begun is not None:
        begun.check(scores, lattice)
    state = begun or _beginning(scores, lattice)
    while state.done < 2 * lattice.slabs:
        state = _upwards(lattice, state) if state.done < lattice.slabs else _downwards(lattice, state)
        means.observer(StageAdvanced(STAGE, state.done, 2 * lattice.slabs, ""))
        yield state


def _beginning(scores: LocalScores, lattice: "Lattice") -> OrderSums:
    """The state in which nothing is done; BudgetError if there is no room for the others."""
    n = lattice.positions
    if n > MOST_POSITIONS or not lattice.means.shelf.fits(bytes_needed(n)):
        raise BudgetError(
            f"Sums over the orders of {n} variables take {format_size(bytes_needed(n))} of memory or disk: "
            "give more, or fewer variables."
        )
    families = tuple(np.full(own.size, 1.0) for own in scores.costs)  # of those that take no part
    for x in lattice.layout.variables:
        families[x][:] = 0.0
    layout = lattice.layout
    return OrderSums(0, (), (0.0, LOWEST), layout.log_factor, layout.rounding, families)


def _upwards(lattice: "Lattice", state: OrderSums) -> OrderSums:
    """The state when g of the next slab is known."""
    numbers, exponents = lattice.numbers(state.done, state.slabs, up=True)
    weight = (float(numbers[-1]), int(exponents[-1]))
    return replace(state, done=state.done + 1, slabs=(*state.slabs, (numbers, exponents)), weight=weight)


def _downwards(lattice: "Lattice", state: OrderSums) -> OrderSums:
    """The state when h of the next slab has taken the place of g, and the probabilities have their part."""
    top = 2 * lattice.slabs - 1 - state.done
    own = lattice.numbers(top, state.slabs, up=False)
    slabs = (*state.slabs[:top], own, *state.slabs[top + 1 :])
    families = lattice.with_shares(top, slabs, state)
    return replace(state, done=state.done + 1, slabs=slabs, families=families)


class Lattice:
    """The varsets of the positions of a layout, in blocks and slabs, and what goes over them.

    high: the members of a block beyond the low positions, top: those of them that tell slabs apart, each moved down.
    """

    def __init__(self, layout: Layout, means: Means) -> None:
        self.layout, self.means = layout, means
        self.positions, self.low = layout.size, layout.families.low
        self.within = _slab_positions(self.positions)
        self.middles = self.within - self.low  # positions that tell the blocks of a slab apart
        self.slabs = 1 << self.positions - self.within
        self._rooms = list[Room]()  # that no task has

    def _block(self, slab: Wide, high: int) -> Wide:
        """The numbers of a block, in its slab."""
        first = self._place(high)
        return slab[0][first : first + (1 << self.low)], slab[1][first : first + (1 << self.low)]

    def _place(self, high: int) -> int:
        """Where a block begins in its slab."""
        return (high & (1 << self.middles) - 1) << self.low

    def numbers(self, top: int, slabs: Sequence[Wide], up: bool) -> Wide:
        """g of a slab, from those of the slabs inside it, or h, from those of the slabs around it."""
        shelf, size = self.means.shelf, 1 << self.within
        columns = shelf.column((size,), np.float64), shelf.column((size,), np.int32)
        own = columns[0].array(), columns[1].array()
        known = {**dict(enumerate(slabs)), top: own}
        blocks = sorted(range(1 << self.middles), key=int.bit_count, reverse=not up)
        for _, layer in itertools.groupby(blocks, key=int.bit_count):
            tasks = [(columns, top << self.middles | middle, known, up) for middle in layer]
            self.means.workers.map(self._fill, tasks)
        return own

    def _fill(self, columns: tuple[Column, Column], high: int, slabs: Mapping[int, Wide], up: bool) -> None:
        """Let the columns of a slab have the numbers of one of its blocks."""
        numbers, exponents = np.zeros(1 << self.low), np.full(1 << self.low, LOWEST, np.int32)
        if high == (0 if up else (1 << self.positions - self.low) - 1):
            first = 0 if up else -1
            numbers[first], exponents[first] = 1.0, 0
        beside = [x for x in range(self.low, self.positions) if (high >> x - self.low & 1) == up]
        with self._room() as (weights, scales):
            weigh(self.layout.families, np.array([*range(self.low), *beside]), high, weights, scales)
            for x in beside:
                other = high ^ 1 << x - self.low
                source, own_scales = slabs[other >> self.middles], None if scales is None else scales[x]
                extend(self._block(source, other), weights[x], own_scales, (numbers, exponents))
            sweep((numbers, exponents), weights, scales, up)
        columns[0].fill(self._place(high), numbers)
        columns[1].fill(self._place(high), exponents)
        self.means.shelf.touched(VARSET_BYTES * (len(beside) + 1) << self.low)

    def with_shares(self, top: int, after: Sequence[Wide], state: OrderSums) -> tuple[NDArray[np.float64], ...]:
        """What is known of the probabilities of families, with what a slab adds, when what comes before a variable is
        in it. after: h of it and of those around it; `state` has g of it."""
        families, variables = list(state.families), self.layout.variables
        tasks = [(at, top, state.slabs[top], after, state.weight) for at in range(len(variables))]
        found = self.means.workers.map(self._shares, tasks)
        for x, rows, shares in zip(variables, self.layout.rows, found, strict=True):
            families[x] = families[x].copy()
            families[x][rows] += shares
        return tuple(families)

    def _shares(
        self, x: int, top: int, before: Wide, after: Sequence[Wide], weight: tuple[float, int]
    ) -> NDArray[np.float64]:
        """What a slab adds to the probabilities of the families of one position."""
        shares, inverse = np.zeros(self.layout.rows[x].size), (1.0 / weight[0], -weight[1])
        own = 1 << x >> self.low
        with self._room() as room:
            for high in range(top << self.middles, top + 1 << self.middles):
                if high & own or self.means.workers.halt[0]:
                    continue
                numbers = self._block(before, high), self._block(after[(high | own) >> self.middles], high | own)
                share((self.layout.families, x, high), numbers, inverse, room, shares)
                self.means.shelf.touched(2 * VARSET_BYTES << self.low)
        return shares

    @contextmanager
    def _room(self) -> Iterator[Room]:
        """Room for the weights of all positions in a block, which no other task has."""
        try:
            room = self._rooms.pop()
        except IndexError:  # asked for beforehand, another thread could take the last one in between
            shape = self.positions, 1 << self.low
            plain = self.layout.families.scales is None
            room = np.empty(shape), None if plain else np.empty(shape, np.int32)
        yield room
        self._rooms.append(room)
