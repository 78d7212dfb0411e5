"""Measurement errors of columns of numbers: no family is singular, and nothing else of the score is lost."""

import json
import math
from dataclasses import replace

import naive
import numpy as np
import pandas as pd
import pytest
from asking import approximate_network
from cases import collinear_numbers, numbers_of, random_mixed
from cases_of_records import all_costs, check_proved, left, numbers_with_gaps, numbers_with_targets, optimum

import extbnsl
from extbnsl.cli import main
from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.networks import degenerate
from extbnsl.networks.conditional import conditionals
from extbnsl.networks.gaussian import regressions
from extbnsl.networks.network import Network
from extbnsl.verify.rescoring import family_cost

SCORE = "gaussian-bic"


def blurred_cost(data, child, parents):
    """What a family costs, by the covariances with the squares of the errors on their diagonal."""
    family = [*parents, child]
    own = left(data, child)
    whole = data.values[own & ~np.isnan(data.values[:, family]).any(axis=1)][:, family]
    n, k = len(whole), len(parents)
    if n < k + 2:
        return math.inf
    apart = whole - whole.mean(axis=0)
    covariance = apart.T @ apart / n + np.diag(np.array(data.resolution)[family] ** 2)
    slopes = np.linalg.solve(covariance[:k, :k], covariance[:k, k])
    variance = covariance[k, k] - slopes @ covariance[:k, k]
    return own.sum() / 2 * (math.log(2 * math.pi * variance) + 1) + math.log(data.records) / 2 * (k + 2)


def copied(seed, n, records):
    """Columns of which some are copies, or sums, of others, and errors from a thousandth of their spread on."""
    rng = np.random.default_rng(seed)
    numbers = collinear_numbers(rng, n) if seed % 2 else numbers_of(rng.normal(size=(records, n)))
    values = numbers.values.copy()
    if n > 1 and seed % 3:
        values[:, -1] = 3.0 * values[:, 0] - (values[:, 1] if seed % 3 == 1 and n > 2 else 7.0)
    return with_errors(numbers_of(values), rng)


def with_errors(numbers, rng):
    spread = np.nanstd(numbers.values, axis=0)
    return replace(numbers, resolution=tuple((spread * 10 ** rng.uniform(-3, 0, spread.size)).tolist()))


@pytest.mark.parametrize("seed", range(24))
def test_the_optimum_is_that_of_all_networks(seed):
    numbers = copied(seed, 4, [5, 12, 60][seed % 3])
    costs = all_costs(numbers, blurred_cost)
    result = extbnsl.learn(numbers, score=SCORE)
    assert result.optimal
    assert result.cost == pytest.approx(optimum(costs), rel=1e-8, abs=1e-7)
    for child in range(4):
        for varset in range(16):
            if np.isfinite(costs[child, varset]):
                own = family_cost(numbers, child, tuple(naive.members(varset)), Claim(score=SCORE))
                assert own == pytest.approx(costs[child, varset], rel=1e-8, abs=1e-7)
    check_proved(numbers, result)


@pytest.mark.parametrize("make", [numbers_with_targets, numbers_with_gaps])
@pytest.mark.parametrize("seed", range(6))
def test_families_of_other_records(make, seed):
    numbers = with_errors(make(seed, 4, 40), np.random.default_rng(seed))
    result = extbnsl.learn(numbers, score=SCORE)
    assert result.cost == pytest.approx(optimum(all_costs(numbers, blurred_cost)), rel=1e-8, abs=1e-7)
    check_proved(numbers, result)


def test_every_question_goes_by_it():
    numbers = copied(1, 4, 60)
    best = extbnsl.learn(numbers, score=SCORE)
    assert approximate_network(numbers, Claim(score=SCORE)).cost == pytest.approx(best.cost)
    costs = all_costs(numbers, blurred_cost)
    every = sorted(sum(costs[x, graph[x]] for x in range(4)) for graph in naive.all_dags(4))
    listed = extbnsl.k_best(numbers, 20, score=SCORE)
    assert [one.cost for one in listed.networks] == pytest.approx(every[:20], rel=1e-8)


def test_equivalent_networks_cost_the_same():
    numbers = copied(1, 3, 60)
    a, b, c = numbers.names
    chains = [{a: [], b: [a], c: [b]}, {a: [b], b: [c], c: []}, {a: [b], b: [], c: [b]}]
    costs = [
        sum(family_cost(numbers, x, own, Claim(score=SCORE)) for x, own in enumerate(network.parents))
        for network in (Network.from_names(numbers.names, one) for one in chains)
    ]
    assert costs == pytest.approx([costs[0]] * 3)


def test_a_copy_is_a_parent_and_no_variance_is_less():
    rng = np.random.default_rng(3)
    inches = rng.normal(68, 4, 300)
    frame = pd.DataFrame({"inches": inches, "cm": 2.54 * inches, "weight": inches + rng.normal(0, 3, 300)})
    exact = extbnsl.learn(frame, score=SCORE)
    assert "inches" not in exact.parents["cm"]
    assert "cm" not in exact.parents["inches"]
    result = extbnsl.learn(frame, score=SCORE, resolution={"inches": 0.25, "cm": 0.5})
    assert not result.warnings
    assert {"inches", "cm"} in [{x, *own} for x, own in result.parents.items() if own]
    assert result.dataset.resolution == (0.25, 0.5, 0.0)
    fitted = regressions(result.network, result.dataset)
    assert all(own.variance >= error**2 for own, error in zip(fitted, result.dataset.resolution, strict=True))
    misfits = [150 * (math.log(2 * math.pi * own.variance) + 1) for own in fitted]
    prices = [math.log(300) / 2 * (len(own) + 2) for own in result.network.parents]
    assert math.fsum(misfits + prices) == pytest.approx(result.cost)


def of_both(seed, n, records):
    """Columns of states and numbers, of which some are copies, and errors of the numbers."""
    rng = np.random.default_rng(seed)
    data = random_mixed(rng, n, records)
    errors = data.values.std(axis=0) * 10 ** rng.uniform(-2.5, 0, n)
    return replace(data, resolution=tuple(np.where(data.of_states, 0.0, errors).tolist()))


def conditional_cost(data, child, parents):
    """`blurred_cost` in each configuration of the parents of states."""
    discrete, numbers = ([p for p in parents if bool(data.states[p]) == kind] for kind in (True, False))
    if data.states[child]:
        return naive.conditional_cost(data, child, parents)
    configurations = [tuple(row) for row in data.codes[:, discrete].tolist()]
    k, loss = len(numbers), 0.0
    for one in set(configurations):
        rows = data.values[[own == one for own in configurations]][:, [*numbers, child]]
        if len(rows) < k + 2:
            return math.inf
        apart = rows - rows.mean(axis=0)
        covariance = apart.T @ apart / len(rows) + np.diag(np.array(data.resolution)[[*numbers, child]] ** 2)
        variance = covariance[k, k] - covariance[k, :k] @ np.linalg.solve(covariance[:k, :k], covariance[:k, k])
        loss += len(rows) / 2 * (math.log(2 * math.pi * variance) + 1)
    return loss + math.log(data.records) / 2 * (k + 2) * math.prod(len(data.states[p]) for p in discrete)


def degenerate_cost(data, child, parents):
    """By determinants of the covariances of all columns, with the squares of the errors of numbers on the diagonal."""
    whole = [naive.indicators(data, v) for v in (*parents, child)]
    errors = np.concatenate(
        [np.full(own.shape[1], data.resolution[v]) for own, v in zip(whole, (*parents, child), strict=True)]
    )
    columns, x, n = np.hstack(whole), whole[-1].shape[1], data.records
    p = columns.shape[1] - x
    if n <= p + x and p + x:
        return math.inf
    apart = columns - columns.mean(axis=0)
    spread = np.sqrt(apart.std(axis=0) ** 2 + errors**2)
    correlations = (apart.T @ apart / n + np.diag(errors**2)) / np.outer(spread, spread)
    if p + x and (np.linalg.matrix_rank(correlations) < p + x or (np.diag(np.linalg.inv(correlations)) > 1e10).any()):
        return math.inf
    loss = n / 2 * (np.linalg.slogdet(correlations)[1] - np.linalg.slogdet(correlations[:p, :p])[1])
    loss += n * np.log(spread[p:]).sum() + n / 2 * x * (math.log(2 * math.pi) + 1)
    return loss + math.log(n) / 2 * (x * (x + 1) / 2 + x * p + x)


@pytest.mark.parametrize(("score", "cost"), [("cg-bic", conditional_cost), ("dg-bic", degenerate_cost)])
@pytest.mark.parametrize("seed", range(16))
def test_both_kinds(score, cost, seed):
    data = of_both(seed, 4, [6, 30, 90][seed % 3])
    costs = all_costs(data, cost)
    result = extbnsl.learn(data, score=score)
    assert result.cost == pytest.approx(optimum(costs), rel=1e-8, abs=1e-6)
    for child in range(4):
        for varset in range(16):
            if np.isfinite(costs[child, varset]):
                own = family_cost(data, child, tuple(naive.members(varset)), Claim(score=score))
                assert own == pytest.approx(costs[child, varset], rel=1e-8, abs=1e-6)
    check_proved(data, result)


@pytest.mark.parametrize("seed", range(8))
def test_parameters_of_both_kinds_are_those_of_the_cost(seed):
    data = of_both(seed, 4, 90)
    result = extbnsl.learn(data, score="cg-bic")
    for child, family in enumerate(conditionals(result.network, data).families):
        if not data.states[child]:
            used = [own for own, many in zip(family.regressions, family.records, strict=True) if many]
            assert all(own.variance >= data.resolution[child] ** 2 * (1 - 1e-9) for own in used)
            misfit = math.fsum(
                many / 2 * (math.log(2 * math.pi * own.variance) + 1)
                for own, many in zip(family.regressions, family.records, strict=True)
                if many
            )
            price = math.log(90) / 2 * (len(family.numbers) + 2) * len(family.regressions)
            told = family_cost(data, child, result.network.parents[child], Claim(score="cg-bic"))
            assert misfit + price == pytest.approx(told)
    result = extbnsl.learn(data, score="dg-bic")
    for child, block in enumerate(degenerate.columns(result.network, data).blocks):
        x, p = block.coefficients.shape
        misfit = 45 * (np.linalg.slogdet(block.covariance)[1] + x * (math.log(2 * math.pi) + 1)) if x else 0.0
        price = math.log(90) / 2 * (x * (x + 1) / 2 + x * p + x)
        told = family_cost(data, child, result.network.parents[child], Claim(score="dg-bic"))
        assert misfit + price == pytest.approx(told)


def lines(path):
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(80, 2)).round(1)
    pd.DataFrame({"a": rows[:, 0], "b": rows[:, 1], "c": 2 * rows[:, 0], "d e": rows.sum(axis=1)}).to_csv(
        path, index=False
    )
    return str(path)


def test_a_run_is_verified_and_goes_by_it(tmp_path, capsys):
    data, run = lines(tmp_path / "d.csv"), str(tmp_path / "run")
    given = ["--score", SCORE, "--resolution", "0.1", "--resolution", "d e=0.05"]
    assert main(["solve", data, *given, "--run-dir", run]) == 0
    document = json.loads((tmp_path / "run" / "result.json").read_text())
    assert document["resolution"] == {"a": 0.1, "b": 0.1, "c": 0.1, "d e": 0.05}
    capsys.readouterr()
    assert main(["verify", run, data]) == 0
    assert "data-options: resolution 0.1,d e=0.05" in capsys.readouterr().out
    assert main(["verify", run, data, "--require", "score=gaussian-bic"]) == 0
    assert main(["report", run]) == 0
    assert "0.1 in a,b,c; 0.05 in d e" in (tmp_path / "run" / "report.html").read_text()
    assert main(["score-network", run, data]) == 0
    assert main(["resume", run]) == 0
    assert main(["solve", data, *given, "--run-dir", str(tmp_path / "other"), "--bootstrap", "3", "--seed", "2"]) == 0
    (tmp_path / "run" / "result.json").write_text(json.dumps(document | {"resolution": {"a": 0.1}}))
    capsys.readouterr()
    assert main(["verify", run, data]) != 0
    assert "'resolution' of the result" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"score": "mdl", "resolution": 1}, "it is of numbers"),
        ({"score": SCORE, "resolution": -1}, "give a number of at least 0"),
        ({"score": SCORE, "resolution": "nan"}, "give a number of at least 0"),
        ({"score": SCORE, "resolution": "much"}, "give a number of at least 0"),
        ({"score": SCORE, "resolution": {"z": 1}}, "has no column 'z'"),
        ({"score": SCORE, "resolution": "1,2"}, "two numbers for columns that are not named"),
        ({"score": SCORE, "resolution": "a=1,a=2"}, "two numbers for 'a'"),
        ({"score": "cg-bic", "resolution": {"a": 1}, "discrete": "a"}, "'a' of .* has states, which have no"),
    ],
)
def test_what_is_refused(tmp_path, how, told):
    with pytest.raises(InputError, match=told):
        extbnsl.learn(pd.read_csv(lines(tmp_path / "d.csv")), **how)


def test_nothing_is_changed_by_none():
    frame = pd.DataFrame(np.random.default_rng(1).normal(size=(50, 3)), columns=["a", "b", "c"])
    plain, none = (extbnsl.learn(frame, score=SCORE, **how) for how in ({}, {"resolution": 0}))
    assert (plain.cost, plain.digest, plain.document().keys()) == (none.cost, none.digest, none.document().keys())
    assert extbnsl.learn(frame, score=SCORE, resolution={"b": 0.1}).digest != plain.digest
