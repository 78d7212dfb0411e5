"""Interventions: the cost of a family is over the records in which its child was not set from outside."""

import json
import math
import re
from dataclasses import replace
from functools import partial

import naive
import numpy as np
import pytest
from asking import solve
from cases import EVERY_SCORE, claim_by, shelf_of
from cases_of_records import (
    all_costs,
    check_proved,
    complete_of,
    cost_of,
    degenerate_cost_of,
    gaussian_cost_of,
    left,
    mixed_cost_of,
    mixed_with_targets,
    numbers_with_targets,
    optimum,
    with_targets,
)
from data_invariants import check_scores
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knowing import admitted, random_knowledge

import extbnsl
from extbnsl import read_data
from extbnsl.cli import main
from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.core.events import ignore
from extbnsl.machine.workers import Workers
from extbnsl.networks import degenerate
from extbnsl.networks.network import Network
from extbnsl.parents.exhaustive.problem import varying
from extbnsl.parents.exhaustive.state import Means, start_enumeration
from extbnsl.parents.exhaustive.surviving import surviving_families
from extbnsl.scores.known import score_of
from extbnsl.verify.statement import verify_optimality
from extbnsl.verify.verdict import verify

SETTINGS = settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))
GAUSSIAN = "gaussian-bic"


@pytest.mark.parametrize("score", EVERY_SCORE)
@pytest.mark.parametrize("by_child", [False, True])
@SETTINGS
@given(
    st.integers(0, 2**32),
    st.integers(1, 5),
    st.integers(1, 60),
    st.sampled_from([None, 1, 2]),
    st.sampled_from([0.0, 0.0, 0.6, 30.0]),
)
def test_families(by_child, score, seed, n, records, limit, slack):
    dataset, rng = with_targets(seed, n, records), np.random.default_rng(seed)
    knowledge = random_knowledge(rng, dataset.names, limit)
    claim = claim_by(score, limit, knowledge)
    begun = start_enumeration(varying(dataset, score_of(claim)).size) if by_child else None
    with Workers(2) as workers:
        found = surviving_families(dataset, claim, Means(workers, shelf_of(), ignore), begun, slack=slack)
    assert found.stopped is None
    check_scores(found.scores)
    costs = all_costs(dataset, partial(cost_of, score=score), limit)
    costs[~admitted(knowledge, dataset.names, limit)] = np.inf
    best = naive.best_scores(costs)
    for x in range(n):
        listed = dict(zip(found.scores.parents[x][:, 0].tolist(), found.scores.costs[x].tolist(), strict=True))
        for varset, cost in listed.items():
            assert cost == pytest.approx(costs[x, varset], rel=1e-9, abs=1e-8)
            assert cost <= best[x, varset] + slack + 1e-7
        own = np.full(2**n, np.inf)
        own[list(listed)] = list(listed.values())
        where = np.arange(2**n) >> x & 1 == 0
        known = naive.best_scores(np.broadcast_to(own, (n, 2**n)))[x]
        np.testing.assert_allclose(known[where], best[x][where], rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(found.least, [best[x, 2**n - 1 ^ 1 << x] for x in range(n)], rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("score", ["mdl", "bdeu", "qnml"])
@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 80))
def test_the_optimum(score, seed, n, records):
    dataset = with_targets(seed, n, records)
    result = solve(dataset, claim_by(score))
    assert result.status == "optimal"
    costs = all_costs(dataset, partial(cost_of, score=score))
    assert result.cost == pytest.approx(optimum(costs), rel=1e-9, abs=1e-8)
    check_proved(dataset, result)


OF_NUMBERS = {
    GAUSSIAN: (numbers_with_targets, gaussian_cost_of),
    "cg-bic": (mixed_with_targets, mixed_cost_of),
    "dg-bic": (mixed_with_targets, degenerate_cost_of),
}


@pytest.mark.parametrize("score", OF_NUMBERS)
@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 5), st.integers(30, 80))
def test_the_optimum_of_numbers(score, seed, n, records):
    make, cost_of = OF_NUMBERS[score]
    numbers = make(seed, n, records)
    costs = all_costs(numbers, cost_of)
    if np.isinf(costs[:, 0]).any():  # a number that never varies where nothing set it
        with pytest.raises(InputError, match="the same number in every record"):
            solve(numbers, Claim(score))
        return
    result = solve(numbers, Claim(score))
    assert result.status == "optimal"
    assert result.cost == pytest.approx(optimum(costs), rel=1e-7, abs=1e-6)
    check_proved(numbers, result)


def test_the_k_best_of_both_kinds_are_those_of_all_networks():
    for seed, (score, (make, cost)) in enumerate(list(OF_NUMBERS.items())[1:] * 2):
        costs = all_costs(data := make(seed, 4, 60), cost)
        each = sorted(sum(costs[x, graph[x]] for x in range(4)) for graph in naive.all_dags(4))
        found = extbnsl.k_best(data, 8, score=score)
        listed = [one.cost for one in found.networks]
        assert listed == pytest.approx([cost for cost in each if np.isfinite(cost)][:8], abs=1e-5)


@pytest.mark.parametrize("score", ["cg-bic", "dg-bic"])
def test_forged_results_of_both_kinds_are_found_out(score):
    data = mixed_with_targets(3, 5, 150)
    assert data.targets is not None
    true = extbnsl.learn(data, score=score).document()
    assert not verify(true | {}, data).findings
    cheaper = {key: true[key] - 1.0 for key in ("cost", "lower_bound", "upper_bound")}
    assert verify(true | cheaper, data).findings
    assert verify(true, replace(data, targets=None)).findings
    for component in true["certificate"]["components"]:
        forged = json.loads(json.dumps(true))
        for one in forged["certificate"]["components"]:
            one["lower_bound"] += 0.5 * (one["variables"] == component["variables"])
        with Workers(1) as workers:
            found = verify_optimality(forged, data, workers)
        assert found.findings or not found.complete


def test_parameters_of_gaussian_columns_are_of_the_records_of_each_family():
    """Also where a state occurs only where it was set."""
    for seed in range(6):
        data = mixed_with_targets(seed, 4, 150)
        places, codes = np.flatnonzero(data.of_states).tolist(), data.codes.copy()
        for v in places:
            codes[~left(data, v), v] = len(data.states[v]) - 1
        data = replace(data, codes=codes)
        parents = tuple(tuple(range(x)) for x in range(4))
        known = degenerate.columns(Network(data.names, parents), data)
        for child, block in enumerate(known.blocks):
            cost, own = degenerate_cost_of(data, child, parents[child]), block.by_itself
            if np.isinf(cost):
                continue
            whole = complete_of(data, [child, *parents[child]])
            x, p = (sum(naive.indicators(whole, v).shape[1] for v in some) for some in ([child], parents[child]))
            assert len(own) == x
            spread = np.linalg.slogdet(block.covariance[np.ix_(own, own)])[1] if x else 0.0
            misfit = whole.records / 2 * (spread + x * (math.log(2 * math.pi) + 1))
            price = math.log(data.records) / 2 * (x * (x + 1) / 2 + x * p + x)
            assert misfit + price == pytest.approx(cost, rel=1e-7, abs=1e-5)
        for v in places:
            shares = degenerate.conditioned(known, data.codes[:1], data.values[:1], [v], []).states[v][0]
            assert shares.sum() == pytest.approx(1.0)
            never = sorted({*range(len(data.states[v]))} - {*data.codes[left(data, v), v].tolist()})
            assert not shares[never].any()


def two_alike(records=400):
    """x is the cause of y; in a third of the records x is set, in another one y."""
    rng = np.random.default_rng(1)
    of = rng.integers(0, 3, records)
    x = rng.integers(0, 2, records)
    y = np.where(rng.random(records) < 0.1, 1 - x, x)
    y = np.where(of == 2, rng.integers(0, 2, records), y)
    names = np.array(["", "x", "y"])[of]
    return x, y, names


def test_only_what_was_set_tells_the_cause():
    x, y, set_from_outside = two_alike()
    frame = {"x": x.tolist(), "y": y.tolist(), "set": set_from_outside.tolist()}
    for how in ({"targets": "set"}, {"drop": "set"}):
        result = extbnsl.learn(frame, **how)
        turned = extbnsl.learn(frame, **how, knowledge={"required": [["y", "x"]]})
        if "targets" in how:
            assert result.parents == {"x": [], "y": ["x"]}
            assert turned.cost > result.cost + 10.0
        else:
            assert turned.cost == pytest.approx(result.cost, abs=1e-7)


def write(path, rows):
    path.write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")
    return str(path)


def random_rows(seed=2, records=120):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (records, 3))
    codes[:, 1] = np.where(rng.random(records) < 0.9, codes[:, 0], codes[:, 1])
    named = rng.choice(["", "a", "b; c", "NA", "a;a"], records).tolist()
    return [["a", "b", "c", "done to"], *([*own, name] for own, name in zip(codes.tolist(), named, strict=True))]


def test_a_run_is_verified_and_goes_by_the_targets(tmp_path, capsys):
    data, run = write(tmp_path / "d.csv", random_rows()), tmp_path / "d.run"
    given = ["--targets", "done to", "--run-dir", str(run)]
    assert main(["solve", data, *given, "--quiet"]) == 0
    dataset = read_data(data, targets="done to")
    assert dataset.names == ("a", "b", "c")
    assert dataset.targets.sets == ((), (0,), (1, 2))
    result = json.loads((run / "result.json").read_text())
    own = [
        cost_of(dataset, child, [dataset.names.index(p) for p in result["parents"][name]])
        for child, name in enumerate(dataset.names)
    ]
    assert result["cost"] == pytest.approx(sum(own), rel=1e-9)
    assert main(["verify", str(run), data]) == 0
    assert main(["verify", str(run), data, "--targets", "done to"]) == 0
    assert main(["verify", str(run), data, "--drop", "done to"]) != 0
    document = result | {"cost": result["cost"] - 1.0}
    (run / "result.json").write_text(json.dumps(document))
    assert main(["verify", str(run), data]) != 0
    capsys.readouterr()


def test_targets_go_with_their_records(tmp_path):
    """Those that are left out, and those that stand for several."""
    rows = random_rows()
    for number, row in enumerate(rows[1:]):
        row.append(number % 3)
        row[2] = "" if number % 5 == 0 else row[2]
    rows[0].append("times")
    data = write(tmp_path / "d.csv", rows)
    dataset = read_data(data, targets="done to", weights="times", missing="drop", records=100)
    kept = [row for number, row in enumerate(rows[1:101]) if number % 5 for _ in range(row[4])]
    assert dataset.records == len(kept)
    named = [{"": (), "NA": (), "a": (0,), "a;a": (0,), "b; c": (1, 2)}[row[3]] for row in kept]
    assert [dataset.targets.sets[k] for k in dataset.targets.of.tolist()] == named


def test_columns_that_are_left_out_may_be_named(tmp_path):
    dataset = read_data(write(tmp_path / "d.csv", random_rows()), targets="done to", drop="b,c")
    assert dataset.targets.sets == ((), (0,))
    dataset = read_data(write(tmp_path / "d.csv", random_rows()), targets="done to", drop="a,b")
    assert dataset.targets.sets == ((), (0,))


def test_where_nothing_was_set_the_data_are_the_same(tmp_path):
    rows = random_rows()
    plain = read_data(write(tmp_path / "plain.csv", [row[:3] for row in rows]))
    nothing = read_data(
        write(tmp_path / "d.csv", [[*row[:3], name] for row, name in zip(rows, ["set", *[""] * 120], strict=True)]),
        targets="set",
    )
    assert nothing.targets is None
    assert nothing.fingerprint == plain.fingerprint


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda rows: rows[7].__setitem__(3, "a;bb"), "has 'bb' in row 7 of the data, which no column is called"),
        (
            lambda rows: [row.__setitem__(3, "b;a") for row in rows[1:]],
            "'a' and 'b' were set from outside in every record",
        ),
        (lambda rows: rows[0].__setitem__(3, "other"), "has no column 'done to'"),
    ],
)
def test_what_cannot_be(change, sentence, tmp_path, capsys):
    rows = random_rows()
    change(rows)
    data = write(tmp_path / "d.csv", rows)
    assert main(["solve", data, "--targets", "done to", "--run-dir", str(tmp_path / "run")]) == 30
    assert sentence in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "run").exists()


def test_describe_says_what_the_column_is(tmp_path, capsys):
    data = write(tmp_path / "d.csv", random_rows())
    assert main(["describe", data, "--targets", "done to"]) == 0
    assert re.search(r"done to +targets", capsys.readouterr().out)
    rows = random_rows()
    rows[7][3] = "bb"
    assert main(["describe", write(tmp_path / "d.csv", rows), "--targets", "done to"]) == 0
    assert "which no column is called" in " ".join(capsys.readouterr().out.split())


def test_arcs_that_the_targets_tell_are_directed_wherever_the_class_is_told(tmp_path, capsys):
    x, y, names = two_alike()
    rows = [["x", "y", "done to"], *map(list, zip(x.tolist(), y.tolist(), names.tolist(), strict=True))]
    data, run = write(tmp_path / "d.csv", rows), tmp_path / "run"
    assert main(["solve", data, "--targets", "done to", "--bootstrap", "5", "--run-dir", str(run)]) == 0
    told = json.loads((run / "network.json").read_text())["cpdag"]
    assert told == {"directed": [["x", "y"]], "undirected": []}
    document = json.loads((run / "result.json").read_text())
    assert document["targets"] == [["x"], ["y"]]
    assert document["bootstrap"]["arcs"][0]["compelled"] == 1.0
    assert "style=dashed" not in (run / "network.dot").read_text()
    assert main(["report", str(run), "--overwrite"]) == 0
    assert main(["verify", str(run), data]) != 31
    (run / "result.json").write_text(json.dumps(document | {"targets": [["x"]]}))
    assert main(["verify", str(run), data]) == 31
    capsys.readouterr()
    plain = tmp_path / "plain"
    assert main(["solve", data, "--drop", "done to", "--run-dir", str(plain)]) == 0
    assert json.loads((plain / "network.json").read_text())["cpdag"]["directed"] == []
    assert "targets" not in json.loads((plain / "result.json").read_text())


def test_lists_of_networks_number_interventional_classes(tmp_path, capsys):
    x, y, names = two_alike()
    rows = [["x", "y", "done to"], *map(list, zip(x.tolist(), y.tolist(), names.tolist(), strict=True))]
    data, run = write(tmp_path / "d.csv", rows), tmp_path / "run"
    assert main(["kbest", data, "--targets", "done to", "-k", "3", "--run-dir", str(run)]) == 0
    networks = json.loads((run / "result.json").read_text())["networks"]
    assert [own["equivalence_class"] for own in networks] == [1, 2, 3]
    assert main(["verify", str(run), data]) == 0
    capsys.readouterr()
