"""From a file to a campaign and its runs: everything that is wrong with it is told at once.

That includes what it mentions of itself, names on its axes, and figures: a slip there leaves a column empty.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from extbnsl.files.yaml_file import FileError, Key, Problem, error_of, problems_of, read_yaml, told
from extbnsl.lab.campaign.figures import FIGURES, STATES, is_figure
from extbnsl.lab.campaign.plan import Able, Check, Plan, Run, planned
from extbnsl.lab.campaign.spec import AXES, Axis, Campaign, Table, Where

NO_SUCH_KEY = "There is no such key; leave it out, or look at 'extbnsl campaign --schema'."
Names = Mapping[Axis, Collection[str]]
MOST_TOLD = 200  # characters of names that a sentence lists


@dataclass(frozen=True)
class Asked:
    """A campaign, its runs, the folder of its file, and what was read there."""

    campaign: Campaign
    runs: tuple[Run, ...]
    folder: Path
    content: bytes


def read_campaign(path: Path, check: Check, able: Able) -> Asked:
    """The campaign in a YAML file; FileError with all that is wrong with it, as `planned` checks it."""
    located = read_yaml(path)
    if not isinstance(located.value, dict):
        raise FileError([told(path, None, (), "It holds no campaign: a mapping with title, data and methods.")])
    folder = path.absolute().parent
    try:
        campaign = Campaign.model_validate(located.value)
    except ValidationError as error:
        wrong = error.errors(include_url=False)
        others = _others(located.value, wrong, lambda rest: planned(rest, folder, check, able))
        raise error_of(path, located, [*located.problems, *problems_of(wrong, NO_SUCH_KEY), *others]) from None
    plan = planned(campaign, folder, check, able)
    if problems := [*located.problems, *plan.problems, *unknown(campaign, plan.names)]:
        raise error_of(path, located, problems)
    return Asked(campaign, plan.runs, folder, located.content)


def schema() -> str:
    """The JSON schema of the file."""
    return json.dumps(Campaign.model_json_schema(by_alias=True), indent=1)


def _others(value: Any, errors: Sequence[Any], plan: Callable[[Campaign], Plan]) -> Iterator[Problem]:
    """What is wrong with the rest of the campaign, without what has been found to be wrong; if there are no data left,
    with data that nobody asks for."""
    spoilt = {tuple(error["loc"][:2]) for error in errors}
    kept: dict[str, list[int]] = {}
    rest: dict[str, Any] = {}
    for key, own in value.items():
        if isinstance(own, list):
            kept[key] = [place for place in range(len(own)) if not {(key,), (key, place)} & spoilt]
            rest[key] = [own[place] for place in kept[key]]
        elif not any(place[:1] == (key,) for place in spoilt):
            rest[key] = own
    rest = {"title": "", "data": ["data.csv"]} | {key: own for key, own in rest.items() if own}
    try:
        campaign = Campaign.model_validate(rest)
    except ValidationError:
        return
    for problem in plan(campaign).problems:
        key = problem.key
        if len(key) > 1 and isinstance(key[1], int) and key[0] in value:
            if not kept.get(str(key[0])):
                continue
            key = (key[0], kept[str(key[0])][key[1]], *key[2:])
        yield replace(problem, key=key)


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
