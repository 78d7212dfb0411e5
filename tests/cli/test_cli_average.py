"""Answers and likelihoods averaged over networks that were drawn from a posterior, against mixtures by hand."""

import itertools
import json
import math
from pathlib import Path

import naive
import numpy as np
import pandas
import pytest
from commands import fails, run

import extbnsl
from extbnsl.cli import main
from extbnsl.core.errors import InputError

NAMES = ["a", "b", "c"]


@pytest.fixture
def frame():
    """Three variables of states that depend on each other but weakly, so that many networks have some weight."""
    rng = np.random.default_rng(8)
    a = rng.integers(0, 2, 30)
    b = np.where(rng.random(30) < 0.4, a, rng.integers(0, 3, 30))
    c = np.where(rng.random(30) < 0.5, b % 2, rng.integers(0, 2, 30))
    made = pandas.DataFrame({"a": a, "b": b, "c": c})
    made.to_csv("t.csv", index=False)
    return made


def posterior(name, capsys, *more, sample=3):
    """A run of the posterior of a file of data."""
    asked = ("posterior", f"{name}.csv", "--sample", str(sample), "--quiet", "--threads", "1", *more)
    assert main([*asked, "--run-dir", f"{name}.run", "--overwrite"]) in (0, 10)
    capsys.readouterr()


def drawn(name, *networks):
    """Let these networks, by the parents of each child, be those that a run has drawn."""
    lines = [
        json.dumps({"sample": number, "cost": 1.0, "parents": parents}) + "\n"
        for number, parents in enumerate(networks, start=1)
    ]
    Path(f"{name}.run/samples.jsonl").write_text("".join(lines))
    path = Path(f"{name}.run/result.json")
    document = json.loads(path.read_text())
    document["posterior"]["sampled"] = len(networks)
    path.write_text(json.dumps(document))


def samples(name):
    """The parents by child of each network that a run has drawn."""
    return [json.loads(line)["parents"] for line in Path(f"{name}.run/samples.jsonl").read_text().splitlines()]


def different(networks):
    """Each of some networks once."""
    return [json.loads(text) for text in dict.fromkeys(map(json.dumps, networks))]


def asked(capsys, name, *words):
    """What `query --average` says, as JSON."""
    code, out, err = run(capsys, "query", f"{name}.run", *words, "--average", "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def joint_of(frame, parents, smoothing=0.0):
    """The probability of each joint state by a network, counted in dictionaries."""
    states = {name: sorted(frame[name].unique()) for name in frame}
    table = {}
    for cell in itertools.product(*states.values()):
        at, share = dict(zip(states, cell, strict=True)), 1.0
        for child in states:
            own = parents.get(child, [])
            given = frame[np.logical_and.reduce([frame[p] == at[p] for p in own] or [np.ones(len(frame), bool)])]
            prior = smoothing / math.prod(len(states[p]) for p in own)
            both = (given[child] == at[child]).sum()
            total = len(given) + prior
            share *= (both + prior / len(states[child])) / total if total else 1 / len(states[child])
        table[cell] = share
    return pandas.Series(table).rename_axis(list(states))


def mixed(weighted):
    """The sum of joint tables, each with its weight, with weights that sum to 1."""
    return sum(weight * table for weight, table in weighted) / sum(weight for weight, _ in weighted)


def conditioned(table, given):
    """A joint table in the cells where it is as given, divided by their sum."""
    for name, state in given.items():
        table = table[table.index.get_level_values(name) == state]
    return table / table.sum()


def test_many_draws_come_to_the_mean_over_all_networks(capsys, frame):
    posterior("t", capsys, sample=20_000)
    codes, arities = frame.to_numpy(), [2, 3, 2]
    networks = [
        {NAMES[x]: [NAMES[p] for p in naive.members(own)] for x, own in enumerate(dag)} for dag in naive.all_dags(3)
    ]
    costs = [
        sum(naive.family_cost("mdl", codes, arities, x, naive.members(own)) for x, own in enumerate(dag))
        for dag in naive.all_dags(3)
    ]
    assert len(networks) == 25
    weighted = [(math.exp(min(costs) - cost), joint_of(frame, own)) for cost, own in zip(costs, networks, strict=True)]
    expected = conditioned(mixed(weighted), {"b": 2}).groupby("a").sum()
    found = asked(capsys, "t", "a", "--given", "b=2")
    assert found["networks"] == 20_000
    assert list(found["variables"]["a"].values()) == pytest.approx(expected.tolist(), abs=0.01)
    best = json.loads(run(capsys, "query", "t.run", "a", "--given", "b=2", "--json")[1])["variables"]["a"]["0"]
    assert abs(best - expected[0]) > 0.03  # the best network alone does not say it
    exactly = conditioned(mixed([(1, joint_of(frame, own)) for own in different(samples("t"))]), {"b": 2})
    assert list(found["variables"]["a"].values()) != pytest.approx(exactly.groupby("a").sum().tolist(), abs=0.01)


def test_networks_weigh_as_they_explain_what_is_given(capsys, frame):
    posterior("t", capsys)
    one, other = {"b": ["a"], "c": ["b"], "a": []}, {"c": ["a", "b"], "a": [], "b": []}
    drawn("t", one, other, one)
    table = mixed([(2, joint_of(frame, one)), (1, joint_of(frame, other))])
    of_a = conditioned(table, {"b": 2, "c": 1}).groupby("a").sum()
    document = asked(capsys, "t", "a", "--given", "b=2", "--given", "c=1")
    assert document["networks"] == 3
    assert list(document["variables"]["a"].values()) == pytest.approx(of_a.tolist(), rel=1e-12)
    each = [conditioned(joint_of(frame, own), {"b": 2, "c": 1}).groupby("a").sum() for own in (one, one, other)]
    assert abs(of_a[0] - sum(own[0] for own in each) / 3) > 1e-3  # the weights are not those of the draws alone
    together = asked(capsys, "t", "c", "a", "--given", "b=0", "--joint")["joint"]
    expected = conditioned(table, {"b": 0}).groupby(["c", "a"]).sum()
    assert [row["probability"] for row in together] == pytest.approx(expected.tolist(), rel=1e-12)
    assert together[1]["states"] == {"c": "0", "a": "1"}
    smooth = mixed([(2, joint_of(frame, one, 5.0)), (1, joint_of(frame, other, 5.0))]).groupby("b").sum()
    found = asked(capsys, "t", "b", "--smoothing", "5")["variables"]["b"]
    assert list(found.values()) == pytest.approx(smooth.tolist(), rel=1e-12)
    lines = run(capsys, "query", "t.run", "a", "--given", "b=2", "--given", "c=1", "--average")[1].split()
    assert lines[:3] == ["variable", "state", "probability"]
    assert float(lines[5]) == pytest.approx(of_a[0], abs=1e-6)


def test_networks_by_which_what_is_given_cannot_be_say_nothing(capsys):
    frame = pandas.DataFrame({"a": [0, 1] * 20, "b": [0, 1] * 20, "c": [0, 0, 1, 1] * 10})
    frame.loc[0, "c"] = 1
    frame.to_csv("t.csv", index=False)
    posterior("t", capsys)
    tied, apart = {"a": [], "b": ["a"], "c": ["a"]}, {"a": [], "b": [], "c": ["a"]}
    drawn("t", tied, apart)
    words = ("--given", "a=0", "--given", "b=1")
    expected = conditioned(joint_of(frame, apart), {"a": 0, "b": 1})
    found = asked(capsys, "t", "c", *words)["variables"]["c"]
    assert list(found.values()) == pytest.approx(expected.tolist(), rel=1e-12)
    drawn("t", tied, tied)
    said = fails(capsys, "query", "t.run", "c", *words, "--average")
    assert "By all of these networks what is given is impossible together" in said
    assert run(capsys, "query", "t.run", "c", *words, "--average", "--smoothing", "1")[0] == 0


def test_records_are_as_likely_as_by_the_mixture(capsys, frame):
    posterior("t", capsys)
    networks = [{"b": ["a"], "c": ["b"], "a": []}, {"c": ["a", "b"], "a": [], "b": []}, {"a": [], "b": [], "c": []}]
    drawn("t", *networks, networks[0])
    table = mixed([(2, joint_of(frame, networks[0], 1.0)), *((1, joint_of(frame, own, 1.0)) for own in networks[1:])])
    new = frame.iloc[:7].astype(object)
    new.to_csv("new.csv", index=False)
    assert run(capsys, "score-network", "t.run", "new.csv", "--average", "-o", "each.csv")[0] == 0
    expected = [math.log(table[tuple(row)]) for row in new.to_numpy().tolist()]
    assert pandas.read_csv("each.csv")["log_likelihood"].tolist() == pytest.approx(expected, rel=1e-12)
    new.loc[[1, 4], "b"] = None
    new.loc[4, "c"] = None
    new.to_csv("new.csv", index=False)
    words = ("--missing", "sum", "-o", "each.csv", "--overwrite", "--json")
    document = json.loads(run(capsys, "score-network", "t.run", "new.csv", "--average", *words)[1])
    for row, known in ((1, ["a", "c"]), (4, ["a"])):
        at = new.loc[row, known]
        part = table.groupby(known).sum()
        expected[row] = math.log(part[tuple(at)] if len(known) > 1 else part[at.iloc[0]])
    assert pandas.read_csv("each.csv")["log_likelihood"].tolist() == pytest.approx(expected, rel=1e-12)
    assert (document["networks"], document["summed"]) == (4, 2)


def normal(x, mean, variance):
    """The density of a normal distribution."""
    return math.exp(-((x - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)


def test_numbers_have_the_moments_of_the_mixture(capsys):
    rng = np.random.default_rng(4)
    x = 1e3 + rng.normal(size=50)
    frame = pandas.DataFrame({"x": x, "y": 0.3 * x + rng.normal(size=50), "z": 5 * rng.normal(size=50)})
    frame.to_csv("g.csv", index=False)
    posterior("g", capsys, "--score", "gaussian-bic")
    tied, apart = {"x": [], "y": ["x"], "z": ["x"]}, {"x": [], "y": [], "z": ["y"]}
    drawn("g", tied, tied, apart)
    slope, start = np.polyfit(frame.x, frame.y, 1)
    noise = ((frame.y - start - slope * frame.x) ** 2).mean()
    variances = frame.var(ddof=0)
    # y given x: by one network the regression, by the other its mean; both have the same density of x
    x0 = 1001.3
    parts = [(2 / 3, start + slope * x0, noise), (1 / 3, frame.y.mean(), variances.y)]
    mean = sum(w * m for w, m, _ in parts)
    spread = sum(w * (v + (m - mean) ** 2) for w, m, v in parts)
    found = asked(capsys, "g", "y", "--given", f"x={x0}")["variables"]["y"]
    assert found == pytest.approx({"mean": mean, "standard_deviation": math.sqrt(spread)}, rel=1e-9)
    # x given x and y has other weights: the density of both
    y0 = 304.0
    weights = [
        2 * normal(x0, frame.x.mean(), variances.x) * normal(y0, start + slope * x0, noise),
        normal(x0, frame.x.mean(), variances.x) * normal(y0, frame.y.mean(), variances.y),
    ]
    lines = [np.polyfit(frame[p], frame.z, 1) for p in ("x", "y")]
    means = [np.polyval(line, at) for line, at in zip(lines, (x0, y0), strict=True)]
    left = [((frame.z - np.polyval(line, frame[p])) ** 2).mean() for line, p in zip(lines, ("x", "y"), strict=True)]
    shares = np.array(weights) / sum(weights)
    mean = shares @ means
    spread = shares @ (np.array(left) + (np.array(means) - mean) ** 2)
    given = ("--given", f"x={x0}", "--given", f"y={y0}")
    found = asked(capsys, "g", "z", *given)["variables"]["z"]
    assert found == pytest.approx({"mean": mean, "standard_deviation": math.sqrt(spread)}, rel=1e-9)
    assert asked(capsys, "g", "z", *given, "--joint")["variables"]["z"]["covariance"]["z"] == pytest.approx(spread)
    pandas.DataFrame({"x": [x0], "y": [y0], "z": [None]}).to_csv("new.csv", index=False)
    out = run(capsys, "score-network", "g.run", "new.csv", "--average", "--missing", "sum", "--json")[1]
    assert json.loads(out)["log_likelihood"] == pytest.approx(math.log(sum(weights) / 3), rel=1e-9)
    pandas.DataFrame({"x": [x0], "y": [y0], "z": [1.5]}).to_csv("new.csv", index=False)
    whole = sum(w * normal(1.5, m, v) for w, m, v in zip(weights, means, left, strict=True)) / 3
    out = run(capsys, "score-network", "g.run", "new.csv", "--average", "--json")[1]
    assert json.loads(out)["log_likelihood"] == pytest.approx(math.log(whole), rel=1e-9)


def test_states_and_numbers_together(capsys):
    rng = np.random.default_rng(5)
    s = rng.integers(0, 2, 80)
    frame = pandas.DataFrame({"s": np.where(s, "yes", "no"), "x": 0.6 * s + rng.normal(size=80)})
    frame["y"] = frame.x + rng.normal(size=80)
    frame.to_csv("m.csv", index=False)
    posterior("m", capsys, "--score", "cg-bic")
    tied, apart = {"s": [], "x": ["s"], "y": []}, {"s": [], "x": [], "y": ["x"]}
    drawn("m", tied, apart, apart)
    x0, shares = 0.9, frame.s.value_counts(normalize=True)
    groups = {state: (own.x.mean(), own.x.var(ddof=0)) for state, own in frame.groupby("s")}
    # P(s, x) by both networks
    one = {state: shares[state] * normal(x0, *groups[state]) for state in ("no", "yes")}
    other = {state: shares[state] * normal(x0, frame.x.mean(), frame.x.var(ddof=0)) for state in ("no", "yes")}
    together = {state: one[state] + 2 * other[state] for state in one}
    expected = {state: own / sum(together.values()) for state, own in together.items()}
    found = asked(capsys, "m", "s", "y", "--given", f"x={x0}")["variables"]
    assert found["s"] == pytest.approx(expected, rel=1e-9)
    first = sum(one.values()) / (sum(one.values()) + 2 * sum(other.values()))
    slope, start = np.polyfit(frame.x, frame.y, 1)
    noise = ((frame.y - start - slope * frame.x) ** 2).mean()
    means = np.array([frame.y.mean(), start + slope * x0])
    mean = np.array([first, 1 - first]) @ means
    spread = np.array([first, 1 - first]) @ (np.array([frame.y.var(ddof=0), noise]) + (means - mean) ** 2)
    assert found["y"] == pytest.approx({"mean": mean, "standard_deviation": math.sqrt(spread)}, rel=1e-9)
    of_joint = asked(capsys, "m", "s", "--given", f"x={x0}", "--joint")["joint"]
    assert [row["probability"] for row in of_joint] == pytest.approx(list(expected.values()), rel=1e-9)
    assert "ask for those of one kind together" in fails(capsys, "query", "m.run", "--joint", "--average")
    pandas.DataFrame({"s": ["yes"], "x": [x0], "y": [0.2]}).to_csv("new.csv", index=False)
    likely = one["yes"] * normal(0.2, frame.y.mean(), frame.y.var(ddof=0))
    likely += 2 * other["yes"] * normal(0.2, start + slope * x0, noise)
    words = ("--average", "--smoothing", "0", "--json")
    out = run(capsys, "score-network", "m.run", "new.csv", *words)[1]
    assert json.loads(out)["log_likelihood"] == pytest.approx(math.log(likely / 3), rel=1e-9)
    pandas.DataFrame({"s": ["yes"], "x": [x0], "y": [None]}).to_csv("new.csv", index=False)
    out = run(capsys, "score-network", "m.run", "new.csv", *words, "--missing", "sum")[1]
    assert json.loads(out)["log_likelihood"] == pytest.approx(math.log(together["yes"] / 3), rel=1e-9)


def test_blocks_of_gaussian_columns(capsys):
    """Against what each network says alone."""
    rng = np.random.default_rng(6)
    s = rng.integers(0, 3, 90)
    frame = pandas.DataFrame({"s": np.array(["u", "v", "w"])[s], "x": 1.5 * s + rng.normal(size=90)})
    frame.to_csv("d.csv", index=False)
    posterior("d", capsys, "--score", "dg-bic")
    tied, apart = {"s": ["x"], "x": []}, {"s": [], "x": []}
    pandas.DataFrame({"s": ["v"], "x": [None]}).to_csv("new.csv", index=False)
    alone, given = [], ("--given", "s=v")
    for network in (tied, apart):
        drawn("d", network)
        found = asked(capsys, "d", "x", *given)["variables"]["x"]
        out = run(capsys, "score-network", "d.run", "new.csv", "--average", "--missing", "sum", "--json")[1]
        alone.append((found, math.exp(json.loads(out)["log_likelihood"])))
    drawn("d", tied, apart, apart)
    weights = np.array([alone[0][1], 2 * alone[1][1]])
    means, deviations = (np.array([own[key] for own, _ in alone]) for key in ("mean", "standard_deviation"))
    shares = weights / weights.sum()
    mean = shares @ means
    spread = shares @ (deviations**2 + (means - mean) ** 2)
    found = asked(capsys, "d", "x", *given)["variables"]["x"]
    assert abs(means[0] - means[1]) > 0.05
    assert found == pytest.approx({"mean": mean, "standard_deviation": math.sqrt(spread)}, rel=1e-9)
    out = run(capsys, "score-network", "d.run", "new.csv", "--average", "--missing", "sum", "--json")[1]
    assert math.exp(json.loads(out)["log_likelihood"]) == pytest.approx(weights.sum() / 3, rel=1e-9)
    assert "no joint table" in fails(capsys, "query", "d.run", "s", "--joint", "--average")


def test_python_says_what_the_command_says(capsys, frame):
    posterior("t", capsys, sample=200)
    result = extbnsl.posterior(frame, sample=200, threads=1)
    found = result.query(["a", "c"], {"b": 2}, average=True)
    assert found["a"] == pytest.approx(asked(capsys, "t", "a", "--given", "b=2")["variables"]["a"], rel=1e-9)
    together = result.query(["a", "c"], joint=True, average=True)
    assert sum(together.values()) == pytest.approx(1.0)
    table = mixed([(1, joint_of(frame, own)) for own in samples("t")])
    assert together["1", "0"] == pytest.approx(table.groupby(["a", "c"]).sum()[1, 0], rel=1e-9)
    alone = extbnsl.posterior(frame, threads=1)
    with pytest.raises(InputError, match=r"no networks to average.* with sample of 1000"):
        alone.query(["a"], average=True)


def test_one_network_alone_is_as_without_averaging(capsys, frame):
    posterior("t", capsys)
    drawn("t", json.loads(Path("t.run/result.json").read_text())["parents"])
    for words in (("query", "t.run", "--given", "c=1"), ("score-network", "t.run", "t.csv")):
        one, average = (json.loads(run(capsys, *words, "--json", *more)[1]) for more in ((), ("--average",)))
        for key, value in one.items():
            assert average[key] == (pytest.approx(value) if isinstance(value, float) else value), key


def test_what_cannot_be_averaged(capsys, frame):
    assert main(["solve", "t.csv", "--quiet", "--threads", "1", "--run-dir", "alone"]) == 0
    capsys.readouterr()
    for command in (("query", "alone", "a"), ("score-network", "alone", "t.csv")):
        said = fails(capsys, *command, "--average")
        assert "alone has no networks to average, drawn from a posterior; draw some, by posterior with --sample" in said
    assert "alone/network.bif has one network" in fails(capsys, "query", "alone/network.bif", "a", "--average")
    posterior("t", capsys, sample=3)
    assert "There is no variable 'q'" in fails(capsys, "query", "t.run", "q", "--average")
    file = Path("t.run/samples.jsonl")
    lines = file.read_text().splitlines(keepends=True)
    for damaged in (
        lines[0] + '{"sample": 2, "cost": 1.0, "parents": {"a": ["b"], "b": ["a"], "c": []}}\n' + lines[2],
        lines[0] + '{"sample": 2, "cost": 1.0, "parents": {"a": ["q"]}}\n' + lines[2],
        lines[0] + lines[2] + lines[1],
        lines[0] + "{}\n" + lines[2],
        lines[0] + lines[1][:20],
    ):
        file.write_text(damaged)
        assert "samples.jsonl: line 2 is no network" in fails(capsys, "query", "t.run", "a", "--average", code=31)
    file.write_text(lines[0])
    said = fails(capsys, "query", "t.run", "a", "--average", code=31)
    assert "has 1 networks, and 3 were drawn" in said
    file.unlink()
    assert "samples.jsonl is not there" in fails(capsys, "query", "t.run", "a", "--average")


def test_local_scores_have_nothing_to_average(capsys, frame):
    assert main(["score", "t.csv", "-o", "t.jkl"]) == 0
    assert main(["posterior", "t.jkl", "--sample", "5", "--quiet", "--threads", "1", "--run-dir", "s"]) in (0, 10)
    capsys.readouterr()
    assert "learned from local scores alone" in fails(capsys, "query", "s", "--average")
    assert "local scores, which have no records" in fails(capsys, "score-network", "s", "t.csv", "--average")


def test_times_given_those_before_them(capsys):
    rng, rows = np.random.default_rng(8), [[0, 0]]
    for _ in range(120):
        a, _ = rows[-1]
        rows.append([int(rng.random() < (0.8 if a else 0.3)), int(rng.random() < (0.6 if a else 0.4))])
    frame = pandas.DataFrame(rows, columns=["a", "b"]).assign(t=range(121))
    frame.to_csv("l.csv", index=False)
    posterior("l", capsys, "--time-column", "t")
    names = json.loads(Path("l.run/result.json").read_text())["variables"]
    empty = {name: list[str]() for name in names}
    networks = [empty | {"a": ["a[t-1]"]}, empty | {"a": ["a[t-1]"], "b": ["a[t-1]"]}]
    each = []
    for network in networks:
        drawn("l", network)
        assert run(capsys, "score-network", "l.run", "l.csv", "--average", "-o", "e.csv", "--overwrite")[0] == 0
        each.append(pandas.read_csv("e.csv")["log_likelihood"].to_numpy())
    drawn("l", *networks)
    assert run(capsys, "score-network", "l.run", "l.csv", "--average", "-o", "e.csv", "--overwrite")[0] == 0
    expected = np.logaddexp(*each) - math.log(2)
    assert pandas.read_csv("e.csv")["log_likelihood"].tolist() == pytest.approx(expected.tolist(), rel=1e-12)
    past, now = frame[["a", "b"]].iloc[:-1].reset_index(drop=True), frame[["a", "b"]].iloc[1:].reset_index(drop=True)
    of_a = ((past.a == past.a[0]) & (now.a == now.a[0])).sum() + 1 / 4, (past.a == past.a[0]).sum() + 1 / 2
    of_b = (now.b == now.b[0]).sum() + 1 / 2, 120 + 1
    assert each[0][0] == pytest.approx(math.log(of_a[0] / of_a[1]) + math.log(of_b[0] / of_b[1]), rel=1e-9)


def test_families_that_no_longer_fit_in_memory_are_made_again(capsys, frame, sizes):
    posterior("t", capsys, sample=300)
    words = ("query", "t.run", "--given", "b=1", "--average", "--json"), ("score-network", "t.run", "t.csv", "--json")
    before = [run(capsys, *each)[1] for each in words]
    sizes(**{"models.HELD": 0.0})
    assert [run(capsys, *each)[1] for each in words] == before
