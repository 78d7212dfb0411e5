"""Certificates: those of the solver are accepted, tampered ones are not, and the recount is the oracle's."""

import json
import math
from dataclasses import replace
from pathlib import Path

import naive
import numpy as np
import pytest
from cases import dataset_of, full_xor_rows, random_dataset, random_families, scores_of
from certified import (
    below,
    by_clusters,
    has_passes_alone,
    kinds_of,
    leads,
    no_cuts,
    proved,
    single_cuts,
    solved,
    with_cuts_of_three,
)
from flat import solve
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from extbnsl.bounds.multipliers import UNIT
from extbnsl.core.claims import Claim
from extbnsl.core.knowledge import NOTHING
from extbnsl.data.reading import read_csv
from extbnsl.kernels.varsets import pack, unpack
from extbnsl.machine.workers import Workers
from extbnsl.verify import UNITS_PER_NAT
from extbnsl.verify.certificate import MOST_UNITS, Certificate, CertifiedComponent, ceil_units, floor_units
from extbnsl.verify.certificate_reader import read_certificate
from extbnsl.verify.data_families import families_of_data
from extbnsl.verify.demands import demands_of
from extbnsl.verify.families import ListedFamilies
from extbnsl.verify.passes import cuts_of
from extbnsl.verify.recount import CUTS, check_component
from extbnsl.verify.statement import verify_optimality
from extbnsl.verify.steps import NO_CUTS, Pass
from extbnsl.verify.verdict import verify

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
ROUNDING = 1e-8  # nats: far more than what costs of a hundred records are off
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def checked(result, document=None, stop=lambda: None):
    document = json.loads(json.dumps(document or result.document()))
    with Workers(1, stop) as workers:
        return verify_optimality(document, result.dataset or result.local_scores, workers)


def data_source(dataset, max_parents, workers):
    demands = demands_of(dataset.names, max_parents, NOTHING)
    return families_of_data(dataset, Claim(), demands, workers, leads(dataset))


def check(component, dataset, max_parents=None, stop=lambda: None):
    with Workers(1, stop) as workers:
        return check_component(component, dataset.names, data_source(dataset, max_parents, workers), workers)


def brute_reduced(dataset, one, max_parents=None):
    """c' of every family under a pass: (n, 2^n), infinite where there is none."""
    reduced = naive.all_local_scores(dataset.codes, dataset.arities, max_parents)
    for cut, multiplier in zip(one.cuts, one.multipliers, strict=True):
        clusters = [{dataset.names.index(name) for name in cluster} for cluster in cut]
        for x in set().union(*clusters):
            for varset in range(reduced.shape[1]):
                counts = sum(x in cluster and not cluster & set(naive.members(varset)) for cluster in clusters)
                reduced[x, varset] -= multiplier * UNIT * math.ceil(counts / 2)
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
    one = Pass(cuts, tuple(map(ceil_units, rng.uniform(0.1, 8.0, 5).tolist())))
    costs = naive.all_local_scores(dataset.codes, dataset.arities, max_parents)
    reduced = brute_reduced(dataset, one, max_parents)
    with Workers(1) as workers:
        source = data_source(dataset, max_parents, workers)
        for x in range(n):
            threshold = reduced[x].min() + beyond + 1e-6
            varsets, found = below(source, x, floor_units(threshold), cuts_of(one, dataset.names))
            assert source.rounding(x) < 1e-6
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


@pytest.mark.slow
def test_more_records_than_small_counters_hold():
    """Both sides of the 65,535 records that are counted in two bytes each."""
    rng = np.random.default_rng(0)
    for records in (65_535, 65_536):
        codes = np.zeros((records, 4), np.int64)
        codes[:100] = rng.integers(0, 3, (100, 4))
        codes[:100, 0] = codes[:100, 1:3].max(axis=1)
        assert_counted(dataset_of(codes, [3] * 4), rng, None, 100.0)


@pytest.mark.slow
def test_columns_of_many_states():
    """Numbers of the records, which are nobody's parents, take no room."""
    rng = np.random.default_rng(0)
    codes = np.column_stack([np.arange(5000), rng.permutation(5000), rng.integers(0, 2, 5000)])
    assert_counted(dataset_of(codes), rng, None, 100.0)


@pytest.mark.parametrize("parents", [2, 3, 4])
@pytest.mark.parametrize("arity", [2, 3])
@pytest.mark.parametrize("multiplier", [UNIT, 10.0])
def test_bounds_that_are_just_met(parents, arity, multiplier):
    """A child that is the sum of its parents costs its penalty alone: no bound of a superset leaves room for more."""
    rows = np.array(list(np.ndindex(*[arity] * parents))).repeat(50, axis=0)
    noise = np.arange(len(rows)) % 2
    codes = np.column_stack([rows.sum(axis=1) % arity, noise, rows])
    dataset = dataset_of(codes)
    all_parents = tuple(range(2, 2 + parents))
    cost = naive.mdl(codes, dataset.arities, 0, all_parents)
    cuts = single_cuts(np.array([[3]], np.uint64), [floor_units(multiplier)])  # the child and the noise
    with Workers(1) as workers:
        source = data_source(dataset, None, workers)
        for threshold, found in ((cost - multiplier + 1e-3, True), (cost - multiplier - 1e-3, False)):
            varsets, _ = below(source, 0, floor_units(threshold), cuts)
            assert (all_parents in [unpack(v) for v in varsets]) == found


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 7), st.sampled_from([None, None, 0, 1, 2]))
def test_certificates_of_solves_are_accepted(seed, n, max_parents):
    result = solved(seed, n, 60, max_parents)
    document = result.document()
    assert read_certificate(document["certificate"], result.network.names) == result.certificate
    assert not verify(document, result.dataset).findings
    optimality = checked(result)
    assert not optimality.findings
    assert optimality.proved == tuple(c.variables for c in result.certificate.components)
    assert optimality.by == kinds_of(result)
    assert optimality.complete
    assert document["max_parents"] == max_parents
    assert not optimality.unchecked


@pytest.mark.slow
@pytest.mark.parametrize("polish", [None, True])
def test_certificates_of_score_files_are_accepted(polish):
    proofs = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        scores = scores_of(random_families(rng, 6, 30, lambda m, rng=rng: rng.uniform(-50, 50, m)))
        result = solve(scores, threads=1, polish=polish, max_parents=2 if seed % 3 == 0 else None)
        document = json.loads(json.dumps(result.document()))
        assert not verify(document, scores).findings
        with Workers(1) as workers:
            optimality = verify_optimality(document, scores, workers)
            assert not optimality.findings
            assert optimality.complete
            proofs += optimality.by == {CUTS}
            for wrong in document["certificate"]["components"]:
                wrong["least"][wrong["variables"][0]] += ceil_units(1e-5)
                assert verify_optimality(document, scores, workers).findings
                wrong["least"][wrong["variables"][0]] -= ceil_units(1e-5)
    assert proofs > 10


def test_what_a_bound_may_be_off_follows_from_what_the_network_costs():
    """A family of a child is far dearer than its cheapest one, and the proof stops at the very end of the tolerance."""
    scores = scores_of([[(2, 0.0)], [(0, 308138116410.6471), (1, -5.20089840134678)]])
    result = solve(scores, threads=1)
    assert result.status == "optimal"
    with Workers(1) as workers:
        optimality = verify_optimality(result.document(), scores, workers)
        assert not optimality.findings
        wrong = result.document()
        (component,) = wrong["certificate"]["components"]
        component["lower_bound"] -= 1.0
        assert verify_optimality(wrong, scores, workers).findings


def some_changed(component, data, units):
    """The first passes of a component, with other cuts and multipliers."""
    passes = []
    for one in component.steps:
        clusters = [data.draw(st.sampled_from([c, c, component.variables[: len(c)], c[1:] or c])) for (c,) in one.cuts]
        three = st.lists(st.sampled_from(clusters), min_size=2, max_size=2).map(tuple)
        cuts = tuple((c, *data.draw(st.just(()) | st.just(()) | three)) for c in clusters)
        passes.append(Pass(cuts, tuple(max(1, m + data.draw(units)) for m in one.multipliers)))
    return passes[: data.draw(st.integers(1, len(passes)))]


@SETTINGS
@given(st.data(), st.integers(0, 200), st.sampled_from([None, 1]))
def test_nothing_false_is_proved(data, seed, max_parents):
    """Whatever is done to the figures of a certificate: what is proved is true, and no minimum is overstated. If they
    claim less than the steps show, it is proved."""
    result = solved(seed, 5, 60, max_parents)
    candidates = [c for c in result.certificate.components if has_passes_alone(c)]
    assume(candidates)
    component = data.draw(st.sampled_from(candidates))
    less = data.draw(st.booleans())
    change = st.sampled_from([0.0, -1e-3, -0.3, -5.0] if less else [0.0, 0.0, 1e-3, -1e-3, 0.3, -0.3, 5.0, -5.0])
    units = change.map(floor_units)
    passes = component.steps if less else some_changed(component, data, units)
    least = {name: mu + data.draw(units) for name, mu in component.least.items()}
    lower_bound = component.lower_bound + data.draw(change)
    tampered = replace(component, lower_bound=lower_bound, steps=tuple(passes), least=least)
    found = check(tampered, result.dataset, max_parents)
    assert found.complete == (not found.findings)
    assert found.complete >= less
    if found.complete:
        assert tampered.lower_bound <= optimum(result.dataset, component, max_parents) + ROUNDING
        true = brute_reduced(result.dataset, passes[0], max_parents).min(axis=1)
        for name, mu in least.items():
            assert mu * UNIT <= true[result.dataset.names.index(name)] + ROUNDING


def component_with_passes(document):
    found = document["certificate"]["components"]
    return next(c for c in found if len(c["steps"]) > 1 and len(c["steps"][0]["cuts"]) > 1)


def raise_multiplier(document):
    component_with_passes(document)["steps"][0]["multipliers"][0] += floor_units(0.01)


def raise_least(document):
    least = component_with_passes(document)["least"]
    least[min(least)] += floor_units(1e-6)


def lower_the_bound(document):
    component_with_passes(document)["lower_bound"] -= 1e-4


def raise_the_bound(document):
    component_with_passes(document)["lower_bound"] += 1e-4


def raise_all_bounds(document):
    """By less than the network costs: only the passes can show it."""
    for component in document["certificate"]["components"]:
        component["lower_bound"] += 1e-9
    document["lower_bound"] += 1e-8


def drop_all_but_the_first_pass(document):
    del component_with_passes(document)["steps"][1:]


def drop_the_cuts(document):
    for one in component_with_passes(document)["steps"]:
        one["cuts"], one["multipliers"] = [], []


def count_a_cluster_twice(document):
    """As one of three that are the same: its multiplier is asked for twice."""
    one = component_with_passes(document)["steps"][0]
    one["cuts"][0] = one["cuts"][0] * 3


@pytest.mark.parametrize(
    ("tamper", "says"),
    [
        (raise_multiplier, "the reduced cost of"),
        (raise_least, "the reduced cost of"),
        (lower_the_bound, "but those of the network cost"),
        (raise_the_bound, "but those of the network cost"),
        (raise_all_bounds, "but the components of the certificate have"),
        (drop_all_but_the_first_pass, "does not prove"),
        (drop_the_cuts, "does not prove"),
        (count_a_cluster_twice, "the reduced cost of"),
    ],
)
def test_tampering_is_found(tamper, says):
    result = proved()
    document = json.loads(json.dumps(result.document()))
    assert checked(result, document).complete
    tamper(document)
    optimality = checked(result, document)
    assert any(says in finding for finding in optimality.findings), optimality
    assert not optimality.complete


def test_a_changed_cluster_is_found():
    """A cluster without its first member bounds other minima: some such change must be noticed, none may be believed
    that proves more than is true."""
    result = proved()
    noticed = 0
    component = next(c for c in result.certificate.components if len(c.steps) > 1)
    first = component.first
    for i, (cluster,) in enumerate(first.cuts):
        for member in cluster:
            smaller = tuple(name for name in cluster if name != member) or cluster
            cuts = (*first.cuts[:i], (smaller,), *first.cuts[i + 1 :])
            tampered = replace(component, steps=(replace(first, cuts=cuts), *component.steps[1:]))
            least = brute_reduced(result.dataset, tampered.first).min(axis=1)
            overstated = any(
                mu * UNIT > least[result.dataset.names.index(name)] + ROUNDING for name, mu in component.least.items()
            )
            found = check(tampered, result.dataset)
            assert not (overstated and found.complete)
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
        component["lower_bound"] = float(sum(costs[names.index(name), 0] for name in component["variables"]))
    document["lower_bound"] = math.fsum(c["lower_bound"] for c in document["certificate"]["components"])
    assert not verify(document, result.dataset).findings
    assert checked(result, document).findings  # a later pass has families that it does not allow for


def test_loosened_figures_prove_only_what_they_still_prove():
    result, halves = proved(), 0
    for component in result.certificate.components:
        loose = {name: mu - floor_units(0.5) for name, mu in component.least.items()}
        assert check(replace(component, least=loose), result.dataset).complete
        first = component.first
        if first.cuts:
            halved = replace(first, multipliers=tuple(m // 2 for m in first.multipliers))
            assert not check(replace(component, steps=(halved,)), result.dataset).complete
            halves += 1
    assert halves


def test_the_unit_is_that_of_the_solver():
    assert UNIT * UNITS_PER_NAT == 1


@pytest.mark.parametrize("name", ["asia.csv", "wine.csv"])
def test_examples(name):
    result = solve(read_csv(EXAMPLES / name), threads=1)
    optimality = checked(result)
    assert not optimality.findings
    assert not optimality.unchecked


def test_nothing_to_check():
    result = proved()
    assert checked(result, result.document() | {"certificate": None}) is None
    assert checked(result, result.document() | {"status": "time_limit"}) is None


def test_without_time_nothing_is_proved():
    result = proved()
    optimality = checked(result, stop=lambda: "time_limit")
    assert not optimality.findings
    assert not optimality.complete
    assert optimality.why == "time_limit"


def test_too_many_families(sizes):
    sizes({"families.MOST_FAMILIES": 0})
    optimality = checked(proved())
    assert not optimality.findings
    assert not optimality.complete
    assert optimality.unchecked
    assert optimality.why == "more than 0 parent sets matter"


def test_room_for_few_families(sizes):
    """A search that hands its families over often goes on where it was."""
    result = solved(1, 6, 200)
    with Workers(1) as workers:
        everything = data_source(result.dataset, None, workers)
        whole = [below(everything, x, MOST_UNITS, no_cuts(6)) for x in range(6)]
        sizes({"data_families.ROOM": 1})
        parts = [below(everything, x, MOST_UNITS, no_cuts(6)) for x in range(6)]
    assert sum(costs.size for _, costs in whole) > 20
    for one, other in zip(whole, parts, strict=True):
        assert (one[0] == other[0]).all()
        assert (one[1] == other[1]).all()


def test_one_variable():
    result = solve(dataset_of(np.array([[0], [1], [1]])), threads=1)
    cost = result.cost
    component = CertifiedComponent(("v0",), result.lower_bound, {"v0": floor_units(cost)}, (NO_CUTS,))
    assert result.certificate == Certificate((component,))
    assert checked(result).complete
    overstated = replace(component, least={"v0": floor_units(cost + 1)})
    assert checked(replace(result, certificate=Certificate((overstated,)))).findings


def test_constant_columns_and_one_record():
    """Constant columns, declared larger or not, take no parents and are none."""
    for codes, arities in (
        (full_xor_rows(10), [2, 2, 2]),
        (np.column_stack([full_xor_rows(10), np.zeros(40)]), [2, 3, 2, 2]),
        (np.zeros((5, 3)), [1, 2, 3]),
        (np.array([[0, 1, 2]]), [1, 2, 3]),
    ):
        result = solve(dataset_of(codes, arities), threads=1)
        optimality = checked(result)
        assert optimality.complete


@pytest.mark.parametrize("score", ["mdl", "bdeu", "fnml", "qnml"])
def test_constant_columns_beside_many_others_take_no_time(score):
    """Every parent set of theirs costs the same: there are 2^30 of them."""
    codes = np.random.default_rng(5).integers(0, 2, (200, 32))
    codes[:, 3] = codes[:, 17] = 0
    dataset = dataset_of(codes, [1 + (v != 3) for v in range(32)])
    demands = demands_of(dataset.names, None, NOTHING)
    with Workers(1) as workers:
        source = families_of_data(dataset, Claim(score, ess=1.0), demands, workers, leads(dataset))
        for child in (3, 17) if score != "bdeu" else (3,):
            assert below(source, child, MOST_UNITS, no_cuts(32)).costs.size == 1


def test_local_scores_within_the_limit():
    scores = proved().local_scores
    source = ListedFamilies(scores, demands_of(scores.names, 1, NOTHING))
    for x in range(scores.variables):
        varsets, _ = below(source, x, MOST_UNITS, no_cuts(scores.variables))
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
    cluster = pack(ring, n)[None]
    with Workers(1) as workers:
        source = data_source(dataset, 2, workers)
        for x in ring:
            best = {(): naive.mdl(codes, [2] * n, x, ())}
            for y in range(n):
                best |= {(y, z): naive.mdl(codes, [2] * n, x, (y, z)) for z in ring if z > y and x not in (y, z)}
                best |= {(y,): naive.mdl(codes, [2] * n, x, (y,))} if y != x else {}
            for cuts, weight in ((no_cuts(n), 0.0), (single_cuts(cluster, [floor_units(3.0)]), 3.0)):
                varsets, costs = below(source, x, MOST_UNITS, cuts)
                listed = {unpack(v): c for v, c in zip(varsets, costs, strict=True)}
                reduced = {p: c - weight * (not set(p) & set(ring)) for p, c in best.items()}
                for p in set(listed) & set(best):
                    assert listed[p] == pytest.approx(best[p], abs=1e-9)
                assert min(reduced, key=reduced.get) in listed


@pytest.mark.slow
def test_many_variables_from_end_to_end():
    """Columns that are independent pair by pair, but for two that nearly agree, in the first and the second word."""
    n = 70
    codes = np.array([[(i & y).bit_count() & 1 for y in range(1, n + 1)] for i in range(128)])
    codes[:, 69] = codes[:, 0] ^ (np.arange(128) < 8)
    result = solve(dataset_of(codes, [2] * n), threads=1, max_parents=1)
    assert checked(result).complete
    assert [c.variables for c in result.certificate.components if c.first.cuts] == [("v0", "v69")]
    document = json.loads(json.dumps(result.document()))
    component = next(c for c in document["certificate"]["components"] if "v69" in c["variables"])
    component["least"]["v69"] += floor_units(0.1)
    assert checked(result, document).findings


def test_max_parents_is_part_of_the_claim():
    """What is proved of networks with few parents is not proved of all."""
    for seed in range(50):
        limited, free = solved(seed, 6, 200, 1), solved(seed, 6, 200)
        if by_clusters(limited) and limited.cost > free.cost + 0.1:
            break
    assert checked(limited).complete
    assert checked(limited, limited.document() | {"max_parents": None}).findings


def test_a_certificate_with_three_clusters_in_a_cut():
    """Clusters alone leave a gap at the root; what closes it is checked, and noticed if it is tampered with."""
    result = with_cuts_of_three()
    assert checked(result).complete
    component = next(c for c in result.certificate.components if any(len(cut) == 3 for cut in c.first.cuts))
    one = component.first
    for i, cut in enumerate(one.cuts):
        for changed in [(cut[k],) for k in range(3)] if len(cut) == 3 else []:
            cuts = (*one.cuts[:i], changed, *one.cuts[i + 1 :])
            assert not check(replace(component, steps=(replace(one, cuts=cuts),)), result.dataset).complete
    more = tuple(m + floor_units(1e-3) * (len(cut) == 3) for cut, m in zip(one.cuts, one.multipliers, strict=True))
    assert check(replace(component, steps=(replace(one, multipliers=more),)), result.dataset).findings


def test_multipliers_that_a_check_has_no_units_for_are_in_no_certificate():
    """A document with them would read as a damaged one."""
    families = [
        [(0b00100, -1e10), (0b11010, -1e10), (0, 1e10)],
        [(0b01001, -19992090500.0), (0b01000, -19923540500.0), (0b10100, -9872513500.0)],
        [(0b01001, 8e9), (0b00001, 11e9)],
        [(0b00111, 0.0)],
        [(0b00101, 8009269820.1898), (0, 17339030996.40015)],
    ]
    result = solve(scores_of(families))
    assert (result.status, result.certificate) == ("optimal", None)
