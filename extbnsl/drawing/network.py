"""A network as a drawing in SVG: a text that needs no other file and no program but a browser."""

from collections.abc import Mapping
from dataclasses import dataclass

from extbnsl.core.figures import in_full
from extbnsl.core.knowledge import NOTHING, Knowledge
from extbnsl.drawing.layout import Box, Layout, Point, Spacing, lay_out
from extbnsl.drawing.markup import escaped, shown, text_width
from extbnsl.drawing.slices import lay_out_slices
from extbnsl.networks.network import Network, cpdag

Names = tuple[str, str]  # of the parent and the child of an arc

STYLE = """
.bn { color: #1b1f24; color-scheme: light dark; font-family: system-ui, Helvetica, Arial, sans-serif; }
@media (prefers-color-scheme: dark) { .bn { color: #e4e8ec; } }
@media print { .bn { color: #000000; color-scheme: light; } }
.bn text { fill: currentColor; text-anchor: middle; }
.bn .box rect { fill: currentColor; fill-opacity: 0.06; stroke: currentColor; stroke-opacity: 0.6; }
.bn .arc path { fill: none; stroke: currentColor; }
.bn .arc .head { fill: currentColor; stroke-width: 0; }
.bn .arc .open { stroke-width: 1; }
.bn .either path { stroke-dasharray: 5 4; } .bn .either .open { stroke-dasharray: none; }
.bn .arc text { font-size: 10px; stroke: var(--back, Canvas); stroke-width: 3px; paint-order: stroke; }
.bn .legend text { text-anchor: start; font-size: 11px; opacity: 0.75; }
.bn g.arc:hover, .bn g.box:hover { color: #2a7de1; }
"""
BEGINNING = '<svg xmlns="http://www.w3.org/2000/svg" class="bn"'  # of every drawing
MARGIN = 12.0
MANY = 120  # variables, from which on boxes are small
MOST_LABELLED = 150  # arcs, up to which shares are written beside them
THIN, THICK, PLAIN = 0.8, 4.0, 1.3  # widths of arcs: of the weakest, the strongest, and where no strength is known
SURE = 0.995  # a share from which on it is not written
FAINT = 0.2  # opacity of an arc that no network has
# what a share is of
OF_FOUND, OF_RESAMPLES, OF_ALL = "of the networks found", "of the resamples that join the two", "of all networks"
HEAD = 8.0  # the length of an arrow head
LEGEND = "dashed: could point either way"
LEGEND_WIDTH, LEGEND_HEIGHT = 215.0, 26.0


@dataclass(frozen=True)
class _Size:
    """Of boxes and their texts."""

    font: float
    longest: int  # characters of a name
    padding: float
    spacing: Spacing


_LARGE = _Size(13.0, 20, 11.0, Spacing())
_SMALL = _Size(11.0, 14, 6.0, Spacing(height=19.0, across=10.0, down=30.0, aside=24.0, line=7.0, shared=True))


def network_svg(
    network: Network,
    strengths: Mapping[Names, float] | None = None,
    shares: Mapping[Names, float] | None = None,
    of_which: str = OF_FOUND,
    knowledge: Knowledge = NOTHING,
    lags: int = 0,
) -> str:
    """The drawing of an acyclic network, an SVG document that ends in a newline; in dark where the reader wants dark.

    Arcs are solid with a filled head if all networks of the equivalence class that the knowledge allows have them, else
    dashed with an open one.
    strengths, at least 0: the wider the arc. shares, from 0 to 1, of which networks: the fainter the arc the less it
    is, with a label where it is below SURE and arcs are few. Both by names, (parent, child); an arc that is missing is
    not known. lags: of a time series, whose variables are those of a time and then these at each lag: each lag has a
    column of boxes, the present at the right. Names are shortened and have their whole text as a tooltip. Time as
    `lay_out`: half a second for 413 variables. Raises as `cpdag`.
    """
    size = _LARGE if len(network.names) <= MANY else _SMALL
    labels = [_shortened(shown(name), size.longest) for name in network.names]
    widths = [max(36.0, text_width(label, size.font) + 2 * size.padding) for label in labels]
    layout = lay_out_slices(network, widths, lags, size.spacing) if lags else lay_out(network, widths, size.spacing)
    compelled = set(cpdag(network, knowledge)[0])
    arcs = []
    for arc, route in layout.routes.items():
        names = network.names[arc[0]], network.names[arc[1]]
        arcs.append(_arc(names, route, lags > 0, arc in compelled, *_look(names, layout, strengths, shares, of_which)))
    boxes = [_box(box, labels[x], network.names[x], size) for x, box in layout.boxes.items()]
    legend = _legend(layout.height) if len(compelled) < len(layout.routes) else ""
    return _document(network, layout, [*arcs, *boxes], legend)


def _document(network: Network, layout: Layout, parts: list[str], legend: str) -> str:
    width = max(layout.width, LEGEND_WIDTH if legend else 0.0) + 2 * MARGIN
    height = layout.height + (LEGEND_HEIGHT if legend else 0.0) + 2 * MARGIN
    said = f"A network of {in_full(len(network.names), 'variable')} and {in_full(len(layout.routes), 'arc')}"
    return (
        f'{BEGINNING} role="img" aria-label="{said}" '
        f'viewBox="{-MARGIN:g} {-MARGIN:g} {_number(width)} {_number(height)}" '
        f'width="{_number(width)}" height="{_number(height)}">\n'
        f"<style>{STYLE}</style>\n{''.join(parts)}{legend}</svg>\n"
    )


def _look(
    arc: Names,
    layout: Layout,
    strengths: Mapping[Names, float] | None,
    shares: Mapping[Names, float] | None,
    of_which: str,
) -> tuple[float, float, str, str]:
    """How an arc is drawn: its width, its opacity, the label beside it, if it has one, and what its tooltip says."""
    strength = None if strengths is None else strengths.get(arc)
    share = None if shares is None else shares.get(arc)
    width, opacity, label, known = PLAIN, 0.85, "", ""
    if strengths and strength is not None:
        most = max(strengths.values())
        width = THIN + (THICK - THIN) * (max(0.0, strength) / most) ** 0.5 if most > 0.0 else THIN
        known += f"; strength {strength:.4g}"
    if share is not None:
        opacity = FAINT + (0.95 - FAINT) * min(1.0, max(0.0, share))
        label = f"{share:.2f}" if share < SURE and len(layout.routes) <= MOST_LABELLED else ""
        known += f"; share {of_which} {share:.3f}"
    return width, opacity, label, known


def _arc(
    arc: Names,
    route: tuple[Point, ...],
    aside: bool,
    compelled: bool,
    width: float,
    opacity: float,
    label: str,
    known: str,
) -> str:
    parent, child = arc
    said = "" if compelled else "; could point the other way"
    x, y = route[-1]
    wide = 3.2 + width / 2
    if aside:
        back = -HEAD if route[1][0] < x else HEAD
        shaft = _aside(route, (x + back, y))
        lines = f"M{_at((x + back, y - wide))}L{_at((x, y))}L{_at((x + back, y + wide))}"
    else:
        shaft = _path((*route[:-1], (x, y - HEAD)))
        lines = f"M{_at((x - wide, y - HEAD))}L{_at((x, y))}L{_at((x + wide, y - HEAD))}"
    head = f'<path class="head" d="{lines}Z"/>' if compelled else f'<path class="open" d="{lines}"/>'
    beside = _label(route[1:3] if aside else route, label) if label else ""
    return (
        f'<g class="arc{"" if compelled else " either"}" opacity="{opacity:.2f}">'
        f"<title>{escaped(parent)} → {escaped(child)}{said}{known}</title>"
        f'<path d="{shaft}" stroke-width="{width:.2f}"/>{head}{beside}</g>\n'
    )


def _path(route: tuple[Point, ...]) -> str:
    """Curves that leave and arrive upright, and upright lines between them."""
    parts = [f"M{_at(route[0])}"]
    for (x, y), (end, bottom) in zip(route[::2], route[1::2], strict=True):
        middle = (y + bottom) / 2
        parts.append(f"L{_at((x, y))}" if len(parts) > 1 else "")
        parts.append(f"C{_at((x, middle))} {_at((end, middle))} {_at((end, bottom))}")
    return "".join(parts)


def _aside(route: tuple[Point, ...], end: Point) -> str:
    """A curve between sides of boxes, which its two middle points pull."""
    return f"M{_at(route[0])}C{_at(route[1])} {_at(route[2])} {_at(end)}"


def _label(route: tuple[Point, ...], text: str) -> str:
    """A text in the middle of the last curve, or between two points."""
    (x, y), (end, bottom) = route[-2:]
    return f'<text x="{_number((x + end) / 2)}" y="{_number((y + bottom) / 2 + 3)}">{text}</text>'


def _box(box: Box, label: str, name: str, size: _Size) -> str:
    left, top = box.x - box.width / 2, box.y - box.height / 2
    return (
        f'<g class="box"><title>{escaped(name)}</title><rect x="{_number(left)}" y="{_number(top)}" '
        f'width="{_number(box.width)}" height="{_number(box.height)}" rx="{_number(size.spacing.height / 4)}"/>'
        f'<text x="{_number(box.x)}" y="{_number(box.y + 0.35 * size.font)}" font-size="{size.font:g}">'
        f"{escaped(label)}</text></g>\n"
    )


def _legend(below: float) -> str:
    y = below + LEGEND_HEIGHT
    return (
        f'<g class="legend"><g class="arc either"><path d="M0,{_number(y - 4)}L32,{_number(y - 4)}" '
        f'stroke-width="{PLAIN}"/></g><text x="40" y="{_number(y)}">{LEGEND}</text></g>\n'
    )


def _shortened(name: str, longest: int) -> str:
    """At most so many characters, the middle left out: names often differ at their ends."""
    if len(name) <= longest:
        return name
    tail = longest // 3
    return f"{name[: longest - 1 - tail]}…{name[-tail:]}"


def _at(point: Point) -> str:
    return f"{_number(point[0])},{_number(point[1])}"


def _number(value: float) -> str:
    """A length in user units, to a tenth."""
    return f"{round(value, 1) + 0.0:g}" if abs(value) < 1e5 else f"{value:.1f}"
