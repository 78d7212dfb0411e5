"""Every family below a threshold, whether a subset beats it or not: as scoring each of them has it."""

import itertools

import numpy as np
import pytest
from cases import EVERY_SCORE, claim_by, dataset_of, random_dataset, random_families, random_numbers, scores_of
from certified import below, leads, no_cuts, single_cuts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knowing import random_knowledge
from patching import in_place_of, sized

from extbnsl.core.claims import Claim
from extbnsl.core.knowledge import NOTHING
from extbnsl.machine.workers import Workers
from extbnsl.verify import UNITS_PER_NAT, data_families
from extbnsl.verify.certificate import MOST_UNITS
from extbnsl.verify.data_families import families_of_data
from extbnsl.verify.demands import demands_of
from extbnsl.verify.families import ListedFamilies, untold
from extbnsl.verify.regression_families import families_by_regressions
from extbnsl.verify.rescoring import family_cost

SETTINGS = settings(deadline=None, max_examples=12, suppress_health_check=list(HealthCheck))
NO_CUTS = no_cuts(1)


def source_of(problem, claim, demands, workers, every):
    if claim.score == "gaussian-bic":
        return families_by_regressions(problem, claim, demands, workers, leads(problem, every))
    return families_of_data(problem, claim, demands, workers, leads(problem, every))


def random_cuts(rng, n, child):
    """Multipliers of clusters with the child: more parents never have more taken."""
    size = int(rng.integers(0, 5))
    clusters = rng.integers(0, 1 << n, (size, 1), dtype=np.uint64) | np.uint64(1 << child)
    return single_cuts(clusters, rng.integers(1, 3 * UNITS_PER_NAT, size).tolist())


def reduced(cost, varset, cuts):
    """c' in units."""
    apart = (cuts.cuts[:, 0, 0] & np.uint64(varset)) == 0
    return cost * UNITS_PER_NAT - int(cuts.multipliers[apart].sum())


def all_families(n, child, demands):
    """All parent sets that are as demanded, as members and as varsets."""
    for size in range(n):
        for parents in itertools.combinations([v for v in range(n) if v != child], size):
            if demands.fault([str(v) for v in range(n)], child, parents) is None:
                yield parents, sum(1 << p for p in parents)


def assert_all_below(problem, claim, knowledge, rng, every=True):
    """All families below a threshold are there, once each, with their costs, and others at most by rounding; if not
    every one is asked for, one of their subsets that costs no more will do. Up to some size all sets may be counted, or
    none is."""
    counted = int(rng.choice([0, 0, 10, 1000]))
    with sized({"data_families.COUNTED": counted, "data_families.MANY": counted}):
        _assert_all_below(problem, claim, knowledge, rng, every)


def _assert_all_below(problem, claim, knowledge, rng, every):
    n, names = problem.variables, problem.names
    demands = demands_of(names, claim.max_parents, knowledge)
    with Workers(1) as workers:
        source = source_of(problem, claim, demands, workers, every)
        for child in range(n):
            taken = random_cuts(rng, n, child) if rng.random() < 0.7 else NO_CUTS
            costs = {
                varset: family_cost(problem, child, parents, claim)
                for parents, varset in all_families(n, child, demands)
            }
            values = {varset: reduced(cost, varset, taken) for varset, cost in costs.items()}
            off = source.rounding(child) * UNITS_PER_NAT + 1
            for threshold in (int(rng.choice(list(values.values()))), max(values.values()) + UNITS_PER_NAT):
                varsets, found = below(source, child, int(threshold), taken)
                found = dict(zip(varsets[:, 0].tolist(), found.tolist(), strict=True))
                assert len(found) == len(varsets)
                near = source.rounding(child)
                for varset in {v for v, value in values.items() if value < threshold - off} - found.keys():
                    assert not every
                    assert any(s & varset == s and costs[s] <= costs[varset] + near for s in found)
                for varset, cost in found.items():
                    assert cost == pytest.approx(costs[varset], abs=source.rounding(child))
                margin = 9 * off + 1e-6 * UNITS_PER_NAT
                beyond = [v for v in found if values[v] > threshold + margin]
                assert len(beyond) <= 1  # the one with those parents that must be is always there


@pytest.mark.parametrize("score", EVERY_SCORE)
@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(2, 90), st.sampled_from([None, None, 1, 2]), st.booleans())
def test_every_family_is_there(score, seed, n, records, max_parents, knowing):
    """With constant columns, states that never occur, and columns that are copies; and where not all are asked for."""
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, n, records, 3)
    knowledge = random_knowledge(rng, dataset.names, max_parents) if knowing else NOTHING
    for every in (True, False):
        assert_all_below(dataset, claim_by(score, max_parents), knowledge, rng, every)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5), st.sampled_from([None, None, 1, 2]), st.booleans())
def test_every_family_of_numbers_is_there(seed, n, max_parents, knowing):
    rng = np.random.default_rng(seed)
    numbers = random_numbers(rng, n, int(rng.integers(n + 2, 60)))
    knowledge = random_knowledge(rng, numbers.names, max_parents) if knowing else NOTHING
    assert_all_below(numbers, claim_by("gaussian-bic", max_parents), knowledge, rng)


@pytest.mark.parametrize("score", EVERY_SCORE)
@pytest.mark.parametrize("arities", [[1, 1, 2, 2], [2, 3, 1, 2], [1, 1, 1, 1]])
def test_constant_columns_are_parents_too(score, arities):
    """Of one state or more, and nothing but constants."""
    codes = np.zeros((12, 4), int)
    codes[:, 3] = np.arange(12) % arities[3]
    rng = np.random.default_rng(1)
    for _ in range(4):
        assert_all_below(dataset_of(codes, arities), claim_by(score), NOTHING, rng)


def test_local_scores_are_listed_whole():
    scores = scores_of(random_families(np.random.default_rng(1), 5, 30))
    source = ListedFamilies(scores, demands_of(scores.names, None, NOTHING))
    for child in range(5):
        assert below(source, child, 0, NO_CUTS).costs.size == scores.costs[child].size


def test_without_every_family_those_that_a_subset_beats_are_left_out():
    """The switch makes a difference."""
    dataset = random_dataset(np.random.default_rng(3), 5, 60, 3)
    demands = demands_of(dataset.names, None, NOTHING)
    with Workers(1) as workers:
        few, every = (
            families_of_data(dataset, Claim("aic"), demands, workers, leads(dataset, every)) for every in (False, True)
        )
        sizes = [below(source, 0, MOST_UNITS, NO_CUTS).costs.size for source in (few, every)]
    assert sizes[0] < sizes[1] == 16


@pytest.mark.parametrize("score", ["mdl", "bdeu", "qnml"])
@pytest.mark.parametrize("every", [False, True])
def test_the_same_whatever_the_tasks(score, every, sizes):
    """Searches that begin with one variable or with two, by one thread or two, that hand over early or late; and which
    sets are counted for all children decides about none but those that a subset beats."""
    dataset = random_dataset(np.random.default_rng(4), 7, 150, 3)
    demands, claim = demands_of(dataset.names, None, NOTHING), claim_by(score)
    asked, all_counted = dict.fromkeys((5, 0, 3), MOST_UNITS), []
    for counted, parts in ((data_families.COUNTED, 64), (8, 64), (0, 64), (0, 0)):
        found = []
        sizes(
            {"data_families.COUNTED": counted, "data_families.MANY": counted, "data_families.MOST_PARTS": parts},
        )
        for pairs, (threads, room) in itertools.product((data_families.PAIRS, 0), ((1, 4096), (2, 1))):
            sizes({"data_families.PAIRS": pairs, "data_families.ROOM": room})
            with Workers(threads) as workers:
                source = families_of_data(dataset, claim, demands, workers, leads(dataset, every))
                found.append(
                    [
                        dict(zip(own.varsets[:, 0].tolist(), own.costs.tolist(), strict=True))
                        for own in source.below(asked, NO_CUTS, untold)
                    ]
                )
        assert sum(map(len, found[0])) > 12
        assert all(own == found[0] for own in found)
        all_counted.append(found[0])
    for found, first in itertools.product(all_counted, all_counted[:1]):
        for one, other in zip(found, first, strict=True):
            assert not every or one.keys() == other.keys()
            both = one.keys() & other.keys()
            assert {v: one[v] for v in both} == pytest.approx({v: other[v] for v in both}, abs=1e-9)


@pytest.mark.parametrize("score", ["mdl", "bdeu", "bds", "k2", "fnml", "qnml"])
def test_nothing_is_written_behind_the_cells_where_each_row_is_there_twice(score):
    """Each row is a cell then, and one more is looked at: of a state that does not occur."""
    rng, guards, mark = np.random.default_rng(4), [], np.uint64(0x5A5A5A5A5A5A5A5A)
    rows = np.array([[0, 1, 2, 0], [1, 2, 0, 2], [2, 0, 1, 1]])
    dataset = dataset_of(np.repeat(rows, 2, axis=0), [3, 3, 3, 3])

    def guarded(make):
        def frames_of(problem, path):
            made = make(problem, path)
            memory = np.concatenate((made.lanes.ravel(), np.full(made.lanes.shape[2], mark)))
            lanes = memory[: made.lanes.size].reshape(made.lanes.shape)
            guards.append(memory[made.lanes.size :])
            return made._replace(lanes=lanes, counters=lanes.view(made.counters.dtype))

        return frames_of

    with in_place_of("verify.set_frames", "new_frames", guarded):
        _assert_all_below(dataset, Claim(score, ess=1.0 if score in ("bdeu", "bds") else None), NOTHING, rng, True)
    assert guards
    assert all((own == mark).all() for own in guards)
