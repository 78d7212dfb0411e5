"""Fixtures of all tests."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of reference data sets; the test is skipped where there is none."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("EXTBNSL_DATA") or default)
    if not folder.is_dir():
        pytest.skip(f"EXTBNSL_DATA is not set to a folder of reference data, and there is no {folder}")
    return folder
