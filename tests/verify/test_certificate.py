"""Certificates: true ones are accepted, tampered ones are not, and the recount is the oracle's."""

import json
import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import naive
import numpy as np
import pytest
from cases import dataset_of, full_xor_rows, random_dataset
from certified import certificate_of
from flat import solve
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from extbnsl.claims import tolerance
from extbnsl.data import read_csv
from extbnsl.errors import RunDirectoryError
from extbnsl.kernels.varsets import pack, unpack, words
from extbnsl.machine.workers import Workers
from extbnsl.verify import families as recount_families
from extbnsl.verify.certificate import CLUSTERS, Certificate, CertifiedComponent, Pass, pass_of, read_certificate
from extbnsl.verify.families import Taken, families_of_data
from extbnsl.verify.recount import check_component, families_of_scores, taken_by
from extbnsl.verify.verdict import verify, verify_optimality

SETTINGS = settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@cache
def solved(seed, n, records=60, max_parents=None):
    """A result on random data with its certificate; the same for the same arguments."""
    dataset = random_dataset(np.random.default_rng(seed), n, records)
    result = solve(dataset, threads=1, max_parents=max_parents)
    with Workers(1) as workers:
        return replace(result, certificate=certificate_of(result, 60, workers))


@cache
def proved(n=6):
    """A result whose certificate is by clusters alone, several of them in one pass, and has two passes or more."""
    for seed in range(500):
        result = solved(seed, n, 200)
        found = result.certificate.components
        if all(c.proof == CLUSTERS for c in found) and any(
            len(c.passes) > 1 and len(c.passes[0].cuts) > 1 for c in found
        ):
            return result
    raise AssertionError("no such data")


def checked(result, document=None, stop=lambda: None):
    document = json.loads(json.dumps(document or result.document()))
    with Workers(1, stop) as workers:
        return verify_optimality(document, result.dataset, workers)


def check(component, dataset, max_parents=None, stop=lambda: None):
    with Workers(1, stop) as workers:
        return check_component(component, dataset.names, families_of_data(dataset, max_parents, workers), workers)


def brute_reduced(dataset, one, max_parents=None):
    """c' of every family under a pass: (n, 2^n), infinite where there is none."""
    reduced = naive.all_local_scores(dataset.codes, dataset.arities, max_parents)
    for cut, multiplier in zip(one.cuts, one.multipliers, strict=True):
        clusters = [{dataset.names.index(name) for name in cluster} for cluster in cut]
        for x in set().union(*clusters):
            for varset in range(reduced.shape[1]):
                counts = sum(x in cluster and not cluster & set(naive.members(varset)) for cluster in clusters)
                reduced[x, varset] -= multiplier * math.ceil(counts / 2)
    return reduced


def optimum(dataset, component, max_parents=None):
    """The least that the families of the component's children can cost."""
    costs = naive.all_local_scores(dataset.codes, dataset.arities, max_parents)
    for x, name in enumerate(dataset.names):
        if name not in component.variables:
            costs[x] = np.where(np.isfinite(costs[x]), 0.0, math.inf)
    return naive.optimal_cost_dp(len(costs), naive.best_scores(costs))


def assert_counted(dataset, rng, max_parents, beyond):
    """All sets that no subset beats are found, with their costs, if c' is below the threshold; so is the minimum."""
    n = dataset.codes.shape[1]
    masks = [rng.integers(1, 1 << n, size).tolist() for size in (1, 3, 1, 3, 1)]
    cuts = tuple(tuple(tuple(dataset.names[i] for i in naive.members(m)) for m in some) for some in masks)
    one = Pass(cuts, tuple(rng.uniform(0.1, 8.0, 5).tolist()), {})
    costs = naive.all_local_scores(dataset.codes, dataset.arities, max_parents)
    reduced = brute_reduced(dataset, one, max_parents)
    with Workers(1) as workers:
        families_below = families_of_data(dataset, max_parents, workers)
        for x in range(n):
            threshold = reduced[x].min() + beyond + 1e-6
            varsets, found = families_below(x, threshold, taken_by(one, x, dataset.names))
            listed = {int(v): c for v, c in zip(varsets[:, 0], found, strict=True)}
            assert len(listed) == found.size
            for varset, cost in listed.items():
                assert cost == pytest.approx(costs[x, varset], rel=1e-12, abs=1e-9)
            assert min(reduced[x, v] for v in listed) == pytest.approx(reduced[x].min(), abs=1e-8)
            for varset in range(1 << n):
                if reduced[x, varset] < threshold - 1e-8 and varset not in listed:
                    assert any(s & varset == s and costs[x, s] <= costs[x, varset] + 1e-8 for s in range(varset))


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 6), st.sampled_from([None, 0, 1, 2]), st.sampled_from([0.0, 3.0, 100.0]))
def test_recounted_families_are_the_oracles(seed, n, max_parents, beyond):
    rng = np.random.default_rng(seed)
    assert_counted(random_dataset(rng, n, int(rng.integers(1, 80))), rng, max_parents, beyond)


@pytest.mark.parametrize("max_parents", [None, 3])
@pytest.mark.parametrize("beyond", [3.0, 30.0])
@pytest.mark.parametrize("seed", range(3))
def test_families_with_many_parents(seed, beyond, max_parents):
    """Parities of up to five columns: families deep in the enumeration, whose subsets tell nothing."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (300, 8))
    for x, parents in ((0, 5), (1, 4), (2, 3)):
        codes[:, x] = (codes[:, 8 - parents :].sum(axis=1) + (rng.random(300) < 0.03)) % 2
    assert_counted(dataset_of(codes, [2] * 8), rng, max_parents, beyond)


def test_more_records_than_small_counters_hold():
    """Both sides of the 65,535 records that are counted in two bytes each."""
    rng = np.random.default_rng(0)
    for records in (65_535, 65_536):
        codes = np.zeros((records, 4), np.int64)
        codes[:100] = rng.integers(0, 3, (100, 4))
        codes[:100, 0] = codes[:100, 1:3].max(axis=1)
        assert_counted(dataset_of(codes, [3] * 4), rng, None, 100.0)


def test_columns_of_many_states():
    """Numbers of the records, which are nobody's parents, take no room."""
    rng = np.random.default_rng(0)
    codes = np.column_stack([np.arange(5000), rng.permutation(5000), rng.integers(0, 2, 5000)])
    assert_counted(dataset_of(codes), rng, None, 100.0)


@pytest.mark.parametrize("parents", [2, 3, 4])
@pytest.mark.parametrize("arity", [2, 3])
@pytest.mark.parametrize("multiplier", [0.0, 10.0])
def test_bounds_that_are_just_met(parents, arity, multiplier):
    """A child that is the sum of its parents costs its penalty alone: no bound of a superset leaves room for more."""
    rows = np.array(list(np.ndindex(*[arity] * parents))).repeat(50, axis=0)
    noise = np.arange(len(rows)) % 2
    codes = np.column_stack([rows.sum(axis=1) % arity, noise, rows])
    dataset = dataset_of(codes)
    all_parents = tuple(range(2, 2 + parents))
    cost = naive.mdl(codes, dataset.arities, 0, all_parents)
    cuts = Taken(np.array([[3]], np.uint64), np.array([multiplier]))  # the child and the noise
    with Workers(1) as workers:
        families_below = families_of_data(dataset, None, workers)
        for threshold, found in ((cost - multiplier + 1e-3, True), (cost - multiplier - 1e-3, False)):
            varsets, _ = families_below(0, threshold, cuts)
            assert (all_parents in [unpack(v) for v in varsets]) == found


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 7), st.sampled_from([None, None, 0, 1, 2]))
def test_certificates_of_solves_are_accepted(seed, n, max_parents):
    result = solved(seed, n, 60, max_parents)
    assert read_certificate(result.certificate.to_document(), result.network.names) == result.certificate
    optimality = checked(result)
    assert optimality.ok, optimality.findings
    by_clusters = [c.variables for c in result.certificate.components if c.proof == CLUSTERS]
    assert list(optimality.proved) == by_clusters
    assert optimality.complete == (len(by_clusters) == len(result.certificate.components))
    assert not optimality.unchecked


@SETTINGS
@given(st.data(), st.integers(0, 200), st.sampled_from([None, 1]))
def test_nothing_false_is_proved(data, seed, max_parents):
    """Whatever is done to the figures of a certificate: what is proved is true, and no minimum is overstated."""
    result = solved(seed, 5, 60, max_parents)
    candidates = [c for c in result.certificate.components if c.proof == CLUSTERS]
    assume(candidates)
    component = data.draw(st.sampled_from(candidates))
    change = st.sampled_from([0.0, 0.0, 1e-3, -1e-3, 0.3, -0.3, 5.0, -5.0])
    passes = []
    for one in component.passes:
        clusters = [data.draw(st.sampled_from([c, c, component.variables[: len(c)], c[1:] or c])) for (c,) in one.cuts]
        three = st.lists(st.sampled_from(clusters), min_size=2, max_size=2).map(tuple)
        cuts = tuple((c, *data.draw(st.just(()) | st.just(()) | three)) for c in clusters)
        multipliers = tuple(max(1e-6, m + data.draw(change)) for m in one.multipliers)
        passes.append(Pass(cuts, multipliers, {k: v + data.draw(change) for k, v in one.least.items()}))
    passes = passes[: data.draw(st.integers(1, len(passes)))]
    tampered = replace(component, upper_bound=component.upper_bound + data.draw(change), passes=tuple(passes))
    found = check(tampered, result.dataset, max_parents)
    assert found.proved == (not found.findings)
    if found.proved:
        assert tampered.limit <= optimum(result.dataset, component, max_parents) + 2e-6
        least = brute_reduced(result.dataset, passes[0], max_parents).min(axis=1)
        for name, mu in passes[0].least.items():
            assert mu <= least[result.dataset.names.index(name)] + 1e-6


def component_with_passes(document):
    found = document["certificate"]["components"]
    return next(c for c in found if len(c["passes"]) > 1 and len(c["passes"][0]["cuts"]) > 1)


def raise_multiplier(document):
    component_with_passes(document)["passes"][0]["multipliers"][0] += 0.01


def raise_least(document):
    least = component_with_passes(document)["passes"][0]["least"]
    least[min(least)] += 1e-5


def raise_least_of_a_later_pass(document):
    least = component_with_passes(document)["passes"][1]["least"]
    least[min(least)] += 1e-5


def lower_upper_bound(document):
    component_with_passes(document)["upper_bound"] -= 1e-4


def raise_upper_bound(document):
    component_with_passes(document)["upper_bound"] += 1e-4


def drop_all_but_the_first_pass(document):
    del component_with_passes(document)["passes"][1:]


def drop_the_cuts(document):
    for one in component_with_passes(document)["passes"]:
        one["cuts"], one["multipliers"] = [], []


def count_a_cluster_twice(document):
    """As one of three that are the same: its multiplier is asked for twice."""
    one = component_with_passes(document)["passes"][0]
    one["cuts"][0] = one["cuts"][0] * 3


@pytest.mark.parametrize(
    ("tamper", "says"),
    [
        (raise_multiplier, "the reduced cost of"),
        (raise_least, "the reduced cost of"),
        (raise_least_of_a_later_pass, "in pass 2 the reduced cost of"),
        (lower_upper_bound, "but they cost"),
        (raise_upper_bound, "but they cost"),
        (drop_all_but_the_first_pass, "does not prove"),
        (drop_the_cuts, "does not prove"),
        (count_a_cluster_twice, "the reduced cost of"),
    ],
)
def test_tampering_is_found(tamper, says):
    result = proved()
    document = result.document()
    assert checked(result, document).complete
    document = json.loads(json.dumps(document))
    tamper(document)
    optimality = checked(result, document)
    assert any(says in finding for finding in optimality.findings), optimality
    assert not optimality.complete


def test_a_changed_cluster_is_found():
    """A cluster without its first member bounds other minima: some such change must be noticed, none may be believed
    that proves more than is true."""
    result = proved()
    noticed = 0
    component = next(c for c in result.certificate.components if len(c.passes) > 1)
    first = component.passes[0]
    for i, (cluster,) in enumerate(first.cuts):
        for member in cluster:
            smaller = tuple(name for name in cluster if name != member) or cluster
            cuts = (*first.cuts[:i], (smaller,), *first.cuts[i + 1 :])
            tampered = replace(component, passes=(replace(first, cuts=cuts), *component.passes[1:]))
            least = brute_reduced(result.dataset, tampered.passes[0]).min(axis=1)
            overstated = any(mu > least[result.dataset.names.index(name)] + 1e-6 for name, mu in first.least.items())
            found = check(tampered, result.dataset)
            assert not (overstated and found.proved)
            noticed += overstated
    assert noticed


def test_a_dearer_network_is_not_proved_optimal():
    """The whole result tells the same wrong story: only the certificate can show it."""
    result = proved()
    names, costs = result.network.names, naive.all_local_scores(result.dataset.codes, result.dataset.arities)
    document = result.document()
    cost = float(costs[:, 0].sum())
    assert cost > result.cost + 1
    document |= {"parents": {name: [] for name in names}, "order": list(names)}
    document |= {"cost": cost, "lower_bound": cost, "upper_bound": cost}
    for component in document["certificate"]["components"]:
        component["upper_bound"] = float(sum(costs[names.index(name), 0] for name in component["variables"]))
    assert verify(document, result.dataset).ok
    assert checked(result, document).findings  # a later pass has families that it does not allow for


def test_loosened_figures_prove_only_what_they_still_prove():
    result = proved()
    for component in result.certificate.components:
        first = component.passes[0]
        loose = replace(first, least={name: mu - 0.5 for name, mu in first.least.items()})
        assert check(replace(component, passes=(loose, *component.passes[1:])), result.dataset).proved
        if first.cuts:
            halved = replace(first, multipliers=tuple(m / 2 for m in first.multipliers))
            assert not check(replace(component, passes=(halved,)), result.dataset).proved


def test_the_tolerance_is_that_of_the_solver():
    for upper_bound in (0.0, 1.0, 12345.678, 1e7):
        component = CertifiedComponent(("a",), upper_bound, "search")
        assert component.limit == upper_bound - tolerance(upper_bound)


@pytest.mark.parametrize("name", ["asia.csv", "wine.csv"])
def test_examples(name):
    result = solve(read_csv(EXAMPLES / name), threads=1)
    with Workers(1) as workers:
        result = replace(result, certificate=certificate_of(result, 300, workers))
    optimality = checked(result)
    assert optimality.ok, optimality.findings
    assert not optimality.unchecked


def test_nothing_to_check():
    result = proved()
    assert checked(result, result.document() | {"certificate": None}) is None
    assert checked(result, result.document() | {"status": "time_limit"}) is None


def test_components_by_search_are_not_claimed():
    result = proved()
    document = result.document()
    for component in document["certificate"]["components"]:
        component |= {"proof": "search", "passes": []}
    optimality = checked(result, document)
    assert optimality.ok
    assert not optimality.complete
    assert optimality.proved == ()
    assert optimality.searched == tuple(c.variables for c in result.certificate.components)


def test_without_time_nothing_is_proved():
    result = proved()
    optimality = checked(result, stop=lambda: "time_limit")
    assert optimality.ok
    assert not optimality.complete
    assert sorted(optimality.unfinished) == sorted(result.network.names)


def test_too_many_families(monkeypatch):
    monkeypatch.setattr(recount_families, "MOST_FAMILIES", 0)
    optimality = checked(proved())
    assert optimality.ok
    assert not optimality.complete
    assert optimality.unfinished


def test_room_for_few_families(monkeypatch):
    """A search that hands its families over often goes on where it was."""
    result = solved(1, 6, 200)
    with Workers(1) as workers:
        everything = families_of_data(result.dataset, None, workers)
        none = Taken(np.zeros((0, 1), np.uint64), np.zeros(0))
        whole = [everything(x, math.inf, none) for x in range(6)]
        monkeypatch.setattr(recount_families, "ROOM", 0)
        parts = [everything(x, math.inf, none) for x in range(6)]
    assert sum(costs.size for _, costs in whole) > 20
    for one, other in zip(whole, parts, strict=True):
        assert (one[0] == other[0]).all()
        assert (one[1] == other[1]).all()


def test_one_variable():
    result = solve(dataset_of(np.array([[0], [1], [1]])), threads=1)
    component = CertifiedComponent(("v0",), result.cost, CLUSTERS, (Pass((), (), {"v0": result.cost}),))
    assert checked(replace(result, certificate=Certificate((component,)))).complete
    dearer = replace(component, passes=(Pass((), (), {"v0": result.cost + 1}),))
    assert not checked(replace(result, certificate=Certificate((dearer,)))).ok


def test_constant_columns_and_one_record():
    """Constant columns, declared larger or not, take no parents and are none."""
    for codes, arities in (
        (full_xor_rows(10), [2, 2, 2]),
        (np.column_stack([full_xor_rows(10), np.zeros(40)]), [2, 3, 2, 2]),
        (np.zeros((5, 3)), [1, 2, 3]),
        (np.array([[0, 1, 2]]), [1, 2, 3]),
    ):
        result = solve(dataset_of(codes, arities), threads=1)
        with Workers(1) as workers:
            result = replace(result, certificate=certificate_of(result, 30, workers))
        assert checked(result).ok


def test_local_scores_can_be_checked():
    result = proved()
    scores = result.local_scores
    document = result.document()
    with Workers(1) as workers:
        assert verify_optimality(document, scores, workers).complete
        raise_least(document)
        assert not verify_optimality(document, scores, workers).ok
        cuts = Taken(np.zeros((0, 1), np.uint64), np.zeros(0))
        for x in range(scores.variables):
            varsets, _ = families_of_scores(scores, 1)(x, math.inf, cuts)
            assert max(len(unpack(v)) for v in varsets) <= 1


@pytest.mark.parametrize("n", [64, 65, 70, 130])
def test_many_variables(n):
    """A cycle of copies, noisy enough for a cluster to matter, next to columns of noise; two words and more."""
    rng = np.random.default_rng(n)
    codes = rng.integers(0, 2, (40, n))
    ring = [0, 1, n - 2, n - 1]
    for x in ring[1:]:
        codes[:, x] = np.where(rng.random(40) < 0.1, codes[:, x], codes[:, 0])
    dataset = dataset_of(codes, [2] * n)
    none = Taken(np.zeros((0, words(n)), np.uint64), np.zeros(0))
    cluster = pack(ring, n)[None]
    with Workers(1) as workers:
        families_below = families_of_data(dataset, 2, workers)
        for x in ring:
            best = {(): naive.mdl(codes, [2] * n, x, ())}
            for y in range(n):
                best |= {(y, z): naive.mdl(codes, [2] * n, x, (y, z)) for z in ring if z > y and x not in (y, z)}
                best |= {(y,): naive.mdl(codes, [2] * n, x, (y,))} if y != x else {}
            for cuts, weight in ((none, 0.0), (Taken(cluster, np.array([3.0])), 3.0)):
                varsets, costs = families_below(x, math.inf, cuts)
                listed = {unpack(v): c for v, c in zip(varsets, costs, strict=True)}
                reduced = {p: c - weight * (not set(p) & set(ring)) for p, c in best.items()}
                for p in set(listed) & set(best):
                    assert listed[p] == pytest.approx(best[p], abs=1e-9)
                assert min(reduced, key=reduced.get) in listed


def test_many_variables_from_end_to_end():
    """Columns that are independent pair by pair, but for two that are the same, in the first and the second word."""
    n = 70
    codes = np.array([[(i & y).bit_count() & 1 for y in range(1, n + 1)] for i in range(128)])
    codes[:, 69] = codes[:, 0]
    result = solve(dataset_of(codes, [2] * n), threads=1, max_parents=1)
    with Workers(1) as workers:
        result = replace(result, certificate=certificate_of(result, 10, workers))
    assert checked(result).complete
    assert [c.variables for c in result.certificate.components if c.passes[0].cuts] == [("v0", "v69")]
    document = json.loads(json.dumps(result.document()))
    next(c for c in document["certificate"]["components"] if "v69" in c["variables"])["passes"][0]["least"]["v69"] += (
        0.1
    )
    assert not checked(result, document).ok


def test_max_parents_is_part_of_the_claim():
    """What is proved of networks with few parents is not proved of all."""
    for seed in range(50):
        limited, free = solved(seed, 6, 200, 1), solved(seed, 6, 200)
        if all(c.proof == CLUSTERS for c in limited.certificate.components) and limited.cost > free.cost + 0.1:
            break
    assert checked(limited).complete
    assert not checked(limited, limited.document() | {"max_parents": None}).ok


TAKEN_AWAY = object()


def change(path, value):
    """The certificate of `proved()` with the value at `path` replaced or taken away."""
    document = json.loads(json.dumps(proved().certificate.to_document()))
    with_cuts = next(i for i, c in enumerate(document["components"]) if c["passes"][0]["cuts"])
    path = [with_cuts if key == "with cuts" else key for key in path]
    at = document
    for key in path[:-1]:
        at = at[key]
    if value is TAKEN_AWAY:
        del at[path[-1]]
    else:
        at[path[-1]] = value(at[path[-1]]) if callable(value) else value
    return document


FIRST = ("components", 0)
PASS = ("components", "with cuts", "passes", 0)


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (("components",), TAKEN_AWAY, "'components'"),
        (("components",), 3, "list"),
        (("components",), [], "in no component"),
        (FIRST, 1, "'variables'"),
        ((*FIRST, "variables"), lambda v: [*v, "stranger"], "stranger"),
        ((*FIRST, "variables"), lambda v: v + v, "v"),
        ((*FIRST, "variables"), [], "without variables"),
        ((*FIRST, "variables"), [1], "names"),
        ((*FIRST, "upper_bound"), math.nan, "finite"),
        ((*FIRST, "upper_bound"), math.inf, "finite"),
        ((*FIRST, "upper_bound"), 10**400, "finite"),
        ((*FIRST, "upper_bound"), True, "finite"),
        ((*FIRST, "upper_bound"), "1", "finite"),
        ((*FIRST, "proof"), "faith", "'clusters', 'search'"),
        ((*FIRST, "proof"), "search", "passes"),
        ((*FIRST, "passes"), [], "passes"),
        ((*FIRST, "passes"), None, "list"),
        ((*PASS, "cuts", 0), [[]], "empty cluster"),
        ((*PASS, "cuts", 0), lambda c: [c[0] + c[0]], "twice"),
        ((*PASS, "cuts", 0), [["stranger"]], "stranger"),
        ((*PASS, "cuts", 0), lambda c: [c[0], c[0], ["stranger"]], "stranger"),
        ((*PASS, "cuts", 0), [], "a cut of 0 clusters"),
        ((*PASS, "cuts", 0), lambda c: [c[0], c[0]], "a cut of 2 clusters"),
        ((*PASS, "cuts"), lambda c: c[1:], "multipliers"),
        ((*PASS, "cuts"), "v0", "list of cuts"),
        ((*PASS, "cuts"), [["v0"]], "list of cuts"),
        ((*PASS, "multipliers", 0), 0.0, "above 0"),
        ((*PASS, "multipliers", 0), -1.0, "above 0"),
        ((*PASS, "multipliers", 0), math.nan, "above 0"),
        ((*PASS, "multipliers", 0), math.inf, "above 0"),
        ((*PASS, "multipliers"), lambda m: [*m, 1.0], "multipliers"),
        ((*PASS, "least"), {}, "'least'"),
        ((*PASS, "least"), lambda least: least | {"stranger": 1.0}, "stranger"),
        ((*PASS, "least"), lambda least: dict.fromkeys(least, math.nan), "finite"),
        ((*PASS, "least"), lambda least: dict.fromkeys(least, -math.inf), "finite"),
    ],
)
def test_damage_is_one_sentence(path, value, says):
    with pytest.raises(RunDirectoryError) as caught:
        read_certificate(change(path, value), proved().network.names)
    message = str(caught.value)
    assert says in message
    assert message.endswith("it is damaged.")
    assert "\n" not in message


def test_a_pass_of_arrays():
    cuts = np.array([[3, 0, 0], [6, 0, 0], [3, 5, 6]], np.uint64)[:, :, None]
    one = pass_of(("a", "b", "c"), cuts, np.array([0.5, 0.0, 1.0]), np.array([1.0, -2.0, 3.0]))
    triangle = (("a", "b"), ("a", "c"), ("b", "c"))
    assert one == Pass(((("a", "b"),), triangle), (0.5, 1.0), {"a": 1.0, "b": -2.0, "c": 3.0})
    assert one.root == 4.5
    component = CertifiedComponent(("a", "b", "c"), 4.5, CLUSTERS, (one,))
    document = json.loads(json.dumps(Certificate((component,)).to_document()))
    assert read_certificate(document, ("a", "b", "c")).components == (component,)


def test_a_certificate_with_three_clusters_in_a_cut():
    """Clusters alone leave a gap at the root; what closes it is checked, and noticed if it is tampered with."""
    pytest.importorskip("highspy")
    for seed in range(200):
        result = solve(random_dataset(np.random.default_rng(seed), 7, 200), threads=1, polish=True)
        found = [c for c in result.certificate.components if any(len(cut) == 3 for one in c.passes for cut in one.cuts)]
        if found:
            break
    assert checked(result).complete
    component = found[0]
    number, one = next((i, one) for i, one in enumerate(component.passes) if any(len(cut) == 3 for cut in one.cuts))
    for i, cut in enumerate(one.cuts):
        for changed in [(cut[k],) for k in range(3)] if len(cut) == 3 else []:
            cuts = (*one.cuts[:i], changed, *one.cuts[i + 1 :])
            passes = (*component.passes[:number], replace(one, cuts=cuts), *component.passes[number + 1 :])
            assert not check(replace(component, passes=passes), result.dataset).proved
    raised = tuple(m + 1e-3 if len(cut) == 3 else m for cut, m in zip(one.cuts, one.multipliers, strict=True))
    passes = (*component.passes[:number], replace(one, multipliers=raised), *component.passes[number + 1 :])
    assert check(replace(component, passes=passes), result.dataset).findings
