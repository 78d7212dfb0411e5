"""Options in advice: typed in a shell they are what is meant, and Python gets them as arguments of `learn`."""

import argparse
import ast
import shlex

import pytest

from extbnsl.cli.options import add_data, data_options
from extbnsl.data import read_csv
from extbnsl.data.advice import for_new_records, in_python, option, without_choice
from extbnsl.data.treatment import treatment

NAMES = ["age", "age at entry", "it's", "a,b", 'say "a"', '"', "*", "#N/A", "-", "--", "-99", "$HOME", "c=d", "年齢"]


@pytest.mark.parametrize("names", [[name] for name in NAMES] + [NAMES[:6], NAMES[6:12]])
def test_advice_can_be_copied_to_the_shell_and_to_python(names):
    parser = argparse.ArgumentParser()
    add_data(parser)
    given = data_options(parser.parse_args(shlex.split(option("drop", *names))))
    assert treatment(drop=given["drop"]).drop == tuple(names)
    name, equals, value = in_python(option("drop", *names)).partition("=")
    assert (name, equals) == ("drop", "=")
    assert treatment(drop=ast.literal_eval(value)).drop == tuple(names)


def test_no_names_and_too_many_are_left_out():
    assert option("drop") == option("drop", *NAMES) == "--drop"


def test_sentences_name_arguments_as_python_does():
    said = "use --missing drop (leaves out 30) or --missing state; --max-parents, or cut with --discretise width:3."
    assert in_python(said) == (
        'use missing="drop" (leaves out 30) or missing="state"; max_parents, or cut with discretise="width:3".'
    )
    assert in_python("--columns and --drop leave no column") == "columns and drop leave no column"


def test_names_with_blanks_are_quoted(tmp_path):
    rows = "".join(f"{18 + i % 59},{i % 2},{i // 2 % 2}\n" for i in range(118))
    (tmp_path / "d.csv").write_text(f"age at entry,hyper,sex\n{rows}")
    (warning,) = read_csv(tmp_path / "d.csv").warnings
    assert "--discretise 'age at entry=quantile:4', or say --discrete 'age at entry'" in warning


@pytest.mark.parametrize("names", [("a",), ('say "no"', "c,d"), ("it's", "\\")])
def test_advice_to_choose_columns_can_be_left_out(names):
    chosen = in_python(f"leave one of them out, such as with {option('drop', *names)}, or two")
    assert without_choice(chosen) == "leave one of them out, or two"
    many = in_python("give more records than columns, or fewer columns with --columns.")
    assert without_choice(many) == "give more records than columns, or fewer columns."
    assert without_choice("a frame with columns of states") == "a frame with columns of states"


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("x: 1 value is missing, first in row 1 of the data: use --missing drop.", ": leave such records out."),
        ("x: 'a' has 'y' in row 1 of the data, which is no number: take another score.", ", which is no number: leave"),
        ("x: column 'a' has an infinite value: remove or replace it.", "has an infinite value: remove or replace it."),
    ],
)
def test_new_records_get_no_options(said, left):
    assert left in for_new_records(said)
    assert "--" not in for_new_records(said)
    assert "another score" not in for_new_records(said)
