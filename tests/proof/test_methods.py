"""Every choice of methods proves the same optimum, which an obvious dynamic program finds too."""

import itertools
import math

import naive
import numpy as np
import pytest
from cases import dataset_of, random_dataset, random_families, scores_of, wishful
from flat import solve
from patching import make_incumbents_poor, patch_everywhere, shrink
from portions import first

import extbnsl.bounds.lp.program
import extbnsl.proof.guide
import extbnsl.proof.searching
import extbnsl.search.layers
from extbnsl.bounds.lp.polish import LACKING, ROOT, polished
from extbnsl.bounds.lp.probing import probe
from extbnsl.core.events import StageEnded
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.networks.network import Network
from extbnsl.orders.line import cost_along
from extbnsl.orders.population import OrderedNetwork
from extbnsl.proof.incumbents import find_better_rounded
from extbnsl.proof.methods import LOWER_BOUNDS, PARENT_GRAPHS
from extbnsl.verify.recount import CUTS
from extbnsl.verify.rescoring import score_network
from extbnsl.verify.statement import verify_optimality

problem = extbnsl.proof.searching.guided_problem
COMBINATIONS = [
    dict(zip(("lower_bound", "fixing", "ancestral", "path_extension", "parent_graph"), values, strict=True))
    for values in itertools.product(LOWER_BOUNDS, (True, False), (True, False), (True, False), PARENT_GRAPHS)
]


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Small problems get groups of few variables, no effort at the root, and ancestral successors."""
    solve(dataset_of(np.array([[0, 1], [1, 0]])))  # loads the kernels
    shrink(monkeypatch, BESIDE_CLUSTERS=3, WIDEST=3)
    monkeypatch.setattr(extbnsl.proof.guide, "SHARE", 0.0)
    monkeypatch.setattr(extbnsl.proof.guide, "FEWEST_EDGES", 0)
    monkeypatch.setattr(extbnsl.proof.guide, "NODE_NS", -1e6)


@pytest.mark.parametrize("combination", range(len(COMBINATIONS)))
def test_random_local_scores(combination, monkeypatch):
    """Four searches for each of 64 combinations, and more until one has layers; half of them with the first order as
    the incumbent."""
    rng = np.random.default_rng(combination)
    searched = 0
    for number in range(40):
        if number >= 4 and searched:
            break
        n = int(rng.integers(3, 10))
        families = random_families(rng, n, 14)
        if number % 2:
            make_incumbents_poor(monkeypatch)
        optimum = naive.optimal_cost_dp(n, naive.best_scores(naive.cost_table(n, families)))
        events = []
        result = solve(scores_of(families), threads=1, observer=events.append, **COMBINATIONS[combination])
        assert result.status == "optimal"
        assert result.cost == pytest.approx(optimum, abs=1e-9)
        assert result.lower_bound <= optimum
        searched += any(isinstance(event, StageEnded) and event.stage == "search" for event in events)
    assert searched


@pytest.mark.parametrize("lower_bound", LOWER_BOUNDS)
@pytest.mark.parametrize("fixing", [True, False])
def test_random_local_scores_with_polish(lower_bound, fixing, monkeypatch):
    """The search is guided by what the LP found, if there are multipliers."""
    make_incumbents_poor(monkeypatch)
    spread = recorded_polishing(monkeypatch, LACKING)
    guided = []
    monkeypatch.setattr(
        extbnsl.proof.searching, "guided_problem", lambda guide, *a: guided.append(guide) or problem(guide, *a)
    )
    for seed in range(4):
        families = random_families(np.random.default_rng(seed), 9, 14)
        optimum = naive.optimal_cost_dp(9, naive.best_scores(naive.cost_table(9, families)))
        result = solve(scores_of(families), threads=1, lower_bound=lower_bound, fixing=fixing, polish=True)
        assert result.status == "optimal"
        assert result.cost == pytest.approx(optimum, abs=1e-9)
        assert result.lower_bound <= optimum
    assert guided
    clusters = lower_bound in ("clusters", "auto")
    assert all(any(guide.multipliers is found for found in spread) == clusters for guide in guided)


@pytest.fixture
def probings(thorough, monkeypatch):
    """What probing has brought, when it is used, and that is always worth it."""
    found = []
    again = lambda *given: found.append(probe(*given)) or found[-1]  # noqa: E731
    patch_everywhere(monkeypatch, "bounds.lp.probing", "probe", again)
    return found


def recorded_polishing(monkeypatch, share):
    """The multipliers that linear programs for this share find, as they are found."""
    found = []

    def record(families, start, goal, *given):
        reached = polished(families, start, goal, *given)
        if goal.share == share:
            found.append(reached.multipliers)
        return reached

    patch_everywhere(monkeypatch, "bounds.lp.polish", "polished", record)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("polish", first(1, [None, True, False]))
@pytest.mark.parametrize("incumbent", first(1, ["as it stands", "found"]))
def test_everything_is_done_where_a_search_would_be_large(polish, incumbent, probings, monkeypatch):
    """Children that want many parents: clusters leave a gap, and probing is worth it. The optimum is the same."""
    if incumbent == "as it stands":
        make_incumbents_poor(monkeypatch)
    for seed in range(4):
        families = wishful(seed)
        optimum = naive.optimal_cost_dp(7, naive.best_scores(naive.cost_table(7, families)))
        result = solve(scores_of(families), threads=1, polish=polish)
        assert result.status == "optimal"
        assert result.cost == pytest.approx(optimum, abs=1e-9)
        assert result.lower_bound <= optimum
    if incumbent == "as it stands" or polish is False:  # a good incumbent may leave nothing to probe
        assert bool(probings) == (polish is not False)


@pytest.mark.slow
def test_solutions_of_linear_programs_lead_to_better_networks(monkeypatch):
    """The first network is poor, and is improved before any search; what is proved with the new limit holds."""
    improved = []

    def tried(*given):
        improved.append(find_better_rounded(*given))
        return improved[-1]

    make_incumbents_poor(monkeypatch)
    monkeypatch.setattr("extbnsl.proof.prove.find_better_rounded", tried)
    for seed in range(12):
        scores = scores_of(wishful(seed) if seed % 2 else random_families(np.random.default_rng(seed), 9, 14))
        n = scores.variables
        pairs = [
            list(zip(p[:, 0].tolist(), c.tolist(), strict=True))
            for p, c in zip(scores.parents, scores.costs, strict=True)
        ]
        optimum = naive.optimal_cost_dp(n, naive.best_scores(naive.cost_table(n, pairs)))
        result = solve(scores, threads=1, polish=True)
        assert result.status == "optimal"
        assert result.cost == pytest.approx(optimum, abs=1e-9)
        assert result.lower_bound <= optimum
        with Workers(1) as workers:
            assert verify_optimality(result.document(), scores, workers).complete
    assert sum(improved) > 4


@pytest.mark.parametrize("poor", [True, False])
def test_many_variables_have_lists_of_parents(poor, monkeypatch):
    """As if two were many: the same optimum, whatever the first network, also from solutions of linear programs."""
    monkeypatch.setattr("extbnsl.proof.incumbents.QUICK", 1)
    improved = []
    if poor:
        monkeypatch.setattr("extbnsl.orders.population.search_lists", as_they_stand_in_lists)
    monkeypatch.setattr(
        "extbnsl.proof.prove.find_better_rounded",
        lambda *given: improved.append(find_better_rounded(*given)) or improved[-1],
    )
    for seed in range(6):
        families = random_families(np.random.default_rng(seed), 9, 14)
        optimum = naive.optimal_cost_dp(9, naive.best_scores(naive.cost_table(9, families)))
        result = solve(scores_of(families), threads=1, polish=True)
        assert result.status == "optimal"
        assert result.cost == pytest.approx(optimum, abs=1e-9)
        assert result.lower_bound <= optimum
    assert any(improved) == poor


def as_they_stand_in_lists(lists, *_, **__):
    """In place of `search_lists`: the variables in their order."""
    order = np.arange(lists.variables, dtype=np.int32)
    return OrderedNetwork(order, (), cost_along(order, lists))


@pytest.mark.slow
def test_certificates_of_probing_hold(probings, monkeypatch):
    monkeypatch.setattr(extbnsl.bounds.lp.program, "TRIPLES", 0)  # by clusters alone, which leave more to do
    checked = 0
    for seed in (1, 10, 29):  # of 40, those in which a round of probing sets something aside
        dataset = random_dataset(np.random.default_rng(seed), 7, 200)
        probings.clear()
        result = solve(dataset, threads=1)
        assert result.cost == pytest.approx(naive.optimal_cost(dataset.codes, dataset.arities), rel=1e-9)
        with Workers(1) as workers:
            optimality = verify_optimality(result.document(), dataset, workers)
        assert optimality.ok
        assert optimality.complete
        checked += any(found.passes for found in probings) and optimality.by == {CUTS}
    assert checked


def test_what_was_shown_until_it_is_stopped_counts(probings, monkeypatch):
    """The time is over while the last is being tried: the bound is that of the LP by then."""

    def stopped(*_):
        raise Stopped("time_limit")

    roots = recorded_polishing(monkeypatch, ROOT)
    monkeypatch.setattr("extbnsl.proof.bounding.probe", stopped)
    make_incumbents_poor(monkeypatch)
    result = solve(scores_of(wishful(1)), threads=1)
    assert result.status == "time_limit"
    assert result.stats["components"] == [7]
    assert result.lower_bound == pytest.approx(max(one.root for one in roots), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("parent_graph", PARENT_GRAPHS)
def test_few_nodes_are_made_where_room_is_short(parent_graph, monkeypatch):
    make_incumbents_poor(monkeypatch)
    options = {"fixing": False, "ancestral": False, "threads": 1, "parent_graph": parent_graph}
    kept = np.zeros(2, int)
    for seed in range(15):
        families = random_families(np.random.default_rng(seed), 9, 14)
        optimum = naive.optimal_cost_dp(9, naive.best_scores(naive.cost_table(9, families)))
        for number, share in enumerate((0.5, -1.0)):
            monkeypatch.setattr(extbnsl.search.layers, "MOST_SHARE", share)
            result = solve(scores_of(families), **options)
            assert result.cost == pytest.approx(optimum, abs=1e-9)
            kept[number] += result.stats["nodes_kept"]
    assert kept[1] < kept[0]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("lower_bound", LOWER_BOUNDS)
def test_random_data(seed, lower_bound):
    dataset = random_dataset(np.random.default_rng(seed), 7, 120)
    result = solve(dataset, lower_bound=lower_bound, threads=2)
    assert result.status == "optimal"
    assert result.cost == pytest.approx(naive.optimal_cost(dataset.codes, dataset.arities), rel=1e-9)
    assert score_network(dataset, Network(result.network.names, result.network.parents)) == pytest.approx(result.cost)
    assert math.isclose(result.lower_bound, result.cost, rel_tol=1e-8)
