"""Probing: it drops no family of a cheaper network, and its passes show why the others go."""

import naive
import numpy as np
import pytest
from cases import random_families, scores_of
from fixed import ROOM, rooted
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_clusters import cost_to_go, families_in, found, networks_below

from extbnsl.bounds.lp.probing import STREAMS, choices_of, probe
from extbnsl.bounds.lp.program import Program, beginning
from extbnsl.bounds.multipliers import FamilyArrays, families_of, multipliers_of
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.pruning import prune

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
EFFORT = 100_000


def wishful(seed, n=6):
    """Children that all want many parents, so that clusters leave a gap: families, and the optimum."""
    rng = np.random.default_rng(seed)
    sets = [[p for p in range(1 << n) if p.bit_count() <= 3 and not p >> x & 1] for x in range(n)]
    costs = [[(p, 9.0 - 3.0 * p.bit_count() + rng.uniform(0, 4)) for p in own] for own in sets]
    scores, best = prune(scores_of(costs)), naive.best_scores(naive.cost_table(n, costs))
    return scores, cost_to_go(n, best)[0]


def both(scores, limit, effort=EFFORT, threads=1):
    """The families that root fixing leaves, and what probing makes of them."""
    with Workers(threads) as workers:
        fixed = rooted(scores, limit, workers, rounds=1, polish=True)
        families = families_of(fixed.parents, fixed.costs)
        return families, probed_of(families, fixed.multipliers, limit, workers, effort)


def probed_of(families, multipliers, limit, workers, effort=EFFORT, **more):
    """What probing makes of the families, from these multipliers."""
    program = Program(families, beginning(families, multipliers), 1.0, ROOM // (1 + STREAMS))
    return probe(program, limit, effort, frozenset(), workers, **more)


def alive_after(families, passes, limit):
    """What a checker leaves of the families by the cuts of the passes, one after the other; perhaps less than the
    prober, who has looked at some choices side by side."""
    alive = np.ones(families.costs.size, bool)
    for one in passes:
        left = FamilyArrays(families.parents, np.where(alive, families.costs, np.inf), families.first)
        again = multipliers_of(left, one.cuts, one.weights)
        assert (again.least >= one.least - 1e-9).all()
        alive &= again.root + again.reduced < limit
    return alive


def test_choices():
    families = families_of(
        [np.array([[0], [2], [4], [6]], np.uint64), np.array([[1]], np.uint64), np.array([[0], [1]], np.uint64)],
        [np.zeros(4), np.zeros(1), np.zeros(2)],
    )
    found = {(tuple(c.families.tolist()), tuple(c.others.tolist())) for c in choices_of(families)}
    one = {((1, 3), (0, 2)), ((2, 3), (0, 1)), ((6,), (5,))}
    assert found == one | {(b, a) for a, b in one}


@pytest.mark.parametrize("n", [64, 65, 130])
def test_choices_in_several_words(n):
    rows = np.zeros((2, -(-n // 64)), np.uint64)
    rows[1, (n - 1) >> 6] = np.uint64(1) << np.uint64((n - 1) & 63)
    families = families_of([rows] + [rows[:1]] * (n - 1), [np.zeros(2)] + [np.zeros(1)] * (n - 1))
    assert [(c.families.tolist(), c.others.tolist()) for c in choices_of(families)] == [([1], [0]), ([0], [1])]


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 5), st.sampled_from([0.5, 3.0, 10.0]))
def test_it_drops_no_family_of_a_cheaper_network(seed, n, slack):
    scores = prune(scores_of(random_families(np.random.default_rng(seed), n, 10)))
    families = [
        [(int(p), float(c)) for p, c in zip(scores.parents[x][:, 0], scores.costs[x], strict=True)] for x in range(n)
    ]
    limit = naive.optimal_cost_dp(n, naive.best_scores(naive.cost_table(n, families))) + slack
    own = families_in(scores)
    with Workers(1) as workers:
        probed = probed_of(own, found(scores, 1), limit, workers)
    assert probed.root < limit
    assert (alive_after(own, probed.passes, limit) <= probed.alive).all()
    left = [
        set(p[0].tolist()) for p in np.split(own.parents[:, probed.alive], np.cumsum(alive_sizes(own, probed))[:-1], 1)
    ]
    for network in networks_below(n, families, limit):
        assert all(p in left[x] for x, p in enumerate(network))


def alive_sizes(families, probed):
    return np.add.reduceat(probed.alive.astype(int), families.first[:-1])


@pytest.mark.slow
def test_it_drops_what_the_root_does_not_and_may_prove_all(sizes):
    sizes(TRIPLES=0)  # clusters alone leave more to do
    dropped = proved = 0
    for seed in range(10):
        scores, optimum = wishful(seed, 7)
        for slack in (-1e-6, 1.0):
            limit = optimum + slack
            with Workers(1) as workers:
                fixed = rooted(scores, limit, workers, rounds=1, polish=True)
                if fixed.proved:
                    continue
                families = families_of(fixed.parents, fixed.costs)
                found = probed_of(families, fixed.multipliers, limit, workers)
            assert alive_after(families, found.passes, limit).sum() <= found.alive.sum()
            dropped += int((~found.alive).sum())
            shown = found.root >= limit or not np.logical_or.reduceat(found.alive, families.first[:-1]).all()
            proved += shown
            assert not (shown and slack > 0.0)
    assert dropped > 50
    assert proved


def test_neither_threads_nor_batches_of_one_matter(sizes):
    scores, optimum = wishful(3)
    limit = optimum + 1.0
    families, first = both(scores, limit)
    assert first.passes
    for threads in (2, 3):
        _, other = both(scores, limit, threads=threads)
        assert (other.alive == first.alive).all()
        assert other.root == first.root
        for one, two in zip(first.passes, other.passes, strict=True):
            assert (one.cuts == two.cuts).all()
            assert (one.weights == two.weights).all()
    sizes(BATCH=1)
    _, one_by_one = both(scores, limit)
    assert (alive_after(families, one_by_one.passes, limit) == one_by_one.alive).all()


def test_effort_ends_it_with_what_there_is(sizes):
    sizes(BATCH=4)
    scores, optimum = wishful(3)
    families, whole = both(scores, optimum + 1.0)
    _, little = both(scores, optimum + 1.0, 100)
    _, nothing = both(scores, optimum + 1.0, 1)
    assert whole.alive.sum() < little.alive.sum() <= families.costs.size
    assert nothing.alive.all()
    assert not nothing.passes


def test_it_stops_when_it_is_time():
    scores, optimum = wishful(3)
    with Workers(1, lambda: "time_limit") as workers, pytest.raises(Stopped):
        probed_of(families_in(scores), found(scores), optimum, workers)
