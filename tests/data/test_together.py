"""All options by which data can be used, as they are found together, do make them usable; and none is found where one
has to be chosen."""

import random
import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extbnsl.cli import main
from extbnsl.core.data_options import DataOptions
from extbnsl.data import Reading, prepare, read_file
from extbnsl.data.together import together

RECORDS = 80


def column_of(kind, r):
    """RECORDS texts of a kind that a solve may refuse."""
    values = {
        "id": lambda i: f"P{i:04d}",
        "date": lambda i: f"{1 + i % 28:02d}.{1 + i // 28:02d}.{2001 + r.randrange(9)}",
        "comma": lambda i: f"{r.randrange(100, 999)},{r.randrange(10)}{r.randrange(1, 10)}",
        "below": lambda i: r.choice(["<0.5", f"{r.uniform(0.5, 9):.3f}"]),
        "unit": lambda i: f"{r.uniform(20, 90):.2f} kg",
        "real": lambda i: f"{r.gauss(0, 1):.5f}",
        "stray": lambda i: "n.d." if i == 7 else f"{r.gauss(0, 1):.5f}",
        "code": lambda i: r.choice(["0", "1", "2", "-9"]),
        "gap": lambda i: r.choice(["a", "b", ""]),
        "states": lambda i: r.choice(["a", "b", "c"]),
    }
    return [values[kind](i) for i in range(RECORDS)]


def written(path, columns, delimiter="\t"):
    rows = [columns.keys(), *zip(*columns.values(), strict=True)]
    path.write_text("".join(delimiter.join(row) + "\n" for row in rows))
    return path


def found(path, **given):
    return together(path, DataOptions(**given), Reading())


def as_options(mentions):
    return {mention.name.replace("-", "_"): mention.value for mention in mentions}


@settings(max_examples=60, deadline=None)
@given(
    kinds=st.lists(
        st.sampled_from(["id", "date", "comma", "below", "unit", "real", "stray", "code", "gap", "states"]),
        min_size=1,
        max_size=9,
    ),
    seed=st.integers(0, 2**16),
)
def test_data_can_be_used_with_the_options_together(tmp_path_factory, kinds, seed):
    r = random.Random(seed)
    # A decimal comma beside a point leaves two meanings, and is looked at below.
    own = [kind for kind in kinds if kind != "comma" or not {"below", "unit", "real", "stray"} & set(kinds)]
    columns = {f"x{j}": column_of(kind, r) for j, kind in enumerate(["states", *own])}
    path = written(tmp_path_factory.mktemp("made") / "made.tsv", columns)
    dataset = read_file(prepare, path, DataOptions(**as_options(found(path))), Reading())
    assert {name for name, kind in zip(columns, ["states", *own], strict=True) if kind not in ("id", "date")} == set(
        dataset.names
    )
    assert all(len(states) < RECORDS / 2 for states in dataset.states)


def test_options_that_the_user_gave_are_added_to(tmp_path):
    r = random.Random(1)
    path = written(tmp_path / "a.tsv", {"id": column_of("id", r), "x": column_of("code", r), "y": column_of("real", r)})
    options = as_options(found(path, drop="id", na=["1"]))
    assert options == {"na": "-9", "discretise": "mean", "missing": "drop"}


def test_columns_too_many_to_be_told_are_all_left_out(tmp_path):
    r = random.Random(2)
    columns = {f"id, {j}": column_of("id", r) for j in range(9)} | {"s": column_of("states", r)}
    path = written(tmp_path / "a.tsv", columns)
    assert read_file(prepare, path, DataOptions(**as_options(found(path))), Reading()).names == ("s",)


def test_rows_of_units_are_left_out_first(tmp_path):
    r = random.Random(3)
    columns = {"age": ["years", *column_of("real", r)], "weight": ["kg", *column_of("real", r)]}
    path = written(tmp_path / "a.tsv", columns)
    options = as_options(found(path))
    assert options == {"skip_lines": "2-2", "discretise": "mean"}


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ([f"{i},{i * 7 % 900 + 100}" for i in range(1, RECORDS + 1)], "1,234 has two meanings"),
        ([f"{chr(97 + i % 26)}{i} {'x' * (i % 5)}" for i in range(RECORDS)], "no column would be left"),
    ],
)
def test_nothing_is_advised_where_only_the_user_knows(tmp_path, texts, why):
    path = written(tmp_path / "a.tsv", {"x": texts, **({"s": ["a", "b"] * (RECORDS // 2)} if "two" in why else {})})
    assert found(path) == ()


def test_data_that_can_be_used_need_nothing(tmp_path):
    assert found(written(tmp_path / "a.tsv", {"s": column_of("states", random.Random(4))})) == ()


def clinic(path):
    """A table as clinics have it: identifiers, dates, decimal commas, limits of detection, a Likert scale, codes."""
    r, rows = random.Random(5), []
    scale = ["stimme nicht zu", "teils", "stimme zu", "stimme voll zu"]
    for i in range(200):
        ill = r.random() < 0.4
        protein = r.gauss(6 if ill else 1.5, 2)
        rows.append(
            [
                f"P{i + 1:04d}",
                f"{r.randrange(1, 29):02d}.{r.randrange(1, 13):02d}.{r.randrange(2019, 2023)}",
                f"{r.gauss(27 if ill else 24, 3):.1f}".replace(".", ","),
                "<0,5" if protein < 0.5 else f"{protein:.1f}".replace(".", ","),
                r.choice(["0", "1"]) if r.random() > 0.05 else "-9",
                str(r.randrange(4)) if r.random() > 0.05 else "99",
                scale[min(3, max(0, round(r.gauss(2 if ill else 1, 1))))],
                "ja" if ill else "nein",
            ]
        )
    names = ["PatID", "Aufnahme", "BMI", "CRP (mg/l)", "Raucher", "Alkohol", "Schmerz", "krank"]
    path.write_text("".join(";".join(row) + "\n" for row in [names, *rows]), encoding="utf-8-sig")
    return path


def test_a_clinic_has_its_network_with_the_second_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = str(clinic(tmp_path / "clinic.csv"))
    assert main(["solve", path, "--quiet"]) == 30
    refusal = capsys.readouterr().err
    assert main(["describe", path]) == 0
    told = capsys.readouterr().out
    advised = told.rsplit("together: ", 1)[1].strip()
    assert f" All of it together: {advised}." in refusal
    assert main(["solve", path, "--quiet", "--threads", "1", *shlex.split(advised)]) == 0
    assert "optimal" in capsys.readouterr().out
