"""The files that a result is written as."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from extbnsl.core.claims import Claim
from extbnsl.core.codec import json_text
from extbnsl.core.data_options import MIXED, NUMBERS, STATES
from extbnsl.core.figures import counted
from extbnsl.core.knowledge import Knowledge
from extbnsl.data import Data, Dataset, Mixed, Numbers
from extbnsl.data.dataset import spread_of, spreads, state_counts
from extbnsl.files.atomic import Content, encoded
from extbnsl.files.names import ARC_FREQUENCIES, BIF, DOCUMENT, of_network
from extbnsl.formats.bif_writer import bif_text, other_words
from extbnsl.formats.described import Described, network_document
from extbnsl.formats.dot import dot_text
from extbnsl.formats.spelling import csv_text
from extbnsl.networks.arcs import arc_strengths, costs_from
from extbnsl.networks.network import Network, with_targets
from extbnsl.networks.parameters import entries_of_tables, fit
from extbnsl.scores.known import COLUMNS, model_of
from extbnsl.scores.local import LocalScores

MOST_ENTRIES = 1 << 20  # of all tables, that are written unasked: some 20 MB in each file


def files_beside(
    document: Mapping[str, Any], network: Network, dataset: Data | None, claim: Claim
) -> Iterator[tuple[str, Content]]:
    """The files beside result.json that tell a result with this document and claim, as (name, content); the parameters
    are in them if it has data."""
    if "bootstrap" in document:
        from extbnsl.results.bootstrap import HEADER

        arcs = ([one[key] for key in HEADER] for one in document["bootstrap"]["arcs"])
        yield ARC_FREQUENCIES, encoded(csv_text(HEADER, arcs))
    yield from networks(network, dataset, document["cost"], claim)


def networks(
    network: Network, dataset: Data | None, cost: float, claim: Claim, place: int = 1
) -> Iterator[tuple[str, bytes]]:
    """The files that tell the network at this place among the best, as (name, content); the last one tells that the
    others have been written. With data it says what arcs count by the score of the claim."""
    bif, document, dot = of_network(place)
    yield dot, encoded(dot_text(network, knowledge_told(network, dataset, claim.knowledge)))
    tabled = not isinstance(dataset, Dataset) or sum(entries_of_tables(network, dataset)) <= MOST_ENTRIES
    known = described(network, cost, dataset, claim, parameters=tabled)
    if known.states is not None and known.tables is not None:
        yield bif, encoded(bif_text(network, known.states, known.tables))
    yield document, encoded(f"{json_text(network_document(known))}\n")


def knowledge_told(network: Network, problem: Data | LocalScores | None, knowledge: Knowledge) -> Knowledge:
    """The knowledge under which a class is told, with what was set from outside; see `with_targets`."""
    targets = problem.targets if isinstance(problem, Data) else None
    return knowledge if targets is None else with_targets(network, knowledge, targets.names(network.names))


def described(
    network: Network,
    cost: float,
    problem: Data | LocalScores | None,
    claim: Claim,
    parameters: bool = True,
    strengths: bool = True,
    smoothing: float = 0.0,
) -> Described:
    """What there is to tell of a network, its cost, and the data or local scores that it was learned from.

    parameters: whether its tables, or its regressions, are told; strengths: how much each arc counts; both as far as
    the data are there. smoothing: the equivalent sample size of the prior of the tables; 0 for those of maximum
    likelihood.
    """
    known = None
    if strengths and problem is not None:
        known = arc_strengths(network, claim, costs_from(problem, claim))
    bare = Described(network, cost, strengths=known, knowledge=knowledge_told(network, problem, claim.knowledge))
    if not isinstance(problem, Data):
        return bare
    own = _OWN[model_of(problem.kind, claim.score)](network, problem, smoothing if parameters else None)
    return replace(bare, treated=problem.treated, **own)


def _own_of_states(network: Network, dataset: Dataset, smoothing: float | None) -> dict[str, Any]:
    tables = None if smoothing is None else fit(network, dataset, smoothing)
    return {"states": dataset.states, "tables": tables, "counts": state_counts(dataset)}


def _own_of_numbers(network: Network, numbers: Numbers, smoothing: float | None) -> dict[str, Any]:
    from extbnsl.networks.gaussian import regressions

    fitted = None if smoothing is None else regressions(network, numbers)
    return {"regressions": fitted, "spreads": spreads(numbers)}


def _own_of_both(network: Network, data: Mixed, smoothing: float | None) -> dict[str, Any]:
    from extbnsl.networks.conditional import conditionals

    own = [None if states else spread_of(values) for states, values in zip(data.states, data.values.T, strict=True)]
    known = None if smoothing is None else conditionals(network, data, smoothing)
    return {"states": data.states, "counts": state_counts(data), "spreads": own, "conditionals": known}


def _own_of_columns(network: Network, data: Mixed, smoothing: float | None) -> dict[str, Any]:
    from extbnsl.networks.degenerate import columns

    told = _own_of_both(network, data, None)
    return told | {"columns": None if smoothing is None else columns(network, data)}


# By what networks are made of (`model_of`) what there is to tell of one, as `Described` has it; no parameters if
# smoothing is None.
_OWN: dict[str, Callable[[Network, Any, float | None], dict[str, Any]]] = {
    STATES: _own_of_states,
    NUMBERS: _own_of_numbers,
    MIXED: _own_of_both,
    COLUMNS: _own_of_columns,
}


def warnings_of_outputs(network: Network, dataset: Data | None) -> tuple[str, ...]:
    """What the user should know of the files: a sentence if they do not have the parameters, or if that of BIF cannot
    have the names and states of the data.

    O(states of all variables).
    """
    if not isinstance(dataset, Dataset):
        return ()
    entries = entries_of_tables(network, dataset)
    if sum(entries) > MOST_ENTRIES:
        at = entries.index(max(entries))
        parents = counted(len(network.parents[at]), "parent")
        return (
            f"The tables of the network have {sum(entries):,} numbers, most of them that of {network.names[at]!r} with "
            f"{parents}: {DOCUMENT} goes without, and {BIF} is not written.",
        )
    replaced = other_words(dataset.names, dataset.states)
    if replaced == 0:
        return ()
    names = counted(replaced, "name or state", "names or states")
    return (f"{BIF} spells {names} in another way, since BIF takes few characters: its first lines tell which.",)
