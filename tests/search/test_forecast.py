"""Forecasts: exact where everything is known, and near what is known of sizes where it is not."""

from math import comb

import numpy as np
import pytest

from extbnsl.search.forecast import edges_left, forecast

WDBC = [1, 31, 465, 4483, 29772, 127432, 360706, 736817, 1147870, 1449030, 1517000, 1360000, 1060000]  # and 18 layers
WDBC_KEPT = 9_526_832


def test_what_was_counted_is_not_guessed():
    for nodes, edges in (([1, 3, 3, 1], [3, 6, 3]), ([1, 2, 0], [3, 2]), ([1, 3, 0], [3, 4])):
        found = forecast(nodes, edges, 3)
        assert found.complete
        assert found.doubt == 1.0
        assert found.nodes.tolist() == nodes + [0] * (4 - len(nodes))
        assert found.edges.tolist() == edges + [0] * (3 - len(edges))


def test_a_lattice_of_which_nothing_is_pruned_is_carried_on_whole():
    n, seen = 20, 6
    found = forecast([comb(n, k) for k in range(seen)], [comb(n, k) * (n - k) for k in range(seen - 1)], n)
    assert not found.complete
    assert found.nodes == pytest.approx([comb(n, k) for k in range(n + 1)], rel=1e-5)
    assert found.edges == pytest.approx([comb(n, k) * (n - k) for k in range(n)], rel=1e-5)


def test_the_edges_left_of_a_lattice_of_which_nothing_is_pruned_are_counted():
    n, size = 20, 5
    nodes = [comb(n, k) for k in range(size + 1)]
    left = sum(comb(n, k) * (n - k) for k in range(size, n))
    doubt = forecast(nodes, [1] * size, n).doubt
    assert edges_left(nodes, nodes[-2] * (n - size + 1), n) == pytest.approx(left / doubt, rel=1e-5)
    assert edges_left(nodes, nodes[-2] * (n - size + 1) // 2, n) == pytest.approx(left / 2 / doubt, rel=1e-5)


def test_layers_that_are_nearly_full_tell_nothing_of_those_after_them():
    """Of a real search of 64 variables, nothing of which was over after 2e9 edges."""
    nodes, edges = [1, 64, 2016, 40767, 580_003, 6_193_608], [64, 3908, 114_439, 2_097_387, 26_476_991]
    assert forecast(nodes[:4], edges[:3], 64).edges.sum() < 1e9
    assert forecast(nodes[:5], edges[:4], 64).edges.sum() > 1e17
    assert edges_left(nodes, edges[-1], 64) > 1e14


def test_a_guess_keeps_what_was_seen_and_gets_better_and_surer_with_it():
    doubts = []
    for seen in (5, 8, 11):
        found = forecast(WDBC[:seen], [100 * count for count in WDBC[: seen - 1]], 31)
        assert found.nodes[:seen].tolist() == WDBC[:seen]
        assert found.edges[: seen - 1].tolist() == [100 * count for count in WDBC[: seen - 1]]
        assert WDBC_KEPT / found.doubt < found.nodes.sum() < WDBC_KEPT * found.doubt
        doubts.append(found.doubt)
    assert doubts[0] > doubts[1] > doubts[2] > 1
    assert found.nodes.sum() == pytest.approx(WDBC_KEPT, rel=0.2)


@pytest.mark.parametrize("nodes", [[1], [1, 40], [1, 40, 0.5 * comb(40, 2)], [1, 2, 1], [1, 40, 780, 3]])
def test_any_beginning_gives_a_forecast_that_is_finite(nodes):
    nodes = [int(count) for count in nodes]
    found = forecast(nodes, [40] * (len(nodes) - 1), 40)
    assert np.isfinite(found.nodes).all()
    assert np.isfinite(found.edges).all()
    assert (found.nodes >= 0).all()
    assert all(found.nodes[k] <= comb(40, k) * 1.001 for k in range(41))
    assert (found.edges >= found.nodes[:-1] * 0.999)[len(nodes) - 1 :].all(), "each node has a successor"
    assert found.doubt >= 1
