"""The network of least cost that keeps to a given order of the variables."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from extbnsl import compiling
from extbnsl.claims import HEURISTIC, TIME_LIMIT, Claim
from extbnsl.data import Dataset
from extbnsl.events import Begun, Observer, Warned, ignore
from extbnsl.figures import in_full
from extbnsl.kernels.compiler import cache_warning
from extbnsl.machine.budgets import Budgets, cpu_seconds, peak_rss
from extbnsl.machine.workers import Stopped, StopSignal, Workers, never
from extbnsl.networks.network import Network
from extbnsl.networks.parameters import number_of_parameters
from extbnsl.parents.exhaustive.problem import alone, counting_problem, varying, with_floors
from extbnsl.parents.ordered.choosing import STAGE, Choice, OrderProblem, choose_parents, order_problem
from extbnsl.parents.ordered.methods import DFBNB, FIXED, OWN, OrderMethods
from extbnsl.proof.stages import Stages
from extbnsl.results.outputs import warnings_of_outputs
from extbnsl.results.result import Result
from extbnsl.solver.outcome import verified


def order_network(
    dataset: Dataset,
    order: Sequence[int],
    claim: Claim = Claim(),
    methods: OrderMethods = OrderMethods(),
    budgets: Budgets = Budgets(),
    *,
    observer: Observer = ignore,
    stop: StopSignal = never,
) -> Result:
    """The network in which each variable has its best parents, or those of K3, among the variables before it.

    order: all variables, each once. The status is 'heuristic', since another order may have a better network; whether
    no network of this order costs less is `order_optimal`. The lower bound holds for every network. `stop` is polled; a
    reason other than None, or the time limit, ends the search with that status and the best parents so far. What was
    found for each variable is in the statistics. Raises InputError for unusable arguments, BudgetError if the memory
    does not do.
    """
    for value in (claim, methods, budgets):
        value.check()
    granted = replace(budgets, disk=0).granted(Path())
    problem = order_problem(dataset, order, claim, methods)
    stages, deadline = Stages(observer, {}), granted.deadline()
    observer(Begun())
    for message in (*dataset.warnings, *filter(None, [cache_warning()])):
        observer(Warned(message))
    began, cpu = compiling.clock(), cpu_seconds()
    with Workers(granted.threads, lambda: stop() or (TIME_LIMIT if deadline.passed() else None)) as workers:
        lower_bound = _bound_of_all_networks(dataset, problem, claim, workers)
        with stages.stage(STAGE, f"{in_full(dataset.variables, 'variable')} under an order") as summary:
            choices, stopped = choose_parents(problem, workers, granted.memory, observer)
            summary.append(f"{in_full(sum(choice.states for choice in choices), 'state')} visited")
    result = _result(problem, choices, lower_bound, claim, stages)
    spent = {"seconds": compiling.clock() - began, "cpu_seconds": cpu_seconds() - cpu, "peak_rss_bytes": peak_rss()}
    return replace(
        result,
        status=stopped or HEURISTIC,
        stats={**result.stats, **spent, "peak_disk_bytes": 0},
        options=claim.document() | methods.document() | granted.document(),
    )


def _result(
    problem: OrderProblem, choices: Sequence[Choice], lower_bound: float, claim: Claim, stages: Stages
) -> Result:
    """The result of the choices, the network scored again; what the solve took is yet to be told."""
    dataset = problem.dataset
    network = Network(dataset.names, tuple(c.parents for c in sorted(choices, key=lambda choice: choice.child)))
    with stages.stage("verify", "scoring the network again from the data") as summary:
        cost = verified(network, math.fsum(choice.cost for choice in choices), dataset, claim.score)
        summary.append(f"cost {cost:.6f}, acyclic")
    of_outputs = warnings_of_outputs(dataset)
    for message in of_outputs:
        stages.observer(Warned(message))
    return Result(
        status=HEURISTIC,
        network=network,
        cost=cost,
        lower_bound=min(cost, lower_bound),
        upper_bound=cost,
        order=problem.order,
        score=claim.score,
        max_parents=claim.max_parents,
        seed=0,
        stats=_found(problem, choices)
        | {"parameters": number_of_parameters(network, dataset), "stages": stages.seconds},
        options={},
        warnings=(*dataset.warnings, *of_outputs),
        local_scores=None,
        digest=dataset.fingerprint,
        dataset=dataset,
        order_optimal=True if problem.methods.exact and all(choice.complete for choice in choices) else None,
    )


def _bound_of_all_networks(dataset: Dataset, problem: OrderProblem, claim: Claim, workers: Workers) -> float:
    """What a network costs at least, whatever its order, in nats: the misfit that all other variables leave of each
    child, and the penalty of no parents. A stop leaves zero of the misfit."""
    floors = dict.fromkeys(range(dataset.variables), 0.0)
    order = varying(dataset)
    if order.size:
        try:
            found = with_floors(counting_problem(dataset, order, claim), workers).floors
            floors |= dict(zip(order.tolist(), found.tolist(), strict=True))
        except Stopped:
            pass
    return math.fsum(problem.score.least(alone(dataset, child), floor) for child, floor in floors.items())


def _found(problem: OrderProblem, choices: Sequence[Choice]) -> dict[str, Any]:
    """What was found for each variable, by names, as JSON values."""
    names, exact = problem.dataset.names, problem.methods.exact
    return {
        "bound": (OWN if problem.own else FIXED) if problem.methods.method == DFBNB else None,
        "states": {names[choice.child]: choice.states for choice in choices},
        "trapped": [names[choice.child] for choice in choices if choice.trapped] if exact else None,
        "unfinished": [names[choice.child] for choice in choices if not choice.complete],
    }
