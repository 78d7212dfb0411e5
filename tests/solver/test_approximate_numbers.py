"""Approximations of many columns of numbers: parents are chosen while orders are searched, from the data to the run."""

import math

import naive
import numpy as np
import pytest
from asking import approximate_network
from cases import numbers_of
from disk import Killed

from extbnsl.core.claims import HEURISTIC, Claim
from extbnsl.core.errors import BudgetError, RunDirectoryError
from extbnsl.core.events import Committed, IncumbentFound, StageStarted
from extbnsl.core.knowledge import Knowledge
from extbnsl.files.arrays import read_arrays
from extbnsl.files.manifest import read_manifest
from extbnsl.files.names import MANIFEST
from extbnsl.machine.budgets import Budgets
from extbnsl.solver import approximate, approximation
from extbnsl.solver.methods import ApproximateMethods
from extbnsl.solver.place import Place
from extbnsl.verify.verdict import verify

N = 70


@pytest.fixture(scope="module")
def numbers():
    """Each is a regression on two before it, or noise."""
    rng = np.random.default_rng(8)
    values = rng.normal(size=(150, N))
    for v in range(2, N):
        values[:, v] += values[:, v - 1] - 0.8 * values[:, v - 2] if v % 3 else 0.0
    return numbers_of(values)


@pytest.fixture
def rounds(monkeypatch, sizes):
    """How many rounds of few kicks a search has, whatever the time."""
    sizes(COMMIT_PART=0.0)
    sizes({"approximation.COMMIT_SECONDS": -1.0, "COMMIT_SHARE": math.inf, "WORK": 10 * N})

    def set_to(number):
        search = approximate.search_fitted
        monkeypatch.setattr(
            approximate, "search_fitted", lambda *given, **how: search(*given, **how | {"rounds": number})
        )

    return set_to


def learn(numbers, folder=None, time=60.0, methods=ApproximateMethods(), **how):
    resume = read_manifest(folder) if folder and (folder / MANIFEST).exists() else None
    budgets = Budgets(threads=1, time_limit=time, memory=how.pop("memory", 1 << 30))
    place = {"place": Place(folder, resume=resume)} if folder else {}
    claim = Claim("gaussian-bic", **how.pop("limits", {}))
    return approximate_network(numbers, claim, methods, budgets, **place, **how)


def total(numbers, network):
    return sum(naive.gaussian_cost(numbers.values, v, list(own)) for v, own in enumerate(network.parents))


def test_no_parent_sets_are_explored(numbers, rounds):
    rounds(3)
    told = []
    result = learn(numbers, observer=told.append)
    assert result.status == HEURISTIC
    assert result.cost == pytest.approx(total(numbers, result.network), rel=1e-9)
    truth = [[v - 2, v - 1] if v > 1 and v % 3 else [] for v in range(N)]
    assert result.cost < sum(naive.gaussian_cost(numbers.values, v, own) for v, own in enumerate(truth))
    assert result.lower_bound < result.cost
    assert "parent_sets" not in result.stats
    assert result.stats["explored_whole"] == 0
    assert {event.stage for event in told if isinstance(event, StageStarted)} == {"incumbent", "verify"}
    assert verify(result.document(), numbers).findings == ()


def test_limits_and_knowledge_are_kept(numbers, rounds):
    rounds(2)
    required = (("v60", "v5"), ("v61", "v5"), ("v5", "v30"))
    knowledge = Knowledge(required, forbidden=(("v1", "v2"), ("v2", "v1")), roots=("v10",))
    result = learn(numbers, limits={"max_parents": 3, "knowledge": knowledge})
    arcs = {(numbers.names[p], numbers.names[c]) for p, c in result.network.arcs()}
    assert set(required) <= arcs
    assert not arcs & {("v1", "v2"), ("v2", "v1")}
    assert all(child != "v10" for _, child in arcs)
    assert max(map(len, result.network.parents)) == 3
    assert verify(result.document(), numbers).findings == ()


def test_where_few_parent_sets_are_possible_all_are_explored(numbers):
    pairs = tuple((f"v{v - 1}", f"v{v}") for v in range(1, N))
    result = learn(numbers, time=20.0, limits={"knowledge": Knowledge(allowed=pairs)})
    assert result.stats["explored_whole"] == N
    assert result.cost == pytest.approx(result.lower_bound, rel=1e-9)


def test_another_selection_explores(numbers, rounds):
    told = []
    learn(numbers, time=2.0, methods=ApproximateMethods("independence"), observer=told.append)
    assert "parents" in {event.stage for event in told if isinstance(event, StageStarted)}


def kill_at(commit, told):
    """Let the process end after so many commits of orders."""

    def observe(event):
        told.append(event)
        if sum(isinstance(event, Committed) for event in told) == commit:
            raise Killed

    return observe


def test_a_run_that_is_killed_goes_on_with_its_parents(numbers, rounds, tmp_path, monkeypatch):
    rounds(5)
    with pytest.raises(Killed):
        learn(numbers, tmp_path, observer=kill_at(5, []))
    kept = read_manifest(tmp_path).state.standing
    before, search, begun = read_manifest(tmp_path).state.upper_bound, approximate.search_fitted, []
    file = next(file for file in read_manifest(tmp_path).files if file.name == kept["orders"])
    parents = read_arrays(tmp_path, file)["parents"]
    assert (parents >= 0).any()
    monkeypatch.setattr(approximate, "search_fitted", lambda *a, **how: begun.append(a[2]) or search(*a, **how))
    told = []
    result = learn(numbers, tmp_path, observer=told.append)
    assert (begun[0].parents == parents).all()
    assert next(event.cost for event in told if isinstance(event, IncumbentFound)) == before
    assert result.cost <= before
    assert verify(result.document(), numbers).findings == ()


@pytest.mark.parametrize("forged", [N, -2, "itself", "narrow"])
def test_parents_that_no_run_writes_are_refused(numbers, rounds, tmp_path, monkeypatch, forged):
    rounds(2)
    with pytest.raises(Killed):
        learn(numbers, tmp_path, observer=kill_at(4, []))
    read = approximation.read_arrays

    def forge(folder, file):
        arrays = read(folder, file)
        if "parents" in arrays:
            parents = arrays["parents"].copy()
            parents[0, 3, 0] = 3 if forged == "itself" else -1 if forged == "narrow" else forged
            arrays = arrays | {"parents": parents[:, 1:] if forged == "narrow" else parents}
        return arrays

    monkeypatch.setattr(approximation, "read_arrays", forge)
    with pytest.raises(RunDirectoryError, match="does not hold what a run of extbnsl writes"):
        learn(numbers, tmp_path)


def test_too_little_memory_is_refused(numbers):
    wide = numbers_of(np.random.default_rng(1).normal(size=(50, 900)))
    with pytest.raises(BudgetError, match="Searching orders"):
        learn(wide, memory=12 << 20)
