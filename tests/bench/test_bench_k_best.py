"""The tables of the k best: their rows, what stands beside the paper's figures, and what counts as a fault."""

import csv
import json
import shutil
from pathlib import Path

import pytest

from bench import k_best, k_best_cell, measure
from extbnsl.claims import OPTIMAL, TIME_LIMIT
from extbnsl.data import read_csv

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "asia.csv"
SEARCH = {"status": OPTIMAL, "costs": [10.0, 10.5, 11.0], "rss_bytes": 2**28, "compiled": 0}
EFFORT = {"calls": 1234, "answered": 9, "oracle_seconds": 3.5, "search_seconds": 0.25, "generated": 7}
BN_GRAPH = SEARCH | EFFORT | {"duplicates": 2, "expanded": 3, "families": 40}


@pytest.fixture
def data(tmp_path):
    """A folder in which two data sets of the paper are the example."""
    (tmp_path / "uci").mkdir()
    for name in ("hepatitis", "flag"):
        shutil.copy(EXAMPLE, tmp_path / "uci" / k_best.PUBLISHED[name].file)
    return tmp_path


@pytest.fixture
def cells(monkeypatch):
    """Documents that the processes leave, by method, and what was asked of these."""
    documents, asked = {"search": SEARCH, "bn-graph": BN_GRAPH}, []

    def finished(arguments, result):
        asked.append((*arguments[2:5], *arguments[6:]))
        return measure.Run(documents[arguments[2]], 1.0, 2.0, "no such file")

    monkeypatch.setattr(measure, "finished", finished)
    return documents, asked


def test_the_published_lists_have_the_sizes_of_their_limits():
    """But for two figures of Table 1, which stand in each other's place."""
    size = {}
    for name, paper in k_best.PUBLISHED.items():
        assert k_best.score_list_bytes(paper.variables) / 2**30 == pytest.approx(paper.full_gb, abs=0.0051)
        for k, figures in zip(k_best.PAPER_KS, paper.figures, strict=True):
            own = k_best.score_list_bytes(paper.variables, figures.p) / 2**30
            size[name, k] = own, figures.list_gb
    swapped = ("autos", 1000), ("horse", 1000)
    for key in size.keys() - set(swapped):
        assert size[key][0] == pytest.approx(size[key][1], abs=0.01)
    one, other = (size[key] for key in swapped)
    assert (round(one[0], 2), round(other[0], 2)) == (other[1], one[1]) == (0.70, 1.46)


def test_limits_stand_beside_the_papers():
    ten, odd = k_best.parent_limits_of(read_csv(EXAMPLE), [10, 11])
    row = k_best.limits_row("imports", k_best.PUBLISHED["imports"], ten)
    assert (row["n"], row["paper_n"], row["k"], row["paper_p"], row["paper_calls"]) == (8, 22, 10, 6, 111)
    assert row["p"] == max(ten.limits.tolist()) <= 7
    assert row["by"] in {*ten.by, " / ".join(sorted(set(ten.by)))}
    assert row["full_gb"] == 16 * 8 * 2**7 / 2**30
    line = k_best.first_line(row)
    assert line[:6] == ["imports", "8", "22", "10", str(row["p"]), "6"]
    other = k_best.limits_row("imports", k_best.PUBLISHED["imports"], odd)
    assert k_best.first_line(other)[5] == k_best.first_line(other)[-1] == "-"


def test_the_tables_have_a_row_for_each_data_set_and_k(data, cells, tmp_path, capsys):
    out = tmp_path / "tables"
    arguments = ["--data", str(data), "--sets", "hepatitis,flag", "--k", "3,1000", "--out", str(out)]
    assert k_best.main([*arguments, "--threads", "2", "--baseline-time", "7"]) == 0
    hepatitis = str(data / "uci" / "hepatitis.csv")
    assert cells[1][:2] == [
        ("search", hepatitis, "3", "--threads", "2"),
        ("bn-graph", hepatitis, "3", "--seconds", "7.0", "--slack", "8.0"),
    ]
    text = capsys.readouterr().out
    first, second = text.split("Table 1\n")[1].split("\nTable 2\n")
    assert [line.split()[0:4:3] for line in first.splitlines()[1:]] == [
        ["hepatitis", "3"], ["hepatitis", "1000"], ["flag", "3"], ["flag", "1000"],
    ]  # fmt: skip
    rows = [line.split() for line in second.splitlines()[1:]]
    assert " ".join(rows[0]) == "hepatitis 3 2.00 256 MiB 1.00 3 1,234 3.50 0.25 256 MiB - - -"
    assert rows[3][-3:] == ["110,272", "21959.47", "257.27"]
    saved = list(csv.DictReader(out.with_suffix(".csv").open()))
    assert [(row["data"], row["baseline_calls"], row["paper_p"]) for row in saved][2:] == [
        ("flag", "1234", ""), ("flag", "1234", "7"),
    ]  # fmt: skip


def test_without_a_time_for_the_baseline_there_is_none(data, cells, capsys):
    arguments = ["--data", str(data), "--sets", "flag", "--k", "10", "--baseline-time", "0"]
    assert k_best.main(arguments) == 0
    assert [asked[0] for asked in cells[1]] == ["search"]
    cells_printed = capsys.readouterr().out.splitlines()[-1].split()
    assert " ".join(cells_printed) == "flag 10 2.00 256 MiB 1.00 - - - - - 1,248 4454.21 19.79"


def test_what_was_compiled_runs_again(data, cells):
    cells[0]["search"] = SEARCH | {"compiled": 3}
    k_best.main(["--data", str(data), "--sets", "flag", "--k", "10", "--baseline-time", "0"])
    assert [asked[0] for asked in cells[1]] == ["search", "search"]


@pytest.mark.parametrize(
    ("method", "changed", "said"),
    [
        ("search", None, "flag, k = 10: not finished: failed: no such file"),
        ("search", SEARCH | {"status": TIME_LIMIT}, "flag, k = 10: not finished: time_limit"),
        ("bn-graph", None, "flag, k = 10: A* failed: no such file"),
        ("bn-graph", BN_GRAPH | {"costs": [10.0, 10.4, 11.0]}, "flag, k = 10: A* found other costs"),
        ("bn-graph", BN_GRAPH | {"costs": [10.0, 10.5]}, "flag, k = 10: A* found other costs"),
        ("bn-graph", BN_GRAPH | {"costs": [10.0, 10.5], "status": TIME_LIMIT}, None),
    ],
)
def test_faults(data, cells, capsys, method, changed, said):
    cells[0][method] = changed
    code = k_best.main(["--data", str(data), "--sets", "flag", "--k", "10"])
    out = capsys.readouterr().out
    assert code == (said is not None)
    assert said is None or out.splitlines()[-1].startswith(said)
    assert ("> 1,234" in out) == (said is None)


def test_both_methods_find_the_same_in_processes_of_their_own():
    own, other = (k_best.cell(method, EXAMPLE, 20, []) for method in ("search", "bn-graph"))
    assert own.document["status"] == other.document["status"] == OPTIMAL
    assert own.document["costs"] == pytest.approx(other.document["costs"], abs=1e-5)
    assert len(own.document["costs"]) == 20
    assert other.document["calls"] <= 2**8
    assert own.document["rss_bytes"] > 2**20
    assert own.cpu_seconds > 0


def test_a_cell_writes_what_it_found(tmp_path):
    result = tmp_path / "result.json"
    assert k_best_cell.main(["bn-graph", str(EXAMPLE), "5", str(result), "--seconds", "0.0"]) == 0
    assert json.loads(result.read_text())["status"] == TIME_LIMIT
