"""Reading delimited text: delimiters, headers, quotes, compression, and every file that is refused."""

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest
from data_invariants import check_dataset

from extbnsl.core.errors import InputError
from extbnsl.data import Dataset
from extbnsl.data.reading import read_csv


def _read(tmp_path: Path, text: str | bytes, **options) -> Dataset:
    path = tmp_path / "d.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    dataset = read_csv(path, **options)
    check_dataset(dataset)
    return dataset


def _refusal(tmp_path: Path, text: str | bytes, **options) -> str:
    with pytest.raises(InputError) as caught:
        _read(tmp_path, text, **options)
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
    return message


def test_header_over_integers(tmp_path):
    data = _read(tmp_path, "X0,X1\n1,0\n0,2\n0,0\n")
    assert data.names == ("X0", "X1")
    assert data.states == (("0", "1"), ("0", "2"))
    assert data.codes.tolist() == [[1, 0], [0, 1], [0, 0]]
    assert data.codes.dtype == np.uint16
    assert (data.records, data.variables, data.arities.tolist()) == (3, 2, [2, 2])
    assert data.source == str(tmp_path / "d.csv")
    assert data.warnings == ()


def test_headerless_integers(tmp_path):
    data = _read(tmp_path, "1,0,1\n0,1,1\n1,0,0\n")
    assert data.names == ("X0", "X1", "X2")
    assert data.codes.tolist() == [[1, 0, 1], [0, 1, 1], [1, 0, 0]]


def test_headerless_gzip_of_a_single_record(tmp_path):
    data = _read(tmp_path, gzip.compress(b"0,1\n", mtime=0))
    assert data.records == 1
    assert data.states == (("0",), ("1",))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("smoker,cancer\nyes,no\nno,no\nyes,yes\n", True),
        ("yes,no\nno,no\nyes,yes\n", False),
        ("p,x,s\ne,x,y\np,b,s\ne,b,y\n", False),
        (
            "sex,1,2\nm,0,1\nf,1,0\n",
            False,
        ),  # a number in the first row, and no column of numbers below a text
        ("age,1,2\n30,0,1\n31,1,0\n", True),
        ("male,1\nfemale,0\nmale,0\n", False),
        ("?,1\n0,0\n1,0\n", False),
        ("a,b\nc,d\n", True),
    ],
)
def test_header_is_sniffed(tmp_path, text, named):
    data = _read(tmp_path, text, missing="state")
    first = tuple(text.splitlines()[0].split(","))
    assert data.names == (first if named else tuple(f"X{j}" for j in range(len(first))))
    assert data.records == text.count("\n") - named


def test_header_can_be_given(tmp_path):
    assert _read(tmp_path, "1,2\n0,0\n", header=True).names == ("1", "2")
    data = _read(tmp_path, "a,b\n0,1\n", header=False)
    assert data.names == ("X0", "X1")
    assert data.states == (("0", "a"), ("1", "b"))
    assert data.codes.tolist() == [[1, 1], [0, 0]]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
def test_delimiters_are_sniffed_and_given(tmp_path, delimiter):
    text = "a,b,c\n0,1,x y\n1,1,z\n".replace("x y", "xy" if delimiter == " " else "x y").replace(",", delimiter)
    for options in ({}, {"delimiter": delimiter}):
        data = _read(tmp_path, text, **options)
        assert data.names == ("a", "b", "c")
        assert data.codes.tolist() == [[0, 0, 0], [1, 0, 1]]


def test_a_tab_may_be_spelled(tmp_path):
    assert _read(tmp_path, "a\tb\n0\t1\n", delimiter="\\t").names == ("a", "b")


def test_runs_of_blanks_separate_once(tmp_path):
    data = _read(tmp_path, '  a   b \n 0    1\n1 "x  y"  \n')
    assert data.names == ("a", "b")
    assert data.states == (("0", "1"), ("1", "x  y"))


def test_semicolons_beat_decimal_commas(tmp_path):
    assert _read(tmp_path, "1,5;2,5\n2,5;1,5\n").variables == 2


def test_one_variable(tmp_path):
    data = _read(tmp_path, "colour\nred\ndark blue\nred\n")
    assert data.names == ("colour",)
    assert data.states == (("dark blue", "red"),)


def test_fields_are_stripped_and_quotes_removed(tmp_path):
    data = _read(tmp_path, '"a b" , c\n"x,1",  y\n x ,"say ""no"""\n'.replace('" ,', '",'))
    assert data.names == ("a b", "c")
    assert data.states == (("x", "x,1"), ('say "no"', "y"))


def test_line_ends_byte_order_mark_and_blank_lines(tmp_path):
    data = _read(tmp_path, "\ufeff\r\na,b\r\n0,1\r\n1,0\r\n\r\n  \r\n")
    assert data.names == ("a", "b")
    assert data.records == 2
    assert _read(tmp_path, "a,b\r0,1\r1,0").records == 2


def test_quoted_line_ends_keep_line_numbers(tmp_path):
    assert _read(tmp_path, 'a,b\n"x\ny",1\nz,0\n').states[0] == ("x\ny", "z")
    assert "line 4" in _refusal(tmp_path, 'a,b\n"x\ny",1\nz\n')


def test_names_are_on_one_line(tmp_path):
    assert _read(tmp_path, '"height\n  (cm)",b\n0,1\n').names == ("height (cm)", "b")


def test_chunks_join(tmp_path):
    codes = np.random.default_rng(1).integers(0, 3, (10_000, 3))
    data = _read(tmp_path, "\n".join(",".join(map(str, row)) for row in codes.tolist()))
    assert (data.codes == codes).all()


def test_numbers_sort_as_numbers_and_equal_numbers_are_one_state(tmp_path):
    data = _read(tmp_path, "a,b\n10,1.0\n9,1\n-1,01\n9.0,2\n")
    assert data.states == (("-1", "9", "10"), ("01", "2"))
    assert data.codes.tolist() == [[2, 0], [1, 0], [0, 0], [1, 1]]


def test_large_integers_stay_apart_and_odd_numbers_are_texts(tmp_path):
    data = _read(tmp_path, "a,b,c\n9007199254740993,inf,1_0\n9007199254740992,10,10\n")
    assert data.states == (("9007199254740992", "9007199254740993"), ("10", "inf"), ("10", "1_0"))


def test_texts_sort_by_code_point(tmp_path):
    assert _read(tmp_path, "a\n10\n9\nx\n").states == (("10", "9", "x"),)


def test_duplicate_records_are_kept(tmp_path):
    data = _read(tmp_path, "a,b\n0,1\n0,1\n1,0\n")
    assert data.records == 3
    assert data.warnings == ()


def test_constant_columns_are_kept_with_a_warning(tmp_path):
    data = _read(tmp_path, "a,b\n0,1\n0,0\n")
    assert data.arities.tolist() == [1, 2]
    assert len(data.warnings) == 1
    assert "'a'" in data.warnings[0]
    assert "'b'" not in data.warnings[0]


@pytest.mark.parametrize(
    ("text", "options", "fragments"),
    [
        ("", {}, ["empty"]),
        (" \n\r\n \n", {}, ["empty"]),
        ("a,b\n", {}, ["no records"]),
        ("0,1\n", {"header": True}, ["no records"]),
        ("a,b\n0,1\n0,1,2\n", {}, ["line 3", "3 fields", "has 2", "leave it out with --skip-lines 3-3"]),
        ("a,b\n0,1\n\n1,0\n", {}, ["line 3", "1 field ", "has 2"]),
        ("a,b\n0,1\n0\n", {"delimiter": ","}, ["line 3", "1 field "]),
        ("a b\n0 1\n0 1 1\n0 0\n", {}, ["line 3", "3 fields"]),
        ("a,b,a\n0,1,0\n", {}, ["name 'a'", "more than once"]),
        ("a,b,a,b\n0,1,0,1\n", {}, ["'a' and 'b'", "more than once"]),
        (",b\n0,1\n0,0\n", {}, ["column 1 has no name", "with --drop ''"]),
        ("a,,b\n0,1,2\n0,0,1\n", {}, ["column 2 has no name", "with --drop ''"]),
        ('a,b\n0,"1\n0,1\n', {}, ["line 3", "quotes"]),
        ('a,b\n0,"1"x\n', {}, ["line 2", "quotes"]),
        (b"a,b\n0,1\n\xe9,0\n", {}, ["UTF-8", "line 3"]),
        ("a,b\n0,1\n".encode("utf-16"), {}, ["UTF-8"]),
        (b"a,b\n0,\x001\n", {}, ["NUL", "line 2"]),
        (gzip.compress(b"a,b\n0,1\n" * 9, mtime=0)[:-9], {}, ["gzip"]),
        (gzip.compress(b"a,b\n0,1\n", mtime=0)[:-8] + b"12345678", {}, ["gzip"]),
        ("a,b\n0,1\n", {"delimiter": ",,"}, ["--delimiter"]),
        ("a,b\n0,1\n", {"delimiter": ""}, ["--delimiter"]),
        ("a,b\n0,1\n", {"missing": "ignore"}, ["missing: 'ignore' is not known", "drop"]),
        ("a,b\n0,1\n", {"discretise": "median"}, ["--discretise 'median'", "quantile:k"]),
        ("a,b\n0,1\n", {"discretise": "width:1"}, ["--discretise 'width:1'", "2"]),
        ("a,b\n0,1\n", {"discretise": "quantile"}, ["--discretise 'quantile'"]),
        ("a,b\n0,1\n", {"discretise": "quantile:-2"}, ["--discretise 'quantile:-2'"]),
    ],
)
def test_refusals(tmp_path, text, options, fragments):
    message = _refusal(tmp_path, text, **options)
    for fragment in fragments:
        assert fragment in message
    assert (fragments[0] if fragments[0].startswith(("--", "missing: ")) else "d.csv") in message


def test_ragged_row_beyond_the_first_chunk(tmp_path):
    assert "line 9002" in _refusal(tmp_path, "a,b\n" + "0,1\n" * 9000 + "0\n" + "1,1\n" * 9)


def test_files_that_cannot_be_read(tmp_path):
    for path in (tmp_path, tmp_path / "absent.csv"):
        with pytest.raises(InputError, match="cannot be read"):
            read_csv(path)


def test_fingerprint_is_of_the_content(tmp_path):
    text = "a,b\n0,1\n1,0\n"
    reference = _read(tmp_path, text).fingerprint
    assert len(reference) == 64
    assert _read(tmp_path, text.replace(",", ";")).fingerprint == reference
    for other in ("a,c\n0,1\n1,0\n", "a,b\n0,1\n1,2\n", "a,b\n0,1\n0,0\n1,0\n", "a,b\n1,0\n0,1\n"):
        assert _read(tmp_path, other).fingerprint != reference


def test_fingerprint_does_not_depend_on_the_dtype_or_memory_order():
    codes = np.array([[0, 1], [1, 0]], dtype=np.uint16)
    states = (("0", "1"), ("x", "y"))
    made = [
        Dataset(("a", "ü"), states, same, "")
        for same in (codes, codes.astype(">u4"), np.asfortranarray(codes), codes.astype(np.int64))
    ]
    written_out = b'[["a","\\u00fc"],[["0","1"],["x","y"]],[2,2]]' + bytes([0, 0, 0, 0, 1, 0, 0, 0] * 2)
    written_out = written_out[:-8] + bytes([1, 0, 0, 0, 0, 0, 0, 0])
    assert {data.fingerprint for data in made} == {hashlib.sha256(written_out).hexdigest()}


@pytest.mark.parametrize(
    "broken",
    [
        {"names": ("a", "a")},
        {"names": ("a",)},
        {"states": (("0", "0"), ("0", "1"))},
        {"codes": np.array([[0, 2]], dtype=np.uint16)},
        {"codes": np.array([[0, 1]], dtype=np.int64)},
        {"codes": np.zeros((0, 2), dtype=np.uint16)},
    ],
)
def test_check_finds_what_is_broken(broken):
    whole = {
        "names": ("a", "b"),
        "states": (("0", "1"), ("0", "1")),
        "codes": np.array([[0, 1]], dtype=np.uint16),
        "source": "",
    }
    check_dataset(Dataset(**whole))
    with pytest.raises(AssertionError):
        check_dataset(Dataset(**whole | broken))
