"""The network of an order: its cost, its bound, its status, and what stops it."""

import naive
import numpy as np
import pytest
from asking import order_network
from cases import dataset_of, random_dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from extbnsl.core.claims import Claim
from extbnsl.core.errors import BudgetError, InputError
from extbnsl.machine.budgets import Budgets
from extbnsl.parents.ordered.methods import OrderMethods
from extbnsl.verify.verdict import verify

ONE = Budgets(threads=1)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 8), st.sampled_from(("mdl", "aic")), st.sampled_from((None, 1)))
def test_cost_and_bounds_are_what_they_are_said_to_be(seed, n, score, most):
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, n, int(rng.integers(1, 150)))
    order = rng.permutation(n).tolist()
    result = order_network(dataset, order, Claim(score, most), budgets=ONE)
    costs = naive.all_local_scores(dataset.codes, dataset.arities, most, score)
    best = naive.best_scores(costs)
    before = [sum(1 << v for v in order[:place]) for place in range(n)]
    least = sum(best[v][inside] for v, inside in zip(order, before, strict=True))
    assert result.cost == pytest.approx(least, rel=1e-9, abs=1e-9)
    assert result.lower_bound <= naive.optimal_cost_dp(n, best) + 1e-9
    assert (result.status, result.order_optimal, result.order) == ("heuristic", True, tuple(order))
    assert verify(result.document(), dataset).findings == ()


def test_the_order_of_an_optimal_network_gives_its_cost_and_others_never_less():
    from flat import solve

    dataset = random_dataset(np.random.default_rng(4), 9, 300)
    best = solve(dataset, threads=1)
    assert order_network(dataset, best.order, budgets=ONE).cost == pytest.approx(best.cost, rel=1e-9)
    rng = np.random.default_rng(5)
    for _ in range(5):
        found = order_network(dataset, rng.permutation(9).tolist(), budgets=ONE)
        assert found.lower_bound <= best.cost <= found.cost + 1e-9
        greedy = order_network(dataset, found.order, methods=OrderMethods("k3"), budgets=ONE)
        assert greedy.cost >= found.cost - 1e-9
        assert greedy.order_optimal is None


def test_constant_columns_alone_have_a_network():
    result = order_network(dataset_of(np.zeros((4, 2)), [1, 2]), [1, 0], budgets=ONE)
    assert result.parents == {"v0": [], "v1": []}
    assert result.lower_bound == result.cost == pytest.approx(np.log(4) / 2)


@pytest.mark.parametrize("reason", ["interrupted", "time_limit"])
def test_what_is_stopped_at_once_has_a_network_and_a_bound_all_the_same(reason):
    dataset = random_dataset(np.random.default_rng(6), 12, 300)
    if reason == "interrupted":
        result = order_network(dataset, range(12), budgets=ONE, stop=lambda: reason)
    else:
        result = order_network(dataset, range(12), budgets=Budgets(threads=1, time_limit=1.0, spent=2.0))
    assert (result.status, result.order_optimal) == (reason, None)
    assert result.stats["unfinished"]
    assert result.lower_bound <= order_network(dataset, range(12), budgets=ONE).cost
    assert verify(result.document(), dataset).findings == ()


def test_what_is_found_depends_on_nothing_but_the_question():
    dataset = random_dataset(np.random.default_rng(8), 14, 400)
    results = [
        order_network(dataset, range(14), Claim(), methods, Budgets(threads=threads))
        for methods in (OrderMethods("dfbnb-k3", "own"), OrderMethods("dfbnb-k3", "fixed"), OrderMethods("suzuki"))
        for threads in (1, 2)
    ]
    assert len({result.network for result in results}) == 1
    assert len({result.cost for result in results}) == 1
    for one, two in zip(results[::2], results[1::2], strict=True):
        assert (one.stats["states"], one.stats["trapped"]) == (two.stats["states"], two.stats["trapped"])


def test_what_cannot_be_is_refused():
    dataset = dataset_of([[0, 1], [1, 0]])
    with pytest.raises(InputError, match="score: 'bge' is not known"):
        order_network(dataset, [0, 1], Claim("bge"), budgets=ONE)
    with pytest.raises(InputError, match="bound: 'tight' is not known"):
        order_network(dataset, [0, 1], methods=OrderMethods(bound="tight"), budgets=ONE)
    with pytest.raises(BudgetError, match="needs at least"):
        order_network(dataset, [0, 1], budgets=Budgets(threads=1, memory=100))
