"""Structural EM: every M step a proved optimum, what is observed costs less with every round, and it goes on after any
stop as if there had been none."""

import itertools
import json
import math
from dataclasses import replace
from functools import partial

import naive
import naive_em
import numpy as np
import pytest
from asking import bootstrap_network, k_best_networks, solve
from cases import dataset_of, numbers_of
from disk import Killed, killed_at_line
from knowing import admitted, random_knowledge
from latent import latent
from patching import sized

import extbnsl
from extbnsl.cli import main
from extbnsl.core.claims import HEURISTIC, INTERRUPTED, NOT_PROVED, OPTIMAL, TIME_LIMIT, Claim
from extbnsl.core.errors import BudgetError, InputError, RunDirectoryError
from extbnsl.core.events import StageEnded
from extbnsl.core.knowledge import Knowledge
from extbnsl.data.beside import Weights
from extbnsl.em.expectation import expectation_of
from extbnsl.em.model import never_checked, penalty_of
from extbnsl.files.manifest import read_manifest
from extbnsl.files.names import ROUNDS
from extbnsl.kbest.scope import Scope
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Stopped
from extbnsl.networks.gaussian import regressions
from extbnsl.networks.parameters import fit
from extbnsl.results.facts import claim_told
from extbnsl.scores.known import parameter_price
from extbnsl.solver import em
from extbnsl.solver.em_rounds import Taken, completed_in
from extbnsl.solver.methods import Resamples
from extbnsl.solver.place import Place

BUDGETS = Budgets(threads=1, memory=1 << 28)
GAUSSIAN = Claim("gaussian-bic")


def chain(rng, n, records, arity=2):
    """Columns that follow the one before them, more or less."""
    columns = [rng.integers(0, arity, records)]
    for _ in range(n - 1):
        kept = rng.random(records) < rng.uniform(0.7, 0.95)
        columns.append(np.where(kept, columns[-1], rng.integers(0, arity, records)))
    return dataset_of(np.stack(columns, axis=1), [arity] * n)


def gaussian_chain(rng, n, records):
    values = rng.normal(size=(records, n))
    for j in range(1, n):
        values[:, j] += rng.uniform(0.5, 2.0) * values[:, j - 1]
    return numbers_of(values)


CASES = {
    "states": lambda seed, n=4, records=120: latent(chain(np.random.default_rng(seed), n, records, 3), 20 + seed, 0.25),
    "numbers": lambda seed, n=4, records=80: latent(gaussian_chain(np.random.default_rng(seed), n, records), seed, 0.2),
}
CLAIMS = {"states": Claim(), "numbers": GAUSSIAN}
KINDS = pytest.mark.parametrize("kind", list(CASES))


def told(result):
    """What must be the same however often the run was interrupted."""
    rounds = result.rounds
    return result.status, result.network.parents, result.cost, rounds.done, rounds.settled, rounds.excess


def observed_cost(data, network, parameters, claim):
    """What is observed costs by a network and its parameters, by obvious code."""
    if hasattr(data, "codes"):
        misfit = naive_em.step(data, network.parents, parameters)[0]
        sizes = [math.prod(int(data.arities[p]) for p in own) for own in network.parents]
        free = sum(size * (int(arity) - 1) for size, arity in zip(sizes, data.arities, strict=True))
    else:
        misfit = naive_em.gaussian_step(data, network.parents, network.order(), parameters)[0]
        free = sum(len(own) + 2 for own in network.parents)
    return misfit + parameter_price(claim, data.total) * free


def models(folder):
    """The lines of the journal of a run."""
    return [json.loads(line) for line in (folder / ROUNDS).read_text().splitlines()]


@KINDS
@pytest.mark.parametrize("seed", range(6))
def test_what_is_observed_costs_less_with_every_round(tmp_path, kind, seed):
    data, claim = CASES[kind](seed), CLAIMS[kind]
    result = solve(data, claim, budgets=BUDGETS, place=Place(tmp_path))
    assert result.status == HEURISTIC
    assert result.lower_bound == -math.inf
    costs = [one.cost for one in result.rounds.done]
    assert all(after < before for before, after in itertools.pairwise(costs))
    assert result.cost == result.upper_bound == costs[-1]
    assert result.rounds.settled
    assert [one.status for one in result.rounds.done] == [HEURISTIC] + [OPTIMAL] * (len(costs) - 1)
    expected = expectation_of(data, claim, 1 << 28)
    for one, line in zip(result.rounds.done, models(tmp_path), strict=True):
        flat = tuple(tuple(line["parameters"][name]) for name in data.names)
        parameters = expected.shaped(one.network, flat).parameters
        assert one.cost == pytest.approx(observed_cost(data, one.network, parameters, claim), rel=1e-9)


@KINDS
@pytest.mark.parametrize("seed", range(4))
def test_each_round_has_the_best_network_of_what_the_one_before_completes(tmp_path, kind, seed):
    data, claim = CASES[kind](seed), CLAIMS[kind]
    result = solve(data, claim, budgets=BUDGETS, place=Place(tmp_path))
    lines, n, price = models(tmp_path), data.variables, parameter_price(claim, data.total)
    networks = [one.network.parents for one in result.rounds.done[1:]] + [result.network.parents]
    for line, found in zip(lines, networks, strict=True):
        parents = [tuple(data.names.index(p) for p in line["parents"][name]) for name in data.names]
        costs = np.full((n, 2**n), math.inf)
        if kind == "states":
            shapes = [(*(data.arities[p] for p in own), data.arities[x]) for x, own in enumerate(parents)]
            tables = [np.reshape(line["parameters"][x], shape) for x, shape in zip(data.names, shapes, strict=True)]
            weighted = {}
            for codes in data.codes:
                for record, share in naive_em.posterior(codes, data.arities, parents, tables)[0].items():
                    weighted[record] = weighted.get(record, 0.0) + share
            for x, own in itertools.product(range(n), range(2**n)):
                if not own >> x & 1:
                    costs[x, own] = weighted_cost(weighted, data.arities, x, naive.members(own), price)
        else:
            regressions = [np.array(line["parameters"][name]) for name in data.names]
            order = extbnsl.networks.network.Network(data.names, tuple(parents)).order()
            mean, covariance = naive_em.joint_gaussian(parents, order, regressions)
            first, second, _ = naive_em.gaussian_moments(data, mean, covariance)
            moments = second / data.records - np.outer(first, first) / data.records**2
            for x, own in itertools.product(range(n), range(2**n)):
                if not own >> x & 1:
                    costs[x, own] = moments_cost(moments, data.records, x, naive.members(own), price)
        totals = {graph: sum(costs[x, own] for x, own in enumerate(graph)) for graph in naive.all_dags(n)}
        own = tuple(sum(1 << p for p in each) for each in found)
        slack = 0.02 if kind == "states" else 1e-6  # what rounding of counts to 1 / parts may do
        assert totals[own] <= min(totals.values()) + slack
    assert result.rounds.excess <= 1e-5


def weighted_cost(weighted, arities, x, parents, price):
    counts = {}
    for record, weight in weighted.items():
        own = counts.setdefault(tuple(record[p] for p in parents), {})
        own[record[x]] = own.get(record[x], 0.0) + weight
    misfit = -sum(w * math.log(w / sum(own.values())) for own in counts.values() for w in own.values() if w > 0)
    return misfit + price * (int(arities[x]) - 1) * math.prod(int(arities[p]) for p in parents)


def moments_cost(moments, records, x, parents, price):
    own = list(parents)
    left = moments[x, x] - (moments[x, own] @ np.linalg.solve(moments[np.ix_(own, own)], moments[own, x]) if own else 0)
    return records / 2 * (math.log(2 * math.pi * left) + 1) + price * (len(own) + 2)


@KINDS
def test_parameters_of_a_network_are_those_of_obvious_em(kind):
    data, claim = CASES[kind](3), CLAIMS[kind]
    result = solve(data, claim, budgets=BUDGETS)
    network, expected = result.network, expectation_of(data, claim, 1 << 28)
    model, parameters = expected.begin(network), None
    parameters = list(model.parameters)
    for _ in range(300):
        model = expected.step(model, never_checked)[1]
        if kind == "states":
            parameters = naive_em.step(data, network.parents, parameters)[1]
        else:
            parameters = naive_em.gaussian_step(data, network.parents, network.order(), parameters)[1]
    for own, other in zip(model.parameters, parameters, strict=True):
        assert own == pytest.approx(other, rel=1e-6, abs=1e-6)
    assert result.cost == pytest.approx(observed_cost(data, network, parameters, claim), abs=1e-2)
    if kind == "states":
        for own, other in zip(fit(network, result.dataset), parameters, strict=True):
            assert own == pytest.approx(other, abs=2e-2)
    else:
        for own, other in zip(regressions(network, result.dataset), parameters, strict=True):
            assert [own.intercept, *own.coefficients, own.variance] == pytest.approx(other, rel=1e-2, abs=1e-2)


def test_a_known_network_is_found_where_a_fifth_is_missing():
    rng = np.random.default_rng(5)
    a = rng.integers(0, 2, 3000)
    b = np.where(rng.random(3000) < 0.85, a, 1 - a)
    c = rng.integers(0, 2, 3000)
    d = np.where(rng.random(3000) < 0.9, b ^ c, rng.integers(0, 2, 3000))
    data = latent(dataset_of(np.stack([a, b, c, d], axis=1)), 5, 0.2)
    result = solve(data, budgets=BUDGETS)
    directed, undirected = result.cpdag()
    edges = {tuple(sorted(arc)) for arc in (*directed, *undirected)}
    assert edges == {("v0", "v1"), ("v1", "v3"), ("v2", "v3")}
    assert {("v1", "v3"), ("v2", "v3")} <= set(directed)


@KINDS
def test_threads_change_nothing(kind):
    data, claim = CASES[kind](2, 6), CLAIMS[kind]
    results = [solve(data, claim, budgets=replace(BUDGETS, threads=threads)) for threads in (1, 2, 3)]
    assert told(results[0]) == told(results[1]) == told(results[2])


@KINDS
@pytest.mark.parametrize("line", [1, 2])
@pytest.mark.parametrize("after", [False, True])
def test_a_run_that_is_killed_goes_on_behind_its_last_round(tmp_path, kind, line, after):
    data, claim = CASES[kind](1, 5), CLAIMS[kind]
    ask = partial(solve, data, claim, budgets=BUDGETS)
    expected = ask()
    with killed_at_line(line, after), pytest.raises(Killed):
        ask(place=Place(tmp_path))
    result = ask(place=Place(tmp_path, resume=read_manifest(tmp_path)))
    assert told(result) == told(expected)
    assert [one["round"] for one in models(tmp_path)] == list(range(len(expected.rounds.done)))
    assert read_manifest(tmp_path).state.phase == "done"
    assert completed_in(tmp_path, data, claim, 1 << 28).fingerprint == result.dataset.fingerprint


@KINDS
def test_a_stop_at_any_moment_leaves_a_network_and_is_gone_on_from(tmp_path, kind):
    data, claim = CASES[kind](1, 5), CLAIMS[kind]
    ask = partial(solve, data, claim, budgets=BUDGETS)
    expected, polls = ask(), itertools.count()
    ask(stop=lambda: next(polls) and None)
    whole = next(polls)
    for share in (0.0, 0.05, 0.3, 0.6, 0.9):
        folder = tmp_path / f"{share}"
        folder.mkdir()
        polls = itertools.count()
        stopped = ask(
            place=Place(folder), stop=lambda own=polls, at=share * whole: INTERRUPTED if next(own) > at else None
        )
        assert stopped.status == INTERRUPTED
        assert (stopped.rounds.settled, stopped.rounds.excess) == (False, None)
        assert read_manifest(folder).state.phase == "em"
        assert stopped.lower_bound == -math.inf
        assert math.isfinite(stopped.cost)
        result = ask(place=Place(folder, resume=read_manifest(folder)))
        assert told(result) == told(expected)


def stopped_within(monkeypatch, owner, name):
    """A stop signal that comes when a method is first called."""
    called, original = list[str](), getattr(owner, name)

    def calling(*given):
        called.append(name)
        return original(*given)

    monkeypatch.setattr(owner, name, calling)
    return lambda: INTERRUPTED if called else None


@KINDS
@pytest.mark.parametrize("within", [None, "_solved", "_fitted"])
def test_a_stop_before_the_first_network_ends_the_run_and_is_gone_on_from(tmp_path, kind, within, monkeypatch):
    """What has no network costs nobody a whole step after a stop."""
    ask = partial(solve, CASES[kind](1, 5), CLAIMS[kind], budgets=BUDGETS)
    expected = ask()
    with monkeypatch.context() as patch, sized(SOON=1e-9):
        stop = (lambda: INTERRUPTED) if within is None else stopped_within(patch, em._Rounds, within)
        with pytest.raises(BudgetError, match=r"^EM was stopped before it had a first network; give it more time\.$"):
            ask(place=Place(tmp_path), stop=stop)
    assert not models(tmp_path)
    assert told(ask(place=Place(tmp_path, resume=read_manifest(tmp_path)))) == told(expected)


@KINDS
def test_a_first_network_that_is_not_kept_is_not_waited_for_when_the_data_are_completed(kind, monkeypatch, sizes):
    original = Taken.tell

    def telling(taken, *round):
        sizes(SOON=1e-9)
        original(taken, *round)

    sizes(SOON=math.inf)
    monkeypatch.setattr(Taken, "tell", telling)
    with pytest.raises(BudgetError, match="before it had a first network"):
        solve(CASES[kind](1, 5), CLAIMS[kind], budgets=BUDGETS, stop=lambda: INTERRUPTED)


def test_the_time_limit_binds_for_all_rounds():
    data = CASES["states"](1, 5)
    result = solve(data, budgets=replace(BUDGETS, time_limit=1e-3))
    assert result.status == TIME_LIMIT
    assert len(result.rounds.done) == 1


def test_memory_that_does_not_do_for_a_round_is_told():
    data = CASES["states"](1, 5, 2000)
    with pytest.raises(BudgetError, match=r"--memory grants|of memory in all"):
        solve(data, budgets=replace(BUDGETS, memory=20 << 20))


def test_data_that_a_late_round_cannot_solve_are_told_with_the_round(monkeypatch):
    solved, times = em._Rounds._solved, itertools.count()

    def fails_late(rounds, data, claim):
        if next(times) < 2:  # the network to begin with, and round 1
            return solved(rounds, data, claim)
        values = np.where(np.arange(data.variables) == 1, 3.0, data.values)
        return solved(rounds, replace(data, values=values), claim)

    monkeypatch.setattr(em._Rounds, "_solved", fails_late)
    with pytest.raises(InputError, match=r"in round 2 of --missing em, by .* 'v1' has the same number") as told:
        solve(CASES["numbers"](1), Claim("gaussian-bic"), budgets=BUDGETS)
    assert told.value.names == ("v1",)
    assert told.value.advice


def test_a_damaged_journal_is_refused(tmp_path):
    data = CASES["states"](1)
    stopped = solve(data, budgets=BUDGETS, place=Place(tmp_path), stop=stop_after_rounds(tmp_path, 1))
    assert stopped.status == INTERRUPTED
    line = models(tmp_path)[0]
    line["parameters"]["v1"][0] = 7.0
    (tmp_path / ROUNDS).write_text(json.dumps(line) + "\n")
    with pytest.raises(RunDirectoryError, match=r"rounds\.jsonl is damaged in line 1"):
        solve(data, budgets=BUDGETS, place=Place(tmp_path, resume=read_manifest(tmp_path)))


def after_polls(many):
    polls = itertools.count()
    return lambda: INTERRUPTED if next(polls) > many else None


def stop_after_rounds(folder, rounds):
    def stop():
        path = folder / ROUNDS
        return INTERRUPTED if path.exists() and path.read_bytes().count(b"\n") >= rounds else None

    return stop


def test_another_way_of_treating_gaps_is_another_problem(tmp_path):
    data = CASES["states"](1)
    solve(data, budgets=BUDGETS, place=Place(tmp_path), stop=stop_after_rounds(tmp_path, 1))
    with pytest.raises(RunDirectoryError, match="The data are not those"):
        solve(replace(data, latent=False), budgets=BUDGETS, place=Place(tmp_path, resume=read_manifest(tmp_path)))


@pytest.mark.parametrize("seed", range(3))
def test_knowledge_limits_and_charges_bind_in_every_round(seed):
    data, rng = CASES["states"](seed, 5), np.random.default_rng(seed)
    knowledge = random_knowledge(rng, data.names, most=3)
    claim = Claim(penalty=1.5, max_parents=3, knowledge=knowledge, parent_cost=0.5)
    result = solve(data, claim, budgets=BUDGETS)
    allowed = admitted(knowledge, data.names, 3)
    for one in result.rounds.done:
        assert all(allowed[x, sum(1 << p for p in own)] for x, own in enumerate(one.network.parents))
        expected = expectation_of(data, claim, 1 << 28)
        assert one.cost > penalty_of(one.network, expected.data, claim)


def test_more_parents_may_be_required_than_the_first_network_has():
    data = CASES["states"](1, 5)
    required = tuple((f"v{p}", "v4") for p in range(4))
    result = solve(data, Claim(knowledge=Knowledge(required=required)), budgets=BUDGETS)
    assert result.parents["v4"] == ["v0", "v1", "v2", "v3"]


def test_records_of_half_the_weight_cost_half():
    data = CASES["states"](1)
    rows = np.repeat(np.arange(data.records), 2)
    halves = replace(data, codes=data.codes[rows], weights=Weights(0.5, np.arange(1, data.records + 1) * 2))
    whole, half = (solve(each, budgets=BUDGETS) for each in (data, halves))
    assert half.network == whole.network
    assert half.cost == pytest.approx(whole.cost, abs=1e-2)
    assert half.dataset.total == data.records
    assert half.dataset.observed == data.records


def test_a_record_without_any_value_and_constant_columns_are_no_trouble():
    data = chain(np.random.default_rng(1), 4, 60)
    codes = data.codes.copy()
    codes[:, 2] = 0
    codes[7] = data.arities
    codes[9, 1:] = data.arities[1:]
    gaps = replace(data, codes=codes, gaps=True, latent=True)
    result = solve(gaps, budgets=BUDGETS)
    assert result.rounds.settled
    values = gaussian_chain(np.random.default_rng(1), 3, 50).values
    values[4] = np.nan
    result = solve(replace(numbers_of(values), gaps=True, latent=True), GAUSSIAN, budgets=BUDGETS)
    assert result.rounds.settled


def test_one_variable_is_its_own_network():
    codes = np.array([[0], [1], [1], [2]])
    data = replace(dataset_of(codes, [2]), gaps=True, latent=True)
    result = solve(data, budgets=BUDGETS)
    share = np.array([1 / 3, 2 / 3])
    assert result.cost == pytest.approx(-np.log(share[[0, 1, 1]]).sum() + math.log(4) / 2, abs=1e-3)


def test_each_round_says_a_line():
    events = []
    result = solve(CASES["states"](1), budgets=BUDGETS, observer=events.append)
    lines = [one.summary for one in events if isinstance(one, StageEnded) and one.stage == "em"]
    assert lines[0].startswith("to begin with, cost ")
    assert len(lines) == result.rounds.solved + 1
    assert lines[-1].startswith(f"round {result.rounds.solved}: no network costs less in expectation")


# From files, and in Python


def written(path, data):
    rows = [",".join("" if c == r else f"s{c}" for c, r in zip(row, data.arities, strict=True)) for row in data.codes]
    path.write_text("\n".join([",".join(data.names), *rows]) + "\n")
    return str(path)


@pytest.fixture
def file(tmp_path):
    return written(tmp_path / "data.csv", CASES["states"](1))


def run(*arguments):
    return main([*arguments, "--quiet", "--threads", "1", "--memory", "300MiB"])


def test_a_run_tells_what_it_is_and_no_more(file, tmp_path, capsys):
    folder = tmp_path / "own.run"
    assert main(["solve", file, "--missing", "em", "--run-dir", str(folder), "--threads", "1"]) == 0
    said = capsys.readouterr().out
    assert "status       heuristic" in said
    assert "by what is observed" in said
    assert "a local optimum, which is no proof of the best" in said
    assert "bounds" not in said
    document = json.loads((folder / "result.json").read_text())
    assert (document["status"], document["lower_bound"], document["certificate"]) == (HEURISTIC, None, None)
    em_told = document["em"]
    assert em_told["settled"]
    assert [one["round"] for one in em_told["rounds"]] == list(range(len(em_told["rounds"])))
    assert document["provenance"]["records"] == 120
    assert main(["report", str(folder), "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    assert "A local optimum" in page
    assert "Proved:" not in page
    for command in (["verify", str(folder), file], ["verify", str(folder / "result.json"), file]):
        capsys.readouterr()
        assert main(command) == 30
        assert "local optimum" in capsys.readouterr().err
    assert main(["status", str(folder)]) == 0
    assert main(["query", str(folder), "v1"]) == 0
    assert main(["score-network", str(folder), file, "--missing", "sum"]) == 0
    assert main(["resume", str(folder)]) == 0
    assert main(["compare", str(folder), str(folder)]) == 0
    assert main(["export", str(folder), "-o", str(tmp_path / "own.net")]) == 0


def test_the_files_of_a_network_are_written_again(file, tmp_path):
    folder = tmp_path / "own.run"
    run("solve", file, "--missing", "em", "--run-dir", str(folder))
    before = {name: (folder / name).read_bytes() for name in ("network.bif", "network.json", "network.dot")}
    for name in before:
        (folder / name).unlink()
    assert run_resume(folder) == 0
    assert before == {name: (folder / name).read_bytes() for name in before}


def stopped_at_once(rounds):
    raise Stopped(TIME_LIMIT)


def run_resume(folder):
    return main(["resume", str(folder), "--quiet"])


def test_a_stopped_run_is_resumed_by_commands(file, tmp_path, monkeypatch):
    folder, whole = tmp_path / "own.run", tmp_path / "whole.run"
    run("solve", file, "--missing", "em", "--run-dir", str(whole))
    with monkeypatch.context() as patch:
        patch.setattr(em._Rounds, "_round", stopped_at_once)
        assert run("solve", file, "--missing", "em", "--run-dir", str(folder)) == 10
    assert json.loads((folder / "result.json").read_text())["status"] == TIME_LIMIT
    assert run("solve", file, "--missing", "average", "--run-dir", str(folder), "--resume") == 31
    assert run_resume(folder) == 0
    for name in ("network.bif", "network.json", "network.dot", ROUNDS):
        assert (folder / name).read_bytes() == (whole / name).read_bytes()


def test_where_nothing_is_missing_it_is_the_plain_solve(tmp_path):
    data = chain(np.random.default_rng(1), 5, 200)
    file = written(tmp_path / "whole.csv", data)
    for rule in ("refuse", "em"):
        run("solve", file, "--missing", rule, "--run-dir", str(tmp_path / rule))
    plain, own = (json.loads((tmp_path / rule / "result.json").read_text()) for rule in ("refuse", "em"))
    for name in ("network.bif", "network.json", "network.dot"):
        assert (tmp_path / "refuse" / name).read_bytes() == (tmp_path / "em" / name).read_bytes()
    for document in (plain, own):
        document.pop("stats")
        document["provenance"] = {
            key: own for key, own in document["provenance"].items() if key not in ("command", "data_options", "options")
        }
    assert plain == own
    assert not (tmp_path / "em" / ROUNDS).exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("solve", "--score", "bdeu"),
        ("solve", "--score", "qnml"),
        ("solve", "--score", "cg-bic"),
        ("solve", "--score", "dg-bic"),
        ("solve", "--targets", "v0"),
        ("solve", "--time-column", "v0"),
        ("solve", "--imputation", "v0"),
        ("solve", "--score", "gaussian-bic", "--resolution", "0.1"),
        ("solve", "--bootstrap", "3"),
        ("solve", "--method", "dp"),
        ("kbest", "-k", "3"),
        ("approximate", "--time", "1s"),
        ("estimate",),
        ("score", "-o", "scores.jkl"),
    ],
    ids=" ".join,
)
def test_what_em_is_not_for_is_refused_in_a_sentence(file, tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    command, *others = arguments
    assert main([command, file, "--missing", "em", *others]) == 30
    said = capsys.readouterr().err
    assert "--missing em" in said
    assert len([line for line in said.splitlines() if line.startswith("extbnsl: ") or "error" in line]) <= 1
    assert not list(tmp_path.glob("*.run"))


def test_a_column_without_a_value_is_refused(tmp_path, capsys):
    path = tmp_path / "data.csv"
    path.write_text("a,b\nx,\ny,\nx,\n")
    assert main(["solve", str(path), "--missing", "em", "--run-dir", str(tmp_path / "r.run")]) == 30
    assert "no record has a value of 'b'" in capsys.readouterr().err


def test_python_has_it_too(file):
    import pandas as pd

    frame = pd.read_csv(file)
    result = extbnsl.learn(frame, missing="em", threads=1)
    assert (result.status, result.rounds.settled) == (HEURISTIC, True)
    assert "lower bound" not in repr(result)
    assert result.query(["v1"], {"v0": "s1"})["v1"]
    assert "A local" not in result._repr_html_()  # claims are for the page
    assert result.arc_strengths()
    with pytest.raises(InputError, match='missing="em"'):
        extbnsl.learn(frame, missing="em", bootstrap=3)
    with pytest.raises(InputError, match='missing="em"'):
        extbnsl.k_best(frame, 3, missing="em")
    with pytest.raises(InputError, match='missing="em"'):
        extbnsl.cost(result, frame, missing="em")


@pytest.mark.parametrize("score", ["mdl", "gaussian-bic"])
def test_the_estimator_answers_by_the_completed_data(score):
    import pandas as pd

    if score == "mdl":
        data = CASES["states"](1)
        frame = pd.DataFrame(
            [[None if c == r else c for c, r in zip(row, data.arities, strict=True)] for row in data.codes]
        )
    else:
        frame = pd.DataFrame(CASES["numbers"](1).values)
    frame.columns = [f"v{j}" for j in range(4)]
    learner = extbnsl.BayesianNetworkLearner(scoring_method=score, missing="em", threads=1, smoothing=0.0).fit(frame)
    assert learner.result_.rounds.settled
    result, price = learner.result_, parameter_price(Claim(score), len(frame))
    misfit = result.cost - price * result.stats["parameters"]
    assert -learner.score_samples(frame).sum() == pytest.approx(misfit, abs=0.05)


def test_rounds_that_have_not_settled_are_not_said_to_be_an_optimum(monkeypatch):
    monkeypatch.setattr(em, "MOST_ROUNDS", 1)
    monkeypatch.setattr(em, "SETTLED", 0.0)
    result = solve(CASES["states"](1), budgets=BUDGETS)
    assert (result.status, result.rounds.settled, result.rounds.excess) == (HEURISTIC, False, None)
    assert claim_told(result.document()).startswith("Not proved (heuristic): the rounds of EM have not settled")


def test_a_round_without_a_proof_ends_the_run(monkeypatch):
    solved = em._Rounds._solved

    def unproved(rounds, data, claim):
        return replace(solved(rounds, data, claim), status=NOT_PROVED)

    monkeypatch.setattr(em._Rounds, "_solved", unproved)
    result = solve(CASES["states"](1), budgets=BUDGETS)
    assert (result.status, len(result.rounds.done), result.rounds.settled) == (NOT_PROVED, 1, False)


def test_a_network_that_costs_more_than_the_best_one_says_by_how_much():
    result = solve(CASES["states"](1), budgets=BUDGETS)
    document = result.document()
    assert "no network costs less, which is proved" in claim_told(document)
    document["em"]["excess"] = 0.25
    assert "no network costs less by more than 0.25 nats" in claim_told(document)


def test_a_campaign_has_rows_without_a_bound(file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "em.yaml").write_text(
        f"title: em\ndata: [{file}]\nvariants: [{{name: em, options: {{missing: em}}}}]\nmethods: [{{name: BFBnB}}]\n"
    )
    capsys.readouterr()
    assert main(["campaign", str(tmp_path / "em.yaml"), "--output-dir", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert HEURISTIC in said
    assert "failed" not in said


def test_other_questions_are_refused():
    data = CASES["states"](1)
    with pytest.raises(InputError, match="--missing em"):
        bootstrap_network(data, Resamples(2))
    with pytest.raises(InputError, match="--missing em"):
        k_best_networks(data, Scope(2))
