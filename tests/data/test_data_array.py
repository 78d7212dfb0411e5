"""Data sets from arrays and data frames."""

import numpy as np
import pytest
from cases import from_array, from_dataframe
from data_invariants import check_dataset

from extbnsl.core.errors import InputError


class Frame:
    """The least that is taken for a data frame."""

    def __init__(self, columns):
        self.columns = list(columns)
        self._columns = columns

    def __getitem__(self, name):
        return self._columns[name]


def test_array_of_integers():
    for dtype in (np.int8, np.int64, np.uint64, np.float32):
        data = from_array(np.array([[3, 0], [1, 0], [3, 7]], dtype=dtype))
        check_dataset(data)
        assert data.names == ("X0", "X1")
        assert data.states == (("1", "3"), ("0", "7"))
        assert data.codes.tolist() == [[1, 0], [0, 0], [1, 1]]
        assert data.source == "<array>"


def test_array_of_negative_numbers_and_of_booleans():
    assert from_array([[-2], [10], [0]]).states == (("-2", "0", "10"),)
    assert from_array([[True], [False]], ["flag"]).states == (("False", "True"),)


def test_array_takes_the_rules_of_files():
    values = np.column_stack([np.arange(50) / 7, np.arange(50) % 2])
    values[3, 1] = np.nan
    data = from_array(values, ["v", "w"], missing="drop", discretise="quantile:2")
    assert data.records == 49
    assert data.arities.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("array", "names", "fragment"),
    [
        ([0, 1], None, "has 1 dimension: give two"),
        (np.zeros((2, 2, 2), int), None, "3 dimensions"),
        (np.zeros((0, 3), int), None, "no records"),
        (np.zeros((3, 0), int), None, "no columns"),
        (None, None, "None is no data: give a data frame"),
        (np.array([[None]]), None, "1 value is missing"),
        (np.array([[1j]]), None, "Complex data not supported"),
        (np.array([["2020-01-01"]], "M8[D]"), None, "column 'X0' has dates or times: make it a few states, or leave"),
        ([[0, 1], [0]], None, "ragged"),
        ([[0.0, 1.0], [0.0, np.nan]], None, "1 value is missing, in column 'X1', first in row 2"),
        ([[0.0], [np.inf]], None, "infinite"),
        (np.arange(22).reshape(-1, 2) / 7, None, "'X0' (continuous, 11 different numbers)"),
        ([[0, 1]], ["a"], "1 name for 2 columns"),
        ([[0, 1]], ["a", "a"], "more than once"),
        ([[0, 1]], ["a", ""], "column 2 has no name"),
        (np.ma.masked_equal([[0, 1], [1, 0]], 1), None, "2 values are missing, in columns 'X0' and 'X1'"),
        (np.arange(100).reshape(-1, 1), None, "identifier"),
    ],
)
def test_arrays_that_are_refused(array, names, fragment):
    with pytest.raises(InputError) as caught:
        from_array(array, names)
    assert fragment in str(caught.value)


def test_minimal_frame():
    data = from_dataframe(Frame({"a": ["x", "y", "x"], 1: [2, 10, 2], "c": [True, False, True]}))
    check_dataset(data)
    assert data.names == ("a", "1", "c")
    assert data.states == (("x", "y"), ("2", "10"), ("False", "True"))
    assert data.source == "<dataframe>"


def test_frame_equals_file(tmp_path):
    from extbnsl.data.reading import read_csv

    path = tmp_path / "d.csv"
    path.write_text("a,b\nx,3\ny,1\n", encoding="utf-8")
    assert read_csv(path).fingerprint == from_dataframe(Frame({"a": ["x", "y"], "b": [3, 1]})).fingerprint


@pytest.mark.parametrize(
    ("frame", "fragment"),
    [
        ({}, "no columns"),
        (Frame({}), "no columns"),
        (Frame({"a": []}), "no records"),
        (Frame({"a": [0, 1], "b": [0]}), "1 to 2 values"),
        (Frame({"1": [0], 1: [0]}), "more than once"),
        (Frame({"": [0]}), "has no name"),
        (Frame({"a": [[0], [1]]}), "column 'a' has lists or other values of several parts"),
        (Frame({"a": np.zeros((2, 2))}), "2 dimensions"),
        (Frame({"a": [0, None, 1]}), "1 value is missing"),
        (Frame({"a": np.array(["2020-01-01"], dtype="datetime64[D]")}), "dates"),
        (Frame({"a": [i / 7 for i in range(30)]}), "'a' (continuous, 30 different numbers)"),
    ],
)
def test_frames_that_are_refused(frame, fragment):
    with pytest.raises(InputError) as caught:
        from_dataframe(frame)
    assert fragment in str(caught.value)


def test_pandas_dtypes():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "i": [3, 1, 3],
            "b": [True, False, True],
            "s": ["x", "y", "x"],
            "f": [1.0, 2.0, 1.0],
            "c": pd.Categorical(["q", "p", "q"], categories=["never", "q", "p"]),
            "n": pd.array([1, 2, 1], dtype="Int64"),
        }
    )
    data = from_dataframe(frame)
    check_dataset(data)
    assert data.states == (
        ("1", "3"),
        ("False", "True"),
        ("x", "y"),
        ("1", "2"),
        ("never", "q", "p"),
        ("1", "2"),
    )
    assert data.codes.tolist() == [[1, 1, 0, 0, 1, 0], [0, 0, 1, 1, 2, 1], [1, 1, 0, 0, 1, 0]]


def test_pandas_missing_values():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "f": [1.0, np.nan, 2.0, 1.0, 1.0, 1.0],
            "s": ["a", "b", None, "None", "a", "a"],
            "n": pd.array([1, 2, 3, pd.NA, 1, 1], dtype="Int64"),
            "c": pd.Categorical(["u", "v", "u", "v", None, "u"]),
            "o": pd.Series(["x", 1, 2, 1, "x", pd.NaT], dtype=object),
        }
    )
    with pytest.raises(InputError, match="5 values are missing"):
        from_dataframe(frame)
    data = from_dataframe(frame, missing="state")
    assert data.states == (
        ("1", "2", "missing"),
        ("None", "a", "b", "missing"),
        ("1", "2", "3", "missing"),
        ("u", "v", "missing"),
        ("1", "2", "x", "missing"),
    )
    assert from_dataframe(frame, missing="drop").records == 1


def test_pandas_duplicate_names():
    pd = pytest.importorskip("pandas")
    with pytest.raises(InputError, match="'a' occurs more than once"):
        from_dataframe(pd.DataFrame([[0, 1]], columns=["a", "a"]))


def test_more_levels_than_codes_are_refused():
    pd = pytest.importorskip("pandas")
    levels = [f"v{i}" for i in range(70_000)]
    frame = pd.DataFrame({"a": pd.Categorical([levels[0], levels[65_536]], categories=levels, ordered=True)})
    with pytest.raises(InputError, match=r"column 'a' has 70,000 states, and no column can have more than 65,535"):
        from_dataframe(frame)
    with pytest.raises(InputError, match="is no whole number from 1 to 65535"):
        from_array([[0], [1]], states={"X0": range(70_000)})
