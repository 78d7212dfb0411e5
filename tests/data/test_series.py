"""Rows of a time series, against a loop over its records; times of all kinds, gaps, units; and what is refused."""

import datetime
from dataclasses import replace

import numpy as np
import pandas
import pytest
from cases import from_array, from_dataframe

import extbnsl
from extbnsl.core.data_options import DataOptions
from extbnsl.core.errors import InputError
from extbnsl.data import Numbers, measured
from extbnsl.data.given import given


def rows_of(records, lags, step):
    """By a loop: what each record and the lags before it hold, (time, unit, values); None where one is not there."""
    made, left_out, place = [], 0, {}
    units = dict.fromkeys(unit for _, unit, _ in records)
    for unit in units:
        own = [(time, values) for time, u, values in records if u == unit]
        place = {round(time / step): values for time, values in own}
        for number, (time, _) in enumerate(own):
            past = [place.get(round(time / step) - lag) for lag in range(lags + 1)]
            if None not in past:
                made.append([value for one in past for value in one])
            elif number >= lags:
                left_out += 1
    return made, left_out


def random_records(seed, units=3, times=40):
    """Records with gaps, those of all units mixed, in time within each."""
    rng = np.random.default_rng(seed)
    step = float(rng.choice([1.0, 0.25, 7.0]))
    records = [
        (step * t, f"u{u}", tuple(rng.integers(0, 3, 2).tolist()))
        for u in range(units)
        for t in range(times)
        if rng.random() < 0.85
    ]
    records.sort(key=lambda record: (record[0], rng.random()))
    return records, step


def framed(records):
    return {
        "when": [time for time, _, _ in records],
        "who": [unit for _, unit, _ in records],
        "a": [values[0] for *_, values in records],
        "b": [values[1] for *_, values in records],
    }


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("lags", [1, 2, 3])
def test_rows_are_those_of_a_loop(seed, lags):
    records, step = random_records(seed)
    data = from_dataframe(framed(records), time_column="when", unit_column="who", lags=lags)
    made, left_out = rows_of(records, lags, step)
    assert data.names == tuple(["a", "b"] + [f"{name}[t-{lag}]" for lag in range(1, lags + 1) for name in ("a", "b")])
    values = [[int(data.states[j][code]) for j, code in enumerate(row)] for row in data.codes.tolist()]
    assert values == made
    assert data.slices.left_out == left_out
    assert data.slices.ends[-1] == len(made)
    assert data.given == range(2, 2 * lags + 2)
    assert f"{left_out:,} {'is' if left_out == 1 else 'are'} left out" in data.warnings[-1]


def test_numbers_make_the_same_rows():
    records, step = random_records(1)
    options = DataOptions(time_column="when", unit_column="who", lags=2)
    data = given(framed(records)).made(measured, options)
    assert isinstance(data, Numbers)
    assert data.values.tolist() == rows_of(records, 2, step)[0]


def test_a_unit_does_not_go_on_in_the_next():
    frame = {"t": [1, 2, 3, 4, 5], "u": list("ppqqq"), "a": list("xyxyy")}
    data = from_dataframe(frame, time_column="t", unit_column="u")
    assert data.codes.tolist() == [[1, 0], [1, 0], [1, 1]]
    assert data.slices.ends.tolist() == [1, 3]


def test_a_record_without_a_value_is_a_gap():
    frame = {"t": [1, 2, 3, 4, 5, 6], "a": ["x", "y", None, "x", "y", "y"]}
    data = from_dataframe(frame, time_column="t", missing="drop")
    assert data.codes.tolist() == [[1, 0], [1, 0], [1, 1]]
    assert data.slices.left_out == 1
    state = from_dataframe(frame, time_column="t", missing="state")
    assert state.records == 5
    assert state.states[0] == state.states[1] == ("x", "y", "missing")


def test_states_and_cuts_are_those_of_the_whole_series():
    frame = {"t": range(8), "a": ["only first", *"xyxyxyx"], "v": np.arange(8) / 7}
    data = from_dataframe(frame, time_column="t", discretise="v=quantile:2")
    assert data.states[0] == data.states[2] == ("only first", "x", "y")
    assert data.states[1] == data.states[3]
    assert dict(data.treated) == {"v": "quantile:2", "v[t-1]": "quantile:2"}


DAYS = ["2024-02-27", "2024-02-28", "2024-02-29", "2024-03-01", "2024-03-03"]


@pytest.mark.parametrize(
    ("times", "step", "rows"),
    [
        (DAYS, "1 day", 3),
        (["27.2.2024", "28.2.2024", "29.02.2024", "1.3.2024", "3.3.2024"], "1 day", 3),
        (["2024/2/27", "2024/2/28", "2024/2/29", "2024/3/1", "2024/3/3"], "1 day", 3),
        (["2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30", "2024-06-30"], "1 month", 3),
        (["2023-12-05", "2024-01-05", "2024-02-05", "2024-03-05", "2024-05-05"], "1 month", 3),
        (["2023-11", "2023-12", "2024-01", "2024-02", "2024-04"], "1 month", 3),
        (["2019-01-01", "2020-01-01", "2021-01-01", "2022-01-01", "2024-01-01"], "1 year", 3),
        (["2024-01-01", "2024-04-01", "2024-07-01", "2024-10-01", "2025-01-01"], "3 months", 4),
        (
            ["2024-01-01T10:00", "2024-01-01T10:30", "2024-01-01 11:00", "2024-01-01T11:30Z", "2024-01-01T13:00"],
            "30 minutes",
            3,
        ),
        (
            ["2024-01-01T23:00+01:00", "2024-01-01T23:00Z", "2024-01-02T00:00", "2024-01-02T01:00", "2024-01-02T03:00"],
            "1 hour",
            3,
        ),
        ([0.1, 0.2, 0.30000000000000004, 0.4, 0.7], "0.1", 3),
        ([2019, 2020, 2021, 2022, 2024], "1", 3),
        ([10, 20, 30, 40, 60], "10", 3),
    ],
)
def test_steps(times, step, rows):
    data = from_dataframe({"t": times, "a": list("xyxxy")}, time_column="t")
    assert data.slices.step == step
    assert data.records == rows
    assert data.slices.left_out == 4 - rows


def test_times_of_frames():
    days = [datetime.date.fromisoformat(day) for day in DAYS]
    columns = [
        days,
        pandas.to_datetime(pandas.Series(DAYS)),
        pandas.to_datetime(pandas.Series(DAYS)).dt.tz_localize("Europe/Berlin"),
        np.array(DAYS, "datetime64[D]"),
    ]
    for times in columns:
        data = from_dataframe({"t": times, "a": list("xyxxy")}, time_column="t")
        assert (data.records, data.slices.step) == (3, "1 day")
    with pytest.raises(InputError, match="dates or times"):
        from_dataframe({"t": days, "a": list("xyxxy")})


@pytest.mark.parametrize("step", ["1ns", "700ns", "1us", "1ms", "10ms", "20ms", "100ms", "333ms", "7s"])
def test_short_steps_are_as_good_as_long_ones(step):
    """Floats of seconds since long ago, or of nanoseconds, have no room for them."""
    times = pandas.Series(pandas.date_range("2024-01-01", periods=50, freq=step)).drop(index=20)
    for own in (times, times.astype("datetime64[ns]").astype("int64").astype(str)):
        data = from_dataframe({"t": own, "a": ["x", "y", "y"] * 16 + ["x"]}, time_column="t")
        assert (data.records, data.slices.left_out) == (47, 1)


def test_large_numbers_are_times_as_they_are_written():
    for times in (
        [10**17 + i for i in range(5)],
        ["1e17", *(str(10**17 + i) for i in range(1, 5))],
        [f"{1700000000 + i / 1000:.3f}" for i in range(5)],
        [1700000000 + i / 1000 for i in range(5)],
    ):
        data = from_dataframe({"t": times, "a": list("xyxxy")}, time_column="t")
        assert (data.records, data.slices.left_out) == (4, 0)
    data = from_dataframe({"t": ["1e-99999999", "1", "2", "3", "4"], "a": list("xyxxy")}, time_column="t")
    assert (data.records, data.slices.left_out) == (4, 0)
    with pytest.raises(InputError, match=r"too large for their steps.*take the first one from all"):
        from_dataframe({"t": [0, *(10**17 + 64 * i for i in range(4))], "a": list("xyxxy")}, time_column="t")


def test_numbers_with_a_decimal_comma_are_times(tmp_path):
    (tmp_path / "d.csv").write_text("t;a\n0,5;x\n1,0;y\n1,5;x\n2,0;x\n")
    assert extbnsl.read_csv(tmp_path / "d.csv", time_column="t").slices.step == "0.5"


def test_a_first_column_that_numbers_the_records_may_be_the_time(tmp_path):
    (tmp_path / "d.csv").write_text("\n".join(["Unnamed: 0,a,b", *(f"{t},{t % 2},{t % 3}" for t in range(20))]))
    assert extbnsl.read_csv(tmp_path / "d.csv").names == ("a", "b")
    assert extbnsl.read_csv(tmp_path / "d.csv", time_column="Unnamed: 0").names == ("a", "b", "a[t-1]", "b[t-1]")


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        ({}, {"time_column": "day"}, "has no column 'day'"),
        ({}, {"time_column": "t", "unit_column": "patient"}, "has no column 'patient'"),
        ({"t": [1, None, 3, 4]}, {"time_column": "t"}, "row 2 of the data has no value in column 't'"),
        ({"u": ["a", "a", "", "a"]}, {"time_column": "t", "unit_column": "u"}, "row 3 .* no value in column 'u'"),
        (
            {"t": ["1", "2", "soon", "4"]},
            {"time_column": "t"},
            "'soon' in row 3 of the data, neither a number nor a date",
        ),
        ({"t": ["2024-02-30"] * 4}, {"time_column": "t"}, "'2024-02-30' in row 1 .* neither a number nor a date"),
        ({"t": ["1/2/24"] * 4}, {"time_column": "t"}, "write dates as 2024-01-31"),
        ({"t": [1, 2, 2, 3]}, {"time_column": "t"}, "row 3 of the data has time '2', which row 2 has already"),
        ({"t": [1, 3, 2, 4]}, {"time_column": "t"}, "row 3 of the data has time '2' behind '3': sort the rows by time"),
        (
            {"t": [1, 2, 1, 1]},
            {"time_column": "t", "unit_column": "u"},
            "row 4 of the data has time '1' of unit 'q', which row 3 has already",
        ),
        (
            {"t": [2, 1, 1, 2]},
            {"time_column": "t", "unit_column": "u"},
            "row 2 of the data has time '1' of unit 'p' behind '2'",
        ),
        ({}, {"time_column": "t", "lags": 0}, "lags: 0"),
        ({}, {"time_column": "t", "lags": -1}, "lags: -1"),
        (
            {"t": [1], "u": ["p"], "a": ["x"]},
            {"time_column": "t"},
            "no row has a step before it, since no two records follow each",
        ),
        ({}, {"time_column": "t", "lags": 4}, "no row has the 4 steps before it, since at most 4 records follow each"),
        (
            {"t": [1, 2, 1, 2]},
            {"time_column": "t", "unit_column": "u", "lags": 2},
            "at most 2 records follow each other in steps of 1, those of unit 'p'",
        ),
        ({}, {"lags": 1}, "lags: it is for time series: say time_column too"),
        ({}, {"unit_column": "u"}, "unit_column: it is for time series"),
        ({}, {"instant": False}, "no_instant: it is for time series"),
        ({}, {"time_column": "t", "unit_column": "t"}, "'t' says when a record was taken"),
        ({"a[t-1]": list("xyxy")}, {"time_column": "t"}, r"column 'a\[t-1\]' is called as columns of the past are"),
        ({"w": [1, 1, 1, 1]}, {"time_column": "t", "weights": "w"}, "time_column and weights exclude each other"),
        ({}, {"time_column": 3}, "3 is no name of a column"),
        ({}, {"time_column": "t", "columns": "t"}, r"columns: column 't' of .* is no variable, since time_column"),
    ],
)
def test_refused(change, options, said):
    frame = {"t": [1, 2, 3, 4], "u": ["p", "p", "q", "q"], "a": list("xyxy")} | change
    with pytest.raises(InputError, match=said) as refused:
        extbnsl.learn(frame, **options)
    assert refused.value.exit_code == 30
    assert str(refused.value).count("\n") == 0


def test_a_table_of_nothing_but_a_time_is_refused():
    with pytest.raises(InputError, match="no column but 't'"):
        from_dataframe({"t": [1, 2, 3]}, time_column="t")


def test_the_fingerprint_tells_what_is_given():
    frame = {"t": range(30), "a": list("xxyxy" * 6), "b": list("uuvuv" * 6)}
    data = from_dataframe(frame, time_column="t")
    plain = replace(data, slices=None)
    assert data.fingerprint != plain.fingerprint
    assert (
        plain.fingerprint
        == from_array(
            np.array([[data.states[j][c] for j, c in enumerate(row)] for row in data.codes]), data.names
        ).fingerprint
    )


def test_describe_tells_of_times_and_units():
    frame = {"t": [1, 2, 3, 5, 6], "u": list("ppppp"), "a": list("xyxyx")}
    rows = extbnsl.describe(frame, time_column="t", unit_column="u")
    assert [(row["name"], row["kind"]) for row in rows] == [("a", "states"), ("t", "time"), ("u", "unit")]


@pytest.mark.parametrize("pattern", ["*[t-1]", "a[t-1]", "?[t-1]"])
def test_patterns_of_knowledge_name_columns_of_the_past(pattern):
    frame = {"t": range(30), "a": list("xxyxy" * 6), "b": list("uuvuv" * 6)}
    data = from_dataframe(frame, time_column="t", lags=2)
    known = extbnsl.learn(data, knowledge={"leaves": [pattern]}).knowledge
    assert known.leaves == (("a[t-1]",) if pattern[0] == "a" else ("a[t-1]", "b[t-1]"))
    present = extbnsl.learn(data, knowledge={"leaves": ["*[!]]"]}).knowledge
    assert present.leaves == ("a", "b")
