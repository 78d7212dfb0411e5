"""A solve that is killed, stopped, or loses power or its files, at any moment: resumed, it ends as if nothing happened.

The disk of these tests is simulated (tests/disk.py); real signals are in test_kill.py, full disks in test_full_disk.py.
"""

import contextlib
import gzip
import itertools
import json
import math
import random
import re
import shutil
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from cases import dataset_of, random_families, scores_of
from disk import Killed
from flat import solve
from h5py import h5f
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from patching import in_place_of, kept_on_disk, sized, stopped_by
from portions import first, some
from survival import OPTIONS, SharedDisk, arrays, before, outcome, problem, session, spilling
from test_solve import StopAt

import extbnsl.files.arrays
import extbnsl.files.manifest
import extbnsl.files.shelf
import extbnsl.machine.budgets
import extbnsl.machine.workers
import extbnsl.proof.commits
import extbnsl.proof.guide
import extbnsl.proof.prove
import extbnsl.proof.standing
import extbnsl.search.score_cache
import extbnsl.solver.solve
from extbnsl.cli import main
from extbnsl.core.errors import BudgetError, InputError, RunDirectoryError
from extbnsl.core.events import Committed, LayerEnded, StageEnded, StageStarted
from extbnsl.data.reading import read_csv
from extbnsl.files.manifest import read_manifest, recover
from extbnsl.files.names import MANIFEST
from extbnsl.files.store import Store
from extbnsl.formats.score_writer import write_scores
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.exhaustive import surviving


@pytest.fixture(scope="module", autouse=True)
def _small():
    solve(problem(), parent_graph="layered", polish=True)  # loads the kernels
    with spilling():
        yield


@pytest.fixture(scope="module")
def dataset():
    return problem()


@pytest.fixture(scope="module")
def undisturbed(dataset, tmp_path_factory):
    """The outcome, and how often it writes, of a run that nothing happens to."""
    disk = SharedDisk(tmp_path_factory.mktemp("undisturbed"))
    spilled = []
    session(tmp_path_factory.mktemp("compiled"), dataset)  # to compile takes time, in which a run commits more
    with disk.watch():
        result = session(disk.root, dataset, observer=lambda e: isinstance(e, LayerEnded) and spilled.append(e.spilled))
    assert result.status == "optimal"
    assert len(spilled) > 4
    assert sum(spilled) > result.stats["nodes_kept"] / 2
    assert not arrays(disk.root)
    return outcome(result), disk.calls


def assert_ends_as(folder, dataset, expected, **options):
    """A session in `folder` ends with the expected outcome and leaves nothing behind."""
    result = session(folder, dataset, **options)
    assert outcome(result) == expected
    assert not arrays(folder)
    assert read_manifest(folder).state.phase == "done"


def assert_only_what_is_named(folder):
    """After a recovery the only files of arrays are those of the checkpoint."""
    if (folder / MANIFEST).exists():
        manifest = read_manifest(folder)
        with Workers(1) as workers:
            recover(folder, manifest, 1 << 30, workers)
        assert arrays(folder) == {file.name for file in manifest.files}


# at how many calls a run is killed
few_or_many = pytest.mark.parametrize("kills", [1, pytest.param(3, marks=pytest.mark.slow)])


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True])
def test_killed_at_any_call(dataset, undisturbed, tmp_path, after):
    kill_at_calls(tmp_path, dataset, undisturbed, some(before(undisturbed[1]), 10), after)


@pytest.mark.slow
def test_killed_at_any_call_with_everything_on_disk(dataset, undisturbed, tmp_path):
    """No memory for counting and for families: levels, lists and rows of parent graphs lie in files."""
    no_tables = in_place_of("proof.trials", "tables_fit", lambda real: lambda costs, context: False)
    with kept_on_disk(), no_tables, sized(PIECE_BYTES=64):
        disk = SharedDisk(tmp_path / "whole")
        disk.root.mkdir()
        seen = set()
        with disk.watch():
            result = session(disk.root, dataset, observer=lambda e: seen.update(arrays(disk.root)))
        assert {"scores.h5", "scores-1.h5", "families-1-1.h5", "families-1-1-1.h5"} <= seen
        assert any(re.fullmatch(r"bounds-1-1-\d+-0-1\.h5", name) for name in seen)  # those of a piece, in several
        assert outcome(result) == undisturbed[0]
        kill_at_calls(tmp_path, dataset, undisturbed, some(before(disk.calls), 6), False)


def kill_at_calls(place, dataset, undisturbed, calls, after, **options):
    """Kill a run at each of the calls, go on with it, and find the outcome of the undisturbed one."""
    for call in calls:
        folder = place / str(call)
        folder.mkdir()
        disk = SharedDisk(folder)
        with pytest.raises(Killed), disk.crash_at(call, after):
            session(folder, dataset, **options)
        assert_only_what_is_named(folder)
        assert_ends_as(folder, dataset, undisturbed[0], **options)


def families():
    """Local scores without data, of five variables."""
    return scores_of(random_families(np.random.default_rng(4), 5))


def test_a_last_commit_that_fails_when_it_is_there_already_loses_no_file(dataset, undisturbed, tmp_path):
    """The folder cannot be synchronised after the manifest was renamed: whatever is the checkpoint has its files."""
    commits = []

    def failing(folder, store, manifest):
        real(folder, store, manifest)
        if len(manifest.files) > 1:
            commits.append(manifest)
            raise BudgetError("the disk is full")

    real = extbnsl.files.manifest.commit
    before_without_files = sized({"commits.COMMIT_SECONDS": math.inf})
    with before_without_files, in_place_of("files.manifest", "commit", lambda real: failing):
        stop = StopAt(polls_before_the_search(dataset) + 2)
        assert session(tmp_path, dataset, stop=stop).status == "disk_limit"
    assert commits
    assert arrays(tmp_path) >= {file.name for file in read_manifest(tmp_path).files}
    assert_ends_as(tmp_path, dataset, undisturbed[0])


def pieces():
    """Local scores of one component of two groups of variables, which only families too dear for any good network tie
    together, and each of which needs a search."""
    rng = np.random.default_rng(4)
    joined = []
    for offset in (0, 5):
        for child, own in enumerate(random_families(rng, 5)):
            moved = [(parents << offset, cost) for parents, cost in own if parents]
            tie = [(1 << 5 - offset, 999.0)] if child == 0 else []
            joined.append([*moved, *tie, (0, 30.0 if child else 1000.0)])
    return scores_of(joined)


def test_pieces_are_searched_one_by_one(tmp_path):
    stages = []
    result = session(tmp_path, pieces(), lower_bound="auto", observer=stages.append)
    searches = [event for event in stages if isinstance(event, StageEnded) and event.stage == "search"]
    assert result.stats["components"] == [1, 9]
    assert len(searches) == 2
    assert all(" nodes" in event.summary for event in searches)


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (problem, {"parent_graph": "layered"}),
        (families, {}),
        (problem, {"lower_bound": "static", "threads": 2}),
        (problem, {"lower_bound": "clusters", "fixing": False}),
        *(
            pytest.param(pieces, {"lower_bound": "auto", "fixing": True, **options}, marks=pytest.mark.slow)
            for options in ({}, {"parent_graph": "layered"}, {"polish": True})
        ),
    ],
    ids=["layered", "local scores", "static", "clusters", "pieces", "layered pieces", "polished pieces"],
)
@few_or_many
def test_killed_runs_of_other_kinds(tmp_path, make, options, kills):
    disk = SharedDisk(tmp_path / "undisturbed")
    disk.root.mkdir()
    with disk.watch():
        expected = outcome(session(disk.root, make(), **options))
    calls = some(before(disk.calls, 3), kills)  # two threads may write a little less
    kill_at_calls(tmp_path, make(), (expected, disk.calls), calls, after=False, **options)


def no_shared_table(*given):
    """In place of judge_by_level: there is no room."""
    yield from ()
    raise Stopped("memory_limit")


@pytest.mark.slow
def test_killed_runs_that_do_all_there_is(thorough, tmp_path, calls):
    """A long look for a better network, polishing and probing before each search."""
    probings = calls("bounds.lp.probing", "probe")
    disk = SharedDisk(tmp_path / "undisturbed")
    disk.root.mkdir()
    with disk.watch():
        expected = outcome(session(disk.root, pieces(), lower_bound="auto", fixing=True))
    assert probings
    moments = some(before(disk.calls, 3), 3)
    kill_at_calls(tmp_path, pieces(), (expected, disk.calls), moments, after=False, lower_bound="auto", fixing=True)


def kill_at_each_step(folder, problem, **options):
    """Kill a run whenever a commit says that counting has gone on; what each said, and the result in the end."""
    said = []

    def kill(event):
        now = counting(folder) if isinstance(event, Committed) else None
        if now and now["counters"] not in said:
            said.append(now["counters"])
            raise Killed

    while True:
        with contextlib.suppress(Killed):
            return said, session(folder, problem, observer=kill, **options)


@pytest.mark.slow
@pytest.mark.parametrize("by_child", [False, True])
def test_killed_while_counting_it_counts_nothing_twice(dataset, undisturbed, tmp_path, monkeypatch, by_child):
    if by_child:
        monkeypatch.setattr(surviving, "judge_by_level", no_shared_table)
    expected = undisturbed[0]
    if by_child:  # counts fewer varsets
        (tmp_path / "alone").mkdir()
        expected = outcome(session(tmp_path / "alone", dataset))
    said, result = kill_at_each_step(tmp_path, dataset)
    assert {now["complete_to"] for now in said} >= set(range(1, 3))
    for progress in ("complete_to", "varsets", "families"):
        assert [now[progress] for now in said] == sorted(now[progress] for now in said)
    assert len(said) >= 10
    assert outcome(result) == expected
    assert not arrays(tmp_path)


@pytest.mark.slow
def test_killed_while_counting_more_variables_than_a_word_has_bits(tmp_path):
    dataset = dataset_of(np.random.default_rng(3).integers(0, 2, (25, 66)))
    options = {"max_parents": 2, "memory": 1 << 30}
    (tmp_path / "undisturbed").mkdir()
    expected = outcome(session(tmp_path / "undisturbed", dataset, **options))
    (tmp_path / "killed").mkdir()
    said, result = kill_at_each_step(tmp_path / "killed", dataset, **options)
    assert {now["complete_to"] for now in said} >= {0, 1}
    assert outcome(result) == expected


def counting(folder):
    """What the checkpoint says of counting, if it says anything."""
    return read_manifest(folder).state.standing["counting"]


def test_counting_that_finds_no_room_on_disk_keeps_what_it_has_there(dataset, undisturbed, tmp_path):
    found = []

    def look(event):
        if isinstance(event, Committed) and (now := counting(tmp_path)):
            found.append(now["counters"])

    assert session(tmp_path, dataset, disk=41_000, observer=look).status == "disk_limit"
    assert len(found) >= 3
    assert found[-1] == found[-2]
    assert_ends_as(tmp_path, dataset, undisturbed[0])


def test_what_counting_had_on_disk_is_gone_before_the_search(dataset, tmp_path, sizes):
    found = []

    def look(event):
        if isinstance(event, Committed) and counting(tmp_path):
            sizes({"commits.COMMIT_SECONDS": math.inf})
        if isinstance(event, StageStarted) and event.stage in ("scores", "incumbent"):
            found.append(arrays(tmp_path))

    session(tmp_path, dataset, observer=look)
    assert found[:2] == [set(), {"scores.h5"}]


write = Store.write


class Pieces:
    """A stop signal that comes when so many pieces of counting have been written, and how many came after that."""

    def __init__(self, most):
        self.written, self._most = 0, most

    def write(self, store, name, piece):
        self.written += name.startswith("runs/counting-")
        return write(store, name, piece)

    def __call__(self):
        return "interrupted" if self.written >= self._most else None

    @property
    def late(self):
        return self.written - self._most


@pytest.mark.slow
@pytest.mark.parametrize("most", some(range(1, 30), 4))
def test_a_stop_does_not_wait_for_all_pieces_of_counting(dataset, undisturbed, tmp_path, monkeypatch, sizes, most):
    sizes(PIECE_BYTES=60, STOP_SECONDS=0.0)
    pieces = Pieces(most)
    with monkeypatch.context() as patch:
        patch.setattr(Store, "write", lambda *file: pieces.write(*file))
        assert session(tmp_path, dataset, stop=pieces).status == "interrupted"
    assert pieces.late <= 1  # one more when the last commit tries again
    assert arrays(tmp_path) == {file.name for file in read_manifest(tmp_path).files}
    assert_ends_as(tmp_path, dataset, undisturbed[0])


class Tasks:
    """A stop signal that comes when so many tasks of counting are over; until then nothing is committed."""

    def __init__(self, most):
        self._left = most

    def due(self):
        self._left -= 1
        return False

    def __call__(self):
        return None if self._left > 0 else "interrupted"


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [5, 9])
def test_sessions_that_end_before_all_of_counting_is_written_get_further(
    dataset, undisturbed, tmp_path, monkeypatch, sizes, tasks
):
    """Each does the same again, but what it writes in its last moments is there for the next."""
    sizes(PIECE_BYTES=60, STOP_SECONDS=0.0)
    expected = undisturbed[0]
    unfinished, held = 0, None
    while True:
        stop = Tasks(tasks)
        with monkeypatch.context() as patch:
            patch.setattr(extbnsl.proof.commits.Commits, "due", lambda commits, stop=stop: stop.due())
            result = session(tmp_path, dataset, stop=stop)
        if read_manifest(tmp_path).state.phase not in ("start", "counting"):
            break
        assert result.status == "interrupted"
        now = (arrays(tmp_path), counting(tmp_path))
        assert now != held
        assert now[0] == {file.name for file in read_manifest(tmp_path).files}
        unfinished += held is not None and now[1] == held[1]
        held = now
    assert unfinished > 5
    assert_ends_as(tmp_path, dataset, expected)


@pytest.mark.slow
def test_killed_between_pieces_of_counting(dataset, undisturbed, tmp_path, sizes):
    sizes(PIECE_BYTES=60)
    held = []
    for call in some(range(5, 250), 8):
        folder = tmp_path / str(call)
        folder.mkdir()
        disk = SharedDisk(folder)
        with pytest.raises(Killed), disk.crash_at(call):
            session(folder, dataset)
        held.append(counting(folder) is not None)
        disk.lose_power(random.Random(call))
        assert_only_what_is_named(folder)
        assert_ends_as(folder, dataset, undisturbed[0])
    assert sum(held) > 4


@pytest.mark.parametrize("room", range(1, 60_000, 9_000))
def test_what_has_no_room_on_disk_is_left_out(dataset, undisturbed, tmp_path, room):
    result = session(tmp_path, dataset, disk=room)
    assert result.status == "disk_limit"
    assert result.stats["peak_disk_bytes"] <= room
    assert sum((tmp_path / name).stat().st_size for name in arrays(tmp_path)) <= room
    assert_ends_as(tmp_path, dataset, undisturbed[0])


@pytest.mark.slow
def test_killed_with_files_in_a_scratch_folder(dataset, undisturbed, tmp_path):
    expected, calls = undisturbed
    for call in some(before(calls), 6):
        root = tmp_path / str(call)
        run, scratch = root / "run", root / "scratch"
        for folder in (root, run, scratch):
            folder.mkdir()
        disk = SharedDisk(root)
        with pytest.raises(Killed), disk.crash_at(call):
            session(run, dataset, scratch_dir=scratch)
        disk.lose_power(random.Random(call))
        assert outcome(session(run, dataset, scratch_dir=scratch)) == expected
        assert not arrays(root)
        assert not any(path.is_file() for path in scratch.rglob("*"))


@pytest.mark.slow
def test_power_lost_at_any_call(dataset, undisturbed, tmp_path):
    expected, calls = undisturbed
    for call in some(before(calls), 8):  # what is half done may be found or not, as after the next call
        folder = tmp_path / str(call)
        folder.mkdir()
        disk = SharedDisk(folder)
        with pytest.raises(Killed), disk.crash_at(call):
            session(folder, dataset)
        disk.lose_power(random.Random(call))
        assert_ends_as(folder, dataset, expected)


@pytest.mark.parametrize("seed", range(4))
def test_killed_again_and_again(dataset, undisturbed, tmp_path, seed):
    expected, calls = undisturbed
    disk = SharedDisk(tmp_path)
    rng = random.Random(seed)
    for _ in range(100):
        try:
            with disk.crash_at(rng.randrange(1, calls // 3), after=rng.random() < 0.5):
                result = session(tmp_path, dataset, threads=rng.randrange(1, 4))
        except Killed:
            if rng.random() < 0.5:
                disk.lose_power(rng)
        else:
            assert outcome(result) == expected
            assert not arrays(tmp_path)
            return
    raise AssertionError("the run does not end")


@pytest.mark.slow
@pytest.mark.parametrize("scratch", [False, True])
def test_stopped_at_any_poll_and_resumed_with_other_budgets(dataset, undisturbed, tmp_path, scratch):
    expected, _ = undisturbed
    never = StopAt(math.inf)
    (tmp_path / "never").mkdir()
    session(tmp_path / "never", dataset, stop=never)
    for k in some(range(never.polls), 10):
        folder, large = tmp_path / f"{k}", tmp_path / f"{k}-scratch"
        folder.mkdir()
        large.mkdir()
        place = {"scratch_dir": large} if scratch else {}
        stopped = session(folder, dataset, stop=StopAt(k), **place)
        assert stopped.status == "interrupted"
        assert stopped.lower_bound <= expected[3] <= stopped.cost
        manifest = read_manifest(folder)
        assert manifest.state.status == "interrupted"
        assert arrays(manifest.place(folder)) == {file.name for file in manifest.files}
        assert stopped.stats["peak_disk_bytes"] >= sum(file.bytes for file in manifest.files)
        assert_ends_as(folder, dataset, expected, threads=1 + k % 3, memory=OPTIONS["memory"] << k % 2, disk=1 << 30)
        assert not arrays(large)


def polls_before_the_search(dataset):
    """How often a session asks whether to stop before its first task of the search is done, all being compiled: who
    waits for a kernel asks meanwhile."""
    with TemporaryDirectory() as folder:
        session(Path(folder), dataset)
    signal, found = StopAt(math.inf), []

    def look(event):
        if isinstance(event, LayerEnded):
            found.append(signal.polls)

    with TemporaryDirectory() as folder:  # one that commits: it asks before it writes as well
        session(Path(folder), dataset, stop=signal, observer=look)
    return found[1]


@pytest.mark.slow
@pytest.mark.parametrize("polls", some([5, 4, 8], 2))
def test_stopped_again_and_again_the_run_makes_progress(tmp_path, polls):
    dataset = problem(29)
    first = session(tmp_path, dataset, stop=StopAt(polls_before_the_search(dataset), "time_limit"))
    generated = [first.stats["nodes_generated"]]
    while (result := session(tmp_path, dataset, stop=StopAt(polls, "time_limit"))).status != "optimal":
        generated.append(result.stats["nodes_generated"])
        assert generated[-1] > generated[-2]
    assert outcome(result) == outcome(solve(dataset, **OPTIONS))
    assert len(generated) > 3


@pytest.mark.slow
def test_time_limits_shorter_than_a_layer_let_the_run_end(tmp_path, monkeypatch):
    monkeypatch.setattr(extbnsl.machine.budgets, "clock", Ticks())
    monkeypatch.setattr(extbnsl.machine.workers, "POLL_SECONDS", 60.0)  # who waits longer looks no more often
    dataset = problem(29)
    (tmp_path / "undisturbed").mkdir()
    expected = outcome(session(tmp_path / "undisturbed", dataset, lower_bound="static"))
    (tmp_path / "limited").mkdir()
    sessions = 0
    while (result := session(tmp_path / "limited", dataset, lower_bound="static", time_limit=22.0)).status != "optimal":
        assert result.status == "time_limit"
        sessions += 1
        assert sessions < 20
    assert outcome(result) == expected
    assert sessions > 5


class Ticks:
    """A clock that goes on by a second when somebody looks at it: the load of the machine does not count, and no sum of
    seconds is rounded."""

    def __init__(self):
        self._looks = itertools.count()

    def __call__(self):
        return float(next(self._looks))


def test_with_no_time_left_there_is_still_the_result_of_before(dataset, undisturbed, tmp_path):
    expected, _ = undisturbed
    stopped = session(tmp_path, dataset, stop=StopAt(polls_before_the_search(dataset) + 2))
    assert stopped.stats["nodes_generated"] > 0
    again = session(tmp_path, dataset, time_limit=1e-9)
    assert again.status == "time_limit"
    assert again.network == stopped.network
    assert again.lower_bound == stopped.lower_bound
    assert again.stats["nodes_generated"] == stopped.stats["nodes_generated"]
    assert_ends_as(tmp_path, dataset, expected)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A run directory, not to be changed, of a run of the command line that was stopped in its search."""
    folder = tmp_path_factory.mktemp("stopped")
    dataset = problem(29)
    np.savetxt(
        folder / "data.csv", dataset.codes, fmt="s%d", delimiter=",", header=",".join(dataset.names), comments=""
    )
    with stopped_by(StopAt(polls_before_the_search(dataset) + 20)):
        assert main(["solve", f"{folder / 'data.csv'}", "--run-dir", f"{folder / 'r'}", *FLAGS]) == 10
    manifest = read_manifest(folder / "r")
    assert len(manifest.files) > 10
    kinds = {file.name.split("/")[0].split("-")[0] for file in manifest.files}
    assert kinds == {"scores.h5", "bounds", "layers", "runs"}
    return folder


FLAGS = ("--threads", "1", "--memory", "16MiB", "--lower-bound", "pattern", "--no-path-extension", "--quiet")
DAMAGE = settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def ended(stopped, tmp_path_factory):
    """The cost and the network that the stopped run ends with when nothing is done to it."""
    folder = tmp_path_factory.mktemp("ended")
    shutil.copytree(stopped / "r", folder / "r")
    assert main(["resume", f"{folder / 'r'}", "--quiet"]) == 0
    return result_of(folder / "r")


def result_of(run):
    document = json.loads((run / "result.json").read_text())
    return [document[key] for key in ("status", "cost", "parents", "order")]


def damaged(data, how, place):
    """The bytes cut off at a place, or with one bit of it flipped; `place` is a share of the whole."""
    at = int(place * len(data))
    return data[:at] if how == "cut" else data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :]


@pytest.mark.slow
@DAMAGE
@given(st.sampled_from(["cut", "flipped"]), st.floats(0, 1, exclude_max=True), st.integers(0, 10**6))
def test_damaged_files_are_found_and_nothing_is_made_worse(stopped, how, place, which):
    run, dataset = stopped / "r", problem(29)
    manifest = read_manifest(run)
    names = [MANIFEST, "scores.h5", *(file.name for file in manifest.files)]  # these two more often than by chance
    path = run / names[which % len(names)]
    whole, others = path.read_bytes(), arrays(run)
    path.write_bytes(damaged(whole, how, place))
    try:
        with pytest.raises(RunDirectoryError, match=path.name):
            session(run, dataset)
        assert arrays(run) == others
    finally:
        path.write_bytes(whole)


@pytest.mark.parametrize(
    ("name", "how"),
    [
        *((MANIFEST, how) for how in ("cut", "flipped", "missing")),
        *(("scores.h5", "cut"), ("bounds", "flipped"), ("layers", "missing"), ("runs", "flipped"), ("runs", "cut")),
    ],
)
def test_resume_says_which_file_is_damaged(stopped, ended, tmp_path, capsys, name, how):
    run = tmp_path / "r"
    shutil.copytree(stopped / "r", run)
    path = max((run / name).iterdir()) if (run / name).is_dir() else next(run.glob(f"{name}*"))
    whole = path.read_bytes()
    path.unlink() if how == "missing" else path.write_bytes(damaged(whole, how, 0.5))
    assert main(["resume", str(run)]) == 31
    out, err = capsys.readouterr()
    assert out == ""
    assert str(path if name != MANIFEST or how != "missing" else run) in err.splitlines()[-1]
    assert "Traceback" not in err
    path.write_bytes(whole)
    assert main(["resume", str(run), "--quiet"]) == 0
    assert result_of(run) == ended
    assert not arrays(run)


@pytest.mark.parametrize("name", ["layers", "runs"])
def test_resume_without_a_folder_of_arrays_removes_nothing(stopped, ended, tmp_path, capsys, name):
    run = tmp_path / "r"
    shutil.copytree(stopped / "r", run)
    (run / name).rename(tmp_path / name)
    others = arrays(run)
    assert main(["resume", str(run)]) == 31
    assert f"{run / name}/" in capsys.readouterr().err.splitlines()[-1]
    assert main(["status", str(run)]) == 0
    assert arrays(run) == others
    (tmp_path / name).rename(run / name)
    assert main(["resume", str(run), "--quiet"]) == 0
    assert result_of(run) == ended


def test_folders_of_arrays_that_are_not_needed_may_be_missing(dataset, undisturbed, tmp_path):
    begun = []
    session(
        tmp_path,
        dataset,
        observer=lambda event: isinstance(event, StageStarted) and begun.append(event.stage),
        stop=lambda: "interrupted" if "incumbent" in begun else None,
    )
    assert arrays(tmp_path) == {"scores.h5"}
    (tmp_path / "runs").rmdir()
    assert not (tmp_path / "layers").exists()
    assert_ends_as(tmp_path, dataset, undisturbed[0])


@pytest.mark.slow
def test_local_scores_are_resumed_by_the_command_line(tmp_path, capsys):
    scores, moved, run = tmp_path / "s.jkl", tmp_path / "moved.jkl.gz", tmp_path / "r"
    write_scores(solve(problem(29)).local_scores, scores)
    assert main(["solve", str(scores), "--run-dir", f"{tmp_path / 'undisturbed'}", *FLAGS]) == 0
    polls = StopAt(math.inf)
    with stopped_by(polls):
        assert main(["solve", str(scores), "--run-dir", str(tmp_path / "polls"), *FLAGS]) == 0
    with stopped_by(StopAt(polls.polls // 2)):
        assert main(["solve", str(scores), "--run-dir", str(run), *FLAGS]) == 10
    assert read_manifest(run).state.phase == "search"
    with gzip.open(moved, "wb") as file:
        file.write(scores.read_bytes())
    scores.write_text(scores.read_text().replace("-", "-1", 1))
    capsys.readouterr()
    assert main(["resume", str(run)]) == 31
    assert "not those that the run was begun with" in capsys.readouterr().err
    assert main(["resume", str(run), "--data", str(moved), "--threads", "2", "--quiet"]) == 0
    assert result_of(run) == result_of(tmp_path / "undisturbed")
    assert not arrays(run)


@pytest.mark.parametrize(
    "name", first(2, ["log.jsonl", "solve.log", "status.json", "result.json", "network.bif", "lock"])
)
def test_other_damaged_files_do_not_matter(stopped, ended, tmp_path, name):
    run = tmp_path / "r"
    shutil.copytree(stopped / "r", run)
    whole = (run / name).read_bytes()
    (run / name).write_bytes(whole[: len(whole) // 2] + b"\xff\x00{")
    assert main(["resume", str(run), "--quiet"]) == 0
    assert result_of(run) == ended
    assert main(["status", str(run)]) == 0


def test_resume_finds_moved_data_and_refuses_changed_ones(stopped, ended, tmp_path, capsys):
    shutil.copytree(stopped / "r", tmp_path / "r")
    text = (stopped / "data.csv").read_text()
    changed, moved = tmp_path / "changed.csv", tmp_path / "moved.csv"
    changed.write_text(text.replace("s1", "s0", 1))
    moved.write_text(text)
    before = arrays(tmp_path / "r")
    assert main(["resume", f"{tmp_path / 'r'}", "--data", str(changed)]) == 31
    assert "The data are not those that the run was begun with" in capsys.readouterr().err.splitlines()[-1]
    assert arrays(tmp_path / "r") == before
    assert main(["resume", f"{tmp_path / 'r'}", "--data", str(moved), "--quiet"]) == 0
    assert result_of(tmp_path / "r") == ended


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *[("max_parents", 2), ("seed", 1), ("lower_bound", "static"), ("path_extension", True)],
        ("parent_graph", "layered"),
    ],
)
def test_other_options_are_refused(stopped, option, value):
    run = stopped / "r"
    dataset, resume = read_csv(stopped / "data.csv"), read_manifest(run)
    with pytest.raises(RunDirectoryError, match=f"begun with {option} = "):
        solve(dataset, run_folder=run, resume=resume, **(OPTIONS | {option: value}))


class Scarce:
    """Lets HDF5 fail, as it does without memory, when it opens a file for the k-th time."""

    def __init__(self, k, error):
        self.opened, self._fatal, self._error = 0, k, error

    def instead_of(self, call):
        def opened(*arguments, **options):
            self.opened += 1
            if self.opened == self._fatal:
                raise self._error
            return call(*arguments, **options)

        return opened


@contextlib.contextmanager
def failing_at(k, error):
    """HDF5 is `Scarce`; which is that."""
    scarce = Scarce(k, error)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(h5f, "create", scarce.instead_of(h5f.create))
        patch.setattr(h5f, "open", scarce.instead_of(h5f.open))
        yield scarce


@pytest.mark.slow
@pytest.mark.parametrize("error", [MemoryError(), OSError("unable to allocate"), RuntimeError("unable to allocate")])
def test_without_memory_for_hdf5_the_run_stops_and_goes_on_later(dataset, undisturbed, tmp_path, error):
    expected, _ = undisturbed
    (tmp_path / "undisturbed").mkdir()
    with failing_at(-1, error) as never:
        session(tmp_path / "undisturbed", dataset)
    ends = []
    for k in some(range(1, 1 + never.opened + 1), 8):
        folder = tmp_path / str(k)
        folder.mkdir()
        with failing_at(k, error):
            try:
                ends.append(session(folder, dataset).status)
            except MemoryError:
                ends.append("nothing")
        assert_ends_as(folder, dataset, expected)
    assert set(ends) == {"nothing", "memory_limit", "optimal"}
    assert ends[-1] == "optimal"


def test_threads_that_cannot_be_had_are_a_matter_of_budget(dataset, tmp_path, monkeypatch):
    start, started = threading.Thread.start, []

    def refuse(thread):
        if len(started) == 5:
            raise RuntimeError("can't start new thread")
        started.append(start(thread))

    before = threading.active_count()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(BudgetError, match="8 threads"):
            session(tmp_path, dataset, threads=8)
    assert threading.active_count() == before
    assert not list(tmp_path.iterdir())


def test_a_command_without_any_thread_to_be_had_says_so(tmp_path, stopped, capsys, monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert main(["solve", f"{stopped / 'data.csv'}", "--run-dir", f"{tmp_path / 'r'}", *FLAGS]) == 20
    err = capsys.readouterr().err
    assert "give fewer" in err.splitlines()[-1]
    assert "Traceback" not in err


@pytest.mark.parametrize("place", ["scratch_dir", "run_folder"])
def test_a_folder_that_is_not_there_is_named(dataset, tmp_path, place):
    with pytest.raises(InputError, match="nowhere"):
        solve(dataset, **{place: tmp_path / "nowhere"}, **OPTIONS)
