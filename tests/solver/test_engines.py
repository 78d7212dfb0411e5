"""Which engine sums, and that layers say the same as the whole lattice, within what they ignore."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from asking import posterior_over_all
from cases import random_dataset
from patching import COMMIT_ALWAYS

from extbnsl.core.claims import NOT_PROVED, OPTIMAL, TIME_LIMIT
from extbnsl.core.errors import RunDirectoryError
from extbnsl.core.events import StageAdvanced
from extbnsl.files.manifest import read_manifest, write_manifest
from extbnsl.kernels.varsets import unpack
from extbnsl.machine.budgets import Budgets
from extbnsl.posteriors.layers import LayeredSum
from extbnsl.posteriors.scope import PosteriorScope
from extbnsl.solver.place import Place

ONE = Budgets(threads=1, memory=1 << 30)


@pytest.fixture(scope="module")
def dataset():
    return random_dataset(np.random.default_rng(8), 7, 60, largest_arity=3)


@pytest.fixture(scope="module")
def whole(dataset):
    return posterior_over_all(dataset, PosteriorScope("order", 0.0), budgets=ONE).posterior


@pytest.mark.parametrize("within", [0.0, 1e-6, 1e-3, 0.1])
def test_layers_hold_what_the_lattice_says(dataset, whole, within, sizes):
    sizes({"MOST_WHOLE": 0})
    result = posterior_over_all(dataset, PosteriorScope("order", within), budgets=ONE)
    found = result.posterior
    assert found.method == LayeredSum.engine
    assert result.status == (OPTIMAL if within else NOT_PROVED) or found.exactness.ignored == 0.0
    low, high = found.log_weight
    assert low <= whole.log_weight[0] <= high
    exact = found.exactness
    assert (exact.at_least(found.arcs) <= whole.arcs + 1e-12).all()
    assert (whole.arcs - 1e-12 <= exact.at_most(found.arcs)).all()


def test_a_stop_amid_passes_leaves_the_answer_of_the_last_one(dataset, whole, sizes):
    """Wider, and said to be stopped."""
    sizes({"MOST_WHOLE": 0, "NODES_AT_FIRST": 2, "layers.GROWTH": 2})
    passes = []

    def look(event):
        if isinstance(event, StageAdvanced) and event.detail == "pass 3":
            passes.append(event)

    def stop():
        return TIME_LIMIT if passes else None

    result = posterior_over_all(dataset, PosteriorScope("order", 1e-9), budgets=ONE, observer=look, stop=stop)
    assert result.status == TIME_LIMIT
    assert not result.posterior.reached
    low, high = result.posterior.log_weight
    assert low <= whole.log_weight[0] <= high


def test_layers_go_on_where_they_were_stopped(dataset, sizes, tmp_path):
    """After each commit of the sums, to the last bit; and not from what is no state of them."""
    sizes(COMMIT_ALWAYS | {"MOST_WHOLE": 0, "NODES_AT_FIRST": 4, "layers.GROWTH": 4})
    scope = PosteriorScope("order", 1e-6, 5)
    whole = outcome(posterior_over_all(dataset, scope, budgets=ONE))
    for commits in (1, 9, 17, 30):
        folder, told = tmp_path / str(commits), []
        folder.mkdir()

        def look(event, told=told):
            if isinstance(event, StageAdvanced) and event.stage == "sums":
                told.append(event)

        def stop(told=told, commits=commits):
            return TIME_LIMIT if len(told) >= commits else None

        posterior_over_all(dataset, scope, budgets=ONE, place=Place(folder), observer=look, stop=stop)
        manifest = read_manifest(folder)
        if manifest.state.standing["stored"]["state"]["layers"]:
            stored = manifest.state.standing["stored"]
            few = {**stored, "state": {**stored["state"], "layers": stored["state"]["layers"][1:]}}
            forged = replace(manifest.state, standing={**manifest.state.standing, "stored": few})
            other = tmp_path / f"{commits}-forged"
            shutil.copytree(folder, other)
            write_manifest(other, replace(manifest, state=forged))
            with pytest.raises(RunDirectoryError, match="is not what a run"):
                posterior_over_all(dataset, scope, budgets=ONE, place=Place(other, resume=read_manifest(other)))
        place = Place(folder, resume=read_manifest(folder))
        assert outcome(posterior_over_all(dataset, scope, budgets=ONE, place=place)) == whole


def outcome(result):
    """What must be the same however often the run was interrupted."""
    found = result.posterior
    shares = [own.tolist() for own in found.sums.probabilities]
    return result.status, found.log_weight, shares, found.networks.rows.tolist()


def test_networks_are_drawn_from_layers(dataset, whole, sizes):
    sizes({"MOST_WHOLE": 0})
    scope = PosteriorScope("order", 1e-3, 3000)
    found = posterior_over_all(dataset, scope, budgets=ONE).posterior
    shares = np.zeros_like(whole.arcs)
    for x, own in enumerate(found.sums.parents):
        for row, count in zip(*np.unique(found.networks.rows[:, x], return_counts=True), strict=True):
            shares[list(unpack(own[row])), x] += count / 3000
    assert np.abs(shares - whole.arcs).max() < 5.0 * 0.5 / 3000**0.5
