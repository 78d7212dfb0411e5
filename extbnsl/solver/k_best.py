"""The k best networks, or all within a factor of the best: the optimum first, then all that cost little more."""

import math
from dataclasses import dataclass, fields, replace

import numpy as np

from extbnsl.claims import MEMORY_LIMIT, OPTIMAL, TIME_LIMIT, Claim, tolerance
from extbnsl.compiling import clock
from extbnsl.data import Dataset
from extbnsl.errors import InputError
from extbnsl.events import Observer, ignore
from extbnsl.figures import in_full
from extbnsl.files.shelf import Shelf
from extbnsl.kbest.below import networks_below
from extbnsl.kbest.classes import class_keys, numbered
from extbnsl.kbest.constants import with_constants
from extbnsl.kbest.networks import Networks
from extbnsl.kbest.ranking import arc_probabilities, family_probabilities, parents_of, probabilities, ranks
from extbnsl.kbest.scope import Scope
from extbnsl.kbest.slack import FIRST, next_slack
from extbnsl.kernels.varsets import pack
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Stopped, StopSignal, Workers, never
from extbnsl.parents.components import Component
from extbnsl.parents.exhaustive.surviving import surviving_families
from extbnsl.parents.pruning import prune
from extbnsl.proof.context import Context
from extbnsl.proof.methods import Methods
from extbnsl.proof.stages import Stages
from extbnsl.results.ranked import KBestResult, RankedNetworks
from extbnsl.results.result import Result
from extbnsl.scores.local import LocalScores
from extbnsl.solver.families import given_scores
from extbnsl.solver.place import temporary_store
from extbnsl.solver.solve import solve

ALL = Methods(path_extension=False, ancestral=False)  # that keep every network
KEEPS_ONE = ("path_extension", "ancestral")


def check_methods(methods: Methods) -> None:
    """Raise InputError for methods that keep one of several best networks."""
    methods.check()
    for name in KEEPS_ONE:
        if getattr(methods, name):
            raise InputError(f"{name}: it keeps one of several networks, and all are asked for; leave it off.")


@dataclass(frozen=True)
class Found:
    """What is known of the best networks: the families, of which networks have some each; all that cost up to `within`
    nats more than the best are there, or the cheapest of them that were asked for; None: nothing is known of others."""

    scores: LocalScores
    networks: Networks
    within: float | None


def k_best_networks(
    problem: Dataset | LocalScores,
    scope: Scope,
    claim: Claim = Claim(),
    methods: Methods = ALL,
    budgets: Budgets = Budgets(),
    *,
    observer: Observer = ignore,
    stop: StopSignal = never,
) -> KBestResult:
    """The best networks, each once, best first, and what they say together.

    The optimum is proved as `solve` does it. Then all networks within a slack of it are found, and where these are
    fewer than k, all within a larger one. `stop` is polled; a reason other than None, or the end of a budget, leaves
    the networks within the last slack, with that status. Raises InputError for unusable arguments, and as `solve`.
    """
    scope.check()
    check_methods(methods)
    began = clock()
    optimum = solve(
        problem, claim, replace(methods, path_extension=True, ancestral=True), budgets, observer=observer, stop=stop
    )
    found, status = _the_optimum(optimum), optimum.status
    if status == OPTIMAL:
        budgets = replace(budgets, spent=budgets.spent + clock() - began)
        found, status = _rounds(_Problem(problem, scope, claim, optimum), methods, budgets, observer, stop)
    return _result(optimum, found, status, scope)


@dataclass(frozen=True)
class _Problem:
    """What is asked, and the optimum."""

    given: Dataset | LocalScores
    scope: Scope
    claim: Claim
    optimum: Result


def _the_optimum(optimum: Result) -> Found:
    """The optimum alone."""
    n = len(optimum.network.names)
    parents = tuple(pack(own, n)[None, :] for own in optimum.network.parents)
    costs = tuple(np.array([0.0]) for _ in parents)
    scores = LocalScores(optimum.network.names, parents, costs, optimum.score, optimum.max_parents)
    return Found(scores, Networks(np.zeros((1, n), np.int32), np.array([optimum.cost])), None)


def _rounds(
    asked: _Problem, methods: Methods, budgets: Budgets, observer: Observer, stop: StopSignal
) -> tuple[Found, str]:
    """The networks within ever more slack until they are enough, and OPTIMAL or why there are no more."""
    found, slack = _the_optimum(asked.optimum), FIRST if asked.scope.slack is None else asked.scope.slack
    stages = Stages(observer, dict(asked.optimum.stats["stages"]))
    with temporary_store() as store:
        granted = budgets.granted(store.folder)
        deadline, shelf = granted.deadline(), Shelf(granted.memory // 2, store)
        signal = lambda: stop() or (TIME_LIMIT if deadline.passed() else None)  # noqa: E731
        with Workers(granted.threads, signal) as workers:
            context = Context(workers, stages, granted.memory, methods, store, shelf)
            try:
                while True:
                    found = _within(asked, slack, context)
                    if _is_enough(asked, found):
                        return found, OPTIMAL
                    above = found.networks.costs - found.networks.costs[0]
                    slack = next_slack(slack, above, asked.scope.k or 0)
            except Stopped as stopped:
                return found, stopped.reason
            except MemoryError:
                return found, MEMORY_LIMIT


def _is_enough(asked: _Problem, found: Found) -> bool:
    """Whether no more networks are asked for than were found, or there are no more."""
    scope = asked.scope
    if scope.k is None or scope.slack is not None or found.within == math.inf:
        return True
    return _many(scope, found) >= scope.k


def _many(scope: Scope, found: Found) -> int:
    """How many there are of what is asked for."""
    if not scope.classes:
        return found.networks.costs.size
    keys = class_keys(parents_of(found.networks, found.scores.parents))
    return int(numbered(keys).max()) + 1


def _within(asked: _Problem, slack: float, context: Context) -> Found:
    """The networks that cost at most `slack` nats more than the optimum, or the cheapest of them; all there are, if all
    families are within the slack."""
    scope, cost = asked.scope, asked.optimum.cost
    with context.stages.stage("networks", f"that cost up to {slack:.3g} nats more than the best") as summary:
        scores = _families_within(asked, slack, context)
        limit = cost + slack + tolerance(cost)
        if scores.families == _families_in_all(asked):
            limit, slack = math.fsum(float(costs[-1]) for costs in scores.costs) + 1.0, math.inf
        component = Component(tuple(range(scores.variables)), scores.parents, scores.costs, slack)
        networks = networks_below(component, limit, None if scope.classes else scope.k, context)
        found = Found(scores, networks, slack)
        summary.append(f"{in_full(networks.costs.size, 'network')} of {in_full(scores.families, 'parent set')}")
    return found


def _families_in_all(asked: _Problem) -> int:
    """How many families there are, whatever they cost."""
    given = asked.given
    if isinstance(given, LocalScores):
        return given_scores(given, asked.claim).families
    n, most = given.variables, asked.claim.max_parents
    return n * sum(math.comb(n - 1, size) for size in range(n if most is None else min(n, most + 1)))


def _families_within(asked: _Problem, slack: float, context: Context) -> LocalScores:
    """The families that cost at most `slack` nats more than the best of their subsets."""
    if isinstance(asked.given, LocalScores):
        return prune(given_scores(asked.given, asked.claim), slack)
    found = surviving_families(asked.given, asked.claim, context.workers, context.shelf, context.observer, slack=slack)
    if found.stopped is not None:
        raise Stopped(found.stopped)
    return with_constants(found.scores, asked.given, slack, asked.scope.k)


def _result(optimum: Result, found: Found, status: str, scope: Scope) -> KBestResult:
    """The networks with their ranks, classes and probabilities, beside the proof of the best."""
    scores, networks = found.scores, _added_up(found)
    classes = numbered(class_keys(parents_of(networks, scores.parents)))
    if scope.classes:
        first = np.unique(classes, return_index=True)[1]
        networks, classes = Networks(networks.rows[first], networks.costs[first]), classes[first]
    some = slice(scope.k)
    networks, classes = Networks(networks.rows[some], networks.costs[some]), classes[some]
    likely = probabilities(networks.costs)
    families = family_probabilities(networks, [costs.size for costs in scores.costs], likely)
    own = {field.name: getattr(optimum, field.name) for field in fields(Result)}
    own |= {"status": status, "options": {**optimum.options, **scope.document()}}
    return KBestResult(
        **own,
        networks=RankedNetworks(
            scores.names, scores.parents, networks.rows, networks.costs, ranks(networks.costs), classes + 1, likely
        ),
        within=found.within,
        arcs=arc_probabilities(scores.parents, families),
    )


def _added_up(found: Found) -> Networks:
    """The networks with their costs added up in the order of the variables, so that equal ones are equal."""
    networks, scores = found.networks, found.scores
    if found.within is None:
        return networks
    costs = np.zeros(networks.costs.size)
    for x, own in enumerate(scores.costs):
        costs += own[networks.rows[:, x]]
    order = np.argsort(costs, kind="stable")
    return Networks(networks.rows[order], costs[order])
