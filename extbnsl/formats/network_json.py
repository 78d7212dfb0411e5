"""network.json: a network with its equivalence class, parameters, cost and what its data hold, as plain JSON values."""

from collections.abc import Sequence
from typing import Any

from extbnsl.data.summary import Spread
from extbnsl.formats.described import Described
from extbnsl.networks.arc_strengths import ArcStrength
from extbnsl.networks.equivalence import cpdag
from extbnsl.networks.gaussian import Regression
from extbnsl.networks.network import Arc

FORMAT_VERSION = 1


def network_document(described: Described) -> dict[str, Any]:
    """The network as a value that `json.dumps` takes; its cost in nats.

    "parents", "states", "counts" and "tables" map names of variables; arcs and edges are pairs of names. A table is
    nested lists, one level per parent in the order of "parents", then the states of the child. "states", "counts",
    "tables" and "arc_strengths" are null where there is no data to take them from; "regressions" and "spreads" are
    there for continuous variables alone.
    """
    network, names = described.network, described.network.names
    directed, undirected = cpdag(network)
    return {
        "format_version": FORMAT_VERSION,
        "variables": list(names),
        "states": _by_name(names, described.states and [list(row) for row in described.states]),
        "counts": _by_name(names, described.counts and [list(row) for row in described.counts]),
        "parents": network.parents_by_name(),
        "arcs": _named(names, network.arcs()),
        "cpdag": {"directed": _named(names, directed), "undirected": _named(names, undirected)},
        "tables": _by_name(names, described.tables and [table.tolist() for table in described.tables]),
        **_of_numbers(described),
        "arc_strengths": None if described.strengths is None else [_strength(each) for each in described.strengths],
        "cost": described.cost,
        "log_base": "e",
    }


def _of_numbers(described: Described) -> dict[str, Any]:
    """What there is to tell of continuous variables, as far as it is known."""
    names, told = described.network.names, {}
    if described.regressions is not None:
        fitted = zip(described.regressions, described.network.parents, strict=True)
        told["regressions"] = _by_name(names, [_regression(own, parents, names) for own, parents in fitted])
    if described.spreads is not None:
        told["spreads"] = _by_name(names, [_spread(own) for own in described.spreads])
    return told


def _regression(own: Regression, parents: Sequence[int], names: Sequence[str]) -> dict[str, Any]:
    return {
        "intercept": own.intercept,
        "coefficients": dict(zip((names[p] for p in parents), own.coefficients.tolist(), strict=True)),
        "variance": own.variance,
    }


def _spread(own: Spread) -> dict[str, float]:
    return {"mean": own.mean, "standard_deviation": own.deviation, "smallest": own.least, "largest": own.most}


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
