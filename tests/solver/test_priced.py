"""Solves by price: the same optimum, certificates that a check repeats, and runs that go on from any moment."""

import json
import math

import naive
import numpy as np
import pytest
from cases import claim_by, dataset_of
from disk import Killed
from flat import solve
from patching import COMMIT_ALWAYS, fast_disk, sized
from portions import some
from survival import SharedDisk, arrays
from test_solve import StopAt

from extbnsl.core.events import IncumbentFound, StageAdvanced
from extbnsl.core.knowledge import Knowledge
from extbnsl.files.manifest import read_manifest
from extbnsl.files.names import MANIFEST
from extbnsl.machine.workers import Workers
from extbnsl.verify.statement import verify_optimality
from extbnsl.verify.verdict import verify

SMALL = {"cells_by_child.MANY": 20, "cells_by_child.FEW": 60, "rounds.FEW": 16, "rounds.MANY": 16}
SCORES = ("bdeu", "bdeu:10", "bdeu:200", "bds:5", "k2", "fnml")


@pytest.fixture(autouse=True)
def priced():
    """The families of small problems are found by price."""
    with sized(SMALL):
        yield


def dependent(seed, n=8, records=60):
    """Columns that follow from others but for noise."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (records, n))
    for v in range(2, n):
        follows = rng.random(records) < 0.7
        codes[:, v] = np.where(follows, (codes[:, v - 1] + codes[:, rng.integers(0, v)]) % 3, codes[:, v])
    return dataset_of(codes, [3] * n)


def optimum(dataset, score, max_parents=None):
    return naive.optimal_cost(dataset.codes, dataset.arities, max_parents, score)


def solved(dataset, score, **options):
    claim = claim_by(score, options.pop("max_parents", None))
    return solve(dataset, score=claim.score, ess=claim.ess, max_parents=claim.max_parents, **options)


def repeated(result):
    """What a check of the certificate comes to."""
    document = json.loads(json.dumps(result.document()))
    assert not verify(document, result.dataset).findings
    with Workers(1) as workers:
        return verify_optimality(document, result.dataset, workers)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_found_and_a_check_proves_it_again(score, seed):
    dataset = dependent(seed, n=6 + seed % 3)
    result = solved(dataset, score, threads=1 + seed % 2)
    assert result.status == "optimal"
    assert result.cost == pytest.approx(optimum(dataset, score), rel=1e-9)
    checked = repeated(result)
    assert checked.complete, checked


def test_the_first_step_of_the_certificate_is_over_all_variables():
    result = solved(dependent(5), "bdeu:10")
    (component,) = result.document()["certificate"]["components"]
    assert len(component["variables"]) == 8
    assert component["steps"][0]["cuts"]


@pytest.mark.parametrize("options", [{"polish": False}, {"lower_bound": "pattern"}])
def test_without_linear_programs_all_families_are_counted(options):
    dataset = dependent(6, n=7)
    result = solved(dataset, "bdeu", **options)
    assert result.status == "optimal"
    assert result.cost == pytest.approx(optimum(dataset, "bdeu"), rel=1e-9)


def test_constant_columns_and_a_limit():
    dataset = dependent(7, n=7)
    codes = np.insert(dataset.codes, 3, 0, axis=1)
    table = dataset_of(codes, [3, 3, 3, 1, 3, 3, 3, 3])
    result = solved(table, "bdeu:10", max_parents=4)
    assert result.cost == pytest.approx(optimum(dataset, "bdeu:10", 4), rel=1e-9)
    assert repeated(result).complete


def test_a_constant_column_may_have_to_be_a_parent():
    codes = np.insert(dependent(7, n=6).codes, 3, 0, axis=1)
    table = dataset_of(codes, [3, 3, 3, 1, 3, 3, 3])
    knowledge = Knowledge(required=((table.names[3], table.names[0]),))
    result = solve(table, score="bdeu", ess=10.0, knowledge=knowledge)
    assert result.status == "optimal"
    assert 3 in result.network.parents[0]
    assert result.order.index(3) < result.order.index(0)
    assert repeated(result).complete
    for at in range(0, 200, 9):
        stopped = solve(table, score="bdeu", ess=10.0, knowledge=knowledge, stop=StopAt(at))
        assert math.isfinite(stopped.cost)
        assert stopped.lower_bound <= result.cost + 1e-9 * result.cost


def test_progress_tells_rounds_networks_and_the_gap():
    events = []
    solved(dependent(8), "bdeu:10", observer=events.append)
    told = [event.detail for event in events if isinstance(event, StageAdvanced) and event.stage == "scores"]
    assert any(detail.startswith("round 1, large sets") for detail in told)
    assert any(", child 1 of 8" in detail for detail in told)
    assert any(isinstance(event, IncumbentFound) for event in events)


def test_a_stop_at_any_poll_leaves_true_bounds():
    dataset, at, ended = dependent(9), 0, []
    best = optimum(dataset, "bdeu:10")
    while True:
        stop = StopAt(at)
        result = solved(dataset, "bdeu:10", stop=stop)
        assert result.lower_bound <= best + 1e-9 * best
        assert result.cost >= best - 1e-9 * best
        if result.status == "optimal":
            break
        ended.append(result.lower_bound)
        at += max(1, at // 6)
    assert ended[-1] > 0.9 * best


def session(folder, dataset, **options):
    folder.mkdir(exist_ok=True)
    resume = read_manifest(folder) if (folder / MANIFEST).exists() else None
    return solved(dataset, "bdeu:10", run_folder=folder, resume=resume, threads=1, **options)


def same(result, other):
    assert (result.status, result.cost, result.network.parents) == (other.status, other.cost, other.network.parents)
    assert repeated(result).complete


@pytest.fixture
def committing():
    with sized(COMMIT_ALWAYS), fast_disk():
        yield


def test_a_run_goes_on_from_a_stop_in_every_stage(committing, tmp_path):
    dataset = dependent(10)
    whole, at, phases = session(tmp_path / "whole", dataset), 0, set()
    while True:
        folder = tmp_path / str(at)
        if session(folder, dataset, stop=StopAt(at)).status == "optimal":
            break
        state = read_manifest(folder).state
        phases.add(state.phase)
        same(session(folder, dataset), whole)
        assert not arrays(folder)
        at += max(1, at)
    assert {"start", "counting"} <= phases


@pytest.mark.slow
def test_killed_at_any_call(committing, tmp_path):
    """Before a call is the same to the disk as after the one before it, but for what is half done."""
    dataset = dependent(11, n=7)
    session(tmp_path / "compiling", dataset)  # a run that compiles commits more often
    disk = SharedDisk(tmp_path / "whole")
    disk.root.mkdir()
    with disk.watch():
        whole = session(disk.root, dataset)
    for number, call in enumerate(some(range(1, disk.calls + 1), 20)):
        folder = tmp_path / str(call)
        folder.mkdir()
        crashing = SharedDisk(folder)
        with pytest.raises(Killed), crashing.crash_at(call, after=number % 2 == 1):
            session(folder, dataset)
        same(session(folder, dataset), whole)
        assert not arrays(folder)


def test_bounds_are_told_while_families_are_found(committing, tmp_path):
    dataset, told = dependent(12), []

    def look(event):
        if isinstance(event, StageAdvanced) and ", child " in event.detail:
            told.append(read_manifest(tmp_path / "r").state)

    session(tmp_path / "r", dataset, observer=look)
    assert any(state.upper_bound is not None and math.isfinite(state.upper_bound) for state in told)
    assert all(state.lower_bound is None or state.lower_bound <= optimum(dataset, "bdeu:10") for state in told)
