"""Weights that are not whole: each record counts as often as its weight says in the misfit, and N is their sum."""

import json
import math
from dataclasses import replace

import naive
import numpy as np
import pytest
from asking import approximate_network, k_best_networks, order_network, solve
from cases import in_parts, random_dataset, random_mixed, random_numbers
from cases_of_records import (
    check_proved,
    left,
    mixed_with_gaps,
    mixed_with_targets,
    numbers_with_gaps,
    numbers_with_targets,
    optimum,
    with_gaps,
    with_targets,
)
from certified import below, single_cuts
from charging import random_claim
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knowing import admitted

import extbnsl
from extbnsl.cli import main
from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError, VerificationError
from extbnsl.core.knowledge import NOTHING
from extbnsl.data.resampling import resampling_of
from extbnsl.kbest.scope import Scope
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Workers
from extbnsl.verify import UNITS_PER_NAT
from extbnsl.verify.certificate import floor_units
from extbnsl.verify.demands import demands_on
from extbnsl.verify.document import read_claims
from extbnsl.verify.recount import family_source
from extbnsl.verify.rescoring import scored_cost

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
PRIORS = ("bdeu", "bds", "k2")
SCORES = {"states": "mdl", "numbers": "gaussian-bic", "both": "dg-bic", "conditional": "cg-bic"}
MAKERS = {"states": random_dataset, "numbers": random_numbers, "both": random_mixed, "conditional": random_mixed}


def seeded(maker):
    return lambda rng, n, records: maker(int(rng.integers(1 << 30)), n, records)


OF_RECORDS = {
    "targets": ("states", seeded(with_targets)),
    "gaps": ("states", seeded(with_gaps)),
    "numbers with targets": ("numbers", seeded(numbers_with_targets)),
    "numbers with gaps": ("numbers", seeded(numbers_with_gaps)),
    "both with targets": ("conditional", seeded(mixed_with_targets)),
    "both with gaps": ("conditional", seeded(mixed_with_gaps)),
}


def weighted(rng, data):
    """The data with records that weigh some quarters each, or parts of another size, and these weights."""
    rows = in_parts(rng, data, rng.choice([0.25, 0.9, 0.1]))
    return rows, np.diff(rows.weights.ends, prepend=0) * rows.each


def conditional_misfit(data, weights, family):
    """The same of a conditional Gaussian: a weighted regression in each configuration."""
    *parents, child = family
    discrete = [p for p in parents if data.states[p]]
    if data.states[child]:
        return (
            misfit_of("states", data, weights, (*discrete, child)) if len(discrete) == len(parents) else (math.inf, 0)
        )
    numbers, misfit, configurations = [p for p in parents if not data.states[p]], 0.0, data.codes[:, discrete]
    for own in np.unique(configurations, axis=0):
        rows = np.flatnonzero((configurations == own).all(axis=1))
        misfit += misfit_of("numbers", data.taken(rows), weights[rows], (*numbers, child))[0]
    return misfit, (len(numbers) + 2) * math.prod(int(data.arities[p]) for p in discrete)


def misfit_of(kind, data, weights, family):
    """The misfit and the number of parameters of a family, its child last, of records with these weights, all complete:
    by weighted counts, or a weighted regression."""
    *parents, child = family
    if kind == "states":
        counts = {}
        for row, weight in zip(data.codes.tolist(), weights.tolist(), strict=True):
            own = counts.setdefault(tuple(row[p] for p in parents), {})
            own[row[child]] = own.get(row[child], 0.0) + weight
        misfit = -sum(w * math.log(w / sum(own.values())) for own in counts.values() for w in own.values())
        return misfit, (int(data.arities[child]) - 1) * math.prod(int(data.arities[p]) for p in parents)
    if kind == "conditional":
        return conditional_misfit(data, weights, family)
    columns = [data.values[:, [v]] if kind == "numbers" else naive.indicators(data, v) for v in family]
    if kind == "numbers":
        both = np.hstack(columns)
        constant = (both == both[0]).all(axis=0).any()
        if len(both) < len(family) + 1 or constant or naive.is_singular(both, 2 ** len(family) - 1):
            return math.inf, 0
    total, own = weights.sum(), columns[-1]
    design = np.column_stack([np.ones(data.records), *columns[:-1]])
    root = np.sqrt(weights)[:, None]
    left = (own - design @ np.linalg.lstsq(design * root, own * root, rcond=None)[0]) * root
    log_variance = np.linalg.slogdet(left.T @ left / total)[1] if own.shape[1] else 0.0
    x, p = own.shape[1], design.shape[1] - 1
    return total / 2 * (x * (math.log(2 * math.pi) + 1) + log_variance), x * (x + 1) // 2 + x * p + x


def cost_of(kind, data, weights, claim, family):
    """What a family costs over its records: where the child was left to itself and no value is missing."""
    price = claim.penalty or (1.0 if claim.score == "aic" else math.log(weights.sum()) / 2)
    own = np.flatnonzero(left(data, family[-1]))
    data, weights = data.taken(own), weights[own]
    if claim.score in PRIORS:
        spelled = claim.score if claim.ess is None else f"{claim.score}:{claim.ess}"
        return naive.family_cost(spelled, data.codes, data.arities, family[-1], family[:-1], weights)
    whole = np.flatnonzero(np.logical_and.reduce([data.known(v) for v in family]))
    if not whole.size:
        return math.inf
    misfit, parameters = misfit_of(kind, data.taken(whole), weights[whole], family)
    return misfit * (weights.sum() / weights[whole].sum()) + price * parameters


def all_costs(kind, data, weights, claim):
    n = data.variables
    told = {(p, x): nats for p, x, nats in claim.knowledge.costs}
    each = claim.parent_cost + 2 * (claim.gamma or 0.0) * math.log(n)
    costs = np.full((n, 2**n), np.inf)
    for x in range(n):
        for varset in range(2**n):
            if not varset >> x & 1:
                parents = naive.members(varset)
                arcs = sum(each + told.get((data.names[p], data.names[x]), 0.0) for p in parents)
                costs[x, varset] = cost_of(kind, data, weights, claim, (*parents, x)) + arcs
    if kind == "both":  # singular families are so whatever the weights are
        costs[np.isinf(naive.all_degenerate_costs(data))] = np.inf
    costs[~admitted(claim.knowledge, data.names, claim.max_parents)] = np.inf
    return costs


def check(kind, data, claim, rng):
    rows, weights = weighted(rng, data)
    costs = all_costs(kind, data, weights, claim)
    if not np.isfinite(optimum(costs)):
        return
    try:
        result = solve(rows, claim)
    except InputError:  # a column that never varies, or a family that must be and is singular
        if kind == "states":
            raise
        return
    assert result.status == "optimal"
    assert result.cost == pytest.approx(optimum(costs), rel=1e-8, abs=1e-7)
    check_proved(rows, result)


@pytest.mark.parametrize(
    ("kind", "score"),
    [
        *(("states", score) for score in ("mdl", "aic", *PRIORS)),
        ("numbers", "gaussian-bic"),
        ("both", "dg-bic"),
        ("conditional", "cg-bic"),
    ],
)
@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(14, 60))
def test_the_optimum(kind, score, seed, n, records):
    rng = np.random.default_rng(seed)
    data = MAKERS[kind](rng, n, records)
    columns = data.values.T if kind == "numbers" else data.codes.T
    dull = [name for name, own in zip(data.names, columns, strict=True) if own.min() == own.max()]
    claim = random_claim(rng, data.names, score, dull) if rng.random() < 0.5 else Claim(score)
    if score in ("bdeu", "bds"):
        claim = replace(claim, ess=float(rng.choice([1e-90, 0.1, 1.0, 30.0, 1e3, 1e4])))
    check(kind, data, claim, rng)


@pytest.mark.parametrize(("case", "score"), [*((own, "") for own in OF_RECORDS), *(("targets", own) for own in PRIORS)])
@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(20, 60))
def test_the_optimum_over_records_of_each_family(case, score, seed, n, records):
    rng = np.random.default_rng(seed)
    kind, maker = OF_RECORDS[case]
    check(kind, maker(rng, n, records), Claim(score or SCORES[kind]), rng)


@pytest.mark.parametrize(
    ("kind", "score"), [("states", "mdl"), *(("states", own) for own in PRIORS), ("numbers", "gaussian-bic")]
)
def test_other_questions_go_by_the_same_costs(kind, score):
    rng = np.random.default_rng(3)
    rows, _ = weighted(rng, MAKERS[kind](rng, 5, 80))
    claim, few = Claim(score), Budgets(threads=1, time_limit=5.0)
    best = solve(rows, claim)
    assert order_network(rows, best.order, claim).cost == pytest.approx(best.cost, rel=1e-9)
    assert approximate_network(rows, claim, budgets=few).cost == pytest.approx(best.cost, rel=1e-9)
    listed = k_best_networks(rows, Scope(k=5), claim)
    assert listed.networks[0].cost == pytest.approx(best.cost, rel=1e-9)


@pytest.mark.parametrize(("kind", "score"), [*SCORES.items(), *(("states", score) for score in PRIORS)])
@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 5))
def test_all_families_that_matter_are_counted_again(kind, score, seed, n):
    """By the source of a check, with thresholds and cuts at random."""
    rng = np.random.default_rng(seed)
    rows, _ = weighted(rng, MAKERS[kind](rng, n, 40))
    claim = Claim(score)
    child, threshold = int(rng.integers(n)), float(rng.normal(30.0, 30.0))
    try:
        result = solve(rows, claim)
    except InputError:
        return
    own = read_claims(result.document())
    with Workers(1) as workers:
        source = family_source(rows, own, demands_on(rows, None, NOTHING), workers, every=True)
        cluster = np.full((1, 1), 1 << child | int(rng.integers(2**n)), np.uint64)
        cuts = single_cuts(cluster, [int(rng.integers(1 << 40))])
        most = floor_units(scored_cost(rows, child, (), own) + threshold)
        found = below(source, child, most, cuts)
    listed = dict(zip(found.varsets[:, 0].tolist(), found.costs.tolist(), strict=True))
    for varset in range(2**n):
        parents = tuple(naive.members(varset))
        if child in parents:
            continue
        try:
            cost = scored_cost(rows, child, parents, own)
        except VerificationError:
            continue
        if varset in listed:
            assert listed[varset] == pytest.approx(cost, rel=1e-9, abs=1e-7)
        apart = not varset & int(cuts.cuts[0, 0, 0])
        reduced = cost - apart * int(cuts.multipliers[0]) / UNITS_PER_NAT
        assert varset in listed or reduced > most / UNITS_PER_NAT - 1e-6


def test_a_survey_from_file_to_check(tmp_path, capsys):
    """Records of some weights are what records of these multiples are, but for N."""
    rng = np.random.default_rng(7)
    x = rng.integers(0, 2, 120)
    y = np.where(rng.random(120) < 0.8, x, 1 - x)
    weights = rng.integers(1, 12, 120) / 4
    lines = [f"{a},{b},{w}" for a, b, w in zip(x.tolist(), y.tolist(), weights.tolist(), strict=True)]
    data, run = tmp_path / "s.csv", str(tmp_path / "s.run")
    data.write_text("\n".join(["x,y,w", *lines]) + "\n")
    assert main(["solve", str(data), "--weights", "w", "--run-dir", run, "--quiet"]) == 0
    document = json.loads((tmp_path / "s.run" / "result.json").read_text())
    assert document["provenance"]["records"] == 120
    assert document["provenance"]["weight"] == weights.sum()
    assert main(["verify", run, str(data)]) == 0
    assert main(["why", run, "x"]) == 0
    assert main(["describe", str(data), "--weights", "w"]) == 0
    assert main(["score-network", run, str(data)]) == 0
    capsys.readouterr()
    other = tmp_path / "other.csv"
    other.write_text(data.read_text().replace(",2.5\n", ",2.75\n"))
    assert main(["verify", run, str(other)]) != 0
    assert "digest" in capsys.readouterr().out
    for score in ("bdeu", "bds", "k2"):
        assert main(["solve", str(data), "--weights", "w", "--score", score, "--run-dir", run + score]) == 0
        assert main(["verify", run + score, str(data)]) == 0
    for score in ("fnml", "qnml"):
        assert main(["solve", str(data), "--weights", "w", "--score", score, "--run-dir", run + score]) == 30
        assert "has weights that are not whole" in capsys.readouterr().err


def test_resamples_draw_whole_records():
    rng = np.random.default_rng(11)
    rows, _ = weighted(rng, random_numbers(rng, 2, 30))
    of = dict(zip(*(own.tolist() for own in np.unique(rows.values[:, 0], return_counts=True)), strict=True))
    drawn = resampling_of(rows).drawn(3, 1)
    found, often = np.unique(drawn.values[:, 0], return_counts=True)
    times = [count / of[value] for value, count in zip(found.tolist(), often.tolist(), strict=True)]
    assert all(own == int(own) for own in times)
    assert sum(times) == 30
    assert max(times) > 1
    assert drawn.each == rows.each
    result = extbnsl.learn(
        {"a": rng.random(40).tolist(), "b": rng.random(40).tolist(), "w": (rng.integers(1, 9, 40) / 4).tolist()},
        score="gaussian-bic",
        weights="w",
        bootstrap=3,
    )
    assert result.bootstrap is not None
