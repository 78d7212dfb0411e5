"""Families of columns of both kinds as Gaussian ones: their costs against a slow twin, and which are found."""

import math

import naive
import numpy as np
import pytest
from cases import numbers_of, random_mixed, shelf_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knowing import admitted, random_knowledge
from patching import sized

from extbnsl.core.claims import TIME_LIMIT, Claim
from extbnsl.core.errors import InputError, VerificationError
from extbnsl.core.events import ignore
from extbnsl.core.knowledge import Knowledge
from extbnsl.data import Mixed
from extbnsl.machine.workers import Stopped, Workers, unhalted
from extbnsl.parents.exhaustive.source import source_of
from extbnsl.parents.exhaustive.state import Means
from extbnsl.parents.exhaustive.surviving import surviving_families
from extbnsl.scores.degenerate import blocks_of
from extbnsl.verify.rescoring import family_cost

SETTINGS = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
SIZES = st.sampled_from([3, 6, 12, 40, 150])
SCORE = "dg-bic"


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5), SIZES)
def test_costs_are_those_of_the_slow_twin_and_of_the_check(seed, n, records):
    data = random_mixed(np.random.default_rng(seed), n, records)
    blocks = blocks_of(data)
    for child, own in enumerate(naive.all_degenerate_costs(data)):
        for varset, expected in enumerate(own.tolist()):
            if varset >> child & 1:
                continue
            parents = tuple(naive.members(varset))
            cost = blocks.cost(child, parents, math.log(data.records) / 2)
            assert cost == pytest.approx(expected, rel=1e-7, abs=1e-4)
            if math.isinf(expected):
                with pytest.raises(VerificationError):
                    family_cost(data, child, parents, Claim(SCORE))
            else:
                assert family_cost(data, child, parents, Claim(SCORE)) == pytest.approx(cost, rel=1e-9, abs=1e-6)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 5), SIZES)
def test_subsets_of_allowed_families_are_allowed_and_fit_no_better(seed, n, records):
    data = random_mixed(np.random.default_rng(seed), n, records)
    blocks = blocks_of(data)
    for child in range(n):
        misfits = {u: blocks.misfit(child, naive.members(u)) for u in range(2**n) if not u >> child & 1}
        for u, misfit in misfits.items():
            for v in naive.members(u):
                assert misfits[u ^ 1 << v] >= misfit - 1e-6 or math.isinf(misfit)
                assert not (math.isfinite(misfit) and math.isinf(misfits[u ^ 1 << v]))


def test_of_numbers_alone_it_is_gaussian_bic():
    own = numbers_of(np.random.default_rng(5).normal(size=(50, 4)) * [1e3, 1.0, 1e-4, 7.0] + 3.0)
    states = ((),) * own.variables
    both = Mixed(own.names, states, np.zeros(own.values.shape, np.uint16), own.values, "<test>")
    for options in ({}, {"penalty": 1.5}, {"gamma": 0.5}):
        alone, together = source_of(own, Claim("gaussian-bic", **options)), source_of(both, Claim(SCORE, **options))
        for child, parents in ((0, ()), (0, (1,)), (2, (0, 1)), (3, (0, 1, 2))):
            assert together.cost(child, parents) == pytest.approx(alone.cost(child, parents), rel=1e-12, abs=1e-9)


def families(data, claim, slack=0.0, threads=1, tasks=None, begun=None):
    done, known = [], [begun]

    def stop_then(found):
        known[0] = found
        done.append(found)
        if len(done) == tasks:
            raise Stopped(TIME_LIMIT)

    with Workers(threads) as workers:
        found = surviving_families(data, claim, Means(workers, shelf_of(), ignore), begun, stop_then, slack)
    return found, known[0]


def check_found(data, claim, found, slack, near=1e-4):
    """All families that are wanted are there, with their costs, and none that is not allowed. near: what determinants
    of covariances may be off, of the twin."""
    n, blocks = data.variables, blocks_of(data).of(0, ())
    costs = naive.all_degenerate_costs(data)
    costs[~admitted(claim.knowledge, data.names, claim.max_parents)] = np.inf
    for x in range(n):
        must = sum(1 << p for p in source_of(data, claim).constraints.parents_required(x))
        listed = dict(zip(found.scores.parents[x][:, 0].tolist(), found.scores.costs[x].tolist(), strict=True))
        for varset in range(2**n):
            if varset in listed:
                assert listed[varset] == pytest.approx(costs[x, varset], rel=1e-7, abs=near)
                continue
            below = min((costs[x, p] for p in range(varset) if p & ~varset == 0), default=np.inf)
            idle = any(not blocks.sizes[v] for v in naive.members(varset & ~must)) or not blocks.sizes[x]
            idle = idle and slack == 0.0
            assert idle or not costs[x, varset] < below + slack - near


def allowed_required(data, claim):
    """Whether the families of the arcs that must be are allowed."""
    try:
        source_of(data, claim)
    except InputError:
        musts = ([data.names.index(p) for p, c in claim.knowledge.required if c == name] for name in data.names)
        assert math.inf in [naive.degenerate_cost(data, x, must) for x, must in enumerate(musts)]
        return False
    return True


@SETTINGS
@given(
    st.integers(0, 2**32),
    st.integers(1, 6),
    SIZES,
    st.sampled_from([None, 1, 2]),
    st.sampled_from([0.0, 0.0, 0.7, 25.0, math.inf]),
    st.booleans(),
)
def test_all_families_that_are_wanted_and_no_others(seed, n, records, limit, slack, cut):
    rng = np.random.default_rng(seed)
    data = random_mixed(rng, n, records)
    claim = Claim(SCORE, limit, knowledge=random_knowledge(rng, data.names, limit))
    if not allowed_required(data, claim):
        return
    with sized({"degenerate.CUT": 1, "collected.ROOM": 16, "collected.KNOWN": 4} if cut else {}):
        found, _ = families(data, claim, slack, threads=2)
    assert found.stopped is None
    check_found(data, claim, found, slack)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 6), SIZES)
def test_columns_that_determine_each_other_hide_nothing(seed, n, records):
    """Sums and copies of other columns, but for a little: families are singular, or nearly, in many ways."""
    rng = np.random.default_rng(seed)
    data = random_mixed(rng, n, records)
    values = data.values.copy()
    numbers = np.flatnonzero(~data.of_states).tolist()
    for v in numbers[1:]:
        if rng.random() < 0.7:
            others = values[:, numbers[: numbers.index(v)]]
            spread = others.std(axis=0)
            mixed = (others - others.mean(axis=0)) / spread @ rng.normal(size=others.shape[1])
            values[:, v] = mixed + rng.normal(size=records) * 10.0 ** rng.integers(-9, 0)
    data = Mixed(data.names, data.states, data.codes, values, "<test>")
    found, _ = families(data, Claim(SCORE))
    check_found(data, Claim(SCORE), found, 0.0, near=0.02)


def test_what_is_found_depends_neither_on_stops_nor_on_threads():
    data = random_mixed(np.random.default_rng(11), 14, 400)
    claim = Claim(SCORE)
    whole, _ = families(data, claim)
    assert whole.scores.fingerprint == families(data, claim, threads=3)[0].scores.fingerprint
    begun, ends = None, 0
    while True:
        found, begun = families(data, claim, tasks=8, begun=begun)
        if found.stopped is None:
            break
        ends += 1
        assert found.stopped == TIME_LIMIT
        assert np.isfinite(found.unjudged).any()
    assert ends > 2
    assert found.scores.fingerprint == whole.scores.fingerprint


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5), SIZES)
def test_what_is_said_of_families_that_were_not_judged_is_a_bound(seed, n, records):
    data = random_mixed(np.random.default_rng(seed), n, records)
    with Workers(1) as workers:
        least = source_of(data, Claim(SCORE)).least_costs(workers)
    for own, bound in zip(naive.all_degenerate_costs(data), least, strict=True):
        assert bound <= own.min() + 1e-5


def test_a_search_looks_at_halt():
    data = random_mixed(np.random.default_rng(3), 9, 300)
    source = source_of(data, Claim(SCORE))
    counted = source.families_of(2, 0, math.inf, unhalted()).counted
    assert source.families_of(2, 0, math.inf, np.ones(1, np.uint8)).counted < counted


def test_equivalent_networks_cost_the_same():
    for seed in range(3):
        data = random_mixed(np.random.default_rng(seed), 4, 60)
        costs = naive.all_degenerate_costs(data)
        classes = {}
        for graph in naive.all_dags(4):
            total = sum(costs[i][graph[i]] for i in range(4))
            classes.setdefault(skeleton_and_colliders(graph), []).append(total)
        assert len(classes) == 185
        for own in classes.values():
            assert max(own) == min(own) or max(own) - min(own) < 1e-4


def skeleton_and_colliders(graph):
    """What equivalent graphs have in common, of the parents of each vertex as bits."""
    parents = [set(naive.members(own)) for own in graph]
    joined = {frozenset((p, x)) for x, own in enumerate(parents) for p in own}
    colliders = {
        (frozenset((a, b)), x)
        for x, own in enumerate(parents)
        for a in own
        for b in own
        if a < b
        if frozenset((a, b)) not in joined
    }
    return frozenset(joined), frozenset(colliders)


def test_what_cannot_be_is_refused_by_name():
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 2, (40, 1)).astype(np.uint16)
    values = np.column_stack((np.zeros(40), codes[:, 0] * 2.0 + 5.0))
    data = Mixed(("ward", "age"), (("east", "west"), ()), np.hstack((codes, codes * 0)), values, "a.csv")
    claim = Claim(SCORE, knowledge=Knowledge(required=(("age", "ward"),)))
    with pytest.raises(InputError, match=r"a.csv: 'ward' must have 'age' as parents, and then columns determine each"):
        source_of(data, claim)
    constant = Mixed(data.names, data.states, data.codes, np.zeros((40, 2)), "a.csv")
    with pytest.raises(InputError, match=r"'age' has the same number in every record, which no Gaussian fits"):
        source_of(constant, Claim(SCORE))
    assert math.isinf(source_of(data, Claim(SCORE)).cost(0, (1,)))


def test_states_that_do_not_vary_or_occur_have_no_columns():
    codes = np.array([[0, 2, 0], [0, 0, 0], [0, 2, 0], [0, 0, 0], [0, 0, 0]], np.uint16)
    values = np.column_stack((np.zeros(5), np.zeros(5), np.array([1.0, 2.0, 4.0, 8.0, 3.0])))
    data = Mixed(("a", "b", "c"), (("u",), ("u", "v", "w"), ()), codes, values, "<test>")
    blocks = blocks_of(data)
    assert blocks.of(0, ()).sizes.tolist() == [0, 1, 1]
    assert blocks.cost(0, (1, 2), 1.0) == 0.0
    assert blocks.cost(2, (0,), 1.0) == blocks.cost(2, (), 1.0)
    assert blocks.cost(1, (), 1.0) == pytest.approx(5 / 2 * (math.log(2 * math.pi * 0.24) + 1) + 2)
    only = Mixed(("a",), (("u",),), codes[:, :1], values[:, :1], "<test>")
    assert blocks_of(only).cost(0, (), 1.0) == 0.0


def test_a_column_that_others_all_but_determine_may_tell_what_they_do_not():
    """The first is the second, a little of the third, and less of what nobody else has; the last is that little."""
    rng = np.random.default_rng(6)
    noise = rng.normal(size=(2000, 5))
    first, second, third, hidden = np.linalg.qr(noise - noise.mean(axis=0))[0].T[:4] * math.sqrt(2000)
    told = 1.2e-5 * third + 6.5e-6 * hidden
    values = np.column_stack((second + told, second, third, told / told.std() + 1.14 * first))
    data = Mixed(tuple("abcd"), ((),) * 4, np.zeros((2000, 4), np.uint16), values, "<test>")
    source = source_of(data, Claim(SCORE))
    assert math.isinf(source.cost(3, (0, 1, 2)))
    assert source.cost(3, (0, 1)) < source.cost(3, (1, 2)) - 100.0
    assert source.least(3) <= source.cost(3, (0, 1))
