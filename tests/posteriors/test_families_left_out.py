"""What may be left out of sums: families that weigh little beside one of their subsets."""

import math

import numpy as np
import pytest
from cases import random_families, scores_of
from hypothesis import given, settings
from hypothesis import strategies as st
from summing import summed

from extbnsl.core.claims import Claim
from extbnsl.core.knowledge import Knowledge
from extbnsl.machine.workers import Workers
from extbnsl.parents.constraints import constraints_of
from extbnsl.parents.pruning import prune
from extbnsl.posteriors.lists import charged, lost_by, possible_families, slack_for


@pytest.mark.parametrize(("most", "expected"), [(None, [8, 8, 8, 8]), (1, [4, 4, 4, 4]), (0, [1, 1, 1, 1])])
def test_how_many_families_there_may_be(most, expected):
    assert possible_families(constraints_of(Claim(max_parents=most), "abcd")) == expected


def test_knowledge_leaves_fewer():
    knowledge = Knowledge(required=(("a", "b"),), forbidden=(("c", "d"),), roots=("a",))
    assert possible_families(constraints_of(Claim(knowledge=knowledge), "abcd")) == [1, 4, 8, 4]


def test_without_a_width_nothing_is_left_out():
    assert slack_for([8, 8], 0.0) == math.inf
    assert lost_by([8, 8], math.inf) == 0.0


@settings(deadline=None)
@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=30), st.floats(1e-12, 0.5))
def test_a_slack_loses_no_more_than_was_allowed(possible, lost):
    assert 0.0 <= lost_by(possible, slack_for(possible, lost)) <= lost * (1.0 + 1e-9)


@settings(deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["uniform", "order"]), st.sampled_from([1e-6, 1e-3, 0.1, 0.5]))
def test_the_whole_sum_lies_within_what_is_said_to_be_lost(seed, prior, lost):
    """By the slack, by charging what is kept, and by both."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    scores = scores_of(random_families(rng, n))
    whole, probabilities, _ = summed(scores, prior)
    possible = [1 << (n - 1)] * n
    slack = slack_for(possible, lost)
    few = prune(scores, slack)
    with Workers(1) as workers:
        fewer = charged(few, lost, workers)
    for kept, most in ((few, lost), (fewer, (1.0 + lost) ** 2 - 1.0)):
        own, shares, _ = summed(kept, prior)
        assert own - 1e-9 <= whole <= own + math.log1p(most) + 1e-9
        for x in range(n):
            known = {int(varset[0]): float(share) for varset, share in zip(kept.parents[x], shares[x], strict=True)}
            for varset, true in zip(scores.parents[x], probabilities[x], strict=True):
                share = known.get(int(varset[0]), 0.0)
                assert share / (1.0 + most) - 1e-9 <= true <= (share + most) / (1.0 + most) + 1e-9


def test_charging_leaves_out_most_of_what_is_light():
    """Of eight equal sets above a heavy one each weighs a hundredth: with room for three, five stay."""
    families = [[(0, 0.0), *((1 << p, math.log(100.0)) for p in range(1, 9))], *([(0, 0.0)] for _ in range(8))]
    scores = scores_of(families)
    with Workers(1) as workers:
        kept = charged(scores, math.expm1(9 * 0.035), workers)
    assert kept.costs[0].size == 1 + 8 - 3
    assert [own.size for own in kept.costs[1:]] == [1] * 8


def test_a_tie_is_never_charged():
    families = [[(0, 1.0), (2, 1.0)], [(0, 1.0), (1, 1.0)]]
    with Workers(1) as workers:
        assert charged(scores_of(families), 0.5, workers).families == 4
