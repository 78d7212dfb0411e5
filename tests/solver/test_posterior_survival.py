"""A posterior that is killed or stopped at any moment: it goes on from its last commit, and says what an undisturbed
one says, to the last bit."""

import json
from dataclasses import replace

import numpy as np
import pytest
from asking import posterior_over_all
from cases import random_dataset
from disk import Killed
from patching import COMMIT_ALWAYS, fast_disk, sized
from portions import first
from survival import SharedDisk, arrays

from extbnsl.core.claims import INTERRUPTED, OPTIMAL
from extbnsl.core.errors import RunDirectoryError
from extbnsl.core.events import Committed, StageStarted
from extbnsl.files.manifest import read_manifest, write_manifest
from extbnsl.files.names import MANIFEST
from extbnsl.machine.budgets import Budgets
from extbnsl.posteriors.scope import PRIORS, PosteriorScope
from extbnsl.solver.place import Place

SMALL = COMMIT_ALWAYS | {"BLOCK_POSITIONS": 4, "SLAB_POSITIONS": 5, "networks.LARGE": 5}  # several blocks of few sets


@pytest.fixture(scope="module", params=first(1, [*PRIORS]))
def scope(request):
    return PosteriorScope(request.param, 1e-3, 20)


@pytest.fixture(autouse=True)
def _often(fast_disk):
    with sized(SMALL):
        yield


@pytest.fixture(scope="module")
def dataset():
    return random_dataset(np.random.default_rng(8), 7, 60, largest_arity=3)


def session(folder, problem, scope, **how):
    """Go on from the checkpoint in `folder`, or begin if there is none."""
    resume = read_manifest(folder) if (folder / MANIFEST).exists() else None
    budgets = Budgets(threads=1, memory=1 << 30)
    return posterior_over_all(problem, scope, budgets=budgets, place=Place(folder, resume=resume), **how)


def state(folder):
    return json.loads((folder / MANIFEST).read_text())["state"]


def outcome(result):
    """What must be the same however often the run was interrupted."""
    found = result.posterior
    drawn = found.networks.rows.tolist()
    return result.status, result.cost, found.log_weight, [own.tolist() for own in found.sums.probabilities], drawn


@pytest.fixture(scope="module")
def undisturbed(dataset, scope, tmp_path_factory):
    """The outcome, how often it writes, and the phases, of a run that nothing happens to."""
    disk, phases = SharedDisk(tmp_path_factory.mktemp("undisturbed")), set()

    def look(event):
        if isinstance(event, Committed):
            phases.add(state(disk.root)["phase"])

    with fast_disk(), sized(SMALL):
        session(tmp_path_factory.mktemp("compiled"), dataset, scope)
        with disk.watch():
            result = session(disk.root, dataset, scope, observer=look)
    assert result.status == OPTIMAL
    assert not arrays(disk.root)
    assert state(disk.root)["phase"] == "done"
    assert {"start", "scores", "sums"} <= phases
    return outcome(result), disk.calls


def assert_ends_well(folder, dataset, scope, whole):
    assert outcome(session(folder, dataset, scope)) == whole
    assert not arrays(folder)
    assert state(folder)["phase"] == "done"


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("kills", [3, pytest.param(6, marks=pytest.mark.slow)])
def test_killed_at_any_call(dataset, scope, undisturbed, tmp_path, after, kills):
    (whole, calls), killed = undisturbed, 0
    for call in range(1, calls + 1, max(1, calls // kills)):
        disk = SharedDisk(tmp_path / str(call))
        disk.root.mkdir()
        try:
            with disk.crash_at(call, after):
                session(disk.root, dataset, scope)
        except Killed:
            killed += 1
        assert_ends_well(disk.root, dataset, scope, whole)
    assert (
        killed >= kills
    )  # on a busy machine the other run may have committed more often: the last call is not reached


@pytest.mark.parametrize("commits", [2, 4, 7])
def test_stopped_after_some_commits_of_the_sums(dataset, scope, undisturbed, tmp_path, commits):
    """The sums go on where they were: not all of it is done again."""
    whole, _ = undisturbed
    told, stages = [], []

    def look(event):
        if isinstance(event, Committed) and state(tmp_path)["phase"] == "sums":
            told.append(event)

    result = session(
        tmp_path, dataset, scope, observer=look, stop=lambda: INTERRUPTED if len(told) >= commits else None
    )
    assert (result.status, result.posterior) == (INTERRUPTED, None)
    assert state(tmp_path)["standing"]["stored"] is not None

    def hear(event):
        if isinstance(event, StageStarted):
            stages.append(event.stage)

    assert outcome(session(tmp_path, dataset, scope, observer=hear)) == whole
    assert "scores" not in stages
    assert "bounds" not in stages


def test_sums_that_are_no_sums_are_refused(dataset, scope, tmp_path):
    """A manifest may come from anyone."""
    told = []

    def look(event):
        if isinstance(event, Committed) and state(tmp_path)["phase"] == "sums":
            told.append(event)

    session(tmp_path, dataset, scope, observer=look, stop=lambda: INTERRUPTED if len(told) > 2 else None)
    stored = read_manifest(tmp_path).state.standing["stored"]
    kept, arrays = stored["state"], stored["arrays"]
    for change in (
        *({"engine": "none"}, {"arrays": arrays[:1]}, {"state": {}}, {"state": 3}, {"arrays": arrays[::-1]}),
        *({"state": {**kept, "done": 99}}, {"state": {**kept, "families": kept["families"][1:]}}),
        *({"state": {**kept, name: own[1:]}} for name, own in kept.items() if name in ("slabs", "completions")),
    ):
        forged(tmp_path, {**stored, **change})
        with pytest.raises(RunDirectoryError):
            session(tmp_path, dataset, scope)


def forged(folder, stored):
    """Let the manifest in a folder say this of its sums."""
    manifest = read_manifest(folder)
    standing = {**manifest.state.standing, "stored": stored}
    write_manifest(folder, replace(manifest, state=replace(manifest.state, standing=standing)))
