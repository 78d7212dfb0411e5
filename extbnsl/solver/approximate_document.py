"""What the state of an approximation in a manifest looks like. The values are those of `approximation`."""

from collections.abc import Iterator, Mapping
from typing import Any

from extbnsl.core.claims import tolerance
from extbnsl.files.manifest import Manifest
from extbnsl.files.shapes import Shape, by_name, every, maybe, misfit, number, one_of, record, text, truth, whole
from extbnsl.proof.document import COUNTING, OF_EVERY_RUN, is_order
from extbnsl.solver.methods import SEARCHES, SELECTIONS

START, EXPLORING, SEARCHING, DONE = PHASES = ("start", "parents", "orders", "done")

_VARIABLES = every(whole(most=1 << 32))
_SHAPE: Shape = record(
    {
        **OF_EVERY_RUN,
        "kind": text,
        "methods": record({"selection": one_of(*SELECTIONS), "search": one_of(*SEARCHES), "seed": whole()}),
        "phase": one_of(*PHASES),
        **dict.fromkeys(("time", "used"), number),
        "floors": maybe(every(number)),
        "bounded": truth,
        "counting": maybe(COUNTING),
        "explored": every(text),
        "orders": maybe(text),
        "network": maybe(record({"order": _VARIABLES, "parents": every(_VARIABLES), "cost": number})),
        "counted": by_name(whole()),
    }
)


def has_more_to_find(manifest: Manifest) -> bool:
    """Whether a network may be better than the one of this run."""
    upper, lower = manifest.state["upper_bound"], manifest.state["lower_bound"]
    return upper is None or lower is None or upper > lower + tolerance(upper)


def wrong_place(manifest: Manifest) -> str | None:
    """Where the state in a manifest is none that an approximation may have written; None if it may have."""
    return misfit(manifest.state, _SHAPE) or next(_contradictions(manifest), None)


def _contradictions(manifest: Manifest) -> Iterator[str]:
    """Places of a state of the right shape that do not go with others."""
    state = manifest.state
    counting = state["counting"] or {"families": [], "arrays": []}
    orders = [] if state["orders"] is None else [state["orders"]]
    named = [*state["explored"], *orders, *counting["families"], *counting["arrays"]]
    if len(set(named)) < len(named) or not {file.name for file in manifest.files}.issuperset(named):
        yield "files"
    if state["network"] is not None and not _is_network(state["network"]):
        yield "network"


def _is_network(network: Mapping[str, Any]) -> bool:
    """Whether the order is one of all variables, in which the parents of each stand before it."""
    order, parents = network["order"], network["parents"]
    if len(order) != len(parents) or not is_order(order, range(len(order))):
        return False
    place = {variable: k for k, variable in enumerate(order)}
    return all(place.get(p, place[x]) < place[x] for x, own in enumerate(parents) for p in own)
