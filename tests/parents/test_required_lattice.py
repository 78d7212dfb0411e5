"""Counting with parents that must be: in the lattice of all children, or apart where that is less work."""

import math
from unittest import mock

import naive
import numpy as np
import pytest
from cases import claim_by, dataset_of, places_of, random_dataset, shelf_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knowing import random_knowledge
from test_lattice import level, rank_of, ranks_in

from extbnsl.core.claims import MEMORY_LIMIT, Claim
from extbnsl.core.events import ignore
from extbnsl.core.knowledge import Knowledge
from extbnsl.kernels.ranks import binomial_table
from extbnsl.kernels.ranks import rank_of as rank_of_members
from extbnsl.kernels.varsets import as_varsets, pack
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.exhaustive import problem as problem_module
from extbnsl.parents.exhaustive import surviving
from extbnsl.parents.exhaustive.by_level import judge_by_level
from extbnsl.parents.exhaustive.lattice import Rules
from extbnsl.parents.exhaustive.marking import needed_by_children, set_ranks
from extbnsl.parents.exhaustive.source import source_of
from extbnsl.parents.exhaustive.state import Means
from extbnsl.parents.exhaustive.surviving import surviving_families

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
APART = mock.patch.object(problem_module, "PASSED", -1)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 7), st.integers(1, 4), st.booleans())
def test_what_children_need_that_must_have_parents(seed, n, size, extended):
    rng = np.random.default_rng(seed)
    size = min(size, n)
    below, everyone = level(n, size - 1), range(n)
    must = rng.random((n, n)) < 0.25
    np.fill_diagonal(must, False)
    may = must | ((rng.random((n, n)) < 0.9) & ~np.eye(n, dtype=bool))
    limits = rng.integers(0, n + 1, n)
    needs = [pack(np.flatnonzero(must[:, x]).tolist(), 64)[0].item() for x in everyone]
    present = [v for v in below if rng.random() < 0.9]
    alive = {v: [x for x in everyone if not v >> x & 1 and needs[x] & ~v == 0 and rng.random() < 0.8] for v in present}
    there = np.zeros(math.comb(n, size - 1), bool)
    there[[rank_of(naive.members(v)) for v in present]] = True
    column = np.array([pack(own, n) for own in alive.values()], np.uint64).reshape(-1, 1)
    pairs = as_varsets(may), as_varsets(must), must.sum(axis=0), True
    binomials = binomial_table(n, n)
    arities = np.full(n, 2)
    rules = Rules(1.0, arities, limits, np.zeros(n), binomials, 0.0, *pairs, arities, 0.0)
    asked = must.any(axis=0) | (not extended)
    children = as_varsets(asked[None])[0]
    ranks = needed_by_children(0, len(present), size, column, places_of(there), children, extended, rules)
    wanted = set()
    for v in level(n, size):
        for x in np.flatnonzero(asked).tolist():
            is_family = v >> x & 1 and x in alive.get(v ^ 1 << x, [])
            free = [y for y in naive.members(v) if not needs[x] >> y & 1]
            grows = (
                not v >> x & 1
                and free
                and needs[x] & ~v == 0
                and size <= limits[x]
                and all(may[y, x] for y in free[-1:])
                and all(x in alive.get(v ^ 1 << y, []) for y in free)
            )
            if is_family or (extended and grows):
                wanted.add(rank_of(naive.members(v)))
    assert set(ranks.tolist()) == wanted
    marked = np.zeros(-(-math.comb(n, size) // 64), np.uint64)
    set_ranks(ranks, marked)
    assert set(ranks_in(marked[:, None])) == wanted
    assert all(rank_of_members(np.array(naive.members(v), int), binomials) == rank_of(naive.members(v)) for v in below)


@pytest.mark.slow
def test_one_lattice_counts_no_more_than_several():
    """But for what the required parents themselves are counted, which are nothing where they divide the table."""
    fewer = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        dataset = random_dataset(rng, 6, 150)
        knowledge = random_knowledge(rng, dataset.names)
        claim = claim_by(["mdl", "bdeu"][seed % 2], None, knowledge)
        counted = []
        with Workers(1) as workers:
            counted.append(surviving_families(dataset, claim, Means(workers, shelf_of(), ignore)).varsets)
            with APART:
                counted.append(surviving_families(dataset, claim, Means(workers, shelf_of(), ignore)).varsets)
        divisors = {frozenset(p for p, c in knowledge.required if c == child) for _, child in knowledge.required}
        assert counted[0] <= counted[1] + len(divisors)
        fewer += counted[0] < counted[1]
    assert fewer > 10


def test_a_child_is_counted_apart_where_passing_its_ranks_is_more_work():
    rng = np.random.default_rng(2)
    dataset = dataset_of(rng.integers(0, 2, (80, 70)))
    many = tuple((f"v{v}", "v60") for v in range(9))
    knowledge = Knowledge((*many, ("v1", "v2"), ("v9", "v8")), max_parents=(("v60", 10),))
    claim = Claim(max_parents=None, knowledge=knowledge)
    source = source_of(dataset, claim)
    first, apart = source.groups(source.problem(0.0))
    assert apart.parents == tuple(range(9))
    assert apart.children == (60,)
    assert sorted(first.children) == [v for v in range(70) if v != 60]


def test_a_child_is_born_where_all_others_have_died():
    """Independent variables want no parents: the levels up to that of the required ones are empty."""
    codes = np.random.default_rng(1).integers(0, 2, (400, 9))
    knowledge = Knowledge(tuple((f"v{v}", "v7") for v in (0, 2, 3, 8)))
    for score in ("mdl", "bdeu", "bds:5"):
        with Workers(1) as workers:
            found = surviving_families(
                dataset_of(codes), claim_by(score, None, knowledge), Means(workers, shelf_of(), ignore)
            )
        assert found.stopped is None
        assert found.scores.parents[7][:, 0].tolist()[0] == 0b100001101
        assert found.least[7] == found.scores.costs[7][0]


@pytest.mark.parametrize("score", ["mdl", "bdeu", "bds:5", "k2", "fnml", "qnml"])
def test_counting_goes_on_child_by_child_from_any_level_or_has_a_bound(score, monkeypatch):
    """Also where a child must have more parents than have been judged when there is no more memory."""
    rng = np.random.default_rng(5)
    dataset = dataset_of(rng.integers(0, 2, (90, 3)) @ rng.integers(0, 2, (3, 9)) + rng.integers(0, 2, (90, 9)) & 1)
    knowledge = Knowledge((("v0", "v1"), *((f"v{v}", "v8") for v in range(1, 5))))
    claim, ends = claim_by(score, None, knowledge), set()
    with Workers(1) as workers:
        whole = surviving_families(dataset, claim, Means(workers, shelf_of(), ignore))
    for size in range(10):

        def until(*given, size=size):
            for known in judge_by_level(*given):
                yield known
                if known.complete_to >= size:
                    raise Stopped(MEMORY_LIMIT)

        monkeypatch.setattr(surviving, "judge_by_level", until)
        with Workers(1) as workers:
            found = surviving_families(dataset, claim, Means(workers, shelf_of(), ignore))
        ends.add(found.stopped)
        assert (found.least <= whole.least + 1e-9).all()
        if found.stopped is None:
            assert [p.tolist() for p in found.scores.parents] == [p.tolist() for p in whole.scores.parents]
    assert ends == ({None, MEMORY_LIMIT} if score == "qnml" else {None})  # which goes on by level alone


def test_a_required_parent_that_never_varies_but_could():
    codes = np.column_stack([np.arange(12) % 2, np.zeros(12, int), np.arange(12) % 3])
    dataset, knowledge = dataset_of(codes, [2, 2, 3]), Knowledge((("v1", "v0"), ("v2", "v0")))
    costs = naive.all_local_scores(dataset.codes, dataset.arities)
    with Workers(1) as workers:
        found = surviving_families(dataset, Claim(knowledge=knowledge), Means(workers, shelf_of(), ignore))
    assert found.scores.parents[0].tolist() == [[0b110]]
    assert found.scores.costs[0][0] == pytest.approx(costs[0, 0b110])
