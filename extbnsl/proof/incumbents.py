"""Networks of low cost over a component."""

import math
from dataclasses import replace

from extbnsl.bounds.groups import WIDEST
from extbnsl.claims import tolerance
from extbnsl.events import IncumbentFound
from extbnsl.orders.local_search import BRIEF, USUAL, Effort, search_orders
from extbnsl.parents.best_score import ByteTables, byte_tables, cheapest_families
from extbnsl.parents.components import Component
from extbnsl.proof.context import Context
from extbnsl.proof.standing import Part, Standing

FEWEST_NODES = 1 << 20  # kept by a search before it looks for a better network
FACTOR = 4  # by which it grows before it looks again


def find_incumbent(component: Component, floor: float, k: int, context: Context) -> Part:
    """A good order of one component; `floor` bounds its cost from below. After a stop: one quick descent."""
    if component.size == 1:
        return Part((0,), float(component.costs[0][0]), floor)
    with context.stages.stage("incumbent", f"component {k + 1}, {component.size} variables") as summary:
        brief = component.size <= WIDEST and context.methods.patterns
        best = search_orders(
            _best_scores(component, context),
            component.size,
            context.workers,
            context.methods.seed,
            BRIEF if brief else USUAL,  # if it is brief, the bound finds the optimum itself
            lambda cost: context.observer(IncumbentFound(cost)),
        )
        summary.append(f"cost {best.cost:.6f}")
    return Part(tuple(best.order.tolist()), best.cost, floor)


def find_better(component: Component, k: int, seed: int, effort: Effort, context: Context, standing: Standing) -> bool:
    """Look for a better network of component k; whether there is one, in the standing then."""
    part = standing.parts[k]
    best = search_orders(
        _best_scores(component, context), component.size, context.workers, seed, effort, lambda cost: None
    )
    if best.cost >= part.upper_bound - tolerance(part.upper_bound):
        return False
    standing.parts[k] = replace(part, order=tuple(best.order.tolist()), upper_bound=best.cost)
    context.observer(IncumbentFound(standing.upper_bound))
    return True


def _best_scores(component: Component, context: Context) -> ByteTables:
    """What answers BestScore; of the cheapest families only, if memory has no room for all."""
    return byte_tables(*cheapest_families(component.parents, component.costs, context.memory_left // 2))


def number_of_tries(nodes: int) -> int:
    """How often a search of so many nodes looks for a better network."""
    return 1 + int(math.log(nodes / FEWEST_NODES, FACTOR)) if nodes >= FEWEST_NODES else 0
