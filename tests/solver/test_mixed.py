"""Networks of columns of both kinds, from the table to the verified result."""

import csv
import itertools
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
from extbnsl.core.claims import OPTIMAL, TIME_LIMIT, Claim
from extbnsl.core.errors import InputError
from extbnsl.core.knowledge import Knowledge
from extbnsl.data import Mixed
from extbnsl.kbest.scope import Scope
from extbnsl.machine.budgets import Budgets
from extbnsl.networks.conditional import conditionals, conditioned, log_densities_observed, sampled
from extbnsl.networks.network import Network
from extbnsl.networks.parameters import by_observed
from extbnsl.solver.methods import Resamples
from extbnsl.verify.verdict import verify

SCORE = "cg-bic"
SETTINGS = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


def least(data, claim=Claim(SCORE)):
    """The cost of the best of all networks, by looking at every one; infinite if there is none."""
    costs = naive.all_conditional_costs(data)
    costs[~admitted(claim.knowledge, data.names, claim.max_parents)] = np.inf
    n = data.variables
    return min(sum(costs[i][graph[i]] for i in range(n)) for graph in naive.all_dags(n))


@SETTINGS
@given(st.integers(0, 2**32), st.integers(4, 5), st.sampled_from([6, 20, 80, 300]), st.sampled_from([None, None, 1, 2]))
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
    assert result.cost == pytest.approx(expected, rel=1e-9, abs=1e-6)
    verdict = verify(result.document(), data)
    assert verdict.findings == ()
    assert verdict.cost == pytest.approx(expected, rel=1e-9, abs=1e-6)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(8)
    n = 300
    ward = rng.choice(["east", "north", "west"], n)
    smoker = rng.random(n) < 0.3
    age = np.round(rng.normal(55, 12, n), 1)
    pressure = np.where(smoker, 110 + 0.4 * age, 90 + 0.6 * age) + rng.normal(0, 6, n)
    dose = np.where(ward == "east", 2.0, -1.0) + 0.1 * pressure + rng.normal(0, 1.0, n)
    stroke = rng.random(n) < np.where(smoker, 0.6, 0.2)
    words = np.array(["no", "yes"])
    return pd.DataFrame(
        {
            "ward": ward,
            "smoker": words[smoker.astype(int)],
            "age": age,
            "pressure": pressure.round(2),
            "dose": dose.round(3),
            "stroke": words[stroke.astype(int)],
        }
    )


@pytest.fixture(scope="module")
def result(frame):
    return extbnsl.learn(frame, score=SCORE)


@pytest.fixture
def table(frame, tmp_path):
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    return path


def test_a_table_of_both_kinds_is_learned_as_it_is(frame, result):
    assert isinstance(result.dataset, Mixed)
    assert result.dataset.contents == "3 of states, 3 of numbers"
    assert result.optimal
    assert set(result.parents["pressure"]) == {"smoker", "age"}
    assert set(result.parents["dose"]) == {"ward", "pressure"}
    assert not {"age", "pressure", "dose"} & {p for x in ("ward", "smoker", "stroke") for p in result.parents[x]}


def test_arcs_from_states_to_numbers_are_compelled(result):
    directed, undirected = result.cpdag()
    assert ("smoker", "pressure") in directed
    assert ("ward", "dose") in directed
    assert {frozenset(pair) for pair in undirected} >= {frozenset(("smoker", "stroke"))}
    assert result.knowledge.tiers == (("ward", "smoker", "stroke"), ("age", "pressure", "dose"))


def test_the_k_best_are_those_of_all_networks():
    for seed in range(4):
        data = random_mixed(np.random.default_rng(seed), 4, 60)
        costs = naive.all_conditional_costs(data)
        each = sorted(sum(costs[i][graph[i]] for i in range(4)) for graph in naive.all_dags(4))
        found = k_best_networks(data, Scope(k=8), Claim(SCORE))
        assert [one.cost for one in found.networks] == pytest.approx(
            [cost for cost in each if math.isfinite(cost)][:8], abs=1e-6
        )


def test_the_best_under_an_order():
    data = random_mixed(np.random.default_rng(3), 5, 80)
    costs = naive.all_conditional_costs(data)
    order = (3, 0, 4, 2, 1)
    expected = 0.0
    for place, child in enumerate(order):
        before = sum(1 << v for v in order[:place])
        expected += min(costs[child][u] for u in range(2**5) if u & ~before == 0)
    found = order_network(data, order, Claim(SCORE))
    assert found.order_optimal
    assert found.cost == pytest.approx(expected, abs=1e-6)


def test_resamples_are_solved(frame):
    found = bootstrap_network(extbnsl.learn(frame, score=SCORE).dataset, Resamples(3), Claim(SCORE))
    assert found.bootstrap.done[2].status == OPTIMAL
    assert found.status == OPTIMAL


def test_a_stop_leaves_bounds_and_a_resume_ends(tmp_path):
    from extbnsl.files.manifest import read_manifest
    from extbnsl.solver.place import Place

    data = random_mixed(np.random.default_rng(21), 9, 300)
    whole = solve(data, Claim(SCORE))
    calls = itertools.count()
    stopped = solve(data, Claim(SCORE), place=Place(tmp_path), stop=lambda: TIME_LIMIT if next(calls) > 12 else None)
    assert stopped.status == TIME_LIMIT
    assert stopped.lower_bound <= whole.cost + 1e-6 <= stopped.upper_bound + 2e-6
    again = solve(data, Claim(SCORE), place=Place(tmp_path, resume=read_manifest(tmp_path)))
    assert (again.status, again.cost) == (OPTIMAL, whole.cost)


@pytest.mark.parametrize("n", [6, 12])
def test_approximate_is_between_the_bounds(n):
    data = random_mixed(np.random.default_rng(5), n, 200)
    best = solve(data, Claim(SCORE)).cost
    found = approximate_network(data, Claim(SCORE), budgets=Budgets(time_limit=4.0))
    assert found.lower_bound <= best + 1e-6
    assert best - 1e-6 <= found.cost <= best + 0.05 * abs(best) + 1e-6


def test_what_is_refused(frame):
    with pytest.raises(InputError, match=r"'mdl' is for columns of states"):
        extbnsl.learn(extbnsl.learn(frame, score=SCORE).dataset)
    with pytest.raises(InputError, match=r"cuts every column of numbers, and this score takes them as they are"):
        extbnsl.learn(frame, score=SCORE, discretise="mean")
    with pytest.raises(InputError, match=r"'stroke' has states, 'age' numbers, and the score cg-bic has no arc"):
        extbnsl.learn(frame, score=SCORE, knowledge={"required": [("age", "stroke")]})
    with pytest.raises(InputError, match=r"BIF has no continuous variables"):
        extbnsl.learn(frame, score=SCORE).to_bif()
    lacking = frame.assign(age=[None, *frame["age"][1:]], ward=[*frame["ward"][:-1], None])
    with pytest.raises(InputError, match=r"'age' has missing values among numbers"):
        extbnsl.learn(lacking, score=SCORE, missing="state")
    dropped = extbnsl.learn(lacking, score=SCORE, missing="drop")
    assert dropped.dataset.records == len(frame) - 2


def test_which_columns_have_states(frame):
    coded = frame.assign(grade=np.arange(len(frame)) % 3)
    plain = extbnsl.learn(coded, score=SCORE, max_parents=1)
    assert plain.dataset.states[-1] == ()
    assert any("'grade' has no more than 5 different numbers" in one for one in plain.warnings)
    said = extbnsl.learn(coded, score=SCORE, max_parents=1, discrete=["grade"])
    assert said.dataset.states[-1] == ("0", "1", "2")
    cut = extbnsl.learn(frame, score=SCORE, max_parents=1, discretise={"age": "quantile:3"})
    assert len(cut.dataset.states[2]) == 3
    every = extbnsl.learn(coded[["ward", "grade"]], score=SCORE, discrete="all")
    assert every.cost == pytest.approx(extbnsl.learn(coded[["ward", "grade"]], discrete="all").cost, rel=1e-12)


def joint_density(known, codes, values):
    """The log-density of records by the definition, family by family."""
    total = np.zeros(len(codes))
    for child, family in enumerate(known.families):
        for i in range(len(codes)):
            own = tuple(codes[i, p] for p in family.discrete)
            if family.table is not None:
                total[i] += math.log(family.table[(*own, codes[i, child])])
                continue
            which = int(np.ravel_multi_index(own, family.shape)) if own else 0
            fit = family.regressions[which]
            mean = fit.intercept + sum(
                slope * values[i, p] for slope, p in zip(fit.coefficients, family.numbers, strict=True)
            )
            error = values[i, child] - mean
            total[i] -= 0.5 * math.log(2 * math.pi * fit.variance) + error * error / (2 * fit.variance)
    return total


def test_the_likelihood_of_the_data_is_minus_the_misfit(result):
    data = result.dataset
    known = conditionals(result.network, data)
    none = np.zeros(data.codes.shape, bool)
    each = log_densities_observed(known, data.codes, data.values, none)
    assert each == pytest.approx(joint_density(known, data.codes, data.values), abs=1e-9)
    price = math.log(data.records) / 2 * result.stats["parameters"]
    assert -each.sum() + price == pytest.approx(result.cost, rel=1e-10)


def by_grid(known, codes, values, target, observed):
    """The posterior of one variable in one record: sums over all states, and integrals over a grid of numbers."""
    n = len(known.states)
    free = [v for v in range(n) if v not in observed]
    grids = [np.arange(len(known.states[v])) if known.states[v] else np.linspace(-9.0, 9.0, 121) for v in free]
    rows = list(itertools.product(*grids))
    all_codes, all_values = np.tile(codes, (len(rows), 1)), np.tile(values, (len(rows), 1))
    for j, v in enumerate(free):
        column = [row[j] for row in rows]
        if known.states[v]:
            all_codes[:, v] = column
        else:
            all_values[:, v] = column
    weights = np.exp(joint_density(known, all_codes, all_values))
    weights /= weights.sum()
    if known.states[target]:
        return np.bincount(all_codes[:, target], weights, len(known.states[target]))
    mean = float(weights @ all_values[:, target])
    return mean, math.sqrt(float(weights @ (all_values[:, target] - mean) ** 2))


@pytest.mark.parametrize("seed", range(2))
def test_answers_are_those_of_sums_and_integrals(seed):
    rng = np.random.default_rng(seed)
    n = 5
    codes = rng.integers(0, 2, (200, n)).astype(np.uint16)
    values = np.zeros((200, n))
    values[:, 2] = np.where(codes[:, 0] == 1, 1.0, -1.0) + rng.normal(size=200)
    values[:, 4] = 0.7 * values[:, 2] * (1 + codes[:, 1]) + rng.normal(size=200)
    codes[:, [2, 4]] = 0
    states = (("a", "b"), ("a", "b"), (), ("a", "b"), ())
    data = Mixed(tuple("vwxyz"), states, codes, values, "<test>")
    network = Network(data.names, ((), (0,), (0,), (1,), (1, 2)))
    known = conditionals(network, data)
    for target in range(n):
        others = [v for v in range(n) if v != target]
        for observed in (others, others[1:], others[:2], []):
            if sum(not states[v] for v in range(n) if v not in observed) > 1 and target in (2, 4):
                continue  # a grid of two dimensions takes too long
            own = conditioned(known, codes[:1], values[:1], [target], observed)
            expected = by_grid(known, codes[0], values[0], target, observed)
            if states[target]:
                assert own.states[target][0] == pytest.approx(expected, abs=1e-4)
            else:
                mean, deviation = expected
                assert own.means[0, 0] == pytest.approx(mean, abs=1e-2)
                assert math.sqrt(own.covariances[0, 0, 0]) == pytest.approx(deviation, abs=2e-2)


def test_what_is_lacking_is_summed_out(result):
    data, known = result.dataset, conditionals(result.network, result.dataset)
    lacking = np.zeros((4, data.variables), bool)
    lacking[1, 0] = lacking[2, 5] = lacking[3, [0, 1, 5]] = True
    each = log_densities_observed(known, data.codes[:4], data.values[:4], lacking)
    for row, observed in ((row, observed) for observed, rows in by_observed(lacking) for row in rows.tolist()):
        free = [v for v in range(data.variables) if v not in observed]
        joint = list(itertools.product(*(range(len(data.states[v])) for v in free)))
        codes = np.tile(data.codes[row], (len(joint), 1))
        codes[:, free] = joint
        whole = joint_density(known, codes, np.tile(data.values[row], (len(joint), 1)))
        assert each[row] == pytest.approx(np.logaddexp.reduce(whole), abs=1e-9)


def test_samples_are_as_the_network_says(result):
    known = conditionals(result.network, result.dataset)
    codes, values = sampled(known, 20_000, np.random.default_rng(1))
    data = result.dataset
    for j, states in enumerate(data.states):
        if states:
            shares = np.bincount(codes[:, j], minlength=len(states)) / 20_000
            assert shares == pytest.approx(np.bincount(data.codes[:, j], minlength=len(states)) / 300, abs=0.02)
        else:
            spread = data.values[:, j].std()
            assert values[:, j].mean() == pytest.approx(data.values[:, j].mean(), abs=0.05 * spread)
            assert values[:, j].std() == pytest.approx(spread, rel=0.05)


def run(*arguments):
    return main([*map(str, arguments)])


def test_the_commands(table, tmp_path, capsys, result):
    where = tmp_path / "t.run"
    assert run("solve", table, "--score", SCORE, "--run-dir", where, "--quiet") == 0
    written = json.loads((where / "network.json").read_text())
    assert not (where / "network.bif").exists()
    assert set(written["states"]) == {"ward", "smoker", "stroke"}
    assert set(written["spreads"]) == {"age", "pressure", "dose"}
    assert written["conditionals"]["pressure"]["given"] == ["smoker"]
    assert [row["states"] for row in written["conditionals"]["pressure"]["regressions"]] == [["no"], ["yes"]]
    assert run("report", where) == 0
    page = (where / "report.html").read_text()
    assert "pressure given smoker, age" in page
    assert "standard deviation" in page
    capsys.readouterr()
    assert run("query", where, "stroke", "dose", "--given", "ward=east", "--given", "age=61", "--json") == 0
    answer = json.loads(capsys.readouterr().out)["variables"]
    asked = result.query(["stroke", "dose"], {"ward": "east", "age": 61})
    assert answer["stroke"] == pytest.approx(asked["stroke"])
    assert answer["dose"] == pytest.approx(asked["dose"])
    assert run("query", where) == 0
    assert "smoker" in capsys.readouterr().out
    assert run("score-network", where, table, "--smoothing", "0", "--json") == 0
    known = json.loads(capsys.readouterr().out)
    price = math.log(300) / 2 * result.stats["parameters"]
    assert -known["log_likelihood"] + price == pytest.approx(result.cost, rel=1e-9)
    for name, code in (("n.bif", 30), ("n.json", 0), ("n.graphml", 0), ("n.dot", 0), ("n.csv", 0)):
        assert run("export", where, "-o", tmp_path / name) == code
    assert "some of these variables are continuous; take json" in capsys.readouterr().err
    assert run("cost", where, where) == 0
    assert run("why", where, "pressure", "smoker") == 0


def test_new_records_with_gaps_and_texts(table, tmp_path, capsys):
    where = tmp_path / "t.run"
    assert run("solve", table, "--score", SCORE, "--run-dir", where, "--quiet") == 0
    capsys.readouterr()
    rows = list(csv.reader(table.open()))
    new = tmp_path / "new.csv"
    new.write_text("\n".join(",".join(row) for row in [rows[0], ["east", "", "50", "130", "", "yes"]]) + "\n")
    assert run("score-network", where, new, "--missing", "sum") == 0
    assert "lacks a value" in capsys.readouterr().out
    new.write_text("\n".join(",".join(row) for row in [rows[0], ["east", "no", "old", "130", "2", "yes"]]) + "\n")
    assert run("score-network", where, new) == 30
    assert "'age' have texts, and numbers in the network" in capsys.readouterr().err
    new.write_text("\n".join(",".join(row) for row in [rows[0], ["south", "no", "50", "130", "2", "yes"]]) + "\n")
    assert run("score-network", where, new) == 30
    assert "no state that the network knows" in capsys.readouterr().err


def test_the_estimator(frame, result):
    learner = extbnsl.BayesianNetworkLearner(scoring_method=SCORE).fit(frame)
    assert learner.cost_ == result.cost
    shares = learner.predict_proba(frame, "smoker")
    assert shares.shape == (300, 2)
    assert shares.sum(axis=1) == pytest.approx(1.0)
    assert (learner.predict(frame, "smoker") == frame["smoker"]).mean() > 0.6
    guessed = learner.predict(frame, "pressure")
    assert np.corrcoef(guessed, frame["pressure"])[0, 1] > 0.6
    assert learner.score_samples(frame).shape == (300,)
    drawn = learner.sample(5, random_state=1)
    assert list(drawn.columns) == list(frame.columns)
    assert set(drawn["ward"]) <= {"east", "north", "west"}
    assert np.issubdtype(drawn["age"].dtype, np.floating)
    assert set(learner.states_) == {"ward", "smoker", "stroke"}
    fewer = frame.drop(columns=["dose", "ward"])
    assert learner.predict(fewer, "pressure").shape == (300,)
    with pytest.raises(InputError, match=r"'age' has numbers and no states"):
        learner.predict_proba(frame, "age")


def test_a_forged_result_is_found_out(result):
    document = result.document()
    dearer = json.loads(json.dumps(document)) | {"parents": document["parents"] | {"dose": []}}
    assert any("costs" in one for one in verify(dearer, result.dataset).findings)
    wrong = json.loads(json.dumps(document)) | {"parents": document["parents"] | {"stroke": ["age"]}}
    assert verify(wrong, result.dataset).findings
    free = json.loads(json.dumps(wrong)) | {"knowledge": {}}
    free["order"] = ["age", *(name for name in free["order"] if name != "age")]
    assert any("has the parent 'age', which has numbers" in one for one in verify(free, result.dataset).findings)
