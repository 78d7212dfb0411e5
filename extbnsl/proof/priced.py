"""Families by price, and what goes on from them: networks of those that are known, and the proof that begins with the
multipliers of the last round."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.multipliers import families_of, multipliers_of
from extbnsl.kernels.varsets import add, pack
from extbnsl.orders.local_search import USUAL, Incumbent
from extbnsl.parents.components import Component
from extbnsl.parents.exhaustive.surviving import Survivors
from extbnsl.proof.context import Context
from extbnsl.proof.guide import FIX, Bounding, Turn
from extbnsl.proof.incumbents import best_order, descended
from extbnsl.proof.pieces import Part, Piece, PieceSearch
from extbnsl.scores.local import network_rows


@dataclass(frozen=True)
class KnownNetworks:
    """Networks of low cost of the families known so far, parents[X] (m, words) and costs[X] (m,)."""

    context: Context

    def best(self, parents: Sequence[NDArray], costs: Sequence[NDArray], seed: int) -> Incumbent:
        """One that a local search finds."""
        return best_order(_whole(parents, costs), self.context.methods.seed + seed, USUAL, self.context)

    def improved(self, parents: Sequence[NDArray], costs: Sequence[NDArray], order: NDArray[np.int64]) -> Incumbent:
        """One of an order in which no variable has a better place; it costs infinity if that has none."""
        return descended(_whole(parents, costs), order.copy(), self.context)


def whole_of(survivors: Survivors) -> Component:
    """All variables as one component: the families of others may bind those that these ones do not."""
    return _whole(survivors.scores.parents, survivors.scores.costs)


def _whole(parents: Sequence[NDArray], costs: Sequence[NDArray]) -> Component:
    """All families as those of one component."""
    return Component(tuple(range(len(costs))), tuple(parents), tuple(costs))


def priced_part(component: Component, survivors: Survivors) -> tuple[Part, PieceSearch]:
    """The part of a component of all variables with what prices have shown, and its search, which begins with dropping
    the families that no cheaper network can have: this step a check can repeat from the data."""
    priced = survivors.priced
    assert priced is not None, "there are prices"
    best = _along(priced.order, component)
    if not math.isfinite(best.cost):  # a variable that never varies must come before another one
        best = _along(np.array(network_rows(component.parents)[0], np.int64), component)
    multipliers = multipliers_of(families_of(component.parents, component.costs), priced.cuts, priced.weights)
    bound = min(best.cost, max(priced.bound, float(survivors.least.sum())))
    variables = tuple(range(component.size))
    begun = Bounding(component, multipliers, bound, turn=Turn(FIX))
    search = PieceSearch(0, (Piece(variables, bound, None, component, multipliers),), bounding=begun)
    return Part(tuple(best.order.tolist()), best.cost, bound), search


def _along(order: NDArray[np.int64], component: Component) -> Incumbent:
    """An order of the component with what its best network costs."""
    before, cost = pack((), component.size), 0.0
    for x in order.tolist():
        inside = ~(component.parents[x] & ~before).any(axis=1)
        cost += float(component.costs[x][int(np.argmax(inside))]) if inside.any() else math.inf
        add(x, before)
    return Incumbent(order, cost)
