"""Cuts that a solution of the linear program violates: the kernels against slow twins."""

import itertools
import math

import numpy as np
import pytest
from cases import random_families, scores_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_clusters import families_in, random_cuts

from extbnsl.bounds.lp.program import least_sums
from extbnsl.bounds.lp.separation import counting_families, grow_clusters, shrink_clusters, solution_of
from extbnsl.bounds.lp.triples import MOVES, WORSE, grow_triples, ordered, violated_triples
from extbnsl.bounds.multipliers import single_cuts
from extbnsl.kernels.varsets import pack
from extbnsl.machine.workers import unhalted
from extbnsl.parents.pruning import prune

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))


def random_solution(seed, n, most=12):
    """Families of n children and an x for each: parents (1, m), child (m,), x (m,), those with the largest x first."""
    rng = np.random.default_rng(seed)
    families = families_in(prune(scores_of(random_families(rng, n, most))))
    child = np.repeat(np.arange(n), np.diff(families.first))
    x = rng.choice([0.1, 0.25, 0.5, 1.0], child.size)
    order = np.argsort(-x, kind="stable")
    return np.ascontiguousarray(families.parents[:, order]), child[order], x[order]


def value_of(cut, parents, child, x):
    """How much each family counts for a cut, and its left side."""
    times = [
        math.ceil(sum(mask >> y & 1 and not mask & p for mask in cut[:, 0].tolist()) / 2)
        for y, p in zip(child.tolist(), parents[0].tolist(), strict=True)
    ]
    return times, float(np.array(times) @ x)


def left_side(masks, support):
    """The left side of the cut of these clusters, as integers."""
    return value_of(np.array(masks, np.uint64)[:, None], *support)[1]


def joined(cluster, support):
    """The variables that share a family with a member of the cluster."""
    parents, child, _ = support
    near = 0
    for y, p in zip(child.tolist(), parents[0].tolist(), strict=True):
        near |= (p if cluster >> y & 1 else 0) | (1 << y if p & cluster else 0)
    return near & ~cluster


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 7), st.sampled_from([1.0, 0.8]))
def test_clusters_are_grown_by_what_makes_the_sum_least(seed, n, share):
    """And the one on the way that is violated most is kept."""
    support = random_solution(seed, n)
    pairs = [(a, b) for a in range(n) for b in range(-1, n) if a != b]
    starts = np.array(pairs)
    clusters, violations = np.zeros((len(starts), 1), np.uint64), np.empty(len(starts))
    grow_clusters(solution_of(support, n), share, starts, (0, 1), clusters, violations, unhalted())
    for k, (start, cluster) in enumerate(zip(pairs, clusters[:, 0].tolist(), strict=True)):
        if math.isinf(violations[k]):
            assert start[1] < 0
            assert not joined(1 << start[0], support)  # nobody is near
            continue
        assert all(cluster >> v & 1 for v in start if v >= 0)
        assert cluster.bit_count() >= 2
        needed = least_sums(single_cuts(clusters[k : k + 1]), share)[0]
        assert violations[k] == pytest.approx(needed - left_side([cluster], support), abs=1e-9)
        assert violations[k] >= naively_grown(start, support, share) - 1e-9


def naively_grown(start, support, share):
    """By how much the most violated cluster on the way is, where no choice was between equals; otherwise less."""
    grown, near, best = 0, 0, -math.inf
    waiting = [v for v in start if v >= 0]
    while True:
        if waiting:
            added = waiting.pop(0)
        else:
            open_ones = [v for v in range(near.bit_length()) if near & ~grown & 1 << v]
            sums = sorted((left_side([grown | 1 << v], support), v) for v in open_ones)
            if not sums or (len(sums) > 1 and sums[1][0] - sums[0][0] < 1e-6):
                return best
            added = sums[0][1]
        for y, p in zip(support[1].tolist(), support[0][0].tolist(), strict=True):
            near |= (p if y == added and not p & grown else 0) | (1 << y if p >> added & 1 else 0)
        grown |= 1 << added
        if grown.bit_count() > 1:
            best = max(best, share ** (grown.bit_count() - 1) - left_side([grown], support))


def test_clusters_of_many_variables_are_found_without_looking_at_all_of_them():
    """A cycle of three among 200 variables: words beyond the first, and nobody else is near."""
    n, cycle = 200, (3, 70, 150)
    child = np.arange(n)
    parents = np.zeros((n, 4), np.uint64)
    for a, b in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
        parents[a] = pack((b,), n)
    support = np.ascontiguousarray(parents.T), child, np.ones(n)
    clusters, violations = np.zeros((2, 4), np.uint64), np.empty(2)
    grow_clusters(solution_of(support, n), 1.0, np.array([(70, -1), (5, -1)]), (0, 1), clusters, violations, unhalted())
    assert (clusters[0] == pack(cycle, n)).all()
    assert violations.tolist() == [1.0, -math.inf]
    shrunk = np.zeros((2, 4), np.uint64)
    assert shrink_clusters(solution_of(support, n), 0, shrunk, unhalted())
    assert (shrunk == pack(cycle, n)).all()


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 8))
def test_clusters_that_nobody_counts_for(seed, n):
    """They are minimal, and there are some exactly if any cluster is one of them."""
    support = random_solution(seed, n, 3)
    some = len(support[1]) > 0 and np.random.default_rng(seed).random(support[1].size) < 0.6
    support = np.ascontiguousarray(support[0][:, some]), support[1][some], support[2][some]
    empty = [c for c in range(1, 1 << n) if c.bit_count() >= 2 and left_side([c], support) == 0.0]
    with_families = [c for c in empty if all((support[1] == v).any() for v in range(n) if c >> v & 1)]
    clusters = np.zeros((5, 1), np.uint64)
    found = shrink_clusters(solution_of(support, n), seed % 1000, clusters, unhalted())
    if len(set(support[1].tolist())) < n:  # a variable without families is one
        assert found
        return
    assert found == bool(with_families)
    for cluster in clusters[:, 0].tolist() if found else ():
        assert cluster in with_families
        assert not any(other & cluster == other and other != cluster for other in with_families)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 7))
def test_the_families_of_cuts(seed, n):
    parents, child, x = random_solution(seed, n)
    cuts = random_cuts(np.random.default_rng(seed), n, 8)
    begins, found, times = counting_families(parents, child, cuts)
    for k, cut in enumerate(cuts):
        own, _ = value_of(cut, parents, child, x)
        here = slice(begins[k], begins[k + 1])
        assert found[here].tolist() == [j for j, t in enumerate(own) if t]
        assert times[here].tolist() == [t for t in own if t]


@pytest.mark.slow
@SETTINGS
@given(st.integers(0, 2**32), st.integers(3, 7))
def test_three_clusters_are_grown_by_what_makes_the_left_side_least(seed, n):
    support = random_solution(seed, n)
    threes = np.array(list(itertools.permutations(range(n), 3)))
    cuts, violations = np.zeros((len(threes), 3, 1), np.uint64), np.empty(len(threes))
    looks = grow_triples(solution_of(support, n), threes, (0, 1), cuts, violations, unhalted())
    assert looks >= 0
    for three, cut, violation in zip(threes.tolist(), cuts, violations.tolist(), strict=True):
        assert cut.all()
        assert violation == pytest.approx(2.0 - value_of(cut, *support)[1], abs=1e-9)
        assert violation >= naively_grown_three(three, support) - 1e-9


def naively_grown_three(three, support):
    """By how much the most violated triple on the way is, where no choice was between equals; otherwise less."""
    a, b, c = (1 << v for v in three)
    masks, moved = [a | b, b | c, c | a], set()
    best = violation = 2.0 - left_side(masks, support)
    seen = [mask | joined(mask, support) for mask in masks]
    for _ in range(MOVES):
        moves = []
        for i, v in itertools.product(range(3), range(7)):
            flipped = masks[i] ^ 1 << v
            if seen[i] >> v & 1 and (i, v) not in moved and flipped:
                moves.append((left_side([*masks[:i], flipped, *masks[i + 1 :]], support), i, v))
        moves.sort()
        if not moves or (len(moves) > 1 and moves[1][0] - moves[0][0] < 1e-6):
            break
        value, i, v = moves[0]
        moved.add((i, v))
        masks[i] ^= 1 << v
        seen[i] |= 1 << v | joined(1 << v, support)
        violation = 2.0 - value
        best = max(best, violation)
        if violation < best - WORSE:
            break
    return best


def test_equal_cuts_look_equal():
    cuts = np.array([[5, 3, 9], [9, 5, 3], [1, 2, 2]], np.uint64)[:, :, None]
    assert ordered(cuts)[:, :, 0].tolist() == [[9, 5, 3], [9, 5, 3], [2, 2, 1]]


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 7), st.integers(3, 12))
def test_the_triples_found_are_those_violated_most(seed, n, size):
    parents, child, x = random_solution(seed, n)
    rng = np.random.default_rng(seed)
    clusters = np.unique(rng.integers(1, 1 << n, (size, 1)).astype(np.uint64), axis=0)
    cuts, violations, left = violated_triples((parents, child, x), clusters, 10**9, unhalted())
    assert 0 < left <= 10**9
    few, _, none = violated_triples((parents, child, x), clusters, 1, unhalted())
    assert none == max(0, 1 - (10**9 - left))
    assert len(few) <= 1
    best = 0.0
    for three in itertools.combinations(clusters, 3):
        best = max(best, 2.0 - value_of(np.array(three), parents, child, x)[1])
    assert violations.max(initial=0.0) == pytest.approx(best, abs=1e-6)
    for cut, violation in zip(cuts, violations, strict=True):
        assert violation == pytest.approx(2.0 - value_of(cut, parents, child, x)[1], abs=1e-9)
