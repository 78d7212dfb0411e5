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
        (lambda frame: frame.assign(a=[None, *frame["a"][1:]]), "first in row 1 of the data: leave such records out."),
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
