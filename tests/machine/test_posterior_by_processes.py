"""Posteriors with and without the processes of a cluster: the same bytes, also of a run that was stopped between."""

import json
import subprocess

import pytest
from shaken import PATIENCE, SOONER, chained

from extbnsl.files.names import POSTERIOR_ARCS, POSTERIOR_FAMILIES, SAMPLES

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow

ASKED = ("--score", "bdeu", "--ess", "20", "--sample", "500", "--threads", "2")
FILES = ("network.json", "network.bif", POSTERIOR_ARCS, POSTERIOR_FAMILIES, SAMPLES)


def extbnsl(*words):
    """What a command comes to."""
    command = [*SOONER, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)


def told_of(run):
    """What the status of a run tells."""
    return json.loads((run / "status.json").read_text())


def answer(run):
    """The bytes that must be the same of a run, and what it says but for what it took."""
    document = json.loads((run / "result.json").read_text())
    return [(run / name).read_bytes() for name in FILES], document["posterior"], document["status"]


@pytest.mark.parametrize("prior", ["uniform", "order"])
def test_the_same_bytes_with_two_processes(prior, tmp_path):
    data = chained(tmp_path / "data.csv", 15, 15_000)
    alone, together, stopped = (tmp_path / f"{name}.run" for name in ("alone", "together", "stopped"))
    asked = ("posterior", data, "--prior", prior, *ASKED)
    assert extbnsl(*asked, "--run-dir", alone, "--quiet").returncode == 0
    done = extbnsl(*asked, "--run-dir", together, "--cluster", "local:2")
    assert done.returncode == 0, done.stderr
    told = told_of(together)
    assert (told["workers_lost"], told["tasks"] > 0) == (0, True)  # processes did some of it
    assert answer(together) == answer(alone)
    limit = ("--time-limit", f"{told_of(alone)['elapsed'] / 2:.2f}s")
    begun = extbnsl(*asked, "--run-dir", stopped, "--cluster", "local:2", *limit, "--quiet")
    assert begun.returncode == 10, begun.stderr
    assert json.loads((stopped / "result.json").read_text())["status"] == "time_limit"
    went_on = extbnsl("resume", stopped, "--cluster", "local:2", "--quiet")
    assert went_on.returncode == 0, went_on.stderr
    assert answer(stopped) == answer(alone)
