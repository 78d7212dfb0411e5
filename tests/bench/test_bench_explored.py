"""The comparison of selections and searches: categories, the sign test, the parts of the data, the tables."""

import gzip
import re
from dataclasses import replace

import numpy as np
import pytest
from cases import dataset_of

from bench import explored
from bench.explored import GREEDY, INDEPENDENCE, SEQUENTIAL, SMALL_FIRST


@pytest.mark.parametrize(
    ("difference", "number"),
    [(1e9, 0), (10.1, 0), (10.0, 1), (6.0, 2), (2.0, 3), (0.0, 3), (-2.0, 4), (-6.1, 5), (-10.1, 6), (-1e9, 6)],
)
def test_a_difference_is_in_one_category(difference, number):
    assert explored.category(difference) == number


def test_the_sign_test():
    assert explored.p_value(0, 5) == 1
    assert explored.p_value(5, 5) == 1 / 32
    assert explored.p_value(3, 4) == 5 / 16


def test_tables_count_who_is_better():
    """Costs: what is cheaper has the higher BIC."""
    one = {(INDEPENDENCE, "obs"): 100.0, (SMALL_FIRST, "obs"): 92.0, (GREEDY, "obs"): 111.0, (SEQUENTIAL, "obs"): 95.0}
    one |= {(selection, "asobs"): cost - 7.0 for (selection, _), cost in list(one.items())}
    selections, paired, searches = explored.tables([one, one], ["obs", "asobs"])
    rows = [line.split()[-4:] for line in selections.splitlines()[1:]]
    assert rows == [["2", "0", "2", "0"], *[["0"] * 4] * 3, ["0", "2", "0", "2"], *[["0"] * 4] * 2, ["0.25", "1"] * 2]
    assert "OBS: IS vs GS" in selections
    rows = [line.split()[-4:] for line in paired.splitlines()[1:]]
    assert rows == [["2", "0"] * 2, ["0"] * 4, ["0", "2"] * 2, *[["0"] * 4] * 4, ["0.25"] * 4]
    assert "ASOBS: IS+ vs SQ" in paired
    rows = [line.split()[-4:] for line in searches.splitlines()[1:]]
    assert rows == [["0"] * 4, ["2"] * 4, *[["0"] * 4] * 5, ["0.25"] * 4]
    assert "SQ: ASOBS vs OBS" in searches


@pytest.fixture
def folder(tmp_path):
    """Data of which each column is the one before it, nearly."""
    (tmp_path / "large").mkdir()
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 2, (91, 6))
    for v in range(1, 6):
        codes[:, v] = np.where(rng.random(91) < 0.9, codes[:, v - 1], codes[:, v])
    text = "\n".join(",".join(map(str, row)) for row in codes.tolist()) + "\n"
    (tmp_path / "large" / "chain.data.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "plain.csv").write_text("a,b,c,d,e,f\n" + text)
    return tmp_path


def test_the_records_are_split_at_random(folder):
    parts = list(explored.cases(folder, ["chain"], 3, 1))
    assert [part.name for part in parts] == ["chain 1", "chain 2", "chain 3"]
    assert [part.dataset.records for part in parts] == [31, 30, 30]
    (whole,) = explored.cases(folder, [str(folder / "plain.csv")], 1, 1)
    assert whole.name == "plain"
    joined = np.concatenate([part.dataset.codes for part in parts])
    assert sorted(joined.tolist()) == sorted(whole.dataset.codes.tolist())
    assert parts[0].dataset.codes.tolist() != whole.dataset.codes[::3].tolist()
    assert len({part.seed for part in parts}) == 3


def test_selections_and_searches_are_compared(folder, monkeypatch, capsys):
    monkeypatch.setattr(explored, "LEAST_SECONDS", 0.05)
    monkeypatch.setattr(explored, "searched", lambda lists, search, *_: 50.0 - 3.0 * (search == "asobs"))
    arguments = ["--data", str(folder), "--names", "chain", "--splits", "2", "--exploring", "0.001", "--threads", "1"]
    assert explored.main([*arguments, "--searches", "obs,asobs"]) == 0
    text = capsys.readouterr().out
    heads = "BIC of IS-obs, IS-asobs, IS+-obs, IS+-asobs, GS-obs, GS-asobs, SQ-obs, SQ-asobs"
    assert text.startswith(f"{heads}\nchain 1, 6 x 46: -50.0  -47.0  -50.0")
    assert re.search(r"\nprocessor seconds: IS \d+, IS\+ \d+, GS \d+, SQ \d+, searching \d+\n", text)
    assert text.endswith("ASOBS is not worse than OBS from the same order: 16 of 16\n")
    monkeypatch.setattr(explored, "settle", lambda *_: np.inf)
    assert explored.main([*arguments, "--searches", "obs,asobs"]) == 1


def test_a_search_ends_and_costs_what_it_found():
    dataset = dataset_of(np.random.default_rng(0).integers(0, 2, (50, 5)))
    options = explored.Options(0.001, 40.0, 0.01, ["obs"], 2, 1)
    lists = explored.explored(dataset, INDEPENDENCE, options)
    assert lists.variables == 5
    cheapest = [lists.costs[lists.first[x] : lists.first[x + 1]].min() for x in range(5)]
    assert explored.searched(lists, "obs", 0, options) >= sum(cheapest) - 1e-9


def test_a_data_set_of_many_variables_is_explored_no_longer_than_all_are_to_be():
    dataset = dataset_of(np.random.default_rng(0).integers(0, 2, (50, 5)))
    options = explored.Options(1.0, 40.0, 0.01, ["obs"], 2, 2)
    assert explored.exploring_seconds(dataset, options) == 1.0
    assert explored.exploring_seconds(dataset, replace(options, most=2.0)) == 0.8  # each on one of the two threads
