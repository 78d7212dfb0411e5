"""Numbers in another dress: decimal commas, thousands, percent signs, units, limits of detection, single texts."""

import numpy as np
import pytest
from data_invariants import check_dataset, check_numbers
from hypothesis import given, settings
from hypothesis import strategies as st

from extbnsl.core.data_options import DataOptions
from extbnsl.core.errors import InputError
from extbnsl.data import Reading, measured, read_file
from extbnsl.data.alike import encoded_alike
from extbnsl.data.column import column_of_texts, ordered
from extbnsl.data.dressed import Mark, are_dates, dress_of, undressed
from extbnsl.data.reading import read_csv
from extbnsl.data.treatment import Writing
from extbnsl.python.api import learn

COMMAS = [f"{i},{i % 10}" for i in range(40)]


@pytest.fixture
def read(tmp_path):
    """Reads columns, given by their names, as a file with a delimiter, to a data set or to numbers."""

    def reader(columns, delimiter=",", make=None, **options):
        rows = zip(*columns.values(), strict=True)
        quoted = [columns.keys(), *rows]
        text = "\n".join(delimiter.join(f'"{field}"' for field in row) for row in quoted)
        (tmp_path / "d.csv").write_text(text + "\n", encoding="utf-8")
        if make is None:
            dataset = read_csv(tmp_path / "d.csv", **options)
            check_dataset(dataset)
            return dataset
        numbers = read_file(make, tmp_path / "d.csv", DataOptions(**options), Reading())
        check_numbers(numbers)
        return numbers

    return reader


def refusal(read, *given, **options):
    with pytest.raises(InputError) as caught:
        read(*given, **options)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")
    return caught.value


def numbers_in(texts, **writing):
    """The numbers of texts that are read so, record by record; None if the column stays one of texts."""
    column, how = undressed(ordered(column_of_texts("a", texts)), Writing(**writing))
    if not how:
        return None
    column = ordered(column)
    return column.numbers[column.codes].tolist()


# What is a number


@pytest.mark.parametrize(
    ("texts", "writing", "numbers"),
    [
        (["1,5", "2", "-0,25", ",5"], {"decimal": ","}, [1.5, 2, -0.25, 0.5]),
        (["1.000,5", "1.000", "20"], {"decimal": ","}, [1000.5, 1000, 20]),
        (["1 000,5", "1\u00a0000", "2\u202f000\u202f000"], {"decimal": ","}, [1000.5, 1000, 2e6]),
        (["1,000", "25,000.5", "7"], {"thousands": ","}, [1000, 25000.5, 7]),
        (["1'000", "12\u2019000"], {"thousands": "'"}, [1000, 12000]),
        (["1 000", "12 000 000"], {"thousands": " "}, [1000, 12e6]),
        (["1.000", "2.500"], {"thousands": "."}, [1000, 2500]),
        (["5%", "12.5 %"], {}, [5, 12.5]),
        (["5 %", "7"], {}, None),
        (["5 %", "7"], {"units": ("%",)}, [5, 7]),
        (["5 mg", "7.5mg", "8"], {"units": ("mg",)}, [5, 7.5, 8]),
        (["5 mg", "7.5 g"], {"units": ("mg",)}, None),
        (["$1,000", "-$5", "20"], {"thousands": ",", "units": ("$",)}, [1000, -5, 20]),
        (["1.000,50 €", "3 €"], {"decimal": ",", "units": ("€",)}, [1000.5, 3]),
        (["\u22125", "3"], {}, [-5, 3]),
        (["<0.5", ">100", "7"], {"below": "half"}, [0.25, 100, 7]),
        (["<0.5", "≥100", "7"], {"below": "limit"}, [0.5, 100, 7]),
        (["<0.5", "<1", ">100", "0.7"], {"below": "lowest"}, [-np.inf, -np.inf, np.inf, 0.7]),
        (["90+", "100 +", "18"], {"below": "limit"}, [90, 100, 18]),
        (["<-5", "3"], {"below": "half"}, [-7.5, 3]),
        (["1e200 %", "5 %"], {}, None),
        (["9,9e999", "1,5"], {"decimal": ","}, None),
        (["< 0,5", "7,25"], {"below": "half", "decimal": ","}, [0.25, 7.25]),
        (["1,5", "2,5"], {"semicolons": True}, [1.5, 2.5]),
        (["1.000,5", "2.000"], {"semicolons": True}, [1000.5, 2000]),
        (["1,000", "2,500"], {"semicolons": True}, None),
        (["1,5", "1.5"], {"semicolons": True}, None),
        (["1,5", "1.250"], {"semicolons": True}, None),
        (["1,5", "n.d."], {"semicolons": True}, None),
        (["1,5", "2,5"], {"semicolons": True, "decimal": "."}, None),
        (["1,5", "2,5"], {}, None),
        (["1,00", "25,0"], {"thousands": ","}, None),
        (["01.000", "1.5"], {"decimal": ","}, None),
        (["1_000", "2"], {}, None),
        (["yes", "no"], {"decimal": ","}, None),
        (["10.0.0.1", "1.2.3"], {"decimal": ","}, None),
    ],
)
def test_texts_are_read_as_they_are_written(texts, writing, numbers):
    assert numbers_in(texts, **writing) == numbers


@given(
    st.lists(st.decimals(-(10**9), 10**9, places=3, allow_nan=False), min_size=2, max_size=30),
    st.sampled_from([",", "."]),
    st.sampled_from(["", "'", " ", "other"]),
)
@settings(deadline=None)
def test_numbers_come_back_from_how_they_are_written(values, decimal, thousands):
    thousands = {",": ".", ".": ","}[decimal] if thousands == "other" else thousands
    signs = str.maketrans({",": thousands, ".": decimal})
    texts = [f"{value:,}".translate(signs) for value in values]
    plain = ordered(column_of_texts("a", texts))
    found = numbers_in(texts, decimal=decimal, thousands=thousands or None)
    numbers = plain.numbers[plain.codes].tolist() if found is None else found
    assert numbers == [float(value) for value in values]


def test_it_is_as_pandas_reads_it(read, tmp_path):
    pandas = pytest.importorskip("pandas")
    values = np.random.default_rng(3).normal(0, 1e5, (50, 2)).round(2)
    texts = [[f"{x:,}".translate(str.maketrans(",.", ".,")) for x in column] for column in values.T]
    numbers = read(dict(zip("ab", texts, strict=True)), ";", measured, decimal=",")
    frame = pandas.read_csv(tmp_path / "d.csv", sep=";", decimal=",", thousands=".")
    assert (numbers.values == frame.to_numpy(float)).all()
    assert numbers.treated == dict.fromkeys("ab", "decimal comma, thousands separators")


# What is told


@pytest.mark.parametrize(
    ("texts", "mark", "row", "records", "given"),
    [
        (["1", *COMMAS], Mark.DECIMAL, 2, 40, ()),
        ([f"{i},000" for i in range(1, 30)], Mark.EITHER, 1, 29, ()),
        (["500", *(f"{i},000.5" for i in range(1, 30))], Mark.THOUSANDS, 2, 29, (",",)),
        ([f"{i} mg" for i in range(30)], Mark.UNIT, 1, 30, ("mg",)),
        (["7", *(f"{i} %" for i in range(30))], Mark.UNIT, 2, 30, ("%",)),
        ([*map(str, range(30)), "30+"], Mark.BOUND, 31, 1, ()),
        ([f"{i},5 %" for i in range(30)], Mark.DECIMAL, 1, 30, ()),
        (["7", "<0.5", *map(str, range(30)), "<0.5"], Mark.BOUND, 2, 2, ()),
        ([*map(str, range(30)), "n.d.", "n.d."], Mark.TEXT, 31, 2, ("n.d.",)),
        ([*map(str, range(40)), *"abcde"], Mark.TEXTS, 41, 5, tuple("abcde")),
        ([*COMMAS, *(f"{i}.5" for i in range(60, 90))], Mark.SEVERAL, 1, 40, ()),
    ],
)
def test_what_keeps_a_column_from_being_numbers_is_found(texts, mark, row, records, given):
    (found,) = dress_of(ordered(column_of_texts("a", texts))).marks
    assert (found.mark, found.row, found.records, found.texts) == (mark, row, records, given)
    assert found.text == texts[row - 1]


@pytest.mark.parametrize(
    "texts",
    [
        [f"p{i}" for i in range(40)],
        ["V57", "E909", *(f"{i}.8" for i in range(3))],
        [f"{i} Main Street {i}" for i in range(40)],
        [f"{i}{chr(97 + i % 9)}" for i in range(40)],
        ["2024-01-01", "2024-01-02"],
        ["10-20", "20-30", "30-40"],
        [f"0x{i}" for i in range(40)],
        ["0x10", "-0X1f", *map(str, range(4))],
        list(map(str, range(40))),
    ],
)
def test_other_texts_are_no_numbers(texts):
    assert dress_of(ordered(column_of_texts("a", texts))) is None


def test_no_unit_is_taken_off_a_hexadecimal_number():
    texts = ["0x10", *map(str, range(10))]
    (found,) = dress_of(ordered(column_of_texts("a", texts))).marks
    assert (found.mark, found.texts) == (Mark.TEXT, ("0x10",))
    assert numbers_in(texts, units=("x10",)) is None
    assert numbers_in(["0x", "10x"], units=("x",)) == [0.0, 10.0]


def test_all_that_is_wrong_is_told_at_once(read):
    columns = {"a": COMMAS, "b": COMMAS, "c": [f"{i}.5 mg" for i in range(40)], "d": [f"t{i % 3}" for i in range(40)]}
    error = refusal(read, columns)
    for part in (
        "columns 'a' and 'b' have numbers with a decimal comma ('0,0' in row 1 of the data, and 79 more values)",
        "say --decimal ','",
        "column 'c' has numbers with a unit ('0.5 mg' in row 1 of the data, and 39 more values): say --unit 'mg'",
    ):
        assert part in str(error)
    assert (error.names, error.value, error.row) == (("a", "b", "c"), "0,0", 1)
    assert "paper" not in str(error)
    data = read(columns, decimal=",", unit="mg", discretise="mean")
    assert data.arities.tolist() == [2, 2, 2, 3]
    assert data.treated == {"a": "decimal comma; mean", "b": "decimal comma; mean", "c": "mg; mean"}


def test_what_is_said_already_is_not_asked_for_again(read):
    texts = [f"{10 * k + 3},{k:02d}" for k in range(1, 60)] + [f"{k}.5x!" for k in range(4)]
    assert "decimal comma" in str(refusal(read, {"a": texts}))
    told = str(refusal(read, {"a": texts}, decimal=","))
    assert "decimal comma" not in told
    assert "write numbers alike" in told


@pytest.mark.parametrize("rule", ["mean", "a=quantile:3", "paper", "a=paper"])
def test_rules_do_not_cut_such_texts(read, rule):
    error = refusal(read, {"a": COMMAS, "b": ["0", "1"] * 20}, discretise=rule)
    assert "column 'a' has numbers with a decimal comma ('0,0' in row 1 of the data" in str(error)
    assert read({"a": COMMAS, "b": ["0", "1"] * 20}, decimal=",", discretise=rule).arities[0] in (2, 3)


def test_the_alphabet_does_not_cut_a_few_of_them_either(read):
    few = {"a": [f"{i},5" for i in (1, 2, 3, 10, 20, 30)] * 4}
    assert "numbers with a decimal comma" in str(refusal(read, few, discretise="paper"))
    assert read(few, decimal=",", discretise="paper").states[0] == ("<=11.5", ">11.5")
    assert read(few, discretise="quantile:3").arities[0] == 6


def test_where_a_semicolon_separates_columns_commas_are_decimal(read):
    data = read({"a": COMMAS, "b": ["0", "1"] * 20}, ";", discretise="width:2")
    assert data.states[0] == ("<=19.95", ">19.95")
    assert data.treated == {"a": "decimal comma; width:2"}
    assert "decimal comma" in str(refusal(read, {"a": COMMAS, "b": ["0", "1"] * 20}, "|"))


def test_few_states_in_another_dress_are_states(read):
    data = read({"a": ["1,5", "2,5"] * 10})
    assert (data.states, data.warnings) == ((("1,5", "2,5"),), ())
    assert read({"a": ["10%", "5%"] * 10}).states == (("5", "10"),)


def test_whole_numbers_with_thousands_are_warned_of(read):
    (warning,) = read({"a": [f"{1 + i % 20},000" for i in range(60)]}).warnings
    assert "'1,000' in row 1 of the data" in warning
    assert "--decimal ',' if it stands before decimals, or --thousands ',' if it separates thousands" in warning


def test_rows_are_those_of_the_file(read):
    columns = {"a": ["1", "2", "3", *COMMAS], "b": ["", "0", "", *("0", "1") * 20], "w": ["3"] * 43}
    assert "('0,0' in row 4 of the data" in str(refusal(read, columns, missing="drop"))
    assert "('0,0' in row 4 of the data" in str(refusal(read, columns, missing="state", weights="w"))


# Limits of detection


def test_what_is_below_all_numbers_is_cut_as_the_lowest(read):
    values = ["<1", "<0.5", *(f"{i}.5" for i in range(18))]
    assert "--below-detection half" in str(refusal(read, {"a": values}))
    data = read({"a": values}, below_detection="lowest", discretise="quantile:4")
    assert data.states[0] == ("<=2.5", "(2.5,7.5]", "(7.5,12.5]", ">12.5")
    assert np.bincount(data.codes[:, 0]).tolist() == [5, 5, 5, 5]
    halves = read({"a": values}, below_detection="half", discretise="width:2")
    assert halves.states[0] == ("<=8.875", ">8.875")


@pytest.mark.parametrize(
    ("rule", "states"), [("quantile:2", ("<0.5", ">=0.5")), ("quantile:4", ("<0.5", "<=5.5", ">5.5"))]
)
def test_a_state_of_what_is_below_alone_is_called_so(read, rule, states):
    values = ["<0.5"] * 30 + [f"{i}.5" for i in range(12)] * 2
    data = read({"a": values}, below_detection="lowest", discretise=rule)
    assert data.states[0] == states
    assert (data.codes[:30, 0] == 0).all()
    assert (data.codes[30:, 0] > 0).all()


def test_new_numbers_lie_in_the_intervals_beside_what_is_below(read):
    values = ["<0.5"] * 30 + [f"{i}.5" for i in range(12)] * 2
    options = {"below_detection": "lowest", "discrete": "all"}
    known = read({"a": values}, below_detection="lowest", discretise="quantile:2")
    raw, new = read({"a": values}, **options), read({"a": ["7.25", "<0.5", "0.75"]}, header=True, **options)
    assert known.states == (("<0.5", ">=0.5"),)
    assert encoded_alike(new, raw, known)[:, 0].tolist() == [1, 0, 1]


def test_there_is_no_mean_of_what_is_below_all_numbers(read):
    values = {"a": ["<0.5", *(f"{i}.5" for i in range(18))]}
    for rule in ("mean", "width:3", "paper"):
        error = str(refusal(read, values, below_detection="lowest", discretise=rule))
        assert "no cutting by --discretise" in error
        assert "--below-detection half" in error
    assert "--below-detection half" in str(refusal(read, values, ",", measured, below_detection="lowest"))


# Scores of numbers


def test_scores_of_numbers_read_the_same(read):
    columns = {"a": ["<1,5", *COMMAS], "b": ["7 %", *(f"{i} %" for i in range(40))]}
    numbers = read(columns, ";", measured, decimal=",", below_detection="half")
    assert numbers.values[:3].tolist() == [[0.75, 7], [0.0, 0], [1.1, 1]]
    error = refusal(read, columns | {"c": ["x"] * 41, "d": ["y"] * 41}, ";", measured)
    assert "column 'a' has numbers below or above a limit ('<1,5' in row 1 of the data)" in str(error)
    assert "columns 'c' and 'd' have texts, such as 'x' in row 1 of the data, which is no number" in str(error)


def test_frames_have_numbers_in_another_dress_too():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": COMMAS, "b": ["0", "1"] * 20})
    with pytest.raises(InputError, match=r"say decimal=\",\""):
        learn(frame)
    assert learn(frame, decimal="comma", discretise="mean").parents.keys() == {"a", "b"}


@pytest.mark.parametrize(("name", "value"), [("decimal", ";"), ("thousands", "x"), ("below_detection", "third")])
def test_options_that_say_nothing_are_refused(read, name, value):
    with pytest.raises(InputError, match=name):
        read({"a": ["0", "1"]}, **{name: value})


# Dates


@pytest.mark.parametrize(
    ("text", "is_date"),
    [
        ("2024-01-31", True),
        ("2024-01-31T12:30:05.5Z", True),
        ("2024/1/31 12:30", True),
        ("31.1.2024", True),
        ("31. 1. 2024", True),
        ("1/31/24", True),
        ("12/31/2024 11:59 PM", True),
        ("31 Jan 2024", True),
        ("January 31, 2024", True),
        ("12:30", True),
        ("12:30:05", True),
        ("2024-13-31", False),
        ("31/32/2024", False),
        ("1.2.3", False),
        ("2024", False),
        ("20240131", False),
        ("", False),
        ("may", False),
    ],
)
def test_dates_are_known(text, is_date):
    assert are_dates([text, "2024-02-01"]) == is_date


def test_dates_are_refused_as_such(read):
    days = [f"{1 + i % 28:02}.{1 + i // 28:02}.2024" for i in range(100)]
    error = refusal(read, {"day": days, "b": ["0", "1"] * 50})
    assert "'day' (100 dates or times)" in str(error)
    assert "--drop 'day', or write months or years" in str(error)
    assert "--discrete" not in str(error)
