"""network.json: a network with its equivalence class, parameters and cost, as plain JSON values."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.networks.arc_strengths import ArcStrength
from extbnsl.networks.equivalence import cpdag
from extbnsl.networks.gaussian import Regression
from extbnsl.networks.network import Arc, Network

FORMAT_VERSION = 1


def network_document(
    network: Network,
    states: Sequence[Sequence[str]] | None,
    tables: Sequence[NDArray[np.float64]] | None,
    cost: float,
    regressions: Sequence[Regression] | None = None,
    strengths: Sequence[ArcStrength] | None = None,
) -> dict[str, Any]:
    """The network as a value that `json.dumps` takes; `cost` in nats.

    "parents", "states" and "tables" map names of variables; arcs and edges are pairs of names. A table is
    nested lists, one level per parent in the order of "parents", then the states of the child. "states", "tables" and
    "arc_strengths" are null where there is no data to take them from; "regressions" are there for continuous variables
    alone.
    """
    names = network.names
    fitted = [
        {
            "intercept": own.intercept,
            "coefficients": dict(zip((names[p] for p in parents), own.coefficients.tolist(), strict=True)),
            "variance": own.variance,
        }
        for own, parents in zip(regressions or (), network.parents, strict=regressions is not None)
    ]
    directed, undirected = cpdag(network)
    return {
        "format_version": FORMAT_VERSION,
        "variables": list(names),
        "states": _by_name(names, states and [list(row) for row in states]),
        "parents": network.parents_by_name(),
        "arcs": _named(names, network.arcs()),
        "cpdag": {"directed": _named(names, directed), "undirected": _named(names, undirected)},
        "tables": _by_name(names, tables and [table.tolist() for table in tables]),
        **({} if regressions is None else {"regressions": _by_name(names, fitted)}),
        "arc_strengths": None if strengths is None else [_strength(each) for each in strengths],
        "cost": cost,
        "log_base": "e",
    }


def _by_name(names: Sequence[str], values: Sequence[Any] | None) -> dict[str, Any] | None:
    """The values by the names of the variables, or None if there are none."""
    return None if values is None else dict(zip(names, values, strict=True))


def _strength(strength: ArcStrength) -> dict[str, Any]:
    return {
        "from": strength.parent,
        "to": strength.child,
        "cost_of_removal": strength.cost_of_removal,
        "cost_of_reversal": strength.cost_of_reversal,
    }


def _named(names: Sequence[str], arcs: Sequence[Arc]) -> list[list[str]]:
    """Arcs or edges as pairs of names."""
    return [[names[a], names[b]] for a, b in arcs]
