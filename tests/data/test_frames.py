"""Records as callers of Python have them: the same table is the same data, whatever carries it."""

import collections
import datetime
import decimal
import importlib
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from cases import from_array, from_dataframe
from data_invariants import check_dataset
from hypothesis import given, settings
from hypothesis import strategies as st
from independent import bdeu_families
from test_other_files import written

import extbnsl
from extbnsl.core.data_options import DataOptions
from extbnsl.core.errors import InputError
from extbnsl.data import measured
from extbnsl.data.given import given as taken

LEVELS = ["z", "y", "x"]
WHEN = datetime.datetime(2020, 1, 1)


def installed(name):
    """The package, or the test is skipped, which says so."""
    return pytest.importorskip(name, reason=f"{name} is not installed")


def of_duckdb(frame):
    duckdb = installed("duckdb")
    duckdb.sql("drop type if exists levels; create type levels as enum ('z', 'y', 'x')")
    plain = frame.astype({"kind": str})
    return duckdb.sql("select kind::levels as kind, number, text, truth from plain") if len(plain) else None


def of_polars(frame, lazy=False):
    polars = installed("polars")
    made = polars.DataFrame(
        {name: frame[name].tolist() for name in frame}, schema_overrides={"kind": polars.Enum(LEVELS)}
    )
    return made.lazy() if lazy else made


DECLARING = {
    "pandas": lambda frame: frame,
    "ordered": lambda frame: frame.assign(kind=frame["kind"].cat.as_ordered()),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "pandas of pyarrow": lambda frame: frame.assign(
        kind=pd.array(pa.array(frame["kind"]), dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string())))
    ),
    "batch": lambda frame: pa.RecordBatch.from_pandas(frame, preserve_index=False),
    "reader": lambda frame: pa.Table.from_pandas(frame, preserve_index=False).to_reader(),
    "chunks": lambda frame: pa.concat_tables(
        [pa.Table.from_pandas(frame.iloc[at : at + 1], preserve_index=False) for at in range(len(frame))]
    ),
    "polars": of_polars,
    "lazy": lambda frame: of_polars(frame, lazy=True),
    "duckdb": of_duckdb,
}
NAMED = {
    "dict": lambda frame: {name: frame[name].tolist() for name in frame},
    "series": lambda frame: {name: frame[name] for name in frame},
    "records": lambda frame: frame.to_dict("records"),
    "tuples": lambda frame: list(frame.itertuples(index=False)),
    "structured": lambda frame: frame.to_records(index=False),
    "xarray": lambda frame: installed("xarray").Dataset({name: ("row", frame[name].to_numpy()) for name in frame}),
}


@st.composite
def tables(draw):
    """A data frame with a category whose levels need not occur, numbers, texts and truth values."""
    rows = draw(st.integers(1, 6))
    column = lambda values: draw(st.lists(st.sampled_from(values), min_size=rows, max_size=rows))  # noqa: E731
    return pd.DataFrame(
        {
            "kind": pd.Categorical(column(LEVELS), categories=LEVELS),
            "number": column([3, -1, 2**62 + 1]),
            "text": column(["u", " w", "None"]),
            "truth": column([True, False]),
        }
    )


@pytest.mark.parametrize("carrier", DECLARING)
@settings(max_examples=15, deadline=None)
@given(frame=tables())
def test_a_table_with_categories_is_the_same_in_every_frame(carrier, frame):
    data = from_dataframe(DECLARING[carrier](frame))
    check_dataset(data)
    assert data.states[0] == tuple(LEVELS)
    assert [LEVELS[code] for code in data.codes[:, 0]] == frame["kind"].tolist()
    assert data.fingerprint == from_dataframe(frame).fingerprint
    assert data.source == "<dataframe>"


@pytest.mark.parametrize("carrier", NAMED)
@settings(max_examples=15, deadline=None)
@given(frame=tables())
def test_a_table_is_the_same_in_pythons_own_containers(carrier, frame):
    frame = frame.astype({"kind": str})
    data = from_dataframe(NAMED[carrier](frame))
    check_dataset(data)
    assert data.fingerprint == from_dataframe(frame).fingerprint
    for j, name in enumerate(frame):
        assert [data.states[j][code] for code in data.codes[:, j]] == [str(v).strip() for v in frame[name]]


def test_the_score_of_a_table_is_the_same_from_everywhere(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"a": pd.Categorical(rng.choice(["x", "y"], 60), categories=LEVELS), "b": rng.choice(["u", "v"], 60)}
    )
    (tmp_path / "data.arff").write_text(
        "@relation r\n@attribute a {z,y,x}\n@attribute b string\n@data\n"
        + "".join(f"{a},{b}\n" for a, b in frame.itertuples(index=False))
    )
    sources = [
        frame,
        frame.assign(a=frame["a"].cat.as_ordered()),
        pa.Table.from_pandas(frame),
        extbnsl.read_data(written(tmp_path, "parquet", frame)),
        extbnsl.read_data(written(tmp_path, "rds", frame)),
        extbnsl.read_data(tmp_path / "data.arff"),
    ]
    costs = [extbnsl.learn(source, score="bdeu", ess=10, threads=1).cost for source in sources]
    assert len(set(costs)) == 1
    data = from_dataframe(frame)
    families = bdeu_families(data.codes, data.arities, 1, ess=10)  # without those that a subset beats
    first, second = ({parents: cost for cost, parents in own} for own in families)
    alone = frozenset()
    pairs = [(alone, alone), (alone, frozenset({0})), (frozenset({1}), alone)]
    best = min(first[p] + second[q] for p, q in pairs if p in first and q in second)
    assert costs[0] == pytest.approx(best)


@pytest.mark.parametrize(
    ("values", "states", "codes"),
    [
        (pd.array([2**60 + 1, None, 2**60], dtype="Int64"), (str(2**60), str(2**60 + 1), "missing"), [1, 2, 0]),
        (pd.array([True, None, False], dtype="boolean"), ("False", "True", "missing"), [1, 2, 0]),
        (pd.array([1.5, None, 2.0], dtype="Float32"), ("1.5", "2", "missing"), [0, 2, 1]),
        (pd.array(["b ", None, "a"], dtype="string"), ("a", "b", "missing"), [1, 2, 0]),
        ([decimal.Decimal("1.10"), None, decimal.Decimal("1.1")], ("1.1", "missing"), [0, 1, 0]),
        ([b"yes", b"no", None], ("no", "yes", "missing"), [1, 0, 2]),
        (pd.arrays.SparseArray([0, 0, 1]), ("0", "1"), [0, 0, 1]),
        ([None, None, None], ("missing",), [0, 0, 0]),
        ([2.0, "x", pd.NaT], ("2", "x", "missing"), [0, 1, 2]),
        (pd.cut([1, 2, 3], 2), ("(0.998, 2.0]", "(2.0, 3.0]"), [0, 0, 1]),
        (pd.Categorical([2, None, 1], categories=[3, 2, 1]), ("3", "2", "1", "missing"), [1, 3, 2]),
    ],
)
def test_columns_of_pandas(values, states, codes):
    data = from_dataframe(pd.DataFrame({"a": values}), missing="state")
    assert (data.states, data.codes[:, 0].tolist()) == ((states,), codes)


@pytest.mark.parametrize(
    ("values", "states"),
    [
        (pa.array([2**60 + 1, None]), (str(2**60 + 1), "missing")),
        (pa.array([decimal.Decimal("1.1"), None]), ("1.1", "missing")),
        (pa.array([1.0, float("nan")]), ("1", "missing")),
        (pa.array([b"a", None]), ("a", "missing")),
        (pa.nulls(2), ("missing",)),
        (pa.DictionaryArray.from_arrays(pa.array([0, None], pa.uint8()), pa.array(["p", "q"])), ("p", "q", "missing")),
    ],
)
def test_columns_of_arrow(values, states):
    assert from_dataframe(pa.table({"a": values}), missing="state").states == (states,)


def test_a_category_of_polars_declares_nothing():
    polars = installed("polars")
    frame = polars.DataFrame({"a": polars.Series(["y", "x"], dtype=polars.Categorical)})
    assert from_dataframe(frame).states == (("x", "y"),)
    big = polars.DataFrame({"a": polars.Series([2**100, 1], dtype=polars.Int128)})
    assert from_dataframe(big).states == (("1", str(2**100)),)


DATES, SEVERAL = "has dates or times", "has lists or other values of several parts"


@pytest.mark.parametrize(
    ("column", "fault"),
    [
        (pd.to_datetime([WHEN, None]), DATES),
        (pd.to_timedelta([1, 2]), DATES),
        ([WHEN.date(), None], DATES),
        ([WHEN.time(), "x"], DATES),
        (pa.chunked_array([[WHEN.date(), None]]), DATES),
        (np.array([WHEN, WHEN], "M8[s]"), DATES),
        ([[1], [2]], SEVERAL),
        ([(1, 2), None], SEVERAL),
        ([{1}, {2}], SEVERAL),
        (pa.chunked_array([[{"a": 1}, {"a": 2}]]), SEVERAL),
        ([1j, 2], "has complex numbers"),
        (np.array([1j, 2]), "has complex numbers"),
        ([b"\xff", b"a"], "has bytes that are no text"),
    ],
)
def test_columns_that_cannot_be_states_are_refused_unless_they_are_left_out(column, fault):
    data = {"odd": column, "a": [1, 2]}
    with pytest.raises(InputError, match=f"column 'odd' {fault}: make it a few states, or leave it out with --drop"):
        from_dataframe(data)
    assert from_dataframe(data, drop="odd").names == ("a",)
    assert from_dataframe(data, columns="a").names == ("a",)


def test_an_infinite_number_is_refused_among_other_values():
    for values in ([1.0, float("inf")], [None, float("inf")], ["x", float("-inf")]):
        with pytest.raises(InputError, match="column 'a' has an infinite value"):
            from_dataframe({"a": values})


@pytest.mark.parametrize(
    ("index", "warned"),
    [
        (pd.Index([7, 8], name="patient"), "The index 'patient' of the data frame is left out: reset_index() makes it"),
        (pd.MultiIndex.from_tuples([(1, 2), (3, 4)], names=["p", None]), "The index 'p' of the data frame is left out"),
        (pd.MultiIndex.from_tuples([(1, 2), (3, 4)], names=["p", "q"]), "The indexes 'p' and 'q' of the data frame"),
        (pd.Index([7, 8]), None),
    ],
)
def test_an_index_with_a_name_is_said_to_be_left_out(index, warned):
    data = from_dataframe(pd.DataFrame({"a": [1, 2]}, index=index))
    assert data.names == ("a",)
    assert [warning.startswith(warned) for warning in data.warnings] == ([] if warned is None else [True])


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (None, "data: None is no data: give a data frame, or an array of records by variables."),
        (7, "data: 7 is no data"),
        ({1, 2}, "data: {1, 2} is no data"),
        (object, "data: <class 'object'> is no data"),
        (iter([[1]]), "is no data"),
        ("data.csv", "data: 'data.csv' is a file name; read the file first, with extbnsl.read_data."),
        (b"data.csv", "is a file name"),
        (pd.Series([1, 2]), "data: a series is a single column; give a data frame (series.to_frame())."),
        (pa.chunked_array([[1]]), "data: a series is a single column"),
        ([{"a": 1}, 2], "has 1 dimension"),
        ({"a": 1, "b": [1]}, "<dataframe>: column 'a' is 1: give a list of one value for each record."),
        ({"a": "xyz"}, "column 'a' is 'xyz': give a list"),
        ({"a": {1, 2}}, "column 'a' is {1, 2}: give a list"),
        ({"a": [1, 2], "b": [1]}, "<dataframe> has columns of 1 to 2 values: make them equally long."),
        ({}, "<dataframe> has no columns"),
        ({"a": [], "b": []}, "<dataframe> has no records"),
        ({"a": [1], " a": [2]}, "the name 'a' occurs more than once"),
        (pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), "the name 'a' occurs more than once"),
        (pd.DataFrame({("a", "b"): [1], "('a', 'b')": [2]}), "occurs more than once"),
    ],
)
def test_what_is_no_data_is_refused_in_a_sentence(data, sentence):
    with pytest.raises(InputError) as caught:
        from_dataframe(data)
    assert sentence in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_names_are_for_arrays_alone():
    for data in ({"a": [1]}, [{"a": 1}], pd.DataFrame({"a": [1]}), pa.table({"a": [1]})):
        with pytest.raises(InputError, match=r"names: a \w+ has names of its own; leave them out"):
            from_array(data, names=["b"])


def test_a_record_that_lacks_a_name_lacks_a_value():
    records = [{"a": 1, "b": "x"}, {"c": 2.0, "b": "y"}, {"a": 2, "b": "x", "c": 1}]
    with pytest.raises(InputError, match="2 values are missing, in columns 'a' and 'c', first in row 1 of the data"):
        from_dataframe(records)
    data = from_dataframe(records, missing="state")
    assert data.names == ("a", "b", "c")
    assert data.states == (("1", "2", "missing"), ("x", "y"), ("1", "2", "missing"))
    point = collections.namedtuple("point", "p q")
    assert from_dataframe([point(1, "u"), point(2, "v")]).names == ("p", "q")


def test_arrays_may_have_texts_and_masks():
    assert from_array([["x", 1], [None, 2.0]], missing="state").states == (("x", "missing"), ("1", "2"))
    assert from_array(np.array([["b", "u"], ["a", "u"]])).states == (("a", "b"), ("u",))
    masked = np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    data = from_array(masked, missing="state")
    assert data.states == (("1", "3"), ("4", "missing"))
    assert from_dataframe({"a": masked[:, 1]}, missing="state").states == (("4", "missing"),)


def test_large_whole_numbers_stay_apart():
    data = from_dataframe({"a": [2**60 + 1, 2**60], "b": [2**70, 2**70 + 1], "c": [2**60 + 1, 0.5], "d": [True, 2]})
    assert data.arities.tolist() == [2, 2, 2, 2]
    assert data.states[1:] == ((str(2**70), str(2**70 + 1)), ("0.5", str(2**60 + 1)), ("2", "True"))


def test_numbers_of_frames_are_those_of_arrays():
    values = np.random.default_rng(0).normal(size=(20, 2))
    expected = taken(values, ["a", "b"]).made(measured, DataOptions()).values
    for frame in (pa.table({"a": values[:, 0], "b": values[:, 1]}), {"a": list(values[:, 0]), "b": values[:, 1]}):
        made = taken(frame).made(measured, DataOptions())
        np.testing.assert_array_equal(made.values, expected)


def test_learn_takes_columns_and_records():
    columns = {"a": [0, 1] * 20, "b": [0, 1] * 20}
    records = [{"a": a, "b": a} for a in columns["a"]]
    for data in (columns, records, pa.table(columns)):
        result = extbnsl.learn(data, threads=1)
        assert (result.status, sum(map(len, result.parents.values()))) == ("optimal", 1)
    costs = extbnsl.learn({"a": {(): 1.0}, "b": {(): 2.0, ("a",): 0.5}}, threads=1)
    assert costs.cost == 1.5


def test_rules_may_be_a_mapping():
    frame = pd.DataFrame({"x": np.arange(60) / 7, "y=z": range(60)})
    by_mapping = from_dataframe(frame, discretise={"x": "quantile:3", "y=z": "width:2"})
    assert by_mapping.arities.tolist() == [3, 2]
    assert by_mapping.fingerprint == from_dataframe(frame, discretise=["x=quantile:3", "y=z=width:2"]).fingerprint
    with pytest.raises(InputError, match="--discretise 'quantile': give a number of intervals"):
        from_dataframe(frame, discretise={"x": "quantile"})


def test_without_its_package_a_frame_says_what_is_needed(uninstalled):
    class Stream:
        __arrow_c_stream__ = None

    uninstalled("pyarrow")
    with pytest.raises(InputError, match="data: reading a Stream needs pyarrow: pip install 'pyarrow'"):
        from_dataframe(Stream())


def test_arrays_load_no_reader_of_frames():
    assert importlib.util.find_spec("narwhals") is not None
    code = "import sys, numpy, extbnsl; from extbnsl.data.given import given; given(numpy.eye(2)); given({'a': [1]})"
    said = subprocess.run(
        [sys.executable, "-c", f"{code}; print('narwhals' in sys.modules)"], capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "False"


def test_categories_that_no_record_has_are_told():
    frame = pd.DataFrame({name: pd.Categorical(["x", "x"], categories=LEVELS) for name in "ab"})
    (warning,) = from_dataframe(frame).warnings
    assert warning == (
        "Columns 'a' ('z' and 'y'), 'b' ('z' and 'y') declare states that no record has, and these count: say --states "
        "to declare others."
    )
    assert from_dataframe(frame, states={"a": ["x"], "b": ["x", "y"]}, columns="b").warnings == ()
    (warning,) = from_dataframe(frame, columns="a").warnings
    assert warning.startswith("Column 'a' ('z' and 'y') declares states")


def test_categories_may_number_the_records_which_is_told():
    ids = pd.Series([f"p{i}" for i in range(70)], dtype="category")
    (warning,) = from_dataframe(pd.DataFrame({"id": ids})).warnings
    assert "Column 'id' looks like an identifier" in warning
    assert from_dataframe(pd.DataFrame({"id": ids}), discrete="id").warnings == ()
    many = pd.DataFrame({"town": pd.Series([f"t{i % 40}" for i in range(400)], dtype="category")})
    (warning,) = from_dataframe(many).warnings
    assert "'town' has more than 32 states" in warning
