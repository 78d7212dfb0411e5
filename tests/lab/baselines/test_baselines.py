"""What every published method must do that `solve --method` runs: the optimum, within its budgets, honestly."""

import math

import naive
import numpy as np
import pytest
from asking import solve, solve_by
from cases import dataset_of, random_dataset, random_families, scores_of
from portions import first
from real import assert_proved, optima

import extbnsl
from extbnsl.core.claims import INTERRUPTED, OPTIMAL, TIME_LIMIT, Claim, tolerance
from extbnsl.core.errors import InputError
from extbnsl.lab.baselines.methods import BASELINES, EXTERNAL, BaselineMethods, methods_named
from extbnsl.machine.budgets import Budgets
from extbnsl.proof.methods import LOWER_BOUNDS, Methods
from extbnsl.solver.methods import PROGRAMS, PUBLISHED
from extbnsl.verify.verdict import verify

WAYS = [
    BaselineMethods(name, bound)
    for name, baseline in BASELINES.items()
    for bound in (LOWER_BOUNDS if baseline.bounded else ("auto",))
]
BUDGETS = Budgets(memory=1 << 28, disk=1 << 28, threads=1)


@pytest.fixture(params=WAYS, ids=lambda way: f"{way.method}-{way.lower_bound}")
def way(request):
    return request.param


def found(problem, way, claim=Claim(), budgets=BUDGETS, **how):
    return solve_by(problem, claim, way, budgets, **how)


def assert_optimal(result, problem, optimum):
    assert result.status == OPTIMAL
    assert abs(result.cost - optimum) <= 2 * tolerance(optimum)
    assert result.upper_bound - 2 * tolerance(result.cost) <= result.lower_bound <= result.upper_bound
    verdict = verify(result.document(), problem)
    assert not verdict.findings


@pytest.mark.parametrize("seed", first(1, range(6)))
def test_random_data(way, seed):
    """Ten data sets each: constant columns, repeated rows, equal scores, limits of parents."""
    rng = np.random.default_rng(seed)
    for _ in range(10):
        n = int(rng.integers(1, 8))
        data = random_dataset(rng, n, int(rng.integers(1, 120)))
        limit = int(rng.integers(0, 4)) if rng.random() < 0.3 else None
        optimum = naive.optimal_cost(data.codes, data.arities, limit)
        assert_optimal(found(data, way, Claim(max_parents=limit)), data, optimum)


def test_all_networks_of_few_variables(way):
    rng = np.random.default_rng(7)
    for _ in range(6):
        n = int(rng.integers(2, 5))
        data = random_dataset(rng, n, 40)
        assert_optimal(found(data, way), data, naive.optimal_cost_brute(data.codes, data.arities))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_given_families(way, seed):
    """Whole numbers as costs, many of them equal; not all children may come first."""
    rng = np.random.default_rng(seed)
    for _ in range(8):
        n = int(rng.integers(1, 9))
        families = random_families(rng, n)
        for child in range(1, n):
            if rng.random() < 0.3:  # the child needs one of the variables before it
                families[child] = [(1 << int(rng.integers(child)), 3.0), *families[child][1:]]
                families[child] = list({varset: (varset, cost) for varset, cost in families[child] if varset}.values())
        scores = scores_of(families)
        optimum = naive.optimal_cost_dp(n, naive.best_scores(naive.cost_table(n, families)))
        assert_optimal(found(scores, way), scores, optimum)


def test_costs_below_zero(way):
    rng = np.random.default_rng(3)
    families = random_families(rng, 6, costs=lambda count: rng.normal(-40.0, 30.0, count))
    scores = scores_of(families)
    assert_optimal(
        found(scores, way), scores, naive.optimal_cost_dp(6, naive.best_scores(naive.cost_table(6, families)))
    )


def test_one_variable(way):
    data = dataset_of([[0], [1], [1]])
    result = found(data, way)
    assert_optimal(result, data, naive.optimal_cost(data.codes, data.arities))
    assert result.network.parents == ((),)


def test_constant_columns_alone(way):
    data = dataset_of(np.zeros((5, 3), int))
    assert found(data, way).cost == 0.0


@pytest.mark.parametrize("name", ["asia_1000", "sachs_1000"])
def test_real_data(way, name, shared_data):
    data = extbnsl.read_csv(shared_data / "sampled" / f"{name}.csv")
    assert_proved(found(data, way), float(optima(shared_data)[f"sampled/{name}.csv"]["optimal_cost_nats"]))


def test_a_signal_leaves_a_network(way):
    data = random_dataset(np.random.default_rng(1), 10, 200)
    result = found(data, way, stop=lambda: INTERRUPTED)
    assert result.status == INTERRUPTED
    assert_honest(result, data)


def test_no_time_leaves_a_network(way):
    data = random_dataset(np.random.default_rng(2), 12, 300)
    result = found(data, way, budgets=Budgets(memory=1 << 28, disk=1 << 28, threads=1, time_limit=1e-9))
    assert result.status == TIME_LIMIT
    assert_honest(result, data)


@pytest.mark.parametrize("polls", [3, 10, 30, 100])
def test_stopped_anywhere(way, polls):
    """A stop at any poll: what is claimed then is true, and what is done is done."""
    data = random_dataset(np.random.default_rng(4), 9, 200)
    left = iter(range(polls))
    result = found(data, way, stop=lambda: None if next(left, None) is not None else INTERRUPTED)
    assert result.status in (OPTIMAL, INTERRUPTED)
    assert_honest(result, data)


def assert_honest(result, data):
    optimum = naive.optimal_cost(data.codes, data.arities)
    assert result.lower_bound <= optimum + tolerance(optimum) <= result.cost + 2 * tolerance(optimum)
    assert not verify(result.document(), data).findings


def test_same_again(way):
    data = random_dataset(np.random.default_rng(5), 8, 150)
    first, again = found(data, way), found(data, way)
    assert first.network == again.network
    assert first.stats["counts"] == again.stats["counts"]


def test_counts_are_whole_numbers(way):
    data = random_dataset(np.random.default_rng(6), 6, 150)
    counts = found(data, way).stats["counts"]
    assert counts
    assert all(isinstance(count, int) and count >= 0 for count in counts.values())


def test_many_variables(way):
    """Of which all but three never vary: they are solved, or refused before anything is counted."""
    rng = np.random.default_rng(8)
    data = dataset_of(np.column_stack([rng.integers(0, 2, (60, 3)), np.zeros((60, 70), int)]))
    if BASELINES[way.method].most is None:
        assert math.isclose(found(data, way).cost, solve(data).cost)
        return
    told = []
    with pytest.raises(InputError, match="is for 64 variables at most, and there are 73"):
        found(data, way, observer=told.append)
    assert not told


def test_the_command_line_has_the_names_of_all():
    assert (tuple(BASELINES), tuple(EXTERNAL)) == (PUBLISHED, PROGRAMS)


@pytest.mark.parametrize("name", BASELINES)
def test_options_without_use_are_refused(name):
    with pytest.raises(InputError, match=f"fixing: the method '{name}' has no use for it"):
        methods_named(name, Methods(fixing=False))
    if not BASELINES[name].bounded:
        with pytest.raises(InputError, match="lower_bound"):
            methods_named(name, Methods(lower_bound="static"))


def test_python_takes_the_name():
    data = random_dataset(np.random.default_rng(9), 5, 80)
    costs = [extbnsl.learn(data, method=name).cost for name in ("bfbnb", *BASELINES)]
    assert np.allclose(costs, costs[0])
    with pytest.raises(InputError, match="method: 'best' is not known"):
        extbnsl.learn(data, method="best")
