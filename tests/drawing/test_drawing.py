"""The SVG of a network: well formed whatever the names are, and what it says of arcs."""

import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from extbnsl.drawing.network import _shortened, network_svg
from extbnsl.networks.network import Network

SVG = "{http://www.w3.org/2000/svg}"
COLLIDER = Network(("a", "b", "c", "d"), ((), (), (0, 1), (2,)))
CHAIN = Network(("a", "b", "c"), ((), (0,), (1,)))
WICKED = (
    "<script>alert(1)</script>",
    "\"'&]]>",
    "</style></svg>",
    "\u202eevil\u2066",
    "\x00\x1b[31m",
    "\ud800",
    "שלום",
    "名前",
)


def parsed(svg):
    return ET.fromstring(svg)


def arcs_of(svg):
    return [
        group for group in parsed(svg).iter(f"{SVG}g") if "arc" in group.get("class", "").split() and len(group) > 1
    ]


def titles(svg):
    return [group.find(f"{SVG}title").text for group in arcs_of(svg)]


def test_compelled_arcs_have_heads_and_others_are_dashed():
    drawn = network_svg(COLLIDER)
    assert titles(drawn) == ["a → c", "b → c", "c → d"]
    assert 'class="head"' in drawn
    assert 'class="open"' not in drawn
    assert "either way" not in drawn.split("</style>")[1]
    drawn = network_svg(CHAIN)
    assert titles(drawn) == ["a → b; could point the other way", "b → c; could point the other way"]
    assert 'class="head"' not in drawn.split("</style>")[1]
    assert "could point either way" in drawn


def test_strengths_are_widths():
    drawn = arcs_of(network_svg(COLLIDER, {("a", "c"): 1.0, ("b", "c"): 16.0, ("c", "d"): 4.0}))
    widths = [float(group.find(f"{SVG}path").get("stroke-width")) for group in drawn]
    assert widths[0] < widths[2] < widths[1]
    assert "strength 16" in drawn[1].find(f"{SVG}title").text


@pytest.mark.parametrize("strengths", [{}, {("a", "c"): 0.0}])
def test_strengths_may_be_missing_or_nothing(strengths):
    assert len(arcs_of(network_svg(COLLIDER, strengths))) == 3


def test_shares_are_opacity_and_label():
    drawn = arcs_of(network_svg(COLLIDER, None, {("a", "c"): 0.25, ("b", "c"): 1.0}))
    assert float(drawn[0].get("opacity")) < float(drawn[1].get("opacity"))
    assert [group.findtext(f"{SVG}text") for group in drawn] == ["0.25", None, None]
    assert drawn[0].findtext(f"{SVG}title").endswith("; share of the networks found 0.250")


def test_names_are_text_and_nothing_else():
    network = Network(WICKED, ((), *((i,) for i in range(len(WICKED) - 1))))
    drawn = network_svg(network)
    drawn.encode("utf-8")
    tags = {element.tag.removeprefix(SVG) for element in parsed(drawn).iter()}
    assert tags == {"svg", "style", "g", "title", "path", "rect", "text"}
    said = [group.findtext(f"{SVG}title") for group in parsed(drawn).iter(f"{SVG}g") if group.get("class") == "box"]
    assert said == [*WICKED[:3], "\\u202eevil\\u2066", "\\x00\\x1b[31m", "\\ud800", *WICKED[6:]]


def test_long_names_are_shortened_in_the_middle():
    assert _shortened("mean_fractal_dimension_error", 20) == "mean_fractal_…_error"
    assert _shortened("short", 20) == "short"
    drawn = network_svg(Network(("x" * 500, "y"), ((), (0,))))
    assert parsed(drawn).get("viewBox").split()[2] < "999"
    assert "x" * 500 in drawn


@pytest.mark.parametrize("n", [1, 130])
def test_a_network_without_arcs_is_drawn(n):
    drawn = parsed(network_svg(Network(tuple(map(str, range(n))), ((),) * n)))
    assert sum(group.get("class") == "box" for group in drawn.iter(f"{SVG}g")) == n


def test_a_drawing_needs_nothing_heavy():
    code = "import sys, extbnsl.drawing.network; print({'numba', 'h5py', 'numpy', 'matplotlib'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
