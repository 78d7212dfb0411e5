"""The checks of data: every kind, score and question, against all networks and obvious formulas."""

import math

import numpy as np
from asking import (
    approximate_network,
    bootstrap_network,
    compute_scores,
    k_best_networks,
    order_network,
    posterior_over_all,
    rank_by_bn_graph,
    solve,
    solve_by,
)
from cases import EVERY_SCORE, PRICED, claim_by
from knowing import admitted, random_knowledge

from extbnsl.core.claims import HEURISTIC, NOT_PROVED, OPTIMAL, Claim
from extbnsl.core.errors import InputError
from extbnsl.core.knowledge import NOTHING, Knowledge
from extbnsl.data.resampling import resampling_of
from extbnsl.kbest.scope import Scope
from extbnsl.lab.baselines.methods import BASELINES, BN_GRAPH, BaselineMethods
from extbnsl.machine.workers import Workers
from extbnsl.orders.given import positions
from extbnsl.parents.ordered.methods import SEARCHES as ORDER_METHODS
from extbnsl.parents.ordered.methods import OrderMethods
from extbnsl.posteriors.scope import PRIORS, PosteriorScope
from extbnsl.proof.methods import LOWER_BOUNDS, Methods
from extbnsl.solver.methods import SELECTIONS, ApproximateMethods, Resamples
from extbnsl.verify.document import read_claims
from extbnsl.verify.posterior import check_posterior
from fuzz import truth
from fuzz.made_records import WAYS, random_made
from fuzz.rules import check_bounds, check_network, check_verified, hold, proof
from fuzz.score_checks import SECONDS, budgets_of, check_ranked, method_options, methods_of, pick, pressed, some, within
from fuzz.table import Table, random_table

GAUSSIAN = "gaussian-bic"
ASKED = ("solve", "solve", "kbest", "order", "approximate", "score", "posterior")
NEAR = 1e-9  # of a probability
SLACK = 1e-8  # of a cost, by which two formulas may differ
RESAMPLES = 3


def draw_states(rng):
    return _drawn(rng, measured=False)


def draw_numbers(rng):
    return _drawn(rng, measured=True)


def _drawn(rng, measured):
    table = random_table(rng, measured)
    options = {"asked": pick(rng, [*ASKED, "bootstrap", "baseline"])}
    options["score"] = GAUSSIAN if measured else pick(rng, EVERY_SCORE)
    options |= _more(rng, table) | some(rng, method=[*BASELINES, BN_GRAPH])
    return table, options


def draw_records(rng):
    made = random_made(rng)
    options = {"asked": pick(rng, ASKED), "score": pick(rng, list(WAYS[made.way].costs))} | _more(rng, made)
    return made, options | {"classes": False}  # where variables are set from outside, classes are others


def _more(rng, table):
    """Options of any question."""
    options = method_options(rng)
    if rng.random() < 0.2:
        options["max_parents"] = int(rng.integers(0, 4))
    if rng.random() < 0.2:
        options["knowledge"] = random_knowledge(rng, table.names, options.get("max_parents")).document()
    options |= some(rng, selection=list(SELECTIONS), order_method=list(ORDER_METHODS), k=[1, 3, 30, 300])
    return options | some(rng, within_factor=[1.0, 20.0], classes=[True], prior=list(PRIORS), within=[0.0, 0.05])


class Asked:
    """What is asked of a table, and what is true of it: costs (n, 2^n), infinite where a family may not be."""

    def __init__(self, table, options):
        self.table, self.options = table, options
        self.score = options.get("score") or table.score
        knowledge = Knowledge.from_document(options.get("knowledge", {})) or NOTHING
        most = options.get("max_parents")
        self.claim = claim_by(self.score, most, knowledge)
        self.allowed = admitted(knowledge, table.names, most)
        self.costs = np.where(self.allowed, table.costs(self.score, most), np.inf)

    def costs_of(self, parents):
        """What each family of a network costs, given the parents of each child as tuples."""
        return [float(own[sum(1 << p for p in one)]) for own, one in zip(self.costs, parents, strict=True)]

    @property
    def slack(self):
        finite = np.abs(self.costs[np.isfinite(self.costs)])
        return SLACK * (1.0 + float(finite.max()) * len(self.costs))

    def check(self, result, status):
        """The result is a network that costs what is said, with bounds that hold."""
        costs = self.costs_of(result.network.parents)
        hold(all(map(math.isfinite, costs)), "not allowed", f"{result.network.parents}")
        hold(abs(result.cost - math.fsum(costs)) <= self.slack, "cost said", f"{result.cost!r}, {math.fsum(costs)!r}")
        exact = [cost + (result.cost - math.fsum(costs)) / len(costs) for cost in costs]
        check_network(result, exact, self.slack)
        cheapest = self.costs.min(axis=1).tolist()
        check_bounds(result, exact, truth.least_cost(self.costs), cheapest, self.slack)
        hold(result.status == status, "status", result.status)


def check_table(table, options, rng):
    if table.measured and table.constant():
        return _check_refused(table)
    return check_data(table, options, rng)


def check_data(table, options, rng):
    asked = Asked(table, options)
    question = options.get("asked", "solve")
    if truth.least_cost(asked.costs) == math.inf:
        return None
    return QUESTIONS[question](asked, table.data(), options, rng)


def _check_refused(table):
    """A column that never varies has no density: a sentence."""
    try:
        result = solve(table.data(), Claim(GAUSSIAN), Methods(), budgets_of({}))
    except InputError as error:
        hold(str(error).endswith("."), "sentence", str(error))
        return
    hold(False, "not refused", f"{result.cost!r}")


def _solve(asked, data, options, rng):
    with pressed(options.get("pressure")):
        result = solve(data, asked.claim, methods_of(options), budgets_of(options))
    asked.check(result, OPTIMAL)
    check_verified(result, data)


def _kbest(asked, data, options, rng):
    by_graph = options.get("method") == BN_GRAPH and asked.score in PRICED and not asked.claim.knowledge
    factor = None if by_graph else options.get("within_factor")
    k = options.get("k", None if factor else 10)
    scope = Scope(k, factor, not by_graph and options.get("classes", False))
    if by_graph:
        result = rank_by_bn_graph(data, scope, asked.claim, BaselineMethods(BN_GRAPH), budgets_of(options))
    else:
        pressure = options.get("pressure")
        # a list would go one choice at a time, each with linear programs of its own: hundreds of them
        with pressed(None if pressure == "branching" else pressure):
            keeping_all = {"path_extension": False, "ancestral": False}
            result = k_best_networks(data, scope, asked.claim, methods_of(options | keeping_all), budgets_of(options))
    asked.check(result, OPTIMAL)
    check_ranked(asked, result, scope, *truth.networks(asked.costs))


def _order(asked, data, options, rng):
    order = rng.permutation(asked.table.variables).tolist()
    names = [(f"order[{i}]", data.names[x]) for i, x in enumerate(order)]
    method = options.get("order_method", "auto")
    least = truth.order_cost(asked.costs, order)
    try:
        chosen = positions(names, data.names, "order", "data")
        result = order_network(data, chosen, asked.claim, OrderMethods(method), budgets_of(options))
    except InputError as error:
        fits = method in ("auto", "enumeration") and math.isfinite(least)
        hold(not fits, "refused", str(error))
        return
    asked.check(result, HEURISTIC)
    hold(result.cost >= least - asked.slack, "cost below the order's", f"{result.cost!r} of {least!r}")
    place = {x: at for at, x in enumerate(order)}
    hold(all(place[p] < place[x] for p, x in result.network.arcs()), "against the order", f"{result.network.parents}")
    if method != "k3":
        hold(result.cost <= least + asked.slack, "order not optimal", f"{result.cost!r} of {least!r}")
        hold(result.order_optimal is True, "order_optimal", f"{result.order_optimal}")


def _approximate(asked, data, options, rng):
    methods = ApproximateMethods(options.get("selection", "auto"), seed=options.get("seed", 0))
    result = approximate_network(data, asked.claim, methods, budgets_of(options, time_limit=0.3))
    asked.check(result, HEURISTIC)


def _score(asked, data, options, rng):
    """What survives costs what is said, is not dominated, and holds all that is clearly not."""
    scores = compute_scores(data, asked.claim, budgets=budgets_of(options))
    wanted = truth.undominated(asked.costs, asked.slack)
    perhaps = truth.undominated(asked.costs, -asked.slack)
    for x, (parents, costs) in enumerate(zip(scores.parents, scores.costs, strict=True)):
        varsets = parents[:, 0].astype(int)
        off = np.abs(costs - asked.costs[x][varsets]).max()
        hold(off <= asked.slack, "family's cost", f"of child {x} off by {off}")
        found = set(varsets.tolist())
        hold(found <= perhaps[x], "dominated", f"child {x}: {sorted(found - perhaps[x])}")
        hold(wanted[x] <= found, "missing", f"child {x}: {sorted(wanted[x] - found)}")


def _bootstrap(asked, data, options, rng):
    try:
        with pressed(options.get("pressure")):
            result = bootstrap_network(
                data, Resamples(RESAMPLES), asked.claim, methods_of(options), budgets_of(options)
            )
    except InputError as error:
        hold(asked.table.measured and "resample" in str(error), "refused", str(error))
        return
    asked.check(result, OPTIMAL)
    hold(len(result.bootstrap.done) == RESAMPLES, "resamples", f"{len(result.bootstrap.done)}")
    resampling = resampling_of(data)
    for one in result.bootstrap.done:
        drawn = resampling.drawn(options.get("seed", 0), one.number)
        costs = _costs_of_resample(asked, drawn)
        found = [float(own[sum(1 << p for p in ps)]) for own, ps in zip(costs, one.network.parents, strict=True)]
        least = truth.least_cost(costs)
        hold(one.status == OPTIMAL, "status of a resample", one.status)
        hold(abs(math.fsum(found) - one.cost) <= asked.slack, "cost of a resample", f"{one.cost!r}, {found}")
        hold(one.cost <= least + proof(found) + asked.slack, "resample not optimal", f"{one.cost!r} of {least!r}")
        hold(one.lower_bound <= least + asked.slack, "bound of a resample", f"{one.lower_bound!r} of {least!r}")


def _costs_of_resample(asked, drawn):
    """The costs of a resample's families: states that do not occur in it count."""
    most = asked.options.get("max_parents")
    if asked.table.measured:
        rows = tuple(map(tuple, drawn.values.tolist()))
        costs = Table(asked.table.names, rows, True).costs(asked.score, most)
    else:
        costs = truth.table_of((drawn.codes, drawn.arities), asked.score, most)
    return np.where(asked.allowed, costs, np.inf)


def _posterior(asked, data, options, rng):
    """Sums over all networks, or over all orders of each; and the checker finds nothing wrong."""
    scope = PosteriorScope(options.get("prior", PRIORS[0]), options.get("within", 1e-3))
    result = posterior_over_all(data, scope, asked.claim, methods_of(options), budgets_of(options))
    asked.check(result, OPTIMAL if result.posterior.reached else NOT_PROVED)
    found, (log_weight, arcs) = result.posterior, truth.posterior(asked.costs, scope.prior == "order")
    low, high = found.log_weight
    hold(low - asked.slack <= log_weight <= high + asked.slack, "weight", f"{low!r} to {high!r}, {log_weight!r}")
    for p, x in zip(*np.nonzero(~np.eye(len(arcs), dtype=bool)), strict=True):
        chance = found.arc(found.names[p], found.names[x])
        inside = chance.at_least - NEAR - asked.slack <= arcs[p, x] <= chance.at_most + NEAR + asked.slack
        hold(inside, "arc", f"{p} -> {x}: {chance}, {arcs[p, x]!r}")
    document = result.document()
    with Workers(1) as workers:
        checked = check_posterior(document, read_claims(document), data, workers)
    hold(not checked.findings, "verify", "; ".join(checked.findings))


def _baseline(asked, data, options, rng):
    method = options.get("method", "dp")
    method = "dp" if method == BN_GRAPH else method
    bound = options.get("lower_bound", "auto") if BASELINES[method].bounded else "auto"
    methods = BaselineMethods(method, bound if bound in LOWER_BOUNDS else "auto")
    result = solve_by(data, asked.claim, methods, budgets_of(options), stop=within(SECONDS))
    asked.check(result, OPTIMAL)
    check_verified(result, data)


QUESTIONS = {
    "solve": _solve,
    "kbest": _kbest,
    "order": _order,
    "approximate": _approximate,
    "score": _score,
    "bootstrap": _bootstrap,
    "baseline": _baseline,
    "posterior": _posterior,
}
