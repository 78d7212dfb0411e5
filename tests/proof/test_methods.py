"""Every choice of methods proves the same optimum, which an obvious dynamic program finds too."""

import contextlib
import itertools
import math

import naive
import numpy as np
import pytest
from cases import dataset_of, random_dataset, random_families, scores_of, wishful
from flat import solve
from patching import poor_incumbents
from portions import first

from extbnsl.bounds.lp.polish import LACKING, ROOT
from extbnsl.core.claims import Claim
from extbnsl.core.events import StageEnded
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.networks.network import Network
from extbnsl.orders.line import best_along
from extbnsl.orders.population import OrderedNetwork
from extbnsl.proof.methods import LOWER_BOUNDS, PARENT_GRAPHS
from extbnsl.verify.recount import CUTS
from extbnsl.verify.rescoring import score_network
from extbnsl.verify.statement import verify_optimality

COMBINATIONS = [
    dict(zip(("lower_bound", "fixing", "ancestral", "path_extension", "parent_graph"), values, strict=True))
    for values in itertools.product(LOWER_BOUNDS, (True, False), (True, False), (True, False), PARENT_GRAPHS)
]


@pytest.fixture(autouse=True)
def _small(sizes):
    """Small problems get groups of few variables, no effort at the root, and ancestral successors."""
    solve(dataset_of(np.array([[0, 1], [1, 0]])))  # loads the kernels
    sizes({"BESIDE_CLUSTERS": 3, "groups.WIDEST": 3, "guide.SHARE": 0.0, "trials.FEWEST_EDGES": 0, "NODE_NS": -1e6})


@pytest.mark.parametrize("combination", range(len(COMBINATIONS)))
def test_random_local_scores(combination):
    """Four searches for each of 64 combinations, and more until one has layers; half of them with the first order as
    the incumbent."""
    rng = np.random.default_rng(combination)
    searched = 0
    for number in range(40):
        if number >= 4 and searched:
            break
        n = int(rng.integers(3, 10))
        families = random_families(rng, n, 14)
        optimum = naive.optimal_cost_dp(n, naive.best_scores(naive.cost_table(n, families)))
        events = []
        with poor_incumbents() if number % 2 else contextlib.nullcontext():
            result = solve(scores_of(families), threads=1, observer=events.append, **COMBINATIONS[combination])
        assert result.status == "optimal"
        assert result.cost == pytest.approx(optimum, abs=1e-9)
        assert result.lower_bound <= optimum
        searched += any(isinstance(event, StageEnded) and event.stage == "search" for event in events)
    assert searched


@pytest.mark.parametrize("lower_bound", LOWER_BOUNDS)
@pytest.mark.parametrize("fixing", [True, False])
def test_random_local_scores_with_polish(lower_bound, fixing, poor_incumbents, calls):
    """The search is guided by what the LP found, if there are multipliers."""
    poor_incumbents()
    polishing, searches = calls("bounds.lp.polish", "polished"), calls("proof.trials", "guided_problem")
    for seed in range(4):
        families = random_families(np.random.default_rng(seed), 9, 14)
        optimum = naive.optimal_cost_dp(9, naive.best_scores(naive.cost_table(9, families)))
        result = solve(scores_of(families), threads=1, lower_bound=lower_bound, fixing=fixing, polish=True)
        assert result.status == "optimal"
        assert result.cost == pytest.approx(optimum, abs=1e-9)
        assert result.lower_bound <= optimum
    assert searches
    spread, clusters = found_for(LACKING, polishing), lower_bound in ("clusters", "auto")
    for search in searches:
        assert any(search.given[0].multipliers is found for found in spread) == clusters


@pytest.fixture
def probings(thorough, calls):
    """The calls of probing, which is always worth it."""
    return calls("bounds.lp.probing", "probe")


def found_for(share, polishing):
    """The multipliers that linear programs found for this share, of the calls of polishing."""
    return [call.found.multipliers for call in polishing if call.given[2].share == share]


@pytest.mark.slow
@pytest.mark.parametrize("polish", first(1, [None, True, False]))
@pytest.mark.parametrize("incumbent", first(1, ["as it stands", "found"]))
def test_everything_is_done_where_a_search_would_be_large(polish, incumbent, probings, poor_incumbents):
    """Children that want many parents: clusters leave a gap, and probing is worth it. The optimum is the same."""
    if incumbent == "as it stands":
        poor_incumbents()
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
def test_solutions_of_linear_programs_lead_to_better_networks(poor_incumbents, calls):
    """The first network is poor, and is improved before any search; what is proved with the new limit holds."""
    poor_incumbents(rounding=True)
    tried = calls("proof.incumbents", "find_better_rounded")
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
    assert sum(call.found for call in tried) > 4


@pytest.mark.parametrize("poor", [True, False])
def test_many_variables_have_lists_of_parents(poor, monkeypatch, sizes, calls):
    """As if two were many: the same optimum, whatever the first network, also from solutions of linear programs."""
    sizes(QUICK=1)
    tried = calls("proof.incumbents", "find_better_rounded")
    if poor:
        monkeypatch.setattr("extbnsl.orders.population.search_lists", as_they_stand_in_lists)
    for seed in range(6):
        families = random_families(np.random.default_rng(seed), 9, 14)
        optimum = naive.optimal_cost_dp(9, naive.best_scores(naive.cost_table(9, families)))
        result = solve(scores_of(families), threads=1, polish=True)
        assert result.status == "optimal"
        assert result.cost == pytest.approx(optimum, abs=1e-9)
        assert result.lower_bound <= optimum
    assert any(call.found for call in tried) == poor


def as_they_stand_in_lists(lists, *_, **__):
    """In place of `search_lists`: the variables in their order."""
    order = np.arange(lists.variables, dtype=np.int32)
    return OrderedNetwork(order, (), best_along(order, lists)[1])


@pytest.mark.slow
def test_certificates_of_probing_hold(probings, sizes):
    sizes(TRIPLES=0)  # by clusters alone, which leave more to do
    checked = 0
    for seed in (1, 10, 29):  # of 40, those in which a round of probing sets something aside
        dataset = random_dataset(np.random.default_rng(seed), 7, 200)
        probings.clear()
        result = solve(dataset, threads=1)
        assert result.cost == pytest.approx(naive.optimal_cost(dataset.codes, dataset.arities), rel=1e-9)
        with Workers(1) as workers:
            optimality = verify_optimality(result.document(), dataset, workers)
        assert not optimality.findings
        assert optimality.complete
        checked += any(call.found.passes for call in probings) and optimality.by == {CUTS}
    assert checked


def test_what_was_shown_until_it_is_stopped_counts(thorough, calls, running_out, poor_incumbents):
    """The time is over while the last is being tried: the bound is that of the LP by then."""
    polishing = calls("bounds.lp.polish", "polished")
    running_out("bounds.lp.probing", "probe", Stopped("time_limit"))
    poor_incumbents()
    result = solve(scores_of(wishful(1)), threads=1)
    assert result.status == "time_limit"
    assert result.stats["components"] == [7]
    assert result.lower_bound == pytest.approx(max(one.root for one in found_for(ROOT, polishing)), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("parent_graph", PARENT_GRAPHS)
def test_few_nodes_are_made_where_room_is_short(parent_graph, poor_incumbents, sizes):
    poor_incumbents()
    options = {"fixing": False, "ancestral": False, "threads": 1, "parent_graph": parent_graph}
    kept = np.zeros(2, int)
    for seed in range(15):
        families = random_families(np.random.default_rng(seed), 9, 14)
        optimum = naive.optimal_cost_dp(9, naive.best_scores(naive.cost_table(9, families)))
        for number, share in enumerate((0.5, -1.0)):
            sizes(MOST_SHARE=share)
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
    assert score_network(dataset, Network(result.network.names, result.network.parents), Claim()) == pytest.approx(
        result.cost
    )
    assert math.isclose(result.lower_bound, result.cost, rel_tol=1e-8)
