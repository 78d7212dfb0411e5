"""Processes that are started with standard streams closed."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "asia.csv"
STREAMS = ["<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"]

OPENED = """
import os, sys
from extbnsl.machine.streams import open_closed_streams
open_closed_streams()
print("said")
print("told", file=sys.stderr)
os.write(2, b"written")
assert os.open(sys.argv[1], os.O_RDWR | os.O_CREAT) > 2
assert sys.stdin.read() == ""
"""


@pytest.mark.parametrize("closed", STREAMS)
def test_nothing_that_is_opened_takes_the_place_of_a_stream(tmp_path, closed):
    command = ["bash", "-c", f'"$@" {closed}', "_", sys.executable, "-c", OPENED, str(tmp_path / "file")]
    run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert run.returncode == 0
    assert (run.stdout, run.stderr) == (
        "said\n" * (">&-" not in closed.split()),
        "told\nwritten" * ("2>&-" not in closed),
    )
    assert (tmp_path / "file").read_bytes() == b""


@pytest.mark.parametrize("closed", STREAMS)
def test_the_exit_code_is_that_of_the_command(tmp_path, closed):
    for arguments, code in ((["status", str(tmp_path)], 30), (["status", "--help"], 0)):
        command = ["bash", "-c", f'"$@" {closed}', "_", sys.executable, "-m", "extbnsl", *arguments]
        run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert run.returncode == code
        assert "Traceback" not in run.stderr


@pytest.mark.slow
def test_a_solve_without_streams_writes_its_result(tmp_path):
    command = [
        sys.executable,
        "-m",
        "extbnsl",
        "solve",
        str(EXAMPLE),
        "--threads",
        "1",
        "--run-dir",
        str(tmp_path / "r"),
    ]
    assert subprocess.run(["bash", "-c", '"$@" >&- 2>&-', "_", *command]).returncode == 0
    assert (tmp_path / "r" / "result.json").exists()
    assert (tmp_path / "r" / "lock").read_text().split()[0] == "extbnsl"
