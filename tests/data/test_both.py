"""Columns of both kinds: which have states and which numbers, and what is said of them."""

import numpy as np
import pandas as pd
import pytest

from extbnsl.core.data_options import DataOptions
from extbnsl.core.errors import InputError
from extbnsl.data import Mixed
from extbnsl.data.both import mixed
from extbnsl.data.given import given
from extbnsl.data.resampling import resampling_of

FRAME = pd.DataFrame(
    {
        "ward": ["east", "west", "east", "north"],
        "age": ["50", "61.5", "1,234", "40"],
        "code": [1, 2, 1, 2],
        "dose": [0.5, 1.5, 2.5, -3.5],
        "site": pd.Categorical(["1", "2", "1", "2"], ["1", "2", "3"]),
    }
)


def made(frame=FRAME, **options):
    return given(frame).made(mixed, DataOptions(**options))


def test_texts_and_declared_states_are_states_and_numbers_are_numbers():
    data = made(FRAME.assign(age=[50, 61.5, 7, 40]))
    assert data.states == (("east", "north", "west"), (), (), (), ("1", "2", "3"))
    assert data.of_states.tolist() == [True, False, False, False, True]
    assert data.arities.tolist() == [3, 0, 0, 0, 3]
    assert data.codes.tolist() == [[0, 0, 0, 0, 0], [2, 0, 0, 0, 1], [0, 0, 0, 0, 0], [1, 0, 0, 0, 1]]
    assert data.values[:, 1:4].tolist() == [[50, 1, 0.5], [61.5, 2, 1.5], [7, 1, 2.5], [40, 2, -3.5]]
    assert not data.values[:, [0, 4]].any()
    assert data.contents == "2 of states, 3 of numbers"
    assert data.discrete().names == ("ward", "site")


@pytest.mark.parametrize(
    ("options", "column", "states"),
    [
        ({"discrete": "code"}, "code", ("1", "2")),
        ({"discretise": {"dose": "mean"}}, "dose", None),
        ({"states": {"code": [1, 2, 3]}}, "code", ("1", "2", "3")),
        ({"discrete": "all"}, "dose", ("-3.5", "0.5", "1.5", "2.5")),
    ],
)
def test_the_user_says_what_is_a_state(options, column, states):
    data = made(FRAME.assign(age=[50, 61.5, 7, 40]), **options)
    found = data.states[data.names.index(column)]
    assert found == states if states else len(found) == 2
    if "discretise" in options:
        assert data.treated["dose"] == "mean"


def test_few_numbers_are_told_and_texts_among_numbers_are_states_that_nobody_has():
    data = made(FRAME.drop(columns="age"))
    (told,) = [one for one in data.warnings if "different numbers" in one]
    assert "'code'" in told
    assert "discrete" in told
    many = pd.DataFrame({"x": np.arange(300) * 1.5, "y": [f"t{i}" for i in range(299)] + ["5"]})
    with pytest.raises(InputError, match="'y'"):
        made(many)


def test_numbers_in_another_dress():
    data = made(pd.DataFrame({"x": ["1,5", "2,25", "3,0"], "y": ["a", "b", "a"]}), decimal=",")
    assert data.values[:, 0].tolist() == [1.5, 2.25, 3.0]
    assert "decimal comma" in data.treated["x"]


def test_the_fingerprint_is_of_what_counts():
    frame = FRAME.drop(columns="age")
    one, other = made(frame), made(frame.assign(dose=frame["dose"] + 1e-12))
    assert one.fingerprint == made(frame).fingerprint
    assert len({one.fingerprint, other.fingerprint, made(frame.assign(ward=list("abac"))).fingerprint}) == 3


def test_resamples_have_rows_of_the_data_and_depend_on_these_alone():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, (50, 2)).astype(np.uint16)
    codes[:, 1] = 0
    values = np.column_stack((np.zeros(50), rng.normal(size=50).round(1)))
    data = Mixed(("a", "b"), (("u", "v", "w"), ()), codes, values, "<test>")
    turned = data.taken(rng.permutation(50))
    for number in (1, 2):
        drawn = resampling_of(data).drawn(7, number)
        assert drawn.records == 50
        assert {*zip(drawn.codes[:, 0].tolist(), drawn.values[:, 1].tolist(), strict=True)} <= {
            *zip(codes[:, 0].tolist(), values[:, 1].tolist(), strict=True)
        }
        assert drawn.fingerprint == resampling_of(turned).drawn(7, number).fingerprint
    assert resampling_of(data).size == 50 * data.record_bytes == codes.nbytes + values.nbytes


def test_missing_values_that_stay_are_gaps():
    frame = FRAME.assign(age=[50, None, 7, 40], ward=["east", None, "east", "north"])
    data = made(frame, missing="average")
    assert data.gaps
    assert np.isnan(data.values[:, 1]).tolist() == [False, True, False, False]
    assert data.codes[:, 0].tolist() == [0, 2, 0, 1]
    assert data.incomplete.tolist() == [True, True, False, False, False]
    assert data.known(0).tolist() == data.known(1).tolist() == [True, False, True, True]
    assert data.discrete().gaps
    assert not made(FRAME.assign(age=[50, 61.5, 7, 40]), missing="average").gaps
    whole = made(FRAME.assign(age=[50, 61.5, 7, 40]))
    assert made(FRAME.assign(age=[50, 61.5, 7, 40]), missing="average").fingerprint == whole.fingerprint
    assert data.fingerprint != whole.fingerprint


def test_targets_and_rows_in_time_go_with_the_records():
    frame = FRAME.assign(age=[50, 61.5, 7, 40], done=["age", "", "ward;age", "site"], t=[1, 2, 3, 5])
    data = made(frame, targets="done", drop="t")
    assert data.targets.sets == ((), (0, 1), (1,), (4,))
    assert data.targets.of.tolist() == [2, 0, 1, 3]
    assert data.discrete().targets.sets == ((), (0,), (1,))
    assert data.discrete().targets.of.tolist() == [0, 0, 1, 2]
    assert data.fingerprint != made(frame, drop="done,t").fingerprint
    taken, _ = data.distinct()
    for row, codes in enumerate(data.codes.tolist()):
        (at,) = [k for k, own in enumerate(taken.values.tolist()) if own == data.values[row].tolist()]
        assert taken.codes[at].tolist() == codes
        assert taken.targets.of[at] == data.targets.of[row]
    series = made(frame, time_column="t", drop="done", lags=1)
    assert series.names[5:] == tuple(f"{name}[t-1]" for name in series.names[:5])
    assert series.states[5:] == series.states[:5]
    whole = made(frame, drop="done,t")
    assert series.codes.tolist() == [[*whole.codes[k].tolist(), *whole.codes[k - 1].tolist()] for k in (1, 2)]
    assert series.values[:, 5:].tolist() == whole.values[:2].tolist()
    assert list(series.given) == [5, 6, 7, 8, 9]
    assert series.discrete().given == range(2, 4)
