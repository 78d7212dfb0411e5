"""What a careful forger does: all that follows from a network, or from a list of networks, is made to fit."""

import copy
import math

from extbnsl.core.claims import Claim, tolerance
from extbnsl.networks.network import Network
from extbnsl.verify.certificate import floor_units
from extbnsl.verify.rescoring import family_costs


def adapted(document, problem):
    """The cost and the bounds of the network of a document, by its score, and a certificate that claims a search."""
    names = document["variables"]
    network = Network.from_names(names, document["parents"])
    cost = math.fsum(family_costs(problem, network, Claim.of_result(document)))
    bound = cost - tolerance(cost)
    component = searched_component(names, bound)
    found = {"cost": cost, "upper_bound": cost, "order": [names[i] for i in network.order()]}
    if document["status"] != "optimal":
        return found | {"lower_bound": min(cost, document["lower_bound"])}
    return found | {"lower_bound": bound, "certificate": {"units_per_nat": 1 << 36, "components": [component]}}


def searched_component(names, bound):
    """A component of a certificate that a search without any multipliers is said to have proved."""
    nothing = {"cuts": [], "multipliers": []}
    steps = [nothing, {"variables": list(names), "lower_bound": bound, **nothing}]
    least = dict.fromkeys(names, floor_units(bound) - (1 << 50))
    return {"variables": list(names), "lower_bound": bound, "least": least, "steps": steps}


def renumbered(document, problem=None):
    """All that is said of the networks of a list as they make it: none but these were found. problem: by which they are
    costed again, None to keep the costs."""
    document = copy.deepcopy(document)
    networks = document["networks"]
    if problem is not None:
        for one in networks:
            network = Network.from_names(document["variables"], one["parents"])
            one["cost"] = math.fsum(family_costs(problem, network, Claim.of_result(document)))
        networks.sort(key=lambda one: one["cost"])
        for one in networks:
            one["share"] = math.exp(networks[0]["cost"] - one["cost"])
    share, classes = math.fsum(one["share"] for one in networks), {}
    arcs = {x: {} for x in document["variables"]}
    for i, one in enumerate(networks):
        before = networks[i - 1] if i else {"cost": -math.inf}
        one["share"] /= share
        one["rank"] = before["rank"] if one["cost"] - before["cost"] < 1e-6 else i + 1
        one["equivalence_class"] = classes.setdefault(one["equivalence_class"], len(classes) + 1)
        for x, p in ((x, p) for x, own in one["parents"].items() for p in own):
            arcs[x][p] = arcs[x].get(p, 0.0) + one["share"]
    of_classes = dict.fromkeys(classes.values(), 0.0)
    shared = set.intersection(*({(p, x) for x, own in one["parents"].items() for p in own} for one in networks))
    for parent, child in shared:
        arcs[child][parent] = 1.0
    for one in networks:
        of_classes[one["equivalence_class"]] += one["share"]
    heaviest = max(of_classes, key=of_classes.get)
    keys = ("rank", "cost", "share", "equivalence_class")
    return document | {
        **{key: networks[0][key] for key in ("cost", "parents")},
        "count": {
            **{"networks": len(networks), "listed": len(networks), "share": 1.0, "of_all": None},
            "written": max(1, min(document["provenance"]["options"]["top"], len(networks))),
        },
        "arc_shares": arcs,
        "shared_arcs": [list(arc) for arc in shared],
        "classes": {"listed": len(classes), "heaviest": heaviest, "share": of_classes[heaviest]},
        "top": [
            {key: one[key] for key in keys} | {"arcs": sum(map(len, one["parents"].values()))} for one in networks[:10]
        ],
    }
