"""What a campaign's file mentions of itself: names on its axes, and figures. A slip there leaves a column empty."""

from collections.abc import Collection, Iterator, Mapping

from extbnsl.files.yaml_file import Key, Problem
from extbnsl.lab.campaign.figures import FIGURES, STATES, is_figure
from extbnsl.lab.campaign.spec import AXES, Axis, Campaign, Table, Where

Names = Mapping[Axis, Collection[str]]
MOST_TOLD = 200  # characters of names that a sentence lists


def unknown(campaign: Campaign, names: Names) -> Iterator[Problem]:
    """What is mentioned and is not there, for the names that the campaign has on each axis; an axis that is
    missing is not checked."""
    for at, where in enumerate(campaign.exclude):
        yield from _in_where(("exclude", at), where, names)
    for at, table in enumerate(campaign.tables):
        yield from _in_table(("tables", at), table, names)
    for at, comparison in enumerate(campaign.comparisons):
        for place, pair in enumerate(comparison.pairs):
            for side, name in enumerate(pair):
                yield from _name(("comparisons", at, "pairs", place, side), comparison.axis, name, names)
    for at, plot in enumerate(campaign.plots):
        yield from _in_where(("plots", at, "where"), plot.where, names)
        yield from _figure(("plots", at, "figure"), plot.figure)


def _in_table(key: Key, table: Table, names: Names) -> Iterator[Problem]:
    yield from _in_where((*key, "where"), table.where, names)
    for at, column in enumerate(table.columns):
        own = (*key, "columns", at)
        yield from _in_where((*own, "where"), column.where, names)
        yield from _figure((*own, "figure"), column.figure)
        if column.first is not None and column.figure != STATES:
            yield Problem((*own, "first"), f"It is for the figure {STATES!r} alone; leave it out.")
        for name in column.published:
            yield from _name((*own, "published", name), table.rows, name, names)


def _in_where(key: Key, where: Where, names: Names) -> Iterator[Problem]:
    for axis in AXES:
        for name in getattr(where, axis) or ():
            yield from _name((*key, axis), axis, name, names)


def _name(key: Key, axis: Axis, name: str, names: Names) -> Iterator[Problem]:
    if axis in names and name not in names[axis]:
        known = ", ".join(names[axis])
        has = known if len(known) <= MOST_TOLD else "others"
        yield Problem(key, f"{name!r} is no {axis} of this campaign, which has {has}.")


def _figure(key: Key, figure: str) -> Iterator[Problem]:
    if not is_figure(figure):
        known = ", ".join(FIGURES)
        yield Problem(key, f"There is no figure {figure!r}; there are {known}, and ways such as stats.peak_layer.")
