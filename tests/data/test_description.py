"""The description of columns, against what a solve makes of the same data."""

import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import extbnsl
from extbnsl.core.data_options import DataOptions
from extbnsl.core.errors import InputError
from extbnsl.data import Reading, prepare, read_file
from extbnsl.data.described import STATES_LISTED
from extbnsl.data.description import described

SURVEY = {
    "id": [f"p{i:03}" for i in range(100)],
    "day": [f"{1 + i % 28}.{1 + i % 12}.2024" for i in range(100)],
    "bmi": [f"{18 + i % 20},{i % 10}" for i in range(100)],
    "sex": ["m", "f"] * 50,
    "alc": ["0", "1", "2", "-9"] * 25,
    "dose": ["5 mg", "10 mg"] * 50,
    "height": [f"{150 + i / 3:.2f}" for i in range(100)],
    "one": ["x"] * 100,
    "gap": ["", "0", "1", "0"] * 25,
    "sex2": ["1", "2"] * 50,
}


@pytest.fixture
def describe(tmp_path):
    """The description of columns in a file, its rows by their names."""

    def described_of(columns, **options):
        rows = [columns.keys(), *zip(*columns.values(), strict=True)]
        (tmp_path / "d.csv").write_text("\n".join(",".join(f'"{field}"' for field in row) for row in rows) + "\n")
        found = read_file(described, tmp_path / "d.csv", DataOptions(**options), Reading())
        return {column.name: column for column in found.columns}, found

    return described_of


def test_a_table_tells_all_that_a_solve_refuses(describe):
    rows, found = describe(SURVEY)
    kinds = {name: row.kind for name, row in rows.items()}
    assert kinds == {
        **{"id": "identifier", "day": "date", "bmi": "text", "sex": "states", "alc": "states", "dose": "states"},
        **{"height": "numbers", "one": "constant", "gap": "states", "sex2": "states"},
    }
    assert {name for name, row in rows.items() if row.refused} == {"id", "day", "bmi", "height", "gap"}
    assert (rows["height"].smallest, rows["height"].largest, rows["height"].states) == (150, 183, {})
    assert rows["gap"].missing == 25
    for name, part in {
        "bmi": "--decimal ','",
        "alc": "--na='-9'",
        "height": "--discretise mean",
        "gap": "--missing drop",
        "one": "constant",
        "sex": "divide the records alike",
        "id": "--drop 'id",
        "day": "months or years",
    }.items():
        assert any(part in sentence for sentence in rows[name].odd), name
    assert rows["dose"].odd == rows["sex2"].odd == rows["sex"].odd
    assert (found.records, found.layout) == (100, "comma, header")


def test_once_the_options_are_given_a_solve_does_as_the_table_says(describe, tmp_path):
    options = {"drop": "id,day,sex2,dose", "decimal": ",", "na": "-9", "missing": "state", "discretise": "quantile:3"}
    rows, _ = describe(SURVEY, **options)
    assert not any(row.refused for row in rows.values())
    assert (rows["bmi"].read, rows["bmi"].cut, rows["sex"].cut) == ("decimal comma", "quantile:3", "")
    data = read_file(prepare, tmp_path / "d.csv", DataOptions(**options), Reading())
    for j, name in enumerate(data.names):
        counts = np.bincount(data.codes[:, j]).tolist()
        assert dict(zip(data.states[j], counts, strict=True)) == rows[name].states
    assert (rows["gap"].missing, rows["gap"].states["missing"]) == (25, 25)


@given(st.integers(0, 2**32), st.sampled_from(["refuse", "drop", "state"]))
@example(335, "refuse")  # a record that lacks a value has the weight 0
@settings(deadline=None, max_examples=60)
def test_states_are_counted_as_a_solve_sees_them(tmp_path_factory, seed, missing):
    """After records are dropped, or are there as often as their weights say; of some columns, and the first records."""
    rng = np.random.default_rng(seed)
    records, path = int(rng.integers(1, 12)), tmp_path_factory.mktemp("d") / "d.csv"
    table = rng.choice(["x", "y", "z", ""], (records, 3), p=[0.4, 0.3, 0.1, 0.2])
    weights = rng.choice(["0", "1", "3", "", "2.5"], records, p=[0.2, 0.4, 0.37, 0.02, 0.01])
    path.write_text("a,b,c,w\n" + "".join(f"{','.join(row)},{w}\n" for row, w in zip(table, weights, strict=True)))
    some = {"weights": "w", "records": int(rng.integers(1, 13)), "columns": "c,a"}
    options = DataOptions(missing=missing, header=True, **{key: v for key, v in some.items() if rng.random() < 0.5})
    found = read_file(described, path, options, Reading())
    try:
        data = read_file(prepare, path, options, Reading())
    except InputError:
        assert any(row.refused for row in found.columns)
        return
    assert not any(row.refused for row in found.columns)
    if data.weights is not None:  # of parts of records each is described once
        data = data.taken(data.weights.ends - 1).as_records()
    assert found.records == data.records
    rows = {row.name: row for row in found.columns if row.kind != "weights"}
    assert list(rows) == list(data.names)
    for j, states in enumerate(data.states):
        assert rows[data.names[j]].states == dict(zip(states, np.bincount(data.codes[:, j]).tolist(), strict=True))
    dropped = [warning for warning in data.warnings if "dropped" in warning]
    assert [warning for warning in found.warnings if "dropped" in warning] == dropped


@pytest.mark.parametrize(
    ("columns", "options", "odd", "sentence"),
    [
        (
            {"a": ["0", "", "1"], "b": ["", "1", ""]},
            {"missing": "drop"},
            {"a", "b"},
            "Each record lacks a value, so --missing drop leaves nothing: use --missing state, or leave columns out, "
            "such as with --drop 'b'.",
        ),
        (
            {"a": ["0", "1"], "w": ["1", "x"]},
            {"weights": "w"},
            {"w"},
            "Record 2 of {} has the weight 'x' in column 'w', which is no number: give a number of at least 0.",
        ),
        (
            {"a": ["0", "1"], "w": ["0", "0"]},
            {"weights": "w"},
            {"w"},
            "All weights in column 'w' of {} are 0: give a rec",
        ),
    ],
)
def test_records_that_a_solve_refuses_are_described(describe, columns, options, odd, sentence):
    rows, found = describe(columns, **options)
    assert {name for name, row in rows.items() if row.refused} == odd
    assert found.notes[0].sentence.startswith(sentence.format(found.source))
    assert rows["a"].states == {"0": 1, "1": 1}


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=40)
def test_a_column_is_refused_if_and_only_if_a_solve_refuses_it(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    records = int(rng.integers(1, 120))
    kinds = [
        lambda: rng.integers(0, rng.integers(1, 100), records).astype(str),
        lambda: np.char.mod("%.2f", rng.normal(size=records)),
        lambda: np.char.replace(np.char.mod("%.1f", rng.random(records) * 9), ".", ","),
        lambda: np.char.add("t", rng.integers(0, 300, records).astype(str)),
        lambda: np.where(rng.random(records) < 0.05, "", "x"),
        lambda: np.char.add("<", rng.integers(0, 9, records).astype(str)),
    ]
    path = tmp_path_factory.mktemp("d") / "d.csv"
    rule = [None, "mean", "quantile:3", "paper"][int(rng.integers(0, 4))]
    values = kinds[int(rng.integers(0, len(kinds)))]()
    path.write_text("a,b\n" + "".join(f'"{value}",{i % 2}\n' for i, value in enumerate(values)))
    options = DataOptions(discretise=rule, header=True)
    rows = read_file(described, path, options, Reading()).columns
    try:
        data = read_file(prepare, path, options, Reading())
    except InputError:
        assert rows[0].refused
    else:
        assert not any(row.refused for row in rows)
        first = dict(list(zip(data.states[0], np.bincount(data.codes[:, 0]).tolist(), strict=True))[:STATES_LISTED])
        assert rows[0].states in ({}, first)
        assert rows[0].distinct == len(Counter(values)) or data.states[0] != rows[0].states


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ({"a": ["0"]}, "constant"),
        ({"a": ["", ""], "b": ["0", "1"]}, "empty"),
        ({"a": [f"t{i}" for i in range(300)] * 2}, "text"),
        ({"a": [str(i) for i in range(300)] * 2}, "numbers"),
        ({"a": ["12:30", "12:45"]}, "date"),
    ],
)
def test_columns_of_all_kinds(describe, columns, kind):
    rows, _ = describe(columns, header=True)
    assert rows["a"].kind == kind


@pytest.mark.parametrize("missing", ["average", "em"])
def test_a_column_without_any_value_cannot_be_averaged_or_completed(describe, missing):
    columns = {"a": [""] * 30, "b": ["0", "1"] * 15}
    rows, _ = describe(columns, missing=missing)
    assert rows["a"].refused
    assert any("No record has a value in column 'a'" in str(sentence) for sentence in rows["a"].odd)
    assert not rows["b"].refused


def test_names_that_cannot_be_told_apart_are_odd(tmp_path):
    (tmp_path / "d.csv").write_text("a,a,b\n0,1,0\n1,0,1\n")
    rows = extbnsl.describe(tmp_path / "d.csv")
    assert [row["name"] for row in rows] == ["a", "a", "b"]
    assert any("'a' cannot be told apart" in sentence for sentence in rows[1]["odd"])


def test_weights_are_no_variable(describe):
    rows, _ = describe({"a": ["0", "1"], "w": ["3", "4"]}, weights="w")
    assert (rows["w"].kind, rows["a"].states) == ("weights", {"0": 3, "1": 4})
    with pytest.raises(InputError, match="weights"):
        describe({"a": ["0", "1"]}, weights="w")


def test_frames_and_arrays_are_described_in_pythons_words():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": np.arange(60) / 7, "b": ["x", "y"] * 30})
    rows = extbnsl.describe(frame)
    assert [row["kind"] for row in rows] == ["numbers", "states"]
    assert 'discretise="mean"' in rows[0]["odd"][0]
    assert rows[1]["states"] == {"x": 30, "y": 30}
    assert extbnsl.describe(np.eye(4, dtype=int), names=list("abcd"))[2]["states"] == {"0": 3, "1": 1}
    with pytest.raises(InputError):
        extbnsl.describe(frame["a"])


def test_four_times_the_columns_take_no_sixteen_times_as_long(tmp_path):
    """One pair of five is enough: a busy machine slows some down, and does not speed the longer one up."""

    def taken(columns):
        table = np.random.default_rng(0).random((30, columns))
        np.savetxt(tmp_path / "d.csv", table, "%.3f", ",")
        began = time.process_time()
        rows = extbnsl.describe(tmp_path / "d.csv", header=False)
        assert len(rows) == columns
        assert all(row["refused"] for row in rows)
        return time.process_time() - began

    assert any(taken(4000) < 8 * taken(1000) for _ in range(5))
