"""Searched components: a search of orders proves them again, as all networks, orders and the oracle have it."""

import itertools
import json
import math

import naive
import numpy as np
import pytest
from cases import EVERY_SCORE, claim_by, dataset_of, random_dataset, random_families, random_numbers, scores_of
from certified import kinds_of, leads
from flat import solve
from forging import KINDS, believed, claimed, dearer_networks, true_document
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knowing import admitted, random_knowledge

from extbnsl import learn
from extbnsl.core.claims import TIME_LIMIT
from extbnsl.core.knowledge import NOTHING
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.copies import copies_in
from extbnsl.scores.local import local_scores
from extbnsl.verify import UNITS_PER_NAT
from extbnsl.verify.certificate import CertifiedComponent, TooMuch, floor_units
from extbnsl.verify.data_families import families_of_data
from extbnsl.verify.demands import demands_of
from extbnsl.verify.families import ListedFamilies
from extbnsl.verify.recount import SEARCH, check_component
from extbnsl.verify.regression_families import families_by_regressions
from extbnsl.verify.statement import verify_optimality
from extbnsl.verify.steps import NO_CUTS, Pass, Search
from extbnsl.verify.verdict import verify

SETTINGS = settings(deadline=None, max_examples=10, suppress_health_check=list(HealthCheck))
ROUNDING = 1e-7  # nats: more than what costs of some hundred records are off
FOUND = "but an order of them has families that cost "
ANYTHING = -(1 << 50)  # units: no family costs so little


def source_of(problem, score, max_parents, knowledge, workers):
    demands = demands_of(problem.names, max_parents, knowledge)
    claim = claim_by(score, max_parents)
    if score == "gaussian-bic":
        return families_by_regressions(problem, claim, demands, workers, leads(problem))
    return families_of_data(problem, claim, demands, workers, leads(problem))


def searched_component(variables, lower_bound, guide=NO_CUTS):
    """A component that a search alone proves: nothing is said of the families by passes."""
    steps = (NO_CUTS, Search(variables, lower_bound, guide))
    return CertifiedComponent(variables, lower_bound, dict.fromkeys(variables, ANYTHING), steps)


def found(lower_bound, problem, score="mdl", max_parents=None, knowledge=NOTHING, variables=None):
    """What becomes of the claim that the families of these variables, all if None, cost so much at least."""
    component = searched_component(variables or problem.names, lower_bound)
    with Workers(2) as workers:
        source = source_of(problem, score, max_parents, knowledge, workers)
        return check_component(component, problem.names, source, workers)


def assert_least(least, found):
    """Just below the least cost a claim is proved; just above it an order is found that refutes it."""
    assert found(least - ROUNDING).complete
    recount = found(least + ROUNDING)
    assert not recount.complete
    (finding,) = recount.findings
    assert FOUND in finding
    assert float(finding.split(FOUND)[1].removesuffix(".")) == pytest.approx(least, abs=ROUNDING)


def least_of_all(costs):
    """What the cheapest of all networks costs."""
    n = len(costs)
    return min(sum(costs[x, graph[x]] for x in range(n)) for graph in naive.all_dags(n))


@pytest.mark.parametrize("score", EVERY_SCORE)
@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(2, 90), st.sampled_from([None, 0, 1, 2]), st.booleans())
def test_the_least_cost_is_that_of_all_networks(score, seed, n, records, max_parents, knowing):
    """Of few variables, with ties, constant columns and states that never occur."""
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, n, records, 3)
    knowledge = random_knowledge(rng, dataset.names, max_parents) if knowing else NOTHING
    costs = naive.all_local_scores(dataset.codes, dataset.arities, max_parents, score)
    costs[~admitted(knowledge, dataset.names, max_parents)] = math.inf
    assert_least(least_of_all(costs), lambda bound: found(bound, dataset, score, max_parents, knowledge))


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5), st.sampled_from([None, 0, 1, 2]), st.booleans())
def test_the_least_cost_of_numbers_is_that_of_all_networks(seed, n, max_parents, knowing):
    rng = np.random.default_rng(seed)
    numbers = random_numbers(rng, n, int(rng.integers(n + 2, 60)))
    knowledge = random_knowledge(rng, numbers.names, max_parents) if knowing else NOTHING
    allowed = admitted(knowledge, numbers.names, max_parents)
    least = naive.optimal_gaussian_cost(numbers.values, lambda x, u: allowed[x, u])
    assert_least(least, lambda bound: found(bound, numbers, "gaussian-bic", max_parents, knowledge))


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5), st.sampled_from([None, 0, 1, 2]), st.booleans())
def test_the_least_cost_of_local_scores_is_that_of_all_networks(seed, n, max_parents, knowing):
    """A file need not list what knowledge asks for: then nothing is found, and nothing proved."""
    rng = np.random.default_rng(seed)
    families = random_families(rng, n, 40)
    scores = scores_of(families)
    knowledge = random_knowledge(rng, scores.names, max_parents) if knowing else NOTHING
    costs = naive.cost_table(n, families)
    costs[~admitted(knowledge, scores.names, max_parents)] = math.inf
    least = least_of_all(costs)
    with Workers(1) as workers:
        source = ListedFamilies(scores, demands_of(scores.names, max_parents, knowledge))

        def claim(bound):
            return check_component(searched_component(scores.names, bound), scores.names, source, workers)

        if math.isfinite(least):
            assert_least(least, claim)
        else:
            assert not claim(0.0).findings


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("score", ["mdl", "aic", "bdeu"])
def test_the_least_cost_of_eight_variables_is_that_of_the_oracle(score, seed):
    dataset = random_dataset(np.random.default_rng(seed), 8, 150, 3)
    least = naive.optimal_cost(dataset.codes, dataset.arities, None, score)
    assert_least(least, lambda bound: found(bound, dataset, score))


@pytest.mark.parametrize("seed", range(6))
def test_parents_outside_of_a_component_are_free(seed):
    """The bound of a part of the variables is that of its best order, whatever parents come from elsewhere."""
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, 6, 200, 3)
    own = tuple(sorted(rng.choice(6, 4, replace=False).tolist()))
    best = naive.best_scores(naive.all_local_scores(dataset.codes, dataset.arities))
    outside = sum(1 << v for v in range(6) if v not in own)
    least = min(
        sum(best[x, outside | sum(1 << v for v in order[:i])] for i, x in enumerate(order))
        for order in itertools.permutations(own)
    )
    variables = tuple(dataset.names[v] for v in own)
    assert_least(least, lambda bound: found(bound, dataset, variables=variables))


def in_units(costs, max_parents=None):
    """Local scores of whole units, and what the cheapest network costs, in units."""
    families = [[(v, c / UNITS_PER_NAT) for v, c in own] for own in costs]
    return scores_of(families, max_parents), naive.optimal_cost_dp(
        len(costs), naive.best_scores(naive.cost_table(len(costs), costs))
    )


@pytest.mark.parametrize("seed", range(10))
def test_one_unit_decides(seed):
    """Costs of local scores are exact: what is claimed may be as much more as their rounding, and not a unit more."""
    rng = np.random.default_rng(seed)
    scores, least = in_units(random_families(rng, 6, 20, lambda m: rng.integers(-1 << 42, 1 << 42, m)))
    with Workers(1) as workers:
        source = ListedFamilies(scores, demands_of(scores.names, None, NOTHING))
        slack = sum(math.ceil(source.rounding(x) * UNITS_PER_NAT) for x in range(6))
        assert slack / UNITS_PER_NAT < 1e-8
        for more, holds in ((-1, True), (0, True), (1, False), (1 << 20, False)):
            bound = (least + slack + more) / UNITS_PER_NAT
            component = searched_component(scores.names, bound)
            assert check_component(component, scores.names, source, workers).complete == holds


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 6), st.integers(1, 6), st.booleans())
def test_what_guides_a_search_decides_nothing(seed, n, cuts, holds):
    """Any multipliers of any cuts: what is true is proved, and what is false is not."""
    rng = np.random.default_rng(seed)
    families = random_families(rng, n, 12)
    scores, names = scores_of(families), tuple(f"v{x}" for x in range(n))

    def cluster():
        return tuple(rng.permutation(names)[: rng.integers(1, n + 1)].tolist())

    guide = Pass(
        tuple(tuple(cluster() for _ in range(rng.choice([1, 3]))) for _ in range(cuts)),
        tuple(floor_units(m) for m in rng.uniform(0.1, 8.0, cuts).tolist()),
    )
    least = naive.optimal_cost_dp(n, naive.best_scores(naive.cost_table(n, families)))
    component = searched_component(scores.names, least if holds else least + 1e-6, guide)
    with Workers(1) as workers:
        source = ListedFamilies(scores, demands_of(scores.names, None, NOTHING))
        assert check_component(component, scores.names, source, workers).complete == holds


@pytest.mark.parametrize("columns", [[0], [0, 0, 0]])
def test_constant_columns(columns):
    """Of one variable, and of three: nobody has parents."""
    dataset = dataset_of(np.zeros((20, len(columns))), [2] * len(columns))
    assert_least(len(columns) * math.log(20) / 2, lambda bound: found(bound, dataset))


def repeated(result, stop=lambda: None):
    """The check of a result with a component that a search proved."""
    document = json.loads(json.dumps(result.document()))
    assert not verify(document, result.dataset or result.local_scores).findings
    with Workers(1, stop) as workers:
        return verify_optimality(document, result.dataset or result.local_scores, workers)


@pytest.mark.parametrize("score", EVERY_SCORE)
@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 7), st.sampled_from([None, None, 1, 2]), st.booleans())
def test_what_a_solve_searches_holds(score, seed, n, max_parents, knowing):
    """True results are never refused: without clusters a search proves nearly all."""
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, n, 80, 3)
    knowledge = random_knowledge(rng, dataset.names, max_parents) if knowing else NOTHING
    claim = claim_by(score, max_parents, knowledge)
    options = {"score": claim.score, "ess": claim.ess, "max_parents": max_parents, "knowledge": knowledge}
    result = solve(dataset, threads=1, lower_bound="pattern", **options)
    document = json.loads(json.dumps(result.document()))
    with Workers(1) as workers:
        optimality = verify_optimality(document, dataset, workers)
    assert optimality.complete, optimality
    if copies_in(dataset, claim):  # without families of later ones a check may need no search
        assert optimality.by <= kinds_of(result)
    else:
        assert optimality.by == kinds_of(result)


def as_searched(document):
    """Say that a search proved all components."""
    for component in document["certificate"]["components"]:
        variables, bound = component["variables"], component["lower_bound"]
        component |= searched_document(variables, bound)
    return document


def searched_document(variables, bound):
    """What a certificate says of a component that a search alone proves."""
    cuts = {"cuts": [], "multipliers": []}
    steps = [cuts, {"variables": variables, "lower_bound": bound, **cuts}]
    least = dict.fromkeys(variables, ANYTHING)
    return {"variables": variables, "lower_bound": bound, "steps": steps, "least": least}


@pytest.mark.parametrize("kind", KINDS)
def test_true_documents_are_believed_of_a_search(kind):
    case = KINDS[kind]()
    optimality = believed(as_searched(true_document(case)), case.problem)
    assert optimality.complete
    assert SEARCH in optimality.by


@pytest.mark.parametrize("kind", KINDS)
def test_no_dearer_network_is_believed_of_a_search(kind):
    case = KINDS[kind]()
    tried = 0
    for parents in dearer_networks(case):
        document = as_searched(claimed(case, parents))
        assert believed(document, case.problem) is None
        assert not verify(document, case.problem).findings
        with Workers(1) as workers:
            optimality = verify_optimality(document, case.problem, workers)
        assert optimality.findings
        assert all(FOUND in finding for finding in optimality.findings)
        tried += 1
    assert tried


@pytest.mark.parametrize("kind", KINDS)
def test_no_component_is_believed_that_is_taken_apart(kind):
    """Of a variable alone no more is true than what its cheapest family costs."""
    case = KINDS[kind]()
    for parents in dearer_networks(case):
        document = claimed(case, parents)
        parts = []
        for component in document["certificate"]["components"]:
            bound = component["lower_bound"] / len(component["variables"])
            parts += [searched_document([name], bound) for name in component["variables"]]
        document["certificate"]["components"] = parts
        assert believed(document, case.problem) is None


@pytest.fixture
def searched():
    """A result that a search proved, in one component of several variables."""
    for seed in range(100):
        result = solve(random_dataset(np.random.default_rng(seed), 6, 200), threads=1, lower_bound="pattern")
        if len(result.certificate.components) == 1 and SEARCH in kinds_of(result):
            return result
    raise AssertionError("no such data")


def test_a_result_that_a_search_proved_holds(searched):
    optimality = repeated(searched)
    assert optimality.complete
    assert SEARCH in optimality.by


@pytest.mark.parametrize(
    ("failure", "why"), [(TooMuch("it is too large"), "it is too large"), (Stopped(TIME_LIMIT), TIME_LIMIT)]
)
def test_a_search_that_is_given_up_proves_nothing(searched, running_out, failure, why):
    """Too large, or out of time when all is counted."""
    running_out("verify.recount", "least_cost", failure)
    optimality = repeated(searched)
    assert not optimality.findings
    assert not optimality.complete
    assert optimality.proved == ()
    assert optimality.unchecked == (searched.certificate.components[0].variables,)
    assert optimality.why == why


def test_a_search_of_more_variables_than_a_word_has_is_not_repeated():
    """No solver makes one; a forger may."""
    alone = (np.zeros((1, 2), np.uint64), np.array([1.0]))
    scores = local_scores([f"v{x}" for x in range(65)], [alone] * 65, "file")
    with Workers(1) as workers:
        source = ListedFamilies(scores, demands_of(scores.names, None, NOTHING))
        recount = check_component(searched_component(scores.names, 66.0), scores.names, source, workers)
    assert not recount.complete
    assert recount.findings == ()
    assert recount.why == "a search of 65 variables is too large"


def test_time_that_is_over_at_once(searched):
    optimality = repeated(searched, stop=lambda: TIME_LIMIT)
    assert not optimality.findings
    assert not optimality.complete
    assert optimality.why == TIME_LIMIT


def test_time_that_is_over_when_all_are_counted(searched):
    """The search is given up too."""
    seen = []
    component = searched.certificate.components[0]
    dataset = searched.dataset

    def hear(event):
        seen.append(event.done)

    with Workers(1, lambda: TIME_LIMIT if seen[-1:] == [len(component.variables)] else None) as workers:
        source = source_of(dataset, "mdl", None, NOTHING, workers)
        recount = check_component(
            component,
            dataset.names,
            source,
            workers,
            hear,
        )
    assert not recount.complete
    assert (recount.findings, recount.why) == ((), TIME_LIMIT)
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (0, len(component.variables))


def test_figures_beyond_all_are_not_checked():
    scores = scores_of([[(0, 2.0**24)], [(0, 2.0**24)]])
    with Workers(1) as workers:
        source = ListedFamilies(scores, demands_of(scores.names, None, NOTHING))
        recount = check_component(searched_component(scores.names, 2.0**27), scores.names, source, workers)
    assert not recount.complete
    assert "figures beyond" in recount.why


def test_numbers_that_a_search_proved():
    for seed in range(20):
        numbers = random_numbers(np.random.default_rng(seed), 5, 60)
        result = learn(numbers, score="gaussian-bic", lower_bound="pattern", threads=1)
        if SEARCH in kinds_of(result):
            document = json.loads(json.dumps(result.document()))
            with Workers(1) as workers:
                optimality = verify_optimality(document, numbers, workers)
            assert optimality.complete
            assert SEARCH in optimality.by
            return
    raise AssertionError("no search")
