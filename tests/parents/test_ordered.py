"""The best parents under an order: brute force, the slow twins, limits, ties, threads, and stops."""

import naive
import numpy as np
import ordered_twins as twins
import pytest
from cases import dataset_of, from_array, full_xor_rows, random_dataset
from hypothesis import given, settings
from hypothesis import strategies as st
from soundness import check_table

from extbnsl.core.claims import Claim
from extbnsl.core.data_options import STATES
from extbnsl.core.errors import BudgetError, InputError
from extbnsl.core.events import StageAdvanced, ignore
from extbnsl.data.reading import read_csv
from extbnsl.lab.baselines.suzuki import find_by_suzuki
from extbnsl.machine.workers import Workers
from extbnsl.parents.ordered.choosing import child_table, choose_parents, order_problem
from extbnsl.parents.ordered.methods import BOUNDS, DFBNB, METHODS, OrderMethods
from extbnsl.scores import known, mdl
from extbnsl.scores.counting import mlogm_table
from extbnsl.scores.mdl import MDL
from extbnsl.scores.score import ParameterScore

EXACT = [OrderMethods("suzuki"), OrderMethods("dfbnb-k3", "own"), OrderMethods("dfbnb-k3", "fixed")]
PLENTY = 1 << 40


def choices(dataset, order, methods, claim=Claim(), threads=1, stop=lambda: None, observer=ignore):
    with Workers(threads, stop) as workers:
        search = find_by_suzuki if methods.method == "suzuki" else None
        return choose_parents(order_problem(dataset, order, claim, methods, search), workers, PLENTY, observer)


def chosen(dataset, order, methods, **options):
    found, stopped = choices(dataset, order, methods, **options)
    assert stopped is None
    assert [choice.child for choice in found] == list(order)
    assert all(choice.complete for choice in found)
    return found


def twin(method, own, limit):
    if method.method == "k3":
        return twins.k3(own, limit)
    if method.method == "suzuki":
        return twins.suzuki(own, limit)
    return twins.dfbnb(own, limit, method.bound == "own")


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 7), st.sampled_from(("mdl", "aic")), st.sampled_from((None, 0, 1, 2)))
def test_every_method_does_what_its_slow_twin_does(seed, n, score, most):
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, n, int(rng.integers(1, 120)))
    order = rng.permutation(n).tolist()
    limit = n if most is None else most
    for method in (OrderMethods("k3"), *EXACT):
        for place, choice in enumerate(chosen(dataset, order, method, claim=Claim(score, most))):
            own = twins.Child(score, dataset.codes, dataset.arities, order[place], order[:place])
            cost, parents, states = twin(method, own, limit)
            assert choice.cost == pytest.approx(cost, rel=1e-12, abs=1e-9)
            assert (choice.parents, choice.states) == (tuple(sorted(parents)), states)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 11), st.sampled_from(("mdl", "aic")))
def test_every_exact_method_finds_what_brute_force_finds(seed, n, score):
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, n, int(rng.integers(1, 200)), largest_arity=3)
    order = rng.permutation(n).tolist()
    costs = naive.all_local_scores(dataset.codes, dataset.arities, score=score)
    found = [chosen(dataset, order, method, claim=Claim(score)) for method in EXACT]
    assert len({tuple(choice.parents for choice in one) for one in found}) == 1
    for place, choice in enumerate(found[0]):
        before = sum(1 << v for v in order[:place])
        inside = [v for v in range(1 << n) if v & ~before == 0]
        assert choice.cost == pytest.approx(costs[choice.child][inside].min(), rel=1e-12, abs=1e-9)


def test_among_equal_costs_fewer_parents_win_and_then_the_first_in_the_order():
    a = np.array([0, 0, 1, 1] * 20)
    noise = np.random.default_rng(1).integers(0, 2, 80)
    dataset = dataset_of(np.column_stack([noise, a, a, a]))
    for method in (OrderMethods("k3"), *EXACT):
        assert [choice.parents for choice in chosen(dataset, [0, 1, 2, 3], method)] == [(), (), (1,), (1,)]
        assert [choice.parents for choice in chosen(dataset, [0, 2, 3, 1], method)] == [(), (), (2,), (2,)]
        own = twins.Child("mdl", dataset.codes, dataset.arities, 1, [0, 2, 3])
        assert chosen(dataset, [0, 2, 3, 1], method)[3].parents == twins.brute(own, [0, 2, 3], 3)[1]


def test_k3_is_trapped_by_an_exclusive_or_and_the_exact_methods_say_so():
    dataset = from_array(full_xor_rows(30))
    assert [choice.parents for choice in chosen(dataset, [0, 1, 2], OrderMethods("k3"))] == [(), (), ()]
    assert [choice.trapped for choice in chosen(dataset, [0, 1, 2], OrderMethods("k3"))] == [None] * 3
    for method in EXACT:
        found = chosen(dataset, [0, 1, 2], method)
        assert found[2].parents == (0, 1)
        assert [choice.trapped for choice in found] == [False, False, True]


def test_one_variable_constants_and_a_variable_that_is_never_a_parent():
    assert chosen(dataset_of([[0]], [1]), [0], OrderMethods())[0].parents == ()
    rng = np.random.default_rng(2)
    copied = rng.integers(0, 2, 60)
    dataset = dataset_of(np.column_stack([np.zeros(60), copied, np.arange(60), copied]), [2, 2, 60, 2])
    for method in (OrderMethods("k3"), *EXACT):
        found = chosen(dataset, [0, 1, 2, 3], method)
        assert [choice.parents for choice in found] == [(), (), (), (1,)]
        assert [choice.states for choice in found[:2]] == [1, 1]


@pytest.mark.parametrize("threads", [2, 3])
def test_what_is_found_does_not_depend_on_threads(threads):
    dataset = random_dataset(np.random.default_rng(5), 12, 300)
    for method in (OrderMethods("k3"), *EXACT):
        assert chosen(dataset, range(12), method) == chosen(dataset, range(12), method, threads=threads)


def test_more_variables_than_a_word_has_bits():
    rng = np.random.default_rng(6)
    codes = rng.integers(0, 2, (150, 90))
    codes[:, 80] = codes[:, 3] ^ codes[:, 70]
    codes[:, 81] = codes[:, 66]
    dataset = from_array(codes)
    for method in EXACT:
        found = chosen(dataset, range(90), method, claim=Claim(max_parents=2))
        assert (found[80].parents, found[81].parents) == ((3, 70), (66,))


@pytest.mark.slow
def test_all_methods_agree_with_the_local_scores_of_alarm(shared_data):
    """The least local score inside the predecessors, of the families that the exhaustive enumeration keeps."""
    from flat import compute_scores

    from extbnsl.kernels.varsets import pack

    sampled = shared_data / "sampled"
    dataset = read_csv(sampled / "alarm_1000.csv", arities=str(sampled / "alarm.arities.txt"))
    scores = compute_scores(dataset)
    order = np.random.default_rng(3).permutation(37).tolist()
    for method in (OrderMethods("dfbnb-k3", "own"), OrderMethods("dfbnb-k3", "fixed")):
        for place, choice in enumerate(chosen(dataset, order, method)):
            outside = ~pack(order[:place], 37)
            inside = ~(scores.parents[choice.child] & outside).any(axis=1)
            assert choice.cost == pytest.approx(scores.costs[choice.child][inside].min(), rel=1e-9)


def test_a_stop_leaves_what_was_found():
    dataset = random_dataset(np.random.default_rng(7), 20, 400)
    full = chosen(dataset, range(20), OrderMethods())
    greedy = chosen(dataset, range(20), OrderMethods("k3"))
    seen = []

    def stop():
        return "time_limit" if seen and seen[-1].detail == "dfbnb-k3" else None

    found, stopped = choices(dataset, range(20), OrderMethods(), stop=stop, observer=seen.append)
    assert stopped == "time_limit"
    incomplete = [choice for choice in found if not choice.complete]
    assert incomplete
    assert all(choice.trapped is not False for choice in incomplete)
    for choice, least, most in zip(found, full, greedy, strict=True):
        assert least.cost - 1e-9 <= choice.cost <= most.cost + 1e-9
    nothing, stopped = choices(dataset, range(20), OrderMethods(), stop=lambda: "interrupted")
    assert stopped == "interrupted"
    assert all(choice.cost >= least.cost - 1e-9 for choice, least in zip(nothing, full, strict=True))
    assert (nothing[-1].parents, nothing[-1].complete) == ((), False)


def test_progress_is_told_for_each_method():
    told = []
    chosen(dataset_of([[0, 1], [1, 0]]), [1, 0], OrderMethods("suzuki"), observer=told.append)
    assert [(event.detail, event.done, event.total) for event in told if isinstance(event, StageAdvanced)] == [
        ("k3", 1, 2), ("k3", 2, 2), ("suzuki", 1, 2), ("suzuki", 2, 2),
    ]  # fmt: skip


def test_too_little_memory_is_said_before_any_work():
    dataset = dataset_of(np.zeros((1000, 2)))
    problem = order_problem(dataset, [0, 1], Claim(), OrderMethods())
    with Workers(1) as workers, pytest.raises(BudgetError, match="The search under an order needs at least"):
        choose_parents(problem, workers, 1000, ignore)


def test_words_that_are_not_known_are_refused():
    for methods in (OrderMethods("k4"), OrderMethods(bound="loose")):
        with pytest.raises(InputError, match="is not known; use one of"):
            methods.check()
    for word in METHODS:
        OrderMethods(word).check()
    assert [OrderMethods(DFBNB, bound).has_own_bounds(1000) for bound in BOUNDS] == [True, True, False]
    assert [OrderMethods(DFBNB, bound).has_own_bounds(250) for bound in BOUNDS] == [False, True, False]


def test_a_score_that_nobody_foresaw_is_searched_as_its_class_says(monkeypatch):
    new = ParameterScore("two-nats", "Two nats", "score", lambda records: 2.0)
    monkeypatch.setattr(mdl, "TWO_NATS", new, raising=False)
    monkeypatch.setitem(known.SCORES, new.name, ("mdl", "TWO_NATS", STATES))
    monkeypatch.setattr(known, "NAMES", (*known.NAMES, new.name))
    assert OrderMethods().for_claim(Claim(new.name)).method == DFBNB
    assert OrderMethods("k3").for_claim(Claim(new.name)).method == "k3"
    assert OrderMethods().for_claim(Claim("k2")).method == "enumeration"


def test_a_table_has_the_distinct_rows_of_its_columns():
    dataset = dataset_of([[0, 1, 1], [0, 1, 0], [0, 1, 1]], [2, 2, 3])
    table = child_table(dataset, 1, [0], MDL, mlogm_table(3))
    check_table(table)
    assert table.weights.tolist() == [3]
    assert (table.child_arity, table.arities.tolist()) == (2, [2])
