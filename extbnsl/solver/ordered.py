"""The network of least cost that keeps to a given order of the variables."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from extbnsl.core.claims import HEURISTIC
from extbnsl.core.events import Observer, ignore
from extbnsl.core.figures import in_full
from extbnsl.data import Data
from extbnsl.machine.workers import StopSignal, never
from extbnsl.networks.network import Network
from extbnsl.parents.exhaustive.source import source_of
from extbnsl.parents.ordered.choosing import (
    STAGE,
    Choice,
    OrderProblem,
    Search,
    choose_parents,
    enumerate_parents,
    order_problem,
)
from extbnsl.parents.ordered.methods import DFBNB, ENUMERATION, FIXED, OWN
from extbnsl.proof.commits import Commits
from extbnsl.results.result import Result
from extbnsl.solver.opening import Request, opened
from extbnsl.solver.outcome import FoundNetwork, result_of


def order_network(
    asked: Request,
    order: Sequence[int],
    *,
    observer: Observer = ignore,
    stop: StopSignal = never,
    search: Search | None = None,
) -> Result:
    """The network of data in which each variable has its best parents, or those of K3, among the variables before it,
    by `OrderMethods`.

    order: all variables, each once. The status is 'heuristic', since another order may have a better network; whether
    no network of this order costs less is `order_optimal`. The lower bound holds for every network. `stop` is polled; a
    reason other than None, or the time limit, ends the search with that status and the best parents so far. What was
    found for each variable is in the statistics. search: that of the method, if it is a published one to compare with.
    Raises InputError for unusable arguments, BudgetError if the memory does not do.
    """
    asked = replace(asked, budgets=replace(asked.budgets, disk=0))
    asked.check()
    data, claim = asked.problem, asked.claim
    assert isinstance(data, Data), "local scores have no order that they keep to"
    problem = order_problem(data, order, claim, asked.methods, search)
    with opened(asked, Commits, observer=observer, stop=stop, kept=False) as run:
        workers, stages, memory = run.context.workers, run.context.stages, run.granted.memory
        lower_bound = math.fsum(source_of(data, claim).least_costs(workers))
        with stages.stage(STAGE, f"{in_full(data.variables, 'variable')} under an order") as summary:
            if problem.methods.method == ENUMERATION:
                choices, stopped = enumerate_parents(problem, claim, workers, memory, observer)
                summary.append(f"{in_full(sum(choice.states for choice in choices), 'parent set')} kept")
            else:
                choices, stopped = choose_parents(problem, workers, memory, observer)
                summary.append(f"{in_full(sum(choice.states for choice in choices), 'state')} visited")
        parents = tuple(choice.parents for choice in sorted(choices, key=lambda choice: choice.child))
        cost, network = math.fsum(choice.cost for choice in choices), Network(data.names, parents)
        result = result_of(data, FoundNetwork(network, problem.order, cost, lower_bound), claim, stages)
        exact = problem.methods.exact and all(choice.complete for choice in choices)
        return replace(
            result,
            status=stopped or HEURISTIC,
            stats={**result.stats, **_told(problem, choices), **run.commits.taken()},
            options=replace(asked, methods=problem.methods).options(run.granted),
            order_optimal=True if exact else None,
        )


def _told(problem: OrderProblem, choices: Sequence[Choice]) -> dict[str, Any]:
    """What was found for each variable, by names, as JSON values."""
    names, method = problem.data.names, problem.methods
    searched = method.exact and method.method != ENUMERATION
    return {
        "bound": (OWN if problem.own else FIXED) if problem.methods.method == DFBNB else None,
        "states": {names[choice.child]: choice.states for choice in choices},
        "trapped": [names[choice.child] for choice in choices if choice.trapped] if searched else None,
        "unfinished": [names[choice.child] for choice in choices if not choice.complete],
    }
