"""Networks as objects of other packages, which must be installed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.arguments import imported
from extbnsl.core.errors import InputError
from extbnsl.formats.described import Described


def networkx_graph(described: Described) -> Any:
    """A networkx.DiGraph whose nodes are the names, with attributes as in GraphML: `states` of nodes, and of arcs
    `compelled`, `cost_of_removal` and `cost_of_reversal`; what is not known is left out."""
    graph = imported("networkx", "to_networkx", "extbnsl[networkx]").DiGraph(cost=described.cost)
    names = described.network.names
    graph.add_nodes_from(names)
    if described.states is not None:
        for name, states in ((name, own) for name, own in zip(names, described.states, strict=True) if own):
            graph.nodes[name]["states"] = list(states)
    for arc, compelled, costs in described.arcs():
        known = {key: cost for key, cost in costs.items() if cost is not None}
        graph.add_edge(*(names[x] for x in arc), compelled=compelled, **known)
    return graph


def pgmpy_model(described: Described) -> Any:
    """A pgmpy DiscreteBayesianNetwork (BayesianNetwork before pgmpy 1.0) with a TabularCPD for each variable; needs
    states and tables."""
    models = imported("pgmpy.models", "to_pgmpy", "pgmpy")
    cpds = imported("pgmpy.factors.discrete", "to_pgmpy", "pgmpy")
    kind = getattr(models, "DiscreteBayesianNetwork", None) or models.BayesianNetwork
    network, names = described.network, described.network.names
    states, tables = _parameters(described)
    model = kind()
    model.add_nodes_from(names)
    model.add_edges_from((names[p], names[x]) for p, x in network.arcs())
    for x, table in enumerate(tables):
        family = (x, *network.parents[x])
        own = (
            {} if len(family) == 1 else {"evidence": [names[p] for p in family[1:]], "evidence_card": table.shape[:-1]}
        )
        values = table.reshape(-1, table.shape[-1]).T
        labels = {names[v]: list(states[v]) for v in family}
        model.add_cpds(cpds.TabularCPD(names[x], table.shape[-1], values, state_names=labels, **own))
    return model


def pyagrum_network(described: Described) -> Any:
    """A pyagrum.BayesNet with its CPTs; needs states and tables."""
    gum = imported("pyagrum", "to_pyagrum", "pyagrum")
    network, names = described.network, described.network.names
    states, tables = _parameters(described)
    made = gum.BayesNet()
    for name, labels in zip(names, states, strict=True):
        made.add(gum.LabelizedVariable(name, name, list(labels)))
    for x, table in enumerate(tables):
        # In a CPT the child changes fastest, then its parents, the first one that was added before the others.
        for parent in reversed(network.parents[x]):
            made.addArc(names[parent], names[x])
        made.cpt(names[x]).fillWith(table.ravel().tolist())
    return made


def _parameters(described: Described) -> tuple[Sequence[Sequence[str]], Sequence[NDArray[np.float64]]]:
    if described.has_numbers:
        raise InputError("The tables of states there cannot hold continuous variables: use to_networkx.")
    if described.states is None or described.tables is None:
        raise InputError("Parameters need data, and this network was learned from local scores alone: use to_networkx.")
    return described.parameters()
