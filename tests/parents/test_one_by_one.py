"""Children that share nothing, each judged by a search of its own: the same families as by the lattice, however the
search is cut, stopped and resumed."""

import itertools
import math
import time
from dataclasses import dataclass

import naive
import numpy as np
import pytest
from cases import claim_by, random_dataset, shelf_of
from data_invariants import check_scores
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knowing import admitted, random_knowledge
from soundness import check_enumeration
from test_depth_first import assert_identical, random_data, through_files

from extbnsl.core.claims import Claim
from extbnsl.core.events import ignore
from extbnsl.kernels.varsets import as_varsets
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.constraints import constraints_of
from extbnsl.parents.exhaustive.children import Found
from extbnsl.parents.exhaustive.one_by_one import ChildSource
from extbnsl.parents.exhaustive.state import Means
from extbnsl.parents.exhaustive.surviving import surviving_families, surviving_one_by_one
from extbnsl.scores.cells import cells_of
from extbnsl.scores.known import score_of

SETTINGS = settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))


@dataclass(frozen=True)
class Plain(ChildSource):
    """Every family that is allowed, costed from its cells; a part of those with so many members, modulo `cuts`."""

    cuts: int = 3
    pause: float = 0.0

    def cost(self, child, parents):
        return score_of(self.claim).cost(cells_of(self.data, child, tuple(parents)))

    def least(self, child):
        return 0.0

    def parts(self, child):
        return 1 + child % self.cuts

    def families_of(self, child, part, slack, halt):
        must, n = self.constraints.parents_required(child), self.data.variables
        others = self.constraints.candidates(child).tolist()
        most = min(len(others), int(self.constraints.limits[child]) - len(must))
        sets = [c for size in range(most + 1) for c in itertools.combinations(others, size)]
        own = [sorted((*must, *c)) for c in sets if len(c) % self.parts(child) == part]
        end = time.monotonic() + self.pause
        while time.monotonic() < end and not halt[0]:
            time.sleep(0.01)
        rows = np.zeros((len(own), n), bool)
        for row, parents in zip(rows, own, strict=True):
            row[parents] = True
        return Found(as_varsets(rows), np.array([self.cost(child, parents) for parents in own]), len(own))


def source_of(dataset, claim=Claim(), **how):
    return Plain(dataset, claim, constraints_of(claim, dataset.names), np.arange(dataset.variables), **how)


def found_by(source, begun=None, threads=1, seen=None, slack=0.0, stop=lambda: None, tell=None, shelf=None):
    tell = tell or ((lambda found: None) if seen is None else seen.append)
    with Workers(threads, stop) as workers:
        return surviving_one_by_one(source, Means(workers, shelf or shelf_of(), ignore), begun, tell, slack)


@SETTINGS
@given(
    st.integers(0, 2**32),
    st.integers(1, 6),
    st.integers(1, 60),
    st.sampled_from(["mdl", "aic", "bdeu", "k2"]),
    st.sampled_from([None, 1, 2]),
    st.sampled_from([0.0, 0.0, 0.7, 25.0, math.inf]),
)
def test_all_families_that_are_wanted_and_no_others(seed, n, records, score, limit, slack):
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, n, records)
    knowledge = random_knowledge(rng, dataset.names, limit)
    found = found_by(source_of(dataset, claim_by(score, limit, knowledge)), slack=slack, threads=2)
    assert found.stopped is None
    check_scores(found.scores)
    costs = naive.all_local_scores(dataset.codes, dataset.arities, limit, score)
    costs[~admitted(knowledge, dataset.names, limit)] = np.inf
    best = naive.best_scores(costs)
    for x in range(n):
        listed = dict(zip(found.scores.parents[x][:, 0].tolist(), found.scores.costs[x].tolist(), strict=True))
        assert np.isinf(found.unjudged[x])
        for varset in range(2**n):
            below = min((costs[x, p] for p in range(varset) if p & ~varset == 0), default=np.inf)
            if costs[x, varset] < below + slack - 1e-7:
                assert listed[varset] == pytest.approx(costs[x, varset], rel=1e-9, abs=1e-8)
            elif varset in listed:
                assert costs[x, varset] <= best[x, varset] + slack + 1e-7


def test_the_same_families_as_by_the_lattice():
    dataset = random_data(3, 8, 300)
    with Workers(1) as workers:
        lattice = surviving_families(dataset, Claim(), Means(workers, shelf_of(), ignore))
    alone = found_by(source_of(dataset))
    assert alone.scores.families > 15
    for one, other in zip(lattice.scores.parents, alone.scores.parents, strict=True):
        assert set(one[:, 0].tolist()) == set(other[:, 0].tolist())


def test_nothing_depends_on_the_threads_or_on_how_a_search_is_cut():
    dataset = random_data(5, 7, 200)
    one = found_by(source_of(dataset))
    assert_identical(one, found_by(source_of(dataset), threads=3))
    assert_identical(one, found_by(source_of(dataset, cuts=1)))


@pytest.mark.parametrize("steps", [7, 2, 1])
def test_however_often_it_is_stopped_it_finds_exactly_the_same(steps, tmp_path, sizes):
    sizes({"JOINED": 1})
    source = source_of(random_data(4, 8, 200))
    whole, begun, sessions, in_parts = found_by(source), None, 0, 0
    while True:
        seen = []

        def stop_soon(found, seen=seen):
            seen.append(found)
            if len(seen) > steps:
                raise Stopped("interrupted")

        result = found_by(source, begun, threads=2, tell=stop_soon)
        if result.stopped is None:
            break
        for least, costs, best in zip(result.least, result.scores.costs, whole.scores.costs, strict=True):
            assert least <= best[0] + 1e-9 <= costs[0] + 2e-9
        sessions += 1
        (tmp_path / str(sessions)).mkdir()
        begun = through_files(seen[-1], tmp_path / str(sessions))
        check_enumeration(begun)
        in_parts += begun.parts > 0
        assert (begun.varsets, begun.parts) == (seen[-1].varsets, seen[-1].parts)
    assert_identical(result, whole)
    assert sessions >= 10 // steps
    assert in_parts > 0


def test_a_stop_is_heard_at_once_and_leaves_a_bound_and_a_family_of_each():
    source, began = source_of(random_data(1, 6, 100), pause=30.0), time.monotonic()
    found = found_by(source, threads=2, stop=lambda: "interrupted" if time.monotonic() > began + 0.5 else None)
    assert time.monotonic() - began < 10.0
    assert found.stopped == "interrupted"
    assert (found.least == 0.0).all()
    assert [own.tolist() for own in found.scores.costs] == [[source.cost(x, ())] for x in range(6)]


def test_those_come_first_that_may_be_cheapest_below_what_they_cost():
    dataset, seen = random_data(2, 6, 100), []
    source = source_of(dataset, cuts=1)
    found_by(source, seen=seen)
    alone = [source.cost(x, ()) for x in range(6)]
    first = max(seen, key=lambda found: len(found.children)).children
    assert [child.index for child in first] == sorted(range(6), key=lambda x: -alone[x])
    for found in seen:
        check_enumeration(found)
    assert (seen[-1].done, seen[-1].children) == (True, ())


def test_whoever_goes_on_from_the_end_has_nothing_to_do():
    source, seen = source_of(random_data(2, 6, 100)), []
    whole = found_by(source, seen=seen)
    again = []
    assert_identical(found_by(source, seen[-1], seen=again), whole)
    assert again == []
