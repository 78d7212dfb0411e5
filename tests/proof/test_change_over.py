"""Pieces go from branching to a search, and from a search that is too large to branching; nothing is lost by it."""

import math

import naive
import numpy as np
import pytest
from cases import random_families, scores_of, wishful
from flat import estimate, solve
from patching import BRANCHING_FIRST, COMMIT_ALWAYS, HOPELESS, TOO_LARGE, poor_incumbents, sized

from extbnsl.cli.outlook import advice, lines
from extbnsl.core.events import StageAdvanced, StageEnded
from extbnsl.files.manifest import read_manifest
from extbnsl.machine.workers import Workers
from extbnsl.orders.local_search import BRIEF
from extbnsl.proof.guide import POLISH, PROBE
from extbnsl.proof.strategy import RULES
from extbnsl.solver import needs
from extbnsl.verify.branching import Branching
from extbnsl.verify.statement import verify_optimality
from extbnsl.verify.steps import Search

BRANCHING_ONCE = BRANCHING_FIRST | {"BRANCHING_SHARE": 10.0, "MORE_SHARE": 0.0}  # of a search of microseconds
WAYS = {
    "branching first": BRANCHING_FIRST,
    "branching once": BRANCHING_ONCE,
    "too large": TOO_LARGE,
    "both": BRANCHING_ONCE | TOO_LARGE,
    "hopeless": HOPELESS,
}


@pytest.fixture(autouse=True)
def _little_at_the_root(sizes, monkeypatch):
    """Cuts of three clusters and probing would leave nothing to do."""
    sizes({"TRIPLES": 0, "LONG": BRIEF})
    others = tuple(rule for rule in RULES if rule.step != PROBE)
    monkeypatch.setattr("extbnsl.proof.strategy.RULES", others)


def optimum_of(families):
    n = len(families)
    return naive.optimal_cost_dp(n, naive.best_scores(naive.cost_table(n, families)))


def kinds_of(result):
    """S for each search of the certificate, B for each tree of branching."""
    letters = {Search: "S", Branching: "B"}
    return "".join(letters.get(type(step), "") for c in result.certificate.components for step in c.steps)


class Watch:
    """What is told of branching and of searches, in turn, and a signal to stop after so many of that."""

    def __init__(self, most=None):
        self.told, self._most = "", most

    def __call__(self, event):
        if isinstance(event, StageAdvanced) and event.unit.startswith("nodes"):
            self.told += "b"
        if isinstance(event, StageEnded) and event.stage == "search":
            self.told += "x" if event.summary.endswith("too large") else "s"

    def stop(self):
        return "interrupted" if self._most is not None and len(self.told) >= self._most else None


def watched(families, way, most=None, **how):
    watch = Watch(most)
    with poor_incumbents(), sized(WAYS[way]):
        return solve(scores_of(families), threads=1, observer=watch, stop=watch.stop, **how), watch.told


def check(result, families):
    """It is proved to be the optimum, also to who checks it."""
    assert (result.status, result.cost) == ("optimal", pytest.approx(optimum_of(families), abs=1e-9))
    with Workers(1) as workers:
        assert verify_optimality(result.document(), scores_of(families), workers).complete


def test_a_search_that_is_too_large_is_left_to_branching():
    families = wishful(1, 8)
    result, told = watched(families, "too large")
    assert told.startswith("xb")
    assert set(told) == {"x", "b"}
    assert kinds_of(result) == "B"
    check(result, families)


def test_without_linear_programs_no_search_is_too_large():
    families = wishful(1, 8)
    for how in ({"polish": False}, {"lower_bound": "pattern"}):
        result, told = watched(families, "too large", **how)
        assert told == "s"
        check(result, families)


def test_branching_comes_first_and_may_be_all():
    families = wishful(1, 8)
    result, told = watched(families, "branching first")
    assert told.startswith("b")
    assert kinds_of(result) == "B"
    check(result, families)


def test_branching_that_gains_too_little_is_left_for_a_search():
    families = wishful(1, 8)
    result, told = watched(families, "branching once")
    assert told == "bs"
    assert kinds_of(result) == "S"
    check(result, families)


def test_a_search_that_is_too_large_goes_on_with_the_tree_that_was_left(calls):
    branched = calls("bounds.lp.branching", "branch")
    families = wishful(1, 8)
    result, told = watched(families, "both")
    assert told.startswith("bxb")
    left, taken_up = branched[0].found.tree, branched[1].given[2]
    assert left.looked == taken_up.looked > 0
    assert left.closed == taken_up.closed
    check(result, families)


def test_a_search_that_is_hopeless_is_not_begun():
    families = wishful(1, 8)
    result, told = watched(families, "hopeless")
    assert set(told) == {"b"}
    check(result, families)
    result, told = watched(families, "hopeless", polish=False)
    assert told == "s", "nothing else can prove it"
    check(result, families)


def test_an_estimate_says_what_takes_the_place_of_a_search_that_is_hopeless(monkeypatch):
    """If its effort is over before that has proved it."""
    monkeypatch.setattr("extbnsl.proof.strategy.RULES", tuple(rule for rule in RULES if rule.step in (None, POLISH)))
    with poor_incumbents(), sized(WAYS["hopeless"]):
        found = estimate(scores_of(wishful(1, 8)), threads=1, effort=5.0)
    (trial,) = found.trials
    assert (trial.forecast, trial.unknown) == (None, needs.HOPELESS)
    assert found.time_range[1] == math.inf
    assert "linear programs go on instead" in " ".join(lines(found))
    assert advice(found).startswith("A solve finds a network and bounds")


@pytest.mark.parametrize("way", WAYS)
def test_wherever_it_is_stopped_it_ends_the_same(way, tmp_path, sizes):
    sizes(COMMIT_ALWAYS)
    families = wishful(4, 6)
    whole, _ = watched(families, way)
    for most in (1, 3, 9, 33, 65):
        folder = tmp_path / str(most)
        folder.mkdir()
        result, _ = watched(families, way, most, run_folder=folder)
        if result.status == "optimal":
            break
        assert result.lower_bound <= whole.cost <= result.upper_bound + 1e-9
        again, _ = watched(families, way, run_folder=folder, resume=read_manifest(folder))
        check(again, families)
        assert again.cost == whole.cost
    assert 1 < most < 65


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_random_problems_are_proved(way):
    """Ties by the hundred, both signs, with and without fixing, whichever comes first."""
    for seed in range(25):
        rng = np.random.default_rng(seed)
        families = random_families(rng, int(rng.integers(2, 9)), 20)
        families = [[(p, cost - rng.choice([0.0, 9.0])) for p, cost in own] for own in families]
        with sized({"guide.SHARE": float(rng.choice([0.3, 1e30]))}):
            result, _ = watched(families, way, fixing=bool(rng.random() < 0.7), polish=bool(rng.random() < 0.5) or None)
        check(result, families)
