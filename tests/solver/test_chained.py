"""What every network costs at least while not all families are known: never above the optimum, whatever is known."""

import itertools
import math

import naive
import numpy as np
import pytest
from asking import approximate_network, solve
from cases import dataset_of, random_dataset
from portions import first

from extbnsl.core.claims import Claim
from extbnsl.core.events import IncumbentFound
from extbnsl.core.knowledge import Knowledge
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.source import source_of
from extbnsl.parents.explored import explore
from extbnsl.parents.explored.explore import SELECTIONS, Effort, exploration, explored_families
from extbnsl.solver import chained, gathered
from extbnsl.solver.chained import choices_of, joint_misfit, shared_bound
from extbnsl.solver.methods import ApproximateMethods

ROOM = 1 << 28
SCORES = ("mdl", "bdeu", "qnml", "aic", "bds", "k2", "fnml")
EFFORTS = (
    Effort(sets=0),
    Effort(sets=2, families=2),
    Effort(sets=7),
    Effort(sets=25, families=4),
    Effort(families=1, whole=3),
    Effort(),
)


def copied(rng, n, records):
    """Data with ties: copies and constants beside random columns."""
    codes = rng.integers(0, 3, (records, n))
    codes[:, 1] = codes[:, 0]
    codes[:, 2] = 0
    return dataset_of(codes, codes.max(axis=0) + 1 + (rng.random(n) < 0.2))


def explored(dataset, effort, claim, small=0.5, selection="independence"):
    """What an exploration knows of each child, what its families cost at least, and the exploration."""
    problem = exploration(dataset, selection, claim, small)
    with Workers(1) as workers:
        return (
            explored_families(problem, effort, workers, ROOM),
            source_of(dataset, claim).least_costs(workers),
            problem,
        )


def bound_of(dataset, effort, claim, seconds=1.0):
    children, floors, problem = explored(dataset, effort, claim)
    choices = [choices_of(own, floor, floor, problem) for own, floor in zip(children, floors, strict=True)]
    return shared_bound(choices, joint_misfit(dataset), ROOM, 0, seconds)


@pytest.mark.parametrize("seed", range(4))
def test_no_network_has_less_misfit_than_all_variables_together(seed):
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, 4, int(rng.integers(5, 200)))
    misfits = naive.joint_misfits(dataset.codes)
    least = min(
        sum(misfits[graph[x] | 1 << x] - misfits[graph[x]] for x in range(len(graph))) for graph in naive.all_dags(4)
    )
    assert joint_misfit(dataset) == pytest.approx(least, rel=1e-8, abs=1e-6)
    assert joint_misfit(dataset) <= least + 1e-12


def test_one_record_and_constant_columns_have_no_misfit():
    assert joint_misfit(dataset_of([[0, 1, 0]])) == 0.0
    assert joint_misfit(dataset_of(np.zeros((20, 3)))) == 0.0


@pytest.mark.parametrize("effort", EFFORTS, ids=range(len(EFFORTS)))
@pytest.mark.parametrize("score", first(3, [*SCORES]))
def test_the_bound_is_never_above_the_optimum(score, effort):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        make = copied if seed == 3 else random_dataset
        dataset, limit = make(rng, 5, 60), [None, 3, 1, None][seed]
        best = naive.optimal_cost_brute(dataset.codes, dataset.arities, limit, score)
        for seconds in (0.0, 1.0):
            assert bound_of(dataset, effort, Claim(score, limit), seconds) <= best + 1e-9


@pytest.mark.parametrize("score", ["mdl", "bdeu"])
def test_what_must_be_and_what_must_not_be_are_in_the_bound(score):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        dataset = random_dataset(rng, 7, 80, 3)
        ahead = [*itertools.combinations(rng.permutation(dataset.names).tolist(), 2)]
        required = tuple(arc for arc in ahead if rng.random() < 0.15)
        forbidden = tuple(arc for arc in ahead if arc not in required and rng.random() < 0.3)
        claim = Claim(score, 4, knowledge=Knowledge(required=required, forbidden=forbidden))
        best = solve(dataset, claim, budgets=Budgets(threads=1)).cost
        for effort in EFFORTS:
            assert joint_misfit(dataset) <= bound_of(dataset, effort, claim) <= best + 1e-9


@pytest.mark.parametrize("largest", [explore.MOST_PARENTS, 2])
@pytest.mark.parametrize("selection", first(1, [*SELECTIONS]))
@pytest.mark.parametrize("effort", EFFORTS, ids=range(len(EFFORTS)))
def test_families_that_are_not_known_cost_as_much_as_is_said(effort, selection, largest, monkeypatch):
    monkeypatch.setattr(explore, "MOST_PARENTS", largest)
    for seed, small in itertools.product(range(3), (0.0, 0.5)):
        dataset = (copied if seed == 2 else random_dataset)(np.random.default_rng(seed), 7, 90)
        children, floors, problem = explored(dataset, effort, Claim(), small, selection)
        costs = naive.all_local_scores(dataset.codes, dataset.arities)
        subsets = naive.best_scores(costs)
        for own in children:
            x, listed = own.child, [own.families.members(i) for i in range(own.families.families)]
            choices = choices_of(own, floors[x], floors[x], problem)
            pairs = list(zip(choices.costs.tolist(), choices.penalties.tolist(), strict=True))
            known, others = dict(zip(listed, pairs, strict=False)), pairs[len(listed) :]
            for varset in (v for v in range(1 << 7) if not v >> x & 1):
                parents, cost = tuple(naive.members(varset)), costs[x, varset]
                configurations = math.prod(int(dataset.arities[v]) for v in parents)
                penalty = problem.parameter * (int(dataset.arities[x]) - 1) * configurations
                if parents in known:
                    assert known[parents] == pytest.approx((cost, penalty))
                elif all(subsets[x, varset ^ 1 << v] > cost + 1e-9 for v in parents):
                    assert any(c <= cost + 1e-9 and p <= penalty + 1e-9 for c, p in others)


def test_more_is_known_the_longer_the_exploration_is():
    dataset = random_dataset(np.random.default_rng(5), 12, 400, 3)
    bounds = [bound_of(dataset, Effort(sets=sets), Claim()) for sets in (0, 60, 300, 1 << 14)]
    best = naive.optimal_cost(dataset.codes, dataset.arities)
    assert joint_misfit(dataset) < bounds[0] < bounds[1] <= bounds[2] <= bounds[3] <= best + 1e-9
    assert bounds[3] == pytest.approx(best, rel=0.05)


def test_multipliers_are_left_out_where_there_is_no_room(monkeypatch):
    dataset = random_dataset(np.random.default_rng(5), 8, 200)
    whole = bound_of(dataset, Effort(), Claim())
    monkeypatch.setattr(chained, "WIDEST", 7)
    assert bound_of(dataset, Effort(), Claim()) < whole
    assert bound_of(dataset, Effort(), Claim(), 0.0) == bound_of(dataset, Effort(), Claim())


@pytest.mark.parametrize("score", ["mdl", "bdeu"])
@pytest.mark.parametrize("sets", [3, 40])
def test_an_approximation_has_the_bound_before_it_searches(score, sets, monkeypatch):
    monkeypatch.setattr(gathered, "Effort", lambda **given: Effort(sets=sets, families=6, whole=6))
    told, dataset = [], random_dataset(np.random.default_rng(2), 10, 300, 3)
    result = approximate_network(
        dataset,
        Claim(score),
        methods=ApproximateMethods("independence"),
        budgets=Budgets(threads=1, time_limit=20.0),
        observer=told.append,
    )
    best = naive.optimal_cost(dataset.codes, dataset.arities, None, score)
    parameter = exploration(dataset, "independence", Claim(score)).parameter
    prices = parameter * float((dataset.arities - 1).sum())
    assert joint_misfit(dataset) + prices <= result.lower_bound <= best + 1e-9
    assert (joint_misfit(dataset) + prices + 10.0 < result.lower_bound) == (score == "mdl")
    assert result.stats["explored_whole"] < 10
    assert next(event.lower_bound for event in told if isinstance(event, IncumbentFound)) == result.lower_bound


def test_a_stop_while_exploring_leaves_what_all_variables_have_together():
    dataset, called = random_dataset(np.random.default_rng(2), 70, 300, 3), []

    def stop():
        called.append(1)
        return "interrupted" if len(called) > 40 else None

    result = approximate_network(dataset, budgets=Budgets(threads=1, time_limit=600.0), stop=stop)
    assert result.status == "interrupted"
    assert joint_misfit(dataset) <= result.lower_bound <= result.cost


def test_families_that_lists_have_no_room_for_are_not_taken_for_all(monkeypatch):
    """The cheapest family of each child alone would be a bound that no network keeps."""
    dataset = random_dataset(np.random.default_rng(4), 8, 300, 3)
    best = naive.optimal_cost(dataset.codes, dataset.arities)
    monkeypatch.setattr(gathered, "LISTED", 2)
    monkeypatch.setattr(gathered, "LISTED_IN_ALL", 2)
    asked = {"methods": ApproximateMethods("independence"), "budgets": Budgets(threads=1, time_limit=20.0)}
    whole = approximate_network(dataset, **asked)
    assert whole.lower_bound <= best + 1e-9
    assert whole.cost == pytest.approx(best)
    assert whole.stats["explored_whole"] == 8
    monkeypatch.setattr(gathered, "Effort", lambda **given: Effort(families=1, whole=1, until=given["until"]))
    short = approximate_network(dataset, **asked)
    assert short.lower_bound <= best + 1e-9
    assert short.stats["explored_whole"] < 8
