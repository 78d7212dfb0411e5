"""Rows that are no records: numbers of states, units and question texts below the names, names again, empty rows."""

import random

import numpy as np
import pytest
from data_invariants import check_dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from extbnsl.core.errors import InputError
from extbnsl.data.column import column_of_texts
from extbnsl.data.encode import measured
from extbnsl.data.file import read_table
from extbnsl.data.first_rows import CERTAIN, LEAST_RECORDS, MOST_ROWS, numbers_of_states, odd_rows
from extbnsl.data.reading import DataOptions, Reading, read_csv

ARITIES = (2, 2, 3, 4)


def states(records=100, arities=ARITIES, start=0, seed=1):
    """Records of all states, as lists of texts."""
    chance = random.Random(seed)
    whole = [[str(start + i % arity) for arity in arities] for i in range(max(arities))]
    return whole + [[str(start + chance.randrange(arity)) for arity in arities] for _ in range(records - len(whole))]


@pytest.fixture
def read(tmp_path):
    """Reads rows of texts, names first, as a file."""

    def reader(rows, delimiter=",", **options):
        path = tmp_path / "d.csv"
        path.write_text("".join(delimiter.join(row) + "\n" for row in rows))
        dataset = read_csv(path, **options)
        check_dataset(dataset)
        return dataset

    return reader


def of_rows(warnings):
    return [str(warning) for warning in warnings if "--skip-lines" in warning]


# Numbers of states


@pytest.mark.parametrize("delimiter", [" ", ",", "\t"])
@pytest.mark.parametrize("records", [30, 1000])
def test_numbers_of_states_are_left_out_with_a_warning(read, delimiter, records):
    rows = [list("ABCD"), list(map(str, ARITIES)), *states(records)]
    data = read(rows, delimiter)
    assert (data.records, tuple(data.arities)) == (records, ARITIES)
    (warning,) = data.warnings
    assert "Row 1 of the data ('2', '2', '3', '4') has the number of states of each column" in warning
    assert "was left out: say --skip-lines 0 if all rows are records" in warning
    kept = read(rows, delimiter, skip_lines=0)
    assert (kept.records, tuple(kept.arities), kept.warnings) == (records + 1, (3, 3, 4, 5), ())
    gone = read(rows, delimiter, skip_lines="2-2")
    assert (gone.fingerprint, gone.warnings) == (data.fingerprint, ())


def test_states_may_have_names(read):
    chance = random.Random(1)
    rows = [[chance.choice("mf"), chance.choice(["low", "mid", "high"]), chance.choice("ny")] for _ in range(60)]
    assert tuple(read([list("abc"), ["2", "3", "2"], *rows]).arities) == (2, 3, 2)


def test_declared_states_that_do_not_occur_make_it_a_warning(read):
    rows = [list("ABCD"), ["2", "2", "3", "6"], *states()]
    data = read(rows)
    assert data.records == 101
    (warning,) = of_rows(data.warnings)
    assert "('2', '2', '3', '6') looks like no record" in warning
    assert "leave it out with --skip-lines 2-2" in warning


@pytest.mark.parametrize("arities", [(2, 2), (2, 2, 2), (2,) * 8, (2, 3, 4), (2, 3, 4, 2, 3)])
def test_a_record_of_last_states_is_none_of_these(read, arities):
    """Codes from 1: the row has values that records have."""
    rows = [[f"v{j}" for j in range(len(arities))], list(map(str, arities)), *states(200, arities, start=1)]
    data = read(rows)
    assert (data.records, of_rows(data.warnings)) == (201, [])


def test_of_many_columns_such_a_record_is_told(read):
    arities = [2 + j % 4 for j in range(24)]
    rows = [[f"v{j}" for j in range(24)], list(map(str, arities)), *states(200, arities, start=1)[5:]]
    data = read(rows)
    (warning,) = of_rows(data.warnings)
    assert data.records == 196, "it may be a record"
    assert "has the number of states of each column: leave it out with --skip-lines 2-2" in warning
    for again in (arities, [*arities[:-2], 1, 1]):
        assert of_rows(read([*rows, list(map(str, again))]).warnings) == [], "a record is nearly the same"


@pytest.mark.parametrize(
    "rows",
    [
        ["a,b", "2,2", "0,1", "1,0", "0,0", "1,1"],
        ["a", "2", *"01" * 50],
        ["a,b,c", "1,0,2", "0,0,0", "0,1,1", "0,2,1", "0,0,1"],
        ["a,b", "?,2", *["0,1", "1,0"] * 50],
    ],
)
def test_few_columns_or_records_prove_nothing(read, rows):
    data = read([row.split(",") for row in rows], missing="state")
    assert (data.records, of_rows(data.warnings)) == (len(rows) - 1, [])


# Units, labels, question texts


@pytest.mark.parametrize(
    ("odd", "skip"),
    [
        ([["years", "mmHg", "code"]], "2-2"),
        ([["How old?", "What pressure?", "Which sex?"], ["Q1", "Q2", "Q3"]], "2-3"),
        ([["How old?", "What pressure?", "Which sex?"], ["Q1", "Q2", "Q3"], ["x1", "x2", "x3"]], "2-4"),
        ([["years", "", "code"]], "2-2"),
        ([['"How\nold\nare you?"', '"and, you?"', "Which sex?"]], "2-4"),
    ],
)
def test_rows_of_units_and_labels_are_told(read, odd, skip):
    records = [[str(20 + 10 * (i % 3)), str(120 + 20 * (i // 2 % 2)), "mf"[i % 2]] for i in range(60)]
    rows = [["age", "bp", "sex"], *odd, *records]
    data = read(rows, missing="state")
    (warning,) = of_rows(data.warnings)
    assert data.records == 60 + len(odd), "nothing is left out"
    assert ("Row 1 of the data" if len(odd) == 1 else f"Rows 1 to {len(odd)} of the data") in warning
    assert f"with --skip-lines {skip}" in warning
    assert odd[0][-1] in warning
    settled = read(rows, skip_lines=skip)
    assert (settled.records, tuple(settled.arities), settled.warnings) == (60, (3, 2, 2), ())
    assert of_rows(read(rows, skip_lines=0, missing="state").warnings) == []


def test_units_over_numbers_are_named_where_the_columns_are_refused(read, tmp_path):
    numbers = np.random.default_rng(1).normal(size=(90, 3)).round(4)
    rows = [["t", "h", "w"], ["s", "cm", "kg"], *[list(map(str, row)) for row in numbers.tolist()]]
    for options in ({}, {"discretise": "mean"}, {"discretise": "quantile:3"}):
        with pytest.raises(InputError, match=r"row 1 of the data \('s', 'cm', 'kg'\) looks like no record") as caught:
            read(rows, **options)
        assert caught.value.row == 1
        assert "leave it out with --skip-lines 2-2" in str(caught.value)
        assert "\n" not in str(caught.value)
    assert read(rows, skip_lines="2-2", discretise="mean").arities.tolist() == [2, 2, 2]
    with pytest.raises(InputError, match=r"row 1 of the data \('s', 'cm', 'kg'\) .* --skip-lines 2-2"):
        read_table(measured, tmp_path / "d.csv", DataOptions(), Reading())
    assert read_table(measured, tmp_path / "d.csv", DataOptions(skip_lines="2-2"), Reading()).records == 90
    with pytest.raises(InputError, match=r"has no column 'x'; its columns are 't', 'h' and 'w'\.$"):
        read(rows, columns="x")


@pytest.mark.parametrize(
    "first",
    ["40,150,x", "20,120,n.d.", "?,?,x", "30,140,m"],
)
def test_a_record_with_some_value_of_its_own_is_one(read, first):
    records = [[str(20 + 10 * (i % 3)), str(120 + 20 * (i // 2 % 2)), "mf"[i % 2]] for i in range(15)]
    data = read([["age", "bp", "sex"], first.split(","), *records], missing="state")
    assert (data.records, of_rows(data.warnings)) == (16, [])


def test_measurements_differ_in_all_records(read):
    numbers = np.random.default_rng(2).normal(size=(60, 6)).round(3)
    rows = [list("abcdef"), *[list(map(str, row)) for row in numbers.tolist()]]
    assert of_rows(read(rows, discretise="mean").warnings) == []
    texts = [list("ab"), *[[f"x{i}", f"y{i}"] for i in range(60)]]
    assert of_rows(read(texts).warnings) == []


def test_a_text_that_is_written_with_blanks_occurs_again(read):
    rows = [list("abc"), ["x ", " y", " z "], *[["x", "y", "z"], ["u", "v", "w"]] * 20]
    assert of_rows(read(rows).warnings) == []


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 6), st.integers(LEAST_RECORDS, 60), st.integers(0, 2**32 - 1))
def test_ordinary_records_are_records(columns, records, seed):
    """Records from one distribution, with rare states: by the rule a first one is told in 3 of 1,000 at most."""
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.full(5, 0.5), columns)
    told = 0
    for _ in range(10):
        drawn = [rng.choice(5, records, p=own).astype(str).tolist() for own in chances]
        made = [column_of_texts(str(j), texts) for j, texts in enumerate(drawn)]
        told += odd_rows(made) > 0
        assert not numbers_of_states(made)[1]
        told += odd_rows(made, last=True) > 0
    assert told <= 1


def test_the_chance_is_what_the_rule_says():
    """n columns of N records with one value alone, in the first: (1 / N) ** n."""
    for records, columns in ((20, 2), (20, 3), (99, 2), (101, 2), (9, 3), (11, 3), (13, 4)):
        texts = ["one", *["other"] * (records - 1)]
        made = [column_of_texts(str(j), texts) for j in range(columns)]
        at_end = [column_of_texts(str(j), texts[::-1]) for j in range(columns)]
        assert odd_rows(made) == odd_rows(at_end, last=True) == (records**-columns < 1e-3)
        assert not odd_rows(made, last=True)
        assert not odd_rows(at_end)
        arity = [column_of_texts(str(j), ["2", "0", *["1"] * (records - 2)]) for j in range(columns)]
        singles = 2 / records  # "2" and "0" both occur once
        assert numbers_of_states(arity)[1] == (singles**columns < CERTAIN)


@pytest.mark.parametrize("records", range(1, LEAST_RECORDS + MOST_ROWS + 1))
def test_few_records_are_compared_with_all_that_are_left(records):
    made = [column_of_texts(str(j), [f"t{i}" if i < 4 else "x" for i in range(records)]) for j in range(30)]
    most = max(0, min(MOST_ROWS, records - LEAST_RECORDS))
    assert odd_rows(made) <= most
    assert odd_rows([column_of_texts("x", ["t"] * records)] * 3, last=True) <= most


@pytest.mark.parametrize("odd", [[["Total", "70", "60", "99"]], [["Mean", ".5", ".4", ".7"], ["N", "100", "99", "98"]]])
@pytest.mark.parametrize("blank", [0, 1, 20])
def test_totals_at_the_end_are_told(read, odd, blank):
    rows = [list("ABCD"), *states(60), *odd, *([[""] * 4] * blank)]
    data = read(rows)
    if blank > 15:  # where they stand is not known any more
        assert not [warning for warning in of_rows(data.warnings) if "look" in warning]
        return
    (warning,) = [warning for warning in of_rows(data.warnings) if "look" in warning]
    first, last = 62, 61 + len(odd)
    assert ("the last row" if len(odd) == 1 else "the last 2 rows") in warning.lower()
    assert f"--skip-lines {first}-{last}" in warning
    assert all(map(warning.__contains__, odd[-1]))
    left = read(rows, skip_lines=f"{first}-{last}")
    assert left.records == 60
    assert not [warning for warning in left.warnings if "look" in warning]


def test_totals_are_named_where_the_columns_are_refused(read):
    rows = [["x", "y"], *([f"{i}.{i}", str(i % 2)] for i in range(80)), ["Sum", "40"]]
    with pytest.raises(InputError) as caught:
        read(rows)
    assert "the last row of the data ('Sum', '40')" in str(caught.value)
    assert caught.value.row == 81
    assert "--skip-lines 82-82" in str(caught.value)


# Names once more, rows without a value


@pytest.mark.parametrize("at", [[0], [50], [0, 50], [99, 100, 101]])
def test_names_once_more_are_left_out_with_a_warning(read, at):
    names, records = list("ABCD"), states()
    rows = [names, *records]
    for place in at:
        rows.insert(place + 1, names)
    data = read(rows)
    assert (data.fingerprint, data.names) == (read([names, *records]).fingerprint, tuple(names))
    (warning,) = data.warnings
    assert f"Row {at[0] + 1} of the data" in warning
    assert "the names of the columns once more" in warning
    assert read(rows, skip_lines="0", header=True).records == 100 + len(at)


def test_records_that_are_the_first_once_more_stay(read):
    for rows in (["m,male", "f,female"] * 9, ["x,1", "y,0"] * 9, ["a", "0", "a", "1"]):
        data = read([row.split(",") for row in rows], header=False)
        assert (data.records, data.warnings) == (len(rows), ())


@pytest.mark.parametrize("more", [1, 4])
def test_rows_without_a_value_at_the_end_are_left_out_with_a_warning(read, more):
    rows = [list("ABCD"), *states(), *[[""] * 4] * more]
    for missing in ("refuse", "drop", "state"):
        data = read(rows, missing=missing)
        assert (data.records, tuple(data.arities)) == (100, ARITIES)
        (warning,) = data.warnings
        assert ("The last row has no value" if more == 1 else "The last 4 rows have no value") in warning
    assert read(rows, missing="state", skip_lines=0).records == 100 + more
    with pytest.raises(InputError, match=r"values are missing"):
        read([list("AB"), ["", ""], ["0", "1"], ["1", "0"]])


# All of it at once


def test_a_text_of_everything_is_read(tmp_path):
    records = states(50)
    lines = ["sep=;", "# of the lab", "", ";".join(["", *"ABCD", ""]), ";".join(["", "m", "kg", "s", "K", ""])]
    lines += [";".join([str(i), *row, ""]) for i, row in enumerate(records)]
    (tmp_path / "d.csv").write_bytes(("\ufeff" + "\r\n".join(lines) + "\r\n;;;;;\r\n").encode())
    with pytest.raises(InputError, match=r"column 1 has no name; row 1 of the data .* with --skip-lines 5-5"):
        read_csv(tmp_path / "d.csv", header=True)
    data = read_csv(tmp_path / "d.csv", skip_lines="5-5")
    assert (data.names, data.records, tuple(data.arities)) == (tuple("ABCD"), 50, ARITIES)
    assert len(data.warnings) == 2, "of row numbers, and of the last row"
