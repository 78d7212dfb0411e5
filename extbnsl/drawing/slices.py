"""Where the variables and arcs of a time series are drawn: a column of boxes for each slice of time, the present at the
right, and a variable at the same height in all of them. Arcs of the past run to the right; those within the present
leave and arrive at the right of its boxes and point down.
"""

from collections.abc import Sequence

from extbnsl.drawing.layout import Box, Layout, Point, Spacing
from extbnsl.networks.network import Arc, Network

BETWEEN = 130.0  # columns, for arcs
BULGE, DEEPER, DEEPEST = 26.0, 7.0, 120.0  # how far arcs within the present lean out, more for each row passed
BOW = 0.67  # of a row, by which an arc is pulled down that passes a column of boxes


def lay_out_slices(network: Network, widths: Sequence[float], lags: int, spacing: Spacing) -> Layout:
    """The drawing of an acyclic network with these widths of boxes, whose variables are n of a time and then these n at
    each lag. The route of an arc is four points: its ends, at sides of boxes, and between them two that pull it.
    O(variables + arcs)."""
    n = len(widths) // (lags + 1)
    rows = [x for x in network.order() if x < n]  # so that arcs within the present point down
    step, left = spacing.height + spacing.across, 0.0
    boxes: dict[int, Box] = {}
    for lag in range(lags, -1, -1):
        widest = max(widths[lag * n : (lag + 1) * n])
        for row, x in enumerate(rows):
            own = lag * n + x
            boxes[own] = Box(left + widest / 2, row * step + spacing.height / 2, widths[own], spacing.height)
        left += widest + BETWEEN
    width = left - BETWEEN
    routes = {arc: _route(arc, boxes, n, step) for arc in sorted(network.arcs())}
    furthest = max((x for route in routes.values() for x, _ in route), default=0.0)
    return Layout(dict(sorted(boxes.items())), routes, max(width, furthest), len(rows) * step - spacing.across)


def _route(arc: Arc, boxes: dict[int, Box], n: int, step: float) -> tuple[Point, ...]:
    """The ends of an arc and the two points that pull it."""
    parent, child = boxes[arc[0]], boxes[arc[1]]
    begin, end = parent.x + parent.width / 2, child.x - child.width / 2
    if arc[0] < n:
        end = child.x + child.width / 2
        passed = abs(child.y - parent.y) / step
        out = max(begin, end) + min(DEEPEST, BULGE + DEEPER * passed)
        return (begin, parent.y), (out, parent.y), (out, child.y), (end, child.y)
    pull, down = (end - begin) / 2, BOW * step if arc[0] >= 2 * n else 0.0
    return (begin, parent.y), (begin + pull, parent.y + down), (end - pull, child.y + down), (end, child.y)
