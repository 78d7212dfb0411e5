"""`extbnsl describe`: the table of columns."""

import json
import re
from pathlib import Path

import pytest

from extbnsl.cli import main

TEXT = "id,income,bmi,sex\n" + "".join(f'{i},"{i % 30},5",{20 + i / 7:.2f},{"mf"[i % 2]}\n' for i in range(90))


@pytest.fixture
def survey(here):
    (here / "survey.csv").write_text(TEXT)
    return "survey.csv"


def test_the_table_has_a_line_for_each_column_and_what_is_odd_below(survey, capsys):
    assert main(["describe", survey]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert lines[0] == "survey.csv: 90 records, 4 columns, comma, header"
    assert re.match(r"column +kind +values +states or range +missing +read and cut +notes", lines[1])
    assert [line.split()[:3] for line in lines[2:6]] == [
        ["id", "identifier", "90"],
        ["income", "text", "30"],
        ["bmi", "numbers", "90"],
        ["sex", "states", "2"],
    ]
    assert "m (45)" in lines[5]
    numbered = " ".join(out.split())
    assert (
        "1! Column 'income' has numbers with a decimal comma ('0,5' in row 1 of the data, and 89 more values)"
        in numbered
    )
    assert "A solve is refused until what has a ! is settled." in out
    assert all(len(line) <= 120 for line in lines)


def test_what_is_settled_is_no_longer_odd(survey, capsys):
    given = ["--drop", "id", "--decimal", ",", "--discretise", "quantile:3"]
    assert main(["describe", survey, *given]) == 0
    out = capsys.readouterr().out
    assert "decimal comma; quantile:3" in out
    assert "!" not in out
    assert main(["solve", survey, *given, "--quiet"]) == 0
    network = json.loads(Path("survey.run/network.json").read_text())
    assert network["treated"] == {"income": "decimal comma; quantile:3", "bmi": "quantile:3"}
    assert main(["report", "survey.run"]) == 0
    page = Path("survey.run/report.html").read_text()
    assert "decimal comma; quantile:3" in page
    assert "read and cut" in page


def test_it_is_printed_as_json(survey, capsys):
    assert main(["describe", survey, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["records"], told["layout"], told["warnings"]) == (90, "comma, header", [])
    assert [column["name"] for column in told["columns"]] == ["id", "income", "bmi", "sex"]
    assert told["columns"][3]["states"] == {"f": 45, "m": 45}
    assert told["columns"][1]["refused"]


def test_local_scores_have_no_columns(here, capsys):
    (here / "s.jkl").write_text("1\na 1\n-1 0\n")
    assert main(["describe", "s.jkl"]) == 30
    assert "no columns" in capsys.readouterr().err


def test_many_variables_are_pointed_to_approximate(sizes, capsys):
    sizes(SELDOM_PROVED=4)
    assert main(["solve", "data.csv", "--quiet"]) == 0
    assert "approximate" not in capsys.readouterr().err
    sizes(SELDOM_PROVED=3)
    assert main(["solve", "data.csv", "--quiet"]) == 0
    assert "4 variables are many: if solve does not prove" in capsys.readouterr().err
