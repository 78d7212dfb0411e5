"""Networks of low cost over a component."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.ascent import multipliers_bytes
from extbnsl.bounds.groups import WIDEST
from extbnsl.bounds.multipliers import Support
from extbnsl.core.events import IncumbentFound, StageAdvanced
from extbnsl.core.figures import counted, format_cost
from extbnsl.orders.local_search import (
    BRIEF,
    DESCENTS,
    FIRST,
    MOMENT,
    QUICK,
    USUAL,
    Effort,
    Incumbent,
    improve_order,
    search_orders,
)
from extbnsl.parents.best_score import byte_tables, cheapest_families
from extbnsl.parents.components import Component
from extbnsl.parents.exhaustive.surviving import Survivors
from extbnsl.proof.context import Context
from extbnsl.proof.guide import may_polish
from extbnsl.proof.pieces import Part, Piece, PieceSearch
from extbnsl.proof.solving import Solving
from extbnsl.proof.steps import cheapest_pass
from extbnsl.scores.local import feasible_order, network_rows
from extbnsl.search.state import SearchState

if TYPE_CHECKING:  # a small solve need not load these
    from extbnsl.orders.arriving import ArrivingOrders

Lists = Sequence[NDArray[Any]]  # an array for each child

FEWEST_NODES = 1 << 20  # kept by a search before it looks for a better network
FACTOR = 4  # by which it grows before it looks again


def find_parts(
    survivors: Survivors, components: tuple[Component, ...], context: Context, rounded: bool = False
) -> list[Part]:
    """A good order of each component; some are proved optimal by the cheapest families already. In the MOMENT after a
    stop: of few variables until a round finds nothing better, of many one quick descent; after that any order with a
    network. rounded: whether solutions of linear programs are made networks later, where there are such; then descents
    do for many variables."""
    count, largest = len(components), max(component.size for component in components)
    detail = counted(largest, "variable")
    if count > 1:
        detail = f"{count} components of up to {detail}"
    parts = []
    with context.stages.stage("incumbent", detail) as summary:
        for k, component in enumerate(components):
            best = _find_incumbent(component, context, whole=count == 1, rounded=rounded)
            floor = float(survivors.least[list(component.variables)].sum())
            steps = (cheapest_pass(component.costs),) if floor >= best.cost else ()
            parts.append(Part(tuple(best.order.tolist()), best.cost, floor, proved=bool(steps), steps=steps))
            if count > 1:
                context.observer(StageAdvanced("incumbent", k + 1, count, "components"))
        cost = math.fsum(part.upper_bound for part in parts)
        summary.append(f"{detail}; cost {format_cost(cost)}")
        context.observer(IncumbentFound(cost))
    return parts


def _find_incumbent(component: Component, context: Context, whole: bool, rounded: bool) -> Incumbent:
    """A good order of one component; the observer is told of costs if it is the whole problem."""
    if component.size == 1:
        return Incumbent(np.zeros(1, np.int64), float(component.costs[0][0]))
    if context.workers.left_of(MOMENT) == 0.0:
        order, rows = network_rows(component.parents)
        cost = math.fsum(float(costs[row]) for costs, row in zip(component.costs, rows, strict=True))
        return Incumbent(np.array(order), cost)
    if component.size <= WIDEST and context.methods.patterns:
        effort = BRIEF  # the bound finds the optimum itself
    elif component.size <= QUICK:  # a search that turns out to be long looks again before it begins
        effort = FIRST
    else:
        effort = DESCENTS if rounded and _has_programs(component, context) else USUAL
    tell = (lambda cost: context.observer(IncumbentFound(cost))) if whole else (lambda cost: None)
    return best_order(component, context.methods.seed, effort, context, tell)


def _has_programs(component: Component, context: Context) -> bool:
    """Whether there are linear programs for a component that no search can take."""
    needed = multipliers_bytes(component.costs, component.size, context.workers.threads)
    return may_polish(context.methods) and needed <= context.memory_left


def find_better(solving: Solving, seed: int, effort: Effort) -> bool:
    """Look for a better network of the component; whether there is one, in the standing then."""
    return solving.take(best_order(solving.component, seed, effort, solving.context))


def find_better_left(search: PieceSearch, solving: Solving, effort: Effort) -> bool:
    """`find_better` among the families that are left of the piece that the search is at, if all others are solved.

    Those that are dropped are in no better network, and among fewer families a search is stuck less often.
    """
    seed = solving.context.methods.seed + 1
    if not _is_last(search):
        return find_better(solving, seed, effort)
    left = search.piece.left
    if feasible_order(left.parents)[1]:
        return False
    return solving.take(_with_others(best_order(left, seed, effort, solving.context), search))


@dataclass
class Rounding:
    """The orders that solutions of linear programs over a piece of many variables have led to.

    left: the families that the piece has.
    orders: those since it has these; None if they have no network.
    bound: of the last solution, in nats.
    cost: of the best order so far, in nats.
    """

    left: Component | None = None
    orders: "ArrivingOrders | None" = None
    bound: float = -math.inf
    cost: float = math.inf

    def better(self, piece: Piece, order: NDArray[np.int64], known: NDArray[np.int64], context: Context) -> Incumbent:
        """The best order by now, when that of a solution has come; it costs infinity if it is known. known: that of the
        best network."""
        if piece.left is not self.left:
            self._begin(piece.left, known, context)
        gained, self.bound = piece.lower_bound - self.bound, piece.lower_bound
        if self.orders is not None:
            found = self.orders.take(order, gained, context.workers)
            if found.cost < self.cost:
                self.cost = found.cost
                return Incumbent(found.order.astype(np.int64), found.cost)
        return Incumbent(order, math.inf)

    def _begin(self, left: Component, known: NDArray[np.int64], context: Context) -> None:
        """Let the piece have other families."""
        from extbnsl.orders.arriving import ArrivingOrders
        from extbnsl.orders.parent_lists import lists_of_varsets

        self.left, self.orders, self.cost = left, None, math.inf
        if not feasible_order(left.parents)[1]:
            self.orders = ArrivingOrders(lists_of_varsets(*_families(left, context)[0]), context.methods.seed)
            self.orders.take(known, 0.0, context.workers)


def find_better_rounded(search: PieceSearch, solving: Solving, support: Support, rounding: Rounding) -> bool:
    """Whether a solution of a linear program of the piece that the search is at leads to a better network, in the
    standing then: its order, improved until no variable has a better place. Of many variables, what has come of the
    solutions before helps it."""
    from extbnsl.bounds.lp.separation import order_of_solution

    piece, place = search.piece, {v: i for i, v in enumerate(solving.part.order)}
    order, known = order_of_solution(*support, piece.left.size), [place[v] for v in piece.variables]
    if piece.left.size > QUICK:
        found = rounding.better(piece, order, np.argsort(known), solving.context)
        if _is_last(search) or found.cost == math.inf:
            return found.cost < math.inf and solving.take(_with_others(found, search))
        order = found.order
    elif _is_last(search):
        if feasible_order(piece.left.parents)[1]:
            return False
        return solving.take(_with_others(descended(piece.left, order, solving.context), search))
    own = [piece.variables[i] for i in order.tolist()]
    orders = [
        own if number == search.at else one.order or sorted(one.variables, key=lambda v: place[v])
        for number, one in enumerate(search.pieces)
    ]
    whole = np.array([v for one in orders for v in one], np.int64)
    return solving.take(descended(solving.component, whole, solving.context, kicked=piece.left.size <= QUICK))


def _is_last(search: PieceSearch) -> bool:
    """Whether all pieces are solved but the one that the search is at."""
    return all(piece.order is not None for number, piece in enumerate(search.pieces) if number != search.at)


def _with_others(best: Incumbent, search: PieceSearch) -> Incumbent:
    """An order of the last piece with the solutions of the others."""
    whole = search.with_pieces(search.solved(best.order.tolist(), best.cost)).joined
    return Incumbent(np.array(whole.order), whole.upper_bound)


def best_order(
    component: Component,
    seed: int,
    effort: Effort,
    context: Context,
    on_better: Callable[[float], None] = lambda cost: None,
) -> Incumbent:
    """A good order by BestScore; it has a network."""
    families, feasible = _families(component, context)
    if component.size <= QUICK:
        tables = byte_tables(*families)
        return search_orders(tables, component.size, context.workers, seed, effort, on_better, feasible)
    from extbnsl.orders.parent_lists import lists_of_varsets  # tables would be wide; a small solve need not load these
    from extbnsl.orders.population import by_descent, search_lists

    lists = lists_of_varsets(*families)
    if effort == DESCENTS:
        found = search_lists(lists, context.workers, seed, on_better, improve=by_descent, rounds=1)
    else:
        patience = max(1, effort.patience // 2)  # a round has many kicks
        found = search_lists(lists, context.workers, seed, on_better, patience=patience)
    return Incumbent(found.order.astype(np.int64), found.cost)


def descended(component: Component, order: NDArray[np.int64], context: Context, kicked: bool = True) -> Incumbent:
    """The order, improved until no variable has a better place; it costs infinity if it has no network. kicked: whether
    one of many variables is kicked too."""
    families, _ = _families(component, context)
    if component.size <= QUICK:
        given = order, np.ones(1, np.uint64), 0, context.workers.halt, byte_tables(*families)
        missing, cost = context.workers.run(improve_order, *given)
        return Incumbent(order, math.inf if missing else float(cost))
    from extbnsl.orders.parent_lists import lists_of_varsets
    from extbnsl.orders.population import METHODS, by_descent, improve_network

    improve = METHODS["insertion"] if kicked else by_descent
    found = improve_network(order.tolist(), lists_of_varsets(*families), context.workers, improve)
    return Incumbent(found.order.astype(np.int64), found.cost)


def _families(component: Component, context: Context) -> tuple[tuple[Lists, Lists], NDArray[np.int64] | None]:
    """The families, or the cheapest that tables in half of the memory have room for, with a network; and an order that
    has one if not every order has."""
    feasible, needed = None, list[int]()
    for own in component.parents:
        free = np.flatnonzero(~own.any(axis=1))  # the row of the empty parent set
        if not free.size:
            order, needed = network_rows(component.parents)
            feasible = np.array(order, np.int64)
            break
        needed.append(int(free[0]))
    return cheapest_families(component.parents, component.costs, context.memory_left // 2, needed), feasible


def improved_limit(search: PieceSearch, state: SearchState, solving: Solving) -> float:
    """The limit of a search, lower if there is time for a better network and it is found.

    That is tried at the end of a layer whenever the search has become FACTOR times as large; what is tried follows from
    the state, so that a resumed run tries the same.
    """
    tries = _number_of_tries(state.kept)
    if state.following or state.layer.nodes == 0 or tries == _number_of_tries(state.kept - state.layer.nodes):
        return search.limit
    if not find_better(solving, solving.context.methods.seed + 1 + tries, USUAL):
        return search.limit
    return min(search.limit, search.limit_below(solving.part))


def _number_of_tries(nodes: int) -> int:
    """How often a search of so many nodes looks for a better network."""
    return 1 + int(math.log(nodes / FEWEST_NODES, FACTOR)) if nodes >= FEWEST_NODES else 0
