"""The layered search against its obvious twin: same nodes, costs and leaves, however the layers are cut."""

import itertools
import math
from math import comb

import naive
import numpy as np
import pytest
from cases import cost_of_order, random_families, scores_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extbnsl.bounds.patterns import group_bound, group_families, pattern_table, static_table
from extbnsl.parents.pruning import prune
from extbnsl.reconstruct import optimal_order
from extbnsl.search import layers
from extbnsl.search.layers import predicted_edges, search_layers, search_problem
from extbnsl.workers import Stopped, Workers

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))


class Problem:
    """Families of whole costs, so that sums are exact; the bound has two groups of variables."""

    def __init__(self, seed, n, most=25, pattern=True, widths=None):
        self.n = n
        self.families = random_families(np.random.default_rng(seed), n, most)
        self.scores = prune(scores_of(self.families))
        self.best = naive.best_scores(naive.cost_table(n, self.families))
        widths = widths or [(n + 1) // 2, n // 2]
        ends = list(itertools.accumulate(widths))
        groups = [tuple(range(end - width, end)) for width, end in zip(widths, ends, strict=True) if width]
        if pattern:
            tables = [pattern_table(*group_families(self.scores.parents, self.scores.costs, g)) for g in groups]
        else:
            tables = [static_table(np.array([self.scores.costs[x][0] for x in g])) for g in groups]
        self.bound = group_bound(tables)
        self.optimum = naive.optimal_cost_dp(n, self.best)

    def ready(self, limit=math.inf, path_extension=False):
        return search_problem(self.scores.parents, self.scores.costs, self.bound, limit, path_extension)

    def naive_layers(self, limit, path_extension):
        """Per layer {varset: (g, leaf)} and the number of edges generated."""
        favourite = [int(p[0, 0]) for p in self.scores.parents]
        layer, found = {0: (0.0, 255)}, []
        while layer:
            found.append((layer, 0))
            following, edges = {}, 0
            for varset, (g, _) in layer.items():
                outside = [x for x in range(self.n) if not varset >> x & 1]
                ready = [x for x in outside if favourite[x] & ~varset == 0]
                extend = path_extension and ready and varset  # the search starts unforced
                for x in ready[:1] if extend else outside:
                    edges += 1
                    node, cost = varset | 1 << x, g + self.best[x, varset]
                    if cost + self.bound.value(node) < limit:
                        following[node] = min(following.get(node, (math.inf, 255)), (cost, x))
            found[-1] = (layer, edges)
            layer = following
        return found


def searched(problem, threads=1):
    with Workers(threads) as workers:
        return list(search_layers(problem, workers))


def columns(state):
    layer = state.layer
    return layer.varsets.tolist(), layer.g.tolist(), layer.leaf.tolist(), layer.forced.tolist()


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 8), st.booleans())
def test_the_full_lattice(seed, n, pattern):
    problem = Problem(seed, n, pattern=pattern)
    states = searched(problem.ready())
    cheapest = {0: 0.0}
    for state in states:
        state.layer.check()
        assert state.layer.nodes == comb(n, state.layer.size)
        for varset, g, leaf, _ in zip(*columns(state), strict=True):
            if varset:
                costs = {x: cheapest[varset ^ 1 << x] + problem.best[x, varset ^ 1 << x] for x in naive.members(varset)}
                cheapest[varset] = min(costs.values())
                assert g == cheapest[varset]
                assert leaf == min(x for x, cost in costs.items() if cost == g)
    last = states[-1]
    assert last.kept == 2**n
    assert last.expanded == 2**n - 1
    assert last.generated == n * 2 ** (n - 1)
    assert last.peak == comb(n, n // 2)
    assert last.layer.g[0] == problem.optimum
    order = optimal_order(last)
    assert cost_of_order(order, problem.best) == problem.optimum


@SETTINGS
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 8),
    pattern=st.booleans(),
    path_extension=st.booleans(),
    slack=st.sampled_from([-5.0, 0.0, 0.5, 3.0, 20.0, math.inf]),
)
def test_nodes_are_those_of_the_obvious_search(seed, n, pattern, path_extension, slack):
    problem = Problem(seed, n, pattern=pattern)
    limit = problem.optimum + slack
    states = searched(problem.ready(limit, path_extension))
    expected = problem.naive_layers(limit, path_extension)
    generated = 0
    for k, (nodes, edges) in enumerate(expected):
        states[k].layer.check()
        varsets, g, leaf, _ = columns(states[k])
        assert dict(zip(varsets, zip(g, leaf, strict=True), strict=True)) == nodes
        assert states[k].generated == generated
        if k:
            assert states[k].least_f == min(cost + problem.bound.value(v) for v, (cost, _) in nodes.items())
        generated += edges
    if len(expected) == n + 1:
        assert slack > 0
        assert len(states) == n + 1
        assert states[-1].layer.g[0] == problem.optimum
        assert cost_of_order(optimal_order(states[-1]), problem.best) == problem.optimum
    else:
        assert slack <= 0
        assert states[-1].layer.nodes == 0
        assert states[-1].least_f == math.inf


@pytest.mark.parametrize("low_bits", [1, 2, 3, 4])
@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("path_extension", [False, True])
def test_partitions_and_tasks_change_nothing(low_bits, targets, path_extension, monkeypatch):
    for seed in range(3):
        problem = Problem(seed, 9)
        for limit in (problem.optimum + 4, math.inf):
            monkeypatch.undo()
            whole = searched(problem.ready(limit, path_extension))
            monkeypatch.setattr(layers, "LOW_BITS", low_bits)
            monkeypatch.setattr(layers, "TARGETS_PER_TASK", targets)
            for threads in (1, 3):
                cut = searched(problem.ready(limit, path_extension), threads)
                assert [columns(s) for s in cut] == [columns(s) for s in whole]
                assert [(s.generated, s.kept, s.peak) for s in cut] == [(s.generated, s.kept, s.peak) for s in whole]
                for state in cut:
                    state.layer.check()
                    assert state.layer.low_bits == low_bits
                assert optimal_order(cut[-1]) == optimal_order(whole[-1])


@pytest.mark.parametrize("widths", [[12], [9, 3], [3, 9], [4, 4, 4], [1, 11], [10, 1, 1]])
def test_any_groups(widths):
    problem = Problem(4, 12, most=60, widths=widths)
    states = searched(problem.ready(problem.optimum + 1e-6, True))
    assert states[-1].layer.g[0] == problem.optimum
    assert cost_of_order(optimal_order(states[-1]), problem.best) == problem.optimum


def test_more_than_a_byte_of_low_bits_and_many_families(monkeypatch):
    """17 variables: two low bytes, a high one, and children with more than 64 parent sets."""
    problem = Problem(6, 17, most=700, widths=[9, 8])
    assert max(c.size for c in problem.scores.costs) > 64
    exact = searched(problem.ready(problem.optimum + 1e-6, False))
    assert exact[-1].layer.g[0] == problem.optimum
    for low_bits in (5, 8):
        monkeypatch.setattr(layers, "LOW_BITS", low_bits)
        assert [columns(s) for s in searched(problem.ready(problem.optimum + 1e-6, False))] == [
            columns(s) for s in exact
        ]


def test_leaves_of_closed_layers():
    problem = Problem(2, 7)
    states = searched(problem.ready())
    for state, closed in zip(states, states[-1].closed, strict=False):
        for varset, leaf in zip(state.layer.varsets.tolist(), state.layer.leaf.tolist(), strict=True):
            assert closed.leaf_of(varset) == leaf
        with pytest.raises(KeyError):
            closed.leaf_of((1 << state.layer.size + 1) - 1)


def test_a_probe_ends_early_and_is_extrapolated():
    problem = Problem(3, 10).ready()
    with Workers(1) as workers:
        probe = list(search_layers(problem, workers, 100))
        assert probe[-1].kept > 100 >= probe[-2].kept
        whole = float(searched(problem)[-1].generated)
        assert predicted_edges(search_layers(problem, workers), 10) == whole
        guess = predicted_edges(search_layers(problem, workers, 300), 10)
    assert whole / 4 < guess < whole * 4


def test_bytes_grow_with_the_layers():
    states = searched(Problem(3, 9).ready())
    assert all(earlier.bytes < later.bytes for earlier, later in itertools.pairwise(states[:5]))
    assert states[4].bytes >= 12 * states[4].layer.nodes


def test_a_stop_ends_the_search():
    with Workers(1, lambda: "interrupted") as workers, pytest.raises(Stopped):
        list(search_layers(Problem(3, 6).ready(), workers))


def test_check_finds_a_broken_layer():
    layer = searched(Problem(3, 6).ready())[3].layer
    for change in (
        {"lows": layer.lows[::-1].copy()},
        {"size": 2},
        {"g": np.full_like(layer.g, np.inf)},
        {"leaf": layer.leaf[1:]},
        {"lows": np.repeat(layer.lows[:1], layer.nodes)},
    ):
        broken = type(layer)(**(vars(layer) | change))
        with pytest.raises(AssertionError):
            broken.check()
