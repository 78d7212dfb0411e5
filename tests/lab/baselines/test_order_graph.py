"""The order graph against tables of all varsets: BestScore, and bounds both ways."""

import naive
import numba
import numpy as np
import pytest
from cases import random_families, scores_of
from contexts import context_of
from patching import sized, too_large

from extbnsl.kernels.bits import u64
from extbnsl.lab.baselines.order_graph import best_score, bound_backward, bound_onward, order_graph
from extbnsl.lab.baselines.outcome import rows_along
from extbnsl.proof.methods import LOWER_BOUNDS


@numba.njit
def each_bound(graph, backward):
    """The bound of every varset of labels."""
    bounds = np.empty(1 << graph.order.size)
    for varset in range(bounds.size):
        if backward:
            bounds[varset] = bound_backward(u64(varset), graph.groups, graph.clusters)
        else:
            bounds[varset] = bound_onward(u64(varset), graph.groups, graph.clusters)
    return bounds


@numba.njit
def each_best_score(graph):
    """BestScore of every label and varset: (n, 2^n)."""
    best = np.empty((graph.order.size, 1 << graph.order.size))
    for x in range(best.shape[0]):
        for varset in range(best.shape[1]):
            best[x, varset] = best_score(u64(x), u64(varset), graph.tables)
    return best


def problem(seed, n):
    """Families, now and then without the empty set, so that not every variable can come first; their BestScores."""
    rng = np.random.default_rng(seed)
    families = random_families(rng, n, most=25, costs=lambda m: rng.normal(5, 10, m))
    for x in range(1, n):
        if seed % 3 == 0 and len(families[x]) > 1:
            families[x] = [(1 << x - 1, 7.0), *((v, c) for v, c in families[x] if v and v != 1 << x - 1)]
    return scores_of(families), naive.best_scores(naive.cost_table(n, families))


def labelled(best, order):
    """The BestScores with variable order[i] called i."""
    n = len(order)
    old = [sum(1 << int(order[i]) for i in range(n) if varset >> i & 1) for varset in range(1 << n)]
    return best[np.ix_(order, old)]


def own_costs(n, best):
    """What a network over each varset costs."""
    costs = np.full(1 << n, np.inf)
    costs[0] = 0.0
    for varset in range(1, 1 << n):
        for x in naive.members(varset):
            costs[varset] = min(costs[varset], costs[varset ^ 1 << x] + best[x, varset ^ 1 << x])
    return costs


def rest_costs(n, best):
    """What the variables outside each varset cost after it."""
    costs = np.full(1 << n, np.inf)
    costs[-1] = 0.0
    for varset in range((1 << n) - 2, -1, -1):
        for x in naive.members((1 << n) - 1 ^ varset):
            costs[varset] = min(costs[varset], costs[varset | 1 << x] + best[x, varset])
    return costs


@pytest.mark.parametrize("seed", range(12))
def test_best_score(seed):
    n = 2 + seed % 9  # more than a byte, too
    scores, best = problem(seed, n)
    with context_of("static") as context:
        graph = order_graph(scores, context)
    inside = np.arange(1 << n)[None, :] >> np.arange(n)[:, None] & 1  # those sets are never asked for
    found = each_best_score(graph)
    np.testing.assert_array_equal(np.where(inside, 0, found), np.where(inside, 0, labelled(best, graph.order)))


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("bound", LOWER_BOUNDS)
def test_bounds_are_admissible_and_consistent(bound, backward):
    with sized(BESIDE_CLUSTERS=3):
        for seed in range(12):
            n = 1 + seed % 8
            scores, best = problem(seed, n)
            with context_of(bound) as context:
                graph = order_graph(scores, context, backward)
            best, h = labelled(best, graph.order), each_bound(graph, backward)
            truth = own_costs(n, best) if backward else rest_costs(n, best)
            assert h[0 if backward else -1] == 0.0
            assert (h <= truth + 1e-9).all()
            for before in range(1 << n):
                for x in naive.members((1 << n) - 1 ^ before):
                    less, more = h[before], h[before | 1 << x]
                    if np.isfinite(truth[before | 1 << x if backward else before]):
                        near, far = (more, less) if backward else (less, more)
                        assert near <= best[x, before] + far + 1e-9


@pytest.mark.parametrize("backward", [False, True])
def test_better_bounds_are_larger(backward):
    with sized(BESIDE_CLUSTERS=4):
        for seed in range(6):
            scores, _ = problem(seed, 8)
            h = {}
            for bound in LOWER_BOUNDS:
                with context_of(bound) as context:
                    h[bound] = each_bound(order_graph(scores, context, backward), backward)
            assert (h["pattern"] >= h["static"] - 1e-9).all()
            assert (h["auto"] >= np.maximum(h["pattern"], h["clusters"]) - 1e-9).all()
            root = -1 if backward else 0
            assert h["clusters"][root] > h["static"][root]
            assert h["pattern"][root] > h["static"][root]


def test_tables_that_take_too_much():
    scores, _ = problem(1, 6)
    with context_of("static", memory=1 << 10) as context, pytest.raises(MemoryError, match="BestScore"):
        order_graph(scores, context)


def test_no_room_for_multipliers_leaves_the_static_bound():
    scores, best = problem(2, 6)
    with context_of("clusters") as context, too_large("lab.baselines.order_graph", "multipliers_bytes"):
        graph = order_graph(scores, context)
    assert graph.clusters.masks.size == 0
    assert each_bound(graph, False)[0] == pytest.approx(best.min(axis=1).sum())


def test_rows_along_an_order():
    """Of orders, many of which lack a parent set."""
    scores, best = problem(3, 7)
    whole = 0
    for seed in range(40):
        order = np.random.default_rng(seed).permutation(7).tolist()
        before = [sum(1 << x for x in order[:k]) for k in range(7)]
        if all(np.isfinite(best[x, b]) for x, b in zip(order, before, strict=True)):
            whole += 1
            rows = rows_along(order, scores)
            assert [scores.costs[x][rows[x]] for x in order] == [best[x, b] for x, b in zip(order, before, strict=True)]
    assert whole > 2
