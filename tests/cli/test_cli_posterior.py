"""What `extbnsl posterior` prints where probabilities are estimates, and what other commands say of such a run."""

import json
from pathlib import Path

import pytest

from extbnsl.cli import main

ASKED = ("posterior", "data.csv", "--sample", "30", "--threads", "1", "--run-dir", "p")


@pytest.fixture
def estimated(sizes, capsys):
    """What was printed of a run."""
    sizes({"networks.MOST_VARIABLES": 0})
    assert main(ASKED) == 10
    return capsys.readouterr().out


def test_estimates_have_errors_and_no_bounds(estimated):
    assert "  joined     error  this way     error   arc (* joined in the network)\n" in estimated
    assert "at least" not in estimated
    own = json.loads(Path("p/result.json").read_text())["posterior"]
    told, estimate = " ".join(estimated.split()), own["estimate"]
    assert "status not proved" in told
    assert f"log weight about {estimate['log_weight']:,.3f} nats (+- {estimate['standard_error']:.3f})" in told
    worth = f"worth {estimate['effective']:,.0f} equal ones; nothing is proved"
    assert f"estimated from 16,384 networks drawn by orders and weighted, {worth}" in told
    assert "every probability within" not in told
    first = max(own["arcs"], key=lambda one: one["either"])
    figures = (first["either"], first["either_standard_error"], first["probability"], first["standard_error"])
    assert "".join(f"{figure:10.4f}" for figure in figures)[2:] in estimated


def test_a_page_and_a_check_say_so_too(estimated, capsys):
    assert main(["report", "p"]) == 0
    page = Path("p/report.html").read_text()
    assert "Estimates with their standard errors, not proved" in page
    assert "<th>standard error</th>" in page
    assert "at least" not in page[page.index("Probabilities of arcs") :].split("</table>")[0]
    capsys.readouterr()
    assert main(["verify", "p", "data.csv"]) == 11
    assert "the sum over all networks, and how likely arcs are: they are estimates\n" in capsys.readouterr().out
    assert main(["query", "p", "a", "--average"]) == 0
