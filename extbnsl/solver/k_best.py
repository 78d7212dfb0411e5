"""The k best networks, or all within a factor of the best: a good network, then all that cost little more."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np

from extbnsl.bounds.ascent import find_multipliers, multipliers_bytes
from extbnsl.bounds.multipliers import families_of
from extbnsl.claims import MEMORY_LIMIT, OPTIMAL, TIME_LIMIT, Claim, tolerance
from extbnsl.data import Dataset
from extbnsl.errors import InputError
from extbnsl.events import Begun, Observer, Warned, ignore
from extbnsl.figures import in_full
from extbnsl.files.arrays import load_hdf5
from extbnsl.files.shelf import Shelf
from extbnsl.kbest.below import Work, networks_below
from extbnsl.kbest.classes import class_keys, numbered
from extbnsl.kbest.constants import with_constants
from extbnsl.kbest.ledger import Ledger
from extbnsl.kbest.networks import Networks
from extbnsl.kbest.ranking import arc_probabilities, family_probabilities, parents_of, probabilities, ranks
from extbnsl.kbest.scope import Scope
from extbnsl.kbest.slack import FIRST, next_slack
from extbnsl.kernels.compiler import cache_warning
from extbnsl.kernels.varsets import pack, sizes, unpack
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Stopped, StopSignal, Workers, never
from extbnsl.networks.network import Network
from extbnsl.parents.components import Component, components
from extbnsl.parents.exhaustive.surviving import Survivors, surviving_families
from extbnsl.parents.pruning import prune
from extbnsl.proof.commits import Commits
from extbnsl.proof.context import Context
from extbnsl.proof.methods import Methods
from extbnsl.proof.stages import Stages
from extbnsl.proof.standing import Part, Standing, give_up
from extbnsl.results.ranked import KBestResult, RankedNetworks
from extbnsl.results.result import Result
from extbnsl.scores.local import LocalScores
from extbnsl.solver.components import find_parts
from extbnsl.solver.families import VARSETS, given_scores, warnings_of
from extbnsl.solver.outcome import Solution, result_of
from extbnsl.solver.place import temporary_store

ALL = Methods(path_extension=False, ancestral=False)  # that keep every network
KEEPS_ONE = ("path_extension", "ancestral")
COUNTED = 8.0  # nats of slack of the families that are counted at first: little more work than those without
SHARE_OF_GAP = 0.02
FURTHER = 1.5  # by which it grows when that is not enough


@dataclass(frozen=True)
class Found:
    """What is known of the best networks: the families, of which each network has some; all networks that cost up to
    `within` nats more than the best are there, or as many of the cheapest as were asked for."""

    scores: LocalScores
    networks: Networks
    within: float


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

    All networks within a slack of a good one are found, the optimum among them; where these are fewer than k, all
    within a larger one. `stop` is polled; a reason other than None, or the end of a budget, leaves the networks within
    the last slack, with that status. Raises InputError for unusable arguments, and BudgetError where columns that never
    vary make too many networks of the same cost.
    """
    for value in (scope, claim, methods, budgets):
        value.check()
    check_methods(methods)
    with temporary_store() as store:
        granted = budgets.granted(store.folder)
        load_hdf5()
        shelf, standing = Shelf(granted.memory // 2, store), Standing()
        stages, deadline = Stages(observer, standing.stages), granted.deadline()
        with Workers(granted.threads, lambda: stop() or (TIME_LIMIT if deadline.passed() else None)) as workers:
            context = Context(workers, stages, granted.memory, methods, store, shelf)
            commits = Commits(standing, store, None, observer, workers.stop, shelf.touched)
            observer(Begun())
            for message in (*warnings_of(problem), *filter(None, [cache_warning()])):
                observer(Warned(message))
            solution, found, status = _solved(_Asked(problem, scope, claim), context)
            options = scope.document() | claim.document() | methods.document() | granted.document()
            result = replace(result_of(problem, solution, options, context, commits), status=status)
    return _ranked(result, found or _alone(result), scope)


def check_methods(methods: Methods) -> None:
    """Raise InputError for methods that keep one of several best networks."""
    for name in KEEPS_ONE:
        if getattr(methods, name):
            raise InputError(f"{name}: it keeps one of several networks, and all are asked for; leave it off.")


@dataclass(frozen=True)
class Counted(Survivors):
    """The families within a slack of the best of their subsets, in nats."""

    slack: float = 0.0


@dataclass(frozen=True)
class _Asked:
    """The problem, and what is asked of it."""

    problem: Dataset | LocalScores
    scope: Scope
    claim: Claim


def _solved(asked: _Asked, context: Context) -> tuple[Solution, Found | None, str]:
    """The best network with what is proved of it, what is known of the others, if anything is, and the status."""
    slack = COUNTED if asked.scope.slack is None else asked.scope.slack
    counted = _counted(asked, slack, context)
    survivors = Survivors(prune(counted.scores), counted.least, counted.stopped, counted.varsets)
    parts = components(survivors.scores, context.shelf.put)
    solution = Solution(survivors, parts, tuple(find_parts(survivors, parts, context)))
    status, found = survivors.stopped or context.workers.stop() or OPTIMAL, None
    if status == OPTIMAL:
        upper = math.fsum(part.upper_bound for part in solution.parts)
        try:
            first = _first_slack(survivors.scores, upper, context)
            for known in _rounds(asked, counted, upper, first, context):
                found = known
        except Stopped as stop:
            status = stop.reason
        except MemoryError:
            status = MEMORY_LIMIT
    if found is None:
        return replace(solution, parts=tuple(give_up(list(solution.parts), status))), None, status
    return replace(solution, parts=_proved_parts(found, parts)), found, status


def _proved_parts(found: Found, parts: tuple[Component, ...]) -> tuple[Part, ...]:
    """The parts of a problem of which the best network is known."""
    rows = found.networks.rows[0]
    parents = tuple(unpack(own[row]) for own, row in zip(found.scores.parents, rows, strict=True))
    place = {x: at for at, x in enumerate(Network(found.scores.names, parents).order())}
    proved = []
    for part in parts:
        order = np.argsort([place[x] for x in part.variables]).tolist()
        cost = math.fsum(float(found.scores.costs[x][rows[x]]) for x in part.variables)
        proved.append(Part(tuple(order), cost, cost - tolerance(cost), proved=True))
    return tuple(proved)


def _rounds(asked: _Asked, counted: Counted, upper: float, first: float, context: Context) -> Iterator[Found]:
    """What is known of the best networks within ever more slack, until it is enough; upper: what a network costs,
    first: a guess of the slack."""
    scope, slack = asked.scope, first if asked.scope.slack is None else asked.scope.slack
    while True:
        if slack > counted.slack:
            counted = _counted(asked, max(slack, FURTHER * counted.slack), context)
            if counted.stopped is not None:
                raise Stopped(counted.stopped)
        found = _within(asked, counted, upper, slack, context)
        yield found
        if scope.slack is not None or scope.k is None or found.within == math.inf or _many(scope, found) >= scope.k:
            return
        costs = found.networks.costs
        upper, slack = min(upper, float(costs[0])), next_slack(slack, costs - costs[0], scope.k)


def _first_slack(scores: LocalScores, upper: float, context: Context) -> float:
    """The first guess: more where the bounds leave a gap beside which it makes no difference to the search."""
    families = families_of(scores.parents, scores.costs)
    if multipliers_bytes(scores.costs, scores.variables, context.workers.threads) > context.memory_left:
        return FIRST
    bound = find_multipliers(families, None, 0, context.methods.seed, context.workers).root
    return min(COUNTED, max(FIRST, SHARE_OF_GAP * (upper - bound)))


def _many(scope: Scope, found: Found) -> int:
    """How many there are of what is asked for."""
    if not scope.classes:
        return found.networks.costs.size
    return int(numbered(class_keys(parents_of(found.networks, found.scores.parents))).max()) + 1


def _within(asked: _Asked, counted: Counted, upper: float, slack: float, context: Context) -> Found:
    """The networks that cost at most `slack` nats more than the optimum, or the cheapest of them; all there are, if all
    families are within the slack.

    The families are those within the slack of their best subsets. The limit is that above a network that may not be
    the best; what is found between the two limits may not be all there is.
    """
    scope, problem = asked.scope, asked.problem
    with context.stages.stage("networks", f"that cost up to {slack:.3g} nats more than the best") as summary:
        wide = slack + 2.0 * tolerance(upper)
        scores = counted.scores if slack == counted.slack else prune(counted.scores, wide)
        if isinstance(problem, Dataset):
            scores = with_constants(scores, problem, wide, scope.k)
        limit, within = upper + wide, slack
        if scope.slack is None and scores.families == _families_in_all(asked):
            limit, wide, within = math.fsum(float(costs[-1]) for costs in scores.costs) + 1.0, math.inf, math.inf
        whole = Component(tuple(range(scores.variables)), scores.parents, scores.costs, wide)
        networks = networks_below(whole, limit, Work(context, None if scope.classes else scope.k, Ledger()))
        kept = int(np.searchsorted(networks.costs, networks.costs[0] + within + tolerance(upper), side="right"))
        summary.append(f"{in_full(kept, 'network')} of {in_full(scores.families, 'parent set')}")
    return Found(scores, Networks(networks.rows[:kept], networks.costs[:kept]), within)


def _families_in_all(asked: _Asked) -> int:
    """How many families there are, whatever they cost."""
    problem = asked.problem
    if isinstance(problem, LocalScores):
        return given_scores(problem, asked.claim).families
    n, most = problem.variables, asked.claim.max_parents
    return n * sum(math.comb(n - 1, size) for size in range(n if most is None else min(n, most + 1)))


def _counted(asked: _Asked, slack: float, context: Context) -> Counted:
    """The families that cost at most `slack` nats more than the best of their subsets, of the variables that vary."""
    problem = asked.problem
    if isinstance(problem, LocalScores):
        scores = given_scores(problem, asked.claim)
        return Counted(scores, np.array([costs[0] for costs in scores.costs]), None, 0, math.inf)
    detail = f"{in_full(problem.variables, 'variable')}, {in_full(problem.records, 'record')}"
    with context.stages.stage("scores", detail) as summary:
        at_most = problem.records * float(np.log(problem.arities).sum())  # that the data cost without any arc
        wide, workers, shelf = slack + 3.0 * tolerance(at_most), context.workers, context.shelf
        found = surviving_families(problem, asked.claim, workers, shelf, context.observer, slack=wide)
        kept = in_full(found.scores.families, "parent set")
        summary.append(f"{kept} kept, of {in_full(found.varsets, *VARSETS)} counted")
    return Counted(found.scores, found.least, found.stopped, found.varsets, slack)


def _alone(result: Result) -> Found:
    """The network of a result, of which it is not known whether it is the best."""
    n = len(result.network.names)
    parents = tuple(pack(own, n)[None, :] for own in result.network.parents)
    scores = LocalScores(result.network.names, parents, (np.zeros(1),) * n, result.score, result.max_parents)
    return Found(scores, Networks(np.zeros((1, n), np.int32), np.array([result.cost])), -math.inf)


def _ranked(result: Result, found: Found, scope: Scope) -> KBestResult:
    """The networks with their ranks, classes and probabilities; the first is that of the result."""
    scores, networks = found.scores, _in_order(found)
    classes = numbered(class_keys(parents_of(networks, scores.parents)))
    if scope.classes:
        first = np.unique(classes, return_index=True)[1]
        networks, classes = Networks(networks.rows[first], networks.costs[first]), classes[first]
    networks, classes = Networks(networks.rows[: scope.k], networks.costs[: scope.k]), classes[: scope.k]
    likely = probabilities(networks.costs)
    families = family_probabilities(networks, [costs.size for costs in scores.costs], likely)
    ranked = RankedNetworks(
        scores.names, scores.parents, networks.rows, networks.costs, ranks(networks.costs), classes + 1, likely
    )
    own = {field.name: getattr(result, field.name) for field in fields(Result)}
    own |= {"network": ranked[0].network, "order": ranked[0].network.order()}
    within = found.within if found.within >= 0.0 else None
    return KBestResult(**own, networks=ranked, within=within, arcs=arc_probabilities(scores.parents, families))


def _in_order(found: Found) -> Networks:
    """The networks with their costs added up in the order of the variables, so that equal ones are equal; of those that
    cost the same the ones with the fewest arcs first."""
    networks, scores = found.networks, found.scores
    if networks.costs.size == 1:
        return networks
    costs, arcs = np.zeros(networks.costs.size), np.zeros(networks.costs.size, np.int64)
    for x, (varsets, own) in enumerate(zip(scores.parents, scores.costs, strict=True)):
        costs += own[networks.rows[:, x]]
        arcs += sizes(varsets)[networks.rows[:, x]]
    order = np.lexsort((arcs, costs))
    return Networks(networks.rows[order], costs[order])
