"""Linear Gaussian networks of columns of numbers, from the data to the verified result."""

import itertools
import json
import math
import re
from unittest import mock

import naive
import numpy as np
import pandas as pd
import pytest
from asking import approximate_network, bootstrap_network
from cases import from_array, numbers_of, random_numbers, shelf_of
from hypothesis import given, settings
from hypothesis import strategies as st
from knowing import admitted, random_knowledge
from patching import sized

import extbnsl
from extbnsl.cli import main
from extbnsl.core.claims import DISK_LIMIT, HEURISTIC, INTERRUPTED, MEMORY_LIMIT, TIME_LIMIT, Claim
from extbnsl.core.errors import InputError
from extbnsl.core.events import Warned, ignore
from extbnsl.core.knowledge import Knowledge
from extbnsl.data.resampling import resampling_of
from extbnsl.files.atomic import write_atomically
from extbnsl.kernels.varsets import pack, sizes, unpack
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.networks.gaussian import log_densities, regressions
from extbnsl.networks.network import Network
from extbnsl.parents.exhaustive import problem
from extbnsl.parents.exhaustive.measured import Measured, standardised
from extbnsl.parents.exhaustive.state import Means
from extbnsl.parents.exhaustive.surviving import surviving_families
from extbnsl.parents.explored.explore import ALL, SELECTIONS, Effort, exploration, explored_families
from extbnsl.scores.determinants import unexplained
from extbnsl.solver import bootstrap
from extbnsl.solver.methods import ApproximateMethods, Resamples
from extbnsl.verify.rescoring import family_cost

SCORE = "gaussian-bic"
SETTINGS = settings(max_examples=25, deadline=None)


def learn(numbers, **how):
    return extbnsl.learn(numbers, score=SCORE, **how)


def families(numbers, slack=0.0, claim=None, memory=1 << 30, tasks=None):
    """Those that can win, or, if counting stops after so many tasks, what is known then."""
    done = itertools.count(1)

    def stop_then(found):
        if next(done) == tasks:
            raise Stopped(TIME_LIMIT)

    with Workers(2) as workers:
        means = Means(workers, shelf_of(memory), ignore)
        return surviving_families(numbers, claim or Claim(SCORE), means, None, stop_then, slack)


def undominated(numbers, child, slack, most):
    """By the definition: cheaper than each of its subsets, or than each and the slack."""
    n = numbers.variables
    costs = {
        u: naive.gaussian_cost(numbers.values, child, naive.members(u))
        for u in range(2**n)
        if not u >> child & 1 and u.bit_count() <= most
    }
    margin = 1e-7 if slack == 0.0 else -1e-7
    return {
        tuple(naive.members(u)): cost
        for u, cost in costs.items()
        if all(cost < costs[v] + slack - margin for v in costs if v != u and v & ~u == 0)
    }


@pytest.mark.parametrize("seed", range(8))
def test_the_optimum_is_that_of_all_networks(seed):
    rng = np.random.default_rng(seed)
    numbers = random_numbers(rng, int(rng.integers(1, 6)), int(rng.integers(8, 80)))
    most = None if seed % 2 else 1
    result = learn(numbers, max_parents=most)
    assert result.optimal
    brute = naive.optimal_gaussian_cost(numbers.values, lambda _, u: most is None or u.bit_count() <= most)
    assert result.cost == pytest.approx(brute, rel=1e-9, abs=1e-7)
    assert result.stats["parameters"] == 2 * numbers.variables + len(result.network.arcs())


@SETTINGS
@given(st.integers(0, 2**32), st.sampled_from([0.0, 3.0]), st.integers(0, 6))
def test_exactly_the_families_that_can_win_are_kept(seed, slack, most):
    rng = np.random.default_rng(seed)
    numbers = random_numbers(rng, int(rng.integers(1, 7)), int(rng.integers(9, 60)))
    found = families(numbers, slack, Claim(SCORE, max_parents=most))
    assert found.stopped is None
    for child in range(numbers.variables):
        own = zip(map(unpack, found.scores.parents[child]), found.scores.costs[child].tolist(), strict=True)
        kept, expected = dict(own), undominated(numbers, child, slack, most)
        assert kept.keys() == expected.keys()
        for parents, cost in kept.items():
            assert cost == pytest.approx(expected[parents], rel=1e-9, abs=1e-7)
        assert found.least[child] <= found.scores.costs[child][0] + 1e-9


@SETTINGS
@given(st.integers(0, 2**32))
def test_what_all_others_leave_bounds_every_family(seed):
    rng = np.random.default_rng(seed)
    numbers = random_numbers(rng, int(rng.integers(2, 6)), int(rng.integers(8, 40)))
    n, price = numbers.variables, math.log(numbers.records) / 2
    for child in range(n):
        others = [v for v in range(n) if v != child]
        floor = naive.gaussian_cost(numbers.values, child, others) - price * (n + 1)
        for u in range(2**n):
            if not u >> child & 1:
                cost = naive.gaussian_cost(numbers.values, child, naive.members(u))
                assert cost >= floor + price * (u.bit_count() + 2) - 1e-7


@pytest.mark.parametrize("seed", range(4))
def test_units_and_order_of_columns_make_no_difference(seed):
    rng = np.random.default_rng(seed)
    numbers = random_numbers(rng, 6, 50)
    result = learn(numbers)
    units, order = np.array([1e-9, 1e6, -1.0, 3.0, 1e90, 1e-90]), rng.permutation(6)
    other = learn(numbers_of(((numbers.values - numbers.values.mean(axis=0)) * units + 7.0 * units)[:, order]))
    shift = numbers.records * np.log(np.abs(units)).sum()
    assert other.cost - shift == pytest.approx(result.cost, rel=1e-8, abs=1e-6)
    renamed = {(int(order[p]), int(order[c])) for p, c in other.network.arcs()}
    assert {frozenset(arc) for arc in renamed} == {frozenset(arc) for arc in result.network.arcs()}


def test_a_large_offset_does_no_harm():
    numbers = random_numbers(np.random.default_rng(3), 5, 60)
    values = np.round(numbers.values * 1024) / 1024
    plain, shifted = learn(numbers_of(values)), learn(numbers_of(values + 2.0**30))
    assert shifted.cost == pytest.approx(plain.cost, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_knowledge_is_kept(seed):
    numbers = random_numbers(np.random.default_rng(seed), 5, 40)
    knowledge = Knowledge(required=(("v0", "v1"), ("v2", "v1")), forbidden=(("v3", "v4"),), roots=("v2",))
    result = learn(numbers, knowledge=knowledge)

    def allowed(child, u):
        if child == 1:
            return u & 0b101 == 0b101
        return u == 0 if child == 2 else not (child == 4 and u >> 3 & 1)

    assert result.optimal
    assert result.cost == pytest.approx(naive.optimal_gaussian_cost(numbers.values, allowed), rel=1e-9)


@pytest.mark.slow
@SETTINGS
@given(st.integers(0, 2**32), st.sampled_from([0.0, 3.0]), st.booleans(), st.integers(1, 12))
def test_required_parents_are_in_each_family_that_is_kept_in_one_lattice_and_apart(seed, slack, apart, tasks):
    """Exactly the families that can win of those that are admitted, and a bound of them wherever counting stops."""
    rng = np.random.default_rng(seed)
    numbers = random_numbers(rng, int(rng.integers(2, 7)), int(rng.integers(9, 60)))
    n, knowledge = numbers.variables, random_knowledge(rng, numbers.names)
    allowed, claim = admitted(knowledge, numbers.names, None), Claim(SCORE, knowledge=knowledge)
    with mock.patch.object(problem, "PASSED", -1 if apart else problem.PASSED):
        found, stopped = families(numbers, slack, claim), families(numbers, slack, claim, tasks=tasks)
    assert found.stopped is None
    for child in range(n):
        costs = {
            u: naive.gaussian_cost(numbers.values, child, naive.members(u)) for u in range(2**n) if allowed[child, u]
        }
        margin = 1e-7 if slack == 0.0 else -1e-7
        expected = {
            tuple(naive.members(u)): cost
            for u, cost in costs.items()
            if all(cost < costs[v] + slack - margin for v in costs if v != u and v & ~u == 0)
        }
        kept = dict(zip(map(unpack, found.scores.parents[child]), found.scores.costs[child].tolist(), strict=True))
        assert kept == pytest.approx(expected, rel=1e-9, abs=1e-7)
        least = min(costs.values())
        assert found.least[child] == pytest.approx(least, rel=1e-9, abs=1e-6)
        assert stopped.least[child] <= least + 1e-6
        assert len(stopped.scores.costs[child]) > 0


@SETTINGS
@given(st.integers(0, 2**32), st.sampled_from(sorted(SELECTIONS)), st.booleans())
def test_a_whole_exploration_finds_exactly_the_families_that_can_win(seed, selection, required):
    rng = np.random.default_rng(seed)
    numbers = random_numbers(rng, int(rng.integers(2, 7)), int(rng.integers(9, 60)))
    n = numbers.variables
    knowledge = random_knowledge(rng, numbers.names) if required else Knowledge()
    allowed = admitted(knowledge, numbers.names, None)
    setting = exploration(numbers, selection, Claim(SCORE, knowledge=knowledge), 0.5)
    with Workers(1) as workers:
        explored = explored_families(setting, Effort(), workers, 1 << 28)
    for child, own in enumerate(explored):
        costs = {
            u: naive.gaussian_cost(numbers.values, child, naive.members(u)) for u in range(2**n) if allowed[child, u]
        }
        expected = {
            tuple(naive.members(u)): cost
            for u, cost in costs.items()
            if all(cost < costs[v] - 1e-7 for v in costs if v != u and v & ~u == 0)
        }
        kept = {own.families.members(i): cost for i, cost in enumerate(own.families.costs.tolist())}
        assert own.ended == ALL
        assert kept == pytest.approx(expected, rel=1e-9, abs=1e-7)


@pytest.mark.parametrize("selection", ["auto", "independence", "greedy"])
def test_few_columns_are_approximated_as_well_as_they_are_solved(selection):
    numbers = random_numbers(np.random.default_rng(6), 8, 80)
    best, methods = learn(numbers).cost, ApproximateMethods(selection=selection)
    found = approximate_network(numbers, Claim(SCORE), methods, Budgets(time_limit=20.0, threads=1))
    assert found.cost == pytest.approx(best, rel=1e-12)
    assert found.lower_bound <= best + 1e-9


@pytest.mark.slow
def test_many_columns_are_approximated_within_a_time():
    """Each is a regression on two before it; the network found costs hardly more than that one, or less."""
    rng = np.random.default_rng(8)
    values = rng.normal(size=(400, 80))
    for v in range(2, 80):
        values[:, v] += values[:, v - 1] - 0.8 * values[:, v - 2] if v % 3 else 0.0
    numbers = numbers_of(values)
    before = sum(naive.gaussian_cost(numbers.values, v, [v - 2, v - 1] if v > 1 and v % 3 else []) for v in range(80))
    found = approximate_network(numbers, Claim(SCORE), budgets=Budgets(time_limit=10.0, threads=1))
    assert found.status == HEURISTIC
    assert found.lower_bound <= found.cost <= before * 1.001
    own = sum(naive.gaussian_cost(numbers.values, v, list(parents)) for v, parents in enumerate(found.network.parents))
    assert found.cost == pytest.approx(own, rel=1e-9)


def test_many_required_parents_in_one_lattice():
    numbers = random_numbers(np.random.default_rng(4), 12, 100)
    required = *((f"v{p}", "v7") for p in (0, 2, 3, 8, 9)), ("v7", "v1"), ("v4", "v5")
    result = learn(numbers, knowledge=Knowledge(required))
    assert result.optimal
    assert set(required) <= {(numbers.names[p], numbers.names[c]) for p, c in result.network.arcs()}
    with mock.patch.object(problem, "PASSED", -1):
        assert learn(numbers, knowledge=Knowledge(required)).cost == pytest.approx(result.cost, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_each_resample_has_its_best_network(seed):
    numbers = random_numbers(np.random.default_rng(seed), 4, 60)
    found = learn(numbers, bootstrap=5, seed=seed).bootstrap
    assert [one.number for one in found.done] == [1, 2, 3, 4, 5]
    for one in found.done:
        values = resampling_of(numbers).drawn(seed, one.number).values
        best = naive.optimal_gaussian_cost(values, lambda x, u: True)
        own = sum(naive.gaussian_cost(values, x, parents) for x, parents in enumerate(one.network.parents))
        assert one.cost == pytest.approx(best, rel=1e-9)
        assert own == pytest.approx(best, rel=1e-9)
        assert one.lower_bound <= one.cost


def test_a_resample_that_no_gaussian_fits_is_named_before_anything_is_solved(monkeypatch):
    values = np.random.default_rng(1).normal(size=(60, 3))
    values[:, 1] = 0.0
    values[7, 1] = 1.0
    monkeypatch.setattr(bootstrap, "solved", lambda *given: pytest.fail("something is solved"))
    with pytest.raises(InputError, match=r"bootstrap: resample \d+ .*'v1' has the same number in every record"):
        learn(numbers_of(values), bootstrap=50)


def test_looking_through_the_resamples_ends_with_a_stop():
    numbers, asked = random_numbers(np.random.default_rng(3), 3, 60), itertools.count()
    result = bootstrap_network(
        numbers,
        Resamples(10_000),
        Claim(SCORE),
        budgets=Budgets(threads=1),
        stop=lambda: INTERRUPTED if next(asked) > 5 else None,
    )
    assert result.status == INTERRUPTED
    assert result.bootstrap.done == ()
    assert next(asked) < 100


def test_an_order_and_the_k_best():
    numbers = random_numbers(np.random.default_rng(5), 4, 40)
    ordered = extbnsl.order(numbers, ["v3", "v1", "v0", "v2"], score=SCORE)
    place = {3: 0, 1: 1, 0: 2, 2: 3}
    brute = naive.optimal_gaussian_cost(numbers.values, lambda x, u: all(place[p] < place[x] for p in naive.members(u)))
    assert ordered.order_optimal
    assert ordered.cost == pytest.approx(brute, rel=1e-9)
    assert ordered.lower_bound <= learn(numbers).cost
    ranked = extbnsl.k_best(numbers, 20, score=SCORE)
    costs = sorted(
        sum(naive.gaussian_cost(numbers.values, x, naive.members(u)) for x, u in enumerate(graph))
        for graph in naive.all_dags(4)
    )
    assert [one.cost for one in ranked.networks] == pytest.approx(costs[:20], rel=1e-9)


@pytest.mark.parametrize("method", ["dp", "astar", "cycles"])
def test_published_methods_find_the_same(method):
    numbers = random_numbers(np.random.default_rng(6), 5, 50)
    assert learn(numbers, method=method).cost == pytest.approx(learn(numbers).cost, rel=1e-9)


@pytest.mark.parametrize("memory", [1000, 20_000, 50_000])
def test_too_little_memory_leaves_a_network_and_a_bound_and_tells_what_to_do(memory):
    """With so little there is not even room for the families found beside the level."""
    numbers, told = random_numbers(np.random.default_rng(7), 16, 60), []
    with Workers(2) as workers:
        found = surviving_families(numbers, Claim(SCORE), Means(workers, shelf_of(memory), told.append))
    assert found.stopped in (MEMORY_LIMIT, DISK_LIMIT)
    (warning,) = [event.message for event in told if isinstance(event, Warned)]
    assert re.match(r"There is no room to count parent sets of size \d of at most 15, .*give more --memory", warning)
    whole = families(numbers)
    for child in range(16):
        assert found.least[child] <= whole.scores.costs[child][0] + 1e-9
        for parents, cost in zip(found.scores.parents[child], found.scores.costs[child].tolist(), strict=True):
            assert cost == pytest.approx(naive.gaussian_cost(numbers.values, child, unpack(parents)), rel=1e-9)


def test_a_stop_while_families_are_costed_again_is_heard_and_leaves_the_cheapest(monkeypatch):
    """It comes with the first family that is costed again, when all have been found."""
    numbers = random_numbers(np.random.default_rng(10), 8, 80)
    whole, begun = families(numbers), []
    again = Measured.again

    def costed_again(self, child, *given):
        begun.append(child)
        return again(self, child, *given)

    monkeypatch.setattr(Measured, "again", costed_again)
    with sized(MOST_NAMED=8 * 3), Workers(2, lambda: TIME_LIMIT if begun else None) as workers:
        found = surviving_families(numbers, Claim(SCORE), Means(workers, shelf_of(1 << 30), ignore))
    assert found.stopped == TIME_LIMIT
    assert set(begun) == set(range(8))
    for child in range(8):
        all_parents, all_costs = whole.scores.parents[child], whole.scores.costs[child]
        smallest = np.flatnonzero(sizes(all_parents) == 0)
        expected = np.union1d(np.arange(min(3, all_costs.size)), smallest)
        assert found.scores.parents[child].tolist() == all_parents[expected].tolist()
        assert found.scores.costs[child].tolist() == all_costs[expected].tolist()
        assert found.least[child] <= all_costs[0] + 1e-9
    assert sum(costs.size for costs in whole.scores.costs) > found.scores.families


def test_families_are_costed_again_until_a_halt():
    numbers = random_numbers(np.random.default_rng(10), 6, 80)
    factor, varsets, halt = standardised(numbers).factor, pack((1,), 6)[None].repeat(4, axis=0), np.ones(1, np.uint8)
    shares = np.full(4, 7.0)
    unexplained(0, varsets, factor, halt, shares)
    assert shares.tolist() == [7.0] * 4
    halt[0] = 0
    unexplained(0, varsets, factor, halt, shares)
    correlation = np.corrcoef(numbers.values[:, :2].T)[0, 1]
    assert shares == pytest.approx([1.0 - correlation**2] * 4, rel=1e-9)


@pytest.mark.slow
def test_more_than_a_word_of_variables():
    rng = np.random.default_rng(8)
    values = rng.normal(size=(200, 70))
    values[:, 69] += values[:, 3]
    result = learn(numbers_of(values), max_parents=1)
    assert result.optimal
    assert ("v3" in result.parents["v69"]) != ("v69" in result.parents["v3"])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"a": [1, 2, 3, 4.5], "b": [7, 7, 7, 7]},
            r"^<dataframe>: 'b' has the same number in every record.*drop=\"b\"",
        ),
        ({"a": [1.0], "b": [2.0]}, r"^<dataframe> has 1 record, which tells of no variance: give two or more\.$"),
        ({"a": [1, 2.0, 4], "b": ["x", "y", "z"]}, r"'b' has 'x' in row 1 of the data, which is no number.*drop=\"b\""),
        ({"a": [1, 2.0, 1e300], "b": [1, 2.0, 2]}, r"'a' has 1e\+300 in row 3 of the data, which is beyond 1e\+150"),
        ({"a": [1, 2.0, float("inf")]}, r"column 'a' has an infinite value"),
        ({"a": [1, 2.0, float("nan")]}, r"1 value is missing, in column 'a', first in row 3"),
    ],
)
def test_what_no_gaussian_fits_is_refused_by_name(columns, message):
    with pytest.raises(InputError, match=message):
        learn(pd.DataFrame(columns))


@pytest.mark.parametrize("find", [extbnsl.learn, extbnsl.k_best, extbnsl.approximate])
def test_an_equivalent_sample_size_is_refused(find):
    with pytest.raises(InputError, match=r"^ess: the score 'gaussian-bic' has no equivalent sample size; leave it out"):
        find(random_numbers(np.random.default_rng(1), 3, 40), score=SCORE, ess=2.0)


@pytest.mark.parametrize(
    "how", [{"discretise": "mean"}, {"discrete": "all"}, {"missing": "state"}], ids=lambda how: next(iter(how))
)
def test_options_that_make_states_are_refused(how):
    with pytest.raises(InputError, match=r"makes states of columns, and the score gaussian-bic takes numbers"):
        learn(pd.DataFrame({"a": [1.5, 2, 4]}), **how)


def test_kinds_of_data_and_scores_go_together():
    numbers = random_numbers(np.random.default_rng(1), 3, 20)
    with pytest.raises(InputError, match=r"'mdl' is for columns of states, and numbers are given; take gaussian-bic"):
        extbnsl.learn(numbers)
    with pytest.raises(InputError, match=r"'gaussian-bic' is for columns of numbers, and states are given"):
        learn(from_array(np.array([[0, 1], [1, 0]])))
    with pytest.raises(InputError, match=r"'mdl' is for columns of states, and numbers are given; take gaussian-bic"):
        extbnsl.approximate(numbers)
    with pytest.raises(InputError, match=r"BIF has no continuous variables"):
        learn(numbers).to_bif()


def test_missing_values_weights_and_float32():
    frame = pd.DataFrame({"a": [1.5, 2, 4, None, 5], "b": [1, 3, 2, 2, 4.0], "w": [1, 2, 1, 1, 1]})
    result = learn(frame, missing="drop", weights="w")
    rows = np.array([[1.5, 1], [2, 3], [2, 3], [4, 2], [5, 4]])
    assert result.cost == pytest.approx(naive.optimal_gaussian_cost(rows), rel=1e-12)
    single = learn(rows.astype(np.float32), names=["a", "b"])
    assert single.cost == pytest.approx(result.cost, rel=1e-12)


def test_the_regressions_are_those_of_least_squares():
    numbers = random_numbers(np.random.default_rng(2), 3, 30)
    network = Network(numbers.names, ((), (0,), (0, 1)))
    means = numbers.values.mean(axis=0)
    centred = numbers.values - means
    slopes, rss, *_ = np.linalg.lstsq(centred[:, :2], centred[:, 2], rcond=None)
    fitted = regressions(network, numbers)[2]
    assert fitted.coefficients.tolist() == pytest.approx(slopes.tolist(), rel=1e-6)
    assert fitted.intercept == pytest.approx(means[2] - slopes @ means[:2], rel=1e-6)
    assert fitted.variance == pytest.approx(float(rss[0]) / 30, rel=1e-6)
    price = math.log(30) / 2 * (6 + 3)
    costs = sum(naive.gaussian_cost(numbers.values, x, own) for x, own in enumerate(network.parents))
    assert log_densities(network, regressions(network, numbers), numbers.values).sum() == pytest.approx(
        price - costs, rel=1e-9
    )


def test_the_command_line_solves_verifies_and_writes_regressions(tmp_path, capsys):
    numbers = random_numbers(np.random.default_rng(4), 5, 40)
    data, run = tmp_path / "data.csv", tmp_path / "run"
    pd.DataFrame(numbers.values, columns=list(numbers.names)).to_csv(data, index=False)
    assert main(["solve", str(data), "--score", SCORE, "--run-dir", str(run)]) == 0
    assert "Gaussian BIC, minimised" in capsys.readouterr().out
    assert not (run / "network.bif").exists()
    written = json.loads((run / "network.json").read_text())
    result = json.loads((run / "result.json").read_text())
    certified = [name for component in result["certificate"]["components"] for name in component["variables"]]
    assert sorted(certified) == sorted(numbers.names)
    for name, own in written["regressions"].items():
        assert list(own["coefficients"]) == written["parents"][name]
        assert own["variance"] > 0
    assert main(["verify", str(run), str(data)]) == 0
    assert main(["resume", str(run)]) == 0
    result["cost"] -= 1e-3
    write_atomically(run / "result.json", json.dumps(result).encode())
    assert main(["verify", str(run), str(data)]) == 31
    assert main(["verify", str(run), str(data), "--discretise", "mean"]) == 30


def test_the_checker_agrees_with_the_twin():
    numbers = random_numbers(np.random.default_rng(11), 5, 40)
    for parents in ((), (1,), (1, 2), (1, 2, 3, 4)):
        own = family_cost(numbers, 0, parents, Claim(SCORE))
        assert own == pytest.approx(naive.gaussian_cost(numbers.values, 0, parents), rel=1e-10)


def test_held_out_records_get_their_log_density(tmp_path, capsys):
    numbers = random_numbers(np.random.default_rng(12), 3, 40)
    frame = pd.DataFrame(numbers.values, columns=list(numbers.names))
    data, new, run, each = (tmp_path / name for name in ("data.csv", "new.csv", "run", "each.csv"))
    frame.to_csv(data, index=False)
    frame[["v2", "v0", "v1"]].head(7).to_csv(new, index=False)
    assert main(["solve", str(data), "--score", SCORE, "--run-dir", str(run), "--quiet"]) == 0
    assert main(["score-network", str(run), str(new), "--training", str(data), "-o", str(each)]) == 0
    assert "7 records" in capsys.readouterr().out
    parents = json.loads((run / "result.json").read_text())["parents"]
    network = Network.from_names(numbers.names, parents)
    expected = log_densities(network, regressions(network, numbers), numbers.values[:7])
    found = [float(line.split(",")[1]) for line in each.read_text().splitlines()[1:]]
    assert found == pytest.approx(expected.tolist(), rel=1e-9)
    assert main(["score-network", str(run), str(new), "--training", str(data), "--smoothing", "2"]) == 30
