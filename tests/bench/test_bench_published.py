"""Networks beside published ones: the published score, the rows, the file that a campaign goes on from."""

import gzip
import itertools
import math

import numpy as np
import pytest

from bench import measure, published
from extbnsl.data import read_csv

ROWS = "0,0,1\n1,1,0\n1,0,2\n0,0,2\n1,1,1\n"


def family_by_hand(rows, child, parents, arities):
    """The formula as it is written, record by record."""
    r, q = arities[child], math.prod(arities[p] for p in parents)
    n, m = {}, {}
    for row in rows:
        own = tuple(row[p] for p in parents)
        m[own] = m.get(own, 0) + 1
        n[own, row[child]] = n.get((own, row[child]), 0) + 1
    if not parents:
        fit = sum(count * math.log((count + 1 / r) / (len(rows) + 1)) for count in n.values())
        return fit - math.log(len(rows)) * (r - 1) / 2
    fit = sum(count * (math.log(count + 1 / (r * q)) - math.log(m[own] + 1 / r)) for (own, _), count in n.items())
    return fit - math.log(len(rows)) * (r - 1) * math.floor(q / 2)


@pytest.mark.parametrize("parents", [(), (1,), (2,), (1, 2), (1, 2, 3)])
def test_a_family_has_the_published_score(parents):
    rng = np.random.default_rng(len(parents))
    arities = [3, 2, 3, 2]
    codes = rng.integers(0, arities, (60, 4))
    configurations = math.prod(arities[p] for p in parents)
    found = published.family_score(codes[:, 0], codes[:, list(parents)], 3, configurations)
    assert found == pytest.approx(family_by_hand(codes.tolist(), 0, parents, arities), rel=1e-12)


def test_a_family_of_four_records():
    """(r, q) = (2, 2): the cells hold 2, 1 and 1 records."""
    child, parent = np.array([0, 0, 1, 0]), np.array([[0], [0], [1], [1]])
    by_hand = 2 * math.log(2.25 / 2.5) + 2 * math.log(1.25 / 2.5) - math.log(4)
    assert published.family_score(child, parent, 2, 2) == pytest.approx(by_hand, rel=1e-12)


def test_a_network_has_the_sum(tmp_path):
    data = tmp_path / "d.csv"
    data.write_text(ROWS)
    dataset = read_csv(data, header=False)
    rows = [[int(cell) for cell in line.split(",")] for line in ROWS.split()]
    by_hand = sum(family_by_hand(rows, child, own, [2, 2, 3]) for child, own in enumerate([(), (0,), (0, 1)]))
    assert published.score(dataset, [(), (0,), (0, 1)]) == pytest.approx(by_hand, rel=1e-12)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Data of two rows of the table, and the options of each run, which finds chains."""
    (tmp_path / "large").mkdir()
    for name in ("nltcs.train", "bbc.train"):
        (tmp_path / "large" / f"{name}.data.gz").write_bytes(gzip.compress(ROWS.encode()))
    seen = []

    def run_once(word, path, options):
        seen.append((word, path.name, options))
        document = {
            "variables": ["X0", "X1", "X2"],
            "parents": {"X0": [], "X1": ["X0"], "X2": ["X1"]},
            "cost": 9.5,
            "lower_bound": 7.0,
            "stats": {"peak_rss_bytes": 2**28},
        }
        return measure.Run(document, 3.0, 6.0, "")

    monkeypatch.setattr("bench.measure.run_once", run_once)
    return seen


def test_rows_stand_beside_what_is_published(tmp_path, runs, capsys):
    arguments = ["--data", str(tmp_path), "--names", "nltcs.train,bbc.train", "--time", "90s"]
    assert published.main([*arguments, "--options", "--max-parents 2"]) == 0
    assert [run[:2] for run in runs] == [("approximate", "nltcs.train.data.gz"), ("approximate", "bbc.train.data.gz")]
    assert runs[0][2] == ["--no-header", "--time", "90s", "--threads", "2", "--seed", "0", "--max-parents", "2"]
    text = capsys.readouterr().out
    rows = [line.split() for line in text.splitlines() if line.startswith("bbc")]
    assert rows[0][:8] == ["bbc.train", "3", "90s", "-14", "-422,139", "-418,164", "-417,891", "-"]
    assert rows[0][8:11] == ["+417,877", "-", "9.500"]
    assert text.endswith("better than OBS, ASOBS, ASOBS-ENT: 2 of 2; than GOBNILP: 1\n")


def test_a_campaign_goes_on_from_its_file(tmp_path, runs, capsys):
    out = tmp_path / "rows.csv"
    arguments = ["--data", str(tmp_path), "--time", "1m", "--out", str(out), "--names"]
    assert published.main([*arguments, "bbc.train"]) == 0
    assert published.main([*arguments, "nltcs.train,bbc.train"]) == 0
    assert [run[1] for run in runs] == ["bbc.train.data.gz", "nltcs.train.data.gz"]
    assert published.main([*arguments, "bbc.train", "--seed", "1"]) == 0
    assert len(runs) == 3
    assert out.read_text().count("\n") == 4
    assert capsys.readouterr().out.count("bbc.train") == 6


def test_failed_runs_and_too_few_wins_are_faults(tmp_path, runs, monkeypatch, capsys):
    arguments = ["--data", str(tmp_path), "--names", "bbc.train"]
    patched = dict(itertools.islice(published.PUBLISHED.items(), 12, 13))
    monkeypatch.setattr(published, "PUBLISHED", patched)
    assert published.main(arguments) == 1  # it is all there is, and not 12
    monkeypatch.setattr(published, "LEAST_ORDERS", 1)
    monkeypatch.setattr(published, "LEAST_SOLVER", 0)
    assert published.main(arguments) == 0
    monkeypatch.setattr("bench.measure.run_once", lambda *_: measure.Run(None, 1.0, 1.0, "extbnsl: no."))
    assert published.main(arguments) == 1
    assert "bbc.train: extbnsl: no." in capsys.readouterr().err
