"""What a list of the k best holds of the weight of all networks: known of few variables, and between bounds of more."""

import math

import naive
import numpy as np
import pytest
from asking import k_best_networks
from cases import dataset_of, random_dataset, random_families, scores_of
from hypothesis import given, settings
from hypothesis import strategies as st
from knowing import admitted, random_knowledge
from patching import running_out, sized
from summing import summed

from extbnsl.core.claims import OPTIMAL, Claim
from extbnsl.core.errors import BudgetError
from extbnsl.core.events import StageEnded
from extbnsl.data.reading import read_csv
from extbnsl.kbest.scope import Scope
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Stopped
from extbnsl.verify.verdict import verify

ONE = Budgets(threads=1, memory=1 << 30)
IN_GROUPS = {"networks.MOST_SECONDS": -1.0}  # nothing is summed as a whole
FEW_LOOKED_AT = {"ALL_LOOKED_AT": 0, "weighing.MOST_FAMILIES": 8, "listing.COUNTED": 0.25}  # others are left out
NEAR = 1e-7  # of costs


def weights_of(dataset, claim):
    """The weight of each network, by its parents, those of the best alone being 1."""
    table = naive.all_local_scores(dataset.codes, dataset.arities, claim.max_parents, claim.score)
    table = np.where(admitted(claim.knowledge, dataset.names, claim.max_parents), table, np.inf)
    costs = {dag: sum(table[x][p] for x, p in enumerate(dag)) for dag in naive.all_dags(len(table))}
    best = min(costs.values())
    return {dag: math.exp(best - cost) for dag, cost in costs.items()}


def masks_of(one):
    return tuple(sum(1 << p for p in own) for own in one.network.parents)


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 2**32),
    st.integers(2, 5),
    st.sampled_from([1, 5, 300]),
    st.sampled_from([{}, IN_GROUPS, IN_GROUPS | FEW_LOOKED_AT, FEW_LOOKED_AT]),
    st.booleans(),
)
def test_the_share_is_never_outside_nor_is_a_probability(seed, n, k, sizes, knowing):
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, n, int(rng.integers(1, 80)), 3)
    limit = [None, 1, 2][seed % 3]
    knowledge = {"knowledge": random_knowledge(rng, dataset.names, limit)} if knowing else {}
    claim = Claim(max_parents=limit, **knowledge)
    with sized(sizes, WIDTH_BELOW=2, WIDTH_ABOVE=2):
        result = k_best_networks(dataset, Scope(k=k), claim, budgets=ONE)
    weights = weights_of(dataset, claim)
    total = math.fsum(weights.values())
    found = math.fsum(weights[masks_of(one)] for one in result.networks)
    room = 1.0 + n * NEAR
    assert result.of_all.at_least <= found / total * room
    assert found / total <= result.of_all.at_most * room
    assert result.of_all.at_most <= 1.0
    for one in result.networks[:20]:
        own = weights[masks_of(one)] / total
        assert one.probability.at_least <= own * room
        assert own <= one.probability.at_most * room
    if sizes == {}:
        assert result.of_all.at_least == pytest.approx(found / total, rel=1e-5)
        assert result.of_all.at_most == pytest.approx(found / total, rel=1e-5)
    assert not verify(result.document(), dataset).findings


@pytest.mark.parametrize("scope", [Scope(within_factor=30.0), Scope(3, 30.0), Scope(4, classes=True)])
@pytest.mark.parametrize("sizes", [{}, IN_GROUPS])
def test_networks_within_a_factor_and_classes(scope, sizes):
    """Of the networks within the factor all count, listed or not; of a class all its networks that were found."""
    dataset = random_dataset(np.random.default_rng(8), 4, 60, 3)
    with sized(sizes, WIDTH_BELOW=1, WIDTH_ABOVE=3):
        result = k_best_networks(dataset, scope, budgets=ONE)
    weights = weights_of(dataset, Claim())
    total = math.fsum(weights.values())
    for one in result.networks:
        share = one.share * result.of_all.at_most
        assert one.probability.at_most == share
        if not scope.classes:
            assert one.probability.at_least * 0.9999 <= weights[masks_of(one)] / total <= share * 1.0001
    if scope.within_factor is not None:
        held = math.fsum(w for w in weights.values() if w >= (1.0 - NEAR) / 30.0) / total
        assert result.of_all.at_least * 0.9999 <= held <= result.of_all.at_most * 1.0001
        assert result.counted == sum(w >= (1.0 - NEAR) / 30.0 for w in weights.values())


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32), st.integers(2, 5), st.integers(1, 40))
def test_networks_against_the_order_count_on_top(seed, n, k):
    """With groups of one variable; listed all, they are all that there is from below."""
    scores = scores_of(random_families(np.random.default_rng(seed), n, 8))
    total, _, networks = summed(scores, "uniform")
    with sized(IN_GROUPS, WIDTH_BELOW=1, WIDTH_ABOVE=1):
        result = k_best_networks(scores, Scope(k=k), budgets=ONE)
    held = math.fsum(networks[masks_of(one)] for one in result.networks)
    assert result.of_all.at_least - 1e-9 <= held <= result.of_all.at_most + 1e-9
    if len(result.networks) == len(networks):
        assert result.of_all.at_most == pytest.approx(1.0)
    assert math.isfinite(total)


def test_one_variable_and_constant_columns():
    for codes in ([[0], [1]], [[0], [0]], [[0, 0], [0, 1], [0, 1]]):
        dataset = dataset_of(np.array(codes))
        for sizes in ({}, IN_GROUPS):
            with sized(sizes, WIDTH_BELOW=1, WIDTH_ABOVE=1):
                result = k_best_networks(dataset, Scope(k=10), budgets=ONE)
            assert result.of_all.at_least <= 1.0 + 1e-9
            assert result.of_all.at_most == pytest.approx(1.0)


def test_without_time_or_memory_for_it_it_is_not_known_and_the_list_is_whole():
    dataset = random_dataset(np.random.default_rng(2), 4, 40, 2)

    for error in (Stopped("time_limit"), BudgetError("too little"), MemoryError()):
        with running_out("solver.weighing", "weigh", error):
            result = k_best_networks(dataset, Scope(k=10), budgets=ONE)
        assert result.status == OPTIMAL
        assert len(result.networks) == 10
        assert result.of_all is None
        assert result.networks[0].probability is None
        assert result.document()["count"]["of_all"] is None


@pytest.mark.parametrize(("sizes", "told"), [({}, "log weight -"), (IN_GROUPS, "log weight between -")])
def test_the_log_tells_it(sizes, told):
    dataset, events = random_dataset(np.random.default_rng(2), 4, 40, 2), []
    with sized(sizes, WIDTH_ABOVE=1):
        k_best_networks(dataset, Scope(k=10), budgets=ONE, observer=events.append)
    (ended,) = [event for event in events if isinstance(event, StageEnded) and event.stage == "weight"]
    assert ended.summary.startswith(told)


def test_the_thousand_best_of_hepatitis(shared_data):
    """They hold 5.3e-7 of all, whose log weight is -1302.160241."""
    dataset = read_csv(shared_data / "uci" / "hepatitis.csv")
    result = k_best_networks(dataset, Scope(k=1000), Claim(max_parents=6), budgets=ONE)
    held = math.exp(math.log(math.fsum(np.exp(result.cost - result.networks.costs))) - result.cost + 1302.160241)
    assert held == pytest.approx(5.3e-7, rel=0.01)
    assert 1e-10 < result.of_all.at_least < held < result.of_all.at_most < 1e-5
