"""What the state of a solve in a manifest looks like. A manifest may come from anyone: all of it is looked at before
any of it is believed. The values are those of `standing`, `stored` and `search.state`."""

from collections.abc import Iterator, Mapping
from typing import Any

from extbnsl.core.claims import STATUSES, STOP_REASONS
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
_CUTS = every(every(_VARIABLES))
_WEIGHTS = every(whole(least=1, most=1 << 61))
_DUALS = every(record({"cuts": every(whole(most=1 << 31)), "weights": _WEIGHTS}))
_CLOSED = {"above": whole(least=-1), "choice": whole(least=-1), "duals": _DUALS}
_OPEN = {"above": whole(least=-1), "bound": maybe(number), "choices": every(whole()), "duals": _DUALS}
_SETTLED = {"variables": _VARIABLES, "bound": number, "cuts": _CUTS}
_STEP = either(
    record({"cuts": _CUTS, "weights": _WEIGHTS, "least": every(number)}),
    record({**_SETTLED, "weights": _WEIGHTS}),
    record({**_SETTLED, "nodes": every(record(_CLOSED))}),
)
_TREE = record(
    {
        "open": every(record(_OPEN)),
        "closed": every(record(_CLOSED)),
        "looked": whole(),
        "order": maybe(_VARIABLES),
        "cost": maybe(number),
        "cuts": _CUTS,
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
        "tree": maybe(_TREE),
    }
)
_SEARCH = record(
    {
        **dict.fromkeys(("component", "at"), whole(most=1 << 32)),
        "pieces": every(_PIECE),
        "limit": number,
        "tried": truth,
        "steps": every(_STEP),
        "bounding": maybe(_BOUNDING),
        "groups": every(_VARIABLES),
        "sets": maybe(every(whole(most=2**64 - 1))),
        "state": maybe(_STATE),
        "file": text,
        "lists": every(_FILES),
    }
)
_PART = record(
    {
        "order": _VARIABLES,
        **dict.fromkeys(("upper_bound", "lower_bound"), number),
        "proved": truth,
        "steps": every(_STEP),
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
    if not all(map(_is_part, state["parts"])):
        yield "parts"
    if state["search"] is not None and not _is_search(state["search"], state["parts"]):
        yield "search"


def _is_part(part: Mapping[str, Any]) -> bool:
    """Whether the order and the steps of a part of the right shape go together; what is proved has steps."""
    size = len(part["order"])
    if part["proved"] and not part["steps"]:
        return False
    return is_order(part["order"], range(size)) and _are_steps(part["steps"], size)


def _is_search(search: Mapping[str, Any], parts: list[Mapping[str, Any]]) -> bool:
    """Whether the pieces of a search of the right shape are of its component, and their orders of their variables; and
    whether its steps, and the tree of what is being bounded, are over these."""
    pieces, bounding = search["pieces"], search["bounding"]
    if not (search["component"] < len(parts) and search["at"] < len(pieces) == len(search["lists"])):
        return False
    if bounding is not None:
        piece, tree = pieces[search["at"]], bounding["tree"]
        if piece["order"] is not None or not (tree is None or _is_tree(tree, len(piece["variables"]))):
            return False
    variables = [variable for piece in pieces for variable in piece["variables"]]
    orders = [(piece["order"], piece["variables"]) for piece in pieces if piece["order"] is not None]
    if not (is_order(parts[search["component"]]["order"], variables) and all(is_order(*one) for one in orders)):
        return False
    return _are_steps(search["steps"], len(variables))


def is_order(order: list[int], variables: Any) -> bool:
    """Whether each of the variables is in the order once, and nothing else."""
    return sorted(order) == sorted(variables)


def _are_steps(steps: list[Mapping[str, Any]], variables: int) -> bool:
    """Whether steps of the right shape are over so many variables, the first one, if any, over all."""
    return all("least" in step for step in steps[:1]) and all(_is_step(step, variables) for step in steps)


def _is_step(step: Mapping[str, Any], variables: int) -> bool:
    """Whether the parts of a step of the right shape go together, and with so many variables."""
    cuts, own = step["cuts"], step.get("variables", range(variables))
    if not (_are_cuts(cuts, variables) and own and set(own) <= set(range(variables)) and len(set(own)) == len(own)):
        return False
    if "nodes" in step:
        return bool(step["nodes"]) and _are_closed(step["nodes"], len(cuts), len(own))
    return len(step["weights"]) == len(cuts) and len(step.get("least", own)) == len(own)


def _is_tree(tree: Mapping[str, Any], variables: int) -> bool:
    """Whether the nodes, the cuts and the network of a tree of the right shape go together, and with so many
    variables."""
    cuts, closed = tree["cuts"], tree["closed"]
    return (
        _are_cuts(cuts, variables)
        and _are_closed(closed, len(cuts), variables)
        and all(node["above"] < len(closed) and _are_duals(node["duals"], len(cuts)) for node in tree["open"])
        and all(choice < 2 * variables**2 for node in tree["open"] for choice in node["choices"])
        and (tree["order"] is None) == (tree["cost"] is None)
        and (tree["order"] is None or is_order(tree["order"], range(variables)))
    )


def _are_closed(nodes: list[Mapping[str, Any]], cuts: int, variables: int) -> bool:
    """Whether each of the closed nodes, but for the first, is below one before it, and has a choice."""
    return all(
        (node["above"] == node["choice"] == -1 if number == 0 else 0 <= node["above"] < number and node["choice"] >= 0)
        and node["choice"] < 2 * variables**2
        and _are_duals(node["duals"], cuts)
        for number, node in enumerate(nodes)
    )


def _are_duals(duals: list[Mapping[str, Any]], cuts: int) -> bool:
    """Whether there is a weight for each cut, and so many cuts."""
    return all(len(one["cuts"]) == len(one["weights"]) and max(one["cuts"], default=-1) < cuts for one in duals)


def _are_cuts(cuts: list[list[list[int]]], variables: int) -> bool:
    """Whether cuts have one cluster or three, each with a member, of so many variables."""
    clusters = [cluster for cut in cuts for cluster in cut]
    return all(len(cut) in (1, 3) for cut in cuts) and all(c and max(c) < variables for c in clusters)


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
