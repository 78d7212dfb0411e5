"""What a run loads to write files: early if it lasts, and not at all if it is soon over."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "asia.csv"
SOLVE = """
import sys
from extbnsl.cli import main
from extbnsl.proof import commits

commits.LOAD_SECONDS = float(sys.argv[1])
assert main(["solve", sys.argv[2], "--threads", "1", "--quiet", "--run-dir", sys.argv[3]]) == 0
print("h5py" in sys.modules)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "loaded"), [(0.0, "True"), (1000.0, "False")])
def test_hdf5_is_loaded_when_a_run_lasts(tmp_path, seconds, loaded):
    command = [sys.executable, "-c", SOLVE, str(seconds), str(EXAMPLE), str(tmp_path / "run")]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout.split()[-1] == loaded
