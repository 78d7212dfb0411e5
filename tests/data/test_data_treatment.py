"""What the user asks to be made of the columns: which are used, what is missing, what is discrete, what is cut."""

import unicodedata

import numpy as np
import pytest
from cases import from_array, from_dataframe
from data_invariants import check_dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from extbnsl.core.data_options import DataOptions
from extbnsl.core.errors import InputError
from extbnsl.data import Reading, measured, read_file
from extbnsl.data.encode import equal_columns
from extbnsl.data.missing import missing_codes
from extbnsl.data.reading import read_csv

AGES = [20 + (i * 7) % 60 for i in range(300)]


@pytest.fixture
def read(tmp_path):
    """Reads a text as a file."""

    def reader(text, **options):
        (tmp_path / "d.csv").write_text(text, encoding="utf-8")
        dataset = read_csv(tmp_path / "d.csv", **options)
        check_dataset(dataset)
        return dataset

    return reader


def column(name, values):
    return f"{name},other\n" + "".join(f"{value},{i % 2}\n" for i, value in enumerate(values))


# Numbers that may be measured


def test_ages_are_asked_about(read):
    data = read(column("age", AGES))
    assert data.arities[0] == 60
    (warning,) = data.warnings
    for part in ("'age' (60 different numbers)", "--discretise 'age=quantile:4'", "--discrete 'age'"):
        assert part in warning
    assert read(column("age", AGES), discrete="age").warnings == ()
    assert read(column("age", AGES), discrete="all").warnings == ()
    assert read(column("age", AGES), discretise="age=mean").warnings == ()


@pytest.mark.parametrize(("values", "asked"), [(range(21), False), (range(1, 22), False), (range(40, 61), True)])
def test_codes_from_zero_are_not_asked_about(read, values, asked):
    assert len(read(column("v", [*values] * 3)).warnings) == asked


def test_a_rule_without_a_name_leaves_numbers_of_few_values_and_says_so(read):
    for rule in ("mean", "quantile:3"):
        data = read("age,height\n" + "".join(f"{age},{i / 7}\n" for i, age in enumerate(AGES)), discretise=rule)
        assert data.arities.tolist() == [60, 2 if rule == "mean" else 3]
        assert "'age'" in data.warnings[0]


def test_a_rule_without_a_name_cuts_whole_numbers_of_more_than_64_values(read):
    assert read(column("v", [i % 65 for i in range(300)]), discretise="quantile:3").arities[0] == 3


# Columns as they are


def test_discrete_takes_any_number_of_states(read):
    towns, heights = [f"t{i % 300}" for i in range(900)], [i % 300 / 7 for i in range(900)]
    text = "town,height\n" + "".join(f"{t},{h}\n" for t, h in zip(towns, heights, strict=True))
    for discrete in ("all", "town,height", ("height", "town")):
        data = read(text, discrete=discrete)
        assert data.arities.tolist() == [300, 300]
        assert ["divide the records alike" in warning for warning in data.warnings] == [True]
    with pytest.raises(InputError, match=r"column 'height' \(continuous, 300 different numbers\)"):
        read(text, discrete="town")
    assert read(text, discrete="town", discretise="mean").arities.tolist() == [300, 2]


def test_discrete_has_an_end(read):
    with pytest.raises(InputError, match=r"'id' has 65,536 states, and no column can have more than 65,535"):
        read(column("id", range(65_536)), discrete="all")


# Rules that name columns


def test_rules_may_name_columns(read):
    text = "age,dose,height\n" + "".join(f"{age},{i % 4},{i / 7}\n" for i, age in enumerate(AGES))
    data = read(text, discretise="mean,age=quantile:4,dose=width:2")
    assert data.arities.tolist() == [4, 2, 2]
    assert data.states[1] == ("<=1.5", ">1.5")
    assert data.fingerprint == read(text, discretise=" age = quantile:4, mean,\ndose=width:2,").fingerprint
    assert data.fingerprint == read(text, discretise=["age=quantile:4", "dose=width:2", "height=mean"]).fingerprint


def test_names_with_commas_and_equal_signs_can_be_given(read):
    text = '"a,b",c=d\n' + "".join(f"{age},{age}\n" for age in AGES)
    data = read(text, discretise='"a,b=quantile:4",c=d=mean')
    assert data.arities.tolist() == [4, 2]
    assert data.fingerprint == read(text, discretise=("a,b=quantile:4", "c=d=mean")).fingerprint


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"discretise": "aeg=mean"}, "--discretise: .* has no column 'aeg'; its columns are 'age' and 'other'"),
        ({"discretise": "age=median"}, "--discretise 'median' is unknown"),
        ({"discretise": "age=mean,age=mean"}, "two rules for 'age'"),
        ({"discretise": "mean,width:2"}, "mean and width:2 are for the same columns"),
        ({"discretise": "age=mean", "discrete": "age"}, "--discrete and --discretise both name 'age'"),
        ({"discretise": "town=mean"}, r"'town' \(2 states\) cannot be cut by --discretise mean, since 'x' in row 1 of"),
        ({"discrete": "tonw"}, "--discrete: .* has no column 'tonw'"),
        ({"columns": "age,tonw"}, "--columns: .* has no column 'tonw'"),
        ({"drop": "tonw"}, "--drop: .* has no column 'tonw'"),
        ({"drop": "age,other,town"}, "leave no column"),
    ],
)
def test_options_that_do_not_fit_are_one_sentence(read, options, said):
    text = "age,other\n1,0\n2,1\n" if "aeg" in str(options) else "age,other,town\n1,0,x\n2,1,y\n"
    with pytest.raises(InputError, match=said) as caught:
        read(text, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rule", "warned"),
    [
        ("quantile:3", "--discretise quantile:3 cut nothing"),
        ("a=quantile:4", "--discretise 'a=quantile:4' cut nothing: column 'a'"),
        ("c=mean", "--discretise 'c=mean' cut nothing: column 'c'"),
        ("b=mean", None),
        ("a=paper", "--discretise 'a=paper' cut nothing"),
    ],
)
def test_a_rule_that_cuts_nothing_is_told(read, rule, warned):
    data = read("a,b,c\n" + "".join(f"{i % 2},{i % 3},1\n" for i in range(30)), discretise=rule)
    said = [warning for warning in data.warnings if "constant" not in warning]
    assert [warned in warning for warning in said] == [True] if warned else said == []


# Missing values by markers of one's own


@pytest.mark.parametrize("marker", [".", "#N/A", "None", "-999", "-999.0", "-", "*", "n.a."])
def test_values_that_may_be_missing_are_hinted_at(read, marker):
    text = f"a,b\n0,1\n{marker},0\n1,0\n2,1\n"
    (warning,) = (hint for hint in read(text).warnings if "stands for" in hint)
    assert f"'{marker}' of column 'a'" in warning
    assert f"--na{'=' if marker.startswith('-') else ' '}'{marker}'" in warning
    with pytest.raises(InputError, match="1 value is missing, in column 'a'"):
        read(text, na=marker)
    assert read(text, na=f"x, {marker}", missing="drop").states[0] == ("0", "1", "2")


def test_negative_numbers_among_others_are_no_markers(read):
    assert read("a,b\n-999,1\n-5,0\n3,1\n").warnings == ()


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([-9, 0, 1, 2], [-9]),
        ([-99, -98, 0, 1], [-99, -98]),
        ([-9, -8, -1, 1, 5], [-9, -8, -1]),
        ([1, 2, 9], [9]),
        ([1, 2, 7, 9], [7, 9]),
        ([1, 2, 3, 77, 88, 99], [77, 88, 99]),
        ([0, 1, 777, 888, 999], [777, 888, 999]),
        ([1, 5, 8, 99], [99]),
        ([*range(18, 77), 999], [999]),
        ([1.5, 2.5, 8.5, 99], [99]),
        ([-9, 0, 1, 99], [-9, 99]),
        ([*range(10)], []),
        ([0, 1, 2, 3, 4, 5, 6, 9], []),
        ([*range(18, 91), 99], []),
        ([0, 9], []),
        ([1, 2, 8], []),
        ([1, 2, 100], []),
        ([-1, 0, 1], []),
        ([-9, -5.5, 3], []),
        ([-9], []),
        ([7, 8, 9], []),
        ([97, 98, 99], []),
    ],
)
def test_numbers_behind_a_gap_are_codes_if_they_are_known_as_such(read, values, codes):
    numbers = np.array(values, float)
    assert numbers[list(missing_codes(numbers))].tolist() == codes
    text = "a,b,c\n" + "".join(f"{value},{i % 2},{value}\n" for i, value in enumerate([*values, values[0]]))
    said = [warning for warning in read(text, discrete="all").warnings if "missing" in warning]
    if codes:
        shown = [str(value) for value in values if value in codes]
        (warning,) = said
        assert "of columns 'a' and 'c'" in warning
        assert f"'{','.join(shown)}' if" in warning
        assert f"--na{'=' if codes[0] < 0 else ' '}" in warning
        assert "".join(read(text, na=shown, missing="drop", discrete="all").warnings).count("taken as") == 0
    else:
        assert said == []


def test_a_marker_may_be_that_of_one_column(read):
    text = "alc,age,>=x\n" + "".join(f"{[1, 2, 9][i % 3]},{i % 10},{'uv'[i % 2]}\n" for i in range(30))
    (warning,) = read(text).warnings
    assert "'9' of column 'alc'" in warning
    assert "--na 'alc=9'" in warning
    for marker in ("alc=9", ["alc = 9"]):
        data = read(text, na=marker, missing="state")
        assert data.states[:2] == (("1", "2", "missing"), tuple("0123456789"))
    assert "missing" in read(text.replace(",0,", ",>=5,"), na=">=5", missing="state").states[1]
    with pytest.raises(InputError, match=r"--na: .* has no column 'acl'"):
        read(text, na="acl=9")
    wide = (
        ",".join(f"v{j}" for j in range(8))
        + ",age\n"
        + "".join(f"{','.join('129'[i % 3] * 8)},{i % 10}\n" for i in range(30))
    )
    assert any("--na 'COLUMN=9'" in warning for warning in read(wide).warnings)


def test_codes_are_hinted_at_for_scores_of_numbers_too(tmp_path):
    (tmp_path / "d.csv").write_text("a,b\n" + "".join(f"{i / 7},{i % 5}\n" for i in range(1, 30)) + "999,-9\n")
    found = read_file(measured, tmp_path / "d.csv", DataOptions(), Reading())
    assert ["--na '999'" in warning or "--na='-9'" in warning for warning in found.warnings] == [True, True]


@pytest.mark.parametrize("composed", ["é", "Å", "한"])
def test_canonically_equal_texts_are_one(read, composed):
    apart = unicodedata.normalize("NFD", composed)
    assert apart != composed
    data = read(f"a{apart},b\n{composed},0\n{apart},1\nx,1\n?{apart},0\n", na=f"?{composed}", missing="drop")
    assert (data.names[0], set(data.states[0])) == (f"a{composed}", {"x", composed})
    with pytest.raises(InputError, match="occurs more than once"):
        read(f"{composed},{apart}\n0,1\n1,0\n")


@pytest.mark.parametrize(
    ("texts", "how"),
    [
        (["New York", "New  York"], "blanks"),
        (["> 5", ">5"], "blanks"),
        (["New York", "new\u00a0york"], "blanks"),
        (["km\u00b2", "km2"], "how characters are encoded"),
        (["\uff21", "A"], "how characters are encoded"),
        (["yes", "yes\u200b"], "how characters are encoded"),
        (["1 2", "12"], None),
        (["yes", "no"], None),
    ],
)
def test_states_that_differ_in_little_are_hinted_at(read, texts, how):
    warnings = read("a,b\n" + "".join(f"{text},{i}\n" for i, text in enumerate(texts))).warnings
    assert [f"'a' has states that differ in {how} alone" in warning for warning in warnings] == [True] * bool(how)
    if how and how.startswith("how"):
        assert all(ascii(text) in warnings[0] for text in texts)


# Columns that divide the records alike


@given(st.integers(0, 2**32), st.integers(20, 60), st.integers(2, 12))
@settings(deadline=None)
def test_equal_columns_are_those_that_divide_the_records_alike(seed, records, columns):
    """By comparing each two of them record by record."""
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 3, (records, columns))
    for j in range(1, columns):
        if rng.random() < 0.6:
            table[:, j] = rng.permutation(3)[table[:, rng.integers(0, j)]]
    alike = [
        {k for k in range(columns) if len({*zip(own, table[:, k], strict=True)}) == len({*own}) == len({*table[:, k]})}
        for own in table.T.tolist()
    ]
    odd = {j for j, own in enumerate(table.T) if records - np.bincount(own).max() < 5}
    expected = {frozenset(places) for places in alike if len(places) > 1 and not places & odd}
    assert set(map(frozenset, equal_columns(table.astype(np.uint16)))) == expected


def test_columns_that_differ_late_are_not_equal():
    table = np.tile(np.array([[0, 0, 1], [1, 1, 0], [0, 0, 1]], np.uint16), (200, 1))
    assert equal_columns(table) == [[0, 1, 2]]
    table[-1, 1] = 1
    assert equal_columns(table) == [[0, 2]]
    assert equal_columns(table[:19]) == []
    assert equal_columns(np.column_stack([np.arange(30), np.arange(30)]).astype(np.uint16)) == []


def test_equal_columns_are_told_once(read):
    rows = "".join(f"{i % 2},{'yn'[i % 2]},{i % 3},{2 - i % 3},{i % 5}\n" for i in range(60))
    (warning,) = read("a,b,c,d,e\n" + rows).warnings
    assert "Columns 'a' and 'b' (and 1 more group) divide the records alike" in warning
    assert "--drop 'b,d'" in warning
    assert read("a,b\n" + "0,1\n" * 3 + "1,0\n" * 6).warnings == ()


# Advice for tables of numbers


def test_a_score_of_numbers_is_named_where_all_columns_are_numbers(read):
    rows = [(i / 7, i / 3, i % 2) for i in range(298)] + [(0, 0, 1)] * 2
    text = "a,b,c\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows)
    with pytest.raises(InputError) as caught:
        read(text)
    said = str(caught.value)
    assert "columns 'a' (continuous, 298 different numbers), 'b' (continuous" in said
    assert "take --score gaussian-bic" in said
    assert "--discrete " not in said
    with pytest.raises(InputError) as mixed:
        read(text.replace(",0\n", ",no\n").replace(",1\n", ",yes\n"))
    assert "(or take --score cg-bic, which takes states and numbers as they are)" in str(mixed.value)


def test_texts_that_no_rule_cuts_are_told_at_once(read):
    rows = "".join(f"t{i},u{i % 9},{i}\n" for i in range(90))
    with pytest.raises(
        InputError, match=r"columns 'a' .*'b' .*cannot be cut by --discretise mean, since 't0' in row 1"
    ):
        read("a,b,c\n" + rows, discretise="a=mean,b=mean")


def test_markers_hide_numbers_no_more(read):
    data = read(column("v", [".", *(i + 0.5 for i in range(11))]), na=".", missing="state", discretise="mean")
    assert data.states[0] == ("<=5.5", ">5.5", "missing")


def test_a_column_without_values_is_to_be_left_out(read):
    with pytest.raises(InputError, match="leave out 'a', which has no value at all, with --drop 'a'"):
        read("a,b\n?,1\n?,0\n")
    with pytest.raises(
        InputError, match=r"use --missing state, or leave out columns such as 'a', which .*, with --drop 'a'"
    ):
        read("a,b\n?,1\n?,0\n0,?\n")


def test_states_that_differ_in_case_are_hinted_at(read):
    (warning,) = read("a,b\nyes,1\nYes,0\nYES,1\nno,0\n").warnings
    assert "'a'" in warning
    assert "'YES', 'Yes' and 'yes'" in warning


# Columns


def test_columns_are_chosen_and_left_out(read):
    text = "id,a,b,c\n" + "".join(f"p{i},{i % 2},{i % 3},\n" for i in range(90))
    assert read(text, drop="id,c").names == ("a", "b")
    assert read(text, columns="b,a").names == ("a", "b")
    assert read(text, columns=["a", "b"], drop=["a"]).names == ("b",)
    assert read(",a\n0,1\n1,0\n", columns="a").names == ("a",)


def test_frames_and_arrays_take_the_same_options():
    pd = pytest.importorskip("pandas")
    towns = [f"t{i % 300}" for i in range(900)]
    frame = pd.DataFrame({"id": range(900), "town": pd.Categorical(towns), "age": [*AGES] * 3, "x": ["."] * 900})
    options = {"drop": "id", "discrete": ["town"], "discretise": "age=quantile:4", "na": ".", "missing": "state"}
    data = from_dataframe(frame, **options)
    assert (data.names, data.arities.tolist()) == (("town", "age", "x"), [300, 4, 1])
    halves = np.arange(900)[:, None] % 300 / 2
    assert from_array(halves, discrete="X0").arities.tolist() == [300]
    assert from_array(halves % 2, ["v"], discrete="all").arities.tolist() == [4]
    with pytest.raises(InputError, match=r"'X0' \(continuous, 300 different numbers\)"):
        from_array(halves)


def test_an_option_that_is_none_is_an_error():
    with pytest.raises(TypeError, match="colums"):
        from_array([[0]], colums="a")
