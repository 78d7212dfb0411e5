"""What is said of files that may not mean what they seem to: headers, delimiters, and files of other programs."""

import gzip
import io
import os

import numpy as np
import pytest
from data_invariants import check_dataset

from extbnsl.core.errors import InputError
from extbnsl.data.reading import read_csv

BITS = ["0,1,0", "1,0,0", "1,1,1", "0,0,1"] * 5
WORDS = ["smoke,no,a", "no,lung,b", "no,no,a", "smoke,lung,b"] * 5
BIF = "network unknown {\n}\nvariable A {\n  type discrete [ 2 ] { a, b };\n}\n"
JKL = "2\na 2\n-1.5 0\n-1 1 b\nb 1\n-2 0\n"


@pytest.fixture
def read(tmp_path):
    """Reads a text as a file of this name."""

    def reader(text, name="d.csv", **options):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        dataset = read_csv(tmp_path / name, **options)
        check_dataset(dataset)
        return dataset

    return reader


def refusal(read, *given, **options):
    with pytest.raises(InputError) as caught:
        read(*given, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "rows",
    [
        ["0,1,2", *BITS],
        ["2019,2020,2021", *BITS],
        ["2010,2015,2020", *BITS],
        ["2019,2020", *("0,1", "1,0") * 5],
        ["smoke,lung,x", *WORDS],
        ["smoke,lung", *(row[:-2] for row in WORDS)],
    ],
)
def test_records_that_look_like_names_are_told(read, rows):
    text = "\n".join(rows)
    data = read(text)
    assert data.names[0] == "X0"
    warning = data.warnings[0]
    for part in (f"({', '.join(map(repr, rows[0].split(',')))})", "was read as a record", "--header", "--no-header"):
        assert part in warning
    assert read(text, header=True).names == tuple(rows[0].split(","))
    for header in (True, False):
        assert "first row" not in "".join(read(text, header=header).warnings)


@pytest.mark.parametrize(
    "rows",
    [
        BITS,
        ["0,1", "1,0", "0,0"],
        ["p,x,s", "e,x,y", "p,b,s", "e,b,y"] * 3,
        ["male,never,high", "female,often,low", "male,often,high", "female,never,low"] * 3,
        [f"{i},{i * i},{i % 3}" for i in range(30)],
        ["?,1", "0,0", "1,0"],
    ],
)
def test_plain_records_are_taken_without_a_word(read, rows):
    data = read("\n".join(rows), missing="state", discrete="all")
    assert (data.records, [warning for warning in data.warnings if "first row" in warning]) == (len(rows), [])


def test_names_that_are_values_too_are_told(read):
    data = read("smoke,lung,x\nsmoke,no,a\nno,yes,b\nsmoke,no,b\n")
    assert data.names == ("smoke", "lung", "x")
    assert "was read as names, though 'smoke' is a value too" in data.warnings[0]


@pytest.mark.parametrize("delimiter", ["^", ":", "~"])
def test_one_column_that_may_be_more_is_refused(read, delimiter):
    text = "A,B,C\n0,1,0\n1,0,1\n".replace(",", delimiter)
    said = refusal(read, text)
    assert f"--delimiter '{delimiter}'" in said
    assert "--delimiter , if it does not" in said
    assert read(text, delimiter=delimiter).variables == 3
    assert read(text, delimiter=",").variables == 1


def test_a_delimiter_that_is_given_is_taken_with_a_warning(read):
    data = read("A,B,C\n0,1,0\n1,0,1\n", delimiter=";")
    assert data.names == ("A,B,C",)
    assert "--delimiter ','" in data.warnings[0]


def test_one_column_is_no_cause_for_doubt(read):
    for text in ("colour\nred\ndark blue\nred\n", "at\n12:30\n12:45\n", "a\n"):
        assert read(text + "a\n").variables == 1


def test_a_single_longer_row_is_not_taken_for_row_names(read):
    for text in ("a,b\n0,1,2\n0,1\n", '"a",b\n0,1,2\n0,1\n'):
        assert "correct the line" in refusal(read, text)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (BIF, "a network (BIF)"),
        (JKL, "local scores, not records: put them into a file whose name ends in .jkl or .pss."),
        ("# BLIP\n" + JKL, "local scores"),
        ("VAR a\nMETA arity=2\n-1.5\n", "local scores"),
        ("META pss_version = 0.1\nVAR a\n-1\n", "local scores"),
        ("% iris\n\n@RELATION iris\n@ATTRIBUTE a {0,1}\n@DATA\n0\n", "an ARFF file"),
        ("<?xml version='1.0'?>\n<data/>\n", "XML or HTML"),
        ("<?xml version='1.0'?>\n<!-- a -->\n<smile version='1'>\n", "a GeNIe network (XDSL)"),
        ("<?xml version='1.0'?>\n<!DOCTYPE BIF [\n]>\n<BIF>\n", "a network in XML (XMLBIF)"),
        ("net\n{\n}\nnode A\n{\n}\n", "a network (Hugin)"),
        ("class unnamed {\n}\n", "a network (Hugin)"),
        ("// ~->[DNET-1]->~\nbnet asia {\n", "a network (Netica)"),
        ('belief network "asia"\nnode x {\n', "a network (DSC)"),
        ("BAYES\n3\n2 2 3\n", "a network (UAI)"),
        ("digraph {\n  a -> b;\n}\n", "a graph (DOT or GML)"),
        ("[A][S][T|A][L|S]\n", "a model string"),
        ("50\nA\tB\tC\n1.0\n0.3\t1.0\n0.2\t0.1\t1.0\n", "a covariance matrix (Tetrad)"),
        ("/covariance\n50\nA B\n1.0\n.3 1.0\n", "a covariance matrix (Tetrad)"),
        ("INSERT INTO t VALUES (1, 2);\nINSERT INTO t VALUES (1, 0);\n", "SQL"),
        ("structure(list(a = c(1, 2)), class = 'data.frame')\n", "an object of R"),
        ("<table>\n<tr><td>a</td></tr>\n</table>\n", "XML or HTML"),
        ("/knowledge\naddtemporal\n\n1 a b\n", "knowledge (Tetrad)"),
        ('{"a": 1}\n{"a": 0}\n', "JSON"),
        ('[\n {"a": 1},\n {"a": 0}\n]\n', "JSON"),
    ],
)
def test_texts_that_are_no_tables_are_told(read, text, word):
    assert word in refusal(read, text)
    assert word in refusal(read, gzip.compress(text.encode()), "d.csv.gz")


@pytest.mark.parametrize(
    ("begins", "name", "words"),
    [
        (b"PK\x03\x04\x14\0\x06\0", "d.xlsx", ["an Excel workbook", "pandas.read_excel"]),
        (b"PK\x03\x04\x14\0\x06\0", "d.ods", ["an OpenDocument spreadsheet"]),
        (b"PK\x03\x04\x14\0\x06\0", "d.csv", ["a zip archive", "spreadsheet"]),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "d.xls", ["an Excel workbook"]),
        (b"PAR1\x15\x04", "d", ["a Parquet file", "end in .parquet"]),
        (b"ARROW1\0\0", "d.feather", ["a Feather file"]),
        (b"X\n\0\0\0\x03", "d.r", ["an R object", "end in .rds"]),
        (b"BZh91AY", "d.rds", ["an R object"]),
        (b"BZh91AY", "d.csv.bz2", ["a packed file"]),
        (b"version https://git-lfs.github.com/spec/v1\noid x\n", "d.csv", ["a pointer of Git LFS", "git lfs pull"]),
        (b"/annex/objects/MD5-s1--x", "d.csv", ["a pointer of git-annex"]),
        ("a,b\n1,2\n".encode("utf-16"), "d.csv", ["is UTF-16 text", "iconv -f UTF-16 -t UTF-8"]),
        ("a,b\nK\u00f6ln,2\n".encode("latin1"), "d.csv", ["is not UTF-8 text (line 2)", "iconv -f latin1 -t UTF-8"]),
        (b"RDX3\nX\n\0", "d.RData", ["an R workspace"]),
        (b"$FL2@(#) SPSS DATA FILE", "d.sav", ["an SPSS file"]),
        (b"<stata_dta><header>", "d.dta", ["a Stata file"]),
        (b"\x72\x02\x01\0\x05\0", "d.dta", ["a Stata file", "pandas.read_stata"]),
        (b"\0\0\0\xff", "d.sas7bdat", ["a SAS file"]),
        (b"\x80\x04\x95\x20\0", "d.pkl", ["a Python pickle", "pandas.read_pickle"]),
    ],
)
def test_files_of_other_programs_are_told_with_what_to_do(read, begins, name, words):
    data = begins + bytes(range(256))
    for said in (refusal(read, data, name), refusal(read, gzip.compress(data), name)):
        for word in [name, *words]:
            assert word in said


def test_a_text_is_read_whatever_it_is_called(read):
    for name in ("d.xls", "d.dta", "d.rds"):
        assert read("a,b\n0,1\n1,é\n", name).variables == 2


def test_what_other_programs_write_is_recognised(read):
    pd = pytest.importorskip("pandas")
    buffer = io.BytesIO()
    pd.DataFrame({"a": [1, 2]}).to_stata(buffer)
    assert "a Stata file" in refusal(read, buffer.getvalue(), "d.dta")
    buffer = io.BytesIO()
    np.save(buffer, np.eye(3))
    assert "an array of numpy" in refusal(read, buffer.getvalue())


@pytest.mark.parametrize("packed", [False, True])
def test_a_dash_is_standard_input(packed):
    text = b"a,b\n0,1\n1,0\n"
    ends = os.pipe()
    before = os.dup(0)
    try:
        os.dup2(ends[0], 0)
        os.write(ends[1], gzip.compress(text) if packed else text)
        os.close(ends[1])
        data = read_csv("-")
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(ends[0])
    assert (data.source, data.names, data.records) == ("standard input", ("a", "b"), 2)


def test_numbers_of_thousands_of_digits_are_no_numbers(read):
    many = "9" * 5000
    assert "is no table" in refusal(read, f"2\n0 {many}\n-1.5 {many} 1\n")
    assert "give a number of intervals from 2" in refusal(read, "a,b\n0,1\n1,0\n", discretise=f"quantile:{many}")
