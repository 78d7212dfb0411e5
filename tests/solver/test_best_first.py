"""Networks one by one, best first, as long as the caller wants more."""

import itertools
import math

import naive
import numpy as np
import pytest
from asking import networks_best_first
from cases import from_array, random_dataset, random_families, scores_of
from patching import called_by

import extbnsl
from extbnsl.core.claims import Claim
from extbnsl.core.errors import BudgetError, InputError
from extbnsl.machine.budgets import Budgets
from extbnsl.proof.methods import Methods
from extbnsl.solver.k_best import AT_ONCE

ONE = Budgets(threads=1, memory=1 << 30)


def all_costs(dataset):
    table = naive.all_local_scores(dataset.codes, dataset.arities)
    return np.sort([sum(table[x][p] for x, p in enumerate(dag)) for dag in naive.all_dags(len(table))])


def without_ties():
    """Local scores of all families over five variables, no two of the same cost."""
    rng = np.random.default_rng(8)
    others = [tuple(y for y in range(5) if y != x) for x in range(5)]
    subsets = [[s for size in range(5) for s in itertools.combinations(own, size)] for own in others]
    return extbnsl.local_scores(
        {f"v{x}": {tuple(f"v{y}" for y in s): float(rng.uniform(1, 9)) for s in own} for x, own in enumerate(subsets)}
    )


@pytest.mark.parametrize(("n", "networks"), [(1, 1), (2, 3), (3, 25), (4, 543)])
def test_every_network_comes_once_in_its_turn(n, networks):
    dataset = random_dataset(np.random.default_rng(n), n, 60, 3)
    found = list(networks_best_first(dataset, budgets=ONE))
    every = all_costs(dataset)
    assert [one.cost for one in found] == pytest.approx(every.tolist(), abs=1e-7)
    assert len({one.network.parents for one in found}) == networks
    assert [one.rank for one in found] == [1 + int((every < cost - 1e-6).sum()) for cost in every]


def test_ties_come_together():
    """A column that never varies: every network is there with each of its sets of parents, at the same cost."""
    rng = np.random.default_rng(3)
    codes = random_dataset(rng, 3, 40, 2).codes
    dataset = from_array(np.column_stack([codes, np.zeros(40, int)]), list("abcd"))
    found = list(itertools.islice(networks_best_first(dataset, budgets=ONE), 200))
    every = all_costs(dataset)
    assert [one.cost for one in found] == pytest.approx(every[:200].tolist(), abs=1e-7)
    assert len({one.network.parents for one in found}) == 200


@pytest.fixture
def asked(until_it_ends):
    """How many networks the rounds of a search have asked for, as they begin."""
    numbers = []

    def make(real):
        return lambda run, *given: numbers.append(run.asked.scope.k) or real(run, *given)

    until_it_ends(called_by)("solver.listing", "_within", make)
    return numbers


def test_of_millions_that_cost_the_same_the_first_come_at_once(asked):
    """Columns of one state, that may be parents of all, and have any parents themselves."""
    codes = np.column_stack([np.zeros((14, 4), int), random_dataset(np.random.default_rng(6), 4, 14, 3).codes])
    dataset = from_array(codes, list("abcdefgh"))
    found = list(itertools.islice(networks_best_first(dataset, Claim("bds", ess=5.0), budgets=ONE), 10 * AT_ONCE))
    assert max(asked) == 16 * AT_ONCE
    assert {one.rank for one in found} == {1}
    assert len({one.network.parents for one in found}) == 10 * AT_ONCE
    costs = [
        naive.network_cost(dataset.codes, dataset.arities, one.network.parents, "bds:5") for one in found[::AT_ONCE]
    ]
    assert costs == pytest.approx([found[0].cost] * 10)


def test_nothing_more_is_done_than_is_asked_for(asked):
    networks = networks_best_first(without_ties(), budgets=ONE)
    assert not asked
    next(networks)
    assert set(asked) == {AT_ONCE}
    list(itertools.islice(networks, AT_ONCE - 1))
    assert set(asked) == {AT_ONCE}
    next(networks)
    assert set(asked) == {AT_ONCE, 4 * AT_ONCE}
    networks.close()


def test_local_scores_too():
    families = random_families(np.random.default_rng(2), 4)
    table = naive.cost_table(4, families)
    every = np.array([sum(table[x][p] for x, p in enumerate(dag)) for dag in naive.all_dags(4)])
    every = np.sort(every[np.isfinite(every)])
    found = [one.cost for one in networks_best_first(scores_of(families), budgets=ONE)]
    assert found == pytest.approx(every.tolist(), abs=1e-7)


def test_what_cannot_be_is_said_at_once():
    dataset = random_dataset(np.random.default_rng(1), 3, 20)
    with pytest.raises(InputError, match="keeps one of several"):
        networks_best_first(dataset, methods=Methods())
    with pytest.raises(InputError, match="max_parents"):
        extbnsl.best_first(dataset, max_parents=-1)


def test_a_stop_and_too_little_memory_are_told_to_whoever_wants_more(running_out):
    stopped = []
    networks = networks_best_first(without_ties(), budgets=ONE, stop=lambda: "interrupted" if stopped else None)
    known = [next(networks) for _ in range(3)]
    stopped.append(1)
    with pytest.raises(BudgetError, match=f"has stopped after {AT_ONCE}: interrupted"):
        known.extend(networks)
    assert len(known) == AT_ONCE
    running_out("solver.listing", "networks_below", MemoryError())
    with pytest.raises(BudgetError, match="no memory for more than 0 networks"):
        next(networks_best_first(without_ties(), budgets=ONE))


def test_from_python():
    table = np.random.default_rng(7).integers(0, 2, (60, 4))
    result = extbnsl.k_best(table, 30, names=list("abcd"), threads=1)
    one_by_one = list(itertools.islice(extbnsl.best_first(table, names=list("abcd"), threads=1), 30))
    assert [one.cost for one in one_by_one] == [one.cost for one in result.networks]
    assert result.networks[0].parents == extbnsl.learn(table, names=list("abcd")).parents
    assert len(extbnsl.k_best(table).networks) == 10
    within = extbnsl.k_best(table, within_factor=20)
    assert within.within == pytest.approx(math.log(20))
    assert [one.cost for one in within.networks[:30]] == pytest.approx(
        [one.cost for one in one_by_one][: len(within.networks)]
    )
    with pytest.raises(InputError, match=r"^k: 0 is not"):
        extbnsl.k_best(table, 0)
    with pytest.raises(InputError, match=r"^within_factor: 0\.5 is not a factor"):
        extbnsl.k_best(table, within_factor=0.5)
