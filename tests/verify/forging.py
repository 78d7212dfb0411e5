"""What a forger has: true results of several kinds and false claims about dearer networks; and who believes them."""

import json
import math
from dataclasses import dataclass
from functools import cache

import naive
import numpy as np
from cases import random_families, scores_of
from certified import (
    branched,
    by_clusters,
    in_pieces,
    numbers_proved,
    probed,
    proved,
    searched,
    solved,
    with_cuts_of_three,
)
from flat import solve

from extbnsl.core.claims import Claim, tolerance
from extbnsl.core.errors import ExtbnslError
from extbnsl.data import Dataset, Numbers
from extbnsl.machine.workers import Workers
from extbnsl.networks.network import Network
from extbnsl.results.result import Result
from extbnsl.scores.local import LocalScores
from extbnsl.verify.rescoring import family_costs
from extbnsl.verify.statement import verify_optimality
from extbnsl.verify.verdict import verify

ROUNDING = 1e-8  # nats: far more than what costs of some hundred records are off


@dataclass(frozen=True, eq=False)
class Case:
    """A problem, and its true result with a certificate that proves all of it."""

    problem: Dataset | Numbers | LocalScores
    result: Result


def of_data(result):
    return Case(result.dataset, result)


@cache
def several_components():
    """Several components, one of them with cuts."""
    return next(
        of_data(result)
        for result in (solved(seed, 7, 200) for seed in range(200))
        if by_clusters(result)
        and 1 < len(result.certificate.components) < 5
        and sum(bool(c.first.cuts) for c in result.certificate.components) == 1
    )


@cache
def few_parents():
    """At most one parent, where more would be better."""
    return next(
        of_data(limited)
        for seed in range(200)
        if by_clusters(limited := solved(seed, 6, 200, 1)) and limited.cost > solved(seed, 6, 200).cost + 0.1
    )


@cache
def score_file():
    """Scores of either sign."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        scores = scores_of(random_families(rng, 6, 30, lambda m, rng=rng: rng.uniform(-50, 50, m)))
        result = solve(scores, threads=1)
        if by_clusters(result) and any(c.first.cuts for c in result.certificate.components):
            return Case(scores, result)
    raise AssertionError("no such scores")


def most_of(result):
    """The most passes of a component."""
    return max(len(component.steps) for component in result.certificate.components)


@cache
def more_passes():
    """The proof that takes the most passes."""
    return of_data(max(filter(by_clusters, probed()), key=most_of))


KINDS = {
    "passes": cache(lambda: of_data(proved())),
    "more passes": more_passes,
    "cuts of three": cache(lambda: of_data(with_cuts_of_three())),
    "several components": several_components,
    "few parents": few_parents,
    "score file": score_file,
    "numbers": cache(lambda: of_data(numbers_proved())),
    "search": cache(lambda: Case(*searched())),
    "branching": cache(lambda: Case(*branched())),
    "pieces": cache(lambda: Case(*in_pieces())),
}


def true_document(case):
    """The document of a result as a file holds it, without what no check reads."""
    document = json.loads(json.dumps(case.result.document()))
    for key in ("stats", "warnings"):
        del document[key]
    return document | {"provenance": {"data_digest": case.problem.fingerprint}}


def claimed(case, parents):
    """The document with another network, and all claims about its cost adapted as a forger would."""
    document, problem, names = true_document(case), case.problem, case.problem.names
    network = Network.from_names(names, parents)
    costs = dict(zip(names, family_costs(problem, network, Claim.of_result(document)), strict=True))
    for component in document["certificate"]["components"]:
        own = math.fsum(costs[name] for name in component["variables"])
        component["lower_bound"] = own - tolerance(own)
    cost = math.fsum(costs.values())
    return document | {
        "parents": network.parents_by_name(),
        "order": [names[i] for i in network.order()],
        "cost": cost,
        "upper_bound": cost,
        "lower_bound": math.fsum(c["lower_bound"] for c in document["certificate"]["components"]),
    }


def dearer_networks(case):
    """Parents of networks that cost more than the optimum: no arcs, and one arc less each."""
    problem, true = case.problem, case.result.network.parents_by_name()
    for parents in [{}, *(true | {child: true[child][1:]} for child in true if true[child])]:
        try:
            costs = family_costs(problem, Network.from_names(problem.names, parents), case.result.claim)
        except ExtbnslError:  # a score file need not list it
            continue
        if math.fsum(costs) > case.result.cost + 1e-3:
            yield parents


@cache
def costs_of(problem, max_parents):
    """The costs of all families by the oracle: (n, 2^n)."""
    if isinstance(problem, Dataset):
        return naive.all_local_scores(problem.codes, problem.arities, max_parents)
    if isinstance(problem, Numbers):
        return naive.all_gaussian_costs(
            problem.values, lambda x, u: max_parents is None or u.bit_count() <= max_parents
        )
    families = [
        [(int(v), c) for v, c in zip(varsets[:, 0], costs.tolist(), strict=True)]
        for varsets, costs in zip(problem.parents, problem.costs, strict=True)
    ]
    table = naive.cost_table(problem.variables, families)
    if max_parents is not None:
        table[:, [v.bit_count() > max_parents for v in range(table.shape[1])]] = math.inf
    return table


@cache
def optimum(problem, max_parents, variables):
    """The least that the families of these children can cost."""
    costs = costs_of(problem, max_parents).copy()
    for x, name in enumerate(problem.names):
        if name not in variables:
            costs[x] = np.where(np.isfinite(costs[x]), 0.0, math.inf)
    return naive.optimal_cost_dp(len(costs), naive.best_scores(costs))


def believed(document, problem):
    """What a check believes of a document: an Optimality, or None where it refuses, finds a fault, or proves nothing.

    Raises AssertionError where that is false: a bound that was proved is above the optimum of the oracle, or a network
    that is proved optimal is not.
    """
    try:
        document = json.loads(json.dumps(document))
        if verify(document, problem).findings:
            return None
        with Workers(1) as workers:
            optimality = verify_optimality(document, problem, workers)
    except ExtbnslError:
        return None
    if optimality is None or optimality.findings:
        return None
    bounds = {tuple(c["variables"]): c["lower_bound"] for c in document["certificate"]["components"]}
    for variables in optimality.proved:
        assert bounds[variables] <= optimum(problem, document["max_parents"], variables) + ROUNDING
    if optimality.complete:
        least = optimum(problem, document["max_parents"], problem.names)
        allowed = math.fsum(abs(bound) for bound in bounds.values()) * 1e-9 + len(bounds) * 1e-9 + ROUNDING
        assert document["lower_bound"] <= least + ROUNDING
        assert document["cost"] <= least + allowed
    return optimality
