"""The proof of a component, step by step, as the certificate of its result will have it.

A pass bounds all variables that are not settled, and drops families that no network of interest has. A search, or a
tree of branching, settles some of the variables: whatever is in a network of interest, their families cost at least so
much. The passes after it are over the others. At last what is settled and the last pass together reach the bound.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.cuts import MEMBERS
from extbnsl.bounds.lp.branching import Closed, Duals, Node, Tree
from extbnsl.kernels.varsets import WORD_BITS, pack, unpack, words

Cut = tuple[tuple[int, ...], ...]  # the clusters of a cut, one or three


@dataclass(frozen=True)
class RootPass:
    """Multipliers over the variables of a component that are not settled: cuts (positions), weights in UNITs, and mu of
    each variable of the component in nats (0 of those that are settled)."""

    cuts: tuple[Cut, ...]
    weights: tuple[int, ...]
    least: tuple[float, ...]


@dataclass(frozen=True)
class Searched:
    """Some variables of a component (positions) whose families cost at least `bound` nats, by a search: cuts and their
    weights, in UNITs, are those of the multipliers that guided it."""

    variables: tuple[int, ...]
    bound: float
    cuts: tuple[Cut, ...]
    weights: tuple[int, ...]


@dataclass(frozen=True)
class Branched:
    """Some variables of a component (positions) whose families cost at least `bound` nats, by a tree of branching.

    cuts: those of all nodes. nodes: each after the one above it, see `branching.Closed`; its choice is of variables
    numbered by their places in `variables`.
    """

    variables: tuple[int, ...]
    bound: float
    cuts: tuple[Cut, ...]
    nodes: tuple[Closed, ...]


Step = RootPass | Searched | Branched


def step_document(step: Step) -> dict[str, Any]:
    """A step as a value that `json.dumps` takes; `proof.document` has its shape."""
    if isinstance(step, Branched):
        return {**asdict(replace(step, nodes=())), "nodes": [_node_document(node) for node in step.nodes]}
    return asdict(step)


def read_step(document: Mapping[str, Any]) -> Step:
    """The step that `step_document` wrote."""
    cuts = tuple(tuple(map(tuple, cut)) for cut in document["cuts"])
    if "least" in document:
        return RootPass(cuts, tuple(document["weights"]), tuple(document["least"]))
    variables, bound = tuple(document["variables"]), document["bound"]
    if "weights" in document:
        return Searched(variables, bound, cuts, tuple(document["weights"]))
    return Branched(variables, bound, cuts, tuple(map(_read_closed, document["nodes"])))


def tree_document(tree: Tree) -> dict[str, Any]:
    """A tree as a value that `json.dumps` takes; `proof.document` has its shape. Infinity comes back as None."""
    return {
        "open": [_node_document(node) for node in tree.open],
        "closed": [_node_document(node) for node in tree.closed],
        "looked": tree.looked,
        "order": tree.order,
        "cost": tree.cost,
        "cuts": cuts_over(tree.cuts, range(WORD_BITS * tree.cuts.shape[2])),
    }


def read_tree(document: Mapping[str, Any], variables: int) -> Tree:
    """The tree of so many variables that `tree_document` wrote."""
    return Tree(
        open=tuple(
            Node(
                -math.inf if node["bound"] is None else node["bound"],
                tuple(node["choices"]),
                node["above"],
                _read_duals(node["duals"]),
            )
            for node in document["open"]
        ),
        looked=document["looked"],
        order=None if document["order"] is None else tuple(document["order"]),
        cost=math.inf if document["cost"] is None else document["cost"],
        closed=tuple(map(_read_closed, document["closed"])),
        cuts=_packed(document["cuts"], variables),
    )


def cuts_over(cuts: NDArray[np.uint64], variables: Iterable[int]) -> tuple[Cut, ...]:
    """Cuts (k, 3, words) over these variables of a component."""
    names = tuple(variables)
    return tuple(tuple(tuple(names[i] for i in unpack(cluster)) for cluster in cut if cluster.any()) for cut in cuts)


def _packed(cuts: Iterable[Iterable[Iterable[int]]], variables: int) -> NDArray[np.uint64]:
    """Cuts over so many variables as (k, 3, words)."""
    rows = [[pack(cluster, variables) for cluster in cut] for cut in cuts]
    packed = np.zeros((len(rows), MEMBERS, words(variables)), np.uint64)
    for cut, row in zip(packed, rows, strict=True):
        cut[: len(row)] = row
    return packed


def _node_document(node: Node | Closed) -> dict[str, Any]:
    duals = [{"cuts": duals.cuts.tolist(), "weights": duals.weights.tolist()} for duals in node.duals]
    return {**node._asdict(), "duals": duals}


def _read_closed(document: Mapping[str, Any]) -> Closed:
    return Closed(document["above"], document["choice"], _read_duals(document["duals"]))


def _read_duals(documents: Iterable[Mapping[str, Any]]) -> tuple[Duals, ...]:
    return tuple(Duals(np.array(one["cuts"], np.int32), np.array(one["weights"], np.int64)) for one in documents)
