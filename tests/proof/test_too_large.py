"""Components that have too many variables for a search are proved by branching."""

import json

import naive
import numpy as np
import pytest
from cases import wishful
from flat import solve
from patching import sized, too_large

from extbnsl.core.events import StageAdvanced, Warned
from extbnsl.files.manifest import read_manifest
from extbnsl.kernels.varsets import pack
from extbnsl.machine.workers import Workers
from extbnsl.scores.local import local_scores
from extbnsl.verify.branching import Branching
from extbnsl.verify.statement import verify_optimality
from extbnsl.verify.verdict import verify

HARD, MANY = 8, 66
OPTIONS = {"threads": 1, "fixing": False}  # fixing would take the chain away


@pytest.fixture(autouse=True)
def _little_at_the_root(sizes):
    """Cuts of three clusters would close the gap, and it is told after each node."""
    sizes({"TRIPLES": 0, "PART_EFFORT": 1})


def hard(seed=0):
    """Local scores of 66 variables, and the optimum: eight that all want many parents, with a ring through them.

    Each variable of the ring may have the one before it as a parent, which it wants; so does the first of the eight,
    at a price that no good network pays, as for having none. That makes them one component.
    """
    core = wishful(seed, HARD)
    optimum = naive.optimal_cost_dp(HARD, naive.best_scores(naive.cost_table(HARD, core)))
    pairs = [[(pack([y for y in range(HARD) if p >> y & 1], MANY), cost) for p, cost in own] for own in core]
    dearest = max(cost for _, cost in core[0])
    pairs[0] = [(varset, cost + 100.0 * (not varset.any())) for varset, cost in pairs[0]]
    pairs[0].append((pack([MANY - 1], MANY), dearest + 99.0))
    for x in range(HARD, MANY):
        pairs.append([(pack((), MANY), 2.0), (pack([x - 1], MANY), 1.0)])
    families = [(np.array([p for p, _ in own], np.uint64), np.array([c for _, c in own])) for own in pairs]
    return local_scores([f"v{x}" for x in range(MANY)], families, "file"), optimum + (MANY - HARD)


class Watch:
    """What is told of branching, and a signal to stop after so many nodes."""

    def __init__(self, most=None):
        self.told, self.warnings, self._most = [], [], most

    def __call__(self, event):
        if isinstance(event, StageAdvanced) and event.unit.startswith("nodes"):
            self.told.append(event)
        if isinstance(event, Warned):
            self.warnings.append(event.message)

    def stop(self):
        return "time_limit" if self._most is not None and len(self.told) >= self._most else None


def solved(scores, watch, **options):
    return solve(scores, observer=watch, stop=watch.stop, **OPTIONS | options)


def branchings_of(result):
    """The trees of a result's certificate."""
    return [s for c in result.certificate.components for s in c.steps if isinstance(s, Branching)]


def assert_proved(result, scores):
    """The certificate proves the result, as a file has it."""
    document = json.loads(json.dumps(result.document()))
    assert not verify(document, scores).findings
    with Workers(1) as workers:
        optimality = verify_optimality(document, scores, workers)
    assert optimality.complete, optimality


@pytest.mark.slow
@pytest.mark.parametrize("poor", [False, True])
def test_what_cannot_be_searched_is_proved(poor, poor_incumbents):
    """With a poor network to begin with, the tree comes upon the best one."""
    if poor:
        poor_incumbents()
    scores, optimum = hard()
    watch = Watch()
    result = solved(scores, watch)
    assert result.stats["components"] == [MANY]
    assert result.status == "optimal"
    assert result.cost == pytest.approx(optimum, abs=1e-9)
    assert result.lower_bound <= optimum
    assert len(watch.told) > 5
    assert branchings_of(result)
    assert_proved(result, scores)


@pytest.mark.slow
def test_threads_do_not_matter():
    seen = []
    for threads in (1, 2):
        watch = Watch()
        result = solved(hard()[0], watch, threads=threads)
        seen.append((result.network, result.lower_bound, watch.told, result.certificate))
    assert seen[0] == seen[1]


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [1, 6])
def test_a_run_that_was_stopped_goes_on(nodes, tmp_path):
    scores, optimum = hard()
    watch = Watch(nodes)
    stopped = solved(scores, watch, run_folder=tmp_path)
    assert stopped.status == "time_limit"
    assert stopped.lower_bound <= optimum <= stopped.cost + 1e-9
    again = Watch()
    result = solved(scores, again, run_folder=tmp_path, resume=read_manifest(tmp_path))
    assert (result.status, result.cost) == ("optimal", pytest.approx(optimum, abs=1e-9))
    assert result.lower_bound >= stopped.lower_bound
    assert again.told[0].done == watch.told[-1].done + 1
    assert_proved(result, scores)


@pytest.mark.parametrize(
    ("effect", "told"),
    [
        (
            lambda: sized({"branching.NODE_BYTES": 1 << 50}),
            "There is no memory for more than 1 open node of branching",
        ),
        (lambda: too_large("proof.bounding", "multipliers_bytes"), "Bounding needs at least 1024.0TiB of memory"),
    ],
    ids=["for nodes", "for multipliers"],
)
def test_a_run_that_is_short_of_memory_has_bounds_and_says_so(effect, told):
    scores, optimum = hard()
    watch = Watch()
    with effect():
        result = solved(scores, watch)
    assert result.status == "memory_limit"
    assert result.lower_bound < optimum
    (warning,) = watch.warnings
    assert warning.startswith(told)


def test_without_linear_programs_nothing_goes_on():
    scores, optimum = hard()
    watch = Watch()
    result = solved(scores, watch, polish=False)
    assert (result.status, watch.told) == ("not_proved", [])
    assert result.lower_bound < optimum
    (warning,) = watch.warnings
    assert warning.startswith("A part of 66 variables is too large for a search, and without linear programs")
