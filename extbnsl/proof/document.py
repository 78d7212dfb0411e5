"""What the state of a solve in a manifest looks like. A manifest may come from anyone: all of it is looked at before
any of it is believed. The values are those of `standing`, `stored` and `search.state`."""

from collections.abc import Iterator, Mapping
from typing import Any

from extbnsl.claims import STATUSES, STOP_REASONS
from extbnsl.files.manifest import Manifest
from extbnsl.files.names import is_drawing_path
from extbnsl.files.shapes import (
    Shape,
    by_name,
    either,
    every,
    maybe,
    misfit,
    number,
    one_of,
    record,
    some_of,
    such,
    text,
    truth,
    whole,
)
from extbnsl.formats.knowledge_json import SHAPE as KNOWLEDGE_SHAPE

PHASES = ("start", "counting", "scores", "search", "bootstrap", "done")
_MOST_THREADS = 1 << 20

_VARIABLES = every(whole(most=1 << 32))
_FILES = every(text)
_SCALARS = by_name(maybe(either(truth, number, text)))
_CLAIM = some_of(
    {"score": text, "max_parents": maybe(whole()), "ess": maybe(number), "knowledge": maybe(KNOWLEDGE_SHAPE)}
)
_STOPPED = one_of(None, *STOP_REASONS)
_RUN = record(
    {
        **dict.fromkeys(("first", "last"), whole(most=2**64 - 1)),
        **dict.fromkeys(("nodes", "partitions"), whole()),
        "varsets": text,
        "costs": maybe(text),
    }
)
_STATE = record(
    {
        "size": whole(most=64),
        **dict.fromkeys(("layer", "following"), every(_RUN)),
        "closed": every(every(_RUN)),
        "position": whole(most=2**64),
        "cache": _FILES,
        **dict.fromkeys(("expanded", "generated", "edges_in", "edges_out", "kept", "peak"), whole()),
        **dict.fromkeys(("least_f", "least_following"), maybe(number)),
    }
)
_PIECE = record({"variables": _VARIABLES, "lower_bound": maybe(number), "order": maybe(_VARIABLES), "given_up": truth})
_BOUNDING = record(
    {
        "step": text,
        **dict.fromkeys(("rounds", "spent", "effort", "before"), whole()),
        **dict.fromkeys(("optimal", "probing"), truth),
        **dict.fromkeys(("gap", "root"), maybe(number)),
        "tried": every(whole()),
    }
)
_SEARCH = record(
    {
        **dict.fromkeys(("component", "at"), whole(most=1 << 32)),
        "pieces": every(_PIECE),
        "limit": number,
        "tried": truth,
        "bounding": maybe(_BOUNDING),
        "groups": every(_VARIABLES),
        "sets": maybe(every(whole(most=2**64 - 1))),
        "state": maybe(_STATE),
        "file": text,
        "lists": every(_FILES),
    }
)
_PASS = record({"cuts": every(every(_VARIABLES)), "weights": every(whole()), "least": every(number)})
_PART = record(
    {
        "order": _VARIABLES,
        **dict.fromkeys(("upper_bound", "lower_bound"), number),
        "proved": truth,
        "passes": every(_PASS),
        "stopped": _STOPPED,
    }
)
_SCORES = record(
    {
        "names": every(text),
        "score": text,
        "max_parents": maybe(whole()),
        "stopped": _STOPPED,
        "varsets": whole(),
        "least": every(number),
        "files": _FILES,
    }
)
COUNTING = record(
    {
        "enumeration": by_name(either(truth, whole(least=-1))),
        **dict.fromkeys(("families", "arrays"), _FILES),
        "lengths": by_name(whole()),
    }
)
_REMEMBERED = record(
    {
        **dict.fromkeys(("input", "command", "version"), text),
        "data_options": _SCALARS,
        "budgets": record(
            {
                "memory": maybe(whole(least=1)),
                "disk": maybe(whole()),
                "threads": maybe(whole(least=1, most=_MOST_THREADS)),
                "compress": maybe(truth),
            }
        ),
    },
    further={"plot": such(is_drawing_path)},  # only of runs that are to be drawn
)
OF_EVERY_RUN: Mapping[str, Shape] = {
    "digest": such(lambda digest: len(digest) == 64),
    "claim": _CLAIM,
    "methods": _SCALARS,
    "run": maybe(_REMEMBERED),
    "status": one_of(None, *STATUSES),
    **dict.fromkeys(("upper_bound", "lower_bound"), maybe(number)),
    "version": whole(),
    "stages": by_name(by_name(number)),
    **dict.fromkeys(("seconds", "cpu_seconds"), number),
    **dict.fromkeys(("peak_rss", "peak_disk"), whole()),
}
_SOLVE: Mapping[str, Shape] = {
    **OF_EVERY_RUN,
    "phase": one_of(*PHASES),
    "counting": maybe(COUNTING),
    "scores": maybe(_SCORES),
    "parts": every(_PART),
    "search": maybe(_SEARCH),
    "counters": by_name(whole()),
}


def wrong_place(manifest: Manifest, further: Mapping[str, Shape] = {}) -> str | None:
    """Where the state in a manifest is none that a solve, with these further keys, may have written; None if it may
    have."""
    return misfit(manifest.state, record({**_SOLVE, **further})) or next(_contradictions(manifest), None)


def _contradictions(manifest: Manifest) -> Iterator[str]:
    """Places of a state of the right shape that do not go with others."""
    state, files = manifest.state, {file.name for file in manifest.files}
    if not files.issuperset(_named(state)):
        yield "files"
    if any(not is_order(part["order"], range(len(part["order"]))) for part in state["parts"]):
        yield "parts"
    if state["search"] is not None and not _is_search(state["search"], state["parts"]):
        yield "search"


def _is_search(search: Mapping[str, Any], parts: list[Mapping[str, Any]]) -> bool:
    """Whether the pieces of a search of the right shape are of its component, and their orders of their variables."""
    pieces = search["pieces"]
    if not (search["component"] < len(parts) and search["at"] < len(pieces) == len(search["lists"])):
        return False
    variables = [variable for piece in pieces for variable in piece["variables"]]
    orders = [(piece["order"], piece["variables"]) for piece in pieces if piece["order"] is not None]
    return is_order(parts[search["component"]]["order"], variables) and all(is_order(*one) for one in orders)


def is_order(order: list[int], variables: Any) -> bool:
    """Whether each of the variables is in the order once, and nothing else."""
    return sorted(order) == sorted(variables)


def _named(state: Mapping[str, Any]) -> Iterator[str]:
    """Every file that a state of the right shape speaks of."""
    for kind, keys in (("scores", ("files",)), ("counting", ("families", "arrays"))):
        if state[kind] is not None:
            yield from (name for key in keys for name in state[kind][key])
    search = state["search"]
    if search is not None:
        yield search["file"]
        yield from (name for names in search["lists"] for name in names)
        if search["state"] is not None:
            yield from _named_by_layers(search["state"])


def _named_by_layers(state: Mapping[str, Any]) -> Iterator[str]:
    yield from state["cache"]
    for runs in (state["layer"], state["following"], *state["closed"]):
        for run in runs:
            yield from (run[key] for key in ("varsets", "costs") if run[key] is not None)
