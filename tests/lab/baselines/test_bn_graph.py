"""A* over the BN graph against all networks, against the search of the k best, and its counts."""

import itertools

import naive
import numpy as np
import pytest
from asking import k_best_networks
from cases import dataset_of, random_dataset, random_families, scores_of, wishful

from extbnsl.core.claims import INTERRUPTED, MEMORY_LIMIT, OPTIMAL, TIME_LIMIT
from extbnsl.core.errors import InputError
from extbnsl.kbest.scope import Scope
from extbnsl.lab.baselines import bn_graph
from extbnsl.lab.baselines.bn_graph import Limits, best_by_bn_graph, needed_families_within
from extbnsl.lab.baselines.completions import Completions
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Stopped, never

ONE = Budgets(threads=1, memory=1 << 30)


def all_costs(table):
    """The costs of all networks with these families, ascending."""
    costs = np.array([sum(table[x][p] for x, p in enumerate(dag)) for dag in naive.all_dags(len(table))])
    return np.sort(costs[np.isfinite(costs)])


def parents_of(result):
    """The parents of each child in each network, as varsets."""
    own = [varsets[:, 0].tolist() for varsets in result.scores.parents]
    return [tuple(own[x][row] for x, row in enumerate(rows)) for rows in result.networks.rows.tolist()]


def check(result, expected):
    """The networks are distinct and acyclic, cost what their families do and what is expected; the counts agree."""
    assert result.status == OPTIMAL
    result.networks.check()
    assert result.networks.costs.tolist() == pytest.approx(expected.tolist(), abs=1e-6)
    found = parents_of(result)
    assert len(set(found)) == len(found)
    for parents, rows, cost in zip(found, result.networks.rows, result.networks.costs, strict=True):
        assert naive.is_acyclic(parents)
        families = zip(result.scores.costs, rows, strict=True)
        assert sum(float(own[row]) for own, row in families) == pytest.approx(cost, abs=1e-8)
    check_counts(result)


def check_counts(result):
    effort, n = result.effort, result.scores.variables
    assert 1 <= effort.calls < 2**n
    assert effort.expanded + result.networks.costs.size == 1 + effort.generated - effort.duplicates
    assert effort.oracle_seconds > 0
    assert effort.search_seconds > 0


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("k", [1, 2, 10, 100, 10_000])
def test_the_k_best_are_those_of_all_networks(n, k):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        dataset = random_dataset(rng, n, int(rng.integers(2, 60)), 3)
        table = naive.all_local_scores(dataset.codes, dataset.arities)
        every = [[(p, table[x, p]) for p in range(2**n) if not p >> x & 1] for x in range(n)]
        check(best_by_bn_graph(scores_of(every), k), all_costs(table)[:k])


@pytest.mark.parametrize("k", [1, 7, 60, 10_000])
def test_costs_may_be_any_and_many_may_be_equal(k, sizes):
    sizes({"bn_graph.PORTION": 3})
    for seed in range(20):
        families = random_families(np.random.default_rng(seed), 4)
        check(best_by_bn_graph(scores_of(families), k), all_costs(naive.cost_table(4, families))[:k])


def test_all_networks_that_cost_the_same_are_different():
    families = [[(p, 2.0) for p in range(16) if not p >> x & 1] for x in range(4)]
    check(best_by_bn_graph(scores_of(families), 1000), np.full(543, 8.0))


def test_a_child_may_lack_the_empty_parent_set():
    families = [[(0, 3.0), (2, 1.0)], [(1, 1.0), (4, 2.0)], [(0, 1.0), (3, 0.5)]]
    check(best_by_bn_graph(scores_of(families), 10), all_costs(naive.cost_table(3, families)))


@pytest.mark.parametrize("n", [6, 7, 8, 9])
@pytest.mark.parametrize("k", [1, 10, 100])
def test_data_have_the_k_best_of_the_search(n, k, sizes):
    """With more than some variables the black box is the solver."""
    sizes({"completions.TABLE": n - 3})
    dataset = random_dataset(np.random.default_rng(n), n, 80, 3)
    expected = k_best_networks(dataset, Scope(k=k), budgets=ONE).networks.costs
    assert expected[-1] - expected[0] < 6.0
    check(best_by_bn_graph(needed_families_within(dataset, k, 6.0), k), expected)


def test_constant_columns_count():
    codes = np.column_stack([np.zeros(30), np.random.default_rng(0).integers(0, 2, (30, 4))])
    dataset = dataset_of(codes)
    expected = k_best_networks(dataset, Scope(k=70), budgets=ONE).networks.costs
    check(best_by_bn_graph(needed_families_within(dataset, 70, 8.0), 70), expected)


@pytest.mark.parametrize("table", [0, 4, 7])
def test_what_the_best_completions_cost(table, sizes):
    """By the table of the order graph, seen from its end; an answer tells what follows, or bounds it."""
    sizes({"completions.TABLE": table})
    n, exact, sharp = 7, 0, 0
    families = wishful(3)
    best = naive.best_scores(naive.cost_table(n, families))
    expected = [0.0] * 2**n
    for varset in reversed(range(2**n - 1)):
        rest = [x for x in range(n) if not varset >> x & 1]
        expected[varset] = min(best[x][varset] + expected[varset | 1 << x] for x in rest)
    found = Completions(scores_of(families), never)
    for varset in range(2**n - 1):
        assert found.cost(varset) == pytest.approx(expected[varset], abs=1e-6)
        for x in set(range(n)) - set(naive.members(varset)):
            cost, known = found.after(varset, x)
            larger = varset | 1 << x
            assert cost <= expected[larger] + 1e-6
            if known:
                assert cost == pytest.approx(expected[larger], abs=1e-6)
            missing = [v for v in range(n) if not larger >> v & 1]
            sharp += not known and cost > sum(best[v][-1] for v in missing) + 1e-6
            exact += known
    assert found.calls + found.answered == 2**n - 1 + exact
    assert found.calls < 2**n / 2
    assert exact > 10
    assert sharp > 10


def test_a_search_of_one_network_asks_little():
    dataset = random_dataset(np.random.default_rng(5), 9, 200, 3)
    effort = best_by_bn_graph(needed_families_within(dataset, 1, 1.0), 1).effort
    assert effort.calls == 1
    assert effort.expanded == effort.generated == 9  # it goes straight down
    assert effort.duplicates == 0


def test_what_has_a_predecessor_that_comes_first_is_not_asked_for(monkeypatch):
    scores = needed_families_within(random_dataset(np.random.default_rng(10), 10, 80, 3), 20, 6.0)
    late = best_by_bn_graph(scores, 20)
    monkeypatch.setattr(bn_graph._Search, "_may_be_next", lambda *successor: True)
    soon = best_by_bn_graph(scores, 20)
    assert late.networks.costs.tolist() == pytest.approx(soon.networks.costs.tolist(), abs=1e-6)
    assert late.effort.calls < 0.8 * soon.effort.calls


def test_a_search_that_stops_has_the_first_networks():
    scores = scores_of(wishful(1))
    whole = best_by_bn_graph(scores, 50)
    assert whole.effort.duplicates > 0
    asks = itertools.count()
    stopped = best_by_bn_graph(scores, 50, stop=lambda: INTERRUPTED if next(asks) >= whole.effort.generated else None)
    assert stopped.status == INTERRUPTED
    few = best_by_bn_graph(scores, 50, Limits(nodes=whole.effort.generated - whole.effort.duplicates))
    assert few.status == MEMORY_LIMIT
    for result in (stopped, few):
        found = result.networks.costs
        assert 0 < found.size < 50
        assert found.tolist() == pytest.approx(whole.networks.costs[: found.size].tolist(), abs=1e-6)
        check_counts(result)
    late = best_by_bn_graph(scores, 50, Limits(seconds=0.0))
    assert late.status == TIME_LIMIT
    assert late.networks.rows.shape == (0, 7)


def test_a_stop_is_heard_in_the_black_box_and_in_counting(sizes):
    sizes({"completions.TABLE": 0})
    stopped = best_by_bn_graph(scores_of(wishful(1)), 5, stop=lambda: INTERRUPTED)
    assert stopped.status == INTERRUPTED
    assert stopped.networks.costs.size == 0
    dataset = random_dataset(np.random.default_rng(1), 6, 60, 3)
    with pytest.raises(Stopped):
        needed_families_within(dataset, 5, 1.0, stop=lambda: INTERRUPTED)


def test_more_variables_than_a_word_has_bits_are_refused():
    with pytest.raises(InputError, match="64 variables at most, not 65"):
        best_by_bn_graph(needed_families_within(dataset_of(np.zeros((3, 65))), 1, 1.0), 1)
