"""How the search of a child is cut: each parent set is in one part, and any cut finds the same families."""

import itertools
import math

import naive
import numpy as np
import pytest
from cases import claim_by, random_dataset, shelf_of
from hypothesis import given
from hypothesis import strategies as st

from extbnsl.core.events import ignore
from extbnsl.core.knowledge import Knowledge
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.cutting import SHARES, cut, share_of
from extbnsl.parents.exhaustive.problem import varying
from extbnsl.parents.exhaustive.state import Means, start_enumeration
from extbnsl.parents.exhaustive.surviving import surviving_families
from extbnsl.scores.known import score_of


def exactly(after, levels):
    """How many sets of a size there are, as by_child.py has them."""
    return math.comb(after, levels + 1)


def at_most(after, levels):
    """How many sets up to a size there are."""
    return sum(math.comb(after, size) for size in range(levels + 1))


def falling(m):
    return range(m - 1, -1, -1)


def chosen(following, levels):
    """All ways to choose so many candidates one by one, as places."""
    if levels == 0:
        yield ()
        return
    for place, after in enumerate(following):
        yield from ((place, *others) for others in chosen(falling(after), levels - 1))


def within(part, own, levels, m):
    """Whether these places are within the ranges of a part."""
    bounds = zip(*part.ranges(levels, m), own, strict=False)
    return all(lo <= place < hi for lo, hi, place in bounds)


@given(st.integers(0, 8), st.integers(0, 8), st.sampled_from([1, 2, 3, 10, 50, math.inf]), st.floats(1.0, 2.5))
def test_each_set_up_to_a_size_is_in_one_part(m, levels, least, growth):
    levels = min(m, levels)
    parts = cut(falling(m), levels, lambda after, levels: min(growth**after, at_most(after, levels)), least)
    for size in range(levels + 1):
        for own in chosen(falling(m), size):
            begun = [part for part in parts if size >= len(part.path) + (0 if part.first else 1)]
            assert sum(within(part, own, levels, m) for part in begun) == 1


@given(st.integers(1, 8), st.integers(1, 8), st.sampled_from([1, 2, 5, math.inf]), st.randoms())
def test_each_set_of_a_size_is_in_one_part_however_many_may_follow(m, size, least, rng):
    following = [rng.randint(0, m - 1 - place) for place in range(m)]
    parts = cut(following, size - 1, exactly, least)
    for own in chosen(following, size - 1):  # the last candidate is not chosen by its place
        assert sum(within(part, own, size - 1, m) for part in parts) == 1


@pytest.mark.parametrize("m", [12, 28, 45, 100])
@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_no_part_is_more_than_a_share_and_there_are_not_many(m, size):
    parts = cut(falling(m), size - 1, exactly, 1.0)
    whole = sum(part.nodes for part in parts)
    assert whole == pytest.approx(math.comb(m, size))
    assert [part.nodes for part in parts] == sorted((part.nodes for part in parts), reverse=True)
    cuttable = [part for part in parts if len(part.path) < size - 2 or part.hi > part.lo + 1]
    assert max(part.nodes for part in cuttable) <= whole / SHARES
    assert len(parts) <= 2.5 * SHARES


def test_little_work_is_one_part_and_more_is_cut_no_finer_than_it_is_worth():
    assert len(cut(falling(20), 4, exactly, math.comb(20, 5))) == 1
    parts = cut(falling(20), 4, exactly, math.comb(20, 5) / 4)
    assert 4 <= len(parts) <= 8


def test_the_share_is_that_of_the_sets():
    parts = cut(falling(20), 5, exactly, 1.0)
    shares = [share_of(parts, over) for over in range(len(parts) + 1)]
    assert shares[0] == 0.0
    assert shares[-1] == pytest.approx(1.0)
    assert shares == sorted(shares)
    assert shares[10] == pytest.approx(sum(part.nodes for part in parts[:10]) / math.comb(20, 6))
    assert share_of(cut(falling(3), 0, exactly, 1.0), 1) == 0.0  # no work that is known


def families(dataset, score, threads=1, slack=0.0, **given):
    claim = claim_by(score, **given)
    begun = start_enumeration(varying(dataset, score_of(claim)).size)
    with Workers(threads) as workers:
        means = Means(workers, shelf_of(), ignore)
        return surviving_families(dataset, claim, means, begun, slack=slack)


CUTS = [(1, 1), (2, 1), (5, 40), (1000, 1), (1000, 300)]  # SHARES and TASK_ROWS


@pytest.mark.parametrize("score", ["mdl", "aic", "bdeu:0.1", "bdeu:10", "bds:5", "k2"])
@pytest.mark.parametrize("seed", range(3))
def test_any_cut_finds_the_same_families_by_any_number_of_threads(score, seed, sizes):
    dataset = random_dataset(np.random.default_rng(seed), 9, (40, 150, 400)[seed], 3)
    slack = 3.0 if seed == 1 else 0.0
    knowledge = Knowledge(required=((dataset.names[0], dataset.names[1]),)) if seed == 2 else None
    known = {} if knowledge is None else {"knowledge": knowledge}
    whole = families(dataset, score, slack=slack, **known)
    assert whole.stopped is None
    for shares, rows in CUTS:
        sizes({"cutting.SHARES": shares, "TASK_ROWS": rows, "PARTS_OF_CHILD": shares})
        counted = {whole.varsets} if score in ("mdl", "aic") else set()  # else what a task finds tells it what to leave
        for threads in (1, 2):
            other = families(dataset, score, threads, slack, **known)
            counted.add(other.varsets)
            for column in ("parents", "costs"):
                pairs = zip(getattr(whole.scores, column), getattr(other.scores, column), strict=True)
                assert all(np.array_equal(one, two) for one, two in pairs)
        assert len(counted) == 1


@pytest.mark.parametrize("score", ["mdl", "bdeu"])
def test_with_as_many_tasks_as_there_are_the_best_of_each_set_is_found(score, sizes):
    sizes({"cutting.SHARES": 1000, "TASK_ROWS": 1, "PARTS_OF_CHILD": 1000})
    dataset = random_dataset(np.random.default_rng(8), 7, 200, 3)
    scores = families(dataset, score).scores
    best = naive.best_scores(naive.all_local_scores(dataset.codes, dataset.arities, score=score))
    for child, varset in itertools.product(range(7), range(1 << 7)):
        if not varset >> child & 1:
            inside = (scores.parents[child][:, 0] & ~np.uint64(varset)) == 0
            assert scores.costs[child][inside].min() == pytest.approx(best[child][varset], rel=1e-9)
