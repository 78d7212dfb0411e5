"""Node averages: each family is costed over the records that lack none of its values."""

import json
import math
import time
from dataclasses import replace
from functools import partial
from unittest import mock

import naive
import numpy as np
import pytest
from asking import solve
from cases import claim_by, dataset_of, numbers_of, shelf_of
from cases_of_records import (
    all_costs,
    check_proved,
    cost_of,
    gaussian_cost_of,
    left,
    mixed_cost_of,
    mixed_with_gaps,
    numbers_with_gaps,
    optimum,
    parameters_of,
    with_gaps,
)
from charging import random_claim
from data_invariants import check_scores
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knowing import admitted, random_knowledge
from patching import sized

from extbnsl import read_data
from extbnsl.cli import main
from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.core.events import ignore
from extbnsl.data import Mixed
from extbnsl.machine.workers import Workers
from extbnsl.networks.conditional import conditionals
from extbnsl.networks.gaussian import regressions
from extbnsl.networks.network import Network
from extbnsl.networks.parameters import fit
from extbnsl.parents.exhaustive import averaged
from extbnsl.parents.exhaustive.state import Means
from extbnsl.parents.exhaustive.surviving import surviving_families
from extbnsl.scores.cells import cells_of
from extbnsl.scores.mdl import MDL
from extbnsl.verify.rescoring import family_cost

GAUSSIAN, BOTH = "gaussian-bic", "cg-bic"
# By score: what makes such data, and what families of it cost.
OF_NUMBERS = {GAUSSIAN: (numbers_with_gaps, gaussian_cost_of), BOTH: (mixed_with_gaps, mixed_cost_of)}
SETTINGS = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))


def families(dataset, claim, slack=0.0, threads=2):
    with Workers(threads) as workers:
        return surviving_families(dataset, claim, Means(workers, shelf_of(), ignore), slack=slack)


@pytest.mark.parametrize("parts", [1 << 30, 1], ids=["whole", "in parts"])
@pytest.mark.parametrize("score", ["mdl", "aic"])
@SETTINGS
@given(
    st.integers(0, 2**32),
    st.integers(1, 5),
    st.integers(1, 60),
    st.sampled_from([None, 1, 2]),
    st.sampled_from([0.0, 0.0, 0.6, 30.0]),
    st.booleans(),
)
def test_families(parts, score, seed, n, records, limit, slack, targets):
    dataset, rng = with_gaps(seed, n, records, targets), np.random.default_rng(seed)
    knowledge = random_knowledge(rng, dataset.names, limit)
    claim = claim_by(score, limit, knowledge)
    costs = all_costs(dataset, partial(cost_of, score=score), limit)
    costs[~admitted(knowledge, dataset.names, limit)] = np.inf
    with mock.patch.object(averaged, "PART_ROWS", parts):
        if np.isinf(costs.min(axis=1)).any() or not can_begin(dataset, costs):
            with pytest.raises(InputError, match=r"no record|no value|too few records"):
                families(dataset, claim, slack)
            return
        found = families(dataset, claim, slack)
    assert found.stopped is None
    check_scores(found.scores)
    best = naive.best_scores(costs)
    for x in range(n):
        listed = dict(zip(found.scores.parents[x][:, 0].tolist(), found.scores.costs[x].tolist(), strict=True))
        for varset, cost in listed.items():
            assert cost == pytest.approx(costs[x, varset], rel=1e-9, abs=1e-8)
            assert cost <= best[x, varset] + slack + 1e-7
        for varset in np.flatnonzero(np.isfinite(costs[x])).tolist():
            below = min((costs[x, p] for p in range(varset) if p & ~varset == 0), default=np.inf)
            if costs[x, varset] < below + slack - 1e-7 and not idle(dataset, x, varset):
                assert varset in listed
        where = (np.arange(2**n) >> x & 1 == 0) & np.isfinite(best[x])
        own = np.full(2**n, np.inf)
        own[list(listed)] = list(listed.values())
        known = naive.best_scores(np.broadcast_to(own, (n, 2**n)))[x]
        np.testing.assert_allclose(known[where], best[x][where], rtol=1e-9, atol=1e-8)


def can_begin(dataset, costs):
    """Whether the family of the parents that each must have is allowed: it is the smallest."""
    return all(
        np.isfinite(own[min(np.flatnonzero(np.isfinite(own)), key=lambda p: int(p).bit_count())]) for own in costs
    )


def idle(dataset, child, varset):
    """Whether a variable of these never varies, nor is missing."""
    return any(len(set(dataset.codes[:, v].tolist())) == 1 for v in (child, *naive.members(varset)))


@pytest.mark.parametrize("score", ["mdl", "aic"])
@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(2, 80), st.booleans())
def test_the_optimum(score, seed, n, records, targets):
    dataset = with_gaps(seed, n, records, targets)
    costs = all_costs(dataset, partial(cost_of, score=score))
    if np.isinf(costs[:, 0]).any():
        return
    result = solve(dataset, claim_by(score))
    assert result.status == "optimal"
    assert result.cost == pytest.approx(optimum(costs), rel=1e-9, abs=1e-8)
    check_proved(dataset, result)


@pytest.mark.parametrize("cut", [None, 1], ids=["whole", "in parts"])
@pytest.mark.parametrize("score", OF_NUMBERS)
@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(8, 60), st.sampled_from([None, 1, 2]), st.booleans())
def test_families_of_numbers(cut, score, seed, n, records, limit, targets):
    (make, cost_of), rng = OF_NUMBERS[score], np.random.default_rng(seed)
    numbers = make(seed, n, records, targets)
    knowledge = random_knowledge(rng, numbers.names, limit)
    costs = all_costs(numbers, cost_of, limit)
    costs[~admitted(knowledge, numbers.names, limit)] = np.inf
    if np.isinf(costs.min(axis=1)).any():
        return
    for slack in (0.0, 0.6, 30.0):
        try:
            with sized({"conditional.CUT": cut, "collected.ROOM": 16, "collected.KNOWN": 4} if cut else {}):
                found = families(numbers, claim_by(score, limit, knowledge), slack)
        except InputError:
            assert not can_begin_at_all(numbers, cost_of, knowledge)
            return
        assert found.stopped is None
        check_scores(found.scores)
        best = naive.best_scores(costs)
        for x in range(n):
            listed = dict(zip(found.scores.parents[x][:, 0].tolist(), found.scores.costs[x].tolist(), strict=True))
            for varset, cost in listed.items():
                assert cost == pytest.approx(costs[x, varset], rel=1e-7, abs=1e-6)
                assert cost <= best[x, varset] + slack + 1e-5
            for varset in np.flatnonzero(np.isfinite(costs[x])).tolist():
                below = min((costs[x, p] for p in range(varset) if p & ~varset == 0), default=np.inf)
                assert costs[x, varset] > below + slack - 1e-5 or varset in listed


def can_begin_at_all(numbers, cost_of, knowledge):
    must = [sum(1 << numbers.names.index(p) for p, c in knowledge.required if c == name) for name in numbers.names]
    return all(np.isfinite(cost_of(numbers, x, naive.members(own))) for x, own in enumerate(must))


@pytest.mark.parametrize("score", OF_NUMBERS)
@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(20, 60), st.booleans())
def test_the_optimum_of_numbers(score, seed, n, records, targets):
    make, cost_of = OF_NUMBERS[score]
    numbers = make(seed, n, records, targets)
    costs = all_costs(numbers, cost_of)
    if np.isinf(costs[:, 0]).any():
        return
    result = solve(numbers, claim_by(score))
    assert result.status == "optimal"
    assert result.cost == pytest.approx(optimum(costs), rel=1e-7, abs=1e-6)
    check_proved(numbers, result)


@pytest.mark.parametrize("score", OF_NUMBERS)
@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 5), st.integers(20, 60), st.booleans())
def test_the_optimum_where_arcs_cost(score, seed, n, records, targets):
    make, cost_of = OF_NUMBERS[score]
    numbers = make(seed, n, records, targets)
    claim = replace(random_claim(np.random.default_rng(seed), numbers.names, score), penalty=None)
    costs, told = all_costs(numbers, cost_of), {arc[:2]: arc[2] for arc in claim.knowledge.costs}
    each = claim.parent_cost + 2 * (claim.gamma or 0.0) * math.log(n)
    for x, varset in zip(*map(np.ndarray.tolist, np.nonzero(np.isfinite(costs))), strict=True):
        arcs = ((numbers.names[p], numbers.names[x]) for p in naive.members(varset))
        costs[x, varset] += sum(each + told.get(arc, 0.0) for arc in arcs)
    costs[~admitted(claim.knowledge, numbers.names, claim.max_parents)] = np.inf
    if np.isinf(costs.min(axis=1)).any():
        return
    try:
        result = solve(numbers, claim)
    except InputError:
        assert not can_begin_at_all(numbers, cost_of, claim.knowledge)
        return
    assert result.cost == pytest.approx(optimum(costs), rel=1e-7, abs=1e-6)
    check_proved(numbers, result)


REFERENCE = {  # of bnlearn, for a network of learning.test with gaps: the cost of a record, its sign turned
    "A": ("", 1.105405037323, 1.098497282),
    "B": ("A", 0.746877030672, 0.726153764835),
    "C": ("", 0.691200420424, 0.684292665145),
    "D": ("AC", 0.745640240886, 0.683470443375),
    "E": ("BF", 0.888043321461, 0.846596789787),
    "F": ("", 0.696578835813, 0.693124958173),
}


def test_costs_are_those_of_bnlearn(shared_data):
    file = shared_data / "mixed" / "learning_1000_missing.csv"
    if not file.exists():
        pytest.skip(f"there is no {file}")
    dataset = read_data(file, missing="average")
    at = {name: place for place, name in enumerate(dataset.names)}
    for name, (parents, cost, misfit) in REFERENCE.items():
        cells = cells_of(dataset, at[name], [at[p] for p in parents])
        assert MDL.cost(cells) == pytest.approx(1000 * cost, abs=1e-6)
        assert cells.misfit == pytest.approx(1000 * misfit, abs=1e-6)
        own = tuple(sorted(at[p] for p in parents))
        assert family_cost(dataset, at[name], own, Claim()) == pytest.approx(1000 * cost, abs=1e-6)
    for name, cost in {"B": 0.975754239464, "D": 1.104545511277, "E": 1.096658810309}.items():
        assert MDL.cost(cells_of(dataset, at[name])) == pytest.approx(1000 * cost, abs=1e-6)
    result = solve(dataset)
    assert result.optimal
    assert result.cost < 4879.477481 - 1.0  # where hill climbing ends


def write(path, rows):
    path.write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")
    return str(path)


def rows_with_gaps(seed=1, records=200, n=5, share=0.15):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (records, n))
    codes[:, 1] = np.where(rng.random(records) < 0.9, codes[:, 0], codes[:, 1])
    codes[:, 3] = np.where(rng.random(records) < 0.9, (codes[:, 2] + codes[:, 1]) % 3, codes[:, 3])
    texts = codes.astype(object)
    texts[rng.random(codes.shape) < share] = ""
    return [[f"c{j}" for j in range(n)], *texts.tolist()]


def rows_for(score, **how):
    """The same as a score takes them: with numbers that are no states in all columns, or in every second one."""
    rows = rows_with_gaps(**how)
    if score not in OF_NUMBERS:
        return rows
    noise = np.random.default_rng(0).normal(size=(len(rows) - 1, len(rows[0]))).round(6).tolist()
    for row, own in zip(rows[1:], noise, strict=True):
        for j, value in enumerate(row):
            if value != "":
                row[j] = value + own[j] if j % 2 or score == GAUSSIAN else f"s{value}"
    return rows


def test_where_nothing_is_missing_the_result_is_the_same(tmp_path):
    data = write(tmp_path / "d.csv", rows_with_gaps(share=0.0))
    plain, average = read_data(data), read_data(data, missing="average")
    assert not average.gaps
    assert average.fingerprint == plain.fingerprint
    for kind in ("result", "network"):
        written = []
        for number, how in enumerate(([], ["--missing", "average"])):
            run = tmp_path / f"run{kind}{number}"
            assert main(["solve", data, *how, "--quiet", "--run-dir", str(run)]) == 0
            written.append(json.loads((run / f"{kind}.json").read_text()))
        for document in written:
            for key in ("stats", "provenance"):
                document.pop(key, None)
        assert written[0] == written[1]


@pytest.mark.parametrize("score", ["mdl", *OF_NUMBERS])
def test_a_run_is_verified_and_a_forged_one_is_not(score, tmp_path, capsys):
    data, run = write(tmp_path / "d.csv", rows_for(score)), tmp_path / "run"
    assert main(["solve", data, "--missing", "average", "--score", score, "--run-dir", str(run)]) == 0
    assert main(["verify", str(run), data]) == 0
    assert main(["verify", str(run), data, "--missing", "drop"]) != 0
    path = run / "result.json"
    document = json.loads(path.read_text())
    cheaper = document["cost"] - 0.01
    for forged in (
        {"cost": cheaper, "upper_bound": cheaper, "lower_bound": cheaper},
        {"parents": document["parents"] | {"c1": [], "c0": []}},
    ):
        path.write_text(json.dumps(document | forged))
        assert main(["verify", str(run), data]) == 31
    certificate = json.loads(json.dumps(document["certificate"]))
    for component in certificate["components"]:
        component["lower_bound"] += 1.0
    more = document["lower_bound"] + len(certificate["components"])
    claimed = {"certificate": certificate, "lower_bound": more, "upper_bound": more, "cost": more}
    path.write_text(json.dumps(document | claimed))
    assert main(["verify", str(run), data]) == 31
    capsys.readouterr()


def test_a_family_that_no_record_tells_of_is_found_out(tmp_path, capsys):
    """Two columns of which each record has one: neither can be a parent of the other."""
    rows = rows_with_gaps(share=0.0)
    for number, row in enumerate(rows[1:]):
        row[number % 2] = ""
    data, run = write(tmp_path / "d.csv", rows), tmp_path / "run"
    assert main(["solve", data, "--missing", "average", "--run-dir", str(run)]) == 0
    document = json.loads((run / "result.json").read_text())
    assert "c0" not in document["parents"]["c1"]
    assert "c1" not in document["parents"]["c0"]
    assert main(["verify", str(run), data]) == 0
    (run / "result.json").write_text(json.dumps(document | {"parents": document["parents"] | {"c1": ["c0"]}}))
    assert main(["verify", str(run), data]) == 31
    capsys.readouterr()
    knowledge = tmp_path / "k.yaml"
    knowledge.write_text("required: [[c0, c1]]\n")
    given = ["--missing", "average", "--knowledge", str(knowledge), "--run-dir", str(tmp_path / "r")]
    assert main(["solve", data, *given]) == 30
    assert "too few records tell of 'c1' and 'c0'" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("score", ["mdl", *OF_NUMBERS])
def test_a_column_without_values_is_refused(score, tmp_path, capsys):
    rows = rows_for(score)
    for row in rows[1:]:
        row[2] = "NA"
    data = write(tmp_path / "d.csv", rows)
    assert main(["solve", data, "--missing", "average", "--score", score, "--run-dir", str(tmp_path / "r")]) == 30
    told = " ".join(capsys.readouterr().err.split())
    assert "'c2'" in told
    assert "--drop 'c2'" in told


WHY = dict.fromkeys(["bdeu", "k2", "fnml", "qnml", "bds"], "--missing average goes by a price of each parameter")


@pytest.mark.parametrize(("score", "why"), (WHY | {"dg-bic": "'dg-bic' goes by one covariance; take cg-bic"}).items())
def test_other_scores_are_refused(score, why, tmp_path, capsys):
    data = write(tmp_path / "d.csv", rows_with_gaps())
    assert main(["solve", data, "--missing", "average", "--score", score, "--run-dir", str(tmp_path / "r")]) == 30
    assert why in " ".join(capsys.readouterr().err.split())


def test_parameters_are_of_the_records_of_each_family(tmp_path):
    dataset = read_data(write(tmp_path / "d.csv", rows_with_gaps()), missing="average")
    network = Network(dataset.names, ((), (0,), (), (1, 2), ()))
    tables = fit(network, dataset)
    codes = dataset.codes[(dataset.codes[:, :2] < dataset.arities[:2]).all(axis=1)]
    for state in range(3):
        own = codes[codes[:, 0] == state, 1]
        assert tables[1][state] == pytest.approx(np.bincount(own, minlength=3) / own.size)
    values = np.random.default_rng(1).normal(size=(50, 2))
    values[:20, 0] = np.nan
    numbers = numbers_of(values)
    numbers = replace(numbers, gaps=True)
    whole = numbers_of(values[20:])
    chain = Network(numbers.names, ((), (0,)))
    assert regressions(chain, numbers)[1].variance == pytest.approx(regressions(chain, whole)[1].variance)
    assert regressions(chain, numbers)[1].coefficients == pytest.approx(regressions(chain, whole)[1].coefficients)


@pytest.mark.parametrize("targets", [False, True])
def test_parameters_of_both_kinds_are_of_the_records_of_each_family(targets):
    """They are those of the largest likelihood over these, which is what the family costs but for prices."""
    for seed in range(8):
        data, n = mixed_with_gaps(seed, 4, 200, targets), 0
        numbers = np.flatnonzero(~data.of_states).tolist()
        parents = tuple(tuple(v for v in range(x) if x in numbers or v not in numbers) for x in range(4))
        known, free = conditionals(Network(data.names, parents), data), math.log(200) / 2
        for child in numbers:
            cost, family = mixed_cost_of(data, child, parents[child]), known.families[child]
            if math.isinf(cost):
                continue
            records = np.array(family.records)
            variances = np.array([own.variance for own in family.regressions])[records > 0]
            misfit = (records[records > 0] / 2 * (np.log(2 * math.pi * variances) + 1)).sum()
            weight = left(data, child).sum() / records.sum()
            assert misfit * weight + free * parameters_of(data, child, parents[child]) == pytest.approx(cost, rel=1e-9)
            n += 1
        assert n or not numbers or seed


def many_gaps(score):
    """24 columns with gaps, of states or of both kinds."""
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 2, (2000, 24))
    codes[:, 1:] = np.where(rng.random((2000, 23)) < 0.3, codes[:, :-1], codes[:, 1:])
    dataset = dataset_of(np.where(rng.random(codes.shape) < 0.1, 2, codes), [2] * 24)
    if score == "mdl":
        return replace(dataset, gaps=True)
    of_states = np.arange(24) % 2 == 0
    values = np.where(dataset.codes == 2, np.nan, dataset.codes + rng.normal(size=codes.shape))[:600]
    states = tuple(own if kind else () for own, kind in zip(dataset.states, of_states, strict=True))
    own = np.where(of_states, dataset.codes, 0)[:600]
    return Mixed(dataset.names, states, own, np.where(of_states, 0.0, values), "<test>", gaps=True)


@pytest.mark.parametrize(("score", "most"), [("mdl", 4), (BOTH, 2)])
def test_a_stop_is_heard_within_two_seconds_and_a_resume_finds_the_same(score, most):
    dataset, claim = many_gaps(score), claim_by(score, most)
    whole = families(dataset, claim)
    seen, heard = [], []

    def stop():
        heard.extend([time.monotonic()] * bool(seen))
        return "interrupted" if seen else None

    with Workers(2, stop) as workers:
        found = surviving_families(dataset, claim, Means(workers, shelf_of(), ignore), on_progress=seen.append)
    assert time.monotonic() - heard[0] < 10.0  # two seconds, but on a busy machine
    assert found.stopped == "interrupted"
    assert 0 < len(seen[-1].children) <= 24
    assert len(seen[-1].children) < 24 or seen[-1].parts > 0
    for least, costs in zip(found.least, whole.scores.costs, strict=True):
        assert least <= costs[0] + 1e-9
    with Workers(1) as workers:
        rest = surviving_families(dataset, claim, Means(workers, shelf_of(), ignore), seen[-1])
    for one, other in zip(rest.scores.costs, whole.scores.costs, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    "command",
    [
        ["kbest", "-k", "4"],
        ["approximate", "--time", "3s"],
        ["order", "--order", "ORDER"],
        ["solve", "--bootstrap", "3"],
    ],
    ids=lambda command: command[0],
)
@pytest.mark.parametrize("score", ["mdl", *OF_NUMBERS])
def test_other_commands(command, score, tmp_path, capsys):
    data, run = write(tmp_path / "d.csv", rows_for(score)), tmp_path / "run"
    (tmp_path / "order").write_text("c0\nc1\nc2\nc4\nc3\n")
    how = [str(tmp_path / "order") if word == "ORDER" else word for word in command[1:]]
    given = ["--missing", "average", "--score", score]
    assert main([command[0], data, *how, *given, "--run-dir", str(run)]) == 0
    assert main(["verify", str(run), data]) != 31
    capsys.readouterr()
