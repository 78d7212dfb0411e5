"""Fixtures of all tests."""

import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import patching
import pytest
from hypothesis import HealthCheck, settings
from tooling import tool

import extbnsl

TOP = str(Path(__file__).resolve().parents[1])

# For bench; behind everything else, so that the package that is tested stays the installed one.
sys.path.append(TOP)
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])  # machines may be
settings.load_profile("busy")
LIGHT = {"data", "docs", "drawing", "files", "formats", "machine", "networks", "report", "results", "run", "tools"}
SOLVING = {"test_data_dressed", "test_declared", "test_description_by_score"}  # among these


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what compiles next to nothing in the middle: there the second of two processes begins, and when it is through
    with that it finds compiled what the first one has come to."""
    light, others = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        (light if item.path.parent.name in LIGHT and item.path.stem not in SOLVING else others).append(item)
    items[:] = [*others[: len(items) // 2], *light, *others[len(items) // 2 :]]


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
def here(tmp_path: Path) -> Iterator[Path]:
    """A folder of its own, which the test works in."""
    with contextlib.chdir(tmp_path):
        yield tmp_path


@pytest.fixture
def until_it_ends() -> Iterator[Callable[..., Callable[..., Any]]]:
    """Makes of an effect of `patching` what begins it, each time that it is called. All end with the test, the last
    first: so several may change the same."""
    with contextlib.ExitStack() as effects:
        yield lambda effect: lambda *given, **how: effects.enter_context(effect(*given, **how))


@pytest.fixture
def sizes(until_it_ends: Any) -> Callable[..., None]:
    """Gives constants of the program other values, by their names in `HOMES` of `patching`."""
    return until_it_ends(patching.sized)


@pytest.fixture
def failing(until_it_ends: Any) -> Callable[..., None]:
    """Lets the system refuse a call: its name, such as "os.fsync", an errno, and of which arguments, if not of all."""
    return until_it_ends(patching.failing)


@pytest.fixture
def forbidden(until_it_ends: Any) -> Callable[..., None]:
    """Lets nobody use any folder or file, or those that a function of place and mode denies."""
    return until_it_ends(patching.forbidden)


@pytest.fixture
def calls(until_it_ends: Any) -> Callable[[str, str], list[patching.Call]]:
    """Records the calls of a function of the package, by its module and name, and changes nothing."""
    return until_it_ends(patching.recorded)


@pytest.fixture
def running_out(until_it_ends: Any) -> Callable[..., None]:
    """Lets time, memory or disk run out in a function, by the module that calls it, and its name."""
    return until_it_ends(patching.running_out)


@pytest.fixture
def signalling(until_it_ends: Any) -> Callable[..., None]:
    """Lets a signal come whenever a function is called, by the module that calls it, and its name."""
    return until_it_ends(patching.signalling)


@pytest.fixture
def rounds_of_search(until_it_ends: Any) -> Callable[[int], None]:
    """Lets the search over orders take so many rounds, whatever the time."""
    return until_it_ends(patching.rounds_of_search)


@pytest.fixture
def solving(until_it_ends: Any) -> Callable[..., None]:
    """Lets the commands get an answer that nobody searches for: a result, or an error."""
    return until_it_ends(patching.solving)


@pytest.fixture
def uninstalled(until_it_ends: Any) -> Callable[[str], None]:
    """Lets a package be one that is not installed."""
    return until_it_ends(patching.uninstalled)


@pytest.fixture
def poor_incumbents(until_it_ends: Any) -> Callable[[], list[Any]]:
    """Lets the solver begin with the network of the variables as they stand, which search alone improves."""
    return until_it_ends(patching.poor_incumbents)


@pytest.fixture
def searchable(until_it_ends: Any) -> Callable[[int], None]:
    """Lets pieces of more variables than a number be too large for a search, so that branching has to prove them."""
    return until_it_ends(patching.searchable)


@pytest.fixture
def thorough(until_it_ends: Any) -> None:
    """Every search counts as one for which everything is worth doing."""
    until_it_ends(patching.everything_pays)()


@pytest.fixture
def fast_disk(until_it_ends: Any) -> None:
    """Nobody waits for the disk."""
    until_it_ends(patching.fast_disk)()


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., str]]:
    """A real SLURM of one node, which all that is started here uses: what a command of its writes. The test is skipped
    where it is not installed."""
    tools = tool("slurm")
    if reason := tools.missing():
        pytest.skip(f"no SLURM: {reason}")
    with pytest.MonkeyPatch.context() as patch, tools.running(tmp_path_factory.mktemp("slurm")) as environment:
        for name, value in environment.items():
            patch.setenv(name, value)
        yield partial(tools.asked, environment)


@pytest.fixture
def site(slurm: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """The same, where processes find a configuration of Dask for jobs of one thread."""
    settings = {"cores": 1, "memory": "1GB", "interface": "lo", "job-mem": "0", "log-directory": str(tmp_path / "logs")}
    (tmp_path / "dask").mkdir()
    (tmp_path / "dask" / "jobqueue.yaml").write_text(json.dumps({"jobqueue": {"slurm": settings}}))
    monkeypatch.setenv("DASK_CONFIG", str(tmp_path / "dask"))
    return slurm
