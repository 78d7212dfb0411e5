"""The script for R runs where R is installed, with bnlearn and jsonlite."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "from_r.R"


def test_a_data_frame_becomes_a_network(tmp_path):
    program = shutil.which("Rscript")
    if program is None:
        pytest.skip("R is not on this machine")
    libraries = subprocess.run([program, "-e", "library(bnlearn); library(jsonlite)"], capture_output=True, check=False)
    if libraries.returncode:
        pytest.skip("R has no bnlearn, or no jsonlite, on this machine")
    command = tmp_path / "extbnsl"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m extbnsl "$@"\n')
    command.chmod(0o755)
    ended = subprocess.run([program, str(SCRIPT), str(command)], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "proved: TRUE" in ended.stdout
