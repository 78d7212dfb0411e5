"""What is written as CSV is read as it was, and runs no formula in a spreadsheet."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extbnsl.formats.spelling import csv_text

FORMULAS = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\tx", "\rx", '=HYPERLINK("http://x",1)', "-x"]
HARMLESS = ["x", "a=b", "-1.5", "+3", "-1e-9", "-", "=", "", "'x", "-inf"]


def read(text):
    return list(csv.reader(io.StringIO(text, newline="")))


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1), min_size=1))
def test_what_is_written_is_read(texts):
    (head, row) = read(csv_text(texts, [texts]))
    assert head == row
    for written, text in zip(row, texts, strict=True):
        assert written in (text, f"'{text}")


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_a_text(text):
    assert read(csv_text(["a", "b"], [[text, 1]])) == [["a", "b"], [f"'{text}", "1"]]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_formula_stays(text):
    assert read(csv_text(["a", "b"], [[text, 1]])) == [["a", "b"], [text, "1"]]


def test_figures_are_in_full():
    assert csv_text(["a", "b", "c", "d"], [[-1 / 3, None, 7, "x,y"]]) == f'a,b,c,d\n{-1 / 3!r},,7,"x,y"\n'
