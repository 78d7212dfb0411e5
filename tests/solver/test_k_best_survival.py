"""A search for the k best networks that is killed or stopped at any moment: it goes on from its last commit, and finds
what an undisturbed one finds."""

import json
import random

import numpy as np
import pytest
from asking import k_best_networks
from cases import dataset_of, random_dataset, random_families, scores_of
from disk import Killed
from patching import COMMIT_ALWAYS, fast_disk, running_out, sized
from portions import first, some
from survival import SharedDisk, arrays, before

import extbnsl.proof.commits
from extbnsl.core.claims import OPTIMAL
from extbnsl.core.codec import encode
from extbnsl.core.errors import BudgetError, RunDirectoryError
from extbnsl.core.events import Committed, StageStarted, Warned
from extbnsl.files import manifest as manifests
from extbnsl.files.manifest import read_manifest
from extbnsl.files.names import MANIFEST
from extbnsl.kbest.scope import Scope
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Stopped
from extbnsl.solver.place import Place
from extbnsl.solver.ranking import RankingCommits

BEST = Scope(k=60)
WAYS = {
    "walks": {"below.CHUNK": 10, "below.STEPS": 100, "MOST_MEETINGS": 1, "halves.STEPS": 9},
    "choices": {"MOST_SEARCH_NS": -1.0},
}


def often(way):
    """A commit at every chance, counting twice and networks several times."""
    return sized(COMMIT_ALWAYS | {"listing.COUNTED": 2.0} | WAYS[way])


@pytest.fixture(scope="module", params=first(1, [*WAYS]))
def way(request):
    return request.param


@pytest.fixture(autouse=True)
def _often(fast_disk, way):
    with often(way):
        yield


@pytest.fixture(scope="module")
def dataset():
    """Components of three and two variables."""
    rng = np.random.default_rng(4)
    codes = [random_dataset(rng, n, 60, largest_arity=3).codes for n in (3, 2)]
    return dataset_of(np.hstack(codes))


def session(folder, problem, scope=BEST, **how):
    """Go on from the checkpoint in `folder`, or begin if there is none."""
    resume = read_manifest(folder) if (folder / MANIFEST).exists() else None
    budgets = Budgets(threads=1, memory=1 << 30)
    return k_best_networks(problem, scope, budgets=budgets, place=Place(folder, resume=resume), **how)


def state(folder):
    state = json.loads((folder / MANIFEST).read_text())["state"]
    return {**state, **state["standing"]}


def outcome(result):
    """What must be the same however often the run was interrupted."""
    found = result.networks
    ranked = [(one.cost, one.rank, one.share, one.equivalence_class, one.network.parents) for one in found]
    known = result.status, result.cost, result.lower_bound, result.within
    return *known, ranked, result.arcs.tolist(), result.counted, result.share


@pytest.fixture(scope="module")
def undisturbed(dataset, way, tmp_path_factory):
    """The outcome, how often it writes, and the phases, of a run that nothing happens to."""
    disk, phases = SharedDisk(tmp_path_factory.mktemp("undisturbed")), set()

    def look(event):
        if isinstance(event, Committed):
            phases.add(state(disk.root)["phase"])

    with fast_disk(), often(way):  # before the watch, which is to see every call and ends first
        session(tmp_path_factory.mktemp("compiled"), dataset)  # to compile takes time, in which a run commits more
        with disk.watch():
            result = session(disk.root, dataset, observer=look)
    assert result.status == OPTIMAL
    assert len(result.networks) == BEST.k
    assert not arrays(disk.root)
    assert state(disk.root)["phase"] == "done"
    assert phases == {"start", "counting", "scores", "networks"}
    return outcome(result), disk.calls


def assert_ends_well(folder, dataset, whole):
    assert outcome(session(folder, dataset)) == whole
    assert not arrays(folder)
    assert state(folder)["phase"] == "done"


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("kills", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_killed_at_any_call(dataset, undisturbed, tmp_path, after, kills):
    whole, calls = undisturbed
    for call in some(before(calls), kills):
        disk = SharedDisk(tmp_path / str(call))
        disk.root.mkdir()
        with pytest.raises(Killed), disk.crash_at(call, after):
            session(disk.root, dataset)
        assert_ends_well(disk.root, dataset, whole)


@pytest.mark.parametrize("losses", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_power_lost_at_any_call(dataset, undisturbed, tmp_path, losses):
    whole, calls = undisturbed
    rng = random.Random(losses)
    for call in some(before(calls, 2), losses):
        disk = SharedDisk(tmp_path / str(call))
        disk.root.mkdir()
        with pytest.raises(Killed), disk.crash_at(call):
            session(disk.root, dataset)
        disk.lose_power(rng)
        assert_ends_well(disk.root, dataset, whole)


@pytest.mark.slow
def test_killed_again_and_again(dataset, undisturbed, tmp_path):
    """Each process lives for three commits: it gets further, and ends."""

    def third():
        seen = []

        def observe(event):
            if isinstance(event, Committed):
                seen.append(event)
                if len(seen) == 3:
                    raise Killed

        return observe

    for _ in range(undisturbed[1]):
        try:
            result = session(tmp_path, dataset, observer=third())
        except Killed:
            continue
        break
    assert outcome(result) == undisturbed[0]


@pytest.mark.parametrize("checks", first(2, [1, 20, 5, 60]))
def test_stopped_and_resumed(dataset, undisturbed, tmp_path, checks):
    asked = []
    first = session(tmp_path, dataset, stop=lambda: asked.append(0) or ("interrupted" if len(asked) > checks else None))
    assert first.status == "interrupted"
    assert state(tmp_path)["status"] == "interrupted"
    assert first.networks[0].cost == pytest.approx(first.cost)
    assert first.lower_bound <= undisturbed[0][1] <= first.cost + 1e-9
    assert_ends_well(tmp_path, dataset, undisturbed[0])


@pytest.mark.slow
def test_a_stop_while_the_list_is_looked_at_keeps_it(dataset, undisturbed, tmp_path):
    """In the result, and in a checkpoint that can be gone on from."""
    with running_out("solver.listing", "_enough", Stopped("interrupted")):
        first = session(tmp_path, dataset)
    assert first.status == "interrupted"
    assert len(first.networks) > 1
    assert state(tmp_path)["found"] is not None
    assert_ends_well(tmp_path, dataset, undisturbed[0])


def test_counting_that_goes_further_does_not_lose_what_was_found(dataset, undisturbed, tmp_path):
    """A stop in a second session while more families are counted leaves the networks of the first."""
    told = []

    def kill(event):
        told.append(event)
        if isinstance(event, Committed) and state(tmp_path)["found"] and state(tmp_path)["phase"] == "counting":
            raise Killed

    with pytest.raises(Killed):
        session(tmp_path, dataset, observer=kill)
    known = state(tmp_path)
    assert known["scores"] is None
    second = session(tmp_path, dataset, stop=lambda: "interrupted")
    assert second.status == "interrupted"
    assert second.within == known["found"]["within"]
    assert second.cost == pytest.approx(undisturbed[0][1])
    assert second.lower_bound == pytest.approx(undisturbed[0][1])
    whole = [one[0] for one in undisturbed[0][4]]
    assert [one.cost for one in second.networks] == pytest.approx(whole[: len(second.networks)])
    assert_ends_well(tmp_path, dataset, undisturbed[0])


TALLIED = Scope(k=5, within_factor=50.0)


@pytest.mark.slow
@pytest.mark.parametrize("scope", [Scope(within_factor=50.0), Scope(k=30, classes=True), TALLIED])
def test_local_scores_and_other_scopes_survive_too(tmp_path, scope):
    scores = scores_of(random_families(np.random.default_rng(5), 5))
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    watched = SharedDisk(tmp_path / "whole")
    with watched.watch():
        whole = session(watched.root, scores, scope)
    for call in some(before(watched.calls), 2):
        disk = SharedDisk(tmp_path / f"killed/{call}")
        disk.root.mkdir()
        with pytest.raises(Killed), disk.crash_at(call):
            session(disk.root, scores, scope)
        assert outcome(session(disk.root, scores, scope)) == outcome(whole)
        assert not arrays(disk.root)


@pytest.mark.slow
def test_killed_while_all_networks_are_counted(dataset, tmp_path):
    for name in ("compiled", "whole"):
        (tmp_path / name).mkdir()
    session(tmp_path / "compiled", dataset, TALLIED)  # to compile takes time, in which a run commits more
    watched, begun = SharedDisk(tmp_path / "whole"), []

    def look(event):
        if isinstance(event, StageStarted) and event.stage == "tally":
            begun.append(watched.calls)

    with watched.watch():
        whole = session(watched.root, dataset, TALLIED, observer=look)
    assert whole.counted > len(whole.networks) == TALLIED.k
    assert whole.share < 1.0
    calls = before(watched.calls, begun[0] + 1)
    assert len(calls) > 20
    for call in some(calls, 3):
        disk = SharedDisk(tmp_path / str(call))
        disk.root.mkdir()
        with pytest.raises(Killed), disk.crash_at(call):
            session(disk.root, dataset, TALLIED)
        assert outcome(session(disk.root, dataset, TALLIED)) == outcome(whole)
        assert not arrays(disk.root)


def test_stopped_while_all_networks_are_counted(dataset, tmp_path):
    """The networks that are listed are there, and nobody says how many there are."""
    begun = []

    def look(event):
        if isinstance(event, StageStarted) and event.stage == "tally":
            begun.append(event)

    first = session(tmp_path, dataset, TALLIED, observer=look, stop=lambda: "interrupted" if begun else None)
    assert first.status == "interrupted"
    assert first.counted is None
    assert len(first.networks) == TALLIED.k
    whole = session(tmp_path, dataset, TALLIED)
    assert whole.status == OPTIMAL
    assert whole.networks.costs.tolist() == first.networks.costs.tolist()
    assert whole.counted > TALLIED.k


def test_other_scopes_are_refused(dataset, tmp_path):
    session(tmp_path, dataset, stop=lambda: "interrupted")
    with pytest.raises(RunDirectoryError, match="k = 60, not 7"):
        session(tmp_path, dataset, Scope(k=7))


def test_a_full_disk_stops_the_run_and_room_lets_it_go_on(dataset, undisturbed, tmp_path):
    told = []
    with running_out("files.store", "write_arrays", BudgetError("The disk is full."), at=7):
        first = session(tmp_path, dataset, observer=told.append)
    assert first.status == "disk_limit"
    assert [event.message for event in told if isinstance(event, Warned)] == [
        "The disk is full. What was done since the last checkpoint is lost."
    ]
    assert_ends_well(tmp_path, dataset, undisturbed[0])


def test_too_little_memory_stops_the_run_and_more_lets_it_go_on(dataset, undisturbed, tmp_path):
    with running_out("solver.listing", "networks_below", MemoryError(), at=2):
        first = session(tmp_path, dataset)
    assert first.status == "memory_limit"
    assert len(first.networks) < BEST.k
    assert_ends_well(tmp_path, dataset, undisturbed[0])


def test_more_memory_goes_on_from_a_list_that_no_checkpoint_had(dataset, undisturbed, tmp_path, monkeypatch):
    with running_out("solver.listing", "networks_below", MemoryError(), at=2), monkeypatch.context() as patch:
        patch.setattr(RankingCommits, "commit_if_due", lambda _: None)
        first = session(tmp_path, dataset)
    assert first.status == "memory_limit"
    again = session(tmp_path, dataset, stop=lambda: "interrupted")
    assert [network.cost for network in again.networks] == [network.cost for network in first.networks]
    assert_ends_well(tmp_path, dataset, undisturbed[0])


def rewritten(folder, change):
    """Let a forger who can seal a manifest change the state, as a manifest has it, and the arrays of the ledger."""
    manifest = read_manifest(folder)
    (folder / MANIFEST).unlink()
    known = encode(manifest.state)
    change(known)
    store = extbnsl.files.store.Store(folder, 1 << 30)
    store.add(manifest.files, synchronised=True)
    manifests.commit(folder, store, manifests.Manifest(known, manifest.files, None))


@pytest.mark.parametrize(
    ("key", "value", "place"),
    [
        ("kind", "kworst", "state.kind"),
        ("found", {"within": 1.0}, "state.standing"),
        ("entries", {"../../etc": "ranking-1.h5"}, "state.standing.entries.../../etc"),
        ("entries", {"x": 3}, "state.standing.entries.x"),
        ("slack", "much", "state.standing.slack"),
    ],
)
def test_a_state_that_no_run_writes_is_refused(dataset, tmp_path, key, value, place):
    session(tmp_path, dataset, stop=lambda: "interrupted")
    rewritten(tmp_path, lambda known: (known if key in known else known["standing"]).update({key: value}))
    with pytest.raises(RunDirectoryError) as refused:
        session(tmp_path, dataset)
    assert f"(at {place!r})" in str(refused.value)
