"""All networks over a few variables: each once, and what they weigh, against a list of all of them."""

import math

import naive
import numpy as np
import pytest
from cases import EVERY_SCORE, claim_by, dataset_of, random_dataset, random_families, scores_of
from knowing import admitted, random_knowledge

from extbnsl.core.knowledge import NOTHING
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.verify.demands import demands_of
from extbnsl.verify.sums import UNIFORM, cost_table, log_weight


@pytest.fixture
def workers():
    with Workers(1) as workers:
        yield workers


def table_of(problem, score, workers, limit=None, knowledge=NOTHING):
    return cost_table(problem, claim_by(score), demands_of(problem.names, limit, knowledge), workers)


def listed(table):
    """What each network costs, by its parents."""
    costs = ((dag, math.fsum(table[x, own] for x, own in enumerate(dag))) for dag in naive.all_dags(len(table)))
    return {dag: cost for dag, cost in costs if cost < math.inf}


def listed_families(n):
    """0 for each family of n variables, infinity for what is none."""
    return np.array([[math.inf if own >> x & 1 else 0.0 for own in range(1 << n)] for x in range(n)])


@pytest.mark.parametrize("score", EVERY_SCORE)
def test_the_table_is_that_of_the_oracle(score, workers):
    problem = random_dataset(np.random.default_rng(3), 4, 30)
    expected = naive.all_local_scores(problem.codes, problem.arities, 2, score)
    assert table_of(problem, score, workers, 2) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_the_table_has_what_is_demanded(seed, workers):
    rng = np.random.default_rng(seed)
    problem = random_dataset(rng, 4, 20)
    knowledge = random_knowledge(rng, problem.names, 2)
    expected = admitted(knowledge, problem.names, 2)
    assert (np.isfinite(table_of(problem, "mdl", workers, 2, knowledge)) == expected).all()


def test_each_network_that_scores_list_counts_once(workers):
    for seed in range(20):
        scores = scores_of(random_families(np.random.default_rng(seed), 4))
        table = table_of(scores, "file", workers)
        every = listed(table)
        expected = math.log(math.fsum(math.exp(-cost) for cost in every.values()))
        assert log_weight(table, UNIFORM, workers) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_the_weight_is_that_of_all_networks(n, workers):
    problem = random_dataset(np.random.default_rng(n), n, 50, 3)
    table = table_of(problem, "bdeu", workers, 3)
    costs = np.array(list(listed(table).values()))
    expected = math.log(np.exp(costs.min() - costs).sum()) - costs.min()
    assert log_weight(table, UNIFORM, workers) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("gain", [2000.0, 1e9])
def test_a_weight_that_no_float_has(gain, workers):
    """Two variables that want each other: the cycle weighs more than all networks by a factor that no float has."""
    table = np.array([[gain, math.inf, 0.0, math.inf], [gain, 0.0, math.inf, math.inf]])
    expected = -gain + math.log(2.0)
    assert log_weight(table, UNIFORM, workers) == pytest.approx(expected, rel=1e-15)


def test_where_costs_are_large_and_apart(workers):
    """The costs of shares that are told: those of the cheaper networks are about the best, all others far from it."""
    rng = np.random.default_rng(7)
    table = listed_families(5) + 1e9 * rng.integers(8, 11, (5, 32)) + rng.random((5, 32))
    costs = np.array(list(listed(table).values()))
    expected = math.log(np.exp(costs.min() - costs).sum()) - costs.min()
    assert log_weight(table, UNIFORM, workers) == pytest.approx(expected, rel=1e-14)


def test_a_stop_is_heard():
    with Workers(1, lambda: "time_limit") as stopped:
        for asked in (
            lambda: log_weight(np.zeros((5, 32)), UNIFORM, stopped),
            lambda: table_of(dataset_of(np.zeros((1, 5))), "mdl", stopped),
        ):
            with pytest.raises(Stopped):
                asked()
