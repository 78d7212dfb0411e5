"""The k best networks: ranked as brute force ranks them, and what they say together."""

import itertools
import math
from dataclasses import replace

import naive
import numpy as np
import pytest
from asking import k_best_networks, solve
from cases import dataset_of, random_dataset, random_families, scores_of
from classes import allows, shape
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knowing import random_knowledge
from patching import running_out

from extbnsl.core.claims import INTERRUPTED, OPTIMAL, TIME_LIMIT, Claim
from extbnsl.core.errors import BudgetError, InputError
from extbnsl.core.events import StageStarted
from extbnsl.core.knowledge import NOTHING
from extbnsl.data.reading import read_csv
from extbnsl.kbest.scope import ALL, Scope
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Stopped
from extbnsl.networks.network import cpdag
from extbnsl.proof.methods import Methods
from extbnsl.solver import k_best
from extbnsl.solver.listing import LISTING
from extbnsl.verify.rescoring import score_network

SETTINGS = settings(deadline=None, max_examples=10, suppress_health_check=list(HealthCheck))
ONE = Budgets(threads=1, memory=1 << 30)


def all_costs(table):
    """The costs of all networks with these families, ascending."""
    costs = np.array([sum(table[x][p] for x, p in enumerate(dag)) for dag in naive.all_dags(len(table))])
    return np.sort(costs[np.isfinite(costs)])


def table_of(dataset, max_parents=None, score="mdl"):
    return naive.all_local_scores(dataset.codes, dataset.arities, max_parents, score)


def check(result, expected, dataset=None):
    """The networks are distinct and acyclic, cost what is expected, are ranked, and are as likely as they are cheap;
    the arcs are as likely as the networks that have them."""
    check_networks(result, expected, dataset)
    weights = np.exp(expected[0] - expected)
    assert result.networks.shares == pytest.approx(weights / weights.sum(), abs=1e-6)
    n = len(result.network.names)
    arcs = np.zeros((n, n))
    for one in result.networks:
        for p, x in one.network.arcs():
            arcs[p, x] += one.share
    assert result.arcs == pytest.approx(arcs, abs=1e-9)


def check_networks(result, expected, dataset=None):
    """The networks are distinct and acyclic, cost what is expected, and are ranked."""
    networks = result.networks
    assert [one.cost for one in networks] == pytest.approx(expected.tolist(), abs=1e-7)
    assert len({one.network.parents for one in networks}) == len(networks)
    for one in networks[:: max(1, len(networks) // 50)]:
        one.network.order()
        if dataset is not None:
            assert score_network(dataset, one.network, Claim(result.score)) == pytest.approx(one.cost, abs=1e-7)
    assert (np.diff(networks.costs) >= 0).all()
    assert networks.ranks.tolist() == [1 + int((expected < cost - 1e-6).sum()) for cost in expected]
    assert result.network.parents == networks[0].network.parents
    assert result.cost == pytest.approx(expected[0], abs=1e-7)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5), st.sampled_from([1, 2, 10, 300]), st.sampled_from(["mdl", "aic"]))
def test_the_k_best_are_those_of_brute_force(seed, n, k, score):
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, n, int(rng.integers(1, 80)), 3)
    limit = [None, 0, 1, 2][seed % 4]
    every = all_costs(table_of(dataset, limit, score))
    result = k_best_networks(dataset, Scope(k=k), Claim(score, limit), budgets=ONE)
    assert result.status == OPTIMAL
    check(result, every[:k], dataset)
    if every.size < k:
        assert result.within == math.inf


@pytest.mark.parametrize(
    ("n", "networks"), [(1, 1), (2, 3), (3, 25), (4, 543), pytest.param(5, 29_281, marks=pytest.mark.slow)]
)
def test_all_networks_are_ranked(n, networks):
    dataset = random_dataset(np.random.default_rng(n), n, 50, 3)
    result = k_best_networks(dataset, Scope(k=10**6), budgets=ONE)
    assert len(result.networks) == networks
    assert result.within == math.inf
    assert math.fsum(result.networks.shares) == pytest.approx(1.0)
    check(result, all_costs(table_of(dataset)), dataset)


@pytest.mark.slow
@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5), st.sampled_from([1.0, 3.0, 20.0, 1e4]), st.sampled_from([None, 7]))
def test_all_networks_within_a_factor(seed, n, factor, k):
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, n, int(rng.integers(1, 80)), 3)
    every = all_costs(table_of(dataset))
    whole = k_best_networks(dataset, Scope(within_factor=factor), budgets=ONE)
    expected = every[every <= every[0] + math.log(factor) + 1e-7]
    check(whole, expected, dataset)
    result = k_best_networks(dataset, Scope(k, factor), budgets=ONE)
    check_networks(result, expected[:k], dataset)
    assert result.within == pytest.approx(math.log(factor))
    assert result.counted == whole.counted == expected.size
    assert result.networks.shares == pytest.approx(whole.networks.shares[:k], abs=1e-6)
    assert result.arcs == pytest.approx(whole.arcs, abs=1e-9)
    weights = np.exp(every[0] - every)
    share = weights[: expected.size].sum() / weights.sum()
    assert result.of_all.at_least - 1e-9 <= share <= result.of_all.at_most + 1e-9
    assert result.of_all.at_most == pytest.approx(result.of_all.at_least, rel=1e-5)
    assert result.document()["shared_arcs"] == whole.document()["shared_arcs"]


def test_an_arc_that_one_unlikely_network_lacks_is_not_shared():
    """Although its share is one but for 10^-30."""
    families = [[(0, 0.0)], [(1, 0.0), (0, 69.0)], [(0, 0.0)]]
    for scope in (Scope(k=1, within_factor=1e30), Scope(within_factor=1e30), Scope(k=9)):
        result = k_best_networks(scores_of(families), scope, budgets=ONE)
        assert result.counted == 2
        assert 1.0 - 1e-15 < result.arcs[0, 1] < 1.0
        assert result.document()["shared_arcs"] == []


def test_of_networks_within_a_factor_there_is_an_end_to_the_list(sizes):
    """All are counted all the same; a larger list must be asked for."""
    dataset = random_dataset(np.random.default_rng(6), 5, 60, 3)
    whole = k_best_networks(dataset, Scope(within_factor=100.0), budgets=ONE)
    sizes({"scope.MOST_LISTED": 10})
    result = k_best_networks(dataset, Scope(within_factor=100.0), budgets=ONE)
    assert len(result.networks) == 10 < result.counted == len(whole.networks)
    assert result.share == pytest.approx(float(whole.networks.shares[:10].sum()))
    assert len(k_best_networks(dataset, Scope(50, 100.0), budgets=ONE).networks) == min(50, result.counted)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5), st.sampled_from([1, 10, 1000]))
def test_local_scores_are_ranked(seed, n, k):
    families = random_families(np.random.default_rng(seed), n)
    every = all_costs(naive.cost_table(n, families))
    check(k_best_networks(scores_of(families), Scope(k=k), budgets=ONE), every[:k])


@pytest.mark.parametrize("scope", [Scope(k=10), Scope(k=2), Scope(within_factor=math.exp(2.5))])
def test_costs_may_be_below_zero(scope):
    families = [[(0, -4.0), (2, -6.0)], [(0, -3.0), (1, -4.0)], [(0, -1.0)]]
    found = k_best_networks(scores_of(families), scope, budgets=ONE)
    assert found.networks.costs.tolist() == [-10.0, -9.0, -8.0][: scope.k]


def test_what_is_said_to_be_the_cost_is_what_the_families_cost():
    """Though they cancel each other out."""
    families = [[(0, 1e12 + 22.3585)], [(0, 7.3)], [(0, -1e12 - 20.25)], [(0, 1.7), (1, 2.6)]]
    costs = [math.fsum([1e12 + 22.3585, 7.3, -1e12 - 20.25, last]) for last in (1.7, 2.6)]
    found = k_best_networks(scores_of(families), Scope(k=3), budgets=ONE)
    assert found.networks.costs.tolist() == costs
    assert found.cost == costs[0]


def test_components_of_one_network_each_may_cost_less_than_nothing():
    found = k_best_networks(scores_of([[(0, -5.0)], [(0, -3.0)]]), Scope(k=10), budgets=ONE)
    assert found.networks.costs.tolist() == [-8.0]


@pytest.mark.parametrize("k", [1, 5, 40])
@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_classes_are_ranked_by_one_member_each(k, seed):
    """Each with the share of all of its members, of which the arcs are: of those that knowledge allows."""
    dataset = random_dataset(np.random.default_rng(3), 4, 60, 3)
    known = NOTHING if seed is None else random_knowledge(np.random.default_rng(seed), dataset.names)
    known = replace(known, max_parents=())
    table, members = table_of(dataset), {}
    for dag in naive.all_dags(4):
        if allows(known, dataset.names, dag):
            network = k_best.Network(dataset.names, tuple(tuple(naive.members(p)) for p in dag))
            cost = sum(table[x][p] for x, p in enumerate(dag))
            members.setdefault(shape(dag), []).append((cost, network))
    result = k_best_networks(dataset, Scope(k=k, classes=True), Claim(knowledge=known), budgets=ONE)
    networks, k = result.networks, min(k, len(members))
    expected = np.sort([min(cost for cost, _ in own) for own in members.values()])[:k]
    assert networks.costs == pytest.approx(expected, abs=1e-7)
    assert networks.ranks.tolist() == [1 + int((expected < cost - 1e-6).sum()) for cost in expected]
    assert [one.equivalence_class for one in networks] == list(range(1, k + 1))
    own = [members[shape([sum(1 << p for p in parents) for parents in one.network.parents])] for one in networks]
    assert len({id(one) for one in own}) == k
    weights = [sum(math.exp(expected[0] - cost) for cost, _ in one) for one in own]
    assert networks.shares == pytest.approx(np.array(weights) / sum(weights), abs=1e-6)
    arcs = np.zeros((4, 4))
    for cost, network in itertools.chain(*own):
        for p, x in network.arcs():
            arcs[p, x] += math.exp(expected[0] - cost) / sum(weights)
    assert result.arcs == pytest.approx(arcs, abs=1e-6)


def test_networks_of_one_class_have_one_number():
    dataset = random_dataset(np.random.default_rng(8), 4, 60, 3)
    result = k_best_networks(dataset, Scope(k=200), budgets=ONE)
    graphs = {}
    for one in result.networks:
        assert graphs.setdefault(one.equivalence_class, cpdag(one.network)) == cpdag(one.network)
    assert len(set(graphs.values())) == len(graphs) == int(result.networks.classes.max())
    assert list(graphs) == list(range(1, len(graphs) + 1))


def test_of_networks_that_cost_the_same_those_with_the_fewest_arcs_come_first():
    still = dataset_of(np.column_stack([np.zeros(30), np.random.default_rng(0).integers(0, 2, (30, 3))]))
    networks = k_best_networks(still, Scope(k=60), budgets=ONE).networks
    first = [len(one.network.arcs()) for one in networks if one.rank == 1]
    assert len(first) > 5
    assert first == sorted(first)


def test_columns_that_never_vary_make_too_many_networks(sizes):
    sizes({"constants.MOST_FAMILIES": 50})
    still = dataset_of(np.column_stack([np.zeros(30), np.random.default_rng(0).integers(0, 2, (30, 8))]))
    with pytest.raises(BudgetError, match="leave these columns out"):
        k_best_networks(still, Scope(within_factor=2.0), budgets=ONE)
    assert k_best_networks(still, Scope(k=40), budgets=ONE).networks.ranks.tolist() == [1] * 40


@pytest.mark.slow
@pytest.mark.parametrize("way", [{"MOST_SEARCH_NS": -1.0}, {"below.MOST_NODES": 10}])
def test_what_is_taken_apart_gives_the_same(sizes, way):
    dataset = random_dataset(np.random.default_rng(21), 6, 100, 3)
    plain = k_best_networks(dataset, Scope(k=100), budgets=ONE)
    sizes(way)
    other = k_best_networks(dataset, Scope(k=100), budgets=Budgets(threads=3))
    assert other.networks.costs == pytest.approx(plain.networks.costs, abs=1e-8)


def test_the_best_is_that_of_solve_and_has_its_proof():
    dataset = read_csv("examples/asia.csv")
    optimum, result = solve(dataset, budgets=ONE), k_best_networks(dataset, Scope(k=100), budgets=ONE)
    assert result.status == OPTIMAL
    assert result.cost == pytest.approx(optimum.cost, abs=1e-8)
    assert result.lower_bound == pytest.approx(optimum.lower_bound, abs=1e-4)
    document = result.document()
    assert document["count"]["listed"] == len(result.networks) == 100
    assert document["parents"] == result.networks[0].parents
    assert document["provenance"]["options"]["k"] == 100


def test_a_stop_leaves_what_is_known():
    dataset = random_dataset(np.random.default_rng(5), 8, 200, 3)
    begun = []

    def stop():
        return INTERRUPTED if begun else None

    def listen(event):
        if getattr(event, "stage", None) == "networks":
            begun.append(event)

    result = k_best_networks(dataset, Scope(k=1000), budgets=ONE, observer=listen, stop=stop)
    assert result.status == INTERRUPTED
    assert len(result.networks) == 1
    assert result.within is None
    assert result.networks.shares.tolist() == [1.0]
    assert result.lower_bound <= solve(dataset, budgets=ONE).cost <= result.cost + 1e-9


def test_a_stop_after_a_round_leaves_its_networks():
    dataset = random_dataset(np.random.default_rng(5), 6, 200, 3)
    with running_out("solver.listing", "_within", Stopped(TIME_LIMIT), at=2):
        result = k_best_networks(dataset, Scope(k=5000), budgets=ONE)
    assert result.status == TIME_LIMIT
    assert result.cost - result.lower_bound < 1e-4  # the optimum is known
    every = [one.cost for one in k_best_networks(dataset, Scope(within_factor=math.exp(result.within))).networks]
    assert [one.cost for one in result.networks] == pytest.approx(every)


def test_methods_that_keep_one_network_are_refused():
    dataset = random_dataset(np.random.default_rng(5), 3, 20)
    for name in ("path_extension", "ancestral"):
        with pytest.raises(InputError, match=f"{name}: it keeps one of several networks"):
            k_best_networks(
                dataset, Scope(k=2), methods=Methods(**{"path_extension": False, "ancestral": False, name: True})
            )
    assert not ALL.path_extension
    assert not ALL.ancestral


def test_networks_are_a_sequence():
    networks = k_best_networks(random_dataset(np.random.default_rng(5), 3, 20), Scope(k=9), budgets=ONE).networks
    assert len(networks) == 9
    assert networks[-1].cost == networks[8].cost
    assert [one.rank for one in networks[2:5]] == [networks[i].rank for i in (2, 3, 4)]
    assert networks[0].parents.keys() == {"v0", "v1", "v2"}
    assert repr(networks) == "<RankedNetworks: 9>"
    with pytest.raises(IndexError):
        networks[9]


def test_no_more_classes_within_a_factor_are_looked_for_than_are_asked_for():
    """Networks within the factor may be many more, and are not counted: first the best one is proved."""
    dataset, looked = random_dataset(np.random.default_rng(3), 6, 30, 2), []
    scope = Scope(k=5, within_factor=1e6, classes=True)
    result = k_best_networks(dataset, scope, budgets=ONE, observer=looked.append)
    plain = k_best_networks(dataset, Scope(k=5, classes=True), budgets=ONE)
    assert (result.status, result.within, result.counted) == (OPTIMAL, scope.slack, None)
    assert result.networks.costs.tolist() == plain.networks.costs.tolist()
    assert result.networks.shares.tolist() == pytest.approx(plain.networks.shares.tolist())
    slacks = [event.detail for event in looked if isinstance(event, StageStarted) and event.stage == LISTING]
    assert slacks
    assert not any("13.8 nats" in detail for detail in slacks)
    all_of_them = k_best_networks(dataset, Scope(k=10**6, within_factor=5.0, classes=True), budgets=ONE)
    assert all_of_them.counted == len(all_of_them.networks) > 1
    assert all_of_them.within == pytest.approx(math.log(5.0))
