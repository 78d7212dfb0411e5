"""What a score would take columns for, by `describe`: states or numbers, and what it refuses."""

import re

import numpy as np
import pandas as pd
import pytest

import extbnsl
from extbnsl import describe
from extbnsl.cli import main
from extbnsl.core.errors import InputError


@pytest.fixture
def of_all_kinds():
    draw = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "age": draw.normal(50, 10, 60).round(1),
            "kids": draw.integers(0, 4, 60),
            "ward": draw.choice(["east", "west"], 60),
            "set": [""] * 50 + ["kids"] * 10,
        }
    )


def taken(frame, **options):
    return {row["name"]: (row["taken"], row["refused"], bool(row["states"])) for row in describe(frame, **options)}


@pytest.mark.parametrize(
    ("score", "options", "sentence"),
    [
        ("bdeu", {"missing": "average"}, r"--missing average goes by a price of each parameter, and 'bdeu' has none"),
        ("fnml", {"missing": "average"}, r"--missing average goes by a price of each parameter, and 'fnml' has none"),
        ("dg-bic", {"missing": "average"}, r"--missing average .*, and 'dg-bic' goes by one covariance"),
        ("qnml", {"missing": "em"}, r"--missing em goes by a likelihood .*, and 'qnml' is no such score"),
        ("fnml", {"missing": "drop", "weights": "w"}, r"has weights that are not whole, .* and 'fnml' counts whole"),
        ("qnml", {"missing": "drop", "imputation": "i"}, r"imputed tables, and 'qnml' counts whole records"),
        (
            "bdeu",
            {"missing": "drop", "resolution": 0.1},
            r"--resolution: it is of numbers, and this score takes states",
        ),
    ],
)
def test_what_a_score_refuses_of_gaps_and_weights_is_refused_as_a_solve_does(
    tmp_path, capsys, score, options, sentence
):
    file = tmp_path / "data.csv"
    file.write_text("a,b,w,i\nx,1,1.5,1\n,2,2,1\ny,2,1,1\nx,1,1,2\n,2,2,2\ny,1,1,2\n")
    frame = pd.read_csv(file)
    drop = [name for name in ("w", "i") if name not in options.values()]
    said = list[str]()
    for ask in (describe, extbnsl.learn):
        with pytest.raises(InputError) as refused:
            ask(frame, score=score, drop=drop, **options)
        said.append(str(refused.value))
    assert said[0] == said[1]
    typed = [part for name, own in options.items() for part in (f"--{name}", str(own))]
    assert main(["describe", str(file), "--score", score, "--drop", ",".join(drop), *typed]) == 30
    assert re.search(sentence, capsys.readouterr().err)
    assert describe(frame.dropna(), score="bdeu", missing="average", drop=["w", "i"])


@pytest.mark.parametrize(
    ("score", "told"),
    [
        (None, {"age": ("", True, False), "kids": ("", False, True), "ward": ("", False, True)}),
        ("mdl", {"age": ("states", True, False), "kids": ("states", False, True), "ward": ("states", False, True)}),
        (
            "gaussian-bic",
            {"age": ("numbers", False, False), "kids": ("numbers", False, False), "ward": ("numbers", True, False)},
        ),
        (
            "cg-bic",
            {"age": ("numbers", False, False), "kids": ("numbers", False, False), "ward": ("states", False, True)},
        ),
        (
            "dg-bic",
            {"age": ("numbers", False, False), "kids": ("numbers", False, False), "ward": ("states", False, True)},
        ),
    ],
)
def test_what_a_score_takes_columns_for(of_all_kinds, score, told):
    frame = of_all_kinds.drop(columns="set")
    assert taken(frame, score=score) == told
    refused = any(own[1] for own in told.values())
    if score is not None and refused:
        with pytest.raises(InputError):
            extbnsl.learn(frame, score=score)
    elif score is not None:
        data = extbnsl.learn(frame, score=score).dataset
        states = getattr(data, "states", ((),) * 3)
        assert [bool(own) for own in states] == [own[0] == "states" for own in told.values()]


def test_what_is_said_of_columns_makes_them_states(of_all_kinds):
    frame = of_all_kinds.drop(columns="set")
    assert taken(frame, score="cg-bic", discrete="kids")["kids"] == ("states", False, True)
    assert taken(frame, score="cg-bic", discretise="age=mean")["age"] == ("states", False, True)
    assert taken(of_all_kinds, score="mdl", drop="age", targets="set")["set"] == ("", False, False)


def test_what_a_score_of_numbers_refuses(of_all_kinds):
    frame = of_all_kinds[["age", "kids"]].assign(always=3)
    assert taken(frame, score="gaussian-bic")["always"] == ("numbers", True, False)
    (row,) = (row for row in describe(frame, score="cg-bic") if row["name"] == "always")
    assert "no Gaussian fits" in row["odd"][0]
    (kids,) = (row for row in describe(frame, score="cg-bic") if row["name"] == "kids")
    assert "say discrete=" in kids["odd"][0]
    with pytest.raises(InputError, match="makes states of columns"):
        describe(frame, score="gaussian-bic", discretise="mean")
    with pytest.raises(InputError, match="'bix' is not known"):
        describe(frame, score="bix")
    with pytest.raises(InputError, match="it is of numbers"):
        describe(frame, score="mdl", resolution=1)


def test_the_command_shows_it(of_all_kinds, tmp_path, capsys):
    path = tmp_path / "d.csv"
    of_all_kinds.drop(columns="set").to_csv(path, index=False)
    assert main(["describe", str(path), "--score", "cg-bic"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    (head,) = (at for at, line in enumerate(lines) if line[:4] == ["column", "kind", "taken", "as"])
    assert [line[2] for line in lines[head + 1 : head + 4]] == ["numbers", "numbers", "states"]
    assert main(["describe", str(path)]) == 0
    assert "taken as" not in capsys.readouterr().out
    assert main(["describe", str(path), "--score", "gaussian-bic"]) == 0
    told = capsys.readouterr().out
    assert "A solve is refused" in told
    assert "together: --drop ward" in told


@pytest.mark.parametrize(
    ("column", "score", "advice"),
    [
        ([0.5, None, 1.5, 2.5], "gaussian-bic", 'use missing="drop" (leaves out 1 of 4 records).'),
        (
            ["x", None, "y", "x"],
            "mdl",
            'use missing="drop" (leaves out 1 of 4 records) or missing="state".',
        ),
        ([None] * 4, "mdl", "leave out 'a', which has no value at all, with drop=\"a\"."),
    ],
)
def test_what_to_do_about_missing_values_is_what_a_solve_says(column, score, advice):
    frame = pd.DataFrame({"a": column, "b": [1, 2, 4, 3]})
    assert describe(frame, score=score)[0]["odd"][0].endswith(advice)
    with pytest.raises(InputError) as refused:
        extbnsl.learn(frame, score=score)
    assert str(refused.value).endswith(advice)
