"""Fixtures of all tests."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from patching import make_thorough

import extbnsl

TOP = str(Path(__file__).resolve().parents[1])

# For bench; behind everything else, so that the package that is tested stays the installed one.
sys.path.append(TOP)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of reference data sets; the test is skipped where there is none."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("EXTBNSL_DATA") or default)
    if not folder.is_dir():
        pytest.skip(f"EXTBNSL_DATA is not set to a folder of reference data, and there is no {folder}")
    return folder


@pytest.fixture(scope="session", autouse=True)
def _one_package() -> Iterator[None]:
    """Processes that tests start import the package that the tests import, from whatever folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join((str(Path(extbnsl.__file__).parents[1]), TOP)), prepend=os.pathsep)
        patch.setenv("PYTHONSAFEPATH", "1")  # not that of the folder they are started in, where kernels are not cached
        yield


@pytest.fixture(scope="session", autouse=True)
def _hangups() -> Iterator[None]:
    """A hang-up is a signal like others to processes that tests start, though tests run under nohup, say."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def thorough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every search counts as one for which everything is worth doing."""
    make_thorough(monkeypatch)
