"""Networks under knowledge, by every command and score, against all networks of a few variables."""

import json
import math

import naive
import numpy as np
import pytest
from asking import order_network, solve
from cases import EVERY_SCORE, PRICED, claim_by, random_dataset
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knowing import admitted, random_knowledge

import extbnsl
from extbnsl.core.errors import InputError
from extbnsl.core.knowledge import Knowledge
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Workers
from extbnsl.parents.ordered.methods import OrderMethods
from extbnsl.verify.statement import verify_optimality
from extbnsl.verify.verdict import verify

SETTINGS = settings(deadline=None, max_examples=8, suppress_health_check=list(HealthCheck))
CASES = (st.integers(0, 2**32), st.integers(1, 5), st.integers(2, 120), st.sampled_from([None, None, 2]))


def drawn(seed, n, records, limit):
    """Random data and knowledge."""
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, n, records)
    return dataset, random_knowledge(rng, dataset.names, limit)


def all_costs(dataset, knowledge, limit, score):
    """The costs of all families, infinite for those that are not admitted."""
    costs = naive.all_local_scores(dataset.codes, dataset.arities, limit, score)
    costs[~admitted(knowledge, dataset.names, limit)] = np.inf
    return costs


def every_total(costs):
    """What every network costs that is admitted, ascending."""
    n = len(costs)
    totals = (sum(costs[x, graph[x]] for x in range(n)) for graph in naive.all_dags(n))
    return sorted(total for total in totals if math.isfinite(total))


def keywords(score, limit, knowledge):
    claim = claim_by(score, limit)
    return {"score": claim.score, "ess": claim.ess, "max_parents": limit, "knowledge": knowledge.document()}


@pytest.mark.parametrize("score", EVERY_SCORE)
@SETTINGS
@given(*CASES)
def test_the_optimum_is_that_of_all_admitted_networks(score, seed, n, records, limit):
    dataset, knowledge = drawn(seed, n, records, limit)
    least = every_total(all_costs(dataset, knowledge, limit, score))[0]
    result = solve(dataset, claim_by(score, limit, knowledge), budgets=Budgets(threads=1))
    assert result.optimal
    assert result.cost == pytest.approx(least, rel=1e-9, abs=1e-7)
    document = json.loads(json.dumps(result.document()))
    assert document["knowledge"] == (knowledge.document() or None)
    assert not verify(document, dataset).findings
    with Workers(1) as workers:
        checked = verify_optimality(document, dataset, workers)
    assert checked is not None
    assert checked.complete


@pytest.mark.parametrize("score", EVERY_SCORE)
@SETTINGS
@given(*CASES, st.integers(1, 30))
def test_the_k_best_are_those_of_all_admitted_networks(score, seed, n, records, limit, k):
    dataset, knowledge = drawn(seed, min(n, 4), records, limit)
    totals = every_total(all_costs(dataset, knowledge, limit, score))
    result = extbnsl.k_best(dataset, k, threads=1, **keywords(score, limit, knowledge))
    assert [one.cost for one in result.networks] == pytest.approx(totals[:k], rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("score", EVERY_SCORE)
@SETTINGS
@given(*CASES)
def test_an_order_is_kept_to(score, seed, n, records, limit):
    dataset, knowledge = drawn(seed, n, records, limit)
    rng, at = np.random.default_rng(seed), {name: i for i, name in enumerate(dataset.names)}
    order: list[int] = []
    while len(order) < n:  # parents that must be come first
        ready = [
            v for v in range(n) if v not in order and all(at[p] in order for p, c in knowledge.required if at[c] == v)
        ]
        order.append(int(rng.choice(ready)))
    costs = naive.best_scores(all_costs(dataset, knowledge, limit, score))
    least = sum(costs[v, sum(1 << u for u in order[:place])] for place, v in enumerate(order))
    found = order_network(dataset, order, claim_by(score, limit, knowledge), budgets=Budgets(threads=1))
    assert found.order_optimal
    assert found.cost == pytest.approx(least, rel=1e-9, abs=1e-7)
    if score in PRICED and not knowledge.required:
        greedy = order_network(dataset, order, claim_by(score, limit, knowledge), OrderMethods("k3"))
        assert greedy.cost >= least - 1e-7
        assert not verify(greedy.document(), dataset).findings


@pytest.mark.parametrize("score", EVERY_SCORE)
@pytest.mark.parametrize("selection", ["auto", "independence"])
def test_an_approximation_is_admitted(score, selection):
    for seed in (3, 4):
        dataset, knowledge = drawn(seed, 5, 80, None)
        least = every_total(all_costs(dataset, knowledge, None, score))[0]
        result = extbnsl.approximate(
            dataset, time=10, selection=selection, threads=1, **keywords(score, None, knowledge)
        )
        assert not verify(result.document(), dataset).findings
        assert result.cost == pytest.approx(least, rel=1e-9, abs=1e-7)
        assert result.lower_bound <= least + 1e-7


def test_local_scores_are_cut_to_what_is_admitted():
    costs = {"a": {(): 5.0, ("b",): 3.0}, "b": {(): 5.0, ("a",): 1.0, ("a", "c"): 0.5}, "c": {(): 2.0}}
    assert extbnsl.learn(costs, knowledge={"forbidden": [["a", "b"]]}).cost == 5.0 + 3.0 + 2.0
    assert extbnsl.learn(costs, knowledge={"required": [["c", "b"]]}).cost == 5.0 + 0.5 + 2.0
    with pytest.raises(InputError, match="knowledge: 'c' has no parent set that it admits"):
        extbnsl.learn(costs, knowledge={"required": [["a", "c"]]})


def test_a_network_that_is_not_admitted_is_found_out():
    dataset, _ = drawn(1, 4, 100, None)
    names = dataset.names
    document = solve(dataset, claim_by("mdl"), budgets=Budgets(threads=1)).document()
    arcs = [(parent, child) for child, own in document["parents"].items() for parent in own]
    missing = next((a, b) for a in names for b in names if a != b and (a, b) not in arcs and (b, a) not in arcs)
    for knowledge, sentence in (
        ({"required": [list(missing)]}, "is required, but the network does not have it"),
        ({"roots": [arcs[0][1]]} if arcs else {"required": [list(missing)]}, "rul" if arcs else "required"),
        ({"max_parents": {arcs[0][1]: 0}} if arcs else {"required": [list(missing)]}, "limit" if arcs else "required"),
    ):
        verdict = verify(document | {"knowledge": knowledge}, dataset)
        assert verdict.findings
        assert any(sentence in finding for finding in verdict.findings)


@pytest.mark.parametrize(
    "knowledge",
    [{"required": "a"}, {"tiers": [["a"], "b"]}, {"more": []}, {"max_parents": {"a": -1}}, {"required": [["a"]]}, []],
)
def test_knowledge_that_is_none_is_refused(knowledge):
    dataset, _ = drawn(1, 3, 20, None)
    document = solve(dataset, claim_by("mdl"), budgets=Budgets(threads=1)).document()
    with pytest.raises(InputError, match="The 'knowledge' of the result is none at"):
        verify(document | {"knowledge": knowledge}, dataset)


class Expert:
    """As pgmpy's ExpertKnowledge has it."""

    required_edges = [("v0", "v1")]  # noqa: RUF012
    forbidden_edges = None
    temporal_order = [["v0", "v1"], ["v2"]]  # noqa: RUF012
    search_space = [("v0", "v1"), ("v1", "v2"), ("v0", "v2")]  # noqa: RUF012


def test_python_has_names_in_place_of_patterns():
    dataset, _ = drawn(2, 4, 50, None)
    known = {"roots": ["v[02]"], "apart": [["v[!0]"]], "max_parents": {"v*": 1}}
    names = Knowledge(
        roots=("v0", "v2"), apart=(("v1", "v2", "v3"),), max_parents=tuple((name, 1) for name in dataset.names)
    )
    for found in (
        extbnsl.learn(dataset, knowledge=known),
        extbnsl.learn(dataset, knowledge=known, method="astar"),
        extbnsl.k_best(dataset, 3, knowledge=known),
        extbnsl.order(dataset, dataset.names, knowledge=known),
        extbnsl.approximate(dataset, time=1, knowledge=known),
    ):
        assert found.knowledge == names
        assert all({*own} <= {"v0"} for own in found.parents.values())
    assert {parent for one in extbnsl.best_first(dataset, knowledge=known) for parent, _ in one.network.arcs()} <= {0}
    with pytest.raises(InputError, match="roots: no variable fits 'w"):
        extbnsl.best_first(dataset, knowledge={"roots": ["w*"]})


def test_python_takes_knowledge_of_any_kind(tmp_path):
    dataset, _ = drawn(2, 3, 50, None)
    (tmp_path / "known.yaml").write_text("required: [[v0, v1]]\n")
    for given_ in (Expert(), {"required": [["v0", "v1"]]}, Knowledge((("v0", "v1"),)), tmp_path / "known.yaml"):
        assert "v0" in extbnsl.learn(dataset, knowledge=given_).parents["v1"]
    for wrong in (3, {"required": 3}, {"requires": []}, {"tiers": [[True]]}, object()):
        with pytest.raises(InputError, match=r"^knowledge: "):
            extbnsl.learn(dataset, knowledge=wrong)
