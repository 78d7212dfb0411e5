"""`extbnsl resume`: what it asks of solve, what it keeps, and what it refuses."""

import dataclasses
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from cases import from_array
from flat import flattened, solve
from patching import forbidden
from runs import BUDGETS, DATA_OPTIONS, OPTIONS, commit, remembered, stopped

from extbnsl.cli import main
from extbnsl.core import events
from extbnsl.data.reading import read_csv
from extbnsl.drawing.network import BEGINNING
from extbnsl.files.manifest import read_manifest
from extbnsl.files.store import make_scratch
from extbnsl.run import directory as directory_module

TABLE = np.random.default_rng(2).integers(0, 2, (30, 3))


@pytest.fixture(scope="module")
def solved():
    """A real result, to be changed as a test needs it."""
    return solve(from_array(TABLE, ["a", "b", "c"]))


@pytest.fixture(autouse=True)
def path(here):
    """A stopped run in a folder of its own, with its data in it."""
    np.savetxt("data.csv", TABLE, fmt="%d", delimiter=",", header="a,b,c", comments="")
    return stopped(Path("r"), run=remembered(here / "data.csv"))


@pytest.fixture
def asked(solving, solved):
    """What solve was asked for, filled when the fake in its place is called; its `status` is to be set."""
    got = {"status": "optimal"}

    def fake(given, observer, stop):
        got.update(flattened(given), problem=given.problem)
        observer(events.StageStarted("search", ""))
        return dataclasses.replace(solved, status=got["status"])

    solving(fake)
    return got


def run(capsys, *arguments):
    """Exit code, standard output and standard error of a command."""
    code = main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


def test_it_asks_for_what_was_asked_before(path, asked, capsys):
    manifest = commit(path, run=remembered(os.path.abspath("data.csv")))
    code, out, err = run(capsys, "resume", path)
    assert (code, out.startswith("status       optimal\n")) == (0, True)
    assert "resuming r: search, after 0:01:40" in err
    assert asked["problem"].fingerprint == read_csv("data.csv").fingerprint
    assert {key: asked[key] for key in OPTIONS} == OPTIONS
    assert {key: asked[key] for key in BUDGETS} == BUDGETS
    assert asked["time_limit"] is None
    assert asked["resume"] == manifest
    assert asked["remember"] == manifest.state.run
    assert (asked["run_folder"], asked["scratch_dir"]) == (path, None)


def test_budgets_that_are_given_are_remembered(path, asked, capsys):
    code, _, err = run(capsys, "resume", path, *["--memory", "2GiB", "--disk", "1TB", "--time-limit", "2h", "--quiet"])
    assert (code, err) == (0, "")
    budgets = {"memory": 2 << 30, "disk": 10**12, "threads": 1, "compress": False}
    assert {key: asked[key] for key in budgets} == budgets
    assert asked["remember"].budgets == budgets
    assert asked["time_limit"] == 7200


def test_data_are_read_as_they_were(path, asked, capsys):
    Path("odd.txt").write_text("0 1 ?\n1 1 0\n1 0 0\n0 0 1\n")
    options = DATA_OPTIONS | {"header": False, "delimiter": " ", "missing": "drop"}
    commit(path, run=remembered(os.path.abspath("odd.txt"), data_options=options))
    assert run(capsys, "resume", path)[0] == 0
    assert asked["problem"].fingerprint == read_csv("odd.txt", header=False, delimiter=" ", missing="drop").fingerprint


def test_standard_input_is_asked_for(path, asked, capsys):
    commit(path, run=remembered("-"))
    code, out, err = run(capsys, "resume", path)
    assert (code, out, err.count("\n")) == (30, "", 1)
    assert "read standard input; give the same data with --data FILE" in err
    assert run(capsys, "resume", path, "--data", "data.csv")[0] == 0


def test_data_that_were_moved_are_asked_for(path, asked, capsys):
    Path("data.csv").rename("moved.csv")
    before = Path("r/solve.log").read_bytes()
    code, out, err = run(capsys, "resume", path)
    assert (code, out, err.count("\n")) == (30, "", 1)
    assert "data.csv" in err
    assert "--data FILE" in err
    assert Path("r/solve.log").read_bytes() == before
    assert run(capsys, "resume", path, "--data", "moved.csv")[0] == 0
    assert asked["remember"].input == os.path.abspath("moved.csv")
    assert asked["problem"].source == "moved.csv"
    assert "none.csv" in run(capsys, "resume", stopped(Path("s")), "--data", "none.csv")[2]


def test_logs_go_on_and_times_add_up(path, asked, capsys):
    before = {name: Path(path, name).read_text() for name in ("solve.log", "log.jsonl")}
    assert run(capsys, "resume", path)[0] == 0
    for name, text in before.items():
        assert Path(path, name).read_text().startswith(text)
    assert "resuming r: search" in Path(path, "solve.log").read_text()
    last = json.loads(Path(path, "log.jsonl").read_text().splitlines()[-1])
    assert last["elapsed"] >= 100
    assert json.loads(Path(path, "status.json").read_text())["elapsed"] >= 100


def test_the_result_is_replaced_and_tells_the_command_that_began_the_run(path, asked, capsys):
    (path / "result.json").write_text('{"status": "time_limit"}')
    asked["status"] = "time_limit"
    code, out, _ = run(capsys, "resume", path)
    assert code == 10
    assert "continue     extbnsl resume r\n" in out
    document = json.loads((path / "result.json").read_text())
    assert document["provenance"]["command"] == f"extbnsl solve {os.path.abspath('data.csv')}"
    assert (path / "scores.h5").exists()


@pytest.mark.parametrize("status", ["optimal", "not_proved"])
def test_a_run_that_is_finished_is_told_again(path, asked, capsys, status):
    asked["status"] = status
    code, first, _ = run(capsys, "resume", path)
    commit(path, phase="done", status=status)
    asked.pop("resume")
    again, out, err = run(capsys, "resume", path)
    assert again == code == (0 if status == "optimal" else 10)
    assert out == first.replace("continue     extbnsl resume r\n", "")
    assert err == "extbnsl: The run in r is finished; there is nothing left to do.\n"
    assert "resume" not in asked
    assert run(capsys, "resume", path, "--quiet")[1].startswith(f"{status}: cost ")
    assert json.loads(run(capsys, "resume", path, "--json")[1]) == json.loads((path / "result.json").read_text())
    (path / "result.json").write_text(json.dumps({"status": status, "cost": "much"}))
    code, _, err = run(capsys, "resume", path)
    assert (code, "damaged" in err) == (31, True)


def test_a_run_that_ended_without_its_result_is_ended_again(path, asked, capsys):
    commit(path, phase="done", status="optimal", run=remembered(os.path.abspath("data.csv")))
    assert run(capsys, "resume", path)[0] == 0
    assert "resume" in asked


def test_large_files_stay_where_they_are(tmp_path, asked, capsys):
    scratch = tmp_path / "large" / "s-00000001"
    path = stopped(Path("s"), scratch, run=remembered(tmp_path / "data.csv"))
    asked["status"] = "time_limit"
    assert run(capsys, "resume", path)[0] == 10
    assert (asked["scratch_dir"], asked["resume"].scratch.folder) == (None, scratch)
    with forbidden(lambda place, mode: str(place).startswith(str(scratch))):
        code, _, err = run(capsys, "resume", path)
        assert (code, err.count("\n"), "no permission" in err) == (30, 1, True)
    shutil.rmtree(scratch)
    code, _, err = run(capsys, "resume", path)
    assert (code, err.count("\n")) == (31, 1)
    assert str(scratch) in err


def test_what_cannot_be_resumed_is_one_sentence_and_stays_as_it_is(path, capsys):
    Path("empty").mkdir()
    damaged = stopped(Path("damaged"))
    (damaged / "manifest.json").write_bytes((path / "manifest.json").read_bytes()[:-9])
    none = stopped(Path("none"))
    library = stopped(Path("library"), run=None)
    (none / "manifest.json").unlink()
    for place, code in (("empty", 30), ("data.csv", 30), ("nowhere", 30), (damaged, 31), (none, 31), (library, 31)):
        found, out, err = run(capsys, "resume", place)
        assert (found, out, err.count("\n")) == (code, "", 1)
        assert str(place) in err
    with directory_module.reopen(path):
        code, _, err = run(capsys, "resume", path)
    assert (code, f"(id {os.getpid()})" in err) == (31, True)
    assert os.listdir("empty") == []


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """The folder of a run that is finished, `r`, and its data."""
    folder = tmp_path_factory.mktemp("ended")
    np.savetxt(folder / "data.csv", TABLE, fmt="%d", delimiter=",", header="a,b,c", comments="")
    (folder / "large").mkdir()
    solving = ["solve", folder / "data.csv", "--run-dir", folder / "r", "--scratch-dir", folder / "large", "--quiet"]
    assert main([str(argument) for argument in solving]) == 0
    assert not list((folder / "large").iterdir())
    return folder


@pytest.mark.parametrize("written", range(4))
def test_killed_between_its_files_a_result_is_completed(ended, tmp_path, capsys, written):
    """After so many of the files of the network; the others are missing or those of a result before."""
    names = ["network.dot", "network.bif", "network.json"]
    shutil.copytree(ended, tmp_path / "e")
    folder, run_folder = tmp_path / "e", tmp_path / "e" / "r"
    for name in names[written:]:
        (run_folder / name).write_text('{"parents": {}, "cost": 1}') if written else (run_folder / name).unlink()
    (run_folder / ".network.json.77.tmp").touch()
    (run_folder / "layers").mkdir()
    scratch = checkpoint_scratch(run_folder)
    code, out, _ = run(capsys, "status", run_folder)
    assert ("writes them" in out) == (written < 3)
    code, _, err = run(capsys, "resume", run_folder, "--data", folder / "data.csv", "--quiet")
    assert (code, err) == (0, "")
    for name in names:
        assert (run_folder / name).read_bytes() == (ended / "r" / name).read_bytes()
    assert not scratch.exists()
    assert sorted(os.listdir(run_folder)) == sorted(os.listdir(ended / "r"))
    assert "writes them" not in run(capsys, "status", run_folder)[1]


def checkpoint_scratch(run_folder):
    """A scratch folder with nothing but its mark, which the manifest of a run names."""
    manifest = read_manifest(run_folder)
    scratch = manifest.scratch
    make_scratch(scratch)
    return scratch.folder


def test_a_stopped_run_is_drawn_again_by_each_session(path, asked, capsys):
    drawn = Path("pictures", "n.svg")
    drawn.parent.mkdir()
    commit(path, run=remembered(os.path.abspath("data.csv"), plot=os.path.abspath(drawn)))
    drawn.write_text(f"{BEGINNING} of the session before")
    assert run(capsys, "resume", path)[1].endswith(f"The network is drawn in {os.path.abspath(drawn)}.\n")
    assert asked["remember"].plot == os.path.abspath(drawn)
    assert main(["plot", str(path), "--network", "-o", "expected.svg"]) == 0
    assert drawn.read_bytes() == Path("expected.svg").read_bytes()
    capsys.readouterr()
    drawn.write_text("precious")
    assert "n.svg is no drawing by extbnsl, so it stays as it is; 'extbnsl plot r" in not_drawn(capsys, path)
    assert drawn.read_text() == "precious"
    shutil.rmtree(drawn.parent)
    assert "The result is in r; 'extbnsl plot r --network -o FILE' draws the network in" in not_drawn(capsys, path)


def not_drawn(capsys, path):
    """What a resume says that writes its result and no drawing."""
    (path / "result.json").unlink()
    code, _, err = run(capsys, "resume", path, "--quiet")
    assert (code, err.count("\n")) == (30, 1)
    assert json.loads((path / "result.json").read_text())["status"] == "optimal"
    return err


def test_what_solve_was_to_draw_is_drawn_though_it_was_killed(ended, tmp_path, capsys):
    shutil.copytree(ended, tmp_path / "e")
    run_folder, drawn = tmp_path / "e" / "r", tmp_path / "n.svg"
    assert run(capsys, "resume", run_folder, "--quiet")[0] == 0  # of a run that was not to draw
    assert sorted(tmp_path.glob("*.svg")) == []
    arguments = [
        "solve",
        tmp_path / "e" / "data.csv",
        "--run-dir",
        run_folder,
        "--overwrite",
        "--plot",
        drawn,
        "--quiet",
    ]
    assert run(capsys, *arguments)[0] == 0
    expected = drawn.read_bytes()
    drawn.unlink()
    assert run(capsys, "resume", run_folder, "--quiet")[0] == 0
    assert drawn.read_bytes() == expected
    drawn.write_text(f"{BEGINNING} of the session before")
    assert run(capsys, "resume", run_folder, "--quiet")[0] == 0
    assert drawn.read_bytes() == expected
    drawn.write_text("precious")
    assert run(capsys, "resume", run_folder, "--quiet")[0] == 0
    assert drawn.read_text() == "precious"


def test_a_result_is_not_completed_from_other_data(ended, tmp_path, capsys):
    shutil.copytree(ended, tmp_path / "e")
    (tmp_path / "e" / "r" / "network.json").unlink()
    np.savetxt("other.csv", 1 - TABLE, fmt="%d", delimiter=",", header="a,b,c", comments="")
    code, _, err = run(capsys, "resume", tmp_path / "e" / "r", "--data", "other.csv", "--quiet")
    assert (code, "does not hold the data of the run" in err) == (31, True)
