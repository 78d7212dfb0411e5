"""Which engine sums, and that layers say the same as the whole lattice, within what they ignore."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from asking import posterior_over_all
from cases import random_dataset, shelf_of
from patching import COMMIT_ALWAYS
from summing import sparse_scores

from extbnsl.core.claims import NOT_PROVED, OPTIMAL, TIME_LIMIT
from extbnsl.core.errors import BudgetError, InputError, RunDirectoryError
from extbnsl.core.events import StageAdvanced, Warned, ignore
from extbnsl.files.manifest import read_manifest, write_manifest
from extbnsl.kernels.varsets import unpack
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.state import Means
from extbnsl.posteriors.layers import LayeredSum
from extbnsl.posteriors.scope import PosteriorScope
from extbnsl.posteriors.weighted import WeightedDraws
from extbnsl.scores.local import local_scores
from extbnsl.solver.engines import engine_for
from extbnsl.solver.place import Place
from extbnsl.solver.posterior import MOST_IGNORED
from extbnsl.verify.document import read_claims
from extbnsl.verify.posterior import check_posterior
from extbnsl.verify.verdict import verify

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
        folder = tmp_path / str(commits)
        stopped_after(commits, dataset, scope, folder)
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


def stopped_after(commits, dataset, scope, folder):
    """The result of a run in a new folder that is stopped after so many commits of its sums."""
    folder.mkdir()
    told = []

    def look(event):
        if isinstance(event, StageAdvanced) and event.stage == "sums":
            told.append(event)

    def stop():
        return TIME_LIMIT if len(told) >= commits else None

    return posterior_over_all(dataset, scope, budgets=ONE, place=Place(folder), observer=look, stop=stop)


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


TOO_MANY = {"networks.MOST_VARIABLES": 0}  # for sums that count each network once
FEATURES = '{"path": {"paths": [["v0", "v3"]]}, "none": {"no_adjacent": [["v0", "v3"]]}}'


@pytest.mark.parametrize("whole_lattice", [True, False])
def test_too_many_variables_for_the_uniform_prior_are_estimated(dataset, sizes, whole_lattice):
    """Arcs, pairs, features and the best network, within their standard errors; and nothing is proved."""
    exact = posterior_over_all(dataset, PosteriorScope("uniform", 0.0, 20_000, FEATURES), budgets=ONE).posterior
    sizes(TOO_MANY if whole_lattice else TOO_MANY | {"MOST_WHOLE": 0})
    told = []
    asked = PosteriorScope("uniform", 1e-4, 20_000, FEATURES)
    result = posterior_over_all(dataset, asked, budgets=ONE, observer=told.append)
    found = result.posterior
    doubted = [one.message for one in told if isinstance(one, Warned) and "could not be drawn" in one.message]
    assert len(doubted) == (found.estimate.ignored_orders > MOST_IGNORED)
    assert (result.status, found.method, found.reached) == (NOT_PROVED, WeightedDraws.engine, False)
    assert found.estimate.draws > found.estimate.effective > 500.0
    assert found.log_weight == (-np.inf, np.inf)
    assert (found.estimate.ignored_orders > 0.0) != whole_lattice
    off = [(found.sums.log_weight - exact.sums.log_weight) / found.estimate.log_error]
    for chance, true in [
        *((found.arc(p, x), exact.arc(p, x)) for p in found.names for x in found.names if p != x),
        *((found.adjacency(p, x), exact.adjacency(p, x)) for p in found.names for x in found.names if p < x),
        (found.best, exact.best),
    ]:
        assert (chance.at_least, chance.at_most) == (0.0, 1.0)
        off.append((chance.probability - true.probability) / chance.standard_error)
    for one, true in zip(found.features, exact.features, strict=True):
        off.append((one.share - true.share) / np.hypot(one.standard_error, true.standard_error))
    assert np.abs(off).max() < 5.0
    assert np.mean(np.square(off)) < 2.0
    shares = np.zeros_like(exact.arcs)
    for x, own in enumerate(found.sums.parents):
        for row, count in zip(*np.unique(found.networks.rows[:, x], return_counts=True), strict=True):
            shares[list(unpack(own[row])), x] += count / 20_000
    assert np.abs(shares - found.arcs).max() < 5.0 * 0.5 / 20_000**0.5


def test_estimates_claim_no_proof(dataset, sizes):
    """The document has no bounds, and the checker finds what says otherwise."""
    sizes(TOO_MANY)
    result = posterior_over_all(dataset, PosteriorScope(sample=3), budgets=ONE)
    document = result.document()
    own = document["posterior"]
    assert not {"log_weight", "ignored", "rounding"} & own.keys()
    assert not any("least" in key or "most" in key for key in {**own["arcs"][0], **own["network"]})
    assert own["arcs"][0]["standard_error"] > 0.0
    assert verify(document, dataset).findings == ()
    heads = {name: content.partition(b"\n")[0] for name, content in result.posterior.files() if name.endswith(".csv")}
    assert heads["posterior.csv"] == b"from,to,probability,standard_error,either,either_standard_error"
    assert heads["families.csv"] == b"child,parents,probability,standard_error"

    def checked(status=NOT_PROVED, **changes):
        forged = {**document, "status": status, "posterior": {**own, **changes}}
        with Workers(1) as workers:
            return check_posterior(forged, read_claims(forged), dataset, workers)

    assert checked().findings == ()
    assert not checked().checked
    assert [one.why for one in checked().unchecked] == ["they are estimates", ""]
    assert checked(OPTIMAL).findings
    assert checked(reached=True).findings
    assert checked(method="layers").findings
    assert checked(sampled=0, features=[{"name": "x", "share": 0.99, "standard_error": 0.0}]).findings
    assert checked(estimate={**own["estimate"], "effective": 1e9}).findings
    for wrong in ({"estimate": {}}, {"arcs": [{"from": "v0", "to": "v1"}]}, {"network": {"probability": 2.0}}):
        with pytest.raises(InputError):
            checked(**wrong)


@pytest.mark.parametrize("sums", [{}, {"MOST_WHOLE": 0, "NODES_AT_FIRST": 4}])
def test_draws_go_on_where_they_were_stopped(dataset, sizes, tmp_path, sums):
    """After each commit, to the last bit; a stop amid them leaves what was drawn."""
    sizes(COMMIT_ALWAYS | TOO_MANY | sums | {"weighted.TOGETHER": 1 << 13})
    scope = PosteriorScope("uniform", 1e-2, 5)
    whole = outcome(posterior_over_all(dataset, scope, budgets=ONE))
    answers = set()
    for commits in (1, 21):
        folder = tmp_path / str(commits)
        answers.add(stopped_after(commits, dataset, scope, folder).posterior is not None)
        place = Place(folder, resume=read_manifest(folder))
        assert outcome(posterior_over_all(dataset, scope, budgets=ONE, place=place)) == whole
    assert answers == {False, True}


def test_without_room_for_sums_over_networks_they_are_drawn_unless_a_width_is_asked_for():
    told = []
    with Workers(1) as workers:
        means = Means(workers, shelf_of(10_000), told.append)
        engine = engine_for(sparse_scores(9), PosteriorScope(), means, 1, None)
        assert isinstance(next(engine.states(None)), WeightedDraws)
        assert [type(event) for event in told] == [Warned]
        assert "more than there is: these are estimates" in told[0].message
        exact = engine_for(sparse_scores(9), PosteriorScope(within=1e-4), means, 1, None)
        with pytest.raises(BudgetError, match="give more memory"):
            next(exact.states(None))


@pytest.mark.parametrize(("prior", "told"), [("order", "orders are summed"), ("uniform", "networks are drawn")])
def test_more_than_64_variables_are_refused_in_the_words_of_the_prior(prior, told):
    own = [np.array([[0, 0], np.eye(1, 2, x // 64)[0] * 2.0 ** (x % 64)], np.uint64) for x in range(65)]
    ring = local_scores(
        [f"v{x}" for x in range(65)], [(one, np.array([0.0, 1.0])) for one in own[1:] + own[:1]], "file"
    )
    with (
        Workers(1) as workers,
        pytest.raises(InputError, match=f"prior '{prior}' {told} of at most 64 variables, not 65"),
    ):
        engine_for(ring, PosteriorScope(prior), Means(workers, shelf_of(), ignore), 1, None)
