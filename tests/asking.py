"""The questions of the solver, asked with the values of a `Request` one by one."""

import extbnsl.lab.baselines.ranking
import extbnsl.lab.baselines.solving
import extbnsl.solver.bootstrap
import extbnsl.solver.estimate
import extbnsl.solver.k_best
import extbnsl.solver.posterior
import extbnsl.solver.solve
from extbnsl.core.claims import Claim
from extbnsl.core.events import ignore
from extbnsl.kbest.scope import ALL
from extbnsl.lab.baselines.methods import finder
from extbnsl.machine.workers import never
from extbnsl.parents.ordered.methods import OrderMethods
from extbnsl.posteriors.scope import PosteriorScope
from extbnsl.solver.methods import ApproximateMethods
from extbnsl.solver.opening import Request

UNIFORMLY = PosteriorScope()


def solve(problem, *values, observer=ignore, stop=never, **named):
    return extbnsl.solver.solve.solve(Request(problem, *values, **named), observer=observer, stop=stop)


def compute_scores(dataset, *values, observer=ignore, stop=never, **named):
    return extbnsl.solver.solve.compute_scores(Request(dataset, *values, **named), observer=observer, stop=stop)


def estimate(problem, *values, effort=60.0, observer=ignore, stop=never, **named):
    asked = Request(problem, *values, **named)
    return extbnsl.solver.estimate.estimate(asked, effort=effort, observer=observer, stop=stop)


def approximate_network(
    problem, claim=Claim(), methods=ApproximateMethods(), *values, observer=ignore, stop=never, **named
):
    asked = Request(problem, claim, methods, *values, **named)
    return finder(methods)(asked, observer=observer, stop=stop)


def order_network(data, order, claim=Claim(), methods=OrderMethods(), *values, observer=ignore, stop=never, **named):
    asked = Request(data, claim, methods, *values, **named)
    return finder(methods)(asked, order, observer=observer, stop=stop)


def bootstrap_network(problem, scope, *values, observer=ignore, stop=never, **named):
    asked = Request(problem, *values, scope=scope, **named)
    return extbnsl.solver.bootstrap.bootstrap_network(asked, observer=observer, stop=stop)


def k_best_networks(problem, scope, claim=Claim(), methods=ALL, *values, observer=ignore, stop=never, **named):
    asked = Request(problem, claim, methods, *values, scope=scope, **named)
    return extbnsl.solver.k_best.k_best_networks(asked, observer=observer, stop=stop)


def posterior_over_all(problem, scope=UNIFORMLY, *values, observer=ignore, stop=never, **named):
    asked = Request(problem, *values, scope=scope, **named)
    return extbnsl.solver.posterior.posterior_over_all(asked, observer=observer, stop=stop)


def networks_best_first(problem, claim=Claim(), methods=ALL, *values, observer=ignore, stop=never, **named):
    asked = Request(problem, claim, methods, *values, **named)
    return extbnsl.solver.k_best.networks_best_first(asked, observer=observer, stop=stop)


def solve_by(problem, *values, observer=ignore, stop=never, **named):
    return extbnsl.lab.baselines.solving.solve_by(Request(problem, *values, **named), observer=observer, stop=stop)


def rank_by_bn_graph(problem, scope, *values, observer=ignore, stop=never, **named):
    asked = Request(problem, *values, scope=scope, **named)
    return extbnsl.lab.baselines.ranking.rank_by_bn_graph(asked, observer=observer, stop=stop)
