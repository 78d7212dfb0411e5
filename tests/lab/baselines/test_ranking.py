"""The k best networks by A* over the BN graph, as a run of `kbest`: the same ranks, honest if stopped."""

import numpy as np
import pytest
from asking import k_best_networks, rank_by_bn_graph
from cases import dataset_of, random_dataset, random_families, scores_of

from extbnsl.core.claims import INTERRUPTED, MEMORY_LIMIT, OPTIMAL, TIME_LIMIT, Claim
from extbnsl.core.errors import InputError
from extbnsl.kbest.scope import Scope
from extbnsl.lab.baselines.methods import BaselineMethods
from extbnsl.machine.budgets import Budgets

METHODS = BaselineMethods("bn-graph")


def ranked(problem, k, claim=Claim(), **how):
    how.setdefault("budgets", Budgets(threads=1, memory=1 << 28))
    return rank_by_bn_graph(problem, Scope(k), claim, METHODS, **how)


def told(result):
    return [(one.rank, pytest.approx(one.cost), pytest.approx(one.share)) for one in result.networks]


def test_ranks_as_the_search_of_layers_does():
    compared = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        data = random_dataset(rng, int(rng.integers(1, 6)), int(rng.integers(2, 80)))
        k = int(rng.integers(1, 40))
        limit = int(rng.integers(1, 3)) if rng.random() < 0.3 else None
        own = ranked(data, k, Claim(max_parents=limit))
        other = k_best_networks(data, Scope(k), Claim(max_parents=limit), budgets=Budgets(threads=1))
        more = k_best_networks(data, Scope(k + 1), Claim(max_parents=limit), budgets=Budgets(threads=1)).networks
        assert own.status == OPTIMAL
        assert told(own) == told(other)
        assert own.cost == pytest.approx(other.cost)
        if len(more) <= k or more[k].cost > more[k - 1].cost + 1e-6:  # of a tie at the end either may take others
            assert own.arcs == pytest.approx(other.arcs)
            compared += 1
    assert compared > 3


@pytest.mark.parametrize("seed", range(4))
def test_given_families(seed):
    rng = np.random.default_rng(seed)
    scores = scores_of(random_families(rng, 5))
    assert told(ranked(scores, 20)) == told(k_best_networks(scores, Scope(20), budgets=Budgets(threads=1)))


def test_more_networks_than_there_are():
    assert len(ranked(dataset_of([[0, 1], [1, 0], [1, 1], [0, 0]]), 100).networks) == 3


def test_tables_of_the_paper_are_in_the_statistics():
    data = random_dataset(np.random.default_rng(3), 6, 60)
    stats = ranked(data, 5).stats
    assert 0 <= stats["parent_limit"] <= 5
    assert (
        stats["limited_list_bytes"] <= stats["score_list_bytes"] == 6 * 2**5 * stats["score_list_bytes"] // (6 * 2**5)
    )
    assert stats["calls"] > 0
    assert {"oracle_seconds", "search_seconds", "generated", "expanded"} <= stats.keys()


@pytest.mark.parametrize("scope", [Scope(None, 3.0), Scope(5, 3.0), Scope(5, classes=True)])
def test_other_scopes_are_refused(scope):
    with pytest.raises(InputError, match="finds the k best networks alone"):
        rank_by_bn_graph(dataset_of([[0, 1], [1, 0]]), scope, Claim(), METHODS)


def test_a_stop_leaves_what_is_known():
    data = random_dataset(np.random.default_rng(5), 7, 80)
    whole = ranked(data, 30)
    polls = 0

    def count():
        nonlocal polls
        polls += 1

    ranked(data, 30, stop=count)
    statuses, known = set(), 0
    for last in (0, 1, polls // 4, polls // 2, polls - 2):
        left = iter(range(last))
        result = ranked(data, 30, stop=lambda left=left: None if next(left, None) is not None else INTERRUPTED)
        statuses.add(result.status)
        costs = [one.cost for one in result.networks]
        if result.networks and result.within is not None:
            known += 1
            assert costs == pytest.approx([one.cost for one in whole.networks][: len(costs)])
        assert result.lower_bound <= whole.cost <= result.cost + 1e-6
    assert statuses <= {INTERRUPTED, OPTIMAL}
    assert INTERRUPTED in statuses
    assert known


@pytest.mark.slow
def test_no_time_and_no_memory():
    data = random_dataset(np.random.default_rng(6), 8, 80)
    assert ranked(data, 5, budgets=Budgets(threads=1, memory=1 << 28, time_limit=1e-9)).status == TIME_LIMIT
    assert ranked(data, 10**6, budgets=Budgets(threads=1, memory=1 << 24)).status == MEMORY_LIMIT
