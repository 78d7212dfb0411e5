"""What is charged beside the score: another penalty, gamma, a cost for each arc, costs of some arcs, negative ones too.

Networks are compared with a dynamic program, or all DAGs, over naive costs of all families.
"""

import math
from dataclasses import replace

import naive
import numpy as np
import pytest
from asking import approximate_network, estimate, k_best_networks, order_network, solve
from cases import random_dataset, random_mixed, random_numbers
from certified import below, no_cuts
from charging import naive_costs, random_claim
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from test_k_best import all_costs

import extbnsl
from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.core.knowledge import Knowledge
from extbnsl.data import Mixed, Numbers
from extbnsl.kbest.scope import Scope
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Workers
from extbnsl.networks.arcs import costs_from
from extbnsl.networks.families import figures_from
from extbnsl.scores.known import score_claimed
from extbnsl.solver.methods import ApproximateMethods
from extbnsl.verify.demands import demands_of
from extbnsl.verify.recount import family_source
from extbnsl.verify.statement import verify_optimality
from extbnsl.verify.verdict import verify

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
ONE, SHORT = Budgets(threads=1), Budgets(threads=1, time_limit=0.3)
SCORES = ("mdl", "aic", "bdeu", "bds", "k2", "fnml", "qnml", "gaussian-bic", "cg-bic", "dg-bic")


def problem_of(rng, score, n=None):
    n = n or int(rng.integers(2, 7))
    records = int(rng.integers(20, 120))
    if score == "gaussian-bic":
        return random_numbers(rng, n, records)
    if score in ("cg-bic", "dg-bic"):
        return random_mixed(rng, min(n, 5), records)
    return random_dataset(rng, n, records)


def dull_of(problem):
    """The names of the variables of which data tell nothing."""
    if isinstance(problem, Numbers):
        return ()
    own = zip(problem.names, problem.states, problem.codes.T, strict=True)
    return [name for name, states, codes in own if states and len(set(codes.tolist())) == 1]


def least_of(costs):
    return naive.optimal_cost_dp(len(costs), naive.best_scores(costs))


def drawn(seed, score, **how):
    rng = np.random.default_rng(seed)
    problem = problem_of(rng, score)
    claim = random_claim(rng, problem.names, score, dull_of(problem), **how)
    if isinstance(problem, Mixed):  # of which some that must be could not
        knowledge = Knowledge(**vars(claim.knowledge) | {"required": ()})
        claim = replace(claim, knowledge=score_claimed(claim).implied(knowledge, problem))
    return rng, problem, claim, naive_costs(problem, claim)


@pytest.mark.parametrize("score", SCORES)
@SETTINGS
@given(st.integers(0, 2**32), st.sampled_from([None, None, 2]))
def test_the_optimum_and_its_certificate(score, seed, most):
    _, problem, claim, costs = drawn(seed, score, most=most)
    result = solve(problem, claim, budgets=ONE)
    assert result.status == "optimal"
    assert result.cost == pytest.approx(least_of(costs), rel=1e-9, abs=1e-7)
    varsets = [sum(1 << p for p in own) for own in result.network.parents]
    assert result.cost == pytest.approx(sum(costs[x, own] for x, own in enumerate(varsets)), rel=1e-9, abs=1e-7)
    document = result.document()
    assert verify(document, problem).findings == ()
    with Workers(1) as workers:
        checked = verify_optimality(document, problem, workers)
    assert checked is not None
    assert not checked.findings
    assert not checked.unchecked


@pytest.mark.parametrize("score", ["mdl", "bdeu", "gaussian-bic", "cg-bic"])
@SETTINGS
@given(st.integers(0, 2**32))
def test_what_is_said_of_families(score, seed):
    """All that tell what a family costs say the same: networks, their reasons, the check."""
    rng, problem, claim, costs = drawn(seed, score)
    own, figures, n = costs_from(problem, claim), figures_from(problem, claim), len(problem.names)
    demands = demands_of(problem.names, claim.max_parents, claim.knowledge)
    for child in range(n):
        for varset in rng.integers(0, 2**n, 8).tolist():
            if np.isfinite(costs[child, varset]):
                parents = naive.members(varset)
                assert own(child, tuple(parents)) == pytest.approx(costs[child, varset], rel=1e-9, abs=1e-7)
                assert figures(child, tuple(parents)).cost == pytest.approx(costs[child, varset], rel=1e-9, abs=1e-7)
    with Workers(1) as workers:
        source = family_source(problem, claim, demands, workers)
        for child in range(n):
            varsets, found = below(source, child, 1 << 52, no_cuts(n))
            told = {int(row[0]): cost for row, cost in zip(varsets, found.tolist(), strict=True)}
            for varset, cost in told.items():
                assert cost == pytest.approx(costs[child, varset], rel=1e-9, abs=1e-6)
            for varset in np.flatnonzero(np.isfinite(costs[child])).tolist():  # a subset is as good, or it is there
                subsets = (u for u in told if u & varset == u)
                assert min(told[u] for u in subsets) <= costs[child, varset] + source.margin(child)


@pytest.mark.parametrize("score", ["mdl", "k2", "gaussian-bic"])
@settings(SETTINGS, max_examples=12)
@given(st.integers(0, 2**32))
def test_all_networks_within_a_factor(score, seed):
    rng = np.random.default_rng(seed)
    problem = problem_of(rng, score, int(rng.integers(2, 5)))
    claim = random_claim(rng, problem.names, score, dull_of(problem))
    expected = all_costs(naive_costs(problem, claim))
    k = int(rng.choice([1, 4, 40]))
    result = k_best_networks(problem, Scope(k), claim, budgets=ONE)
    assert [one.cost for one in result.networks] == pytest.approx(expected[:k].tolist(), rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("score", ["mdl", "bdeu", "gaussian-bic", "cg-bic"])
@settings(SETTINGS, max_examples=10)
@given(st.integers(0, 2**32))
def test_under_an_order(score, seed):
    rng, problem, claim, costs = drawn(seed, score)
    claim = Claim(**vars(claim) | {"knowledge": Knowledge(costs=claim.knowledge.costs)})
    costs = naive_costs(problem, claim)
    order, before, least = rng.permutation(len(costs)).tolist(), 0, 0.0
    for child in order:
        least += min(costs[child, u] for u in range(2 ** len(costs)) if u & ~before == 0)
        before |= 1 << child
    result = order_network(problem, order, claim, budgets=ONE)
    assert result.cost == pytest.approx(least, rel=1e-9, abs=1e-7)


@pytest.mark.parametrize("score", SCORES)
@settings(SETTINGS, max_examples=8)
@example(1520152128)  # an arc that must be saves
@given(st.integers(0, 2**32))
def test_an_approximation_costs_what_it_says_and_its_bound_holds(score, seed):
    _, problem, claim, costs = drawn(seed, score)
    least = least_of(costs)
    for selection in ("auto", "independence"):
        result = approximate_network(problem, claim, ApproximateMethods(selection=selection), SHORT)
        varsets = [sum(1 << p for p in own) for own in result.network.parents]
        assert result.cost == pytest.approx(sum(costs[x, own] for x, own in enumerate(varsets)), rel=1e-9, abs=1e-7)
        assert result.lower_bound <= least + 1e-6


@settings(SETTINGS, max_examples=10)
@example(782216, 3)  # the best single parent saves, and does not pay by itself
@given(st.integers(0, 2**32), st.integers(0, 40))
def test_a_stop_leaves_a_bound_that_holds(seed, k):
    _, problem, claim, costs = drawn(seed, ("mdl", "bdeu", "gaussian-bic")[seed % 3])
    left = [k]

    def after():
        left[0] -= 1
        return "interrupted" if left[0] < 0 else None

    result = solve(problem, claim, budgets=ONE, stop=after)
    least = least_of(costs)
    assert result.lower_bound - 1e-6 <= least <= result.cost + 1e-6


def test_local_scores_are_charged_too():
    rng, names = np.random.default_rng(3), ("a", "b", "c", "d")
    for _ in range(20):
        costs = {
            x: {
                tuple(names[p] for p in naive.members(u)): float(rng.normal(0, 5))
                for u in range(16)
                if not u >> i & 1 and (u == 0 or rng.random() < 0.6)
            }
            for i, x in enumerate(names)
        }
        arcs = {("a", "b"): -4.0, ("c", "d"): 3.0, ("d", "*"): 0.25}
        own = {
            x: {
                u: cost + sum(0.5 + arcs.get((p, x), 0.25 if p == "d" else 0.0) for p in u) for u, cost in table.items()
            }
            for x, table in costs.items()
        }
        charged = extbnsl.learn(costs, parent_cost=0.5, knowledge={"costs": arcs}, threads=1)
        assert charged.cost == pytest.approx(extbnsl.learn(own, threads=1).cost, abs=1e-9)


def test_wide_numbers_pay_for_each_arc():
    """What every arc costs is part of the price of a parent."""
    rng = np.random.default_rng(8)
    values = rng.normal(size=(300, 22))
    for v in range(1, 22):
        values[:, v] += 0.6 * values[:, rng.integers(v)]
    numbers = Numbers(tuple(f"v{v}" for v in range(22)), values, "mine.csv")
    by_penalty = solve(numbers, Claim("gaussian-bic", penalty=8.0), budgets=ONE)
    half = math.log(300) / 2
    charged = solve(numbers, Claim("gaussian-bic", parent_cost=8.0 - half), budgets=ONE)
    assert charged.cost == pytest.approx(by_penalty.cost - 2 * 22 * (8.0 - half), rel=1e-9)
    gamma = (8.0 - half) / (2 * math.log(22))
    assert solve(numbers, Claim("gaussian-bic", gamma=gamma), budgets=ONE).cost == pytest.approx(charged.cost, rel=1e-9)
    assert estimate(numbers, Claim("gaussian-bic", gamma=gamma), budgets=ONE, effort=1.0)


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        (Claim(penalty=0.0), "penalty: 0.0 is no penalty"),
        (Claim(penalty=math.nan), "penalty: nan is no penalty"),
        (Claim(penalty=math.inf), "penalty: inf is no penalty"),
        (Claim(gamma=-0.5), "gamma: -0.5 is no gamma"),
        (Claim("bdeu", penalty=1.0), "penalty: the score 'bdeu' has no penalty of parameters"),
        (Claim("k2", gamma=0.5), "gamma: the score 'k2' has no penalty of parameters"),
        (Claim(parent_cost=-1.0), "parent_cost: -1.0 is no number"),
        (Claim(knowledge=Knowledge(costs=(("x", "y", math.inf),))), "costs of the arc from 'x' to 'y': inf"),
        (Claim(knowledge=Knowledge(costs=(("x", "x", 1.0),))), "costs: no arc joins 'x' to itself"),
        (Claim(knowledge=Knowledge(costs=(("x", "z", 1.0),))), "costs: there is no variable 'z'"),
        (Claim(knowledge=Knowledge(costs=(("x", "y", 1.0), ("x", "y", 2.0)))), "has 1 and 2 nats"),
        (Claim(knowledge=Knowledge(costs=(("x", "still", -1.0),))), "'still' is the same in every record"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(claim, text):
    with pytest.raises(InputError) as error:
        extbnsl.learn(
            {"x": [0, 1, 1, 0, 1], "y": [1, 0, 1, 0, 1], "still": [1, 1, 1, 1, 1]},
            **{name: own for name, own in vars(claim).items() if own is not None},
        )
    assert text in str(error.value)


def test_local_scores_have_no_penalty():
    with pytest.raises(InputError, match=r"penalty: 2\.0 is for data"):
        extbnsl.learn({"x": {(): 1.0}}, penalty=2.0)


def test_the_same_arc_may_cost_less_than_nothing_and_still_not_be():
    """What it saves is less than what it costs by the score."""
    data = {"x": [0, 1] * 20, "y": [0, 0, 1, 1] * 10}
    assert extbnsl.learn(data, knowledge={"costs": {("x", "y"): -1.0}}).network.arcs() == ()
    assert extbnsl.learn(data, knowledge={"costs": {("x", "y"): -2.0}}).network.arcs() == ((0, 1),)
