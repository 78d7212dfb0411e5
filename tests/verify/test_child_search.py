"""The search of the check over large parent sets of one child, against scoring all of them."""

import copy
import json
import math
from typing import NamedTuple

import naive
import numpy as np
import pytest
from calling import called
from cases import dataset_of, in_parts, random_dataset
from certified import below, leads, no_cuts
from flat import solve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knowing import random_knowledge
from patching import sized
from test_every_family import random_cuts

from extbnsl.core.claims import Claim
from extbnsl.core.knowledge import NOTHING
from extbnsl.kernels.compiler import njit
from extbnsl.machine.workers import Workers
from extbnsl.verify import UNITS_PER_NAT, child_cells, data_families
from extbnsl.verify.certificate import MOST_UNITS, TooMuch, floor_units
from extbnsl.verify.child_cells import bound, regroup, weigh
from extbnsl.verify.child_frames import child_task, columns_of, new_child_frames, new_child_space
from extbnsl.verify.child_search import _enter, _merge
from extbnsl.verify.data_families import families_of_data
from extbnsl.verify.demands import demands_of
from extbnsl.verify.families import taken_by
from extbnsl.verify.rescoring import family_cost
from extbnsl.verify.statement import verify_optimality

SETTINGS = settings(deadline=None, max_examples=10, suppress_health_check=list(HealthCheck))
PRIORS = (("bdeu", 0.1), ("bdeu", 1.0), ("bdeu", 10.0), ("bdeu", 1000.0), ("bds", 1.0), ("bds", 50.0))
ASKED = (*PRIORS, ("k2", None), ("fnml", None))
# Of rows that are records, and of parts of some.
EITHER = [(*own, False) for own in ASKED] + [(*own, True) for own in (*ASKED[:-1], ("bdeu", 1e4), ("bds", 1e-90))]


def few_rows(rng, n, largest_arity):
    """A data set of which many records are the same."""
    dataset = random_dataset(rng, n, int(rng.integers(2, 60)), largest_arity)
    codes = dataset.codes[rng.integers(0, dataset.records, int(rng.integers(20, 300)))]
    return dataset_of(codes, dataset.arities.tolist())


def few_rows_of(rng, n, largest_arity, parts):
    """The same, in parts of records if they are to be."""
    dataset = few_rows(rng, n, largest_arity)
    return in_parts(rng, dataset) if parts else dataset


def members(varset):
    return tuple(v for v in range(varset.bit_length()) if varset >> v & 1)


def costs_of(dataset, child, score, ess, demands):
    """What each parent set that is as demanded costs."""
    names = dataset.names
    sets = (v for v in range(1 << dataset.variables) if demands.fault(names, child, members(v)) is None)
    own = (v for v in sets if not v >> child & 1)
    return {v: family_cost(dataset, child, members(v), Claim(score, ess=ess)) for v in own}


def reduced_costs(costs, cuts):
    """c' of each in units, the cuts have one cluster each."""
    clusters, multipliers = [int(c) for c in cuts.cuts[:, 0, 0]], cuts.multipliers.tolist()
    taken = {v: sum(m for c, m in zip(clusters, multipliers, strict=True) if not c & v) for v in costs}
    return {v: cost * UNITS_PER_NAT - taken[v] for v, cost in costs.items()}


def searched(dataset, child, asked, threshold, cuts, counted, every=False):
    """The families that a check finds, of which up to some size all sets are counted, and what may be rounding."""
    with sized({"data_families.COUNTED": counted, "data_families.MANY": counted}), Workers(1) as workers:
        score, ess, demands = asked
        source = families_of_data(dataset, Claim(score, ess=ess), demands, workers, leads(dataset, every))
        varsets, found = below(source, child, threshold, cuts)
        assert len(set(varsets[:, 0].tolist())) == len(varsets)
        return dict(zip(varsets[:, 0].tolist(), found.tolist(), strict=True)), source.rounding(child)


@pytest.mark.parametrize(("score", "ess", "parts"), EITHER)
@SETTINGS
@given(st.integers(0, 2**32), st.sampled_from([None, None, None, 5, 3]), st.booleans())
def test_all_that_matter_of_ten_columns(score, ess, parts, seed, max_parents, knowing):
    """All families below a threshold, or those that no subset beats, with what they cost, and none far above it."""
    rng = np.random.default_rng(seed)
    dataset, child = few_rows_of(rng, 10, int(rng.integers(2, 5)), parts), int(rng.integers(10))
    knowledge = random_knowledge(rng, dataset.names, max_parents) if knowing else NOTHING
    demands, cuts = demands_of(dataset.names, max_parents, knowledge), random_cuts(rng, 10, child)
    costs = costs_of(dataset, child, score, ess, demands)
    reduced = reduced_costs(costs, cuts)
    threshold = int(np.quantile(list(reduced.values()), rng.choice([0.0, 0.02, 0.3, 1.0]))) + 1
    every, counted = bool(rng.integers(2)), int(rng.choice([0, 60, 300]))
    found, off = searched(dataset, child, (score, ess, demands), threshold, cuts, counted, every)
    for varset, value in reduced.items():
        if value < threshold - off * UNITS_PER_NAT and varset not in found:
            assert not every
            assert any(s & varset == s and costs[s] <= costs[varset] + off for s in found)
    for varset, cost in found.items():
        assert cost == pytest.approx(costs[varset], abs=off)
    beyond = [v for v in found if reduced[v] > threshold + 9 * off * UNITS_PER_NAT + 1]
    assert len(beyond) <= 1  # the one with those parents that must be is always there


@njit
def bounds_on_the_way(steps, task, frames, space, bounds, open_, parents):
    """Go down from a root: with step v to parent v, with -1 - v to candidates without it. Of each node the bounds, the
    candidates and how many parents there are."""
    regroup(0, 0, -1, task, frames, space)
    weigh(0, task, frames, space)
    top = 0
    for i in range(steps.size):
        v = max(steps[i], -1 - steps[i])
        if not frames.open[top, v] or (steps[i] >= 0 and top == task.most):
            parents[i] = -1
            continue
        frames.open[top, v] = False
        frames.left[top] -= 1
        if steps[i] >= 0:
            _enter(top, v, task, frames, space)
            top += 1
            weigh(top, task, frames, space)
        else:
            _merge(top, task, frames, space)
        bound(top, task, frames, space)
        bounds[i], open_[i], parents[i] = frames.bound[top], frames.open[top], top


@pytest.mark.parametrize(("score", "ess", "parts"), EITHER)
@SETTINGS
@given(st.integers(0, 2**32), st.integers(0, 3))
def test_a_bound_is_no_more_than_what_any_set_of_the_node_costs(score, ess, parts, seed, known):
    """At every node on some way down, of each candidate; and not much less where one candidate is left."""
    rng = np.random.default_rng(seed)
    dataset, child = few_rows_of(rng, 8, int(rng.integers(2, 5)), parts), int(rng.integers(8))
    demands = demands_of(dataset.names, None, NOTHING)
    costs = costs_of(dataset, child, score, ess, demands)
    with Workers(1) as workers:
        data = families_of_data(dataset, Claim(score, ess=ess), demands, workers, leads(dataset, True))
        problem = data_families._searched(data, {child: MOST_UNITS}, taken_by(no_cuts(8), 8))
        x = int(problem.children[0])
        task = child_task(problem, columns_of(problem), x, known, (0, 1))
        frames = new_child_frames(problem, task, x)
        p = problem.parents
        steps = rng.permutation(p)[: 2 * p]
        steps = np.where(rng.random(p) < 0.5, steps, -1 - steps)
        bounds, open_, parents = np.zeros((p, p)), np.zeros((p, p), bool), np.zeros(p, np.int64)
        bounds_on_the_way(steps, task, frames, new_child_space(task, frames), bounds, open_, parents)
    chosen = 0
    for step, own, still, size in zip(steps.tolist(), bounds, open_, parents.tolist(), strict=True):
        if size < 0:
            continue
        chosen |= 1 << int(problem.variables[step]) if step >= 0 else 0
        assert chosen.bit_count() == size
        inside = chosen | sum(1 << int(v) for v in problem.variables[:p][still])
        for y in np.flatnonzero(still).tolist():
            v = int(problem.variables[y])
            sets = [q for q in costs if q & chosen == chosen and not q & ~inside and q >> v & 1]
            least = min((costs[q] for q in sets if q.bit_count() > known), default=math.inf)
            assert own[y] <= least + data.margin(child) / 4
            if len(sets) == 1 and sets[0].bit_count() > known and ess == 0.1 and not parts:
                assert own[y] >= 0.7 * least  # with so small a prior little is left out


class Rows(NamedTuple):
    """What tells whether the probability of a cell grows: of a task, and of frames."""

    part_of: float
    arity: float
    mlogm: np.ndarray


class Counted(NamedTuple):
    counts: np.ndarray


def test_where_the_probability_of_a_cell_of_parts_grows_it_costs_least_by_the_largest_prior():
    rng, said, cheaper, grows = np.random.default_rng(5), 0, 0, called(child_cells._grows)
    for _ in range(3000):
        each, arity, prior = 10.0 ** rng.uniform(-3, -0.01), int(rng.integers(2, 6)), 10.0 ** rng.uniform(-2, 3)
        counts = rng.integers(1, 2 + 10 ** rng.uniform(0.0, 2.5, int(rng.integers(2, arity + 1))))
        cells = {(): dict(enumerate((counts * each).tolist()))}
        costs = [naive.dirichlet_cost(own, arity, cells) for own in prior * np.geomspace(1.0, 1e-9, 25)]
        task, frames = Rows(each, float(arity), np.zeros(1)), Counted(counts[None, None, :])
        if grows(0, int(counts.sum()), counts.size, prior, 0, task, frames):
            said += 1
            assert min(costs) >= costs[0] - 1e-9
        cheaper += min(costs) < costs[0] - 1e-6
    assert said > 500
    assert cheaper > 500


def test_a_search_goes_far_beyond_what_can_be_counted():
    """Of 40 columns, 2^39 parent sets each: the child is a sum of two of them, and a third one tells the rest."""
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 2, (150, 40))
    codes[:, 7] = codes[:, 3] ^ codes[:, 20] ^ (codes[:, 31] & (rng.random(150) < 0.9))
    dataset = dataset_of(codes, [2] * 40)
    cost = family_cost(dataset, 7, (3, 20, 31), Claim("bdeu", ess=1.0))
    demands = demands_of(dataset.names, None, NOTHING)
    found, off = searched(
        dataset, 7, ("bdeu", 1.0, demands), math.ceil((cost + 1e-6) * UNITS_PER_NAT), no_cuts(40), 1000
    )
    wanted = 1 << 3 | 1 << 20 | 1 << 31
    assert found[wanted] == pytest.approx(cost, abs=off)
    assert min(found.values()) == found[wanted]


def test_too_many_large_sets(sizes):
    dataset = few_rows(np.random.default_rng(1), 6, 3)
    sizes({"families.MOST_FAMILIES": 5, "data_families.COUNTED": 0, "data_families.MANY": 0})
    with Workers(1) as workers:
        demands, claim = demands_of(dataset.names, None, NOTHING), Claim("bdeu", ess=1.0)
        source = families_of_data(dataset, claim, demands, workers, leads(dataset, True))
        with pytest.raises(TooMuch, match="more than 5 parent sets matter"):
            below(source, 0, MOST_UNITS, no_cuts(6))


def parity(records=120, noise=0.05):
    """Eight columns of which the last is the parity of the first four, with noise, and others hang together."""
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 2, (records, 8))
    for child, parents in ((4, (0,)), (5, (1, 4)), (6, (5,)), (7, (0, 1, 2, 3))):
        codes[:, child] = (codes[:, parents].sum(axis=1) + (rng.random(records) < noise)) % 2
    return dataset_of(codes, [2] * 8)


def checked(document, dataset):
    """What becomes of a claim where no set is counted for all children."""
    with sized({"data_families.COUNTED": 0, "data_families.MANY": 0}), Workers(1) as workers:
        return verify_optimality(json.loads(json.dumps(document)), dataset, workers)


@pytest.mark.parametrize(("score", "ess"), [("bdeu", 1.0), ("bds", 1.0), ("k2", None), ("fnml", None)])
def test_a_certificate_that_hides_a_large_family_proves_nothing(score, ess):
    """The parity costs much less with four parents than with three or less; what is true is proved."""
    dataset = parity()
    free, few = (solve(dataset, threads=1, score=score, ess=ess, max_parents=most) for most in (None, 3))
    assert few.cost > free.cost + 10.0
    assert checked(free.document(), dataset).complete
    assert checked(few.document(), dataset).complete
    optimality = checked(few.document() | {"max_parents": None}, dataset)
    assert not optimality.complete
    assert optimality.findings


@pytest.mark.parametrize(("score", "ess"), [("bdeu", 1.0), ("bds", 1.0), ("k2", None), ("fnml", None)])
def test_wrong_figures_of_a_certificate_prove_nothing(score, ess):
    """A bound that the least reduced costs or multipliers seem to show, as they are too large."""
    dataset = parity()
    true = json.loads(json.dumps(solve(dataset, threads=1, score=score, ess=ess).document()))
    more, tried = floor_units(0.5), 0
    for place, component in enumerate(true["certificate"]["components"]):
        for change in ("least", "multipliers"):
            forged = copy.deepcopy(true)
            own = forged["certificate"]["components"][place]
            if change == "least":
                own["least"] = {name: mu + more for name, mu in own["least"].items()}
            else:
                own["steps"][0]["multipliers"] = [m + more for m in own["steps"][0]["multipliers"]]
            raised = len(component["variables"]) if change == "least" else len(component["steps"][0]["multipliers"])
            own["lower_bound"] += 0.5 * raised
            if raised:
                forged["cost"] += 0.5 * raised
                assert not checked(forged, dataset).complete
                tried += 1
    assert tried
