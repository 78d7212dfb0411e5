"""Edits of results, each in place, of a case by a random generator: `forge.cases` says which come together."""

import numpy as np
from cases import EVERY_SCORE, claim_by
from knowing import random_knowledge

from extbnsl.core.claims import STATUSES
from extbnsl.scores.known import score_of
from forge.consistent import adapted, renumbered, searched_component
from forge.random_edits import mutate, other_number

NAMES = ("a", "b", "c", "d")
SCORES = [("bic", None), *((own.name, own.ess) for own in (score_of(claim_by(name)) for name in EVERY_SCORE))]


def anything(case, rng):
    """A number, list, name or key anywhere."""
    mutate(case.document, rng)


def knowledge(case, rng):
    choices = (
        None,
        {"roots": list(NAMES)},
        {"max_parents": dict.fromkeys(NAMES, 0)},
        {"forbidden": [[p, x] for p in NAMES for x in NAMES if p != x]},
        {"required": [rng.sample(NAMES, 2)]},
        {"tiers": [list(NAMES[:2]), list(NAMES[2:])]},
        {"leaves": [rng.choice(NAMES)]},
        {"apart": [rng.sample(NAMES, 3)]},
        {"allowed": [rng.sample(NAMES, 2)]},
        random_knowledge(np.random.default_rng(rng.randrange(1 << 30)), NAMES).document() or None,
    )
    case.document["knowledge"] = rng.choice(choices)


def limit(case, rng):
    case.document["max_parents"] = rng.choice([None, 0, 1, 2, 3])


def score(case, rng):
    case.document["score"], case.document["ess"] = rng.choice(SCORES)


def ess(case, rng):
    case.document["ess"] = rng.choice([None, 1, 2.5, 1e-3, 100.0])


def records(case, rng):
    case.document["provenance"]["records"] = rng.choice([None, 1, 30, 59, 60, 61, 120])


def digest(case, rng):
    case.document["provenance"]["data_digest"] = rng.choice([None, "0" * 64, ""])


def other_data(case, rng):
    """The same result of other records of the same shape."""
    case.data = "others.csv"
    if rng.random() < 0.5:
        case.document["provenance"]["data_digest"] = None


def data_options(case, rng):
    options = rng.choice(
        [
            {},
            {"records": 30},
            {"drop": "w,a"},
            {"weights": "w"},
            {"missing": "drop"},
            {"header": True},
            {"delimiter": ","},
            {"na": "7"},
            {"discrete": "all"},
            {"columns": "a,b,c,d"},
        ]
    )
    kept = case.document["provenance"]["data_options"] if rng.random() < 0.7 else {}
    case.document["provenance"]["data_options"] = kept | options


def status(case, rng):
    case.document["status"] = rng.choice([*STATUSES, "proved"])


def bounds(case, rng):
    key = rng.choice(["cost", "lower_bound", "upper_bound"])
    case.document[key] = rng.choice([case.document["cost"], other_number(case.document[key], rng)])


def lower_bound_of_nothing(case, rng):
    """A bound that nobody proved, of a search that was stopped."""
    case.document["status"] = rng.choice(["time_limit", "heuristic", "interrupted"])
    case.document["lower_bound"] = case.document["cost"] - rng.choice([0.0, 1e-9, 0.5, 100.0, 1e5])
    if rng.random() < 0.5:
        case.document["certificate"] = None


def network(case, rng):
    """Fewer arcs, more, or none."""
    order = rng.sample(NAMES, 4)
    density = rng.choice([0.0, 0.3, 0.6])
    case.document["parents"] = {
        x: [p for p in NAMES if p in order[: order.index(x)] and rng.random() < density] for x in NAMES
    }
    case.document["order"] = order


def one_arc_less(case, rng):
    child = rng.choice([x for x in NAMES if case.document["parents"][x]])
    case.document["parents"][child] = case.document["parents"][child][1:]


def order(case, rng):
    rng.shuffle(case.document["order"])


def order_optimal(case, rng):
    case.document["order_optimal"] = rng.choice([True, False, None])
    if rng.random() < 0.5:
        case.document["status"] = "heuristic"


def certificate(case, rng):
    case.document["certificate"] = None if rng.random() < 0.3 else case.document["certificate"]
    for component in (case.document["certificate"] or {"components": []})["components"]:
        name = rng.choice(component["variables"])
        if rng.random() < 0.5:
            component["least"][name] += rng.choice([1 << 20, 1 << 36, 1 << 40])
        elif rng.random() < 0.5:
            component |= searched_component(component["variables"], component["lower_bound"])
        else:
            component["lower_bound"] += rng.choice([-1.0, 1e-12, 1.0])


def resamples(case, rng):
    case.document["bootstrap"]["resamples"] = rng.choice([3, 200, 10_000])
    for arc in case.document["bootstrap"]["arcs"]:
        arc["strength"] = rng.random()


def options(case, rng):
    """What was asked for."""
    asked = case.document["provenance"]["options"]
    key = rng.choice(["k", "within_factor", "classes", "top"])
    asked[key] = rng.choice(
        {"k": [None, 1, 3, 7, 5, 10**6], "within_factor": [None, 1.0, 20.0, 50.0, 1e9]}.get(key)
        or {"classes": [True, False], "top": [0, 3, 10]}[key]
    )


def network_left_out(case, rng):
    del case.document["networks"][rng.randrange(len(case.document["networks"]))]


def networks_cut(case, rng):
    del case.document["networks"][rng.randrange(1, len(case.document["networks"])) :]


def networks_swapped(case, rng):
    networks = case.document["networks"]
    i, j = rng.randrange(len(networks)), rng.randrange(len(networks))
    networks[i], networks[j] = networks[j], networks[i]


def network_replaced(case, rng):
    one = rng.choice(case.document["networks"])
    child = rng.choice(NAMES)
    one["parents"] = one["parents"] | {child: rng.choice([[], one["parents"][child][:1], rng.sample(NAMES, 2)])}


def figure_of_network(case, rng):
    one = rng.choice(case.document["networks"])
    key = rng.choice(["cost", "share", "rank", "equivalence_class"])
    one[key] = other_number(one[key], rng)


def count(case, rng):
    key = rng.choice(["networks", "listed", "share", "of_all", "written"])
    place = case.document["count"]
    if key == "of_all" and place[key] is not None and rng.random() < 0.8:
        place, key = place[key], rng.choice(["at_least", "at_most"])
    before = place[key]
    if isinstance(before, dict):
        place[key] = rng.choice([None, 1, {}])
        return
    place[key] = rng.choice([None, 1, before and before * 0.5, before and before * 1.001, before and before + 1, 10**9])


def within(case, rng):
    before = case.document["within"]
    case.document["within"] = rng.choice([None, 0.0, before and before / 2, before and before * 2, 1e3])


def classes(case, rng):
    key = rng.choice(["listed", "heaviest", "share"])
    case.document["classes"][key] = other_number(case.document["classes"][key], rng)


def top(case, rng):
    one = rng.choice(case.document["top"])
    key = rng.choice(list(one))
    one[key] = other_number(one[key], rng)


def shared_arcs(case, rng):
    arcs = case.document["shared_arcs"]
    if arcs and rng.random() < 0.5:
        arcs.pop()
    else:
        arcs.append(rng.sample(NAMES, 2))


def arc_shares(case, rng):
    own = case.document["arc_shares"][rng.choice(NAMES)]
    parent = rng.choice(NAMES)
    if parent in own and rng.random() < 0.3:
        del own[parent]
    else:
        own[parent] = rng.choice([1.0, 0.5, 1e-9, min(1.0, own.get(parent, 0.1) * 1.01)])


def of_networks_in_csv(case, rng):
    _edit_table(case, "networks.csv", rng)


def of_arcs_in_csv(case, rng):
    _edit_table(case, "arcs.csv", rng)


def _edit_table(case, name, rng):
    lines = case.tables[name].splitlines()
    at = rng.randrange(len(lines))
    lines[at] = rng.choice([lines[at][:-1], lines[at].replace("0", "1"), lines[at] + ",", ""])
    case.tables[name] = "\n".join(lines) + "\n"


def with_figures(case, rng):
    """All figures of the network as its parents and the claim make them, by a search that nobody can repeat."""
    case.document.update(adapted(case.document, case.original.problem))


def with_numbers(case, rng):
    """All numbers of a list as its networks make them."""
    if "count" in case.document:
        case.document.update(renumbered(case.document, case.original.problem))


EDITS = [
    *(anything, knowledge, knowledge, limit, score, ess, records, digest, other_data, data_options, status, bounds),
    *(lower_bound_of_nothing, network, one_arc_less, order, order_optimal, certificate, resamples),
]
LIST_EDITS = [
    *(options, network_left_out, networks_cut, networks_swapped, network_replaced, figure_of_network, count, within),
    *(classes, top, shared_arcs, arc_shares),
]
TABLE_EDITS = [of_networks_in_csv, of_arcs_in_csv]
ADAPTING = [with_figures, with_numbers]
