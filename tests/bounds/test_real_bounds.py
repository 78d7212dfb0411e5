"""Bounds on projections of real data to twelve variables, against the cost to go of all 4,096 varsets."""

from functools import cache
from pathlib import Path

import naive
import numpy as np
import pytest
from calling import called
from cases import dataset_of, shelf_of
from fixed import best_at_root, best_spread
from search_invariants import cluster_value, group_value
from test_clusters import random_cuts

from extbnsl.bounds.ascent import ascend_nodes, find_multipliers
from extbnsl.bounds.at_nodes import cluster_bound, group_bound
from extbnsl.bounds.multipliers import UNIT, families_of, multipliers_of
from extbnsl.bounds.patterns import group_families, pattern_table
from extbnsl.core.claims import Claim
from extbnsl.core.events import ignore
from extbnsl.data.reading import read_csv
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.state import Means
from extbnsl.parents.exhaustive.surviving import surviving_families
from extbnsl.search.problem import VECTOR, near_clusters, new_near

near_clusters, new_near = map(called, (near_clusters, new_near))

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
N = 12
PROJECTIONS = [("wdbc.csv", 0), ("wine.csv", 0), ("wdbc.csv", 1)]
KINDS = ["ascent", "random cuts", "polished", "spread", "clusters alone"]


@cache
def projection(name, seed):
    """Surviving families of twelve columns, BestScore (n, 2^n), and the cost to go of every varset."""
    dataset = read_csv(EXAMPLES / name)
    columns = np.random.default_rng(seed).choice(dataset.variables, N, replace=False)
    part = dataset_of(dataset.codes[:, columns].astype(np.int64), [int(dataset.arities[c]) for c in columns])
    with Workers(1) as workers:
        scores = surviving_families(part, Claim(), Means(workers, shelf_of(), ignore)).scores
    best = naive.best_scores(naive.all_local_scores(part.codes, part.arities))
    rest = np.zeros(1 << N)
    for varset in range((1 << N) - 2, -1, -1):
        rest[varset] = min(best[x, varset] + rest[varset | 1 << x] for x in range(N) if not varset >> x & 1)
    return scores, best, rest


def multipliers_for(kind, families):
    with Workers(1) as workers:
        start = find_multipliers(families, None, 4, 0, workers)
        if kind == "random cuts":
            rng = np.random.default_rng(1)
            cuts, weights = random_cuts(rng, N, 40), rng.integers(1, int(2 / UNIT), 40)
            return find_multipliers(families, multipliers_of(families, cuts, weights), 2, 0, workers)
        if kind == "ascent":
            return start
        root = best_at_root(families, start, workers, rounds=4)
        return best_spread(families, root, workers, rounds=4) if kind == "spread" else root


def by_the_kernels(multipliers, low_bits):
    """h1 of every varset, as the search adds it up."""
    bound = cluster_bound(multipliers, np.arange(N))
    near = new_near(bound)
    h = np.empty(1 << N)
    for varset in range(1 << N):
        if not varset & (1 << low_bits) - 1:
            count = VECTOR * int(near_clusters(np.uint64(varset), low_bits, near))
        apart = (near.masks[2][:count] & np.uint64(varset)) == 0
        h[varset] = int(near.weights[2][:count][apart].sum()) * UNIT
        h[varset] += sum(bound.waiting[b, varset >> 8 * b & 255] for b in range(2))
    return h


def assert_consistent(h, best):
    varsets = np.arange(1 << N)
    for x in range(N):
        outside = varsets[varsets >> x & 1 == 0]
        assert (h[outside] <= best[x, outside] + h[outside | 1 << x] + 1e-9).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("projected", "kind"), [*((PROJECTIONS[0], kind) for kind in KINDS), *zip(PROJECTIONS[1:], KINDS[1:], strict=False)]
)
def test_cluster_bounds(projected, kind, sizes):
    """h1 and its maximum with pattern databases: admissible and consistent, exact at the goal, the same by kernels."""
    if kind == "clusters alone":
        sizes(TRIPLES=0)
    scores, best, rest = projection(*projected)
    families = families_of(scores.parents, scores.costs)
    multipliers = multipliers_for(kind, families)
    h1 = np.array([cluster_value(multipliers, varset) for varset in range(1 << N)])
    groups = [list(range(6)), list(range(6, 12))]
    tables = [pattern_table(*group_families(scores.parents, scores.costs, group)) for group in groups]
    patterns = group_bound(tables)
    both = np.maximum(h1, [group_value(patterns, varset) for varset in range(1 << N)])
    for h in (h1, both):
        assert (h <= rest + 1e-9).all()
        assert abs(h[-1]) < 1e-9
        assert_consistent(h, best)
    assert h1[0] == pytest.approx(multipliers.root, abs=1e-9)
    for low_bits in (4, 9):
        assert by_the_kernels(multipliers, low_bits) == pytest.approx(h1, abs=1e-9)
    if projected == PROJECTIONS[0]:
        assert_ascents_at_nodes(families, multipliers, h1, rest)


def assert_ascents_at_nodes(families, multipliers, h1, rest):
    """None is dropped that leads below the limit, all are that h1 prunes, and some besides."""
    varsets = np.arange(1 << N, dtype=np.uint64)
    g, limit = np.random.default_rng(0).uniform(0, 20, varsets.size), float(rest[0])
    g += limit - rest - 10.0
    keep = np.zeros(varsets.size, np.uint8)
    given = cluster_bound(multipliers, np.arange(N))
    ascend_nodes(varsets, g, limit, families, given, keep, np.zeros(1, np.uint8))
    kept = keep.astype(bool)
    assert kept[g + rest < limit - 1e-6].all()
    assert not kept[g + h1 >= limit + 1e-6].any()
    assert (~kept & (g + h1 < limit - 1e-6)).sum() > 10
