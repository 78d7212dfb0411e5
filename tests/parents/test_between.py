"""Scores of cells child by child: the bound between two parent sets, and the families that it leaves."""

import itertools
import math

import naive
import numpy as np
import pytest
from calling import called
from cases import claim_by, dataset_of, in_parts, random_dataset, shelf_of
from kept import enumeration
from numba import njit
from patching import SMALL_TASKS
from soundness import check_enumeration

from extbnsl.core.claims import DISK_LIMIT, MEMORY_LIMIT
from extbnsl.core.events import StageAdvanced, Warned, ignore
from extbnsl.core.knowledge import Knowledge
from extbnsl.files.store import Store
from extbnsl.kernels.varsets import as_varsets
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.exhaustive import between, between_bounds, between_cells, by_level, cells_by_child
from extbnsl.parents.exhaustive.children import child_of
from extbnsl.parents.exhaustive.problem import varying
from extbnsl.parents.exhaustive.source import source_of
from extbnsl.parents.exhaustive.state import Means, start_enumeration
from extbnsl.parents.exhaustive.stored import read_enumeration, write_enumeration
from extbnsl.parents.exhaustive.surviving import surviving_families
from extbnsl.scores.known import score_of
from extbnsl.scores.rows import Rows


@pytest.fixture(autouse=True)
def many_tasks(sizes):
    """The search of each child is cut into as many tasks as those of many variables are."""
    sizes(SMALL_TASKS)


@njit
def bounds(open_, joint, size, task, frames):
    """What the parents of a node cost, and for each candidate that may be added the bound of all with it."""
    cost = between.open_root(open_, joint, size, task, frames)
    between_bounds.find_bounds(0, task, frames)
    return cost, frames.bound[0]


def node(parents, candidates, n):
    """A node as its task has it."""
    return as_varsets(np.array([np.isin(np.arange(n), list(own)) for own in (parents, candidates)]))


def bounds_at(x, problem, parents, candidates, complete_to):
    """What these parents of a child cost, and the bounds of the candidates."""
    nothing = np.zeros((0, 1), np.uint64), np.zeros(0)
    child = child_of(problem, x)
    order = cells_by_child.order_of(problem.rows)
    task = cells_by_child.task_of(child, cells_by_child.CellSearches(problem, order, complete_to, None), nothing)
    frames = cells_by_child.frames_of(task, 8)
    cost = cells_by_child.open_node(*node(parents, candidates, problem.limits.size), task, frames, child, problem)
    space_of = np.isin(task.variables, list(candidates))
    again, found = bounds(space_of, float(frames.joint[0]), int(frames.size[0]), task, frames)
    assert again == cost
    return cost, dict(zip(task.variables.tolist(), found.tolist(), strict=True))


SCORES = ("bdeu:0.01", "bdeu", "bdeu:10", "bdeu:300", "bds:0.1", "bds:5", "bds:100", "k2", "fnml")
# Of rows that are records, and of parts of some.
EITHER = [(score, False) for score in SCORES] + [(score, True) for score in (*SCORES[:-1], "bdeu:1e4", "bds:1e-90")]


def cost_of(score, dataset, child, parents):
    weights = None if dataset.weights is None else np.full(dataset.records, dataset.each)
    return naive.family_cost(score, dataset.codes, dataset.arities, child, parents, weights)


def families(dataset, score, begun=None, slack=0.0, threads=1, max_parents=None, seen=None, memory=1 << 30, **given):
    on_progress = (lambda known: None) if seen is None else seen.append
    claim = claim_by(score, max_parents, **given)
    with Workers(threads) as workers:
        return surviving_families(dataset, claim, Means(workers, shelf_of(memory), ignore), begun, on_progress, slack)


def child_by_child(dataset, score, **options):
    n = varying(dataset, score_of(claim_by(score))).size
    return families(dataset, score, begun=start_enumeration(n), **options)


def as_dicts(scores):
    return [
        {tuple(row): cost for row, cost in zip(parents.tolist(), costs.tolist(), strict=True)}
        for parents, costs in zip(scores.parents, scores.costs, strict=True)
    ]


def assert_same(one, other):
    for own, others in zip(as_dicts(one), as_dicts(other), strict=True):
        cheap = min(own.values())
        assert cheap == pytest.approx(min(others.values()), rel=1e-9)
        for parents in own.keys() ^ others.keys():  # only what a subset costs as much as, but for rounding
            left = others if parents in own else own
            cost = (own if parents in own else others)[parents]
            inside = [c for p, c in left.items() if all(not a & ~b for a, b in zip(p, parents, strict=True))]
            assert cost == pytest.approx(min(inside), rel=1e-9, abs=1e-9)
        for parents in own.keys() & others.keys():
            assert own[parents] == pytest.approx(others[parents], rel=1e-9, abs=1e-9)


def best_inside(scores, child, varset):
    parents, costs = scores.parents[child][:, 0].tolist(), scores.costs[child].tolist()
    return next(cost for p, cost in zip(parents, costs, strict=True) if not p & ~varset)


@pytest.mark.parametrize(("score", "parts"), EITHER)
@pytest.mark.parametrize("seed", range(4))
def test_between_two_parent_sets_nothing_costs_less_than_the_bound(score, parts, seed):
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, 6, int(rng.integers(3, 60)), 3)
    if seed % 2:  # many records are the same
        again = rng.integers(0, dataset.records, 4 * dataset.records)
        dataset = dataset_of(dataset.codes[again], dataset.arities.tolist())
    dataset = in_parts(rng, dataset) if parts else dataset
    claim = claim_by(score)
    order = varying(dataset, score_of(claim))
    problem, n = source_of(dataset, claim).problem(0.0), order.size
    for x in range(n):
        others = [v for v in range(n) if v != x]
        costs = {
            own: cost_of(score, dataset, order[x], tuple(order[sorted(own)]))
            for size in range(n)
            for own in map(frozenset, itertools.combinations(others, size))
        }
        for parents in costs:
            candidates = [v for v in others if v not in parents and rng.random() < 0.8]
            complete_to = int(rng.integers(-1, 3))
            cost, found = bounds_at(x, problem, parents, candidates, complete_to)
            assert cost == pytest.approx(costs[parents], rel=1e-9, abs=1e-9)
            upper = parents | set(candidates)
            inside = {own: c for own, c in costs.items() if parents < own <= upper and len(own) > complete_to}
            for v in candidates:
                cheapest = min((c for own, c in inside.items() if v in own), default=math.inf)
                assert found[v] <= cheapest + 1e-9 * (1.0 + abs(cheapest))


@pytest.mark.parametrize(("score", "each"), [("k2", 1.0), ("fnml", 1.0), ("k2", 0.9), ("k2", 0.1), ("k2", 1e-3)])
@pytest.mark.parametrize("arity", range(2, 11))
def test_tables_are_as_the_bounds_by_them_need(score, each, arity):
    records = 3000
    form = score_of(claim_by(score)).formula(Rows(records, each, each), np.array([arity]), 1)
    own, joint, mixed = form.own[0], form.joint, form.mixed[0]
    single, counts, rng = own - joint, np.arange(records + 1), np.random.default_rng(arity)
    assert own[0] == joint[0] == mixed[0] == 0.0
    assert each != 1.0 or single[1] == pytest.approx(math.log(arity))
    for table in (single, np.diff(own), np.diff(own - mixed)):
        assert (np.diff(table) >= (-1e-11 if each == 1.0 else -1e-10)).all()
    for m in [*range(60), *rng.integers(0, records, 60).tolist()]:
        assert (single[m] + single[: records + 1 - m] >= single[m:] - 1e-9).all()
    mlogm = each * counts * np.log(np.maximum(counts, 1))
    parts = rng.integers(0, rng.choice([2, 4, 20, 150], (20_000, 1, 1)), (20_000, 2, min(arity, 4)))
    joined = parts.sum(axis=1)

    def of_cells(table, cells):
        return table[cells.sum(axis=-1)] - table[cells].sum(axis=-1)

    costs = own[parts.sum(axis=-1)] - joint[parts].sum(axis=-1), own[joined.sum(axis=-1)] - joint[joined].sum(axis=-1)
    assert (of_cells(mixed, joined) >= of_cells(mixed, parts).sum(axis=1) - 1e-9).all()
    assert (of_cells(own, joined) >= of_cells(mixed, joined) - 1e-9).all()
    assert (costs[1] >= costs[0][:, 0] + of_cells(mlogm, parts[:, 1]) - 1e-9).all()


def test_by_slopes_that_rise_a_cell_of_parts_of_records_costs_least_by_the_largest_prior():
    """Each is a lower bound; they are no proof alone where smaller priors are worse, and say so."""
    rng, said, cheaper = np.random.default_rng(3), 0, 0
    fill = called(between_cells._fill_parts)
    for _ in range(3000):
        each, arity, prior = 10.0 ** rng.uniform(-3, 0), int(rng.integers(2, 6)), 10.0 ** rng.uniform(-2, 3)
        counts = rng.integers(1, 2 + 10 ** rng.uniform(0.0, 2.5, int(rng.integers(2, arity + 1))))
        known, rows = np.zeros((4, int(counts.sum()) + 1)), int(counts.sum())
        fill(prior, prior / arity, 0, rows, each, known)
        slope = known[between_cells.JOINT_SLOPE, counts].sum() - known[between_cells.OWN_SLOPE, rows]
        cells = {(): dict(enumerate((counts * each).tolist()))}
        costs = [naive.dirichlet_cost(own, arity, cells) for own in prior * np.geomspace(1.0, 1e-9, 25)]
        found = known[between_cells.OWN, rows] - known[between_cells.JOINT, counts].sum()
        assert found == pytest.approx(costs[0], abs=1e-9)
        if slope >= between_cells.STEEP:
            said += 1
            assert min(costs) >= costs[0] - 1e-9
        cheaper += min(costs) < costs[0] - 1e-6
    assert said > 500
    assert cheaper > 500


def test_records_that_nothing_can_tell_apart_any_more_are_dear():
    codes = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 1, 1]] * 5)  # the last is the child
    problem = source_of(dataset_of(codes), claim_by("bdeu")).problem(0.0)
    _, found = bounds_at(2, problem, {0}, {1}, -1)
    cost = naive.family_cost("bdeu", codes, [2, 2, 2], 2, (0, 1))
    assert 4 * math.log(2.0) < 30 / 4 < 0.7 * cost < found[1] <= cost


@pytest.mark.parametrize(("score", "parts"), EITHER)
@pytest.mark.parametrize("seed", range(6))
def test_child_by_child_gives_the_families_of_the_levels(score, parts, seed):
    rng = np.random.default_rng(100 + seed)
    dataset = random_dataset(rng, 8, int(rng.integers(4, 120)), 4)
    dataset = in_parts(rng, dataset) if parts else dataset
    assert_same(families(dataset, score).scores, child_by_child(dataset, score, threads=1 + seed % 2).scores)


@pytest.mark.parametrize("score", ["bdeu", "bdeu:10", "bds:5", "k2", "fnml"])
@pytest.mark.parametrize(("search", "each"), [(child_by_child, 1.0), (child_by_child, 0.3), (families, 0.3)])
def test_all_that_is_within_the_slack_is_there(score, search, each):
    rng = np.random.default_rng(7)
    dataset = random_dataset(rng, 6, 40, 3)
    if each != 1.0 and score != "fnml":
        dataset = in_parts(rng, dataset, each)
    found, costs = search(dataset, score, slack=2.0).scores, np.full((6, 64), np.inf)
    for child, varset in itertools.product(range(6), range(64)):
        if not varset >> child & 1:
            costs[child, varset] = cost_of(score, dataset, child, naive.members(varset))
    constant = dataset.codes.max(axis=0) == 0
    usable = sum(1 << v for v in np.flatnonzero(dataset.arities > 1).tolist())
    for child, own in enumerate(as_dicts(found)):
        for varset in np.flatnonzero(np.isfinite(costs[child])).tolist():
            if varset & ~usable or constant[child]:
                continue
            proper = [costs[child, s] for s in range(varset) if not s & ~varset]
            if not proper or costs[child, varset] < min(proper) + 2.0 - 1e-9:
                assert own[(varset,)] == pytest.approx(costs[child, varset], rel=1e-9)


@pytest.mark.parametrize("score", ["bdeu", "bds:5", "k2", "fnml"])
def test_limits_required_parents_and_forbidden_arcs_hold(score):
    dataset = random_dataset(np.random.default_rng(3), 8, 80, 3)
    names = dataset.names
    knowledge = Knowledge(required=((names[0], names[1]), (names[0], names[2])), forbidden=((names[3], names[4]),))
    for most in (0, 1, 3):
        one = families(dataset, score, max_parents=most).scores
        assert_same(one, child_by_child(dataset, score, max_parents=most).scores)
    one = families(dataset, score, knowledge=knowledge).scores
    assert_same(one, child_by_child(dataset, score, knowledge=knowledge).scores)


@pytest.mark.parametrize("codes", [np.zeros((5, 3), int), np.array([[0, 1]]), np.eye(4, dtype=int)])
def test_odd_data(codes):
    dataset = dataset_of(codes, [2] * codes.shape[1])
    assert_same(families(dataset, "bdeu").scores, child_by_child(dataset, "bdeu").scores)


def test_levels_go_over_to_children_where_they_are_too_large(sizes):
    dataset = random_dataset(np.random.default_rng(5), 9, 100, 3)
    plain = families(dataset, "bdeu")
    sizes({"cells_by_child.MANY": 20, "cells_by_child.FEW": 10})
    seen = []
    mixed = families(dataset, "bdeu", seen=seen)
    assert any(known.level is not None for known in seen)
    assert any(known.children for known in seen)
    assert mixed.stopped is None
    assert_same(plain.scores, mixed.scores)
    assert (mixed.least <= [c[0] for c in plain.scores.costs]).all()


@pytest.mark.parametrize(("score", "told"), [("bdeu", "child "), ("mdl", "parent sets of size ")])
def test_the_share_that_is_done_rises_within_a_child_too(score, told):
    dataset, events = dataset_of(np.random.default_rng(6).integers(0, 3, (100, 10))), []
    n = varying(dataset, score_of(claim_by(score))).size
    with Workers(1) as workers:
        means = Means(workers, shelf_of(), events.append)
        surviving_families(dataset, claim_by(score), means, start_enumeration(n), lambda known: None)
    shares = {}
    for event in events:
        if isinstance(event, StageAdvanced) and event.detail.startswith(told) and event.total:
            kind = "" if score == "bdeu" else event.detail
            shares.setdefault(kind, []).append(event.done / event.total)
    assert shares
    for own in shares.values():
        assert own == sorted(own)
        assert 0.0 <= own[0] <= own[-1] <= 1.0
    assert max(len(set(own)) for own in shares.values()) > n  # more than one a child


def test_goes_on_from_whatever_was_stored(tmp_path):
    dataset = random_dataset(np.random.default_rng(11), 8, 100, 3)
    seen = []
    whole = child_by_child(dataset, "bdeu:10", seen=seen)
    for number, known in enumerate(seen[:-1:5]):
        check_enumeration(known)
        folder = tmp_path / str(number)
        folder.mkdir()
        stored = write_enumeration(known, Store(folder, 1 << 30), lambda: False, lambda size: None)
        begun = read_enumeration(enumeration(stored), folder, shelf_of())
        again = families(dataset, "bdeu:10", begun=begun, threads=1 + number % 2)
        assert again.varsets == whole.varsets
        assert_same(whole.scores, again.scores)


def test_a_stop_leaves_bounds():
    dataset = random_dataset(np.random.default_rng(13), 8, 100, 3)
    whole = families(dataset, "bdeu")
    calls = itertools.count()

    def stop(known):
        if next(calls) == 10:
            raise Stopped("time_limit")

    n = varying(dataset, score_of(claim_by("bdeu"))).size
    with Workers(1) as workers:
        begun = start_enumeration(n)
        part = surviving_families(dataset, claim_by("bdeu"), Means(workers, shelf_of(), ignore), begun, stop)
    assert part.stopped == "time_limit"
    assert (part.least <= np.array([c[0] for c in whole.scores.costs]) + 1e-9).all()


def test_the_dearest_children_come_first_and_those_that_are_through_are_known():
    rng = np.random.default_rng(13)
    codes = rng.integers(0, 3, (60, 6))
    codes[:, 1] = np.where(rng.random(60) < 0.1, codes[:, 1], codes[:, 0])  # tells much of another
    dataset, claim, seen = dataset_of(codes), claim_by("bdeu:10"), []
    whole = child_by_child(dataset, "bdeu:10", seen=seen)
    best, order = np.array([c[0] for c in whole.scores.costs]), varying(dataset, score_of(claim))
    known = [known for known in seen if known.children]
    alone = [known[0].costs[child.index][0] for child in known[0].children]
    assert len({child.index for child in known[0].children}) == 6
    assert {int(order[child.index]) for child in known[0].children[-2:]} == {0, 1}
    assert alone == sorted(alone, reverse=True)

    def stop(found):
        raise Stopped("time_limit")

    for begun in known:
        with Workers(1) as workers:
            part = surviving_families(dataset, claim, Means(workers, shelf_of(), ignore), begun, stop)
        going_on = {int(order[child.index]) for child in begun.children}
        through = [x for x in range(6) if x not in going_on]
        assert np.isinf(part.unjudged[through]).all()
        assert np.isfinite(part.unjudged).sum() >= len(going_on) - 1  # the task that was left may have been the last
        assert part.least[through] == pytest.approx(best[through])
        assert (part.least <= best + 1e-9).all()


def test_too_little_memory_is_said():
    dataset = random_dataset(np.random.default_rng(17), 8, 500, 3)
    told = []
    with Workers(1) as workers:
        n = varying(dataset, score_of(claim_by("bdeu"))).size
        begun = start_enumeration(n)
        part = surviving_families(dataset, claim_by("bdeu"), Means(workers, shelf_of(1000), told.append), begun)
    assert part.stopped == MEMORY_LIMIT
    assert any(isinstance(event, Warned) for event in told)
    assert np.isfinite(part.least).all()
    assert all(math.isfinite(costs[0]) for costs in part.scores.costs)


def test_scores_that_are_counted_by_level_alone_stop_with_bounds_where_memory_is_short():
    dataset = random_dataset(np.random.default_rng(19), 12, 300, 3)
    whole = families(dataset, "qnml")
    assert whole.stopped is None
    part = families(dataset, "qnml", memory=20_000)
    assert part.stopped in (MEMORY_LIMIT, DISK_LIMIT)
    assert (part.least <= np.array([costs[0] for costs in whole.scores.costs]) + 1e-9).all()
    assert all(costs.size for costs in part.scores.costs)


def test_where_memory_is_short_for_a_level_children_are_judged_by_themselves(monkeypatch):
    dataset = random_dataset(np.random.default_rng(19), 9, 60, 3)
    whole, seen = families(dataset, "bdeu"), []

    def need(counting, size):
        if size > 500:
            raise Stopped(MEMORY_LIMIT)

    monkeypatch.setattr(by_level._Counting, "_need", need)
    part = families(dataset, "bdeu", seen=seen)
    assert any(known.children for known in seen)
    assert part.stopped is None
    assert_same(whole.scores, part.scores)
