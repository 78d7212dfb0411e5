"""Where the variables and arcs of a network are drawn: in rows, so that all arcs point down.

The layered method of Sugiyama, Tagawa & Toda (1981, IEEE Trans. SMC 11): rows by longest paths, points where long arcs
pass a row, few crossings by barycenters and exchanges of neighbours, and then the places within the rows that shorten
the arcs most, by isotonic regression. Components are drawn side by side. Equal networks have equal drawings.
"""

import itertools
import math
from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from extbnsl.networks.network import Arc, Network

Point = tuple[float, float]

SHAPE = 1.6  # of a drawing: its width by its height, about
NARROWEST = 640.0  # width that a row may have however few boxes there are
SWEEPS = 16  # over the rows, for crossings
PATIENCE = 5  # sweeps without fewer crossings
EXCHANGES = 1500  # items of a component, up to which neighbours are exchanged
PULLS = 30  # sweeps over the rows, for places
LAST_PULLS = 6  # of them, that look up and down at once
STRAIGHT = (1.0, 3.0, 12.0)  # how much a segment wants to be upright, by how many of its ends are points of long arcs
MOST_LINES = 8  # that leave a box; the long arcs of a parent with more children share one
PORTS = 0.6  # share of a box that arcs begin or end at


@dataclass(frozen=True)
class Box:
    """The box of a variable: its centre and its size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Spacing:
    """The height of boxes; the least distances between boxes, between rows and between components; the width that a
    passing arc has in a row; shared: whether the long arcs of a parent pass rows as one line."""

    height: float = 26.0
    across: float = 18.0
    down: float = 40.0
    aside: float = 36.0
    line: float = 12.0
    shared: bool = False


@dataclass(frozen=True)
class Layout:
    """A drawing of a network, or of a component of it, from (0, 0) to (width, height), y downwards: a box for each
    variable, and for each arc its route.

    A route is an even number of points, y ascending: pairs of ends of curves, each of which leaves and arrives upright.
    What lies between two curves is an upright line that passes a row.
    """

    boxes: dict[int, Box]
    routes: dict[Arc, tuple[Point, ...]]
    width: float
    height: float


@dataclass
class _Rows:
    """A component in rows. Items below len(variables) are boxes, the others points at which long arcs pass.

    level: the row of each item; above, below: the items that it is joined to in the rows next to its own; chains: the
    items of each arc.
    """

    variables: list[int]
    level: list[int]
    rows: list[list[int]]
    above: list[list[int]]
    below: list[list[int]]
    chains: dict[Arc, list[int]]
    place: list[int] = field(default_factory=list)

    def is_box(self, item: int) -> bool:
        return item < len(self.variables)

    def number(self) -> None:
        """Let `place` say the place of each item in its row."""
        self.place = [0] * len(self.above)
        for row in self.rows:
            for at, item in enumerate(row):
                self.place[item] = at


def lay_out(network: Network, widths: Sequence[float], spacing: Spacing = Spacing()) -> Layout:
    """The drawing of an acyclic network whose boxes have these widths.

    Boxes do not overlap, arcs point down, and none passes behind a box. O(sweeps x (items + segments) log), items being
    boxes and passages. Raises VerificationError, naming it, for a cycle.
    """
    order = network.order()
    parts = [_component(network, members, widths, spacing) for members in _components(network, order)]
    return _packed(parts, spacing)


def _components(network: Network, order: Sequence[int]) -> list[list[int]]:
    """The members of each component in this order; the largest first, then by the least member."""
    near = [[*own, *below] for own, below in zip(network.parents, network.children(), strict=True)]
    first: dict[int, int] = {}
    for x in order:
        if x not in first:
            first |= dict.fromkeys(_walk(x, near), x)
    members: dict[int, list[int]] = {}
    for x in order:
        members.setdefault(first[x], []).append(x)
    return sorted(members.values(), key=lambda own: (-len(own), min(own)))


def _component(network: Network, members: list[int], widths: Sequence[float], spacing: Spacing) -> Layout:
    if len(members) == 1:
        width, height = widths[members[0]], spacing.height
        return Layout({members[0]: Box(width / 2, height / 2, width, height)}, {}, width, height)
    made = _in_rows(network, members, _ranks(network, members, widths, spacing), spacing.shared)
    _untangle(made)
    size = [widths[v] for v in members] + [spacing.line] * (len(made.above) - len(members))
    gaps = _gaps(made, size, spacing)
    x = _places(made, gaps)
    _straighten(made, gaps, x)
    return _drawn(made, size, x, spacing)


# Rows


def _ranks(network: Network, members: list[int], widths: Sequence[float], spacing: Spacing) -> dict[int, int]:
    """The row of each member, below those of its parents."""
    children = network.children()
    rank: dict[int, int] = {}
    for x in members:
        rank[x] = 1 + max((rank[p] for p in network.parents[x]), default=-1)
    for x in reversed(members):  # towards the children, where that shortens arcs
        if len(children[x]) > (0 if spacing.shared else len(network.parents[x])):
            rank[x] = min(rank[c] for c in children[x]) - 1
    area = sum(widths[x] + spacing.across for x in members) * (spacing.height + spacing.down)
    most = max(NARROWEST, SHAPE * math.sqrt(area))
    used: dict[int, float] = {}
    found: dict[int, int] = {}
    for x in sorted(members, key=lambda x: rank[x]):  # a row that is too wide goes on below
        row = max([rank[x], *(found[p] + 1 for p in network.parents[x])])
        while used.get(row, 0.0) and used[row] + widths[x] > most:
            row += 1
        found[x] = row
        used[row] = used.get(row, 0.0) + widths[x] + spacing.across
    rows = {row: at for at, row in enumerate(sorted(set(found.values())))}
    return {x: rows[row] for x, row in found.items()}


def _in_rows(network: Network, members: list[int], rank: dict[int, int], shared: bool) -> _Rows:
    rows: list[list[int]] = [[] for _ in range(1 + max(rank.values()))]
    item = {x: at for at, x in enumerate(members)}
    made = _Rows(members, [rank[x] for x in members], rows, [[] for _ in members], [[] for _ in members], {})
    children = network.children()
    passing: dict[tuple[int, int, int], int] = {}
    for child in members:
        for parent in network.parents[child]:
            chain = [item[parent]]
            for row in range(rank[parent] + 1, rank[child]):
                key = (parent, -1 if shared or len(children[parent]) > MOST_LINES else child, row)
                if key not in passing:
                    passing[key] = len(made.level)
                    made.level.append(row)
                    made.above.append([])
                    made.below.append([])
                chain.append(passing[key])
            chain.append(item[child])
            for upper, lower in itertools.pairwise(chain):
                if lower not in made.below[upper]:
                    made.below[upper].append(lower)
                    made.above[lower].append(upper)
            made.chains[parent, child] = chain
    for one in _walk(0, [below + above for below, above in zip(made.below, made.above, strict=True)]):
        rows[made.level[one]].append(one)
    made.number()
    return made


def _walk(start: int, near: Sequence[Sequence[int]]) -> Iterable[int]:
    """All items of a component with these neighbours, one near another."""
    seen = {start}
    waiting = [start]
    while waiting:
        one = waiting.pop()
        yield one
        for other in reversed(near[one]):
            if other not in seen:
                seen.add(other)
                waiting.append(other)


# Crossings


def _untangle(made: _Rows) -> None:
    """Sort the rows so that few arcs cross."""
    best, least, since = [list(row) for row in made.rows], _crossings(made), 0
    for sweep in range(SWEEPS):
        _by_barycenters(made, down=sweep % 2 == 0)
        if len(made.above) <= EXCHANGES:
            _exchange(made)
        count = _crossings(made)
        since = 0 if count < least else since + 1
        if count <= least:
            best, least = [list(row) for row in made.rows], count
        if since == PATIENCE or (count == 0 and sweep > 0):
            break
    made.rows[:] = best
    made.number()


def _by_barycenters(made: _Rows, down: bool) -> None:
    """Sort each row by the mean places of neighbours in the one before it; items without one keep their place."""
    near = made.above if down else made.below
    for row in made.rows if down else reversed(made.rows):
        mean = {i: sum(made.place[j] for j in near[i]) / len(near[i]) for i in row if near[i]}
        equal = itertools.groupby(sorted(mean, key=lambda i: mean[i]), key=lambda i: mean[i])
        moving = itertools.chain.from_iterable(_lines_amid(made, list(items)) for _, items in equal)
        row[:] = [next(moving) if i in mean else i for i in row]
        for at, i in enumerate(row):
            made.place[i] = at


def _lines_amid(made: _Rows, items: list[int]) -> list[int]:
    """The items with the passing lines in the middle: so a parent of many rows of children stays above them."""
    boxes = [i for i in items if made.is_box(i)]
    half = len(boxes) // 2
    return boxes[:half] + [i for i in items if not made.is_box(i)] + boxes[half:]


def _exchange(made: _Rows) -> None:
    """Exchange neighbours in a row as long as that saves crossings."""
    for _ in range(PATIENCE):
        better = False
        for row in made.rows:
            for at in range(len(row) - 1):
                a, b = row[at], row[at + 1]
                saved = sum(_saved(near[a], near[b], made.place) for near in (made.above, made.below))
                if saved > 0:
                    row[at], row[at + 1] = b, a
                    made.place[a], made.place[b] = at + 1, at
                    better = True
        if not better:
            break


def _saved(left: Sequence[int], right: Sequence[int], place: Sequence[int]) -> int:
    """How many crossings the exchange of two items with these neighbours in another row saves."""
    return sum((place[a] > place[b]) - (place[a] < place[b]) for a in left for b in right)


def _crossings(made: _Rows) -> int:
    """How many pairs of segments cross."""
    count = 0
    for row in made.rows[1:]:
        passed: list[int] = []
        for item in row:
            ends = [made.place[j] for j in made.above[item]]
            count += sum(len(passed) - bisect_right(passed, end) for end in ends)
            for end in ends:
                insort(passed, end)
    return count


# Places


def _gaps(made: _Rows, size: Sequence[float], spacing: Spacing) -> list[list[float]]:
    """For each row the least distances between the centres of neighbours."""
    return [
        [
            (size[a] + size[b]) / 2 + (spacing.across if made.is_box(a) and made.is_box(b) else spacing.line / 2)
            for a, b in itertools.pairwise(row)
        ]
        for row in made.rows
    ]


def _places(made: _Rows, gaps: list[list[float]]) -> list[float]:
    """The x of the centre of each item: no two of a row come too close, and arcs are as upright as that allows."""
    x = [0.0] * len(made.above)
    rows = list(zip(made.rows, gaps, strict=True))
    for row, gap in rows:
        _settle(row, gap, dict.fromkeys(row, (0.0, 1.0)), x)
    for pull in range(PULLS):
        near = made.above if pull % 2 == 0 else made.below
        if pull >= PULLS - LAST_PULLS:
            near = [up + down for up, down in zip(made.above, made.below, strict=True)]
        for row, gap in rows if pull % 2 == 0 else reversed(rows):
            _settle(row, gap, {i: _wish(made, i, near[i], x) for i in row}, x)
    return x


def _wish(made: _Rows, item: int, near: Sequence[int], x: Sequence[float]) -> tuple[float, float]:
    """Where an item would like to be, and how much."""
    if not near:
        return x[item], 0.01
    weights = [STRAIGHT[(not made.is_box(item)) + (not made.is_box(other))] for other in near]
    total = sum(weights)
    return sum(w * x[other] for w, other in zip(weights, near, strict=True)) / total, total


def _settle(row: Sequence[int], gaps: Sequence[float], wish: dict[int, tuple[float, float]], x: list[float]) -> None:
    """Set x to what is nearest to the wishes in weighted squares, with at least these gaps between centres: isotonic
    regression, by pooling adjacent violators; O(items)."""
    offsets = list(itertools.accumulate(gaps, initial=0.0))
    pools: list[tuple[float, float, int]] = []  # mean, weight, items
    for item, shift in zip(row, offsets, strict=True):
        mean, weight, count = wish[item][0] - shift, wish[item][1], 1
        while pools and pools[-1][0] >= mean:
            other, heft, more = pools.pop()
            mean, weight, count = (mean * weight + other * heft) / (weight + heft), weight + heft, count + more
        pools.append((mean, weight, count))
    means = [mean for mean, _, count in pools for _ in range(count)]
    for item, shift, mean in zip(row, offsets, means, strict=True):
        x[item] = mean + shift


def _straighten(made: _Rows, gaps: list[list[float]], x: list[float]) -> None:
    """Let long arcs run upright for as many rows as there is room for, one after another, the longest first."""
    for chain in sorted(made.chains.values(), key=lambda chain: -len(chain)):
        run: list[int] = []
        low, high = -math.inf, math.inf
        for item in chain[1:-1]:
            left, right = _room(item, made, gaps, x)
            if max(low, left) > min(high, right):
                _align(run, low, high, x)
                run, low, high = [], -math.inf, math.inf
            run.append(item)
            low, high = max(low, left), min(high, right)
        _align(run, low, high, x)


def _room(item: int, made: _Rows, gaps: list[list[float]], x: list[float]) -> tuple[float, float]:
    """Between which places an item can be without moving others."""
    at, row, gap = made.place[item], made.rows[made.level[item]], gaps[made.level[item]]
    left = x[row[at - 1]] + gap[at - 1] if at > 0 else -math.inf
    right = x[row[at + 1]] - gap[at] if at + 1 < len(row) else math.inf
    return min(left, x[item]), max(right, x[item])  # it is where it is, whatever rounding says


def _align(items: Sequence[int], low: float, high: float, x: list[float]) -> None:
    if items:
        mean = sum(x[i] for i in items) / len(items)
        for i in items:
            x[i] = min(max(mean, low), high)


# The drawing


def _drawn(made: _Rows, size: Sequence[float], x: list[float], spacing: Spacing) -> Layout:
    left = min(x[i] - size[i] / 2 for i in range(len(x)))
    right = max(x[i] + size[i] / 2 for i in range(len(x)))
    x = [at - left for at in x]
    tops = [0.0]
    for row in made.rows[1:]:
        widest = max((abs(x[i] - x[j]) for i in row for j in made.above[i]), default=0.0)
        tops.append(tops[-1] + spacing.height + min(3.0, max(1.0, widest / (6 * spacing.down))) * spacing.down)
    top = [tops[row] for row in made.level]
    boxes = {
        variable: Box(x[item], top[item] + spacing.height / 2, size[item], spacing.height)
        for item, variable in enumerate(made.variables)
    }
    ends = _ports(made, size, x)
    routes = {arc: _route(chain, ends[arc], x, top, spacing.height) for arc, chain in made.chains.items()}
    return Layout(boxes, routes, right - left, tops[-1] + spacing.height)


def _ports(made: _Rows, size: Sequence[float], x: Sequence[float]) -> dict[Arc, tuple[float, float]]:
    """The x at which each arc leaves its parent and that at which it arrives, in the order of where it goes."""
    out, into = (
        {(box, near): at for box in range(len(made.variables)) for near, at in _spread(ends[box], x, x[box], size[box])}
        for ends in (made.below, made.above)
    )
    return {arc: (out[chain[0], chain[1]], into[chain[-1], chain[-2]]) for arc, chain in made.chains.items()}


def _spread(ends: Iterable[int], x: Sequence[float], centre: float, width: float) -> Iterable[tuple[int, float]]:
    """Places along the side of a box for what these items are joined to it by, as even as few of them allow."""
    ordered = sorted(ends, key=lambda item: (x[item], item))
    step = PORTS * width / max(3, len(ordered))
    for at, item in enumerate(ordered):
        yield item, centre + (at - (len(ordered) - 1) / 2) * step


def _route(
    chain: Sequence[int], ends: tuple[float, float], x: Sequence[float], top: Sequence[float], height: float
) -> tuple[Point, ...]:
    points = [(ends[0], top[chain[0]] + height)]
    for item in chain[1:-1]:
        points += [(x[item], top[item]), (x[item], top[item] + height)]
    return (*points, (ends[1], top[chain[-1]]))


def _packed(parts: Sequence[Layout], spacing: Spacing) -> Layout:
    """The components side by side, the largest first, in lines of about the same width."""
    area = sum((part.width + spacing.aside) * (part.height + spacing.aside) for part in parts)
    most = max([math.sqrt(SHAPE * area), *(part.width for part in parts)])
    boxes: dict[int, Box] = {}
    routes: dict[Arc, tuple[Point, ...]] = {}
    x = y = tallest = right = 0.0
    for part in sorted(parts, key=lambda part: -part.height):
        apart = spacing.aside if part.routes else spacing.across
        if x and x + part.width > most:
            x, y, tallest = 0.0, y + tallest + apart, 0.0
        boxes |= {v: Box(box.x + x, box.y + y, box.width, box.height) for v, box in part.boxes.items()}
        routes |= {arc: tuple((px + x, py + y) for px, py in route) for arc, route in part.routes.items()}
        right, tallest = max(right, x + part.width), max(tallest, part.height)
        x += part.width + apart
    return Layout(dict(sorted(boxes.items())), dict(sorted(routes.items())), right, y + tallest)
