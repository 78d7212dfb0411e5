"""The oracle against itself: two ways to score, two ways to search, and counts that are in the literature."""

import math

import naive
import numpy as np
import pytest


def random_codes(rng, n, records):
    """Random data with arities 1 to 4; a constant column and a copied column now and then."""
    arities = rng.integers(1, 5, n)
    codes = np.stack([rng.integers(0, r, records) for r in arities], axis=1)
    if n > 1 and rng.random() < 0.3:
        codes[:, 0], arities[0] = codes[:, 1], arities[1]
    return codes, arities


@pytest.mark.parametrize(("n", "count"), [(0, 1), (1, 1), (2, 3), (3, 25), (4, 543), (5, 29281)])
def test_number_of_dags(n, count):
    graphs = naive.all_dags(n)
    assert len(set(graphs)) == len(graphs) == count
    assert all(naive.is_acyclic(graph) for graph in graphs)


@pytest.mark.parametrize("counts", [(0.3, 0.7), (2.5, 0.2), (0.04, 6.1)])
def test_what_weights_cost_by_a_prior_is_a_mean_over_shares(counts):
    """Of two states, of which one has a share that is uniform: by the middle of many small intervals."""
    share = (np.arange(200_000) + 0.5) / 200_000
    mean = float((share ** counts[0] * (1 - share) ** counts[1]).mean())
    cost = naive.family_cost("k2", np.array([[0], [1]]), [2], 0, (), np.array(counts))
    assert cost == pytest.approx(-math.log(mean), abs=1e-5)


def test_mdl_by_hand():
    codes = [[0, 0], [0, 1], [1, 1], [1, 1]]
    assert naive.mdl(codes, [2, 2], 0, []) == pytest.approx(4 * math.log(2) + math.log(4) / 2)
    assert naive.mdl(codes, [2, 2], 1, [0]) == pytest.approx(2 * math.log(2) + math.log(4) / 2 * 2)
    assert naive.mdl(codes, [2, 3], 1, [0]) == pytest.approx(2 * math.log(2) + math.log(4) / 2 * 4)
    assert naive.mdl([[0, 3]], [1, 4], 1, [0]) == 0


@pytest.mark.parametrize("seed", range(8))
def test_table_of_local_scores_is_mdl(seed):
    rng = np.random.default_rng(seed)
    codes, arities = random_codes(rng, n=4, records=int(rng.integers(1, 40)))
    costs = naive.all_local_scores(codes, arities, max_parents=2)
    for child in range(4):
        for varset in range(16):
            if varset >> child & 1 or varset.bit_count() > 2:
                assert costs[child, varset] == math.inf
            else:
                expected = naive.mdl(codes, arities, child, naive.members(varset))
                assert costs[child, varset] == pytest.approx(expected, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("max_parents", [None, 1])
def test_dynamic_program_is_brute_force(seed, max_parents):
    rng = np.random.default_rng(seed)
    codes, arities = random_codes(rng, n=int(rng.integers(1, 5)), records=int(rng.integers(1, 60)))
    brute = naive.optimal_cost_brute(codes, arities, max_parents)
    assert naive.optimal_cost(codes, arities, max_parents) == pytest.approx(brute, rel=1e-12, abs=1e-9)


def test_dynamic_program_is_brute_force_on_five_variables_with_ties():
    column = np.array([0, 1, 1, 0, 1, 0, 0, 1, 1, 1])
    codes = np.stack([column, 1 - column, column, np.zeros_like(column), column[::-1]], axis=1)
    brute = naive.optimal_cost_brute(codes, [2, 2, 2, 1, 2])
    assert naive.optimal_cost(codes, [2, 2, 2, 1, 2]) == pytest.approx(brute, rel=1e-12)
    assert brute < naive.network_cost(codes, [2, 2, 2, 1, 2], [[]] * 5)


def test_best_scores_are_minima_over_subsets():
    rng = np.random.default_rng(3)
    costs = naive.cost_table(4, [[(v, rng.random()) for v in range(16) if not v >> i & 1] for i in range(4)])
    best = naive.best_scores(costs)
    for varset in range(16):
        inside = [v for v in range(16) if v & ~varset == 0]
        assert (best[:, varset] == costs[:, inside].min(axis=1)).all()
