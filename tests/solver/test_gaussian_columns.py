"""Networks of columns of both kinds as Gaussian ones, from the table to the verified result."""

import json
import math

import naive
import numpy as np
import pandas as pd
import pytest
from asking import approximate_network, bootstrap_network, k_best_networks, order_network, solve
from cases import random_mixed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knowing import admitted, random_knowledge

import extbnsl
from extbnsl.cli import main
from extbnsl.core.claims import OPTIMAL, Claim
from extbnsl.core.errors import InputError
from extbnsl.core.knowledge import Knowledge
from extbnsl.data import Mixed
from extbnsl.kbest.scope import Scope
from extbnsl.machine.budgets import Budgets
from extbnsl.networks.degenerate import columns, conditioned, joint, log_densities_observed
from extbnsl.networks.network import Network
from extbnsl.scores.degenerate import blocks_of
from extbnsl.solver.methods import Resamples
from extbnsl.verify.verdict import verify

SCORE = "dg-bic"
SETTINGS = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
NEAR = 1e-4  # the twin takes determinants of covariances


def least(data, claim=Claim(SCORE)):
    """The cost of the best of all networks, by looking at every one; infinite if there is none."""
    costs = naive.all_degenerate_costs(data)
    costs[~admitted(claim.knowledge, data.names, claim.max_parents)] = np.inf
    n = data.variables
    return min(sum(costs[i][graph[i]] for i in range(n)) for graph in naive.all_dags(n))


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 4), st.sampled_from([3, 6, 20, 80, 300]), st.sampled_from([None, None, 1]))
def test_the_optimum_is_that_of_all_networks(seed, n, records, limit):
    rng = np.random.default_rng(seed)
    data = random_mixed(rng, n, records)
    claim = Claim(SCORE, limit, knowledge=random_knowledge(rng, data.names, limit) if seed % 2 else Knowledge())
    expected = least(data, claim)
    if math.isinf(expected):
        with pytest.raises(InputError):
            solve(data, claim)
        return
    result = solve(data, claim)
    assert result.status == OPTIMAL
    assert result.cost == pytest.approx(expected, abs=NEAR)
    verdict = verify(result.document(), data)
    assert verdict.findings == ()
    assert verdict.cost == pytest.approx(result.cost, rel=1e-9, abs=1e-6)


def test_the_answer_does_not_depend_on_threads():
    data = random_mixed(np.random.default_rng(5), 10, 200)
    one, three = (extbnsl.learn(data, score=SCORE, threads=threads) for threads in (1, 3))
    assert one.optimal
    assert (one.cost, one.parents) == (three.cost, three.parents)


def test_the_k_best_are_those_of_all_networks():
    for seed in range(3):
        data = random_mixed(np.random.default_rng(seed), 4, 60)
        costs = naive.all_degenerate_costs(data)
        each = sorted(sum(costs[i][graph[i]] for i in range(4)) for graph in naive.all_dags(4))
        found = k_best_networks(data, Scope(k=8), Claim(SCORE))
        finite = [cost for cost in each if math.isfinite(cost)][:8]
        assert [one.cost for one in found.networks] == pytest.approx(finite, abs=NEAR)


def test_the_best_under_an_order():
    data = random_mixed(np.random.default_rng(3), 5, 80)
    costs, order = naive.all_degenerate_costs(data), (3, 0, 4, 2, 1)
    expected = 0.0
    for place, child in enumerate(order):
        before = sum(1 << v for v in order[:place])
        expected += min(costs[child][u] for u in range(2**5) if u & ~before == 0)
    found = order_network(data, order, Claim(SCORE))
    assert found.order_optimal
    assert found.cost == pytest.approx(expected, abs=NEAR)


def test_approximate_is_between_the_bounds():
    data = random_mixed(np.random.default_rng(5), 9, 200)
    best = solve(data, Claim(SCORE)).cost
    found = approximate_network(data, Claim(SCORE), budgets=Budgets(time_limit=4.0))
    assert found.lower_bound <= best + 1e-6
    assert best - 1e-6 <= found.cost <= best + 0.05 * abs(best) + 1e-6


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(4)
    ward, smoker = rng.choice(["east", "north", "west"], 300), rng.choice(["no", "yes"], 300)
    age = rng.normal(55, 12, 300)
    pressure = 90 + 0.6 * age + 8.0 * (smoker == "yes") + rng.normal(0, 5, 300)
    stroke = np.where(rng.random(300) < 1 / (1 + np.exp((127 - pressure) / 4)), "yes", "no")
    return pd.DataFrame({"ward": ward, "smoker": smoker, "age": age, "pressure": pressure, "stroke": stroke})


@pytest.fixture(scope="module")
def result(frame):
    return extbnsl.learn(frame, score=SCORE)


def test_arcs_lead_from_numbers_to_states_and_back(frame, result):
    assert result.optimal
    joined = {frozenset((p, x)) for x, own in result.parents.items() for p in own}
    wanted = {frozenset(("age", "pressure")), frozenset(("pressure", "stroke")), frozenset(("pressure", "smoker"))}
    assert joined >= wanted
    turned = extbnsl.learn(frame, score=SCORE, knowledge={"required": [("pressure", "stroke")]})
    assert "pressure" in turned.parents["stroke"]
    assert turned.cost >= result.cost - 1e-9


def test_resamples_are_solved(result):
    found = bootstrap_network(result.dataset, Resamples(3), Claim(SCORE))
    assert found.status == OPTIMAL


@pytest.mark.parametrize(
    "options",
    [{"penalty": 1.0}, {"gamma": 1.0}, {"parent_cost": 3.0}, {"knowledge": {"costs": [("age", "stroke", -40.0)]}}],
)
def test_prices_and_charges(result, options):
    data = result.dataset
    found = extbnsl.learn(data, score=SCORE, **options)
    assert found.optimal
    verdict = verify(found.document(), data)
    assert verdict.findings == ()
    arcs = sum(map(len, found.parents.values()))
    blocks, price = blocks_of(data), options.get("penalty", math.log(300) / 2)
    own = [blocks.cost(x, parents, price) for x, parents in enumerate(found.network.parents)]
    own += [arcs * (options.get("parent_cost", 0.0) + 2.0 * options.get("gamma", 0.0) * math.log(5))]
    own += [-40.0] if "knowledge" in options and "age" in found.parents["stroke"] else []
    assert found.cost == pytest.approx(math.fsum(own), abs=1e-6)
    assert "knowledge" not in options or "age" in found.parents["stroke"]


def test_the_likelihood_of_the_data_is_minus_the_misfit(result):
    data = result.dataset
    known = columns(result.network, data)
    none = np.zeros(data.codes.shape, bool)
    each = log_densities_observed(known, data.codes, data.values, none)
    price = math.log(data.records) / 2 * result.stats["parameters"]
    assert -each.sum() + price == pytest.approx(result.cost, rel=1e-9)
    dense = Network(data.names, tuple(tuple(range(v)) for v in range(data.variables)))
    mean, covariance = joint(columns(dense, data))
    whole = np.hstack([naive.indicators(data, v) for v in range(data.variables)])
    assert mean == pytest.approx(whole.mean(axis=0))
    assert covariance == pytest.approx(np.cov(whole.T, bias=True), abs=1e-8)


def test_answers_are_those_of_the_joint_gaussian(result):
    data, known = result.dataset, columns(result.network, result.dataset)
    mean, covariance = joint(known)
    pressure, stroke = known.places([3]), known.places([4])
    seen = known.places([1, 2])
    row = np.hstack([naive.indicators(data, v) for v in range(5)])[:1]
    slopes = np.linalg.solve(covariance[np.ix_(seen, seen)], covariance[np.ix_(seen, [*pressure, *stroke])])
    expected = mean[[*pressure, *stroke]] + (row[0, seen] - mean[seen]) @ slopes
    left = (
        covariance[np.ix_([*pressure, *stroke], [*pressure, *stroke])]
        - slopes.T @ covariance[np.ix_(seen, [*pressure, *stroke])]
    )
    own = conditioned(known, data.codes[:1], data.values[:1], [3, 4], (1, 2))
    assert own.means[0, 0] == pytest.approx(expected[0])
    assert own.covariances[0, 0, 0] == pytest.approx(left[0, 0])
    density = np.exp(-((np.array([0.0, 1.0]) - expected[1]) ** 2) / (2 * left[1, 1]))
    assert own.states[4][0] == pytest.approx(density / density.sum())


def run(*arguments):
    return main([*map(str, arguments)])


def test_the_commands(frame, tmp_path, capsys, result):
    table, where = tmp_path / "t.csv", tmp_path / "t.run"
    frame.to_csv(table, index=False)
    assert run("solve", table, "--score", SCORE, "--run-dir", where, "--quiet") == 0
    written = json.loads((where / "network.json").read_text())
    assert not (where / "network.bif").exists()
    own = written["columns"]["ward"]
    assert (own["first"], own["states"]) == ("east", ["north", "west"])
    assert run("verify", where, table) == 0
    assert run("report", where) == 0
    assert "stroke=yes" in (where / "report.html").read_text()
    capsys.readouterr()
    assert run("query", where, "stroke", "pressure", "--given", "smoker=yes", "--given", "age=61", "--json") == 0
    answer = json.loads(capsys.readouterr().out)["variables"]
    asked = result.query(["stroke", "pressure"], {"smoker": "yes", "age": 61})
    assert answer["stroke"] == pytest.approx(asked["stroke"], rel=1e-6)
    assert answer["pressure"] == pytest.approx(asked["pressure"], rel=1e-6)
    assert run("query", where, "stroke", "ward", "--joint") == 30
    assert "By dg-bic states have no joint table" in capsys.readouterr().err
    assert run("score-network", where, table, "--json") == 0
    known = json.loads(capsys.readouterr().out)
    price = math.log(300) / 2 * result.stats["parameters"]
    assert -known["log_likelihood"] + price == pytest.approx(result.cost, rel=1e-6)
    for name, code in (("n.bif", 30), ("n.json", 0), ("n.graphml", 0), ("n.dot", 0), ("n.csv", 0)):
        assert run("export", where, "-o", tmp_path / name) == code
    assert run("cost", where, where) == 0
    assert run("why", where, "pressure", "smoker") == 0
    assert run("estimate", table, "--score", SCORE) == 0


def test_the_estimator(frame, result):
    learner = extbnsl.BayesianNetworkLearner(scoring_method=SCORE).fit(frame)
    assert learner.cost_ == result.cost
    assert (learner.predict(frame, "stroke") == frame["stroke"]).mean() > 0.75
    assert learner.predict_proba(frame, "ward").sum(axis=1) == pytest.approx(1.0)
    assert np.corrcoef(learner.predict(frame, "pressure"), frame["pressure"])[0, 1] > 0.7
    assert learner.score_samples(frame).sum() == pytest.approx(
        math.log(300) / 2 * result.stats["parameters"] - result.cost, rel=1e-9
    )
    assert learner.predict(frame.drop(columns=["ward", "age"]), "pressure").shape == (300,)
    with pytest.raises(InputError, match=r"The model of dg-bic is Gaussian, also of states, and draws none"):
        learner.sample(5)


def test_a_forged_result_is_found_out(result):
    document = json.loads(json.dumps(result.document()))
    cheaper = document | {"cost": document["cost"] - 1.0}
    assert verify(cheaper, result.dataset).findings
    dearer = document | {"parents": document["parents"] | {"pressure": []}}
    assert any("costs" in one for one in verify(dearer, result.dataset).findings)


def test_one_variable_and_what_never_varies():
    codes = np.zeros((4, 2), np.uint16)
    values = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 4.0], [0.0, 9.0]])
    data = Mixed(("a", "b"), (("u",), ()), codes, values, "<test>")
    found = extbnsl.learn(data, score=SCORE)
    assert found.optimal
    assert found.parents == {"a": [], "b": []}
    only = Mixed(("a",), (("u",),), codes[:, :1], values[:, :1], "<test>")
    assert extbnsl.learn(only, score=SCORE).cost == 0.0
