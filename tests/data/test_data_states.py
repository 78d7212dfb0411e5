"""Missing values, continuous and many-state columns, intervals, and declared arities."""

from pathlib import Path

import numpy as np
import pytest
from data_invariants import check_dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from extbnsl.core.errors import InputError
from extbnsl.data import Dataset
from extbnsl.data.column import column_of_texts, ordered
from extbnsl.data.reading import read_csv
from extbnsl.data.states import settle_states
from extbnsl.data.treatment import PLAIN_STATES, Treatment

GAPS = "a,b,c\n0,x,1\n1,?,0\n,x,1\n1,NA,\n"


def _read(tmp_path: Path, text: str, **options) -> Dataset:
    path = tmp_path / "d.csv"
    path.write_text(text, encoding="utf-8")
    dataset = read_csv(path, **options)
    check_dataset(dataset)
    return dataset


def _refusal(tmp_path: Path, text: str, **options) -> str:
    with pytest.raises(InputError) as caught:
        _read(tmp_path, text, **options)
    return str(caught.value)


def _column(name: str, values) -> str:
    return f"{name},other\n" + "".join(f"{value},{i % 2}\n" for i, value in enumerate(values))


# Missing values


def test_missing_values_are_refused_with_count_columns_and_first_row(tmp_path):
    message = _refusal(tmp_path, GAPS)
    for fragment in ("4 values are missing", "'a', 'b' and 'c'", "row 2", "3 of 4", "--missing state"):
        assert fragment in message


def test_one_missing_value_is_refused_in_the_singular(tmp_path):
    message = _refusal(tmp_path, "a,b\n0,1\n0,nan\n")
    assert "1 value is missing, in column 'b', first in row 2" in message


@pytest.mark.parametrize("marker", ["", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "<NA>", '""', " ? "])
def test_markers(tmp_path, marker):
    assert "1 value is missing" in _refusal(tmp_path, f"a,b\n0,1\n{marker},0\n")


@pytest.mark.parametrize("label", ["None", "none", "na", "-", "missing"])
def test_no_markers(tmp_path, label):
    assert label in _read(tmp_path, f"a,b\n0,1\n{label},0\n").states[0]


def test_missing_drop(tmp_path):
    data = _read(tmp_path, GAPS, missing="drop")
    assert data.records == 1
    assert data.states == (("0",), ("x",), ("1",))
    assert "3 of 4 records" in data.warnings[0]


def test_missing_drop_may_leave_nothing(tmp_path):
    assert "every one of the 2 records" in _refusal(tmp_path, "a,b\n0,?\n?,1\n", missing="drop")


def test_missing_state_comes_last_and_finds_a_free_label(tmp_path):
    data = _read(tmp_path, "a,b\n1,missing\n?,zoo\n0,\n", missing="state")
    assert data.states == (("0", "1", "missing"), ("missing", "zoo", "missing_"))
    assert data.codes.tolist() == [[1, 0], [2, 1], [0, 2]]


def test_a_column_of_missing_values_is_one_state(tmp_path):
    data = _read(tmp_path, "a,b\n?,1\n?,0\n", missing="state")
    assert data.states[0] == ("missing",)
    assert "'a'" in data.warnings[0]


def test_missing_values_do_not_hide_numbers(tmp_path):
    data = _read(tmp_path, _column("v", [*(i + 0.5 for i in range(11)), "?"]), missing="state", discretise="mean")
    assert data.states[0] == ("<=5.5", ">5.5", "missing")
    assert data.codes[:, 0].tolist() == [0] * 6 + [1] * 5 + [2]


@pytest.mark.parametrize(("gaps", "told"), [(1, "1 of 1,500 records was"), (2, "2 of 1,500 records were")])
def test_dropped_records_are_counted(tmp_path, gaps, told):
    (warning,) = _read(
        tmp_path, _column("v", ["?"] * gaps + [0, 1] * (750 - gaps) + [1] * gaps), missing="drop"
    ).warnings
    assert warning == f"{told} dropped because a value is missing."


# Continuous and many-state columns


def test_continuous_column_is_refused_by_name(tmp_path):
    message = _refusal(tmp_path, _column("height", [1.5 + i for i in range(11)]))
    assert "'height' (continuous, 11 different numbers)" in message
    assert "--discretise mean" in message
    assert "'other'" not in message


def test_few_fractions_are_states(tmp_path):
    data = _read(tmp_path, _column("grade", [i / 2 for i in range(10)]))
    assert data.states[0] == ("0.0", "0.5", "1.0", "1.5", "2.0", "2.5", "3.0", "3.5", "4.0", "4.5")


def test_more_than_256_states_are_refused_and_256_are_not(tmp_path):
    message = _refusal(tmp_path, _column("town", [f"t{i % 257}" for i in range(600)]))
    assert "'town' (257 states)" in message
    assert "identifier" not in message
    assert "leave it out with --drop 'town', or take it as it is with --discrete 'town'." in message
    assert _read(tmp_path, _column("town", [f"t{i % 256}" for i in range(600)])).arities[0] == 256


@pytest.mark.parametrize(("states", "warned"), [(32, False), (33, True), (83, True)])
def test_columns_of_more_than_32_states_are_warned_of(tmp_path, states, warned):
    for values in ([f"t{i % states}" for i in range(300)], [i % states for i in range(300)]):
        data = _read(tmp_path, _column("town", values))
        assert data.arities[0] == states
        assert ["'town'" in warning and "--discrete 'town'" in warning for warning in data.warnings] == [True] * warned


def test_identifier_of_too_many_states_is_refused_as_such(tmp_path):
    for values in ([f"p{i}" for i in range(65)], range(65)):
        assert "'id' (65 states, looks like an identifier: remove it)" in _refusal(tmp_path, _column("id", values))


@pytest.mark.parametrize(("digit", "like"), [("p", "an identifier"), ("", "a measurement")])
def test_columns_that_differ_in_nearly_every_record_are_refused(tmp_path, digit, like):
    values = [f"{digit}{7 * min(i, 94)}" for i in range(100)]
    message = _refusal(tmp_path, _column("id", values))
    assert f"'id' (95 states in 100 records, looks like {like})" in message
    assert _read(tmp_path, _column("id", values), discrete="id").arities[0] == 95


def test_many_refusals_are_counted(tmp_path):
    names = ",".join(f"c{j}" for j in range(6))
    rows = "\n".join(",".join(str(i + j / 8 + 0.01) for j in range(6)) for i in range(20))
    message = _refusal(tmp_path, f"{names}\n{rows}\n")
    assert "'c0'" in message
    assert "'c2'" in message
    assert "and 3 more" in message


def test_identifier_that_passes_is_warned_of(tmp_path):
    data = _read(tmp_path, _column("id", [f"p{i}" for i in range(21)]))
    assert "'id' looks like an identifier" in data.warnings[0]
    assert "--drop 'id'" in data.warnings[0]
    assert len(_read(tmp_path, _column("id", range(40))).warnings) == 1
    assert _read(tmp_path, _column("id", [f"p{i}" for i in range(20)])).warnings == ()


@given(st.integers(0, 2**32), st.integers(1, 100))
@settings(deadline=None)
def test_columns_of_few_states_need_no_look_at_their_states(seed, records):
    """Whatever these are: reading leaves out what would do nothing."""
    rng = np.random.default_rng(seed)
    labels = list(map(str, rng.choice([rng.permutation(PLAIN_STATES), rng.random(PLAIN_STATES) - 0.5])))
    texts = [rng.choice([*labels, "x"][: int(rng.integers(1, PLAIN_STATES))], records).tolist() for _ in range(3)]
    columns = [ordered(column_of_texts(f"v{j}", own)) for j, own in enumerate(texts)]
    assert settle_states(columns, Treatment(), "d.csv") == (tuple(columns), (), {})


# Intervals


def test_mean_cuts_only_what_needs_it(tmp_path):
    rows = "".join(f"{i}.5,{i % 7}\n" for i in range(100))
    data = _read(tmp_path, "v,w\n" + rows, discretise="mean")
    assert data.states == (("<=50", ">50"), tuple("0123456"))
    assert data.codes[:, 0].tolist() == [0] * 50 + [1] * 50


def test_a_value_at_the_mean_is_low(tmp_path):
    data = _read(tmp_path, _column("v", [0, 1, 2, 3, 4]), discretise="paper")
    assert data.states[0] == ("<=2", ">2")
    assert data.codes[:, 0].tolist() == [0, 0, 0, 1, 1]


def test_the_mean_is_of_records_not_of_states(tmp_path):
    data = _read(tmp_path, _column("v", [0, 1, 2, 3, 100, 100, 100, 100]), discretise="paper")
    assert data.states[0] == ("<=50.75", ">50.75")


def test_paper_leaves_four_states(tmp_path):
    data = _read(tmp_path, _column("v", [0, 1, 2, 3, 3]), discretise="paper")
    assert data.states[0] == ("0", "1", "2", "3")


def test_paper_cuts_texts_by_index_and_warns(tmp_path):
    data = _read(tmp_path, _column("v", list("edcba")), discretise="paper")
    assert data.states[0] == ("a..c", "d..e")
    assert data.codes[:, 0].tolist() == [1, 1, 0, 0, 0]
    assert "'v' has 5 states that are no numbers" in data.warnings[0]
    assert _read(tmp_path, _column("v", list("abcdeeeeeeeeee")), discretise="paper").states[0] == (
        "a..d",
        "e",
    )


@pytest.mark.parametrize("rule", ["mean", "quantile:3", "width:3"])
def test_texts_cannot_be_cut_otherwise(tmp_path, rule):
    message = _refusal(tmp_path, _column("town", [f"t{i}" for i in range(70)]), discretise=rule)
    assert "'town'" in message
    assert "identifier" in message
    assert rule.partition(":")[0] in message


def test_quantiles_hold_equal_shares(tmp_path):
    values = np.random.default_rng(0).permutation(120) + 0.25
    data = _read(tmp_path, _column("v", values), discretise="quantile:4")
    assert data.states[0] == ("<=29.25", "(29.25,59.25]", "(59.25,89.25]", ">89.25")
    assert np.bincount(data.codes[:, 0]).tolist() == [30, 30, 30, 30]
    assert (data.codes[:, 0] == (values // 30)).all()


@pytest.mark.parametrize(("many", "low"), [(0.5, "<=0.5"), (99.5, "<=9.5")])
def test_tied_quantiles_give_fewer_states(tmp_path, many, low):
    values = [i + 0.5 for i in range(10)] + [99.5] + [many] * 90
    data = _read(tmp_path, _column("v", values), discretise="quantile:4")
    assert data.states[0] == (low, ">" + low[2:])


def test_widths_are_equal_and_empty_intervals_are_left_out(tmp_path):
    values = [i / 20 for i in range(21)] + [4.0]
    data = _read(tmp_path, _column("v", values), discretise="width:4")
    assert data.states[0] == ("<=1", ">3")
    assert data.codes[:, 0].tolist() == [0] * 21 + [1]
    middle = _read(tmp_path, _column("v", [*values, 1.5]), discretise="width:4")
    assert middle.states[0] == ("<=1", "(1,2]", ">3")


def test_close_edges_have_labels_of_their_own(tmp_path):
    values = [1 + i * 1e-9 for i in range(40)]
    states = _read(tmp_path, _column("v", values), discretise="width:8").states[0]
    assert len(set(states)) == 8


# Declared arities


def _declare(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "arities.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_declared_arities_add_states(tmp_path):
    data = _read(tmp_path, "a,b,c\n2,0,x\n0,0,y\n", arities=_declare(tmp_path, "b,a\n2,4\n"))
    assert data.states == (("0", "1", "2", "3"), ("0", "1"), ("x", "y"))
    assert data.codes.tolist() == [[2, 0, 0], [0, 0, 1]]
    assert data.warnings == ()


def test_declared_arities_exempt_from_the_limit(tmp_path):
    rows = _column("v", [i % 70 for i in range(140)])
    assert _read(tmp_path, rows, arities=_declare(tmp_path, "v\n100\n")).arities[0] == 100


def test_a_missing_state_comes_after_the_declared_ones(tmp_path):
    data = _read(tmp_path, "a,b\n?,0\n0,1\n", missing="state", arities=_declare(tmp_path, "a\n2\n"))
    assert data.states[0] == ("0", "1", "missing")
    assert data.codes[:, 0].tolist() == [2, 0]


@pytest.mark.parametrize(
    ("declared", "fragments"),
    [
        ("a,z\n2,2\n", ["no column 'z'"]),
        ("a\n1\n", ["'a' has 2 states (0, 2), and 1 are declared", "at least 2"]),
        ("a\n5\nb\n", ["3 lines"]),
        ("c\n4\n", ["'c' has 2 states (x, y), and 4 are declared by their number", "c: [x, y, ...] in a YAML file"]),
        ("b\n3\n", ["'b'", "unless they are 0 to 2 or 1 to 3"]),
        ("a,b\n2\n", ["2 names but 1 arity"]),
        ("a\nx\n", ["'x'"]),
        ("a\n0\n", ["'0'"]),
        ("a\n99999999\n", ["65535"]),
        (f"a\n{'9' * 5000}\n", ["the arity '999", "65535"]),
        ("a,a\n2,2\n", ["more than once"]),
        ("a\n", ["1 line "]),
    ],
)
def test_arities_that_are_refused(tmp_path, declared, fragments):
    message = _refusal(tmp_path, "a,b,c\n2,-1,x\n0,0,y\n", arities=_declare(tmp_path, declared))
    for fragment in fragments:
        assert fragment in message


def test_declared_states_and_intervals_of_a_column_exclude_each_other(tmp_path):
    declared = _declare(tmp_path, "a\n2\n")
    message = _refusal(tmp_path, "a\n0\n", states=declared, discretise="a=mean")
    assert message == "--states and --discretise both name 'a': give only one of them."
    text = "a,b\n" + "".join(f"{i % 2},{i}\n" for i in range(70))
    data = _read(tmp_path, text, states=declared, discretise="mean")  # which leaves declared states alone
    assert data.states == (("0", "1"), ("<=34.5", ">34.5"))
