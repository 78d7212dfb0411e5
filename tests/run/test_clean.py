"""`extbnsl clean`: the checkpoint goes, only when that was asked for, and everything else stays."""

import json
import os

import pytest
from runs import commit, stopped

from extbnsl.cli import main
from extbnsl.run import directory as directory_module


@pytest.fixture
def path(tmp_path):
    """A stopped run with its arrays in a scratch folder, with a result so far and a file of the user's."""
    path = stopped(tmp_path / "r", tmp_path / "large" / "r-00000001")
    (path / "result.json").write_text('{"status": "time_limit"}')
    for name in ("network.bif", "status.json", "notes.txt"):
        (path / name).write_text(name)
    return path


def names(folder):
    return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())


def test_it_is_listed_with_sizes_and_stays_without_yes(path, capsys):
    before = names(path.parent)
    assert main(["clean", str(path)]) == 0
    out = capsys.readouterr().out
    for file in ("large/r-00000001/scores.h5", "large/r-00000001/layers/c1-1-03-000000000000.h5", "r/manifest.json"):
        assert str(path.parent / file) in out
    assert "       9B  " in out
    assert "cannot be resumed any more; its result so far stays." in out
    assert "give --yes" in out
    assert names(path.parent) == before


def test_with_yes_the_checkpoint_goes_and_the_rest_stays(path, capsys):
    assert main(["clean", str(path), "--yes"]) == 0
    assert capsys.readouterr().out.endswith("Deleted.\n")
    kept = ["lock", "log.jsonl", "network.bif", "notes.txt", "result.json", "solve.log", "status.json"]
    assert names(path.parent) == [f"r/{name}" for name in kept]
    assert os.listdir(path.parent / "large") == []
    assert main(["clean", str(path), "--yes"]) == 0
    assert "nothing" in capsys.readouterr().out
    assert main(["resume", str(path)]) == 31
    assert main(["status", str(path)]) == 0


def test_what_it_means_depends_on_the_run(path, capsys):
    (path / "result.json").unlink()
    main(["clean", str(path)])
    assert "it has no result yet." in capsys.readouterr().out
    commit(path, phase="done", status="optimal")
    (path / "result.json").write_text(json.dumps({"status": "optimal"}))
    main(["clean", str(path)])
    assert "nothing is lost" in capsys.readouterr().out


def test_a_run_in_use_is_left_alone(path, capsys):
    before = names(path.parent)
    with directory_module.reopen(path):
        assert main(["clean", str(path), "--yes"]) == 31
    assert f"(id {os.getpid()})" in capsys.readouterr().err
    assert names(path.parent) == before


def test_a_damaged_manifest_is_told_and_goes(path, capsys):
    (path / "manifest.json").write_text("{")
    assert main(["clean", str(path), "--yes"]) == 0
    shown = capsys.readouterr()
    assert "scratch folder" in shown.err
    assert str(path / "manifest.json") in shown.out
    assert not (path / "manifest.json").exists()


def test_only_a_run_directory_is_cleaned(tmp_path, capsys):
    (tmp_path / "scores.h5").touch()
    for name in ("none", "scores.h5", "."):
        assert main(["clean", str(tmp_path / name), "--yes"]) == 30
        assert capsys.readouterr().err.count("\n") == 1
    assert os.listdir(tmp_path) == ["scores.h5"]
