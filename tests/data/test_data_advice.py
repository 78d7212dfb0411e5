"""Options in advice: typed in a shell they are what is meant, and Python gets them as arguments of `learn`."""

import argparse
import ast
import shlex

import pytest

from extbnsl.cli.options import add_data, data_options
from extbnsl.data import read_csv
from extbnsl.data.advice import in_python, option
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
