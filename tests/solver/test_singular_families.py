"""Columns of numbers that determine each other, and more columns than records: singular families are not allowed, and
nothing else changes."""

import itertools
import json
import math

import naive
import numpy as np
import pandas as pd
import pytest
from asking import approximate_network, compute_scores
from cases import collinear_numbers, numbers_of, shelf_of
from hypothesis import given, settings
from hypothesis import strategies as st
from knowing import admitted, random_knowledge

import extbnsl
from extbnsl.cli import main
from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.core.events import StageStarted, ignore
from extbnsl.core.knowledge import Knowledge
from extbnsl.kernels.varsets import pack, unpack
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.measured import MOST_SETS, standardised
from extbnsl.parents.exhaustive.state import Means
from extbnsl.parents.exhaustive.surviving import surviving_families
from extbnsl.scores.gaussian import LEAST_SHARE
from extbnsl.solver.listing import LISTING
from extbnsl.solver.methods import ApproximateMethods

SCORE = "gaussian-bic"
SETTINGS = settings(max_examples=40, deadline=None)


def learn(numbers, **how):
    return extbnsl.learn(numbers, score=SCORE, **how)


def wide_numbers(seed, records, n):
    return numbers_of(np.random.default_rng(seed).normal(size=(records, n)))


@pytest.mark.parametrize("seed", range(40))
def test_the_optimum_is_that_of_all_networks_without_singular_families(seed):
    rng = np.random.default_rng(seed)
    numbers, most = collinear_numbers(rng, int(rng.integers(2, 6))), int(rng.integers(1, 5))
    result = learn(numbers, max_parents=most)
    assert result.optimal
    brute = naive.optimal_gaussian_cost(numbers.values, lambda _, u: u.bit_count() <= most)
    assert result.cost == pytest.approx(brute, rel=1e-8, abs=1e-5)
    for child, parents in enumerate(result.network.parents):
        assert not naive.is_singular(numbers.values, sum(1 << v for v in (child, *parents)))


def test_few_records_of_many_columns():
    numbers = wide_numbers(1, 6, 5)
    assert learn(numbers).cost == pytest.approx(naive.optimal_gaussian_cost(numbers.values), rel=1e-9)
    numbers = wide_numbers(2, 10, 12)
    costs = naive.all_gaussian_costs(numbers.values, lambda x, u: u.bit_count() <= 2)
    result = learn(numbers, max_parents=2)
    assert result.optimal
    assert result.cost == pytest.approx(naive.optimal_cost_dp(12, naive.best_scores(costs)), rel=1e-9)
    whole = learn(numbers)
    assert whole.optimal
    assert max(map(len, whole.network.parents)) <= 8


@SETTINGS
@given(st.integers(0, 2**32), st.sampled_from([None, 2]))
def test_all_families_that_can_win_are_scored_under_knowledge(seed, most):
    rng = np.random.default_rng(seed)
    numbers = collinear_numbers(rng, int(rng.integers(2, 6)))
    n, knowledge = numbers.variables, random_knowledge(rng, numbers.names, most)
    allowed = admitted(knowledge, numbers.names, most)
    costs, claim = (
        naive.all_gaussian_costs(numbers.values, lambda x, u: allowed[x, u]),
        Claim(SCORE, max_parents=most, knowledge=knowledge),
    )
    if np.isinf(costs.min(axis=1)).any():
        with pytest.raises(InputError, match=r"must have .* and together they determine each other"):
            compute_scores(numbers, claim)
        return
    scores = compute_scores(numbers, claim)
    for child in range(n):
        kept = dict(zip(map(unpack, scores.parents[child]), scores.costs[child].tolist(), strict=True))
        own = {u: cost for u, cost in enumerate(costs[child].tolist()) if math.isfinite(cost)}
        expected = {
            tuple(naive.members(u)): cost
            for u, cost in own.items()
            if all(cost < own[v] - 1e-6 for v in own if v != u and v & ~u == 0)
        }
        assert kept == pytest.approx(expected, rel=1e-7, abs=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_the_list_of_all_networks_has_none_with_a_singular_family(seed):
    """Equivalent networks are allowed together, so that classes are whole."""
    numbers = collinear_numbers(np.random.default_rng(seed), 4)
    costs = naive.all_gaussian_costs(numbers.values)
    sums = sorted(sum(costs[x][u] for x, u in enumerate(graph)) for graph in naive.all_dags(4))
    true = [cost for cost in sums if math.isfinite(cost)]
    looked = []
    ranked = extbnsl.k_best(numbers, 600, score=SCORE, progress=looked.append)
    assert [one.cost for one in ranked.networks] == pytest.approx(true, rel=1e-7, abs=1e-5)
    assert ranked.within == math.inf
    assert sum(isinstance(event, StageStarted) and event.stage == LISTING for event in looked) < 20
    allowed = [graph for graph in naive.all_dags(4) if all(math.isfinite(costs[x][u]) for x, u in enumerate(graph))]
    skeletons = {(skeleton(graph), colliders(graph)) for graph in allowed}
    for graph in naive.all_dags(4):
        assert ((skeleton(graph), colliders(graph)) in skeletons) == (graph in allowed)


def skeleton(graph):
    return frozenset(frozenset((x, p)) for x, u in enumerate(graph) for p in naive.members(u))


def colliders(graph):
    edges = skeleton(graph)
    pairs = ((x, p, q) for x, u in enumerate(graph) for p, q in itertools.combinations(naive.members(u), 2))
    return frozenset(one for one in pairs if frozenset(one[1:]) not in edges)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("selection", ["auto", "independence", "greedy", "sequential"])
def test_few_columns_are_approximated_as_well_as_they_are_solved(seed, selection):
    numbers = collinear_numbers(np.random.default_rng(seed), 5)
    best = learn(numbers).cost
    methods = ApproximateMethods(selection=selection)
    found = approximate_network(numbers, Claim(SCORE), methods, Budgets(time_limit=20.0, threads=1))
    assert found.cost == pytest.approx(best, rel=1e-9)
    assert found.lower_bound <= best + 1e-9


def test_an_order_and_resamples():
    numbers = collinear_numbers(np.random.default_rng(7), 4)
    ordered = extbnsl.order(numbers, ["v3", "v1", "v0", "v2"], score=SCORE)
    place = {3: 0, 1: 1, 0: 2, 2: 3}
    brute = naive.optimal_gaussian_cost(numbers.values, lambda x, u: all(place[p] < place[x] for p in naive.members(u)))
    assert ordered.order_optimal
    assert ordered.cost == pytest.approx(brute, rel=1e-8, abs=1e-6)
    assert len(learn(wide_numbers(3, 12, 4), bootstrap=20).bootstrap.done) == 20


@pytest.mark.parametrize("method", ["dp", "astar", "cycles"])
def test_published_methods_find_the_same(method):
    numbers = collinear_numbers(np.random.default_rng(8), 5)
    assert learn(numbers, method=method).cost == pytest.approx(learn(numbers).cost, rel=1e-9)


@SETTINGS
@given(st.integers(0, 2**32))
def test_what_is_regular_depends_on_no_order_of_columns_nor_on_the_child(seed):
    rng = np.random.default_rng(seed)
    numbers = collinear_numbers(rng, int(rng.integers(2, 6)))
    n, order = numbers.variables, rng.permutation(numbers.variables)
    one, other = standardised(numbers), standardised(numbers_of(numbers.values[:, order]))
    place = np.argsort(order).tolist()
    for u in range(1, 2**n):
        members = naive.members(u)
        found = set()
        for child in members:
            parents = [v for v in members if v != child]
            found.add(bool(np.isfinite(one.costs(child, pack(parents, n)[None], 1.0)[0])))
            found.add(bool(np.isfinite(other.costs(place[child], pack([place[v] for v in parents], n)[None], 1.0)[0])))
        assert found == {not naive.is_singular(numbers.values, u)}


@SETTINGS
@given(st.integers(0, 2**32), st.booleans())
def test_what_regular_sets_leave_of_a_column_is_bounded(seed, few):
    """By all of them: exactly where they can be looked at, and by the least share otherwise."""
    numbers = collinear_numbers(np.random.default_rng(seed), 5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("extbnsl.parents.exhaustive.measured.MOST_SETS", 1 if few else MOST_SETS)
        patch.setattr("extbnsl.parents.exhaustive.measured._KNOWN", {})
        found = standardised(numbers)
    costs, price = naive.all_gaussian_costs(numbers.values), math.log(numbers.records) / 2
    for child in range(5):
        left = min(costs[child][u] - price * (u.bit_count() + 2) for u in range(32) if math.isfinite(costs[child][u]))
        bound = found.own[child] + found.least[child]
        assert bound <= left + 1e-5
        if not (few and found.collinear):
            assert bound == pytest.approx(left, rel=1e-7, abs=1e-4)
    largest = max(u.bit_count() for u in range(1, 32) if not naive.is_singular(numbers.values, u))
    assert found.largest >= largest
    assert found.unexplained.min() >= LEAST_SHARE


def test_columns_that_determine_each_other_are_told():
    rng = np.random.default_rng(9)
    values = rng.normal(size=(40, 5))
    values[:, 3] = values[:, 0] - 2 * values[:, 2]
    values[:, 4] = 7.0 - values[:, 1]
    told = learn(numbers_of(values)).warnings
    assert told == (
        "Columns 'v0', 'v2' and 'v3' determine each other (less than 1e-10 of the variance of one is left): no family "
        'has all of them; leave one out with drop="v3".',
        "Columns 'v1' and 'v4' determine each other (less than 1e-10 of the variance of one is left): neither is a "
        'parent of the other; leave one out with drop="v4".',
    )
    assert learn(wide_numbers(4, 4, 6)).warnings == (
        "4 records of 6 columns fit regressions on 3 others exactly: no variable has more than 2 parents; allow fewer "
        "with max_parents.",
    )
    assert learn(wide_numbers(4, 40, 4)).warnings == ()


def test_two_records_make_no_arc():
    result = learn(numbers_of([[1.0, 2.0], [2.0, 4.0]]))
    assert result.optimal
    assert result.network.arcs() == ()


def test_a_singular_family_that_must_be_is_refused_before_anything_is_written(tmp_path, capsys):
    rng = np.random.default_rng(9)
    values = rng.normal(size=(40, 4))
    values[:, 3] = values[:, 0] - 2 * values[:, 2]
    numbers, required = numbers_of(values), (("v0", "v3"), ("v2", "v3"))
    sentence = r"<test>: 'v3' must have 'v0' and 'v2' as parents, and together they determine each other"
    for find in (learn, lambda numbers, **how: extbnsl.k_best(numbers, 3, score=SCORE, **how)):
        with pytest.raises(InputError, match=sentence) as caught:
            find(numbers, knowledge=Knowledge(required))
    assert caught.value.names == ("v3", "v0", "v2")
    with pytest.raises(InputError, match=sentence):
        approximate_network(numbers, Claim(SCORE, knowledge=Knowledge(required)))
    assert learn(numbers, knowledge=Knowledge(required[:1])).optimal
    data, run = tmp_path / "data.csv", tmp_path / "run"
    pd.DataFrame(values, columns=list(numbers.names)).to_csv(data, index=False)
    words = ["solve", str(data), "--score", SCORE, "--run-dir", str(run), "--required", "v0,v3", "--required", "v2,v3"]
    assert main(words) == 30
    assert "leave one of these arcs out of --required" in capsys.readouterr().err.replace("\n  ", " ")
    assert not run.exists()


def test_counting_goes_on_from_where_it_stopped():
    numbers, known = wide_numbers(6, 7, 9), []
    with Workers(1) as workers:
        means = Means(workers, shelf_of(1 << 30), ignore)
        whole = surviving_families(numbers, Claim(SCORE), means, None, known.append)
        for begun in known:
            again = surviving_families(numbers, Claim(SCORE), means, begun)
            assert [own.tolist() for own in again.scores.parents] == [own.tolist() for own in whole.scores.parents]
            assert [own.tolist() for own in again.scores.costs] == [own.tolist() for own in whole.scores.costs]


def test_a_run_on_wide_data_is_verified(tmp_path, capsys):
    numbers = wide_numbers(5, 10, 12)
    data, run, ranked = (tmp_path / name for name in ("data.csv", "run", "ranked"))
    pd.DataFrame(numbers.values, columns=list(numbers.names)).to_csv(data, index=False)
    how = [str(data), "--score", SCORE, "--max-parents", "2", "--quiet", "--run-dir"]
    assert main(["solve", *how, str(run)]) == 0
    assert main(["verify", str(run), str(data)]) == 0
    assert json.loads((run / "result.json").read_text())["status"] == "optimal"
    assert main(["kbest", *how, str(ranked), "-k", "7"]) == 0
    assert main(["verify", str(ranked), str(data)]) == 0
    capsys.readouterr()
