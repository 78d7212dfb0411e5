"""Families that cost the same, by the hundred and the thousand: solved, within a bounded time."""

import itertools
from pathlib import Path

import naive
import numpy as np
import pytest
from cases import scores_of
from flat import solve
from watched import watched

from extbnsl.core.claims import OPTIMAL
from extbnsl.scores.local import local_scores

N, SIZE = 14, 5  # 1,287 parent sets


def tied(n=N, size=SIZE, seed=None):
    """A child of which all parent sets of a size are tied, and others that all want it as a parent."""
    many = [(sum(1 << v for v in own), -10.0) for own in itertools.combinations(range(1, n), size)]
    if seed is not None:
        noise = np.random.default_rng(seed).choice([0.0, 1e-9, 2e-9, 0.5], len(many)).tolist()
        many = [(v, cost + more) for (v, cost), more in zip(many, noise, strict=True)]
    return [[(0, 0.0), *many], *([(0, 0.0), (1, -10.0)] for _ in range(1, n))]


def check_solved(seed, options):
    families = tied(seed=seed)
    result = solve(scores_of(families), threads=2, **options)
    assert result.status == OPTIMAL
    assert result.cost == pytest.approx(-10.0 * (N - 1), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "options"),
    [
        (None, {}),
        pytest.param(None, {"polish": True}, marks=pytest.mark.slow),
        pytest.param(1, {"lower_bound": "clusters", "fixing": False}, marks=pytest.mark.slow),
        pytest.param(1, {}, marks=pytest.mark.slow),
    ],
)
def test_a_thousand_tied_families_of_a_child(seed, options):
    watched(check_solved, seed, options)


def check_small():
    for seed in range(3):
        check_against_the_dynamic_program(seed)


def check_against_the_dynamic_program(seed):
    """With ties of all kinds."""
    rng = np.random.default_rng(seed)
    n = 9
    families = []
    for x in range(n):
        others = [v for v in range(n) if v != x]
        sets = [sum(1 << v for v in own) for size in range(4) for own in itertools.combinations(others, size)]
        costs = rng.choice([0.0, 1.0, 1.0 + 1e-9, 2.0], len(sets)) - 3.0 * np.array([v.bit_count() for v in sets])
        families.append(list(zip(sets, costs.tolist(), strict=True)))
    result = solve(scores_of(families), threads=1)
    assert result.status == OPTIMAL
    best = naive.best_scores(naive.cost_table(n, families))
    assert result.cost == pytest.approx(naive.optimal_cost_dp(n, best), abs=1e-6)


def test_small_problems_with_hundreds_of_ties():
    watched(check_small)


def regressions(folder, name):
    """Local scores by their objective: N / 2 ln of what is left of the variance, and 6 ln n for each parent; parents
    are neighbours in the super-structure that was estimated for the data."""
    values = np.loadtxt(Path(folder, "gaussian", f"{name}.csv.gz"), delimiter=",")
    joined = np.loadtxt(Path(folder, "gaussian", f"{name}.glasso.txt"), delimiter=",") != 0
    records, n = values.shape
    covariances, joined = np.cov(values.T, bias=True), joined | joined.T
    families = []
    for x in range(n):
        near = [v for v in np.flatnonzero(joined[x]).tolist() if v != x]
        best, kept = {}, []
        for own in itertools.chain.from_iterable(itertools.combinations(near, k) for k in range(len(near) + 1)):
            both = np.linalg.slogdet(covariances[np.ix_((*own, x), (*own, x))])[1]
            cost = records / 2 * (both - (np.linalg.slogdet(covariances[np.ix_(own, own)])[1] if own else 0.0))
            cost += 6 * np.log(n) * len(own)
            least = min((best[tuple(q for q in own if q != p)] for p in own), default=np.inf)
            best[own] = min(cost, least)
            if cost < least:
                kept.append((own, cost))
        families.append(kept)
    return families


def check_network(folder, name):
    families = regressions(folder, name)
    n = len(families)
    bits = [np.zeros((len(own), n), np.uint8) for own in families]
    for rows, own in zip(bits, families, strict=True):
        for row, (parents, _) in zip(rows, own, strict=True):
            row[list(parents)] = 1
    packed = [np.packbits(np.pad(rows, ((0, 0), (0, -n % 64))), axis=1, bitorder="little").view("<u8") for rows in bits]
    costs = [np.array([cost for _, cost in own]) for own in families]
    given = [(np.ascontiguousarray(p, np.uint64), c) for p, c in zip(packed, costs, strict=True)]
    scores = local_scores([f"v{x}" for x in range(n)], given, "file")
    result = solve(scores, threads=2)
    assert result.status == OPTIMAL


@pytest.mark.slow
def test_a_gaussian_network_of_56_variables(shared_data):
    watched(check_network, str(shared_data), "11hfinder_1")
