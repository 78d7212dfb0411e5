"""From a file to a campaign and its runs: everything that is wrong with it is told at once."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from extbnsl.campaign.mentions import unknown
from extbnsl.campaign.plan import Check, Run, planned
from extbnsl.campaign.problems import CampaignError, Key, Problem, told
from extbnsl.campaign.spec import Campaign
from extbnsl.campaign.yaml_file import Located, read_yaml


@dataclass(frozen=True)
class Asked:
    """A campaign, its runs, the folder of its file, and what was read there."""

    campaign: Campaign
    runs: tuple[Run, ...]
    folder: Path
    content: bytes


def read_campaign(path: Path, check: Check) -> Asked:
    """The campaign in a YAML file; CampaignError with all that is wrong with it."""
    located = read_yaml(path)
    if not isinstance(located.value, dict):
        raise CampaignError([told(path, None, (), "It holds no campaign: a mapping with title, data and methods.")])
    folder = path.absolute().parent
    try:
        campaign = Campaign.model_validate(located.value)
    except ValidationError as error:
        wrong = error.errors(include_url=False)
        others = _others(located.value, wrong, folder, check)
        raise _error(path, located, [*located.problems, *_problems(wrong), *others]) from None
    plan = planned(campaign, folder, check)
    if problems := [*located.problems, *plan.problems, *unknown(campaign, plan.names)]:
        raise _error(path, located, problems)
    return Asked(campaign, plan.runs, folder, located.content)


def schema() -> str:
    """The JSON schema of the file."""
    return json.dumps(Campaign.model_json_schema(by_alias=True), indent=1)


def _problems(errors: Sequence[Any]) -> Iterator[Problem]:
    """What pydantic found, in the words of this program; of a value that may be of several kinds, once."""
    kinds: dict[Key, list[str]] = {}
    for error in errors:
        key = _key(error)
        if error["type"] == "extra_forbidden":
            yield Problem(key, "There is no such key; leave it out, or look at 'extbnsl campaign --schema'.")
        elif error["type"] == "missing":
            yield Problem(key, "It is missing.")
        else:
            kinds.setdefault(key, []).append(error["msg"].removeprefix("Input ").removeprefix("List "))
            if len(kinds[key]) == sum(_key(other) == key for other in errors):
                wanted = " or ".join(dict.fromkeys(kinds[key])).replace(" or should be ", " or ")
                yield Problem(key, f"It {wanted}, and is {_short(error['input'])}.")


def _key(error: Any) -> Key:
    """Where an error is: without the kinds of values, and the names of functions, that pydantic tried."""
    key: Key = tuple(error["loc"])
    if error["type"] in ("extra_forbidden", "missing"):
        return key
    for at, part in enumerate(key):
        if isinstance(part, str) and part.startswith("list["):
            return key[:at]
    return key[:-1] if key and isinstance(key[-1], str) and key[-1] in _KINDS else key


_KINDS = ("str", "int", "float", "bool", "constrained-str", "constrained-int")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _others(value: Any, errors: Sequence[Any], folder: Path, check: Check) -> Iterator[Problem]:
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
    for problem in planned(campaign, folder, check).problems:
        key = problem.key
        if len(key) > 1 and isinstance(key[1], int) and key[0] in value:
            if not kept.get(str(key[0])):
                continue
            key = (key[0], kept[str(key[0])][key[1]], *key[2:])
        yield replace(problem, key=key)


def _error(path: Path, located: Located, problems: Iterable[Problem]) -> CampaignError:
    """The error of these problems, in the order of the lines."""
    lines = {}
    for problem in problems:
        line = problem.line or located.line(problem.key)
        lines[told(path, line, problem.key, problem.sentence)] = line or 0
    return CampaignError(sorted(lines, key=lambda text: lines[text]))
