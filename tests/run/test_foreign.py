"""Run directories from anyone: what is not the run's own stays, and what no run writes is refused quickly."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from runs import CLAIM, remembered, state, stopped

from extbnsl.cli import main
from extbnsl.core.codec import decode
from extbnsl.core.errors import RunDirectoryError
from extbnsl.data.reading import read_csv
from extbnsl.files import manifest as manifests
from extbnsl.files.arrays import write_arrays
from extbnsl.files.atomic import checksum
from extbnsl.files.manifest import RunState, read_manifest
from extbnsl.files.names import LOGS, MANIFEST, MARK, STATUS
from extbnsl.files.shelf import Shelf
from extbnsl.files.store import Store
from extbnsl.proof.standing import Standing, read_standing
from extbnsl.run import directory

FOREIGN = ["mine.h5", "bounds-3.h5", ".notes.txt.123.tmp", "layers/mine.h5", "runs/9.h5", "scores.h5.bak"]


@pytest.fixture
def path(tmp_path):
    """A stopped run with files of the user's, and a result of the user's own beside it."""
    (tmp_path / "data.csv").write_text("a,b\n0,1\n1,0\n")
    digest = read_csv(tmp_path / "data.csv").fingerprint
    path = stopped(tmp_path / "r", run=remembered(tmp_path / "data.csv"), digest=digest, phase="start")
    for name in FOREIGN:
        (path / name).write_text("mine")
    return path


def rewritten(path, **changes):
    """Another manifest in its place, with a checksum that holds."""
    document = json.loads((path / MANIFEST).read_text())
    del document["checksum"]
    (path / MANIFEST).write_bytes(manifests._sealed(document | changes))


def refused(capsys, *command):
    """The sentence with which a command refuses a run directory."""
    assert main([str(argument) for argument in command]) == 31
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "Traceback" not in said
    return said


def everything(folder):
    return {file: file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file() and file.name != "lock"}


@pytest.mark.parametrize("command", ["resume", "clean"])
def test_the_users_files_stay(path, tmp_path, command):
    before = {name: (path / name).read_bytes() for name in FOREIGN}
    debris = path / "layers" / "c1-1-09-000000000000.h5"
    debris.touch()
    assert main([command, str(path), *(["--yes"] if command == "clean" else ["--quiet"])]) == 0
    assert not debris.exists()
    assert {name: (path / name).read_bytes() for name in FOREIGN} == before


def test_a_foreign_folder_named_as_scratch_is_left_alone(path, tmp_path, capsys):
    theirs = tmp_path / "photos-0123abcd"
    for name in ("scores.h5", "layers/c1-1-01-000000000000.h5", ".manifest.json.1.tmp"):
        (theirs / name).parent.mkdir(exist_ok=True, parents=True)
        (theirs / name).write_text("precious")
    before = everything(theirs)
    for files in ([], json.loads((path / MANIFEST).read_text())["files"]):
        rewritten(path, scratch={"path": str(theirs), "mark": "0" * 32}, files=files)
        assert main(["resume", str(path), "--quiet"]) in (30, 31)
        assert capsys.readouterr().err.count("\n") == 1
        assert main(["clean", str(path)]) == 0
        assert str(theirs) not in capsys.readouterr().out
    assert main(["solve", str(tmp_path / "data.csv"), "--run-dir", str(path), "--overwrite"]) == 30
    assert main(["clean", str(path), "--yes"]) == 0
    assert everything(theirs) == before


SECRET = {"name": "../secret.txt", "bytes": 6, "checksum": checksum(b"secret")}


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"files": [SECRET]}, "files.0.name"),
        ({"files": [SECRET | {"name": "/etc/passwd"}]}, "files.0.name"),
        ({"files": [SECRET | {"name": "mine.h5"}]}, "files.0.name"),
        ({"files": [SECRET | {"name": "scores.h5", "bytes": -1}]}, "files.0.bytes"),
        ({"files": [SECRET | {"name": "scores.h5", "bytes": True}]}, "files.0.bytes"),
        ({"files": [SECRET | {"name": "scores.h5", "bytes": 10**305}]}, "files.0.bytes"),
        ({"files": [SECRET | {"name": "scores.h5", "more": 1}]}, "files.0.more"),
        ({"files": [SECRET | {"name": "scores.h5"}] * 2}, "files"),
        ({"files": "scores.h5"}, "files"),
        ({"scratch": "/home/user/photos"}, "scratch"),
        ({"scratch": {"path": "photos-00000000", "mark": "0" * 32}}, "scratch.path"),
        ({"scratch": {"path": "/home/user/photos", "mark": "0" * 32}}, "scratch.path"),
        ({"scratch": {"path": "/x/../photos-00000000", "mark": "0" * 32}}, "scratch.path"),
        ({"scratch": {"path": "/photos-00000000", "mark": "mark"}}, "scratch.mark"),
        ({"state": []}, "state"),
        ({"state": state() | {"phase": "nowhere"}}, "state.phase"),
        ({"state": state(seconds=None)}, "state.spent.seconds"),
        ({"state": state(seconds=10**305)}, "state.spent.seconds"),
        ({"state": state(peak_rss=1.5)}, "state.spent.peak_rss"),
        ({"state": state() | {"more": 1}}, "state.more"),
        ({"state": {"phase": "start"}}, "state.kind"),
        ({"state": state(kind="dream")}, "state.kind"),
        ({"state": state(claim=CLAIM | {"knowledge": {"roots": ["a", 1]}})}, "state.claim.knowledge.roots.1"),
        ({"state": state() | {"run": {}}}, "state.run.input"),
        ({"state": state(run=remembered(plot="/home/user/.bashrc"))}, "state.run.plot"),
        ({"state": state(run=remembered(plot="n.svg"))}, "state.run.plot"),
        ({"state": state(run=remembered(plot="/n\0.svg"))}, "state.run.plot"),
        ({"state": state(run=remembered(plots="/n.svg"))}, "state.run.plots"),
    ],
)
def test_a_manifest_that_no_run_writes_is_refused_at_the_place(path, tmp_path, capsys, changes, place):
    (tmp_path / "secret.txt").write_text("secret")
    rewritten(path, **changes)
    before = everything(tmp_path)
    assert f"is not what a run of extbnsl writes (at '{place}')" in refused(capsys, "resume", path)
    assert everything(tmp_path) == before
    assert main(["status", str(path)]) == 0
    assert f"(at '{place}')" in capsys.readouterr().out


ARRAYS = "pieces-1-1-1.h5"
CUTS = {"bounding.tree.cuts": np.array([[[3], [0], [0]]], np.uint64)}
PART = {"order": [0, 1], "upper_bound": 1.0, "lower_bound": 0.0, "proved": False, "steps": []}
PIECE = {"variables": [0, 1], "lower_bound": 0.0, "order": None, "given_up": False, "multipliers": None}
SEARCH = {"component": 0, "at": 0, "pieces": [PIECE], "limit": 1.0, "groups": [], "sets": None, "state": None}
SEARCH |= {
    "tried": False,
    "steps": [],
    "bounding": None,
    "allowed_ns": None,
    "file": ARRAYS,
    "lists": [[]],
    "multipliers": None,
}
PASS = {"cuts": [[[0, 1]], [[0], [1], [0, 1]]], "weights": [1, 1 << 60], "least": [0.5, -1.0]}
SEARCHED = {"variables": [1, 0], "bound": 0.5, "cuts": [[[0, 1]]], "weights": [3]}
DUALS = [{"cuts": [0], "weights": [3]}, {"cuts": [], "weights": []}]
ROOT = {"above": -1, "choice": -1, "duals": DUALS}
BELOW = {"above": 0, "choice": 2, "duals": []}
BRANCHED = {"variables": [1, 0], "bound": 0.5, "cuts": [[[0, 1]]], "nodes": [ROOT, BELOW, BELOW | {"choice": 3}]}
OPEN = {"above": 0, "bound": None, "choices": [2], "duals": DUALS}
TREE = {"open": [OPEN], "closed": [ROOT], "looked": 1, "effort": 1, "order": [1, 0], "cost": 2.5}
BOUNDING = {
    "too_large": False,
    "turn": {"step": "branch", "rounds": 0, "spent": 0, "effort": 0, "gap": None},
    "root": None,
    "tree": TREE,
}
BOUNDING |= {"programs": {"optimal": True, "spread": None}, "probing": {"pays": False, "tried": [], "before": 0}}


def digest_of(path):
    """The fingerprint of the data beside a run directory."""
    return read_csv(path.parent / "data.csv").fingerprint


def with_step(step, **changes):
    """The parts of a state, one of which has this step, changed, in its proof."""
    return {"parts": [PART | {"steps": [PASS, step | changes] if step is not PASS else [PASS | changes]}]}


def committed(path, arrays=CUTS, **changes):
    """Put a checkpoint with a file of arrays into a run directory."""
    file = write_arrays(path, ARRAYS, arrays)
    store = Store(path, 1 << 20)
    store.add([file])
    manifests.commit(path, store, manifests.Manifest(decode(RunState, state(**changes)), (file,), None))


def with_tree(**changes):
    """A state with a tree, changed."""
    return {"parts": [PART], "search": SEARCH | {"bounding": BOUNDING | {"tree": TREE | changes}}}


@pytest.mark.parametrize(
    "changes",
    [
        {"parts": [PART], "search": SEARCH},
        with_step(PASS),
        with_step(SEARCHED),
        with_step(BRANCHED),
        with_tree(),
        {"parts": [PART], "search": SEARCH | {"steps": [PASS, SEARCHED, PASS, BRANCHED]}},
        {"parts": [PART | {"proved": True, "steps": [PASS]}]},
    ],
)
def test_a_state_that_a_run_may_write_is_believed(path, changes):
    """Those that are refused below differ from these by what is named there."""
    committed(path, **changes)
    assert read_standing(read_manifest(path), path, Shelf(1 << 20, Store(path, 0)), 2, Standing).parts


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"parts": [PART | {"order": [1, 1]}]}, "parts.0"),
        ({"search": SEARCH}, ""),
        ({"parts": [PART], "search": SEARCH | {"at": 1}}, "search"),
        ({"parts": [PART], "search": SEARCH | {"lists": []}}, "search"),
        ({"parts": [PART], "search": SEARCH | {"pieces": [PIECE | {"variables": [0, 7]}]}}, "search"),
        ({"parts": [PART], "search": SEARCH | {"pieces": [PIECE | {"order": [0, 0]}]}}, "search.pieces.0"),
        ({"parts": [PART], "search": SEARCH | {"file": "bounds-1-1.h5"}}, "search"),
        ({"parts": [PART], "search": SEARCH | {"lists": [["../scores.h5"]]}}, "search.lists.0.0"),
        ({"parts": [PART | {"proved": True}]}, "parts.0"),
        ({"parts": [PART | {"steps": [SEARCHED]}]}, "parts.0"),
        ({"parts": [PART], "search": SEARCH | {"steps": [BRANCHED]}}, "search"),
        ({"parts": [PART], "search": SEARCH | {"steps": [PASS, SEARCHED | {"variables": [2]}]}}, "search"),
        (with_step(PASS, cuts=[[[0, 2]], [[1]]]), "parts.0"),
        (with_step(PASS, cuts=[[[0, 1]], []]), "parts.0"),
        (with_step(PASS, cuts=[[[0, 1]], [[0], [1]]]), "parts.0"),
        (with_step(PASS, cuts=[[[0, 1]], [[0]] * 4]), "parts.0"),
        (with_step(PASS, cuts=[[[0, 1]], [[]]]), "parts.0"),
        (with_step(PASS, weights=[1]), "parts.0"),
        (with_step(PASS, weights=[1, 0]), "parts.0.steps.0.weights.1"),
        (with_step(PASS, weights=[1, 1 << 62]), "parts.0.steps.0.weights.1"),
        (with_step(PASS, least=[0.5]), "parts.0"),
        (with_step(SEARCHED, variables=[]), "parts.0"),
        (with_step(SEARCHED, variables=[0, 0]), "parts.0"),
        (with_step(SEARCHED, variables=[0, 2]), "parts.0"),
        (with_step(SEARCHED, weights=[3, 3]), "parts.0"),
        (with_step(SEARCHED, cuts=[[[5]]]), "parts.0"),
        (with_step(BRANCHED, variables=[0, 2]), "parts.0"),
        (with_step(BRANCHED, nodes=[]), "parts.0"),
        (with_step(BRANCHED, nodes=[BELOW]), "parts.0"),
        (with_step(BRANCHED, nodes=[ROOT, ROOT]), "parts.0"),
        (with_step(BRANCHED, nodes=[ROOT, BELOW | {"above": 1}]), "parts.0"),
        (with_step(BRANCHED, nodes=[ROOT, BELOW | {"above": 2}]), "parts.0"),
        (with_step(BRANCHED, nodes=[ROOT, BELOW | {"choice": -1}]), "parts.0"),
        (with_step(BRANCHED, nodes=[ROOT, BELOW | {"choice": 8}]), "parts.0"),
        (with_step(BRANCHED, nodes=[ROOT | {"choice": 0}]), "parts.0"),
        (with_step(BRANCHED, nodes=[ROOT | {"duals": [{"cuts": [1], "weights": [3]}]}]), "parts.0"),
        (
            with_step(BRANCHED, nodes=[ROOT | {"duals": [{"cuts": [0], "weights": []}]}]),
            "parts.0.steps.1.nodes.0.duals.0",
        ),
        (with_step(BRANCHED, variables=[0], nodes=[ROOT, BELOW]), "parts.0"),
        (with_tree(closed=[ROOT, BELOW | {"above": 1}]), "search"),
        (with_tree(closed=[ROOT, BELOW | {"choice": 8}]), "search"),
        (with_tree(closed=[BELOW]), "search"),
        (with_tree(closed=[]), "search"),
        (with_tree(open=[OPEN | {"above": 1}]), "search"),
        (with_tree(open=[OPEN | {"choices": [0, 8]}]), "search"),
        (with_tree(open=[OPEN | {"duals": [{"cuts": [1], "weights": [3]}]}]), "search"),
        (with_tree(open=[OPEN | {"duals": [{"cuts": [0], "weights": [3, 3]}]}]), "search.bounding.tree.open.0.duals.0"),
        (with_tree() | {"arrays": {}}, "search.bounding.tree.cuts"),
        (with_tree() | {"arrays": {name: cuts[:0] for name, cuts in CUTS.items()}}, "search"),
        (with_tree() | {"arrays": {name: cuts[:, :2] for name, cuts in CUTS.items()}}, "search"),
        (
            with_tree() | {"arrays": {name: cuts.astype(float) for name, cuts in CUTS.items()}},
            "search.bounding.tree.cuts",
        ),
        (with_tree(order=[0]), "search"),
        (with_tree(order=[0, 0]), "search"),
        (with_tree(order=None), "search"),
        (with_tree(cost=None), "search"),
        (
            {
                "parts": [PART],
                "search": SEARCH | {"pieces": [PIECE | {"order": [1, 0]}], "bounding": BOUNDING | {"tree": None}},
            },
            "search",
        ),
    ],
)
def test_a_state_that_contradicts_itself_is_refused(path, capsys, changes, place):
    committed(path, **{"run": remembered(path.parent / "data.csv"), "digest": digest_of(path)} | changes)
    said = refused(capsys, "resume", path, "--quiet")
    assert f"(at '{'.'.join(['state.standing', *filter(None, [place])])}')" in said


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
@pytest.mark.parametrize("name", [MANIFEST, "lock", "scores.h5", "layers", "runs"])
def test_what_is_no_file_or_no_folder_is_refused_at_once(path, tmp_path, capsys, name, make):
    (path / name).rename(tmp_path / "away")
    make(path / name)
    if name in ("layers", "runs") and (path / name).is_dir():
        return
    before = everything(tmp_path)
    assert " there; " in refused(capsys, "resume", path, "--quiet")
    assert everything(tmp_path) == before
    assert main(["status", str(path)]) in (0, 30)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
@pytest.mark.parametrize("name", LOGS)
def test_a_log_that_is_no_file_is_refused_at_once(path, name, make):
    (path / name).unlink()
    make(path / name)
    with directory.reopen(path) as run, pytest.raises(RunDirectoryError, match="and a run has a file there"):
        run.begin()


def test_the_target_of_a_lock_that_is_a_link_is_not_written(path, tmp_path, capsys):
    (tmp_path / "important.txt").write_text("important")
    (path / "lock").unlink()
    (path / "lock").symlink_to(tmp_path / "important.txt")
    assert "lock is a link" in refused(capsys, "resume", path)
    assert (tmp_path / "important.txt").read_text() == "important"


def test_overwrite_deletes_nothing_by_way_of_a_link(path, tmp_path, capsys):
    for name in FOREIGN:
        (path / name).unlink()
    (path / "layers").rename(tmp_path / "layers")
    (path / "layers").symlink_to(tmp_path / "layers")
    before = everything(tmp_path / "layers")
    assert main(["solve", str(tmp_path / "data.csv"), "--run-dir", str(path), "--overwrite"]) == 30
    assert "also holds 'layers'" in capsys.readouterr().err
    assert everything(tmp_path / "layers") == before != {}


@pytest.mark.parametrize("name", ["result.json", "log.jsonl", "lock", STATUS, "scores.h5", MANIFEST, MARK])
def test_overwrite_replaces_nothing_but_a_run(tmp_path, capsys, name):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / name).write_text("{}")
    (tmp_path / "data.csv").write_text("a,b\n0,1\n1,0\n")
    for command in (["solve", tmp_path / "data.csv", "--overwrite", "--run-dir"], ["clean", "--yes"], ["resume"]):
        assert main([str(argument) for argument in (*command, folder)]) == 30
        assert capsys.readouterr().err.count("\n") == 1
    assert everything(folder) == ({folder / name: b"{}"} if name != "lock" else {})
    assert Path(folder / name).read_text() == "{}"
