"""A run that an earlier version left when it was stopped: this version goes on with it, or says who can.

tests/frozen/run-N is what tools/freeze_run.py wrote when format version N was made; none is to be made again. Nor is
tests/frozen/finished-2, what `extbnsl solve data.csv` left in the last version of format 2.
"""

import json
import shutil
from pathlib import Path

import pytest

from extbnsl.cli import main
from extbnsl.files.manifest import FORMAT_VERSION

FROZEN = Path(__file__).parents[1] / "frozen"
OPTIMUM = {1: 655.630703, 2: 655.630703, 3: 655.630703, 4: 655.630703, 5: 655.630703}  # nats, by format version


@pytest.mark.parametrize("version", sorted(OPTIMUM))
def test_a_frozen_run_is_resumed_to_its_optimum_or_refused_for_its_version(tmp_path, capsys, version):
    run, data = tmp_path / "run", FROZEN / f"run-{version}" / "data.csv"
    shutil.copytree(FROZEN / f"run-{version}" / "run", run)
    code = main(["resume", str(run), "--data", str(data), "--threads", "1", "--quiet"])
    said = capsys.readouterr()
    if version < FORMAT_VERSION:
        assert code == 31
        assert "was made by extbnsl" in said.err
        assert "resume it with that version" in said.err
        return
    assert (code, said.err) == (0, "")
    document = json.loads((run / "result.json").read_text())
    assert document["cost"] == pytest.approx(OPTIMUM[version], abs=1e-6)
    assert document["stats"]["nodes_kept"] > 10_000
    assert main(["verify", str(run), str(data)]) == 0


def test_the_newest_format_has_a_frozen_run():
    assert max(OPTIMUM) == FORMAT_VERSION, "make one by tools/freeze_run.py, and add its optimum here"


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
    assert "The result has format 2, but this version of extbnsl reads format 3" in said
