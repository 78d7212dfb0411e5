"""Options in advice: typed in a shell they are what is meant, and Python gets them as arguments of `learn`."""

import argparse
import ast
import pickle
import shlex

import pytest

from extbnsl.cli.options import add_data, data_options
from extbnsl.core.data_options import DataOptions
from extbnsl.core.errors import InputError
from extbnsl.core.sentences import Mention, Sentence, dropped, option
from extbnsl.data.alike import advice_for_new_records
from extbnsl.data.reading import read_csv
from extbnsl.data.treatment import treatment

NAMES = ["age", "age at entry", "it's", "a,b", 'say "a"', '"', "*", "#N/A", "-", "--", "-99", "$HOME", "c=d", "年齢"]


@pytest.mark.parametrize("names", [[name] for name in NAMES] + [NAMES[:6], NAMES[6:12]])
def test_advice_can_be_copied_to_the_shell_and_to_python(names):
    parser = argparse.ArgumentParser()
    add_data(parser)
    said = Sentence(option("drop", *names))
    given = data_options(parser.parse_args(shlex.split(said)))
    assert treatment(DataOptions(drop=given["drop"])).drop == tuple(names)
    name, equals, value = said.in_python().partition("=")
    assert (name, equals) == ("drop", "=")
    assert treatment(DataOptions(drop=ast.literal_eval(value))).drop == tuple(names)


def test_no_names_and_too_many_are_left_out():
    assert str(option("drop")) == str(option("drop", *NAMES)) == "--drop"


def test_sentences_name_arguments_as_python_does():
    def rule(name, value):
        return Mention(name, value, word=True)

    use = ("use ", rule("missing", "drop"), " (leaves out 30) or ", rule("missing", "state"), "; ")
    said = Sentence(*use, Mention("max-parents"), ", or cut with ", rule("discretise", "width:3"), ".")
    assert (
        said
        == "use --missing drop (leaves out 30) or --missing state; --max-parents, or cut with --discretise width:3."
    )
    assert said.in_python() == (
        'use missing="drop" (leaves out 30) or missing="state"; max_parents, or cut with discretise="width:3".'
    )
    assert Sentence("column '--drop' and ", said).in_python() == f"column '--drop' and {said.in_python()}"


def test_names_with_blanks_are_quoted(tmp_path):
    rows = "".join(f"{18 + i % 59},{i % 2},{i // 2 % 2}\n" for i in range(118))
    (tmp_path / "d.csv").write_text(f"age at entry,hyper,sex\n{rows}")
    (warning,) = read_csv(tmp_path / "d.csv").warnings
    assert "--discretise 'age at entry=quantile:4', or say --discrete 'age at entry'" in warning


@pytest.mark.parametrize("names", [("a",), ('say "no"', "c,d"), ("it's", "\\")])
def test_advice_to_choose_columns_can_be_left_out(names):
    chosen = Sentence("leave one of them out", dropped(names, ", such as with "), ", or two")
    assert chosen.in_python(choosing=False) == "leave one of them out, or two"
    many = Sentence("give more records than columns, or fewer columns", Mention("columns", link=" with "), ".")
    assert many.in_python() == "give more records than columns, or fewer columns with columns."
    assert many.in_python(choosing=False) == "give more records than columns, or fewer columns."
    assert Sentence("a frame with columns of states").in_python(choosing=False) == "a frame with columns of states"


def test_errors_carry_what_they_are_about():
    advice = ("leave it out", dropped(["a b"]))
    error = InputError("x has 'y' in row 3", option="drop", names=["a b"], value="y", row=3, advice=advice)
    for one in (error, pickle.loads(pickle.dumps(error))):
        assert str(one) == "--drop: x has 'y' in row 3: leave it out with --drop 'a b'."
        assert (one.option, one.names, one.value, one.row) == ("drop", ("a b",), "y", 3)
        one.tell_in_python()
        assert str(one) == "drop: x has 'y' in row 3: leave it out with drop=\"a b\"."


@pytest.mark.parametrize(
    ("error", "left"),
    [
        (InputError("x: 1 value is missing", row=1, advice=["use --missing drop"]), ": leave such records out."),
        (InputError("'y' is no number", row=1, advice=["take another score"]), "is no number: leave such records out."),
        (InputError("x: column 'a' has an infinite value: remove it."), "has an infinite value: remove it."),
        (InputError("x has no column 'a'.", option="columns"), "x has no column 'a'."),
    ],
)
def test_new_records_get_no_options(error, left):
    with pytest.raises(InputError) as told, advice_for_new_records():
        raise error
    assert str(told.value).endswith(left)
    assert "--" not in str(told.value)
    assert "another score" not in str(told.value)
