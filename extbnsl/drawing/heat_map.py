"""The probabilities of all arcs as a square of cells, the darker the likelier: an SVG element for a page."""

from collections.abc import Mapping, Sequence

from extbnsl.drawing.markup import escaped, text_width

CELL, FEWEST, SMALL = 18.0, 40, 6.0  # the side of a cell; of more variables they are smaller, down to that
FONT, LONGEST = 11.0, 160.0  # of names, which are cut at this length


def heat_map(names: Sequence[str], shares: Mapping[tuple[str, str], float], title: str) -> str:
    """A row for each variable that arcs leave, a column for each that they enter, both in the order of `names`.

    shares: the probability of each arc, by names. A cell tells names and figure when it is pointed at. O(arcs + n).
    """
    side = CELL if len(names) <= FEWEST else max(SMALL, CELL * FEWEST / len(names))
    font = min(FONT, side)
    room = min(LONGEST, max(text_width(name, font) for name in names)) + 6.0
    whole = room + side * len(names) + 2.0
    place = {name: room + side * at for at, name in enumerate(names)}
    cells = [
        f'<rect x="{place[child]:.1f}" y="{place[parent]:.1f}" width="{side:.1f}" height="{side:.1f}" '
        f'fill-opacity="{share:.3f}"><title>{escaped(f"{parent} -> {child}: {share:.4f}")}</title></rect>\n'
        for (parent, child), share in shares.items()
    ]
    middle = side / 2.0 + font / 3.0
    texts = []
    for name, at in place.items():
        shown = escaped(_cut(name, font, room - 6.0))
        texts.append(f'<text x="{room - 4.0:.1f}" y="{at + middle:.1f}">{shown}</text>\n')
        texts.append(f'<text transform="translate({at + middle:.1f} {room - 4.0:.1f}) rotate(90)">{shown}</text>\n')
    own = f'x="{room:.1f}" y="{room:.1f}" width="{whole - room - 2:.1f}" height="{whole - room - 2:.1f}"'
    drawn = "".join([f'<rect class="frame" {own}/>\n', *cells, *texts])
    style = (
        f".heat rect {{ fill: var(--first, #1f6fb4); }} .heat text {{ font: {font:.1f}px system-ui, sans-serif; "
        "text-anchor: end; fill: currentColor; } .heat .frame { fill: none; stroke: var(--line, #d5dbe1); }"
    )
    return (
        f'<svg class="heat" role="img" aria-label="{escaped(title)}" viewBox="0 0 {whole:.0f} {whole:.0f}" '
        f'width="{whole:.0f}" height="{whole:.0f}"><style>{style}</style>\n{drawn}</svg>\n'
    )


def _cut(name: str, font: float, room: float) -> str:
    """The name, cut where there is no room for it."""
    if text_width(name, font) <= room:
        return name
    while name and text_width(f"{name}...", font) > room:
        name = name[:-1]
    return f"{name}..."
