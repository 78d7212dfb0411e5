"""Drawings of networks: what must hold of any of them, whatever the network."""

import itertools
import random

import pytest

from extbnsl.core.errors import VerificationError
from extbnsl.drawing.layout import NARROWEST, Spacing, lay_out
from extbnsl.networks.network import Network

SPACINGS = (Spacing(), Spacing(shared=True))


def made(n, arcs, seed):
    """A random network of n variables and up to so many arcs, whose order is not that of its variables."""
    rng = random.Random(seed)
    order = rng.sample(range(n), n)
    parents = [set() for _ in range(n)]
    for _ in range(arcs if n > 1 else 0):
        a, b = sorted(rng.sample(range(n), 2))
        parents[order[b]].add(order[a])
    return Network(tuple(f"v{i}" for i in range(n)), tuple(tuple(sorted(own)) for own in parents))


def widths_of(network, seed=0):
    rng = random.Random(seed)
    return [rng.uniform(20.0, 150.0) for _ in network.names]


def overlap(a, b):
    return abs(a.x - b.x) < (a.width + b.width) / 2 - 1e-6 and abs(a.y - b.y) < (a.height + b.height) / 2 - 1e-6


NETWORKS = [made(n, arcs, seed) for seed, (n, arcs) in enumerate([(1, 0), (2, 1), (5, 4), (8, 28), (30, 50), (60, 90)])]
NETWORKS += [
    Network(tuple(map(str, range(70))), ((), *[(0,)] * 69)),  # a star
    Network(tuple(map(str, range(40))), ((), *((i,) for i in range(39)))),  # a path
    Network(tuple(map(str, range(9))), ((),) * 9),
    Network(tuple(map(str, range(12))), tuple(tuple(range(i)) for i in range(12))),  # all arcs
]


@pytest.mark.parametrize("spacing", SPACINGS, ids=["apart", "shared"])
@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: f"{len(network.names)}-{len(network.arcs())}")
def test_arcs_point_down_and_boxes_are_apart(network, spacing):
    widths = widths_of(network)
    layout = lay_out(network, widths, spacing)
    assert [box.width for box in layout.boxes.values()] == widths
    assert tuple(layout.routes) == network.arcs()
    assert not any(overlap(a, b) for a, b in itertools.combinations(layout.boxes.values(), 2))
    for (parent, child), route in layout.routes.items():
        up, down = layout.boxes[parent], layout.boxes[child]
        assert up.y < down.y
        assert route[0][1] == pytest.approx(up.y + up.height / 2)
        assert route[-1][1] == pytest.approx(down.y - down.height / 2)
        assert abs(route[0][0] - up.x) < up.width / 2
        assert abs(route[-1][0] - down.x) < down.width / 2
        assert len(route) % 2 == 0
        assert all(a[1] < b[1] for a, b in itertools.pairwise(route))
    for box in layout.boxes.values():
        assert box.x - box.width / 2 >= -1e-6
        assert box.x + box.width / 2 <= layout.width + 1e-6
        assert box.y - box.height / 2 >= 0
        assert box.y + box.height / 2 <= layout.height + 1e-6


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: f"{len(network.names)}-{len(network.arcs())}")
@pytest.mark.parametrize("spacing", SPACINGS, ids=["apart", "shared"])
def test_no_arc_passes_behind_a_box(network, spacing):
    """Curves lie between rows; what passes a row is upright, and beside all boxes."""
    layout = lay_out(network, widths_of(network), spacing)
    for route in layout.routes.values():
        for (x, y), (end, bottom) in zip(route[1:-1:2], route[2:-1:2], strict=True):
            assert x == end
            for box in layout.boxes.values():
                beside, above, below = abs(box.x - x) - box.width / 2, box.y - bottom, y - box.y
                assert max(beside, above - box.height / 2, below - box.height / 2) >= 0
        for (_, y), (_, bottom) in zip(route[::2], route[1::2], strict=True):
            own = [
                box
                for box in layout.boxes.values()
                if y + 1e-6 < box.y + box.height / 2 and box.y - box.height / 2 < bottom - 1e-6
            ]
            xs = [x for x, _ in route]
            assert all(box.x + box.width / 2 < min(xs) or box.x - box.width / 2 > max(xs) for box in own)


def test_equal_networks_have_equal_drawings():
    network = made(40, 70, 3)
    again = Network(network.names, network.parents)
    assert lay_out(network, widths_of(network)) == lay_out(again, widths_of(again))


def test_a_tree_has_no_crossings():
    """Upright order of routes between each two rows is kept: nothing crosses in a binary tree."""
    network = Network(tuple(map(str, range(31))), ((), *(((i - 1) // 2,) for i in range(1, 31))))
    routes = lay_out(network, [40.0] * 31).routes.values()
    for one, other in itertools.combinations(routes, 2):
        if one[0][1] == other[0][1]:
            assert (one[0][0] - other[0][0]) * (one[-1][0] - other[-1][0]) >= 0


def test_a_row_that_is_too_wide_goes_on_below():
    network = Network(tuple(map(str, range(200))), ((), *[(0,)] * 199))
    layout = lay_out(network, [100.0] * 200)
    assert len({box.y for box in layout.boxes.values()}) > 3
    assert layout.width < 6 * NARROWEST


def test_components_are_side_by_side():
    parents = tuple((i - 1,) if i % 2 else () for i in range(40))
    layout = lay_out(Network(tuple(map(str, range(40))), parents), [60.0] * 40)
    assert len({box.y for box in layout.boxes.values()}) < 20
    assert layout.width < 4 * layout.height


def test_a_cycle_is_named():
    with pytest.raises(VerificationError, match=r"cycle 'a' -> 'b' -> 'a'|cycle 'b' -> 'a' -> 'b'"):
        lay_out(Network(("a", "b"), ((1,), (0,))), [10.0, 10.0])
