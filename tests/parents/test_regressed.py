"""Families of columns of numbers, child by child: those that are wanted by slow costs, and those of the lattice."""

import math

import numpy as np
import pytest
from cases import chained_numbers, collinear_numbers, numbers_of, random_numbers, shelf_of
from cases_of_records import all_costs, gaussian_cost_of, numbers_with_targets
from charging import naive_costs, random_claim
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knowing import random_knowledge
from patching import sized

from extbnsl.core.claims import TIME_LIMIT, Claim
from extbnsl.core.errors import InputError
from extbnsl.core.events import ignore
from extbnsl.core.knowledge import Knowledge
from extbnsl.kernels.varsets import unpack
from extbnsl.machine.workers import Stopped, Workers, unhalted
from extbnsl.parents.exhaustive.measured import Measured
from extbnsl.parents.exhaustive.regressed import Regressed, by_child
from extbnsl.parents.exhaustive.source import source_of
from extbnsl.parents.exhaustive.state import Means
from extbnsl.parents.exhaustive.surviving import surviving_families

SCORE = "gaussian-bic"
SETTINGS = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
ALWAYS = {"MOST_RANKS": 0}
NEVER = {"MOST_RANKS": 1 << 200, "OF_A_CHILD": 1 << 200}


def families(data, claim, how=ALWAYS, slack=0.0, threads=1, tasks=None, begun=None):
    done, known = [], [begun]

    def stop_then(found):
        known[0] = found
        done.append(found)
        if len(done) == tasks:
            raise Stopped(TIME_LIMIT)

    with sized(how), Workers(threads) as workers:
        found = surviving_families(data, claim, Means(workers, shelf_of(), ignore), begun, stop_then, slack)
    return found, known[0]


def listed(found, child):
    """The families of a child: cost by parents, as numbers of which each variable is a bit."""
    scores = found.scores
    return {
        sum(1 << p for p in unpack(varset)): cost
        for varset, cost in zip(scores.parents[child], scores.costs[child].tolist(), strict=True)
    }


def check_wanted(found, costs, slack):
    """All families that cost at most so much more than each of their subsets are there, and those alone."""
    for x, own in enumerate(costs):
        kept = listed(found, x)
        for varset, cost in enumerate(own.tolist()):
            near = 1e-6 * (1.0 + (abs(cost) if math.isfinite(cost) else 0.0))
            below = min((own[p] for p in range(varset) if p & ~varset == 0), default=np.inf)
            if varset in kept:
                assert kept[varset] == pytest.approx(cost, rel=1e-8, abs=1e-6)
                assert cost < below + slack + near
            else:
                assert not cost < below + slack - near


@SETTINGS
@given(
    st.integers(0, 2**32),
    st.integers(1, 6),
    st.sampled_from([3, 7, 20, 120]),
    st.sampled_from([None, 1, 2]),
    st.sampled_from([0.0, 0.0, 0.7, 25.0, math.inf]),
    st.sampled_from(["random", "collinear", "charged"]),
)
def test_all_families_that_are_wanted_and_no_others(seed, n, records, limit, slack, kind):
    rng = np.random.default_rng(seed)
    data = random_numbers(rng, n, records) if kind != "collinear" else collinear_numbers(rng, n)
    claim = Claim(SCORE, limit, knowledge=random_knowledge(rng, data.names, limit))
    if kind == "charged":
        claim = random_claim(rng, data.names, SCORE, most=limit)
    costs = naive_costs(data, claim)
    try:
        found, _ = families(data, claim, slack=slack, threads=2)
    except InputError:  # of required parents
        must = [sum(1 << data.names.index(p) for p, c in claim.knowledge.required if c == name) for name in data.names]
        assert any(math.isinf(costs[x, own]) for x, own in enumerate(must))
        return
    assert found.stopped is None
    check_wanted(found, costs, slack)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 5), st.sampled_from([20, 120]))
def test_with_targets_each_child_counts_records_of_its_own(seed, n, records):
    data = numbers_with_targets(seed, n, records)
    found, _ = families(data, Claim(SCORE))
    check_wanted(found, all_costs(data, gaussian_cost_of), 0.0)


@pytest.mark.parametrize("slack", [0.0, 3.0])
def test_of_many_candidates_it_finds_what_the_lattice_does(slack):
    data = chained_numbers(np.random.default_rng(4), 70, 200)
    for claim in (Claim(SCORE, 2), Claim(SCORE, 3, gamma=0.5)):
        own, shared = (families(data, claim, how, slack)[0] for how in (ALWAYS, NEVER))
        for x in range(data.variables):
            ours, theirs = listed(own, x), listed(shared, x)
            assert set(ours) == set(theirs)
            assert [ours[u] for u in ours] == pytest.approx([theirs[u] for u in ours])


def test_what_is_found_depends_neither_on_stops_nor_on_threads():
    data = chained_numbers(np.random.default_rng(5), 14, 300)
    whole, _ = families(data, Claim(SCORE))
    assert whole.scores.fingerprint == families(data, Claim(SCORE), threads=3)[0].scores.fingerprint
    begun, ends = None, 0
    while True:
        found, begun = families(data, Claim(SCORE), tasks=3, begun=begun)
        if found.stopped is None:
            break
        ends += 1
        for x in range(data.variables):
            assert found.least[x] <= min(listed(whole, x).values()) + 1e-7
    assert ends > 2
    assert found.scores.fingerprint == whole.scores.fingerprint


@pytest.mark.parametrize("tasks", [1, 4, 9])
def test_what_a_lattice_began_is_begun_again(tasks):
    data = chained_numbers(np.random.default_rng(6), 8, 300)
    _, begun = families(data, Claim(SCORE), NEVER, tasks=tasks)
    assert begun is not None
    assert not begun.children
    found, _ = families(data, Claim(SCORE), begun=begun)
    assert found.scores.fingerprint == families(data, Claim(SCORE))[0].scores.fingerprint


def test_few_candidates_or_too_many_ranks_are_searched_child_by_child():
    values = np.random.default_rng(7).normal(size=(100, 40))
    values[:, 1:] += 3.0 * values[:, :1]
    data = numbers_of(values)
    near = tuple((f"v{x}", f"v{y}") for x in range(40) for y in range(x) if x - y < 7)
    assert isinstance(source_of(data, Claim(SCORE)), Measured)
    assert by_child(source_of(data, Claim(SCORE, 3))) is None
    assert isinstance(by_child(source_of(data, Claim(SCORE, knowledge=Knowledge(allowed=near)))), Regressed)
    without_the_last = Knowledge(allowed=tuple(pair for pair in near if "v39" not in pair))
    assert isinstance(by_child(source_of(data, Claim(SCORE, knowledge=without_the_last))), Regressed)
    assert isinstance(by_child(source_of(numbers_of(np.hstack((values, values**3))), Claim(SCORE))), Regressed)


def test_a_search_looks_at_halt():
    with sized(ALWAYS):
        source = by_child(source_of(chained_numbers(np.random.default_rng(8), 12, 300), Claim(SCORE)))
    stopped = np.ones(1, np.uint8)
    counted = source.families_of(3, 0, math.inf, unhalted()).counted
    assert source.families_of(3, 0, math.inf, stopped).counted < counted
