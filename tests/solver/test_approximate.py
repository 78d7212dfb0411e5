"""Approximate networks: their cost, their bound, their status, from data and from local scores."""

import itertools
import time

import naive
import numpy as np
import pytest
from asking import approximate_network
from cases import dataset_of, random_dataset, random_families, scores_of
from portions import first

from extbnsl.core import compiling, events
from extbnsl.core.claims import Claim
from extbnsl.core.errors import BudgetError, InputError
from extbnsl.lab.baselines import swaps
from extbnsl.lab.baselines.methods import SWAPS
from extbnsl.machine.budgets import Budgets
from extbnsl.orders.population import DEFAULT, METHODS
from extbnsl.parents.explored import explore
from extbnsl.parents.explored.explore import SELECTIONS as EXPLORED
from extbnsl.solver import approximation, gathered
from extbnsl.solver.methods import AUTO, SEARCHES, SELECTIONS, ApproximateMethods
from extbnsl.verify.rescoring import score_network
from extbnsl.verify.verdict import verify

SHORT = Budgets(threads=1, time_limit=30.0)  # few variables end long before


def test_the_words_are_those_of_what_searches():
    assert (*swaps.SEARCHES, *METHODS) == SEARCHES
    assert tuple(swaps.SEARCHES) == SWAPS
    assert (AUTO, *EXPLORED) == SELECTIONS
    assert ApproximateMethods().search == DEFAULT


@pytest.mark.parametrize(("n", "score", "most"), [(1, "mdl", None), (5, "aic", None), (6, "mdl", 1), (8, "mdl", None)])
def test_the_optimum_of_few_variables_with_a_bound_below_it(n, score, most):
    dataset = random_dataset(np.random.default_rng(n), n, 120)
    result = approximate_network(dataset, Claim(score, most), budgets=SHORT)
    best = naive.optimal_cost_dp(
        n, naive.best_scores(naive.all_local_scores(dataset.codes, dataset.arities, most, score))
    )
    assert result.status == "heuristic"
    assert result.cost == pytest.approx(best, rel=1e-9)
    assert result.cost == pytest.approx(score_network(dataset, result.network, result.claim), rel=1e-12)
    assert result.lower_bound <= best + 1e-9
    assert sorted(result.order) == list(range(n))
    assert verify(result.document(), dataset).findings == ()


@pytest.mark.parametrize("selection", first(1, [*SELECTIONS]))
def test_what_is_told_gets_better_and_ends_with_the_network(selection):
    dataset, told = random_dataset(np.random.default_rng(3), 20, 200), []
    budgets = Budgets(threads=2, time_limit=1.0)
    result = approximate_network(dataset, methods=ApproximateMethods(selection), budgets=budgets, observer=told.append)
    costs = [event.cost for event in told if isinstance(event, events.IncumbentFound)]
    assert all(later < earlier for earlier, later in itertools.pairwise(costs))
    assert costs[-1] == pytest.approx(result.cost, rel=1e-9)
    assert any(isinstance(event, events.StageAdvanced) for event in told)
    assert result.lower_bound <= result.cost
    assert verify(result.document(), dataset).findings == ()


@pytest.mark.parametrize("most", [None, 2])
def test_local_scores_have_their_optimum_and_a_bound_by_linear_programs(most):
    families = random_families(np.random.default_rng(5), 7)
    scores = scores_of(families)
    result = approximate_network(scores, Claim(max_parents=most), budgets=SHORT)
    allowed = [[(own, cost) for own, cost in each if most is None or own.bit_count() <= most] for each in families]
    best = naive.optimal_cost_dp(7, naive.best_scores(naive.cost_table(7, allowed)))
    assert result.cost == pytest.approx(best, rel=1e-12)
    assert sum(min(cost for _, cost in each) for each in allowed) <= result.lower_bound <= result.cost
    assert result.lower_bound == pytest.approx(best, rel=1e-9)
    assert verify(result.document(), scores).findings == ()


def test_constant_columns_alone_have_a_network():
    result = approximate_network(dataset_of(np.zeros((4, 2)), [1, 2]), budgets=SHORT)
    assert result.parents == {"v0": [], "v1": []}
    assert result.lower_bound == result.cost == pytest.approx(np.log(4) / 2)


@pytest.mark.slow
def test_a_stop_at_once_leaves_a_network_and_a_bound():
    dataset = random_dataset(np.random.default_rng(6), 30, 300)
    result = approximate_network(dataset, budgets=SHORT, stop=lambda: "interrupted")
    assert result.status == "interrupted"
    assert result.lower_bound <= result.cost
    assert verify(result.document(), dataset).findings == ()


@pytest.mark.parametrize("seconds", [1e-6, 0.05])
def test_a_time_too_short_for_anything_still_has_a_network(seconds):
    dataset = random_dataset(np.random.default_rng(6), 60, 300)
    result = approximate_network(dataset, budgets=Budgets(threads=2, time_limit=seconds))
    assert result.status == "heuristic"
    assert result.lower_bound <= result.cost
    assert verify(result.document(), dataset).findings == ()


@pytest.mark.slow
def test_the_exploration_ends_with_its_part_of_the_time(monkeypatch):
    """All children together would take four times the whole: the last ones have no turn, the search has its time."""
    dataset, begun, told = random_dataset(np.random.default_rng(6), 60, 300), [], []

    def slow(child, problem, effort, memory, halt):
        begun.append(child)
        time.sleep(0.3)
        return explored(child, problem, effort, memory, halt)

    explored = explore.explore_child
    monkeypatch.setattr(explore, "explore_child", slow)
    result = approximate_network(dataset, budgets=Budgets(threads=1, time_limit=4.0), observer=told.append)
    assert 1 < len(begun) < 30
    searched = [event for event in told if isinstance(event, events.StageStarted) and event.stage == "incumbent"]
    assert 0 < searched[0].seconds <= 4 * (1 - approximation.LATEST)
    assert verify(result.document(), dataset).findings == ()


def test_small_sets_come_first_in_a_share_of_the_exploration(monkeypatch):
    dataset, asked = random_dataset(np.random.default_rng(6), 6, 300), []

    def known(dataset, setting, *others):
        asked.append((setting.selection, setting.first))
        return found(dataset, setting, *others)

    found = gathered._known
    monkeypatch.setattr(gathered, "_known", known)
    for selection in ("auto", "greedy"):
        approximate_network(dataset, methods=ApproximateMethods(selection), budgets=Budgets(threads=1, time_limit=4.0))
    assert asked == [("independence", 0.5), ("greedy", 0.5)]


def test_what_scoring_and_writing_will_take_is_kept_of_the_time(sizes):
    dataset, told = random_dataset(np.random.default_rng(6), 5, 300), []
    approximate_network(dataset, budgets=SHORT)  # loads the kernels
    for seconds in (0.0, 0.04, 4.0):  # for each of the 1,500 cells; the last is far more than the time
        sizes(CELL_SECONDS=seconds)
        approximate_network(dataset, budgets=Budgets(threads=1, time_limit=1000.0), observer=told.append)
    left = [event.seconds for event in told if isinstance(event, events.StageStarted) and event.stage == "incumbent"]
    assert left == pytest.approx([1000.0, 940.0, 750.0], abs=20)


def test_the_times_of_a_run():
    times = approximation.Times(100.0, compiling.clock() + 60.0, 5.0)
    assert times.used == pytest.approx(40.0, abs=1)
    assert [times.end - at for at in (times.explored, times.latest, times.searched)] == pytest.approx([80.0, 50.0, 5.0])


def test_what_cannot_be_is_refused():
    dataset = random_dataset(np.random.default_rng(7), 4, 30)
    with pytest.raises(InputError, match="selection: 'best' is not known"):
        approximate_network(dataset, methods=ApproximateMethods("best"))
    with pytest.raises(InputError, match="search: 'k3' is not known"):
        approximate_network(dataset, methods=ApproximateMethods(search="k3"))
    with pytest.raises(InputError, match="max_parents: -1 is not a whole number of at least 0"):
        approximate_network(dataset, Claim(max_parents=-1))
    with pytest.raises(InputError, match="is for data, but local scores are given"):
        approximate_network(scores_of(random_families(np.random.default_rng(1), 3)), Claim("aic"))
    needs = "Exploring parent sets needs at least .* with 1 threads for this problem, and --memory grants 1000B"
    methods, budgets = ApproximateMethods("greedy"), Budgets(memory=1000, threads=1, time_limit=1.0)
    with pytest.raises(BudgetError, match=needs):
        approximate_network(dataset, methods=methods, budgets=budgets)
