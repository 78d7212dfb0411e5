"""Posteriors against sums over all networks, one by one: every score and kind of data, both priors."""

import math

import naive
import numpy as np
import pytest
from asking import posterior_over_all
from cases import (
    EVERY_SCORE,
    claim_by,
    dataset_of,
    random_dataset,
    random_families,
    random_mixed,
    random_numbers,
    scores_of,
)
from cases_of_records import with_gaps, with_targets
from knowing import admitted, random_knowledge
from summing import summed, table_of

from extbnsl.core.claims import NOT_PROVED, OPTIMAL, TIME_LIMIT, Claim
from extbnsl.core.errors import InputError
from extbnsl.core.knowledge import Knowledge
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Workers, never
from extbnsl.posteriors.scope import PRIORS, PosteriorScope
from extbnsl.verify.document import read_claims
from extbnsl.verify.posterior import check_posterior
from extbnsl.verify.verdict import verify

ONE = Budgets(threads=1, memory=1 << 30)
NEAR = 1e-9


def check(result, scores, prior, near=NEAR):
    """Against all networks: their weight, every arc and pair, every family, the best network; and by the checker."""
    found = result.posterior
    total, families, networks = summed(scores, prior)
    low, high = found.log_weight
    room = near * max(1.0, abs(total))
    assert low - room <= total <= high + room
    arcs = np.zeros((scores.variables, scores.variables))
    for dag, share in networks.items():
        for x, own in enumerate(dag):
            arcs[naive.members(own), x] += share
    names = found.names
    for p, x in np.ndindex(*arcs.shape):
        if p != x:
            for chance, true in (
                (found.arc(names[p], names[x]), arcs[p, x]),
                (found.adjacency(names[p], names[x]), arcs[p, x] + arcs[x, p]),
            ):
                assert chance.at_least - near <= true <= chance.at_most + near
                assert abs(chance.probability - true) <= found.exactness.width + near
    for x, own in enumerate(scores.parents):
        known = dict(zip(found.sums.parents[x][:, 0].tolist(), found.sums.probabilities[x].tolist(), strict=True))
        for varset, true in zip(own[:, 0].tolist(), families[x], strict=True):
            assert abs(known.get(varset, 0.0) - true) <= found.exactness.width + near
    best = networks[tuple(sum(1 << p for p in own) for own in result.network.parents)]
    assert found.best.at_least - near <= best <= found.best.at_most + near
    return found


def holds(result, problem):
    """Whether the checker finds nothing wrong, and checks the probabilities."""
    document = result.document()
    assert verify(document, problem).findings == ()
    with Workers(1) as workers:
        checked = check_posterior(document, read_claims(document), problem, workers)
    assert checked.findings == ()
    assert checked.checked


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("score", EVERY_SCORE)
@pytest.mark.parametrize(("n", "most"), [(1, None), (3, 1), (4, 2), (4, None), (5, None)])
def test_every_score_of_states(score, prior, n, most):
    rng = np.random.default_rng(n)
    dataset = random_dataset(rng, n, int(rng.integers(1, 80)), 3)
    table = naive.all_local_scores(dataset.codes, dataset.arities, most, score)
    for within in (0.0, 1e-3):
        result = posterior_over_all(dataset, PosteriorScope(prior, within), claim_by(score, most), budgets=ONE)
        assert result.status == OPTIMAL
        check(result, table_of(table), prior)
        holds(result, dataset)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(("seed", "n"), [(0, 4), (1, 4), (2, 5)])
def test_columns_of_numbers_and_of_both_kinds(prior, seed, n):
    rng = np.random.default_rng(seed)
    numbers, mixed = random_numbers(rng, n, 40), random_mixed(rng, n, 60)
    for problem, score, table in (
        (numbers, "gaussian-bic", naive.all_gaussian_costs(numbers.values)),
        (mixed, "cg-bic", naive.all_conditional_costs(mixed)),
        (mixed, "dg-bic", naive.all_degenerate_costs(mixed)),
    ):
        result = posterior_over_all(problem, PosteriorScope(prior, 0.0), Claim(score), budgets=ONE)
        check(result, table_of(table), prior)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("make", [with_gaps, with_targets])
def test_records_of_a_family_s_own(prior, make):
    """Node averages and interventions: the checker scores each family again."""
    for seed in range(3):
        problem = make(seed, 4, 50)
        holds(posterior_over_all(problem, PosteriorScope(prior), budgets=ONE), problem)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("seed", range(6))
def test_knowledge_is_a_prior(prior, seed):
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, 4, 40, 3)
    knowledge = random_knowledge(rng, dataset.names, 2)
    table = naive.all_local_scores(dataset.codes, dataset.arities, 2)
    table[~admitted(knowledge, dataset.names, 2)] = np.inf
    claim = Claim(max_parents=2, knowledge=knowledge)
    check(posterior_over_all(dataset, PosteriorScope(prior), claim, budgets=ONE), table_of(table), prior)


def test_costs_of_arcs_are_odds():
    """An arc that costs ln 3 more is three times less likely, where the data tell nothing."""
    dataset = dataset_of(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]))
    claim = Claim("aic", knowledge=Knowledge(costs=(("v0", "v1", math.log(3.0)),)))
    found = posterior_over_all(dataset, PosteriorScope(within=0.0), claim, budgets=ONE).posterior
    one, other = found.arc("v0", "v1").probability, found.arc("v1", "v0").probability
    assert other / one == pytest.approx(3.0)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("scale", [0.01, 1.0, 1000.0, 1e5])
def test_local_scores_of_any_range(prior, scale):
    """Ties, score files with gaps, and costs that no double holds the weights of."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 5))
        families = [[(v, scale * cost) for v, cost in own] for own in random_families(rng, n)]
        check(posterior_over_all(scores_of(families), PosteriorScope(prior), budgets=ONE), scores_of(families), prior)


@pytest.mark.parametrize("prior", PRIORS)
def test_columns_that_never_vary(prior):
    """Their arcs cost nothing, so they are as likely as not; nobody leaves them out."""
    codes = np.array([[0, 0, 0, 1], [0, 1, 0, 1], [0, 1, 0, 0]])
    for arities in ([1, 2, 1, 2], [2, 2, 1, 2]):
        dataset = dataset_of(codes, arities)
        table = naive.all_local_scores(codes, arities)
        result = posterior_over_all(dataset, PosteriorScope(prior, 0.0), budgets=ONE)
        found = check(result, table_of(table), prior)
        assert found.arc("v1", "v0").probability > 0.0


@pytest.mark.parametrize("prior", PRIORS)
def test_no_parents_at_all(prior):
    dataset = random_dataset(np.random.default_rng(0), 4, 20)
    found = posterior_over_all(dataset, PosteriorScope(prior), Claim(max_parents=0), budgets=ONE).posterior
    assert not found.arcs.any()
    assert found.best.probability == pytest.approx(1.0)


@pytest.mark.parametrize("prior", PRIORS)
def test_features_of_networks_that_are_drawn(prior):
    dataset = random_dataset(np.random.default_rng(5), 4, 40)
    features = '{"path": {"paths": [["v0", "v3"]]}, "none": {"no_adjacent": [["v0", "v3"]]}}'
    scope = PosteriorScope(prior, 0.0, 4000, features)
    found = posterior_over_all(dataset, scope, budgets=ONE).posterior
    table = naive.all_local_scores(dataset.codes, dataset.arities)
    _, _, networks = summed(table_of(table), prior)
    true = math.fsum(share for dag, share in networks.items() if not (dag[0] >> 3 | dag[3]) & 1)
    for one, expected in zip(found.features[1:], [true], strict=True):
        assert abs(one.share - expected) <= 5.0 * one.standard_error
    cost = {dag: sum(table[x, own] for x, own in enumerate(dag)) for dag in networks}
    for row, own in zip(found.networks.rows[:50], found.networks.cost[:50].tolist(), strict=True):
        dag = tuple(int(found.sums.parents[x][at, 0]) for x, at in enumerate(row))
        assert own == pytest.approx(cost[dag])


def test_fewer_samples_are_the_first_of_more():
    dataset = random_dataset(np.random.default_rng(5), 4, 40)
    some, more = (
        posterior_over_all(dataset, PosteriorScope(sample=s), budgets=ONE).posterior.networks for s in (7, 30)
    )
    assert (some.rows == more.rows[:7]).all()


def test_wider_intervals_than_asked_for_are_no_success(monkeypatch):
    dataset = random_dataset(np.random.default_rng(5), 4, 40)
    monkeypatch.setattr("extbnsl.solver.posterior.FAMILIES_SHARE", 100.0)
    result = posterior_over_all(dataset, PosteriorScope(within=0.01), budgets=ONE)
    assert result.status == NOT_PROVED
    assert not result.posterior.reached
    total, _, _ = summed(table_of(naive.all_local_scores(dataset.codes, dataset.arities)), "uniform")
    low, high = result.posterior.log_weight
    assert low < total < high


def test_a_stop_before_the_sums_leaves_the_network():
    dataset = random_dataset(np.random.default_rng(5), 4, 40)
    result = posterior_over_all(dataset, budgets=ONE, stop=lambda: TIME_LIMIT)
    assert (result.status, result.posterior) == (TIME_LIMIT, None)
    assert "posterior" not in result.document()


@pytest.mark.parametrize(
    ("scope", "said"),
    [
        (PosteriorScope("flat"), "prior: 'flat' is not known"),
        (PosteriorScope(within=-0.1), "within: -0.1 is no width"),
        (PosteriorScope(within=math.nan), "within: nan is no width"),
        (PosteriorScope(sample=-1), "sample: -1"),
        (PosteriorScope(features="{}"), "features: they are read off networks that are drawn"),
        (PosteriorScope(sample=9, features='{"x": {"arcs": [["v0", "z"]]}}'), "there is no such variable"),
    ],
)
def test_what_cannot_be_asked(scope, said):
    with pytest.raises(InputError, match=said):
        posterior_over_all(random_dataset(np.random.default_rng(5), 3, 40), scope, budgets=ONE)


def test_a_forged_posterior_is_found():
    """Whatever is said otherwise: the weight, a probability, an interval that is too narrow, what is reached."""
    dataset = random_dataset(np.random.default_rng(5), 4, 40)
    result = posterior_over_all(dataset, PosteriorScope(sample=3), budgets=ONE)
    own = result.document()["posterior"]

    def findings(**changes):
        document = {**result.document(), "posterior": {**own, **changes}}
        with Workers(1, never) as workers:
            return check_posterior(document, read_claims(document), dataset, workers).findings

    assert findings() == ()
    first = own["arcs"][0]
    wrong = {key: first[key] * 0.9 for key in ("probability", "at_least", "at_most")}
    low, high = own["log_weight"]
    for changes in (
        {"log_weight": [low + 1e-3, high + 1e-3]},
        {"log_weight": [low, high + 1.0]},
        {"ignored": 0.5},
        {"arcs": [{**first, **wrong}, *own["arcs"][1:]]},
        {"arcs": own["arcs"][1:]},
        {"network": {"probability": 0.5, "at_least": 0.5, "at_most": 0.5}},
        {"network": {**own["network"], "probability": 0.9}},
        {"network": {"probability": 0.9, "at_least": 0.0, "at_most": 1.0}},
        {"network": None},
        {"method": "draws"},
        {"method": "orders"},
        {"families": 100},
        {"sampled": 0, "features": [{"name": "x", "share": 0.99, "standard_error": 0.0}]},
        {"reached": False},
        {"prior": "order"},
        {"within": 0.0},
    ):
        assert findings(**changes), changes
    for wrong in ({"rounding": -1.0}, {"rounding": None}, {"families": "x"}, {"features": ["x"]}, {"features": None}):
        with pytest.raises(InputError):
            findings(**wrong)
