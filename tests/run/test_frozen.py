"""A run that an earlier version left when it was stopped: this version goes on with it, or says who can.

tests/frozen/run-N is what tools/freeze_run.py wrote when format version N was made; none is to be made again. Nor is
tests/frozen/finished-2, what `extbnsl solve data.csv` left in the last version of format 2.
"""

import json
import shutil
from pathlib import Path

import pytest
from tooling import tool

from extbnsl.cli import main
from extbnsl.files import manifest as manifests
from extbnsl.files.manifest import FORMAT_VERSION, MANIFEST, commit, is_run, read_manifest
from extbnsl.files.store import Store

FROZEN = Path(__file__).parents[1] / "frozen"
VERSIONS = sorted(int(path.name.removeprefix("run-")) for path in FROZEN.glob("run-*"))
NEWEST = FROZEN / f"run-{VERSIONS[-1]}"
OPTIMUM = 655.630703  # nats


def resumed(run, version):
    """The exit code of `extbnsl resume` for a copy of the frozen run of this version."""
    data = FROZEN / f"run-{version}" / "data.csv"
    return main(["resume", str(run), "--data", str(data), "--threads", "1", "--quiet"])


@pytest.mark.parametrize("version", VERSIONS)
def test_a_frozen_run_is_resumed_to_its_optimum_or_refused_for_its_version(tmp_path, capsys, version):
    run = shutil.copytree(FROZEN / f"run-{version}" / "run", tmp_path / "run")
    code = resumed(run, version)
    said = capsys.readouterr().err
    if version < FORMAT_VERSION:
        assert (code, said.count("\n")) == (31, 1)
        assert "was made by extbnsl" in said
        assert "start a new run, or resume it with that version" in said
        assert is_run(run)
        return
    assert (code, said) == (0, "")
    document = json.loads((run / "result.json").read_text())
    assert document["cost"] == pytest.approx(OPTIMUM, abs=1e-6)
    assert document["stats"]["nodes_kept"] > 10_000
    assert main(["verify", str(run), str(FROZEN / f"run-{version}" / "data.csv")]) == 0


def test_the_newest_format_has_a_frozen_run():
    again = "raise FORMAT_VERSION, and make a frozen run of it by tools/freeze_run.py"
    assert VERSIONS[-1] == FORMAT_VERSION, again
    assert tool("freeze_run").state_text() == (NEWEST / "state.txt").read_text(), again


def test_a_manifest_is_written_as_the_frozen_one(tmp_path, monkeypatch):
    written = (NEWEST / "run" / MANIFEST).read_bytes()
    monkeypatch.setattr(manifests, "__version__", json.loads(written)["extbnsl"])
    store = Store(tmp_path, 1)
    monkeypatch.setattr(store, "synchronise", list)  # its files are not there
    commit(tmp_path, store, read_manifest(NEWEST / "run"))
    assert (tmp_path / MANIFEST).read_bytes() == written


def test_a_run_from_before_an_option_goes_on_with_its_default(tmp_path, capsys):
    run = shutil.copytree(NEWEST / "run", tmp_path / "run")
    document = json.loads((run / MANIFEST).read_text())
    del document["checksum"], document["state"]["methods"]["polish"]
    (run / MANIFEST).write_bytes(manifests._sealed(document))
    assert (resumed(run, VERSIONS[-1]), capsys.readouterr().err) == (0, "")


@pytest.fixture
def finished(tmp_path):
    """A run of an earlier format that was finished, and its data."""
    shutil.copytree(FROZEN / "finished-2", tmp_path / "finished")
    return tmp_path / "finished" / "run", tmp_path / "finished" / "data.csv"


def test_a_frozen_run_that_is_finished_stays_readable(finished, tmp_path, capsys):
    """Its status, a report, and its network in other formats; there is nothing left to resume."""
    run, data = finished
    assert main(["status", str(run)]) == 0
    said = capsys.readouterr().out
    assert "state        done: optimal" in said
    assert "bounds       240.890415 to 240.890415" in said
    assert main(["report", str(run)]) == 0
    assert "240.890" in (run / "report.html").read_text()
    assert main(["export", str(run), "-o", str(tmp_path / "network.net")]) == 0
    assert (tmp_path / "network.net").read_text().count("potential") == 6
    capsys.readouterr()
    assert main(["resume", str(run), "--data", str(data)]) == 0
    assert "is finished; there is nothing left to do" in capsys.readouterr().err


def test_the_claims_of_an_earlier_format_are_refused_for_its_version(finished, capsys):
    assert main(["verify", *map(str, finished)]) == 30
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "The result has format 2, but this version of extbnsl reads format 4" in said
