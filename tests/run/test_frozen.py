"""A run that an earlier version left when it was stopped: this version goes on with it, or says who can.

tests/frozen/run-N is what tools/freeze_run.py wrote when format version N was made; none is to be made again.
"""

import json
import shutil
from pathlib import Path

import pytest

from extbnsl.cli import main
from extbnsl.files.manifest import FORMAT_VERSION

FROZEN = Path(__file__).parents[1] / "frozen"
OPTIMUM = {1: 655.630703, 2: 655.630703}  # nats, by format version


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
