"""The enumeration child by child against the one by levels, and where only the former can work."""

import re
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import naive
import numpy as np
import pytest
from cases import from_array, shelf_of
from elsewhere import Elsewhere
from kept import enumeration
from patching import SMALL_TASKS, patch_everywhere
from portions import first
from soundness import check_enumeration

from extbnsl.core.claims import Claim
from extbnsl.core.events import Warned, ignore
from extbnsl.files.store import Store
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.exhaustive.state import Enumeration, Means, start_enumeration
from extbnsl.parents.exhaustive.stored import read_enumeration, write_enumeration
from extbnsl.parents.exhaustive.surviving import surviving_families
from extbnsl.parents.pruning import merged

PLENTY = 1 << 30


@pytest.fixture(autouse=True)
def many_tasks(sizes):
    """The search of each child is cut into as many tasks as those of many variables are."""
    sizes(SMALL_TASKS)


def families(dataset, threads=1, max_parents=None, stop=lambda: None, memory=PLENTY, begun=None, seen=None, slack=0.0):
    on_progress = (lambda enumeration: None) if seen is None else seen.append
    with Workers(threads, stop) as workers:
        return surviving_families(
            dataset, Claim(max_parents=max_parents), Means(workers, shelf_of(memory), ignore), begun, on_progress, slack
        )


def child_by_child(dataset, **options):
    return families(dataset, begun=start_enumeration(dataset.variables), **options)


def assert_same(one, other):
    for parents, costs, parents2, costs2 in zip(one.parents, one.costs, other.parents, other.costs, strict=True):
        assert costs == pytest.approx(costs2, rel=1e-9, abs=1e-9)
        assert {tuple(p) for p in parents.tolist()} == {tuple(p) for p in parents2.tolist()}


def random_data(seed, variables, records, top=4):
    """Records in which every third variable follows from two others, with noise, so that parent sets win."""
    rng = np.random.default_rng(seed)
    arities = rng.integers(2, top + 1, variables)
    codes = rng.integers(0, arities, (records, variables))
    for v in range(2, variables, 3):
        follows = (codes[:, v - 1] + codes[:, v - 2]) % arities[v]
        codes[:, v] = np.where(rng.random(records) < 0.85, follows, codes[:, v])
    return from_array(codes)


@pytest.mark.parametrize("seed", range(8))
def test_child_by_child_gives_the_same_families(seed):
    dataset = random_data(seed, 9, 400)
    plenty = families(dataset)
    little = child_by_child(dataset, threads=1 + seed % 3)
    assert little.stopped is None
    assert max(len(c) for c in plenty.scores.costs) > 1
    assert_same(plenty.scores, little.scores)


@pytest.mark.parametrize("begun", [None, start_enumeration(9)], ids=["by level", "by child"])
def test_the_share_of_a_size_grows_once_from_nothing_to_all(begun, sizes):
    sizes({"TOLD": 1, "by_level.CHUNK": 4})
    told = []
    with Workers(1) as workers:
        surviving_families(random_data(1, 9, 400), Claim(), Means(workers, shelf_of(PLENTY), told.append), begun)
    assert {event.stage for event in told} == {"scores"}
    words = [re.fullmatch(r"parent sets of size (\d) of at most (\d)( done)?", event.detail).groups() for event in told]
    sizes = [int(size) for size, _, _ in words]
    assert sizes == sorted(sizes)
    assert len({largest for _, largest, _ in words}) == 1
    assert max(sizes) <= int(words[0][1])
    for size in sorted(set(sizes)):
        own = [event for event in told if f"size {size} of" in event.detail]
        shares = [event.done / event.total for event in own[:-1]]
        assert shares == sorted(shares)
        assert 0.0 <= shares[0] < 0.5
        assert shares[-1] <= 1.0
        assert own[-1].detail.endswith(" done")
        assert (own[-1].level, own[-1].total) == (size, 0)
    assert shares[-1] > 0.8


# variables, records, most parents
SHAPES = [
    (64, 40, 3),
    (65, 40, 3),
    (128, 25, 2),
    (63, 40, 3),
    (66, 25, None),
    (76, 30, None),
    (127, 25, 2),
    (129, 25, 3),
]


@pytest.mark.slow
@pytest.mark.parametrize("shape", first(1, SHAPES))
def test_they_agree_on_many_variables(shape):
    variables, records, max_parents = shape
    dataset = random_data(variables, variables, records, top=3)
    plenty = families(dataset, threads=2, max_parents=max_parents)
    little = child_by_child(dataset, threads=2, max_parents=max_parents)
    assert plenty.stopped is little.stopped is None
    assert max(len(c) for c in plenty.scores.costs) > 10
    assert_same(plenty.scores, little.scores)


@pytest.mark.parametrize("memory", [10_000, 1_000_000])
def test_levels_of_many_variables_on_disk_change_nothing(memory, tmp_path):
    dataset = random_data(3, 70, 25, top=2)
    with Workers(2) as workers:
        found = surviving_families(dataset, Claim(max_parents=2), Means(workers, shelf_of(memory, tmp_path), ignore))
    assert found.stopped is None
    assert_same(families(dataset, max_parents=2).scores, found.scores)


@pytest.mark.parametrize("memory", [80_000, 95_000])
def test_with_little_memory_it_goes_on_child_by_child(memory):
    dataset = random_data(1, 16, 400)
    seen = []
    little = families(dataset, memory=memory, seen=seen)
    assert little.stopped is None
    assert seen[0].level is not None
    assert any(found.children for found in seen)
    assert_same(families(dataset).scores, little.scores)


def test_too_little_memory_is_said_and_ends_with_what_is_known():
    dataset = random_data(1, 16, 400)
    events = []
    with Workers(2) as workers:
        little = surviving_families(dataset, Claim(), Means(workers, shelf_of(25_000), events.append))
    assert little.stopped == "memory_limit"
    (warning,) = [event.message for event in events if isinstance(event, Warned)]
    assert re.fullmatch(
        r"Counting needs at least \d+\.\dKiB of memory with 2 threads .* --memory grants 48.8KiB\.", warning
    )
    whole = families(dataset).scores
    assert all(a[0] >= b[0] for a, b in zip(little.scores.costs, whole.costs, strict=True))
    assert all(least <= costs[0] + 1e-9 for least, costs in zip(little.least, whole.costs, strict=True))


def through_files(found, folder, memory=PLENTY):
    """The enumeration as whoever resumes the run gets it."""
    store = Store(folder, PLENTY)
    stored = write_enumeration(found, store, lambda: False, lambda size: None)
    return read_enumeration(enumeration(stored), folder, shelf_of(memory, folder))


def assert_identical(one, other):
    assert one.varsets == other.varsets
    for column in ("parents", "costs"):
        pairs = zip(getattr(one.scores, column), getattr(other.scores, column), strict=True)
        assert all(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize(
    ("moments", "variables", "records", "find", "memory"),
    [
        (3, 10, 500, families, 3_000),
        (3, 10, 500, child_by_child, PLENTY),
        *(
            pytest.param(*one, marks=pytest.mark.slow)
            for one in (
                (8, 10, 500, families, PLENTY),
                (8, 10, 500, child_by_child, 3_000),
                (8, 70, 20, families, PLENTY),
                (8, 70, 20, child_by_child, 3_000),
            )
        ),
    ],
)
def test_whoever_goes_on_from_any_moment_finds_exactly_the_same(
    find, variables, records, memory, moments, tmp_path, sizes
):
    """Also with nearly everything on disk."""
    sizes({"by_level.CHUNK": 8})
    dataset = random_data(2, variables, records)
    seen = []
    whole = find(dataset, seen=seen)
    assert seen.pop().done
    sizes = {found.complete_to for found in seen}
    assert len(sizes) >= 3
    assert len(seen) >= 4 * len(sizes)
    for number, found in enumerate(seen[:: max(1, len(seen) // moments)]):
        check_enumeration(found)
        (tmp_path / str(number)).mkdir()
        again = through_files(found, tmp_path / str(number), memory)
        check_enumeration(again)
        for one, other in zip(found.children + found.ahead, again.children + again.ahead, strict=True):
            assert (one.index, one.variables.tolist()) == (other.index, other.variables.tolist())
            assert np.array_equal(one.pairs, other.pairs)
        assert_identical(families(dataset, threads=2, begun=again), whole)


@pytest.mark.parametrize("find", [families, child_by_child])
@pytest.mark.parametrize(("variables", "records"), [(10, 200), pytest.param(66, 20, marks=pytest.mark.slow)])
def test_with_slack_whoever_goes_on_finds_exactly_the_same(find, variables, records, tmp_path, sizes):
    """The slack is not among what is stored: whoever goes on gives it."""
    sizes({"by_level.CHUNK": 8 if variables == 10 else 256})
    dataset, options = random_data(2, variables, records), {"slack": 3.0, "max_parents": 4 if variables == 10 else 2}
    seen = []
    whole = find(dataset, seen=seen, **options)
    assert whole.scores.families > 1.5 * families(dataset, max_parents=options["max_parents"]).scores.families
    assert seen.pop().done
    for number, found in enumerate(seen[:: max(1, len(seen) // 4)]):
        check_enumeration(found)
        (tmp_path / str(number)).mkdir()
        again = through_files(found, tmp_path / str(number))
        assert_identical(families(dataset, threads=2, begun=again, **options), whole)


@pytest.mark.parametrize("find", [families, child_by_child])
@pytest.mark.parametrize("polls", [2, 6, 20])
def test_with_slack_a_stop_leaves_a_bound(find, polls):
    dataset = random_data(1, 9, 300)
    whole, left = families(dataset), [polls]

    def stop():
        left[0] -= 1
        return "interrupted" if left[0] < 0 else None

    partial = find(dataset, stop=stop, slack=5.0)
    for least, costs, best in zip(partial.least, partial.scores.costs, whole.scores.costs, strict=True):
        assert least <= best[0] + 1e-9
        assert least <= costs[0] + 1e-9


@pytest.mark.parametrize("find", [families, child_by_child])
@pytest.mark.parametrize("steps", first(1, [10, 3, 1]))
def test_however_often_it_is_stopped_it_finds_exactly_the_same(find, steps, tmp_path, sizes):
    """Stopped after every few tasks, and resumed from files."""
    sizes({"by_level.CHUNK": 8})
    dataset = random_data(4, 9, 300)
    whole = find(dataset)
    begun, varsets, sessions = None if find is families else start_enumeration(9), [], 0
    while True:
        seen = []

        def stop_soon(found, seen=seen):
            seen.append(found)
            if len(seen) > steps:
                raise Stopped("interrupted")

        with Workers(2) as workers:
            result = surviving_families(dataset, Claim(), Means(workers, shelf_of(), ignore), begun, stop_soon)
        if result.stopped is None:
            break
        assert result.stopped == "interrupted"
        for least, costs, best in zip(result.least, result.scores.costs, whole.scores.costs, strict=True):
            assert least <= best[0] + 1e-9 <= costs[0] + 2e-9
        sessions += 1
        (tmp_path / str(sessions)).mkdir()
        begun = through_files(seen[-1], tmp_path / str(sessions))
        varsets.append(begun.varsets)
    assert_identical(result, whole)
    assert sessions >= 20 // steps
    assert varsets == sorted(varsets)


def test_a_child_that_an_earlier_version_had_begun_is_begun_anew(tmp_path, monkeypatch):
    """It cut the search of a child into other tasks; what it kept of those that were over had another name."""
    dataset, seen = random_data(2, 9, 300), []
    whole = child_by_child(dataset, seen=seen)
    begun = [found for found in seen if found.parts]
    assert len(begun) >= 9
    stored = Enumeration._stored

    def as_before(found):
        return {name.replace("-paired", "-together"): own for name, own in stored(found).items()}

    monkeypatch.setattr(Enumeration, "_stored", as_before)
    for number, found in enumerate(begun[:: len(begun) // 4]):
        (tmp_path / str(number)).mkdir()
        again = through_files(found, tmp_path / str(number))
        check_enumeration(again)
        assert (again.parts, again.pairs) == (0, None)
        assert [child.index for child in again.children] == [child.index for child in found.children]
        assert_same(families(dataset, begun=again).scores, whole.scores)


def test_the_last_level_goes_on_from_any_moment_with_what_it_has_found(tmp_path, sizes):
    """The largest parent sets win: each of three children is the exclusive or of three others."""
    sizes({"by_level.CHUNK": 8, "MERGED": 2})
    coins = np.random.default_rng(1).integers(0, 2, (400, 6))
    sums = [coins[:, k : k + 3].sum(axis=1) % 2 for k in range(3)]
    dataset = from_array(np.column_stack([coins, *sums]))
    seen = []
    whole = families(dataset, max_parents=3, seen=seen)
    under_way = [found for found in seen if found.complete_to == 2 and found.parts]
    assert len({found.families for found in under_way}) > 2
    assert all(found.level.joint is None for found in under_way)
    for number, found in enumerate(under_way):
        (tmp_path / str(number)).mkdir()
        again = through_files(found, tmp_path / str(number))
        check_enumeration(again)
        assert again.parts == found.parts
        assert_identical(families(dataset, threads=2, max_parents=3, begun=again), whole)
    assert sum(3 in np.bitwise_count(parents[:, 0]) for parents in whole.scores.parents) >= 3


def test_a_commit_writes_again_only_what_has_changed(tmp_path, sizes):
    sizes({"by_level.CHUNK": 8})
    seen = []
    families(random_data(2, 12, 500), seen=seen)
    begun = [found for found in seen if found.complete_to == 1 and found.level.places is not None]
    counting = [found for found in begun if found.level.extend is None]
    assert len(counting) >= 3
    store = Store(tmp_path, PLENTY)
    first, second = (write_enumeration(found, store, lambda: False, lambda size: None) for found in counting[-2:])
    new = {file.name for file in second.files} - {file.name for file in first.files}
    assert len(new) == 1
    assert "03-joint" in new.pop()


@pytest.mark.slow
def test_tasks_can_run_in_other_processes():
    dataset = random_data(2, 9, 300)
    with ProcessPoolExecutor(2, get_context("spawn")) as pool, Elsewhere(1, pool) as workers:
        for find, begun in ((families, None), (child_by_child, start_enumeration(9))):
            found = surviving_families(dataset, Claim(), Means(workers, shelf_of(), ignore), begun)
            assert_identical(found, find(dataset))


@pytest.mark.parametrize("max_parents", [0, 1, 2])
def test_the_users_limit_is_kept(max_parents):
    dataset = random_data(3, 8, 500)
    few = child_by_child(dataset, threads=2, max_parents=max_parents)
    assert_same(families(dataset, max_parents=max_parents).scores, few.scores)


@pytest.mark.parametrize("seed", range(4))
def test_best_scores_are_those_of_all_families(seed):
    dataset = random_data(seed, 6, 200, top=3)
    n = dataset.variables
    scores = child_by_child(dataset).scores
    best = naive.best_scores(naive.all_local_scores(dataset.codes, dataset.arities))
    for child in range(n):
        for varset in range(1 << n):
            if not varset >> child & 1:
                inside = (scores.parents[child][:, 0] & ~np.uint64(varset)) == 0
                assert scores.costs[child][inside].min() == pytest.approx(best[child][varset], rel=1e-9)


@pytest.mark.slow
def test_more_than_64_variables():
    dataset = random_data(5, 70, 300, top=2)
    scores = families(dataset, threads=2, max_parents=2).scores
    alone = np.array([naive.mdl(dataset.codes, dataset.arities, child, ()) for child in range(70)])
    for child in (2, 35, 68):
        best = min(
            naive.mdl(dataset.codes, dataset.arities, child, (a, b))
            for a in range(70)
            for b in range(a)
            if child not in (a, b)
        )
        assert scores.costs[child][0] == pytest.approx(min(best, scores.costs[child][0]), rel=1e-9)
        assert scores.costs[child][0] <= best + 1e-9
        assert scores.costs[child][0] < alone[child]


@pytest.mark.parametrize("find", [families, child_by_child])
def test_a_stop_does_not_wait_until_the_families_of_all_children_are_merged(find, monkeypatch):
    calls = []

    def slow(*families):
        calls.append(1)
        time.sleep(0.3)
        return merged(*families)

    patch_everywhere(monkeypatch, "parents.pruning", "merged", slow)
    partial = find(random_data(1, 9, 400), threads=1, stop=lambda: "interrupted" if calls else None)
    assert partial.stopped == "interrupted"
    assert len(calls) <= 3


@pytest.mark.parametrize("polls", [0, 1, 2, 5, 9])
def test_a_stop_leaves_what_was_complete(polls):
    dataset = random_data(1, 9, 400)
    left = [polls]

    def stop():
        left[0] -= 1
        return "interrupted" if left[0] < 0 else None

    partial = child_by_child(dataset, stop=stop)
    whole = families(dataset)
    assert partial.stopped == "interrupted"
    for child in range(9):
        assert partial.least[child] <= whole.scores.costs[child][0] + 1e-9
