"""The exploration of all children: budgets, threads, stops, what is known already, progress."""

import time

import numpy as np
import pytest
from cases import dataset_of, random_dataset
from naive import mdl
from soundness import check_list

from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.core.events import StageAdvanced
from extbnsl.machine.budgets import Deadline
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.explored import explore
from extbnsl.parents.explored.explore import (
    ALL,
    MEMORY,
    SECONDS,
    SETS,
    STOPPED,
    Effort,
    exploration,
    explored_families,
    without_parents,
)

PLENTY = 1 << 28
NOTHING = np.zeros(1, np.uint8)


def found(problem, effort, threads=1, stop=lambda: None, **options):
    with Workers(threads, stop) as workers:
        return explored_families(problem, effort, workers, PLENTY, **options)


def same(one, other):
    """Whether two results agree in all that they say."""
    arrays = ("starts", "parents", "costs")
    return (one.child, one.scored, one.ended) == (other.child, other.scored, other.ended) and all(
        np.array_equal(getattr(one.families, name), getattr(other.families, name)) for name in arrays
    )


@pytest.fixture(scope="module")
def dataset():
    """More variables than a word has bits, each a noisy function of its neighbours."""
    rng = np.random.default_rng(7)
    codes = rng.integers(0, 2, (300, 90))
    for v in range(2, 90):
        codes[:, v] = np.where(rng.random(300) < 0.8, codes[:, v - 1] ^ codes[:, v - 2], codes[:, v])
    return dataset_of(codes)


@pytest.mark.parametrize("selection", explore.SELECTIONS)
def test_threads_change_nothing(dataset, selection):
    problem = exploration(dataset, selection, first=0.5)
    one, three = (found(problem, Effort(sets=60), threads) for threads in (1, 3))
    assert all(map(same, one, three))
    assert [own.child for own in one] == list(range(90))
    assert {own.ended for own in one} <= {SETS, ALL}
    assert max(own.scored for own in one) == 60
    for own in one[::9]:
        check_list(own.families)
        for i in range(own.families.families):
            cost = mdl(dataset.codes, dataset.arities, own.child, own.families.members(i))
            assert own.families.costs[i] == pytest.approx(cost, abs=1e-8)


def test_independence_looks_first_where_single_parents_say_it_is():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, (600, 90))
    codes[:, 0] = (codes[:, [30, 50, 70]].sum(axis=1) + (rng.random(600) < 0.2)) >= 2
    best = {}
    for selection in explore.SELECTIONS:
        problem = exploration(dataset_of(codes), selection)
        best[selection] = explore.explore_child(0, problem, Effort(sets=12), PLENTY, NOTHING).families
    assert best["independence"].members(0) == (30, 50, 70)
    assert best["independence"].costs[0] < min(best["greedy"].costs[0], best["sequential"].costs[0])


def test_only_so_many_families_are_kept(dataset):
    problem = exploration(dataset, "sequential")
    all_, some = (found(problem, Effort(sets=200, families=most)) for most in (None, 3))
    for own, cut in zip(all_, some, strict=True):
        assert cut.families.families == min(3, own.families.families)
        assert cut.families.costs[0] == own.families.costs[0]
        assert () in [cut.families.members(i) for i in range(cut.families.families)]


def test_a_stop_keeps_what_is_known(dataset):
    problem = exploration(dataset)
    done = []
    stop = lambda: "interrupted" if len(done) >= 10 else None  # noqa: E731
    result = found(problem, Effort(sets=60), 2, stop, on_child=done.append)
    assert [own.child for own in result] == list(range(90))
    whole = found(problem, Effort(sets=60))
    ended = [own for own in result if own.ended != STOPPED]
    assert 10 <= len(ended) < 60
    assert all(same(own, whole[own.child]) for own in ended)
    assert same(result[-1], without_parents(89, problem))
    assert without_parents(89, problem).families.costs[0] == pytest.approx(mdl(dataset.codes, dataset.arities, 89, []))


def test_a_child_without_an_end_is_cut_short_and_keeps_what_it_has(dataset):
    problem = exploration(dataset)
    found(problem, Effort(sets=1), 1)  # compiles
    begun = time.monotonic()
    stop = lambda: "time_limit" if time.monotonic() > begun + 1.0 else None  # noqa: E731
    result = found(problem, Effort(), 1, stop)
    assert time.monotonic() < begun + 30
    assert result[0].ended == STOPPED
    assert result[0].scored > 0
    assert result[0].families.families > 1


def test_known_children_are_not_explored_again(dataset):
    problem = exploration(dataset)
    first = []

    def commit(own):
        first.append(own)
        if len(first) == 5:
            raise Stopped("interrupted")

    begun = found(problem, Effort(sets=40), on_child=commit)
    known = {own.child: own for own in begun}
    again = []
    result = found(problem, Effort(sets=40), known=known, on_child=again.append)
    ended = {own.child for own in begun if own.ended != STOPPED}
    assert ended >= {own.child for own in first}
    assert [own.child for own in again] == [child for child in range(90) if child not in ended]
    assert all(map(same, result, found(problem, Effort(sets=40))))


def test_a_time_for_each_child_is_kept(dataset):
    problem = exploration(dataset)
    found(problem, Effort(sets=1))  # compiles
    halt = np.zeros(1, np.uint8)
    begun = time.monotonic()
    own = explore.explore_child(4, problem, Effort(seconds=0.2), PLENTY, halt)
    assert own.ended == SECONDS
    assert own.scored > 100
    assert 0.2 <= time.monotonic() - begun < 10
    none = explore.explore_child(4, problem, Effort(seconds=0.0), PLENTY, halt)
    assert (none.ended, none.scored) == (SECONDS, 0)
    assert none.families.families > 1  # the single parents are there


def test_what_some_children_overrun_is_taken_from_those_that_follow(dataset, monkeypatch):
    now, parts = [0.0], []

    def slow(child, problem, effort, memory, halt):
        parts.append(effort.seconds)
        now[0] += effort.seconds * (3 if len(parts) <= 20 else 0.5 if len(parts) <= 40 else 1)
        return without_parents(child, problem)

    monkeypatch.setattr(explore, "explore_child", slow)
    found(exploration(dataset), Effort(until=Deadline(90.0, lambda: now[0])))
    assert parts[0] == pytest.approx(1.0)
    assert parts[20] < 0.6 < parts[-1] < 1.0
    assert now[0] == pytest.approx(90.0)


def test_a_short_exploration_makes_no_room_for_a_long_one(dataset, calls):
    made = calls("parents.explored.closed", "new_closed")
    own = explore.explore_child(4, exploration(dataset), Effort(seconds=0.001), 1 << 34, NOTHING)
    assert own.ended == SECONDS
    assert made[0].given[0] < 90 + explore.FASTEST / 500


def test_progress_is_told_child_by_child(dataset):
    told = []
    found(exploration(dataset), Effort(sets=2), observer=told.append)
    assert told == [StageAdvanced("parents", k, 90, "variables") for k in range(1, 91)]


def test_one_variable_and_columns_that_do_not_vary():
    one = found(exploration(dataset_of([[0], [1], [1]])), Effort())
    assert [(own.families.members(0), own.families.families, own.ended) for own in one] == [((), 1, ALL)]
    still = dataset_of(np.zeros((20, 3)), [1, 2, 1])
    for own in found(exploration(still), Effort()):
        assert own.families.costs.tolist() == pytest.approx([mdl(still.codes, still.arities, own.child, [])])


def test_no_parents_where_none_are_allowed():
    dataset = random_dataset(np.random.default_rng(0), 4, 100)
    for own in found(exploration(dataset, claim=Claim(max_parents=0)), Effort()):
        assert (own.families.families, own.families.members(0), own.ended) == (1, (), ALL)


def test_a_score_that_there_is_not_is_refused(dataset):
    with pytest.raises(InputError, match="score: 'none' is not known"):
        exploration(dataset, claim=Claim("none"))


def test_the_least_memory_does_for_single_parents(dataset):
    problem = exploration(dataset)
    with Workers(2) as workers:
        found = explored_families(problem, Effort(), workers, 2 * explore.thread_bytes(problem.data))
    assert all(own.families.families > 1 for own in found)
    assert {own.ended for own in found} <= {MEMORY, ALL}
