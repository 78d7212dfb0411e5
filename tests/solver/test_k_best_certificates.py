"""The best of the k best networks is proved again: a list has what guides a search for that."""

import json
import math

import numpy as np
import pytest
from asking import k_best_networks
from cases import EVERY_SCORE, claim_by, random_dataset, random_families, random_numbers, scores_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from patching import too_large

from extbnsl.core.claims import OPTIMAL, TIME_LIMIT, Claim
from extbnsl.core.codec import json_text
from extbnsl.kbest.scope import Scope
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.verify.recount import CUTS, SEARCH
from extbnsl.verify.rescoring import family_cost
from extbnsl.verify.statement import verify_optimality
from extbnsl.verify.steps import Pass, Search
from extbnsl.verify.verdict import verify

SETTINGS = settings(deadline=None, max_examples=6, suppress_health_check=list(HealthCheck))
ONE = Budgets(threads=1, memory=1 << 30)


def checked(result, problem):
    """What the check of the document finds, as a file has it."""
    document = json.loads(json_text(result.document()))
    assert not verify(document, problem).findings
    with Workers(1) as workers:
        return verify_optimality(document, problem, workers)


def assert_proved(result, problem):
    assert result.status == OPTIMAL
    optimality = checked(result, problem)
    assert optimality.complete, optimality
    for component in result.certificate.components:
        kinds = [type(step) for step in component.steps]
        assert kinds == [Pass] if len(component.variables) == 1 else [Pass, Search]
    return optimality


@pytest.mark.parametrize("score", EVERY_SCORE)
@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 6), st.sampled_from([1, 3, 100]), st.sampled_from([None, 1, 2]))
def test_the_best_is_proved_again(score, seed, n, k, max_parents):
    dataset = random_dataset(np.random.default_rng(seed), n, 80, 3)
    assert_proved(k_best_networks(dataset, Scope(k=k), claim_by(score, max_parents), budgets=ONE), dataset)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 6), st.sampled_from([1, 100]))
def test_the_best_of_local_scores_and_of_numbers_is_proved_again(seed, n, k):
    rng = np.random.default_rng(seed)
    scores = scores_of(random_families(rng, n, 30, lambda m: rng.uniform(-50, 50, m)))
    assert_proved(k_best_networks(scores, Scope(k=k), budgets=ONE), scores)
    numbers = random_numbers(rng, n, 60)
    assert_proved(k_best_networks(numbers, Scope(k=k), Claim("gaussian-bic"), budgets=ONE), numbers)


@pytest.fixture
def dataset():
    """Data whose certificate has cuts for a search."""
    return random_dataset(np.random.default_rng(5), 6, 200, 3)


def guides_of(result):
    return [step.guide for c in result.certificate.components for step in c.steps if isinstance(step, Search)]


def test_multipliers_guide_the_search(dataset):
    result = k_best_networks(dataset, Scope(k=10), budgets=ONE)
    assert any(guide.cuts for guide in guides_of(result))
    assert_proved(result, dataset)


def test_where_the_cheapest_families_prove_nothing_a_search_does(dataset):
    with too_large("proof.pieces", "multipliers_bytes"):
        result = k_best_networks(dataset, Scope(k=10), budgets=ONE)
    assert guides_of(result)
    assert not any(guide.cuts for guide in guides_of(result))
    assert assert_proved(result, dataset).by == {CUTS, SEARCH}


def test_time_that_is_over_leaves_no_multipliers(dataset, running_out):
    """The list is complete by then, and so is its proof."""
    running_out("proof.pieces", "find_multipliers", Stopped(TIME_LIMIT))
    result = k_best_networks(dataset, Scope(k=10), budgets=ONE)
    assert not any(guide.cuts for guide in guides_of(result))
    assert_proved(result, dataset)


@pytest.mark.parametrize("rounds", [1, 2])
def test_a_list_that_was_stopped_has_no_certificate(dataset, running_out, rounds):
    """In the first round, when nothing is found, or later."""
    running_out("solver.listing", "_within", Stopped(TIME_LIMIT), at=rounds)
    result = k_best_networks(dataset, Scope(k=5000), budgets=ONE)
    assert (result.status, result.certificate) == (TIME_LIMIT, None)
    assert checked(result, dataset) is None


def test_a_claim_about_a_dearer_network_is_refuted(dataset):
    """Another one of the list, in which the variables of a search cost more, with all claims about its cost adapted."""
    result = k_best_networks(dataset, Scope(k=1000), budgets=ONE)
    document = json.loads(json_text(result.document()))
    searched = [c["variables"] for c in document["certificate"]["components"] if len(c["steps"]) > 1]
    of_search = [dataset.names.index(name) for names in searched for name in names]

    def cost_of_search(one):
        return sum(family_cost(dataset, x, one.network.parents[x], Claim()) for x in of_search)

    best = result.networks[0]
    second = next(one for one in result.networks if cost_of_search(one) > cost_of_search(best) + 1e-3)
    network = second.network
    document |= {"parents": network.parents_by_name(), "order": [network.names[i] for i in network.order()]}
    document |= {"cost": second.cost, "upper_bound": second.cost}
    for component in document["certificate"]["components"]:
        own = [network.names.index(name) for name in component["variables"]]
        costs = [sum(family_cost(dataset, x, one.network.parents[x], Claim()) for x in own) for one in (best, second)]
        for claim in (component, component["steps"][-1]):
            if "lower_bound" in claim:
                claim["lower_bound"] += costs[1] - costs[0]
    document["lower_bound"] = math.fsum(one["lower_bound"] for one in document["certificate"]["components"])
    assert not verify(document, dataset).findings
    with Workers(1) as workers:
        optimality = verify_optimality(document, dataset, workers)
    assert any("an order of them has families that cost" in finding for finding in optimality.findings)
