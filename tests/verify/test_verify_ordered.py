"""Is no network of an order cheaper, and what does every network cost at least? Against the oracle."""

import itertools

import naive
import numpy as np
import pytest
from asking import order_network
from cases import EVERY_SCORE, claim_by, cost_of_order, random_dataset, random_numbers
from knowing import admitted, random_knowledge
from patching import sized

from extbnsl.core.claims import Claim
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.exhaustive.source import source_of
from extbnsl.parents.ordered.methods import OrderMethods
from extbnsl.verify.document import read_claims
from extbnsl.verify.rescoring import least_cost
from extbnsl.verify.statement import verify_order


def checked(document, problem, stop=lambda: None):
    with Workers(1, stop) as workers:
        return verify_order(read_claims(document), problem, workers)


def worse(document, problem, score, costs):
    """The document with each variable's parents replaced that cost more, one after the other; and how much more."""
    for child, name in enumerate(problem.names):
        before = {problem.names.index(p) for p in document["order"][: document["order"].index(name)]}
        own = sum(1 << problem.names.index(p) for p in document["parents"][name])
        for size in range(len(before) + 1):
            for some in itertools.combinations(sorted(before), size):
                varset = sum(1 << p for p in some)
                more = float(costs[child, varset] - costs[child, own])
                if more > 1e-3 and np.isfinite(more):
                    parents = document["parents"] | {name: [problem.names[p] for p in some]}
                    yield document | {"parents": parents, "cost": document["cost"] + more}, name, more


@pytest.mark.parametrize("score", EVERY_SCORE)
def test_an_order_is_checked_by_every_score(score):
    rng = np.random.default_rng(5)
    problem = random_dataset(rng, 5, 60, 3)
    order = rng.permutation(5).tolist()
    document = order_network(problem, order, claim_by(score), OrderMethods("enumeration")).document()
    costs = naive.all_local_scores(problem.codes, problem.arities, score=score)
    assert document["cost"] == pytest.approx(cost_of_order(order, naive.best_scores(costs)))
    found = checked(document, problem)
    assert (found.findings, found.why) == ((), "")
    for forged, name, more in itertools.islice(worse(document, problem, score, costs), 0, None, 5):
        (sentence,) = checked(forged, problem).findings
        assert sentence.startswith(f"Under the order of the result {name!r} could have parents that cost ")
        assert float(sentence.split()[-3]) == pytest.approx(more, abs=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_an_order_is_checked_among_networks_with_limits_and_knowledge(seed):
    rng = np.random.default_rng(seed)
    problem = random_dataset(rng, 5, 40, 3)
    knowledge = random_knowledge(rng, problem.names, 2)
    order = next(
        list(some)
        for some in itertools.permutations(range(5))
        if all(some.index(problem.names.index(p)) < some.index(problem.names.index(c)) for p, c in knowledge.required)
    )
    claim = Claim("mdl", 2, None, knowledge)
    document = order_network(problem, order, claim, OrderMethods("enumeration")).document()
    may = admitted(knowledge, problem.names, 2)
    costs = np.where(may, naive.all_local_scores(problem.codes, problem.arities), np.inf)
    assert checked(document, problem).findings == ()
    for forged, name, _ in itertools.islice(worse(document, problem, "mdl", costs), 3):
        assert name in checked(forged, problem).findings[0]


def test_an_order_of_numbers_is_checked():
    problem = random_numbers(np.random.default_rng(2), 4, 60)
    document = order_network(problem, [2, 0, 3, 1], Claim("gaussian-bic"), OrderMethods("enumeration")).document()
    assert checked(document, problem).findings == ()
    costs = naive.all_gaussian_costs(problem.values)
    forged, name, _ = next(worse(document, problem, "gaussian-bic", costs))
    assert name in checked(forged, problem).findings[0]


def test_another_order_may_have_cheaper_parents():
    problem = random_dataset(np.random.default_rng(1), 5, 200, 3)
    document = order_network(problem, range(5), Claim(), OrderMethods("enumeration")).document()
    empty = document | {"parents": {name: [] for name in problem.names}, "order": document["order"][::-1]}
    assert checked(empty, problem).findings != ()


def test_a_check_that_is_stopped_says_so():
    problem = random_dataset(np.random.default_rng(1), 4, 30)
    document = order_network(problem, range(4)).document()
    found = checked(document, problem, lambda: "time_limit")
    assert (found.findings, found.why) == ((), "time_limit")


def least_of(problem, score):
    """The least cost, and what the solver begins with."""
    claim = claim_by(score)
    with Workers(1) as workers:
        return least_cost(problem, claim, workers), sum(source_of(problem, claim).least_costs(workers))


@pytest.mark.parametrize("score", EVERY_SCORE)
@pytest.mark.parametrize("seed", range(4))
def test_the_least_cost_is_what_solvers_begin_with_and_below_every_family(score, seed):
    problem = random_dataset(np.random.default_rng(seed), 4, 25, 4)
    own, solver = least_of(problem, score)
    families = naive.all_local_scores(problem.codes, problem.arities, score=score).min(axis=1)
    assert own == pytest.approx(solver, rel=1e-10)
    assert own <= families.sum() + 1e-9


def test_the_least_cost_of_numbers():
    problem = random_numbers(np.random.default_rng(4), 4, 40)
    own, solver = least_of(problem, "gaussian-bic")
    assert own == pytest.approx(solver, rel=1e-9)
    assert own <= naive.all_gaussian_costs(problem.values).min(axis=1).sum()


def test_the_least_cost_is_not_computed_where_that_takes_much():
    problem = random_dataset(np.random.default_rng(0), 3, 20)
    with sized({"rescoring.MOST_CELLS": 59}), Workers(1) as workers:
        assert least_cost(problem, Claim(), workers) == -np.inf
    with Workers(1, lambda: "time_limit") as stopped, pytest.raises(Stopped):
        least_cost(problem, Claim(), stopped)
