"""What a notebook shows of a result."""

import sys
import types
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import extbnsl
from extbnsl.core.knowledge import Knowledge

TABLE = np.array([[0, 0, 0], [1, 1, 0], [1, 1, 1], [0, 0, 1]] * 20)


@pytest.fixture
def drawn(monkeypatch):
    """What is asked of the drawing, for which a stand-in is there."""
    asked = []

    def network_svg(network, strengths, shares, of_which, knowledge, lags):
        asked.append((network, strengths, shares, knowledge))
        return "<svg><title>drawn</title></svg>"

    shares = {"OF_FOUND": "of those found", "OF_RESAMPLES": "of resamples", "OF_ALL": "of all"}
    fake = types.SimpleNamespace(network_svg=network_svg, **shares)
    monkeypatch.setitem(sys.modules, "extbnsl.drawing.network", fake)
    return asked


def of_arcs(network, of_arc):
    """What there is of each arc of a network, by names."""
    return {(network.names[p], network.names[x]): of_arc(p, x) for p, x in network.arcs()}


def rows(page):
    """The rows of the table, and the rest, of a page that is well-formed."""
    root = ElementTree.fromstring(page)
    return {row[0].text: row[1].text for row in root.iter("tr")}, root


def test_a_result_tells_its_claim_and_draws_the_network(drawn):
    result = extbnsl.learn(TABLE, names=["<b>a", "b & c", "d"], max_parents=1, knowledge={"roots": ["<b>a"]})
    table, root = rows(result._repr_html_())
    assert table == {
        "status": "optimal",
        "cost": f"{result.cost:.6f} nats (MDL, minimised)",
        "bounds": f"{result.lower_bound:.6f} to {result.cost:.6f} (gap 0.00%)",
        "network": f"3 variables, 1 arc, {result.stats['parameters']} parameters",
        "limit": "at most 1 parent for each variable",
        "knowledge": str(result.knowledge),
    }
    assert root.find("svg/title").text == "drawn"
    assert drawn == [(result.network, None, None, Knowledge(roots=("<b>a",)))]


def test_arcs_are_drawn_as_sure_as_they_are(drawn):
    result = extbnsl.learn(TABLE, bootstrap=10)
    table, _ = rows(result._repr_html_())
    assert table["bootstrap"] == "10 resamples, all proved"
    assert drawn[-1][2] == of_arcs(result.network, lambda p, x: 1.0)
    result = extbnsl.k_best(TABLE, k=4)
    table, _ = rows(result._repr_html_())
    assert table["networks"] == "4 networks, the best"
    assert table["shares"].startswith(
        f"of the weight of the listed networks alone; they hold {result.of_all.at_least:.4f} of"
    )
    assert drawn[-1][2] == of_arcs(result.network, lambda p, x: result.arcs[p, x])
    assert 0.0 < min(drawn[-1][2].values()) < 1.0


def test_scores_of_a_dictionary_have_no_name(drawn):
    result = extbnsl.learn({"a": {(): -3.0}, "b": {(): -2.0, ("a",): -1.0}})
    assert "minus the given scores" in rows(result._repr_html_())[0]["cost"]


def test_what_is_too_large_is_not_drawn(drawn, sizes):
    sizes({"facts.MOST_DRAWN": 2})
    assert rows(extbnsl.learn(TABLE)._repr_html_())[1].find("svg") is None
    assert drawn == []
