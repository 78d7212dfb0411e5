"""Certificates of columns of numbers: families by regressions of the checker's own, and what they prove."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import naive
import numpy as np
import pytest
from cases import chained_numbers, collinear_numbers, numbers_of, random_numbers
from certified import (
    below,
    by_clusters,
    checked,
    has_passes_alone,
    kinds_of,
    leads,
    no_cuts,
    numbers_proved,
    of_numbers,
    reduced_by,
)
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from knowing import admitted, random_knowledge

from extbnsl import learn
from extbnsl.core.claims import TIME_LIMIT, Claim
from extbnsl.core.errors import VerificationError
from extbnsl.core.knowledge import NOTHING, Knowledge
from extbnsl.kernels.varsets import unpack
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.verify import UNITS_PER_NAT
from extbnsl.verify.certificate import MOST_UNITS, Certificate, CertifiedComponent, TooMuch, ceil_units, floor_units
from extbnsl.verify.demands import demands_of
from extbnsl.verify.passes import cuts_of
from extbnsl.verify.recount import check_component
from extbnsl.verify.regression_families import families_by_regressions
from extbnsl.verify.rescoring import family_cost
from extbnsl.verify.statement import verify_optimality
from extbnsl.verify.steps import NO_CUTS, Pass
from extbnsl.verify.verdict import verify

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
NEAR = 1e-7  # nats: more than what the costs of some hundred records are off in the oracle


def source_of(numbers, workers, max_parents=None, knowledge=NOTHING):
    demands = demands_of(numbers.names, max_parents, knowledge)
    return families_by_regressions(numbers, Claim("gaussian-bic"), demands, workers, leads(numbers))


def listed_by(source, child, threshold, taken):
    """Costs by parents, as integers of bits; each once."""
    varsets, costs = below(source, child, threshold, taken)
    listed = {int(v): c for v, c in zip(varsets[:, 0], costs.tolist(), strict=True)}
    assert len(listed) == costs.size
    return listed


@SETTINGS
@given(
    st.integers(0, 2**32),
    st.integers(1, 6),
    st.sampled_from([None, 0, 1, 2]),
    st.sampled_from([0.0, 3.0, 100.0]),
    st.booleans(),
)
def test_recounted_families_are_the_oracles(seed, n, max_parents, beyond, knowing):
    """All admitted sets that no subset beats are found, with their costs, if c' is below the threshold."""
    rng = np.random.default_rng(seed)
    numbers = random_numbers(rng, n, int(rng.integers(n + 2, 80)))
    knowledge = random_knowledge(rng, numbers.names, max_parents) if knowing else NOTHING
    allowed = admitted(knowledge, numbers.names, max_parents)
    costs = naive.all_gaussian_costs(numbers.values, lambda x, u: allowed[x, u])
    masks = [rng.integers(1, 1 << n, size).tolist() for size in (1, 3, 1, 3, 1)]
    cuts = tuple(tuple(tuple(numbers.names[i] for i in naive.members(m)) for m in some) for some in masks)
    one = Pass(cuts, tuple(map(ceil_units, rng.uniform(0.1, 8.0, 5).tolist())))
    reduced = reduced_by(one, numbers.names, costs)
    with Workers(1) as workers:
        source = source_of(numbers, workers, max_parents, knowledge)
        for x in range(n):
            threshold = reduced[x].min() + beyond + 1e-6
            listed = listed_by(source, x, floor_units(threshold), cuts_of(one, numbers.names))
            assert listed == pytest.approx({v: costs[x, v] for v in listed}, rel=1e-12, abs=NEAR)
            assert min(reduced[x, v] for v in listed) == pytest.approx(reduced[x].min(), abs=NEAR)
            for varset in listed:  # none is listed that costs no less than without one parent
                assert all(costs[x, varset] < costs[x, varset & ~(1 << p)] + NEAR for p in naive.members(varset))
            for varset in range(1 << n):
                if reduced[x, varset] < threshold - NEAR and varset not in listed:
                    assert any(s & varset == s and costs[x, s] <= costs[x, varset] + NEAR for s in range(varset))


def exact_cost(values, child, parents):
    """The cost of a family of these floats with sums of fractions, rounded in the logarithm alone."""
    columns = [[Fraction(value) for value in values[:, v].tolist()] for v in (*parents, child)]
    records = len(columns[0])
    columns = [[value - sum(column) / records for value in column] for column in columns]
    done = []
    for column in columns:
        for other in done:
            part = sum(a * b for a, b in zip(column, other, strict=True)) / sum(b * b for b in other)
            column = [a - part * b for a, b in zip(column, other, strict=True)]
        done.append(column)
    squares = sum(value * value for value in done[-1])
    log = math.log(squares.numerator) - math.log(squares.denominator)
    return records / 2 * (math.log(2 * math.pi / records) + log + 1) + math.log(records) / 2 * (len(parents) + 2)


@pytest.mark.parametrize("noise", [1.0, 1e-3, 1e-5])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_costs_are_off_by_no_more_than_is_said(noise, offset):
    """Against exact arithmetic; columns that nearly determine each other, in units and with offsets of their own."""
    rng = np.random.default_rng(5)
    values = rng.normal(size=(20, 4))
    values[:, 2] = values[:, 0] - values[:, 1] + noise * values[:, 2]
    numbers = numbers_of(values * [1e-9, 3.0, 1e4, 1.0] + offset * np.array([1e-9, 3.0, 1e4, 1.0]))
    with Workers(1) as workers:
        source = source_of(numbers, workers)
        for x in range(4):
            listed = listed_by(source, x, MOST_UNITS, no_cuts(4))
            assert len(listed) > (0 if x == 3 else 1)
            for varset, cost in listed.items():
                assert abs(cost - exact_cost(numbers.values, x, naive.members(varset))) <= source.error(x)
            assert 2.0 * source.error(x) < source.rounding(x)
            assert source.error(x) < 1e-10 / noise


@pytest.mark.parametrize("seed", range(6))
def test_what_is_proved_is_the_optimum_of_all_networks(seed):
    most = None if seed % 2 else 1
    result = of_numbers(seed, 3 + seed % 2, max_parents=most)
    assert by_clusters(result)
    optimality = checked(result)
    assert optimality.complete
    assert result.document()["max_parents"] == most
    best = naive.optimal_gaussian_cost(result.dataset.values, lambda x, u: most is None or u.bit_count() <= most)
    assert result.lower_bound <= best + NEAR
    assert result.cost == pytest.approx(best, abs=NEAR)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 6), st.sampled_from([None, None, 1, 2]), st.booleans())
def test_certificates_of_solves_are_accepted(seed, n, max_parents, knowing):
    rng = np.random.default_rng(seed)
    names = tuple(f"v{i}" for i in range(n))
    knowledge = random_knowledge(rng, names, max_parents) if knowing else NOTHING
    result = of_numbers(seed, n, max_parents=max_parents, knowledge=knowledge)
    optimality = checked(result)
    assert not optimality.findings
    assert optimality.proved == tuple(c.variables for c in result.certificate.components)
    assert optimality.by == kinds_of(result)
    assert optimality.complete
    assert optimality.rounding < 1e-6
    assert not optimality.unchecked


def test_knowledge_is_part_of_the_claim():
    """What is proved of networks without some arcs is not proved of all."""
    free = of_numbers(1, 5)
    knowledge = Knowledge(
        forbidden=tuple(arc for name, own in free.parents.items() for arc in ((p, name) for p in own))
    )
    bound = of_numbers(1, 5, knowledge=knowledge)
    assert bound.cost > free.cost + 0.1
    assert checked(bound).complete
    assert checked(bound, bound.document() | {"knowledge": None}).findings


def test_max_parents_is_part_of_the_claim():
    for seed in range(50):
        limited, free = of_numbers(seed, 5, max_parents=1), of_numbers(seed, 5)
        if by_clusters(limited) and limited.cost > free.cost + 0.1:
            break
    assert checked(limited).complete
    assert checked(limited, limited.document() | {"max_parents": None}).findings


def optimum(numbers, component):
    """The least that the families of the component's children can cost."""
    costs = naive.all_gaussian_costs(numbers.values)
    for x, name in enumerate(numbers.names):
        if name not in component.variables:
            costs[x] = np.where(np.isfinite(costs[x]), 0.0, math.inf)
    return naive.optimal_cost_dp(len(costs), naive.best_scores(costs))


def some_changed(component, data, units):
    """The first passes of a component, with other cuts and multipliers."""
    passes = []
    for one in component.steps[: data.draw(st.integers(1, len(component.steps)))]:
        clusters = [data.draw(st.sampled_from([c, c, component.variables[: len(c)], c[1:] or c])) for (c,) in one.cuts]
        passes.append(Pass(tuple((c,) for c in clusters), tuple(max(1, m + data.draw(units)) for m in one.multipliers)))
    return passes


@pytest.mark.slow
@SETTINGS
@given(st.data(), st.integers(0, 100))
def test_nothing_false_is_proved(data, seed):
    """Whatever is done to the figures of a certificate: what is proved is true, and no minimum is overstated. If they
    claim less than the steps show, it is proved."""
    result = of_numbers(seed, 5)
    numbers, names = result.dataset, result.network.names
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
    with Workers(1) as workers:
        found = check_component(tampered, names, source_of(numbers, workers), workers)
    assert found.complete == (not found.findings)
    assert found.complete >= less
    if found.complete:
        assert tampered.lower_bound <= optimum(numbers, component) + NEAR
        true = reduced_by(passes[0], names, naive.all_gaussian_costs(numbers.values)).min(axis=1)
        for name, mu in least.items():
            assert mu / UNITS_PER_NAT <= true[names.index(name)] + NEAR


def component_with_passes(document):
    return next(c for c in document["certificate"]["components"] if len(c["steps"]) > 1)


def raise_multiplier(document):
    component_with_passes(document)["steps"][0]["multipliers"][0] += floor_units(0.01)


def raise_least(document):
    least = component_with_passes(document)["least"]
    least[min(least)] += floor_units(1e-6)


def raise_the_bound(document):
    component_with_passes(document)["lower_bound"] += 1e-4


def drop_all_but_the_first_pass(document):
    del component_with_passes(document)["steps"][1:]


def drop_the_cuts(document):
    for one in component_with_passes(document)["steps"]:
        one["cuts"], one["multipliers"] = [], []


@pytest.mark.parametrize(
    ("tamper", "says"),
    [
        (raise_multiplier, "the reduced cost of"),
        (raise_least, "the reduced cost of"),
        (raise_the_bound, "but those of the network cost"),
        (drop_all_but_the_first_pass, "does not prove"),
        (drop_the_cuts, "does not prove"),
    ],
)
def test_tampering_is_found(tamper, says):
    result = numbers_proved()
    document = json.loads(json.dumps(result.document()))
    assert checked(result, document).complete
    tamper(document)
    optimality = checked(result, document)
    assert any(says in finding for finding in optimality.findings), optimality
    assert not optimality.complete


def test_a_bound_above_the_truth_is_not_believed():
    """A network of no arcs, with the certificate that would prove it: a cheapest family of each, without parents."""
    result = numbers_proved()
    names, numbers = result.network.names, result.dataset
    costs = {name: family_cost(numbers, x, (), result.claim) for x, name in enumerate(names)}
    cost = math.fsum(costs.values())
    assert cost > result.cost + 1
    components = tuple(
        CertifiedComponent((name,), own, {name: floor_units(own)}, (NO_CUTS,)) for name, own in costs.items()
    )
    document = result.document() | {
        "parents": {name: [] for name in names},
        "order": list(names),
        **{"cost": cost, "lower_bound": math.fsum(costs.values()), "upper_bound": cost},
        "certificate": Certificate(components).to_document(),
    }
    optimality = checked(result, document)
    assert optimality.findings
    assert all("the reduced cost of" in finding for finding in optimality.findings)
    dependent = {name for name in names if result.parents[name]}
    assert not dependent & {name for own in optimality.proved for name in own}


@pytest.mark.parametrize("noise", [0.1, 1e-2, 1e-3, 3e-5])
def test_columns_that_nearly_determine_each_other(noise):
    """The solver's costs are within the rounding; where that is coarse, it is told."""
    rng = np.random.default_rng(6)
    values = rng.normal(size=(400, 6))
    values[:, 2] = values[:, 0] - values[:, 1] + noise * values[:, 2]
    values[:, 4] = values[:, 3] + noise * values[:, 4]
    result = learn(numbers_of(values), score="gaussian-bic")
    optimality = checked(result)
    assert not optimality.findings
    assert optimality.complete
    assert optimality.proved == tuple(c.variables for c in result.certificate.components)
    assert 1e-12 / noise < optimality.rounding < 1e-7 / noise


def test_a_column_that_never_varies_is_not_checked():
    """No solver takes it; a forger may."""
    result = numbers_proved()
    values = result.dataset.values.copy()
    values[:, 1] = 3.0
    with Workers(1) as workers:
        with pytest.raises(TooMuch, match="determine each other so nearly"):
            source_of(numbers_of(values), workers)
        optimality = verify_optimality(json.loads(json.dumps(result.document())), numbers_of(values), workers)
    assert optimality.unchecked == tuple(c.variables for c in result.certificate.components)
    assert optimality.why.startswith("columns of the data determine each other")
    assert not optimality.complete


@SETTINGS
@given(st.integers(0, 2**32))
def test_all_families_but_singular_ones_are_handed_over(seed):
    """With required parents and without, wide data and columns that determine each other, against least squares."""
    rng = np.random.default_rng(seed)
    numbers = collinear_numbers(rng, int(rng.integers(2, 6)))
    n, knowledge = numbers.variables, random_knowledge(rng, numbers.names) if rng.random() < 0.5 else NOTHING
    allowed = admitted(knowledge, numbers.names, None)
    costs = naive.all_gaussian_costs(numbers.values, lambda x, u: allowed[x, u])
    demands = demands_of(numbers.names, None, knowledge)
    with Workers(1) as workers:
        source = families_by_regressions(numbers, Claim("gaussian-bic"), demands, workers, leads(numbers, True))
        for child in range(n):
            found = listed_by(source, child, MOST_UNITS, no_cuts(n))
            expected = {u: cost for u, cost in enumerate(costs[child].tolist()) if math.isfinite(cost)}
            assert found == pytest.approx(expected, rel=1e-6, abs=1e-5)


def test_a_singular_family_is_none_of_a_network():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(40, 3))
    values[:, 2] = values[:, 0] + values[:, 1]
    result = learn(numbers_of(values), score="gaussian-bic")
    forged = json.loads(json.dumps(result.document()))
    forged["parents"] = {"v0": [], "v1": ["v0"], "v2": ["v0", "v1"]}
    forged["order"] = ["v0", "v1", "v2"]
    assert (
        "The family of 'v2' with 'v0', 'v1' is singular: no Gaussian fits it."
        in verify(forged, result.dataset).findings
    )
    with pytest.raises(VerificationError, match="'v0' with 'v1', 'v2' is singular"):
        family_cost(result.dataset, 0, (1, 2), Claim("gaussian-bic"))


def test_a_network_that_costs_more_than_the_best_regular_one_is_found_out():
    """The families that are left out are not taken for the bound, and those that are left are all looked at."""
    rng = np.random.default_rng(5)
    numbers = collinear_numbers(rng, 5)
    result = learn(numbers, score="gaussian-bic")
    assert checked(result).complete
    forged = json.loads(json.dumps(result.document()))
    forged["parents"] = {name: [] for name in numbers.names}
    cost = math.fsum(naive.gaussian_cost(numbers.values, x, []) for x in range(5))
    forged |= {"cost": cost, "upper_bound": cost, "lower_bound": cost}
    with Workers(1) as workers:
        assert verify_optimality(forged, numbers, workers).findings


@pytest.mark.parametrize("seed", range(3))
def test_large_offsets_and_units(seed):
    rng = np.random.default_rng(seed)
    numbers = chained_numbers(rng, 8, 200)
    values = np.round(numbers.values * 1024) / 1024 + 2.0**30
    values *= 10.0 ** rng.choice([-100, -8, 0, 8, 100], 8)
    result = learn(numbers_of(values), score="gaussian-bic")
    optimality = checked(result)
    assert not optimality.findings
    assert optimality.complete
    assert optimality.rounding < 1e-6


def test_time_that_is_over():
    result = numbers_proved()
    optimality = checked(result, stop=lambda: TIME_LIMIT)
    assert not optimality.findings
    assert not optimality.complete
    assert optimality.why == TIME_LIMIT
    assert optimality.unchecked == tuple(c.variables for c in result.certificate.components)


def test_a_search_is_cut_short():
    """What 89 columns of noise could tell together keeps far more sets in question than there is time for."""
    numbers = numbers_of(np.random.default_rng(0).normal(size=(120, 90)))
    asked = iter([None] * 8)
    with Workers(1, lambda: next(asked, TIME_LIMIT)) as workers:
        source = source_of(numbers, workers)
        with pytest.raises(Stopped, match=TIME_LIMIT):
            below(source, 0, MOST_UNITS, no_cuts(90))


def test_too_many_families(sizes):
    sizes({"families.MOST_FAMILIES": 0})
    optimality = checked(numbers_proved())
    assert not optimality.findings
    assert not optimality.complete
    assert optimality.unchecked
    assert optimality.why.startswith("more than 0 parent sets of ")


def test_room_for_few_families(sizes):
    """A search that hands its families over often goes on where it was."""
    numbers = random_numbers(np.random.default_rng(1), 7, 60)
    with Workers(1) as workers:
        source = source_of(numbers, workers)
        whole = [below(source, x, MOST_UNITS, no_cuts(7)) for x in range(7)]
        sizes({"regression_families.ROOM": 1})
        parts = [below(source, x, MOST_UNITS, no_cuts(7)) for x in range(7)]
    assert sum(costs.size for _, costs in whole) > 20
    for one, other in zip(whole, parts, strict=True):
        assert (one[0] == other[0]).all()
        assert (one[1] == other[1]).all()


def test_more_than_a_word_of_variables():
    """A chain beside columns that are not correlated at all, in the first and the second word."""
    values = np.random.default_rng(8).normal(size=(150, 70))
    values = 12.0 * np.linalg.qr(values - values.mean(axis=0))[0]
    values[:, 69] += values[:, 3]
    values[:, 66] += values[:, 69]
    result = learn(numbers_of(values), score="gaussian-bic", max_parents=1)
    assert checked(result).complete
    document = json.loads(json.dumps(result.document()))
    component = next(c for c in document["certificate"]["components"] if "v69" in c["variables"])
    assert len(component["variables"]) > 1
    component["least"]["v69"] += floor_units(0.1)
    assert checked(result, document).findings
    with Workers(1) as workers:
        source = source_of(result.dataset, workers, 2)
        varsets, costs = below(source, 66, MOST_UNITS, no_cuts(70))
    for varset, cost in zip(varsets, costs.tolist(), strict=True):
        assert cost == pytest.approx(naive.gaussian_cost(values, 66, unpack(varset)), abs=NEAR)


def test_one_variable():
    result = learn(numbers_of([[1.0], [2.0], [5.0], [1.5]]), score="gaussian-bic")
    assert checked(result).complete
    (component,) = result.certificate.components
    overstated = replace(component, least={"v0": component.least["v0"] + ceil_units(1.0)})
    assert checked(replace(result, certificate=Certificate((overstated,)))).findings


def test_costs_below_zero():
    """Densities of numbers in small units: the whole certificate is of costs below zero."""
    values = numbers_proved().dataset.values * 1e-6
    result = learn(numbers_of(values), score="gaussian-bic")
    assert result.cost < -1000
    assert not checked(result).findings
