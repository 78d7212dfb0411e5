"""Is a document true? By the oracle: over four variables all networks can be looked at."""

import json
import math

import naive
import numpy as np
from knowing import admitted

from extbnsl.core.claims import OPTIMAL
from extbnsl.core.knowledge import NOTHING, Knowledge
from extbnsl.networks.network import Network, cpdag

NEAR = 1e-6  # nats
ALIKE = {"rel": 1e-6, "abs": 1e-12}  # of shares
OF_ALL = 2.5e-3


class All:
    """All networks that a document is about, with their costs."""

    def __init__(self, document, original):
        self.names = document["variables"]
        known = document.get("knowledge")
        may = admitted(
            NOTHING if known is None else Knowledge.from_document(known), self.names, document["max_parents"]
        )
        costs = np.where(may, original.costs_by(document["score"], document.get("ess")), np.inf)
        dags = naive.all_dags(len(self.names))
        table = sum(costs[x, np.array([dag[x] for dag in dags])] for x in range(len(self.names)))
        self.costs = {dag: cost for dag, cost in zip(dags, table.tolist(), strict=True) if math.isfinite(cost)}

    def key(self, parents):
        return tuple(sum(1 << self.names.index(p) for p in parents[name]) for name in self.names)

    def arcs(self, dag):
        return {(p, x) for x, own in enumerate(dag) for p in naive.members(own)}

    def kind(self, dag):
        """What tells its equivalence class."""
        return cpdag(Network(tuple(self.names), tuple(tuple(naive.members(own)) for own in dag)))


def lies(document, original):
    """Sentences about what a document says that is false."""
    every = All(document, original)
    key = every.key(document["parents"])
    if key not in every.costs:
        yield "its network is none, or not among those that are meant"
        return
    cost, best = every.costs[key], min(every.costs.values())
    if not abs(document["cost"] - cost) <= NEAR:
        yield f"it costs {cost}"
    if document["lower_bound"] > best + NEAR:
        yield f"a network costs {best}"
    if document["status"] == OPTIMAL and cost > best + NEAR:
        yield f"the best network costs {best}"
    if document.get("order_optimal"):
        place = {name: at for at, name in enumerate(document["order"])}
        rank = [place[name] for name in document["variables"]]
        of_order = [c for dag, c in every.costs.items() if all(rank[p] < rank[x] for p, x in every.arcs(dag))]
        if cost > min(of_order) + NEAR:
            yield f"the best network of its order costs {min(of_order)}"
    if document["provenance"].get("records") not in (None, original.records):
        yield f"there are {original.records} records"
    if "count" in document:
        yield from _lies_of_list(document, every)


def _lies_of_list(document, every):
    networks, count, within = document["networks"], document["count"], document["within"]
    keys, costs = [every.key(one["parents"]) for one in networks], [one["cost"] for one in networks]
    if len(set(keys)) < len(keys) or any(key not in every.costs for key in keys):
        yield "a network is there twice, or not among those that are meant"
        return
    if (
        any(abs(every.costs[key] - cost) > NEAR for key, cost in zip(keys, costs, strict=True))
        or sorted(costs) != costs
    ):
        yield "a network costs something else, or less than the one before"
    if keys[0] != every.key(document["parents"]) or count["listed"] != len(networks):
        yield "the first network, or their number"
    classes = document["provenance"]["options"]["classes"]
    kinds = [every.kind(key) for key in keys]
    listed = set(kinds) if classes else set(keys)
    others = [(dag, cost) for dag, cost in every.costs.items() if (every.kind(dag) if classes else dag) not in listed]
    if document["status"] == OPTIMAL and any(cost < costs[-1] - NEAR for _, cost in others):
        yield "a network is missing"
    limit = math.inf if within is None else costs[0] + within + NEAR
    found = {dag: cost for dag, cost in every.costs.items() if cost <= limit}
    number = len({every.kind(dag) for dag in found}) if classes else len(found)
    if count["networks"] not in (None, number):
        yield f"there are {number} networks"
    if count["networks"] in (None, len(networks)) and not classes:
        found = {key: every.costs[key] for key in keys}
    elif classes:
        found = {dag: cost for dag, cost in found.items() if every.kind(dag) in listed}
    yield from _lies_of_shares(document, every, found, keys, kinds)


def _lies_of_shares(document, every, found, keys, kinds):
    networks, count, names = document["networks"], document["count"], document["variables"]
    weights = {dag: math.exp(networks[0]["cost"] - cost) for dag, cost in found.items()}
    total, every_weight = sum(weights.values()), sum(math.exp(networks[0]["cost"] - c) for c in every.costs.values())
    if document["provenance"]["options"]["classes"]:
        shares = [sum(w for dag, w in weights.items() if every.kind(dag) == kind) / total for kind in kinds]
    else:
        shares = [weights[key] / total for key in keys]
    if not _alike([one["share"] for one in networks], shares) or not _alike([count["share"]], [sum(shares)]):
        yield "shares of networks"
    arcs = {(p, x): sum(w for dag, w in weights.items() if dag[x] >> p & 1) / total for p in range(4) for x in range(4)}
    told = {
        (p, x): document["arc_shares"][names[x]].get(names[p], 0.0)
        for p, x in arcs
        if names[x] in document["arc_shares"]
    }
    if not _alike(list((dict.fromkeys(arcs, 0.0) | told).values()), list(arcs.values())):
        yield "shares of arcs"
    shared = set.intersection(*(every.arcs(dag) for dag in found))
    if sorted(map(tuple, document["shared_arcs"])) != sorted((names[p], names[x]) for p, x in shared):
        yield "arcs that all share"
    numbers = [list(dict.fromkeys(kinds)).index(kind) + 1 for kind in kinds]
    ranks = [1 + sum(cost < one["cost"] - NEAR for cost in (other["cost"] for other in networks)) for one in networks]
    if [one["equivalence_class"] for one in networks] != numbers or [one["rank"] for one in networks] != ranks:
        yield "classes or ranks"
    of_class = [sum(s for s, own in zip(shares, numbers, strict=True) if own == c + 1) for c in range(max(numbers))]
    head = document["classes"]
    if head["listed"] != max(numbers) or not _alike(
        [of_class[head["heaviest"] - 1], head["share"]], [max(of_class)] * 2
    ):
        yield "the heaviest class"
    of_all, true = count["of_all"], total / every_weight
    if of_all is not None and not of_all["at_least"] * (1 - OF_ALL) <= true <= of_all["at_most"] * (1 + OF_ALL):
        yield f"what they hold of all is {true}"
    keys = ("rank", "cost", "share", "equivalence_class")
    top = [{key: one[key] for key in keys} | {"arcs": sum(map(len, one["parents"].values()))} for one in networks[:10]]
    if json.dumps(top, sort_keys=True) != json.dumps(document["top"], sort_keys=True):
        yield "what is told of the first networks"


def _alike(one, other):
    return all(math.isclose(a, b, rel_tol=ALIKE["rel"], abs_tol=ALIKE["abs"]) for a, b in zip(one, other, strict=True))
