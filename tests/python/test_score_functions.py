"""A score that is a function of a caller: asked once for each family, checked, and proved like any other."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import naive
import numpy as np
import pytest

import extbnsl
from extbnsl.core.errors import BudgetError, InputError

NAMES = ("a", "b", "c", "d")


def table_of(seed, share=1.0):
    """Costs of the families of NAMES of at most 2 parents, infinity for some."""
    rng = np.random.default_rng(seed)
    return {
        (child, parents): float(rng.choice([rng.normal(0, 5), 1.0, math.inf], p=[share * 0.8, share * 0.2, 1 - share]))
        if parents
        else float(rng.normal(0, 5))
        for child in NAMES
        for size in range(3)
        for parents in itertools.combinations([name for name in NAMES if name != child], size)
    }


def least_of(table, arcs=None, each=0.0):
    costs = np.full((4, 16), np.inf)
    for (child, parents), cost in table.items():
        more = sum(each + (arcs or {}).get((p, child), 0.0) for p in parents)
        costs[NAMES.index(child), sum(1 << NAMES.index(p) for p in parents)] = cost + more
    return naive.optimal_cost_dp(4, naive.best_scores(costs))


@pytest.mark.parametrize("seed", range(12))
def test_the_optimum_of_what_it_says(seed):
    table, asked = table_of(seed, 0.8), []

    def score(child, parents):
        asked.append((child, parents))
        return table[child, parents]

    result = extbnsl.learn(NAMES, score=score, max_parents=2, threads=1)
    assert result.status == "optimal"
    assert result.cost == pytest.approx(least_of(table), abs=1e-9)
    assert set(asked) == set(table)
    assert len(asked) == len(table) + len(NAMES)  # the cheapest family of each child twice
    best = extbnsl.k_best(NAMES, 3, score=score, max_parents=2, threads=1)
    assert best.cost == pytest.approx(result.cost, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_arcs_that_save_something_are_charged_to_all_families_that_may_win(seed):
    table, arcs = table_of(seed), {("a", "b"): -4.0, ("c", "b"): -2.0, ("b", "d"): 3.0}
    result = extbnsl.learn(
        NAMES,
        score=lambda child, parents: table[child, parents],
        max_parents=2,
        knowledge={"costs": arcs},
        parent_cost=0.5,
        threads=1,
    )
    assert result.cost == pytest.approx(least_of(table, arcs, 0.5), abs=1e-9)


def test_it_is_asked_for_what_knowledge_admits_alone():
    asked = set()

    def score(child, parents):
        asked.add((child, parents))
        return -float(len(parents))

    result = extbnsl.learn(
        {"a": [1, 2], "b": ["x", None], "c": [0.5, 0.25]},  # columns are not looked at
        score=score,
        max_parents=2,
        knowledge={"required": [["a", "b"]], "roots": ["a"]},
        threads=1,
    )
    assert result.parents["b"] in (["a"], ["a", "c"])
    assert asked == {
        ("a", ()), ("b", ("a",)), ("b", ("a", "c")), ("c", ()), ("c", ("a",)), ("c", ("b",)), ("c", ("a", "b"))
    }  # fmt: skip


def fails(child, parents):
    raise KeyError(child)


@pytest.mark.parametrize(
    ("score", "options", "text"),
    [
        (lambda child, parents: 1.0, {}, "max_parents: a score that is a function"),
        (fails, {"max_parents": 1}, "score: the function raised KeyError for 'a' without parents"),
        (
            lambda child, parents: None,
            {"max_parents": 1},
            "for 'a' without parents the function returned None, which",
        ),
        (lambda child, parents: "much", {"max_parents": 1}, "returned 'much', which is no number"),
        (lambda child, parents: math.nan, {"max_parents": 1}, "returned nan, which is no number"),
        (lambda child, parents: -math.inf, {"max_parents": 1}, "returned more than 1e+150 nats, or less than -1e+150"),
        (lambda child, parents: 1e308, {"max_parents": 1}, "returned more than 1e+150 nats, or less than -1e+150"),
        (lambda child, parents: -1e308, {"max_parents": 1}, "returned more than 1e+150 nats, or less than -1e+150"),
        (lambda child, parents: 10**400, {"max_parents": 1}, "returned more than 1e+150 nats, or less than -1e+150"),
        (lambda child, parents: "1", {"max_parents": 1}, "returned '1', which is no number"),
        (lambda child, parents: math.inf, {"max_parents": 1}, "allows no parent set of 'a'"),
        (itertools.count().__next__, {"max_parents": 1}, "score: the function raised TypeError"),
        (lambda child, parents: 1.0, {"max_parents": 1, "discretise": "mean"}, "discretise: the score is a function"),
        (lambda child, parents: 1.0, {"max_parents": 1, "penalty": 2.0}, "penalty: 2.0 is for data"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(score, options, text):
    with pytest.raises(InputError) as error:
        extbnsl.learn(NAMES, score=score, **options)
    assert text in str(error.value)


@pytest.mark.parametrize("number", [np.float32(2.0), np.int64(2), Fraction(2), Decimal(2), 2, True + 1])
def test_a_cost_is_a_number_of_any_kind(number):
    assert extbnsl.learn(NAMES, score=lambda child, parents: number, max_parents=1, threads=1).cost == 8.0


def test_the_largest_costs_are_added_up():
    assert extbnsl.learn(NAMES, score=lambda child, parents: 1e150, max_parents=1, threads=1).cost == 4e150


def test_another_answer_to_the_same_question_is_refused():
    numbers = itertools.count()
    with pytest.raises(InputError, match="must return the same for the same family"):
        extbnsl.learn(NAMES, score=lambda child, parents: float(next(numbers)), max_parents=1)


def test_the_time_limit_binds():
    with pytest.raises(BudgetError, match="Time was over when the function had costed 0 of"):
        extbnsl.learn(NAMES, score=lambda child, parents: 1.0, max_parents=3, time_limit="0.000001")


def test_more_than_64_variables_and_ties():
    names = [f"v{v}" for v in range(70)]
    result = extbnsl.learn(names, score=lambda child, parents: float(-len(parents)), max_parents=1, threads=1)
    assert result.cost == -69.0
    assert result.status == "optimal"
