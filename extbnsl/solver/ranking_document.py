"""What the state of a search for the k best networks in a manifest looks like. The values are those of `ranking`."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from extbnsl.files.manifest import Manifest
from extbnsl.files.shapes import Shape, by_name, every, maybe, misfit, number, one_of, record, text, truth, whole
from extbnsl.proof.document import COUNTING as COUNTING_SHAPE
from extbnsl.proof.document import OF_EVERY_RUN

START, COUNTING, COUNTED, LISTING, DONE = PHASES = ("start", "counting", "scores", "networks", "done")
FOUND = "found"  # the entry of the ledger that has the networks of the last slack
TALLIED = "tallied"  # that of the arcs of all networks within the factor

_KEY = re.compile("[0-9a-f]{32}")
_SHAPE: Shape = record(
    {
        **OF_EVERY_RUN,
        "kind": text,
        "scope": record({"k": maybe(whole(least=1)), "within_factor": maybe(number), "classes": truth, "top": whole()}),
        "phase": one_of(*PHASES),
        **dict.fromkeys(("slack", "next_slack"), maybe(number)),
        "found": maybe(record({"within": maybe(number)})),
        "tallied": maybe(record({"networks": whole(least=1), "weight": number})),
        "counting": maybe(COUNTING_SHAPE),
        "scores": maybe(
            record(
                {
                    "names": every(text),
                    "score": text,
                    "max_parents": maybe(whole()),
                    "varsets": whole(),
                    "least": every(number),
                    "files": every(text),
                }
            )
        ),
        "ledger": by_name(text),
    }
)


def wrong_place(manifest: Manifest) -> str | None:
    """Where the state in a manifest is none that such a search may have written; None if it may have."""
    return misfit(manifest.state, _SHAPE) or next(_contradictions(manifest), None)


def _contradictions(manifest: Manifest) -> Iterator[str]:
    """Places of a state of the right shape that do not go with others."""
    state = manifest.state
    named = list(_named(state))
    if len(set(named)) < len(named) or not {file.name for file in manifest.files}.issuperset(named):
        yield "files"
    if any(key not in (FOUND, TALLIED) and not _KEY.fullmatch(key) for key in state["ledger"]):
        yield "ledger"
    for key in (FOUND, TALLIED):
        if (state[key] is None) != (key not in state["ledger"]):
            yield key


def _named(state: Mapping[str, Any]) -> Iterator[str]:
    """Every file that a state of the right shape speaks of."""
    if state["counting"] is not None:
        yield from (*state["counting"]["families"], *state["counting"]["arrays"])
    if state["scores"] is not None:
        yield from state["scores"]["files"]
    yield from state["ledger"].values()
