"""What there is to tell of a network; network.json, which tells all of it: the network with its equivalence class,
parameters, cost and what its data hold, as plain JSON values.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.knowledge import NOTHING, Knowledge
from extbnsl.networks.network import Arc, Network, cpdag

if TYPE_CHECKING:
    from extbnsl.data.dataset import Spread
    from extbnsl.networks.arcs import ArcStrength
    from extbnsl.networks.conditional import Conditionals, Family
    from extbnsl.networks.degenerate import Block, Columns
    from extbnsl.networks.gaussian import Regression

FORMAT_VERSION = 2
COSTS = ("cost_of_removal", "cost_of_reversal")


@dataclass(frozen=True, eq=False)
class Described:
    """A network with its cost in nats, and what is known of its parameters and its data; None where that is not known.

    states: the labels of each variable.
    tables: its probabilities, float64 of shape (*arities of its parents, its arity), rows along the last axis; states
    and tables are None where there are no data, or the variables are continuous, which have `regressions`.
    strengths: how much each arc counts, in the order of `network.arcs()`.
    counts: how many records have each of the states of each variable.
    spreads: where the numbers of each continuous variable lie.
    knowledge: which networks are allowed, so that those of its class are.
    treated: what was made of columns, by their names, of those that were not taken as they are.
    conditionals: of a network of states and numbers, which has neither tables nor regressions besides; then states and
        counts are empty of numbers, and spreads None of states. columns: the same of one of blocks of Gaussian columns.
    """

    network: Network
    cost: float
    states: Sequence[Sequence[str]] | None = None
    tables: Sequence[NDArray[np.float64]] | None = None
    strengths: "tuple[ArcStrength, ...] | None" = None
    regressions: "Sequence[Regression] | None" = None
    counts: Sequence[Sequence[int]] | None = None
    spreads: "Sequence[Spread | None] | None" = None
    knowledge: Knowledge = NOTHING
    treated: Mapping[str, str] | None = None
    conditionals: "Conditionals | None" = None
    columns: "Columns | None" = None

    @property
    def has_numbers(self) -> bool:
        """Whether it is known that some variables have numbers."""
        return any(own is not None for own in (self.spreads, self.regressions, self.conditionals, self.columns))

    def parameters(self) -> tuple[Sequence[Sequence[str]], Sequence[NDArray[np.float64]]]:
        """The states and the tables, which must be there."""
        assert self.states is not None
        assert self.tables is not None
        return self.states, self.tables

    def arcs(self) -> Iterator[tuple[Arc, bool, dict[str, float | None]]]:
        """Each arc in the order of `network.arcs()`, whether it is compelled, and what it costs in nats to remove and
        to reverse it, by COSTS; None where that is not known or there is no such network."""
        compelled = set(cpdag(self.network, self.knowledge)[0])
        strengths = self.strengths or (None,) * len(self.network.arcs())
        for arc, strength in zip(self.network.arcs(), strengths, strict=True):
            yield arc, arc in compelled, {key: getattr(strength, key, None) for key in COSTS}


def network_document(described: Described) -> dict[str, Any]:
    """The network as a value that `json.dumps` takes; its cost in nats.

    "parents", "states", "counts" and "tables" map names of variables; arcs and edges are pairs of names. A table is
    nested lists, one level per parent in the order of "parents", then the states of the child. "states", "counts",
    "tables" and "arc_strengths" are null where there is no data to take them from; "regressions" and "spreads" are
    there for continuous variables alone, "conditionals" or "columns" in place of regressions where some have states,
    "treated" if there is something to tell.
    """
    network, names = described.network, described.network.names
    directed, undirected = cpdag(network, described.knowledge)
    told: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "variables": list(names),
        "states": _by_name(names, described.states and list(map(list, described.states))),
        "counts": _by_name(names, described.counts and list(map(list, described.counts))),
        "parents": network.parents_by_name(),
        "arcs": _named(names, network.arcs()),
        "cpdag": {"directed": _named(names, directed), "undirected": _named(names, undirected)},
        "tables": _by_name(names, described.tables and [table.tolist() for table in described.tables]),
    }
    if described.regressions is not None:
        fitted = zip(described.regressions, network.parents, strict=True)
        told["regressions"] = _by_name(names, [_regression(own, parents, names) for own, parents in fitted])
    if described.spreads is not None:
        told["spreads"] = {
            name: asdict(own) for name, own in zip(names, described.spreads, strict=True) if own is not None
        }
        for key in ("states", "counts"):  # of those that have states
            told[key] = {name: own for name, own in told[key].items() if own} if told[key] else None
    if described.conditionals is not None:
        known = described.conditionals
        told["conditionals"] = _by_name(names, [_conditional(own, x, known) for x, own in enumerate(known.families)])
    if described.columns is not None:
        blocks = enumerate(described.columns.blocks)
        told["columns"] = _by_name(names, [_block(own, x, described.columns) for x, own in blocks])
    if described.treated:
        told["treated"] = dict(described.treated)
    told["arc_strengths"] = None
    if described.strengths is not None:
        told["arc_strengths"] = list(map(_strength, described.strengths))
    return {**told, "cost": described.cost, "log_base": "e"}


def _strength(own: "ArcStrength") -> dict[str, Any]:
    return {"from": own.parent, "to": own.child, **{key: getattr(own, key) for key in COSTS}}


def _regression(own: "Regression", parents: Sequence[int], names: Sequence[str]) -> dict[str, Any]:
    return {
        "intercept": own.intercept,
        "coefficients": dict(zip((names[p] for p in parents), own.coefficients.tolist(), strict=True)),
        "variance": own.variance,
    }


def _conditional(own: "Family", child: int, known: "Conditionals") -> dict[str, Any]:
    """The parameters of a variable: a table, or the regressions in the configurations that occur of its parents of
    states, and in all others, if there are any."""
    names, given = known.network.names, [known.network.names[p] for p in own.discrete]
    if own.table is not None:
        return {"given": given, "table": own.table.tolist()}
    numbers, rows = own.numbers, list[dict[str, Any]]()
    labels = itertools.product(*(known.states[p] for p in own.discrete))
    for states, records, regression in zip(labels, own.records, own.regressions, strict=True):
        if records:
            rows.append({"states": list(states), "records": records, **_regression(regression, numbers, names)})
    told = {"given": given, "regressions": rows}
    if 0 in own.records:
        told["elsewhere"] = _regression(own.regressions[own.records.index(0)], numbers, names)
    return told


def _block(own: "Block", child: int, known: "Columns") -> dict[str, Any]:
    """The regression of a variable's columns: the states that they are of, and those of its parents."""
    names, parents = known.network.names, known.network.parents[child]
    labels = {v: [known.states[v][code] for code in known.blocks[v].codes] for v in (child, *parents)}
    first = {"first": known.states[child][own.first]} if known.states[child] else {}
    return {
        **first,
        "states": labels[child],
        "given": {names[p]: labels[p] if known.states[p] else None for p in parents},
        "intercepts": own.intercepts.tolist(),
        "coefficients": own.coefficients.tolist(),
        "covariance": own.covariance.tolist(),
    }


def _by_name(names: Sequence[str], values: Sequence[Any] | None) -> dict[str, Any] | None:
    """The values by the names of the variables, or None if there are none."""
    return None if values is None else dict(zip(names, values, strict=True))


def _named(names: Sequence[str], arcs: Sequence[Arc]) -> list[list[str]]:
    """Arcs or edges as pairs of names."""
    return [[names[a], names[b]] for a, b in arcs]
