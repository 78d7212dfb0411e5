"""extbnsl score-network: the log-likelihood of records that a network was not learned from."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas
import pytest

from extbnsl.cli import main


@pytest.fixture
def learned():
    """A run of a file whose column d is cut and whose column b misses a state in the new records."""
    rng = np.random.default_rng(1)
    a = rng.integers(0, 2, 200)
    b = np.where(rng.random(200) < 0.8, a, rng.integers(0, 3, 200))
    frame = pandas.DataFrame({"a": np.where(a, "yes", "no"), "b": b, "d": np.round(a + rng.random(200), 3)})
    frame.to_csv("train.csv", index=False)
    assert main(["solve", "train.csv", "--discretise", "quantile:3", "--quiet"]) == 0
    return frame


def run(capsys, *arguments):
    capsys.readouterr()
    code = main(["score-network", *map(str, arguments)])
    return code, capsys.readouterr()


def by_hand(frame, parents, smoothing):
    """The log-likelihood of the training records, by counting in dictionaries."""
    edges = np.quantile(frame["d"], [1 / 3, 2 / 3], method="inverted_cdf")
    coded = frame.assign(d=np.searchsorted(edges, frame["d"], side="left"))
    total = 0.0
    for child, own in parents.items():
        states = math.prod(coded[parent].nunique() for parent in own)
        prior = smoothing / states
        for _, row in coded.iterrows():
            given = coded[np.logical_and.reduce([coded[p] == row[p] for p in own] or [np.ones(len(coded), bool)])]
            both = (given[child] == row[child]).sum()
            total += math.log((both + prior / coded[child].nunique()) / (len(given) + prior))
    return total


@pytest.mark.slow
@pytest.mark.parametrize("smoothing", [0.0, 1.0, 10.0])
def test_the_training_records_are_as_likely_as_by_hand(capsys, learned, smoothing):
    parents = json.loads(Path("train.run/result.json").read_text())["parents"]
    code, told = run(capsys, "train.run", "train.csv", "--json", "--smoothing", smoothing, "-o", "each.csv")
    found = json.loads(told.out)
    assert code == 0
    assert found["records"] == 200
    assert found["log_likelihood"] == pytest.approx(by_hand(learned, parents, smoothing))
    assert found["per_record"] == pytest.approx(found["log_likelihood"] / 200)
    each = pandas.read_csv("each.csv")
    assert each["record"].tolist() == list(range(1, 201))
    assert each["log_likelihood"].sum() == pytest.approx(found["log_likelihood"])


def test_new_records_are_cut_where_the_run_cut_them(capsys, learned):
    edges = np.quantile(learned["d"], [1 / 3, 2 / 3], method="inverted_cdf")
    inner = learned[~learned["d"].isin(edges)].iloc[:5]
    inner[["d", "b", "a"]].to_csv("new.csv", index=False)  # columns in another order
    as_known = json.loads(run(capsys, "train.run", "new.csv", "--json")[1].out)["log_likelihood"]
    inner.assign(d=inner["d"] + 1e-5).to_csv("new.csv", index=False)
    near = json.loads(run(capsys, "train.run", "new.csv", "--json")[1].out)["log_likelihood"]
    assert near == pytest.approx(as_known)
    code, told = run(capsys, "train.run/result.json", "new.csv")
    assert code == 0
    assert "The 5 records of new.csv have the log-likelihood -" in " ".join(told.out.split())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda frame: frame.assign(b=7), "record 1 has '7' in column 'b', which is no state that the network knows"),
        (lambda frame: frame.assign(d="low"), "record 1 has 'low' in column 'd', which is no state"),
        (lambda frame: frame.drop(columns="b"), "extbnsl: new.csv has no column 'b'"),
        (
            lambda frame: frame.assign(a=[None, *frame["a"][1:]]),
            "first in row 1 of the data: say --missing drop or --missing sum.",
        ),
        (lambda frame: frame.assign(a=None), "missing"),
    ],
)
def test_records_of_another_kind_are_refused(capsys, learned, change, sentence):
    change(learned.iloc[:4]).to_csv("new.csv", index=False)
    code, told = run(capsys, "train.run", "new.csv")
    assert code == 30
    assert sentence in " ".join(told.err.split())


def test_the_training_data_must_be_the_same(capsys, learned):
    learned.iloc[:50].to_csv("other.csv", index=False)
    assert run(capsys, "train.run", "train.csv", "--training", "other.csv")[0] == 30
    learned.iloc[:50].to_csv("train.csv", index=False)
    code, told = run(capsys, "train.run", "other.csv")
    assert code == 30
    assert "has other data than the network was learned from" in " ".join(told.err.split())


@pytest.mark.parametrize(
    ("lacking", "sentence"),
    [("score", "does not tell the score of its network"), ("provenance", "column 'd' (continuous")],
)
def test_a_result_that_lacks_what_is_needed_is_refused(capsys, learned, lacking, sentence):
    path = Path("train.run/result.json")
    document = json.loads(path.read_text())
    del document[lacking]
    path.write_text(json.dumps(document))
    code, said = run(capsys, "train.run", "train.csv")
    assert (code, sentence in said.err) == (30, True)


def test_nothing_is_written_over(capsys, learned):
    assert run(capsys, "train.run", "train.csv", "-o", "each.csv")[0] == 0
    assert run(capsys, "train.run", "train.csv", "-o", "each.csv")[0] == 30
    assert run(capsys, "train.run", "train.csv", "-o", "each.csv", "--overwrite")[0] == 0
    with pytest.raises(SystemExit) as ended:
        main(["score-network", "train.run", "train.csv", "--smoothing", "-1"])
    assert ended.value.code == 30


def test_without_smoothing_a_record_may_be_impossible(capsys):
    frame = pandas.DataFrame({"a": [0, 1] * 50, "b": [0, 1] * 50})
    frame.to_csv("train.csv", index=False)
    assert main(["solve", "train.csv", "--quiet"]) == 0
    pandas.DataFrame({"a": [0, 0], "b": [1, 0]}).to_csv("new.csv", index=False)
    capsys.readouterr()
    code, told = run(capsys, "train.run", "new.csv", "--smoothing", "0")
    assert code == 0
    assert "1 record have states together that the training data lack" in " ".join(told.out.split())
    found = json.loads(run(capsys, "train.run", "new.csv", "--smoothing", "0", "--json")[1].out)
    assert (found["impossible"], found["log_likelihood"]) == (1, None)
    assert json.loads(run(capsys, "train.run", "new.csv", "--json")[1].out)["impossible"] == 0


def with_gaps(frame):
    """Six records, of which the second and the fourth lack values."""
    gapped = frame.iloc[:6].astype(object)
    gapped.iloc[1, 0] = gapped.iloc[3, 1] = gapped.iloc[3, 2] = None
    return gapped


def likelihoods(capsys, new, *arguments):
    """What the command says of each record, by its number, as JSON does, and as a sentence does."""
    new.to_csv("new.csv", index=False)
    code, told = run(capsys, *arguments, "-o", "each.csv", "--overwrite", "--json")
    assert code == 0, told.err
    said = " ".join(run(capsys, *arguments)[1].out.split())
    each = pandas.read_csv("each.csv")
    return dict(zip(each["record"], each["log_likelihood"], strict=True)), json.loads(told.out), said


@pytest.mark.parametrize("score", ["mdl", "gaussian-bic"])
def test_records_that_lack_values_are_left_out_or_judged_by_what_they_have(capsys, learned, score):
    """What is missing is summed out: the sum over all states that it may have; of numbers the integral."""
    if score == "mdl":
        learned = learned.astype({"d": str}).assign(d=np.where(learned["d"] < 0.5, "low", "high"))
    else:
        learned = learned.assign(a=learned["d"] + learned["b"] + np.sin(np.arange(200)))
    learned.to_csv("train.csv", index=False)
    assert main(["solve", "train.csv", "--score", score, "--run-dir", "g.run", "--quiet"]) == 0
    new, arguments = with_gaps(learned), ("g.run", "new.csv", "--missing")
    whole = likelihoods(capsys, learned.iloc[:6], *arguments, "sum")[0]
    dropped, found, said = likelihoods(capsys, new, *arguments, "drop")
    assert dropped == pytest.approx({record: whole[record] for record in (1, 3, 5, 6)})
    assert (found["records"], found["dropped"], found["summed"]) == (4, 2, 0)
    assert "The 4 records of new.csv have" in said
    assert "2 other records were left out, because a value is missing." in said
    summed, found, said = likelihoods(capsys, new, *arguments, "sum")
    assert (found["records"], found["dropped"], found["summed"]) == (6, 0, 2)
    assert "2 of them lack values, which are summed out." in said
    for record, gaps in ((2, ["a"]), (4, ["b", "d"])):
        assert summed[record] == pytest.approx(marginal(capsys, learned, new, record, gaps), rel=1e-4)
    assert {record: summed[record] for record in dropped} == pytest.approx(dropped)


def marginal(capsys, learned, new, record, gaps):
    """The logarithm of the sum of the likelihoods of a record over all values that it may have in some columns."""
    measured, columns = learned.dtypes["a"].kind == "f", [learned[name] for name in gaps]
    if measured:
        spans = [np.linspace(own.mean() - 9 * own.std(), own.mean() + 9 * own.std(), 201) for own in columns]
    else:
        spans = [sorted(own.unique()) for own in columns]
    grid = np.array(np.meshgrid(*spans, indexing="ij"), dtype=object).reshape(len(gaps), -1).T
    whole = pandas.concat([new.iloc[[record - 1]]] * len(grid), ignore_index=True)
    whole[gaps] = grid
    each = likelihoods(capsys, whole, "g.run", "new.csv", "--missing", "refuse")[0]
    volume = math.prod(float(own[1] - own[0]) for own in spans) if measured else 1.0
    return math.log(sum(map(math.exp, each.values())) * volume)


def test_missing_values_of_new_records_are_treated_as_those_of_the_run_unless_something_else_is_said(capsys, learned):
    new, frame = with_gaps(learned), learned.assign(b=learned["b"].astype(object))
    frame.loc[7, "b"] = None
    frame.to_csv("train.csv", index=False)
    for rule, code in (("drop", 0), ("state", 0)):
        words = ["solve", "train.csv", "--discretise", "quantile:3", "--missing", rule, "--run-dir", "m.run", "--quiet"]
        assert main([*words, "--overwrite"] if Path("m.run").exists() else words) == code
        new.drop(index=1).assign(d=0.5).to_csv("new.csv", index=False)
        found = json.loads(run(capsys, "m.run", "new.csv", "--json")[1].out)
        assert (found["records"], found["dropped"]) == ((4, 1) if rule == "drop" else (5, 0))
    said = json.loads(run(capsys, "m.run", "new.csv", "--missing", "sum", "--json")[1].out)
    assert said["summed"] == 1
    assert said["log_likelihood"] != pytest.approx(found["log_likelihood"])


def test_records_that_all_lack_values_are_summed_or_refused_and_a_wrong_value_is_in_its_row(capsys, learned):
    learned.iloc[:3].astype(object).assign(a=None).to_csv("new.csv", index=False)
    code, told = run(capsys, "train.run", "new.csv", "--missing", "drop")
    assert code == 30
    assert "every record lacks a value: say --missing sum, or give other records." in " ".join(told.err.split())
    assert run(capsys, "train.run", "new.csv", "--missing", "sum")[0] == 0
    new = with_gaps(learned)
    new.iloc[4, 1] = 7
    new.to_csv("new.csv", index=False)
    assert "record 5 has '7' in column 'b'" in " ".join(
        run(capsys, "train.run", "new.csv", "--missing", "drop")[1].err.split()
    )


def test_a_run_of_standard_input_needs_its_data_again(capsys, learned):
    process = [sys.executable, "-m", "extbnsl", "solve", "-", "--discretise", "quantile:3", "--quiet"]
    with open("train.csv") as data:
        subprocess.run([*process, "--run-dir", "piped.run"], stdin=data, check=True)
    code, said = run(capsys, "piped.run", "train.csv")
    assert (code, said.err) == (
        30,
        "extbnsl: piped.run was made of standard input, which has ended: give its data by --training.\n",
    )
    assert run(capsys, "piped.run", "train.csv", "--training", "train.csv")[0] == 0
