"""Forged certificates, crafted one by one: each makes a dearer network look optimal, and none is believed."""

import json
import math
from pathlib import Path

import pytest
from forging import KINDS, believed, claimed, dearer_networks, true_document
from portions import first

from extbnsl.core.claims import Claim
from extbnsl.core.errors import RunDirectoryError
from extbnsl.data.reading import read_csv
from extbnsl.machine.workers import Workers
from extbnsl.networks.network import Network
from extbnsl.verify import UNITS_PER_NAT
from extbnsl.verify.certificate import MOST_UNITS, floor_units
from extbnsl.verify.document import FORMAT_VERSION
from extbnsl.verify.rescoring import family_costs
from extbnsl.verify.statement import verify_optimality
from extbnsl.verify.verdict import verify


def largest(document):
    return max(document["certificate"]["components"], key=lambda component: len(component["variables"]))


def passes_of(component):
    """All that has cuts with multipliers: passes, and what guides a search."""
    return [step for step in component["steps"] if "multipliers" in step]


def claims_to_root(component, one):
    """What the figures of a pass say that the component costs, in units."""
    needs = sum(m * ((len(cut) + 1) // 2) for cut, m in zip(one["cuts"], one["multipliers"], strict=True))
    return needs + sum(component["least"].values())


def missing(component):
    """What the figures lack to what the component claims, in units."""
    return floor_units(component["lower_bound"]) + 1 - claims_to_root(component, component["steps"][0])


def by_hand(variables, bounds, cuts_of, multipliers_of, least_of):
    """A certificate of one component for each variable, of one pass."""
    return {
        "units_per_nat": UNITS_PER_NAT,
        "components": [
            {
                "variables": [name],
                "lower_bound": bounds[name],
                "least": {name: least_of(name)},
                "steps": [{"cuts": cuts_of(name), "multipliers": multipliers_of(name)}],
            }
            for name in variables
        ],
    }


def absorbed(bounds, large, small, copies):
    """Beside a large multiplier the others vanish in a sum of floats; those of a check must not."""
    return by_hand(
        list(bounds),
        bounds,
        lambda name: [[[name]]] * (copies + 1),
        lambda name: [large] + [small] * copies,
        lambda name: -large,
    )


def absorbed_sums(document):
    bounds = {v: c["lower_bound"] for c in document["certificate"]["components"] for v in c["variables"]}
    document["certificate"] = absorbed(bounds, 1 << 60, 100 * UNITS_PER_NAT, 3)


def sums_absorbed_in_nats(document):
    """The same, so large that a sum of floats would not see a hundred nats."""
    bounds = {v: c["lower_bound"] for c in document["certificate"]["components"] for v in c["variables"]}
    document["certificate"] = absorbed(bounds, UNITS_PER_NAT << 60, 100 * UNITS_PER_NAT, 3)


def wrapped_sums(document):
    """Multipliers whose sum is small where integers have 64 bits."""
    component = largest(document)
    name = component["variables"][0]
    component["steps"][0]["cuts"] += [[[name]]] * 8
    component["steps"][0]["multipliers"] += [1 << 61] * 8


def huge_multiplier(document):
    component = largest(document)
    component["steps"][0]["cuts"].append([[component["variables"][0]]])
    component["steps"][0]["multipliers"].append(10**400)


def raised_multipliers(document):
    one = largest(document)["steps"][0]
    one["multipliers"] = [m + missing(largest(document)) for m in one["multipliers"]]


def negative_multipliers(document):
    """A cut that takes less than nothing."""
    component = largest(document)
    one = component["steps"][0]
    lacking = missing(component)
    one["cuts"].append([[name] for name in component["variables"][:1]])
    one["multipliers"].append(-lacking)


def multipliers_of_floats(document):
    one = largest(document)["steps"][0]
    one["multipliers"] = [float(m) for m in one["multipliers"]]


def infinite_multipliers(document):
    one = largest(document)["steps"][0]
    one["multipliers"] = [math.inf] * len(one["cuts"])


def truths_for_multipliers(document):
    one = largest(document)["steps"][0]
    one["multipliers"] = [True] * len(one["cuts"])


def doubled_clusters(document):
    """Each cut twice, with all of its multiplier each time."""
    for one in passes_of(largest(document)):
        one["cuts"], one["multipliers"] = one["cuts"] * 2, one["multipliers"] * 2


def overlapping_clusters(document):
    """Each cluster once more without its last member."""
    for one in passes_of(largest(document)):
        one["cuts"] += [[cluster[:-1] or cluster for cluster in cut] for cut in one["cuts"]]
        one["multipliers"] *= 2


def three_equal_clusters(document):
    for one in largest(document)["steps"]:
        one["cuts"] = [[cut[0]] * 3 for cut in one["cuts"]]


def five_clusters(document):
    for one in largest(document)["steps"]:
        one["cuts"] = [[cut[0]] * 5 for cut in one["cuts"]]


def clusters_beyond_the_component(document):
    component = largest(document)
    others = [v for v in document["variables"] if v not in component["variables"]] or ["stranger"]
    lacking = missing(component)
    component["steps"][0]["cuts"].append([others[:1]])
    component["steps"][0]["multipliers"].append(max(1, lacking))


def raised_minimum(document):
    component = largest(document)
    name = component["variables"][0]
    component["least"][name] += missing(component)


def minima_too_high_and_too_low(document):
    """So high in one variable that none of its families is looked at, so low in another that the sum is right."""
    component = largest(document)
    high, low = component["variables"][0], component["variables"][-1]
    component["least"][high] += floor_units(1e4)
    component["least"][low] -= floor_units(1e4) - missing(component)


def minima_beyond_all(document):
    """No family costs so much that it is looked at."""
    component = largest(document)
    component["least"] = dict.fromkeys(component["least"], MOST_UNITS * 4)


def minima_below_all(document):
    component = largest(document)
    component["least"] = dict.fromkeys(component["least"], -MOST_UNITS * 4)
    component["steps"][0]["multipliers"] = [1 << 55] * len(component["steps"][0]["cuts"])


def a_pass_that_fixes_by_a_wrong_root(document):
    """The claimed root leaves no gap, so the first pass seems to fix all but the cheapest families."""
    component = largest(document)
    share = missing(component) // len(component["least"]) + 1
    component["least"] = {name: mu + share for name, mu in component["least"].items()}
    component["steps"] = component["steps"][:1] + component["steps"]


def later_passes_first(document):
    for component in document["certificate"]["components"]:
        component["steps"].reverse()


def permuted_variables(document):
    """The figures of each variable are said of the next one."""
    names = document["variables"]
    following = dict(zip(names, names[1:] + names[:1], strict=True))
    for component in document["certificate"]["components"]:
        component["variables"] = [following[name] for name in component["variables"]]
        component["least"] = {following[name]: mu for name, mu in component["least"].items()}
        for one in component["steps"]:
            one["cuts"] = [[[following[v] for v in cluster] for cluster in cut] for cut in one["cuts"]]
            if "variables" in one:
                one["variables"] = [following[name] for name in one["variables"]]
            for node in one.get("nodes", [])[1:]:
                child, parent, has = node["answer"]
                node["answer"] = [following[child], following[parent], has]


def wrong_unit(document):
    document["certificate"]["units_per_nat"] //= 2


def a_variable_left_out(document):
    component = largest(document)
    name = component["variables"].pop()
    del component["least"][name]
    for one in component["steps"]:
        one["cuts"] = [[[v for v in cluster if v != name] for cluster in cut] for cut in one["cuts"]]


def steps_that_settle(document):
    """The steps of all components that settle some variables."""
    return [step for c in document["certificate"]["components"] for step in c["steps"] if "variables" in step]


def raised_bounds_of_steps(document):
    """Each says that its variables cost all that the result claims."""
    for step in steps_that_settle(document):
        step["lower_bound"] = document["lower_bound"]


def bounds_of_steps_that_make_up_the_claim(document):
    """The last step of each component makes up for what all others lack."""
    for component in document["certificate"]["components"]:
        settled = [step for step in component["steps"] if "variables" in step]
        if settled:
            settled[-1]["lower_bound"] += component["lower_bound"] - sum(step["lower_bound"] for step in settled)


def steps_said_twice(document):
    for component in document["certificate"]["components"]:
        component["steps"] += component["steps"]


def a_search_for_a_tree(document):
    """Nothing of what was looked at by branching, but the bound."""
    for component in document["certificate"]["components"]:
        for step in component["steps"]:
            if "nodes" in step:
                del step["nodes"]
                step["cuts"], step["multipliers"] = [], []


def a_tree_for_a_search(document):
    """One node, in place of all orders."""
    for step in steps_that_settle(document):
        multipliers = step.pop("multipliers", [1] * len(step["cuts"]))
        passes = [{"cuts": list(range(len(multipliers))), "multipliers": multipliers}]
        step["nodes"] = [{"above": -1, "answer": None, "passes": passes}]


def all_settled_one_by_one(document):
    """By a search of each variable, in place of the steps that settle, at a share of the claim."""
    for component in document["certificate"]["components"]:
        share = component["lower_bound"] / len(component["variables"])
        nothing = {"cuts": [], "multipliers": []}
        one_by_one = [{"variables": [name], "lower_bound": share, **nothing} for name in component["variables"]]
        component["steps"] = [step for step in component["steps"] if "variables" not in step][:1] + one_by_one


def roots_alone(document):
    for step in steps_that_settle(document):
        step["nodes"] = step.get("nodes", [{"above": -1, "answer": None, "passes": []}])[:1]


def answers_left_out(document):
    """Of each node only what has the parent is below it."""
    for step in steps_that_settle(document):
        nodes, kept = step.get("nodes", []), {-1: -1}
        for k, node in enumerate(nodes):
            if node["above"] in kept and (k == 0 or node["answer"][2]):
                kept[k] = len(kept) - 1
        if nodes:
            step["nodes"] = [nodes[k] | {"above": kept[nodes[k]["above"]]} for k in kept if k >= 0]


def one_side_twice(document):
    for step in steps_that_settle(document):
        for node in step.get("nodes", [])[1:]:
            node["answer"][2] = True


def answers_that_close_a_cycle(document):
    """Two variables before each other on the one side, and nothing on the other."""
    for step in steps_that_settle(document):
        if len(step["variables"]) > 1:
            one, other = step["variables"][:2]
            nodes = [{"above": -1, "answer": None, "passes": []}]
            for above, answer in ((0, [one, other, True]), (0, [one, other, False]), (1, [other, one, True])):
                nodes.append({"above": above, "answer": answer, "passes": []})
            step["nodes"] = [*nodes, {"above": 1, "answer": [other, one, False], "passes": []}]


def passes_of_a_tree_with_larger_multipliers(document):
    for step in steps_that_settle(document):
        for one in (one for node in step.get("nodes", []) for one in node["passes"]):
            one["multipliers"] = [3 * m for m in one["multipliers"]]


def passes_of_other_nodes(document):
    for step in steps_that_settle(document):
        passes = [node["passes"] for node in step.get("nodes", [])]
        for node, other in zip(step.get("nodes", []), passes[1:] + passes[:1], strict=True):
            node["passes"] = other


def a_component_left_out(document):
    document["certificate"]["components"].remove(largest(document))


def a_component_twice(document):
    document["certificate"]["components"].append(document["certificate"]["components"][0])


def a_component_taken_apart(document):
    """The claims of the components are those of the network, and each is proved by a cheapest family."""
    parts = []
    for component in document["certificate"]["components"]:
        share = component["lower_bound"] / len(component["variables"])
        for name in component["variables"]:
            parts.append(
                {
                    "variables": [name],
                    "lower_bound": share,
                    "least": {name: floor_units(share)},
                    "steps": [{"cuts": [], "multipliers": []}],
                }
            )
    document["certificate"]["components"] = parts


def bounds_given_to_others(document):
    """The bounds of the components are right in sum."""
    first = document["certificate"]["components"][0]
    first["lower_bound"] -= document["lower_bound"]
    largest(document)["lower_bound"] += document["lower_bound"]


def true_bounds_of_components(document):
    """What the components prove is true, and the result claims more."""
    for component in document["certificate"]["components"]:
        component["lower_bound"] = min(claims_to_root(component, one) for one in passes_of(component)) / UNITS_PER_NAT


def no_passes(document):
    for component in document["certificate"]["components"]:
        component["steps"], component["least"] = [], {}


def parents_forbidden(document):
    """What is proved of networks with few parents is said of all."""
    document["max_parents"] = None if document["max_parents"] is not None else len(document["variables"])


def negative_limit(document):
    document["max_parents"] = -1


def infinite_cost(document):
    document["cost"] = document["upper_bound"] = math.inf


def infinite_bound(document):
    document["lower_bound"] = -math.inf


def a_cost_without_end(document):
    document["cost"] = document["upper_bound"] = 10**400


def negative_zeros(document):
    document["lower_bound"] = -0.0
    for component in document["certificate"]["components"]:
        component["lower_bound"] = -0.0


def another_format(document):
    document["format_version"] = 2


def another_sign(document):
    document["sign"] = "maximised"


FORGERIES = [
    *(
        absorbed_sums,
        sums_absorbed_in_nats,
        wrapped_sums,
        huge_multiplier,
        raised_multipliers,
        negative_multipliers,
        multipliers_of_floats,
    ),
    *(infinite_multipliers, truths_for_multipliers, doubled_clusters, overlapping_clusters, three_equal_clusters),
    *(five_clusters, clusters_beyond_the_component, raised_minimum, minima_too_high_and_too_low, minima_beyond_all),
    *(minima_below_all, a_pass_that_fixes_by_a_wrong_root, later_passes_first, permuted_variables, wrong_unit),
    *(a_variable_left_out, a_component_left_out, a_component_twice, a_component_taken_apart, bounds_given_to_others),
    *(true_bounds_of_components, no_passes, parents_forbidden, negative_limit, infinite_cost, infinite_bound),
    *(a_cost_without_end, negative_zeros, another_format, another_sign),
    *(raised_bounds_of_steps, bounds_of_steps_that_make_up_the_claim, steps_said_twice, a_search_for_a_tree),
    *(a_tree_for_a_search, all_settled_one_by_one, roots_alone, answers_left_out, one_side_twice),
    *(answers_that_close_a_cycle, passes_of_a_tree_with_larger_multipliers, passes_of_other_nodes),
]


LARGER = ("cuts of three", "several components", "passes", "pieces")  # whose forgeries take longer


@pytest.mark.parametrize("kind", first(len(KINDS) - len(LARGER), sorted(KINDS, key=lambda kind: kind in LARGER)))
@pytest.mark.parametrize("forge", FORGERIES)
def test_no_forgery_is_believed(forge, kind):
    case = KINDS[kind]()
    tried = 0
    for parents in dearer_networks(case):
        document = claimed(case, parents)
        forge(document)
        optimality = believed(document, case.problem)
        assert optimality is None or not optimality.complete
        tried += 1
    assert tried


@pytest.mark.parametrize("kind", KINDS)
def test_the_true_documents_are_believed(kind):
    case = KINDS[kind]()
    assert believed(true_document(case), case.problem).complete


@pytest.mark.parametrize("kind", KINDS)
def test_a_dearer_network_is_not_believed_of_the_true_certificate(kind):
    case = KINDS[kind]()
    for parents in dearer_networks(case):
        assert believed(claimed(case, parents), case.problem) is None


@pytest.mark.parametrize("max_parents", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_the_empty_network_of_wdbc_is_not_optimal(max_parents):
    """It costs 11884 nats, the optimum 6602: with sums of floats, multipliers of 2^60 and 100 nats 'proved' it."""
    dataset = read_csv(Path(__file__).resolve().parents[2] / "examples" / "wdbc.csv")
    names = dataset.names
    costs = dict(zip(names, family_costs(dataset, Network(names, ((),) * len(names)), Claim()), strict=True))
    cost = math.fsum(costs.values())
    document = {
        "format_version": FORMAT_VERSION,
        **{"status": "optimal", "score": "mdl", "sign": "minimised", "log_base": "e", "max_parents": max_parents},
        **{"cost": cost, "upper_bound": cost, "lower_bound": math.fsum(costs.values())},
        **{"variables": list(names), "parents": {name: [] for name in names}, "order": list(names)},
        "certificate": absorbed(costs, 1 << 60, 100 * UNITS_PER_NAT, 5),
        "provenance": {"data_digest": dataset.fingerprint},
    }
    document = json.loads(json.dumps(document))
    assert not verify(document, dataset).findings
    larger = document | {"certificate": absorbed(costs, UNITS_PER_NAT << 60, 100 * UNITS_PER_NAT, 5)}
    with Workers(1) as workers:
        optimality = verify_optimality(document, dataset, workers)
        with pytest.raises(RunDirectoryError, match="units together"):
            verify_optimality(larger, dataset, workers)
    assert len(optimality.findings) == len(names)
    assert not optimality.proved


def settled_pieces(document):
    """Two steps of a true document that settle pieces of one component: a search, and a tree."""
    (component,) = document["certificate"]["components"]
    return [step for step in component["steps"] if "variables" in step]


def bounds_of_each_other(search, tree):
    search["lower_bound"], tree["lower_bound"] = tree["lower_bound"], search["lower_bound"]


def more_for_the_one_than_the_other(search, tree):
    search["lower_bound"] += 1e-3
    tree["lower_bound"] -= 1e-3


def less_for_the_one_than_the_other(search, tree):
    search["lower_bound"] -= 1e-3
    tree["lower_bound"] += 1e-3


@pytest.mark.parametrize(
    "forge",
    [bounds_of_each_other, more_for_the_one_than_the_other, less_for_the_one_than_the_other],
)
def test_what_a_piece_costs_is_not_said_of_another_one(forge):
    """The claim about the whole stays true."""
    case = KINDS["pieces"]()
    document = true_document(case)
    forge(*settled_pieces(document))
    with Workers(1) as workers:
        optimality = verify_optimality(document, case.problem, workers)
    (finding,) = optimality.findings
    assert "The certificate says that the families of" in finding
    assert not optimality.proved


@pytest.mark.parametrize("of", ["search", "tree"])
def test_a_settled_variable_is_not_used_again(of):
    case = KINDS["pieces"]()
    document = true_document(case)
    search, tree = settled_pieces(document)
    name = (search if of == "search" else tree)["variables"][0]
    document["certificate"]["components"][0]["steps"][-1]["cuts"][0][0][0] = name
    with (
        Workers(1) as workers,
        pytest.raises(RunDirectoryError, match=f"a cluster with '{name}', which its step is not"),
    ):
        verify_optimality(document, case.problem, workers)


def test_cuts_of_another_piece_are_not_read():
    case = KINDS["pieces"]()
    document = true_document(case)
    search, tree = settled_pieces(document)
    tree["cuts"] = search["cuts"] or [[search["variables"]]]
    with Workers(1) as workers, pytest.raises(RunDirectoryError, match="which its step is not about"):
        verify_optimality(document, case.problem, workers)
